"""A dataset as a small summary that merges: count, mean, and the factor of its scatter.

Everything after this module works from summaries, so it costs d³ whatever the number of rows
was, and memory, streams, Dask and GPUs differ only in how they make and merge them.

Three ways to hold the scatter matrix Σ wᵢ (xᵢ - mean)(xᵢ - mean)ᵀ:

- exact: a factor F with FᵀF equal to it, by QR. Merging is a QR of both factors and one row for
  the difference of the means.
- fast: the matrix itself, summed in float64 about a provisional mean. Several times faster, and
  half the digits lost: harmless under shrinkage (`_tolerance.FAST_SHRINKAGE`), refused without.
- of a rank: the strongest directions of such a factor, for data too wide for either. What is
  dropped stays in the trace, and shrinkage stands in for it; refused without.
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
from cospan._validate import (
    as_count,
    as_flag,
    as_rows_with_eps,
    as_seed,
    as_weights,
    check_names,
    check_same_library,
    feature_names_of,
)
from cospan.errors import InputError
from cospan.summary.moments import Moments, MomentSum, MomentTree, merged
from cospan.summary.row_sample import RowSample

__all__ = ["RowSample", "Summary"]

# Rows that are factored at once: enough that merging the triangular factors costs little (d/4
# against the block), few enough that a block of float64 stays small.
_BLOCK_ROWS = 8192
# Rows whose Gram matrix is added at once: narrow rows in small blocks would keep the threads of
# BLAS waiting for each other.
_HOST_BLOCK_BYTES = 2**23
# The same for an accelerator, which needs large products to be busy.
_DEVICE_BLOCK_BYTES = 2**30


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
        Whether the scatter is held as a factor with all its digits (QR); else as a matrix (Gram)
        or, with a `rank`, as a factor that leaves out the weakest directions.
    eps : float
        Of the rows' own dtype. Everything is held in float64, but rank decisions about float32
        rows must not trust more digits than they had.
    sample : RowSample
        A uniform random sample of the rows, for choosing the shrinkage and for histograms.
    feature_names : tuple of str or None
    rank : int or None
        How many directions are kept, where not all.

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
    _scatter: Array = field(repr=False)  # a factor, (rows, d), or the matrix, (d, d)
    rank: int | None = None
    # Whether the factor's rows are the rows themselves, less the mean: few, and of weight 1.
    _holds_rows: bool = field(repr=False, default=False)

    # ---- making -------------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        X: Any,
        sample_weight: Any = None,
        exact: bool = True,
        *,
        rank: int | None = None,
        sample_size: int = 2000,
        seed: int = 0,
        name: str = "X",
    ) -> Summary:
        """Summary of rows in memory, or of a Dask collection, made by its workers.

        Parameters
        ----------
        X : array-like, dataframe or Dask array or dataframe, (n, d)
        sample_weight : array-like, (n,), optional
            A weight of 2 counts like a row that occurs twice.
        exact : bool
            QR (True) or a Gram matrix in float64 (False: faster; only for frames with shrinkage).
        rank : int, optional
            Keep this many directions at most, in memory of rank times d instead of d times d. For
            wide data (d up to 100,000) and frames with shrinkage.
        sample_size : int
            How many rows to keep as a uniform random sample.
        seed : int
            For that sample.
        name : str
            What to call X in messages.
        """
        builder = _Builder(exact, rank=rank, sample_size=sample_size, seed=seed, name=name)
        if arrays.is_lazy(X):
            from cospan.distributed import summary_of  # stands above; only lazy rows need it

            return summary_of(
                X,
                sample_weight,
                exact=exact,
                rank=rank,
                sample_size=sample_size,
                seed=seed,
                name=name,
            )
        rows, eps = as_rows_with_eps(X, name)
        builder.feature_names = feature_names_of(X)
        if sample_weight is None:
            builder.add(rows, None, eps)
            return builder.finish()
        weights = as_weights(sample_weight, rows.shape[0])
        if weights.all():
            builder.add(rows, weights, eps)
            return builder.finish()
        counting = np.flatnonzero(weights)
        builder.add(arrays.rows_at(rows, counting), weights[counting], eps)
        summary = builder.finish()
        return replace(summary, sample=summary.sample.renumbered(counting, rows.shape[0]))

    @classmethod
    def of_chunks(
        cls,
        chunks: Iterable[Any],
        exact: bool = True,
        *,
        rank: int | None = None,
        sample_size: int = 2000,
        seed: int = 0,
        name: str = "X",
    ) -> Summary:
        """Summary of rows that come in chunks, in constant memory.

        Any chunking of the same rows gives the same summary up to rounding, and the same sample.

        Parameters
        ----------
        chunks : iterable of array-like, each (any, d)
        exact, rank, sample_size, seed, name
            As in :meth:`of`.
        """
        builder = _Builder(exact, rank=rank, sample_size=sample_size, seed=seed, name=name)
        _check_chunks(chunks, name)
        seen, d = 0, None
        for i, chunk in enumerate(chunks):
            rows, eps = as_rows_with_eps(chunk, name, d=d, allow_empty=True, first_row=seen)
            names = builder.feature_names
            check_names(chunk, names, f"{name}, chunk {i}", whose="the first chunk's")
            builder.feature_names = names or feature_names_of(chunk)
            builder.add(rows, None, eps)
            builder.let_go()
            seen, d = seen + rows.shape[0], rows.shape[1]
        if not seen:
            raise InputError(f"{name} yielded no rows; at least one sample is needed.")
        return builder.finish()

    # ---- using --------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        return int(self.mean.shape[0])

    @property
    def is_factored(self) -> bool:
        """Whether the scatter is held as a factor rather than as a matrix."""
        return self.exact or self.rank is not None

    @property
    def captured(self) -> float:
        """The share of the trace that the directions kept account for; 1 without a `rank`."""
        if self.rank is None or self.trace == 0:
            return 1.0
        return min(arrays.sum_of_squares(self._scatter) / self.trace, 1.0)

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
            At least 0.
        """
        return arrays.triangular_factor(self.factor_about(center, weight))

    def factor_about(self, center: Any = None, weight: float = 1.0) -> Array:
        """Like `about`, but any factor, not always a triangular one: nothing is factored.

        To be read only: where nothing has to be done it is the summary's own array.
        """
        if not (isinstance(weight, (int, float, np.number)) and 0 <= weight < math.inf):
            raise InputError(f"weight is {weight!r}; it must be a finite number of at least 0.")
        parts = self.factor_parts(center)
        factor = parts[0] if len(parts) == 1 else arrays.namespace(*parts).concat(parts, axis=0)
        return factor if weight == 1.0 else math.sqrt(weight) * factor

    def factor_parts(self, center: Any = None) -> list[Array]:
        """The rows of a factor about `center`, in parts to put below each other."""
        parts = [self._factor()]
        if center is not None:
            offset = math.sqrt(self.n) * self._offset(center)
            if bool(arrays.namespace(offset).any(offset != 0)):
                parts.append(offset[None, :])
        return parts

    def scatter_about(self, center: Any = None, weight: float = 1.0) -> Array:
        """The matrix ``weight * Σ wᵢ (xᵢ - center)(xᵢ - center)ᵀ``."""
        scatter = arrays.gram(self._scatter) if self.is_factored else self._scatter
        if center is not None:
            offset = self._offset(center)
            scatter = scatter + self.n * (offset[:, None] * offset[None, :])
        return weight * scatter

    def trace_about(self, center: Any, weight: float = 1.0) -> float:
        """Trace of `scatter_about`."""
        offset = self._offset(center)
        return weight * (self.trace + self.n * float(offset @ offset))

    def __add__(self, other: Summary) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        names = _mergeable(self, other)
        rank = max(self.rank, other.rank) if self.rank and other.rank else None
        with np.errstate(over="ignore", invalid="ignore"):
            both = merged(self._moments, other._moments, factors=self.is_factored, rank=rank)
        _check_range(both, "The rows of both", self.sample)
        return Summary(
            n=both.n,
            count=self.count + other.count,
            mean=both.mean,
            trace=both.trace,
            exact=self.exact,
            eps=max(self.eps, other.eps),
            sample=self.sample.merged(other.sample),
            feature_names=names,
            _scatter=both.scatter,
            rank=rank,
        )

    def without_sample(self) -> Summary:
        """The same summary holding no rows of the data."""
        return replace(self, sample=RowSample.empty(self.n_features, 0))

    @property
    def _moments(self) -> Moments:
        return Moments(self.n, self.mean, self.trace, self._scatter)

    def _offset(self, center: Any) -> Array:
        """The mean less `center`, if that is a vector to measure from."""
        try:
            vector = arrays.like(center, self.mean)
        except (TypeError, ValueError):
            raise InputError("center must be numbers, one for each feature.") from None
        if tuple(vector.shape) != (self.n_features,):
            raise InputError(
                f"center has shape {tuple(vector.shape)} where ({self.n_features},) is expected."
            )
        offset = self.mean - vector
        if not math.isfinite(float(arrays.namespace(offset).sum(offset))):
            raise InputError("center contains NaN or Inf; every entry must be finite.")
        return offset

    def _factor(self) -> Array:
        if self.is_factored:
            return self._scatter
        xp = arrays.namespace(self._scatter)
        values, vectors = arrays.eigh(self._scatter)
        return xp.sqrt(xp.clip(values, 0.0, math.inf))[:, None] * vectors.T

    def __repr__(self) -> str:
        way = "exact" if self.exact else "fast" if self.rank is None else f"rank {self.rank}"
        return f"Summary({self.count:,} rows, {self.n_features} features, {way})"


