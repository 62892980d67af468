"""Arrow columns as NumPy numbers.

Whatever made a table, its columns come as Arrow arrays. A type belongs to a *family* that says how
it can be read: number, boolean, date, duration, text, dictionary (declared as a category), list (of
numbers), nothing (all null), or other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cospan.base.types import Values

from .arrow import pa, pc

#: No measurement is larger, and no mean or square of larger numbers can be trusted.
LARGEST = 1e100
#: Numbers below the smallest normal one have lost digits; they come from bytes read wrongly.
SMALLEST = float(np.finfo(np.float64).tiny)
#: Bytes of texts that are looked at one by one at a time; each takes some 30 bytes meanwhile.
STRIP = 2**18
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@lru_cache(maxsize=256)
def family(type_: pa.DataType) -> str:
    """How columns of this Arrow type can be read."""
    types = pa.types
    type_ = stored_type(type_)
    if types.is_dictionary(type_):
        return "other" if types.is_nested(type_.value_type) else "dictionary"
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        return "list" if family(type_.value_type) in ("number", "boolean") else "other"
    families = {
        "nothing": (types.is_null,),
        "boolean": (types.is_boolean,),
        "number": (types.is_integer, types.is_floating, types.is_decimal),
        "date": (types.is_date, types.is_timestamp),
        "duration": (types.is_duration, types.is_time),
        "text": (types.is_string, types.is_large_string, types.is_string_view),
    }
    found = (name for name, kinds in families.items() if any(is_it(type_) for is_it in kinds))
    return next(found, "other")


def common_float(column_types: Collection[pa.DataType]) -> np.dtype:
    """float32 when every column is float32 or float16, else float64."""
    types = [getattr(t, "value_type", t) for t in map(stored_type, column_types)]
    small = all(pa.types.is_float32(type_) or pa.types.is_float16(type_) for type_ in types)
    return np.dtype(np.float32 if small else np.float64)


def stored_type(type_: pa.DataType) -> pa.DataType:
    """Without extension wrappers."""
    while isinstance(type_, pa.BaseExtensionType):
        type_ = type_.storage_type
    return type_


def storage(array: pa.Array) -> pa.Array:
    """Without chunks, extension wrappers and views of text."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_string_view(array.type):
        return pc.cast(array, pa.large_string())
    return pc.cast(array, pa.large_binary()) if pa.types.is_binary_view(array.type) else array


def text_bytes(texts: pa.Array) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """Strip by strip, the bytes of texts without gaps, and where each text begins and ends."""
    texts = pc.cast(texts, pa.large_string())
    rows = max(1, STRIP // (pc.max(pc.binary_length(texts)).as_py() or 1))
    _, places, content = texts.buffers()
    every = np.frombuffer(content or b"", np.uint8)
    ends = np.frombuffer(places or bytes(8), np.int64)[texts.offset :]
    for start in range(0, len(texts), rows):
        own = ends[start : min(start + rows, len(texts)) + 1]
        yield every[own[0] : own[-1]], own - own[0]


def numbers(array: pa.Array) -> NDArray[np.float64]:
    """Numbers, truth values, dates (days since 1970) and durations (days); NaN where missing."""
    array = storage(array)
    if family(array.type) in ("date", "duration"):
        array = days(array)
    elif array.type != pa.float64():
        array = pc.cast(array, pa.float64(), safe=False)
    return np.asarray(array.to_numpy(zero_copy_only=False))


def absurd(values: Values) -> NDArray[np.bool_]:
    """Which numbers no measurement can be: infinite, beyond 1e100, or denormal; NaN is none.

    >>> absurd(np.array([1.0, np.inf, 1e200, 5e-324, 0.0, np.nan]))
    array([False,  True,  True,  True, False, False])
    """
    size = np.abs(values)
    if values.dtype.itemsize < 8:  # every single precision number is a normal double one
        return np.asarray(np.isinf(size))
    return np.asarray((size > LARGEST) | ((size < SMALLEST) & (size > 0)))


def all_usual(values: Values) -> bool:
    """Whether no number is missing or absurd; a look at the ends is cheaper than a mask."""
    if values.size == 0:
        return True
    low, high = float(values.min()), float(values.max())  # NaN where one is
    if not (low >= -LARGEST and high <= LARGEST):
        return False
    return low >= SMALLEST or values.dtype.itemsize < 8 or not bool(absurd(values).any())


def days(array: pa.Array) -> pa.Array:
    """Dates, times and durations in days, to the last bit the same for every unit of the type."""
    type_ = array.type
    if pa.types.is_date32(type_):
        return pc.cast(array.view(pa.int32()), pa.float64())
    unit = "ms" if pa.types.is_date64(type_) else type_.unit
    narrow = pa.types.is_time32(type_)
    ticks = pc.cast(array.view(pa.int32() if narrow else pa.int64()), pa.int64())
    gaps = np.asarray(array.is_null().to_numpy(zero_copy_only=False))
    # Nanoseconds since 1970 have more digits than a float64, so whole days are split off first.
    whole, rest = np.divmod(ticks.fill_null(0).to_numpy(), _PER_DAY[unit])
    return pa.array(whole + rest / _PER_DAY[unit], mask=gaps)


def hours_of(days: NDArray[np.float64]) -> NDArray[np.float64]:
    """The time of day in hours, to the millisecond: the same time of two days is one number."""
    return np.asarray(np.rint((days - np.floor(days)) * 86_400_000) / 3_600_000)


def values_of(array: pa.Array) -> Values:
    """A label or identifier column as NumPy values; with gaps, as objects with None."""
    array = storage(array)
    array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    plain = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    if not array.null_count and (plain or pa.types.is_boolean(array.type)):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    texts = [
        x if x is None or plain or isinstance(x, str | bool) else str(x) for x in array.to_pylist()
    ]
    if not array.null_count:
        return np.array(texts, dtype=np.str_)
    values = np.empty(len(array), dtype=object)
    values[:] = texts
    return values


def decoded(array: pa.Array) -> pa.Array:
    """Without chunks, extension and dictionary wrappers."""
    array = storage(array)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def one_batch(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches one below the other; a column of one may be empty or text in the next."""
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    if any(table.schema != tables[0].schema for table in tables):
        texts = [{f.name for f in t.schema if pa.types.is_string(f.type)} for t in tables]
        mixed = set.union(*texts) - set.intersection(*texts)
        for i, table in enumerate(tables):
            fields = [f.with_type(pa.string()) if f.name in mixed else f for f in table.schema]
            tables[i] = table.cast(pa.schema(fields))
    whole = pa.concat_tables(tables, promote_options="permissive")
    return whole.combine_chunks().to_batches()[0]
