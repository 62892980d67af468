"""`gsvd` and `gsvdvals`: what they promise, what they return, and what they take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from cospan.base import arrays, factorizations
from cospan.base.checks import (
    as_flag,
    as_option,
    as_rows,
    as_tol,
    check_names,
    check_same_library,
    feature_names_of,
)
from cospan.base.tolerance import rank_tolerance
from cospan.base.types import Array, Data
from cospan.decomposition import notation
from cospan.decomposition.kernel import Factors, Tolerances, decompose
from cospan.errors import InputError


@dataclass(frozen=True, eq=False)
class GSVD(Factors):
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

    def matlab(self) -> notation.MatlabForm:
        """``(U, V, X, C, S)`` as MATLAB's ``gsvd(A, B)`` and Octave's return them."""
        return notation.matlab(self)

    def lapack(self) -> notation.LapackForm:
        """``(U, V, Q, R, alpha, beta, k, l)`` as LAPACK's ``ggsvd3`` returns them."""
        return notation.lapack(self)

    def julia(self) -> notation.JuliaForm:
        """``(U, V, Q, D1, D2, R0)`` as Julia's ``svd(A, B)`` returns them."""
        return notation.julia(self)

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


def gsvd(A: object, B: object, *, tol: float | None = None, compute_uv: bool = True) -> GSVD:
    """Generalized singular value decomposition of two matrices with the same columns.

    ::

                     r        k        t
        diag(c) = [  I                    ]      directions only A has:  c = 1, s = 0
                  [           C           ]      shared:        1 > c > 0, 0 < s < 1
                  [                    0  ]      directions only B has:  c = 0, s = 1

             A      =  U (p, r+k) [ I       ] H[:r+k]
           (p, d)                 [    C    ]             C² + S² = I
                                                          C falling, S rising
             B      =  V (q, k+t) [    S    ] H[r:]
           (q, d)                 [       I ]

    U and V carry no padding: A's factors leave out the last t directions, B's the first r.

    Parameters
    ----------
    A, B : array-like, (p, d) and (q, d)
        Real or complex, any p, q, d ≥ 0, any rank. float32, float64 and their complex
        kin are kept, integers and float16 raised. Not changed.
    tol : float, optional
        Relative tolerance for "zero": a direction counts as missing from A when its share of A,
        ``c‖h‖``, is at most ``tol * ‖A‖₂``, and likewise for B; the same `tol`, relative to the
        stacked matrix with A and B scaled to like norms, decides the rank. Default:
        ``max(rows, d) * eps``, with the eps of the dtype passed, the coarser one of two.
    compute_uv : bool
        False leaves out U and V, which saves up to half the time.

    Returns
    -------
    GSVD
        Frozen, with ``c, s, H, U, V, blocks`` and what follows from them: ``angles``,
        ``values``, ``X``, ``null_space()``, ``lapack()`` and more.

    Raises
    ------
    InputError
        A ``ValueError``: for NaN or Inf (with their place), different numbers of columns, sparse
        matrices, and options that are off.

    See Also
    --------
    gsvdvals : c and s alone.
    gsvds : a few extreme directions of large sparse matrices.
    scipy.linalg.cossin : the decomposition of a matrix with orthonormal columns.

    Notes
    -----
    Order: c falls and s rises. The first r rows of H are orthogonal to each other, the longest
    first, and so are the last t. Signs: in each row of H the entry of largest magnitude (the
    first one, if several) is positive; U and V follow. What remains free are directions with
    equal angles in the shared block, determined only up to a rotation among themselves. The same
    input and number of threads give the same bits. Where A and B differ in scale by more than
    the dtype reaches, the smaller of c and s underflows to 0.

    The angles are accurate to about ``eps * κ(H)`` in radians, absolutely: a tangent of 1e-12 has
    an error of some 1e-16, so four digits. The stack is factored by QR, its orthogonal factor by
    a symmetric eigenproblem whose two ends are then recomputed from the block in which they are
    small. Any rank is treated after Paige and Saunders [1]_.

    References
    ----------
    .. [1] C. C. Paige and M. A. Saunders, "Towards a generalized singular value decomposition",
       SIAM J. Numer. Anal. 18, 398-405 (1981).

    Examples
    --------
    >>> from cospan import gsvd
    >>> A = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    >>> B = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    >>> f = gsvd(A, B)
    >>> f
    GSVD(rank=3, only A: 1, shared: 1, only B: 1)
    >>> np.rad2deg(f.angles).round(6)
    array([ 0., 45., 90.])
    """
    want_uv = as_flag(compute_uv, "compute_uv")
    A, B, tolerances = _as_pair(A, B, tol)
    found = GSVD(**vars(decompose(A, B, tolerances, want_uv)))
    for factor in (found.c, found.s, found.H, found.U, found.V):
        if isinstance(factor, np.ndarray):  # c and s would not fit an H that was changed
            factor.flags.writeable = False
    return found


def gsvdvals(A: object, B: object, *, tol: float | None = None) -> tuple[Array, Array]:
    """The values c (falling) and s (rising) of the GSVD alone.

    Parameters as in :func:`gsvd`.

    Examples
    --------
    >>> from cospan import gsvdvals
    >>> c, s = gsvdvals([[3.0, 0.0]], [[4.0, 0.0]])
    >>> round(float(c[0]), 12), round(float(s[0]), 12)
    (0.6, 0.8)
    """
    found = gsvd(A, B, tol=tol, compute_uv=False)
    return found.c, found.s


def _as_pair(A: Data, B: Data, tol: object) -> tuple[Array, Array, Tolerances]:
    """Both matrices, checked, in one dtype, and what counts as zero in them."""
    for X, name in ((A, "A"), (B, "B")):
        if arrays.is_lazy(X):
            raise InputError(f"{name} is a Dask collection; compute() it first.")
        if hasattr(X, "toarray"):
            raise InputError(
                f"{name} is a sparse matrix; cospan.gsvds finds a few of its directions, and "
                f"{name}.toarray() gives all of them if it fits in memory."
            )
    check_names(B, feature_names_of(A), "B", whose="A's")
    A, B = (
        as_rows(X, name, allow_empty=True, allow_complex=True, allow_no_columns=True)
        for X, name in ((A, "A"), (B, "B"))
    )
    check_same_library(A, B)
    if A.shape[1] != B.shape[1]:
        raise InputError(
            f"A has {A.shape[1]} columns and B has {B.shape[1]}; "
            "both need the same features in the same order."
        )
    one, (p, d), q, eps = as_tol(tol), A.shape, B.shape[0], max(arrays.eps(A), arrays.eps(B))
    if A.dtype != B.dtype:
        xp = arrays.namespace(A, B)
        dtype = xp.result_type(A, B)
        A, B = xp.astype(A, dtype, copy=False), xp.astype(B, dtype, copy=False)
    if one is not None:
        return A, B, Tolerances(one, one, one)
    return A, B, Tolerances(*(rank_tolerance(rows, d, eps) for rows in (p + q, p, q)))
