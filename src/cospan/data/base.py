"""What every source shares: chunks of rows, notes, options, and what a reader must offer.

A *reader* knows one kind of input and yields raw blocks; a Source puts the same cleaning behind
every reader.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base.notes import Note
from cospan.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

#: A chunk of rows takes about this much memory unless ``chunk_rows`` says otherwise.
CHUNK_BYTES = 32 * 2**20
#: Narrow tables get no more rows than this in a chunk: identifiers and labels cost memory too.
MAX_CHUNK_ROWS = 2**18
#: An image_size above this would make rows of more than a million features.
MAX_PIXELS_SIZED = 2**20
MISSING = ("indicator", "mean", "drop", "error")
IMAGE_MODES = ("L", "RGB")


class Chunk(NamedTuple):
    """Some consecutive rows of a source.

    Attributes
    ----------
    rows : ndarray of shape (n, d), float32 or float64, C-contiguous, finite
    ids : ndarray of shape (n,)
        Row numbers (int64, from 0, counted before any row is left out), or the values of the
        dataframe's index or of ``id_column``, or file names.
    labels : ndarray of shape (n,) or None
        Present when ``label`` was given without ``label_value``.
    times : ndarray of shape (n, columns) or None
        Days since 1970 in columns that say when a row is from and are not features (the plan's
        kind ``"time"``); NaN where a value is missing.
    merged : ndarray of shape (n,), uint64, or None
        A hash of each row's levels in the columns whose rare levels share a feature: rows that
        differ in these alone are equal as numbers. None where there is no such column.
    watched : ndarray of shape (n, k) or None
        How the texts of identifiers and free text, which make no feature, are written: what the
        plan's `watched` names; NaN where a text is missing. None where there is no such column.
    groups : ndarray of shape (n,) or None
        What rows have in common that belong together, where ``groups`` was given.
    """

    rows: Any
    ids: NDArray[Any]
    labels: NDArray[Any] | None = None
    times: NDArray[np.float64] | None = None
    merged: NDArray[np.uint64] | None = None
    watched: NDArray[np.float64] | None = None
    groups: NDArray[Any] | None = None

    def take(self, index: slice | NDArray[Any]) -> Chunk:
        """The rows that `index` picks, with all that lies beside them."""
        picked: Any = (None if column is None else _picked(column, index) for column in self)
        return Chunk(*picked)


def _picked(values: Any, index: slice | NDArray[Any]) -> Any:
    if isinstance(values, np.ndarray):
        return values[index]
    if not isinstance(index, slice):  # an Arrow batch
        return values.filter(index)
    start, stop, _ = index.indices(values.num_rows)
    return values.slice(start, stop - start)


def joined(chunks: list[Chunk]) -> Chunk:
    """Several chunks as one."""
    if len(chunks) == 1:
        return chunks[0]
    columns = list(zip(*chunks, strict=True))
    whole: Any = (None if column[0] is None else np.concatenate(column) for column in columns[1:])
    rows = columns[0]
    batches = not isinstance(rows[0], np.ndarray)
    return Chunk(_one_batch(rows) if batches else np.concatenate(rows), *whole)


def _one_batch(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """An empty column of one batch may be text in the next, and numbers may be."""
    import pyarrow as pa

    tables = [pa.Table.from_batches([batch]) for batch in batches]
    if any(table.schema != tables[0].schema for table in tables):
        texts = [{f.name for f in t.schema if pa.types.is_string(f.type)} for t in tables]
        mixed = set.union(*texts) - set.intersection(*texts)
        for i, table in enumerate(tables):
            fields = [f.with_type(pa.string()) if f.name in mixed else f for f in table.schema]
            tables[i] = table.cast(pa.schema(fields))
    whole = pa.concat_tables(tables, promote_options="permissive")
    return whole.combine_chunks().to_batches()[0]


class Reader(ABC):
    """One kind of input. Blocks may hold NaN (missing); everything else is the Source's work."""

    name: str
    n_features: int
    dtype: np.dtype[Any]
    n_rows: int | None = None
    feature_names: tuple[str, ...] | None = None
    image_shape: tuple[int, ...] | None = None
    owners: tuple[str, ...] | None = None  # for each feature the user's column it is made of
    embedded: bool = False  # whether a model made the rows
    clean: bool = False  # whether its blocks hold usual numbers only
    notes: tuple[Note, ...] = ()  # known when it was opened
    found: tuple[Note, ...] = ()  # in the last pass over its rows
    absurd: Mapping[str, int] = {}  # values of a column in the last pass, unless known before
    keeps: Any = None  # what has to live as long as this
    #: A Dask collection that can be left to the workers; None where labels are wanted too
    collection: Any = None

    @abstractmethod
    def blocks(self, size: int) -> Iterator[Chunk]:
        """Raw blocks of at most about `size` rows, from the first row, each time anew."""


