"""How different two sets are: the AUC of the angle on rows that had no part in its fit.

Shown one row of each set, how often does the angle say rightly which is which? The rows are dealt
to folds; each fold is scored by a model of the others, and has an AUC of its own, since scores of
different models do not compare. The size is their mean. Its interval has DeLong's variance in each
fold, widened by Nadeau and Bengio's factor because the folds' models share most of their rows.

The paper compares histograms of angles instead. The square roots of two of them are points on a
sphere: Bhattacharyya's coefficient BC is their inner product, Hellinger's distance √(1 - BC) goes
straight from one to the other, Fisher's and Rao's 2 arccos BC along the arc.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from cospan.base.checks import as_confidence, as_count
from cospan.base.tolerance import ANGLE_ROUNDING, UNIT_SUM
from cospan.base.types import Floats
from cospan.errors import InputError

#: z of 95 %, two-sided.
TWO_SIDED = float(special.ndtri(0.975))


class Size(float):
    """An AUC with its interval: a number that compares as one.

    >>> size = Size(0.85, 0.8, 0.89)
    >>> size > 0.7, size.low, size.high
    (True, 0.8, 0.89)
    >>> print(size)
    0.850 (0.800 to 0.890)
    """

    low: float
    high: float

    def __new__(cls, value: float, low: float = math.nan, high: float = math.nan) -> Self:
        self = super().__new__(cls, value)
        self.low, self.high = low, high
        return self

    def __str__(self) -> str:
        return f"{float(self):.3f} ({self.low:.3f} to {self.high:.3f})"

    def to_dict(self) -> dict[str, float]:
        return {"value": float(self), "low": self.low, "high": self.high}


class Fold(NamedTuple):
    """Scores of one fold's rows, larger towards B; groups of rows that belong together."""

    a: Floats
    b: Floats
    groups_a: NDArray[np.intp] | None = None
    groups_b: NDArray[np.intp] | None = None


def size_of(folds: Sequence[Fold]) -> Size:
    """The mean AUC of the folds, with an interval on the logit scale.

    >>> rng = np.random.default_rng(0)
    >>> folds = [Fold(rng.normal(size=100), rng.normal(1, size=100)) for _ in range(5)]
    >>> size = size_of(folds)
    >>> round(float(size), 2), round(size.low, 2), round(size.high, 2)
    (0.75, 0.7, 0.79)
    """
    used = [fold for fold in folds if len(fold.a) and len(fold.b)]
    if not used:
        return Size(math.nan)
    found = np.array([delong(fold) for fold in used])
    auc = float(found[:, 0].mean())
    K = len(used)
    spread = math.sqrt(1 + K / (K - 1)) if K > 1 else 1.0
    error = spread * math.sqrt(found[:, 1].sum()) / K
    # One pair the other way round is the least that rows can show: its DeLong variance.
    pairs = sum(len(fold.a) for fold in used) * sum(len(fold.b) for fold in used)
    inside = min(max(auc, 1 / pairs), 1 - 1 / pairs) if pairs > 2 else 0.5
    least = spread * math.sqrt(2) / pairs
    error = max(error, least) / (inside * (1 - inside))
    ends = special.logit(inside) + TWO_SIDED * np.array([-error, error])
    low, high = special.expit(ends).tolist()
    return Size(auc, min(low, auc), max(high, auc))


def delong(fold: Fold) -> tuple[float, float]:
    """The AUC of one fold and its variance (DeLong); by groups as Obuchowski has it."""
    a, b = fold.a, fold.b
    above = _placements(a, b)  # of each row of A: the share of B above it
    below = 1 - _placements(b, a)
    auc = float(above.mean())
    if np.ptp(np.concatenate([a, b])) == 0:  # nothing was told apart: ranks by chance alone
        return auc, (len(a) + len(b) + 1) / (12 * len(a) * len(b))
    if fold.groups_a is None or fold.groups_b is None:
        parts = [values.var(ddof=1) / len(values) for values in (above, below) if len(values) > 1]
        return auc, float(sum(parts))
    groups = np.unique(np.concatenate([fold.groups_a, fold.groups_b]), return_inverse=True)[1]
    off = np.concatenate([(above - auc) / len(a), (below - auc) / len(b)])
    sums = np.bincount(groups, off)
    return auc, float(np.sum(sums**2) * len(sums) / max(1, len(sums) - 1))


def _placements(rows: Floats, others: Floats) -> Floats:
    """For each row the share of the others above it, equal ones by half."""
    order = np.sort(others)
    up_to = np.searchsorted(order, rows, "right")
    below = np.searchsorted(order, rows, "left")
    return np.asarray(1 - (below + up_to) / (2 * len(order)))


def rank_auc(a: Floats, b: Floats) -> float:
    """Chance that a random value of b exceeds one of a; ties count one half.

    >>> rank_auc(np.array([10, 20, 40]), np.array([40, 60]))
    0.9166666666666666
    """
    return float(_placements(a, b).mean())


@dataclass(frozen=True)
class Separation:
    """How far two groups of angles are apart."""

    auc: Size  # chance that a random angle of B exceeds a random angle of A
    fisher_rao: float  # in radians, up to π
    hellinger: float  # in [0, 1]
    overlap: float  # mass that both groups have in common
    n_a: int  # how many angles
    n_b: int


def separation(theta_a: ArrayLike, theta_b: ArrayLike, *, bins: int = 30) -> Separation:
    """Measure how far two groups of angles lie apart.

    Parameters
    ----------
    theta_a, theta_b
        Angles in radians, of rows that the frame was not fitted to.
    bins
        Of the two histograms that Fisher-Rao, Hellinger and the overlap are about, as in the paper.
        The AUC needs none.

    Examples
    --------
    >>> from cospan import separation
    >>> rng = np.random.default_rng(0)
    >>> found = separation(rng.uniform(0.0, 0.9, 200), rng.uniform(0.6, 1.5, 200))
    >>> round(float(found.auc), 2), found.auc.low < found.auc < found.auc.high
    (0.93, True)
    """
    a, b = as_angles(theta_a, "theta_a"), as_angles(theta_b, "theta_b")
    P, Q = angle_histogram(a, bins), angle_histogram(b, bins)
    apart = fisher_rao(P, Q), hellinger(P, Q), overlap(P, Q)
    return Separation(size_of([Fold(a, b)]), *apart, a.size, b.size)


# ---- histograms of angles ----------------------------------------------------------------------


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
    # By the chord: the arccosine itself cannot resolve distances below 1e-8.
    return min(math.pi, 4 * math.asin(math.sqrt(_missing(*as_histograms(P, Q)) / 2)))


def overlap(P: ArrayLike, Q: ArrayLike) -> float:
    """Overlap coefficient Σ min(Pᵢ, Qᵢ): the mass that both histograms have in common."""
    return float(min(1.0, np.sum(np.minimum(*as_histograms(P, Q)))))


def _missing(p: Floats, q: Floats) -> float:
    """1 - BC as half the squared chord: of nearly equal histograms it keeps its digits."""
    return min(1.0, 0.5 * float(np.sum((np.sqrt(p) - np.sqrt(q)) ** 2)))


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
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        raise InputError(
            f"{name} must be one row of {kind}, not empty and without NaN or infinity."
        )
    return array
