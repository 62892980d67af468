"""Data quality: what is wrong, or different, in the columns and rows before any geometry.

Missing rates, new and vanished levels, constant columns, duplicates within and across the sets,
ranges left, scales that differ. Each finding is a :class:`QualityNote`, a sentence with its
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cospan.significance.copies import row_kinds

from .columns import LEVEL, FeatureChange, FeatureTable
from .grouping import Profiles, Rows
from .measuring import Held
from .wording import listed, number, quoted, share_text

__all__ = ["Quality", "QualityNote", "check_quality"]

#: A set leaves the other's range when it goes beyond it by half of it: two samples of one
#: distribution hardly ever do, unless its tails are very long.
BEYOND = 0.5
#: Means and spreads that are both this many times those of the other set: another unit.
OTHER_UNIT = 5.0
#: And up to this factor from each other the two ratios count as equal.
_SAME_RATIO = 1.5
#: A level counts as new or vanished if at least so many rows would be expected to have it.
EXPECTED_ROWS = 5
#: Shares of duplicates from this on are worth a word.
DUPLICATES = 0.01
SHOWN = 5
#: Codes of the notes on levels that only A has, and only B.
_ONE_SIDED = ("vanished levels", "new levels")


@dataclass(frozen=True)
class QualityNote:
    """One finding.

    Attributes
    ----------
    code : str
        ``"missing"``, ``"new levels"``, ``"vanished levels"``, ``"constant"``, ``"duplicates"``,
        ``"shared rows"``, ``"range"`` or ``"scale"``.
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


@dataclass(frozen=True)
class Quality:
    """All findings; differences between the sets first."""

    notes: tuple[QualityNote, ...]

    def __len__(self) -> int:
        return len(self.notes)

    def __iter__(self) -> Iterator[QualityNote]:
        return iter(self.notes)

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain types only."""
        rows = [asdict(note) for note in self.notes]
        for row in rows:
            row |= {k: None if math.isnan(row[k]) else float(row[k]) for k in "ab"}
        return rows


def check_quality(
    features: FeatureTable, rows: Rows, profiles: Profiles | None, names: tuple[str, str]
) -> Quality:
    """Look through the columns, then the rows."""
    level = LEVEL / max(1, len(features))
    notes = [note for one in features for note in _column_notes(one, rows, names, level)]
    notes += _further_levels(features, profiles, names)
    notes += _duplicates(rows, names)
    notes += _constant_in_both(features)
    return Quality(tuple(sorted(notes, key=lambda note: not note.differs)))


def _column_notes(
    one: FeatureChange, rows: Rows, names: tuple[str, str], level: float
) -> Iterator[QualityNote]:
    a, b = one.a, one.b
    if one.tests.get("missing", 1.0) <= level:
        yield QualityNote(
            "missing",
            one.name,
            f"{quoted(one.name)} is missing in {share_text(a.missing)} of {names[0]}'s rows and "
            f"{share_text(b.missing)} of {names[1]}'s.",
            True,
            a.missing,
            b.missing,
        )
    if one.kind == "category":
        yield from _level_notes(one, rows, names)
    elif one.kind in ("number", "duration"):
        yield from _range_notes(one, names)
    if one.kind not in ("category", "vector"):
        yield from _constant_note(one, names)


def _level_notes(one: FeatureChange, rows: Rows, names: tuple[str, str]) -> Iterator[QualityNote]:
    held = [one.a.levels, one.b.levels]
    sizes = [len(rows.a), len(rows.b)]
    for side in (1, 0):
        here, there = held[side], held[1 - side]
        levels = [
            level
            for level, share in here.items()
            if not there.get(level)
            and _surely_absent(share * sizes[side], sizes[side], sizes[1 - side], len(here))
        ]
        yield from _one_sided(one.name, levels, sum(here[x] for x in levels), side, names)


def _further_levels(
    features: FeatureTable, profiles: Profiles | None, names: tuple[str, str]
) -> Iterator[QualityNote]:
    """Levels among those without a feature of their own: only the profiles know them."""
    if profiles is None:
        return
    for one in features:
        if "other levels" not in one.a.levels:
            continue
        own = [dict(_profile_levels(p, one.name)) for p in profiles]
        if not all(own):
            continue
        sizes = [sum(x.values()) for x in own]
        for side in (1, 0):
            here, there = own[side], own[1 - side]
            levels = [
                level
                for level, count in here.items()
                if level not in one.a.levels
                and level not in there
                and _surely_absent(count, sizes[side], sizes[1 - side], len(here))
            ]
            share = sum(here[level] for level in levels) / sizes[side]
            yield from _one_sided(one.name, levels, share, side, names)


def _surely_absent(count: float, here: int, there: int, levels: int) -> bool:
    """Whether a level with so many rows here, and none there, is more than chance.

    All of them are here with the chance (share of the rows that are here)^count; of many levels
    some are rare, and one of these is easily on one side.
    """
    if count * there < EXPECTED_ROWS * here:
        return False
    return math.log(levels / LEVEL) <= count * math.log1p(there / here)


def _one_sided(
    column: str, levels: list[str], share: float, side: int, names: tuple[str, str]
) -> Iterator[QualityNote]:
    """The note on levels that only one set has; none of no levels."""
    if levels:
        text = (
            f"{quoted(column)} has {listed(levels, SHOWN)} in {names[side]} only "
            f"({share_text(share)} of its rows), not in {names[1 - side]}."
        )
        shares = (0.0, share) if side else (share, 0.0)
        yield QualityNote(_ONE_SIDED[side], column, text, True, *shares)


def _profile_levels(profile: Any, name: str) -> Any:
    try:
        own = profile[name]
    except KeyError:
        return {}
    return own.levels if own.exact else {}


def _range_notes(one: FeatureChange, names: tuple[str, str]) -> Iterator[QualityNote]:
    a, b = one.a, one.b
    unit = _other_unit(a, b)
    if unit is not None:
        larger, smaller = (names[1], names[0]) if unit > 1 else (names[0], names[1])
        times = unit if unit > 1 else 1 / unit
        yield QualityNote(
            "scale",
            one.name,
            f"{quoted(one.name)} is about {number(times)} times as large in {larger} as in "
            f"{smaller}: perhaps another unit.",
            True,
            a.mean,
            b.mean,
        )
        return
    for own, other, its, whose in ((b, a, names[1], names[0]), (a, b, names[0], names[1])):
        width = other.high - other.low
        if not (math.isfinite(width) and width > 0 and math.isfinite(own.high - own.low)):
            continue
        above, below = own.high - other.high, other.low - own.low
        if max(above, below) > BEYOND * width:
            end = own.high if above >= below else own.low
            yield QualityNote(
                "range",
                one.name,
                f"{quoted(one.name)} goes to {number(end)} in {its}; in {whose} it stays between "
                f"{number(other.low)} and {number(other.high)}.",
                True,
                a.high if above >= below else a.low,
                b.high if above >= below else b.low,
            )


def _other_unit(a: Held, b: Held) -> float | None:
    """How many times as large B's values are, if mean and spread agree on it; else None."""
    if not (a.deviation > 0 and b.deviation > 0 and a.mean * b.mean > 0):
        return None
    spread, mean = b.deviation / a.deviation, b.mean / a.mean
    same = max(spread / mean, mean / spread) <= _SAME_RATIO
    far = mean >= OTHER_UNIT or mean <= 1 / OTHER_UNIT
    return math.sqrt(spread * mean) if same and far else None


