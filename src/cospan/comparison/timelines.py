"""Angles over time, or over an order that the rows have: when did rows begin to look like B?

Times come from the columns of dates, else from a number that rises with the rows (a year, a step,
a count). Where there is neither, the order of the rows counts, but it is mentioned only where the
angles change along it: most tables are in no order. Of large sets the rows kept with their values
stand for all of them.

A column of times separates sets of different times by itself, and would say nothing but the time
again. So it is left out, and where it was a feature of the comparison (some of the sets overlap in
time), the angles over time are those of the other columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan._numbers import number, share_text
from cospan._types import Floats
from cospan.changes.grouping import Column, columns_of, plan_from, present
from cospan.errors import InputError
from cospan.model import JointFrame
from cospan.monitoring.timing import Every

if TYPE_CHECKING:
    from cospan.comparison.pair import Comparison
    from cospan.comparison.scoring import ScoredGroup

Track = tuple[Floats, Floats]  # times or places of rows, and their angles in degrees


class _Clock(NamedTuple):
    """A column that tells the time: among the features, or beside the rows at this place."""

    name: str
    kind: str
    column: Column | None
    place: int = 0

    def read(self, group: ScoredGroup) -> tuple[Floats, NDArray[np.bool_]]:
        """The times of the rows kept of a set, and which of them are known."""
        if self.column is None:
            values = np.asarray(group.times, dtype=np.float64)[:, self.place]
            return values, ~np.isnan(values)
        rows = np.asarray(group.rows, dtype=np.float64)
        there = present(rows, self.column)
        values = rows[:, self.column.features[0]]
        return values, np.ones(len(rows), dtype=bool) if there is None else there


MOST_TIMELINES = 3
MOST_REFITTED = 500  # features: among more than these one for the time matters little
MOST_CHOSEN = 100  # features: with more of them the settings stay, since choosing takes long
MOST_WINDOWS, LONGEST = 30, 60  # with rows; with those in between that have none
ROWS_PER_WINDOW = 8  # on average, or windows are longer
FEWEST_ROWS = 5  # in a window, to have a median
FEWEST_WINDOWS, FEWEST_VALUES = 3, 12
ORDER_WINDOWS = EQUAL = 10
UNITS = ("hour", "day", "week", "month", "year")
REPORTED = 0.001  # by chance alone a change is reported in so many of the tables that have none


@dataclass(frozen=True)
class Moment:
    """The rows of one set in one window.

    Attributes
    ----------
    rows : int
    low, median, high : float
        Quartiles of their angles, in degrees.
    like_b : float
        The share that looks like B: an angle above 45°.
    """

    rows: int
    low: float
    median: float
    high: float
    like_b: float


@dataclass(frozen=True)
class Timeline:
    """Angles over the windows of a column, or of the order of the rows.

    Attributes
    ----------
    column : str
        The column; empty for the order of the rows.
    windows : tuple of str
        The windows in order: a month or a year, or from where to where.
    moments : mapping of "A", "B", "Z" to tuples
        For each set a :class:`Moment` for each window; None where it has too few rows.
    pvalues : mapping
        For each set, how often chance alone would move its angles as much from window to window
        (Kruskal and Wallis).
    sampled : bool
        Whether the rows kept stand for all of them.

    Examples
    --------
    >>> from cospan import compare
    >>> A, B = np.random.default_rng(0).normal(size=(2, 400, 3))
    >>> B[200:] += 1.0  # half way
    >>> [line.changing for line in compare(A, B, n_permutations=99).timelines]
    [('B',)]
    """

    column: str
    windows: tuple[str, ...]
    moments: Mapping[str, tuple[Moment | None, ...]]
    pvalues: Mapping[str, float]
    sampled: bool

    @property
    def changing(self) -> tuple[str, ...]:
        """The sets whose angles change from window to window."""
        level = REPORTED / max(1, len(self.pvalues))
        return tuple(key for key, p in self.pvalues.items() if p <= level)


def timelines_of(c: Comparison) -> tuple[Timeline, ...]:
    """The timelines of a comparison: of its dates, else of what rises, else of the order."""
    if any(group.rows is None for group in c.groups):
        return ()
    plan = plan_from(c.frame.geometry.encoding)
    columns = columns_of(plan, c.feature_names)
    clocks = [_Clock(column.name, "date", column) for column in columns if column.kind == "date"]
    if plan is not None and all(group.times is not None for group in c.groups):
        clocks += [_Clock(one.name, "date", None, k) for k, one in enumerate(plan.times)]
    if not clocks and c.image_shape is None:  # much rises with time: what comes first tells it
        rising = (column for column in columns if _rises(c, column))
        clocks = [_Clock(column.name, column.kind, column) for column in islice(rising, 1)]
    if not clocks:
        order = _of_order(c)
        return (order,) if order is not None and order.changing else ()
    angles = _angles_without(c, [clock.column for clock in clocks if clock.column is not None])
    found = [_of_clock(c, clock, angles) for clock in clocks[:MOST_TIMELINES]]
    return tuple(one for one in found if one is not None)


def _rises(c: Comparison, column: Column) -> bool:
    """Whether a number never falls from row to row, in any set, and takes many values."""
    if column.kind != "number":
        return False
    for group in c.groups:
        rows = np.asarray(group.rows)
        values = rows[:, column.features[0]]
        if present(rows, column) is not None or np.any(np.diff(values) < 0):
            return False
        if len(np.unique(values)) < FEWEST_VALUES:
            return False
    return True


def _angles_without(c: Comparison, timed: Sequence[Column]) -> list[Floats]:
    """Angles in degrees of the rows kept of each set, by all columns but those of times."""
    known = [np.asarray(g.alignment.degrees, dtype=np.float64)[g.row_index] for g in c.groups]
    places = {place for column in timed for place in (*column.features, column.indicator)}
    others = [k for k in range(len(c.feature_names)) if k not in places]
    g = c.frame.geometry
    rows = [np.asarray(group.rows, dtype=np.float64)[:, others] for group in c.groups]
    if not timed or not g.affine or len(c.feature_names) > MOST_REFITTED or not others:
        return known
    try:
        # The rest anew: what suits dates may not suit the others.
        chosen: Any = {"units": g.units, "curve": None if c.frame.curve is None else "auto"}
        if len(others) > MOST_CHOSEN:
            chosen |= {"shrinkage": g.shrinkage, "pooling": g.pooling, "dof": g.dof}
        frame = JointFrame.fit(rows[0], rows[1], **chosen)
        own = [frame.left_out(part, side) for part, side in zip(rows, "AB", strict=False)]
        further = [frame.align(part) for part in rows[2:]]
    except InputError:  # the other columns are constant
        return known
    return [np.asarray(one.degrees, dtype=np.float64) for one in (*own, *further)]


def _of_clock(c: Comparison, clock: _Clock, angles: Sequence[Floats]) -> Timeline | None:
    tracks = {}
    for key, group, theta in zip("ABZ", c.groups, angles, strict=False):
        values, there = clock.read(group)
        tracks[key] = (values[there], theta[there])
    values = np.concatenate([track[0] for track in tracks.values()])
    if not len(values) or values.min() == values.max():
        return None
    own = [tracks[key][0] for key in "AB"]
    cut = _calendar(values, own) if clock.kind == "date" else _equal(values, own)
    if cut is None:
        return None
    sampled = any(len(np.asarray(group.rows)) < group.total for group in c.groups)
    ends = np.cumsum([len(track[0]) for track in tracks.values()])[:-1]
    codes = dict(zip(tracks, np.split(cut[0], ends), strict=True))
    return _timeline(clock.name, cut[1], tracks, codes, sampled)


Cut = tuple[NDArray[np.int64], list[str]]


def _calendar(days: Floats, own: Sequence[Floats]) -> Cut | None:
    """Hours, days, weeks, months or years: the shortest that leaves enough rows of A and of B."""
    for unit in map(Every, UNITS):
        codes = unit.codes(days)
        rows = min(len(part) / max(1, len(np.unique(unit.codes(part)))) for part in own)
        few = len(np.unique(codes)) <= MOST_WINDOWS and codes.max() - codes.min() < LONGEST
        if few and rows >= ROWS_PER_WINDOW:
            break
    step = 1 + (int(codes.max()) - int(codes.min())) // MOST_WINDOWS  # many years to a window
    step = 1 if few else step
    first = int(codes.min())
    codes = (codes - first) // step
    if codes.max() + 1 < FEWEST_WINDOWS:
        return None
    return codes, [_span(unit, first + step * k, step) for k in range(int(codes.max()) + 1)]


def _span(unit: Every, code: int, step: int) -> str:
    """A window of the calendar: its name where it has one, else its first and its last part."""
    if unit.unit == "week":
        first = unit.label(code)
        return _from_to(first, str(np.datetime64(first, "D") + np.timedelta64(6, "D")))
    return _from_to(unit.label(code), unit.label(code + step - 1)) if step > 1 else unit.label(code)


def _from_to(first: str, last: str) -> str:
    return f"{first} to {last}"


def _equal(values: Floats, own: Sequence[Floats]) -> Cut | None:
    """Equal steps from the least to the largest value."""
    most = min(len(part) for part in own) // ROWS_PER_WINDOW
    edges = np.linspace(values.min(), values.max(), max(FEWEST_WINDOWS, min(most, EQUAL)) + 1)
    codes = np.clip(np.searchsorted(edges, values, "right") - 1, 0, len(edges) - 2)
    told = [number(float(edge), 4) for edge in edges]
    return codes.astype(np.int64), [_from_to(x, y) for x, y in pairwise(told)]


def _of_order(c: Comparison) -> Timeline | None:
    """Tenths of each set, in the order its rows came in."""
    if any(len(group.ids) < group.total for group in c.groups):
        return None  # not every row was kept, and kept rows do not tell their places
    if min(group.total for group in c.groups) < ORDER_WINDOWS * ROWS_PER_WINDOW:
        return None
    tracks, codes = {}, {}
    for key, group in zip("ABZ", c.groups, strict=False):
        place = np.arange(len(group.ids)) / len(group.ids)
        tracks[key] = (place, np.asarray(group.alignment.degrees, dtype=np.float64))
        codes[key] = np.floor(ORDER_WINDOWS * place).astype(np.int64)
    steps = range(0, 100, 100 // ORDER_WINDOWS)
    return _timeline("", [_from_to(str(k), f"{k + 10} %") for k in steps], tracks, codes, False)


def _timeline(
    column: str,
    labels: Sequence[str],
    tracks: Mapping[str, Track],
    codes: Mapping[str, NDArray[np.int64]],
    sampled: bool,
) -> Timeline:
    moments, pvalues = {}, {}
    for key, (_, theta) in tracks.items():
        parts = [theta[codes[key] == k] for k in range(len(labels))]
        moments[key] = tuple(_moment(part) for part in parts)
        pvalues[key] = _pvalue([part for part in parts if len(part) >= FEWEST_ROWS])
    return Timeline(column, tuple(labels), moments, pvalues, sampled)


def _moment(theta: Floats) -> Moment | None:
    if len(theta) < FEWEST_ROWS:
        return None
    low, median, high = (round(float(q), 2) for q in np.quantile(theta, [0.25, 0.5, 0.75]))
    return Moment(len(theta), low, median, high, round(float(np.mean(theta > 45)), 4))


def _pvalue(parts: Sequence[Floats]) -> float:
    """Kruskal and Wallis: whether any window has larger angles than others; 1 where all agree."""
    from scipy.stats import kruskal

    values = np.concatenate(parts) if parts else np.zeros(0)
    if len(parts) < 2 or np.all(values == values[0]):
        return 1.0
    found: Any = kruskal(*parts)
    return float(found.pvalue) if math.isfinite(found.pvalue) else 1.0


def sentences(line: Timeline, names: Mapping[str, str]) -> Iterator[str]:
    """What a timeline says, in words; `names` are those of the sets by their keys."""
    along = "over {column}" if line.column else "along the order of the rows"
    over = along.format(column=line.column)
    for key in line.changing:
        known = [(k, one) for k, one in enumerate(line.moments[key]) if one is not None]
        by_angle = sorted(known, key=lambda item: item[1].median)
        first, last = sorted((by_angle[0], by_angle[-1]), key=lambda item: item[0])
        part = [share_text(one.like_b) for _, one in (first, last)]
        same = part[0] == part[1]  # they lean to the same side all the time
        part = [f"{one.median:.0f}°" for _, one in (first, last)] if same else part
        text = (
            "Rows of {name} change {over}: their median angle is {x} at {first} and {y} at {last}."
            if same
            else "Rows of {name} change {over}: {x} of them look like {b} at {first}, {y} at "
            "{last}."
        )
        when = {"first": line.windows[first[0]], "last": line.windows[last[0]]}
        yield text.format(name=names[key], over=over, x=part[0], y=part[1], b=names["B"], **when)
    if all(sum(one is not None for one in row) < 2 for row in line.moments.values()):
        yield "Each set is in one window: there is no change within it to see."
    elif not line.changing:
        yield f"No set changes much {over}."
