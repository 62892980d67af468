"""Arrays: in memory, anything that can be sliced, Dask's, and the files of NumPy and of MNIST.

``.npy`` files are mapped into memory; what is packed is unpacked whole, where that fits. Nothing is
unpickled.
"""

from __future__ import annotations

import gzip
import math
import mmap
import os
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.lib import format as npy

from cospan.base.types import Data, Values
from cospan.errors import InputError, Note, SourceError

from .paths import check_readable, reading, sniff
from .source import Chunk, Source, listing

if TYPE_CHECKING:
    from .opening import Options

#: An IDX header's third byte names the type of the numbers, which are big-endian.
IDX_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


class ArrayRows(Source):
    """Rows of one array of two or more dimensions; the later ones become one row's features."""

    def __init__(self, array: Data, options: Options, name: str) -> None:
        # A Dask array is read by its own blocks, each of which is computed once in a pass.
        self._lazy = hasattr(array, "__dask_graph__")
        if self._lazy and any(math.isnan(n) for n in array.shape):
            raise InputError(f"{name}: call compute_chunk_sizes() first; its shape is not known.")
        shape = tuple(int(n) for n in array.shape)
        if len(shape) < 2:
            raise InputError(
                f"{name}: has the shape {shape}, and rows of features need 2 dimensions or more; "
                "reshape(1, -1) makes one sample of a vector, reshape(-1, 1) one feature."
            )
        if 0 in shape:
            raise InputError(f"{name}: is empty (shape {shape}).")
        width = math.prod(shape[1:])  # a forged shape must not wrap around
        check_fits(name, 8 * width, "one row of it")
        named = [one for one in (options.groups, options.id_column) if isinstance(one, str)]
        named += [*options.drop, *options.keep, *options.categorical, *options.numeric]
        if named:
            raise InputError(
                f"{name}: has no column {named[0]!r}; it is not a table, so pass a dataframe, or "
                "the numbers of the columns to take as columns=."
            )
        if is_array(options.label):
            options = replace(options, label=to_numpy(options.label))
        self._array = array
        self._groups = options.beside("groups", shape[0], name)
        self._labels = options.beside("label", shape[0], name)
        self._label_column: int | None = None
        self._columns: Values | None = None
        if options.label is not None and self._labels is None:
            self._label_column = _column_number(options.label, width, name)
            self._columns = np.delete(np.arange(width), self._label_column)
        if options.columns is not None:
            self._columns = np.array([_column_number(c, width, name) for c in options.columns])
        n_features = width if self._columns is None else len(self._columns)
        if not n_features:
            raise SourceError(f"{name}: its only column is the label; no feature is left.")
        self.image_shape = _image_shape(shape) if self._columns is None else None
        dtype = array.dtype if self._lazy else self._rows(slice(1), name).dtype
        super().__init__(name, options, (shape[0], n_features), float_type(dtype, name))

    def _rows(self, own: slice, name: str) -> Values:
        with reading(name, "an array"):
            return to_numpy(self._array[own, ...])

    def _blocks(self, size: int, met: list[Note]) -> Iterator[Chunk]:
        n_rows = int(self._array.shape[0])
        starts = range(0, n_rows, size)
        if self._lazy:
            starts = np.cumsum((0, *self._array.chunks[0][:-1])).tolist()
        for start, stop in pairwise((*starts, n_rows)):
            own = slice(start, stop)
            rows = self._rows(own, self.name)
            rows = rows.reshape(len(rows), -1)
            labels = None if self._labels is None else self._labels[own]
            if self._label_column is not None:
                labels = rows[:, self._label_column]
            groups = None if self._groups is None else self._groups[own]
            chosen = rows if self._columns is None else rows[:, self._columns]
            yield Chunk(chosen, np.arange(own.start, own.stop), labels, groups=groups)
            pages = getattr(self._array, "_mmap", None)
            if pages is not None and hasattr(mmap, "MADV_DONTNEED"):
                pages.madvise(mmap.MADV_DONTNEED)  # in the system's cache, but no longer ours


def is_array(obj: object) -> bool:
    """Whether `obj` is an array of any library, or can be sliced like one (h5py, zarr)."""
    from cospan.base import arrays  # SciPy comes with it, which tables do not need

    if arrays.is_array(obj) or is_sparse(obj):
        return True
    shape = getattr(obj, "shape", None)
    return isinstance(shape, tuple) and hasattr(obj, "dtype") and hasattr(obj, "__getitem__")


def to_numpy(array: Data) -> Values:
    """`array` as a NumPy array in main memory, native bytes; masked values become NaN."""
    from cospan.base import arrays

    if isinstance(array, np.ma.MaskedArray):
        floats = float_type(array.dtype, "array")
        return np.asarray(np.ma.filled(array.astype(floats), np.nan))
    if is_sparse(array):
        return np.asarray(array.toarray())
    if str(array.dtype).endswith("bfloat16"):
        # NumPy has no such type; float32 holds every one of its values.
        xp = arrays.namespace(array)
        array = xp.astype(array, xp.float32)
    found = arrays.to_numpy(array) if arrays.is_array(array) else np.asarray(array)
    return found if found.dtype.isnative else found.astype(found.dtype.newbyteorder("="))


def float_type(dtype: np.dtype, name: str) -> np.dtype:
    """The float type that rows of `dtype` are given as: float32 stays, integers get float64."""
    if dtype.kind == "f":
        return np.dtype(np.float32 if dtype.itemsize <= 4 else np.float64)
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    kind = {"c": "complex numbers", "O": "Python objects", "V": "records"}.get(dtype.kind)
    raise InputError(f"{name}: holds {kind or dtype}, and rows of real numbers are needed.")


