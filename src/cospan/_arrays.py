"""Array namespaces and devices: the only module that knows of backends.

The numerical modules are written once. They ask this module for a namespace (`namespace`), and
for the few factorizations they need. For NumPy those go to LAPACK and BLAS through SciPy, all of
them: NumPy and SciPy each bring a BLAS with its own threads, and a hot path that alternates
between the two runs at half the speed. For every other namespace they go to its ``linalg``
extension (QR, `eigh` and SVD of small matrices only).

To add a backend, see CONTRIBUTING; as a rule nothing is needed beyond array-api-compat.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import array_api_compat
import numpy as np
import scipy.linalg

# An array of any namespace. The standard has no static type for it yet.
Array = Any
Namespace = Any

# Block size of LAPACK's compact-WY QR: flat between 32 and 64 on the machines measured.
_QR_BLOCK = 48


def namespace(*arrays: Array) -> Namespace:
    """The array-API namespace of the arrays; NumPy for anything that is no array."""
    known = [x for x in arrays if array_api_compat.is_array_api_obj(x)]
    if not known:
        return array_api_compat.array_namespace(np.empty(0))
    return array_api_compat.array_namespace(*known)


def is_array(x: object) -> bool:
    """Is x an array of a namespace we know (and not a list or a dataframe)?"""
    return bool(array_api_compat.is_array_api_obj(x))


def is_numpy(*arrays: Array) -> bool:
    """Do all of these live in NumPy, so that LAPACK can be called directly?"""
    return all(isinstance(x, np.ndarray) for x in arrays)


def to_numpy(x: Array) -> np.ndarray:
    """A NumPy view or copy of x on the host."""
    if isinstance(x, np.ndarray):
        return x
    if array_api_compat.is_torch_array(x):
        return np.asarray(x.detach().cpu().numpy())
    if array_api_compat.is_cupy_array(x):
        return np.asarray(x.get())
    return np.asarray(x)


def like(x: Any, reference: Array) -> Array:
    """x in the namespace, on the device and in the dtype of `reference`."""
    if is_numpy(reference):
        return np.asarray(to_numpy(x) if is_array(x) else x, dtype=reference.dtype)
    xp = namespace(reference)
    host = np.array(to_numpy(x) if is_array(x) else x)
    return xp.asarray(host, dtype=reference.dtype, device=array_api_compat.device(reference))


def eps(x: Array) -> float:
    """Spacing of floating-point numbers at 1 in the dtype of x."""
    return float(namespace(x).finfo(x.dtype).eps)


def is_real_floating(x: Array) -> bool:
    return bool(namespace(x).isdtype(x.dtype, "real floating"))


def any_nonzero_columns(*matrices: Array) -> Array:
    """Mask of the columns that hold a nonzero in at least one of the matrices."""
    xp = namespace(*matrices)
    found = None
    for matrix in matrices:
        here = xp.any(matrix != 0, axis=0)
        found = here if found is None else found | here
    return found


def columns(x: Array, index: Array) -> Array:
    """x[:, index] for an integer index."""
    return x[:, index] if is_numpy(x) else namespace(x).take(x, index, axis=1)


def copied(x: Array) -> Array:
    """x in memory of its own."""
    return namespace(x).asarray(x, copy=True)


def asfortran(x: Array) -> Array:
    """NumPy arrays in LAPACK's own order; others as they are."""
    return np.asfortranarray(x) if is_numpy(x) else x


# ---- products ---------------------------------------------------------------------------------


def _blas_operand(x: np.ndarray) -> tuple[np.ndarray, int]:
    """The array as BLAS wants it (column-major) and whether it is to be transposed."""
    if x.flags.f_contiguous:
        return x, 0
    if x.flags.c_contiguous:
        return x.T, 1
    return np.asfortranarray(x), 0


def matmul(a: Array, b: Array) -> Array:
    """``a @ b`` for matrices, in SciPy's BLAS when both are NumPy arrays."""
    if not is_numpy(a, b) or 0 in (*a.shape, *b.shape):
        return a @ b
    (x, transposed_x), (y, transposed_y) = _blas_operand(a), _blas_operand(b)
    gemm = scipy.linalg.get_blas_funcs("gemm", (x, y))
    return gemm(1.0, x, y, trans_a=transposed_x, trans_b=transposed_y)


def gram(x: Array) -> Array:
    """``xᵀ x``, symmetric to the bit."""
    if not is_numpy(x) or 0 in x.shape:
        return x.T @ x
    operand, transposed = _blas_operand(x)
    syrk = scipy.linalg.get_blas_funcs("syrk", (operand,))
    return mirrored(syrk(1.0, operand, trans=1 - transposed))


def add_gram(total: Array, x: Array) -> Array:
    """``total + xᵀ x``, for NumPy in place and in the upper triangle only (see `mirrored`)."""
    if not is_numpy(x):
        return total + x.T @ x
    operand, transposed = _blas_operand(x)
    syrk = scipy.linalg.get_blas_funcs("syrk", (operand,))
    return syrk(1.0, operand, beta=1.0, c=asfortran(total), trans=1 - transposed, overwrite_c=1)


def mirrored(total: Array) -> Array:
    """What `add_gram` summed, as a full symmetric matrix."""
    if not is_numpy(total):
        return total
    upper = np.triu(total)
    return upper + np.triu(upper, 1).T


# ---- factorizations ---------------------------------------------------------------------------


