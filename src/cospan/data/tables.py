"""Tables: columns of any kind as Arrow batches, as often as asked, never many of them in memory.

A :class:`Table` has a schema and batches; what its columns mean is learned by calls (``encoding``).
Its kinds are dataframes, anything that streams Arrow, Parquet and Arrow files and folders of them;
text files have a module of their own.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from cospan.base.notes import Note
from cospan.base.text import first_line
from cospan.base.types import Data, Values
from cospan.errors import InputError, SourceError, needed

from .arrow import pa, pq
from .options import Options, beside_rows, listing, require
from .paths import reading
from .source import Chunk, Source, classes_in, even, taken
from .values import common_float, decoded, family, storage, values_of

#: Rows read at a time to learn labels and what columns hold.
LEARN_ROWS = 2**16
#: Batches are joined to larger ones up to this much: each costs some microseconds for every column.
JOINED_BYTES = 2**25
#: Rows looked at to find what the columns of a dataframe hold, and how long the lists in one are.
PROBE_ROWS = 1000
#: About this much of a Parquet file is decoded at a time. The allocator keeps some multiple of it.
DECODE_BYTES = 6 * 2**20
#: All column buffers of a Parquet file together take about this much.
BUFFER_BYTES = 32 * 2**20
#: A list of more numbers, each of which becomes a feature with a name, is refused.
MOST_PLACES = 2**16
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
        self.name, self.schema, self.options, self.n_rows = name, schema, options, n_rows
        self.notes: tuple[Note, ...] = ()
        names = schema.names
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        if twice:
            raise SourceError(
                f"{name}: more than one column is called {listing(twice)}; rename them."
            )
        self._labels = beside_rows(options.label, n_rows, name, "label")
        self._groups = beside_rows(options.groups, n_rows, name, "groups")
        self._label = options.label if self._labels is None else None
        self._group = options.groups if self._groups is None else None
        self._id = options.id_column or (self.index if self.index in names else None)
        for given in ("label", "groups", "id_column"):
            asked = getattr(options, given)
            if isinstance(asked, int | np.integer):
                raise InputError(f"{name}: {given}= names a column of a table, not its number.")
            require(names, [asked] if isinstance(asked, str) else [], name, given)
        if options.columns is None:
            apart = {self._label, self._id, self._group}
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

    def batches(
        self, columns: Sequence[str], size: int, numbers: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """These columns as they come, in Arrow batches of at most `size` rows.

        Texts that are known to be plain `numbers` may be read as such at once.
        """
        raise NotImplementedError

    @property
    def all_columns(self) -> list[str]:
        """Every column, label and identifiers too."""
        return list(self.schema.names)

    @property
    def labelled(self) -> bool:
        """Whether rows come with labels of several classes."""
        return self.options.label is not None and self.options.label_value is None

    def blocks(
        self,
        columns: Sequence[str],
        size: int,
        notes: list[Note] | None = None,
        numbers: Collection[str] = (),
    ) -> Iterator[Chunk]:
        """These columns of the rows asked for, with identifiers and labels, in blocks of `size`."""
        rows = taken(self._beside(columns, size, numbers), self.options, self.name, notes)
        # Where texts are long, blocks are short.
        return even(rows, size, max(JOINED_BYTES, 8 * size * len(columns)))

    def _beside(
        self, columns: Sequence[str], size: int, numbers: Collection[str]
    ) -> Iterator[Chunk]:
        """All rows, as Arrow batches with what lies beside them."""
        extra = [c for c in (self._label, self._id, self._group) if c is not None]
        wanted = list(dict.fromkeys([*columns, *extra]))
        start = 0

        def beside(column: str | None, given: Values | None) -> Values | None:
            if column is not None:
                return values_of(batch.column(column))
            if given is not None and start + batch.num_rows > len(given):
                raise InputError(
                    f"{self.name}: has more rows than the {len(given):,} labels or groups given."
                )
            return None if given is None else given[start : start + batch.num_rows]

        for batch in self.batches(wanted, size, set(numbers) - set(extra)):
            ids = beside(self._id, None)
            if ids is None:
                ids = np.arange(start, start + batch.num_rows)
            labels = beside(self._label, self._labels)
            groups = beside(self._group, self._groups)
            start += batch.num_rows
            names = list(columns)
            rows = batch if batch.schema.names == names else batch.select(names)
            yield Chunk(rows, ids, labels, groups=groups)

    def classes(self) -> list[Any]:
        """The different labels, from a pass over the label alone."""
        return classes_in(self.blocks(self.columns[:1], LEARN_ROWS))


# ---- tables in memory --------------------------------------------------------------------------


def object_table(obj: Data, options: Options, name: str | None) -> Table | None:
    """The table that a dataframe or anything that streams Arrow is; None if `obj` is neither."""
    # Asked of the type: asking a lazy dataframe itself for its columns would compute them.
    of_type = type(obj)
    pandas = hasattr(of_type, "iloc") and hasattr(of_type, "dtypes") and hasattr(obj, "columns")
    lazy = hasattr(of_type, "collect") and hasattr(of_type, "collect_schema")
    streams = [x for x in ("__arrow_c_stream__", "__dataframe__") if hasattr(of_type, x)]
    if not (pandas or lazy or streams or isinstance(obj, Mapping)):
        return None
    with needed("Reading a table"):
        import pyarrow as pa

    if hasattr(obj, "__dask_graph__"):
        return DaskTable(obj, options, name or "dask")
    if pandas:
        library = of_type.__module__.partition(".")[0]
        return PandasTable(obj, options, name or f"{library} dataframe")
    obj = obj.collect() if lazy else obj
    library = type(obj).__module__.partition(".")[0]
    plain = isinstance(obj, pa.Table | pa.RecordBatch | Mapping)
    called = name or ("Arrow table" if plain else f"{library} dataframe")
    return ArrowTable(_arrow_table(obj), options, called)


def _arrow_table(obj: Data) -> pa.Table:
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


class ArrowTable(Table):
    """An Arrow table in memory."""

    def __init__(self, table: pa.Table, options: Options, name: str) -> None:
        if any("_view" in str(field.type) for field in table.schema):
            table = table.cast(pa.schema([f.with_type(_plain(f.type)) for f in table.schema]))
        super().__init__(name, table.schema, options, table.num_rows)
        self._table = table

    def batches(
        self, columns: Sequence[str], size: int, numbers: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        yield from self._table.select(list(columns)).to_batches(max_chunksize=size)


def _plain(type_: pa.DataType) -> pa.DataType:
    """Few functions of Arrow take views of text and of bytes."""
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_plain(field.type)) for field in type_])
    if pa.types.is_large_list(type_):
        return pa.large_list(_plain(type_.value_type))
    return views.get(type_, type_)


class PandasTable(Table):
    """A pandas dataframe, turned into Arrow one slice at a time.

    Objects that Arrow has no type for, as in columns that mix numbers and texts, become text.
    """

    def __init__(self, frame: Data, options: Options, name: str) -> None:
        frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
        # Arrow takes neither sparse values nor intervals, also as categories.
        if frame.columns.is_unique:
            for column, kind in frame.dtypes.items():
                if hasattr(kind, "fill_value"):
                    frame = frame.assign(**{column: frame[column].sparse.to_dense()})
                elif hasattr(getattr(kind, "categories", frame[column]).dtype, "closed"):
                    texts = frame[column].astype("string").astype("category")
                    frame = frame.assign(**{column: texts})
        counted = type(frame.index).__name__ == "RangeIndex" and frame.index.start == 0
        self._frame, fields = frame, list(_pandas_batch(frame.iloc[:PROBE_ROWS]).schema)
        fields += [] if counted or INDEX in frame.columns else [pa.field(INDEX, pa.string())]
        super().__init__(name, pa.schema(fields), options, len(frame))

    def batches(
        self, columns: Sequence[str], size: int, numbers: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        own = [column for column in columns if column in self._frame.columns]
        # A selection copies the columns; all of them need none.
        chosen = self._frame if own == list(self._frame.columns) else self._frame[own]
        for start in range(0, len(chosen), size):
            part = chosen.iloc[start : start + size]
            batch = _pandas_batch(part)
            if len(own) < len(columns):
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
    for place in range(len(part.columns)):
        values = part.iloc[:, place]
        try:
            arrays.append(storage(pa.array(values, from_pandas=True)))
        except refused:
            texts = values.astype(object).map(_written, na_action="ignore")
            arrays.append(pa.array(texts, pa.string(), from_pandas=True))
    return pa.RecordBatch.from_arrays(arrays, names=list(part.columns))


def _written(value: Any) -> str:
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return "inf"
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


class DaskTable(Table):
    """A Dask dataframe, of which one partition at a time is here."""

    def __init__(self, frame: Data, options: Options, name: str) -> None:
        self._frame = frame.rename(columns=str)
        fields = _pandas_batch(self._frame._meta).schema
        super().__init__(name, pa.schema(list(fields)), options)

    def batches(
        self, columns: Sequence[str], size: int, numbers: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        wanted = self._frame[list(columns)]
        for part in map(wanted.get_partition, range(wanted.npartitions)):
            here = part.compute()
            for start in range(0, len(here), size):
                yield _pandas_batch(here.iloc[start : start + size])


# ---- files -------------------------------------------------------------------------------------


class _Files(Table):
    """Several files of one kind as one table."""

    kind: str

    def __init__(self, files: Sequence[Path], options: Options, name: str) -> None:
        self._files = list(files)
        n_rows: int | None = 0
        schema: Any = None
        for file in self._files:
            with reading(file, self.kind):
                own, rows = self._look_into(file)
                str(own.names)  # names that are no text come to light here, not later
            n_rows = None if rows is None or n_rows is None else n_rows + rows
            schema = own if schema is None else _united(schema, own, file, self._files[0])
        if n_rows == 0:
            raise SourceError(f"{name}: has no rows.")
        super().__init__(name, schema, options, n_rows)

    def batches(
        self, columns: Sequence[str], size: int, numbers: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        for file in self._files:
            with reading(file, self.kind):
                for batch in self._read(file, list(columns), size):
                    # Offsets beyond their buffer would end the process, not only this function.
                    batch.validate(full=True)
                    batch = batch.select(list(columns))
                    for start in range(0, batch.num_rows, size):
                        yield batch.slice(start, size)

    def _look_into(self, file: Path) -> tuple[pa.Schema, int | None]:
        raise NotImplementedError

    def _read(self, file: Path, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError


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
            held = sum(decoded(column).nbytes for column in first.columns) if first else 0
            row = max(4 * len(columns), held // max(1, len(first or ())))
            rows = min(size, max(1 if row > DECODE_BYTES else 64, DECODE_BYTES // max(1, row)))
            # Asking for "a" also gives a column "a.b"; the caller selects once more.
            yield from parquet.iter_batches(rows, columns=columns)


class ArrowFiles(_Files):
    """Arrow IPC: the file format (Feather) and the stream format, memory-mapped."""

    kind = "Arrow"

    def _look_into(self, file: Path) -> tuple[pa.Schema, int | None]:
        with closing(pa.memory_map(str(file), "r")) as stream:
            opened = pa.ipc.open_file if _has_footer(file) else pa.ipc.open_stream
            return opened(stream).schema, None

    def _read(self, file: Path, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
        with closing(pa.memory_map(str(file), "r")) as stream:
            if not _has_footer(file):
                yield from pa.ipc.open_stream(stream)
                return
            names = pa.ipc.open_file(stream).schema.names
            options = pa.ipc.IpcReadOptions(
                included_fields=[i for i, name in enumerate(names) if name in columns]
            )
            reader = pa.ipc.open_file(stream, options=options)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)


def _has_footer(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(6) == b"ARROW1"


def _united(first: pa.Schema, other: pa.Schema, file: Path, first_file: Path) -> pa.Schema:
    """One schema for two files; a column with two number types is read as float64."""
    absent = [name for name in first.names if name not in set(other.names)]
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


# ---- lists of numbers --------------------------------------------------------------------------


class ListRows(Source):
    """The lists of numbers in some columns of a table, of one length each, side by side."""

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        self._table, self._lists = table, list(columns)
        widths: dict[str, int] = {}
        for batch in table.batches(self._lists, PROBE_ROWS):
            for column in self._lists:
                lengths = decoded(batch.column(column)).drop_null().value_lengths()
                if column not in widths and len(lengths) and lengths[0].as_py():
                    widths[column] = lengths[0].as_py()
            if len(widths) == len(self._lists):
                break
        wrong = [column for column in self._lists if not 0 < widths.get(column, 0) <= MOST_PLACES]
        if wrong:
            raise SourceError(
                f"{table.name}: column {listing(wrong)} holds empty lists only, or lists of more "
                f"than {MOST_PLACES:,} numbers; save them as an array (.npy), or drop= them."
            )
        self._widths = widths
        dtype = common_float([table.schema.field(column).type for column in self._lists])
        shape = (table.n_rows, sum(widths.values()))
        super().__init__(table.name, table.options, shape, dtype)
        self.feature_names = tuple(f"{c}[{i}]" for c in self._lists for i in range(widths[c]))
        beside = [column for column in table.columns if column not in columns]
        if beside:
            text = f"{table.name}: column {listing(beside)} is left out beside the lists in "
            remedy = "Name other features with columns=."
            note = Note("columns left out", f"{text}{listing(self._lists)}.", remedy, loud=True)
            self._notes = (*table.notes, note)

    def _blocks(self, size: int) -> Iterator[Chunk]:
        start = 0
        for block in self._table._beside(self._lists, size, ()):
            parts = [self._rows(c, block.rows.column(c), start) for c in self._lists]
            start += len(block.ids)
            yield block._replace(rows=parts[0] if len(parts) == 1 else np.hstack(parts))

    def _rows(self, column: str, array: pa.Array, start: int) -> Values:
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
