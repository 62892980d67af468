"""Several tables share one plan: it is learned from all of them, then each is read by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from cospan.errors import InputError
from cospan.sources.base import listing, only_in_one, warn

from .dates import made_of_dates
from .decide import decide_column
from .learn import SetLearner
from .plan import ColumnPlan, EncodingPlan
from .profile import SetProfile, profile_of
from .wording import DROPPED, left_out_note

if TYPE_CHECKING:
    from cospan.sources.base import Encodable
    from cospan.sources.source import Source


class _Opened(NamedTuple):
    name: str
    table: Encodable


class Learned(NamedTuple):
    """The plan for some sources, and what each set holds, where a pass was needed to know.

    `profiles` has one entry for each source: the profiles of its set, or of each of its classes;
    empty where the schema alone settled the plan.
    """

    plan: EncodingPlan
    profiles: tuple[tuple[SetProfile, ...], ...]


def learn_plan(sources: Sequence[Source]) -> EncodingPlan:
    """Learn how to encode tables with the same columns, in one pass over each of them.

    No pass is needed where the schemas say that all columns are numbers without gaps. The arguments
    `categorical`, `numeric`, `drop` and `missing` that :func:`cospan.sources.open_source` was given
    apply; the plan is for ``source.encoded(plan)``.

    >>> import pandas as pd
    >>> from cospan.sources import learn_plan, open_source
    >>> a = open_source(pd.DataFrame({"x": [1.0, 2.0], "kind": ["b", "a"]}))
    >>> b = open_source(pd.DataFrame({"x": [1.0, None], "kind": ["a", "c"]}))
    >>> plan = learn_plan([a, b])
    >>> plan.feature_names
    ('x', 'kind = a', 'kind = b', 'kind = c', 'x is missing')
    >>> b.encoded(plan).read().rows
    array([[1.  , 1.  , 0.  , 0.  , 0.  ],
           [1.25, 0.  , 0.  , 1.  , 1.  ]])
    """
    return learn(sources).plan


def encode_together(sources: Sequence[Source]) -> list[Source]:
    """The same sources, all tables among them encoded by one plan learned from them all.

    Sources that are not tables with columns of their own (arrays, images, embeddings) stay as
    they are.
    """
    tables = [source for source in sources if source.table is not None]
    bound = [source.plan for source in tables if source.bound]
    if any(plan != bound[0] for plan in bound):
        raise InputError("The sets were encoded by different plans; encode them by the same one.")
    if not tables:
        return list(sources)
    if bound and bound[0] is not None:
        plan = bound[0]
        return [s if s.table is None or s.bound else s.encoded(plan) for s in sources]
    found = learn(tables)
    profiles = dict(zip(map(id, tables), found.profiles, strict=True))
    return [
        s if s.table is None else s.encoded(found.plan, profiles=profiles[id(s)]) for s in sources
    ]


def learn(sources: Sequence[Source]) -> Learned:
    """The plan for the tables among some sources, and the profiles of the sets."""
    tables = [_Opened(s.name, s.table) for s in sources if s.table is not None]
    if not tables:
        raise InputError("There is no table among the sources, so there is nothing to encode.")
    forced = _forced(tables)
    given = [table.options.missing for _, table in tables]
    policy = next((one for one in given if one is not None), "indicator")
    if all(table.settled for _, table in tables):
        found = Learned(_plain_plan(tables, policy), ((),) * len(tables))
    else:
        learners = [table.learn(name, forced) for name, table in tables]
        plan = _decided(tables, learners, policy)
        profiles = tuple(tuple(profile_of(plan, one) for one in ones) for ones in learners)
        found = Learned(plan, profiles)
    if left := left_out_note(found.plan):
        warn(left)
    return found


def _forced(tables: Sequence[_Opened]) -> dict[str, str]:
    """The kinds that the user gave, checked against the columns there are."""
    there = list(dict.fromkeys(c for _, table in tables for c in table.all_columns))
    forced: dict[str, str] = {}
    for _, table in tables:
        options = table.options
        for given, kind in (("categorical", "category"), ("numeric", "number"), ("drop", "")):
            for column in getattr(options, given):
                if column not in there:
                    raise InputError(_unknown(column, given, there, tables))
                if forced.setdefault(column, kind) != kind:
                    raise InputError(
                        f"Column {column!r} is named by two of categorical=, "
                        f"numeric= and drop=; "
                        "say one thing of it."
                    )
    return forced


def _unknown(column: str, given: str, there: list[str], tables: Sequence[_Opened]) -> str:
    lower = {name.lower(): name for name in reversed(there)}
    close = get_close_matches(column.lower(), lower, 1)
    hint = (
        f"Did you mean {lower[close[0]]!r}?" if close else f"The columns are {listing(there, 20)}."
    )
    return f"{_names(tables)}: no column is called {column!r} (asked for by {given}=). {hint}"


def _plain_plan(tables: Sequence[_Opened], policy: str) -> EncodingPlan:
    """All columns are numbers or truth values, and no value is missing."""
    _refuse_different(tables, _all(tables))
    kinds = {column: [table.kinds[column] for _, table in tables] for column in _all(tables)}
    columns = [
        ColumnPlan(column, "boolean" if set(kind) == {"boolean"} else "number")
        for column, kind in kinds.items()
    ]
    return EncodingPlan((*columns, *_apart(tables)), policy)


def _decided(
    tables: Sequence[_Opened], learners: Sequence[list[SetLearner]], policy: str
) -> EncodingPlan:
    columns, found = [], {}
    for name in _all(tables):
        having = [one for ones in learners for one in ones if name in one.columns]
        asked = all(table.options.columns is not None for _, table in tables)
        parts = found[name] = [one.columns[name] for one in having]
        shapes = {part.shape for part in parts if part.values}
        if len(shapes) > 1:
            raise InputError(
                f"The lists in column {name!r} have different lengths in the sets "
                f"({', '.join('×'.join(map(str, shape)) or '1' for shape in sorted(shapes))})."
            )
        columns.append(
            decide_column(parts, policy, asked=asked, names=[one.name for one in having])
        )
    taken = {column for _, table in tables for column in table.all_columns}
    made = [one for one in made_of_dates(columns, found, policy) if one.name not in taken]
    plan = EncodingPlan((*columns, *made, *_apart(tables)), policy)
    _refuse_different(tables, plan.inputs)
    if not plan.used:
        raise InputError(f"{_names(tables)}: no column is left to compare. {left_out_note(plan)}")
    return plan


def _names(tables: Sequence[_Opened]) -> str:
    return " and ".join(dict.fromkeys(name for name, _ in tables))


def _all(tables: Sequence[_Opened]) -> Iterable[str]:
    return dict.fromkeys(column for _, table in tables for column in table.columns)


def _apart(tables: Sequence[_Opened]) -> list[ColumnPlan]:
    """Columns that are out before anything is learned."""
    reasons: dict[str, str] = {}
    for _, table in tables:
        reasons |= table.unusable
        reasons |= dict.fromkeys(table.options.drop, DROPPED)
    return [ColumnPlan(column, "left out", reason) for column, reason in reasons.items()]


def _refuse_different(tables: Sequence[_Opened], used: Iterable[str]) -> None:
    """Every column that makes features is in every set."""
    first = tables[0]
    wanted = set(used)
    for other in tables[1:]:
        mine, theirs = (
            [column for column in one.table.columns if column in wanted] for one in (first, other)
        )
        if apart := only_in_one(first.name, mine, other.name, theirs):
            raise InputError(
                f"{first.name} and {other.name} have different features: {apart}. "
                f"Name the common ones with columns=, or leave the others out with "
                f"drop=."
            )
