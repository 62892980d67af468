"""A dataset as a small summary that merges: count, mean, and the factor of its scatter.

Everything after this module works from summaries, so it costs d³ whatever the number of rows
was, and memory, streams, Dask and GPUs differ only in how they make and merge them.

Two ways to hold the scatter matrix Σ wᵢ (xᵢ - mean)(xᵢ - mean)ᵀ:

- exact: a factor F with FᵀF equal to it, by QR. Merging is a QR of both factors and one row for
  the difference of the means.
- fast: the matrix itself, summed in float64 about a provisional mean. Several times faster, and
  half the digits lost: harmless under shrinkage (`_tolerance.FAST_SHRINKAGE`), refused without.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._validate import as_rows, as_weights, feature_names_of
from cospan.errors import InputError

__all__ = ["RowSample", "Summary"]

# Rows that are factored at once: enough that merging the triangular factors costs little (d/4
# against the block), few enough that a block of float64 stays small.
_BLOCK_ROWS = 8192
# A sample of 2,000 rows of 100,000 features would outweigh everything else; this caps it.
_SAMPLE_BYTES = 2**28


@dataclass(frozen=True, eq=False)
class RowSample:
    """A uniform random sample of rows, without replacement, that merges fairly.

    Every row draws a random priority; the `size` smallest stay. The union of two such samples,
    cut to the smallest again, is a uniform sample of all rows.

    Attributes
    ----------
    rows : ndarray, (k, d)
        In float64, on the host.
    weights : ndarray, (k,)
    index : ndarray, (k,)
        Each row's number in the order of arrival.
    size : int
        How many rows it may hold.
    """

    rows: np.ndarray
    weights: np.ndarray
    index: np.ndarray
    priority: np.ndarray = field(repr=False)
    size: int

    @classmethod
    def empty(cls, d: int, size: int) -> RowSample:
        size = min(size, _SAMPLE_BYTES // (8 * max(d, 1)))
        none = np.zeros(0)
        return cls(np.zeros((0, d)), none, np.zeros(0, dtype=np.int64), none, size)

    def __len__(self) -> int:
        return len(self.rows)

    def with_rows(
        self, rows: Array, weights: np.ndarray, priority: np.ndarray, first: int
    ) -> RowSample:
        """The sample after these rows passed by; the first of them is row number `first`."""
        if self.size == 0:
            return self
        full = len(self) == self.size
        enter = priority < self.priority[-1] if full else np.ones(len(priority), dtype=bool)
        chosen = np.flatnonzero(enter)
        if len(chosen) > self.size:
            chosen = np.sort(chosen[np.argsort(priority[chosen], kind="stable")[: self.size]])
        if not len(chosen):
            return self
        picked = arrays.to_numpy(rows[chosen if arrays.is_numpy(rows) else chosen.tolist()])
        entering = RowSample(
            picked.astype(np.float64),
            weights[chosen],
            first + chosen,
            priority[chosen],
            self.size,
        )
        return self.merged(entering)

    def merged(self, other: RowSample, *, offset: int = 0) -> RowSample:
        """A sample of both; rows of `other` are numbered on from `offset`."""
        size = max(self.size, other.size)
        priority = np.concatenate((self.priority, other.priority))
        order = np.argsort(priority, kind="stable")[:size]
        return RowSample(
            np.concatenate((self.rows, other.rows))[order],
            np.concatenate((self.weights, other.weights))[order],
            np.concatenate((self.index, other.index + offset))[order],
            priority[order],
            size,
        )


@dataclass(frozen=True, eq=False)
class Summary:
    """What a set of rows looks like as a whole: enough to fit any frame without seeing it again.

    Make one with :meth:`of` or :meth:`of_chunks`; merge with ``+``.

    Attributes
    ----------
    n : float
        Sum of the weights; without weights the number of rows.
    count : int
        The number of rows.
    mean : array, (d,)
    trace : float
        Sum of the squared distances to the mean: the trace of the scatter matrix.
    exact : bool
        Whether the scatter is held as a factor (QR) or as a matrix (Gram).
    eps : float
        Of the rows' own dtype. Everything is held in float64, but rank decisions about float32
        rows must not trust more digits than they had.
    sample : RowSample
        A uniform random sample of the rows, for choosing the shrinkage and for histograms.
    feature_names : tuple of str or None

    Examples
    --------
    >>> import numpy as np
    >>> from cospan import Summary
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]])
    >>> whole = Summary.of(X)
    >>> whole.n, whole.mean
    (3.0, array([3., 5.]))
    >>> parts = Summary.of(X[:1]) + Summary.of(X[1:])
    >>> bool(np.allclose(parts.R.T @ parts.R, whole.R.T @ whole.R))
    True
    """

    n: float
    count: int
    mean: Array
    trace: float
    exact: bool
    eps: float
    sample: RowSample
    feature_names: tuple[str, ...] | None
    _scatter: Array = field(repr=False)  # exact: a factor, (rows, d); fast: the matrix, (d, d)

    # ---- making -------------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        X: Any,
        sample_weight: Any = None,
        exact: bool = True,
        *,
        sample_size: int = 2000,
        seed: int = 0,
        name: str = "X",
    ) -> Summary:
        """Summary of rows in memory.

        Parameters
        ----------
        X : array-like or dataframe, (n, d)
        sample_weight : array-like, (n,), optional
            A weight of 2 counts like a row that occurs twice.
        exact : bool
            QR (True) or a Gram matrix in float64 (False: faster; only for frames with shrinkage).
        sample_size : int
            How many rows to keep as a uniform random sample.
        seed : int
            For that sample.
        name : str
            What to call X in messages.
        """
        rows = as_rows(X, name)
        weights = None
        if sample_weight is not None:
            weights = as_weights(sample_weight, rows.shape[0])
            rows, weights = rows[arrays.like(weights, rows) > 0, :], weights[weights > 0]
        builder = SummaryBuilder(exact, sample_size, seed, feature_names_of(X))
        builder.add(rows, weights)
        return builder.finish()

    @classmethod
    def of_chunks(
        cls,
        chunks: Iterable[Any],
        exact: bool = True,
        *,
        sample_size: int = 2000,
        seed: int = 0,
        name: str = "X",
    ) -> Summary:
        """Summary of rows that come in chunks, in constant memory.

        Any chunking of the same rows gives the same summary up to rounding, and the same sample.

        Parameters
        ----------
        chunks : iterable of array-like, each (any, d)
        exact, sample_size, seed, name
            As in :meth:`of`.
        """
        builder = SummaryBuilder(exact, sample_size, seed)
        seen, d = 0, None
        for chunk in chunks:
            rows = as_rows(chunk, name, d=d, allow_empty=True, first_row=seen)
            builder.feature_names = builder.feature_names or feature_names_of(chunk)
            builder.add(rows, None)
            seen, d = seen + rows.shape[0], rows.shape[1]
        if not seen:
            raise InputError(f"{name} yielded no rows; at least one sample is needed.")
        return builder.finish()

    # ---- using --------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        return int(self.mean.shape[0])

    @property
    def R(self) -> Array:
        """Triangular factor of the centred rows: RᵀR is the scatter matrix."""
        return arrays.triangular_factor(self._factor())

    def about(self, center: Any = None, weight: float = 1.0) -> Array:
        """Triangular factor of the rows about `center`, each times the square root of `weight`.

        ``R.T @ R`` is ``weight * Σ wᵢ (xᵢ - center)(xᵢ - center)ᵀ``.

        Parameters
        ----------
        center : array-like (d,), optional
            Default: the mean.
        weight : float
        """
        return arrays.triangular_factor(self.factor_about(center, weight))

    def factor_about(self, center: Any = None, weight: float = 1.0) -> Array:
        """Like `about`, but any factor, not always a triangular one: nothing is factored."""
        xp = arrays.namespace(self.mean)
        factor = self._factor()
        if center is not None:
            offset = math.sqrt(self.n) * (self.mean - arrays.like(center, self.mean))
            if bool(xp.any(offset != 0)):
                factor = xp.concat((factor, offset[None, :]), axis=0)
        return factor if weight == 1.0 else math.sqrt(weight) * factor

    def scatter_about(self, center: Any = None, weight: float = 1.0) -> Array:
        """The matrix ``weight * Σ wᵢ (xᵢ - center)(xᵢ - center)ᵀ``."""
        scatter = arrays.gram(self._scatter) if self.exact else self._scatter
        if center is not None:
            offset = self.mean - arrays.like(center, self.mean)
            scatter = scatter + self.n * (offset[:, None] * offset[None, :])
        return weight * scatter

    def trace_about(self, center: Any, weight: float = 1.0) -> float:
        """Trace of `scatter_about`."""
        offset = self.mean - arrays.like(center, self.mean)
        return weight * (self.trace + self.n * float(offset @ offset))

    def __add__(self, other: Summary) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        if self.n_features != other.n_features:
            raise InputError(
                f"These summaries have {self.n_features} and {other.n_features} features; "
                "only summaries of the same features merge."
            )
        if self.exact != other.exact:
            raise InputError(
                "One summary is exact and the other fast; make both with the same `exact`."
            )
        names = self.feature_names or other.feature_names
        if other.feature_names not in (None, names):
            raise InputError("These summaries have unlike feature names; only like ones merge.")
        n = self.n + other.n
        step = other.mean - self.mean
        apart = math.sqrt(self.n * other.n / n) * step
        return Summary(
            n=n,
            count=self.count + other.count,
            mean=self.mean + (other.n / n) * step,
            trace=self.trace + other.trace + float(apart @ apart),
            exact=self.exact,
            eps=max(self.eps, other.eps),
            sample=self.sample.merged(other.sample, offset=self.count),
            feature_names=names,
            _scatter=_merged_scatter(self, other, apart),
        )

    def without_sample(self) -> Summary:
        """The same summary holding no rows of the data."""
        return replace(self, sample=RowSample.empty(self.n_features, 0))

    def _factor(self) -> Array:
        if self.exact:
            return self._scatter
        xp = arrays.namespace(self._scatter)
        values, vectors = arrays.eigh(self._scatter)
        return xp.sqrt(xp.clip(values, 0.0, math.inf))[:, None] * vectors.T

    def __repr__(self) -> str:
        way = "exact" if self.exact else "fast"
        return f"Summary({self.count:,} rows, {self.n_features} features, {way})"


def _merged_scatter(a: Summary, b: Summary, apart: Array) -> Array:
    xp = arrays.namespace(a.mean)
    if not a.exact:
        return a._scatter + b._scatter + apart[:, None] * apart[None, :]
    stacked = xp.concat((a._scatter, b._scatter, apart[None, :]), axis=0)
    return _compact(stacked)


def _compact(factor: Array) -> Array:
    """At most d rows with the same scatter. Few rows stay as they are: nothing to gain."""
    return arrays.triangular_factor(factor) if factor.shape[0] > factor.shape[1] else factor


# ---- the builder ------------------------------------------------------------------------------


class SummaryBuilder:
    """Takes rows as they come and ends as a Summary.

    Rows are gathered into blocks, so that the result does not depend on how they were chunked.
    Exact: each block becomes a summary, and summaries merge like the digits of a binary counter,
    so that the merge of many is a balanced tree. Fast: each block is added to one matrix.
    """

    def __init__(
        self,
        exact: bool,
        sample_size: int,
        seed: int,
        feature_names: tuple[str, ...] | None = None,
    ) -> None:
        if sample_size < 0:
            raise InputError(f"sample_size is {sample_size}; it must not be negative.")
        self.exact = exact
        self.feature_names = feature_names
        self._sample_size = sample_size
        self._seed = seed
        self._waiting: list[tuple[Array, np.ndarray | None]] = []
        self._tree: list[tuple[int, Summary]] = []
        self._gram: _GramSum | None = None
        self._sample: RowSample | None = None
        self._rng: np.random.Generator | None = None
        self._count = 0
        self._eps = 0.0

    def add(self, rows: Array, weights: np.ndarray | None) -> None:
        """Take rows that `as_rows` has checked."""
        if rows.shape[0] == 0:
            return
        self._eps = max(self._eps, arrays.eps(rows))
        self._take_sample(rows, weights)
        self._count += rows.shape[0]
        size = max(_BLOCK_ROWS, 4 * rows.shape[1])
        start = 0
        while start < rows.shape[0]:
            room = size - sum(part.shape[0] for part, _ in self._waiting)
            part = rows[start : start + room, :]
            weight = None if weights is None else weights[start : start + room]
            self._waiting.append((part, weight))
            start += part.shape[0]
            if part.shape[0] == room:
                self._flush()
        if self._waiting:
            # The caller may reuse the memory of a chunk for the next one.
            part, weight = self._waiting[-1]
            self._waiting[-1] = (arrays.copied(part), weight)

    def finish(self) -> Summary:
        self._flush()
        if self._gram is not None:
            summary = self._gram.summary()
        else:
            summary = self._tree.pop()[1]
            while self._tree:
                summary = self._tree.pop()[1] + summary
        sample = self._sample
        return replace(
            summary,
            count=self._count,
            eps=self._eps,
            sample=summary.sample if sample is None else sample,
            feature_names=self.feature_names,
        )

    def _take_sample(self, rows: Array, weights: np.ndarray | None) -> None:
        if self._sample is None or self._rng is None:
            # Summaries made apart must draw apart, or merging them would favour the rows whose
            # number happens to be lucky: the first row's bytes tell them apart.
            first = zlib.crc32(arrays.to_numpy(rows[0, :]).tobytes())
            self._rng = np.random.default_rng([self._seed, first])
            self._sample = RowSample.empty(rows.shape[1], self._sample_size)
        priority = self._rng.random(rows.shape[0])
        weight = np.ones(rows.shape[0]) if weights is None else weights
        self._sample = self._sample.with_rows(rows, weight, priority, self._count)

    def _flush(self) -> None:
        if not self._waiting:
            return
        block, weights = _joined(self._waiting)
        self._waiting = []
        if not self.exact:
            self._gram = self._gram or _GramSum(block, weights)
            self._gram.add(block, weights)
            return
        level, summary = 0, _block_summary(block, weights)
        while self._tree and self._tree[-1][0] == level:
            summary = self._tree.pop()[1] + summary
            level += 1
        self._tree.append((level, summary))


def _joined(parts: list[tuple[Array, np.ndarray | None]]) -> tuple[Array, Array | None]:
    """The waiting rows as one float64 block of their own, and their weights beside them."""
    xp = arrays.namespace(parts[0][0])
    pieces = [xp.astype(rows, xp.float64, copy=False) for rows, _ in parts]
    block = pieces[0] if len(pieces) == 1 else xp.concat(pieces, axis=0)
    if parts[0][1] is None:
        return block, None
    weights = np.concatenate([weight for _, weight in parts if weight is not None])
    return block, arrays.like(weights, block[:, 0])


def _weighted_mean(block: Array, weights: Array | None) -> tuple[float, Array]:
    xp = arrays.namespace(block)
    if weights is None:
        return float(block.shape[0]), xp.mean(block, axis=0)
    n = float(xp.sum(weights))
    return n, (weights @ block) / n if n else xp.mean(block, axis=0)


def _block_summary(block: Array, weights: Array | None) -> Summary:
    xp = arrays.namespace(block)
    n, mean = _weighted_mean(block, weights)
    centred = block - mean[None, :]
    if weights is not None:
        centred = xp.sqrt(weights)[:, None] * centred
    factor = _compact(centred)
    return Summary(
        n=n,
        count=block.shape[0],
        mean=mean,
        trace=float(xp.sum(factor * factor)),
        exact=True,
        eps=0.0,
        sample=RowSample.empty(block.shape[1], 0),
        feature_names=None,
        _scatter=factor,
    )


class _GramSum:
    """Σ w (x - m)(x - m)ᵀ and Σ w (x - m) about a provisional mean m, block by block."""

    def __init__(self, first: Array, weights: Array | None) -> None:
        _, self.origin = _weighted_mean(first, weights)
        d = first.shape[1]
        self.matrix = arrays.zeros((d, d), first)
        self.total = arrays.zeros((d,), first)
        self.n = 0.0

    def add(self, block: Array, weights: Array | None) -> None:
        xp = arrays.namespace(block)
        moved = block - self.origin[None, :]
        if weights is None:
            self.n += block.shape[0]
            self.total = self.total + xp.sum(moved, axis=0)
        else:
            self.n += float(xp.sum(weights))
            self.total = self.total + weights @ moved
            moved = xp.sqrt(weights)[:, None] * moved
        self.matrix = arrays.add_gram(self.matrix, moved)

    def summary(self) -> Summary:
        xp = arrays.namespace(self.matrix)
        shift = self.total / self.n
        scatter = arrays.mirrored(self.matrix) - self.n * (shift[:, None] * shift[None, :])
        return Summary(
            n=self.n,
            count=0,
            mean=self.origin + shift,
            trace=float(xp.sum(xp.linalg.diagonal(scatter))),
            exact=False,
            eps=0.0,
            sample=RowSample.empty(scatter.shape[0], 0),
            feature_names=None,
            _scatter=scatter,
        )
