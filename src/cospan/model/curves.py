"""Curved features: a fixed map of every row to more columns, before anything is summarised.

Means and covariances cannot see a ring inside a blob. Those of curved features can: every row x
becomes [x, f(x)], in standardised coordinates, and nothing after that changes.

**Few columns** (:class:`CurveMap`): every column x gets cos x, cos 2x and sin 2x, times √2. The
covariances of the mapped rows hold their products, which is how two columns together are seen. A
column of few different values gets fewer: of two values every function is a line.

**Many columns** (:class:`LandmarkMap`; pictures, embeddings): how near a row is to each of some
hundred landmarks. Rows go to their principal axes, and from there to Nyström's features of a
Gaussian kernel:

    y = z P      f_l = exp(-‖y - c_l‖²/2h²)      x → [y, f K^(-1/2)]     K_lm = f_l(c_m)

A landmark c_l is the mean of a few rows near to each other: none is a row, none knows a set. Which
rows landmarks begin with depends on the rows, not on their order; of NumPy's generators only the
bits are taken, which it promises to keep.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from cospan.base import arrays
from cospan.base.text import plural
from cospan.base.tolerance import LANDMARKS_APART, SQUARES_ARE_SAFE, rank_in_gram
from cospan.base.types import Array, Floats, Index

# Units from the origin up to which taking the centre off in float32 costs a feature 1e-5 at most.
_NEAR = 64.0
# Features of one column: cos x, cos 2x, sin 2x. Its sine is the line x nearly; what is beyond the
# double frequency aliases.
WAVES = 3
# Up to this many columns each gets its own features; beyond, landmarks see all at once.
MOST_COLUMNS = 100
# h, of the median distance of two rows, and the rows whose distances are looked at.
_BANDWIDTH = 0.75
_DISTANCE_ROWS = 500
# Principal axes kept. What the weaker ones of pictures add is noise, and time.
AXES = 100
# Landmarks at most, rows for each of them, and rows whose mean is a landmark.
MOST_LANDMARKS = 1500
_ROWS_EACH = 3
_NEIGHBOURS = 5
# Any numbers serve.
_ORDER_SEED, _DRAW_SEED = 20_03, 20_04


@dataclass(frozen=True, eq=False)
class _Columns:
    """What both maps begin with: columns in units, less their centre.

    A map takes a row x to [c, f] M: columns c that are linear in x, features f that are not, and a
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

    def standardised(self, rows: Array, fine: bool = False) -> Array:
        """Rows less their centre and in units, in float32 or `fine`.

        Computed in float64, unless float32 rows are so near to the origin that they lose no digits.
        """
        xp = arrays.namespace(rows)
        if fine or rows.dtype != xp.float32 or self._farthest > _NEAR:
            rows = xp.astype(rows, xp.float64, copy=False)
        z = rows - arrays.like(self.center, rows)[None, :]
        z *= arrays.like(self.per_unit, rows)[None, :]
        # Its squares stay numbers in float32, and so do its features.
        z = xp.clip(z, -SQUARES_ARE_SAFE, SQUARES_ARE_SAFE)
        return xp.astype(z, xp.float64 if fine else xp.float32, copy=False)

    @cached_property
    def _farthest(self) -> float:
        """How far the centre is from the origin, in units."""
        return float(np.max(np.abs(self.center) * self.per_unit, initial=0.0))


