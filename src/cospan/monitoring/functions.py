"""What is watched in a window: values of functions that the reference alone fixes.

Each function gives a window one value, with sampling variance 1/n for n rows behind it: means of
Legendre polynomials of ranks (mean, and about it spread and shape), of what the other columns leave
open (given, scatter), shares on the arcsine scale (levels, gaps, the most frequent value), and
correlations on Fisher's scale. What never occurred in the reference, a first gap or a new level,
counts two standard deviations a row: one row is no alarm, five within days are. Averages of
numbers, in the user's units, are there to be shown and raise no alarm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from cospan.base.keys import row_keys
from cospan.base.types import Data, Floats, Index, Record, Values
from cospan.data import Encoder, EncodingPlan
from cospan.evidence import Held, Reading, legendre, normal_scores

#: Functions that are watched at most, relations among them, and levels of a category.
MOST_FUNCTIONS, MOST_RELATIONS, LEVELS = 500, 60, 8
#: Correlations in the reference that are watched.
RELATED = 0.2
#: A level takes part in relations where this share of the rows has it, and has it not.
SHARE = 0.03
#: Scores that take part in relations, at most: the time grows with the cube of their number.
MOST_SCORES = 200
#: Added to correlations, so that near copies of a column leave something open.
RIDGE = 0.02
#: Runs of windows; what is left of the rows of one is by the rows of the others.
RUNS = 5
#: A correlation needs more rows than these, both columns must vary, and 1 is not on Fisher's scale.
FEW_ROWS, VARIES, NEARLY_ONE = 6, 1e-3, 0.98
#: Windows whose means vary by more deviations than this do not vary by chance.
MOST_SHIFT = 2.0
#: Which functions stay where there are too many.
FIRST = (
    "mean", "missing", "new", "stuck", "spread", "level", "given", "scatter", "shape", "relation",
)  # fmt: skip
SHARES = ("missing", "level", "new", "stuck")
#: The code of a level that the reference does not have.
NEW = -1
#: Parts of a date that move with time whatever the data does.
MOVING = ("date", "day")


class Watched(NamedTuple):
    """One function: its kind, its column, and a level, a part of the column or a second one."""

    kind: str
    column: str
    detail: str = ""


#: A function, its value in each window (of shares the counts), and the rows behind it.
Measure = tuple[Watched, Floats, Floats]


class Read(NamedTuple):
    """Rows as the plan reads them; values that no measurement has, and those of another type."""

    names: tuple[str, ...]
    readings: tuple[Reading, ...]
    absurd: Mapping[str, int]
    unread: Mapping[str, int]

    def take(self, at: Index) -> Read:
        """Some of the rows."""
        parts = (one._replace(values=one.values[at]) for one in self.readings)
        return self._replace(readings=tuple(parts))

    def keys(self) -> NDArray[np.uint64]:
        """A number for each row, equal for equal rows."""
        return row_keys([one.values for one in self.readings])


def read_rows(rows: Data, plan: EncodingPlan | None, names: Sequence[str]) -> Read:
    """Rows as they came, as numbers and codes of levels; NaN where a value is missing."""
    if plan is None:
        return Read(tuple(names), tuple(Reading(j, "", x) for j, x in enumerate(rows.T)), {}, {})
    encoder = Encoder(plan.without_filling("error"), np.dtype(np.float64), "")
    batch = rows.combine_chunks().to_batches()[0]
    encoded, watched, place = encoder.rows(batch), encoder.watched(batch), 0
    readings: list[Reading] = []
    for column in plan.used:
        values = encoded[:, place : place + len(column.features)]
        place += len(column.features)
        own = names.index(column.name)
        if column.kind == "category":
            codes = np.where(values.max(axis=1) > 0, values.argmax(axis=1), NEW)
            codes = np.where(np.isnan(values[:, 0]), np.nan, codes)
            levels = (*column.levels, "other") if column.other else column.levels
            readings.append(Reading(own, "", codes, levels))
        elif column.kind == "boolean":
            readings.append(Reading(own, "", values[:, 0], column.truth))
        elif column.kind not in MOVING:
            many = values.shape[1] > 1
            parts = [str(k) if many else "" for k in range(values.shape[1])]
            readings += map(Reading, [own] * len(parts), parts, np.ascontiguousarray(values.T))
    if watched is not None:
        for (name, part), values in zip(plan.watched, watched.T, strict=True):
            readings.append(Reading(names.index(name), part, values, related=False))
    numbers = {column.name for column in plan.used if column.kind != "category"}
    unread = {column: n for column, n in encoder.unseen.items() if column in numbers}
    return Read(tuple(names), tuple(readings), dict(encoder.absurd), unread)


class Windowed:
    """Rows one window after the other: sums and means over each."""

    def __init__(self, starts: Index, n: int) -> None:
        self.starts = starts
        self.rows = np.diff(np.append(starts, n)).astype(np.float64)
        self.of = np.repeat(np.arange(len(starts)), self.rows.astype(np.intp))

    def sums(self, values: Values) -> Floats:
        return np.asarray(np.add.reduceat(values.astype(np.float64), self.starts, axis=0))

    def mean(self, values: Floats, known: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """The mean of the known values of each window, and how many there are."""
        n = self.sums(known)
        return self.sums(np.where(known, values, 0.0)) / np.maximum(n, 1), n

    def most_frequent(self, values: Floats) -> Floats:
        """How often the most frequent value of each window occurs."""
        within = np.arange(len(values)) - self.starts[self.of]
        table = np.full((len(self.starts), within.max() + 1), np.nan)
        table[self.of, within] = values
        table.sort(axis=1)
        place = np.arange(table.shape[1])
        begins = np.diff(table, axis=1, prepend=np.nan) != 0  # NaN is no run
        lengths = place - np.maximum.accumulate(np.where(begins, place, 0), axis=1) + 1
        return np.asarray((lengths * ~np.isnan(table)).max(axis=1), dtype=np.float64)


class Functions:
    """Functions of a window, as rows of the reference fix them."""

    def __init__(self, read: Read, run: Index) -> None:
        """Learn from rows of the reference; `run` is the run of windows of each one."""
        self.orders: list[Floats] = []  # of each reading the sorted values of a number
        self.levels: list[list[int]] = []  # of each reading the codes of levels that are watched
        self.scored: list[tuple[int, int]] = []  # the place of a reading, and a level's code or -1
        for place, one in enumerate(read.readings):
            known = one.values[~np.isnan(one.values)]
            self.orders.append(np.sort(known) if one.levels is None else np.zeros(0))
            codes, counts = np.unique(known[known != NEW], return_counts=True)
            first = np.argsort(-counts, kind="stable")[: LEVELS if one.levels else 0]
            self.levels.append(codes[first].astype(int).tolist())
            share = counts[first] / len(one.values)
            common = codes[first[(share > SHARE) & (share < 1 - SHARE)]].astype(int).tolist()
            scored = [-1] if one.levels is None else common[:1] if len(common) == 2 else common
            self.scored += [(place, level) for level in scored if one.related]
        del self.scored[MOST_SCORES:]
        self.center, self.unit = np.zeros(len(self.scored)), np.ones(len(self.scored))
        G = self.scores(read, self.ranks(read))
        self.center, self.unit = G.mean(axis=0), np.maximum(G.std(axis=0), 1e-9)
        G = (G - self.center) / self.unit
        column = np.array([read.readings[k].column for k, _ in self.scored], dtype=np.intp)
        self.pairs = _pairs(G, column)
        self.left = np.flatnonzero([level < 0 for _, level in self.scored])  # scores of numbers
        if len(set(column.tolist())) < 2:
            self.left = self.left[:0]
        # What the others leave of these, without each run, and by all rows; and sorted, what is
        # left of the reference's own rows out of their run.
        others = [G[run != f] if (run != f).any() else G for f in range(RUNS)]
        self.solve = [_solve(part, column, self.left) for part in (*others, G)]
        rest = np.stack([G @ solve for solve in self.solve[:RUNS]])[run, np.arange(len(G))]
        for k, j in enumerate(self.left):  # of a missing value nothing is left
            rest[np.isnan(read.readings[self.scored[j][0]].values), k] = np.nan
        self.sides, self.sizes = np.sort(rest.T, axis=1), np.sort(np.abs(rest).T, axis=1)

    def ranks(self, read: Read) -> dict[int, Floats]:
        """Ranks of numbers among the reference's, from -1 to 1; NaN where there is no value."""
        found = {}
        for place, (one, order) in enumerate(zip(read.readings, self.orders, strict=True)):
            if one.levels is None:
                found[place] = np.where(np.isnan(one.values), np.nan, _ranked(one.values, order))
        return found

    def scores(self, read: Read, ranks: Mapping[int, Floats]) -> Floats:
        """Normal scores of numbers and indicators of levels, standardised by the reference."""
        found = np.empty((len(read.readings[0].values), len(self.scored)))
        for k, (place, level) in enumerate(self.scored):
            if level >= 0:
                found[:, k] = read.readings[place].values == level
            else:
                found[:, k] = np.nan_to_num(normal_scores(ranks[place]))
        return (found - self.center) / self.unit

    def measured(self, read: Read, starts: Index, run: int = RUNS) -> Iterator[Measure]:
        """Every function of the windows that begin at `starts`.

        Of windows of the reference, `run` is the run to leave out.
        """
        windows = Windowed(starts, len(read.readings[0].values))
        ranks = self.ranks(read)
        told: set[int] = set()
        for place, one in enumerate(read.readings):
            name, known = read.names[one.column], ~np.isnan(one.values)
            if one.column not in told:
                told.add(one.column)
                yield Watched("missing", name), windows.sums(~known), windows.rows
            if one.levels is not None:
                yield from self._levels(place, one, name, windows)
                continue
            average, n = windows.mean(one.values, known)
            yield Watched("average", name, one.part), average, n
            mean, *others = (windows.mean(values, known)[0] for values in legendre(ranks[place]))
            yield Watched("mean", name, one.part), mean, n
            both = zip(("spread", "shape", "shape"), without_shift(mean, others), strict=True)
            for kind, values in both:
                yield Watched(kind, name, one.part), values, n
            yield Watched("stuck", name, one.part), windows.most_frequent(one.values), n
            far = _far(one.values, self.orders[place])
            yield Watched("new", name, one.part), windows.sums(far), n
        if len(self.scored) < 2:
            return
        G = self.scores(read, ranks)
        rest = (G @ self.solve[run]).T
        for j, sides, sizes, x in zip(self.left, self.sides, self.sizes, rest, strict=True):
            one = read.readings[self.scored[j][0]]
            name, known = read.names[one.column], ~np.isnan(one.values)
            given, n = windows.mean(3**0.5 * _ranked(x, sides), known)
            scatter, _ = windows.mean(3**0.5 * _ranked(np.abs(x), sizes), known)
            yield Watched("given", name, one.part), given, n
            yield Watched("scatter", name, one.part), scatter, n
        yield from self._relations(G, read, windows)

    def _levels(self, place: int, one: Reading, name: str, windows: Windowed) -> Iterator[Measure]:
        names, watched = one.levels or (), self.levels[place]
        n = windows.sums(~np.isnan(one.values))
        for code in watched[1:] if len(names) == 2 else watched:
            yield Watched("level", name, names[code]), windows.sums(one.values == code), n
        if len(names) > len(watched):
            rest = ~np.isin(one.values, (*watched, NEW)) & ~np.isnan(one.values)
            yield Watched("level", name, "any other"), windows.sums(rest), n
        yield Watched("new", name), windows.sums(one.values == NEW), n

    def _relations(self, G: Floats, read: Read, windows: Windowed) -> Iterator[Measure]:
        """Each window's own correlations, on Fisher's scale."""
        n = windows.rows
        mean = windows.sums(G) / n[:, None]
        sd = np.sqrt(np.maximum(windows.sums(G * G) / n[:, None] - mean**2, 0.0))
        names = [read.names[read.readings[place].column] for place, _ in self.scored]
        for i, j in self.pairs:
            both = windows.sums(G[:, i] * G[:, j]) / n - mean[:, i] * mean[:, j]
            varies = (sd[:, i] > VARIES) & (sd[:, j] > VARIES) & (n > FEW_ROWS)
            r = both / np.maximum(sd[:, i] * sd[:, j], VARIES**2)
            x = np.arctanh(np.clip(np.where(varies, r, 0.0), -NEARLY_ONE, NEARLY_ONE))
            yield Watched("relation", names[i], names[j]), x, np.where(varies, n - 3.0, 0.0)


