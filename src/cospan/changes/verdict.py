"""The verdict: do two sets differ, by how much, in what, and how sure is that; in plain words.

**Differ**: the shift test's p-value is at most 0.05, or one column's adjusted p-value at most 0.01
(0.05 without a shift test), so that sets that do not differ are said to in 6 % of cases at most.

**How much**, by the AUC (how many of 100 pairs of rows, one of each set, the angle orders
rightly): none below 0.56, small from there, medium from 0.64, large from 0.71. These are the AUCs
of two normal distributions 0.2, 0.5 and 0.8 standard deviations apart, Cohen's cuts.

**In what**: location, scale or shape of numbers, levels of categories and booleans, or missing
values (see ``kinds``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from .columns import LEVEL, FeatureTable
from .given import GivenOthers
from .kinds import Kinds
from .pairs import PairChange, Relations
from .quality import Quality
from .sentences import feature_sentence, pair_sentence
from .wording import chance, share_text

if TYPE_CHECKING:
    from cospan.significance import Estimate, ShiftTest

__all__ = ["NO_ROWS", "SIZES", "RowsToCheck", "Verdict", "decide", "make_verdict", "size_of"]

#: From which AUC on a difference is called so.
SIZES = ((0.71, "large"), (0.64, "medium"), (0.56, "small"))
#: One column is enough for a verdict of its own if its adjusted p-value is at most this.
ONE_COLUMN = 0.01
FIRST_FEATURES, FIRST_PAIRS, FIRST_NOTES = 5, 3, 3
IN_WORDS = {
    "location": "location (where the values are centred)",
    "scale": "scale (how widely all of them spread)",
    "shape": "shape (spreads of single columns, relations between them)",
    "levels": "the levels of categories",
    "missing": "missing values",
}


class RowsToCheck(NamedTuple):
    """How many rows are worth a look: of A like B, of B like A, of any set like neither."""

    a_like_b: int = 0
    b_like_a: int = 0
    neither: int = 0


NO_ROWS = RowsToCheck()


class Decided(NamedTuple):
    """Whether the sets differ, and the p-value that says so.

    `by_column`: it is the smallest one of a column, adjusted; `as_a_whole` is then that of the
    shift test, if there is one and it says otherwise.
    """

    differs: bool
    p: float
    by_column: bool = False
    as_a_whole: float | None = None


@dataclass(frozen=True)
class Verdict:
    """What a comparison of two sets found.

    Attributes
    ----------
    differs : bool
    pvalue : float
        The one that decided: the shift test's, or the smallest adjusted one of a column.
    size : {"none", "small", "medium", "large", "unknown"}
        By the AUC; unknown without one.
    size_low, size_high : str
        The same by the ends of its interval.
    mostly : str
        ``"location"``, ``"scale"``, ``"shape"``, ``"levels"``, ``"missing"``, or empty where
        nothing differs.
    shares : mapping
        What share of the difference each of these is, as far as it is more than chance; the
        columns' shares are sums of the same table (see ``changes.kinds``).
    parts : mapping
        The same in the units of D, and the rest of D under ``"rest"``: they add up to D.
    features, pairs : tuple of str
        Names of the first changed columns; of pairs, ``"first and second"``.
    sentences : tuple of str
        The verdict in words, most important first.
    rows : RowsToCheck
        How many rows are worth a look.
    """

    differs: bool
    pvalue: float
    size: str
    size_low: str
    size_high: str
    mostly: str
    shares: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[str, float] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    rows: RowsToCheck = NO_ROWS

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def to_dict(self) -> dict[str, Any]:
        """Plain types only."""
        plain = ("differs", "pvalue", "size", "size_low", "size_high", "mostly")
        return {key: getattr(self, key) for key in plain} | {
            "shares": dict(self.shares),
            "parts": {k: v if math.isfinite(v) else None for k, v in self.parts.items()},
            "features": list(self.features),
            "pairs": list(self.pairs),
            "sentences": list(self.sentences),
            "rows": self.rows._asdict(),
        }


def size_of(auc: float) -> str:
    """How large a difference with such an AUC is.

    Examples
    --------
    >>> from cospan.changes import size_of
    >>> [size_of(auc) for auc in (0.5, 0.6, 0.7, 0.9)]
    ['none', 'small', 'medium', 'large']
    """
    return next((word for cut, word in SIZES if auc >= cut), "none")


def make_verdict(
    features: FeatureTable,
    relations: Relations,
    quality: Quality,
    kinds: Kinds,
    decided: Decided,
    auc: Estimate | None,
    names: tuple[str, str],
    rows: RowsToCheck = NO_ROWS,
    *,
    given: Sequence[GivenOthers] = (),
    curved: bool = False,
) -> Verdict:
    """Put what was decided in words; `curved`: the AUC is that of curved features."""
    differs = decided.differs
    sizes = ("unknown",) * 3
    if auc is not None:
        sizes = (size_of(auc.value), size_of(auc.low), size_of(auc.high))
    if not differs:
        sizes = ("none", "none", sizes[2])
    first = features.changed[:FIRST_FEATURES]
    pairs = _first_pairs(relations) if differs else []
    sentences = [
        _headline(decided, len(features), names),
        *_how_much(differs, sizes, auc),
        *_in_what(kinds, curved),
        *_of_columns(differs, features, names, given),
        *[pair_sentence(pair, names) for pair in pairs],
        *_quality(quality, features),
        *_to_check(rows, names),
    ]
    return Verdict(
        differs,
        decided.p,
        *sizes,
        kinds.mostly,
        kinds.shares,
        kinds.parts,
        tuple(one.name for one in first),
        tuple(f"{pair.first} and {pair.second}" for pair in pairs),
        tuple(dict.fromkeys(sentences)),
        rows,
    )


def _first_pairs(relations: Relations) -> list[PairChange]:
    """One pair of each column that accounts for changed relations, the surest first."""
    pairs = dict.fromkeys(sorted(relations.leads.values(), key=lambda pair: -abs(pair.z)))
    return list(pairs)[:FIRST_PAIRS]


def decide(features: FeatureTable, shift: ShiftTest | None) -> Decided:
    """Whether the sets differ, by the shift test or by a single column."""
    smallest = min((one.p_adjusted for one in features), default=1.0)
    if shift is None:
        return Decided(smallest <= LEVEL, smallest, by_column=True)
    if shift.pvalue > LEVEL and smallest <= ONE_COLUMN:
        return Decided(True, smallest, by_column=True, as_a_whole=shift.pvalue)
    return Decided(shift.pvalue <= LEVEL, shift.pvalue)


def _headline(decided: Decided, columns: int, names: tuple[str, str]) -> str:
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


def _how_much(differs: bool, sizes: tuple[str, ...], auc: Estimate | None) -> list[str]:
    if auc is None:
        return []
    value, low, high = map(_of_hundred, (auc.value, auc.low, auc.high))
    counted = (
        f"of 100 pairs of rows, one from each set, {value} are ordered correctly "
        f"({100 * auc.confidence:.0f} % interval {low} to {high}; by chance 50)"
    )
    if not differs and auc.value == 0.5:  # no angle but 45°
        return [f"Single rows cannot be separated: {counted}."]
    if not differs:
        return [f"{counted[0].upper()}{counted[1:]}."]
    if sizes[0] == "none":
        return [f"The difference is too small to tell single rows apart: {counted}."]
    span = "" if sizes[1] == sizes[2] else f" (the interval goes from {sizes[1]} to {sizes[2]})"
    return [f"The difference is {sizes[0]}{span}: {counted}."]


def _of_hundred(auc: float) -> str:
    """An AUC as a count, never rounded up to certainty."""
    return "over 99" if 0.995 <= auc < 1 else f"{100 * auc:.0f}"


def _in_what(kinds: Kinds, curved: bool) -> list[str]:
    if not kinds.mostly:
        return []
    share = kinds.shares.get(kinds.mostly, 0.0)
    # The shares are those of means and covariances, which a curved difference goes beyond.
    it, of_it = "It", "it"
    if curved:
        it, of_it = "As far as it shows in means and spreads, it", "that"
    part = f": {share_text(share)} of {of_it}" if share else ""
    how = "mostly" if share > 0.5 else "first of all"
    return [f"{it} is {how} a difference in {IN_WORDS[kinds.mostly]}{part}."]


def _of_columns(
    differs: bool, features: FeatureTable, names: tuple[str, str], given: Sequence[GivenOthers]
) -> list[str]:
    """What changed in the first columns; a weak hint where the sets do not differ as a whole.

    A column that moved against the others comes first where it moved further than the first.
    """
    first = features.changed[:FIRST_FEATURES]
    said = [feature_sentence(one, names) for one in first]
    more = len(features.changed) - FIRST_FEATURES
    if more > 0:
        said.append(f"{more:,} more of the {len(features):,} columns changed.")
    if given and differs:
        ahead = not first or abs(given[0].shift) > abs(first[0].difference)
        against = [one.sentence(names) for one in given]
        said = against + said if ahead else said + against
    if said and not differs:
        sure = chance(min(one.p_adjusted for one in features))
        which = "A single column is" if len(features.changed) == 1 else "Single columns are"
        over = f", adjusted for {len(features):,} columns" if len(features) > 1 else ""
        said.insert(0, f"{which} a weak hint to the contrary ({sure}{over}), perhaps by chance.")
    return said


def _quality(quality: Quality, features: FeatureTable) -> list[str]:
    """What sentences about columns have not said yet.

    That a column which rose also left its range goes without saying.
    """
    named = {one.name for one in features.changed[:FIRST_FEATURES]}
    moved = {one.name for one in features.changed if one.change in ("mean", "spread")}
    still = {n.column for n in quality if n.code == "constant" and n.a == n.b == 0}
    known = {"missing": named, "new levels": named, "vanished levels": named, "range": moved}
    known["constant"] = named & still  # one value in A, another in B: that was said
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


def _to_check(rows: RowsToCheck, names: tuple[str, str]) -> list[str]:
    """How many rows are worth a look, and why."""
    a, b = names
    counts = ((rows.a_like_b, f"of {a} like {b}"), (rows.b_like_a, f"of {b} like {a}"))
    parts = [f"{n:,} {words}" for n, words in (*counts, (rows.neither, "like neither")) if n]
    return [f"Rows worth a look: {', '.join(parts)}."] if parts else []
