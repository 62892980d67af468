"""Columns of Arrow arrays as numbers or as texts.

Whatever library made the table, its columns come as Arrow arrays. A type belongs to a *family*
that says how it can be read: number, boolean, date, duration, text, dictionary (declared as a
category), vector (lists of numbers), nothing (all null), or other.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.sources.arrow_rows import is_list, is_numeric, storage

if TYPE_CHECKING:
    import pyarrow as pa

#: Texts that stand for a missing value: those that Arrow takes for one in CSV files, and what
#: statistics packages and people write.
MISSING_TEXTS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "<NA>", "NaT",
    "?", ".", "-", "--",
)  # fmt: skip
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@lru_cache(maxsize=256)
def family(type_: pa.DataType) -> str:
    """How columns of this Arrow type can be read."""
    import pyarrow as pa

    types = pa.types
    while isinstance(type_, pa.BaseExtensionType):
        type_ = type_.storage_type
    if types.is_null(type_):
        return "nothing"
    if types.is_dictionary(type_):
        return "other" if types.is_nested(type_.value_type) else "dictionary"
    if is_list(type_):
        return "vector" if is_numeric(type_) else "other"
    if types.is_boolean(type_):
        return "boolean"
    if is_numeric(type_):
        return "number"
    if types.is_date(type_) or types.is_timestamp(type_):
        return "date"
    if types.is_duration(type_) or types.is_time(type_):
        return "duration"
    return "text" if _is_text(type_) else "other"


def numbers(array: pa.Array) -> NDArray[np.float64]:
    """Numbers, truth values, dates (days since 1970) and durations (days); NaN where missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = storage(array)
    if family(array.type) in ("date", "duration"):
        array = days(array)
    elif array.type != pa.float64():
        array = pc.cast(array, pa.float64(), safe=False)
    return np.asarray(array.to_numpy(zero_copy_only=False))


def all_finite(values: NDArray[Any]) -> bool:
    """Whether the sum is finite, and so every number; False may also mean that the sum overflowed.

    A sum is several times cheaper than a mask.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def days(array: pa.Array) -> pa.Array:
    """Dates, times and durations in days, to the last bit the same for every unit of the type."""
    import pyarrow as pa
    import pyarrow.compute as pc

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


def above(array: pa.Array, origin: int) -> NDArray[np.float64]:
    """Numbers less an origin; NaN where missing. Whole numbers lose no digit on the way.

    >>> import pyarrow as pa
    >>> above(pa.array([2**60 + 1, None]), 2**60)
    array([ 1., nan])
    """
    import pyarrow as pa

    if not pa.types.is_integer(array.type):
        return numbers(array) - origin
    values = array.fill_null(0).to_numpy(zero_copy_only=False)
    upper, lower = values >> 32, values & 0xFFFFFFFF
    apart = (upper - float(origin >> 32)) * 2.0**32 + (lower - float(origin & 0xFFFFFFFF))
    return np.asarray(np.where(array.is_null().to_numpy(zero_copy_only=False), np.nan, apart))


def hours_of(days: NDArray[np.float64]) -> NDArray[np.float64]:
    """The time of day in hours, to the millisecond: the same time of two days is one number.

    >>> hours_of(np.array([0.0, 17532.25, 17533.25]))
    array([0., 6., 6.])
    """
    return np.asarray(np.rint((days - np.floor(days)) * 86_400_000) / 3_600_000)


class Coded(NamedTuple):
    """A column of texts as numbers of texts: `codes` is -1 where the value is missing.

    `padded` says which texts had blanks around them.
    """

    codes: NDArray[np.intp]
    texts: pa.Array
    padded: NDArray[np.bool_]

    def counts(self) -> NDArray[np.intp]:
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))


def coded(array: pa.Array) -> Coded:
    """The texts of a column, without the blanks around them; each is looked at once.

    Numbers and other values get the text one would write for them: 3 and 3.0 are "3".
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    array = storage(array)
    if not pa.types.is_dictionary(array.type):
        array = pc.dictionary_encode(array)
    as_written = _texts(array.dictionary)
    texts = pc.utf8_trim_whitespace(as_written)
    longer = pc.not_equal(pc.binary_length(as_written), pc.binary_length(texts))
    padded = np.asarray(pc.fill_null(longer, False).to_numpy(zero_copy_only=False))
    words = pa.array(MISSING_TEXTS, texts.type)
    missing = pc.or_(pc.is_in(texts, value_set=words), texts.is_null())
    codes = np.asarray(pc.fill_null(pc.cast(array.indices, pa.int64()), -1).to_numpy())
    kept = ~np.asarray(missing.to_numpy(zero_copy_only=False))
    if not kept.all():
        # The places of the texts that stay; one more at the end for the codes -1.
        places = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
        codes, texts, padded = places[codes], texts.filter(pa.array(kept)), padded[kept]
    return Coded(codes, texts, padded)


def truths(texts: pa.Array, pair: tuple[str, str]) -> NDArray[np.float64]:
    """1 and 0 for the words of `pair`, (false, true), in any case; NaN for other texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lower = pc.utf8_lower(texts)
    place = pc.index_in(lower, value_set=pa.array(pair, lower.type))
    return np.asarray(pc.cast(place, pa.float64()).to_numpy(zero_copy_only=False))


def _is_text(type_: pa.DataType) -> bool:
    import pyarrow as pa

    types = pa.types
    view = getattr(types, "is_string_view", None)
    return bool(types.is_string(type_) or types.is_large_string(type_) or (view and view(type_)))


def _texts(values: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    values = storage(values)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return values
    if pa.types.is_floating(values.type) or pa.types.is_decimal(values.type):
        return pa.array([_number_text(value) for value in numbers(values)], pa.string())
    try:
        return pc.cast(values, pa.string())
    except pa.ArrowNotImplementedError:  # views of text, in older versions
        return pa.array(values.to_pylist(), pa.string())


def _number_text(value: Any) -> str | None:
    if value != value:
        return None
    return str(int(value)) if float(value).is_integer() else repr(float(value))
