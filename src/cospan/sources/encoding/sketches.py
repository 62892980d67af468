"""What a pass over a column leaves behind: small, mergeable, of bounded size.

* :class:`Moments`: count, mean, spread, least and largest value; of dates also how often each
  minute of the day occurs.
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

from cospan._tolerance import WITHIN_MINUTE

from .kinds import hours_of

if TYPE_CHECKING:
    import pyarrow as pa

#: Different texts counted in a column, at most.
MOST_LEVELS = 4096
#: Hashes kept to estimate the number of different values: the error is 1/√2048 = 2.2 %.
HASHES = 2048
_ALL_HASHES = 2.0**64
MINUTES = 24 * 60
#: Bytes of texts that are hashed at once; each takes some forty bytes of memory meanwhile.
HASHED_BYTES = 2**22


@dataclass
class Moments:
    """Count, mean, sum of squared deviations, least and largest of some numbers, place by place.

    A number is one place; a list of numbers has as many as its length. `add` takes (n,) or
    (n, places) without missing values.

    >>> both = Moments()
    >>> both.add(np.array([1.0, 2.0]))
    >>> both.add(np.array([6.0]))
    >>> both.count, float(both.mean), float(both.low), float(both.high)
    (3, 3.0, 1.0, 6.0)
    """

    count: int = 0
    mean: Any = 0.0
    squares: Any = 0.0
    low: Any = math.inf
    high: Any = -math.inf
    minutes: Any = None  # (MINUTES,) of dates; None where nobody counts them

    @classmethod
    def of_kind(cls, kind: str) -> Moments:
        """Nothing seen yet; of dates the minutes are counted, too."""
        return cls(minutes=np.zeros(MINUTES) if kind == "date" else None)

    def add(self, values: NDArray[Any], weights: NDArray[Any] | None = None) -> None:
        """Further values; `weights` says how often each occurs."""
        if len(values) == 0:
            return
        with np.errstate(over="ignore", invalid="ignore"):  # squares of numbers above 1e154
            part = self._of(values, weights)
        if self.minutes is not None:
            minute = np.floor(60 * hours_of(values) + WITHIN_MINUTE).astype(np.intp) % MINUTES
            part.minutes = np.bincount(minute, weights, MINUTES)
        self.merge(part)

    @staticmethod
    def _of(values: NDArray[Any], weights: NDArray[Any] | None) -> Moments:
        if weights is None:
            count = len(values)
            mean = values.mean(axis=0, dtype=np.float64)
            away = values - mean
            squares = np.einsum("i...,i...->...", away, away)
        else:
            count = int(weights.sum())
            mean = (weights @ values) / count
            squares = weights @ (values - mean) ** 2
        return Moments(count, mean, squares, values.min(axis=0), values.max(axis=0))

    def merge(self, other: Moments) -> None:
        """What both saw (Chan, Golub and LeVeque)."""
        if other.count == 0:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            self._merge(other)

    def _merge(self, other: Moments) -> None:
        count = self.count + other.count
        step = other.mean - self.mean if self.count else other.mean
        self.squares = self.squares + other.squares
        if self.count:
            self.squares = self.squares + step**2 * (self.count * other.count / count)
        self.mean = self.mean + step * (other.count / count)
        self.low = np.minimum(self.low, other.low)
        self.high = np.maximum(self.high, other.high)
        self.count = count
        if other.minutes is not None:
            self.minutes = other.minutes + (0 if self.minutes is None else self.minutes)

    @property
    def deviation(self) -> Any:
        """Standard deviation, with divisor count."""
        return np.sqrt(self.squares / max(1, self.count))


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
        self._shorten()

    def merge(self, other: Levels) -> None:
        self.limit = min(self.limit, other.limit)
        self.slack += other.slack
        self.add(list(other.counts), list(other.counts.values()))

    def _shorten(self) -> None:
        if len(self.counts) <= self.limit:
            return
        cut = sorted(self.counts.values(), reverse=True)[self.limit]
        self.slack += cut
        self.counts = {text: n - cut for text, n in self.counts.items() if n > cut}

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

    @property
    def estimate(self) -> int:
        if len(self.hashes) < HASHES:
            return len(self.hashes)
        return round((HASHES - 1) / (float(self.hashes[-1]) / _ALL_HASHES))


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
    """One hash for each text of an Arrow array without nulls and without empty texts.

    Python's own hash differs from process to process, and the workers of a cluster must agree. So
    this is a polynomial in the bytes, modulo 2⁶⁴, computed for many texts at once and mixed.
    """
    import pyarrow as pa

    if len(texts) == 0:
        return np.empty(0, np.uint64)
    wide = pa.types.is_large_string(texts.type)
    _, ends, data = texts.buffers()
    offsets = np.frombuffer(ends, np.int64 if wide else np.int32)
    offsets = offsets[texts.offset : texts.offset + len(texts) + 1]
    places: NDArray[np.int64] = offsets.astype(np.int64)
    letters = np.frombuffer(data, np.uint8)
    found, start = [], 0
    while start < len(texts):
        stop = int(np.searchsorted(places, places[start] + HASHED_BYTES, side="right")) - 1
        stop = max(start + 1, stop)
        found.append(_polynomials(letters, places[start : stop + 1]))
        start = stop
    return _mixed(np.concatenate(found))


def _polynomials(data: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The polynomials of the texts between `places`, without the finish."""
    letters = data[places[0] : places[-1]].astype(np.uint64)
    starts = places[:-1] - places[0]
    lengths = np.diff(places)
    inside = np.arange(len(letters)) - np.repeat(starts, lengths)
    powers = np.cumprod(np.full(int(lengths.max()), 0x9E3779B97F4A7C15, np.uint64))
    sums = np.add.reduceat((letters + np.uint64(1)) * powers[inside], starts)
    return np.asarray(sums + lengths.astype(np.uint64))


def _mixed(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finish of splitmix64: every bit depends on every bit."""
    hashes = hashes + np.uint64(0x9E3779B97F4A7C15)
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(hashes ^ (hashes >> np.uint64(31)))
