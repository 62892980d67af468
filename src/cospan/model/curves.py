"""Curved features: a fixed map of every row to more columns, before anything is summarised.

Means and covariances cannot see a ring inside a blob. Those of curved features can: every row x
becomes [x, f(x)], in standardised coordinates, and nothing after that changes. Summaries of mapped
rows merge, stream and run on Dask and on a GPU like any others. The distance of their means is a
kernel two-sample distance, and their angle a calibrated kernel discriminant whose leave-one-out is
exact.

**Few columns** (:class:`CurveMap`): x → [x, √2 cos(Wx + b)]. Every column x (standardised) gets the
three features cos x, cos 2x and sin 2x. The covariances of the mapped rows then hold their
products, which is how two columns together are seen: on sets with equal means and covariances, and
on tables, this separated better than three to ten times as many random features of all columns at
once, and than Nyström features of as many rows. A column of few
different values gets fewer: of two values every function is a line. More features than that are
random ones of all columns at once: rows of W are normal, with a bandwidth of half the median
distance of two rows, orthogonal in blocks of as many rows as there are columns, and b is uniform.

**Many columns** (:class:`LandmarkMap`; pictures, embeddings): how near a row is to each of some
hundred landmarks. Rows go to their principal axes, and from there to Nyström's features of a
Gaussian kernel:

    y = z P      f_l = exp(-‖y - c_l‖²/2h²)      x → [y, f K^(-1/2)]     K_lm = f_l(c_m)

A landmark c_l is the mean of a few rows that are near to each other, whichever set they are in.
So no landmark is a row, and none knows a set. The kernel's features spread as far as the axes do
in all. Which rows landmarks begin with depends on the rows, not on their order.

Numbers are the same on every machine and in every version: of NumPy's generators only the bits are
taken, which it promises, not the numbers that its distributions make of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from cospan.base import arrays
from cospan.base.text import plural
from cospan.base.tolerance import LANDMARKS_APART, SQUARES_ARE_SAFE, rank_in_gram
from cospan.base.types import Array, Floats, Index

# Units from the origin up to which taking the centre off in float32 costs a feature 1e-5 at most.
_NEAR = 64.0
# Frequencies and phases of the features of one column, in its standard deviations. A sine is a
# cosine a quarter turn later. The sine of the lower frequency is the line x nearly; what is beyond
# the higher one aliases.
WAVES = ((1.0, 0.0), (2.0, 0.0), (2.0, -math.pi / 2))
# Up to this many columns each gets its own features; beyond, landmarks see all at once.
MOST_COLUMNS = 100
# Bandwidths, of the median distance of two rows: of random features, and h of landmarks.
_RANDOM_BANDWIDTH = 0.5
_LANDMARK_BANDWIDTH = 0.75
# Rows whose distances are looked at.
_DISTANCE_ROWS = 500
# Principal axes kept. What the weaker ones of pictures add is noise, and time.
AXES = 100
# Landmarks at most, rows for each of them, and rows whose mean is a landmark.
MOST_LANDMARKS = 1500
_ROWS_EACH = 3
_NEIGHBOURS = 5
# Any numbers serve; a map of more features begins with those of a smaller one.
_NORMAL_SEED, _PHASE_SEED, _ORDER_SEED, _DRAW_SEED = 20_01, 20_02, 20_03, 20_04


@dataclass(frozen=True, eq=False)
class RowMap(ABC):
    """A fixed map of rows to columns and features.

    It takes a row x to [c, f] M: columns c that are linear in x, features f that are not, and a
    fixed matrix M. Scoring multiplies what it wants from the right, so that M costs nothing there.
    """

    #: (d,): every column loses its centre and is multiplied by `per_unit`, 0 for a constant
    center: Floats
    per_unit: Floats
    units: ClassVar[str]  # of mapped rows: every feature's own, or one for all

    @property
    def n_columns(self) -> int:
        """How many columns rows have before the map."""
        return len(self.center)

    @property
    @abstractmethod
    def n_features(self) -> int:
        """How many they have after it."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What is curved, and how many of it, for people."""

    @abstractmethod
    def features(self, rows: Array) -> Array:
        """[c, f] of rows, in float32, in the namespace and on the device of the rows."""

    @abstractmethod
    def through(self, across: Floats) -> Floats:
        """M times `across`: what [c, f] is multiplied with for mapped rows times `across`."""

    @abstractmethod
    def exact(self, rows: Floats) -> Floats:
        """Mapped rows in float64, on the host: for gradients."""

    @abstractmethod
    def pulled_back(self, rows: Floats, slopes: Floats) -> Floats:
        """Gradients in columns (n, d) of a function whose gradients in features are `slopes`."""

    @abstractmethod
    def __call__(self, rows: Array) -> Array:
        """Mapped rows in float32, in the namespace and on the device of the rows."""

    def standardised(self, rows: Array) -> Array:
        """Rows less their centre and in units.

        In float64 unless float32 rows are so near to the origin that they lose no digits.
        """
        xp = arrays.namespace(rows)
        if rows.dtype != xp.float32 or self._farthest > _NEAR:
            rows = xp.astype(rows, xp.float64, copy=False)
        z = rows - arrays.like(self.center, rows)[None, :]
        z *= arrays.like(self.per_unit, rows)[None, :]
        # Its squares stay numbers in float32, and so do its features.
        return xp.clip(z, -SQUARES_ARE_SAFE, SQUARES_ARE_SAFE)

    @cached_property
    def _farthest(self) -> float:
        """How far the centre is from the origin, in units."""
        return float(np.max(np.abs(self.center) * self.per_unit, initial=0.0))


