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

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import POLISH_BELOW, nearly_singular, rank_tolerance
from cospan._validate import as_rows, as_tol
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
        ``max(rows, d) * eps``.
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
    among themselves. The same input and number of threads give the same bits.

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
    A, B = _as_pair(A, B)
    return decompose(A, B, tol=as_tol(tol), compute_uv=compute_uv)


def gsvdvals(A: Any, B: Any, *, tol: float | None = None) -> tuple[Array, Array]:
    """The values c (falling) and s (rising) of the GSVD alone.

    Parameters as in :func:`gsvd`.

    Examples
    --------
    >>> from cospan import gsvdvals
    >>> c, s = gsvdvals([[3.0, 0.0]], [[4.0, 0.0]])
    >>> float(c[0]), float(s[0])
    (0.6, 0.8)
    """
    factors = gsvd(A, B, tol=tol, compute_uv=False)
    return factors.c, factors.s


def _as_pair(A: Any, B: Any) -> tuple[Array, Array]:
    A = as_rows(A, "A", allow_empty=True)
    B = as_rows(B, "B", allow_empty=True)
    if A.shape[1] != B.shape[1]:
        raise InputError(
            f"A has {A.shape[1]} columns and B has {B.shape[1]}; "
            "both need the same features in the same order."
        )
    if A.shape[0] + B.shape[0] == 0:
        raise InputError("A and B have no rows; at least one of them needs a row.")
    xp = arrays.namespace(A, B)
    dtype = xp.result_type(A, B)
    return xp.astype(A, dtype, copy=False), xp.astype(B, dtype, copy=False)


# ---- the algorithm ----------------------------------------------------------------------------


class _Reduced(NamedTuple):
    """Rows replaced by a triangular factor, and how to get back."""

    matrix: Array
    restore: Any  # small left factor -> left factor of the original rows


def decompose(
    A: Array, B: Array, *, tol: float | None, compute_uv: bool, eps: float | None = None
) -> GSVD:
    """`gsvd` on validated arrays of one dtype. `eps` is that of the data, if not the arrays'."""
    (p, d), q = A.shape, B.shape[0]
    eps = arrays.eps(A) if eps is None else eps
    tol_stack = rank_tolerance(p + q, d, eps) if tol is None else tol
    tol_a = rank_tolerance(p, d, eps) if tol is None else tol
    tol_b = rank_tolerance(q, d, eps) if tol is None else tol

    # Exactly zero columns, dead pixels say, have no part in any direction.
    alive = arrays.any_nonzero_columns(A, B)
    A, B = _keep_columns(A, alive), _keep_columns(B, alive)
    # Powers of two bring both to norm about 1, so that neither drowns in the other.
    A, scale_a = _scaled(A)
    B, scale_b = _scaled(B)
    # Few rows: the frame lives in their span, so work there.
    A, B, span = _into_row_space(A, B)
    # Many rows: each matrix may be replaced by its triangular factor.
    tall = p + q > 3 * A.shape[1]
    a = _reduced(A) if tall else _Reduced(A, _unchanged)
    b = _reduced(B) if tall else _Reduced(B, _unchanged)

    Q1, Q2, T = _orthogonal_stack(a.matrix, b.matrix, tol_stack)
    c, s, W, U, V = _cosine_sine(Q1, Q2, compute_uv)
    H = arrays.matmul(W.T, T)
    lengths = _row_norms(H)
    c, s, blocks = _split(
        c,
        s,
        without_a=c * lengths <= tol_a * _norm2(a.matrix, H, c * lengths),
        without_b=s * lengths <= tol_b * _norm2(b.matrix, H, s * lengths),
        ranks=(min(p, d), min(q, d)),
    )
    r, k, _ = blocks
    if U is not None and V is not None:
        U, V = U[:, : r + k], V[:, r:]
        U, V = _reorthogonalized(U, V, c[: r + k], s[r:])
        U, V = a.restore(U), b.restore(V)
    H = H if span is None else arrays.matmul(H, span.T)
    c, s, H = _unscaled(c, s, H, scale_a, scale_b)
    H = _with_columns(H, alive)
    return _signed(GSVD(c, s, H, U, V, blocks))


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


