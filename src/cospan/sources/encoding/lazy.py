"""Dask dataframes: each partition is learned and encoded where it is.

The learners of the partitions merge in a tree; only its root, which is small, comes here. The
encoded dataframe is as lazy as the given one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

from cospan.distributed import reduced
from cospan.errors import InputError
from cospan.sources.base import Options, listing, require
from cospan.sources.lazy import LazyReader, column_values, of_class

from .learn import SetLearner, may_be_identifier, merged_learners
from .plan import EncodingPlan


class LazyTable:
    """A Dask dataframe before it is known what to make of its columns."""

    def __init__(self, collection: Any, options: Options, name: str | None) -> None:
        self.name = name or "dask"
        if options.label is not None and not isinstance(options.label, str):
            raise InputError(f"{self.name}: label= names a column of a Dask dataframe.")
        collection = collection.rename(columns=str)
        self._label, self._id = options.label, options.id_column
        beside = [x for x in (self._label, self._id) if x is not None]
        chosen = [str(c) for c in options.columns or collection.columns if c not in beside]
        require(list(collection.columns), [*beside, *chosen], self.name)
        if self._label is not None and options.label_value is not None:
            collection = collection.map_partitions(
                of_class, self._label, options.label_value, meta=collection._meta
            )
            self._label = None
        self.n_rows: int | None = None
        self.options = options
        self.all_columns = tuple(collection.columns)
        self.columns = tuple(c for c in chosen if c not in options.drop)
        self.unusable: dict[str, str] = {}
        there = set(self.columns)
        self.kinds = {
            column: {"b": "boolean", "i": "number", "u": "number", "f": "number"}.get(
                getattr(dtype, "kind", "O") if hasattr(dtype, "itemsize") else "O", "text"
            )
            for column, dtype in collection.dtypes.items()
            if column in there
        }
        if options.strict and "text" in self.kinds.values():
            wrong = [column for column in self.columns if self.kinds[column] == "text"]
            raise InputError(
                f"{self.name}: column {listing(wrong)} is not numeric; strict=True "
                "refuses the table as it is."
            )
        self._collection = collection

    @cached_property
    def settled(self) -> bool:
        """Whether all columns are numbers; gaps in them are errors then, as in Dask arrays."""
        options = self.options
        return (
            "text" not in [self.kinds[column] for column in self.columns]
            and not set(options.categorical) & set(self.columns)
            and options.missing in (None, "error", "drop")
            and not any(may_be_identifier(c) and c not in options.numeric for c in self.columns)
        )

    def learn(self, name: str, forced: Mapping[str, str]) -> list[SetLearner]:
        """One pass over the partitions, by the workers."""
        import dask

        leaf = dask.delayed(_learned, pure=False)
        parts = [
            leaf(part, name, self.columns, dict(forced)) for part in self._collection.to_delayed()
        ]
        return [reduced(parts, merged_learners)]

    def encoded(self, plan: EncodingPlan, name: str) -> LazyReader:
        """The dataframe with its features in place of its columns, still lazy."""
        plan.check_columns(self.all_columns, name)
        names = [column.name for column in plan.used]
        beside = [x for x in (self._label, self._id) if x is not None]
        options = Options(label=self._label, id_column=self._id)
        if self.settled and plan.plain and not any(column.fill for column in plan.used):
            return LazyReader(self._collection[[*names, *beside]], options, name)
        meta = _as_dataframe(plan, []).assign(**{x: self._collection._meta[x] for x in beside})
        encoded = self._collection.map_partitions(_encoded, plan, name, beside, meta=meta)
        return LazyReader(encoded, options, name)

    def batches(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """These columns in Arrow batches of at most `size` rows, a partition at a time."""
        wanted = self._collection[list(columns)]
        for part in map(wanted.get_partition, range(wanted.npartitions)):
            here = part.compute()
            if len(here):
                yield from _table(here, self.name).batches(columns, size)

    def partitions(self, columns: Sequence[str]) -> list[Any]:
        """These columns of every partition, to be computed where it is."""
        return list(self._collection[list(columns)].to_delayed())

    def classes(self) -> list[Any]:
        """The classes that the labels name."""
        if self._label is None:
            raise InputError(f"{self.name}: a Dask collection has no labels here.")
        values = column_values(self._collection[self._label].unique().compute())
        return sorted({value for value in values.tolist() if value is not None}, key=str)


def _learned(part: Any, name: str, columns: tuple[str, ...], forced: dict[str, str]) -> SetLearner:
    """What one partition holds."""
    from cospan.sources.source import Source

    if len(part) == 0:
        return SetLearner.of_columns(name, dict.fromkeys(columns, ()), forced)
    table = Source(_table(part[list(columns)], name), Options()).table
    if table is None:
        raise InputError(f"{name}: holds only lists of numbers; make a Dask array of them.")
    return table.learn(name, forced)[0].only(columns)


def _encoded(part: Any, plan: EncodingPlan, name: str, beside: list[str]) -> Any:
    """One partition as features, with labels and identifiers beside them.

    Rows are left out where the plan says so.
    """
    if len(part) == 0:
        return _as_dataframe(plan, []).assign(**{x: part[x] for x in beside})
    chunk = local(part, name).encoded(plan).read()
    kept = part.iloc[chunk.ids]
    return _as_dataframe(plan, chunk.rows).assign(**{x: kept[x].to_numpy() for x in beside})


def local(part: Any, name: str) -> Any:
    """A partition as a source of its own, on its worker."""
    from cospan.sources.source import Source

    return Source(_table(part, name), Options(), name=name)


def _table(part: Any, name: str) -> Any:
    from cospan.sources.dataframes import dataframe_reader

    return dataframe_reader(part.reset_index(drop=True), Options(), name)


def _as_dataframe(plan: EncodingPlan, rows: Any) -> Any:
    pandas = import_module("pandas")  # Dask's dataframes are made of its dataframes
    return pandas.DataFrame(rows, columns=list(plan.feature_names), dtype="float64")
