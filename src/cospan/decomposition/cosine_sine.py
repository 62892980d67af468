"""Both halves of a matrix with orthonormal columns, decomposed at once.

For ``[Q₁; Q₂]`` with orthonormal columns there is one orthogonal W with

    Q₁ = U diag(c) Wᵀ        Q₂ = V diag(s) Wᵀ        c² + s² = 1

(the CS decomposition). It comes from a symmetric eigenproblem, with both ends polished.
"""

from __future__ import annotations

import math

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import POLISH_BELOW
from cospan.decomposition.householder import qr

__all__ = ["cosine_sine", "other", "reorthogonalized", "row_norms"]


def cosine_sine(
    Q1: Array, Q2: Array, compute_uv: bool
) -> tuple[Array, Array, Array, Array | None, Array | None]:
    """Q₁ = U diag(c) Wᵀ and Q₂ = V diag(s) Wᵀ, for [Q₁; Q₂] with orthonormal columns.

    The eigenvalues of Q₁ᵀQ₁ - Q₂ᵀQ₂ are cos 2θ. Where c or s is small they know it only to
    eps/c, so there the columns Q₁W (or Q₂W) are decomposed once more by themselves.
    """
    xp = arrays.namespace(Q1, Q2)
    # Q₁ᵀQ₁ + Q₂ᵀQ₂ = I, so that one of the two products is enough: the cheaper one.
    identity = arrays.identity(Q1.shape[1], Q1)
    if Q1.shape[0] <= Q2.shape[0]:
        values, W = arrays.eigh(2 * arrays.gram(Q1) - identity)
    else:
        values, W = arrays.eigh(identity - 2 * arrays.gram(Q2))
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
    c = xp.concat((other(s_end), c[middle], c_end))
    s = xp.concat((s_end, s[middle], other(c_end)))
    W = xp.concat((turn_s, W[:, middle], turn_c), axis=1)
    if not compute_uv:
        return c, s, W, None, None
    U = xp.concat((_normalized(Q1, W[:, : m - few_c]), left_c), axis=1)
    V = xp.concat((left_s, _normalized(Q2, W[:, few_s:])), axis=1)
    return c, s, W, U, V


def _normalized(Q: Array, W: Array) -> Array:
    """Q W with its columns at length 1."""
    X = arrays.matmul(Q, W)
    return X / row_norms(X.T)[None, :]


def _polished(Q: Array, W: Array, want_left: bool, *, rising: bool) -> tuple[Array, Array, Array]:
    """Singular values of Q W, W turned to its right singular vectors, left singular vectors."""
    xp = arrays.namespace(Q)
    n = W.shape[1]
    if n == 0:
        return arrays.zeros((0,), Q), W, Q[:, :0]
    factor = qr(arrays.matmul(Q, W))
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


def reorthogonalized(U: Array, V: Array, c: Array, s: Array) -> tuple[Array, Array]:
    """Orthonormal columns also where c or s is tiny, without moving c·u or s·v by more than eps.

    A column found from a block of size c is orthogonal to the others only to eps/c.
    """
    xp = arrays.namespace(U)
    few_c = int(xp.count_nonzero(c < POLISH_BELOW))
    few_s = int(xp.count_nonzero(s < POLISH_BELOW))
    keep = U.shape[1] - few_c
    weak = _orthogonal_to(U[:, keep:], U[:, :keep], c[keep:])
    U = xp.concat((U[:, :keep], weak), axis=1)
    # In V the weak columns come first, weakest first; strong ones must lead in Gram-Schmidt.
    weak = _orthogonal_to(xp.flip(V[:, :few_s], axis=1), V[:, few_s:], xp.flip(s[:few_s]))
    V = xp.concat((xp.flip(weak, axis=1), V[:, few_s:]), axis=1)
    return U, V


def _orthogonal_to(X: Array, rest: Array, size: Array) -> Array:
    """X made orthonormal and orthogonal to `rest`, changed as little as that takes."""
    if X.shape[1] == 0:
        return X
    xp = arrays.namespace(X)
    X = X - arrays.matmul(rest, arrays.matmul(rest.T, X))
    # X was orthonormal in itself. Taking off parts of size eps/c changes that by their square.
    if float(size[-1]) > math.sqrt(arrays.eps(X)):
        return X
    for again in (True, False):
        factor = qr(X)
        diagonal = xp.linalg.diagonal(factor.R)
        signs = xp.where(diagonal < 0, -xp.ones_like(diagonal), xp.ones_like(diagonal))
        X = factor.apply(arrays.identity(X.shape[1], X)) * signs[None, :]
        if again:
            X = X - arrays.matmul(rest, arrays.matmul(rest.T, X))
    return X


def other(x: Array) -> Array:
    """√(1 - x²) without cancellation."""
    return arrays.namespace(x).sqrt((1 - x) * (1 + x))


def row_norms(X: Array) -> Array:
    xp = arrays.namespace(X)
    return xp.sqrt(xp.sum(X * X, axis=1))