class Orthogonal(NamedTuple):
    """The triangular factor of a thin QR, and the orthogonal one as an operator."""

    R: Array
    apply: Callable[[Array], Array]  # Y -> Q @ Y


def qr(x: Array) -> Orthogonal:
    """Thin QR of x, with Q kept as Householder vectors where the namespace can."""
    if not is_numpy(x):
        Q, R = namespace(x).linalg.qr(x, mode="reduced")
        return Orthogonal(R, lambda Y: Q @ Y)
    m, n = x.shape
    k = min(m, n)
    if k == 0:
        return Orthogonal(np.zeros((k, n), x.dtype), lambda Y: np.zeros((m, Y.shape[1]), x.dtype))
    geqrt, gemqrt = scipy.linalg.get_lapack_funcs(("geqrt", "gemqrt"), (x,))
    packed, blocks, _ = geqrt(min(_QR_BLOCK, k), asfortran(x))
    vectors = packed[:, :k]

    def apply(Y: np.ndarray) -> np.ndarray:
        padded = np.zeros((m, Y.shape[1]), dtype=x.dtype, order="F")
        padded[:k] = Y
        product, _ = gemqrt(vectors, blocks, padded, overwrite_c=1)
        return np.asarray(product)

    return Orthogonal(np.triu(packed[:k]), apply)


def triangular_factor(x: Array) -> Array:
    """R of a thin QR of x, (min(rows, columns), columns)."""
    if not is_numpy(x):
        return namespace(x).linalg.qr(x, mode="reduced")[1]
    k = min(x.shape)
    if k == 0:
        return np.zeros((0, x.shape[1]), dtype=x.dtype)
    (geqrt,) = scipy.linalg.get_lapack_funcs(("geqrt",), (x,))
    packed, _, _ = geqrt(min(_QR_BLOCK, k), asfortran(x))
    return np.triu(packed[:k])


def identity(n: int, reference: Array) -> Array:
    xp = namespace(reference)
    return xp.eye(n, dtype=reference.dtype, device=array_api_compat.device(reference))


def zeros(shape: tuple[int, ...], reference: Array) -> Array:
    xp = namespace(reference)
    return xp.zeros(shape, dtype=reference.dtype, device=array_api_compat.device(reference))


def eigh(x: Array) -> tuple[Array, Array]:
    """Eigenvalues, rising, and eigenvectors of a symmetric matrix."""
    if is_numpy(x):
        if x.shape[0] == 0:
            return np.zeros(0, x.dtype), x
        values, vectors = scipy.linalg.eigh(x, driver="evd", check_finite=False)
        return values, vectors
    values, vectors = namespace(x).linalg.eigh(x)
    return values, vectors


def svd(x: Array) -> tuple[Array, Array, Array]:
    """Thin SVD: U, values falling, Vᵀ."""
    if is_numpy(x):
        if 0 in x.shape:
            return np.zeros((x.shape[0], 0), x.dtype), np.zeros(0, x.dtype), x[:0]
        U, values, Vt = scipy.linalg.svd(x, full_matrices=False, check_finite=False)
        return U, values, Vt
    U, values, Vt = namespace(x).linalg.svd(x, full_matrices=False)
    return U, values, Vt


def cholesky(x: Array) -> Array:
    """Upper triangular R with RᵀR = x, for a symmetric positive definite x."""
    if is_numpy(x):
        return scipy.linalg.cholesky(x, lower=False, check_finite=False)
    return namespace(x).linalg.cholesky(x, upper=True)


def solve_triangular_transposed(R: Array, b: Array) -> Array:
    """x with Rᵀ x = b, for an upper triangular R."""
    if is_numpy(R):
        return scipy.linalg.solve_triangular(R, b, trans=1, check_finite=False)
    return namespace(R).linalg.solve(R.T, b)


def reciprocal_condition(R: Array) -> float:
    """An estimate of 1/κ of a square triangular matrix: near 0 when it is nearly singular.

    For NumPy, LAPACK's estimator. Elsewhere from the eigenvalues of RᵀR, which see only half the
    digits: anything below √eps reads as 0, and the caller's rank-revealing step decides.
    """
    if R.shape[0] == 0:
        return 1.0
    if is_numpy(R):
        (trcon,) = scipy.linalg.get_lapack_funcs(("trcon",), (R,))
        return float(trcon(asfortran(R))[0])
    xp = namespace(R)
    values = xp.linalg.eigvalsh(R.T @ R)
    lowest, highest = float(values[0]), float(values[-1])
    if highest <= 0 or lowest <= R.shape[0] * eps(R) * highest:
        return 0.0
    return float((lowest / highest) ** 0.5)


class RankRevealed(NamedTuple):
    """x = left @ right with orthonormal columns in `left`, ordered by falling weight."""

    left: Array
    right: Array
    weights: Array  # |diagonal| of the pivoted R, or the singular values


def rank_revealing(R: Array, *, careful: bool = False) -> RankRevealed:
    """Pivoted QR (NumPy) or SVD (other namespaces, and `careful`) of a small square matrix."""
    if is_numpy(R) and not careful:
        Q, T, pivots = scipy.linalg.qr(R, mode="economic", pivoting=True, check_finite=False)
        right = np.empty_like(T)
        right[:, pivots] = T
        return RankRevealed(Q, right, np.abs(np.diagonal(T)))
    U, values, Vt = svd(R)
    return RankRevealed(U, values[:, None] * Vt, values)
