"""What a pass over a column leaves behind: small, mergeable, of bounded size.

* :class:`Moments`: count, mean, spread, least and largest value, how often the commonest one
  occurs; of dates also how often each minute of the day does.
* :class:`Levels`: how often each text occurs. Exact up to `limit` different texts; beyond that the
  Misra-Gries counter, whose counts are too low by at most `slack` ≤ rows / limit. Two such counters
  merge without losing that guarantee (Agarwal et al., Mergeable summaries, 2012).
* :class:`Distinct`: how many different values there are, from the smallest 2,048 of their hashes
  (Bar-Yossef et al., 2002). Exact up to there, then right to about 2 %.

None of them depends on how rows were cut into blocks, except `Levels` beyond its limit, and the
moments in their last digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.tolerance import WITHIN_MINUTE

from .values import absurd, all_usual, hours_of, text_bytes

if TYPE_CHECKING:
    import pyarrow as pa

#: Different texts counted in a column, at most.
MOST_LEVELS = 4096
#: Hashes kept to estimate the number of different values: the error is 1/√2048 = 2.2 %.
HASHES = 2048
#: Values among which the commonest one is looked for, where nearly all are that one.
PROBED = 101
MINUTES = 24 * 60


@dataclass
class Moments:
    """Count, mean, sum of squared deviations, least and largest of some numbers.

    `add` takes values without missing ones; absurd ones are counted and nothing else.

    >>> both = Moments()
    >>> both.add(np.array([1.0, 2.0]))
    >>> both.add(np.array([6.0, np.inf]))
    >>> both.count, both.mean, both.low, both.high, both.absurd
    (3, 3.0, 1.0, 6.0, 1)
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    absurd: int = 0
    common: float = math.nan  # where nearly all values are one, this one
    commons: int = 0  # and how many are
    minutes: Any = None  # (MINUTES,) of dates; None where nobody counts them

    @classmethod
    def of_kind(cls, kind: str) -> Moments:
        """Nothing seen yet; of dates the minutes are counted, too."""
        return cls(minutes=np.zeros(MINUTES) if kind == "date" else None)

    def add(self, values: NDArray[Any], weights: NDArray[Any] | None = None) -> None:
        """Further values; `weights` says how often each occurs."""
        if not all_usual(values):
            odd = absurd(values)
            self.absurd += int(odd.sum() if weights is None else weights[odd].sum())
            values = values[~odd]
            weights = None if weights is None else weights[~odd]
        if len(values) == 0:
            return
        part = self._of(values, weights)
        self._count_common(values, weights)
        if self.minutes is not None:
            minute = np.floor(60 * hours_of(values) + WITHIN_MINUTE).astype(np.intp) % MINUTES
            part.minutes = np.bincount(minute, weights, MINUTES)
        self.merge(part)

    @staticmethod
    def _of(values: NDArray[Any], weights: NDArray[Any] | None) -> Moments:
        if weights is None:
            count = len(values)
            mean = float(values.mean(dtype=np.float64))
            away = values - mean
            squares = float(away @ away)
        else:
            count = int(weights.sum())
            mean = float(weights @ values) / count
            squares = float(weights @ (values - mean) ** 2)
        return Moments(count, mean, squares, float(values.min()), float(values.max()))

    def _count_common(self, values: NDArray[Any], weights: NDArray[Any] | None) -> None:
        if math.isnan(self.common):
            order = np.argsort(values[:PROBED], kind="stable")
            share = np.ones(len(order)) if weights is None else weights[order]
            middle = int(np.searchsorted(np.cumsum(share), share.sum() / 2))
            self.common = float(values[order[middle]])
        equal = values == self.common
        self.commons += int(np.count_nonzero(equal) if weights is None else weights[equal].sum())

    def merge(self, other: Moments) -> None:
        """What both saw (Chan, Golub and LeVeque)."""
        self.absurd += other.absurd
        if other.count == 0:
            return
        if math.isnan(self.common):
            self.common = other.common
        self.commons += other.commons if other.common == self.common else 0
        count = self.count + other.count
        step = other.mean - self.mean if self.count else other.mean
        self.squares += other.squares + step**2 * (self.count * other.count / count)
        self.mean += step * (other.count / count)
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.count = count
        if other.minutes is not None:
            self.minutes = other.minutes + (0 if self.minutes is None else self.minutes)

    @property
    def deviation(self) -> float:
        """Standard deviation, with divisor count."""
        return math.sqrt(self.squares / max(1, self.count))


