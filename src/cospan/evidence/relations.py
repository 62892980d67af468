"""The table of pairs: relations between two columns, by how surely they changed."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from cospan.base.tables import make_dataframe
from cospan.base.types import DataFrame, Record

from .engine import Found
from .findings import correlation
from .functions import PAIR
from .test import LEVEL, SQUARE

#: Pairs that are listed, the surest first.
LISTED = 50
#: The share of a pair's largest z² from which on its relation is what changed, and not numbers
#: inside a level, or equal values.
MOSTLY = 0.5


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
        told = one.kind == "relation" and SQUARE not in one.detail
        if told and (unit not in best or z > abs(evidence.z[best[unit]])):
            best[unit] = k
    mine = {unit: evidence.z[k] ** 2 >= MOSTLY * most[unit] ** 2 for unit, k in best.items()}
    p = {unit: float(evidence.adjusted[unit]) if mine[unit] else 1.0 for unit in best}
    rows = []
    for unit in sorted(best, key=lambda u: (p[u] > LEVEL, -abs(evidence.z[best[u]])))[:LISTED]:
        one = evidence.functions[best[unit]]
        ends = sorted(zip((one.column, one.second), one.detail, strict=True))
        x, y = (functions.scores.of(*end) for end in ends)
        a, b = slice(None, found.rows[0]), slice(found.rows[0], None)
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
