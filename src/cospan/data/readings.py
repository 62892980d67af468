"""Text that means numbers, truth values, dates or times of day, and how to read it.

A *reading* is one way to turn text into numbers. A column is read so only if every value of it,
in every set, can be, or if each set has a reading of dates of its own and these cannot be mixed up
("2014-01-31" and "31/01/2014"). Where two readings fit all values and disagree ("1,234" may be 1234
or 1.234, "03/04/2020" a day in March or in April), the text is ambiguous and no guess is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from cospan.base.types import Bools, Floats, Index

from .arrow import days, family, numbers, pa, pc

#: Texts that stand for a missing value: those that Arrow takes for one in CSV files, and what
#: statistics packages and people write.
MISSING_TEXTS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "<NA>", "NaT",
    "?", ".", "-", "--",
)  # fmt: skip
#: Pairs of words for false and true, in lower case.
BOOLEANS = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("off", "on"))
#: What is counted in a text; capitals are letters, too.
PARTS = ("length", "digits", "letters", "capitals", "blanks", "other characters")
AMBIGUOUS = "ambiguous"
#: Longer texts are cut: no category, number or date is written so.
LONGEST_TEXT = 2**16
TRIED = 16  # texts that are tried before a whole column
#: Bytes of texts that are looked at one by one at a time; each takes some 30 bytes meanwhile.
STRIP = 2**18
#: Between the readings of a column whose sets are written differently.
_OR = " or "


class Coded(NamedTuple):
    """A column of texts as numbers of texts: `codes` is -1 where the value is missing.

    `padded` says which texts had blanks around them.
    """

    codes: Index
    texts: pa.Array
    padded: Bools


def coded(array: pa.Array) -> Coded:
    """The texts of a column, without the blanks around them; each is looked at once.

    Numbers and other values get the text one would write for them: 3 and 3.0 are "3".
    """
    if not pa.types.is_dictionary(array.type):
        array = pc.dictionary_encode(array)
    as_written = as_texts(array.dictionary)
    texts = pc.utf8_trim_whitespace(as_written)
    if texts.nbytes > LONGEST_TEXT and pc.max(pc.binary_length(texts)).as_py() > LONGEST_TEXT:
        texts = pc.utf8_slice_codeunits(texts, 0, LONGEST_TEXT)
    longer = pc.not_equal(pc.binary_length(as_written), pc.binary_length(texts))
    padded = np.asarray(pc.fill_null(longer, False).to_numpy(zero_copy_only=False))
    codes = np.asarray(pc.fill_null(pc.cast(array.indices, pa.int64()), -1).to_numpy())
    kept = ~_missing(texts)
    if not kept.all():
        # The places of the texts that stay; one more at the end for the codes -1.
        places = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
        codes, texts, padded = places[codes], texts.filter(pa.array(kept)), padded[kept]
    return Coded(codes, texts, padded)


def _missing(texts: pa.Array) -> Bools:
    """Which texts are missing, or stand for a missing value."""
    found = pc.is_in(texts, value_set=pa.array([None, *MISSING_TEXTS], texts.type))
    return np.asarray(found.to_numpy(zero_copy_only=False))


def as_texts(values: pa.Array) -> pa.Array:
    """The texts that one would write for these values."""
    if family(values.type) == "text":
        return values
    if pa.types.is_floating(values.type) or pa.types.is_decimal(values.type):
        return pa.array([_number_text(value) for value in numbers(values).tolist()], pa.string())
    return pc.cast(values, pa.string())


def _number_text(value: float) -> str | None:
    if value != value:
        return None
    return str(int(value)) if value.is_integer() else repr(value)


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
    zoned = pc.match_substring_regex(texts, pattern=ZONE)
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
_FIELDS = {"day": r"(0?[1-9]|[12]\d|3[01])", "month": r"(0?[1-9]|1[0-2])", "year": r"(\d{4})"}
_HOURS, _MINUTES = r"(?:[01]?\d|2[0-3])", r":[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?"
_TIME = rf"(?:{_HOURS}{_MINUTES}|(?:0?[1-9]|1[0-2]){_MINUTES} ?[AaPp][Mm])"
#: The end of a text with a time and its zone.
ZONE = r":\d\d(?:\.\d+)?(?P<zone>Z|[+-]\d\d(?::?\d\d)?)$"


def _date(order: str) -> Reading:
    """Dates in an order such as "day.month.year", perhaps with a time: ISO dates and times of day.

    Of "9/30/1990 0:00:00" the date becomes 1990-09-30.
    """
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
READINGS = {
    "point": Reading("number", rf"^[+-]?(?:{_DIGITS}{_POWER}|(?i:inf|infinity))$", _floats),
    "comma": Reading(
        "number",
        rf"^[+-]?(?:\d{{1,3}}(?:\.\d{{3}})+|\d+)(?:,\d+)?{_POWER}$",
        lambda texts: _floats(texts, (r"\.", ""), (",", ".")),
    ),
    "thousands": Reading(
        "number",
        r"^[+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?$",
        lambda texts: _floats(texts, (",", "")),
    ),
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
    if _OR in reading:
        return pc.coalesce(*(parsed(texts, one) for one in single_readings(reading)))
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
    if "point" in fitting:  # without a comma the other number readings mean the same, or less
        return "point"
    if len(fitting) > 1:
        return AMBIGUOUS
    return next(iter(fitting), "")


def single_readings(reading: str) -> tuple[str, ...]:
    """The single readings of a column, one or several."""
    return tuple(reading.split(_OR))


def in_two_orders(readings: Collection[str]) -> bool:
    """Whether the day comes first in one of these readings, and the month in another."""
    return all(
        any(one.startswith(first) and "." not in one for one in readings)
        for first in ("day", "month")
    )


def of_each(fitting: Collection[Collection[str]]) -> str:
    """One reading for each set, given those that fit it, where all of them are dates; else "".

    >>> of_each([{"iso date"}, {"day/month/year"}])
    'iso date or day/month/year'
    >>> of_each([{"month/day/year"}, {"day/month/year"}]), of_each([{"iso date"}, set()])
    ('ambiguous', '')
    """
    own = {chosen(one) for one in fitting}
    dates = {name for name, how in READINGS.items() if how.kind == "date"}
    if not own <= {*dates, AMBIGUOUS} or len(own) < 2:
        return ""
    if AMBIGUOUS in own or in_two_orders(own):
        return AMBIGUOUS
    return _OR.join(name for name in READINGS if name in own)


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
    for start in range(0, len(texts), max(1, STRIP // longest)):
        own = slice(start, start + max(1, STRIP // longest))
        strip = texts[own].fill_null("")
        lengths = pc.utf8_length(strip).to_numpy()
        characters = np.frombuffer("".join(strip.to_pylist()).encode("utf-32-le"), np.uint32)
        sorts = np.zeros(int(characters.max(initial=0)) + 1, dtype=np.intp)
        for code in np.unique(characters).tolist():
            sorts[code] = _sort(chr(code))
        places = np.repeat(5 * np.arange(len(lengths)), lengths) + sorts[characters]
        counts = np.bincount(places, minlength=5 * len(lengths)).reshape(-1, 5)
        digits, small, capitals, blanks, others = counts.T
        found[own] = np.column_stack([lengths, digits, small + capitals, capitals, blanks, others])
    found[missing] = np.nan
    return found


def _sort(character: str) -> int:
    """0 for a digit, 1 for a small letter, 2 for a capital, 3 for a blank, 4 for others."""
    tests = (str.isdigit, lambda c: c.isalpha() and not c.isupper(), str.isalpha, str.isspace)
    return next((k for k, test in enumerate(tests) if test(character)), 4)
