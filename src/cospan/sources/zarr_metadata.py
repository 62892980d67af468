"""What a Zarr store may ask for: metadata is checked before any library acts on it.

A Zarr array's metadata names the codecs that decode its chunks, and one of those that numcodecs
knows is ``pickle``: a folder of data could run code on the machine that reads it. So every codec
of every array in the store must be on a list of codecs that only move bytes around, and this is
checked from the JSON files themselves, before the store is opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cospan.errors import SourceError

from .paths import folders_below, reading

__all__ = ["NAMES", "check_store", "codec_names"]

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
