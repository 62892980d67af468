"""Rows are scored: the probability of each set, and how usual a row is for it.

Further rows are scored by the model of all rows, a set's own by the models of the folds that they
are not in. How usual a row is has nothing to do with the model: `UsualRows` says it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base import arrays
from cospan.base.types import Floats
from cospan.comparison.fitting import FoldModel, Model
from cospan.comparison.reading import OwnRows, value_keys
from cospan.data import Chunk
from cospan.model import (
    Alignment,
    JointFrame,
    UsualRows,
    below_rate,
    calibrated_weights,
    suspicion_of,
)

NEITHER_RATE = 0.05  # of the rows called like no set, those that may be so by mistake


class Scored(NamedTuple):
    """Scored rows, one entry for each in every column."""

    weights: Floats  # (n, K): the probability of each set; a row sums to 1
    typicality: Floats  # (n, K): how usual it is for each set; NaN where nothing is known
    alignment: Alignment | None  # what a joint frame of two sets says besides
    ids: NDArray[Any]
    labels: NDArray[Any] | None
    strange: Floats | None = None  # (n,): the p-value of belonging to any set
    own: NDArray[np.intp] | None = None  # (n,): the number of its set or label; -1: none
    # Of a set's own rows:
    squared: Floats | None = None  # (n, K): their squared costs, out of fold
    dealt: NDArray[np.intp] | None = None  # (n,): the fold of each
    groups: NDArray[Any] | None = None  # (n,): what rows that belong together share
    keys: NDArray[np.uint64] | None = None  # (n,): equal where rows are

    @property
    def theta(self) -> Floats:
        """(n,): the angle in radians between the two sets that explain a row best, or the two."""
        if self.alignment is not None:
            return np.asarray(self.alignment.theta, dtype=np.float64)
        first, second = self.nearest.T
        return pair_angle(self.weights, first, second)

    @property
    def nearest(self) -> NDArray[np.intp]:
        """(n, 2): numbers of the two sets that explain each row best, the best one first."""
        return np.argsort(-self.weights, axis=1, kind="stable")[:, :2]

    @property
    def suspicion(self) -> Floats:
        """(n,): 1 minus the probability of the row's set or label; NaN where it has neither."""
        return suspicion_of(self.weights, self.own)


Sink = Callable[[Sequence[str], str, Scored], None]  # all names, a set's, and rows of it


class Scorer(NamedTuple):
    """A fitted model and those of its folds, and how they weigh."""

    model: Model
    weighting: str = "cost"
    folds: tuple[FoldModel, ...] = ()
    usual: UsualRows | None = None

    @property
    def n_sets(self) -> int:
        return self.model.geometry.n_sets

    def score(self, chunk: Chunk, dealt: NDArray[np.intp] | None = None) -> Scored:
        """Score rows of no set; `dealt` deals them to what folds find usual."""
        alignment: Alignment | None = None
        if isinstance(self.model, JointFrame):
            alignment = self.model.align(chunk.rows, weighting=self.weighting)
            weights, squared = alignment.posterior, _squared(alignment)
        else:
            squared = arrays.to_numpy(self.model.squared_costs(chunk.rows))
            weights = calibrated_weights(squared, self.model.geometry.calibration)
        scored = self._scored(chunk, dealt, np.asarray(weights, dtype=np.float64), alignment)
        known = self.model.typicality
        if dealt is not None or known is None or self.weighting == "frame":
            return scored
        squared = squared.astype(np.float64)
        usual = np.asarray(known.p_values(squared))
        return scored._replace(typicality=usual, strange=known.strange(squared))

    def score_own(self, part: OwnRows) -> Scored:
        """Score a set's own rows, each by the model of the folds that it is not in."""
        chunk, n = part.chunk, len(part.chunk.rows)
        squared = np.empty((n, self.n_sets))
        weights = np.empty((n, self.n_sets))
        aligned: list[Alignment] = []
        places = [np.flatnonzero(part.dealt == fold) for fold in range(len(self.folds))]
        for model, place in zip(self.folds, places, strict=True):
            rows = np.asarray(chunk.rows)[place]
            if isinstance(self.model, JointFrame):
                found = model.aligned(rows, self.weighting)
                aligned.append(found)
                squared[place], weights[place] = _squared(found), found.posterior
            else:
                squared[place] = model.squared_costs(rows)
                weights[place] = calibrated_weights(squared[place], model.calibration)
        alignment = None
        if aligned:
            back = np.argsort(np.concatenate(places))
            alignment = Alignment.concatenate(aligned)[back]
        return self._scored(chunk, part.dealt, weights, alignment)._replace(
            own=np.full(n, part.number, dtype=np.intp),
            squared=squared,
            dealt=part.dealt,
            groups=chunk.groups,
            keys=value_keys(chunk),
        )

    def _scored(
        self,
        chunk: Chunk,
        dealt: NDArray[np.intp] | None,
        weights: Floats,
        alignment: Alignment | None,
    ) -> Scored:
        typicality, strange = np.full_like(weights, np.nan), np.full(len(weights), np.nan)
        if self.usual is not None and dealt is not None:
            costs = self.usual.squared_costs(arrays.to_numpy(chunk.rows), dealt)
            typicality, strange = self.usual.p_values(costs), self.usual.strange(costs)
        return Scored(weights, typicality, alignment, chunk.ids, chunk.labels, strange)


