"""Checks on what users pass, and their messages.

Each message names the argument, says what is wrong with it and where, and what to do. Finiteness
is checked here, before any LAPACK call: an SVD of a matrix with an Inf can hang.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard

import numpy as np

from cospan.base.arrays import is_array, is_complex, namespace, to_numpy
from cospan.base.types import Array, Data
from cospan.errors import InputError

# ---- numbers, words and flags --------------------------------------------------------------------


def as_option(value: object, name: str, allowed: Sequence[str]) -> str:
    """One of a few words."""
    if isinstance(value, str) and value in allowed:
        return value
    choices = ", ".join(repr(word) for word in allowed)
    raise InputError(f"{name} is {value!r}; it must be one of {choices}.")


def as_shrinkage(value: object) -> float | str:
    """A number in [0, 1), or "auto"."""
    if isinstance(value, str) and value == "auto":
        return "auto"
    if is_real(value) and 0 <= value < 1:
        return float(value)
    raise InputError(f"shrinkage is {value!r}; it must be a number in [0, 1) or 'auto'.")


def as_tol(value: object) -> float | None:
    """A relative tolerance in [0, 1), or None for the default."""
    if value is None or (is_real(value) and 0 <= value < 1):
        return None if value is None else float(value)
    raise InputError(f"tol is {value!r}; it must be a number in [0, 1), or None for the default.")


def is_real(value: object) -> TypeGuard[float]:
    """Whether this is a number, and not a flag."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def as_flag(value: object, name: str) -> bool:
    """True or False, and not just something that counts as such."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise InputError(f"{name} is {value!r}; it must be True or False.")


def as_count(value: int, name: str, *, least: int = 1) -> int:
    """A whole number of at least 1, or of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def as_confidence(value: float, name: str = "confidence") -> float:
    """A level or a share strictly between 0 and 1."""
    if not isinstance(value, int | float | np.number) or not 0 < value < 1:
        raise InputError(f"{name} must lie strictly between 0 and 1, not {value!r}.")
    return float(value)


def as_seed(value: int, name: str = "random_state") -> int:
    """A whole number of at least 0."""
    return as_count(value, name, least=0)


# ---- whatever users pass as rows, as an array ----------------------------------------------------


def feature_names_of(X: object) -> tuple[str, ...] | None:
    """Column names of a dataframe, as strings; None for anything without names."""
    if is_array(X) or _is_lazy_frame(X):
        return None
    # pyarrow keeps the names apart from the columns
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return None if names is None else tuple(str(name) for name in names)


def _is_lazy_frame(X: object) -> bool:
    return hasattr(X, "collect") and hasattr(X, "collect_schema") and not hasattr(X, "to_numpy")


def _as_array(X: Data, name: str) -> Array:
    """X as an array of any dtype and number of dimensions; missing values are NaN."""
    remedy = _no_rows(X, name)
    if remedy is not None:
        raise InputError(f"{name} is a {remedy}")
    if is_array(X):
        return np.asarray(X) if isinstance(X, np.ma.MaskedArray) else X
    try:
        array = np.asarray(X)
    except ValueError:
        raise InputError(
            f"{name} has rows of different lengths; every row needs the same number of features."
        ) from None
    names = feature_names_of(X)
    if array.dtype.kind in "biufc" or names is None:
        return array
    if hasattr(X, "iloc"):  # pandas and its kin: one missing value makes an object of everything
        _check_columns(X.columns, X.dtypes, name)
        plain = [getattr(dtype, "numpy_dtype", dtype) for dtype in X.dtypes]
        single = all(dtype in (np.float16, np.float32) for dtype in plain)
        return np.asarray(X.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan))
    columns = [np.asarray(X[label]) for label in names]
    _check_columns(names, [column.dtype for column in columns], name)
    return np.column_stack([column.astype(np.float64) for column in columns])


