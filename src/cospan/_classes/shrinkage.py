"""The choice of α for K sets, as `shrinkage` makes it for two.

One eigendecomposition a set gives the leave-one-out costs of the sampled rows for a whole grid of
α. Two sets are judged by the AUC of their angles; K sets by how often the row's own set is the
nearest one, which is what a classifier of K classes does with the costs.
"""

from __future__ import annotations

import numpy as np

from cospan import _arrays as arrays
from cospan.shrinkage import SHRINKAGE_GRID, left_out_cost

__all__ = ["choose_class_shrinkage", "tried_rows"]

# Rows tried in all, shared among the sets: the accuracy is then known to about 0.3 %, and trying
# costs about as much as one pass over 60,000 rows.
_TRIED_ROWS = 5000


def tried_rows(n_sets: int) -> int:
    """How many rows of each of so many sets a choice is tried on."""
    return max(20, _TRIED_ROWS // n_sets)


def choose_class_shrinkage(
    rows: list[np.ndarray],
    scatters: list[np.ndarray],
    counts: list[np.ndarray],
    weights: list[float],
    lam: float,
    basis: np.ndarray | None = None,
) -> float:
    """The α with the best leave-one-out accuracy, every set counting alike; ties: the smaller α.

    Parameters
    ----------
    rows : K arrays (n_k, d)
        Rows of each set in random order, centred as the set's own rows are.
    scatters : K arrays (e, e)
        S_k of the prepared rows.
    counts : K arrays (n_k,)
        How often each row counts.
    weights : list of K floats
        What the square of one row counts in S_k.
    lam : float
        λ, the mean variance that shrinkage pulls towards.
    basis : array (d, e), optional
        Of the span the scatters live in; off it every set has the variance αλ.
    """
    alphas = np.asarray(SHRINKAGE_GRID)
    each = tried_rows(len(rows))
    rows, counts = [part[:each] for part in rows], [part[:each] for part in counts]
    own = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
    stacked, count = np.concatenate(rows), np.concatenate(counts)
    taken = np.minimum(count, 1.0) * np.asarray(weights)[own]
    off = np.zeros(len(own))
    if basis is not None:
        whole = (stacked**2).sum(axis=1)
        stacked = arrays.matmul(stacked, basis)
        off = np.clip(whole - (stacked**2).sum(axis=1), 0.0, None)
    mine = np.empty((len(own), len(alphas)))
    best_other = np.full_like(mine, np.inf)
    for k, scatter in enumerate(scatters):
        cost = _grid_costs(stacked, scatter, alphas, lam) + off[:, None] / (alphas * lam)
        member = own == k
        mine[member] = left_out_cost(cost[member], (1 - alphas) * taken[member, None])
        best_other[~member] = np.minimum(best_other[~member], cost[~member])
    right = (mine <= best_other) * count[:, None]
    recall = [right[own == k].sum(axis=0) / count[own == k].sum() for k in range(len(rows))]
    # Rounding makes no winner; argmax takes the first of equals, which is the smaller α.
    return float(alphas[np.argmax(np.mean(recall, axis=0).round(12))])


def _grid_costs(x: np.ndarray, scatter: np.ndarray, alphas: np.ndarray, lam: float) -> np.ndarray:
    """xᵀ((1-α)S + αλI)⁻¹x for every row and every α."""
    values, vectors = arrays.eigh(scatter)
    spectrum = np.outer(np.clip(values, 0.0, None), 1 - alphas) + alphas * lam
    return np.asarray(arrays.matmul(arrays.matmul(x, vectors) ** 2, 1 / spectrum))
