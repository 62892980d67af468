"""What a GSVD is made of: the CS decomposition, and the decisions about rank.

For ``[Q₁; Q₂]`` with orthonormal columns there is one unitary W with

    Q₁ = U diag(c) Wᴴ        Q₂ = V diag(s) Wᴴ        c² + s² = 1

(the CS decomposition). It comes from a symmetric eigenproblem, with both ends polished.

The rank of a matrix is the number of its singular values above a tolerance times the largest.
Everything here that is faster than computing them is used only where it proves the same answer.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from cospan.base import arrays, factorizations
from cospan.base.tolerance import (
    DOUBTFUL,
    POLISH_BELOW,
    WELL_CONDITIONED,
    rank_tolerance,
    surely_above,
)
from cospan.base.types import Array

# Power steps for the largest singular value: within a few per cent, which is all that is asked.
POWER_STEPS = 8
# Vectors, and steps with each, of the inverse iteration for the smallest: that all of them miss the
# direction sought is out of the question.
INVERSE_VECTORS, INVERSE_STEPS = 4, 5

Parts = tuple[Array, Array, Array, Array | None, Array | None]  # c, s, W, U and V


def cosines_and_sines(Q1: Array, Q2: Array, want_uv: bool) -> Parts:
    """The decomposition above; U and V are None where they are not wanted.

    The eigenvalues of Q₁ᴴQ₁ - Q₂ᴴQ₂ are cos 2θ. Where c or s is small they know it only to
    eps/c, so there the columns Q₁W (or Q₂W) are decomposed once more by themselves.
    """
    xp = arrays.namespace(Q1, Q2)
    # Q₁ᴴQ₁ + Q₂ᴴQ₂ = I, so that one of the two products is enough: the cheaper one.
    identity = arrays.identity(Q1.shape[1], Q1)
    if Q1.shape[0] <= Q2.shape[0]:
        values, W = factorizations.eigh(2 * arrays.gram(Q1) - identity)
    else:
        values, W = factorizations.eigh(identity - 2 * arrays.gram(Q2))
    values, W = xp.flip(values), xp.flip(W, axis=1)
    m = values.shape[0]
    c = xp.sqrt(xp.clip((1 + values) / 2, 0.0, 1.0))
    s = xp.sqrt(xp.clip((1 - values) / 2, 0.0, 1.0))
    few_s = int(xp.count_nonzero(s < POLISH_BELOW))
    few_c = min(int(xp.count_nonzero(c < POLISH_BELOW)), m - few_s)
    # Columns of the eigenvector matrix are cut into: s small | middle | c small.
    s_end, turn_s, left_s = _polished(Q2, W[:, :few_s], want_uv, rising=True)
    c_end, turn_c, left_c = _polished(Q1, W[:, m - few_c :], want_uv, rising=False)
    middle = slice(few_s, m - few_c)
    c, s = c[middle], s[middle]
    W = xp.concat((turn_s, W[:, middle], turn_c), axis=1)
    U = V = None
    if want_uv:
        U, lengths = _normalized(Q1, W[:, : m - few_c])
        c = lengths[few_s:]  # the length of Q₁w knows c better than the eigenvalue does
        U = xp.concat((U, left_c), axis=1)
        V, lengths = _normalized(Q2, W[:, few_s:])
        s = lengths[: m - few_c - few_s]
        V = xp.concat((left_s, V), axis=1)
    # c² + s² = 1 to rounding: what c and s have too much or too little in common goes.
    h = xp.hypot(c, s)
    c, s = c / h, s / h
    c = xp.concat((other(s_end), c, c_end))
    s = xp.concat((s_end, s, other(c_end)))
    return c, s, W, U, V


def _normalized(Q: Array, W: Array) -> tuple[Array, Array]:
    """Q W with its columns at length 1, and the lengths they had."""
    X = arrays.matmul(Q, W)
    lengths = row_norms(X.T)
    X /= lengths[None, :]
    return X, lengths


def _polished(Q: Array, W: Array, want_left: bool, *, rising: bool) -> tuple[Array, Array, Array]:
    """Singular values of Q W, W turned to its right singular vectors, left singular vectors."""
    xp = arrays.namespace(Q)
    n = W.shape[1]
    if n == 0:
        return arrays.real_zeros((0,), Q), W, Q[:, :0]
    factor = factorizations.qr(arrays.matmul(Q, W))
    left, values, right = factorizations.svd(factor.R)
    # The values belong to W's columns: fewer rows than columns leave the last ones at 0.
    missing = n - values.shape[0]
    if missing:
        right = _completed(right)
        values = xp.concat((values, arrays.real_zeros((missing,), Q)))
    # A length is second order in the error of its vector; a small one drowns in the rounding of R.
    lengths = row_norms(arrays.matmul(factor.R, arrays.adjoint(right)).T)
    values = xp.where(values > values[0] / 2, lengths, values)
    values = xp.clip(values, 0.0, 1.0)
    turned = arrays.matmul(W, arrays.adjoint(right))
    left = factor.apply(left) if want_left else Q[:, :0]
    if want_left and missing:
        left = xp.concat((left, arrays.zeros((Q.shape[0], missing), Q)), axis=1)
    if rising:
        values, turned, left = xp.flip(values), xp.flip(turned, axis=1), xp.flip(left, axis=1)
    return values, turned, left


def _completed(right: Array) -> Array:
    """A wide matrix with orthonormal rows, completed to a square unitary one."""
    xp = arrays.namespace(right)
    rows, n = right.shape
    _, vectors = factorizations.eigh(arrays.identity(n, right) - arrays.gram(right))
    rest = vectors[:, rows:] if rows else arrays.identity(n, right)
    return xp.concat((right, arrays.adjoint(rest)), axis=0)


def reorthogonalized(
    U: Array | None, V: Array | None, c: Array, s: Array
) -> tuple[Array | None, Array | None]:
    """Orthonormal columns also where c or s is tiny: there they came out so only to eps/c."""
    xp = arrays.namespace(c)
    if U is not None:
        keep = U.shape[1] - int(xp.count_nonzero(c < POLISH_BELOW))
        weak = _orthogonal_to(U[:, keep:], U[:, :keep], c[keep:])
        U = xp.concat((U[:, :keep], weak), axis=1)
    if V is not None:
        few = int(xp.count_nonzero(s < POLISH_BELOW))
        # In V the weak columns come first, weakest first; strong ones must lead in Gram-Schmidt.
        weak = _orthogonal_to(xp.flip(V[:, :few], axis=1), V[:, few:], xp.flip(s[:few]))
        V = xp.concat((xp.flip(weak, axis=1), V[:, few:]), axis=1)
    return U, V


def _orthogonal_to(X: Array, rest: Array, size: Array) -> Array:
    """X made orthonormal and orthogonal to `rest`, changed as little as that takes."""
    if X.shape[1] == 0:
        return X
    X = _less_its_part_in(X, rest)
    # X was orthonormal in itself. Taking off parts of size eps/c changes that by their square.
    if float(size[-1]) > math.sqrt(arrays.eps(X)):
        return X
    return _orthonormalized(_less_its_part_in(_orthonormalized(X), rest))


def _less_its_part_in(X: Array, rest: Array) -> Array:
    return X - arrays.matmul(rest, arrays.matmul(arrays.adjoint(rest), X))


def _orthonormalized(X: Array) -> Array:
    """Gram-Schmidt on the columns of X, done by a QR whose R has a positive diagonal."""
    factor = factorizations.qr(X)
    diagonal = arrays.namespace(X).linalg.diagonal(factor.R)
    return factor.apply(arrays.identity(X.shape[1], X)) * phases(diagonal)[None, :]


def phases(x: Array) -> Array:
    """x/|x|, the signs of real numbers, and 1 for 0."""
    xp = arrays.namespace(x)
    size = xp.abs(x)
    return xp.where(size == 0, xp.ones_like(x), x / xp.where(size == 0, 1.0, size))


def other(x: Array) -> Array:
    """√(1 - x²) without cancellation."""
    return arrays.namespace(x).sqrt((1 - x) * (1 + x))


def row_norms(X: Array) -> Array:
    """The lengths of the rows."""
    if arrays.is_numpy(X):
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", X, X.conj()).real))
    xp = arrays.namespace(X)
    return xp.sqrt(xp.sum(arrays.squared_sizes(X), axis=1))


# ---- norms and ranks -----------------------------------------------------------------------------


def norm(x: Array) -> float:
    """Root of the sum of the squares, of entries whose squares neither overflow nor vanish."""
    if isinstance(x, np.ndarray):
        (nrm2,) = scipy.linalg.get_blas_funcs(("nrm2",), (x,))
        return float(nrm2(x.ravel(order="K"))) if x.size else 0.0
    xp = arrays.namespace(x)
    return float(xp.sqrt(xp.sum(arrays.squared_sizes(x))))


def norm2(x: Array) -> float:
    """The largest singular value of x, by power steps: within a few per cent from below."""
    if 0 in x.shape:
        return 0.0
    xp = arrays.namespace(x)
    # The heaviest row is a good start: rows lie near the leading direction, or make it. Where
    # many lighter ones make it together, the heaviest may be orthogonal to it; a random
    # combination of all rows is not. (Half of it, so that the two cannot cancel.)
    flipped = arrays.adjoint(x)
    weight = xp.sum(arrays.squared_sizes(x), axis=1)
    heaviest = flipped[:, int(xp.argmax(weight))][:, None]
    weights = arrays.like(np.random.default_rng(0).standard_normal((x.shape[0], 1)), x)
    mixed = arrays.matmul(flipped, weights)
    vector = heaviest / (norm(heaviest) or 1.0) + 0.5 * mixed / (norm(mixed) or 1.0)
    result = 0.0
    for _ in range(POWER_STEPS):
        length = norm(vector)
        if length == 0:
            break
        image = arrays.matmul(x, vector / length)
        result = norm(image)
        vector = arrays.matmul(flipped, image)
    return result


def rank_shown(X: Array, strength: Array, tol: float) -> int | None:
    """How many directions X has by their strengths c_j‖h_j‖; None where one may be rounding."""
    most = min(X.shape)
    total = norm(X)
    if total == 0:
        return 0
    # The norm lies between two bounds that cost nothing; only between those it is computed.
    certain = _count(strength, DOUBTFUL * tol * total)
    present = _count(strength, tol * total / math.sqrt(most))
    if present != certain:
        exact = norm2(X)
        certain, present = (_count(strength, f * tol * exact) for f in (DOUBTFUL, 1))
    # With a tolerance near 0 rounding counts as a direction, but X has no more than it has rows.
    return min(present, most) if present == certain or min(present, certain) >= most else None


def _count(strength: Array, limit: float) -> int:
    return int(arrays.namespace(strength).count_nonzero(strength > limit))


def surely_regular(T: Array, tol: float, smallest: float) -> bool:
    """Does a square triangular matrix with this smallest singular value surely have full rank?"""
    # the sum of all squares is no less than the norm, and costs less
    return surely_above(smallest, tol * norm(T)) or surely_above(smallest, tol * norm2(T))


def well_conditioned(T: Array, smallest: float) -> bool:
    """Is the condition number of T so small that dividing by T costs less than a digit?"""
    largest = norm(T) / math.sqrt(T.shape[0])  # no more than the norm
    return largest <= WELL_CONDITIONED * smallest and norm2(T) <= WELL_CONDITIONED * smallest


def smallest_singular_value(R: Array) -> float:
    """The smallest singular value of a square triangle, from above (0: too small to see)."""
    n = R.shape[0]
    if n == 0:
        return float("inf")
    if arrays.is_numpy(R):
        return _inverse_iteration(R)
    values = arrays.namespace(R).linalg.eigvalsh(arrays.gram(R))
    lowest, highest = float(values[0]), float(values[-1])
    return lowest**0.5 if lowest > rank_tolerance(n, n, arrays.eps(R)) * highest else 0.0


def _inverse_iteration(R: np.ndarray) -> float:
    smallest = float(np.abs(np.diagonal(R)).min())
    if smallest <= arrays.eps(R) ** 2 * float(np.abs(R).max()):
        return smallest  # solving with such a matrix could overflow, and the answer is clear
    (trsm,) = scipy.linalg.get_blas_funcs(("trsm",), (R,))
    R = np.asfortranarray(R)
    adjoint = 2 if R.dtype.kind == "c" else 1
    vectors = np.random.default_rng(0).standard_normal((R.shape[0], INVERSE_VECTORS))
    vectors = np.asfortranarray(vectors.astype(R.dtype))
    for step in range(INVERSE_STEPS):
        vectors /= np.linalg.norm(vectors, axis=0)
        vectors = trsm(1.0, R, vectors, trans_a=0 if step % 2 else adjoint)
    return float(1 / np.linalg.norm(vectors, axis=0).max())


def full_rank(x: Array, tol: float) -> tuple[Array, Array]:
    """x as a matrix with orthonormal columns times one with as many rows as the rank of x.

    Pivoted QR is faster than the SVD, which decides where that is not sure of the rank.
    """
    if arrays.is_numpy(x) and 0 not in x.shape:
        Q, T, pivots = scipy.linalg.qr(x, mode="economic", pivoting=True, check_finite=False)
        cut = tol * norm2(x)
        rank = int(np.count_nonzero(np.abs(np.diagonal(T)) > cut))
        kept = smallest_singular_value(T[:rank, :rank])
        if surely_above(kept, cut) and norm(T[rank:, rank:]) <= cut:
            right = np.empty_like(T[:rank])
            right[:, pivots] = T[:rank]
            return Q[:, :rank], right
    left, values, right = factorizations.svd(x)
    cut = tol * float(values[0]) if values.shape[0] else 0.0
    rank = int(arrays.namespace(x).count_nonzero(values > cut))
    return left[:, :rank], values[:rank, None] * right[:rank, :]
