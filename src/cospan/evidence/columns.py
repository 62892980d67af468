"""The user's columns: which features were made of them, how rows are read, and one table of all.

Rows come encoded (one feature a level, means for gaps). What is compared are the user's columns, so
encoded rows are read back: numbers with gaps, codes of levels. The table has one row a column.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.tables import make_dataframe
from cospan.base.tolerance import SAME_VALUE, SQUARES_KEEP_DIGITS
from cospan.base.types import Floats
from cospan.errors import InputError

from .findings import Finding, cohen
from .functions import OTHER, Reading, deviation

if TYPE_CHECKING:
    from cospan.data import ColumnPlan, EncodingPlan, SetProfile

#: Texts and identifiers: no features, but it is watched how they are written.
TEXT = "text"
TRUTH = ("false", "true")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
EPOCH_WEEKDAY = 3  # 1970-01-01 was a Thursday
#: Levels that a row of the table shows.
SHOWN_LEVELS = 3


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
    truth: tuple[str, str] = TRUTH  # what a boolean's values are called

    @property
    def levels(self) -> tuple[str, ...] | None:
        """What codes of levels stand for; None for numbers."""
        if self.kind == "boolean":
            return self.truth
        if self.kind != "category":
            return None
        if self.plan is None:
            return tuple(str(place) for place in self.features)
        return (*self.plan.levels, OTHER) if self.plan.other else self.plan.levels


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
        truth = _spelled(column, profiles or ())
        found.append(Column(column.name, column.kind, places, indicator, column, fill, truth))
        place, gap = place + width, gap + column.indicator
    return tuple(found)


def _spelled(column: ColumnPlan, profiles: Sequence[SetProfile]) -> tuple[str, str]:
    """The words for false and true, as most values of both sets are written."""
    written: Counter[str] = Counter()
    for profile in profiles:
        written.update(next((p.levels for p in profile.columns if p.name == column.name), {}))
    first, second = (
        max((x for x in written if x.lower() == word), key=lambda x: written[x], default=word)
        for word in (column.truth if column.kind == "boolean" else TRUTH)
    )
    return first, second


def text_columns(plan: EncodingPlan | None) -> tuple[Column, ...]:
    """The user's columns of texts and identifiers."""
    watched = () if plan is None else plan.watched
    return tuple(Column(name, TEXT, ()) for name in dict.fromkeys(name for name, _ in watched))


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


def having(rows: Floats, column: Column) -> Floats:
    """The rows that have a value in a column."""
    there = present(rows, column)
    return rows if there is None else rows[there]


def read_columns(columns: Sequence[Column], rows: Floats) -> list[Reading]:
    """Encoded rows as the user's columns have them: numbers, or codes of levels, NaN for gaps."""
    found = []
    for place, column in enumerate(columns):
        values = rows[:, list(column.features)]
        gaps = present(rows, column)
        codes = values.argmax(axis=1)[:, None] if column.kind == "category" else values
        for k, one in enumerate(codes.T):
            plain = np.array(one, dtype=np.float64)
            if gaps is not None:
                plain[~gaps] = np.nan
            part = str(k) if codes.shape[1] > 1 else ""
            found.append(Reading(place, part, plain, column.levels))
            if column.kind == "date":
                days = (np.floor(plain) + EPOCH_WEEKDAY) % 7
                found.append(Reading(place, "weekday", days, WEEKDAYS, related=False))
    return found


def read_texts(
    columns: Sequence[Column], parts: Sequence[tuple[str, str]], watched: Floats | None
) -> list[Reading]:
    """How texts that make no feature are written: the plan's `watched` parts, (n, k)."""
    place = {column.name: k for k, column in enumerate(columns) if column.kind == TEXT}
    if watched is None:
        return []
    return [
        Reading(place[name], part, np.asarray(values), related=False)
        for (name, part), values in zip(parts, watched.T, strict=True)
    ]


