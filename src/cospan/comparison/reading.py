"""One pass over a set: its summary, and a uniform sample of its rows with their identifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.comparison.sampling import Reservoir, rows_within
from cospan.errors import InputError
from cospan.sources import Chunk, Source

if TYPE_CHECKING:
    from cospan.summary import Summary

__all__ = ["Progress", "ReadSet", "read_set", "watched"]

SAMPLE_ROWS = 20_000
SAMPLE_BYTES = 3 * 2**24  # 48 MB a set

Progress = Callable[[str, int, int | None], None]  # what is being done, rows done, rows in all


class ReadSet(NamedTuple):
    """A set after one pass: `sample` holds all its rows where `complete`."""

    name: str
    source: Source
    summary: Summary
    sample: Chunk
    complete: bool
    rows: int


def read_set(
    source: Source,
    name: str,
    *,
    exact: bool,
    seed: int = 0,
    progress: Progress | None = None,
) -> ReadSet:
    """Summarise a source in one pass and keep a sample of its rows."""
    from cospan.summary import SummaryOptions, of_chunks

    size = rows_within(SAMPLE_BYTES, source.n_features, SAMPLE_ROWS)
    if source.lazy is not None:
        return _read_where_it_is(source, name, exact=exact, size=size, seed=seed)
    sample: Reservoir[Chunk] = Reservoir(size, seed)

    def rows() -> Iterator[NDArray[Any]]:
        for chunk in watched(source, f"reading {name}", progress):
            sample.add(chunk)
            yield chunk.rows
        if sample.seen < 2:
            found = "one row" if sample.seen else "no rows"
            raise InputError(f"{name} has {found}; a set needs at least 2, better 30.")

    # numbered rows: the sample is the same wherever the rows are read
    options = SummaryOptions(exact=exact, seed=seed, name=name, first_row=0)
    summary = of_chunks(rows(), options)
    summary = replace(summary, feature_names=source.feature_names)
    return ReadSet(name, source, summary, sample.result(), sample.complete, sample.seen)


def _read_where_it_is(source: Source, name: str, *, exact: bool, size: int, seed: int) -> ReadSet:
    """The same for a Dask collection: its workers summarise and draw, and only that comes here."""
    from cospan.summary import SummaryOptions, of_rows

    options = SummaryOptions(exact=exact, seed=seed, name=name, first_row=0)
    summary = of_rows(source.lazy, None, options._replace(sample_size=size))
    if summary.count < 2:
        raise InputError(f"{name} has one row; a set needs at least 2, better 30.")
    order = np.argsort(summary.sample.index)
    sample = Chunk(summary.sample.rows[order], summary.sample.index[order])
    complete = len(order) == summary.count
    summary = replace(summary, sample=summary.sample.smaller(options.sample_size))
    return ReadSet(name, source, summary, sample, complete, summary.count)


def watched(source: Source, stage: str, progress: Progress | None) -> Iterator[Chunk]:
    """The chunks of a source, with a word to `progress` after each."""
    done = 0
    for chunk in _ahead(source.chunks()):
        yield chunk
        done += len(chunk.rows)
        if progress is not None:
            progress(stage, done, source.n_rows)
    if progress is not None:
        progress(stage, done, done)  # now the number is known, also of a stream


def _ahead(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """The same chunks, each read in a second thread while the one before is at work."""

    def following(chunks: Iterator[Chunk]) -> Chunk | None:
        return next(chunks, None)

    context = copy_context()  # so that warnings reach whoever listens in this thread
    with ThreadPoolExecutor(1, thread_name_prefix="cospan-reading") as reader:
        coming = reader.submit(context.run, following, chunks)
        while (chunk := coming.result()) is not None:
            coming = reader.submit(context.run, following, chunks)
            yield chunk
