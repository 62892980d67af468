"""The sentences and numbers of a report, in words a newcomer understands."""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cospan.changes import size_of, wording
from cospan.changes.wording import auc_interval, chance

from ._text import clean, count, percent, significant
from .pieces import Measure, TimeChart

if TYPE_CHECKING:
    from cospan.comparison import Comparison, ManyComparison
    from cospan.comparison.timelines import Moment
    from cospan.sets.curved import CurvedSets
    from cospan.significance import Estimate

LONGEST_IN_SENTENCE = 60
BADGES = {
    "none": "no evidence of a difference",
    "small": "small difference",
    "medium": "medium difference",
    "large": "large difference",
}
#: Codes of remarks that tell how the data was read, or what the page says anyway.
READING = ("encoding", "missing values", "constant columns", "rows elsewhere", "times set aside")
GLOSSARY = (
    ("A, B, Z", "The two sets that are compared, and rows to score, which belong to neither."),
    ("AUC", "Of 100 pairs of rows, one from each set, how many the angle orders correctly, as a "
     "share: 0.5 is chance, 1 always. Each row is scored as if it had not been in its set."),
    ("held-out AUC", "The same of the shift test's own score, which learns from one half of the "
     "rows and orders the other half. It may be smaller than the AUC, as it learns from fewer "
     "rows, or larger, where the sets differ in what the angle does not see."),
    ("angle", "Where a row is between the sets: 0° looks like A, 90° like B, 45° like both. The "
     "square of its sine is the probability of B, both sets counting alike."),
    ("cost", "How far a row is from a set, in the set's own spread: small if the set has many "
     "rows like it."),
    ("typicality", "The share of a set's own rows that are at least as unusual. Rows that are "
     "unusual for both sets are like neither."),
    ("pull", "How much a column moves a row towards A or towards B, less than it moves an average "
     "row."),
    ("location, scale, shape", "Where values are centred; how widely all of them spread; spreads "
     "of single columns and relations between them. Together they are the whole difference, D."),
    ("D", "The Bhattacharyya distance of the two sets, each taken as a normal distribution; the "
     "parts of columns and of directions add up to it."),
    ("direction", "A weighted sum of columns along which the sets vary by themselves: first those "
     "that only A has, last those that only B has."),
    ("shift", "How far the means are apart along a direction, in pooled standard deviations."),
    ("sd", "Standard deviation."),
    ("p-value", "How often chance alone would show a difference as large. Adjusted: over all "
     "columns tested, so that few of those called changed are not."),
    ("Fisher-Rao, Hellinger, overlap", "How far the two distributions of angles are apart: 0 to "
     "3.14, 0 to 1, and what they have in common, 1 to 0."),
)  # fmt: skip


def isolated(name: str) -> str:
    """A name for the middle of a sentence: one written right to left must not turn the rest."""
    if any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in name):
        return f"\u2068{name}\u2069"
    return name


