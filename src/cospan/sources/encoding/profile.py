"""What one set holds in each column, as counted while its plan was learned."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from .held import moments_of
from .learn import ColumnLearner, SetLearner, TextLearner
from .plan import ColumnPlan, EncodingPlan
from .readings import ways_to_read


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
    #: How often each text occurs; at most 4,096 of them, and empty where the column is no text
    levels: Mapping[str, int] = field(default_factory=dict)
    exact: bool = True  # whether `levels` has every text with its exact count
    #: Different texts, estimated to about 2 % where there are more than 4,096; None where nobody
    #: counted (numbers)
    distinct: int | None = None
    reading: str = ""  # how texts of this set are read, where the column is numbers or dates
    kind: str = ""  # the plan's
    padded: int = 0  # rows whose text has blanks around it


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


def profile_of(plan: EncodingPlan, learner: SetLearner) -> SetProfile:
    """What a learner saw, as plain numbers."""
    columns = [
        _column(column, learner.columns[column.name])
        for column in plan.columns
        if column.name in learner.columns
    ]
    return SetProfile(learner.name, learner.rows, tuple(columns))


def _column(column: ColumnPlan, part: ColumnLearner) -> ColumnProfile:
    values: dict[str, float] = {}
    if column.kind in ("number", "boolean", "date", "time", "duration"):
        moments = moments_of(column, part)
        if moments.count:
            values = {
                "mean": float(moments.mean),
                "deviation": float(moments.deviation),
                "low": float(moments.low),
                "high": float(moments.high),
            }
    text = part.text
    unread = 0
    if text is not None and column.reading:
        unread = text.count - text.read_as(column.reading).count
    return ColumnProfile(
        column.name,
        part.rows,
        part.missing + unread,
        **values,
        levels=dict(text.levels.counts) if text is not None else {},
        exact=text is None or text.levels.exact,
        distinct=None if text is None else text.n_distinct,
        reading="" if text is None else _own_reading(column.reading, text),
        kind=column.kind,
        padded=0 if text is None else text.padded,
    )


def _own_reading(reading: str, text: TextLearner) -> str:
    """Which one of a column's readings is that of this set."""
    fits = {one: text.readings[one].count for one in ways_to_read(reading) if one in text.readings}
    return max(fits, key=lambda one: fits[one], default="")
