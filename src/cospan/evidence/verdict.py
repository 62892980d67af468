"""What a comparison of two sets found: the verdict, with its tables of columns and of pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from cospan.base.tables import make_dataframe, plain
from cospan.base.text import plural
from cospan.base.types import DataFrame, Record

from .blame import nameless
from .columns import Column, Held, held_in
from .findings import Finding, cohen, related
from .functions import OWN, PAIR, Reading, RowFunctions, sides
from .size import Size
from .test import LEVEL, SQUARE, Evidence

#: From which AUC on a difference is called so: those of two normal distributions 0.2, 0.5 and 0.8
#: standard deviations apart, Cohen's cuts.
SIZES = ((0.71, "large"), (0.64, "medium"), (0.56, "small"))
#: What a set holds, as it is called in tables.
HELD = {"missing": "missing", "mean": "mean", "sd": "deviation", "low": "low", "high": "high"}
#: Levels that a cell of a dataframe shows.
SHOWN_LEVELS = 3
#: Pairs that are listed, the surest first.
LISTED = 50
#: The share of a pair's largest z² from which on its relation is what changed, and not numbers
#: inside a level, or equal values.
MOSTLY = 0.5

Row = TypeVar("Row", "FeatureChange", "PairChange")


@dataclass(frozen=True, repr=False)
class Table(Generic[Row]):
    """Rows of one kind: changed ones first, the surest first.

    >>> from cospan import compare
    >>> A, B = np.random.default_rng(0).normal(size=(2, 200, 2))
    >>> B[:, 1] += B[:, 0]
    >>> pairs = compare(A, B).feature_pairs
    >>> len(pairs.changed), pairs[0].first, pairs[0].second, round(pairs[0].r_b, 1)
    (1, 'x0', 'x1', 0.7)
    >>> features = compare(A, B + [0, 2]).features
    >>> [row.name for row in features.changed], features["x1"].change
    (['x1'], 'mean')
    """

    rows: tuple[Row, ...] = ()

    def __repr__(self) -> str:
        return f"<Table: {len(self.changed)} of {plural(len(self), 'row')} changed; to_frame()>"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, key: int | str) -> Row:
        """A row by its place, or by the name of its column."""
        if isinstance(key, str):
            return {getattr(row, "name", ""): row for row in self.rows}[key]
        return self.rows[key]

    @property
    def changed(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.changed)

    @property
    def nameless(self) -> bool:
        """Whether columns are many and called by their places only, as those of embeddings are."""
        return nameless([getattr(row, "name", "") for row in self.rows])

    def to_dict(self) -> list[Record]:
        """Plain types only; what does not apply is None."""
        return [plain(row.cells()) for row in self.rows]

    def to_frame(self, backend: str | None = None) -> DataFrame:
        """A dataframe of the library that is installed, or of the one named."""
        cells = [row.cells() for row in self.rows]
        names = [name for name in (cells[0] if cells else ()) if name != "finding"]
        return make_dataframe(
            {name: [_flat(row[name]) for row in cells] for name in names}, backend
        )


def _flat(cell: Any) -> Any:
    """Of levels with their shares the most frequent ones, as text."""
    if not isinstance(cell, Mapping):
        return cell
    first = sorted(cell.items(), key=lambda item: -item[1])[:SHOWN_LEVELS]
    return ", ".join(f"{level} {share:.0%}" for level, share in first if share > 0)


@dataclass(frozen=True)
class FeatureChange:
    """One column of the user's, in A and in B."""

    name: str
    #: "number", "boolean", "category", "date", "time of day", "duration", or "text", which makes no
    #: feature: its `a` and `b` are of its length
    kind: str
    p_adjusted: float  # over all columns; that of its finding where it has one
    #: Standardised, B less A: of means in standard deviations; of shares, Cohen's h, the largest
    #: over the levels of a category (without a sign)
    difference: float
    a: Held
    b: Held
    finding: Finding | None = None

    @property
    def changed(self) -> bool:
        """Whether it is to blame for a part of the difference."""
        return self.finding is not None

    @property
    def change(self) -> str:
        """The kind of its finding, such as "mean"; "none" without one."""
        return "none" if self.finding is None else self.finding.kind

    def cells(self) -> Record:
        """The row by the names of its columns."""
        row = {key: getattr(self, key) for key in ("name", "kind", "change", "changed")}
        row |= {"p_adjusted": self.p_adjusted, "difference": self.difference}
        for side, held in (("a", self.a), ("b", self.b)):
            row |= {f"{key}_{side}": getattr(held, own) for key, own in HELD.items()}
            row[f"levels_{side}"] = dict(held.levels)
        return row | {"finding": self.finding}


