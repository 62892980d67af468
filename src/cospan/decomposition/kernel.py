"""The algorithm, on validated arrays: scale, reduce, factor the stack, split its orthogonal factor.

1. Leave out columns that are zero in both; scale A and B to like norms.
2. Many rows: replace each matrix by its triangular factor.
3. QR of the stack, with a rank-revealing step only where it is nearly singular (`cosine_sine`).
4. The two halves of its orthogonal factor at once (`cosine_sine`).
5. Decide which directions A and B have; make those of one alone unique.
6. Undo 2 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cospan.base import arrays, factorizations
from cospan.base.tolerance import SQUARES_ARE_SAFE
from cospan.base.types import Array, Bools
from cospan.decomposition.cosine_sine import (
    cosines_and_sines,
    full_rank,
    norm,
    other,
    phases,
    rank_shown,
    reorthogonalized,
    row_norms,
    smallest_singular_value,
    surely_regular,
    well_conditioned,
)
from cospan.decomposition.notation import GSVD, Blocks
from cospan.errors import InputError

# Exponents of scales that no product with a frame of norm about 1 can overflow, in any dtype.
_HARMLESS = 60


class Tolerances(NamedTuple):
    """Relative ones for the rank of the stack, of A and of B."""

    stack: float
    a: float
    b: float


class _RankInDoubtError(Exception):
    """How many directions a set has does not show in the stack."""


def decompose(A: Array, B: Array, tolerances: Tolerances, want_uv: bool) -> GSVD:
    """The GSVD of two arrays of one dtype."""
    if A.shape[1] == 0 or A.shape[0] + B.shape[0] == 0:
        none = arrays.real_zeros((0,), A)  # no rows or no columns: no directions
        U = arrays.zeros((A.shape[0], 0), A) if want_uv else None
        V = arrays.zeros((B.shape[0], 0), B) if want_uv else None
        return GSVD(none, none, arrays.zeros((0, A.shape[1]), A), U, V, Blocks(0, 0, 0))
    # Exactly zero columns, dead pixels say, have no part in any direction.
    xp = arrays.namespace(A, B)
    mask = arrays.to_numpy(xp.any(A != 0, axis=0) | xp.any(B != 0, axis=0))
    alive = None if mask.all() else mask
    if alive is not None:
        A, B = arrays.pick(A, alive, axis=1), arrays.pick(B, alive, axis=1)
    (A, exponent_a), (B, exponent_b) = _scaled(A), _scaled(B)
    core = _in_steps(A, B, tolerances, want_uv)
    return _restored(core, alive, (exponent_a, exponent_b))


# ---- a smaller pair ---------------------------------------------------------------------------


class _Reduced(NamedTuple):
    """Rows replaced by fewer of them, and how to get back."""

    matrix: Array
    restore: Callable[[Array], Array]  # small left factor -> left factor of the original rows


def _in_steps(A: Array, B: Array, tolerances: Tolerances, want_uv: bool) -> GSVD:
    """The GSVD of a scaled pair, by way of a smaller one."""
    tall = A.shape[0] + B.shape[0] > 3 * A.shape[1]
    a, b = (_reduced(X, tall) for X in (A, B))
    try:
        core = _joint(a.matrix, b.matrix, tolerances, want_uv)
    except _RankInDoubtError:  # singular values of A and B by themselves will tell
        a = _with_rows(a, *full_rank(a.matrix, tolerances.a))
        b = _with_rows(b, *full_rank(b.matrix, tolerances.b))
        core = _joint(a.matrix, b.matrix, tolerances, want_uv, ranks_known=True)
    U = None if core.U is None else a.restore(core.U)
    V = None if core.V is None else b.restore(core.V)
    return replace(core, U=U, V=V)


def _reduced(X: Array, tall: bool) -> _Reduced:
    if not tall or X.shape[0] <= X.shape[1]:
        return _Reduced(X, lambda left: left)
    with arrays.one_thread(X):
        factor = factorizations.qr(X, overwrite=True)  # X is a scaled copy of the rows
    return _Reduced(factor.R, factor.apply)


def _with_rows(a: _Reduced, basis: Array, matrix: Array) -> _Reduced:
    """As many rows as the rank, instead of more: then nothing is left to decide."""
    return _Reduced(matrix, lambda Y: a.restore(arrays.matmul(basis, Y)))


# ---- the pair ---------------------------------------------------------------------------------


def _joint(
    A: Array, B: Array, tolerances: Tolerances, want_uv: bool, *, ranks_known: bool = False
) -> GSVD:
    """The GSVD of a scaled and reduced pair; with `ranks_known` A and B have full row rank."""
    Q1, Q2, T = _orthogonal_stack(A, B, tolerances.stack)
    c, s, W, U, V = cosines_and_sines(Q1, Q2, want_uv)
    H = arrays.matmul(arrays.adjoint(W), T)
    m = H.shape[0]
    rank_a, rank_b = min(A.shape[0], m), min(B.shape[0], m)
    if not ranks_known:
        lengths = row_norms(H)
        shown = rank_shown(A, c * lengths, tolerances.a), rank_shown(B, s * lengths, tolerances.b)
        if shown[0] is None or shown[1] is None:
            raise _RankInDoubtError
        rank_a, rank_b = shown
    if rank_a + rank_b < m:  # a direction that neither has: the tolerances disagree
        raise _RankInDoubtError
    blocks = Blocks(m - rank_b, rank_a + rank_b - m, m - rank_a)
    return _in_blocks(GSVD(c, s, H, U, V, blocks))


def _orthogonal_stack(A: Array, B: Array, tol: float) -> tuple[Array, Array, Array]:
    """[A; B] = [Q₁; Q₂] T with orthonormal columns in Q and full row rank in T."""
    p = A.shape[0]
    # Rounding errors of these two come back in the angles, magnified by the condition of H;
    # those of all later steps do not.
    with arrays.one_thread(B if p == 0 else A):
        stack = arrays.namespace(A, B).concat((A, B), axis=0)
        factor = factorizations.qr(stack, overwrite=True)
        T = factor.R
        smallest = smallest_singular_value(T) if T.shape[0] == T.shape[1] else 0.0
        triangular = smallest > 0 and surely_regular(T, tol, smallest)
        inner, T = (None, T) if triangular else full_rank(T, tol)
    if triangular and p and B.shape[0] and well_conditioned(T, smallest):
        # As orthonormal as it has to be, at a third of the price.
        return factorizations.over_triangle(A, T), factorizations.over_triangle(B, T), T
    Q = factorizations.explicit(factor) if inner is None else factor.apply(inner)
    return Q[:p, :], Q[p:, :], T


def _in_blocks(f: GSVD) -> GSVD:
    """Exact 0 and 1 outside the shared block, the rest of U and V cut off, and order in H."""
    (r, _, t), m = f.blocks, sum(f.blocks)
    xp = arrays.namespace(f.c)
    ones, none = xp.ones_like(f.c), xp.zeros_like(f.c)
    c = xp.concat((ones[:r], f.c[r : m - t], none[m - t :]))
    s = xp.concat((none[:r], f.s[r : m - t], ones[m - t :]))
    U = None if f.U is None else f.U[:, : m - t]
    V = None if f.V is None else f.V[:, r:]
    U, V = reorthogonalized(U, V, c[: m - t], s[r:])
    return _ordered(GSVD(c, s, f.H, U, V, f.blocks))


def _ordered(f: GSVD) -> GSVD:
    """Both one-sided blocks of H, where any rotation will do, along their own principal axes."""
    (r, k, t), H, U, V = f.blocks, f.H, f.U, f.V
    xp = arrays.namespace(H)
    if r > 1:
        turn, lengths, axes = factorizations.svd(H[:r, :])
        H = xp.concat((lengths[:, None] * axes, H[r:, :]), axis=0)
        if U is not None:
            U = xp.concat((arrays.matmul(U[:, :r], turn), U[:, r:]), axis=1)
    if t > 1:
        turn, lengths, axes = factorizations.svd(H[r + k :, :])
        H = xp.concat((H[: r + k, :], lengths[:, None] * axes), axis=0)
        if V is not None:
            V = xp.concat((V[:, :k], arrays.matmul(V[:, k:], turn)), axis=1)
    return replace(f, H=H, U=U, V=V)


# ---- dead columns, signs and scales -----------------------------------------------------------


def _restored(core: GSVD, alive: Bools | None, exponents: tuple[int, int]) -> GSVD:
    """The GSVD of the rows as given: all columns, their scale, the largest entries of H above 0."""
    xp, (r, k, _) = arrays.namespace(core.H), core.blocks
    phase = arrays.zeros((0,), core.H)
    if core.H.shape[0]:
        largest = xp.argmax(xp.abs(core.H), axis=1)[:, None]
        phase = phases(xp.take_along_axis(core.H, largest, axis=1)[:, 0])
    U = None if core.U is None else core.U * phase[None, : r + k]
    V = None if core.V is None else core.V * phase[None, r:]
    turned = core.H * arrays.adjoint(phase[None, :])
    c, s, H = _unscaled(replace(core, H=turned), *exponents)
    if alive is not None:  # zero columns are put back
        place = np.where(alive, np.cumsum(alive) - 1, H.shape[1])
        padded = xp.concat((H, arrays.zeros((H.shape[0], 1), H)), axis=1)
        H = arrays.pick(padded, place, axis=1)
    return GSVD(c, s, H, U, V, core.blocks)


def _scaled(X: Array) -> tuple[Array, int]:
    """A copy of X over a power of two near its norm, which is exact, and the exponent of that."""
    length = norm(X)
    if 1 / SQUARES_ARE_SAFE < length < SQUARES_ARE_SAFE:  # no square was lost, then
        exponent = math.frexp(length)[1]
        return _quotient(X, exponent), exponent
    xp = arrays.namespace(X)
    largest = 0.0
    if math.prod(X.shape):
        parts = (xp.real(X), xp.imag(X)) if arrays.is_complex(X) else (X,)
        largest = max(float(xp.max(xp.abs(part))) for part in parts)
    if largest == 0:
        return _quotient(X, 0), 0
    # Kept inside the normal range of the dtype: neither the power nor its inverse overflows.
    limit = 1 - math.frexp(float(xp.finfo(X.dtype).smallest_normal))[1]
    first = min(max(math.frexp(largest)[1], -limit), limit)
    X = _quotient(X, first)
    second = math.frexp(norm(X))[1]
    return _quotient(X, second), first + second


def _quotient(X: Array, exponent: int) -> Array:
    """X over a power of two, as a copy; NumPy's in LAPACK's column order."""
    quotient = X / math.ldexp(1.0, exponent)
    return np.asfortranarray(quotient) if isinstance(quotient, np.ndarray) else quotient


def _unscaled(f: GSVD, a: int, b: int) -> tuple[Array, Array, Array]:
    """c, s and H of 2ᵃA and 2ᵇB: 2ᵃ U c H is U (2ᵃ c / h) (h H) with h that makes c² + s² = 1."""
    c, s, H, (r, k, _) = f.c, f.s, f.H, f.blocks
    xp = arrays.namespace(c)
    top = max(a, b)
    if a == b:  # nothing to weigh against each other
        (c, s), H = _in_order(c, s), _product(H, top)
    else:
        shared = slice(r, r + k)
        x, y, h = _rescaled(c[shared], s[shared], a - top, b - top)
        c = xp.concat((c[:r], x, c[r + k :]))
        s = xp.concat((s[:r], y, s[r + k :]))
        only_a, only_b = _product(H[:r, :], a), _product(H[r + k :, :], b)
        H = xp.concat((only_a, _product(H[shared, :] * h[:, None], top), only_b), axis=0)
    if top >= _HARMLESS and not bool(xp.all(xp.isfinite(H))):
        raise InputError(
            f"A and B have norms up to 2**{top}, beyond the range of {H.dtype}; "
            "divide both by a large number."
        )
    return c, s, H


def _rescaled(c: Array, s: Array, a: int, b: int) -> tuple[Array, Array, Array]:
    """2ᵃc and 2ᵇs over h, brought back to c² + s² = 1. (One of a and b is 0, the other below.)"""
    xp = arrays.namespace(c)
    x, y = math.ldexp(1.0, a) * c, math.ldexp(1.0, b) * s
    h = xp.hypot(x, y)
    x, y = x / h, y / h
    # The smaller one keeps its relative accuracy, the larger one follows from it.
    first = x > y
    x, y = xp.where(first, other(xp.where(first, y, 0 * y)), x), xp.where(first, y, other(x))
    return *_in_order(x, y), h


def _in_order(c: Array, s: Array) -> tuple[Array, Array]:
    """Rounding may have swapped neighbours by one unit: c falls and s rises, as promised."""
    xp = arrays.namespace(c, s)
    return xp.flip(xp.sort(c)), xp.sort(s)


def _product(X: Array, exponent: int) -> Array:
    """X times a power of two, which itself need not be a number of X's dtype."""
    if abs(exponent) < _HARMLESS:
        return X * math.ldexp(1.0, exponent)
    half = exponent // 2
    with np.errstate(over="ignore"):  # reported by `_unscaled`
        return (X * math.ldexp(1.0, half)) * math.ldexp(1.0, exponent - half)
