"""What the columns of a set hold: learned from a sample of its rows that fits into memory.

The sample is drawn evenly over all rows: of a set of up to 262,144 rows (and 64 MB) it is the set
itself, and everything below is exact. It does not depend on how rows were cut into blocks.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from cospan.base.rows import mixed
from cospan.base.types import Floats

from .columns import PLAIN, READINGS, coded, family, numbers, pa, parsed, pc, plain_values
from .plan import ColumnPlan, ColumnProfile, SchemaChange
from .source import CHUNK_BYTES, LEARN_ROWS, Chunk, Table, absurd, all_usual, joined

#: A sample has at most so many rows, and takes about so many bytes.
SAMPLE_ROWS, SAMPLE_BYTES = 2**18, 2**26
#: Different texts that a profile counts, at most.
MOST_LEVELS = 4096
#: A reading that fits none of so many different texts is given up: stray words are few.
HOPELESS = 1000
#: Classes of one table that are learned apart; with more, all rows are learned as one set.
MOST_CLASSES = 100
#: Columns under two names hold the same values where these share half of their different values,
#: or their means lie within a quarter of a standard deviation, and so on.
SAME_VALUES, ALIKE = 0.5, 0.25
_IDENTIFIER_WORDS = frozenset(
    (
        "id", "ids", "idx", "index", "key", "pk", "uuid", "guid", "serial", "unnamed",
        "row", "rowid", "rownum", "rowname", "rownames",
    )
)  # fmt: skip
#: Names that identifiers have, and other columns too: these must not repeat a value at all.
_PERHAPS = ("id", "ids", "no", "nr", "num", "number", "seq", "seqn", "seqno", "obs", "case", "code")


class Numbers:
    """The numbers of a column that are known, and how often each occurs (without `weights` once).

    Absurd ones are counted and nothing else.

    >>> found = Numbers(np.array([1.0, 2.0, 6.0, np.inf]))
    >>> found.count, found.mean, found.low, found.high, found.absurd
    (3, 3.0, 1.0, 6.0, 1)
    """

    def __init__(self, values: Floats, weights: Floats | None = None) -> None:
        self.absurd = 0
        if not all_usual(values):
            wrong = absurd(values)
            self.absurd = int((wrong if weights is None else weights[wrong]).sum())
            values, weights = values[~wrong], None if weights is None else weights[~wrong]
        self.values, self.weights = values, weights
        self.count = len(values) if weights is None else int(weights.sum())
        self.low = float(values.min(initial=math.inf))
        self.high = float(values.max(initial=-math.inf))

    @cached_property
    def mean(self) -> float:
        if self.weights is None:
            return float(self.values.mean()) if self.count else 0.0
        return float(self.weights @ self.values / max(1, self.count))

    @cached_property
    def deviation(self) -> float:
        """Standard deviation, with divisor count."""
        away = self.values - self.mean
        squares = away @ away if self.weights is None else self.weights @ away**2
        return math.sqrt(float(squares) / max(1, self.count))


class Held:
    """What one column of one set holds: `values`, numbers of a `family`, or texts.

    Text that is all plain numbers, or all ISO dates, is learned as such. Each of its rows stands
    for `step` rows of the set. `count` values are texts; `declared` are categories
    by the type of the column.
    """

    def __init__(
        self, name: str, array: pa.Array, forced: str = "", *, declared: bool = False, step: int = 1
    ) -> None:
        self.name, self.forced, self.declared, self.step = name, forced, declared, step
        self.rows, self.type_name = len(array), str(array.type)
        self.missing: int = array.null_count
        self.values: Numbers | None = None
        self.count = 0
        self._texts, self._counts = pa.array([], pa.string()), np.empty(0)
        self._read: dict[str, Numbers] = {}
        kind = family(array.type)
        kind = "text" if kind == "dictionary" and not declared else kind
        self.family = "" if array.null_count == len(array) and kind != "other" else kind
        if self.family in ("", "other"):
            return
        values = None
        if kind == "text" and forced != "category":
            for way in ("number", "date"):
                if values is None and (values := plain_values(array, way)) is not None:
                    self.family = way
        elif kind != "dictionary" and forced != "category":
            values = numbers(array)
        if values is not None:
            known = values[~np.isnan(values)]
            self.missing, self.values = len(values) - len(known), Numbers(known)
            return
        codes, texts = coded(array)
        counts = np.bincount(codes[codes >= 0], minlength=len(texts))
        self.missing = int(np.count_nonzero(codes < 0))
        there = counts > 0  # some categories no row has
        self._texts, self._counts = texts.filter(pa.array(there)), counts[there].astype(np.float64)
        self.count = int(self._counts.sum())

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

    def read_as(self, reading: str) -> Numbers:
        """The numbers that the texts are by this reading."""
        if reading not in self._read:
            probe = parsed(self._texts.slice(0, HOPELESS), reading)
            hopeless = probe.null_count == HOPELESS
            values = probe if hopeless else parsed(self._texts, reading)
            present = np.asarray(values.is_valid().to_numpy(zero_copy_only=False))
            weights = self._counts[: len(present)][present]
            self._read[reading] = Numbers(values.drop_null().to_numpy(), weights)
        return self._read[reading]

    def fits(self, reading: str) -> int:
        """How many texts read so."""
        read = self.read_as(reading)
        return read.count + read.absurd

    @cached_property
    def fitting(self) -> set[str]:
        """The readings that fit every text."""
        return {name for name in READINGS if self.fits(name) == self.count}

    @cached_property
    def whole(self) -> bool:
        """Whether all numbers are whole."""
        values = np.empty(0) if self.values is None else self.values.values
        return bool((values == np.floor(values)).all())

    @cached_property
    def counts_on(self) -> bool:
        """Whether whole numbers only rise or only fall, row by row."""
        if self.values is None or not self.values.count or not self.whole:
            return False
        steps = np.diff(self.values.values)
        return bool((steps > 0).all() or (steps < 0).all())

    @cached_property
    def different(self) -> set[float] | set[str]:
        """The different values."""
        if self.count or self.values is None:
            return set(self.levels)
        return set(np.unique(self.values.values).tolist())

    # ---- by a plan

    def numbers(self, column: ColumnPlan) -> Numbers:
        """The numbers as the column is encoded (no categories)."""
        if self.values is not None:
            return self.values
        if not self.count or column.kind == "category":
            return Numbers(np.empty(0))
        if column.kind == "boolean":
            values = np.array([float(level.lower() == column.truth[1]) for level in self.levels])
            return Numbers(values, np.array(list(self.levels.values()), dtype=np.float64))
        return self.read_as(_reading(column))

    def gaps(self, column: ColumnPlan) -> int:
        """Values that are missing, absurd, or not what the column holds."""
        if column.kind in ("category", "left out", "set aside"):
            return self.missing
        found, texts = self.numbers(column), 0
        if self.count and column.kind != "boolean":
            texts = self.count - self.fits(_reading(column))
        return self.missing + texts + found.absurd

    def commonest(self, column: ColumnPlan) -> tuple[str, int, int]:
        """The value of nearly all rows, where there is one; how many have it, or any value."""
        if column.kind == "category":
            value = max(self.levels, key=lambda level: self.levels[level], default="")
            return value, self.levels.get(value, 0), self.count
        found = self.numbers(column)
        if not found.count:
            return "", 0, 0
        middle = (len(found.values) - 1) // 2
        common = np.partition(found.values, middle)[middle]
        if found.weights is not None:
            common = found.values[found.weights.argmax()]
        same, weights = found.values == common, found.weights
        n = int(np.count_nonzero(same) if weights is None else weights[same].sum())
        return f"{common:.10g}", n, found.count

    def profile(self, column: ColumnPlan) -> ColumnProfile:
        """What it holds, as plain numbers."""
        known = column.kind not in ("category", "left out", "set aside")
        found = self.numbers(column) if known else Numbers(np.empty(0))
        exact = len(self.levels) <= MOST_LEVELS
        reading = column.reading or PLAIN.get(column.kind, "")
        read = bool(self.count and reading and column.kind != "boolean")
        return ColumnProfile(
            column.name,
            self.rows,
            self.gaps(column),
            found.low if found.count else math.nan,
            found.high if found.count else math.nan,
            levels=self.levels if exact else dict(Counter(self.levels).most_common(MOST_LEVELS)),
            exact=exact,
            reading=reading if read else "",
            kind=column.kind,
        )


#: What the columns of a set hold, by their names.
Columns: TypeAlias = dict[str, Held]


def _reading(column: ColumnPlan) -> str:
    return column.reading or PLAIN.get(column.kind, "iso date")


# ---- samples of tables -------------------------------------------------------------------------


def learn_table(table: Table, name: str, forced: Mapping[str, str]) -> dict[str, Columns]:
    """One pass: what the columns hold, by the names of classes where the rows are of several."""
    sample, step = _sample(table)
    parts = {name: sample.rows}
    if sample.labels is not None:
        values, group = np.unique(sample.labels, return_inverse=True)
        if len(values) <= MOST_CLASSES:
            order = sorted(range(len(values)), key=lambda k: str(values[k]))
            parts = {str(values[k]): sample.rows.filter(group == k) for k in order}

    def held(column: str, rows: pa.RecordBatch) -> Held:
        kind = table.schema.field(column).type
        array = pa.nulls(1, kind) if family(kind) == "other" else rows.column(column)
        declared = family(kind) == "dictionary"
        return Held(column, array, forced.get(column, ""), declared=declared, step=step)

    return {called: {c: held(c, rows) for c in table.columns} for called, rows in parts.items()}


def _sample(table: Table) -> tuple[Chunk, int]:
    """Rows that are evenly drawn by their running number, one of so many."""
    most = table.options.chunk_rows or LEARN_ROWS
    columns = [c for c in table.columns if family(table.schema.field(c).type) != "other"]
    size = max(1, min(most, LEARN_ROWS, CHUNK_BYTES // (8 * len(table.columns))))
    kept: list[Chunk] = []
    step, seen = 1, 0
    for block in table.blocks(columns or table.columns[:1], size):
        places = np.arange(seen, seen + len(block.ids), dtype=np.uint64)
        seen += len(places)
        block = block._replace(ids=mixed(np.ones(1, np.uint64), places))
        kept.append(_thinned(block, step))
        while (
            sum(len(one.ids) for one in kept) > SAMPLE_ROWS
            or sum(one.rows.nbytes for one in kept) > SAMPLE_BYTES
        ):
            fewer = [_thinned(one, 2 * step) for one in kept]
            if not any(len(one.ids) for one in fewer):  # the last rows stay, however long
                break
            step, kept = 2 * step, fewer
    return joined([one for one in kept if len(one.ids)]), step


def _thinned(block: Chunk, step: int) -> Chunk:
    return block if step == 1 else block.take(block.ids % np.uint64(step) == 0)


# ---- columns of other names --------------------------------------------------------------------


def only_in_some(
    columns: Sequence[Sequence[str]], names: Sequence[str], learned: Sequence[dict[str, Columns]]
) -> list[SchemaChange]:
    """Columns that not every set has; those that are one under two names are found out."""
    having: dict[str, list[int]] = {}
    for k, own in enumerate(columns):
        for column in own:
            having.setdefault(column, []).append(k)
    some = {column: ks for column, ks in having.items() if len(ks) < len(columns)}
    held = {c: [own[c] for k in ks for own in learned[k].values()] for c, ks in some.items()}
    # Columns of the first set and those of all others that hold the same values, one to one.
    fits = [
        (first, second)
        for first in some
        for second in some
        if sorted(some[first] + some[second]) == list(range(len(columns))) and 0 in some[first]
        if all(_same_values(a, b) for a in held[first] for b in held[second])
    ]
    times = Counter(column for pair in fits for column in pair)
    renamed = {first: second for first, second in fits if times[first] == times[second] == 1}
    changes = []
    for column, ks in some.items():
        sets = tuple(names[k] for k in ks)
        if column in renamed:
            others = tuple(names[k] for k in some[renamed[column]])
            changes.append(SchemaChange("renamed", column, sets, renamed[column], others))
        elif column not in renamed.values():
            changes.append(SchemaChange("only in", column, sets))
    return changes


def _same_values(a: Held, b: Held) -> bool:
    """Whether columns of two names hold the same values, as far as samples say."""
    if a.family != b.family or bool(a.count) != bool(b.count):
        return False
    shared = len({*a.different} & {*b.different}) / max(1, len({*a.different, *b.different}))
    if shared >= SAME_VALUES and (a.count or len(a.different) > 2):
        return True
    first, second = a.values, b.values
    if first is None or second is None or a.whole != b.whole or not (first.count and second.count):
        return False
    low, high = sorted((first.deviation, second.deviation))
    spread = math.hypot(low, high) / math.sqrt(2)
    return (
        high <= math.exp(ALIKE) * low
        and abs(first.mean - second.mean) <= ALIKE * spread
        and abs(first.low - second.low) <= spread
        and abs(first.high - second.high) <= 2 * spread
    )


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