def feature_table(
    columns: Sequence[Column], read: Sequence[Sequence[Reading]], found: Verdict
) -> Table[FeatureChange]:
    """What both sets hold in every column, in the order in which a test suspects them."""
    first = {name: one for one in reversed(found.findings) for name in one.columns}
    own_p = dict.fromkeys(range(len(columns)), 1.0 if found.order else math.nan)
    if found.evidence is not None:
        own = found.evidence.family == OWN
        own_p |= zip(found.evidence.first[own], found.evidence.adjusted[own], strict=True)
    place = {column.name: k for k, column in enumerate(columns)}
    values = [{one.column: one.values for one in reversed(side)} for side in read]
    rows = []
    for name in found.order or place:
        k, finding = place[name], first.get(name)
        a, b = (held_in(columns[k], side[k]) for side in values)
        p = float(own_p[k]) if finding is None else finding.p
        kind = columns[k].kind
        rows.append(FeatureChange(name, kind, p, standardised(kind, a, b), a, b, finding))
    return Table(tuple(rows))


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
    step = b.mean - a.mean
    if step == 0:
        return 0.0
    if kind == "time of day":
        step = (step + 12) % 24 - 12  # the shorter way round
    spread = math.hypot(a.deviation, b.deviation) / math.sqrt(2)
    return math.copysign(math.inf, step) if spread == 0 else step / spread


@dataclass(frozen=True)
class PairChange:
    """One pair of columns: its rank correlation in A and in B."""

    first: str  # a column, or a level of a category
    second: str
    first_column: str  # the column itself
    second_column: str
    r_a: float
    r_b: float
    z: float
    p_adjusted: float
    changed: bool

    def cells(self) -> Record:
        """The row by the names of its columns."""
        return asdict(self)


def pair_table(evidence: Evidence, functions: RowFunctions, n_a: int) -> Table[PairChange]:
    """The relations of scores that were compared, one row a pair of columns."""
    best: dict[int, int] = {}  # of each unit, its function that shows the relation best
    most = np.zeros(len(evidence.z2))
    for k, one in enumerate(evidence.functions):
        unit, z = int(evidence.unit[k]), abs(float(evidence.z[k]))
        if one.family == PAIR and one.kind != "equal":
            most[unit] = max(most[unit], z)
        told = one.kind == "relation" and SQUARE not in (one.level, one.second_level)
        if told and (unit not in best or z > abs(evidence.z[best[unit]])):
            best[unit] = k

    def is_its_own(unit: int) -> bool:
        """Whether the relation itself changed: not a level that one set lacks, nor filled gaps."""
        one, z = evidence.functions[best[unit]], evidence.z[best[unit]]
        ends = (one.column, one.level), (one.second, one.second_level)
        scores = [functions.scores.of(*end) for end in ends]
        varies = all(np.ptp(score[side]) > 0 for score in scores for side in sides(n_a))
        step, filled = (np.ptp(related(functions, ends, n_a, gaps)) for gaps in (False, True))
        return varies and bool(z**2 >= MOSTLY * most[unit] ** 2 and step >= MOSTLY * filled)

    p = {unit: float(evidence.adjusted[unit]) for unit in best}
    p = {unit: one if one > LEVEL or is_its_own(unit) else 1.0 for unit, one in p.items()}
    rows = []
    for unit in sorted(best, key=lambda u: (p[u] > LEVEL, -abs(evidence.z[best[u]])))[:LISTED]:
        one = evidence.functions[best[unit]]
        ends = sorted([(one.column, one.level), (one.second, one.second_level)])
        columns = functions.names[ends[0][0]], functions.names[ends[1][0]]
        first, second = map(_score_name, columns, (level for _, level in ends))
        r_a, r_b = related(functions, ends, n_a)
        z, surely = float(evidence.z[best[unit]]), p[unit] <= LEVEL
        rows.append(PairChange(first, second, *columns, r_a, r_b, z, p[unit], surely))
    return Table(tuple(rows))


