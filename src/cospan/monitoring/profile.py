"""A reference in little room: some of its rows as they came, and what its windows are like.

The functions that are watched follow from the rows that are kept, so a profile holds these rows,
the plan that reads them, and of each window of the reference the values of the functions, measured
with what the other windows leave open.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base.checks import as_count
from cospan.base.notes import Note, warn
from cospan.base.tables import plain
from cospan.base.types import Data, Floats, Index, Option, Record, Values
from cospan.data import EncodingPlan, Source, Table, encode, notes_of, open_source
from cospan.errors import InputError, ModelFileError
from cospan.evidence import Finding, Reading
from cospan.model_file import (
    PROFILE,
    PROFILE_VERSION,
    Parts,
    Reader,
    read_parts,
    row_tensors,
    rows_in,
    write_parts,
)

from .functions import MOVING, NEW, RUNS, Functions, read_rows, standard_values
from .windows import Codes, Every, Kept, Rows, as_every, opened, read_windows

#: Rows that are kept of a reference, and rows that are read by the plan at a time.
KEPT_ROWS, READ_ROWS = 5_000, 50_000
#: A column is of another type where more than this share of its values cannot be read.
UNREAD = 0.5
#: Repeated rows are a finding above what is usual: by this many deviations, and by this many rows.
DEVIATIONS, MORE_ROWS = 4, 5
#: Options of the sources that say how columns are read, and are needed again for every window.
READ_AS = ("categorical", "numeric", "keep")
#: What a file holds of a profile as it is.
KEPT = {"name": str, "names": list, "time": str, "options": dict, "repeated": float}
_ONE_WINDOW = Every("rows", 2**62)


class Measured(NamedTuple):
    """Windows as they were measured, in the order of time."""

    codes: Codes
    counts: Codes  # rows
    digests: Codes  # the same for the same rows in any order
    values: Floats  # (windows, functions); of shares the counts
    n: Floats  # the rows behind these

    def take(self, at: Index | NDArray[np.bool_]) -> Measured:
        """Some of the windows."""
        arrays: list[Any] = [one[at] for one in self]
        return Measured(*arrays)

    def before(self, later: Measured) -> Measured:
        """These windows and then others."""
        arrays: list[Any] = [np.concatenate(both) for both in zip(self, later, strict=True)]
        return Measured(*arrays)

    def tensors(self) -> dict[str, Values]:
        """As a file holds them."""
        return {name: np.ascontiguousarray(one) for name, one in self._asdict().items()}

    @classmethod
    def read(cls, read: Reader) -> Measured:
        """The same from a file."""
        codes, counts, digests = (read.whole(name) for name in cls._fields[:3])
        return cls(
            codes, counts, digests, *(read.tensor(x, len(codes), "m") for x in ("values", "n"))
        )

    def joined(self, later: Measured) -> Measured:
        """With further windows, which take the place of those that are known."""
        both = self.take(~np.isin(self.codes, later.codes)).before(later)
        return both.take(np.argsort(both.codes))


@dataclass(frozen=True, eq=False)
class Profile:
    """What a reference looks like, in little room.

    Make one with :meth:`of`, keep it with :meth:`save`, and give it to :func:`cospan.monitor` or
    to :func:`cospan.compare` wherever they take a file: what they compare with are its
    `kept_rows`.

    Attributes
    ----------
    kept_rows : pyarrow.Table or ndarray
        A sample of its rows, as they came.
    names : tuple of str
        The columns that are watched.
    every : Every or None
        How long a window is.
    windows : Measured
        The windows of the reference.

    Examples
    --------
    >>> from cospan import Profile
    >>> rng = np.random.default_rng(0)
    >>> Profile.of(rng.normal(size=(3000, 4)), every="100-rows")
    <Profile of 'array': 3,000 rows, 4 columns, 30 windows of 100 rows, 3,000 rows kept>
    """

    name: str
    kept_rows: Rows
    place: Codes  # the window of each row that is kept
    plan: EncodingPlan | None  # how the columns are read; None for arrays
    names: tuple[str, ...]
    every: Every | None
    time: str  # the column of times; empty where there is none
    options: Record  # how columns are read: categorical, numeric, keep, where given
    windows: Measured
    repeated: float = 0.0  # the largest share of repeated rows in a window
    notes: tuple[Note, ...] = ()  # what a reader should know

    @classmethod
    def of(
        cls,
        data: Data,
        *,
        time: str | None = None,
        every: str | int | None = None,
        rows: int = KEPT_ROWS,
        name: str | None = None,
        **options: Option,
    ) -> Profile:
        """The profile of a reference, in one pass.

        Parameters
        ----------
        data : anything that :func:`cospan.data.open_source` takes, or a list of files
        time : column name, optional
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
        keep, window = as_count(rows, "rows", least=2), None if every is None else as_every(every)
        if window is None and time is not None:
            raise InputError(
                'time= needs every= to say how long a window is, for instance every="day".'
            )
        notes: list[Note] = []
        sources = opened(data, time, **options)
        name = name or (sources[0].name if len(sources) == 1 else f"{len(sources)} sets")
        kept = read_windows(sources, time, window or _ONE_WINDOW, name, notes)
        place = np.repeat(np.arange(len(kept.codes)), np.diff(kept.edges))
        at = np.sort(np.random.default_rng(0).permutation(len(place))[:keep])
        read_as = {key: options[key] for key in READ_AS if options.get(key)}
        plan, names = _plan(kept.rows, sources[0], name, read_as, notes)
        warn(notes)
        nothing = np.zeros((len(kept.codes), 0))
        bare = cls(
            name, kept.rows[at] if plan is None else kept.rows.take(at), place[at], plan, names,
            window, time or "", read_as,
            Measured(kept.codes, kept.counts, np.zeros_like(kept.codes), nothing, nothing),
            notes=tuple(notes),
        )  # fmt: skip
        return _with_windows(bare, kept, place)

    @property
    def codes(self) -> Codes:
        """The windows of the reference."""
        return self.windows.codes

    @cached_property
    def functions(self) -> Functions:
        """What is watched, as the rows that are kept fix it."""
        run = self.place * RUNS // len(self.codes)
        return Functions(read_rows(self.kept_rows, self.plan, self.names), run)

    @cached_property
    def usual(self) -> Floats:
        """The reference's share for each function that is one."""
        _, _, _, values, n = self.windows
        return np.asarray(values.sum(axis=0) / np.maximum(n.sum(axis=0), 1))

    @property
    def missing(self) -> dict[str, float]:
        """The share of missing values in each column, over all windows."""
        both = zip(self.functions.table, self.usual.tolist(), strict=True)
        return {one.column: share for one, share in both if one.kind == "missing"}

    def standard(self, windows: Measured) -> tuple[Floats, Floats]:
        """Values of windows with sampling variance 1/n, and n; 0 for what is only shown."""
        shown = np.array([one.kind == "average" for one in self.functions.table])
        X = standard_values(self.functions.table, windows.values, windows.n, self.usual)
        return X, np.where(shown, 0.0, windows.n)

    def measure(self, kept: Kept) -> tuple[Measured, list[tuple[Finding, ...]]]:
        """Windows of other data, and what is met in each."""
        schema = [list(self._schema(columns)) for columns in kept.columns]
        parts, met = [], []
        bundle = kept.edges[1:] // READ_ROWS
        for group in np.unique(bundle):
            at = np.flatnonzero(bundle == group)
            first, last = int(kept.edges[at[0]]), int(kept.edges[at[-1] + 1])
            edges = kept.edges[at[0] : at[-1] + 2] - first
            read = read_rows(kept.rows[first:last], self.plan, self.names)
            keys = read.keys()
            repeated = repeated_rows(keys, edges)
            for k, rows in zip(at, np.diff(edges), strict=True):
                found = [one for source in sorted(kept.sources[k]) for one in schema[source]]
                if read.absurd or read.unread:
                    found += self._odd_values(kept.of(int(k)), int(rows))
                same, usual = float(repeated[k - at[0]]), rows * self.repeated
                if same > MORE_ROWS + usual + DEVIATIONS * np.sqrt(usual):
                    found += [Finding("repeated rows", detail="within B", a=same, rows=int(rows))]
                met.append(tuple(dict.fromkeys(found)))
            digests = np.add.reduceat(keys >> np.uint64(2), edges[:-1]) >> np.uint64(2)
            parts.append((digests.astype(np.int64), *self.functions.measure(read, edges[:-1])))
        arrays = (np.concatenate(one) for one in zip(*parts, strict=True))
        return Measured(kept.codes, kept.counts, *arrays), met

    def _schema(self, columns: tuple[str, ...]) -> Iterator[Finding]:
        """Columns that a source lacks, or has besides."""
        if self.plan is None:
            return
        own = self.kept_rows.column_names
        if not set(own) & set(columns):
            raise InputError(
                f"The data has no column in common with the reference {self.name}; its columns are "
                "matched by their names."
            )
        known = {*own, *self.plan.inputs, *(column.name for column in self.plan.columns)}
        yield from (Finding("lacking", c, detail=f"{c} is gone") for c in own if c not in columns)
        yield from (Finding("only in", c, detail=f"{c} is new") for c in columns if c not in known)

    def _odd_values(self, rows: Rows, count: int) -> Iterator[Finding]:
        """Values of a window that no measurement has, and columns of another type."""
        read = read_rows(rows, self.plan, self.names)
        for column, n in read.absurd.items():
            yield Finding("absurd", column, a=0.0, b=float(n), rows=count)
        for column, n in read.unread.items():
            if n > UNREAD * count:
                text = f"{column} cannot be read any more"
                yield Finding("retyped", column, detail=text, rows=count)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file, whole or not at all; ``.cospan`` is the usual ending."""
        return write_parts(path, (PROFILE, PROFILE_VERSION), self.parts())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Profile:
        """Read it from a file; nothing in it is executed."""
        return read_parts(path, (PROFILE, PROFILE_VERSION), cls.read)

    def parts(self) -> Parts:
        """What a file holds of it."""
        settings = {name: plain(getattr(self, name)) for name in KEPT}
        settings["plan"] = None if self.plan is None else self.plan.to_dict()
        settings["every"] = None if self.every is None else str(self.every)
        tensors = {**self.windows.tensors(), "place": self.place, **row_tensors(self.kept_rows)}
        return Parts(settings, tensors)

    @classmethod
    def read(cls, read: Reader) -> Profile:
        """The same from a file."""
        plan, every = read.value("plan", dict, type(None)), read.value("every", str, type(None))
        windows, rows = Measured.read(read), rows_in(read.tensors)
        place = read.whole("place", 0, len(windows.codes))
        if not len(rows) or len(place) != len(rows):
            raise ModelFileError("The file holds no rows of the reference; make it again.")
        found = cls(
            kept_rows=rows,
            place=place,
            plan=None if plan is None else EncodingPlan.from_dict(plan),
            every=None if every is None else as_every(every),
            windows=windows,
            **{name: read.value(name, kind) for name, kind in KEPT.items()},
        )
        found = replace(found, names=tuple(map(str, found.names)))
        if windows.n.shape[1] != len(found.functions.table):
            raise ModelFileError("The file was made by another version of cospan; make it again.")
        return found

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        windows = ""
        if self.every is not None:
            kind = f"one {self.every}" if self.every.timed else f"{self.every.rows:,} rows"
            windows = f"{len(self.codes)} windows of {kind}, "
        return (
            f"<Profile of {self.name!r}: {self.windows.counts.sum():,} rows, {len(self.names)} "
            f"columns, {windows}{len(self.kept_rows):,} rows kept>"
        )


def _plan(
    rows: Rows, first: Source | Table, name: str, read_as: Record, notes: list[Note]
) -> tuple[EncodingPlan | None, tuple[str, ...]]:
    """How the columns are read, and those that are watched."""
    if isinstance(first, Source):
        return None, first.feature_names or tuple(f"x{j}" for j in range(first.n_features))
    encoded = encode([open_source(rows, name=name, **read_as)])
    # What is left out of the geometry, identifiers and free text, is watched by how it is written.
    notes += [note for note in notes_of(encoded) if note.code != "columns left out"]
    plan = encoded[0].plan
    assert plan is not None
    read = (*plan.used, *(plan[column] for column, _ in plan.watched))
    names = tuple(dict.fromkeys(column.name for column in read))
    if all(plan[column].kind in MOVING for column in names):
        raise InputError(f"{name}: no column is left to watch; name some with columns=.")
    return plan, names


def _with_windows(bare: Profile, kept: Kept, place: Index) -> Profile:
    """The same with the values of its own windows, each run by what the other runs leave open."""
    W = len(kept.codes)
    read = read_rows(kept.rows, bare.plan, bare.names)
    repeated = repeated_rows(read.keys(), kept.edges) / np.diff(kept.edges)
    read = read._replace(readings=tuple(_lonely_are_new(one, place) for one in read.readings))
    found = []
    for run in np.unique(np.arange(W) * RUNS // W):
        at = np.flatnonzero(place * RUNS // W == run)
        starts = np.flatnonzero(np.diff(place[at], prepend=-1))
        found.append(bare.functions.measure(read.take(at), starts, int(run)))
    values, n = (np.concatenate(parts) for parts in zip(*found, strict=True))
    windows = bare.windows._replace(values=values, n=n)
    return replace(bare, windows=windows, repeated=float(repeated.max()))


def repeated_rows(keys: NDArray[np.uint64], edges: Index) -> Floats:
    """How many rows of each window equal an earlier one, by their keys."""
    parts = np.split(keys, edges[1:-1])
    return np.array([len(part) - len(np.unique(part)) for part in parts], dtype=np.float64)


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
