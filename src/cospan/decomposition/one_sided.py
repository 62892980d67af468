"""Directions that only one matrix has, made unique.

In the first r directions c is 1 and in the last t it is 0, so any rotation among them leaves a
GSVD a GSVD, and which one rounding picks depends on the number of threads. Here each block of H
is turned to its own principal axes: rows orthogonal to each other, the longest first, with U and
V turned along. Only rows of equal length remain free.
"""

from __future__ import annotations

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan.decomposition.ranks import surely_regular
from cospan.decomposition.result import GSVD, Blocks


def of_independent_rows(A: Array, B: Array, tol: float, *, frame: bool) -> GSVD | None:
    """The GSVD of a pair whose rows all are independent, or None if they are not.

    Then nothing is shared, and H is made of the principal axes of A and of B.
    """
    xp = arrays.namespace(A, B)
    stack = xp.concat((A, B), axis=0)
    if not surely_regular(arrays.triangular_factor(arrays.adjoint(stack)), tol):
        return None
    p, q = A.shape[0], B.shape[0]
    c = arrays.real_zeros((p + q,), A)
    ones = xp.ones_like(c)
    c, s = xp.concat((ones[:p], c[p:])), xp.concat((c[:p], ones[p:]))
    blocks = Blocks(p, 0, q)
    if not frame:
        return GSVD(c, s, stack, None, None, blocks)
    H, U, V = ordered(stack, arrays.identity(p, A), arrays.identity(q, A), blocks)
    return GSVD(c, s, H, U, V, blocks)


def ordered(
    H: Array, U: Array | None, V: Array | None, blocks: Blocks
) -> tuple[Array, Array | None, Array | None]:
    """H with both one-sided blocks along their principal axes, and U and V to match."""
    r, k, t = blocks
    xp = arrays.namespace(H)
    if r > 1:
        turn, rows = _axes(H[:r, :])
        H = xp.concat((rows, H[r:, :]), axis=0)
        if U is not None:
            U = xp.concat((arrays.matmul(U[:, :r], turn), U[:, r:]), axis=1)
    if t > 1:
        turn, rows = _axes(H[r + k :, :])
        H = xp.concat((H[: r + k, :], rows), axis=0)
        if V is not None:
            V = xp.concat((V[:, :k], arrays.matmul(V[:, k:], turn)), axis=1)
    return H, U, V


def _axes(rows: Array) -> tuple[Array, Array]:
    """An orthogonal matrix, and rows orthogonal to each other whose product with it `rows` is."""
    turn, lengths, axes = arrays.svd(rows)
    return turn, lengths[:, None] * axes
