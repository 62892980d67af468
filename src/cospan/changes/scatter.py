"""Columns that scatter more widely about what the others predict, in one set than in the other.

Depth is 200 z/(x + y): a column that is shuffled, or joined to the wrong rows, keeps its mean, its
spread and much of its rank correlations, but no longer what the others say of it. So every column
of numbers is regressed on its companions in each set by itself, robustly, on one half of the rows,
and its distances from the prediction are taken on the other half. Where the other set's fit
predicts it better, that one counts: a robust fit may miss what is there. Distances are compared by
ranks (Wilcoxon's test). A column is named where the others predict it in one set, its distances are
at least twice as large in the other, and its own spread does not explain that.

Rows without a value have no part in this, and columns that often have none predict no other:
what stands for missing values breaks relations.

A broken relation of several columns shows in each of them. The one that is left most open where
it is broken is named, and of several left about as open one that accounts for changed
correlations; then the others are asked again without it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from cospan._numbers import number, pair_of, share_text
from cospan._tolerance import LEAST_RESIDUAL, NOT_ZERO, constant_column
from cospan._types import Floats
from cospan.significance.residuals import MAX_COMPANIONS, robust_fit

from .correlating import best_alone
from .grouping import Column, Rows, present
from .twosample import compare_ordered
from .wording import quoted, shares_of

#: Rows of each set that are looked at, the columns that are asked, and those that are named.
MOST_ROWS, MOST_ASKED, MOST_NAMED, MOST_FEATURES = 1_000, 40, 3, 300
#: The others predict a column if they leave at most half of its size, and exactly if next to
#: nothing. Twice as wide is news; so strict a level leaves that of the other tests alone.
PREDICTED, EXACTLY, TWICE, STRICT = 0.5, 1e-4, 2.0, 0.001
#: Shares at least this part of the largest are about as large.
ABOUT = 0.8
#: Halves of fewer rows fit no relation.
_FEWEST_ROWS = 40
#: A column with more gaps than this in one set predicts no other.
MOST_MISSING = 0.2
#: Rows of one value, such as no children, up to which a column is one of numbers.
MOST_EQUAL = 0.25


class Scattered(NamedTuple):
    """How far a column is from what the others predict: the median in A and in B.

    `companion` is the column that predicts it best; `exact`: in one set it is given exactly.
    `equal`, where it is equal to that one in all rows of a set: in what shares of A's and of B's.
    """

    name: str
    companion: str
    a: float
    b: float
    exact: bool
    log_p: float
    equal: tuple[float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain types only: the median distances, and the column that predicts it best."""
        return {"a": self.a, "b": self.b, "given": self.companion}

    def sentence(self, names: tuple[str, str]) -> str:
        """In words, without a full stop; of equal columns without its subject, this column."""
        if self.equal is not None:
            first, never = int(self.equal[1] > self.equal[0]), min(self.equal) == 0
            x, y = (share_text(p) if p else "never" for p in self.equal)
            rows = shares_of((x, y), names, first=first, never=never)
            return f"equals {quoted(self.companion)} in {rows}"
        wide, narrow = (1, 0) if self.b > self.a else (0, 1)
        off = (self.a, self.b)
        known = {
            "name": quoted(self.name),
            "other": quoted(self.companion),
            "off": number(off[wide]),
        }
        sets = {"wide": names[wide], "narrow": names[narrow], "a": names[0], "b": names[1]}
        if self.exact:
            text = (
                "The other columns, {other} above all, give {name} exactly in most rows of "
                "{narrow}, but not in {wide}: half of its rows are more than {off} off"
            )
            return text.format(**known, **sets)
        text = (
            "Given the other columns, {other} above all, {name} scatters {times} times as wide in "
            "{wide} as in {narrow}: half of the rows are more than {x} off in {a}, {y} in {b}"
        )
        times, (x, y) = number(off[wide] / off[narrow], 2), pair_of(self.a, self.b)
        return text.format(times=times, x=x, y=y, **known, **sets)


