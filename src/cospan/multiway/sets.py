"""K sets are opened and read: a summary and a sample of each, in one pass over the data.

The sets come as K things (a mapping of names, or a list), or as the classes of one table. Either
way the rows can be walked through again, each with the number of its set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.comparison.reading import Progress, read_set, watched
from cospan.comparison.sampling import Reservoir, rows_within
from cospan.errors import InputError
from cospan.sources import Chunk, Source, check_same_features, encode_together, open_source
from cospan.sources.base import listing
from cospan.summary import Summary, SummaryBuilder, SummaryOptions

__all__ = ["MOST_SETS", "ManySets", "OneSet", "names_of", "open_many"]

MOST_SETS = 100  # more are nearly always a column of numbers taken for labels
SAMPLE_ROWS = 20_000
SAMPLE_BYTES = 2**28  # of all sets together


class OneSet(NamedTuple):
    """A set after it was read: `sample` holds all its rows where `complete`."""

    name: str
    summary: Summary
    sample: Chunk
    complete: bool
    rows: int
    weights: NDArray[np.float64] | None = None  # of the sample, where rows do not count 1 each


class ManySets:
    """K sets, each opened as a source of its own, or summarised already."""

    def __init__(self, names: Sequence[str], parts: Sequence[Source | Summary]) -> None:
        self.names = tuple(names)
        self.parts = tuple(parts)

    @property
    def sources(self) -> list[Source]:
        return [part for part in self.parts if isinstance(part, Source)]

    @property
    def n_features(self) -> int:
        return self.parts[0].n_features

    @property
    def n_rows(self) -> int | None:
        """Rows in all, where that is known before reading."""
        known = [p.n_rows if isinstance(p, Source) else p.count for p in self.parts]
        return None if None in known else sum(n or 0 for n in known)

    def read(self, *, exact: bool, seed: int, progress: Progress | None) -> list[OneSet]:
        """One pass over each set. The seed is the same for all: their order does not matter."""
        return [
            _read_one(name, part, exact, seed, progress)
            for name, part in zip(self.names, self.parts, strict=True)
        ]

    def walk(self, read: Sequence[OneSet], progress: Progress | None) -> Iterator[Walked]:
        """All rows again; of sets that were kept whole, or come as summaries, what was kept."""
        for number, (part, one) in enumerate(zip(self.parts, read, strict=True)):
            if one.complete or isinstance(part, Summary):
                yield Walked(np.full(len(one.sample.rows), number), one.sample, one.weights)
                continue
            for chunk in watched(part, f"scoring {one.name}", progress):
                yield Walked(np.full(len(chunk.rows), number), chunk)


class ClassesOf(ManySets):
    """All classes of one labelled source, told apart while it is read."""

    def __init__(self, source: Source) -> None:
        super().__init__((), (source,))
        self._classes: list[Any] = []

    def read(self, *, exact: bool, seed: int, progress: Progress | None) -> list[OneSet]:
        source = self.sources[0]
        size = rows_within(SAMPLE_BYTES // 4, source.n_features, SAMPLE_ROWS)
        found: dict[Any, _Growing] = {}
        for chunk in watched(source, f"reading {source.name}", progress):
            for value, index in _by_label(chunk):
                if value not in found:
                    _refuse_too_many(len(found) + 1, source.name)
                    found[value] = _Growing(size, exact, seed)
                found[value].add(Chunk(chunk.rows[index], chunk.ids[index]))
        if len(found) < 2:
            raise InputError(
                f"{source.name}: the labels hold {len(found)} class; two or more can be compared."
            )
        lonely = [_as_text(value) for value, part in found.items() if part.sample.seen < 2]
        if lonely:
            raise InputError(
                f"{source.name}: of {len(found)} classes {listing(lonely, limit=3)} "
                f"{'has' if len(lonely) == 1 else 'have'} one row; a set needs at least 2, better "
                "30. Take another column as label=, or two classes by a= and b=."
            )
        self._classes = sorted(found, key=_natural)
        self.names = tuple(map(_as_text, self._classes))
        return [
            found[value].finish(name, source)
            for value, name in zip(self._classes, self.names, strict=True)
        ]

    def walk(self, read: Sequence[OneSet], progress: Progress | None) -> Iterator[Walked]:
        if all(one.complete for one in read):
            for number, one in enumerate(read):
                yield Walked(np.full(len(one.sample.rows), number), one.sample)
            return
        number_of = {value: k for k, value in enumerate(self._classes)}
        for chunk in watched(self.sources[0], "scoring", progress):
            own = np.empty(len(chunk.rows), dtype=np.intp)
            for value, index in _by_label(chunk):
                own[index] = number_of[value]
            yield Walked(own, chunk)


class Walked(NamedTuple):
    """Rows and the number of the set each belongs to."""

    own: NDArray[np.intp]
    chunk: Chunk
    weights: NDArray[np.float64] | None = None


def open_many(sets: Any, *, label: Any = None, **options: Any) -> ManySets:
    """Open the sets of a comparison.

    Parameters
    ----------
    sets : mapping of names to things, sequence of things, or one thing with `label`
        Things are whatever :func:`cospan.sources.open_source` takes, Dask collections, and
        summaries.
    label
        Where the classes of the one thing stand.
    **options
        Passed on to :func:`cospan.sources.open_source`.
    """
    if label is not None:
        if isinstance(sets, Mapping):
            raise InputError("label= takes the classes of one table; pass it instead of a mapping.")
        return ClassesOf(encode_together([open_source(sets, label=label, **options)])[0])
    if isinstance(sets, Mapping):
        things = {str(name): thing for name, thing in sets.items()}
        if len(things) < len(sets):
            raise InputError("Two sets have the same name, as text; give each its own.")
    elif isinstance(sets, (list, tuple)):
        things = dict(zip(names_of(sets), sets, strict=True))
    else:
        raise InputError(
            f"sets is a {type(sets).__name__}; give a mapping of names to sets, a list of sets, "
            "or one table with label=."
        )
    if len(things) < 2:
        how_many = "is one set" if things else "are no sets"
        raise InputError(f"There {how_many} to compare; give two or more.")
    _refuse_too_many(len(things), "sets")
    parts = [_open_one(thing, name, options) for name, thing in things.items()]
    encoded = iter(encode_together([part for part in parts if isinstance(part, Source)]))
    parts = [next(encoded) if isinstance(part, Source) else part for part in parts]
    first = next((part for part in parts if isinstance(part, Source)), None)
    if first is not None:
        parts = [check_same_features(first, p) if isinstance(p, Source) else p for p in parts]
    return ManySets(tuple(things), parts)


def _open_one(thing: Any, name: str, options: dict[str, Any]) -> Source | Summary:
    if isinstance(thing, Summary):
        return thing
    named = isinstance(thing, (str, os.PathLike, Source))
    return open_source(thing, name=None if named else name, **options)


def names_of(things: Sequence[Any]) -> list[str]:
    """Files have names; other things get numbers. A name that occurs twice gets its number, too."""
    names = [
        os.path.basename(os.fspath(thing)) or os.fspath(thing)
        if isinstance(thing, (str, os.PathLike))
        else getattr(thing, "name", None)
        if isinstance(thing, Source)
        else None
        for thing in things
    ]
    named = [str(name) if name is not None else f"set {k}" for k, name in enumerate(names, 1)]
    return [f"{name} ({k})" if named.count(name) > 1 else name for k, name in enumerate(named, 1)]


def _read_one(
    name: str, part: Source | Summary, exact: bool, seed: int, progress: Progress | None
) -> OneSet:
    if isinstance(part, Source):
        read = read_set(part, name, exact=exact, seed=seed, progress=progress)
        return OneSet(name, read.summary, read.sample, read.complete, read.rows)
    kept = np.argsort(part.sample.index)
    sample = Chunk(part.sample.rows[kept], part.sample.index[kept])
    if len(kept) < 2:
        raise InputError(f"The summary of {name} keeps no rows; make it with sample_size > 0.")
    weights = None if part.n == part.count else part.sample.weights[kept]
    return OneSet(name, part, sample, len(kept) == part.count, int(part.count), weights)


class _Growing:
    """A class that is met chunk by chunk: its sample, and a summary that grows."""

    def __init__(self, size: int, exact: bool, seed: int) -> None:
        self.sample: Reservoir[Chunk] = Reservoir(size, seed)
        options = SummaryOptions(exact=exact, seed=seed, first_row=0)
        self.builder = SummaryBuilder(options, small=True)

    def add(self, chunk: Chunk) -> None:
        self.sample.add(chunk)
        self.builder.take(chunk.rows)

    def finish(self, name: str, source: Source) -> OneSet:
        summary = replace(self.builder.finish(), feature_names=source.feature_names)
        sample = self.sample
        return OneSet(name, summary, sample.result(), sample.complete, sample.seen)


def _by_label(chunk: Chunk) -> Iterator[tuple[Any, NDArray[np.intp]]]:
    """The classes in a chunk, each with the places of its rows."""
    if chunk.labels is None:
        raise InputError("the rows have no labels; label= must say where the classes stand.")
    values, group = np.unique(chunk.labels, return_inverse=True)
    for k, value in enumerate(values.tolist()):
        yield value, np.flatnonzero(group == k)


def _refuse_too_many(n: int, name: str) -> None:
    if n > MOST_SETS:
        raise InputError(
            f"{name}: there are more than {MOST_SETS} sets to compare; "
            "choose fewer, or another column for label=."
        )


def _natural(value: Any) -> tuple[bool, Any]:
    """Numbers by size, before texts by letter."""
    return (False, value) if isinstance(value, (int, float)) else (True, str(value))


def _as_text(value: Any) -> str:
    """3.0 is class 3: labels often come as floats because one is missing."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
