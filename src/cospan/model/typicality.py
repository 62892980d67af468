"""How usual a sample is for each set: conformal p-values, so that "neither" exists.

Typicality compares what a sample costs a set with what the set's own rows cost it, each left out:

    p = (1 + number of the set's rows that cost at least as much) / (1 + number of rows)

For a new row of the set p is uniform, whatever the distribution. Comparisons ask the same of
:class:`UsualRows`, out of fold, where the cost is that of normal scores and of what lies beyond the
range of most rows, so that heavy tails neither hide far-out rows nor make them all alike.

No rank is below 1/(n + 1), so among few rows none would ever be called "neither": beyond the
largest costs the tail of these decides (``cospan.base.rows``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from cospan.base import arrays
from cospan.base.factorizations import cholesky, inverse_triangle, solve_triangular_transposed
from cospan.base.rows import tail_p_values
from cospan.base.tolerance import SAME_COST
from cospan.base.types import Array, Floats

#: Columns enter as normal scores within this range of a set's rows, at so many levels. What lies
#: beyond it counts in robust deviations, a normal distribution's quartiles being this far apart.
LEVELS = np.linspace(0.01, 0.99, 99)
QUARTILES_APART = 1.35
#: Deviations from the median at most: among heavy tails a row is unusual that is far out in many
#: columns, rather than one that is very far out in a few.
FARTHEST = 7.0
#: Squared deviations beyond the range weigh this much over what most rows of the set have of them
#: in a column, on average or at least: little where tails are heavy.
BEYOND_WEIGHT, RARELY_BEYOND, MOST = 0.03, 0.005, 0.95
FINEST = 1e-9  # of a column's values: what is nearer is rounding


@dataclass(frozen=True, eq=False)
class Typicality:
    """The leave-one-out costs of each set's own rows, in order.

    >>> squared = np.array([[1.0, 9.0], [4.0, 9.0], [9.0, 1.0]])
    >>> found = Typicality.of(squared, own=np.array([0, 0, 1]), count=np.ones(3))
    >>> found.p_values(np.array([[2.0, 0.5], [100.0, 100.0]]))
    array([[0.66666667, 1.        ],
           [0.33333333, 0.5       ]])
    """

    costs: tuple[Floats, ...]  # costs (not squared), rising; infinite ones are left out
    #: How many rows cost at least as much, one entry more than `costs`: the last counts the rows of
    #: infinite cost. A row of weight 2 counts twice.
    above: tuple[Floats, ...]

    @classmethod
    def of(cls, squared: Floats, own: NDArray[np.intp], count: Floats) -> Typicality | None:
        """From left-out squared costs (n, K) of rows whose sets are known.

        None where a set has no rows, or none of finite cost: then nothing can be compared.
        """
        costs, above = [], []
        for k in range(squared.shape[1]):
            mine = np.sqrt(squared[own == k, k])
            if not np.isfinite(mine).any():
                return None
            order = np.argsort(mine, kind="stable")
            weights = count[own == k][order]
            finite = int(np.isfinite(mine).sum())
            costs.append(mine[order][:finite])
            above.append(np.append(np.cumsum(weights[::-1])[::-1], 0.0)[: finite + 1])
        return cls(tuple(costs), tuple(above))

    def p_value(self, cost: Any, k: int) -> Array:
        """(n,): how usual costs (not squared) of samples are among those of set k's rows."""
        if arrays.is_lazy(cost):
            lazy: Array = cost.map_blocks(self.p_value, k, dtype=np.float64, meta=np.empty(0))
            return lazy
        xp = arrays.namespace(cost)
        own, above = (arrays.like(x[k], cost) for x in (self.costs, self.above))
        rank = xp.searchsorted(own, cost * (1 - SAME_COST))
        return (1 + xp.take(above, rank)) / (1 + above[0])

    def p_values(self, squared: Any) -> Array:
        """(n, K): the same of squared costs to every set."""
        xp = arrays.namespace(squared)
        root = xp.sqrt(squared)
        return xp.stack([self.p_value(root[:, k], k) for k in range(len(self.costs))], axis=1)

    def strange(self, squared: Floats) -> Floats:
        """(n,): how usual samples of these squared costs (n, K) are for the set that finds them
        most usual, also where they cost more than any of its rows.
        """
        by_set = [self._strange(squared[:, k], k) for k in range(len(self.costs))]
        return np.asarray(np.max(by_set, axis=0))

    def _strange(self, squared: Floats, k: int) -> Floats:
        if self.above[k][-1] > 0:  # some rows of the set cost infinitely much: ranks alone
            return np.asarray(self.p_value(np.sqrt(squared), k))
        own = self.costs[k] ** 2
        # What every row costs, the degrees of freedom, has no tail.
        usual, scores = (np.sqrt(np.maximum(x - own[0], 0.0)) for x in (own, squared))
        found = tail_p_values(scores, usual)
        itself = np.abs(squared - own[-1]) <= SAME_COST * own[-1]
        if itself.any():  # the set's dearest row: it is compared with the others
            found[itself] = tail_p_values(scores[itself], usual[:-1])
        return found


