"""The algorithm, on validated arrays: scale, reduce, factor the stack, split its orthogonal factor.

1. Leave out columns that are zero in both; scale A and B to like norms (`scaling`).
2. Few rows: work in their span. Many rows: replace each matrix by its triangular factor.
3. QR of the stack, with a rank-revealing step only where it is nearly singular (`ranks`).
4. The two halves of its orthogonal factor at once (`cosine_sine`).
5. Decide which directions A and B have; make those of one alone unique (`one_sided`).
6. Undo 2 and 1.

Small pairs take a shorter way to the same factors (`small`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan.decomposition import one_sided, small
from cospan.decomposition.cosine_sine import cosines_and_sines, reorthogonalized, row_norms
from cospan.decomposition.forms import completed
from cospan.decomposition.householder import explicit, over_triangle, qr, stacked_qr, times_triangle
from cospan.decomposition.pair import Tolerances, Wanted, default_tolerances
from cospan.decomposition.ranks import (
    above,
    full_rank,
    norm,
    rank_shown,
    smallest_singular_value,
    surely_regular,
    well_conditioned,
)
from cospan.decomposition.result import GSVD, Blocks
from cospan.decomposition.scaling import (
    keep_columns,
    living_columns,
    scaled,
    signed,
    unscaled,
    with_columns,
)


class _RankInDoubtError(Exception):
    """How many directions a set has does not show in the stack."""


class _Reduced(NamedTuple):
    """Rows replaced by fewer of them, and how to get back."""

    matrix: Array
    restore: Callable[[Array], Array]  # small left factor -> left factor of the original rows


def decompose(
    A: Array,
    B: Array,
    *,
    tol: float | None = None,
    compute_uv: bool = True,
    eps: float | None = None,
    tolerances: Tolerances | None = None,
    wanted: Wanted | None = None,
) -> GSVD:
    """`gsvd` on validated arrays of one dtype. `eps` is that of the data, if not the arrays'."""
    wanted = wanted or Wanted(compute_uv, compute_uv)
    if tolerances is None:
        tolerances = default_tolerances(A.shape, B.shape, arrays.eps(A) if eps is None else eps)
        if tol is not None:
            tolerances = Tolerances(tol, tol, tol)
    if A.shape[1] == 0 or A.shape[0] + B.shape[0] == 0:
        return _of_nothing(A, B, wanted)
    # Exactly zero columns, dead pixels say, have no part in any direction.
    alive = living_columns(A, B)
    A, exponent_a = scaled(keep_columns(A, alive), overwrite=wanted.overwrite_a)
    B, exponent_b = scaled(keep_columns(B, alive), overwrite=wanted.overwrite_b)
    exponents = exponent_a, exponent_b
    core = None if tolerances.separate else small.decompose(A, B, *tolerances[:3])
    if core is None:
        core = _in_steps(A, B, tolerances, wanted, exponents)
    return _restored(core, alive, exponents, wanted)


def _of_nothing(A: Array, B: Array, wanted: Wanted) -> GSVD:
    """The GSVD of a pair without rows or without columns: no directions."""
    none = arrays.real_zeros((0,), A)
    U, V = (
        arrays.identity(X.shape[0], X) if wanted.full else arrays.zeros((X.shape[0], 0), X)
        for X in (A, B)
    )
    H = arrays.zeros((0, A.shape[1]), A)
    return GSVD(none, none, H, U if wanted.u else None, V if wanted.v else None, Blocks(0, 0, 0))


