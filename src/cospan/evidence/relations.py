"""The table of pairs: relations between two columns, by how surely they changed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cospan.base.tables import make_dataframe

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

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain types only."""
        return [asdict(row) for row in self.rows]

    def to_frame(self, backend: str | None = None) -> Any:
        """A dataframe of the library that is installed, or of the one named."""
        names = PairChange.__dataclass_fields__
        return make_dataframe({n: [getattr(r, n) for r in self.rows] for n in names}, backend)


def pair_table(found: Found) -> PairTable:
    """The relations of scores that were compared, one row a pair of columns."""
    evidence, functions = found.evidence, found.functions
    scores, n_a = functions.scores, found.rows[0]
    related = [
        k
        for k, one in enumerate(evidence.functions)
        if one.kind == "relation" and SQUARE not in one.detail
    ]
    best: dict[tuple[int, int], int] = {}
    for k in sorted(related, key=lambda k: -abs(evidence.z[k])):
        one = evidence.functions[k]
        best.setdefault((min(one.column, one.second), max(one.column, one.second)), k)
    pairs = np.flatnonzero(evidence.family == PAIR)
    most: dict[tuple[int, int], float] = {}
    for one, z in zip(evidence.functions, evidence.z.tolist(), strict=True):
        if one.second >= 0 and one.kind != "equal":
            ends = min(one.column, one.second), max(one.column, one.second)
            most[ends] = max(most.get(ends, 0.0), z * z)
    p: dict[tuple[int, int], float] = {}
    for unit in pairs:
        low, high = sorted((int(evidence.first[unit]), int(evidence.second[unit])))
        if (low, high) in best:  # else the pair has something else, such as equal values
            mine = evidence.z[best[low, high]] ** 2 >= MOSTLY * most[low, high]
            p[low, high] = float(evidence.adjusted[unit]) if mine else 1.0
    rows = []
    for ends, k in sorted(best.items(), key=lambda item: p[item[0]] > LEVEL)[:LISTED]:
        one = evidence.functions[k]
        levels = one.detail
        places = [
            next(j for j in np.flatnonzero(scores.column == c) if scores.level[j] == level)
            for c, level in zip((one.column, one.second), levels, strict=True)
        ]
        (c1, l1, x), (c2, l2, y) = sorted(
            (c, level, j)
            for c, level, j in zip((one.column, one.second), levels, places, strict=True)
        )
        u, v = scores.values[:, x], scores.values[:, y]
        r = [correlation(u[side], v[side]) for side in (slice(None, n_a), slice(n_a, None))]
        names = functions.names[c1], functions.names[c2]
        first, second = (_score_name(n, lv) for n, lv in zip(names, (l1, l2), strict=True))
        z, q = float(evidence.z[k]), p[ends]
        rows.append(PairChange(first, second, *names, r[0], r[1], z, q, q <= LEVEL))
    return PairTable(tuple(rows), len(pairs), sum(p[ends] <= LEVEL for ends in best))


def _score_name(column: str, level: str) -> str:
    """A column of numbers by itself; a level as the features made of it are called."""
    if level == "missing":
        return f"{column} is missing"
    return f"{column} = {level}" if level else column
