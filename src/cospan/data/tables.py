"""Tables: columns of any kind as Arrow batches, as often as asked, never many of them in memory.

A :class:`Table` has a schema and batches; what its columns mean is learned by calls (``learn``).
Its kinds are dataframes, anything that streams Arrow, Parquet, Arrow and text files and folders of
them. Of text files every column is read as text: what it means is decided later, over all rows and
all sets, so a column never has to be read again because its first rows looked different.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

from cospan.base.text import first_line, is_number, plural
from cospan.base.types import Data, DataFrame
from cospan.errors import InputError, SourceError

from .columns import MISSING_TEXTS, arrow_csv, decoded, family, pa, plain_schema, pq
from .paths import STDIN, reading
from .source import INDEX, Table

if TYPE_CHECKING:
    from .opening import Options

#: About this much of a Parquet file is decoded at a time. The allocator keeps some multiple of it.
DECODE_BYTES = 6 * 2**20
#: All column buffers of a Parquet file together take about this much.
BUFFER_BYTES = 32 * 2**20
#: Blocks of a text file, and the part of it that its layout is found from.
BLOCK_BYTES, HEAD_BYTES = 4 * 2**20, 2**20
#: Lines may be longer than a block, up to this; Arrow holds some copies of the longest.
MAX_LINE_BYTES = 16 * BLOCK_BYTES
#: A table of more columns is one that was written the wrong way round, or is not a table.
MOST_COLUMNS = 50_000
DELIMITERS = ",;\t|"
#: What Python makes of bytes that are not UTF-8, with "surrogateescape".
NOT_UTF8 = re.compile("[\udc80-\udcff]")

TEXT = "CSV encoded as UTF-8"


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
    """A dataframe in Arrow's columns; with `indexed` an index that does not only count is one."""
    refused = (pa.ArrowException, OverflowError, TypeError, ValueError, NotImplementedError)
    arrays = []
    for place, kind in enumerate(frame.dtypes):
        values = frame.iloc[:, place]
        try:
            # Intervals, also as categories, have no use but as texts.
            if hasattr(getattr(kind, "categories", values).dtype, "closed"):
                values = values.astype("string").astype("category")
            arrays.append(pa.array(values, from_pandas=True))
        except refused:  # Arrow has no type for it, as where numbers and texts are mixed
            texts = values.astype(object).map(written, na_action="ignore")
            arrays.append(pa.array(texts, pa.string(), from_pandas=True))
    names = [str(column) for column in frame.columns]
    index = frame.index
    counts = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    if indexed and not counts and INDEX not in names:
        whole = getattr(index, "dtype", None) == "int64"
        arrays.append(pa.array(index if whole else [str(value) for value in index]))
        names.append(INDEX)
    return pa.table(arrays, names=names)


def written(value: object) -> str:
    """A value as text: 3.0 is written "3", as labels often come, and what no float can hold "inf".

    >>> written(3.0), written("3.5")
    ('3', '3.5')
    """
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return "inf"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


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
        self._said = {file: STDIN if name == STDIN else str(file) for file in files}
        self._names: dict[Path, dict[str, None]] = {}
        n_rows: int | None = 0
        schema: pa.Schema | None = None
        for file, said in self._said.items():
            with reading(said, self.kind):
                own, rows = self._look_into(file)
                # Names that are no text come to light here, not later.
                self._names[file] = dict.fromkeys(own.names)
            n_rows = None if rows is None or n_rows is None else n_rows + rows
            own = plain_schema(own)
            try:
                schema = schema and pa.unify_schemas([schema, own], promote_options="permissive")
            except pa.ArrowException as error:
                raise SourceError(
                    f"{file}: does not go with {files[0].name} ({first_line(error)}); give each "
                    "column one type in all files."
                ) from error
            schema = schema or own
        if n_rows == 0:
            raise SourceError(f"{name}: has no rows.")
        super().__init__(name, schema, options, n_rows)

    def _batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        for file, said in self._said.items():
            own = [c for c in columns if c in self._names[file]] or [*self._names[file]][:1]
            with reading(said, self.kind):
                for batch in self._read(file, own, size):
                    # Offsets beyond their buffer would end the process, not only this function.
                    batch.validate(full=self.kind != TEXT)
                    for lacking in [c for c in columns if c not in self._names[file]]:
                        batch = batch.append_column(lacking, pa.nulls(len(batch)))
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


