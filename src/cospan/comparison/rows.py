"""Rows to check: those that look like another set, and those that no set finds usual.

A row comes with its reasons: the values that conflict, and what is usual in each set.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cospan.base.tables import plain
from cospan.base.types import Bools, Floats, Index
from cospan.comparison.audit import separates
from cospan.comparison.scoring import Group
from cospan.evidence import Column, Reading, read_columns

LOOKS_ELSEWHERE = 0.8  # a row looks like another set that is four times as probable as its own
#: The middle part of a set's values is what is usual in it.
USUAL = (0.01, 0.99)
#: Reasons that a row comes with, how far beyond the usual a value is that is one, and the first
#: rows of each kind that reasons are looked for.
MOST_REASONS, CONFLICT, EXPLAINED = 3, 4.0, 200
IQR = 1.35  # the middle half of a normal distribution in its standard deviations
#: Kinds of rows, in the order in which they are listed.
NO_SET, OTHER_SET = "like no set", "like another set"


class Reason(NamedTuple):
    """A value that conflicts: of a number what is usual in each set, of a level how common it is.

    `usual` has (low, high) of each set for a number, and (share, share) for a level.
    """

    column: str
    kind: str
    value: float | str
    usual: tuple[tuple[float, float], ...]


class RowToCheck(NamedTuple):
    """A row worth a look.

    `kind` is ``"like no set"`` or ``"like another set"``; `set` is its set, `like` the set that it
    looks like most, `probability` that of `like`, `usual` how usual it is for the set that finds it
    most so, and `values` the row as it was scored. Reasons are known of the first rows of a kind.
    """

    set: str
    id: object
    kind: str
    like: str
    probability: float
    usual: float
    values: Floats
    reasons: tuple[Reason, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Plain types only."""
        found = {**self._asdict(), "reasons": [one._asdict() for one in self.reasons]}
        del found["values"]
        return dict(plain(found))


# ---- which rows ----------------------------------------------------------------------------------


def looking_elsewhere(weights: Floats, own: Index) -> Bools:
    """Rows that look like another set than their own, mistake or not.

    Weights that do not separate two sets are no evidence against any row of them.

    >>> weights = np.repeat([[0.9, 0.1], [0.1, 0.9]], 20, axis=0)
    >>> weights[3] = 0.1, 0.9
    >>> np.flatnonzero(looking_elsewhere(weights, np.repeat([0, 1], 20)))
    array([3])
    """
    mine, best = weights[np.arange(len(own)), own], weights.max(axis=1, initial=0.0)
    flagged = (best > mine) & (best >= LOOKS_ELSEWHERE * (best + mine))
    like = weights.argmax(axis=1)
    for i, j in {(min(pair), max(pair)) for pair in zip(own[flagged], like[flagged], strict=True)}:
        if not separates(weights, own, int(i), int(j)):
            flagged &= ~(((own == i) & (like == j)) | ((own == j) & (like == i)))
    return np.asarray(flagged)


def check_rows(groups: Sequence[Group]) -> tuple[Group, ...]:
    """The groups of the sets, with their rows that look elsewhere."""
    own = np.repeat(np.arange(len(groups)), [group.n for group in groups])
    flagged = looking_elsewhere(np.concatenate([group.weights for group in groups]), own)
    return tuple(replace(group, elsewhere=flagged[own == k]) for k, group in enumerate(groups))


def find_rows(
    groups: Sequence[Group],
    names: Sequence[str],
    columns: Sequence[Column],
    readings: Sequence[Sequence[Reading]],
) -> tuple[RowToCheck, ...]:
    """Rows like no set, the least usual first; then those like another set, the clearest first.

    Reasons are looked for in the `columns`, of which every set has `readings`.
    """
    found: list[RowToCheck] = []
    for kind in (NO_SET, OTHER_SET):
        listed = [one for group in groups for one in _rows_of(group, kind, names)]
        listed.sort(key=lambda one: one[0])
        rows = [row for _, _, row in listed]
        if columns and rows:
            first = rows[:EXPLAINED]
            own = [None if kind == NO_SET else own for _, own, _ in listed[:EXPLAINED]]
            like = [names.index(row.like) for row in first]
            values = np.stack([row.values for row in first])
            why = _reasons(columns, readings, values, own, like)
            rows[:EXPLAINED] = [
                row._replace(reasons=one) for row, one in zip(first, why, strict=True)
            ]
        found += rows
    return tuple(found)


