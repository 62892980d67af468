"""What the record batches of an Arrow file claim to hold, read before any of them is.

A compressed buffer begins with the number of bytes it expands to, and Arrow allocates as many. So
a few kilobytes could ask for gigabytes. Here the messages' headers (flatbuffers) are walked
through, the claims of each batch are summed up, and a batch is refused that no buffer of its size
can hold. What is not a header ends in a ValueError or struct.error.

The layout is that of Arrow's specification: ``format/Message.fbs`` and ``format/File.fbs``.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .budget import check_block

_MAGIC = b"ARROW1"
_DICTIONARY, _RECORDS = 2, 3  # kinds of messages
_CONTINUES = 0xFFFFFFFF
_BLOCK_BYTES, _BUFFER_BYTES = 24, 16
#: More messages than this in one file are no table of rows.
_MOST_MESSAGES = 10_000_000


class _Table(NamedTuple):
    """A table of a flatbuffer, by its place."""

    data: mmap.mmap
    place: int

    def field(self, number: int) -> int:
        """The place of a field, 0 where it is absent."""
        vtable = self.place - _number(self.data, self.place, "<i")
        if 4 + 2 * number >= _number(self.data, vtable, "<H"):
            return 0
        offset = _number(self.data, vtable + 4 + 2 * number, "<H")
        return self.place + offset if offset else 0

    def table(self, number: int) -> _Table | None:
        place = self.field(number)
        return _Table(self.data, place + _number(self.data, place, "<I")) if place else None

    def structs(self, number: int, size: int) -> Iterator[int]:
        """The places of a vector's structs."""
        place = self.field(number)
        if place:
            place += _number(self.data, place, "<I")
            count = _number(self.data, place, "<I")
            yield from range(place + 4, place + 4 + count * size, size)


def _number(data: mmap.mmap, place: int, kind: str) -> int:
    if place < 0:
        raise ValueError("an offset before the file's beginning")
    return int(struct.unpack_from(kind, data, place)[0])


def check_batches(file: Path) -> None:
    """Refuse a file with a record batch or dictionary that claims far more than it holds."""
    if file.stat().st_size < 8:
        return  # nothing to map; whoever reads it will say so
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        messages = _of_file(data) if data[:6] == _MAGIC else _of_stream(data)
        for place, length in messages:
            claimed, stored = _claimed(data, place, length)
            check_block(str(file), claimed, max(stored, 1))


def _of_file(data: mmap.mmap) -> Iterator[tuple[int, int]]:
    """Places and lengths of the headers that the footer names."""
    end = len(data) - 10  # the footer's length and the magic word
    start = end - _number(data, end, "<i")
    footer = _Table(data, start + _number(data, start, "<I"))
    for vector in (2, 3):
        for block in footer.structs(vector, _BLOCK_BYTES):
            yield _number(data, block, "<q"), _number(data, block + 8, "<i")


def _of_stream(data: mmap.mmap) -> Iterator[tuple[int, int]]:
    """The same of messages that follow each other."""
    place = 0
    for _ in range(_MOST_MESSAGES):
        if place + 8 > len(data):
            return
        marked = _number(data, place, "<I") == _CONTINUES
        length = _number(data, place + 4 * marked, "<i")
        if length <= 0:
            return
        header = 4 + 4 * marked + length
        yield place, header
        message = _message(data, place)
        body = message.field(3)
        place += header + (max(0, _number(data, body, "<q")) if body else 0)


def _message(data: mmap.mmap, place: int) -> _Table:
    place += 8 if _number(data, place, "<I") == _CONTINUES else 4
    return _Table(data, place + _number(data, place, "<I"))


def _claimed(data: mmap.mmap, place: int, length: int) -> tuple[int, int]:
    """Bytes that the buffers of a message expand to, and that they take."""
    message = _message(data, place)
    kind = message.field(1)
    batch = message.table(2)
    if not kind or batch is None or data[kind] not in (_DICTIONARY, _RECORDS):
        return 0, 0
    if data[kind] == _DICTIONARY:
        batch = batch.table(1)
    if batch is None or batch.table(3) is None:
        return 0, 0  # not compressed: what it holds is what it takes
    claimed = stored = 0
    for buffer in batch.structs(2, _BUFFER_BYTES):
        offset, size = _number(data, buffer, "<q"), _number(data, buffer + 8, "<q")
        if size >= 8:
            claimed += max(size, _number(data, place + length + offset, "<q"))
            stored += size
    return claimed, stored
