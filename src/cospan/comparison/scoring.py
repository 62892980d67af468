"""Rows are scored: the probability of each set, and how usual a row is for it.

Further rows are scored by the model of all rows, a set's own by the models of the folds that they
are not in. How usual a row is has nothing to do with the model: `UsualRows` says it.

A set may have a thousand rows or a billion. A :class:`Group` holds what pictures, tables and
reports need of either: counts of every angle, the scores of at most :data:`KEPT_ROWS` rows and the
values of a few. Rows that a reader will ask about (like the other set, like no set, on the border)
are rare in a random sample of a large set, so they are kept first (:class:`NotableRows`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base import arrays
from cospan.base.keys import Keys
from cospan.base.tolerance import TIE_BREAK
from cospan.base.types import Floats, Values
from cospan.comparison.fitting import Model, Models
from cospan.comparison.reading import Folds, OwnRows, value_keys
from cospan.data import Chunk
from cospan.errors import InputError
from cospan.model import (
    Alignment,
    JointFrame,
    UsualRows,
    attribute,
    below_rate,
    calibrated_weights,
    suspicion_of,
)
from cospan.summary import Reservoir, rows_within

NEITHER_RATE = 0.05  # of the rows called like no set, those that may be so by mistake
FINE_BINS = 900  # a tenth of a degree each; 30, 45, 60 or 90 bins are sums of these
KEPT_ROWS = 100_000  # scores kept in memory, of each of two sets
FEWEST_KEPT = 1_000  # and of each of a hundred
SHOWN_ROWS = 2_000  # rows whose values are kept, to be drawn
EXPLAINED_ROWS = 200  # the same of a curved frame: its attributions are path integrals
SHOWN_BYTES = 2**25  # and no more of them than this much memory holds
NOTABLE_BYTES = 2**22  # for the rows of each kind that a reader will ask about
NOTABLE_ROWS = 100  # of each kind
MOST_LABELS = 4  # of scored rows: those of each label are ranked by themselves

Names = Values  # identifiers, labels or groups: numbers or texts, whatever the data has
Rows = NDArray[np.floating]
Ranks = dict[str, Floats]  # what makes rows worth a look: how much, under each name


class Scored(NamedTuple):
    """Scored rows, one entry for each in every column."""

    weights: Floats  # (n, K): the probability of each set; a row sums to 1
    typicality: Floats  # (n, K): how usual it is for each set; NaN where nothing is known
    alignment: Alignment | None  # what a joint frame of two sets says besides
    ids: Names
    labels: Names | None
    strange: Floats | None = None  # (n,): the p-value of belonging to any set
    own: NDArray[np.intp] | None = None  # (n,): the number of its set or label; -1: none
    # Of a set's own rows:
    squared: Floats | None = None  # (n, K): their squared costs, out of fold
    dealt: Folds | None = None  # (n,): the fold of each
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
    models: Models | None = None
    usual: UsualRows | None = None

    def score(self, chunk: Chunk, dealt: Folds | None = None) -> Scored:
        """Score rows of no set; `dealt` deals them to what folds find usual."""
        alignment: Alignment | None = None
        if isinstance(self.model, JointFrame):
            alignment = self.model.align(chunk.rows, weighting=self.weighting)
            weights, squared = alignment.posterior, _squared(alignment)
        else:
            squared = arrays.to_numpy(self.model.squared_costs(chunk.rows))
            weights = calibrated_weights(squared, self.model.answering.geometry.calibration)
        scored = self._scored(chunk, dealt, np.asarray(weights, dtype=np.float64), alignment)
        known = self.model.answering.typicality
        if dealt is not None or known is None or self.weighting == "frame":
            return scored
        squared = squared.astype(np.float64)
        usual = np.asarray(known.p_values(squared))
        return scored._replace(typicality=usual, strange=known.strange(squared))

    def score_own(self, part: OwnRows) -> Scored:
        """Score a set's own rows, each by the model of the folds that it is not in."""
        assert self.models is not None  # of a comparison
        chunk, n, K = part.chunk, len(part.chunk.rows), self.model.geometry.n_sets
        squared, weights = np.empty((n, K)), np.empty((n, K))
        aligned: list[Alignment] = []
        places = [np.flatnonzero(part.dealt == fold) for fold in range(len(self.models.folds))]
        for model, place in zip(self.models.folds, places, strict=True):
            rows = np.asarray(chunk.rows)[place]
            if K == 2:
                aligned.append(model.aligned(rows, self.weighting))
                squared[place], weights[place] = _squared(aligned[-1]), aligned[-1].posterior
            else:
                squared[place] = model.squared_costs(rows)
                weights[place] = calibrated_weights(squared[place], model.calibration)
        back = np.argsort(np.concatenate(places))
        alignment = Alignment.concatenate(aligned)[back] if aligned else None
        return self._scored(chunk, part.dealt, weights, alignment)._replace(
            own=np.full(n, part.number, dtype=np.intp),
            squared=squared,
            dealt=part.dealt,
            groups=chunk.groups,
            keys=value_keys(chunk),
        )

    def _scored(
        self, chunk: Chunk, dealt: Folds | None, weights: Floats, alignment: Alignment | None
    ) -> Scored:
        typicality, strange = np.full_like(weights, np.nan), np.full(len(weights), np.nan)
        if self.usual is not None and dealt is not None:
            costs = self.usual.squared_costs(arrays.to_numpy(chunk.rows), dealt)
            typicality, strange = self.usual.p_values(costs), self.usual.strange(costs)
        return Scored(weights, typicality, alignment, chunk.ids, chunk.labels, strange)


