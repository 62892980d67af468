"""The generalized singular value decomposition (GSVD) of a pair of matrices.

Rows are samples. For A (p, d) and B (q, d),

    A = U diag(c) H        B = V diag(s) H        c² + s² = 1

with one frame H for both. Symbols, and what others call them:

====================  =============  ==================  ===============  =================
here                  the paper      LAPACK ``ggsvd3``   MATLAB ``gsvd``  Julia ``svd(A,B)``
====================  =============  ==================  ===============  =================
``A`` (p, d)          Aᵀ             A (M, N)            A                A
``H`` (m, d)          Hᵀ             (0 R) Qᵀ            X'               R0 * Q'
``c`` falling         diagonal of C  ALPHA               diagonal of C    a
``s`` rising          diagonal of S  BETA                diagonal of S    b
``U`` (p, r+k)        Uᵀ, trimmed    U, first columns    U, trimmed       U, trimmed
``V`` (q, k+t)        Vᵀ, trimmed    V, trimmed          V, trimmed       V, trimmed
``blocks`` (r, k, t)  r, k, t        K, L and the zeros  (not given)      k, l
====================  =============  ==================  ===============  =================

(MATLAB orders the values the other way round: c rising.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import DOUBTFUL, rank_tolerance, surely_above
from cospan._validate import (
    as_flag,
    as_rows_with_eps,
    as_tol,
    check_names,
    check_same_library,
    feature_names_of,
)
from cospan.decomposition.cosine_sine import cosine_sine, other, reorthogonalized, row_norms
from cospan.decomposition.householder import qr, stacked_qr
from cospan.decomposition.ranks import full_rank, norm, norm2, smallest_singular_value
from cospan.errors import InputError

__all__ = ["GSVD", "Blocks", "gsvd", "gsvdvals"]


class Blocks(NamedTuple):
    """How many directions only A has (r), both share (k), and only B has (t)."""

    r: int
    k: int
    t: int


@dataclass(frozen=True, eq=False)
class GSVD:
    """The factors of a pair: ``A = U diag(c) H`` and ``B = V diag(s) H``.

    Attributes
    ----------
    c, s : array, (m,)
        Cosines, falling, and sines, rising, of the directions' angles. Exactly 1 and 0 in the
        first r, exactly 0 and 1 in the last t.
    H : array, (m, d)
        The joint frame: its rows are the directions, with full row rank.
    U : array (p, r + k) or None
        Orthonormal columns, for the directions that A has.
    V : array (q, k + t) or None
        Orthonormal columns, for the directions that B has.
    blocks : Blocks
        ``(r, k, t)``; their sum m is the rank of A and B stacked.
    """

    c: Array
    s: Array
    H: Array
    U: Array | None
    V: Array | None
    blocks: Blocks

    @property
    def angles(self) -> Array:
        """Each direction's angle in radians: 0 for A only, π/2 for B only."""
        return arrays.namespace(self.c).atan2(self.s, self.c)

    @property
    def rank(self) -> int:
        """Rank of A and B stacked: the number of directions."""
        return sum(self.blocks)

    def reconstruct(self) -> tuple[Array, Array]:
        """A and B multiplied out again."""
        if self.U is None or self.V is None:
            raise InputError(
                "This GSVD has no U and V to multiply; use gsvd(..., compute_uv=True)."
            )
        r, k, _ = self.blocks
        A = arrays.matmul(self.U, self.c[: r + k, None] * self.H[: r + k, :])
        B = arrays.matmul(self.V, self.s[r:, None] * self.H[r:, :])
        return A, B

    def __repr__(self) -> str:
        r, k, t = self.blocks
        return f"GSVD(rank={self.rank}, only A: {r}, shared: {k}, only B: {t})"


