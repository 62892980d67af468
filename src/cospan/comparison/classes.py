"""The classes of one labelled source as sets, sorted out while it is read: one pass for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cospan.comparison.reading import OwnRows, Progress, ReadSet, Sets, sample_size, watched
from cospan.data import Chunk, Source, listing
from cospan.errors import InputError
from cospan.summary import Reservoir, SummaryBuilder, SummaryOptions

MOST_SETS = 100  # more are nearly always a column of numbers taken for labels


class ClassesOf(Sets):
    """All classes of one labelled source; their names are known once it is read."""

    def __init__(self, source: Source) -> None:
        super().__init__((), (source,))
        self._classes: list[Any] = []

    def read(self, *, exact: bool, seed: int, progress: Progress | None) -> list[ReadSet]:
        source = self.sources[0]
        size = sample_size(source.n_features)
        found: dict[Any, _Growing] = {}
        for chunk in watched(source, f"reading {source.name}", progress):
            for value, part in _by_label(chunk):
                if value not in found:
                    refuse_too_many(len(found) + 1, source.name)
                    found[value] = _Growing(size, exact, seed)
                found[value].add(part)
        _refuse_too_few(found, source.name)
        self._classes = sorted(found, key=_natural)
        self.names = tuple(map(as_text, self._classes))
        return [
            found[value].finish(name, source)
            for value, name in zip(self._classes, self.names, strict=True)
        ]

    def rows(
        self, read: Sequence[ReadSet], every: bool, progress: Progress | None
    ) -> Iterator[OwnRows]:
        if not every or all(one.complete for one in read):
            yield from (OwnRows(number, one.sample) for number, one in enumerate(read))
            return
        number_of = {value: k for k, value in enumerate(self._classes)}
        for chunk in watched(self.sources[0], "scoring", progress):
            for value, part in _by_label(chunk):
                yield OwnRows(number_of[value], part)


class _Growing:
    """A class that is met chunk by chunk: its sample, and a summary that grows."""

    def __init__(self, size: int, exact: bool, seed: int) -> None:
        self.sample: Reservoir[Chunk] = Reservoir(size, seed)
        options = SummaryOptions(exact=exact, sample_size=size, seed=seed, first_row=0)
        self._builder = SummaryBuilder(options, small=True)

    def add(self, chunk: Chunk) -> None:
        self.sample.add(chunk)
        self._builder.take(chunk.rows)

    def finish(self, name: str, source: Source) -> ReadSet:
        summary = replace(self._builder.finish(), feature_names=source.feature_names)
        sample = self.sample
        return ReadSet(name, summary, sample.result(), sample.complete, sample.seen)


def _by_label(chunk: Chunk) -> Iterator[tuple[Any, Chunk]]:
    """The classes in a chunk, each with its rows."""
    if chunk.labels is None:
        raise InputError("the rows have no labels; label= must say where the classes are.")
    values, group = np.unique(chunk.labels, return_inverse=True)
    for k, value in enumerate(values.tolist()):
        index = np.flatnonzero(group == k)
        yield value, chunk.take(index)._replace(labels=None)


def _refuse_too_few(found: dict[Any, _Growing], name: str) -> None:
    if len(found) < 2:
        raise InputError(
            f"{name}: the labels hold {len(found)} class; two or more can be compared."
        )
    lonely = [as_text(value) for value, part in found.items() if part.sample.seen < 2]
    if lonely:
        raise InputError(
            f"{name}: of {len(found)} classes {listing(lonely, limit=3)} "
            f"{'has' if len(lonely) == 1 else 'have'} one row; a set needs at least 2, better "
            f"30. Take another column as label=, or two classes by a= and "
            f"b=."
        )


def refuse_too_many(n: int, name: str) -> None:
    if n > MOST_SETS:
        raise InputError(
            f"{name}: there are more than {MOST_SETS} sets to compare; "
            f"choose fewer, or another column for label=."
        )


def _natural(value: Any) -> tuple[bool, Any]:
    """Numbers by size, before texts by letter."""
    return (False, value) if isinstance(value, (int, float)) else (True, str(value))


def as_text(value: Any) -> str:
    """3.0 and "3" are one class: labels often come as floats because one is missing.

    >>> as_text(3.0), as_text("3.5")
    ('3', '3.5')
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
