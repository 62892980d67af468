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
other turned round, so one is enough. p-values are adjusted for all pairs of columns there are,
tried or not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from cospan._tolerance import PERFECT_CORRELATION
from cospan._types import Floats

from .grouping import Column, Rows, present
from .pairs import PairChange, PairTable, Relations
from .twosample import adjusted

ALL_PAIRS = 60
LEADING = 30
#: Pairs that the table lists: all that changed up to so many, and some more to compare with.
MOST_PAIRS, FEWEST_PAIRS = 200, 10
#: Rows of each set that must differ from the feature's usual value: with fewer a correlation is
#: the matter of a few rows.
VARIED_ROWS = 10


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
    adjusted: Floats
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
    order = np.lexsort((-np.abs(found.r_b - found.r_a), -np.abs(found.z)))
    n_changed = int(np.count_nonzero(found.adjusted <= math.log(level)))

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
            p_adjusted=math.exp(found.adjusted[e]),
            changed=bool(found.adjusted[e] <= math.log(level)),
        )

    listed = order[: max(FEWEST_PAIRS, min(MOST_PAIRS, n_changed))]
    table = PairTable(tuple(map(pair, listed.tolist())), len(order), found.total, n_changed)
    changed = order[:n_changed]
    i, k = found.owners
    leads = _leading(i[changed], k[changed], np.abs(found.z[changed]))
    first = {column: pair(int(changed[e])) for column, e in leads.items()}
    return Relations(table, _of_columns(found, len(columns)), first)


def _compared(columns: Sequence[Column], rows: Rows, weight: Floats) -> _Compared:
    features, ranks, there = _prepared(columns, rows)
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
    a, b = (_correlated(r, left, m) for r, m in zip(ranks, there, strict=True))
    z = _difference(a, b)[once]
    i, k = i[once], k[once]
    of_i, of_k = owner[i], owner[k]
    best = _surest(np.minimum(of_i, of_k) * len(columns) + np.maximum(of_i, of_k), np.abs(z))
    logs = math.log(2) + stats.norm.logsf(np.abs(z[best]))
    logs = np.minimum(0.0, logs + np.log(sizes[of_i[best]] * sizes[of_k[best]]))
    r_a, r_b = a.r[once][best], b.r[once][best]
    return _Compared(
        features, i[best], k[best], r_a, r_b, z[best], logs, adjusted(logs, total), total
    )


def _surest(key: NDArray[np.intp], size: Floats) -> NDArray[np.intp]:
    """Of entries with the same key the place of the largest, in the order of the keys."""
    order = np.lexsort((-size, key))
    _, first = np.unique(key[order], return_index=True)
    return order[first]


def _of_columns(found: _Compared, n_columns: int) -> Floats:
    """For each column the smallest log p-value of its pairs, times how many it has."""
    log_p = np.zeros(n_columns)
    for side in found.owners:
        np.minimum.at(log_p, side, found.logs)
    others = len({f.owner for f in found.features}) - 1
    return np.asarray(np.minimum(0.0, log_p + math.log(max(1, others))))


def _leading(i: NDArray[np.intp], k: NDArray[np.intp], size: Floats) -> dict[int, int]:
    """The columns that account for the changed pairs, each with its first pair.

    One column that was shuffled changes all its pairs, and each of its partners has one changed
    pair. So: the column with the most evidence takes its pairs, then the next, until none is left;
    where a single pair is left, both its columns are named.
    """
    found: dict[int, int] = {}
    open_ = np.ones(len(i), dtype=bool)
    while open_.any():
        n = int(max(i[open_].max(), k[open_].max())) + 1
        total = np.zeros(n)
        for side in (i, k):
            np.add.at(total, side[open_], size[open_] ** 2)
        best = int(np.argmax(total))
        mine = open_ & ((i == best) | (k == best))
        first = int(np.argmax(mine))
        partners = {int(x) for x in np.concatenate([i[mine], k[mine]])} - {best}
        named = [best, *partners] if len(partners) == 1 else [best]
        for column in named:
            found.setdefault(column, first)
        open_ &= ~mine
    return found


class _Side(NamedTuple):
    """Correlations in one set, (len(left), f), the variance of their influences, and rows."""

    r: Floats
    influence: Floats
    n: Any


