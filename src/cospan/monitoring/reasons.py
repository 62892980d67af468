"""What is behind a window's score: the columns, relations and rows that are unusual."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cospan.base.text import correlations, exact_number, number, pair_of, quoted, share_text
from cospan.base.tolerance import COUNT_ROUNDING, NOT_ZERO
from cospan.base.types import Floats
from cospan.monitoring.channels import GIVEN, OF_NUMBERS, Channel
from cospan.monitoring.levels import Levels
from cospan.monitoring.profile import Profile
from cospan.monitoring.records import Record

#: Scores above this are alarms: they are in units of the levels.
ALARM = 1.0
#: Reasons kept for a window.
MOST_REASONS = 8
#: A channel is a reason from this share of its level on, even where another one raised the alarm.
WORTH_NAMING = 0.8
#: Where only whole rows are unusual, the column that is furthest off is named from this share on.
WORTH_SUSPECTING = 0.4
#: Columns that are off by this share of the worst may be the ones that are wrong.
NEARLY = 0.7
#: And those that are this share as unusual as the most unusual one.
SUSPECTS = 0.4
#: Channels that more than one column has a part in.
_NOT_PLAIN = ("given", "relation", "rows", "effect")
#: From these changes on, in standard deviations and as a ratio of them, a change of the ranks is
#: named after the mean or the spread.
_STEP, _RATIO = 0.3, 1.2
#: Of a mean rank in [-1, 1]: the average row is where one in four rows of the reference was.
_FAR = 0.5
#: Standard deviations, given the others, that a column's mean is off before it is said by how much.
_CLEAR = 0.5


@dataclass(frozen=True)
class Reason:
    """One thing that is unusual in a window."""

    #: ``"mean"``, ``"spread"``, ``"shape"``, ``"beyond"`` (the reference's range), ``"repeats"``
    #: (one value), ``"levels"``, ``"new levels"``, ``"missing"``, ``"given"`` (the other columns),
    #: ``"relation"``, ``"rows"`` or ``"effect"``
    kind: str
    #: The user's column; of a relation, both
    column: str
    second: str
    z: float  # how far from the reference's windows, in units of their natural variation
    #: How far the column's most unusual channel is, in units of the alarm level: above 1 it raises
    #: an alarm
    ratio: float
    text: str  # a sentence
    channel: int  # which of the profile's channels that most unusual one is


def reasons_of(
    record: Record,
    z: Floats,
    ratio: Floats,
    table: Sequence[Channel],
    values: Floats,
    profile: Profile,
    levels: Levels,
) -> tuple[Reason, ...]:
    """What is unusual: for each column its most unusual channel; relations of other columns."""
    named: set[str] = set()
    found: list[Reason] = []
    moved = np.abs(values - levels.mean)
    usual = ratio
    ratio = _blamed(ratio, table, record, moved, profile)
    for i in np.argsort(-ratio, kind="stable").tolist():
        channel = table[i]
        whole = bool(found) and all(one.kind in ("rows", "effect") for one in found)
        least = WORTH_SUSPECTING if whole else WORTH_NAMING
        if ratio[i] < least or len(found) == MOST_REASONS:
            break
        about = {channel.column, channel.second} - {""} or {channel.kind}
        if about & named:
            continue
        named |= about
        strongest, leading = float(ratio[i]), i
        i = _plainest(i, ratio, moved, table, record, profile)
        channel = table[i]
        if channel.kind == "given":
            also = _misfits(record, usual, moved, table, profile)[1:]
            channel = channel._replace(second=table[also[0]].column if also else "")
            named |= {table[k].column for k in also}
        text = reason_text(channel, i, record, profile, float(values[i]), float(levels.mean[i]))
        about_it = (channel.kind, channel.column, channel.second, float(z[i]))
        found.append(Reason(*about_it, strongest, text, leading))
    # What columns and relations explain need not be said of the rows once more.
    narrow = [reason for reason in found if reason.kind not in ("rows", "effect")]
    return tuple(narrow or found)


def _blamed(
    ratio: Floats, table: Sequence[Channel], record: Record, moved: Floats, profile: Profile
) -> Floats:
    """The ratios, where columns that do not fit the others leave the blame to one.

    A column that is wrong spoils what is expected of all that go with it. By itself it is at least
    as far off: that is Cauchy and Schwarz's inequality for the precision matrix. Where a column is
    unusual without looking at the others, it is to blame, and its relations are a consequence.
    """
    plain = {
        channel.column
        for channel, size in zip(table, ratio.tolist(), strict=True)
        if size > ALARM and channel.kind not in _NOT_PLAIN
    }
    found = ratio.copy()
    for k, channel in enumerate(table):
        if channel.kind == "relation" and plain & {channel.column, channel.second}:
            found[k] = 0.0
    given = [k for k, channel in enumerate(table) if channel.kind == "given"]
    if not given or ratio[given].max() < WORTH_SUSPECTING:
        return found
    found[given] = 0.0
    if plain:
        return found
    found[_misfits(record, ratio, moved, table, profile)[0]] = ratio[given].max()
    return found


def _misfits(
    record: Record, ratio: Floats, moved: Floats, table: Sequence[Channel], profile: Profile
) -> list[int]:
    """Channels of the numbers that do not fit the others, the worst first.

    With those nearly as far off: of two columns that say nearly the same, either may be wrong.
    """
    given = np.array([k for k, channel in enumerate(table) if channel.kind == "given"])
    given = given.reshape(-1, len(GIVEN))
    away = np.abs(profile.channels.unexpected(record.means)) + moved[given[:, 1]]
    unusual = ratio[given].max(axis=1)
    away[unusual < SUSPECTS * unusual.max()] = 0.0
    order = np.argsort(-away, kind="stable").tolist()
    worst = given[np.arange(len(given)), ratio[given].argmax(axis=1)].tolist()
    return [worst[k] for k in order if away[k] >= NEARLY * away[order[0]]]


def _plainest(
    i: int,
    ratio: Floats,
    moved: Floats,
    table: Sequence[Channel],
    record: Record,
    profile: Profile,
) -> int:
    """The channel that says best what happened to a column of numbers.

    Ranks that have moved far have all their scores changed, that of the shape too.
    """
    if table[i].kind not in ("mean", "spread", "shape", "beyond"):
        return i
    j = table[i].feature
    own = [k for k, c in enumerate(table) if c.feature == j and c.kind in ("mean", "spread")]
    variance = float(np.asarray(profile.summary.scatter_about())[j, j]) / profile.summary.n
    if variance <= 0 or len(own) < 2:
        return i
    step = abs(float(record.means[j] - np.asarray(profile.summary.mean)[j])) / math.sqrt(variance)
    wide = max(float(record.deviations[j]), NOT_ZERO) / math.sqrt(variance)
    if moved[own[0]] >= _FAR or (ratio[own[0]] >= WORTH_NAMING and step >= _STEP):
        return own[0]
    if ratio[own[1]] >= WORTH_NAMING and max(wide, 1 / wide) >= _RATIO:
        return own[1]
    return i


# ---- in words ----------------------------------------------------------------------------------


def reason_text(
    channel: Channel, place: int, record: Record, profile: Profile, value: float, usual: float
) -> str:
    """One sentence about a channel of a window; `value` and `usual` are those at its `place`."""
    j, column = channel.feature, quoted(channel.column)
    if channel.kind == "effect":
        text = (
            "Rows are separated from the reference's: of 100 pairs {now} are ordered "
            "correctly, usually {usual}."
        )
        return text.format(now=round(100 * value), usual=round(100 * usual))
    if channel.kind == "rows":
        return "Whole rows differ from the reference's: their values do not go together."
    if channel.kind == "relation":
        first, second = (quoted(profile.channels.names[k]) for k in profile.channels.pair_at(place))
        text = (
            "{first} and {second} are related differently: rank correlation {now}, usually {usual}."
        )
        usually, here = correlations(usual, value)
        return text.format(first=first, second=second, now=here, usual=usually)
    if channel.kind == "new levels":
        share = share_text(_share(value))
        return f"{column} has levels that the reference does not have, in {share} of the rows."
    if channel.kind in ("missing", "levels"):
        now, before = (
            float(_known_shares(means, profile)[j])
            for means in (record.means, np.asarray(profile.summary.mean))
        )
        text = "{column} is missing in {now} of the rows, usually {before}."
        if channel.kind == "levels":
            column = quoted(profile.channels.names[j])
            text = "{column} fell from {before} to {now} of the rows."
            if now > before:
                text = "{column} rose from {before} to {now} of the rows."
        return text.format(column=column, now=share_text(now), before=share_text(before))
    if channel.kind == "given":
        return _given(channel, record, profile)
    if channel.kind in OF_NUMBERS and float(record.deviations[j]) > 0:
        return _of_rows(channel, record, profile, value, usual)
    return _of_numbers(channel, record, profile)


def _given(channel: Channel, record: Record, profile: Profile) -> str:
    """Of a column of numbers that does not go with the others."""
    channels = profile.channels
    own = channels.numbers[channels.given].tolist().index(channel.feature)
    unit = float(channels.cost.unit[channels.live.tolist().index(channel.feature)])
    away = float(channels.unexpected(record.means)[own])
    start = "{column} does not fit the other columns"
    if channel.second:
        start = "{column} does not fit {second} and the other columns"
    start = start.format(column=quoted(channel.column), second=quoted(channel.second))
    text = "{start}: it is {size} lower on average than they suggest."
    if abs(away) < _CLEAR:
        text = "{start}: their values do not go together."
    elif away > 0:
        text = "{start}: it is {size} higher on average than they suggest."
    return text.format(start=start, size=number(abs(away) * unit))


def _of_rows(channel: Channel, record: Record, profile: Profile, value: float, usual: float) -> str:
    """Of a column of numbers: that rows are beyond the range, or have one value."""
    column, channels = quoted(channel.column), profile.channels
    if channel.kind == "repeats":
        now, before = share_text(_share(value)), share_text(_share(usual))
        return f"{column} has one and the same value in {now} of the rows, usually in {before}."
    known = channels.ranks[channels.numbers.tolist().index(channel.feature)].values
    low, high = pair_of(float(known[0]), float(known[-1]))
    mean = pair_of(float(record.means[channel.feature]), float(known[-1]))[0]
    return (
        f"{column} has values far beyond the range of the reference, {low} to {high}; the "
        f"mean is {mean}."
    )


def _of_numbers(channel: Channel, record: Record, profile: Profile) -> str:
    j, column = channel.feature, quoted(channel.column)
    mean, deviation = float(record.means[j]), float(record.deviations[j])
    before, spread = _usual(profile, j)
    at = pair_of(mean, mean + deviation)[0]
    if deviation == 0 and spread > 0:
        text, at = "{column} is {mean} in every row; usually it varies.", exact_number(mean)
    elif spread == 0 and deviation > 0:
        text = (
            "{column} varies, with a standard deviation of {deviation}; in the reference "
            "it is {before} in every row."
        )
    elif channel.kind in ("mean", *OF_NUMBERS):
        text = "{column} fell from {then} to {now} on average."
        if mean > before:
            text = "{column} rose from {then} to {now} on average."
    elif channel.kind == "spread":
        text = "{column} varies less: standard deviation {deviation}, usually {spread}."
        if deviation > spread:
            text = "{column} varies more: standard deviation {deviation}, usually {spread}."
    else:
        text = "{column} has another shape of distribution, at a mean of {mean}."
    then, now = pair_of(before, mean)
    usual, wide = pair_of(spread, deviation)
    return text.format(
        column=column,
        then=then,
        now=now,
        deviation=wide,
        spread=usual,
        mean=at,
        before=exact_number(before),
    )


def _usual(profile: Profile, j: int) -> tuple[float, float]:
    """The mean and the deviation of a number in the reference, of the rows that have it."""
    summary, indicator = profile.summary, int(profile.channels.indicators[j])
    whole = float(np.asarray(summary.mean)[j])
    gap = 0.0 if indicator < 0 else float(np.asarray(summary.mean)[indicator])
    filled = float(_fills(profile)[j]) - whole
    away = -gap * filled / max(1 - gap, NOT_ZERO)  # of the mean of those rows
    square = float(np.asarray(summary.scatter_about())[j, j]) / summary.n - gap * filled**2
    return whole + away, math.sqrt(max(square / max(1 - gap, NOT_ZERO) - away**2, 0.0))


def _known_shares(means: Floats, profile: Profile) -> Floats:
    """Features' means without what stands for missing values: of a level, its share of all rows."""
    indicators = profile.channels.indicators
    gaps = np.where(indicators >= 0, means[indicators], 0.0)
    found = means - gaps * _fills(profile)
    return np.where(np.abs(found) > COUNT_ROUNDING * (gaps > 0), found, 0.0)


def _fills(profile: Profile) -> Floats:
    """What stands for missing values, for each feature."""
    found = np.zeros(profile.summary.n_features)
    used = () if profile.plan is None else profile.plan.used
    fills = [value for c in used for value in (c.fill or (0.0,) * len(c.features))]
    found[: len(fills)] = fills
    return found


def _share(angle: float) -> float:
    """The share that an angle of the channels stands for."""
    return math.sin(min(max(angle, 0.0), math.pi) / 2) ** 2
