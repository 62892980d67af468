"""What is watched in a window: means of bounded functions of its rows, fixed by the reference.

For every column of numbers four scores of its ranks in the reference (where, how wide, and two of
the shape); for every level, truth value and gap its share; for pairs of features their correlation
of ranks; and for whole rows what they cost the reference. Bounded functions have means that are
close to normal however long the tails of a column are, and their sampling noise is known from the
reference. Each one is a *channel*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan import _arrays as arrays
from cospan.errors import InputError
from cospan.monitoring.ranks import Ranks, legendre, legendre_means, ranks_of
from cospan.summary import Summary

if TYPE_CHECKING:
    from cospan.sources import EncodingPlan

__all__ = ["Channel", "Channels", "Cost", "Measured", "channels_of"]

Floats = NDArray[np.float64]
Index = NDArray[np.intp]

#: Pairs of features whose relation is watched, at most: the strongest ones.
MOST_PAIRS = 2_000
#: A level or truth value rarer than this has no relation that a window's rows could show.
_COMMON = 0.05
#: Rows that cost more than so many of the reference's rows are unlike it.
FAR = 0.99
#: Scores of number columns, in the order of `ranks.legendre`.
_SCORES = ("mean", "spread", "shape", "shape")
_LEAST_VARIANCE = 1e-4


class Channel(NamedTuple):
    """One thing that is watched: its kind, the user's column (or two), and the feature."""

    kind: str  # mean, spread, shape, levels, new levels, missing, relation, rows or effect
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
        unit = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
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
    """The functions, and their means and variances over the rows of the reference.

    Attributes
    ----------
    names : tuple of str
        Every feature that rows have, indicators of missing values last.
    owners : tuple of str
        The user's column of each.
    numbers, gaps : array of int
        The features that are numbers, and the indicator of each (-1: none).
    shares : array of int
        The features that are 0 or 1.
    levels : tuple of arrays of int
        For each category the features of its levels: what they leave to 1 is the share of levels
        that the reference does not have.
    live : array of int
        The features that vary in the reference: only these have a geometry.
    ranks : tuple of Ranks
        For each of `numbers`.
    pairs : array of int, (n, 2)
    cost : Cost
    cost_ranks : Ranks
    far : float
        The squared cost that 1 % of the reference's rows exceed.
    shrinkage : float
    table : tuple of Channel
    variance : array
        Of each channel's function over single rows of the reference.
    """

    names: tuple[str, ...]
    owners: tuple[str, ...]
    numbers: Index
    gaps: Index
    shares: Index
    levels: tuple[Index, ...]
    live: Index
    ranks: tuple[Ranks, ...]
    pairs: Index
    cost: Cost
    cost_ranks: Ranks
    far: float
    shrinkage: float
    table: tuple[Channel, ...]
    variance: Floats

    def measure(self, summary: Summary, rows: Floats, cost: Cost | None = None) -> Measured:
        """The channels of a window: shares over all its rows, the rest over the sampled ones.

        A window of the reference is to be given the `cost` of the reference without it.
        """
        scores, counts, ranked = self._scored(rows)
        shares = self.share_values(np.asarray(summary.mean))
        squared = (cost or self.cost).squared(rows[:, self.live])
        far = float(np.mean(squared > self.far))
        values = np.concatenate(
            [
                scores,
                _angle(shares),
                _correlations(ranked, self.pairs),
                [np.mean(self.cost_ranks.of(squared)), float(_angle(np.array([far]))[0])],
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
                np.repeat(present, len(_SCORES)),
                np.full(self.shared, rows),
                np.full(len(self.pairs) + 2, sampled),
            ]
        )
        # Two rows' worth of doubt: what no row of the reference did may still be done by one.
        return np.asarray(np.maximum(self.variance / count, (2 / count) ** 2))

    @property
    def shared(self) -> int:
        """How many channels are shares: they come second."""
        return len(self.shares) + len(self.levels)

    @property
    def ranked(self) -> int:
        """How many channels are scores of ranks: they come first."""
        return len(_SCORES) * len(self.numbers)

    def _scored(self, rows: Floats) -> tuple[Floats, Floats, Floats]:
        """Mean scores of the numbers, how many rows have them, and the ranks for relations."""
        u = np.empty((len(rows), len(self.numbers)))
        for k, j in enumerate(self.numbers.tolist()):
            u[:, k] = self.ranks[k].of(rows[:, j])
        ranked = rows.copy()
        there = self._present(rows)
        if there is None:
            ranked[:, self.numbers] = u
            return legendre_means(u).ravel(), np.full(u.shape[1], float(len(rows))), ranked
        counts = np.maximum(there.sum(axis=0), 1.0)
        middle = (u * there).sum(axis=0) / counts
        ranked[:, self.numbers] = np.where(there > 0, u, middle)
        return legendre_means(u, there).ravel(), counts, ranked

    def _present(self, rows: Floats) -> Floats | None:
        """1 where a number is there, 0 where it is missing; None where none is."""
        having = self.gaps >= 0
        if not having.any() or not rows[:, self.gaps[having]].any():
            return None
        there = np.ones((len(rows), len(self.numbers)))
        there[:, having] = rows[:, self.gaps[having]] == 0
        return there


def _angle(share: Floats) -> Floats:
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


