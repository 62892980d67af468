"""Scored rows of one set, whatever its size: counts of all, scores of many, values of a few.

A set may have a thousand rows or a billion. A :class:`Group` holds what pictures, tables and
reports need of either: histograms of every angle, the scores of at most :data:`KEPT_ROWS` rows
and, of two sets, the values of at most :data:`SHOWN_ROWS` of these. A report lists the rows that
look like the other set, that neither set finds usual, and that are on the border; few of them are
in a random sample of a large set, so they are kept first, chunk by chunk (:class:`NotableRows`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base.tolerance import TIE_BREAK
from cospan.base.types import Floats
from cospan.comparison.reading import OwnRows
from cospan.comparison.scorer import Scored, Scorer, like_neither, pair_angle
from cospan.data import Chunk
from cospan.errors import InputError
from cospan.model import Alignment, JointFrame, attribute
from cospan.summary import Reservoir, rows_within

FINE_BINS = 900  # a tenth of a degree each; 30, 45, 60 or 90 bins are sums of these
DEGREE_BINS = 90  # of the histograms of each pair of more sets
KEPT_ROWS = 100_000  # scores kept in memory, of each of two sets
FEWEST_KEPT = 1_000  # and of each of a hundred
SHOWN_ROWS = 2_000  # rows whose values are kept, to be drawn
EXPLAINED_ROWS = 200  # the same of a curved frame: its attributions are path integrals
SHOWN_BYTES = 2**25  # and no more of them than this much memory holds
NOTABLE_BYTES = 2**22  # for the rows of each kind that a reader will ask about
NOTABLE_ROWS = 100  # of each kind
MOST_LABELS = 4  # of scored rows: those of each label are ranked by themselves

Keys = dict[str, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class ScoredGroup:
    """The scored rows of one of two sets.

    Parameters
    ----------
    name : str
        What the set is called, e.g. its file name.
    n : int
        How many rows were scored.
    counts : ndarray of shape (900,), int64
        Histogram of θ over [0°, 90°], a tenth of a degree per bin, of all `n` rows.
    alignment : Alignment
        Angles, costs and shares of the kept rows: all `n` of them, or a uniform sample
        when there were more than 100,000.
    ids : ndarray of shape (kept,)
        Identifiers of the kept rows: row numbers, index values or file names.
    rows : ndarray of shape (shown, d) or None
        Values of at most 2,000 of the kept rows, as they were scored; of a curved frame 200.
    row_index : ndarray of shape (shown,), int
        Which kept rows `rows` are: ``rows[i]`` has the angle ``alignment.theta[row_index[i]]``.
    attribution : ndarray of shape (shown, d) or None
        For each of `rows`, how far every feature pulls it: negative to A, positive to B.
    scored : Scored
        The kept rows as any number of sets has them: probabilities, typicality, suspicion.
    out_of_fold : bool
        Whether rows were scored by frames that they had no part in, since they are of a set.
    sampled : bool
        Whether only a uniform sample of the set was scored (`n` is then the sample's size).
    total : int
        How many rows the set has; `n` unless `sampled`.
    labels : ndarray of shape (kept,) or None
        Labels of the kept rows, where some came with the data.
    notable : KeptRows or None
        Values of the rows that look most like the other set, that neither set finds usual, or
        that are on the border; `rows` is a uniform sample, these are not.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from cospan import compare
    >>> X, y = load_wine(return_X_y=True)
    >>> group = compare(X[y == 0], X[y == 1]).group_b
    >>> group.n, bool((group.alignment.degrees > 45).mean() > 0.9)
    (71, True)
    """

    name: str
    n: int
    counts: NDArray[np.int64]
    alignment: Alignment
    ids: NDArray[Any]
    rows: NDArray[np.floating[Any]] | None
    row_index: NDArray[np.intp]
    attribution: NDArray[np.floating[Any]] | None
    scored: Scored
    out_of_fold: bool
    sampled: bool
    total: int = 0
    labels: NDArray[Any] | None = None
    notable: KeptRows | None = None

    def __post_init__(self) -> None:
        if self.total == 0:
            object.__setattr__(self, "total", self.n)

    @property
    def neither(self) -> NDArray[np.bool_]:
        """(kept,): rows that are like no set, at most one in twenty of them by mistake."""
        return like_neither(self.scored.strange)

    def __repr__(self) -> str:
        return f"ScoredGroup({self.name!r}, n={self.n}, kept={len(self.ids)}, total={self.total})"


class Size(NamedTuple):
    """How many rows a set has, and how many of them were scored."""

    name: str
    rows: int
    scored: int

    @property
    def sampled(self) -> bool:
        return self.rows > self.scored


class Group(NamedTuple):
    """The scored rows of one set, or further rows."""

    name: str
    own: int | None  # the number of the set; None for further rows
    #: How many rows were scored, and how many there are
    n: int
    total: int
    nearest: NDArray[np.int64]  # (K,): how many of the `n` rows each set explains best
    #: (K, 90): ``pair_counts[j]``: histogram, a degree per bin, of the angle between the own set
    #: (0°) and set j (90°); 0 where a joint frame scored
    pair_counts: NDArray[np.int64]
    kept: Scored  # all `n` rows, or a uniform sample of them
    angles: ScoredGroup | None = None  # what a joint frame of two sets says
    notable: KeptRows | None = None  # values of the rows that a reader will ask about

    @property
    def sampled(self) -> bool:
        return self.total > self.n

    @property
    def neither(self) -> NDArray[np.bool_]:
        """(kept,): rows that are like no set, at most one in twenty of them by mistake."""
        return like_neither(self.kept.strange)


Sides = Callable[[NDArray[Any]], NDArray[np.intp]]  # the sets that labels name, by number


class Tally:
    """What is counted of every scored row of one group, and the rows kept of it."""

    def __init__(
        self, scorer: Scorer, own: int | None, seed: int, sides: Sides | None = None
    ) -> None:
        K = scorer.n_sets
        self._scorer, self._own, self._sides = scorer, own, sides
        self._nearest = np.zeros(K, dtype=np.int64)
        self._pair_counts = np.zeros((K, DEGREE_BINS), dtype=np.int64)
        self._counts = np.zeros(FINE_BINS, dtype=np.int64)
        kept = max(2 * KEPT_ROWS // K, min(FEWEST_KEPT, KEPT_ROWS))
        self._kept: Reservoir[Scored] = Reservoir(kept, seed)
        # The same seed, so the same draws: the rows shown are among the rows kept.
        curved = getattr(scorer.model, "curve", None) is not None
        most = EXPLAINED_ROWS if curved else SHOWN_ROWS
        size = rows_within(SHOWN_BYTES, scorer.model.n_features, most)
        self._shown: Reservoir[Chunk] = Reservoir(size, seed)
        most = max(10, 2 * NOTABLE_ROWS // K)
        size = rows_within(NOTABLE_BYTES, scorer.model.n_features, most, fewest=10)
        self._notable = NotableRows(size)

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
        keys = keys_of(scored, self._own)
        self._notable.add(keys, chunk.rows)
        if scored.alignment is not None:
            self._counts += _histogram(scored.theta, FINE_BINS)
            self._shown.add(chunk._replace(labels=None))
            return scored
        for j in range(K):
            if self._own not in (None, j):
                theta = pair_angle(scored.weights, self._own, j)
                self._pair_counts[j] += _histogram(theta, DEGREE_BINS)
        return scored

    def finish(self, name: str, total: int | None = None) -> Group:
        """The group, once all rows were added; `total` where these were only a sample."""
        n = self._kept.seen
        if n == 0:
            raise InputError(f"{name} has no rows to score; check the file and its filters.")
        kept = self._kept.result()
        total = n if total is None else total
        found = Group(name, self._own, n, total, self._nearest, self._pair_counts, kept)
        asked, places = self._notable.among(self._kept.positions)
        if not isinstance(self._scorer.model, JointFrame) or kept.alignment is None:
            return found._replace(notable=KeptRows(asked, places, None))
        rows = self._shown.result().rows
        notable = KeptRows(asked, places, self._pulls(self._scorer.model, asked))
        angles = ScoredGroup(
            name=name,
            n=n,
            counts=self._counts,
            alignment=kept.alignment,
            ids=kept.ids,
            rows=rows,
            row_index=np.searchsorted(self._kept.positions, self._shown.positions),
            attribution=self._pulls(self._scorer.model, rows),
            scored=kept,
            out_of_fold=self._own is not None,
            sampled=found.sampled,
            total=total,
            labels=kept.labels,
            notable=notable,
        )
        return found._replace(angles=angles, notable=notable)

    def _pulls(self, frame: JointFrame, rows: NDArray[Any]) -> Floats:
        """How far every feature pulls each row."""
        return np.asarray(attribute(frame, rows, weighting=self._scorer.weighting).features)


def _histogram(theta: Floats, bins: int) -> NDArray[np.int64]:
    return np.histogram(np.degrees(theta), bins=bins, range=(0, 90))[0]


# ---- rows that a reader will ask about -----------------------------------------------------------


class KeptRows(NamedTuple):
    """Values of some rows of a group; `row_index` says which of its kept rows.

    `attribution` is how far every feature pulls each, where two sets have a joint frame.
    """

    rows: NDArray[Any]
    row_index: NDArray[np.intp]
    attribution: NDArray[np.float64] | None


class NotableRows:
    """Keeps, of all rows added, those that rank highest by any of several keys.

    >>> from cospan import JointFrame
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 2
    >>> frame = JointFrame.fit(A, B)
    >>> notable = NotableRows(size=1)
    >>> scored = frame.align(A)
    >>> notable.add({"other": scored.theta}, A)
    >>> bool(scored.theta.argmax() in notable.positions)
    True
    """

    def __init__(self, size: int = NOTABLE_ROWS) -> None:
        self.size, self.seen = size, 0
        self.positions: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._keys: Keys = {}
        self._rows: NDArray[Any] | None = None

    def add(self, keys: Keys, rows: NDArray[Any]) -> None:
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

    def among(self, kept: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """The rows whose positions were kept, and their places among these positions."""
        assert self._rows is not None
        place = np.searchsorted(kept, self.positions)
        found = kept[np.minimum(place, len(kept) - 1)] == self.positions
        return self._rows[found], place[found]

    def _chosen(self, keys: Keys, n: int) -> NDArray[np.intp]:
        """Numbers of the rows among the first `size` by any key, rising."""
        best = np.zeros(n, dtype=bool)
        for key in keys.values():
            first = np.argsort(-key, kind="stable")[: self.size]
            best[first[np.isfinite(key[first])]] = True
        return np.flatnonzero(best)


def keys_of(scored: Scored, own: int | None) -> Keys:
    """What makes rows worth a look: how much, under each name.

    `own` is the number of the set that the rows are of; None for rows of none.
    """
    weights = scored.weights
    first, second = -np.sort(-weights, axis=1)[:, :2].T
    found = {"border": second - first}
    if own is not None:
        found["other"] = -weights[:, own]
    elif scored.alignment is None:
        found["sure"] = first
    else:
        found |= _by_label(scored.theta, scored.labels)
    if scored.strange is not None and not np.isnan(scored.strange).any():
        # Of equally usual rows the stranger one.
        found["neither"] = -scored.typicality.max(axis=1) - TIE_BREAK * scored.strange
    return found


def _by_label(theta: NDArray[np.float64], labels: NDArray[Any] | None) -> dict[str, Any]:
    """Both ends of the angles, of the rows of each label."""
    if labels is None:
        return {"a": -theta, "b": theta}
    texts = np.asarray(labels).astype(str)
    words = np.unique(texts)[:MOST_LABELS]
    ends = {}
    for word in words:
        for end, key in (("a", -theta), ("b", theta)):
            ends[f"{end} {word}"] = np.where(texts == word, key, -np.inf)
    return ends
