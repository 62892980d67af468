"""The user's columns: which features were made of them, how rows are read, and the tables.

Rows come encoded (one feature a level, means for gaps). What is compared are the user's columns, so
encoded rows are read back: numbers with gaps, codes of levels. One table has a row for each column,
the other one for each pair of columns.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.tables import make_dataframe
from cospan.base.tolerance import SAME_VALUE, SQUARES_KEEP_DIGITS
from cospan.base.types import DataFrame, Floats, Record

from .blame import nameless
from .engine import Found
from .findings import Finding, cohen, correlation
from .functions import OTHER, PAIR, Reading, deviation
from .test import LEVEL, SQUARE

if TYPE_CHECKING:
    from cospan.data import ColumnPlan, EncodingPlan, SetProfile

#: Texts and identifiers: no features, but it is watched how they are written.
TEXT = "text"
TRUTH = ("false", "true")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
EPOCH_WEEKDAY = 3  # 1970-01-01 was a Thursday
#: What a set holds, as it is called in tables.
HELD = {"missing": "missing", "mean": "mean", "sd": "deviation", "low": "low", "high": "high"}
#: Levels that a row of the table shows.
SHOWN_LEVELS = 3
#: Pairs that are listed, the surest first.
LISTED = 50
#: The share of a pair's largest z² from which on its relation is what changed, and not numbers
#: inside a level, or equal values.
MOSTLY = 0.5


@dataclass(frozen=True)
class Column:
    """One column of the user's: which features were made of it.

    `features` are their places in the encoded rows; `indicator` is the place of the feature that
    says where a value is missing, or None. `levels` are what codes stand for, None for numbers;
    the last may be that of all rare levels.
    """

    name: str
    kind: str
    features: tuple[int, ...]
    indicator: int | None = None
    levels: tuple[str, ...] | None = None


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
        places = tuple(range(place, place + width))
        indicator = gap if column.indicator else None
        levels = None
        if column.kind == "boolean":
            levels = _spelled(column, profiles or ())
        elif column.kind == "category":
            levels = (*column.levels, OTHER) if column.other else column.levels
        found.append(Column(column.name, column.kind, places, indicator, levels))
        place, gap = place + width, gap + column.indicator
    return tuple(found)


def _spelled(column: ColumnPlan, profiles: Sequence[SetProfile]) -> tuple[str, ...]:
    """The words for false and true, as most values of both sets are written."""
    written: Counter[str] = Counter()
    for profile in profiles:
        if column.name in profile:
            written.update(profile[column.name].levels)
    return tuple(
        max((x for x in written if x.lower() == word), key=lambda x: written[x], default=word)
        for word in column.truth
    )


def text_columns(plan: EncodingPlan | None) -> tuple[Column, ...]:
    """The user's columns of texts and identifiers."""
    watched = () if plan is None else plan.watched
    return tuple(Column(name, TEXT, ()) for name in dict.fromkeys(name for name, _ in watched))


def _present(rows: Floats, column: Column) -> NDArray[np.bool_]:
    """Which rows have a value in a column."""
    if column.indicator is not None:
        return np.asarray(rows[:, column.indicator] == 0)
    if column.kind == "category":
        # A missing value is filled by shares, an unknown level by zeros: neither has a 1.
        return np.asarray(rows[:, list(column.features)].max(axis=1) == 1)
    return np.ones(len(rows), dtype=np.bool_)


def read_columns(columns: Sequence[Column], rows: Floats) -> list[Reading]:
    """Encoded rows as the user's columns have them: numbers, or codes of levels, NaN for gaps."""
    found = []
    for place, column in enumerate(columns):
        if column.kind == TEXT:
            continue
        values = rows[:, list(column.features)]
        codes = values.argmax(axis=1) if column.kind == "category" else values[:, 0]
        plain = np.where(_present(rows, column), codes.astype(np.float64), np.nan)
        found.append(Reading(place, "", plain, column.levels))
        if column.kind == "date":
            days = (np.floor(plain) + EPOCH_WEEKDAY) % 7
            found.append(Reading(place, "weekday", days, WEEKDAYS, related=False))
    return found


def read_texts(
    columns: Sequence[Column], parts: Sequence[tuple[str, str]], watched: Floats | None
) -> list[Reading]:
    """How texts that make no feature are written: the plan's `watched` parts, (n, k)."""
    if watched is None:
        return []
    place = {column.name: k for k, column in enumerate(columns) if column.kind == TEXT}
    return [
        Reading(place[name], part, np.asarray(values), related=False)
        for (name, part), values in zip(parts, watched.T, strict=True)
    ]