def _squared(alignment: Alignment) -> Floats:
    costs = [arrays.to_numpy(cost) for cost in (alignment.cost_a, alignment.cost_b)]
    return np.stack(costs, axis=1) ** 2


def pair_angle(weights: Floats, i: int | NDArray[np.intp], j: int | NDArray[np.intp]) -> Floats:
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


# ---- all rows of a set ---------------------------------------------------------------------------


class KeptRows(NamedTuple):
    """Values of some rows of a group; `row_index` says which of its kept rows."""

    rows: Rows
    row_index: NDArray[np.intp]


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
    nearest : ndarray, (K,)
        How many of the `n` rows each set explains best.
    counts : ndarray, (900,)
        Of two sets, the histogram of θ over [0°, 90°], a tenth of a degree per bin, of all rows.
    kept : Scored
        The scores of all `n` rows, or of a uniform sample of them.
    rows, row_index, attribution : ndarray or None
        Of two sets, values of some kept rows as they were scored, which ones these are, and how far
        every feature pulls each: negative to A, positive to B.
    notable : KeptRows
        Values of the rows that look most like another set, that no set finds usual, or that are
        on the border; `rows` is a uniform sample, these are not.

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
    nearest: NDArray[np.int64]
    counts: NDArray[np.int64]
    kept: Scored
    notable: KeptRows
    rows: Rows | None = None
    row_index: NDArray[np.intp] | None = None
    attribution: Floats | None = None

    @property
    def sampled(self) -> bool:
        """Whether only a uniform sample of the set was scored."""
        return self.total > self.n

    @property
    def out_of_fold(self) -> bool:
        """Whether rows were scored by models that they had no part in."""
        return self.own is not None

    @property
    def angles(self) -> Group | None:
        """The group itself where a joint frame of two sets scored it, else None."""
        return None if self.kept.alignment is None else self

    @property
    def alignment(self) -> Alignment:
        """Angles, costs and shares of the kept rows of two sets."""
        if self.kept.alignment is None:
            raise InputError("More than two sets have no joint frame; kept.weights says the rest.")
        return self.kept.alignment

    @property
    def ids(self) -> Names:
        """Identifiers of the kept rows: row numbers, index values or file names."""
        return self.kept.ids

    @property
    def labels(self) -> Names | None:
        """Labels of the kept rows, where some came with the data."""
        return self.kept.labels

    @cached_property
    def neither(self) -> NDArray[np.bool_]:
        """(kept,): rows that are like no set, at most one in twenty of them by mistake."""
        p = self.kept.strange
        if p is None or np.isnan(p).any():  # nothing is known of what is usual
            return np.zeros(len(self.kept.ids), dtype=bool)
        return below_rate(p, NEITHER_RATE)


Sides = Callable[[Names], NDArray[np.intp]]  # the sets that labels name, by number


