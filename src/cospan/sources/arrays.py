"""Arrays in memory, and everything on disk that is sliced or streamed like an array.

An :class:`ArrayReader` needs one function: ``pieces(size)``, the raw rows in order, `size` at a
time. :func:`sliced` makes it from something that can be sliced, and ``numpy_files`` from a stream.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cospan import _arrays
from cospan.errors import InputError, SourceError

from .base import Chunk, Options, Reader
from .cleaning import float_type

#: NumPy has no arrays of more.
MAX_DIMENSIONS = 64

Pieces = Callable[[int], Iterator[NDArray[Any]]]
Lookup = Callable[[str], Any]  # the labels of this name beside an array, or None


class ArrayReader(Reader):
    """Rows of one array of two or more dimensions; the later ones become one row's features."""

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        pieces: Pieces,
        options: Options,
        *,
        lookup: Lookup = lambda label: None,
        notes: tuple[str, ...] = (),
    ) -> None:
        labels = _label_array(options, name, lookup)
        self.name = name
        self.notes = notes
        self.dtype = float_type(dtype, name)
        self.n_rows = _row_count(name, shape)
        self._width = math.prod(shape[1:])  # a forged shape must not wrap around
        self._pieces = pieces
        self._labels = labels
        self._label_column: int | None = None
        if options.label is not None and labels is None:
            self._label_column = _column_number(options.label, self._width, name)
        elif labels is not None and len(labels) != self.n_rows:
            raise InputError(f"{name}: there are {len(labels):,} labels for {self.n_rows:,} rows.")
        self._columns = self._chosen(options)
        self.n_features = self._width if self._columns is None else len(self._columns)
        self.image_shape = _image_shape(shape) if self._columns is None else None
        if options.id_column is not None:
            raise InputError(f"{name}: an array has no columns by name, so id_column= cannot be.")

    def _chosen(self, options: Options) -> NDArray[Any] | None:
        if options.columns is not None:
            chosen = [_column_number(c, self._width, self.name) for c in options.columns]
            return np.array(chosen, dtype=np.intp)
        if self._label_column is None:
            return None
        if self._width == 1:
            raise SourceError(f"{self.name}: its only column is the label; no feature is left.")
        return np.delete(np.arange(self._width), self._label_column)

    def blocks(self, size: int) -> Iterator[Chunk]:
        start = 0
        for piece in self._pieces(size):
            rows = piece.reshape(len(piece), -1)
            ids = np.arange(start, start + len(rows))
            labels = None if self._labels is None else self._labels[start : start + len(rows)]
            if self._label_column is not None:
                labels = rows[:, self._label_column]
            start += len(rows)
            yield Chunk(rows if self._columns is None else rows[:, self._columns], ids, labels)


def array_reader(array: Any, options: Options, name: str) -> ArrayReader:
    """A reader of an array in memory, on whatever device, dense or SciPy sparse."""
    if array.ndim < 2:
        raise InputError(
            f"{name}: has {array.ndim} dimension(s), and rows of features need two; "
            "reshape(1, -1) makes one sample of a vector, reshape(-1, 1) one feature."
        )
    shape = tuple(int(n) for n in array.shape)
    if 0 in shape:
        raise InputError(f"{name}: is empty (shape {shape}).")
    dtype = to_numpy(array[:1, ...]).dtype
    return ArrayReader(name, shape, dtype, sliced(array, shape[0]), options)


def _label_array(options: Options, name: str, lookup: Lookup) -> NDArray[Any] | None:
    """The labels beside the rows: passed in, or found by name with `lookup`.

    None when there is no label, or when it is the number of one of the array's own columns.
    """
    label = options.label
    if isinstance(label, str):
        label = None if label.lstrip("-").isdigit() else lookup(label)
        if label is None and not options.label.lstrip("-").isdigit():
            raise InputError(
                f"{name}: an array has no column {options.label!r}; give label= as a "
                f"column "
                "number or as an array with one label per row."
            )
    if label is None or isinstance(label, int | np.integer):
        return None
    labels = to_numpy(label) if is_array(label) else np.asarray(label)
    if labels.ndim != 1:
        raise InputError(f"{name}: labels must have one dimension, not {labels.ndim}.")
    return labels


def sliced(array: Any, n_rows: int) -> Pieces:
    """The rows of anything that can be sliced."""

    def pieces(size: int) -> Iterator[NDArray[Any]]:
        for start in range(0, n_rows, size):
            yield to_numpy(array[start : min(start + size, n_rows), ...])

    return pieces


def is_array(obj: object) -> bool:
    """Whether `obj` is an array of any array-API library, or a SciPy sparse one."""
    return _arrays.is_array(obj) or sparse.issparse(obj)


def to_numpy(array: Any) -> NDArray[Any]:
    """`array` as a NumPy array in main memory; masked values become NaN."""
    if isinstance(array, np.ma.MaskedArray):
        floats = float_type(array.dtype, "array")
        return np.asarray(np.ma.filled(array.astype(floats), np.nan))
    if sparse.issparse(array):
        return np.asarray(array.toarray())
    if str(array.dtype).endswith("bfloat16"):
        # NumPy has no such type; float32 holds every one of its values.
        xp = _arrays.namespace(array)
        array = xp.astype(array, xp.float32)
    return _arrays.to_numpy(array)


def _row_count(name: str, shape: tuple[int, ...]) -> int:
    if len(shape) < 2:
        raise SourceError(
            f"{name}: has {len(shape)} dimension(s), and rows of features need two or more."
        )
    if len(shape) > MAX_DIMENSIONS:
        raise SourceError(
            f"{name}: has {len(shape)} dimensions; at most {MAX_DIMENSIONS} are read."
        )
    if 0 in shape:
        raise SourceError(f"{name}: is empty (shape {shape}).")
    return shape[0]


def _column_number(column: object, width: int, name: str) -> int:
    try:
        number = int(str(column))
    except ValueError:
        raise InputError(
            f"{name}: an array has no column {column!r}; give column numbers, 0 to {width - 1}."
        ) from None
    if not -width <= number < width:
        raise InputError(f"{name}: there is no column {number}; it has columns 0 to {width - 1}.")
    return number % width


def _image_shape(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """(n, h, w), (n, h, w, 1|3|4) and (n, 1, h, w) hold images."""
    if len(shape) == 3:
        return shape[1:]
    if len(shape) == 4 and shape[1] == 1:
        return shape[2:]
    if len(shape) == 4 and shape[3] == 1:
        return shape[1:3]
    if len(shape) == 4 and shape[3] in (3, 4):
        return shape[1:]
    return None
