"""What the shift test looks at: features of the rows whose means are compared.

Two distributions are equal when all means are equal: of the columns, of their squares and
products, of whatever else is computed from a row. Each view is a family of such features. Its
statistic says how far the two sets' means are apart, in one of two ways (`sizes`). Σ |difference|^
power: with power 2 many small differences count as much as one large one, with a higher power one
large difference among many columns stands out. Of second moments, the fourth powers of the
eigenvalues of their difference: a few rows of a new kind change one direction, which need not be
any column's, and a single large eigenvalue stands out where the entries of the matrix do not.

================  =====================================================  ======================
view              features                                               sees
================  =====================================================  ======================
``location``      columns                                                means of columns
``discriminant``  strong and weak directions, at equal variance          means, across columns
``spread``        products of directions                                 covariances, new kinds
``length``        the squared length                                     scale, rows far out
``margins``       Legendre polynomials 1 to 4 of each column's rank      columns, in any way
``pairs``         products of polynomials 1 and 2 of two columns         dependence of columns
================  =====================================================  ======================

The features are learned from the pooled rows, before any label is looked at: that is what keeps
the permutation test exact. Columns are divided by their pooled standard deviation, so that units
do not matter, unless at least half of them span the same range, as pixels do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from cospan._tolerance import constant_column
from cospan.significance.sizes import Eigenvalues, PowerSum

__all__ = ["VIEWS", "Coordinates", "View", "principal", "statistic", "witness"]

Floats = NDArray[np.float64]

# Columns whose ranks are looked at one by one, and in pairs; wider rows are first rotated to as
# many leading directions. Pairs are three features each: 40 columns make 2,340.
MAX_MARGINS = 512
MAX_PAIRED = 40
# Directions whose products enter `spread`: more of them found no more on 64 pixels.
MAX_SPREAD = 32
# Share of the mean variance under the variances of directions, so that weak ones do not blow up:
# in `spread`, and in `discriminant`, which is there for steps across the weak ones.
_FLOOR = 0.1
_LOW_FLOOR = 1e-3
# Columns in one unit: at least half of them span at least this part of the widest range.
_SAME_RANGE = 0.9
# Numbers in a block of features, 16 MB.
_BLOCK = 2_000_000


class View(NamedTuple):
    """A family of features: their blocks, the size of differences, its weight in the test.

    A view's weight is its share of the false alarms. Location and spread are what most shifts
    change; the others need little of it, since what they see they see clearly. Where columns
    are strongly correlated, as pixels are, few directions hold the variance and most shifts show
    in their products: hence a weight for each end, columns without correlation and with.
    """

    name: str
    blocks: Callable[[Coordinates, Floats], Iterator[Floats]]
    size: PowerSum | Eigenvalues
    uncorrelated: float
    correlated: float

    def weight(self, at: Coordinates) -> float:
        return at.evenness * self.uncorrelated + (1 - at.evenness) * self.correlated


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Rows as the test sees them, learned from all rows without their labels.

    Attributes
    ----------
    varies : array of bool
        Columns that are not constant.
    centre, scale : array, (d,)
        Mean of each column that varies, and its standard deviation.
    common : array, (d,)
        What a standardised column is multiplied with for `directions`: 1, or its own deviation
        where all columns share a unit.
    directions : array, (d, k)
        Principal directions, strongest first.
    variances : array, (k,)
        Variances along them; `mean_variance` is their mean over all d.
    sorted_margins, sorted_pairs : array, (n, m)
        Sorted pooled values behind the ranks of `margins` and of `pairs`.
    """

    varies: NDArray[np.bool_]
    centre: Floats
    scale: Floats
    common: Floats
    directions: Floats
    variances: Floats
    mean_variance: float
    sorted_margins: Floats
    sorted_pairs: Floats

    @classmethod
    def fit(cls, pooled: Floats) -> Coordinates:
        varies = np.ptp(pooled, axis=0) > constant_column(pooled)
        rows = pooled[:, varies]
        centre = rows.mean(axis=0)
        width = np.max(np.abs(rows - centre), axis=0)  # squares of huge numbers stay in range
        scale = width * np.sqrt(np.mean(((rows - centre) / width) ** 2, axis=0))
        columns = (rows - centre) / scale
        spans = np.ptp(rows, axis=0)
        one_unit = np.mean(spans >= _SAME_RANGE * spans.max()) >= 0.5
        common = scale / np.sqrt(np.mean((scale / scale.max()) ** 2)) / scale.max()
        common = common if one_unit else np.ones_like(scale)
        directions, variances = principal(columns * common)
        mean_variance = float(np.mean(common**2))
        leading = columns * common @ directions[:, :MAX_PAIRED]
        ranked = [
            columns if columns.shape[1] <= most else leading for most in (MAX_MARGINS, MAX_PAIRED)
        ]
        margins, pairs = (np.sort(values, axis=0) for values in ranked)
        return cls(
            varies, centre, scale, common, directions, variances, mean_variance, margins, pairs
        )

    @property
    def evenness(self) -> float:
        """1 where all directions have the same variance, near 1/d where one has all of it."""
        total = self.mean_variance * len(self.centre)
        return float(total**2 / np.sum(self.variances**2) / len(self.centre))

    def columns(self, rows: Floats) -> Floats:
        """Columns that vary, standardised."""
        return np.asarray((rows[:, self.varies] - self.centre) / self.scale)

    def along(
        self, columns: Floats, exponent: float, floor: float, most: int | None = None
    ) -> Floats:
        """Coordinates along the leading directions, divided by a power of their variances."""
        damped = (self.variances[:most] + floor * self.mean_variance) ** exponent
        return np.asarray((columns * self.common) @ (self.directions[:, :most] / damped))

    def ranks(self, columns: Floats, ordered: Floats) -> Floats:
        """Midranks among the pooled values, from -1 to 1."""
        if columns.shape[1] != ordered.shape[1]:
            columns = (columns * self.common) @ self.directions[:, : ordered.shape[1]]
        n = len(ordered)
        ranks = np.empty_like(columns)
        for j, values in enumerate(ordered.T):
            below, upto = (
                np.searchsorted(values, columns[:, j], side) for side in ("left", "right")
            )
            ranks[:, j] = (below + upto) / n - 1
        return ranks


