"""Rows of a table become rows of numbers by a plan, block by block.

Numbers are laid side by side by Arrow (``arrow_rows``); the levels of a category are single ones
in a block of zeros. A value the plan has no place for is counted, so that it can be told: a level
the sets did not have, a gap in a column that had none.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.sources.arrow_rows import to_rows

from .kinds import coded, family, numbers, truths
from .learn import refuse_infinite
from .plan import ColumnPlan, EncodingPlan
from .readings import parsed

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Encoder"]

#: Numbers are moved to their place in the rows in strips of this size, which fit the cache.
STRIP_BYTES = 2**20


class Encoder:
    """Applies a plan to Arrow batches that have its columns.

    `dtype` is that of the rows; `unseen` and `gaps` count, for each column, the values that no
    level of the plan has, and the missing values of columns that had none when it was learned.
    """

    def __init__(self, plan: EncodingPlan, dtype: np.dtype[Any], source: str) -> None:
        self.plan = plan
        self.columns = [column.name for column in plan.used]
        self.dtype = dtype
        self.source = source
        self.unseen: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.gaps: Counter[str] = Counter()
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

    def rows(self, batch: pa.RecordBatch, ids: Any = None) -> NDArray[Any]:
        """The batch as rows of numbers.

        NaN is left only where a value is missing that the plan cannot or shall not fill.
        """
        n, d = batch.num_rows, self.plan.n_features
        rows = np.zeros((n, d), dtype=self.dtype)
        singles: list[tuple[int, NDArray[Any]]] = []
        for column in self.plan.used:
            array = batch.column(column.name)
            place = self._places[column.name]
            if column.kind == "category":
                self._put_levels(rows, place, column, array)
            elif column.kind == "vector":
                self._put_vector(rows, place, column, array, ids)
            else:
                values, gaps = self._filled(column, self._numbers(column, array), ids)
                singles.append((place, values))
                if gaps is not None and column.indicator:
                    singles.append((self._places[column.indicator_name], gaps))
        _put(rows, singles)
        return rows

    def _numbers(self, column: ColumnPlan, array: pa.Array) -> NDArray[np.float64]:
        """One number for each row, NaN where missing."""
        kind = family(array.type)
        if kind == "nothing" or array.null_count == len(array):
            return np.full(len(array), np.nan)
        if kind not in ("text", "dictionary"):
            return numbers(array)
        found = coded(array)
        if column.kind == "boolean" and column.levels:
            values = truths(found.texts, (column.levels[0], column.levels[1]))
        else:
            values = parsed(found.texts, column.reading or "point").to_numpy(zero_copy_only=False)
        self._note_unread(column, found.texts, values, found.codes)
        return np.append(values, np.nan)[found.codes]

    def _note_unread(
        self, column: ColumnPlan, texts: pa.Array, values: NDArray[Any], codes: NDArray[np.intp]
    ) -> None:
        """Text that is not the kind of value the plan expects counts as missing, and is told."""
        odd = np.flatnonzero(np.isnan(values))
        if len(odd):
            self.unseen[column.name] += int(np.isin(codes, odd).sum())
            self.examples.setdefault(column.name, texts[int(odd[0])].as_py())

    def _filled(
        self, column: ColumnPlan, values: NDArray[np.float64], ids: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        if np.isfinite(values.sum()):
            return values, None
        refuse_infinite(values, column.name, self.source, ids)
        gaps = np.isnan(values)
        if self._keeps_gaps or not column.fill or not gaps.any():
            return values, None
        if not column.indicator:
            self.gaps[column.name] += int(gaps.sum())
        return np.where(gaps, column.fill[0], values), gaps

    def _put_levels(
        self, rows: NDArray[Any], place: int, column: ColumnPlan, array: pa.Array
    ) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        found = coded(array)
        levels = pa.array(column.levels, found.texts.type)
        known = pc.fill_null(pc.index_in(found.texts, value_set=levels), -1)
        level = np.asarray(known.to_numpy(zero_copy_only=False), dtype=np.intp)
        codes = np.append(np.where(level < 0, len(column.levels), level), -1)[found.codes]
        present = codes >= 0
        if not column.other and (level < 0).any():
            self._note_unread(column, found.texts, np.where(level < 0, np.nan, 0.0), found.codes)
            present &= codes < len(column.levels)
        width, (n, d) = len(column.features), rows.shape
        if present.all():
            rows.reshape(-1)[np.arange(place, n * d + place, d) + codes] = 1
            return
        where = np.flatnonzero(present)
        rows[where, place + codes[where]] = 1
        self._fill_levels(rows, np.flatnonzero(codes < 0), slice(place, place + width), column)

    def _fill_levels(
        self, rows: NDArray[Any], gaps: NDArray[np.intp], places: slice, column: ColumnPlan
    ) -> None:
        if len(gaps) == 0:
            return
        rows[gaps, places] = np.nan if self._keeps_gaps or not column.fill else column.fill
        if column.indicator:
            rows[gaps, self._places[column.indicator_name]] = 1
        elif not self._keeps_gaps:
            self.gaps[column.name] += len(gaps)

    def _put_vector(
        self, rows: NDArray[Any], place: int, column: ColumnPlan, array: pa.Array, ids: Any
    ) -> None:
        import pyarrow as pa

        batch = pa.RecordBatch.from_arrays([array], [column.name])
        values = to_rows(batch, [column.shape], self.dtype, where=(self.source, 0))
        places = slice(place, place + len(column.features))
        rows[:, places] = values
        if not np.isfinite(values.sum()):
            refuse_infinite(values, column.name, self.source, ids)
            gaps = np.flatnonzero(np.isnan(values).any(axis=1))
            self._fill_levels(rows, gaps, places, column)

    def notes(self) -> tuple[str, ...]:
        """What was met that the plan has no place for."""
        unseen = [
            f"{self.source}: {count:,} values of {name!r}, such as {self.examples[name][:40]!r}, "
            + _fate(self.plan[name])
            for name, count in self.unseen.items()
        ]
        gaps = [
            f"{self.source}: {count:,} values of {name!r} are missing, where the sets had none; "
            "the sets' mean is put in."
            for name, count in self.gaps.items()
            if self.plan.missing == "indicator"
        ]
        return (*unseen, *gaps)


def _fate(column: ColumnPlan) -> str:
    if column.kind == "category":
        return "are levels that the sets do not have; they count as none of the known levels."
    return f"do not read as {column.kind} and count as missing."


def _put(rows: NDArray[Any], columns: list[tuple[int, NDArray[Any]]]) -> None:
    """Each column to its place, a strip of rows at a time."""
    n, d = rows.shape
    strip = max(256, STRIP_BYTES // max(1, d * rows.itemsize))
    for start in range(0, n, strip):
        part = rows[start : start + strip]
        for place, values in columns:
            part[:, place] = values[start : start + strip]
