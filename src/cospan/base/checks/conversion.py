"""Whatever users pass as rows, as an array: lists, dataframes, and what is no rows at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from cospan.base.arrays import Array, is_array, namespace
from cospan.errors import InputError


def feature_names_of(X: object) -> tuple[str, ...] | None:
    """Column names of a dataframe, as strings; None for anything without names."""
    if is_array(X) or _is_lazy_frame(X):
        return None
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = getattr(X, "column_names", columns)  # pyarrow keeps the names apart from the columns
    return tuple(str(name) for name in names)


def as_array(X: Any, name: str) -> Array:
    """X as an array of any dtype and number of dimensions; missing values are NaN.

    Arrays stay in their namespace. Tables whose columns are all numeric become float64 where
    they do not share a dtype.
    """
    _check_kind(X, name)
    if is_array(X):
        return np.asarray(X) if isinstance(X, np.ma.MaskedArray) else X
    if hasattr(X, "column_names") and hasattr(X, "to_pandas"):  # pyarrow.Table
        columns = [column.to_numpy() for column in X.columns]
        for label, column in zip(X.column_names, columns, strict=True):
            _check_column(label, column.dtype, name)
        return np.column_stack(columns) if columns else np.empty((len(X), 0))
    try:
        array = np.asarray(X)
    except ValueError:
        raise InputError(
            f"{name} has rows of different lengths; every row needs the same number of features."
        ) from None
    if array.dtype.kind not in "biufc" and feature_names_of(X) is not None:
        return _numeric_table(X, name)
    return array


def _check_kind(X: Any, name: str) -> None:
    """Is X something that holds rows, in memory, all of them known?"""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        count = int(np.ma.getmaskarray(X).sum())
        raise InputError(
            f"{name} is a masked array and masks {count} of its entries; "
            f"drop those rows, or fill them in with {name}.filled(...)."
        )
    if hasattr(X, "toarray"):
        raise InputError(f"{name} is a sparse matrix; pass {name}.toarray() if it fits in memory.")
    if hasattr(X, "matvec") and hasattr(X, "rmatvec"):
        raise InputError(
            f"{name} is a {type(X).__name__}, which has no rows to read; cospan.gsvds takes "
            "operators, and everything else the matrix itself."
        )
    if is_array(X) and str(getattr(X, "layout", "")).startswith("torch.sparse"):
        raise InputError(f"{name} is a sparse tensor; pass {name}.to_dense() if it fits in memory.")
    if _is_lazy_frame(X):
        raise InputError(f"{name} is a LazyFrame; collect() it first.")
    kind = type(X).__name__
    if isinstance(X, (str, bytes, os.PathLike)):
        raise InputError(
            f"{name} is a {kind}, not rows; cospan.compare reads files, this takes their rows."
        )
    if X is None or isinstance(X, dict):
        raise InputError(f"{name} is a {kind}; pass rows: an array, a list of lists, a dataframe.")
    if isinstance(X, Iterator):
        raise InputError(
            f"{name} is a {kind}, whose rows come one by one or in chunks; "
            "cospan.Summary.of_chunks takes chunks."
        )


def _is_lazy_frame(X: object) -> bool:
    return hasattr(X, "collect") and hasattr(X, "collect_schema") and not hasattr(X, "to_numpy")


def _numeric_table(X: Any, name: str) -> np.ndarray:
    """A dataframe whose columns do not share a numeric dtype, as float64, or an error."""
    if hasattr(X, "iloc"):  # pandas and its kin: one missing value makes an object of everything
        for label, dtype in zip(X.columns, X.dtypes, strict=True):
            _check_column(label, dtype, name)
        return np.asarray(X.to_numpy(dtype=_common_float(X.dtypes), na_value=np.nan))
    columns = [np.asarray(X[label]) for label in X.columns]
    for label, column in zip(X.columns, columns, strict=True):
        _check_column(label, column.dtype, name)
    return np.column_stack([column.astype(np.float64) for column in columns])


def _common_float(dtypes: Any) -> np.dtype:
    """float32 where no column has more digits than that, else float64."""
    plain = [getattr(dtype, "numpy_dtype", dtype) for dtype in dtypes]  # pandas' nullable ones
    single = all(dtype in (np.float16, np.float32) for dtype in plain)
    return np.dtype(np.float32 if single and plain else np.float64)


def _check_column(label: object, dtype: Any, name: str) -> None:
    if getattr(dtype, "kind", "O") not in "biufc":
        raise InputError(
            f"{name} has a column {str(label)!r} of dtype {dtype}, which is not numeric; "
            "leave it out or convert it to numbers."
        )


def library_of(X: Array) -> str:
    """What to call an array's library in messages."""
    name = str(namespace(X).__name__).removeprefix("array_api_compat.").split(".")[0]
    return "NumPy" if name == "numpy" else name
