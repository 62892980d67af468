"""Tables: a stream of Arrow batches with label, identifiers and the columns that can be features.

A :class:`Table` is learned and encoded by calls (``encoding``). Lists of numbers and images are
rows of their own: there is nothing to encode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from cospan.base.notes import Note
from cospan.errors import InputError, SourceError

from .base import Chunk, Options, Reader, group_array, listing, require
from .images import Decoder, is_image
from .source import Source, classes_in, even, taken
from .streams import PROBE_ROWS, TableStream
from .values import common_float, family, list_rows, list_shape, values_of

if TYPE_CHECKING:
    import pyarrow as pa

    from .learn import SetLearner
    from .plan import EncodingPlan, SetProfile

#: Rows read at a time to learn labels and what columns hold.
LEARN_ROWS = 2**16
#: Batches are joined to larger ones up to this much: each costs some microseconds for every column.
JOINED_BYTES = 2**25
#: No list in a table's cell may be longer: each of its numbers becomes a feature with a name.
MAX_LIST = 2**22
#: Longer texts are cut: no category, number or date is written so.
LONGEST_TEXT = 2**16


class RawBlock(NamedTuple):
    """Some consecutive rows of a table as they come; like a Chunk, but not yet numbers."""

    rows: pa.RecordBatch
    ids: NDArray[Any]
    labels: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None

    def take(self, index: NDArray[Any] | slice) -> RawBlock:
        """The rows that `index` picks, with what lies beside them."""
        beside = (None if one is None else one[index] for one in (self.labels, self.groups))
        if isinstance(index, slice):
            start, stop, _ = index.indices(self.rows.num_rows)
            return RawBlock(self.rows.slice(start, stop - start), self.ids[index], *beside)
        picked = self.rows.filter(index) if index.dtype == bool else self.rows.take(index)
        return RawBlock(picked, self.ids[index], *beside)


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
        self.n_rows = stream.n_rows
        self.notes = stream.notes
        self.schema = stream.schema
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
        if self._group is not None:
            require(names, [self._group], self.name, "groups")
        self._id = options.id_column or stream.index
        if options.id_column is not None:
            require(names, [options.id_column], self.name, "id_column")
        self.columns = self._chosen()
        if options.strict:
            self._refuse_other_kinds()

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
        return map(cut_texts, self._stream.batches(list(columns), size))

    def blocks(
        self,
        columns: Sequence[str],
        size: int,
        notes: list[Note] | None = None,
        numbers: Collection[str] = (),
    ) -> Iterator[RawBlock]:
        """These columns of the rows asked for, with identifiers and labels, in blocks of `size`."""
        raw = self._raw(columns, size, numbers=numbers)
        room = max(JOINED_BYTES, 8 * size * len(columns))  # where texts are long, blocks are short
        return even(
            taken(raw, self.options, self.name, notes),
            size,
            _joined,
            lambda x: x.rows.nbytes / room,
        )

    def _raw(
        self,
        columns: Sequence[str],
        size: int,
        *,
        numbers: Collection[str] = (),
        whole: bool = False,
    ) -> Iterator[RawBlock]:
        """All rows; long texts are cut unless they are wanted as a `whole`."""
        beside = (self._label, self._id, self._group)
        extra = [column for column in beside if column is not None]
        wanted = list(dict.fromkeys([*columns, *extra]))
        kind = self._label_kind() if self._stream.written and self._label is not None else None
        start = 0
        for batch in self._stream.batches(wanted, size, set(numbers) - set(extra)):
            batch = batch if whole else cut_texts(batch)
            stop = start + batch.num_rows
            ids: NDArray[Any] = np.arange(start, stop)
            if self._id is not None:
                ids = values_of(batch.column(self._id))
                ids = _as_written(ids, _written_kind(ids)) if self._stream.written else ids
            labels = None
            if self._labels is not None:
                if stop > len(self._labels):
                    n = len(self._labels)
                    raise InputError(f"{self.name}: has more rows than the {n:,} labels.")
                labels = self._labels[start:stop]
            elif self._label is not None:
                labels = values_of(batch.column(self._label))
                labels = labels if kind is None else _as_written(labels, kind)
            groups = None if self._groups is None else self._groups[start:stop]
            if groups is not None and len(groups) < batch.num_rows:
                n = len(self._groups or ())
                raise InputError(f"{self.name}: has more rows than the {n:,} entries of groups=.")
            if self._group is not None:
                groups = values_of(batch.column(self._group))
            start = stop
            names = list(columns)
            rows = batch if batch.schema.names == names else batch.select(names)
            yield RawBlock(rows, ids, labels, groups)

    def classes(self) -> list[Any]:
        """The different labels, from a pass over the label alone."""
        raw = self._raw(self.columns[:1], LEARN_ROWS)
        return classes_in(taken(raw, self.options, self.name))

    def shapes(self, columns: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """How many numbers each column holds in a row; lists need a look at the first rows."""
        lists = [c for c in columns if family(self.schema.field(c).type) == "vector"]
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(columns, ())
        waiting = set(lists)
        for batch in self._stream.batches(lists, PROBE_ROWS) if lists else ():
            for column in list(waiting):
                shape = list_shape(batch.column(column))
                if shape is not None:
                    _check_list(f"{self.name}: column {column!r}", shape)
                    shapes[column] = shape
                    waiting.discard(column)
            if not waiting:
                break
        if waiting:
            raise SourceError(
                f"{self.name}: column {listing(sorted(waiting))} holds only empty lists."
            )
        return shapes

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
        if label is None:
            return None
        if isinstance(label, int | np.integer):
            if not -len(names) <= label < len(names):
                raise InputError(f"{self.name}: there is no column number {label} for the label.")
            return str(names[label])
        if isinstance(label, str):
            require(names, [label], self.name, "label")
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

    def _chosen(self) -> tuple[str, ...]:
        """The columns asked for, or all that are neither label nor identifier nor dropped."""
        names, drop = self._stream.schema.names, self.options.drop
        if self.options.columns is None:
            apart = {self._label, self._id, self._group, *self._stream.hidden}
            chosen = [column for column in names if column not in apart]
        else:
            chosen = [str(column) for column in self.options.columns if str(column) in names]
        if not names:
            raise SourceError(f"{self.name}: the table has no columns.")
        if not any(column not in drop for column in chosen):
            raise SourceError(
                f"{self.name}: no column is left to be a feature (it has {listing(names)})."
            )
        return tuple(column for column in chosen if column not in drop)

    def _refuse_other_kinds(self) -> None:
        types = {column: self.schema.field(column).type for column in self.columns}
        fine = ("number", "boolean", "vector")
        wrong = [column for column, type_ in types.items() if family(type_) not in fine]
        if wrong and not self._stream.written:  # what text means is known when it is encoded
            self.refuse(wrong)

    def refuse(self, columns: Sequence[str]) -> NoReturn:
        """Say that a strict table has columns other than numbers."""
        raise InputError(
            f"{self.name}: column {listing(columns)} is not numeric; strict=True refuses the table "
            "as it is."
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


def _joined(blocks: list[RawBlock]) -> RawBlock:
    if len(blocks) == 1:
        return blocks[0]
    import pyarrow as pa

    # The promotion: an empty column of one batch may be text in the next, and numbers may be.
    tables = [pa.Table.from_batches([block.rows]) for block in blocks]
    if any(table.schema != tables[0].schema for table in tables):
        texts = [{f.name for f in table.schema if family(f.type) == "text"} for table in tables]
        mixed = set.union(*texts) - set.intersection(*texts)
        for i, table in enumerate(tables if mixed else ()):
            fields = [f.with_type(pa.string()) if f.name in mixed else f for f in table.schema]
            tables[i] = table.cast(pa.schema(fields))
    whole = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    labels = [block.labels for block in blocks if block.labels is not None]
    groups = [block.groups for block in blocks if block.groups is not None]
    ids = np.concatenate([block.ids for block in blocks])
    beside = (np.concatenate(parts) if parts else None for parts in (labels, groups))
    return RawBlock(whole.to_batches()[0], ids, *beside)


def cut_texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with its longest texts cut, each with a mark that says how long it was."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, field in enumerate(batch.schema):
        array = batch.column(place)
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            continue
        texts = array.dictionary if pa.types.is_dictionary(field.type) else array
        if texts.nbytes <= LONGEST_TEXT:
            continue
        lengths = pc.binary_length(texts)
        if (pc.max(lengths).as_py() or 0) <= LONGEST_TEXT:
            continue
        long = pc.fill_null(pc.greater(lengths, LONGEST_TEXT), False)
        fronts = [
            f"{text[:LONGEST_TEXT]}… ({len(text):,}, {sha256(text.encode()).hexdigest()[:16]})"
            for text in texts.filter(long).to_pylist()
        ]
        cut = pc.replace_with_mask(texts, long, pa.array(fronts, texts.type))
        if pa.types.is_dictionary(field.type):
            cut = pa.DictionaryArray.from_arrays(array.indices, cut)
        batch = batch.set_column(place, field, cut)
    return batch


class VectorReader(Reader):
    """A table of lists of numbers, or of images, as rows of their own: there is nothing to encode.

    Numbers beside images are labels and counters far more often than features: they are left out
    unless they are asked for.
    """

    def __init__(self, table: Table) -> None:
        options = table.options
        self.name, self.n_rows, self.notes = table.name, table.n_rows, table.notes
        types = {column: table.schema.field(column).type for column in table.columns}
        pictures = [column for column, type_ in types.items() if is_image(type_)]
        chosen = list(table.columns)
        if pictures and options.columns is None and len(pictures) < len(chosen):
            beside = [column for column in chosen if column not in pictures]
            text = f"{self.name}: column {listing(beside)} is left out beside the images in "
            remedy = "Name the features with columns= to have both."
            note = Note("columns left out", f"{text}{listing(pictures)}.", remedy, loud=True)
            self.notes, chosen = (*self.notes, note), pictures
        shapes = table.shapes([column for column in chosen if column not in pictures])
        self._features: list[tuple[str, tuple[int, ...], Decoder | None]] = []
        for column in chosen:
            if column not in pictures and family(types[column]) not in ("vector", "number"):
                raise InputError(
                    f"{self.name}: column {column!r} is not numeric ({types[column]}); take it out "
                    "of columns=, or turn it into numbers."
                )
            decoder = Decoder(options, self.name) if column in pictures else None
            shape = shapes[column] if decoder is None else decoder.sized(table, column)
            self._features.append((column, shape, decoder))
        self._table = table
        names = [name for column, shape, _ in self._features for name in _places(column, shape)]
        self.feature_names = None if pictures else tuple(names)
        self.n_features = len(names)
        self.dtype = common_float([types[column] for column in chosen])
        only = self._features[0][1] if len(self._features) == 1 else ()
        self.image_shape = only if len(only) in (2, 3) else None

    def blocks(self, size: int) -> Iterator[Chunk]:
        start = 0
        for block in self._table._raw([column for column, _, _ in self._features], size):
            parts = [
                list_rows(block.rows.column(column), shape, self.dtype, column, (self.name, start))
                if decoder is None
                else decoder.column_rows(block.rows.column(column), column, start)
                for column, shape, decoder in self._features
            ]
            start += len(block.ids)
            rows = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
            yield Chunk(rows, block.ids, block.labels, groups=block.groups)


def table_source(stream: TableStream, options: Options, name: str | None = None) -> Source | Table:
    """Images, texts to embed and lists of numbers are rows at once; other tables are encoded."""
    table = Table(stream, options, name)
    if options.text is not None:
        from .embedded import EmbeddedTexts

        return Source(EmbeddedTexts(table, options.text), options, name=name)
    types = [stream.schema.field(column).type for column in table.columns]
    if any(map(is_image, types)) or all(family(type_) == "vector" for type_ in types):
        return Source(VectorReader(table), options, name=name)
    return table


def _places(column: str, shape: tuple[int, ...]) -> list[str]:
    if not shape:
        return [column]
    return [f"{column}[{','.join(map(str, index))}]" for index in np.ndindex(*shape)]


def _check_list(name: str, shape: tuple[int, ...]) -> None:
    """Refuse a list that would make millions of features of one column."""
    length = int(np.prod(shape, dtype=object))
    if length > MAX_LIST:
        raise SourceError(
            f"{name} holds lists of {length:,} numbers, above the limit of {MAX_LIST:,}; save them "
            "as an array (.npy) instead."
        )