def gsvd(A: Any, B: Any, *, tol: float | None = None, compute_uv: bool = True) -> GSVD:
    """Generalized singular value decomposition of two matrices with the same columns.

    ::

                     r        k        t
        diag(c) = [  I                    ]      directions only A has:  c = 1, s = 0
                  [           C           ]      shared:        1 > c > 0, 0 < s < 1
                  [                    0  ]      directions only B has:  c = 0, s = 1

        diag(s) = [  0                    ]
                  [           S           ]      C² + S² = I,  C falling,  S rising
                  [                    I  ]

             A      =  U (p, r+k) [ I       ] H[:r+k]
           (p, d)                 [    C    ]

             B      =  V (q, k+t) [    S    ] H[r:]
           (q, d)                 [       I ]

    U and V carry no padding: A's factors leave out the last t directions, B's the first r.

    Parameters
    ----------
    A : array-like, (p, d)
    B : array-like, (q, d)
        Any p, q ≥ 0 (not both 0), any rank. float32 and float64 are kept, integers and float16
        raised. Not changed.
    tol : float, optional
        Relative tolerance for "zero": a direction counts as missing from A when its share of A,
        ``c‖h‖``, is at most ``tol * ‖A‖₂``, and likewise for B; the same `tol`, relative to the
        stacked matrix with A and B scaled to like norms, decides the rank. Default:
        ``max(rows, d) * eps``, with the eps of the dtype passed, the coarser one of two.
    compute_uv : bool
        False leaves out U and V, which saves up to half the time.

    Returns
    -------
    GSVD
        Frozen, with ``c, s, H, U, V, blocks`` and ``angles``, ``rank``, ``reconstruct()``.

    Notes
    -----
    Signs: in each row of H the entry of largest magnitude (the first one, if several) is
    positive; U and V follow. Directions with equal angles are determined only up to a rotation
    among themselves. The same input and number of threads give the same bits. Where A and B
    differ in scale by more than the dtype reaches, the smaller of c and s underflows to 0.

    The angles are accurate to about ``eps * κ(H)`` in radians, small ones as well as large. The
    stack is factored by QR, its orthogonal factor by a symmetric eigenproblem whose two ends are
    then recomputed from the block in which they are small.

    There is no NumPy or SciPy equivalent; for orthonormal stacked columns ``scipy.linalg.cossin``
    is the nearest relative.

    Examples
    --------
    >>> import numpy as np
    >>> from cospan import gsvd
    >>> A = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    >>> B = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    >>> f = gsvd(A, B)
    >>> f
    GSVD(rank=3, only A: 1, shared: 1, only B: 1)
    >>> np.rad2deg(f.angles).round(6)
    array([ 0., 45., 90.])
    >>> left, right = f.reconstruct()
    >>> bool(np.allclose(left, A) and np.allclose(right, B))
    True
    """
    A, B, eps = _as_pair(A, B)
    compute_uv = as_flag(compute_uv, "compute_uv")
    return decompose(A, B, tol=as_tol(tol), compute_uv=compute_uv, eps=eps)


def gsvdvals(A: Any, B: Any, *, tol: float | None = None) -> tuple[Array, Array]:
    """The values c (falling) and s (rising) of the GSVD alone.

    Parameters as in :func:`gsvd`.

    Examples
    --------
    >>> from cospan import gsvdvals
    >>> c, s = gsvdvals([[3.0, 0.0]], [[4.0, 0.0]])
    >>> round(float(c[0]), 12), round(float(s[0]), 12)
    (0.6, 0.8)
    """
    factors = gsvd(A, B, tol=tol, compute_uv=False)
    return factors.c, factors.s


def _as_pair(A: Any, B: Any) -> tuple[Array, Array, float]:
    """Both in one dtype, and the coarser eps of what they had."""
    for X, name in ((A, "A"), (B, "B")):
        if arrays.is_lazy(X):
            raise InputError(f"{name} is a Dask collection; compute() it first.")
    check_names(B, feature_names_of(A), "B", whose="A's")
    A, eps_a = as_rows_with_eps(A, "A", allow_empty=True)
    B, eps_b = as_rows_with_eps(B, "B", allow_empty=True)
    check_same_library(A, B)
    if A.shape[1] != B.shape[1]:
        raise InputError(
            f"A has {A.shape[1]} columns and B has {B.shape[1]}; "
            "both need the same features in the same order."
        )
    if A.shape[0] + B.shape[0] == 0:
        raise InputError("A and B have no rows; at least one of them needs a row.")
    xp = arrays.namespace(A, B)
    dtype = xp.result_type(A, B)
    A, B = xp.astype(A, dtype, copy=False), xp.astype(B, dtype, copy=False)
    return A, B, max(eps_a, eps_b)


