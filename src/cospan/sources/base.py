"""What every source is: rows in chunks, with feature names and row identifiers.

A *reader* knows one kind of input and yields raw blocks; a :class:`Source` puts the same cleaning
(class selection, missing values, finite check, float type) behind every reader. So a new kind of
input is one small reader and nothing else.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cospan._warnings import warn
from cospan.errors import InputError

__all__ = ["Chunk", "Options", "Reader", "Source", "listing", "warn"]

#: A chunk of rows takes about this much memory unless ``chunk_rows`` says otherwise.
CHUNK_BYTES = 32 * 2**20
#: Narrow tables get no more rows than this in a chunk: identifiers and labels cost memory too.
MAX_CHUNK_ROWS = 2**18

#: An image_size above this would make rows of more than a million features.
MAX_PIXELS_SIZED = 2**20
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

    rows: NDArray[Any]
    ids: NDArray[Any]
    labels: NDArray[Any] | None = None

    def take(self, index: slice | NDArray[Any]) -> Chunk:
        """The rows that `index` picks, with their identifiers and labels."""
        labels = None if self.labels is None else self.labels[index]
        return Chunk(self.rows[index], self.ids[index], labels)


class Reader(Protocol):
    """One kind of input. Blocks may hold NaN (missing); everything else is the Source's work."""

    @property
    def name(self) -> str: ...
    @property
    def n_rows(self) -> int | None: ...
    @property
    def n_features(self) -> int: ...
    @property
    def feature_names(self) -> tuple[str, ...] | None: ...
    @property
    def image_shape(self) -> tuple[int, ...] | None: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...

    def blocks(self, size: int) -> Iterator[Chunk]:
        """Raw blocks of at most about `size` rows, from the first row, each time anew."""


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
        _one_of("missing", self.missing, MISSING)
        _one_of("image_mode", self.image_mode, IMAGE_MODES)
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
        times = Counter(self.columns or ())
        twice = [column for column, n in times.items() if n > 1]
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


class Source:
    """Rows of numbers from anywhere, in chunks.

    Made by :func:`cospan.sources.open_source`.

    Attributes
    ----------
    name : str
        What to call the data on screen: the file's name, or the kind of object.
    n_rows : int or None
        Rows that :meth:`chunks` will give; None while that takes a pass to find out
        (a class taken out of a table, rows dropped, CSV). Known after the first full pass.
    n_features : int
    feature_names : tuple of str, or None
    image_shape : tuple of int, or None
        (height, width) or (height, width, channels) when the features are pixels.
    reiterable : bool
        Whether :meth:`chunks` can be called again. True for everything that
        :func:`open_source` opens: what can be read only once is kept in a temporary file.
    dtype : numpy.dtype
        float32 or float64, of every chunk's rows.
    notes : tuple of str
        What a user should know about how the rows are read, as sentences.
    """

    def __init__(self, reader: Reader, options: Options, *, name: str | None = None) -> None:
        self._reader = reader
        self._options = options
        self._order: NDArray[Any] | None = None
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
        keeps_all = self._options.label_value is None and self._options.missing != "drop"
        return self._reader.n_rows if self._n_rows is None and keeps_all else self._n_rows

    @property
    def lazy(self) -> Any:
        """The Dask collection behind this source, where its rows are taken as they are; or None."""
        plain = self._order is None and self._options.missing == "error"
        return getattr(self._reader, "collection", None) if plain else None

    def chunks(self) -> Iterator[Chunk]:
        """Iterate over the rows, from the first one."""
        from .cleaning import clean, even

        size = self._options.rows_per_chunk(self.n_features, self.dtype)
        seen = 0
        for chunk in even(clean(self._reader, self._options, size, self.name), size):
            seen += len(chunk.rows)
            rows = chunk.rows if self._order is None else chunk.rows[:, self._order]
            yield chunk._replace(rows=np.ascontiguousarray(rows))
        self._n_rows = seen

    def read(self) -> Chunk:
        """All rows in one chunk; for data known to fit in memory."""
        from .cleaning import joined

        return joined(list(self.chunks()))

    def reordered(self, feature_names: Sequence[str]) -> Source:
        """The same rows with the columns in the order of `feature_names`."""
        if self.feature_names is None or set(self.feature_names) != set(feature_names):
            raise InputError(f"{self.name}: its features are not those of the order asked for.")
        place = {name: i for i, name in enumerate(self.feature_names)}
        order = np.array([place[name] for name in feature_names], dtype=np.intp)
        view = copy.copy(self)
        view._order = order if self._order is None else self._order[order]
        view.feature_names = tuple(feature_names)
        return view

    def __repr__(self) -> str:
        rows = "?" if self.n_rows is None else f"{self.n_rows:,}"
        return f"Source({self.name!r}, {rows} rows × {self.n_features:,} features)"


def listing(items: Sequence[object], limit: int = 8) -> str:
    """Name several things in a message.

    >>> listing(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(str(item)) for item in items[:limit])
    rest = len(items) - limit
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def _one_of(option: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InputError(f"{option} must be one of {listing(allowed)}, not {value!r}.")
