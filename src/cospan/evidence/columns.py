"""The user's columns: which features were made of them, and what a set holds in them.

Rows come encoded (one feature a level, means for gaps). What is compared are the user's columns, so
encoded rows are read back: numbers with gaps, codes of levels.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.base.tolerance import SAME_VALUE
from cospan.base.types import Floats

from .functions import OTHER, Reading, deviation

if TYPE_CHECKING:
    from cospan.data import EncodingPlan, SetProfile

#: Texts and identifiers: no features, but it is watched how they are written.
TEXT = "text"
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
EPOCH_WEEKDAY = 3  # 1970-01-01 was a Thursday


@dataclass(frozen=True)
class Column:
    """One column of the user's: which features were made of it."""

    name: str
    kind: str
    features: tuple[int, ...]  # their places in the encoded rows
    indicator: int | None = None  # the place of the one that says where a value is missing
    levels: tuple[str, ...] | None = None  # what codes stand for; the last may be all rare ones


def plan_from(encoding: Mapping[str, Any] | None) -> EncodingPlan | None:
    """The plan that a model's geometry carries along as plain types, where there is one."""
    if encoding is None:
        return None
    from cospan.data import EncodingPlan

    return EncodingPlan.from_dict(encoding)


def columns_of(
    plan: EncodingPlan | None, names: Sequence[str], profiles: Sequence[SetProfile] | None = None
) -> tuple[Column, ...]:
    """The user's columns that make features. Without a plan every feature is one of numbers.

    Truth values are spelled as the sets spell them, where `profiles` say how.
    """
    if plan is None:
        return tuple(Column(name, "number", (i,)) for i, name in enumerate(names))
    found, place = [], 0
    gap = plan.n_features - sum(column.indicator for column in plan.used)
    for column in plan.used:
        width = len(column.features)
        places, indicator = tuple(range(place, place + width)), gap if column.indicator else None
        levels = None
        if column.kind == "boolean":
            # The words for false and true, as most values of both sets are written.
            texts = (one[column.name].levels for one in profiles or () if column.name in one)
            written = sum(map(Counter, texts), Counter[str]())
            levels = tuple(
                max(
                    (x for x in written if x.lower() == word), key=written.__getitem__, default=word
                )
                for word in column.truth
            )
        elif column.kind == "category":
            levels = (*column.levels, OTHER) if column.other else column.levels
        found.append(Column(column.name, column.kind, places, indicator, levels))
        place, gap = place + width, gap + column.indicator
    return tuple(found)


def read_columns(columns: Sequence[Column], rows: Floats) -> list[Reading]:
    """Encoded rows as the user's columns have them: numbers, or codes of levels, NaN for gaps."""
    found = []
    for place, column in enumerate(columns):
        if column.kind == TEXT:
            continue
        values = rows[:, list(column.features)]
        plain, known = values[:, 0], np.ones(len(rows), dtype=bool)
        if column.kind == "category":
            # A missing value is filled by shares, an unknown level by zeros: neither has a 1.
            plain, known = values.argmax(axis=1), values.max(axis=1) == 1
        if column.indicator is not None:
            known = rows[:, column.indicator] == 0
        plain = np.where(known, plain.astype(np.float64), np.nan)
        found.append(Reading(place, "", plain, column.levels))
        if column.kind == "date":
            days = (np.floor(plain) + EPOCH_WEEKDAY) % 7
            found.append(Reading(place, "weekday", days, WEEKDAYS, related=False))
    return found


def read_texts(
    columns: Sequence[Column], parts: Sequence[tuple[str, str]], watched: Floats | None
) -> list[Reading]:
    """How texts that make no feature are written: the plan's `watched` parts, (n, k)."""
    if watched is None or not parts:
        return []
    place = {column.name: k for k, column in enumerate(columns) if column.kind == TEXT}
    return [
        Reading(place[name], part, np.asarray(values), related=False)
        for (name, part), values in zip(parts, watched.T, strict=True)
    ]


@dataclass(frozen=True)
class Held:
    """What one set holds in a column."""

    missing: float = 0.0  # the share of rows without a value
    mean: float = math.nan  # of a boolean, the share that is true; of a text, of its length
    deviation: float = math.nan
    low: float = math.nan
    high: float = math.nan
    levels: Mapping[str, float] = field(default_factory=dict)  # their shares of the rows
    at_ends: tuple[int, int] = (0, 0)  # how many values are the lowest one, and the highest

    @property
    def constant(self) -> bool:
        """Whether all values are one, but for rounding."""
        return self.high - self.low <= SAME_VALUE * max(abs(self.low), abs(self.high))


def held_in(column: Column, values: Floats) -> Held:
    """What a set holds in a column, of which these are the values, or codes of levels."""
    known = values[~np.isnan(values)]
    missing = (len(values) - len(known)) / max(1, len(values))
    if column.kind == "category":
        levels = column.levels or ()
        counts = np.bincount(known.astype(np.intp), minlength=len(levels)) / max(1, len(values))
        return Held(missing, levels=dict(zip(levels, counts.tolist(), strict=True)))
    if not len(known):
        return Held(missing)
    mean = float(known.mean())
    if column.kind == "time of day":  # the mean direction of a clock's hand, whenever days begin
        turn = 2 * math.pi / 24
        x, y = float(np.cos(turn * known).mean()), float(np.sin(turn * known).mean())
        mean = math.atan2(y, x) / turn % 24
    ends = float(known.min()), float(known.max())
    at_ends = int((known == ends[0]).sum()), int((known == ends[1]).sum())
    return Held(missing, mean, deviation(known), *ends, at_ends=at_ends)
