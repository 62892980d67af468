"""What a Zarr store may ask for: metadata is checked before any library acts on it.

A Zarr array's metadata names the codecs that decode its chunks, and one of those that numcodecs
knows is ``pickle``: a folder of data could run code on the machine that reads it. So every codec
of every array in the store must be on a list of codecs that only move bytes around, and this is
checked from the JSON files themselves, before the store is opened.

Then what the chunks of an array expand to is read from their first bytes, before they are decoded:
some codecs write the length of what they hold in front (blosc, lz4, zstd); of the others the bytes
are counted in passing, and only where the ratio that the codec can reach makes it needed.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cospan.errors import SourceError

from .budget import BLOCK_RATIO, FREE_BLOCK, check_block, check_stream, expands_to
from .paths import folders_below, reading

#: Codecs that turn bytes into bytes or numbers into numbers. Everything else is refused.
PLAIN = frozenset(
    (
        *("blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd"),
        *("adler32", "crc32", "crc32c", "fletcher32", "jenkins_lookup3"),
        *("astype", "bitround", "delta", "fixedscaleoffset", "packbits", "quantize", "shuffle"),
        *("bytes", "sharding_indexed", "transpose", "vlen-utf8"),
    )
)
#: The files in which a store keeps its metadata, in version 3 and version 2.
NAMES = ("zarr.json", ".zarray", ".zgroup", ".zmetadata")
#: Where an array's metadata names codecs, in version 3 and version 2.
KEYS = ("codecs", "filters", "compressor")


def check_store(folder: Path) -> None:
    """Refuse a store with an array that would be decoded by anything but plain codecs."""
    for file in _metadata_files(folder):
        with reading(file, "the metadata of a Zarr store"):
            content = json.loads(file.read_bytes())
        for node in _nodes(content):
            _check_array(node, file)


def _metadata_files(folder: Path) -> Iterator[Path]:
    """All of them, also where none is expected: a folder can be a group and an array at once."""
    for place, files in folders_below(folder):
        for name in files:
            # a named pipe would be waited for without end, and a device never end
            if (place / name).exists() and not (place / name).is_file():
                raise SourceError(f"{place / name}: is not a regular file, as a Zarr store has.")
        yield from (place / name for name in NAMES if name in files)


def _nodes(content: Any) -> Iterator[dict[str, Any]]:
    """The arrays and groups that one metadata file describes, consolidated ones among them."""
    if not isinstance(content, dict):
        return
    yield content
    inner = content.get("consolidated_metadata")
    for holder in (content, inner):
        described = holder.get("metadata") if isinstance(holder, dict) else None
        if isinstance(described, dict):
            for node in described.values():
                yield from _nodes(node)


def codec_names(node: dict[str, Any]) -> list[str]:
    """Every codec that an array's metadata names."""
    return sorted({name for key in KEYS for name in _codecs(node.get(key))})


def _check_array(node: dict[str, Any], file: Path) -> None:
    used = codec_names(node)
    odd = sorted(set(used) - PLAIN)
    if odd:
        raise SourceError(
            f"{file}: its data are encoded with {odd[0]!r}, which is refused because decoding it "
            "can run code or is not known to be safe; save the array with a plain compressor "
            "such as zstd."
        )
    if "O" in str(node.get("dtype", "")) and "vlen-utf8" not in used:
        raise SourceError(
            f"{file}: holds Python objects, which are refused because loading them can run code; "
            "save plain numbers."
        )
    if node.get("storage_transformers"):
        raise SourceError(f"{file}: uses storage transformers, which cospan does not read.")


def _codecs(given: Any) -> set[str]:
    """The names of all codecs in a specification, those inside shards too."""
    if isinstance(given, str):
        return {given.removeprefix("numcodecs.")}
    if isinstance(given, list | tuple):
        return {name for item in given for name in _codecs(item)}
    if not isinstance(given, dict):
        return set()
    names = {str(given.get("id", given.get("name"))).removeprefix("numcodecs.")}
    inside = given.get("configuration")
    if isinstance(inside, dict):
        names |= _codecs(inside.get("codecs")) | _codecs(inside.get("index_codecs"))
    return names


#: What one byte can expand to at most.
MOST = {"gzip": 1032, "zlib": 1032, "bz2": math.inf, "lzma": math.inf}
EMPTY = 2**64 - 1  # offset and length of a chunk that a shard does not hold


def check_chunks(folder: Path, node: Any, metadata: dict[str, Any]) -> int:
    """Refuse an array that expands out of proportion, as a whole or in one of its chunks.

    Returns the number of bytes that its chunks take.
    """
    itemsize = np.dtype(node.dtype).itemsize
    codecs = codec_names(metadata)
    stored = 0
    for place, files in folders_below(folder):
        for name in files:
            if name not in (*NAMES, ".zattrs"):
                file = place / name
                stored += file.stat().st_size
                _check_file(file, node, codecs, metadata)
    check_stream(str(folder), math.prod(node.shape) * itemsize, stored)
    check_block(str(folder), math.prod(node.chunks) * itemsize, stored)
    return stored


def _check_file(file: Path, node: Any, codecs: list[str], metadata: dict[str, Any]) -> None:
    with reading(file, "a chunk of a Zarr array"):
        for data, size in _pieces(file, node, codecs, metadata):
            for codec in codecs:
                check_block(str(file), _claimed(data, size, codec), size)


def _pieces(
    file: Path, node: Any, codecs: list[str], metadata: dict[str, Any]
) -> Iterator[tuple[bytes, int]]:
    """The compressed pieces of a chunk's file: the file itself, or those a shard's index names."""
    data = file.read_bytes() if _must_count(file.stat().st_size, codecs) else b""
    if "sharding_indexed" not in codecs:
        yield data or _head(file), file.stat().st_size
        return
    whole = file.read_bytes()
    outer = node.shards or node.chunks
    inner = math.prod(-(-a // b) for a, b in zip(outer, node.chunks, strict=True))
    front = "start" in str(metadata.get("codecs"))
    start = 0 if front else max(0, len(whole) - 16 * inner - 4)
    index = whole[start : start + 16 * inner]
    for offset, length in struct.iter_unpack("<QQ", index[: len(index) // 16 * 16]):
        if offset != EMPTY:
            piece = whole[offset : offset + length]
            yield piece, len(piece)


def _must_count(size: int, codecs: list[str]) -> bool:
    return any(size * MOST.get(codec, 0) > FREE_BLOCK for codec in codecs)


def _head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(32)


def _claimed(data: bytes, size: int, codec: str) -> int:
    """How many bytes a compressed piece says it holds, or is found to hold."""
    if codec in MOST:
        counted = _must_count(size, [codec])
        return expands_to(data, codec, max(FREE_BLOCK, BLOCK_RATIO * size)) if counted else 0
    if codec == "blosc" and len(data) >= 8:
        return int(struct.unpack_from("<I", data, 4)[0])
    if codec == "lz4" and len(data) >= 4:
        return int(struct.unpack_from("<I", data, 0)[0])
    if codec == "zstd" and data.startswith(b"\x28\xb5\x2f\xfd"):
        return _zstd_length(data)
    return 0


def _zstd_length(data: bytes) -> int:
    """The length in a frame's header (RFC 8878, 3.1.1.1); 0 where there is none."""
    if len(data) < 18:
        data = data + bytes(18)
    descriptor = data[4]
    single, width = descriptor >> 5 & 1, descriptor >> 6
    start = 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3]
    size = (single, 2, 4, 8)[width]
    length = int.from_bytes(data[start : start + size], "little")
    return length + 256 if size == 2 else length
