"""`gsvd` and `gsvdvals`: what they promise, and what they do with their arguments."""

from __future__ import annotations

import functools
from typing import Any, cast

from cospan._arrays import Array
from cospan._validate import as_flag, as_option
from cospan.decomposition import tangent
from cospan.decomposition.kernel import decompose
from cospan.decomposition.pair import Wanted, as_pair, as_sides, as_tolerances
from cospan.decomposition.result import GSVD
from cospan.decomposition.stacks import is_stack, of_stack, stacked_values
from cospan.errors import InputError


def gsvd(
    A: Any,
    B: Any,
    *,
    tol: Any = None,
    atol: Any = None,
    compute_uv: bool | str = True,
    full_matrices: bool = False,
    overwrite: bool = False,
    check_finite: bool = True,
    method: str = "stack",
) -> GSVD:
    """Generalized singular value decomposition of two matrices with the same columns.

    ::

                     r        k        t
        diag(c) = [  I                    ]      directions only A has:  c = 1, s = 0
                  [           C           ]      shared:        1 > c > 0, 0 < s < 1
                  [                    0  ]      directions only B has:  c = 0, s = 1

        diag(s) = [  0                    ]
                  [           S           ]      C² + S² = I,  C falling,  S rising
                  [                    I  ]

             A      =  U (p, r+k) [ I       ] H[:r+k]
           (p, d)                 [    C    ]

             B      =  V (q, k+t) [    S    ] H[r:]
           (q, d)                 [       I ]

    U and V carry no padding: A's factors leave out the last t directions, B's the first r.

    Parameters
    ----------
    A : array-like, (p, d), or (..., p, d)
    B : array-like, (q, d), or (..., q, d)
        Real or complex, any p, q, d ≥ 0, any rank. float32, float64 and their complex
        kin are kept, integers and float16 raised. Not changed, unless `overwrite` says so.
        Arrays of more dimensions are stacks of pairs.
    tol : float or (float, float), optional
        Relative tolerance for "zero": a direction counts as missing from A when its share of A,
        ``c‖h‖``, is at most ``tol * ‖A‖₂``, and likewise for B; the same `tol`, relative to the
        stacked matrix with A and B scaled to like norms, decides the rank. Two numbers judge A
        and B by one each. Default: ``max(rows, d) * eps``, with the eps of the dtype passed, the
        coarser one of two (half precision: ``sqrt(min(rows, d)) * eps``, as only its rounding of
        the entries counts).
    atol : float or (float, float), optional
        Absolute tolerance, added to the relative one: what lies below ``tol * ‖A‖₂ + atol`` in A
        counts as zero. For data with errors of a known size.
    compute_uv : bool or {"U", "V"}
        False leaves out U and V, which saves up to half the time; a letter keeps one of them.
    full_matrices : bool
        True completes U to (p, p) and V to (q, q); the further columns come last.
    overwrite : bool
        True allows to write into A and B, which saves a copy of those in column order.
    check_finite : bool
        False skips the search for NaN and Inf. Only for data that cannot have any: LAPACK may
        crash or hang on them.
    method : {"stack", "tangent"}
        ``"tangent"`` is Drmač's algorithm: slower, for real NumPy arrays with a B of full column
        rank only, and without tolerances, but with every c/s right relative to itself where the
        columns of A and B are graded (in units of their own, say).

    Returns
    -------
    GSVD, or GSVDStack for a stack
        Frozen, with ``c, s, H, U, V, blocks`` and what follows from them: ``angles``,
        ``values``, ``X``, ``null_space()``, ``solve_tikhonov()``, ``lapack()`` and more.

    Raises
    ------
    InputError
        A ``ValueError``: for NaN or Inf (with their place), different numbers of columns, sparse
        matrices, and options that are off.

    See Also
    --------
    gsvdvals : c and s alone.
    gsvds : a few extreme directions of large sparse matrices or operators.
    scipy.linalg.cossin : the decomposition of a matrix with orthonormal columns.
    scipy.linalg.svd : what this is for B = I.

    Notes
    -----
    Order: c falls and s rises. The first r rows of H are orthogonal to each other, the longest
    first, and so are the last t. Signs: in each row of H the entry of largest magnitude (the
    first one, if several) is positive; U and V follow. What remains free are directions with
    equal angles in the shared block, determined only up to a rotation among themselves. The same
    input and number of threads give the same bits. Where A and B differ in scale by more than
    the dtype reaches, the smaller of c and s underflows to 0.

    The angles are accurate to about ``eps * κ(H)`` in radians, absolutely: a tangent of 1e-12 has
    an error of some 1e-16, so four digits (``method="tangent"`` can know more). The stack is
    factored by QR, its orthogonal factor by a symmetric eigenproblem whose two ends are then
    recomputed from the block in which they are small.

    Any rank is treated after Paige and Saunders [1]_; LAPACK's ``ggsvd3`` is that of Bai and
    Demmel [2]_, and ``method="tangent"`` that of Drmač [3]_. The page on the GSVD in the
    documentation has the formulas between the conventions of MATLAB, Julia and LAPACK.

    References
    ----------
    .. [1] C. C. Paige and M. A. Saunders, "Towards a generalized singular value decomposition",
       SIAM J. Numer. Anal. 18, 398-405 (1981).
    .. [2] Z. Bai and J. W. Demmel, "Computing the generalized singular value decomposition",
       SIAM J. Sci. Comput. 14, 1464-1486 (1993).
    .. [3] Z. Drmač, "A tangent algorithm for computing the generalized singular value
       decomposition", SIAM J. Numer. Anal. 35, 1804-1832 (1998).

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
    >>> left, right = f.reconstruct()
    >>> bool(np.allclose(left, A) and np.allclose(right, B))
    True
    """
    if is_stack(A, B):
        one = functools.partial(
            gsvd,
            tol=tol,
            atol=atol,
            compute_uv=compute_uv,
            full_matrices=full_matrices,
            overwrite=overwrite,
            check_finite=check_finite,
            method=method,
        )
        # Typed as what nearly all callers get: a stack has the same factors, and is asked for.
        return cast("GSVD", of_stack(A, B, one))
    want_u, want_v = as_sides(compute_uv)
    full_matrices = as_flag(full_matrices, "full_matrices")
    overwrite = as_flag(overwrite, "overwrite")
    pair = as_pair(A, B, finite=as_flag(check_finite, "check_finite"))
    wanted = Wanted(want_u, want_v, full_matrices, overwrite, overwrite)
    if as_option(method, "method", ("stack", "tangent")) == "tangent":
        if tol is not None or atol is not None:
            raise InputError("method='tangent' has no tolerances; leave tol and atol out.")
        return tangent.decompose(pair.A, pair.B, wanted).read_only()
    tolerances = as_tolerances(tol, atol, pair)
    return decompose(pair.A, pair.B, tolerances=tolerances, wanted=wanted).read_only()


def gsvdvals(
    A: Any, B: Any, *, tol: Any = None, atol: Any = None, check_finite: bool = True
) -> tuple[Array, Array]:
    """The values c (falling) and s (rising) of the GSVD alone.

    Parameters as in :func:`gsvd`. In a stack of pairs with different ranks, NaN fills up the
    shorter ones.

    Examples
    --------
    >>> from cospan import gsvdvals
    >>> c, s = gsvdvals([[3.0, 0.0]], [[4.0, 0.0]])
    >>> round(float(c[0]), 12), round(float(s[0]), 12)
    (0.6, 0.8)
    """
    check_finite = as_flag(check_finite, "check_finite")

    def one(A: Any, B: Any) -> GSVD:
        pair = as_pair(A, B, finite=check_finite)
        wanted = Wanted(u=False, v=False, frame=False)
        return decompose(pair.A, pair.B, tolerances=as_tolerances(tol, atol, pair), wanted=wanted)

    if is_stack(A, B):
        return stacked_values(of_stack(A, B, one))
    f = one(A, B)
    return f.c, f.s
