"""Attribution of the angle that a comparison shows, leave-one-out included.

Both squared costs are quadratic forms zᵀMz, and zᵀMz = Σⱼ zⱼ (Mz)ⱼ is a sum over features. When
a row leaves its own set, that set's form changes by a rank-one term, which at the row itself only
scales it (weighting "cost") or lowers it by a multiple of ‖y‖² (weighting "frame"): still a sum
over features. So the features' shares add up to -cos 2θ of the honest angle exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cospan.frame import JointFrame

__all__ = ["own_attribution"]

Floats = NDArray[np.float64]


def own_attribution(
    frame: JointFrame, rows: NDArray[Any], side: str | None = None, weighting: str = "cost"
) -> Floats:
    """What each feature of each row adds to -cos 2θ: negative pulls to A, positive to B.

    Parameters
    ----------
    frame : JointFrame
    rows : ndarray of shape (n, d)
    side : {"A", "B"}, optional
        The set these rows helped to fit; each is then left out of it.
    weighting : {"cost", "frame"}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cospan import JointFrame
    >>> X, y = load_digits(return_X_y=True)
    >>> frame = JointFrame.fit(X[y == 4], X[y == 9])
    >>> phi = own_attribution(frame, X[y == 4], "A")
    >>> theta = frame.left_out(X[y == 4], "A").theta
    >>> bool(np.allclose(phi.sum(axis=1), -np.cos(2 * theta)))
    True
    """
    center = {"A": frame.center_a, "B": frame.center_b, None: frame.center}[side]
    z = np.asarray(rows, dtype=np.float64) - np.asarray(center)
    forms = _Forms(frame, z)
    if weighting == "cost":
        a = forms.split(_inverse_square(frame.c), 1.0)
        b = forms.split(_inverse_square(frame.s), 1.0)
    else:
        a, b = forms.split(frame.s**2, 0.25), forms.split(frame.c**2, 0.25)
    if side is not None:
        weight = (1 - frame.shrinkage) * (frame.weight_a if side == "A" else frame.weight_b)
        if weighting == "cost":
            a, b = _scaled(a, b, weight, side)
        else:
            a, b = _lowered(a, b, forms.split(np.ones(frame.rank), 0.5), weight, side)
    total = (a + b).sum(axis=1, keepdims=True)
    return np.asarray((a - b) / np.where(total == 0, 1.0, total))


class _Forms:
    """Quadratic forms of samples that are diagonal in the frame, split over features."""

    def __init__(self, frame: JointFrame, z: Floats) -> None:
        self.frame, self.z = frame, z
        self.inside = z if frame.basis is None else z @ frame.basis
        self.y = self.inside @ frame.inverse

    def split(self, weights: Floats, off_weight: float) -> Floats:
        """zⱼ (Mz)ⱼ of ‖√weights ∘ y‖²; off the span every direction counts `off_weight`/αλ."""
        frame = self.frame
        u = (self.y * weights) @ frame.inverse.T
        if frame.basis is not None:
            u = u @ frame.basis.T
            if frame.off_space_variance:
                off = self.z - self.inside @ frame.basis.T
                u += (off_weight / frame.off_space_variance) * off
        return np.asarray(self.z * u)


def _scaled(a: Floats, b: Floats, weight: float, side: str) -> tuple[Floats, Floats]:
    """The own cost q becomes q / (1 - weight q); both are multiplied by that denominator here.

    So a row that nothing else in its set spans (infinite cost) needs no special case.
    """
    own = a if side == "A" else b
    remaining = np.maximum(1 - weight * own.sum(axis=1, keepdims=True), 0.0)
    return (a, remaining * b) if side == "A" else (remaining * a, b)


def _lowered(a: Floats, b: Floats, norm: Floats, weight: float, side: str) -> tuple[Floats, Floats]:
    """The own part (‖c∘y‖² for A) loses weight ‖y‖⁴, but never falls below 0."""
    own = b if side == "A" else a
    own = own - weight * norm.sum(axis=1, keepdims=True) * norm
    own = np.where(own.sum(axis=1, keepdims=True) > 0, own, 0.0)
    return (a, own) if side == "A" else (own, b)


def _inverse_square(x: Floats) -> Floats:
    """1/x², with 1/0 read as 0."""
    return np.where(x > 0, 1 / np.where(x > 0, x, 1.0) ** 2, 0.0)
