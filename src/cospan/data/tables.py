"""Tables: columns of any kind as Arrow batches, as often as asked, never many of them in memory.

A :class:`Table` has a schema and batches; what its columns mean is learned by calls (``learn``).
Its kinds are dataframes, anything that streams Arrow, Parquet and Arrow files and folders of them;
text files have a module of their own.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from cospan.base.notes import Note
from cospan.base.text import first_line
from cospan.base.types import Data, DataFrame, Values
from cospan.errors import InputError, SourceError, needed

from .columns import decoded, family, pa, plain_batch, plain_schema, pq, values_of
from .paths import reading
from .source import Chunk, Options, classes_in, even, listing, taken

#: Rows read at a time to learn labels and what columns hold.
LEARN_ROWS = 2**16
#: Batches are joined to larger ones up to this much: each costs some microseconds for every column.
JOINED_BYTES = 2**25
#: About this much of a Parquet file is decoded at a time. The allocator keeps some multiple of it.
DECODE_BYTES = 6 * 2**20
#: All column buffers of a Parquet file together take about this much.
BUFFER_BYTES = 32 * 2**20
#: The name under which pandas writes an index that has none.
INDEX = "__index_level_0__"


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

    index = INDEX  # identifies rows where there is such a column

    def __init__(
        self, name: str, schema: pa.Schema, options: Options, n_rows: int | None = None
    ) -> None:
        self.name, self.options, self.n_rows = name, options, n_rows
        self.schema = plain_schema(schema)
        self.notes: tuple[Note, ...] = ()
        names = schema.names
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        if twice:
            raise SourceError(
                f"{name}: more than one column is called {listing(twice)}; rename them."
            )
        for given in ("label", "groups", "id_column"):
            asked = getattr(options, given)
            if isinstance(asked, int | np.integer):
                raise InputError(f"{name}: {given}= names a column of a table, not its number.")
            require(names, [asked] if isinstance(asked, str) else [], name, given)
        self._given = {one: options.beside(one, n_rows, name) for one in ("label", "groups")}
        index = self.index if self.index in names else None
        beside = {
            "id": options.id_column or index,
            "label": options.label,
            "groups": options.groups,
        }
        self._beside = {one: c for one, c in beside.items() if isinstance(c, str)}
        if options.columns is None:
            apart = set(self._beside.values())
            chosen = [column for column in names if column not in apart]
        else:
            chosen = [str(column) for column in options.columns if str(column) in names]
        self.columns = tuple(column for column in chosen if column not in options.drop)
        if not self.columns:
            require(names, map(str, options.columns or ()), name, "columns")
            raise SourceError(
                f"{name}: no column is left to be a feature (it has {listing(names)})."
                if names
                else f"{name}: the table has no columns."
            )

    def _batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        """At least these columns as they come, best in batches of `size` rows."""
        raise NotImplementedError

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        """These columns in Arrow batches of plain types and at most `size` rows."""
        for batch in self._batches(columns, size):
            for start in range(0, batch.num_rows, size):
                yield plain_batch(batch.slice(start, size), columns)

    def all_blocks(self, columns: Sequence[str], size: int) -> Iterator[Chunk]:
        """These columns of all rows, with identifiers, labels and groups."""
        wanted = list(dict.fromkeys([*columns, *self._beside.values()]))
        start = 0
        for batch in self.batches(wanted, size):
            stop = start + batch.num_rows
            found: dict[str, Values | None] = {"id": np.arange(start, stop)}
            for one, given in self._given.items():
                if given is not None and stop > len(given):
                    raise InputError(
                        f"{self.name}: has more rows than the {len(given):,} labels or groups "
                        "given."
                    )
                found[one] = None if given is None else given[start:stop]
            found |= {one: values_of(batch.column(c)) for one, c in self._beside.items()}
            ids, labels, groups = found["id"], found["label"], found["groups"]
            assert ids is not None
            start = stop
            rows = batch if len(wanted) == len(columns) else batch.select(list(columns))
            yield Chunk(rows, ids, labels, groups=groups)

    def blocks(
        self, columns: Sequence[str], size: int, met: list[Note] | None = None
    ) -> Iterator[Chunk]:
        """These columns of the rows asked for, with what lies beside them, in blocks of `size`."""
        rows = taken(self.all_blocks(columns, size), self.options, self.name, met)
        # Where texts are long, blocks are short.
        return even(rows, size, max(JOINED_BYTES, 8 * size * len(columns)))

    def classes(self) -> list[object]:
        """The different labels, from a pass over the label alone."""
        return classes_in(self.blocks(self.columns[:1], LEARN_ROWS))


def require(there: Sequence[str], columns: Iterable[str], name: str, given: str) -> None:
    """A table called `name` has these columns, which the option `given` asked for."""
    absent = next((column for column in columns if column not in there), None)
    if absent is None:
        return
    lower = {column.lower(): column for column in reversed(there)}
    close = get_close_matches(absent.lower(), lower, 1)
    hint = f"Did you mean {lower[close[0]]!r}? Its" if close else "Its"
    raise InputError(
        f"{name}: has no column {absent!r} (asked for by {given}=). {hint} columns are "
        f"{listing(there, 20)}."
    )


# ---- tables in memory --------------------------------------------------------------------------


def object_table(obj: Data, options: Options, name: str | None) -> Table | None:
    """The table that a dataframe or anything that streams Arrow is; None if `obj` is neither."""
    # Asked of the type: asking a lazy dataframe itself for its columns would compute them.
    of_type = type(obj)
    pandas = hasattr(of_type, "iloc") and hasattr(of_type, "dtypes") and hasattr(obj, "columns")
    lazy = hasattr(of_type, "collect") and hasattr(of_type, "collect_schema")
    streams = hasattr(of_type, "__arrow_c_stream__")
    if not (pandas or lazy or streams or isinstance(obj, Mapping)):
        return None
    with needed("Reading a table"):
        import pyarrow as pa

    if hasattr(obj, "__dask_graph__"):
        return DaskTable(obj, options, name or "dask")
    obj = obj.collect() if lazy else obj
    library = type(obj).__module__.partition(".")[0]
    in_arrow = isinstance(obj, pa.Table | pa.RecordBatch | Mapping)
    name = name or ("Arrow table" if in_arrow else f"{library} dataframe")
    if pandas:
        return ArrowTable(_pandas_table(obj, indexed=True), options, name)
    try:
        table = pa.table(dict(obj) if isinstance(obj, Mapping) else obj)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise InputError(
            f"The {type(obj).__name__} is not a table ({first_line(error)}); give columns of one "
            "length by their names, or a dataframe (to_frame() makes one of a single column)."
        ) from error
    return ArrowTable(table, options, name)


class ArrowTable(Table):
    """An Arrow table in memory."""

    def __init__(self, table: pa.Table, options: Options, name: str) -> None:
        super().__init__(name, table.schema, options, table.num_rows)
        self._table = table

    def _batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        yield from self._table.select(list(columns)).to_batches(max_chunksize=size)


def _pandas_table(frame: DataFrame, *, indexed: bool = False) -> pa.Table:
    """A pandas dataframe in Arrow's columns, most of which share its memory.

    Objects that Arrow has no type for, as in columns that mix numbers and texts, become text.
    `indexed`: an index that does not only count is a column.
    """
    refused = (pa.ArrowException, OverflowError, TypeError, ValueError, NotImplementedError)
    arrays = []
    for place, kind in enumerate(frame.dtypes):
        values = frame.iloc[:, place]
        if hasattr(kind, "fill_value"):  # Arrow takes no sparse values
            values = values.sparse.to_dense()
        try:
            # Intervals, also as categories, have no use but as texts.
            if hasattr(getattr(kind, "categories", values).dtype, "closed"):
                values = values.astype("string").astype("category")
            arrays.append(pa.array(values, from_pandas=True))
        except refused:
            texts = values.astype(object).map(_written, na_action="ignore")
            arrays.append(pa.array(texts, pa.string(), from_pandas=True))
    names = [str(column) for column in frame.columns]
    index = frame.index
    counts = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    if indexed and not counts and INDEX not in names:
        whole = getattr(index, "dtype", None) == "int64"
        arrays.append(pa.array(index if whole else [str(value) for value in index]))
        names.append(INDEX)
    return pa.table(arrays, names=names)


def _written(value: object) -> str:
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return "inf"
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if isinstance(value, float) and whole else str(value)


class DaskTable(Table):
    """A Dask dataframe, of which one partition at a time is here."""

    def __init__(self, frame: DataFrame, options: Options, name: str) -> None:
        self._frame = frame.rename(columns=str)
        super().__init__(name, _pandas_table(self._frame._meta).schema, options)

    def _batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        wanted = self._frame[list(columns)]
        for part in map(wanted.get_partition, range(wanted.npartitions)):
            yield from _pandas_table(part.compute()).to_batches()


# ---- files -------------------------------------------------------------------------------------


class ArrowFiles(Table):
    """Arrow IPC: the file format (Feather) and the stream format, memory-mapped; one or several."""

    kind = "Arrow"

    def __init__(self, files: Sequence[Path], options: Options, name: str) -> None:
        self._files = list(files)
        n_rows: int | None = 0
        schema: pa.Schema | None = None
        for file in self._files:
            with reading(file, self.kind):
                own, rows = self._look_into(file)
                str(own.names)  # names that are no text come to light here, not later
            n_rows = None if rows is None or n_rows is None else n_rows + rows
            schema = own if schema is None else _united(schema, own, file, self._files[0])
        if n_rows == 0:
            raise SourceError(f"{name}: has no rows.")
        super().__init__(name, schema, options, n_rows)

    def _batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        for file in self._files:
            with reading(file, self.kind):
                for batch in self._read(file, list(columns), size):
                    # Offsets beyond their buffer would end the process, not only this function.
                    batch.validate(full=True)
                    yield batch

    def _look_into(self, file: Path) -> tuple[pa.Schema, int | None]:
        with closing(pa.memory_map(str(file), "r")) as stream:
            return _ipc(stream).schema, None

    def _read(self, file: Path, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
        with closing(pa.memory_map(str(file), "r")) as stream:
            reader = _ipc(stream)
            if isinstance(reader, pa.ipc.RecordBatchStreamReader):
                yield from reader
                return
            wanted = [i for i, name in enumerate(reader.schema.names) if name in columns]
            reader = pa.ipc.open_file(stream, options=pa.ipc.IpcReadOptions(included_fields=wanted))
            yield from map(reader.get_batch, range(reader.num_record_batches))


def _ipc(stream: pa.NativeFile) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    head = stream.read(6)
    stream.seek(0)
    return pa.ipc.open_file(stream) if head == b"ARROW1" else pa.ipc.open_stream(stream)


class ParquetFiles(ArrowFiles):
    """Parquet, through ``ParquetFile.iter_batches`` and not through a dataset scanner.

    The scanner decodes whole row groups ahead, and a row group of the usual million rows with 784
    columns has 3 GB. ``iter_batches`` decodes only the pages it needs, from small buffers.
    """

    kind = "Parquet"

    def _look_into(self, file: Path) -> tuple[pa.Schema, int | None]:
        with pq.ParquetFile(file) as parquet:
            return parquet.schema_arrow, parquet.metadata.num_rows

    def _read(self, file: Path, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
        buffer = max(4096, BUFFER_BYTES // max(1, len(columns)))
        # Texts lie in the file with a number each: they are looked at once.
        texts = [c for c in columns if family(self.schema.field(c).type) == "text"]
        with pq.ParquetFile(
            file, buffer_size=buffer, pre_buffer=False, read_dictionary=texts
        ) as parquet:
            # How much a row takes is not known before: a text may have any length.
            first = next(parquet.iter_batches(min(size, 64), columns=columns), None)
            held = sum(decoded(column).nbytes for column in first.columns) if first else 0
            row = max(4 * len(columns), held // max(1, len(first or ())))
            rows = min(size, max(1 if row > DECODE_BYTES else 64, DECODE_BYTES // max(1, row)))
            # Asking for "a" also gives a column "a.b"; it is taken out again.
            yield from parquet.iter_batches(rows, columns=columns)


def _united(first: pa.Schema, other: pa.Schema, file: Path, first_file: Path) -> pa.Schema:
    """One schema for two files; a column with two number types is read as float64."""
    absent = [name for name in first.names if name not in set(other.names)]
    if absent:
        raise SourceError(f"{file}: lacks column {listing(absent)}, which {first_file.name} has.")
    first, other = plain_schema(first), plain_schema(other)
    for i, field in enumerate(first):
        type_ = other.field(field.name).type
        kinds = {family(type_), family(field.type)}
        numbers = kinds <= {"number", "boolean"}
        if len(kinds) > 1 and kinds & {"number", "boolean"} and not numbers:
            raise SourceError(
                f"{file}: column {field.name!r} holds {type_}, where {first_file.name} has "
                f"{field.type}."
            )
        if type_ != field.type and numbers:
            first = first.set(i, pa.field(field.name, pa.float64()))
    return first
