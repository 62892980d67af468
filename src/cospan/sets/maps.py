"""From the moments of K sets to the matrices that samples are multiplied with."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import FAST_SHRINKAGE
from cospan.errors import InputError
from cospan.sets.geometry import Geometry
from cospan.sets.prepared import WorkingSets


def working_rows(
    rows: Array, origin: Array, geometry: Geometry, basis: Array | None
) -> tuple[Array, Array | None]:
    """Rows less an origin, in units, inside the span; and their squared norms off it.

    In float64: a large offset of all rows must not cost digits.
    """
    xp = arrays.namespace(rows)
    rows = xp.astype(rows, xp.float64, copy=False)
    moved = (rows - arrays.like(origin, rows)) * arrays.like(geometry.per_unit(), rows)
    if basis is None:
        return moved, None
    inside = arrays.matmul(moved, arrays.like(basis, rows))
    off = xp.sum(moved * moved, axis=1) - xp.sum(inside * inside, axis=1)
    return inside, xp.clip(off, 0.0, math.inf)


def maps_of(working: WorkingSets, g: Geometry, weighting: str) -> list[Array]:
    """M_k of every set."""
    factors = [working.shrunk(k, g.shrinkage) for k in range(g.n_sets)]
    if g.shrinkage > 0 and weighting == "cost":
        return [inverse_triangle(one) for one in factors]
    tol = working.tolerance()
    whitening = whitening_of(factors, tol)
    make = _cost_map if weighting == "cost" else _frame_map
    return [make(one, whitening, tol) for one in factors]


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
    basis, first = arrays.orthonormal_columns(arrays.copied(maps[0]))
    return [first, *(arrays.matmul(basis.T, one) for one in maps[1:])], basis


def inverse_triangle(factor: Array) -> Array:
    """R⁻¹ of a triangular factor: ‖z R⁻¹‖² = zᵀ(RᵀR)⁻¹z."""
    eye = arrays.identity(factor.shape[0], factor)
    return arrays.solve_triangular_transposed(factor, eye).T


def whitening_of(factors: Sequence[Array], tol: float) -> tuple[Array, Array]:
    """L (e, m) with Lᵀ T L = I on the span of all sets, and the m square roots of T's spectrum."""
    xp = arrays.namespace(factors[0])
    _, values, Vt = arrays.svd(arrays.triangular_factor(xp.concat(list(factors), axis=0)))
    largest = float(values[0]) if values.shape[0] else 0.0
    rank = int(xp.sum(xp.astype(values > tol * largest, xp.int64)))
    return Vt[:rank, :].T / values[None, :rank], values[:rank]


def _cost_map(factor: Array, whitening: tuple[Array, Array], tol: float) -> Array:
    """M of a set that may lack directions: its inverse on those it has."""
    L, spectrum = whitening
    xp = arrays.namespace(factor)
    _, values, Bt = arrays.svd(arrays.triangular_factor(arrays.matmul(factor, L)))
    # A direction counts as the set's own if the set reaches along it farther than rounding: judged
    # in the units of the data, as `gsvd` does.
    reach = values * xp.sqrt(xp.sum((Bt * spectrum[None, :]) ** 2, axis=1))
    norm = float(xp.max(arrays.svd(factor)[1])) if 0 not in factor.shape else 0.0
    keep = arrays.to_numpy(reach > tol * norm)
    has = int(keep.sum()) if keep.all() else int(np.argmin(keep))
    return arrays.matmul(L, Bt[:has, :].T) / values[None, :has]


def _frame_map(factor: Array, whitening: tuple[Array, Array], tol: float) -> Array:
    """M with ‖z M‖² = zᵀ T⁻¹ S T⁻¹ z."""
    L, _ = whitening
    return arrays.matmul(L, arrays.triangular_factor(arrays.matmul(factor, L)).T)
