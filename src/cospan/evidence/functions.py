"""Functions of a row, learned from rows without their labels.

Two sets are alike when the mean of every function of a row is alike. A :class:`Reading` is one way
to look at a column: its numbers, its levels, the length of its texts, the time of day of its dates.
:class:`RowFunctions` learns from the pooled rows what is worth watching in each reading (ranks,
levels, single values, rounding, gaps), what the other columns leave open of a column, and numbers
inside the rows of one level, and gives the values of all these functions as blocks of a matrix F.
What is learned never sees which set a row belongs to, so labels may be exchanged under it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from cospan.base.tolerance import COUNT_ROUNDING, NOT_ZERO, SAME_VALUE
from cospan.base.types import Floats, Index

#: Levels of a category that are watched; the rest is "other". Fewer occurrences say nothing.
LEVELS, FEWEST = 30, 5
#: A level or a gap takes part in relations where this share of the rows has it, and has it not.
SHARE = 0.03
#: Of numbers with at most so many values each value is watched, and is a part of the rows as levels
#: are; of others the most frequent ones and both ends, where this share of the rows has them.
FEW_VALUES, OFTEN = 10, 0.005
#: The outer shares of the rows at each end of a column, and steps whose multiples are counted.
ENDS, STEPS = (0.01, 0.05), (1.0, 10.0)
#: Values so many deviations of the middle half from the median are far out, however few they are.
FAR_OUT = 10.0
#: Added to the correlations of scores, so that near copies of a column leave something open.
RIDGE = 0.02
#: Scores that take part in "given the others": the time grows with the cube of their number.
MOST_SCORES = 1_000
#: Numbers inside one level: at most so many functions, and at least so many rows in the level.
MOST_INSIDE, FEWEST_INSIDE = 2_000, 20
#: Numbers whose scores are correlated this far may have equal values; pairs that are looked at.
NEAR_EQUAL, MOST_EQUAL = 0.2, 1_000
#: Identities are looked for in so many columns, those that the others predict best and this well,
#: where there are at most so many. One holds where three quarters of the rows are off by less, in
#: mean deviations; a row breaks it where it is so many times further off than these.
MOST_IDENTITIES, PREDICTED, MOST_TERMS, HOLDS, BREAKS = 10, 0.7, 100, 1e-3, 20.0
#: Middle half of a normal distribution in its standard deviations, and where columns are cut.
IQR, FAR = 1.35, 5.0
#: Values of functions are made in blocks of about this size.
BLOCK_BYTES = 16_000_000
#: Ranks end here before they become normal scores, which end at 3.1 then.
WITHIN_ENDS = 0.998
#: A function that varies less says nothing: its values are the same but for rounding.
SAME_FUNCTION = 1e-9
#: The share of the rows, those with the smallest residuals, that an identity is fitted to again.
MOST_ROWS = 0.75

#: What all rare levels of a category are called together.
OTHER = "(other)"
#: Functions of a column by itself that are 0 or 1: their means are shares.
SHARES = ("level", "missing", "value", "rounding", "low end", "high end")

#: The families that evidence is shared between: a column by itself, given the others, with another.
OWN, GIVEN, PAIR = 0, 1, 2


class Reading(NamedTuple):
    """One way to read a column: numbers, or codes of levels, with NaN for what is missing."""

    column: int  # its place among the user's columns
    part: str  # "" for the column itself; "date", "time of day", "weekday", "length", "digits", ...
    values: Floats
    levels: tuple[str, ...] | None = None  # what the codes stand for; None for numbers
    related: bool = True  # whether it takes part in relations: texts and identifiers do not


class Function(NamedTuple):
    """What one column of F is."""

    kind: str
    column: int
    second: int = -1  # the other column of a pair
    level: str = ""  # of the column; inside a level, that of the second
    part: str = ""  # of the column
    value: float = 0.0  # a single value, a step, or an outer share; 0 of what is far out
    second_level: str = ""  # of a relation

    @property
    def family(self) -> int:
        if self.second >= 0:
            return PAIR
        return GIVEN if self.kind in ("given", "scatter", "identity") else OWN


class Block(NamedTuple):
    """Values of some functions for all rows, (m, n), standardised over them, NaN as 0."""

    functions: list[Function]
    values: NDArray[np.float32]


class Scores(NamedTuple):
    """Normal scores of numbers and indicators of levels and gaps, standardised: (n, k)."""

    values: NDArray[np.float32]
    column: NDArray[np.intp]  # whose score it is
    level: tuple[str, ...]  # which level; "" for numbers
    correlation: Floats  # (k, k)

    @property
    def numbers(self) -> NDArray[np.intp]:
        """Which scores are those of numbers."""
        return np.flatnonzero([not level for level in self.level])

    def of(self, column: int, level: str) -> NDArray[np.float32]:
        """The score of a level of a column."""
        ends = zip(self.column.tolist(), self.level, strict=True)
        return self.values[:, next(k for k, one in enumerate(ends) if one == (column, level))]


@dataclass(frozen=True)
class RowFunctions:
    """A table of functions of a row, and their values for the rows that they were learned from."""

    names: tuple[str, ...]
    readings: tuple[Reading, ...]
    margins: tuple[Margin, ...]
    scores: Scores

    @classmethod
    def learn(cls, names: Sequence[str], readings: Sequence[Reading]) -> RowFunctions:
        """Learn from pooled rows; `names` are those of the user's columns."""
        kept = tuple(one for one in readings if np.isfinite(one.values).any())
        margins = tuple(Margin.learn(one) for one in kept)
        return cls(tuple(names), kept, margins, _scores(kept, margins))

    def blocks(self) -> Iterator[Block]:
        """All functions of the rows that were learned from, each column's own ones first."""
        n = len(self.readings[0].values) if self.readings else 0
        width = max(1, BLOCK_BYTES // (4 * max(1, n)))
        block = Block([], np.empty((width, n), np.float32))
        given = self.given(np.ones(len(self.scores.column), dtype=bool))
        for function, values in itertools.chain(
            self.own(self.readings), given, self.identities(), self._inside(), self.equal()
        ):
            unknown = np.isnan(values)
            if unknown.any():
                values = np.where(unknown, 0.0 if unknown.all() else np.nanmean(values), values)
            values = values - values.mean()
            spread = float(np.sqrt(values @ values / n))
            if spread > SAME_FUNCTION:
                block.values[len(block.functions)] = values / spread
                block.functions.append(function)
            if len(block.functions) == width:
                yield block
                block = Block([], np.empty((width, n), np.float32))
        if block.functions:
            yield Block(block.functions, block.values[: len(block.functions)])

    def own(self, readings: Sequence[Reading]) -> Iterator[tuple[Function, Floats]]:
        """Each column's own functions, over any rows."""
        known = {(one.column, one.part): one.values for one in readings}
        for learned, margin in zip(self.readings, self.margins, strict=True):
            yield from margin.values(known[learned.column, learned.part])

    def given(
        self, use: NDArray[np.bool_], of: Collection[int] | None = None
    ) -> Iterator[tuple[Function, Floats]]:
        """What the other columns in use leave open of some columns: on which side, and how far."""
        scores, used = self.scores, np.flatnonzero(use)
        own = scores.column[used]
        if len(set(own.tolist())) < 2:
            return
        solve = left_open(scores.correlation[np.ix_(used, used)], own)
        if of is not None:
            asked = np.isin(own, list(of))
            solve, own = solve[:, asked], own[asked]
        left = scores.values[:, used] @ solve.astype(np.float32)
        for column, side in zip(own.tolist(), left.T, strict=True):
            yield Function("given", column), midranks(side)
            far = midranks(np.round(np.abs(side), 6))
            yield Function("scatter", column), -np.log((1 - far) / 2)

    def identities(self) -> Iterator[tuple[Function, Floats]]:
        """Rows that break what holds (nearly) exactly in most rows: a total that is no sum."""
        numbers = [one for one in self.readings if one.levels is None and one.related]
        whole = [one for one in numbers if not np.isnan(one.values).any()]
        share = predicted(self.scores.correlation)
        well = {int(self.scores.column[k]): float(share[k]) for k in self.scores.numbers}
        likely = [j for j, one in enumerate(whole) if well.get(one.column, 0.0) > PREDICTED]
        if not likely or not 2 <= len(whole) <= MOST_TERMS:
            return
        X = np.column_stack([one.values for one in whole])
        X = X - np.median(X, axis=0)
        X /= np.maximum(np.abs(X).mean(axis=0), NOT_ZERO)
        for j in sorted(likely, key=lambda j: -well[whole[j].column])[:MOST_IDENTITIES]:
            off = _broken(X[:, j], np.delete(X, j, axis=1))
            if off.any():
                yield Function("identity", whole[j].column), off.astype(np.float64)

    def plain(self) -> NDArray[np.float32]:
        """`scores` with numbers as they are, in units of their middle half, cut: not ranks, which
        hide how far out a row is.
        """
        found = self.scores.values.copy()
        number = {one.column: one.values for one in reversed(self.readings) if one.levels is None}
        for k in self.scores.numbers:
            x = number[int(self.scores.column[k])]
            middle, unit = in_the_middle(x[~np.isnan(x)])
            found[:, k] = np.nan_to_num(np.clip((x - middle) / (unit or 1.0), -FAR, FAR))
        return found

    def _inside(self) -> Iterator[tuple[Function, Floats]]:
        """Mean and spread of a number inside the rows of one level, ranked inside it."""
        numbers = [one for one in self.readings if one.levels is None and one.related]
        if not numbers:
            return
        codes = [np.unique(one.values, return_inverse=True, equal_nan=True)[1] for one in numbers]
        gaps = [np.isnan(one.values) for one in numbers]
        levels = sorted(self.levels(), key=lambda one: -float(one[2].sum()))
        for column, level, rows in levels[: MOST_INSIDE // (2 * len(numbers))]:
            for one, code, gap in zip(numbers, codes, gaps, strict=True):
                inside = np.flatnonzero(rows & ~gap)
                if one.column == column or len(inside) < FEWEST_INSIDE:
                    continue
                count = np.bincount(code[inside])
                rank = (2 * np.cumsum(count) - count)[code[inside]] / len(inside) - 1
                for kind, values in zip(("mean", "spread"), legendre(rank), strict=False):
                    found = np.zeros(len(rows))
                    found[inside] = values - values.mean()
                    yield Function(f"{kind} inside", one.column, column, level), found

    def equal(self) -> Iterator[tuple[Function, Floats]]:
        """Equal values in two categories, or in two numbers: the most correlated ones first."""
        related = [one for one in self.readings if one.related and one.part == ""]
        categories = [one for one in related if one.levels is not None]
        pairs = list(itertools.islice(itertools.combinations(categories, 2), MOST_EQUAL))
        of = {one.column: one for one in related if one.levels is None}
        scores = self.scores
        numbers = scores.numbers
        i, j = (numbers[index] for index in np.triu_indices(len(numbers), 1))
        r = np.abs(scores.correlation[i, j])
        order = np.argsort(-r, kind="stable")[:MOST_EQUAL]
        near = order[r[order] >= NEAR_EQUAL]
        ends = scores.column[np.column_stack([i[near], j[near]])]
        pairs += [(of[first], of[second]) for first, second in ends.tolist()]
        for first, second in pairs:
            same = in_common(first, second)
            if OFTEN < same.mean() < 1 - OFTEN:
                yield Function("equal", second.column, first.column), same.astype(np.float64)

    def levels(self) -> Iterator[tuple[int, str, NDArray[np.bool_]]]:
        """Levels that take part in relations, then values of numbers of few: column, name, rows."""
        both = zip(self.readings, self.margins, strict=True)
        for reading, margin in sorted(both, key=lambda one: one[0].levels is None):
            for code, level in margin.parts if reading.related else ():
                rows = reading.values == code
                if SHARE < rows.mean() < 1 - SHARE:
                    yield reading.column, level, rows


class Ranks(NamedTuple):
    """Ranks among known values, from -1 to 1, in the middle of equal ones."""

    values: Floats  # different ones, sorted
    up_to: NDArray[np.intp]  # how many are below the first, below the second, … and all

    @classmethod
    def learn(cls, values: Floats, counts: NDArray[np.intp]) -> Ranks:
        return cls(values, np.concatenate([[0], np.cumsum(counts)]))

    def of(self, values: Floats) -> Floats:
        place = np.searchsorted(self.values, values)
        equal = self.values[np.minimum(place, len(self.values) - 1)] == values
        return np.asarray((self.up_to[place] + self.up_to[place + equal]) / self.up_to[-1] - 1)


@dataclass(frozen=True)
class Margin:
    """What is watched in one reading by itself."""

    reading: Reading  # without its values
    ranks: Ranks  # among a number's known values
    levels: tuple[tuple[float, str], ...] = ()  # codes and names of the levels that are watched
    single: tuple[float, ...] = ()  # values of a number that stand out
    far: tuple[float, float] = (-math.inf, math.inf)  # beyond these a number is far out

    @property
    def parts(self) -> tuple[tuple[float, str], ...]:
        """Codes and names of levels, or the values of a number that has few, of which rows are."""
        if self.reading.levels is not None or len(self.ranks.values) > FEW_VALUES:
            return self.levels
        return tuple((value, f"{value:g}") for value in self.ranks.values.tolist())

    @classmethod
    def learn(cls, reading: Reading) -> Margin:
        known = reading.values[~np.isnan(reading.values)]
        values, counts = np.unique(known, return_counts=True)
        first = np.argsort(-counts, kind="stable")
        bare = reading._replace(values=np.zeros(0))
        if reading.levels is not None:
            named = ((float(values[k]), reading.levels[int(values[k])])
                     for k in first if counts[k] >= FEWEST)  # fmt: skip
            levels = tuple(one for one in named if one[1] != OTHER)[:LEVELS]
            return cls(bare, Ranks.learn(values, counts), levels)
        watched = [*range(len(values))] if len(values) > 2 else []  # of two the mean says all
        if len(values) > FEW_VALUES:
            watched = [*dict.fromkeys([*first[:2].tolist(), 0, len(values) - 1])]
        often = counts >= max(FEWEST, OFTEN * len(reading.values))
        single = tuple(float(values[k]) for k in watched if often[k])
        middle, unit = in_the_middle(known)
        away = FAR_OUT * unit or math.inf
        far = (middle - away, middle + away)
        return cls(bare, Ranks.learn(values, counts), (), single, far)

    def values(self, values: Floats) -> Iterator[tuple[Function, Floats]]:
        """Every function of this reading, for any rows; NaN where it says nothing of a row."""
        column, part = self.reading.column, self.reading.part
        missing = np.isnan(values)
        if part in ("", "date", "length"):
            yield Function("missing", column), missing.astype(np.float64)
        if self.reading.levels is not None:
            other = ~missing
            for code, level in self.levels:
                there = values == code
                other &= ~there
                yield Function("level", column, -1, level, part), there.astype(np.float64)
            yield Function("level", column, -1, OTHER, part), other.astype(np.float64)
            return
        rank = np.full(len(values), np.nan)
        rank[~missing] = self.ranks.of(values[~missing])
        for kind, polynomial in zip(
            ("mean", "spread", "shape", "shape"), legendre(rank), strict=True
        ):
            yield Function(kind, column, part=part), polynomial
        for end, (kind, sign) in itertools.product(ENDS, (("low end", -1), ("high end", 1))):
            outer = sign * rank > 1 - 2 * end
            yield Function(kind, column, part=part, value=end), outer.astype(np.float64)
        for kind, far in (("low end", values < self.far[0]), ("high end", values > self.far[1])):
            yield Function(kind, column, part=part), far.astype(np.float64)
        for value in self.single:
            there = values == value
            yield Function("value", column, part=part, value=value), there.astype(np.float64)
        largest = np.abs(self.ranks.values).max(initial=0.0) if self.reading.related else 0.0
        for step in (one for one in STEPS if one <= largest):  # of less, 0 alone is a multiple
            whole = np.where(missing, np.nan, multiples(values, step))
            yield Function("rounding", column, part=part, value=step), whole


def in_the_middle(values: Floats) -> tuple[float, float]:
    """The median, and the deviation of the middle half, at least half of that of nearly all."""
    least, low, middle, high, most = np.quantile(values, (0.01, 0.25, 0.5, 0.75, 0.99))
    unit = max((high - low) / IQR, float(np.std(np.clip(values, least, most))) / 2)
    return float(middle), unit


def multiples(values: Floats, step: float) -> NDArray[np.bool_]:
    """Which values are whole multiples of a step; none that is missing."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(values / step - np.round(values / step)) < COUNT_ROUNDING)


def midranks(values: NDArray[np.floating]) -> Floats:
    """Ranks from -1 to 1, in the middle of equal ones."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray(((2 * np.cumsum(count) - count) / len(values) - 1)[place])


def kolmogorov(x: Floats, y: Floats) -> tuple[float, float]:
    """The largest difference between the shares up to a value, and this value; gaps are above."""
    x, y = np.sort(x), np.sort(y)
    both = np.sort(np.concatenate([x, y]))
    shares = [np.searchsorted(one, both, "right") / len(one) for one in (x, y)]
    apart = np.abs(shares[0] - shares[1])
    return float(apart.max()), float(both[np.argmax(apart)])


def sides(n_a: int) -> tuple[slice, slice]:
    """Where A's rows are in pooled ones, and where B's."""
    return slice(None, n_a), slice(n_a, None)


def deviation(values: Floats) -> float:
    """The standard deviation, in whatever unit: squares of very small numbers are 0."""
    low, high = float(values.min()), float(values.max())
    size = max(abs(low), abs(high))
    return 0.0 if low == high else size * float((values / size).std())


def correlation(x: NDArray[np.floating], y: NDArray[np.floating]) -> float:
    """Of two columns; 0 where one does not vary."""
    x, y = x - x.mean(), y - y.mean()
    size = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / size if size else 0.0


def fisher_z(r: float) -> float:
    """A correlation on a scale where it has the same noise anywhere."""
    return math.atanh(min(max(r, -0.999), 0.999))


def legendre(u: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Legendre polynomials 1 to 4, of mean 0 and variance 1 for u uniform in [-1, 1]."""
    return (
        3**0.5 * u,
        5**0.5 * (3 * u**2 - 1) / 2,
        7**0.5 * u * (5 * u**2 - 3) / 2,
        3 * (u**2 * (35 * u**2 - 30) + 3) / 8,
    )


def normal_scores(ranks: Floats) -> Floats:
    """Ranks from -1 to 1 as values of a normal distribution; the ends are cut."""
    return np.asarray(special.ndtri((WITHIN_ENDS * ranks + 1) / 2))


def _scores(readings: Sequence[Reading], margins: Sequence[Margin]) -> Scores:
    found: list[tuple[int, str, Floats]] = []
    for reading, margin in zip(readings, margins, strict=True):
        if not reading.related:
            continue
        known = ~np.isnan(reading.values)
        if reading.levels is None:
            score = np.zeros(len(known))
            rank = margin.ranks.of(reading.values[known])
            score[known] = normal_scores(rank)
            found.append((reading.column, "", score))
        shares = [(level, reading.values == code) for code, level in margin.levels]
        for level, there in (*shares, ("missing", ~known)):
            if SHARE < there.mean() < 1 - SHARE:
                found.append((reading.column, level, there.astype(np.float64)))
    found = found[:MOST_SCORES]
    n = len(readings[0].values) if readings else 0
    G = np.column_stack([np.zeros((n, 0)), *(score for _, _, score in found)])
    G = (G - G.mean(axis=0)) / np.maximum(G.std(axis=0), SAME_FUNCTION)
    column = np.array([column for column, _, _ in found], dtype=np.intp)
    levels = tuple(level for _, level, _ in found)
    return Scores(G.astype(np.float32), column, levels, G.T @ G / max(n, 1))


def precision(correlation: Floats) -> Floats:
    """The inverse of correlations, with a little added to their diagonal."""
    return np.asarray(np.linalg.inv(correlation + RIDGE * np.eye(len(correlation))))


def left_open(correlation: Floats, column: Index) -> Floats:
    """Scores times this are what the other columns leave open of them."""
    P = precision(correlation)
    return np.asarray(P @ np.linalg.inv(np.where(column[:, None] == column, P, 0.0)))


def predicted(correlation: Floats) -> Floats:
    """The share of each score that the others predict."""
    return np.asarray(1 - 1 / np.maximum(np.diag(precision(correlation)), 1.0))


def _broken(y: Floats, X: Floats) -> NDArray[np.bool_]:
    """Rows where y is not the combination of X that holds in most rows; none where none does."""
    design = np.column_stack([X, np.ones(len(X))])
    rows, residual, error = np.ones(len(y), dtype=bool), y, 0.0
    for _ in range(4):  # on the smaller residuals: rows that break it do not pull it along
        coefficients = np.linalg.lstsq(design[rows], y[rows], rcond=None)[0]
        residual = np.abs(y - design @ coefficients)
        error = float(np.quantile(residual, MOST_ROWS))
        rows = residual <= error
    return np.asarray((residual > BREAKS * max(error, SAME_VALUE)) & (error <= HOLDS))


def in_common(first: Reading, second: Reading) -> NDArray[np.bool_]:
    """Rows in which two numbers, or two categories, have the same value."""
    if first.levels is None or second.levels is None:
        return np.asarray(first.values == second.values)
    place = {level: code for code, level in enumerate(second.levels)}
    there = np.array([place.get(level, -1) for level in first.levels] + [-1], dtype=np.float64)
    codes = np.where(np.isnan(first.values), -1, first.values).astype(np.intp)
    return np.asarray((there[codes] == second.values) & (codes >= 0))
