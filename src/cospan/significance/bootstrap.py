"""Bootstrap of two samples of angles: how far their measured separation may be from the truth.

The plain bootstrap misleads here. A histogram distance is biased: two samples of one distribution
never have equal histograms, and replicates of them lie further apart still, so percentiles of the
replicates miss the truth almost always. Three things cure it; the coverage is tested.

* The interval is turned over (the basic bootstrap): what replicates add to their source is taken
  off the measured value, on the scale of the squared Hellinger distance, where the bias adds up.
* The source has two pseudo-observations of the pooled sample in each group: otherwise a value
  that one group happened not to show could never appear there, and a perfect separation of ten
  angles would be certain.
* The interval is stretched to the measured value where it would leave it out.

Resampling with replacement draws counts from a multinomial distribution, so replicates are drawn
as counts over sorted cells of equal angles, all at once, and every measure is read off the same
counts. With very many angles, neighbours share a cell: the cost stays bounded.

Which of the two sets is called A must not matter: both samples are first brought to the one of
the two orientations that their angles decide (`oriented`), so that a pair has the same interval
whichever way round it is compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from cospan._types import Floats
from cospan.distribution import bin_index


@dataclass(frozen=True)
class Estimate:
    """A measured value with its confidence interval.

    Attributes
    ----------
    value : float
        As measured.
    low, high : float
        Ends of the interval.
    confidence : float
        How often such intervals hold the true value, 0.95 for instance.

    Examples
    --------
    >>> from cospan import Estimate
    >>> print(Estimate(0.8, 0.75, 0.84, 0.95))
    0.800 [0.750, 0.840]
    """

    value: float
    low: float
    high: float
    confidence: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


# Cells beyond this many change an interval in the fourth digit only.
MAX_CELLS = 1000
# Below two, gaps of small samples pass for true gaps; coverage hardly changes from two to five.
_PSEUDO_COUNTS = 2.0


class Measures(NamedTuple):
    """Measures of each replicate, minus those of the distributions they were drawn from.

    `distance` is the squared Hellinger distance of histograms, or Fisher-Rao of calibrated
    angles; `source_auc` is the AUC of the distributions themselves.
    """

    distance: Floats
    auc: Floats
    overlap: Floats
    source_auc: float


def oriented(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Angles of two sets, as they are or with the sets exchanged (θ becomes 90° - θ).

    The larger set comes first; of two equally large ones, that whose angles are nearer to an end.

    >>> a, b = np.array([0.2, 0.3]), np.array([1.0, 1.1, 1.2])
    >>> [x.round(2).tolist() for x in oriented(a, b)]
    [[0.57, 0.47, 0.37], [1.37, 1.27]]
    >>> again = oriented(math.pi / 2 - b, math.pi / 2 - a)
    >>> all(np.allclose(x, y) for x, y in zip(again, oriented(a, b)))
    True
    """
    keys = [(x.size, round(abs(float(np.mean(x)) - math.pi / 4), 9)) for x in (a, b)]
    return (math.pi / 2 - b, math.pi / 2 - a) if keys[1] > keys[0] else (a, b)


