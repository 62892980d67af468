"""A reference as a small file: some of its rows as they came, and what its windows are like.

The functions that are watched follow from the rows that are kept, so the file holds these rows, the
plan that reads them, and of each window of the reference the values of the functions, measured
with what the other windows leave open.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base.checks import as_count
from cospan.base.keys import row_keys
from cospan.base.notes import Note, warn
from cospan.base.types import Floats, Index
from cospan.data import EncodingPlan, Source, Table, encode, notes_of, open_source
from cospan.errors import InputError
from cospan.evidence import Finding, Held, Reading

from .alarm import Alarm
from .functions import (
    MOVING,
    NEW,
    RUNS,
    Functions,
    Read,
    Watched,
    Windowed,
    chosen_functions,
    read_rows,
    standard_values,
)
from .windows import Every, WindowRows, Windows, as_every, joined_rows, opened, read_windows

#: Rows that are kept of a reference.
KEPT_ROWS = 5_000
#: Rows that are read by the plan at a time.
READ_ROWS = 100_000
#: A column is of another type where more than this share of its values cannot be read.
UNREAD = 0.5
#: Options of the sources that say how columns are read, and are needed again for every window.
READ_AS = ("categorical", "numeric", "keep")
_ONE_WINDOW = Every("rows", 2**62)


class Measured(NamedTuple):
    """A window: the values of functions (of shares the counts), and what its columns hold."""

    code: int
    rows: int
    kept: int
    values: Floats
    n: Floats
    columns: dict[str, Held]
    findings: tuple[Finding, ...]
    repeated: int  # rows that equal an earlier one
    digest: int  # the same for the same rows in any order


@dataclass(frozen=True, eq=False)
class Profile:
    """What a reference looks like, in little room.

    Make one with :meth:`of`, keep it with :meth:`save`, and give it to :func:`cospan.monitor` or
    to :func:`cospan.compare` wherever they take a file: what they compare with are its
    `kept_rows`.

    Attributes
    ----------
    name : str
    kept_rows : pyarrow.Table or ndarray
        A sample of its rows, as they came.
    count : int
        Rows of the reference in all.
    plan : EncodingPlan or None
        How the columns are read; None for arrays.
    names : tuple of str
        The columns that are watched.
    every : Every or None
        How long a window is.
    time : str
        The column of times; empty where there is none.
    codes : ndarray of shape (W,)
        The windows of the reference.
    table : tuple of Watched
        The functions that are watched.
    options : dict
        How columns are read: categorical, numeric, keep, where they were given.

    Examples
    --------
    >>> from cospan import Profile
    >>> rng = np.random.default_rng(0)
    >>> Profile.of(rng.normal(size=(3000, 4)), every="100-rows")
    <Profile of 'array': 3,000 rows, 4 columns, 30 windows of 100 rows, 3,000 rows kept>
    """

    name: str
    kept_rows: Any
    count: int
    plan: EncodingPlan | None
    names: tuple[str, ...]
    every: Every | None
    time: str
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]  # rows of each window
    place: Index  # the window of each row that is kept
    table: tuple[Watched, ...]
    values: Floats = field(repr=False)  # (W, functions), of shares the counts
    n: Floats = field(repr=False)
    repeated: float  # the largest share of repeated rows in a window
    options: dict[str, Any]

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        time: Any = None,
        every: Any = None,
        rows: int = KEPT_ROWS,
        name: str | None = None,
        **options: Any,
    ) -> Profile:
        """The profile of a reference, in one pass.

        Parameters
        ----------
        data : anything that :func:`cospan.data.open_source` takes, or a list of files
        time : column name or array of dates, optional
            When each row was; not a feature.
        every : {"hour", "day", "week", "month", "year"} or rows, optional
            The windows to cut the reference into, to learn how windows vary: as long as those
            that will be compared with it. A number or ``"1000-rows"`` counts rows.
        rows : int
            Rows to keep.
        name : str, optional
        **options
            For the sources: columns, categorical, numeric, drop, keep.
        """
        notes: list[Note] = []
        found = learn_profile(data, notes, time, every, rows, name, options)
        warn(notes)
        return found

    @cached_property
    def functions(self) -> Functions:
        """What is watched, as the rows that are kept fix it."""
        run = self.place * RUNS // max(1, len(self.codes))
        return Functions.learn(read_rows(self.kept_rows, self.plan, self.names), run)

    @cached_property
    def watched(self) -> Index:
        """Places of the functions that are watched among all there are."""
        read = read_rows(self.kept_rows[:2], self.plan, self.names)
        first = np.zeros(1, dtype=np.intp)
        return chosen_functions([one for one, _, _ in self.functions.measured(read, first)])

    @cached_property
    def usual(self) -> Floats:
        """The reference's share for each function that is one."""
        return np.asarray(self.values.sum(axis=0) / np.maximum(self.n.sum(axis=0), 1))

    @property
    def missing(self) -> dict[str, float]:
        """The share of missing values in each column, over all windows."""
        places = {w.column: k for k, w in enumerate(self.table) if w.kind == "missing"}
        return {column: float(self.usual[k]) for column, k in places.items()}

    def standard(self, values: Floats, n: Floats) -> Floats:
        """Values of windows with sampling variance 1/n."""
        return standard_values(self.table, values, n, self.usual)

    def alarm(self, rate: float) -> Alarm:
        """When to raise an alarm, for a stated rate of false ones a year."""
        every = self.every or _ONE_WINDOW
        X = self.standard(self.values, self.n)
        return Alarm.learn(X, self.n, self.codes, every.season, rate, every.per_year)

    def measure(self, windows: Windows) -> Iterator[Measured]:
        """Windows in the order of time."""
        sources = [self._schema(columns) for columns in windows.columns]
        for parts in _bundles(windows.finish()):
            read = self._read([part for _, part in parts])
            starts = _starts([part.kept for _, part in parts])
            values, n = self._values(read, starts, RUNS)
            held = held_columns(read, starts)
            keys = np.split(row_keys([one.values for one in read.readings]), starts[1:])
            odd = bool(read.absurd or read.unread)
            for k, (code, part) in enumerate(parts):
                own = self._read([part]) if odd else read
                findings = [*(f for s in sorted(part.sources) for f in sources[s])]
                findings += _odd_values(own, part.kept) if odd else ()
                same = part.kept - len(np.unique(keys[k]))
                if same > _many_repeated(part.kept * self.repeated):
                    findings.append(
                        Finding("repeated rows", detail="within B", a=float(same), rows=part.kept)
                    )
                yield Measured(
                    code, part.count, part.kept, values[k], n[k], held[k],
                    tuple(dict.fromkeys(findings)), same, int(keys[k].sum(dtype=np.uint64)),
                )  # fmt: skip

    def _read(self, parts: Sequence[WindowRows]) -> Read:
        return read_rows(joined_rows([part.joined().rows for part in parts]), self.plan, self.names)

    def _values(self, read: Read, starts: Index, run: int) -> tuple[Floats, Floats]:
        found = list(self.functions.measured(read, starts, run))
        values, n = (np.column_stack([one[k] for one in found]) for k in (1, 2))
        return values[:, self.watched], n[:, self.watched]

    def _schema(self, columns: tuple[str, ...] | None) -> tuple[Finding, ...]:
        """Columns that a source lacks, or has besides."""
        if self.plan is None or columns is None:
            return ()
        known = {*self.plan.inputs, *(column.name for column in self.plan.columns)}
        own = self.kept_rows.column_names
        gone = [c for c in own if c not in columns]
        if len(gone) == len(own):
            raise InputError(
                f"The data has no column in common with the reference {self.name}; its columns are "
                "matched by their names."
            )
        return (
            *(Finding("lacking", c, detail=f"{c} is gone") for c in gone),
            *(Finding("only in", c, detail=f"{c} is new") for c in columns if c not in known),
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file, whole or not at all; ``.cospan`` is the usual ending."""
        from .files import save_profile

        return save_profile(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Profile:
        """Read it from a file; nothing in it is executed."""
        from .files import load_profile

        return load_profile(path)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        windows = ""
        if self.every is not None:
            kind = f"one {self.every}" if self.every.timed else f"{self.every.rows:,} rows"
            windows = f"{len(self.codes)} windows of {kind}, "
        return (
            f"<Profile of {self.name!r}: {self.count:,} rows, {len(self.names)} columns, "
            f"{windows}{len(self.kept_rows):,} rows kept>"
        )


def learn_profile(
    data: Any,
    notes: list[Note],
    time: Any,
    every: Any,
    rows: int,
    name: str | None,
    options: dict[str, Any],
) -> Profile:
    """:meth:`Profile.of`, with what a reader should know added to `notes` instead of warnings."""
    keep = as_count(rows, "rows", least=2)
    window = None if every is None else as_every(every)
    if window is None and time is not None:
        raise InputError(
            'time= needs every= to say how long a window is, for instance every="day".'
        )
    sources = opened(data, time, **options)
    name = name or (sources[0].name if len(sources) == 1 else f"{len(sources)} sets")
    windows = read_windows(sources, time, window or _ONE_WINDOW, name)
    notes += windows.notes
    parts = windows.finish()
    pooled = joined_rows([part.joined().rows for _, part in parts])
    place = np.repeat(np.arange(len(parts)), [part.kept for _, part in parts])
    kept = np.sort(np.random.default_rng(0).permutation(len(place))[:keep])
    read_as = {key: options[key] for key in READ_AS if options.get(key)}
    plan, names = _plan(pooled, sources[0], name, read_as, notes)
    bare = Profile(
        name, pooled[kept] if plan is None else pooled.take(kept),
        sum(part.count for _, part in parts), plan, names, window,
        time if isinstance(time, str) else "",
        np.array([code for code, _ in parts]), np.array([part.count for _, part in parts]),
        place[kept], (), np.zeros((0, 0)), np.zeros((0, 0)), 0.0, read_as,
    )  # fmt: skip
    return _with_windows(bare, pooled, place)


def _with_windows(bare: Profile, pooled: Any, place: Index) -> Profile:
    """The same with the values of its own windows, each run by what the other runs leave open."""
    W = len(bare.codes)
    read = read_rows(pooled, bare.plan, bare.names)
    read = read._replace(readings=tuple(_lonely_are_new(one, place) for one in read.readings))
    keys = row_keys([one.values for one in read.readings])
    run = np.arange(W) * RUNS // W
    values, n, repeated = [], [], 0.0
    for f in np.unique(run):
        at = np.flatnonzero(np.isin(place, np.flatnonzero(run == f)))
        own = read._replace(readings=tuple(r._replace(values=r.values[at]) for r in read.readings))
        starts = np.flatnonzero(np.diff(place[at], prepend=-1))
        found = bare._values(own, starts, int(f))
        values.append(found[0])
        n.append(found[1])
        for part in np.split(keys[at], starts[1:]):
            repeated = max(repeated, 1 - len(np.unique(part)) / len(part))
    first = np.zeros(1, dtype=np.intp)
    table = [one for one, _, _ in bare.functions.measured(read, first)]
    return replace(
        bare, values=np.concatenate(values), n=np.concatenate(n), repeated=repeated,
        table=tuple(table[k] for k in bare.watched),
    )  # fmt: skip


def _plan(
    pooled: Any, source: Source | Table, name: str, read_as: dict[str, Any], notes: list[Note]
) -> tuple[EncodingPlan | None, tuple[str, ...]]:
    """How the columns are read, and what they are called."""
    if isinstance(pooled, np.ndarray):
        own = source.feature_names if isinstance(source, Source) else None
        return None, own or tuple(f"x{j}" for j in range(pooled.shape[1]))
    encoded = encode([open_source(pooled, name=name, **read_as)])
    # What is left out of the geometry, identifiers and free text, is watched by how it is written.
    notes += [note for note in notes_of(encoded) if note.code != "columns left out"]
    plan = encoded[0].plan
    read = () if plan is None else (*plan.used, *(plan[column] for column, _ in plan.watched))
    names = tuple(dict.fromkeys(column.name for column in read))
    if plan is None or all(plan[column].kind in MOVING for column in names):
        raise InputError(f"{name}: no column is left to watch; name some with columns=.")
    return plan, names


def _lonely_are_new(reading: Reading, place: Index) -> Reading:
    """Levels that one window alone has are new to it, as they would be in a later one."""
    if reading.levels is None or place[-1] == 0:
        return reading
    values = reading.values
    for code in range(len(reading.levels)):
        at = place[values == code]
        if len(at) and at[0] == at[-1]:
            values = np.where(values == code, NEW, values)
    return reading._replace(values=values)


def held_columns(read: Read, starts: Index) -> list[dict[str, Held]]:
    """What each window holds in each column: means, shares of levels, and of missing values."""
    windows = Windowed(starts, len(read.readings[0].values))
    found: list[dict[str, Held]] = [{} for _ in starts]
    for one in read.readings:
        name, levels = read.names[one.column], one.levels or ()
        if name in found[0]:  # a text or a vector has several readings
            continue
        mean, n = windows.mean(one.values, ~np.isnan(one.values))
        missing = 1 - n / windows.rows
        mean = np.where((n > 0) & (len(levels) in (0, 2)), mean, np.nan)
        shares = [windows.sums(one.values == c) / np.maximum(n, 1) for c in range(len(levels))]
        for k, own in enumerate(found):
            there = {level: float(x[k]) for level, x in zip(levels, shares, strict=True) if x[k]}
            own[name] = Held(float(missing[k]), float(mean[k]), levels=there)
    return found


def _bundles(
    parts: Sequence[tuple[int, WindowRows]],
) -> Iterator[Sequence[tuple[int, WindowRows]]]:
    """Windows that are read at once."""
    ends = np.cumsum([part.kept for _, part in parts]) // READ_ROWS
    for group in np.unique(ends):
        at = np.flatnonzero(ends == group)
        yield parts[at[0] : at[-1] + 1]


def _starts(sizes: Sequence[int]) -> Index:
    return np.cumsum([0, *sizes[:-1]])


def _many_repeated(usual: float) -> float:
    """Repeated rows of a window that are more than the reference's windows have."""
    return float(5 + usual + 4 * np.sqrt(usual))


def _odd_values(read: Read, rows: int) -> Iterator[Finding]:
    for column, count in read.absurd.items():
        yield Finding("absurd", column, a=0.0, b=float(count), rows=rows)
    for column, count in read.unread.items():
        if count > UNREAD * rows:
            yield Finding("retyped", column, detail=f"{column} cannot be read any more", rows=rows)
