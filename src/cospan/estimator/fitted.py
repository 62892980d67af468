"""Labelled sets, fitted: what a classifier keeps of them and reads its answers from.

Two classes are a joint frame with a threshold on the angle; more are costs to each of them. Both
give weights on the simplex, so that everything after looks the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan import _arrays as arrays
from cospan._classes.calibration import Calibration, fit_calibration
from cospan._classes.constant import append_column, with_constant
from cospan._classes.costs import ClassCosts, simplex_weights
from cospan._validate import as_option
from cospan.alignment import Alignment
from cospan.errors import InputError
from cospan.frame import JointFrame
from cospan.summary import Summary

__all__ = ["FittedClasses", "Settings", "best_threshold"]

Floats = NDArray[np.float64]

# How much better (leave-one-out balanced accuracy) the classes must be told apart with a constant
# feature before it is added unasked: the plain frame is the method, the constant an aid.
_CONSTANT_GAIN = 0.05


class Settings(NamedTuple):
    """The settings of a fit, as the estimator's parameters."""

    center: Any
    balance: bool
    shrinkage: float | str
    weighting: str
    threshold: float | str
    tol: float | None
    constant: float | str
    calibrated: bool | str


class LeftOut(NamedTuple):
    """Sampled rows of all classes, each left out of its own."""

    weights: Floats  # (n, K)
    own: NDArray[np.intp]  # number of the row's class
    counts: Floats  # its sample weight

    def balanced_accuracy(self) -> float:
        right = (self.weights.argmax(axis=1) == self.own) * self.counts
        classes = range(self.weights.shape[1])
        return float(
            np.mean(
                [right[self.own == k].sum() / self.counts[self.own == k].sum() for k in classes]
            )
        )


@dataclass(frozen=True, eq=False)
class FittedClasses:
    """K classes, fitted.

    Attributes
    ----------
    model : JointFrame or ClassCosts
        For two classes, and for more.
    weighting : str
    constant : float
        Value of the constant feature that samples get before they are scored; 0: none.
    threshold : float
        θ in radians above which a sample belongs to the second of two classes.
    calibration : Calibration or None
    """

    model: JointFrame | ClassCosts
    weighting: str
    constant: float
    threshold: float
    calibration: Calibration | None

    @classmethod
    def fit(cls, summaries: Sequence[Summary], settings: Settings) -> FittedClasses:
        """Fit to the classes' summaries; their samples of rows choose what is chosen."""
        as_option(settings.weighting, "weighting", ("cost", "frame"))
        threshold = _as_threshold(settings.threshold, len(summaries))
        method = _as_method(settings.calibrated)
        fitted, summaries = _with_or_without_constant(summaries, settings)
        if threshold is not None and method is None:
            return replace(fitted, threshold=threshold)
        known = fitted.left_out(summaries)
        if threshold is None:
            threshold = best_threshold(_angle(known.weights), known.own, known.counts)
        calibration = None
        if method is not None:
            count = known.counts.copy()
            for k, part in enumerate(summaries):  # a sampled row stands for several of the data
                count[known.own == k] *= part.n / count[known.own == k].sum()
            calibration = fit_calibration(method, known.weights, known.own, count)
        return replace(fitted, threshold=threshold, calibration=calibration)

    def rows(self, X: Floats) -> Floats:
        """Rows as the model takes them."""
        return append_column(X, self.constant) if self.constant else X

    def align(self, X: Floats) -> Alignment:
        """Alignments of samples, for two classes."""
        if not isinstance(self.model, JointFrame):
            raise InputError("More than two classes have no common angle; use their weights.")
        alignment: Alignment = self.model.align(self.rows(X), weighting=self.weighting)
        return alignment

    def weights(self, X: Floats) -> Floats:
        """(n, K): how much each class explains each sample."""
        if isinstance(self.model, ClassCosts):
            return np.asarray(self.model.weights(self.rows(X)), dtype=np.float64)
        return _posterior(self.align(X))

    def left_out(self, summaries: Sequence[Summary]) -> LeftOut:
        """The sampled rows of the classes, each as if it had not been there."""
        samples = [part.sample for part in summaries]
        own = np.repeat(np.arange(len(samples)), [len(sample) for sample in samples])
        count = np.concatenate([sample.weights for sample in samples])
        if isinstance(self.model, ClassCosts):
            rows = np.concatenate([sample.rows for sample in samples])
            squared = self.model.left_out(rows, own, sample_weight=count)
            return LeftOut(arrays.to_numpy(simplex_weights(squared)), own, count)
        parts = [
            self.model.left_out(
                sample.rows, side, weighting=self.weighting, sample_weight=sample.weights
            )
            for sample, side in zip(samples, "AB", strict=True)
        ]
        return LeftOut(np.concatenate([_posterior(part) for part in parts]), own, count)


