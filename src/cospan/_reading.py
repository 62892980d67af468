"""One pass over a set: its summary, and a uniform sample of its rows with their identifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan._sampling import Reservoir, rows_within
from cospan.errors import InputError
from cospan.sources import Chunk, Source

if TYPE_CHECKING:
    from cospan.summary import Summary

__all__ = ["Progress", "ReadSet", "pooled_deviation", "read_set", "watched"]

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
    from cospan.summary import Summary

    size = rows_within(SAMPLE_BYTES, source.n_features, SAMPLE_ROWS)
    sample: Reservoir[Chunk] = Reservoir(size, seed)

    def rows() -> Iterator[NDArray[Any]]:
        for chunk in watched(source, f"reading {name}", progress):
            sample.add(chunk)
            yield chunk.rows
        if sample.seen < 2:
            found = "one row" if sample.seen else "no rows"
            raise InputError(f"{name} has {found}; a set needs at least 2, better 30.")

    summary = Summary.of_chunks(rows(), exact=exact, seed=seed)
    return ReadSet(name, source, summary, sample.result(), sample.complete, sample.seen)


def watched(source: Source, stage: str, progress: Progress | None) -> Iterator[Chunk]:
    """The chunks of a source, with a word to `progress` after each."""
    done = 0
    for chunk in source.chunks():
        yield chunk
        done += len(chunk.rows)
        if progress is not None:
            progress(stage, done, source.n_rows)


def pooled_deviation(a: Summary, b: Summary) -> NDArray[np.float64]:
    """Standard deviation of each feature over the rows of both sets; 1 where it is constant."""
    n = a.n + b.n
    between = a.n * b.n / n * np.square(np.asarray(a.mean) - np.asarray(b.mean))
    within = [np.square(np.asarray(s.R)).sum(axis=0) for s in (a, b)]
    deviation = np.sqrt((within[0] + within[1] + between) / n)
    largest = np.maximum(np.abs(np.asarray(a.mean)), np.abs(np.asarray(b.mean)))
    # rounding leaves a constant feature with a deviation of a few eps of its value
    constant = deviation <= 64 * np.finfo(float).eps * largest
    return np.where(constant | (deviation == 0), 1.0, deviation)
