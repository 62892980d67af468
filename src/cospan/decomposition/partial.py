"""A few extreme directions of large sparse matrices: `gsvds`.

With A and B scaled to like norms and M = AᴴA + BᴴB, the eigenvalues of

    W (AᴴA - BᴴB) Wᴴ        Wᴴ W = M⁻¹

are cos 2θ. SciPy's Lanczos method (``eigsh``, ARPACK) finds those at an end from products with A, B
and W, which comes from M, a square matrix of as many columns as A and B have.

What is returned then comes from A and B themselves, so that squaring costs no digits of it: with x
a direction's vector, c and s are ‖A x‖ and ‖B x‖ scaled to c² + s² = 1, u = A x / c, v = B x / s,
and h = Aᴴu c + Bᴴv s.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from cospan.base.checks import as_count, as_option, as_rows, as_seed
from cospan.base.tolerance import GRAM_RANK, rank_tolerance
from cospan.base.types import Data
from cospan.errors import InputError

_EPS = 2.0**-52
# Columns up to which a square matrix of them is stored (1.2 GB in double precision).
_MOST_COLUMNS = 12_000
# Vectors that ARPACK keeps for each direction, and at least; its default is 20 in all. With more
# there are fewer restarts, and they are cheap here.
_KEPT_EACH, _FEWEST_KEPT = 4, 60


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
    U, V : ndarray, (p, k) and (q, k)
        Left vectors. A column is zero where c or s is 0, by the rule of :func:`cospan.gsvd`.
    residuals : ndarray, (k,)
        ‖Aᴴu - c h‖/‖A‖ and ‖Bᴴv - s h‖/‖B‖ (Frobenius norms), the larger one: how far the
        direction is from one of the full GSVD.
    """

    c: np.ndarray
    s: np.ndarray
    X: np.ndarray
    H: np.ndarray
    U: np.ndarray
    V: np.ndarray
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
        span = f"{len(self.c)} directions, {low:.4g}° to {high:.4g}°"
        return f"PartialGSVD({span}, residuals ≤ {self.residuals.max():.1e})"


def gsvds(
    A: Data, B: Data, k: int = 6, *, which: str = "A", tol: float = 0.0, random_state: int = 0
) -> PartialGSVD:
    """The k most extreme directions of two large matrices with the same columns.

    Parameters
    ----------
    A, B : sparse matrix or array, or array, (p, d) and (q, d)
        Real or complex, with up to 12,000 columns. Nothing of size (p, d) is made, one matrix of
        size (d, d) is.
    k : int
        How many directions, fewer than the rank.
    which : {"A", "B", "both"}
        The ones nearest to A (largest c/s), nearest to B, or half of them from either end.
    tol : float
        Accuracy of the eigenvalues cos 2θ at which to stop; 0 is machine precision.
    random_state : int
        Seed of the starting vector: the same one gives the same directions.

    Returns
    -------
    PartialGSVD
        With c falling, and a residual for each direction.

    Notes
    -----
    Directions that neither A nor B has, up to a relative 1e-7 of their stack, are left out. Where
    many directions have the same angle, as all those that only A has, k of them are returned, and
    which ones depends on `random_state`.

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
    a, b = _as_pair(A, B)
    root = _inverse_root(
        np.asfortranarray(_gram(a) / (a.norm or 1) ** 2 + _gram(b) / (b.norm or 1) ** 2)
    )
    if k >= root.shape[1] - 1:
        raise InputError(
            f"k is {k} where A and B have {root.shape[1]} directions; "
            "cospan.gsvd computes all of them at once."
        )
    ends = {"A": (k, 0), "B": (0, k), "both": (k - k // 2, k // 2)}[which]
    parts = [
        _extremes(a, b, root, side, count, tol, rng)
        for side, count in zip("AB", ends, strict=True)
        if count
    ]
    return _finished(a, b, np.concatenate(parts, axis=1))


def _extremes(
    a: _Matrix,
    b: _Matrix,
    root: np.ndarray,
    side: str,
    count: int,
    tol: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Vectors x of the directions nearest to one side."""
    n, forth = root.shape[1], np.ascontiguousarray(root.conj().T)
    sign = 1.0 if side == "A" else -1.0
    alpha, beta = (sign / (X.norm or 1.0) ** 2 for X in (a, b))

    def times(z: np.ndarray) -> np.ndarray:
        x = root @ z.reshape(-1, 1)
        image = alpha * (a.adjoint @ (a.matrix @ x)) - beta * (b.adjoint @ (b.matrix @ x))
        return np.asarray(forth @ image).ravel()

    operator = scipy.sparse.linalg.LinearOperator((n, n), matvec=times, dtype=root.dtype)
    start = np.asarray(rng.standard_normal(n), dtype=root.dtype)
    kept = min(n, max(_KEPT_EACH * count, _FEWEST_KEPT))
    try:
        _, vectors = scipy.sparse.linalg.eigsh(
            operator, count, which="LA", v0=start, tol=tol, ncv=kept
        )
    except scipy.sparse.linalg.ArpackNoConvergence as stopped:
        raise InputError(
            f"{len(stopped.eigenvalues)} of {count} directions were found; ask for fewer, or for "
            "a coarser tol such as 1e-8."
        ) from None
    return np.asarray(root @ vectors)


