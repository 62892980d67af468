"""The one sampler: a uniform sample of rows from chunks that are seen once.

Every row draws a number; the rows with the smallest numbers stay. The numbers depend on the seed
and the row's position alone, so the sample is the same however the rows are cut into chunks, and
a smaller sample with the same seed is part of a larger one.
"""

from __future__ import annotations

import math
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from cospan.base import arrays

T = TypeVar("T", bound=tuple[Any, ...])

FEWEST_ROWS = 200


def rows_within(n_bytes: int, n_features: int, most: int, fewest: int | None = None) -> int:
    """How many float64 rows fit into so many bytes: at most `most`, but never just a handful.

    >>> rows_within(2**25, 64, 2_000), rows_within(2**25, 100_000, 2_000)
    (2000, 200)
    """
    fewest = FEWEST_ROWS if fewest is None else fewest
    return min(most, max(fewest, n_bytes // (8 * max(n_features, 1))))


class Reservoir(Generic[T]):
    """Keeps `size` rows, each equally likely, of all that are added.

    What is added are named tuples of columns of one length (arrays of any library, which are kept
    on the host, or anything with ``column[index]`` and ``concatenate``; None for a column that is
    not there).

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
        self._keys: list[NDArray[np.float64]] = []
        self._positions: list[NDArray[np.intp]] = []
        self._items: list[T] = []

    def add(self, item: T) -> None:
        """Offer rows; their values are copied if they stay."""
        n = next(column.shape[0] for column in item if column is not None)
        keys = self._rng.random(n)
        index = self._entering(keys)
        if len(index):
            self._keys.append(keys[index])
            self._positions.append(self.seen + index)
            self._items.append(_take(item, index))
            self._held += len(index)
        self.seen += n
        if self._held >= 2 * self.size:
            self._shrink()

    @property
    def complete(self) -> bool:
        """Whether every row seen is still here."""
        return self.seen <= self.size

    @property
    def keys(self) -> NDArray[np.float64]:
        """The numbers that the rows of the result drew."""
        self._shrink()
        return self._keys[0]

    @property
    def positions(self) -> NDArray[np.intp]:
        """Which rows the result has, counted from 0 in the order they were added."""
        self._shrink()
        return self._positions[0] if self._positions else np.zeros(0, dtype=np.intp)

    def result(self) -> T:
        """The sample, in the order the rows were added; an error when nothing was added."""
        self._shrink()
        return self._items[0]

    def _entering(self, keys: NDArray[np.float64]) -> NDArray[np.intp]:
        """Positions, rising, of the rows that stay for now."""
        # Keys are uniform, so nearly always the smallest `size` of n are below this.
        likely = (self.size + 8 * math.sqrt(self.size) + 16) / max(len(keys), 1)
        index = np.flatnonzero(keys < min(self._limit, likely))
        if len(index) < self.size and likely < self._limit:
            index = np.flatnonzero(keys < self._limit)
        if len(index) > self.size:  # more of them cannot stay, nor later ones with larger keys
            index = np.sort(index[_smallest(keys[index], self.size)])
            self._limit = float(keys[index].max())
        return index

    def _shrink(self) -> None:
        """Merge the pieces into one and drop what does not fit."""
        if not self._items or (len(self._items) == 1 and self._held <= self.size):
            return
        keys, positions = np.concatenate(self._keys), np.concatenate(self._positions)
        items = self._items
        if len(keys) > self.size:
            keep = np.sort(_smallest(keys, self.size))
            ends = np.cumsum([len(part) for part in self._keys])
            parts = np.split(keep, np.searchsorted(keep, ends[:-1]))
            starts = [0, *ends[:-1].tolist()]
            items = [
                _take(item, part - start)
                for item, part, start in zip(items, parts, starts, strict=True)
            ]
            keys, positions = keys[keep], positions[keep]
            self._limit = float(keys.max())
        self._keys, self._positions, self._items = [keys], [positions], [_join(items)]
        self._held = len(keys)


def _smallest(keys: NDArray[np.float64], size: int) -> NDArray[np.intp]:
    return np.argpartition(keys, size - 1)[:size]


def _take(item: T, index: NDArray[np.intp]) -> T:
    make: Any = getattr(type(item), "_make", tuple)
    return cast("T", make(_rows_of(column, index) for column in item))


def _rows_of(column: Any, index: NDArray[np.intp]) -> Any:
    if isinstance(column, np.ndarray) or not arrays.is_array(column):
        return None if column is None else column[index]
    return arrays.to_numpy(arrays.pick(column, index))


def _join(items: list[T]) -> T:
    make: Any = getattr(type(items[0]), "_make", tuple)
    return cast("T", make(map(_concatenate, zip(*items, strict=True))))


def _concatenate(columns: tuple[Any, ...]) -> Any:
    if any(column is None for column in columns):
        return None
    if isinstance(columns[0], np.ndarray):
        return np.concatenate(columns)
    return type(columns[0]).concatenate(list(columns))
