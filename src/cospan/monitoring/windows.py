"""Rows in one pass become windows: hours to years, or so many rows, each with a sample of its rows.

A window has a number, its *code*: a whole number for every instant, which grows with time. Memory
does not grow with the rows: of each window at most `WINDOW_ROWS` rows are kept as they came, drawn
by a hash of their running number, and fewer where windows are many.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base.rows import mixed
from cospan.base.types import Data, Floats, Index, Option
from cospan.data import (
    READINGS,
    Options,
    Source,
    Table,
    coded,
    family,
    listing,
    numbers,
    one_batch,
    open_source,
    parsed,
    read_ahead,
)
from cospan.errors import InputError, Note, warn

if TYPE_CHECKING:
    import pyarrow as pa

Codes = NDArray[np.int64]
#: Rows as they came: columns of a table, or an array of numbers.
Rows = Data

#: Rows of a window that its values are computed from, at most; and what all take together.
WINDOW_ROWS, ALL_BYTES = 1_000, 2**27
#: Rows of a window are not thinned out below this.
LEAST_ROWS = 32
#: Cells of a block that is read at once.
BLOCK_CELLS = 2**21
#: Windows in a year, after how many a pattern repeats (the days of a week, the hours of a day), and
#: NumPy's unit of time; a week is counted by its Mondays, as 1970 began on a Thursday.
UNITS = {
    "hour": (8766.0, 24, "h"),
    "day": (365.25, 7, "D"),
    "week": (52.18, 1, "D"),
    "month": (12.0, 1, "M"),
    "year": (1.0, 1, "Y"),
}
_MONDAY = 3
_MS_PER_DAY = 86_400_000


# ---- how long a window is ----------------------------------------------------------------------


@dataclass(frozen=True)
class Every:
    """How long a window is: a unit of time, or so many rows (`unit` is "rows" then).

    >>> month = as_every("month")
    >>> month.codes(np.array([0.0, 30.9, 31.0])).tolist()
    [0, 0, 1]
    >>> month.label(1), as_every("week").label(0), as_every("500-rows").label(2)
    ('1970-02', '1969-12-29', 'rows 1,001 to 1,500')
    """

    unit: str
    rows: int = 0
    per_year: float = 365.0  # windows of rows have no calendar
    season: int = 1
    numpy_unit: str = ""

    @property
    def timed(self) -> bool:
        """Whether windows are cut by time, and not by counting rows."""
        return self.unit != "rows"

    def codes(self, days: Floats) -> Codes:
        """The window of each time, in days since 1970 to the millisecond."""
        instants = np.rint(days * _MS_PER_DAY).astype("datetime64[ms]")
        found = instants.astype(f"datetime64[{self.numpy_unit}]").view(np.int64)
        return np.asarray((found + _MONDAY) // 7) if self.unit == "week" else found

    def start(self, code: int) -> Any:
        """When a window begins, or its first row, counted from 1."""
        return self._starts(np.array(code))[()] if self.timed else code * self.rows + 1

    def _starts(self, codes: Codes) -> NDArray[np.datetime64]:
        first = 7 * codes - _MONDAY if self.unit == "week" else codes
        return first.astype(f"datetime64[{self.numpy_unit}]")

    def days(self, codes: Codes) -> Floats:
        """When windows begin, in days since 1970; 0 for those counted in rows."""
        starts = self._starts(codes) if self.timed else np.zeros(len(codes), "datetime64[h]")
        return np.asarray(starts.astype("datetime64[h]").astype(np.float64) / 24)

    def end(self, code: int) -> Any:
        """When the next one begins, or its last row."""
        return self.start(code + 1) if self.timed else (code + 1) * self.rows

    def label(self, code: int) -> str:
        """What people call a window: when it begins, or its rows."""
        if not self.timed:
            return f"rows {self.start(code):,} to {self.end(code):,}"
        text = str(self.start(code))
        return text.replace("T", " ") + ":00" if self.unit == "hour" else text

    def __str__(self) -> str:
        return self.unit if self.timed else f"{self.rows}-rows"


def as_every(given: object) -> Every:
    """`every` as users write it: a unit of time, or a number of rows.

    >>> as_every("week").unit, as_every("1000-rows") == as_every(1000)
    ('week', True)
    """
    text = str(given).strip().lower()
    if text in UNITS:
        return Every(text, 0, *UNITS[text])
    found = re.fullmatch(r"([1-9][0-9_,]{,14})([ -]?rows?)?", text)
    if found is None:
        raise InputError(
            f"{given!r} is not the length of a window; give every= one of "
            f"{', '.join(UNITS)}, or a number of rows such as 1000-rows."
        )
    return Every("rows", int(re.sub("[_,]", "", found[1])))


# ---- a sample of the rows of each window -------------------------------------------------------


class Kept(NamedTuple):
    """Windows in the order of time, with the kept rows of one after those of the other."""

    name: str
    source: Source | Table  # the first one, which says how all are read
    codes: Codes
    counts: Codes  # rows of each window
    rows: Rows
    edges: Index  # where the kept rows of each window begin, and the end
    columns: list[set[tuple[str, ...]]]  # of the sources of each window, but the time

    @property
    def kind(self) -> str:
        """What the rows are, to compare with a reference's."""
        table = isinstance(self.source, Table)
        return "a table" if table else f"an array of {self.rows.shape[1]} features"

    def of(self, k: int) -> Rows:
        """The kept rows of a window, by its place, with the columns that its sources have."""
        rows = self.rows[int(self.edges[k]) : int(self.edges[k + 1])]
        if isinstance(rows, np.ndarray):
            return rows
        there = set[str]().union(*self.columns[k])
        return rows.select([column for column in rows.column_names if column in there])


