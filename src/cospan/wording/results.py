"""What whole results say: verdicts, their headlines, sizes in words; and over time."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cospan.base.text import chance, listed, number, plural, quoted, share_text
from cospan.evidence import IN_BOTH, PIXEL, Size, Smallest, Verdict, plan_from, size_word

from .findings import SCHEMA, SHARED, finding_sentences, sentence, set_names, step_text

if TYPE_CHECKING:
    from cospan.comparison import Comparison
    from cospan.evidence import FeatureChange, Finding
    from cospan.monitoring import Episode, Monitoring, Window

#: Findings that a verdict has a sentence for.
MOST_FINDINGS = 8


def verdict_headline(verdict: Verdict) -> str:
    """Whether two sets differ, and by how much, in one short sentence."""
    a, b = set_names(verdict.sets)
    if math.isnan(verdict.pvalue):
        return f"There are too few rows to test whether {a} and {b} differ."
    if not verdict.differs:
        shared = any(one.kind in SCHEMA and one.kind != "absurd" for one in verdict.findings)
        return f"{a} and {b} show no difference{' in the columns they share' if shared else ''}."
    if only_repeated(verdict):
        repeated = [text.removesuffix(".") for text in finding_sentences(verdict, told(verdict))]
        return f"{'; '.join(repeated)}; otherwise no difference."
    words = {"none": " only slightly", "unknown": ""}
    return f"{a} and {b} differ{words.get(verdict.size, f' by a {verdict.size} amount')}."


def only_repeated(verdict: Verdict) -> bool:
    """Whether sets differ in nothing but rows that repeat others."""
    rest = verdict.evidence is not None and replace(verdict, pvalue=verdict.evidence.p).differs
    return verdict.differs and not (rest or verdict.columns.changed) and bool(told(verdict))


def told(verdict: Verdict) -> list[Finding]:
    """The findings on what both sets have; of columns without names those on rows alone."""
    unnamed = nameless(verdict)
    return [one for one in verdict.findings
            if one.kind not in SCHEMA and not (unnamed and one.column)]  # fmt: skip


def remarkable(verdict: Verdict) -> list[Finding]:
    """What is odd about the data and belongs in a verdict."""
    return [one for one in verdict.quality if one.kind in ("writing", "outlying")]


def schema_sentences(verdict: Verdict, most: int = MOST_FINDINGS) -> list[str]:
    """Which columns are not the same in both sets."""
    schema = [sentence(one, verdict.sets) for one in verdict.findings if one.kind in SCHEMA]
    more = len(schema) - most
    if more > 0:
        are = "column is" if more == 1 else "columns are"
        schema[most:] = [f"{more:,} more {are} not the same in both."]
    return schema


def verdict_sentences(verdict: Verdict) -> tuple[str, ...]:
    """What columns are not the same; do they differ, how much, in what: most important first."""
    findings = [] if only_repeated(verdict) else told(verdict)  # else the headline says it
    lines = [verdict_headline(verdict)]
    if not math.isnan(verdict.pvalue):
        beyond = "This is beyond" if verdict.differs else "There is nothing beyond"
        lines.append(f"{beyond} chance ({chance(verdict.pvalue, verdict.n_permutations)}).")
    if verdict.auc is not None:
        lines.append(size_sentence(verdict.auc))
    if not verdict.differs:
        lines.append(unseen_sentence(verdict))
    lines.append(made_of_sentence(verdict))
    lines += finding_sentences(verdict, findings[:MOST_FINDINGS])
    lines += finding_sentences(verdict, remarkable(verdict))
    more = len({one.column for one in findings[MOST_FINDINGS:]})
    if nameless(verdict) and verdict.differs:
        lines.append(f"{len(verdict.columns.changed):,} of {_counted(verdict)} changed.")
    if more:
        lines.append(f"{plural(more, 'more column')} changed.")
    return tuple(dict.fromkeys(line for line in (*schema_sentences(verdict), *lines) if line))


def unseen_sentence(verdict: Verdict) -> str:
    """What would have been seen, where nothing was: in two columns, in their units.

    >>> unseen_sentence(Verdict(smallest={"age": Smallest(1.93, 0.05)}))
    'A change of 1.9 in age would most likely have been seen.'
    """
    smallest, kinds = verdict.smallest, verdict.kinds
    steps = {quoted(x): smallest_words(one, kinds.get(x, "number")) for x, one in smallest.items()}
    seen = [f"of {step} in {name}" for name, step in steps.items() if step]
    if not seen or nameless(verdict):
        return ""
    other = f", or {seen[-1]}," if len(seen) > 1 else ""
    return f"A change {seen[0]}{other} would most likely have been seen."


def smallest_words(one: Smallest, kind: str) -> str:
    """The smallest change that would have been seen, in the units of the column; "" for none."""
    if kind in SHARED:
        return f"{number(100 * one.share, 2)} points" if 0 < one.share < 1 else ""
    return step_text(one.mean, kind) if one.mean > 0 else ""


MADE_OF = {
    "location": "averages",
    "scale": "the overall spread",
    "shape": "how {} vary and relate, not in their averages",
}


def made_of_sentence(verdict: Verdict) -> str:
    """Which part of the difference is largest; "" where there is next to none."""
    if not verdict.mostly or (verdict.size == "none" and not verdict.columns.changed):
        return ""
    share, things = share_text(verdict.shares[verdict.mostly]), _counted(verdict).split()[1]
    return f"Most of the change ({share}) is in {MADE_OF[verdict.mostly].format(things)}."


def nameless(verdict: Verdict) -> bool:
    """Whether sentences on single columns say nothing: pixels, or numbers of an embedding."""
    return verdict.columns.nameless or next(iter(verdict.kinds), "").startswith(PIXEL)


def _counted(verdict: Verdict) -> str:
    """How many columns there are, or pixels."""
    thing = "pixel" if next(iter(verdict.kinds), "").startswith(PIXEL) else "column"
    return plural(len(compared(verdict)), thing)


def compared(verdict: Verdict) -> list[FeatureChange]:
    """The columns that are not constant in both sets: these are kept out."""
    still = {one.column for one in verdict.quality if one.detail == IN_BOTH}
    return [one for one in verdict.columns if one.name not in still]


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
        return (*verdict_sentences(found.verdict), *filter(None, [aside_sentence(found)]))
    lines, pairs = [headline(found)], apart(found)
    verdict = found.verdict
    findings = [one for one in told(verdict) if pairs or not one.column]
    times = [f"told apart {of_hundred(found.sizes[p])} times in 100 (guessing: 50)" for p in pairs]
    if alike := len({round(100 * found.sizes[p]) for p in pairs}) == 1:
        who = f"{pair_name(found, pairs[0])} are" if len(pairs) == 1 else "Each of these pairs is"
        lines.append(f"{who} {times[-1]}.")
    for word, k in (("most", 0), ("least", -1)) if pairs and not alike else ():
        lines.append(f"{pair_name(found, pairs[k])} differ {word}: {times[k]}.")
    a, b = set_names(verdict.sets)
    lines += [f"From {a} to {b}: {text}" for text in finding_sentences(verdict, findings[:3])]
    lines += filter(None, [aside_sentence(found)])
    return (*(str(change) for change in found.schema_changes), *lines)


def apart(found: Comparison) -> tuple[tuple[int, int], ...]:
    """The pairs that differ, the farthest first; all of them where that was not tested."""
    return found.by_size if found.differing is None else found.differing


def pair_name(found: Comparison, pair: tuple[int, int]) -> str:
    """What two of the sets are called in a sentence."""
    return " and ".join(set_names([found.names[k] for k in pair]))


def aside_sentence(found: Comparison) -> str:
    """Which columns are not compared, since they would give the sets away."""
    plan = plan_from(found.fitted.geometry.encoding)
    names = [one.name for one in plan.columns if one.kind in ("time", "set aside")] if plan else []
    are, give = ("is", "it gives") if len(names) == 1 else ("are", "they give")
    return f"{listed(names, 3)} {are} set aside: {give} the sets away." if names else ""


def headline(found: Comparison) -> str:
    """Who differs, and by how much, in one short sentence."""
    if len(found.names) == 2:
        return verdict_headline(found.verdict)
    pairs, differing = found.by_size, apart(found)
    large, n = sum(size_word(found.sizes[pair]) == "large" for pair in differing), len(pairs)
    if not differing:
        return f"None of the {n:,} pairs shows a difference."
    if found.differing is None and size_word(found.sizes[pairs[-1]].low) != "large":
        low, high = (of_hundred(found.sizes[pair]) for pair in (pairs[-1], pairs[0]))
        return f"The {n:,} pairs are told apart {low} to {high} times in 100."
    if len(differing) == 1:
        return f"Of {n:,} pairs only {pair_name(found, differing[0])} differ."
    who = "All" if len(differing) == n else f"{len(differing):,} of"
    much = "" if large == n else f"; {large:,}"
    return f"{who} {n:,} pairs differ{f'{much} by a large amount' if large else ''}."


def columns_lead(found: Comparison) -> str:
    """The second sentence of a verdict: what changed most, or what would have been seen."""
    verdict, names = found.verdict, [one.name for one in found.features.changed]
    if not verdict.differs or only_repeated(verdict):
        plain = f"Nothing{' else' if verdict.differs else ''} tells their rows apart"
        return f"{plain} better than guessing. {unseen_sentence(verdict)}".rstrip()
    if nameless(verdict):
        parts = made_of_sentence(verdict)
        return f"{len(names):,} of {_counted(verdict)} changed. {parts}".rstrip()
    if not names:
        return "No single column stands out."
    first = f"{listed(names[:3])}{' most' if names[3:] else ''}"
    return f"{len(names):,} of {_counted(verdict)} changed: {first}."


def interval_words(size: Size) -> str:
    """Below the size: what guessing would give, and the interval."""
    interval = interval_text(size)
    return f"Guessing: 50. 95% interval: {interval}." if interval else "Guessing: 50."


def interval_text(size: Size) -> str:
    """The interval of a size as counts of 100, with as many digits as tell its ends apart.

    >>> [interval_text(Size(a, a - b, a + b)) for a, b in ((0.71, 0.03), (0.883, 0.004))]
    ['68 to 74', '87.9 to 88.7']
    >>> interval_text(Size(0.7612, 0.76118, 0.76122)), interval_text(Size(1.0, 0.9998, 1.0))
    ('76.118 to 76.122', 'above 99.9')
    """
    if math.isnan(size.low):
        return ""
    if size.low >= 0.9995:
        return "above 99.9"
    digits = int(size.high - size.low < 0.015 or 0.995 <= size.high < 1)  # not up to certainty
    ends = [100 * size.low, 100 * size.high]
    while digits < 4 and f"{ends[0]:.{digits}f}" == f"{ends[1]:.{digits}f}":
        digits += 1
    return " to ".join(f"{end:.{digits}f}" for end in ends)


def changed_in(found: Comparison) -> dict[str, int]:
    """In how many of the pairs that differ a column changed, the most frequent first."""
    pairs = (found.pair(*pair) for pair in found.differing or ())
    return dict(Counter(one.name for pair in pairs for one in pair.features.changed).most_common())


def sets_lead(found: Comparison) -> str:
    """The second sentence on more than two sets: the column that differs in most pairs."""
    n = len(found.by_size)
    if found.differing == ():
        return f"Nothing is beyond chance. {unseen_sentence(found.verdict)}".rstrip()
    if found.differing is None or nameless(found.verdict):
        return f"{pair_name(found, apart(found)[0])} are farthest apart."
    if len(found.differing) == 1:
        return columns_lead(found)
    times = changed_in(found)
    first = [name for name, most in times.items() if most == max(times.values())]
    if not first:
        return "No single column stands out."
    where = f"all {n:,}" if times[first[0]] == n else f"{times[first[0]]:,} of {n:,}"
    return f"{listed(first, 3)} differ{'' if first[1:] else 's'} in {where} pairs."


# ---- over time ---------------------------------------------------------------------------------

#: Episodes that have a sentence, and columns that one names.
MOST_EPISODES, MOST_COLUMNS = 5, 3


def window_name(found: Monitoring) -> str:
    """What a window is called."""
    return found.every.unit if found.every.timed else "window"


def day_text(start: object, year: bool = True) -> str:
    """When a window begins, in few words.

    >>> day_text(np.datetime64("2013-06-24")), day_text(np.datetime64("2013-06-24T05"), year=False)
    ('24 June 2013', '24 Jun 05:00')
    >>> day_text(np.datetime64("2013-06")), day_text(1301)
    ('June 2013', 'row 1,301')
    """
    if not isinstance(start, np.datetime64):
        return f"row {start:,}"
    unit, day = np.datetime_data(start)[0], start.astype("datetime64[D]").astype(object)
    if isinstance(day, int):
        return str(start)  # after the year 9999
    days = f"{day.day} %B %Y" if year else f"{day.day} %b"
    text = day.strftime({"M": "%B %Y", "Y": "%Y"}.get(unit, days))
    return f"{text} {str(start)[-2:]}:00" if unit == "h" else text


def monitoring_sentences(found: Monitoring) -> tuple[str, ...]:
    """What a monitoring found: since when and what, episodes, alarms, windows without data."""
    windows = [one for one in found.windows if one.status == "judged"]
    counted = plural(len(windows), window_name(found))
    alarms = sum(one.alarm for one in windows)
    lines = [episode_sentence(one) for one in reversed(found.episodes[-MOST_EPISODES:])]
    if not found.can_judge:
        has = f"the reference has {plural(len(found.reference.codes), 'window')}"
        lines = [f"Cannot judge yet: {has}, and 14 are needed (60 are better)."]
    elif alarms:
        lines.append(f"{alarms:,} of {counted} raised an alarm.")
    elif windows:
        lines[:0] = [f"No alarm in {counted}.", noticed_sentence(found)]
    for status, text in (("few rows", "had too few rows"), ("no data", "had no data")):
        of = [window_sets(one)[1] for one in found.windows if one.status == status]
        last = ": " if len(of) == 1 else ", the last "
        lines += [f"{plural(len(of), window_name(found))} {text}{last}{of[-1]}."] if of else []
    more = len(found.episodes) - MOST_EPISODES
    lines += [f"{plural(more, 'earlier episode')} not shown."] if more > 0 else []
    odd = [one for one in found.windows if one.rows and _odd(one)]
    lines += [line for one in odd[-MOST_EPISODES:] for line in window_sentences(one)[:1]]
    return tuple(dict.fromkeys(lines))


def _odd(one: Window) -> bool:
    """Whether something was met in a window that no episode tells of."""
    first = one.findings[0].kind if one.findings else ""
    return first in ("far", "repeated window") if one.alarm else bool(first)


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
    return f"A lasting change of {seen[7]:.1f} times the usual swing is noticed within 7 {unit}s."


def episode_sentence(one: Episode) -> str:
    """Since when, until when, in which columns, and which passed most clearly later on."""
    names = listed(one.columns, MOST_COLUMNS) if one.columns else "the data as a whole"
    passed = [(one.alarm, ()), *one.announced]  # the first one, unless another is by far clearer
    clearest, new = max(passed, key=lambda of: of[0].level * (1 if of[1] else 2))
    more = f" Clearest from {day_text(clearest.start)}: {listed(new, MOST_COLUMNS)}." if new else ""
    since = day_text(one.start)
    if one.end is None:
        differ = "differ" if len(one.columns) > 1 else "differs"
        return f"Since {since}, {names} {differ} from the reference.{more}"
    to = "" if one.end == one.start else f" to {day_text(one.end)}"
    return f"{'From' if to else 'On'} {since}{to}, {names} differed from the reference.{more}"


def change_sentence(one: Episode, found: Monitoring) -> str:
    """What its first column was and became, by the alarm's window or a worse one that says it."""
    name, windows = one.columns[:1], [one.alarm, *(window for window, _ in one.announced)]
    for window in (*sorted(windows, key=lambda w: -w.level), *worst_windows(one, found)):
        more = window.comparison.verdict.quality if window.comparison else ()
        findings = (replace(f, beyond=math.nan) for f in (*window.findings, *more)
                    if f.column in name or (f.kind == "relation" and f.second in name))  # fmt: skip
        if said := window_sentences(replace(window, findings=tuple(findings))):
            return said[0]
    return ""


def worst_windows(one: Episode, found: Monitoring) -> list[Window]:
    """The windows of an episode that were compared, the most different first."""
    windows = [w for w in found.windows if w.comparison is not None and w.start >= one.start
               and (one.end is None or w.start <= one.end)]  # fmt: skip
    return sorted(windows, key=lambda w: -float(w.size or 0.0))


def window_sets(one: Window) -> tuple[str, str]:
    """What the reference and a window are called."""
    return "the reference", day_text(one.start) if one.every.timed else str(one)


def window_sentences(one: Window) -> tuple[str, ...]:
    """What was found in a window."""
    reference, name = window_sets(one)
    name = f"the week of {name}" if one.every.unit == "week" else name
    return tuple(sentence(f, (reference, name)) for f in one.findings)
