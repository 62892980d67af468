"""Tables become rows of numbers: one plan is learned from all of them, then each is read by it.

Numbers are laid side by side; the levels of a category are single ones in a block of zeros. A value
the plan has no place for is counted, so that it can be reported: a level the sets did not have, a
gap in a column that had none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.errors import InputError

from .decide import decide_column, made_of_dates, moments_of, unread
from .learn import ColumnLearner, SetLearner, TextLearner, merged_learners, text_hashes
from .matching import SchemaChange, common_columns, only_in_some
from .plan import DROPPED, PLURALS, SCHEMA, USED, ColumnPlan, EncodingPlan
from .readings import (
    PLAIN,
    above,
    absurd,
    all_usual,
    coded,
    common_float,
    family,
    hours_of,
    numbers,
    parsed,
    plain_values,
    single_readings,
    truths,
)
from .source import (
    CHUNK_BYTES,
    Chunk,
    Note,
    Reader,
    Source,
    absurd_notes,
    listing,
)
from .tables import LEARN_ROWS, Table, list_rows

if TYPE_CHECKING:
    import pyarrow as pa

#: Classes of one table that are learned apart; with more, all rows are learned as one set.
MOST_CLASSES = 100
#: Numbers are moved to their place in the rows in strips of this size, which fit the cache.
STRIP_BYTES = 2**20


# ---- what each set holds -----------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnProfile:
    """One column of one set."""

    name: str
    #: Rows of the set, and those without a value here
    rows: int
    missing: int
    #: Of the values present, as they are encoded (dates in days since 1970); NaN for categories,
    #: vectors and columns without values
    mean: float = math.nan
    deviation: float = math.nan
    low: float = math.nan
    high: float = math.nan
    #: How often each text occurs; at most 4,096 of them, and empty where the column is not text
    levels: Mapping[str, int] = field(default_factory=dict)
    exact: bool = True  # whether `levels` has every text with its exact count
    #: Different texts, estimated to about 2 % where there are more than 4,096; None where nobody
    #: counted (numbers)
    distinct: int | None = None
    reading: str = ""  # how texts of this set are read, where the column is numbers or dates
    kind: str = ""  # the plan's
    padded: int = 0  # rows whose text has blanks around it
    absurd: int = 0  # values that are infinite, beyond 1e100 or denormal


@dataclass(frozen=True)
class SetProfile:
    """The columns of one set, left-out ones too."""

    name: str
    rows: int
    columns: tuple[ColumnProfile, ...]

    @cached_property
    def _by_name(self) -> dict[str, ColumnProfile]:
        return {column.name: column for column in self.columns}

    def __getitem__(self, column: str) -> ColumnProfile:
        return self._by_name[column]

    def __contains__(self, column: str) -> bool:
        return column in self._by_name


def _profile(plan: EncodingPlan, learner: SetLearner) -> SetProfile:
    """What a learner saw, as plain numbers."""
    there = [column for column in plan.columns if column.name in learner.columns]
    columns = tuple(_column_profile(one, learner.columns[one.name]) for one in there)
    return SetProfile(learner.name, learner.rows, columns)


def _column_profile(column: ColumnPlan, part: ColumnLearner) -> ColumnProfile:
    values: dict[str, float] = {}
    odd = part.absurd if column.kind not in ("category", "left out") else 0
    if column.kind in ("number", "boolean", "date", "time", "duration"):
        moments = moments_of(column, part)
        odd = moments.absurd
        if moments.count:
            ends = ("mean", "deviation", "low", "high")
            values = {key: float(getattr(moments, key)) for key in ends}
    text = part.text
    return ColumnProfile(
        column.name,
        part.rows,
        part.missing + unread(column, part) + odd,
        **values,
        levels=dict(text.levels.counts) if text is not None else {},
        exact=text is None or text.levels.exact,
        distinct=None if text is None else text.n_distinct,
        reading="" if text is None else _own_reading(column, text),
        kind=column.kind,
        padded=0 if text is None else text.padded,
        absurd=odd,
    )


def _own_reading(column: ColumnPlan, text: TextLearner) -> str:
    """Which one of a column's readings is that of this set."""
    readings = single_readings(column.reading or PLAIN.get(column.kind, ""))
    fits = {one: text.fits(one) for one in readings if one in text.readings}
    return max(fits, key=lambda one: fits[one], default="")


