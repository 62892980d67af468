"""How usual a sample is for each set: conformal p-values, so that "neither" exists.

The angle says which set explains a sample better, not whether either does. Typicality compares
what a sample costs a set with what the set's own rows cost it, each left out:

    p = (1 + number of the set's rows that cost at least as much) / (1 + number of rows)

For a new row of the set every rank among the others is equally likely, whatever the distribution:
p is uniform (a left-out row faces a set of one row less, which matters in one part in n). Both
costs and ranks come from the sample of rows that summaries carry; no rows are kept.

No rank is below 1/(n + 1), so among few rows none would ever be called "neither". What decides
that are the same ranks up to the largest costs, and from there on the tail of these
(``cospan.base.tails``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.base import arrays
from cospan.base.tails import tail_p_values
from cospan.base.tolerance import SAME_COST
from cospan.base.types import Array, Floats


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

    def bounded(self, most: int) -> Typicality:
        """The same with at most so many costs of each set; p-values rise by up to 1/most.

        Between two costs that are kept, a sample counts as if it cost no more than the row after
        the lower one: p-values are never too small.

        >>> found = Typicality((np.arange(5.0),), (np.arange(5.0, -1, -1),))
        >>> few = found.bounded(3)
        >>> few.costs, few.above
        ((array([0., 2., 4.]),), (array([5., 4., 2., 0.]),))
        """
        costs, above = [], []
        for own, rows in zip(self.costs, self.above, strict=True):
            kept = np.arange(len(own))
            if len(own) > most:
                kept = np.linspace(0, len(own) - 1, most).round().astype(np.intp)
            costs.append(own[kept])
            above.append(np.append(rows[:1], rows[kept + 1]))
        return Typicality(tuple(costs), tuple(above))

    def p_value(self, cost: Any, k: int) -> Array:
        """(n,): how usual costs (not squared) of samples are among those of set k's rows."""
        if arrays.is_lazy(cost):
            lazy: Array = cost.map_blocks(self.p_value, k, dtype=np.float64, meta=np.empty(0))
            return lazy
        xp = arrays.namespace(cost)
        own, above = (arrays.like(x[k], cost) for x in (self.costs, self.above))
        rank = xp.searchsorted(own, cost)
        return (1 + xp.take(above, rank)) / (1 + above[0])

    def p_values(self, squared: Array) -> Array:
        """(n, K): the same of squared costs to every set."""
        xp = arrays.namespace(squared)
        root = xp.sqrt(squared)
        return xp.stack([self.p_value(root[:, k], k) for k in range(len(self.costs))], axis=1)

    def strange(self, squared: Floats) -> Floats:
        """(n,): how usual samples of these squared costs (n, K) are for the set that finds them
        most usual, also where they cost more than any of its rows.

        >>> own = 1 + np.random.default_rng(0).normal(size=60) ** 2
        >>> found = Typicality.of(np.stack([own, own], axis=1), np.repeat([0, 1], 30), np.ones(60))
        >>> found.strange(np.array([[2.0, 2.0], [101.0, 101.0]])).round(4)
        array([0.4194, 0.0017])
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


def below_rate(p: Floats, rate: float) -> NDArray[np.bool_]:
    """Benjamini and Hochberg: which p-values are discoveries at a false discovery rate.

    >>> below_rate(np.array([0.001, 0.03, 0.03, 0.9]), 0.05)
    array([ True,  True,  True, False])
    """
    n = len(p)
    ordered = np.sort(p)
    passed = np.flatnonzero(ordered <= rate * np.arange(1, n + 1) / max(n, 1))
    return np.asarray(p <= ordered[passed[-1]]) if len(passed) else np.zeros(n, dtype=bool)
