"""A constant among the features, so that the means of the sets count.

A frame compares second moments about one centre. About the midpoint of two means, those of A and
of its mirror image are the same: two clouds of one shape that differ by a shift alone look alike.
With a constant feature beside the others the second moments hold the means as well, and the cost
grows with the distance from the set's own mean. In size the constant is a multiple of the rows'
rms distance from the centre, so that it scales with the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan.summary import Summary

__all__ = ["WithConstant", "append_column", "with_constant"]


class WithConstant(NamedTuple):
    """Summaries with the constant as their last feature, its value, and the centre to use."""

    summaries: list[Summary]
    value: float
    center: np.ndarray


def append_column(rows: Array, value: float) -> Array:
    """Rows with one more feature, of this value in every row."""
    xp = arrays.namespace(rows)
    return xp.concat((rows, xp.full_like(rows[:, :1], value)), axis=1)


def with_constant(summaries: Sequence[Summary], constant: float, balance: bool) -> WithConstant:
    """The summaries as if every row had had the constant, without seeing the rows again.

    The centre is the pooled one of all sets, and leaves the constant as it is.
    """
    first = summaries[0].mean
    sizes = np.ones(len(summaries)) if balance else np.array([part.n for part in summaries])
    shares = sizes / sizes.sum()
    center = first + sum(
        share * (part.mean - first) for share, part in zip(shares.tolist(), summaries, strict=True)
    )
    squared = [part.trace_about(center, 1 / part.n) for part in summaries]
    value = constant * math.sqrt(float(shares @ np.array(squared)))
    return WithConstant(
        [_extended(part, value) for part in summaries],
        value,
        np.append(arrays.to_numpy(center), 0.0),
    )


def _extended(summary: Summary, value: float) -> Summary:
    xp = arrays.namespace(summary.mean)
    scatter = append_column(summary._scatter, 0.0)
    if not summary.is_factored:
        scatter = xp.concat((scatter, 0 * scatter[:1, :]), axis=0)
    names = summary.feature_names
    sample = summary.sample
    return replace(
        summary,
        mean=append_column(summary.mean[None, :], value)[0, :],
        sample=replace(sample, rows=append_column(sample.rows, value)),
        feature_names=None if names is None else (*names, "constant"),
        _scatter=scatter,
    )