# ---- few columns: cosines ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CurveMap(_Columns):
    """A fixed map of rows to themselves, standardised, and their curved features.

    >>> plain = CurveMap(np.zeros(1), np.ones(1), np.array([[1.0], [0.0], [0.0]]))
    >>> plain(np.array([[0.0], [np.pi]])).round(3)
    array([[ 0.   ,  1.414],
           [ 3.142, -1.414]], dtype=float32)
    """

    waves: Floats  # (3, d): 1 where a column has cos x, cos 2x, sin 2x

    units: ClassVar[str] = "own"

    @property
    def n_features(self) -> int:
        """How many columns rows have after the map."""
        return self.n_columns + int(np.count_nonzero(self.waves))

    @property
    def words(self) -> str:
        """What is curved, and how many of it, for people."""
        return f"{plural(int(np.count_nonzero(self.waves)), 'cosine')} of columns"

    @cached_property
    def _columns(self) -> tuple[Index, list[Index]]:
        """The columns that have a wave, and the places among them of those that have each."""
        waving = np.flatnonzero(self.waves.any(axis=0))
        return waving, [np.flatnonzero(one) for one in self.waves[:, waving]]

    def __call__(self, rows: Array, *, fine: bool = False) -> Array:
        """Mapped rows in float32, or `fine`, in the namespace and on the device of the rows."""
        found = self.features(rows, fine=fine)
        found[:, self.n_columns :] *= math.sqrt(2)
        return found

    def features(self, rows: Array, *, fine: bool = False) -> Array:
        """[c, f] of rows."""
        # Rows as columns: what is computed lies together. Of cosines few are computed, since
        # cos 2x = 2 cos² x - 1 and sin 2x = 2 sin x cos x.
        z, xp = self.standardised(rows, fine).T, arrays.namespace(rows)
        waving, (once, twice, sines) = self._columns
        x = arrays.pick(z, waving)
        cosines = xp.cos(x)
        doubled = arrays.pick(cosines, twice)
        doubled *= 2 * doubled
        doubled -= 1
        crossed = xp.sin(arrays.pick(x, sines))
        crossed *= 2 * arrays.pick(cosines, sines)
        return xp.concat((z, arrays.pick(cosines, once), doubled, crossed), axis=0).T

    def through(self, across: Floats) -> Floats:
        """M times `across`: what [c, f] is multiplied with for mapped rows times `across`."""
        d = self.n_columns
        return np.concatenate([across[:d], math.sqrt(2) * across[d:]])

    def pulled_back(self, rows: Floats, slopes: Floats) -> Floats:
        """Gradients in columns (n, d) of a function whose gradients in features are `slopes`."""
        z, start = np.asarray(self.standardised(rows, fine=True)), self.n_columns
        along = slopes[:, :start].copy()
        steep = (-np.sin(z), -2 * np.sin(2 * z), 2 * np.cos(2 * z))
        for wave, slope in zip(self.waves > 0, steep, strict=True):
            end = start + int(wave.sum())
            along[:, wave] += math.sqrt(2) * slopes[:, start:end] * slope[:, wave]
            start = end
        return np.asarray(along * self.per_unit)


def curve_map(center: Floats, scale: Floats, sample: Floats, size: int | None = None) -> CurveMap:
    """The map for columns of this centre and scale, which is 0 for a constant column.

    `sample` are some rows of all sets, as they are: for the number of different values of each
    column. There are at most `size` features, if it is given.
    """
    per_unit = np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)
    # With m different values, x and m - 2 features span every function of them but constants.
    distinct = np.array([len(np.unique(column)) for column in ((sample - center) * per_unit).T])
    waves = (scale > 0) & (distinct > 2 + np.arange(WAVES)[:, None])
    if size is not None:
        waves &= np.cumsum(waves).reshape(waves.shape) <= size
    return CurveMap(center, per_unit, waves.astype(np.float64))


