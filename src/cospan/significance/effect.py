"""How well the set of a new row can be guessed: the AUC on rows that had no part in the fit.

Both sets are halved. Each half picks the view that tells its own quarters apart best, and scores
the rows of the other half by that view's witness, the direction in which its two means part. The
effect is the mean of the two AUCs, and estimates the mean of the AUCs that these two scores have
on new rows of A and B.

Other halves of the same rows would give another value, half as far off as other rows would: so
the sets are halved several times and the mean is taken. The features are computed once.

Its interval has to know that the two AUCs are not independent. With nothing to tell, both say
whether chance made the two halves' differences point the same way, and are as good as one; with
much to tell, both scores are the same function, each tested on rows of its own. In between, the
correlation of the AUCs is 1 minus the correlation of the two scores: for means with covariance Σ,
a true difference δ and estimates δ + ε₁, δ + ε₂ of it, the first is tr Σ²/(δᵀΣδ + tr Σ²) and the
second δᵀΣδ/(δᵀΣδ + tr Σ²).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cospan._types import Bools, Floats, Index
from cospan.distribution import rank_auc
from cospan.significance.bootstrap import Estimate, auc_spread, interval
from cospan.significance.views import Coordinates, views_with_features, witness

# Replicates behind the interval of the effect: its ends are good to a hundredth of its width.
_REPLICATES = 400
# How often the sets are halved. What the halves add to the error of the mean is below a quarter of
# it, so that ten seeds agree within one interval; one split alone would often leave it.
SPLITS = 8


def held_out_effect(
    at: Coordinates,
    rows: Floats,
    in_a: Bools,
    quarter: Index,
    confidence: float,
    rng: np.random.Generator,
) -> Estimate:
    """AUC on held-out rows, 0.5 = no better than chance, with its interval.

    `quarter` is one split, (n,), or several, (splits, n). More of them steady the value; the
    interval is as wide as that of one.
    """
    splits = np.atleast_2d(quarter)
    scores = cross_fit(at, rows, in_a, splits)
    halves = [_tested(*one, in_a) for one in zip(scores, splits, strict=True)]
    values = [float(np.mean([rank_auc(a, b) for a, b in both])) for both in halves]
    strays = [auc_spread(a, b, _REPLICATES, rng) for a, b in halves[0]]
    value = float(np.mean(values))
    mean_stray = (strays[0] + strays[1]) / 2
    deviations = [stray.std() for stray in strays]
    both = deviations[0] ** 2 + deviations[1] ** 2
    correlation = 1 - max(0.0, float(np.mean([_within(one, in_a) for one in scores])))
    if both > 0:
        mean_stray = mean_stray * np.sqrt(
            1 + 2 * correlation * deviations[0] * deviations[1] / both
        )
    return Estimate(value, *interval(value, mean_stray, confidence), confidence)


def _tested(scores: Floats, quarter: Index, in_a: Bools) -> list[tuple[Floats, Floats]]:
    """Scores of the rows of A and of B that had no part in them, by each half."""
    return [
        (scores[tested & in_a, half], scores[tested & ~in_a, half])
        for half in (0, 1)
        for tested in [quarter // 2 != half]
    ]


def quarters(places: NDArray[np.int8], rng: np.random.Generator) -> Index:
    """A quarter, 0 to 3, for every unit, so that A and B both have rows in each.

    In the order A alone, both, B alone, each set is one run: dealt out in turn, four are enough.
    """
    order = np.lexsort((rng.permutation(len(places)), np.array([0, 2, 1])[places]))
    quarter = np.empty(len(places), dtype=np.intp)
    quarter[order] = np.resize([0, 2, 1, 3], len(places))
    return quarter


def cross_fit(at: Coordinates, rows: Floats, in_a: Bools, splits: Index) -> Floats:
    """Scores of all rows by the first half's view and witness, and by the second's.

    (splits, n, 2) for `splits` of shape (splits, n). Rows of a negative quarter are scored and
    have no part in any choice.
    """
    parts = [_parts(quarter) for quarter in splits]
    contrasts = np.array([_contrast(part, in_a) for one in parts for part in one])
    best = np.full((len(splits), 2), -1.0)
    chosen = np.empty((len(splits), len(rows), 2))
    for view in views_with_features(at):
        scores = witness(view, at, rows, contrasts)
        for k, one in enumerate(parts):
            by_part = scores[:, len(one) * k :]
            for half in (0, 1):
                ordered = sum(
                    rank_auc(*(by_part[one[tested] & member, fitted] for member in (in_a, ~in_a)))
                    for fitted, tested in ((2 * half, 2 * half + 1), (2 * half + 1, 2 * half))
                )
                if ordered > best[k, half]:
                    best[k, half], chosen[k, :, half] = ordered, by_part[:, 4 + half]
    return chosen


def _parts(quarter: Index) -> list[Bools]:
    """The rows of each quarter, and of each half."""
    single = [quarter == k for k in range(4)]
    return [*single, single[0] | single[1], single[2] | single[3]]


def _contrast(part: Bools, in_a: Bools) -> Floats:
    a, b = part & in_a, part & ~in_a
    return np.asarray(a / np.count_nonzero(a) - b / np.count_nonzero(b))


def _within(scores: Floats, in_a: Bools) -> float:
    """Correlation of the two scores within the sets; 0 if one of them is constant."""
    centred = scores.copy()
    for member in (in_a, ~in_a):
        centred[member] -= centred[member].mean(axis=0)
    length = np.sqrt(np.sum(centred**2, axis=0))
    if np.any(length == 0):
        return 0.0
    return float(centred[:, 0] @ centred[:, 1] / (length[0] * length[1]))
