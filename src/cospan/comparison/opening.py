"""What a comparison is given becomes sources with one set of features.

Sets come as two things, as a mapping of names to things, or as classes of one table (`label`). Of
three classes or more, the one source is read once, and its rows go to their sets.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from cospan.comparison.settings import Reading
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

MOST_SETS = 100  # more are nearly always a column of numbers taken for labels


class Asked(NamedTuple):
    """What a comparison is asked: the sets, where their classes are, and what to call them."""

    A: object
    B: object
    Z: object
    label: object = None
    a: object = None
    b: object = None
    labels: object = None
    names: tuple[str | None, str | None, str | None] = (None, None, None)  # of A, B and Z


class Opened(NamedTuple):
    """The sets of a comparison, and further rows to score where there are some."""

    names: tuple[str, ...]
    sources: list[Source]  # one for each set, or one with all classes
    classes: tuple[object, ...]  # taken as the sets, None where a set is no class
    further: Source | None = None
    name_z: str = ""
    labelled: bool = False  # whether the further rows have labels to be checked

    @property
    def first(self) -> Source:
        """The source whose features the others have, too."""
        return self.sources[0]


def open_sets(asked: Asked, options: Reading) -> Opened:
    """Open the sets and the rows to score with them."""
    A, B, Z, label, a, b, labels, names = asked
    if isinstance(A, Mapping) and B is None and label is None:
        things, called, values = _of_mapping(A, asked)
    else:
        things, called = [A, A if B is None else B], list(names[:2])
        values = [a, b] if B is not None else _two_classes(asked, options)
        if label is None and (a is not None or b is not None):
            raise InputError("a= and b= name classes; label= must say where the classes are.")
    if labels is not None and Z is None:
        raise InputError("labels= belong to Z, and there is no Z; pass the rows they label as Z=.")
    groups, options = _groups_of(options, things, called)
    if len(values) > 2 and B is None and label is not None:
        _refuse_for_many("there are more", asked)
        source = encode([_open(A, "A", {**options, "groups": groups[0], "label": label})])[0]
        opened = Opened(tuple(map(as_text, values)), [source], tuple(values))
    else:
        parts = []
        for k, (thing, value) in enumerate(zip(things, values, strict=True)):
            own = {"groups": groups[k], "label": label, "label_value": value}
            parts.append(_open(thing, called[k] or "AB"[k], {**options, **own}))
        found = _called(parts, called, values)
        opened = Opened(tuple(found), encode(parts, found), tuple(values))
    if Z is None:
        return opened
    if isinstance(groups[0], str):  # the further rows may have that column, too
        options = {**options, "drop": [*(options.get("drop") or ()), groups[0]]}
    further = _further(asked, opened.first, options)
    name_z = names[2] or set_names([*opened.names, further.name])[-1]
    if name_z in opened.names:  # the table of rows must tell them apart
        name_z = f"{name_z} (scored)"
    return opened._replace(further=further, name_z=name_z, labelled=labels is not None)


# ---- which sets --------------------------------------------------------------------------------


def _of_mapping(
    sets: Mapping[object, object], asked: Asked
) -> tuple[list[object], list[str | None], list[object]]:
    """The things of a mapping, their names, and no classes."""
    _refuse("A is a mapping of sets", a=asked.a, b=asked.b, name_a=asked.names[0])
    _refuse("A is a mapping of sets", name_b=asked.names[1])
    names = [str(name) for name in sets]
    if len(set(names)) < len(names):
        raise InputError("Two sets have the same name, as text; give each its own.")
    if len(names) < 2:
        how_many = "is one set" if names else "are no sets"
        raise InputError(f"There {how_many} to compare; give two or more.")
    if len(names) > 2:
        _refuse_for_many("there are more", asked)
    refuse_too_many(len(names), "sets")
    return list(sets.values()), list(names), [None] * len(names)


def _two_classes(asked: Asked, options: Reading) -> list[object]:
    """The classes to take out of one table: those named, or all there are."""
    A, label, a, b = asked.A, asked.label, asked.a, asked.b
    if label is None:
        raise InputError(
            "only one set is given; pass a second one, or label=, a= and b= for two classes of it."
        )
    if isinstance(A, Mapping) and any(isinstance(one, Mapping) for one in A.values()):
        raise InputError("label= takes the classes of one table; pass it instead of a mapping.")
    if a is None or b is None:
        reading = {name: value for name, value in options.items() if name != "groups"}
        found = sorted(open_source(A, label=label, **reading).classes(), key=_natural)
        if len(found) == 1:
            raise InputError(
                f"{label!r} holds one class only ({listing(found)}); two are needed to compare "
                "them."
            )
        if a is None and b is None:
            refuse_too_many(len(found), str(label))
            return list(found)
        if len(found) != 2:
            raise InputError(
                f"{label!r} holds {len(found)} classes ({listing(found)}); say which two to "
                "compare with a= and b=."
            )
        other = next(one for one in found if str(one) != str(b if a is None else a))
        a, b = (other, b) if a is None else (a, other)
    if str(a) == str(b):
        raise InputError(
            f"both sets are class {str(a)!r}; name two different classes as a= and b=."
        )
    return [a, b]


def _refuse_for_many(why: str, asked: Asked) -> None:
    _refuse(why, labels=asked.labels, name_a=asked.names[0], name_b=asked.names[1])


def _refuse(why: str, **given: object) -> None:
    """Mappings and classes name the sets themselves; labels of Z are checked against two only."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name}= is for two sets, A and B, and {why}; leave {name}= out.")


