"""Small pairs, in few calls: where a matrix fits into a page of memory, calls are the cost.

The general way without its detours: QR of the stack, the eigenproblem of its orthogonal factor's
halves, both ends polished, and U and V by QR, strong columns first. Whatever is not plain here
(no NumPy, a matrix without rows, a rank in doubt) is left to the general way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from cospan._arrays import Array, adjoint
from cospan._tolerance import DOUBTFUL, POLISH_BELOW, PRODUCTS_KEEP_DIGITS, surely_above
from cospan.decomposition import one_sided
from cospan.decomposition.cosine_sine import other
from cospan.decomposition.ranks import rank_shown
from cospan.decomposition.result import GSVD, Blocks

# Columns of the stack, and its entries, up to which this is the faster way.
_MOST_COLUMNS = 64
_MOST_ENTRIES = 12_000


class _NotPlainError(Exception):
    """Something that the general way has to deal with."""


@functools.cache
def _routines(dtype: np.dtype) -> tuple[Callable[..., Any], ...]:
    names = ("gesdd", "geqrf", "orgqr", "syevd", "trcon", "potrf", "pocon")
    if dtype.kind == "c":
        names = ("gesdd", "geqrf", "ungqr", "heevd", "trcon", "potrf", "pocon")
    return tuple(scipy.linalg.get_lapack_funcs(names, dtype=dtype))


@functools.cache
def _triangle(n: int, dtype: np.dtype) -> np.ndarray:
    return np.triu(np.ones((n, n), dtype))


def decompose(A: Array, B: Array, tol: float, tol_a: float, tol_b: float) -> GSVD | None:
    """The GSVD of a scaled pair, or None where the general way has to be taken."""
    if not (isinstance(A, np.ndarray) and isinstance(B, np.ndarray)):
        return None
    p, q, d = A.shape[0], B.shape[0], A.shape[1]
    n = min(p + q, d)
    if n > _MOST_COLUMNS or (p + q) * d > _MOST_ENTRIES or 0 in (p, q, d):
        return None
    try:
        if p + q <= d:
            return _independent(A, B, tol)
        _, geqrf, orgqr = _routines(A.dtype)[:3]
        packed, tau, _, _ = geqrf(np.concatenate((A, B)))
        T = packed[:d] * _triangle(d, A.dtype)
        if not _surely_regular(T, tol):
            return None
        Q, _, _ = orgqr(packed, tau, overwrite_a=1)
        return _split(A, B, Q, T, tol_a, tol_b)
    except _NotPlainError:
        return None


def _surely_regular(T: np.ndarray, tol: float) -> bool:
    """Is a triangle's smallest singular value above the tolerance, by a margin?"""
    gesdd, _, _, _, trcon = _routines(T.dtype)[:5]
    # LAPACK's estimate in 1-norms costs next to nothing; n times it bounds the one in 2-norms.
    inverse_condition, failed = trcon(T)
    if not failed and surely_above(inverse_condition, len(T) * tol):
        return True
    _, values, _, failed = gesdd(T, compute_uv=0)
    return not failed and surely_above(values[-1], tol * values[0])


def _independent(A: np.ndarray, B: np.ndarray, tol: float) -> GSVD | None:
    """As `one_sided.of_independent_rows`."""
    n, p = len(A) + len(B), len(A)
    stack = np.concatenate((A, B))
    axes = _axes_by_products(stack, p)
    if axes is None:
        packed = _routines(A.dtype)[1](adjoint(stack))[0]
        if not _surely_regular(packed[:n] * _triangle(n, A.dtype), tol):
            return None
        axes = _axes(A), _axes(B)
    (U, rows_a), (V, rows_b) = axes
    c = np.zeros(n, A.real.dtype)
    s = np.ones(n, A.real.dtype)
    c[:p], s[:p] = 1, 0
    return GSVD(c, s, np.concatenate((rows_a, rows_b)), U, V, Blocks(p, 0, n - p))