@dataclass(frozen=True)
class Held:
    """What one set holds in a column.

    `missing` is the share of rows without a value; `mean` and `deviation` are of the values
    present (of a boolean, the share that is true; of a text, of its length); `levels` are the
    shares of a category's levels; `counts`, where all rows were counted, how many have each level,
    also those without a feature of their own.
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


def held_in(column: Column, reading: Reading, profile: SetProfile | None) -> Held:
    """What a set holds in a column: from all rows where these were counted, else from a sample."""
    known = reading.values[~np.isnan(reading.values)]
    found = Held(1 - len(known) / max(1, len(reading.values)))
    if column.kind == "category":
        levels = column.levels or ()
        counts = np.bincount(known.astype(np.intp), minlength=len(levels)) / max(1, len(known))
        found = replace(found, levels=dict(zip(levels, counts.tolist(), strict=True)))
    elif len(known):
        mean = round_the_clock(known) if column.kind == "time of day" else float(known.mean())
        ends = float(known.min()), float(known.max())
        found = Held(found.missing, mean, deviation(known), *ends)
    if profile is None or column.kind == TEXT or column.name not in profile:
        return found
    return _counted(column, found, profile)


def _counted(column: Column, held: Held, profile: SetProfile) -> Held:
    """What all rows hold, where they were counted while the plan was learned."""
    own = profile[column.name]
    held = replace(held, missing=own.missing / own.rows if own.rows else held.missing)
    if column.kind != "category":
        if math.isnan(own.mean):
            return held
        # Squares of smaller values have lost digits; the sample's deviation is scaled.
        tiny = max(abs(own.low), abs(own.high)) < SQUARES_KEEP_DIGITS
        spread = held.deviation if tiny else own.deviation
        return Held(held.missing, own.mean, spread, own.low, own.high)
    total = sum(own.levels.values())
    if not total or not own.exact:
        return held
    shares = {level: own.levels.get(level, 0) / total for level in held.levels}
    if OTHER in shares:
        shares[OTHER] = 1 - sum(share for level, share in shares.items() if level != OTHER)
    return replace(held, levels=shares, counts=own.levels)


def round_the_clock(hours: Floats) -> float:
    """The mean direction of the hand of a clock: whenever the day begins, it is the same."""
    turn = 2 * math.pi / 24
    x, y = float(np.cos(turn * hours).mean()), float(np.sin(turn * hours).mean())
    return math.atan2(y, x) / turn % 24


@dataclass(frozen=True)
class FeatureChange:
    """One column of the user's, in A and in B."""

    name: str
    #: "number", "boolean", "category", "date", "time of day", "duration", or "text", which makes no
    #: feature: its `a` and `b` are of its length
    kind: str
    changed: bool  # whether it is to blame for a part of the difference
    change: str  # the kind of its finding, such as "mean"; "none" without one
    p_adjusted: float  # over all columns; that of its finding where it has one
    #: Standardised, B less A: of means in standard deviations; of shares, Cohen's h, the largest
    #: over the levels of a category (without a sign)
    difference: float
    a: Held
    b: Held
    part: float  # the column's part of D
    share: float = math.nan  # what share of D that is
    finding: Finding | None = None

    def to_dict(self) -> Record:
        """Plain types only; what does not apply is None."""
        row: Record = {key: getattr(self, key) for key in ("name", "kind", "change", "changed")}
        numbers = ("p_adjusted", "difference", "part", "share")
        row |= {key: _finite(getattr(self, key)) for key in numbers}
        for side, held in (("a", self.a), ("b", self.b)):
            row |= {f"{key}_{side}": _finite(getattr(held, own)) for key, own in HELD.items()}
            row[f"levels_{side}"] = dict(held.levels)
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
            return {row.name: row for row in self.rows}[key]
        return self.rows[key]

    @property
    def changed(self) -> tuple[FeatureChange, ...]:
        return tuple(row for row in self.rows if row.changed)

    @property
    def nameless(self) -> bool:
        """Whether columns are many and called by their places only, as those of embeddings are."""
        return nameless([row.name for row in self.rows])

    def to_dict(self) -> list[Record]:
        """Plain types only."""
        return [row.to_dict() for row in self.rows]

    def to_frame(self, backend: str | None = None) -> DataFrame:
        """A dataframe of the library that is installed, or of the one named."""
        plain = ("name", "kind", "change", "changed", "p_adjusted", "difference")
        columns: Record = {key: [getattr(r, key) for r in self.rows] for key in plain}
        for key, side in itertools.product(("mean", "sd", "missing"), "ab"):
            held = (getattr(row, side) for row in self.rows)
            columns[f"{key}_{side}"] = [getattr(one, HELD[key]) for one in held]
        for side in "ab":
            columns[f"levels_{side}"] = [_shown_levels(getattr(r, side)) for r in self.rows]
        for key in ("part", "share"):
            columns[key] = [getattr(r, key) for r in self.rows]
        return make_dataframe(columns, backend)


def _shown_levels(held: Held) -> str:
    """The most frequent levels with their shares; empty for numbers."""
    first = sorted(held.levels.items(), key=lambda item: -item[1])[:SHOWN_LEVELS]
    return ", ".join(f"{level} {share:.0%}" for level, share in first if share > 0)