def _constant_note(one: FeatureChange, names: tuple[str, str]) -> Iterator[QualityNote]:
    still = [held.low == held.high for held in (one.a, one.b)]
    if still == [True, True] and one.a.low != one.b.low:
        text = f"{quoted(one.name)} is {number(one.a.low)} in every row of {names[0]} and "
        text += f"{number(one.b.low)} in every row of {names[1]}."
    elif still[0] != still[1]:
        side = 0 if still[0] else 1
        value = number((one.a if side == 0 else one.b).low)
        text = f"{quoted(one.name)} is {value} in every row of {names[side]}, "
        text += f"but varies in {names[1 - side]}."
    else:
        return
    yield QualityNote("constant", one.name, text, True, one.a.deviation, one.b.deviation)


def _constant_in_both(features: FeatureTable) -> list[QualityNote]:
    still = [
        one.name
        for one in features
        if one.kind not in ("category", "vector")
        and one.a.low == one.a.high == one.b.low == one.b.high
    ]
    if not still:
        return []
    many = len(still) > 1
    text = f"{listed(still, SHOWN)} {'have' if many else 'has'} one and the same value in all rows."
    return [QualityNote("constant", still[0] if not many else "", text, False, 0.0, 0.0)]


def _duplicates(rows: Rows, names: tuple[str, str]) -> Iterator[QualityNote]:
    """Rows that occur twice in a set, or in both; of a sample the share is a lower bound."""
    keys = row_kinds(np.concatenate([rows.a, rows.b]))
    own = [keys[: len(rows.a)], keys[len(rows.a) :]]
    least = "" if rows.whole else "at least "
    shares = [1 - len(np.unique(one)) / max(1, len(one)) for one in own]
    if max(shares) >= DUPLICATES:
        yield QualityNote(
            "duplicates",
            "",
            f"Rows that repeat another row of their set: {least}{share_text(shares[0])} in "
            f"{names[0]}, {share_text(shares[1])} in {names[1]}.",
            abs(shares[0] - shares[1]) >= 0.05,
            shares[0],
            shares[1],
        )
    across = [float(np.isin(own[i], own[1 - i]).mean()) for i in (0, 1)]
    if max(across) >= DUPLICATES:
        yield QualityNote(
            "shared rows",
            "",
            f"Rows that both sets have: {least}{share_text(across[0])} of {names[0]}'s, "
            f"{share_text(across[1])} of {names[1]}'s.",
            False,
            across[0],
            across[1],
        )
