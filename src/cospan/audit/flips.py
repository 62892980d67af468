"""How many labels are flipped, and which ones: a likelihood of a mislabel.

A row x belongs to class t with the probability q_t(x), and its label is t with the probability
1-ε, any other with ε/(K-1). So the label y is seen with the probability

    (1-ε) q_y + ε (1-q_y)/(K-1)           and is a flip, given that, with  ε (1-q_y)/(K-1)  over it

The q are those of the audited probabilities p with a gain and offsets of their own,
q_k ∝ exp(gain·log p_k + bias_k): flips blur p, and the gain undoes that. Gain, biases and ε are a
maximum-likelihood fit. Classes that overlap are fitted as well without flips: their rows on the
wrong side are what q leads one to expect, ε comes out near 0, and nothing stands out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

__all__ = ["Flips", "fit_flips", "fit_rate"]

Floats = NDArray[np.float64]

# Twice the gain in log-likelihood that flips must bring: by chance alone 5 % of clean sets reach
# it (one half of a chi-squared of one degree, since ε cannot be negative).
_EVIDENCE = 2.71
# Above this there is no telling which labels are the right ones.
_LARGEST_RATE = 0.4
_LOG_RATES = (math.log(1e-6), math.log(_LARGEST_RATE))
_SMALLEST_WEIGHT = 1e-300
# Far more steps than one rate needs to settle to three digits.
_STEPS = 200
_STARTS = ((1.2, 0.02), (1.6, 0.05), (2.5, 0.1))


class Flips(NamedTuple):
    """What was found out about flipped labels.

    Attributes
    ----------
    rate : float
        ε: the share of labels that are flipped; 0 without evidence for any.
    gain : float
    biases : ndarray, (K,)
        The first is 0.
    """

    rate: float
    gain: float
    biases: Floats

    def probabilities(self, weights: Floats) -> Floats:
        """(n, K): the probability of each true class, whatever the label says."""
        return _softmax(self.gain * _logarithms(weights) + self.biases)

    def mislabelled(self, weights: Floats, own: NDArray[np.intp]) -> Floats:
        """(n,): the probability that a row's label is flipped."""
        if self.rate == 0:
            return np.zeros(len(own))
        mine = self.probabilities(weights)[np.arange(len(own)), own]
        other = self.rate * (1 - mine) / (weights.shape[1] - 1)
        total = (1 - self.rate) * mine + other
        return np.asarray(np.divide(other, total, out=np.zeros(len(own)), where=total > 0))


def fit_flips(weights: Floats, own: NDArray[np.intp]) -> Flips:
    """Estimate the rate of flips and the probabilities behind them.

    Parameters
    ----------
    weights : (n, K)
        The probability of each class, every row left out of its own.
    own : (n,)
        The number of each row's class, as labelled.

    Examples
    --------
    >>> lean = np.append(np.linspace(0.001, 0.5, 50), np.linspace(0.5, 0.999, 50))
    >>> own = np.repeat([0, 1], 50)
    >>> weights = np.column_stack([1 - lean, lean])
    >>> fit_flips(weights, own).rate
    0.0
    >>> own[[3, 95]] = 1, 0
    >>> flips = fit_flips(weights, own)
    >>> round(flips.rate, 2), np.flatnonzero(flips.mislabelled(weights, own) > 0.5).tolist()
    (0.02, [3, 95])
    """
    K = weights.shape[1]
    if K == 1:
        return Flips(0.0, 1.0, np.zeros(1))
    x = _logarithms(weights)
    x = x - x.mean(axis=1, keepdims=True)
    middle = x.mean(axis=0)
    size = float(np.sqrt(np.square(x - middle).sum(axis=1).mean())) if len(x) else 0.0
    if not size > 0:
        return Flips(0.0, 1.0, np.zeros(K))
    z = (x - middle) / size
    start = np.concatenate([[size], middle[1:] - middle[0]])
    clean, surprise = _fitted(z, own, start)
    # Flips hide how steep the probabilities are: start from steeper ones. There may be a second
    # minimum near the clean fit, so from more than one place.
    found, rate, less = clean, 0.0, surprise
    for steeper, guess in _STARTS:
        steep = np.concatenate([[steeper * clean[0]], clean[1:], [math.log(guess)]])
        trial, value = _fitted(z, own, steep)
        if value < less:
            found, rate, less = trial[:K], math.exp(trial[K]), value
    if 2 * len(own) * (surprise - less) < _EVIDENCE:
        found, rate = clean, 0.0
    gain = float(found[0]) / size
    biases = np.append(0.0, found[1:K]) - gain * middle
    return Flips(rate, gain, biases - biases[0])


