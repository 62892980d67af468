"""What is refused: rows beyond float64, and summaries that do not merge."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cospan import _arrays as arrays
from cospan._validate import check_same_library
from cospan.errors import InputError
from cospan.summary.moments import Moments
from cospan.summary.row_sample import RowSample

if TYPE_CHECKING:
    from cospan.summary.summary import Summary


def mergeable_names(a: Summary, b: Summary) -> tuple[str, ...] | None:
    """The names of both summaries' features, or an error that says why they do not merge."""
    if a.n_features != b.n_features:
        raise InputError(
            f"These summaries have {a.n_features} and {b.n_features} features; "
            "only summaries of the same features merge."
        )
    check_same_library(a.mean, b.mean, "The first", "the second")
    if (a.rank is None) != (b.rank is None):
        raise InputError("One summary has a rank and the other has not; give both a rank or none.")
    if a.exact != b.exact:
        raise InputError(
            "One summary is exact and the other fast; make both with the same `exact`."
        )
    names = a.feature_names or b.feature_names
    if b.feature_names not in (None, names):
        raise InputError("Cannot merge summaries with different feature names.")
    return names


def check_range(moments: Moments, name: str, sample: RowSample) -> None:
    """Did everything stay within float64?"""
    total = moments.trace + moments.n + float(arrays.namespace(moments.mean).sum(moments.mean))
    if math.isfinite(total):
        return
    largest = float(np.abs(sample.rows).max(initial=0.0))
    weight = float(sample.weights.max(initial=1.0))
    raise InputError(
        f"{name} has values up to {largest:g} and weights up to {weight:g}, whose squares and sums "
        "are beyond float64; rescale the features or the weights."
    )