def _scaled(X: Array) -> tuple[Array, float]:
    """X divided by a power of two near its norm, and that power."""
    xp = arrays.namespace(X)
    largest = float(xp.max(xp.abs(X))) if math.prod(X.shape) else 0.0
    if largest == 0:
        return X, 1.0
    first = _power_of_two(largest)
    X = X / first  # so that squares neither overflow nor vanish
    second = _power_of_two(math.sqrt(float(xp.sum(X * X))))
    return X / second, first * second


def _power_of_two(x: float) -> float:
    # Kept inside the normal range: 1/x must not overflow, and neither must x for tiny norms.
    return math.ldexp(1.0, min(max(math.frexp(x)[1], -1000), 1000))


def _into_row_space(A: Array, B: Array) -> tuple[Array, Array, Array | None]:
    """For p + q < d: both matrices in an orthonormal basis of their rows, and that basis."""
    p, q = A.shape[0], B.shape[0]
    if p + q >= A.shape[1]:
        return A, B, None
    xp = arrays.namespace(A, B)
    factor = arrays.qr(xp.concat((A, B), axis=0).T)
    basis = factor.apply(arrays.identity(p + q, A))
    coordinates = factor.R.T
    return coordinates[:p, :], coordinates[p:, :], basis


def _reduced(X: Array) -> _Reduced:
    if X.shape[0] <= X.shape[1]:
        return _Reduced(X, _unchanged)
    factor = arrays.qr(X)
    return _Reduced(factor.R, factor.apply)


def _orthogonal_stack(A: Array, B: Array, tol: float) -> tuple[Array, Array, Array]:
    """[A; B] = [Q₁; Q₂] T with orthonormal columns in Q and full row rank in T."""
    xp = arrays.namespace(A, B)
    p = A.shape[0]
    factor = arrays.qr(xp.concat((A, B), axis=0))
    T = factor.R
    inner = arrays.identity(T.shape[0], T)
    square = T.shape[0] == T.shape[1]
    rcond = arrays.reciprocal_condition(T) if square else 0.0
    if nearly_singular(rcond, T.shape[0], arrays.eps(T)) or rcond <= tol:
        inner, T = _full_rank(T, tol)
    Q = factor.apply(inner)
    return Q[:p, :], Q[p:, :], T


def _full_rank(T: Array, tol: float) -> tuple[Array, Array]:
    """T as a matrix with orthonormal columns times one of full row rank."""
    for careful in (False, True):
        left, right, weights = arrays.rank_revealing(T, careful=careful)
        cut = tol * float(weights[0]) if weights.shape[0] else 0.0
        rank = int(arrays.namespace(T).count_nonzero(weights > cut))
        left, right = left[:, :rank], right[:rank, :]
        # Pivoted QR can overlook a near dependency (Kahan's matrix does it). Its R then has a
        # far smaller singular value than its diagonal shows, and the SVD has to decide.
        if careful or not arrays.is_numpy(T):
            break
        remaining = arrays.triangular_factor(arrays.triangular_factor(right.T).T)
        if arrays.reciprocal_condition(remaining) > tol / max(rank, 1):
            break
    return left, right


