"""Identical rows: draws that happen to be equal, or copies of one draw?

A permutation test takes rows as independent draws. Copies are not: each row would count several
times, and the labels of copies would be permuted apart. Whether identical rows are copies cannot
be read off them for certain, so the rule is one that is right either way:

* Where rows meet by chance, as categories and counts do, each row is a unit of its own and every
  label may be permuted. Chance is judged from the columns, without the labels: the probability
  that two rows agree in one column, multiplied over the columns, explains the identical rows.
  Columns that exclude each other are the levels of one category, and count as one column.
* Otherwise the units are the different rows. Each is in A, in B or in both, whatever how
  often, and these places are only permuted among rows that the pooled sets hold equally often.
  Given that number, every row has the same chances of each place, whether copies or draws from a
  small pool made the repetitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan._types import Floats, Index

Hashes = NDArray[np.uint64]
# The place of a unit.
IN_A, IN_B, BOTH = 0, 1, 2
# Rows meet by chance if chance explains at least this part of the pairs of identical rows.
_EXPLAINED = 0.5
# A column fills its lattice (counts, categories, grades) if it takes at least this part of the
# equally spaced values between its smallest and its largest.
_FILLED = 0.5
# Numbers hashed at once: they stay in the processor's cache.
_BLOCK = 2**15


class Units(NamedTuple):
    """What is permuted: rows, their places (IN_A, IN_B or BOTH), and the strata of exchange."""

    rows: Floats
    places: NDArray[np.int8]
    strata: Index

    def apart(self) -> tuple[Units, Index]:
        """The same with a row for each set of those in both, and the unit of every row."""
        a, b = np.flatnonzero(self.places != IN_B), np.flatnonzero(self.places != IN_A)
        unit = np.concatenate([a, b])
        places = np.repeat(np.array([IN_A, IN_B], dtype=np.int8), [len(a), len(b)])
        alone = -1 - np.arange(len(unit))  # a negative stratum: nothing to exchange with
        strata = np.where(self.places[unit] == BOTH, alone, self.strata[unit])
        return Units(self.rows[unit], places, strata), unit


def settle_copies(a: Floats, b: Floats, copies: str, merged: Hashes | None = None) -> Units:
    """The units of both sets, in the order of their first rows; `merged` as in `row_kinds`."""
    rows = np.concatenate([a, b])
    in_b = np.arange(len(rows)) >= len(a)
    everything = Units(rows, in_b.astype(np.int8), np.zeros(len(rows), dtype=np.intp))
    if copies == "keep":
        return everything
    kind = row_kinds(rows, merged)
    times = np.bincount(kind)
    if np.all(times == 1) or (copies == "auto" and _meet_by_chance(rows, kind, merged)):
        return everything
    first = np.sort(np.unique(kind, return_index=True)[1])
    kept = kind[first]
    times_in_b = np.bincount(kind, weights=in_b)[kept]
    places = np.where(times_in_b == 0, IN_A, np.where(times_in_b == times[kept], IN_B, BOTH))
    strata = times[kept] if copies == "auto" else np.zeros(len(kept), dtype=np.intp)
    return Units(rows[first], places.astype(np.int8), strata)


def row_kinds(rows: Floats, merged: Hashes | None = None) -> Index:
    """A number for each row, equal where rows are equal to the last bit, and `merged` is equal.

    `merged` are hashes of what the numbers do not tell, as rare levels with a common feature.
    By a 64-bit hash of the bits: of a million different rows two have the same in one of forty
    million cases.
    """
    found = row_hashes(rows) if merged is None else row_hashes(rows) + merged
    return np.asarray(np.unique(found, return_inverse=True)[1].ravel(), dtype=np.intp)


def row_hashes(rows: Floats) -> NDArray[np.uint64]:
    """(n,): a hash of each row's bits, the same for equal rows of any array."""
    n, d = rows.shape
    odd = np.random.default_rng(0).integers(0, 2**63, (2, d), dtype=np.uint64) * 2 + 1
    found = np.empty(n, dtype=np.uint64)
    step = max(1, _BLOCK // max(1, d))
    for start in range(0, n, step):
        # -0.0 becomes 0.0, the same value
        plain = np.ascontiguousarray(rows[start : start + step], dtype=np.float64) + 0.0
        # Low bits of a product know nothing of a factor's high ones: so the high bits are folded
        # back before columns are added up.
        bits = plain.view(np.uint64)
        bits *= odd[0]
        bits ^= bits >> np.uint64(32)
        bits *= odd[1]
        bits ^= bits >> np.uint64(29)
        found[start : start + step] = bits.sum(axis=1, dtype=np.uint64)
    return found


def both_merged(a: Hashes | None, b: Hashes | None) -> Hashes | None:
    """What was merged in the rows of two sets, one behind the other; None where that is unknown."""
    return None if a is None or b is None else np.concatenate([a, b])


def _meet_by_chance(rows: Floats, kind: Index, merged: Hashes | None) -> bool:
    """Do independent columns explain the identical rows?"""
    different = np.unique(kind, return_index=True)[1]
    identical = _agreement(kind)
    chance, columns = 1.0, _whole_columns(rows)
    if merged is not None:
        _, first, own = np.unique(merged, return_index=True, return_inverse=True)
        chance = _agreement(own[different])  # as of a continuous column
        columns = (x for x in columns if not np.array_equal(x[first][own], x))  # it decides these
    for column in columns:
        values = np.unique(column)
        if len(values) == 1:
            continue
        steps = (values[-1] - values[0]) / np.min(np.diff(values))
        # Among different rows a continuous column never agrees: its ties are the copies.
        of = column if len(values) >= _FILLED * (steps + 1) else column[different]
        chance *= _agreement(np.unique(of, return_inverse=True)[1].ravel())
        if chance < _EXPLAINED * identical:
            break
    return chance >= _EXPLAINED * identical


def _whole_columns(rows: Floats) -> Iterator[Floats]:
    """The columns, with neighbours of 0 and 1 that exclude each other as one: levels."""
    category, filled = np.zeros(len(rows)), 0
    for column in rows.T:
        level = (column == 0) | (column == 1)
        if level.all() and not np.any((category > 0) & (column == 1)):
            filled += 1
            category = np.where(column == 1, filled, category)
            continue
        if filled:
            yield category
        category, filled = np.zeros(len(rows)), 0
        if level.all():
            category, filled = column.copy(), 1
        else:
            yield column
    if filled:
        yield category


def _agreement(value: Index) -> float:
    """Share of the pairs that agree."""
    times = np.bincount(value).astype(float)
    n = len(value)
    return float(np.sum(times * (times - 1)) / max(n * (n - 1), 1))
