"""Distributions of angles: histograms, their distances, and the posterior they imply.

This module sees angles (radians in [0, π/2]) and histograms of angles only; it knows nothing of
the rows, the frame, or any linear algebra behind them. A histogram is a probability vector over
equal bins of [0°, 90°].

All distances come from one picture, the paper's appendix on Hellinger and Fisher-Rao: the square
roots of two probability vectors are points on a sphere, and

=================  =========================================  ==========
Bhattacharyya      BC = Σ √(PᵢQᵢ)            (inner product)   in [0, 1]
Hellinger          H = √(1 - BC) = chord/√2  (straight line)   in [0, 1]
Fisher-Rao         F = 2 arccos BC           (along the arc)   in [0, π]
=================  =========================================  ==========

so F = 2 arccos(1 - H²) and H² = 1 - cos(F/2). With prior weights π of the two groups, the
paper's identity ties them to how ambiguous an angle leaves the label:
F = 2 arccos(E[Std(Y | bin)] / √(π_A π_B)).

Calibrated angles need no bins. There sin²θ is the probability of B itself, so Std(Y | θ) is
½ sin 2θ, and :func:`smooth_distances` takes the expectation over the angles as they are.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cospan.base.checks import as_confidence, as_count
from cospan.base.tolerance import ANGLE_ROUNDING, UNIT_SUM
from cospan.base.types import Floats, Index
from cospan.errors import InputError

__all__ = [
    "SmoothDistances",
    "angle_auc",
    "angle_histogram",
    "bhattacharyya",
    "bin_posterior",
    "fisher_rao",
    "hellinger",
    "overlap",
    "posterior_ambiguity",
    "smooth_distances",
]

_RIGHT_ANGLE = math.pi / 2


def angle_histogram(theta: ArrayLike, bins: int = 30) -> Floats:
    """Share of angles in each of ``bins`` equal bins over [0°, 90°].

    Parameters
    ----------
    theta
        Angles in radians, each in [0, π/2]. One or more.
    bins
        How many bins; the paper uses 30, three degrees each.

    Returns
    -------
    ndarray, shape (bins,)
        Probabilities, summing to 1. A bin holds its lower edge; the last holds both edges.

    Examples
    --------
    >>> from cospan import angle_histogram
    >>> angle_histogram(np.radians([1, 10, 50, 89]), bins=3)
    array([0.5 , 0.25, 0.25])
    """
    angles = as_angles(theta, "theta")
    return np.bincount(bin_index(angles, bins), minlength=bins) / angles.size


def bhattacharyya(P: ArrayLike, Q: ArrayLike) -> float:
    """Bhattacharyya coefficient Σ √(PᵢQᵢ): 1 for equal histograms, 0 for disjoint ones.

    Examples
    --------
    >>> from cospan import bhattacharyya
    >>> round(bhattacharyya([0.5, 0.5, 0.0], [0.0, 0.5, 0.5]), 3)
    0.5
    """
    p, q = as_histograms(P, Q)
    return float(min(1.0, np.sum(np.sqrt(p * q))))


def hellinger(P: ArrayLike, Q: ArrayLike) -> float:
    """Hellinger distance √(1 - BC), in [0, 1].

    Taken from the differences of the square roots, so that nearly equal histograms keep their
    digits: 1 - BC would lose half of them.

    Examples
    --------
    >>> from cospan import hellinger
    >>> hellinger([1.0, 0.0], [0.0, 1.0]), hellinger([0.5, 0.5], [0.5, 0.5])
    (1.0, 0.0)
    """
    p, q = as_histograms(P, Q)
    return min(1.0, _chord(p, q) / math.sqrt(2))


def fisher_rao(P: ArrayLike, Q: ArrayLike) -> float:
    """Fisher-Rao distance 2 arccos BC between two histograms, in radians, in [0, π].

    Parameters
    ----------
    P, Q
        Probability vectors of equal length, for instance from :func:`angle_histogram`.

    Returns
    -------
    float
        0 for equal histograms, π for histograms without a common bin.

    Notes
    -----
    Computed as 4 arcsin(chord / 2), the same number as 2 arccos BC; the arccosine itself cannot
    resolve distances below 1e-8.

    Examples
    --------
    >>> from cospan import angle_histogram, fisher_rao
    >>> P, Q = (angle_histogram(np.radians(x), bins=3) for x in ([10, 40], [50, 80]))
    >>> round(fisher_rao(P, Q), 6)
    2.094395
    """
    p, q = as_histograms(P, Q)
    return min(math.pi, 4 * math.asin(min(1.0, _chord(p, q) / 2)))


class SmoothDistances(NamedTuple):
    """How far apart two groups of calibrated angles are, without bins."""

    bhattacharyya: float  # BC, from 1 (nothing separates the groups) to 0
    hellinger: float  # √(1 - BC), in [0, 1]
    fisher_rao: float  # 2 arccos BC, in radians, in [0, π]
    #: The mass both groups have in common, from 1 to 0: twice the error of the best guess
    overlap: float


def smooth_distances(theta_a: ArrayLike, theta_b: ArrayLike) -> SmoothDistances:
    """Distances of two groups from their calibrated angles, each group weighing one half.

    The angles are in radians, and sin²θ is the probability of B: those of a calibrated frame,
    leave-one-out for its own rows. BC is the mean of sin 2θ, the overlap that of 2 min(cos²θ,
    sin²θ). Both are taken from differences to 45°, 1 - sin 2θ = 2 sin²(θ - 45°), so that small
    distances keep their digits and angles that are all 45° are exactly 0 apart.

    >>> found = smooth_distances(np.radians([10, 20, 50]), np.radians([70, 80]))
    >>> round(found.fisher_rao, 4), round(found.overlap, 4)
    (1.9177, 0.2603)
    >>> smooth_distances([np.pi / 4], [np.pi / 4])
    SmoothDistances(bhattacharyya=1.0, hellinger=0.0, fisher_rao=0.0, overlap=1.0)
    """
    missing, apart = 0.0, 0.0
    for theta, name in ((theta_a, "theta_a"), (theta_b, "theta_b")):
        away = as_angles(theta, name) - _half_right(theta)
        missing += float(np.mean(np.sin(away) ** 2))  # 1 - sin 2θ, times one half
        apart += 0.5 * float(np.mean(np.abs(np.sin(2 * away))))
    missing, apart = min(1.0, missing), min(1.0, apart)
    return SmoothDistances(
        bhattacharyya=1 - missing,
        hellinger=math.sqrt(missing),
        fisher_rao=min(math.pi, 4 * math.asin(math.sqrt(missing / 2))),
        overlap=1 - apart,
    )


def _half_right(theta: ArrayLike) -> float:
    """45° as angles of this precision hold it."""
    dtype = getattr(theta, "dtype", None)
    narrow = isinstance(dtype, np.dtype) and np.issubdtype(dtype, np.floating)
    return float(dtype.type(math.pi / 4)) if narrow and dtype is not None else math.pi / 4


def overlap(P: ArrayLike, Q: ArrayLike) -> float:
    """Overlap coefficient Σ min(Pᵢ, Qᵢ): the mass that both histograms have in common."""
    p, q = as_histograms(P, Q)
    return float(min(1.0, np.sum(np.minimum(p, q))))


def bin_posterior(P: ArrayLike, Q: ArrayLike, prior: float = 0.5) -> Floats:
    """Probability of group A in each bin, πP / (πP + (1 - π)Q).

    Parameters
    ----------
    P, Q
        Histograms of group A and of group B.
    prior
        π, the share of A among the samples in question, strictly between 0 and 1.

    Returns
    -------
    ndarray, shape (bins,)
        In [0, 1]; NaN marks the bins in which neither group was seen.

    Examples
    --------
    >>> from cospan import bin_posterior
    >>> bin_posterior([0.75, 0.25, 0.0], [0.25, 0.75, 0.0])
    array([0.75, 0.25,  nan])
    """
    p, q = as_histograms(P, Q)
    weight = as_confidence(prior, "prior")
    mixture = weight * p + (1 - weight) * q
    return np.divide(weight * p, mixture, out=np.full_like(mixture, np.nan), where=mixture > 0)


def posterior_ambiguity(P: ArrayLike, Q: ArrayLike, prior: float = 0.5) -> float:
    """Expected standard deviation of the label given the bin, E[Std(Y | I)].

    0 when every bin belongs to one group, √(π(1 - π)) when the histograms agree.
    ``fisher_rao(P, Q)`` is 2 arccos of this over √(π(1 - π)), whatever the prior π.

    Examples
    --------
    >>> from cospan import posterior_ambiguity
    >>> posterior_ambiguity([0.5, 0.5], [0.5, 0.5]), posterior_ambiguity([1, 0], [0, 1])
    (0.5, 0.0)
    """
    p, q = as_histograms(P, Q)
    weight = as_confidence(prior, "prior")
    mixture = weight * p + (1 - weight) * q
    posterior = bin_posterior(p, q, weight)[mixture > 0]
    return float(np.sum(mixture[mixture > 0] * np.sqrt(posterior * (1 - posterior))))


def angle_auc(theta_a: ArrayLike, theta_b: ArrayLike) -> float:
    """Chance that a random angle of B exceeds a random angle of A; ties count one half.

    0.5: the angles tell nothing apart; 1: every B lies above every A.

    >>> angle_auc(np.radians([10, 20, 40]), np.radians([40, 60]))
    0.9166666666666666
    """
    return rank_auc(as_angles(theta_a, "theta_a"), as_angles(theta_b, "theta_b"))


def rank_auc(a: Floats, b: Floats) -> float:
    """The same for values of any range, unchecked."""
    return float(twice_below(np.sort(a), b).sum() / (2 * a.size * b.size))


def twice_below(a: Floats, b: Floats) -> Index:
    """For each of `b` how many of the sorted `a` are smaller, twice, and how many are equal, once.

    Integers: nothing is rounded.
    """
    return np.asarray(np.searchsorted(a, b, side="left") + np.searchsorted(a, b, side="right"))


def _chord(p: Floats, q: Floats) -> float:
    """Straight distance of the two square-root vectors, at most √2."""
    return float(np.sqrt(np.sum((np.sqrt(p) - np.sqrt(q)) ** 2)))


# ---- angles and histograms as users pass them, checked ----------------------------------------


def as_angles(theta: ArrayLike, name: str) -> Floats:
    """A flat float64 array of at least one angle, checked."""
    angles = _numbers(theta, name, "angles")
    if angles.ndim != 1:
        raise InputError(f"{name} must be one row of angles, but its shape is {angles.shape}.")
    if angles.size == 0:
        raise InputError(f"{name} is empty: at least one angle is needed.")
    low, high = float(angles.min()), float(angles.max())
    if not -ANGLE_ROUNDING <= low <= high <= _RIGHT_ANGLE + ANGLE_ROUNDING:
        raise InputError(
            f"{name} reaches from {low:.6g} to {high:.6g}, but angles lie in [0, π/2]: pass "
            "radians, not degrees."
        )
    return np.clip(angles, 0.0, _RIGHT_ANGLE)


def bin_index(angles: Floats, bins: int) -> Index:
    """Which of ``bins`` equal bins over [0, π/2] each angle falls into."""
    inner = np.linspace(0.0, _RIGHT_ANGLE, as_count(bins, "bins") + 1)[1:-1]
    return np.searchsorted(inner, angles, side="right")


def as_histograms(P: ArrayLike, Q: ArrayLike) -> tuple[Floats, Floats]:
    """Two probability vectors of one length, checked, their sums made 1 to the last digit."""
    p, q = _histogram(P, "P"), _histogram(Q, "Q")
    if p.shape != q.shape:
        raise InputError(
            f"P has {p.size} bins and Q has {q.size}: make both histograms with the same bins."
        )
    return p, q


def _numbers(values: Any, name: str, kind: str) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold {kind}, but cannot be read as numbers.") from error
    if not np.all(np.isfinite(array)):
        count = int(np.count_nonzero(~np.isfinite(array)))
        raise InputError(
            f"{name} holds {count} NaN or infinite values: drop them, or look at the rows they "
            "come from."
        )
    return array


def _histogram(values: ArrayLike, name: str) -> Floats:
    p = _numbers(values, name, "the probabilities of a histogram")
    if p.ndim != 1 or p.size == 0:
        raise InputError(f"{name} must be one row of bins, but its shape is {p.shape}.")
    if p.min() < 0:
        raise InputError(f"{name} holds a negative probability, {p.min():.6g}.")
    if abs(p.sum() - 1) > UNIT_SUM:
        raise InputError(
            f"{name} sums to {p.sum():.6g}, but a histogram of probabilities sums to 1: divide "
            "counts by their total."
        )
    return np.asarray(p / p.sum())
