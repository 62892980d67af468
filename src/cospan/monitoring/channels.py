"""What is watched in a window: means of bounded functions of its rows, fixed by the reference.

For every column of numbers four scores of its ranks in the reference (where, how wide, and two of
the shape), the share of rows beyond the reference's range, and that of its most frequent value (an
instrument that is stuck); for every level, truth value and gap its share; for pairs of features
their correlation of ranks; and for whole rows what they cost the reference. Bounded functions have
means that are close to normal however long the tails of a column are, and their sampling noise is
known from the reference. Each one is a *channel*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan._tolerance import NOT_ZERO
from cospan._types import Floats, Index
from cospan.monitoring.ranks import Ranks, legendre_means
from cospan.summary import Summary

__all__ = ["OF_NUMBERS", "SCORES", "Channel", "Channels", "Cost", "Measured", "share_angle"]


#: Scores of number columns, in the order of `ranks.legendre`.
SCORES = ("mean", "spread", "shape", "shape")
#: Shares of rows that every number column has.
OF_NUMBERS = ("beyond", "repeats")


class Channel(NamedTuple):
    """One thing that is watched: its kind, the user's column (or two), and the feature."""

    # mean, spread, shape, levels, new levels, missing, relation, beyond, repeats, rows or effect
    kind: str
    column: str
    second: str = ""
    feature: int = -1


class Measured(NamedTuple):
    """The channels of one window, and how many rows have a value in each column of numbers."""

    values: Floats
    present: Floats


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
        root = arrays.cholesky(mixed)
        inverse = np.asarray(arrays.solve_triangular_transposed(root, np.eye(len(live)))).T
        return cls(np.asarray(summary.mean)[live], inverse / unit[:, None])

    def squared(self, rows: Floats) -> Floats:
        along = (rows - self.mean) @ self.map
        return np.asarray(np.einsum("ij,ij->i", along, along))


@dataclass(frozen=True, eq=False)
class Channels:
    """The functions, and their means and variances over the rows of the reference."""

    names: tuple[str, ...]  # every feature that rows have, indicators of missing values last
    owners: tuple[str, ...]  # the user's column of each
    #: The features that are numbers, and the indicator of each (-1: none)
    numbers: Index
    gaps: Index
    shares: Index  # the features that are 0 or 1
    #: For each category the features of its levels: what they leave to 1 is the share of levels
    #: that the reference does not have
    levels: tuple[Index, ...]
    live: Index  # the features that vary in the reference: only these have a geometry
    ranks: tuple[Ranks, ...]  # for each of `numbers`
    pairs: Index  # (n, 2)
    cost: Cost
    cost_ranks: Ranks
    far: float  # the squared cost that 1 % of the reference's rows exceed
    shrinkage: float
    table: tuple[Channel, ...]
    variance: Floats  # of each channel's function over single rows of the reference

    def measure(self, summary: Summary, rows: Floats, cost: Cost | None = None) -> Measured:
        """The channels of a window: shares over all its rows, the rest over the sampled ones.

        A window of the reference is to be given the `cost` of the reference without it.
        """
        scores, counts, ranked, odd = self._scored(rows)
        shares = self.share_values(np.asarray(summary.mean))
        squared = (cost or self.cost).squared(rows[:, self.live])
        far = float(np.mean(squared > self.far))
        values = np.concatenate(
            [
                scores,
                share_angle(shares),
                _correlations(ranked, self.pairs),
                share_angle(odd).ravel(),
                [np.mean(self.cost_ranks.of(squared)), float(share_angle(np.array([far]))[0])],
            ]
        )
        return Measured(values, counts)

    def share_values(self, means: Floats) -> Floats:
        """Shares out of the features' means: of all 0/1 features, then of unknown levels."""
        unknown = [1 - means[places].sum() for places in self.levels]
        return np.asarray(np.clip(np.append(means[self.shares], unknown), 0.0, 1.0))

    def noise(self, rows: float, sampled: float, present: Floats) -> Floats:
        """The variance of a window's channels by the sampling of its rows."""
        count = np.concatenate(
            [
                np.repeat(present, len(SCORES)),
                np.full(self.shared, rows),
                np.full(len(self.pairs), sampled),
                np.repeat(present, len(OF_NUMBERS)),
                np.full(2, sampled),
            ]
        )
        # Two rows' worth of doubt: what no row of the reference did may still be done by one.
        return np.asarray(np.maximum(self.variance / count, (2 / count) ** 2))

    @property
    def shared(self) -> int:
        """How many channels are shares: they come second."""
        return len(self.shares) + len(self.levels)

    @property
    def odd(self) -> slice:
        """Where the shares of rows of number columns are: both of a column side by side."""
        start = self.ranked + self.shared + len(self.pairs)
        return slice(start, start + len(OF_NUMBERS) * len(self.numbers))

    def pair_at(self, place: int) -> tuple[int, int]:
        """The two features of the relation that is the channel at this place."""
        i, j = self.pairs[place - self.ranked - self.shared].tolist()
        return i, j

    @property
    def ranked(self) -> int:
        """How many channels are scores of ranks: they come first."""
        return len(SCORES) * len(self.numbers)

    def _scored(self, rows: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Mean scores of the numbers, how many rows have them, the ranks for relations.

        And for every number the shares of rows beyond the range and of the most frequent value.
        """
        columns = np.ascontiguousarray(rows[:, self.numbers].T)
        u = np.empty_like(columns)
        for k, ranks in enumerate(self.ranks):
            u[k] = ranks.of(columns[k])
        u = np.ascontiguousarray(u.T)
        ranked = rows.copy()
        there = self._present(rows)
        odd = _odd(u, columns, there)
        if there is None:
            ranked[:, self.numbers] = u
            return legendre_means(u).ravel(), np.full(u.shape[1], float(len(rows))), ranked, odd
        counts = np.maximum(there.sum(axis=0), 1.0)
        middle = (u * there).sum(axis=0) / counts
        ranked[:, self.numbers] = np.where(there > 0, u, middle)
        return legendre_means(u, there).ravel(), counts, ranked, odd

    def _present(self, rows: Floats) -> Floats | None:
        """1 where a number is there, 0 where it is missing; None where none is."""
        having = self.gaps >= 0
        if not having.any() or not rows[:, self.gaps[having]].any():
            return None
        there = np.ones((len(rows), len(self.numbers)))
        there[:, having] = rows[:, self.gaps[having]] == 0
        return there


def _odd(u: Floats, columns: Floats, there: Floats | None) -> Floats:
    """Shares of the rows of each number: beyond the range, and of its most frequent value."""
    # Only values below or above all of the reference's have the ranks -1 and 1.
    beyond = np.abs(u) >= 1
    if there is None:
        return np.column_stack([beyond.mean(axis=0), [_most_frequent(x) for x in columns]])
    found = np.zeros((len(columns), len(OF_NUMBERS)))
    for k, values in enumerate(columns):
        own = there[:, k] > 0
        if own.any():
            found[k] = beyond[own, k].mean(), _most_frequent(values[own])
    return found


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


def _correlations(ranked: Floats, pairs: Index) -> Floats:
    """Correlations of pairs of columns; 0 where one of them does not vary."""
    if not len(pairs):
        return np.zeros(0)
    away = ranked - ranked.mean(axis=0)
    size = np.sqrt(np.einsum("ij,ij->j", away, away))
    away = away / np.where(size > 0, size, 1.0)
    return np.asarray((away.T @ away)[pairs[:, 0], pairs[:, 1]])
