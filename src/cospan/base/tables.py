"""Columns of a result as a dataframe of whichever library is there.

Results offer ``to_frame()``; this is what they call. No dataframe library is a dependency of the
core, so the first installed one of pandas, polars and pyarrow is taken, or the one asked for.
"""

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cospan.base.text import harmless, is_number
from cospan.errors import InputError, MissingDependencyError

__all__ = ["make_dataframe", "without_formulas"]

BACKENDS = ("pandas", "polars", "pyarrow")


def make_dataframe(columns: Mapping[str, ArrayLike], backend: str | None = None) -> Any:
    """A dataframe with these columns, in this order.

    The backend is ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default the first one installed.

    >>> from cospan.base.tables import make_dataframe
    >>> make_dataframe({"id": ["x", "y"], "theta": [0.1, 1.2]}, backend="pandas")
      id  theta
    0  x    0.1
    1  y    1.2
    """
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if any(len(shape) != 1 for shape in shapes.values()) or len(set(shapes.values())) > 1:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(f"Columns must be one-dimensional and of one length, but are: {listed}.")
    name = _choose(backend)
    if name == "pandas":
        return importlib.import_module("pandas").DataFrame(arrays)
    if name == "polars":
        return importlib.import_module("polars").DataFrame(_plain_text(arrays))
    return importlib.import_module("pyarrow").table(_plain_text(arrays))


def _choose(backend: str | None) -> str:
    if backend is None:
        installed = [name for name in BACKENDS if importlib.util.find_spec(name) is not None]
        if not installed:
            raise MissingDependencyError(
                "A table needs one of pandas, polars or pyarrow, and none is installed: install "
                "one, for instance with pip install pandas."
            )
        return installed[0]
    if backend not in BACKENDS:
        raise InputError(f"backend must be one of {', '.join(BACKENDS)}, not {backend!r}.")
    if importlib.util.find_spec(backend) is None:
        raise MissingDependencyError(
            f"backend={backend!r} is not installed: pip install {backend}, or leave backend out."
        )
    return backend


def _plain_text(arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    """Text columns as lists: polars and pyarrow do not read NumPy's fixed-width text."""
    return {
        name: array.tolist() if array.dtype.kind in "US" else array
        for name, array in arrays.items()
    }


#: A cell of text that begins with one of these, also after blanks and in full width, is a formula
#: to a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def without_formulas(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The same columns for a CSV file: text that a spreadsheet would run begins with a quote.

    Names and labels come from data, and ``=cmd|...`` in a cell is a program to some spreadsheets.
    Numbers are left alone, also where they are text. Escape sequences are spelled out: a CSV file
    is looked at on a terminal sooner or later.

    >>> without_formulas({"id": ["=1+1", "-2.5", "x"], "n": np.array([-1])})
    {'id': ["'=1+1", '-2.5', 'x'], 'n': array([-1])}
    """
    return {_plain(name): _plain_cells(values) for name, values in columns.items()}


def _plain_cells(values: Any) -> Any:
    array = np.asarray(values)
    return values if array.dtype.kind in "biuf" else [_plain(str(x)) for x in array.tolist()]


def _plain(text: str) -> str:
    text = harmless(text)
    formula = text.startswith(("\t", "\\r")) or text.lstrip().startswith(_FORMULA)
    return f"'{text}" if formula and not is_number(text) else text