def _squared(alignment: Alignment) -> Floats:
    costs = [arrays.to_numpy(cost) for cost in (alignment.cost_a, alignment.cost_b)]
    return np.stack(costs, axis=1) ** 2


class LikeNeither(NamedTuple):
    """Rows that no set finds usual, the least usual ones first; `sets` has the names of theirs.

    >>> from cospan import compare
    >>> A, B = np.random.default_rng(0).normal(size=(2, 200, 3))
    >>> B[7] = 50.0
    >>> found = compare(A, B, n_permutations=99).rows_like_neither
    >>> found.sets.tolist(), found.ids.tolist()
    (['B'], [7])
    """

    sets: NDArray[Any]
    ids: NDArray[Any]
    typicality: Floats  # (n, K)

    @classmethod
    def of(
        cls,
        sets: NDArray[Any],
        ids: NDArray[Any],
        typicality: Floats,
        strange: Floats,
        found: NDArray[np.bool_],
    ) -> LikeNeither:
        place = np.flatnonzero(found)
        place = place[np.argsort(strange[place], kind="stable")]
        return cls(sets[place], ids[place], typicality[place])


def like_neither(strange: Floats | None) -> NDArray[np.bool_]:
    """Which rows no set finds usual, by :func:`cospan.neither`'s rule for any number of sets.

    >>> like_neither(np.array([0.5, 0.002, 0.6]))
    array([False,  True, False])
    """
    p = np.zeros(0) if strange is None else strange
    if not len(p) or np.isnan(p).any():  # nothing is known of what is usual
        return np.zeros(len(p), dtype=bool)
    return below_rate(p, NEITHER_RATE)


def pair_angle(weights: Floats, i: Any, j: Any) -> Floats:
    """θ of the pair in radians: 0 for set i, π/2 for set j; cos²θ = w_i / (w_i + w_j).

    `i` and `j` are numbers of sets, or one number for each row.

    >>> np.degrees(pair_angle(np.array([[0.5, 0.5, 0.0], [0.3, 0.1, 0.6]]), 0, 1)).round(9)
    array([45., 30.])
    """
    rows = np.arange(len(weights))
    first, second = weights[rows, i], weights[rows, j]
    theta = np.arctan2(np.sqrt(second), np.sqrt(first))
    # Both so far away that their weights vanish beside a third set's: as far from one as the other.
    return np.where((first == 0) & (second == 0), np.pi / 4, theta)