def refuse_too_many(n: int, name: str) -> None:
    if n > MOST_SETS:
        raise InputError(
            f"{name}: there are more than {MOST_SETS} sets to compare; "
            f"choose fewer, or another column for label=."
        )


def _called(
    parts: Sequence[Source | Table], given: Sequence[str | None], values: Sequence[object]
) -> list[str]:
    """What the sets are called: as asked, or after their classes or files."""
    stems = set_names([part.name for part in parts])
    names = [
        name or (stem if value is None else str(value))
        for name, value, stem in zip(given, values, stems, strict=True)
    ]
    return names if len(set(names)) == len(names) else [f"{names[0]} (A)", f"{names[1]} (B)"]


def names_of(paths: Sequence[str]) -> list[str]:
    """Names for several files; one that occurs twice gets its number, too."""
    names = set_names([os.path.basename(path) or path for path in paths])
    return [f"{name} ({k})" if names.count(name) > 1 else name for k, name in enumerate(names, 1)]


def _groups_of(
    options: Reading, things: Sequence[object], names: Sequence[str | None]
) -> tuple[list[object], Reading]:
    """The groups of each set, and the other options."""
    groups = options.get("groups")
    rest = {name: value for name, value in options.items() if name != "groups"}
    if groups is None or isinstance(groups, str) or things[0] is things[1]:
        return [groups] * len(things), rest
    if isinstance(groups, Mapping) and set(groups) == set(names):
        return [groups[name] for name in names], rest
    if isinstance(groups, list | tuple) and len(groups) == len(things):
        return list(groups), rest
    raise InputError(
        f"groups= is a column's name, or an array for each of the {len(things)} sets, in their "
        "order."
    )


# ---- sources -----------------------------------------------------------------------------------


def _open(thing: object, name: str, options: Reading) -> Source | Table:
    """A file keeps its own name for messages; a variable has none, so it gets the set's."""
    if isinstance(thing, Summary):
        raise InputError(
            f"{name} is a summary, and a comparison needs rows; pass the rows themselves, or "
            "make a model of summaries with JointFrame.from_summaries."
        )
    if isinstance(thing, str | os.PathLike) and is_file_of(thing, PROFILE):
        name, thing = profile_rows(thing)
    elif hasattr(thing, "kept_rows"):  # a profile
        name, thing = getattr(thing, "name", name), thing.kept_rows
    named = isinstance(thing, str | os.PathLike | Source | Table)
    return open_source(thing, name=None if named else name, **options)


def _further(asked: Asked, first: Source, options: Reading) -> Source:
    """Z, opened, with the features of the sets, encoded as the first set is."""
    name, Z, label, labels = asked.names[2], asked.Z, asked.label, asked.labels
    opened: Source | Table | None = None
    known = isinstance(Z, Source | Table) or (isinstance(Z, str) and Z == "-")
    if labels is None and isinstance(label, str) and not known:
        # A table to score often has the column of the classes, too: there it is no feature.
        with suppress(InputError, SourceError):
            opened = _open(Z, name or "Z", {**options, "label": label})
    if opened is None:
        opened = _open(Z, name or "Z", {**options, "label": labels})
    if isinstance(opened, Table) and first.plan is not None:
        return encode_by(opened, first.plan, name=name)
    source = encode([opened])[0]
    check_same_features(first, source)
    return source


def _natural(value: object) -> tuple[bool, float, str]:
    """Numbers by size, before texts by letter."""
    number = isinstance(value, int | float)
    return (not number, float(value) if isinstance(value, int | float) else 0.0, str(value))


def as_text(value: object) -> str:
    """3.0 and "3" are one class: labels often come as floats because one is missing.

    >>> as_text(3.0), as_text("3.5")
    ('3', '3.5')
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
