"""How different two sets are: the AUC of the angle on rows that had no part in its fit.

Shown one row of each set, how often does the angle say rightly which is which? The rows are dealt
to folds; each fold is scored by a model of the others, and has an AUC of its own, since scores of
different models do not compare. The size is their mean. Its interval has DeLong's variance in each
fold, widened by Nadeau and Bengio's factor because the folds' models share most of their rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from cospan.base.types import Floats

from .distances import angle_histogram, as_angles, fisher_rao, hellinger, overlap

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
