"""From what the sets hold to the plan: the rules, each with its reason.

1. A column is a **number** if its type is, or if every text in it, in every set, reads as one
   (see ``readings``); a **boolean**, **date** or **duration** likewise. Dates may be written in
   another order in each set. 0 and 1 in one set are the yes and no of another. A column that has
   numbers in one set and other text in another is left out: no guess would be right.
2. A whole-number column is an **identifier** if it is called like one *and* either only rises or
   falls, row by row, in each set, or repeats almost no value. A name that identifiers share with
   other columns (seqn, case number) will do where no value repeats in a set, and numbers drawn
   from such ranges would have repeated ten times or more. Measurements are never left out:
   fractions, or another name, are enough.
3. A few stray texts do not make text of numbers or dates: where at least 90 % of the values of one
   set read as such, and half of those of any other, they are, and the strays count as missing. So
   it is if the type of a set says so, else with more than 30 different texts: "3+" is a level.
4. A text column is an **identifier** if at least 90 % of its values are distinct within their set
   (and more than 10 are): no level would stand for more than a row or two. It is **free text** if
   at least half of its values are distinct and they have four words or more on average.
5. All other text is a **category**: one feature for each of the 30 levels that are most frequent
   in all sets together, those first that make up 5 % of a set and ten of its rows. Rare levels
   must not be chosen by their share in a set: a level of one row has a larger share in the smaller
   set, whose rare levels would all be chosen, and the others' all be "other".
6. A date is a **time** where the sets are of different times, as training and production are: no
   two of them overlap, and chance would hardly do that. It would separate the sets by itself and
   hide what else changed; as a time it says when rows are from, and is no feature.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from heapq import nsmallest

from cospan._tolerance import ZEROS_AND_ONES
from cospan.errors import InputError
from cospan.sources.arrow_rows import EXACT

from .dates import order_of_times, times_apart
from .held import Parts, has_gaps, means_of, shares_of
from .learn import ColumnLearner, TextLearner, looks_like_identifier, may_be_identifier
from .plan import TRUTH, ColumnPlan
from .readings import (
    AMBIGUOUS,
    READINGS,
    boolean_pair,
    chosen,
    in_two_orders,
    of_each,
    ways_to_read,
)
from .sketches import HASHES
from .wording import EMPTY, PLURALS

#: Why a column of numbers is no feature.
ROW_NUMBERS = "row identifiers: whole numbers that hardly repeat"
#: Levels that get a feature of their own.
MOST_FREQUENT = 30
NEARLY_ALL, HALF = 0.9, 0.5
#: With this many different texts or fewer, every one is worth a feature.
FEW = 10
FREE_TEXT_WORDS = 4
#: A level of this share of a set, and of so many of its rows, has a feature in any case.
PROMINENT, PROMINENT_ROWS = 0.05, 10
#: More texts than two words of up to five letters have in any mix of upper and lower case.
SPELLINGS = 64
#: Equal pairs that so many numbers from such a range would have had, if they were no identifiers.
EXPECTED_REPEATS = 10
#: Huge numbers count from a multiple of this, so that multiples of 10, 5 and 2 stay what they are.
ROUND = 10**12


def decide_column(parts: Parts, missing: str, *, asked: bool, names: Sequence[str]) -> ColumnPlan:
    """The plan for one column from what each set holds in it.

    `asked` columns were named by the user, so they are not taken for row counters; `names` are
    the sets' names.
    """
    name, forced = parts[0].name, parts[0].forced
    found = set().union(*(part.families for part in parts))
    if not any(part.text is not None and part.text.count for part in parts):
        found -= {"text", "dictionary"}  # words for missing values, and nothing else
    if not found:
        return _left(name, EMPTY)
    if "other" in found:
        held = next(p.type_name for p in parts if "other" in p.families)
        return _left(name, f"it holds {held}")
    if forced == "category":
        column = _category(name, parts)
    elif found <= {"number", "boolean"}:
        if found == {"number"} and not (asked or forced) and _counts_rows(parts):
            return _left(name, ROW_NUMBERS)
        column = _of_numbers(name, parts, found)
    elif len(found) == 1 and not found & {"text", "dictionary"}:
        column = ColumnPlan(name, next(iter(found)), shape=parts[0].shape)
    else:
        column = _from_text(name, parts, found, names)
    if not column.used:
        return column
    if column.kind == "date" and not (asked or forced) and times_apart(column, parts):
        return ColumnPlan(name, "time", order_of_times(column, parts, names), column.reading)
    fill = shares_of(column, parts) if column.kind == "category" else means_of(column, parts)
    gaps = missing == "indicator" and has_gaps(column, parts)
    return replace(column, fill=fill, indicator=gaps)


def _of_numbers(name: str, parts: Parts, found: set[str]) -> ColumnPlan:
    """Numbers as they are, but huge ones that are told apart by their last digits only."""
    ends = [end for part in parts for end in part.ends] or [0]
    low, high = min(ends), max(ends)
    origin = low - low % ROUND
    if found != {"number"} or max(abs(low), abs(high)) <= EXACT or high - origin > EXACT:
        return ColumnPlan(name, "boolean" if found == {"boolean"} else "number")
    return ColumnPlan(f"{name} - {origin}", "number", of=(name,), origin=origin)


def _from_text(name: str, parts: Parts, found: set[str], names: Sequence[str]) -> ColumnPlan:
    """Text in at least one set, perhaps numbers or dates in others."""
    texts = [part.text for part in parts if part.text is not None and part.text.count]
    others = found - {"text", "dictionary"}
    if parts[0].forced == "number":
        return _forced_number(name, texts, parts)
    pair = _pair(texts)
    if pair is not None and (others <= {"boolean"} or _count_truths(parts)):
        return ColumnPlan(name, "boolean", levels=() if pair == TRUTH else pair)
    reading = "" if any(t.declared for t in texts) and not others else _reading(texts, others)
    first = ways_to_read(reading)[0]
    kind = READINGS[first].kind if first in READINGS else ""
    if others and others != {kind} and not (kind == "number" and others <= {"number", "boolean"}):
        raise InputError(_conflict(name, parts, names))
    if reading == AMBIGUOUS:
        return _left(name, _ambiguity(texts))
    if reading and not others and kind == "number" and _text_identifier(name, texts):
        return _left(name, ROW_NUMBERS)
    if reading:
        return ColumnPlan(name, kind, reading=reading)
    rows, distinct = sum(t.count for t in texts), sum(t.n_distinct for t in texts)
    if distinct > FEW * len(texts):
        if distinct >= HALF * rows and sum(t.words for t in texts) >= FREE_TEXT_WORDS * rows:
            return _left(name, "free text")
        if distinct >= NEARLY_ALL * rows:
            exact = all(text.levels.exact for text in texts)
            text = "identifiers: nearly all of the {rows:,} values differ"
            text = text if not exact else "identifiers: {share:.0%} of the values differ"
            text = text if distinct < rows or not exact else "identifiers: no value repeats"
            return _left(name, text.format(share=distinct / rows, rows=rows))
    return _category(name, parts)


def _forced_number(name: str, texts: Sequence[TextLearner], parts: Parts) -> ColumnPlan:
    """The reading that fits most values; the others count as missing."""
    fits = {
        reading: sum(text.read_as(reading).count for text in texts)
        for reading in ("point", "thousands", "comma", "iso date", *READINGS)
    }
    best = max(fits, key=lambda reading: fits[reading])
    if not fits[best] and not any(part.values for part in parts):
        example = next((text.odd for text in texts), "")
        raise InputError(
            f"Column {name!r} holds no numbers (but {example!r}, for one); take it out of numeric=."
        )
    return ColumnPlan(name, READINGS[best].kind, reading=best)


def _category(name: str, parts: Parts) -> ColumnPlan:
    texts = [part.text for part in parts if part.text is not None and part.text.count]
    total: Counter[str] = Counter()
    prominent: set[str] = set()
    for text in texts:
        counts = text.levels.counts
        total.update(counts)
        least = max(PROMINENT_ROWS, PROMINENT * text.count)
        prominent.update(level for level, count in counts.items() if count >= least)
    first = nsmallest(
        MOST_FREQUENT, total, key=lambda level: (level not in prominent, -total[level], level)
    )
    share = {level: sum(t.levels.counts.get(level, 0) / t.count for t in texts) for level in first}
    first.sort(key=lambda level: (-share[level], level))
    further = len(total) > MOST_FREQUENT or not all(text.levels.exact for text in texts)
    return ColumnPlan(name, "category", levels=tuple(first), other=further)


def _counts_rows(parts: Parts) -> bool:
    name = parts[0].name
    if not may_be_identifier(name) or not all(part.whole for part in parts):
        return False
    seen = [part for part in parts if part.rows > part.missing]
    values = sum(part.rows - part.missing for part in seen)
    distinct = sum(part.distinct.estimate for part in seen)
    if looks_like_identifier(name):
        return all(part.order.strict for part in seen) or distinct >= NEARLY_ALL * values
    return all(map(_never_repeats, seen)) and sum(map(_repeats, seen)) >= EXPECTED_REPEATS


def _never_repeats(part: ColumnLearner) -> bool:
    values, estimate = part.rows - part.missing, part.distinct.estimate
    # The estimate is exact up to so many values, then right to about 2 %.
    return estimate >= values if values <= HASHES else estimate >= NEARLY_ALL * values


def _repeats(part: ColumnLearner) -> float:
    """About how many pairs would be equal, n²/2r, if n numbers were drawn from a range of r."""
    whole = part.values["number"]
    return float((part.rows - part.missing) ** 2 / (2 * (float(whole.high - whole.low) + 1)))


def _text_identifier(name: str, texts: Sequence[TextLearner]) -> bool:
    distinct, values = sum(t.n_distinct for t in texts), sum(t.count for t in texts)
    return (
        looks_like_identifier(name)
        and distinct >= NEARLY_ALL * values
        and all(level.isdigit() for text in texts for level in text.levels.counts)
    )


def _reading(texts: Sequence[TextLearner], typed: set[str]) -> str:
    """How texts are read: all of them, or those of each set, or but for a few strays.

    `typed` are the families of the sets that are no text.
    """
    fitting = [text.fitting for text in texts]
    found = chosen(set.intersection(*fitting)) or of_each(fitting) if texts else ""
    if (
        found
        or not texts
        or (not typed and sum(text.n_distinct for text in texts) <= MOST_FREQUENT)
    ):
        return found
    nearly: dict[str, int] = {}
    for name, how in READINGS.items():
        read = [text.read_as(name).count for text in texts]
        shares = [n / text.count for n, text in zip(read, texts, strict=True)]
        most = 1.0 if how.kind in typed else max(shares)
        if most >= NEARLY_ALL and min(shares) >= HALF and not typed - {how.kind, "boolean"}:
            nearly[name] = sum(read)
    best = {name for name in nearly if nearly[name] == max(nearly.values())}
    return AMBIGUOUS if in_two_orders(nearly) else chosen(best)


def _count_truths(parts: Parts) -> bool:
    """Whether the numbers of all sets that have numbers are 0 and 1, and nothing else is there."""
    others = [m for part in parts for kind, m in part.values.items() if kind != "boolean"]
    return all(
        m.low >= 0
        and m.high <= 1
        and abs(m.squares / m.count - m.mean * (1 - m.mean)) < ZEROS_AND_ONES
        for m in others
    )


def _pair(texts: Sequence[TextLearner]) -> tuple[str, str] | None:
    if not all(text.levels.exact and len(text.levels.counts) <= SPELLINGS for text in texts):
        return None
    return boolean_pair({level for text in texts for level in text.levels.counts})


def _left(name: str, reason: str) -> ColumnPlan:
    return ColumnPlan(name, "left out", reason)


def _ambiguity(texts: Sequence[TextLearner]) -> str:
    if in_two_orders({chosen(text.fitting) for text in texts}):
        return "the day comes first in one set, the month in another; write 2020-12-31"
    levels = (level for text in texts for level in text.levels.counts)
    example = next((level for level in levels if set(level) & set(",/-")), "")
    if "," not in example:
        text = "{text!r} may begin with the day or with the month; write 2020-12-31"
        return text.format(text=example)
    text = "{text!r} may be a fraction or have a thousands separator; write plain numbers"
    return text.format(text=example)


def _conflict(name: str, parts: Parts, names: Sequence[str]) -> str:
    """Which sets hold what, one of each kind."""
    held: dict[str, str] = {}
    for part, its_name in zip(parts, names, strict=True):
        for kind in part.values:
            held.setdefault(PLURALS[kind], its_name)
        if part.text is not None and part.text.count:
            example = part.text.odd or next(iter(part.text.levels.counts), "")
            held.setdefault(f"text such as {example[:40]!r}", its_name)
    said = " and ".join(f"{kind} in {its_name}" for kind, its_name in held.items())
    return (
        f"Column {name!r} holds {said}; correct it, or say what it is with "
        f"categorical=, numeric= or drop=."
    )