@dataclass(frozen=True)
class Held:
    """What one set holds in a column.

    `missing` is the share of rows without a value; `mean` and `deviation` are of the values
    present (of a boolean, the share that is true); `levels` are the shares of a category's levels;
    `counts`, where all rows were counted, how many have each level, also those without a feature
    of their own.
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


def held_in(column: Column, rows: Floats, profile: SetProfile | None) -> Held:
    """What a set holds in a column: from all rows where these were counted, else from a sample."""
    part = having(rows, column)
    missing = 1 - len(part) / max(1, len(rows))
    values = part[:, list(column.features)]
    levels = column.levels or ()
    if column.kind == "category":
        shares = values.mean(axis=0).tolist() if len(values) else [0.0] * len(levels)
        found = Held(missing, levels=dict(zip(levels, shares, strict=True)))
    elif len(values) == 0:
        found = Held(missing)
    else:
        low, high = float(values.min()), float(values.max())
        mean = round_the_clock(values) if column.kind == "time of day" else float(values.mean())
        spread = float(np.mean([deviation(one) for one in values.T]))
        found = Held(missing, mean, spread, low, high)
    if profile is None:
        return found
    return _counted(column, found, profile)


def held_text(readings: Sequence[Reading], place: int) -> Held:
    """Of a column of text: how long its texts are."""
    values = next(one.values for one in readings if (one.column, one.part) == (place, "length"))
    known = values[~np.isnan(values)]
    missing = 1 - len(known) / max(1, len(values))
    if not len(known):
        return Held(missing)
    return Held(
        missing, float(known.mean()), deviation(known), float(known.min()), float(known.max())
    )


def _counted(column: Column, held: Held, profile: SetProfile) -> Held:
    """What all rows hold, where they were counted while the plan was learned."""
    try:
        own = profile[column.name]
    except KeyError:
        return held
    missing = own.missing / own.rows if own.rows else held.missing
    if column.kind != "category":
        if math.isnan(own.mean):
            return Held(missing, held.mean, held.deviation, held.low, held.high)
        # Squares of smaller values have lost digits; the sample's deviation is scaled.
        tiny = max(abs(own.low), abs(own.high)) < SQUARES_KEEP_DIGITS
        spread = held.deviation if tiny else own.deviation
        return Held(missing, own.mean, spread, own.low, own.high)
    total = sum(own.levels.values())
    if not total or not own.exact:
        return Held(missing, levels=held.levels)
    shares = {level: own.levels.get(level, 0) / total for level in held.levels}
    if column.plan is not None and column.plan.other:
        known = sum(own.levels.get(level, 0) for level in column.plan.levels)
        shares[OTHER] = 1 - known / total
    return Held(missing, levels=shares, counts=own.levels)


def round_the_clock(hours: Floats) -> float:
    """The mean direction of the hand of a clock: whenever the day begins, it is the same."""
    turn = 2 * math.pi / 24
    x, y = float(np.cos(turn * hours).mean()), float(np.sin(turn * hours).mean())
    return math.atan2(y, x) / turn % 24


@dataclass(frozen=True)
class FeatureChange:
    """One column of the user's, in A and in B.

    Attributes
    ----------
    name, kind : str
        The kind is ``"number"``, ``"boolean"``, ``"category"``, ``"date"``, ``"time of day"``,
        ``"duration"`` or ``"text"``, which makes no feature: its `a` and `b` are
        those of its length.
    changed : bool
        Whether the column is to blame for a part of the difference.
    change : str
        The kind of its finding, such as ``"mean"``; ``"none"`` without one.
    p_adjusted : float
        Of the column, adjusted over all columns; that of its finding where it has one.
    difference : float
        Standardised difference, B less A: of means in standard deviations; of shares, Cohen's h,
        the largest over the levels of a category (without a sign).
    a, b : Held
        Missing rate, mean, standard deviation, range or levels.
    part, share : float
        The column's part of D, and what share of D that is.
    pull : float
        The mean pull on the angle, where one was given; else NaN.
    finding : Finding or None
    """

    name: str
    kind: str
    changed: bool
    change: str
    p_adjusted: float
    difference: float
    a: Held
    b: Held
    part: float
    share: float = math.nan
    pull: float = math.nan
    finding: Finding | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain types only; what does not apply is None."""
        row: dict[str, Any] = {
            key: getattr(self, key) for key in ("name", "kind", "change", "changed")
        }
        numbers = ("p_adjusted", "difference", "part", "share", "pull")
        row |= {key: _finite(getattr(self, key)) for key in numbers}
        for side, held in (("a", self.a), ("b", self.b)):
            row |= {
                f"missing_{side}": held.missing,
                f"mean_{side}": _finite(held.mean),
                f"sd_{side}": _finite(held.deviation),
                f"low_{side}": _finite(held.low),
                f"high_{side}": _finite(held.high),
                f"levels_{side}": {k: _finite(v) for k, v in held.levels.items()},
            }
        row["finding"] = None if self.finding is None else self.finding.to_dict()
        return row


