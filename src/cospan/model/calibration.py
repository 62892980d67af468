"""From costs to probabilities: one gain and an offset per set.

    p_k ∝ exp(-offset_k) cost_k^(-2 gain)          for two sets: log tan²θ = gain (ℓ - ℓ₀)

with ℓ = log(cost_A²/cost_B²). Gain and offsets are a class-balanced logistic fit on leave-one-out
costs, so that p is a probability (with equal priors) that can be checked against frequencies. The
targets are smoothed, (n+1)/(n+K) for a row's own set of n rows and 1/(n+K) for the others: sets
that never meet would have an infinite gain. Where nothing separates the sets the gain is 0 and
every p is 1/K.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from cospan.base import arrays
from cospan.base.tolerance import (
    COST_RANGE,
    LARGEST_LOG_TANGENT,
    NEWTON_GAIN,
    NEWTON_RIDGE,
    SMALLEST_STEP,
)
from cospan.base.types import Array, Floats, Index


class Calibration(NamedTuple):
    """Gain and offsets; by default the raw costs' own: w_k ∝ 1/cost_k²."""

    gain: float = 1.0  # β, at least 0
    offsets: tuple[float, ...] = ()  # they sum to 0; empty where all are 0

    @property
    def zero(self) -> float:
        """ℓ₀ of two sets: the log ratio of squared costs at which θ is 45°."""
        if not self.offsets or self.gain == 0:
            return 0.0
        return (self.offsets[1] - self.offsets[0]) / self.gain


def log_odds_of(squared: Floats) -> Floats:
    """-log cost², kept finite: what is linear in the log-probabilities."""
    return -np.log(np.clip(squared, *COST_RANGE[8]))


def balanced_weights(own: Index, count: Floats, n_sets: int) -> Floats:
    """Weights of the rows that make every set count 1/K in all."""
    totals = np.bincount(own, count, minlength=n_sets)
    return np.asarray(count / totals[own] / n_sets)


def fit_calibration(
    log_odds: Floats, own: Index, count: Floats, start: Calibration | None = None
) -> Calibration:
    """Gain and offsets from rows whose set is known.

    `log_odds` (n, K) are those of leave-one-out squared costs, `own` the numbers of the rows' sets,
    `count` how often each row counts, and `start` a fit of something similar.
    """
    K = log_odds.shape[1]
    nothing = Calibration(0.0, (0.0,) * K)
    weight = balanced_weights(own, count, K)
    # Only what a set has over the first one says anything in a row. About its mean and in units of
    # its deviation every problem is of one size.
    x = np.ascontiguousarray((log_odds[:, 1:] - log_odds[:, :1]).T)
    middle = x @ weight
    x -= middle[:, None]
    size = float(np.sqrt(np.sum(np.square(x) @ weight)))
    if size == 0 or not np.isfinite(size):
        return nothing
    x /= size
    parameters = np.zeros(K)  # the gain, and the biases of all sets but the first
    if start is not None and start.gain > 0:
        offsets = np.asarray(start.offsets or (0.0,) * K)
        parameters[0] = start.gain * size
        parameters[1:] = start.gain * middle - (offsets[1:] - offsets[0])
    # All that smoothed targets t add to the loss: Σ weight·t·x, and Σ weight·t of every set.
    smoothed = weight / (np.bincount(own, count, minlength=K)[own] + K)
    targets = np.tile(smoothed, (K, 1))
    targets[own, np.arange(len(own))] += weight - K * smoothed
    sums = np.append(np.sum(targets[1:] * x), targets[1:].sum(axis=1))
    parameters = _newton(x, weight, sums, parameters)
    if parameters[0] <= 0:
        return nothing
    gain = float(parameters[0]) / size
    offsets = np.append(0.0, gain * middle - parameters[1:])
    return Calibration(gain, tuple((offsets - offsets.mean()).tolist()))


def _newton(x: Floats, weight: Floats, targets: Floats, parameters: Floats) -> Floats:
    """The minimum of the weighted cross-entropy; convex, so that halved steps always get there."""
    loss, gradient, hessian = _derivatives(x, weight, targets, parameters)
    ridge = NEWTON_RIDGE * np.eye(len(parameters))
    for _ in range(60):  # far more steps than it ever took
        step = np.linalg.solve(hessian + ridge, gradient)
        # Twice what the step will gain. The error after it is of the order of its square.
        if gradient @ step < NEWTON_GAIN:
            return parameters - step
        scale = 1.0
        while scale > SMALLEST_STEP:
            tried = parameters - scale * step
            found = _derivatives(x, weight, targets, tried)
            if found[0] <= loss:
                break
            scale /= 2
        else:
            return parameters
        parameters, (loss, gradient, hessian) = tried, found
    return parameters


