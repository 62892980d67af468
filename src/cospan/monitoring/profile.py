"""A reference in little room: some of its rows as they came, and what its windows are like.

The functions that are watched follow from the rows that are kept, so a profile holds these rows,
the plan that reads them, and of each window of the reference the values of the functions, measured
with what the other windows leave open.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import NamedTuple

import numpy as np

from cospan.base.rows import Keys, row_keys
from cospan.base.tables import plain
from cospan.base.types import Bools, Data, Floats, Index, Option, Record
from cospan.data import EncodingPlan, Source, encode, notes_of, open_source
from cospan.errors import InputError, ModelFileError, warn
from cospan.evidence import Finding, Reading, rows_taken
from cospan.model_file import (
    PROFILE,
    PROFILE_VERSION,
    Parts,
    Reader,
    read_parts,
    row_tensors,
    rows_in,
    unfit,
    write_parts,
)

from .functions import NEW, RUNS, SHARES, Functions, read_rows
from .windows import Codes, Every, Kept, Rows, as_every, read_windows, taken

#: Rows that are kept of a reference, rows that are read by the plan at a time, and windows where
#: nobody says how long they are.
KEPT_ROWS, READ_ROWS, LENGTH = 5_000, 50_000, "1000-rows"
#: Repeated rows are a finding above what is usual by so many rows, and by so many deviations.
MORE_ROWS, DEVIATIONS = 5, 4
#: What a file holds as it is.
KEPT = {"name": str, "names": list, "time": str, "options": dict}
#: Options of the sources that say how columns are read, and are needed again for every window.
READ_AS = ("categorical", "numeric", "keep")


class Measured(NamedTuple):
    """Windows as they were measured, in the order of time."""

    codes: Codes
    counts: Codes  # rows
    digests: Codes  # the same for the same rows in any order
    values: Floats  # (windows, functions); of shares the counts
    n: Floats  # the rows behind these

    def take(self, at: Index | Bools) -> Measured:
        """Some of the windows."""
        return Measured._make(one[at] for one in self)

    def joined(self, later: Measured) -> Measured:
        """With further windows, which take the place of those that are known."""
        old = self.take(~np.isin(self.codes, later.codes))
        both = Measured._make(np.concatenate(pair) for pair in zip(old, later, strict=True))
        return both.take(np.argsort(both.codes))

    @classmethod
    def read(cls, read: Reader) -> Measured:
        """The same from a file."""
        codes, counts, digests = (read.whole(name) for name in cls._fields[:3])
        values, n = (read.tensor(name) for name in cls._fields[3:])
        if values.ndim != 2 or values.shape != n.shape or len(values) != len(codes):
            raise unfit("values")
        return cls(codes, counts, digests, values, n)


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
    every : Every
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
    every: Every
    time: str  # the column of times; empty where there is none
    options: Record  # how columns are read: categorical, numeric, keep, where given
    windows: Measured

    @classmethod
    def of(
        cls,
        data: Data,
        *,
        time: str | None = None,
        every: str | int | None = None,
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
            that will be compared with it. A number or ``"1000-rows"``, the default, counts rows.
        name : str, optional
        **options
            For the sources: columns, categorical, numeric, drop, keep.
        """
        if every is None and time is not None:
            raise InputError(
                'How long is a window? Say it with every=, such as "day" or "1000-rows".'
            )
        length = as_every(LENGTH if every is None else every)
        kept = read_windows(data, time, length, name, **options)
        read_as = {key: options[key] for key in READ_AS if options.get(key)}
        plan, names = _plan(kept, read_as)
        place = np.repeat(np.arange(len(kept.codes)), np.diff(kept.edges))
        at = np.sort(np.random.default_rng(0).permutation(len(place))[:KEPT_ROWS])
        bare = Measured(kept.codes, kept.counts, kept.codes, *np.zeros((2, len(kept.codes), 0)))
        rows, when = taken(kept.rows, at), time or ""
        found = cls(kept.name, rows, place[at], plan, names, length, when, read_as, bare)
        return replace(found, windows=found._measure_own(kept, place))

    @property
    def codes(self) -> Codes:
        """The windows of the reference."""
        return self.windows.codes

    @cached_property
    def functions(self) -> Functions:
        """What is watched, as the rows that are kept fix it."""
        run, days = self.place * RUNS // len(self.codes), self.every.days(self.codes)[self.place]
        return Functions(self._read(self.kept_rows)[0], self.names, run, days)

    def _read(self, rows: Rows) -> tuple[list[Reading], Mapping[str, int]]:
        return read_rows(rows, self.plan, self.names, self.every.timed)

    @cached_property
    def usual(self) -> Floats:
        """The reference's share for each function that is one."""
        total = self.windows.values.sum(axis=0)
        return np.asarray(total / np.maximum(self.windows.n.sum(axis=0), 1))

    @property
    def missing(self) -> dict[str, float]:
        """The share of missing values in each column, over all windows."""
        both = zip(self.functions.table, self.usual.tolist(), strict=True)
        return {one.column: share for one, share in both if one.kind == "missing"}

    def standard(self, windows: Measured) -> tuple[Floats, Floats]:
        """Values of windows with sampling variance 1/n, and n; 0 for what is only shown."""
        n, kinds = windows.n, np.array([one.kind for one in self.functions.table])

        def arcsine(count: Floats) -> Floats:
            share = (np.clip(count, 0, n) + 0.375) / (n + 0.75)
            return np.asarray(2 * np.arcsin(np.sqrt(share)))

        usual = np.where(kinds == "stuck", 0.0, self.usual)
        moved = arcsine(windows.values) - arcsine(usual * n)
        X = np.where(np.isin(kinds, SHARES), moved, windows.values)
        never = np.isin(kinds, ("missing", "new")) & (self.usual == 0)
        X = np.where(never, 2 * windows.values / np.sqrt(np.maximum(n, 1)), X)
        return X, np.where(kinds == "average", 0.0, n)

    def _measure_own(self, kept: Kept, place: Index) -> Measured:
        """The reference's windows, each run by what the other runs leave open."""
        read, run = self._read(kept.rows)[0], place * RUNS // len(kept.codes)
        digests, days = _digests(_keys(read), kept.edges[:-1]), self.every.days(kept.codes)
        read = [_lonely_are_new(one, place) for one in read]
        found = []
        for one in np.unique(run):
            rows = np.flatnonzero(run == one)
            at, starts = np.unique(place[rows], return_index=True)
            found.append(self.functions.measure(rows_taken(read, rows), starts, days[at], int(one)))
        values, n = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return Measured(kept.codes, kept.counts, digests, values, n)

    # ---- windows of other data -----------------------------------------------------------------

    def measure(self, kept: Kept) -> tuple[Measured, list[tuple[Finding, ...]]]:
        """Windows of other data, and what is met in each."""
        kind = f"an array of {len(self.names)} features" if self.plan is None else "a table"
        if kept.kind != kind:
            raise InputError(f"{kept.name} is {kept.kind}, and the reference is {kind}.")
        schema = {x: list(self._schema(x)) for x in set[tuple[str, ...]]().union(*kept.columns)}
        parts, met = [], []
        bundle = kept.edges[1:] // READ_ROWS
        for group in np.unique(bundle):
            at = np.flatnonzero(bundle == group)
            edges = kept.edges[at[0] : at[-1] + 2]
            read, absurd = self._read(kept.rows[int(edges[0]) : int(edges[-1])])
            starts, keys = edges[:-1] - edges[0], _keys(read)
            for k, own in zip(at.tolist(), np.split(keys, starts[1:]), strict=True):
                n = len(own)
                found = [one for columns in sorted(kept.columns[k]) for one in schema[columns]]
                odd = self._read(kept.of(k))[1] if absurd else {}
                found += [Finding("absurd", c, a=0.0, b=float(x), rows=n) for c, x in odd.items()]
                again, usual = float(n - len(np.unique(own))), self.repeated * n * (n - 1) / 2
                if again > MORE_ROWS + usual + DEVIATIONS * math.sqrt(usual):
                    found += [Finding("repeated rows", detail="within B", a=again, rows=n)]
                met.append(tuple(dict.fromkeys(found)))
            days = self.every.days(kept.codes[at])
            parts.append((_digests(keys, starts), *self.functions.measure(read, starts, days)))
        arrays = (np.concatenate(one) for one in zip(*parts, strict=True))
        return Measured(kept.codes, kept.counts, *arrays), met

    @cached_property
    def repeated(self) -> float:
        """The share of equal pairs among all pairs of the rows that are kept."""
        count = np.unique(_keys(self._read(self.kept_rows)[0]), return_counts=True)[1]
        n = int(count.sum())
        return float(count @ (count - 1)) / max(n * (n - 1), 1)

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

    # ---- on the way out ------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file, whole or not at all; ``.cospan`` is the usual ending."""
        return write_parts(path, (PROFILE, PROFILE_VERSION), self.parts())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Profile:
        """Read it from a file; nothing in it is executed."""
        return read_parts(path, (PROFILE, PROFILE_VERSION), cls.read)

    def parts(self) -> Parts:
        """What a file holds of it."""
        settings: Record = {name: plain(getattr(self, name)) for name in KEPT}
        settings["plan"] = None if self.plan is None else self.plan.to_dict()
        settings["every"] = str(self.every)
        tensors = {**self.windows._asdict(), "place": self.place, **row_tensors(self.kept_rows)}
        return Parts(settings, tensors)

    @classmethod
    def read(cls, read: Reader) -> Profile:
        """The same from a file."""
        windows, rows = Measured.read(read), rows_in(read.tensors)
        place, plan = read.whole("place", 0, len(windows.codes)), read.value("plan", dict, NoneType)
        if not len(rows) or len(place) != len(rows):
            raise ModelFileError("The file holds no rows of the reference; make it again.")
        known = {name: read.value(name, kind) for name, kind in KEPT.items()}
        found = cls(
            kept_rows=rows, place=place, windows=windows,
            plan=None if plan is None else EncodingPlan.from_dict(plan),
            every=as_every(read.value("every", str)),
            **known | {"names": tuple(map(str, known["names"]))},
        )  # fmt: skip
        if windows.n.shape[1] != len(found.functions.table):
            raise ModelFileError("The file was made by another version of cospan; make it again.")
        return found

    def __repr__(self) -> str:
        length = f"one {self.every}" if self.every.timed else f"{self.every.rows:,} rows"
        return (
            f"<Profile of {self.name!r}: {self.windows.counts.sum():,} rows, {len(self.names)} "
            f"columns, {len(self.codes)} windows of {length}, {len(self.kept_rows):,} rows kept>"
        )