def channels_of(
    names: Sequence[str], plan: EncodingPlan | None, summary: Summary, rows: Floats, share: float
) -> Channels:
    """The channels that a reference fixes, from its summary and a sample of its rows.

    `share` is the shrinkage of the geometry.
    """
    owners, shares, gap_of = _kinds(names, plan)
    numbers = np.array([j for j in range(len(names)) if j not in gap_of[1] and not shares[j]], int)
    gaps = np.array([gap_of[0].get(owners[j], -1) for j in numbers.tolist()], int)
    variances = np.diag(np.asarray(summary.scatter_about())) / summary.n
    live = np.flatnonzero(variances > 1e-12 * np.maximum(np.asarray(summary.mean) ** 2, 1e-300))
    if not len(live):
        raise InputError(
            "No column of the reference varies, so there is nothing to watch; check the columns."
        )
    ranks = tuple(
        ranks_of(_present(rows, j, g)) for j, g in zip(numbers.tolist(), gaps.tolist(), strict=True)
    )
    cost = Cost.of(summary, live, share)
    squared = cost.squared(rows[:, live])
    bare = Channels(
        tuple(names),
        owners,
        numbers.astype(np.intp),
        gaps.astype(np.intp),
        np.flatnonzero(shares),
        _levels(plan),
        live,
        ranks,
        np.zeros((0, 2), dtype=np.intp),
        cost,
        ranks_of(squared),
        float(np.quantile(squared, FAR)),
        share,
        (),
        np.ones(0),
    )
    return _completed(bare, rows, gap_of[1])


def _completed(bare: Channels, rows: Floats, indicators: set[int]) -> Channels:
    """With pairs, table and variances."""
    ranked = bare._scored(rows)[2]
    common = [
        j for j in bare.live.tolist() if j not in indicators and _is_common(rows[:, j], bare, j)
    ]
    pairs, noise = _related(ranked, np.array(common, dtype=np.intp), bare.owners)
    table = [
        Channel(kind, bare.owners[j], "", j) for j in bare.numbers.tolist() for kind in _SCORES
    ]
    table += [
        Channel("missing" if j in indicators else "levels", bare.owners[j], "", j)
        for j in bare.shares.tolist()
    ]
    table += [
        Channel("new levels", bare.owners[int(own[0])], "", int(own[0])) for own in bare.levels
    ]
    table += [Channel("relation", bare.owners[i], bare.owners[j], i) for i, j in pairs.tolist()]
    table += [Channel("rows", ""), Channel("rows", "")]
    variance = [
        float(np.var(score))
        for ranks, j, g in zip(bare.ranks, bare.numbers.tolist(), bare.gaps.tolist(), strict=True)
        for score in legendre(ranks.of(_present(rows, j, g)))
    ]
    variance += [1.0] * bare.shared + noise.tolist() + [1 / 3, 1.0]
    return replace(
        bare,
        pairs=pairs,
        table=tuple(table),
        variance=np.maximum(np.array(variance), _LEAST_VARIANCE),
    )


def _present(rows: Floats, j: int, gap: int) -> Floats:
    values = rows[:, j] if gap < 0 else rows[rows[:, gap] == 0, j]
    return values if len(values) else rows[:1, j]


def _is_common(values: Floats, bare: Channels, j: int) -> bool:
    if j not in set(bare.shares.tolist()):
        return True
    return bool(_COMMON <= values.mean() <= 1 - _COMMON)


def _related(ranked: Floats, features: Index, owners: Sequence[str]) -> tuple[Index, Floats]:
    """Pairs of features of different columns, and the variance of their correlation a row."""
    a = ranked[:, features]
    a = a - a.mean(axis=0)
    a = a / np.maximum(a.std(axis=0), 1e-300)
    n, squared = len(a), a * a
    r = a.T @ a / n
    both, cubes = squared.T @ squared / n, (squared * a).T @ a / n
    fourth = np.diag(both)
    # The variance of the influence of a row on r: ab - r (a² + b²)/2.
    noise = both - r * (cubes + cubes.T) + r**2 / 4 * (fourth[:, None] + fourth + 2 * both)
    i, j = np.triu_indices(len(features), 1)
    own = np.unique(np.asarray(owners), return_inverse=True)[1][features]
    apart = own[i] != own[j]
    i, j = i[apart], j[apart]
    if len(i) > MOST_PAIRS:
        strongest = np.sort(np.argsort(-np.abs(r[i, j]), kind="stable")[:MOST_PAIRS])
        i, j = i[strongest], j[strongest]
    return np.stack([features[i], features[j]], axis=1), noise[i, j]


def _kinds(
    names: Sequence[str], plan: EncodingPlan | None
) -> tuple[tuple[str, ...], list[bool], tuple[dict[str, int], set[int]]]:
    """Each feature's column, whether it is a share, and where the indicators are."""
    if plan is None:
        return tuple(names), [False] * len(names), ({}, set())
    kinds = [
        column.kind in ("category", "boolean") for column in plan.used for _ in column.features
    ]
    made = len(kinds)
    having = [column.name for column in plan.used if column.indicator]
    places = {name: made + i for i, name in enumerate(having)}
    return plan.owners, kinds + [True] * len(having), (places, set(places.values()))


def _levels(plan: EncodingPlan | None) -> tuple[Index, ...]:
    """The features of the categories that have no feature for further levels."""
    found, place = [], 0
    for column in plan.used if plan is not None else ():
        width = len(column.features)
        if column.kind == "category" and not column.other:
            found.append(np.arange(place, place + width))
        place += width
    return tuple(found)
