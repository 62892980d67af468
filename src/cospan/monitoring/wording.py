"""What is unusual in a window, in a sentence."""

from __future__ import annotations

import math

import numpy as np

from cospan.changes.wording import number, pair_of, quoted, share_text
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
        return (
            f"Rows are separated from the reference's: of 100 pairs {round(100 * value)} are "
            f"ordered correctly, usually {round(100 * usual)}."
        )
    if channel.kind == "rows":
        return "Whole rows are unlike those of the reference: their values do not go together."
    if channel.kind == "relation":
        first, second = (quoted(profile.channels.names[k]) for k in profile.channels.pair_at(place))
        return (
            f"{first} and {second} are related differently: rank correlation {_two(value)}, "
            f"usually {_two(usual)}."
        )
    if channel.kind == "missing":
        now, before = float(record.means[j]), _before(profile, j)
        return (
            f"{column} is missing in {share_text(now)} of the rows, usually {share_text(before)}."
        )
    if channel.kind == "new levels":
        share = share_text(_share(value))
        return f"{column} has levels that the reference does not have, in {share} of the rows."
    if channel.kind == "levels":
        name = quoted(profile.channels.names[j])
        now, before = float(record.means[j]), _before(profile, j)
        way = "rose" if now > before else "fell"
        return f"{name} {way} from {share_text(before)} to {share_text(now)} of the rows."
    if channel.kind == "given":
        return _given(channel, record, profile)
    if channel.kind in OF_NUMBERS and float(record.deviations[j]) > 0:
        return _of_rows(channel, record, profile, value, usual)
    return _of_numbers(channel, record, profile)


def _given(channel: Channel, record: Record, profile: Profile) -> str:
    """Of a column of numbers that does not go with the others."""
    channels = profile.channels
    own = channels.numbers[channels.given].tolist().index(channel.feature)
    unit = float(profile.cost.unit[channels.live.tolist().index(channel.feature)])
    away = float(channels.unexpected(record.means, profile.cost)[own])
    first = f"{quoted(channel.second)} and " if channel.second else ""
    start = f"{quoted(channel.column)} does not fit {first}the other columns"
    if abs(away) < _CLEAR:
        return f"{start}: their values do not go together."
    way = "higher" if away > 0 else "lower"
    return f"{start}: it is {number(abs(away) * unit)} {way} on average than they suggest."


def _of_rows(channel: Channel, record: Record, profile: Profile, value: float, usual: float) -> str:
    """Of a column of numbers: that rows are beyond the range, or have one value."""
    column, channels = quoted(channel.column), profile.channels
    if channel.kind == "repeats":
        return (
            f"{column} has one and the same value in {share_text(_share(value))} of the rows, "
            f"usually in {share_text(_share(usual))}."
        )
    known = profile.ranks[channels.numbers.tolist().index(channel.feature)].values
    low, high = number(float(known[0])), number(float(known[-1]))
    mean = number(float(record.means[channel.feature]))
    return (
        f"{column} has values far beyond the range of the reference, {low} to {high}; the mean is "
        f"{mean}."
    )


def _of_numbers(channel: Channel, record: Record, profile: Profile) -> str:
    j, column = channel.feature, quoted(channel.column)
    mean, deviation = float(record.means[j]), float(record.deviations[j])
    before = float(np.asarray(profile.summary.mean)[j])
    scatter = float(np.asarray(profile.summary.scatter_about())[j, j])
    spread = math.sqrt(max(scatter / profile.summary.n, 0.0))
    if deviation == 0 and spread > 0:
        return f"{column} is {number(mean)} in every row; usually it varies."
    if spread == 0 and deviation > 0:
        return (
            f"{column} varies, with a standard deviation of {number(deviation)}; in the reference "
            f"it is {number(before)} in every row."
        )
    if channel.kind in ("mean", *OF_NUMBERS):
        way = "rose" if mean > before else "fell"
        then, now = pair_of(before, mean)
        return f"{column} {way} from {then} to {now} on average."
    if channel.kind == "spread":
        way = "more" if deviation > spread else "less"
        return (
            f"{column} varies {way}: standard deviation {number(deviation)}, usually "
            f"{number(spread)}."
        )
    return f"{column} has another shape of distribution, at a mean of {number(mean)}."


def _two(value: float) -> str:
    """Two digits, without a sign of nothing."""
    return f"{round(value, 2) + 0.0:.2f}"


def _before(profile: Profile, j: int) -> float:
    """The share of a 0/1 feature over all rows of the reference."""
    return float(np.asarray(profile.summary.mean)[j])


def _share(angle: float) -> float:
    """The share that an angle of the channels stands for."""
    return math.sin(min(max(angle, 0.0), math.pi) / 2) ** 2
