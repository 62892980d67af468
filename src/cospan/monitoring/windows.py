"""Rows in one pass become windows: hours to years, or so many rows, each with a sample of its rows.

Times are days since 1970 (UTC where a time zone is given). A window has a number, its *code*, which
grows with time. Memory does not grow with the rows: of each window at most `WINDOW_ROWS` rows are
kept as they came, drawn by a hash of their running number, and fewer where windows are many.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base.notes import Note
from cospan.base.types import Floats
from cospan.data import (
    AMBIGUOUS,
    READINGS,
    ZONE,
    Source,
    Table,
    chosen,
    coded,
    encode,
    family,
    listing,
    numbers,
    open_source,
    parsed,
    read_ahead,
    texts_of,
)
from cospan.errors import InputError
from cospan.model_file import is_file_of

if TYPE_CHECKING:
    import pyarrow as pa

Codes = NDArray[np.int64]
#: Rows as they came: columns of a table, or an array of numbers.
Rows = Any

#: Rows of a window that its values are computed from, at most; and what all take together.
WINDOW_ROWS, ALL_BYTES = 1_000, 2**27
#: Rows of a window are not thinned out below this.
LEAST_ROWS = 32
#: With more windows than this something is wrong with `every`.
MOST_WINDOWS = 100_000
#: Cells of a block that is read at once.
BLOCK_CELLS = 2**21
#: Windows in a year; windows of rows have no calendar, and a "year" of them is 365.
PER_YEAR = {"hour": 8766.0, "day": 365.25, "week": 52.18, "month": 12.0, "year": 1.0}
ROWS_PER_YEAR = 365.0
#: A pattern repeats after so many windows: the days of a week, the hours of a day.
SEASON = {"day": 7, "hour": 24}
#: How times are stored: hours and days by numpy's own units, a week as its Monday.
_UNIT = {"hour": "h", "day": "D", "week": "D", "month": "M", "year": "Y"}
_MONDAY = 3  # days from the Monday before 1970-01-01, a Thursday
_LONGEST = 15  # digits and separators of a number of rows: no table has more
# A time of day is a fraction of a day in float64; a full hour may come out a rounding below it.
_HALF_A_MILLISECOND = 0.5e-3 / 86_400
#: Ways of writing a date that leave no doubt, whatever a block of rows happens to hold.
_UNAMBIGUOUS = ("iso date", "year/month/day", "day.month.year")
#: How UTC is written at the end of a time.
_UTC = {"Z", "+00:00", "+0000", "+00", "-00:00"}


# ---- how long a window is ----------------------------------------------------------------------


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
        return PER_YEAR.get(self.unit, ROWS_PER_YEAR)

    @property
    def timed(self) -> bool:
        """Whether windows are cut by time, and not by counting rows."""
        return self.unit != "rows"

    @property
    def season(self) -> int:
        """After how many windows a pattern repeats; 1 where none is known."""
        return SEASON.get(self.unit, 1)

    def codes(self, days: Floats) -> Codes:
        """The window of each time."""
        days = days + _HALF_A_MILLISECOND
        if self.unit == "hour":
            return np.floor(days * 24).astype(np.int64)
        whole = np.floor(days).astype(np.int64)
        if self.unit == "week":
            return np.asarray((whole + _MONDAY) // 7)
        return (
            whole.astype("datetime64[D]").astype(f"datetime64[{_UNIT[self.unit]}]").view(np.int64)
        )

    def start(self, code: int) -> Any:
        """When a window begins, or its first row, counted from 1."""
        if not self.timed:
            return code * self.rows + 1
        first = 7 * code - _MONDAY if self.unit == "week" else code
        return np.array(first).astype(f"datetime64[{_UNIT[self.unit]}]")[()]

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
    if text in PER_YEAR:
        return Every(text)
    found = re.fullmatch(r"([1-9][0-9_,]*)([ -]?rows?)?", text)
    if found is None or len(found[1]) > _LONGEST:
        raise InputError(
            f"{given!r} is not the length of a window; give every= one of "
            f"{', '.join(PER_YEAR)}, or a number of rows such as 1000-rows."
        )
    return Every("rows", int(re.sub("[_,]", "", found[1])))


# ---- windows -----------------------------------------------------------------------------------


class Part(NamedTuple):
    """Some rows of a window as they came, and their running numbers."""

    rows: Rows
    numbers: Codes


@dataclass
class WindowRows:
    """The rows of one window: how many there are, and a sample of them."""

    count: int = 0
    parts: list[Part] = field(default_factory=list)
    kept: int = 0
    bound: int = 2**64 - 1  # rows whose hash is above are not kept
    sources: set[int] = field(default_factory=set)

    def add(self, rows: Rows, at: NDArray[np.intp], numbers: Codes, limit: int) -> None:
        """The rows of a block `at` some places; only those that are drawn are copied."""
        self.count += len(at)
        drawn = self._drawn(numbers, limit)
        if len(drawn):
            self.parts.append(Part(_take(rows, at[drawn]), numbers[drawn]))
            self.kept += len(drawn)
            if self.kept > 2 * limit:
                self.thin(limit)

    def _drawn(self, numbers: Codes, limit: int) -> NDArray[np.intp]:
        """The places of the `limit` smallest hashes, among those that are not above the bound."""
        hashes = _hashed(numbers)
        drawn = np.flatnonzero(hashes <= np.uint64(self.bound))
        if len(drawn) <= limit:
            return drawn
        self.bound = int(np.partition(hashes[drawn], limit - 1)[limit - 1])
        return np.flatnonzero(hashes <= np.uint64(self.bound))

    def thin(self, limit: int) -> None:
        """Keep at most `limit` rows, in the order in which they came."""
        part = self.joined()
        if self.kept > limit:
            drawn = self._drawn(part.numbers, limit)
            part = Part(_take(part.rows, drawn), part.numbers[drawn])
        self.parts, self.kept = [part], len(part.numbers)

    def joined(self) -> Part:
        rows, numbers = joined_rows([p.rows for p in self.parts]), [p.numbers for p in self.parts]
        return Part(rows, np.concatenate(numbers))


@dataclass
class Windows:
    """All windows by their codes; the columns that each source has beside the time."""

    every: Every
    parts: dict[int, WindowRows] = field(default_factory=dict)
    limit: int = WINDOW_ROWS
    notes: list[Note] = field(default_factory=list)
    columns: list[tuple[str, ...] | None] = field(default_factory=list)
    names: tuple[str, ...] | None = None  # of the features of an array

    def add(self, rows: Rows, codes: Codes, numbers: Codes, source: int) -> None:
        for code, at in _groups(codes):
            window = self.parts.setdefault(code, WindowRows())
            window.add(rows, at, numbers[at], self.limit)
            window.sources.add(source)
        if len(self.parts) > MOST_WINDOWS:
            raise InputError(
                f"There are more than {MOST_WINDOWS:,} windows; choose longer ones with every=."
            )
        while self.limit > LEAST_ROWS and self._kept * _row_bytes(rows) > ALL_BYTES:
            self.limit = max(LEAST_ROWS, self.limit // 2)
            for part in self.parts.values():
                part.thin(self.limit)

    @property
    def _kept(self) -> int:
        return sum(part.kept for part in self.parts.values())

    def finish(self) -> list[tuple[int, WindowRows]]:
        """The windows in the order of time, none of more than `limit` rows."""
        for part in self.parts.values():
            part.thin(self.limit)
        return sorted(self.parts.items())


def _take(rows: Rows, at: NDArray[np.intp]) -> Rows:
    return rows[at] if isinstance(rows, np.ndarray) else rows.take(at)


def _row_bytes(rows: Rows) -> float:
    return float(rows.nbytes) / max(1, len(rows))


def joined_rows(parts: Sequence[Rows]) -> Rows:
    """Rows one below the other; a column of one part may be text in the next."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import pyarrow as pa

    tables = [one if isinstance(one, pa.Table) else pa.Table.from_batches([one]) for one in parts]
    if any(table.schema != tables[0].schema for table in tables):
        kinds: dict[str, set[Any]] = {}
        for one in itertools.chain.from_iterable(table.schema for table in tables):
            kinds.setdefault(one.name, set()).add(one.type)
        texts = {
            name
            for name, own in kinds.items()
            if len({family(kind) for kind in own} - {"nothing"}) > 1
        }
        tables = [
            table.cast(
                pa.schema(
                    [f.with_type(pa.string()) if f.name in texts else f for f in table.schema]
                )
            )
            for table in tables
        ]
    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()