def _cosine_sine(
    Q1: Array, Q2: Array, compute_uv: bool
) -> tuple[Array, Array, Array, Array | None, Array | None]:
    """Q₁ = U diag(c) Wᵀ and Q₂ = V diag(s) Wᵀ, for [Q₁; Q₂] with orthonormal columns.

    The eigenvalues of Q₁ᵀQ₁ - Q₂ᵀQ₂ are cos 2θ. Where c or s is small they know it only to
    eps/c, so there the columns Q₁W (or Q₂W) are decomposed once more by themselves.
    """
    xp = arrays.namespace(Q1, Q2)
    values, W = arrays.eigh(arrays.gram(Q1) - arrays.gram(Q2))
    values, W = xp.flip(values), xp.flip(W, axis=1)
    m = values.shape[0]
    c = xp.sqrt(xp.clip((1 + values) / 2, 0.0, 1.0))
    s = xp.sqrt(xp.clip((1 - values) / 2, 0.0, 1.0))
    few_s = int(xp.count_nonzero(s < POLISH_BELOW))
    few_c = min(int(xp.count_nonzero(c < POLISH_BELOW)), m - few_s)
    # Rows of the eigenvector matrix are cut into: s small | middle | c small.
    s_end, turn_s, left_s = _polished(Q2, W[:, :few_s], compute_uv, rising=True)
    c_end, turn_c, left_c = _polished(Q1, W[:, m - few_c :], compute_uv, rising=False)
    middle = slice(few_s, m - few_c)
    c = xp.concat((_other(s_end), c[middle], c_end))
    s = xp.concat((s_end, s[middle], _other(c_end)))
    W = xp.concat((turn_s, W[:, middle], turn_c), axis=1)
    if not compute_uv:
        return c, s, W, None, None
    U = xp.concat((_normalized(Q1, W[:, : m - few_c]), left_c), axis=1)
    V = xp.concat((left_s, _normalized(Q2, W[:, few_s:])), axis=1)
    return c, s, W, U, V


def _other(x: Array) -> Array:
    """√(1 - x²) without cancellation."""
    return arrays.namespace(x).sqrt((1 - x) * (1 + x))


def _normalized(Q: Array, W: Array) -> Array:
    """Q W with its columns at length 1."""
    X = arrays.matmul(Q, W)
    return X / _row_norms(X.T)[None, :]


def _polished(Q: Array, W: Array, want_left: bool, *, rising: bool) -> tuple[Array, Array, Array]:
    """Singular values of Q W, W turned to its right singular vectors, left singular vectors."""
    xp = arrays.namespace(Q)
    n = W.shape[1]
    if n == 0:
        return arrays.zeros((0,), Q), W, Q[:, :0]
    factor = arrays.qr(arrays.matmul(Q, W))
    left, values, right = arrays.svd(factor.R)
    # The values belong to W's columns: fewer rows than columns leave the last ones at 0.
    missing = n - values.shape[0]
    if missing:
        right = _completed(right)
        values = xp.concat((values, arrays.zeros((missing,), Q)))
    values = xp.clip(values, 0.0, 1.0)
    turned = arrays.matmul(W, right.T)
    left = factor.apply(left) if want_left else Q[:, :0]
    if want_left and missing:
        left = xp.concat((left, arrays.zeros((Q.shape[0], missing), Q)), axis=1)
    if rising:
        values, turned, left = xp.flip(values), xp.flip(turned, axis=1), xp.flip(left, axis=1)
    return values, turned, left


def _completed(right: Array) -> Array:
    """A wide matrix with orthonormal rows, completed to a square orthogonal one."""
    xp = arrays.namespace(right)
    rows, n = right.shape
    _, vectors = arrays.eigh(arrays.identity(n, right) - arrays.gram(right))
    rest = vectors[:, rows:] if rows else arrays.identity(n, right)
    return xp.concat((right, rest.T), axis=0)


def _row_norms(X: Array) -> Array:
    xp = arrays.namespace(X)
    return xp.sqrt(xp.sum(X * X, axis=1))


def _norm2(A: Array, H: Array, strength: Array) -> float:
    """‖A‖₂ by a few power steps from A's strongest direction: within a few per cent."""
    if A.shape[0] == 0 or H.shape[0] == 0:
        return 0.0
    xp = arrays.namespace(A)
    vector = H[int(xp.argmax(strength)), :]
    norm = 0.0
    for _ in range(6):
        length = float(xp.sqrt(xp.sum(vector * vector)))
        if length == 0:
            return norm
        image = A @ (vector / length)
        norm = float(xp.sqrt(xp.sum(image * image)))
        vector = image @ A
    return norm


