"""Count, mean and scatter of rows, made block by block and merged.

The scatter Σ wᵢ (xᵢ - mean)(xᵢ - mean)ᵀ has three forms:

- a factor F with FᵀF equal to it, by QR: triangular once there are d rows;
- a factor of at most `rank` rows, the strongest directions of such an F, for wide data. The trace
  stays that of all of it;
- the matrix itself, summed in float64 about a provisional mean. Not where a column's deviations are
  so small that their squares are no numbers any more: that stays a factor.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cospan.base import arrays, factorizations
from cospan.base.checks import check_same_library
from cospan.base.tolerance import SQUARES_KEEP_DIGITS
from cospan.base.types import Array
from cospan.errors import InputError
from cospan.summary.row_sample import RowSample

if TYPE_CHECKING:
    from cospan.summary.summary import Summary


_ORIGIN_ROWS = 4096
_THREADED_FEATURES = 128


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
    mean, low = _two_sum(a.mean, (b.n / n) * step)
    return Moments(n, mean, low + a.low, trace, scatter, factored)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
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
    return _compact(arrays.namespace(a).concat((a, b, row), axis=0), rank)


def _compact(factor: Array, rank: int | None) -> Array:
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
        factor = _compact(block, self.rank)
        if trace is None:
            trace = arrays.sum_of_squares(factor)
        return Moments(n, mean, low, trace, factor, True)


def first_rows(parts: list[Array]) -> tuple[Array, Array]:
    """Some rows, and their mean."""
    # Any vector near the mean will do, so a few rows are enough and weights play no part.
    first = arrays.stacked([parts[0][: min(_ORIGIN_ROWS, parts[0].shape[0]), :]])
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
        # Narrow rows are over too soon for threads to be worth their start.
        self.threads = arrays.host_threads(first) if d >= _THREADED_FEATURES else 1

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
        mean, low = _two_sum(self.origin, shift)
        return Moments(self.n, mean, low, trace, scatter, False)


def mergeable_names(a: Summary, b: Summary) -> tuple[str, ...] | None:
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
        raise InputError("Cannot merge summaries with different feature names.")
    return names


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
