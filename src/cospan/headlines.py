"""What a whole result says first: its headline, a second sentence, its size in words.

Sentences on single findings are those of :mod:`cospan.wording`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from cospan.base.text import listed, number, plural, quoted
from cospan.evidence import Size, size_word
from cospan.wording import (
    SCHEMA,
    finding_sentences,
    made_of_sentence,
    of_hundred,
    sentence,
    set_names,
    unseen_sentence,
    verdict_headline,
    verdict_sentences,
)

if TYPE_CHECKING:
    from cospan.comparison import Comparison
    from cospan.monitoring import Episode, Monitoring, Window


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
    if len(found.names) > 2:
        return _sets_headline(found)
    return verdict_headline(found.verdict)


def _sets_headline(found: Comparison) -> str:
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
    if not verdict.differs:
        plain = "Nothing tells their rows apart better than guessing."
        if found.image_shape is not None or features.nameless:
            return plain
        return f"{plain} {unseen_sentence(verdict.smallest, verdict.kinds)}".rstrip()
    if found.image_shape is not None:
        return picture_sentence(found)
    if features.nameless:
        return made_of_sentence(verdict)
    names = [one.name for one in features.changed]
    if not names:
        return "No single column stands out."
    first = f"{listed(names[:3])}{' most' if names[3:] else ''}"
    return f"{len(names):,} of {plural(len(features), 'column')} changed: {first}."


#: Parts of a picture.
PLACES = ("top left", "top", "top right", "left", "middle", "right", "bottom left", "bottom",
          "bottom right")  # fmt: skip


def picture_sentence(found: Comparison) -> str:
    """Which ninth of the average pictures of two sets differs most."""
    assert found.image_shape is not None
    high, wide = found.image_shape[:2]
    first, second = (np.mean(chunk.rows, axis=0, dtype=np.float64) for chunk in found.samples)
    apart = (second - first).reshape(high, wide, -1).mean(axis=-1)
    rows = (np.array_split(part, 3, axis=1) for part in np.array_split(apart, 3))
    parts = [float(part.mean()) if part.size else 0.0 for row in rows for part in row]
    k = max(range(9), key=lambda place: abs(parts[place]))
    a, b = set_names(found.names)
    return f"They differ most at the {PLACES[k]}, which is brighter in {b if parts[k] > 0 else a}."


#: An interval narrower than this has a digit more.
CLOSE = 0.015


def interval_words(size: Size) -> str:
    """Below the size: what guessing would give, and the interval.

    >>> interval_words(Size(0.883, 0.879, 0.887))
    'Guessing: 50. 95% interval: 87.9 to 88.7.'
    """
    if math.isnan(size.low):
        return "Guessing: 50."
    close = size.high - size.low < CLOSE
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
UNITS = ("hour", "day", "week", "month", "year")


def window_name(found: Monitoring) -> str:
    """What a window is called."""
    return found.every.unit if found.every.unit in UNITS else "window"


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
        lines = [
            f"Cannot judge yet: the reference has {plural(len(found.reference.codes), 'window')}, "
            "and 14 are needed (60 are better)."
        ]
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
        several = len(one.columns) > 1
        return f"Since {since}, {names} differ{'' if several else 's'} from the reference."
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
