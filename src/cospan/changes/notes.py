"""Findings of data quality, and when one set lacks what the other has by more than chance."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from .grouping import Profiles, Rows

#: A level counts as new or vanished if at least so many rows would be expected to have it.
EXPECTED_ROWS = 5


@dataclass(frozen=True)
class QualityNote:
    """One finding.

    Attributes
    ----------
    code : str
        ``"missing"``, ``"new levels"``, ``"vanished levels"``, ``"constant"``, ``"duplicates"``,
        ``"shared rows"``, ``"range"``, ``"scale"`` or ``"writing"``.
    column : str
        The user's column; empty where the finding is about whole rows.
    text : str
        A sentence.
    differs : bool
        Whether it is a difference between the sets, rather than a matter of both.
    a, b : float
        The number behind it in each set; NaN where there is none.
    """

    code: str
    column: str
    text: str
    differs: bool
    a: float = math.nan
    b: float = math.nan


class LookedAt(NamedTuple):
    """Where findings come from, what the sets are called, and the level of a single one.

    `alone`: hardly any column changed, so that what is odd about one is its own matter.
    """

    rows: Rows
    profiles: Profiles | None
    names: tuple[str, str]
    level: float
    alone: bool


class Quality(tuple[QualityNote, ...]):
    """All findings; differences between the sets first."""

    __slots__ = ()

    @property
    def notes(self) -> tuple[QualityNote, ...]:
        return self

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain types only."""
        rows = [asdict(note) for note in self]
        for row in rows:
            row |= {k: None if math.isnan(row[k]) else float(row[k]) for k in "ab"}
        return rows


def surely_absent(count: float, here: int, there: int, level: float) -> bool:
    """Whether values that so many rows have here, and none there, are more than chance.

    All of them are here with the chance (share of the rows that are here)^count; of many levels
    some are rare, and one of these is easily on one side.
    """
    if count * there < EXPECTED_ROWS * here:
        return False
    return -math.log(level) <= count * math.log1p(there / here)
