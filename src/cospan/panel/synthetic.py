"""Real against synthetic rows: what is impossible, what is never produced, what is copied.

Every row has a ball that reaches to its k-th nearest neighbour in its own set. Precision (Sajjadi
and others 2018, Kynkäänniemi and others 2019), recall, density and coverage (Naeem and others
2020) count which rows of one set lie in balls of the other. For single rows the same distances
are compared with what real rows have among themselves, each left out in turn: that gives
p-values (see ``base.tails``; distances to a nearest neighbour follow a power law near 0, whose
exponent is the dimension).

In many columns a row can have near neighbours and break every relation between them: a diamond as
long as it is flat. So rows are also measured by the relations of real rows, as deviations in the
directions in which these hardly vary, and by how little their levels go with the rest of them
(``levels``), half of the real rows being judged by the other half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.stats
from numpy.typing import NDArray

from cospan.base.checks import as_count
from cospan.base.notes import warn
from cospan.base.tails import tail_p_values
from cospan.base.types import Floats
from cospan.errors import InputError
from cospan.panel.levels import misfits
from cospan.panel.reading import read_pair


class Neighbours:
    """Nearest neighbours within one set, and of other rows in it."""

    def __init__(self, rows: Floats) -> None:
        from sklearn.neighbors import NearestNeighbors

        self._index = NearestNeighbors(algorithm="auto").fit(rows)

    def own(self, k: int) -> tuple[Floats, NDArray[np.intp]]:
        """Distances and numbers of the k nearest other rows of the set itself."""
        found = self._index.kneighbors(n_neighbors=k)
        return found[0], found[1]

    def copying(self, others: Floats) -> Floats:
        """Distance to the nearest row here, against that row's own nearest neighbour."""
        distance, nearest = self._index.kneighbors(others, n_neighbors=1)
        return _ratio(distance[:, 0], self.own(1)[0][nearest[:, 0], 0])

    def copying_among_themselves(self) -> Floats:
        """The same for the rows of the set, each left out in turn."""
        distance, nearest = self.own(2)
        here = np.arange(len(nearest))
        first = nearest[:, 0]
        # The neighbour's own neighbour may be the row left out: then its second one counts.
        other = np.where(nearest[first, 0] == here, distance[first, 1], distance[first, 0])
        return _ratio(distance[:, 0], other)


@dataclass(frozen=True)
class Relative:
    nearest: Floats  # least distance of every point in units of a ball
    inside: NDArray[np.intp]  # how many balls hold it
    reached: Floats  # least distance of a point from every ball's centre, in its units


def relative(
    points: Floats, centres: Floats, radius: Floats, *, without: Floats | None = None
) -> Relative:
    """Distances of points from centres in units of the centres' balls, block by block.

    With `without` the points are the centres themselves, each left out in turn: a ball that held
    the point reaches one neighbour further without it.
    """
    from scipy.spatial.distance import cdist

    nearest, inside = np.empty(len(points)), np.empty(len(points), dtype=np.intp)
    reached = np.full(len(centres), np.inf)
    for start in range(0, len(points), 1000):
        block = slice(start, min(start + 1000, len(points)))
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
    return Relative(nearest, inside, reached)


