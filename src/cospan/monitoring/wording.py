"""What is unusual in a window, in a sentence."""

from __future__ import annotations

import math

import numpy as np

from cospan._numbers import correlations, exact_number, number, pair_of, share_text
from cospan._tolerance import COUNT_ROUNDING, NOT_ZERO
from cospan._types import Floats
from cospan.changes.wording import quoted
from cospan.monitoring.channels import OF_NUMBERS, Channel
from cospan.monitoring.profile import Profile
from cospan.monitoring.records import Record

__all__ = ["reason_text"]

#: Standard deviations, given the others, that a column's mean is off before it is said by how much.
_CLEAR = 0.5


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
