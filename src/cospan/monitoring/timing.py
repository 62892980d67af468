"""When a row belongs to which window: hours, days, weeks, months, years, or so many rows.

Times are days since 1970, as the tables' dates are encoded (UTC where a time zone is given). A
window has a number, its *code*, which grows with time, and a label that people read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.types import Floats
from cospan.errors import InputError

Codes = NDArray[np.int64]

#: Windows in a year; windows of rows have no calendar, and a "year" of them is 365.
_PER_YEAR = {"hour": 8766.0, "day": 365.25, "week": 52.18, "month": 12.0, "year": 1.0}
_ROWS_PER_YEAR = 365.0
_LONGEST = 15  # digits and separators of a number of rows: no table has more
_MONDAY = 3  # days from the Monday before 1970-01-01, a Thursday
# A time of day is a fraction of a day in float64; a full hour may come out a rounding below it.
_HALF_A_MILLISECOND = 0.5e-3 / 86_400


@dataclass(frozen=True)
class Every:
    """How long a window is.

    Attributes
    ----------
    unit : {"hour", "day", "week", "month", "year", "rows"}
    rows : int
        Rows in a window where `unit` is ``"rows"``; else 0.

    Examples
    --------
    >>> month = as_every("month")
    >>> month.codes(np.array([0.0, 30.9, 31.0])).tolist()
    [0, 0, 1]
    >>> month.label(1), as_every("day").label(0), as_every("week").label(0)
    ('1970-02', '1970-01-01', '1969-12-29')
    >>> as_every("500-rows").label(2)
    'rows 1,001 to 1,500'
    """

    unit: str
    rows: int = 0

    @property
    def per_year(self) -> float:
        """Windows in a year."""
        return _PER_YEAR.get(self.unit, _ROWS_PER_YEAR)

    @property
    def timed(self) -> bool:
        """Whether windows are cut by time, and not by counting rows."""
        return self.unit != "rows"

    @property
    def plural(self) -> str:
        """Windows of this length, in words."""
        return f"windows of one {self.unit}" if self.timed else f"windows of {self.rows:,} rows"

    @property
    def year(self) -> str:
        """What the false-alarm rate is per, in words."""
        return "year" if self.timed else f"{_ROWS_PER_YEAR:.0f} windows"

    def codes(self, days: Floats) -> Codes:
        """The window of each time."""
        days = days + _HALF_A_MILLISECOND
        if self.unit == "hour":
            return np.floor(days * 24).astype(np.int64)
        whole = np.floor(days).astype(np.int64)
        if self.unit == "day":
            return whole
        if self.unit == "week":
            return np.asarray((whole + _MONDAY) // 7)
        unit = "M" if self.unit == "month" else "Y"
        return whole.astype("datetime64[D]").astype(f"datetime64[{unit}]").astype(np.int64)

    def counted(self, start: int, n: int) -> Codes:
        """The windows of rows `start` to `start + n`, counted from 0."""
        return np.arange(start, start + n, dtype=np.int64) // self.rows

    def label(self, code: int) -> str:
        """What people call a window: when it begins, or its rows."""
        if self.unit == "rows":
            first, last = code * self.rows + 1, (code + 1) * self.rows
            return f"rows {first:,} to {last:,}"
        if self.unit == "hour":
            return str(np.datetime64(code, "h")).replace("T", " ") + ":00"
        if self.unit in ("day", "week"):
            return str(np.datetime64(code if self.unit == "day" else 7 * code - _MONDAY, "D"))
        return str(np.datetime64(code, "M" if self.unit == "month" else "Y"))

    def __str__(self) -> str:
        return self.unit if self.timed else f"{self.rows}-rows"


def as_every(given: Any) -> Every:
    """`every` as users write it: a unit of time, or a number of rows.

    Examples
    --------
    >>> as_every("week"), as_every(1000), as_every("1000-rows")
    (Every(unit='week', rows=0), Every(unit='rows', rows=1000), Every(unit='rows', rows=1000))
    """
    if isinstance(given, Every):
        return given
    text = str(given).strip().lower()
    if text in _PER_YEAR:
        return Every(text)
    found = re.fullmatch(r"([1-9][0-9_,]*)([ -]?rows?)?", text)
    if found is None or len(found[1]) > _LONGEST:
        raise InputError(
            f"{given!r} is not the length of a window; give every= one of "
            f"{', '.join(_PER_YEAR)}, or a number of rows such as 1000-rows."
        )
    return Every("rows", int(re.sub("[_,]", "", found[1])))
