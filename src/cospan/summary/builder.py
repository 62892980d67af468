"""Takes rows as they come, in memory, in chunks or from Dask; ends as a Summary, or as folds."""

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
    as_rows,
    as_seed,
    as_weights,
    check_names,
    check_same_library,
    feature_names_of,
)
from cospan.base.types import Array, Floats
from cospan.errors import InputError
from cospan.summary.folds import FoldedSummary, dealt_by_number
from cospan.summary.sample import Reservoir, RowSample, WeightedRows, rows_within
from cospan.summary.summary import Moments, Summary, check_range, compacted, merged, two_sum

# Rows that are factored at once: enough that merging the triangular factors costs little (d/4
# against the block), few enough that a block of float64 stays small.
BLOCK_ROWS = 8192
# Bytes of rows whose Gram matrix is added at once. Narrow rows in small blocks would keep the
# threads of BLAS waiting for each other; many sets side by side have to share the memory; an
# accelerator needs large products to be busy.
HOST_BLOCK_BYTES, SMALL_BLOCK_BYTES, DEVICE_BLOCK_BYTES = 2**23, 2**20, 2**30
# A sample of 2,000 rows of 100,000 features would outweigh everything else; this caps it.
SAMPLE_BYTES = 2**27
# Rows whose mean is the provisional one: any vector near the mean will do.
ORIGIN_ROWS = 4096
# Narrower rows are over too soon for threads to be worth their start.
THREADED_FEATURES = 128


class SummaryOptions(NamedTuple):
    """How to make a summary; see :meth:`cospan.Summary.of` for all but the last.

    With `numbered` the sample is a function of the seed and the rows' running numbers; without
    it, summaries made apart draw apart.
    """

    exact: bool = True
    sample_size: int = 2000
    seed: int = 0
    name: str = "X"
    numbered: bool = False


class SummaryBuilder:
    """Takes rows as they come and ends as a Summary, or as one for each of the folds.

    `small` blocks, for many builders side by side, have a megabyte, or twice as many rows as
    features.

    >>> builder = SummaryBuilder(SummaryOptions(exact=False), n_folds=5)
    >>> for start in range(0, 12, 3):
    ...     builder.take(np.arange(24.0).reshape(12, 2)[start : start + 3] ** 2)
    >>> builder.folded().whole, builder.folded().without(0)
    (Summary(12 rows, 2 features, fast), Summary(9 rows, 2 features, fast))
    """

    def __init__(
        self,
        options: SummaryOptions,
        *,
        n_folds: int = 1,
        feature_names: tuple[str, ...] | None = None,
        small: bool = False,
    ) -> None:
        as_count(options.sample_size, "sample_size", least=0)
        as_seed(options.seed, "seed")
        exact = as_flag(options.exact, "exact")
        self.options, self.feature_names = options, feature_names
        self.count = 0  # rows that came so far
        self._folds = [BlockSums(exact, small) for _ in range(n_folds)]
        self._first: Array | None = None
        self._sample: Reservoir[WeightedRows] | None = None
        self._chunks = 0
        self._eps = 0.0

    def take(self, chunk: object) -> None:
        """Take the next rows of a stream; the caller may reuse their memory."""
        name, d = self.options.name, None if self._first is None else int(self._first.shape[1])
        rows = as_rows(chunk, name, d=d, allow_empty=True, first_row=self.count)
        label = f"{name}, chunk {self._chunks}"
        check_names(chunk, self.feature_names, label, whose="the first chunk's")
        self.feature_names = self.feature_names or feature_names_of(chunk)
        self._chunks += 1
        self.add(rows, None, reused=True)

    def add(self, rows: Array, weights: Floats | None, *, reused: bool = False) -> None:
        """Take rows that `as_rows` has checked."""
        if self._first is None:
            self._first = rows[:0, :]
        elif type(rows) is not type(self._first):
            check_same_library(self._first, rows, "The first chunk", "a later one")
        n = int(rows.shape[0])
        if n == 0:
            return
        self._eps = max(self._eps, arrays.eps(rows))
        if self._sample is None:
            self._sample = _reservoir_of(rows, self.options)
        self._sample.add(WeightedRows(rows, weights))
        if len(self._folds) == 1:
            self._folds[0].add(rows, weights, reused=reused)
        else:
            dealt = dealt_by_number(self.count + np.arange(n), len(self._folds))
            for number, fold in enumerate(self._folds):
                fold.add(arrays.pick(rows, dealt == number), None, reused=False)
        self.count += n

    def finish(self) -> Summary:
        """The summary of all rows that were added; they are in no folds."""
        sample = self._drawn()
        return replace(self._summary_of(self._folds[0], sample), sample=sample)

    def folded(self) -> FoldedSummary:
        """The folds of all rows that were added, dealt by their running number."""
        sample = self._drawn()
        parts = tuple(self._summary_of(x, sample) if x.count else None for x in self._folds)
        return FoldedSummary(parts, sample, dealt_by_number(sample.index, len(self._folds)))

    def _drawn(self) -> RowSample:
        if self._sample is None or self._first is None:
            raise InputError("There are no rows to summarise; at least one sample is needed.")
        return RowSample.drawn(self._sample, int(self._first.shape[1]))

    def _summary_of(self, rows: BlockSums, sample: RowSample) -> Summary:
        moments = rows.finish()
        check_range(moments, self.options.name, sample)
        few = moments.factored and rows.count < moments.mean.shape[0]
        return Summary(
            moments=moments,
            count=rows.count,
            exact=rows.exact,
            eps=self._eps,
            sample=RowSample.empty(moments.mean.shape[0]),
            feature_names=self.feature_names,
            _holds_rows=few and not rows.weighted and rows.blocks == 1,
        )


