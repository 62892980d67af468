"""Models of the sets: one of all rows, and one for each fold, which scores the rows it never saw.

Two sets have a joint frame, K sets costs; this is the one place that makes either. K sets are
fitted in an order that their content decides: listing them otherwise changes no bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base import arrays
from cospan.base.tolerance import SAME_LOSS
from cospan.base.types import Floats, Record
from cospan.comparison.reading import Again, ReadSet, ReadSets
from cospan.comparison.settings import Settings
from cospan.errors import InputError
from cospan.model import (
    Alignment,
    Calibration,
    CurvedSets,
    JointFrame,
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


class FoldModel(NamedTuple):
    """A model of the other folds, which scores the rows of one."""

    costs: SetModel | CurvedSets | None  # None: the other folds have nothing to compare
    calibration: Calibration

    def squared_costs(self, rows: NDArray[np.floating]) -> Floats:
        """(n, K): squared costs of rows."""
        if self.costs is None:
            return np.ones((len(rows), len(self.calibration.offsets)))
        return np.asarray(arrays.to_numpy(self.costs.squared_costs(rows)), dtype=np.float64)

    def aligned(self, rows: NDArray[np.floating], weighting: str) -> Alignment:
        """The alignment of rows of two sets."""
        if not isinstance(self.costs, JointFrame):
            a, b = self.squared_costs(rows).T
            return Alignment.from_costs(a, b, weighting, self.calibration)
        geometry = replace(self.costs.geometry, calibration=self.calibration)
        frame = replace(self.costs, geometry=geometry, typicality=None)
        return frame.align(rows, weighting=weighting)


class Models(NamedTuple):
    """The model of all rows, and those of the folds."""

    whole: Model
    folds: tuple[FoldModel, ...]


def fit_models(read: ReadSets, settings: Settings, picture: bool) -> Models:
    """Fit all models; their gain is 0 where probabilities are no better than even ones."""
    model = _of_sets(read, settings, picture)
    if (plan := read.opened.first.plan) is not None:  # so that a saved model can read such tables
        model = replace(model, geometry=replace(model.geometry, encoding=plan.to_dict()))
    folds = [_of_fold(read, k, model, settings, picture) for k in range(read.dealing.n_folds)]
    if not model.answering.geometry.calibration.offsets or _beats_chance(folds, read.sets):
        return Models(model, tuple(folds))
    none = _no_gain(len(read.sets))
    model = replace(model, geometry=replace(model.geometry, calibration=none))
    if model.curve is not None:
        costs = model.curve.costs
        costs = replace(costs, geometry=replace(costs.geometry, calibration=none))
        model = replace(model, curve=replace(model.curve, costs=costs))
    return Models(model, tuple(one._replace(calibration=none) for one in folds))


def _of_sets(read: ReadSets, settings: Settings, picture: bool) -> Model:
    order, again = read.order, Again(read)
    summaries = [read.sets[k].summary for k in order]
    if len(summaries) == 2:
        return JointFrame.of_sets(summaries[0], summaries[1], settings, picture, again)
    costs = SetCosts.from_summaries(
        summaries,
        labels=[read.sets[k].name for k in order],
        weighting=settings.weighting,
        picture=picture,
        again=again,
        **settings.of_the_sets(),
    )
    return arranged(costs, np.argsort(order))


def _of_fold(
    read: ReadSets, fold: int, model: Model, settings: Settings, picture: bool
) -> FoldModel:
    """A model of the other folds, of the same kind as the model of all rows.

    Of many rows, what was chosen on all of them stays; of few, every fold chooses anew, between
    that, its neighbours and the defaults.
    """
    others = [read.sets[k].folds.without(fold) for k in read.order]
    again, curve = Again(read, fold), model.curve
    back, known = np.argsort(read.order), model.answering.geometry.calibration
    try:
        if isinstance(model, JointFrame) and (
            model.shrinkage == 0 or settings.weighting == "frame"
        ):
            # Directions can be of one set alone: the frame says more of a row than its costs.
            bare = replace(settings, curve=None)
            frame = JointFrame.of_sets(others[0], others[1], bare, picture, None)
            return FoldModel(frame, frame.geometry.calibration)
        if min(one.rows for one in read.sets) < FEW_ROWS:
            costs = arranged(_chosen_anew(others, model, settings, picture, again), back)
            return FoldModel(costs, costs.answering.geometry.calibration)
        if curve is None:
            costs = SetCosts.settled(model.geometry, others)
            return FoldModel(arranged(costs, back), known)
        curved = curve.refitted(again(curve.map))
        return FoldModel(replace(curved, costs=arranged(curved.costs, back)), known)
    except InputError:  # rows vary in this fold alone
        return FoldModel(None, _no_gain(len(read.sets)))


def _chosen_anew(
    others: Sequence[Summary], model: Model, settings: Settings, picture: bool, again: Again
) -> SetCosts:
    curve = model.curve
    options = {**settings.of_the_sets(), "curve": None if curve is None else settings.curve}
    return SetCosts.from_summaries(
        others,
        weighting=settings.weighting,
        picture=picture,
        again=again,
        mapping=None if curve is None else curve.map,
        near=model.geometry,
        **options,
    )


def arranged(costs: SetCosts, places: NDArray[np.intp]) -> SetCosts:
    """The costs with their sets in another order."""
    g, curve = costs.geometry, costs.curve
    geometry = replace(
        g,
        means=arrays.pick(g.means, places),
        sizes=g.sizes[places],
        calibration=_offsets_arranged(g.calibration, places),
    )
    if curve is not None:
        curve = CurvedSets(curve.map, arranged(curve.costs, places))
    return replace(
        costs,
        geometry=geometry,
        maps=tuple(costs.maps[k] for k in places),
        typicality=_ranks_arranged(costs.typicality, places),
        curve=curve,
    )


def _offsets_arranged(calibration: Calibration, places: NDArray[np.intp]) -> Calibration:
    offsets = calibration.offsets
    return calibration._replace(offsets=tuple(offsets[k] for k in places if offsets))


def _ranks_arranged(known: Typicality | None, places: NDArray[np.intp]) -> Typicality | None:
    if known is None:
        return None
    costs, above = (tuple(one[k] for k in places) for one in (known.costs, known.above))
    return replace(known, costs=costs, above=above)


def _no_gain(n_sets: int) -> Calibration:
    return Calibration(0.0, (0.0,) * n_sets)


def _beats_chance(folds: Sequence[FoldModel], read: Sequence[ReadSet]) -> bool:
    """Is the log-loss of rows out of fold below log K by half its standard error?"""
    K = len(read)
    mean, variance = 0.0, 0.0
    for k, one in enumerate(read):
        rows, dealt, _ = _some_rows(one)
        losses = np.empty(len(rows))
        for fold in np.unique(dealt).tolist():
            place = np.flatnonzero(dealt == fold)
            log_odds = log_odds_of(folds[fold].squared_costs(rows[place]))
            own = np.full(len(place), k, dtype=np.intp)
            losses[place] = log_losses(log_odds, own, folds[fold].calibration)
        mean += float(losses.mean()) / K
        variance += float(losses.var()) / max(len(rows) - 1, 1) / K**2
    return math.log(K) - mean > HALF * math.sqrt(variance) + SAME_LOSS


def _some_rows(one: ReadSet) -> SetRows:
    """Rows of a set, drawn at random, enough to judge by."""
    sample, dealt = one.folds.sample, one.folds.dealt
    return SetRows(sample.rows[:JUDGED_ROWS], dealt[:JUDGED_ROWS], sample.weights[:JUDGED_ROWS])


def usual_rows(read: ReadSets) -> UsualRows:
    """What rows of each set are like."""
    return UsualRows.learn([_some_rows(one) for one in read.sets], read.dealing.n_folds)


def as_classifier(costs: SetCosts, names: Sequence[str]) -> AlignmentAngleClassifier:
    """A fitted estimator whose classes are the names of the sets."""
    from cospan.estimator import AlignmentAngleClassifier

    order = np.argsort(names)
    costs = arranged(costs, order)
    g = costs.geometry
    given: Record = {"units": g.units, "pooling": g.pooling, "dof": g.dof}
    if not g.affine:
        center = g.center if g.center_mode == "given" else g.center_mode
        given = {"center": center, "balance": g.balance}
    return AlignmentAngleClassifier.from_fitted(
        costs,
        np.array(names)[order],
        span=g.span,
        shrinkage=g.shrinkage,
        weighting=costs.weighting,
        tol=g.tol,
        **given,
    )