def _hashed(numbers: Codes) -> NDArray[np.uint64]:
    """Splitmix64 of running numbers: which rows stay does not depend on how they came."""
    with np.errstate(over="ignore"):
        x = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _groups(codes: Codes) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """The places of each window's rows."""
    order = np.argsort(codes, kind="stable")
    edges = np.flatnonzero(np.diff(codes[order])) + 1
    for at in np.split(order, edges):
        if len(at):
            yield int(codes[at[0]]), at


# ---- reading -----------------------------------------------------------------------------------


def opened(data: Any, time: Any, **options: Any) -> list[Source | Table]:
    """The sources of a set, one or several; the column of times is not a feature."""
    several = isinstance(data, list | tuple) and all(
        isinstance(one, str | os.PathLike) or hasattr(one, "columns") for one in data
    )
    named = isinstance(time, str)
    drop = tuple(dict.fromkeys([*(options.pop("drop", None) or ()), *([time] if named else [])]))
    sources: list[Source | Table] = []
    for one in data if several and data else [data]:
        for kind in ("profile", "monitoring"):
            if isinstance(one, str | os.PathLike) and is_file_of(one, f"cospan {kind}"):
                raise InputError(f"{os.fspath(one)} is a {kind} file; name the data itself.")
        source = open_source(one, drop=drop or None, **options)
        if named and not isinstance(source, Table):
            raise InputError(
                f"{source.name} is not a table, so it has no column {time!r}; cut windows in rows, "
                f'for instance every="1000-rows".'
            )
        if named and isinstance(source, Table) and time not in source.all_columns:
            columns = listing(source.all_columns, 20)
            raise InputError(f"{source.name}: has no column {time!r}; its columns are {columns}.")
        sources.append(source)
    return sources


