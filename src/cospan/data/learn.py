"""One pass over a set: what its columns hold, in bounded memory.

A :class:`SetLearner` takes Arrow batches as they come and merges with others of the same set, so
that blocks may be read one after the other, or each by its own worker.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .readings import READINGS, coded, parsed, plain_values, single_readings
from .sketches import MOST_LEVELS, Distinct, Levels, Moments, Order, number_hashes, text_hashes
from .values import OBJECTS, absurd, family, numbers

if TYPE_CHECKING:
    import pyarrow as pa

#: All columns of text of a set together keep at most about this many texts (some 100 MB).
TEXTS_IN_ALL = 2**20
#: A reading that fits none of so many different texts is given up: stray words are few.
HOPELESS = 1000
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
    limit: int = MOST_LEVELS
    words: bool = False  # texts are learned as texts, whatever they look like
    declared: bool = False  # as a category, by the type of the column
    alone: bool = False  # not in every set: its values may be those of a column of another name
    torn: bool = False
    rows: int = 0
    missing: int = 0
    families: set[str] = field(default_factory=set)
    values: dict[str, Moments] = field(default_factory=dict)  # by family
    text: TextLearner | None = None
    whole: bool = True
    order: Order = field(default_factory=Order)
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
        if kind in ("other", "list"):
            kind = "other"
            self.type_name = OBJECTS if OBJECTS in str(array.type) else str(array.type)
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
        self.families.add(kind)
        if kind == "other":
            self.missing += array.null_count
        elif kind in ("text", "dictionary") or self.forced == "category":
            declared = self.declared or self.forced == "category"
            if self.text is None:
                self.text = TextLearner(Levels(self.limit))
            self.missing += self.text.add(array, declared=declared, every=self.forced == "number")
        else:
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
        named = may_be_identifier(self.name)
        self.whole = self.whole and bool((values == np.floor(values)).all())
        if self.whole:
            self.order.add(values)
        if (self.whole and named) or self.alone:
            self.distinct.add(number_hashes(values))

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
        self.whole = self.whole and other.whole
        self.order.merge(other.order)
        self.distinct.merge(other.distinct)
        self.type_name = self.type_name or other.type_name


@dataclass
class SetLearner:
    """What the columns of one set hold."""

    name: str
    columns: dict[str, ColumnLearner]

    @classmethod
    def of_columns(
        cls,
        name: str,
        columns: Sequence[str],
        forced: Mapping[str, str],
        *,
        words: Collection[str] = (),
        declared: Collection[str] = (),
        alone: Collection[str] = (),
    ) -> SetLearner:
        """A learner for these columns that has seen no row yet."""
        limit = max(256, min(MOST_LEVELS, TEXTS_IN_ALL // max(1, len(columns))))
        return cls(
            name,
            {
                column: ColumnLearner(
                    column,
                    forced.get(column, ""),
                    limit,
                    words=column in words,
                    declared=column in declared,
                    alone=column in alone,
                )
                for column in columns
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
