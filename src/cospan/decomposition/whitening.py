"""The symmetric operator whose extreme eigenvectors are the extreme directions.

With A and B scaled to like norms and M = AᴴA + BᴴB, the eigenvalues of

    W (AᴴA - BᴴB) Wᴴ        Wᴴ W = M⁻¹

are cos 2θ. Where the entries are known and columns are few enough, W comes from M itself: a
Cholesky factor, or eigenvectors where M is nearly singular. Squaring costs half the digits of
what is weak in the stack, but not of the result: that is computed from A and B again.

Matrices are only multiplied with: sparse ones, dense ones, SciPy's LinearOperators (`Operator`).
Otherwise nothing is squared and nothing stored: the eigenvalues of y -> A x(y), x(y) being the
least-squares solution of [A; B] x = [y; 0], are cos²θ, and LSMR finds each x(y).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from cospan._tolerance import GRAM_RANK, LSMR_ACCURACY
from cospan._validate import as_rows_with_eps
from cospan.errors import InputError

# Random vectors from which the size of an operator is estimated.
_PROBES = 8


class Operator(NamedTuple):
    """Products with a matrix and its adjoint, for blocks of columns, and its Frobenius norm."""

    shape: tuple[int, int]
    dtype: np.dtype
    times: Callable[[np.ndarray], np.ndarray]
    adjoint_times: Callable[[np.ndarray], np.ndarray]
    norm: float
    entries: Any  # a sparse or dense matrix, or None where nobody knows them


def as_operators(A: Any, B: Any) -> tuple[Operator, Operator, np.ndarray | None]:
    """Both as operators on the columns that are not zero in both, and the mask of those."""
    known = [_entries(X, name) for X, name in ((A, "A"), (B, "B"))]
    shapes = [X.shape if X is not None else Y.shape for X, Y in zip(known, (A, B), strict=True)]
    if shapes[0][1] != shapes[1][1]:
        raise InputError(
            f"A has {shapes[0][1]} columns and B has {shapes[1][1]}; "
            "both need the same features in the same order."
        )
    alive = None
    if all(X is not None for X in known):
        alive = sum(abs(X).sum(axis=0) for X in known) != 0
        alive = None if alive.all() else alive
    a, b = (
        _of_operator(X, name) if matrix is None else _of_matrix(matrix, alive)
        for X, matrix, name in zip((A, B), known, "AB", strict=True)
    )
    dtype = np.result_type(a.dtype, b.dtype)
    return a._replace(dtype=dtype), b._replace(dtype=dtype), alive


def _entries(X: Any, name: str) -> Any:
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


def _doubled(X: Any) -> Any:
    """In double precision: ARPACK's single one stalls long before the residuals are small."""
    if X.dtype.kind not in "biufc":
        return X  # whose dtype is complained about elsewhere
    return X.astype(np.complex128 if X.dtype.kind == "c" else np.float64, copy=False)


def _of_matrix(X: Any, alive: np.ndarray | None) -> Operator:
    if alive is not None:
        X = X[:, alive]
    adjoint = X.conj().T.tocsr() if scipy.sparse.issparse(X) else X.conj().T
    values = X.data if scipy.sparse.issparse(X) else X
    norm = float(np.sqrt(np.vdot(values, values).real))
    return Operator(X.shape, X.dtype, lambda Y: X @ Y, lambda Y: adjoint @ Y, norm, X)


def _of_operator(X: Any, name: str) -> Operator:
    complex_entries = np.dtype(X.dtype or float).kind == "c"
    dtype = np.dtype(np.complex128 if complex_entries else np.float64)
    probes = np.random.default_rng(0).standard_normal((X.shape[1], _PROBES))
    # The mean square length of images of random vectors is the sum of all squares.
    images = X.matmat(probes)
    if not np.isfinite(images).all():
        raise InputError(f"{name} maps finite vectors to NaN or Inf; check the operator.")
    norm = float(np.linalg.norm(images) / np.sqrt(_PROBES))
    return Operator(X.shape, dtype, X.matmat, X.rmatmat, norm, None)


# Columns up to which a square matrix of them is stored (1.2 GB in double precision), and products
# up to which it is summed: about a minute.
_MOST_COLUMNS = 12_000
_MOST_PRODUCTS = 3e10
# Rows whose products are summed at once.
_ROWS = 50_000


