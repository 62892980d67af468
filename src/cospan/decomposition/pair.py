"""What users pass to the GSVD: two matrices of one library, and tolerances."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import rank_tolerance
from cospan._validate import (
    as_rows_with_eps,
    as_tol,
    check_names,
    check_same_library,
    feature_names_of,
    is_real,
)
from cospan.errors import InputError


class Tolerances(NamedTuple):
    """Relative ones for the rank of the stack, of A and of B, and absolute ones for A and B.

    With `separate` A and B are each cut by their own before they meet.
    """

    stack: float
    a: float
    b: float
    absolute_a: float = 0.0
    absolute_b: float = 0.0
    separate: bool = False


class Wanted(NamedTuple):
    """Which left factors to compute, whether square ones, and what may be written to.

    Without `frame` only c and s count: H is left as it is on the way.
    """

    u: bool = True
    v: bool = True
    full: bool = False
    overwrite_a: bool = False
    overwrite_b: bool = False
    frame: bool = True


@functools.lru_cache
def default_tolerances(
    shape_a: tuple[int, ...], shape_b: tuple[int, ...], eps: float
) -> Tolerances:
    """What counts as zero where the user has not said so."""
    (p, d), q = shape_a, shape_b[0]
    return Tolerances(
        rank_tolerance(p + q, d, eps), rank_tolerance(p, d, eps), rank_tolerance(q, d, eps)
    )


# Entries up to which checks of their own take longer than looking at every entry.
_SMALL = 4096
_EPS = {
    np.dtype(kind): float(np.finfo(kind).eps)
    for kind in (np.float32, np.float64, np.complex64, np.complex128)
}


class Pair(NamedTuple):
    """Two matrices in one dtype, and the eps of what each had."""

    A: Array
    B: Array
    eps_a: float
    eps_b: float


def as_pair(A: Any, B: Any, *, finite: bool = True) -> Pair:
    """Both matrices, checked, in one dtype."""
    if _is_plain(A, B):
        eps = _EPS[A.dtype]
        if not finite or (np.isfinite(A).all() and np.isfinite(B).all()):
            return Pair(A, B, eps, eps)
    if not arrays.is_numpy(A, B):
        _check_kinds(A, B)
    A, eps_a = _as_matrix(A, "A", finite)
    B, eps_b = _as_matrix(B, "B", finite)
    check_same_library(A, B)
    if A.shape[1] != B.shape[1]:
        raise InputError(
            f"A has {A.shape[1]} columns and B has {B.shape[1]}; "
            "both need the same features in the same order."
        )
    if A.dtype != B.dtype:
        xp = arrays.namespace(A, B)
        dtype = xp.result_type(A, B)
        A, B = xp.astype(A, dtype, copy=False), xp.astype(B, dtype, copy=False)
    return Pair(A, B, eps_a, eps_b)


def _as_matrix(X: Any, name: str, finite: bool) -> tuple[Array, float]:
    return as_rows_with_eps(
        X, name, allow_empty=True, allow_complex=True, allow_no_columns=True, finite=finite
    )


def _is_plain(A: Any, B: Any) -> bool:
    """Small matrices of NumPy about which nothing needs to be asked or said: the common case."""
    return (
        type(A) is np.ndarray
        and type(B) is np.ndarray
        and A.dtype is B.dtype
        and A.dtype in _EPS
        and A.ndim == 2 == B.ndim
        and A.shape[1] == B.shape[1]
        and 0 < A.size < _SMALL
        and 0 < B.size < _SMALL
    )


def _check_kinds(A: Any, B: Any) -> None:
    for X, name in ((A, "A"), (B, "B")):
        if arrays.is_lazy(X):
            raise InputError(f"{name} is a Dask collection; compute() it first.")
        if hasattr(X, "toarray"):
            raise InputError(
                f"{name} is a sparse matrix; cospan.gsvds finds a few of its directions, and "
                f"{name}.toarray() gives all of them if it fits in memory."
            )
    check_names(B, feature_names_of(A), "B", whose="A's")


def as_tolerances(tol: Any, atol: Any, pair: Pair) -> Tolerances:
    """Tolerances for the stack, A and B from what the user gave: nothing, one or two numbers."""
    plain = default_tolerances(pair.A.shape, pair.B.shape, max(pair.eps_a, pair.eps_b))
    if tol is None and atol is None:
        return plain
    if atol is None and not isinstance(tol, tuple | list):
        one = as_tol(tol)
        return plain if one is None else Tolerances(one, one, one)
    tol_a, tol_b = (as_tol(x) for x in _two(tol, "tol"))
    absolute_a, absolute_b = (_as_absolute(x) for x in _two(atol, "atol"))
    tol_a = plain.a if tol_a is None else tol_a
    tol_b = plain.b if tol_b is None else tol_b
    return Tolerances(max(tol_a, tol_b), tol_a, tol_b, absolute_a, absolute_b, separate=True)


def _two(value: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(value, tuple | list):
        return value, value
    if len(value) != 2:
        raise InputError(f"{name} is {value!r}; give one number, or two, for A and for B.")
    return value[0], value[1]


def _as_absolute(value: Any) -> float:
    if value is None:
        return 0.0
    if is_real(value) and 0 <= float(value) < math.inf:
        return float(value)
    raise InputError(f"atol is {value!r}; it must be a finite number of at least 0.")


def as_sides(compute_uv: Any) -> tuple[bool, bool]:
    """Whether U and V are wanted."""
    if isinstance(compute_uv, (bool, np.bool_)):
        return bool(compute_uv), bool(compute_uv)
    if isinstance(compute_uv, str) and compute_uv in ("U", "V"):
        return compute_uv == "U", compute_uv == "V"
    raise InputError(
        f"compute_uv is {compute_uv!r}; it must be True or False, or 'U' or 'V' for one of them."
    )
