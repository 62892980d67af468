"""Rows with their times, in one pass: what every window is made of.

Tables are encoded by the profile's plan as Arrow batches come; the time is read from the same
batch, as days since 1970. Arrays have no columns: their windows are counted in rows, or the times
are given beside them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cospan.base.notes import Note
from cospan.base.types import Floats
from cospan.data import (
    AMBIGUOUS,
    LEARN_ROWS,
    READINGS,
    ZONE,
    Encoder,
    EncodingPlan,
    Options,
    Source,
    Table,
    TextLearner,
    chosen,
    coded,
    encode,
    encode_by,
    family,
    listing,
    notes_of,
    numbers,
    open_source,
    parsed,
    times_between,
)
from cospan.errors import InputError
from cospan.model_file.container import is_file_of

if TYPE_CHECKING:
    import pyarrow as pa

#: Every two features have a covariance, and memory and time grow with them: about half a gigabyte.
MOST_FEATURES = 3_000
#: Values encoded at once: enough that the columns' overhead is small, few enough for the cache.
_BLOCK_VALUES = 2**21
#: Ways of writing a date that leave no doubt, whatever a block of rows happens to hold.
_UNAMBIGUOUS = ("iso date", "year/month/day", "day.month.year")
#: How UTC is written at the end of a time.
_UTC = {"Z", "+00:00", "+0000", "+00", "-00:00"}
_MOVING = "dates and times move from window to window by themselves"


class Timed(NamedTuple):
    """Some rows as numbers, and their times in days since 1970, or None."""

    rows: Floats
    days: Floats | None


def refuse_unknown(function: Callable[..., Any], options: dict[str, Any]) -> None:
    """An argument that neither the function nor a source has."""
    own = [name for name in signature(function).parameters if name != "options"]
    known = [*own, *(field.name for field in fields(Options))]
    for name in options.keys() - set(known):
        close = get_close_matches(name, known, 1)
        called = function.__qualname__
        meant = f"did you mean {close[0]}=?" if close else f"help(cospan.{called}) lists them."
        raise TypeError(f"{called} has no argument {name}=; {meant}")


def as_list(data: Any) -> list[Any]:
    """Several files one after the other, or one thing of any kind."""
    if isinstance(data, list | tuple) and data:
        tables = [isinstance(one, str | os.PathLike) or hasattr(one, "columns") for one in data]
        if all(tables):
            return list(data)
    return [data]


def opened(data: Any, time: Any, **options: Any) -> list[Source | Table]:
    """The sources of a set; the column of times is not a feature."""
    named = isinstance(time, str)
    drop = tuple(dict.fromkeys([*(options.pop("drop", None) or ()), *([time] if named else [])]))
    sources: list[Source | Table] = []
    for one in as_list(data):
        _refuse_kept(one)
        source = open_source(one, drop=drop or None, **options)
        if named and not isinstance(source, Table):
            raise InputError(
                f"{source.name} is not a table, so it has no column {time!r}; cut windows in rows, "
                f'for instance every="1000-rows".'
            )
        if named and isinstance(source, Table) and time not in source.all_columns:
            columns = listing(source.all_columns, 20)
            raise InputError(f"{source.name}: has no column {time!r}; its columns are {columns}.")
        sources.append(source)
    return sources


def _refuse_kept(data: Any) -> None:
    """A profile where data is meant."""
    kinds = ("profile", "monitoring")
    if isinstance(data, str | os.PathLike):
        kept = next((kind for kind in kinds if is_file_of(data, f"cospan {kind}")), None)
        if kept is not None:
            raise InputError(f"{os.fspath(data)} is a {kept}, which holds no data; name the data.")


def refuse_wide(sources: Sequence[Source | Table], plan: EncodingPlan | None, name: str) -> None:
    """Say before the work begins that it would not end well."""
    features = 0 if isinstance(sources[0], Table) else sources[0].n_features
    features = features if plan is None else plan.n_features
    if features > MOST_FEATURES:
        columns = f"{len(plan.used):,} columns make " if plan is not None else "it has "
        raise InputError(
            f"{name}: {columns}{features:,} features (missing values count as one more for each "
            f"column), and a profile takes at most {MOST_FEATURES:,}; choose some with "
            f"columns=, or compare the files themselves."
        )


def full_plan(sources: Sequence[Source | Table], notes: list[Note]) -> EncodingPlan | None:
    """How tables become numbers so that no gap goes unseen: every column has its indicator.

    Dates are left out: they move whatever the data does. None where the sources are no tables.
    What a reader should know is added to `notes`.
    """
    if not all(isinstance(source, Table) for source in sources):
        return None
    encoded = encode(sources)
    notes += notes_of(encoded)
    plan = encoded[0].plan
    if plan is None:
        return None
    moving = [c.name for c in plan.used if c.kind == "date"]
    if moving:
        text = f"Column {listing(moving)} is left out: {_MOVING}."
        notes.append(Note("columns left out", text, loud=True))
    columns = [
        replace(c, kind="left out", reason=_MOVING, fill=(), indicator=False)
        if c.name in moving
        else c
        for c in plan.columns
    ]
    columns += times_between({name: plan[name].fill[0] for name in moving})
    found = EncodingPlan(tuple(columns), "indicator")
    if not found.used:
        raise InputError("No column is left to watch; name some with columns=.")
    return _filled(found, sources[0])


def _filled(plan: EncodingPlan, source: Source | Table) -> EncodingPlan:
    """Something to put in for missing values of columns that had none: the first rows' mean."""
    bare = _with_fill(plan, np.zeros(plan.n_features))
    first = next(timed_rows([source], bare, None, []), None)
    if first is None:
        raise InputError(f"{source.name} has no rows; check the file and its filters.")
    return _with_fill(plan, first.rows.mean(axis=0))


