"""Factorizations of matrices: LAPACK for NumPy, else a namespace's ``linalg``.

QR is LAPACK's compact-WY one (`geqrt`), which ran 1.4 to 1.8 times faster than `geqrf`; its
orthogonal factor is kept as an operator (`gemqrt`), so that R alone costs no more than R. An
accelerator multiplies matrices tens of times faster than it makes Householder vectors: outside
NumPy tall matrices are factored by Cholesky factors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.linalg

from cospan.base.arrays import adjoint, full_precision, identity, is_numpy, matmul, namespace
from cospan.base.tolerance import NEARLY_ORTHONORMAL, STILL
from cospan.base.types import AnyArray, Array, Floats

# Block sizes of the compact-WY QR, for R alone and with an orthogonal factor to apply: the time is
# flat between 32 and 64, and between 48 and 128, on the machines measured.
R_BLOCK, Q_BLOCK = 48, 96
# Columns of LAPACK's workspace for the orthogonal factor: its own block size is 32, or at most 64.
ORGQR_BLOCK = 64
# Sweeps of Jacobi's method: it converges quadratically; ten are many.
SWEEPS = 30

# ---- eigenvalues, singular values, Cholesky ------------------------------------------------------


def eigh(x: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Eigenvalues, rising, and eigenvectors of a symmetric or Hermitian matrix."""
    found: Any = None
    if not is_numpy(x):
        found = namespace(x).linalg.eigh(x)
    elif x.shape[0] == 0:
        found = np.zeros(0, x.real.dtype), x
    else:
        try:
            found = scipy.linalg.eigh(x, driver="evd", check_finite=False)
        except np.linalg.LinAlgError:  # divide and conquer gave up; plain QR iterations do not
            found = scipy.linalg.eigh(x, driver="ev", check_finite=False)
    return found[0], found[1]


def svd(x: Array) -> tuple[Array, Array, Array]:
    """Thin SVD: U, values falling, Vᴴ."""
    if not is_numpy(x):
        U, values, Vt = namespace(x).linalg.svd(x, full_matrices=False)
        return U, values, Vt
    if 0 in x.shape:
        return np.zeros((x.shape[0], 0), x.dtype), np.zeros(0, x.real.dtype), x[:0]
    thin = functools.partial(scipy.linalg.svd, x, full_matrices=False, check_finite=False)
    try:
        U, values, Vt = thin()
    except np.linalg.LinAlgError:  # seen for images of two digits: gesdd gives up, gesvd does not
        U, values, Vt = thin(lapack_driver="gesvd")
    return U, values, Vt


def cholesky(x: AnyArray) -> AnyArray:
    """Upper triangular R with RᵀR = x, for a symmetric positive definite x."""
    if is_numpy(x):
        return cast("AnyArray", scipy.linalg.cholesky(x, lower=False, check_finite=False))
    return cast("AnyArray", namespace(x).linalg.cholesky(x, upper=True))


def solve_triangular_transposed(R: AnyArray, b: AnyArray) -> AnyArray:
    """x with Rᵀ x = b, for an upper triangular R."""
    if is_numpy(R):
        return cast("AnyArray", scipy.linalg.solve_triangular(R, b, trans=1, check_finite=False))
    return cast("AnyArray", over_triangle(b.T, R).T)


def over_triangle(X: Array, T: Array) -> Array:
    """``X T⁻¹`` for an upper triangular T, solved row by row: stable, unlike the inverse."""
    if is_numpy(X, T):
        (trsm,) = scipy.linalg.get_blas_funcs(("trsm",), (T, X))
        return np.asarray(trsm(1.0, np.asfortranarray(T), X, side=1))
    xp = namespace(X)
    native = getattr(xp.linalg, "solve_triangular", None)
    if native is not None:
        return cast("Array", native(T, X, upper=True, left=False))
    # the plain transpose, for complex numbers too
    return cast("Array", xp.linalg.solve(T.T, X.T).T)


def inverse_triangle(R: AnyArray) -> AnyArray:
    """R⁻¹ of an upper triangular factor: ‖z R⁻¹‖² = zᵀ(RᵀR)⁻¹z."""
    if is_numpy(R) and R.size:
        (trtri,) = scipy.linalg.get_lapack_funcs(("trtri",), (R,))
        return cast("AnyArray", trtri(R)[0])
    return cast("AnyArray", over_triangle(identity(R.shape[0], R), R))


def joint_rotation(matrices: Floats) -> Floats:
    """Orthogonal T (m, m), so that TᵀGT is nearly diagonal for each of the `matrices` (K, m, m).

    By Jacobi's method: each plane (p, q) is turned by the angle that takes most off the entries
    (p, q) of all of them, planes that do not touch each other together.
    """
    G = matrices.copy()
    m = G.shape[1]
    T = np.eye(m)
    players = np.arange(m + m % 2)
    half = len(players) // 2
    for _ in range(SWEEPS):
        largest = 0.0
        for _ in range(len(players) - 1):
            p, q = players[:half], players[: half - 1 : -1]
            playing = (p < m) & (q < m)
            p, q = p[playing], q[playing]
            apart, off = G[:, p, p] - G[:, q, q], 2 * G[:, p, q]
            angle = np.arctan2(2 * (apart * off).sum(axis=0), (apart**2 - off**2).sum(axis=0)) / 4
            for M in (T, G, G.transpose(0, 2, 1)):  # the columns p and q, in place
                first, second = M[..., p], M[..., q]
                M[..., p] = np.cos(angle) * first + np.sin(angle) * second
                M[..., q] = np.cos(angle) * second - np.sin(angle) * first
            largest = max(largest, float(np.abs(angle).max(initial=0.0)))
            players = np.concatenate([players[:1], players[-1:], players[1:-1]])
        if largest < STILL:
            break
    return T


