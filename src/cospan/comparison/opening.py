"""What a comparison is given becomes sources with one set of features.

Two sets may come as two things, or as two classes of one table (`label`, `a`, `b`); K sets as a
mapping, as a list, or as all classes of one table. Either way they end up named differently, with
the same features in the same order, and so do the rows to score.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from cospan.comparison.reading import ClassesOf, Sets, refuse_too_many
from cospan.data import (
    Source,
    Table,
    check_same_features,
    encode,
    encode_by,
    listing,
    open_source,
    set_names,
)
from cospan.errors import InputError, SourceError
from cospan.model_file import PROFILE, is_file_of, profile_rows
from cospan.summary import Summary


class Opened(NamedTuple):
    """The sets of a comparison, and further rows to score where there are some."""

    sets: Sets
    further: Source | None = None
    name_z: str | None = None
    labelled: bool = False  # whether the further rows have labels to be checked
    classes: tuple[Any, ...] = ()  # taken as the sets, so the labels may name them


# ---- two sets ----------------------------------------------------------------------------------


class Classes(NamedTuple):
    """Where the classes of A and B are, which class to take of each, and where Z's labels are."""

    label: Any
    a: Any
    b: Any
    labels: Any


Names = Sequence[str | None]  # asked for, of A, B and Z


def open_pair(
    A: Any, B: Any, Z: Any, classes: Classes, names: Names, options: dict[str, Any]
) -> Opened:
    """Open two sets, or two classes of `A`, and the rows to score with them."""
    label, a, b, labels = classes
    groups, options = _groups_of(options, ["A", "B"], one_table=B is None)
    if labels is not None and Z is None:
        raise InputError("labels= belong to Z, and there is no Z; pass the rows they label as Z=.")
    if B is None:
        B, (a, b) = A, _two_classes(A, label, a, b, options)
    elif label is None and (a is not None or b is not None):
        raise InputError("a= and b= name classes; label= must say where the classes are.")
    parts = [
        _open(thing, name or letter, {**options, "groups": own}, label=label, label_value=value)
        for thing, name, letter, value, own in (
            (A, names[0], "A", a, groups[0]),
            (B, names[1], "B", b, groups[1]),
        )
    ]
    own = set_names(
        [
            letter if isinstance(p, Summary) else p.name
            for p, letter in zip(parts, "AB", strict=True)
        ]
    )
    called = [
        name or (str(value) if value is not None else stem)
        for name, value, stem in zip(names[:2], (a, b), own, strict=True)
    ]
    if called[0] == called[1]:
        called = [f"{called[0]} (A)", f"{called[1]} (B)"]
    sets = Sets(called, _alike(parts, called))
    further = _further(Z, names[2], sets, label, labels, _not_features(options, groups))
    name_z = None if further is None else names[2] or set_names([*called, further.name])[-1]
    return Opened(sets, further, name_z, labels is not None, (a, b))


def _two_classes(A: Any, label: Any, a: Any, b: Any, options: Any) -> tuple[Any, Any]:
    """The two classes to take out of one table: those named, or the only two there are."""
    if label is None:
        raise InputError(
            "only one set is given; pass a second one, or label=, a= and b= for two classes of it."
        )
    if a is None or b is None:
        found = classes_of(A, label, options)
        if len(found) == 1:
            raise InputError(
                f"{label!r} holds one class only ({listing(found)}); two are needed to compare "
                "them."
            )
        if len(found) != 2:
            raise InputError(
                f"{label!r} holds {len(found)} classes ({listing(found)}); say which two to "
                "compare with a= and b=."
            )
        first, second = found
        if b is not None:
            a = second if str(first) == str(b) else first
        else:
            a = first if a is None else a
            b = second if str(first) == str(a) else first
    if str(a) == str(b):
        raise InputError(
            f"both sets are class {str(a)!r}; name two different classes as a= and b=."
        )
    return a, b


def classes_of(A: Any, label: Any, options: Any) -> list[Any]:
    """The classes of one table."""
    reading = {name: value for name, value in options.items() if name != "groups"}
    return list(open_source(A, label=label, **reading).classes())


def open_many(sets: Any, Z: Any, label: Any, name_z: str | None, options: dict[str, Any]) -> Opened:
    """Open K sets: a mapping of names to things, a list of things, or one thing with `label`.

    Things are whatever :func:`cospan.data.open_source` takes, Dask collections, and summaries.
    """
    if label is not None:
        if isinstance(sets, Mapping):
            raise InputError("label= takes the classes of one table; pass it instead of a mapping.")
        groups, options = _groups_of(options, ["A"], one_table=True)
        source = open_source(sets, label=label, groups=groups[0], **options)
        opened: Sets = ClassesOf(encode([source])[0])
    else:
        things = named_sets(sets)
        if len(things) < 2:
            how_many = "is one set" if things else "are no sets"
            raise InputError(f"There {how_many} to compare; give two or more.")
        refuse_too_many(len(things), "sets")
        groups, options = _groups_of(options, list(things))
        parts = [
            _open(thing, name, {**options, "groups": own})
            for (name, thing), own in zip(things.items(), groups, strict=True)
        ]
        opened = Sets(tuple(things), _alike(parts, list(things)))
    further = _further(Z, name_z, opened, label, None, _not_features(options, groups))
    if further is None:
        return Opened(opened)
    return Opened(opened, further, name_z or set_names([*opened.names, further.name])[-1])


