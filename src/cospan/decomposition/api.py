"""`gsvd` and `gsvdvals`: what they promise, and what they do with their arguments."""

from __future__ import annotations

from typing import Any

from cospan._arrays import Array
from cospan._validate import as_flag
from cospan.decomposition.kernel import Wanted, decompose
from cospan.decomposition.pair import as_pair, as_sides, as_tolerances
from cospan.decomposition.result import GSVD

__all__ = ["gsvd", "gsvdvals"]


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
    A : array-like, (p, d)
    B : array-like, (q, d)
        Real or complex, any p, q ≥ 0 (not both 0), any rank. float32, float64 and their complex
        kin are kept, integers and float16 raised. Not changed, unless `overwrite` says so.
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

    Returns
    -------
    GSVD
        Frozen, with ``c, s, H, U, V, blocks`` and what follows from them: ``angles``,
        ``values``, ``X``, ``null_space()``, ``solve_tikhonov()``, ``lapack()`` and more.

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
    small.

    There is no NumPy or SciPy equivalent; for orthonormal stacked columns ``scipy.linalg.cossin``
    is the nearest relative. For a few directions of large sparse matrices there is
    :func:`cospan.gsvds`.

    Examples
    --------
    >>> import numpy as np
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
    want_u, want_v = as_sides(compute_uv)
    full_matrices = as_flag(full_matrices, "full_matrices")
    overwrite = as_flag(overwrite, "overwrite")
    pair = as_pair(A, B, finite=as_flag(check_finite, "check_finite"))
    wanted = Wanted(want_u, want_v, full_matrices, overwrite, overwrite)
    tolerances = as_tolerances(tol, atol, pair)
    return decompose(pair.A, pair.B, tolerances=tolerances, wanted=wanted)


def gsvdvals(
    A: Any, B: Any, *, tol: Any = None, atol: Any = None, check_finite: bool = True
) -> tuple[Array, Array]:
    """The values c (falling) and s (rising) of the GSVD alone.

    Parameters as in :func:`gsvd`.

    Examples
    --------
    >>> from cospan import gsvdvals
    >>> c, s = gsvdvals([[3.0, 0.0]], [[4.0, 0.0]])
    >>> round(float(c[0]), 12), round(float(s[0]), 12)
    (0.6, 0.8)
    """
    factors = gsvd(A, B, tol=tol, atol=atol, compute_uv=False, check_finite=check_finite)
    return factors.c, factors.s