@dataclass(frozen=True)
class Options:
    """The keyword arguments of :func:`open_source`, checked."""

    label: Any = None
    label_value: Any = None
    groups: Any = None
    columns: tuple[str | int, ...] | None = None
    id_column: str | None = None
    chunk_rows: int | None = None
    missing: str | None = None
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    strict: bool = False
    image_size: tuple[int, int] | None = None
    image_mode: str = "L"
    max_bad_images: int = 10
    text: str | None = None
    embed: Any = None

    def __post_init__(self) -> None:
        for option, allowed in (("missing", (None, *MISSING)), ("image_mode", IMAGE_MODES)):
            if getattr(self, option) not in allowed:
                known = listing([one for one in allowed if one is not None])
                raise InputError(f"{option} must be one of {known}, not {getattr(self, option)!r}.")
        if self.chunk_rows is not None and self.chunk_rows < 1:
            raise InputError(f"chunk_rows must be 1 or more, not {self.chunk_rows}.")
        if self.max_bad_images < 0:
            raise InputError(f"max_bad_images must be 0 or more, not {self.max_bad_images}.")
        if self.image_size is not None and min(self.image_size) < 1:
            raise InputError(f"image_size must be positive, not {self.image_size}.")
        if self.image_size is not None and math.prod(self.image_size) > MAX_PIXELS_SIZED:
            raise InputError(
                f"image_size is {'x'.join(map(str, self.image_size))}, above {MAX_PIXELS_SIZED:,} "
                "pixels; every pixel is a feature, so take a smaller one, for example 64."
            )
        if self.columns is not None and not self.columns:
            raise InputError("columns is empty: name at least one feature to take.")
        twice = [column for column, n in Counter(self.columns or ()).items() if n > 1]
        if twice:
            raise InputError(f"columns names {twice[0]!r} twice; name each feature once.")
        if self.label_value is not None and self.label is None:
            raise InputError(
                f"label_value={self.label_value!r} needs label= to say where the classes stand."
            )

    def rows_per_chunk(self, n_features: int, dtype: np.dtype[Any]) -> int:
        if self.chunk_rows is not None:
            return self.chunk_rows
        fitting = CHUNK_BYTES // max(1, n_features * dtype.itemsize)
        return int(min(max(fitting, 1), MAX_CHUNK_ROWS))


def group_array(groups: Any, n_rows: int | None, name: str) -> NDArray[Any] | None:
    """What rows have in common, beside them; None where no array was given."""
    if groups is None or isinstance(groups, str):
        return None
    found = np.asarray(groups)
    if found.ndim != 1 or (n_rows is not None and len(found) != n_rows):
        rows = "its rows" if n_rows is None else f"{n_rows:,} rows"
        raise InputError(
            f"{name}: groups= has the shape {found.shape} for {rows}; give one entry for each row, "
            "or the name of a column."
        )
    return found


def float_type(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
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


def require(there: Sequence[str], columns: Sequence[str], name: str, given: str = "") -> None:
    """A table called `name` has these columns, which the option `given` asked for."""
    absent = next((column for column in columns if column not in there), None)
    if absent is None:
        return
    asked = f" (asked for by {given}=)" if given else ""
    lower = {column.lower(): column for column in reversed(there)}
    close = get_close_matches(absent.lower(), lower, 1)
    hint = f"Did you mean {lower[close[0]]!r}? Its" if close else "Its"
    raise InputError(
        f"{name}: has no column {absent!r}{asked}. {hint} columns are {listing(there, 20)}."
    )
