"""Data quality: what is odd about columns besides what changed on average.

Levels that one set alone has, columns that do not vary.
Each is a record; what is said of a column is more than chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .columns import OTHER, FeatureChange, FeatureTable

#: A level counts as new or vanished if at least so many rows would be expected to have it.
EXPECTED_ROWS = 5


@dataclass(frozen=True)
class QualityNote:
    """One thing that is odd.

    `code` is ``"new levels"``, ``"vanished levels"`` or ``"constant"``; `levels` are those meant;
    `a` and `b` the number behind it in each set, NaN where there is none; `differs`
    says whether it is a difference between the sets.
    """

    code: str
    column: str
    differs: bool
    a: float = math.nan
    b: float = math.nan
    levels: tuple[str, ...] = ()


class Quality(tuple[QualityNote, ...]):
    """All notes; differences between the sets first."""

    __slots__ = ()

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain types only."""
        rows = [asdict(note) for note in self]
        for row in rows:
            row |= {k: float(row[k]) if math.isfinite(row[k]) else None for k in "ab"}
            row["levels"] = list(row["levels"])
        return rows


def check_quality(features: FeatureTable) -> Quality:
    """Look through the columns."""
    notes = [note for one in features for note in _notes(one)]
    return Quality(sorted(notes, key=lambda note: not note.differs))


def _notes(one: FeatureChange) -> Iterator[QualityNote]:
    if one.kind == "category":
        for code, here, there in (
            ("vanished levels", one.a, one.b),
            ("new levels", one.b, one.a),
        ):
            counts: tuple[Mapping[str, float], Mapping[str, float]] = (
                here.counts or here.levels,
                there.counts or there.levels,
            )
            total = max(1.0, sum(counts[0].values()))
            other = max(1.0, sum(counts[1].values()))
            only = [
                level
                for level, count in counts[0].items()
                if level != OTHER
                and count / total * other >= EXPECTED_ROWS
                and not counts[1].get(level)
            ]
            if here.counts and there.counts and only:
                share = sum(counts[0][level] for level in only) / total
                only.sort(key=lambda level: -counts[0][level])
                ends = (share, 0.0) if code == "vanished levels" else (0.0, share)
                yield QualityNote(code, one.name, True, *ends, levels=tuple(only))
    elif one.kind != "vector" and math.isfinite(one.a.low) and math.isfinite(one.b.low):
        still = one.a.constant, one.b.constant
        if all(still) and one.a.low == one.b.low:
            yield QualityNote("constant", one.name, False, one.a.low, one.b.low)
        elif any(still):
            yield QualityNote("constant", one.name, True, one.a.deviation, one.b.deviation)