def _prepared(
    columns: Sequence[Column], rows: Rows
) -> tuple[list[_Feature], list[Floats], list[Floats | None]]:
    """Features with enough variety, their standardised ranks in both sets, and who is present."""
    features: list[_Feature] = []
    gaps: list[tuple[Any, Any]] = []
    for owner, column in enumerate(columns):
        gap = (present(rows.a, column), present(rows.b, column))
        # Of two levels, each feature is 1 less the other.
        mirrored = column.kind == "category" and len(column.features) == 2
        places = column.features[:1] if mirrored else column.features
        features.extend(_Feature(place, owner) for place in places)
        gaps.extend([gap] * len(places))
    at = [f.place for f in features]
    ranks, there, varied = [], [], np.ones(len(features), dtype=bool)
    for side, part in enumerate((rows.a, rows.b)):
        found, enough = _ranks(part[:, at], [gap[side] for gap in gaps])
        ranks.append(found)
        varied &= enough
        masks = [gap[side] for gap in gaps]
        full: Floats | None = None
        if any(mask is not None for mask in masks):
            full = np.ones(found.shape)
            for j, mask in enumerate(masks):
                if mask is not None:
                    full[:, j] = mask
        there.append(full)
    kept = np.flatnonzero(varied)
    return (
        [features[j] for j in kept],
        [r[:, kept] for r in ranks],
        [None if m is None else m[:, kept] for m in there],
    )


def _ranks(values: Floats, masks: Sequence[Any]) -> tuple[Floats, NDArray[np.bool_]]:
    """Mid-ranks with mean 0 and variance 1, 0 where missing; and which columns vary enough."""
    found = np.zeros(values.shape)
    enough = np.zeros(values.shape[1], dtype=bool)
    complete = [j for j, mask in enumerate(masks) if mask is None]
    groups = [(complete, None)] + [([j], m) for j, m in enumerate(masks) if m is not None]
    for places, mask in groups:
        part = values[:, places] if mask is None else values[np.ix_(mask, places)]
        if not places or len(part) < 2 * VARIED_ROWS:
            continue
        rank = _centred_ranks(part)
        deviation = np.sqrt(np.einsum("ij,ij->j", rank, rank) / len(part))
        # The largest tie has the variance (1 - t³/n³)/12 left beside it.
        n = len(part)
        left = 1 - (1 - np.minimum(1.0, 12 * deviation**2 / n**2)) ** (1 / 3)
        good = left * n >= VARIED_ROWS
        rank /= np.where(good, deviation, 1.0)
        rank[:, ~good] = 0
        enough[places] = good
        if mask is None:
            found[:, places] = rank
        else:
            found[np.ix_(mask, places)] = rank
    return found, enough


def _centred_ranks(values: Floats) -> Floats:
    """Mid-ranks with mean 0, column by column; those of two values need no sorting."""
    n = len(values)
    low, high = values.min(axis=0), values.max(axis=0)
    at_high = values == high
    two = np.all(at_high | (values == low), axis=0)
    found = np.empty(values.shape)
    # k rows have the high value: its mid-rank is n/2 above that of the low one.
    found[:, two] = (at_high[:, two] - at_high[:, two].mean(axis=0)) * (n / 2)
    rest = np.flatnonzero(~two)
    if len(rest):
        found[:, rest] = stats.rankdata(values[:, rest], axis=0) - (n + 1) / 2
    return found


def _correlated(u: Floats, left: NDArray[np.intp], there: Floats | None) -> _Side:
    v = u[:, left]
    n: Any = float(len(u))
    if there is not None:
        n = np.maximum(1.0, there[:, left].T @ there)
    r = np.clip(v.T @ u / n, -1.0, 1.0)
    squares = u * u
    cubes = squares * u
    both = squares[:, left].T @ squares / n
    cross = cubes[:, left].T @ u
    # Where all features are on the left, the other way round is the same product transposed.
    mixed = (cross + (cross.T if len(left) == u.shape[1] else v.T @ cubes)) / n
    fourth = np.einsum("ij,ij->j", squares, squares) / (len(u) if there is None else there.sum(0))
    influence = both - r * mixed + r**2 / 4 * (fourth[left][:, None] + 2 * both + fourth[None, :])
    return _Side(r, np.maximum(influence, 0.0), np.maximum(n - 4, 1.0))


def _difference(a: _Side, b: _Side) -> Floats:
    """The difference of two correlations in its standard errors, B less A.

    On Fisher's scale or as it is, whichever says less: a correlation of exactly 1, which a few
    rows of a rare level give easily, is infinitely far from all others on Fisher's scale.
    """
    near = 1 - PERFECT_CORRELATION
    free = [np.maximum(1 - side.r**2, PERFECT_CORRELATION) for side in (a, b)]
    steps = [np.arctanh(np.clip(side.r, -near, near)) for side in (a, b)]
    errors = [
        np.maximum(side.influence / f**2, 1.0) / side.n
        for side, f in zip((a, b), free, strict=True)
    ]
    fisher = (steps[1] - steps[0]) / np.sqrt(errors[0] + errors[1])
    normal = (1 - ((a.r + b.r) / 2) ** 2) ** 2
    plain = [
        np.maximum(np.maximum(side.influence, normal), PERFECT_CORRELATION) / side.n
        for side in (a, b)
    ]
    direct = (b.r - a.r) / np.sqrt(plain[0] + plain[1])
    return np.asarray(np.where(np.abs(fisher) < np.abs(direct), fisher, direct))
