"""Data quality: what is odd about columns besides what changed on average.

Levels that one set alone has, columns that do not vary, dates of different times, and values that
are the same but written differently: they are read alike here, but whatever reads the data next may
not be so patient.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from scipy import special

from .findings import IN_BOTH, Finding
from .test import share_z
from .verdict import FeatureChange, Table

if TYPE_CHECKING:
    from cospan.data import ColumnProfile, SetProfile

#: Levels in another case are noted where so many rows have them.
EXPECTED_ROWS = 5
#: What chance would give less often is noted: blanks around values, levels of one set alone.
BY_CHANCE = 0.001
#: The share of rows from which on levels are the same but for their case, and levels looked at.
NEARLY_ALL, MOST_LEVELS = 0.9, 30
#: Readings of text as it is written for a column of numbers or dates.
PLAIN = ("point", "iso date")


def check_quality(
    features: Table[FeatureChange], profiles: tuple[SetProfile, SetProfile] | None
) -> tuple[Finding, ...]:
    """Look through the columns; differences between the sets come first.

    The kinds are ``"new levels"``, ``"vanished levels"``, ``"other case"`` (of `levels`, those of A
    and then of B), ``"constant"`` (in one set, or the same in both), ``"writing"`` (`levels` has an
    example of A's and of B's), ``"blanks"`` (around values) and ``"times"`` (dates that do not
    overlap: the last of one set and the first of the other).
    """
    kinds = {one.name: one.kind for one in features}
    found = [note for one in features for note in _constant(one)]
    for name, a in profiles[0].items() if profiles is not None else ():
        if profiles is not None and name in profiles[1]:
            b = profiles[1][name]
            if kinds.get(name) == "category" and a.exact and b.exact:
                found += _of_levels(name, a.levels, b.levels)
            found += _of_profiles(a, b)
    return tuple(sorted(found, key=lambda one: one.detail == IN_BOTH))


def _constant(one: FeatureChange) -> Iterator[Finding]:
    if math.isfinite(one.a.low) and math.isfinite(one.b.low):
        still = one.a.constant, one.b.constant
        if all(still) and one.a.low == one.b.low:
            yield Finding("constant", one.name, detail=IN_BOTH, a=one.a.low, b=one.b.low)
        elif any(still) and one.changed:
            where = "in A" if still[0] else "in B"
            yield Finding("constant", one.name, detail=where, a=one.a.deviation, b=one.b.deviation)


def _of_levels(name: str, a: Mapping[str, int], b: Mapping[str, int]) -> Iterator[Finding]:
    """Levels that one set alone has, where all rows were counted."""
    if not a or not b:
        return
    if same := in_other_case(a, b):
        levels = (*(x for x, _ in same), *(y for _, y in same))
        yield Finding("other case", name, levels=levels)
        return
    for kind, here, there in (("vanished levels", a, b), ("new levels", b, a)):
        total = sum(here.values())
        # By chance all n rows of a level are in this set with a probability of share ** n.
        share = total / (total + sum(there.values()))
        enough = math.log(BY_CHANCE / len({**here, **there})) / math.log(share)
        only = [x for x, n in here.items() if n >= enough and not there.get(x)]
        if only:
            only.sort(key=lambda level: -here[level])
            part = sum(here[level] for level in only) / total
            x, y = (part, 0.0) if here is a else (0.0, part)
            yield Finding(kind, name, a=x, b=y, levels=tuple(only))


def in_other_case(a: Mapping[str, int], b: Mapping[str, int]) -> list[tuple[str, str]]:
    """Levels that A has and B has in upper or lower case only, the most frequent first.

    None unless that goes for nearly all rows with a level that the other set does not have.
    """
    upper, lower = ({x.casefold(): x for x in own if own[x] > 0} for own in (a, b))
    pairs: dict[tuple[str, str], int] = {}
    for own, other, twins in ((a, b, lower), (b, a, upper)):
        alone = {x: n for x, n in own.items() if n > 0 and not other.get(x)}
        known = {x: n for x, n in alone.items() if x.casefold() in twins}
        if sum(known.values()) < NEARLY_ALL * sum(alone.values()):
            return []
        for x, n in known.items():
            pair = (x, twins[x.casefold()]) if own is a else (twins[x.casefold()], x)
            pairs.setdefault(pair, n)
    if sum(pairs.values()) < EXPECTED_ROWS:
        return []
    return sorted(pairs, key=lambda pair: -pairs[pair])


# ---- how values are written ----------------------------------------------------------------------


def _of_profiles(a: ColumnProfile, b: ColumnProfile) -> Iterator[Finding]:
    if a.kind == "time":
        ends = (a.high, b.low) if a.low <= b.low else (a.low, b.high)
        yield Finding("times", a.name, a=ends[0], b=ends[1])
    sizes = [one.rows - one.missing for one in (a, b)]
    if min(sizes) == 0:
        return
    if (written := _written(a, b)) is not None:
        yield Finding("writing", a.name, levels=written)
    if a.padded or b.padded:
        z = share_z(a.padded, sizes[0], b.padded, sizes[1])
        if 2 * special.ndtr(-abs(z)) < BY_CHANCE:
            yield Finding("blanks", a.name, a=a.padded / sizes[0], b=b.padded / sizes[1], z=z)


def _written(a: ColumnProfile, b: ColumnProfile) -> tuple[str, str] | None:
    """Dates in two orders, numbers with a decimal comma, truth values in other words."""
    typed = [not one.levels for one in (a, b)]
    if typed == [False, False]:
        truth = not a.reading and _is_truth(a.levels) and _is_truth(b.levels)
        truth = truth and not a.levels.keys() & b.levels.keys()
        other = a.reading != b.reading or (truth and in_other_case(a.levels, b.levels))
        return (_example(a), _example(b)) if other else None
    text = b if typed[0] else a
    if typed[0] == typed[1] or a.kind == "left out" or text.reading in PLAIN:
        return None
    if not text.reading and not _is_truth(text.levels):
        return None
    from cospan.data import READINGS

    plain = "0 and 1 or plain truth values"
    if text.reading:
        plain = "plain dates" if READINGS[text.reading].kind == "date" else "plain numbers"
    return (plain, _example(b)) if typed[0] else (_example(a), plain)


def _is_truth(levels: Mapping[str, int]) -> bool:
    from cospan.data import boolean_pair

    return 0 < len(levels) <= MOST_LEVELS and boolean_pair(levels) is not None


def _example(one: ColumnProfile) -> str:
    """A text that shows the reading; of truth values both words."""
    if not one.reading:
        return " and ".join(sorted(one.levels)[:3])
    read = [text for text in one.levels if set(text) & set("0123456789")]  # no stray words
    return next((text for text in read if "," in text), read[0])
