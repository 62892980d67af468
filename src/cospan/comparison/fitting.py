"""A model is fitted to the summaries: two sets have a joint frame, K sets costs and directions.

This is the one place of a comparison that makes either. What follows is written for both. What is
said of a set's own rows comes from other models, one for each fold, fitted to the other folds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base import arrays
from cospan.base.tolerance import SAME_LOSS
from cospan.base.types import Floats
from cospan.comparison.reading import MappedFolds, OtherFolds, ReadSet
from cospan.comparison.settings import Settings
from cospan.data import Source
from cospan.errors import InputError
from cospan.model import (
    Again,
    Alignment,
    Calibration,
    CurvedSets,
    JointFrame,
    ManyFrame,
    Plain,
    SetCosts,
    SetModel,
    SetRows,
    Typicality,
    UsualRows,
    log_losses,
    log_odds_of,
)
from cospan.summary import Summary

if TYPE_CHECKING:
    from cospan.estimator import AlignmentAngleClassifier


Model = JointFrame | SetCosts


#: With fewer rows in a set, what was chosen on all rows flatters them: every fold chooses anew.
FEW_ROWS = 1000
#: Standard errors by which probabilities must be better than even ones.
HALF = 0.5
#: Rows of a set that the gain is judged by, and what is usual.
JUDGED_ROWS = 2000


class Fitted(NamedTuple):
    """What is known of the sets after one pass over each, in the caller's order.

    `order` has the numbers of the sets as they were fitted.
    """

    model: Model
    directions: ManyFrame | None
    order: list[int]


class FoldModel(NamedTuple):
    """A model of the other folds, which scores the rows of one."""

    costs: SetModel | CurvedSets | None  # None: the other folds have nothing to compare
    calibration: Calibration

    def squared_costs(self, rows: NDArray[Any]) -> Floats:
        """(n, K): squared costs of rows."""
        if self.costs is None:
            return np.ones((len(rows), len(self.calibration.offsets)))
        return np.asarray(arrays.to_numpy(self.costs.squared_costs(rows)), dtype=np.float64)

    def aligned(self, rows: NDArray[Any], weighting: str) -> Alignment:
        """The alignment of rows of two sets."""
        if not isinstance(self.costs, JointFrame):
            a, b = self.squared_costs(rows).T
            return Alignment.from_costs(a, b, weighting, self.calibration)
        geometry = replace(self.costs.geometry, calibration=self.calibration)
        frame = replace(self.costs, geometry=geometry, typicality=None)
        return frame.align(rows, weighting=weighting)


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


def fit_folds(
    read: Sequence[ReadSet],
    fitted: Fitted,
    settings: Settings,
    *,
    picture: bool,
    again: MappedFolds | None,
) -> tuple[FoldModel, ...]:
    """For each fold a model of the others, of the same kind as the model of all rows.

    Of many rows, what was chosen on all of them stays; of few, every fold chooses anew.
    """
    few = min(one.rows for one in read) < FEW_ROWS
    found = []
    for fold in range(len(read[0].folds.parts)):
        others = [read[k].folds.without(fold) for k in fitted.order]
        mapped = None if again is None else again.without(fold, fitted.order)
        try:
            if isinstance(fitted.model, JointFrame) and _has_blocks(fitted.model, settings):
                bare = replace(settings, curve=None)
                costs = JointFrame.of_sets(others[0], others[1], bare, picture, None)
                found.append(FoldModel(costs, costs.geometry.calibration))
            elif few:
                found.append(_chosen_anew(others, fitted, settings, picture, mapped))
            else:
                found.append(_as_chosen(others, fitted, settings, mapped))
        except InputError:  # rows vary in this fold alone
            offsets = (0.0,) * len(read)
            found.append(FoldModel(None, Calibration(0.0, offsets)))
    return tuple(found)


def _has_blocks(frame: JointFrame, settings: Settings) -> bool:
    """Can directions be of one set alone? Then the frame says more of a row than its costs."""
    return frame.shrinkage == 0 or settings.weighting == "frame"


def _chosen_anew(
    others: Sequence[Summary],
    fitted: Fitted,
    settings: Settings,
    picture: bool,
    again: OtherFolds | None,
) -> FoldModel:
    curve = fitted.model.curve
    options = {**settings.of_the_sets(), "curve": None if curve is None else settings.curve}
    costs = SetCosts.from_summaries(
        others,
        weighting=settings.weighting,
        picture=picture,
        again=again,
        mapping=None if curve is None else curve.map,
        **options,
    )
    costs = arranged(costs, np.argsort(fitted.order).tolist())
    return FoldModel(costs, costs.geometry.calibration)


def _as_chosen(
    others: Sequence[Summary], fitted: Fitted, settings: Settings, again: OtherFolds | None
) -> FoldModel:
    model, back = fitted.model, np.argsort(fitted.order).tolist()
    calibration = model.geometry.calibration
    if model.curve is None:
        costs = SetCosts.settled(model.geometry, others)
        return FoldModel(arranged(costs, back), calibration)
    assert again is not None  # a curve was fitted by it
    curve = model.curve.refitted(again(model.curve.map))
    return FoldModel(replace(curve, costs=arranged(curve.costs, back)), calibration)


def without_gain(
    fitted: Fitted, folds: Sequence[FoldModel], read: Sequence[ReadSet]
) -> tuple[Fitted, tuple[FoldModel, ...]]:
    """The models, with a gain of 0 where their probabilities are no better than even ones.

    That is, unless the log-loss of rows out of fold is below log K by half its standard error.
    """
    calibration = fitted.model.geometry.calibration
    if not calibration.offsets or _beats_chance(folds, read):
        return fitted, tuple(folds)
    none = Calibration(0.0, (0.0,) * len(read))
    geometry = replace(fitted.model.geometry, calibration=none)
    model = replace(fitted.model, geometry=geometry)
    if model.curve is not None:
        costs = model.curve.costs
        costs = replace(costs, geometry=replace(costs.geometry, calibration=none))
        model = replace(model, curve=replace(model.curve, costs=costs))
    return fitted._replace(model=model), tuple(one._replace(calibration=none) for one in folds)


def _beats_chance(folds: Sequence[FoldModel], read: Sequence[ReadSet]) -> bool:
    K = len(read)
    mean, variance = 0.0, 0.0
    for k, one in enumerate(read):
        rows, dealt, count = _some_rows(one)
        losses = np.empty(len(rows))
        for fold in np.unique(dealt).tolist():
            place = np.flatnonzero(dealt == fold)
            model = folds[fold]
            log_odds = log_odds_of(model.squared_costs(rows[place]))
            own = np.full(len(place), k, dtype=np.intp)
            losses[place] = log_losses(log_odds, own, model.calibration)
        share = count / count.sum()
        mean += float(share @ losses) / K
        off = losses - share @ losses
        variance += float(share @ off**2) / max(float(count.sum()) - 1, 1.0) / K**2
    return math.log(K) - mean > HALF * math.sqrt(variance) + SAME_LOSS


def _some_rows(one: ReadSet) -> SetRows:
    """Rows of a set, drawn at random, enough to judge by."""
    sample = one.folds.sample
    return SetRows(
        sample.rows[:JUDGED_ROWS], one.folds.dealt[:JUDGED_ROWS], sample.weights[:JUDGED_ROWS]
    )


def usual_rows(read: Sequence[ReadSet]) -> UsualRows:
    """What rows of each set are like."""
    return UsualRows.learn([_some_rows(one) for one in read], len(read[0].folds.parts))


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
