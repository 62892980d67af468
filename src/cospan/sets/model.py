"""The protocol of a fitted comparison of K sets, and what follows from its costs.

A joint frame of two sets and the costs to K sets both meet :class:`SetModel`. Scoring, tallies,
audits, tables of scores and gates are written against it once.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import COST_RANGE, LARGEST_LOG_TANGENT
from cospan.sets.calibration import Calibration, fit_calibration, log_odds_of, theoretical
from cospan.sets.geometry import Geometry
from cospan.sets.leaving import LeavingRows
from cospan.sets.prepared import TrialRows
from cospan.typicality import Typicality


class SetModel(Protocol):
    """K sets that say what a sample costs each of them."""

    @property
    def geometry(self) -> Geometry: ...

    def squared_costs(self, Z: Any) -> Array:
        """(n, K) squared costs of samples."""

    def left_out_costs(self, X: Any, own: Any, *, sample_weight: Any = None) -> Array:
        """(n, K) squared costs of the sets' own rows, each as if it had never been there."""

    def leaving(self) -> LeavingRows:
        """Leave-one-out costs of rows in working coordinates."""

    def log_determinants(self) -> np.ndarray:
        """(K,): log|Σ̃_k|, up to a common constant."""


def calibrated_weights(squared: Array, calibration: Calibration) -> Array:
    """(n, K) probabilities from squared costs; each row sums to 1.

    >>> calibrated_weights(np.array([[1.0, 1.0, 2.0], [0.0, 0.0, 0.0]]), Calibration())
    array([[0.4       , 0.4       , 0.2       ],
           [0.33333333, 0.33333333, 0.33333333]])
    """
    xp = arrays.namespace(squared)
    if not calibration.offsets and calibration.gain == 1:
        return _inverse_weights(squared)
    tiny, huge = COST_RANGE[4 if squared.dtype == xp.float32 else 8]
    score = -calibration.gain * xp.log(xp.clip(squared, tiny, huge))
    if calibration.offsets:
        score = score - arrays.like(np.asarray(calibration.offsets), squared)[None, :]
    share = xp.exp(score - xp.max(score, axis=1)[:, None])
    # Summed in order of size: the same sets in another order give the same bits.
    return share / xp.sum(xp.sort(share, axis=1), axis=1)[:, None]


def _inverse_weights(squared: Array) -> Array:
    """w_k ∝ 1/cost_k², as the paper has it."""
    xp = arrays.namespace(squared)
    # Relative to the smallest cost nothing overflows. At the centre every cost is 0 and no set
    # is nearer; a set that cannot represent a sample at all has an infinite cost and weight 0.
    least = xp.min(squared, axis=1)[:, None]
    tied = (squared == least) | (squared == 0)
    ratio = least / xp.where(tied, xp.ones_like(squared), squared)
    ratio = xp.where(tied, xp.ones_like(ratio), ratio)
    return ratio / xp.sum(xp.sort(ratio, axis=1), axis=1)[:, None]


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


def trial_costs(model: SetModel, trial: TrialRows | None) -> np.ndarray | None:
    """(n, K): leave-one-out squared costs of sampled rows; None where there are none."""
    g = model.geometry
    if trial is None or g.sizes.min() <= 1:
        return None
    leaving = model.leaving()
    squared = np.empty((len(trial.own), g.n_sets))
    for o in range(g.n_sets):
        member = trial.own == o
        found = leaving.squared_costs(
            trial.rows[member], trial.off[member], o, trial.removed[member]
        )
        squared[member] = arrays.to_numpy(found)
    return squared


def calibrated(
    model: SetModel, trial: TrialRows | None, squared: np.ndarray | None = None
) -> Calibration:
    """Gain and offsets of a model: from leave-one-out costs of sampled rows, or from theory."""
    squared = trial_costs(model, trial) if squared is None else squared
    if squared is None or trial is None:
        g = model.geometry
        return theoretical(g.dof, g.n_varying, model.log_determinants())
    return fit_calibration(log_odds_of(squared), trial.own, trial.counts)


def typicality_of(trial: TrialRows | None, squared: np.ndarray | None) -> Typicality | None:
    """How usual costs are among the sets' own rows; None without rows."""
    if trial is None or squared is None:
        return None
    return Typicality.of(squared, trial.own, trial.counts)
