"""Rows of a table become rows of numbers by a plan, block by block.

Numbers are laid side by side; the levels of a category are single ones in a block of zeros. A value
the plan has no place for is counted, so that it can be reported: a level the sets did not have, a
gap in a column that had none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.notes import Note
from cospan.base.types import Values

from .arrow import pa, pc
from .learn import text_hashes
from .plan import PLURALS, ColumnPlan, EncodingPlan, SetProfile
from .readings import PLAIN, coded, parsed, plain_values, text_parts, truths
from .values import absurd, all_usual, family, hours_of, numbers

#: Numbers are moved to their place in the rows in strips of this size, which fit the cache.
STRIP_BYTES = 2**20


class Encoder:
    """Applies a plan to Arrow batches that have its columns; one that lacks counts as missing.

    `dtype` is that of the rows; `profiles` say how the texts of this set are read. `unseen`,
    `absurd` and `gaps` count, for each column, the values that no level of the plan has, those that
    no measurement can be, and the missing values of columns that had none when it was learned.
    """

    def __init__(
        self,
        plan: EncodingPlan,
        dtype: np.dtype,
        source: str,
        profiles: Sequence[SetProfile] = (),
    ) -> None:
        self.plan = plan
        self.dtype = dtype
        self.source = source
        self.unseen: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.gaps: Counter[str] = Counter()
        self.absurd: Counter[str] = Counter()
        self.merged: NDArray[np.uint64] | None = None  # as a Chunk's, of the last batch
        self._dates: tuple[Any, dict[str, NDArray[np.float64]]] = (None, {})
        self._keeps_gaps = plan.missing in ("drop", "error")
        self._profiles = profiles
        widths = {column.name: len(column.features) for column in plan.used}
        widths |= {column.indicator_name: 1 for column in plan.used if column.indicator}
        ends = np.cumsum([0, *widths.values()]).tolist()
        self._places: dict[str, int] = dict(zip(widths, ends, strict=False))

    def rows(self, batch: pa.RecordBatch) -> Values:
        """The batch as rows of numbers.

        NaN is left only where a value is missing that the plan cannot or shall not fill.
        """
        numbers: list[tuple[int, Values]] = []
        levels: list[tuple[ColumnPlan, tuple[NDArray[np.intp], ...]]] = []
        self.merged = None
        for column in self.plan.used:
            if column.kind == "category":
                levels.append((column, self._levels(column, _column(batch, column.name))))
                continue
            values, gaps = self._filled(column, self._values(column, batch))
            numbers.append((self._places[column.name], values))
            if gaps is not None and column.indicator:
                numbers.append((self._places[column.indicator_name], gaps))
        rows = np.zeros((batch.num_rows, self.plan.n_features), dtype=self.dtype)
        _put(rows, numbers, [(self._places[c.name], codes) for c, (codes, _, _) in levels])
        for column, (_, absent, new) in levels:
            self._correct(rows, column, absent, new)
        return rows

    def times(self, batch: pa.RecordBatch) -> NDArray[np.float64] | None:
        """Days since 1970 in the plan's columns of times, side by side; None if it has none."""
        found = [self._days(column.name, batch) for column in self.plan.times]
        return np.column_stack(found) if found else None

    def watched(self, batch: pa.RecordBatch) -> NDArray[np.float64] | None:
        """What the plan watches of texts without features, side by side; None if there are none."""
        texts = [column.name for column in self.plan.columns if column.watched]
        return np.hstack([text_parts(_column(batch, name)) for name in texts]) if texts else None

    def _values(self, column: ColumnPlan, batch: pa.RecordBatch) -> NDArray[np.float64]:
        """One number for each row, NaN where missing; some are made of dates."""
        if column.kind == "date":
            return self._days(column.name, batch)
        if not column.of:
            return self._numbers(column, _column(batch, column.name))
        first, last = (self._days(name, batch) for name in (column.of[0], column.of[-1]))
        if column.kind != "time of day":
            return last - first
        hours = hours_of(first)
        return np.where(hours < column.origin, hours + 24, hours)

    def _days(self, name: str, batch: pa.RecordBatch) -> NDArray[np.float64]:
        """The days since 1970 of a column of dates, each of which is read once."""
        if self._dates[0] is not batch:
            self._dates = (batch, {})
        read = self._dates[1]
        if name not in read:
            column = replace(self.plan[name], kind="date")
            read[name] = self._numbers(column, _column(batch, name))
        return read[name]

    def _numbers(self, column: ColumnPlan, array: pa.Array) -> NDArray[np.float64]:
        """One number for each row, NaN where missing."""
        kind = family(array.type)
        if kind == "nothing" or array.null_count == len(array):
            return np.full(len(array), np.nan)
        if kind not in ("text", "dictionary"):
            # Days are no measurements: dates in place of numbers would be read as such.
            if kind != column.kind and not {kind, column.kind} <= {"number", "boolean"}:
                self.unseen[column.name] += len(array) - array.null_count
                self.examples.setdefault(column.name, str(array.drop_null()[0]))
                return np.full(len(array), np.nan)
            return numbers(array)
        reading = self._reading(column)
        if reading in ("point", "iso date") and column.kind in ("number", "date"):
            plain = plain_values(array, column.kind)
            if plain is not None:
                return plain
        found = coded(array)
        if column.kind == "boolean":
            values = truths(found.texts, column.truth)
            if np.isnan(values).any():  # 0 and 1 of one set are the words of another
                values = np.where(np.isnan(values), _floats(found.texts, "point"), values)
        else:
            values = _floats(found.texts, reading)
        self._note_unread(column, found.texts, values, found.codes)
        return np.append(values, np.nan)[found.codes]

    def _reading(self, column: ColumnPlan) -> str:
        """How the texts of this set are read: another set may write numbers with a comma."""
        usual = PLAIN[column.kind]
        profiles = [one[column.name] for one in self._profiles if column.name in one]
        if profiles and not any(one.levels for one in profiles):
            return usual
        return column.reading or usual

    def _note_unread(
        self, column: ColumnPlan, texts: pa.Array, values: Values, codes: NDArray[np.intp]
    ) -> None:
        """Text that is not the kind of value the plan expects counts as missing; it is reported."""
        odd = np.intersect1d(np.flatnonzero(np.isnan(values)), codes)  # not all levels occur
        if len(odd):
            self.unseen[column.name] += int(np.isin(codes, odd).sum())
            self.examples.setdefault(column.name, texts[int(odd[0])].as_py())

    def _filled(
        self, column: ColumnPlan, values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        if all_usual(values):
            return values, None
        odd = absurd(values)
        if odd.any():
            self.absurd[column.name] += int(odd.sum())
            values = np.where(odd, np.nan, values)
        gaps = np.isnan(values)
        if self._keeps_gaps or not column.fill or not gaps.any():
            return values, None
        if not column.indicator:
            self.gaps[column.name] += int(gaps.sum())
        return np.where(gaps, column.fill[0], values), gaps

    def _levels(self, column: ColumnPlan, array: pa.Array) -> tuple[NDArray[np.intp], ...]:
        """The number of each row's level, the rows without one, and those of a new one."""
        found = coded(array)
        known = pc.index_in(found.texts, value_set=pa.array(column.levels, found.texts.type))
        level = np.asarray(pc.fill_null(known, len(column.levels)).to_numpy(), dtype=np.intp)
        if column.other:
            salt = np.uint64(2 * self._places[column.name] + 1)
            own = np.append(text_hashes(found.texts) * salt, np.uint64(0))[found.codes]
            self.merged = own if self.merged is None else self.merged + own
        codes = np.append(level, -1)[found.codes]
        gaps, new = np.flatnonzero(codes < 0), np.empty(0, dtype=np.intp)
        if not column.other and (level == len(column.levels)).any():
            new = np.flatnonzero(codes == len(column.levels))
            unknown = np.where(level == len(column.levels), np.nan, 0.0)
            self._note_unread(column, found.texts, unknown, found.codes)
        # Any level will do for a row without one: it is corrected afterwards.
        codes[gaps], codes[new] = 0, 0
        return codes, gaps, new

    def _correct(
        self, rows: Values, column: ColumnPlan, gaps: NDArray[np.intp], new: NDArray[np.intp]
    ) -> None:
        """Rows without a level, and those of a new one."""
        place = self._places[column.name]
        places = slice(place, place + len(column.features))
        rows[new, places] = 0
        rows[gaps, places] = np.nan if self._keeps_gaps or not column.fill else column.fill
        if column.indicator:
            rows[gaps, self._places[column.indicator_name]] = 1
        elif len(gaps) and not self._keeps_gaps:
            self.gaps[column.name] += len(gaps)

    def notes(self) -> tuple[Note, ...]:
        """What was met that the plan has no place for."""
        found = []
        for column, n in self.unseen.items():
            kind, text = self.plan[column].kind, self.examples[column][:40]
            values = f"{self.source}: {n:,} values of {column!r}, such as {text!r},"
            said = f"do not read as {kind if kind in PLURALS else 'date'} and count as missing"
            if kind == "category":
                said = "are levels that the sets do not have and count as none of the known levels"
            found.append(Note("values unknown", f"{values} {said}."))
        if self.plan.missing == "indicator":
            for column, n in self.gaps.items():
                text = f"{self.source}: {n:,} values of {column!r} are missing, where the sets had "
                found.append(Note("missing values", f"{text}none; the sets' mean is put in."))
        return tuple(found)


def _floats(texts: pa.Array, reading: str) -> NDArray[np.float64]:
    return np.asarray(parsed(texts, reading).to_numpy(zero_copy_only=False))


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column of a batch, or as many gaps where it has none."""
    place = batch.schema.get_field_index(name)
    return pa.nulls(batch.num_rows) if place < 0 else batch.column(place)


def _put(
    rows: Values,
    numbers: list[tuple[int, Values]],
    levels: list[tuple[int, NDArray[np.intp]]],
) -> None:
    """Each column of numbers to its place, and a 1 for each level, a strip of rows at a time."""
    n, d = rows.shape
    strip = max(256, STRIP_BYTES // max(1, d * rows.itemsize))
    starts = np.arange(strip) * d
    for start in range(0, n, strip):
        part = rows[start : start + strip]
        for place, values in numbers:
            part[:, place] = values[start : start + strip]
        flat, first = part.reshape(-1), starts[: len(part)]
        for place, codes in levels:
            flat[first + (codes[start : start + strip] + place)] = 1
