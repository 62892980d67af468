"""BLAS and LAPACK for NumPy arrays, all through SciPy.

NumPy and SciPy each bring a BLAS with its own threads, and a hot path that alternates between the
two runs at half the speed. Compact-WY QR (`geqrt`) is used because it ran 1.4 to 1.8 times faster
than `geqrf`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg

# Block size of LAPACK's compact-WY QR: flat between 32 and 64 on the machines measured.
_QR_BLOCK = 48
# Rows that are copied into column-major order at once. A transposition of everything at once
# walks a page of memory for every element; this many rows stay in the cache.
_TILE_ROWS = 512
# Rows that are shifted and multiplied at once.
_CACHE_BYTES = 2**23


def operand(x: np.ndarray) -> tuple[np.ndarray, int]:
    """The array as BLAS wants it (column-major) and whether it is to be transposed."""
    if x.flags.f_contiguous:
        return x, 0
    if x.flags.c_contiguous:
        return x.T, 1
    return np.asfortranarray(x), 0


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    (x, transposed_x), (y, transposed_y) = operand(a), operand(b)
    gemm = scipy.linalg.get_blas_funcs("gemm", (x, y))
    return np.asarray(gemm(1.0, x, y, trans_a=transposed_x, trans_b=transposed_y))


def gram(x: np.ndarray) -> np.ndarray:
    matrix, transposed = operand(x)
    if x.dtype.kind == "c":
        herk = scipy.linalg.get_blas_funcs("herk", (matrix,))
        # For rows in memory order the operand is xᵀ, and xᵀ(xᵀ)ᴴ is the conjugate of xᴴx.
        upper = herk(1.0, matrix, trans=0 if transposed else 2)
        upper = np.triu(upper.conj() if transposed else upper)
        return np.asarray(upper + np.triu(upper, 1).conj().T)
    syrk = scipy.linalg.get_blas_funcs("syrk", (matrix,))
    return mirrored(syrk(1.0, matrix, trans=1 - transposed))


def add_gram(total: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``total + xᵀx`` in the upper triangle of total's own memory."""
    matrix, transposed = operand(x)
    syrk = scipy.linalg.get_blas_funcs("syrk", (matrix,))
    c = np.asfortranarray(total)
    return np.asarray(syrk(1.0, matrix, beta=1.0, c=c, trans=1 - transposed, overwrite_c=1))


def mirrored(upper: np.ndarray) -> np.ndarray:
    """The symmetric matrix of which the upper triangle is given."""
    upper = np.triu(upper)
    return np.asarray(upper + np.triu(upper, 1).T)


def stacked(parts: list[np.ndarray], dtype: np.dtype, order: str) -> np.ndarray:
    """The parts below each other, in memory of their own, of the dtype and order asked for."""
    rows, columns = sum(len(part) for part in parts), parts[0].shape[1]
    out = np.empty((rows, columns), dtype=dtype, order="F" if order == "F" else "C")
    start = 0
    for part in parts:
        for first in range(0, len(part), _TILE_ROWS):
            tile = part[first : first + _TILE_ROWS]
            out[start : start + len(tile)] = tile
            start += len(tile)
    return out


def shifted_gram(rows: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum and Gram matrix of the rows less `origin`, in float64.

    NumPy throughout: unlike SciPy's, its products let other threads run meanwhile.
    """
    d = len(origin)
    total, matrix = np.zeros(d), np.zeros((d, d))
    size = max(_TILE_ROWS, 3 * _CACHE_BYTES // (8 * d))
    buffer = np.empty((min(size, len(rows)), d))
    for start in range(0, len(rows), size):
        tile = rows[start : start + size]
        moved = np.subtract(tile, origin, out=buffer[: len(tile)])
        total += moved.sum(axis=0)
        matrix += moved.T @ moved
    return total, matrix


def shifted_blocks(parts: list[np.ndarray], origin: np.ndarray) -> Iterator[np.ndarray]:
    """The rows less `origin` in float64, a cache full of them at a time, always in one buffer."""
    rows = sum(len(part) for part in parts)
    size = min(rows, max(_TILE_ROWS, _CACHE_BYTES // (8 * len(origin))))
    buffer, filled = np.empty((size, len(origin))), 0
    for part in parts:
        start = 0
        while start < len(part):
            piece = part[start : start + size - filled]
            np.subtract(piece, origin, out=buffer[filled : filled + len(piece)])
            start, filled = start + len(piece), filled + len(piece)
            if filled == size:
                yield buffer
                filled = 0
    if filled:
        yield buffer[:filled]


def triangular_factor(x: np.ndarray, *, overwrite: bool = False) -> np.ndarray:
    k = min(x.shape)
    if k == 0:
        return np.zeros((0, x.shape[1]), dtype=x.dtype)
    if not x.flags.f_contiguous:
        x, overwrite = stacked([x], x.dtype, "F"), True
    (geqrt,) = scipy.linalg.get_lapack_funcs(("geqrt",), (x,))
    packed, _, _ = geqrt(min(_QR_BLOCK, k), x, overwrite_a=overwrite)
    return np.asfortranarray(np.triu(packed[:k]))


def merged_triangles(a: np.ndarray, b: np.ndarray, row: np.ndarray) -> np.ndarray:
    """R of two upper triangular matrices and a row, at a third of the work of a QR."""
    (tpqrt,) = scipy.linalg.get_lapack_funcs(("tpqrt",), (a, b))
    n = a.shape[1]
    below = stacked([row, b], b.dtype, "F")
    top, *_ = tpqrt(n, min(_QR_BLOCK, n), np.asfortranarray(a), below, overwrite_b=1)
    return np.asfortranarray(np.triu(top))


def orthonormal_columns(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q and R of a tall column-major x, with Q in x's own memory."""
    n = x.shape[1]
    if n == 0:
        return x, np.zeros((0, 0), x.dtype)
    geqrt, orgqr = scipy.linalg.get_lapack_funcs(("geqrt", "orgqr"), (x,))
    block = min(_QR_BLOCK, n)
    packed, blocks, _ = geqrt(block, x, overwrite_a=1)
    R = np.triu(packed[:n])
    # The scalars of the Householder vectors are on the diagonals of the compact-WY blocks.
    columns = np.arange(n)
    tau = np.ascontiguousarray(blocks[columns % block, columns])
    Q, _, _ = orgqr(packed, tau, lwork=64 * n, overwrite_a=1)
    return Q, R


def eigh(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if x.shape[0] == 0:
        return np.zeros(0, x.real.dtype), x
    try:
        values, vectors = scipy.linalg.eigh(x, driver="evd", check_finite=False)
    except np.linalg.LinAlgError:  # divide and conquer gave up; plain QR iterations do not
        values, vectors = scipy.linalg.eigh(x, driver="ev", check_finite=False)
    return values, vectors


def svd(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if 0 in x.shape:
        return np.zeros((x.shape[0], 0), x.dtype), np.zeros(0, x.real.dtype), x[:0]
    try:
        U, values, Vt = scipy.linalg.svd(x, full_matrices=False, check_finite=False)
    except np.linalg.LinAlgError:  # seen for images of two digits: gesdd gives up, gesvd does not
        U, values, Vt = scipy.linalg.svd(
            x, full_matrices=False, check_finite=False, lapack_driver="gesvd"
        )
    return U, values, Vt
