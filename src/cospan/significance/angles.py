"""How far two groups of angles are apart, with intervals: an effect size."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from cospan._validate import as_confidence, as_count, as_generator
from cospan.distribution import angle_auc, angle_histogram, as_angles, hellinger, overlap
from cospan.errors import InputError
from cospan.significance.bootstrap import Measures, auc_spread, interval, oriented, spread
from cospan.significance.estimate import Estimate
from cospan.significance.reliability import widened

__all__ = ["RAW_BINS", "Separation", "pair_separation", "separation"]

Floats = NDArray[np.float64]

#: Bins of the histograms of raw angles, 3° each, as the paper has them.
RAW_BINS = 30


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
    """

    fisher_rao: Estimate
    hellinger: Estimate
    auc: Estimate
    overlap: Estimate
    n_a: int
    n_b: int
    bins: int | None

    def __str__(self) -> str:
        names = ("fisher_rao", "hellinger", "auc", "overlap")
        found = ", ".join(f"{name} {getattr(self, name)}" for name in names)
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

    Returns
    -------
    Separation

    Notes
    -----
    With the probabilities p = sin²θ, both groups counting alike, the paper's identity reads
    Fisher-Rao = 2 arccos(mean of sin 2θ): 0 where every angle is 45°. Distances of histograms are
    too high for small samples; their intervals correct for that, so a value can be at the upper
    end of its interval. Angles that are all equal separate nothing: the distances are
    0 and the AUC is 0.5.

    Examples
    --------
    >>> import numpy as np
    >>> from cospan import separation
    >>> rng = np.random.default_rng(0)
    >>> result = separation(rng.beta(3, 6, 200) * np.pi / 2, rng.beta(6, 3, 200) * np.pi / 2)
    >>> print(result.auc)
    0.937 [0.915, 0.965]
    """
    a, b = as_angles(theta_a, "theta_a"), as_angles(theta_b, "theta_b")
    confidence = as_confidence(confidence)
    if not 0 <= reliability <= 1:
        raise InputError(f"reliability must be between 0 and 1, not {reliability}.")
    n, rng = as_count(n_bootstrap, "n_bootstrap"), as_generator(random_state)
    if bins is None:
        return _smooth(a, b, confidence, reliability, auc_spread(*oriented(a, b), n, rng))
    P, Q = angle_histogram(a, bins), angle_histogram(b, bins)
    strays = spread(*oriented(a, b), bins, n, rng)
    strays = Measures(*(widened(stray, reliability) for stray in strays))
    chord, auc, common = hellinger(P, Q), angle_auc(a, b), overlap(P, Q)
    low, high = interval(chord**2, strays.squared_hellinger, confidence)
    ends = (math.sqrt(low), chord, math.sqrt(high))
    shared_low, shared_high = interval(common, strays.overlap, confidence)
    if low == 0:  # the histograms may be equal, and equal ones overlap in full
        shared_high = 1.0
    arcs = [4 * math.asin(end / math.sqrt(2)) for end in ends]  # 2 arccos(1 - H²), with all digits
    return Separation(
        fisher_rao=Estimate(arcs[1], arcs[0], arcs[2], confidence),
        hellinger=Estimate(ends[1], ends[0], ends[2], confidence),
        auc=Estimate(auc, *interval(auc, strays.auc, confidence), confidence),
        overlap=Estimate(common, shared_low, shared_high, confidence),
        n_a=a.size,
        n_b=b.size,
        bins=int(bins),
    )


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
    """The separation of a pair of sets as every comparison states it.

    Calibrated angles are probabilities and need no bins; raw ones are compared as histograms.
    The same pair has the same numbers among two sets or many, whichever is called A.

    Parameters
    ----------
    theta_a, theta_b
        Leave-one-out angles of both sets' rows, in radians.
    calibrated
        Whether sin²θ is the probability of B.
    reliability, confidence, n_bootstrap, seed
        As for :func:`separation`.

    Examples
    --------
    >>> import numpy as np
    >>> from cospan.significance import pair_separation
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.beta(3, 6, 90) * np.pi / 2, rng.beta(6, 3, 60) * np.pi / 2
    >>> one, other = (
    ...     pair_separation(*pair, calibrated=False).auc
    ...     for pair in ((a, b), (np.pi / 2 - b, np.pi / 2 - a))
    ... )
    >>> print(one, other)
    0.924 [0.883, 0.976] 0.924 [0.883, 0.976]
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


def _smooth(
    a: Floats, b: Floats, confidence: float, reliability: float, strays: Floats
) -> Separation:
    """The measures of calibrated angles: means over both groups, each weighing one half."""
    auc = angle_auc(a, b)
    wider = math.sqrt(2 - reliability)
    # 1 - sin 2θ is 2 sin²(θ - 45°), which keeps its digits near 45°.
    away = [2 * np.sin(x - math.pi / 4) ** 2 for x in (a, b)]
    chord = _mean_of(away[0], away[1], confidence, wider)
    least = [1 - np.abs(np.sin(2 * (x - math.pi / 4))) for x in (a, b)]  # 2 min(cos²θ, sin²θ)
    common = _mean_of(least[0], least[1], confidence, wider)
    value, low, high = (math.sqrt(x) for x in (chord.value, chord.low, chord.high))
    arcs = [4 * math.asin(min(end / math.sqrt(2), 1.0)) for end in (value, low, high)]
    return Separation(
        fisher_rao=Estimate(arcs[0], arcs[1], arcs[2], confidence),
        hellinger=Estimate(value, low, high, confidence),
        auc=Estimate(auc, *interval(auc, widened(strays, reliability), confidence), confidence),
        overlap=common,
        n_a=a.size,
        n_b=b.size,
        bins=None,
    )


def _mean_of(x: Floats, y: Floats, confidence: float, wider: float) -> Estimate:
    """Mean of two groups, each weighing one half, with the interval of means, inside [0, 1]."""
    value = float(x.mean() + y.mean()) / 2
    variance = sum(float(part.var()) / max(part.size - 1, 1) for part in (x, y))
    reach = wider * float(ndtri((1 + confidence) / 2)) * math.sqrt(variance) / 2
    low, high = (float(np.clip(end, 0.0, 1.0)) for end in (value - reach, value + reach))
    return Estimate(min(max(value, 0.0), 1.0), low, high, confidence)
