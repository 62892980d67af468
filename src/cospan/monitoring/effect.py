"""How far a window is from the reference as a whole: the angle's AUC, and the parts of D."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from cospan._tails import tail_p_values
from cospan._types import Floats, Index
from cospan.distribution import twice_below
from cospan.frame import JointFrame
from cospan.monitoring.moments import restricted
from cospan.significance import Estimate
from cospan.summary import Summary
from cospan.typicality import below_rate

_CONFIDENCE = 0.95
_TWO_SIDED = 1.959963984540054
#: The share of false alarms among rows that are called like neither set.
NEITHER_RATE = 0.05
#: Rows of each side whose angles are compared, at most: the AUC is then right to 0.02.
COMPARED_ROWS = 500


class Effect(NamedTuple):
    """A window against the reference.

    `auc` is the leave-one-out AUC of the angle, with its interval; `error` its standard error;
    `location`, `scale` and `shape` are the parts of the distance D of the two; `neither` is the
    share of the window's rows that neither set explains.
    """

    auc: Estimate
    error: float
    location: float
    scale: float
    shape: float
    neither: float


def shrinkage_for(rows: float, features: int) -> float:
    """The weight of the target of covariances: small with many rows, large with few.

    The noise of a correlation matrix of d features from n rows is of the size d/n; leave-one-out
    angles are honest for any value.
    """
    return min(0.9, max(0.01, features / (features + rows)))


def effect_of(
    reference: Summary, rows: Floats, window: Summary, live: Index, shrinkage: float
) -> Effect:
    """Compare a window with a reference, of which these are some rows."""
    a, b = (restricted(one, live) for one in (reference.without_sample(), window))
    if b.count < 2:
        return _nothing()
    frame = JointFrame.from_summaries(
        a,
        b.without_sample(),
        units="own",
        shrinkage=shrinkage,
        pooling=0.0,
        dof=float(len(live)),
        calibrate=False,
    )
    mine = b.sample.rows[:COMPARED_ROWS]
    theirs = rows[:COMPARED_ROWS, live]
    squared_b = np.asarray(frame.left_out_costs(mine, np.ones(len(mine), dtype=np.intp)))
    squared_a = np.asarray(frame.left_out_costs(theirs, np.zeros(len(theirs), dtype=np.intp)))
    ratios = [np.log(x[:, 0]) - np.log(x[:, 1]) for x in (squared_a, squared_b)]
    value, error = _auc(*ratios)
    parts = frame.parts
    return Effect(
        Estimate(
            value,
            max(0.0, value - _TWO_SIDED * error),
            min(1.0, value + _TWO_SIDED * error),
            _CONFIDENCE,
        ),
        error,
        float(parts.location),
        float(parts.scale),
        float(parts.shape),
        _neither(squared_a, squared_b),
    )


def _nothing() -> Effect:
    return Effect(Estimate(0.5, 0.0, 1.0, _CONFIDENCE), 0.5, 0.0, 0.0, 0.0, 0.0)


def _auc(a: Floats, b: Floats) -> tuple[float, float]:
    """The AUC and its standard error (DeLong), never less than that of one pair too few."""
    # Both sorted: looking up values in order is several times faster.
    a, b = np.sort(a), np.sort(b)
    n, m = len(a), len(b)
    of_b, of_a = twice_below(a, b) / (2 * n), 1 - twice_below(b, a) / (2 * m)
    value = float(of_b.mean())
    variance = float(of_a.var() / max(1, n - 1) + of_b.var() / max(1, m - 1))
    return value, math.sqrt(max(variance, 0.25 / (n * m)))


def _neither(squared_a: Floats, squared_b: Floats) -> float:
    """The share of B's rows that are unusual for both sets (Benjamini and Hochberg).

    By the tails of the costs: no rank among the few rows of a window could be small enough.
    """
    usual = [
        tail_p_values(squared_b[:, k], own[:, k]) for k, own in enumerate((squared_a, squared_b))
    ]
    return float(below_rate(np.maximum(*usual), NEITHER_RATE).mean())