@dataclass(frozen=True)
class FeatureTable:
    """Every column of the user's: changed ones first, the surest first.

    >>> from cospan import compare
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(200, 3)), rng.normal(size=(200, 3)) + [0, 0, 2]
    >>> features = compare(A, B, n_permutations=99).features
    >>> [row.name for row in features.changed], features["x2"].change
    (['x2'], 'mean')
    """

    rows: tuple[FeatureChange, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[FeatureChange]:
        return iter(self.rows)

    def __getitem__(self, key: int | str) -> FeatureChange:
        if isinstance(key, str):
            for row in self.rows:
                if row.name == key:
                    return row
            raise KeyError(key)
        return self.rows[key]

    @property
    def changed(self) -> tuple[FeatureChange, ...]:
        return tuple(row for row in self.rows if row.changed)

    @property
    def nameless(self) -> bool:
        """Whether columns are many and called by their places only, as those of embeddings are."""
        many, places = 30, {f"x{k}" for k in range(len(self.rows))}
        return len(self.rows) >= many and {row.name for row in self.rows} == places

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain types only."""
        return [row.to_dict() for row in self.rows]

    def to_frame(self, backend: str | None = None) -> Any:
        """A dataframe of the library that is installed, or of the one named."""
        plain = ("name", "kind", "change", "changed", "p_adjusted", "difference")
        columns: dict[str, Any] = {key: [getattr(r, key) for r in self.rows] for key in plain}
        for key, own in (("mean", "mean"), ("sd", "deviation"), ("missing", "missing")):
            for side in "ab":
                held = [getattr(r, side) for r in self.rows]
                columns[f"{key}_{side}"] = [getattr(h, own) for h in held]
        for side in "ab":
            columns[f"levels_{side}"] = [shown_levels(getattr(r, side)) for r in self.rows]
        for key in ("part", "share", "pull"):
            columns[key] = [getattr(r, key) for r in self.rows]
        return make_dataframe(columns, backend)


def shown_levels(held: Held) -> str:
    """The most frequent levels with their shares; empty for numbers."""
    first = sorted(held.levels.items(), key=lambda item: -item[1])[:SHOWN_LEVELS]
    return ", ".join(f"{level} {share:.0%}" for level, share in first if share > 0)


def standardised(column: Column, a: Held, b: Held) -> float:
    """Difference of the means in standard deviations; of shares Cohen's h, the largest."""
    if max(a.missing, b.missing) == 1:  # no values in one of the sets
        return math.nan
    if column.kind == "category":
        steps = [
            cohen(a.levels.get(x, 0.0), b.levels.get(x, 0.0)) for x in {**a.levels, **b.levels}
        ]
        return max((abs(x) for x in steps if not math.isnan(x)), default=math.nan)
    if column.kind == "boolean":
        return cohen(a.mean, b.mean)
    if a.mean == b.mean:
        return 0.0
    step = b.mean - a.mean
    if column.kind == "time of day":
        step = (step + 12) % 24 - 12  # the shorter way round
    spread = math.hypot(a.deviation, b.deviation) / math.sqrt(2)
    return math.copysign(math.inf, step) if spread == 0 else step / spread


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
