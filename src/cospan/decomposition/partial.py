"""A few extreme directions of large sparse matrices or operators: `gsvds`.

The directions are the eigenvectors of one symmetric operator, and SciPy's Lanczos method
(``eigsh``, ARPACK) finds those at an end from products with it. With A and B scaled to like norms
and M = AᴴA + BᴴB, the eigenvalues of

    W (AᴴA - BᴴB) Wᴴ        Wᴴ W = M⁻¹

are cos 2θ. Where the entries are known and columns are few enough, W comes from M itself
(`_BySquares`). Otherwise nothing is squared and nothing stored: the eigenvalues of y -> A x(y),
x(y) being the least-squares solution of [A; B] x = [y; 0], are cos²θ, and LSMR finds each x(y)
(`_ByLeastSquares`).

What is returned then comes from A and B themselves, so that squaring costs no digits of it: with x
a direction's vector, c and s are ‖A x‖ and ‖B x‖ scaled to c² + s² = 1, u = A x / c, v = B x / s,
and h = Aᴴu c + Bᴴv s.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from cospan.base.checks import as_count, as_option, as_rows_with_eps, as_seed
from cospan.base.tolerance import GRAM_RANK, LSMR_ACCURACY, rank_tolerance
from cospan.base.types import Data
from cospan.errors import InputError

_EPS = 2.0**-52
# Random vectors from which the size of an operator is estimated.
_PROBES = 8
# Columns up to which a square matrix of them is stored (1.2 GB in double precision).
_MOST_COLUMNS = 12_000
# Rows whose products are summed at once.
_ROWS = 50_000
# Vectors that ARPACK keeps for each direction, and at least; its default is 20 in all. With more
# there are fewer restarts, and they are cheap here.
_KEPT_EACH, _FEWEST_KEPT = 4, 60
# Steps of LSMR, times the rank it can need: rounding makes it repeat itself.
_LSMR_STEPS = 10


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
    A: Data,
    B: Data,
    k: int = 6,
    *,
    which: str = "A",
    tol: float = 0.0,
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
    a, b, alive = _as_operators(A, B)
    if a.shape[1] == 0:
        raise InputError("A and B are zero: there is no direction to find.")
    space = _whitened(a, b)
    if k >= space.dimension - 1:
        raise InputError(
            f"k is {k} where A and B have {space.dimension} directions; "
            "cospan.gsvd computes all of them at once."
        )
    ends = {"A": (k, 0), "B": (0, k), "both": (k - k // 2, k // 2)}[which]
    parts = [
        _extremes(space, side, count, tol, rng)
        for side, count in zip("AB", ends, strict=True)
        if count
    ]
    return _finished(a, b, np.concatenate(parts, axis=1), alive)


def _extremes(
    space: _BySquares | _ByLeastSquares, side: str, count: int, tol: float, rng: np.random.Generator
) -> np.ndarray:
    """Vectors x of the directions nearest to one side."""
    operator = space.operator(side)
    n = operator.shape[0]
    start = rng.standard_normal(n).astype(operator.dtype)
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
    return space.directions(side, vectors)


def _finished(a: _Operator, b: _Operator, X: np.ndarray, alive: np.ndarray | None) -> PartialGSVD:
    """Everything else from A, B and the vectors."""
    AX, BX = a.times(X), b.times(X)
    lengths_a, lengths_b = np.linalg.norm(AX, axis=0), np.linalg.norm(BX, axis=0)
    whole = np.hypot(lengths_a, lengths_b)
    c, s = lengths_a / whole, lengths_b / whole
    order = np.lexsort((s, -c))
    c, s = c[order], s[order]
    X, AX, BX = (x[:, order] / whole[order] for x in (X, AX, BX))
    from_a, from_b = a.adjoint_times(AX), b.adjoint_times(BX)
    H = from_a + from_b
    # Aᴴu = c h times c: AᴴA x - c² h, and likewise for B; one is minus the other.
    off = np.linalg.norm(from_a * s**2 - from_b * c**2, axis=0)
    reach = np.linalg.norm(H, axis=0)
    c = np.where(c * reach > rank_tolerance(*a.shape, _EPS) * a.norm, c, 0.0)
    s = np.where(s * reach > rank_tolerance(*b.shape, _EPS) * b.norm, s, 0.0)
    c, s = np.where(s == 0, 1.0, c), np.where(c == 0, 1.0, s)
    over_c, over_s = (np.where(x == 0, np.inf, x) for x in (c, s))
    residuals = np.maximum(
        off / over_c / a.norm if a.norm else 0 * off, off / over_s / b.norm if b.norm else 0 * off
    )
    largest = H[np.abs(H).argmax(axis=0), np.arange(H.shape[1])]
    phase = (largest / np.abs(largest)).conj()
    X, AX, BX, H = (x * phase for x in (X, AX, BX, H))
    if alive is not None:  # columns of A and B that were left out come back
        place = np.cumsum(alive) - 1
        X, H = (np.where(alive[:, None], x[place], 0) for x in (X, H))
    rows = np.ascontiguousarray(H.conj().T)
    return PartialGSVD(c, s, X, rows, AX / over_c, BX / over_s, residuals)


# ---- matrices that are only multiplied with ---------------------------------------------------


class _Operator(NamedTuple):
    """Products with a matrix and its adjoint, for blocks of columns, and its Frobenius norm."""

    shape: tuple[int, int]
    dtype: np.dtype
    times: Callable[[np.ndarray], np.ndarray]
    adjoint_times: Callable[[np.ndarray], np.ndarray]
    norm: float
    entries: object  # a sparse or dense matrix, or None where nobody knows them


def _as_operators(A: Data, B: Data) -> tuple[_Operator, _Operator, np.ndarray | None]:
    """Both as operators on the columns that are not zero in both, and the mask of those."""
    known = [_entries(X, name) for X, name in ((A, "A"), (B, "B"))]
    p, q = (
        X.shape if matrix is None else matrix.shape for X, matrix in zip((A, B), known, strict=True)
    )
    if p[1] != q[1]:
        raise InputError(
            f"A has {p[1]} columns and B has {q[1]}; both need the same features in the same order."
        )
    alive = None
    if all(matrix is not None for matrix in known):
        alive = sum(abs(matrix).sum(axis=0) for matrix in known) != 0
        alive = None if alive.all() else alive
    a, b = (
        _of_operator(X, name) if matrix is None else _of_matrix(matrix, alive)
        for X, matrix, name in zip((A, B), known, "AB", strict=True)
    )
    dtype = np.result_type(a.dtype, b.dtype)
    return a._replace(dtype=dtype), b._replace(dtype=dtype), alive


def _entries(X: Data, name: str) -> Any:
    """X as a sparse matrix in rows, a dense one, or None for an operator."""
    if isinstance(X, scipy.sparse.linalg.LinearOperator):
        return None
    if not scipy.sparse.issparse(X):
        return as_rows_with_eps(_doubled(np.asarray(X)), name, allow_complex=True)[0]
    if X.ndim != 2 or 0 in X.shape:
        raise InputError(f"{name} has shape {X.shape}; it needs rows and columns.")
    matrix = _doubled(scipy.sparse.csr_array(X))
    if not np.isfinite(matrix.data).all():
        raise InputError(f"{name} contains NaN or Inf; drop those rows or fill them in.")
    return matrix


def _doubled(X: Data) -> Any:
    """In double precision: ARPACK's single one stalls long before the residuals are small."""
    if X.dtype.kind not in "biufc":
        return X  # whose dtype is complained about elsewhere
    return X.astype(np.complex128 if X.dtype.kind == "c" else np.float64, copy=False)


