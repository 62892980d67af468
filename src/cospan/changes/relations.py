"""Relations that changed: pairs of features whose correlation is another in B than in A.

Correlations are Spearman's: of ranks within each set, so that a column that was shifted, scaled or
bent keeps its relations, and far rows do not decide. Two correlations are compared on Fisher's
scale. The error of each comes from the fourth moments of the ranks themselves (the variance of
the influence uv - r (u² + v²)/2), and is never taken to be below that of a normal pair.

With at most 60 features all pairs are tried. With more, the directions point to the features whose
spreads and relations differ most (``parts``); these are tried with all others.

Two columns have one relation. Of a category every level is a feature, and since they exclude each
other, what one level does the others do the other way round: the pair of levels that changed most
surely stands for its two columns, for as many pairs as they have. Of two levels the one is the
other with the sign changed, so one is enough. p-values are adjusted for all pairs of columns,
tried or not; but one column that was shuffled changes dozens of pairs, among which a few by chance
would pass. So the pairs that such a column accounts for are set aside, and the others are adjusted
anew, by themselves.

A value that is missing is a relation, too: 'category is missing' goes with wind. The relations of
a column with gaps are those of the rows that have both values, ranked among themselves
(``correlating``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from cospan._types import Floats

from .correlating import apart, correlated, standard_ranks
from .grouping import Column, Rows, present
from .pairs import PairChange, PairTable, Relations
from .twosample import adjusted, log_fisher

ALL_PAIRS = 60
#: p-values up to this say that values are missing more often in one set.
_AS_OFTEN = 0.05
LEADING = 30
#: Pairs that the table lists: all that changed up to so many, and some more to compare with.
MOST_PAIRS, FEWEST_PAIRS = 200, 10


class _Feature(NamedTuple):
    place: int
    owner: int


class _Compared(NamedTuple):
    """Pairs of columns that were compared: the two features of each, and log p-values.

    `total` is the number of all pairs of columns there are.
    """

    features: list[_Feature]
    i: NDArray[np.intp]
    k: NDArray[np.intp]
    r_a: Floats
    r_b: Floats
    z: Floats
    logs: Floats
    total: int

    @property
    def owners(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        owner = np.array([f.owner for f in self.features], dtype=np.intp)
        return owner[self.i], owner[self.k]


def changed_relations(
    columns: Sequence[Column], names: Sequence[str], rows: Rows, weight: Floats, level: float
) -> Relations:
    """Compare correlations; `weight` says which features to try first (the spread parts)."""
    found = _compared(columns, rows, weight)
    log_p, leads = _accounted(found, math.log(level))
    changed = log_p <= math.log(level)
    order = np.lexsort((-np.abs(found.r_b - found.r_a), -np.abs(found.z), ~changed))
    n_changed = int(np.count_nonzero(changed))

    def pair(e: int) -> PairChange:
        f, g = (found.features[j] for j in sorted((found.i[e], found.k[e])))
        return PairChange(
            first=names[f.place],
            second=names[g.place],
            first_column=columns[f.owner].name,
            second_column=columns[g.owner].name,
            r_a=float(found.r_a[e]),
            r_b=float(found.r_b[e]),
            z=float(found.z[e]),
            p=math.exp(found.logs[e]),
            p_adjusted=math.exp(log_p[e]),
            changed=bool(changed[e]),
        )

    listed = order[: max(FEWEST_PAIRS, min(MOST_PAIRS, n_changed))]
    table = PairTable(tuple(map(pair, listed.tolist())), len(order), found.total, n_changed)
    first = {column: pair(e) for column, e in leads.items()}
    return Relations(table, _of_columns(found, leads, len(columns)), first)


def _compared(columns: Sequence[Column], rows: Rows, weight: Floats) -> _Compared:
    features, sides = _prepared(columns, rows)
    owner = np.array([f.owner for f in features], dtype=np.intp)
    left = np.arange(len(features))
    if len(features) > ALL_PAIRS:
        left = np.argsort(-weight[[f.place for f in features]], kind="stable")[:LEADING]
    i, k = np.meshgrid(left, np.arange(len(features)), indexing="ij")
    in_left = np.zeros(len(features), dtype=bool)
    in_left[left] = True
    once = (owner[i] != owner[k]) & ((i < k) | ~in_left[k])
    sizes = np.bincount(owner, minlength=len(columns))
    present_ones = np.count_nonzero(sizes)
    total = int(present_ones * (present_ones - 1) // 2)
    a, b = (correlated(*side, left) for side in sides)
    z = apart(a, b)[once]
    i, k = i[once], k[once]
    of_i, of_k = owner[i], owner[k]
    best = _surest(np.minimum(of_i, of_k) * len(columns) + np.maximum(of_i, of_k), np.abs(z))
    logs = math.log(2) + stats.norm.logsf(np.abs(z[best]))
    logs = np.minimum(0.0, logs + np.log(sizes[of_i[best]] * sizes[of_k[best]]))
    r_a, r_b = a.r[once][best], b.r[once][best]
    return _Compared(features, i[best], k[best], r_a, r_b, z[best], logs, total)


def _surest(key: NDArray[np.intp], size: Floats) -> NDArray[np.intp]:
    """Of entries with the same key the place of the largest, in the order of the keys."""
    order = np.lexsort((-size, key))
    _, first = np.unique(key[order], return_index=True)
    return order[first]


def _of_columns(found: _Compared, leads: dict[int, int], n_columns: int) -> Floats:
    """For each column the log p-value of the first pair it accounts for, times how many it has."""
    log_p, others = np.zeros(n_columns), len({f.owner for f in found.features}) - 1
    for column, e in leads.items():
        log_p[column] = min(0.0, found.logs[e] + math.log(max(1, others)))
    return log_p


def _accounted(found: _Compared, level: float) -> tuple[Floats, dict[int, int]]:
    """Adjusted log p-values, and the columns that account for changed pairs, with their first.

    One column that was shuffled changes all its pairs, and each of its partners has one changed
    pair. So: the column with the most evidence takes its pairs, the others are adjusted anew, and
    then the next, until none is left; where it has a single pair, both columns are named.
    """
    i, k = found.owners
    size = found.z**2
    log_p = adjusted(found.logs, found.total)
    leads: dict[int, int] = {}
    rest, left = np.ones(len(i), dtype=bool), len({f.owner for f in found.features})
    while (changed := rest & (log_p <= level)).any():
        evidence = np.zeros(int(max(i.max(), k.max())) + 1)
        for side in (i, k):
            np.add.at(evidence, side[changed], size[changed])
        best = int(np.argmax(evidence))
        mine = (i == best) | (k == best)
        own = np.flatnonzero(mine & changed)
        partners = {int(x) for x in np.concatenate([i[own], k[own]])} - {best}
        for column in [best, *partners] if len(partners) == 1 else [best]:
            leads.setdefault(column, int(own[np.argmax(size[own])]))
        rest &= ~mine
        left -= 1
        log_p[rest] = adjusted(found.logs[rest], left * (left - 1) // 2)
    return log_p, leads


class _Ranked(NamedTuple):
    """Features of one set: values, who has one (None: all), and standardised ranks."""

    values: Floats
    masks: list[Any]
    ranks: Floats


def _prepared(
    columns: Sequence[Column], rows: Rows
) -> tuple[list[_Feature], tuple[_Ranked, _Ranked]]:
    """Features with enough variety, in both sets."""
    features: list[_Feature] = []
    gaps: list[tuple[Any, Any]] = []
    for owner, column in enumerate(columns):
        gap = (present(rows.a, column), present(rows.b, column))
        # Of two levels, each feature is 1 less the other.
        mirrored = column.kind == "category" and len(column.features) == 2
        places = column.features[:1] if mirrored else column.features
        features.extend(_Feature(place, owner) for place in places)
        gaps.extend([gap] * len(places))
        if column.indicator is not None and _as_often_missing(*gap, rows):
            features.append(_Feature(column.indicator, owner))
            gaps.append((None, None))
    at = [f.place for f in features]
    a, b = (
        standard_ranks(part[:, at], [gap[side] for gap in gaps])
        for side, part in enumerate(rows[:2])
    )
    kept = np.flatnonzero(a[1] & b[1])
    found = [
        _Ranked(part[:, [at[j] for j in kept]], [gaps[j][side] for j in kept], ranks[:, kept])
        for side, (part, ranks) in enumerate(((rows.a, a[0]), (rows.b, b[0])))
    ]
    return [features[j] for j in kept], (found[0], found[1])


def _as_often_missing(a: Any, b: Any, rows: Rows) -> bool:
    """Whether values are missing as often in B as in A: new gaps are news by themselves."""
    counts = [0 if there is None else len(there) - int(there.sum()) for there in (a, b)]
    return bool(log_fisher(counts[0], len(rows.a), counts[1], len(rows.b))[0] > math.log(_AS_OFTEN))