# ---- many columns: landmarks ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LandmarkMap(_Columns):
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

    @cached_property
    def _single(self) -> tuple[np.ndarray, ...]:
        """P, landmarks as y is multiplied with them, half their squares, and the mixing."""
        return tuple(np.ascontiguousarray(one, dtype=np.float32) for one in self._double)

    @property
    def _double(self) -> tuple[Floats, ...]:
        half = np.sum(self.landmarks**2, axis=1) / 2
        return self.axes, self.landmarks.T / self.width, half, self.mixing

    def features(self, rows: Array, *, fine: bool = False) -> Array:
        xp = arrays.namespace(rows)
        z = self.standardised(rows, fine)
        axes, landmarks, half, _ = self._double if fine else self._single
        with arrays.full_precision(z):
            y = xp.clip(z @ arrays.like(axes, z), -SQUARES_ARE_SAFE, SQUARES_ARE_SAFE)
            near = y @ arrays.like(landmarks, z)
        near -= arrays.like(half, z)[None, :]
        near -= xp.sum(y * y, axis=1)[:, None] / (2 * self.width**2)
        return xp.concat((y, xp.exp(xp.clip(near, -math.inf, 0.0))), axis=1)

    def __call__(self, rows: Array, *, fine: bool = False) -> Array:
        m, features = self.axes.shape[1], self.features(rows, fine=fine)
        mixing = arrays.like(self.mixing if fine else self._single[3], features)
        with arrays.full_precision(features):
            near = features[:, m:] @ mixing
        return arrays.namespace(features).concat((features[:, :m], near), axis=1)

    def through(self, across: Floats) -> Floats:
        m = self.axes.shape[1]
        return np.concatenate([across[:m], self.mixing @ across[m:]])

    def pulled_back(self, rows: Floats, slopes: Floats) -> Floats:
        m = self.axes.shape[1]
        y, near = np.split(np.asarray(self.features(rows, fine=True)), [m], axis=1)
        steep = near * (slopes[:, m:] @ self.mixing.T)
        towards = steep @ self.landmarks - steep.sum(axis=1, keepdims=True) * (y / self.width)
        return np.asarray(((slopes[:, :m] + towards / self.width) @ self.axes.T) * self.per_unit)


RowMap = CurveMap | LandmarkMap


def landmark_map(
    center: Floats, per_unit: Floats, samples: Sequence[Floats], size: int | None = None
) -> LandmarkMap:
    """The map for columns of this centre and these units, which are 0 for a constant column.

    `samples` are some rows of every set, as they are: each has as many landmarks begin with its
    rows as any other. `size` is the number of landmarks.
    """
    z = [(rows - center) * per_unit for rows in samples]
    axes = _principal(np.concatenate(z))
    y = [rows @ axes for rows in z]
    y = [rows[_ordered(rows)] for rows in y]
    every = np.concatenate(y)
    every = every[_ordered(every)]
    width = _BANDWIDTH * _median_distance(every)
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
        drawn.append(rows[np.argsort(_uniforms(_DRAW_SEED, len(rows)), kind="stable")])
    longest = max(len(rows) for rows in drawn)
    each = [(i, k) for i in range(longest) for k, rows in enumerate(drawn) if i < len(rows)]
    return np.stack([drawn[k][i] for i, k in each[:size]])


def _squared_distances(x: Floats, y: Floats) -> Floats:
    """(n, k): between rows of one and rows of the other."""
    squares = np.sum(x**2, axis=1)[:, None] + np.sum(y**2, axis=1)[None, :]
    return np.asarray(np.maximum(squares - 2 * (x @ y.T), 0.0))


def _uniforms(seed: int, n: int) -> Floats:
    """Uniform numbers between 0 and 1, neither included: the same on every machine."""
    raw = np.random.PCG64(seed).random_raw(n)
    return np.asarray(((raw >> np.uint64(11)) + 0.5) * 2.0**-53)


def _ordered(y: Floats) -> Index:
    """An order of rows that depends on them alone: along a line, of no sign, as axes have none."""
    return np.argsort(y**2 @ ndtri(_uniforms(_ORDER_SEED, y.shape[1])), kind="stable")


def _median_distance(rows: Floats) -> float:
    """The median distance of two of the rows; that of normal ones where it is 0 or unknown."""
    some = rows[:: max(1, len(rows) // _DISTANCE_ROWS)][:_DISTANCE_ROWS]
    squared = [np.sum((some[k + 1 :] - row) ** 2, axis=1) for k, row in enumerate(some)]
    found = np.sqrt(np.concatenate([np.zeros(0), *squared]))
    median = float(np.median(found)) if len(found) else 0.0
    return median if median > 0 else math.sqrt(2 * rows.shape[1])
