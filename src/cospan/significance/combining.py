"""One p-value out of several views of the same relabellings, and Holm's adjustment.

Each view's statistic is turned into a tail probability by a gamma distribution with the mean,
variance and skewness of the view's other values, those of all labellings but its own; the views
are then combined by the weighted harmonic mean of those probabilities. Nothing hangs on the gamma
being right: the combination is computed for every labelling in the same way, and the p-value is
the rank of the true labels' among them. A good fit only makes the views comparable far out in the
tails, where ranks among 999 cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import gammaincc

from cospan._tolerance import LEAST_VARIANCE, SAME_STATISTIC, SMALLEST_TAIL
from cospan._types import Floats

# A gamma distribution with less skewness is a normal one; with more, it has no body left.
_SKEWNESS = (0.05, 6.0)
# With fewer values, three moments of the others are no better than guesses.
_FEWEST = 8


def standardise(values: Floats) -> Floats:
    """In standard deviations of all values: all entries alike, so that ranks stay fair."""
    deviation = values.std()
    if deviation <= SAME_STATISTIC * np.abs(values).max():
        return np.zeros_like(values)
    return np.asarray((values - values.mean()) / deviation)


def combine(views: Mapping[str, Floats], weights: Mapping[str, float]) -> Floats:
    """-log10 of the weighted harmonic mean of the views' tail probabilities, per labelling."""
    total = sum(weights[name] / _tail(values) for name, values in views.items())
    return np.asarray(np.log10(total / sum(weights[name] for name in views)))


def _tail(values: Floats) -> Floats:
    """Probability of a larger value under gamma distributions with moments of the other values.

    Of the others: far out, a value would widen the very distribution that it is judged by.
    """
    z, n = standardise(values), len(values)
    if n < _FEWEST:
        mean, deviation, skewness = np.zeros(n), np.ones(n), np.full(n, np.mean(z**3))
    else:
        powers = [(np.sum(z**k) - z**k) / (n - 1) for k in (1, 2, 3)]
        mean = powers[0]
        variance = np.maximum(powers[1] - mean**2, LEAST_VARIANCE)
        deviation = np.sqrt(variance)
        skewness = (powers[2] - 3 * mean * powers[1] + 2 * mean**3) / deviation**3
    shape = 4 / np.clip(skewness, *_SKEWNESS) ** 2
    tail = gammaincc(shape, np.maximum(shape + (z - mean) / deviation * np.sqrt(shape), 0))
    return np.asarray(np.maximum(tail, SMALLEST_TAIL), dtype=np.float64)


def rank_pvalue(values: Floats) -> float:
    """Share of the labellings whose value reaches that of the true labels, the first."""
    reached = values >= values[0] - SAME_STATISTIC * max(abs(float(values[0])), 1.0)
    return float(np.count_nonzero(reached)) / len(values)


def holm(pvalues: Mapping[str, float]) -> dict[str, float]:
    """p-values that may all be read at once (Holm): none is falsely small in 95 % of the cases.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    order = sorted(pvalues, key=lambda name: pvalues[name])
    adjusted: dict[str, float] = {}
    least = 0.0
    for rank, name in enumerate(order):
        least = max(least, min(1.0, (len(order) - rank) * pvalues[name]))
        adjusted[name] = least
    return {name: adjusted[name] for name in pvalues}
