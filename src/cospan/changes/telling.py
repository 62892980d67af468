"""The verdict's sentences, one function for each thing there is to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cospan._language import either, later, say
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
    "location": later("location (where the values are centred)"),
    "scale": later("scale (how widely all of them spread)"),
    "shape": later("shape (spreads of single columns, relations between them)"),
    "levels": later("the levels of categories"),
    "missing": later("missing values"),
}


def first_pairs(relations: Relations) -> list[PairChange]:
    """One pair of each column that accounts for changed relations, the surest first."""
    pairs = dict.fromkeys(sorted(relations.leads.values(), key=lambda pair: -abs(pair.z)))
    return list(pairs)[:FIRST_PAIRS]


def headline(decided: Decided, columns: int, names: tuple[str, str]) -> str:
    sure = _adjusted(decided.p, columns if decided.by_column else 1)
    a, b = names
    if not decided.differs:
        return say("There is no evidence that {a} and {b} differ ({sure}).", a=a, b=b, sure=sure)
    if decided.as_a_whole is not None:
        text = later("{a} and {b} differ in single columns ({p}), although not as a whole ({q}).")
        return say(text, a=a, b=b, p=sure, q=chance(decided.as_a_whole))
    return say("{a} and {b} differ ({sure}).", a=a, b=b, sure=sure)


def _adjusted(p: float, columns: int) -> str:
    """A p-value in words, and over how many columns it is adjusted."""
    if columns < 2:
        return chance(p)
    return say("{p}, adjusted for {columns:,} columns", p=chance(p), columns=columns)


def how_much(differs: bool, sizes: tuple[str, ...], auc: Estimate | None) -> list[str]:
    if auc is None:
        return []
    known = dict(zip(("size", "low", "high"), map(say, sizes), strict=True))
    known |= {"n": of_hundred(auc.value), "interval": auc_interval(auc)}
    text = later("of 100 pairs of rows, one from each set, {n} are ordered correctly ({interval})")
    known["counted"] = say(text, **known)
    if not differs and sizes[2] == "large":  # the interval rules nothing out
        text = later("There are too few rows to say that they are alike: {counted}.")
    elif not differs and auc.value == 0.5:  # no angle but 45°
        text = later("Single rows cannot be separated: {counted}.")
    elif not differs:  # the features or the strength of the frame were chosen for these rows
        text = either(
            auc.low > 0.5,
            "Of 100 pairs of rows, one from each set, {n} are ordered correctly ({interval}), "
            "which the test does not confirm.",
            "Of 100 pairs of rows, one from each set, {n} are ordered correctly ({interval}).",
        )
    elif sizes[0] == "none":
        text = later("The difference is too small to tell single rows apart: {counted}.")
    else:
        text = either(
            sizes[1] == sizes[2],
            "The difference is {size}: {counted}.",
            "The difference is {size} (the interval goes from {low} to {high}): {counted}.",
        )
    return [say(text, **known)]


def in_what(kinds: Kinds, curved: bool) -> list[str]:
    if not kinds.mostly:
        return []
    share = kinds.shares.get(kinds.mostly, 0.0)
    # The shares are those of means and covariances, which a curved difference goes beyond.
    text = either(
        curved,
        "As far as it shows in means and spreads, it is {how} a difference in {kind}",
        "It is {how} a difference in {kind}",
    )
    how = say("mostly" if share > 0.5 else "first of all")
    said = say(text, how=how, kind=say(IN_WORDS[kinds.mostly]))
    if share:
        text = either(curved, "{said}: {share} of that", "{said}: {share} of it")
        said = say(text, said=said, share=share_text(share))
    if kinds.unsure is not None:
        text = later("{said}, by what single columns say; over all columns it is not certain ({p})")
        said = say(text, said=said, p=chance(kinds.unsure))
    return [say("{said}.", said=said)]


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
        text = later("{more:,} more of the {total:,} columns changed.")
        said.append(say(text, more=more, total=len(features)))
    if given and differs:
        ahead = not first or abs(given[0].shift) > abs(first[0].difference)
        against = [one.sentence(names) for one in given]
        said = against + said if ahead else said + against
    if differs and not said and not pairs:
        said = _of_shares(features)
    if said and not differs:
        text = either(
            len(features.changed) == 1,
            "A single column is a weak hint to the contrary ({sure}), perhaps by chance.",
            "Single columns are a weak hint to the contrary ({sure}), perhaps by chance.",
        )
        sure = _adjusted(min(one.p_adjusted for one in features), len(features))
        said.insert(0, say(text, sure=sure))
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
    further = say("{more} between columns changed.", more=plural(more, "more relation"))
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
    text = either(
        len(names) > 1,
        "No column and no relation changed for certain; {names} have the largest parts in it.",
        "No column and no relation changed for certain; {names} has the largest part in it.",
    )
    return [say(text, names=listed(names))]


def _of_nameless(features: FeatureTable) -> list[str]:
    """That x224 changed says nothing to anybody."""
    n, total = len(features.changed), len(features)
    text = either(
        n > 0,
        "It is spread over combinations of features, which have no names: {n:,} of the {total:,} "
        "changed by themselves too.",
        "None of the {total:,} features changed by itself: it is in combinations of them.",
    )
    return [say(text, n=n, total=total)]


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
    return [*notes[:FIRST_NOTES], say("The report has {more} on data quality.", more=remarks)]


def to_check(rows: RowsToCheck, names: tuple[str, str]) -> list[str]:
    """How many rows are worth a look, and why."""
    a, b = names
    parts = (
        (rows.a_like_b, later("{n:,} of {a} like {b}")),
        (rows.b_like_a, later("{n:,} of {b} like {a}")),
        (rows.neither, later("{n:,} like neither")),
    )
    said = ", ".join(say(text, n=n, a=a, b=b) for n, text in parts if n)
    return [say("Rows worth a look: {said}.", said=said)] if said else []