# ---- in a comparison: out of fold, and whatever the tails ---------------------------------------


class NormalScores(NamedTuple):
    """Columns of one set: normal scores inside the range of most rows, deviations beyond it."""

    knots: tuple[tuple[Floats, Floats], ...]  # of each column: values, rising, and their scores
    middle: Floats  # (d,): medians
    low: Floats  # (d,): the ends of the range
    high: Floats
    unit: Floats  # (d,): one deviation

    @classmethod
    def learn(cls, rows: Floats) -> NormalScores:
        """From rows (n, d) of the set."""
        ordered = np.sort(rows.T, axis=1)  # quantiles of what is sorted are fast
        *values, first, middle, third = np.quantile(ordered, [*LEVELS, 0.25, 0.5, 0.75], axis=1)
        scores = special.ndtri(LEVELS)
        knots = []
        for column in np.transpose(values):
            different, place = np.unique(column, return_inverse=True)
            knots.append((different, np.bincount(place, scores) / np.bincount(place)))
        low, high = values[0], values[-1]
        unit = (third - first) / QUARTILES_APART
        unit = np.where(unit > 0, unit, (high - low) / (scores[-1] - scores[0]))
        unit = np.where(unit > 0, unit, rows.std(axis=0))
        finest = FINEST * np.abs(rows).max(axis=0) + np.finfo(float).tiny
        return cls(tuple(knots), middle, low, high, np.maximum(unit, finest))

    def __call__(self, rows: Floats) -> Floats:
        """(n, d): normal scores, those of the ends for values beyond them."""
        # Between the ends one line serves a column of two values, and all of these at once.
        low, high, first, last = np.array([[*x[[0, -1]], *y[[0, -1]]] for x, y in self.knots]).T
        slope = (last - first) / np.where(high > low, high - low, 1.0)
        found = np.asarray(first + (np.clip(rows, low, high) - low) * slope)
        for j, knots in enumerate(self.knots):
            if len(knots[0]) > 2:
                found[:, j] = np.interp(rows[:, j], *knots)
        return found

    def beyond(self, rows: Floats) -> Floats:
        """(n, d): deviations more than one beyond the range, or that of normal rows."""
        end = special.ndtri(LEVELS[-1])
        with np.errstate(over="ignore"):
            outside = np.maximum(rows - self.high, self.low - rows) / self.unit
            away = np.abs(rows - self.middle) / self.unit - end
        return np.asarray(np.clip(np.maximum(outside, away) - 1, 0.0, FARTHEST - end - 1))


class _Ellipsoid(NamedTuple):
    """How far rows are from a set's: ‖x A‖² - ‖x B‖² with x their scores less the mean, and what
    is beyond the range of their columns.
    """

    scores: NormalScores
    weight: float  # of the squares of what is beyond
    mean: Floats
    across: Floats  # (d,) or (d, d)
    less: Floats | None = None  # (d, n): in place of a d × d matrix where rows are few

    @classmethod
    def of(cls, rows: Floats, weights: Floats, weight: float) -> _Ellipsoid:
        """Of rows (n, d): correlations are shrunk by as much as d is of d + n."""
        of_set = NormalScores.learn(rows)
        scores = of_set(rows)
        total, d = float(weights.sum()), rows.shape[1]
        alpha = d / (d + total)
        mean = weights @ scores / total
        x = (scores - mean) * np.sqrt(weights / total)[:, None]
        spread = np.sqrt(np.einsum("ij,ij->j", x, x))
        spread = np.where(spread > 0, spread, 1.0)
        x *= np.sqrt(1 - alpha) / spread
        few = len(x) < d
        matrix = arrays.gram(x.T if few else x)
        matrix[np.diag_indices_from(matrix)] += alpha
        root = cholesky(matrix)
        if not few:
            across = inverse_triangle(root) / spread[:, None]
            return cls(of_set, weight, mean, np.ascontiguousarray(across))
        less = solve_triangular_transposed(root, x / spread) / np.sqrt(alpha)
        return cls(of_set, weight, mean, 1 / (spread * np.sqrt(alpha)), less.T)

    def squared(self, rows: Floats) -> Floats:
        x, beyond = self.scores(rows) - self.mean, self.scores.beyond(rows)
        y = x @ self.across if self.across.ndim == 2 else x * self.across
        found = np.einsum("ij,ij->i", y, y)
        if self.less is not None:
            z = x @ self.less
            found = np.maximum(found - np.einsum("ij,ij->i", z, z), 0.0)
        return np.asarray(found + self.weight * np.einsum("ij,ij->i", beyond, beyond))


