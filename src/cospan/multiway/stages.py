"""The stages of a comparison of K sets: fit their costs and frame, score rows, compare pairs.

:func:`cospan.multiway.compare_many` calls them one after the other. The sets are fitted in an
order that their content decides, not the caller: naming or listing them otherwise changes no bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan import _arrays as arrays
from cospan._class_costs import ClassCosts, simplex_weights
from cospan.comparison.sampling import Reservoir
from cospan.comparison.scoring import KEPT_ROWS
from cospan.comparison.stages import Settings
from cospan.comparison.standardizing import _scaled, _sum_of_squares
from cospan.errors import InputError
from cospan.frame import JointFrame
from cospan.higher_order import ManyFrame
from cospan.multiway.sets import OneSet, Walked
from cospan.significance import separation
from cospan.sources import Chunk
from cospan.summary import Summary

__all__ = [
    "DEGREE_BINS",
    "FittedSets",
    "Kept",
    "PairMatrix",
    "Sink",
    "Tally",
    "by_content",
    "fit_many",
    "pair_angle",
    "pair_matrix",
]

Floats = NDArray[np.float64]

DEGREE_BINS = 90  # of the histograms of pair angles that count every row

Sink = Callable[[str, NDArray[Any], Floats], None]  # set's name, identifiers, weights


# ---- fitting -----------------------------------------------------------------------------------


class FittedSets(NamedTuple):
    """What is known of K sets after one pass over each, in the caller's order."""

    costs: ClassCosts
    frame: ManyFrame
    order: list[int]


def by_content(summaries: Sequence[Summary]) -> list[int]:
    """Numbers of the sets in an order that depends on their rows alone."""
    return sorted(
        range(len(summaries)),
        key=lambda k: (summaries[k].n, summaries[k].trace, *arrays.to_numpy(summaries[k].mean)),
    )


def fit_many(read: Sequence[OneSet], settings: Settings) -> FittedSets:
    """Costs and frame of the sets."""
    order = by_content([one.summary for one in read])
    summaries = [read[k].summary for k in order]
    scale = None
    center = settings.center
    if settings.standardize:
        scale = _deviation(summaries)
        summaries = [_scaled(one, scale) for one in summaries]
        center = center if isinstance(center, str) else np.asarray(center) / scale
    options = {"center": center, "balance": settings.balance, "tol": settings.tol}
    shrinkage = settings.shrinkage
    if len(summaries) == 2 and shrinkage == "auto":  # a pair chooses α by its angles
        shrinkage = JointFrame.from_summaries(*summaries, **options).shrinkage
    costs = ClassCosts.from_summaries(
        summaries, shrinkage=shrinkage, weighting=settings.weighting, **options
    )
    frame = ManyFrame.of_costs(summaries, costs, [read[k].name for k in order])
    if scale is not None:
        costs, frame = _in_own_units(costs, frame, scale)
    back = np.argsort(order).tolist()
    return FittedSets(_arranged(costs, back), _frame_arranged(frame, back), order)


def _arranged(costs: ClassCosts, places: list[int]) -> ClassCosts:
    return replace(
        costs,
        maps=tuple(costs.maps[k] for k in places),
        centers=arrays.rows_at(costs.centers, np.array(places)),
        sizes=costs.sizes[places],
    )


def _frame_arranged(frame: ManyFrame, places: list[int]) -> ManyFrame:
    return replace(
        frame,
        names=tuple(frame.names[k] for k in places),
        sigma=frame.sigma[places],
        present=frame.present[places],
    )


def _deviation(summaries: Sequence[Summary]) -> Floats:
    """Standard deviation of each feature over all rows; 1 where it is constant."""
    n = np.array([one.n for one in summaries])
    means = np.stack([arrays.to_numpy(one.mean) for one in summaries])
    steps = means - means[0]
    middle = n @ steps / n.sum()
    between = n @ np.square(steps - middle)
    within = sum(_sum_of_squares(one) for one in summaries)
    deviation = np.sqrt((within + between) / n.sum())
    rounding = 64 * np.finfo(float).eps * np.abs(means).max(axis=0)
    return np.where(deviation <= rounding, 1.0, deviation)


def _in_own_units(
    costs: ClassCosts, frame: ManyFrame, scale: Floats
) -> tuple[ClassCosts, ManyFrame]:
    """Costs and frame for rows that are not divided by `scale`."""
    if costs.basis is not None:
        raise InputError(
            "standardize needs more rows than features here; divide the features by their "
            "standard deviations before."
        )
    costs = replace(
        costs,
        center=costs.center * scale,
        centers=costs.centers * scale,
        maps=tuple(one / scale[:, None] for one in costs.maps),
    )
    return costs, replace(frame, directions=frame.directions * scale)


