"""From costs to probabilities: one gain and an offset per set.

    p_k ∝ exp(-offset_k) cost_k^(-2 gain)          for two sets: log tan²θ = gain (ℓ - ℓ₀)

with ℓ = log(cost_A²/cost_B²). Gain and offsets are a class-balanced logistic fit on leave-one-out
costs, so that p is a probability (with equal priors) that can be checked against frequencies. The
targets are smoothed, (n+1)/(n+K) for a row's own set of n rows and 1/(n+K) for the others: sets
that never meet would have an infinite gain. Where nothing separates the sets the gain is 0 and
every p is 1/K.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan._tolerance import COST_RANGE, NEWTON_GAIN, NEWTON_RIDGE, SMALLEST_STEP

__all__ = [
    "Calibration",
    "balanced_weights",
    "fit_calibration",
    "log_losses",
    "log_odds_of",
    "theoretical",
]

Floats = NDArray[np.float64]

# Newton's method on K parameters: far more steps than it ever took.
_STEPS = 60


class Calibration(NamedTuple):
    """Gain and offsets; by default the raw costs' own: w_k ∝ 1/cost_k².

    Attributes
    ----------
    gain : float
        β, at least 0.
    offsets : tuple of K floats
        They sum to 0; empty where all are 0.
    """

    gain: float = 1.0
    offsets: tuple[float, ...] = ()

    @property
    def zero(self) -> float:
        """ℓ₀ of two sets: the log ratio of squared costs at which θ is 45°."""
        if not self.offsets or self.gain == 0:
            return 0.0
        return (self.offsets[1] - self.offsets[0]) / self.gain


def log_odds_of(squared: Floats) -> Floats:
    """-log cost², kept finite: what is linear in the log-probabilities."""
    return -np.log(np.clip(squared, *COST_RANGE[8]))


def balanced_weights(own: NDArray[np.intp], count: Floats, n_sets: int) -> Floats:
    """Weights of the rows that make every set count 1/K in all."""
    totals = np.bincount(own, count, minlength=n_sets)
    return np.asarray(count / totals[own] / n_sets)


def fit_calibration(
    log_odds: Floats,
    own: NDArray[np.intp],
    count: Floats,
    start: Calibration | None = None,
) -> Calibration:
    """Gain and offsets from rows whose set is known.

    Parameters
    ----------
    log_odds : (n, K)
        :func:`log_odds_of` the leave-one-out squared costs.
    own : (n,)
        The number of each row's set.
    count : (n,)
        How often each row counts.
    start : Calibration, optional
        Of something similar, to start from.

    Examples
    --------
    >>> x = np.array([[0.0, -1.0], [0.0, 0.5], [0.5, 0.0], [0.0, 1.0]])
    >>> found = fit_calibration(x, np.array([0, 0, 1, 1]), np.ones(4))
    >>> round(found.gain, 3)
    0.405
    """
    n, K = log_odds.shape
    totals = np.bincount(own, count, minlength=K)
    target = np.repeat((1 / (totals[own] + K))[:, None], K, axis=1)
    target[np.arange(n), own] *= totals[own] + 1
    weight = balanced_weights(own, count, K)
    # About its mean and in units of its deviation every problem is of one size. What all sets
    # have in common in a row says nothing.
    relative = log_odds - log_odds.mean(axis=1, keepdims=True)
    middle = weight @ relative
    size = float(np.sqrt(weight @ ((relative - middle) ** 2).sum(axis=1)))
    if size == 0 or not np.isfinite(size):
        return Calibration(0.0, (0.0,) * K)
    parameters = np.zeros(K)  # the gain, and the biases of all sets but the first
    if start is not None and start.gain > 0:
        biases = start.gain * middle - np.asarray(start.offsets or (0.0,) * K)
        parameters = np.append(start.gain * size, biases[1:] - biases[0])
    parameters = _newton((relative - middle) / size, target, weight, parameters)
    if parameters[0] <= 0:
        return Calibration(0.0, (0.0,) * K)
    gain = float(parameters[0]) / size
    offsets = gain * middle - np.append(0.0, parameters[1:])
    return Calibration(gain, tuple((offsets - offsets.mean()).tolist()))


def _newton(x: Floats, target: Floats, weight: Floats, parameters: Floats) -> Floats:
    """The minimum of the weighted cross-entropy; convex, so that halved steps always get there."""
    loss, gradient, hessian = _derivatives(x, target, weight, parameters)
    ridge = NEWTON_RIDGE * np.eye(len(parameters))
    for _ in range(_STEPS):
        step = np.linalg.solve(hessian + ridge, gradient)
        # Twice what the step will gain. The error after it is of the order of its square.
        if gradient @ step < NEWTON_GAIN:
            return parameters - step
        scale = 1.0
        while scale > SMALLEST_STEP:
            trial = parameters - scale * step
            found = _derivatives(x, target, weight, trial)
            if found[0] <= loss:
                break
            scale /= 2
        else:
            return parameters
        parameters, (loss, gradient, hessian) = trial, found
    return parameters


def _derivatives(
    x: Floats, target: Floats, weight: Floats, parameters: Floats
) -> tuple[float, Floats, Floats]:
    """Cross-entropy of softmax(gain·x + bias), its gradient and its second derivatives."""
    score = parameters[0] * x
    score[:, 1:] += parameters[1:]
    score -= score.max(axis=1, keepdims=True)
    p = np.exp(score)
    total = p.sum(axis=1, keepdims=True)
    p /= total
    loss = float(weight @ (np.log(total[:, 0]) - (target * score).sum(axis=1)))
    away = weight[:, None] * (p - target)
    mean = (p * x).sum(axis=1, keepdims=True)
    gradient = np.append(np.sum(away * x), away[:, 1:].sum(axis=0))
    weighted = weight[:, None] * p
    hessian = np.empty((len(parameters), len(parameters)))
    hessian[0, 0] = np.sum(weighted * x * (x - mean))
    hessian[0, 1:] = hessian[1:, 0] = (weighted * (x - mean))[:, 1:].sum(axis=0)
    hessian[1:, 1:] = np.diag(weighted[:, 1:].sum(axis=0)) - weighted[:, 1:].T @ p[:, 1:]
    return loss, gradient, hessian


def log_losses(log_odds: Floats, own: NDArray[np.intp], calibration: Calibration) -> Floats:
    """-log p of each row's own set."""
    score = calibration.gain * log_odds
    if calibration.offsets:
        score = score - np.asarray(calibration.offsets)
    highest = score.max(axis=1)
    total = highest + np.log(np.exp(score - highest[:, None]).sum(axis=1))
    return np.asarray(total - score[np.arange(len(own)), own])


def theoretical(dof: float, n_varying: int, log_determinants: Floats) -> Calibration:
    """Gain and offsets of Student-t distributions with these covariances: for bare summaries."""
    offsets = 0.5 * (log_determinants - log_determinants.mean())
    return Calibration((dof + n_varying) / 2, tuple(float(x) for x in offsets))
