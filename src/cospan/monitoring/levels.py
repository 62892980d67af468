"""When to raise an alarm: levels from the reference's own windows, with a stated rate.

Windows of real data differ by more than the sampling of their rows: days have weather, weeks have
holidays. So each window of the reference is compared with the reference *without it*, and how far
those comparisons stray sets the levels:

- Per channel, the natural variance τ² between windows is what the windows' values vary by beyond
  the noise of sampling, and z = (y - mean)/√(τ²(1 + 1/m) + noise) is the distance of a window
  from the others in units of what is usual. Sizes of windows may differ: the noise is each one's
  own.
- A channel's own level is the limit that a t distribution with m - 1 degrees of freedom exceeds
  with probability rate/channels, or the largest |z| of the reference's windows where that is
  larger (channels with longer tails than a normal's). A window's *score* is its largest |z| in
  units of these levels.
- The windows of the reference have scores too, each found without the window. With m ≥ 1/rate - 1
  windows the alarm level is their conformal rank: the k-th smallest, k = ⌈(m+1)(1 - rate)⌉. For a
  window that is exchangeable with them the chance of a false alarm is at most `rate`, whatever the
  distribution. With fewer windows no rank can promise so small a rate; then the level is 1, or the
  largest score seen: the rate holds as far as the natural variation is normal, and 1/(m + 1), the
  rank's promise, whatever it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from cospan._tolerance import COUNT_ROUNDING
from cospan._types import Floats

__all__ = ["FEWEST_WINDOWS", "Levels", "levels_of"]


#: With fewer windows of the reference nothing can be said about the variation between windows.
FEWEST_WINDOWS = 4


@dataclass(frozen=True, eq=False)
class Levels:
    """What is usual, and when to raise an alarm."""

    #: (channels,): mean over the reference's windows and variance between them, beyond sampling
    #: noise
    mean: Floats
    natural: Floats
    noise: Floats  # (channels,): variance of the reference's own mean, by sampling
    own: Floats  # (channels,): the level of each channel, in units of z
    alarm: float  # scores above this are alarms
    rate: float  # the chance of a false alarm in a window
    windows: int  # windows of the reference behind it
    method: str  # "rank" or "t" or "sampling"
    scores: Floats  # (windows,): those of the reference's windows
    z: Floats  # (windows, channels)

    def standardised(self, values: Floats, noise: Floats) -> Floats:
        """z of windows' channels, (windows, channels) or (channels,)."""
        if self.windows < FEWEST_WINDOWS:
            return np.asarray((values - self.mean) / np.sqrt(noise + self.noise))
        usual = self.natural * (1 + 1 / self.windows)
        return np.asarray((values - self.mean) / np.sqrt(usual + noise + self.noise))

    def ratios(self, z: Floats) -> Floats:
        """How far each channel is on the way to its own level."""
        return np.asarray(np.abs(z) / self.own)

    @property
    def promised(self) -> float:
        """The rate that holds whatever the distribution is."""
        return self.rate if self.method == "rank" else 1 / (self.windows + 1)


def levels_of(
    values: Floats, noise: Floats, sizes: Floats, variance: Floats, center: Floats, rate: float
) -> Levels:
    """Levels from the windows of a reference.

    Parameters
    ----------
    values, noise : array, (windows, channels)
        The channels of the windows, and their variance by sampling.
    sizes : array, (windows,)
        Rows in each window.
    variance : array, (channels,)
        Of single rows.
    center : array, (channels,)
        The channels over the whole reference, for references that are not cut into windows.
    rate : float
        The chance of a false alarm that is acceptable in a window.
    """
    m, channels = values.shape
    total = float(sizes.sum())
    if m < FEWEST_WINDOWS:
        limit = float(stats.norm.isf(rate / (2 * channels)))
        none = np.zeros((0, channels))
        return Levels(
            center,
            np.zeros(channels),
            variance / total,
            np.full(channels, limit),
            1.0,
            rate,
            m,
            "sampling",
            np.zeros(0),
            none,
        )
    mean, natural = _spread(values, noise, sizes)
    z = _left_out(values, noise, sizes, variance)
    own, scores = _own_levels(z, rate)
    alarm, method = _alarm(scores, rate)
    return Levels(mean, natural, variance / total, own, alarm, rate, m, method, scores, z)


def _spread(values: Floats, noise: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Mean of the windows, weighted by rows, and the variance between them beyond the noise."""
    weight = sizes[:, None] / sizes.sum()
    mean = (weight * values).sum(axis=0)
    m = 1 / float((weight**2).sum())  # windows of equal size that would say as much
    between = (weight * (values - mean) ** 2).sum(axis=0) * m / max(m - 1, 1)
    return mean, np.maximum(between - (weight * noise).sum(axis=0), 0.0)


def _left_out(values: Floats, noise: Floats, sizes: Floats, variance: Floats) -> Floats:
    """z of every window against the others: the same as `_spread` without it, all at once."""
    middle = values.mean(axis=0)
    y, w = values - middle, sizes[:, None]
    rest = w.sum() - w
    mean = ((w * y).sum(axis=0) - w * y) / rest
    squares = ((w * y * y).sum(axis=0) - w * y * y) / rest
    m = rest**2 / ((w**2).sum() - w**2)
    between = np.maximum(squares - mean**2, 0.0) * m / np.maximum(m - 1, 1)
    natural = np.maximum(between - ((w * noise).sum(axis=0) - w * noise) / rest, 0.0)
    return np.asarray((y - mean) / np.sqrt(natural * (1 + 1 / m) + noise + variance / rest))


def _own_levels(z: Floats, rate: float) -> tuple[Floats, Floats]:
    """The channels' levels, and the windows' scores by the levels that the others give."""
    m, channels = z.shape
    limit = float(stats.t.isf(rate / (2 * channels), m - 1))
    limit_left = float(stats.t.isf(rate / (2 * channels), m - 2))
    size = np.abs(z)
    ordered = np.sort(size, axis=0)
    largest, second = ordered[-1], ordered[-2]
    others = np.where(size >= largest, second, largest)
    scores = (size / np.maximum(limit_left, others)).max(axis=1)
    return np.maximum(limit, largest), np.asarray(scores)


def _alarm(scores: Floats, rate: float) -> tuple[float, str]:
    m = len(scores)
    if (m + 1) * rate >= 1:
        k = math.ceil((m + 1) * (1 - rate) - COUNT_ROUNDING)
        return float(np.sort(scores)[min(k, m) - 1]), "rank"
    return max(1.0, float(scores.max())), "t"
