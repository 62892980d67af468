"""The same factors in other people's notation.

LAPACK's and Julia's (0 R) Qᴴ is an RQ decomposition of H; MATLAB's X is Hᴴ, with c rising.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cospan.base import arrays, factorizations
from cospan.base.types import Array

if TYPE_CHECKING:
    from cospan.decomposition.dense import GSVD


class MatlabForm(NamedTuple):
    """``A = U C Xᴴ`` and ``B = V S Xᴴ`` with c rising, as MATLAB's gsvd has it.

    >>> from cospan import gsvd
    >>> A, B = np.random.default_rng(0).normal(size=(2, 4, 3))
    >>> U, V, X, C, S = gsvd(A, B).matlab()
    >>> np.allclose(U @ C @ X.T, A), np.allclose(V @ S @ X.T, B)
    (True, True)
    """

    U: Array  # (p, r + k)
    V: Array  # (q, k + t)
    X: Array  # (d, m)
    C: Array  # as many rows as U has columns, m columns
    S: Array


class LapackForm(NamedTuple):
    """``A = U diag(alpha) (0 R) Qᴴ`` and ``B = V diag(beta) (0 R) Qᴴ``, as ggsvd3 has it.

    >>> from cospan import gsvd
    >>> A, B = np.random.default_rng(0).normal(size=(2, 4, 3))
    >>> f = gsvd(A, B).lapack()
    >>> np.allclose(f.U * f.alpha @ f.R @ f.Q.T, A), (f.k, f.l)
    (True, (0, 3))
    """

    U: Array  # (p, k + l), or fewer columns where p is smaller
    V: Array  # (q, l)
    Q: Array  # (d, d)
    R: Array  # (k + l, k + l), upper triangular
    alpha: Array  # (d,): 0 beyond k + l, and so is beta
    beta: Array
    k: int
    l: int  # noqa: E741 - LAPACK's name


class JuliaForm(NamedTuple):
    """``A = U D1 R0 Qᴴ`` and ``B = V D2 R0 Qᴴ``, as Julia's ``svd(A, B)`` has it.

    >>> from cospan import gsvd
    >>> A, B = np.random.default_rng(0).normal(size=(2, 4, 3))
    >>> U, V, Q, D1, D2, R0 = gsvd(A, B).julia()
    >>> np.allclose(U @ D1 @ R0 @ Q.T, A), np.allclose(V @ D2 @ R0 @ Q.T, B)
    (True, True)
    """

    U: Array
    V: Array
    Q: Array
    D1: Array
    D2: Array
    R0: Array


def lapack(f: GSVD) -> LapackForm:
    """(0 R) Qᴴ = H is an RQ decomposition: a QR one of H upside down, read backwards."""
    (r, k, t), m = f.blocks, f.rank
    xp = arrays.namespace(f.H)
    turned = arrays.adjoint(xp.flip(f.H, axis=0))
    factor = factorizations.qr(turned)
    basis = factor.apply(arrays.identity(m, f.H))
    # turned = basis · L, so H = flip(Lᴴ) · flip(basis)ᴴ with an upper triangular first factor.
    R = xp.flip(arrays.adjoint(factor.R))
    Q = xp.concat((factorizations.complement(turned), xp.flip(basis, axis=1)), axis=1)
    # LAPACK's lists have d entries; those of directions that neither matrix has are 0 in both.
    neither = arrays.zeros((f.H.shape[1] - m,), f.c)
    alpha, beta = (xp.concat((x, neither)) for x in (f.c, f.s))
    return LapackForm(*f.left_factors(), Q, R, alpha, beta, r, k + t)


def julia(f: GSVD) -> JuliaForm:
    """LAPACK's form with diagonal matrices in place of lists."""
    form = lapack(f)
    (r, k, _), (m, d) = f.blocks, f.H.shape
    D1 = _diagonal(form.U.shape[1], m, f.c[: r + k], 0)
    D2 = _diagonal(form.V.shape[1], m, f.s[r:], r)
    zeros = arrays.zeros((m, d - m), form.R)
    R0 = arrays.namespace(f.H).concat((zeros, form.R), axis=1)
    return JuliaForm(form.U, form.V, form.Q, D1, D2, R0)


def matlab(f: GSVD) -> MatlabForm:
    """c rising: every list is reversed."""
    (U, V), (_, k, t), m = f.left_factors(), f.blocks, f.rank
    xp = arrays.namespace(f.H)
    U, V = xp.flip(U, axis=1), xp.flip(V, axis=1)
    C = _diagonal(U.shape[1], m, xp.flip(f.c)[t:], t)
    S = _diagonal(V.shape[1], m, xp.flip(f.s)[: k + t], 0)
    return MatlabForm(U, V, xp.flip(arrays.adjoint(f.H), axis=1), C, S)


def _diagonal(rows: int, columns: int, values: Array, offset: int) -> Array:
    """A matrix with `values` on a diagonal that starts in column `offset`."""
    xp = arrays.namespace(values)
    n = values.shape[0]
    square = values[:, None] * arrays.identity(n, values)
    left, right = arrays.zeros((n, offset), values), arrays.zeros((n, columns - offset - n), values)
    wide = xp.concat((left, square, right), axis=1)
    return xp.concat((wide, arrays.zeros((rows - n, columns), values)), axis=0)
