"""QR with the orthogonal factor as an operator, fast where it multiplies few columns or many."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from cospan import _arrays as arrays
from cospan._arrays import Array, Orthogonal

__all__ = ["qr", "stacked_qr"]

# Block size of LAPACK's compact-WY QR: flat between 48 and 128 on the machines measured.
_BLOCK = 96


def qr(x: Array, *, overwrite: bool = False) -> Orthogonal:
    """Thin QR of x. With `overwrite` the Householder vectors may take the place of x."""
    if not arrays.is_numpy(x) or 0 in x.shape:
        return arrays.qr(x)
    k = min(x.shape)
    block = min(_BLOCK, k)
    (geqrt,) = scipy.linalg.get_lapack_funcs(("geqrt",), (x,))
    # What is not in column order is copied on the way; that copy may always be overwritten.
    overwrite = overwrite or not x.flags.f_contiguous
    packed, blocks, _ = geqrt(block, np.asfortranarray(x), overwrite_a=overwrite)
    # The scalars of the reflections stand on the diagonals of the compact-WY blocks.
    tau = blocks[np.arange(k) % block, np.arange(k)]
    R = np.tril(packed[:k].T).T  # in column order, as whatever comes next wants it
    return Orthogonal(R, _Reflections(packed[:, :k], tau))


class _Reflections:
    """Y -> Q Y for Q = (I - V T Vᵀ) [I; 0], with all reflections in one T.

    Vᵀ[Y; 0] needs the top of V only, so this is half the work of applying block after block
    (LAPACK's ``gemqrt``), and all of it in large products. T is not formed: its inverse is the
    upper triangle of VᵀV with half the diagonal. Nothing is prepared before the first call, so
    that R alone costs no more than R.
    """

    def __init__(self, packed: np.ndarray, tau: np.ndarray) -> None:
        self._vectors, self._tau = packed, tau
        self._inverse: np.ndarray | None = None

    def _prepare(self) -> np.ndarray:
        V, k = self._vectors, self._vectors.shape[1]
        top = np.tril(V[:k], -1)
        np.fill_diagonal(top, 1)
        V[:k] = top
        idle = np.flatnonzero(self._tau == 0)  # columns that needed no reflection
        V[:, idle] = 0
        (syrk,) = scipy.linalg.get_blas_funcs(("syrk",), (V,))
        inverse = np.asarray(syrk(1.0, V, trans=1))
        np.fill_diagonal(inverse, np.diagonal(inverse) / 2)
        inverse[idle, idle] = 1
        return inverse

    def __call__(self, Y: np.ndarray) -> np.ndarray:
        if self._inverse is None:
            self._inverse = self._prepare()
        V, k = self._vectors, self._vectors.shape[1]
        gemm, trmm, trsm = scipy.linalg.get_blas_funcs(("gemm", "trmm", "trsm"), (V,))
        inner = trmm(1.0, V[:k], Y, trans_a=1, lower=1)
        inner = trsm(1.0, self._inverse, inner, overwrite_b=1)
        product = np.asarray(gemm(-1.0, V, inner))
        product[:k] += Y
        return product


def stacked_qr(a: Array, b: Array) -> Orthogonal:
    """Thin QR of a above b. Two triangles, as come from large sets, take a third of the work."""
    if not (_is_triangle(a) and _is_triangle(b) and a.shape == b.shape):
        return qr(arrays.namespace(a, b).concat((a, b), axis=0), overwrite=True)
    n = a.shape[1]
    block = min(_BLOCK, n)
    (tpqrt,) = scipy.linalg.get_lapack_funcs(("tpqrt",), (a, b))
    R, vectors, blocks, _ = tpqrt(n, block, np.asfortranarray(a), np.asfortranarray(b))
    tau = blocks[np.arange(n) % block, np.arange(n)]
    return Orthogonal(np.tril(R.T).T, _TriangularReflections(np.tril(vectors.T).T, tau))


def _is_triangle(x: Array) -> bool:
    if not arrays.is_numpy(x) or x.shape[0] != x.shape[1] or not x.size:
        return False
    # a dense matrix shows it in its first column; only a triangle is looked at as a whole
    return not x[1:, 0].any() and not np.tril(x, -1).any()


class _TriangularReflections(_Reflections):
    """The same for vectors [I; V] with an upper triangular V."""

    def _prepare(self) -> np.ndarray:
        V = self._vectors
        V[:, self._tau == 0] = 0
        (syrk,) = scipy.linalg.get_blas_funcs(("syrk",), (V,))
        inverse = np.asarray(syrk(1.0, V, trans=1))
        np.fill_diagonal(inverse, np.where(self._tau == 0, 1, (np.diagonal(inverse) + 1) / 2))
        return inverse

    def __call__(self, Y: np.ndarray) -> np.ndarray:
        if self._inverse is None:
            self._inverse = self._prepare()
        V, n = self._vectors, self._vectors.shape[1]
        trmm, trsm = scipy.linalg.get_blas_funcs(("trmm", "trsm"), (V,))
        active = np.asfortranarray(np.where(self._tau[:, None] == 0, 0, Y))
        inner = trsm(1.0, self._inverse, active, overwrite_b=1)
        product = np.empty((2 * n, Y.shape[1]), dtype=V.dtype, order="F")
        product[:n] = Y - inner
        product[n:] = trmm(-1.0, V, inner)
        return product