def _mergeable(a: Summary, b: Summary) -> tuple[str, ...] | None:
    """The names of both summaries' features, or an error that says why they do not merge."""
    if a.n_features != b.n_features:
        raise InputError(
            f"These summaries have {a.n_features} and {b.n_features} features; "
            "only summaries of the same features merge."
        )
    check_same_library(a.mean, b.mean, "The first", "the second")
    if (a.rank is None) != (b.rank is None):
        raise InputError("One summary has a rank and the other has not; give both a rank or none.")
    if a.exact != b.exact:
        raise InputError(
            "One summary is exact and the other fast; make both with the same `exact`."
        )
    names = a.feature_names or b.feature_names
    if b.feature_names not in (None, names):
        raise InputError("These summaries have unlike feature names; only like ones merge.")
    return names


def _check_chunks(chunks: object, name: str) -> None:
    if not isinstance(chunks, Iterable) or isinstance(chunks, (str, bytes)):
        raise InputError(
            f"{name} is of type {type(chunks).__name__}; of_chunks takes chunks of rows: a list, a "
            "generator or another iterable of arrays."
        )
    if feature_names_of(chunks) is not None or getattr(chunks, "ndim", None) == 2:
        raise InputError(f"{name} is one table of rows, not chunks; pass it to Summary.of.")