# ---- few columns: cosines ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CurveMap(RowMap):
    """A fixed map of rows to themselves, standardised, and their curved features.

    >>> plain = CurveMap(np.zeros(1), np.ones(1), np.array([[1.0]]), np.array([0.0]))
    >>> plain(np.array([[0.0], [np.pi]])).round(3)
    array([[ 0.   ,  1.414],
           [ 3.142, -1.414]], dtype=float32)
    """

    frequencies: Floats  # (F, d): W, in standardised coordinates
    phases: Floats  # (F,): b

    units: ClassVar[str] = "own"

    @property
    def n_features(self) -> int:
        return len(self.center) + len(self.phases)

    @property
    def words(self) -> str:
        return f"{plural(len(self.phases), 'cosine')} of columns"

    def __call__(self, rows: Array) -> Array:
        found = self.features(rows)
        found[:, self.n_columns :] *= math.sqrt(2)
        return found

    def features(self, rows: Array) -> Array:
        xp = arrays.namespace(rows)
        z = self.standardised(rows)
        if self._waving is not None and arrays.is_numpy(z):
            return _columns_and_waves(z, *self._waving)
        z = xp.astype(z, xp.float32, copy=False)
        across, phases = (arrays.like(one, z) for one in self._single)
        with arrays.full_precision(z):
            angles = z @ across
        angles += phases[None, :]
        return xp.concat((z, xp.cos(angles)), axis=1)

    @cached_property
    def _waving(self) -> tuple[Index, ...] | None:
        """The columns that each of the waves is of; None where there are other features."""
        found = []
        start = 0
        for frequency, phase in WAVES:
            here = self.phases[start:] == phase
            here &= self.frequencies[start:].max(axis=1, initial=0.0) == frequency
            length = len(here) if here.all() else int(np.argmin(here))
            found.append(self.frequencies[start : start + length].argmax(axis=1))
            start += length
        rebuilt = _of_columns(found, self.n_columns)
        # A column that has a later wave has the earlier ones; a file may say otherwise.
        nested = all(np.isin(later, found[0]).all() for later in found[1:])
        rising = bool(np.all(np.diff(found[0]) > 0))
        same = np.array_equal(rebuilt[0], self.frequencies) and len(self.phases) == start
        return tuple(found) if same and nested and rising else None

    @cached_property
    def _single(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Wᵀ and b as rows are multiplied with them."""
        across = np.ascontiguousarray(self.frequencies.T, dtype=np.float32)
        return across, self.phases.astype(np.float32)

    def through(self, across: Floats) -> Floats:
        d = self.n_columns
        return np.concatenate([across[:d], math.sqrt(2) * across[d:]])

    def exact(self, rows: Floats) -> Floats:
        z = self.standardised(np.asarray(rows, dtype=np.float64))
        angles = z @ self.frequencies.T + self.phases
        return np.concatenate([z, math.sqrt(2) * np.cos(angles)], axis=1)

    def pulled_back(self, rows: Floats, slopes: Floats) -> Floats:
        z = self.standardised(np.asarray(rows, dtype=np.float64))
        bent = -math.sqrt(2) * np.sin(z @ self.frequencies.T + self.phases)
        d = self.n_columns
        along = slopes[:, :d] + (slopes[:, d:] * bent) @ self.frequencies
        return np.asarray(along * self.per_unit)


def curve_map(center: Floats, scale: Floats, sample: Floats, size: int | None = None) -> CurveMap:
    """The map for columns of this centre and scale, which is 0 for a constant column.

    `sample` are some rows of all sets, as they are: for the number of different values of each
    column and for the distances between rows. Of `size` features those of single columns come first
    if there is room for all of them, and the rest are random; by default there are those of single
    columns.
    """
    per_unit = np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)
    varies = np.flatnonzero(scale > 0)
    z = (sample - center) * per_unit
    # With m different values, x and m - 2 features span every function of them but constants.
    distinct = np.array([len(np.unique(z[:, j])) for j in varies], dtype=int)
    W, b = _of_columns([varies[distinct > i + 2] for i in range(len(WAVES))], z.shape[1])
    size = len(b) if size is None else size
    if len(b) > size:
        W, b = W[:0], b[:0]
    if len(b) < size:
        more = size - len(b)
        W = np.concatenate([W, _at_random(z, varies, more)])
        b = np.concatenate([b, 2 * math.pi * uniforms(_PHASE_SEED, (more,))])
    return CurveMap(center, per_unit, W, b)


def _of_columns(columns: Sequence[Index], d: int) -> tuple[Floats, Floats]:
    """W and b of the waves of these columns: all of the first wave, then of the next."""
    W, b = np.zeros((sum(map(len, columns)), d)), np.zeros(sum(map(len, columns)))
    start = 0
    for (frequency, phase), chosen in zip(WAVES, columns, strict=True):
        rows = np.arange(start, start + len(chosen))
        W[rows, chosen] = frequency
        b[rows] = phase
        start += len(chosen)
    return W, b


def _columns_and_waves(
    z: NDArray[np.floating], cosines: Index, double_cosines: Index, double_sines: Index
) -> NDArray[np.float32]:
    """[c, f] with fewer cosines to compute: cos 2x = 2 cos² x - 1, sin 2x = 2 sin x cos x.

    In memory the rows are columns, so that every pass goes straight through.
    """
    n, d = z.shape
    sizes = (d, len(cosines), len(double_cosines), len(double_sines))
    found = np.empty((sum(sizes), n), dtype=np.float32)
    x, once, twice, sines = np.split(found, np.cumsum(sizes)[:-1])
    x[:] = z.T
    np.cos(_rows(x, cosines), out=once)
    np.square(_rows(once, np.searchsorted(cosines, double_cosines)), out=twice)
    twice *= 2
    twice -= 1
    np.sin(_rows(x, double_sines), out=sines)
    sines *= _rows(once, np.searchsorted(cosines, double_sines))
    sines *= 2
    return found.T


def _rows(x: NDArray[np.float32], chosen: Index) -> NDArray[np.float32]:
    return x if len(chosen) == len(x) else x[chosen]


def _at_random(z: Floats, varies: Index, size: int) -> Floats:
    """Random features of all columns at once."""
    d = len(varies)
    W = np.zeros((size, z.shape[1]))
    if d == 0:
        return W
    drawn = normals(_NORMAL_SEED, (-(-size // d), d, d))
    # Orthogonal within a block, of the lengths that normal rows have.
    lengths = np.sqrt(np.sum(drawn**2, axis=2, keepdims=True))
    turned = np.empty_like(drawn)
    for block, one in zip(drawn, turned, strict=True):
        Q, R = np.linalg.qr(block.T)
        one[:] = (Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)).T
    # The same rows in whatever order they come.
    few = np.linspace(0, len(z) - 1, min(len(z), _DISTANCE_ROWS)).astype(np.intp)
    distance = median_distance(z[:, varies][ordered(z[:, varies])[few]])
    W[:, varies] = (turned * lengths).reshape(-1, d)[:size] / (_RANDOM_BANDWIDTH * distance)
    return W


# ---- many columns: landmarks ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LandmarkMap(RowMap):
    """Rows on their principal axes, and how near they are to landmarks."""

    axes: Floats  # (d, m): P, in standardised coordinates
    landmarks: Floats  # (L, m): on the axes, in units of h
    mixing: Floats  # (L, r): K^(-1/2), scaled
    width: float  # h

    units: ClassVar[str] = "common"

    @property
    def n_features(self) -> int:
        return int(self.axes.shape[1] + self.mixing.shape[1])

    @property
    def words(self) -> str:
        return f"nearness to {plural(len(self.landmarks), 'landmark')}"

    def features(self, rows: Array) -> Array:
        y, near = self._axes_and_nearness(rows)
        return arrays.namespace(rows).concat((y, near), axis=1)

    def __call__(self, rows: Array) -> Array:
        y, near = self._axes_and_nearness(rows)
        mixing = arrays.like(self._single[3], y)
        with arrays.full_precision(y):
            return arrays.namespace(rows).concat((y, near @ mixing), axis=1)

    def _axes_and_nearness(self, rows: Array) -> tuple[Array, Array]:
        xp = arrays.namespace(rows)
        z = xp.astype(self.standardised(rows), xp.float32, copy=False)
        axes, landmarks, half = (arrays.like(one, z) for one in self._single[:3])
        with arrays.full_precision(z):
            y = xp.clip(z @ axes, -SQUARES_ARE_SAFE, SQUARES_ARE_SAFE)
            near = y @ landmarks
        near -= half[None, :]
        near -= xp.sum(y * y, axis=1)[:, None] / (2 * self.width**2)
        return y, xp.exp(xp.clip(near, -math.inf, 0.0))

    @cached_property
    def _single(self) -> tuple[NDArray[np.float32], ...]:
        """P, landmarks as y is multiplied with them, half their squares, and the mixing."""
        half = np.sum(self.landmarks**2, axis=1) / 2
        found = (self.axes, self.landmarks.T / self.width, half, self.mixing)
        return tuple(np.ascontiguousarray(one, dtype=np.float32) for one in found)

    def through(self, across: Floats) -> Floats:
        m = self.axes.shape[1]
        return np.concatenate([across[:m], self.mixing @ across[m:]])

    def exact(self, rows: Floats) -> Floats:
        y, near = self._exactly(rows)
        return np.concatenate([y, near @ self.mixing], axis=1)

    def _exactly(self, rows: Floats) -> tuple[Floats, Floats]:
        y = self.standardised(np.asarray(rows, dtype=np.float64)) @ self.axes
        y = np.clip(y, -SQUARES_ARE_SAFE, SQUARES_ARE_SAFE)
        return y, np.exp(-_squared_distances(y / self.width, self.landmarks) / 2)

    def pulled_back(self, rows: Floats, slopes: Floats) -> Floats:
        y, near = self._exactly(rows)
        m = self.axes.shape[1]
        steep = near * (slopes[:, m:] @ self.mixing.T)
        towards = steep @ self.landmarks - steep.sum(axis=1, keepdims=True) * (y / self.width)
        return np.asarray(((slopes[:, :m] + towards / self.width) @ self.axes.T) * self.per_unit)


def landmark_map(
    center: Floats, per_unit: Floats, samples: Sequence[Floats], size: int | None = None
) -> LandmarkMap:
    """The map for columns of this centre and these units, which are 0 for a constant column.

    `samples` are some rows of every set, as they are: each has as many landmarks begin with its
    rows as any other. `size` is the number of landmarks.
    """
    z = [(rows - center) * per_unit for rows in samples]
    every = np.concatenate(z)
    axes = _principal(every)
    y = [rows @ axes for rows in z]
    y = [rows[ordered(rows)] for rows in y]
    every = np.concatenate(y)
    every = every[ordered(every)]
    width = _LANDMARK_BANDWIDTH * median_distance(every)
    if size is None:
        size = max(1, min(MOST_LANDMARKS, len(every) // _ROWS_EACH))
    # A landmark is the mean of the rows nearest to one, itself included.
    few = min(_NEIGHBOURS, len(every))
    distances = _squared_distances(_begun_with(y, size), every)
    near = np.argpartition(distances, few - 1, axis=1)[:, :few]
    landmarks = every[near].mean(axis=1) / width
    kernel = np.exp(-_squared_distances(landmarks, landmarks) / 2)
    values, vectors = np.linalg.eigh(kernel)
    apart = values > LANDMARKS_APART * values[-1]
    spread = math.sqrt(float(np.mean(np.sum(every**2, axis=1))))
    mixing = spread * vectors[:, apart] / np.sqrt(values[apart])
    return LandmarkMap(center, per_unit, axes, landmarks, mixing, width)


def _principal(z: Floats) -> Floats:
    """The axes along which rows vary most, (d, m)."""
    if len(z) >= z.shape[1]:
        return np.asarray(np.linalg.eigh(z.T @ z)[1][:, ::-1][:, :AXES])
    values, vectors = np.linalg.eigh(z @ z.T)
    keep = values > rank_in_gram(values[-1], len(z))
    found = z.T @ (vectors[:, keep] / np.sqrt(values[keep]))
    return np.asarray(found[:, ::-1][:, :AXES])


def _begun_with(y: Sequence[Floats], size: int) -> Floats:
    """Rows of every set in turn, drawn at random; which set comes first, its rows decide."""
    drawn = []
    for rows in sorted(y, key=lambda rows: (len(rows), float(np.sum(rows**2)))):
        turn = np.argsort(uniforms(_DRAW_SEED, (len(rows),)), kind="stable")
        drawn.append(rows[turn])
    longest = max(len(rows) for rows in drawn)
    each = [(i, k) for i in range(longest) for k, rows in enumerate(drawn) if i < len(rows)]
    return np.stack([drawn[k][i] for i, k in each[:size]])


def _squared_distances(x: Floats, y: Floats) -> Floats:
    """(n, k): between rows of one and rows of the other."""
    squares = np.sum(x**2, axis=1)[:, None] + np.sum(y**2, axis=1)[None, :]
    return np.asarray(np.maximum(squares - 2 * (x @ y.T), 0.0))


# ---- numbers that every machine agrees on, and orders of rows ---------------------------------


def uniforms(seed: int, shape: tuple[int, ...]) -> Floats:
    """Uniform numbers between 0 and 1, neither of them included.

    >>> uniforms(0, (3,)).round(6)
    array([0.636962, 0.269787, 0.040974])
    """
    raw = np.random.PCG64(seed).random_raw(int(np.prod(shape)))
    return np.asarray(((raw >> np.uint64(11)) + 0.5) * 2.0**-53).reshape(shape)


def normals(seed: int, shape: tuple[int, ...]) -> Floats:
    """Normal numbers of mean 0 and variance 1.

    >>> normals(0, (3,)).round(6)
    array([ 0.350349, -0.613458, -1.739499])
    """
    return np.asarray(ndtri(uniforms(seed, shape)))


def ordered(y: Floats) -> Index:
    """An order of rows that depends on them alone: along a line, of no sign."""
    # Axes have no sign; squares of coordinates have no use for one.
    along = y**2 @ normals(_ORDER_SEED, (y.shape[1],))
    return np.argsort(along, kind="stable")


def median_distance(rows: Floats) -> float:
    """The median distance of two of the rows; that of normal ones where it is 0 or unknown."""
    some = rows[:: max(1, len(rows) // _DISTANCE_ROWS)][:_DISTANCE_ROWS]
    squared = [np.sum((some[k + 1 :] - row) ** 2, axis=1) for k, row in enumerate(some)]
    found = np.sqrt(np.concatenate([np.zeros(0), *squared]))
    median = float(np.median(found)) if len(found) else 0.0
    return median if median > 0 else math.sqrt(2 * rows.shape[1])
