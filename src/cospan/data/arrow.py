"""Arrow columns as NumPy numbers; pyarrow is imported when a table is first read.

Whatever made a table, its columns come as plain Arrow arrays. A type belongs to a *family* that
says how it can be read: number, boolean, date, duration, text, dictionary (declared as a category),
list (of numbers), nothing (all null), or other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.base.types import Floats, Values

__all__ = [
    "arrow_csv", "common_float", "days", "decoded", "family", "hours_of", "numbers", "one_batch",
    "pa", "pc", "plain_batch", "plain_schema", "pq", "values_of",
]  # fmt: skip


class _Later:
    """A module that is imported when something in it is asked for: arrays need no pyarrow."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found


if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq
else:
    pa, pc, pq, arrow_csv = map(
        _Later, ("pyarrow", "pyarrow.compute", "pyarrow.parquet", "pyarrow.csv")
    )

_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@lru_cache(maxsize=256)
def family(type_: pa.DataType) -> str:
    """How columns of this plain Arrow type can be read."""
    types = pa.types
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
        "text": (types.is_string, types.is_large_string),
    }
    found = (name for name, kinds in families.items() if any(is_it(type_) for is_it in kinds))
    return next(found, "other")


@lru_cache(maxsize=256)
def plain_type(type_: pa.DataType) -> pa.DataType:
    """Without extension wrappers and views, which few functions of Arrow take."""
    types = pa.types
    if isinstance(type_, pa.BaseExtensionType):
        return plain_type(type_.storage_type)
    if types.is_struct(type_):
        return pa.struct([field.with_type(plain_type(field.type)) for field in type_])
    if types.is_list(type_) or types.is_large_list(type_):
        make = pa.list_ if types.is_list(type_) else pa.large_list
        return make(type_.value_field.with_type(plain_type(type_.value_type)))
    if types.is_dictionary(type_):
        return pa.dictionary(type_.index_type, plain_type(type_.value_type), type_.ordered)
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return views.get(type_, type_)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The same columns, of plain types."""
    return pa.schema([pa.field(field.name, plain_type(field.type)) for field in schema])


def plain(array: pa.Array) -> pa.Array:
    """A column of a plain type."""
    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    type_ = plain_type(array.type)
    return array if type_ == array.type else array.cast(type_)


def plain_batch(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """These columns of a batch, of plain types."""
    if batch.schema.names != list(columns):
        batch = batch.select(list(columns))
    if all(plain_type(type_) == type_ for type_ in batch.schema.types):
        return batch
    return pa.RecordBatch.from_arrays([plain(column) for column in batch.columns], list(columns))


def one_batch(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches one below the other; a column of one may be empty or text in the next."""
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    kinds: dict[str, set[str]] = {}
    for field in {field for table in tables for field in table.schema}:
        kinds.setdefault(field.name, set()).add(family(field.type))
    mixed = {name: own for name, own in kinds.items() if len(own - {"nothing"}) > 1}
    for k, table in enumerate(tables if mixed else ()):
        for place, name in enumerate(table.column_names):
            if name in mixed:
                number = mixed[name] <= {"number", "boolean", "nothing"}
                values = table.column(place).cast(pa.float64() if number else pa.string())
                table = table.set_column(place, name, values)
        tables[k] = table
    whole = pa.concat_tables(tables, promote_options="permissive")
    return whole.combine_chunks().to_batches()[0]


def decoded(array: pa.Array) -> pa.Array:
    """Values in the place of places in a dictionary."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def common_float(types: Collection[pa.DataType]) -> np.dtype:
    """float32 when every column, or list in it, is float32 or float16, else float64."""
    own = [getattr(type_, "value_type", type_) for type_ in types]
    small = all(pa.types.is_float32(type_) or pa.types.is_float16(type_) for type_ in own)
    return np.dtype(np.float32 if small else np.float64)


def numbers(array: pa.Array) -> Floats:
    """Numbers, truth values, dates (days since 1970) and durations (days); NaN where missing."""
    if family(array.type) in ("date", "duration"):
        array = days(array)
    elif array.type != pa.float64():
        array = pc.cast(array, pa.float64(), safe=False)
    return np.asarray(array.to_numpy(zero_copy_only=False))


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


def hours_of(days: Floats) -> Floats:
    """The time of day in hours, to the millisecond: the same time of two days is one number."""
    return np.asarray(np.rint((days - np.floor(days)) * 86_400_000) / 3_600_000)


def values_of(array: pa.Array) -> Values:
    """A label or identifier column as NumPy values; with gaps, as objects with None."""
    array = decoded(array)
    number = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    if not array.null_count and (number or pa.types.is_boolean(array.type)):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    found = array.to_pylist()
    texts = [x if x is None or number or isinstance(x, str | bool) else str(x) for x in found]
    return np.array(texts, dtype=object if array.null_count else np.str_)