def _far(values: Floats, order: Floats) -> NDArray[np.bool_]:
    """Whether a value is further from those of the reference than they are from each other.

    Records come in clusters, but do not go that far: another unit does, and a number for a gap.
    """
    if not len(order):
        return np.zeros(len(values), dtype=bool)
    low, high = order[[0, -1]]
    return np.asarray((values < 2 * low - high) | (values > 2 * high - low))


@cache
def _shifted(points: int = 201, nodes: int = 60) -> list[Floats]:
    """Means of the scores of the ranks of a normal column that is shifted."""
    x, weight = np.polynomial.hermite_e.hermegauss(nodes)
    rank = 2 * special.ndtr(x + np.linspace(-MOST_SHIFT, MOST_SHIFT, points)[:, None]) - 1
    return [score @ weight / weight.sum() for score in legendre(rank)]


def without_shift(mean: Floats, others: Sequence[Floats]) -> Iterator[Floats]:
    """Spread and shape about the window's own mean: without what a shift makes of them.

    Days whose means vary would else have spreads that vary with the square of it, with long tails.
    """
    shifted, *curves = _shifted()
    for values, curve in zip(others, curves, strict=True):
        yield values - np.interp(mean, shifted, curve, left=0.0, right=0.0)


def chosen_functions(table: Sequence[Watched]) -> Index:
    """Places of the functions that are watched: of too many those that say most."""
    watched = [k for k, one in enumerate(table) if one.kind != "average"]
    first = sorted(watched, key=lambda k: FIRST.index(table[k].kind))[:MOST_FUNCTIONS]
    columns = {table[k].column for k in first}
    shown = [k for k, one in enumerate(table) if one.kind == "average" and one.column in columns]
    return np.sort([*first, *shown])


