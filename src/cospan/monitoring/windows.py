"""Rows in one pass become windows: each a summary with a bounded sample of its rows.

Memory does not grow with the rows: a window is a mean, a matrix and at most `SAMPLE_ROWS` rows,
and where windows are many or rows are wide all samples are halved until they fit again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.notes import Note
from cospan.base.types import Floats
from cospan.data import EncodingPlan, Source, Table, read_ahead
from cospan.errors import InputError
from cospan.monitoring.moments import padded
from cospan.monitoring.reading import Timed, check_columns, timed_rows
from cospan.monitoring.timing import Every
from cospan.summary import Summary

#: What is to be done with windows that time has passed.
Passed = Callable[[list[tuple[int, Summary]]], None]
#: Rows of a window that its ranks, relations and angles are computed from, at most.
SAMPLE_ROWS = 1_000
#: All samples together take about this much.
SAMPLE_BYTES = 2**27
#: With more windows than this something is wrong with `every`.
MOST_WINDOWS = 100_000


@dataclass
class Windows:
    """Windows by their codes, as rows come."""

    every: Every
    seed: int = 0
    parts: dict[int, Summary] = field(default_factory=dict)
    sample_rows: int = SAMPLE_ROWS
    width: int = 0  # features of the rows; blocks without the indicators are narrower
    seen: int = 0
    timeless: int = 0
    notes: list[Note] = field(default_factory=list)

    def add(self, rows: Floats, codes: NDArray[np.int64]) -> None:
        """Rows, and the window of each."""
        # Indicators of missing values come last, and mostly there is none to indicate: products
        # with columns of zeros would be most of the work.
        width = max(self.width, rows.shape[1])
        for code, part in _groups(rows, codes):
            found = Summary.of(part, exact=False, sample_size=self.sample_rows, seed=self.seed)
            if found.n_features < width:
                found = padded(found, width)
            known = self.parts.get(code)
            self.parts[code] = found if known is None else known + found
        self._fit_into_memory(width)

    def _fit_into_memory(self, width: int) -> None:
        if len(self.parts) > MOST_WINDOWS:
            raise InputError(
                f"There are more than {MOST_WINDOWS:,} windows; choose longer ones with every=."
            )
        most = max(16, SAMPLE_BYTES // (8 * width * max(1, len(self.parts))))
        if most < self.sample_rows:
            self.sample_rows = max(16, self.sample_rows // 2)
            self.parts = {
                code: replace(part, sample=part.sample.smaller(self.sample_rows))
                for code, part in self.parts.items()
            }

    def merge(self, other: Windows) -> None:
        """Add the windows of further rows, of which some may be here already."""
        for code, part in other.parts.items():
            known = self.parts.get(code)
            self.parts[code] = part if known is None else known + part
        self.sample_rows = min(self.sample_rows, other.sample_rows)
        self.seen += other.seen
        self.timeless += other.timeless
        self.notes += other.notes
        if self.parts:
            self._fit_into_memory(next(iter(self.parts.values())).n_features)

    def before(self, code: int, known: set[int]) -> list[tuple[int, Summary]]:
        """The windows before this one, but for those known already."""
        return [(one, part) for one, part in self.parts.items() if one < code and one not in known]

    def ordered(self) -> list[tuple[int, Summary]]:
        """The windows in the order of time."""
        return sorted(self.parts.items())


def cut(
    blocks: Iterable[Timed],
    every: Every,
    *,
    seed: int = 0,
    name: str = "data",
    width: int = 0,
    passed: Passed | None = None,
) -> Windows:
    """Windows of all rows; those without a time are left out, with a note.

    `passed` is called with windows that time has passed, once at most: later rows may still belong
    to them. So they can be measured while further rows are read.
    """
    return finished(gathered(blocks, every, seed=seed, width=width, passed=passed), name)


def gathered(
    blocks: Iterable[Timed],
    every: Every,
    *,
    seed: int = 0,
    width: int = 0,
    passed: Passed | None = None,
) -> Windows:
    """Windows of the rows that have a time."""
    found = Windows(every, seed, width=width)
    known: set[int] = set()
    for block in read_ahead(iter(blocks)):
        rows = block.rows
        if every.timed:
            if block.days is None:
                raise InputError(
                    f"Windows of one {every.unit} need times: name the column with "
                    f"time=, or cut windows in rows, for instance "
                    f'every="1000-rows".'
                )
            there = np.isfinite(block.days)
            if not there.all():
                found.timeless += int(np.count_nonzero(~there))
                rows = rows[there]
            codes = every.codes(block.days[there])
        else:
            codes = every.counted(found.seen, len(rows))
        found.seen += len(block.rows)
        if len(rows):
            found.add(rows, codes)
            if passed is not None and (over := found.before(int(codes.min()), known)):
                known.update(code for code, _ in over)
                passed(over)
    return found


def finished(found: Windows, name: str) -> Windows:
    """The windows, if there are any; a note where rows have no time."""
    if not found.parts:
        raise InputError(f"{name} has no rows{' with a time' if found.timeless else ''}.")
    if found.timeless:
        text = f"{name}: {found.timeless:,} of {found.seen:,} rows have no time and are left out."
        found.notes.append(Note("no time", text, loud=True))
    return found


def _groups(rows: Floats, codes: NDArray[np.int64]) -> Iterator[tuple[int, Floats]]:
    """The rows of each window; where time only grows they are slices, not copies."""
    step = np.diff(codes)
    if (step < 0).any():
        order = np.argsort(codes, kind="stable")
        rows, codes = rows[order], codes[order]
        step = np.diff(codes)
    edges = [0, *(np.flatnonzero(step) + 1).tolist(), len(codes)]
    for start, stop in itertools.pairwise(edges):
        if stop > start:
            yield int(codes[start]), rows[start:stop]


#: Partitions merged by one task.
FAN_IN = 4
#: Every partition may have notes of its own.
MOST_NOTES = 5


def windows_of(
    sources: Sequence[Source | Table],
    plan: EncodingPlan | None,
    time: Any,
    every: Every,
    *,
    seed: int = 0,
    name: str = "data",
    passed: Passed | None = None,
) -> Windows:
    """All rows of the sources as windows, in one pass; `passed` is as in :func:`cut`."""
    notes: list[Note] = []
    apart: list[Any] = [getattr(source, "partitions", None) for source in sources]
    if plan is None or not every.timed or not isinstance(time, str) or None in apart:
        blocks = timed_rows(sources, plan, time, notes, bare=True)
        width = 0 if plan is None else plan.n_features
        found = cut(blocks, every, seed=seed, name=name, width=width, passed=passed)
        found.notes[:0] = notes
        return found
    for source in sources:
        check_columns(source, plan, notes)  # before the workers begin
    columns = list(dict.fromkeys([*plan.inputs, time]))
    parts = [part for partitions in apart for part in partitions(columns)]
    found = _by_workers(parts, plan, time, every, seed, name)
    found.notes = [*notes, *list(dict.fromkeys(found.notes))[:MOST_NOTES]]
    return finished(found, name)


def _by_workers(
    parts: Sequence[Any], plan: EncodingPlan, time: str, every: Every, seed: int, name: str
) -> Windows:
    import dask

    leaf, node = dask.delayed(_cut, pure=False), dask.delayed(_merged, pure=False)
    tasks = [leaf(part, plan, time, every, seed, name) for part in parts]
    while len(tasks) > 1:
        tasks = [node(tasks[i : i + FAN_IN]) for i in range(0, len(tasks), FAN_IN)]
    found: Windows = dask.compute(tasks[0])[0]
    return found


def _cut(part: Any, plan: EncodingPlan, time: str, every: Every, seed: int, name: str) -> Windows:
    """The windows of one partition, with their notes; called on a worker."""
    from cospan.data.lazy import local_table

    notes: list[Note] = []
    tables = [local_table(part, name)] if len(part) else []
    blocks = timed_rows(tables, plan, time, notes, bare=True)
    found = gathered(blocks, every, seed=seed, width=plan.n_features)
    found.notes = notes
    return found


def _merged(parts: list[Windows]) -> Windows:
    first = parts[0]
    for other in parts[1:]:
        first.merge(other)
    return first
