"""How far Fisher-Rao and the overlap of calibrated angles may be from the truth.

Both are read off the probabilities sin²θ, and these come from a calibration: a gain and a zero,
fitted to rows. An interval that takes the probabilities as given is much too short, since most of
the error is the gain's. So every replicate of the bootstrap has a calibration of its own, the
same class-balanced logistic fit that made the angles; all replicates are fitted at once.
"""

from __future__ import annotations

import numpy as np

from cospan._tolerance import LARGEST_LOG_ODDS, singular_ridge
from cospan._types import Floats
from cospan.significance.bootstrap import Measures, arc_of, auc_of, position_of, resample

# Neighbouring angles are fitted as one beyond this many: gains change in the fourth digit.
_MOST_CELLS = 250
# Newton's steps: replicates start from the fit to all rows, a step or two away.
_STEPS = 8
# Where a step would be longer, in units of the log-odds' spread, it is cut.
_LONGEST_STEP = 2.0


def smooth_spread(a: Floats, b: Floats, n: int, rng: np.random.Generator) -> Measures:
    """How the measures of `n` replicates of two samples of calibrated angles stray.

    That of the distance is on the scale of Fisher-Rao, on which it has about the same width
    everywhere.
    """
    pooled = np.concatenate([a, b])
    _, cell = np.unique(position_of(pooled), return_inverse=True)
    source, drawn = resample(cell, len(a), n, rng)
    of_auc = auc_of(*drawn) - auc_of(*source)
    starts = np.unique(np.linspace(0, len(source[0]), _MOST_CELLS, endpoint=False).astype(int))
    group = np.searchsorted(starts, cell, side="right") - 1
    odds = _log_odds(pooled)
    x = np.bincount(group, weights=odds) / np.maximum(np.bincount(group), 1)
    every = [np.vstack([s[None], d]) for s, d in zip(source, drawn, strict=True)]
    P, Q = (np.add.reduceat(part, starts, axis=1) for part in every)
    p = _probabilities(x, P, Q, [1 / (len(part) + 2) for part in (a, b)])
    mean = (P + Q) / 2
    arcs = arc_of(np.sum(mean * (1 - 2 * np.sqrt(p * (1 - p))), axis=1))
    common = np.sum(mean * 2 * np.minimum(p, 1 - p), axis=1)
    return Measures(arcs[1:] - arcs[0], of_auc, common[1:] - common[0], float(auc_of(*source)))


def _log_odds(theta: Floats) -> Floats:
    """log tan²θ, within bounds."""
    with np.errstate(divide="ignore"):
        odds = 2 * np.log(np.tan(theta))
    return np.asarray(np.clip(odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))


def _probabilities(x: Floats, P: Floats, Q: Floats, soft: list[float]) -> Floats:
    """(m, cells): the probability of B, by a logistic fit to each row of shares.

    `soft` is the share of each set that counts for the other, as in `sets.calibration`.
    """
    middle = float(x.mean())
    width = float(x.std()) or 1.0
    z = (x - middle) / width
    for_a = P * (1 - soft[0]) + Q * soft[1]
    for_b = P * soft[0] + Q * (1 - soft[1])
    total = for_a + for_b
    gain, zero = np.full((len(P), 1), width), np.full((len(P), 1), middle)
    for _ in range(_STEPS):
        p = _sigmoid(gain * z + zero)
        slope = total * p - for_b
        bend = total * p * (1 - p)
        g = [slope.sum(axis=1), slope @ z]
        h = [bend.sum(axis=1), bend @ z, bend @ (z * z)]
        ridge = singular_ridge(h[0] + h[2])
        h[0], h[2] = h[0] + ridge, h[2] + ridge
        determinant = h[0] * h[2] - h[1] ** 2
        steps = [
            (h[2] * g[0] - h[1] * g[1]) / determinant,
            (h[0] * g[1] - h[1] * g[0]) / determinant,
        ]
        steps = [np.clip(s, -_LONGEST_STEP, _LONGEST_STEP)[:, None] for s in steps]
        zero, gain = zero - steps[0], np.maximum(gain - steps[1], 0.0)
    # Without a gain nothing tells the sets apart, and both count alike.
    zero = np.where(gain > 0, zero, 0.0)
    return _sigmoid(gain * z + zero)


def _sigmoid(score: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(score, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))))
