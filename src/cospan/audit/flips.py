"""How many labels are flipped, and which ones: a likelihood of a mislabel.

A row x belongs to class t with the probability q_t(x). Its label is t with the probability 1-ε_t,
and any other with ε_t/(K-1). So the label y is seen with the probability

    (1-ε_y) q_y + Σ ε_t q_t/(K-1)  over t ≠ y        and is a flip, given that, by the sum's share

The q are those of the audited probabilities p with a gain and offsets of their own,
q_k ∝ exp(gain·log p_k + bias_k): flips blur p, and the gain undoes that. Gain, biases and rates
are a maximum-likelihood fit. Classes that overlap are fitted as well without flips: their rows on
the wrong side are what q leads one to expect, the rates come out near 0, and nothing stands out.

One rate for all classes is tried first. Labels can also be flipped in one direction only, such as
sick people filed as healthy: then no common rate fits, and each class has its own, if that
explains the labels clearly better.

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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import gammaincc, softmax

from cospan.base.tolerance import NOT_ZERO
from cospan.base.types import Floats
from cospan.distribution import rank_auc

# By chance alone this share of clean sets shows flips at one rate, and this share rates of their
# own for the classes.
_CHANCE, _CHANCE_OWN = 0.05, 0.02
# Above this there is no telling which labels are the right ones.
_LARGEST_RATE = 0.4
# Above this, flips count only where at most so many other rows are on the wrong side.
_MANY, _FEW_OTHERS = 0.12, 0.03
# An empty gap between two classes: in units of the spread of both, and how far apart they are.
_GAP, _APART = 0.5, 4.0
# Logarithm of the odds at the edges of such a gap: next to certain.
_SURE = 12.0
_LOG_RATES = (math.log(1e-6), math.log(_LARGEST_RATE))
# Far more steps than one rate needs to settle to three digits.
_STEPS = 200
# Rows that the rates are fitted to, at most: ten thousand give them to a fifth of a per cent.
_MOST_ROWS = 10_000
_STARTS = ((1.2, 0.02), (1.6, 0.05), (2.5, 0.1))


class Flips(NamedTuple):
    """What was found out about flipped labels."""

    #: (K,): ε of each true class: the share of its labels that are flipped; 0 without evidence for
    #: any
    rates: Floats
    gain: float
    biases: Floats  # (K,): the first is 0

    def probabilities(self, weights: Floats) -> Floats:
        """(n, K): the probability of each true class, whatever the label says."""
        return np.asarray(softmax(self.gain * _logarithms(weights) + self.biases, axis=1))

    def mislabelled(self, weights: Floats, own: NDArray[np.intp]) -> Floats:
        """(n,): the probability that a row's label is flipped."""
        if not self.rates.any():
            return np.zeros(len(own))
        q = self.probabilities(weights)
        joint = q * _label_given(self.rates, own)
        total = joint.sum(axis=1)
        joint[np.arange(len(own)), own] = 0
        other = joint.sum(axis=1)
        return np.asarray(np.divide(other, total, out=np.zeros(len(own)), where=total > 0))

    def rate(self, weights: Floats) -> float:
        """The share of flipped labels among rows of these weights, whatever their labels."""
        return float((self.probabilities(weights) @ self.rates).mean()) if len(weights) else 0.0


