"""A uniform random sample of rows that merges fairly."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array

__all__ = ["RowSample"]

# A sample of 2,000 rows of 100,000 features would outweigh everything else; this caps it.
_SAMPLE_BYTES = 2**27


@dataclass(frozen=True, eq=False)
class RowSample:
    """A uniform random sample of rows, without replacement, that merges fairly.

    Every row draws a random priority; the `size` smallest stay. A sample so knows all rows whose
    priority is at most its `bound`, and two samples know all rows of both up to the lower bound:
    what lies above it on one side alone is dropped when they merge. The merged sample of unlike
    sizes is therefore small, and empty where one side kept no sample, but always uniform.

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
    >>> import numpy as np
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
    def empty(cls, d: int, size: int) -> RowSample:
        """No rows yet; with `size` 0 it knows of none, ever."""
        size = min(size, _SAMPLE_BYTES // (8 * max(d, 1)))
        none, bound = np.zeros(0), math.inf if size else 0.0
        return cls(np.zeros((0, d)), none, np.zeros(0, dtype=np.int64), none, size, bound, 0)

    def __len__(self) -> int:
        return len(self.rows)

    def entering(self, rows: Array, weights: np.ndarray | None, priority: np.ndarray) -> RowSample:
        """Those of further rows that may enter the sample; :meth:`merged` takes them in."""
        limit = min(self.bound, float(self.priority[-1]) if len(self) == self.size else math.inf)
        chosen = _smallest(priority, self.size, limit)
        known = math.inf
        if len(chosen) < len(priority):
            full = len(chosen) == self.size and len(chosen)
            known = float(priority[chosen].max()) if full else limit
        return RowSample(
            arrays.to_numpy(arrays.rows_at(rows, chosen)).astype(np.float64, copy=False),
            np.ones(len(chosen)) if weights is None else weights[chosen],
            chosen,
            priority[chosen],
            self.size,
            known,
            len(priority),
        )

    def merged(self, *others: RowSample) -> RowSample:
        """A sample of all; rows of the others are numbered on, one after the other."""
        parts = (self, *others)
        size, bound = max(part.size for part in parts), min(part.bound for part in parts)
        priority = np.concatenate([part.priority for part in parts])
        order = np.argsort(priority, kind="stable")
        order = order[: np.count_nonzero(priority <= bound)]
        if len(order) > size:
            order = order[:size]
            bound = float(priority[order[-1]])
        passed = np.cumsum([part.passed for part in parts])
        index = [part.index + n - part.passed for part, n in zip(parts, passed, strict=True)]
        rows = [part.rows for part in parts if len(part)] or [self.rows]
        return RowSample(
            (np.concatenate(rows) if len(rows) > 1 else rows[0])[order],
            np.concatenate([part.weights for part in parts])[order],
            np.concatenate(index)[order],
            priority[order],
            size,
            bound,
            int(passed[-1]),
        )

    def smaller(self, size: int) -> RowSample:
        """The sample that would have been kept with this size."""
        if len(self) <= size:
            return replace(self, size=min(self.size, size))
        bound = float(self.priority[size - 1]) if size else 0.0
        kept = (self.rows[:size], self.weights[:size], self.index[:size], self.priority[:size])
        return RowSample(*kept, size, bound, self.passed)

    def renumbered(self, index: np.ndarray, passed: int) -> RowSample:
        """The same sample with row i called ``index[i]``, of `passed` rows in all."""
        return replace(self, index=index[self.index], passed=passed)


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