def is_sparse(obj: object) -> bool:
    """Whether it is a sparse array of SciPy's, which is imported where there is one."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(obj))


def _column_number(column: object, width: int, name: str) -> int:
    text = str(column)
    number = int(text) if text.lstrip("-").isdigit() else width
    if not -width <= number < width:
        raise InputError(
            f"{name}: there is no column {column!r}; an array has columns 0 to {width - 1}, and "
            "label= may be an array with one label per row."
        )
    return number % width


def _image_shape(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """(n, h, w), (n, h, w, 1|3|4) and (n, 1, h, w) hold images."""
    inner = shape[1:]
    if len(inner) == 3 and 1 in (inner[0], inner[2]):
        inner = inner[1:] if inner[0] == 1 else inner[:2]
    pictures = len(inner) == 2 or (len(inner) == 3 and inner[2] in (3, 4))
    return inner if pictures else None


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


def npy_rows(path: Path, options: Options) -> ArrayRows:
    """One .npy file; the labels may be in another."""
    if isinstance(options.label, str) and options.label.endswith(".npy"):
        check_readable(Path(options.label))
        options = replace(options, label=np.asarray(_mapped(Path(options.label))))
    return ArrayRows(_mapped(path), options, path.name)


def _mapped(path: Path) -> Values:
    with reading(path, "NPY"):
        with path.open("rb") as stream:
            _check_header(stream, str(path), path.stat().st_size)
        return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _check_header(stream: IO[bytes], name: str, size: int) -> None:
    """Refuse what is no plain array of `size` bytes: NumPy's own words tell how to unpickle one."""
    version = npy.read_magic(stream)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(stream)
    if dtype.hasobject:
        raise SourceError(
            f"{name}: holds pickled Python objects, which can run code when loaded and are "
            "refused; save plain numbers."
        )
    promised = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or stream.tell() + promised > size:
        raise SourceError(
            f"{name}: is damaged or cut short; its header promises {promised:,} bytes of numbers."
        )


def npz_rows(path: Path, part: str | None, options: Options) -> ArrayRows:
    """One array of an .npz file; the labels may be another."""
    with reading(path, "NPZ"), zipfile.ZipFile(path) as archive:
        members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    sizes = {info.filename.removesuffix(".npy"): info.file_size for info in members}
    candidates = [n for n in sizes if n == part or (part is None and n != options.label)]
    if len(candidates) != 1:
        asked = "" if part is None else f", not {part!r}"
        raise SourceError(
            f"{path}: holds {listing(list(sizes)) or 'no arrays'}{asked}; name one that it holds, "
            f"as in {path.name}::{next(iter(sizes), 'x')}."
        )

    def array(member: str) -> Values:
        name = f"{path}: array {member!r}"
        check_fits(name, sizes[member], "unpacked it")
        with (
            reading(path, "NPZ"),
            zipfile.ZipFile(path) as archive,
            archive.open(f"{member}.npy") as stream,
        ):
            _check_header(stream, name, sizes[member])
            stream.seek(0)
            return np.asarray(npy.read_array(stream, allow_pickle=False))

    if isinstance(options.label, str) and options.label in sizes:
        options = replace(options, label=array(options.label))
    name = path.name if part is None else f"{path.name}::{part}"
    return ArrayRows(array(candidates[0]), options, name)


def is_idx(path: Path) -> bool:
    """Whether the first bytes, of the file or in its gzip, are an IDX header."""
    if sniff(path) != "gzip":
        return sniff(path) == "IDX"
    with reading(path, "gzip"), gzip.open(path) as stream:
        head = stream.read(4)
    return len(head) == 4 and head[:2] == b"\0\0" and head[2] in IDX_TYPES and 0 < head[3] < 8


def idx_rows(path: Path, options: Options) -> ArrayRows:
    """Images (or other rows) of an IDX file; the labels are in another beside it."""
    if isinstance(options.label, str):
        beside = path.name.replace("images", "labels").replace("idx3", "idx1")
        file = Path(options.label) if Path(options.label).is_file() else path.with_name(beside)
        if file == path or not file.is_file():
            raise InputError(
                f"{path.name}: finds no labels: neither a file {options.label!r} nor a file "
                f"{beside!r} beside it is there."
            )
        check_readable(file)
        options = replace(options, label=np.asarray(_idx_array(file)))
    return ArrayRows(_idx_array(path), options, path.name)


def _idx_array(path: Path) -> Values:
    """The numbers of an IDX file, unpacked where it is gzipped."""
    packed = sniff(path) == "gzip"
    with reading(path, "IDX"), gzip.open(path) if packed else path.open("rb") as stream:
        head = stream.read(4)
        if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in IDX_TYPES:
            raise SourceError(f"{path}: its header is damaged, so it cannot be read as IDX.")
        shape = tuple(np.frombuffer(stream.read(4 * head[3]), ">u4").tolist())
        dtype = np.dtype(IDX_TYPES[head[2]])
        size = math.prod(shape) * dtype.itemsize
        if packed:
            check_fits(str(path), size, "unpacked it")
        content = stream.read(size if packed else -1)
        if len(shape) < head[3] or len(content) < size:
            raise SourceError(
                f"{path}: is cut short; its header promises {size:,} bytes of numbers and "
                f"{len(content):,} are there."
            )
        return np.frombuffer(content, dtype, math.prod(shape)).reshape(shape)