def _plan(kept: Kept, read_as: Record) -> tuple[EncodingPlan | None, tuple[str, ...]]:
    """How the columns are read, and those that are watched."""
    first = kept.source
    if isinstance(first, Source):
        return None, first.feature_names or tuple(f"x{j}" for j in range(first.n_features))
    encoded = encode([open_source(kept.rows, name=kept.name, **read_as)])
    # What is left out of the geometry, identifiers and free text, is watched by how it is written.
    warn(note for note in notes_of(encoded) if note.code != "columns left out")
    plan = encoded[0].plan
    assert plan is not None
    read = (*plan.used, *(plan[column] for column, _ in plan.watched))
    names = tuple(dict.fromkeys(column.name for column in read))
    if all(plan[column].kind == "date" for column in names):
        raise InputError(f"{kept.name}: no column is left to watch; name some with columns=.")
    return plan, names


def _keys(read: Sequence[Reading]) -> Keys:
    """Equal for equal rows, whatever their dates: those of a window may come again a day later."""
    return row_keys([one.values for one in read if one.part != "date"])


def _digests(keys: Keys, starts: Index) -> Codes:
    """A number for each window, the same for the same rows in any order."""
    return np.asarray((np.add.reduceat(keys, starts) >> np.uint64(2)).astype(np.int64))


def _lonely_are_new(reading: Reading, place: Index) -> Reading:
    """Levels that one window alone has are new to it, as they would be in a later one."""
    if reading.levels is None or place[-1] == 0:
        return reading
    both = np.unique(np.column_stack([reading.values, place]), axis=0)
    level, windows = np.unique(both[:, 0], return_counts=True)
    lonely = np.isin(reading.values, level[windows == 1])
    return reading._replace(values=np.where(lonely, NEW, reading.values))
