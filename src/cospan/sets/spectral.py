"""What leaving rows out needs of every set: maps in which both of its matrices are diagonal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan.sets.geometry import Geometry
from cospan.sets.leaving import LeavingRows, SpectralMap
from cospan.sets.maps import inverse_triangle, working_rows


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
