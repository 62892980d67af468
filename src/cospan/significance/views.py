"""What the shift test looks at: features of the rows whose means are compared.

Two distributions are equal when all means are equal: of the columns, of their squares and
products, of whatever else is computed from a row. Each view is a family of such features. Its
statistic says how far the two sets' means are apart, in one of two ways (`sizes`). Σ |difference|^
power: with power 2 many small differences count as much as one large one, with a higher power one
large difference among many columns stands out. Of second moments, the fourth powers of the
eigenvalues of their difference: a few rows of a new kind change one direction, which need not be
any column's, and a single large eigenvalue stands out where the entries of the matrix do not.

================  =====================================================  ===========================
view              features                                               sees
================  =====================================================  ===========================
``location``      columns                                                means of columns
``discriminant``  strong and weak directions, at equal variance          means, across columns
``spread``        products of directions                                 covariances, new kinds
``length``        the squared length                                     scale, rows far out
``margins``       Legendre polynomials 1 to 4 of each column's rank      columns, in any way
``pairs``         products of polynomials 1 and 2 of two columns         dependence of columns
``relations``     what companions leave of a column (`residuals`)        rows that break a relation
================  =====================================================  ===========================

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

from cospan._tolerance import constant_column, rank_in_gram
from cospan._types import Floats
from cospan.significance.residuals import Relations
from cospan.significance.sizes import Eigenvalues, PowerSum

# Columns whose ranks are looked at one by one, and in pairs. Pairs are three features each: 40
# columns make 2,340. Of wider rows the leading directions are taken instead, and not as many in
# pairs: columns mean something, and the weaker directions little.
MAX_MARGINS, MARGIN_DIRECTIONS = 512, 40
MAX_PAIRED, PAIRED_DIRECTIONS = 40, 20
# Directions whose products enter `spread`: more of them found no more on 64 pixels.
MAX_SPREAD = 32
# Share of the mean variance under the variances of directions, so that weak ones do not blow up:
# in `spread`, and in `discriminant`, which is there for steps across the weak ones.
_FLOOR = 0.1
_LOW_FLOOR = 1e-3
# Columns in one unit: at least half of them span at least this part of the widest range.
_SAME_RANGE = 0.9
# Of normal residuals the logarithms of distances have a standard deviation of 0.9. Below this they
# are rounding: all rows keep the relation.
_LEAST_APART = 0.1
# Numbers in a block of features, 16 MB.
_BLOCK = 2_000_000
# From so many rows on, features are kept in single precision: half the time and memory. With
# fewer, labellings often coincide, and their statistics must agree to count as ties.
SINGLE_PRECISION = 1000


class View(NamedTuple):
    """A family of features: their blocks, the size of differences, its weight in the test.

    A view's weight is its share of the false alarms. Location and spread are what most shifts
    change; the others need little of it, since what they see they see clearly. Where columns
    are strongly correlated, as pixels are, few directions hold the variance and most shifts show
    in their products: hence a weight for each end, columns without correlation and with.
    """

    name: str
    blocks: Callable[[Coordinates, Floats], Iterator[NDArray[np.floating]]]
    size: PowerSum | Eigenvalues
    uncorrelated: float
    correlated: float

    def weight(self, at: Coordinates) -> float:
        return at.evenness * self.uncorrelated + (1 - at.evenness) * self.correlated


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Rows as the test sees them, learned from all rows without their labels."""

    varies: NDArray[np.bool_]  # columns that are not constant
    #: (d,): mean of each column that varies, and its standard deviation
    centre: Floats
    scale: Floats
    #: (d,): what a standardised column is multiplied with for `directions`: 1, or its own deviation
    #: where all columns share a unit
    common: Floats
    directions: Floats  # (d, k): principal directions, strongest first
    variances: Floats  # (k,): variances along them; `mean_variance` is their mean over all d
    mean_variance: float
    #: (n, m): sorted pooled values behind the ranks of `margins` and of `pairs`
    sorted_margins: Floats
    sorted_pairs: Floats
    relations: Relations  # between columns, as most rows keep them
    apart: Floats  # (m,): how much rows' distances from each relation vary

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
        leading = columns * common @ directions[:, :MARGIN_DIRECTIONS]
        limits = ((MAX_MARGINS, MARGIN_DIRECTIONS), (MAX_PAIRED, PAIRED_DIRECTIONS))
        ranked = [columns if len(scale) <= most else leading[:, :few] for most, few in limits]
        margins, pairs = (np.sort(values, axis=0) for values in ranked)
        relations = Relations.fit(columns)
        apart = np.maximum(relations.distances(columns).std(axis=0), _LEAST_APART)
        return cls(
            varies, centre, scale, common, directions, variances, mean_variance, margins, pairs,
            relations, apart,
        )  # fmt: skip

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

    @property
    def dtype(self) -> type[np.floating]:
        """The precision of features."""
        return np.float32 if len(self.sorted_pairs) >= SINGLE_PRECISION else np.float64

    def ranks(self, columns: Floats, ordered: Floats) -> NDArray[np.floating]:
        """Midranks among the pooled values, from -1 to 1, in the precision of features."""
        if columns.shape[1] != ordered.shape[1]:
            columns = (columns * self.common) @ self.directions[:, : ordered.shape[1]]
        n = len(ordered)
        ranks = np.empty(columns.shape, dtype=self.dtype)
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
        keep = values > rank_in_gram(float(values[0]), n)
        values, vectors = values[keep], rows.T @ (vectors[:, keep] / np.sqrt(values[keep]))
    return vectors, values / n


