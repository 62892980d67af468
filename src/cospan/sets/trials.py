"""What settings would cost: leave-one-out squared costs of sampled rows, for grids of settings.

One eigendecomposition of each set gives the costs of all rows for a whole grid of α. Pooled
covariances have no spectrum in common: they take one Cholesky factor for every α and γ, and every
set that rows leave.
"""

from __future__ import annotations

import numpy as np

from cospan import _arrays as arrays
from cospan._tolerance import LEAST_REMAINDER
from cospan._types import Floats
from cospan.sets.prepared import TrialRows, WorkingSets


def left_out_grid(working: WorkingSets, trial: TrialRows, alphas: Floats) -> Floats:
    """Squared costs without ν, (α, K, n): each row left out of its own set (affine span).

    Exact where all rows of a set have the same weight.
    """
    at = working.means()
    costs = np.empty((len(alphas), working.n_sets, len(trial.own)))
    for k in range(working.n_sets):
        values, vectors = working.spectrum(k)
        # Squared coordinates of all rows about the mean of set k.
        projected = np.asarray(arrays.matmul(trial.rows, vectors))
        projected += arrays.matmul(at - at[k], vectors)[trial.own]
        projected *= projected
        mine = trial.own == k
        costs[:, k, :] = _quadratic(projected, values, alphas, alphas, trial.off)
        n, removed = working.prepared.sizes[k], trial.removed[mine].max()
        ridge = alphas * (n - removed) / n
        h = (n - removed) / n * _quadratic(projected[mine], values, alphas, ridge, trial.off[mine])
        lost = (1 - alphas)[:, None] * removed * n / (n - removed) ** 2
        costs[:, k, mine] = (n / (n - removed)) ** 2 * h / np.maximum(1 - lost * h, LEAST_REMAINDER)
    return costs


def _quadratic(
    projected: Floats, values: Floats, alphas: Floats, ridge: Floats, off: Floats
) -> Floats:
    """Σ projected/((1-α)λ + ridge) for every α and row, with what lies off the span."""
    spectrum = np.outer(values, 1 - alphas) + ridge
    return np.asarray(arrays.matmul(projected, 1 / spectrum)).T + off / ridge[:, None]


def linear_grid(working: WorkingSets, trial: TrialRows, alphas: Floats) -> Floats:
    """Squared costs (α, K, n) in the linear span, centre and divisor held."""
    prepared = working.prepared
    at = working.means() if prepared.center_mode != "each" else 0 * working.means()
    rows = trial.rows + at[trial.own]
    costs = np.empty((len(alphas), working.n_sets, len(trial.own)))
    for k in range(working.n_sets):
        values, vectors = working.spectrum(k)
        projected = arrays.matmul(rows, vectors) ** 2
        cost = _quadratic(projected, values, alphas, alphas, trial.off)
        mine = trial.own == k
        lost = (1 - alphas)[:, None] * prepared.weights[k] * trial.removed[mine]
        cost[:, mine] = cost[:, mine] / np.maximum(1 - lost * cost[:, mine], LEAST_REMAINDER)
        costs[:, k, :] = cost
    return costs


def pooled_costs(working: WorkingSets, trial: TrialRows, alpha: float, pooling: float) -> Floats:
    """Squared costs without ν, (K, n), for one α and one γ; exact as in `left_out_grid`."""
    K = working.n_sets
    matrices = [arrays.to_numpy(working.matrix(k)) for k in range(K)]
    mean = sum(matrices[1:], start=matrices[0]) / K
    costs = np.empty((K, len(trial.own)))
    for o in range(K):
        member = np.flatnonzero(trial.own == o)
        n, removed = working.prepared.sizes[o], trial.removed[member].max()
        for k in range(K):
            # What set o weighs in k's matrix, and what it gains there by the smaller divisor.
            weight = (1 - alpha) * (pooling / K + (1 - pooling) * (k == o))
            if pooling < 1 or k == 0:  # at γ = 1 there is one matrix for all sets
                shrunk = (1 - alpha) * ((1 - pooling) * matrices[k] + pooling * mean)
                shrunk += weight * removed / (n - removed) * matrices[o]
                shrunk[np.diag_indices_from(shrunk)] += alpha
                mapped = _mapped(working, trial.rows[member], shrunk)
            p, at = mapped
            off = trial.off[member] / alpha
            pp = np.einsum("ij,ij->j", p, p) + off
            step = at[:, o] - at[:, k]
            along = step @ p
            # The row as k sees it is p + step; as its own set does, n/(n-1) times p.
            pz, zz = pp + along, pp + 2 * along + step @ step
            lost = weight * removed * n / (n - removed) ** 2
            cost = zz + lost * pz**2 / np.maximum(1 - lost * pp, LEAST_REMAINDER)
            costs[k, member] = cost * ((n / (n - removed)) ** 2 if k == o else 1.0)
    return costs


def _mapped(working: WorkingSets, rows: Floats, matrix: Floats) -> tuple[Floats, Floats]:
    """Rows and all means, as columns, where a matrix is the identity."""
    R = arrays.cholesky(matrix)
    solve = arrays.solve_triangular_transposed
    return solve(R, rows.T), solve(R, working.means().T)
