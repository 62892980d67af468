"""Costs of a row as if it had never been there: exact, without refitting.

When a row x of set o leaves, the set's mean, its moments and their divisor change, and where the
sets share a centre or pool their covariances, the other sets change too. With p = x - μ_o, every
one of these changes is of low rank: the new matrix of set k is

    G + V C Vᵀ,   V = [p, q_k, q_o]        and the row, as set k sees it, is  V v

where G differs from the old matrix by the divisor alone, q are constant steps between means and
centre, and C (3 × 3) and v (3) are numbers. So with W = VᵀG⁻¹V the new cost is

    vᵀ W (I + C W)⁻¹ v

In the affine span without pooling that is ρ²h/(1 - τh) for the row's own set, with h = pᵀG⁻¹p,
ρ = n/(n-1) and τ = (1-α)ρ/(n-1), and nothing changes for the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import alone_in_its_direction
from cospan._validate import as_weights
from cospan.sets.geometry import Geometry
from cospan.sets.maps import inverse_triangle, working_rows


def removed_weights(sample_weight: Any, n: int) -> np.ndarray:
    """The weight that leaves with each of n rows: a row of weight 2 loses one occurrence."""
    if sample_weight is None:
        return np.ones(n)
    return np.asarray(np.minimum(as_weights(sample_weight, n), 1.0))


class SpectralMap(NamedTuple):
    """L and λ with LᵀPL = I and LᵀS_oL = diag(λ), for the matrix P of a set and S_o.

    Then (P + ω S_o)⁻¹ = L diag(1/(1 + ωλ)) Lᵀ for every ω.
    """

    map: Array  # (e, m)
    values: np.ndarray  # (m,)


class _Settled(dict[tuple[int, int], SpectralMap]):
    """Maps that are all there."""

    def __call__(self, k: int, o: int) -> SpectralMap:
        return self[k, o]


class _Change(NamedTuple):
    """How the departure of rows of set o changes what set k says of them (see the module)."""

    growth: np.ndarray  # (n,): ω, how much of S_o is added to P_k
    C: np.ndarray  # (n, 3, 3)
    v: np.ndarray  # (n, 3)


class LeavingRows:
    """Leave-one-out costs of rows of K sets.

    ``maps(k, o)`` gives the :class:`SpectralMap` of set k for rows that leave set o; `positions`
    (K, e) are the sets' means less the centre, in working coordinates.
    """

    def __init__(
        self, geometry: Geometry, maps: Callable[[int, int], SpectralMap], positions: np.ndarray
    ) -> None:
        self.geometry = geometry
        self.maps = maps
        self.positions = positions

    def settle(self) -> None:
        """Make every map now, and forget what they are made from: to be sent to other processes."""
        sets = range(self.geometry.n_sets)
        self.maps = _Settled({(k, o): self.maps(k, o) for k in sets for o in sets})

    def squared_costs(self, p: Array, off: Array | None, o: int, removed: np.ndarray) -> Array:
        """(n, K) squared costs of rows of set o, each left out of it.

        `p` (n, e) are the rows less the mean of their set, in working coordinates, `off` their
        squared norms outside the span, and `removed` the weights that leave.
        """
        outside = np.zeros(p.shape[0]) if off is None else arrays.to_numpy(off)
        alpha = self.geometry.shrinkage
        outside = outside / alpha if alpha > 0 else 0 * outside
        columns = [self._costs_of(k, o, p, outside, removed) for k in range(self.geometry.n_sets)]
        return arrays.like(np.stack(columns, axis=1), p)

    def _costs_of(
        self, k: int, o: int, p: Array, outside: np.ndarray, removed: np.ndarray
    ) -> np.ndarray:
        g = self.geometry
        change = self._change(k, o, removed)
        steps = self._steps(k, o)
        found = self.maps(k, o)
        W = _inner_products(p, steps, found, change.growth)
        W[:, 0, 0] += outside
        if not change.C.any():
            cost = np.einsum("ni,nij,nj->n", change.v, W, change.v)
        else:
            cost = _changed_cost(W, change, own=k == o)
        return np.asarray(cost + (g.dof if g.affine else 0.0))

    def _steps(self, k: int, o: int) -> np.ndarray:
        """q_k and q_o: (2, e)."""
        at = self.positions
        if self.geometry.affine:
            return np.stack([at[o] - at[k], 0 * at[o]])
        if self.geometry.center_mode == "each":
            return np.zeros((2, at.shape[1]))
        return np.stack([at[k], at[o]])

    def _change(self, k: int, o: int, removed: np.ndarray) -> _Change:
        g = self.geometry
        n, delta = g.sizes[o], removed
        rows = len(delta)
        with np.errstate(divide="ignore", invalid="ignore"):
            rho = np.where(n > delta, n / (n - delta), math.inf)
        C, v = np.zeros((rows, 3, 3)), np.zeros((rows, 3))
        weight = (1 - g.shrinkage) * g.mixing()[k, o]
        growth = weight * (rho - 1) if g.balance else np.zeros(rows)
        # What ppᵀ loses in set o's moments: δρ/n' about the own mean (times n' without balance).
        lost = delta * rho / (n - delta) if g.balance else delta * rho
        if g.affine:
            C[:, 0, 0] = -weight * lost
            v[:, 0] = rho if k == o else 1.0
            v[:, 1] = 0.0 if k == o else 1.0
        elif g.center_mode == "each":
            C[:, 0, 0] = -weight * lost
            v[:, 0] = rho
        elif g.center_mode == "pooled":
            self._pooled(k, o, delta, rho, lost, C, v)
        else:
            v[:, [0, 2]] = 1.0  # the row less a centre that stays: p + q_o
            if k == o:
                leaving = delta / (n - delta) if g.balance else delta
                C[:, [[0], [2]], [0, 2]] = -weight * leaving[:, None, None]
        return _Change(growth, C, v)

    def _pooled(
        self,
        k: int,
        o: int,
        delta: np.ndarray,
        rho: np.ndarray,
        lost: np.ndarray,
        C: np.ndarray,
        v: np.ndarray,
    ) -> None:
        """The centre is a mean of all sets', and moves with the row."""
        g = self.geometry
        n, rest = g.sizes[o], 1 - g.shrinkage
        zero = np.zeros_like(delta)
        if g.balance:  # m - m' in terms of (p, q_k, q_o)
            moved = np.stack([delta / (g.n_sets * (n - delta)), zero, zero], axis=1)
        else:
            part = delta / (g.sizes.sum() - delta)
            moved = np.stack([part, zero, part], axis=1)
        v[:] = moved
        v[:, 0] += 1.0
        v[:, 2] += 1.0  # x - m' = p + q_o + (m - m')
        step = moved.copy()  # μ_k' - m'
        step[:, 2 if k == o else 1] += 1.0
        if k == o:
            step[:, 0] -= delta / (n - delta)
        size = (1.0 if g.balance else g.sizes[k] - (delta if k == o else 0.0)) + zero
        C += rest * size[:, None, None] * step[:, :, None] * step[:, None, :]
        place = 2 if k == o else 1
        C[:, place, place] -= rest * ((rho if k == o else 1.0) if g.balance else g.sizes[k])
        if k == o:
            C[:, 0, 0] -= rest * lost