class _Left(NamedTuple):
    """What the others leave of a column in one set."""

    off: Floats  # distances of rows from what the other half of them predicts
    size: float  # the median distance from the column's own median

    @property
    def share(self) -> float:
        return float(np.median(self.off)) / max(self.size, NOT_ZERO)


def scattered_given_others(
    columns: Sequence[Column], rows: Rows, leads: Collection[int] = ()
) -> dict[int, Scattered]:
    """The columns whose relation to the others is broken in one set, by their places.

    `leads` are columns that account for changed correlations.

    Examples
    --------
    >>> from cospan.changes.grouping import Rows, columns_of
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(2, 300, 4))
    >>> for X in (A, B):
    ...     X[:, 2] = X[:, 0] - X[:, 1] + 0.1 * X[:, 3]
    >>> B[:, 2] = rng.permutation(B[:, 2])
    >>> found = scattered_given_others(columns_of(None, "wxyz"), Rows(A, B, True), leads=[2])
    >>> [one.name for one in found.values()]
    ['y']
    """
    d = rows.a.shape[1]
    if len(columns) < 2 or d > MOST_FEATURES or min(len(rows.a), len(rows.b)) < _FEWEST_ROWS:
        return {}
    sets, units = _standardised(columns, rows)
    gappy = [j for k, c in enumerate(columns) for j in _places(c)
             if any(np.mean(one.there[:, k]) < 1 - MOST_MISSING for one in sets)]  # fmt: skip
    asked = [k for k, c in enumerate(columns) if c.ordered and c.kind != "boolean"]
    asked = [k for k in asked if len(columns[k].features) == 1][:MOST_ASKED]
    found: dict[int, Scattered] = {}
    while asked and len(found) < MOST_NAMED:
        of_named = [j for k in found for j in _places(columns[k])]
        used = np.setdiff1d(np.flatnonzero(units > 0), of_named)
        broken = _broken(columns, sets, units, asked, used, np.setdiff1d(used, gappy))
        if not broken:
            break
        most = max(share for share, _ in broken.values())
        first = max(
            broken, key=lambda k: (k in leads and broken[k][0] >= ABOUT * most, broken[k][0])
        )
        found[first] = broken[first][1]
        asked = [k for k in broken if k != first]
    return found


class _Set(NamedTuple):
    """Rows of one set, in random order: features in one unit for both sets; who has a value."""

    z: Floats
    there: NDArray[np.bool_]  # (rows, columns)


def _standardised(columns: Sequence[Column], rows: Rows) -> tuple[list[_Set], Floats]:
    """Both sets, and the units of the features; 0 for one that is constant."""
    rng = np.random.default_rng(0)
    taken = [x[rng.permutation(len(x))[:MOST_ROWS]] for x in rows[:2]]
    both = np.concatenate(taken)
    units = np.where(np.ptp(both, axis=0) > constant_column(both), both.std(axis=0), 0.0)
    per, found = np.where(units > 0, units, 1.0), []
    for x in taken:
        there = np.ones((len(x), len(columns)), dtype=bool)
        for k, column in enumerate(columns):
            mask = present(x, column)
            there[:, k] = True if mask is None else mask
        found.append(_Set((x - both.mean(axis=0)) / per, there))
    return found, units


def _places(column: Column) -> list[int]:
    return [*column.features, *(() if column.indicator is None else (column.indicator,))]


