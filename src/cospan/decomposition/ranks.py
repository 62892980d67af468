"""Norms, smallest singular values, and factors of full rank: what rank decisions rest on.

The rank of a matrix is the number of its singular values above a tolerance times the largest.
Everything here that is faster than computing them is used only where it proves the same answer.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import surely_above

__all__ = ["full_rank", "norm", "norm2", "smallest_singular_value"]


def norm(x: Array) -> float:
    """Root of the sum of the squares, of entries whose squares neither overflow nor vanish."""
    if arrays.is_numpy(x) and x.size:
        (nrm2,) = scipy.linalg.get_blas_funcs(("nrm2",), (x,))
        return float(nrm2(x.ravel(order="K")))
    xp = arrays.namespace(x)
    return float(xp.sqrt(xp.sum(x * x)))


def norm2(x: Array) -> float:
    """The largest singular value of x, by power steps: within a few per cent from below."""
    if 0 in x.shape:
        return 0.0
    xp = arrays.namespace(x)
    # The heaviest row is a good start: rows lie near the leading direction, or make it. Where
    # many lighter ones make it together, the heaviest may be orthogonal to it; a random
    # combination of all rows is not. (Half of it, so that the two cannot cancel.)
    heaviest = x[int(xp.argmax(xp.sum(x * x, axis=1))), :][:, None]
    weights = arrays.like(np.random.default_rng(0).standard_normal((x.shape[0], 1)), x)
    mixed = arrays.matmul(x.T, weights)
    vector = heaviest / (norm(heaviest) or 1.0) + 0.5 * mixed / (norm(mixed) or 1.0)
    result = 0.0
    for _ in range(8):
        length = norm(vector)
        if length == 0:
            break
        image = arrays.matmul(x, vector / length)
        result = norm(image)
        vector = arrays.matmul(x.T, image)
    return result


def smallest_singular_value(R: Array) -> float:
    """The smallest singular value of a square triangular matrix, estimated from above.

    For NumPy by a few steps of inverse iteration from fixed random vectors. Elsewhere from the
    eigenvalues of RᵀR, which see only half the digits: what they cannot see reads as 0.
    """
    n = R.shape[0]
    if n == 0:
        return float("inf")
    if arrays.is_numpy(R):
        return _inverse_iteration(R)
    values = arrays.namespace(R).linalg.eigvalsh(R.T @ R)
    lowest, highest = float(values[0]), float(values[-1])
    return lowest**0.5 if lowest > n * arrays.eps(R) * highest else 0.0


def _inverse_iteration(R: np.ndarray) -> float:
    smallest = float(np.abs(np.diagonal(R)).min())
    if smallest <= arrays.eps(R) ** 2 * float(np.abs(R).max()):
        return smallest  # solving with such a matrix could overflow, and the answer is clear
    (trsm,) = scipy.linalg.get_blas_funcs(("trsm",), (R,))
    R = np.asfortranarray(R)
    # Four vectors: that all of them miss the direction sought is out of the question.
    vectors = np.random.default_rng(0).standard_normal((R.shape[0], 4))
    vectors = np.asfortranarray(vectors.astype(R.dtype))
    for step in range(5):
        vectors /= np.sqrt((vectors * vectors).sum(axis=0))
        vectors = trsm(1.0, R, vectors, trans_a=(step + 1) % 2)
    return float(1 / np.sqrt((vectors * vectors).sum(axis=0)).max())


def full_rank(x: Array, tol: float) -> tuple[Array, Array]:
    """x as a matrix with orthonormal columns times one with as many rows as the rank of x.

    Pivoted QR is faster than the SVD, and mostly it can be sure of the rank: what it keeps has
    no singular value near the tolerance, and what it drops is below it in norm. Where it is not
    sure (Kahan's matrix, a spectrum without a gap), the SVD decides.
    """
    xp = arrays.namespace(x)
    if arrays.is_numpy(x) and 0 not in x.shape:
        Q, T, pivots = scipy.linalg.qr(x, mode="economic", pivoting=True, check_finite=False)
        cut = tol * norm2(x)
        rank = int(np.count_nonzero(np.abs(np.diagonal(T)) > cut))
        kept = smallest_singular_value(T[:rank, :rank])
        if surely_above(kept, cut) and norm(T[rank:, rank:]) <= cut:
            right = np.empty_like(T[:rank])
            right[:, pivots] = T[:rank]
            return Q[:, :rank], right
    left, values, right = arrays.svd(x)
    cut = tol * float(values[0]) if values.shape[0] else 0.0
    rank = int(xp.count_nonzero(values > cut))
    return left[:, :rank], values[:rank, None] * right[:rank, :]
