"""NumPy's own files: ``.npy`` memory-mapped, ``.npz`` streamed out of its zip. Never pickles."""

from __future__ import annotations

import io
import mmap
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from cospan.errors import SourceError

from .arrays import ArrayReader, Pieces
from .base import Options, listing
from .budget import check_block
from .paths import check_readable, reading

#: NumPy writes headers of a few hundred bytes; structured types may take some thousands.
MAX_HEADER = 2**16
#: An npz array is refused as a zip bomb when it expands both beyond this size ...
NPZ_MAX_BYTES = 2**30
#: ... and to more than this many times what it takes in the file.
NPZ_MAX_RATIO = 200


class Layout(NamedTuple):
    """Where an array's numbers lie in a file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool = False
    offset: int = 0

    @property
    def nbytes(self) -> int:
        # Python's integers: the product of a forged header's numbers must not wrap around.
        total = self.dtype.itemsize
        for length in self.shape:
            total *= int(length)
        return total


def npy_reader(path: Path, options: Options, notes: tuple[str, ...] = ()) -> ArrayReader:
    """A reader of one .npy file."""
    with reading(path, "NPY"), path.open("rb") as stream:
        layout = _npy_layout(stream, str(path))
        size = path.stat().st_size
    if layout.offset + layout.nbytes > size:
        raise SourceError(
            f"{path}: is cut short; its header promises {layout.nbytes:,} bytes of numbers and "
            f"{max(0, size - layout.offset):,} are there."
        )
    pieces = mapped(path, layout)
    return ArrayReader(
        path.name, layout.shape, layout.dtype, pieces, options, lookup=_label_file, notes=notes
    )


def npz_reader(path: Path, part: str | None, options: Options) -> ArrayReader:
    """A reader of one array of an .npz file."""
    with reading(path, "NPZ"), zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    member = choose_part(path, names, part, options.label)
    layout = _npz_layout(path, member)

    @contextmanager
    def data() -> Iterator[IO[bytes]]:
        with zipfile.ZipFile(path) as archive, archive.open(f"{member}.npy") as stream:
            stream.read(layout.offset)
            yield stream

    def lookup(label: str) -> NDArray[Any] | None:
        return _npz_array(path, label) if label in names else None

    name = path.name if part is None else f"{path.name}::{member}"
    pieces = streamed(data, layout, str(path))
    return ArrayReader(name, layout.shape, layout.dtype, pieces, options, lookup=lookup)


def mapped(path: Path, layout: Layout) -> Pieces:
    """Rows of a file that holds one array, through a memory map.

    At each step the pages handed out before are given back to the system: their content stays in
    the file and in its cache, but the process no longer holds it.
    """

    def pieces(size: int) -> Iterator[NDArray[Any]]:
        with reading(path, "an array"), path.open("rb") as stream:
            pages = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        array: NDArray[Any] = np.ndarray(
            layout.shape,
            layout.dtype,
            buffer=pages,
            offset=layout.offset,
            order="F" if layout.fortran else "C",
        )
        for start in range(0, layout.shape[0], size):
            yield _native(array[start : start + size])
            if hasattr(mmap, "MADV_DONTNEED"):
                pages.madvise(mmap.MADV_DONTNEED)

    return pieces


def streamed(
    data: Callable[[], AbstractContextManager[IO[bytes]]], layout: Layout, name: str
) -> Pieces:
    """Rows of an array that can only be read from front to back, as out of a compressed file."""
    row = Layout(layout.shape[1:], layout.dtype).nbytes

    def pieces(size: int) -> Iterator[NDArray[Any]]:
        with reading(name, "an array"), data() as stream:
            if layout.fortran:
                # Columns first: no row is complete before the last byte has come.
                whole = np.frombuffer(_exactly(stream, layout.nbytes, name), layout.dtype)
                whole = whole.reshape(layout.shape, order="F")
                for start in range(0, layout.shape[0], size):
                    yield _native(whole[start : start + size])
                return
            for start in range(0, layout.shape[0], size):
                n = min(size, layout.shape[0] - start)
                values = np.frombuffer(_exactly(stream, n * row, name), layout.dtype)
                yield _native(values.reshape(n, *layout.shape[1:]))

    return pieces


def choose_part(path: Path, names: list[str], part: str | None, label: object = None) -> str:
    """The array meant by ``file::part``; without a part, the only one that is not the label."""
    if part is not None:
        if part not in names:
            raise SourceError(f"{path}: has no array {part!r}; it holds {listing(names)}.")
        return part
    candidates = [name for name in names if name != label]
    if not candidates:
        raise SourceError(f"{path}: holds no array.")
    if len(candidates) > 1:
        raise SourceError(
            f"{path}: holds the arrays {listing(candidates)}; say which one, as in "
            f"{path.name}::{candidates[0]}."
        )
    return candidates[0]


def _npy_layout(stream: IO[bytes], name: str) -> Layout:
    try:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(_header(stream, version, name))
    except (ValueError, TypeError, SyntaxError, TokenError) as error:
        raise SourceError(f"{name}: its header is damaged, so it cannot be read as NPY.") from error
    if min(shape, default=0) < 0:
        raise SourceError(f"{name}: its header is damaged (shape {shape}).")
    if dtype.hasobject:
        raise SourceError(
            f"{name}: holds pickled Python objects, which can run code when loaded and are "
            "refused; save plain numbers."
        )
    return Layout(shape, dtype, fortran and len(shape) > 1, stream.tell())


def _header(stream: IO[bytes], version: tuple[int, int], name: str) -> IO[bytes]:
    """The header alone: NumPy would ask for as many bytes as the file says it has."""
    length = stream.read(2 if version == (1, 0) else 4)
    if int.from_bytes(length, "little") > MAX_HEADER:
        raise SourceError(f"{name}: its header is damaged, so it cannot be read as NPY.")
    return io.BytesIO(length + stream.read(int.from_bytes(length, "little")))


def _npz_layout(path: Path, member: str) -> Layout:
    """An array's layout, unless it is a bomb or shorter than it says."""
    with reading(path, "NPZ"), zipfile.ZipFile(path) as archive:
        info = archive.getinfo(f"{member}.npy")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise SourceError(
                f"{path}: array {member!r} is packed in a way that NumPy does not use; save it "
                "with numpy.savez_compressed."
            )
        with archive.open(info) as stream:
            layout = _npy_layout(stream, f"{path}::{member}")
    expanded = max(layout.nbytes, info.file_size)
    if expanded > NPZ_MAX_BYTES and expanded > NPZ_MAX_RATIO * max(1, info.compress_size):
        raise SourceError(
            f"{path}: array {member!r} would expand from {info.compress_size:,} to "
            f"{expanded:,} bytes and is refused as a zip bomb (the limit is {NPZ_MAX_RATIO} times "
            f"its size in the file, above {NPZ_MAX_BYTES:,} bytes); save it as .npy."
        )
    if layout.offset + layout.nbytes > info.file_size:
        raise SourceError(f"{path}: array {member!r} is shorter than its header says.")
    if layout.fortran:  # no row is complete before the last byte has come
        check_block(f"{path}::{member}", layout.nbytes, info.compress_size)
    return layout


def _npz_array(path: Path, member: str) -> NDArray[Any]:
    check_block(f"{path}::{member}", _npz_layout(path, member).nbytes, path.stat().st_size)
    with (
        reading(path, "NPZ"),
        zipfile.ZipFile(path) as archive,
        archive.open(f"{member}.npy") as stream,
    ):
        return np.asarray(npy.read_array(stream, allow_pickle=False))


def _label_file(label: str) -> NDArray[Any] | None:
    """For rows in one .npy file, the labels may be in another."""
    if not label.endswith(".npy"):
        return None
    check_readable(Path(label))
    with reading(label, "NPY"):
        return np.asarray(np.load(label, allow_pickle=False))


def _exactly(stream: IO[bytes], n_bytes: int, name: str) -> bytes:
    data = stream.read(n_bytes)
    if len(data) < n_bytes:
        raise SourceError(f"{name}: is cut short; {n_bytes - len(data):,} bytes are missing.")
    return data


def _native(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
