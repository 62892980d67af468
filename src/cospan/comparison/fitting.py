"""A model is fitted to the summaries: two sets have a joint frame, K sets costs and directions.

This is the one place of a comparison that makes either. What follows is written for both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cospan.base import arrays
from cospan.comparison.reading import ReadSet
from cospan.comparison.settings import Settings
from cospan.data import Source
from cospan.model import (
    Again,
    Calibration,
    CurvedSets,
    JointFrame,
    ManyFrame,
    Plain,
    SetCosts,
    Typicality,
)
from cospan.summary import Summary

if TYPE_CHECKING:
    from cospan.estimator import AlignmentAngleClassifier


Model = JointFrame | SetCosts


class Fitted(NamedTuple):
    """What is known of the sets after one pass over each, in the caller's order.

    `order` has the numbers of the sets as they were fitted.
    """

    model: Model
    directions: ManyFrame | None
    order: list[int]


def fit_sets(
    read: Sequence[ReadSet],
    settings: Settings,
    *,
    joint: bool,
    picture: bool,
    first: Source | None,
    again: Again | None = None,
) -> Fitted:
    """The joint frame of two sets, or the costs and directions of K.

    `again` reads the rows of all sets once more, through a map.
    """
    make = _joint if joint else _many
    fitted = make(read, settings, picture, again)
    if first is None or first.plan is None:
        return fitted
    # so that a saved model can read tables as these were read
    encoding = first.plan.to_dict()
    model = fitted.model
    return fitted._replace(
        model=replace(model, geometry=replace(model.geometry, encoding=encoding))
    )


def _joint(
    read: Sequence[ReadSet], settings: Settings, picture: bool, again: Again | None
) -> Fitted:
    a, b = (one.summary for one in read)
    frame = JointFrame.of_sets(a, b, settings, picture, again)
    return Fitted(frame, None, [0, 1])


def _many(
    read: Sequence[ReadSet], settings: Settings, picture: bool, again: Again | None
) -> Fitted:
    """The sets are fitted in an order that their content decides, not the caller.

    Naming or listing them otherwise changes no bit.
    """
    options = settings.of_the_sets()
    order = by_content([one.summary for one in read])
    summaries = [read[k].summary for k in order]
    names = [read[k].name for k in order]
    costs = SetCosts.from_summaries(
        summaries,
        labels=names,
        weighting=settings.weighting,
        picture=picture,
        again=None if again is None else lambda mapping: _reordered(again(mapping), order),
        **options,
    )
    frame = ManyFrame.of_costs(summaries, costs, names)
    back = np.argsort(order).tolist()
    return Fitted(arranged(costs, back), _directions_arranged(frame, back), order)


def _reordered(summaries: Sequence[Summary], order: list[int]) -> list[Summary]:
    return [summaries[k] for k in order]


def by_content(summaries: Sequence[Summary]) -> list[int]:
    """Numbers of the sets in an order that depends on their rows alone."""
    return sorted(
        range(len(summaries)),
        key=lambda k: (summaries[k].n, summaries[k].trace, *arrays.to_numpy(summaries[k].mean)),
    )


def arranged(costs: SetCosts, places: list[int]) -> SetCosts:
    """The costs with their sets in another order."""
    g = costs.geometry
    geometry = replace(
        g,
        means=arrays.pick(g.means, np.array(places)),
        sizes=g.sizes[places],
        calibration=_offsets_arranged(g.calibration, places),
    )
    known = _typicality_arranged(costs.typicality, places)
    maps = tuple(costs.maps[k] for k in places)
    curve = None if costs.curve is None else _curve_arranged(costs.curve, places)
    return replace(costs, geometry=geometry, maps=maps, typicality=known, curve=curve)


def _curve_arranged(curve: CurvedSets, places: list[int]) -> CurvedSets:
    plain = Plain(
        _offsets_arranged(curve.plain.calibration, places),
        _typicality_arranged(curve.plain.typicality, places),
    )
    return CurvedSets(curve.map, arranged(curve.costs, places), plain)


def _offsets_arranged(calibration: Calibration, places: list[int]) -> Calibration:
    offsets = calibration.offsets
    return calibration._replace(offsets=tuple(offsets[k] for k in places if offsets))


def _typicality_arranged(known: Typicality | None, places: list[int]) -> Typicality | None:
    if known is None:
        return None
    return replace(
        known,
        costs=tuple(known.costs[k] for k in places),
        above=tuple(known.above[k] for k in places),
    )


def _directions_arranged(frame: ManyFrame, places: list[int]) -> ManyFrame:
    return replace(
        frame,
        names=tuple(frame.names[k] for k in places),
        sigma=frame.sigma[places],
        present=frame.present[places],
    )


def as_classifier(costs: SetCosts, names: Sequence[str]) -> AlignmentAngleClassifier:
    """A fitted estimator whose classes are the names of the sets."""
    from cospan.estimator import AlignmentAngleClassifier, FittedClasses

    order = sorted(range(len(names)), key=names.__getitem__)
    costs = arranged(costs, order)
    g = costs.geometry
    center = g.center if g.center_mode == "given" else g.center_mode
    linear: dict[str, Any] = {} if g.affine else {"center": center, "balance": g.balance}
    affine = {"units": g.units, "pooling": g.pooling, "dof": g.dof} if g.affine else {}
    return AlignmentAngleClassifier.from_fitted(
        FittedClasses(costs, costs.weighting, math.pi / 4),
        np.array([names[k] for k in order]),
        costs.n_features,
        costs.feature_names,
        span=g.span,
        shrinkage=g.shrinkage,
        weighting=costs.weighting,
        tol=g.tol,
        **linear,
        **affine,
    )
