"""Rows are scored: the probability of each set, and how usual a row is for it.

Further rows are scored by the model of all rows, a set's own by the models of the folds that they
are not in. How usual a row is has nothing to do with the model: `UsualRows` says it.

A set may have a thousand rows or a billion. A :class:`Group` holds the scores of at most
:data:`KEPT_ROWS` rows, drawn at random, and the values of a few: rows that a reader will ask about
(like another set, like no set, on the border, or surely of one) are rare in a random sample of a
large set, so that all rows are looked at for them (:class:`NotableRows`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base import arrays
from cospan.base.keys import Keys
from cospan.base.tolerance import TIE_BREAK
from cospan.base.types import Bools, Floats, Index, Values
from cospan.comparison.reading import SAMPLE_SEED, value_keys
from cospan.data import Chunk
from cospan.errors import InputError
from cospan.model import (
    Alignment,
    Calibration,
    JointFrame,
    SetCosts,
    UsualRows,
    below_rate,
    calibrated_weights,
    suspicion_of,
)
from cospan.summary import Reservoir, rows_within

NEITHER_RATE = 0.05  # of the rows called like no set, those that may be so by mistake
KEPT_ROWS = 100_000  # scores kept in memory, of each of two sets
FEWEST_KEPT = 1_000  # and of each of a hundred
NOTABLE_BYTES = 2**22  # for the rows of each kind that a reader will ask about
NOTABLE_ROWS = 100  # of each kind

Model = JointFrame | SetCosts
Names = Values  # identifiers, labels or groups: numbers or texts, whatever the data has
Rows = NDArray[np.floating]


class Scored(NamedTuple):
    """Scored rows, one entry for each in every column."""

    weights: Floats  # (n, K): the probability of each set; a row sums to 1
    typicality: Floats  # (n, K): how usual it is for each set; NaN where nothing is known
    alignment: Alignment | None  # what two sets say besides
    ids: Names
    labels: Names | None
    strange: Floats | None = None  # (n,): the p-value of belonging to any set
    own: Index | None = None  # (n,): the number of its set or label
    # Of a set's own rows:
    squared: Floats | None = None  # (n, K): their squared costs, out of fold
    dealt: Index | None = None  # (n,): the fold of each
    groups: Names | None = None  # (n,): what rows that belong together share
    keys: Keys | None = None  # (n,): equal where rows are

    @property
    def theta(self) -> Floats:
        """(n,): the angle in radians between the two sets that explain a row best, or the two."""
        if self.alignment is not None:
            return np.asarray(self.alignment.theta, dtype=np.float64)
        first, second = self.nearest.T
        return pair_angle(self.weights, first, second)

    @property
    def nearest(self) -> Index:
        """(n, 2): numbers of the two sets that explain each row best, the best one first."""
        return np.argsort(-self.weights, axis=1, kind="stable")[:, :2]

    @property
    def suspicion(self) -> Floats:
        """(n,): 1 minus the probability of the row's set or label; NaN where it has neither."""
        return suspicion_of(self.weights, self.own)


Sink = Callable[[Sequence[str], str, Scored], None]  # all names, a set's, and rows of it


def pair_angle(weights: Floats, i: int | Index, j: int | Index) -> Floats:
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


