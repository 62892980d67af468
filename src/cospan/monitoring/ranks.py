"""Where a value ranks in the reference: a sketch of each feature's distribution.

Up to `POINTS` values with their mid-ranks, the share of smaller values plus half of the equal ones,
scaled to [-1, 1]. Values that many rows have (zero, the limits of an instrument) are points of
their own, so that their rank is exact; between points it is interpolated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cospan.base.tolerance import NOT_ZERO
from cospan.base.types import Floats

__all__ = ["Ranks", "excess", "legendre", "legendre_means", "ranks_of"]


POINTS = 192
#: Where points are wanted: evenly, and closer and closer towards both ends, where a value may lie
#: far from the next.
_ENDS = 1 - np.geomspace(2e-5, 1e-2, 8)
_EVEN = np.sort(np.concatenate([np.linspace(-1, 1, POINTS // 2), _ENDS, -_ENDS]))
#: Ranges of the reference that a value is counted beyond it, at most: two rows are no alarm yet.
_FURTHEST = 1e3


class Ranks(NamedTuple):
    """Rising values of the reference and their mid-ranks in [-1, 1].

    Examples
    --------
    >>> ranks = ranks_of(np.array([1.0, 2.0, 2.0, 4.0]))
    >>> ranks.of(np.array([0.0, 1.0, 2.0, 3.0, 9.0]))
    array([-1.   , -0.75 ,  0.   ,  0.375,  1.   ])
    """

    values: Floats
    at: Floats

    def of(self, x: Floats) -> Floats:
        """The ranks of values; -1 and 1 where all of the reference lies above or below."""
        return np.asarray(np.interp(x, self.values, self.at, left=-1.0, right=1.0))


def ranks_of(x: Floats) -> Ranks:
    """The sketch of some values, one at least."""
    values, counts = np.unique(x, return_counts=True)
    at = 2 * (np.cumsum(counts) - counts / 2) / len(x) - 1
    return _thinned(values, at, 2 * counts / len(x))


def _thinned(values: Floats, at: Floats, mass: Floats) -> Ranks:
    if len(values) > POINTS:
        spread = np.searchsorted(at, _EVEN)
        heavy = np.argsort(-mass, kind="stable")[: POINTS // 6]
        heavy = heavy[mass[heavy] >= 4 / POINTS]
        # The neighbours too: ranks step at a value that many rows have, they do not slope.
        kept = np.concatenate([spread, heavy - 1, heavy, heavy + 1, [0]])
        kept = np.unique(kept.clip(0, len(values) - 1))
        values, at = values[kept], at[kept]
    return Ranks(values.astype(np.float64), at)


def excess(values: Floats, low: Floats, high: Floats, width: Floats | None = None) -> Floats:
    """How far values are beyond a range, in units of its `width`: log(1 + distance), bounded.

    Examples
    --------
    >>> excess(np.array([[0.5], [1.0], [3.0], [-1e9]]), np.zeros(1), np.ones(1)).round(2).ravel()
    array([0.  , 0.  , 1.1 , 6.91])
    """
    width = high - low if width is None else width
    size = np.maximum(np.abs(low), NOT_ZERO)
    distance = np.maximum(low - values, values - high)
    with np.errstate(over="ignore"):
        distance = np.maximum(distance, 0.0) / np.where(width > 0, width, size)
    return np.asarray(np.log1p(np.minimum(distance, _FURTHEST)))


def legendre_means(u: Floats, weights: Floats | None = None) -> Floats:
    """Means of the four scores over the rows of u, (n, k); `weights` 0 leaves an entry out.

    A column of which everything is left out has the scores of nothing: 0.
    """
    n = len(u) if weights is None else np.maximum(weights.sum(axis=0), 1.0)
    held = u if weights is None else u * weights
    squared = held * u
    first, second = held.sum(axis=0) / n, squared.sum(axis=0) / n
    third = np.einsum("ij,ij->j", squared, u) / n
    fourth = np.einsum("ij,ij->j", squared, u * u) / n
    scores = (first, 1.5 * second - 0.5, 2.5 * third - 1.5 * first)
    found = np.stack([*scores, 4.375 * fourth - 3.75 * second + 0.375], axis=1)
    if weights is not None:
        found[weights.sum(axis=0) == 0] = 0.0
    return found


def legendre(u: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Four bounded scores of ranks: where, how wide, and two of the shape.

    For a rank that is uniform on [-1, 1] they have mean 0 and are uncorrelated.
    """
    squared = u * u
    return (
        u,
        1.5 * squared - 0.5,
        u * (2.5 * squared - 1.5),
        squared * (4.375 * squared - 3.75) + 0.375,
    )
