"""The rows of a set are dealt to folds, and each fold has a summary of its own.

What is said of a set's own rows comes from models that they had no part in: a fold is scored by a
model of the others, whose summary is that of the other folds, merged. Rows are dealt by their
running number, so that the folds do not depend on how the rows come: at once, in chunks, or by
workers. Rows that belong together are dealt together, by a key that they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add

import numpy as np

from cospan.base import arrays
from cospan.base.rows import Keys, mixed
from cospan.base.types import Index
from cospan.summary.sample import RowSample
from cospan.summary.summary import Summary

FOLDS = 5
#: Of wider data, unless it has fewer rows than columns, five matrices a set are too many.
WIDE, FOLDS_OF_WIDE = 4096, 2
# Ways to deal groups that are tried, for folds of much the same size.
_DEALS = 100


def fold_count(n_features: int, n_rows: int | None) -> int:
    """How many folds a set has: five, or two where features are many and rows even more.

    >>> fold_count(784, None), fold_count(10_000, 300), fold_count(10_000, None)
    (5, 5, 2)
    """
    few = n_rows is not None and n_rows < n_features
    return FOLDS if few or n_features <= WIDE else FOLDS_OF_WIDE


def dealt_by_number(numbers: Index, n_folds: int) -> Index:
    """The folds of rows with these running numbers: of every so many rows in turn, one each.

    >>> sorted(dealt_by_number(np.arange(5), 5).tolist())
    [0, 1, 2, 3, 4]
    """
    if n_folds == 1:
        return np.zeros(len(numbers), dtype=np.intp)
    turn, place = np.divmod(np.asarray(numbers, dtype=np.int64), n_folds)
    key = mixed(np.zeros(len(turn), dtype=np.uint64), turn.astype(np.uint64))
    start = (key % np.uint64(n_folds)).astype(np.int64)
    step = ((key >> np.uint64(32)) % np.uint64(n_folds - 1)).astype(np.int64) + 1
    return np.asarray((start + step * place) % n_folds, dtype=np.intp)


def dealt_by_key(keys: Keys, n_folds: int, salt: int = 0) -> Index:
    """The folds of rows with these keys; rows of one key share a fold."""
    salted = mixed(np.full(len(keys), salt, dtype=np.uint64), keys)
    return np.asarray(salted % np.uint64(n_folds), dtype=np.intp)


def best_salt(keys: Sequence[Keys], n_folds: int) -> int | None:
    """The salt that deals these keys of every set most evenly; None where a set has one key."""
    counted = [np.unique(one, return_counts=True) for one in keys]
    if any(len(different) < 2 for different, _ in counted):
        return None

    def largest(salt: int) -> float:
        """The largest share of a set in one fold."""
        shares = (
            np.bincount(dealt_by_key(own, n_folds, salt), rows).max() / rows.sum()
            for own, rows in counted
        )
        return float(max(shares))

    salt = min(range(_DEALS), key=largest)
    return salt if largest(salt) < 1 else None


@dataclass(frozen=True, eq=False)
class FoldedSummary:
    """A set's summary in parts, one for each fold of its rows; see `SummaryBuilder`."""

    parts: tuple[Summary | None, ...]  # without samples; None where a fold has no rows
    sample: RowSample  # of all rows
    dealt: Index  # the fold of each row of the sample

    @cached_property
    def whole(self) -> Summary:
        """The summary of all rows."""
        return replace(_together(self.parts), sample=self.sample)

    def without(self, fold: int) -> Summary:
        """The summary of the rows of all other folds."""
        others = [part for k, part in enumerate(self.parts) if k != fold]
        return replace(_together(others), sample=self.sample.taken(self.dealt != fold))


def _together(parts: Sequence[Summary | None]) -> Summary:
    """The summary of all parts; of fewer rows than features it holds the rows, if they do."""
    known = [part for part in parts if part is not None]
    few = sum(part.count for part in known) < known[0].n_features
    if len(known) == 1 or not (few and all(part._holds_rows for part in known)):
        return reduce(add, known)
    moved, like = [part.factor_parts()[0] + part.mean[None, :] for part in known], known[0]
    rows = arrays.namespace(moved[0]).concat(moved, axis=0)
    found = Summary.of(rows, exact=like.exact, sample_size=0)
    return replace(found, feature_names=like.feature_names, eps=like.eps)
