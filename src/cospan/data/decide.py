"""From what the sets hold to the plan: the rules, each with its reason.

1. Text is what all its values, in every set, read as (see ``readings``): **numbers**, **booleans**,
   **dates**, **durations**; numbers in one set and other text in another are a change of type.
   A few strays among many values count as missing: "3+" among ten levels is a level.
2. Whole numbers are **identifiers** if they are called so and only rise, only fall or hardly
   repeat. Measurements are never left out: fractions, or another name, are enough.
3. Text of which at least 90 % of the values differ within their set is **identifiers**; half of
   them, with four words or more, **free text**; all other text is a **category**. Its levels are
   the most frequent in all sets together, not by their share in a set: the rare levels of the
   smaller set would all be chosen, and the others' all be "other".
4. What gives the set away by construction would hide what else changed, and is **set aside**: dates
   that hardly overlap, whole numbers that count the rows on from set to set, and columns that
   hardly vary within each set. Another unit or an offset is what a user wants to know.
5. A date has a **time of day** that sets of different times share, and two dates have a **time
   between them**: a clock that is off, and a date that moved, show there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from itertools import pairwise

import numpy as np

from cospan.base.tolerance import WITHIN_MINUTE

from .columns import AMBIGUOUS, PLAIN, READINGS, boolean_pair, chosen, hours_of
from .learn import Held, looks_like_identifier, may_be_identifier
from .plan import ABSURD, EMPTY, HOLDS, SCHEMA, TRUTH, ColumnPlan, SchemaChange

#: Why a column of numbers is not a feature.
ROW_NUMBERS = "row identifiers: whole numbers that hardly repeat"
#: Why dates are not compared.
TIMES = "its dates hardly overlap in all sets"
#: Levels that get a feature of their own; and where categories are many, of all together and of
#: each at least.
MOST_FREQUENT, MOST_IN_ALL, FEWEST_LEVELS = 30, 600, 5
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
#: How often dates of one distribution may be taken for those of different times.
BY_CHANCE = 0.01
#: Means of dates, in sums of their deviations: periods that follow each other have 1.7, those that
#: share an eighth of their days have this.
FAR = 1.5
#: The share of a set that has one value from which a column hardly varies, and the fewest rows.
CONSTANT, FEWEST_ROWS = 0.99, 10
#: The mean that fills gaps keeps this many digits, counted from the larger one of mean and spread:
#: its last digits depend on how rows were cut into blocks, and a plan must not.
FILL_DIGITS = 10
MINUTES = 24 * 60

Parts = Sequence[Held]


def decide_column(
    parts: Parts, *, asked: bool, names: Sequence[str]
) -> tuple[ColumnPlan, SchemaChange | None]:
    """The plan for one column from what each set holds in it, and whether it changed its type.

    `asked` columns were named by the user, so they are not taken for row counters and not set
    aside; `names` are the sets' names.
    """
    column = _kind_of(parts, asked)
    if column is None:
        return _retyped(parts, names)
    if not column.used:
        return column, None
    category = column.kind == "category"
    if not category and not any(part.numbers(column).count for part in parts):
        absurd = any(part.numbers(column).absurd for part in parts)
        empty = f"{HOLDS} no numbers" if _texts(parts) else EMPTY
        return _left(column.name, ABSURD if absurd else empty), None
    if len(parts) > 1 and not asked and not parts[0].forced:
        if column.kind == "date" and _times_apart(column, parts):
            return ColumnPlan(column.name, "time", TIMES, column.reading), None
        if reason := _row_counter(column, parts) or _constant_within(column, parts, names):
            return ColumnPlan(column.name, "set aside", reason), None
    gaps = any(part.gaps(column) for part in parts)
    fill = column.fill if category else (_mean(column, parts),)
    return replace(column, fill=fill, indicator=gaps), None


def _kind_of(parts: Parts, asked: bool) -> ColumnPlan | None:
    """What the column is; None if it is numbers in one set and something else in another."""
    name, forced = parts[0].name, parts[0].forced
    found = {part.family for part in parts if part.family}
    if not _texts(parts):
        found -= {"text", "dictionary"}  # words for missing values, and nothing else
    if not found:
        return _left(name, EMPTY)
    if "other" in found:
        held = next(part.type_name for part in parts if part.family == "other")
        return _left(name, f"{HOLDS} {held}")
    if forced == "category":
        return _category(name, parts)
    if found <= {"number", "boolean"}:
        if found == {"number"} and not (asked or forced) and _counts_rows(parts):
            return _left(name, ROW_NUMBERS, watched=True)
        return ColumnPlan(name, "boolean" if found == {"boolean"} else "number")
    if len(found) == 1 and not found & {"text", "dictionary"}:
        return ColumnPlan(name, next(iter(found)))
    return _from_text(name, parts, found)


def _from_text(name: str, parts: Parts, found: set[str]) -> ColumnPlan | None:
    """Text in at least one set, perhaps numbers or dates in others."""
    texts = _texts(parts)
    others = found - {"text", "dictionary"}
    if parts[0].forced == "number":
        # The reading that fits most values; the others count as missing.
        known = ("point", "thousands", "comma", "iso date", *READINGS)
        fits = {reading: sum(text.fits(reading) for text in texts) for reading in known}
        best = max(fits, key=lambda reading: fits[reading])
        kind = READINGS[best].kind
        return ColumnPlan(name, kind, reading="" if best == PLAIN[kind] else best)
    few = all(len(text.levels) <= SPELLINGS for text in texts)
    pair = boolean_pair({x for text in texts for x in text.levels}) if few else None
    if pair is not None and others <= {"boolean"}:
        return ColumnPlan(name, "boolean", levels=() if pair == TRUTH else pair)
    reading = "" if any(t.declared for t in texts) and not others else _reading(texts, others)
    kind = READINGS[reading].kind if reading in READINGS else ""
    if others and others != {kind} and not (kind == "number" and others <= {"number", "boolean"}):
        return None
    if reading == AMBIGUOUS:
        levels = (level for text in texts for level in text.levels)
        example = next((level for level in levels if set(level) & set(",./-")), "")
        why = f"{example!r} can be read in several ways; write 2020-12-31, or 1234.5"
        return _left(name, why, watched=True)
    if reading:
        return ColumnPlan(name, kind, reading="" if reading == PLAIN[kind] else reading)
    rows, distinct = sum(t.count for t in texts), sum(len(t.levels) for t in texts)
    if distinct > FEW * len(texts):
        if distinct >= HALF * rows and sum(t.words for t in texts) >= FREE_TEXT_WORDS * rows:
            return _left(name, "free text", watched=True)
        if distinct >= NEARLY_ALL * rows:
            differ = f"{distinct / rows:.0%} of the values differ"
            said = differ if distinct < rows else "no value repeats"
            return _left(name, f"identifiers: {said}", watched=True)
    return _category(name, parts)


def _texts(parts: Parts) -> list[Held]:
    return [part for part in parts if part.count]


def _category(name: str, parts: Parts) -> ColumnPlan:
    texts = _texts(parts)
    total: Counter[str] = Counter()
    prominent: set[str] = set()
    for text in texts:
        counts = text.levels
        total.update(counts)
        least = max(PROMINENT_ROWS, PROMINENT * text.count)
        prominent.update(level for level, count in counts.items() if count >= least)
    first = nsmallest(
        MOST_FREQUENT, total, key=lambda level: (level not in prominent, -total[level], level)
    )
    share = {level: sum(t.levels.get(level, 0) / t.count for t in texts) for level in first}
    first.sort(key=lambda level: (-share[level], level))
    fill = [share[level] / len(texts) for level in first]
    if other := len(total) > MOST_FREQUENT:
        further = (t.count - sum(t.levels.get(level, 0) for level in first) for t in texts)
        rest = sum(n / t.count for n, t in zip(further, texts, strict=True))
        fill.append(rest / len(texts))
    return ColumnPlan(name, "category", levels=tuple(first), fill=tuple(fill), other=other)


def shortened(plans: Sequence[ColumnPlan]) -> list[ColumnPlan]:
    """The same plans, where categories are many with fewer levels each: the rest is "other"."""
    categories = sum(one.kind == "category" for one in plans)
    most = max(FEWEST_LEVELS, MOST_IN_ALL // max(categories, 1))
    found = []
    for plan in plans:
        if plan.kind == "category" and len(plan.levels) > most:
            fill = (*plan.fill[:most], sum(plan.fill[most:]))
            plan = replace(plan, levels=plan.levels[:most], fill=fill, other=True)
        found.append(plan)
    return found


def _counts_rows(parts: Parts) -> bool:
    name = parts[0].name
    if not may_be_identifier(name) or not all(part.whole for part in parts):
        return False
    seen = {part: m for part in parts if (m := part.values) is not None and m.count}
    distinct, values = sum(len(p.different) for p in seen), sum(m.count for m in seen.values())
    if looks_like_identifier(name):
        return all(part.counts_on for part in seen) or distinct >= NEARLY_ALL * values
    # About so many pairs would be equal, n²/2r, if n numbers were drawn from a range of r.
    repeats = sum(m.count**2 / (2 * (m.high - m.low + 1)) for m in seen.values())
    return distinct == values and repeats >= EXPECTED_REPEATS


def _reading(texts: Parts, typed: set[str]) -> str:
    """How texts are read, all or but for a few strays, beside sets of the families `typed`."""
    fitting = [text.fitting for text in texts]
    if found := chosen(set.intersection(*fitting) if texts else set()):
        return found
    if len(texts) > 1 and all(any(READINGS[x].kind == "date" for x in own) for own in fitting):
        return AMBIGUOUS  # in each set another order
    if not texts or (not typed and sum(len(text.levels) for text in texts) <= MOST_FREQUENT):
        return ""
    nearly: dict[str, int] = {}
    for name, how in READINGS.items():
        read = [text.fits(name) for text in texts]
        shares = [n / text.count for n, text in zip(read, texts, strict=True)]
        most = 1.0 if how.kind in typed else max(shares)
        if most >= NEARLY_ALL and min(shares) >= HALF and not typed - {how.kind, "boolean"}:
            nearly[name] = sum(read)
    return chosen({name for name in nearly if nearly[name] == max(nearly.values())})


def _left(name: str, reason: str, *, watched: bool = False) -> ColumnPlan:
    """A column that makes no feature; it is watched how text is written, and what is missing."""
    return ColumnPlan(name, "left out", reason, watched=watched)


def _retyped(parts: Parts, names: Sequence[str]) -> tuple[ColumnPlan, SchemaChange]:
    """A column that holds one kind of values in some sets, another in others."""
    held: dict[str, str] = {}
    for part, name in zip(parts, names, strict=True):
        if part.values is not None:
            held[name] = f"a {part.family}"
        elif part.count:
            held[name] = "text"
    column = parts[0].name
    change = SchemaChange("retyped", column, tuple(held), kinds=tuple(held.values()))
    return _left(column, SCHEMA), change


def _mean(column: ColumnPlan, parts: Parts) -> float:
    """Mean over the sets of the mean of the values present."""
    own = [m for m in (part.numbers(column) for part in parts) if m.count]
    mean = sum(m.mean for m in own) / len(own)
    size = max(abs(mean), *(m.deviation for m in own))
    if 0 < size < math.inf:
        mean = round(mean, FILL_DIGITS - 1 - math.floor(math.log10(size)))
    return mean if math.isfinite(mean) else 0.0


# ---- what gives the set away -------------------------------------------------------------------


def _times_apart(column: ColumnPlan, parts: Parts) -> bool:
    """Whether rows of some sets come before those of the others, nearly all and not by chance."""
    known = [m for m in (part.numbers(column) for part in parts) if m.count]
    if len(known) < len(parts):
        return False
    known.sort(key=lambda m: float(m.mean))
    for k in range(1, len(known)):
        before, later = known[k - 1], known[k]
        gap = float(later.mean - before.mean)
        if max(m.high for m in known[:k]) < min(m.low for m in known[k:]):
            # Of all orders of the rows these are so few; ties make it less likely still.
            halves = sum(m.count for m in known[:k]), sum(m.count for m in known[k:])
            orders = sum(math.lgamma(n + 1) for n in halves) + math.log(2)
            if orders - math.lgamma(sum(halves) + 1) < math.log(BY_CHANCE):
                return True
        elif min(before.count, later.count) >= FEWEST_ROWS and gap > FAR * (
            before.deviation + later.deviation
        ):
            return True
    return False


def _row_counter(column: ColumnPlan, parts: Parts) -> str:
    """Whole numbers that rise row by row, leave out few, and begin in one set after another."""
    if column.kind != "number" or not all(part.whole and part.counts_on for part in parts):
        return ""
    found = sorted((part.numbers(column) for part in parts), key=lambda m: float(m.low))
    step = max(part.step for part in parts)
    dense = all(m.high - m.low < 2 * m.count * step and m.count >= FEWEST_ROWS for m in found)
    apart = all(one.high < after.low for one, after in pairwise(found))
    return "it numbers the rows, on from set to set" if dense and apart else ""


def _constant_within(column: ColumnPlan, parts: Parts, names: Sequence[str]) -> str:
    """One value in nearly all rows of each set, and not the same in all sets."""
    found = [part.commonest(column) for part in parts]
    if any(count < FEWEST_ROWS or n < CONSTANT * count for _, n, count in found):
        return ""
    values = [value for value, _, _ in found]
    if len(set(values)) < 2:
        return ""
    said = ", ".join(f"{value} in {name}" for value, name in zip(values, names, strict=True))
    return f"it hardly varies within each set ({said})"


# ---- made of dates -----------------------------------------------------------------------------


def clock_of(column: ColumnPlan, parts: Parts) -> ColumnPlan | None:
    """The time of day of dates; None where it is always the same, as midnight is in pure dates.

    The day begins in its emptiest hour: a time past midnight comes after one before midnight.
    """
    own = []
    for found in (part.numbers(column) for part in parts):
        if found.count:
            minute = np.floor(60 * hours_of(found.values) + WITHIN_MINUTE).astype(np.intp) % MINUTES
            own.append(np.bincount(minute, found.weights, MINUTES) / found.count)
    shares = np.sum(own, axis=0)
    if np.count_nonzero(shares) < 2:
        return None
    origin = int(np.argmin(shares.reshape(24, -1).sum(axis=1)))
    minute = np.arange(MINUTES)
    hours = np.where(minute < 60 * origin, minute + MINUTES, minute) / 60
    fill = round(float(shares @ hours / len(own)), 4)
    name, gaps = f"time of day of {column.name}", any(part.gaps(column) for part in parts)
    return ColumnPlan(
        name, "time of day", fill=(fill,), indicator=gaps, of=(column.name,), origin=origin
    )


def spans_of(columns: Sequence[ColumnPlan], parts: Mapping[str, Parts]) -> list[ColumnPlan]:
    """Times from one date to the next, where at least one of them is not compared itself."""
    spans = []
    for pair in pairwise(column for column in columns if column.kind in ("date", "time")):
        if any(date.kind == "time" for date in pair):
            name = f"time from {pair[0].name} to {pair[1].name}"
            first, last = (_mean(date, parts[date.name]) for date in pair)
            gaps = any(part.gaps(date) for date in pair for part in parts[date.name])
            of = (pair[0].name, pair[1].name)
            spans.append(ColumnPlan(name, "duration", fill=(last - first,), indicator=gaps, of=of))
    return spans