def read_windows(
    sources: Sequence[Source | Table], time: Any, every: Every, name: str = "data"
) -> Windows:
    """All rows of the sources as windows, in one pass."""
    given = None if time is None or isinstance(time, str) else _as_days(time)
    found = Windows(every)
    seen = timeless = 0
    for k, source in enumerate(sources):
        column = time if isinstance(time, str) and every.timed else None
        found.columns.append(source.columns if isinstance(source, Table) else None)
        found.names = source.feature_names if isinstance(source, Source) else None
        for rows, days in read_ahead(_blocks(source, column, found.notes)):
            counted = np.arange(seen, seen + len(rows))
            seen += len(rows)
            if given is not None:
                days = given[counted[0] : seen]
                if len(days) < len(rows):
                    raise InputError(f"There are {len(given):,} times for more rows than that.")
            if not every.timed:
                found.add(rows, counted // every.rows, counted, k)
                continue
            if days is None:
                raise InputError(
                    f"Windows of one {every.unit} need times: name the column with time=, or cut "
                    'windows in rows, for instance every="1000-rows".'
                )
            there = np.flatnonzero(np.isfinite(days))
            timeless += len(days) - len(there)
            if len(there):
                kept = rows if len(there) == len(rows) else _take(rows, there)
                found.add(kept, every.codes(days[there]), counted[there], k)
    if given is not None and seen != len(given):
        raise InputError(f"There are {len(given):,} times for {seen:,} rows.")
    if not found.parts:
        raise InputError(f"{name} has no rows{' with a time' if timeless else ''}.")
    if timeless:
        text = f"{name}: {timeless:,} of {seen:,} rows have no time and are left out."
        found.notes.append(Note("no time", text, loud=True))
    return found


def _blocks(
    source: Source | Table, time: str | None, notes: list[Note]
) -> Iterator[tuple[Rows, Floats | None]]:
    """Rows as they come, with their times in days since 1970."""
    if isinstance(source, Source):
        for chunk in encode([source])[0].chunks():
            yield np.asarray(chunk.rows, dtype=np.float64), None
        return
    wanted = list(dict.fromkeys([*source.columns, *([] if time is None else [time])]))
    zones: set[str] = set()
    order = cache(lambda: _order(source, str(time)))  # looked for where a block leaves it open
    for batch in source.batches(wanted, max(1024, BLOCK_CELLS // len(wanted))):
        days = None
        if time is not None:
            days = _days(batch.column(time), (source.name, time), zones, order)
        yield batch.select(list(source.columns)), days
    if not (zones <= {""} or zones <= _UTC):  # of times that are written in UTC everybody knows
        text = f"{source.name}: the times of {time!r} have a time zone; windows begin in UTC."
        if "" in zones:
            text = (
                f"{source.name}: some times of {time!r} have a time zone and others have none; the "
                "latter are taken to be in UTC, in which windows begin and end."
            )
        notes.append(Note("time zones", text, loud=True))


def _days(
    array: pa.Array, where: tuple[str, str], zones: set[str], order: Callable[[], str]
) -> Floats:
    """Days since 1970 of a column of dates, times or texts; NaN where missing.

    The zones of times are added to `zones`, "" where they have none. `order` is how all texts
    of the column are read, for those that may begin with the day or with the month.
    """
    name, column = where
    kind = family(array.type)
    if kind == "date":
        zones.add("" if getattr(array.type, "tz", None) is None else "any")
        return numbers(array)
    if array.null_count == len(array):
        return np.full(len(array), np.nan)
    if kind not in ("text", "dictionary"):
        raise InputError(
            f"{name}: column {column!r} holds {array.type}, not dates; make dates of it, or cut "
            f'windows in rows, for instance every="1000-rows".'
        )
    found = coded(array)
    for way in (*_UNAMBIGUOUS, None):
        way = order() if way is None else way
        if way not in READINGS:
            continue
        values = np.asarray(parsed(found.texts, way).to_numpy(zero_copy_only=False))
        if not np.isnan(values).any():
            zones |= _zones_of(found.texts)
            return np.asarray(np.append(values, np.nan)[found.codes])
    values = np.asarray(parsed(found.texts, _UNAMBIGUOUS[0]).to_numpy(zero_copy_only=False))
    odd = str(found.texts[int(np.flatnonzero(np.isnan(values))[0])].as_py())[:40]
    if order() == AMBIGUOUS:
        raise InputError(
            f"{name}: column {column!r} holds {odd!r}, which may begin with the day or with the "
            "month, and so may all others; write 2020-12-31."
        )
    raise InputError(
        f"{name}: column {column!r} holds {odd!r}, which is not a date such as 2020-12-31 or "
        "2020-12-31 23:59:00 (2020/12/31, 31.12.2020, 12/31/2020 will do, too)."
    )


def _order(table: Table, column: str) -> str:
    """The only way to read all texts of a column as dates; else AMBIGUOUS, or empty."""
    fitting = texts_of(table, column).fitting
    return chosen({name for name in fitting if READINGS[name].kind == "date"})


def _zones_of(texts: pa.Array) -> set[str]:
    """The zones that times are written with, "" where there is none."""
    import pyarrow.compute as pc

    found = pc.struct_field(pc.extract_regex(texts, pattern=ZONE), "zone")
    return set(pc.unique(pc.fill_null(found, "")).to_pylist())


def _as_days(time: Any) -> Floats:
    """Times given as an array, in days since 1970."""
    values = np.asarray(time)
    try:
        ticks = values.astype("datetime64[us]")
    except (TypeError, ValueError):
        raise InputError("time must be a column's name, or one date for each row.") from None
    if values.dtype.kind in "biuf" or values.ndim != 1:
        raise InputError("time must be a column's name, or one date for each row.")
    days = ticks.astype(np.int64) / 86_400e6
    return np.where(np.isnat(ticks), np.nan, days)
