"""Tables become rows of numbers: one plan is learned from all of them, then each is read by it.

Numbers are laid side by side; the levels of a category are single ones in a block of zeros. A value
the plan has no place for is counted, so that it can be reported: a level the sets did not have, a
gap in a column that had none.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cospan.base.rows import mixed
from cospan.base.text import plural
from cospan.base.types import Bools, Floats, Values
from cospan.errors import InputError, Note

from .columns import (
    PLAIN,
    coded,
    family,
    hours_of,
    numbers,
    pa,
    parsed,
    pc,
    plain_values,
    text_parts,
    truths,
)
from .decide import ROW_NUMBERS, clock_of, decide_column, shortened, spans_of
from .learn import learn_table, only_in_some
from .plan import DROPPED, KINDS, SCHEMA, ColumnPlan, EncodingPlan, SchemaChange, SetProfile
from .source import Chunk, Source, Table, absurd, all_usual, listing, require


def encode(opened: Sequence[Source | Table], names: Sequence[str] | None = None) -> list[Source]:
    """The same data as rows of numbers with the same features, all tables by one plan.

    The plan is learned from all tables, in one pass over each. Columns are matched by their names
    first: those that not all tables have are told in the sources' `changes`. Sources that are not
    tables (arrays, images) stay as they are; where one was encoded before, the tables
    are encoded by its plan.

    Parameters
    ----------
    opened : sequence of what :func:`cospan.data.open_source` gives
    names : sequence of str, optional
        What to call the sets in sentences; default: their own names.

    Examples
    --------
    >>> import pandas as pd
    >>> from cospan.data import encode, open_source
    >>> a = open_source(pd.DataFrame({"x": [1.0, 2.0], "kind": ["b", "a"]}))
    >>> b = open_source(pd.DataFrame({"x": [1.0, None], "kind": ["a", "c"], "y": [1, 2]}), name="B")
    >>> first, second = encode([a, b])
    >>> first.plan.feature_names
    ('x', 'kind = a', 'kind = b', 'kind = c', 'x is missing')
    >>> second.read().rows
    array([[1.  , 1.  , 0.  , 0.  , 0.  ],
           [1.25, 0.  , 0.  , 1.  , 1.  ]])
    >>> print(*second.changes)
    y is in B only.
    """
    called = [one.name for one in opened] if names is None else list(names)
    plans = [one.plan for one in opened if isinstance(one, Source) and one.plan is not None]
    if any(plan != plans[0] for plan in plans):
        raise InputError("The sets were encoded by different plans; encode them by the same one.")
    tables = {name: one for name, one in enumerate(opened) if isinstance(one, Table)}
    made: dict[int, Source] = {}
    if plans:
        made = {k: encode_by(one, plans[0], name=called[k]) for k, one in tables.items()}
    elif tables:
        own = _encoded_together(list(tables.values()), [called[k] for k in tables])
        made = dict(zip(tables, own, strict=True))
    found = [one if isinstance(one, Source) else made[k] for k, one in enumerate(opened)]
    for other in found[1:]:
        check_same_features(found[0], other)
    for source, name in zip(found, called, strict=True):
        source.name = name
    return found


def encode_by(table: Table, plan: EncodingPlan, *, name: str | None = None) -> Source:
    """A table encoded by a plan that was learned elsewhere.

    It may have its columns in another order, and further ones. Where it lacks some, they count as
    missing; both are told in the source's `changes`.
    """
    called = name or table.name
    # Dates that are not features themselves may be lacking: nothing else is made of them.
    made = {name for column in plan.used for name in column.of}
    there = {*table.schema.names, *(made - {column.name for column in plan.used})}
    lacking = [column for column in plan.inputs if column not in there]
    if lacking and (len(lacking) == len(plan.inputs) or not plan.filled):
        raise InputError(
            f"{called}: lacks column {listing(lacking)}, which the sets have; give a table with "
            "the same columns."
        )
    known = {*(column.name for column in plan.columns), *plan.inputs}
    further = [column for column in table.columns if column not in known]
    changes = (
        *(SchemaChange("lacking", column, (called,)) for column in lacking),
        *(SchemaChange("only in", column, (called,)) for column in further),
    )
    return EncodedRows(table, plan, (), changes, called)


def check_same_features(a: Source, b: Source) -> None:
    """Make sure that two sources have the same features."""
    for table, array in ((a, b), (b, a)):
        bare = array.plan is None and array.feature_names is None
        used = () if table.plan is None else table.plan.used
        if bare and any(c.kind != "number" or c.indicator for c in used):
            raise InputError(
                f"{array.name} has columns without names, and {table.name} is a table with more "
                "than numbers; give both as tables with the same columns."
            )
    shapes = a.image_shape and b.image_shape and a.image_shape != b.image_shape
    if a.n_features != b.n_features or shapes:
        raise InputError(
            f"{a.name} has {_features(a)} and {b.name} has {_features(b)}; both must describe "
            "their rows by the same features."
        )


def _features(source: Source) -> str:
    pixels = f" ({'×'.join(map(str, source.image_shape))})" if source.image_shape else ""
    return f"{source.n_features:,} features{pixels}"


def _encoded_together(tables: Sequence[Table], names: Sequence[str]) -> list[Source]:
    """Learn what the columns of all tables hold, decide what they are, and encode each table."""
    forced = _forced(tables)
    columns = [table.columns for table in tables]
    shared = set(columns[0]).intersection(*columns[1:])
    together = " and ".join(dict.fromkeys(names))
    if not shared:
        each = (f"{name} has {listing(own, 5)}" for name, own in zip(names, columns, strict=True))
        raise InputError(
            f"{together} have no column in common ({'; '.join(each)}); columns are matched by "
            "their names, so give both the same."
        )
    learned = [learn_table(table, name, forced) for table, name in zip(tables, names, strict=True)]
    sets = [pair for ones in learned for pair in ones.items()]
    changes = only_in_some(columns, names, learned)
    asked = {column for table in tables for column in table.options.keep}
    if all(table.options.columns is not None for table in tables):
        asked |= shared
    plans: list[ColumnPlan] = []
    made: list[ColumnPlan] = []  # of dates
    parts = {c: [own[c] for _, own in sets] for c in columns[0] if c in shared}
    for column, own in parts.items():
        plan, change = decide_column(
            own, asked=column in asked, names=[called for called, _ in sets]
        )
        plans.append(plan)
        changes += [] if change is None else [change]
        clock = clock_of(plan, own) if plan.kind in ("date", "time") else None
        made += [] if clock is None else [clock]
    taken = {column for table in tables for column in table.schema.names}
    made = [one for one in (*made, *spans_of(plans, parts)) if one.name not in taken]
    alone = {column for each in columns for column in each} - shared
    dropped = dict.fromkeys(column for table in tables for column in table.options.drop)
    left = [ColumnPlan(column, "left out", SCHEMA) for column in sorted(alone)]
    left += [ColumnPlan(column, "left out", DROPPED) for column in dropped]
    whole = EncodingPlan((*shortened(plans), *made, *left))
    profiles = [
        tuple(
            {c.name: own[c.name].profile(c) for c in whole.columns if c.name in own}
            for own in ones.values()
        )
        for ones in learned
    ]
    if not whole.used:
        why = " ".join(map(str, (*changes, *whole.not_compared())))
        raise InputError(f"{together}: no column is left to compare. {why}".rstrip())
    return [
        EncodedRows(table, whole, own, tuple(changes), name)
        for table, own, name in zip(tables, profiles, names, strict=True)
    ]


def _forced(tables: Sequence[Table]) -> dict[str, str]:
    """The kinds that the user gave; all columns that options name are checked."""
    there = list(dict.fromkeys(c for table in tables for c in table.schema.names))
    names = " and ".join(dict.fromkeys(table.name for table in tables))
    forced: dict[str, str] = {}
    for options in (table.options for table in tables):
        for given in ("categorical", "numeric", "drop", "keep", "columns"):
            require(there, map(str, getattr(options, given) or ()), names, given)
        forced |= dict.fromkeys(options.categorical, "category")
        forced |= dict.fromkeys(options.numeric, "number")
    return forced


class EncodedRows(Source):
    """Rows of numbers, made of a table by a plan."""

    plan: EncodingPlan

    def __init__(
        self,
        table: Table,
        plan: EncodingPlan,
        profiles: tuple[SetProfile, ...],
        changes: tuple[SchemaChange, ...],
        name: str,
    ) -> None:
        own = {c.name for c in plan.used}
        types = {str(field.type) for field in table.schema if field.name in own}
        small = all(c.kind == "number" and not c.reading for c in plan.used)
        dtype = np.dtype(np.float32 if small and types <= {"float", "halffloat"} else np.float64)
        super().__init__(name, table.options, (table.n_rows, plan.n_features), dtype)
        self.plan, self.profiles, self.feature_names = plan, profiles, plan.feature_names
        self._clean = plan.filled
        self._changes, self._table = changes, table

    def _blocks(self, size: int, met: list[Note]) -> Iterator[Chunk]:
        encoder = Encoder(self.plan, self.dtype, self.name, self.profiles)
        beside = (c.name for c in self.plan.columns if c.kind == "time" or c.watched)
        there = set(self._table.schema.names)
        wanted = [c for c in dict.fromkeys([*self.plan.inputs, *beside]) if c in there]
        for block in self._table.blocks(wanted, size, met):
            rows, watched = encoder.rows(block.rows), encoder.watched(block.rows)
            yield block._replace(
                rows=rows, times=encoder.times, merged=encoder.merged, watched=watched
            )
        met += encoder.notes()
        self._absurd = dict(encoder.absurd)


class Encoder:
    """Applies a plan to Arrow batches that have its columns; one that lacks counts as missing.

    `dtype` is that of the rows; `profiles` say how the texts of this set are read; `fills` whether
    missing values are filled as the plan says, or left NaN. `unseen`, `absurd` and `gaps` count,
    for each column, the values that no level of the plan has, those that no measurement can be, and
    the missing values of columns that had none when it was learned.
    """

    def __init__(
        self,
        plan: EncodingPlan,
        dtype: np.dtype,
        source: str,
        profiles: Sequence[SetProfile] = (),
        *,
        fills: bool = True,
    ) -> None:
        self.plan, self.dtype, self.source, self._fills = plan, dtype, source, fills
        self.unseen: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.gaps: Counter[str] = Counter()
        self.absurd: Counter[str] = Counter()
        self.merged: NDArray[np.uint64] | None = None  # as a Chunk's, of the last batch
        self.times: Floats | None = None
        self._dates: dict[str, Floats] = {}  # of the last batch: each column is read once
        # Texts may be written in another way than plainly only where this set has texts.
        self._plainly = {
            c.name
            for c in plan.columns
            if profiles and all(c.name in one and not one[c.name].levels for one in profiles)
        }

    def rows(self, batch: pa.RecordBatch) -> Values:
        """The batch as rows of numbers.

        NaN is left only where a value is missing that the plan cannot or shall not fill.
        """
        rows = np.zeros((batch.num_rows, self.plan.n_features), dtype=self.dtype)
        self.merged, self._dates = None, {}
        place, indicator = 0, sum(len(column.features) for column in self.plan.used)
        for column in self.plan.used:
            own = rows[:, place : place + len(column.features)]
            if column.kind == "category":
                gaps = self._put_levels(own, column, _column(batch, column.name), place)
            else:
                gaps = self._put_numbers(own[:, 0], column, batch)
            if gaps is not None:
                own[gaps] = column.fill if self._fills and column.fill else np.nan
                if column.indicator:
                    rows[:, indicator] = gaps
                elif self._fills:
                    self.gaps[column.name] += int(gaps.sum())
            indicator += column.indicator
            place += len(column.features)
        times = [self._days(column.name, batch) for column in self.plan.times]
        self.times = np.column_stack(times) if times else None
        return rows

    def watched(self, batch: pa.RecordBatch) -> Floats | None:
        """What the plan watches of texts without features, side by side; None if there are none."""
        texts = [
            text_parts(_column(batch, one.name)) * (one.reason != ROW_NUMBERS)  # but for gaps
            for one in self.plan.columns
            if one.watched
        ]
        return np.hstack(texts) if texts else None

    def _put_numbers(
        self, place: Values, column: ColumnPlan, batch: pa.RecordBatch
    ) -> Bools | None:
        """One number for each row; some are made of dates. Returns where one is missing."""
        if column.kind == "time of day":
            hours = hours_of(self._days(column.of[0], batch))
            values = np.where(hours < column.origin, hours + 24, hours)
        elif column.of:
            values = self._days(column.of[1], batch) - self._days(column.of[0], batch)
        elif column.kind == "date":
            values = self._days(column.name, batch)
        else:
            values = self._numbers(column, _column(batch, column.name))
        place[:] = values
        if all_usual(values):
            return None
        odd = absurd(values)
        if odd.any():
            self.absurd[column.name] += int(odd.sum())
        gaps = odd | np.isnan(values)
        return gaps if gaps.any() else None

    def _days(self, name: str, batch: pa.RecordBatch) -> Floats:
        """The days since 1970 of a column of dates."""
        if name not in self._dates:
            column = replace(self.plan[name], kind="date")
            self._dates[name] = self._numbers(column, _column(batch, name))
        return self._dates[name]

    def _numbers(self, column: ColumnPlan, array: pa.Array) -> Floats:
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
        reading = column.reading or PLAIN[column.kind]
        if column.name in self._plainly:
            reading = PLAIN[column.kind]
        # A set may have plain dates where the others have another order.
        if column.kind == "date" or (column.kind == "number" and reading == "point"):
            values = plain_values(array, column.kind)
            if values is not None:
                return values
        codes, texts = coded(array)
        if column.kind == "boolean":
            values = truths(texts, column.truth)
        else:
            values = np.asarray(parsed(texts, reading).to_numpy(zero_copy_only=False))
        self._note_unread(column, texts, np.isnan(values), codes)
        return np.append(values, np.nan)[codes]

    def _put_levels(
        self, place: Values, column: ColumnPlan, array: pa.Array, salt: int
    ) -> Bools | None:
        """A 1 in the place of each row's level. Returns where one is missing."""
        codes, texts = coded(array)
        known = pc.index_in(texts, value_set=pa.array(column.levels, texts.type))
        level = np.asarray(pc.fill_null(known, len(column.levels)).to_numpy(), dtype=np.intp)
        if column.other:
            hashes = [zlib.crc32(text.encode()) for text in texts.to_pylist()]
            salts = np.full(1, 2 * salt + 1, np.uint64)
            own = np.append(mixed(salts, np.array(hashes, np.uint64)), np.uint64(0))[codes]
            self.merged = own if self.merged is None else self.merged + own
        else:
            self._note_unread(column, texts, level == len(column.levels), codes)
        found = np.append(level, -1)[codes]
        gaps = found < 0
        rows = np.flatnonzero(~gaps & (found < len(column.features)))
        place[rows, found[rows]] = 1
        return gaps if gaps.any() else None

    def _note_unread(
        self, column: ColumnPlan, texts: pa.Array, wrong: Bools, codes: Values
    ) -> None:
        """Text that is not what the plan expects counts as missing; it is reported."""
        odd = np.intersect1d(np.flatnonzero(wrong), codes)  # not all levels occur
        if len(odd):
            self.unseen[column.name] += int(np.isin(codes, odd).sum())
            self.examples.setdefault(column.name, texts[int(odd[0])].as_py())

    def notes(self) -> list[Note]:
        """What was met that the plan has no place for."""
        found = []
        for column, n in self.unseen.items():
            kind, text = self.plan[column].kind, self.examples[column][:40]
            what = f"not readable as a {kind if kind in KINDS else 'date'}, such as {text!r}"
            said = f"{plural(n, 'value')} {what}; counted as missing."
            if kind == "category":
                said = f"{plural(n, 'new value')}, such as {text!r}; counted as no known level."
            found.append(Note("values unknown", f"{self.source}: {column!r} has {said}"))
        for column, n in self.gaps.items() if self.plan.filled else ():
            text = f"{self.source}: {column!r} has {plural(n, 'missing value')} where the sets had "
            found.append(Note("missing values", f"{text}none; the sets' mean is put in."))
        return found


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column of a batch, or as many gaps where it has none."""
    place = batch.schema.get_field_index(name)
    return pa.nulls(batch.num_rows) if place < 0 else batch.column(place)
