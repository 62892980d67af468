"""Tables: a stream of Arrow batches with label, identifiers and the columns that can be features.

A :class:`Table` is learned and encoded by calls (``encoding``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.notes import Note
from cospan.errors import InputError, SourceError

from .base import Chunk, Options, Reader, group_array, listing, require
from .source import Source, classes_in, even, taken
from .streams import FlatLists, TableStream
from .values import common_float, family, values_of

if TYPE_CHECKING:
    import pyarrow as pa

    from .learn import SetLearner
    from .plan import EncodingPlan, SetProfile

#: Rows read at a time to learn labels and what columns hold.
LEARN_ROWS = 2**16
#: Batches are joined to larger ones up to this much: each costs some microseconds for every column.
JOINED_BYTES = 2**25


class Table:
    """A table of columns of any kind, before it is known what to make of them.

    Attributes
    ----------
    name : str
    n_rows : int or None
    schema : pyarrow.Schema
        Types of all columns, as far as they are known without reading.
    columns : tuple of str
        Those that can be features.
    options : Options
    """

    def __init__(self, stream: TableStream, options: Options, name: str | None = None) -> None:
        self.name = name or stream.name
        self.n_rows, self.notes, self.schema = stream.n_rows, stream.notes, stream.schema
        self.options = options
        self._stream = stream
        names = stream.schema.names
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        if twice:
            raise SourceError(
                f"{self.name}: more than one column is called {listing(twice)}; rename them."
            )
        self._labels: NDArray[Any] | None = None
        self._label = self._label_column(options.label)
        self._groups = group_array(options.groups, self.n_rows, self.name)
        self._group: str | None = options.groups if isinstance(options.groups, str) else None
        self._id = options.id_column or stream.index
        for given, column in (("groups", self._group), ("id_column", options.id_column)):
            require(names, [] if column is None else [column], self.name, given)
        self.columns = self._chosen()
        if options.strict and not stream.written:  # what text means is known when it is encoded
            kinds = {column: family(self.schema.field(column).type) for column in self.columns}
            self.refuse([c for c, kind in kinds.items() if kind not in ("number", "boolean")])

    @property
    def all_columns(self) -> list[str]:
        """Every column, label and identifiers too."""
        return list(self.schema.names)

    @property
    def declared(self) -> set[str]:
        """The columns that their type declares as categories."""
        return {c for c in self.columns if family(self.schema.field(c).type) == "dictionary"}

    @property
    def labelled(self) -> bool:
        """Whether rows come with labels of several classes."""
        return self.options.label is not None and self.options.label_value is None

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        """These columns as they come, in Arrow batches of at most `size` rows."""
        return self._stream.batches(list(columns), size)

    def blocks(
        self,
        columns: Sequence[str],
        size: int,
        notes: list[Note] | None = None,
        numbers: Collection[str] = (),
    ) -> Iterator[Chunk]:
        """These columns of the rows asked for, with identifiers and labels, in blocks of `size`."""
        raw = taken(self._raw(columns, size, numbers), self.options, self.name, notes)
        room = max(JOINED_BYTES, 8 * size * len(columns))  # where texts are long, blocks are short
        return even(raw, size, lambda block: block.rows.nbytes / room)

    def _raw(
        self, columns: Sequence[str], size: int, numbers: Collection[str] = ()
    ) -> Iterator[Chunk]:
        """All rows, as Arrow batches with what lies beside them."""
        extra = [c for c in (self._label, self._id, self._group) if c is not None]
        wanted = list(dict.fromkeys([*columns, *extra]))
        kind = self._label_kind() if self._stream.written and self._label is not None else str
        start = 0
        for batch in self._stream.batches(wanted, size, set(numbers) - set(extra)):
            stop = start + batch.num_rows
            ids: NDArray[Any] = np.arange(start, stop)
            if self._id is not None:
                ids = values_of(batch.column(self._id))
                ids = _as_written(ids, _written_kind(ids)) if self._stream.written else ids
            labels, groups = (
                None if given is None else self._beside(given, start, stop)
                for given in (self._labels, self._groups)
            )
            if self._label is not None:
                labels = _as_written(values_of(batch.column(self._label)), kind)
            if self._group is not None:
                groups = values_of(batch.column(self._group))
            start = stop
            names = list(columns)
            rows = batch if batch.schema.names == names else batch.select(names)
            yield Chunk(rows, ids, labels, groups=groups)

    def _beside(self, given: NDArray[Any], start: int, stop: int) -> NDArray[Any]:
        if stop > len(given):
            raise InputError(
                f"{self.name}: has more rows than the {len(given):,} labels or groups given."
            )
        return given[start:stop]

    def classes(self) -> list[Any]:
        """The different labels, from a pass over the label alone."""
        return classes_in(taken(self._raw(self.columns[:1], LEARN_ROWS), self.options, self.name))

    def learn(self, name: str, forced: Mapping[str, str], alone: set[str]) -> list[SetLearner]:
        """One pass: what the columns of the set, or of each class, hold."""
        from .encoding import learn_table

        return learn_table(self, name, forced, alone)

    def encoded(self, plan: EncodingPlan, profiles: tuple[SetProfile, ...] = ()) -> Reader:
        """The reader that applies a plan."""
        from .encoding import EncodedReader

        return EncodedReader(self, plan, profiles)

    def _label_kind(self) -> type:
        """What labels of a text file are: whole numbers, fractions or words; by all of them."""
        kinds = {
            _written_kind(values_of(batch.column(0)))
            for batch in self._stream.batches([str(self._label)], LEARN_ROWS)
        }
        return str if str in kinds else float if float in kinds else int

    def _label_column(self, label: Any) -> str | None:
        names = self._stream.schema.names
        if isinstance(label, int | np.integer):
            if not -len(names) <= label < len(names):
                raise InputError(f"{self.name}: there is no column number {label} for the label.")
            return str(names[label])
        if label is None or isinstance(label, str):
            require(names, [] if label is None else [label], self.name, "label")
            return label
        self._labels = np.asarray(label)
        n = len(self._labels) if self.n_rows is None else self.n_rows
        if self._labels.shape != (n,):
            raise InputError(
                f"{self.name}: the labels have the shape {self._labels.shape}; give one for each "
                f"of the {n:,} rows."
            )
        return None

    def _chosen(self) -> tuple[str, ...]:
        """The columns asked for, or all that are neither label nor identifier nor dropped."""
        names = self._stream.schema.names
        if self.options.columns is None:
            apart = {self._label, self._id, self._group, *self._stream.hidden}
            chosen = [column for column in names if column not in apart]
        else:
            chosen = [str(column) for column in self.options.columns if str(column) in names]
        chosen = [column for column in chosen if column not in self.options.drop]
        if not chosen:
            raise SourceError(
                f"{self.name}: no column is left to be a feature (it has {listing(names)})."
                if names
                else f"{self.name}: the table has no columns."
            )
        return tuple(chosen)

    def refuse(self, columns: Sequence[str]) -> None:
        """Say that a strict table has columns other than numbers, if it has."""
        if columns:
            raise InputError(
                f"{self.name}: column {listing(columns)} is not numeric; strict=True refuses the "
                "table as it is."
            )


def _written_kind(values: NDArray[Any]) -> type:
    """Whether texts are all whole numbers, or all fractions, just as Python writes them."""
    texts = [value for value in values.tolist() if value is not None]
    for kind in (int, float):
        try:
            if all(str(kind(text)) == text for text in texts):
                return kind
        except ValueError:
            continue
    return str


def _as_written(values: NDArray[Any], kind: type) -> NDArray[Any]:
    if kind is str:
        return values
    found = [None if value is None else kind(value) for value in values.tolist()]
    return np.array(found, dtype=object if None in found else None)


class ListReader(Reader):
    """A table of lists of numbers and nothing else: their rows, with nothing to encode."""

    def __init__(self, table: Table, flat: FlatLists) -> None:
        self.name, self.n_rows, self.notes = table.name, table.n_rows, table.notes
        self.feature_names = table.columns
        self.n_features = len(table.columns)
        self.dtype = common_float([table.schema.field(column).type for column in table.columns])
        self._table, self._flat = table, flat

    def blocks(self, size: int) -> Iterator[Chunk]:
        start = 0
        for block in self._table._raw(self._flat.lists, size):
            parts = [self._flat.rows(c, block.rows.column(c), start) for c in self._flat.lists]
            start += len(block.ids)
            yield block._replace(rows=parts[0] if len(parts) == 1 else np.hstack(parts))


def table_source(stream: TableStream, options: Options, name: str | None = None) -> Source | Table:
    """Texts to embed and lists alone are rows at once; other tables are encoded."""
    lists = [field.name for field in stream.schema if family(field.type) == "list"]
    flat = FlatLists(stream, lists) if lists else None
    if flat is not None:
        keys = ("columns", "drop", "keep", "numeric")
        given: dict[str, Any] = {key: flat.spread(getattr(options, key)) for key in keys}
        stream, options = flat, replace(options, **given)
    table = Table(stream, options, name)
    if options.text is not None:
        from .embedded import EmbeddedTexts

        return Source(EmbeddedTexts(table, options.text), options, name=name)
    if flat is not None and table.columns == flat.places:
        return Source(ListReader(table, flat), options, name=name)
    return table
