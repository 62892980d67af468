"""What each of the user's columns holds in A and in B, and the tests of whether that changed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cospan._tolerance import NOT_ZERO, SAME_VALUE
from cospan._types import Floats

from .grouping import Column, Profiles, Rows, present
from .repeats import Frequency
from .spreads import deviations, spread_apart
from .twosample import OrderedTests, compare_levels, compare_ordered, log_fisher
from .wording import OTHER

if TYPE_CHECKING:
    from cospan.data import SetProfile

#: Levels that a row of the table shows.
SHOWN_LEVELS = 3


@dataclass(frozen=True)
class Held:
    """What one set holds in a column.

    `missing` is the share of rows without a value; `mean` and `deviation` are of the values
    present (of a boolean, the share that is true); `levels` are the shares of a category's levels,
    and of the values of a column of numbers that has only two; `counts`, where all rows were
    counted, how many have each level, also those without a feature of their own.
    """

    missing: float = 0.0
    mean: float = math.nan
    deviation: float = math.nan
    low: float = math.nan
    high: float = math.nan
    levels: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def constant(self) -> bool:
        """Whether all values are one, but for rounding."""
        return self.high - self.low <= SAME_VALUE * max(abs(self.low), abs(self.high))


@dataclass(frozen=True)
class Measured:
    """One column of the user's in both sets, and the logarithms of its p-values by test."""

    column: Column
    a: Held
    b: Held
    difference: float
    distance: float
    tests: Mapping[str, float]
    level_tests: Mapping[str, float] = field(default_factory=dict)
    place: int = -1  # of a vector: the feature that changed most
    #: A value, and the shares of rows of A and of B that have at most this one: they differ most.
    farthest: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    #: The value, and the unit of rounded values, whose frequencies differ most surely.
    spike: Frequency | None = None
    grain: Frequency | None = None


def measure(columns: Sequence[Column], rows: Rows, profiles: Profiles | None) -> list[Measured]:
    """Measure and test every column."""
    gaps = [(present(rows.a, c), present(rows.b, c)) for c in columns]
    ordered = _ordered_tests(columns, gaps, rows)
    moments = [np.stack([x.mean(0), deviations(x), x.min(0), x.max(0)]) for x in rows[:2]]
    found = []
    for column, gap in zip(columns, gaps, strict=True):
        held = [
            _held(column, part, there, whole)
            for part, there, whole in zip(rows[:2], gap, moments, strict=True)
        ]
        found.append(_measured(column, gap, rows, held, profiles, ordered))
    return found


Gaps = tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None]


def _ordered_tests(columns: Sequence[Column], gaps: Sequence[Gaps], rows: Rows) -> OrderedTests:
    """Tests of all features with an order, at their places; (d,) each."""
    d = rows.a.shape[1]
    found = OrderedTests(*(np.zeros(d) for _ in OrderedTests._fields))

    def put(places: list[int], gap: Gaps) -> None:
        a, b = (
            part[:, places] if there is None else part[there][:, places]
            for part, there in zip((rows.a, rows.b), gap, strict=True)
        )
        if min(len(a), len(b)) < 2:
            return
        for whole, part in zip(found, spread_apart(compare_ordered(a, b), a, b), strict=True):
            whole[places] = part

    complete: list[int] = []
    for column, gap in zip(columns, gaps, strict=True):
        if not column.ordered:
            continue
        if gap[0] is gap[1] is None:
            complete.extend(column.features)
        else:
            put(list(column.features), gap)
    if complete:
        put(complete, (None, None))
    return found


def _measured(
    column: Column,
    gap: Gaps,
    rows: Rows,
    held: Sequence[Held],
    profiles: Profiles | None,
    ordered: OrderedTests,
) -> Measured:
    tests = _missing_test(column, gap, rows)
    if column.kind == "category":
        parts = [x if t is None else x[t] for x, t in zip(rows[:2], gap, strict=True)]
        found = _category(column, parts, held, tests)
    else:
        found = _numbers(column, held, ordered, tests)
    if profiles is None or (column.ordered and len(column.features) > 1):
        return replace(found, a=_still(found.a), b=_still(found.b))
    a, b = (
        _still(_from_profile(column, one, own)) for one, own in zip(held, profiles, strict=True)
    )
    if column.kind == "category":
        return replace(found, a=a, b=b)
    return replace(found, a=a, b=b, difference=_standardised(column, a, b))


def _still(held: Held) -> Held:
    """Without the rounding errors of a mean that all values are equal to."""
    return replace(held, deviation=0.0) if held.deviation > 0 and held.constant else held


def _held(column: Column, rows: Floats, there: NDArray[np.bool_] | None, moments: Floats) -> Held:
    """From the sample; `moments` are mean, deviation, least and largest value of all features."""
    places = list(column.features)
    if there is None and column.ordered and len(places) == 1 and column.kind != "time of day":
        return Held(0.0, *moments[:, places[0]].tolist())
    part = rows if there is None else rows[there]
    missing = 1 - len(part) / max(1, len(rows))
    if len(part) == 0:
        return Held(missing=missing)
    if column.kind == "category":
        names = _level_names(column)
        return Held(missing, levels=dict(zip(names, part[:, places].mean(axis=0), strict=True)))
    values = part[:, places]
    return Held(
        missing,
        _round_the_clock(values) if column.kind == "time of day" else float(values.mean()),
        float(deviations(values).mean()),
        float(values.min()),
        float(values.max()),
    )


