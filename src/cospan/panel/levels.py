"""Levels that do not go with the rest of a row: a premature birth in the fortieth week.

For every column with a few values (levels, truth values, grades, whether it is missing) a tree
learns from half of the real rows how often each value occurs given the other columns. A split
counts where it saves more bits than it takes to write it down: log₂ of the number of places where
it could have been, and half of log₂ n for each further share (the minimum description length). A
column that goes with no other has a tree without a split. A row's misfit is the sum over the
columns of log(share of its value / share given the rest), where that is above 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from cospan.base.types import Floats, Index

__all__ = ["misfits"]

#: A column of numbers with no more different values than this is one of levels, too.
FEW_VALUES = 10
#: Columns that are looked at, and numbers that a tree learns from: this bounds the time.
MOST_COLUMNS, MOST_NUMBERS = 50, 250_000


def misfits(
    real: Floats, made: Floats, groups: Sequence[Index], half: Index
) -> tuple[Floats, Floats]:
    """How little the levels of made and of real rows go with the rest of them.

    `groups` are the features of each column. Real rows are judged by the other half of them (`half`
    is 0 or 1), made rows by both.
    """
    usual, found = np.zeros(len(real)), np.zeros(len(made))
    held = ((group, *_levels(real[:, group])) for group in groups)
    few = ((group, values, levels) for group, values, levels in held if len(values) > 1)
    for group, values, levels in itertools.islice(few, MOST_COLUMNS):
        others, codes = np.delete(real, group, axis=1), _places(made[:, group], values)
        for k in (0, 1) if others.shape[1] else ():
            own = np.flatnonzero(half == k)
            own = own[:: -(-own.size * others.shape[1] // MOST_NUMBERS)]
            tree = _Tree(others[own], levels[own], len(values))
            usual[half != k] += tree.misfit(others[half != k], levels[half != k])
            found += tree.misfit(np.delete(made, group, axis=1), codes) / 2
    return found, usual


def _levels(rows: Floats) -> tuple[Floats, Index]:
    """The different values of a column, and which one each row has; none if they are many."""
    values, codes = np.unique(rows, axis=0, return_inverse=True)
    many = rows.shape[1] == 1 and len(values) > FEW_VALUES
    return (values[:0] if many else values), codes.ravel()


def _places(rows: Floats, values: Floats) -> Index:
    """Which of the values each row has; -1 for none of them."""
    known = {value.tobytes(): k for k, value in enumerate(values)}
    return np.array([known.get(np.ascontiguousarray(row).tobytes(), -1) for row in rows])


class _Tree:
    """How often each value of a column occurs, given the others."""

    def __init__(self, others: Floats, codes: Index, n_values: int) -> None:
        from sklearn.tree import DecisionTreeClassifier

        n, d = others.shape
        self.shares = np.bincount(codes, minlength=n_values) / n
        different = np.count_nonzero(self.shares)
        bits = np.log2(max(n * d, 2)) + (different - 1) / 2 * np.log2(n)
        self._tree = DecisionTreeClassifier(
            criterion="log_loss", min_impurity_decrease=bits / n, random_state=0
        ).fit(others, codes)
        leaves = self._tree.apply(others)
        self._counts = np.zeros((self._tree.tree_.node_count, n_values))
        np.add.at(self._counts, (leaves, codes), 1.0)

    def misfit(self, others: Floats, codes: Index) -> Floats:
        """log(share / share given the others) of each row's value, 0 where that is below 0."""
        counts = self._counts[self._tree.apply(others)]
        at = np.arange(len(codes)), np.maximum(codes, 0)
        own = self.shares[at[1]]
        # One row more that has every value as often as all rows have it.
        given = (counts[at] + own) / (counts.sum(axis=1) + 1)
        found = np.zeros(len(codes))
        known = (codes >= 0) & (own > 0)  # a value that half of the rows do not have says nothing
        found[known] = np.maximum(np.log(own[known] / given[known]), 0.0)
        return found
