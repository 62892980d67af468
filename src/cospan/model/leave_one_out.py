"""Costs of a row as if it had never been there: exact, without refitting.

When a row x of weight δ goes from set o of n, the set's moments about its mean become

    S' = (1 + growth) S - lost·ppᵀ,   p = x - μ_o,   growth = δ/(n - δ),   lost = δn/(n - δ)²

and the row is n/(n - δ) times as far from the new mean. Where sets pool their covariances, those of
the others change with it, by as much as set o weighs in them; where they share a centre, moments
about it change as it moves. So the new matrix of set k is G + Σ s·uuᵀ, where G differs from the old
one by the divisor alone, and all u, and the row as set k sees it, are combinations of p and steps
between means and centre, q_k and q_o. With W the inner products of these three in G⁻¹, every u
takes off s·Wu(Wu)ᵀ/(1 + s·uᵀWu) from it. In the affine span the row's own set so has, with h the
cost of p, (n/(n - δ))²·h/(1 - lost·h).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from cospan.base import arrays, factorizations
from cospan.base.checks import as_weights
from cospan.base.tolerance import FAST_SHRINKAGE, LEAST_REMAINDER, alone_in_its_direction
from cospan.base.types import Array, Floats
from cospan.errors import InputError
from cospan.model.prepared import Departure, Geometry, TrialRows, WorkingSets, working_rows


def removed_weights(sample_weight: object, n: int) -> Floats:
    """The weight that goes with each of n rows: a row of weight 2 loses one occurrence."""
    if sample_weight is None:
        return np.ones(n)
    return np.asarray(np.minimum(as_weights(sample_weight, n), 1.0))


class LeaveOneOutCosts:
    """Squared costs of rows of K sets, each left out of its own.

    `maps` are what samples are multiplied with, in working coordinates, and `factors` R_k of the
    sets' own covariances, Σ̃_k = R_kᵀR_k, which are asked for where these are pooled.
    """

    def __init__(
        self,
        geometry: Geometry,
        maps: Sequence[Array],
        factors: Callable[[], Sequence[Floats]],
        basis: Array | None,
    ) -> None:
        g = self.geometry = geometry
        # (K, e): the sets' means less the centre
        at = working_rows(g.means, g.center, g, basis)[0]
        self._positions = arrays.to_numpy(at)
        self._turned: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        own = factors() if g.pooling > 0 else None
        for k, one in enumerate(map(arrays.to_numpy, maps)):
            # Where nothing is pooled, a set does not change when rows of another go.
            for o in [k] if own is None else range(g.n_sets):
                self._turned[k, o] = _turned(g.shrinkage, one, None if own is None else own[o])

    def squared_costs(self, p: Array, off: Array | None, o: int, removed: Floats) -> Array:
        """(n, K) squared costs of rows of set o, each left out of it.

        `p` (n, e) are the rows less the mean of their set, in working coordinates, `off` their
        squared norms outside the span, and `removed` the weights that go.
        """
        g, at, n = self.geometry, self._positions, p.shape[0]
        outside = np.zeros(n) if off is None or g.shrinkage == 0 else arrays.to_numpy(off)
        gone = Departure.of(g.sizes[o], removed, g.balance)
        columns = []
        for k in range(g.n_sets):
            share = (1 - g.shrinkage) * g.mixing()[k, o]
            steps = np.stack([at[k], at[o]])
            if g.affine or g.center_mode == "each":
                steps = np.stack([at[o] - at[k] if g.affine else 0 * at[o], 0 * at[o]])
            turned = self._turned[(k, o if g.pooling > 0 else k)]
            W = _inner_products(p, steps, *turned, share * gone.growth)
            W[:, 0, 0] += outside / (g.shrinkage or 1.0)
            changes, seen = self._changes(k, o, removed, gone)
            remaining = np.ones(n)
            for u, size in (*changes, (np.eye(3)[:1], -share * gone.lost)):
                Wu = np.einsum("nij,nj->ni", W, np.broadcast_to(u, (n, 3)))
                left = 1 + size * np.sum(u * Wu, axis=1)
                remaining = remaining * left
                kept = np.where(np.abs(left) > LEAST_REMAINDER, left, LEAST_REMAINDER)
                W -= (size / kept)[:, None, None] * Wu[:, :, None] * Wu[:, None, :]
            cost = np.maximum(np.einsum("ni,nij,nj->n", seen, W, seen), 0.0)
            if k == o:  # nothing else of its set spans the row
                alone = ~(remaining > alone_in_its_direction(np.finfo(float).eps))
                cost = np.where(alone, math.inf, cost)
            columns.append(cost + g.dof)
        return arrays.like(np.stack(columns, axis=1), p)

    def _changes(
        self, k: int, o: int, removed: Floats, gone: Departure
    ) -> tuple[list[tuple[Floats, Floats]], Floats]:
        """What moves beside the mean of set o: u (n, 3) and s (n,); and the row as k sees it.

        In terms of (p, q_k, q_o). These are changes of moments about a centre of all sets; where
        that is a mean of theirs, it moves.
        """
        g, n = self.geometry, self.geometry.sizes[o]
        seen = np.zeros((len(removed), 3))
        if g.affine or g.center_mode == "each":
            seen[:, 0] = gone.farther if k == o or not g.affine else 1.0
            seen[:, 1] = g.affine and k != o
            return [], seen
        moved = np.zeros_like(seen)  # m - m'
        if g.center_mode == "pooled" and g.balance:
            moved[:, 0] = removed / (g.n_sets * (n - removed))
        elif g.center_mode == "pooled":
            moved[:, 0] = moved[:, 2] = removed / (g.sizes.sum() - removed)
        mean = np.eye(3)[2 if k == o else 1]
        step = mean + moved  # μ_k' - m'
        before = np.full(len(removed), 1.0 if g.balance else g.sizes[k])
        after = before
        if k == o:
            step[:, 0] -= removed / (n - removed)
            before, after = (before * gone.farther, before) if g.balance else (before, n - removed)
        rest = 1 - g.shrinkage
        changes = [(step, rest * after), (mean[None, :], -rest * before)]
        return changes, moved + np.array([1.0, 0.0, 1.0])

    def of_trial(self, trial: TrialRows) -> Floats:
        """(n, K) squared costs of rows of all sets."""
        squared = np.empty((len(trial.own), self.geometry.n_sets))
        for o in range(self.geometry.n_sets):
            mine = trial.own == o
            found = self.squared_costs(trial.rows[mine], trial.off[mine], o, trial.removed[mine])
            squared[mine] = arrays.to_numpy(found)
        return squared


def _turned(alpha: float, one: Floats, factor: Floats | None) -> tuple[Floats, Floats]:
    """L and λ with LᵀP_kL = I and LᵀS_oL = diag(λ), so that (P_k + ωS_o)⁻¹ = L diag(1/(1+ωλ)) Lᵀ.

    P_k⁻¹ is MMᵀ with M the map of set k, and Σ̃_o = (1-α) S_o + αI is RᵀR; P_k where R is None.
    """
    if alpha == 0 and factor is None:
        return one, np.ones(one.shape[1])
    own = np.eye(one.shape[1])
    if factor is not None:
        own = np.asarray(arrays.gram(arrays.matmul(factor, one)))
    moments = (own - alpha * np.asarray(arrays.gram(one))) / (1 - alpha)
    values, turn = factorizations.eigh(moments)
    return arrays.matmul(one, turn), np.clip(values, 0.0, None)


def _inner_products(
    p: Array, steps: Floats, across: Floats, values: Floats, growth: Floats
) -> Floats:
    """Of every row and two steps in G⁻¹ = L diag(1/(1 + growth·λ)) Lᵀ, (n, 3, 3)."""
    y = arrays.matmul(p, arrays.like(across, p))
    q = steps @ across
    if np.all(growth == growth[:1]):
        growth = growth[:1]
    weight = 1 / (1 + growth[:, None] * values)  # (n, m), or (1, m)
    weighted = y * arrays.like(weight, y)
    W = np.empty((p.shape[0], 3, 3))
    W[:, 0, 0] = arrays.to_numpy(arrays.namespace(y).sum(weighted * y, axis=1))
    W[:, 0, 1:] = W[:, 1:, 0] = arrays.to_numpy(arrays.matmul(weighted, arrays.like(q.T, y)))
    W[:, 1:, 1:] = np.einsum("nm,qm,rm->nqr", weight, q, q)
    return W


# ---- the matrices that samples are multiplied with ----------------------------------------------


def maps_of(working: WorkingSets, g: Geometry) -> list[Array]:
    """M_k of every set: ‖(z - μ_k) M_k‖² is what z costs it, less ν.

    Without shrinkage a set may lack directions that others have. As in a pair they are given no
    cost, and what belongs to them is read off in the metric of all sets together: with T = Σ S_k,
    S_k is inverted within the coordinates in which T is the identity.
    """
    factors = [working.shrunk(k, g.shrinkage) for k in range(g.n_sets)]
    if g.shrinkage > 0:
        return [inverse_triangle(one) for one in factors]
    tol = working.tolerance()
    L, spectrum = whitening_of(factors, tol)
    return [_cost_map(one, L, spectrum, tol) for one in factors]


def same_span(maps: Sequence[Array]) -> bool:
    """Has every set, without shrinkage, the directions that any has?"""
    return len({one.shape[1] for one in maps}) == 1


def inside_span(maps: Sequence[Array]) -> tuple[list[Array], Array]:
    """The maps within the span of the sets, and its basis (e, m).

    Without shrinkage, that is where covariances can be pooled.
    """
    if not same_span(maps):
        raise InputError(
            "Without shrinkage one of the sets lacks directions that another has, and their "
            f"covariances cannot be pooled; give shrinkage={FAST_SHRINKAGE} or "
            "pooling=0."
        )
    basis, first = factorizations.orthonormal_columns(arrays.copied(maps[0]))
    return [first, *(arrays.matmul(basis.T, one) for one in maps[1:])], basis


def factors_of(maps: Sequence[Array]) -> list[Floats]:
    """R_k with Σ̃_k = R_kᵀR_k, of square maps."""
    return [np.linalg.inv(arrays.to_numpy(one)) for one in maps]


def pooled_maps(g: Geometry, maps: Sequence[Array]) -> Sequence[Array]:
    """The maps of the pooled covariances, P_k = (1-γ) Σ̃_k + γ mean Σ̃."""
    if g.pooling == 0:
        return maps
    shrunk = np.stack([arrays.gram(one) for one in factors_of(maps)])
    pooled = np.tensordot(g.mixing(), shrunk, axes=1)
    inverses = [inverse_triangle(factorizations.cholesky(one)) for one in pooled]
    return [arrays.like(one, maps[0]) for one in inverses]


def inverse_triangle(factor: Array) -> Array:
    """R⁻¹ of a triangular factor: ‖z R⁻¹‖² = zᵀ(RᵀR)⁻¹z."""
    eye = arrays.identity(factor.shape[0], factor)
    return factorizations.solve_triangular_transposed(factor, eye).T


def whitening_of(factors: Sequence[Array], tol: float) -> tuple[Array, Array]:
    """L (e, m) with Lᵀ T L = I on the span of all sets, and the m square roots of T's spectrum."""
    xp = arrays.namespace(factors[0])
    stack = xp.concat(list(factors), axis=0)
    _, values, Vt = factorizations.svd(factorizations.triangular_factor(stack))
    largest = float(values[0]) if values.shape[0] else 0.0
    rank = int(xp.sum(xp.astype(values > tol * largest, xp.int64)))
    return Vt[:rank, :].T / values[None, :rank], values[:rank]


def _cost_map(factor: Array, L: Array, spectrum: Array, tol: float) -> Array:
    """M of a set that may lack directions: its inverse on those it has."""
    xp = arrays.namespace(factor)
    _, values, Bt = factorizations.svd(factorizations.triangular_factor(arrays.matmul(factor, L)))
    # A direction counts as the set's own if the set reaches along it farther than rounding: judged
    # in the units of the data, as `gsvd` does.
    reach = values * xp.sqrt(xp.sum((Bt * spectrum[None, :]) ** 2, axis=1))
    norm = float(xp.max(factorizations.svd(factor)[1])) if 0 not in factor.shape else 0.0
    keep = arrays.to_numpy(reach > tol * norm)
    has = int(keep.sum()) if keep.all() else int(np.argmin(keep))
    return arrays.matmul(L, Bt[:has, :].T) / values[None, :has]
