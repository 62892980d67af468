"""Rows to check: those that look like another set, and those that no set finds usual.

A row comes with its reasons: the values that conflict, and what is usual in each set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.audit import LabelAudit
from cospan.base.types import Floats
from cospan.comparison.scoring import Group
from cospan.evidence import Column, Reading, read_columns

#: The middle part of a set's values is what is usual in it.
USUAL = (0.01, 0.99)
#: Reasons that a row comes with, and how far beyond the usual a value is that is one.
MOST_REASONS, CONFLICT = 3, 4.0
#: The middle half of a normal distribution in its standard deviations.
IQR = 1.35
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

    def to_dict(self) -> dict[str, Any]:
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

    def to_dict(self) -> dict[str, Any]:
        """Plain types only."""
        name = self.id.item() if isinstance(self.id, np.generic) else self.id
        found = {**self._asdict(), "id": name, "reasons": [one.to_dict() for one in self.reasons]}
        del found["values"]
        return {key: None if value != value else value for key, value in found.items()}


def find_rows(
    groups: Sequence[Group],
    audit: LabelAudit,
    of_labels: bool,
    names: Sequence[str],
    usual: Usual | None,
) -> tuple[RowToCheck, ...]:
    """Rows like no set, the least usual first; then those like another set, the clearest first."""
    found: list[tuple[float, RowToCheck]] = []
    start = 0
    for group in groups:
        kept, n = group.kept, len(group.kept.ids)
        audited = (group.own is None) == of_labels
        flagged = np.zeros(n, dtype=bool)
        if audited:
            flagged = np.asarray(audit.flagged)[start : start + n]
        values = _values_of(group)
        for i in np.flatnonzero(flagged | group.neither).tolist():
            like = int(np.argmax(kept.weights[i]))
            alone = bool(group.neither[i])
            kind = NO_SET if alone else LABEL if of_labels else OTHER_SET
            own = str(audit.labels[start + i]) if of_labels and audited else group.name
            strange = math.nan if kept.strange is None else float(kept.strange[i])
            # Of rows like no set the strangest first, then the surest of the others.
            key = strange if alone else 2 - float(kept.weights[i, like])
            row = RowToCheck(
                own, kept.ids[i], kind, names[like], float(kept.weights[i, like]),
                float(kept.typicality[i].max()),
            )  # fmt: skip
            if i in values:
                mine = None if alone else group.own
                why = () if usual is None else usual.reasons(values[i], mine, like)
                row = row._replace(reasons=why, values=values[i])
            found.append((key, row))
        start += n if audited else 0
    return tuple(row for _, row in sorted(found, key=lambda one: one[0]))


def _values_of(group: Group) -> Mapping[int, Floats]:
    """Values of the rows that were kept for a reader, by their places among the scored ones."""
    if group.notable is None:
        return {}
    return dict(zip(group.notable.row_index.tolist(), group.notable.rows, strict=True))


class Usual:
    """What is usual in each set, column by column."""

    def __init__(self, columns: Sequence[Column], samples: Sequence[Floats]) -> None:
        self.columns = columns
        read = [_single(columns, rows) for rows in samples]
        self._kinds: dict[int, list[_Numbers | _Shares]] = {
            place: [_Shares(sides[place]) if sides[place].levels else _Numbers(sides[place])
                    for sides in read]
            for place in read[0]
        }  # fmt: skip

    def reasons(self, row: Floats, own: int | None, like: int) -> tuple[Reason, ...]:
        """The values that conflict most: with their own set, or with every set where own is None.

        Beyond the usual is counted in squared standard deviations, of levels -2 log share.
        """
        found = []
        for place, reading in _single(
            self.columns, np.asarray(row, dtype=np.float64)[None]
        ).items():
            value = float(reading.values[0])
            sides = self._kinds[place]
            if math.isnan(value):
                continue
            far = [side.far(value) for side in sides]
            conflict = min(far) if own is None else far[own] - far[like]
            if conflict >= CONFLICT:
                shown = value if reading.levels is None else reading.levels[int(value)]
                column = self.columns[place]
                ends = tuple(side.usual(value) for side in sides)
                found.append((conflict, Reason(column.name, column.kind, shown, ends)))
        found.sort(key=lambda one: -one[0])
        return tuple(reason for _, reason in found[:MOST_REASONS])


def _single(columns: Sequence[Column], rows: Floats) -> dict[int, Reading]:
    """The columns that have one value a row."""
    found = read_columns(columns, np.asarray(rows, dtype=np.float64))
    return {one.column: one for one in found if columns[one.column].kind != "vector"}


class _Numbers:
    def __init__(self, reading: Reading) -> None:
        values = reading.values[~np.isnan(reading.values)]
        low, first, self._middle, third, high = (
            np.quantile(values, (USUAL[0], 0.25, 0.5, 0.75, USUAL[1])) if len(values)
            else np.full(5, math.nan)
        )  # fmt: skip
        spread = (third - first) / IQR
        self._spread = spread if spread > 0 else (float(np.std(values)) if len(values) else 0.0)
        self._ends = float(low), float(high)

    def far(self, value: float) -> float:
        if not self._spread > 0:
            return 0.0 if value == self._middle else 4 * CONFLICT
        return float(((value - self._middle) / self._spread) ** 2)

    def usual(self, value: float) -> tuple[float, float]:
        return self._ends


class _Shares:
    def __init__(self, reading: Reading) -> None:
        values = reading.values[~np.isnan(reading.values)].astype(np.intp)
        counts: NDArray[np.int64] = np.bincount(values, minlength=len(reading.levels or ()))
        self._shares = counts / max(1, len(values))
        self._least = 0.5 / max(1, len(values))

    def far(self, value: float) -> float:
        return -2 * math.log(max(float(self._shares[int(value)]), self._least))

    def usual(self, value: float) -> tuple[float, float]:
        share = float(self._shares[int(value)])
        return share, share
