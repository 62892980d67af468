"""Results on their way out: as a dataframe, as cells of a CSV file, as JSON.

No dataframe library is a dependency of the core, so ``to_frame()`` takes the first installed one
of pandas, polars and pyarrow, or the one asked for. JSON has no NaN and no infinity: both become
None.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cospan.base.checks import as_option
from cospan.base.text import harmless, is_number, json_harmless
from cospan.base.types import DataFrame, Record
from cospan.errors import MissingDependencyError

BACKENDS = ("pandas", "polars", "pyarrow")


def make_dataframe(columns: Mapping[str, ArrayLike], backend: str | None = None) -> DataFrame:
    """A dataframe with these columns, in this order.

    The backend is ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default the first one installed.

    >>> make_dataframe({"id": ["x", "y"], "theta": [0.1, 1.2]}, backend="pandas")
      id  theta
    0  x    0.1
    1  y    1.2
    """
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    wanted = BACKENDS if backend is None else (as_option(backend, "backend", BACKENDS),)
    installed = [name for name in wanted if importlib.util.find_spec(name) is not None]
    if not installed:
        raise MissingDependencyError(
            f"A table needs {backend or 'pandas, polars or pyarrow'}, which is not installed: "
            f"pip install {backend or 'pandas'}."
        )
    library = importlib.import_module(installed[0])
    if installed[0] == "pandas":
        return library.DataFrame(arrays)
    # polars and pyarrow do not read NumPy's fixed-width text
    plain_text = {k: v.tolist() if v.dtype.kind in "US" else v for k, v in arrays.items()}
    return (library.table if installed[0] == "pyarrow" else library.DataFrame)(plain_text)


#: A cell of text that begins with one of these, also after blanks and in full width, is a formula
#: to a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def without_formulas(columns: Mapping[str, ArrayLike]) -> Record:
    """The same columns for a CSV file: text that a spreadsheet would run begins with a quote.

    Numbers are left alone, also where they are text; escape sequences are spelled out.

    >>> without_formulas({"id": ["=1+1", "-2.5", "x"], "n": np.array([-1])})
    {'id': ["'=1+1", '-2.5', 'x'], 'n': array([-1])}
    """
    cells = {}
    for name, values in columns.items():
        array = np.asarray(values)
        numeric = array.dtype.kind in "biuf"
        cells[_cell(name)] = values if numeric else [_cell(str(x)) for x in array.tolist()]
    return cells


def _cell(text: str) -> str:
    """Text that no spreadsheet runs and no terminal acts on."""
    text = harmless(text)
    formula = text.startswith(("\t", "\\r")) or text.lstrip().startswith(_FORMULA)
    return f"'{text}" if formula and not is_number(text) else text


def plain(value: object) -> Any:
    """Any result as types that JSON knows.

    >>> plain({"theta": np.array([1.5, np.nan]), "n": np.int64(3), "name": ("a", None)})
    {'theta': [1.5, None], 'n': 3, 'name': ['a', None]}
    """
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (np.bool_, np.integer)):
        return value.item()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        own = (f.name for f in dataclasses.fields(value) if f.compare)  # the rest is how it reads
        return {name: plain(getattr(value, name)) for name in own}
    return str(value)


def json_text(value: object) -> str:
    r"""Any result as strict JSON.

    >>> json_text({"θ": float("inf")})
    '{\n  "θ": null\n}'
    """
    text = json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False)
    return json_harmless(text)
