"""Arrays: in memory, anything that can be sliced, and the files of NumPy and of MNIST.

An :class:`ArrayReader` needs one function: ``pieces(size)``, the raw rows in order, `size` at a
time. ``.npy`` files are mapped into memory, ``.npz`` and gzipped IDX files are streamed. Nothing is
unpickled.
"""

from __future__ import annotations

import gzip
import io
import math
import mmap
import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from cospan.base.notes import Note
from cospan.errors import InputError, SourceError

from .base import Chunk, Options, Reader, float_type, group_array, listing
from .paths import check_readable, reading, sniff

#: NumPy has no arrays of more.
MAX_DIMENSIONS = 64
#: NumPy writes headers of a few hundred bytes; structured types may take some thousands.
MAX_HEADER = 2**16
#: An IDX header's third byte names the type of the numbers, which are big-endian.
IDX_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}

Pieces = Callable[[int], Iterator[NDArray[Any]]]
Lookup = Callable[[str], Any]  # the labels of this name beside an array, or None
Opened = Callable[[], AbstractContextManager[IO[bytes]]]


class ArrayReader(Reader):
    """Rows of one array of two or more dimensions; the later ones become one row's features."""

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        pieces: Pieces,
        options: Options,
        *,
        lookup: Lookup = lambda label: None,
        notes: tuple[Note, ...] = (),
    ) -> None:
        self.name, self.notes = name, notes
        self._labels = _label_array(options.label, name, lookup)
        self.dtype = float_type(dtype, name)
        if not 2 <= len(shape) <= MAX_DIMENSIONS:
            raise InputError(
                f"{name}: has {len(shape)} dimension(s), and rows of features need 2 to "
                f"{MAX_DIMENSIONS}; reshape(1, -1) makes one sample of a vector, reshape(-1, 1) "
                "one feature."
            )
        if 0 in shape:
            raise InputError(f"{name}: is empty (shape {shape}).")
        self.n_rows = shape[0]
        self._width = math.prod(shape[1:])  # a forged shape must not wrap around
        self._pieces = pieces
        self._label_column: int | None = None
        if options.label is not None and self._labels is None:
            self._label_column = _column_number(options.label, self._width, name)
        elif self._labels is not None and self._labels.shape != (self.n_rows,):
            raise InputError(
                f"{name}: there are {len(self._labels):,} labels for {self.n_rows:,} rows, in "
                f"{self._labels.ndim} dimensions; give one for each row."
            )
        self._groups = group_array(options.groups, self.n_rows, name)
        for given in ("groups", "id_column"):
            if isinstance(getattr(options, given), str):
                raise InputError(f"{name}: an array has no columns by name for {given}=.")
        self._columns: NDArray[np.intp] | None = None
        if options.columns is not None:
            chosen = [_column_number(c, self._width, name) for c in options.columns]
            self._columns = np.array(chosen, dtype=np.intp)
        elif self._label_column is not None:
            self._columns = np.delete(np.arange(self._width), self._label_column)
        self.n_features = self._width if self._columns is None else len(self._columns)
        if not self.n_features:
            raise SourceError(f"{name}: its only column is the label; no feature is left.")
        self.image_shape = _image_shape(shape) if self._columns is None else None
        check_fits(name, 8 * self._width, "one row of it")

    def blocks(self, size: int) -> Iterator[Chunk]:
        start = 0
        for piece in self._pieces(size):
            rows = piece.reshape(len(piece), -1)
            own = slice(start, start + len(rows))
            start = own.stop
            labels = None if self._labels is None else self._labels[own]
            if self._label_column is not None:
                labels = rows[:, self._label_column]
            groups = None if self._groups is None else self._groups[own]
            chosen = rows if self._columns is None else rows[:, self._columns]
            yield Chunk(chosen, np.arange(own.start, own.stop), labels, groups=groups)


def array_reader(array: Any, options: Options, name: str) -> ArrayReader:
    """A reader of anything with a shape that can be sliced, dense or sparse, wherever it lies."""
    shape = tuple(int(n) for n in array.shape)

    def pieces(size: int) -> Iterator[NDArray[Any]]:
        for start in range(0, shape[0], size):
            yield to_numpy(array[start : min(start + size, shape[0]), ...])

    first = to_numpy(array[:1, ...] if len(shape) > 1 else array)
    return ArrayReader(name, shape, first.dtype, pieces, options)