def _split(
    c: Array, s: Array, *, without_a: Array, without_b: Array, ranks: tuple[int, int]
) -> tuple[Array, Array, Blocks]:
    """Exact zeros and ones at both ends, and how many directions each block holds."""
    xp = arrays.namespace(c)
    m = c.shape[0]
    # A direction is somebody's: only the smaller of c and s can be the one that is missing.
    t = max(int(xp.count_nonzero(without_a & (c < s))), m - ranks[0])
    r = max(int(xp.count_nonzero(without_b & (s < c))), m - ranks[1])
    r = min(r, m - t)
    one, none = xp.ones_like(c), xp.zeros_like(c)
    c = xp.concat((one[:r], c[r : m - t], none[m - t :]))
    s = xp.concat((none[:r], s[r : m - t], one[m - t :]))
    return c, s, Blocks(r, m - r - t, t)


def _reorthogonalized(U: Array, V: Array, c: Array, s: Array) -> tuple[Array, Array]:
    """Orthonormal columns also where c or s is tiny, without moving c·u or s·v by more than eps.

    A column found from a block of size c is orthogonal to the others only to eps/c.
    """
    xp = arrays.namespace(U)
    few_c = int(xp.count_nonzero(c < POLISH_BELOW))
    few_s = int(xp.count_nonzero(s < POLISH_BELOW))
    keep = U.shape[1] - few_c
    U = xp.concat((U[:, :keep], _orthogonal_to(U[:, keep:], U[:, :keep])), axis=1)
    # In V the weak columns come first, weakest first; strong ones must lead in Gram-Schmidt.
    weak = _orthogonal_to(xp.flip(V[:, :few_s], axis=1), V[:, few_s:])
    V = xp.concat((xp.flip(weak, axis=1), V[:, few_s:]), axis=1)
    return U, V


def _orthogonal_to(X: Array, rest: Array) -> Array:
    """X made orthonormal and orthogonal to `rest`, changed as little as that takes."""
    if X.shape[1] == 0:
        return X
    xp = arrays.namespace(X)
    for _ in range(2):
        X = X - arrays.matmul(rest, arrays.matmul(rest.T, X))
        factor = arrays.qr(X)
        diagonal = xp.linalg.diagonal(factor.R)
        signs = xp.where(diagonal < 0, -xp.ones_like(diagonal), xp.ones_like(diagonal))
        X = factor.apply(arrays.identity(X.shape[1], X)) * signs[None, :]
    return X


def _unscaled(
    c: Array, s: Array, H: Array, scale_a: float, scale_b: float
) -> tuple[Array, Array, Array]:
    """Undo the scaling: A = scale_a · U c H is U (scale_a c / h) (h H) with h that makes 1."""
    xp = arrays.namespace(c)
    # Relative to the larger scale, so that nothing overflows on the way.
    top = max(scale_a, scale_b)
    x, y = (scale_a / top) * c, (scale_b / top) * s
    h = xp.hypot(x, y)
    c, s = x / h, y / h
    # The smaller one keeps its relative accuracy, the larger one follows from it.
    c, s = xp.where(c > s, _other(xp.clip(s, 0.0, 1.0)), c), xp.where(s >= c, _other(c), s)
    return c, s, (H * h[:, None]) * top


def _signed(factors: GSVD) -> GSVD:
    """The largest entry of each row of H positive; U and V follow."""
    xp = arrays.namespace(factors.H)
    H, U, V = factors.H, factors.U, factors.V
    if H.shape[0] == 0:
        return factors
    largest = xp.argmax(xp.abs(H), axis=1)
    picked = xp.take_along_axis(H, largest[:, None], axis=1)[:, 0]
    signs = xp.where(picked < 0, -xp.ones_like(picked), xp.ones_like(picked))
    r, k, _ = factors.blocks
    if U is not None and V is not None:
        U, V = U * signs[None, : r + k], V * signs[None, r:]
    return GSVD(factors.c, factors.s, H * signs[:, None], U, V, factors.blocks)