def named_sets(sets: Any) -> dict[str, Any]:
    """The sets of a mapping or a list, with their names."""
    if isinstance(sets, Mapping):
        things = {str(name): thing for name, thing in sets.items()}
        if len(things) < len(sets):
            raise InputError("Two sets have the same name, as text; give each its own.")
        return things
    if isinstance(sets, (list, tuple)):
        return dict(zip(names_of(sets), sets, strict=True))
    raise InputError(
        f"sets is a {type(sets).__name__}; give a mapping of names to sets, a list of sets, "
        f"or one table with label=."
    )


def names_of(things: Sequence[Any]) -> list[str]:
    """Files have names; other things get numbers. A name that occurs twice gets its number, too."""
    names = [
        os.path.basename(os.fspath(thing)) or os.fspath(thing)
        if isinstance(thing, (str, os.PathLike))
        else getattr(thing, "name", None)
        if isinstance(thing, Source | Table)
        else None
        for thing in things
    ]
    named = [str(name) if name is not None else f"set {k}" for k, name in enumerate(names, 1)]
    named = set_names(named)
    return [f"{name} ({k})" if named.count(name) > 1 else name for k, name in enumerate(named, 1)]


def _groups_of(
    options: dict[str, Any], names: Sequence[str], *, one_table: bool = False
) -> tuple[list[Any], dict[str, Any]]:
    """The groups of each set, and the other options."""
    groups = options.get("groups")
    rest = {name: value for name, value in options.items() if name != "groups"}
    if groups is None or isinstance(groups, str) or one_table:
        return [groups] * len(names), rest
    if isinstance(groups, Mapping) and set(groups) == set(names):
        return [groups[name] for name in names], rest
    if isinstance(groups, list | tuple) and len(groups) == len(names):
        return list(groups), rest
    raise InputError(
        f"groups= is a column's name, or an array for each of the {len(names)} sets, in their "
        "order."
    )


def _not_features(options: dict[str, Any], groups: Sequence[Any]) -> dict[str, Any]:
    """Options for further rows, which may have the column of the groups, too."""
    if not isinstance(groups[0], str):
        return options
    return {**options, "drop": [*(options.get("drop") or ()), groups[0]]}


# ---- any number of sets ------------------------------------------------------------------------


Part = Source | Table | Summary


def _open(thing: Any, name: str, options: dict[str, Any], **classes: Any) -> Part:
    """A file keeps its own name for messages; a variable has none, so it gets the set's."""
    if isinstance(thing, Summary):
        if options.get("groups") is not None:
            raise InputError(
                f"groups= needs rows, and {name} is a summary of some; pass the rows themselves."
            )
        return thing
    if isinstance(thing, str | os.PathLike) and is_file_of(thing, PROFILE):
        name, thing = profile_rows(thing)
    elif hasattr(thing, "kept_rows"):  # a profile
        name, thing = thing.name, thing.kept_rows
    named = isinstance(thing, str | os.PathLike | Source | Table)
    return open_source(thing, name=None if named else name, **classes, **options)


def _alike(parts: Sequence[Part], names: Sequence[str]) -> list[Source | Summary]:
    """The same sets, called `names`, with one encoding of their columns."""
    found: list[Any] = list(parts)
    opened = [k for k, part in enumerate(found) if isinstance(part, Source | Table)]
    if opened:
        encoded = encode([found[k] for k in opened], [names[k] for k in opened])
        for k, source in zip(opened, encoded, strict=True):
            found[k] = source
    return found


def _further(
    Z: Any, name: str | None, sets: Sets, label: Any, labels: Any, options: dict[str, Any]
) -> Source | None:
    """Z, opened, with the features of the sets, encoded as the first set is."""
    if Z is None:
        return None
    opened, first = _with_labels(Z, name or "Z", label, labels, options), sets.first
    if isinstance(opened, Table) and first is not None and first.plan is not None:
        return encode_by(opened, first.plan, name=name)
    source = encode([opened])[0]
    if first is not None:
        check_same_features(first, source)
    elif source.n_features != sets.n_features:
        raise InputError(
            f"{source.name} has {source.n_features:,} features and the sets have "
            f"{sets.n_features:,}; all must describe their rows by the same features."
        )
    return source


def _with_labels(
    Z: Any, name: str, label: Any, labels: Any, options: dict[str, Any]
) -> Source | Table:
    """Z opened; a table to score often has the column of the classes, too: there no feature."""
    opened_before = isinstance(Z, Source | Table) or (isinstance(Z, str) and Z == "-")
    source: Part | None = None
    if labels is None and isinstance(label, str) and not opened_before:
        with suppress(InputError, SourceError):  # it has no such column, or is no such table
            source = _open(Z, name, options, label=label)
    if source is None:
        source = _open(Z, name, options, label=labels)
    if not isinstance(source, Source | Table):
        raise InputError("Z is a summary, which has no rows to score; pass the rows themselves.")
    return source
