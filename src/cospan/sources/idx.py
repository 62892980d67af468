"""IDX files, the format of MNIST: a short header, then numbers; plain or gzipped."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from cospan.errors import InputError, SourceError

from .arrays import ArrayReader
from .base import Options
from .budget import check_block, check_stream
from .numpy_files import Layout, mapped, streamed
from .paths import check_readable, reading, sniff

#: The header's third byte names the type of the numbers, which are big-endian.
TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def is_idx(path: Path) -> bool:
    """Whether the first bytes, of the file or in its gzip, are an IDX header."""
    if sniff(path) == "IDX":
        return True
    if sniff(path) != "gzip":
        return False
    with reading(path, "gzip"), gzip.open(path) as stream:
        head = stream.read(4)
    return len(head) == 4 and head[:2] == b"\0\0" and head[2] in TYPES and 0 < head[3] < 8


def idx_reader(path: Path, options: Options) -> ArrayReader:
    """A reader of images (or other rows) in an IDX file."""
    layout = _layout(path)
    check_stream(str(path), layout.nbytes, path.stat().st_size)
    packed = sniff(path) == "gzip"
    if not packed and layout.offset + layout.nbytes > path.stat().st_size:
        raise SourceError(f"{path}: is cut short; its header promises {layout.shape[0]:,} rows.")

    @contextmanager
    def data() -> Iterator[IO[bytes]]:
        with _open(path) as stream:
            stream.read(layout.offset)
            yield stream

    pieces = streamed(data, layout, str(path)) if packed else mapped(path, layout)
    return ArrayReader(
        path.name, layout.shape, layout.dtype, pieces, options,
        lookup=lambda label: _labels(path, label),
    )  # fmt: skip


def _layout(path: Path) -> Layout:
    with reading(path, "IDX"), _open(path) as stream:
        head = stream.read(4)
        if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in TYPES or not head[3]:
            raise SourceError(f"{path}: does not begin like an IDX file.")
        lengths = stream.read(4 * head[3])
    if len(lengths) < 4 * head[3]:
        raise SourceError(f"{path}: is cut short within its header.")
    shape = tuple(int(n) for n in np.frombuffer(lengths, ">u4"))
    return Layout(shape, np.dtype(TYPES[head[2]]), offset=4 + len(lengths))


def _labels(images: Path, label: str) -> NDArray[Any]:
    """Labels from the file that `label` names, or from the one beside the images."""
    name = images.name.replace("images", "labels").replace("idx3", "idx1")
    path = Path(label) if Path(label).is_file() else images.with_name(name)
    if path == images or not path.is_file():
        raise InputError(
            f"{images.name}: finds no labels: neither a file {label!r} nor a file {name!r} beside "
            "it is there."
        )
    check_readable(path)
    layout = _layout(path)
    if len(layout.shape) != 1:
        raise InputError(f"{path}: has {len(layout.shape)} dimensions; labels have one.")
    return read_idx(path)


def _open(path: Path) -> IO[bytes]:
    # A GzipFile reads as a file does, and is declared as something of its own.
    return gzip.open(path) if sniff(path) == "gzip" else path.open("rb")  # type: ignore[return-value]


def read_idx(path: Path) -> NDArray[Any]:
    """A whole IDX file as an array, for files that fit in memory."""
    layout = _layout(path)
    check_block(str(path), layout.nbytes, path.stat().st_size)
    with reading(path, "IDX"), _open(path) as stream:
        stream.read(layout.offset)
        data = stream.read(layout.nbytes)
    if len(data) < layout.nbytes:
        raise SourceError(f"{path}: is cut short; it promises {layout.shape[0]:,} rows.")
    array = np.frombuffer(data, layout.dtype).reshape(layout.shape)
    return array.astype(layout.dtype.newbyteorder("="), copy=False)
