"""Identical rows: draws that happen to be equal, or copies of one draw?

A permutation test takes rows as independent draws. Copies are not: each row would count several
times, and the labels of copies would be permuted apart. Whether identical rows are copies cannot
be read off them for certain, so the rule is one that is right either way:

* Where rows meet by chance, as categories and counts do, all are kept and every row's label may
  be permuted. Chance is judged from the columns, without the labels: the probability that two
  rows agree in one column, multiplied over the columns, explains the identical rows.
* Otherwise one row of each kind is kept in each set, and a kind's labels are only exchanged with
  those of kinds that stand in the pooled rows equally often. Given how often a kind stands there,
  its share of A is the same for all kinds, whether copies or draws made the repetitions. A kind
  that both sets have keeps its labels: it says nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Distinct", "settle_copies"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Rows meet by chance if chance explains at least this part of the pairs of identical rows.
_EXPLAINED = 0.5
# A column fills its lattice (counts, categories, grades) if it takes at least this part of the
# equally spaced values between its smallest and its largest.
_FILLED = 0.5
# Kinds that both sets have: a stratum each, in which nothing can be exchanged.
_COMMON = -1


class Distinct(NamedTuple):
    """Rows to compare, and the strata within which labels may be permuted, A's rows first."""

    a: Floats
    b: Floats
    strata: Indices


def settle_copies(a: Floats, b: Floats, copies: str) -> Distinct:
    """Both sets without copies, as far as `copies` says so; the order is kept."""
    rows = np.concatenate([a, b])
    everything = Distinct(a, b, np.zeros(len(rows), dtype=np.intp))
    if copies == "keep":
        return everything
    kind = _kinds(rows)
    times = np.bincount(kind)
    if np.all(times == 1) or (copies == "auto" and _meet_by_chance(rows, kind)):
        return everything
    first = [np.sort(np.unique(part, return_index=True)[1]) for part in (kind[: len(a)], kind[len(a) :])]
    kept = np.concatenate([kind[: len(a)][first[0]], kind[len(a) :][first[1]]])
    common = np.bincount(kept)[kept] == 2
    group = times[kept] if copies == "auto" else np.zeros_like(kept)
    # Each row of a common kind is a stratum of its own: its label stays.
    strata = np.where(common, _COMMON - np.arange(len(kept)), group)
    return Distinct(a[first[0]], b[first[1]], strata)


def _kinds(rows: Floats) -> Indices:
    """A number for each row, equal where rows are equal to the last bit."""
    plain = np.ascontiguousarray(rows) + 0.0  # -0.0 becomes 0.0, the same value
    whole = plain.view(np.dtype((np.void, plain.itemsize * plain.shape[1]))).ravel()
    return np.unique(whole, return_inverse=True)[1].ravel()


def _meet_by_chance(rows: Floats, kind: Indices) -> bool:
    """Do independent columns explain the identical rows?"""
    different = np.unique(kind, return_index=True)[1]
    identical = _agreement(kind)
    chance = 1.0
    for column in rows.T:
        values = np.unique(column)
        if len(values) == 1:
            continue
        steps = (values[-1] - values[0]) / np.min(np.diff(values))
        # Among different rows a continuous column never agrees: its ties are the copies.
        of = column if len(values) >= _FILLED * (steps + 1) else column[different]
        chance *= _agreement(np.unique(of, return_inverse=True)[1].ravel())
        if chance < _EXPLAINED * identical:
            return False
    return True


def _agreement(value: Indices) -> float:
    """Share of the pairs that agree."""
    times = np.bincount(value).astype(float)
    n = len(value)
    return float(np.sum(times * (times - 1)) / max(n * (n - 1), 1))
