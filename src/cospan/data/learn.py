"""What the columns of a set hold: learned from a sample of its rows that fits into memory.

The sample is drawn evenly over all rows: of a set of up to 262,144 rows (and 64 MB) it is the set
itself, and everything below is exact. It does not depend on how rows were cut into blocks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from cospan.base.keys import mixed
from cospan.base.tolerance import WITHIN_MINUTE

from .arrow import pa, pc
from .readings import READINGS, coded, parsed, plain_values, single_readings
from .source import CHUNK_BYTES, Chunk, joined
from .tables import LEARN_ROWS, Table
from .values import absurd, all_usual, family, hours_of, numbers, text_bytes

#: A sample has at most so many rows, and takes about so many bytes.
SAMPLE_ROWS, SAMPLE_BYTES = 2**18, 2**26
#: Different texts that a profile counts, at most.
MOST_LEVELS = 4096
#: Values among which the commonest one is looked for, where nearly all are that one.
PROBED = 101
#: A reading that fits none of so many different texts is given up: stray words are few.
HOPELESS = 1000
#: Classes of one table that are learned apart; with more, all rows are learned as one set.
MOST_CLASSES = 100
MINUTES = 24 * 60
ONE = np.ones(1, dtype=np.uint64)
_IDENTIFIER_WORDS = frozenset(
    (
        "id", "ids", "idx", "index", "key", "pk", "uuid", "guid", "serial", "unnamed",
        "row", "rowid", "rownum", "rowname", "rownames",
    )
)  # fmt: skip
#: Names that identifiers have, and other columns too: these must not repeat a value at all.
_PERHAPS = ("id", "ids", "no", "nr", "num", "number", "seq", "seqn", "seqno", "obs", "case", "code")


@dataclass(frozen=True)
class Moments:
    """Count, mean, sum of squared deviations, least and largest of some numbers.

    Absurd ones are counted and nothing else.

    >>> found = Moments.of(np.array([1.0, 2.0, 6.0, np.inf]))
    >>> found.count, found.mean, found.low, found.high, found.absurd
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
    def of(
        cls,
        values: NDArray[np.float64],
        weights: NDArray[np.float64] | None = None,
        *,
        dates: bool = False,
    ) -> Moments:
        """Of values without missing ones; `weights` says how often each occurs."""
        odd, plain = 0, weights is None
        weights = np.ones(len(values)) if weights is None else weights
        if not all_usual(values):
            wrong = absurd(values)
            odd = int(weights[wrong].sum())
            values, weights = values[~wrong], weights[~wrong]
        if len(values) == 0:
            return cls(absurd=odd)
        count = int(weights.sum())
        mean = float(values.mean() if plain else weights @ values / count)
        away = values - mean
        first = np.argsort(values[:PROBED], kind="stable")
        middle = np.searchsorted(np.cumsum(weights[first]), weights[first].sum() / 2)
        common = float(values[first[int(middle)]])
        minutes = None
        if dates:
            minute = np.floor(60 * hours_of(values) + WITHIN_MINUTE).astype(np.intp) % MINUTES
            minutes = np.bincount(minute, weights, MINUTES).astype(np.float64)
        return cls(
            count,
            mean,
            float(away @ away if plain else weights @ away**2),
            float(values.min()),
            float(values.max()),
            odd,
            common,
            int(weights[values == common].sum()),
            minutes,
        )

    @property
    def deviation(self) -> float:
        """Standard deviation, with divisor count."""
        return math.sqrt(self.squares / max(1, self.count))


class Texts:
    """The different texts of a column, how often each occurs, and what a reading makes of them."""

    def __init__(self, array: pa.Array, *, declared: bool = False) -> None:
        found = coded(array)
        counts = found.counts()
        self.declared = declared  # as a category, by the type of the column
        self.missing = int(np.count_nonzero(found.codes < 0))
        self.padded = int(counts[found.padded].sum())  # rows with blanks around the text
        there = counts > 0  # some categories no row has
        self._texts = found.texts.filter(pa.array(there))
        self._counts = counts[there].astype(np.float64)
        self.count = int(self._counts.sum())
        self._read: dict[str, Moments] = {}

    @cached_property
    def levels(self) -> dict[str, int]:
        """How often each text occurs."""
        counts = self._counts.astype(np.int64).tolist()
        levels: dict[str, int] = {}
        for text, count in zip(self._texts.to_pylist(), counts, strict=True):
            levels[text] = levels.get(text, 0) + count  # blanks around it were taken off
        return levels

    @property
    def words(self) -> float:
        """Words in all texts together."""
        spaces = pc.count_substring(self._texts, pattern=" ").to_numpy(zero_copy_only=False)
        return float((spaces + 1) @ self._counts)

    def read_as(self, reading: str) -> Moments:
        """The numbers that the texts are by this reading, or by that of several which fits."""
        if reading not in self._read:
            probe = parsed(self._texts.slice(0, HOPELESS), reading)
            hopeless = probe.null_count == HOPELESS
            values = probe if hopeless else parsed(self._texts, reading)
            present = np.asarray(values.is_valid().to_numpy(zero_copy_only=False))
            weights = self._counts[: len(present)][present]
            dates = READINGS[single_readings(reading)[0]].kind == "date"
            self._read[reading] = Moments.of(values.drop_null().to_numpy(), weights, dates=dates)
        return self._read[reading]

    def fits(self, reading: str) -> int:
        """How many values read so."""
        read = self.read_as(reading)
        return read.count + read.absurd

    @cached_property
    def fitting(self) -> set[str]:
        """The readings that fit every value."""
        return {name for name in READINGS if self.fits(name) == self.count}

    @property
    def odd(self) -> str:
        """A text that is not a number, for messages."""
        odd = self._texts.filter(parsed(self._texts, "point").is_null())
        return str(odd[0]) if len(odd) else ""


