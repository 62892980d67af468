"""What is settled about K sets before anything is factored.

A sample z costs the set k

    cost_k² = ν + (z - μ_k)ᵀ Σ̃_k⁻¹ (z - μ_k)        Σ̃_k = (1-α) Σ_k + α T      (span "affine")
    cost_k² =     (z - m)ᵀ  S̃_k⁻¹ (z - m)           S̃_k = (1-α) S_k + α T      (span "linear")

with Σ_k the covariance about the set's own mean and S_k the second moments about one centre m.
T is diagonal: its square roots are the `unit` of each feature. Everything is computed on features
divided by their unit, where T is the identity; a feature that is constant in every set has the
unit 0 and takes no part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan.errors import InputError
from cospan.sets.calibration import Calibration
from cospan.summary import Summary


@dataclass(frozen=True, eq=False)
class Geometry:
    """Positions, units and settings of K sets."""

    span: str  # ``"affine"`` or ``"linear"``
    center: Array  # (d,): the origin of coordinates; taken off every sample
    #: ``"own"`` for the affine span; ``"pooled"``, ``"each"``, ``"none"`` or ``"given"``
    center_mode: str
    means: Array  # (K, d)
    #: (d,): square roots of the diagonal of T; 0 for a feature that is constant in every set
    unit: Array
    units: str  # ``"own"`` or ``"common"``
    balance: bool  # whether a set's moments are divided by its size. Always, in the affine span.
    #: α, γ and ν
    shrinkage: float
    pooling: float
    dof: float
    sizes: np.ndarray  # (K,): sums of weights
    tol: float | None = None
    feature_names: tuple[str, ...] | None = None
    #: How a table's columns became these features, as plain data, where they did: see
    #: :class:`cospan.data.EncodingPlan`
    encoding: Mapping[str, Any] | None = None
    #: The gain and the offsets that turn costs into probabilities
    calibration: Calibration = field(default_factory=Calibration)

    @property
    def n_sets(self) -> int:
        return int(self.means.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.center.shape[0])

    @property
    def affine(self) -> bool:
        return self.span == "affine"

    @property
    def weights(self) -> np.ndarray:
        """(K,): what the square of one row counts in its set's moments."""
        return 1 / self.sizes if self.balance else np.ones(self.n_sets)

    @property
    def constant_features(self) -> np.ndarray:
        """Numbers of the features that are constant in every set."""
        return np.flatnonzero(arrays.to_numpy(self.unit) == 0)

    @property
    def n_varying(self) -> int:
        """How many features vary."""
        return self.n_features - len(self.constant_features)

    def origin(self, k: int) -> Array:
        """What is taken off a sample before it is compared with set k."""
        return self.means[k, :] if self.affine else self.center

    def per_unit(self) -> Array:
        """1/unit, and 0 for constant features."""
        unit = arrays.to_numpy(self.unit)
        return arrays.like(np.where(unit > 0, 1 / np.where(unit > 0, unit, 1.0), 0.0), self.unit)

    def mixing(self) -> np.ndarray:
        """(K, K): what set j weighs in the pooled covariance of set k."""
        K = self.n_sets
        return (1 - self.pooling) * np.eye(K) + self.pooling / K


def common_names(summaries: Sequence[Summary], labels: Sequence[str]) -> tuple[str, ...] | None:
    """The features' names that all summaries agree on, or an error that says where they do not."""
    if len(summaries) < 2:
        raise InputError(f"There are {len(summaries)} sets; at least two are needed.")
    first = summaries[0]
    names, whose = None, labels[0]
    for part, label in zip(summaries, labels, strict=True):
        if part.n_features != first.n_features:
            raise InputError(
                f"{labels[0]} has {first.n_features} features and {label} has {part.n_features}; "
                "all sets need the same features in the same order."
            )
        if names is None:
            names, whose = part.feature_names, label
        elif part.feature_names not in (None, names):
            pairs = zip(names, part.feature_names or (), strict=True)
            x, y = next(pair for pair in pairs if pair[0] != pair[1])
            raise InputError(
                f"{whose} and {label} have different feature names (first: {x!r} and {y!r}); "
                "bring the columns into the same order."
            )
    return names


def as_center(center: Any, d: int) -> np.ndarray:
    """A vector of d finite numbers."""
    wanted = f"it must be a vector of {d} numbers, or 'pooled', 'each' or 'none'."
    try:
        vector = np.asarray(arrays.to_numpy(center), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"center is {center!r}; {wanted}") from None
    if vector.shape != (d,):
        raise InputError(f"center has shape {vector.shape}; {wanted}")
    if not math.isfinite(float(vector.sum())):
        raise InputError(f"center is not finite at feature {np.argmin(np.isfinite(vector))}.")
    return vector
