"""One pass over a set: what its columns hold, in bounded memory.

A :class:`SetLearner` takes Arrow batches as they come and merges with others of the same set, so
that blocks may be read one after the other, or each by its own worker. What it keeps:

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
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan._tolerance import WITHIN_MINUTE

from .readings import (
    EXACT,
    READINGS,
    absurd,
    all_usual,
    coded,
    family,
    hours_of,
    numbers,
    parsed,
    plain_values,
    single_readings,
    whole_numbers,
)

if TYPE_CHECKING:
    import pyarrow as pa

#: Different texts counted in a column, at most.
MOST_LEVELS = 4096
#: All columns of text of a set together keep at most about this many texts (some 100 MB).
TEXTS_IN_ALL = 2**20
#: Hashes kept to estimate the number of different values: the error is 1/√2048 = 2.2 %.
HASHES = 2048
#: A reading that fits none of so many different texts is given up: stray words are few.
HOPELESS = 1000
#: Values among which the commonest one is looked for, where nearly all are that one.
PROBED = 101
MINUTES = 24 * 60
_IDENTIFIER_WORDS = frozenset(
    (
        "id", "ids", "idx", "index", "key", "pk", "uuid", "guid", "serial", "unnamed",
        "row", "rowid", "rownum", "rowname", "rownames",
    )
)  # fmt: skip
#: Names that identifiers have, and other columns too: these must not repeat a value at all.
_PERHAPS = ("id", "ids", "no", "nr", "num", "number", "seq", "seqn", "seqno", "obs", "case", "code")


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


# ---- what a pass keeps -------------------------------------------------------------------------


@dataclass
class Moments:
    """Count, mean, sum of squared deviations, least and largest of some numbers, place by place.

    A number is one place; a list of numbers has as many as its length. `add` takes (n,) or
    (n, places) without missing values; absurd ones are counted and nothing else.

    >>> both = Moments()
    >>> both.add(np.array([1.0, 2.0]))
    >>> both.add(np.array([6.0, np.inf]))
    >>> both.count, float(both.mean), float(both.low), float(both.high), both.absurd
    (3, 3.0, 1.0, 6.0, 1)
    """

    count: int = 0
    mean: Any = 0.0
    squares: Any = 0.0
    low: Any = math.inf
    high: Any = -math.inf
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
            odd = absurd(values).reshape(len(values), -1).any(axis=1)
            self.absurd += int(odd.sum() if weights is None else weights[odd].sum())
            values = values[~odd]
            weights = None if weights is None else weights[~odd]
        if len(values) == 0:
            return
        part = self._of(values, weights)
        if values.ndim == 1:
            self._count_common(values, weights)
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
    """One hash for each number, the finish of splitmix64; 0 and -0 are one number."""
    hashes = (values + 0.0).view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(hashes ^ (hashes >> np.uint64(31)))


def text_hashes(texts: pa.Array) -> NDArray[np.uint64]:
    """One hash for each text, the same in every process: the workers of a cluster must agree."""
    found = (blake2b(text.encode(), digest_size=8).digest() for text in texts.to_pylist())
    return np.frombuffer(b"".join(found), dtype=np.uint64)


# ---- columns and sets --------------------------------------------------------------------------


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

    def add(self, array: pa.Array, *, declared: bool = False, every: bool = False) -> int:
        """Further texts; `every` reading is kept, also those that fit none. Gives the gaps."""
        import pyarrow.compute as pc

        found = coded(array)
        counts, texts = found.counts(), found.texts
        self.padded += int(counts[found.padded].sum())
        if not counts.all():  # categories that no row has
            texts = texts.filter(counts > 0)
            counts = counts[counts > 0]
        self.declared = self.declared or declared
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

    def merge(self, other: TextLearner) -> None:
        self.levels.merge(other.levels)
        self.distinct.merge(other.distinct)
        for reading in list(self.readings):
            if reading in other.readings:
                self.readings[reading].merge(other.readings[reading])
            elif other.count:
                del self.readings[reading]
        self.count += other.count
        self.words += other.words
        self.padded += other.padded
        self.declared = self.declared or other.declared
        self.odd = self.odd or other.odd

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
    forced: str = ""  # "category", "number" or "" to find out
    shape: tuple[int, ...] = ()
    limit: int = MOST_LEVELS
    words: bool = False  # texts are learned as texts, whatever they look like
    alone: bool = False  # not in every set: its values may be those of a column of another name
    torn: bool = False
    rows: int = 0
    missing: int = 0
    families: set[str] = field(default_factory=set)
    values: dict[str, Moments] = field(default_factory=dict)  # by family
    text: TextLearner | None = None
    ends: tuple[int, ...] = ()  # of whole numbers beyond float64's, the least and the largest
    whole: bool = True
    order: Order = field(default_factory=Order)
    distinct: Distinct = field(default_factory=Distinct)
    type_name: str = ""

    def add(self, array: pa.Array) -> None:
        """Further rows."""
        if self.torn:
            return
        kind = family(array.type)
        self.rows += len(array)
        if array.null_count == len(array):
            self.missing += len(array)
            return
        self.type_name = self.type_name or str(array.type)
        if kind == "text" and not self.words and self.forced != "category":
            for plain in ("number", "date") if not self.values else tuple(self.values):
                values = plain_values(array, plain) if self.text is None else None
                if values is not None:
                    self.families.add(plain)
                    self._add_numbers(array, plain, values)
                    return
            if self.values:
                self.torn = True
                return
        self.families.add(kind)
        if kind == "other":
            self.missing += array.null_count
        elif kind in ("text", "dictionary") or self.forced == "category":
            declared = kind == "dictionary" or self.forced == "category"
            if self.text is None:
                self.text = TextLearner(Levels(self.limit))
            self.missing += self.text.add(array, declared=declared, every=self.forced == "number")
        else:
            self._add_numbers(array, kind, self._numbers(array))

    def _add_numbers(self, array: pa.Array, kind: str, values: NDArray[np.float64]) -> None:
        gaps = np.isnan(values).reshape(len(values), -1).any(axis=1)
        if gaps.any():
            self.missing += int(gaps.sum())
            values = values[~gaps]
        known = self.values.setdefault(kind, Moments.of_kind(kind))
        odd = known.absurd
        known.add(values)
        if known.absurd > odd and values.ndim == 1:
            values = values[~absurd(values)]
        if kind != "number" or not len(values):
            return
        if max(abs(float(known.low)), abs(float(known.high))) >= EXACT:
            self._find_ends(array)
        named = may_be_identifier(self.name)
        self.whole = self.whole and bool((values == np.floor(values)).all())
        if self.whole:
            self.order.add(values)
        if (self.whole and named) or self.alone:
            self.distinct.add(number_hashes(values))

    def _find_ends(self, array: pa.Array) -> None:
        import pyarrow.compute as pc

        whole = whole_numbers(array)
        if whole is not None and whole.null_count < len(whole):
            self.ends = _ends((*self.ends, *pc.min_max(whole).as_py().values()))

    def _numbers(self, array: pa.Array) -> NDArray[np.float64]:
        if not self.shape:
            return numbers(array)
        from .tables import list_rows

        return np.asarray(list_rows(array, self.shape, np.dtype(np.float64), self.name))

    @property
    def absurd(self) -> int:
        """Values that are infinite, beyond 1e100 or denormal."""
        read = 0 if self.text is None else self.text.read_as("point").absurd
        return read + sum(moments.absurd for moments in self.values.values())

    def merge(self, other: ColumnLearner) -> None:
        """`other` saw the rows after these."""
        self.rows += other.rows
        self.missing += other.missing
        self.families |= other.families
        for kind, moments in other.values.items():
            self.values.setdefault(kind, Moments()).merge(moments)
        if self.text is None:
            self.text = other.text
        elif other.text is not None:
            self.text.merge(other.text)
        self.ends = _ends((*self.ends, *other.ends))
        self.whole = self.whole and other.whole
        self.order.merge(other.order)
        self.distinct.merge(other.distinct)
        self.type_name = self.type_name or other.type_name


def _ends(values: tuple[int, ...]) -> tuple[int, ...]:
    return (min(values), max(values)) if values else ()


@dataclass
class SetLearner:
    """What the columns of one set hold."""

    name: str
    columns: dict[str, ColumnLearner]

    @classmethod
    def of_columns(
        cls,
        name: str,
        shapes: Mapping[str, tuple[int, ...]],
        forced: Mapping[str, str],
        *,
        words: Collection[str] = (),
        alone: Collection[str] = (),
    ) -> SetLearner:
        """A learner for these columns that has seen no row yet."""
        limit = max(256, min(MOST_LEVELS, TEXTS_IN_ALL // max(1, len(shapes))))
        return cls(
            name,
            {
                column: ColumnLearner(
                    column, forced.get(column, ""), shape, limit, column in words, column in alone
                )
                for column, shape in shapes.items()
            },
        )

    def add(self, batch: pa.RecordBatch) -> None:
        """Further rows."""
        for name, array in zip(batch.schema.names, batch.columns, strict=True):
            if name in self.columns:
                self.columns[name].add(array)

    def merge(self, other: SetLearner) -> None:
        for name, column in self.columns.items():
            column.merge(other.columns[name])

    @property
    def torn(self) -> list[str]:
        return [name for name, column in self.columns.items() if column.torn]

    @property
    def rows(self) -> int:
        return next((column.rows for column in self.columns.values()), 0)


def merged_learners(learners: Iterable[SetLearner]) -> SetLearner:
    """What the sets hold together, each following the one before."""
    first, *others = learners
    for other in others:
        first.merge(other)
    return first
