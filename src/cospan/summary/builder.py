"""Takes rows as they come, in memory, in chunks or from Dask, and ends as a Summary."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cospan.base import arrays
from cospan.base.checks import (
    as_count,
    as_flag,
    as_rows_with_eps,
    as_seed,
    as_weights,
    check_names,
    check_same_library,
    feature_names_of,
)
from cospan.base.types import Array
from cospan.errors import InputError
from cospan.summary.sample import Reservoir, RowSample, WeightedRows, rows_within
from cospan.summary.summary import (
    Moments,
    Summary,
    check_range,
    compacted,
    merged,
    squares_vanish,
    two_sum,
)

# Rows that are factored at once: enough that merging the triangular factors costs little (d/4
# against the block), few enough that a block of float64 stays small.
BLOCK_ROWS = 8192
# Rows whose Gram matrix is added at once: narrow rows in small blocks would keep the threads of
# BLAS waiting for each other.
HOST_BLOCK_BYTES = 2**23
# The same where many sets are summarised side by side.
SMALL_BLOCK_BYTES = 2**20
# The same for an accelerator, which needs large products to be busy.
DEVICE_BLOCK_BYTES = 2**30

# A sample of 2,000 rows of 100,000 features would outweigh everything else; this caps it.
SAMPLE_BYTES = 2**27


# Rows whose mean is the provisional one: any vector near the mean will do.
ORIGIN_ROWS = 4096
# Narrower rows are over too soon for threads to be worth their start.
THREADED_FEATURES = 128
# Rows at once of a summary of a rank: few are enough, and at least so many times the rank, so that
# what is dropped is dropped seldom.
FEWEST_ROWS_OF_RANK, ROWS_PER_RANK = 256, 4


class SummaryOptions(NamedTuple):
    """How to make a summary; see :meth:`cospan.Summary.of` for all but the last.

    With `first_row`, the number of the first row among all that are to be merged, the sample is a
    function of the seed and the rows' numbers, however they are cut: at once, in chunks, or by
    workers. Without it, summaries made apart draw apart.
    """

    exact: bool = True
    rank: int | None = None
    sample_size: int = 2000
    seed: int = 0
    name: str = "X"
    first_row: int | None = None


class SummaryBuilder:
    """Takes rows as they come and ends as a Summary.

    Rows are gathered into blocks, so that the result does not depend on how they were chunked.
    Factors of blocks merge in a balanced tree; Gram matrices are added up, but not before there are
    as many rows as features: until then the rows themselves are smaller. `small` blocks, for many
    builders side by side, have a megabyte, or twice as many rows as features.

    >>> builder = SummaryBuilder(SummaryOptions(exact=False))
    >>> for start in range(0, 12, 3):
    ...     builder.take(np.arange(24.0).reshape(12, 2)[start : start + 3])
    >>> builder.finish()
    Summary(12 rows, 2 features, fast)
    """

    def __init__(self, options: SummaryOptions, *, small: bool = False) -> None:
        rank = options.rank
        self.rank = None if rank is None else as_count(rank, "rank")
        self.exact = as_flag(options.exact, "exact") and rank is None
        self.feature_names: tuple[str, ...] | None = None
        self._name = options.name
        self._sample_size = as_count(options.sample_size, "sample_size", least=0)
        self._seed = as_seed(options.seed, "seed")
        self._first_row = options.first_row
        self._small = small
        self._waiting: list[tuple[Array, np.ndarray | None]] = []
        self._waiting_rows = 0
        self._first: Array | None = None
        self._sum: MomentTree | MomentSum | None = None
        self._sample: Reservoir[WeightedRows] | None = None
        self._count = 0
        self._chunks = 0
        self._blocks = 0
        self._weighted = False
        self._eps = 0.0

    @property
    def count(self) -> int:
        """How many rows came so far."""
        return self._count

    def take(self, chunk: object) -> None:
        """Take the next rows of a stream; the caller may reuse their memory."""
        d = None if self._first is None else int(self._first.shape[1])
        rows, eps = as_rows_with_eps(
            chunk, self._name, d=d, allow_empty=True, first_row=self._count
        )
        label = f"{self._name}, chunk {self._chunks}"
        check_names(chunk, self.feature_names, label, whose="the first chunk's")
        self.feature_names = self.feature_names or feature_names_of(chunk)
        self._chunks += 1
        self.add(rows, None, eps)
        if self._waiting:
            part, weight = self._waiting[-1]
            self._waiting[-1] = (arrays.copied(part), weight)

    def add(self, rows: Array, weights: np.ndarray | None, eps: float) -> None:
        """Take rows that `as_rows` has checked, and the eps that they came with."""
        if self._first is None:
            self._first = rows[:0, :]
        elif type(rows) is not type(self._first):
            check_same_library(self._first, rows, "The first chunk", "a later one")
        if rows.shape[0] == 0:
            return
        self._eps = max(self._eps, eps)
        self._weighted = self._weighted or weights is not None
        if self._sample is None:
            most = rows_within(SAMPLE_BYTES, rows.shape[1], self._sample_size, fewest=0)
            self._sample = Reservoir(most, self._draws(rows))
        self._sample.add(WeightedRows(rows, weights))
        self._count += rows.shape[0]
        size = self._block_rows(rows)
        start = 0
        while start < rows.shape[0]:
            room = size - self._waiting_rows
            stop = min(start + room, rows.shape[0])
            part = rows[start:stop, :]
            weight = None if weights is None else weights[start:stop]
            self._waiting.append((part, weight))
            self._waiting_rows += part.shape[0]
            start += part.shape[0]
            if part.shape[0] == room:
                self._flush()

    def finish(self) -> Summary:
        """The summary of all rows that were added."""
        self._flush()
        if self._sum is None or self._sample is None:
            raise InputError("There are no rows to summarise; at least one sample is needed.")
        with np.errstate(over="ignore", invalid="ignore"):
            moments = self._sum.finish()
        sample = RowSample.drawn(self._sample, moments.mean.shape[0])
        check_range(moments, self._name, sample)
        whole = self.rank is None and moments.factored and self._count < moments.mean.shape[0]
        return Summary.of_moments(
            moments,
            count=self._count,
            exact=self.exact,
            eps=self._eps,
            sample=sample,
            feature_names=self.feature_names,
            rank=self.rank,
            _holds_rows=whole and not self._weighted and self._blocks == 1,
        )

    def _block_rows(self, rows: Array) -> int:
        d = int(rows.shape[1])
        if self.rank is not None:
            return max(FEWEST_ROWS_OF_RANK, ROWS_PER_RANK * self.rank)
        if arrays.on_accelerator(rows):
            return max(DEVICE_BLOCK_BYTES // (8 * d), 2 * d)
        if self._small:
            return max(SMALL_BLOCK_BYTES // (8 * d), 2 * d)
        if not self.exact:
            return max(2 * BLOCK_ROWS, HOST_BLOCK_BYTES // (8 * d), 2 * d)
        return max(BLOCK_ROWS, 2 * d)

    def _draws(self, rows: Array) -> np.random.Generator:
        if self._first_row is not None:
            stream = np.random.PCG64(self._seed)  # one step for each number drawn
            return np.random.Generator(stream.advance(self._first_row))
        # Summaries made apart must draw apart, or merging them would favour the rows whose number
        # happens to be lucky: the first row's bytes tell them apart.
        first = zlib.crc32(arrays.to_numpy(rows[0, :]).tobytes())
        return np.random.default_rng([self._seed, first])

    def _flush(self) -> None:
        if not self._waiting:
            return
        parts = [rows for rows, _ in self._waiting]
        weights = None
        if self._weighted:
            weights = np.concatenate([w for _, w in self._waiting if w is not None])
        self._waiting, self._waiting_rows = [], 0
        self._blocks += 1
        with np.errstate(over="ignore", invalid="ignore"):  # `finish` reports it
            if self._sum is None:
                # Blocks have more rows than features, so fewer are all that there are.
                few = self._count < parts[0].shape[1]
                factors = few or self.exact or self.rank is not None
                factors = factors or too_small_for_squares(parts)
                self._sum = MomentTree(self.rank) if factors else MomentSum(parts)
            self._sum.add(parts, weights)


def of_rows(X: object, sample_weight: object, options: SummaryOptions) -> Summary:
    """Summary of rows in memory, or of a Dask collection, made by its workers."""
    builder = SummaryBuilder(options)
    if arrays.is_lazy(X):
        from cospan.distributed import summary_of  # is above: its workers make summaries

        return summary_of(X, sample_weight, options)
    rows, eps = as_rows_with_eps(X, options.name)
    builder.feature_names = feature_names_of(X)
    if sample_weight is None:
        builder.add(rows, None, eps)
        return builder.finish()
    weights = as_weights(sample_weight, rows.shape[0])
    if weights.all():
        builder.add(rows, weights, eps)
        return builder.finish()
    counting = np.flatnonzero(weights)
    builder.add(arrays.pick(rows, counting), weights[counting], eps)
    summary = builder.finish()
    drawn = summary.sample  # its rows are called by their places among all
    drawn = replace(drawn, index=counting[drawn.index], passed=rows.shape[0])
    return replace(summary, sample=drawn)


def of_chunks(chunks: Iterable[object], options: SummaryOptions) -> Summary:
    """Summary of rows that come in chunks, in constant memory."""
    builder = SummaryBuilder(options)
    _check_chunks(chunks, options.name)
    for chunk in chunks:
        builder.take(chunk)
    if not builder.count:
        raise InputError(f"{options.name} yielded no rows; at least one sample is needed.")
    return builder.finish()


def _check_chunks(chunks: object, name: str) -> None:
    if not isinstance(chunks, Iterable) or isinstance(chunks, (str, bytes)):
        raise InputError(
            f"{name} is of type {type(chunks).__name__}; of_chunks takes chunks of rows: a list, a "
            "generator or another iterable of arrays."
        )
    if feature_names_of(chunks) is not None or getattr(chunks, "ndim", None) == 2:
        raise InputError(f"{name} is one table of rows, not chunks; pass it to Summary.of.")


# ---- blocks of rows, summed ----------------------------------------------------------------------


class MomentTree:
    """Blocks of rows as factors, merged like the digits of a binary counter: a balanced tree."""

    def __init__(self, rank: int | None) -> None:
        self.rank = rank
        self._nodes: list[tuple[int, Moments]] = []

    def add(self, parts: list[Array], weights: np.ndarray | None) -> None:
        level, moments = 0, self._leaf(parts, weights)
        while self._nodes and self._nodes[-1][0] == level:
            moments = self._merged(self._nodes.pop()[1], moments)
            level += 1
        self._nodes.append((level, moments))

    def finish(self) -> Moments:
        moments = self._nodes.pop()[1]
        while self._nodes:
            moments = self._merged(self._nodes.pop()[1], moments)
        return moments

    def _merged(self, a: Moments, b: Moments) -> Moments:
        return merged(a, b, factors=True, rank=self.rank)

    def _leaf(self, parts: list[Array], weights: np.ndarray | None) -> Moments:
        rows, d = sum(part.shape[0] for part in parts), parts[0].shape[1]
        block = arrays.stacked(parts, columns_first=rows >= d)
        xp = arrays.namespace(block)
        if weights is None:
            n, mean = float(rows), xp.mean(block, axis=0)
            block -= mean[None, :]
            low = xp.mean(block, axis=0)
        else:
            weight = arrays.like(weights, block)
            n = float(weights.sum())
            mean = (weight @ block) / n
            block -= mean[None, :]
            low = (weight @ block) / n
            block *= xp.sqrt(weight)[:, None]
        trace = None if self.rank is None else arrays.sum_of_squares(block)
        factor = compacted(block, self.rank)
        if trace is None:
            trace = arrays.sum_of_squares(factor)
        return Moments(n, mean, low, trace, factor, True)


def first_rows(parts: list[Array]) -> tuple[Array, Array]:
    """Some rows, and their mean."""
    first = arrays.stacked([parts[0][: min(ORIGIN_ROWS, parts[0].shape[0]), :]])
    return first, arrays.namespace(first).mean(first, axis=0)


def too_small_for_squares(parts: list[Array]) -> bool:
    """Do the first rows have a column whose deviations are too small to be squared?"""
    first, origin = first_rows(parts)
    return squares_vanish(first - origin[None, :])


class MomentSum:
    """Σ w (x - m)(x - m)ᵀ and Σ w (x - m) about a provisional mean m, block by block."""

    def __init__(self, parts: list[Array]) -> None:
        first, self.origin = first_rows(parts)
        d = first.shape[1]
        self.matrix = arrays.zeros((d, d), first)
        self.total = arrays.zeros((d,), first)
        self.n = 0.0
        self.threads = arrays.host_threads(first) if d >= THREADED_FEATURES else 1

    def add(self, parts: list[Array], weights: np.ndarray | None) -> None:
        if weights is None and self.threads > 1:
            self._add_in_threads(parts)
            return
        done = 0
        for moved in arrays.shifted_blocks(parts, self.origin):
            xp = arrays.namespace(moved)
            if weights is None:
                self.n += moved.shape[0]
                self.total = self.total + xp.sum(moved, axis=0)
            else:
                here = weights[done : done + moved.shape[0]]
                weight = arrays.like(here, moved)
                self.n += float(here.sum())
                self.total = self.total + weight @ moved
                moved *= xp.sqrt(weight)[:, None]
            done += moved.shape[0]
            self.matrix = arrays.add_gram(self.matrix, moved)

    def _add_in_threads(self, parts: list[Array]) -> None:
        """Each thread sums its own pieces: there is one matrix a thread, not one a piece."""
        pieces = [piece for part in parts for piece in np.array_split(part, self.threads)]
        pieces = [piece for piece in pieces if len(piece)]
        groups = [pieces[i :: self.threads] for i in range(self.threads)]
        for total, matrix in arrays.in_threads(
            self._summed, [g for g in groups if g], self.threads
        ):
            self.total = self.total + total
            self.matrix += matrix
        self.n += sum(len(piece) for piece in pieces)

    def _summed(self, pieces: list[Array]) -> tuple[Array, Array]:
        total, matrix = arrays.shifted_gram(pieces[0], self.origin)
        for piece in pieces[1:]:
            more, gram = arrays.shifted_gram(piece, self.origin)
            total += more
            matrix += gram
        return total, matrix

    def finish(self) -> Moments:
        xp = arrays.namespace(self.matrix)
        shift = self.total / self.n
        scatter = arrays.mirrored(self.matrix) - self.n * (shift[:, None] * shift[None, :])
        trace = float(xp.sum(xp.linalg.diagonal(scatter)))
        mean, low = two_sum(self.origin, shift)
        return Moments(self.n, mean, low, trace, scatter, False)