# ---- the algorithm ----------------------------------------------------------------------------


class _RankInDoubtError(Exception):
    """How many directions a set has does not show in the stack."""


class _Tolerances(NamedTuple):
    """Relative ones: for the rank of the stack, of A and of B."""

    stack: float
    a: float
    b: float


class _Reduced(NamedTuple):
    """Rows replaced by fewer of them, and how to get back."""

    matrix: Array
    restore: Any  # small left factor -> left factor of the original rows


def decompose(
    A: Array, B: Array, *, tol: float | None, compute_uv: bool, eps: float | None = None
) -> GSVD:
    """`gsvd` on validated arrays of one dtype. `eps` is that of the data, if not the arrays'."""
    tolerances = _tolerances(A.shape, B.shape, arrays.eps(A) if eps is None else eps, tol)
    # Exactly zero columns, dead pixels say, have no part in any direction.
    alive = arrays.any_nonzero_columns(A, B)
    A, B = _keep_columns(A, alive), _keep_columns(B, alive)
    # Powers of two bring both to norm about 1, so that neither drowns in the other.
    A, exponent_a = _scaled(A)
    B, exponent_b = _scaled(B)
    # Few rows: the frame lives in their span, so work there.
    A, B, span = _into_row_space(A, B)
    # Many rows: each matrix may be replaced by its triangular factor.
    tall = A.shape[0] + B.shape[0] > 3 * A.shape[1]
    a = _reduced(A) if tall else _Reduced(A, _unchanged)
    b = _reduced(B) if tall else _Reduced(B, _unchanged)

    try:
        core = _joint(a.matrix, b.matrix, tolerances, compute_uv)
    except _RankInDoubtError:  # singular values of A and B by themselves will tell
        a, b = _with_full_row_rank(a, tolerances.a), _with_full_row_rank(b, tolerances.b)
        core = _joint(a.matrix, b.matrix, tolerances, compute_uv, ranks_known=True)
    return _restored(core, a, b, span, alive, (exponent_a, exponent_b))


def _tolerances(
    shape_a: tuple[int, ...], shape_b: tuple[int, ...], eps: float, tol: float | None
) -> _Tolerances:
    if tol is not None:
        return _Tolerances(tol, tol, tol)
    (p, d), q = shape_a, shape_b[0]
    return _Tolerances(
        rank_tolerance(p + q, d, eps), rank_tolerance(p, d, eps), rank_tolerance(q, d, eps)
    )


def _joint(
    A: Array, B: Array, tolerances: _Tolerances, compute_uv: bool, *, ranks_known: bool = False
) -> GSVD:
    """The GSVD of a scaled and reduced pair.

    With `ranks_known` both have as many rows as their rank, and there is no doubt.
    """
    Q1, Q2, T = _orthogonal_stack(A, B, tolerances.stack)
    c, s, W, U, V = cosine_sine(Q1, Q2, compute_uv)
    H = arrays.matmul(W.T, T)
    m, lengths = H.shape[0], row_norms(H)
    rank_a, rank_b = min(A.shape[0], m), min(B.shape[0], m)
    if not ranks_known:
        rank_a = _rank(A, c * lengths, tolerances.a)
        rank_b = _rank(B, s * lengths, tolerances.b)
    if rank_a + rank_b < m:  # a direction that neither has: the tolerances disagree
        raise _RankInDoubtError
    r, t = m - rank_b, m - rank_a
    ones, none = arrays.namespace(c).ones_like(c), arrays.zeros((m,), c)
    c = _joined(ones[:r], c[r : m - t], none[m - t :])
    s = _joined(none[:r], s[r : m - t], ones[m - t :])
    if U is not None and V is not None:
        U, V = reorthogonalized(U[:, : m - t], V[:, r:], c[: m - t], s[r:])
    return GSVD(c, s, H, U, V, Blocks(r, m - r - t, t))


