"""One pass over a set: its summary, and a uniform sample of its rows with their identifiers.

A set comes as a source of its own, or as a summary that was made before; `classes` reads all
classes of one source at once. Either way the rows can be gone through again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.curves import RowMap
from cospan.errors import InputError
from cospan.sets.curved import mapped_summary
from cospan.sources import Chunk, Source
from cospan.sources.ahead import read_ahead
from cospan.summary import Reservoir, Summary, SummaryOptions, of_chunks, of_rows, rows_within

#: Of every sample of rows that a comparison takes. The seed that a user gives is for what chance
#: must decide, relabellings and replicates; which rows stand for a large set it need not decide,
#: and another seed would give other distances for the same files, and flip a gate.
SAMPLE_SEED = 0
SAMPLE_ROWS = 20_000
SAMPLE_BYTES = 3 * 2**24  # 48 MB a set

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
    """What lies beside rows: their names, labels and times, and levels that were merged."""

    ids: NDArray[Any]
    labels: NDArray[Any] | None
    times: NDArray[np.float64] | None
    merged: NDArray[np.uint64] | None


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
            called.add(_Called(*chunk[1:]))
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
