"""How many labels are flipped, and which ones: a likelihood of a mislabel.

A row x belongs to class t with the probability q_t(x). Its label is t with the probability 1-ε_t,
and any other with ε_t/(K-1). So the label y is seen with the probability

    (1-ε_y) q_y + Σ ε_t q_t/(K-1)  over t ≠ y        and is a flip, given that, by the sum's share

The q are those of the audited probabilities p with a gain and offsets of their own,
q_k ∝ exp(gain·log p_k + bias_k): flips blur p, and the gain undoes that. Gain, biases and rates
are a maximum-likelihood fit: no flips, one rate for all classes, or (sick people filed as healthy,
never the other way round) a rate for each, where that explains the labels clearly better. Classes
that overlap are fitted as well without flips: the rates come out near 0, and nothing stands out.

Two cases the likelihood cannot decide, since flips and overlap explain the labels equally well:

- Two classes with a wide empty gap between them. Whether every tenth row of a cluster has the
  other label by a slip or by nature, the labels alone do not say; but classes that overlap leave no
  gap, so rows on the far side of one are flips.
- Many flips among classes that overlap anyway. Where a label hangs on things the columns do not
  show, its probability levels off far from 0 and 1, just as flips would have it. So a rate above
  an eighth counts only where hardly any other row is on the wrong side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc, softmax

from cospan.base.tolerance import NOT_ZERO
from cospan.base.types import Floats, Index

# By chance alone this share of clean sets shows flips at one rate, and this share rates of their
# own for the classes.
_CHANCE, _CHANCE_OWN = 0.05, 0.02
# Above this there is no telling which labels are the right ones.
_LEAST_RATE, _LARGEST_RATE = 1e-6, 0.4
# Above this, flips count only where at most so many other rows are on the wrong side.
_MANY, _FEW_OTHERS = 0.12, 0.03
# An empty gap between two classes: in units of the spread of both, and how far apart they are.
_GAP, _APART = 0.5, 4.0
# Logarithm of the odds at the edges of such a gap: next to certain.
_SURE = 12.0
# Far more steps than the rates of new rows need to settle to three digits.
_STEPS = 200
# Rows that the rates are fitted to, at most: ten thousand give them to a fifth of a per cent.
_MOST_ROWS = 10_000
# Gains, as multiples of the clean fit's, and rates to start from: flips hide how steep the
# probabilities are, and there may be a second minimum near the clean fit.
_STARTS = ((1.2, 0.02), (1.6, 0.05), (2.5, 0.1))
#: Rates to start from where all flips come from one class: of this one, and of the others.
_ONE_CLASS = (0.1, 1e-3)


class Flips(NamedTuple):
    """What was found out about flipped labels."""

    rates: Floats  # (K,): the share of each true class's labels that are flipped
    gain: float
    biases: Floats  # (K,): the first is 0

    def probabilities(self, weights: Floats) -> Floats:
        """(n, K): the probability of each true class, whatever the label says."""
        return np.asarray(softmax(self.gain * _logarithms(weights) + self.biases, axis=1))

    def mislabelled(self, weights: Floats, own: Index) -> Floats:
        """(n,): the probability that a row's label is flipped."""
        joint = self.probabilities(weights) * _label_given(self.rates, own)
        total = joint.sum(axis=1)
        joint[np.arange(len(own)), own] = 0
        other, none = joint.sum(axis=1), np.zeros(len(own))
        return np.asarray(np.divide(other, total, out=none, where=total > 0))

    def rate(self, weights: Floats) -> float:
        """The share of flipped labels among rows of these weights, whatever their labels."""
        return float((self.probabilities(weights) @ self.rates).mean()) if len(weights) else 0.0


