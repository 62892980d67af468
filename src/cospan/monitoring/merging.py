"""Two profiles that watch the same channels become one, as of all their rows.

The functions that are watched stay those of the first profile, whatever is merged with it; what
is usual for them does not. Their means and variances over single rows merge exactly, shares as
shares, correlations by the means and spreads of the ranks behind them (only their noise is that of
normal variables where it is not known). Sketches merge to their resolution, summaries to rounding.

A window's effect is an AUC against the reference, and so against other rows after a merge. The
windows' rows are gone: rows with a window's means and deviations, and with the correlations that
windows have inside, stand in for them. All of it follows from the merged summary, its sketches and
the windows' means, so the order in which profiles are merged does not matter (but for that noise
of correlations, where the profiles are very different).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cospan._tolerance import NOT_ZERO, ROOT_ROUNDING
from cospan._types import Floats
from cospan.monitoring.channels import OF_NUMBERS, SCORES, Channels, angle_share, share_angle
from cospan.monitoring.effect import effect_of
from cospan.monitoring.ranks import Ranks, merged_ranks
from cospan.monitoring.records import Record
from cospan.monitoring.standing_in import correlation_of, fills, known_shares, root_of
from cospan.summary import Summary

if TYPE_CHECKING:
    from cospan.monitoring.profile import Profile

__all__ = ["effects_against", "merged_usual", "same_channels"]


def same_channels(a: Channels, b: Channels) -> bool:
    """Do two profiles watch the same functions of rows?"""
    if a is b:
        return True
    return (
        a.names == b.names
        and a.table == b.table
        and all(map(np.array_equal, a.cost, b.cost))
        and all(np.array_equal(x.values, y.values) for x, y in zip(a.ranks, b.ranks, strict=True))
    )


def merged_usual(a: Profile, b: Profile) -> tuple[Channels, Floats, tuple[Ranks, ...]]:
    """What is usual in both together: channels with its variances, its center, its sketches."""
    channels = a.channels
    present = [_present(one) for one in (a, b)]
    sketches = tuple(
        merged_ranks([x, y], [n, m]) for x, y, n, m in zip(a.ranks, b.ranks, *present, strict=True)
    )
    n, m = (
        channels.counts(one.summary.n, one.summary.n, own)
        for one, own in zip((a, b), present, strict=True)
    )
    share = np.where(n + m > 0, n / np.maximum(n + m, NOT_ZERO), 0.5)
    x, y = a.center[:-1], b.center[:-1]
    center = share * x + (1 - share) * y
    shares = share * angle_share(x) + (1 - share) * angle_share(y)
    repeats = np.arange(channels.odd.start + 1, channels.odd.stop, len(OF_NUMBERS))
    # Two profiles may have different values in most rows: then neither share is that of both.
    least = np.maximum(share * angle_share(x), (1 - share) * angle_share(y))[repeats]
    shares[repeats] = np.clip([r.largest_share() for r in sketches], least, shares[repeats])
    center = np.where(channels.angles, share_angle(shares), center)
    start = channels.ranked + channels.shared
    pairs = slice(start, start + len(channels.pairs))
    center[pairs] = _related(a, b)
    variance = share * (a.channels.variance + (x - center) ** 2)
    variance = variance + (1 - share) * (b.channels.variance + (y - center) ** 2)
    variance = np.where(channels.angles, a.channels.variance, variance)
    more = share * _noisier(x, center) + (1 - share) * _noisier(y, center)
    variance[pairs] += more[pairs]
    merged = replace(channels, variance=variance)
    return merged, np.append(center, a.center[-1]), sketches


def _noisier(own: Floats, r: Floats) -> Floats:
    """By how much a row's influence on a correlation r varies more than on its set's own.

    The influence of a and b is ab - r (a² + b²)/2; for normal variables with the correlation ρ its
    variance is 1 + ρ² - 4rρ + r²(1 + ρ²), and (1 - ρ²)² for r = ρ.
    """
    return np.asarray(1 + own**2 - 4 * r * own + r**2 * (1 + own**2) - (1 - own**2) ** 2)


def _present(profile: Profile) -> Floats:
    """How many rows have a value in each column of numbers."""
    return np.asarray(profile.summary.n * _having(profile)[profile.channels.numbers])


def _having(profile: Profile) -> Floats:
    """The share of rows that have a value of each feature."""
    indicators, means = profile.channels.indicators, np.asarray(profile.summary.mean)
    return np.where(indicators >= 0, np.clip(1 - means[indicators], 0.0, 1.0), 1.0)


class _RankMoments:
    """Means and variances of what relations are correlations of: ranks of numbers, and shares.

    Over the rows that have a value.
    """

    def __init__(self, profile: Profile, channels: Channels):
        scores = profile.center[: channels.ranked].reshape(-1, len(SCORES))
        self.having = _having(profile)
        shares = known_shares(np.asarray(profile.summary.mean), channels, profile.plan)
        self.mean = np.clip(shares / np.maximum(self.having, NOT_ZERO), 0.0, 1.0)
        self.variance = self.mean * (1 - self.mean)
        self.mean[channels.numbers] = scores[:, 0]
        # The second score is (3 u² - 1)/2.
        inner = np.maximum((2 * scores[:, 1] + 1) / 3 - scores[:, 0] ** 2, 0.0)
        self.variance[channels.numbers] = inner


def _related(a: Profile, b: Profile) -> Floats:
    """Correlations of ranks over the rows of both, from those of each.

    Gaps of two columns are taken to be independent of each other and of the values.
    """
    channels = a.channels
    i, j = channels.pairs.T
    start = channels.ranked + channels.shared
    moments = [_RankMoments(one, channels) for one in (a, b)]
    rows = [
        one.summary.n * own.having[i] * own.having[j]
        for one, own in zip((a, b), moments, strict=True)
    ]
    share = rows[0] / np.maximum(rows[0] + rows[1], NOT_ZERO)
    inside, variances = np.zeros(len(i)), np.zeros((2, len(i)))
    for one, own, weight in zip((a, b), moments, (share, 1 - share), strict=True):
        r = one.center[start : start + len(i)]
        inside += weight * r * np.sqrt(own.variance[i] * own.variance[j])
        variances += weight * own.variance[channels.pairs.T]
    step = (moments[0].mean - moments[1].mean)[channels.pairs.T]
    inside += share * (1 - share) * step[0] * step[1]
    variances += share * (1 - share) * step**2
    size = np.sqrt(variances[0] * variances[1])
    return np.asarray(np.clip(inside / np.maximum(size, NOT_ZERO), -1.0, 1.0))


def effects_against(profile: Profile) -> tuple[Record, ...]:
    """The windows of a merged profile, their effects against the whole of it."""
    if not profile.windows:
        return ()
    channels, rows = profile.channels, profile.rows
    live = channels.live
    weights = np.array([one.rows for one in profile.windows], dtype=np.float64)
    filled = [_filled(one, profile) for one in profile.windows]
    standard = _inside(profile, np.array([mean for mean, _ in filled])[:, live], weights)
    found = []
    for k, (one, (mean, deviation)) in enumerate(zip(profile.windows, filled, strict=True)):
        size = min(one.sampled, len(standard))
        part = np.take(standard, np.arange(k * size, (k + 1) * size), axis=0, mode="wrap")
        part = part - part.mean(axis=0)
        part = part / np.maximum(part.std(axis=0), NOT_ZERO)
        drawn = np.tile(mean, (size, 1))
        drawn[:, live] += part * deviation[live]
        window = Summary.of(drawn, exact=False, sample_size=size)
        effect = effect_of(
            profile.summary, rows, window, live, channels.shrinkage, own_rows=profile.keeps_rows
        )
        found.append(one._replace(effect=effect))
    return tuple(found)


def _inside(profile: Profile, means: Floats, weights: Floats) -> Floats:
    """Rows of the profile in standard units, with the correlations that its windows have inside.

    Those are of what the scatter has beyond the windows' means.
    """
    summary, live = profile.summary, profile.channels.live
    covariance = np.asarray(summary.scatter_about())[np.ix_(live, live)] / summary.n
    unit = np.sqrt(np.maximum(np.diag(covariance), NOT_ZERO))
    share = weights / weights.sum()
    away = (means - share @ means) / unit
    outer = correlation_of(covariance)
    root = root_of(outer)
    between = root_of(outer - (away * share[:, None]).T @ away)
    inner = correlation_of(between @ between)
    rows = (profile.rows[:, live] - np.asarray(summary.mean)[live]) / unit
    back = np.linalg.pinv(root, rcond=ROOT_ROUNDING, hermitian=True)
    return np.asarray(rows @ back @ root_of(inner))


def _filled(record: Record, profile: Profile) -> tuple[Floats, Floats]:
    """Means and deviations of a window's features with gaps filled, as the geometry has them."""
    channels = profile.channels
    means, deviations = record.means.copy(), record.deviations.copy()
    stands = fills(profile.plan, len(means))
    having = channels.gaps >= 0
    j, gap = channels.numbers[having], means[channels.gaps[having]]
    mean = (1 - gap) * means[j] + gap * stands[j]
    square = (1 - gap) * (deviations[j] ** 2 + (means[j] - mean) ** 2)
    means[j], deviations[j] = mean, np.sqrt(square + gap * (stands[j] - mean) ** 2)
    return means, deviations
