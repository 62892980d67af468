"""One pass over a set: its summary, and a uniform sample of its rows with their identifiers.

A set comes as a source of its own, or as a summary that was made before; all classes of one source
are read at once. Either way the rows can be gone through again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.data import Chunk, SchemaChange, Source, listing, read_ahead
from cospan.errors import InputError
from cospan.model import RowMap, mapped_summary
from cospan.summary import (
    Reservoir,
    Summary,
    SummaryBuilder,
    SummaryOptions,
    of_chunks,
    of_rows,
    rows_within,
)

#: Of every sample of rows that a comparison takes. The seed that a user gives is for what chance
#: must decide, relabellings and replicates; which rows stand for a large set it need not decide,
#: and another seed would give other distances for the same files, and flip a gate.
SAMPLE_SEED = 0
SAMPLE_ROWS = 20_000
SAMPLE_BYTES = 3 * 2**24  # 48 MB a set
MOST_SETS = 100  # more are nearly always a column of numbers taken for labels

Progress = Callable[[str, int, int | None], None]  # what is being done, rows done, rows in all


class ReadSet(NamedTuple):
    """A set after one pass: `sample` holds all its rows where `complete`."""

    name: str
    summary: Summary
    sample: Chunk
    complete: bool
    rows: int
    weights: NDArray[np.float64] | None = None  # of the sample, where rows do not count 1 each


class _Called(NamedTuple):
    """What lies beside rows: their names, labels, times, merged levels and watched texts."""

    ids: NDArray[Any]
    labels: NDArray[Any] | None
    times: NDArray[np.float64] | None
    merged: NDArray[np.uint64] | None
    watched: NDArray[np.float64] | None


class OwnRows(NamedTuple):
    """Rows of one set, and the set's number."""

    number: int
    chunk: Chunk
    weights: NDArray[np.float64] | None = None


class Sets:
    """K sets to compare, each opened as a source of its own, or summarised already."""

    def __init__(self, names: Sequence[str], parts: Sequence[Source | Summary]) -> None:
        self.names = tuple(names)
        self.parts = tuple(parts)

    @property
    def sources(self) -> list[Source]:
        return [part for part in self.parts if isinstance(part, Source)]

    @property
    def first(self) -> Source | None:
        """The source whose features the others have, too."""
        return next(iter(self.sources), None)

    @property
    def schema_changes(self) -> tuple[SchemaChange, ...]:
        """Columns that are not the same in all sets."""
        return tuple(dict.fromkeys(one for source in self.sources for one in source.changes))

    @property
    def n_features(self) -> int:
        return self.parts[0].n_features

    @property
    def n_rows(self) -> int | None:
        """Rows in all, where that is known before reading."""
        known = [p.n_rows if isinstance(p, Source) else p.count for p in self.parts]
        return None if None in known else sum(n or 0 for n in known)

    def read(self, *, exact: bool, seed: int, progress: Progress | None) -> list[ReadSet]:
        """One pass over each set. The seed is the same for all: their order does not matter."""
        return [
            _kept(name, part)
            if isinstance(part, Summary)
            else _read_source(name, part, exact=exact, seed=seed, progress=progress)
            for name, part in zip(self.names, self.parts, strict=True)
        ]

    def rows(
        self, read: Sequence[ReadSet], every: bool, progress: Progress | None
    ) -> Iterator[OwnRows]:
        """The rows once more: `every` one, by a second pass where only a sample was kept."""
        for number, (part, one) in enumerate(zip(self.parts, read, strict=True)):
            if isinstance(part, Source) and every and not one.complete:
                for chunk in watched(part, f"scoring {one.name}", progress):
                    yield OwnRows(number, chunk)
            else:
                yield OwnRows(number, one.sample, one.weights)

    def has_rows(self, read: Sequence[ReadSet]) -> bool:
        """Can every row be had again? Not those of a summary that keeps some of them."""
        both = zip(self.parts, read, strict=False)  # classes come from one source
        return all(isinstance(part, Source) or one.complete for part, one in both)

    def mapped(
        self, read: Sequence[ReadSet], mapping: RowMap, *, progress: Progress | None
    ) -> list[Summary]:
        """Summaries of all rows once more, each row mapped first; see :meth:`has_rows`."""
        found: dict[int, Summary] = {}
        for part in self.rows(read, True, progress):
            one = mapped_summary(part.chunk.rows, part.weights, mapping)
            k = part.number
            found[k] = found[k] + one if k in found else one
        return [found[k] for k in range(len(read))]


def sample_size(n_features: int) -> int:
    """How many rows of a set are kept while it is read."""
    return rows_within(SAMPLE_BYTES, n_features, SAMPLE_ROWS)


def _read_source(
    name: str, source: Source, *, exact: bool, seed: int, progress: Progress | None
) -> ReadSet:
    """Summarise a source in one pass and keep a sample of its rows."""
    size = sample_size(source.n_features)
    if source.lazy is not None:
        return _read_where_it_is(name, source, exact=exact, size=size, seed=seed)
    called: Reservoir[_Called] = Reservoir(size, seed)

    def rows() -> Iterator[NDArray[Any]]:
        for chunk in watched(source, f"reading {name}", progress):
            called.add(_Called(*chunk[1:6]))
            yield chunk.rows
        if called.seen < 2:
            found = "one row" if called.seen else "no rows"
            raise InputError(f"{name} has {found}; a set needs at least 2, better 30.")

    # numbered rows: the sample is the same wherever the rows are read
    options = SummaryOptions(exact, None, size, seed, name, first_row=0)
    summary = of_chunks(rows(), options)
    summary = replace(summary, feature_names=source.feature_names)
    # The summary drew the same numbers for its sample: its rows have the names kept here.
    kept, names = summary.sample, called.result()
    order = np.argsort(kept.index)
    place = np.searchsorted(called.positions, kept.index[order])
    beside: Any = (None if column is None else column[place] for column in names)
    sample = Chunk(kept.rows[order].astype(source.dtype, copy=False), *beside)
    return ReadSet(name, summary, sample, len(order) == called.seen, called.seen)


def _read_where_it_is(name: str, source: Source, *, exact: bool, size: int, seed: int) -> ReadSet:
    """The same for a Dask collection: its workers summarise and draw, and only that comes here."""
    options = SummaryOptions(exact, None, size, seed, name, first_row=0)
    summary = of_rows(source.lazy, None, options)
    if summary.count < 2:
        raise InputError(f"{name} has one row; a set needs at least 2, better 30.")
    return _kept(name, summary)


def _kept(name: str, summary: Summary) -> ReadSet:
    """The rows that a summary carries, in their own order."""
    kept = summary.sample
    if len(kept.index) < 2:
        raise InputError(f"The summary of {name} keeps no rows; make it with sample_size > 0.")
    order = np.argsort(kept.index)
    weights = None if summary.n == summary.count else kept.weights[order]
    complete = len(order) == summary.count
    sample = Chunk(kept.rows[order], kept.index[order])
    return ReadSet(name, summary, sample, complete, int(summary.count), weights)


def watched(source: Source, stage: str, progress: Progress | None) -> Iterator[Chunk]:
    """The chunks of a source, with a word to `progress` after each."""
    done = 0
    for chunk in read_ahead(source.chunks()):
        yield chunk
        done += len(chunk.rows)
        if progress is not None:
            progress(stage, done, source.n_rows)
    if progress is not None:
        progress(stage, done, done)  # now the number is known, also of a stream


# ---- all classes of one source -----------------------------------------------------------------


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
