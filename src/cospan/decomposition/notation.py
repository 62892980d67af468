"""What a GSVD is made of and what follows from it, also in other people's notation.

LAPACK's and Julia's (0 R) Qᴴ is an RQ decomposition of H; MATLAB's X is Hᴴ, with c rising.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from cospan.base import arrays, factorizations
from cospan.base.checks import as_option
from cospan.base.types import Array
from cospan.errors import InputError


class Blocks(NamedTuple):
    """How many directions only A has (r), both share (k), and only B has (t).

    Examples
    --------
    >>> from cospan import gsvd
    >>> gsvd(np.eye(3)[:2], np.eye(3)[1:]).blocks
    Blocks(r=1, k=1, t=1)
    """

    r: int
    k: int
    t: int


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


@dataclass(frozen=True, eq=False)
class GSVD:
    """The factors of a pair: ``A = U diag(c) H`` and ``B = V diag(s) H``.

    Attributes
    ----------
    c, s : array, (m,)
        Cosines, falling, and sines, rising, of the directions' angles; always real. Exactly 1
        and 0 in the first r, exactly 0 and 1 in the last t.
    H : array, (m, d)
        The joint frame: its rows are the directions, with full row rank. The first r and the
        last t are orthogonal among themselves, the longest first.
    U : array (p, r + k) or None
        Orthonormal columns, for the directions that A has.
    V : array (q, k + t) or None
        Orthonormal columns, for the directions that B has.
    blocks : Blocks
        ``(r, k, t)``; their sum m is the rank of A and B stacked.

    Notes
    -----
    NumPy arrays of a GSVD are read-only; copy one to change it. A GSVD does not unpack into a
    tuple, as MATLAB, Julia and LAPACK each return its factors in another order; the results of
    :meth:`matlab`, :meth:`julia` and :meth:`lapack` do.

    Examples
    --------
    >>> from cospan import gsvd
    >>> A, B = np.array([[3.0, 0.0], [0.0, 1.0]]), np.array([[4.0, 0.0], [0.0, 1.0]])
    >>> found = gsvd(A, B)
    >>> np.rad2deg(found.angles).round(2)
    array([45.  , 53.13])
    >>> bool(np.allclose(found.U @ np.diag(found.c) @ found.H, A))
    True
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

    @property
    def values(self) -> Array:
        """The generalized singular values c/s, falling: inf where only A has the direction.

        Examples
        --------
        >>> from cospan import gsvd
        >>> gsvd([[1.0, 0, 0], [0, 2, 0]], [[0.0, 4, 0]]).values.round(12)
        array([inf, 0.5])
        """
        xp, zero = arrays.namespace(self.c), self.s == 0
        quotient = self.c / xp.where(zero, xp.ones_like(self.s), self.s)
        return xp.where(zero, 0 * self.s + xp.inf, quotient)

    @property
    def X(self) -> Array:
        """The pseudo-inverse of H, (d, m): ``A X = U diag(c)`` and ``B X = V diag(s)``.

        Column j is the vector that A stretches to length c_j and B to length s_j, with no part
        in the other directions. Computed at each call.
        """
        if self.rank == 0:
            return arrays.adjoint(self.H)
        factor = factorizations.qr(arrays.adjoint(self.H))  # Hᴴ = Q R, and H⁺ = Q R⁻ᴴ
        conjugate = arrays.adjoint(factor.R).T
        eye = arrays.identity(self.rank, self.H)
        return factor.apply(factorizations.solve_triangular_transposed(conjugate, eye))

    def null_space(self, of: str = "both") -> Array:
        """Orthonormal columns that span what A, B or both map to zero.

        Parameters
        ----------
        of : {"both", "A", "B"}
            ``"both"`` gives the d - m directions that neither matrix has.
        """
        r, k, _ = self.blocks
        rows = {"both": self.H, "A": self.H[: r + k, :], "B": self.H[r:, :]}
        return factorizations.complement(arrays.adjoint(rows[as_option(of, "of", tuple(rows))]))

    def reconstruct(self) -> tuple[Array, Array]:
        """A and B multiplied out again."""
        U, V = self.left_factors()
        r, k, t = self.blocks
        A = arrays.matmul(U[:, : r + k], self.c[: r + k, None] * self.H[: r + k, :])
        B = arrays.matmul(V[:, : k + t], self.s[r:, None] * self.H[r:, :])
        return A, B

    def matlab(self) -> MatlabForm:
        """``(U, V, X, C, S)`` as MATLAB's ``gsvd(A, B)`` and Octave's return them."""
        (U, V), (_, k, t), m = self.left_factors(), self.blocks, self.rank
        xp = arrays.namespace(self.H)
        U, V = xp.flip(U, axis=1), xp.flip(V, axis=1)
        C = _diagonal(U.shape[1], m, xp.flip(self.c)[t:], t)
        S = _diagonal(V.shape[1], m, xp.flip(self.s)[: k + t], 0)
        return MatlabForm(U, V, xp.flip(arrays.adjoint(self.H), axis=1), C, S)

    def lapack(self) -> LapackForm:
        """``(U, V, Q, R, alpha, beta, k, l)`` as LAPACK's ``ggsvd3`` returns them."""
        (r, k, t), m = self.blocks, self.rank
        xp = arrays.namespace(self.H)
        # (0 R) Qᴴ = H is an RQ decomposition: a QR one of H upside down, read backwards.
        turned = arrays.adjoint(xp.flip(self.H, axis=0))
        factor = factorizations.qr(turned)
        # turned = basis · L, so H = flip(Lᴴ) · flip(basis)ᴴ with an upper triangular first factor.
        R, basis = xp.flip(arrays.adjoint(factor.R)), factorizations.explicit(factor)
        Q = xp.concat((factorizations.complement(turned), xp.flip(basis, axis=1)), axis=1)
        # LAPACK's lists have d entries; those of directions that neither matrix has are 0 in both.
        neither = arrays.zeros((self.H.shape[1] - m,), self.c)
        alpha, beta = (xp.concat((x, neither)) for x in (self.c, self.s))
        return LapackForm(*self.left_factors(), Q, R, alpha, beta, r, k + t)

    def julia(self) -> JuliaForm:
        """``(U, V, Q, D1, D2, R0)`` as Julia's ``svd(A, B)`` returns them."""
        form = self.lapack()
        (r, k, _), (m, d) = self.blocks, self.H.shape
        D1 = _diagonal(form.U.shape[1], m, self.c[: r + k], 0)
        D2 = _diagonal(form.V.shape[1], m, self.s[r:], r)
        zeros = arrays.zeros((m, d - m), form.R)
        R0 = arrays.namespace(self.H).concat((zeros, form.R), axis=1)
        return JuliaForm(form.U, form.V, form.Q, D1, D2, R0)

    def left_factors(self) -> tuple[Array, Array]:
        """U and V, or one sentence where they were not computed."""
        if self.U is None or self.V is None:
            raise InputError(
                "This GSVD has no U and V to multiply; use gsvd(..., compute_uv=True)."
            )
        return self.U, self.V

    def __iter__(self) -> Iterator[NoReturn]:
        raise TypeError(
            "A GSVD does not unpack, as others order its factors differently; "
            "use its names (f.U, f.c, f.H), or unpack f.matlab(), f.julia() or f.lapack()."
        )

    def __repr__(self) -> str:
        r, k, t = self.blocks
        return f"GSVD(rank={self.rank}, only A: {r}, shared: {k}, only B: {t})"


def _diagonal(rows: int, columns: int, values: Array, offset: int) -> Array:
    """A matrix with `values` on a diagonal that starts in column `offset`."""
    xp = arrays.namespace(values)
    n = values.shape[0]
    square = values[:, None] * arrays.identity(n, values)
    left, right = arrays.zeros((n, offset), values), arrays.zeros((n, columns - offset - n), values)
    wide = xp.concat((left, square, right), axis=1)
    return xp.concat((wide, arrays.zeros((rows - n, columns), values)), axis=0)
