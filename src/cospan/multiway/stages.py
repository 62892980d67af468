"""Costs and frame are fitted to K sets, and the angles of every pair compared.

The sets are fitted in an order that their content decides, not the caller: naming or listing them
otherwise changes no bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan import _arrays as arrays
from cospan.comparison.settings import Settings
from cospan.comparison.stages import RAW_BINS
from cospan.frame import ManyFrame
from cospan.frame.fitting import DEFAULTS, settled
from cospan.multiway.scoring import pair_angle
from cospan.multiway.sets import OneSet
from cospan.sets import SetCosts, angles_of, fit_calibration, log_odds_of
from cospan.significance import separation
from cospan.summary import Summary

__all__ = ["FittedSets", "PairMatrix", "arranged", "by_content", "fit_many", "pair_matrix"]

Floats = NDArray[np.float64]


# ---- fitting -----------------------------------------------------------------------------------


class FittedSets(NamedTuple):
    """What is known of K sets after one pass over each, in the caller's order."""

    costs: SetCosts
    frame: ManyFrame
    order: list[int]


def by_content(summaries: Sequence[Summary]) -> list[int]:
    """Numbers of the sets in an order that depends on their rows alone."""
    return sorted(
        range(len(summaries)),
        key=lambda k: (summaries[k].n, summaries[k].trace, *arrays.to_numpy(summaries[k].mean)),
    )


def fit_many(read: Sequence[OneSet], settings: Settings, picture: bool = False) -> FittedSets:
    """Costs and frame of the sets."""
    order = by_content([one.summary for one in read])
    summaries = [read[k].summary for k in order]
    names = [read[k].name for k in order]
    options = settled(settings.geometry, DEFAULTS)
    costs = SetCosts.from_summaries(
        summaries, labels=names, weighting=settings.weighting, picture=picture, **options
    )
    frame = ManyFrame.of_costs(summaries, costs, names)
    back = np.argsort(order).tolist()
    return FittedSets(arranged(costs, back), _frame_arranged(frame, back), order)


def arranged(costs: SetCosts, places: list[int]) -> SetCosts:
    """The costs with their sets in another order."""
    g = costs.geometry
    offsets = g.calibration.offsets
    calibration = g.calibration._replace(offsets=tuple(offsets[k] for k in places if offsets))
    geometry = replace(
        g,
        means=arrays.rows_at(g.means, np.array(places)),
        sizes=g.sizes[places],
        calibration=calibration,
    )
    return replace(costs, geometry=geometry, maps=tuple(costs.maps[k] for k in places))


def _frame_arranged(frame: ManyFrame, places: list[int]) -> ManyFrame:
    return replace(
        frame,
        names=tuple(frame.names[k] for k in places),
        sigma=frame.sigma[places],
        present=frame.present[places],
    )


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
    calibrate: bool,
    reliability: Floats,
    confidence: float,
    n_bootstrap: int,
    seed: int,
) -> PairMatrix:
    """How far apart each pair's own rows are on its angle. `kept`: weights, set by set."""
    matrices = PairMatrix(*(np.zeros((len(kept), len(kept))) for _ in range(3)))
    for i, j in itertools.combinations(order, 2):
        # Two sets alone are calibrated already.
        a, b = pair_angles(kept, i, j, calibrate=calibrate and len(kept) > 2)
        distance = separation(
            a,
            b,
            bins=None if calibrate else RAW_BINS,
            confidence=confidence,
            n_bootstrap=n_bootstrap,
            reliability=reliability[i, j],
            random_state=seed,
        ).fisher_rao
        for matrix, value in zip(
            matrices, (distance.value, distance.low, distance.high), strict=True
        ):
            matrix[i, j] = matrix[j, i] = value
    return matrices


def pair_angles(
    kept: Sequence[Floats], i: int, j: int, *, calibrate: bool
) -> tuple[Floats, Floats]:
    """Angles of the rows of sets i and j between the two, 0 for i.

    One gain serves all sets, and two of them may differ less than the others do: their own rows
    say what the angle between them is worth, as when the two are compared alone.
    """
    if not calibrate:
        return pair_angle(kept[i], i, j), pair_angle(kept[j], i, j)
    both = np.concatenate([kept[i][:, [i, j]], kept[j][:, [i, j]]])
    own = np.repeat([0, 1], [len(kept[i]), len(kept[j])])
    log_odds = -log_odds_of(both)
    found = fit_calibration(log_odds, own, np.ones(len(own)))
    theta = angles_of(np.exp(-log_odds[:, 0]), np.exp(-log_odds[:, 1]), found)
    return theta[own == 0], theta[own == 1]
