"""Values that are the same but written differently: dates, decimal commas, blanks, upper case.

They are read alike here, so that no column differs by it. But whatever reads the files next may not
be so patient: a category "Ideal " is none that an encoder knows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cospan._numbers import shares_text

from .notes import LookedAt, QualityNote
from .twosample import log_fisher
from .wording import listed, quoted, shares_of, value_text

if TYPE_CHECKING:
    from cospan.data import ColumnProfile

CODE = "writing"
#: Readings of text as it is written for a column of numbers or dates.
_PLAIN = ("point", "iso date")
#: Texts that a sentence gives as examples, and levels that are looked at.
SHOWN, MOST_LEVELS = 3, 30
#: The share of rows from which on levels are the same but for their case.
NEARLY_ALL = 0.9


def writing_notes(at: LookedAt) -> Iterator[QualityNote]:
    """What is written in one way in A and in another in B, column by column."""
    if at.profiles is None:
        return
    for a in at.profiles[0].columns:
        try:
            b = at.profiles[1][a.name]
        except KeyError:
            continue
        if a.kind == "time":
            yield QualityNote("times", a.name, _apart(a, b, at.names), True, a.mean, b.mean)
        for text in (_written(a, b, at.names), _padded(a, b, at)):
            if text:
                yield QualityNote(CODE, a.name, text, True)


def _apart(a: ColumnProfile, b: ColumnProfile, names: tuple[str, str]) -> str:
    """Dates that do not overlap: sets of different times, or a calendar that is off."""
    (early, first), (late, second) = sorted(zip((a, b), names, strict=True), key=lambda x: x[0].low)
    known = {"x": value_text(early.high, "date"), "y": value_text(late.low, "date")}
    return (
        "{name} ends on {x} in {first} and begins on {y} in {second}, so it is not compared."
    ).format(name=quoted(a.name), first=first, second=second, **known)


def _written(a: ColumnProfile, b: ColumnProfile, names: tuple[str, str]) -> str:
    """Dates in two orders, numbers with a decimal comma, truth values in other words."""
    if a.rows == a.missing or b.rows == b.missing:
        return ""
    typed = [not one.levels for one in (a, b)]
    if typed == [False, False]:
        return _both_texts(a, b, names)
    if typed[0] == typed[1]:
        return ""
    side = 1 if typed[0] else 0
    text = (a, b)[side]
    written = text.reading or _is_truth(text.levels)
    if a.kind == "left out" or text.reading in _PLAIN or not written:
        return ""
    from cospan.data import READINGS

    plain = "0 and 1 or plain truth values"
    if text.reading:
        kind = READINGS[text.reading].kind
        plain = "plain dates" if kind == "date" else "plain numbers"
    return _said(a.name, _examples(text), plain, (names[side], names[1 - side]))


def _both_texts(a: ColumnProfile, b: ColumnProfile, names: tuple[str, str]) -> str:
    other_order = a.reading != b.reading
    truth = not a.reading and _is_truth(a.levels) and _is_truth(b.levels)
    if not other_order and not (truth and in_other_case(a.levels, b.levels)):
        return ""
    return _said(a.name, _examples(a), _examples(b), names)


def _said(column: str, one: str, other: str, names: tuple[str, str]) -> str:
    return f"{quoted(column)} is written as {one} in {names[0]} and as {other} in {names[1]}."


def _is_truth(levels: Mapping[str, int]) -> bool:
    from cospan.data import boolean_pair

    return 0 < len(levels) <= MOST_LEVELS and boolean_pair(levels) is not None


def _examples(one: ColumnProfile) -> str:
    """A text that shows the reading; of truth values both words."""
    if not one.reading:
        return listed(sorted(one.levels), SHOWN)
    read = [text for text in one.levels if set(text) & set("0123456789")]  # no stray words
    return next((text for text in read if "," in text), read[0])


def in_other_case(a: Mapping[str, float], b: Mapping[str, float]) -> list[tuple[str, str]]:
    """Levels that A has and B has in upper or lower case only, the most frequent first.

    None unless that goes for nearly all rows with a level that the other set does not have.

    >>> in_other_case({"Ideal": 5, "Good": 9, "so": 9}, {"IDEAL": 6, "GOOD": 8, "so": 7})
    [('Good', 'GOOD'), ('Ideal', 'IDEAL')]
    >>> in_other_case({"Ideal": 5, "Good": 9}, {"IDEAL": 6, "Fair": 8})
    []
    """
    gone, new = (
        {x: own[x] for x in own if own[x] > 0 and not other.get(x)}
        for own, other in ((a, b), (b, a))
    )
    twins = {text.casefold(): text for text in new}
    common = sorted((x for x in gone if x.casefold() in twins), key=lambda x: -gone[x])
    found = [(x, twins[x.casefold()]) for x in common]
    rows = sum(gone[x] for x, _ in found), sum(new[y] for _, y in found)
    nearly = NEARLY_ALL * sum(gone.values()), NEARLY_ALL * sum(new.values())
    return found if rows[0] >= nearly[0] and rows[1] >= nearly[1] else []


def _padded(a: ColumnProfile, b: ColumnProfile, at: LookedAt) -> str:
    """Blanks around values that one set has more often than chance would."""
    sizes = [one.rows - one.missing for one in (a, b)]
    if a.padded == b.padded == 0 or min(sizes) == 0:
        return ""
    if float(log_fisher(a.padded, sizes[0], b.padded, sizes[1])[0]) > math.log(at.level):
        return ""
    shares = shares_text(a.padded / sizes[0], b.padded / sizes[1])
    rows = shares_of(shares, at.names, "values")
    return f"{quoted(a.name)} has blanks around {rows}; they do not count here."
