"""What is watched in a window: values of functions that the reference alone fixes.

Each function gives a window one value, with sampling variance 1/n for n rows behind it: means of
Legendre polynomials of ranks (mean, spread, shape), of what the other columns leave open (given,
scatter), shares on the arcsine scale (levels, gaps, the most frequent value), and correlations on
Fisher's scale. What never occurred in the reference, a first gap or a new level, counts two
standard deviations a row: one row is no alarm, five within days are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from cospan.base.types import Floats, Index
from cospan.data import Encoder, EncodingPlan
from cospan.evidence import Reading, legendre, midranks

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
#: Which functions stay where there are too many.
FIRST = ("mean", "missing", "new", "stuck", "spread", "level", "given", "scatter", "shape")
#: The code of a level that the reference does not have.
NEW = -1
#: Parts of a date that move with time whatever the data does.
MOVING = ("date", "day")


class Watched(NamedTuple):
    """One function: its kind, its column, and a level, a part of the column or a second one."""

    kind: str
    column: str
    detail: str = ""

    @property
    def share(self) -> bool:
        return self.kind in ("missing", "level", "new", "stuck")


class Read(NamedTuple):
    """Rows as the plan reads them; values that no measurement has, and those of another type."""

    names: tuple[str, ...]
    readings: tuple[Reading, ...]
    absurd: Mapping[str, int]
    unread: Mapping[str, int]


def read_rows(rows: Any, plan: EncodingPlan | None, names: Sequence[str]) -> Read:
    """Rows as they came, as numbers and codes of levels; NaN where a value is missing."""
    if plan is None:
        return Read(tuple(names), tuple(Reading(j, "", x) for j, x in enumerate(rows.T)), {}, {})
    encoder = Encoder(plan.without_filling("error"), np.dtype(np.float64), "")
    batch = rows.combine_chunks().to_batches()[0]
    encoded, place = encoder.rows(batch), 0
    watched = encoder.watched(batch)
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
        self.rows = np.diff(np.append(starts, n))
        self.of = np.repeat(np.arange(len(starts)), self.rows)

    def sums(self, values: NDArray[Any]) -> Floats:
        return np.asarray(np.add.reduceat(values.astype(np.float64), self.starts, axis=0))

    def mean(self, values: Floats, known: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """The mean of the known values of each window, and how many there are."""
        n = self.sums(known)
        return self.sums(np.where(known, values, 0.0)) / np.maximum(n, 1), n

    def most_frequent(self, values: Floats, known: NDArray[np.bool_]) -> Floats:
        """How often the most frequent value of each window occurs."""
        v, w = values[known], self.of[known]
        order = np.lexsort((v, w))
        v, w = v[order], w[order]
        edges = np.flatnonzero(np.append(True, (np.diff(v) != 0) | (np.diff(w) != 0)))[: len(v)]
        top = np.zeros(len(self.starts))
        np.maximum.at(top, w[edges], np.diff(np.append(edges, len(v))))
        return top


class _Scores(NamedTuple):
    """Normal scores of numbers and indicators of levels, standardised by the reference."""

    of: tuple[tuple[int, int], ...]  # the place of the reading, and a level's code or -1
    column: Index
    center: Floats
    unit: Floats

    def values(self, readings: Sequence[Reading], ranks: Mapping[int, Floats]) -> Floats:
        found = np.empty((len(readings[0].values) if readings else 0, len(self.of)))
        for k, (place, level) in enumerate(self.of):
            if level >= 0:
                found[:, k] = readings[place].values == level
            else:
                found[:, k] = np.nan_to_num(special.ndtri((0.998 * ranks[place] + 1) / 2))
        return (found - self.center) / self.unit


@dataclass(frozen=True, eq=False)
class Functions:
    """Functions of a window, as rows of the reference fix them."""

    names: tuple[str, ...]
    orders: tuple[Floats, ...]  # of each reading the sorted values of a number; else none
    levels: tuple[tuple[int, ...], ...]  # of each reading the codes of levels that are watched
    scores: _Scores
    left: Index  # the scores of numbers
    solve: tuple[Floats, ...]  # what the others leave of these, without each run, and by all rows
    sides: Floats  # (left, rows): what is left of the reference's rows out of its run, sorted
    sizes: Floats  # the same of its absolute value
    pairs: Index  # (p, 2): scores that are correlated in the reference

    @classmethod
    def learn(cls, read: Read, run: Index) -> Functions:
        """Learn from rows of the reference; `run` is the run of windows of each one."""
        orders, levels, of = [], [], []
        for place, one in enumerate(read.readings):
            known = one.values[~np.isnan(one.values)]
            orders.append(np.sort(known) if one.levels is None else np.zeros(0))
            codes, counts = np.unique(known[known != NEW], return_counts=True)
            first: Index = np.argsort(-counts, kind="stable")[: None if one.levels else 0]
            levels.append(tuple(int(codes[k]) for k in first[:LEVELS]))
            common = [k for k in first if SHARE < counts[k] / len(one.values) < 1 - SHARE]
            if one.related:
                scored = [-1] if one.levels is None else [int(codes[k]) for k in common[:LEVELS]]
                of += [(place, level) for level in (scored[:1] if len(scored) == 2 else scored)]
        of = of[:MOST_SCORES]
        column = np.array([read.readings[place].column for place, _ in of], dtype=np.intp)
        plain = _Scores(tuple(of), column, np.zeros(len(of)), np.ones(len(of)))
        bare = cls(
            read.names, tuple(orders), tuple(levels), plain, column[:0], (), np.zeros((0, 0)),
            np.zeros((0, 0)), np.zeros((0, 2), dtype=np.intp),
        )  # fmt: skip
        G = plain.values(read.readings, bare.ranks(read.readings))
        scores = plain._replace(center=G.mean(axis=0), unit=np.maximum(G.std(axis=0), 1e-9))
        G = (G - scores.center) / scores.unit
        several = len(set(column.tolist())) > 1
        left = np.flatnonzero([level < 0 for _, level in of]) if several else column[:0]
        others = [G[run != f] if (run != f).any() else G for f in range(RUNS)]
        solve = tuple(_solve(part, column, left) for part in (*others, G))
        residual = np.concatenate([G[run == f] @ solve[f] for f in range(RUNS)])
        order = np.concatenate([np.flatnonzero(run == f) for f in range(RUNS)])
        for k, place in enumerate(of[j][0] for j in left):  # of a missing value nothing is left
            residual[np.isnan(read.readings[place].values[order]), k] = np.nan
        return cls(
            read.names, tuple(orders), tuple(levels), scores, left, solve,
            np.sort(residual.T, axis=1), np.sort(np.abs(residual).T, axis=1), _pairs(G, column),
        )  # fmt: skip

    def ranks(self, readings: Sequence[Reading]) -> dict[int, Floats]:
        """Ranks of numbers among the reference's, from -1 to 1; NaN where there is no value."""
        found = {}
        for place, (one, order) in enumerate(zip(readings, self.orders, strict=True)):
            if one.levels is None:
                found[place] = np.where(np.isnan(one.values), np.nan, _ranked(one.values, order))
        return found

    def measured(
        self, read: Read, starts: Index, run: int = RUNS
    ) -> Iterator[tuple[Watched, Floats, Floats]]:
        """Every function of each window: values, of shares the counts, and the rows behind them.

        The windows begin at `starts`; of those of the reference, `run` is the run to leave out.
        """
        windows = Windowed(starts, len(read.readings[0].values))
        ranks = self.ranks(read.readings)
        told: set[int] = set()
        for place, one in enumerate(read.readings):
            name, known = self.names[one.column], ~np.isnan(one.values)
            if one.column not in told:
                told.add(one.column)
                yield Watched("missing", name), windows.sums(~known), windows.rows.astype(float)
            n = windows.sums(known)
            if one.levels is not None:
                yield from self._levels(place, one, windows, n)
                continue
            for kind, values in zip(
                ("mean", "spread", "shape", "shape"), legendre(ranks[place]), strict=True
            ):
                yield Watched(kind, name, one.part), *windows.mean(values, known)
            yield Watched("stuck", name, one.part), windows.most_frequent(one.values, known), n
        if len(self.scores.of) < 2:
            return
        G = self.scores.values(read.readings, ranks)
        rest = G @ self.solve[run]
        for k, sides, sizes, values in zip(self.left, self.sides, self.sizes, rest.T, strict=True):
            one = read.readings[self.scores.of[k][0]]
            name, known = self.names[one.column], ~np.isnan(one.values)
            for kind, order, x in (("given", sides, values), ("scatter", sizes, np.abs(values))):
                yield (
                    Watched(kind, name, one.part),
                    *windows.mean(3**0.5 * _ranked(x, order), known),
                )
        yield from self._relations(G, windows)

    def _levels(
        self, place: int, one: Reading, windows: Windowed, n: Floats
    ) -> Iterator[tuple[Watched, Floats, Floats]]:
        name, names = self.names[one.column], one.levels or ()
        watched = self.levels[place]
        for code in watched[1:] if len(names) == 2 else watched:
            yield Watched("level", name, names[code]), windows.sums(one.values == code), n
        if len(names) > len(watched):
            rest = ~np.isin(one.values, (*watched, NEW)) & ~np.isnan(one.values)
            yield Watched("level", name, "any other"), windows.sums(rest), n
        yield Watched("new", name), windows.sums(one.values == NEW), n

    def _relations(self, G: Floats, windows: Windowed) -> Iterator[tuple[Watched, Floats, Floats]]:
        """Each window's own correlations, on Fisher's scale."""
        n = np.maximum(windows.rows, 1)[:, None]
        mean = windows.sums(G) / n
        sd = np.sqrt(np.maximum(windows.sums(G * G) / n - mean**2, 0.0))
        for i, j in self.pairs:
            both = windows.sums(G[:, i] * G[:, j]) / n[:, 0] - mean[:, i] * mean[:, j]
            varies = (sd[:, i] > VARIES) & (sd[:, j] > VARIES) & (windows.rows > FEW_ROWS)
            r = both / np.maximum(sd[:, i] * sd[:, j], VARIES**2)
            x = np.arctanh(np.clip(np.where(varies, r, 0.0), -NEARLY_ONE, NEARLY_ONE))
            first, second = (self.names[self.scores.column[k]] for k in (i, j))
            yield Watched("relation", first, second), x, np.where(varies, windows.rows - 3.0, 0.0)


