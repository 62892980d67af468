"""What is behind a window's score: the columns, relations and rows that are unusual."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cospan._tolerance import NOT_ZERO
from cospan._types import Floats
from cospan.monitoring.channels import GIVEN, Channel
from cospan.monitoring.levels import Levels
from cospan.monitoring.profile import Profile
from cospan.monitoring.records import Record
from cospan.monitoring.wording import reason_text

__all__ = ["ALARM", "Reason", "reasons_of"]


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
