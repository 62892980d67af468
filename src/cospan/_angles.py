"""Angles and histograms of angles as users pass them, checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cospan._tolerance import ANGLE_ROUNDING, UNIT_SUM
from cospan._types import Floats
from cospan._validate import as_confidence, as_count
from cospan.errors import InputError

__all__ = ["as_angles", "as_histograms", "as_prior", "bin_index", "in_range"]


RIGHT_ANGLE = math.pi / 2


def as_angles(theta: ArrayLike, name: str) -> Floats:
    """A flat float64 array of at least one angle, checked."""
    angles = in_range(theta, name)
    if angles.ndim != 1:
        raise InputError(f"{name} must be one row of angles, but its shape is {angles.shape}.")
    if angles.size == 0:
        raise InputError(f"{name} is empty: at least one angle is needed.")
    return angles


def bin_index(angles: Floats, bins: int) -> NDArray[np.intp]:
    """Which of ``bins`` equal bins over [0, π/2] each angle falls into."""
    inner = np.linspace(0.0, RIGHT_ANGLE, as_count(bins, "bins") + 1)[1:-1]
    return np.searchsorted(inner, angles, side="right")


def as_histograms(P: ArrayLike, Q: ArrayLike) -> tuple[Floats, Floats]:
    """Two probability vectors of one length, checked, their sums made 1 to the last digit."""
    p, q = _histogram(P, "P"), _histogram(Q, "Q")
    if p.shape != q.shape:
        raise InputError(
            f"P has {p.size} bins and Q has {q.size}: make both histograms with the same bins."
        )
    return p, q


def _numbers(values: Any, name: str, kind: str) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold {kind}, but cannot be read as numbers.") from error
    if not np.all(np.isfinite(array)):
        count = int(np.count_nonzero(~np.isfinite(array)))
        raise InputError(
            f"{name} holds {count} NaN or infinite values: drop them, or look at the rows they "
            "come from."
        )
    return array


def in_range(theta: ArrayLike, name: str) -> Floats:
    """Angles of any shape as float64, checked."""
    angles = _numbers(theta, name, "angles")
    if (
        angles.size
        and not -ANGLE_ROUNDING <= angles.min() <= angles.max() <= RIGHT_ANGLE + ANGLE_ROUNDING
    ):
        raise InputError(
            f"{name} reaches from {angles.min():.6g} to {angles.max():.6g}, but angles lie in "
            "[0, π/2]: pass radians, not degrees."
        )
    return np.clip(angles, 0.0, RIGHT_ANGLE)


def _histogram(values: ArrayLike, name: str) -> Floats:
    p = _numbers(values, name, "the probabilities of a histogram")
    if p.ndim != 1 or p.size == 0:
        raise InputError(f"{name} must be one row of bins, but its shape is {p.shape}.")
    if p.min() < 0:
        raise InputError(f"{name} holds a negative probability, {p.min():.6g}.")
    if abs(p.sum() - 1) > UNIT_SUM:
        raise InputError(
            f"{name} sums to {p.sum():.6g}, but a histogram of probabilities sums to 1: divide "
            "counts by their total."
        )
    return np.asarray(p / p.sum())


def as_prior(prior: float) -> float:
    """A share strictly between 0 and 1."""
    return as_confidence(prior, "prior")