def spread(a: Floats, b: Floats, bins: int, n: int, rng: np.random.Generator) -> Measures:
    """How `n` replicates of two samples of angles stray from their source."""
    pooled = np.concatenate([a, b])
    position = position_of(pooled)
    # Both grow with the angle, so sorting by bin, then by position, keeps the angles' order.
    width = int(position.max()) + 1
    cells, cell = np.unique(bin_index(pooled, bins) * width + position, return_inverse=True)
    source, drawn = resample(cell, len(a), n, rng)
    starts = np.flatnonzero(np.diff(cells // width, prepend=-1))
    P, Q = (np.add.reduceat(part, starts, axis=1) for part in drawn)
    P0, Q0 = (np.add.reduceat(part, starts) for part in source)
    return Measures(
        _squared_hellinger(P, Q) - _squared_hellinger(P0, Q0),
        auc_of(*drawn) - auc_of(*source),
        np.sum(np.minimum(P, Q), axis=-1) - np.sum(np.minimum(P0, Q0)),
        float(auc_of(*source)),
    )


def auc_spread(a: Floats, b: Floats, n: int, rng: np.random.Generator) -> Floats:
    """How the AUC of `n` replicates of two samples of any values strays from its source."""
    _, cell = np.unique(position_of(np.concatenate([a, b])), return_inverse=True)
    source, drawn = resample(cell, len(a), n, rng)
    return auc_of(*drawn) - auc_of(*source)


def interval(value: float, strays: Floats, confidence: float) -> tuple[float, float]:
    """The basic bootstrap interval within [0, 1], stretched to hold the value."""
    tail = (1 - confidence) / 2
    below, above = np.quantile(strays, [1 - tail, tail])
    low, high = np.clip([value - below, value - above], 0.0, 1.0)
    return min(float(low), value), max(float(high), value)


def widened(strays: Floats, wider: float) -> Floats:
    """What replicates stray by, stretched about their mean."""
    middle = strays.mean()
    return np.asarray(middle + wider * (strays - middle))


def normal_interval(
    value: float, strays: Floats, confidence: float, wider: float, most: float = 1.0
) -> tuple[float, float]:
    """The value with `wider` times the replicates' spread on both sides, within [0, most].

    What replicates stray by on average lengthens the side that it points away from.
    """
    reach = wider * float(ndtri((1 + confidence) / 2)) * float(strays.std())
    bias = float(strays.mean())
    low, high = value - reach - max(bias, 0.0), value + reach - min(bias, 0.0)
    return max(low, 0.0), min(high, most)


def auc_interval(
    value: float, strays: Measures, confidence: float, wider: float
) -> tuple[float, float]:
    """The same on the scale of log-odds, where an AUC has no ends to run into.

    The spread on that scale is taken at the AUC of the replicates' source, and each end lies
    beyond both the source's and the measured AUC: a measured 1 has no log-odds of its own.
    """
    source = min(max(strays.source_auc, 0.0), 1.0)
    slope = source * (1 - source)
    if slope == 0:
        return value, value
    reach = wider * float(ndtri((1 + confidence) / 2)) * float(strays.auc.std()) / slope
    low, high = logit(min(value, source)) - reach, logit(max(value, source)) + reach
    return float(expit(low)), float(expit(high))


def arc_of(squared_hellinger: Floats) -> Floats:
    """Fisher-Rao of squared Hellinger distances: 2 arccos(1 - H²), with all digits."""
    return np.asarray(4 * np.arcsin(np.sqrt(np.clip(squared_hellinger, 0.0, 1.0) / 2)))


def position_of(pooled: Floats) -> NDArray[np.intp]:
    """Rank of each value among the distinct ones, or among cells of neighbours if too many."""
    distinct, rank = np.unique(pooled, return_inverse=True)
    if len(distinct) <= MAX_CELLS:
        return rank
    edges = np.quantile(pooled, np.linspace(0, 1, MAX_CELLS + 1)[1:-1])
    return np.searchsorted(edges, pooled, side="right")


def resample(
    cell: NDArray[np.intp], n_a: int, n: int, rng: np.random.Generator
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Shares of the cells in both sources, (cells,), and in n replicates of each, (n, cells)."""
    n_cells = int(cell.max()) + 1
    counts = [np.bincount(part, minlength=n_cells) for part in (cell[:n_a], cell[n_a:])]
    sizes = [int(count.sum()) for count in counts]
    pool = (counts[0] / sizes[0] + counts[1] / sizes[1]) / 2
    a, b = (
        (count + _PSEUDO_COUNTS * pool) / (size + _PSEUDO_COUNTS)
        for count, size in zip(counts, sizes, strict=True)
    )
    drawn_a, drawn_b = (
        rng.multinomial(size, source / source.sum(), size=n) / size
        for source, size in zip((a, b), sizes, strict=True)
    )
    return (a, b), (drawn_a, drawn_b)


def _squared_hellinger(P: Floats, Q: Floats) -> Floats:
    return np.asarray(np.sum((np.sqrt(P) - np.sqrt(Q)) ** 2, axis=-1) / 2)


def auc_of(a: Floats, b: Floats) -> Floats:
    """AUC of shares of sorted cells."""
    below = np.cumsum(a, axis=-1) - a / 2  # a tie counts one half
    return np.asarray(np.sum(below * b, axis=-1))
