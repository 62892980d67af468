"""Rank correlations of features in one set, their errors, and whether two sets have the same.

And by ranks, too: which column predicts another best.

Where a column has gaps, its correlations are those of the rows that have both values, ranked among
themselves: hurricanes have a category, and among all storms every hurricane's wind is high.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, stats

from cospan._tolerance import PERFECT_CORRELATION
from cospan._types import Floats

from .grouping import Column

__all__ = [
    "VARIED_ROWS", "Side", "apart", "best_alone", "correlated", "side_of",
    "standard_ranks",
]  # fmt: skip

#: Rows of each set that must differ from the feature's usual value: with fewer a correlation is
#: the matter of a few rows.
VARIED_ROWS = 10
#: Two columns with gaps have rows of their own to be ranked, at most this many of them in this
#: many pairs; of more pairs each column is ranked among its own rows.
_GAP_ROWS, _GAP_PAIRS = 5_000, 500
#: Rows of each set by which the best of a column's companions is found.
_FEW_ROWS = 2_000


class Side(NamedTuple):
    """Correlations in one set, (len(left), f), the variance of their influences, and rows."""

    r: Floats
    influence: Floats
    n: Floats


def standard_ranks(values: Floats, masks: Sequence[Any]) -> tuple[Floats, NDArray[np.bool_]]:
    """Mid-ranks with mean 0 and variance 1, 0 where missing; and which columns vary enough."""
    found = np.zeros(values.shape)
    enough = np.zeros(values.shape[1], dtype=bool)
    complete = [j for j, mask in enumerate(masks) if mask is None]
    groups = [(complete, None)] + [([j], m) for j, m in enumerate(masks) if m is not None]
    for places, mask in groups:
        part = values[:, places] if mask is None else values[np.ix_(mask, places)]
        if not places or len(part) < 2 * VARIED_ROWS:
            continue
        rank = _centred_ranks(part)
        deviation = np.sqrt(np.einsum("ij,ij->j", rank, rank) / len(part))
        # The largest tie has the variance (1 - t³/n³)/12 left beside it.
        n = len(part)
        left = 1 - (1 - np.minimum(1.0, 12 * deviation**2 / n**2)) ** (1 / 3)
        good = left * n >= VARIED_ROWS
        rank /= np.where(good, deviation, 1.0)
        rank[:, ~good] = 0
        enough[places] = good
        if mask is None:
            found[:, places] = rank
        else:
            found[np.ix_(mask, places)] = rank
    return found, enough


def _centred_ranks(values: Floats) -> Floats:
    """Mid-ranks with mean 0, column by column; those of two values need no sorting."""
    n = len(values)
    low, high = values.min(axis=0), values.max(axis=0)
    at_high = values == high
    two = np.all(at_high | (values == low), axis=0)
    found = np.empty(values.shape)
    # k rows have the high value: its mid-rank is n/2 above that of the low one.
    found[:, two] = (at_high[:, two] - at_high[:, two].mean(axis=0)) * (n / 2)
    rest = np.flatnonzero(~two)
    if len(rest):
        found[:, rest] = stats.rankdata(values[:, rest], axis=0) - (n + 1) / 2
    return found


def correlated(values: Floats, masks: Sequence[Any], u: Floats, left: NDArray[np.intp]) -> Side:
    """Of features on the left with all, (len(left), f): `u` are their ranks, 0 where missing."""
    there: Floats | None = None
    if any(mask is not None for mask in masks):
        there = np.column_stack([np.ones(len(u)) if m is None else m for m in masks])
    found = side_of(u, left, there)
    groups: dict[bytes, list[int]] = {}
    for j, mask in enumerate(masks):
        if mask is not None:
            groups.setdefault(mask.tobytes(), []).append(j)
    gaps = list(groups.values())
    complete = [j for j, mask in enumerate(masks) if mask is None]
    for members in gaps:
        _put(found, values, masks[members[0]], members, complete, left)
    if len(gaps) * (len(gaps) + 1) // 2 <= _GAP_PAIRS:
        for i, members in enumerate(gaps):
            for others in gaps[: i + 1]:
                both = masks[members[0]] & masks[others[0]]
                _put(found, values, both, members, others, left)
    return found


def _put(
    found: Side,
    values: Floats,
    rows: NDArray[np.bool_],
    first: list[int],
    second: list[int],
    left: NDArray[np.intp],
) -> None:
    """Correlations of two groups of features over some rows, at their places in what was found."""
    places = np.flatnonzero(rows)[:_GAP_ROWS]
    members = list(dict.fromkeys([*first, *second]))
    if not second or not len(places):
        return
    ranks, enough = standard_ranks(values[places][:, members], [None] * len(members))
    exact = side_of(ranks, np.arange(len(members)), None)
    n = np.where(enough[:, None] & enough[None, :], exact.n, 1.0)  # next to no evidence
    at = {j: k for k, j in enumerate(members)}
    for place, j in enumerate(left.tolist()):
        if j not in at:
            continue
        partners = second if j in first else first
        if j in first and j in second:
            partners = members
        k = [at[p] for p in partners]
        found.r[place, partners] = exact.r[at[j], k]
        found.influence[place, partners] = exact.influence[at[j], k]
        found.n[place, partners] = n[at[j], k]


def side_of(u: Floats, left: NDArray[np.intp], there: Floats | None) -> Side:
    """Correlations of columns that have mean 0 and variance 1, 0 where `there` is."""
    v = u[:, left]
    n: Any = float(len(u))
    if there is not None:
        n = np.maximum(1.0, there[:, left].T @ there)
    r = np.clip(v.T @ u / n, -1.0, 1.0)
    squares = u * u
    cubes = squares * u
    both = squares[:, left].T @ squares / n
    cross = cubes[:, left].T @ u
    # Where all features are on the left, the other way round is the same product transposed.
    mixed = (cross + (cross.T if len(left) == u.shape[1] else v.T @ cubes)) / n
    own = len(u) if there is None else np.maximum(1.0, there.sum(axis=0))
    fourth = np.einsum("ij,ij->j", squares, squares) / own
    influence = both - r * mixed + r**2 / 4 * (fourth[left][:, None] + 2 * both + fourth[None, :])
    free = np.broadcast_to(np.maximum(n - 4, 1.0), r.shape).copy()
    return Side(r, np.maximum(influence, 0.0), free)


def apart(a: Side, b: Side) -> Floats:
    """The difference of two correlations in its standard errors, B less A.

    On Fisher's scale or as it is, whichever says less: a correlation of exactly 1, which a few
    rows of a rare level give easily, is infinitely far from all others on Fisher's scale.
    """
    near = 1 - PERFECT_CORRELATION
    free = [np.maximum(1 - side.r**2, PERFECT_CORRELATION) for side in (a, b)]
    steps = [np.arctanh(np.clip(side.r, -near, near)) for side in (a, b)]
    errors = [
        np.maximum(side.influence / f**2, 1.0) / side.n
        for side, f in zip((a, b), free, strict=True)
    ]
    fisher = (steps[1] - steps[0]) / np.sqrt(errors[0] + errors[1])
    normal = (1 - ((a.r + b.r) / 2) ** 2) ** 2
    plain = [
        np.maximum(np.maximum(side.influence, normal), PERFECT_CORRELATION) / side.n
        for side in (a, b)
    ]
    direct = (b.r - a.r) / np.sqrt(plain[0] + plain[1])
    return np.asarray(np.where(np.abs(fisher) < np.abs(direct), fisher, direct))


def best_alone(sets: Sequence[Floats], column: Column, others: Sequence[Column]) -> Column:
    """The one of the others that predicts a column of numbers best by itself.

    By ranks within each set. Every level of a category is a feature, and more of them always
    predict more: what chance would give them does not count.
    """
    parts = (x[:: math.ceil(len(x) / _FEW_ROWS)] for x in sets)
    ranks = np.concatenate([stats.rankdata(x, axis=0) / len(x) - 0.5 for x in parts])
    y = ranks[:, column.features[0]]

    def left(other: Column) -> float:
        X = ranks[:, list(other.features)]
        rest = y - X @ linalg.lstsq(X, y)[0]
        return float(rest @ rest) / max(1, len(y) - len(other.features) - 1)

    return min(others, key=left)
