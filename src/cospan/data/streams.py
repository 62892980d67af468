"""Streams of Arrow batches: dataframes, anything that streams Arrow, Parquet and Arrow files.

A stream gives record batches with known columns, as often as asked, and never more than a few of
them are in memory.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.notes import Note
from cospan.base.packages import needed
from cospan.base.text import first_line
from cospan.errors import InputError, SourceError

from .arrow import pa, pq
from .base import listing
from .paths import reading
from .values import (
    OBJECTS,
    decoded,
    family,
    storage,
    stored_type,
)

#: Rows looked at to find what the columns of a dataframe hold, and how long the lists in one are.
PROBE_ROWS = 1000
#: About this much of a Parquet file is decoded at a time. The allocator keeps some multiple of it.
DECODE_BYTES = 6 * 2**20
#: All column buffers of a Parquet file together take about this much.
BUFFER_BYTES = 32 * 2**20
#: A list of more numbers, each of which becomes a feature with a name, is refused.
MOST_PLACES = 2**16
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
    keeps: Any = None  # what has to live as long as this

    @abstractmethod
    def batches(
        self, columns: Sequence[str], size: int, numbers: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Batches of at most `size` rows with these columns, in this order.

        Texts that are known to be plain `numbers` may be read as such at once.
        """


def object_stream(obj: Any, name: str | None) -> TableStream | None:
    """The stream of a dataframe or of anything that streams Arrow; None if `obj` is neither."""
    # Asked of the type: asking a lazy dataframe itself for its columns would compute them.
    of_type = type(obj)
    pandas = hasattr(of_type, "iloc") and hasattr(of_type, "dtypes") and hasattr(obj, "columns")
    lazy = hasattr(of_type, "collect") and hasattr(of_type, "collect_schema")
    streams = [x for x in ("__arrow_c_stream__", "__dataframe__") if hasattr(of_type, x)]
    if not (pandas or lazy or streams or isinstance(obj, Mapping)):
        return None
    with needed("Reading a table"):
        import pyarrow as pa

    if pandas:
        return PandasStream(obj, name or f"{of_type.__module__.partition('.')[0]} dataframe")
    obj = obj.collect() if lazy else obj
    library = type(obj).__module__.partition(".")[0]
    arrow = isinstance(obj, pa.Table | pa.RecordBatch | Mapping)
    return ArrowStream(_table_of(obj), name or ("Arrow table" if arrow else f"{library} dataframe"))


def _table_of(obj: Any) -> pa.Table:
    """Columns under their names, or a stream of Arrow batches, as a table."""
    try:
        if isinstance(obj, pa.RecordBatch):
            return pa.Table.from_batches([obj])
        if hasattr(obj, "__dataframe__") and not hasattr(obj, "__arrow_c_stream__"):
            from pyarrow.interchange import from_dataframe

            return from_dataframe(obj)
        return pa.table(dict(obj) if isinstance(obj, Mapping) else obj)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise InputError(
            f"The {type(obj).__name__} is not a table ({first_line(error)}); give columns of one "
            "length by their names, or a dataframe (to_frame() makes one of a single column)."
        ) from error