def _rank(X: Array, strength: Array, tol: float) -> int:
    """The number of directions that X has.

    ``strength[j] = c_j‖h_j‖`` is the length of a combination of X's rows. A strength below the
    tolerance shows a missing direction. One that is a little above may be rounding in the
    stack: then the singular values of X have to decide, not this.
    """
    xp = arrays.namespace(X)
    norm = norm2(X)
    if norm == 0:
        return 0
    present = int(xp.count_nonzero(strength > tol * norm))
    certain = int(xp.count_nonzero(strength > DOUBTFUL * tol * norm))
    if present != certain:
        raise _RankInDoubtError
    return present


def _with_full_row_rank(a: _Reduced, tol: float) -> _Reduced:
    """As many rows as the rank, instead of more: then nothing is left to decide."""
    basis, matrix = full_rank(a.matrix, tol)
    return _Reduced(matrix, lambda Y: a.restore(arrays.matmul(basis, Y)))


def _restored(
    core: GSVD,
    a: _Reduced,
    b: _Reduced,
    span: Array | None,
    alive: Array,
    exponents: tuple[int, int],
) -> GSVD:
    """The GSVD of the rows as they were given: all columns, all rows, their scale, signs."""
    H = core.H if span is None else arrays.matmul(core.H, span.T)
    H, signs = _signed(H)
    U, V, (r, k, _) = core.U, core.V, core.blocks
    if U is not None and V is not None:
        U, V = a.restore(U * signs[None, : r + k]), b.restore(V * signs[None, r:])
    c, s, H = _unscaled(core, H, *exponents)
    return GSVD(c, s, _with_columns(H, alive), U, V, core.blocks)


def _joined(*parts: Array) -> Array:
    return arrays.namespace(*parts).concat(parts)


def _unchanged(left: Array) -> Array:
    return left


def _keep_columns(X: Array, alive: Array) -> Array:
    xp = arrays.namespace(X)
    if bool(xp.all(alive)):
        return X
    return arrays.columns(X, xp.nonzero(alive)[0])


def _with_columns(H: Array, alive: Array) -> Array:
    """H with zero columns put back where `alive` is false."""
    xp = arrays.namespace(H)
    if bool(xp.all(alive)):
        return H
    position = xp.cumulative_sum(xp.astype(alive, xp.int64)) - 1
    padded = xp.concat((H, arrays.zeros((H.shape[0], 1), H)), axis=1)
    return arrays.columns(padded, xp.where(alive, position, H.shape[1]))


def _scaled(X: Array) -> tuple[Array, int]:
    """A copy of X divided by a power of two near its norm, and the exponent of that power."""
    xp = arrays.namespace(X)
    largest = max(float(xp.max(X)), -float(xp.min(X))) if math.prod(X.shape) else 0.0
    if largest == 0:
        return _quotient(X, 0), 0
    first = 0
    if not 1e-15 < largest < 1e15:  # squares must neither overflow nor vanish, in float32 either
        # Kept inside the normal range of the dtype: neither the power nor its inverse overflows.
        limit = 1 - math.frexp(float(xp.finfo(X.dtype).smallest_normal))[1]
        first = min(max(math.frexp(largest)[1], -limit), limit)
        X = _quotient(X, first)
    second = math.frexp(norm(X))[1]
    return _quotient(X, second), first + second


def _quotient(X: Array, exponent: int) -> Array:
    """A copy of X over a power of two; NumPy's in LAPACK's column order."""
    divisor = math.ldexp(1.0, exponent)
    if not arrays.is_numpy(X):
        return X / divisor
    out = np.empty(X.shape, X.dtype, order="F")
    # A few rows at a time, which fit the cache: turning rows into columns is slow otherwise.
    for first in range(0, X.shape[0], 512):
        rows = slice(first, first + 512)
        np.divide(X[rows], X.dtype.type(divisor), out=out[rows])
    return out


