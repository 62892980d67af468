"""Real against synthetic rows: what is impossible, what is never produced, what is copied.

Every row has a ball that reaches to its k-th nearest neighbour in its own set. Precision (Sajjadi
and others 2018, Kynkäänniemi and others 2019), recall, density and coverage (Naeem and others
2020) count which rows of one set lie in balls of the other. For single rows the same distances
are compared with what real rows have among themselves, each left out in turn: that gives
p-values (see ``base.rows``; distances to a nearest neighbour follow a power law near 0, whose
exponent is the dimension).

In many columns a row can have near neighbours and break every relation between them: a diamond as
long as it is flat. So rows are also measured by the relations of real rows, as deviations in the
directions in which these hardly vary, half of the real rows being judged by the other half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.stats

from cospan.base.checks import as_count
from cospan.base.rows import tail_p_values
from cospan.base.types import Data, Floats, Index, Record
from cospan.errors import InputError, warn
from cospan.measures.panel import read_pair

NEIGHBOURS = 5
ROWS = 5_000  # of each set; all distances between two such sets are 200 MB
BLOCK = 1_000  # rows whose distances are taken at once
RIDGE = 1e-3  # of a column's variance, added so that relations that hold exactly stay finite
RATE = 0.05  # expected share of false rows among those listed


@dataclass(frozen=True, repr=False)
class Fidelity:
    """How well synthetic rows stand for real ones. Print it."""

    precision: float  # share of the synthetic rows in the ball of a real row
    #: The same for the real rows, each left out in turn: all that can be asked for
    usual_precision: float
    recall: float  # share of the real rows in the ball of a synthetic row
    #: How many balls of real rows hold a synthetic row, in units of what is expected: 1 for fresh
    #: real rows, above 1 for rows that crowd where real ones are dense
    density: float
    coverage: float  # share of the real rows whose ball holds a synthetic row
    #: Of every synthetic row: distance to the nearest real row, in units of that row's own ball:
    #: large is impossible; and in units of that row's distance to its nearest real neighbour: near
    #: 0 is a copy
    distance: Floats
    copying: Floats
    missed: Floats  # distance of every real row to the nearest synthetic row, in units of its ball
    #: How usual is this distance among real rows, each left out in turn? For `p_impossible` also:
    #: how usual is it to break the relations between columns as far as this row does?
    p_impossible: Floats
    p_copy: Floats
    #: Synthetic rows that equal a real row in every value. Where real rows repeat themselves, as
    #: categories do, that makes no copy: `repeated` is the share of them that equal another one
    exact: int
    repeated: float
    #: Row numbers worth a look, the worst first: two lists at a false discovery rate of 5%, and
    #: real rows that are in no synthetic row's ball
    impossible: Index
    copies: Index
    never_produced: Index
    rows_real: Index  # row numbers in the data of the rows that were used: all, or random samples
    rows_synthetic: Index

    def to_dict(self) -> Record:
        """Plain types only, for JSON; rows as row numbers."""
        numbers = ("precision", "usual_precision", "recall", "density", "coverage")
        return {
            **{name: getattr(self, name) for name in (*numbers, "exact", "repeated")},
            "n_real": len(self.rows_real),
            "n_synthetic": len(self.rows_synthetic),
            "impossible": self.impossible.tolist(),
            "copies": self.copies.tolist(),
            "never_produced": self.never_produced.tolist(),
        }

    def __repr__(self) -> str:
        n, m = len(self.rows_synthetic), len(self.rows_real)
        return "\n".join(
            [
                f"{len(self.impossible)} of {n} synthetic rows are like no real row: far away, or "
                "against the relations between columns",
                f"{len(self.copies)} of {n} synthetic rows are nearly copies of a real row, nearer "
                "than real rows are to each other",
                f"{self.exact} of {n} synthetic rows equal a real row in every value "
                f"({self.repeated:.0%} of the real rows equal another real row)",
                f"{len(self.never_produced)} of {m} real rows are where no synthetic row is",
                f"precision {self.precision:.3f} (real rows among themselves: "
                f"{self.usual_precision:.3f})  recall {self.recall:.3f}  "
                f"density {self.density:.3f}  coverage {self.coverage:.3f}",
            ]
        )


def fidelity(
    real: Data,
    synthetic: Data,
    *,
    neighbours: int = NEIGHBOURS,
    rows: int = ROWS,
    random_state: int = 0,
) -> Fidelity:
    """Compare synthetic rows with the real ones they stand for.

    Every feature is measured in units of its spread among the real rows.

    Parameters
    ----------
    real, synthetic : array-like, dataframe, path, ...
        Anything that :func:`compare` takes. Pass the rows that the generator was trained on as
        `real` to find copies of them.
    neighbours : int
        How far a row's ball reaches.
    rows : int
        How many rows of each set are used at most, drawn at random.
    random_state : int

    Examples
    --------
    >>> from cospan import fidelity
    >>> rng = np.random.default_rng(0)
    >>> real = rng.normal(size=(500, 4))
    >>> synthetic = rng.normal(size=(500, 4))
    >>> synthetic[:3] = real[:3] + 1e-4  # copies
    >>> synthetic[3:5] += 20  # impossible
    >>> found = fidelity(real, synthetic)
    >>> sorted(found.copies.tolist()), sorted(found.impossible.tolist())
    ([0, 1, 2], [3, 4])
    """
    k = as_count(neighbours, "neighbours")
    pair = read_pair(
        real, synthetic, units="first", rows=rows, seed=random_state, names=("real", "synthetic")
    )
    warn(pair.notes)
    n = len(pair.a)
    if min(n, len(pair.b)) <= k + 1:
        raise InputError(
            f"neighbours is {k}, and there are {min(n, len(pair.b))} rows in one set; "
            "pass fewer neighbours or more rows."
        )
    around = _nearest(pair.a, k + 1)[0]
    to_real = _relative(pair.b, pair.a, around[:, -2])
    to_made = _relative(pair.a, pair.b, _nearest(pair.b, k)[0][:, -1])
    alone = _relative(pair.a, pair.a, around[:, -2], without=around[:, -1])
    # Distance to the nearest real row, against that row's own nearest: of made and real rows.
    distance, nearest = _nearest(pair.a, 2)
    first = nearest[:, 0]
    # The neighbour's own neighbour may be the row left out: then its second one counts.
    itself = nearest[first, 0] == np.arange(n)
    its_own = np.where(itself, distance[first, 1], distance[first, 0])
    usual_copying = _ratio(distance[:, 0], its_own)
    away, which = _nearest(pair.a, 1, pair.b)
    copying = _ratio(away[:, 0], distance[which[:, 0], 0])
    half = np.random.default_rng(random_state).permutation(n) % 2
    odd = ((to_real.nearest, alone.nearest), _breaking(pair.a, pair.b, half))
    p_impossible = np.minimum(1.0, len(odd) * np.min([tail_p_values(*one) for one in odd], axis=0))
    with np.errstate(divide="ignore"):
        p_copy = tail_p_values(1 / copying, 1 / usual_copying)
    missed = np.flatnonzero(to_made.nearest > 1)
    return Fidelity(
        precision=float(np.mean(to_real.nearest <= 1)),
        usual_precision=float(np.mean(alone.nearest <= 1)),
        recall=float(np.mean(to_made.nearest <= 1)),
        density=float(to_real.inside.sum() / (k * len(pair.b))),
        coverage=float(np.mean(to_real.reached <= 1)),
        distance=to_real.nearest,
        copying=copying,
        missed=to_made.nearest,
        p_impossible=p_impossible,
        p_copy=p_copy,
        exact=int(np.isin(pair.kinds[n:], pair.kinds[:n]).sum()),
        repeated=float(np.mean(np.bincount(pair.kinds[:n])[pair.kinds[:n]] > 1)),
        impossible=pair.rows_b[_discoveries(p_impossible, p_impossible)],
        copies=pair.rows_b[_discoveries(p_copy, copying)],
        never_produced=pair.rows_a[missed[np.argsort(-to_made.nearest[missed], kind="stable")]],
        rows_real=pair.rows_a,
        rows_synthetic=pair.rows_b,
    )


def _discoveries(p_values: Floats, scores: Floats) -> Index:
    """Rows at a false discovery rate of 5%, the lowest scores first."""
    found = np.flatnonzero(scipy.stats.false_discovery_control(p_values) <= RATE)
    return found[np.argsort(scores[found], kind="stable")]


# ---- neighbours ---------------------------------------------------------------------------------


def _nearest(rows: Floats, k: int, others: Floats | None = None) -> tuple[Floats, Index]:
    """Distances and numbers of the k nearest rows: of the rows themselves, or of others."""
    from sklearn.neighbors import NearestNeighbors

    found = NearestNeighbors().fit(rows).kneighbors(others, n_neighbors=k)
    return found[0], found[1]


class _Relative(NamedTuple):
    nearest: Floats  # least distance of every point in units of a ball
    inside: Index  # how many balls hold it
    reached: Floats  # least distance of a point from every ball's centre, in its units


def _relative(
    points: Floats, centres: Floats, radius: Floats, *, without: Floats | None = None
) -> _Relative:
    """Distances of points from centres in units of the centres' balls, block by block.

    With `without` the points are the centres themselves, each left out in turn: a ball that held
    the point reaches one neighbour further without it.
    """
    from scipy.spatial.distance import cdist

    nearest, inside = np.empty(len(points)), np.empty(len(points), dtype=np.intp)
    reached = np.full(len(centres), np.inf)
    for start in range(0, len(points), BLOCK):
        block = slice(start, min(start + BLOCK, len(points)))
        distance = cdist(points[block], centres)
        if without is None:
            ratio = _ratio(distance, radius)
        else:
            ratio = _ratio(distance, np.where(distance <= radius, without, radius))
            here = np.arange(block.start, block.stop)
            ratio[here - start, here] = np.inf
        nearest[block] = ratio.min(axis=1)
        inside[block] = np.count_nonzero(ratio <= 1, axis=1)
        np.minimum(reached, ratio.min(axis=0), out=reached)
    return _Relative(nearest, inside, reached)


def _ratio(distance: Floats, unit: Floats) -> Floats:
    """distance / unit, with 0/0 = 1: among rows that have twins one more twin is usual."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = distance / unit
    return np.asarray(np.where((distance == 0) & (unit == 0), 1.0, found), dtype=np.float64)


# ---- relations ----------------------------------------------------------------------------------


def _breaking(real: Floats, made: Floats, half: Index) -> tuple[Floats, Floats]:
    """How far rows are from what real rows' means and relations allow: of made and of real rows.

    Each half of the real rows is judged by the other half, made rows by both.
    """
    usual, found = np.empty(len(real)), np.zeros(len(made))
    for k in (0, 1):
        known = real[half == k]
        middle = known.mean(axis=0)
        scatter = np.cov(known, rowvar=False).reshape(known.shape[1], -1)
        scatter += RIDGE * np.diag(np.where(scatter.diagonal() > 0, scatter.diagonal(), 1.0))
        factor = np.linalg.cholesky(scatter)

        def far(rows: Floats, middle: Floats = middle, factor: Floats = factor) -> Floats:
            whitened = scipy.linalg.solve_triangular(factor, (rows - middle).T, lower=True)
            return np.asarray(np.linalg.norm(whitened, axis=0))

        usual[half != k] = far(real[half != k])
        found += far(made) / 2
    return found, usual
