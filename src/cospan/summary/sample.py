"""The one sampler: a uniform sample of rows from chunks that are seen once, ready to merge.

Every row draws a number; the rows with the smallest numbers stay. The numbers depend on the seed
and the row's position alone, so the sample is the same however the rows are cut into chunks, and
a smaller sample with the same seed is part of a larger one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np

from cospan.base import arrays
from cospan.base.types import Array, Bools, Floats, Index

T = TypeVar("T", bound=tuple[Any, ...])

# Rows of a sample, however wide they are: fewer say too little.
FEWEST_ROWS = 200


def rows_within(n_bytes: int, n_features: int, most: int, fewest: int = FEWEST_ROWS) -> int:
    """How many float64 rows fit into so many bytes: at most `most`, but never just a handful.

    >>> rows_within(2**25, 64, 2_000), rows_within(2**25, 100_000, 2_000)
    (2000, 200)
    """
    return min(most, max(fewest, n_bytes // (8 * max(n_features, 1))))


class Reservoir(Generic[T]):
    """Keeps `size` rows, each equally likely, of all that are added.

    What is added are named tuples of columns of one length (arrays of any library, which are kept
    on the host; None for a column that is not there).

    >>> from cospan.data import Chunk
    >>> sample = Reservoir(3, seed=0)
    >>> for start in range(0, 1000, 100):
    ...     ids = np.arange(start, start + 100)
    ...     sample.add(Chunk(ids[:, None] / 10, ids))
    >>> sample.result().ids, sample.seen
    (array([269, 855, 921]), 1000)
    """

    def __init__(self, size: int, seed: int | np.random.Generator) -> None:
        self.size = size
        self.seen = 0
        self._rng = np.random.default_rng(seed)
        self._limit = math.inf if size else 0.0  # rows with larger keys have no chance any more
        self._held = 0
        self._pieces: list[tuple[Floats, Index, T]] = []  # keys, positions and what is kept

    def add(self, item: T) -> None:
        """Offer rows; their values are copied if they stay."""
        n = next(column.shape[0] for column in item if column is not None)
        keys = self._rng.random(n)
        index = np.flatnonzero(keys < self._limit)
        if len(index) > self.size:  # more of them cannot stay, nor later ones with larger keys
            index = np.sort(index[np.argpartition(keys[index], self.size - 1)[: self.size]])
            self._limit = float(keys[index].max())
        if len(index):
            self._pieces.append((keys[index], self.seen + index, _take(item, index)))
            self._held += len(index)
        self.seen += n
        if self._pieces and self._held >= 2 * self.size:
            self._shrink()

    @property
    def keys(self) -> Floats:
        """The numbers that the rows of the result drew."""
        return self._shrink()[0]

    @property
    def positions(self) -> Index:
        """Which rows the result has, counted from 0 in the order they were added."""
        return self._shrink()[1] if self._pieces else np.zeros(0, dtype=np.intp)

    def result(self) -> T:
        """The sample, in the order the rows were added; an error when nothing was added."""
        return self._shrink()[2]

    def _shrink(self) -> tuple[Floats, Index, T]:
        """The pieces as one, without what does not fit."""
        if len(self._pieces) > 1 or self._held > self.size:
            columns = zip(*self._pieces, strict=True)
            keys, positions, item = next(columns), next(columns), _join(list(next(columns)))
            keys, positions = np.concatenate(keys), np.concatenate(positions)
            if len(keys) > self.size:
                keep = np.sort(np.argpartition(keys, self.size - 1)[: self.size])
                keys, positions, item = keys[keep], positions[keep], _take(item, keep)
                self._limit = float(keys.max())
            self._pieces, self._held = [(keys, positions, item)], len(keys)
        return self._pieces[0]


def _take(item: T, index: Index) -> T:
    columns = (None if x is None else arrays.to_numpy(arrays.pick(x, index)) for x in item)
    return cast("T", cast("Any", type(item))._make(columns))


def _join(items: list[T]) -> T:
    columns = zip(*items, strict=True)
    joined = (None if any(x is None for x in one) else np.concatenate(one) for one in columns)
    return cast("T", cast("Any", type(items[0]))._make(joined))


# ---- the sample of a summary ---------------------------------------------------------------------


#: What a sample has of every row.
_COLUMNS = ("rows", "weights", "index", "priority")


class WeightedRows(NamedTuple):
    """What a reservoir holds of the rows of a summary."""

    rows: Array  # in the library they came in until they are kept
    weights: Floats | None


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

    rows: Floats
    weights: Floats
    index: Index
    priority: Floats = field(repr=False)  # rising
    size: int
    bound: float = field(repr=False)  # infinite as long as no row was dropped
    passed: int = field(repr=False)  # rows that came by so far

    @classmethod
    def empty(cls, d: int) -> RowSample:
        """The sample that knows of no row, ever."""
        none = np.zeros(0)
        return cls(np.zeros((0, d)), none, np.zeros(0, dtype=np.intp), none, 0, 0.0, 0)

    @classmethod
    def drawn(cls, kept: Reservoir[WeightedRows], d: int) -> RowSample:
        """What a reservoir has kept of rows of `d` features."""
        if kept.size == 0:
            return cls.empty(d)
        rows, weights = kept.result()
        order = np.argsort(kept.keys, kind="stable")
        priority = kept.keys[order]
        complete = kept.seen <= kept.size
        return cls(
            np.asarray(rows)[order].astype(np.float64),
            np.ones(len(order)) if weights is None else weights[order],
            kept.positions[order],
            priority,
            kept.size,
            math.inf if complete else float(priority[-1]),
            kept.seen,
        )

    def __len__(self) -> int:
        return len(self.rows)

    def merged(self, other: RowSample) -> RowSample:
        """A sample of both; rows of `other` are numbered on."""
        size, bound = max(self.size, other.size), min(self.bound, other.bound)
        shifted = replace(other, index=other.index + self.passed)
        columns = {
            name: np.concatenate((getattr(self, name), getattr(shifted, name))) for name in _COLUMNS
        }
        order = np.argsort(columns["priority"], kind="stable")
        order = order[: np.count_nonzero(columns["priority"] <= bound)]
        if len(order) > size:
            order = order[:size]
            bound = float(columns["priority"][order[-1]])
        kept = {name: values[order] for name, values in columns.items()}
        return RowSample(size=size, bound=bound, passed=self.passed + other.passed, **kept)

    def taken(self, which: Bools) -> RowSample:
        """Some of the rows, as if the others had never come by."""
        return replace(self, **{name: getattr(self, name)[which] for name in _COLUMNS})


def random_rows(n: int, most: int, rng: np.random.Generator) -> Index:
    """Which of n rows in memory to take, at random and at most so many; in their order."""
    return np.sort(rng.permutation(n)[:most])
