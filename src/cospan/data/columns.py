"""Columns of Arrow as numbers, and text that means numbers, truth values, dates or times of day.

Whatever made a table, its columns come as plain Arrow arrays. A type belongs to a *family* that
says how it can be read: number, boolean, date, duration, text, dictionary (declared as a category),
nothing (all null), or other. pyarrow is imported when a table is first read.

A *reading* is one way to turn text into numbers. A column is read so only if every value of it,
in every set, can be. Where two readings fit all values and disagree ("1,234" may be 1234 or 1.234,
"03/04/2020" a day in March or in April), the text is ambiguous and no guess is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cospan.base.types import Bools, Floats, Index, Values
from cospan.errors import needed

__all__ = ["arrow_csv", "pa", "pc", "pq"]  # what is imported here, for the room


class _Later:
    """A module that is imported when something in it is asked for: arrays need no pyarrow."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        with needed("Reading a table"):
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

#: Texts that stand for a missing value: those that Arrow takes for one in CSV files, and what
#: statistics packages and people write.
MISSING_TEXTS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "<NA>", "NaT",
    "?", ".", "-", "--", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!",
)  # fmt: skip
#: Pairs of words for false and true, in lower case.
BOOLEANS = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("off", "on"))
#: What is counted in a text; capitals are letters, too.
PERIOD = "pandas.period"
PARTS = ("length", "digits", "letters", "capitals", "blanks", "other characters")
AMBIGUOUS = "ambiguous"
#: Longer texts are cut: no category, number or date is written so.
LONGEST_TEXT = 2**16
TRIED = 16  # texts that are tried before a whole column
#: Bytes of texts that are looked at one by one at a time; each takes some 30 bytes meanwhile.
STRIP = 2**18
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@lru_cache(maxsize=256)
def family(type_: pa.DataType) -> str:
    """How columns of this plain Arrow type can be read."""
    types = pa.types
    if types.is_dictionary(type_):
        return "other" if types.is_nested(type_.value_type) else "dictionary"
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
        period = type_.extension_name == PERIOD
        return pa.timestamp("us") if period else plain_type(type_.storage_type)
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
        period = array.type.extension_name == PERIOD  # its storage counts months, or weeks
        array = pa.array(array.to_pandas().dt.to_timestamp()) if period else array.storage
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
    """Batches one below the other; a column of one may be empty in the next."""
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    whole = pa.concat_tables(tables, promote_options="permissive")
    return whole.combine_chunks().to_batches()[0]


