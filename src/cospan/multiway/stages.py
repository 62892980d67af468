"""Costs and frame are fitted to K sets, and the angles of every pair compared.

The sets are fitted in an
order that their content decides, not the caller: naming or listing them otherwise changes no bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan import _arrays as arrays
from cospan._classes.costs import ClassCosts
from cospan.comparison.stages import Settings
from cospan.comparison.standardizing import _scaled, _sum_of_squares
from cospan.errors import InputError
from cospan.frame import JointFrame, ManyFrame
from cospan.multiway.scoring import pair_angle
from cospan.multiway.sets import OneSet
from cospan.significance import separation
from cospan.summary import Summary

__all__ = ["FittedSets", "PairMatrix", "arranged", "by_content", "fit_many", "pair_matrix"]

Floats = NDArray[np.float64]


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
    return FittedSets(arranged(costs, back), _frame_arranged(frame, back), order)


def arranged(costs: ClassCosts, places: list[int]) -> ClassCosts:
    """The costs with their sets in another order."""
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
