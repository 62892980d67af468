"""Standard input: CSV or NPY, kept in a temporary file because the rows are read more than once."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from pathlib import Path
from typing import IO

from cospan.errors import SourceError

from .arrays import ArrayReader
from .base import Options
from .numpy_files import npy_reader
from .paths import reading, sniff
from .tables import TableReader
from .text import TextFiles

__all__ = ["stdin_reader"]

NAME = "standard input"


def stdin_reader(options: Options) -> ArrayReader | TableReader:
    """Copy standard input to a temporary file and open that."""
    stream = sys.stdin.buffer
    if stream.isatty():
        raise SourceError("Standard input is a terminal; pipe CSV or NPY into it.")
    path = _spooled(stream)
    note = (
        f"Standard input ({path.stat().st_size:,} bytes) was copied to a temporary file, because "
        "the rows are read more than once."
    )
    reader: ArrayReader | TableReader
    try:
        kind = sniff(path)
        if path.stat().st_size == 0:
            raise SourceError(f"{NAME}: is empty.")
        if kind == "NPY":
            reader = npy_reader(path, options, (note,))
        elif kind is None:
            keep = [x for x in (options.label, options.id_column) if isinstance(x, str | int)]
            reader = TableReader(TextFiles([path], NAME, keep, (note,)), options)
        else:
            raise SourceError(f"{NAME}: holds {kind}; only CSV and NPY can be piped in.")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    reader.name = NAME
    weakref.finalize(reader, path.unlink, missing_ok=True)
    return reader


def _spooled(stream: IO[bytes]) -> Path:
    """Everything that comes, in a temporary file."""
    handle, name = tempfile.mkstemp(prefix="cospan-", suffix=".stdin")
    path = Path(name)
    try:
        with reading(NAME, "bytes"), os.fdopen(handle, "wb") as copy:
            shutil.copyfileobj(stream, copy, 2**20)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path
