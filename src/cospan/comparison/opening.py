"""What a comparison is asked: its settings, and its sets as sources with the same features.

Sets come as two things, as a mapping of names to things, or as classes of one table (`label`). Of
three classes or more, the one source is read once, and its rows go to their sets.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from cospan.base.checks import as_count, as_shrinkage
from cospan.base.tolerance import FAST_SHRINKAGE
from cospan.base.types import Data, Option, Record
from cospan.data import Chunk, Source, Table, encode, listing, open_source, set_names, written
from cospan.errors import InputError
from cospan.evidence import FEWEST_LABELLINGS
from cospan.model import DEFAULTS, Given, settled
from cospan.model import Settings as SetSettings
from cospan.model_file import PROFILE, is_file_of, profile_rows
from cospan.summary import Summary

MOST_SETS = 100  # more are nearly always a column of numbers taken for labels

Progress = Callable[[str, int, int | None], None]  # what is being done, rows done, rows in all
SourceOptions = Record  # of :func:`cospan.data.open_source`


# ---- settings ------------------------------------------------------------------------------------


class Options(Given, total=False):
    """Settings of a comparison, and options of its sources: what may be left out of a call."""

    seed: int
    n_permutations: int
    groups: object
    columns: Sequence[str | int] | None
    id_column: str | None
    chunk_rows: int | None
    categorical: Sequence[str] | None
    numeric: Sequence[str] | None
    drop: Sequence[str] | None
    keep: Sequence[str] | None
    image_size: int | tuple[int, int] | None
    image_mode: str


@dataclass(frozen=True)
class Settings(SetSettings):
    """How to compare; see :func:`cospan.compare` for each."""

    preset: str | None = None
    seed: int = 0
    n_permutations: int = 999

    @classmethod
    def of(cls, **given: Option) -> Settings:
        """Settings as :func:`cospan.compare` takes them, the preset resolved."""
        asked = {name: given[name] for name in (*DEFAULTS, "preset") if name in given}
        return cls(**{**given, **settled(asked, DEFAULTS)})

    def __post_init__(self) -> None:
        as_shrinkage(self.shrinkage)
        as_count(self.n_permutations, "n_permutations", least=FEWEST_LABELLINGS)
        as_count(self.seed, "seed", least=0)

    def are_exact(self, n_rows: int | None, n_features: int) -> bool:
        """Whether summaries are by QR instead of Gram matrices: where only then digits suffice."""
        alpha = 0.0 if self.preset == "paper" else self.shrinkage
        weak = alpha != "auto" and float(alpha) < FAST_SHRINKAGE
        # With fewer rows than features, factors are smaller than matrices, and as fast to make.
        return weak or (n_rows is not None and n_rows < n_features)


def split_options(given: Options) -> tuple[Settings, SourceOptions]:
    """The settings of a comparison among what was given, and the options of its sources."""
    for name in given.keys() - Options.__annotations__.keys():
        raise TypeError(f"A comparison has no argument {name}=; help(cospan.compare) lists them.")
    known = {field.name for field in fields(Settings)}
    settings = {name: value for name, value in given.items() if name in known}
    reading = {name: value for name, value in given.items() if name not in known}
    return Settings.of(**settings), reading


# ---- sets ----------------------------------------------------------------------------------------


class Opened(NamedTuple):
    """The sets of a comparison, and further rows to score where there are some."""

    names: tuple[str, ...]
    sources: list[Source]  # one for each set, or one with all classes
    classes: tuple[object, ...]  # taken as the sets, None where a set is no class
    further: Source | None = None
    name_z: str = ""

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


def open_sets(
    options: SourceOptions,
    A: object,
    B: object = None,
    Z: object = None,
    *,
    label: object = None,
    classes: tuple[object, object] = (None, None),
    called: Sequence[str | None] = (None, None),
) -> Opened:
    """Open the sets and the rows to score with them; `called` are names that were given."""
    things, names, values = _sets_of(A, B, label, classes, called, options)
    if len(things) > MOST_SETS:
        raise InputError(
            f"{'sets' if label is None else label}: there are more than {MOST_SETS} sets to "
            "compare; choose fewer, or another column for label=."
        )
    groups, options = _groups_of(options, things)
    times = [_rows_of_profile(things, names, k) for k in range(len(things))]
    if len(things) > 2 and label is not None:
        source = encode([_open(A, "A", {**options, "groups": groups[0], "label": label})])[0]
        opened = Opened(tuple(map(written, values)), [source], tuple(values))
    else:
        parts = []
        for k, (thing, value) in enumerate(zip(things, values, strict=True)):
            own = {"groups": groups[k], "label": label, "label_value": value}
            part = _open(thing, names[k] or "AB"[k], {**options, **own})
            if isinstance(part, Table):
                part.columns = tuple(column for column in part.columns if column not in times)
            parts.append(part)
        stems = set_names([part.name for part in parts])
        taken = [None if value is None else str(value) for value in values]
        found = told_apart([a or b or c for a, b, c in zip(names, taken, stems, strict=True)])
        opened = Opened(tuple(found), encode(parts, found), tuple(values))
    if Z is None:
        return opened
    plan = opened.first.plan
    if plan is not None:  # further rows of a table may have these columns, too
        beside = [one for one in (label, groups[0]) if isinstance(one, str)]
        options = {**options, "drop": [*(options.get("drop") or ()), *beside]}
    rows = _open(Z, "Z", options)
    further = encode([opened.first, rows])[1]
    name_z = set_names([*opened.names, further.name])[-1]
    if name_z in opened.names:  # the table of rows must tell them apart
        name_z = f"{name_z} (scored)"
    return opened._replace(further=further, name_z=name_z)


def told_apart(names: Sequence[str]) -> list[str]:
    """Names of which none is another's: two have a letter where they are equal, more a number.

    >>> told_apart(["x", "x"]), told_apart(["x", "y", "x"])
    (['x (A)', 'x (B)'], ['x (1)', 'y', 'x (3)'])
    """
    marks = "AB" if len(names) == 2 else range(1, len(names) + 1)
    found = zip(names, marks, strict=True)
    return [f"{name} ({mark})" if names.count(name) > 1 else name for name, mark in found]


def _sets_of(
    A: object,
    B: object,
    label: object,
    classes: tuple[object, object],
    called: Sequence[str | None],
    options: SourceOptions,
) -> tuple[list[object], list[str | None], list[object]]:
    """The things that sets are made of; of each its name and its class, None where not known."""
    named = classes != (None, None)
    if label is None and named:
        raise InputError("a= and b= name classes; label= must say where the classes are.")
    if B is not None:
        return [A, B], [*called], [*classes]
    if label is not None:
        values = list(_classes(A, label, classes, options))
        things, names = [A] * len(values), list(called)
    elif isinstance(A, Mapping):
        things, names, values = list(A.values()), [str(name) for name in A], [None] * len(A)
        if len(set(names)) < len(names):
            raise InputError("Two sets have the same name, as text; give each its own.")
        if len(names) < 2:
            how_many = "is one set" if names else "are no sets"
            raise InputError(f"There {how_many} to compare; give two or more.")
    else:
        raise InputError(
            "only one set is given; pass a second one, or label=, a= and b= for two classes of it."
        )
    if any(called) and (label is None or len(things) > 2):
        given = "name_a=" if called[0] else "name_b="
        raise InputError(f"{given} is for two sets, A and B; leave it out: the sets have names.")
    return things, names, values


def _classes(
    A: object, label: object, classes: tuple[object, object], options: SourceOptions
) -> Sequence[object]:
    """The classes to take out of one table: those named, or all there are."""
    a, b = classes
    if a is not None and b is not None:
        if str(a) == str(b):
            raise InputError(
                f"both sets are class {str(a)!r}; name two different classes as a= and b=."
            )
        return classes
    if a is not None or b is not None:
        raise InputError("name two classes, a= and b=; label= alone takes all there are.")
    reading = {name: value for name, value in options.items() if name != "groups"}
    found = sorted(open_source(A, label=label, **reading).classes(), key=_natural)
    if len(found) == 1:
        raise InputError(
            f"{label!r} holds one class only ({listing(found)}); two are needed to compare them."
        )
    return found


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


def _natural(value: object) -> tuple[bool, float, str]:
    """Numbers by size, before texts by letter."""
    size = float(value) if isinstance(value, int | float) else math.inf
    return size == math.inf, size, str(value)