def _ratio(distance: Floats, unit: Floats) -> Floats:
    """distance / unit, with 0/0 = 1: among rows that have twins one more twin is usual."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = distance / unit
    return np.asarray(np.where((distance == 0) & (unit == 0), 1.0, found), dtype=np.float64)


NEIGHBOURS = 5
ROWS = 5_000  # of each set; all distances between two such sets are 200 MB
RIDGE = 1e-3  # of a column's variance, added so that relations that hold exactly stay finite
ASTRAY = 0.1  # of the rows, more than usual in no real row's ball: worth a word
RATE = 0.05  # expected share of false rows among those listed


@dataclass(frozen=True, repr=False)
class Fidelity:
    """How well synthetic rows stand for real ones. Print it.

    Attributes
    ----------
    precision : float
        Share of the synthetic rows that lie where real rows are: in the ball of one of them.
    usual_precision : float
        The same for the real rows, each left out in turn. Some real rows are in no other's ball
        either, so a precision of this size is all that can be asked for.
    recall : float
        Share of the real rows that lie where synthetic rows are.
    density : float
        How many balls of real rows hold a synthetic row, in units of what is expected: 1 for
        fresh real rows, above 1 for rows that crowd where real ones are dense.
    coverage : float
        Share of the real rows whose ball holds a synthetic row.
    distance : ndarray of shape (n_synthetic,)
        Distance to the nearest real row, in units of that row's own ball: large is impossible.
    copying : ndarray of shape (n_synthetic,)
        Distance to the nearest real row, in units of that row's distance to its own nearest real
        neighbour: near 0 is a copy.
    missed : ndarray of shape (n_real,)
        Distance of every real row to the nearest synthetic row, in units of that row's ball.
    p_impossible, p_copy : ndarray of shape (n_synthetic,)
        How usual is this distance among real rows, each left out in turn? For `p_impossible` also:
        how usual is it to break the relations between columns as far as this row does?
    exact : int
        How many synthetic rows equal a real row in every value. Where real rows repeat
        themselves, as categories do, that alone makes no copy: `repeated` is the share of real
        rows that equal another real row.
    repeated : float
    impossible, copies, never_produced : ndarray of int
        Row numbers worth a look, the worst first: the first two at a false discovery rate of
        5 %, the last where no ball of a synthetic row holds the real row.
    rows_real, rows_synthetic : ndarray of int
        Row numbers in the data of the rows that were used: all, or random samples.

    Examples
    --------
    >>> from cospan import fidelity
    >>> rng = np.random.default_rng(0)
    >>> found = fidelity(rng.normal(size=(300, 3)), rng.normal(size=(300, 3)) * 0.3)
    >>> found.precision > 0.9, found.recall < 0.7  # plausible rows, but not all kinds of them
    (True, True)
    """

    precision: float
    usual_precision: float
    recall: float
    density: float
    coverage: float
    distance: Floats
    copying: Floats
    missed: Floats
    p_impossible: Floats
    p_copy: Floats
    exact: int
    repeated: float
    impossible: NDArray[np.intp]
    copies: NDArray[np.intp]
    never_produced: NDArray[np.intp]
    rows_real: NDArray[np.intp]
    rows_synthetic: NDArray[np.intp]

    def to_dict(self) -> dict[str, Any]:
        """Plain types only, for JSON; rows as row numbers."""
        numbers = ("precision", "usual_precision", "recall", "density", "coverage")
        sizes = {"n_real": len(self.rows_real), "n_synthetic": len(self.rows_synthetic)}
        listed = ("impossible", "copies", "never_produced")
        return {
            **{name: getattr(self, name) for name in (*numbers, "exact", "repeated")},
            **sizes,
            **{name: getattr(self, name).tolist() for name in listed},
        }

    def _elsewhere(self) -> list[str]:
        """Many rows may be a little odd where none is impossible by itself."""
        astray = self.usual_precision - self.precision
        if astray <= ASTRAY or len(self.impossible) > astray * len(self.rows_synthetic):
            return []
        return [
            f"taken together they are not like real rows: {100 * astray:.0f} % more of them than "
            "of real rows lie in no real row's neighbourhood; compare says in what they differ"
        ]

    def __repr__(self) -> str:
        n, m = len(self.rows_synthetic), len(self.rows_real)
        return "\n".join(
            [
                f"precision {self.precision:.3f} (real rows among themselves: "
                f"{self.usual_precision:.3f})  recall {self.recall:.3f}  "
                f"density {self.density:.3f}  coverage {self.coverage:.3f}",
                f"{len(self.impossible)} of {n} synthetic rows are like no real row: far away, or "
                "against the relations between columns",
                *self._elsewhere(),
                f"{len(self.copies)} of {n} synthetic rows are nearly copies of a real row, nearer "
                "than real rows are to each other",
                f"{self.exact} of {n} synthetic rows equal a real row in every value "
                f"({100 * self.repeated:.0f} % of the real rows equal another real row)",
                f"{len(self.never_produced)} of {m} real rows lie where no synthetic row is",
            ]
        )


def fidelity(
    real: Any,
    synthetic: Any,
    *,
    neighbours: int = NEIGHBOURS,
    units: str = "own",
    rows: int = ROWS,
    random_state: int = 0,
) -> Fidelity:
    """Compare synthetic rows with the real ones they stand for.

    Parameters
    ----------
    real, synthetic : array-like, dataframe, path, ...
        Anything that :func:`compare` takes. Pass the rows that the generator was trained on as
        `real` to find copies of them.
    neighbours : int
        How far a row's ball reaches.
    units : {"own", "raw"}
        ``"own"`` divides every feature by its spread among the real rows.
    rows : int
        How many rows of each set are used at most, drawn at random.
    random_state : int

    Examples
    --------
    >>> from cospan.panel import fidelity
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
        real,
        synthetic,
        units=units,
        rows=rows,
        random_state=random_state,
        names=("real", "synthetic"),
        first_alone=True,
    )
    warn(pair.notes)
    if min(len(pair.a), len(pair.b)) <= k + 1:
        raise InputError(
            f"neighbours is {k}, and there are {min(len(pair.a), len(pair.b))} rows in one set; "
            "pass fewer neighbours or more rows."
        )
    inner, outer = Neighbours(pair.a), Neighbours(pair.b)
    kinds = pair.kinds
    around = inner.own(k + 1)[0]
    to_real = relative(pair.b, pair.a, around[:, -2])
    to_made = relative(pair.a, pair.b, outer.own(k)[0][:, -1])
    copying = inner.copying(pair.b)
    missed = np.flatnonzero(to_made.nearest > 1)
    alone = relative(pair.a, pair.a, around[:, -2], without=around[:, -1])
    far = tail_p_values(to_real.nearest, alone.nearest)
    half = np.random.default_rng(random_state).permutation(len(pair.a)) % 2
    broken = tail_p_values(*_breaking(pair.a, pair.b, half))
    odd = tail_p_values(*misfits(pair.a, pair.b, pair.columns, half))
    p_impossible = np.minimum(1.0, 3 * np.min([far, broken, odd], axis=0))
    p_copy = tail_p_values(_inverse(copying), _inverse(inner.copying_among_themselves()))
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
        exact=int(np.isin(kinds[len(pair.a) :], kinds[: len(pair.a)]).sum()),
        repeated=float(np.mean(np.bincount(kinds[: len(pair.a)])[kinds[: len(pair.a)]] > 1)),
        impossible=pair.rows_b[_discoveries(p_impossible, p_impossible)],
        copies=pair.rows_b[_discoveries(p_copy, copying)],
        never_produced=pair.rows_a[missed[np.argsort(-to_made.nearest[missed], kind="stable")]],
        rows_real=pair.rows_a,
        rows_synthetic=pair.rows_b,
    )


def _breaking(real: Floats, made: Floats, half: NDArray[np.intp]) -> tuple[Floats, Floats]:
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


def _inverse(ratio: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(1 / ratio)


def _discoveries(p_values: Floats, scores: Floats) -> NDArray[np.intp]:
    """Rows at a false discovery rate of 5 %, the lowest scores first."""
    adjusted = scipy.stats.false_discovery_control(p_values)
    found = np.flatnonzero(adjusted <= RATE)
    return found[np.argsort(scores[found], kind="stable")]
