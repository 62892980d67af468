"""Summaries come apart as they merge: of some features only, and without one of their parts.

The reference without one of its windows is merged from the windows before it and those behind it
(never subtracted: a difference of two large sums has lost its digits where the window is most of
the reference). Both chains take one merge a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cospan.base.tolerance import lost_in_difference
from cospan.base.types import Floats, Index
from cospan.summary import RowSample, Summary


def each_left_out(parts: Sequence[Summary]) -> list[Summary]:
    """For each part the summary of all the others, without rows; two parts at least.

    Examples
    --------
    >>> parts = [Summary.of(np.array(x), exact=False) for x in ([[1.0], [3.0]], [[5.0]], [[9.0]])]
    >>> [float(one.mean[0]) for one in each_left_out(parts)]
    [7.0, 4.333333333333333, 3.0]
    """
    bare = [part.without_sample() for part in parts]
    before: list[Summary | None] = [None]
    after: list[Summary | None] = [None]
    for part in bare[:-1]:
        before.append(_merged(before[-1], part))
    for part in bare[:0:-1]:
        after.append(_merged(part, after[-1]))
    found = [_merged(left, right) for left, right in zip(before, after[::-1], strict=True)]
    return [one for one in found if one is not None]


def _merged(a: Summary | None, b: Summary | None) -> Summary | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b


def summary_of(
    n: float,
    count: int,
    mean: Floats,
    scatter: Floats,
    *,
    sample: RowSample,
    eps: float,
    names: tuple[str, ...] | None,
) -> Summary:
    """A summary of known moments."""
    return Summary(
        n=n,
        count=count,
        mean=mean,
        trace=float(np.trace(scatter)),
        exact=False,
        eps=eps,
        sample=sample,
        feature_names=names,
        _scatter=scatter,
        _factored=False,
    )


def sample_of(rows: Floats, n: int) -> RowSample:
    """Rows as a uniform sample of n."""
    k = len(rows)
    if not k:
        return RowSample.empty(rows.shape[1])
    # Priorities are uniform: of n rows, the k smallest are about evenly spread up to k/n.
    priority = np.arange(1, k + 1) / (max(n, k) + 1)
    bound = float(priority[-1]) if k < n else float("inf")
    return RowSample(rows, np.ones(k), np.arange(k), priority, k, bound, max(n, k))


def restricted(summary: Summary, features: Index) -> Summary:
    """The same rows with these features only."""
    names = summary.feature_names
    return summary_of(
        summary.n,
        summary.count,
        np.asarray(summary.mean)[features],
        np.asarray(summary.scatter_about())[np.ix_(features, features)],
        sample=replace(summary.sample, rows=summary.sample.rows[:, features]),
        eps=summary.eps,
        names=None if names is None else tuple(names[j] for j in features.tolist()),
    )


def padded(summary: Summary, width: int) -> Summary:
    """The same rows with further features behind, all 0."""
    d, sample = summary.n_features, summary.sample
    scatter, rows = np.zeros((width, width)), np.zeros((len(sample), width))
    scatter[:d, :d] = np.asarray(summary.scatter_about())
    rows[:, :d] = sample.rows
    return summary_of(
        summary.n,
        summary.count,
        np.append(np.asarray(summary.mean), np.zeros(width - d)),
        scatter,
        sample=replace(sample, rows=rows),
        eps=summary.eps,
        names=None,
    )


def without_rows(whole: Summary, rows: Floats) -> Summary:
    """The summary less some of its rows, at most half of them: no digit that counts is lost.

    A feature that varied in those rows only (a level that one row has) is constant without them.
    """
    part = Summary.of(rows, exact=False, sample_size=0)
    n = whole.n - part.n
    mean = np.asarray(whole.mean) + (part.n / n) * (np.asarray(whole.mean) - np.asarray(part.mean))
    step = np.asarray(part.mean) - mean
    scatter = np.asarray(whole.scatter_about()) - np.asarray(part.scatter_about())
    scatter = scatter - (part.n * n / whole.n) * np.outer(step, step)
    constant = np.diag(scatter) <= lost_in_difference(np.diag(np.asarray(whole.scatter_about())))
    scatter[constant, :] = 0.0
    scatter[:, constant] = 0.0
    return summary_of(
        n,
        whole.count - part.count,
        mean,
        scatter,
        sample=RowSample.empty(len(mean)),
        eps=whole.eps,
        names=whole.feature_names,
    )
