"""Findings and whole results become sentences here, and nowhere else.

A sentence on a finding is short, in the user's units, and has the one number that matters, or what
it was and what it is. Sets are called by their names. No code looks into a sentence.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cospan.base.text import (
    chance,
    correlations,
    cut_middle,
    exact_number,
    listed,
    number,
    pair_of,
    plural,
    quoted,
    set_name,
    share_text,
    shares_text,
)
from cospan.evidence import (
    IN_BOTH,
    OTHER,
    PIXEL,
    SQUARE,
    Finding,
    Size,
    Smallest,
    Verdict,
    size_word,
)

if TYPE_CHECKING:
    from cospan.comparison import Comparison
    from cospan.monitoring import Episode, Monitoring, Window

#: Findings that a verdict has a sentence for.
MOST_FINDINGS = 8
#: Notes on the quality of data that belong into the verdict.
WRITTEN = ("writing", "blanks")
#: Findings on columns that are not the same in both sets.
SCHEMA = ("only in", "renamed", "retyped", "lacking", "absurd")

#: Kinds of columns that have shares, and those whose values are not plain numbers.
SHARED, TIMES = ("category", "boolean"), ("date", "time of day", "duration")
#: The share of values outside the other set's range from which on that is said.
PARTLY = 0.05
#: Endings of files, which nobody says.
_ENDING = re.compile(
    r"(\.(csv|tsv|txt|parquet|pq|arrow|feather|ipc|jsonl?|ndjson|xlsx?|npy|npz|zip|gz|bz2|xz|zst))+$",
    re.IGNORECASE,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Pair: TypeAlias = tuple[str, str]  # of sets' names


def set_names(sets: Sequence[str]) -> tuple[str, ...]:
    """What sets are called in sentences: files without their endings, long names cut in the middle.

    >>> set_names(("data/june.csv.gz", "july.parquet")), set_names(("x.csv", "x.parquet"))
    (('june', 'july'), ('x.csv', 'x.parquet'))
    """
    plain = [name.replace("\\", "/").rstrip("/").rpartition("/")[2] or name for name in sets]
    stems = [_ENDING.sub("", name) for name in plain]
    for shorter in (stems, plain):
        if len(set(shorter)) == len(sets) and all(shorter):
            return tuple(set_name(cut_middle(name)) for name in shorter)
    return tuple(map(set_name, sets))


def sentence(one: Finding, sets: Sequence[str], kind: str = "number") -> str:
    """One sentence on a finding; `kind` is that of its column.

    >>> one = Finding("mean", "tenure", a=32.4, b=45.1, effect=0.5)
    >>> sentence(one, ("January", "July"))
    'tenure rose from 32.4 to 45.1.'
    """
    a, b = set_names(sets)
    writer = _WRITERS[one.kind]
    text = writer.format_map(_parts(one, (a, b))) if isinstance(writer, str) else (
        writer(one, (a, b), kind)
    )  # fmt: skip
    if one.where is not None and one.kind != "inside":
        text += f", but only where {quoted(one.where[0])} = {quoted(one.where[1])}"
    first = text.startswith((f"{quoted(one.column)} ", f"{quoted(one.second)} "))
    return f"{text if first else text[:1].upper() + text[1:]}."


def finding_sentences(verdict: Verdict, findings: Iterable[Finding]) -> list[str]:
    """One sentence on each of some findings of a verdict."""
    kinds = verdict.kinds
    return [sentence(one, verdict.sets, kinds.get(one.column, "number")) for one in findings]


def _parts(one: Finding, sets: Pair) -> dict[str, str]:
    """What the plainest sentences are made of."""
    up = one.b > one.a
    x, y = shares_text(one.a, one.b)
    second = quoted(one.second) if one.second else "the other columns"
    names = quoted(one.column), second
    return {
        "name": names[0], "second": second, "low": min(names), "high": max(names),
        "a": sets[0], "b": sets[1], "x": x, "y": y, "detail": one.detail,
        "more": sets[up], "most": y if up else x, "less": "less" if up else "more",
        "levels": listed(one.levels), "first": "".join(one.levels[:1]),
        "last": "".join(one.levels[-1:]), "rows": plural(one.rows, "row"),
        "are": "is" if one.rows == 1 else "are",
    }  # fmt: skip


def _moved(one: Finding) -> str:
    return "rose" if one.b > one.a else "fell"


def _share(one: Finding, what: str, sets: Pair) -> str:
    """What holds for a share of the rows of B, and what share it was in A."""
    x, y = shares_text(one.a, one.b)
    here, there, share = (*sets, x) if one.b == 0 else (sets[1], sets[0], y)
    text = f"{what} in {'all' if share == '100%' else share} of {here}"
    if one.a == 0 or one.b == 0:
        return f"{text}, never in {there}"
    return f"{text}, {'up' if one.b > one.a else 'down'} from {x}"


def _mean(one: Finding, sets: Pair, kind: str) -> str:
    if one.detail:
        factor = float(one.detail)
        times = number(max(factor, 1 / factor), 2)
        size = "large" if factor > 1 else "small"
        return f"{quoted(one.column)} is {times} times as {size} throughout in {sets[1]}"
    x, y = pair_of(one.a, one.b)
    moved = "moved" if kind in ("date", "time of day") else _moved(one)
    if kind in TIMES:
        x, y = (value_text(v, kind) for v in (one.a, one.b))
    text = f"{quoted(one.column)} {moved} from {x} to {y}"
    if one.beyond < PARTLY or math.isnan(one.beyond):
        return text
    return f"{text}, {'mostly' if one.beyond > 0.5 else 'partly'} beyond the range of {sets[0]}"


def _spread(one: Finding, sets: Pair, kind: str) -> str:
    name = quoted(one.column)
    if one.a == 0 or one.b == 0:
        return f"{name} does not vary in {sets[0] if one.a == 0 else sets[1]}"
    ratio = one.b / one.a
    if ratio >= 2:
        return f"{name} varies {number(ratio, 2)} times as much in {sets[1]}"
    change = share_text(abs(ratio - 1))
    return f"{name} varies {change} {'more' if ratio > 1 else 'less'} in {sets[1]}"


def _shape(one: Finding, sets: Pair, kind: str) -> str:
    if one.beyond >= max(PARTLY, abs(one.b - one.a) / 2):  # else it is the lesser part of it
        share = share_text(one.beyond)
        return f"{quoted(one.column)} is outside the range of {sets[0]} in {share} of {sets[1]}"
    x, y = shares_text(one.a, one.b)
    value = value_text(float(one.detail), kind)
    return f"rows with {quoted(one.column)} up to {value} {_moved(one)} from {x} to {y}"


def _level(one: Finding, sets: Pair, kind: str) -> str:
    name, level = quoted(one.column), quoted(one.detail)
    if one.detail != OTHER and (one.a == 0 or one.b == 0):
        return _share(one, f"{name} is {'a ' if one.part else ''}{level}", sets)
    x, y = shares_text(one.a, one.b)
    what = f"{level}s in {name}" if one.part else f"{name} = {level}"
    what = f"rare values of {name}" if one.detail == OTHER else what
    return f"{what} {_moved(one)} from {x} to {y}"


def _value(one: Finding, sets: Pair, kind: str) -> str:
    value = float(one.detail)
    named = value_text(value, kind) if kind != "number" else exact_number(value)
    return _share(one, f"{quoted(one.column)} is exactly {named}", sets)


def _rounding(one: Finding, sets: Pair, kind: str) -> str:
    what = f"is a multiple of {one.detail}"
    if one.detail == "1":
        what = "has no time of day" if kind == "date" else "is a whole number"
    return _share(one, f"{quoted(one.column)} {what}", sets)


def _text(one: Finding, sets: Pair, kind: str) -> str:
    name, (x, y) = quoted(one.column), pair_of(one.a, one.b)
    if x == y:
        return f"{name} is written differently in {sets[1]} ({one.part})"
    more = "more" if one.b > one.a else "fewer"
    what = "characters" if one.part == "length" else one.part
    return f"{name} has {more} {what} in {sets[1]}: {y} on average, {x} in {sets[0]}"


def _given(one: Finding, sets: Pair, kind: str) -> str:
    given = f"for the same {quoted(one.second)}" if one.second else "given the other columns"
    if kind in ("category", "boolean"):
        return f"{given}, {quoted(one.column)} has other values in {sets[1]}"
    apart, up = abs(one.b - one.a), one.b > one.a
    step = value_text(apart, "duration") if kind in ("date", "duration") else number(apart, 2)
    words = ("later", "earlier") if kind == "date" else ("higher", "lower")
    return f"{given}, {quoted(one.column)} is {step} {words[0] if up else words[1]} in {sets[1]}"


def _relation(one: Finding, sets: Pair, kind: str) -> str:
    pair = f"{quoted(one.column)} and {quoted(one.second)}"
    if one.detail == SQUARE:
        more = "stronger" if abs(one.b) > abs(one.a) else "weaker"
        return f"the curved relation of {pair} is {more} in {sets[1]}"
    if one.detail == "equal":
        return _share(one, f"{quoted(one.column)} equals {quoted(one.second)}", sets)
    x, y = correlations(one.a, one.b)
    ends = ((one.column, one.part), (one.second, one.detail))
    first, second = (f"{quoted(c)} = {quoted(level)}" if level else quoted(c) for c, level in ends)
    moved = _moved(one) if min(one.a, one.b) > -0.005 else "went"  # -0.00 is 0.00
    return f"the correlation of {first} and {second} {moved} from {x} to {y}"


def _inside(one: Finding, sets: Pair, kind: str) -> str:
    where = f"where {quoted(one.second)} = {quoted(one.detail)}"
    if one.part == "spread":
        return f"{where}, {_spread(one, sets, kind)}"
    x, y = pair_of(one.a, one.b)
    return f"{where}, {quoted(one.column)} {_moved(one)} from {x} to {y}"


def _repeated(one: Finding, sets: Pair, kind: str) -> str:
    where = {"within A": sets[0], "within B": sets[1]}.get(one.detail)
    rows = plural(round(one.a), "row")
    are, repeat = ("is", "repeats") if one.a == 1 else ("are", "repeat")
    if where is None:
        return f"{rows} of {sets[1]} {are} also in {sets[0]}"
    return f"{rows} of {where} {repeat} an earlier row"


def _absurd(one: Finding, sets: Pair, kind: str) -> str:
    if one.detail:
        return one.detail
    where, count = (sets[1], one.b) if one.b >= one.a else (sets[0], one.a)
    values = plural(round(count), "infinite or absurd value")
    return f"{quoted(one.column)} has {values} in {where}, counted as missing"


def _constant(one: Finding, sets: Pair, kind: str) -> str:
    if one.detail == IN_BOTH:
        return f"{quoted(one.column)} is {exact_number(one.a)} in every row"
    return f"{quoted(one.column)} does not vary in {sets[one.detail == 'in B']}"


def _times(one: Finding, sets: Pair, kind: str) -> str:
    x, y = (value_text(day, "date") for day in sorted((one.a, one.b)))
    first, second = sets if one.a <= one.b else sets[::-1]
    ends = f"ends on {x} in {first} and begins on {y} in {second}"
    return f"{quoted(one.column)} {ends}: it is not compared"


_OWN_LEVELS = "{name} has values in {%s} that {%s} does not have: {levels} ({%s} of the rows)"
_WRITERS: dict[str, str | Callable[[Finding, Pair, str], str]] = {
    **dict.fromkeys(SCHEMA, "{detail}"),  # the data room says how
    "mean": _mean,
    "spread": _spread,
    "shape": _shape,
    "level": _level,
    "value": _value,
    "missing": lambda one, sets, kind: _share(one, f"{quoted(one.column)} is missing", sets),
    "rounding": _rounding,
    "text": _text,
    "absurd": _absurd,
    "given": _given,
    "scatter": "{name} follows {second} {less} closely in {b}",
    "identity": "{name} follows from the other columns, but not in {most} of {more}",
    "relation": _relation,
    "inside": _inside,
    "copy": "{name} is a copy of {second} in {more}",
    "swap": "{low} and {high} look swapped in {b}",
    "repeated rows": _repeated,
    "new levels": _OWN_LEVELS % ("b", "a", "y"),
    "vanished levels": _OWN_LEVELS % ("a", "b", "x"),
    "constant": _constant,
    "writing": "{name} is written as {first} in {a} and as {last} in {b}",
    "blanks": "{name} has blanks around {y} of the values of {b} ({x} in {a}); they do not count",
    "times": _times,
    "no data": "there is no data in {b}, where data was due",
    "far": "{rows} of {b} {are} far outside all other times",
    "repeated window": "{b} has the same rows as {detail}",
}


def value_text(value: float, kind: str) -> str:
    """A value of a column: days as dates, hours as times of day, numbers in few digits.

    >>> value_text(19723.0, "date"), value_text(13.5, "time of day"), value_text(0.25, "duration")
    ('2024-01-01', '13:30', '6 h')
    """
    if not math.isfinite(value):
        return number(value)
    if kind == "date":
        try:
            moment = _EPOCH + timedelta(days=value)
        except OverflowError:
            return number(value)
        return f"{moment:%Y-%m-%d}" if abs(value) >= 1 else f"{moment:%Y-%m-%d %H:%M}"
    if kind == "time of day":
        minutes = round(60 * value) % 1440
        return f"{minutes // 60:02d}:{minutes % 60:02d}"
    if kind == "duration":
        for unit, days in (("d", 1.0), ("h", 1 / 24), ("min", 1 / 1440)):
            if abs(value) >= days:
                return f"{number(value / days, 2)} {unit}"
        return f"{number(86400 * value, 2)} s"
    return number(value)


def verdict_headline(verdict: Verdict) -> str:
    """Whether two sets differ, and by how much, in one short sentence."""
    a, b = set_names(verdict.sets)
    if math.isnan(verdict.pvalue):
        return f"There are too few rows to test whether {a} and {b} differ."
    if not verdict.differs:
        shared = any(one.kind in SCHEMA for one in verdict.findings)
        return f"{a} and {b} show no difference{' in the columns they share' if shared else ''}."
    if verdict.size in ("none", "unknown"):
        return f"{a} and {b} differ only slightly."
    return f"{a} and {b} differ by a {verdict.size} amount."


def verdict_sentences(verdict: Verdict) -> tuple[str, ...]:
    """What columns are not the same; do they differ, how much, in what: most important first."""
    findings = [one for one in verdict.findings if one.kind not in SCHEMA]
    schema = [sentence(one, verdict.sets) for one in verdict.findings if one.kind in SCHEMA]
    more = len(schema) - MOST_FINDINGS
    if more > 0:
        are = "column is" if more == 1 else "columns are"
        schema[MOST_FINDINGS:] = [f"{more:,} more {are} not the same in both."]
    lines = [verdict_headline(verdict)]
    if not math.isnan(verdict.pvalue):
        beyond = "This is beyond" if verdict.differs else "There is nothing beyond"
        lines.append(f"{beyond} chance ({chance(verdict.pvalue)}).")
    if verdict.auc is not None:
        lines.append(size_sentence(verdict.auc))
    if not verdict.differs:
        lines.append(unseen_sentence(verdict.smallest, verdict.kinds))
    if verdict.mostly:
        lines.append(made_of_sentence(verdict))
    lines += finding_sentences(verdict, findings[:MOST_FINDINGS])
    lines += [sentence(one, verdict.sets) for one in verdict.quality if one.kind in WRITTEN]
    more = len({one.column for one in findings[MOST_FINDINGS:]})
    if more:
        lines.append(f"{plural(more, 'more column')} changed.")
    return tuple(dict.fromkeys(line for line in (*schema, *lines) if line))


def unseen_sentence(smallest: Mapping[str, Smallest], kinds: Mapping[str, str]) -> str:
    """What would have been seen, where nothing was: in two columns, in their units.

    >>> unseen_sentence({"age": Smallest(1.93, 0.2, 0.05)}, {"age": "number"})
    'A change by 1.9 in age would most likely have been seen.'
    """
    steps = {quoted(x): smallest_words(one, kinds.get(x, "number")) for x, one in smallest.items()}
    seen = [f"by {step} in {name}" for name, step in steps.items() if step]
    if not seen:
        return ""
    other = f", or {seen[-1]}," if len(seen) > 1 else ""
    return f"A change {seen[0]}{other} would most likely have been seen."


def smallest_words(one: Smallest, kind: str) -> str:
    """The smallest change that would have been seen, in the units of the column; "" for none."""
    if kind in SHARED:
        return f"{number(100 * one.share, 2)} points" if 0 < one.share < 1 else ""
    if not one.mean > 0:
        return ""
    if kind in TIMES:
        return value_text(one.mean / (24 if kind == "time of day" else 1), "duration")
    return number(one.mean, 2)


MADE_OF = {
    "location": "averages",
    "scale": "the overall spread",
    "shape": "how {} vary and relate, not in their averages",
}


def made_of_sentence(verdict: Verdict) -> str:
    """Which part of the difference is largest."""
    if not verdict.mostly:
        return "What the difference is made of cannot be said."
    share, first = f"{verdict.shares[verdict.mostly]:.0%}", next(iter(verdict.kinds), "")
    part = MADE_OF[verdict.mostly].format("pixels" if first.startswith(PIXEL) else "columns")
    return f"Most of the change ({share}) is in {part}."


SHOWN = "Shown one {}, you could tell which is which"


def size_sentence(size: Size) -> str:
    """How well single rows can be told apart.

    >>> size_sentence(Size(0.853))
    'Shown one row from each set, you could tell which is which 85 times in 100 (guessing: 50).'
    """
    return f"{SHOWN.format('row from each set')} {of_hundred(size)} times in 100 (guessing: 50)."


def of_hundred(auc: float) -> str:
    """An AUC as a count of 100, never rounded to certainty.

    >>> of_hundred(0.812), of_hundred(0.998), of_hundred(1.0)
    ('81', 'over 99', '100')
    """
    if 0 < auc < 0.005:
        return "under 1"
    return "over 99" if 0.995 <= auc < 1 else f"{100 * auc:.0f}"


# ---- whole comparisons --------------------------------------------------------------------------


def comparison_sentences(found: Comparison) -> tuple[str, ...]:
    """What a comparison found, most important first; of many sets how many pairs differ."""
    if len(found.names) == 2:
        return verdict_sentences(found.verdict)
    lines, findings = [headline(found)], found.findings
    if found.differing == ():
        findings = tuple(one for one in findings if one.kind == "repeated rows")
    else:
        for word, pair in (("most", found.by_size[0]), ("least", found.by_size[-1])):
            a, b = set_names([found.names[k] for k in pair])
            times = of_hundred(found.sizes[pair])
            said = f"told apart {times} times in 100 (guessing: 50)"
            lines.append(f"{a} and {b} differ {word}: {said}.")
    first = [one for one in findings if one.kind not in SCHEMA][:3]
    a, b = set_names(found.farthest)
    lines += [f"From {a} to {b}: {text}" for text in finding_sentences(found.verdict, first)]
    return (*(str(change) for change in found.schema_changes), *lines)


def headline(found: Comparison) -> str:
    """Who differs, and by how much, in one short sentence."""
    if len(found.names) == 2:
        return verdict_headline(found.verdict)
    pairs, differing = found.by_size, found.differing
    if differing is None:
        low, high = (of_hundred(found.sizes[pair]) for pair in (pairs[-1], pairs[0]))
        return f"The {len(pairs):,} pairs are told apart {low} to {high} times in 100."
    if not differing:
        return f"None of the {len(pairs):,} pairs shows a difference."
    large = sum(size_word(found.sizes[pair]) == "large" for pair in differing)
    who = f"{len(differing):,} of {len(pairs):,} pairs differ{'s' if len(differing) == 1 else ''}"
    if len(differing) == len(pairs):
        who = f"All {len(pairs):,} pairs differ"
    if large == len(differing):
        return f"{who}{', all' if large > 1 else ''} by a large amount."
    return f"{who}; {large:,} by a large amount." if large else f"{who}."


def columns_lead(found: Comparison) -> str:
    """The second sentence of a verdict: what changed most, or what would have been seen."""
    features, verdict = found.features, found.verdict
    nameless = found.image_shape is not None or features.nameless
    if not verdict.differs:
        plain = "Nothing tells their rows apart better than guessing."
        unseen = "" if nameless else unseen_sentence(verdict.smallest, verdict.kinds)
        return f"{plain} {unseen}".rstrip()
    if nameless:
        return made_of_sentence(verdict)
    names = [one.name for one in features.changed]
    if not names:
        return "No single column stands out."
    first = f"{listed(names[:3])}{' most' if names[3:] else ''}"
    return f"{len(names):,} of {plural(len(features), 'column')} changed: {first}."


def interval_words(size: Size) -> str:
    """Below the size: what guessing would give, and the interval.

    >>> interval_words(Size(0.883, 0.879, 0.887))
    'Guessing: 50. 95% interval: 87.9 to 88.7.'
    """
    if math.isnan(size.low):
        return "Guessing: 50."
    close = size.high - size.low < 0.015  # then it has a digit more
    low, high = (f"{100 * end:.1f}" if close else of_hundred(end) for end in (size.low, size.high))
    return f"Guessing: 50. 95% interval: {low} to {high}."


def changed_in(found: Comparison) -> dict[str, int]:
    """In how many of the pairs that differ a column changed, the most frequent first."""
    pairs = (found.pair(*pair) for pair in found.differing or ())
    return dict(Counter(one.name for pair in pairs for one in pair.features.changed).most_common())


def sets_lead(found: Comparison) -> str:
    """The second sentence on more than two sets: the column that differs in most pairs."""
    if found.differing == ():
        return "Nothing tells their rows apart better than guessing."
    if found.differing is None or found.image_shape is not None or found.features.nameless:
        return f"{' and '.join(set_names(found.farthest))} are farthest apart."
    for name, times in changed_in(found).items():
        where = "every pair" if times == len(found.by_size) else "most pairs"
        return f"{quoted(name)} differs in {where}."
    return "No single column stands out."


# ---- over time ---------------------------------------------------------------------------------

#: Episodes that have a sentence, and columns that one names.
MOST_EPISODES, MOST_COLUMNS = 5, 3


def window_name(found: Monitoring) -> str:
    """What a window is called."""
    units = ("hour", "day", "week", "month", "year")
    return found.every.unit if found.every.unit in units else "window"


def day_text(start: object, year: bool = True) -> str:
    """When a window begins, in few words.

    >>> day_text(np.datetime64("2013-06-24")), day_text(np.datetime64("2013-06-24T05"), year=False)
    ('24 June 2013', '24 Jun 05:00')
    >>> day_text(1301)
    'row 1,301'
    """
    if not isinstance(start, np.datetime64):
        return f"row {start:,}"
    day: date = start.astype("datetime64[D]").astype(object)
    text = f"{day.day} {day:%B %Y}" if year else f"{day.day} {day:%b}"
    return f"{text} {str(start)[-2:]}:00" if np.datetime_data(start)[0] == "h" else text


def monitoring_sentences(found: Monitoring) -> tuple[str, ...]:
    """What a monitoring found: since when and what, episodes, alarms, windows without data."""
    windows = [one for one in found.windows if one.status == "judged"]
    counted = plural(len(windows), window_name(found))
    alarms = sum(one.alarm for one in windows)
    lines = [episode_sentence(one) for one in reversed(found.episodes[-MOST_EPISODES:])]
    if not found.can_judge:
        has = f"the reference has {plural(len(found.reference.codes), 'window')}"
        lines = [f"Cannot judge yet: {has}, and 14 are needed (60 are better)."]
    elif not alarms:
        lines[:0] = [f"No alarm in {counted}.", noticed_sentence(found)]
    else:
        lines.append(f"{alarms:,} of {counted} raised an alarm.")
    more = len(found.episodes) - MOST_EPISODES
    lines += [f"{plural(more, 'earlier episode')} not shown."] if more > 0 else []
    for status, text in (("few rows", "had too few rows"), ("no data", "had no data")):
        n = sum(one.status == status for one in found.windows)
        lines += [f"{plural(n, window_name(found))} {text}."] if n else []
    odd = [one for one in found.windows if one.findings and not one.alarm and one.rows]
    lines += [line for one in odd[-MOST_EPISODES:] for line in window_sentences(one, found)[:1]]
    return tuple(dict.fromkeys(lines))


def per_text(found: Monitoring) -> str:
    """What false alarms are counted over."""
    return "a year" if found.every.timed else "in 365 windows"


def promise_sentence(found: Monitoring) -> str:
    """What false alarms are to be expected."""
    if not found.can_judge:
        return "Every window is compared with the reference; none raises an alarm yet."
    alarms = "one false alarm" if found.rate == 1 else f"{number(found.rate)} false alarms"
    return f"Expect about {alarms} {per_text(found)}."


def noticed_sentence(found: Monitoring) -> str:
    """The smallest lasting change that is noticed."""
    unit, seen = window_name(found), found.smallest_seen
    return (
        f"A lasting change of {seen[7]:.1f} times the usual ups and downs from {unit} to {unit} is "
        f"noticed within 7 {unit}s."
    )


def episode_sentence(one: Episode) -> str:
    """Since when, until when, and in which columns."""
    names = listed(one.columns, MOST_COLUMNS) if one.columns else "the data as a whole"
    since = day_text(one.start)
    if one.end is None:
        differ = "differ" if len(one.columns) > 1 else "differs"
        return f"Since {since}, {names} {differ} from the reference."
    return f"From {since} to {day_text(one.end)}, {names} differed from the reference."


def change_sentence(one: Episode, found: Monitoring) -> str:
    """What its first column was and became, where a finding of the alarm's window says it."""
    findings = (f for f in one.findings if f.column in one.columns[:1])
    first = tuple(replace(f, beyond=math.nan) for f in findings)[:1]
    return "".join(window_sentences(replace(one.alarm, findings=first), found))


def window_sentences(one: Window, found: Monitoring) -> tuple[str, ...]:
    """What was found in a window."""
    kinds = {} if one.comparison is None else one.comparison.verdict.kinds
    sets = str(found.reference), one.label
    return tuple(sentence(f, sets, kinds.get(f.column, "number")) for f in one.findings)
