"""Dask collections: rows stay with the workers as long as they can.

A Dask array is read block by block, or left to the workers (:attr:`Source.lazy`). Of a Dask
dataframe each partition is learned and encoded where it is; the learners merge in a tree, and only
its root, which is small, comes here. The encoded dataframe is as lazy as the given one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.distributed import reduced
from cospan.errors import InputError

from .base import Chunk, Options, Reader, float_type, require
from .encoding import encode_by
from .learn import SetLearner, merged_learners
from .plan import EncodingPlan, SetProfile
from .source import matches
from .streams import PandasStream
from .tables import Table


def _refuse_groups(options: Options, name: str) -> None:
    if options.groups is not None:
        raise InputError(
            f"{name}: groups= is for rows that are read here, not by Dask; compute() them first."
        )


class LazyReader(Reader):
    """Rows of a Dask array, or of a dataframe of numbers with labels and identifiers beside."""

    def __init__(self, collection: Any, options: Options, name: str | None) -> None:
        self.name = name or "dask"
        _refuse_groups(options, self.name)
        self._rows, self._label, self._id = collection, options.label, options.id_column
        if hasattr(collection, "columns"):
            beside = (self._label, self._id)
            self.feature_names = tuple(c for c in collection.columns if c not in beside)
            self.n_features = len(self.feature_names)
            self.dtype = np.dtype(np.float64)
            self.collection = collection if beside == (None, None) else None
            return
        if options.label is not None or options.columns is not None or options.id_column:
            raise InputError(
                f"{self.name}: choose columns and classes of a Dask array with Dask itself, "
                "for example X[y == 3][:, features]."
            )
        if getattr(collection, "ndim", 0) != 2:
            raise InputError(f"{self.name}: rows of features need two dimensions.")
        self.collection = collection
        rows, self.n_features = collection.shape  # NaN where the sizes of chunks are not known
        self.n_rows = int(rows) if isinstance(rows, int | np.integer) else None
        self.dtype = float_type(collection.dtype, self.name)

    def blocks(self, size: int) -> Iterator[Chunk]:
        start = 0
        for whole in self._parts():
            n = len(whole.rows)
            ids = np.arange(start, start + n) if self._id is None else whole.ids
            for first in range(0, n, size):
                yield whole._replace(ids=ids).take(slice(first, first + size))
            start += n

    def _parts(self) -> Iterator[Chunk]:
        if self.feature_names is None:
            for i in range(self._rows.numblocks[0]):
                rows = np.asarray(self._rows.blocks[i].compute())
                yield Chunk(rows, np.empty(0))
            return
        for i in range(self._rows.npartitions):
            part = self._rows.partitions[i].compute()
            rows = part[list(self.feature_names)].to_numpy(dtype=self.dtype, na_value=np.nan)
            ids = np.empty(0) if self._id is None else _values(part[self._id])
            yield Chunk(rows, ids, None if self._label is None else _values(part[self._label]))


class LazyTable(Table):
    """A Dask dataframe before it is known what to make of its columns."""

    def __init__(self, collection: Any, options: Options, name: str | None) -> None:
        self.name = name or "dask"
        _refuse_groups(options, self.name)
        self._group = self._groups = None
        self.n_rows, self.notes, self.options = None, (), options
        if options.label is not None and not isinstance(options.label, str):
            raise InputError(f"{self.name}: label= names a column of a Dask dataframe.")
        collection = collection.rename(columns=str)
        self._label, self._id = options.label, options.id_column
        beside = [x for x in (self._label, self._id) if x is not None]
        require(list(collection.columns), beside, self.name)
        if self._label is not None and options.label_value is not None:
            collection = collection.map_partitions(
                _of_class, self._label, options.label_value, meta=collection._meta
            )
            self._label = None
        chosen = [str(c) for c in options.columns or collection.columns if c not in beside]
        self.schema = PandasStream(collection._meta, self.name).schema
        self.columns = tuple(c for c in chosen if c in collection.columns and c not in options.drop)
        if options.strict:
            wrong = [c for c in self.columns if collection.dtypes[c].kind not in "biuf"]
            if wrong:
                self.refuse(wrong)
        self._collection = collection

    @property
    def all_columns(self) -> list[str]:
        return list(self._collection.columns)

    def learn(self, name: str, forced: Mapping[str, str], alone: set[str]) -> list[SetLearner]:
        """One pass over the partitions, by the workers."""
        import dask

        leaf = dask.delayed(_learned, pure=False)
        parts = [
            leaf(part, name, self.columns, dict(forced), alone)
            for part in self._collection.to_delayed()
        ]
        return [reduced(parts, merged_learners)]

    def encoded(self, plan: EncodingPlan, profiles: tuple[SetProfile, ...] = ()) -> Reader:
        """The dataframe with its features in place of its columns, still lazy."""
        beside = [x for x in (self._label, self._id) if x is not None]
        options = Options(label=self._label, id_column=self._id)
        meta = _dataframe(plan, []).assign(**{x: self._collection._meta[x] for x in beside})
        encoded = self._collection.map_partitions(_encoded, plan, self.name, beside, meta=meta)
        return LazyReader(encoded, options, self.name)

    def batches(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """These columns in Arrow batches of at most `size` rows, a partition at a time."""
        wanted = self._collection[list(columns)]
        for part in map(wanted.get_partition, range(wanted.npartitions)):
            here = part.compute()
            if len(here):
                yield from local_table(here, self.name).batches(columns, size)

    def classes(self) -> list[Any]:
        """The classes that the labels name."""
        if self._label is None:
            raise InputError(f"{self.name}: a Dask collection has no labels here.")
        values = _values(self._collection[self._label].unique().compute())
        return sorted({value for value in values.tolist() if value is not None}, key=str)


def local_table(part: Any, name: str) -> Table:
    """A partition as a table of its own, on its worker."""
    return Table(PandasStream(part.reset_index(drop=True), name), Options())


def _learned(
    part: Any, name: str, columns: tuple[str, ...], forced: dict[str, str], alone: set[str]
) -> SetLearner:
    """What one partition holds; its texts are learned as texts, whatever they look like."""
    table = local_table(part[list(columns)], name) if len(part) else None
    learner = SetLearner.of_columns(
        name,
        columns,
        forced,
        words=columns,
        declared=() if table is None else table.declared,
        alone=alone,
    )
    for batch in table.batches(columns, len(part)) if table is not None else ():
        learner.add(batch)
    return learner


def _encoded(part: Any, plan: EncodingPlan, name: str, beside: list[str]) -> Any:
    """One partition as features, with labels and identifiers beside them."""
    if len(part) == 0:
        return _dataframe(plan, []).assign(**{x: part[x] for x in beside})
    chunk = encode_by(local_table(part, name), plan).read()
    kept = part.iloc[chunk.ids]
    return _dataframe(plan, chunk.rows).assign(**{x: kept[x].to_numpy() for x in beside})


def _dataframe(plan: EncodingPlan, rows: Any) -> Any:
    pandas = import_module("pandas")  # Dask's dataframes are made of its dataframes
    return pandas.DataFrame(rows, columns=list(plan.feature_names), dtype="float64")


def _of_class(part: Any, label: str, value: object) -> Any:
    """The rows of one class; called on the workers."""
    return part[matches(_values(part[label]), value)]


def _values(column: Any) -> NDArray[Any]:
    """Labels or identifiers: numbers as they are, anything else as text or None."""
    values = np.asarray(column.to_numpy())
    if values.dtype.kind in "biuf":
        return values
    return np.array([None if x is None or x != x else str(x) for x in values.tolist()], object)
