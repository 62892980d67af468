"""Factorizations: LAPACK for NumPy, else a namespace's ``linalg`` or Cholesky factors."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import scipy.linalg

from cospan.base.arrays import cholesky_qr, lapack
from cospan.base.arrays.namespaces import is_numpy, namespace
from cospan.base.arrays.products import full_precision
from cospan.base.arrays.types import Array


def thin_qr(x: Array) -> tuple[Array, Array]:
    """Q and R of an array outside NumPy."""
    with full_precision(x):
        found = cholesky_qr.thin_qr(x) if cholesky_qr.worth_it(*x.shape) else None
        Q, R = found or namespace(x).linalg.qr(x, mode="reduced")
    return Q, R


def orthonormal_columns(x: Array) -> tuple[Array, Array]:
    """Q and R of a tall x. NumPy arrays in column-major order are overwritten: no second copy."""
    return lapack.orthonormal_columns(x) if is_numpy(x) else thin_qr(x)


@overload
def triangular_factor(x: np.ndarray, *, overwrite: bool = False) -> np.ndarray: ...
@overload
def triangular_factor(x: Array, *, overwrite: bool = False) -> Array: ...
def triangular_factor(x: Any, *, overwrite: bool = False) -> Any:
    """R of a thin QR of x, (min(rows, columns), columns)."""
    if is_numpy(x):
        return lapack.triangular_factor(x, overwrite=overwrite)
    with full_precision(x):
        if cholesky_qr.worth_it(*x.shape):
            x = cholesky_qr.factor(x)
        return namespace(x).linalg.qr(x, mode="reduced")[1]


def merged_triangles(a: Array, b: Any, row: Any) -> Array:
    """R of two square upper triangular factors and a row below each other."""
    if is_numpy(a, b, row):
        return lapack.merged_triangles(a, b, row)
    return triangular_factor(namespace(a, b).concat((a, b, row), axis=0))


@overload
def eigh(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...
@overload
def eigh(x: Array) -> tuple[Array, Array]: ...
def eigh(x: Any) -> Any:
    """Eigenvalues, rising, and eigenvectors of a symmetric or Hermitian matrix."""
    if is_numpy(x):
        return lapack.eigh(x)
    values, vectors = namespace(x).linalg.eigh(x)
    return values, vectors


def svd(x: Array) -> tuple[Array, Array, Array]:
    """Thin SVD: U, values falling, Vᴴ."""
    if is_numpy(x):
        return lapack.svd(x)
    U, values, Vt = namespace(x).linalg.svd(x, full_matrices=False)
    return U, values, Vt


@overload
def cholesky(x: np.ndarray) -> np.ndarray: ...
@overload
def cholesky(x: Array) -> Array: ...
def cholesky(x: Any) -> Any:
    """Upper triangular R with RᵀR = x, for a symmetric positive definite x."""
    if is_numpy(x):
        return scipy.linalg.cholesky(x, lower=False, check_finite=False)
    return namespace(x).linalg.cholesky(x, upper=True)


@overload
def solve_triangular_transposed(R: np.ndarray, b: np.ndarray) -> np.ndarray: ...
@overload
def solve_triangular_transposed(R: Array, b: Array) -> Array: ...
def solve_triangular_transposed(R: Any, b: Any) -> Any:
    """x with Rᵀ x = b, for an upper triangular R."""
    if is_numpy(R):
        return scipy.linalg.solve_triangular(R, b, trans=1, check_finite=False)
    return cholesky_qr.divided(b.T, R).T
