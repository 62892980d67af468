"""How far two groups of angles are apart, with intervals: an effect size."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cospan._validate import as_confidence, as_count, as_generator
from cospan.distribution import angle_auc, angle_histogram, as_angles, hellinger, overlap
from cospan.errors import InputError
from cospan.significance.bootstrap import Measures, interval, spread
from cospan.significance.estimate import Estimate
from cospan.significance.reliability import widened

__all__ = ["Separation", "separation"]


@dataclass(frozen=True)
class Separation:
    """How far two groups of angles lie apart.

    Attributes
    ----------
    fisher_rao, hellinger : Estimate
        Distances of the two histograms: in radians up to π, and in [0, 1].
    auc : Estimate
        Chance that a random angle of B exceeds a random angle of A.
    overlap : Estimate
        Mass that both histograms have in common.
    n_a, n_b : int
        How many angles.
    bins : int
        Bins of the histograms.
    """

    fisher_rao: Estimate
    hellinger: Estimate
    auc: Estimate
    overlap: Estimate
    n_a: int
    n_b: int
    bins: int

    def __str__(self) -> str:
        names = ("fisher_rao", "hellinger", "auc", "overlap")
        found = ", ".join(f"{name} {getattr(self, name)}" for name in names)
        return f"{self.n_a:,} + {self.n_b:,} angles: {found}"


def separation(
    theta_a: ArrayLike,
    theta_b: ArrayLike,
    *,
    bins: int = 30,
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
        Bins of the histograms behind Fisher-Rao, Hellinger and the overlap.
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
    The values are those of :func:`~cospan.fisher_rao` and its siblings on the two histograms.
    Such distances are too high for small samples; the intervals correct for that, so a value can
    be at the upper end of its interval. Angles that are all equal separate nothing: the distances
    are 0 and the AUC is 0.5.

    Examples
    --------
    >>> import numpy as np
    >>> from cospan import separation
    >>> rng = np.random.default_rng(0)
    >>> result = separation(rng.beta(3, 6, 200) * np.pi / 2, rng.beta(6, 3, 200) * np.pi / 2)
    >>> print(result.auc)
    0.937 [0.913, 0.964]
    """
    a, b = as_angles(theta_a, "theta_a"), as_angles(theta_b, "theta_b")
    confidence = as_confidence(confidence)
    P, Q = angle_histogram(a, bins), angle_histogram(b, bins)
    if not 0 <= reliability <= 1:
        raise InputError(f"reliability must be between 0 and 1, not {reliability}.")
    strays = spread(a, b, bins, as_count(n_bootstrap, "n_bootstrap"), as_generator(random_state))
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
