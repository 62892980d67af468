"""Weights that make the rows of one set count like those of another."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from cospan.base.arrays import to_numpy
from cospan.base.types import Floats
from cospan.errors import InputError
from cospan.model import JointFrame


class ImportanceWeights(NamedTuple):
    """Weights for rows of A that make them count like rows of B."""

    weights: Floats  # (n,): with mean 1, ready as a `sample_weight`
    #: (Σw)² / Σw²: how many equally weighted rows are as informative. Far below n, few rows carry
    #: the whole estimate: A hardly covers B
    effective_size: float
    clipped: float  # the share of rows whose odds reached the limit

    def __repr__(self) -> str:
        return (
            f"ImportanceWeights({len(self.weights):,} rows, effective size "
            f"{self.effective_size:,.1f}, {self.clipped:.1%} clipped)"
        )


def importance_weights(
    frame: JointFrame, X: object, *, clip: float | None = 20.0, leave_one_out: bool = True
) -> ImportanceWeights:
    """Weights that make rows of A count like rows of B: the odds sin²θ/cos²θ.

    Train on A with these weights where the model will meet inputs like B's (covariate shift).
    The odds estimate how much denser B is than A where a row lies. A frame that separates
    nothing gives every row the weight 1.

    Parameters
    ----------
    frame : JointFrame
        Of A, the inputs there are labels for, and B, the inputs to come.
    X : array-like or dataframe, (n, d)
        Rows of A.
    clip : float or None
        The largest odds used: a few rows that only B explains must not outweigh all others. The
        result says how many reached it; None sets no limit.
    leave_one_out : bool
        Whether the frame was fitted to these rows; then each is scored as if it had not been.

    Examples
    --------
    >>> from cospan import JointFrame, importance_weights
    >>> rng = np.random.default_rng(0)
    >>> A = rng.normal(size=(500, 2)) * [2.0, 1.0]
    >>> B = rng.normal(size=(500, 2)) * [1.0, 2.0]
    >>> found = importance_weights(JointFrame.fit(A, B), A)
    >>> found
    ImportanceWeights(500 rows, effective size 122.8, 0.4% clipped)
    >>> A.std(axis=0).round(2)
    array([1.97, 0.97])
    >>> np.sqrt(found.weights @ A**2 / 500).round(2)  # A's spread, weighted: nearly B's
    array([1.08, 1.67])
    """
    if not isinstance(frame, JointFrame):
        raise InputError(f"frame is a {type(frame).__name__}; pass JointFrame.fit(A, B).")
    if clip is not None and not (isinstance(clip, int | float | np.number) and clip > 0):
        raise InputError(f"clip is {clip!r}; it must be a number above 0, or None for no limit.")
    scored = frame.left_out(X, "A") if leave_one_out else frame.align(X)
    theta = to_numpy(scored.theta).astype(np.float64)
    if not len(theta):
        raise InputError("X has no rows; at least one is needed.")
    limit = math.inf if clip is None else clip
    odds = np.minimum(np.tan(theta) ** 2, limit)
    if not odds.any():
        raise InputError("Every row has θ = 0, as if B had nothing in common with A; check B.")
    weights = odds / odds.mean()
    size = float(weights.sum() ** 2 / (weights**2).sum())
    return ImportanceWeights(weights, size, float(np.mean(odds >= limit)))
