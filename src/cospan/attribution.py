"""Which features and which directions stand behind an angle.

With a and b the two costs of a sample, -cos 2θ = (a² - b²) / (a² + b²) runs from -1 (all A) over
0 (45°) to 1 (all B). Both squared costs are quadratic forms of the sample, so their difference
is a sum over features and, in frame coordinates, a sum over directions:

    φ_j = z_j [(S̃_A⁻¹ - S̃_B⁻¹) z]_j / (a² + b²)        over features, z centred
    ψ_i = y_i² (1/c_i² - 1/s_i²) / (a² + b²)            over directions

Exact, without sampling or a background set. With W = H⁺ the bracket is W ((1/c² - 1/s²) ∘ Wᵀz):
the product that scores the samples, and one more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._validate import as_option, as_rows, check_names
from cospan.errors import InputError
from cospan.frame import JointFrame
from cospan.frame.scorer import Scorer, inverse_square

__all__ = ["Attribution", "Effect", "attribute"]

# Bytes of samples explained at once: the passes between the two products stay in the cache
# (twice the speed of 32 MiB at 784 features). Fewer rows than that would starve the products.
_CHUNK_BYTES = 2**21
_CHUNK_ROWS = 256


class Effect(NamedTuple):
    """What one feature does to the angles of many samples."""

    feature: str
    column: int
    mean: float  # of φ: negative pulls to A, positive to B
    size: float  # mean of |φ|


@dataclass(frozen=True, eq=False)
class Attribution:
    """-cos 2θ of every sample, split over features and over directions.

    Negative pulls to A, positive to B.

    Attributes
    ----------
    features : array, (n, d)
        φ; the rows sum to `total`.
    directions : array, (n, m)
        ψ; the rows sum to `total`.
    total : array, (n,)
        -cos 2θ.
    feature_names : tuple of str
        The frame's, or ``"0"``, ``"1"``, … where it has none.
    """

    features: Array
    directions: Array
    total: Array
    feature_names: tuple[str, ...]

    def top(self, n: int = 10) -> tuple[Effect, ...]:
        """The n features with the largest mean of |φ| over the samples, largest first.

        Sizes, because the pulls of A's and B's samples have opposite signs and would cancel.
        """
        if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
            raise InputError(f"n is {n!r}; it must be a whole number of at least 1.")
        if not len(self):
            raise InputError("There are no samples, so no feature leads; explain at least one.")
        xp = arrays.namespace(self.features)
        mean = arrays.to_numpy(xp.mean(self.features, axis=0))
        size = arrays.to_numpy(xp.mean(xp.abs(self.features), axis=0))
        leading = np.argsort(-size, kind="stable")[:n]
        return tuple(
            Effect(self.feature_names[j], int(j), float(mean[j]), float(size[j])) for j in leading
        )

    def __len__(self) -> int:
        return int(self.total.shape[0])

    def __repr__(self) -> str:
        d, m = self.features.shape[1], self.directions.shape[1]
        return f"Attribution({len(self):,} samples, {d} features, {m} directions)"


def attribute(frame: JointFrame, Z: Any, *, weighting: str = "cost") -> Attribution:
    """Split the angle of every sample exactly over features and over directions.

    Parameters
    ----------
    frame : JointFrame
    Z : array-like or dataframe, (n, d)
        Computed in float64, whatever they are, in their namespace and on their device.
    weighting : {"cost", "frame"}
        As in :meth:`JointFrame.align`; the angles explained are those of ``frame.align(Z,
        weighting=weighting)``, not leave-one-out angles.

    Returns
    -------
    Attribution

    Notes
    -----
    A feature's part depends on the others it varies with, as a coefficient in a regression does:
    of two features that tell the same story one may get most of the credit, and single parts may
    exceed the total. Only the sum is bound. For the same reason that θ does not see it, a pure
    shift of the mean is not attributed either when the frame is centred at the midpoint: there
    both sets have the same second moments.

    At the centre θ is 45° and everything is 0. Features in which a sample equals the centre get
    exactly 0. Without shrinkage (α = 0) S⁻¹ stands for the pseudo-inverse in the frame: a
    direction only A has gives cost to A alone, and so pulls to B (as the angle itself does
    there), and what lies outside both sets pulls nowhere.

    Examples
    --------
    >>> import numpy as np
    >>> from cospan import JointFrame, attribute
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(500, 4)), rng.normal(size=(500, 4))
    >>> A[:, 1] *= 3.0
    >>> parts = attribute(JointFrame.fit(A, B), A)
    >>> parts
    Attribution(500 samples, 4 features, 4 directions)
    >>> [(effect.feature, round(effect.mean, 2)) for effect in parts.top(1)]
    [('1', -0.25)]
    >>> bool(np.allclose(parts.features.sum(axis=1), parts.total))
    True
    """
    weighting = as_option(weighting, "weighting", ("cost", "frame"))
    check_names(Z, frame.feature_names, "Z")
    rows = as_rows(Z, "Z", d=frame.n_features, allow_empty=True)
    xp = arrays.namespace(rows)
    # The parts of a sum are larger than the sum, so float32 would not add up to it.
    explain = _Explainer(frame, xp.astype(rows[:0, :], xp.float64), weighting)
    step = max(_CHUNK_ROWS, _CHUNK_BYTES // (8 * frame.n_features))
    parts = [
        explain(
            xp.astype(rows[start : min(start + step, rows.shape[0]), :], xp.float64, copy=False)
        )
        for start in range(0, max(rows.shape[0], 1), step)
    ]
    features, directions, total = (
        column[0] if len(parts) == 1 else xp.concat(column, axis=0)
        for column in zip(*parts, strict=True)
    )
    names = frame.feature_names or tuple(str(j) for j in range(frame.n_features))
    return Attribution(features, directions, total, names)


class _Explainer:
    """The frame's constants, laid out for explaining float64 rows on one device."""

    def __init__(self, frame: JointFrame, reference: Array, weighting: str) -> None:
        c, s = arrays.to_numpy(frame.c), arrays.to_numpy(frame.s)
        cost = weighting == "cost"
        a, b = (inverse_square(c), inverse_square(s)) if cost else (s**2, c**2)
        self.difference = arrays.like(a - b, reference)
        self.sum = arrays.like(a + b, reference)
        variance = frame.off_space_variance
        # Off the span both sets have the variance αλ: it counts in both costs, and cancels.
        self.off_space = (2.0 if cost else 0.5) / variance if variance else 0.0
        self.scorer = Scorer(frame, reference)
        self.center = arrays.like(frame.center, reference)

    def __call__(self, rows: Array) -> tuple[Array, Array, Array]:
        """Parts over features, over directions, and their sum, for some rows."""
        xp = arrays.namespace(rows)
        y, off, _ = self.scorer.coordinates(rows, self.center)
        squared = y * y
        costs = squared @ self.sum
        if off is not None and self.off_space:
            costs = costs + self.off_space * off
        scale = (1 / xp.where(costs > 0, costs, xp.ones_like(costs)))[:, None]
        pull = (y * (self.difference * scale)) @ self.scorer.inverse.T
        if self.scorer.basis is not None:
            pull = pull @ self.scorer.basis.T
        directions = squared * (self.difference * scale)
        total = xp.sum(directions, axis=1)
        return _summing_to(total, (rows - self.center) * pull), directions, total


def _summing_to(total: Array, parts: Array) -> Array:
    """The parts, with what rounding took off their sum put back in proportion to their sizes.

    Without shrinkage weak directions magnify rounding by the frame's condition number: on MNIST
    sums were off by up to 2e-10. No part moves by more than its own rounding error.
    """
    xp = arrays.namespace(parts)
    size = xp.abs(parts)
    sizes = xp.sum(size, axis=1)
    missing = (total - xp.sum(parts, axis=1)) / xp.where(sizes > 0, sizes, xp.ones_like(sizes))
    return parts + missing[:, None] * size
