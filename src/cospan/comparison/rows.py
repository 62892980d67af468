"""Rows to check: those that look like another set, and those that no set finds usual.

A row comes with its reasons: the values that conflict, and what is usual in each set. Of further
rows that have labels, the labels are audited instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cospan.base.types import Bools, Floats, Index
from cospan.comparison.audit import LabelAudit, separates, shares_of
from cospan.comparison.opening import as_text
from cospan.comparison.scoring import Group, Names
from cospan.data import listing
from cospan.errors import InputError
from cospan.evidence import Column, Reading, read_columns

LOOKS_ELSEWHERE = 0.8  # a row looks like another set that is four times as probable as its own
#: The middle part of a set's values is what is usual in it.
USUAL = (0.01, 0.99)
#: Reasons that a row comes with, and how far beyond the usual a value is that is one.
MOST_REASONS, CONFLICT = 3, 4.0
IQR = 1.35  # the middle half of a normal distribution in its standard deviations
#: Kinds of rows, in the order in which they are listed.
NO_SET, OTHER_SET, LABEL = "like no set", "like another set", "labelled otherwise"


class Reason(NamedTuple):
    """A value that conflicts: of a number what is usual in each set, of a level how common it is.

    `usual` has (low, high) of each set for a number, and (share, share) for a level.
    """

    column: str
    kind: str
    value: float | str
    usual: tuple[tuple[float, float], ...]

    def to_dict(self) -> dict[str, object]:
        """Plain types only."""
        return {**self._asdict(), "usual": [list(ends) for ends in self.usual]}


class RowToCheck(NamedTuple):
    """A row worth a look.

    `kind` is ``"like no set"``, ``"like another set"``, or ``"labelled otherwise"`` of a further
    row; `set` is its set (or label), `like` the set that it looks like most, `probability` that of
    `like`, and `usual` how usual it is for the set that finds it most so. Reasons and `values`, the
    row as it was scored, are known of the first rows of each kind.
    """

    set: str
    id: object
    kind: str
    like: str
    probability: float
    usual: float
    reasons: tuple[Reason, ...] = ()
    values: Floats | None = None

    def to_dict(self) -> dict[str, object]:
        """Plain types only."""
        name = self.id.item() if isinstance(self.id, np.generic) else self.id
        found = {**self._asdict(), "id": name, "reasons": [one.to_dict() for one in self.reasons]}
        del found["values"]
        return {key: None if value != value else value for key, value in found.items()}


# ---- which rows ----------------------------------------------------------------------------------


def weights_of(groups: Sequence[Group]) -> tuple[Floats, Index]:
    """The probabilities of the groups' kept rows, and the number of each row's group."""
    own = np.repeat(np.arange(len(groups)), [len(group.kept.ids) for group in groups])
    return np.concatenate([group.kept.weights for group in groups]), own


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
    weights, own = weights_of(groups)
    flagged = looking_elsewhere(weights, own)
    return tuple(replace(group, elsewhere=flagged[own == k]) for k, group in enumerate(groups))


def check_labels(
    groups: Sequence[Group], names: tuple[str, ...], further: Group
) -> tuple[Group, LabelAudit]:
    """The further rows with the labels that look wrong."""
    kept = further.kept
    assert kept.own is not None  # their labels are known
    audit = LabelAudit.from_weights(
        kept.weights,
        kept.own,
        np.array(names),
        labels=kept.labels,
        reference=weights_of(groups),
        shares=shares_of(kept.own, 2),
    )
    return replace(further, elsewhere=audit.flagged), audit


def sides_of_labels(labels: Names, names: tuple[str, ...], classes: Sequence[object]) -> Index:
    """0 for a label that means A, 1 for B: the set's name, the class taken for it, or 0 and 1.

    >>> sides_of_labels(np.array(["dog", "cat", "dog"]), ("cat", "dog"), (None, None))
    array([1, 0, 1])
    """
    texts = np.array([as_text(label) for label in np.asarray(labels).tolist()])
    taken = tuple(as_text(one) for one in classes if one is not None)
    for pair in (names, taken, ("0", "1")):
        if set(texts.tolist()) <= set(pair):
            return np.asarray(texts == pair[1], dtype=np.intp)
    unknown = sorted(set(texts.tolist()) - set(names))
    raise InputError(
        f"labels hold {listing(unknown)}; each label must be {names[0]!r} or {names[1]!r}, the "
        f"names of the sets. Call these as the labels do, with name_a= and "
        f"name_b=, or use 0 and 1."
    )


def find_rows(
    groups: Sequence[Group], names: Sequence[str], usual: Usual | None
) -> tuple[RowToCheck, ...]:
    """Rows like no set, the least usual first; then those like another set, the clearest first."""
    found: list[tuple[float, RowToCheck]] = []
    for group in groups:
        kept, like = group.kept, group.kept.weights.argmax(axis=1)
        labels = kept.labels if group.own is None and kept.own is not None else None
        listed = np.flatnonzero(group.elsewhere | group.neither).tolist()
        notable = dict(zip(group.notable.row_index.tolist(), group.notable.rows, strict=True))
        known = [i for i in listed if i in notable]
        why: dict[int, tuple[Reason, ...]] = {}
        if usual is not None and known:
            mine = [None if group.neither[i] else group.own for i in known]
            reasons = usual.reasons(np.stack([notable[i] for i in known]), mine, like[known])
            why = dict(zip(known, reasons, strict=True))
        for i in listed:
            alone, probability = bool(group.neither[i]), float(kept.weights[i, like[i]])
            row = RowToCheck(
                group.name if labels is None else str(labels[i]),
                kept.ids[i],
                NO_SET if alone else OTHER_SET if labels is None else LABEL,
                names[like[i]],
                probability,
                float(kept.typicality[i].max()),
                why.get(i, ()),
                notable.get(i),
            )
            # Of rows like no set the strangest first, then the surest of the others.
            strange = math.nan if kept.strange is None else float(kept.strange[i])
            found.append((strange if alone else 2 - probability, row))
    return tuple(row for _, row in sorted(found, key=lambda one: one[0]))


# ---- why -----------------------------------------------------------------------------------------


class Usual:
    """What is usual in each set, column by column."""

    def __init__(self, columns: Sequence[Column], samples: Sequence[Floats]) -> None:
        self.columns = columns
        read = [_single(columns, rows) for rows in samples]
        self._sides = {
            place: [_Shares(s[place]) if s[place].levels else _Numbers(s[place]) for s in read]
            for place in read[0]
        }

    def reasons(
        self, rows: Floats, own: Sequence[int | None], like: Index
    ) -> list[tuple[Reason, ...]]:
        """Of each row the values that conflict most: with its own set, or with every set.

        Beyond the usual is counted in squared standard deviations, of levels -2 log share.
        """
        read = _single(self.columns, rows)
        far = {
            place: np.stack([side.far(one.values) for side in self._sides[place]])
            for place, one in read.items()
        }
        found = []
        for k, mine in enumerate(own):
            conflicts = [
                (float(x[:, k].min() if mine is None else x[mine, k] - x[like[k], k]), place)
                for place, x in far.items()
            ]
            clear = sorted((-one, place) for one, place in conflicts if one >= CONFLICT)
            places = [place for _, place in clear[:MOST_REASONS]]
            found.append(tuple(self._reason(place, read[place], k) for place in places))
        return found

    def _reason(self, place: int, reading: Reading, k: int) -> Reason:
        column, value = self.columns[place], float(reading.values[k])
        ends = tuple(side.usual(value) for side in self._sides[place])
        shown = value if reading.levels is None else reading.levels[int(value)]
        return Reason(column.name, column.kind, shown, ends)


def _single(columns: Sequence[Column], rows: Floats) -> dict[int, Reading]:
    """The columns that have one value a row."""
    found = read_columns(columns, np.asarray(rows, dtype=np.float64))
    return {one.column: one for one in found if columns[one.column].kind != "vector"}


class _Numbers:
    def __init__(self, reading: Reading) -> None:
        values = reading.values[~np.isnan(reading.values)]
        ends = (USUAL[0], 0.25, 0.5, 0.75, USUAL[1])
        found = np.quantile(values, ends) if len(values) else np.full(5, math.nan)
        low, first, self._middle, third, high = found.tolist()
        spread = (third - first) / IQR
        self._spread = spread if spread > 0 else float(np.std(values)) if len(values) else 0.0
        self._ends = low, high

    def far(self, values: Floats) -> Floats:
        if not self._spread > 0:
            off = np.where(values == self._middle, 0.0, 4 * CONFLICT)
            return np.where(np.isnan(values), math.nan, off)
        return np.asarray(((values - self._middle) / self._spread) ** 2)

    def usual(self, value: float) -> tuple[float, float]:
        return self._ends


class _Shares:
    def __init__(self, reading: Reading) -> None:
        values = reading.values[~np.isnan(reading.values)].astype(np.intp)
        counts = np.bincount(values, minlength=len(reading.levels or ()))
        self._shares = counts / max(1, len(values))
        self._least = 0.5 / max(1, len(values))

    def far(self, values: Floats) -> Floats:
        known = ~np.isnan(values)
        shares = np.maximum(self._shares[np.where(known, values, 0).astype(np.intp)], self._least)
        return np.where(known, -2 * np.log(shares), math.nan)

    def usual(self, value: float) -> tuple[float, float]:
        share = float(self._shares[int(value)])
        return share, share
