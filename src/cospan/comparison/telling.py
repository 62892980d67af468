"""The rows that a reader will ask about, kept with their values whatever the size of the set.

A report lists the rows that look like the other set, that neither set finds usual, and that are
on the border. Of a large set only a random sample of values is kept, and few of these rows are in
it; so they are kept first, chunk by chunk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan._tolerance import TIE_BREAK

if TYPE_CHECKING:
    from cospan.model import Alignment

Keys = dict[str, NDArray[np.float64]]

TELLING_ROWS = 100  # of each kind
MOST_LABELS = 4  # of scored rows: those of each label are ranked by themselves


class KeptRows(NamedTuple):
    """Values of some rows of a group; `row_index` says which of its kept rows.

    `attribution` is how far every feature pulls each, where two sets have a joint frame.
    """

    rows: NDArray[Any]
    row_index: NDArray[np.intp]
    attribution: NDArray[np.float64] | None


class Telling:
    """Keeps, of all rows added, those that rank highest by any of several keys.

    >>> from cospan import JointFrame
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 2
    >>> frame = JointFrame.fit(A, B)
    >>> telling = Telling(size=1)
    >>> scored = frame.align(A)
    >>> telling.add(keys_of_two(scored, "A"), A)
    >>> bool(scored.theta.argmax() in telling.positions)
    True
    """

    def __init__(self, size: int = TELLING_ROWS) -> None:
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


def keys_of_two(
    alignment: Alignment, side: str | None = None, labels: NDArray[Any] | None = None
) -> Keys:
    """What makes rows worth a look: how much, under each name.

    `side` is the set the rows belong to, "A" or "B"; None for rows of neither.
    """
    theta = np.asarray(alignment.theta, dtype=np.float64)
    found = {"border": -np.abs(theta - np.pi / 4)}
    if side is not None:
        found["other"] = theta if side == "A" else -theta
    else:
        found |= _by_label(theta, labels)
    if alignment.typicality_a is not None and alignment.typicality_b is not None:
        usual = np.maximum(np.asarray(alignment.typicality_a), np.asarray(alignment.typicality_b))
        # Of equally unusual rows the one that costs most.
        cost = np.minimum(np.asarray(alignment.cost_a), np.asarray(alignment.cost_b))
        found["neither"] = -usual + TIE_BREAK * cost / (1 + cost)
    return found


def keys_of_many(
    weights: NDArray[np.float64], typicality: NDArray[np.float64], own: int | None
) -> Keys:
    """The same for rows of set number `own` of K, by their probabilities of each set."""
    first, second = -np.sort(-weights, axis=1)[:, :2].T
    found = {"border": second - first}
    found["other" if own is not None else "sure"] = first if own is None else -weights[:, own]
    if not np.isnan(typicality).any():
        found["neither"] = -typicality.max(axis=1)
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