class _Sample:
    """Some rows of each window, drawn by a hash of their number; as few as memory allows."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self.columns: dict[int, set[tuple[str, ...]]] = {}
        self.parts: list[tuple[Rows, Codes, Codes]] = []  # rows, their windows and numbers
        self.limit, self.room = WINDOW_ROWS, ALL_BYTES

    def add(self, rows: Rows, codes: Codes, numbers: Codes, columns: tuple[str, ...]) -> None:
        for code, count in Counter(codes.tolist()).items():
            self.counts[code] += count
            self.columns.setdefault(code, set()).add(columns)
        self.parts.append(self.drawn(rows, codes, numbers))
        while sum(one[0].nbytes for one in self.parts) > self.room:
            self.thin()
            if self.parts[0][0].nbytes <= self.room / 2:
                break
            if self.limit == LEAST_ROWS:
                self.room *= 2
            self.limit = max(LEAST_ROWS, self.limit // 2)

    def drawn(self, rows: Rows, codes: Codes, numbers: Codes) -> tuple[Rows, Codes, Codes]:
        """At most `limit` rows of each window, one window after the other."""
        hashes = mixed(np.zeros(1, dtype=np.uint64), numbers.astype(np.uint64))
        order = np.lexsort((hashes, codes))
        first = np.searchsorted(codes[order], codes[order])
        at = order[np.arange(len(order)) - first < self.limit]
        at = at[np.lexsort((numbers[at], codes[at]))]
        return taken(rows, at), codes[at], numbers[at]

    def thin(self) -> None:
        """Keep at most `limit` rows of each window."""
        rows, codes, numbers = zip(*self.parts, strict=True)
        self.parts = []  # so that no more than two copies are in memory
        whole = np.concatenate(rows) if isinstance(rows[0], np.ndarray) else one_batch(rows)
        del rows
        self.parts = [self.drawn(whole, np.concatenate(codes), np.concatenate(numbers))]


def taken(rows: Rows, at: Index) -> Rows:
    """Some of the rows."""
    return rows[at] if isinstance(rows, np.ndarray) else rows.take(at)


# ---- reading -----------------------------------------------------------------------------------


def read_windows(
    data: Data, time: str | None, every: Every, name: str | None = None, **options: Option
) -> Kept:
    """All rows of a set, which may be several sources, as windows, in one pass."""
    if every.timed and time is None:
        raise InputError(
            f"Windows of one {every.unit} need times: name the column with time=, or cut windows "
            "in rows with every= such as 1000-rows."
        )
    sources = _opened(data, time, **options)
    name = name or (sources[0].name if len(sources) == 1 else f"{len(sources)} sets")
    found, seen, timeless = _Sample(), 0, 0
    texts = _texts_of_several(sources)
    for source in sources:
        columns = source.columns if isinstance(source, Table) else ()
        for rows, days in read_ahead(_blocks(source, time if every.timed else None, texts)):
            counted = np.arange(seen, seen + len(rows))
            seen += len(rows)
            if every.timed:
                there = np.flatnonzero(np.isfinite(days))
                timeless += len(days) - len(there)
                rows, counted = taken(rows, there), counted[there]
                codes = every.codes(days[there])
            else:
                codes = counted // every.rows
            if len(counted):
                found.add(rows, codes, counted, columns)
    if not found.counts:
        raise InputError(f"{name} has no rows{' with a time' if timeless else ''}.")
    if timeless:
        text = f"{name}: {timeless:,} of {seen:,} rows have no time and are left out."
        warn([Note("no time", text, loud=True)])
    found.thin()
    rows, of_rows, _ = found.parts[0]
    if not isinstance(rows, np.ndarray):
        import pyarrow as pa

        rows = pa.Table.from_batches([rows])
    codes, starts = np.unique(of_rows, return_index=True)
    counts = np.array([found.counts[code] for code in codes.tolist()])
    return Kept(
        name, sources[0], codes, counts, rows, np.append(starts, len(of_rows)),
        [found.columns[code] for code in codes.tolist()],
    )  # fmt: skip


def _opened(data: Data, time: str | None, **options: Option) -> list[Source | Table]:
    """The sources of a set, one or several; the column of times is not a feature."""
    if not isinstance(time, str | None):
        raise InputError(f"time= names a column, and {type(time).__name__} is no name.")
    several = isinstance(data, list | tuple) and all(
        isinstance(one, str | os.PathLike) or hasattr(one, "columns") for one in data
    )
    drop = [*Options.of(drop=options.pop("drop", None)).drop, *([] if time is None else [time])]
    sources = [open_source(x, drop=drop or None, **options) for x in (data if several else [data])]
    for source in sources if time is not None else ():
        has = source.schema.names if isinstance(source, Table) else ()
        if time not in has:
            columns = f"its columns are {listing(has, 20)}" if has else "it is not a table"
            raise InputError(f"{source.name}: has no column {time!r}; {columns}.")
    return sources


def _texts_of_several(sources: Sequence[Source | Table]) -> set[str]:
    """Columns that several sources hold as texts, or not alike, as numbers here and texts there."""
    kinds: dict[str, set[str]] = {}
    for source in sources if len(sources) > 1 else ():
        for field in source.schema if isinstance(source, Table) else ():
            kinds.setdefault(field.name, set()).add(family(field.type))
    text = {"text", "dictionary"}
    return {name for name, own in kinds.items() if own & text or len(own - {"nothing"}) > 1}


def _blocks(
    source: Source | Table, time: str | None, texts: set[str]
) -> Iterator[tuple[Rows, Floats]]:
    """Rows as they come, with their times in days since 1970 where a column has them."""
    days = np.zeros(0)
    if isinstance(source, Source):
        for chunk in source.chunks():
            yield np.asarray(chunk.rows, dtype=np.float64), days
        return
    own = list(source.columns)
    wanted = own if time is None else [*own, time]
    for batch in source.batches(wanted, max(1024, BLOCK_CELLS // len(wanted))):
        if time is not None:
            days = _days(batch.column(time), f"{source.name}: column {time!r}")
        rows = batch.select(own)
        for name in texts & set(own):
            place = own.index(name)
            rows = rows.set_column(place, name, rows.column(place).cast("string"))
        yield rows, days


def _days(array: pa.Array, where: str) -> Floats:
    """Days since 1970, in UTC, of dates, times or texts; NaN where missing."""
    kind, odd = family(array.type), f"{array.type}, which is no date"
    if kind == "date":
        return numbers(array)
    if array.null_count == len(array):
        return np.full(len(array), np.nan)
    if kind in ("text", "dictionary"):
        codes, texts = coded(array)
        ways = [way for way, how in READINGS.items() if how.kind == "date"]
        found = [parsed(texts, way).to_numpy(zero_copy_only=False) for way in ways]
        fitting = {days.tobytes(): days for days in found if not np.isnan(days).any()}
        if len(fitting) == 1:
            (days,) = fitting.values()
            return np.append(days, np.nan)[codes]
        odd = repr(str(texts[int(np.argmax(np.isnan(found[0])))])[:40])
        odd += ", which is no date, or may begin with the day or the month"
    raise InputError(
        f"{where} holds {odd}; write 2020-12-31 or 2020-12-31 23:59:00, or cut windows in rows "
        "with every= such as 1000-rows."
    )