class TextFiles(ArrowFiles):
    """Delimited text as a table, plain or packed.

    The first line names the columns unless it consists of numbers (then they are f0, f1, ...);
    a first line that counts 0, 1, 2, ... is a header all the same, as dataframes without column
    names write it.
    """

    kind = TEXT

    def __init__(self, files: Sequence[Path], options: Options, name: str) -> None:
        self._layouts: dict[Path, tuple[str, bool, list[str]]] = {}
        self._block = BLOCK_BYTES
        super().__init__(files, options, name)

    def _look_into(self, file: Path) -> tuple[pa.Schema, int | None]:
        self._layouts[file] = _layout(file, self._said[file])
        with opened_text(file) as stream:
            pieces = iter(lambda: stream.read(2**20), b"")
            marks = sum(bytes(piece).count(b'"') for piece in pieces)
        if marks % 2:  # one is never closed, or part of a value: 5" is a length
            self._find_fault(file, (), None)
        return pa.schema([(column, pa.string()) for column in self._layouts[file][2]]), None

    def _read(self, file: Path, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
        """The file's batches; where a line is longer than a block, with larger ones from there."""
        done = 0
        while True:
            seen = 0
            try:
                with self._open(file, columns) as reader:
                    for batch in reader:
                        seen += batch.num_rows
                        if seen > done:
                            yield batch.slice(batch.num_rows - (seen - done))
                            done = seen
                return
            except pa.ArrowInvalid as error:
                self._find_fault(file, columns, error)
                if self._block >= MAX_LINE_BYTES:
                    raise _too_long(self._said[file]) from error
                self._block = MAX_LINE_BYTES

    def _find_fault(self, file: Path, columns: Sequence[str], cause: Exception | None) -> None:
        """Say which line and column of the file is wrong; nothing if none is."""
        own: list[str] = []  # the lines of one row
        said, (delimiter, _, names) = self._said[file], self._layouts[file]

        def lines(text: IO[str]) -> Iterator[str]:
            while line := text.readline(MAX_LINE_BYTES):
                if len(line) == MAX_LINE_BYTES:
                    raise _too_long(said)
                own.append(line)
                yield line

        with opened_text(file) as stream:
            text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
            rows = csv.reader(lines(text), delimiter=delimiter, strict=True)
            while True:
                own.clear()
                line = rows.line_num + 1  # where a row begins; blank lines are no rows
                try:
                    fields = next(rows, None)
                except csv.Error as error:
                    if "larger than" in str(error) and len(own) == 1:
                        return
                    fields = next(csv.reader(own[:1], delimiter=delimiter))
                    if "expected after" not in str(error):  # else text follows a closed mark
                        column = repr(names[len(fields) - 1]) if names[len(fields) - 1 :] else 1
                        raise SourceError(
                            f"{said}: line {line} opens a quotation mark in column {column} that "
                            "is never closed; close it."
                        ) from error
                if fields is None:
                    return
                if not fields:
                    continue
                if len(fields) != len(names):
                    raise SourceError(
                        f"{said}: line {line} has {plural(len(fields), 'field')} where the first "
                        f"has {len(names)}; mend it, or remove what is above the names."
                    ) from cause
                for name, field in zip(names, fields, strict=True):
                    if name in columns and NOT_UTF8.search(field):
                        raise SourceError(
                            f"{said}: column {name!r} holds text in line {line} that is not UTF-8; "
                            "save the file as UTF-8, or leave the column out with drop=."
                        ) from cause

    def _open(self, file: Path, columns: Sequence[str]) -> arrow_csv.CSVStreamingReader:
        """A reader of these columns as text."""
        delimiter, header, _ = self._layouts[file]
        return arrow_csv.open_csv(
            opened_text(file),
            read_options=arrow_csv.ReadOptions(
                block_size=self._block, autogenerate_column_names=not header
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(columns),
                column_types=dict.fromkeys(columns, pa.string()),
                strings_can_be_null=True,
                null_values=MISSING_TEXTS,
            ),
        )


def _too_long(said: str) -> SourceError:
    return SourceError(
        f"{said}: has a line of more than {MAX_LINE_BYTES:,} bytes; see whether a quotation mark "
        "is never closed."
    )


def opened_text(file: Path) -> pa.NativeFile:
    """The bytes of a text file, unpacked where it is packed."""
    return pa.input_stream(str(file), compression="detect")


def _layout(file: Path, said: str) -> tuple[str, bool, list[str]]:
    """The delimiter, whether the first line names the columns, and their names."""
    with reading(said, TEXT), opened_text(file) as stream:
        head = bytes(stream.read(HEAD_BYTES))
        while len(lines := _filled(head)) < 2 and len(head) < MAX_LINE_BYTES:
            if not (more := stream.read(HEAD_BYTES)):
                break
            head += more
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError(f"{said}: is encoded as UTF-16; save it as UTF-8.")
    if b"\0" in head:
        raise SourceError(f"{said}: is not a text file, so it cannot be read as CSV.")
    if not lines:
        raise SourceError(f"{said}: holds nothing but blank space.")
    text = head.decode("utf-8-sig", "surrogateescape")
    # A mark between quotation marks, or in one of the lines alone, divides nothing.
    bare = [re.sub(rb'"[^"]*"', b"", line).decode("latin-1") for line in lines]
    marks = {mark: [line.count(mark) for line in bare] for mark in DELIMITERS}
    delimiter = max(DELIMITERS, key=lambda mark: (min(marks[mark]), marks[mark][0]))
    if marks[delimiter][0] >= MOST_COLUMNS:
        raise SourceError(
            f"{said}: its first line has {marks[delimiter][0] + 1:,} columns, and at most "
            f"{MOST_COLUMNS:,} are read from text; see whether rows and columns are exchanged, or "
            "save it as an array (.npy) or as Parquet."
        )
    with reading(said, TEXT):
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        fields = next(row for row in rows if row)
    if NOT_UTF8.search("".join(fields)):
        raise SourceError(f"{said}: its first line is not UTF-8; save the file as UTF-8.")
    counting = [str(i) for i in range(len(fields))]
    counted = len(fields) > 1 and fields in (counting, ["", *counting[:-1]])
    header = counted or not all(is_number(field) for field in fields)
    if header and len(lines) < 2:
        raise SourceError(f"{said}: has no rows below its header.")
    return delimiter, header, fields if header else [f"f{i}" for i in range(len(fields))]


def _filled(text: bytes) -> list[bytes]:
    """The first two lines that are not blank."""
    return list(islice((line for line in text.splitlines() if line.strip()), 2))
