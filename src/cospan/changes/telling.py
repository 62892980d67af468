"""The verdict's sentences, one function for each thing there is to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cospan._numbers import chance, share_text
from cospan._text import plural

from .columns import FeatureChange, FeatureTable
from .deciding import Decided, RowsToCheck
from .given import GivenOthers
from .kinds import Kinds
from .pairs import PairChange, Relations
from .quality import Quality
from .sentences import feature_sentence, pair_sentence
from .wording import auc_interval, listed, of_hundred

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
    sure = _adjusted(decided.p, columns if decided.by_column else 1)
    a, b = names
    if not decided.differs:
        return f"There is no evidence that {a} and {b} differ ({sure})."
    if decided.as_a_whole is not None:
        whole = chance(decided.as_a_whole)
        return f"{a} and {b} differ in single columns ({sure}), although not as a whole ({whole})."
    return f"{a} and {b} differ ({sure})."


def _adjusted(p: float, columns: int) -> str:
    """A p-value in words, and over how many columns it is adjusted."""
    if columns < 2:
        return chance(p)
    return f"{chance(p)}, adjusted for {columns:,} columns"


def how_much(differs: bool, sizes: tuple[str, ...], auc: Estimate | None) -> list[str]:
    if auc is None:
        return []
    known = dict(zip(("size", "low", "high"), sizes, strict=True))
    known |= {"n": of_hundred(auc.value), "interval": auc_interval(auc)}
    text = "of 100 pairs of rows, one from each set, {n} are ordered correctly ({interval})"
    known["counted"] = text.format(**known)
    if not differs and sizes[2] == "large":  # the interval rules nothing out
        text = "There are too few rows to say that they are alike: {counted}."
    elif not differs and auc.value == 0.5:  # no angle but 45°
        text = "Single rows cannot be separated: {counted}."
    elif not differs:  # the features or the strength of the frame were chosen for these rows
        text = (
            (
                "Of 100 pairs of rows, one from each set, {n} are ordered correctly ({interval}), "
                "which the test does not confirm."
            )
            if auc.low > 0.5
            else "Of 100 pairs of rows, one from each set, {n} are ordered correctly ({interval})."
        )
    elif sizes[0] == "none":
        text = "The difference is too small to tell single rows apart: {counted}."
    else:
        text = (
            "The difference is {size}: {counted}."
            if sizes[1] == sizes[2]
            else "The difference is {size} (the interval goes from {low} to {high}): {counted}."
        )
    return [text.format(**known)]


def in_what(kinds: Kinds, curved: bool) -> list[str]:
    if not kinds.mostly:
        return []
    share = kinds.shares.get(kinds.mostly, 0.0)
    # The shares are those of means and covariances, which a curved difference goes beyond.
    text = (
        "As far as it shows in means and spreads, it is {how} a difference in {kind}"
        if curved
        else "It is {how} a difference in {kind}"
    )
    how = "mostly" if share > 0.5 else "first of all"
    said = text.format(how=how, kind=IN_WORDS[kinds.mostly])
    if share:
        text = "{said}: {share} of that" if curved else "{said}: {share} of it"
        said = text.format(said=said, share=share_text(share))
    if kinds.unsure is not None:
        text = "{said}, by what single columns say; over all columns it is not certain ({p})"
        said = text.format(said=said, p=chance(kinds.unsure))
    return [f"{said}."]


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
        text = "{more:,} more of the {total:,} columns changed."
        said.append(text.format(more=more, total=len(features)))
    if given and differs:
        ahead = not first or abs(given[0].shift) > abs(first[0].difference)
        against = [one.sentence(names) for one in given]
        said = against + said if ahead else said + against
    if differs and not said and not pairs:
        said = _of_shares(features)
    if said and not differs:
        text = (
            "A single column is a weak hint to the contrary ({sure}), perhaps by chance."
            if len(features.changed) == 1
            else "Single columns are a weak hint to the contrary ({sure}), perhaps by chance."
        )
        sure = _adjusted(min(one.p_adjusted for one in features), len(features))
        said.insert(0, text.format(sure=sure))
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
        if "relation" in one.ways and (one.broken is None or one.broken.equal)
    }
    more = relations.pairs.n_changed - len(said | set(pairs))
    further = "{more} between columns changed.".format(more=plural(more, "more relation"))
    last = [further] if more > 0 else []
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
        if one.ways:
            said.append(feature_sentence(one, names))
    return said


def _of_shares(features: FeatureTable) -> list[str]:
    """Where to look when no column and no relation changed for certain."""
    first = sorted(features, key=lambda one: -one.part)[:FIRST_PAIRS]
    names = [one.name for one in first if one.part > 0]
    if not names:
        return []
    text = (
        "No column and no relation changed for certain; {names} have the largest parts in it."
        if len(names) > 1
        else "No column and no relation changed for certain; {names} has the largest part in it."
    )
    return [text.format(names=listed(names))]


def _of_nameless(features: FeatureTable) -> list[str]:
    """That x224 changed says nothing to anybody."""
    n, total = len(features.changed), len(features)
    text = (
        (
            "It is spread over combinations of features, which have no names: {n:,} of the "
            "{total:,} changed by themselves too."
        )
        if n > 0
        else "None of the {total:,} features changed by itself: it is in combinations of them."
    )
    return [text.format(n=n, total=total)]


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
    copied = {n for n in quality if n.code == "shared rows" and max(n.a, n.b) > repeats + 0.05}
    notes = [
        n.text
        for n in quality
        if (n.differs or n in copied) and n.column not in known.get(n.code, ())
    ]
    more = len(notes) - FIRST_NOTES
    if more <= 0:
        return notes
    remarks = plural(more, "more remark")
    return [*notes[:FIRST_NOTES], f"The report has {remarks} on data quality."]


def to_check(rows: RowsToCheck, names: tuple[str, str]) -> list[str]:
    """How many rows are worth a look, and why."""
    a, b = names
    parts = (
        (rows.a_like_b, "{n:,} of {a} like {b}"),
        (rows.b_like_a, "{n:,} of {b} like {a}"),
        (rows.neither, "{n:,} like neither"),
    )
    said = ", ".join(text.format(n=n, a=a, b=b) for n, text in parts if n)
    return [f"Rows worth a look: {said}."] if said else []
