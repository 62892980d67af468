"""The settings of a fit as users give them, checked."""

from __future__ import annotations

import math

import numpy as np

from cospan._validate import as_flag, as_option, as_shrinkage
from cospan.errors import InputError
from cospan.sets.choice import Asked, preferred_units
from cospan.sets.geometry import Geometry
from cospan.sets.prepared import PreparedSets

__all__ = ["as_asked", "resolved_calibration"]


def as_asked(
    prepared: PreparedSets,
    units: str,
    shrinkage: float | str,
    pooling: float | str,
    dof: float | str,
    picture: bool = False,
) -> Asked:
    """What is fixed and what is left to the data; "auto" is left to it."""
    units = as_option(units, "units", ("auto", "own", "common"))
    alpha = as_shrinkage(shrinkage)
    fixed_pooling = _number(pooling, "pooling", 0.0, 1.0)
    fixed_dof = _number(dof, "dof", 0.0, math.inf, above=True)
    preferred = preferred_units(prepared.feature_names is not None, picture)
    if not prepared.affine:
        if fixed_pooling or fixed_dof is not None or units == "own":
            name = "pooling" if fixed_pooling else "units" if units == "own" else "dof"
            raise InputError(f'{name} belongs to span="affine"; leave it out with span="linear".')
        units, fixed_pooling, fixed_dof = "common", 0.0, 0.0
    return Asked(
        units=None if units == "auto" else units,
        shrinkage=None if isinstance(alpha, str) else float(alpha),
        pooling=fixed_pooling,
        dof=fixed_dof,
        prefer_units=preferred,
    )


def _number(
    value: float | str, name: str, low: float, high: float, *, above: bool = False
) -> float | None:
    """A number in a range, or None for "auto"."""
    if isinstance(value, str) and value == "auto":
        return None
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    lowest = math.nextafter(low, math.inf) if above else low
    if number and lowest <= float(value) <= high and float(value) < math.inf:
        return float(value)
    wanted = "a number above 0" if above else f"a number from {low:g} to {high:g}"
    raise InputError(f"{name} is {value!r}; it must be {wanted}, or 'auto'.")


def resolved_calibration(calibrate: bool | None, geometry: Geometry) -> bool:
    """Whether to calibrate: by default in the affine span; the paper's angle is raw."""
    return geometry.affine if calibrate is None else as_flag(calibrate, "calibrate")
