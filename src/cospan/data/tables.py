"""Tables: streams of Arrow batches, with label, identifiers and the columns that can be features.

Dataframes and everything that streams Arrow (pandas, polars, DuckDB, Hugging Face datasets),
Parquet and Arrow files, text files (``text_files``) all give the same: record batches with known
columns, as often as asked. A :class:`Table` is one of these with the user's options; it is learned
and encoded by calls (``encode``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan._packages import needed
from cospan._text import first_line
from cospan.errors import InputError, SourceError

from .paths import reading
from .readings import common_float, family, is_list, is_numeric, storage, values_of
from .source import (
    Chunk,
    Note,
    Options,
    Reader,
    Source,
    classes_in,
    listing,
    require,
    taken,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from .encode import SetProfile
    from .images import Decoder
    from .learn import SetLearner
    from .plan import EncodingPlan

#: Rows looked at to find what the columns of a dataframe hold, and how long the lists in one are.
PROBE_ROWS = 1000
#: Rows read at a time to learn labels and what columns hold.
LEARN_ROWS = 2**16
#: About this much of a Parquet file is decoded at a time. The allocator keeps some multiple of it.
DECODE_BYTES = 6 * 2**20
#: All column buffers of a Parquet file together take about this much.
BUFFER_BYTES = 32 * 2**20
#: Batches are joined to larger ones up to this much: each costs some microseconds for every column.
JOINED_BYTES = 2**25
#: No list in a table's cell may be longer: each of its numbers becomes a feature with a name.
MAX_LIST = 2**22
#: Longer texts are cut: no category, number or date is written so.
LONGEST_TEXT = 2**16
INDEX = "__index__"


class TableStream(ABC):
    """Arrow record batches with known columns, as often as asked."""

    name: str
    schema: pa.Schema
    n_rows: int | None = None
    index: str | None = None  # a column that identifies rows and is not a feature
    #: Columns that can serve as label or id but never as a feature (folder partitions)
    hidden: frozenset[str] = frozenset()
    written: bool = False  # whether labels and identifiers come as text, whatever they are
    notes: tuple[Note, ...] = ()

    @abstractmethod
    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        """Batches of at most `size` rows with these columns, in this order."""


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
    def labelled(self) -> bool:
        """Whether rows come with labels of several classes."""
        return self.options.label is not None and self.options.label_value is None

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        """These columns as they come, in Arrow batches of at most `size` rows."""
        return map(cut_texts, self._stream.batches(list(columns), size))

    def blocks(
        self, columns: Sequence[str], size: int, notes: list[Note] | None = None
    ) -> Iterator[RawBlock]:
        """These columns of the rows asked for, with identifiers and labels, in blocks of `size`."""
        return _even(taken(self._raw(columns, size), self.options, self.name, notes), size)

    def _raw(self, columns: Sequence[str], size: int, *, whole: bool = False) -> Iterator[RawBlock]:
        """All rows; long texts are cut unless they are wanted as a `whole`."""
        extra = [column for column in (self._label, self._id) if column is not None]
        wanted = list(dict.fromkeys([*columns, *extra]))
        kind = self._label_kind() if self._stream.written and self._label is not None else None
        start = 0
        for batch in self._stream.batches(wanted, size):
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
            start = stop
            names = list(columns)
            rows = batch if batch.schema.names == names else batch.select(names)
            yield RawBlock(rows, ids, labels)

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
                shape = _list_shape(batch.column(column))
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
        from .encode import learn_table

        return learn_table(self, name, forced, alone)

    def encoded(self, plan: EncodingPlan, profiles: tuple[SetProfile, ...] = ()) -> Reader:
        """The reader that applies a plan."""
        from .encode import EncodedReader

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
            apart = {self._label, self._id, *self._stream.hidden}
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
        if wrong and not self._stream.written:
            raise InputError(
                f"{self.name}: column {listing(wrong)} is not numeric "
                f"({listing(sorted({str(types[c]) for c in wrong}), 3)}); strict=True refuses the "
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
            held += piece.rows.get_total_buffer_size() * len(piece.ids) // len(block.ids)
            waiting.append(piece)
            if n == size or held > max(JOINED_BYTES, 8 * size * len(block.rows.schema)):
                yield _joined(waiting)
                waiting, n, held = [], 0, 0
    if waiting:
        yield _joined(waiting)


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
    ids = np.concatenate([block.ids for block in blocks])
    return RawBlock(whole.to_batches()[0], ids, np.concatenate(labels) if labels else None)


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
        lengths = pc.binary_length(texts)
        if (pc.max(lengths).as_py() or 0) <= LONGEST_TEXT:
            continue
        long = pc.fill_null(pc.greater(lengths, LONGEST_TEXT), False)
        fronts = [
            f"{text[:LONGEST_TEXT]}… ({len(text):,} letters, {hash_of(text)})"
            for text in texts.filter(long).to_pylist()
        ]
        cut = pc.replace_with_mask(texts, long, pa.array(fronts, texts.type))
        if pa.types.is_dictionary(field.type):
            cut = pa.DictionaryArray.from_arrays(array.indices, cut)
        batch = batch.set_column(place, field, cut)
    return batch


def hash_of(text: str) -> str:
    """Some letters that no other text has."""
    from hashlib import sha256

    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


# ---- dataframes and anything that streams Arrow ------------------------------------------------


def object_stream(obj: Any, name: str | None) -> TableStream | None:
    """The stream of a dataframe or of anything that streams Arrow; None if `obj` is neither."""
    # Asked of the type: asking a lazy dataframe itself for its columns would compute them.
    of_type = type(obj)
    pandas = hasattr(of_type, "iloc") and hasattr(of_type, "dtypes") and hasattr(obj, "columns")
    lazy = hasattr(of_type, "collect") and hasattr(of_type, "collect_schema")
    streams = [x for x in ("__arrow_c_stream__", "__dataframe__") if hasattr(of_type, x)]
    if not (pandas or lazy or streams or isinstance(obj, Mapping) or _is_arrow(obj)):
        return None
    with needed("Reading a table"):
        import pyarrow as pa

    if pandas:
        return PandasStream(obj, name or f"{of_type.__module__.partition('.')[0]} dataframe")
    obj = obj.collect() if lazy else obj
    library = type(obj).__module__.partition(".")[0]
    usual = "Arrow table" if isinstance(obj, pa.Table | pa.RecordBatch) else f"{library} dataframe"
    return ArrowStream(_table_of(obj), name or usual)


def _is_arrow(obj: Any) -> bool:
    return type(obj).__module__.partition(".")[0] == "pyarrow" and hasattr(obj, "schema")


def _table_of(obj: Any) -> pa.Table:
    """Columns under their names, or a stream of Arrow batches, as a table."""
    import pyarrow as pa

    try:
        if isinstance(obj, pa.RecordBatch):
            return pa.Table.from_batches([obj])
        if hasattr(obj, "__dataframe__") and not hasattr(obj, "__arrow_c_stream__"):
            from pyarrow.interchange import from_dataframe

            return from_dataframe(obj)
        return pa.table(dict(obj) if isinstance(obj, Mapping) else obj)
    except OverflowError as error:
        raise InputError(
            f"The {type(obj).__name__} holds whole numbers of more than 64 bits; turn them into "
            "floats."
        ) from error
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"The {type(obj).__name__} is not a table ({first_line(error)}); give columns of one "
            "length by their names, or a dataframe (to_frame() makes one of a single column)."
        ) from error


class ArrowStream(TableStream):
    """An Arrow table in memory."""

    def __init__(self, table: pa.Table, name: str) -> None:
        self.name = name
        self.schema = table.schema
        self.n_rows = table.num_rows
        self._table = table

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        yield from self._table.select(list(columns)).to_batches(max_chunksize=size)


class PandasStream(TableStream):
    """A pandas dataframe, turned into Arrow one slice at a time.

    Columns that mix numbers and texts are read as text; other Python objects are left out.
    """

    def __init__(self, frame: Any, name: str) -> None:
        import pyarrow as pa

        self.name = name
        self.n_rows = len(frame)
        if any(type(column) is not str for column in frame.columns):
            frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
        if not frame.columns.is_unique:
            twice = list(dict.fromkeys(frame.columns[frame.columns.duplicated()]))
            raise InputError(
                f"The dataframe has more than one column called {listing(twice)}; rename them."
            )
        self._frame = frame
        counted = type(frame.index).__name__ == "RangeIndex" and frame.index.start == 0
        self.index = None if counted else INDEX
        fields = list(self._batch(frame.iloc[:PROBE_ROWS]).schema)
        self.schema = pa.schema(fields if counted else [*fields, pa.field(INDEX, pa.string())])

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        own = [column for column in columns if column != INDEX]
        # A selection copies the columns; all of them need none.
        chosen = self._frame if own == list(self._frame.columns) else self._frame[own]
        for start in range(0, self.n_rows or 0, size):
            part = chosen.iloc[start : start + size]
            batch = self._batch(part)
            if INDEX in columns:
                whole = getattr(part.index, "dtype", None) == "int64"
                values = list(part.index) if whole else [str(value) for value in part.index]
                batch = batch.append_column(INDEX, pa.array(values))
            yield batch.select(list(columns))

    def _batch(self, part: Any) -> pa.RecordBatch:
        import pyarrow as pa

        try:
            batch = pa.RecordBatch.from_pandas(part, preserve_index=False)
            if not any(hasattr(kind, "closed") for kind in part.dtypes.map(_categories)):
                return batch.replace_schema_metadata(None)
        except (pa.ArrowException, OverflowError, TypeError, ValueError, NotImplementedError):
            pass
        arrays = [_pandas_array(part.iloc[:, i]) for i in range(part.shape[1])]
        return pa.RecordBatch.from_arrays(arrays, names=list(part.columns))


def _categories(kind: Any) -> Any:
    return getattr(getattr(kind, "categories", None), "dtype", kind)


def _pandas_array(values: Any) -> pa.Array:
    """One column; intervals as categories, sparse values as dense ones, mixtures as texts."""
    import pyarrow as pa

    if hasattr(values.dtype, "fill_value") and hasattr(values, "sparse"):
        values = values.sparse.to_dense()
    if hasattr(_categories(values.dtype), "closed"):
        values = values.astype("string").astype("category")
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError, NotImplementedError):
        texts = _as_texts(values.tolist())
    # A column of lists of nothing is one that no reading takes.
    return pa.array(texts, pa.string()) if texts is not None else _unreadable(len(values))


def _unreadable(n: int) -> pa.Array:
    import pyarrow as pa

    return pa.array([[]] * n, pa.list_(pa.string()))


def _as_texts(values: list[Any]) -> list[str | None] | None:
    """Numbers and texts of one column as texts; None if there is anything else among them."""
    texts: list[str | None] = []
    for value in values:
        if value is None or value is not value or (isinstance(value, float) and value != value):
            texts.append(None)
        elif isinstance(value, float) and value.is_integer():
            texts.append(str(int(value)))
        elif isinstance(value, str | bool | int | float | Decimal | np.generic):
            texts.append(str(value))
        elif type(value).__name__ in ("NAType", "NaTType"):
            texts.append(None)
        else:
            return None
    return texts


# ---- Parquet and Arrow files -------------------------------------------------------------------


class _Files(TableStream):
    """Several files of one kind as one table."""

    kind: str

    def __init__(self, files: Sequence[Path], root: Path) -> None:
        self.name = root.name or str(root)
        self._files = list(files)
        self._partitions = [_partition(file, root) for file in self._files]
        if any(set(part) != set(self._partitions[0]) for part in self._partitions):
            raise SourceError(f"{root}: the files lie under different key=value folders.")
        schema: pa.Schema | None = None
        total: int | None = 0
        for file in self._files:
            with reading(file, self.kind):
                own, rows = self._look_into(file)
                str(own.names)  # names that are no text come to light here, not later
            total = None if rows is None or total is None else total + rows
            schema = own if schema is None else _united(schema, own, file, self._files[0])
        if total == 0:
            raise SourceError(f"{self.name}: has no rows.")
        self.n_rows = total
        self.index = _pandas_index(schema)
        self.schema = _with_partitions(schema, self._partitions[0])
        self.hidden = frozenset(self._partitions[0])

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        own = [column for column in columns if column not in self.hidden]
        constants = [column for column in columns if column in self.hidden]
        for file, values in zip(self._files, self._partitions, strict=True):
            with reading(file, self.kind):
                for batch in self._read(file, own, size):
                    # Offsets beyond their buffer would end the process, not only this function.
                    batch.validate(full=True)
                    for name in constants:
                        constant = pa.repeat(values[name], batch.num_rows)
                        batch = batch.append_column(name, constant)
                    batch = batch.select(list(columns))
                    for start in range(0, batch.num_rows, size):
                        yield batch.slice(start, size)

    @abstractmethod
    def _look_into(self, file: Path) -> tuple[pa.Schema, int | None]: ...

    @abstractmethod
    def _read(self, file: Path, columns: list[str], size: int) -> Iterator[pa.RecordBatch]: ...


class ParquetFiles(_Files):
    """Parquet, through ``ParquetFile.iter_batches`` and not through a dataset scanner.

    The scanner decodes whole row groups ahead, and a row group of the usual million rows with 784
    columns has 3 GB. ``iter_batches`` decodes only the pages it needs, from small buffers.
    """

    kind = "Parquet"

    def _look_into(self, file: Path) -> tuple[pa.Schema, int | None]:
        import pyarrow.parquet as pq

        with pq.ParquetFile(file) as parquet:
            return parquet.schema_arrow, parquet.metadata.num_rows

    def _read(self, file: Path, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        buffer = max(4096, BUFFER_BYTES // max(1, len(columns)))
        options: Any = {"buffer_size": buffer, "pre_buffer": False}
        with pq.ParquetFile(file, **options) as parquet:
            # How much a row takes is not known before: a text may have any length.
            first = next(parquet.iter_batches(min(size, 64), columns=columns), None)
            row = max(4 * len(columns), first.nbytes // max(1, len(first))) if first else 1
            rows = min(size, max(1 if row > DECODE_BYTES else 64, DECODE_BYTES // max(1, row)))
            # Asking for "a" also gives a column "a.b"; the caller selects once more.
            yield from parquet.iter_batches(rows, columns=columns)


class ArrowFiles(_Files):
    """Arrow IPC: the file format (Feather) and the stream format, memory-mapped."""

    kind = "Arrow"

    def _look_into(self, file: Path) -> tuple[pa.Schema, int | None]:
        import pyarrow as pa

        with closing(pa.memory_map(str(file), "r")) as stream:
            if not _is_file_format(file):
                return pa.ipc.open_stream(stream).schema, None
            schema = pa.ipc.open_file(stream).schema
            if not len(schema):
                return schema, 0
            plain = [f.name for f in schema if is_numeric(f.type) and not is_list(f.type)]
            cheap = (plain or schema.names)[:1]
            return schema, sum(batch.num_rows for batch in _ipc_batches(stream, True, cheap))

    def _read(self, file: Path, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        with closing(pa.memory_map(str(file), "r")) as stream:
            yield from _ipc_batches(stream, _is_file_format(file), columns)


def _is_file_format(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(6) == b"ARROW1"


def _ipc_batches(stream: Any, file_format: bool, columns: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    if not file_format:
        yield from pa.ipc.open_stream(stream)
        return
    place = {name: i for i, name in enumerate(pa.ipc.open_file(stream).schema.names)}
    options = pa.ipc.IpcReadOptions(included_fields=sorted(place[c] for c in columns))
    reader = pa.ipc.open_file(stream, options=options)
    for number in range(reader.num_record_batches):
        yield reader.get_batch(number)


def _united(first: pa.Schema, other: pa.Schema, file: Path, first_file: Path) -> pa.Schema:
    """One schema for two files; a column with two number types is read as float64."""
    import pyarrow as pa

    there = set(other.names)
    absent = [name for name in first.names if name not in there]
    if absent:
        raise SourceError(f"{file}: lacks column {listing(absent)}, which {first_file.name} has.")
    for i, field in enumerate(first):
        type_ = other.field(field.name).type
        if is_numeric(type_) != is_numeric(field.type) or is_list(type_) != is_list(field.type):
            raise SourceError(
                f"{file}: column {field.name!r} holds {type_}, where {first_file.name} has "
                f"{field.type}."
            )
        if type_ != field.type and is_numeric(type_) and not is_list(type_):
            first = first.set(i, pa.field(field.name, pa.float64()))
    return first


def _partition(file: Path, root: Path) -> dict[str, str]:
    """``label=cat/part-0.parquet`` says that the rows of the file have label cat."""
    if not file.is_relative_to(root):
        return {}
    places = file.relative_to(root).parts[:-1]
    return dict(place.split("=", 1) for place in places if "=" in place)


def _with_partitions(schema: Any, keys: Mapping[str, str]) -> pa.Schema:
    import pyarrow as pa

    for key in keys:
        schema = schema.append(pa.field(key, pa.string()))
    return schema


def _pandas_index(schema: Any) -> str | None:
    """The column in which pandas keeps a dataframe's index, if it is one."""
    try:
        columns = list((schema.pandas_metadata or {}).get("index_columns", []))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None  # a note of another library's, and a damaged one: the columns are all there
    names = set(schema.names)
    return next((c for c in columns if isinstance(c, str) and c in names), None)


