"""What a comparison is given becomes sources with one set of features.

Sets come as two things, as a mapping of names to things, or as classes of one table (`label`). Of
three classes or more, the one source is read once, and its rows go to their sets.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from cospan.base.types import Data
from cospan.comparison.settings import SourceOptions
from cospan.data import (
    Chunk,
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
    B: object = None
    Z: object = None
    label: object = None
    a: object = None
    b: object = None
    labels: object = None
    name_a: str | None = None
    name_b: str | None = None
    name_z: str | None = None

    def refuse(self, why: str, *names: str) -> None:
        """Refuse what only two sets have, where there are others."""
        for name in names:
            if getattr(self, name) is not None:
                raise InputError(f"{name}= is for two sets, A and B, and {why}; leave {name}= out.")


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

    @property
    def by_class(self) -> bool:
        """Whether one source has the rows of all sets."""
        return len(self.sources) < len(self.names)

    def parts_of(self, number: int, chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
        """The numbers of the sets in a chunk of one source, each with its rows."""
        if chunk.labels is None or not self.by_class:
            yield number, chunk
            return
        place = {value: k for k, value in enumerate(self.classes)}
        own = np.array([place[value] for value in chunk.labels.tolist()], dtype=np.intp)
        for k in np.unique(own).tolist():
            yield k, chunk.take(np.flatnonzero(own == k))._replace(labels=None)


def open_sets(asked: Asked, options: SourceOptions) -> Opened:
    """Open the sets and the rows to score with them."""
    A, B, label = asked.A, asked.B, asked.label
    called: list[str | None] = [asked.name_a, asked.name_b]
    values: list[object] = [asked.a, asked.b]
    things: list[object] = [A, B]
    if isinstance(A, Mapping) and B is None and label is None:
        asked.refuse("A is a mapping of sets", "a", "b", "name_a", "name_b")
        things, called, values = list(A.values()), [str(name) for name in A], [None] * len(A)
        if len(set(called)) < len(called):
            raise InputError("Two sets have the same name, as text; give each its own.")
        if len(called) < 2:
            how_many = "is one set" if called else "are no sets"
            raise InputError(f"There {how_many} to compare; give two or more.")
    elif B is None:
        values = _classes(asked, options)
        things = [A] * len(values)
    if label is None and (asked.a is not None or asked.b is not None):
        raise InputError("a= and b= name classes; label= must say where the classes are.")
    if asked.labels is not None and asked.Z is None:
        raise InputError("labels= belong to Z, and there is no Z; pass the rows they label as Z=.")
    if len(things) > 2:
        asked.refuse("there are more", "labels", "name_a", "name_b")
    if len(things) > MOST_SETS:
        raise InputError(
            f"{'sets' if label is None else label}: there are more than {MOST_SETS} sets to "
            "compare; choose fewer, or another column for label=."
        )
    groups, options = _groups_of(options, things)
    times = [_rows_of_profile(things, called, k) for k in range(len(things))]
    if len(values) > 2 and label is not None:
        source = encode([_open(A, "A", {**options, "groups": groups[0], "label": label})])[0]
        opened = Opened(tuple(map(as_text, values)), [source], tuple(values))
    else:
        parts = []
        for k, (thing, value) in enumerate(zip(things, values, strict=True)):
            own = {"groups": groups[k], "label": label, "label_value": value}
            parts.append(_open(thing, called[k] or "AB"[k], {**options, **own}))
        for part in parts:
            if isinstance(part, Table):
                part.columns = tuple(column for column in part.columns if column not in times)
        names = _names(parts, called, values)
        opened = Opened(tuple(names), encode(parts, names), tuple(values))
    if asked.Z is None:
        return opened
    if isinstance(groups[0], str):  # the further rows may have that column, too
        options = {**options, "drop": [*(options.get("drop") or ()), groups[0]]}
    further = _further(asked, opened.first, options)
    name_z = asked.name_z or set_names([*opened.names, further.name])[-1]
    if name_z in opened.names:  # the table of rows must tell them apart
        name_z = f"{name_z} (scored)"
    return opened._replace(further=further, name_z=name_z, labelled=asked.labels is not None)


def _classes(asked: Asked, options: SourceOptions) -> list[object]:
    """The classes to take out of one table: those named, or all there are."""
    A, _, _, label, a, b, *_ = asked
    if label is None:
        raise InputError(
            "only one set is given; pass a second one, or label=, a= and b= for two classes of it."
        )
    if a is not None and b is not None:
        if str(a) == str(b):
            raise InputError(
                f"both sets are class {str(a)!r}; name two different classes as a= and b=."
            )
        return [a, b]
    if a is not None or b is not None:
        raise InputError("name two classes, a= and b=; label= alone takes all there are.")
    reading = {name: value for name, value in options.items() if name != "groups"}
    found = sorted(open_source(A, label=label, **reading).classes(), key=_natural)
    if len(found) == 1:
        raise InputError(
            f"{label!r} holds one class only ({listing(found)}); two are needed to compare them."
        )
    return list(found)


def _names(
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
    options: SourceOptions, things: Sequence[object]
) -> tuple[list[object], SourceOptions]:
    """The groups of each set, and the other options."""
    groups = options.get("groups")
    rest = {name: value for name, value in options.items() if name != "groups"}
    if groups is None or isinstance(groups, str) or things[0] is things[1]:
        return [groups] * len(things), rest
    if isinstance(groups, list | tuple) and len(groups) == len(things):
        return list(groups), rest
    raise InputError(
        f"groups= is a column's name, or an array for each of the {len(things)} sets, in their "
        "order."
    )


def _rows_of_profile(things: list[object], called: list[str | None], k: int) -> str:
    """Put a profile's kept rows in its place; its column of times, which these do not have."""
    thing: Data = things[k]
    if isinstance(thing, str | os.PathLike) and is_file_of(thing, PROFILE):
        name, time, things[k] = profile_rows(thing)
    elif hasattr(thing, "kept_rows"):
        name, time, things[k] = thing.name, thing.time, thing.kept_rows
    else:
        return ""
    called[k] = called[k] or name
    return str(time)


def _open(thing: object, name: str, options: SourceOptions) -> Source | Table:
    """A file keeps its own name for messages; a variable has none, so it gets the set's."""
    if isinstance(thing, Summary):
        raise InputError(
            f"{name} is a summary, and a comparison needs rows; pass the rows themselves, or "
            "make a model of summaries with JointFrame.from_summaries."
        )
    named = isinstance(thing, str | os.PathLike | Source | Table)
    return open_source(thing, name=None if named else name, **options)


def _further(asked: Asked, first: Source, options: SourceOptions) -> Source:
    """Z, opened, with the features of the sets, encoded as the first set is."""
    name, Z, label, labels = asked.name_z, asked.Z, asked.label, asked.labels
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
