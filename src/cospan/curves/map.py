"""The map x → [x, √2 cos(Wx + b)], and how W and b are chosen.

Up to a bounded number of columns, every column x (standardised) gets the three features cos x,
cos 2x and sin 2x. The covariances of the mapped rows then hold their products, which is how two
columns together are seen: on sets with equal means and covariances, and on tables, this separated
better than three to ten times as many random features of all columns at once, better than such
features made orthogonal and than Nyström features of as many rows (benchmarks/bench_curves.py). A
column of few different values gets fewer: of two values every function is a line.

Where columns are many (pictures, embeddings), random features of all columns at once stand in:
rows of W are normal, with a bandwidth of half the median distance of two rows, and b is uniform.
In blocks of as many rows as there are columns, W is made orthogonal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import SQUARES_ARE_SAFE
from cospan._types import Floats
from cospan.curves.bits import normals, uniforms

__all__ = ["CurveMap", "curve_map", "random_size"]


# Frequencies and phases of the features of one column, in its standard deviations. A sine is a
# cosine a quarter turn later. The sine of the lower frequency is the line x nearly; what is beyond
# the higher one aliases.
WAVES = ((1.0, 0.0), (2.0, 0.0), (2.0, -math.pi / 2))
# Up to this many columns each gets its own features; beyond, random features see all at once.
MOST_COLUMNS = 100
# Random features of many columns, at least and at most: more of them cost more than they see.
RANDOM_FEATURES = (100, 600)
# Of the median distance of two rows.
BANDWIDTH = 0.5
# Rows whose distances are looked at.
_DISTANCE_ROWS = 500
# Units from the origin up to which taking the centre off in float32 costs a cosine 1e-5 at most.
_NEAR = 64.0


@dataclass(frozen=True, eq=False)
class CurveMap:
    """A fixed map of rows to themselves, standardised, and their curved features.

    Examples
    --------
    >>> plain = CurveMap(np.zeros(1), np.ones(1), np.array([[1.0]]), np.array([0.0]))
    >>> plain(np.array([[0.0], [np.pi]])).round(3)
    array([[ 0.   ,  1.414],
           [ 3.142, -1.414]], dtype=float32)
    """

    #: (d,): every column loses its centre and is multiplied by `per_unit`, which is 0 for a
    #: constant
    center: Floats
    per_unit: Floats
    frequencies: Floats  # (F, d): W, in standardised coordinates
    phases: Floats  # (F,): b

    @property
    def n_columns(self) -> int:
        """How many columns rows have before the map."""
        return len(self.center)

    @property
    def n_features(self) -> int:
        """How many they have after it."""
        return len(self.center) + len(self.phases)

    def __call__(self, rows: Array) -> Array:
        """(n, d + F): mapped rows in float32, in the namespace and on the device of the rows."""
        z, waves = self.columns_and_waves(rows)
        waves *= math.sqrt(2)
        return arrays.namespace(rows).concat((z, waves), axis=1)

    def columns_and_waves(self, rows: Array) -> tuple[Array, Array]:
        """Standardised rows (n, d) and cos(Wx + b) (n, F), in float32."""
        xp = arrays.namespace(rows)
        z = xp.astype(self.standardised(rows), xp.float32, copy=False)
        across, phases = (arrays.like(one, z) for one in self._single)
        with arrays.full_precision(z):
            angles = z @ across
        angles += phases[None, :]
        return z, xp.cos(angles)

    @cached_property
    def _single(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Wᵀ and b as rows are multiplied with them."""
        across = np.ascontiguousarray(self.frequencies.T, dtype=np.float32)
        return across, self.phases.astype(np.float32)

    def standardised(self, rows: Array) -> Array:
        """Rows less their centre and in units.

        In float64 unless float32 rows are so near to the origin that they lose no digits.
        """
        xp = arrays.namespace(rows)
        if rows.dtype != xp.float32 or self._farthest > _NEAR:
            rows = xp.astype(rows, xp.float64, copy=False)
        z = rows - arrays.like(self.center, rows)[None, :]
        z *= arrays.like(self.per_unit, rows)[None, :]
        # Its squares stay numbers in float32, and so do its cosines.
        return xp.clip(z, -SQUARES_ARE_SAFE, SQUARES_ARE_SAFE)

    @cached_property
    def _farthest(self) -> float:
        """How far the centre is from the origin, in units."""
        return float(np.max(np.abs(self.center) * self.per_unit, initial=0.0))

    def exact(self, rows: Floats) -> Floats:
        """The same in float64, on the host: for gradients."""
        z = self.standardised(np.asarray(rows, dtype=np.float64))
        angles = z @ self.frequencies.T + self.phases
        return np.concatenate([z, math.sqrt(2) * np.cos(angles)], axis=1)

    def pulled_back(self, rows: Floats, slopes: Floats) -> Floats:
        """Gradients in columns (n, d) of a function whose gradients in features are `slopes`."""
        z = self.standardised(np.asarray(rows, dtype=np.float64))
        bent = -math.sqrt(2) * np.sin(z @ self.frequencies.T + self.phases)
        d = self.n_columns
        along = slopes[:, :d] + (slopes[:, d:] * bent) @ self.frequencies
        return np.asarray(along * self.per_unit)


