"""A table whose columns are encoded: what the schema settles, what a pass learns, the rows.

:class:`EncodableTable` is what a source of a table holds before its plan is known;
:class:`EncodedReader` reads the rows once it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.errors import InputError
from cospan.sources import arrow_rows
from cospan.sources.base import CHUNK_BYTES, Chunk, Options, Reader, TableStream, listing
from cospan.sources.cleaning import classes_in, taken
from cospan.sources.long_texts import JOINED_BYTES, cut_texts
from cospan.sources.tables import RawBlock, RawColumns, Table, TableReader

from .apply import Encoder
from .kinds import family
from .learn import SetLearner, may_be_identifier, merged_learners
from .plan import EncodingPlan
from .wording import MIXED

if TYPE_CHECKING:
    import pyarrow as pa

#: Classes of one table that are learned apart; with more, all rows are learned as one set.
MOST_CLASSES = 100
LEARN_ROWS = 2**16


def table_reader(stream: TableStream, options: Options) -> Reader | EncodableTable:
    """The reader for images, texts and lists of numbers; the encodable table for all others."""
    table = Table(stream, options)
    if options.text is not None:
        from cospan.sources.embedded import EmbeddedTexts

        return EmbeddedTexts(table, options.text, options)
    types = [stream.schema.field(column).type for column in table.columns]
    if any(map(table.is_image, table.columns)) or all(family(t) == "vector" for t in types):
        return TableReader(table, options)
    return EncodableTable(table, options)


class EncodableTable:
    """A table of columns of any kind, before it is known what to make of them."""

    def __init__(self, table: Table, options: Options) -> None:
        self.name = table.name
        self.n_rows = table.n_rows
        self.notes = table.stream.notes
        self.columns = tuple(table.columns)
        self.all_columns = tuple(table.stream.schema.names)
        self.unusable = dict.fromkeys(table.stream.unreadable, MIXED)
        self.options = options
        self._table = table
        table.stream.lenient = not options.strict
        self._types = {c: table.stream.schema.field(c).type for c in table.columns}
        if options.strict:
            self._refuse_other_kinds()

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The families of the columns, by the schema."""
        return {column: family(type_) for column, type_ in self._types.items()}

    @cached_property
    def settled(self) -> bool:
        """Whether the schema alone says that all columns are numbers without gaps."""
        options = self.options
        if not set(self.kinds.values()) <= {"number", "boolean"}:
            return False
        if set(options.categorical) & set(self.columns) or self._may_count_rows():
            return False
        if options.missing is None:
            return self._table.stream.complete(self.columns)
        return options.missing in ("error", "drop")

    def _may_count_rows(self) -> bool:
        return self.options.columns is None and any(
            may_be_identifier(column) and column not in self.options.numeric
            for column in self.columns
        )

    def learn(self, name: str, forced: Mapping[str, str]) -> list[SetLearner]:
        """One pass: what the columns hold, for each class where the rows are of several."""
        shapes = self._table.shapes(self.columns)
        found: dict[Any, SetLearner] = {}
        classes = self.options.label is not None and self.options.label_value is None
        size = max(1, min(LEARN_ROWS, CHUNK_BYTES // (8 * len(self.columns))))
        raw = taken(RawColumns(self._table, self.columns), self.options, size, name)
        for block in _even(raw, size):  # each block costs some microseconds for every column
            groups: list[tuple[Any, RawBlock]] = [(None, block)]
            if classes and block.labels is not None:
                groups = list(_by_label(block))
            for value, part in groups:
                if value not in found:
                    found[value] = SetLearner.of_columns(name, shapes, forced)
                found[value].add(part.rows, part.ids)
            if len(found) > MOST_CLASSES:
                classes, found = False, {None: merged_learners(list(found.values()))}
        ordered = sorted(found.items(), key=lambda item: str(item[0]))
        return [
            learner if value is None else replace(learner, name=str(value))
            for value, learner in ordered
        ]

    def encoded(self, plan: EncodingPlan, name: str) -> EncodedReader | TableReader:
        """The reader that applies a plan; plain numbers are read as they are."""
        plan.check_columns(self.all_columns, name)
        if self.settled and plan.plain and not any(column.fill for column in plan.used):
            self._table.stream.lenient = False  # its rows are the numbers themselves
            reader = TableReader(
                self._table.with_columns([c.name for c in plan.used]), self.options
            )
            reader.encodable = True
            return reader
        return EncodedReader(self._table, plan, self.options, name)

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        """These columns as they come, in Arrow batches of at most `size` rows."""
        return map(cut_texts, self._table.stream.batches(list(columns), size))

    def classes(self) -> list[Any]:
        """The different labels, from a pass over the label alone."""
        raw = RawColumns(self._table, self.columns[:1])
        return classes_in(taken(raw, self.options, LEARN_ROWS, self.name))

    def _refuse_other_kinds(self) -> None:
        wrong = [c for c, kind in self.kinds.items() if kind not in ("number", "boolean", "vector")]
        if wrong:
            types = sorted({str(self._types[column]) for column in wrong})
            raise InputError(
                f"{self.name}: column{'s' if len(wrong) > 1 else ''} {listing(wrong)} "
                f"{'are' if len(wrong) > 1 else 'is'} not numeric ({listing(types, 3)}); "
                f"strict=True refuses the table as it is."
            )


class EncodedReader(Reader):
    """Rows of numbers, made of a table by a plan."""

    def __init__(self, table: Table, plan: EncodingPlan, options: Options, name: str) -> None:
        self.name = name
        self.n_rows = table.n_rows
        self.n_features = plan.n_features
        self.feature_names = plan.feature_names
        self.owners = plan.owners
        #: No gap is left, and infinite values are refused column by column.
        self.finite = plan.missing in ("indicator", "mean") and all(c.fill for c in plan.used)
        self.dtype = _dtype(table, plan)
        self._table = table
        self._options = options
        self._plan = plan
        self.notes = table.stream.notes

    def blocks(self, size: int) -> Iterator[Chunk]:
        encoder = Encoder(self._plan, self.dtype, self.name)
        there = set(self._table.stream.schema.names)
        names = dict.fromkeys([*encoder.columns, *(column.name for column in self._plan.times)])
        wanted = RawColumns(self._table, [name for name in names if name in there])
        raw = taken(wanted, self._options, size, self.name)
        for block in _even(raw, size):
            rows = encoder.rows(block.rows, block.ids)
            beside = block.ids, block.labels, encoder.times(block.rows), encoder.merged
            yield Chunk(rows, *beside)
        self.notes = (*self._table.stream.notes, *encoder.notes())


def _even(blocks: Iterator[RawBlock], size: int) -> Iterator[RawBlock]:
    """Blocks of `size` rows: joining columns is cheaper than joining the rows made of them.

    Where texts are long, blocks have fewer rows.
    """
    waiting: list[RawBlock] = []
    n = held = 0
    for block in blocks:
        start = 0
        while start < len(block.ids):
            piece = block.take(slice(start, start + size - n))
            start += len(piece.ids)
            n += len(piece.ids)
            held += _bytes_of(piece.rows)
            waiting.append(piece)
            if n == size or held > JOINED_BYTES:
                yield _joined(waiting)
                waiting, n, held = [], 0, 0
    if waiting:
        yield _joined(waiting)


def _bytes_of(batch: pa.RecordBatch) -> int:
    import pyarrow as pa

    try:
        return int(batch.nbytes)
    except pa.ArrowTypeError:  # pyarrow 17 cannot say this of views of texts
        return int(batch.get_total_buffer_size())


def _joined(blocks: list[RawBlock]) -> RawBlock:
    if len(blocks) == 1:
        return blocks[0]
    import pyarrow as pa

    # The promotion: an empty column of one batch may be text in the next, and numbers may be.
    tables = [pa.Table.from_batches([block.rows]) for block in blocks]
    texts = [{f.name for f in table.schema if family(f.type) == "text"} for table in tables]
    mixed = set.union(*texts) - set.intersection(*texts)
    for i, table in enumerate(tables if mixed else ()):
        fields = [f.with_type(pa.string()) if f.name in mixed else f for f in table.schema]
        tables[i] = table.cast(pa.schema(fields))
    whole = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    labels = [block.labels for block in blocks if block.labels is not None]
    ids = np.concatenate([block.ids for block in blocks])
    return RawBlock(whole.to_batches()[0], ids, np.concatenate(labels) if labels else None)


def _by_label(block: RawBlock) -> Iterator[tuple[Any, RawBlock]]:
    values, group = np.unique(np.asarray(block.labels), return_inverse=True)
    for k, value in enumerate(values.tolist()):
        yield value, block if len(values) == 1 else block.take(group == k)


def _dtype(table: Table, plan: EncodingPlan) -> np.dtype[Any]:
    """float32 only where every column is a float32 number."""
    if any(c.kind not in ("number", "vector") or c.reading or c.of for c in plan.used):
        return np.dtype(np.float64)
    schema = table.stream.schema
    return arrow_rows.common_float([schema.field(column.name).type for column in plan.used])
