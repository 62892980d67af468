"""The user's columns over the features made of them, and the rows that tests look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan._types import Floats
from cospan.errors import InputError
from cospan.summary import random_rows

if TYPE_CHECKING:
    from cospan.data import ColumnPlan, EncodingPlan, SetProfile

Profiles = tuple["SetProfile", "SetProfile"]
Merged = tuple[NDArray[np.uint64] | None, NDArray[np.uint64] | None]

#: Tests look at no more numbers than this (both sets together), drawn at random: sorting them
#: takes about three seconds, and 1,000 rows of each set are left at 5,000 columns.
MOST_NUMBERS = 10_000_000


@dataclass(frozen=True)
class Column:
    """One column of the user's: which features were made of it.

    `features` are their places in the encoded rows; `indicator` is the place of the feature that
    says where a value is missing, or None. `fill` is what stands for missing values without an
    indicator, where rows can be recognised by it: whole numbers are values too.
    """

    name: str
    kind: str
    features: tuple[int, ...]
    indicator: int | None = None
    plan: ColumnPlan | None = None
    fill: tuple[float, ...] = ()

    @property
    def ordered(self) -> bool:
        """Whether its values are numbers, so that they have an order, a mean and a spread."""
        return self.kind != "category"


class Rows(NamedTuple):
    """Sampled rows of A and of B, encoded; `whole`: whether the sample is all there is.

    `merged` are hashes of the levels that have a feature together.
    """

    a: Floats
    b: Floats
    whole: bool
    merged: Merged = (None, None)


def plan_from(encoding: Mapping[str, Any] | None) -> EncodingPlan | None:
    """The plan that a model's geometry carries along as plain types, where there is one."""
    if encoding is None:
        return None
    from cospan.data import EncodingPlan

    return EncodingPlan.from_dict(encoding)


def columns_of(plan: EncodingPlan | None, names: Sequence[str]) -> tuple[Column, ...]:
    """The user's columns. Without a plan every feature is a column of numbers."""
    if plan is None:
        return tuple(Column(name, "number", (i,)) for i, name in enumerate(names))
    if plan.n_features != len(names):
        raise InputError(
            f"The plan makes {plan.n_features} features and the frame has {len(names)}; "
            "pass the plan that the rows were encoded with."
        )
    found, place = [], 0
    gap = plan.n_features - sum(column.indicator for column in plan.used)
    for column in plan.used:
        width = len(column.features)
        places = tuple(range(place, place + width))
        indicator = gap if column.indicator else None
        fill = column.fill if plan.missing == "mean" and any(x % 1 for x in column.fill) else ()
        found.append(Column(column.name, column.kind, places, indicator, column, fill))
        place, gap = place + width, gap + column.indicator
    return tuple(found)


def taken_rows(
    a: Floats, b: Floats, sizes: tuple[float, float], merged: Merged = (None, None)
) -> Rows:
    """The rows that are tested: all that are given, or a random part of very wide ones."""
    whole = len(a) >= sizes[0] and len(b) >= sizes[1]
    limit = max(200, MOST_NUMBERS // (2 * max(1, a.shape[1])))
    rng = np.random.default_rng(0)
    kept, beside = [], []
    for rows, own in zip((a, b), merged, strict=True):
        if len(rows) > limit:
            chosen = random_rows(len(rows), limit, rng)
            rows, own = rows[chosen], None if own is None else own[chosen]
        kept.append(rows)
        beside.append(own)
    whole = whole and len(kept[0]) == len(a) and len(kept[1]) == len(b)
    return Rows(kept[0], kept[1], whole, (beside[0], beside[1]))


def having(rows: Floats, column: Column) -> Floats:
    """The rows that have a value in a column."""
    there = present(rows, column)
    return rows if there is None else rows[there]


def present(rows: Floats, column: Column) -> NDArray[np.bool_] | None:
    """Which rows have a value in a column; None if all have."""
    if column.indicator is not None:
        there = rows[:, column.indicator] == 0
    elif column.kind == "category":
        # A missing value is filled by shares, an unknown level by zeros: neither has a 1.
        there = rows[:, list(column.features)].max(axis=1) == 1
    elif column.fill:
        values, fill = rows[:, list(column.features)], np.array(column.fill)
        there = ((values != fill) & (values != fill.astype(np.float32))).any(axis=1)
    else:
        return None
    return None if there.all() else there