def fit_flips(weights: Floats, own: NDArray[np.intp]) -> Flips:
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
    >>> round(flips.rate(weights), 2)
    0.02
    >>> np.flatnonzero(flips.mislabelled(weights, own) > 0.5).tolist()
    [3, 95]
    """
    K = weights.shape[1]
    if K == 1:
        return Flips(np.zeros(1), 1.0, np.zeros(1))
    step = -(-len(own) // _MOST_ROWS) or 1
    own, x = own[::step], _logarithms(weights[::step])
    x = x - x.mean(axis=1, keepdims=True)
    middle = x.mean(axis=0)
    size = float(np.sqrt(np.square(x - middle).sum(axis=1).mean())) if len(x) else 0.0
    if not size > 0:
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


def _across_a_gap(odds: Floats, own: NDArray[np.intp]) -> Flips | None:
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
    if edges[1] - edges[0] < _GAP * spread or middles[1] - middles[0] < _APART * spread:
        return None
    rates = np.array([np.mean(own[second == k] != k) for k in (0, 1)])
    if not spread > 0 or rates.max() > _LARGEST_RATE:
        return None
    gain = 2 * _SURE / (edges[1] - edges[0])
    return Flips(rates, gain, np.array([0.0, -gain * (edges[0] + edges[1]) / 2]))


def _explained(z: Floats, own: NDArray[np.intp], start: Floats) -> Floats:
    """The simplest of three fits that explains the labels: no flips, one rate, a rate each."""
    n, K = z.shape
    clean, surprise = _fitted(z, own, start)
    # Flips hide how steep the probabilities are: start from steeper ones. There may be a second
    # minimum near the clean fit, so from more than one place.
    one = [[steeper * clean[0], *clean[1:], math.log(guess)] for steeper, guess in _STARTS]
    shared, with_one = min((_fitted(z, own, np.array(x)) for x in one), key=lambda x: x[1])
    best, less = clean, surprise
    if _chance_of(2 * n * (surprise - with_one), 1) < _CHANCE:
        best, less = shared, with_one
    # All flips come from one class, or from each its share.
    guesses = [[0.1 if t == k else 1e-3 for t in range(K)] for k in range(K)]
    each = [[1.6 * clean[0], *clean[1:], *np.log(rates)] for rates in guesses]
    each.append([*shared[:K], *[shared[K]] * K])
    apart, with_each = min((_fitted(z, own, np.array(x)) for x in each), key=lambda x: x[1])
    more = K - 1 if best is shared else K
    return apart if _chance_of(2 * n * (less - with_each), more) < _CHANCE_OWN else best


def _chance_of(gained: float, rates: int) -> float:
    """Chance that as many rates, none of which can be negative, gain that much for nothing.

    Each is at its end, 0, with a chance of one half: chi-squares of 0 to `rates` degrees, mixed.
    """
    if gained <= 0:
        return 1.0
    mixed = [math.comb(rates, j) * float(gammaincc(j / 2, gained / 2)) for j in range(1, rates + 1)]
    return math.ldexp(math.fsum(mixed), -rates)


def fit_rate(weights: Floats, own: NDArray[np.intp], known: Flips) -> Flips:
    """The rates of flips among other rows, whose classes are known from before."""
    n, K = weights.shape
    if K == 1 or not n:
        return known._replace(rates=np.zeros(K))
    q = known.probabilities(weights)
    rows = np.arange(n)
    rates = np.full(K, 0.05)
    for _ in range(_STEPS):  # expectation and maximisation
        joint = q * _label_given(rates, own)
        joint /= np.maximum(joint.sum(axis=1, keepdims=True), NOT_ZERO)
        members = np.maximum(joint.sum(axis=0), NOT_ZERO)
        joint[rows, own] = 0
        rates = np.minimum(joint.sum(axis=0) / members, _LARGEST_RATE)
    gained = 2 * float(np.sum(np.log(_seen(q, own, rates) / _seen(q, own, np.zeros(K)))))
    return known._replace(rates=rates if _chance_of(gained, K) < _CHANCE else np.zeros(K))


def _fitted(z: Floats, own: NDArray[np.intp], start: Floats) -> tuple[Floats, float]:
    """Gain, biases and (where `start` has them) log rates of the best fit; its mean surprise."""
    K = z.shape[1]
    bounds = [(0.0, None)] + [(None, None)] * (K - 1) + [_LOG_RATES] * (len(start) - K)
    found = minimize(_surprise, start, (z, own), jac=True, method="L-BFGS-B", bounds=bounds)
    q = softmax(found.x[0] * z + np.append(0.0, found.x[1:K]), axis=1)
    return np.asarray(found.x), -float(np.log(_seen(q, own, _rates_of(found.x, K))).mean())


def _rates_of(parameters: Floats, K: int) -> Floats:
    """(K,): none, one for all or one for each class."""
    rates = np.exp(parameters[K:]) if len(parameters) > K else np.zeros(1)
    return np.array(np.broadcast_to(rates, (K,)))


def _surprise(parameters: Floats, z: Floats, own: NDArray[np.intp]) -> tuple[float, Floats]:
    """Mean of -log P(label), smoothed, and its gradient."""
    n, K = z.shape
    rates = _rates_of(parameters, K)
    q = softmax(parameters[0] * z + np.append(0.0, parameters[1:K]), axis=1)
    given = _label_given(rates, own)
    seen = np.maximum(np.sum(q * given, axis=1), NOT_ZERO)
    # A trace of the other classes at every row, one row's worth in all, keeps the gain of
    # separate classes finite, as smoothed targets do in `sets.calibration`.
    trace = 1 / ((n + K) * (K - 1))
    logs = np.log(np.maximum(q, NOT_ZERO))
    value = -(1 - K * trace) * np.log(seen).mean() - trace * logs.sum(axis=1).mean()
    # d seen/d score_k = q_k (P(label | k) - seen)
    by_score = -(1 - K * trace) * q * (given / seen[:, None] - 1) + trace * (K * q - 1)
    by_rate = q / ((K - 1) * seen[:, None])
    rows = np.arange(n)
    by_rate[rows, own] = -q[rows, own] / seen
    by_rate = -(1 - K * trace) * by_rate.sum(axis=0) * rates
    gradient = [np.sum(by_score * z), *by_score[:, 1:].sum(axis=0)]
    extra = len(parameters) - K
    gradient += [by_rate.sum()] if extra == 1 else by_rate[:extra].tolist()
    return float(value), np.array(gradient) / n


def _label_given(rates: Floats, own: NDArray[np.intp]) -> Floats:
    """(n, K): the probability of each row's label, had it been a row of class k."""
    given = np.tile(rates / max(len(rates) - 1, 1), (len(own), 1))
    given[np.arange(len(own)), own] = 1 - rates[own]
    return np.asarray(given)


