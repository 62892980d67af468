"""What every source is: rows in chunks, with feature names and row identifiers.

A *reader* knows one kind of input and yields raw blocks; a :class:`Source` puts the same cleaning
(class selection, missing values, finite check, float type) behind every reader. So a new kind of
input is one small reader and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..errors import InputError

__all__ = ["Chunk", "Options", "Reader", "Source", "listing"]

#: A chunk of rows takes about this much memory unless ``chunk_rows`` says otherwise.
CHUNK_BYTES = 32 * 2**20
#: Narrow tables get no more rows than this in a chunk: identifiers and labels cost memory too.
MAX_CHUNK_ROWS = 2**18

MISSING = ("error", "drop", "mean")
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
    """

    rows: np.ndarray[Any, Any]
    ids: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any] | None = None


class Reader(Protocol):
    """One kind of input. Blocks may hold NaN (missing); everything else is the Source's work."""

    name: str
    n_rows: int | None
    n_features: int
    feature_names: tuple[str, ...] | None
    image_shape: tuple[int, ...] | None
    dtype: np.dtype[Any]
    notes: tuple[str, ...]

    def blocks(self, size: int) -> Iterator[Chunk]:
        """Raw blocks of at most about `size` rows, from the first row, each time anew."""
        ...  # pragma: no cover


@dataclass(frozen=True)
class Options:
    """The keyword arguments of :func:`open_source`, checked."""

    label: Any = None
    label_value: Any = None
    columns: tuple[str | int, ...] | None = None
    id_column: str | None = None
    chunk_rows: int | None = None
    missing: str = "error"
    strict: bool = False
    image_size: tuple[int, int] | None = None
    image_mode: str = "L"
    max_bad_images: int = 10

    def __post_init__(self) -> None:
        if self.missing not in MISSING:
            raise InputError(f"missing must be one of {listing(MISSING)}, not {self.missing!r}.")
        if self.image_mode not in IMAGE_MODES:
            raise InputError(
                f"image_mode must be one of {listing(IMAGE_MODES)}, not {self.image_mode!r}."
            )
        if self.chunk_rows is not None and self.chunk_rows < 1:
            raise InputError(f"chunk_rows must be 1 or more, not {self.chunk_rows}.")
        if self.max_bad_images < 0:
            raise InputError(f"max_bad_images must be 0 or more, not {self.max_bad_images}.")
        if self.label_value is not None and self.label is None:
            raise InputError(
                f"label_value={self.label_value!r} needs label= to say where the classes stand."
            )
        if self.image_size is not None and min(self.image_size) < 1:
            raise InputError(f"image_size must be positive, not {self.image_size}.")

    def rows_per_chunk(self, n_features: int, dtype: np.dtype[Any]) -> int:
        if self.chunk_rows is not None:
            return self.chunk_rows
        fitting = CHUNK_BYTES // max(1, n_features * dtype.itemsize)
        return int(min(max(fitting, 1), MAX_CHUNK_ROWS))


class Source:
    """Rows of numbers from anywhere, in chunks.

    Made by :func:`cospan.sources.open_source`.

    Attributes
    ----------
    name : str
        What to call the data on screen: the file's or variable's name.
    n_rows : int or None
        Rows that :meth:`chunks` will give; None while that takes a pass to find out
        (a class taken out of a table, rows dropped, streams). Known after the first full pass.
    n_features : int
    feature_names : tuple of str, or None
    image_shape : tuple of int, or None
        (height, width) or (height, width, channels) when the features are pixels.
    reiterable : bool
        Whether :meth:`chunks` can be called again. True for everything here; a reader for
        one-way streams may set it False.
    dtype : numpy.dtype
        float32 or float64, of every chunk's rows.
    notes : tuple of str
        What a user should know about how the rows were read, as sentences.
    """

    def __init__(self, reader: Reader, options: Options, *, name: str | None = None) -> None:
        self._reader = reader
        self._options = options
        self._order: np.ndarray[Any, Any] | None = None
        self._fill: np.ndarray[Any, Any] | None = None
        self._n_rows: int | None = None
        self.name = name or reader.name
        self.n_features = reader.n_features
        self.feature_names = reader.feature_names
        self.image_shape = reader.image_shape
        self.reiterable = True
        self.dtype = reader.dtype
        self.notes = reader.notes

    @property
    def n_rows(self) -> int | None:
        if self._n_rows is None and self._takes_every_row:
            return self._reader.n_rows
        return self._n_rows

    @property
    def _takes_every_row(self) -> bool:
        return self._options.label_value is None and self._options.missing != "drop"

    def chunks(self) -> Iterator[Chunk]:
        """Iterate over the rows from the beginning."""
        raise NotImplementedError

    def read(self) -> Chunk:
        """All rows in one chunk; for data known to fit in memory."""
        raise NotImplementedError

    def __repr__(self) -> str:
        rows = "?" if self.n_rows is None else f"{self.n_rows:,}"
        return f"Source({self.name!r}, {rows} rows × {self.n_features:,} features)"


def listing(items: Sequence[object], limit: int = 8) -> str:
    """'a', 'b', 'c' and 4 more: how messages name several things."""
    shown = ", ".join(repr(str(item)) for item in items[:limit])
    rest = len(items) - limit
    return f"{shown} and {rest:,} more" if rest > 0 else shown
