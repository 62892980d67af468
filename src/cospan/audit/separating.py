"""Whether left-out rows separate two classes at all: if not, no row speaks against its label."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cospan._types import Floats
from cospan.distribution import rank_auc

# Standard errors above chance. The shrinkage was chosen to separate the classes, so the AUC of
# meaningless labels spreads a little more than it should: 1 % of such pairs reach 3.
_ERRORS_ABOVE_CHANCE = 3.0


def separates(weights: Floats, own: NDArray[np.intp], i: int, j: int) -> bool:
    """Do left-out rows of classes i and j lean to their own class more than by chance?

    Judged by the AUC of the weights of the two against its standard error under chance. Classes
    of two or three rows never pass.

    Parameters
    ----------
    weights : (n, K)
        Each row left out of its own class.
    own : (n,)
        Number of each row's class.
    i, j : int
        The two classes. Where one of them has no rows, nothing is known against them.

    Examples
    --------
    >>> own = np.repeat([0, 1], 10)
    >>> lean = np.where(own == 1, 0.8, 0.3)
    >>> separates(np.column_stack([1 - lean, lean]), own, 0, 1)
    True
    >>> separates(np.full((20, 2), 0.5), own, 0, 1)
    False
    """
    rows_i, rows_j = weights[own == i], weights[own == j]
    n_i, n_j = len(rows_i), len(rows_j)
    if not n_i or not n_j:
        return True
    auc = rank_auc(_lean(rows_i, i, j), _lean(rows_j, i, j))
    error = math.sqrt((n_i + n_j + 1) / (12 * n_i * n_j))
    return auc > 0.5 + _ERRORS_ABOVE_CHANCE * error


def _lean(rows: Floats, i: int, j: int) -> Floats:
    """w_j / (w_i + w_j): how much more class j explains each row than class i."""
    both = rows[:, i] + rows[:, j]
    even = np.full(len(rows), 0.5)
    return np.asarray(np.divide(rows[:, j], both, out=even, where=both > 0))