def _of_matrix(X: Data, alive: np.ndarray | None) -> _Operator:
    if alive is not None:
        X = X[:, alive]
    adjoint = X.conj().T.tocsr() if scipy.sparse.issparse(X) else X.conj().T
    values = X.data if scipy.sparse.issparse(X) else X
    norm = float(np.sqrt(np.vdot(values, values).real))
    return _Operator(X.shape, X.dtype, lambda Y: X @ Y, lambda Y: adjoint @ Y, norm, X)


def _of_operator(X: Data, name: str) -> _Operator:
    complex_entries = np.dtype(X.dtype or float).kind == "c"
    dtype = np.dtype(np.complex128 if complex_entries else np.float64)
    probes = np.random.default_rng(0).standard_normal((X.shape[1], _PROBES))
    # The mean square length of images of random vectors is the sum of all squares.
    images = X.matmat(probes)
    if not np.isfinite(images).all():
        raise InputError(f"{name} maps finite vectors to NaN or Inf; check the operator.")
    norm = float(np.linalg.norm(images) / np.sqrt(_PROBES))
    return _Operator(X.shape, dtype, X.matmat, X.rmatmat, norm, None)


# ---- the symmetric operator whose extreme eigenvectors are the extreme directions -------------


def _whitened(a: _Operator, b: _Operator) -> _BySquares | _ByLeastSquares:
    """The way that suits the pair."""
    weights = 1 / (a.norm or 1.0), 1 / (b.norm or 1.0)
    if a.entries is None or b.entries is None or a.shape[1] > _MOST_COLUMNS:
        return _ByLeastSquares(a, b, weights)
    return _BySquares(a, b, weights)


