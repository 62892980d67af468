"""Tables become rows of numbers: one plan is learned from all of them, then each is read by it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cospan.base.notes import Note
from cospan.errors import InputError

from .decide import decide_column, made_of_dates, moments_of, unread
from .encoder import Encoder
from .learn import MOST_LEVELS, ColumnLearner, SetLearner, Texts, learn_table
from .matching import SchemaChange, absurd_values, only_in_some
from .options import listing, require
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
from .readings import PLAIN, READINGS, single_readings
from .source import Chunk, Source
from .tables import Table
from .values import common_float


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
        numbers = table.plan is None or all(
            c.kind == "number" and not c.indicator for c in table.plan.used
        )
        if bare and table.plan is not None and not numbers:
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
    forced = _forced(tables)
    columns = [table.columns for table in tables]
    common = _common_columns(columns, names)
    alone = {column for own in columns for column in own} - set(common)
    learned = [learn_table(table, name, forced) for table, name in zip(tables, names, strict=True)]
    sets = [one for ones in learned for one in ones]
    changes = only_in_some(columns, names, learned)
    policy = next((t.options.missing for t in tables if t.options.missing), "indicator")
    asked = {column for table in tables for column in table.options.keep}
    if all(table.options.columns is not None for table in tables):
        asked |= set(common)
    plans: list[ColumnPlan] = []
    parts: dict[str, list[ColumnLearner]] = {}
    for column in common:
        parts[column] = [one.columns[column] for one in sets]
        plan, change = decide_column(
            parts[column], policy, asked=column in asked, names=[one.name for one in sets]
        )
        plans.append(plan)
        changes += [] if change is None else [change]
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
        EncodedRows(table, whole, own, tuple(changes), name)
        for table, own, name in zip(tables, profiles, names, strict=True)
    ]


def _common_columns(columns: Sequence[Sequence[str]], names: Sequence[str]) -> list[str]:
    """The columns that all sets have, in the order of the first; an error if there are none."""
    shared = set(columns[0]).intersection(*columns[1:])
    if not shared:
        each = "; ".join(
            f"{name} has {listing(own, 5)}" for name, own in zip(names, columns, strict=True)
        )
        raise InputError(
            f"{' and '.join(dict.fromkeys(names))} have no column in common ({each}); columns are "
            "matched by their names, so give both the same."
        )
    return [column for column in columns[0] if column in shared]


def _forced(tables: Sequence[Table]) -> dict[str, str]:
    """The kinds that the user gave; all columns that options name are checked."""
    there = list(dict.fromkeys(c for table in tables for c in table.all_columns))
    names = " and ".join(dict.fromkeys(table.name for table in tables))
    kinds = {"categorical": "category", "numeric": "number", "drop": ""}
    forced: dict[str, str] = {}
    for options in (table.options for table in tables):
        for given in (*kinds, "keep", "columns"):
            require(there, map(str, getattr(options, given) or ()), names, given)
        for given, kind in kinds.items():
            for column in getattr(options, given):
                if forced.setdefault(column, kind) != kind:
                    raise InputError(
                        f"Column {column!r} is named by two of categorical=, numeric= and drop=; "
                        "say one thing of it."
                    )
    return forced


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
        levels={} if text is None else _most_frequent(text.levels),
        exact=text is None or len(text.levels) <= MOST_LEVELS,
        distinct=None if text is None else len(text.levels),
        reading="" if text is None else _own_reading(column, text),
        kind=column.kind,
        padded=0 if text is None else text.padded,
        absurd=odd,
    )


def _most_frequent(levels: dict[str, int]) -> dict[str, int]:
    if len(levels) <= MOST_LEVELS:
        return levels
    return dict(sorted(levels.items(), key=lambda x: -x[1])[:MOST_LEVELS])


def _own_reading(column: ColumnPlan, text: Texts) -> str:
    """Which one of a column's readings is that of this set."""
    usual = "" if column.kind == "boolean" else PLAIN.get(column.kind, "")
    readings = single_readings(column.reading or usual)
    fits = {one: text.fits(one) for one in readings if one in READINGS}
    return max(fits, key=lambda one: fits[one], default="")


class EncodedRows(Source):
    """Rows of numbers, made of a table by a plan."""

    def __init__(
        self,
        table: Table,
        plan: EncodingPlan,
        profiles: tuple[SetProfile, ...],
        changes: tuple[SchemaChange, ...],
        called: str,
    ) -> None:
        # What the plan fills is filled; the rest is dealt with as in any other source.
        filled = all(column.fill for column in plan.used)
        missing = plan.missing if plan.missing == "drop" or not filled else "error"
        options = replace(table.options, missing=None if missing == "indicator" else missing)
        dtype = np.dtype(np.float64)
        if all(c.kind == "number" and not c.reading for c in plan.used):
            there = set(table.all_columns)
            dtype = common_float(
                [table.schema.field(c.name).type for c in plan.used if c.name in there]
            )
        super().__init__(table.name, options, (table.n_rows, plan.n_features), dtype)
        self.plan, self.profiles, self.called = plan, profiles, called
        self.feature_names, self._owners = plan.feature_names, plan.owners
        self._clean = plan.filled
        self._changes, self._notes, self._table = changes, table.notes, table

    def _blocks(self, size: int) -> Iterator[Chunk]:
        plan = self.plan or EncodingPlan(())
        encoder = Encoder(plan, self.dtype, self.name, self.profiles)
        notes: list[Note] = []
        beside = (c.name for c in plan.columns if c.kind == "time" or c.watched)
        there = set(self._table.all_columns)
        wanted = [c for c in dict.fromkeys([*plan.inputs, *beside]) if c in there]
        for block in self._table.blocks(wanted, size, notes, self._plain_numbers()):
            rows = encoder.rows(block.rows)
            yield block._replace(
                rows=rows,
                times=encoder.times(block.rows),
                merged=encoder.merged,
                watched=encoder.watched(block.rows),
            )
        self._read = (*notes, *encoder.notes())
        known = {c.name for one in self.profiles for c in one.columns if c.absurd}
        self._absurd = {c: n for c, n in encoder.absurd.items() if c not in known}

    def _plain_numbers(self) -> list[str]:
        """Columns of which every row was learned as a plain number, whatever type they have."""
        if self.plan is None or not self.profiles or self._options.label is not None:
            return []  # rows of other classes were not learned
        numbers = [c.name for c in self.plan.used if c.kind == "number" and not c.reading]
        return [
            name
            for name in numbers
            if all(name in one and not one[name].levels for one in self.profiles)
        ]
