"""QR with the orthogonal factor as an operator, fast where it multiplies few columns or many."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from cospan import _arrays as arrays
from cospan._arrays import Array, Orthogonal, cholesky_qr

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
    # The scalars of the reflections are on the diagonals of the compact-WY blocks.
    tau = blocks[np.arange(k) % block, np.arange(k)]
    R = np.tril(packed[:k].T).T  # in column order, as whatever comes next wants it
    return Orthogonal(R, _Reflections(packed[:, :k], tau))


def explicit(factor: Orthogonal) -> Array:
    """Q itself, (rows, k)."""
    if isinstance(factor.apply, _Reflections):
        return factor.apply.columns()
    return factor.apply(arrays.identity(factor.R.shape[0], factor.R))


def times_triangle(X: Array, T: Array) -> Array:
    """``X T`` for an upper triangular T, at half the work of any other product."""
    if not arrays.is_numpy(X, T) or 0 in (*X.shape, *T.shape):
        return arrays.matmul(X, T)
    (trmm,) = scipy.linalg.get_blas_funcs(("trmm",), (T, X))
    return np.asarray(trmm(1.0, np.asfortranarray(T), X, side=1))


def over_triangle(X: Array, T: Array) -> Array:
    """``X T⁻¹`` for an upper triangular T, solved row by row."""
    if not arrays.is_numpy(X, T):
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
        self._inverse: np.ndarray | None = None

    def _prepare(self) -> np.ndarray:
        V, k = self._vectors, self._vectors.shape[1]
        top = np.tril(V[:k], -1)
        np.fill_diagonal(top, 1)
        V[:k] = top
        idle = self._tau == 0  # columns that needed no reflection
        V[:, idle] = 0
        inverse = _upper_gram(V)
        np.fill_diagonal(inverse, _inverse_scalars(np.diagonal(inverse), self._tau))
        return inverse

    def _prepared(self) -> np.ndarray:
        if self._inverse is None:
            self._inverse = self._prepare()
        return self._inverse

    def __call__(self, Y: np.ndarray) -> np.ndarray:
        inverse = self._prepared()
        V, k = self._vectors, self._vectors.shape[1]
        gemm, trmm, trsm = scipy.linalg.get_blas_funcs(("gemm", "trmm", "trsm"), (V,))
        inner = trmm(1.0, V[:k], Y, trans_a=_adjoint_flag(V), lower=1)
        inner = trsm(1.0, inverse, inner, overwrite_b=1)
        product = np.asarray(gemm(-1.0, V, inner))
        product[:k] += Y
        return product

    def columns(self) -> np.ndarray:
        """Q itself: for Y = I the inner matrix is a triangle, and a third of the work goes."""
        inverse = self._prepared()
        V, k = self._vectors, self._vectors.shape[1]
        trmm, trsm = scipy.linalg.get_blas_funcs(("trmm", "trsm"), (V,))
        inner = trsm(1.0, inverse, np.array(V[:k].conj().T, order="F"), overwrite_b=1)
        product = np.asarray(trmm(-1.0, inner, V, side=1))
        product[np.arange(k), np.arange(k)] += 1
        return product


def _adjoint_flag(V: np.ndarray) -> int:
    return 2 if V.dtype.kind == "c" else 1


def _upper_gram(V: np.ndarray) -> np.ndarray:
    """The upper triangle of VᴴV."""
    name = "herk" if V.dtype.kind == "c" else "syrk"
    (rank_k,) = scipy.linalg.get_blas_funcs((name,), (V,))
    return np.asarray(rank_k(1.0, V, trans=_adjoint_flag(V)))


def _inverse_scalars(squares: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """1/τ, whose real part is half of |v|² (and more exactly so), and 1 where τ is 0."""
    idle = tau == 0
    half = squares / 2
    if tau.dtype.kind == "c":
        half = half.real + 1j * (1 / np.where(idle, 1, tau)).imag
    return np.where(idle, 1, half)


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
        inverse = _upper_gram(V)
        np.fill_diagonal(inverse, _inverse_scalars(np.diagonal(inverse) + 1, self._tau))
        return inverse

    def __call__(self, Y: np.ndarray) -> np.ndarray:
        inverse = self._prepared()
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
