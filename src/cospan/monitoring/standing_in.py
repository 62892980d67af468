"""Rows that stand in for those of a profile that keeps none.

Drawn from a normal copula with the summary's correlations and the sketches' distributions, then
moved to have exactly the summary's mean and covariance. The angle knows a set by its mean and
covariance, so its distribution over such rows is close to that over the set's own. They serve to
place a window's angles, never as evidence: p-values and alarms are not computed from them.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from cospan import _arrays as arrays
from cospan._tolerance import LEAST_EIGENVALUE
from cospan._types import Floats
from cospan.monitoring.channels import Channels
from cospan.summary import Summary

__all__ = ["stand_in"]


def stand_in(summary: Summary, channels: Channels, n: int, seed: int = 0) -> Floats:
    """Draw `n` rows with the summary's mean and covariance and the sketches' distributions."""
    live = channels.live
    n = max(n, 4 * len(live))
    covariance = np.asarray(summary.scatter_about())[np.ix_(live, live)] / summary.n
    unit = np.sqrt(np.diag(covariance))
    root = _root(covariance / unit[:, None] / unit[None, :])
    drawn = np.random.default_rng(seed).normal(size=(n, len(live))) @ root
    rank = {int(j): ranks for j, ranks in zip(channels.numbers, channels.ranks, strict=True)}
    values = np.empty_like(drawn)
    for k, j in enumerate(live.tolist()):
        u = special.ndtr(drawn[:, k])
        share = float(np.asarray(summary.mean)[j])
        values[:, k] = rank[j].quantiles(2 * u - 1) if j in rank else u < share
    rows = np.tile(np.asarray(summary.mean), (n, 1))
    rows[:, live] = _matched(values, np.asarray(summary.mean)[live], covariance)
    return rows


def _root(matrix: Floats) -> Floats:
    """The symmetric square root."""
    values, vectors = arrays.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _matched(values: Floats, mean: Floats, covariance: Floats) -> Floats:
    """The rows moved and turned to this mean and covariance, as little as it takes."""
    away = values - values.mean(axis=0)
    unit = np.sqrt(np.diag(covariance))
    scale = np.where(away.std(axis=0) > 0, away.std(axis=0), 1.0)
    away = away / scale
    own, vectors = arrays.eigh(away.T @ away / len(away))
    whitened = (away @ vectors) / np.sqrt(np.maximum(own, LEAST_EIGENVALUE)) @ vectors.T
    return np.asarray(mean + (whitened @ _root(covariance / unit[:, None] / unit[None, :])) * unit)