def _in_steps(
    A: Array, B: Array, tolerances: Tolerances, wanted: Wanted, exponents: tuple[int, int]
) -> GSVD:
    """The GSVD of a scaled pair, by way of a smaller one."""
    if A.shape[0] + B.shape[0] <= A.shape[1] and not tolerances.separate:
        core = one_sided.of_independent_rows(A, B, tolerances.stack, frame=wanted.frame)
        if core is not None:
            return core
    # Few rows: the frame lives in their span, so work there.
    A, B, span = _into_row_space(A, B)
    # Many rows: each matrix may be replaced by its triangular factor.
    tall = A.shape[0] + B.shape[0] > 3 * A.shape[1]
    a = _reduced(A) if tall else _Reduced(A, _unchanged)
    b = _reduced(B) if tall else _Reduced(B, _unchanged)
    try:
        if tolerances.separate:
            core, a, b = _cut_separately(a, b, tolerances, wanted, exponents)
        else:
            core = _joint(a.matrix, b.matrix, tolerances, wanted)
    except _RankInDoubtError:  # singular values of A and B by themselves will tell
        a = _with_rows(a, *full_rank(a.matrix, tolerances.a))
        b = _with_rows(b, *full_rank(b.matrix, tolerances.b))
        core = _joint(a.matrix, b.matrix, tolerances, wanted, ranks_known=True)
    H = core.H
    if span is not None and wanted.frame:
        H = arrays.matmul(H, arrays.adjoint(span))
    U = None if core.U is None else a.restore(core.U)
    V = None if core.V is None else b.restore(core.V)
    return GSVD(core.c, core.s, H, U, V, core.blocks)


def _joint(
    A: Array, B: Array, tolerances: Tolerances, wanted: Wanted, *, ranks_known: bool = False
) -> GSVD:
    """The GSVD of a scaled and reduced pair.

    With `ranks_known` both have as many rows as their rank, and there is no doubt.
    """
    Q1, Q2, T, triangular = _orthogonal_stack(A, B, tolerances.stack)
    c, s, W, U, V = cosines_and_sines(Q1, Q2, wanted.u, wanted.v)
    flipped = arrays.adjoint(W)
    H = times_triangle(flipped, T) if triangular else arrays.matmul(flipped, T)
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
    return _in_blocks(GSVD(c, s, H, U, V, blocks), wanted.frame)


def _in_blocks(f: GSVD, frame: bool) -> GSVD:
    """Exact 0 and 1 outside the shared block, the rest of U and V cut off, and order in H."""
    (r, _, t), m = f.blocks, f.rank
    xp = arrays.namespace(f.c)
    ones, none = xp.ones_like(f.c), xp.zeros_like(f.c)
    c = xp.concat((ones[:r], f.c[r : m - t], none[m - t :]))
    s = xp.concat((none[:r], f.s[r : m - t], ones[m - t :]))
    U = None if f.U is None else f.U[:, : m - t]
    V = None if f.V is None else f.V[:, r:]
    U, V = reorthogonalized(U, V, c[: m - t], s[r:])
    H, U, V = one_sided.ordered(f.H, U, V, f.blocks) if frame else (f.H, U, V)
    return GSVD(c, s, H, U, V, f.blocks)


def _cut_separately(
    a: _Reduced, b: _Reduced, tolerances: Tolerances, wanted: Wanted, exponents: tuple[int, int]
) -> tuple[GSVD, _Reduced, _Reduced]:
    """A and B without what lies below their own tolerances, then the pair.

    The stack is judged with each matrix in units of its tolerance: every direction that A or B
    still has is longer than 1 there, so that the rank of the stack agrees with theirs.
    """
    xp = arrays.namespace(a.matrix)
    cut_a, cut_b = (
        _ldexp(absolute, -exponent)
        for absolute, exponent in zip(
            (tolerances.absolute_a, tolerances.absolute_b), exponents, strict=True
        )
    )
    a = _with_rows(a, *above(a.matrix, tolerances.a, cut_a))
    b = _with_rows(b, *above(b.matrix, tolerances.b, cut_b))
    floor = max(sum(a.matrix.shape), sum(b.matrix.shape)) * arrays.eps(a.matrix)
    # The first row is the longest: its length is the norm.
    unit_a = max(tolerances.a * norm(a.matrix[:1, :]) + cut_a, floor)
    unit_b = max(tolerances.b * norm(b.matrix[:1, :]) + cut_b, floor)
    stack = xp.concat((a.matrix / unit_a, b.matrix / unit_b), axis=0)
    _, values, right = arrays.svd(stack)
    rank_a, rank_b = a.matrix.shape[0], b.matrix.shape[0]
    m = int(xp.count_nonzero(values > 1))
    m = min(max(m, rank_a, rank_b), rank_a + rank_b, values.shape[0])
    basis = arrays.adjoint(right[:m, :])
    left, rest = arrays.matmul(a.matrix, basis), arrays.matmul(b.matrix, basis)
    core = _joint(left, rest, Tolerances(0.0, 0.0, 0.0), wanted, ranks_known=True)
    H = arrays.matmul(core.H, arrays.adjoint(basis))
    return GSVD(core.c, core.s, H, core.U, core.V, core.blocks), a, b