def chosen_functions(table: Sequence[Watched]) -> Index:
    """Places of the functions that are watched: of too many those that say most."""
    order = [FIRST.index(one.kind) if one.kind in FIRST else len(FIRST) for one in table]
    return np.sort(np.argsort(order, kind="stable")[:MOST_FUNCTIONS])


def standard_values(table: Sequence[Watched], values: Floats, n: Floats, usual: Floats) -> Floats:
    """Values with sampling variance 1/n, (windows, functions); `usual` are the reference's shares.

    >>> never, often = Watched("missing", "x"), Watched("missing", "y")
    >>> counts, n = np.array([[1.0, 5.0]]), np.full((1, 2), 25.0)
    >>> standard_values([never, often], counts, n, np.array([0.0, 0.2])).round(2).tolist()
    [[0.4, 0.0]]
    """
    share = np.array([one.share for one in table])
    never = np.array([one.kind in ("missing", "new") for one in table]) & (usual == 0)
    level = np.where([one.kind == "stuck" for one in table], 0.0, usual)
    moved = _arcsine(values, n) - _arcsine(level * n, n)
    first = 2 * values / np.sqrt(np.maximum(n, 1))
    return np.where(never, first, np.where(share, moved, values))


def _arcsine(count: Floats, n: Floats) -> Floats:
    """A share on a scale where its sampling variance is 1/n, whatever it is."""
    share = (np.clip(count, 0, n) + 0.375) / (n + 0.75)
    return np.asarray(2 * np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0))))


def _ranked(values: Floats, order: Floats) -> Floats:
    """Mid-ranks among sorted values, NaN at their end left out; 0 where there are none."""
    order = order[: len(order) - int(np.isnan(order).sum())]
    return midranks(values, order) if len(order) else np.zeros(len(values))


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