class ArrowStream(TableStream):
    """An Arrow table in memory."""

    def __init__(self, table: pa.Table, name: str) -> None:
        # Few functions of Arrow take views of text and of bytes.
        views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
        if any(field.type in views for field in table.schema):
            fields = [f.with_type(views.get(f.type, f.type)) for f in table.schema]
            table = table.cast(pa.schema(fields))
        self.name, self.schema, self.n_rows = name, table.schema, table.num_rows
        self._table = table

    def batches(
        self, columns: Sequence[str], size: int, numbers: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        yield from self._table.select(list(columns)).to_batches(max_chunksize=size)


class PandasStream(TableStream):
    """A pandas dataframe, turned into Arrow one slice at a time.

    Columns that mix numbers and texts are read as text; other Python objects are left out.
    """

    def __init__(self, frame: Any, name: str) -> None:
        self.name, self.n_rows = name, len(frame)
        if any(type(column) is not str for column in frame.columns):
            frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
        if not frame.columns.is_unique:
            twice = list(dict.fromkeys(frame.columns[frame.columns.duplicated()]))
            raise InputError(
                f"The dataframe has more than one column called {listing(twice)}; rename them."
            )
        # Arrow takes neither sparse values nor intervals, also as categories.
        sparse = [c for c, kind in frame.dtypes.items() if hasattr(kind, "fill_value")]
        within = {c: getattr(k, "categories", frame[c]).dtype for c, k in frame.dtypes.items()}
        intervals = [c for c, kind in within.items() if hasattr(kind, "closed")]
        self._frame = frame.assign(
            **{c: frame[c].sparse.to_dense() for c in sparse},
            **{c: frame[c].astype("string").astype("category") for c in intervals},
        )
        counted = type(frame.index).__name__ == "RangeIndex" and frame.index.start == 0
        self.index = None if counted else INDEX
        fields = list(_pandas_batch(self._frame.iloc[:PROBE_ROWS]).schema)
        self.schema = pa.schema(fields if counted else [*fields, pa.field(INDEX, pa.string())])

    def batches(
        self, columns: Sequence[str], size: int, numbers: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        own = [column for column in columns if column != INDEX]
        # A selection copies the columns; all of them need none.
        chosen = self._frame if own == list(self._frame.columns) else self._frame[own]
        for start in range(0, self.n_rows or 0, size):
            part = chosen.iloc[start : start + size]
            batch = _pandas_batch(part)
            if INDEX in columns:
                whole = getattr(part.index, "dtype", None) == "int64"
                values = list(part.index) if whole else [str(value) for value in part.index]
                batch = batch.append_column(INDEX, pa.array(values))
            yield batch.select(list(columns))


def _pandas_batch(part: Any) -> pa.RecordBatch:
    refused = (pa.ArrowException, OverflowError, TypeError, ValueError, NotImplementedError)
    try:
        return pa.RecordBatch.from_pandas(part, preserve_index=False).replace_schema_metadata(None)
    except refused:
        pass
    arrays = []
    for column in part.columns:
        try:
            arrays.append(storage(pa.array(part[column], from_pandas=True)))
        except refused:
            arrays.append(_mixed(part[column]))
    return pa.RecordBatch.from_arrays(arrays, names=list(part.columns))


def _mixed(values: Any) -> pa.Array:
    """Numbers and texts of one column as texts; a type that no reading takes for other objects."""
    known = (str, bool, int, float, Decimal, np.generic)
    if not all(isinstance(value, known) for value in values[values.notna()].tolist()):
        return pa.array([{}] * len(values), pa.struct([(OBJECTS, pa.null())]))
    texts = values.astype(object).map(_written, na_action="ignore")
    return pa.array(texts, pa.string(), from_pandas=True)


def _written(value: Any) -> str:
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return "inf"
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


class FlatLists(TableStream):
    """A table whose lists of numbers, of one length each, are columns: embedding[0], ..."""

    def __init__(self, stream: TableStream, lists: list[str]) -> None:
        self._stream, self.lists = stream, lists
        self._widths: dict[str, int] = {}
        for name in ("name", "n_rows", "index", "hidden", "written", "notes", "keeps"):
            setattr(self, name, getattr(stream, name))
        for batch in stream.batches(lists, PROBE_ROWS):
            for column in lists:
                lengths = decoded(batch.column(column)).drop_null().value_lengths()
                if column not in self._widths and len(lengths) and lengths[0].as_py():
                    self._widths[column] = lengths[0].as_py()
            if len(self._widths) == len(lists):
                break
        wide = [column for column in lists if not 0 < self._widths.get(column, 0) <= MOST_PLACES]
        if wide:
            raise SourceError(
                f"{self.name}: column {listing(wide)} holds empty lists only, or lists of more "
                f"than {MOST_PLACES:,} numbers; save them as an array (.npy), or drop= them."
            )
        fields: list[pa.Field] = []
        self._owners: dict[str, str] = {}
        for field in stream.schema:
            places = [f"{field.name}[{i}]" for i in range(self._widths.get(field.name, 0))]
            kind = stored_type(field.type).value_type if places else field.type
            fields += [pa.field(name, kind) for name in places or [field.name]]
            self._owners.update(dict.fromkeys(places, field.name))
        self.schema = pa.schema(fields, stream.schema.metadata)
        self.places = tuple(self._owners)

    def spread(self, names: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        """The same names of columns, with the places of a list for the list."""
        places: dict[str, list[str]] = {}
        for place, owner in self._owners.items():
            places.setdefault(owner, []).append(place)
        return None if names is None else tuple(x for n in names for x in places.get(n, [n]))

    def batches(
        self, columns: Sequence[str], size: int, numbers: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        own = list(dict.fromkeys(self._owners.get(column, column) for column in columns))
        start = 0
        for batch in self._stream.batches(own, size, numbers):
            found = dict(zip(own, batch.columns, strict=True))
            for column in self._widths.keys() & found.keys() - set(columns):
                rows = self.rows(column, found.pop(column), start)
                found.update({f"{column}[{i}]": pa.array(x) for i, x in enumerate(rows.T)})
            start += batch.num_rows
            arrays = [found[column] for column in columns]
            yield pa.RecordBatch.from_arrays(arrays, list(columns))

    def rows(self, column: str, array: pa.Array, start: int) -> NDArray[Any]:
        """A column of lists as an array, NaN where one is missing."""
        array = decoded(array)
        present = np.asarray(array.is_valid().to_numpy(zero_copy_only=False))
        lists, width = array.drop_null(), self._widths[column]
        odd = np.flatnonzero(np.asarray(lists.value_lengths()) != width)
        if len(odd):
            row = start + int(np.flatnonzero(present)[odd[0]])
            raise InputError(
                f"{self.name}: column {column!r} has a list of {len(lists[int(odd[0])])} numbers "
                f"in row {row}, where the first row has {width}; all lists of a column must be "
                "equally long."
            )
        values = np.asarray(lists.flatten().to_numpy(zero_copy_only=False)).reshape(-1, width)
        if present.all():
            return values
        rows = np.full((len(array), width), np.nan, np.result_type(values.dtype, np.float16))
        rows[present] = values
        return rows


class _Files(TableStream):
    """Several files of one kind as one table."""

    kind: str

    def __init__(self, files: Sequence[Path], root: Path) -> None:
        self.name = root.name or str(root)
        self._files = list(files)
        self._partitions = [_partition(file, root) for file in self._files]
        if any(set(part) != set(self._partitions[0]) for part in self._partitions):
            raise SourceError(f"{root}: the files lie under different key=value folders.")
        self.n_rows = 0
        schema: Any = None
        for file in self._files:
            with reading(file, self.kind):
                own, rows = self._look_into(file)
                str(own.names)  # names that are no text come to light here, not later
            self.n_rows = None if rows is None or self.n_rows is None else self.n_rows + rows
            schema = own if schema is None else _united(schema, own, file, self._files[0])
        if self.n_rows == 0:
            raise SourceError(f"{self.name}: has no rows.")
        self.index = _pandas_index(schema)
        self.hidden = frozenset(self._partitions[0])
        partitions = [pa.field(key, pa.string()) for key in self._partitions[0]]
        self.schema = pa.schema([*schema, *partitions], schema.metadata)

    def batches(
        self, columns: Sequence[str], size: int, numbers: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
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
        with pq.ParquetFile(file) as parquet:
            return parquet.schema_arrow, parquet.metadata.num_rows

    def _read(self, file: Path, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
        buffer = max(4096, BUFFER_BYTES // max(1, len(columns)))
        # Texts lie in the file with a number each: they are looked at once.
        texts = [c for c in columns if family(self.schema.field(c).type) == "text"]
        options: Any = {"buffer_size": buffer, "pre_buffer": False, "read_dictionary": texts}
        with pq.ParquetFile(file, **options) as parquet:
            # How much a row takes is not known before: a text may have any length.
            first = next(parquet.iter_batches(min(size, 64), columns=columns), None)
            taken = sum(decoded(column).nbytes for column in first.columns) if first else 0
            row = max(4 * len(columns), taken // max(1, len(first or ())))
            rows = min(size, max(1 if row > DECODE_BYTES else 64, DECODE_BYTES // max(1, row)))
            # Asking for "a" also gives a column "a.b"; the caller selects once more.
            yield from parquet.iter_batches(rows, columns=columns)


class ArrowFiles(_Files):
    """Arrow IPC: the file format (Feather) and the stream format, memory-mapped."""

    kind = "Arrow"

    def _look_into(self, file: Path) -> tuple[pa.Schema, int | None]:
        with closing(pa.memory_map(str(file), "r")) as stream:
            if not _is_file_format(file):
                return pa.ipc.open_stream(stream).schema, None
            return pa.ipc.open_file(stream).schema, None

    def _read(self, file: Path, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
        with closing(pa.memory_map(str(file), "r")) as stream:
            yield from _ipc_batches(stream, _is_file_format(file), columns)


def _is_file_format(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(6) == b"ARROW1"


def _ipc_batches(stream: Any, file_format: bool, columns: list[str]) -> Iterator[pa.RecordBatch]:
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
    there = set(other.names)
    absent = [name for name in first.names if name not in there]
    if absent:
        raise SourceError(f"{file}: lacks column {listing(absent)}, which {first_file.name} has.")
    for i, field in enumerate(first):
        type_ = other.field(field.name).type
        kinds = {family(type_), family(field.type)}
        numbers = kinds <= {"number", "boolean"}
        if len(kinds) > 1 and kinds & {"number", "boolean", "list"} and not numbers:
            raise SourceError(
                f"{file}: column {field.name!r} holds {type_}, where {first_file.name} has "
                f"{field.type}."
            )
        if type_ != field.type and numbers:
            first = first.set(i, pa.field(field.name, pa.float64()))
    return first


def _partition(file: Path, root: Path) -> dict[str, str]:
    """``label=cat/part-0.parquet`` says that the rows of the file have label cat."""
    if not file.is_relative_to(root):
        return {}
    places = file.relative_to(root).parts[:-1]
    return dict(place.split("=", 1) for place in places if "=" in place)


def _pandas_index(schema: Any) -> str | None:
    """The column in which pandas keeps a dataframe's index, if it is one."""
    try:
        columns = list((schema.pandas_metadata or {}).get("index_columns", []))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None  # a note of another library's, and a damaged one: the columns are all there
    names = set(schema.names)
    return next((c for c in columns if isinstance(c, str) and c in names), None)