def _with_fill(plan: EncodingPlan, means: Floats) -> EncodingPlan:
    columns, place = [], 0
    for column in plan.columns:
        width = len(column.features)
        if column.used:
            own = tuple(float(x) for x in means[place : place + width])
            column = replace(column, fill=column.fill or own, indicator=True)
        columns.append(column)
        place += width
    return EncodingPlan(tuple(columns), "indicator")


def timed_rows(
    sources: Sequence[Source | Table],
    plan: EncodingPlan | None,
    time: Any,
    notes: list[Note],
    *,
    bare: bool = False,
) -> Iterator[Timed]:
    """All rows of the sources, one after the other, with their times.

    What a reader should know is added to `notes` as the rows come. With `bare`, blocks in which
    nothing is missing come without indicators of that.
    """
    given = None if time is None or isinstance(time, str) else _as_days(time)
    start = 0
    for source in sources:
        column = time if isinstance(time, str) else None
        for block in _blocks(source, plan, column, notes, bare):
            if given is not None:
                stop = start + len(block.rows)
                if stop > len(given):
                    raise InputError(f"There are {len(given):,} times for more rows than that.")
                block = Timed(block.rows, given[start:stop])
                start = stop
            yield block
    if given is not None and start != len(given):
        raise InputError(f"There are {len(given):,} times for {start:,} rows.")