# ---- lists of numbers and images ---------------------------------------------------------------


class VectorReader(Reader):
    """A table of lists of numbers, or of images, as rows of their own: there is nothing to encode.

    Numbers beside images are labels and counters far more often than features: they are left out
    unless they are asked for.
    """

    def __init__(self, table: Table) -> None:
        from .images import Decoder, is_image

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
            yield Chunk(rows, block.ids, block.labels)


def table_source(stream: TableStream, options: Options, name: str | None = None) -> Source | Table:
    """Images, texts to embed and lists of numbers are rows at once; other tables are encoded."""
    from .images import is_image

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


def _list_shape(array: pa.Array) -> tuple[int, ...] | None:
    """Lengths of the (nested) lists in a column, from its first filled row."""
    shape: list[int] = []
    array = _decoded(array)
    while is_list(array.type):
        filled = array.drop_null()
        if len(filled) == 0 or not filled[0].values or not len(filled[0].values):
            return None
        array = _decoded(filled[0].values)
        shape.append(len(array))
    return tuple(shape)


def list_rows(
    array: pa.Array,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    column: str,
    where: tuple[str, int] = ("The table", 0),
) -> NDArray[Any]:
    """A column of lists as an array (n, product of shape); NaN where a list is missing.

    `where` is the source's name and the number of the first row, for messages.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    array = _decoded(array)
    width = int(np.prod(shape, dtype=int))
    present = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    values = array.drop_null() if array.null_count else array
    for depth, length in enumerate(shape):
        lengths = pc.fill_null(pc.list_value_length(values), -1)
        odd = np.flatnonzero(lengths.to_numpy(zero_copy_only=False) != length)
        if len(odd):
            inner = max(1, len(values) // max(1, int(present.sum()))) if depth else 1
            row = where[1] + int(np.flatnonzero(present)[odd[0] // inner])
            raise InputError(
                f"{where[0]}: column {column!r} has a list of "
                f"{max(lengths[int(odd[0])].as_py(), 0)} numbers in row {row}, where the first row "
                f"has {length}; all lists of a column must be equally long."
            )
        values = _decoded(values.flatten())
    target = pa.from_numpy_dtype(dtype)
    values = values if values.type == target else pc.cast(values, target, safe=False)
    numbers = np.asarray(values.to_numpy(zero_copy_only=False)).reshape(-1, width)
    if present.all():
        return numbers
    rows = np.full((len(array), width), np.nan, dtype=dtype)
    rows[present] = numbers
    return rows


def _decoded(array: pa.Array) -> pa.Array:
    """Without chunks, extension and dictionary wrappers."""
    from pyarrow import types

    array = storage(array)
    return array.dictionary_decode() if types.is_dictionary(array.type) else array