def _derivatives(
    x: Floats, weight: Floats, targets: Floats, parameters: Floats
) -> tuple[float, Floats, Floats]:
    """Cross-entropy of softmax(0, gain·x + bias), its gradient and its second derivatives."""
    score = parameters[0] * x
    score += parameters[1:, None]
    highest = np.maximum(score.max(axis=0), 0.0)
    score -= highest
    p = np.exp(score, out=score)
    total = p.sum(axis=0) + np.exp(-highest)
    loss = float(weight @ (np.log(total) + highest) - targets @ parameters)
    p /= total
    px = p * x
    mean = px.sum(axis=0)
    p_sum = p @ weight
    gradient = np.append(mean @ weight, p_sum) - targets
    weighted = p * weight
    hessian = np.empty((len(parameters), len(parameters)))
    hessian[0, 0] = np.sum((px * x) @ weight) - weight @ mean**2
    hessian[0, 1:] = hessian[1:, 0] = px @ weight - weighted @ mean
    hessian[1:, 1:] = np.diag(p_sum) - weighted @ p.T
    return loss, gradient, hessian


def log_losses(log_odds: Floats, own: Index, calibration: Calibration) -> Floats:
    """-log p of each row's own set."""
    score = np.ascontiguousarray(log_odds.T) * calibration.gain
    if calibration.offsets:
        score -= np.asarray(calibration.offsets)[:, None]
    score -= score[own, np.arange(len(own))]  # of every set, over the row's own
    highest = score.max(axis=0)
    return np.asarray(highest + np.log(np.exp(score - highest).sum(axis=0)))


def theoretical(dof: float, n_varying: int, log_determinants: Floats) -> Calibration:
    """Gain and offsets of Student-t distributions with these covariances: for bare summaries."""
    offsets = 0.5 * (log_determinants - log_determinants.mean())
    return Calibration((dof + n_varying) / 2, tuple(float(x) for x in offsets))


# ---- probabilities and angles -----------------------------------------------------------------


def calibrated_weights(squared: Array, calibration: Calibration) -> Array:
    """(n, K) probabilities from squared costs; each row sums to 1.

    >>> calibrated_weights(np.array([[1.0, 1.0, 2.0], [0.0, 0.0, 0.0]]), Calibration())
    array([[0.4       , 0.4       , 0.2       ],
           [0.33333333, 0.33333333, 0.33333333]])
    """
    xp = arrays.namespace(squared)
    tiny, huge = COST_RANGE[4 if squared.dtype == xp.float32 else 8]
    score = -calibration.gain * xp.log(xp.clip(squared, tiny, huge))
    if calibration.offsets:
        score = score - arrays.like(np.asarray(calibration.offsets), squared)[None, :]
    share = xp.exp(score - xp.max(score, axis=1)[:, None])
    # Summed in order of size: the same sets in another order give the same bits.
    return share / xp.sum(xp.sort(share, axis=1), axis=1)[:, None]


def angles_of(squared_a: Array, squared_b: Array, calibration: Calibration) -> Array:
    """θ in radians from the squared costs of two sets.

    >>> angles_of(np.array([1.0, 3.0]), np.array([1.0, 1.0]), Calibration()).round(4)
    array([0.7854, 1.0472])
    """
    xp = arrays.namespace(squared_a)
    if calibration.gain == 0:
        return xp.full_like(squared_a, math.pi / 4)
    if not calibration.offsets and calibration.gain == 1:
        theta = xp.atan2(xp.sqrt(squared_a), xp.sqrt(squared_b))
    else:
        infinite = squared_a == math.inf
        ratio = xp.where(infinite, xp.ones_like(squared_a), squared_a) / squared_b
        half = 0.5 * calibration.gain * (xp.log(ratio) - calibration.zero)
        most = LARGEST_LOG_TANGENT
        theta = xp.atan(xp.exp(xp.clip(half, -most, most)))
        theta = xp.where(infinite, xp.full_like(theta, math.pi / 2), theta)
        theta = xp.where(squared_b == math.inf, xp.zeros_like(theta), theta)
    # Where both costs are 0, or both infinite, no side is nearer.
    undecided = ((squared_a == 0) & (squared_b == 0)) | (
        (squared_a == math.inf) & (squared_b == math.inf)
    )
    return xp.where(undecided, xp.full_like(theta, math.pi / 4), theta)
