"""What a set of rows looks like as a whole: count, mean and scatter, which merge.

The scatter Σ wᵢ (xᵢ - mean)(xᵢ - mean)ᵀ has three forms:

- a factor F with FᵀF equal to it, by QR: triangular once there are d rows;
- a factor of at most `rank` rows, the strongest directions of such an F, for wide data. The trace
  stays that of all of it;
- the matrix itself, summed in float64 about a provisional mean. Not where a column's deviations are
  so small that their squares are no numbers any more: that stays a factor.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from cospan.base import arrays, factorizations
from cospan.base.checks import check_same_library
from cospan.base.tolerance import SQUARES_KEEP_DIGITS
from cospan.base.types import Array
from cospan.errors import InputError
from cospan.summary.sample import RowSample


class Kept(TypedDict, total=False):
    """What a summary keeps, as keywords; see :meth:`Summary.of`."""

    rank: int | None
    sample_size: int
    seed: int
    name: str


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
        Whether the scatter is held as a factor with all its digits (QR), however many rows there
        are; else as a matrix (Gram) once there are as many rows as features or, with a `rank`, as
        a factor that leaves out the weakest directions.
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
    _factored: bool = field(repr=False, default=True)
    # What rounding took from the mean.
    _low: Array | None = field(repr=False, default=None)

    # ---- making -------------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        X: object,
        sample_weight: object = None,
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
        from cospan.summary import builder  # is above: it builds summaries

        options = builder.SummaryOptions(exact, rank, sample_size, seed, name)
        return builder.of_rows(X, sample_weight, options)

    @classmethod
    def of_chunks(
        cls, chunks: Iterable[object], exact: bool = True, **options: Unpack[Kept]
    ) -> Summary:
        """Summary of rows that come in chunks, in constant memory.

        Any chunking of the same rows gives the same summary up to rounding, and the same sample.

        Parameters
        ----------
        chunks : iterable of array-like, each (any, d)
        exact, **options
            As in :meth:`of`: also rank, sample_size, seed and name.
        """
        from cospan.summary import builder  # is above: it builds summaries

        return builder.of_chunks(chunks, builder.SummaryOptions(exact, **options))

    @classmethod
    def of_moments(cls, moments: Moments, **rest: Any) -> Summary:
        """A summary with these moments, and `rest` for its other fields."""
        hidden = {f"_{name}": getattr(moments, name) for name in ("scatter", "factored", "low")}
        return cls(n=moments.n, mean=moments.mean, trace=moments.trace, **hidden, **rest)

    # ---- using --------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        return int(self.mean.shape[0])

    @property
    def is_factored(self) -> bool:
        """Whether the scatter is held as a factor rather than as a matrix."""
        return self._factored

    @property
    def captured(self) -> float:
        """The share of the trace that the directions kept account for; 1 without a `rank`."""
        if self.rank is None or self.trace == 0:
            return 1.0
        return min(arrays.sum_of_squares(self._scatter) / self.trace, 1.0)

    @property
    def R(self) -> Array:
        """Triangular factor of the centred rows: RᵀR is the scatter matrix."""
        return factorizations.triangular_factor(self._factor())

    def about(self, center: object = None, weight: float = 1.0) -> Array:
        """Triangular factor of the rows about `center`, each times the square root of `weight`.

        ``R.T @ R`` is ``weight * Σ wᵢ (xᵢ - center)(xᵢ - center)ᵀ``.

        Parameters
        ----------
        center : array-like (d,), optional
            Default: the mean.
        weight : float
            At least 0.
        """
        return factorizations.triangular_factor(self.factor_about(center, weight))

    def factor_about(self, center: object = None, weight: float = 1.0) -> Array:
        """Like `about`, but any factor, not always a triangular one: nothing is factored.

        To be read only: where nothing has to be done it is the summary's own array.
        """
        if not (isinstance(weight, (int, float, np.number)) and 0 <= weight < math.inf):
            raise InputError(f"weight is {weight!r}; it must be a finite number of at least 0.")
        parts = self.factor_parts(center)
        factor = parts[0] if len(parts) == 1 else arrays.namespace(*parts).concat(parts, axis=0)
        return factor if weight == 1.0 else math.sqrt(weight) * factor

    def factor_parts(self, center: object = None) -> list[Array]:
        """The rows of a factor about `center`, in parts to put below each other."""
        parts = [self._factor()]
        if center is not None:
            offset = math.sqrt(self.n) * self._offset(center)
            if bool(arrays.namespace(offset).any(offset != 0)):
                parts.append(offset[None, :])
        return parts

    def scatter_about(self, center: object = None, weight: float = 1.0) -> Array:
        """The matrix ``weight * Σ wᵢ (xᵢ - center)(xᵢ - center)ᵀ``.

        A feature whose values are so small (1e-140) that their squares lose digits is 0 in it.
        """
        scatter = arrays.gram(self._scatter) if self.is_factored else self._scatter
        if center is not None:
            offset = self._offset(center)
            scatter = scatter + self.n * (offset[:, None] * offset[None, :])
        return weight * without_vanished(scatter)

    def __add__(self, other: Summary) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        names = _mergeable_names(self, other)
        rank = max(self.rank, other.rank) if self.rank and other.rank else None
        with np.errstate(over="ignore", invalid="ignore"):
            factors = self.exact or rank is not None
            both = merged(self._moments, other._moments, factors=factors, rank=rank)
        check_range(both, "The rows of both", self.sample)
        return Summary.of_moments(
            both,
            count=self.count + other.count,
            exact=self.exact,
            eps=max(self.eps, other.eps),
            sample=self.sample.merged(other.sample),
            feature_names=names,
            rank=rank,
        )

    def without_sample(self) -> Summary:
        """The same summary holding no rows of the data."""
        return replace(self, sample=RowSample.empty(self.n_features))

    @property
    def _moments(self) -> Moments:
        low = 0 * self.mean if self._low is None else self._low
        return Moments(self.n, self.mean, low, self.trace, self._scatter, self._factored)

    def _offset(self, center: object) -> Array:
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
        values, vectors = factorizations.eigh(self._scatter)
        return xp.sqrt(xp.clip(values, 0.0, math.inf))[:, None] * vectors.T

    def __repr__(self) -> str:
        way = "exact" if self.exact else "fast" if self.rank is None else f"rank {self.rank}"
        return f"Summary({self.count:,} rows, {self.n_features} features, {way})"


def as_factors(summaries: Sequence[Summary]) -> bool:
    """Whether to compute with factors of these summaries rather than with matrices.

    Exact ones and those of a rank have nothing else. Fast ones hold factors where rows are few; a
    matrix is quicker to work with once all rows together are more than the features. Fast ones of
    many rows that hold factors have values too small for a matrix.
    """
    if not all(part.is_factored for part in summaries):
        return False
    if all(part.exact or part.rank is not None for part in summaries):
        return True
    d = summaries[0].n_features
    return sum(part.count for part in summaries) < d or any(part.count >= d for part in summaries)


def _mergeable_names(a: Summary, b: Summary) -> tuple[str, ...] | None:
    """The names of both summaries' features, or an error that says why they do not merge."""
    if a.n_features != b.n_features:
        raise InputError(
            f"These summaries have {a.n_features} and {b.n_features} features; "
            "only summaries of the same features merge."
        )
    check_same_library(a.mean, b.mean, "The first", "the second")
    if (a.rank is None) != (b.rank is None) or a.exact != b.exact:
        raise InputError("These summaries differ in `rank` or `exact`; make both in the same way.")
    names = a.feature_names or b.feature_names
    if b.feature_names not in (None, names):
        raise InputError("Cannot merge summaries with different feature names.")
    return names


