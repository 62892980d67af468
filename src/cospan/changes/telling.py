"""The verdict's sentences, one function for each thing there is to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .columns import FeatureChange, FeatureTable
from .deciding import Decided, RowsToCheck
from .given import GivenOthers
from .kinds import Kinds
from .pairs import PairChange, Relations
from .quality import Quality
from .sentences import feature_sentence, pair_sentence
from .wording import auc_interval, chance, listed, of_hundred, share_text

if TYPE_CHECKING:
    from cospan.significance import Estimate

FIRST_FEATURES, FIRST_PAIRS, FIRST_NOTES = 5, 3, 3
IN_WORDS = {
    "location": "location (where the values are centred)",
    "scale": "scale (how widely all of them spread)",
    "shape": "shape (spreads of single columns, relations between them)",
    "levels": "the levels of categories",
    "missing": "missing values",
}


def first_pairs(relations: Relations) -> list[PairChange]:
    """One pair of each column that accounts for changed relations, the surest first."""
    pairs = dict.fromkeys(sorted(relations.leads.values(), key=lambda pair: -abs(pair.z)))
    return list(pairs)[:FIRST_PAIRS]


def headline(decided: Decided, columns: int, names: tuple[str, str]) -> str:
    over = f", adjusted for {columns:,} columns" if decided.by_column and columns > 1 else ""
    sure = f"{chance(decided.p)}{over}"
    if not decided.differs:
        return f"There is no evidence that {names[0]} and {names[1]} differ ({sure})."
    if decided.as_a_whole is not None:
        return (
            f"{names[0]} and {names[1]} differ in single columns ({sure}), although not as a "
            f"whole ({chance(decided.as_a_whole)})."
        )
    return f"{names[0]} and {names[1]} differ ({sure})."


def how_much(differs: bool, sizes: tuple[str, ...], auc: Estimate | None) -> list[str]:
    if auc is None:
        return []
    counted = (
        f"of 100 pairs of rows, one from each set, {of_hundred(auc.value)} are ordered correctly "
        f"({auc_interval(auc)})"
    )
    if not differs and sizes[2] == "large":  # the interval rules nothing out
        return [f"There are too few rows to say that they are alike: {counted}."]
    if not differs and auc.value == 0.5:  # no angle but 45°
        return [f"Single rows cannot be separated: {counted}."]
    if not differs:
        # The features or the strength of the frame were chosen for these rows.
        doubt = ", which the test does not confirm" if auc.low > 0.5 else ""
        return [f"{counted[0].upper()}{counted[1:]}{doubt}."]
    if sizes[0] == "none":
        return [f"The difference is too small to tell single rows apart: {counted}."]
    span = "" if sizes[1] == sizes[2] else f" (the interval goes from {sizes[1]} to {sizes[2]})"
    return [f"The difference is {sizes[0]}{span}: {counted}."]


def in_what(kinds: Kinds, curved: bool) -> list[str]:
    if not kinds.mostly:
        return []
    share = kinds.shares.get(kinds.mostly, 0.0)
    # The shares are those of means and covariances, which a curved difference goes beyond.
    it, of_it = "It", "it"
    if curved:
        it, of_it = "As far as it shows in means and spreads, it", "that"
    part = f": {share_text(share)} of {of_it}" if share else ""
    if kinds.unsure is not None:
        part += f", by what single columns say (of all together {chance(kinds.unsure)})"
    how = "mostly" if share > 0.5 else "first of all"
    return [f"{it} is {how} a difference in {IN_WORDS[kinds.mostly]}{part}."]


def of_columns(
    differs: bool,
    features: FeatureTable,
    names: tuple[str, str],
    given: Sequence[GivenOthers],
    pairs: Sequence[PairChange],
) -> list[str]:
    """What changed in the first columns; a weak hint where the sets do not differ as a whole.

    A column that moved against the others comes first where it moved further than the first.
    """
    if differs and features.nameless:
        return _of_nameless(features)
    first = features.changed[:FIRST_FEATURES]
    said = _told_once(first, names)
    more = len(features.changed) - FIRST_FEATURES
    if more > 0:
        said.append(f"{more:,} more of the {len(features):,} columns changed.")
    if given and differs:
        ahead = not first or abs(given[0].shift) > abs(first[0].difference)
        against = [one.sentence(names) for one in given]
        said = against + said if ahead else said + against
    if differs and not said and not pairs:
        said = _of_shares(features)
    if said and not differs:
        sure = chance(min(one.p_adjusted for one in features))
        which = "A single column is" if len(features.changed) == 1 else "Single columns are"
        over = f", adjusted for {len(features):,} columns" if len(features) > 1 else ""
        said.insert(0, f"{which} a weak hint to the contrary ({sure}{over}), perhaps by chance.")
    return said


def of_pairs(
    pairs: Sequence[PairChange],
    relations: Relations,
    features: FeatureTable,
    names: tuple[str, str],
) -> list[str]:
    """The first relations that changed, and how many more there are."""
    if not pairs or features.nameless:
        return []
    said = {
        one.pair
        for one in features.changed[:FIRST_FEATURES]
        if "relation" in one.ways and one.broken is None
    }
    more = relations.pairs.n_changed - len(said | set(pairs))
    further = "1 more relation" if more == 1 else f"{more:,} more relations"
    last = [f"{further} between columns changed."] if more > 0 else []
    return [*(pair_sentence(pair, names) for pair in pairs if pair not in said), *last]


def _told_once(first: Sequence[FeatureChange], names: tuple[str, str]) -> list[str]:
    """A sentence for each column; a relation that the one before told is left out of the next."""
    told: set[PairChange] = set()
    said = []
    for one in first:
        pair = one.pair if "relation" in one.ways and one.broken is None else None
        if pair in told:
            one = one.without("relation")
        elif pair is not None:
            told.add(pair)
        if one.change:
            said.append(feature_sentence(one, names))
    return said


def _of_shares(features: FeatureTable) -> list[str]:
    """Where to look when no column and no relation changed for certain."""
    first = sorted(features, key=lambda one: -one.part)[:FIRST_PAIRS]
    names = [one.name for one in first if one.part > 0]
    if not names:
        return []
    have = "has the largest part" if len(names) == 1 else "have the largest parts"
    return [f"No column and no relation changed for certain; {listed(names)} {have} in it."]


def _of_nameless(features: FeatureTable) -> list[str]:
    """That x224 changed says nothing to anybody."""
    n, total = len(features.changed), len(features)
    if not n:
        return [f"None of the {total:,} features changed by itself: it is in combinations of them."]
    return [
        f"It is spread over combinations of features, which have no names: {n:,} of the {total:,} "
        "changed by themselves too."
    ]


def of_quality(quality: Quality, features: FeatureTable) -> list[str]:
    """What sentences about columns have not said yet.

    That a column which rose also left its range goes without saying.
    """
    said = {one.name for one in features.changed[:FIRST_FEATURES]}
    moved = {one.name for one in features.changed if {"mean", "spread", "value"} & set(one.ways)}
    still = {n.column for n in quality if n.code == "constant" and n.a == n.b == 0}
    # That a column does not vary in one set was said, or that its share is 0 or 1 there.
    still |= {one.name for one in features.changed if {"spread", "levels"} & set(one.ways)}
    known = {"missing": said, "new levels": said, "vanished levels": said, "range": moved}
    known["constant"] = said & still  # one value in A, another in B: that was said, too
    # Rows in both sets, more than repeat within one, are copied: the first thing to know of a test.
    repeats = max((max(n.a, n.b) for n in quality if n.code == "duplicates"), default=0.0)
    copied = {n.text for n in quality if n.code == "shared rows" and max(n.a, n.b) > repeats + 0.05}
    notes = [
        n.text
        for n in quality
        if (n.differs or n.text in copied) and n.column not in known.get(n.code, ())
    ]
    more = len(notes) - FIRST_NOTES
    if more <= 0:
        return notes
    remarks = "1 more remark" if more == 1 else f"{more:,} more remarks"
    return [*notes[:FIRST_NOTES], f"The report has {remarks} on data quality."]


def to_check(rows: RowsToCheck, names: tuple[str, str]) -> list[str]:
    """How many rows are worth a look, and why."""
    a, b = names
    counts = ((rows.a_like_b, f"of {a} like {b}"), (rows.b_like_a, f"of {b} like {a}"))
    parts = [f"{n:,} {words}" for n, words in (*counts, (rows.neither, "like neither")) if n]
    return [f"Rows worth a look: {', '.join(parts)}."] if parts else []
