"""Standard input: CSV or NPY, kept in a temporary file because the rows are read more than once."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from cospan.errors import CospanError, SourceError

from .arrays import ArrayReader
from .base import Chunk, Options, Reader
from .encoding.table import EncodableTable, table_reader
from .numpy_files import npy_reader
from .paths import reading, sniff
from .text import TextFiles

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "standard input"


def stdin_reader(options: Options) -> Reader | EncodableTable:
    """Copy standard input to a temporary file and open that; a second call opens the same copy."""
    stream = sys.stdin.buffer
    if stream.isatty():
        raise SourceError("Standard input is a terminal; pipe CSV or NPY into it.")
    copy = _COPIES.get(stream)
    if copy is None:
        # Two classes of one stream are two sources, so the copy lives as long as the stream.
        copy = _COPIES[stream] = _Copy(stream)
    with _named(copy.path):
        return _opened(copy, options)


class _Copy:
    """All that came by a stream, in a temporary file that goes with this object."""

    def __init__(self, stream: IO[bytes]) -> None:
        handle, name = tempfile.mkstemp(prefix="cospan-", suffix=".stdin")
        self.path = Path(name)
        weakref.finalize(self, self.path.unlink, missing_ok=True)
        with reading(NAME, "bytes"), os.fdopen(handle, "wb") as file:
            shutil.copyfileobj(stream, file, 2**20)


_COPIES: weakref.WeakKeyDictionary[IO[bytes], _Copy] = weakref.WeakKeyDictionary()


class SpooledReader(Reader):
    """Another reader over the temporary file."""

    def __init__(self, reader: ArrayReader, copy: _Copy) -> None:
        self.name = NAME
        self.n_rows = reader.n_rows
        self.n_features = reader.n_features
        self.feature_names = reader.feature_names
        self.image_shape = reader.image_shape
        self.dtype = reader.dtype
        self.notes = reader.notes
        self._reader = reader
        self._copy = copy

    def blocks(self, size: int) -> Iterator[Chunk]:
        with _named(self._copy.path):
            yield from self._reader.blocks(size)


class SpooledText(TextFiles):
    """Delimited text in the temporary file, which lives as long as this."""

    def __init__(self, copy: _Copy, options: Options, note: str) -> None:
        keep = [x for x in (options.label, options.id_column) if isinstance(x, str | int)]
        self._copy = copy
        super().__init__([copy.path], NAME, keep, (note,), options.categorical)

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        with _named(self._copy.path):
            yield from super().batches(columns, size)


def _opened(copy: _Copy, options: Options) -> Reader | EncodableTable:
    kind, size = sniff(copy.path), copy.path.stat().st_size
    if size == 0:
        raise SourceError(f"{NAME}: is empty.")
    note = (
        f"Standard input ({size:,} bytes) was copied to a temporary file, because the rows are "
        "read more than once."
    )
    if kind == "NPY":
        return SpooledReader(npy_reader(copy.path, options, (note,)), copy)
    if kind is not None:
        raise SourceError(f"{NAME}: holds {kind}; only CSV and NPY can be piped in.")
    return table_reader(SpooledText(copy, options, note), options)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Messages speak of standard input, not of the temporary file."""
    try:
        yield
    except CospanError as error:
        text = str(error).replace(str(path), NAME).replace(path.name, NAME)
        raise type(error)(text) from error.__cause__