def standard_values(table: Sequence[Watched], values: Floats, n: Floats, usual: Floats) -> Floats:
    """Values with sampling variance 1/n, (windows, functions); `usual` are the reference's shares.

    >>> never, often = Watched("missing", "x"), Watched("missing", "y")
    >>> counts, n = np.array([[1.0, 5.0]]), np.full((1, 2), 25.0)
    >>> standard_values([never, often], counts, n, np.array([0.0, 0.2])).round(2).tolist()
    [[0.4, 0.0]]
    """
    kinds = np.array([one.kind for one in table])
    never = np.isin(kinds, ("missing", "new")) & (usual == 0)
    moved = _arcsine(values, n) - _arcsine(np.where(kinds == "stuck", 0.0, usual) * n, n)
    first = 2 * values / np.sqrt(np.maximum(n, 1))
    return np.where(never, first, np.where(np.isin(kinds, SHARES), moved, values))


def _arcsine(count: Floats, n: Floats) -> Floats:
    """A share on a scale where its sampling variance is 1/n, whatever it is."""
    share = (np.clip(count, 0, n) + 0.375) / (n + 0.75)
    return np.asarray(2 * np.arcsin(np.sqrt(share)))


def held_columns(table: Sequence[Watched], values: Floats, n: Floats) -> dict[str, Held]:
    """What a window holds in each column: its mean, or shares of levels, and of missing values."""
    found: dict[str, Record] = {}
    for one, value, count in zip(table, values.tolist(), n.tolist(), strict=True):
        own = found.setdefault(one.column, {"levels": {}})
        share = value / max(count, 1)
        if one.kind == "average" and "mean" not in own and count:
            own["mean"] = value  # of a text or a vector the first of several
        elif one.kind == "missing":
            own["missing"] = share
        elif one.kind == "level":
            own["levels"][one.detail] = share
    return {column: Held(**own) for column, own in found.items()}


