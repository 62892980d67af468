"""The sentences and numbers of a report, in words a newcomer understands."""

from __future__ import annotations

import datetime
import math
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cospan import wording
from cospan.base.notes import Note
from cospan.base.text import count, p_text

from ._text import clean
from .pieces import Measure, SetInfo

if TYPE_CHECKING:
    from cospan.comparison import Comparison, ManyComparison

LONGEST_IN_SENTENCE = 60
BADGES = {
    "none": "no evidence of a difference", "small": "small difference",
    "medium": "medium difference", "large": "large difference",
}  # fmt: skip
#: Codes of remarks that tell how the data was read, or what the page says anyway.
READING = ("encoding", "missing values", "constant columns", "rows elsewhere", "times set aside")
#: Each word with its meaning after a colon.
GLOSSARY = (
    "A, B, Z: The two sets that are compared, and rows to score, which belong to neither.",
    ("AUC: Of 100 pairs of rows, one from each set, how many the angle orders correctly, as a "
          "share: 0.5 is chance, 1 always. Each row is scored as if it had not been in its set."),
    ("angle: Where a row is between the sets: 0° looks like A, 90° like B, 45° like both. The "
          "square of its sine is the probability of B, both sets counting alike."),
    ("cost: How far a row is from a set, in the set's own spread: small if the set has many "
          "rows like it."),
    ("typicality: The share of a set's own rows that are at least as unusual. Rows that are "
          "unusual for both sets are like neither."),
    ("pull: How much a column moves a row towards A or towards B, less than it moves an "
          "average row."),
    ("location, scale, shape: Where values are centred; how widely all of them spread; "
          "spreads of single columns and relations between them. Together they are the whole "
          "difference, D."),
    ("D: The Bhattacharyya distance of the two sets, each taken as a normal distribution; the "
          "parts of columns and of directions add up to it."),
    ("direction: A weighted sum of columns along which the sets vary by themselves: first "
          "those that only A has, last those that only B has."),
    "shift: How far the means are apart along a direction, in pooled standard deviations.",
    "sd: Standard deviation.",
    ("p-value: How often chance alone would show a difference as large. Adjusted: over all "
          "columns tested, so that few of those called changed are not."),
)  # fmt: skip


def isolated(name: str) -> str:
    """A name for the middle of a sentence: one written right to left must not turn the rest."""
    if any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in name):
        return f"\u2068{name}\u2069"
    return name


def spoken(sentences: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """Sentences as they can be shown: names cut and isolated, control characters spelled out."""
    found = []
    order = [n for n in set(names) if len(n) > LONGEST_IN_SENTENCE or isolated(n) != n]
    order.sort(key=len, reverse=True)
    for sentence in filter(None, sentences):
        # Names are set aside first: what is put in place of one must not be searched for another.
        for i, name in enumerate(order):
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
        return "small", ("very small difference" if size == "none" else "difference")
    return size, BADGES[size]


def both(first: str, second: str) -> str:
    """Two names beside each other."""
    return f"{first} and {second}"


def of_hundred(auc: float) -> str:
    """The same count as in sentences, and what it is of."""
    return f"{wording.of_hundred(auc)} of 100"


def measures(c: Comparison) -> tuple[Measure, ...]:
    """The size with its interval, and the p-value."""
    size = c.size
    text = "0.999+" if 0.9995 <= size < 1 else f"{size:.3f}"  # not rounded up to certainty
    meaning = "share of pairs of rows that the angle orders correctly; 0.5 is chance"
    interval = f"95%: {size.low:.3f} to {size.high:.3f}"
    found = [Measure("AUC", text, interval, meaning)]
    if not math.isnan(c.p):
        n = c.verdict.n_permutations
        meaning = f"of {n:,} relabellings of the rows, how many come out as far apart"
        found.append(Measure("p-value", p_text(c.p, 1 / (n + 1)), "", meaning))
    return tuple(found)


def warnings_of(notes: Iterable[Note], names: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """The note that asks for care first, one with a remedy if there is any; and all of them."""
    found = tuple(dict.fromkeys(notes))
    care = [note for note in found if note.code not in READING]
    care.sort(key=lambda note: not note.remedy)
    return said(str(care[0]), names) if care else "", spoken(map(str, found), names)


def common_of(
    c: Comparison | ManyComparison,
    badge: tuple[str, str],
    lead: Iterable[str],
    findings: Iterable[str],
    sets: tuple[SetInfo, ...],
    directions: str,
) -> dict[str, Any]:
    """What a report of any number of sets has, for its content."""
    names = [size.name for size in c.sizes]
    warning, remarks = warnings_of(c.warnings, names)
    return {
        "date": datetime.date.today().isoformat(),
        "version": c.version,
        "sets": sets,
        "level": badge[0],
        "badge": badge[1],
        "verdict": spoken(lead, names),
        "findings": spoken(findings, names),
        "warning": warning,
        "remarks": remarks,
        "settings": settings_of(c, directions),
        "glossary": tuple(tuple(one.split(": ", 1)) for one in GLOSSARY),
    }


def sets_of(
    c: Comparison | ManyComparison, keys: Iterable[str], notes: Iterable[str]
) -> tuple[SetInfo, ...]:
    """The sets, and the further rows last, each with its key and a note."""
    return tuple(
        SetInfo(key, clean(size.name), int(size.rows), int(size.scored), note)
        for key, size, note in zip(keys, c.sizes, notes, strict=False)
    )


def settings_of(c: Comparison | ManyComparison, directions: str) -> tuple[tuple[str, str], ...]:
    """(name, value) of each setting, and what was chosen where it was left open."""
    # The affine span has neither a common centre nor weights of the sets.
    linear = ("center", "balance") if c.settings.get("span") == "affine" else ()
    found = [(clean(key), _plain(value)) for key, value in c.settings.items() if key not in linear]
    g, curve = c.fitted.geometry, c.fitted.curve
    found += [
        ("shrinkage used (α)", f"{float(g.shrinkage):.3g}"),
        ("units used", str(g.units)),
        ("pooling used (γ)", f"{float(g.pooling):.3g}"),
        ("ν used", f"{float(g.dof):.3g}"),
        ("directions", directions),
        ("features", count(c.fitted.n_features)),
    ]
    if curve is not None or c.settings.get("curve") not in (None, "none"):
        used = "none" if curve is None else curve.map.words
        found.append(("curved features used", used))
    return tuple(found)


def _plain(value: object) -> str:
    if value is None:
        return "default"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return clean(value)
