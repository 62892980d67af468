"""Rows of a table become rows of numbers by a plan, block by block.

Numbers are laid side by side by Arrow (``arrow_rows``); the levels of a category are single ones
in a block of zeros. A value the plan has no place for is counted, so that it can be reported: a
level the sets did not have, a gap in a column that had none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.errors import InputError
from cospan.sources.arrow_rows import to_rows

from .kinds import above, all_finite, coded, family, hours_of, numbers, truths
from .learn import refuse_infinite
from .plan import USED, ColumnPlan, EncodingPlan
from .readings import parsed

if TYPE_CHECKING:
    import pyarrow as pa

#: Numbers are moved to their place in the rows in strips of this size, which fit the cache.
STRIP_BYTES = 2**20
_NO_ROWS = np.empty(0, dtype=np.intp)


class _LevelCodes(NamedTuple):
    """A category's rows: the number of each one's level, and those that have none."""

    column: ColumnPlan
    codes: NDArray[np.intp]
    gaps: NDArray[np.intp]
    unseen: NDArray[np.intp]


class Encoder:
    """Applies a plan to Arrow batches that have its columns.

    `dtype` is that of the rows; `unseen`, `infinite` and `gaps` count, for each column, the values
    that no level of the plan has, those that are infinite, and the missing values of columns that
    had none when it was learned.
    """

    def __init__(self, plan: EncodingPlan, dtype: np.dtype[Any], source: str) -> None:
        self.plan = plan
        self.columns = list(plan.inputs)
        self.dtype = dtype
        self.source = source
        self.unseen: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.gaps: Counter[str] = Counter()
        self.infinite: Counter[str] = Counter()
        self._dates: tuple[Any, dict[str, NDArray[np.float64]]] = (None, {})
        self.merged: NDArray[np.uint64] | None = None  # as a Chunk's, of the last batch
        self._keeps_gaps = plan.missing in ("drop", "error")
        self._places: dict[str, int] = {}
        place = 0
        for column in plan.used:
            self._places[column.name] = place
            place += len(column.features)
        for column in plan.used:
            if column.indicator:
                self._places[column.indicator_name] = place
                place += 1

    def rows(self, batch: pa.RecordBatch, ids: Any = None, *, bare: bool = False) -> NDArray[Any]:
        """The batch as rows of numbers; `bare` without indicators if they would all be 0.

        NaN is left only where a value is missing that the plan cannot or shall not fill.
        """
        numbers: list[tuple[int, NDArray[Any]]] = []
        levels: list[_LevelCodes] = []
        self.merged = None
        for column in self.plan.used:
            if column.kind == "category":
                levels.append(self._levels(column, batch.column(column.name)))
            elif column.kind != "vector":
                values, gaps = self._filled(column, self._values(column, batch), ids)
                numbers.append((self._places[column.name], values))
                if gaps is not None and column.indicator:
                    numbers.append((self._places[column.indicator_name], gaps))
        width, whole = self.plan.n_features, len(numbers) + len(levels) == len(self.plan.used)
        if bare and whole and not any(len(one.gaps) for one in levels):  # no vectors and no gaps
            width -= sum(column.indicator for column in self.plan.used)
        rows = np.zeros((batch.num_rows, width), dtype=self.dtype)
        _put(rows, numbers, [(self._places[one.column.name], one.codes) for one in levels])
        for one in levels:
            self._correct(rows, one)
        for column in self.plan.used:
            if column.kind == "vector":
                self._put_vector(rows, column, batch.column(column.name), ids)
        return rows

    def times(self, batch: pa.RecordBatch) -> NDArray[np.float64] | None:
        """Days since 1970 in the plan's columns of times, side by side; None if it has none.

        A table may lack such a column: nothing is computed with it.
        """
        found = [self._days(column.name, batch) for column in self.plan.times]
        return np.column_stack(found) if found else None

    def _values(self, column: ColumnPlan, batch: pa.RecordBatch) -> NDArray[np.float64]:
        """One number for each row, NaN where missing; some are made of dates."""
        if column.kind == "date":
            return self._days(column.name, batch)
        if not column.of:
            return self._numbers(column, batch.column(column.name))
        if column.kind == "number":
            return above(batch.column(column.of[0]), column.origin)
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
        if name not in read and name not in batch.schema.names:
            read[name] = np.full(batch.num_rows, np.nan)
        elif name not in read:
            read[name] = self._numbers(replace(self.plan[name], kind="date"), batch.column(name))
        return read[name]

    def _numbers(self, column: ColumnPlan, array: pa.Array) -> NDArray[np.float64]:
        """One number for each row, NaN where missing."""
        kind = family(array.type)
        if kind == "nothing" or array.null_count == len(array):
            return np.full(len(array), np.nan)
        if kind not in ("text", "dictionary"):
            self._check_kind(column, kind)
            return numbers(array)
        found = coded(array)
        if column.kind == "boolean":
            values = truths(found.texts, column.words)
        else:
            values = parsed(found.texts, column.reading or "point").to_numpy(zero_copy_only=False)
        self._note_unread(column, found.texts, values, found.codes)
        return np.append(values, np.nan)[found.codes]

    def _check_kind(self, column: ColumnPlan, kind: str) -> None:
        """Days are no measurements: dates in place of numbers would be read as such."""
        measured = {"number", "boolean"}
        if kind != column.kind and not {kind, column.kind} <= measured:
            raise InputError(
                f"{self.source}: column {column.name!r} holds {kind}s, where the sets have "
                f"{column.kind}s; give a table with the same columns."
            )

    def _note_unread(
        self, column: ColumnPlan, texts: pa.Array, values: NDArray[Any], codes: NDArray[np.intp]
    ) -> None:
        """Text that is not the kind of value the plan expects counts as missing; it is reported."""
        odd = np.intersect1d(np.flatnonzero(np.isnan(values)), codes)  # not all levels occur
        if len(odd):
            self.unseen[column.name] += int(np.isin(codes, odd).sum())
            self.examples.setdefault(column.name, texts[int(odd[0])].as_py())

    def _filled(
        self, column: ColumnPlan, values: NDArray[np.float64], ids: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        if all_finite(values):
            return values, None
        if self.plan.missing == "error" or not column.fill:
            refuse_infinite(values, column.name, self.source, ids)
        gaps, endless = ~np.isfinite(values), np.isinf(values)
        if endless.any():
            self.infinite[column.name] += int(endless.sum())
            values = np.where(endless, np.nan, values)
        if self._keeps_gaps or not column.fill or not gaps.any():
            return values, None
        if not column.indicator:
            self.gaps[column.name] += int(gaps.sum())
        return np.where(gaps, column.fill[0], values), gaps

    def _levels(self, column: ColumnPlan, array: pa.Array) -> _LevelCodes:
        """The number of each row's level, and the rows that have none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = coded(array)
        known = pc.index_in(found.texts, value_set=pa.array(column.levels, found.texts.type))
        level = np.asarray(pc.fill_null(known, len(column.levels)).to_numpy(), dtype=np.intp)
        codes = np.append(level, -1)[found.codes]
        if column.other:
            own = np.append(_hashes(found.texts, column.name), np.uint64(0))[found.codes]
            self.merged = own if self.merged is None else self.merged + own
        gaps, unseen = np.flatnonzero(codes < 0), _NO_ROWS
        if not column.other and (level == len(column.levels)).any():
            unseen = np.flatnonzero(codes == len(column.levels))
            new = np.where(level == len(column.levels), np.nan, 0.0)
            self._note_unread(column, found.texts, new, found.codes)
        # Any code will do for a row without a level: it is corrected afterwards.
        codes[gaps], codes[unseen] = 0, 0
        return _LevelCodes(column, codes, gaps, unseen)

    def _correct(self, rows: NDArray[Any], found: _LevelCodes) -> None:
        place = self._places[found.column.name]
        places = slice(place, place + len(found.column.features))
        if len(found.unseen):
            rows[found.unseen, places] = 0
        if len(found.gaps):
            self._fill_gaps(rows, found.gaps, places, found.column)

    def _fill_gaps(
        self, rows: NDArray[Any], gaps: NDArray[np.intp], places: slice, column: ColumnPlan
    ) -> None:
        rows[gaps, places] = np.nan if self._keeps_gaps or not column.fill else column.fill
        if column.indicator:
            rows[gaps, self._places[column.indicator_name]] = 1
        elif not self._keeps_gaps:
            self.gaps[column.name] += len(gaps)

    def _put_vector(
        self, rows: NDArray[Any], column: ColumnPlan, array: pa.Array, ids: Any
    ) -> None:
        import pyarrow as pa

        batch = pa.RecordBatch.from_arrays([array], [column.name])
        values = to_rows(batch, [column.shape], self.dtype, where=(self.source, 0))
        place = self._places[column.name]
        places = slice(place, place + len(column.features))
        rows[:, places] = values
        if not all_finite(values):
            refuse_infinite(values, column.name, self.source, ids)
            gaps = np.flatnonzero(np.isnan(values).any(axis=1))
            self._fill_gaps(rows, gaps, places, column)

    def notes(self) -> tuple[str, ...]:
        """What was met that the plan has no place for."""
        levels = (
            "{name}: {n:,} values of {column!r}, such as {text!r}, are levels that the sets do not "
            "have; they count as none of the known levels."
        )
        others = (
            "{name}: {n:,} values of {column!r}, such as {text!r}, do not read as {kind} and count "
            "as missing."
        )
        gaps = (
            "{name}: {n:,} values of {column!r} are missing, where the sets had none; the sets' "
            "mean is put in."
        )
        found = []
        for column, n in self.unseen.items():
            kind, text = self.plan[column].kind, self.examples[column][:40]
            kind = kind if kind in USED else "date"
            known = {"name": self.source, "n": n, "column": column, "text": text}
            found.append((levels if kind == "category" else others).format(kind=kind, **known))
        for column, n in self.infinite.items():
            text = "{name}: infinite values of {column!r}, {n:,} in all, count as missing."
            found.append(text.format(name=self.source, n=n, column=column))
        if self.plan.missing == "indicator":
            for column, n in self.gaps.items():
                found.append(gaps.format(name=self.source, n=n, column=column))
        return tuple(found)


def _hashes(texts: pa.Array, column: str) -> NDArray[np.uint64]:
    """A hash of each text, another one in each column."""
    key = column.encode()[:64]
    found = (blake2b(text.encode(), digest_size=8, key=key) for text in texts.to_pylist())
    return np.frombuffer(b"".join(one.digest() for one in found), dtype=np.uint64)


def _put(
    rows: NDArray[Any],
    numbers: list[tuple[int, NDArray[Any]]],
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
