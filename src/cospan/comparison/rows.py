"""Rows to check: those that look like another set, and those that no set finds usual.

A row comes with its reasons: the values that conflict, and what is usual in each set. Of further
rows that have labels, the labels are audited instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.audit import LabelAudit, separates, shares_of
from cospan.base.notes import Note
from cospan.base.types import Floats, Record
from cospan.comparison.opening import as_text
from cospan.comparison.scoring import Group, Names
from cospan.data import listing
from cospan.errors import InputError
from cospan.evidence import Column, Reading, RowsToCheck, read_columns

LOOKS_ELSEWHERE = 0.8  # a row looks like another set that is four times as probable as its own
#: The middle part of a set's values is what is usual in it.
USUAL = (0.01, 0.99)
#: Reasons that a row comes with, and how far beyond the usual a value is that is one.
MOST_REASONS, CONFLICT = 3, 4.0
#: The middle half of a normal distribution in its standard deviations.
IQR = 1.35
#: Kinds of rows, in the order in which they are listed.
NO_SET, OTHER_SET, LABEL = "like no set", "like another set", "labelled otherwise"

Bools = NDArray[np.bool_]


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
    id: Any
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


class Checked(NamedTuple):
    """Rows that look elsewhere: (n,) of the sets' kept rows, or of the labelled further rows.

    `audit` is there for labels; of rows of sets it is made when asked for.
    """

    flagged: Bools
    of: str  # "sets", or "z" for the labels of further rows
    audit: LabelAudit | None = None
    notes: tuple[Note, ...] = ()

    def to_check(self, groups: Sequence[Group]) -> RowsToCheck:
        """How many rows of two sets look like the other set, and how many of all like neither.

        Labels of further rows have an audit of their own: then none of the sets is counted.
        """
        a, b = 0, 0
        if self.of == "sets":
            n = len(groups[0].ids)
            a, b = int(self.flagged[:n].sum()), int(self.flagged[n:].sum())
        return RowsToCheck(a, b, int(sum(group.neither.sum() for group in groups)))


def weights_of(groups: Sequence[Group]) -> tuple[Floats, NDArray[np.intp]]:
    """The probabilities of the groups' kept rows, and the number of each row's group."""
    own = np.repeat(np.arange(len(groups)), [len(group.ids) for group in groups])
    return np.concatenate([group.kept.weights for group in groups]), own


def looking_elsewhere(weights: Floats, own: NDArray[np.intp]) -> Bools:
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


def check_rows(groups: Sequence[Group]) -> Checked:
    """Rows against their sets."""
    return Checked(looking_elsewhere(*weights_of(groups)), "sets")


def check_labels(
    groups: Sequence[Group], names: tuple[str, str], further: Group, classes: Sequence[object]
) -> Checked:
    """The labels of further rows."""
    labels, weights = np.asarray(further.labels), further.kept.weights
    sides = sides_of_labels(labels, names, classes)
    known = sides >= 0
    audit = LabelAudit.from_weights(
        weights[known],
        sides[known],
        np.array(names),
        labels=labels[known],
        reference=weights_of(groups),
        shares=shares_of(sides[known], 2),
    )
    if known.all():
        return Checked(audit.flagged, "z", audit)
    found: Record = {"labels": labels, "weights": weights}
    for key in ("suspicion", "mislabelled", "flagged"):  # nothing is said against other labels
        own = getattr(audit, key)
        found[key] = np.zeros(len(known), own.dtype)
        found[key][known] = own
    found["suggested"] = labels.astype(object)
    found["suggested"][known] = audit.suggested
    others = listing(sorted({as_text(label) for label in labels[~known].tolist()}))
    n = int((~known).sum())
    rows, their = ("row is", "its label is") if n == 1 else ("rows are", "their labels are")
    text = f"{further.name}: {n:,} {rows} labelled {others}, which is no set; {their} not checked."
    note = Note("labels not checked", text, loud=True)
    return Checked(found["flagged"], "z", replace(audit, **found), (note,))


def sides_of_labels(
    labels: Names, names: tuple[str, str], classes: Sequence[object]
) -> NDArray[np.intp]:
    """0 for a label that means A, 1 for B, -1 for one that means neither.

    A label may be the set's name, the class taken for it, or 0 and 1.

    >>> sides_of_labels(np.array(["dog", "cat", "dog"]), ("cat", "dog"), (None, None))
    array([1, 0, 1])
    """
    texts = np.array([as_text(label) for label in np.asarray(labels).tolist()])
    found = set(texts.tolist())
    called = names, tuple(as_text(x) for x in classes if x is not None)
    meant = [pair for pair in (*called, ("0", "1")) if found <= set(pair)]
    for pair in (*meant, *(pair for pair in called if found & set(pair))):
        return np.where(np.isin(texts, pair), texts == pair[1], -1).astype(np.intp)
    unknown = sorted(found - set(names))
    raise InputError(
        f"labels hold {listing(unknown)}; each label must be {names[0]!r} or {names[1]!r}, the "
        f"names of the sets. Call these as the labels do, with name_a= and "
        f"name_b=, or use 0 and 1."
    )


def find_rows(
    groups: Sequence[Group], checked: Checked, names: Sequence[str], usual: Usual | None
) -> tuple[RowToCheck, ...]:
    """Rows like no set, the least usual first; then those like another set, the clearest first."""
    of_labels = checked.of == "z"
    found: list[tuple[float, RowToCheck]] = []
    start = 0
    for group in groups:
        kept, n = group.kept, len(group.ids)
        flagged = np.zeros(n, dtype=bool)
        audited = (group.own is None) == of_labels
        if audited:
            flagged = checked.flagged[start : start + n]
            start += n
        like, listed = kept.weights.argmax(axis=1), np.flatnonzero(flagged | group.neither)
        notable = dict(zip(group.notable.row_index.tolist(), group.notable.rows, strict=True))
        known = [i for i in listed.tolist() if i in notable]
        values = {i: notable[i] for i in known}
        why: dict[int, tuple[Reason, ...]] = {}
        if usual is not None and known:
            mine = [None if group.neither[i] else group.own for i in known]
            reasons = usual.reasons(np.stack([values[i] for i in known]), mine, like[known])
            why = dict(zip(known, reasons, strict=True))
        for i in listed.tolist():
            alone, probability = bool(group.neither[i]), float(kept.weights[i, like[i]])
            strange = math.nan if kept.strange is None else float(kept.strange[i])
            row = RowToCheck(
                str(kept.labels[i]) if audited and of_labels and kept.labels is not None
                else group.name,
                kept.ids[i],
                NO_SET if alone else LABEL if of_labels else OTHER_SET,
                names[like[i]],
                probability,
                float(kept.typicality[i].max()),
                why.get(i, ()),
                values.get(i),
            )  # fmt: skip
            # Of rows like no set the strangest first, then the surest of the others.
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
        self, rows: Floats, own: Sequence[int | None], like: NDArray[np.intp]
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