def decoded(array: pa.Array) -> pa.Array:
    """Values in the place of places in a dictionary."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


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


# ---- texts -------------------------------------------------------------------------------------


def coded(array: pa.Array) -> tuple[Index, pa.Array]:
    """A column as numbers of texts, -1 where missing, and these texts, without blanks around them.

    Each text is looked at once. Numbers and other values get the text one would write for them: 3
    and 3.0 are "3".
    """
    if not pa.types.is_dictionary(array.type):
        array = pc.dictionary_encode(array)
    texts = pc.utf8_trim_whitespace(as_texts(array.dictionary))
    if texts.nbytes > LONGEST_TEXT and pc.max(pc.binary_length(texts)).as_py() > LONGEST_TEXT:
        texts = pc.utf8_slice_codeunits(texts, 0, LONGEST_TEXT)
    codes = np.asarray(pc.fill_null(pc.cast(array.indices, pa.int64()), -1).to_numpy())
    kept = ~_missing(texts)
    if not kept.all():
        # The places of the texts that stay; one more at the end for the codes -1.
        places = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
        codes, texts = places[codes], texts.filter(pa.array(kept))
    return codes, texts


def _missing(texts: pa.Array) -> Bools:
    """Which texts are missing, or stand for a missing value."""
    found = pc.is_in(texts, value_set=pa.array([None, *MISSING_TEXTS], texts.type))
    return np.asarray(found.to_numpy(zero_copy_only=False))


def as_texts(values: pa.Array) -> pa.Array:
    """The texts that one would write for these values."""
    if family(values.type) == "text":
        return values
    if pa.types.is_floating(values.type) or pa.types.is_decimal(values.type):
        each = numbers(values)
        texts = [str(int(x)) if x.is_integer() else repr(x) for x in each.tolist()]
        return pa.array(texts, pa.string(), mask=np.isnan(each))
    return pc.cast(values, pa.string())


def plain_values(array: pa.Array, kind: str) -> Floats | None:
    """Texts that are all plain numbers ("1.5") or ISO dates, by `kind`; None if one is not.

    This is how nearly all columns of text files are read: Arrow's own parsers take some
    nanoseconds a value, where a text that is looked up and matched takes hundreds.
    """
    if pa.types.is_dictionary(array.type):
        each = plain_values(array.dictionary, kind)
        codes = array.indices.fill_null(len(array.dictionary)).to_numpy()
        return None if each is None else np.append(each, np.nan)[codes]
    if family(array.type) != "text" or array.null_count == len(array):
        return None
    try:
        # Arrow words an error for every text that is no number: the first ones are tried alone.
        if len(array) > 64 * TRIED:
            _plain(array.slice(0, TRIED), kind)
        return np.asarray(_plain(array, kind).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return None


def _plain(array: pa.Array, kind: str) -> pa.Array:
    if kind == "number":
        return pc.cast(array, pa.float64())
    if pc.any(pc.equal(pc.binary_length(array), 13)).as_py():  # a day and an hour is no date
        raise pa.ArrowInvalid("an hour without minutes")
    return days(pc.cast(array, pa.timestamp("us")))


def truths(texts: pa.Array, pair: tuple[str, str]) -> Floats:
    """1 and 0 for the words of `pair`, (false, true), in any case; NaN for other texts."""
    lower = pc.utf8_lower(texts)
    place = pc.index_in(lower, value_set=pa.array(pair, lower.type))
    return np.asarray(pc.cast(place, pa.float64()).to_numpy(zero_copy_only=False))


def boolean_pair(texts: Collection[str]) -> tuple[str, str] | None:
    """The words for false and true that all texts are, in upper or lower case; None if none are."""
    found = {text.lower() for text in texts}
    return next((pair for pair in BOOLEANS if found and found <= set(pair)), None)


# ---- readings ----------------------------------------------------------------------------------


class Reading(NamedTuple):
    """What the text looks like, the kind of column it makes, and the numbers it stands for."""

    kind: str
    pattern: str
    numbers: Callable[[pa.Array], pa.Array]


def _replaced(texts: pa.Array, *steps: tuple[str, str]) -> pa.Array:
    for pattern, replacement in steps:
        texts = pc.replace_substring_regex(texts, pattern=pattern, replacement=replacement)
    return texts


def _floats(texts: pa.Array, *steps: tuple[str, str]) -> pa.Array:
    return pc.cast(_replaced(texts, *steps), pa.float64())


def _moments(texts: pa.Array) -> pa.Array:
    """Days since 1970 of ISO dates and times, with or without a time zone."""
    texts = _replaced(texts, (r"(\.\d{6})\d+", r"\1"))
    zoned = pc.match_substring_regex(texts, pattern=_ZONE)
    plain = pc.if_else(zoned, None, texts)
    aware = pc.if_else(zoned, texts, None)
    return pc.coalesce(
        days(pc.cast(plain, pa.timestamp("us"))), days(pc.cast(aware, pa.timestamp("us", "UTC")))
    )


def _clock(texts: pa.Array) -> pa.Array:
    """Times of day in days: 23:59, or 11:59 PM."""
    bare = _replaced(texts, (" ?[AaPp][Mm]$", ""), (r"^(\d):", r"0\1:"), ("^", "1970-01-01 "))
    found = _moments(bare)
    afternoon = pc.match_substring(texts, "pm", ignore_case=True)
    halves = pc.or_(afternoon, pc.match_substring(texts, "am", ignore_case=True))
    noon = pc.and_(halves, pc.greater_equal(found, 0.5))  # 12:30 AM is half past midnight
    found = pc.if_else(noon, pc.subtract(found, 0.5), found)
    return pc.if_else(afternoon, pc.add(found, 0.5), found)


_DIGITS = r"(?:\d+\.?\d*|\.\d+)"
_POWER = r"(?:[eE][+-]?\d+)?"
_GAP = "[ \u00a0\u202f'’]"  # between thousands, where it is no comma
_FIELDS = {"day": r"(0?[1-9]|[12]\d|3[01])", "month": r"(0?[1-9]|1[0-2])", "year": r"(\d{4})"}
_HOURS, _MINUTES = r"(?:[01]?\d|2[0-3])", r":[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?"
_TIME = rf"(?:{_HOURS}{_MINUTES}|(?:0?[1-9]|1[0-2]){_MINUTES} ?[AaPp][Mm])"
#: The end of a text with a time and its zone.
_ZONE = r":\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)$"


def _date(order: str) -> Reading:
    """Dates in an order such as "day.month.year", perhaps with a time of day."""
    separator = re.sub("[a-z]", "", order)[0]
    fields = order.split(separator)
    pattern = re.escape(separator).join(_FIELDS[field] for field in fields)
    iso = "-".join(rf"\{fields.index(field) + 1}" for field in ("year", "month", "day"))

    def numbers(texts: pa.Array) -> pa.Array:
        dates = _replaced(texts, ("[ T].*", ""), (r"\b(\d)\b", r"0\1"), (f"^{pattern}$", iso))
        timed = pc.match_substring(texts, ":")
        if not pc.any(timed).as_py():
            return _moments(dates)
        times = _clock(pc.if_else(timed, _replaced(texts, ("^[^ T]*[ T]", "")), None))
        return pc.add(_moments(dates), pc.coalesce(times, 0.0))

    return Reading("date", f"^{pattern}(?:[ T]{_TIME})?$", numbers)


_DATES = (
    "year/month/day", "day.month.year", "day/month/year", "month/day/year",
    "day-month-year", "month-day-year",
)  # fmt: skip
_NUMBERS = {
    "point": Reading(
        "number",
        rf"[+-]?(?:[1-9]\d{{0,2}}(?:{_GAP}\d{{3}})+(?:\.\d+)?|{_DIGITS}{_POWER}|(?i:inf|infinity))",
        lambda texts: _floats(texts, (_GAP, "")),
    ),
    "comma": Reading(
        "number",
        rf"[+-]?(?:\d{{1,3}}(?:(?:\.|{_GAP})\d{{3}})+|\d+)(?:,\d+)?{_POWER}",
        lambda texts: _floats(texts, (rf"\.|{_GAP}", ""), (",", ".")),
    ),
    "thousands": Reading(
        "number",
        r"[+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?",
        lambda texts: _floats(texts, (",", "")),
    ),
}


def _with_sign(plain: Reading, sign: str) -> Reading:
    """Numbers with a sign before or behind each: $5, -$5, 5 %."""
    mark = rf"{_GAP}?[{sign}]{_GAP}?"
    pattern = rf"^(?:[+-]?{mark}{plain.pattern}|{plain.pattern}{mark})$"
    return Reading("number", pattern, lambda texts: plain.numbers(_replaced(texts, (mark, ""))))


READINGS = {
    **{name: how._replace(pattern=f"^{how.pattern}$") for name, how in _NUMBERS.items()},
    # A column has one sign or none: 5 dollars are not 5 euros.
    **{
        f"{name} {sign}": _with_sign(how, sign) for name, how in _NUMBERS.items() for sign in "%$€£"
    },
    "iso date": Reading(
        "date",
        rf"^\d{{4}}-\d\d-\d\d(?:[ T]{_HOURS}{_MINUTES}(?:Z|[+-]\d\d:?(?:\d\d)?)?)?$",
        lambda texts: _moments(_replaced(texts, (r"([ T])(\d):", r"\10\2:"))),
    ),
    **{order: _date(order) for order in _DATES},
    "clock": Reading("duration", rf"^{_TIME}$", _clock),
}
#: How text of a kind is read where nothing else is known.
PLAIN = {"number": "point", "boolean": "point", "date": "iso date", "duration": "clock"}


def parsed(texts: pa.Array, reading: str) -> pa.Array:
    """The numbers that texts stand for, null where they do not fit the reading.

    >>> import pyarrow as pa
    >>> parsed(pa.array(["1.234,5", "2", "x"]), "comma").to_pylist()
    [1234.5, 2.0, None]
    """
    how = READINGS[reading]
    fitting = pc.match_substring_regex(texts, pattern=how.pattern)
    if not pc.any(fitting, min_count=0).as_py():
        return pa.nulls(len(texts), pa.float64())
    texts = texts if pc.all(fitting).as_py() else pc.if_else(fitting, texts, None)
    try:
        return how.numbers(texts)
    except pa.ArrowInvalid:  # the 30th of February looks like a date
        return pa.nulls(len(texts), pa.float64())


def chosen(fitting: Collection[str]) -> str:
    """The reading to take of those that fit every value; "" if none, AMBIGUOUS if they disagree.

    >>> chosen({"point", "thousands"}), chosen({"comma", "thousands"}), chosen(set())
    ('point', 'ambiguous', '')
    """
    # Without a comma the other number readings mean the same, or less.
    best = [name for name in fitting if name.startswith("point")] or [*fitting]
    return AMBIGUOUS if len(best) > 1 else "".join(best)


# ---- how texts are written ---------------------------------------------------------------------

# Identifiers and free text become no features, but a text that was cut, padded, re-encoded or
# written in capitals shows in its length and in how many characters of each sort it has.


def text_parts(array: pa.Array) -> Floats:
    """How many characters of each sort every text has (n, len(PARTS)); NaN where it is missing.

    >>> import pyarrow as pa
    >>> text_parts(pa.array(["AB-12 x", None])).tolist()[0]
    [7.0, 2.0, 3.0, 2.0, 1.0, 1.0]
    """
    if family(array.type) in ("other", "nothing"):
        return np.full((len(array), len(PARTS)), np.nan)
    if not pa.types.is_dictionary(array.type):
        return _counted(as_texts(array))
    each = np.vstack([_counted(as_texts(array.dictionary)), np.full(len(PARTS), np.nan)])
    return np.asarray(each[array.indices.fill_null(len(each) - 1).to_numpy()])


def _counted(texts: pa.Array) -> Floats:
    missing, found = _missing(texts), np.full((len(texts), len(PARTS)), np.nan)
    longest = pc.max(pc.binary_length(texts)).as_py() or 1
    # 0 for a digit, 1 for a small letter, 2 for a capital, 3 for a blank, 4 for others.
    tests = (str.isdigit, lambda c: c.isalpha() and not c.isupper(), str.isalpha, str.isspace)
    for start in range(0, len(texts), max(1, STRIP // longest)):
        own = slice(start, start + max(1, STRIP // longest))
        strip = texts[own].fill_null("")
        lengths = pc.utf8_length(strip).to_numpy()
        characters = np.frombuffer("".join(strip.to_pylist()).encode("utf-32-le"), np.uint32)
        sorts = np.zeros(int(characters.max(initial=0)) + 1, dtype=np.intp)
        for code in np.unique(characters).tolist():
            sorts[code] = next((k for k, test in enumerate(tests) if test(chr(code))), 4)
        places = np.repeat(5 * np.arange(len(lengths)), lengths) + sorts[characters]
        counts = np.bincount(places, minlength=5 * len(lengths)).reshape(-1, 5)
        digits, small, capitals, blanks, others = counts.T
        found[own] = np.column_stack([lengths, digits, small + capitals, capitals, blanks, others])
    found[missing] = np.nan
    return found