def _inner_products(
    p: Array, steps: np.ndarray, found: SpectralMap, growth: np.ndarray
) -> np.ndarray:
    """W = VᵀG⁻¹V of every row, (n, 3, 3)."""
    P = arrays.matmul(p, arrays.like(found.map, p))
    q = np.asarray(arrays.to_numpy(arrays.matmul(arrays.like(steps, p), arrays.like(found.map, p))))
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


def _changed_cost(W: np.ndarray, change: _Change, *, own: bool) -> np.ndarray:
    """vᵀ W (I + C W)⁻¹ v; ∞ where nothing else of its own set spans the row."""
    C, v = change.C, change.v
    system = np.eye(3) + C @ W
    remaining = np.linalg.det(system)
    alone = ~(remaining > alone_in_its_direction(np.finfo(float).eps)) if own else False
    solvable = np.where(np.broadcast_to(alone, remaining.shape)[:, None, None], np.eye(3), system)
    solved = np.linalg.solve(solvable, v[:, :, None])[:, :, 0]
    cost = np.einsum("ni,nij,nj->n", v, W, solved)
    return np.where(alone, math.inf, np.maximum(cost, 0.0))


def matrix_of(one: np.ndarray) -> np.ndarray:
    """P with P⁻¹ = M Mᵀ, for a square map."""
    if one.shape[0] != one.shape[1]:
        return np.zeros((0, 0))  # without shrinkage, and never asked for
    inverse = np.linalg.inv(one)
    return np.asarray(arrays.gram(inverse))


def pooled_matrices(geometry: Geometry, shrunk: Sequence[np.ndarray]) -> np.ndarray:
    """(K, e, e): P_k = (1-γ) Σ̃_k + γ mean Σ̃."""
    return np.tensordot(geometry.mixing(), np.stack(list(shrunk)), axes=1)


def leaving_rows(
    geometry: Geometry, shrunk: Sequence[np.ndarray], maps: Sequence[Array], basis: Array | None
) -> LeavingRows:
    """Leave-one-out for sets with these Σ̃_k, in working coordinates, and these maps."""
    at = working_rows(geometry.means, geometry.center, geometry, basis)[0]
    return LeavingRows(geometry, _SpectralMaps(geometry, shrunk, maps), arrays.to_numpy(at))


class _SpectralMaps:
    """The :class:`SpectralMap` of every set k and every set o that rows leave, when asked."""

    def __init__(
        self, geometry: Geometry, shrunk: Sequence[np.ndarray], maps: Sequence[Array]
    ) -> None:
        self.geometry = geometry
        self.shrunk = shrunk
        self.maps = maps
        self.kept: dict[tuple[int, int], SpectralMap] = {}

    def __call__(self, k: int, o: int) -> SpectralMap:
        # Where nothing is pooled, a set does not change when rows of another leave.
        key = (k, o) if self.geometry.pooling > 0 else (k, k)
        if key not in self.kept:
            self.kept[key] = self._made(*key)
        return self.kept[key]

    def _made(self, k: int, o: int) -> SpectralMap:
        alpha = self.geometry.shrinkage
        if alpha == 0 and self.geometry.pooling == 0:
            # The map itself makes the set's moments the identity.
            return SpectralMap(self.maps[k], np.ones(self.maps[k].shape[1]))
        moments = (self.shrunk[o] - alpha * np.eye(len(self.shrunk[o]))) / (1 - alpha)
        if self.geometry.pooling == 0:
            values, vectors = arrays.eigh(moments)
            kept = np.clip(values, 0.0, None)
            own = (1 - alpha) * kept + alpha
            return SpectralMap(vectors / np.sqrt(own), kept / own)
        pooled = pooled_matrices(self.geometry, self.shrunk)[k]
        inverse = arrays.to_numpy(inverse_triangle(arrays.cholesky(pooled)))
        values, Q = arrays.eigh(arrays.matmul(inverse.T, arrays.matmul(moments, inverse)))
        return SpectralMap(arrays.matmul(inverse, Q), np.clip(values, 0.0, None))