def fit_rate(weights: Floats, own: NDArray[np.intp], known: Flips) -> Flips:
    """The rate of flips among other rows, whose classes are known from before."""
    if weights.shape[1] == 1:
        return known
    mine = known.probabilities(weights)[np.arange(len(own)), own]
    other = (1 - mine) / (weights.shape[1] - 1)
    rate = 0.05
    for _ in range(_STEPS):  # expectation and maximisation; there is one number to find
        flipped = rate * other / np.maximum((1 - rate) * mine + rate * other, _SMALLEST_WEIGHT)
        rate = min(float(flipped.mean()), _LARGEST_RATE) if len(own) else 0.0
    better = np.log(np.maximum((1 - rate) * mine + rate * other, _SMALLEST_WEIGHT))
    gained = 2 * float(np.sum(better - np.log(np.maximum(mine, _SMALLEST_WEIGHT))))
    return known._replace(rate=rate if gained >= _EVIDENCE else 0.0)


def _fitted(z: Floats, own: NDArray[np.intp], start: Floats) -> tuple[Floats, float]:
    """Gain, biases and (where `start` has it) log ε of the best fit, and its mean surprise."""
    K = z.shape[1]
    bounds = [(0.0, None)] + [(None, None)] * (K - 1) + [_LOG_RATES] * (len(start) - K)
    found = minimize(_surprise, start, (z, own), jac=True, method="L-BFGS-B", bounds=bounds)
    q = _softmax(found.x[0] * z + np.append(0.0, found.x[1:K]))
    return np.asarray(found.x), -float(np.log(_seen(q, own, _rate_of(found.x, K))).mean())


def _rate_of(parameters: Floats, K: int) -> float:
    return math.exp(parameters[K]) if len(parameters) > K else 0.0


def _surprise(parameters: Floats, z: Floats, own: NDArray[np.intp]) -> tuple[float, Floats]:
    """Mean of -log P(label), smoothed, and its gradient."""
    n, K = z.shape
    rate = _rate_of(parameters, K)
    q = _softmax(parameters[0] * z + np.append(0.0, parameters[1:K]))
    rows = np.arange(n)
    mine = q[rows, own]
    seen = _seen(q, own, rate)
    # A trace of the other classes at every row, one row's worth in all, keeps the gain of
    # separate classes finite, as smoothed targets do in `sets.calibration`.
    trace = 1 / ((n + K) * (K - 1))
    logs = np.log(np.maximum(q, _SMALLEST_WEIGHT))
    value = -(1 - K * trace) * np.log(seen).mean() - trace * logs.sum(axis=1).mean()
    # d seen/d score_k = steep (1[k = y] - q_k), with steep = (1 - ε - ε/(K-1)) q_y.
    steep = (1 - K * trace) * (1 - rate - rate / (K - 1)) * mine / seen
    by_score = (steep + K * trace)[:, None] * q - trace
    by_score[rows, own] -= steep
    by_rate = -(1 - K * trace) * ((1 - mine) / (K - 1) - mine) / seen
    gradient = [np.sum(by_score * z), *by_score[:, 1:].sum(axis=0), rate * by_rate.sum()]
    return float(value), np.array(gradient[: len(parameters)]) / n


def _seen(q: Floats, own: NDArray[np.intp], rate: float) -> Floats:
    """The probability of each row's label."""
    mine = q[np.arange(len(own)), own]
    found = (1 - rate) * mine + rate * (1 - mine) / (q.shape[1] - 1)
    return np.asarray(np.maximum(found, _SMALLEST_WEIGHT))


def _logarithms(weights: Floats) -> Floats:
    return np.log(np.maximum(weights, _SMALLEST_WEIGHT))


def _softmax(score: Floats) -> Floats:
    share = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True))