def _seen(q: Floats, own: NDArray[np.intp], rates: Floats) -> Floats:
    """The probability of each row's label."""
    return np.asarray(np.maximum(np.sum(q * _label_given(rates, own), axis=1), NOT_ZERO))


def _logarithms(weights: Floats) -> Floats:
    return np.log(np.maximum(weights, NOT_ZERO))


# Standard errors above chance. The shrinkage was chosen to separate the classes, so the AUC of
# meaningless labels spreads a little more than it should: 1 % of such pairs reach 3.
_ERRORS_ABOVE_CHANCE = 3.0


def separates(weights: Floats, own: NDArray[np.intp], i: int, j: int) -> bool:
    """Do left-out rows of classes i and j lean to their own class more than by chance?

    Judged by the AUC of the weights of the two against its standard error under chance. Classes of
    two or three rows never pass; where one has no rows, nothing is known against them.

    >>> own = np.repeat([0, 1], 10)
    >>> lean = np.where(own == 1, 0.8, 0.3)
    >>> separates(np.column_stack([1 - lean, lean]), own, 0, 1)
    True
    >>> separates(np.full((20, 2), 0.5), own, 0, 1)
    False
    """
    rows_i, rows_j = weights[own == i], weights[own == j]
    n_i, n_j = len(rows_i), len(rows_j)
    if not n_i or not n_j:
        return True
    auc = rank_auc(_lean(rows_i, i, j), _lean(rows_j, i, j))
    error = math.sqrt((n_i + n_j + 1) / (12 * n_i * n_j))
    return auc > 0.5 + _ERRORS_ABOVE_CHANCE * error


def _lean(rows: Floats, i: int, j: int) -> Floats:
    """w_j / (w_i + w_j): how much more class j explains each row than class i."""
    both = rows[:, i] + rows[:, j]
    even = np.full(len(rows), 0.5)
    return np.asarray(np.divide(rows[:, j], both, out=even, where=both > 0))