def _ranked(values: Floats, order: Floats) -> Floats:
    """Mid-ranks among sorted values, NaN at their end left out; 0 where there are none."""
    order = order[: len(order) - int(np.isnan(order).sum())]
    if not len(order):
        return np.zeros(len(values))
    different, first = np.unique(order, return_index=True)
    below = np.append(first, len(order))
    at = np.searchsorted(different, values)  # one search: equal values are looked up beside
    equal = different[np.minimum(at, len(different) - 1)] == values
    return np.asarray((below[at] + below[at + equal]) / len(order) - 1)


def _solve(G: Floats, column: Index, left: Index) -> Floats:
    """What is left of scores given those of the other columns is G times this."""
    P = np.linalg.inv(G.T @ G / max(1, len(G)) + RIDGE * np.eye(G.shape[1]))
    same = column[:, None] == column
    return np.asarray((P @ np.linalg.inv(np.where(same, P, 0.0)))[:, left])


def _pairs(G: Floats, column: Index) -> Index:
    """The scores of different columns that are correlated, the most correlated first."""
    r = np.abs(G.T @ G / max(1, len(G)))
    i, j = np.triu_indices(len(column), 1)
    strong = np.flatnonzero((column[i] != column[j]) & (r[i, j] >= RELATED))
    first = strong[np.argsort(-r[i, j][strong], kind="stable")[:MOST_RELATIONS]]
    return np.column_stack([i[first], j[first]])
