"""Rows are scored by a fitted model: the probability of each set, and how usual a row is for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base.types import Floats
from cospan.comparison.fitting import Model
from cospan.data import Chunk
from cospan.evidence import row_keys
from cospan.model import (
    Alignment,
    JointFrame,
    below_rate,
    calibrated_weights,
    strange_p,
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
    keys: NDArray[np.uint64] | None = None  # equal where rows are; of a set's own rows
    strange: Floats | None = None  # (n,): the p-value of belonging to any set
    own: NDArray[np.intp] | None = None  # (n,): the number of its set or label; -1: none

    @classmethod
    def of(
        cls,
        alignment: Alignment,
        ids: NDArray[Any],
        labels: NDArray[Any] | None,
        keys: NDArray[np.uint64] | None = None,
        own: NDArray[np.intp] | None = None,
    ) -> Scored:
        """What a joint frame of two sets says."""
        weights = np.asarray(alignment.posterior, dtype=np.float64)
        a, b = alignment.typicality_a, alignment.typicality_b
        usual = None if a is None or b is None else np.column_stack([a, b])
        strange = strange_p(alignment)
        return cls(weights, _known(usual, weights), alignment, ids, labels, keys, strange, own)

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
    """A fitted model, and how it weighs."""

    model: Model
    weighting: str = "cost"

    @property
    def n_sets(self) -> int:
        return self.model.geometry.n_sets

    def score(self, chunk: Chunk, own: int | None = None, removed: Floats | None = None) -> Scored:
        """Score rows; those of set number `own` as if they had never been part of it."""
        keys = None if own is None else row_keys(list(np.asarray(chunk.rows).T))
        place = None if own is None else np.full(len(chunk.rows), own, dtype=np.intp)
        if isinstance(self.model, JointFrame):
            alignment = self._aligned(self.model, chunk.rows, own, removed)
            return Scored.of(alignment, chunk.ids, chunk.labels, keys, place)
        if place is None:
            squared = self.model.squared_costs(chunk.rows)
        else:
            squared = self.model.left_out_costs(chunk.rows, place, sample_weight=removed)
        weights = calibrated_weights(squared, self.model.geometry.calibration)
        weights = np.asarray(weights, dtype=np.float64)
        usual = self.model.typicality
        typicality = _known(None if usual is None else usual.p_values(squared), weights)
        strange = np.full(len(weights), np.nan)
        if usual is not None:
            strange = usual.strange(np.asarray(squared, dtype=np.float64))
        return Scored(weights, typicality, None, chunk.ids, chunk.labels, keys, strange, place)

    def _aligned(
        self, frame: JointFrame, rows: NDArray[Any], own: int | None, removed: Floats | None
    ) -> Alignment:
        if own is None:
            found: Alignment = frame.align(rows, weighting=self.weighting)
            return found
        return frame.left_out(rows, "AB"[own], weighting=self.weighting, sample_weight=removed)


def _known(typicality: Any, weights: Floats) -> Floats:
    if typicality is None:
        return np.full_like(weights, np.nan)
    return np.asarray(typicality, dtype=np.float64)


def like_neither(strange: Floats | None) -> NDArray[np.bool_]:
    """Which rows no set finds usual, by the rule of :attr:`cospan.Alignment.neither`.

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
