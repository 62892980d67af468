"""Dask collections: blocks of rows that a scheduler computes, one at a time when read as chunks.

`Source.lazy` keeps the collection itself, so that whoever can leave the rows where they are (see
`cospan.distributed`) does. Columns and one class are taken by the workers; labels and identifiers
have to come here with the rows, so with those the rows come here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.errors import InputError

from .base import Chunk, Options, Reader
from .cleaning import float_type, matches


class LazyReader(Reader):
    """Rows of a Dask array or dataframe."""

    def __init__(self, collection: Any, options: Options, name: str | None) -> None:
        self.name = name or "dask"
        self._label: str | None = None
        self._id: str | None = None
        self.collection = collection
        if getattr(collection, "columns", None) is None:
            self._take_array(options)
        else:
            self._take_table(options)

    def _take_array(self, options: Options) -> None:
        if options.label is not None or options.columns is not None or options.id_column:
            raise InputError(
                f"{self.name}: choose columns and classes of a Dask array with Dask itself, "
                "for example X[y == 3][:, features]."
            )
        if getattr(self.collection, "ndim", 0) != 2:
            raise InputError(f"{self.name}: rows of features need two dimensions.")
        self._rows = self.collection
        self.n_features = int(self.collection.shape[1])
        rows = self.collection.shape[0]  # NaN where the sizes of chunks are not known
        self.n_rows = int(rows) if isinstance(rows, int | np.integer) else None
        self.dtype = float_type(self.collection.dtype, self.name)

    def _take_table(self, options: Options) -> None:
        """Numbers, as `encoding.lazy` leaves them, with labels and identifiers beside them."""
        self._label, self._id = options.label, options.id_column
        self._rows = self.collection
        beside = {self._label, self._id}
        self.feature_names = tuple(c for c in self._rows.columns if c not in beside)
        self.n_features = len(self.feature_names)
        self.n_rows = None
        single = (np.dtype(np.float32), np.dtype(np.float16))
        small = all(self._rows.dtypes[column] in single for column in self.feature_names)
        self.dtype = np.dtype(np.float32 if small else np.float64)
        alone = beside == {None}
        self.collection = self._rows.astype(self.dtype) if alone else None

    def blocks(self, size: int) -> Iterator[Chunk]:
        start = 0
        for rows, ids, labels in self._parts():
            for first in range(0, len(rows), size):
                part = slice(first, first + size)
                numbers = np.arange(start + first, start + min(first + size, len(rows)))
                yield Chunk(
                    rows[part],
                    numbers if ids is None else ids[part],
                    None if labels is None else labels[part],
                )
            start += len(rows)

    def _parts(self) -> Iterator[tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]]:
        if self.feature_names is None:
            for i in range(self._rows.numblocks[0]):
                yield np.asarray(self._rows.blocks[i].compute()), None, None
            return
        for i in range(self._rows.npartitions):
            part = self._rows.partitions[i].compute()
            rows = part[list(self.feature_names)].to_numpy(dtype=self.dtype, na_value=np.nan)
            ids, labels = (
                None if name is None else column_values(part[name])
                for name in (self._id, self._label)
            )
            yield rows, ids, labels


def of_class(part: Any, label: str, value: object) -> Any:
    """The rows of one class; called on the workers."""
    return part[matches(column_values(part[label]), value)]


def column_values(column: Any) -> NDArray[Any]:
    """Labels or identifiers: numbers as they are, anything else as text or None."""
    values = np.asarray(column.to_numpy())
    if values.dtype.kind in "biuf":
        return values
    return np.array([None if x is None or x != x else str(x) for x in values.tolist()], object)
