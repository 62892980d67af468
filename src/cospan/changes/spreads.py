"""Spreads of two samples that lie apart: how far values are from their own set's median."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from cospan._tolerance import NOT_ZERO, SQUARES_KEEP_DIGITS
from cospan._types import Floats

from .twosample import OrderedTests

#: Log of the mean's p-value from which on the sets may lie so far apart that Mood's test is blind.
_MOVED = math.log(0.05)


def spread_apart(found: OrderedTests, a: Floats, b: Floats) -> OrderedTests:
    """The same tests, with spreads about each set's own median where the sets lie apart.

    Mood's test asks how far values are from the middle of both sets together. Where these lie
    apart it is blind to their spreads, and sees their skewness instead. So where the mean has the
    stronger evidence, distances from the own medians are compared, but count for no more than the
    mean: the smallest of the tests is the same as before, and keeps its level.
    """
    # Where hardly any row differs from the usual value there is no spread to speak of.
    moved = np.flatnonzero((found.mean <= _MOVED) & (found.mean <= found.spread))
    moved = moved[found.spread[moved] < 0]
    if not len(moved) or min(len(a), len(b)) < 3:
        return found
    spread = found.spread.copy()
    spread[moved] = np.maximum(log_spreads(a[:, moved], b[:, moved]), found.mean[moved])
    return found._replace(spread=spread)


def in_range(a: Floats, b: Floats) -> list[Floats]:
    """Columns over powers of two of their size: fourth powers of some values are no numbers."""
    size = np.frexp(np.maximum(np.abs(a).max(axis=0), np.abs(b).max(axis=0)))[1]
    return [np.ldexp(x, -size) for x in (a, b)]


def deviations(x: Floats) -> Floats:
    """Standard deviations of columns (d,), also where squares are too small to be numbers."""
    found = np.asarray(x.std(axis=0))
    small = np.flatnonzero(found < SQUARES_KEEP_DIGITS)
    if len(small):
        size = np.frexp(np.abs(x[:, small]).max(axis=0))[1]
        found[small] = np.ldexp(np.ldexp(x[:, small], -size).std(axis=0), size)
    return found


def log_spreads(a: Floats, b: Floats) -> Floats:
    """Log p-values of Brown and Forsythe's test, with Welch's errors; (d,).

    Columns that one set does not vary in have no such test.
    """
    away = [np.abs(x - np.median(x, axis=0)) for x in (a, b)]
    away = in_range(*away)
    errors = [x.var(axis=0, ddof=1) / len(x) for x in away]
    both = np.maximum(errors[0] + errors[1], NOT_ZERO)
    split = errors[0] ** 2 / (len(a) - 1) + errors[1] ** 2 / (len(b) - 1)
    free = np.maximum(both**2 / np.maximum(split, NOT_ZERO), 1.0)
    t = np.abs(away[1].mean(axis=0) - away[0].mean(axis=0)) / np.sqrt(both)
    with np.errstate(divide="ignore"):
        found = math.log(2) + np.log(stats.t.sf(t, free))
    # Below the smallest double it is as strong as a normal tail at most.
    found = np.where(np.isfinite(found), found, math.log(2) + stats.norm.logsf(t))
    return np.where((errors[0] > 0) & (errors[1] > 0), np.minimum(0.0, found), 0.0)
