"""`gsvd` and `gsvdvals`: what they promise, and what they take."""

from __future__ import annotations

import numpy as np

from cospan.base import arrays
from cospan.base.checks import (
    as_flag,
    as_rows,
    as_tol,
    check_names,
    check_same_library,
    feature_names_of,
)
from cospan.base.tolerance import rank_tolerance
from cospan.base.types import Array, Data
from cospan.decomposition.kernel import Tolerances, decompose
from cospan.decomposition.notation import GSVD
from cospan.errors import InputError


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
    found = decompose(A, B, tolerances, want_uv)
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
