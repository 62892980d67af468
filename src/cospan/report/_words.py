"""The sentences and numbers of a report, in words a newcomer understands."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._cut import SEPARATES, best_cut, cut_at
from ._text import clean, count, percent, significant

if TYPE_CHECKING:
    from cospan.comparison import Comparison, ScoredGroup
    from cospan.significance import Estimate

    from ._samples import Samples

__all__ = [
    "Number",
    "counted",
    "isolated",
    "named_groups",
    "numbers",
    "settings",
    "shown",
    "verdict",
    "warnings",
]

DOUBT = 0.05  # p-values above this are no evidence of a difference
WORTH_SAYING = 0.02  # gain in mean recall by which another cut than 45° is mentioned
POOR_CUT = 0.1  # and by which 45° is called a poor one


@dataclass(frozen=True)
class Number:
    """A measure, its interval where it has one, and what it means."""

    label: str
    value: float
    low: float | None
    high: float | None
    confidence: float | None
    meaning: str

    @property
    def text(self) -> str:
        if self.low is None:
            return significant(self.value, 2)
        if 0.9995 <= self.value < 1:  # not rounded up to certainty
            return "0.999+"
        return f"{self.value:.3f}"

    @property
    def interval(self) -> str:
        if self.low is None or self.high is None or self.confidence is None:
            return ""
        return f"{100 * self.confidence:.0f} %: {self.low:.3f} to {self.high:.3f}"


def named_groups(comparison: Comparison) -> Iterator[tuple[str, str, ScoredGroup]]:
    """(key, name, group) of A, of B and, where rows were scored, of Z."""
    yield "A", comparison.name_a, comparison.group_a
    yield "B", comparison.name_b, comparison.group_b
    if comparison.group_z is not None:
        yield "Z", comparison.group_z.name, comparison.group_z


def isolated(name: str) -> str:
    """A name for the middle of a sentence: one written right to left must not turn the rest."""
    if any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in name):
        return f"\u2068{name}\u2069"
    return name


def verdict(comparison: Comparison, names: dict[str, str]) -> tuple[str, str]:
    """Two sentences: do the sets differ, and by how much."""
    both = f"rows of {isolated(names['A'])} and {isolated(names['B'])}"
    shift, auc = comparison.shift, comparison.separation.auc.value
    if shift is not None and shift.pvalue > DOUBT:
        found = f"Nothing here shows that the {both} differ"
    elif auc >= 0.99:
        found = f"The {both} lie almost entirely apart"
    elif auc >= 0.9:
        found = f"The {both} are clearly different, with some overlap"
    elif auc >= SEPARATES:
        found = f"The {both} differ, but overlap a good deal"
    elif auc <= 1 - SEPARATES:
        found = f"The angles of the {both} come out the wrong way round, A's larger than B's"
    else:
        found = f"The {both} are hard to separate, row by row"
    return f"{found}: {_cut_words(comparison)}.", _distance_sentence(comparison)


def _cut_words(comparison: Comparison) -> str:
    """How many rows fall on their own side of 45°, and of the best cut where that is better."""
    middle, best = cut_at(comparison, 450), best_cut(comparison)
    words = f"cut at 45°, {percent(middle.accuracy)} of them fall on their own side"
    if best.balanced - middle.balanced < WORTH_SAYING:
        return words
    return f"{words}; cut at {best.step / 10:.1f}°, {percent(best.accuracy)} do"


def _distance_sentence(comparison: Comparison) -> str:
    distance = comparison.separation.fisher_rao
    text = (
        f"Their angles are {distance.value:.2f} apart ({_level(distance)} interval "
        f"{distance.low:.2f} to {distance.high:.2f}) on the Fisher-Rao scale from 0, the same, to "
        "3.14, nothing in common"
    )
    shift = comparison.shift
    if shift is None:
        return f"{text}."
    as_far = round(shift.pvalue * (shift.n_permutations + 1)) - 1
    times = "none" if as_far == 0 else count(as_far)
    return (
        f"{text}; {times} of {count(shift.n_permutations)} random regroupings of the rows came out "
        f"as far apart (p\u00a0=\u00a0{significant(shift.pvalue, 2)})."
    )


def _level(estimate: Estimate) -> str:
    return f"{estimate.confidence:.0%}".replace("%", " %")


def numbers(comparison: Comparison) -> tuple[Number, ...]:
    """The measures of the separation, and the p-value where there is one."""
    separation = comparison.separation
    found = [
        _number(
            "Fisher-Rao distance",
            separation.fisher_rao,
            "Between the two distributions of angles: 0 the same, 3.14 nothing in common.",
        ),
        _number(
            "AUC",
            separation.auc,
            "Chance that a random row of B has a larger angle than a random row of A: "
            "0.5 no difference, 1 always.",
        ),
        _number(
            "Overlap",
            separation.overlap,
            "What the two sets have in common: 0 nothing, 1 all.",
        ),
        _number(
            "Hellinger distance",
            separation.hellinger,
            "The Fisher-Rao distance on another scale, from 0 to 1.",
        ),
    ]
    if comparison.shift is not None:
        meaning = (
            f"How often one of {count(comparison.shift.n_permutations)} random regroupings of the "
            "rows comes out as far apart; small means the difference is no accident."
        )
        p = float(comparison.shift.pvalue)
        found.append(Number("p-value", p, None, None, None, meaning))
    return tuple(found)


def _number(label: str, estimate: Estimate, meaning: str) -> Number:
    return Number(
        label,
        round(float(estimate.value), 6),
        round(float(estimate.low), 6),
        round(float(estimate.high), 6),
        float(estimate.confidence),
        meaning,
    )


def warnings(comparison: Comparison) -> tuple[str, ...]:
    """What a reader should know first: what the comparison says, and what only cuts can show.

    Calibrated angles meet at 45° and are never the wrong way round; raw ones may be.
    """
    found = [clean(text, longest=600) for text in comparison.warnings]
    if comparison.separation.bins is None:
        return tuple(dict.fromkeys(found))
    best = best_cut(comparison)
    if best.balanced - cut_at(comparison, 450).balanced > POOR_CUT:
        found.append(
            f"The raw angles of the two sets meet at {best.step / 10:.1f}°, not at 45°. To assign "
            "rows, cut there, or compare with calibrated angles."
        )
    if comparison.separation.auc.value <= 1 - SEPARATES:
        found.append(
            "The raw angles come out the wrong way round, as they can with few rows for many "
            "features or without shrinkage: do not assign rows by them."
        )
    return tuple(dict.fromkeys(found))


def settings(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """The settings used, as (name, value)."""
    frame = comparison.frame
    found = [(clean(key), _plain(value)) for key, value in comparison.settings.items()]
    found += [
        ("shrinkage used (α)", significant(float(frame.shrinkage))),
        ("directions", "{} only A, {} shared, {} only B".format(*frame.blocks)),
        ("features", count(len(comparison.feature_names))),
        ("time taken", f"{comparison.seconds:.1f} s"),
        ("cospan version", comparison.version),
    ]
    return tuple(found)


def _plain(value: object) -> str:
    if value is None:
        return "default"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return clean(value)


def counted(comparison: Comparison) -> Iterator[str]:
    """What the histograms count."""
    for key, name, group in named_groups(comparison):
        label = key if key == "Z" else f"{key} ({isolated(clean(name))})"
        if group.sampled:
            yield (
                f"{label}: a uniform sample of {count(group.n)} of {count(group.total)} rows was "
                "scored; histograms and the threshold count this sample."
            )
        else:
            yield (
                f"{label}: all {count(group.n)} rows are counted in the histograms and at the "
                "threshold."
            )


def shown(samples: Samples, comparison: Comparison) -> str:
    """How many rows are shown one by one."""
    total = sum(group.total for _, _, group in named_groups(comparison))
    if len(samples.samples) >= total:
        return f"All {count(total)} rows can be looked at one by one."
    return (
        f"{count(len(samples.samples))} rows, spread evenly over the bins, can be looked at one by "
        f"one; the file holds no others of the {count(total)}."
    )
