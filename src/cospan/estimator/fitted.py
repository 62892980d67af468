"""Labelled sets, fitted: what a classifier keeps of them and reads its answers from.

Two classes are a joint frame with a threshold on the angle; more are costs to each of them. Both
give the probability of every class, so that everything after looks the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.base import arrays
from cospan.base.checks import as_option, is_real
from cospan.base.tolerance import SAME_SCORE
from cospan.base.types import Floats
from cospan.errors import InputError
from cospan.model import Again, Alignment, JointFrame, SetCosts, Settings
from cospan.summary import Summary


@dataclass(frozen=True)
class ClassSettings(Settings):
    """The settings of a fit, as the estimator's parameters."""

    weighting: str = "cost"
    threshold: float | str = math.pi / 4


@dataclass(frozen=True, eq=False)
class FittedClasses:
    """K classes, fitted."""

    model: JointFrame | SetCosts  # for two classes, and for more
    weighting: str
    threshold: float  # θ in radians above which a sample belongs to the second of two classes

    @classmethod
    def fit(
        cls, summaries: Sequence[Summary], settings: ClassSettings, again: Again | None = None
    ) -> FittedClasses:
        """Fit to the classes' summaries; their samples of rows choose what is chosen.

        `again` reads the rows once more, through a map, where a curve needs them.
        """
        weighting = as_option(settings.weighting, "weighting", ("cost", "frame"))
        threshold = _as_threshold(settings.threshold, len(summaries))
        options = settings.of_the_sets()
        if weighting == "frame" and settings.span == "affine":
            raise InputError('weighting="frame" belongs to span="linear"; give both.')
        model: JointFrame | SetCosts
        if len(summaries) == 2:
            a, b = summaries
            model = JointFrame.of_sets(a, b, Settings.of(**options), False, again)
        else:
            model = SetCosts.from_summaries(summaries, weighting=weighting, again=again, **options)
        if threshold is None:
            assert isinstance(model, JointFrame)  # `_as_threshold` refused more classes
            threshold = _left_out_threshold(model, summaries, weighting)
        return cls(model, weighting, threshold)

    def align(self, X: Floats) -> Alignment:
        """Alignments of samples, for two classes."""
        if not isinstance(self.model, JointFrame):
            raise InputError("More than two classes have no common angle; use their weights.")
        alignment: Alignment = self.model.align(X, weighting=self.weighting)
        return alignment

    def theta(self, X: Floats) -> Floats:
        """(n,): the angle between two classes, in radians; cos²θ is the probability of the first.

        Costs to two sets without a joint frame have it, too.
        """
        if isinstance(self.model, SetCosts) and self.model.geometry.n_sets == 2:
            first, second = np.sqrt(self.weights(X)).T
            return np.asarray(np.arctan2(second, first))
        return np.asarray(self.align(X).theta, dtype=np.float64)

    def weights(self, X: Floats) -> Floats:
        """(n, K): the probability of each class, all being equally likely beforehand."""
        if isinstance(self.model, SetCosts):
            return np.asarray(self.model.weights(X), dtype=np.float64)
        return np.asarray(self.align(X).posterior, dtype=np.float64)

    def typicality(self, X: Floats) -> Floats:
        """(n, K): how usual each sample is for each class."""
        known = self.model.typicality
        if known is None or self.weighting == "frame":
            raise InputError(
                "There is no typicality here: it needs leave-one-out costs of the training rows, "
                'which weighting="frame" and single rows do not have.'
            )
        return np.asarray(known.p_values(self.model.squared_costs(X)), dtype=np.float64)


def _left_out_threshold(frame: JointFrame, summaries: Sequence[Summary], weighting: str) -> float:
    """The best threshold for the sampled rows of two classes, each left out of its own."""
    samples = [part.sample for part in summaries]
    theta = [
        arrays.to_numpy(
            frame.left_out(one.rows, side, weighting=weighting, sample_weight=one.weights).theta
        )
        for one, side in zip(samples, "AB", strict=True)
    ]
    own = np.repeat([0, 1], [len(part) for part in theta])
    count = np.concatenate([one.weights for one in samples])
    return best_threshold(np.concatenate(theta), own, count)


def best_threshold(theta: Floats, own: NDArray[np.intp], count: Floats) -> float:
    """The θ between two classes with the best balanced accuracy; ties: the nearest to 45°.

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
    best = np.flatnonzero(score >= score.max() - SAME_SCORE)
    return float(cuts[best[np.argmin(np.abs(cuts[best] - math.pi / 4))]])


def _as_threshold(value: object, n_classes: int) -> float | None:
    """A number of radians, or None for "auto"."""
    if n_classes > 2 and value != math.pi / 4:
        raise InputError(
            f"threshold is {value!r}, but {n_classes} classes have no common angle to cut; "
            "leave it at its default."
        )
    if isinstance(value, str) and value == "auto":
        return None
    if is_real(value) and 0 <= value <= math.pi / 2:
        return float(value)
    raise InputError(f"threshold is {value!r}; it must be an angle in [0, π/2] or 'auto'.")


def classes_in(labels: NDArray[Any]) -> NDArray[Any]:
    """The different labels, sorted."""
    try:
        return np.unique(labels)
    except TypeError:
        raise InputError(
            "y mixes labels that have no order, such as text and None; use numbers only, or text "
            "only, and leave out rows without a label."
        ) from None


def class_numbers(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """The place of every label among the sorted classes."""
    own = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    known = np.asarray(classes[own] == labels)
    if not known.all():
        raise InputError(f"y holds {shown(labels[~known][0])}, which is not among the classes.")
    return own


def shown(label: object) -> str:
    """A label as its user wrote it, not as NumPy holds it."""
    return repr(label.item() if isinstance(label, np.generic) else label)