class Scorer(NamedTuple):
    """A model of all rows, which scores further rows, and those of the folds, for own ones."""

    model: Model
    weighting: str = "cost"
    folds: tuple[Model | None, ...] = ()  # None: the other folds have nothing to compare
    usual: UsualRows | None = None  # None: the model's own rows say what is usual

    def score(self, chunk: Chunk, dealt: Index | None = None, own: int | None = None) -> Scored:
        """Score rows of no set, or those of set `own`; `dealt` are their folds."""
        rows, K = arrays.to_numpy(chunk.rows), self.model.geometry.n_sets
        models: Sequence[Model | None] = (self.model,)
        places = [np.arange(len(rows))]
        if own is not None:
            models = self.folds
            places = [np.flatnonzero(dealt == fold) for fold in range(len(models))]
        squared, weights = np.empty((len(rows), K)), np.empty((len(rows), K))
        aligned = []
        for model, place in zip(models, places, strict=True):
            squared[place], weights[place], one = self._by(model, rows[place])
            aligned += [] if one is None else [one]
        alignment = None
        if aligned:
            alignment = Alignment.concatenate(aligned)[np.argsort(np.concatenate(places))]
        typicality, strange = np.full_like(weights, np.nan), np.full(len(weights), np.nan)
        known = self.model.answering.typicality
        if self.usual is not None and dealt is not None:
            costs = self.usual.squared_costs(rows, dealt)
            typicality, strange = self.usual.p_values(costs), self.usual.strange(costs)
        elif known is not None and self.weighting == "cost":
            typicality, strange = np.asarray(known.p_values(squared)), known.strange(squared)
        found = Scored(weights, typicality, alignment, chunk.ids, chunk.labels, strange)
        if own is None:
            return found
        return found._replace(
            own=np.full(len(rows), own, dtype=np.intp),
            squared=squared,
            dealt=dealt,
            groups=chunk.groups,
            keys=value_keys(chunk),
        )

    def _by(self, model: Model | None, rows: Rows) -> tuple[Floats, Floats, Alignment | None]:
        """(n, K) squared costs and probabilities by one model, and what two sets say besides."""
        if isinstance(model, JointFrame):
            found = model.align(rows, weighting=self.weighting)
            costs = [arrays.to_numpy(cost) for cost in (found.cost_a, found.cost_b)]
            return np.stack(costs, axis=1) ** 2, np.asarray(found.posterior), found
        K = self.model.geometry.n_sets
        if model is None:
            squared, calibration = np.ones((len(rows), K)), no_gain(K)
        else:
            squared = np.asarray(model.squared_costs(rows), dtype=np.float64)
            calibration = model.answering.geometry.calibration
        if K > 2:
            return squared, np.asarray(calibrated_weights(squared, calibration)), None
        found = Alignment.from_costs(squared[:, 0], squared[:, 1], self.weighting, calibration)
        return squared, np.asarray(found.posterior), found


def no_gain(n_sets: int) -> Calibration:
    """Every set is equally probable, whatever the costs."""
    return Calibration(0.0, (0.0,) * n_sets)


# ---- all rows of a set ---------------------------------------------------------------------------


class KeptRows(NamedTuple):
    """Values of some rows of a group; `row_index` says which of its kept rows."""

    rows: Rows
    row_index: Index


@dataclass(frozen=True, eq=False, repr=False)
class Group:
    """The scored rows of one set, or further rows.

    Attributes
    ----------
    name : str
    own : int or None
        The number of the set; None for further rows.
    n, total : int
        How many rows were scored, and how many there are.
    kept : Scored
        The scores of all `n` rows, or of a uniform sample of them.
    notable : KeptRows
        Values of the kept rows that look most like one set, or like another than their own, that
        no set finds usual, or that are on the border.
    elsewhere : ndarray of bool, (kept,)
        Rows that look like another set than their own, or labels that look wrong.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from cospan import compare
    >>> X, y = load_wine(return_X_y=True)
    >>> group = compare(X[y == 0], X[y == 1]).groups[1]
    >>> group.n, bool((group.alignment.degrees > 45).mean() > 0.9)
    (71, True)
    """

    name: str
    own: int | None
    n: int
    total: int
    kept: Scored
    notable: KeptRows
    elsewhere: Bools

    @property
    def sampled(self) -> bool:
        """Whether only a uniform sample of the set was scored."""
        return self.total > self.n

    @property
    def alignment(self) -> Alignment:
        """Angles, costs and shares of the kept rows of two sets."""
        if self.kept.alignment is None:
            raise InputError("More than two sets have no joint frame; kept.weights says the rest.")
        return self.kept.alignment

    @cached_property
    def neither(self) -> Bools:
        """(kept,): rows that are like no set, at most one in twenty of them by mistake."""
        p = self.kept.strange
        if p is None or np.isnan(p).any():  # nothing is known of what is usual
            return np.zeros(len(self.kept.ids), dtype=bool)
        return below_rate(p, NEITHER_RATE)


