"""Curved features: a fixed map of every row to more columns, before anything is summarised.

Means and covariances cannot see a ring inside a blob. Those of curved features can: every row x
becomes [y, f(y)], its place and how near that is to each of some hundred landmarks, and nothing
after that changes. Summaries of mapped rows merge, stream and run on Dask like any others. With
k_l(y) a kernel about the landmark c_l, f are Nyström's features

    f = k K^(-1/2)      K_lm = k_l(c_m)

A landmark is the mean of a few rows that are near to each other, whichever set they are in. So no
landmark is a row, and none knows a set. Which rows landmarks begin with depends on the rows, not on
their order; of NumPy's generators only the bits are taken, which it promises to keep.

**Tables** (:class:`ScoreMap`): a row's place are the normal scores of its columns, learned without
labels, and 0 and 1 in columns of two values; k = exp(-Σ_j |y_j - c_j| / h). Distances that are sums
over columns make a kernel with a crease at every landmark in every column: its features see
thresholds, and through their products thresholds in several columns at once, as trees do.

**Pictures and embeddings** (:class:`LandmarkMap`; many columns of one unit): the place is that on
the principal axes, k = exp(-‖y - c‖²/2h²).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from cospan.base import arrays
from cospan.base.text import plural
from cospan.base.tolerance import LANDMARKS_APART, SQUARES_ARE_SAFE, rank_in_gram
from cospan.base.types import Array, Floats, Index

# Columns that a table has at most; and those with more than two values, where all share one unit.
MOST_COLUMNS, MOST_OF_MANY_VALUES = 500, 100
# h, of the median distance of two rows: of scores, and on axes. And the rows that are looked at.
_SCORES_BANDWIDTH, _BANDWIDTH = 2.0, 0.75
_DISTANCE_ROWS, _SCALED_ROWS = 500, 1000
# Principal axes kept. What the weaker ones of pictures add is noise, and time.
AXES = 100
# Landmarks at most, among scores and on axes; rows for each of them, and rows whose mean is one.
MOST_AMONG_SCORES, MOST_LANDMARKS = 400, 1500
_ROWS_EACH = 3
_NEIGHBOURS = 5
# Values of a column that have a score of their own; between them scores are lines. Beyond the ends
# they go on by so many deviations.
_KNOTS = 64
_BEYOND = 20.0
# Rows whose distances to landmarks are computed at once.
_AT_ONCE = 512
# Any numbers serve.
_ORDER_SEED, _DRAW_SEED = 20_03, 20_04


@dataclass(frozen=True, eq=False, kw_only=True)
class _Landmarks:
    """What both maps are: places, and how near they are to landmarks.

    A map takes a row x to [y, k] M: its place y, kernels k, and a fixed matrix M. Scoring
    multiplies what it wants from the right, so that M costs nothing there.
    """

    landmarks: Floats  # (L, m): their places
    mixing: Floats  # (L, r): K^(-1/2), scaled
    width: float  # h

    @property
    def n_features(self) -> int:
        """How many columns rows have after the map."""
        return int(self.landmarks.shape[1] + self.mixing.shape[1])

    @property
    def words(self) -> str:
        """What is curved, and how many of it, for people."""
        return f"nearness to {plural(len(self.landmarks), 'landmark')}"

    def places(self, rows: Array, fine: bool) -> Array:
        """y of rows, in float32 or `fine`."""
        raise NotImplementedError

    def distances(self, y: Array) -> Array:
        """-log k of places, (n, L), or what is that up to rounding."""
        raise NotImplementedError

    def features(self, rows: Array, *, fine: bool = False) -> Array:
        """[y, k] of rows."""
        xp, y = arrays.namespace(rows), self.places(rows, fine)
        return xp.concat((y, xp.exp(-xp.clip(self.distances(y), 0.0, math.inf))), axis=1)

    def __call__(self, rows: Array, *, fine: bool = False) -> Array:
        """Mapped rows in float32, or `fine`, in the namespace and on the device of the rows."""
        m, features = self.landmarks.shape[1], self.features(rows, fine=fine)
        with arrays.full_precision(features):
            near = features[:, m:] @ arrays.like(self.mixing, features)
        return arrays.namespace(features).concat((features[:, :m], near), axis=1)

    def through(self, across: Floats) -> Floats:
        """M times `across`: what [y, k] is multiplied with for mapped rows times `across`."""
        m = self.landmarks.shape[1]
        return np.concatenate([across[:m], self.mixing @ across[m:]])


def _chosen_landmarks(
    y: Sequence[Floats], apart: Callable[[Floats, Floats], Floats], most: int, bandwidth: float
) -> tuple[Floats, float]:
    """At most so many landmarks (L, m), and h; `y` are places of some rows of every set."""
    size = max(1, min(most, sum(map(len, y)) // _ROWS_EACH))
    y = [rows[_ordered(rows)] for rows in y]
    every = np.concatenate(y)
    every = every[_ordered(every)]
    some = every[:: max(1, len(every) // _DISTANCE_ROWS)][:_DISTANCE_ROWS]
    found = apart(some, some)[np.triu_indices(len(some), 1)]
    median = float(np.median(found)) if len(found) else 0.0
    # That of normal rows where it is 0 or unknown.
    width = bandwidth * (median if median > 0 else math.sqrt(2 * every.shape[1]))
    # A landmark is the mean of the rows nearest to one, itself included.
    few = min(_NEIGHBOURS, len(every))
    near = np.argpartition(apart(_begun_with(y, size), every), few - 1, axis=1)[:, :few]
    return every[near].mean(axis=1, dtype=np.float64), width


def _mixing(kernel: Floats) -> Floats:
    """K^(-1/2) (L, r), less what is weak."""
    values, vectors = np.linalg.eigh(kernel)
    apart = values > LANDMARKS_APART * values[-1]
    return np.asarray(vectors[:, apart] / np.sqrt(values[apart]))


def _begun_with(y: Sequence[Floats], size: int) -> Floats:
    """Rows of every set in turn, drawn at random; which set comes first, its rows decide."""
    drawn = []
    for rows in sorted(y, key=lambda rows: (len(rows), float(np.sum(rows**2, dtype=float)))):
        drawn.append(rows[np.argsort(_uniforms(_DRAW_SEED, len(rows)), kind="stable")])
    longest = max(len(rows) for rows in drawn)
    each = [(i, k) for i in range(longest) for k, rows in enumerate(drawn) if i < len(rows)]
    return np.stack([drawn[k][i] for i, k in each[:size]])


def _uniforms(seed: int, n: int) -> Floats:
    """Uniform numbers between 0 and 1, neither included: the same on every machine."""
    raw = np.random.PCG64(seed).random_raw(n)
    return np.asarray(((raw >> np.uint64(11)) + 0.5) * 2.0**-53)


def _ordered(y: Floats) -> Index:
    """An order of rows that depends on them alone: along a line, of no sign, as axes have none."""
    return np.argsort(y**2 @ ndtri(_uniforms(_ORDER_SEED, y.shape[1])), kind="stable")


# ---- tables: scores of columns ----------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreMap(_Landmarks):
    """Rows as the normal scores of their columns, and how near they are to landmarks.

    >>> rows = np.linspace(0, 1, 30)[:, None] ** 9
    >>> score_map([rows])(rows[:2]).round(2)[:, 0]
    array([-2.13, -1.64], dtype=float32)
    """

    values: Floats  # (d, k): some values of each column, rising, the last one as often as needed
    scores: Floats  # (d, k): theirs; between 0 and 1 of a column of two values

    @property
    def n_columns(self) -> int:
        """How many columns rows have before the map."""
        return len(self.values)

    @cached_property
    def two(self) -> np.ndarray:
        """(d,): is it a column of at most two values?"""
        return np.asarray((self.scores >= 0).all(axis=1))

    def places(self, rows: Array, fine: bool) -> Array:
        xp, x = arrays.namespace(rows), arrays.to_numpy(rows)
        y = np.empty(x.shape, dtype=np.float64 if fine else np.float32)
        for j, known in enumerate(zip(x.T, self.values, self.scores, strict=True)):
            y[:, j] = np.interp(*known)
        return arrays.like(y, xp.astype(rows[:0, :], xp.float64 if fine else xp.float32))

    def distances(self, y: Array) -> Array:
        return _city_blocks(y, self.landmarks, self.two) / self.width


def are_of_a_table(samples: Sequence[Floats], units: str) -> bool:
    """Are rows those of a table, whose columns are each worth a score?"""
    rows = np.concatenate(samples)
    few = len(rows.T) <= MOST_COLUMNS
    if units == "own" or not few:
        return few
    between = (rows > rows.min(axis=0)) & (rows < rows.max(axis=0))
    return int(between.any(axis=0).sum()) <= MOST_OF_MANY_VALUES


def score_map(samples: Sequence[Floats]) -> ScoreMap:
    """The map for columns of which `samples` are some rows of every set, as they are."""
    known = [_scores(column) for column in np.concatenate(samples).T]
    most = max(len(values) for values, _ in known)
    values, scores = (
        np.stack([np.pad(one, (0, most - len(one)), mode="edge") for one in of_columns])
        for of_columns in zip(*known, strict=True)
    )
    none = np.zeros((1, len(values)))
    found = ScoreMap(landmarks=none, mixing=none[:, :1], width=1.0, values=values, scores=scores)
    y = [np.asarray(found.places(rows, fine=False)) for rows in samples]
    landmarks, width = _chosen_landmarks(
        y,
        lambda a, b: np.asarray(_city_blocks(a, b, found.two)),
        MOST_AMONG_SCORES,
        _SCORES_BANDWIDTH,
    )
    found = replace(found, landmarks=landmarks, width=width)
    mixing = _mixing(np.exp(-found.distances(landmarks)))
    # Nearness varies as much as the scores do, in all.
    some = np.concatenate(y)
    some = some[_ordered(some)][:: max(1, len(some) // _SCALED_ROWS)].astype(np.float64)
    total = float((np.exp(-found.distances(some)) @ mixing).var(axis=0).sum())
    mixing *= math.sqrt(float(some.var(axis=0).sum()) / total) if total > 0 else 1.0
    return replace(found, mixing=mixing)


def _scores(column: Floats) -> tuple[Floats, Floats]:
    """Values of a column, rising, and their scores."""
    values, counts = np.unique(column, return_counts=True)
    if len(values) <= 2:
        return values, np.arange(len(values), dtype=np.float64)
    ranks = (np.cumsum(counts) - counts / 2) / len(column)
    if len(values) > _KNOTS:
        levels = np.linspace(0, 1, _KNOTS)
        kept = np.unique(np.minimum(np.searchsorted(ranks, levels), len(values) - 1))
        values, ranks = values[kept], ranks[kept]
    return _going_on(values, float(column.std())), _going_on(ndtri(ranks), 1.0)


def _going_on(knots: Floats, unit: float) -> Floats:
    """Knots with one more at each end, many units away."""
    far = _BEYOND * unit
    return np.concatenate([knots[:1] - far, knots, knots[-1:] + far])


def _city_blocks(y: Array, at: Floats, two: np.ndarray) -> Array:
    """(n, L): Σ |y_j - c_j|. Of a column of 0 and 1 it is a product: y + c - 2yc."""
    xp, there = arrays.namespace(y), arrays.like(at, y)
    steps = arrays.like(np.where(two, 1 - 2 * at, 0.0), y)
    with arrays.full_precision(y):
        found = y @ steps.T
    found += xp.sum(arrays.pick(there, two, axis=1), axis=1)[None, :]
    for start in range(0, y.shape[0], _AT_ONCE):  # so that a part stays in the cache
        part, rows = found[start : start + _AT_ONCE, :], y[start : start + _AT_ONCE, :]
        for j in np.flatnonzero(~two).tolist():
            part += xp.abs(rows[:, j, None] - there[None, :, j])
    return found


# ---- pictures and embeddings: principal axes ----------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class LandmarkMap(_Landmarks):
    """Rows on their principal axes, and how near they are to landmarks."""

    #: (d,): every column loses its centre and is multiplied by `per_unit`, 0 for a constant
    center: Floats
    per_unit: Floats
    axes: Floats  # (d, m): P, in standardised coordinates

    @property
    def n_columns(self) -> int:
        """How many columns rows have before the map."""
        return len(self.center)

    def places(self, rows: Array, fine: bool) -> Array:
        """Less their centre in float64, so that rows far from the origin keep their digits."""
        xp = arrays.namespace(rows)
        rows = xp.astype(rows, xp.float64, copy=False)
        z = rows - arrays.like(self.center, rows)[None, :]
        z *= arrays.like(self.per_unit, rows)[None, :]
        # Its squares stay numbers in float32, and so do its features.
        z = xp.clip(z, -SQUARES_ARE_SAFE, SQUARES_ARE_SAFE)
        z = xp.astype(z, xp.float64 if fine else xp.float32, copy=False)
        with arrays.full_precision(z):
            y = z @ arrays.like(self.axes, z)
        return xp.clip(y, -SQUARES_ARE_SAFE, SQUARES_ARE_SAFE)

    def distances(self, y: Array) -> Array:
        at = self.landmarks / self.width
        with arrays.full_precision(y):
            crossed = y @ arrays.like(at.T / self.width, y)
        own = arrays.namespace(y).sum(y * y, axis=1)[:, None] / (2 * self.width**2)
        return own - crossed + arrays.like(np.sum(at**2, axis=1) / 2, y)[None, :]


RowMap = ScoreMap | LandmarkMap


def landmark_map(center: Floats, per_unit: Floats, samples: Sequence[Floats]) -> LandmarkMap:
    """The map for columns of this centre and these units, which are 0 for a constant column.

    `samples` are some rows of every set, as they are: each has as many landmarks begin with its
    rows as any other.
    """
    z = [(rows - center) * per_unit for rows in samples]
    axes = _principal(np.concatenate(z))
    y = [rows @ axes for rows in z]
    landmarks, width = _chosen_landmarks(
        y, lambda a, b: np.sqrt(_squared_distances(a, b)), MOST_LANDMARKS, _BANDWIDTH
    )
    mixing = _mixing(np.exp(-_squared_distances(landmarks, landmarks) / (2 * width**2)))
    # Nearness is as large as the places are, in all.
    mixing *= math.sqrt(float(np.mean(np.sum(np.concatenate(y) ** 2, axis=1))))
    return LandmarkMap(
        landmarks=landmarks, mixing=mixing, width=width, center=center, per_unit=per_unit, axes=axes
    )


def _principal(z: Floats) -> Floats:
    """The axes along which rows vary most, (d, m)."""
    if len(z) >= z.shape[1]:
        return np.asarray(np.linalg.eigh(z.T @ z)[1][:, ::-1][:, :AXES])
    values, vectors = np.linalg.eigh(z @ z.T)
    keep = values > rank_in_gram(values[-1], len(z))
    found = z.T @ (vectors[:, keep] / np.sqrt(values[keep]))
    return np.asarray(found[:, ::-1][:, :AXES])


def _squared_distances(x: Floats, y: Floats) -> Floats:
    """(n, k): between rows of one and rows of the other."""
    squares = np.sum(x**2, axis=1)[:, None] + np.sum(y**2, axis=1)[None, :]
    return np.asarray(np.maximum(squares - 2 * (x @ y.T), 0.0))
