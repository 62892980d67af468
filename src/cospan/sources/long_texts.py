"""Long texts are cut where they enter: a label or a level of a category needs no novel.

Of a cell with more than `MOST_BYTES` only the front is kept, and a digest of the whole, so that
texts that differ anywhere stay different. All that follows (levels, readings, hashes, identifiers)
then takes memory by the number of rows, however few bytes of a file stand for a gigabyte of text.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["JOINED_BYTES", "MOST_BYTES", "cut_texts", "decoded", "longest"]

#: Bytes of UTF-8 that are kept of a text, about 1,000 letters.
MOST_BYTES = 1024
#: Texts that are in memory at a time take about this much.
JOINED_BYTES = 2**26


def cut_texts(batch: pa.RecordBatch, most: int = MOST_BYTES) -> pa.RecordBatch:
    """The same rows with every longer text cut; all others are left as they are.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.record_batch({"s": ["short", "a" * 100 + "b", "a" * 100 + "c"]})
    >>> for text in cut_texts(rows, 10).column("s").to_pylist():
    ...     print(text)
    short
    aaaaaaaaaa… (101 bytes, d89d25f6b6989ae4)
    aaaaaaaaaa… (101 bytes, 46f3eb12202e3bd1)
    """
    for place, field in enumerate(batch.schema):
        cut = _cut(batch.column(place), most)
        if cut is not None:
            batch = batch.set_column(place, field, cut)
    return batch


def longest(array: pa.Array) -> int:
    """Bytes of the longest text in a column, or in its dictionary; 0 where it holds no texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.dictionary
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return 0
    return int(pc.max(pc.binary_length(array)).as_py() or 0)


def decoded(batch: pa.RecordBatch, columns: list[str]) -> Any:
    """Texts that were read as dictionaries, written out in batches that stay small."""
    import pyarrow.compute as pc

    row = sum(longest(batch.column(column)) for column in columns)
    step = max(1, min(batch.num_rows, JOINED_BYTES // max(1, row)))
    for start in range(0, batch.num_rows, step):
        part = batch.slice(start, step)
        for column in columns:
            place = part.schema.get_field_index(column)
            texts = part.column(place)
            part = part.set_column(place, column, pc.cast(texts, texts.type.value_type))
        yield part


def _cut(array: pa.Array, most: int) -> pa.Array | None:
    """The column with long texts cut; None if there are none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if longest(array) <= most:
        return None
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, _cut(array.dictionary, most))
    long = pc.fill_null(pc.greater(pc.binary_length(array), most), False)
    places = np.flatnonzero(long.to_numpy(zero_copy_only=False))
    fronts = [_front(array[int(i)].as_buffer(), most) for i in places]
    return pc.replace_with_mask(array, long, pa.array(fronts, array.type))


def _front(text: Any, most: int) -> str:
    front = bytes(memoryview(text)[:most]).decode("utf-8", "ignore")
    return f"{front}… ({len(text):,} bytes, {hashlib.sha256(text).hexdigest()[:16]})"