class Tally:
    """The rows of one group: scored as they come, and some of them kept."""

    def __init__(
        self, scorer: Scorer, own: int | None, sides: Callable[[Names], Index] | None = None
    ) -> None:
        K, d = scorer.model.geometry.n_sets, scorer.model.n_features
        self._scorer, self._own, self._sides = scorer, own, sides
        kept = max(2 * KEPT_ROWS // K, min(FEWEST_KEPT, KEPT_ROWS))
        self._kept: Reservoir[Scored] = Reservoir(kept, SAMPLE_SEED)
        most = max(10, 2 * NOTABLE_ROWS // K)
        self._notable = NotableRows(rows_within(NOTABLE_BYTES, d, most, fewest=10))

    def add(self, chunk: Chunk, dealt: Index) -> Scored:
        """Score more rows of the group."""
        scored = self._scorer.score(chunk, dealt, self._own)
        if self._sides is not None and scored.labels is not None:
            scored = scored._replace(own=self._sides(scored.labels))
        self._kept.add(scored)
        self._notable.add(ranks_of(scored), chunk.rows)
        return scored

    def finish(self, name: str, total: int | None = None) -> Group:
        """The group, once all rows were added; `total` where these were only a sample."""
        n = self._kept.seen
        if n == 0:
            raise InputError(f"{name} has no rows to score; check the file and its filters.")
        kept = self._kept.result()
        notable = self._notable.among(self._kept.positions)
        nowhere = np.zeros(len(kept.ids), dtype=bool)
        return Group(name, self._own, n, n if total is None else total, kept, notable, nowhere)


class NotableRows:
    """Keeps, of all rows added, those that rank highest in any of several columns.

    >>> notable = NotableRows(size=1)
    >>> notable.add(np.array([[0.1], [0.9], [0.3]]), np.eye(3))
    >>> notable.among(np.arange(3)).row_index
    array([1])
    """

    def __init__(self, size: int = NOTABLE_ROWS) -> None:
        self.size, self.seen = size, 0
        self._held: tuple[Floats, Index, Rows] | None = None

    def add(self, ranks: Floats, rows: Rows) -> None:
        """Offer rows and their ranks (n, m), NaN where a row has none; the highest stay."""
        ahead = self._highest(ranks)  # most rows of a chunk have no chance: they are not copied
        offered = ranks[ahead], self.seen + ahead, np.asarray(rows)[ahead]
        self.seen += len(rows)
        if self._held is not None:
            both = [np.concatenate(pair) for pair in zip(self._held, offered, strict=True)]
            best = self._highest(both[0])
            offered = both[0][best], both[1][best], both[2][best]
        self._held = offered

    def among(self, kept: Index) -> KeptRows:
        """The rows whose positions were kept, and their places among these positions."""
        assert self._held is not None  # rows came
        _, positions, rows = self._held
        place = np.searchsorted(kept, positions)
        found = kept[np.minimum(place, len(kept) - 1)] == positions
        return KeptRows(rows[found], place[found])

    def _highest(self, ranks: Floats) -> Index:
        """Numbers of the rows among the first `size` of any column, rising."""
        first = np.argsort(-ranks, axis=0, kind="stable")[: self.size]
        known = np.isfinite(np.take_along_axis(ranks, first, axis=0))
        return np.unique(first[known])


def ranks_of(scored: Scored) -> Floats:
    """(n, 4): on the border, surely of one set, unlike its own, and usual in none."""
    first, second = -np.sort(-scored.weights, axis=1)[:, :2].T
    usual = scored.typicality.max(axis=1)
    if scored.strange is not None:  # of equally usual rows the stranger one
        usual = usual + TIE_BREAK * scored.strange
    return np.column_stack([second - first, -second, scored.suspicion, -usual])
