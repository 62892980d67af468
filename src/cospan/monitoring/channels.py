"""What is watched in a window: means of bounded functions of its rows, fixed by the reference.

For every column of numbers four scores of its ranks in the reference (where, how wide, and two of
the shape), how far rows are beyond the reference's range (another unit), the share of its most
frequent value (an instrument that is stuck), and how far it is from what the other columns let
expect; for every level, truth value and gap its share; for pairs of features their
correlation of ranks; and for whole rows what they cost the reference. Bounded functions have
means that are close to normal however long the tails of a column are, and their sampling noise is
known from the reference. Each one is a *channel*.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cospan.base import factorizations
from cospan.base.tolerance import NOT_ZERO, PERFECT_CORRELATION, constant_variance
from cospan.base.types import Floats, Index
from cospan.monitoring.ranks import Ranks, excess, legendre_means
from cospan.summary import Summary

#: Rows that must differ from a column's usual value: with fewer a correlation is the matter of a
#: few rows.
VARIED_ROWS = 10


class Cost(NamedTuple):
    """What a row costs a set: the squared distance (x - mean)ᵀ (shrunk covariance)⁻¹ (x - mean)."""

    mean: Floats
    map: Floats  # (live, live): the distance is the length of (x - mean) @ map

    @classmethod
    def of(cls, summary: Summary, live: Index, shrinkage: float) -> Cost:
        """Of the live features of a set, in their own units."""
        covariance = np.asarray(summary.scatter_about())[np.ix_(live, live)] / summary.n
        unit = np.sqrt(np.maximum(np.diag(covariance), NOT_ZERO))
        relation = covariance / unit[:, None] / unit[None, :]
        mixed = (1 - shrinkage) * relation + shrinkage * np.eye(len(live))
        root = factorizations.cholesky(mixed)
        inverse = np.asarray(factorizations.solve_triangular_transposed(root, np.eye(len(live)))).T
        return cls(np.asarray(summary.mean)[live], inverse / unit[:, None])

    def squared(self, rows: Floats) -> Floats:
        along = (rows - self.mean) @ self.map
        return np.asarray(np.einsum("ij,ij->i", along, along))

    def away(self, rows: Floats) -> tuple[Floats, Floats]:
        """The squared cost, and how far each feature is from what the others let expect.

        In standard deviations of that: with the precision P it is (P (x - mean))ⱼ / √Pⱼⱼ.
        """
        along = (rows - self.mean) @ self.map
        return (
            np.asarray(np.einsum("ij,ij->i", along, along)),
            np.asarray(along @ (self.map.T * self.unit)),
        )

    @property
    def unit(self) -> Floats:
        """The standard deviation of each feature given the others."""
        return np.asarray(1 / np.sqrt(np.einsum("ij,ij->i", self.map, self.map)))


class Related(NamedTuple):
    """Of each two columns: their correlation, its variance a row, the rows, and those that vary.

    `varied` are the rows that differ from a column's usual value, those of the column with fewer.
    """

    r: Floats
    influence: Floats
    rows: Floats
    varied: Floats

    def noise(self, usual: Floats) -> Floats:
        """The variance of a window's correlations, if they are the `usual` ones but for chance.

        As Fisher's scale has it, or as it is, whichever says less.
        A few rows with both of two rare levels make a large correlation, and a large variance.
        """
        free = np.maximum(1 - self.r**2, PERFECT_CORRELATION)
        direct = np.maximum(self.influence, (1 - ((self.r + usual) / 2) ** 2) ** 2)
        fisher = self.influence * ((1 - usual**2) / free) ** 2
        return np.asarray(np.minimum(fisher, direct) / self.rows)

    @property
    def known(self) -> Floats:
        """Which correlations are the matter of more than a few rows."""
        return np.asarray(self.varied >= VARIED_ROWS)

    def of(self, i: Index | int, j: Index | int) -> Related:
        """The same of some pairs."""
        return Related(*(field[i, j] for field in self))


def related(values: Floats, there: Floats | None) -> Related:
    """Correlations of columns of ranks and shares; `there` is 0 where a value is missing.

    Examples
    --------
    >>> x = np.column_stack([np.arange(60.0) / 60, np.arange(60)[::-1] / 60])
    >>> x[:10, 0] = 0.5  # stands for missing values
    >>> there = np.repeat([[0.0, 1.0], [1.0, 1.0]], [10, 50], axis=0)
    >>> found = related(x, there).of(0, 1)
    >>> float(found.r.round(6)), int(found.rows), bool(found.known)
    (-1.0, 50, True)
    """
    there = None if there is None or there.all() else there
    held = np.ones(values.shape) if there is None else there
    n = np.maximum(held.sum(axis=0), 1.0)
    u = (values - (values * held).sum(axis=0) / n) * held
    variance = np.einsum("ij,ij->j", u, u) / n
    u = u / np.sqrt(np.maximum(variance, NOT_ZERO))
    u[:, variance <= constant_variance(1.0)] = 0.0  # ranks and shares are at most 1
    r, influence = _correlations(u, there)
    differ = _off_the_median(values, held)
    if there is None:
        varied = np.where(u.any(axis=0), differ.sum(axis=0), 0.0)
        rows = np.full(r.shape, float(len(u)))
        return Related(r, influence, rows, np.minimum.outer(varied, varied))
    rows = np.maximum(there.T @ there, 1.0)
    mean = u.T @ there / rows
    left = np.maximum((u * u).T @ there / rows - mean**2, 0.0)  # of a column's variance
    varied = (differ.T @ there) * np.minimum(left, 1.0)
    size = np.sqrt(np.maximum(left * left.T, constant_variance(1.0)))
    r = np.clip((u.T @ u / rows - mean * mean.T) / size, -1.0, 1.0)
    return Related(r, influence, rows, np.minimum(varied, varied.T))


def _correlations(u: Floats, there: Floats | None) -> tuple[Floats, Floats]:
    """Correlations of columns of mean 0 and variance 1, 0 where `there` is; their influences."""
    n: Floats | float = float(len(u)) if there is None else np.maximum(1.0, there.T @ there)
    r = np.clip(u.T @ u / n, -1.0, 1.0)
    squares = u * u
    both = squares.T @ squares / n
    cross = (squares * u).T @ u
    own = len(u) if there is None else np.maximum(1.0, there.sum(axis=0))
    fourth = np.einsum("ij,ij->j", squares, squares) / own
    mixed = (cross + cross.T) / n
    influence = both - r * mixed + r**2 / 4 * (fourth[:, None] + 2 * both + fourth[None, :])
    return r, np.maximum(influence, 0.0)


def _off_the_median(values: Floats, there: Floats) -> Floats:
    """1 where a value is not the median: where most rows have one value, it is that."""
    ordered = np.sort(np.where(there > 0, values, np.inf), axis=0)
    middle = (there.sum(axis=0) // 2).astype(np.intp)
    usual = np.take_along_axis(ordered, np.minimum(middle, len(values) - 1)[None], axis=0)
    return np.asarray((values != usual) * there)


#: Scores of number columns, in the order of `ranks.legendre`.
SCORES = ("mean", "spread", "shape", "shape")
#: What every number column has besides: how far rows are beyond the range, and the share of rows
#: with its most frequent value.
OF_NUMBERS = ("beyond", "repeats")
#: A number that varies, given the other columns: whether it is too high or low, and by how much.
GIVEN = ("given", "given")
#: Standard deviations that a value is counted away from what is expected, at most.
_MOST_AWAY = 6.0


class Channel(NamedTuple):
    """One thing that is watched: its kind, the user's column (or two), and the feature."""

    # mean, spread, shape, levels, new levels, missing, relation, beyond, repeats, given, rows or
    # effect
    kind: str
    column: str
    second: str = ""
    feature: int = -1