def _reservoir_of(rows: Array, options: SummaryOptions) -> Reservoir[WeightedRows]:
    """What samples rows of which these are the first."""
    size = rows_within(SAMPLE_BYTES, rows.shape[1], options.sample_size, fewest=0)
    if options.numbered:
        return Reservoir(size, options.seed)
    # Summaries made apart must draw apart, or merging them would favour the rows whose number
    # happens to be lucky: the first row's bytes tell them apart.
    first = zlib.crc32(arrays.to_numpy(rows[0, :]).tobytes())
    return Reservoir(size, np.random.default_rng([options.seed, first]))


def of_rows(X: object, sample_weight: object, options: SummaryOptions) -> Summary:
    """Summary of rows in memory, or of a Dask collection, made by its workers."""
    builder = SummaryBuilder(options)
    if arrays.is_lazy(X):
        from cospan.distributed import summary_of  # is above: its workers make summaries

        return summary_of(X, options, sample_weight)
    rows = as_rows(X, options.name)
    builder.feature_names = feature_names_of(X)
    if sample_weight is None:
        builder.add(rows, None)
        return builder.finish()
    weights = as_weights(sample_weight, rows.shape[0])
    counting = np.flatnonzero(weights)
    builder.add(arrays.pick(rows, counting), weights[counting])
    summary = builder.finish()
    drawn = summary.sample  # its rows are called by their places among all
    drawn = replace(drawn, index=counting[drawn.index], passed=rows.shape[0])
    return replace(summary, sample=drawn)


def of_chunks(chunks: Iterable[object], options: SummaryOptions) -> Summary:
    """Summary of rows that come in chunks, in constant memory."""
    name = options.name
    if not isinstance(chunks, Iterable) or isinstance(chunks, (str, bytes)):
        raise InputError(
            f"{name} is of type {type(chunks).__name__}; of_chunks takes chunks of rows: a list, a "
            "generator or another iterable of arrays."
        )
    if feature_names_of(chunks) is not None or getattr(chunks, "ndim", None) == 2:
        raise InputError(f"{name} is one table of rows, not chunks; pass it to Summary.of.")
    builder = SummaryBuilder(options)
    for chunk in chunks:
        builder.take(chunk)
    if not builder.count:
        raise InputError(f"{name} yielded no rows; at least one sample is needed.")
    return builder.finish()


# ---- blocks of rows, summed ----------------------------------------------------------------------