def _broken(
    columns: Sequence[Column],
    sets: Sequence[_Set],
    units: Floats,
    asked: Sequence[int],
    used: NDArray[np.intp],
    helpful: NDArray[np.intp],
) -> dict[int, tuple[float, Scattered]]:
    """Columns that scatter more widely, with the share that is left open where they do."""
    owner = {j: k for k, column in enumerate(columns) for j in _places(column)}
    found = {}
    for k in asked:
        j = columns[k].features[0]
        others = np.setdiff1d(helpful, _places(columns[k]))
        if not np.any(used == j) or not len(others):
            continue
        a, b = _left(sets, j, others, owner)
        if a is None or b is None or not _is_news(a, b):
            continue
        log_p = float(compare_ordered(a.off[:, None], b.off[:, None]).mean[0])
        log_p = min(0.0, log_p + math.log(len(columns)))
        if log_p > math.log(STRICT):
            continue
        narrow, known = (a, sets[0].z) if a.share < b.share else (b, sets[1].z)
        among = [c for c in columns if c is not columns[k] and np.isin(c.features, others).any()]
        found[k] = (
            max(a.share, b.share),
            Scattered(
                columns[k].name,
                best_alone([known], columns[k], among).name,
                float(np.median(a.off) * units[j]),
                float(np.median(b.off) * units[j]),
                narrow.share <= EXACTLY,
                log_p,
            ),
        )
    return found


def _left(
    sets: Sequence[_Set], j: int, others: NDArray[np.intp], owner: dict[int, int]
) -> tuple[_Left | None, _Left | None]:
    """What the others leave of feature j in both sets, among the rows that have all values."""
    fewest = min(np.count_nonzero(one.there[:, owner[j]]) for one in sets)
    most = min(MAX_COMPANIONS // 2, fewest // (2 * _FEWEST_ROWS))
    if not most:
        return None, None
    first = [others[_by_help(one.z[one.there[:, owner[j]]], j, others)[:most]] for one in sets]
    companions = np.array(list(dict.fromkeys([*first[0].tolist(), *first[1].tolist()])))
    known = [one.there[:, [owner[k] for k in (j, *companions)]].all(axis=1) for one in sets]
    if min(map(np.count_nonzero, known)) < _FEWEST_ROWS:
        return None, None
    if any(_often_the_same(one.z[rows, j]) for one, rows in zip(sets, known, strict=True)):
        return None, None
    X = [one.z[np.ix_(rows, companions)] for one, rows in zip(sets, known, strict=True)]
    y = [one.z[rows, j] for one, rows in zip(sets, known, strict=True)]
    fits = [[robust_fit(x[h::2], v[h::2])[:2] for h in (0, 1)] for x, v in zip(X, y, strict=True)]
    found = []
    for k in (0, 1):
        own, theirs = (
            np.stack([np.abs(y[k] - X[k] @ slopes - middle) for slopes, middle in fits[m]])
            for m in (k, 1 - k)
        )
        own[0, ::2] = own[1, ::2]  # no row is predicted by a fit that it had a part in
        off = min(own[0], *theirs, key=np.median)
        size = float(np.median(np.abs(y[k] - np.median(y[k]))))
        found.append(_Left(off, size))
    return found[0], found[1]


def _often_the_same(values: Floats) -> bool:
    """Whether one value is so frequent that a robust fit settles on it."""
    times = np.unique(values, return_counts=True)[1]
    return bool(times.max() > MOST_EQUAL * len(values))


def _by_help(z: Floats, j: int, others: NDArray[np.intp]) -> NDArray[np.intp]:
    """The order of the others by their partial correlations with feature j."""
    moments = np.cov(z[:, [j, *others]], rowvar=False)
    inverse = linalg.inv(moments + LEAST_RESIDUAL * np.eye(len(moments)))
    partial = np.abs(inverse[0, 1:]) / np.sqrt(np.diag(inverse)[1:])
    return np.argsort(-partial, kind="stable")


def _is_news(a: _Left, b: _Left) -> bool:
    """Predicted in one set, twice as far off in the other, and not for a spread of its own."""
    if min(a.size, b.size) == 0 or min(a.share, b.share) > PREDICTED:
        return False
    own = math.log(b.size / a.size)
    found = []
    for part in (0.5, 0.75):  # most rows, and not only those in the middle
        off = [max(float(np.quantile(x.off, part)), LEAST_RESIDUAL) for x in (a, b)]
        wider = math.log(off[1] / off[0])
        found += [wider, wider - own]
    return abs(sum(map(np.sign, found))) == len(found) and min(map(abs, found)) >= math.log(TWICE)