def _ldexp(x: float, exponent: int) -> float:
    try:
        return math.ldexp(x, exponent)
    except OverflowError:
        return math.inf


def _with_rows(a: _Reduced, basis: Array, matrix: Array) -> _Reduced:
    """As many rows as the rank, instead of more: then nothing is left to decide."""
    return _Reduced(matrix, lambda Y: a.restore(arrays.matmul(basis, Y)))


def _restored(core: GSVD, alive: Array | None, exponents: tuple[int, int], wanted: Wanted) -> GSVD:
    """The GSVD of the rows as they were given: all columns, their scale, signs."""
    if not wanted.frame:
        c, s, H = unscaled(core.c, core.s, 0 * core.H, core.blocks, *exponents)
        return GSVD(c, s, H, None, None, core.blocks)
    H, phases = signed(core.H)
    U, V, (r, k, _) = core.U, core.V, core.blocks
    U, V = U if wanted.u else None, V if wanted.v else None
    if U is not None:
        U = _times_columns(U, phases[: r + k])
        U = completed(U) if wanted.full else U
    if V is not None:
        V = _times_columns(V, phases[r:])
        V = completed(V) if wanted.full else V
    c, s, H = unscaled(core.c, core.s, H, core.blocks, *exponents)
    return GSVD(c, s, with_columns(H, alive), U, V, core.blocks)


def _times_columns(X: Array, factors: Array) -> Array:
    """X with its columns multiplied; NumPy's in place, as nobody else has it yet."""
    if arrays.is_numpy(X):
        X *= factors
        return X
    return X * factors[None, :]


def _unchanged(left: Array) -> Array:
    return left


def _into_row_space(A: Array, B: Array) -> tuple[Array, Array, Array | None]:
    """For p + q < d: both matrices in an orthonormal basis of their rows, and that basis."""
    p, q = A.shape[0], B.shape[0]
    if p + q >= A.shape[1]:
        return A, B, None
    xp = arrays.namespace(A, B)
    with arrays.one_thread(A):
        factor = qr(arrays.adjoint(xp.concat((A, B), axis=0)))
    coordinates = arrays.adjoint(factor.R)
    return coordinates[:p, :], coordinates[p:, :], explicit(factor)


def _reduced(X: Array) -> _Reduced:
    if X.shape[0] <= X.shape[1]:
        return _Reduced(X, _unchanged)
    with arrays.one_thread(X):
        factor = qr(X, overwrite=True)  # X is a scaled copy of the rows
    return _Reduced(factor.R, factor.apply)


def _orthogonal_stack(A: Array, B: Array, tol: float) -> tuple[Array, Array, Array, bool]:
    """[A; B] = [Q₁; Q₂] T with orthonormal columns in Q and full row rank in T.

    And whether T is a triangle.
    """
    p = A.shape[0]
    # Rounding errors of these two come back in the angles, magnified by the condition of H;
    # those of all later steps do not.
    with arrays.one_thread(B if p == 0 else A):
        factor = stacked_qr(A, B)
        T = factor.R
        smallest = smallest_singular_value(T) if T.shape[0] == T.shape[1] else 0.0
        triangular = smallest > 0 and surely_regular(T, tol, smallest)
        inner, T = (None, T) if triangular else full_rank(T, tol)
    triangles = A.shape == B.shape == T.shape  # whose orthogonal factor is cheap already
    if triangular and p and B.shape[0] and not triangles and well_conditioned(T, smallest):
        # As orthonormal as it has to be, at a third of the price.
        return over_triangle(A, T), over_triangle(B, T), T, triangular
    Q = explicit(factor) if inner is None else factor.apply(inner)
    return Q[:p, :], Q[p:, :], T, triangular