def _finished(a: _Matrix, b: _Matrix, X: np.ndarray) -> PartialGSVD:
    """Everything else from A, B and the vectors."""
    AX, BX = a.matrix @ X, b.matrix @ X
    lengths_a, lengths_b = np.linalg.norm(AX, axis=0), np.linalg.norm(BX, axis=0)
    whole = np.hypot(lengths_a, lengths_b)
    c, s = lengths_a / whole, lengths_b / whole
    order = np.lexsort((s, -c))
    c, s = c[order], s[order]
    X, AX, BX = (x[:, order] / whole[order] for x in (X, AX, BX))
    from_a, from_b = a.adjoint @ AX, b.adjoint @ BX
    H = from_a + from_b
    # Aᴴu = c h times c: AᴴA x - c² h, and likewise for B; one is minus the other.
    off = np.linalg.norm(from_a * s**2 - from_b * c**2, axis=0)
    reach = np.linalg.norm(H, axis=0)
    (p, d), q = a.matrix.shape, b.matrix.shape[0]
    c = np.where(c * reach > rank_tolerance(p, d, _EPS) * a.norm, c, 0.0)
    s = np.where(s * reach > rank_tolerance(q, d, _EPS) * b.norm, s, 0.0)
    c, s = np.where(s == 0, 1.0, c), np.where(c == 0, 1.0, s)
    over_c, over_s = (np.where(x == 0, np.inf, x) for x in (c, s))
    residuals = np.maximum(
        off / over_c / a.norm if a.norm else 0 * off, off / over_s / b.norm if b.norm else 0 * off
    )
    largest = H[np.abs(H).argmax(axis=0), np.arange(H.shape[1])]
    phase = (largest / np.abs(largest)).conj()
    X, AX, BX, H = (x * phase for x in (X, AX, BX, H))
    rows = np.ascontiguousarray(H.conj().T)
    return PartialGSVD(c, s, X, rows, AX / over_c, BX / over_s, residuals)


# ---- the matrices ------------------------------------------------------------------------------


class _Matrix(NamedTuple):
    """A sparse or dense matrix, its adjoint, and its Frobenius norm."""

    matrix: Any
    adjoint: Any
    norm: float


def _as_pair(A: Data, B: Data) -> tuple[_Matrix, _Matrix]:
    """Both in one dtype."""
    found = [_entries(X, name) for X, name in ((A, "A"), (B, "B"))]
    d, other = (X.shape[1] for X in found)
    if d != other:
        raise InputError(
            f"A has {d} columns and B has {other}; both need the same features in the same order."
        )
    if d > _MOST_COLUMNS:
        raise InputError(
            f"A and B have {d:,} columns, more than {_MOST_COLUMNS:,}, of which a square matrix "
            "fits in memory; keep those that vary most."
        )
    dtype = np.result_type(*found)
    sides = []
    for X in (X.astype(dtype, copy=False) for X in found):
        sparse = scipy.sparse.issparse(X)
        values = X.data if sparse else X
        adjoint = X.conj().T.tocsr() if sparse else X.conj().T
        sides.append(_Matrix(X, adjoint, float(np.sqrt(np.vdot(values, values).real))))
    a, b = sides
    if not a.norm and not b.norm:
        raise InputError("A and B are zero: there is no direction to find.")
    return a, b


def _entries(X: Data, name: str) -> Any:
    """X in double precision, sparse in rows or dense: ARPACK's single one stalls long before."""
    sparse = scipy.sparse.issparse(X)
    X = X if sparse else as_rows(X, name, allow_complex=True)
    if X.ndim != 2 or 0 in X.shape:
        raise InputError(f"{name} has shape {X.shape}; it needs rows and columns.")
    dtype = np.complex128 if X.dtype.kind == "c" else np.float64
    if not sparse:
        return np.asarray(X).astype(dtype, copy=False)
    matrix = scipy.sparse.csr_array(X).astype(dtype, copy=False)
    if not np.isfinite(matrix.data).all():
        raise InputError(f"{name} contains NaN or Inf; drop those rows or fill them in.")
    return matrix


def _gram(side: _Matrix) -> np.ndarray:
    """XᴴX as a dense matrix."""
    product = side.adjoint @ side.matrix
    return np.asarray(product.toarray() if scipy.sparse.issparse(product) else product)


def _inverse_root(total: np.ndarray) -> np.ndarray:
    """Wᴴ with W M Wᴴ = 1, on the eigenvectors of M that are more than rounding."""
    with suppress(np.linalg.LinAlgError):
        factor = scipy.linalg.cholesky(total, check_finite=False)
        diagonal = np.abs(np.diagonal(factor))
        if diagonal.min() > GRAM_RANK * diagonal.max():
            (invert,) = scipy.linalg.get_lapack_funcs(("trtri",), (factor,))
            return np.asarray(invert(factor)[0])
    values, vectors = scipy.linalg.eigh(total, driver="evd", check_finite=False)
    keep = values > GRAM_RANK**2 * values[-1]
    return np.asarray(vectors[:, keep] / np.sqrt(values[keep]))