# ---- triangular factors --------------------------------------------------------------------------


def triangular_factor(x: AnyArray, *, overwrite: bool = False) -> AnyArray:
    """R of a thin QR of x, (min(rows, columns), columns)."""
    if not is_numpy(x):
        return cast("AnyArray", _thin_qr(x, want_q=False)[1])
    k = min(x.shape)
    if k == 0:
        return cast("AnyArray", np.zeros((0, x.shape[1]), dtype=x.dtype))
    rows = x
    if not x.flags.f_contiguous:
        rows, overwrite = np.asfortranarray(x), True
    (geqrt,) = scipy.linalg.get_lapack_funcs(("geqrt",), (rows,))
    packed, _, _ = geqrt(min(R_BLOCK, k), rows, overwrite_a=overwrite)
    return cast("AnyArray", np.asfortranarray(np.triu(packed[:k])))


# ---- QR with its orthogonal factor ---------------------------------------------------------------


class Orthogonal(NamedTuple):
    """The triangular factor of a thin QR, and the orthogonal one as an operator."""

    R: Array
    apply: Callable[[Any], Array]  # Y -> Q @ Y, arrays of the namespace of R


def qr(x: Array, *, overwrite: bool = False) -> Orthogonal:
    """Thin QR of x. With `overwrite` the Householder vectors may take the place of x."""
    if not is_numpy(x):
        Q, R = _thin_qr(x)
        return Orthogonal(R, lambda Y: matmul(Q, Y))
    m, n = x.shape
    k = min(m, n)
    if k == 0:
        return Orthogonal(np.zeros((k, n), x.dtype), lambda Y: np.zeros((m, Y.shape[1]), x.dtype))
    geqrt, gemqrt = scipy.linalg.get_lapack_funcs(("geqrt", "gemqrt"), (x,))
    # What is not in column order is copied on the way; that copy may always be overwritten.
    overwrite = overwrite or not x.flags.f_contiguous
    packed, blocks, _ = geqrt(min(Q_BLOCK, k), np.asfortranarray(x), overwrite_a=overwrite)

    def apply(Y: np.ndarray) -> np.ndarray:
        padded = np.zeros((m, Y.shape[1]), dtype=x.dtype, order="F")
        padded[:k] = Y
        return np.asarray(gemqrt(packed[:, :k], blocks, padded, overwrite_c=1)[0])

    # in column order, as whatever comes next wants it
    return Orthogonal(np.tril(packed[:k].T).T, apply)


def explicit(factor: Orthogonal) -> Array:
    """Q itself, (rows, k)."""
    return factor.apply(identity(factor.R.shape[0], factor.R))


def orthonormal_columns(x: Array) -> tuple[Array, Array]:
    """Q and R of a tall x. NumPy arrays in column-major order are overwritten: no second copy."""
    if not is_numpy(x):
        return _thin_qr(x)
    n = x.shape[1]
    if n == 0:
        return x, np.zeros((0, 0), x.dtype)
    geqrt, orgqr = scipy.linalg.get_lapack_funcs(("geqrt", "orgqr"), (x,))
    packed, blocks, _ = geqrt(min(R_BLOCK, n), x, overwrite_a=1)
    R, index = np.triu(packed[:n]), np.arange(n)
    # the scalars of the reflections are on the diagonals of the blocks
    scalars = blocks[index % len(blocks), index]
    Q, _, _ = orgqr(packed, scalars, lwork=ORGQR_BLOCK * n, overwrite_a=1)
    return Q, R


def complement(X: Array) -> Array:
    """Orthonormal columns orthogonal to those of X, as many as are missing."""
    n, k = X.shape
    if k == 0:
        return identity(n, X)
    whole: Array
    if is_numpy(X):
        whole = scipy.linalg.qr(X, check_finite=False)[0]
    else:
        whole = namespace(X).linalg.qr(X, mode="complete")[0]
    return whole[:, k:]


# ---- QR by Cholesky factors, outside NumPy -------------------------------------------------------


def _thin_qr(x: Array, *, want_q: bool = True) -> tuple[Array, Array]:
    """Q (where it is wanted) and R of an array outside NumPy.

    The Cholesky factor R of G = XᵀX gives Q = X R⁻¹, orthonormal up to eps·κ(X)²; a second pass
    repairs that. Where columns are too nearly dependent for it there are Householder vectors.
    """
    rows, columns = x.shape
    with full_precision(x):
        first = _cholesky(adjoint(x) @ x) if 0 < 2 * columns <= rows else None
        if first is not None:
            Q = over_triangle(x, first)
            G = adjoint(Q) @ Q
            off = namespace(x).abs(G - identity(columns, G))
            near = bool(namespace(x).sum(off**2) < NEARLY_ORTHONORMAL**2)
            last = _cholesky(G) if near else None
            if last is not None:
                return over_triangle(Q, last) if want_q else Q, last @ first
        Q, R = namespace(x).linalg.qr(x, mode="reduced")
    return Q, R


def _cholesky(G: Array) -> Array | None:
    """Upper triangular factor of G, or None where rounding has made G indefinite."""
    xp = namespace(G)
    try:
        R = xp.linalg.cholesky(G, upper=True)
    except (np.linalg.LinAlgError, RuntimeError):  # torch raises a RuntimeError of its own
        return None
    diagonal = xp.linalg.diagonal(R)
    return R if bool(xp.all(xp.isfinite(diagonal))) and bool(xp.all(diagonal != 0)) else None