def _blocks(
    source: Source | Table,
    plan: EncodingPlan | None,
    time: str | None,
    notes: list[Note],
    bare: bool,
) -> Iterator[Timed]:
    if plan is None:
        for chunk in encode([source])[0].chunks():
            yield Timed(np.asarray(chunk.rows, dtype=np.float64), None)
        return
    table = check_columns(source, plan, notes)
    encoder = Encoder(plan, np.dtype(np.float64), source.name)
    own = encoder.wanted(table.all_columns)
    wanted = list(dict.fromkeys([*own, *([] if time is None else [time])]))
    zones: set[str] = set()
    order = cache(lambda: _order(table, str(time)))  # looked for where a block leaves it open
    for batch in table.batches(wanted, max(1024, _BLOCK_VALUES // plan.n_features)):
        days = (
            None if time is None else _days(batch.column(time), (source.name, time), zones, order)
        )
        yield Timed(encoder.rows(batch, bare=bare), days)
    notes += _on_zones(zones, time, source.name)
    notes += encoder.notes()  # levels that the reference does not have, with an example


def check_columns(source: Source | Table, plan: EncodingPlan, notes: list[Note]) -> Table:
    """Has a table what the reference has? Columns that it lacks or has besides are in `notes`."""
    if not isinstance(source, Table):
        raise InputError(f"{source.name} is not a table, but the reference is one.")
    changes = encode_by(source, plan).changes
    notes += [Note("schema", str(change), loud=True) for change in changes]
    return source


def _days(
    array: pa.Array, where: tuple[str, str], zones: set[str], order: Callable[[], str]
) -> Floats:
    """Days since 1970 of a column of dates, times or texts; NaN where missing.

    The zones of times are added to `zones`, "" where they have none. `order` is how all texts
    of the column are read, for those that may begin with the day or with the month.
    """
    name, column = where
    kind = family(array.type)
    if kind == "date":
        # Of a file's times with an offset Arrow says that they are in UTC, as they are now.
        zones.add("" if getattr(array.type, "tz", None) is None else "any")
        return numbers(array)
    if kind in ("text", "dictionary"):
        found = coded(array)
        values = _read_days(found.texts)
        if np.isnan(values).any() and order() in READINGS:
            values = np.asarray(parsed(found.texts, order()).to_numpy(zero_copy_only=False))
        if not np.isnan(values).any():
            zones |= _zones_of(found.texts)
            return np.asarray(np.append(values, np.nan)[found.codes])
        odd = found.texts[int(np.flatnonzero(np.isnan(values))[0])].as_py()
        if order() == AMBIGUOUS:
            raise InputError(
                f"{name}: column {column!r} holds {str(odd)[:40]!r}, which may begin with the day "
                "or with the month, and so may all others; write 2020-12-31."
            )
        raise InputError(
            f"{name}: column {column!r} holds {str(odd)[:40]!r}, which is not a date such as "
            "2020-12-31 or 2020-12-31 23:59:00 (2020/12/31, 31.12.2020, 12/31/2020 will do, too)."
        )
    if array.null_count == len(array):
        return np.full(len(array), np.nan)
    raise InputError(
        f"{name}: column {column!r} holds {array.type}, not dates; make dates of it, or cut "
        f'windows in rows, for instance every="1000-rows".'
    )


def _order(table: Any, column: str) -> str:
    """The only way to read all texts of a column as dates; else AMBIGUOUS, or empty."""
    learner = TextLearner()
    for batch in table.batches([column], LEARN_ROWS):
        if family(batch.column(column).type) in ("text", "dictionary"):
            learner.add(batch.column(column))
    dates = {name for name in learner.fitting if READINGS[name].kind == "date"}
    return chosen(dates)


def _read_days(texts: pa.Array) -> Floats:
    """Texts as days by the way of writing that fits them all, else by the first, with gaps."""
    tried = [np.asarray(parsed(texts, way).to_numpy(zero_copy_only=False)) for way in _UNAMBIGUOUS]
    return next((days for days in tried if not np.isnan(days).any()), tried[0])


def _zones_of(texts: pa.Array) -> set[str]:
    """The zones that times are written with, "" where there is none."""
    import pyarrow.compute as pc

    found = pc.struct_field(pc.extract_regex(texts, pattern=ZONE), "zone")
    return set(pc.unique(pc.fill_null(found, "")).to_pylist())


def _on_zones(zones: set[str], column: str | None, name: str) -> list[Note]:
    if zones <= {""} or zones <= _UTC:  # of times that are written in UTC everybody knows
        return []
    text = f"{name}: the times of {column!r} have a time zone; windows begin and end in UTC."
    if "" in zones:
        text = (
            f"{name}: some times of {column!r} have a time zone and others have none; the latter "
            "are taken to be in UTC, in which windows begin and end."
        )
    return [Note("time zones", text, loud=True)]


def _as_days(time: Any) -> Floats:
    """Times given as an array, in days since 1970."""
    values = np.asarray(time)
    try:
        ticks = values.astype("datetime64[us]")
    except (TypeError, ValueError):
        raise InputError("time must be a column's name, or one date for each row.") from None
    if values.dtype.kind in "biuf" or values.ndim != 1:
        raise InputError("time must be a column's name, or one date for each row.")
    days = ticks.astype(np.int64) / 86_400e6
    return np.where(np.isnat(ticks), np.nan, days)
