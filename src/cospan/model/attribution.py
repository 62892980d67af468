"""Which features and which directions are behind an angle.

With a and b the two costs of a sample, the balance (a² - b²) / (a² + b²) runs from -1 (all A) to 1
(all B). Each squared cost is a sum over features, and in frame coordinates a sum over directions,
so their difference is one too:

    φ_j = {(z - μ_A)_j [Σ̃_A⁻¹(z - μ_A)]_j - (z - μ_B)_j [Σ̃_B⁻¹(z - μ_B)]_j} / (a² + b²)
    ψ_i = {(y_i - a_i)²/c_i² - (y_i - b_i)²/s_i²} / (a² + b²)

The ν of both costs cancels, and so does what lies off the span of few rows. The calibrated angle
is 45° where log(a²/b²) is ℓ₀, so at the balance tanh(ℓ₀/2), the `base`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cospan.base import arrays
from cospan.base.checks import as_count, as_rows, check_names
from cospan.base.types import Array
from cospan.errors import InputError
from cospan.model.frame import JointFrame
from cospan.model.scoring import Scorer


@dataclass(frozen=True, eq=False)
class Attribution:
    """The balance of every sample's costs, split over features and over directions.

    Negative pulls to A, positive to B.

    Attributes
    ----------
    features : array, (n, d)
        φ; the rows sum to `total`.
    directions : array, (n, m)
        ψ; the rows sum to `total`.
    total : array, (n,)
        The balance (cost_a² - cost_b²) / (cost_a² + cost_b²), which is -cos 2θ of the raw angle.
    base : float
        The balance at which the calibrated θ is 45°; 0 for raw angles.
    feature_names : tuple of str
        The frame's, or ``"0"``, ``"1"``, … where it has none.
    """

    features: Array
    directions: Array
    total: Array
    base: float
    feature_names: tuple[str, ...]

    @property
    def pull(self) -> Array:
        """(n,): total - base, below 0 where θ < 45° and above 0 where θ > 45°."""
        return self.total - self.base

    def top(self, n: int = 10) -> tuple[str, ...]:
        """The n features with the largest mean of abs(φ) over the samples, largest first.

        Sizes, because the pulls of A's and B's samples have opposite signs and would cancel.
        """
        if not len(self):
            raise InputError("There are no samples, so no feature leads; explain at least one.")
        size = arrays.to_numpy(arrays.namespace(self.features).abs(self.features)).mean(axis=0)
        leading = np.argsort(-size, kind="stable")[: as_count(n, "n")]
        return tuple(self.feature_names[j] for j in leading)

    def __len__(self) -> int:
        return int(self.total.shape[0])

    def __repr__(self) -> str:
        d, m = self.features.shape[1], self.directions.shape[1]
        return f"Attribution({len(self):,} samples, {d} features, {m} directions)"


def attribute(frame: JointFrame, Z: object) -> Attribution:
    """Split the balance of every sample's costs exactly over features and over directions.

    Parameters
    ----------
    frame : JointFrame
        A curved one has no such sum; explain ``frame.plain``.
    Z : array-like or dataframe, (n, d)
        Computed in float64, whatever they are, in their namespace and on their device.

    Notes
    -----
    The angles explained are those of ``frame.align(Z)``, not leave-one-out angles.

    A feature's part depends on the others it varies with, as a coefficient in a regression does:
    of two features that tell the same story one may get most of the credit, and single parts may
    exceed the total. Only the sum is bound. Features that are constant in both sets get 0.

    Without shrinkage (α = 0) Σ⁻¹ stands for the pseudo-inverse in the frame: a direction only A
    has gives cost to A alone, and so pulls to B (as the angle itself does there), and what lies
    outside both sets pulls nowhere.

    Examples
    --------
    >>> from cospan import JointFrame, attribute
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(500, 4)), rng.normal(size=(500, 4))
    >>> B[:, 1] += 2.0
    >>> parts = attribute(JointFrame.fit(A, B), B)
    >>> parts
    Attribution(500 samples, 4 features, 4 directions)
    >>> parts.top(1)
    ('1',)
    >>> bool(np.allclose(parts.features.sum(axis=1), parts.total))
    True
    """
    if frame.curve is not None:
        raise InputError(
            "A curved frame's costs are no sums over features; explain frame.plain, the same sets "
            "without the curve."
        )
    check_names(Z, frame.feature_names, "Z")
    rows = as_rows(Z, "Z", d=frame.n_features, allow_empty=True)
    names = frame.feature_names or tuple(str(j) for j in range(frame.n_features))
    xp = arrays.namespace(rows)
    # The parts of a sum are larger than the sum, so float32 would not add up to it.
    fine = xp.astype(rows, xp.float64, copy=False)
    scorer = Scorer(frame, fine, fine=True)
    weights, at = ([arrays.like(x, fine) for x in one] for one in (scorer.weights, scorer.at))
    y, off, _ = scorer.coordinates(fine)
    away = [y - one[None, :] for one in at]
    slopes = [weight[None, :] * x for weight, x in zip(weights, away, strict=True)]
    of_a, of_b = (slope * x for slope, x in zip(slopes, away, strict=True))
    costs = xp.sum(of_a, axis=1) + xp.sum(of_b, axis=1) + 2 * frame.dof
    if off is not None and frame.off_space_variance:
        # Off the span both sets have the variance α: it counts in both costs, and cancels.
        costs = costs + 2.0 / frame.off_space_variance * off
    scale = (1 / xp.where(costs > 0, costs, xp.ones_like(costs)))[:, None]
    directions = (of_a - of_b) * scale
    total = xp.sum(directions, axis=1)

    def pulled(slope: Array, k: int) -> Array:
        """What features add to a squared cost with this slope in frame coordinates."""
        pull = slope @ scorer.across.T
        if scorer.basis is not None and scorer.per_unit is not None:
            pull = (pull @ scorer.basis.T) * scorer.per_unit[None, :]
        return (fine - arrays.like(frame.geometry.origin(k), fine)[None, :]) * pull

    features = pulled(slopes[0], 0) - pulled(slopes[1], 1)
    return Attribution(features * scale, directions, total, math.tanh(frame.zero / 2), names)