def _axes(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The left singular vectors, and the right ones times the singular values."""
    left, lengths, right, failed = _routines(X.dtype)[0](X, full_matrices=0)
    if failed:
        raise _NotPlainError
    return left, lengths[:, None] * right


def _axes_by_products(
    stack: np.ndarray, p: int
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None:
    """The same of the first p rows and of the others, by the products of rows with rows.

    Half as many operations, and eigenproblems are easier than singular values; but squares lose
    digits, so None where the rows are near dependent ones.
    """
    syevd, _, potrf, pocon = _routines(stack.dtype)[3:]
    products = stack @ adjoint(stack)
    factor, failed = potrf(products, clean=0)
    if failed:
        return None
    inverse_condition, failed = pocon(factor, np.abs(products).sum(axis=0).max())
    if failed or inverse_condition < PRODUCTS_KEEP_DIGITS:
        return None
    found = []
    for part in (slice(0, p), slice(p, None)):
        _, vectors, failed = syevd(products[part, part])
        if failed:
            return None
        left = np.asfortranarray(vectors[:, ::-1])  # the longest first
        found.append((left, adjoint(left) @ stack[part]))
    return found[0], found[1]


def _split(
    A: np.ndarray, B: np.ndarray, Q: np.ndarray, T: np.ndarray, tol_a: float, tol_b: float
) -> GSVD:
    """The GSVD of [A; B] = Q T with orthonormal columns in Q and a regular T."""
    p, m = len(A), len(T)
    Q1, Q2 = Q[:p], Q[p:]
    c, s, W = _cosine_sine(Q1, Q2)
    H = adjoint(W) @ T
    lengths = np.sqrt(np.einsum("ij,ij->i", H, H.conj()).real)
    rank_a, rank_b = _rank(A, c * lengths, tol_a), _rank(B, s * lengths, tol_b)
    if rank_a is None or rank_b is None or rank_a + rank_b < m:
        raise _NotPlainError
    r, t = m - rank_b, m - rank_a
    c[:r], s[:r], c[m - t :], s[m - t :] = 1, 0, 0, 1
    U = _orthonormal(Q1 @ W[:, : m - t])
    V = _orthonormal(Q2 @ W[:, : r - m - 1 : -1])[:, ::-1]
    blocks = Blocks(r, m - r - t, t)
    turned = one_sided.ordered(H, U, V, blocks) if r > 1 or t > 1 else (H, U, V)
    return GSVD(c, s, turned[0], turned[1], turned[2], blocks)


def _rank(X: np.ndarray, strength: np.ndarray, tol: float) -> int | None:
    """As `rank_shown`, for an X scaled to a norm below 1: mostly every direction is there."""
    if strength.min() > DOUBTFUL * tol and len(X) >= len(strength):
        return len(strength)
    return rank_shown(X, strength, tol)


def _cosine_sine(Q1: np.ndarray, Q2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """c, s and W as in `cosine_sine.cosines_and_sines`, without U and V."""
    double = 2 * (adjoint(Q1) @ Q1)
    double.flat[:: len(double) + 1] -= 1
    values, W, failed = _routines(Q1.dtype)[3](double, overwrite_a=1)
    if failed:
        raise _NotPlainError
    values, W = values[::-1], W[:, ::-1]
    values = np.minimum(np.maximum(values, -1), 1)
    c, s, m = np.sqrt((1 + values) / 2), np.sqrt((1 - values) / 2), len(values)
    few_s = int(np.count_nonzero(s < POLISH_BELOW))
    few_c = int(np.count_nonzero(c < POLISH_BELOW))
    if few_s or few_c:
        W = W.copy()
    if few_s:
        sines, right = _polished(Q2 @ W[:, :few_s])
        s[:few_s] = sines[::-1]
        c[:few_s], W[:, :few_s] = other(s[:few_s]), W[:, :few_s] @ adjoint(right[::-1])
    if few_c:
        c[m - few_c :], right = _polished(Q1 @ W[:, m - few_c :])
        s[m - few_c :] = other(c[m - few_c :])
        W[:, m - few_c :] = W[:, m - few_c :] @ adjoint(right)
    return c, s, W


def _polished(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As many singular values as x has columns, and its right singular vectors."""
    n = x.shape[1]
    _, values, right, failed = _routines(x.dtype)[0](x, full_matrices=len(x) < n)
    if failed:
        raise _NotPlainError
    found = np.zeros(n, values.dtype)
    found[: len(values)] = np.minimum(values, 1)
    return found, right


def _orthonormal(x: np.ndarray) -> np.ndarray:
    """Columns that are orthogonal already, up to rounding over their length, made orthonormal."""
    if not x.shape[1]:
        return x
    _, geqrf, orgqr = _routines(x.dtype)[:3]
    packed, tau, _, _ = geqrf(x)
    diagonal = np.diagonal(packed).copy()
    if x.dtype.kind == "f":
        phases = np.copysign(x.dtype.type(1), diagonal)
    else:
        size = np.abs(diagonal)
        phases = np.where(size == 0, 1, diagonal / np.where(size == 0, 1, size))
    Q, _, _ = orgqr(packed, tau, overwrite_a=1)
    Q *= phases
    return np.asarray(Q)
