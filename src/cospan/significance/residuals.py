"""What columns leave of each other: relations that most rows keep, and the rows that break them.

A total is the sum of its parts, a date is its year and its month, a price follows the size. Such a
relation is a direction in which the rows hardly vary. Where one set breaks it, the pooled rows vary
there a little more, which no view of strong directions sees; and a fit to all rows would be half
the relation and half the broken rows. So each column is fitted to its companions by robust
regression (Cauchy's weights, 1/(1 + (residual/scale)²) with the median size of the residuals as
the scale, renewed in every step): it settles on what most rows keep, in whichever set they are.

No label is looked at: the fit is one of all rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from cospan._tolerance import LEAST_RESIDUAL, LEAST_RIDGE, NOT_ZERO
from cospan._types import Floats

# Columns that are fitted, those that others leave the least of; and the companions of each.
MAX_FITTED, MAX_COMPANIONS = 40, 20
# Of wider rows there are too many companions to choose from.
_MAX_WIDTH = 512
# Rows for each companion: with fewer, the fit is to noise.
_ROWS_EACH = 10
# A column has a relation if its companions leave less than this part of its size, by the median.
_KEPT = 0.5
# Exact relations are found from starts that mix two sets in seven steps or fewer.
_STEPS = 8
# Values that make a column one of numbers: two are an indicator's.
_FEWEST_VALUES = 3


class Relations(NamedTuple):
    """Residuals of m of d standardised columns: ``columns @ weights - middle``."""

    weights: Floats  # (d, m)
    middle: Floats  # (m,)
    size: Floats  # (m,): the residuals' median size

    def residuals(self, columns: Floats) -> Floats:
        """(n, m): what the companions leave, in units of its median size."""
        return np.asarray((columns @ self.weights - self.middle) / self.size)

    def distances(self, columns: Floats) -> Floats:
        """(n, m): how far rows are from each relation, as a logarithm: 0 where they keep it."""
        return np.asarray(np.log1p(self.residuals(columns) ** 2))

    @classmethod
    def fit(cls, columns: Floats) -> Relations:
        """Of standardised columns, (n, d).

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> columns = rng.normal(size=(300, 4))
        >>> columns[:200, 3] = columns[:200, 0] - columns[:200, 1]  # kept by two rows of three
        >>> found = Relations.fit(columns)
        >>> found.weights.T.round(3) + 0.0
        array([[ 1., -1.,  0., -1.],
               [-1.,  1.,  0.,  1.],
               [-1.,  1.,  0.,  1.]])
        """
        n, d = columns.shape
        most = min(MAX_COMPANIONS, d - 1, n // _ROWS_EACH)
        found = []
        if most > 0 and d <= _MAX_WIDTH:
            inverse = scipy.linalg.inv(columns.T @ columns / n + LEAST_RESIDUAL * np.eye(d))
            left = np.diag(inverse)
            numbers = [j for j in np.argsort(-left, kind="stable") if _varies(columns[:, j])]
            for j in numbers[:MAX_FITTED]:
                partial = np.abs(inverse[j]) / np.sqrt(left)
                partial[j] = -1
                companions = np.argsort(-partial, kind="stable")[:most]
                slopes, middle, size = robust_fit(columns[:, companions], columns[:, j])
                if size < _KEPT * _median_size(columns[:, j]):
                    weights = np.zeros(d)
                    weights[j], weights[companions] = 1, -slopes
                    found.append((weights, middle, size))
        if not found:
            return cls(np.zeros((d, 0)), np.zeros(0), np.zeros(0))
        return cls(
            np.column_stack([one[0] for one in found]),
            np.array([one[1] for one in found]),
            np.array([one[2] for one in found]),
        )


def _varies(column: Floats) -> bool:
    """Whether it is one of numbers, and most rows are not at one value."""
    return len(np.unique(column)) >= _FEWEST_VALUES and _median_size(column) > NOT_ZERO


def _median_size(values: Floats) -> float:
    return float(np.median(np.abs(values - np.median(values))))


def robust_fit(X: Floats, y: Floats) -> tuple[Floats, float, float]:
    """Slopes of a robust regression, its intercept, and the median size of the residuals.

    X, (n, k), and y, (n,), are in units of their standard deviations, or near them.
    """
    X = np.column_stack([X, np.ones(len(y))])
    weight = np.ones(len(y))
    ridge = LEAST_RIDGE * len(y) * np.eye(X.shape[1])
    for _ in range(1 + _STEPS):
        weighted = X * weight[:, None]
        slopes = scipy.linalg.solve(weighted.T @ X + ridge, weighted.T @ y, assume_a="pos")
        left = y - X @ slopes
        size = max(float(np.median(np.abs(left))), LEAST_RESIDUAL)
        weight = 1 / (1 + (left / size) ** 2)
    return slopes[:-1], float(slopes[-1]), size