# ---- moments -------------------------------------------------------------------------------------


class Moments(NamedTuple):
    n: float  # sum of the weights
    mean: Array
    low: Array  # what rounding took from the mean: mean + low is right to far below eps
    trace: float
    scatter: Array  # a factor, (rows, d), or the matrix, (d, d)
    factored: bool


def merged(a: Moments, b: Moments, *, factors: bool, rank: int | None = None) -> Moments:
    """Moments of the rows of both.

    With `factors` a factor in any case; else only as long as it has fewer rows than columns, or
    squares would be too small.
    """
    n = a.n + b.n
    # Far from 0 the means are rounded by more than the spread allows; their low parts know better.
    step = (b.mean - a.mean) + (b.low - a.low)
    apart = math.sqrt(a.n * b.n / n) * step
    few = int(a.scatter.shape[0]) + int(b.scatter.shape[0]) + 1 < int(a.mean.shape[0])
    stays = a.factored and b.factored
    if stays and not factors and not few:
        stays = squares_vanish(a.scatter) or squares_vanish(b.scatter)
    if stays:
        scatter, factored = _merged_factors(a.scatter, b.scatter, apart[None, :], rank), True
    else:
        scatter, factored = _matrix(a) + _matrix(b) + apart[:, None] * apart[None, :], False
    trace = a.trace + b.trace + float(apart @ apart)
    mean, low = two_sum(a.mean, (b.n / n) * step)
    return Moments(n, mean, low + a.low, trace, scatter, factored)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b, and what its rounding left out (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def squares_vanish(deviations: Array) -> bool:
    """Are the entries of a column, where it has any but 0, too small for their squares?"""
    if deviations.shape[0] == 0:
        return False
    xp = arrays.namespace(deviations)
    largest = xp.max(xp.abs(deviations), axis=0)
    return bool(xp.any((largest > 0) & (largest < SQUARES_KEEP_DIGITS)))


def without_vanished(scatter: Array) -> Array:
    """A scatter matrix with 0 for features whose squares have lost their digits.

    What is left of them would be no matrix of any rows.
    """
    xp = arrays.namespace(scatter)
    squares = xp.linalg.diagonal(scatter)
    lost = (squares != 0) & (xp.abs(squares) < SQUARES_KEEP_DIGITS**2)
    if not bool(xp.any(lost)):
        return scatter
    return xp.where(lost[:, None] | lost[None, :], xp.zeros_like(scatter), scatter)


def _matrix(moments: Moments) -> Array:
    return arrays.gram(moments.scatter) if moments.factored else moments.scatter


def _merged_factors(a: Array, b: Array, row: Array, rank: int | None) -> Array:
    d = row.shape[1]
    if rank is None and a.shape[0] == d and b.shape[0] == d:
        return factorizations.merged_triangles(a, b, row)
    return compacted(arrays.namespace(a).concat((a, b, row), axis=0), rank)


def compacted(factor: Array, rank: int | None) -> Array:
    """At most d rows with the same scatter, triangular if it takes d, or the best `rank` rows."""
    if factor.shape[0] >= factor.shape[1]:
        factor = factorizations.triangular_factor(factor, overwrite=True)
    if rank is None or factor.shape[0] <= rank:
        return factor
    xp = arrays.namespace(factor)
    largest = float(xp.max(xp.abs(factor)))
    size = largest if 0 < largest < SQUARES_KEEP_DIGITS else None
    # The left singular vectors are enough: turned by them, the strongest rows come last.
    products = arrays.gram((factor if size is None else factor / size).T)
    if not math.isfinite(float(xp.sum(products))):
        return factor[:rank, :]  # an eigenproblem with an Inf can hang; the trace tells of it
    _, vectors = factorizations.eigh(products)
    return arrays.matmul(vectors[:, -rank:].T, factor)


def check_range(moments: Moments, name: str, sample: RowSample) -> None:
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