def _rows_of(
    group: Group, kind: str, names: Sequence[str]
) -> Iterator[tuple[float, int | None, RowToCheck]]:
    """The rows of one kind: what they are ordered by, the number of their set, and the row."""
    like, probability = group.weights.argmax(axis=1), group.weights.max(axis=1)
    listed, order = group.elsewhere & ~group.neither, -probability
    if kind == NO_SET:
        listed, order = group.neither, group.strange
    for i in np.flatnonzero(listed).tolist():
        usual = float(group.typicality[i].max())
        like_most, how_likely = names[like[i]], float(probability[i])
        row = RowToCheck(
            group.name, group.ids[i], kind, like_most, how_likely, usual, group.rows[i]
        )
        yield float(order[i]), group.own, row


# ---- why -----------------------------------------------------------------------------------------


def _reasons(
    columns: Sequence[Column],
    readings: Sequence[Sequence[Reading]],
    rows: Floats,
    own: Sequence[int | None],
    like: Sequence[int],
) -> Iterator[tuple[Reason, ...]]:
    """Of each row the values that conflict most: with its own set, or with every set.

    Beyond the usual is counted in squared standard deviations, of levels -2 log share.
    """
    sets = [{one.column: one for one in side} for side in readings]
    read = {one.column: one for one in read_columns(columns, np.asarray(rows, dtype=np.float64))}
    far, usual = {}, {}
    for place, one in read.items():
        of = _beyond_shares if one.levels else _beyond_spread
        both = [of(side[place].values, one) for side in sets]
        far[place], usual[place] = (np.stack(part) for part in zip(*both, strict=True))
    for k, mine in enumerate(own):
        conflicts = [
            (float(x[:, k].min() if mine is None else x[mine, k] - x[like[k], k]), place)
            for place, x in far.items()
        ]
        clear = sorted((-one, place) for one, place in conflicts if one >= CONFLICT)
        reasons = []
        for _, place in clear[:MOST_REASONS]:
            column, levels, value = columns[place], read[place].levels, read[place].values[k]
            shown = float(value) if levels is None else levels[int(value)]
            ends = tuple((float(low), float(high)) for low, high in usual[place][:, k])
            reasons.append(Reason(column.name, column.kind, shown, ends))
        yield tuple(reasons)


def _beyond_spread(values: Floats, rows: Reading) -> tuple[Floats, Floats]:
    """How far numbers are from the middle, 0 for usual ones, and the ends (n, 2) of these."""
    known = values[~np.isnan(values)]
    cuts = (USUAL[0], 0.25, 0.5, 0.75, USUAL[1])
    low, first, middle, third, high = (
        np.quantile(known, cuts).tolist() if len(known) else [math.nan] * 5
    )
    spread = (third - first) / IQR
    if not spread > 0:
        spread = float(np.std(known)) if len(known) else 0.0
    ends = np.tile([low, high], (len(rows.values), 1))
    far = ((rows.values - middle) / spread) ** 2 if spread > 0 else 4 * CONFLICT
    usual = (rows.values >= low) & (rows.values <= high)
    return np.where(np.isnan(rows.values), math.nan, np.where(usual, 0.0, far)), ends


def _beyond_shares(values: Floats, rows: Reading) -> tuple[Floats, Floats]:
    """The same of levels (rare ones are all alike), and their shares, twice."""
    known = values[~np.isnan(values)].astype(np.intp)
    n, there = max(1, len(known)), ~np.isnan(rows.values)
    counts = np.bincount(known, minlength=len(rows.levels or ()))
    shares = counts[np.where(there, rows.values, 0).astype(np.intp)] / n
    far = np.where(there, -2 * np.log(np.maximum(shares, USUAL[0])), math.nan)
    return far, np.column_stack([shares, shares])
