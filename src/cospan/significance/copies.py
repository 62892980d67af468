"""Identical rows: copies of one draw, or draws that happen to be equal?

A permutation test takes rows as independent draws. Rows that were copied are not: a copy in the
other half gives the label away, and every row would count several times. Draws from few possible
values (categories, counts, small pools) repeat as well, but then across the sets as often as
within them, and they must stay.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["drop_copies"]

Floats = NDArray[np.float64]

# Copies: at most this part of the equal pairs across the sets that equal draws would show ...
_ACROSS = 0.05
# ... and at least this share of different rows. Fewer than that are a list of categories.
_DIFFERENT = 0.05


def drop_copies(a: Floats, b: Floats, copies: str) -> tuple[Floats, Floats]:
    """Both sets with one of each identical row, if `copies` says so; the order is kept."""
    if copies == "keep":
        return a, b
    names = _row_names(np.concatenate([a, b]))
    name_a, name_b = names[: len(a)], names[len(a) :]
    if copies == "auto" and not _look_copied(name_a, name_b):
        return a, b
    first_a, first_b = (np.sort(np.unique(name, return_index=True)[1]) for name in (name_a, name_b))
    return a[first_a], b[first_b]


def _row_names(rows: Floats) -> NDArray[np.intp]:
    """A number for each row, equal where rows are equal to the last bit."""
    plain = np.ascontiguousarray(rows) + 0.0  # -0.0 becomes 0.0, the same value
    whole = plain.view(np.dtype((np.void, plain.itemsize * plain.shape[1]))).ravel()
    return np.unique(whole, return_inverse=True)[1].ravel()


def _look_copied(name_a: NDArray[np.intp], name_b: NDArray[np.intp]) -> bool:
    """Do rows repeat within the sets, but hardly ever across them?"""
    n_names = int(max(name_a.max(), name_b.max())) + 1
    a = np.bincount(name_a, minlength=n_names).astype(float)
    b = np.bincount(name_b, minlength=n_names).astype(float)
    n_a, n_b = len(name_a), len(name_b)
    within = np.sum(a * (a - 1) + b * (b - 1)) / 2
    if within == 0:
        return False
    across = np.sum(a * b)
    share = n_a * n_b / ((n_a + n_b) * (n_a + n_b - 1) / 2)
    few_across = across <= _ACROSS * share * (within + across)
    return bool(few_across and n_names >= _DIFFERENT * (n_a + n_b))
