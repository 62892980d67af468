"""QR with the orthogonal factor as an operator, fast where it multiplies few columns or many."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from cospan.base.arrays import cholesky_qr
from cospan.base.arrays.factors import thin_qr
from cospan.base.arrays.namespaces import identity, is_numpy, namespace
from cospan.base.arrays.products import matmul
from cospan.base.arrays.types import Array

# Block size of LAPACK's compact-WY QR: flat between 48 and 128 on the machines measured.
_BLOCK = 96


class Orthogonal(NamedTuple):
    """The triangular factor of a thin QR, and the orthogonal one as an operator."""

    R: Array
    apply: Callable[[Any], Array]  # Y -> Q @ Y, arrays of the namespace of R


def qr(x: Array, *, overwrite: bool = False) -> Orthogonal:
    """Thin QR of x. With `overwrite` the Householder vectors may take the place of x."""
    if not is_numpy(x):
        Q, R = thin_qr(x)
        return Orthogonal(R, lambda Y: matmul(Q, Y))
    m, n = x.shape
    k = min(m, n)
    if k == 0:
        return Orthogonal(np.zeros((k, n), x.dtype), lambda Y: np.zeros((m, Y.shape[1]), x.dtype))
    block = min(_BLOCK, k)
    (geqrt,) = scipy.linalg.get_lapack_funcs(("geqrt",), (x,))
    # What is not in column order is copied on the way; that copy may always be overwritten.
    overwrite = overwrite or not x.flags.f_contiguous
    packed, blocks, _ = geqrt(block, np.asfortranarray(x), overwrite_a=overwrite)
    R = np.tril(packed[:k].T).T  # in column order, as whatever comes next wants it
    return Orthogonal(R, _Reflections(packed[:, :k], _scalars(blocks)))


def stacked_qr(a: Array, b: Array) -> Orthogonal:
    """Thin QR of a above b. Two triangles, as come from large sets, take a third of the work."""
    if not (_is_triangle(a) and _is_triangle(b) and a.shape == b.shape):
        return qr(namespace(a, b).concat((a, b), axis=0), overwrite=True)
    n = a.shape[1]
    (tpqrt,) = scipy.linalg.get_lapack_funcs(("tpqrt",), (a, b))
    R, vectors, blocks, _ = tpqrt(n, min(_BLOCK, n), np.asfortranarray(a), np.asfortranarray(b))
    reflections = _TriangularReflections(np.tril(vectors.T).T, _scalars(blocks))
    return Orthogonal(np.tril(R.T).T, reflections)


def _scalars(blocks: np.ndarray) -> np.ndarray:
    """The scalars of the reflections: they are on the diagonals of the compact-WY blocks."""
    index = np.arange(blocks.shape[1])
    return np.asarray(blocks[index % len(blocks), index])


def _is_triangle(x: Array) -> bool:
    if not is_numpy(x) or x.shape[0] != x.shape[1] or not x.size:
        return False
    # a dense matrix shows it in its first column; only a triangle is looked at as a whole
    return not x[1:, 0].any() and not np.tril(x, -1).any()


def explicit(factor: Orthogonal) -> Array:
    """Q itself, (rows, k)."""
    if isinstance(factor.apply, _Reflections):
        return factor.apply.columns()
    return factor.apply(identity(factor.R.shape[0], factor.R))


def complement(X: Array) -> Array:
    """Orthonormal columns orthogonal to those of X, as many as are missing."""
    n, k = X.shape
    if k == 0:
        return identity(n, X)
    if is_numpy(X):
        whole: Array = scipy.linalg.qr(X, check_finite=False)[0]
        return whole[:, k:]
    return namespace(X).linalg.qr(X, mode="complete")[0][:, k:]


def times_triangle(X: Array, T: Array) -> Array:
    """``X T`` for an upper triangular T, at half the work of any other product."""
    if not is_numpy(X, T) or 0 in (*X.shape, *T.shape):
        return matmul(X, T)
    (trmm,) = scipy.linalg.get_blas_funcs(("trmm",), (T, X))
    return np.asarray(trmm(1.0, np.asfortranarray(T), X, side=1))


def over_triangle(X: Array, T: Array) -> Array:
    """``X T⁻¹`` for an upper triangular T, solved row by row."""
    if not is_numpy(X, T):
        return cholesky_qr.divided(X, T)
    (trsm,) = scipy.linalg.get_blas_funcs(("trsm",), (T, X))
    return np.asarray(trsm(1.0, np.asfortranarray(T), X, side=1))


class _Reflections:
    """Y -> Q Y for Q = (I - V T Vᴴ) [I; 0], with all reflections in one T.

    Vᴴ[Y; 0] needs the top of V only, so this is half the work of applying block after block
    (LAPACK's ``gemqrt``), and all of it in large products. T is not formed: its inverse is the
    upper triangle of VᴴV with the inverse scalars of the reflections as its diagonal; their real
    part is half that of VᴴV. Nothing is prepared before the first call, so that R alone costs no
    more than R.
    """

    def __init__(self, packed: np.ndarray, tau: np.ndarray) -> None:
        self._vectors, self._tau = packed, tau

    @functools.cached_property
    def _inverse(self) -> np.ndarray:
        """T⁻¹; and V, which shares its memory with R before, is completed."""
        V, k = self._vectors, self._vectors.shape[1]
        top = np.tril(V[:k], -1)
        np.fill_diagonal(top, 1)
        V[:k] = top
        return self._inverse_of(0)

    def _inverse_of(self, beyond: int) -> np.ndarray:
        """T⁻¹ of vectors whose squared lengths are by `beyond` larger than those of V's columns."""
        V, tau = self._vectors, self._tau
        idle = tau == 0  # columns that needed no reflection
        V[:, idle] = 0
        name = "herk" if V.dtype.kind == "c" else "syrk"
        (rank_k,) = scipy.linalg.get_blas_funcs((name,), (V,))
        inverse = np.asarray(rank_k(1.0, V, trans=self._adjoint))
        half = (np.diagonal(inverse) + beyond) / 2
        if V.dtype.kind == "c":
            half = half.real + 1j * (1 / np.where(idle, 1, tau)).imag
        np.fill_diagonal(inverse, np.where(idle, 1, half))
        return inverse

    @property
    def _adjoint(self) -> int:
        """BLAS's word for "transposed and conjugated"."""
        return 2 if self._vectors.dtype.kind == "c" else 1

    def __call__(self, Y: np.ndarray) -> np.ndarray:
        inverse = self._inverse
        V, k = self._vectors, self._vectors.shape[1]
        gemm, trmm, trsm = scipy.linalg.get_blas_funcs(("gemm", "trmm", "trsm"), (V,))
        inner = trmm(1.0, V[:k], Y, trans_a=self._adjoint, lower=1)
        inner = trsm(1.0, inverse, inner, overwrite_b=1)
        product = np.asarray(gemm(-1.0, V, inner))
        product[:k] += Y
        return product

    def columns(self) -> np.ndarray:
        """Q itself: for Y = I the inner matrix is a triangle, and a third of the work goes."""
        inverse = self._inverse
        V, k = self._vectors, self._vectors.shape[1]
        trmm, trsm = scipy.linalg.get_blas_funcs(("trmm", "trsm"), (V,))
        inner = trsm(1.0, inverse, np.array(V[:k].conj().T, order="F"), overwrite_b=1)
        product = np.asarray(trmm(-1.0, inner, V, side=1))
        product[np.arange(k), np.arange(k)] += 1
        return product


class _TriangularReflections(_Reflections):
    """The same for vectors [I; V] with an upper triangular V."""

    @functools.cached_property
    def _inverse(self) -> np.ndarray:
        return self._inverse_of(1)

    def __call__(self, Y: np.ndarray) -> np.ndarray:
        inverse = self._inverse
        V, n = self._vectors, self._vectors.shape[1]
        trmm, trsm = scipy.linalg.get_blas_funcs(("trmm", "trsm"), (V,))
        active = np.asfortranarray(np.where(self._tau[:, None] == 0, 0, Y))
        inner = trsm(1.0, inverse, active, overwrite_b=1)
        product = np.empty((2 * n, Y.shape[1]), dtype=V.dtype, order="F")
        product[:n] = Y - inner
        product[n:] = trmm(-1.0, V, inner)
        return product

    def columns(self) -> np.ndarray:
        return self(np.eye(self._vectors.shape[1], dtype=self._vectors.dtype, order="F"))