def principal(rows: Floats) -> tuple[Floats, Floats]:
    """Principal directions of centred rows, and the variances along them, largest first."""
    n, d = rows.shape
    tall = d <= n
    values, vectors = scipy.linalg.eigh(rows.T @ rows if tall else rows @ rows.T)
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    if not tall:
        keep = values > values[0] * n * np.finfo(float).eps
        values, vectors = values[keep], rows.T @ (vectors[:, keep] / np.sqrt(values[keep]))
    return vectors, values / n


def _location(at: Coordinates, rows: Floats) -> Iterator[Floats]:
    yield at.columns(rows)


def _discriminant(at: Coordinates, rows: Floats) -> Iterator[Floats]:
    yield at.along(at.columns(rows), 0.5, _LOW_FLOOR)


def _spread(at: Coordinates, rows: Floats) -> Iterator[Floats]:
    columns = at.columns(rows)
    # The fourth root of the variances: halfway between strong directions alone and all alike.
    along = at.along(columns, 0.25, _FLOOR, MAX_SPREAD)
    first, second = np.triu_indices(along.shape[1])
    yield along[:, first] * along[:, second] * np.where(first == second, 1, np.sqrt(2))


def _length(at: Coordinates, rows: Floats) -> Iterator[Floats]:
    yield np.sum((at.columns(rows) * at.common) ** 2, axis=1, keepdims=True)


def _margins(at: Coordinates, rows: Floats) -> Iterator[Floats]:
    x = at.ranks(at.columns(rows), at.sorted_margins)
    yield np.sqrt(3) * x
    yield np.sqrt(5) * (3 * x**2 - 1) / 2
    yield np.sqrt(7) * (5 * x**3 - 3 * x) / 2
    yield 3 * (35 * x**4 - 30 * x**2 + 3) / 8


def _pairs(at: Coordinates, rows: Floats) -> Iterator[Floats]:
    x = at.ranks(at.columns(rows), at.sorted_pairs)
    line, curve = np.sqrt(3) * x, np.sqrt(5) * (3 * x**2 - 1) / 2
    first, second = np.triu_indices(x.shape[1], 1)
    step = max(1, _BLOCK // len(x))
    for left, right in ((line, line), (line, curve), (curve, line)):
        for start in range(0, len(first), step):
            part = slice(start, start + step)
            yield left[:, first[part]] * right[:, second[part]]


# Chosen for power on the designs of benchmarks/bench_shift_test.py.
VIEWS = (
    View("location", _location, PowerSum(2.25), uncorrelated=0.75, correlated=0.12),
    View("discriminant", _discriminant, PowerSum(2.0), uncorrelated=0.02, correlated=0.03),
    View("spread", _spread, Eigenvalues(), uncorrelated=0.13, correlated=0.73),
    View("length", _length, PowerSum(2.0), uncorrelated=0.03, correlated=0.05),
    View("margins", _margins, PowerSum(2.5), uncorrelated=0.04, correlated=0.04),
    View("pairs", _pairs, PowerSum(3.0), uncorrelated=0.03, correlated=0.03),
)


def statistic(view: View, at: Coordinates, rows: Floats, contrasts: NDArray[np.floating]) -> Floats:
    """How far the means of a view's features are apart, for every labelling.

    Each row of `contrasts` holds 1/n_a for the rows of A and -1/n_b for those of B.
    """
    total = np.zeros(len(contrasts))
    for features in view.blocks(at, rows):
        total += view.size.of(contrasts @ features.astype(contrasts.dtype, copy=False))
    return total


def witness(view: View, at: Coordinates, rows: Floats, contrasts: Floats) -> Floats:
    """Scores of the rows that rise towards B: the direction in which each labelling's means part.

    Returns one column for each row of `contrasts`, which may leave rows out (weight 0).
    """
    scores = np.zeros((len(rows), len(contrasts)))
    for features in view.blocks(at, rows):
        scores -= features @ view.size.slope(contrasts @ features).T
    return scores
