"""What settings would cost: leave-one-out squared costs of sampled rows, for grids of settings.

One eigendecomposition of each set gives the costs of all rows for a whole grid of α.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cospan import _arrays as arrays
from cospan._tolerance import LEAST_REMAINDER
from cospan.sets.prepared import TrialRows, WorkingSets

__all__ = ["left_out_grid", "linear_grid", "pooled_costs", "pooled_grid"]

Floats = NDArray[np.float64]


def left_out_grid(working: WorkingSets, trial: TrialRows, alphas: Floats) -> Floats:
    """Squared costs without ν, (n, K, α): each row left out of its own set (affine span)."""
    at = working.means()
    costs = np.empty((len(trial.own), working.n_sets, len(alphas)))
    for k in range(working.n_sets):
        values, vectors = working.spectrum(k)
        projected = arrays.matmul(trial.rows + (at[trial.own] - at[k]), vectors) ** 2
        mine = trial.own == k
        costs[:, k, :] = _quadratic(projected, values, alphas, alphas, trial.off)
        n, removed = working.prepared.sizes[k], trial.removed[mine].max()
        ridge = alphas * (n - removed) / n
        h = (n - removed) / n * _quadratic(projected[mine], values, alphas, ridge, trial.off[mine])
        lost = (1 - alphas) * removed * n / (n - removed) ** 2
        costs[mine, k, :] = (n / (n - removed)) ** 2 * h / np.maximum(1 - lost * h, LEAST_REMAINDER)
    return costs


def _quadratic(
    projected: Floats, values: Floats, alphas: Floats, ridge: Floats, off: Floats
) -> Floats:
    """Σ projected/((1-α)λ + ridge) for every row and α, with what lies off the span."""
    spectrum = np.outer(values, 1 - alphas) + ridge
    return np.asarray(arrays.matmul(projected, 1 / spectrum)) + off[:, None] / ridge


def linear_grid(working: WorkingSets, trial: TrialRows, alphas: Floats) -> Floats:
    """Squared costs (n, K, α) in the linear span, centre and divisor held."""
    prepared = working.prepared
    at = working.means() if prepared.center_mode != "each" else 0 * working.means()
    rows = trial.rows + at[trial.own]
    costs = np.empty((len(trial.own), working.n_sets, len(alphas)))
    for k in range(working.n_sets):
        values, vectors = working.spectrum(k)
        projected = arrays.matmul(rows, vectors) ** 2
        cost = _quadratic(projected, values, alphas, alphas, trial.off)
        mine = trial.own == k
        lost = (1 - alphas) * prepared.weights[k] * trial.removed[mine, None]
        cost[mine] = cost[mine] / np.maximum(1 - lost * cost[mine], LEAST_REMAINDER)
        costs[:, k, :] = cost
    return costs


def pooled_grid(working: WorkingSets, trial: TrialRows, alphas: Floats) -> Floats:
    """Squared costs (n, K, α) with one covariance for all sets: one eigendecomposition in all."""
    values, vectors = working.mean_spectrum()
    at = working.means()
    K = working.n_sets
    shape = (len(trial.own), K, len(alphas))
    rows = arrays.matmul(trial.rows, vectors)
    steps = at @ vectors
    squared = np.empty(shape)
    mixing = np.full((K, K), 1 / K)
    for i, alpha in enumerate(alphas.tolist()):
        root = np.sqrt((1 - alpha) * values + alpha)
        mapped = [(rows / root, steps / root)] * K
        squared[:, :, i] = _pooled_quadratics(working, trial, alpha, mixing, mapped)
    return squared


def pooled_costs(working: WorkingSets, trial: TrialRows, alpha: float, pooling: float) -> Floats:
    """Squared costs (n, K) for one α and one γ, by a Cholesky factor of each pooled matrix."""
    K = working.n_sets
    mixing = (1 - pooling) * np.eye(K) + pooling / K
    matrices = np.stack([arrays.to_numpy(working.matrix(k)) for k in range(K)])
    eye = np.eye(matrices.shape[1])
    at = working.means()

    mapped = []
    for row in mixing:
        R = arrays.cholesky((1 - alpha) * np.tensordot(row, matrices, axes=1) + alpha * eye)
        solve = arrays.solve_triangular_transposed
        mapped.append((solve(R, trial.rows.T).T, solve(R, at.T).T))
    return _pooled_quadratics(working, trial, alpha, mixing, mapped)


def _pooled_quadratics(
    working: WorkingSets,
    trial: TrialRows,
    alpha: float,
    mixing: Floats,
    mapped: Sequence[tuple[Floats, Floats]],
) -> Floats:
    """Leave-one-out costs (n, K) from rows and means in which each set's matrix is the identity.

    The divisor's change is taken as that of the whole matrix, which is right to one part in n of
    one part in n: good for a choice. Scores are exact (`leaving`).
    """
    n = working.prepared.sizes[trial.own]
    removed = trial.removed
    costs = np.empty((len(trial.own), working.n_sets))
    for k in range(working.n_sets):
        p, at = mapped[k]
        mine = trial.own == k
        weight = mixing[k, trial.own]
        grown = 1 + weight * removed / (n - removed)
        lost = weight * (1 - alpha) * removed * n / (n - removed) ** 2
        z = p + (at[trial.own] - at[k])
        pp, pz, zz = (np.einsum("ij,ij->i", x, y) / grown for x, y in ((p, p), (p, z), (z, z)))
        pp, pz, zz = pp + trial.off / alpha, pz + trial.off / alpha, zz + trial.off / alpha
        cost = zz + lost * pz**2 / np.maximum(1 - lost * pp, LEAST_REMAINDER)
        costs[:, k] = np.where(mine, (n / (n - removed)) ** 2 * cost, cost)
    return costs