class ColumnLearner:
    """What one column of one set holds: numbers of a `family` (`values`), or `text`.

    Text that is all plain numbers, or all ISO dates, is learned as such. Each of its rows stands
    for `step` rows of the set.
    """

    def __init__(
        self, name: str, array: pa.Array, forced: str = "", *, declared: bool = False, step: int = 1
    ) -> None:
        self.name, self.forced, self.step = name, forced, step
        self.rows, self.missing = len(array), array.null_count
        self.type_name = str(array.type)
        self.values: Moments | None = None
        self.text: Texts | None = None
        self._numbers = np.empty(0)
        kind = family(array.type)
        if array.null_count == len(array):
            kind = ""
        elif kind == "list":
            kind = "other"
        elif kind == "dictionary" and not declared:
            kind = "text"
        self.family = kind
        if kind in ("", "other"):
            return
        if kind == "text" and forced != "category":
            for plain in ("number", "date"):
                values = plain_values(array, plain)
                if values is not None:
                    self.family = plain
                    self._learn_numbers(values)
                    return
        if kind in ("text", "dictionary") or forced == "category":
            self.text = Texts(array, declared=declared or forced == "category")
            self.missing = self.text.missing
        else:
            self._learn_numbers(numbers(array))

    def _learn_numbers(self, values: NDArray[np.float64]) -> None:
        gaps = np.isnan(values)
        self.missing = int(gaps.sum())
        values = values[~gaps] if self.missing else values
        self.values = Moments.of(values, dates=self.family == "date")
        self._numbers = values[~absurd(values)] if self.values.absurd else values

    @cached_property
    def whole(self) -> bool:
        """Whether all numbers are whole."""
        return bool((self._numbers == np.floor(self._numbers)).all())

    @cached_property
    def counts_on(self) -> bool:
        """Whether whole numbers only rise or only fall, row by row."""
        if not self.whole or not len(self._numbers):
            return False
        steps = np.diff(self._numbers)
        return bool((steps > 0).all() or (steps < 0).all())

    @cached_property
    def different(self) -> NDArray[np.float64] | set[str]:
        """The different values."""
        return np.unique(self._numbers) if self.text is None else set(self.text.levels)

    @property
    def absurd(self) -> int:
        """Values that are infinite, beyond 1e100 or denormal."""
        read = 0 if self.text is None else self.text.read_as("point").absurd
        return read + (0 if self.values is None else self.values.absurd)


@dataclass
class SetLearner:
    """What the columns of one set hold."""

    name: str
    rows: int
    columns: dict[str, ColumnLearner]


def learn_table(table: Table, name: str, forced: Mapping[str, str]) -> list[SetLearner]:
    """One pass: what the columns hold, for each class where the rows are of several."""
    sample, step = _sample(table, table.columns)
    parts = {name: sample.rows}
    if table.labelled and sample.labels is not None:
        values, group = np.unique(sample.labels, return_inverse=True)
        if len(values) <= MOST_CLASSES:
            order = sorted(range(len(values)), key=lambda k: str(values[k]))
            parts = {str(values[k]): sample.rows.filter(group == k) for k in order}
    declared = {c for c in table.columns if family(table.schema.field(c).type) == "dictionary"}
    return [
        SetLearner(
            called,
            rows.num_rows,
            {
                column: ColumnLearner(
                    column, array, forced.get(column, ""), declared=column in declared, step=step
                )
                for column, array in zip(table.columns, rows.columns, strict=True)
            },
        )
        for called, rows in parts.items()
    ]


def _sample(table: Table, columns: Sequence[str]) -> tuple[Chunk, int]:
    """Rows that are evenly drawn by their running number, one of so many."""
    most = table.options.chunk_rows or LEARN_ROWS
    size = max(1, min(most, LEARN_ROWS, CHUNK_BYTES // (8 * max(1, len(columns)))))
    kept: list[tuple[NDArray[np.uint64], Chunk]] = []
    step, seen, rows, held = 1, 0, 0, 0
    for block in table.blocks(columns, size):
        drawn = mixed(ONE, np.arange(seen, seen + len(block.ids), dtype=np.uint64))
        seen += len(drawn)
        kept.append(_thinned(drawn, block, step))
        rows, held = rows + len(kept[-1][0]), held + kept[-1][1].rows.nbytes
        while (rows > SAMPLE_ROWS or held > SAMPLE_BYTES) and rows > 1:
            step *= 2
            kept = [_thinned(*one, step) for one in kept]
            rows, held = sum(len(x) for x, _ in kept), sum(c.rows.nbytes for _, c in kept)
    return joined([chunk for _, chunk in kept if len(chunk.ids)]), step


def _thinned(
    drawn: NDArray[np.uint64], block: Chunk, step: int
) -> tuple[NDArray[np.uint64], Chunk]:
    if step == 1:
        return drawn, block
    mask = drawn % np.uint64(step) == 0
    return drawn[mask], block.take(mask)


def text_hashes(texts: pa.Array) -> NDArray[np.uint64]:
    """One hash for each text, the sum of hashes of its bytes with their places."""
    found = [np.empty(0, np.uint64)]
    for content, ends in text_bytes(texts):
        lengths = np.diff(ends)
        places = np.arange(len(content)) - np.repeat(ends[:-1], lengths)
        sums = np.zeros(len(content) + 1, dtype=np.uint64)
        np.cumsum(mixed(ONE, (places * 256 + content).view(np.uint64)), out=sums[1:])
        found.append(mixed(ONE, sums[ends[1:]] - sums[ends[:-1]]))
    return np.concatenate(found)


# ---- names of identifiers ----------------------------------------------------------------------


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
