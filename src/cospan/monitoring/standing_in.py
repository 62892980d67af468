"""Rows that stand in for those of a profile that keeps none.

Drawn from a normal copula: numbers have the sketches' distributions, a category has one level in a
row, and what is missing is filled in as it is in real rows. The copula's correlations are moved
until the rows have the summary's covariances. The angle knows a set by its mean and covariance, so
its distribution over such rows is close to that over the set's own. They serve to place a window's
angles, never as evidence: p-values and alarms of columns are not computed from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from cospan import _arrays as arrays
from cospan._tolerance import COUNT_ROUNDING, LEAST_EIGENVALUE, NOT_ZERO
from cospan._types import Floats, Index
from cospan.data import EncodingPlan
from cospan.monitoring.channels import Channels
from cospan.monitoring.choosing import varying
from cospan.monitoring.ranks import Ranks
from cospan.summary import Summary

#: Rows of a trial draw, and how often the correlations are moved by what it lacks.
_TRIAL_ROWS, _TRIALS = 4_000, 12
#: With more features the trials would take longer than all else.
_MOST_FEATURES = 300


class _Layout(NamedTuple):
    """Which of the live features are what, by their places among them."""

    numbers: dict[int, Ranks]
    single: list[int]  # truth values and indicators of what is missing
    groups: list[Index]  # the levels of each category
    gaps: list[tuple[int, Index]]  # an indicator, and the features it stands for
    shares: Floats  # of the rows that have a value
    fill: Floats


def stand_in(
    summary: Summary,
    channels: Channels,
    sketches: Sequence[Ranks],
    plan: EncodingPlan | None,
    n: int,
    seed: int = 0,
) -> Floats:
    """Draw `n` rows with the sketches' distributions and about the summary's covariance.

    Summary and `sketches` (of the channels' numbers) are of the set that rows are drawn for; the
    channels' own ranks may be those of another.
    """
    live = varying(summary)
    n = max(n, 4 * len(live))
    rows = np.tile(np.asarray(summary.mean), (n, 1))
    if not len(live):
        return rows
    scatter = np.asarray(summary.scatter_about())
    wanted = correlation_of(scatter[np.ix_(live, live)] / summary.n)
    layout = _layout(summary, channels, sketches, plan, live.tolist())
    root = root_of(_latent(wanted, layout, seed))
    drawn = np.random.default_rng(seed).normal(size=(n, len(live))) @ root
    rows[:, live] = _values(drawn, layout)
    return rows


def _latent(wanted: Floats, layout: _Layout, seed: int) -> Floats:
    """Correlations of the normal variables from which rows have the `wanted` ones, or nearly."""
    if len(wanted) > _MOST_FEATURES:
        return wanted
    noise = np.random.default_rng([seed, 1]).normal(size=(_TRIAL_ROWS, len(wanted)))
    latent, best, least = wanted, wanted, np.inf
    for _ in range(_TRIALS):
        off = wanted - _correlation(_values(noise @ root_of(latent), layout))
        size = float(np.sum(off * off))
        if size < least:
            best, least = latent, size
        moved = latent + off
        root = root_of(moved)
        latent = correlation_of(root @ root)
    return best


def _values(drawn: Floats, layout: _Layout) -> Floats:
    """Normal variables become values of the live features."""
    values = np.empty_like(drawn)
    for k, sketch in layout.numbers.items():
        values[:, k] = sketch.drawn(2 * special.ndtr(drawn[:, k]) - 1)
    for k in layout.single:
        values[:, k] = special.ndtr(drawn[:, k]) > 1 - layout.shares[k]
    for group in layout.groups:
        values[:, group] = _one_level(drawn[:, group], layout.shares[group])
    for gap, features in layout.gaps:
        values[np.ix_(values[:, gap] > 0, features)] = layout.fill[features]
    return values


def _one_level(drawn: Floats, shares: Floats) -> Floats:
    """1 for the level with the largest variable, 0 for the others; levels have their shares."""
    ahead = special.ndtri(np.clip(shares, 1 / len(drawn), 1 - 1 / len(drawn)))
    for _ in range(20):
        chosen = (drawn + ahead).argmax(axis=1)
        found = np.bincount(chosen, minlength=len(shares)) / len(drawn)
        ahead = ahead + 0.5 * np.log((shares + 1 / len(drawn)) / (found + 1 / len(drawn)))
    return np.asarray((drawn + ahead).argmax(axis=1)[:, None] == np.arange(len(shares)))


def _layout(
    summary: Summary,
    channels: Channels,
    sketches: Sequence[Ranks],
    plan: EncodingPlan | None,
    live: list[int],
) -> _Layout:
    mean = np.asarray(summary.mean)
    place = {j: k for k, j in enumerate(live)}
    indicator = {c.column: c.feature for c in channels.table if c.kind == "missing"}
    marks = set(indicator.values())
    filled = fills(plan, len(channels.names))
    known = zip(channels.numbers.tolist(), sketches, strict=True)
    numbers = {place[j]: sketch for j, sketch in known if j in place}
    owned: dict[str, list[int]] = {}
    for j in live:
        if j not in marks:
            owned.setdefault(channels.owners[j], []).append(place[j])
    shares, gaps = known_shares(mean, channels, plan)[live], []
    for column, own in owned.items():
        mark = indicator.get(column, -1)
        if mark in place:
            gap, here = float(mean[mark]), np.array(own, dtype=np.intp)
            gaps.append((place[mark], here))
            shares[here] /= max(1 - gap, NOT_ZERO)
    levels = [np.array(own) for own in owned.values() if own[0] not in numbers and len(own) > 1]
    grouped = {int(k) for group in levels for k in group}
    single = [k for k in range(len(live)) if k not in grouped and k not in numbers]
    return _Layout(numbers, single, levels, gaps, np.clip(shares, 0.0, 1.0), filled[live])


def fills(plan: EncodingPlan | None, width: int) -> Floats:
    """What stands for missing values, for each feature."""
    found = np.zeros(width)
    if plan is not None:
        fills = [value for c in plan.used for value in (c.fill or (0.0,) * len(c.features))]
        found[: len(fills)] = fills
    return found


def known_shares(means: Floats, channels: Channels, plan: EncodingPlan | None) -> Floats:
    """Features' means without what stands for missing values: of a level, its share of all rows."""
    gaps = np.where(channels.indicators >= 0, means[channels.indicators], 0.0)
    found = means - gaps * fills(plan, len(means))
    return np.where(np.abs(found) > COUNT_ROUNDING * (gaps > 0), found, 0.0)


def _correlation(rows: Floats) -> Floats:
    away = rows - rows.mean(axis=0)
    return correlation_of(away.T @ away)


def correlation_of(matrix: Floats) -> Floats:
    """The correlations of a covariance."""
    unit = np.sqrt(np.maximum(np.diag(matrix), LEAST_EIGENVALUE))
    found = matrix / unit[:, None] / unit[None, :]
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


def root_of(matrix: Floats) -> Floats:
    """The symmetric square root of what is positive in a matrix."""
    values, vectors = arrays.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
