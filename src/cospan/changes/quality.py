"""Data quality: what is wrong, or different, in the columns and rows before any geometry.

Missing rates, new and vanished levels, constant columns, duplicates within and across the sets,
ranges left, scales that differ, values that are written differently. Each finding is a
:class:`QualityNote`, a sentence with its numbers. What is said of a column is more than chance,
adjusted for the number of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cospan._numbers import share_text, shares_text
from cospan.significance.copies import both_merged, row_kinds

from .columns import LEVEL, FeatureChange, FeatureTable
from .grouping import Column, Profiles, Rows
from .measuring import Held
from .notes import LookedAt, Quality, QualityNote, surely_absent
from .ranges import value_notes
from .wording import OTHER, listed, quoted, shares_of
from .writing import writing_notes

__all__ = ["Quality", "QualityNote", "check_quality"]

#: Shares of duplicates from this on are worth a word.
DUPLICATES = 0.01
SHOWN = 5
#: Where more of the columns changed than this, the sets are of different things.
FEW = 0.25
#: Codes of the notes on levels that only A has, and only B.
_ONE_SIDED = ("vanished levels", "new levels")


def check_quality(
    features: FeatureTable,
    columns: Sequence[Column],
    rows: Rows,
    profiles: Profiles | None,
    names: tuple[str, str],
) -> Quality:
    """Look through the columns, then the rows."""
    alone = len(features.changed) <= max(1, FEW * len(features))
    at = LookedAt(rows, profiles, names, LEVEL / max(1, len(features)), alone)
    by_name = {column.name: column for column in columns}
    notes = [note for one in features for note in _column_notes(one, by_name[one.name], at)]
    notes += writing_notes(at)
    notes += _duplicates(columns, rows, names)
    notes += _constant_in_both(features)
    return Quality(tuple(sorted(notes, key=lambda note: not note.differs)))


def _column_notes(one: FeatureChange, column: Column, at: LookedAt) -> Iterator[QualityNote]:
    a, b = one.a, one.b
    if one.tests.get("missing", 1.0) <= at.level:
        rows = shares_of(shares_text(a.missing, b.missing), at.names)
        text = f"{quoted(one.name)} is missing in {rows}."
        yield QualityNote("missing", one.name, text, True, a.missing, b.missing)
    if one.kind == "category":
        yield from _level_notes(one, at)
    elif one.kind != "vector":
        yield from value_notes(one, column, at)


def _level_notes(one: FeatureChange, at: LookedAt) -> Iterator[QualityNote]:
    if max(one.a.missing, one.b.missing) == 1:  # no values, so no levels to compare
        return
    counts = [_counts(one.a, len(at.rows.a)), _counts(one.b, len(at.rows.b))]
    sizes = [round(sum(own.values())) for own in counts]
    for side in (1, 0):
        here, there = counts[side], counts[1 - side]
        sure = sizes[side], sizes[1 - side], at.level / max(1, len(here))
        levels = [x for x, n in here.items() if not there.get(x) and surely_absent(n, *sure)]
        if not levels:
            continue
        levels.sort(key=lambda level: -here[level])
        share = sum(here[x] for x in levels) / sizes[side]
        text = (
            "{name} has {levels} in {a} only ({share}), not in {b}: only the case differs."
            if {level.casefold() for level in levels} <= {level.casefold() for level in there}
            else "{name} has {levels} in {a} only ({share}), not in {b}."
        )
        of = "{x} of its known values" if max(one.a.missing, one.b.missing) else "{x} of its rows"
        known = {"name": quoted(one.name), "share": of.format(x=share_text(share))}
        shown = listed(levels, SHOWN)
        said = text.format(levels=shown, a=at.names[side], b=at.names[1 - side], **known)
        shares = (0.0, share) if side else (share, 0.0)
        yield QualityNote(_ONE_SIDED[side], one.name, said, True, *shares)


def _counts(held: Held, rows: int) -> Mapping[str, float]:
    """How many rows have each level: as counted, or by their shares in the sample."""
    known = rows * (1 - held.missing)
    return held.counts or {x: known * share for x, share in held.levels.items() if x != OTHER}


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
    text = "{names} have one and the same value in all rows."
    text = text if many else "{names} has one and the same value in all rows."
    said = text.format(names=listed(still, SHOWN))
    return [QualityNote("constant", still[0] if not many else "", said, False, 0.0, 0.0)]


def _duplicates(
    columns: Sequence[Column], rows: Rows, names: tuple[str, str]
) -> Iterator[QualityNote]:
    """Rows that occur twice in a set, or in both; of a sample the share is a lower bound."""
    merged = both_merged(*rows.merged)
    if merged is None and any(c.plan is not None and c.plan.other for c in columns):
        return  # rows that are equal as numbers may differ in rare levels
    keys = row_kinds(np.concatenate([rows.a, rows.b]), merged)
    own = [keys[: len(rows.a)], keys[len(rows.a) :]]
    shares = [1 - len(np.unique(one)) / max(1, len(one)) for one in own]
    across = [float(np.isin(own[i], own[1 - i]).mean()) for i in (0, 1)]
    apart = abs(shares[0] - shares[1]) >= 0.05
    texts = (
        "Rows that repeat another row of their set: {a} in {x}, {b} in {y}.",
        "Rows that both sets have: {a} of those in {x}, {b} of those in {y}.",
    )
    kinds = ("duplicates", shares, apart), ("shared rows", across, False)
    for (code, (a, b), differs), text in zip(kinds, texts, strict=True):
        if max(a, b) >= DUPLICATES:
            least = share_text(a) if rows.whole else f"at least {share_text(a)}"
            said = text.format(a=least, b=share_text(b), x=names[0], y=names[1])
            yield QualityNote(code, "", said, differs, a, b)