def spoken(sentences: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """Sentences as they can be shown: names cut and isolated, control characters spelled out."""
    found = []
    order = sorted(set(names), key=len, reverse=True)
    for sentence in filter(None, sentences):
        # Names are set aside first: what is put in place of one must not be searched for another.
        for i, name in enumerate(order):
            if len(name) > LONGEST_IN_SENTENCE or clean(name) != name or isolated(name) != name:
                sentence = sentence.replace(name, f"\ue000{i}\ue001")
        sentence = clean(sentence, 700)
        for i, name in enumerate(order):
            short = isolated(clean(name, LONGEST_IN_SENTENCE))
            sentence = sentence.replace(f"\ue000{i}\ue001", short)
        found.append(sentence)
    return tuple(dict.fromkeys(found))


def said(sentence: str, names: Iterable[str]) -> str:
    """One sentence as it can be shown."""
    return "".join(spoken([sentence], names))


def badge_of(differs: bool, size: str) -> tuple[str, str]:
    """The level and the words of the badge."""
    if not differs:
        return "none", BADGES["none"]
    if size in ("none", "unknown"):
        return "small", "very small difference" if size == "none" else "difference"
    return size, BADGES[size]


def of_hundred(auc: float) -> str:
    """The same count as in sentences, and what it is of."""
    return f"{wording.of_hundred(auc)} of 100"


def fallback_verdict(c: Comparison) -> tuple[bool, str, tuple[str, ...]]:
    """For the linear span, which has no table of changes: differs, size, two sentences."""
    auc = c.separation.auc
    p = None if c.shift is None else float(c.shift.pvalue)
    differs = auc.low > 0.5 if p is None else p <= 0.05
    sure = "" if p is None else f" ({chance(p)})"
    first = f"{c.name_a} and {c.name_b} differ{sure}."
    if not differs:
        first = f"There is no evidence that {c.name_a} and {c.name_b} differ{sure}."
    second = (
        f"Of 100 pairs of rows, one from each set, {wording.of_hundred(auc.value)} are ordered "
        f"correctly ({auc_interval(auc)})."
    )
    return differs, size_of(auc.value), (first, second)


def time_words(one: TimeChart) -> str:
    """What the angles over time are."""
    kept = ", of the rows that were kept with their values" if one.sampled else ""
    found = (
        "The median angle of the rows of each set, and the range that holds the middle half of "
        f"them; 0° looks like A, 90° like B{kept}."
    )
    if one.column:
        found += (
            " Columns that tell the time are left out of these angles: they would separate the "
            "sets by themselves."
        )
    return found


def filled(chart: TimeChart, k: int) -> bool:
    """Whether any set has rows in a window."""
    return any(row[k] is not None for row in chart.moments.values())


def time_cells(moment: Moment | None) -> tuple[str, str, str]:
    """Rows of a window, their median angle and quartiles, how many of them look like B."""
    if moment is None:
        return "", "", ""
    angles = f"{moment.median:.1f}° ({moment.low:.1f}° to {moment.high:.1f}°)"
    return count(moment.rows), angles, percent(moment.like_b)


def measures(c: Comparison) -> tuple[Measure, ...]:
    """All measures of the separation, and the p-values."""
    s = c.separation
    listed = (
        (
            "AUC",
            s.auc,
            "share of pairs of rows that the angle orders correctly; 0.5 is chance. "
            "Each row is scored as if it had not been in its set",
        ),
        ("Fisher-Rao distance", s.fisher_rao, "of the two distributions of angles, 0 to 3.14"),
        ("Hellinger distance", s.hellinger, "the same on a scale from 0 to 1"),
        ("Overlap", s.overlap, "what the two distributions have in common, 1 to 0"),
    )
    found = [Measure(name, _value(e), _interval(e), meaning) for name, e, meaning in listed]
    if c.shift is None:
        return tuple(found)
    effect = getattr(c.shift, "effect", None)
    if effect is not None:
        meaning = (
            "the same for the score of the shift test, which learns from one half of the rows and "
            "orders the other"
        )
        found.append(Measure("Held-out AUC", _value(effect), _interval(effect), meaning))
    n = c.shift.n_permutations
    meaning = f"of {count(n)} random regroupings of the rows, how many come out as far apart"
    found.append(Measure("p-value", p_text(float(c.shift.pvalue), n), "", meaning))
    for part, p in dict(getattr(c.shift, "parts", {})).items():
        text = p_text(float(p), n, tests=3)
        found.append(Measure(f"p-value, {part}", text, "", f"of a change in {part} alone"))
    return tuple(found)


def p_text(p: float, n_permutations: int | None = None, tests: int = 1) -> str:
    """A p-value; the smallest that permutations can give, over all tests, is "at most" that."""
    if n_permutations and p <= (tests + 0.5) / (n_permutations + 1):
        return f"at most {significant(tests / (n_permutations + 1), 1)}"
    return "< 0.0001" if p < 1e-4 else significant(p, 2)


def _value(estimate: Estimate) -> str:
    if 0.9995 <= estimate.value < 1:  # not rounded up to certainty
        return "0.999+"
    return f"{estimate.value:.3f}"


def _interval(estimate: Estimate) -> str:
    level = f"{100 * estimate.confidence:.0f} %"
    return f"{level}: {estimate.low:.3f} to {estimate.high:.3f}"


def warnings_of(remarks: Iterable[str], names: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """The remark that asks for care first, one with a remedy if there is any; and all of them."""
    texts = tuple(dict.fromkeys(remarks))
    care = [text for text in texts if getattr(text, "code", "") not in READING]
    care.sort(key=lambda text: not getattr(text, "remedy", ""))
    return said(str(care[0]), names) if care else "", spoken(map(str, texts), names)


def opening_of(
    c: Comparison | ManyComparison,
    badge: tuple[str, str],
    lead: Iterable[str],
    findings: Iterable[str],
    names: tuple[str, ...],
) -> dict[str, Any]:
    """What a report of any number of sets begins with, for its content."""
    warning, remarks = warnings_of(c.warnings, names)
    return {
        "date": datetime.date.today().isoformat(),
        "version": c.version,
        "level": badge[0],
        "badge": badge[1],
        "verdict": spoken(lead, names),
        "findings": spoken(findings, names),
        "warning": warning,
        "remarks": remarks,
        "glossary": GLOSSARY,
    }


def settings_of(settings: Mapping[str, Any], more: Iterable[tuple[str, str]]) -> Any:
    """(name, value) of each setting, and what was chosen where it was left open."""
    # The affine span has neither a common centre nor weights of the sets.
    linear = ("center", "balance") if settings.get("span") == "affine" else ()
    found = [(clean(key), _plain(value)) for key, value in settings.items() if key not in linear]
    return (*found, *more)


def curve_of(settings: Mapping[str, Any], curve: CurvedSets | None) -> list[tuple[str, str]]:
    """The curved features that are used, where some were asked for."""
    if curve is None and settings.get("curve") in (None, "none"):
        return []
    used = "none" if curve is None else curve.map.words
    return [("curved features used", used)]


def _plain(value: object) -> str:
    if value is None:
        return "default"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return clean(value)