def whitened(a: Operator, b: Operator) -> _BySquares | _ByLeastSquares:
    """The way that suits the pair."""
    weights = 1 / (a.norm or 1.0), 1 / (b.norm or 1.0)
    if a.entries is None or b.entries is None or a.shape[1] > _MOST_COLUMNS:
        return _ByLeastSquares(a, b, weights)
    if _products(a.entries) + _products(b.entries) > _MOST_PRODUCTS:
        return _ByLeastSquares(a, b, weights)
    return _BySquares(a, b, weights)


def _products(X: Any) -> float:
    if scipy.sparse.issparse(X):
        return float((np.diff(X.indptr).astype(float) ** 2).sum())
    return float(X.shape[0] * X.shape[1] ** 2 / 20)  # dense ones run that much faster


def _gram(X: Any) -> np.ndarray:
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
    """W from AᴴA + BᴴB."""

    def __init__(self, a: Operator, b: Operator, weights: tuple[float, float]) -> None:
        self._a, self._b, self._weights = a, b, weights
        total = weights[0] ** 2 * _gram(a.entries) + weights[1] ** 2 * _gram(b.entries)
        total = np.asfortranarray(total)
        factor = _cholesky(total)
        self._triangular = factor is not None
        # Wᴴ is the inverse of the one, and the other itself.
        self._root: np.ndarray = _inverse_root(total) if factor is None else factor
        self.dimension = self._root.shape[1]

    def _back(self, z: np.ndarray) -> np.ndarray:
        """Wᴴ z."""
        if not self._triangular:
            return np.asarray(self._root @ z)
        return np.asarray(scipy.linalg.solve_triangular(self._root, z, check_finite=False))

    def _forth(self, x: np.ndarray) -> np.ndarray:
        """W x."""
        if not self._triangular:
            return np.asarray(self._root.conj().T @ x)
        solved = scipy.linalg.solve_triangular(self._root, x, trans="C", check_finite=False)
        return np.asarray(solved)

    def operator(self, side: str) -> Any:
        sign = 1.0 if side == "A" else -1.0
        alpha, beta = (sign * self._weights[0] ** 2, sign * self._weights[1] ** 2)

        def times(z: np.ndarray) -> np.ndarray:
            x = self._back(z.ravel())[:, None]
            image = alpha * self._a.adjoint_times(self._a.times(x))
            image -= beta * self._b.adjoint_times(self._b.times(x))
            return self._forth(image.ravel())

        shape, dtype = (self.dimension, self.dimension), self._a.dtype
        return scipy.sparse.linalg.LinearOperator(shape, matvec=times, dtype=dtype)

    def directions(self, side: str, vectors: np.ndarray) -> np.ndarray:
        """The x that belong to eigenvectors."""
        return self._back(vectors)


def _cholesky(total: np.ndarray) -> np.ndarray | None:
    """The upper triangular factor, or None where the matrix is nearly singular."""
    try:
        factor = scipy.linalg.cholesky(total, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    diagonal = np.abs(np.diagonal(factor))
    regular = diagonal.min() > GRAM_RANK * diagonal.max()
    return np.asarray(factor) if regular else None


def _inverse_root(total: np.ndarray) -> np.ndarray:
    """E Λ^(-1/2) for the eigenvalues Λ that are more than rounding."""
    values, vectors = scipy.linalg.eigh(total, driver="evd", check_finite=False)
    keep = values > GRAM_RANK**2 * values[-1]
    return np.asarray(vectors[:, keep] / np.sqrt(values[keep]))


class _ByLeastSquares:
    """Least squares with the stack, each solved by LSMR."""

    def __init__(self, a: Operator, b: Operator, weights: tuple[float, float]) -> None:
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
            maxiter=10 * min(self._stack.shape),
        )
        return np.asarray(found[0])

    def operator(self, side: str) -> Any:
        own = self._a if side == "A" else self._b
        weight = self._weights[0 if side == "A" else 1]

        def times(y: np.ndarray) -> np.ndarray:
            return weight * own.times(self._solved(side, y.ravel())[:, None]).ravel()

        shape = (own.shape[0], own.shape[0])
        return scipy.sparse.linalg.LinearOperator(shape, matvec=times, dtype=own.dtype)

    def directions(self, side: str, vectors: np.ndarray) -> np.ndarray:
        return np.stack([self._solved(side, y) for y in vectors.T], axis=1)
