"""A uniform random sample of rows that merges fairly."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array

__all__ = ["RowSample"]

# A sample of 2,000 rows of 100,000 features would outweigh everything else; this caps it.
_SAMPLE_BYTES = 2**27


@dataclass(frozen=True, eq=False)
class RowSample:
    """A uniform random sample of rows, without replacement, that merges fairly.

    Every row draws a random priority; the `size` smallest stay. The union of two such samples,
    cut to the smallest again, is a uniform sample of all rows.

    Attributes
    ----------
    rows : ndarray, (k, d)
        In float64, on the host.
    weights : ndarray, (k,)
    index : ndarray, (k,)
        Each row's number in the order of arrival.
    size : int
        How many rows it may hold.
    """

    rows: np.ndarray
    weights: np.ndarray
    index: np.ndarray
    priority: np.ndarray = field(repr=False)
    size: int

    @classmethod
    def empty(cls, d: int, size: int) -> RowSample:
        size = min(size, _SAMPLE_BYTES // (8 * max(d, 1)))
        none = np.zeros(0)
        return cls(np.zeros((0, d)), none, np.zeros(0, dtype=np.int64), none, size)

    def __len__(self) -> int:
        return len(self.rows)

    def with_rows(
        self, rows: Array, weights: np.ndarray | None, priority: np.ndarray, first: int
    ) -> RowSample:
        """The sample after these rows passed by; the first of them is row number `first`."""
        if self.size == 0:
            return self
        chosen = _smallest(priority, self.size, self._bound())
        if not len(chosen):
            return self
        entering = RowSample(
            arrays.to_numpy(arrays.rows_at(rows, chosen)).astype(np.float64),
            np.ones(len(chosen)) if weights is None else weights[chosen],
            first + chosen,
            priority[chosen],
            self.size,
        )
        return self.merged(entering)

    def merged(self, other: RowSample, *, offset: int = 0) -> RowSample:
        """A sample of both; rows of `other` are numbered on from `offset`."""
        size = max(self.size, other.size)
        priority = np.concatenate((self.priority, other.priority))
        order = np.argsort(priority, kind="stable")[:size]
        return RowSample(
            np.concatenate((self.rows, other.rows))[order],
            np.concatenate((self.weights, other.weights))[order],
            np.concatenate((self.index, other.index + offset))[order],
            priority[order],
            size,
        )

    def _bound(self) -> float:
        """What a row's priority has to be below to enter."""
        return float(self.priority[-1]) if len(self) == self.size else math.inf


def _smallest(priority: np.ndarray, size: int, bound: float) -> np.ndarray:
    """Positions, rising, of the `size` smallest priorities that lie below `bound`."""
    # Priorities are uniform, so nearly always the smallest `size` of n lie below this.
    likely = (size + 8 * math.sqrt(size) + 16) / max(len(priority), 1)
    chosen = np.flatnonzero(priority < min(bound, likely))
    if len(chosen) < size and likely < bound:
        chosen = np.flatnonzero(priority < bound)
    if len(chosen) > size:
        chosen = np.sort(chosen[np.argsort(priority[chosen], kind="stable")[:size]])
    return chosen
