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
from typing import NamedTuple

import numpy as np
from scipy import special

from cospan.base.tolerance import LEAST_VARIANCE
from cospan.base.types import Data, Floats, Index, Record, Values
from cospan.data import Encoder, EncodingPlan
from cospan.evidence import Held, Ranks, Reading, columns_of, left_open, legendre, normal_scores

#: Relations that are watched at most, and levels of a category.
MOST_RELATIONS, LEVELS = 60, 8
#: Correlations in the reference that are watched.
RELATED = 0.2
#: A level takes part in relations where this share of the rows, and so many rows of a window, have
#: it and have it not: correlations of rarer ones have tails that are too long.
SHARE, FEWEST = 0.03, 8
#: Scores that take part in relations, at most: the time grows with the cube of their number.
MOST_SCORES = 200
#: Runs of windows; what is left of the rows of one is by the rows of the others.
RUNS = 5
#: A correlation needs more rows than these, both columns must vary, and 1 is not on Fisher's scale.
FEW_ROWS, VARIES, NEARLY_ONE = 6, 1e-3, 0.98
#: Functions that are shares.
SHARES = ("missing", "level", "new", "stuck")
#: The code of a level that the reference does not have.
NEW = -1


class Watched(NamedTuple):
    """One function: its kind, its column, and a level, a part of the column or a second one."""

    kind: str
    column: str
    detail: str = ""


def read_rows(
    rows: Data, plan: EncodingPlan | None, names: Sequence[str], timed: bool
) -> tuple[list[Reading], Mapping[str, int]]:
    """Rows as numbers and codes of levels, NaN where a value is missing.

    Beside them how many values of each column no measurement has. Dates may go on from row to row;
    only windows that have a time tell how far.
    """
    if plan is None:
        return [Reading(j, "", x) for j, x in enumerate(rows.T)], {}
    encoder = Encoder(plan, np.dtype(np.float64), "", fills=False)
    batch = rows.combine_chunks().to_batches()[0]
    encoded, texts = encoder.rows(batch), encoder.watched(batch)
    readings = []
    for column in columns_of(plan, ()):
        values = encoded[:, list(column.features)]
        number = np.ascontiguousarray(values[:, 0])
        if column.kind == "category":
            code = np.where(values.max(axis=1) > 0, values.argmax(axis=1), NEW)
            number = np.where(np.isnan(number), np.nan, code)
        part, own = "date" if column.kind == "date" else "", names.index(column.name)
        if timed or not part:
            readings.append(Reading(own, part, number, column.levels, related=not part))
    for (name, part), values in zip(plan.watched, () if texts is None else texts.T, strict=True):
        readings.append(Reading(names.index(name), part, values, related=False))
    return readings, encoder.absurd


class Windowed:
    """Rows one window after the other: sums over each."""

    def __init__(self, starts: Index, n: int) -> None:
        rows = np.diff(starts, append=n)
        self.starts, self.rows = starts, rows.astype(np.float64)
        self.of = np.repeat(np.arange(len(starts)), rows)

    def sums(self, values: Values) -> Floats:
        return np.asarray(np.add.reduceat(values.astype(np.float64), self.starts, axis=0))

    def about_mean(self, values: Floats) -> Floats:
        """Values less their window's mean: spreads would vary with its square, with long tails."""
        known = ~np.isnan(values)
        mean = self.sums(np.where(known, values, 0.0)) / np.maximum(self.sums(known), 1)
        return np.asarray(values - mean[self.of])

    def most_frequent(self, values: Floats) -> Floats:
        """How often the most frequent value of each window occurs."""
        parts = np.split(values, self.starts[1:])
        counts = (np.unique(one[~np.isnan(one)], return_counts=True)[1] for one in parts)
        return np.array([one.max(initial=0) for one in counts], dtype=np.float64)


