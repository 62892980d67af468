"""What a GSVD is when it is done: the factors, and everything that follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan.decomposition import forms, regularization
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
        Orthonormal columns, for the directions that A has; (p, p) with ``full_matrices``.
    V : array (q, k + t) or None
        Orthonormal columns, for the directions that B has; (q, q) with ``full_matrices``.
    blocks : Blocks
        ``(r, k, t)``; their sum m is the rank of A and B stacked.

    Notes
    -----
    NumPy arrays of a GSVD are read-only; copy one to change it.

    A GSVD does not unpack into a tuple: MATLAB, Julia and LAPACK each return its factors in
    another order, so ``a, b, c = gsvd(A, B)`` would be read differently by different people.
    Use the names, or :meth:`matlab`, :meth:`julia` and :meth:`lapack`, whose results do unpack.

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

    # ---- values -------------------------------------------------------------------------------

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

        Directions that neither matrix has are 0/0, no value at all. `forms.all_values` and
        :meth:`matlab` list them as NaN.

        Examples
        --------
        >>> from cospan import gsvd
        >>> gsvd([[1.0, 0, 0], [0, 2, 0]], [[0.0, 4, 0]]).values.round(12)
        array([inf, 0.5])
        """
        return forms.ratios(self.c, self.s)

    # ---- matrices -----------------------------------------------------------------------------

    @property
    def X(self) -> Array:
        """The pseudo-inverse of H, (d, m): ``A X = U diag(c)`` and ``B X = V diag(s)``.

        Column j is the vector that A stretches to length c_j and B to length s_j, with no part
        in the other directions. Computed at each call.
        """
        return forms.pseudo_inverse(self.H)

    def null_space(self, of: str = "both") -> Array:
        """Orthonormal columns that span what A, B or both map to zero.

        Parameters
        ----------
        of : {"both", "A", "B"}
            ``"both"`` gives the d - m directions that neither matrix has.
        """
        return forms.null_space(self, of)

    def reconstruct(self) -> tuple[Array, Array]:
        """A and B multiplied out again."""
        U, V = self.left_factors()
        r, k, t = self.blocks
        A = arrays.matmul(U[:, : r + k], self.c[: r + k, None] * self.H[: r + k, :])
        B = arrays.matmul(V[:, : k + t], self.s[r:, None] * self.H[r:, :])
        return A, B

    def matlab(self) -> forms.MatlabForm:
        """``(U, V, X, C, S)`` as MATLAB's ``gsvd(A, B)`` and Octave's return them."""
        return forms.matlab(self)

    def lapack(self) -> forms.LapackForm:
        """``(U, V, Q, R, alpha, beta, k, l)`` as LAPACK's ``ggsvd3`` returns them."""
        return forms.lapack(self)

    def julia(self) -> forms.JuliaForm:
        """``(U, V, Q, D1, D2, R0)`` as Julia's ``svd(A, B)`` returns them."""
        return forms.julia(self)

    # ---- solving ------------------------------------------------------------------------------

    @overload
    def solve_tikhonov(self, b: Any, strength: float) -> Array: ...

    @overload
    def solve_tikhonov(
        self, b: Any, strength: str | Sequence[float] | Array = "gcv"
    ) -> regularization.TikhonovPath: ...

    def solve_tikhonov(
        self, b: Any, strength: float | str | Sequence[float] | Array = "gcv"
    ) -> Array | regularization.TikhonovPath:
        """Least squares ‖A x - b‖² + λ²‖B x‖², for one λ, many, or one that the data choose.

        Parameters
        ----------
        b : array-like, (p,)
        strength : float, array-like or {"gcv", "l-curve"}
            The λ. An array gives a whole path at the cost of one product; a word lets
            generalized cross-validation or the corner of the L-curve choose on a grid.

        Returns
        -------
        array (d,), or TikhonovPath
            x itself for a single λ; otherwise the path, whose ``x`` holds one solution a row
            and whose ``best`` is the chosen λ's.

        Examples
        --------
        >>> from cospan import gsvd
        >>> A, L = np.diag([1.0, 0.1]), np.eye(2)
        >>> gsvd(A, L).solve_tikhonov([1.0, 1.0], 0.1).round(6)
        array([0.990099, 5.      ])
        """
        return regularization.solve_tikhonov(self, b, strength)

    def solve_gls(self, y: Any) -> regularization.GlsSolution:
        """Generalized least squares: y = M β + L v with ‖v‖ as small as possible.

        For ``gsvd(Mᵀ, Lᵀ)`` (adjoints, where complex) of a design M (n, p) and a factor L (n, q)
        of the errors' covariance LLᵀ, which may be singular.

        Examples
        --------
        >>> from cospan import gsvd
        >>> M, L = np.ones((3, 1)), np.diag([1.0, 1.0, 1e-3])
        >>> gsvd(M.T, L.T).solve_gls([0.0, 0.0, 1.0]).beta.round(4)
        array([1.])
        """
        return regularization.solve_gls(self, y)

    # ---- the object itself --------------------------------------------------------------------

    def left_factors(self) -> tuple[Array, Array]:
        """U and V, or one sentence where they were not computed."""
        if self.U is None or self.V is None:
            raise InputError(
                "This GSVD has no U and V to multiply; use gsvd(..., compute_uv=True)."
            )
        return self.U, self.V

    def read_only(self) -> GSVD:
        """This GSVD, its NumPy arrays read-only: c and s would not fit an H that was changed."""
        for factor in (self.c, self.s, self.H, self.U, self.V):
            if isinstance(factor, np.ndarray):
                factor.flags.writeable = False
        return self

    def __iter__(self) -> Iterator[NoReturn]:
        raise TypeError(
            "A GSVD does not unpack, as others order its factors differently; "
            "use its names (f.U, f.c, f.H), or unpack f.matlab(), f.julia() or f.lapack()."
        )

    def __repr__(self) -> str:
        r, k, t = self.blocks
        return f"GSVD(rank={self.rank}, only A: {r}, shared: {k}, only B: {t})"
