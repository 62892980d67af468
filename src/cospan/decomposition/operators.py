"""Matrices that are only multiplied with: sparse ones, dense ones, SciPy's LinearOperators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from cospan._validate import as_rows_with_eps
from cospan.errors import InputError

__all__ = ["Operator", "as_operators"]

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
