"""A few extreme directions of large sparse matrices or operators: `gsvds`.

The directions are the eigenvectors of one symmetric operator with eigenvalues between the two
extremes, and SciPy's Lanczos method (``eigsh``, ARPACK) finds those at an end from products with
it. How the products are made is chosen in `whitening`. What is returned then comes from A and B
themselves: with x a direction's vector, c and s are ‖A x‖ and ‖B x‖ scaled to c² + s² = 1, so that
a small tangent has its digits, u = A x / c, v = B x / s, and h = Aᴴu c + Bᴴv s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse.linalg

from cospan._tolerance import rank_tolerance
from cospan._validate import as_count, as_flag, as_option, as_seed
from cospan.decomposition.whitening import Operator, as_operators, whitened
from cospan.errors import InputError

_EPS = 2.0**-52


@dataclass(frozen=True, eq=False)
class PartialGSVD:
    """Some directions of a pair, with everything that belongs to them.

    Attributes
    ----------
    c, s : ndarray, (k,)
        Cosines, falling, and sines.
    X : ndarray, (d, k)
        ``A X = U diag(c)`` and ``B X = V diag(s)``, exactly by construction.
    H : ndarray, (k, d)
        Rows of the joint frame, signed as in :func:`cospan.gsvd`.
    U, V : ndarray, (p, k) and (q, k), or None
        Left vectors. A column is zero where c or s is 0, by the rule of :func:`cospan.gsvd`.
    residuals : ndarray, (k,)
        ‖Aᴴu - c h‖/‖A‖ and ‖Bᴴv - s h‖/‖B‖ (Frobenius norms), the larger one: how far the
        direction is from one of the full GSVD.

    Examples
    --------
    >>> from scipy.sparse import random_array
    >>> from cospan import gsvds
    >>> rng = np.random.default_rng(0)
    >>> A, B = (random_array((300, 50), density=0.1, rng=rng) for _ in range(2))
    >>> found = gsvds(A, B, k=2)
    >>> found.H.shape, bool(found.residuals.max() < 1e-6)
    ((2, 50), True)
    """

    c: np.ndarray
    s: np.ndarray
    X: np.ndarray
    H: np.ndarray
    U: np.ndarray | None
    V: np.ndarray | None
    residuals: np.ndarray

    @property
    def angles(self) -> np.ndarray:
        """Each direction's angle in radians: 0 for A only, π/2 for B only."""
        return np.asarray(np.arctan2(self.s, self.c))

    @property
    def values(self) -> np.ndarray:
        """The generalized singular values c/s, inf where s is 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.c / self.s)

    def __repr__(self) -> str:
        low, high = np.rad2deg(self.angles[[0, -1]])
        worst = self.residuals.max()
        span = f"{len(self.c)} directions, {low:.4g}° to {high:.4g}°"
        return f"PartialGSVD({span}, residuals ≤ {worst:.1e})"


def gsvds(
    A: Any,
    B: Any,
    k: int = 6,
    *,
    which: str = "A",
    tol: float = 0.0,
    maxiter: int | None = None,
    compute_uv: bool = True,
    random_state: int = 0,
) -> PartialGSVD:
    """The k most extreme directions of two large matrices with the same columns.

    Parameters
    ----------
    A, B : sparse matrix or array, LinearOperator, or array, (p, d) and (q, d)
        Real or complex. Nothing of size (p, d) is made. Up to some ten thousand columns of known
        entries a (d, d) matrix is; beyond that, and for operators, least squares are solved by
        LSMR instead, which takes longer.
    k : int
        How many directions, fewer than the rank.
    which : {"A", "B", "both"}
        The ones nearest to A (largest c/s), nearest to B, or half of them from either end.
    tol : float
        Accuracy of the eigenvalues cos 2θ at which to stop; 0 is machine precision.
    maxiter : int, optional
        Restarts of the Lanczos method at most.
    compute_uv : bool
        False leaves out U and V.
    random_state : int
        Seed of the starting vector: the same one gives the same directions.

    Returns
    -------
    PartialGSVD
        With c falling, and a residual for each direction.

    Notes
    -----
    Directions that neither A nor B has, up to a relative 1e-7 of their stack, are left out (with
    operators: up to rounding). Where many directions have the same angle, as all those that only
    A has, k of them are returned, and which ones depends on `random_state`.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from cospan import gsvds
    >>> rng = np.random.default_rng(0)
    >>> A, B = (scipy.sparse.random_array((n, 60), density=0.1, rng=rng) for n in (900, 800))
    >>> found = gsvds(A, B, 2, which="both")
    >>> found.c.shape, found.H.shape, bool(found.residuals.max() < 1e-10)
    ((2,), (2, 60), True)
    """
    k, which = as_count(k, "k"), as_option(which, "which", ("A", "B", "both"))
    if not (isinstance(tol, int | float | np.number) and 0 <= tol < 1):
        raise InputError(f"tol is {tol!r}; it must be a number in [0, 1).")
    rng = np.random.default_rng(as_seed(random_state))
    compute_uv = as_flag(compute_uv, "compute_uv")
    a, b, alive = as_operators(A, B)
    if a.shape[1] == 0:
        raise InputError("A and B are zero: there is no direction to find.")
    space = whitened(a, b)
    if k >= space.dimension - 1:
        raise InputError(
            f"k is {k} where A and B have {space.dimension} directions; "
            "cospan.gsvd computes all of them at once."
        )
    ends = {"A": (k, 0), "B": (0, k), "both": (k - k // 2, k // 2)}[which]
    parts = [
        _extremes(space, side, count, tol, maxiter, rng)
        for side, count in zip("AB", ends, strict=True)
        if count
    ]
    return _finished(a, b, np.concatenate(parts, axis=1), alive, compute_uv)


def _extremes(
    space: Any, side: str, count: int, tol: float, maxiter: int | None, rng: np.random.Generator
) -> np.ndarray:
    """Vectors x of the directions nearest to one side."""
    operator = space.operator(side)
    n = operator.shape[0]
    start = rng.standard_normal(n).astype(operator.dtype)
    try:
        _, vectors = scipy.sparse.linalg.eigsh(
            operator,
            count,
            which="LA",
            v0=start,
            tol=tol,
            maxiter=maxiter,
            # More vectors than ARPACK's default of 20: fewer restarts, and they are cheap here.
            ncv=min(n, max(4 * count, 60)),
        )
    except scipy.sparse.linalg.ArpackNoConvergence as stopped:
        raise InputError(
            f"{len(stopped.eigenvalues)} of {count} directions were found within maxiter "
            "restarts; raise maxiter, or ask for a coarser tol such as 1e-8."
        ) from None
    return np.asarray(space.directions(side, vectors))


def _finished(
    a: Operator, b: Operator, X: np.ndarray, alive: np.ndarray | None, compute_uv: bool
) -> PartialGSVD:
    """Everything else from A, B and the vectors."""
    AX, BX = a.times(X), b.times(X)
    lengths_a, lengths_b = np.linalg.norm(AX, axis=0), np.linalg.norm(BX, axis=0)
    whole = np.hypot(lengths_a, lengths_b)
    c, s = lengths_a / whole, lengths_b / whole
    order = np.lexsort((s, -c))
    c, s, X, AX, BX = c[order], s[order], X[:, order], AX[:, order], BX[:, order]
    X, AX, BX = (x / whole[order] for x in (X, AX, BX))
    from_a, from_b = a.adjoint_times(AX), b.adjoint_times(BX)
    H = from_a + from_b
    # Aᴴu = c h times c: AᴴA x - c² h, and likewise for B; one is minus the other.
    off = np.linalg.norm(from_a * s**2 - from_b * c**2, axis=0)
    reach = np.linalg.norm(H, axis=0)
    c = np.where(c * reach > rank_tolerance(*a.shape, _EPS) * a.norm, c, 0.0)
    s = np.where(s * reach > rank_tolerance(*b.shape, _EPS) * b.norm, s, 0.0)
    c, s = np.where(s == 0, 1.0, c), np.where(c == 0, 1.0, s)
    sizes = [
        off / np.where(x == 0, np.inf, x) / norm if norm else 0 * off
        for x, norm in ((c, a.norm), (s, b.norm))
    ]
    largest = H[np.abs(H).argmax(axis=0), np.arange(H.shape[1])]
    phase = largest / np.abs(largest)
    X, AX, BX, H = (x * phase.conj() for x in (X, AX, BX, H))
    U = AX / np.where(c == 0, np.inf, c) if compute_uv else None
    V = BX / np.where(s == 0, np.inf, s) if compute_uv else None
    rows = np.ascontiguousarray(H.conj().T)
    return PartialGSVD(c, s, _spread(X, alive), _spread(rows.T, alive).T, U, V, np.maximum(*sizes))


def _spread(X: np.ndarray, alive: np.ndarray | None) -> np.ndarray:
    """Rows put back where columns of A and B were left out."""
    if alive is None:
        return X
    full = np.zeros((len(alive), X.shape[1]), X.dtype)
    full[alive] = X
    return full