def _with_or_without_constant(
    summaries: Sequence[Summary], settings: Settings
) -> tuple[FittedClasses, Sequence[Summary]]:
    constant = settings.constant
    automatic = isinstance(constant, str)
    if automatic:
        as_option(constant, "constant", ("auto",))
    elif not (isinstance(constant, (int, float, np.number)) and 0 <= constant < math.inf):
        raise InputError(f"constant is {constant!r}; it must be a number of at least 0 or 'auto'.")
    pooled = isinstance(settings.center, str) and settings.center == "pooled"
    if not pooled or (not automatic and float(constant) == 0):
        return _fitted(summaries, settings, settings.center, 0.0), summaries
    if not automatic:
        more = with_constant(summaries, float(constant), settings.balance)
        return _fitted(more.summaries, settings, more.center, more.value), more.summaries
    plain = _fitted(summaries, settings, settings.center, 0.0)
    told_apart = plain.left_out(summaries).balanced_accuracy()
    if told_apart >= 1 - _CONSTANT_GAIN:
        return plain, summaries
    more = with_constant(summaries, 1.0, settings.balance)
    aided = _fitted(more.summaries, settings, more.center, more.value)
    if aided.left_out(more.summaries).balanced_accuracy() > told_apart + _CONSTANT_GAIN:
        return aided, more.summaries
    return plain, summaries


def _fitted(
    summaries: Sequence[Summary], settings: Settings, center: Any, constant: float
) -> FittedClasses:
    options = {
        "center": center,
        "balance": settings.balance,
        "shrinkage": settings.shrinkage,
        "tol": settings.tol,
    }
    model: JointFrame | ClassCosts
    if len(summaries) == 2:
        model = JointFrame.from_summaries(summaries[0], summaries[1], **options)
    else:
        model = ClassCosts.from_summaries(summaries, weighting=settings.weighting, **options)
    return FittedClasses(model, settings.weighting, constant, math.pi / 4, None)


def best_threshold(theta: Floats, own: NDArray[np.intp], count: Floats) -> float:
    """The θ between two classes with the best balanced accuracy; ties: the nearest to 45°.

    Examples
    --------
    >>> theta = np.array([0.1, 0.2, 0.9, 1.0, 1.2])
    >>> best_threshold(theta, own=np.array([0, 0, 0, 1, 1]), count=np.ones(5))
    0.95
    """
    values, group = np.unique(theta, return_inverse=True)
    below = [
        np.cumsum(np.bincount(group, count * (own == k), minlength=len(values))) for k in (0, 1)
    ]
    # Cutting behind value i: what of class 0 lies below, and of class 1 above.
    score = below[0] / below[0][-1] + 1 - below[1] / below[1][-1]
    between = (values[:-1] + values[1:]) / 2
    cuts = np.concatenate([between, [math.pi / 4]])
    inside = int(np.searchsorted(values, math.pi / 4, side="right")) - 1
    at_45 = score[inside] if inside >= 0 else 1.0
    score = np.concatenate([score[:-1], [at_45]])
    best = np.flatnonzero(score >= score.max() - 1e-12)
    return float(cuts[best[np.argmin(np.abs(cuts[best] - math.pi / 4))]])


def _posterior(alignment: Alignment) -> Floats:
    theta = np.asarray(alignment.theta, dtype=np.float64)
    return np.column_stack([np.cos(theta) ** 2, np.sin(theta) ** 2])


def _angle(weights: Floats) -> Floats:
    return np.asarray(np.arctan2(np.sqrt(weights[:, 1]), np.sqrt(weights[:, 0])))


def _as_threshold(value: object, n_classes: int) -> float | None:
    """A number of radians, or None for "auto"."""
    if n_classes > 2 and value != math.pi / 4:
        raise InputError(
            f"threshold is {value!r}, but {n_classes} classes have no common angle to cut; "
            "leave it at its default."
        )
    if isinstance(value, str) and value == "auto":
        return None
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if number and 0 <= value <= math.pi / 2:  # type: ignore[operator]
        return float(value)  # type: ignore[arg-type]
    raise InputError(f"threshold is {value!r}; it must be an angle in [0, π/2] or 'auto'.")


def _as_method(value: object) -> str | None:
    if isinstance(value, (bool, np.bool_)):
        return "isotonic" if value else None
    if isinstance(value, str) and value in ("isotonic", "sigmoid"):
        return value
    raise InputError(f"calibrated is {value!r}; it must be True, False, 'isotonic' or 'sigmoid'.")