def is_array(obj: object) -> bool:
    """Whether `obj` is an array of any library, or can be sliced like one (h5py, zarr)."""
    from cospan.base import arrays  # SciPy comes with it, which tables do not need

    if arrays.is_array(obj) or _is_sparse(obj):
        return True
    shape = getattr(obj, "shape", None)
    return isinstance(shape, tuple) and hasattr(obj, "dtype") and hasattr(obj, "__getitem__")


def to_numpy(array: Any) -> NDArray[Any]:
    """`array` as a NumPy array in main memory; masked values become NaN."""
    from cospan.base import arrays

    if isinstance(array, np.ma.MaskedArray):
        floats = float_type(array.dtype, "array")
        return np.asarray(np.ma.filled(array.astype(floats), np.nan))
    if _is_sparse(array):
        return np.asarray(array.toarray())
    if str(array.dtype).endswith("bfloat16"):
        # NumPy has no such type; float32 holds every one of its values.
        xp = arrays.namespace(array)
        array = xp.astype(array, xp.float32)
    return arrays.to_numpy(array) if arrays.is_array(array) else np.asarray(array)


def _is_sparse(obj: object) -> bool:
    """Whether it is a sparse array of SciPy's, which is imported where there is one."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(obj))


def _label_array(label: Any, name: str, lookup: Lookup) -> NDArray[Any] | None:
    """The labels beside the rows: passed in, or found by name with `lookup`.

    None when there is no label, or when it is the number of one of the array's own columns.
    """
    if isinstance(label, str) and not label.lstrip("-").isdigit():
        found = lookup(label)
        if found is None:
            raise InputError(
                f"{name}: an array has no column {label!r}; give label= as a column number or as "
                "an array with one label per row."
            )
        label = found
    if label is None or isinstance(label, str | int | np.integer):
        return None
    return to_numpy(label) if is_array(label) else np.asarray(label)


def _column_number(column: object, width: int, name: str) -> int:
    text = str(column)
    number = int(text) if text.lstrip("-").isdigit() else width
    if not -width <= number < width:
        raise InputError(f"{name}: there is no column {column!r}; it has columns 0 to {width - 1}.")
    return number % width


def _image_shape(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """(n, h, w), (n, h, w, 1|3|4) and (n, 1, h, w) hold images."""
    if len(shape) == 3:
        return shape[1:]
    if len(shape) != 4:
        return None
    if shape[1] == 1:
        return shape[2:]
    if shape[3] == 1:
        return shape[1:3]
    return shape[1:] if shape[3] in (3, 4) else None


def check_fits(name: str, n_bytes: int, what: str) -> None:
    """Refuse what has to be in memory at once and does not fit, before any of it is taken."""
    try:
        pages = os.sysconf("SC_AVPHYS_PAGES"), os.sysconf("SC_PHYS_PAGES")
        there = max(pages[0], pages[1] // 2) * os.sysconf("SC_PAGE_SIZE")  # caches can go
    except (ValueError, OSError, AttributeError):
        there = 2**33
    if n_bytes > there:
        raise SourceError(
            f"{name}: {what} takes {n_bytes:,} bytes, more than the {there:,} bytes of memory that "
            "this machine has free; save fewer rows or features, or a format read in pieces (.npy)."
        )


# ---- files of arrays ---------------------------------------------------------------------------


class Layout(NamedTuple):
    """Where an array's numbers lie in a file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool = False
    offset: int = 0

    @property
    def nbytes(self) -> int:
        # Python's integers: the product of a forged header's numbers must not wrap around.
        return math.prod(map(int, self.shape)) * self.dtype.itemsize

    def refuse_short(self, name: str, size: int) -> None:
        if self.offset + self.nbytes > size:
            raise SourceError(
                f"{name}: is cut short; its header promises {self.nbytes:,} bytes of numbers and "
                f"{max(0, size - self.offset):,} are there."
            )


