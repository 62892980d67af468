"""What is left to the data: units, degrees of freedom ν, shrinkage α and pooling γ.

All are judged by one number, the leave-one-out log-loss of the calibrated probabilities: how
surprised they are by the set a row really comes from, every set counting alike. It is a proper
score of what the angle claims (cos²θ is the probability of A), for any number of sets, and it
still tells good from better where the AUC is 1 for all.

Each choice has a default (the units that fit the kind of data, ν = 1, α = 0.3, γ = 0) and moves
away from it only where another value is better by more than its sampling error, paired over the
rows. So noise chooses nothing: two draws of the same data end at the same place, and sets that do
not differ are not made to look different by trying hard.

One eigendecomposition of each set gives the costs of all rows for a whole grid of α.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan._tolerance import FAST_SHRINKAGE
from cospan.sets.calibration import balanced_weights
from cospan.sets.judging import Candidate, Choice, Judge, judged
from cospan.sets.prepared import PreparedSets, TrialRows, WorkingSets
from cospan.sets.trials import left_out_grid, linear_grid, pooled_costs, pooled_grid

__all__ = ["SHRINKAGE_GRID", "Asked", "Choice", "choose", "preferred_units", "tried_rows"]

Floats = NDArray[np.float64]

# From the smallest that a fast summary allows to nearly full shrinkage, by factors of 1.9: the
# loss is smooth at this step.
SHRINKAGE_GRID: tuple[float, ...] = tuple(
    float(f"{x:.3g}") for x in np.geomspace(FAST_SHRINKAGE, 0.95, 12)
)
POOLING_GRID = (0.1, 0.25, 0.5, 0.75, 0.9)
DEFAULT_SHRINKAGE = 0.3
# Standard errors by which another value must be better. Measured on 43 pairs of real tables and
# on pairs without a difference: below two for α and ν, leave-one-out angles of equal sets begin to
# separate (AUC above 0.55); units are a single decision, where one is enough, and pooling, tried
# for a few γ and α, takes something between.
CLEARLY = 2.0
RATHER = 1.0
SOMEWHAT = 1.5
# Rows tried in all, shared among the sets.
_TRIED_ROWS = 5000
_MOST_OF_A_SET = 2000


class Asked(NamedTuple):
    """What the caller fixed (a value) and what is left to the data (None)."""

    units: str | None
    shrinkage: float | None
    pooling: float | None
    dof: float | None
    prefer_units: str = "common"


def tried_rows(n_sets: int) -> int:
    """How many rows of each of so many sets choices are tried on."""
    return min(_MOST_OF_A_SET, max(20, _TRIED_ROWS // n_sets))


def choose(prepared: PreparedSets, asked: Asked) -> Choice:
    """Settle what was left to the data."""
    chosen = _chosen(prepared, asked)
    if not chosen.working.outlined:
        return chosen
    # The other units' basis is gone by now: of many features, two would not fit in memory.
    return chosen._replace(working=prepared.working(chosen.working.units))


def _chosen(prepared: PreparedSets, asked: Asked) -> Choice:
    preferred = asked.units or asked.prefer_units
    working = prepared.working(preferred)
    trial = working.trial(tried_rows(working.n_sets))
    default = Choice(
        working,
        DEFAULT_SHRINKAGE if asked.shrinkage is None else asked.shrinkage,
        asked.pooling or 0.0,
        1.0 if asked.dof is None else asked.dof,
    )
    free = None in (asked.units, asked.shrinkage, asked.pooling, asked.dof)
    few = prepared.sizes.min() <= 1.5
    if trial is None or not free or few or asked.shrinkage == 0 or working.n_varying == 0:
        return default
    weight = balanced_weights(trial.own, trial.counts, working.n_sets)
    judge = Judge(trial.own, weight, trial.counts)
    if not prepared.affine:
        alphas = _alphas(asked)
        squared = linear_grid(working, trial, alphas)
        family = judged(working, trial, squared, alphas, 0.0, 0.0)
        return _best_of_family(judge, family, asked).chosen()
    current = _without_pooling(judge, working, trial, asked)
    if asked.units is None:
        other = prepared.working("common" if preferred == "own" else "own", outlined=True)
        rival = _without_pooling(judge, other, other.trial(tried_rows(other.n_sets)), asked)
        # Own units make no result depend on a column's unit: they are given up for more.
        if judge.better(rival, current, RATHER if preferred == "common" else CLEARLY):
            current = rival
    if asked.pooling is None or asked.pooling > 0:
        trial = current.working.trial(tried_rows(working.n_sets))
        current = _with_pooling(judge, current, trial, asked)
    return current.chosen()


# ---- α and ν ----------------------------------------------------------------------------------


def _without_pooling(
    judge: Judge, working: WorkingSets, trial: TrialRows | None, asked: Asked
) -> Candidate:
    assert trial is not None  # `choose` looked
    alphas = _alphas(asked)
    squared = left_out_grid(working, trial, alphas)
    best: Candidate | None = None
    for dof in _dofs(asked, working):
        family = judged(working, trial, squared + dof, alphas, 0.0, dof)
        found = _best_of_family(judge, family, asked)
        if best is None or judge.better(found, best, CLEARLY):
            best = found
    assert best is not None
    return best


def _alphas(asked: Asked) -> Floats:
    return np.array(SHRINKAGE_GRID if asked.shrinkage is None else [asked.shrinkage])


def _dofs(asked: Asked, working: WorkingSets) -> list[float]:
    if asked.dof is not None:
        return [asked.dof]
    d = working.n_varying
    # 1 is the plain weighted mean; with many, the cost grows with the distance as a Gaussian's
    # does, which is what separates sets that differ in scale alone.
    return [1.0, float(d), 10.0 * d] if d > 1 else [1.0, 10.0]


def _best_of_family(judge: Judge, family: list[Candidate], asked: Asked) -> Candidate:
    """The α nearest to the default among those that are not clearly worse than the best."""
    best = min(family, key=lambda one: judge.mean(one.losses))
    if asked.shrinkage is not None:
        return best
    near = sorted(family, key=lambda one: abs(math.log(one.shrinkage / DEFAULT_SHRINKAGE)))
    return next(one for one in near if one is best or not judge.better(best, one, CLEARLY))


# ---- pooling ----------------------------------------------------------------------------------


def _with_pooling(
    judge: Judge, current: Candidate, trial: TrialRows | None, asked: Asked
) -> Candidate:
    """The current candidate, or a pooled one that is better than it."""
    assert trial is not None
    working = current.working
    full = _fully_pooled(judge, working, trial, asked)
    fixed = asked.pooling is not None
    if not fixed and judge.better(current, full, CLEARLY):
        return current  # where pooling all the way is clearly worse, so is half of it
    family = [] if fixed and asked.pooling != 1 else [full]
    for alpha in sorted({current.shrinkage, full.shrinkage}):
        for pooling in [asked.pooling] if fixed else POOLING_GRID:
            squared = pooled_costs(working, trial, alpha, float(pooling or 0.0))
            for dof in _dofs(asked, working):
                more = squared[:, :, None] + dof
                family += judged(working, trial, more, [alpha], float(pooling or 0.0), dof)
    best = min(family, key=lambda one: judge.mean(one.losses))
    return best if fixed or judge.better(best, current, SOMEWHAT) else current


def _fully_pooled(judge: Judge, working: WorkingSets, trial: TrialRows, asked: Asked) -> Candidate:
    """The best with one covariance for all sets."""
    alphas = _alphas(asked)
    squared = pooled_grid(working, trial, alphas)
    family = [
        one
        for dof in _dofs(asked, working)
        for one in judged(working, trial, squared + dof, alphas, 1.0, dof)
    ]
    return min(family, key=lambda one: judge.mean(one.losses))


def preferred_units(named: bool, picture: bool) -> str:
    """Units before any row is looked at: a table's columns have their own, pixels share one."""
    return "own" if named and not picture else "common"
