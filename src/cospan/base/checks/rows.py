"""Rows, weights and feature names that users pass, checked or refused in one sentence."""

from __future__ import annotations

import math
from typing import Any, TypedDict, Unpack

import numpy as np

from cospan.base.arrays import Array, eps, grand_total, is_array, is_complex, namespace, to_numpy
from cospan.base.checks.conversion import as_array, feature_names_of, library_of
from cospan.errors import InputError


def check_names(
    X: object, names: tuple[str, ...] | None, label: str, *, whose: str = "the frame's"
) -> None:
    """Are the columns of X, if they have names, those in `names`, in that order?"""
    found = feature_names_of(X)
    if found is None or names is None or found == names:
        return
    if sorted(found) == sorted(names):
        raise InputError(f"{label} has {whose} columns in another order; reorder them by name.")
    unknown = sorted(set(found) - set(names))[:3]
    missing = sorted(set(names) - set(found))[:3]
    raise InputError(
        f"{label}'s columns are not {whose} (missing: {missing}, unknown: {unknown}); "
        "pass the same features in the same order."
    )


def check_same_library(a: Array, b: Array, name_a: str = "A", name_b: str = "B") -> None:
    """Do two arrays live in one library, so that they can be computed with together?"""
    left, right = library_of(a), library_of(b)
    if left != right:
        raise InputError(f"{name_a} is {left} and {name_b} is {right}; convert one of them.")


def _check_dtype(array: Array, name: str, allow_complex: bool = False) -> Array:
    """Floating of at least 32 bits, in the machine's byte order, or an error."""
    xp = namespace(array)
    if isinstance(array, np.ndarray) and not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if allow_complex and xp.isdtype(array.dtype, "complex floating"):
        known = array.dtype in (xp.complex64, xp.complex128)  # NumPy has wider ones, LAPACK not
        return array if known else xp.astype(array, xp.complex128)
    if isinstance(array, np.ndarray) and array.dtype.kind not in "biuf":
        if array.dtype.kind == "c":
            raise InputError(f"{name} is complex; cospan compares real data (pass {name}.real?).")
        raise InputError(
            f"{name} has dtype {array.dtype}, which is not numeric; "
            f"convert it first, for example with numpy.asarray({name}, dtype=float)."
        )
    if xp.isdtype(array.dtype, "complex floating"):
        raise InputError(f"{name} is complex; cospan compares real data (pass its real part?).")
    if array.dtype in (xp.float32, xp.float64):
        return array
    if _is_half(array):
        return xp.astype(array, xp.float32)
    return xp.astype(array, xp.float64)


def check_finite(array: Array, name: str, *, first_row: int = 0) -> None:
    """Raise where the first NaN or Inf sits."""
    xp = namespace(array)
    total = 0.0
    if math.prod(array.shape):
        total = math.nan if is_complex(array) else grand_total(array)
    # A finite sum proves finite entries in one pass; only a suspicious one needs the mask.
    if math.isfinite(total):
        return
    bad = ~to_numpy(xp.isfinite(array))
    if not bad.any():
        return
    row, column = (int(i) for i in np.argwhere(bad)[0])
    kind = "NaN" if bool(xp.isnan(array[row, column])) else "Inf"
    count = int(bad.sum())
    raise InputError(
        f"{name} contains {kind} at row {first_row + row}, column {column} "
        f"({count} such {'entry' if count == 1 else 'entries'}); drop those rows or fill them in."
    )


class RowRules(TypedDict, total=False):
    """What rows may be."""

    d: int | None  # the number of columns they must have
    allow_empty: bool  # whether no rows at all are all right
    first_row: int  # what to call row 0 in messages, for chunks of something longer
    allow_complex: bool  # complex rows stay as they are
    allow_no_columns: bool
    finite: bool  # False trusts the caller


def as_rows(X: Any, name: str, **rules: Unpack[RowRules]) -> Array:
    """X as a finite two-dimensional array of float32 or float64, rows being samples.

    Arrays keep their namespace, device and dtype; integers become float64, float16 float32.
    Nothing is copied that need not be.
    In messages it is called `name`.
    """
    return as_rows_with_eps(X, name, **rules)[0]


def as_rows_with_eps(X: Any, name: str, **rules: Unpack[RowRules]) -> tuple[Array, float]:
    """`as_rows`, and the eps of X's own dtype: float16 rows in float32 have no more digits."""
    given = as_array(X, name)
    _check_dimensions(given, X, name)
    array = _check_dtype(given, name, rules.get("allow_complex", False))
    rows, columns = array.shape
    if columns == 0 and not rules.get("allow_no_columns"):
        raise InputError(f"{name} has no columns; at least one feature is needed.")
    d = rules.get("d")
    if d is not None and columns != d:
        raise InputError(f"{name} has {columns} features where {d} are expected.")
    if rows == 0 and not rules.get("allow_empty"):
        raise InputError(f"{name} has no rows; at least one sample is needed.")
    if rules.get("finite", True):
        check_finite(array, name, first_row=rules.get("first_row", 0))
    return array, eps(given if _is_half(given) else array)


def _check_dimensions(array: Array, X: Any, name: str) -> None:
    if array.ndim == 2:
        return
    if array.shape == (0,):
        raise InputError(f"{name} has no rows; at least one sample is needed.")
    hint = ""
    if array.ndim == 1:
        one = f"use {name}.reshape(1, -1)" if is_array(X) else f"wrap it in a list, [{name}],"
        hint = f"; {one} for one sample"
    raise InputError(f"{name} must have two dimensions (rows are samples), got {array.ndim}{hint}.")


def _is_half(array: Array) -> bool:
    if isinstance(array, np.ndarray):
        return bool(array.dtype == np.float16)
    xp = namespace(array)
    return any(array.dtype == getattr(xp, name, None) for name in ("float16", "bfloat16"))


def as_weights(weights: Any, rows: int, name: str = "sample_weight") -> np.ndarray:
    """One finite weight ≥ 0 per row, not all of them 0."""
    try:
        array = np.asarray(to_numpy(weights) if is_array(weights) else weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, one for each row.") from None
    if array.ndim == 0:
        array = np.full(rows, float(array))
    if array.shape != (rows,):
        raise InputError(f"{name} has shape {array.shape} where ({rows},) is expected.")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        raise InputError(
            f"{name} at row {bad[0]} is {array[bad[0]]}; weights must be finite and not negative."
        )
    if rows and not array.any():
        raise InputError(f"{name} is zero for every row; at least one row must count.")
    return array