class BlockSums:
    """Rows gathered into blocks, however they were chunked, and the moments of all blocks so far.

    Gram matrices begin with as many rows as features: until then the rows themselves are smaller.
    """

    def __init__(self, exact: bool, small: bool) -> None:
        self.exact, self.weighted = exact, False
        self.count = self.blocks = 0
        self._small = small
        self._waiting: list[tuple[Array, Floats | None]] = []
        self._waiting_rows = 0
        self._sum: MomentTree | MomentSum | None = None

    def add(self, rows: Array, weights: Floats | None, *, reused: bool) -> None:
        """Take rows; those that wait for their block are copied where their memory is `reused`."""
        n, start = int(rows.shape[0]), 0
        self.weighted = self.weighted or weights is not None
        self.count += n
        size = self._block_rows(rows)
        while start < n:
            stop = min(start + size - self._waiting_rows, n)
            weight = None if weights is None else weights[start:stop]
            self._waiting.append((rows[start:stop, :], weight))
            self._waiting_rows += stop - start
            start = stop
            if self._waiting_rows == size:
                self._flush()
        if reused and self._waiting:
            part, weight = self._waiting[-1]
            self._waiting[-1] = (arrays.namespace(part).asarray(part, copy=True), weight)

    def finish(self) -> Moments:
        """The moments of all rows."""
        self._flush()
        assert self._sum is not None  # rows came
        with np.errstate(over="ignore", invalid="ignore"):  # `check_range` reports it
            return self._sum.finish()

    def _block_rows(self, rows: Array) -> int:
        d = int(rows.shape[1])
        if arrays.on_accelerator(rows):
            return max(DEVICE_BLOCK_BYTES // (8 * d), 2 * d)
        if self._small:
            return max(SMALL_BLOCK_BYTES // (8 * d), 2 * d)
        if not self.exact:
            return max(2 * BLOCK_ROWS, HOST_BLOCK_BYTES // (8 * d), 2 * d)
        return max(BLOCK_ROWS, 2 * d)

    def _flush(self) -> None:
        if not self._waiting:
            return
        parts = [rows for rows, _ in self._waiting]
        weights = None
        if self.weighted:
            weights = np.concatenate([w for _, w in self._waiting if w is not None])
        self._waiting, self._waiting_rows = [], 0
        self.blocks += 1
        with np.errstate(over="ignore", invalid="ignore"):  # `check_range` reports it
            if self._sum is None:
                # Blocks have more rows than features, so fewer are all that there are.
                factors = self.exact or self.count < parts[0].shape[1]
                if factors:
                    self._sum = MomentTree()
                else:  # about a mean of the first rows
                    first = arrays.stacked([parts[0][: min(ORIGIN_ROWS, parts[0].shape[0]), :]])
                    self._sum = MomentSum(arrays.namespace(first).mean(first, axis=0))
            self._sum.add(parts, weights)


class MomentTree:
    """Blocks of rows as factors, merged like the digits of a binary counter: a balanced tree."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, Moments]] = []

    def add(self, parts: list[Array], weights: Floats | None) -> None:
        level, moments = 0, self._leaf(parts, weights)
        while self._nodes and self._nodes[-1][0] == level:
            moments = merged(self._nodes.pop()[1], moments, factors=True)
            level += 1
        self._nodes.append((level, moments))

    def finish(self) -> Moments:
        moments = self._nodes.pop()[1]
        while self._nodes:
            moments = merged(self._nodes.pop()[1], moments, factors=True)
        return moments

    def _leaf(self, parts: list[Array], weights: Floats | None) -> Moments:
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
        factor = compacted(block)
        return Moments(n, mean, low, float(xp.sum(factor * factor)), factor, True)


class MomentSum:
    """Σ w (x - m)(x - m)ᵀ and Σ w (x - m) about a provisional mean m, block by block."""

    def __init__(self, origin: Array) -> None:
        d = int(origin.shape[0])
        self.origin, self.n = origin, 0.0
        self.matrix = arrays.zeros((d, d), origin)
        self.total = arrays.zeros((d,), origin)
        self.threads = arrays.host_threads(origin) if d >= THREADED_FEATURES else 1

    def add(self, parts: list[Array], weights: Floats | None) -> None:
        if weights is None and self.threads > 1:
            # Each thread sums its own pieces: there is one matrix a thread, not one a piece.
            pieces = [piece for part in parts for piece in np.array_split(part, self.threads)]
            pieces = [piece for piece in pieces if len(piece)]
            groups = [pieces[i :: self.threads] for i in range(min(self.threads, len(pieces)))]
            sums = arrays.in_threads(self._summed, groups, self.threads)
        else:
            with arrays.threads_for(self.total.shape[0], THREADED_FEATURES):
                sums = [self._summed(parts, weights)]
        for n, total, matrix in sums:
            self.n += n
            self.total = self.total + total
            self.matrix = self.matrix + matrix

    def _summed(
        self, parts: list[Array], weights: Floats | None = None
    ) -> tuple[float, Array, Array]:
        xp, n, done = arrays.namespace(self.origin), 0.0, 0
        total, matrix = xp.zeros_like(self.total), xp.zeros_like(self.matrix)
        for moved in arrays.shifted_blocks(parts, self.origin):
            rows = moved.shape[0]
            if weights is None:
                n += rows
                total += xp.sum(moved, axis=0)
            else:
                weight = arrays.like(weights[done : done + rows], moved)
                n += float(xp.sum(weight))
                total += weight @ moved
                moved *= xp.sqrt(weight)[:, None]
            done += rows
            # NumPy's product: it lets other threads run, SciPy's does not.
            matrix += moved.T @ moved
        return n, total, matrix

    def finish(self) -> Moments:
        xp = arrays.namespace(self.matrix)
        shift = self.total / self.n
        scatter = self.matrix - self.n * (shift[:, None] * shift[None, :])
        trace = float(xp.sum(xp.linalg.diagonal(scatter)))
        mean, low = two_sum(self.origin, shift)
        return Moments(self.n, mean, low, trace, scatter, False)
