"""The encoding plan: how the columns of a table become columns of numbers.

A plan is plain data. It is learned once from all sets (``learn``), shown, stored in model files,
and applied to rows as they come (``encoding``). Beside it: what each set holds in its columns, and
the columns that are not the same in all sets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from cospan.base.text import plural, quoted
from cospan.base.types import Option, Record
from cospan.errors import InputError, Note

from .columns import PARTS

#: What makes features.
KINDS = ("number", "boolean", "category", "date", "time of day", "duration")
APART = ("time", "set aside")  # what would separate the sets whatever else changed
#: Made columns are named after levels; longer levels are cut in the name, never in the plan.
NAME_LENGTH = 60
#: The words for false and true where a plan names no others.
TRUTH = ("false", "true")
#: Reasons that need no note: the user left the column out, or a finding says it already.
DROPPED, SCHEMA = "as asked", "it is not the same in all sets"
ABSURD = "its values are all infinite, beyond 1e100 or denormal"
#: The reasons of columns that no option could take: no values, or a type of no use.
EMPTY, HOLDS = "it has no values", "it holds"
SHOWN_COLUMNS = 8


@dataclass(frozen=True)
class ColumnPlan:
    """How one column of the user's is encoded."""

    name: str  # the user's column
    #: Dates are days since 1970, durations are days, times of day hours. No features are "time", a
    #: date that says when a row is from, "set aside", another column that gives the set away by
    #: construction, and "left out"
    kind: str
    reason: str = ""  # why the column is not a feature
    #: How text is read as numbers, where it is not written plainly (``"comma"``, ``"thousands"``,
    #: ``"day.month.year"``, …)
    reading: str = ""
    #: The levels of a category, most frequent first; of a boolean written in other words than false
    #: and true, these words
    levels: tuple[str, ...] = ()
    other: bool = False  # whether a category has a column for all further levels
    #: What stands for a missing value, in each of the columns made: the mean of the sets' means
    fill: tuple[float, ...] = ()
    indicator: bool = False  # whether a further column says which values are missing
    #: The dates it is made of: of one its time of day, of two the time between them
    of: tuple[str, ...] = ()
    origin: int = 0  # of a time of day, the hour when the day begins
    watched: bool = False  # a text that makes no feature, of which is counted how it is written

    @property
    def used(self) -> bool:
        return self.kind in KINDS

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the columns made of this one, without the indicator."""
        if not self.used:
            return ()
        if self.kind != "category":
            return (self.name,)
        lines = (" ".join(level.split()) for level in self.levels)
        cut = (x if len(x) <= NAME_LENGTH else x[: NAME_LENGTH - 1] + "…" for x in lines)
        shown = [f"{self.name} = {level}" for level in cut]
        if len(set(shown)) < len(shown):
            shown = [f"{self.name} = {level}" for level in self.levels]
        if self.other:
            further = f"{self.name} = other"
            shown.append(further if further not in shown else f"{self.name} = other (any)")
        return tuple(shown)

    @property
    def truth(self) -> tuple[str, str]:
        """The words for false and true, in lower case."""
        return (self.levels[0], self.levels[1]) if self.levels else TRUTH

    @property
    def indicator_name(self) -> str:
        return f"{self.name} is missing"


@dataclass(frozen=True)
class EncodingPlan:
    """How tables with these columns become rows of numbers.

    The features made are, in the order of the user's columns, the column itself (numbers,
    booleans, dates, durations) or one feature for each level of a category; then times of day and
    times between dates; at last the indicators of missing values.

    Parameters
    ----------
    columns : tuple of ColumnPlan
        Every column of the user's, in the order of the first set.

    Examples
    --------
    >>> import pandas as pd
    >>> from cospan.data import encode, open_source
    >>> a = pd.DataFrame({"age": [31.0, None, 45.0], "town": ["Rome", "Oslo", "Rome"]})
    >>> plan = encode([open_source(a)])[0].plan
    >>> plan.feature_names
    ('age', 'town = Rome', 'town = Oslo', 'age is missing')
    >>> plan.owners
    ('age', 'town', 'town', 'age')
    >>> EncodingPlan.from_dict(plan.to_dict()) == plan
    True
    """

    columns: tuple[ColumnPlan, ...]

    def __post_init__(self) -> None:
        names = self.feature_names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(
                f"Two features would be called {twice!r}: one is a column of the table, one is "
                "made of another column; rename the column."
            )

    @classmethod
    def of_numbers(cls, names: Iterable[str]) -> EncodingPlan:
        """Take these columns as the numbers they are; missing values are refused."""
        return cls(tuple(ColumnPlan(name, "number") for name in names))

    @cached_property
    def used(self) -> tuple[ColumnPlan, ...]:
        """The columns that make features."""
        return tuple(column for column in self.columns if column.used)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The columns of the table that features are made of."""
        names = (name for column in self.used for name in column.of or (column.name,))
        return tuple(dict.fromkeys(names))

    @property
    def times(self) -> tuple[ColumnPlan, ...]:
        """The columns that say when a row is from."""
        return tuple(column for column in self.columns if column.kind == "time")

    @cached_property
    def watched(self) -> tuple[tuple[str, str], ...]:
        """Columns of text that make no feature, each with what is counted in its texts."""
        return tuple((c.name, part) for c in self.columns if c.watched for part in PARTS)

    @property
    def left_out(self) -> dict[str, str]:
        """The columns that make no feature, with the reason."""
        return {column.name: column.reason for column in self.columns if not column.used}

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features made."""
        made = [name for column in self.used for name in column.features]
        return (*made, *(column.indicator_name for column in self.used if column.indicator))

    @property
    def n_features(self) -> int:
        return len(self.feature_names)

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """For each feature the user's column it is made of."""
        made = [column.name for column in self.used for _ in column.features]
        return (*made, *(column.name for column in self.used if column.indicator))

    def __getitem__(self, column: str) -> ColumnPlan:
        """The plan for one column of the user's."""
        return self._by_name[column]

    @cached_property
    def _by_name(self) -> dict[str, ColumnPlan]:
        return {column.name: column for column in self.columns}

    @property
    def filled(self) -> bool:
        """Whether no missing value is left where this plan was applied."""
        return all(column.fill for column in self.used)

    def notes(self) -> list[Note]:
        """What a reader of a result should know of the encoding, a note for each matter."""
        notes: list[Note] = []
        if self.n_features > len(self.used) or any(c.kind != "number" for c in self.used):
            text = f"{plural(len(self.inputs), 'column')} became {self.n_features:,} features."
            notes.append(Note("encoding", text))
        if gaps := [column for column in self.used if column.indicator]:
            where = f"{gaps[0].indicator_name!r}{' and such say' if gaps[1:] else ' says'} where."
            columns = "" if len(gaps) == len(self.used) else f" in {named([c.name for c in gaps])}"
            text = f"Missing values{columns} are filled by the mean of the sets' means; "
            notes.append(Note("missing values", f"{text}{where}"))
        return notes + self.not_compared()

    def not_compared(self) -> list[Note]:
        """Columns that are set aside or left out, with the reasons."""
        notes = []
        apart = [column for column in self.columns if column.kind in APART]
        for reason in dict.fromkeys(column.reason for column in apart):
            names = [column.name for column in apart if column.reason == reason]
            several = len(names) > 1
            text = (
                f"{named(names)} {'are' if several else 'is'} not compared: {reason}, and "
                f"{'they' if several else 'it'} would separate the sets whatever else changed."
            )
            remedy = f'keep="{names[0]}" compares {"them" if several else "it"}, too.'
            notes.append(Note("set aside", text, remedy))
        quiet = (DROPPED, SCHEMA)
        left = [c for c in self.columns if c.kind == "left out" and c.reason not in quiet]
        if left:
            shown = [f"{column.name!r} ({column.reason})" for column in left]
            helps = not all(c.reason.startswith((EMPTY, HOLDS, ABSURD)) for c in left)
            remedy = "categorical= or numeric= takes a column all the same." if helps else ""
            notes.append(Note("columns left out", f"Left out: {named(shown)}.", remedy, loud=True))
        return notes

    def to_dict(self) -> Record:
        """Plain types only, for JSON and model files."""
        return {"columns": [asdict(column) for column in self.columns]}

    @classmethod
    def from_dict(cls, content: Mapping[str, Option]) -> EncodingPlan:
        """The plan that :meth:`to_dict` wrote; everything in it is checked."""
        try:
            return cls(tuple(_column(one) for one in content["columns"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"This is not an encoding plan, or it is damaged ({error}).") from None


def _column(content: Mapping[str, Option]) -> ColumnPlan:
    """One column out of a file that may hold anything."""
    given: Record = {k: tuple(x) if isinstance(x, list) else x for k, x in content.items()}
    column = ColumnPlan(**given)
    right = all(
        type(getattr(column, one.name)) is type("" if one.default is NO_DEFAULT else one.default)
        for one in fields(ColumnPlan)
    )
    texts = all(isinstance(text, str) for text in (*column.levels, *column.of))
    words = column.kind != "boolean" or len(column.levels) in (0, 2)
    if not (right and texts and words and column.kind in (*KINDS, *APART, "left out")):
        raise ValueError(f"column {column.name!r}")
    numbers = tuple(float(value) for value in column.fill)
    if not np.isfinite(numbers).all() or (numbers and len(numbers) != len(column.features)):
        raise ValueError(f"column {column.name!r} has {len(numbers)} values to fill in")
    return replace(column, fill=numbers)


@dataclass(frozen=True)
class ColumnProfile:
    """One column of one set."""

    name: str
    #: Rows of the set, and those without a value here
    rows: int
    missing: int
    low: float = math.nan  # of the values present, as they are encoded; NaN for categories
    high: float = math.nan
    #: How often each text occurs; at most 4,096 of them, and empty where the column is not text
    levels: Mapping[str, int] = field(default_factory=dict)
    exact: bool = True  # whether `levels` has every text with its exact count
    reading: str = ""  # how texts of this set are read, where the column is numbers or dates
    kind: str = ""  # the plan's


#: The columns of one set by their names, left-out ones too.
SetProfile: TypeAlias = Mapping[str, ColumnProfile]


@dataclass(frozen=True)
class SchemaChange:
    """What reading alone finds: a column that is not the same in all sets, or absurd values.

    Attributes
    ----------
    kind : {"only in", "renamed", "retyped", "lacking", "absurd"}
    column : str
    sets : tuple of str
        Those that have it, under this name; of a retyped column all that have values; of absurd
        values (infinite, beyond 1e100 or denormal) those that have some.
    second, others : str, tuple of str
        The other name of a renamed column, and the sets that have it.
    kinds, counts : tuple
        What each of the `sets` holds of a retyped column; how many absurd values.

    Examples
    --------
    >>> print(SchemaChange("only in", "price", ("training",)))
    price is in training only.
    >>> print(SchemaChange("renamed", "age", ("training",), "years", ("production",)))
    age is called years in production: the same values under a new name.
    >>> print(SchemaChange("retyped", "zip", ("A", "B"), kinds=("a number", "text")))
    zip is a number in A and text in B, so it is not compared.
    """

    kind: str
    column: str
    sets: tuple[str, ...]
    second: str = ""
    others: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()

    def between(self, *pair: str) -> bool:
        """Whether two of the sets are not alike in this; absurd values are one's own."""
        held = dict.fromkeys(self.sets, "") | dict(zip(self.sets, self.kinds, strict=False))
        own = held.keys() & {*pair} if self.kind == "absurd" else ()
        return bool(own) or held.get(pair[0]) != held.get(pair[1])

    def __str__(self) -> str:
        sets, column = " and ".join(self.sets), quoted(self.column)
        if self.kind == "only in":
            return f"{column} is in {sets} only."
        if self.kind == "lacking":
            return f"{column} is not in {sets}; it counts as missing there."
        if self.kind == "renamed":
            others = " and ".join(self.others)
            return (
                f"{column} is called {quoted(self.second)} in {others}: the same values under a "
                "new name."
            )
        if self.kind == "absurd":
            both = zip(self.counts, self.sets, strict=True)
            rows = " and ".join(f"{plural(n, 'row')} of {name}" for n, name in both)
            return (
                f"{column} is infinite, beyond 1e100 or too small to be exact in {rows}; that "
                "counts as missing."
            )
        held: dict[str, list[str]] = {}
        for name, kind in zip(self.sets, self.kinds, strict=True):
            held.setdefault(kind, []).append(name)
        said = " and ".join(f"{kind} in {' and '.join(names)}" for kind, names in held.items())
        return f"{column} is {said}, so it is not compared."

    def to_dict(self) -> Record:
        """Plain types only, with the sentence."""
        plain = {key: list(x) if isinstance(x, tuple) else x for key, x in asdict(self).items()}
        return {**plain, "text": str(self)}


def named(names: Sequence[str]) -> str:
    """The first names of several, and how many more there are."""
    more, shown = len(names) - SHOWN_COLUMNS, ", ".join(names[:SHOWN_COLUMNS])
    return f"{shown} and {more:,} more" if more > 0 else shown