@dataclass
class Levels:
    """How often each text occurs, for at most `limit` of them."""

    limit: int = MOST_LEVELS
    counts: dict[str, int] = field(default_factory=dict)
    slack: int = 0

    def add(self, texts: list[str], counts: list[int]) -> None:
        own = self.counts
        for text, count in zip(texts, counts, strict=True):
            own[text] = own.get(text, 0) + count
        if len(own) > self.limit:
            cut = sorted(own.values(), reverse=True)[self.limit]
            self.slack += cut
            self.counts = {text: n - cut for text, n in own.items() if n > cut}

    def merge(self, other: Levels) -> None:
        self.limit = min(self.limit, other.limit)
        self.slack += other.slack
        self.add(list(other.counts), list(other.counts.values()))

    @property
    def exact(self) -> bool:
        return self.slack == 0


@dataclass
class Distinct:
    """The smallest hashes of the values seen."""

    hashes: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))

    def add(self, hashes: NDArray[np.uint64]) -> None:
        if len(self.hashes) == HASHES:
            hashes = hashes[hashes < self.hashes[-1]]
        if len(hashes):
            self.hashes = np.unique(np.concatenate([self.hashes, hashes]))[:HASHES]

    def merge(self, other: Distinct) -> None:
        self.add(other.hashes)

    def shared(self, other: Distinct) -> float:
        """The share of the different values of both that both have (of the least hashes)."""
        a, b = self.hashes, other.hashes
        if not len(a) or not len(b):
            return 0.0
        if max(len(a), len(b)) == HASHES:
            limit = min(a[-1], b[-1])
            a, b = a[a <= limit], b[b <= limit]
        return len(np.intersect1d(a, b)) / max(1, len(np.union1d(a, b)))

    @property
    def estimate(self) -> int:
        if len(self.hashes) < HASHES:
            return len(self.hashes)
        return round((HASHES - 1) / (float(self.hashes[-1]) / 2.0**64))


@dataclass
class Order:
    """Whether the values, as they come, only rise or only fall."""

    first: float = math.nan
    last: float = math.nan
    rising: bool = True
    falling: bool = True

    def add(self, values: NDArray[np.float64]) -> None:
        if len(values) == 0 or not (self.rising or self.falling):
            return
        steps = np.diff(values)
        rising, falling = bool((steps > 0).all()), bool((steps < 0).all())
        self.merge(Order(float(values[0]), float(values[-1]), rising, falling))

    def merge(self, other: Order) -> None:
        """`other` comes after this."""
        if math.isnan(other.first):
            return
        seen = not math.isnan(self.first)
        self.rising = self.rising and other.rising and not (seen and other.first <= self.last)
        self.falling = self.falling and other.falling and not (seen and other.first >= self.last)
        self.first = self.first if seen else other.first
        self.last = other.last

    @property
    def strict(self) -> bool:
        return not math.isnan(self.first) and (self.rising or self.falling)


def number_hashes(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """One hash for each number; 0 and -0 are one number."""
    return _mixed((values + 0.0).view(np.uint64))


def text_hashes(texts: pa.Array) -> NDArray[np.uint64]:
    """One hash for each text, the same in every process: the workers of a cluster must agree.

    It is the sum of hashes of its bytes with their places.
    """
    found = [np.empty(0, np.uint64)]
    for content, ends in text_bytes(texts):
        lengths = np.diff(ends)
        places = np.arange(len(content)) - np.repeat(ends[:-1], lengths)
        sums = np.zeros(len(content) + 1, dtype=np.uint64)
        np.cumsum(_mixed((places * 256 + content).view(np.uint64)), out=sums[1:])
        found.append(_mixed(sums[ends[1:]] - sums[ends[:-1]]))
    return np.concatenate(found)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finish of splitmix64."""
    hashes = values + np.uint64(0x9E3779B97F4A7C15)
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(hashes ^ (hashes >> np.uint64(31)))