def random_size(n_rows: int) -> int:
    """How many random features so many rows can tell something about.

    Examples
    --------
    >>> random_size(30), random_size(900), random_size(100_000)
    (100, 300, 600)
    """
    least, most = RANDOM_FEATURES
    return min(most, max(least, n_rows // 3))


def curve_map(center: Floats, scale: Floats, sample: Floats, size: int | None = None) -> CurveMap:
    """The map for columns of this centre and scale.

    Parameters
    ----------
    center, scale : ndarray, (d,)
        `scale` is 0 for a constant column.
    sample : ndarray, (k, d)
        Some rows of all sets, as they are: for the number of different values of each column and
        for the distances between rows.
    size : int, optional
        How many features. Those of single columns come first if there is room for all of them;
        the rest are random. By default those of single columns where the columns are few.
    """
    per_unit = np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)
    varies = np.flatnonzero(scale > 0)
    z = (sample - center) * per_unit
    W, b = _of_columns(z, varies)
    if size is None and len(varies) <= MOST_COLUMNS:
        size = len(b)
    size = random_size(len(sample)) if size is None else size
    if len(b) > size:
        W, b = W[:0], b[:0]
    if len(b) < size:
        more = size - len(b)
        W = np.concatenate([W, _at_random(z, varies, more)])
        b = np.concatenate([b, 2 * math.pi * uniforms(_PHASE_SEED, (more,))])
    return CurveMap(center, per_unit, W, b)


# Any two numbers serve; a map of more features begins with those of a smaller one.
_NORMAL_SEED, _PHASE_SEED = 20_01, 20_02


def _of_columns(z: Floats, varies: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """The features of single columns: all of the first wave, then of the next."""
    distinct = np.array([len(np.unique(z[:, j])) for j in varies], dtype=int)
    entries = [
        (j, frequency, phase)
        for i, (frequency, phase) in enumerate(WAVES)
        # With m different values, x and m - 2 features span every function of them but constants.
        for j in varies[distinct > i + 2].tolist()
    ]
    W = np.zeros((len(entries), z.shape[1]))
    for row, (j, frequency, _) in enumerate(entries):
        W[row, j] = frequency
    return W, np.array([phase for _, _, phase in entries])


def _at_random(z: Floats, varies: NDArray[np.intp], size: int) -> Floats:
    """Random features of all columns at once."""
    d = len(varies)
    W = np.zeros((size, z.shape[1]))
    if d == 0:
        return W
    drawn = normals(_NORMAL_SEED, (-(-size // d), d, d))
    # Orthogonal within a block, of the lengths that normal rows have.
    lengths = np.sqrt(np.sum(drawn**2, axis=2, keepdims=True))
    turned = np.stack([_orthogonal(block) for block in drawn]) * lengths
    W[:, varies] = turned.reshape(-1, d)[:size] / (BANDWIDTH * median_distance(z[:, varies]))
    return W


def _orthogonal(block: Floats) -> Floats:
    """The orthogonal factor of a square matrix, its signs fixed."""
    Q, R = np.linalg.qr(block.T)
    return np.asarray((Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)).T)


def median_distance(rows: Floats) -> float:
    """The median distance of two of the rows; that of normal ones where it is 0 or unknown."""
    step = max(1, len(rows) // _DISTANCE_ROWS)
    found = pdist(rows[::step][:_DISTANCE_ROWS])
    median = float(np.median(found)) if len(found) else 0.0
    return median if median > 0 else math.sqrt(2 * rows.shape[1])
