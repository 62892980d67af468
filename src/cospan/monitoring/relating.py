"""Relations within a window: over the rows that have both values, and how surely they are known.

What stands in for a missing value is the same in every row. With it two columns that are missing
together would be related, and a level that a column has no longer would still vary.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cospan._tolerance import NOT_ZERO, PERFECT_CORRELATION, constant_variance
from cospan._types import Floats, Index
from cospan.changes.correlating import VARIED_ROWS, side_of

__all__ = ["Related", "related"]


class Related(NamedTuple):
    """Of each two columns: their correlation, its variance a row, the rows, and those that vary.

    `varied` are the rows that differ from a column's usual value, those of the column with fewer.
    """

    r: Floats
    influence: Floats
    rows: Floats
    varied: Floats

    def noise(self, usual: Floats) -> Floats:
        """The variance of a window's correlations, if they are the `usual` ones but for chance.

        As Fisher's scale has it, or as it is, whichever says less; see :func:`correlating.apart`.
        A few rows with both of two rare levels make a large correlation, and a large variance.
        """
        free = np.maximum(1 - self.r**2, PERFECT_CORRELATION)
        direct = np.maximum(self.influence, (1 - ((self.r + usual) / 2) ** 2) ** 2)
        fisher = self.influence * ((1 - usual**2) / free) ** 2
        return np.asarray(np.minimum(fisher, direct) / self.rows)

    @property
    def known(self) -> Floats:
        """Which correlations are the matter of more than a few rows."""
        return np.asarray(self.varied >= VARIED_ROWS)

    def of(self, i: Index | int, j: Index | int) -> Related:
        """The same of some pairs."""
        return Related(*(field[i, j] for field in self))


def related(values: Floats, there: Floats | None) -> Related:
    """Correlations of columns of ranks and shares; `there` is 0 where a value is missing.

    Examples
    --------
    >>> x = np.column_stack([np.arange(60.0) / 60, np.arange(60)[::-1] / 60])
    >>> x[:10, 0] = 0.5  # stands for missing values
    >>> there = np.repeat([[0.0, 1.0], [1.0, 1.0]], [10, 50], axis=0)
    >>> found = related(x, there).of(0, 1)
    >>> float(found.r.round(6)), int(found.rows), bool(found.known)
    (-1.0, 50, True)
    """
    there = None if there is None or there.all() else there
    held = np.ones(values.shape) if there is None else there
    n = np.maximum(held.sum(axis=0), 1.0)
    u = (values - (values * held).sum(axis=0) / n) * held
    variance = np.einsum("ij,ij->j", u, u) / n
    u = u / np.sqrt(np.maximum(variance, NOT_ZERO))
    u[:, variance <= constant_variance(1.0)] = 0.0  # ranks and shares are at most 1
    side = side_of(u, np.arange(u.shape[1]), there)
    differ = _off_the_median(values, held)
    if there is None:
        varied = np.where(u.any(axis=0), differ.sum(axis=0), 0.0)
        rows = np.full(side.r.shape, float(len(u)))
        return Related(side.r, side.influence, rows, np.minimum.outer(varied, varied))
    rows = np.maximum(there.T @ there, 1.0)
    mean = u.T @ there / rows
    left = np.maximum((u * u).T @ there / rows - mean**2, 0.0)  # of a column's variance
    varied = (differ.T @ there) * np.minimum(left, 1.0)
    size = np.sqrt(np.maximum(left * left.T, constant_variance(1.0)))
    r = np.clip((u.T @ u / rows - mean * mean.T) / size, -1.0, 1.0)
    return Related(r, side.influence, rows, np.minimum(varied, varied.T))


def _off_the_median(values: Floats, there: Floats) -> Floats:
    """1 where a value is not the median: where most rows have one value, it is that."""
    ordered = np.sort(np.where(there > 0, values, np.inf), axis=0)
    middle = (there.sum(axis=0) // 2).astype(np.intp)
    usual = np.take_along_axis(ordered, np.minimum(middle, len(values) - 1)[None], axis=0)
    return np.asarray((values != usual) * there)
