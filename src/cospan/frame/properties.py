"""What a joint frame holds, and what follows from it without looking at a row.

One GSVD of the centred, shrunk pair gives directions H with the weights c and s. Where the rows do
not fill the feature space (rank below d), the frame works inside their span: `basis` holds an
orthonormal basis of it, in units, and `core` the frame in its coordinates. Under shrinkage all
directions off the span are alike for both sets, with variance α; they enter both costs through the
norm of what lies off the span, and are never written out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan.alignment import Alignment
from cospan.decomposition import Blocks
from cospan.sets import Geometry
from cospan.sets.curved import CurvedSets
from cospan.sets.maps import working_rows
from cospan.typicality import Typicality

T = TypeVar("T")


class Derived(Generic[T]):
    """What follows from a frame: an attribute of its geometry, or a function of the frame."""

    def __init__(self, read: str | Callable[[Any], T], doc: str) -> None:
        self._read = attrgetter(f"geometry.{read}") if isinstance(read, str) else read
        self.__doc__ = doc

    @overload
    def __get__(self, frame: None, owner: type) -> Self: ...
    @overload
    def __get__(self, frame: object, owner: type) -> T: ...
    def __get__(self, frame: object | None, owner: type) -> Any:
        return self if frame is None else self._read(frame)


@dataclass(frozen=True, eq=False, repr=False)
class FrameProperties:
    """What a joint frame is made of, and its plain properties; see :class:`cospan.JointFrame`."""

    geometry: Geometry
    c: Array
    s: Array
    blocks: Blocks
    core: Array
    inverse: Array
    basis: Array | None = None
    U: Array | None = None
    V: Array | None = None
    dropped: int = 0
    typicality: Typicality | None = None
    curve: CurvedSets | None = None

    span = Derived[str]("span", """``"affine"`` or ``"linear"``.""")
    units = Derived[str](
        "units", """``"own"`` or ``"common"``: whose variance shrinkage pulls to."""
    )
    shrinkage = Derived[float]("shrinkage", """The α in use, also when ``"auto"`` chose it.""")
    pooling = Derived[float]("pooling", "The γ in use.")
    dof = Derived[float]("dof", "The ν in use; 0 in the linear span.")
    gain = Derived[float](
        "calibration.gain",
        "β: log tan²θ = β (ℓ - ℓ₀), with ℓ the log ratio of the squared costs; 1 if raw.",
    )
    zero = Derived[float](
        "calibration.zero", "ℓ₀, the log ratio of squared costs at which θ is 45°."
    )
    center = Derived[Array](
        "center", "The origin of coordinates: the midpoint of the means in the affine span."
    )
    center_mode = Derived[str](
        "center_mode",
        """``"own"`` in the affine span; ``"pooled"``, ``"each"``, ``"none"`` or ``"given"``.""",
    )
    balance = Derived[bool]("balance", "Whether a set's moments are divided by its size.")
    tol = Derived[float | None]("tol", "The tolerance asked for.")
    feature_names = Derived[tuple[str, ...] | None]("feature_names", "What features are called.")
    n_features = Derived[int]("n_features", "The number of features.")
    constant_features = Derived[np.ndarray](
        "constant_features", "Numbers of features constant in both sets; no direction has them."
    )

    n_a = Derived(lambda f: float(f.geometry.sizes[0]), "The size of A (the sum of its weights).")
    n_b = Derived(lambda f: float(f.geometry.sizes[1]), "The size of B.")
    center_a = Derived[Array](lambda f: f._about(0), "What A's moments are taken about.")
    center_b = Derived[Array](lambda f: f._about(1), "What B's moments are taken about.")
    rank = Derived(lambda f: int(f.c.shape[0]), "The number of directions.")

    def _about(self, k: int) -> Array:
        own = self.geometry.center_mode in ("own", "each")
        return self.geometry.means[k, :] if own else self.geometry.center

    @property
    def lam(self) -> float:
        """Mean variance that shrinkage pulls towards, over the features that vary."""
        unit = arrays.to_numpy(self.geometry.unit)
        return float(np.mean(unit[unit > 0] ** 2)) if unit.any() else 0.0

    @property
    def H(self) -> Array:
        """The frame, (m, d): its rows are the directions in feature space."""
        return in_feature_units(self.core, self.basis, self.geometry)

    @property
    def angles(self) -> Array:
        """Each direction's angle in radians."""
        return arrays.namespace(self.c).atan2(self.s, self.c)

    @cached_property
    def shifts(self) -> Array:
        """(m,): how far B's mean lies from A's along each direction, in pooled spreads."""
        means = self.geometry.means
        step = working_rows(means[1:, :], means[0, :], self.geometry, self.basis)[0]
        return arrays.matmul(step, arrays.like(self.inverse, step))[0, :]

    def alignment_of(
        self,
        squared: Sequence[Array],
        weighting: str = "cost",
        shares: Array | None = None,
        outside: Array | None = None,
    ) -> Alignment:
        """The alignment of samples whose squared costs these are, by A and by B."""
        calibration, typicality = self.geometry.calibration, self.typicality
        return Alignment.from_costs(
            *squared, shares=shares, outside=outside, weighting=weighting,
            calibration=calibration, typicality=typicality,
        )  # fmt: skip

    @property
    def off_space_variance(self) -> float:
        """α, the variance of both sets in directions off the span; 0 if there are none.

        Only frames that work inside a span have such directions.
        """
        return self.shrinkage if self.basis is not None else 0.0

    def cost_weights(self, weighting: str = "cost") -> tuple[np.ndarray, np.ndarray]:
        """What squares of coordinates count in A's cost and in B's, (m,) each; γ included."""
        c2, s2 = (np.square(arrays.to_numpy(x)) for x in (self.c, self.s))
        if weighting == "frame":
            return s2, c2
        gamma = self.pooling
        if gamma > 0:
            c2, s2 = ((1 - gamma) * x + gamma / 2 for x in (c2, s2))
            return 1 / c2, 1 / s2
        return inverse_square(arrays.to_numpy(self.c)), inverse_square(arrays.to_numpy(self.s))


def in_feature_units(core: Array, basis: Array | None, geometry: Geometry) -> Array:
    """Rows in working coordinates as rows of features.

    A constant feature has no unit; a direction along it, as files of before have it, keeps its
    length.
    """
    inside = core if basis is None else arrays.matmul(core, basis.T)
    unit = arrays.to_numpy(geometry.unit)
    return inside * arrays.like(np.where(unit > 0, unit, 1.0), inside)[None, :]


def inverse_square(x: np.ndarray) -> np.ndarray:
    """1/x², with 1/0 read as 0."""
    return np.where(x > 0, 1 / np.where(x > 0, x, 1.0) ** 2, 0.0)
