"""How far two groups of angles are apart, with intervals: an effect size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from cospan._types import Floats
from cospan._validate import as_confidence, as_count, as_generator
from cospan.distribution import angle_auc, angle_histogram, as_angles, hellinger, overlap
from cospan.errors import InputError
from cospan.significance.bootstrap import (
    Estimate,
    Measures,
    arc_of,
    auc_interval,
    interval,
    normal_interval,
    oriented,
    spread,
    widened,
)
from cospan.significance.recalibrating import smooth_spread

#: Bins of the histograms of raw angles, 3° each, as the paper has them.
RAW_BINS = 30
# Standard deviations between two normal distributions whose AUC is 1 for all that a few rows say.
MOST_APART = 10.0


class Measure(NamedTuple):
    """What a measure is called and what it means, on a line (none: left out there) and in full."""

    name: str
    line: str
    meaning: str


#: The measures of a separation, in the order in which they are shown everywhere.
MEASURES = {
    "auc": Measure(
        "AUC",
        "of the angle; 0.5: no difference, 1: apart",
        ("share of pairs of rows that the angle orders correctly; 0.5 is chance. Each row is "
              "scored as if it had not been in its set"),
    ),
    "fisher_rao": Measure(
        "Fisher-Rao",
        "between 0 and π",
        "distance of the two distributions of angles, 0 to 3.14",
    ),
    "hellinger": Measure("Hellinger", "", "the same on a scale from 0 to 1"),
    "overlap": Measure(
        "overlap",
        "what both have in common",
        "what the two distributions have in common, 1 to 0",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Separation:
    """How far two groups of angles lie apart.

    Attributes
    ----------
    fisher_rao, hellinger : Estimate
        Distances of the two groups: in radians up to π, and in [0, 1].
    auc : Estimate
        Chance that a random angle of B exceeds a random angle of A.
    overlap : Estimate
        Mass that both groups have in common.
    n_a, n_b : int
        How many angles.
    bins : int or None
        Bins of the histograms; None where there are none.

    Examples
    --------
    >>> from cospan import separation
    >>> rng = np.random.default_rng(0)
    >>> found = separation(rng.uniform(0.0, 0.9, 200), rng.uniform(0.6, 1.5, 200))
    >>> round(found.auc.value, 2), found.auc.low < found.auc.value < found.auc.high
    (0.93, True)
    """

    fisher_rao: Estimate
    hellinger: Estimate
    auc: Estimate
    overlap: Estimate
    n_a: int
    n_b: int
    bins: int | None

    def __str__(self) -> str:
        found = ", ".join(f"{name} {getattr(self, name)}" for name in MEASURES)
        return f"{self.n_a:,} + {self.n_b:,} angles: {found}"


def separation(
    theta_a: ArrayLike,
    theta_b: ArrayLike,
    *,
    bins: int | None = None,
    confidence: float = 0.95,
    n_bootstrap: int = 1000,
    reliability: float = 1.0,
    random_state: int | np.random.Generator = 0,
) -> Separation:
    """Measure how far two groups of angles lie apart, with bootstrap intervals.

    Parameters
    ----------
    theta_a, theta_b
        Angles in radians. For a fair measure they should come from rows that the frame was not
        fitted on, or be leave-one-out angles.
    bins
        By default the angles are read as calibrated ones: sin²θ is the probability of B, and
        Fisher-Rao, Hellinger and the overlap follow from it without any binning. With a number,
        they are those of the two histograms of so many bins, as the paper has them.
    confidence
        Confidence level of the intervals.
    n_bootstrap
        Replicates behind the intervals.
    reliability
        For leave-one-out angles of the rows that a frame was fitted to: how much of the angles is
        the sets' and not the fit's noise, from :func:`fit_reliability`. Below 1 the intervals are
        wider, as the fit's part in the error asks for. 1 for rows that are new to the frame.
    random_state
        Seed; the same seed gives the same bits.

    Notes
    -----
    With the probabilities p = sin²θ, both groups counting alike, the paper's identity reads
    Fisher-Rao = 2 arccos(mean of sin 2θ): 0 where every angle is 45°. Its interval knows that the
    probabilities were fitted to rows: every bootstrap replicate is calibrated anew. Distances of
    histograms are too high for small samples; their intervals correct for that, so a value can be
    at the upper end of its interval. Angles that are all equal separate nothing: the distances are
    0 and the AUC is 0.5. Their intervals are those of a score that has nothing to tell: the AUC's
    is as wide as ranks of so many rows stray, the distances' reach to those of two normal
    distributions with the AUC at its upper end.

    Examples
    --------
    >>> from cospan import separation
    >>> rng = np.random.default_rng(0)
    >>> result = separation(rng.beta(3, 6, 200) * np.pi / 2, rng.beta(6, 3, 200) * np.pi / 2)
    >>> print(result.auc)
    0.937 [0.904, 0.957]
    """
    a, b = as_angles(theta_a, "theta_a"), as_angles(theta_b, "theta_b")
    confidence = as_confidence(confidence)
    if not 0 <= reliability <= 1:
        raise InputError(f"reliability must be between 0 and 1, not {reliability}.")
    n, rng = as_count(n_bootstrap, "n_bootstrap"), as_generator(random_state)
    wider = math.sqrt(2 - reliability)
    if bins is None:
        return _smooth(a, b, confidence, wider, smooth_spread(*oriented(a, b), n, rng))
    return _binned(a, b, bins, confidence, wider, spread(*oriented(a, b), bins, n, rng))


def pair_separation(
    theta_a: ArrayLike,
    theta_b: ArrayLike,
    *,
    calibrated: bool,
    reliability: float = 1.0,
    confidence: float = 0.95,
    n_bootstrap: int = 1000,
    seed: int = 0,
) -> Separation:
    """The separation of a pair of sets, by leave-one-out angles, as every comparison states it.

    Calibrated angles are probabilities (sin²θ that of B) and need no bins; raw ones are compared as
    histograms. The same pair has the same numbers among two sets or many, whichever is called A.

    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.beta(3, 6, 90) * np.pi / 2, rng.beta(6, 3, 60) * np.pi / 2
    >>> one, other = (
    ...     pair_separation(*pair, calibrated=False).auc
    ...     for pair in ((a, b), (np.pi / 2 - b, np.pi / 2 - a))
    ... )
    >>> print(one, other)
    0.924 [0.852, 0.957] 0.924 [0.852, 0.957]
    """
    return separation(
        theta_a,
        theta_b,
        bins=None if calibrated else RAW_BINS,
        confidence=confidence,
        n_bootstrap=n_bootstrap,
        reliability=reliability,
        random_state=seed,
    )


def _smooth(a: Floats, b: Floats, confidence: float, wider: float, strays: Measures) -> Separation:
    """The measures of calibrated angles: means over both groups, each weighing one half."""
    if min(a.min(), b.min()) == max(a.max(), b.max()):
        return _nothing(a.size, b.size, confidence, wider)
    auc = angle_auc(a, b)
    # 1 - sin 2θ is 2 sin²(θ - 45°), which keeps its digits near 45°.
    away = sum(float(np.mean(2 * np.sin(x - math.pi / 4) ** 2)) for x in (a, b)) / 2
    # 2 min(cos²θ, sin²θ), exact at 45°
    common = sum(float(np.mean(1 - np.abs(np.sin(2 * (x - math.pi / 4))))) for x in (a, b)) / 2
    arc = float(arc_of(np.asarray(away)))
    low, high = normal_interval(arc, strays.distance, confidence, wider, math.pi)
    chords = [math.sqrt(2) * math.sin(end / 4) for end in (low, high)]
    shared = normal_interval(common, strays.overlap, confidence, wider)
    return Separation(
        fisher_rao=Estimate(arc, low, high, confidence),
        hellinger=Estimate(math.sqrt(min(away, 1.0)), chords[0], chords[1], confidence),
        auc=Estimate(auc, *auc_interval(auc, strays, confidence, wider), confidence),
        overlap=Estimate(common, *shared, confidence),
        n_a=a.size,
        n_b=b.size,
        bins=None,
    )


def _nothing(n_a: int, n_b: int, confidence: float, wider: float) -> Separation:
    """The measures of angles that are all equal, with the intervals of ranks by chance alone."""
    deviation = math.sqrt((n_a + n_b + 1) / (12 * n_a * n_b))
    reach = min(0.5, wider * float(ndtri((1 + confidence) / 2)) * deviation)
    # Normal distributions with such an AUC are so many standard deviations apart.
    apart = min(math.sqrt(2) * float(ndtri(0.5 + reach)), MOST_APART)
    squared = -math.expm1(-(apart**2) / 8)  # 1 - exp(-apart²/8), their squared Hellinger distance
    return Separation(
        fisher_rao=Estimate(0.0, 0.0, float(arc_of(np.asarray(squared))), confidence),
        hellinger=Estimate(0.0, 0.0, math.sqrt(squared), confidence),
        auc=Estimate(0.5, 0.5 - reach, 0.5 + reach, confidence),
        overlap=Estimate(1.0, 2 * float(ndtr(-apart / 2)), 1.0, confidence),
        n_a=n_a,
        n_b=n_b,
        bins=None,
    )


def _binned(
    a: Floats, b: Floats, bins: int, confidence: float, wider: float, strays: Measures
) -> Separation:
    """The measures of two histograms."""
    P, Q = angle_histogram(a, bins), angle_histogram(b, bins)
    chord, auc, common = hellinger(P, Q), angle_auc(a, b), overlap(P, Q)
    low, high = interval(chord**2, widened(strays.distance, wider), confidence)
    arcs = arc_of(np.array([chord**2, low, high])).tolist()
    shared_low, shared_high = interval(common, widened(strays.overlap, wider), confidence)
    if low == 0:  # the histograms may be equal, and equal ones overlap in full
        shared_high = 1.0
    return Separation(
        fisher_rao=Estimate(arcs[0], arcs[1], arcs[2], confidence),
        hellinger=Estimate(chord, math.sqrt(low), math.sqrt(high), confidence),
        auc=Estimate(auc, *auc_interval(auc, strays, confidence, wider), confidence),
        overlap=Estimate(common, shared_low, shared_high, confidence),
        n_a=a.size,
        n_b=b.size,
        bins=int(bins),
    )