def _score_name(column: str, level: str) -> str:
    """A column of numbers by itself; a level as the features made of it are called."""
    if level == "missing":
        return f"{column} is missing"
    return f"{column} = {level}" if level else column


# ---- the verdict ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Smallest:
    """The smallest changes of a column that would have been seen in four of five such comparisons.

    `mean` is in the column's units (NaN for categories), `share` that of its most frequent level or
    of missing values.
    """

    mean: float = math.nan
    share: float = math.nan


def size_word(auc: float) -> str:
    """How large a difference with such an AUC is.

    >>> [size_word(auc) for auc in (0.5, 0.6, 0.7, 0.9)]
    ['none', 'small', 'medium', 'large']
    """
    return next((word for cut, word in SIZES if auc >= cut), "none")


@dataclass(frozen=True)
class Verdict:
    """What a comparison of two sets found; by default nothing, as without a test. Print it.

    >>> import numpy as np
    >>> from cospan import compare
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(200, 3)), rng.normal(size=(200, 3)) + [0, 0, 2]
    >>> verdict = compare(A, B, n_permutations=99).verdict
    >>> verdict.size, verdict.mostly, verdict.features
    ('large', 'location', ('x2',))
    """

    pvalue: float = math.nan  # of "both sets come from one distribution"
    rows_tested: tuple[int, int] = (0, 0)  # rows of A and of B behind it
    n_permutations: int = 0  # relabellings behind it
    findings: tuple[Finding, ...] = ()  # what changed: repeated rows, then the clearest first
    order: tuple[str, ...] = ()  # all columns, the most suspicious first
    columns: Table[FeatureChange] = field(default_factory=Table)  # changed ones first
    feature_pairs: Table[PairChange] = field(default_factory=Table)  # the surest first
    quality: tuple[Finding, ...] = ()  # what is odd about the data; differences first
    auc: Size | None = None  # how well the angle separates rows that had no part in its fit
    #: What share of the difference is location, scale and shape; empty where nothing differs
    shares: Mapping[str, float] = field(default_factory=dict)
    sets: tuple[str, str] = ("A", "B")  # what the sets are called
    #: For each column, the smallest changes that would have been seen in four of five comparisons
    smallest: Mapping[str, Smallest] = field(default_factory=dict, repr=False)
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    @property
    def differs(self) -> bool:
        """Whether `pvalue` is at most 0.05."""
        return self.pvalue <= LEVEL

    @property
    def size(self) -> str:
        """By the AUC "none", "small", "medium" or "large"; "unknown" without one."""
        if not self.differs:
            return "none"
        return "unknown" if self.auc is None else size_word(self.auc)

    @property
    def mostly(self) -> str:
        """The largest of `shares`."""
        return max(self.shares, key=lambda kind: self.shares[kind], default="")

    @property
    def features(self) -> tuple[str, ...]:
        """Columns with a finding, the clearest first."""
        return tuple(dict.fromkeys(name for one in self.findings for name in one.columns))

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each column."""
        return {column.name: column.kind for column in self.columns}

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict in words, most important first."""
        from cospan.wording.results import verdict_sentences

        return verdict_sentences(self)

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def to_dict(self) -> Record:
        """The verdict, both tables and the notes on quality, as plain types."""
        names = (
            "differs", "pvalue", "rows_tested", "n_permutations", "size", "auc", "mostly", "shares",
            "findings", "features", "sentences", "smallest",
        )  # fmt: skip
        verdict = {name: getattr(self, name) for name in names}
        verdict["auc"] = None if self.auc is None else self.auc.to_dict()
        return {
            "verdict": plain(verdict),
            "features": self.columns.to_dict(),
            "feature_pairs": self.feature_pairs.to_dict(),
            "quality": plain(self.quality),
        }
