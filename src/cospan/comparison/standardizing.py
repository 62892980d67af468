"""Features on one scale inside, in their own units outside.

Dividing every feature by its deviation changes what shrinkage does, and nothing else has to know:
the summaries are scaled, the frame is fitted, and the frame is put back into the features' own
units. It then takes, scores and shows rows as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.errors import InputError

if TYPE_CHECKING:
    from cospan.frame import JointFrame
    from cospan.summary import Summary

__all__ = ["fit_frame", "pooled_deviation"]

Floats = NDArray[np.float64]


def fit_frame(a: Summary, b: Summary, *, standardize: bool, **settings: Any) -> JointFrame:
    """The joint frame of two summaries, features standardised on the way or not."""
    from cospan.frame import JointFrame

    if not standardize:
        return JointFrame.from_summaries(a, b, **settings)
    scale = pooled_deviation(a, b)
    if not isinstance(settings.get("center", "pooled"), str):
        settings["center"] = np.asarray(settings["center"]) / scale
    frame = JointFrame.from_summaries(_scaled(a, scale), _scaled(b, scale), **settings)
    return _in_own_units(frame, scale)


def pooled_deviation(a: Summary, b: Summary) -> Floats:
    """Standard deviation of each feature over the rows of both sets; 1 where it is constant."""
    n = a.n + b.n
    mean_a, mean_b = np.asarray(a.mean), np.asarray(b.mean)
    between = a.n * b.n / n * np.square(mean_a - mean_b)
    deviation = np.sqrt((_sum_of_squares(a) + _sum_of_squares(b) + between) / n)
    # Rounding leaves a constant feature with a deviation of a few eps of its value.
    rounding = 64 * np.finfo(float).eps * np.maximum(np.abs(mean_a), np.abs(mean_b))
    return np.where(deviation <= rounding, 1.0, deviation)


def _sum_of_squares(summary: Summary) -> Floats:
    if summary.exact:
        return np.asarray(np.square(np.asarray(summary.factor_about())).sum(axis=0))
    return np.asarray(np.maximum(np.diagonal(np.asarray(summary.scatter_about())), 0.0))


def _scaled(summary: Summary, scale: Floats) -> Summary:
    """The summary of the rows divided by `scale`."""
    scatter = np.asarray(summary._scatter) / scale
    scatter = scatter if summary.exact else scatter / scale[:, None]
    trace = np.square(scatter).sum() if summary.exact else np.trace(scatter)
    return replace(
        summary,
        mean=np.asarray(summary.mean) / scale,
        trace=float(trace),
        sample=replace(summary.sample, rows=summary.sample.rows / scale),
        _scatter=scatter,
    )


def _in_own_units(frame: JointFrame, scale: Floats) -> JointFrame:
    """The same frame for rows that are not divided by `scale`."""
    moved = {name: getattr(frame, name) * scale for name in ("center", "center_a", "center_b")}
    if frame.basis is None:
        inverse = frame.inverse / scale[:, None]
        return replace(frame, core=frame.core * scale, inverse=inverse, **moved)
    if frame.off_space_variance:
        # Off the span a scaled frame is alike in all directions; in the features' units it is not.
        raise InputError(
            "standardize needs more rows than features here; divide the features by their "
            "standard deviations before, or set shrinkage=0."
        )
    basis, triangle = np.linalg.qr((frame.core @ frame.basis.T * scale).T)
    inverse = np.linalg.inv(triangle.T)
    return replace(frame, core=triangle.T, inverse=inverse, basis=basis, **moved)
