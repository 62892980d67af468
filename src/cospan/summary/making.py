"""Summaries of rows in memory, of chunks, and of Dask collections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from cospan import _arrays as arrays
from cospan._validate import as_rows_with_eps, as_weights, feature_names_of
from cospan.errors import InputError
from cospan.summary.builder import SummaryBuilder, SummaryOptions
from cospan.summary.summary import Summary

__all__ = ["SummaryOptions", "of_chunks", "of_rows"]


def of_rows(X: Any, sample_weight: Any, options: SummaryOptions) -> Summary:
    """Summary of rows in memory, or of a Dask collection, made by its workers."""
    builder = SummaryBuilder(options)
    if arrays.is_lazy(X):
        from cospan.summary.lazy import summary_of  # only lazy rows need it

        return summary_of(X, sample_weight, options)
    rows, eps = as_rows_with_eps(X, options.name)
    builder.feature_names = feature_names_of(X)
    if sample_weight is None:
        builder.add(rows, None, eps)
        return builder.finish()
    weights = as_weights(sample_weight, rows.shape[0])
    if weights.all():
        builder.add(rows, weights, eps)
        return builder.finish()
    counting = np.flatnonzero(weights)
    builder.add(arrays.rows_at(rows, counting), weights[counting], eps)
    summary = builder.finish()
    return replace(summary, sample=summary.sample.renumbered(counting, rows.shape[0]))


def of_chunks(chunks: Iterable[Any], options: SummaryOptions) -> Summary:
    """Summary of rows that come in chunks, in constant memory."""
    builder = SummaryBuilder(options)
    _check_chunks(chunks, options.name)
    for chunk in chunks:
        builder.take(chunk)
    if not builder.count:
        raise InputError(f"{options.name} yielded no rows; at least one sample is needed.")
    return builder.finish()


def _check_chunks(chunks: object, name: str) -> None:
    if not isinstance(chunks, Iterable) or isinstance(chunks, (str, bytes)):
        raise InputError(
            f"{name} is of type {type(chunks).__name__}; of_chunks takes chunks of rows: a list, a "
            "generator or another iterable of arrays."
        )
    if feature_names_of(chunks) is not None or getattr(chunks, "ndim", None) == 2:
        raise InputError(f"{name} is one table of rows, not chunks; pass it to Summary.of.")