class Measured(NamedTuple):
    """The channels of one window, and how many rows have a value in each column of numbers.

    And the variance of its relations, by its own rows.
    """

    values: Floats
    present: Floats
    doubt: Floats


@dataclass(frozen=True, eq=False)
class Channels:
    """The functions, and their variances over the rows of the profile they are part of."""

    names: tuple[str, ...]  # every feature that rows have, indicators of missing values last
    owners: tuple[str, ...]  # the user's column of each
    numbers: Index  # the features that are numbers
    indicators: Index  # for each feature the one that says that it is missing (-1: none)
    shares: Index  # the features that are 0 or 1
    #: For each category the features of its levels: what they leave to 1 is the share of levels
    #: that the reference does not have
    levels: tuple[Index, ...]
    live: Index  # the features that vary in the reference: only these have a geometry
    ranks: tuple[Ranks, ...]  # for each of `numbers`
    pairs: Index  # (n, 2)
    related: Floats  # (n,): their correlation in the reference
    cost: Cost
    cost_ranks: Ranks
    far: float  # the squared cost that 1 % of the reference's rows exceed
    shrinkage: float
    table: tuple[Channel, ...]
    variance: Floats  # of each channel's function over single rows of the profile

    def measure(self, summary: Summary, rows: Floats, cost: Cost | None = None) -> Measured:
        """The channels of a window: shares over all its rows, the rest over the sampled ones.

        A window of the reference is to be given the `cost` of the reference without it.
        """
        scores, counts, u, odd = self._scored(rows)
        relations, doubt = self._relations(rows, u)
        shares = self.share_values(np.asarray(summary.mean))
        squared, away = (cost or self.cost).away(rows[:, self.live])
        far = float(np.mean(squared > self.far))
        values = np.concatenate(
            [
                scores,
                share_angle(shares),
                relations,
                odd.ravel(),
                self._given(rows, away).ravel(),
                [np.mean(self.cost_ranks.of(squared)), float(share_angle(np.array([far]))[0])],
            ]
        )
        return Measured(values, counts, doubt)

    def share_values(self, means: Floats) -> Floats:
        """Shares out of the features' means: of all 0/1 features, then of unknown levels."""
        unknown = [1 - means[places].sum() for places in self.levels]
        return np.asarray(np.clip(np.append(means[self.shares], unknown), 0.0, 1.0))

    def counts(self, rows: float, sampled: float, present: Floats) -> Floats:
        """How many rows each channel is measured over."""
        return np.concatenate(
            [
                np.repeat(present, len(SCORES)),
                np.full(self.shared, rows),
                np.full(len(self.pairs), sampled),
                np.repeat(present, len(OF_NUMBERS)),
                np.repeat(present[self.given], len(GIVEN)),
                np.full(2, sampled),
            ]
        )

    def noise(self, rows: float, sampled: float, present: Floats, doubt: Floats) -> Floats:
        """The variance of a window's channels by the sampling of its rows."""
        count = self.counts(rows, sampled, present)
        # Two rows' worth of doubt: what no row of the reference did may still be done by one.
        found = np.maximum(self.variance / count, (2 / count) ** 2)
        start = self.ranked + self.shared
        found[start : self.odd.start] = np.maximum(found[start : self.odd.start], doubt)
        return np.asarray(found)

    @property
    def shared(self) -> int:
        """How many channels are shares: they come second."""
        return len(self.shares) + len(self.levels)

    @property
    def odd(self) -> slice:
        """Where the odd rows of number columns are counted: all of a column side by side."""
        start = self.ranked + self.shared + len(self.pairs)
        return slice(start, start + len(OF_NUMBERS) * len(self.numbers))

    @cached_property
    def gaps(self) -> Index:
        """The indicator of each of the numbers, -1 where there is none."""
        return np.asarray(self.indicators[self.numbers])

    @cached_property
    def given(self) -> Index:
        """Which of the numbers vary, so that other columns let expect something of them."""
        several = len({self.owners[j] for j in self.live.tolist()}) > 1
        return np.flatnonzero(np.isin(self.numbers, self.live) & several)

    @property
    def ends(self) -> int:
        """Where the channels of whole rows begin: behind those of numbers given the others."""
        return int(self.odd.stop) + len(GIVEN) * len(self.given)

    def pair_at(self, place: int) -> tuple[int, int]:
        """The two features of the relation that is the channel at this place."""
        i, j = self.pairs[place - self.ranked - self.shared].tolist()
        return i, j

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The channels that each column has a part in."""
        found: dict[str, list[int]] = {}
        for k, channel in enumerate(self.table):
            for column in dict.fromkeys((channel.column, channel.second)):
                if column:
                    found.setdefault(column, []).append(k)
        return found

    @property
    def ranked(self) -> int:
        """How many channels are scores of ranks: they come first."""
        return len(SCORES) * len(self.numbers)

    def _scored(self, rows: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Mean scores of the numbers, how many rows have them, their ranks.

        And for every number how odd its rows are, as `OF_NUMBERS` has it.
        """
        columns = np.ascontiguousarray(rows[:, self.numbers].T)
        u = np.empty_like(columns)
        for k, ranks in enumerate(self.ranks):
            u[k] = ranks.of(columns[k])
        u = np.ascontiguousarray(u.T)
        there = self._present(rows, self.gaps)
        odd = _odd(excess(columns.T, *self._range), columns, there)
        counts = np.full(u.shape[1], float(len(rows)))
        if there is not None:
            counts = np.maximum(there.sum(axis=0), 1.0)
        return legendre_means(u, there).ravel(), counts, u, odd

    def relations(self, rows: Floats, features: Index, u: Floats | None = None) -> Related:
        """How some features are related in rows; `u` are the ranks of their numbers."""
        ranked = rows.copy()
        ranked[:, self.numbers] = self._scored(rows)[2] if u is None else u
        return related(ranked[:, features], self._present(rows, self.indicators[features]))

    def _relations(self, rows: Floats, u: Floats) -> tuple[Floats, Floats]:
        """Correlations of the pairs and their variance; the usual ones where rows say nothing."""
        if not len(self.pairs):
            return np.zeros(0), np.zeros(0)
        features, places = np.unique(self.pairs, return_inverse=True)
        found = self.relations(rows, features, u).of(*places.reshape(self.pairs.shape).T)
        # As a file keeps it, so that a profile is the same once read.
        doubt = np.where(found.known, found.noise(self.related), 0.0).astype(np.float32)
        return np.where(found.known, found.r, self.related), doubt.astype(np.float64)

    @cached_property
    def _range(self) -> tuple[Floats, Floats]:
        """The smallest and the largest value of each number in the reference."""
        known = [ranks.values for ranks in self.ranks]
        return np.array([x[0] for x in known]), np.array([x[-1] for x in known])

    def unexpected(self, means: Floats) -> Floats:
        """How far means of all features are from what the others let expect, of those numbers."""
        own = np.searchsorted(self.live, self.numbers[self.given])
        return np.asarray(self.cost.away(means[None, self.live])[1][0, own])

    def given_variance(self, rows: Floats) -> Floats:
        """The variance over single rows of the channels of numbers given the others."""
        away, there = self._away(rows, self.cost.away(rows[:, self.live])[1])
        n = np.maximum(there.sum(axis=0), 1.0)
        squares = (away**2).sum(axis=0) / n
        means = [away.sum(axis=0) / n, np.abs(away).sum(axis=0) / n]
        return np.column_stack([squares - mean**2 for mean in means]).ravel()

    def _given(self, rows: Floats, away: Floats) -> Floats:
        """Of each number that varies: the mean distance from what is expected, and its size."""
        away, there = self._away(rows, away)
        n = np.maximum(there.sum(axis=0), 1.0)
        sums = np.column_stack([away.sum(axis=0), np.abs(away).sum(axis=0)])
        return np.asarray(sums / n[:, None])

    def _away(self, rows: Floats, away: Floats) -> tuple[Floats, Floats]:
        """Bounded distances of the numbers that vary, 0 where they are missing; and where not."""
        own = np.searchsorted(self.live, self.numbers[self.given])
        away = np.clip(away[:, own], -_MOST_AWAY, _MOST_AWAY)
        there = self._present(rows, self.gaps[self.given])
        there = np.ones_like(away) if there is None else there
        return away * there, there

    def _present(self, rows: Floats, indicators: Index) -> Floats | None:
        """1 where a value is there, 0 where it is missing; None where none is."""
        having = indicators >= 0
        if not having.any() or not rows[:, indicators[having]].any():
            return None
        there = np.ones((len(rows), len(indicators)))
        there[:, having] = rows[:, indicators[having]] == 0
        return there


