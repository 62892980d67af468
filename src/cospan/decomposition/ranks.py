"""Norms, smallest singular values, and factors of full rank: what rank decisions rest on.

The rank of a matrix is the number of its singular values above a tolerance times the largest.
Everything here that is faster than computing them is used only where it proves the same answer.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from cospan.base import arrays, factorizations
from cospan.base.tolerance import DOUBTFUL, WELL_CONDITIONED, rank_tolerance, surely_above
from cospan.base.types import Array


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
    for _ in range(8):
        length = norm(vector)
        if length == 0:
            break
        image = arrays.matmul(x, vector / length)
        result = norm(image)
        vector = arrays.matmul(flipped, image)
    return result


def rank_shown(X: Array, strength: Array, tol: float) -> int | None:
    """The number of directions that X has, or None where the strengths do not show it.

    ``strength[j] = c_j‖h_j‖`` is the length of a combination of X's rows. A strength below the
    tolerance shows a missing direction. One that is a little above may be rounding in the
    stack: then the singular values of X have to decide, not this.
    """
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


def surely_regular(T: Array, tol: float, smallest: float | None = None) -> bool:
    """Does a square triangular matrix certainly have full rank?"""
    smallest = smallest_singular_value(T) if smallest is None else smallest
    # the sum of all squares is no less than the norm, and costs less
    return surely_above(smallest, tol * norm(T)) or surely_above(smallest, tol * norm2(T))


def well_conditioned(T: Array, smallest: float) -> bool:
    """Is the condition number of T so small that dividing by T costs less than a digit?"""
    largest = norm(T) / math.sqrt(T.shape[0])  # no more than the norm
    return largest <= WELL_CONDITIONED * smallest and norm2(T) <= WELL_CONDITIONED * smallest


def smallest_singular_value(R: Array) -> float:
    """The smallest singular value of a square triangular matrix, estimated from above.

    For NumPy by a few steps of inverse iteration from fixed random vectors. Elsewhere from the
    eigenvalues of RᴴR, which see only half the digits: what they cannot see reads as 0.
    """
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
    # Four vectors: that all of them miss the direction sought is out of the question.
    vectors = np.random.default_rng(0).standard_normal((R.shape[0], 4))
    vectors = np.asfortranarray(vectors.astype(R.dtype))
    for step in range(5):
        vectors /= np.sqrt(arrays.squared_sizes(vectors).sum(axis=0))
        vectors = trsm(1.0, R, vectors, trans_a=0 if step % 2 else adjoint)
    return float(1 / np.sqrt(arrays.squared_sizes(vectors).sum(axis=0)).max())


def full_rank(x: Array, tol: float) -> tuple[Array, Array]:
    """x as a matrix with orthonormal columns times one with as many rows as the rank of x.

    Pivoted QR is faster than the SVD, and mostly it can be sure of the rank: what it keeps has
    no singular value near the tolerance, and what it drops is below it in norm. Where it is not
    sure (Kahan's matrix, a spectrum without a gap), the SVD decides.
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
    return above(x, tol, 0.0)


def above(x: Array, tol: float, atol: float) -> tuple[Array, Array]:
    """The part of x with singular values above ``tol`` times the largest plus ``atol``."""
    left, values, right = factorizations.svd(x)
    cut = tol * float(values[0]) + atol if values.shape[0] else 0.0
    rank = int(arrays.namespace(x).count_nonzero(values > cut))
    return left[:, :rank], values[:rank, None] * right[:rank, :]
