"""Text that means numbers, dates or times of day, and how to read it.

A *reading* is one way to turn text into numbers. A column is read so only if every value of it,
in every set, can be, or if each set has a reading of dates of its own and these cannot be mixed up
("2014-01-31" and "31/01/2014"). Where two readings fit all values and disagree ("1,234" may be 1234
or 1.234, "03/04/2020" a day in March or in April), the text is ambiguous and no guess is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

from .kinds import days

#: Pairs of words for false and true, in lower case.
BOOLEANS = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("off", "on"))

AMBIGUOUS = "ambiguous"
#: Between the readings of a column whose sets are written differently.
_OR = " or "


class Reading(NamedTuple):
    """What the text looks like, the kind of column it makes, and the numbers it stands for."""

    kind: str
    pattern: str
    numbers: Callable[[Any], Any]
    example: str


def _replaced(texts: pa.Array, *steps: tuple[str, str]) -> pa.Array:
    import pyarrow.compute as pc

    for pattern, replacement in steps:
        texts = pc.replace_substring_regex(texts, pattern=pattern, replacement=replacement)
    return texts


def _floats(texts: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.cast(texts, pa.float64())


def _comma(texts: pa.Array) -> pa.Array:
    return _floats(_replaced(texts, (r"\.", ""), (",", ".")))


def _thousands(texts: pa.Array) -> pa.Array:
    return _floats(_replaced(texts, (",", "")))


def _moments(texts: pa.Array) -> pa.Array:
    """Days since 1970 of ISO dates and times, with or without a time zone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = _replaced(texts, (r"(\.\d{6})\d+", r"\1"))
    zoned = pc.match_substring_regex(texts, pattern=_ZONE)
    plain = pc.if_else(zoned, None, texts)
    aware = pc.if_else(zoned, texts, None)
    return pc.coalesce(
        days(pc.cast(plain, pa.timestamp("us"))), days(pc.cast(aware, pa.timestamp("us", "UTC")))
    )


def _iso(texts: pa.Array) -> pa.Array:
    return _moments(_replaced(texts, (r"([ T])(\d):", r"\10\2:")))


def _clock(texts: pa.Array) -> pa.Array:
    """Times of day in days: 23:59, or 11:59 PM."""
    import pyarrow.compute as pc

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
_ZONE = r":\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)$"


def _date(order: str, example: str) -> Reading:
    """Dates in an order such as "day.month.year", perhaps with a time: ISO dates and times of day.

    Of "9/30/1990 0:00:00" the date becomes 1990-09-30.
    """
    separator = re.sub("[a-z]", "", order)[0]
    fields = order.split(separator)
    pattern = re.escape(separator).join(_FIELDS[field] for field in fields)
    iso = "-".join(rf"\{fields.index(field) + 1}" for field in ("year", "month", "day"))

    def numbers(texts: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        dates = _replaced(texts, ("[ T].*", ""), (r"\b(\d)\b", r"0\1"), (f"^{pattern}$", iso))
        timed = pc.match_substring(texts, ":")
        if not pc.any(timed).as_py():
            return _moments(dates)
        times = _clock(pc.if_else(timed, _replaced(texts, ("^[^ T]*[ T]", "")), None))
        return pc.add(_moments(dates), pc.coalesce(times, 0.0))

    return Reading("date", f"^{pattern}(?:[ T]{_TIME})?$", numbers, example)


READINGS = {
    "point": Reading("number", rf"^[+-]?{_DIGITS}{_POWER}$", _floats, "1.5"),
    "comma": Reading(
        "number", rf"^[+-]?(?:\d{{1,3}}(?:\.\d{{3}})+|\d+)(?:,\d+)?{_POWER}$", _comma, "1,5"
    ),
    "thousands": Reading(
        "number", r"^[+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?$", _thousands, "1,234"
    ),
    "iso date": Reading(
        "date",
        rf"^\d{{4}}-\d\d-\d\d(?:[ T]{_HOURS}{_MINUTES}(?:Z|[+-]\d\d:?(?:\d\d)?)?)?$",
        _iso,
        "2020-12-31",
    ),
    "year/month/day": _date("year/month/day", "2020/12/31"),
    "day.month.year": _date("day.month.year", "31.12.2020"),
    "day/month/year": _date("day/month/year", "31/12/2020"),
    "month/day/year": _date("month/day/year", "12/31/2020"),
    "day-month-year": _date("day-month-year", "31-12-2020"),
    "month-day-year": _date("month-day-year", "12-31-2020"),
    "clock": Reading("duration", rf"^{_TIME}$", _clock, "23:59"),
}


def parsed(texts: pa.Array, reading: str) -> pa.Array:
    """The numbers that texts stand for, null where they do not fit the reading.

    >>> import pyarrow as pa
    >>> parsed(pa.array(["1.234,5", "2", "x"]), "comma").to_pylist()
    [1234.5, 2.0, None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if _OR in reading:
        return pc.coalesce(*(parsed(texts, one) for one in ways_to_read(reading)))
    how = READINGS[reading]
    fitting = pc.match_substring_regex(texts, pattern=how.pattern)
    if not pc.any(fitting, min_count=0).as_py():
        return pa.nulls(len(texts), pa.float64())
    texts = texts if pc.all(fitting).as_py() else pc.if_else(fitting, texts, None)
    try:
        numbers = how.numbers(texts)
    except pa.ArrowInvalid:  # the 30th of February looks like a date
        return pa.nulls(len(texts), pa.float64())
    return pc.if_else(pc.is_finite(numbers), numbers, None)  # 1e999 is no number


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


def ways_to_read(reading: str) -> tuple[str, ...]:
    """The single readings of a column, one or several.

    >>> ways_to_read("iso date or day/month/year")
    ('iso date', 'day/month/year')
    """
    return tuple(reading.split(_OR))


def in_two_orders(readings: Collection[str]) -> bool:
    """Whether the day comes first in one of these readings, and the month in another.

    >>> in_two_orders({"day/month/year", "month-day-year"}), in_two_orders({"day.month.year"})
    (True, False)
    """
    return all(
        any(one.startswith(first) and "." not in one for one in readings)
        for first in ("day", "month")
    )


def of_each(fitting: Collection[Collection[str]]) -> str:
    """One reading for each set, given those that fit it, where all of them are dates; else "".

    Examples
    --------
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


def boolean_pair(texts: Collection[str]) -> tuple[str, str] | None:
    """The words for false and true that all texts are, in upper or lower case; None if none are.

    >>> boolean_pair(["Yes", "no", "NO"])
    ('no', 'yes')
    """
    found = {text.lower() for text in texts}
    return next((pair for pair in BOOLEANS if found and found <= set(pair)), None)
