"""What one set holds in each column, as counted while its plan was learned."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from .decide import moments_of, unread
from .learn import ColumnLearner, SetLearner, TextLearner
from .plan import ABSURD, ColumnPlan, EncodingPlan
from .readings import PLAIN, single_readings


@dataclass(frozen=True)
class ColumnProfile:
    """One column of one set."""

    name: str
    #: Rows of the set, and those without a value here
    rows: int
    missing: int
    #: Of the values present, as they are encoded (dates in days since 1970); NaN for categories,
    #: vectors and columns without values
    mean: float = math.nan
    deviation: float = math.nan
    low: float = math.nan
    high: float = math.nan
    #: How often each text occurs; at most 4,096 of them, and empty where the column is not text
    levels: Mapping[str, int] = field(default_factory=dict)
    exact: bool = True  # whether `levels` has every text with its exact count
    #: Different texts, estimated to about 2 % where there are more than 4,096; None where nobody
    #: counted (numbers)
    distinct: int | None = None
    reading: str = ""  # how texts of this set are read, where the column is numbers or dates
    kind: str = ""  # the plan's
    padded: int = 0  # rows whose text has blanks around it
    absurd: int = 0  # values that are infinite, beyond 1e100 or denormal


@dataclass(frozen=True)
class SetProfile:
    """The columns of one set, left-out ones too."""

    name: str
    rows: int
    columns: tuple[ColumnProfile, ...]

    @cached_property
    def _by_name(self) -> dict[str, ColumnProfile]:
        return {column.name: column for column in self.columns}

    def __getitem__(self, column: str) -> ColumnProfile:
        return self._by_name[column]

    def __contains__(self, column: str) -> bool:
        return column in self._by_name


def profile_of(plan: EncodingPlan, learner: SetLearner) -> SetProfile:
    """What a learner saw, as plain numbers."""
    there = [column for column in plan.columns if column.name in learner.columns]
    columns = tuple(_column_profile(one, learner.columns[one.name]) for one in there)
    return SetProfile(learner.name, learner.rows, columns)


def _column_profile(column: ColumnPlan, part: ColumnLearner) -> ColumnProfile:
    values: dict[str, float] = {}
    counted = column.kind not in ("category", "left out") or column.reason == ABSURD
    odd = part.absurd if counted else 0
    if column.kind in ("number", "boolean", "date", "time", "duration"):
        moments = moments_of(column, part)
        odd = moments.absurd
        if moments.count:
            ends = ("mean", "deviation", "low", "high")
            values = {key: float(getattr(moments, key)) for key in ends}
    text = part.text
    return ColumnProfile(
        column.name,
        part.rows,
        part.missing + unread(column, part) + odd,
        **values,
        levels=dict(text.levels.counts) if text is not None else {},
        exact=text is None or text.levels.exact,
        distinct=None if text is None else text.n_distinct,
        reading="" if text is None else _own_reading(column, text),
        kind=column.kind,
        padded=0 if text is None else text.padded,
        absurd=odd,
    )


def _own_reading(column: ColumnPlan, text: TextLearner) -> str:
    """Which one of a column's readings is that of this set."""
    usual = "" if column.kind == "boolean" else PLAIN.get(column.kind, "")
    readings = single_readings(column.reading or usual)
    fits = {one: text.fits(one) for one in readings if one in text.readings}
    return max(fits, key=lambda one: fits[one], default="")