def _location(at: Coordinates, rows: Floats) -> Iterator[NDArray[np.floating]]:
    yield at.columns(rows)


def _discriminant(at: Coordinates, rows: Floats) -> Iterator[NDArray[np.floating]]:
    yield at.along(at.columns(rows), 0.5, _LOW_FLOOR)


def _spread(at: Coordinates, rows: Floats) -> Iterator[NDArray[np.floating]]:
    columns = at.columns(rows)
    # The fourth root of the variances: halfway between strong directions alone and all alike.
    along = at.along(columns, 0.25, _FLOOR, MAX_SPREAD).astype(at.dtype)
    first, second = np.triu_indices(along.shape[1])
    weight = np.where(first == second, 1, np.sqrt(2)).astype(at.dtype)
    yield along[:, first] * along[:, second] * weight


def _length(at: Coordinates, rows: Floats) -> Iterator[NDArray[np.floating]]:
    yield np.sum((at.columns(rows) * at.common) ** 2, axis=1, keepdims=True)


# Legendre polynomials 1 to 4, with a mean square of 1 over the interval from -1 to 1.
_POLYNOMIALS: tuple[Callable[[NDArray[np.floating]], NDArray[np.floating]], ...] = (
    lambda x: np.sqrt(x.dtype.type(3)) * x,
    lambda x: np.sqrt(x.dtype.type(5)) * (3 * x**2 - 1) / 2,
    lambda x: np.sqrt(x.dtype.type(7)) * x * (5 * x**2 - 3) / 2,
    lambda x: 3 * (x**2 * (35 * x**2 - 30) + 3) / 8,
)
_MARGINS_SIZE = PowerSum(2.5)


def _margins(at: Coordinates, rows: Floats) -> Iterator[NDArray[np.floating]]:
    x = at.ranks(at.columns(rows), at.sorted_margins)
    low = at.sorted_margins[0]
    at_low = at.sorted_margins == low
    two = np.all(at_low | (at.sorted_margins == at.sorted_margins[-1]), axis=0)
    # Of two values, as indicators have, each polynomial is the indicator with a factor: so one
    # feature does for all four, with a factor that adds up what they would add to the size.
    share = at_low[:, two].mean(axis=0)  # the two ranks are share - 1 and share
    steps = np.stack([polynomial(share) - polynomial(share - 1) for polynomial in _POLYNOMIALS])
    factor = _MARGINS_SIZE.of(steps.T) ** (1 / _MARGINS_SIZE.power)
    yield x[:, two] * factor.astype(x.dtype)
    for polynomial in _POLYNOMIALS:
        yield polynomial(x[:, ~two])


def _pairs(at: Coordinates, rows: Floats) -> Iterator[NDArray[np.floating]]:
    x = at.ranks(at.columns(rows), at.sorted_pairs)
    line, curve = (polynomial(x) for polynomial in _POLYNOMIALS[:2])
    first, second = np.triu_indices(x.shape[1], 1)
    step = max(1, _BLOCK // len(x))
    for left, right in ((line, line), (line, curve), (curve, line)):
        for start in range(0, len(first), step):
            part = slice(start, start + step)
            yield left[:, first[part]] * right[:, second[part]]


def _relations(at: Coordinates, rows: Floats) -> Iterator[NDArray[np.floating]]:
    columns = at.columns(rows)
    yield (at.relations.distances(columns) / at.apart).astype(at.dtype)
    left = at.relations.residuals(columns)
    yield (left / (1 + np.abs(left))).astype(at.dtype)  # on which side; bounded


# Chosen for power on the designs of benchmarks/bench_shift_test.py. The first six share out 1; the
# last comes on top where columns have relations.
VIEWS = (
    View("location", _location, PowerSum(2.25), uncorrelated=0.69, correlated=0.12),
    View("discriminant", _discriminant, PowerSum(2.0), uncorrelated=0.01, correlated=0.03),
    View("spread", _spread, Eigenvalues(), uncorrelated=0.24, correlated=0.73),
    View("length", _length, PowerSum(2.0), uncorrelated=0.02, correlated=0.05),
    View("margins", _margins, _MARGINS_SIZE, uncorrelated=0.02, correlated=0.04),
    View("pairs", _pairs, PowerSum(3.0), uncorrelated=0.02, correlated=0.03),
    View("relations", _relations, PowerSum(3.0), uncorrelated=0.02, correlated=0.03),
)


def views_with_features(at: Coordinates) -> tuple[View, ...]:
    """All views, `relations` only where there are some."""
    return VIEWS if at.relations.size.size else VIEWS[:-1]


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
        apart = contrasts.astype(features.dtype, copy=False) @ features
        scores -= features @ view.size.slope(apart).T
    return scores
