"""Leave-one-out costs without refitting, and the choice of the shrinkage α from them.

Taking a row x out of A changes S̃_A by a rank-one term, so with q = xᵀ S̃_A⁻¹ x the cost without
it is q / (1 - (1-α) w q) by the Sherman-Morrison formula, where w is the weight the row had
(centre, λ and the divisor held). One eigendecomposition of each set gives q for a whole grid of
α at once.
"""

from __future__ import annotations

import math

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import FAST_SHRINKAGE, alone_in_its_direction

__all__ = ["SHRINKAGE_GRID", "choose_shrinkage", "left_out_cost"]

# From the smallest that a fast summary allows to nearly full shrinkage. All of them together cost
# one matrix product, so the grid is fine; the AUC is smooth at this step (a factor of 1.19).
SHRINKAGE_GRID: tuple[float, ...] = tuple(
    float(f"{x:.3g}") for x in np.geomspace(FAST_SHRINKAGE, 0.95, 40)
)
# AUCs that agree to so many decimals are a tie: with a thousand rows a side their sampling error
# is several times larger, and the balanced accuracy then tells more.
_AUC_DECIMALS = 4


def left_out_cost(squared: Array, weight: Array) -> Array:
    """Squared cost of a row once it is taken out of its own set; ∞ if nothing else spans it.

    `weight` is the (1-α) w that its outer product had in the set's matrix.
    """
    xp = arrays.namespace(squared)
    remaining = 1 - weight * squared
    # A row alone in its direction has weight · cost = 1 up to rounding.
    alone = remaining <= alone_in_its_direction(arrays.eps(squared))
    return xp.where(alone, xp.full_like(squared, math.inf), squared / xp.where(alone, 1, remaining))


def choose_shrinkage(
    rows: tuple[np.ndarray, np.ndarray],
    scatters: tuple[np.ndarray, np.ndarray],
    removed: tuple[np.ndarray, np.ndarray],
    counts: tuple[np.ndarray, np.ndarray],
    lam: float,
    off_space: tuple[np.ndarray, np.ndarray] | None = None,
) -> float:
    """The α with the best leave-one-out AUC of θ between A's rows and B's.

    Ties go to the better balanced accuracy at 45°, then to the smaller α.

    Parameters
    ----------
    rows : pair of (n, d)
        Rows of A and of B, centred as the frame centres them.
    scatters : pair of (d, d)
        S_A and S_B of the prepared rows.
    removed : pair of (n,)
        The weight in S that leaves together with a row.
    counts : pair of (n,)
        How often each row counts in the AUC.
    lam : float
        λ, the mean variance that shrinkage pulls towards.
    off_space : pair of (n,), optional
        Squared norm of each row outside the coordinates given, where S is αλ for both sets.
    """
    alphas = np.asarray(SHRINKAGE_GRID)
    spectra = [arrays.eigh(scatter) for scatter in scatters]
    costs = [[_grid_costs(x, *spectrum, alphas, lam) for spectrum in spectra] for x in rows]
    if off_space is not None:
        costs = [
            [cost + off[:, None] / (alphas * lam) for cost in pair]
            for pair, off in zip(costs, off_space, strict=True)
        ]
    for side in (0, 1):
        weight = (1 - alphas)[None, :] * removed[side][:, None]
        costs[side][side] = left_out_cost(costs[side][side], weight)
    theta_a, theta_b = (np.arctan2(np.sqrt(a), np.sqrt(b)).T for a, b in costs)
    scores = [
        (round(_auc(a, b, *counts), _AUC_DECIMALS), _balanced_accuracy(a, b, *counts))
        for a, b in zip(theta_a, theta_b, strict=True)
    ]
    # max() keeps the first of equals, which is the smaller α.
    best = max(range(len(alphas)), key=lambda i: scores[i])
    return float(alphas[best])


def _auc(a: np.ndarray, b: np.ndarray, weight_a: np.ndarray, weight_b: np.ndarray) -> float:
    """How often an angle of B exceeds one of A, ties counting half; rows count by their weight."""
    order = np.argsort(a)
    below = np.concatenate(([0.0], np.cumsum(weight_a[order])))
    less, up_to = (below[np.searchsorted(a[order], b, side)] for side in ("left", "right"))
    return float(weight_b @ (less + up_to) / (2 * below[-1] * weight_b.sum()))


def _balanced_accuracy(
    a: np.ndarray, b: np.ndarray, weight_a: np.ndarray, weight_b: np.ndarray
) -> float:
    """Mean of the shares of A at or below 45° and of B above."""
    right_a = weight_a[a <= math.pi / 4].sum() / weight_a.sum()
    right_b = weight_b[b > math.pi / 4].sum() / weight_b.sum()
    return float(right_a + right_b) / 2


def _grid_costs(
    x: np.ndarray, values: np.ndarray, vectors: np.ndarray, alphas: np.ndarray, lam: float
) -> np.ndarray:
    """xᵀ((1-α)S + αλI)⁻¹x for every row and every α."""
    projected = arrays.matmul(x, vectors) ** 2
    spectrum = np.outer(np.clip(values, 0.0, None), 1 - alphas) + alphas * lam
    return np.asarray(arrays.matmul(projected, 1 / spectrum))
