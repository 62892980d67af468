"""The two halves of a matrix with orthonormal columns, decomposed at once.

For ``[Q₁; Q₂]`` with orthonormal columns there is one unitary W with

    Q₁ = U diag(c) Wᴴ        Q₂ = V diag(s) Wᴴ        c² + s² = 1

(the CS decomposition). It comes from a symmetric eigenproblem, with both ends polished.
"""

from __future__ import annotations

import math

import numpy as np

from cospan.base import arrays, factorizations
from cospan.base.tolerance import POLISH_BELOW
from cospan.base.types import Array

Parts = tuple[Array, Array, Array, Array | None, Array | None]  # c, s, W, U and V


def cosines_and_sines(Q1: Array, Q2: Array, want_u: bool, want_v: bool) -> Parts:
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
    s_end, turn_s, left_s = _polished(Q2, W[:, :few_s], want_v, rising=True)
    c_end, turn_c, left_c = _polished(Q1, W[:, m - few_c :], want_u, rising=False)
    middle = slice(few_s, m - few_c)
    c, s = c[middle], s[middle]
    W = xp.concat((turn_s, W[:, middle], turn_c), axis=1)
    U = V = None
    if want_u:
        U, lengths = _normalized(Q1, W[:, : m - few_c])
        c = lengths[few_s:]  # the length of Q₁w knows c better than the eigenvalue does
        U = xp.concat((U, left_c), axis=1)
    if want_v:
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
    """Orthonormal columns also where c or s is tiny, without moving c·u or s·v by more than eps.

    A column found from a block of size c is orthogonal to the others only to eps/c.
    """
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
