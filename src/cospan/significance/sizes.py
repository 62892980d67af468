"""How large differences of mean features are: one number for many, and its slope.

The number is compared between labellings, so only its order matters; the slope is what each
feature adds to it, and gives the direction in which two sets part.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan._types import Floats

# Numbers in a block of matrices, 16 MB.
_BLOCK = 2_000_000


class PowerSum(NamedTuple):
    """Σ |difference|^power over the features.

    >>> PowerSum(3.0).of(np.array([[1.0, -2.0]]))
    array([9.])
    """

    power: float

    def of(self, apart: NDArray[np.floating]) -> Floats:
        """(n,): the size of each row of differences, (n, features)."""
        return np.asarray(np.sum(np.abs(apart) ** self.power, axis=1), dtype=np.float64)

    def slope(self, apart: NDArray[np.floating]) -> NDArray[np.floating]:
        """(n, features): the derivatives of `of`, up to a factor."""
        return np.asarray(np.sign(apart) * np.abs(apart) ** (self.power - 1))


class Eigenvalues(NamedTuple):
    """Σ λ⁴ over the eigenvalues λ of symmetric matrices, given as rows: the upper triangle.

    Entries off the diagonal are multiplied by √2, so that Σ λ² is the squared length of a row.
    No eigenvalue is computed: Σ λ⁴ is the sum of the squares of M².

    >>> round(float(Eigenvalues().of(np.array([[3.0, 0.0, 1.0]]))[0]), 9)
    82.0
    """

    def of(self, apart: NDArray[np.floating]) -> Floats:
        """(n,): the size of each row of differences, (n, k (k+1)/2)."""
        found = np.empty(len(apart))
        step = max(1, _BLOCK // max(1, 2 * apart.shape[1]))
        for start in range(0, len(apart), step):
            M = _matrices(apart[start : start + step])
            squared = M @ M
            found[start : start + step] = np.einsum("nij,nij->n", squared, squared)
        return found

    def slope(self, apart: NDArray[np.floating]) -> NDArray[np.floating]:
        """(n, k (k+1)/2): the derivatives of `of`, up to a factor: those of M³."""
        M = _matrices(apart)
        cubes = M @ M @ M
        first, second = np.triu_indices(M.shape[1])
        weight = np.where(first == second, 1, math.sqrt(2)).astype(apart.dtype)
        return np.asarray(cubes[:, first, second] * weight)


def _matrices(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """(n, k, k): the symmetric matrices of these upper triangles."""
    k = (math.isqrt(8 * rows.shape[1] + 1) - 1) // 2
    first, second = np.triu_indices(k)
    values = rows * np.where(first == second, 1, math.sqrt(0.5)).astype(rows.dtype)
    found = np.empty((len(rows), k, k), dtype=rows.dtype)
    found[:, first, second] = values
    found[:, second, first] = values
    return found