class Functions:
    """Functions of a window, as rows of the reference fix them; `table` says what they are."""

    def __init__(
        self, readings: Sequence[Reading], names: Sequence[str], run: Index, days: Floats
    ) -> None:
        """Learn from rows of the reference; of each its run of windows, and when its own begins."""
        self.names = names
        self.moving = {
            k for k, one in enumerate(readings) if one.part == "date" and _moves(one.values, days)
        }
        readings = self._from_windows(readings, days)
        least = max(SHARE, min(0.5, FEWEST * len(np.unique(days)) / len(days)))
        self.ranks: list[Ranks] = []  # of each reading the ranks among its values
        self.levels: list[list[int]] = []  # of each reading the codes of levels that are watched
        self.scored: list[tuple[int, int]] = []  # the place of a reading, and a level's code or -1
        for place, one in enumerate(readings):
            x = one.values if one.levels is None else one.values[one.values > NEW]
            values, counts = _counted(x)
            self.ranks.append(Ranks.learn(values, counts))
            first = np.argsort(-counts, kind="stable")[: LEVELS if one.levels else 0]
            self.levels.append(values[first].astype(int).tolist())
            share = counts[first] / len(one.values)
            common = values[first[(share > least) & (share < 1 - least)]].astype(int).tolist()
            scored = [-1] if one.levels is None else common[:1] if len(common) == 2 else common
            self.scored += [(place, level) for level in scored if one.related]
        del self.scored[MOST_SCORES:]
        self.center, self.unit = np.zeros(len(self.scored)), np.ones(len(self.scored))
        G = self._scores(readings, self._normal(readings))
        self.center, self.unit = G.mean(axis=0), np.maximum(G.std(axis=0), LEAST_VARIANCE**0.5)
        G = (G - self.center) / self.unit
        column = np.array([readings[k].column for k, _ in self.scored], dtype=np.intp)
        own = Windowed(np.flatnonzero(np.diff(days, prepend=np.nan)), len(days))
        about = own.about_mean(G)  # as in each window's own correlations
        about /= np.maximum(about.std(axis=0), VARIES)
        r = np.abs(about.T @ about / max(1, len(G)))
        row, other = np.triu_indices(len(column), 1)
        strong = np.flatnonzero((column[row] != column[other]) & (r[row, other] >= RELATED))
        first = strong[np.argsort(-r[row, other][strong], kind="stable")[:MOST_RELATIONS]]
        self.pairs = np.column_stack([row[first], other[first]])  # the most correlated first
        # What the others leave of numbers, without each run, and by all rows; and ranks among what
        # is left of the reference's own rows out of their run, and among its size.
        left = [j for j, (_, level) in enumerate(self.scored) if level < 0 and np.ptp(column) > 0]
        others = [G[run != f] if (run != f).any() else G for f in range(RUNS)]
        of = (part.T @ part / max(1, len(part)) for part in (*others, G))
        self.solve = [left_open(correlation, column)[:, left] for correlation in of]
        rest = np.stack([G @ solve for solve in self.solve[:RUNS]])[run, np.arange(len(G))]
        self.left: dict[int, tuple[int, Ranks, Ranks]] = {}  # by the place of a reading
        for k, j in enumerate(left):
            place = self.scored[j][0]
            x = np.where(np.isnan(readings[place].values), np.nan, rest[:, k])
            size = np.abs(own.about_mean(x))
            self.left[place] = k, Ranks.learn(*_counted(x)), Ranks.learn(*_counted(size))
        whole = Windowed(np.zeros(1, np.intp), 2)
        two = [one._replace(values=one.values[:2]) for one in readings]
        self.table = tuple(one for one, _, _ in self._every(two, whole, RUNS))

    def measure(
        self, readings: Sequence[Reading], starts: Index, days: Floats, run: int = RUNS
    ) -> tuple[Floats, Floats]:
        """Values of the windows that begin at `starts`, (windows, functions), and rows behind them.

        Of windows of the reference, `run` is the run to leave out.
        """
        windows = Windowed(starts, len(readings[0].values))
        readings = self._from_windows(readings, days[windows.of])
        _, values, n = zip(*self._every(readings, windows, run), strict=True)
        return np.column_stack(values), np.column_stack(n)

    def _from_windows(self, readings: Sequence[Reading], days: Floats) -> list[Reading]:
        """With dates that move along with time as days since their window began."""
        return [
            one._replace(values=one.values - days) if place in self.moving else one
            for place, one in enumerate(readings)
        ]

    def _normal(self, readings: Sequence[Reading]) -> list[Floats]:
        """Normal scores of numbers among the reference's, NaN for gaps; codes of levels."""
        return [
            one.values
            if one.levels is not None
            else np.where(np.isnan(one.values), np.nan, normal_scores(ranks.of(one.values)))
            for one, ranks in zip(readings, self.ranks, strict=True)
        ]

    def _scores(self, readings: Sequence[Reading], normal: Sequence[Floats]) -> Floats:
        """Normal scores of numbers and indicators of levels, standardised by the reference."""
        found = np.empty((len(readings[0].values), len(self.scored)))
        for k, (place, level) in enumerate(self.scored):
            found[:, k] = np.nan_to_num(normal[place] if level < 0 else normal[place] == level)
        return (found - self.center) / self.unit

    def _every(
        self, readings: Sequence[Reading], windows: Windowed, run: int
    ) -> Iterator[tuple[Watched, Floats, Floats]]:
        """Every function, its values in windows (of shares the counts), and rows behind these."""
        normal, seen = self._normal(readings), set[int]()
        G = self._scores(readings, normal)
        rest = G @ self.solve[run]
        for place, one in enumerate(readings):
            name, known = self.names[one.column], ~np.isnan(one.values)
            n = windows.sums(known)
            if one.column not in seen:
                seen.add(one.column)
                yield Watched("missing", name), windows.rows - n, windows.rows
            if one.levels is None:
                yield Watched("stuck", name, one.part), windows.most_frequent(one.values), n
                own = self._of_number(place, one, normal[place], rest, windows)
            else:
                own = self._of_level(place, one)
            for kind, detail, x in own:
                total = windows.sums(np.where(known, x, 0.0))
                value = total if kind in SHARES else total / np.maximum(n, 1)
                yield Watched(kind, name, detail), value, n
        names = [self.names[readings[place].column] for place, _ in self.scored]
        yield from self._relations(G, names, windows)

    def _of_number(
        self, place: int, one: Reading, normal: Floats, rest: Floats, windows: Windowed
    ) -> Iterator[tuple[str, str, Values]]:
        """Of each row its average, rank, spread and shape, if it is far out, what others leave."""
        x = one.values
        if one.part != "date":
            yield "average", one.part, x
        yield "mean", one.part, normal
        about = 2 * special.ndtr(windows.about_mean(normal)) - 1
        for kind, values in zip(("spread", "shape", "shape"), legendre(about)[1:], strict=True):
            yield kind, one.part, values
        # Further from the reference's values than these are from each other. Records come in
        # clusters, but do not go that far: another unit does, and a number for a gap.
        low, high = self.ranks[place].values[[0, -1]]
        yield "new", one.part, (x < 2 * low - high) | (x > 2 * high - low)
        if place in self.left:
            k, sides, sizes = self.left[place]
            left = np.where(np.isnan(x), np.nan, rest[:, k])
            yield "given", one.part, legendre(sides.of(left))[0]
            yield "scatter", one.part, legendre(sizes.of(np.abs(windows.about_mean(left))))[0]

    def _of_level(self, place: int, one: Reading) -> Iterator[tuple[str, str, Values]]:
        """Of each row of a category whether it has a level, any other, and one that is new."""
        names, watched = one.levels or (), self.levels[place]
        for code in watched[1:] if len(names) == 2 else watched:
            yield "level", names[code], one.values == code
        if len(names) > len(watched):
            other = ~np.isin(one.values, (*watched, NEW))
            yield "level", "(other)", other  # as evidence calls them
        yield "new", "", one.values == NEW

    def _relations(
        self, G: Floats, names: Sequence[str], windows: Windowed
    ) -> Iterator[tuple[Watched, Floats, Floats]]:
        """Each window's own correlations, on Fisher's scale."""
        (i, j), n = self.pairs.T, windows.rows[:, None]
        mean = windows.sums(G) / n
        sd = np.sqrt(np.maximum(windows.sums(G * G) / n - mean**2, 0.0))
        both = windows.sums(G[:, i] * G[:, j]) / n - mean[:, i] * mean[:, j]
        varies = (sd[:, i] > VARIES) & (sd[:, j] > VARIES) & (n > FEW_ROWS)
        r = np.where(varies, both / np.maximum(sd[:, i] * sd[:, j], VARIES**2), 0.0)
        x = np.arctanh(np.clip(r, -NEARLY_ONE, NEARLY_ONE))
        for k, (first, second) in enumerate(self.pairs):
            one = Watched("relation", names[first], names[second])
            yield one, x[:, k], np.where(varies[:, k], windows.rows - 3, 0.0)


def _counted(values: Floats) -> tuple[Floats, Index]:
    """Different known values and how often each occurs; one 0 where there are none."""
    known = values[~np.isnan(values)]
    return np.unique(known if len(known) else np.zeros(1), return_counts=True)


def _moves(values: Floats, days: Floats) -> bool:
    """Whether dates go on with time, at least half as fast: they are watched from their window."""
    known = ~np.isnan(values)
    away = days[known] - days[known].mean() if known.any() else days[known]
    return bool(away @ values[known] > away @ away / 2)


def held_columns(table: Sequence[Watched], values: Floats, n: Floats) -> dict[str, Held]:
    """What a window holds in each column: its mean, or shares of levels, and of missing values."""
    found: dict[str, Record] = {}
    for one, value, count in zip(table, values.tolist(), n.tolist(), strict=True):
        own = found.setdefault(one.column, {"levels": {}})
        share = value / max(count, 1)
        if one.kind == "average" and count:
            own.setdefault("mean", value)  # of a text the first of several
        elif one.kind == "missing":
            own["missing"] = share
        elif one.kind == "level":
            own["levels"][one.detail] = share
    return {column: Held(**own) for column, own in found.items()}
