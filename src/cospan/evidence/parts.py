"""The difference of two sets, distributed over the features.

D = ¼ Σ shift_i² + ½ Σ log cosh τ_i is a sum over directions (see ``cospan.model.directions``).
Both sums are split over features by one rule, *value times pull*:

- **location**. The first sum is ¼ δᵀW⁻¹δ, with δ the difference of the means and W the sum of both
  covariances, hence exactly ¼ Σ_j δ_j (W⁻¹δ)_j. A feature's part is in proportion to
  |δ_j (W⁻¹δ)_j|. If only one of several correlated features moves, that one gets the whole part.
- **spread**. Along direction i a row has the coordinate y_i = Σ_j x_j g_ji, and the covariance of
  x_j and y_i over both sets is h_ij, so that the variance of y_i, which is 1, is Σ_j g_ji h_ij.
  Direction i's part goes to the features in proportion to |g_ji h_ij|.

Sizes are taken because single products may be negative (a feature that moved less than its
companions); the parts are scaled to add up to D again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cospan.base import arrays
from cospan.base.tolerance import NO_SHARE, NOT_ZERO
from cospan.base.types import Floats

if TYPE_CHECKING:
    from cospan.model import JointFrame

#: Directions handled at once, times features.
_BLOCK = 2**22


class FeatureParts(NamedTuple):
    """Each feature's part of D, (d,): that of the means, and that of spreads and relations."""

    location: Floats
    spread: Floats

    @property
    def total(self) -> Floats:
        return self.location + self.spread


def feature_parts(frame: JointFrame) -> FeatureParts:
    """Distribute the difference of a frame's two sets over its features.

    >>> from cospan import JointFrame
    >>> from cospan.evidence import feature_parts
    >>> rng = np.random.default_rng(0)
    >>> common = rng.normal(size=(4000, 1))
    >>> A, B = np.split(common + 0.5 * rng.normal(size=(4000, 3)), 2)
    >>> frame = JointFrame.fit(A, B + [0, 1, 0])
    >>> parts = feature_parts(frame)
    >>> (parts.location / parts.location.sum()).round(2)
    array([0.02, 0.97, 0.01])
    >>> bool(abs(parts.total.sum() - frame.parts.total) < 1e-12)
    True
    """
    shifts = arrays.to_numpy(frame.shifts)
    whole = np.asarray(arrays.to_numpy(frame.differences), dtype=np.float64)
    far = 0.25 * shifts**2
    return FeatureParts(_location(frame, shifts), _spread(frame, np.maximum(whole - far, 0.0)))


def _location(frame: JointFrame, shifts: Floats) -> Floats:
    means = arrays.to_numpy(frame.geometry.means)
    per_unit = arrays.to_numpy(frame.geometry.per_unit())
    pull = arrays.to_numpy(frame.inverse) @ shifts
    if frame.basis is not None:
        pull = arrays.to_numpy(frame.basis) @ pull
    size = np.abs((means[1] - means[0]) * per_unit * pull)
    return np.asarray(size * (0.25 * float(shifts @ shifts) / max(size.sum(), NOT_ZERO)))


def _spread(frame: JointFrame, parts: Floats) -> Floats:
    """Distribute parts of directions, (m,), over the features, (d,)."""
    core, inverse = arrays.to_numpy(frame.core), arrays.to_numpy(frame.inverse)
    basis = None if frame.basis is None else arrays.to_numpy(frame.basis)
    varies = arrays.to_numpy(frame.geometry.unit) > 0
    found = np.zeros(frame.n_features)
    step = max(1, _BLOCK // frame.n_features)
    for i in range(0, len(parts), step):
        h, g = core[i : i + step], inverse[:, i : i + step].T
        if basis is not None:
            h, g = h @ basis.T, g @ basis.T
        size = np.abs(h * g) * varies
        here = parts[i : i + step]
        scaled = size / np.maximum(size.sum(axis=1, keepdims=True), NOT_ZERO)
        # A direction that only one set has is infinitely far off: so are its features then.
        endless = ~np.isfinite(here)
        found += np.where(endless, 0.0, here) @ scaled
        found[(scaled[endless] > NO_SHARE).any(axis=0)] = np.inf
    return found
