"""Files that hold several arrays: safetensors, HDF5 and Zarr, through their libraries."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._packages import needed
from cospan.errors import SourceError

from .arrays import ArrayReader, to_numpy
from .base import Options
from .budget import DEFLATE_RATIO, FREE_BLOCK, check_block, check_stream, expands_to
from .numpy_files import choose_part
from .paths import reading
from .zarr_stores import check_chunks, check_store


def safetensors_reader(path: Path, part: str | None, options: Options) -> ArrayReader:
    """One tensor of a safetensors file, read slice by slice."""
    from safetensors import SafetensorError, safe_open

    def tensor(name: str) -> tuple[Any, Any]:
        handle: Any = safe_open(path, framework="numpy")
        if handle.get_slice(name).get_dtype() == "BF16":
            _require("torch", f"{path}: tensor {name!r} is bfloat16, and reading it")
            handle = safe_open(path, framework="pt")
        return handle, handle.get_slice(name)

    try:
        with reading(path, "safetensors"):
            opened: Any = safe_open(path, framework="numpy")
            names = list(opened.keys())
            member = choose_part(path, names, part, options.label)
            _, first = tensor(member)
            shape = tuple(first.get_shape())
            dtype = to_numpy(first[:1]).dtype if shape and 0 not in shape else np.dtype(float)
    except SafetensorError as error:
        raise SourceError(f"{path}: is not a complete safetensors file ({error}).") from error

    def pieces(size: int) -> Iterator[NDArray[Any]]:
        with reading(path, "safetensors"):
            _, view = tensor(member)
            for start in range(0, shape[0], size):
                yield to_numpy(view[start : min(start + size, shape[0])])

    def lookup(label: str) -> NDArray[Any] | None:
        with reading(path, "safetensors"):
            return to_numpy(tensor(label)[1][:]) if label in names else None

    name = path.name if part is None else f"{path.name}::{member}"
    return ArrayReader(name, shape, dtype, pieces, options, lookup=lookup)


def hdf5_reader(path: Path, part: str | None, options: Options) -> ArrayReader:
    """One dataset of an HDF5 file, read slice by slice."""
    h5py = _require("h5py", f"{path}: reading HDF5")
    found: dict[str, int] = {}

    def note(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            found[name] = item.ndim

    with reading(path, "HDF5"), h5py.File(path, "r") as file:
        file.visititems(note)
        _refuse_links(path, file, part, found)
        member = choose_part(path, _matrices(found, part), part, options.label)
        shape, dtype = file[member].shape, file[member].dtype
        _check_hdf5(f"{path}::{member}", file[member])

    def pieces(size: int) -> Iterator[NDArray[Any]]:
        with reading(path, "HDF5"), h5py.File(path, "r") as file:
            for start in range(0, shape[0], size):
                yield np.asarray(file[member][start : start + size])

    def lookup(label: str) -> NDArray[Any] | None:
        if label not in found:
            return None
        with reading(path, "HDF5"), h5py.File(path, "r") as file:
            values = file[label]
            _check_hdf5(f"{path}::{label}", values)
            check_block(f"{path}::{label}", values.nbytes, values.id.get_storage_size())
            text = h5py.check_string_dtype(values.dtype) is not None
            return np.asarray(values.asstr()[:] if text else values[:])

    name = path.name if part is None else f"{path.name}::{member}"
    return ArrayReader(name, shape, dtype, pieces, options, lookup=lookup)


def _refuse_links(path: Path, file: Any, part: str | None, found: dict[str, int]) -> None:
    """Say of what is asked for, or of all there is, that it lies in another file."""
    h5py = _require("h5py", f"{path}: reading HDF5")
    wanted = [part] if part is not None else [] if found else list(file)
    asked = [
        name
        for name in wanted
        if isinstance(file.get(name, getlink=True, default=None), h5py.ExternalLink)
    ]
    if asked:
        raise SourceError(
            f"{path}::{asked[0]}: is a link to another file, which is not read; name that file, or "
            "copy the array into this one."
        )


def _check_hdf5(name: str, dataset: Any) -> None:
    """Refuse data that lie in other files, and more of them than the file can hold."""
    if dataset.is_virtual or dataset.external:
        raise SourceError(
            f"{name}: its data lie in other files, which are not read; "
            "copy them into one file, for example with h5repack."
        )
    stored = dataset.id.get_storage_size()
    check_stream(name, dataset.nbytes, stored)
    if dataset.chunks is not None:
        check_block(name, math.prod(dataset.chunks) * dataset.dtype.itemsize, stored)
    if dataset.compression == "gzip" and stored < _LOOKED_INTO:
        _check_gzip_chunks(name, dataset.id)


def _check_gzip_chunks(name: str, dataset: Any) -> None:
    """The library expands a chunk to its end, whatever the dataset says of its size."""
    for number in range(dataset.get_num_chunks()):
        chunk = dataset.get_chunk_info(number)
        if chunk.size * DEFLATE_RATIO > FREE_BLOCK:
            _, data = dataset.read_direct_chunk(chunk.chunk_offset)
            check_block(name, expands_to(data, "zlib", FREE_BLOCK), 1)


def zarr_reader(path: Path, part: str | None, options: Options) -> ArrayReader:
    """One array of a Zarr store, read in steps that fit its own chunks."""
    zarr = _require("zarr", f"{path}: reading Zarr")
    check_store(path)
    with reading(path, "Zarr"):
        node = zarr.open(str(path), mode="r")
        is_group = isinstance(node, zarr.Group)
        members = node.members(None) if is_group else ()
        arrays: dict[str, Any] = {
            name: item for name, item in members if isinstance(item, zarr.Array)
        }
    if is_group:
        dimensions = {name: item.ndim for name, item in arrays.items()}
        member = choose_part(path, _matrices(dimensions, part), part, options.label)
        node = arrays[member]
    elif part is not None:
        raise SourceError(f"{path}: is one array and has no part {part!r}.")
    shape = tuple(node.shape)
    _check_zarr_chunks(path, node)

    def pieces(size: int) -> Iterator[NDArray[Any]]:
        # A step that cuts a stored chunk in two would decompress it twice.
        with reading(path, "Zarr"):
            stored = int(node.chunks[0])
            step = max(stored, size - size % stored) if stored <= 4 * size else size
            for start in range(0, shape[0], step):
                yield np.asarray(node[start : start + step])

    def lookup(label: str) -> NDArray[Any] | None:
        if label not in arrays:
            return None
        stored = _check_zarr_chunks(path, arrays[label])
        check_block(f"{path}::{label}", arrays[label].nbytes, stored)
        with reading(path, "Zarr"):
            return np.asarray(arrays[label][:])

    name = path.name if part is None else f"{path.name}::{part}"
    return ArrayReader(name, shape, np.dtype(node.dtype), pieces, options, lookup=lookup)


def _check_zarr_chunks(store: Path, node: Any) -> int:
    """Look at the chunks of one array of a store before any is decoded; gives their size."""
    with reading(store, "Zarr"):
        return check_chunks(store / node.path, node, node.metadata.to_dict())


def _matrices(dimensions: dict[str, int], part: str | None) -> list[str]:
    """The arrays to choose from: those with rows and features, or all when one is named."""
    return [name for name, n in dimensions.items() if part is not None or n >= 2]


#: Datasets of more bytes than this may take memory in proportion to them.
_LOOKED_INTO = 2**25


def _require(package: str, purpose: str) -> Any:
    with needed(purpose):
        return importlib.import_module(package)