class SetRows(NamedTuple):
    """Rows of one set to learn from, the fold of each, and how often each counts."""

    rows: Floats
    dealt: NDArray[np.intp]
    weights: Floats


class UsualRows(NamedTuple):
    """What rows of each set are like, out of fold.

    >>> rng = np.random.default_rng(0)
    >>> dealt, count = np.arange(200) % 5, np.ones(200)
    >>> sets = [SetRows(rng.normal(k, 1.0, size=(200, 3)), dealt, count) for k in (0, 4)]
    >>> usual = UsualRows.learn(sets, n_folds=5)
    >>> rows = np.array([[0.0, 0, 0], [4, 4, 4], [9, -9, 9]])
    >>> usual.ranks.p_values(usual.squared_costs(rows, dealt[:3])).round(1)
    array([[1., 0.],
           [0., 1.],
           [0., 0.]])
    """

    folds: tuple[tuple[_Ellipsoid, ...], ...]  # of each set, without each fold
    ranks: Typicality  # of the costs of the rows learned from

    @classmethod
    def learn(cls, sets: Sequence[SetRows], n_folds: int) -> UsualRows:
        """From rows of every set and their folds."""
        folds, costs = [], []
        for one in sets:
            beyond = np.sort(NormalScores.learn(one.rows).beyond(one.rows), axis=0)
            usual = float(beyond[: int(np.ceil(MOST * len(beyond)))].mean())
            weight, without = BEYOND_WEIGHT / max(usual, RARELY_BEYOND), []
            for fold in range(n_folds):
                others = one.dealt != fold
                others = others if others.any() else ~others
                with arrays.threads_for(one.rows.shape[1]):
                    without.append(_Ellipsoid.of(one.rows[others], one.weights[others], weight))
            folds.append(tuple(without))
            costs.append(_out_of_fold(without, one.rows, one.dealt))
        own = np.repeat(np.arange(len(sets)), [len(one.rows) for one in sets])
        squared = np.repeat(np.concatenate(costs)[:, None], len(sets), axis=1)
        ranks = Typicality.of(squared, own, np.concatenate([one.weights for one in sets]))
        assert ranks is not None  # all costs are finite
        return cls(tuple(folds), ranks)

    def squared_costs(self, rows: Floats, dealt: NDArray[np.intp]) -> Floats:
        """(n, K): what rows cost each set, without the fold that each is in."""
        rows = np.asarray(rows, dtype=np.float64)
        return np.stack([_out_of_fold(own, rows, dealt) for own in self.folds], axis=1)


def _out_of_fold(folds: Sequence[_Ellipsoid], rows: Floats, dealt: NDArray[np.intp]) -> Floats:
    found = np.empty(len(rows))
    for fold in np.unique(dealt).tolist():
        place = np.flatnonzero(dealt == fold)
        with arrays.threads_for(rows.shape[1]):
            found[place] = folds[fold].squared(rows[place])
    return found


def below_rate(p: Floats, rate: float) -> NDArray[np.bool_]:
    """Benjamini and Hochberg: which p-values are discoveries at a false discovery rate.

    >>> below_rate(np.array([0.001, 0.03, 0.03, 0.9]), 0.05)
    array([ True,  True,  True, False])
    """
    n = len(p)
    ordered = np.sort(p)
    passed = np.flatnonzero(ordered <= rate * np.arange(1, n + 1) / max(n, 1))
    return np.asarray(p <= ordered[passed[-1]]) if len(passed) else np.zeros(n, dtype=bool)
