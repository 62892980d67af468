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
  larger (channels with longer tails than a normal's), times a factor of its family: the numbers,
  the relations, the levels, what is missing, and what only faults do. A window's *score* is its
  largest |z| in units of these levels; above 1 it is an alarm.
- The windows of the reference have scores too, each found without the window, and one for each
  family before it has a factor. The rate is split over the F families. With m ≥ F/rate - 1 windows
  the factor is the conformal rank of these scores: the k-th smallest, k = ⌈(m+1)(1 - rate/F)⌉. For
  a window that is exchangeable with them the chance of a false alarm is at most `rate`, whatever
  the distribution. With fewer windows no rank can promise so small a rate, and the tail of the
  scores is continued. The k largest of them, k = 2√m (half of them at most), fall like a power:
  its inverse ξ is the mean of log(score/u), u being the next one (Hill's estimate), and the factor
  is u(k/((m+1)rate/F))^ξ, the score that this tail exceeds with the family's share of the rate
  (Weissman's). So it is where ξ is clearly larger than a t distribution's mean of log(|t|/u) beyond
  u; else the t limit knows the tail, and the factor is 1. One strange window hardly moves ξ, as it
  is one of k; many long ones do, those below 1 as well. (F + j)/(m + 1), the ranks' promise, holds
  whatever the distribution is, where j of the reference's scores are beyond their factors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from cospan.base.tolerance import COUNT_ROUNDING
from cospan.base.types import Floats, Index

__all__ = ["FEWEST_WINDOWS", "Levels", "levels_of"]


#: With fewer windows of the reference nothing can be said about the variation between windows.
FEWEST_WINDOWS = 4
#: Channels are judged by the level of their own family: a column that varies wildly is no reason
#: to overlook that another one has no values any more.
FAMILIES = (
    ("mean", "spread", "shape", "given"),
    ("relation", "rows", "effect"),
    ("levels", "new levels"),
    ("missing",),
    ("beyond", "repeats"),
)
#: Scores below this are no part of a tail: a window without a gap has a score of nearly 0, and
#: where most are such the others would look like the longest of tails.
_TAIL_FROM = 0.3
#: No family's level is less than this share of the t limit, though its ranks would allow it: a
#: reference in which nothing was ever missing would make an alarm of a single gap.
_LEAST = 0.8
#: A tail is longer than a t distribution's where its index is larger by this many of its standard
#: errors. Measured: with a whole one, references of twelve windows with long tails raise half as
#: many false alarms again; with none, drifts of data that varies normally are seen a tenth later.
_CLEARLY = 0.5
#: Chances at which a mean over a distribution is taken.
_EVENLY = (np.arange(50) + 0.5) / 50
#: Nor more than this, and then it is no rank: what happened to one column in one window only would
#: hide whatever happens to all others. Measured on windows of real tables in random order: it
#: raises as many false alarms as no bound does, and bounds below 3 raise more.
_MOST = 4.0


@dataclass(frozen=True, eq=False)
class Levels:
    """What is usual, and when to raise an alarm."""

    #: (channels,): mean over the reference's windows and variance between them, beyond sampling
    #: noise
    mean: Floats
    natural: Floats
    noise: Floats  # (channels,): variance of the reference's own mean, by sampling
    own: Floats  # (channels,): the level of each channel, in units of z; beyond it is an alarm
    rate: float  # the chance of a false alarm in a window
    windows: int  # windows of the reference behind it
    method: str  # "rank" or "t" or "sampling"
    promised: float  # the rate that holds whatever the distribution is
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


def levels_of(
    values: Floats,
    noise: Floats,
    sizes: Floats,
    variance: Floats,
    center: Floats,
    rate: float,
    kinds: Sequence[str],
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
    kinds : sequence of str, (channels,)
        What each channel is.
    """
    m, channels = values.shape
    error = variance / float(sizes.sum())
    if m < FEWEST_WINDOWS:
        own = np.full(channels, float(stats.norm.isf(rate / (2 * channels))))
        none = np.zeros((0, channels))
        return Levels(
            center, np.zeros(channels), error, own, rate, m, "sampling", 1.0, np.zeros(0), none
        )
    mean, natural = _spread(values, noise, sizes)
    others = _without_each(values, noise, sizes, variance)
    z = others.z(values, noise)
    among = np.abs(values - mean) / np.sqrt(natural * (1 + 1 / m) + noise + error)
    limit = float(stats.t.isf(rate / (2 * channels), m - 1))
    own = np.maximum(limit, among.max(axis=0))
    ratios = np.abs(z) / _others_levels(values, noise, among, others, rate)
    families = _families(kinds)
    largest = np.array([ratios[:, one].max(axis=1) for one in families])
    factors, method = _alarms(largest, rate, limit)
    for one, factor in zip(families, factors.tolist(), strict=True):
        own[one] *= factor
    # Of one more window each family's score is as likely as any to be the next above its factor.
    above = np.count_nonzero(largest > factors[:, None]) + len(families)
    promised = rate if method == "rank" else min(1.0, above / (m + 1))
    scores = (largest / factors[:, None]).max(axis=0)
    return Levels(mean, natural, error, own, rate, m, method, promised, scores, z)


def _families(kinds: Sequence[str]) -> list[Index]:
    """The channels of each family that has some."""
    known = np.asarray(kinds)
    found = [np.flatnonzero(np.isin(known, one)) for one in FAMILIES]
    return [one for one in found if len(one)]


def _spread(values: Floats, noise: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Mean of the windows, weighted by rows, and the variance between them beyond the noise."""
    weight = sizes[:, None] / sizes.sum()
    mean = (weight * values).sum(axis=0)
    m = 1 / float((weight**2).sum())  # windows of equal size that would say as much
    between = (weight * (values - mean) ** 2).sum(axis=0) * m / max(m - 1, 1)
    return mean, np.maximum(between - (weight * noise).sum(axis=0), 0.0)


class _Others(NamedTuple):
    """Mean and variance that the other windows have, (windows, channels)."""

    mean: Floats
    usual: Floats  # natural variance, and that of the mean, without the noise of a window

    def z(self, values: Floats, noise: Floats) -> Floats:
        return np.asarray((values - self.mean) / np.sqrt(self.usual + noise))


def _without_each(values: Floats, noise: Floats, sizes: Floats, variance: Floats) -> _Others:
    """The same as `_spread` without one window, for every window at once."""
    middle = values.mean(axis=0)
    y, w = values - middle, sizes[:, None]
    rest = w.sum() - w
    mean = ((w * y).sum(axis=0) - w * y) / rest
    squares = ((w * y * y).sum(axis=0) - w * y * y) / rest
    m = rest**2 / ((w**2).sum() - w**2)
    between = np.maximum(squares - mean**2, 0.0) * m / np.maximum(m - 1, 1)
    natural = np.maximum(between - ((w * noise).sum(axis=0) - w * noise) / rest, 0.0)
    return _Others(mean + middle, natural * (1 + 1 / m) + variance / rest)


def _others_levels(
    values: Floats, noise: Floats, among: Floats, others: _Others, rate: float
) -> Floats:
    """The channels' own levels as they are without each window, (windows, channels)."""
    m, channels = values.shape
    # The largest deviations among the others, as they are without the window: three candidates
    # for each channel, of which the window itself is one at most.
    found = np.full_like(values, stats.t.isf(rate / (2 * channels), m - 2))
    for place in np.argsort(-among, axis=0, kind="stable")[:3]:
        value, own = (np.take_along_axis(x, place[None], axis=0) for x in (values, noise))
        size = np.abs(others.z(value, own))
        size[place, np.arange(channels)] = 0.0
        found = np.maximum(found, size)
    return found


def _alarms(scores: Floats, rate: float, limit: float) -> tuple[Floats, str]:
    """By what the own levels of each family are multiplied, and how that was found.

    The rate is split evenly. Where ranks cannot promise so little, tails are continued; `limit` is
    the deviation that a score of 1 stands for, where deviations follow a t distribution.
    """
    families, m = scores.shape
    share = rate / families
    if (m + 1) * share >= 1:
        ranked = np.array([max(_LEAST, _ranked(one, share)) for one in scores])
        if ranked.max() <= _MOST:
            return ranked, "rank"
    return np.array([min(max(1.0, _beyond(one, share, limit)), _MOST) for one in scores]), "t"


def _beyond(scores: Floats, rate: float, limit: float) -> float:
    """The score that a further one exceeds with this probability, by the tail of the largest.

    1 where their tail is no longer than that of a t distribution.
    """
    m = len(scores)
    k = min(2 * math.ceil(math.sqrt(m)), m // 2)
    largest = np.sort(scores)[m - k - 1 :]
    start = max(float(largest[0]), _TAIL_FROM)
    tail = largest[largest > start]
    if not len(tail):
        return 1.0
    index, z = float(np.log(tail / start).mean()), start * limit
    usual = float(np.log(stats.t.isf(stats.t.sf(z, m - 2) * _EVENLY, m - 2) / z).mean())
    if index <= usual * (1 + _CLEARLY / math.sqrt(len(tail))):
        return 1.0
    return float(start * (len(tail) / ((m + 1) * rate)) ** index)


def _ranked(scores: Floats, rate: float) -> float:
    """The conformal rank: a further score exceeds it with at most this probability."""
    m = len(scores)
    k = math.ceil((m + 1) * (1 - rate) - COUNT_ROUNDING)
    return float(np.sort(scores)[min(k, m) - 1])
