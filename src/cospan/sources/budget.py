"""Small files that claim large contents are refused before anything is allocated for them.

Compression, run lengths and headers let a few bytes stand for gigabytes. What is read in pieces
costs time, what is read as one block costs memory; both are weighed against what the file really
holds, so that honest data of any size passes.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from typing import Any

from cospan.errors import SourceError

#: Rows of more features than this need a file with at least one byte for each of them.
FREE_FEATURES = 2**20
#: No list in a table's cell may be longer: each of its numbers becomes a feature with a name.
MAX_LIST = 2**22
#: A block that has to be in memory at once may take this much without question, ...
FREE_BLOCK = 2**28
#: ... and more only if the file holds at least one byte for this many.
BLOCK_RATIO = 200
#: Texts are copied several times while they are decoded, and no text packs as well as zeros do.
FREE_TEXTS = 2**26
TEXT_RATIO = 100
#: The same for what is read in pieces: about twenty seconds' work without question.
FREE_STREAM = 2**31
STREAM_RATIO = 2000
#: No byte of a deflate stream (gzip, zlib) stands for more than this many.
DEFLATE_RATIO = 1032


def check_features(name: str, n_features: int, stored: int) -> None:
    """Refuse rows of more features than a file with `stored` bytes can mean."""
    if n_features > FREE_FEATURES and n_features > stored:
        raise SourceError(
            f"{name}: {stored:,} bytes claim to hold rows of {n_features:,} numbers; refused as a "
            "decompression bomb."
        )


def check_list(name: str, length: int) -> None:
    """Refuse a list that would make millions of features of one column."""
    if length > MAX_LIST:
        raise SourceError(
            f"{name} holds lists of {length:,} numbers, above the limit of {MAX_LIST:,}; save them "
            "as an array (.npy) instead."
        )


def check_block(name: str, claimed: int, stored: int) -> None:
    """Refuse a block of `claimed` bytes in a file with `stored` bytes.

    Examples
    --------
    >>> check_block("x.h5", 2**33, 1000)
    Traceback (most recent call last):
        ...
    cospan.errors.SourceError: x.h5: 1,000 bytes claim to hold 8,589,934,592 bytes in one block; \
refused as a decompression bomb.
    """
    if claimed > FREE_BLOCK and claimed > BLOCK_RATIO * stored:
        raise SourceError(
            f"{name}: {stored:,} bytes claim to hold {claimed:,} bytes in one block; refused as a "
            "decompression bomb."
        )


def check_texts(name: str, claimed: int, stored: int) -> None:
    """Refuse texts of `claimed` bytes that are decoded together and take `stored` bytes."""
    if claimed > FREE_TEXTS and claimed > TEXT_RATIO * stored:
        raise SourceError(
            f"{name}: {stored:,} bytes claim to hold {claimed:,} bytes of text in one group of "
            "rows; refused as a decompression bomb."
        )


def check_stream(name: str, claimed: int, stored: int) -> None:
    """The same for bytes that come one after the other."""
    if claimed > FREE_STREAM and claimed > STREAM_RATIO * stored:
        raise SourceError(
            f"{name}: {stored:,} bytes claim to hold {claimed:,} bytes of rows; refused as a "
            "decompression bomb."
        )


def expands_to(data: bytes, codec: str, limit: int) -> int:
    """How many bytes compressed `data` expand to, counted up to a little more than `limit`.

    Nothing is kept. What cannot be decoded counts up to there: the library that reads it will say
    so. The codecs are those whose streams do not tell their length in front.
    """
    decoder = _decoder(codec)
    total, rest = 0, data
    try:
        while total <= limit and not decoder.eof:
            piece = decoder.decompress(rest, 2**20)
            rest = getattr(decoder, "unconsumed_tail", b"")
            total += len(piece)
            if not piece and not rest:
                break
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError):
        return total
    return total


def _decoder(codec: str) -> Any:
    if codec == "bz2":
        return bz2.BZ2Decompressor()
    if codec == "lzma":
        return lzma.LZMADecompressor()
    return zlib.decompressobj(31 if codec == "gzip" else 15)