def _odd(beyond: Floats, columns: Floats, there: Floats | None) -> Floats:
    """How odd the rows of each number are: as `OF_NUMBERS` has it, shares as angles."""
    if there is None:
        found = np.column_stack([beyond.mean(axis=0), _most_frequent_each(columns)])
    else:
        found = np.zeros((len(columns), len(OF_NUMBERS)))
        for k, values in enumerate(columns):
            own = there[:, k] > 0
            if own.any():
                found[k] = beyond[own, k].mean(), _most_frequent(values[own])
    found[:, 1] = share_angle(found[:, 1])
    return found


def _most_frequent_each(columns: Floats) -> list[float]:
    """The same for each of several columns, which are rows here."""
    ordered = np.sort(columns, axis=1)
    differ = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)  # as measurements do
    n = columns.shape[1]
    return [1 / n if one else _most_frequent(x) for one, x in zip(differ, columns, strict=True)]


def _most_frequent(values: Floats) -> float:
    """The share of the value that occurs most often."""
    ordered = np.sort(values)
    starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    if len(starts) == len(values) - 1:  # all differ, as measurements do
        return 1 / len(values)
    return float(np.diff([0, *starts, len(values)]).max()) / len(values)


def share_angle(share: Floats) -> Floats:
    """A share on the scale where it has the same noise anywhere: variance 1 a row."""
    return np.asarray(2 * np.arcsin(np.sqrt(share)))
