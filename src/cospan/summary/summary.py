"""What a set of rows looks like as a whole: count, mean and scatter, which merge.

The scatter Σ wᵢ (xᵢ - mean)(xᵢ - mean)ᵀ is held in one of two ways:

- exact: a factor F with FᵀF equal to it, by QR, triangular once there are d rows.
- fast: the matrix itself, summed in float64 about a provisional mean. Several times faster, and
  half the digits lost: harmless under shrinkage (`base.tolerance.FAST_SHRINKAGE`), refused without.
  A factor here too as long as there are fewer rows than features.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cospan.base import arrays, factorizations
from cospan.base.checks import check_same_library
from cospan.base.tolerance import SQUARES_KEEP_DIGITS
from cospan.base.types import Array
from cospan.errors import InputError
from cospan.summary.sample import RowSample


@dataclass(frozen=True, eq=False)
class Summary:
    """What a set of rows looks like as a whole: enough to fit any frame without seeing it again.

    Make one with :meth:`of` or :meth:`of_chunks`; merge with ``+``.

    Attributes
    ----------
    count : int
        The number of rows.
    exact : bool
        Whether the scatter is held as a factor with all its digits (QR), however many rows there
        are; else as a matrix (Gram) once there are as many rows as features.
    eps : float
        Of the rows' own dtype. Everything is held in float64, but rank decisions about float32
        rows must not trust more digits than they had.
    sample : RowSample
        A uniform random sample of the rows, for choosing the shrinkage and for histograms.
    feature_names : tuple of str or None

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

    moments: Moments = field(repr=False)
    count: int
    exact: bool
    eps: float
    sample: RowSample
    feature_names: tuple[str, ...] | None
    # Whether the factor's rows are the rows themselves, less the mean: few, and of weight 1.
    _holds_rows: bool = field(repr=False, default=False)

    @classmethod
    def of(
        cls,
        X: object,
        sample_weight: object = None,
        exact: bool = True,
        *,
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
        sample_size : int
            How many rows to keep as a uniform random sample.
        seed : int
            For that sample.
        name : str
            What to call X in messages.
        """
        from cospan.summary import builder  # is above: it builds summaries

        options = builder.SummaryOptions(exact, sample_size, seed, name)
        return builder.of_rows(X, sample_weight, options)

    @classmethod
    def of_chunks(
        cls,
        chunks: Iterable[object],
        exact: bool = True,
        *,
        sample_size: int = 2000,
        seed: int = 0,
        name: str = "X",
    ) -> Summary:
        """Summary of rows that come in chunks, each (any, d), in constant memory.

        Any chunking of the same rows gives the same summary up to rounding, and the same sample.
        Parameters as in :meth:`of`.
        """
        from cospan.summary import builder  # is above: it builds summaries

        return builder.of_chunks(chunks, builder.SummaryOptions(exact, sample_size, seed, name))

    @property
    def n(self) -> float:
        """Sum of the weights; without weights the number of rows."""
        return self.moments.n

    @property
    def mean(self) -> Array:
        """(d,): the mean of the rows."""
        return self.moments.mean

    @property
    def n_features(self) -> int:
        return int(self.mean.shape[0])

    @property
    def R(self) -> Array:
        """Triangular factor of the centred rows: RᵀR is the scatter matrix."""
        return factorizations.triangular_factor(self.factor_parts()[0])

    def factor_parts(self, center: Array | None = None) -> list[Array]:
        """The rows of a factor about `center`, by default the mean: parts to put below each other.

        To be read only: the first is the summary's own array, where it holds a factor.
        """
        factor, xp = self.moments.scatter, arrays.namespace(self.mean)
        if not self.moments.factored:
            values, vectors = factorizations.eigh(factor)
            factor = xp.sqrt(xp.clip(values, 0.0, math.inf))[:, None] * vectors.T
        if center is None:
            return [factor]
        offset = math.sqrt(self.n) * (self.mean - arrays.like(center, self.mean))
        return [factor, offset[None, :]] if bool(xp.any(offset != 0)) else [factor]

    def scatter_about(self, center: Array | None = None, weight: float = 1.0) -> Array:
        """The matrix ``weight * Σ wᵢ (xᵢ - center)(xᵢ - center)ᵀ``; about the mean by default.

        A feature whose values are so small (1e-140) that their squares lose digits is 0 in it.
        """
        scatter = self.moments.scatter
        scatter = arrays.gram(scatter) if self.moments.factored else scatter
        if center is not None:
            offset = self.mean - arrays.like(center, self.mean)
            scatter = scatter + self.n * (offset[:, None] * offset[None, :])
        xp = arrays.namespace(scatter)
        squares = xp.linalg.diagonal(scatter)
        lost = (squares != 0) & (xp.abs(squares) < SQUARES_KEEP_DIGITS**2)
        if bool(xp.any(lost)):  # what is left of them would be no matrix of any rows
            scatter = xp.where(lost[:, None] | lost[None, :], xp.zeros_like(scatter), scatter)
        return weight * scatter

    def __add__(self, other: Summary) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        if self.n_features != other.n_features:
            raise InputError(
                f"These summaries have {self.n_features} and {other.n_features} features; "
                "only summaries of the same features merge."
            )
        check_same_library(self.mean, other.mean, "The first", "the second")
        if self.exact != other.exact:
            raise InputError("These summaries differ in `exact`; make both in the same way.")
        names = self.feature_names or other.feature_names
        if other.feature_names not in (None, names):
            raise InputError("Cannot merge summaries with different feature names.")
        with np.errstate(over="ignore", invalid="ignore"):
            both = merged(self.moments, other.moments, factors=self.exact)
        check_range(both, "The rows of both", self.sample)
        return Summary(
            moments=both,
            count=self.count + other.count,
            exact=self.exact,
            eps=max(self.eps, other.eps),
            sample=self.sample.merged(other.sample),
            feature_names=names,
        )

    def __repr__(self) -> str:
        way = "exact" if self.exact else "fast"
        return f"Summary({self.count:,} rows, {self.n_features} features, {way})"


def as_factors(summaries: Sequence[Summary]) -> bool:
    """Whether to compute with factors of these summaries rather than with matrices.

    Exact ones have nothing else. Fast ones hold factors where rows are few; a matrix is quicker to
    work with once all rows together are more than the features.
    """
    if not all(part.moments.factored for part in summaries):
        return False
    few = sum(part.count for part in summaries) < summaries[0].n_features
    return few or all(part.exact for part in summaries)


# ---- moments -------------------------------------------------------------------------------------


class Moments(NamedTuple):
    n: float  # sum of the weights
    mean: Array
    low: Array  # what rounding took from the mean: mean + low is right to far below eps
    trace: float  # of the scatter: the sum of the squared distances to the mean
    scatter: Array  # a factor, (rows, d), or the matrix, (d, d)
    factored: bool  # which of the two


def merged(a: Moments, b: Moments, *, factors: bool) -> Moments:
    """Moments of the rows of both.

    With `factors` a factor in any case; else only as long as it has fewer rows than columns.
    """
    n, d = a.n + b.n, int(a.mean.shape[0])
    # Far from 0 the means are rounded by more than the spread allows; their low parts know better.
    step = (b.mean - a.mean) + (b.low - a.low)
    apart = math.sqrt(a.n * b.n / n) * step
    rows = int(a.scatter.shape[0]) + int(b.scatter.shape[0])
    stays = a.factored and b.factored
    stays = stays and (factors or rows + 1 < d)
    if not stays:
        first, second = (arrays.gram(x.scatter) if x.factored else x.scatter for x in (a, b))
        scatter = first + second + apart[:, None] * apart[None, :]
    else:
        joined = arrays.namespace(apart).concat((a.scatter, b.scatter, apart[None, :]), axis=0)
        scatter = compacted(joined)
    trace = a.trace + b.trace + float(apart @ apart)
    mean, low = two_sum(a.mean, (b.n / n) * step)
    return Moments(n, mean, low + a.low, trace, scatter, stays)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b, and what its rounding left out (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def compacted(factor: Array) -> Array:
    """At most d rows with the same scatter, triangular if it takes d."""
    if factor.shape[0] < factor.shape[1]:
        return factor
    return factorizations.triangular_factor(factor, overwrite=True)


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
