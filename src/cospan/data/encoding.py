"""Tables become rows of numbers: one plan is learned from all of them, then each is read by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cospan.base.notes import Note
from cospan.errors import InputError

from .base import CHUNK_BYTES, Chunk, Reader, listing, require
from .decide import decide_column, families_of, made_of_dates, moments_of, unread
from .encoder import Encoder
from .learn import ColumnLearner, SetLearner, TextLearner, merged_learners
from .matching import SchemaChange, absurd_values, common_columns, only_in_some
from .plan import (
    ABSURD,
    DROPPED,
    PLURALS,
    SCHEMA,
    ColumnPlan,
    ColumnProfile,
    EncodingPlan,
    SetProfile,
)
from .readings import PLAIN, single_readings
from .source import Source
from .tables import LEARN_ROWS, Table
from .values import common_float

#: Classes of one table that are learned apart; with more, all rows are learned as one set.
MOST_CLASSES = 100


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
    # Dates that are not features themselves may be lacking: nothing else is made of them.
    made = {name for one in plan.used for name in one.of}
    there = {*table.all_columns, *(made - {one.name for one in plan.used})}
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
    return _source(table, plan, (), changes, called)


def check_same_features(a: Source, b: Source) -> None:
    """Make sure that two sources have the same features."""
    for table, array in ((a, b), (b, a)):
        bare = array.plan is None and array.feature_names is None
        if bare and table.plan is not None and not table.plan.numbers_only:
            kinds = dict.fromkeys(PLURALS[c.kind] for c in table.plan.used if c.kind != "number")
            raise InputError(
                f"{array.name} has columns without names, and {table.name} is a table with "
                f"{' and '.join(kinds) or 'missing values'}; give both as tables with the same "
                "columns."
            )
    shapes = a.image_shape and b.image_shape and a.image_shape != b.image_shape
    if a.n_features != b.n_features or shapes:
        raise InputError(
            f"{a.name} has {_features(a)} and {b.name} has {_features(b)}; both must describe "
            "their rows by the same features."
        )
    if a.feature_names and b.feature_names and a.feature_names != b.feature_names:
        pairs = zip(a.feature_names, b.feature_names, strict=True)
        first, second = next((x, y) for x, y in pairs if x != y)
        raise InputError(
            f"{a.name} and {b.name} have different features ({first!r} is {second!r} in the "
            "other); give both the same columns in the same order."
        )


def _features(source: Source) -> str:
    pixels = f" ({'×'.join(map(str, source.image_shape))})" if source.image_shape else ""
    return f"{source.n_features:,} features{pixels}"


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
    numeric = {c for c, plan in zip(common, plans, strict=True) if plan.kind == "boolean"}
    numeric |= {c for c in common if families_of(parts[c]) <= {"number", "boolean"}}
    for table in tables:
        if table.options.strict and not numeric.issuperset(common):
            table.refuse([column for column in common if column not in numeric])
    taken = {column for table in tables for column in table.all_columns}
    made = [one for one in made_of_dates(plans, parts, policy) if one.name not in taken]
    apart = [ColumnPlan(column, "left out", SCHEMA) for column in sorted(alone)]
    dropped = dict.fromkeys(column for table in tables for column in table.options.drop)
    apart += [ColumnPlan(column, "left out", DROPPED) for column in dropped]
    whole = EncodingPlan((*plans, *made, *apart), policy)
    profiles = [tuple(profile_of(whole, one) for one in ones) for ones in learned]
    every = [one for ones in profiles for one in ones]
    odd = [{column.name: column.absurd for column in one.columns} for one in every]
    changes += absurd_values(common, [one.name for one in every], odd)
    if not whole.used:
        why = " ".join(map(str, (*changes, *whole.not_compared())))
        together = " and ".join(dict.fromkeys(names))
        raise InputError(f"{together}: no column is left to compare. {why}".rstrip())
    return [
        _source(table, whole, own, tuple(changes), name)
        for table, own, name in zip(tables, profiles, names, strict=True)
    ]


def _forced(tables: Sequence[Table]) -> tuple[dict[str, str], set[str]]:
    """The kinds that the user gave, and the columns to keep, checked against those there are."""
    there = list(dict.fromkeys(c for table in tables for c in table.all_columns))
    names = dict.fromkeys(table.name for table in tables)
    forced: dict[str, str] = {}
    kept: set[str] = set()
    for options in (table.options for table in tables):
        kinds = {"categorical": "category", "numeric": "number", "drop": "", "keep": None}
        for given, kind in (*kinds.items(), ("columns", None)):
            for column in map(str, getattr(options, given) or ()):
                require(there, [column], " and ".join(names), given)
                if kind is None:
                    kept |= {column} if given == "keep" else set()
                elif forced.setdefault(column, kind) != kind:
                    raise InputError(
                        f"Column {column!r} is named by two of categorical=, numeric= and drop=; "
                        "say one thing of it."
                    )
    return forced, kept


def _source(
    table: Table,
    plan: EncodingPlan,
    profiles: tuple[SetProfile, ...],
    changes: tuple[SchemaChange, ...],
    called: str,
) -> Source:
    # What the plan fills is filled; the rest is dealt with as in any other source.
    filled = all(column.fill for column in plan.used)
    missing = plan.missing if plan.missing == "drop" or not filled else "error"
    options = replace(table.options, missing=None if missing == "indicator" else missing)
    reader = table.encoded(plan, profiles)
    beside: Any = {"plan": plan, "profiles": profiles, "changes": changes, "called": called}
    return Source(reader, options, name=table.name, **beside)


def learn_table(
    table: Table, name: str, forced: Mapping[str, str], alone: set[str]
) -> list[SetLearner]:
    """One pass: what the columns hold, for each class where the rows are of several.

    Columns that turned out to be text late are learned once more.
    """
    found = _learned(table, name, table.columns, forced, set(), alone)
    torn = {column for one in found.values() for column in one.torn}
    if torn:
        for value, again in _learned(table, name, sorted(torn), forced, torn, alone).items():
            found[value].columns.update(again.columns)
    ordered = sorted(found.items(), key=lambda item: str(item[0]))
    return [
        learner if value is None else replace(learner, name=str(value))
        for value, learner in ordered
    ]


def _learned(
    table: Table,
    name: str,
    columns: Sequence[str],
    forced: Mapping[str, str],
    words: set[str],
    alone: set[str],
) -> dict[Any, SetLearner]:
    found: dict[Any, SetLearner] = {}
    classes = table.labelled
    most = table.options.chunk_rows or LEARN_ROWS
    size = max(1, min(most, LEARN_ROWS, CHUNK_BYTES // (8 * max(1, len(columns)))))
    for block in table.blocks(columns, size):
        groups: list[tuple[Any, Any]] = [(None, block.rows)]
        if classes and block.labels is not None:
            values, group = np.unique(block.labels, return_inverse=True)
            groups = [(v, block.rows.filter(group == k)) for k, v in enumerate(values.tolist())]
        for value, rows in groups:
            if value not in found:
                found[value] = SetLearner.of_columns(
                    name, columns, forced, words=words, declared=table.declared, alone=alone
                )
            found[value].add(rows)
        if len(found) > MOST_CLASSES:
            classes, found = False, {None: merged_learners(found.values())}
    return found


def profile_of(plan: EncodingPlan, learner: SetLearner) -> SetProfile:
    """What a learner saw, as plain numbers."""
    there = [column for column in plan.columns if column.name in learner.columns]
    columns = tuple(_column_profile(one, learner.columns[one.name]) for one in there)
    return SetProfile(learner.name, learner.rows, columns)


def _column_profile(column: ColumnPlan, part: ColumnLearner) -> ColumnProfile:
    values: dict[str, float] = {}
    counted = column.kind not in ("category", "left out") or column.reason == ABSURD
    odd = part.absurd if counted else 0
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
    usual = "" if column.kind == "boolean" else PLAIN.get(column.kind, "")
    readings = single_readings(column.reading or usual)
    fits = {one: text.fits(one) for one in readings if one in text.readings}
    return max(fits, key=lambda one: fits[one], default="")


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
        self.dtype = _dtype(table, plan)
        self._table, self._plan, self._profiles = table, plan, profiles

    def blocks(self, size: int) -> Iterator[Chunk]:
        encoder = Encoder(self._plan, self.dtype, self.name, self._profiles)
        notes: list[Note] = []
        beside = (c.name for c in self._plan.columns if c.kind == "time" or c.watched)
        there = set(self._table.all_columns)
        wanted = [c for c in dict.fromkeys([*self._plan.inputs, *beside]) if c in there]
        for block in self._table.blocks(wanted, size, notes, self._plain_numbers()):
            rows = encoder.rows(block.rows)
            yield Chunk(
                rows,
                block.ids,
                block.labels,
                encoder.times(block.rows),
                encoder.merged,
                encoder.watched(block.rows),
                block.groups,
            )
        self.found = (*notes, *encoder.notes())
        self.absurd = {} if self._profiles else dict(encoder.absurd)  # else it is known already

    def _plain_numbers(self) -> list[str]:
        """Columns of which every row was learned as a plain number, whatever type they have."""
        if self._table.options.label is not None:  # rows of other classes were not learned
            return []
        numbers = [c for c in self._plan.used if c.kind == "number" and not c.reading]
        found = self._profiles
        return [
            column.name
            for column in numbers
            if found and all(column.name in one and not one[column.name].levels for one in found)
        ]


def _dtype(table: Table, plan: EncodingPlan) -> np.dtype[Any]:
    """float32 only where every column is a float32 number."""
    if any(c.kind != "number" or c.reading for c in plan.used):
        return np.dtype(np.float64)
    known = set(table.schema.names)
    there = [column.name for column in plan.used if column.name in known]
    return common_float([table.schema.field(column).type for column in there])
