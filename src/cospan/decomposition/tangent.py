"""Drmač's tangent algorithm (1998): every tangent to nearly full relative accuracy.

The general way knows a tangent to eps, absolutely. Where columns are in units of their own, or
graded for another reason, tangents of 1e-12 may be well determined relative to themselves, and
this way finds them: for a B of full column rank,

    D                     the lengths of A's columns
    B D⁻¹ P = V₀ R        QR with column pivoting
    F = A D⁻¹ P R⁻¹       one triangular solve
    F = U diag(σ) Wᵀ      by one-sided Jacobi (LAPACK's ``gejsv``)

and σ = c/s. The error of each σ is relative and follows the condition numbers of A and B with
their columns scaled to length 1, whatever D is.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import rank_tolerance
from cospan.decomposition import one_sided
from cospan.decomposition.forms import complement, completed
from cospan.decomposition.pair import Wanted
from cospan.decomposition.ranks import smallest_singular_value
from cospan.decomposition.result import GSVD, Blocks
from cospan.decomposition.scaling import keep_columns, living_columns, signed, with_columns
from cospan.errors import InputError


def decompose(A: Array, B: Array, wanted: Wanted) -> GSVD:
    """The GSVD of real NumPy matrices, with no direction that only A has."""
    _check(A, B)
    alive = living_columns(A, B)
    A, B = keep_columns(A, alive), keep_columns(B, alive)
    d = A.shape[1]
    scale = _column_scale(np.asarray(A), np.asarray(B))
    V0, R, pivots = scipy.linalg.qr(B * scale, mode="economic", pivoting=True, check_finite=False)
    if not _regular(R, B.shape[0]):
        raise InputError(
            "method='tangent' needs a B of full column rank; swap A and B, or use method='stack'."
        )
    F = scipy.linalg.solve_triangular(R, (A * scale)[:, pivots].T, trans=1, check_finite=False).T
    U, values, W = _jacobi(F)
    h = np.hypot(values, 1)
    rank = int(np.count_nonzero(values))
    blocks = Blocks(0, rank, d - rank)
    H = np.empty_like(R)
    H[:, pivots] = h[:, None] * (W.T @ R)
    H, left, right = one_sided.ordered(H / scale, U[:, :rank], V0 @ W, blocks)
    H, signs = signed(H)
    left, right = left * signs[:rank], right * signs
    if wanted.full:
        left, right = completed(left), completed(right)
    left, right = left if wanted.u else None, right if wanted.v else None
    return GSVD(values / h, 1 / h, with_columns(H, alive), left, right, blocks)


def _check(A: Array, B: Array) -> None:
    if not arrays.is_numpy(A, B) or arrays.is_complex(A):
        raise InputError(
            "method='tangent' is for real NumPy arrays, as LAPACK's Jacobi SVD is; "
            "use method='stack'."
        )
    if not A.shape[0]:
        raise InputError("method='tangent' needs an A with rows; use method='stack'.")


def _column_scale(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Powers of two, by which scaling is exact, that bring A's columns to entries near 1.

    Where A has none, B's.
    """
    largest = np.abs(A).max(axis=0, initial=0.0)
    largest = np.where(largest == 0, np.abs(B).max(axis=0, initial=0.0), largest)
    return np.asarray(np.ldexp(A.dtype.type(1), -np.frexp(largest)[1]))


def _regular(R: np.ndarray, rows: int) -> bool:
    """Are the columns of B, scaled to length 1, independent?"""
    if R.shape[0] < R.shape[1]:
        return False
    lengths = np.sqrt((R * R).sum(axis=0))
    if not lengths.all():
        return False
    tol = rank_tolerance(rows, R.shape[1], arrays.eps(R))
    return smallest_singular_value(R / lengths) > tol


def _jacobi(F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, values falling and square W with F = U diag(values) Wᵀ, small values right as well."""
    p, d = F.shape
    if p < d:  # gejsv is for tall matrices: an LQ decomposition with row pivoting comes first
        U, values, short = _jacobi_tall(F.T)
        W = np.hstack([U, complement(U)])
        return short, np.concatenate([values, np.zeros(d - p, F.dtype)]), W
    return _jacobi_tall(F)


def _jacobi_tall(F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    (gejsv,) = scipy.linalg.get_lapack_funcs(("gejsv",), (F,))
    # joba 2 is LAPACK's 'F', jobr 0 its 'N': no value is too small to count.
    values, U, W, work, _, failed = gejsv(np.asfortranarray(F), joba=2, jobu=0, jobv=0, jobr=0)
    if failed:
        raise InputError("LAPACK's Jacobi SVD did not converge; use method='stack'.")
    return U[:, : F.shape[1]], values * (work[0] / work[1]), W