def npy_reader(path: Path, options: Options, notes: tuple[Note, ...] = ()) -> ArrayReader:
    """A reader of one .npy file; the labels may be in another."""

    def lookup(label: str) -> NDArray[Any] | None:
        if not label.endswith(".npy"):
            return None
        check_readable(Path(label))
        with reading(label, "NPY"):
            return np.asarray(np.load(label, allow_pickle=False))

    with reading(path, "NPY"), path.open("rb") as stream:
        layout = _npy_layout(stream, str(path))
    pieces = _mapped(path, layout)
    return ArrayReader(
        path.name, layout.shape, layout.dtype, pieces, options, lookup=lookup, notes=notes
    )


def npz_reader(path: Path, part: str | None, options: Options) -> ArrayReader:
    """A reader of one array of an .npz file; the labels may be another."""
    with reading(path, "NPZ"), zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    candidates = [
        name for name in names if name == part or (part is None and name != options.label)
    ]
    if len(candidates) != 1:
        raise SourceError(
            f"{path}: holds no array{'' if part is None else f' {part!r}'} (but {listing(names)})."
            if not candidates
            else f"{path}: holds the arrays {listing(candidates)}; say which one, as in "
            f"{path.name}::{candidates[0]}."
        )
    member = candidates[0]

    @contextmanager
    def opened(name: str) -> Iterator[IO[bytes]]:
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as stream:
            yield stream

    def lookup(label: str) -> NDArray[Any] | None:
        if label not in names:
            return None
        check_fits(f"{path}::{label}", _npz_layout(path, label).nbytes, "it")
        with reading(path, "NPZ"), opened(label) as stream:
            return np.asarray(npy.read_array(stream, allow_pickle=False))

    layout = _npz_layout(path, member)
    name = path.name if part is None else f"{path.name}::{member}"
    pieces = _streamed(lambda: opened(member), layout, str(path))
    return ArrayReader(name, layout.shape, layout.dtype, pieces, options, lookup=lookup)


def is_idx(path: Path) -> bool:
    """Whether the first bytes, of the file or in its gzip, are an IDX header."""
    if sniff(path) != "gzip":
        return sniff(path) == "IDX"
    with reading(path, "gzip"), gzip.open(path) as stream:
        head = stream.read(4)
    return len(head) == 4 and head[:2] == b"\0\0" and head[2] in IDX_TYPES and 0 < head[3] < 8


def idx_reader(path: Path, options: Options) -> ArrayReader:
    """A reader of images (or other rows) in an IDX file, plain or gzipped."""

    def lookup(label: str) -> NDArray[Any]:
        beside = path.name.replace("images", "labels").replace("idx3", "idx1")
        file = Path(label) if Path(label).is_file() else path.with_name(beside)
        if file == path or not file.is_file():
            raise InputError(
                f"{path.name}: finds no labels: neither a file {label!r} nor a file {beside!r} "
                "beside it is there."
            )
        return read_idx(file)

    layout = _idx_layout(path)
    packed = sniff(path) == "gzip"
    pieces = (
        _streamed(lambda: _idx_stream(path), layout, str(path)) if packed else _mapped(path, layout)
    )
    return ArrayReader(path.name, layout.shape, layout.dtype, pieces, options, lookup=lookup)


def read_idx(path: Path) -> NDArray[Any]:
    """All of an IDX file, plain or gzipped, as one array."""
    check_readable(path)
    layout = _idx_layout(path)
    check_fits(str(path), layout.nbytes, "it")
    pieces = list(_streamed(lambda: _idx_stream(path), layout, str(path))(max(1, layout.shape[0])))
    return pieces[0] if pieces else np.empty(layout.shape, layout.dtype)


def _idx_stream(path: Path) -> IO[bytes]:
    # A GzipFile reads as a file does, and is declared as something of its own.
    return gzip.open(path) if sniff(path) == "gzip" else path.open("rb")  # type: ignore[return-value]


