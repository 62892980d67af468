"""Distances to neighbours: among the rows of one set, and in units of rows' balls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cospan._types import Floats


class Neighbours:
    """Nearest neighbours within one set, and of other rows in it."""

    def __init__(self, rows: Floats) -> None:
        from sklearn.neighbors import NearestNeighbors

        self._index = NearestNeighbors(algorithm="auto").fit(rows)

    def own(self, k: int) -> tuple[Floats, NDArray[np.intp]]:
        """Distances and numbers of the k nearest other rows of the set itself."""
        found = self._index.kneighbors(n_neighbors=k)
        return found[0], found[1]

    def copying(self, others: Floats) -> Floats:
        """Distance to the nearest row here, against that row's own nearest neighbour."""
        distance, nearest = self._index.kneighbors(others, n_neighbors=1)
        return _ratio(distance[:, 0], self.own(1)[0][nearest[:, 0], 0])

    def copying_among_themselves(self) -> Floats:
        """The same for the rows of the set, each left out in turn."""
        distance, nearest = self.own(2)
        here = np.arange(len(nearest))
        first = nearest[:, 0]
        # The neighbour's own neighbour may be the row left out: then its second one counts.
        other = np.where(nearest[first, 0] == here, distance[first, 1], distance[first, 0])
        return _ratio(distance[:, 0], other)


@dataclass(frozen=True)
class Relative:
    nearest: Floats  # least distance of every point in units of a ball
    inside: NDArray[np.intp]  # how many balls hold it
    reached: Floats  # least distance of a point from every ball's centre, in its units


def relative(
    points: Floats, centres: Floats, radius: Floats, *, without: Floats | None = None
) -> Relative:
    """Distances of points from centres in units of the centres' balls, block by block.

    With `without` the points are the centres themselves, each left out in turn: a ball that held
    the point reaches one neighbour further without it.
    """
    from scipy.spatial.distance import cdist

    nearest, inside = np.empty(len(points)), np.empty(len(points), dtype=np.intp)
    reached = np.full(len(centres), np.inf)
    for start in range(0, len(points), 1000):
        block = slice(start, min(start + 1000, len(points)))
        distance = cdist(points[block], centres)
        if without is None:
            ratio = _ratio(distance, radius)
        else:
            ratio = _ratio(distance, np.where(distance <= radius, without, radius))
            here = np.arange(block.start, block.stop)
            ratio[here - start, here] = np.inf
        nearest[block] = ratio.min(axis=1)
        inside[block] = np.count_nonzero(ratio <= 1, axis=1)
        np.minimum(reached, ratio.min(axis=0), out=reached)
    return Relative(nearest, inside, reached)


def _ratio(distance: Floats, unit: Floats) -> Floats:
    """distance / unit, with 0/0 = 1: among rows that have twins one more twin is usual."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = distance / unit
    return np.asarray(np.where((distance == 0) & (unit == 0), 1.0, found), dtype=np.float64)
