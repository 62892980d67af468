"""Probabilities from weights that are known to be honest.

The paper's posterior says how the costs compare; it is no frequency. A calibration looks at rows
whose class is known (each left out of its own class) and maps the weight of a class to how often
it was right. It is held as numbers, so that it can be saved like everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

__all__ = ["Calibration", "fit_calibration"]

Floats = NDArray[np.float64]

# Weights this close to 0 or 1 are treated alike: their log-odds would be infinite.
_NARROW = 1e-12


@dataclass(frozen=True, eq=False)
class Calibration:
    """For each class (for two classes: the second one) a rising curve from weight to probability.

    Attributes
    ----------
    method : str
        ``"isotonic"``: steps between knots; ``"sigmoid"``: a logistic curve of the log-odds.
    curves : tuple of arrays (2, knots)
        Isotonic: log-odds of the weight, and probability, at each knot. Sigmoid: slope and
        intercept, one column.
    """

    method: str
    curves: tuple[Floats, ...]

    def probabilities(self, weights: Floats) -> Floats:
        """(n, K), rows summing to 1."""
        columns = weights[:, 1:] if len(self.curves) == 1 else weights
        found = np.column_stack(
            [self._curve(curve, x) for curve, x in zip(self.curves, columns.T, strict=True)]
        )
        if len(self.curves) == 1:
            return np.column_stack([1 - found, found])
        total = found.sum(axis=1, keepdims=True)
        # Where every curve says "not mine", no class is likelier than another.
        even = np.full_like(found, 1 / found.shape[1])
        return np.asarray(np.divide(found, total, out=even, where=total > 0))

    def _curve(self, curve: Floats, weight: Floats) -> Floats:
        odds = _log_odds(weight)
        if self.method == "isotonic":
            return np.asarray(np.interp(odds, curve[0], curve[1]))
        slope, intercept = curve[:, 0]
        return np.asarray(1 / (1 + np.exp(-np.clip(slope * odds + intercept, -700, 700))))


def fit_calibration(
    method: str, weights: Floats, own: NDArray[np.intp], count: Floats
) -> Calibration:
    """Calibrate on rows of known class.

    Parameters
    ----------
    method : {"isotonic", "sigmoid"}
    weights : (n, K)
        Each row left out of its own class.
    own : (n,)
        Number of each row's class.
    count : (n,)
        How many rows of the data each one stands for.
    """
    classes = [1] if weights.shape[1] == 2 else range(weights.shape[1])
    make = _isotonic if method == "isotonic" else _sigmoid
    return Calibration(
        method, tuple(make(_log_odds(weights[:, k]), own == k, count) for k in classes)
    )


def _log_odds(weight: Floats) -> Floats:
    inside = np.clip(weight, _NARROW, 1 - _NARROW)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _isotonic(odds: Floats, hit: NDArray[np.bool_], count: Floats) -> Floats:
    model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    model.fit(odds, hit.astype(float), sample_weight=count)
    return np.vstack([model.X_thresholds_, model.y_thresholds_]).astype(float)


def _sigmoid(odds: Floats, hit: NDArray[np.bool_], count: Floats) -> Floats:
    # A trace of regularisation: classes that never meet would have an infinite slope.
    model = LogisticRegression(C=100.0).fit(odds[:, None], hit, sample_weight=count)
    return np.array([[float(model.coef_[0, 0])], [float(model.intercept_[0])]])