# ---- scoring -----------------------------------------------------------------------------------


class Kept(NamedTuple):
    """Scored rows that are kept: a uniform sample where there are many."""

    weights: Floats
    ids: NDArray[Any]
    labels: NDArray[Any] | None


class Tally:
    """What is counted of every scored row of one set, and the rows kept of it."""

    def __init__(self, n_sets: int, own: int | None, seed: int) -> None:
        self.own = own
        self.n = 0
        self.nearest = np.zeros(n_sets, dtype=np.int64)
        self.counts = np.zeros((n_sets, DEGREE_BINS), dtype=np.int64)
        self.kept: Reservoir[Kept] = Reservoir(max(1000, KEPT_ROWS // n_sets), seed)

    def add(self, weights: Floats, chunk: Chunk) -> None:
        self.n += len(weights)
        self.nearest += np.bincount(weights.argmax(axis=1), minlength=len(self.nearest))
        self.kept.add(Kept(weights, chunk.ids, chunk.labels))
        if self.own is None:
            return
        for j in range(len(self.nearest)):
            if j != self.own:
                degrees = np.degrees(pair_angle(weights, self.own, j))
                self.counts[j] += np.histogram(degrees, bins=DEGREE_BINS, range=(0, 90))[0]


def score_sets(
    costs: ClassCosts,
    walk: Iterable[Walked],
    names: Sequence[str],
    seed: int,
    sink: Sink | None,
) -> list[Tally]:
    """Weights of the sets' own rows, each left out of its set."""
    tallies = [Tally(len(names), k, seed) for k in range(len(names))]
    for own, chunk in walk:
        weights = np.asarray(simplex_weights(costs.left_out(chunk.rows, own)), dtype=np.float64)
        for k in np.unique(own):
            index = np.flatnonzero(own == k)
            part = Chunk(chunk.rows[index], chunk.ids[index])
            tallies[k].add(weights[index], part)
            if sink is not None:
                sink(names[k], part.ids, weights[index])
    return tallies


def score_others(
    costs: ClassCosts,
    chunks: Iterable[Chunk],
    n_sets: int,
    name: str,
    seed: int,
    sink: Sink | None,
) -> Tally:
    """Weights of rows that belong to no set."""
    tally = Tally(n_sets, None, seed)
    for chunk in chunks:
        weights = np.asarray(costs.weights(chunk.rows), dtype=np.float64)
        tally.add(weights, chunk)
        if sink is not None:
            sink(name, chunk.ids, weights)
    if tally.n == 0:
        raise InputError(f"{name} has no rows to score; check the file and its filters.")
    return tally


def pair_angle(weights: Floats, i: Any, j: Any) -> Floats:
    """θ of the pair in radians: 0 for set i, π/2 for set j; cos²θ = w_i / (w_i + w_j).

    `i` and `j` are numbers of sets, or one number for each row.

    Examples
    --------
    >>> np.degrees(pair_angle(np.array([[0.5, 0.5, 0.0], [0.3, 0.1, 0.6]]), 0, 1)).round(9)
    array([45., 30.])
    """
    rows = np.arange(len(weights))
    first, second = weights[rows, i], weights[rows, j]
    theta = np.arctan2(np.sqrt(second), np.sqrt(first))
    # Both so far away that their weights vanish beside a third set's: as far from one as the other.
    return np.where((first == 0) & (second == 0), np.pi / 4, theta)


# ---- pairs -------------------------------------------------------------------------------------


class PairMatrix(NamedTuple):
    """Fisher-Rao distances of all pairs with the ends of their intervals, each (K, K)."""

    value: Floats
    low: Floats
    high: Floats


def pair_matrix(
    kept: Sequence[Floats],
    order: Sequence[int],
    *,
    bins: int,
    confidence: float,
    n_bootstrap: int,
    seed: int,
) -> PairMatrix:
    """How far apart each pair's own rows lie on its angle. `kept`: weights, set by set."""
    matrices = PairMatrix(*(np.zeros((len(kept), len(kept))) for _ in range(3)))
    for i, j in itertools.combinations(order, 2):
        a, b = pair_angle(kept[i], i, j), pair_angle(kept[j], i, j)
        if np.ptp(np.concatenate([a, b])) == 0:
            continue  # nothing tells these two apart
        distance = separation(
            a, b, bins=bins, confidence=confidence, n_bootstrap=n_bootstrap, random_state=seed
        ).fisher_rao
        for matrix, value in zip(
            matrices, (distance.value, distance.low, distance.high), strict=True
        ):
            matrix[i, j] = matrix[j, i] = value
    return matrices
