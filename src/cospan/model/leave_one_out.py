"""Costs of a row as if it had never been there: exact, without refitting.

When a row x of weight δ goes from set o of size n, the set's moments become

    S' = (1 + growth) S - lost·ppᵀ        growth = δ/(n - δ), or 0 where moments are plain sums

with p = x - μ_o where they are taken about its own mean: that moves, the row is n/(n - δ) times as
far from it, and lost = δn/(n - δ)². In the linear span p may be x less one centre for all sets,
which stays where it is: lost = δ/(n - δ). Where sets pool their covariances, those of the others
change with it, by as much as set o weighs in them. So the new matrix of set k is G - s·lost·ppᵀ,
where G differs from the old one by the divisor alone, and a row at z from the set costs it

    zᵀG⁻¹z + s·lost (pᵀG⁻¹z)²/(1 - s·lost·pᵀG⁻¹p)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from cospan.base import arrays, factorizations
from cospan.base.checks import as_weights
from cospan.base.tolerance import ALONE, LEAST_REMAINDER
from cospan.base.types import Array, Floats
from cospan.model.prepared import Geometry, TrialRows, WorkingSets, working_rows


def removed_weights(sample_weight: object, n: int) -> Floats:
    """The weight that goes with each of n rows: a row of weight 2 loses one occurrence."""
    if sample_weight is None:
        return np.ones(n)
    return np.asarray(np.minimum(as_weights(sample_weight, n), 1.0))


class Departure(NamedTuple):
    """How a set's moments change when rows of it go, each by itself."""

    growth: Floats
    lost: Floats
    farther: Floats  # how many times as far from the set's centre a row then is

    @classmethod
    def of(cls, sets: Geometry, o: int, removed: Floats) -> Departure:
        """From set o; `removed` are weights of rows."""
        n = sets.sizes[o]
        with np.errstate(divide="ignore"):
            farther = np.where(n > removed, n / np.maximum(n - removed, 0.0), math.inf)
        growth, lost = 0 * removed, removed
        if sets.balance:
            growth, lost = farther - 1, removed * farther / n
        if not sets.own_centers:
            return cls(growth, lost, np.ones(len(removed)))
        return cls(growth, lost * farther, farther)


def changed(pp: Floats, pz: Floats, zz: Floats, lost: Floats) -> Floats:
    """zᵀ(G - lost·ppᵀ)⁻¹z from inner products in G⁻¹."""
    return np.asarray(zz + lost * pz**2 / np.maximum(1 - lost * pp, LEAST_REMAINDER))


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
        self._at = arrays.to_numpy(working_rows(g.means, g.center, g, basis)[0])
        self._turned: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        own = factors() if g.pooling > 0 else None
        for k, one in enumerate(map(arrays.to_numpy, maps)):
            # Where nothing is pooled, a set does not change when rows of another go.
            for o in [k] if own is None else range(g.n_sets):
                self._turned[k, o] = _turned(g.shrinkage, one, None if own is None else own[o])

    def squared_costs(self, p: Array, off: Array | None, o: int, removed: Floats) -> Array:
        """(n, K) squared costs of rows of set o, each left out of it.

        `p` (n, e) are the rows less what the moments of their set are taken about, in working
        coordinates, `off` their squared norms outside the span, and `removed` the weights that go.
        """
        g, xp = self.geometry, arrays.namespace(p)
        outside = np.zeros(p.shape[0])
        if off is not None and g.shrinkage > 0:
            outside = arrays.to_numpy(off) / g.shrinkage
        gone = Departure.of(g, o, removed)
        columns = []
        for k in range(g.n_sets):
            share = (1 - g.shrinkage) * g.mixing()[k, o]
            across, values = self._turned[k, o if g.pooling > 0 else k]
            growth = share * gone.growth if share else np.zeros(1)
            if np.all(growth == growth[:1]):
                growth = growth[:1]
            y = arrays.matmul(p, arrays.like(across, p))
            weight = arrays.like(1 / (1 + growth[:, None] * values), y)  # (n, m), or (1, m)

            def product(a: Array, b: Array, weight: Array = weight) -> Floats:
                """Of every row of a with that of b, where the matrix of the set is the identity."""
                return np.asarray(arrays.to_numpy(xp.sum(a * weight * b, axis=1)) + outside)

            pp = product(y, y)
            if g.affine and k != o:
                z = y + arrays.like((self._at[o] - self._at[k]) @ across, y)[None, :]
                pz, zz, away = product(y, z), product(z, z), np.ones(1)
            else:
                pz, zz, away = pp, pp, gone.farther**2
            cost = changed(pp, pz, zz, share * gone.lost) * away if share else zz * away
            if k == o:  # nothing else of its set spans the row
                alone = 1 - share * gone.lost * pp <= ALONE
                cost = np.where(alone | np.isnan(cost), math.inf, cost)
            columns.append(cost + g.dof)
        return arrays.like(np.stack(columns, axis=1), p)

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


# ---- the matrices that samples are multiplied with ----------------------------------------------


def maps_of(working: WorkingSets, alpha: float) -> list[Array]:
    """M_k of every set: ‖(z - μ_k) M_k‖² is what z costs it, less ν.

    Without shrinkage a set may lack directions that others have. As in a pair they are given no
    cost, and what belongs to them is read off in the metric of all sets together: with T = Σ S_k,
    S_k is inverted within the coordinates in which T is the identity.
    """
    factors = [working.shrunk(k, alpha) for k in range(working.n_sets)]
    if alpha > 0:
        return [factorizations.inverse_triangle(one) for one in factors]
    tol = working.tolerance()
    L, spectrum = whitening_of(factors, tol)
    return [_cost_map(one, L, spectrum, tol) for one in factors]


def factors_of(maps: Sequence[Array]) -> list[Floats]:
    """R_k with Σ̃_k = R_kᵀR_k, of triangular maps."""
    return [arrays.to_numpy(factorizations.inverse_triangle(one)) for one in maps]


def pooled_maps(g: Geometry, maps: Sequence[Array]) -> Sequence[Array]:
    """The maps of the pooled covariances, P_k = (1-γ) Σ̃_k + γ mean Σ̃; one for all at γ = 1."""
    if g.pooling == 0:
        return maps
    shrunk = np.stack([arrays.gram(one) for one in factors_of(maps)])
    pooled = np.tensordot(g.mixing()[: 1 if g.pooling == 1 else None], shrunk, axes=1)
    inverses = [factorizations.inverse_triangle(factorizations.cholesky(one)) for one in pooled]
    found = [arrays.like(one, maps[0]) for one in inverses]
    return found * g.n_sets if g.pooling == 1 else found


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