def standardised(kind: str, a: Held, b: Held) -> float:
    """Difference of the means in standard deviations; of shares Cohen's h, the largest."""
    if max(a.missing, b.missing) == 1:  # no values in one of the sets
        return math.nan
    if kind == "category":
        steps = (
            cohen(a.levels.get(x, 0.0), b.levels.get(x, 0.0)) for x in {**a.levels, **b.levels}
        )
        return max((abs(x) for x in steps if not math.isnan(x)), default=math.nan)
    if kind == "boolean":
        return cohen(a.mean, b.mean)
    if a.mean == b.mean:
        return 0.0
    step = b.mean - a.mean
    if kind == "time of day":
        step = (step + 12) % 24 - 12  # the shorter way round
    spread = math.hypot(a.deviation, b.deviation) / math.sqrt(2)
    return math.copysign(math.inf, step) if spread == 0 else step / spread


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True)
class PairChange:
    """One pair of columns: its rank correlation in A and in B.

    `first` and `second` are columns, or a level of a column that is a category; `first_column` and
    `second_column` the columns.
    """

    first: str
    second: str
    first_column: str
    second_column: str
    r_a: float
    r_b: float
    z: float
    p_adjusted: float
    changed: bool


@dataclass(frozen=True)
class PairTable:
    """Pairs of columns by how surely their relation changed.

    `tried` is the number of pairs compared; `n_changed` that of changed ones, of which the surest
    are in `rows`.

    >>> from cospan import compare
    >>> A, B = np.random.default_rng(0).normal(size=(2, 200, 2))
    >>> B[:, 1] += B[:, 0]
    >>> pairs = compare(A, B).feature_pairs
    >>> pairs.n_changed, pairs[0].first, pairs[0].second, round(pairs[0].r_b, 1)
    (1, 'x0', 'x1', 0.7)
    """

    rows: tuple[PairChange, ...]
    tried: int
    n_changed: int

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> PairChange:
        return self.rows[i]

    @property
    def changed(self) -> tuple[PairChange, ...]:
        return tuple(row for row in self.rows if row.changed)

    def to_dict(self) -> list[Record]:
        """Plain types only."""
        return [asdict(row) for row in self.rows]

    def to_frame(self, backend: str | None = None) -> DataFrame:
        """A dataframe of the library that is installed, or of the one named."""
        names = PairChange.__dataclass_fields__
        return make_dataframe({n: [getattr(r, n) for r in self.rows] for n in names}, backend)


def pair_table(found: Found) -> PairTable:
    """The relations of scores that were compared, one row a pair of columns."""
    evidence, functions = found.evidence, found.functions
    if evidence is None or functions is None:
        return PairTable((), 0, 0)
    best: dict[int, int] = {}  # of each unit, its function that shows the relation best
    most = np.zeros(len(evidence.z2))
    for k, one in enumerate(evidence.functions):
        unit, z = evidence.unit[k], abs(float(evidence.z[k]))
        if one.second >= 0 and one.kind != "equal":
            most[unit] = max(most[unit], z)
        told = one.kind == "relation" and SQUARE not in (one.level, one.second_level)
        if told and (unit not in best or z > abs(evidence.z[best[unit]])):
            best[unit] = k
    a, b = slice(None, found.rows[0]), slice(found.rows[0], None)

    def is_its_own(k: int, unit: int) -> bool:
        """Whether the relation itself changed: a level that one set lacks has none there."""
        one = evidence.functions[k]
        x = functions.scores.of(one.column, one.level)
        y = functions.scores.of(one.second, one.second_level)
        varies = all(np.ptp(end[side]) > 0 for end in (x, y) for side in (a, b))
        return varies and bool(evidence.z[k] ** 2 >= MOSTLY * most[unit] ** 2)

    p = {unit: float(evidence.adjusted[unit]) for unit in best}
    p = {u: p[u] if p[u] > LEVEL or is_its_own(k, u) else 1.0 for u, k in best.items()}
    rows = []
    for unit in sorted(best, key=lambda u: (p[u] > LEVEL, -abs(evidence.z[best[u]])))[:LISTED]:
        one = evidence.functions[best[unit]]
        ends = sorted([(one.column, one.level), (one.second, one.second_level)])
        x, y = (functions.scores.of(*end) for end in ends)
        first, second = (_score_name(functions.names[c], level) for c, level in ends)
        names = [functions.names[c] for c, _ in ends]
        rows.append(
            PairChange(
                first, second, names[0], names[1], correlation(x[a], y[a]),
                correlation(x[b], y[b]), float(evidence.z[best[unit]]), p[unit], p[unit] <= LEVEL,
            )
        )  # fmt: skip
    tried = int(np.sum(evidence.family == PAIR))
    return PairTable(tuple(rows), tried, sum(one <= LEVEL for one in p.values()))


def _score_name(column: str, level: str) -> str:
    """A column of numbers by itself; a level as the features made of it are called."""
    if level == "missing":
        return f"{column} is missing"
    return f"{column} = {level}" if level else column
