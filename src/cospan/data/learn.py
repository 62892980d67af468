"""One pass over a set: what its columns hold, in bounded memory.

* :class:`Moments`: count, mean, spread, least and largest value, how often the commonest one
  occurs; of dates also how often each minute of the day does.
* :class:`Levels`: how often each text occurs. Exact up to `limit` different texts; beyond that the
  Misra-Gries counter, whose counts are too low by at most `slack` ≤ rows / limit.
* :class:`Distinct`: how many different values there are, from the smallest 2,048 of their hashes
  (Bar-Yossef et al., 2002). Exact up to there, then right to about 2 %.

None of them depends on how rows were cut into blocks, except `Levels` beyond its limit, and the
moments in their last digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cospan.base.tolerance import WITHIN_MINUTE

from .arrow import pa, pc
from .readings import READINGS, coded, parsed, plain_values, single_readings
from .values import absurd, all_usual, family, hours_of, numbers, text_bytes

#: Different texts counted in a column, at most; and those of all columns together (some 100 MB).
MOST_LEVELS, TEXTS_IN_ALL = 4096, 2**20
#: Hashes kept to estimate the number of different values: the error is 1/√2048 = 2.2 %.
HASHES = 2048
#: Values among which the commonest one is looked for, where nearly all are that one.
PROBED = 101
#: A reading that fits none of so many different texts is given up: stray words are few.
HOPELESS = 1000
MINUTES = 24 * 60
_IDENTIFIER_WORDS = frozenset(
    (
        "id", "ids", "idx", "index", "key", "pk", "uuid", "guid", "serial", "unnamed",
        "row", "rowid", "rownum", "rowname", "rownames",
    )
)  # fmt: skip
#: Names that identifiers have, and other columns too: these must not repeat a value at all.
_PERHAPS = ("id", "ids", "no", "nr", "num", "number", "seq", "seqn", "seqno", "obs", "case", "code")


@lru_cache(2**16)
def may_be_identifier(name: str) -> bool:
    """Whether identifiers are called like that, among others.

    >>> [may_be_identifier(n) for n in ("seqn", "patid", "caseNo", "customerID", "age")]
    [True, True, True, True, False]
    """
    words = _words(name)
    return looks_like_identifier(name) or (bool(words) and words[-1].endswith(_PERHAPS))


def looks_like_identifier(name: str) -> bool:
    """Whether a column's name is that of an identifier or a row counter.

    >>> [looks_like_identifier(n) for n in ("customerID", "Unnamed: 0", "row_id", "humidity")]
    [True, True, True, False]
    """
    words = _words(name)
    return not name.strip() or (bool(words) and words[-1] in _IDENTIFIER_WORDS)


def _words(name: str) -> list[str]:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return re.findall(r"[a-z]+", spaced.lower())


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
    minutes: NDArray[np.float64] | None = None  # of dates, how often each occurs

    @classmethod
    def of_kind(cls, kind: str) -> Moments:
        """Nothing seen yet; of dates the minutes are counted, too."""
        return cls(minutes=np.zeros(MINUTES) if kind == "date" else None)

    def add(self, values: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> None:
        """Further values; `weights` says how often each occurs."""
        if not all_usual(values):
            odd = absurd(values)
            self.absurd += int(odd.sum() if weights is None else weights[odd].sum())
            values = values[~odd]
            weights = None if weights is None else weights[~odd]
        if len(values) == 0:
            return
        if weights is None:
            count, mean = len(values), float(values.mean())
            away = values - mean
            squares = float(away @ away)
        else:
            count = int(weights.sum())
            mean = float(weights @ values) / count
            squares = float(weights @ (values - mean) ** 2)
        part = Moments(count, mean, squares, float(values.min()), float(values.max()))
        self._count_common(values, weights)
        if self.minutes is not None:
            minute = np.floor(60 * hours_of(values) + WITHIN_MINUTE).astype(np.intp) % MINUTES
            part.minutes = np.bincount(minute, weights, MINUTES).astype(np.float64)
        self.merge(part)

    def _count_common(
        self, values: NDArray[np.float64], weights: NDArray[np.float64] | None
    ) -> None:
        if math.isnan(self.common):
            order = np.argsort(values[:PROBED], kind="stable")
            share = np.ones(len(order)) if weights is None else weights[order]
            middle = int(np.searchsorted(np.cumsum(share), share.sum() / 2))
            self.common = float(values[order[middle]])
        if self.commons < self.count // 2:  # it is not that common
            return
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


def number_hashes(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """One hash for each number; 0 and -0 are one number."""
    return _mixed((values + 0.0).view(np.uint64))


def text_hashes(texts: pa.Array) -> NDArray[np.uint64]:
    """One hash for each text, the sum of hashes of its bytes with their places."""
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


# ---- columns -----------------------------------------------------------------------------------


@dataclass
class TextLearner:
    """What the texts of a column are: how often each occurs, and what each reading makes of them.

    A reading is no longer tried once it fits none of a thousand different texts.
    """

    levels: Levels = field(default_factory=Levels)
    distinct: Distinct = field(default_factory=Distinct)
    readings: dict[str, Moments] = field(
        default_factory=lambda: {name: Moments.of_kind(how.kind) for name, how in READINGS.items()}
    )
    count: int = 0
    words: int = 0
    padded: int = 0  # rows with blanks around the text
    declared: bool = False  # as a category, by the type of the column
    odd: str = ""  # a text that is not a number, for messages

    def add(self, array: pa.Array, *, every: bool = False) -> int:
        """Further texts; `every` reading is kept, also those that fit none. Gives the gaps."""
        found = coded(array)
        counts, texts = found.counts(), found.texts
        self.padded += int(counts[found.padded].sum())
        if not counts.all():  # categories that no row has
            texts = texts.filter(counts > 0)
            counts = counts[counts > 0]
        self.count += int(counts.sum())
        if len(texts):
            self.distinct.add(text_hashes(texts))
            spaces = pc.count_substring(texts, pattern=" ").to_numpy(zero_copy_only=False)
            self.words += int(((spaces + 1) * counts).sum())
            self._read(texts, counts, every)
            self.levels.add(texts.to_pylist(), counts.tolist())
        return int(np.count_nonzero(found.codes < 0))

    def _read(self, texts: pa.Array, counts: NDArray[np.intp], every: bool) -> None:
        for reading in list(self.readings):
            values = parsed(texts, reading)
            if reading == "point" and values.null_count and not self.odd:
                self.odd = texts.filter(values.is_null())[0].as_py()
            if not every and values.null_count == len(texts) >= HOPELESS:
                del self.readings[reading]
                continue
            present = np.asarray(values.is_valid().to_numpy(zero_copy_only=False))
            fitting = values.drop_null().to_numpy()
            self.readings[reading].add(fitting, counts[present].astype(np.float64))

    def read_as(self, reading: str) -> Moments:
        """The numbers that the texts are by this reading, or by that of several which fits."""
        found = Moments()
        for one in single_readings(reading):
            found.merge(self.readings.get(one, Moments()))
        return found

    def fits(self, reading: str) -> int:
        """How many values read so."""
        read = self.read_as(reading)
        return read.count + read.absurd

    @property
    def fitting(self) -> set[str]:
        """The readings that fit every value."""
        return {name for name in self.readings if self.fits(name) == self.count}

    @property
    def n_distinct(self) -> int:
        """Exact as long as every text is counted, then an estimate."""
        return len(self.levels.counts) if self.levels.exact else self.distinct.estimate


@dataclass
class ColumnLearner:
    """What one column of one set holds.

    Text that is all plain numbers, or all ISO dates, is learned as such. Where other text follows,
    the column is `torn`, and has to be learned again as `words`.
    """

    name: str
    forced: str = ""  # the kind that the user gave
    limit: int = MOST_LEVELS
    words: bool = False
    declared: bool = False  # as a category, by its type
    alone: bool = False  # in some sets only: its values may be those of a column of another name
    torn: bool = False
    rows: int = 0
    missing: int = 0
    families: set[str] = field(default_factory=set)
    values: dict[str, Moments] = field(default_factory=dict)  # by family
    text: TextLearner | None = None
    whole: bool = True
    rising: bool = True  # whether the values, as they come, only rise
    falling: bool = True
    last: float = math.nan
    distinct: Distinct = field(default_factory=Distinct)
    type_name: str = ""

    def add(self, array: pa.Array) -> None:
        """Further rows."""
        if self.torn:
            return
        kind = family(array.type)
        kind = "text" if kind == "dictionary" and not self.declared else kind
        self.rows += len(array)
        if array.null_count == len(array):
            self.missing += len(array)
            return
        if kind == "text" and not self.words and self.forced != "category":
            for plain in ("number", "date") if not self.values else tuple(self.values):
                values = plain_values(array, plain) if self.text is None else None
                if values is not None:
                    self.families.add(plain)
                    self._add_numbers(plain, values)
                    return
            if self.values:
                self.torn = True
                return
        if kind in ("other", "list"):
            self.type_name = str(array.type)
            self.families.add("other")
            self.missing += array.null_count
        elif kind in ("text", "dictionary") or self.forced == "category":
            self.families.add(kind)
            if self.text is None:
                declared = self.declared or self.forced == "category"
                self.text = TextLearner(Levels(self.limit), declared=declared)
            self.missing += self.text.add(array, every=self.forced == "number")
        else:
            self.families.add(kind)
            self._add_numbers(kind, numbers(array))

    def _add_numbers(self, kind: str, values: NDArray[np.float64]) -> None:
        gaps = np.isnan(values)
        if gaps.any():
            self.missing += int(gaps.sum())
            values = values[~gaps]
        known = self.values.setdefault(kind, Moments.of_kind(kind))
        odd = known.absurd
        known.add(values)
        if known.absurd > odd:
            values = values[~absurd(values)]
        if kind != "number" or not len(values):
            return
        self.whole = self.whole and bool((values == np.floor(values)).all())
        if self.whole and (self.rising or self.falling):
            steps = np.diff(values, prepend=self.last)
            steps = steps[1:] if math.isnan(self.last) else steps
            self.rising = self.rising and bool((steps > 0).all())
            self.falling = self.falling and bool((steps < 0).all())
            self.last = float(values[-1])
        if (self.whole and may_be_identifier(self.name)) or self.alone:
            self.distinct.add(number_hashes(values))

    @property
    def counts_on(self) -> bool:
        """Whether whole numbers only rise or only fall, row by row."""
        return not math.isnan(self.last) and (self.rising or self.falling)

    @property
    def absurd(self) -> int:
        """Values that are infinite, beyond 1e100 or denormal."""
        read = 0 if self.text is None else self.text.read_as("point").absurd
        return read + sum(moments.absurd for moments in self.values.values())


@dataclass
class SetLearner:
    """What the columns of one set hold."""

    name: str
    columns: dict[str, ColumnLearner]

    @classmethod
    def of_schema(
        cls,
        name: str,
        schema: pa.Schema,
        forced: Mapping[str, str],
        *,
        words: Collection[str] = (),
        alone: Collection[str] = (),
    ) -> SetLearner:
        """A learner for these columns that has seen no row yet."""
        limit = max(256, min(MOST_LEVELS, TEXTS_IN_ALL // max(1, len(schema))))
        columns = {
            one.name: ColumnLearner(
                one.name,
                forced.get(one.name, ""),
                limit,
                words=one.name in words,
                declared=family(one.type) == "dictionary",
                alone=one.name in alone,
            )
            for one in schema
        }
        return cls(name, columns)

    def add(self, names: Sequence[str], arrays: Sequence[pa.Array]) -> None:
        """Further rows."""
        for name, array in zip(names, arrays, strict=True):
            self.columns[name].add(array)

    @property
    def rows(self) -> int:
        return next((column.rows for column in self.columns.values()), 0)
