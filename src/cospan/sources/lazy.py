"""Dask collections: blocks of rows that a scheduler computes, one at a time when read as chunks.

`Source.lazy` keeps the collection itself, so that whoever can leave the rows where they are (see
`cospan.distributed`) does. Columns and one class are taken by the workers; labels and identifiers
have to come here with the rows, so with those the rows come here too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._surface import option
from cospan.errors import InputError

from .base import Chunk, Options, listing
from .cleaning import float_type, matches

__all__ = ["LazyReader", "column_values", "of_class", "require"]


class LazyReader:
    """Rows of a Dask array or dataframe."""

    image_shape: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, collection: Any, options: Options, name: str | None) -> None:
        self.name = name or "dask"
        self._label: str | None = None
        self._id: str | None = None
        self.feature_names: tuple[str, ...] | None = None
        #: What can be left to the workers; None where labels or identifiers are wanted too.
        self.collection: Any = collection
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
        self.n_rows = _known(self.collection.shape[0])
        self.dtype = float_type(self.collection.dtype, self.name)

    def _take_table(self, options: Options) -> None:
        table = self.collection.rename(columns=str)
        if options.label is not None and not isinstance(options.label, str):
            raise InputError(f"{self.name}: {option('label')} names a column of a Dask dataframe.")
        self._label, self._id = options.label, options.id_column
        require(table, [x for x in (self._label, self._id) if x is not None], self.name)
        features = self._features(table, options)
        self.dtype = _common_float([table.dtypes[column] for column in features])
        if self._label is not None and options.label_value is not None:
            table = table.map_partitions(
                of_class, self._label, options.label_value, meta=table._meta
            )
            self._label = None
        beside = [x for x in (self._label, self._id) if x is not None and x not in features]
        self._rows = table[[*features, *beside]]
        self.feature_names = tuple(features)
        self.n_features = len(features)
        self.n_rows = None
        alone = self._label is None and self._id is None
        self.collection = self._rows.astype(self.dtype) if alone else None

    def _features(self, table: Any, options: Options) -> list[str]:
        """The columns asked for, or every column of numbers, as of any other table."""
        numeric = {column for column in table.columns if _is_numeric(table.dtypes[column])}
        apart = {options.label, options.id_column}
        chosen = [
            str(c) for c in options.columns or table.columns if options.columns or c not in apart
        ]
        require(table, chosen, self.name)
        odd = [column for column in chosen if column not in numeric]
        if odd:
            options.leave_out(f"{self.name}: column {listing(odd)} is not numeric")
        useful = [column for column in chosen if column in numeric]
        if not useful:
            raise InputError(f"{self.name}: no column holds numbers.")
        return useful

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


def _is_numeric(dtype: Any) -> bool:
    """Numbers and booleans, of NumPy's types or of pandas' own."""
    return getattr(dtype, "kind", "O") in "biuf"


def _common_float(dtypes: Sequence[Any]) -> np.dtype[Any]:
    """float32 where every column is no wider, else float64."""
    small = all(dtype in (np.dtype(np.float32), np.dtype(np.float16)) for dtype in dtypes)
    return np.dtype(np.float32 if small else np.float64)


def require(table: Any, columns: Sequence[str], name: str) -> None:
    there = set(table.columns)
    absent = [column for column in columns if column not in there]
    if absent:
        raise InputError(
            f"{name}: has no column {listing(absent)}; its columns are "
            f"{listing(list(table.columns), 20)}."
        )


def _known(rows: Any) -> int | None:
    """The number of rows, if it is a number already: unknown chunks count as NaN."""
    return int(rows) if isinstance(rows, int | np.integer) else None