def _no_rows(X: object, name: str) -> str | None:
    """What X is and what to do, where it is nothing that holds rows, in memory, all known."""
    kind = type(X).__name__
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        masked = int(np.ma.getmaskarray(X).sum())
        return (
            f"masked array and masks {masked} of its entries; drop those rows, or use "
            f"{name}.filled(...)."
        )
    if hasattr(X, "toarray"):
        return f"sparse matrix; pass {name}.toarray() if it fits in memory."
    if is_array(X) and str(getattr(X, "layout", "")).startswith("torch.sparse"):
        return f"sparse tensor; pass {name}.to_dense() if it fits in memory."
    if hasattr(X, "matvec") and hasattr(X, "rmatvec"):
        return f"{kind}, which has no rows to read; multiply it out."
    if _is_lazy_frame(X):
        return f"{kind}; collect() it first."
    if isinstance(X, (str, bytes, os.PathLike)):
        return f"{kind}, not rows; cospan.compare reads files, this takes their rows."
    if X is None or isinstance(X, dict):
        return f"{kind}; pass rows: an array, a list of lists, a dataframe."
    if isinstance(X, Iterator):
        return f"{kind}, not rows; cospan.Summary.of_chunks takes chunks."
    return None


def _check_columns(labels: Any, dtypes: Any, name: str) -> None:
    for label, dtype in zip(labels, dtypes, strict=True):
        if getattr(dtype, "kind", "O") not in "biufc":
            raise InputError(
                f"{name} has a column {str(label)!r} of dtype {dtype}, which is not numeric; "
                "leave it out or convert it to numbers."
            )


# ---- rows, weights and feature names -------------------------------------------------------------


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
    modules = (str(namespace(x).__name__).removeprefix("array_api_compat.") for x in (a, b))
    left, right = (name.split(".")[0].replace("numpy", "NumPy") for name in modules)
    if left != right:
        raise InputError(f"{name_a} is {left} and {name_b} is {right}; convert one of them.")


def _as_floating(array: Array, name: str, allow_complex: bool) -> Array:
    """Floating of at least 32 bits, in the machine's byte order, or an error."""
    xp = namespace(array)
    if isinstance(array, np.ndarray):
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        if array.dtype.kind not in "biufc":
            raise InputError(
                f"{name} has dtype {array.dtype}, which is not numeric; "
                f"convert it first, for example with numpy.asarray({name}, dtype=float)."
            )
    if is_complex(array):
        if not allow_complex:
            raise InputError(f"{name} is complex; cospan compares real data (pass its real part?).")
        known = array.dtype in (xp.complex64, xp.complex128)  # NumPy has wider ones, LAPACK not
        return array if known else xp.astype(array, xp.complex128)
    if array.dtype in (xp.float32, xp.float64):
        return array
    half = str(array.dtype).endswith("float16")  # of NumPy or torch, which has a bfloat16 too
    return xp.astype(array, xp.float32 if half else xp.float64)


def check_finite(array: Array, name: str, *, first_row: int = 0) -> None:
    """Raise where the first NaN or Inf sits."""
    xp = namespace(array)
    if not math.prod(array.shape):
        return
    # A finite sum proves finite entries in one pass; only a suspicious one needs the mask.
    with np.errstate(over="ignore", invalid="ignore"):
        if not is_complex(array) and math.isfinite(float(xp.sum(array))):
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


def as_rows(
    X: object,
    name: str,
    *,
    d: int | None = None,
    allow_empty: bool = False,
    allow_no_columns: bool = False,
    allow_complex: bool = False,
    first_row: int = 0,
) -> Array:
    """X as a finite two-dimensional array of float32 or float64, rows being samples.

    Arrays keep their namespace, device and dtype; integers become float64, float16 float32.
    Nothing is copied that need not be. In messages it is called `name`, and its first row by a
    number, for chunks of something longer.
    """
    given = _as_array(X, name)
    if given.ndim != 2 and given.shape != (0,):
        one = f"use {name}.reshape(1, -1)" if is_array(X) else f"wrap it in a list, [{name}],"
        hint = f"; {one} for one sample" if given.ndim == 1 else ""
        raise InputError(
            f"{name} must have two dimensions (rows are samples), got {given.ndim}{hint}."
        )
    if given.shape[0] == 0 and (given.ndim == 1 or not allow_empty):
        raise InputError(f"{name} has no rows; at least one sample is needed.")
    array = _as_floating(given, name, allow_complex)
    columns = array.shape[1]
    if columns == 0 and not allow_no_columns:
        raise InputError(f"{name} has no columns; at least one feature is needed.")
    if d is not None and columns != d:
        raise InputError(f"{name} has {columns} features where {d} are expected.")
    check_finite(array, name, first_row=first_row)
    return array


def as_weights(weights: object, rows: int, name: str = "sample_weight") -> np.ndarray:
    """One finite weight ≥ 0 per row, not all of them 0."""
    try:
        array = np.asarray(to_numpy(weights) if is_array(weights) else weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, one for each row.") from None
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