def _product(X: Array, exponent: int) -> Array:
    """X times a power of two, which itself need not be a number of X's dtype."""
    half = exponent // 2
    with np.errstate(over="ignore"):  # told by `_unscaled`
        return (X * math.ldexp(1.0, half)) * math.ldexp(1.0, exponent - half)


def _into_row_space(A: Array, B: Array) -> tuple[Array, Array, Array | None]:
    """For p + q < d: both matrices in an orthonormal basis of their rows, and that basis."""
    p, q = A.shape[0], B.shape[0]
    if p + q >= A.shape[1]:
        return A, B, None
    xp = arrays.namespace(A, B)
    factor = qr(xp.concat((A, B), axis=0).T)
    basis = factor.apply(arrays.identity(p + q, A))
    coordinates = factor.R.T
    return coordinates[:p, :], coordinates[p:, :], basis


def _reduced(X: Array) -> _Reduced:
    if X.shape[0] <= X.shape[1]:
        return _Reduced(X, _unchanged)
    factor = qr(X, overwrite=True)  # X is a scaled copy of the rows
    return _Reduced(factor.R, factor.apply)


def _orthogonal_stack(A: Array, B: Array, tol: float) -> tuple[Array, Array, Array]:
    """[A; B] = [Q₁; Q₂] T with orthonormal columns in Q and full row rank in T."""
    p = A.shape[0]
    factor = stacked_qr(A, B)
    T = factor.R
    inner = arrays.identity(T.shape[0], T)
    square = T.shape[0] == T.shape[1]
    smallest = smallest_singular_value(T) if square else 0.0
    if not surely_above(smallest, tol * norm2(T)):
        inner, T = full_rank(T, tol)
    Q = factor.apply(inner)
    return Q[:p, :], Q[p:, :], T


def _unscaled(core: GSVD, H: Array, a: int, b: int) -> tuple[Array, Array, Array]:
    """Undo the scaling by 2ᵃ and 2ᵇ: 2ᵃ U c H is U (2ᵃ c / h) (h H) with h that makes 1.

    Directions of one set take that set's scale as it is. Where the scales of a shared one are
    further apart than the dtype reaches, the smaller of c and s comes out as 0.
    """
    xp = arrays.namespace(core.c)
    r, k, _ = core.blocks
    shared = slice(r, r + k)
    # Relative to the larger scale, so that nothing overflows on the way.
    top = max(a, b)
    x = math.ldexp(1.0, a - top) * core.c[shared]
    y = math.ldexp(1.0, b - top) * core.s[shared]
    h = xp.hypot(x, y)
    x, y = x / h, y / h
    # The smaller one keeps its relative accuracy, the larger one follows from it.
    x, y = xp.where(x > y, other(xp.clip(y, 0.0, 1.0)), x), xp.where(y >= x, other(x), y)
    # Rounding may have turned neighbours round by one unit: c falls and s rises, as promised.
    c = _joined(core.c[:r], xp.flip(xp.sort(x)), core.c[r + k :])
    s = _joined(core.s[:r], xp.sort(y), core.s[r + k :])
    only_a, only_b = _product(H[:r, :], a), _product(H[r + k :, :], b)
    H = _joined(only_a, _product(H[shared, :] * h[:, None], top), only_b)
    if not bool(xp.all(xp.isfinite(H))):
        raise InputError(
            f"A and B have norms up to 2**{top}, beyond the range of {H.dtype}; "
            "divide both by a large number."
        )
    return c, s, H


def _signed(H: Array) -> tuple[Array, Array]:
    """The largest entry of each row of H made positive, and the signs that did it."""
    xp = arrays.namespace(H)
    if H.shape[0] == 0:
        return H, arrays.zeros((0,), H)
    largest = xp.argmax(xp.abs(H), axis=1)
    picked = xp.take_along_axis(H, largest[:, None], axis=1)[:, 0]
    signs = xp.where(picked < 0, -xp.ones_like(picked), xp.ones_like(picked))
    return H * signs[:, None], signs
