"""Parquet and Arrow files, one or many, streamed in bounded memory.

Parquet is read through ``ParquetFile.iter_batches`` and not through a dataset scanner: the scanner
decodes whole row groups ahead, and a row group of the usual million rows with 784 columns has
3 GB. ``iter_batches`` decodes only the pages it needs, from small buffers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cospan.errors import SourceError

from .arrow_claims import check_batches
from .arrow_rows import has_gaps, is_list, is_numeric, select
from .base import TableStream, listing
from .budget import FREE_BLOCK, check_stream
from .long_texts import decoded
from .parquet_claims import SMALL_FILE, bytes_per_row, check_claims, shared_texts
from .paths import check_readable, reading

if TYPE_CHECKING:
    import pyarrow as pa

#: All column buffers of a Parquet file together take about this much.
BUFFER_BYTES = 32 * 2**20
#: About this much is decoded at a time. The allocator keeps some multiple of it: with 784 float32
#: columns, batches of 32 MB left 430 MB resident and batches of 6 MB left 200 MB, equally fast.
DECODE_BYTES = 6 * 2**20
#: Rows in which NaN is looked for before a table counts as complete.
PROBE_ROWS = 4096


class _Files(TableStream):
    """Several files of one kind as one table."""

    kind: str

    def __init__(self, files: Sequence[Path], root: Path, notes: tuple[str, ...] = ()) -> None:
        self.name = root.name or str(root)
        self.notes = notes
        self._files = list(files)
        self._partitions = [_partition(file, root) for file in self._files]
        own, self.n_rows = self._look()
        self.schema = _with_partitions(own, self._partitions)
        self.hidden = frozenset(self._partitions[0])
        self.index = _pandas_index(own)

    def _look(self) -> tuple[pa.Schema, int | None]:
        """The first file's schema (the others must have its columns) and the number of rows."""
        first: pa.Schema | None = None
        total: int | None = 0
        for file in self._files:
            with reading(file, self.kind):
                schema, rows = self._look_into(file)
                str(schema.names)  # names that are no text come to light here, not later
            total = None if rows is None or total is None else total + rows
            first = schema if first is None else _united(first, schema, file, self._files[0])
        if total == 0:
            raise SourceError(f"{self.name}: has no rows.")
        return first, total

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        own = [column for column in columns if column not in self.hidden]
        constants = [column for column in columns if column in self.hidden]
        for file, values in zip(self._files, self._partitions, strict=True):
            with reading(file, self.kind):
                for batch in self._read(file, own, size):
                    for name in constants:
                        constant = pa.repeat(values[name], batch.num_rows)
                        batch = batch.append_column(name, constant)
                    yield select(batch, list(columns))

    def complete(self, columns: Sequence[str]) -> bool:
        """By the counts of nulls in the files; NaN is looked for in the first rows only."""
        first = next(self.batches(columns, PROBE_ROWS), None)
        if first is None or has_gaps(first):
            return False
        own = [column for column in columns if column not in self.hidden]
        return all(self._no_nulls(file, own) for file in self._files)

    def _no_nulls(self, file: Path, columns: list[str]) -> bool:
        raise NotImplementedError

    def _look_into(self, file: Path) -> tuple[pa.Schema, int | None]:
        raise NotImplementedError

    def _read(self, file: Path, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError


class ParquetFiles(_Files):
    """Parquet: row counts and types are known without reading a row."""

    kind = "Parquet"

    def _look_into(self, file: Path) -> tuple[pa.Schema, int | None]:
        import pyarrow.parquet as pq

        with pq.ParquetFile(file) as parquet:
            check_claims(file, parquet.metadata)
            return parquet.schema_arrow, parquet.metadata.num_rows

    def _read(self, file: Path, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        buffer = max(4096, BUFFER_BYTES // max(1, len(columns)))
        stored, read = file.stat().st_size, 0
        shared = shared_texts(file, columns)
        options: Any = {"buffer_size": buffer, "pre_buffer": False, "read_dictionary": shared}
        with pq.ParquetFile(file, **options) as parquet:
            apart = set(columns) - set(shared)
            row_bytes = bytes_per_row(parquet.metadata, apart, small=stored <= SMALL_FILE)
            batch = DECODE_BYTES // max(4 * len(columns), row_bytes)
            few = min(64, 1 + FREE_BLOCK // 4 // row_bytes)  # of rows that are lists of a million
            # Asking for "a" also gives a column "a.b"; the caller selects once more.
            for found in parquet.iter_batches(min(size, max(few, batch)), columns=columns):
                found.validate(full=True)  # text that is none would come to light much later
                for part in decoded(found, shared) if shared else (found,):
                    read += part.nbytes
                    check_stream(str(file), read, stored)
                    yield part

    def _no_nulls(self, file: Path, columns: list[str]) -> bool:
        import pyarrow.parquet as pq

        with reading(file, self.kind), pq.ParquetFile(file) as parquet:
            schema = parquet.schema
            places = {schema.column(i).path: i for i in range(len(schema))}
            for number in range(parquet.num_row_groups):
                group = parquet.metadata.row_group(number)
                for column in columns:
                    known = group.column(places[column]).statistics
                    if known is None or not known.has_null_count or known.null_count:
                        return False
        return True


class ArrowFiles(_Files):
    """Arrow IPC: the file format (Feather) and the stream format, memory-mapped."""

    kind = "Arrow"

    def _look_into(self, file: Path) -> tuple[pa.Schema, int | None]:
        import pyarrow as pa

        check_batches(file)
        with closing(_mapped(file)) as stream:
            if not _is_file_format(file):
                return pa.ipc.open_stream(stream).schema, None
            schema = pa.ipc.open_file(stream).schema
            return schema, _counted(stream, schema)

    def _read(self, file: Path, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
        with closing(_mapped(file)) as stream:
            for batch in _ipc_batches(stream, _is_file_format(file), columns):
                batch = batch.select(columns)
                # Offsets beyond their buffer would end the process, not only this function.
                batch.validate(full=True)
                for start in range(0, batch.num_rows, size):
                    yield batch.slice(start, size)

    def _no_nulls(self, file: Path, columns: list[str]) -> bool:
        with reading(file, self.kind), closing(_mapped(file)) as stream:
            batches = _ipc_batches(stream, _is_file_format(file), columns)
            return not any(b.column(column).null_count for b in batches for column in columns)


def saved_dataset(folder: Path, part: str | None) -> ArrowFiles | None:
    """A Hugging Face dataset written by ``save_to_disk``, without its library; None if it is none.

    Such a folder holds Arrow streams and a ``state.json`` that names them in order; a dictionary of
    splits is a folder of such folders.
    """
    splits = folder / "dataset_dict.json"
    if splits.is_file():
        with reading(splits, "a list of splits"):
            names = [str(n) for n in json.loads(splits.read_text(encoding="utf-8"))["splits"]]
        outside = [name for name in names if Path(name).name != name or name == ".."]
        if outside:
            raise SourceError(
                f"{splits}: names the split {outside[0]!r}, which is no folder in it."
            )
        if part is None and len(names) == 1:
            part = names[0]
        if part not in names:
            raise SourceError(
                f"{folder}: holds the splits {listing(names)}; say which one, "
                f"as in {folder}::{names[0] if names else 'train'}."
            )
        folder = folder / str(part)
    state = folder / "state.json"
    if not (state.is_file() and (folder / "dataset_info.json").is_file()):
        return None
    with reading(state, "the state of a saved dataset"):
        content: dict[str, Any] = json.loads(state.read_text(encoding="utf-8"))
        files = [folder / Path(entry["filename"]).name for entry in content["_data_files"]]
        reordered = bool(content.get("_indices_data_files"))
    if reordered:
        raise SourceError(
            f"{folder}: was saved with an order of its own beside the data; "
            "call flatten_indices() before save_to_disk()."
        )
    if not files:
        raise SourceError(f"{state}: names no file with data.")
    for file in files:
        check_readable(file)
    return ArrowFiles(files, folder)


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


def _mapped(file: Path) -> Any:
    import pyarrow as pa

    return pa.memory_map(str(file), "r")


def _is_file_format(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(6) == b"ARROW1"


def _counted(stream: Any, schema: pa.Schema) -> int:
    """The rows of a file in the file format, from its cheapest column."""
    if not len(schema):
        return 0
    plain = (field.name for field in schema if is_numeric(field.type) and not is_list(field.type))
    column = next(plain, schema.names[0])
    return sum(batch.num_rows for batch in _ipc_batches(stream, True, [column]))


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


def _partition(file: Path, root: Path) -> dict[str, str]:
    """``label=cat/part-0.parquet`` says that the rows of the file have label cat."""
    if not file.is_relative_to(root):
        return {}
    places = file.relative_to(root).parts[:-1]
    pairs = (place.partition("=")[::2] for place in places if "=" in place)
    return dict(pairs)


def _with_partitions(schema: pa.Schema, partitions: list[dict[str, str]]) -> pa.Schema:
    import pyarrow as pa

    if any(set(part) != set(partitions[0]) for part in partitions):
        raise SourceError("The folder's files lie under different key=value folders.")
    for key in partitions[0]:
        schema = schema.append(pa.field(key, pa.string()))
    return schema


def _pandas_index(schema: pa.Schema) -> str | None:
    """The column in which pandas keeps a dataframe's index, if it is one."""
    try:
        columns = list((schema.pandas_metadata or {}).get("index_columns", []))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None  # a note of another library's, and a damaged one: the columns are all there
    names = set(schema.names)
    return next((c for c in columns if isinstance(c, str) and c in names), None)
