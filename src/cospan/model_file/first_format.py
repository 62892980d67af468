"""What cospan 0.1 wrote: format 1.

Its frames are linear and raw: one centre, one unit λ for all features, θ straight from the costs.
They are read as just that, with directions and maps divided by √λ, the unit that features have
now. Of sets about one centre the files hold the centre but not the means, so it is read as a given
one: leave-one-out angles hold it, as those of 0.1 did.

Estimators of 0.1 could append a constant to every row, and map probabilities through curves. Both
are kept here, and nowhere else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._tolerance import NARROW_PROBABILITY
from cospan._types import Floats
from cospan.errors import ModelFileError
from cospan.model import Geometry, JointFrame, SetCosts
from cospan.model_file.parts import read_directions
from cospan.model_file.reader import ABOVE_0, BELOW_1, Reader


def frame(read: Reader) -> JointFrame:
    """A frame of format 1."""
    d = len(read.tensor("center", None))
    means = np.stack([read.tensor("center_a", d), read.tensor("center_b", d)])
    sizes = np.array([read.number(name, least=ABOVE_0) for name in ("n_a", "n_b")])
    geometry, unit = _linear(read, means, sizes)
    found = read_directions(read, d)
    return JointFrame(
        geometry=geometry,
        **found._replace(core=found.core / unit, inverse=found.inverse * unit)._asdict(),
    )


def costs(read: Reader) -> SetCosts:
    """Costs of format 1."""
    n_sets = read.integer("sets", least=2, most=2**31)
    d = len(read.tensor("center", None))
    sizes = read.tensor("sizes", n_sets, least=ABOVE_0)
    geometry, unit = _linear(read, read.tensor("centers", n_sets, d), sizes)
    weighting = read.choice("weighting", "cost", "frame")
    basis = read.optional_tensor("basis", d, None)
    e = d if basis is None else basis.shape[1]
    square = weighting == "cost" and geometry.shrinkage > 0
    maps = tuple(read.tensor(f"map{k}", e, e if square else None) for k in range(n_sets))
    maps = tuple(one * unit for one in maps)
    return SetCosts(geometry=geometry, weighting=weighting, maps=maps, basis=basis)


def _linear(read: Reader, means: Floats, sizes: Floats) -> tuple[Geometry, float]:
    """The geometry of 0.1, and the unit of its features."""
    center = read.tensor("center", means.shape[1])
    lam = read.number("lam")
    mode = read.choice("center_mode", "pooled", "each", "none", "given")
    unit = math.sqrt(lam) or 1.0
    geometry = Geometry(
        span="linear",
        center=center,
        center_mode="given" if mode == "pooled" else mode,
        means=means,
        unit=np.full(len(center), unit),
        units="common",
        balance=read.value("balance", bool),
        shrinkage=read.number("shrinkage", most=BELOW_1),
        pooling=0.0,
        dof=0.0,
        sizes=sizes,
        tol=read.tolerance(),
        feature_names=read.names("feature_names", len(center)),
    )
    return geometry, unit


# ---- curves from weights to probabilities -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class Curves:
    """For each class (of two: the second one) a rising curve from weight to probability."""

    #: ``"isotonic"``: straight between knots; ``"sigmoid"``: a logistic curve of the log-odds
    method: str
    #: (2, knots) each. Isotonic: log-odds of the weight, and probability, at each knot. Sigmoid:
    #: slope and intercept, one column
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
        narrow = np.clip(weight, NARROW_PROBABILITY, 1 - NARROW_PROBABILITY)
        odds = np.log(narrow) - np.log1p(-narrow)
        if self.method == "isotonic":
            return np.asarray(np.interp(odds, curve[0], curve[1]))
        slope, intercept = curve[:, 0]
        return np.asarray(1 / (1 + np.exp(-np.clip(slope * odds + intercept, -700, 700))))

    def tensors(self) -> dict[str, NDArray[Any]]:
        return {f"curve{k}": np.ascontiguousarray(one) for k, one in enumerate(self.curves)}


def read_curves(read: Reader, n_classes: int) -> Curves | None:
    """The curves of an estimator, if it has any."""
    if read.value("calibration", str, type(None)) is None:
        return None
    method = read.choice("calibration", "isotonic", "sigmoid")
    knots = 1 if method == "sigmoid" else None
    count = 1 if n_classes == 2 else n_classes
    curves = tuple(read.tensor(f"curve{k}", 2, knots) for k in range(count))
    if method == "isotonic" and not all(_rises(curve) for curve in curves):
        raise ModelFileError("A curve of the estimator's calibration does not rise from 0 to 1.")
    return Curves(method, curves)


def _rises(curve: Floats) -> bool:
    """Knots in order, probabilities that never fall and stay between 0 and 1."""
    if not curve.shape[1]:
        return False
    return bool((np.diff(curve) >= 0).all() and curve[1, 0] >= 0 and curve[1, -1] <= 1)
