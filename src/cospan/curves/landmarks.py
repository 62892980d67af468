"""A map for many columns: how near a row is to each of some hundred landmarks.

Of hundreds of columns (pictures, embeddings) single ones say little, and random features of all of
them need thousands to say as much as distances to some hundred places where the rows are. So rows
go to their principal axes, and from there to Nyström's features of a Gaussian kernel:

    y = z P      f_l = exp(-‖y - c_l‖²/2h²)      x → [y, f K^(-1/2)]     K_lm = f_l(c_m)

A landmark c_l is the mean of a few rows that are near to each other, whichever set they are in.
So no landmark is a row, and none knows a set. The kernel's features spread as far as the axes do
in all. Which rows landmarks begin with depends on the rows, not on their order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._text import plural
from cospan._tolerance import LANDMARKS_APART, SQUARES_ARE_SAFE, rank_in_gram
from cospan._types import Floats
from cospan.curves.map import median_distance, ordered, uniforms
from cospan.curves.rows import RowMap

# Principal axes kept. What the weaker ones of pictures add is noise, and time.
AXES = 100
# Landmarks at most, and rows for each of them.
MOST_LANDMARKS = 1500
_ROWS_EACH = 3
# Rows whose mean is a landmark.
_NEIGHBOURS = 5
# h, of the median distance of two rows.
BANDWIDTH = 0.75
_DRAW_SEED = 20_04


@dataclass(frozen=True, eq=False)
class LandmarkMap(RowMap):
    """Rows on their principal axes, and how near they are to landmarks; see the module."""

    center: Floats
    per_unit: Floats
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
        return "nearness to {landmarks}".format(landmarks=plural(len(self.landmarks), "landmark"))

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


def landmarks_for(n_rows: int) -> int:
    """How many landmarks so many rows can have.

    >>> landmarks_for(90), landmarks_for(1700), landmarks_for(100_000)
    (30, 566, 1500)
    """
    return max(1, min(MOST_LANDMARKS, n_rows // _ROWS_EACH))


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
    width = BANDWIDTH * median_distance(every)
    size = landmarks_for(len(every)) if size is None else size
    landmarks = _means_of_neighbours(_begun_with(y, size), every) / width
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


def _means_of_neighbours(begun: Floats, every: Floats) -> Floats:
    """The mean of the rows nearest to each, itself included."""
    few = min(_NEIGHBOURS, len(every))
    near = np.argpartition(_squared_distances(begun, every), few - 1, axis=1)[:, :few]
    return np.asarray(every[near].mean(axis=1))


def _squared_distances(x: Floats, y: Floats) -> Floats:
    """(n, k): between rows of one and rows of the other."""
    squares = np.sum(x**2, axis=1)[:, None] + np.sum(y**2, axis=1)[None, :]
    return np.asarray(np.maximum(squares - 2 * (x @ y.T), 0.0))
