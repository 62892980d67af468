"""A model is fitted to the summaries: two sets have a joint frame, K sets costs and directions.

This is the one place that decides between the two. What follows is written for either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan.comparison.reading import ReadSet
from cospan.comparison.settings import Settings
from cospan.frame import JointFrame, ManyFrame
from cospan.sets import SetCosts
from cospan.sources import Source
from cospan.summary import Summary

__all__ = ["Fitted", "Model", "arranged", "fit_sets"]

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
) -> Fitted:
    """The joint frame of two sets, or the costs and directions of K."""
    fitted = _joint(read, settings, picture) if joint else _many(read, settings, picture)
    if first is None or first.plan is None:
        return fitted
    # so that a saved model can read tables as these were read
    encoding = first.plan.to_dict()
    model = fitted.model
    return fitted._replace(
        model=replace(model, geometry=replace(model.geometry, encoding=encoding))
    )


def _joint(read: Sequence[ReadSet], settings: Settings, picture: bool) -> Fitted:
    a, b = (one.summary for one in read)
    frame = JointFrame.from_summaries(a, b, picture=picture, **settings.of_the_sets())
    return Fitted(frame, None, [0, 1])


def _many(read: Sequence[ReadSet], settings: Settings, picture: bool) -> Fitted:
    """The sets are fitted in an order that their content decides, not the caller.

    Naming or listing them otherwise changes no bit.
    """
    order = by_content([one.summary for one in read])
    summaries = [read[k].summary for k in order]
    names = [read[k].name for k in order]
    costs = SetCosts.from_summaries(
        summaries,
        labels=names,
        weighting=settings.weighting,
        picture=picture,
        **settings.of_the_sets(),
    )
    frame = ManyFrame.of_costs(summaries, costs, names)
    back = np.argsort(order).tolist()
    return Fitted(arranged(costs, back), _directions_arranged(frame, back), order)


def by_content(summaries: Sequence[Summary]) -> list[int]:
    """Numbers of the sets in an order that depends on their rows alone."""
    return sorted(
        range(len(summaries)),
        key=lambda k: (summaries[k].n, summaries[k].trace, *arrays.to_numpy(summaries[k].mean)),
    )


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
    known = costs.typicality
    if known is not None:
        known = replace(
            known,
            costs=tuple(known.costs[k] for k in places),
            above=tuple(known.above[k] for k in places),
        )
    maps = tuple(costs.maps[k] for k in places)
    return replace(costs, geometry=geometry, maps=maps, typicality=known)


def _directions_arranged(frame: ManyFrame, places: list[int]) -> ManyFrame:
    return replace(
        frame,
        names=tuple(frame.names[k] for k in places),
        sigma=frame.sigma[places],
        present=frame.present[places],
    )
