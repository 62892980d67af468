"""The options of sources, checked where they are given."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from cospan.base.types import Option, Values
from cospan.errors import InputError

#: An image_size above this would make rows of more than a million features.
MAX_PIXELS_SIZED = 2**20
MISSING = ("indicator", "mean", "drop", "error")
IMAGE_MODES = ("L", "RGB")


@dataclass(frozen=True)
class Options:
    """The keyword arguments of :func:`open_source`, checked."""

    label: Option = None
    label_value: Option = None
    groups: Option = None
    columns: tuple[str | int, ...] | None = None
    id_column: str | None = None
    chunk_rows: int | None = None
    missing: str | None = None
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    image_size: tuple[int, int] | None = None
    image_mode: str = "L"
    text: str | None = None
    embed: Option = None

    @classmethod
    def of(cls, **given: Option) -> Options:
        """Options as a user gives them: one name for several, one size for height and width."""
        for name in ("categorical", "numeric", "drop", "keep"):
            given[name] = tuple(map(str, _several(given.get(name) or ())))
        if given.get("columns") is not None:
            given["columns"] = _several(given["columns"])
        if isinstance(size := given.get("image_size"), int):
            given["image_size"] = (size, size)
        return cls(**given)

    def __post_init__(self) -> None:
        for option, allowed in (("missing", (None, *MISSING)), ("image_mode", IMAGE_MODES)):
            if getattr(self, option) not in allowed:
                known = listing([one for one in allowed if one is not None])
                raise InputError(f"{option} must be one of {known}, not {getattr(self, option)!r}.")
        if self.chunk_rows is not None and self.chunk_rows < 1:
            raise InputError(f"chunk_rows must be 1 or more, not {self.chunk_rows}.")
        size = self.image_size
        if size is not None and not (min(size) > 0 and math.prod(size) <= MAX_PIXELS_SIZED):
            raise InputError(
                f"image_size is {'x'.join(map(str, size))}, and must be positive and at most "
                f"{MAX_PIXELS_SIZED:,} pixels; every pixel is a feature, so take for example 64."
            )
        twice = [column for column, n in Counter(self.columns or ()).items() if n > 1]
        if twice or self.columns == ():
            wrong = f"names {twice[0]!r} twice" if twice else "is empty"
            raise InputError(f"columns {wrong}; name each feature to take once.")
        if self.label_value is not None and self.label is None:
            raise InputError(
                f"label_value={self.label_value!r} needs label= to say where the classes stand."
            )


def _several(given: Option) -> tuple[Any, ...]:
    return (given,) if isinstance(given, str | int) else tuple(given)


def beside_rows(given: Option, n_rows: int | None, name: str, option: str) -> Values | None:
    """Labels or groups that are an array with one entry for each row; None for a column's name."""
    if given is None or isinstance(given, str | int | np.integer):
        return None
    found = np.asarray(given)
    if found.ndim != 1 or (n_rows is not None and len(found) != n_rows):
        rows = "its rows" if n_rows is None else f"{n_rows:,} rows"
        raise InputError(
            f"{name}: {option}= has the shape {found.shape} for {rows}; give one entry for each "
            "row, or the name of a column."
        )
    return found


def float_type(dtype: np.dtype, name: str) -> np.dtype:
    """The float type that rows of `dtype` are given as: float32 stays, integers get float64."""
    if dtype.kind == "f":
        return np.dtype(np.float32 if dtype.itemsize <= 4 else np.float64)
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    kind = {"c": "complex numbers", "O": "Python objects", "V": "records"}.get(dtype.kind)
    raise InputError(f"{name}: holds {kind or dtype}, and rows of real numbers are needed.")


def listing(items: Sequence[object], limit: int = 8) -> str:
    """Name several things in a message.

    >>> listing(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(str(item)) for item in items[:limit])
    rest = len(items) - limit
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def require(there: Sequence[str], columns: Iterable[str], name: str, given: str) -> None:
    """A table called `name` has these columns, which the option `given` asked for."""
    absent = next((column for column in columns if column not in there), None)
    if absent is None:
        return
    lower = {column.lower(): column for column in reversed(there)}
    close = get_close_matches(absent.lower(), lower, 1)
    hint = f"Did you mean {lower[close[0]]!r}? Its" if close else "Its"
    raise InputError(
        f"{name}: has no column {absent!r} (asked for by {given}=). {hint} columns are "
        f"{listing(there, 20)}."
    )
