"""Dask collections: blocks of rows that a scheduler computes, one at a time when read as chunks.

`Source.lazy` keeps the collection itself, so that whoever can leave the rows where they are (see
`cospan.distributed`) does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.errors import InputError

from .base import Chunk, Options
from .cleaning import float_type

__all__ = ["LazyReader", "refuse_choices"]


class LazyReader:
    """Rows of a Dask array or dataframe."""

    image_shape: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, collection: Any, options: Options, name: str | None) -> None:
        self.name = name or "dask"
        refuse_choices(options, self.name)
        columns = getattr(collection, "columns", None)
        if columns is None and getattr(collection, "ndim", 0) != 2:
            raise InputError(f"{self.name}: rows of features need two dimensions.")
        self.collection = collection
        self.feature_names = None if columns is None else tuple(str(c) for c in columns)
        self.n_features = int(collection.shape[1]) if columns is None else len(columns)
        self.n_rows = _known(collection.shape[0])
        kinds = [collection.dtype] if columns is None else list(collection.dtypes)
        self.dtype = float_type(np.result_type(*kinds), self.name)

    def blocks(self, size: int) -> Iterator[Chunk]:
        start = 0
        for part in self._parts():
            for first in range(0, len(part), size):
                rows = part[first : first + size]
                yield Chunk(rows, np.arange(start + first, start + first + len(rows)))
            start += len(part)

    def _parts(self) -> Iterator[NDArray[Any]]:
        if hasattr(self.collection, "partitions") and self.feature_names is not None:
            for i in range(self.collection.npartitions):
                yield self.collection.partitions[i].compute().to_numpy()
        else:
            for i in range(self.collection.numblocks[0]):
                yield np.asarray(self.collection.blocks[i].compute())


def refuse_choices(options: Options, name: str) -> None:
    """Rows and columns of a collection are chosen before it comes here."""
    if options.label is not None or options.columns is not None or options.id_column:
        raise InputError(
            f"{name}: choose columns and classes of a Dask collection with Dask itself, "
            "for example frame[frame.label == 3][features]."
        )


def _known(rows: Any) -> int | None:
    """The number of rows, if it is a number already: Dask dataframes compute theirs."""
    return int(rows) if isinstance(rows, int | np.integer) else None