def fit_flips(weights: Floats, own: Index) -> Flips:
    """Estimate the rates of flips and the probabilities behind them.

    `weights` (n, K) are the probabilities of the classes, every row left out of its own, and `own`
    (n,) the numbers of the rows' classes, as labelled.

    >>> lean = np.append(np.linspace(0.001, 0.5, 50), np.linspace(0.5, 0.999, 50))
    >>> own = np.repeat([0, 1], 50)
    >>> weights = np.column_stack([1 - lean, lean])
    >>> fit_flips(weights, own).rate(weights)
    0.0
    >>> own[[3, 95]] = 1, 0
    >>> flips = fit_flips(weights, own)
    >>> np.flatnonzero(flips.mislabelled(weights, own) > 0.5).tolist()
    [3, 95]
    """
    K = weights.shape[1]
    step = -(-len(own) // _MOST_ROWS) or 1
    own, x = own[::step], _logarithms(weights[::step])
    x = x - x.mean(axis=1, keepdims=True)
    middle = x.mean(axis=0)
    size = float(np.sqrt(np.square(x - middle).sum(axis=1).mean())) if len(x) else 0.0
    if K == 1 or not size > 0:
        return Flips(np.zeros(K), 1.0, np.zeros(K))
    if K == 2 and (across := _across_a_gap(x[:, 1] - x[:, 0], own)) is not None:
        return across
    found = _explained((x - middle) / size, own, np.append(size, middle[1:] - middle[0]))
    gain = float(found[0]) / size
    biases = np.append(0.0, found[1:K]) - gain * middle
    flips = Flips(_rates_of(found, K), gain, biases - biases[0])
    rate, wrong = flips.rate(weights), float(np.mean(x.argmax(axis=1) != own))
    if rate > _MANY and wrong - rate > _FEW_OTHERS:
        return flips._replace(rates=np.zeros(K))
    return flips


def fit_rates(weights: Floats, own: Index, known: Flips) -> Flips:
    """The rates of flips among other rows, whose classes are known from before."""
    n, K = weights.shape
    q, rates = known.probabilities(weights), np.full(K, _STARTS[1][1])
    for _ in range(_STEPS if n and K > 1 else 0):  # expectation and maximisation
        joint = q * _label_given(rates, own)
        joint /= np.maximum(joint.sum(axis=1, keepdims=True), NOT_ZERO)
        members = np.maximum(joint.sum(axis=0), NOT_ZERO)
        joint[np.arange(n), own] = 0
        rates = np.minimum(joint.sum(axis=0) / members, _LARGEST_RATE)
    gained = 2 * float(np.sum(np.log(_seen(q, own, rates) / _seen(q, own, np.zeros(K)))))
    return known._replace(rates=rates if _chance_of(gained, K) < _CHANCE else np.zeros(K))


def _across_a_gap(odds: Floats, own: Index) -> Flips | None:
    """What rows on the far side of an empty gap say; None where there is no such gap.

    `odds` are logarithms: below 0 for the first class, above for the second.
    """
    second = odds > 0
    if second.all() or not second.any():
        return None
    sides = odds[~second], odds[second]
    edges = float(sides[0].max()), float(sides[1].min())
    middles = [float(np.median(side)) for side in sides]
    # Of a normal distribution the median distance from the median is 1/1.4826 sd.
    spread = 1.4826 * sum(
        float(np.median(np.abs(side - middle))) for side, middle in zip(sides, middles, strict=True)
    )
    wide = edges[1] - edges[0] >= _GAP * spread and middles[1] - middles[0] >= _APART * spread
    rates = np.array([np.mean(own[second == k] != k) for k in (0, 1)])
    if not (wide and spread > 0) or rates.max() > _LARGEST_RATE:
        return None
    gain = 2 * _SURE / (edges[1] - edges[0])
    return Flips(rates, gain, np.array([0.0, -gain * (edges[0] + edges[1]) / 2]))


# ---- the likelihood -----------------------------------------------------------------------------


def _explained(z: Floats, own: Index, start: Floats) -> Floats:
    """The simplest of three fits that explains the labels: no flips, one rate, a rate each."""
    n, K = z.shape
    clean, surprise = _best_fit(z, own, [start])
    one = [[steeper * clean[0], *clean[1:], math.log(guess)] for steeper, guess in _STARTS]
    shared, with_one = _best_fit(z, own, one)
    # All flips come from one class, or from each its share.
    guesses = np.log(np.where(np.eye(K, dtype=bool), *_ONE_CLASS))
    each = [[_STARTS[1][0] * clean[0], *clean[1:], *rates] for rates in guesses]
    apart, with_each = _best_fit(z, own, [*each, [*shared[:K], *[shared[K]] * K]])
    best, less, more = clean, surprise, K
    if _chance_of(2 * n * (surprise - with_one), 1) < _CHANCE:
        best, less, more = shared, with_one, K - 1
    return apart if _chance_of(2 * n * (less - with_each), more) < _CHANCE_OWN else best


def _best_fit(z: Floats, own: Index, starts: Sequence[ArrayLike]) -> tuple[Floats, float]:
    """Gain, biases and (where the starts have them) log rates of the best fit; its surprise."""
    from scipy.optimize import minimize  # slow to import

    K, found = z.shape[1], []
    for start in map(np.asarray, starts):
        rates = [(math.log(_LEAST_RATE), math.log(_LARGEST_RATE))] * (len(start) - K)
        bounds = [(0.0, None), *[(None, None)] * (K - 1), *rates]
        x = minimize(_surprise, start, (z, own), jac=True, method="L-BFGS-B", bounds=bounds).x
        q = softmax(x[0] * z + np.append(0.0, x[1:K]), axis=1)
        found.append((np.asarray(x), -float(np.log(_seen(q, own, _rates_of(x, K))).mean())))
    return min(found, key=lambda one: one[1])


def _surprise(parameters: Floats, z: Floats, own: Index) -> tuple[float, Floats]:
    """Mean of -log P(label), smoothed, and its gradient."""
    n, K = z.shape
    rates = _rates_of(parameters, K)
    q = softmax(parameters[0] * z + np.append(0.0, parameters[1:K]), axis=1)
    given = _label_given(rates, own)
    seen = np.maximum(np.sum(q * given, axis=1), NOT_ZERO)
    # A trace of the other classes at every row, one row's worth in all, keeps the gain of
    # separate classes finite, as smoothed targets do in a calibration.
    trace = 1 / ((n + K) * (K - 1))
    logs = np.log(np.maximum(q, NOT_ZERO))
    value = -(1 - K * trace) * np.log(seen).mean() - trace * logs.sum(axis=1).mean()
    # d seen/d score_k = q_k (P(label | k) - seen)
    by_score = -(1 - K * trace) * q * (given / seen[:, None] - 1) + trace * (K * q - 1)
    by_rate = q / ((K - 1) * seen[:, None])
    rows = np.arange(n)
    by_rate[rows, own] = -q[rows, own] / seen
    by_rate = -(1 - K * trace) * by_rate.sum(axis=0) * rates
    extra = len(parameters) - K
    of_rates = [by_rate.sum()] if extra == 1 else by_rate[:extra].tolist()
    gradient = [np.sum(by_score * z), *by_score[:, 1:].sum(axis=0), *of_rates]
    return float(value), np.array(gradient) / n


def _rates_of(parameters: Floats, K: int) -> Floats:
    """(K,): none, one for all or one for each class."""
    rates = np.exp(parameters[K:]) if len(parameters) > K else np.zeros(1)
    return np.array(np.broadcast_to(rates, (K,)))


def _label_given(rates: Floats, own: Index) -> Floats:
    """(n, K): the probability of each row's label, had it been a row of class k."""
    given = np.tile(rates / max(len(rates) - 1, 1), (len(own), 1))
    given[np.arange(len(own)), own] = 1 - rates[own]
    return np.asarray(given)


def _seen(q: Floats, own: Index, rates: Floats) -> Floats:
    """The probability of each row's label."""
    return np.asarray(np.maximum(np.sum(q * _label_given(rates, own), axis=1), NOT_ZERO))


def _chance_of(gained: float, rates: int) -> float:
    """Chance that as many rates, none of which can be negative, gain that much for nothing.

    Each is at its end, 0, with a chance of one half: chi-squares of 0 to `rates` degrees, mixed.
    """
    if gained <= 0:
        return 1.0
    mixed = [math.comb(rates, j) * float(gammaincc(j / 2, gained / 2)) for j in range(1, rates + 1)]
    return math.ldexp(math.fsum(mixed), -rates)


def _logarithms(weights: Floats) -> Floats:
    return np.log(np.maximum(weights, NOT_ZERO))