class Tally:
    """What is counted of every scored row of one group, and the rows kept of it."""

    def __init__(
        self, scorer: Scorer, own: int | None, seed: int, sides: Sides | None = None
    ) -> None:
        K, d = scorer.model.geometry.n_sets, scorer.model.n_features
        self._scorer, self._own, self._sides = scorer, own, sides
        self._nearest = np.zeros(K, dtype=np.int64)
        self._counts = np.zeros(FINE_BINS, dtype=np.int64)
        kept = max(2 * KEPT_ROWS // K, min(FEWEST_KEPT, KEPT_ROWS))
        self._kept: Reservoir[Scored] = Reservoir(kept, seed)
        # The same seed, so the same draws: the rows shown are among the rows kept.
        most = SHOWN_ROWS if scorer.model.curve is None else EXPLAINED_ROWS
        self._shown: Reservoir[Chunk] = Reservoir(rows_within(SHOWN_BYTES, d, most), seed)
        most = max(10, 2 * NOTABLE_ROWS // K)
        self._notable = NotableRows(rows_within(NOTABLE_BYTES, d, most, fewest=10))

    def add(self, part: OwnRows) -> Scored:
        """Score more rows of the group, and count them."""
        chunk = part.chunk
        if self._own is None:
            scored = self._scorer.score(chunk, part.dealt)
        else:
            scored = self._scorer.score_own(part)
        if self._sides is not None and scored.labels is not None:
            scored = scored._replace(own=self._sides(scored.labels))
        self._kept.add(scored)
        K = len(self._nearest)
        self._nearest += np.bincount(scored.weights.argmax(axis=1), minlength=K)
        self._notable.add(ranks_of(scored, self._own), chunk.rows)
        if scored.alignment is not None:
            degrees = np.degrees(scored.theta)
            self._counts += np.histogram(degrees, bins=FINE_BINS, range=(0, 90))[0]
            self._shown.add(chunk._replace(labels=None))
        return scored

    def finish(self, name: str, total: int | None = None) -> Group:
        """The group, once all rows were added; `total` where these were only a sample."""
        n, model = self._kept.seen, self._scorer.model
        if n == 0:
            raise InputError(f"{name} has no rows to score; check the file and its filters.")
        kept = self._kept.result()
        found = Group(
            name=name,
            own=self._own,
            n=n,
            total=n if total is None else total,
            nearest=self._nearest,
            counts=self._counts,
            kept=kept,
            notable=KeptRows(*self._notable.among(self._kept.positions)),
        )
        if not isinstance(model, JointFrame):
            return found
        rows = self._shown.result().rows
        pulls = attribute(model, rows, weighting=self._scorer.weighting).features
        return replace(
            found,
            rows=rows,
            row_index=np.searchsorted(self._kept.positions, self._shown.positions),
            attribution=np.asarray(pulls),
        )


# ---- rows that a reader will ask about -----------------------------------------------------------


class NotableRows:
    """Keeps, of all rows added, those that rank highest by any of several keys.

    >>> notable = NotableRows(size=1)
    >>> notable.add({"other": np.array([0.1, 0.9, 0.3])}, np.eye(3))
    >>> notable.positions
    array([1])
    """

    def __init__(self, size: int = NOTABLE_ROWS) -> None:
        self.size, self.seen = size, 0
        self.positions: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._keys: Ranks = {}
        self._rows: Rows | None = None

    def add(self, keys: Ranks, rows: Rows) -> None:
        """Offer rows; those that rank high by any key stay."""
        n = len(rows)
        ahead = self._chosen(keys, n)  # most rows of a chunk have no chance: they are not copied
        own = {name: key[ahead] for name, key in keys.items()}
        positions, values = self.seen + ahead, np.asarray(rows)[ahead]
        self.seen += n
        if self._rows is not None:
            held = len(self.positions)
            for name in own.keys() | self._keys.keys():
                old = self._keys.get(name, np.full(held, -np.inf))
                new = own.get(name, np.full(len(ahead), -np.inf))
                own[name] = np.concatenate([old, new])
            positions = np.concatenate([self.positions, positions])
            values = np.concatenate([self._rows, values])
        best = self._chosen(own, len(positions))
        self.positions, self._rows = positions[best], values[best]
        self._keys = {name: key[best] for name, key in own.items()}

    def among(self, kept: NDArray[np.intp]) -> tuple[Rows, NDArray[np.intp]]:
        """The rows whose positions were kept, and their places among these positions."""
        assert self._rows is not None
        place = np.searchsorted(kept, self.positions)
        found = kept[np.minimum(place, len(kept) - 1)] == self.positions
        return self._rows[found], place[found]

    def _chosen(self, keys: Ranks, n: int) -> NDArray[np.intp]:
        """Numbers of the rows among the first `size` by any key, rising."""
        best = np.zeros(n, dtype=bool)
        for key in keys.values():
            first = np.argsort(-key, kind="stable")[: self.size]
            best[first[np.isfinite(key[first])]] = True
        return np.flatnonzero(best)


def ranks_of(scored: Scored, own: int | None) -> Ranks:
    """What makes rows worth a look; `own` is the number of their set, None for rows of none."""
    weights = scored.weights
    first, second = -np.sort(-weights, axis=1)[:, :2].T
    found = {"border": second - first}
    if own is not None:
        found["other"] = -weights[:, own]
    elif scored.alignment is None:
        found["sure"] = first
    else:  # both ends of the angles, of the rows of each label
        theta = scored.theta
        labels = np.zeros(len(theta)) if scored.labels is None else scored.labels
        texts = np.asarray(labels).astype(str)
        for word in np.unique(texts)[:MOST_LABELS]:
            for end, key in (("a", -theta), ("b", theta)):
                found[f"{end} {word}"] = np.where(texts == word, key, -np.inf)
    if scored.strange is not None and not np.isnan(scored.strange).any():
        # Of equally usual rows the stranger one.
        found["neither"] = -scored.typicality.max(axis=1) - TIE_BREAK * scored.strange
    return found