def _round_the_clock(hours: Floats) -> float:
    """The mean direction of the hand of a clock: whenever the day begins, it is the same."""
    turn = 2 * math.pi / 24
    x, y = float(np.cos(turn * hours).mean()), float(np.sin(turn * hours).mean())
    return math.atan2(y, x) / turn % 24


def step_of(kind: str, a: float, b: float) -> float:
    """From one mean to another; of times of day the shorter way round."""
    return (b - a + 12) % 24 - 12 if kind == "time of day" else b - a


def _from_profile(column: Column, held: Held, profile: SetProfile) -> Held:
    """What all rows hold, where they were counted while the plan was learned."""
    try:
        own = profile[column.name]
    except KeyError:
        return held
    missing = own.missing / own.rows if own.rows else held.missing
    if column.kind == "category":
        total = sum(own.levels.values())
        if not total or not own.exact:
            return Held(missing, levels=held.levels)
        shares = {level: own.levels.get(level, 0) / total for level in held.levels}
        if column.plan is not None and column.plan.other:
            shares[_level_names(column)[-1]] = 1 - sum(
                own.levels.get(level, 0) / total for level in column.plan.levels
            )
        return Held(missing, levels=shares, counts=own.levels)
    if math.isnan(own.mean):
        return Held(missing, held.mean, held.deviation, held.low, held.high)
    return Held(missing, own.mean, own.deviation, own.low, own.high)


def _level_names(column: Column) -> tuple[str, ...]:
    if column.plan is None:
        return tuple(str(place) for place in column.features)
    return (*column.plan.levels, OTHER) if column.plan.other else column.plan.levels


def _missing_test(column: Column, gap: Gaps, rows: Rows) -> dict[str, float]:
    """Is a value missing as often in B as in A? No test where none is missing."""
    if gap[0] is gap[1] is None:
        return {}
    counts = [0 if there is None else len(there) - int(there.sum()) for there in gap]
    log_p = log_fisher(counts[0], len(rows.a), counts[1], len(rows.b))
    return {"missing": float(log_p[0])}


def _numbers(
    column: Column, held: Sequence[Held], tests: OrderedTests, more: dict[str, float]
) -> Measured:
    places = np.array(column.features)
    kinds = {"mean": tests.mean, "spread": tests.spread, "shape": tests.shape}
    if column.kind == "boolean":
        kinds = {"levels": tests.mean}
    # Over the places of a vector: the strongest one, for as many as there are.
    own = {
        key: float(min(0.0, x[places].min() + math.log(len(places)))) for key, x in kinds.items()
    }
    strongest = np.min([x[places] for x in kinds.values()], axis=0)
    place = int(places[np.argmin(strongest)])
    return Measured(
        column,
        held[0],
        held[1],
        _standardised(column, held[0], held[1]),
        float(tests.distance[place]),
        own | more,
        place=place,
        farthest=(
            float(tests.at[place]),
            float(tests.below_a[place]),
            float(tests.below_b[place]),
        ),
    )


def _standardised(column: Column, a: Held, b: Held) -> float:
    """Difference of the means in standard deviations; of a boolean, Cohen's h of the shares."""
    if column.kind == "boolean":
        return cohen(a.mean, b.mean)
    if a.mean == b.mean:
        return 0.0
    spread = math.hypot(a.deviation, b.deviation) / math.sqrt(2)
    step = step_of(column.kind, a.mean, b.mean)
    return math.copysign(math.inf, step) if spread == 0 else step / spread


def cohen(p: float, q: float) -> float:
    """Cohen's h: the difference of two shares on a scale where it has the same noise anywhere."""
    if math.isnan(p) or math.isnan(q):
        return math.nan
    p, q = (min(1.0, max(0.0, x)) for x in (p, q))
    return 2 * math.asin(math.sqrt(q)) - 2 * math.asin(math.sqrt(p))


def _category(
    column: Column, parts: Sequence[Floats], held: Sequence[Held], more: dict[str, float]
) -> Measured:
    places, names = list(column.features), _level_names(column)
    counts = [part[:, places].sum(axis=0) for part in parts]
    log_p, levels = compare_levels(counts[0], counts[1])
    p, q = (np.array([one.levels.get(name, 0.0) for name in names]) for one in held)
    both = np.maximum(p + q, NOT_ZERO)
    distance = math.sqrt(max(0.0, 0.5 * float(np.sum((p - q) ** 2 / both))))
    largest = max((cohen(x, y) for x, y in zip(p, q, strict=True)), key=abs, default=0.0)
    return Measured(
        column,
        held[0],
        held[1],
        abs(largest),
        distance,
        {"levels": log_p} | more,
        dict(zip(names, levels.tolist(), strict=True)),
    )
