"""What two sets differ in: location, scale, shape, in one currency.

In the frame the Bhattacharyya distance of the two normal fits is a sum over directions,

    D = ¼ Σ shift_i²  +  ½ Σ log cosh τ_i         τ_i = log tan θ_i = log(s_i/c_i)

(the second sum is -½ Σ log sin 2θ_i). The first is the part of the means, **location**. With all
τ_i replaced by their mean the second is the part of a common change of spread, **scale**; what
remains, never below 0 since log cosh is convex, is the part of **shape**: spreads and relations
that change in some directions more than in others.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan.errors import InputError

if TYPE_CHECKING:
    from cospan.frame.joint import JointFrame


class _Parts(NamedTuple):
    location: float
    scale: float
    shape: float


class Parts(_Parts):
    """The Bhattacharyya distance of two sets, split: (location, scale, shape).

    Attributes
    ----------
    location, scale, shape : float
        The parts; none is negative, and their sum is the distance.
    spread_ratio : float
        How many times as wide as A the set B spreads, in the geometric mean over directions.

    Examples
    --------
    >>> parts = Parts(0.5, 0.25, 0.0, spread_ratio=2.0)
    >>> location, scale, shape = parts
    >>> sum(parts) == parts.total == 0.75
    True
    """

    spread_ratio: float

    def __new__(cls, location: float, scale: float, shape: float, spread_ratio: float) -> Parts:
        self = super().__new__(cls, location, scale, shape)
        self.spread_ratio = spread_ratio
        return self

    def __getnewargs__(self) -> tuple[float, ...]:
        return *self, self.spread_ratio

    @property
    def total(self) -> float:
        """D, the whole difference."""
        return self.location + self.scale + self.shape


def differences_of(frame: JointFrame) -> Array:
    """Each direction's part of D, (m,)."""
    _refuse_linear(frame)
    shifts = arrays.to_numpy(frame.shifts)
    found = 0.25 * shifts**2 + 0.5 * _log_cosh(_log_ratio(frame))
    return arrays.like(found, frame.c)


def parts_of(frame: JointFrame) -> Parts:
    """D by location, scale and shape."""
    _refuse_linear(frame)
    tau = _log_ratio(frame)
    spread = 0.5 * float(np.sum(_log_cosh(tau)))
    # Directions off a span are alike in both sets: they count in the mean, with τ = 0.
    count = max(frame.geometry.n_varying, 1) if frame.shrinkage > 0 else max(len(tau), 1)
    mean = float(np.sum(tau)) / count if math.isfinite(spread) else 0.0
    scale = min(0.5 * count * float(_log_cosh(np.array([mean]))[0]), spread)
    return Parts(
        location=0.25 * float(np.sum(arrays.to_numpy(frame.shifts) ** 2)),
        scale=scale,
        shape=spread - scale,
        spread_ratio=math.exp(mean),
    )


def _refuse_linear(frame: JointFrame) -> None:
    if not frame.geometry.affine:
        raise InputError(
            'Location, scale and shape belong to span="affine", where every set has its own '
            'centre; fit the frame without span="linear".'
        )


def _log_ratio(frame: JointFrame) -> np.ndarray:
    c, s = arrays.to_numpy(frame.c), arrays.to_numpy(frame.s)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(s) - np.log(c), dtype=np.float64)


def _log_cosh(x: np.ndarray) -> np.ndarray:
    """log cosh x, without overflow."""
    size = np.abs(x)
    return np.asarray(size + np.log1p(np.exp(-2 * size)) - math.log(2))
