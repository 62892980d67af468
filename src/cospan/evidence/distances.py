"""Histograms of angles, their distances, and the posterior they imply.

The square roots of two histograms over [0°, 90°] are points on a sphere (the paper's appendix):

=================  =========================================  ==========
Bhattacharyya      BC = Σ √(PᵢQᵢ)            (inner product)   in [0, 1]
Hellinger          H = √(1 - BC) = chord/√2  (straight line)   in [0, 1]
Fisher-Rao         F = 2 arccos BC           (along the arc)   in [0, π]
=================  =========================================  ==========
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from cospan.base.checks import as_confidence, as_count
from cospan.base.tolerance import ANGLE_ROUNDING, UNIT_SUM
from cospan.base.types import Floats
from cospan.errors import InputError


def angle_histogram(theta: ArrayLike, bins: int = 30) -> Floats:
    """Share of angles in each of ``bins`` equal bins over [0°, 90°].

    `theta` are radians in [0, π/2]; a bin holds its lower edge, the last one both. The paper has
    30 bins, three degrees each.

    Examples
    --------
    >>> from cospan import angle_histogram
    >>> angle_histogram(np.radians([1, 10, 50, 89]), bins=3)
    array([0.5 , 0.25, 0.25])
    """
    angles = as_angles(theta, "theta")
    inner = np.linspace(0.0, math.pi / 2, as_count(bins, "bins") + 1)[1:-1]
    index = np.searchsorted(inner, angles, side="right")
    return np.bincount(index, minlength=bins) / angles.size


def bhattacharyya(P: ArrayLike, Q: ArrayLike) -> float:
    """Bhattacharyya coefficient Σ √(PᵢQᵢ): 1 for equal histograms, 0 for disjoint ones.

    Examples
    --------
    >>> from cospan import bhattacharyya
    >>> round(bhattacharyya([0.5, 0.5, 0.0], [0.0, 0.5, 0.5]), 3)
    0.5
    """
    return 1 - _missing(*as_histograms(P, Q))


def hellinger(P: ArrayLike, Q: ArrayLike) -> float:
    """Hellinger distance √(1 - BC), in [0, 1].

    Examples
    --------
    >>> from cospan import hellinger
    >>> hellinger([1.0, 0.0], [0.0, 1.0]), hellinger([0.5, 0.5], [0.5, 0.5])
    (1.0, 0.0)
    """
    return math.sqrt(_missing(*as_histograms(P, Q)))


def fisher_rao(P: ArrayLike, Q: ArrayLike) -> float:
    """Fisher-Rao distance 2 arccos BC: 0 for equal histograms, π for those without a common bin.

    Examples
    --------
    >>> from cospan import angle_histogram, fisher_rao
    >>> P, Q = (angle_histogram(np.radians(x), bins=3) for x in ([10, 40], [50, 80]))
    >>> round(fisher_rao(P, Q), 6)
    2.094395
    """
    return _arc(_missing(*as_histograms(P, Q)))


def overlap(P: ArrayLike, Q: ArrayLike) -> float:
    """Overlap coefficient Σ min(Pᵢ, Qᵢ): the mass that both histograms have in common."""
    return float(min(1.0, np.sum(np.minimum(*as_histograms(P, Q)))))


def rank_auc(a: Floats, b: Floats) -> float:
    """Chance that a random value of b exceeds one of a; ties count one half.

    >>> rank_auc(np.array([10, 20, 40]), np.array([40, 60]))
    0.9166666666666666
    """
    a = np.sort(a)
    twice = np.searchsorted(a, b, side="left") + np.searchsorted(a, b, side="right")
    return float(twice.sum() / (2 * a.size * b.size))


def _missing(p: Floats, q: Floats) -> float:
    """1 - BC as half the squared chord: of nearly equal histograms it keeps its digits."""
    return min(1.0, 0.5 * float(np.sum((np.sqrt(p) - np.sqrt(q)) ** 2)))


def _arc(missing: float) -> float:
    """2 arccos BC; the arccosine itself cannot resolve distances below 1e-8."""
    return min(math.pi, 4 * math.asin(math.sqrt(missing / 2)))


def bin_posterior(P: ArrayLike, Q: ArrayLike, prior: float = 0.5) -> Floats:
    """Probability of group A in each bin, πP / (πP + (1 - π)Q).

    `prior` is π, the share of A among the samples in question; NaN marks bins in which neither
    group was seen.

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

    0 when every bin belongs to one group. ``fisher_rao(P, Q)`` is 2 arccos of this over its value
    for equal histograms, √(π(1 - π)), whatever the prior π.

    Examples
    --------
    >>> from cospan import posterior_ambiguity
    >>> posterior_ambiguity([0.5, 0.5], [0.5, 0.5]), posterior_ambiguity([1, 0], [0, 1])
    (0.5, 0.0)
    """
    p, q = as_histograms(P, Q)
    posterior = np.nan_to_num(bin_posterior(p, q, prior))
    mixture = prior * p + (1 - prior) * q
    return float(np.sum(mixture * np.sqrt(posterior * (1 - posterior))))


def as_angles(theta: ArrayLike, name: str) -> Floats:
    """A flat float64 array of at least one angle, checked."""
    angles = _numbers(theta, name, "angles")
    low, high = float(angles.min()), float(angles.max())
    if not -ANGLE_ROUNDING <= low <= high <= math.pi / 2 + ANGLE_ROUNDING:
        raise InputError(
            f"{name} reaches from {low:.6g} to {high:.6g}, but angles lie in [0, π/2]: pass "
            "radians, not degrees."
        )
    return np.clip(angles, 0.0, math.pi / 2)


def as_histograms(P: ArrayLike, Q: ArrayLike) -> tuple[Floats, Floats]:
    """Two probability vectors of one length, checked, their sums made 1 to the last digit."""
    p, q = (_numbers(one, name, "probabilities") for one, name in ((P, "P"), (Q, "Q")))
    for one, name in ((p, "P"), (q, "Q")):
        if one.min() < 0:
            raise InputError(f"{name} holds a negative probability, {one.min():.6g}.")
        if abs(one.sum() - 1) > UNIT_SUM:
            raise InputError(f"{name} sums to {one.sum():.6g}: divide counts by their total.")
    if p.shape != q.shape:
        raise InputError(f"P has {p.size} bins and Q has {q.size}: give both the same bins.")
    return p / p.sum(), q / q.sum()


def _numbers(values: ArrayLike, name: str, kind: str) -> Floats:
    """One row of one or more finite numbers."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold {kind}, but cannot be read as numbers.") from error
    if array.ndim != 1 or not array.size:
        wrong = "is empty" if not array.size else f"has the shape {array.shape}"
        raise InputError(f"{name} {wrong}: pass one row of {kind}.")
    if not np.all(np.isfinite(array)):
        count = int(np.count_nonzero(~np.isfinite(array)))
        raise InputError(f"{name} holds {count} NaN or infinite values: drop them.")
    return array
