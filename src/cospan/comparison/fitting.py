"""Models of the sets: one of all rows, and one for each fold, which scores the rows it never saw.

The model of all rows of two sets is a joint frame, for its directions; else costs are all it takes.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from cospan.base.tolerance import NOT_ZERO, SAME_LOSS
from cospan.comparison.reading import Again, ReadSet, ReadSets
from cospan.comparison.scoring import Model, Scorer, no_gain
from cospan.comparison.settings import Settings
from cospan.data import Chunk
from cospan.errors import InputError
from cospan.model import JointFrame, SetCosts, SetRows, UsualRows

#: With fewer rows in a set, what was chosen on all rows flatters them: every fold chooses anew.
FEW_ROWS = 1000
#: Standard errors by which probabilities must be better than even ones.
HALF = 0.5
#: Rows of a set that the gain is judged by, and what is usual.
JUDGED_ROWS = 2000


def fit_models(read: ReadSets, settings: Settings, picture: bool) -> Scorer:
    """Fit all models; their gain is 0 where probabilities are no better than even ones."""
    model = _of_sets(read, settings, picture)
    if (plan := read.opened.first.plan) is not None:  # so that a saved model can read such tables
        model = replace(model, geometry=replace(model.geometry, encoding=plan.to_dict()))
    folds = [_of_fold(read, k, model, settings, picture) for k in range(read.n_folds)]
    scorer = Scorer(model, settings.weighting, tuple(folds))
    if not model.answering.geometry.calibration.offsets or _beats_chance(scorer, read.sets):
        return scorer
    bare = tuple(None if one is None else _without_gain(one) for one in folds)
    return scorer._replace(model=_without_gain(model), folds=bare)


def _of_sets(read: ReadSets, settings: Settings, picture: bool) -> Model:
    summaries, again = [one.summary for one in read.sets], Again(read)
    if len(summaries) == 2:
        return JointFrame.of_sets(summaries[0], summaries[1], settings, picture, again)
    return SetCosts.from_summaries(
        summaries,
        labels=read.opened.names,
        weighting=settings.weighting,
        picture=picture,
        again=again,
        **settings.of_the_sets(),
    )


def _of_fold(
    read: ReadSets, fold: int, model: Model, settings: Settings, picture: bool
) -> Model | None:
    """A model of the other folds, of the same kind as the model of all rows.

    Of many rows, what was chosen on all of them stays; of few, every fold chooses anew, between
    that, its neighbours and the defaults.
    """
    others = [one.folds.without(fold) for one in read.sets]
    again, curve = Again(read, fold), model.curve
    try:
        if isinstance(model, JointFrame) and (
            model.shrinkage == 0 or settings.weighting == "frame"
        ):
            # Directions can be of one set alone: the frame says more of a row than its costs.
            bare = replace(settings, curve=None)
            return JointFrame.of_sets(others[0], others[1], bare, picture, None)
        if min(one.rows for one in read.sets) < FEW_ROWS:
            return SetCosts.from_summaries(
                others,
                weighting=settings.weighting,
                picture=picture,
                again=again,
                mapping=None if curve is None else curve.map,
                near=model.geometry,
                **settings.of_the_sets() | ({"curve": None} if curve is None else {}),
            )
        if curve is None:
            return SetCosts.settled(model.geometry, others)
        return replace(model, curve=curve.refitted(again(curve.map)))
    except InputError:  # rows vary in this fold alone
        return None


def _without_gain(model: Model) -> Model:
    none = no_gain(model.geometry.n_sets)
    if model.curve is not None:
        costs = model.curve.costs
        costs = replace(costs, geometry=replace(costs.geometry, calibration=none))
        model = replace(model, curve=replace(model.curve, costs=costs))
    return replace(model, geometry=replace(model.geometry, calibration=none))


def _beats_chance(scorer: Scorer, read: list[ReadSet]) -> bool:
    """Is the log-loss of rows out of fold below log K by half its standard error?"""
    K, mean, variance = len(read), 0.0, 0.0
    for k, one in enumerate(read):
        rows, dealt, _ = _some_rows(one)
        scored = scorer.score(Chunk(rows, np.arange(len(rows))), dealt, k)
        losses = -np.log(np.maximum(scored.weights[:, k], NOT_ZERO))
        mean += float(losses.mean()) / K
        variance += float(losses.var()) / max(len(rows) - 1, 1) / K**2
    return math.log(K) - mean > HALF * math.sqrt(variance) + SAME_LOSS


def _some_rows(one: ReadSet) -> SetRows:
    """Rows of a set, drawn at random, enough to judge by."""
    sample, dealt = one.folds.sample, one.folds.dealt
    return SetRows(sample.rows[:JUDGED_ROWS], dealt[:JUDGED_ROWS], sample.weights[:JUDGED_ROWS])


def usual_rows(read: ReadSets) -> UsualRows:
    """What rows of each set are like."""
    return UsualRows.learn([_some_rows(one) for one in read.sets], read.n_folds)
