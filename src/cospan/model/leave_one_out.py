"""Costs of a row as if it had never been there: exact, without refitting.

When a row x of set o goes, the set's mean, its moments and their divisor change, and where the
sets share a centre or pool their covariances, the other sets change too. With p = x - μ_o, every
one of these changes is of low rank: the new matrix of set k is

    G + V C Vᵀ,   V = [p, q_k, q_o]        and the row, as set k sees it, is  V v

where G differs from the old matrix by the divisor alone, q are constant steps between means and
centre, and C (3 × 3) and v (3) are numbers. So with W = VᵀG⁻¹V the new cost is

    vᵀ W (I + C W)⁻¹ v

In the affine span without pooling that is ρ²h/(1 - τh) for the row's own set, with h = pᵀG⁻¹p,
ρ = n/(n-1) and τ = (1-α)ρ/(n-1), and nothing changes for the others.

G⁻¹ comes from the matrices that samples are multiplied with, one for each set (`maps_of`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cospan.base import arrays, factorizations
from cospan.base.checks import as_weights
from cospan.base.tolerance import FAST_SHRINKAGE, alone_in_its_direction
from cospan.base.types import Array, Floats
from cospan.errors import InputError
from cospan.model.prepared import Geometry, TrialRows, WorkingSets, working_rows


class SpectralMap(NamedTuple):
    """L and λ with LᵀPL = I and LᵀS_oL = diag(λ): (P + ω S_o)⁻¹ = L diag(1/(1 + ωλ)) Lᵀ."""

    map: Array  # (e, m)
    values: Floats  # (m,)


class _Change(NamedTuple):
    """How the departure of rows of set o changes what set k says of them (see the module)."""

    growth: Floats  # (n,): ω, how much of S_o is added to P_k
    C: Floats  # (n, 3, 3)
    v: Floats  # (n, 3)


class LeaveOneOutCosts:
    """Squared costs of rows of K sets, each left out of its own.

    `matrices` are the Σ̃_k of the sets in working coordinates, `maps` what samples are multiplied
    with, and `basis` that of the span where there is one.
    """

    def __init__(
        self,
        geometry: Geometry,
        matrices: Sequence[Floats],
        maps: Sequence[Array],
        basis: Array | None,
    ) -> None:
        self.geometry = geometry
        self._matrices, self._maps = matrices, maps
        # (K, e): the sets' means less the centre
        at = working_rows(geometry.means, geometry.center, geometry, basis)[0]
        self._positions = arrays.to_numpy(at)
        self._spectral: dict[tuple[int, int], SpectralMap] = {}

    def settle(self) -> None:
        """Decompose all that is needed now, and forget the rest: to be sent to other processes."""
        for k in range(self.geometry.n_sets):
            for o in range(self.geometry.n_sets):
                self._spectral_map(k, o)
        self._matrices, self._maps = (), ()

    def squared_costs(self, p: Array, off: Array | None, o: int, removed: Floats) -> Array:
        """(n, K) squared costs of rows of set o, each left out of it.

        `p` (n, e) are the rows less the mean of their set, in working coordinates, `off` their
        squared norms outside the span, and `removed` the weights that go.
        """
        outside = np.zeros(p.shape[0]) if off is None else arrays.to_numpy(off)
        alpha = self.geometry.shrinkage
        outside = outside / alpha if alpha > 0 else 0 * outside
        columns = [self._costs_of(k, o, p, outside, removed) for k in range(self.geometry.n_sets)]
        return arrays.like(np.stack(columns, axis=1), p)

    def of_trial(self, trial: TrialRows) -> Floats:
        """(n, K) squared costs of rows of all sets."""
        squared = np.empty((len(trial.own), self.geometry.n_sets))
        for o in range(self.geometry.n_sets):
            mine = trial.own == o
            found = self.squared_costs(trial.rows[mine], trial.off[mine], o, trial.removed[mine])
            squared[mine] = arrays.to_numpy(found)
        return squared

    def _costs_of(self, k: int, o: int, p: Array, outside: Floats, removed: Floats) -> Floats:
        g, at = self.geometry, self._positions
        change = self._change(k, o, removed)
        if g.affine:
            steps = np.stack([at[o] - at[k], 0 * at[o]])
        elif g.center_mode == "each":
            steps = np.zeros((2, at.shape[1]))
        else:
            steps = np.stack([at[k], at[o]])
        W = _inner_products(p, steps, self._spectral_map(k, o), change.growth)
        W[:, 0, 0] += outside
        return np.asarray(_changed_cost(W, change, own=k == o) + g.dof)

    def _change(self, k: int, o: int, removed: Floats) -> _Change:
        g, n, delta = self.geometry, self.geometry.sizes[o], removed
        with np.errstate(divide="ignore", invalid="ignore"):
            rho = np.where(n > delta, n / (n - delta), math.inf)
        weight = (1 - g.shrinkage) * g.mixing()[k, o]
        growth = weight * (rho - 1) if g.balance else np.zeros(len(delta))
        C, v = np.zeros((len(delta), 3, 3)), np.zeros((len(delta), 3))
        if g.affine:
            v[:, 0], v[:, 1] = rho if k == o else 1.0, k != o
        elif g.center_mode == "each":
            v[:, 0] = rho
        else:
            self._about_one_centre(k, o, delta, rho, C, v)
        # What ppᵀ loses in set o's moments: δρ/n' about the own mean (times n' without balance).
        C[:, 0, 0] -= weight * delta * rho / ((n - delta) if g.balance else 1.0)
        return _Change(growth, C, v)

    def _about_one_centre(
        self, k: int, o: int, delta: Floats, rho: Floats, C: Floats, v: Floats
    ) -> None:
        """Moments about a centre of all sets; where it is a mean of theirs, it moves."""
        g, n, rest = self.geometry, self.geometry.sizes[o], 1 - self.geometry.shrinkage
        moved = np.zeros_like(v)  # m - m' in terms of (p, q_k, q_o)
        if g.center_mode == "pooled" and g.balance:
            moved[:, 0] = delta / (g.n_sets * (n - delta))
        elif g.center_mode == "pooled":
            moved[:, 0] = moved[:, 2] = delta / (g.sizes.sum() - delta)
        v[:] = moved + np.array([1.0, 0.0, 1.0])  # x - m' = p + q_o + (m - m')
        place, step = 2 if k == o else 1, moved
        step[:, place] += 1.0  # μ_k' - m'
        before = np.full(len(delta), 1.0 if g.balance else g.sizes[k])
        after = before.copy()
        if k == o:
            step[:, 0] -= delta / (n - delta)
            before, after = (before * rho, after) if g.balance else (before, after - delta)
        C += rest * after[:, None, None] * step[:, :, None] * step[:, None, :]
        C[:, place, place] -= rest * before

    def _spectral_map(self, k: int, o: int) -> SpectralMap:
        # Where nothing is pooled, a set does not change when rows of another go.
        key = (k, o) if self.geometry.pooling > 0 else (k, k)
        if key not in self._spectral:
            self._spectral[key] = self._decomposed(*key)
        return self._spectral[key]

    def _decomposed(self, k: int, o: int) -> SpectralMap:
        alpha = self.geometry.shrinkage
        if alpha == 0 and self.geometry.pooling == 0:
            # The map itself makes the set's moments the identity.
            return SpectralMap(self._maps[k], np.ones(self._maps[k].shape[1]))
        moments = (self._matrices[o] - alpha * np.eye(len(self._matrices[o]))) / (1 - alpha)
        if self.geometry.pooling == 0:
            values, vectors = factorizations.eigh(moments)
            kept = np.clip(values, 0.0, None)
            own = (1 - alpha) * kept + alpha
            return SpectralMap(vectors / np.sqrt(own), kept / own)
        pooled = pooled_matrices(self.geometry, self._matrices)[k]
        inverse = arrays.to_numpy(inverse_triangle(factorizations.cholesky(pooled)))
        values, Q = factorizations.eigh(arrays.matmul(inverse.T, arrays.matmul(moments, inverse)))
        return SpectralMap(arrays.matmul(inverse, Q), np.clip(values, 0.0, None))


def _inner_products(p: Array, steps: Floats, found: SpectralMap, growth: Floats) -> Floats:
    """W = VᵀG⁻¹V of every row, (n, 3, 3)."""
    across = arrays.like(found.map, p)
    P = arrays.matmul(p, across)
    q = np.asarray(arrays.to_numpy(arrays.matmul(arrays.like(steps, p), across)))
    W = np.empty((p.shape[0], 3, 3))
    if np.all(growth == growth[:1]):
        weight = 1 / (1 + (growth[0] if len(growth) else 0.0) * found.values)
        one = arrays.like(weight, P)
        W[:, 0, 0] = arrays.to_numpy((P * P) @ one)
        W[:, 0, 1:] = arrays.to_numpy(arrays.matmul(P, arrays.like((q * weight).T, P)))
        W[:, 1:, 1:] = (q * weight) @ q.T
    else:
        weight = 1 / (1 + growth[:, None] * found.values)
        host = arrays.to_numpy(P)
        W[:, 0, 0] = np.einsum("nm,nm,nm->n", host, host, weight)
        W[:, 0, 1:] = np.einsum("nm,nm,qm->nq", host, weight, q)
        W[:, 1:, 1:] = np.einsum("nm,qm,rm->nqr", weight, q, q)
    W[:, 1:, 0] = W[:, 0, 1:]
    return W


def _changed_cost(W: Floats, change: _Change, *, own: bool) -> Floats:
    """vᵀ W (I + C W)⁻¹ v; ∞ where nothing else of its own set spans the row."""
    C, v = change.C, change.v
    if not C.any():
        return np.asarray(np.einsum("ni,nij,nj->n", v, W, v))
    system = np.eye(3) + C @ W
    remaining = np.linalg.det(system)
    alone = ~(remaining > alone_in_its_direction(np.finfo(float).eps)) if own else False
    solvable = np.where(np.broadcast_to(alone, remaining.shape)[:, None, None], np.eye(3), system)
    solved = np.linalg.solve(solvable, v[:, :, None])[:, :, 0]
    cost = np.einsum("ni,nij,nj->n", v, W, solved)
    return np.where(alone, math.inf, np.maximum(cost, 0.0))


def removed_weights(sample_weight: object, n: int) -> Floats:
    """The weight that goes with each of n rows: a row of weight 2 loses one occurrence."""
    if sample_weight is None:
        return np.ones(n)
    return np.asarray(np.minimum(as_weights(sample_weight, n), 1.0))


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


def inverse_triangle(factor: Array) -> Array:
    """R⁻¹ of a triangular factor: ‖z R⁻¹‖² = zᵀ(RᵀR)⁻¹z."""
    eye = arrays.identity(factor.shape[0], factor)
    return factorizations.solve_triangular_transposed(factor, eye).T


def matrix_of(one: Floats) -> Floats:
    """P with P⁻¹ = M Mᵀ, for a square map; others, without shrinkage, need none."""
    if one.shape[0] != one.shape[1]:
        return np.zeros((0, 0))
    return np.asarray(arrays.gram(np.linalg.inv(one)))


def pooled_matrices(geometry: Geometry, shrunk: Sequence[Floats]) -> Floats:
    """(K, e, e): P_k = (1-γ) Σ̃_k + γ mean Σ̃."""
    return np.tensordot(geometry.mixing(), np.stack(list(shrunk)), axes=1)


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
