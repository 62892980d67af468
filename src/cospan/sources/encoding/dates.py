"""What dates tell even where they are not compared themselves.

A date has a **time of day** that sets of different times share: a clock that is off, or times that
were lost, show there. Two dates have a **time between them**, which shows that one of them moved
where the date itself says no more than when rows are from. Both are columns made of the user's.
Dates that are compared need no time between them: it would say the same once more.

Whether a date is compared depends on whether the sets' dates overlap: see ``times_apart``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from .held import Parts, has_gaps, means_of, moments_of
from .plan import ColumnPlan
from .sketches import MINUTES

#: How often dates of one distribution may be taken for those of different times.
BY_CHANCE = 0.01


def made_of_dates(
    columns: Sequence[ColumnPlan], parts: Mapping[str, Parts], missing: str
) -> list[ColumnPlan]:
    """Times of day that vary, and times between dates one of which is not compared."""
    dates = [column for column in columns if column.kind in ("date", "time")]
    apart = {column.name for column in dates if column.kind == "time"}
    means = {one.name: means_of(one, parts[one.name])[0] for one in dates}
    clocks = [clock for one in dates if (clock := _clock(one, parts[one.name]))]
    spans = [span for span in times_between(means) if apart & set(span.of)]
    gaps = {one.name for one in dates if missing == "indicator" and has_gaps(one, parts[one.name])}
    return [replace(one, indicator=bool(gaps & set(one.of))) for one in (*clocks, *spans)]


def times_between(means: Mapping[str, float]) -> list[ColumnPlan]:
    """From each date to the next one; `means` are those of the columns, in their order.

    >>> [column.name for column in times_between({"start": 17897.0, "end": 17900.5})]
    ['time from start to end']
    """
    return [
        ColumnPlan(
            f"time from {first} to {last}",
            "duration",
            fill=(means[last] - means[first],),
            of=(first, last),
        )
        for first, last in pairwise(means)
    ]


def _clock(column: ColumnPlan, parts: Parts) -> ColumnPlan | None:
    """The time of day in hours; None where it is always the same, as midnight is in pure dates.

    The day begins in its emptiest hour: a time past midnight comes after one before midnight.
    """
    found = [moments_of(column, part).minutes for part in parts]
    own = [minutes / minutes.sum() for minutes in found if minutes is not None]
    shares = np.sum(own, axis=0)
    if np.count_nonzero(shares) < 2:
        return None
    origin = int(np.argmin(shares.reshape(24, -1).sum(axis=1)))
    minute = np.arange(MINUTES)
    hours = np.where(minute < 60 * origin, minute + MINUTES, minute) / 60
    fill = round(float(shares @ hours / len(own)), 4)
    name = f"time of day of {column.name}"
    return ColumnPlan(name, "time of day", fill=(fill,), of=(column.name,), origin=origin)


def times_apart(column: ColumnPlan, parts: Parts) -> bool:
    """Whether all rows of some sets come before all rows of the others, and not by chance."""
    known = [m for m in (moments_of(column, part) for part in parts) if m.count]
    if len(known) < len(parts):
        return False
    known.sort(key=lambda m: float(m.low))
    counts = [m.count for m in known]
    for k in range(1, len(known)):
        if max(float(m.high) for m in known[:k]) < float(known[k].low):
            halves = sum(counts[:k]), sum(counts[k:])
            # Of all orders of the rows these are so few; ties make it less likely still.
            ways = sum(math.lgamma(n + 1) for n in halves) + math.log(2)
            if ways - math.lgamma(sum(counts) + 1) < math.log(BY_CHANCE):
                return True
    return False


def order_of_times(column: ColumnPlan, parts: Parts, names: Sequence[str]) -> str:
    """What is known of dates that do not overlap in all sets."""
    order = sorted(zip(parts, names, strict=True), key=lambda x: moments_of(column, x[0]).low)
    if len(order) != 2 or order[0][1] == order[1][1]:
        return "its dates do not overlap in all sets"
    return f"the dates of {order[1][1]} begin after those of {order[0][1]} end"
