"""Tables: label, identifiers, columns; and tables of plain numbers or images as rows.

A *table stream* (dataframes in ``dataframes``, files in ``columnar``) gives Arrow record batches; a
:class:`Table` knows which of its columns are label, identifier and features. Tables whose columns
are numbers already, lists of numbers or images are read by :class:`TableReader`; all others go
through an encoding plan (``encoding``).
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.errors import InputError, SourceError

from . import arrow_rows
from .base import Chunk, Options, Reader, TableStream, listing, require, warn
from .budget import check_list
from .long_texts import MOST_BYTES, cut_texts
from .pixels import Decoder, image_rows, is_image, learn_size

if TYPE_CHECKING:
    import pyarrow as pa


class RawBlock(NamedTuple):
    """Some consecutive rows of a table as they come; like a Chunk, but not yet numbers."""

    rows: pa.RecordBatch
    ids: NDArray[Any]
    labels: NDArray[Any] | None = None

    def take(self, index: NDArray[Any] | slice) -> RawBlock:
        """The rows that `index` picks, with their identifiers and labels."""
        labels = None if self.labels is None else self.labels[index]
        if isinstance(index, slice):
            start, stop, _ = index.indices(self.rows.num_rows)
            return RawBlock(self.rows.slice(start, stop - start), self.ids[index], labels)
        picked = self.rows.filter(index) if index.dtype == bool else self.rows.take(index)
        return RawBlock(picked, self.ids[index], labels)


class Table:
    """A stream with its label, its identifiers, and the columns that can be features."""

    def __init__(self, stream: TableStream, options: Options) -> None:
        self.name = stream.name
        self.n_rows = stream.n_rows
        self.stream = stream
        self._labels: NDArray[Any] | None = None
        _refuse_duplicates(stream)
        self._label = self._label_column(options)
        self._id = options.id_column or stream.index
        if options.id_column is not None:
            require(stream.schema.names, [options.id_column], self.name, "id_column")
        self.columns = self._chosen(options)

    def with_columns(self, columns: Sequence[str]) -> Table:
        """The same table with these features, in this order."""
        view = copy.copy(self)
        view.columns = list(columns)
        return view

    def blocks(
        self, columns: Sequence[str], size: int, most: int | None = MOST_BYTES
    ) -> Iterator[RawBlock]:
        """These columns with the rows' identifiers and labels; texts of at most `most` bytes."""
        extra = [column for column in (self._label, self._id) if column is not None]
        wanted = list(dict.fromkeys([*columns, *extra]))
        start = 0
        for batch in self.stream.batches(wanted, size):
            batch = batch if most is None else cut_texts(batch, most)
            n = batch.num_rows
            ids = np.arange(start, start + n)
            if self._id is not None:
                ids = arrow_rows.to_values(batch.column(self._id))
            labels = self._given_labels(start, start + n)
            if self._label is not None:
                labels = arrow_rows.to_values(batch.column(self._label))
            start += n
            yield RawBlock(arrow_rows.select(batch, list(columns)), ids, labels)

    def shapes(self, columns: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """How many numbers each column holds in a row; lists need a look at the first rows."""
        schema = self.stream.schema
        types = {c: schema.field(c).type for c in columns}
        lists = [c for c, t in types.items() if arrow_rows.is_list(t) and arrow_rows.is_numeric(t)]
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(columns, ())
        if not lists:
            return shapes
        waiting = set(lists)
        for batch in self.stream.batches(lists, 1024):
            for column in list(waiting):
                shape = arrow_rows.list_shape(batch.column(column))
                if shape is not None:
                    check_list(f"{self.name}: column {column!r}", math.prod(shape))
                    shapes[column] = shape
                    waiting.discard(column)
            if not waiting:
                return shapes
        raise SourceError(f"{self.name}: column {listing(sorted(waiting))} holds only empty lists.")

    def is_image(self, column: str) -> bool:
        return is_image(self.stream.schema.field(column).type)

    def _given_labels(self, start: int, stop: int) -> NDArray[Any] | None:
        if self._labels is not None and stop > len(self._labels):
            raise InputError(f"{self.name}: has more rows than the {len(self._labels):,} labels.")
        return None if self._labels is None else self._labels[start:stop]

    def _label_column(self, options: Options) -> str | None:
        label = options.label
        if label is None:
            return None
        if isinstance(label, int | np.integer):
            names = self.stream.schema.names
            if not -len(names) <= label < len(names):
                raise InputError(f"{self.name}: there is no column number {label} for the label.")
            return str(names[label])
        if isinstance(label, str):
            require(self.stream.schema.names, [label], self.name, "label")
            return label
        self._labels = np.asarray(label)
        if self._labels.ndim != 1:
            raise InputError(
                f"{self.name}: the labels have the shape {self._labels.shape}; give one label for "
                "each row, in one dimension."
            )
        if self.n_rows is not None and self._labels.shape != (self.n_rows,):
            raise InputError(
                f"{self.name}: there are {len(self._labels):,} labels for {self.n_rows:,} rows."
            )
        return None

    def _chosen(self, options: Options) -> list[str]:
        """The columns asked for, or all that are neither label nor identifier nor dropped."""
        stream, names = self.stream, self.stream.schema.names
        if options.columns is None:
            apart = {self._label, self._id, *stream.hidden, *stream.unreadable, *options.drop}
            chosen = [column for column in names if column not in apart]
        else:
            chosen = [str(column) for column in options.columns]
            require(names, chosen, self.name, "columns")
            chosen = [column for column in chosen if column not in options.drop]
        if not names:
            raise SourceError(f"{self.name}: the table has no columns.")
        if not chosen:
            raise SourceError(
                f"{self.name}: no column is left to be a feature (it has {listing(names)})."
            )
        return chosen


class RawColumns(NamedTuple):
    """Columns of a table as a reader of raw blocks: for the same choice of rows as any other's."""

    table: Table
    columns: Sequence[str]
    most: int | None = MOST_BYTES  # bytes of a text that are read

    def blocks(self, size: int) -> Iterator[RawBlock]:
        return self.table.blocks(self.columns, size, self.most)


class _Feature(NamedTuple):
    column: str
    shape: tuple[int, ...]  # () for a number, (768,) for a list of 768 numbers
    decoder: Decoder | None = None  # for images

    @property
    def width(self) -> int:
        return int(np.prod(self.shape, dtype=int))

    def names(self) -> Iterator[str]:
        if not self.shape:
            yield self.column
        for index in np.ndindex(*self.shape) if self.shape else ():
            yield f"{self.column}[{','.join(map(str, index))}]"


class TableReader(Reader):
    """The numeric columns of a table as rows; lists of numbers count as several features."""

    def __init__(self, table: Table, options: Options) -> None:
        self.name = table.name
        self.n_rows = table.n_rows
        self.notes = table.stream.notes
        self._table = table
        self._stream = table.stream
        self._features = self._find_features(options)
        self._pictures = any(feature.decoder is not None for feature in self._features)
        names = [name for feature in self._features for name in feature.names()]
        self.feature_names = None if self._pictures else tuple(names)
        self.n_features = len(names)
        types = [self._stream.schema.field(feature.column).type for feature in self._features]
        self.dtype = arrow_rows.common_float(types)
        only = self._features[0].shape if len(self._features) == 1 else ()
        self.image_shape = only if len(only) in (2, 3) else None

    def blocks(self, size: int) -> Iterator[Chunk]:
        start = 0
        for block in self._table.blocks([feature.column for feature in self._features], size):
            yield Chunk(self._rows(block.rows, start), block.ids, block.labels)
            start += len(block.ids)

    def _rows(self, batch: pa.RecordBatch, start: int) -> NDArray[Any]:
        where = (self.name, start)
        if not self._pictures:
            shapes = [feature.shape for feature in self._features]
            return arrow_rows.to_rows(batch, shapes, self.dtype, where=where)
        parts = [
            arrow_rows.to_rows(batch.select([column]), [shape], self.dtype, where=where)
            if decoder is None
            else image_rows(batch.column(column), decoder, column, start)
            for column, shape, decoder in self._features
        ]
        return np.concatenate(parts, axis=1)

    def _find_features(self, options: Options) -> list[_Feature]:
        chosen = self._useful(self._table.columns, options)
        pictures = [column for column in chosen if self._table.is_image(column)]
        if pictures and options.columns is None and len(pictures) < len(chosen):
            # Numbers beside images are labels and counters far more often than features.
            beside = [column for column in chosen if column not in pictures]
            warn(
                f"{self.name}: column {listing(beside)} is left out beside the images in "
                f"{listing(pictures)}.",
                code="columns left out",
                remedy="Name the features with columns= to have both.",
            )
            chosen = pictures
        shapes = self._table.shapes([column for column in chosen if column not in pictures])
        return [
            self._image_feature(column, options)
            if column in pictures
            else _Feature(column, shapes[column])
            for column in chosen
        ]

    def _useful(self, chosen: list[str], options: Options) -> list[str]:
        """Those of them that hold numbers or images."""
        schema = self._stream.schema
        numeric = {c for c in chosen if arrow_rows.is_numeric(schema.field(c).type)}
        useful = [c for c in chosen if c in numeric or self._table.is_image(c)]
        if len(useful) < len(chosen):
            self._leave_out([column for column in chosen if column not in set(useful)], options)
        if not useful:
            raise SourceError(
                f"{self.name}: no column holds numbers (it has {listing(schema.names)})."
            )
        return useful

    def _leave_out(self, columns: list[str], options: Options) -> None:
        types = [str(self._stream.schema.field(column).type) for column in columns]
        text = "{name}: columns {columns} are not numeric ({types})"
        if len(columns) == 1:
            text = "{name}: column {columns} is not numeric ({types})"
        shown = listing(sorted(set(types)), 3)
        options.leave_out(text.format(name=self.name, columns=listing(columns), types=shown))

    def _image_feature(self, column: str, options: Options) -> _Feature:
        decoder = Decoder(options, self.name)
        for batch in self._stream.batches([column], 64):
            if learn_size(batch.column(column), decoder, column):
                return _Feature(column, decoder.shape, decoder)
        raise SourceError(f"{self.name}: no image in column {column!r} can be read.")


def _refuse_duplicates(stream: TableStream) -> None:
    names = stream.schema.names
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise SourceError(
            f"{stream.name}: more than one column is called {listing(twice)}; rename them."
        )
