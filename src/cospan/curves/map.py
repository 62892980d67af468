"""The map x → [x, √2 cos(Wx + b)], and how W and b are chosen.

Up to a bounded number of columns, every column x (standardised) gets the three features cos x,
cos 2x and sin 2x. The covariances of the mapped rows then hold their products, which is how two
columns together are seen: on sets with equal means and covariances, and on tables, this separated
better than three to ten times as many random features of all columns at once, better than such
features made orthogonal and than Nyström features of as many rows (benchmarks/bench_curves.py). A
column of few different values gets fewer: of two values every function is a line.

Asked for more features than that, random ones of all columns at once follow: rows of W are normal,
with a bandwidth of half the median distance of two rows, and b is uniform. In blocks of as many
rows as there are columns, W is made orthogonal. Where columns are many (pictures, embeddings),
landmarks serve better: see `landmarks`.

The numbers are the same on every machine and in every version. NumPy promises the bits of its bit
generators, not the numbers that its distributions make of them. So only the bits are taken from it.
Uniform numbers are those bits as fractions, exactly; normal ones follow through the inverse of the
normal distribution, right to rounding everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from scipy.special import ndtri

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._text import plural
from cospan._types import Floats
from cospan.curves.rows import RowMap


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


# Frequencies and phases of the features of one column, in its standard deviations. A sine is a
# cosine a quarter turn later. The sine of the lower frequency is the line x nearly; what is beyond
# the higher one aliases.
WAVES = ((1.0, 0.0), (2.0, 0.0), (2.0, -math.pi / 2))
# Up to this many columns each gets its own features; beyond, landmarks see all at once.
MOST_COLUMNS = 100
# Of the median distance of two rows.
BANDWIDTH = 0.5
# Rows whose distances are looked at.
_DISTANCE_ROWS = 500


@dataclass(frozen=True, eq=False)
class CurveMap(RowMap):
    """A fixed map of rows to themselves, standardised, and their curved features.

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

    units: ClassVar[str] = "own"

    @property
    def n_features(self) -> int:
        return len(self.center) + len(self.phases)

    @property
    def words(self) -> str:
        return "{cosines} of columns".format(cosines=plural(len(self.phases), "cosine"))

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
    def _waving(self) -> tuple[NDArray[np.intp], ...] | None:
        """The columns that each of the waves is of; None where there are other features."""
        found = []
        start = 0
        for frequency, phase in WAVES:
            here = self.phases[start:] == phase
            here &= self.frequencies[start:].max(axis=1, initial=0.0) == frequency
            length = len(here) if here.all() else int(np.argmin(here))
            found.append(self.frequencies[start : start + length].argmax(axis=1))
            start += length
        rebuilt = _single_columns(found, self.n_columns)
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
    W, b = _of_columns(z, varies)
    size = len(b) if size is None else size
    if len(b) > size:
        W, b = W[:0], b[:0]
    if len(b) < size:
        more = size - len(b)
        W = np.concatenate([W, _at_random(z, varies, more)])
        b = np.concatenate([b, 2 * math.pi * uniforms(_PHASE_SEED, (more,))])
    return CurveMap(center, per_unit, W, b)


# Any numbers serve; a map of more features begins with those of a smaller one.
_NORMAL_SEED, _PHASE_SEED, _ORDER_SEED = 20_01, 20_02, 20_03


def _of_columns(z: Floats, varies: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """The features of single columns: all of the first wave, then of the next."""
    distinct = np.array([len(np.unique(z[:, j])) for j in varies], dtype=int)
    # With m different values, x and m - 2 features span every function of them but constants.
    return _single_columns([varies[distinct > i + 2] for i in range(len(WAVES))], z.shape[1])


def _single_columns(columns: Sequence[NDArray[np.intp]], d: int) -> tuple[Floats, Floats]:
    """W and b of the waves of these columns."""
    W, b = np.zeros((sum(map(len, columns)), d)), np.zeros(sum(map(len, columns)))
    start = 0
    for (frequency, phase), chosen in zip(WAVES, columns, strict=True):
        rows = np.arange(start, start + len(chosen))
        W[rows, chosen] = frequency
        b[rows] = phase
        start += len(chosen)
    return W, b


def _columns_and_waves(
    z: NDArray[np.floating],
    cosines: NDArray[np.intp],
    double_cosines: NDArray[np.intp],
    double_sines: NDArray[np.intp],
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


def _rows(x: NDArray[np.float32], chosen: NDArray[np.intp]) -> NDArray[np.float32]:
    return x if len(chosen) == len(x) else x[chosen]


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
    distance = median_distance(_spread_out(z[:, varies]))
    W[:, varies] = turned.reshape(-1, d)[:size] / (BANDWIDTH * distance)
    return W


def _spread_out(z: Floats) -> Floats:
    """As many rows as distances are looked at of: the same ones in whatever order rows come."""
    order = ordered(z)
    return z[order[np.linspace(0, len(z) - 1, min(len(z), _DISTANCE_ROWS)).astype(np.intp)]]


def ordered(y: Floats) -> NDArray[np.intp]:
    """An order of rows that depends on them alone: along a line, of no sign."""
    # Axes have no sign; squares of coordinates have no use for one.
    along = y**2 @ normals(_ORDER_SEED, (y.shape[1],))
    return np.argsort(along, kind="stable")


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