# ---- several tables, one plan ------------------------------------------------------------------


def encode(opened: Sequence[Source | Table], names: Sequence[str] | None = None) -> list[Source]:
    """The same data as rows of numbers with the same features, all tables by one plan.

    The plan is learned from all tables, in one pass over each. Columns are matched by their names
    first: those that not all tables have are told in the sources' `changes`. Sources that are not
    tables (arrays, images, embeddings) stay as they are; where one was encoded before, the tables
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
    tables = [k for k, one in enumerate(opened) if not isinstance(one, Source)]
    found: list[Any] = list(opened)
    if plans:
        for k in tables:
            found[k] = encode_by(found[k], plans[0], name=called[k])
    elif tables:
        made = _encoded_together([found[k] for k in tables], [called[k] for k in tables])
        for k, source in zip(tables, made, strict=True):
            found[k] = source
    for other in found[1:]:
        check_same_features(found[0], other)
    return found


def encode_by(table: Table, plan: EncodingPlan, *, name: str | None = None) -> Source:
    """A table encoded by a plan that was learned elsewhere.

    It may have its columns in another order, and further ones. Where it lacks some, they count as
    missing; both are told in the source's `changes`.
    """
    called = name or table.name
    there = set(table.all_columns)
    lacking = [column for column in plan.inputs if column not in there]
    filled = plan.missing in ("indicator", "mean") and all(column.fill for column in plan.used)
    if lacking and (len(lacking) == len(plan.inputs) or not filled):
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
    return _source(table, plan, (), changes)


def check_same_features(a: Source, b: Source) -> None:
    """Make sure that two sources have the same features."""
    if (a.plan is None) != (b.plan is None):
        plan, array = (a.plan, b) if b.plan is None else (b.plan, a)
        if plan is not None and not plan.numbers_only and array.feature_names is None:
            table = a if a.plan is not None else b
            kinds = [PLURALS[k] for k in dict.fromkeys(c.kind for c in plan.used) if k != "number"]
            raise InputError(
                f"{array.name} has columns without names, and {table.name} is a table with "
                f"{' and '.join(kinds) or 'missing values'}; give both as tables with the same "
                "columns."
            )
    if a.n_features != b.n_features:
        raise InputError(
            f"{a.name} has {a.n_features:,} features{_shape(a)} and {b.name} has "
            f"{b.n_features:,}{_shape(b)}; both must describe their rows by the same features."
        )
    if a.feature_names and b.feature_names and a.feature_names != b.feature_names:
        pairs = zip(a.feature_names, b.feature_names, strict=True)
        first, second = next((x, y) for x, y in pairs if x != y)
        raise InputError(
            f"{a.name} and {b.name} have different features ({first!r} is {second!r} in the "
            "other); give both the same columns in the same order."
        )
    if a.image_shape and b.image_shape and a.image_shape != b.image_shape:
        raise InputError(
            f"The images of {a.name} are {_by(a.image_shape)} and those of {b.name} are "
            f"{_by(b.image_shape)}; bring them to one shape first."
        )


def _shape(source: Source) -> str:
    return f" ({_by(source.image_shape)})" if source.image_shape else ""


def _by(shape: tuple[int, ...]) -> str:
    return "×".join(str(length) for length in shape)


def _encoded_together(tables: Sequence[Table], names: Sequence[str]) -> list[Source]:
    forced, kept = _forced(tables)
    columns = [table.columns for table in tables]
    common = common_columns(columns, names)
    alone = {column for own in columns for column in own} - set(common)
    learned = [table.learn(name, forced, alone) for table, name in zip(tables, names, strict=True)]
    changes = only_in_some(columns, names, learned)
    given = [table.options.missing for table in tables]
    policy = next((one for one in given if one is not None), "indicator")
    asked = kept | (set(common) if all(t.options.columns is not None for t in tables) else set())
    plans, parts = [], {}
    for column in common:
        having = [one for ones in learned for one in ones]
        parts[column] = [one.columns[column] for one in having]
        plan, change = decide_column(
            parts[column], policy, asked=column in asked, names=[one.name for one in having]
        )
        plans.append(plan)
        changes += [] if change is None else [change]
    taken = {column for table in tables for column in table.all_columns}
    made = [one for one in made_of_dates(plans, parts, policy) if one.name not in taken]
    apart = [ColumnPlan(column, "left out", SCHEMA) for column in sorted(alone)]
    apart += [ColumnPlan(c, "left out", DROPPED) for c in _dropped(tables)]
    whole = EncodingPlan((*plans, *made, *apart), policy)
    if not whole.used:
        why = " ".join(map(str, (*changes, *whole.not_compared())))
        together = " and ".join(dict.fromkeys(names))
        raise InputError(f"{together}: no column is left to compare. {why}".rstrip())
    return [
        _source(table, whole, tuple(_profile(whole, one) for one in ones), tuple(changes))
        for table, ones in zip(tables, learned, strict=True)
    ]


def _dropped(tables: Sequence[Table]) -> list[str]:
    return list(dict.fromkeys(column for table in tables for column in table.options.drop))


def _forced(tables: Sequence[Table]) -> tuple[dict[str, str], set[str]]:
    """The kinds that the user gave, and the columns to keep, checked against those there are."""
    there = list(dict.fromkeys(c for table in tables for c in table.all_columns))
    forced: dict[str, str] = {}
    kept: set[str] = set()
    for options in (table.options for table in tables):
        kinds = {"categorical": "category", "numeric": "number", "drop": "", "keep": None}
        for given, kind in (*kinds.items(), ("columns", None)):
            for column in map(str, getattr(options, given) or ()):
                if column not in there:
                    raise InputError(_unknown(column, given, there, tables))
                if kind is None:
                    kept |= {column} if given == "keep" else set()
                elif forced.setdefault(column, kind) != kind:
                    raise InputError(
                        f"Column {column!r} is named by two of categorical=, numeric= and drop=; "
                        "say one thing of it."
                    )
    return forced, kept


def _unknown(column: str, given: str, there: list[str], tables: Sequence[Table]) -> str:
    lower = {name.lower(): name for name in reversed(there)}
    close = get_close_matches(column.lower(), lower, 1)
    hint = (
        f"Did you mean {lower[close[0]]!r}?" if close else f"The columns are {listing(there, 20)}."
    )
    names = " and ".join(dict.fromkeys(table.name for table in tables))
    return f"{names}: no column is called {column!r} (asked for by {given}=). {hint}"


def _source(
    table: Table,
    plan: EncodingPlan,
    profiles: tuple[SetProfile, ...],
    changes: tuple[SchemaChange, ...],
) -> Source:
    # What the plan fills is filled; the rest is dealt with as in any other source.
    filled = all(column.fill for column in plan.used)
    missing = plan.missing if plan.missing == "drop" or not filled else "error"
    options = replace(table.options, missing=None if missing == "indicator" else missing)
    reader = table.encoded(plan, profiles)
    return Source(reader, options, name=table.name, plan=plan, profiles=profiles, changes=changes)


def learn_table(
    table: Table, name: str, forced: Mapping[str, str], alone: set[str]
) -> list[SetLearner]:
    """One pass: what the columns hold, for each class where the rows are of several.

    Columns that turned out to be text late are learned once more.
    """
    shapes = table.shapes(table.columns)
    found = _learned(table, name, shapes, forced, set(), alone)
    torn = {column for one in found.values() for column in one.torn}
    if torn:
        own = {column: shapes[column] for column in table.columns if column in torn}
        for value, again in _learned(table, name, own, forced, torn, alone).items():
            found[value].columns.update(again.columns)
    ordered = sorted(found.items(), key=lambda item: str(item[0]))
    return [
        learner if value is None else replace(learner, name=str(value))
        for value, learner in ordered
    ]


def _learned(
    table: Table,
    name: str,
    shapes: Mapping[str, tuple[int, ...]],
    forced: Mapping[str, str],
    words: set[str],
    alone: set[str],
) -> dict[Any, SetLearner]:
    found: dict[Any, SetLearner] = {}
    classes = table.labelled
    size = max(1, min(LEARN_ROWS, CHUNK_BYTES // (8 * max(1, len(shapes)))))
    for block in table.blocks(list(shapes), size):
        groups: list[tuple[Any, Any]] = [(None, block.rows)]
        if classes and block.labels is not None:
            values, group = np.unique(block.labels, return_inverse=True)
            groups = [(v, block.rows.filter(group == k)) for k, v in enumerate(values.tolist())]
        for value, rows in groups:
            if value not in found:
                found[value] = SetLearner.of_columns(name, shapes, forced, words=words, alone=alone)
            found[value].add(rows)
        if len(found) > MOST_CLASSES:
            classes, found = False, {None: merged_learners(found.values())}
    return found


# ---- rows --------------------------------------------------------------------------------------


class EncodedReader(Reader):
    """Rows of numbers, made of a table by a plan."""

    def __init__(
        self, table: Table, plan: EncodingPlan, profiles: tuple[SetProfile, ...] = ()
    ) -> None:
        self.name = table.name
        self.n_rows = table.n_rows
        self.n_features = plan.n_features
        self.feature_names = plan.feature_names
        self.owners = plan.owners
        self.clean = plan.missing in ("indicator", "mean") and all(c.fill for c in plan.used)
        self.notes = table.notes
        odd = {c.name: c.absurd for one in profiles for c in one.columns if c.absurd}
        self.notes = (*self.notes, *absurd_notes(self.name, odd))
        self.dtype = _dtype(table, plan)
        self._table, self._plan, self._profiles = table, plan, profiles

    def blocks(self, size: int) -> Iterator[Chunk]:
        encoder = Encoder(self._plan, self.dtype, self.name, self._profiles)
        notes: list[Note] = []
        for block in self._table.blocks(encoder.wanted(self._table.all_columns), size, notes):
            rows = encoder.rows(block.rows)
            beside = block.ids, block.labels, encoder.times(block.rows), encoder.merged
            yield Chunk(rows, *beside)
        self.found = (*notes, *encoder.notes())


def _dtype(table: Table, plan: EncodingPlan) -> np.dtype[Any]:
    """float32 only where every column is a float32 number."""
    if any(c.kind not in ("number", "vector") or c.reading or c.of for c in plan.used):
        return np.dtype(np.float64)
    there = [column.name for column in plan.used if column.name in table.schema.names]
    return common_float([table.schema.field(column).type for column in there])


class _LevelCodes(NamedTuple):
    """A category's rows: the number of each one's level, and those that have none."""

    column: ColumnPlan
    codes: NDArray[np.intp]
    gaps: NDArray[np.intp]
    unseen: NDArray[np.intp]


class Encoder:
    """Applies a plan to Arrow batches that have its columns; one that lacks counts as missing.

    `dtype` is that of the rows; `profiles` say how the texts of this set are read. `unseen`,
    `absurd` and `gaps` count, for each column, the values that no level of the plan has, those that
    no measurement can be, and the missing values of columns that had none when it was learned.
    """

    def __init__(
        self,
        plan: EncodingPlan,
        dtype: np.dtype[Any],
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

    def wanted(self, there: Sequence[str]) -> list[str]:
        """The columns to read, of those that a table has."""
        names = dict.fromkeys([*self.plan.inputs, *(column.name for column in self.plan.times)])
        own = set(there)
        return [name for name in names if name in own]

    def rows(self, batch: pa.RecordBatch, *, bare: bool = False) -> NDArray[Any]:
        """The batch as rows of numbers; `bare` without indicators if they would all be 0.

        NaN is left only where a value is missing that the plan cannot or shall not fill.
        """
        numbers: list[tuple[int, NDArray[Any]]] = []
        levels: list[_LevelCodes] = []
        vectors: list[tuple[int, NDArray[Any]]] = []
        self.merged = None
        gapless = True
        for column in self.plan.used:
            place = self._places[column.name]
            if column.kind == "category":
                found = self._levels(column, _column(batch, column.name))
                levels.append(found)
                gapless = gapless and not len(found.gaps)
                continue
            if column.kind == "vector":
                values, gaps = self._vector(column, _column(batch, column.name))
                vectors.append((place, values))
            else:
                values, gaps = self._filled(column, self._values(column, batch))
                numbers.append((place, values))
            if gaps is not None and column.indicator:
                numbers.append((self._places[column.indicator_name], gaps))
                gapless = False
        width = self.plan.n_features
        if bare and gapless:
            width -= sum(column.indicator for column in self.plan.used)
        rows = np.zeros((batch.num_rows, width), dtype=self.dtype)
        _put(rows, numbers, [(self._places[one.column.name], one.codes) for one in levels])
        for one in levels:
            self._correct(rows, one)
        for place, values in vectors:
            rows[:, place : place + values.shape[1]] = values
        return rows

    def times(self, batch: pa.RecordBatch) -> NDArray[np.float64] | None:
        """Days since 1970 in the plan's columns of times, side by side; None if it has none."""
        found = [self._days(column.name, batch) for column in self.plan.times]
        return np.column_stack(found) if found else None

    def _values(self, column: ColumnPlan, batch: pa.RecordBatch) -> NDArray[np.float64]:
        """One number for each row, NaN where missing; some are made of dates."""
        if column.kind == "date":
            return self._days(column.name, batch)
        if not column.of:
            return self._numbers(column, _column(batch, column.name))
        if column.kind == "number":
            return above(_column(batch, column.of[0]), column.origin)
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
        self, column: ColumnPlan, texts: pa.Array, values: NDArray[Any], codes: NDArray[np.intp]
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

    def _levels(self, column: ColumnPlan, array: pa.Array) -> _LevelCodes:
        """The number of each row's level, and the rows that have none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = coded(array)
        known = pc.index_in(found.texts, value_set=pa.array(column.levels, found.texts.type))
        level = np.asarray(pc.fill_null(known, len(column.levels)).to_numpy(), dtype=np.intp)
        codes = np.append(level, -1)[found.codes]
        if column.other:
            salt = np.uint64(2 * self._places[column.name] + 1)
            own = np.append(text_hashes(found.texts) * salt, np.uint64(0))[found.codes]
            self.merged = own if self.merged is None else self.merged + own
        gaps, unseen = np.flatnonzero(codes < 0), np.empty(0, dtype=np.intp)
        if not column.other and (level == len(column.levels)).any():
            unseen = np.flatnonzero(codes == len(column.levels))
            new = np.where(level == len(column.levels), np.nan, 0.0)
            self._note_unread(column, found.texts, new, found.codes)
        # Any code will do for a row without a level: it is corrected afterwards.
        codes[gaps], codes[unseen] = 0, 0
        return _LevelCodes(column, codes, gaps, unseen)

    def _correct(self, rows: NDArray[Any], found: _LevelCodes) -> None:
        column, gaps = found.column, found.gaps
        place = self._places[column.name]
        places = slice(place, place + len(column.features))
        rows[found.unseen, places] = 0
        if not len(gaps):
            return
        rows[gaps, places] = np.nan if self._keeps_gaps or not column.fill else column.fill
        if column.indicator:
            rows[gaps, self._places[column.indicator_name]] = 1
        elif not self._keeps_gaps:
            self.gaps[column.name] += len(gaps)

    def _vector(
        self, column: ColumnPlan, array: pa.Array
    ) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        if family(array.type) == "nothing":
            values = np.full((len(array), len(column.features)), np.nan)
        else:
            values = list_rows(array, column.shape, self.dtype, column.name, (self.source, 0))
        if all_usual(values):
            return values, None
        odd = absurd(values).any(axis=1)
        self.absurd[column.name] += int(odd.sum())
        gaps = odd | np.isnan(values).any(axis=1)
        fill = np.nan if self._keeps_gaps or not column.fill else np.array(column.fill)
        return np.where(gaps[:, None], fill, values), gaps

    def notes(self) -> tuple[Note, ...]:
        """What was met that the plan has no place for."""
        found = []
        for column, n in self.unseen.items():
            kind, text = self.plan[column].kind, self.examples[column][:40]
            values = (
                f"{self.source}: {n:,} value{'s' if n > 1 else ''} of {column} (such as {text})"
            )
            said = f"do not read as {kind if kind in USED else 'date'} and count as missing"
            said = "are new; they count as none of the known levels" if kind == "category" else said
            found.append(Note("values unknown", f"{values} {said}."))
        if not self._profiles:
            found += absurd_notes(self.source, dict(self.absurd))
        if self.plan.missing == "indicator":
            for column, n in self.gaps.items():
                text = f"{self.source}: {n:,} values of {column!r} are missing, where the sets had "
                found.append(Note("missing values", f"{text}none; the sets' mean is put in."))
        return tuple(found)


def _floats(texts: pa.Array, reading: str) -> NDArray[np.float64]:
    return np.asarray(parsed(texts, reading).to_numpy(zero_copy_only=False))


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column of a batch, or as many gaps where it has none."""
    import pyarrow as pa

    if name in batch.schema.names:
        return batch.column(name)
    return pa.nulls(batch.num_rows)


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