def _gram(X: Data) -> np.ndarray:
    """XᴴX as a dense matrix."""
    if not scipy.sparse.issparse(X):
        return np.asarray(X.conj().T @ X)
    total = np.zeros((X.shape[1], X.shape[1]), X.dtype, order="F")
    for first in range(0, X.shape[0], _ROWS):
        rows = X[first : first + _ROWS]
        product = (rows.conj().T.tocsr() @ rows).tocoo()
        total[product.row, product.col] += product.data
    return total


class _BySquares:
    """Wᴴ from M = AᴴA + BᴴB: an inverse Cholesky factor, or scaled eigenvectors.

    Squaring costs half the digits of what is weak in the stack, but not of the result.
    """

    def __init__(self, a: _Operator, b: _Operator, weights: tuple[float, float]) -> None:
        self._a, self._b, self._weights = a, b, weights
        total = weights[0] ** 2 * _gram(a.entries) + weights[1] ** 2 * _gram(b.entries)
        self._root = _inverse_root(np.asfortranarray(total))
        self.dimension = self._root.shape[1]

    def operator(self, side: str) -> scipy.sparse.linalg.LinearOperator:
        sign = 1.0 if side == "A" else -1.0
        alpha, beta = (sign * weight**2 for weight in self._weights)
        forth = np.ascontiguousarray(self._root.conj().T)

        def times(z: np.ndarray) -> np.ndarray:
            x = self._root @ z.reshape(-1, 1)
            image = alpha * self._a.adjoint_times(self._a.times(x))
            image -= beta * self._b.adjoint_times(self._b.times(x))
            return np.asarray(forth @ image).ravel()

        shape = (self.dimension, self.dimension)
        return scipy.sparse.linalg.LinearOperator(shape, matvec=times, dtype=self._a.dtype)

    def directions(self, side: str, vectors: np.ndarray) -> np.ndarray:
        """The x that belong to eigenvectors."""
        return np.asarray(self._root @ vectors)


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


class _ByLeastSquares:
    """Least squares with the stack, each solved by LSMR."""

    def __init__(self, a: _Operator, b: _Operator, weights: tuple[float, float]) -> None:
        self._a, self._b, self._weights = a, b, weights
        self.dimension = min(a.shape[1], a.shape[0] + b.shape[0])
        p, (alpha, beta) = a.shape[0], weights

        def times(x: np.ndarray) -> np.ndarray:
            x = x.ravel()[:, None]
            return np.concatenate((alpha * a.times(x), beta * b.times(x))).ravel()

        def adjoint_times(y: np.ndarray) -> np.ndarray:
            y = y.ravel()[:, None]
            image = alpha * a.adjoint_times(y[:p]) + beta * b.adjoint_times(y[p:])
            return image.ravel()

        shape = (p + b.shape[0], a.shape[1])
        self._stack = scipy.sparse.linalg.LinearOperator(
            shape, matvec=times, rmatvec=adjoint_times, dtype=a.dtype
        )

    def _solved(self, side: str, y: np.ndarray) -> np.ndarray:
        """x with [A; B] x nearest to [y; 0], or to [0; y] for the side of B."""
        target = np.zeros(self._stack.shape[0], self._a.dtype)
        target[slice(0, len(y)) if side == "A" else slice(-len(y), None)] = y
        found = scipy.sparse.linalg.lsmr(
            self._stack,
            target,
            atol=LSMR_ACCURACY,
            btol=LSMR_ACCURACY,
            conlim=0,
            maxiter=_LSMR_STEPS * min(self._stack.shape),
        )
        return np.asarray(found[0])

    def operator(self, side: str) -> scipy.sparse.linalg.LinearOperator:
        own = self._a if side == "A" else self._b
        weight = self._weights[0 if side == "A" else 1]

        def times(y: np.ndarray) -> np.ndarray:
            return weight * own.times(self._solved(side, y.ravel())[:, None]).ravel()

        shape = (own.shape[0], own.shape[0])
        return scipy.sparse.linalg.LinearOperator(shape, matvec=times, dtype=own.dtype)

    def directions(self, side: str, vectors: np.ndarray) -> np.ndarray:
        return np.stack([self._solved(side, y) for y in vectors.T], axis=1)