def _idx_layout(path: Path) -> Layout:
    with reading(path, "IDX"), _idx_stream(path) as stream:
        head = stream.read(4)
        if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in IDX_TYPES:
            raise SourceError(f"{path}: its header is damaged, so it cannot be read as IDX.")
        sizes = _exactly(stream, 4 * head[3], str(path))
    shape = tuple(int(n) for n in np.frombuffer(sizes, ">u4"))
    return Layout(shape, np.dtype(IDX_TYPES[head[2]]), offset=4 + 4 * head[3])


def _mapped(path: Path, layout: Layout) -> Pieces:
    """Rows of a file that holds one array, through a memory map.

    At each step the pages handed out before are given back to the system: their content stays in
    the file and in its cache, but the process no longer holds it.
    """
    layout.refuse_short(str(path), path.stat().st_size)

    def pieces(size: int) -> Iterator[NDArray[Any]]:
        with reading(path, "an array"), path.open("rb") as stream:
            pages = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        order: Any = "F" if layout.fortran else "C"
        array: NDArray[Any] = np.ndarray(
            layout.shape, layout.dtype, buffer=pages, offset=layout.offset, order=order
        )
        for start in range(0, layout.shape[0], size):
            yield _native(array[start : start + size])
            if hasattr(mmap, "MADV_DONTNEED"):
                pages.madvise(mmap.MADV_DONTNEED)

    return pieces


def _streamed(opened: Opened, layout: Layout, name: str) -> Pieces:
    """Rows of an array that can only be read from front to back, as out of a compressed file."""
    row = Layout(layout.shape[1:], layout.dtype).nbytes

    def pieces(size: int) -> Iterator[NDArray[Any]]:
        with reading(name, "an array"), opened() as stream:
            stream.read(layout.offset)
            if layout.fortran:  # columns first: no row is complete before the last byte has come
                check_fits(name, layout.nbytes, "an array stored by columns")
                whole = np.frombuffer(_exactly(stream, layout.nbytes, name), layout.dtype)
                whole = whole.reshape(layout.shape, order="F")
            for start in range(0, layout.shape[0], size):
                n = min(size, layout.shape[0] - start)
                if layout.fortran:
                    yield _native(whole[start : start + n])
                    continue
                values = np.frombuffer(_exactly(stream, n * row, name), layout.dtype)
                yield _native(values.reshape(n, *layout.shape[1:]))

    return pieces


def _npy_layout(stream: IO[bytes], name: str) -> Layout:
    damaged = f"{name}: its header is damaged, so it cannot be read as NPY."
    try:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        # The header alone: NumPy would ask for as many bytes as the file says it has.
        length = stream.read(2 if version == (1, 0) else 4)
        size = int.from_bytes(length, "little")
        if size > MAX_HEADER:
            raise SourceError(damaged)
        shape, fortran, dtype = read(io.BytesIO(length + stream.read(size)))
    except (ValueError, TypeError, SyntaxError, TokenError) as error:
        raise SourceError(damaged) from error
    if min(shape, default=0) < 0:
        raise SourceError(damaged)
    if dtype.hasobject:
        raise SourceError(
            f"{name}: holds pickled Python objects, which can run code when loaded and are "
            "refused; save plain numbers."
        )
    return Layout(shape, dtype, fortran and len(shape) > 1, stream.tell())


def _npz_layout(path: Path, member: str) -> Layout:
    name = f"{path}: array {member!r}"
    with reading(path, "NPZ"), zipfile.ZipFile(path) as archive:
        info = archive.getinfo(f"{member}.npy")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise SourceError(
                f"{name} is packed in a way that NumPy does not use; save it with "
                "numpy.savez_compressed."
            )
        with archive.open(info) as stream:
            layout = _npy_layout(stream, name)
    layout.refuse_short(name, info.file_size)
    if info.compress_type == zipfile.ZIP_DEFLATED:
        check_fits(name, info.file_size, "unpacked it")
    return layout


def _exactly(stream: IO[bytes], n_bytes: int, name: str) -> bytes:
    data = stream.read(n_bytes)
    if len(data) < n_bytes:
        raise SourceError(f"{name}: is cut short; {n_bytes - len(data):,} bytes are missing.")
    return data


def _native(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
