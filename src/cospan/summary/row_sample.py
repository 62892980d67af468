"""A uniform random sample of rows that merges fairly."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.summary.reservoir import Reservoir


class WeightedRows(NamedTuple):
    """What a reservoir holds of the rows of a summary."""

    rows: Any  # in the library they came in until they are kept
    weights: np.ndarray | None


@dataclass(frozen=True, eq=False)
class RowSample:
    """A uniform random sample of rows, without replacement, that merges fairly.

    Every row draws a random priority; the `size` smallest stay. A sample so knows all rows whose
    priority is at most its `bound`, and two samples know all rows of both up to the lower bound:
    what lies above it on one side alone is dropped when they merge. Merging samples of different
    sizes therefore gives a small one, and an empty one where one side kept none, but always a
    uniform one.

    Attributes
    ----------
    rows : ndarray, (k, d)
        In float64, on the host.
    weights : ndarray, (k,)
    index : ndarray, (k,)
        Each row's number in the order of arrival; rows of weight 0 have theirs, too.
    size : int
        How many rows it may hold.

    Examples
    --------
    >>> from cospan import Summary
    >>> sample = Summary.of(np.arange(20.0).reshape(10, 2)).sample
    >>> sample.rows.shape, sample.size
    ((10, 2), 2000)
    """

    rows: np.ndarray
    weights: np.ndarray
    index: np.ndarray
    priority: np.ndarray = field(repr=False)  # rising
    size: int
    bound: float = field(repr=False)  # infinite as long as no row was dropped
    passed: int = field(repr=False)  # rows that came by so far

    @classmethod
    def empty(cls, d: int) -> RowSample:
        """The sample that knows of no row, ever."""
        none = np.zeros(0)
        return cls(np.zeros((0, d)), none, np.zeros(0, dtype=np.int64), none, 0, 0.0, 0)

    @classmethod
    def drawn(cls, kept: Reservoir[WeightedRows], d: int) -> RowSample:
        """What a reservoir has kept of rows of `d` features."""
        if kept.size == 0:
            return cls.empty(d)
        rows, weights = kept.result()
        order = np.argsort(kept.keys, kind="stable")
        priority = kept.keys[order]
        return cls(
            rows[order].astype(np.float64),
            np.ones(len(order)) if weights is None else weights[order],
            kept.positions[order],
            priority,
            kept.size,
            math.inf if kept.complete else float(priority[-1]),
            kept.seen,
        )

    def __len__(self) -> int:
        return len(self.rows)

    def merged(self, other: RowSample) -> RowSample:
        """A sample of both; rows of `other` are numbered on."""
        size, bound = max(self.size, other.size), min(self.bound, other.bound)
        priority = np.concatenate((self.priority, other.priority))
        order = np.argsort(priority, kind="stable")
        order = order[: np.count_nonzero(priority <= bound)]
        if len(order) > size:
            order = order[:size]
            bound = float(priority[order[-1]])
        return RowSample(
            np.concatenate((self.rows, other.rows))[order],
            np.concatenate((self.weights, other.weights))[order],
            np.concatenate((self.index, other.index + self.passed))[order],
            priority[order],
            size,
            bound,
            self.passed + other.passed,
        )

    def taken(self, which: NDArray[np.bool_]) -> RowSample:
        """Some of the rows, as if the others had never come by."""
        chosen = {
            name: getattr(self, name)[which] for name in ("rows", "weights", "index", "priority")
        }
        return replace(self, **chosen)

    def smaller(self, size: int) -> RowSample:
        """The sample that would have been kept with this size."""
        if len(self) <= size:
            return replace(self, size=min(self.size, size))
        bound = float(self.priority[size - 1]) if size else 0.0
        kept = (self.rows[:size], self.weights[:size], self.index[:size], self.priority[:size])
        return RowSample(*kept, size, bound, self.passed)


def random_rows(n: int, most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Which of n rows in memory to take, at random and at most so many; in their order."""
    return np.sort(rng.permutation(n)[:most])