def _check_range(moments: Moments, name: str, sample: RowSample) -> None:
    """Did everything stay within float64?"""
    total = moments.trace + moments.n + float(arrays.namespace(moments.mean).sum(moments.mean))
    if math.isfinite(total):
        return
    largest = float(np.abs(sample.rows).max(initial=0.0))
    weight = float(sample.weights.max(initial=1.0))
    raise InputError(
        f"{name} has values up to {largest:g} and weights up to {weight:g}, whose squares and sums "
        "are beyond float64; rescale the features or the weights."
    )


class _Builder:
    """Takes rows as they come and ends as a Summary.

    Rows are gathered into blocks, so that the result does not depend on how they were chunked.
    Factors of blocks merge in a balanced tree; Gram matrices are added up.
    """

    def __init__(
        self, exact: bool, *, rank: int | None, sample_size: int, seed: int, name: str
    ) -> None:
        self.rank = None if rank is None else as_count(rank, "rank")
        self.exact = as_flag(exact, "exact") and rank is None
        self.feature_names: tuple[str, ...] | None = None
        self._name = name
        self._sample_size = as_count(sample_size, "sample_size", least=0)
        self._seed = as_seed(seed, "seed")
        self._waiting: list[tuple[Array, np.ndarray | None]] = []
        self._waiting_rows = 0
        self._first: Array | None = None
        self._sum: MomentTree | MomentSum | None = None
        self._sample: RowSample | None = None
        self._rng: np.random.Generator | None = None
        self._count = 0
        self._blocks = 0
        self._weighted = False
        self._eps = 0.0

    def add(self, rows: Array, weights: np.ndarray | None, eps: float) -> None:
        """Take rows that `as_rows` has checked, and the eps that they came with."""
        if rows.shape[0] == 0:
            return
        if self._first is None:
            self._first = rows[:0, :]
        elif type(rows) is not type(self._first):
            check_same_library(self._first, rows, "The first chunk", "a later one")
        self._eps = max(self._eps, eps)
        self._weighted = self._weighted or weights is not None
        self._take_sample(rows, weights)
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

    def let_go(self) -> None:
        """Copy what is still waiting: the caller may reuse the memory for the next chunk."""
        if self._waiting:
            part, weight = self._waiting[-1]
            self._waiting[-1] = (arrays.copied(part), weight)

    def finish(self) -> Summary:
        self._flush()
        if self._sum is None or self._sample is None:
            raise InputError("There are no rows to summarise; at least one sample is needed.")
        with np.errstate(over="ignore", invalid="ignore"):
            moments = self._sum.finish()
        _check_range(moments, self._name, self._sample)
        n, mean, trace, scatter = moments
        return Summary(
            n=n,
            count=self._count,
            mean=mean,
            trace=trace,
            exact=self.exact,
            eps=self._eps,
            sample=self._sample,
            feature_names=self.feature_names,
            _scatter=scatter,
            rank=self.rank,
            _holds_rows=self.exact
            and not self._weighted
            and self._blocks == 1
            and self._count < mean.shape[0],
        )

    def _block_rows(self, rows: Array) -> int:
        d = int(rows.shape[1])
        if self.rank is not None:
            return max(256, 4 * self.rank)
        if arrays.on_accelerator(rows):
            return max(_DEVICE_BLOCK_BYTES // (8 * d), 2 * d)
        if not self.exact:
            return max(2 * _BLOCK_ROWS, _HOST_BLOCK_BYTES // (8 * d))
        return max(_BLOCK_ROWS, 2 * d)

    def _take_sample(self, rows: Array, weights: np.ndarray | None) -> None:
        if self._sample is None or self._rng is None:
            # Summaries made apart must draw apart, or merging them would favour the rows whose
            # number happens to be lucky: the first row's bytes tell them apart.
            first = zlib.crc32(arrays.to_numpy(rows[0, :]).tobytes())
            self._rng = np.random.default_rng([self._seed, first])
            self._sample = RowSample.empty(rows.shape[1], self._sample_size)
        priority = self._rng.random(rows.shape[0])
        self._sample = self._sample.with_rows(rows, weights, priority)

    def _flush(self) -> None:
        if not self._waiting:
            return
        parts = [rows for rows, _ in self._waiting]
        weights = None
        if self._weighted:
            weights = np.concatenate([w for _, w in self._waiting if w is not None])
        self._waiting, self._waiting_rows = [], 0
        self._blocks += 1
        with np.errstate(over="ignore", invalid="ignore"):  # told by `finish`
            if self._sum is None:
                factors = self.exact or self.rank is not None
                self._sum = MomentTree(self.rank) if factors else MomentSum(parts)
            self._sum.add(parts, weights)
