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
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cospan._tolerance import FAST_SHRINKAGE
from cospan._types import Floats
from cospan.sets.judging import Candidate, Judge
from cospan.sets.prepared import PreparedSets, TrialRows, WorkingSets
from cospan.sets.trials import left_out_grid, linear_grid, pooled_costs
from cospan.summary import Summary

# From the smallest that a fast summary allows to nearly full shrinkage, by factors of about two as
# long as it is weak, and by tenths around the default, where a factor of two can be felt.
SHRINKAGE_GRID: tuple[float, ...] = (
    *(FAST_SHRINKAGE, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1),
    *(0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
)
POOLING_GRID = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
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


class Choice(NamedTuple):
    """What was chosen, with the working coordinates it was chosen in."""

    working: WorkingSets
    shrinkage: float
    pooling: float
    dof: float
    # (K, n): leave-one-out squared costs of the sampled rows, where they are exact.
    squared: Floats | None = None


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


def more_rows(summaries: Sequence[Summary]) -> int:
    """How many rows of each set the calibration has beyond those that choices are tried on.

    It is one fit, where choices are hundreds: it takes every row that larger samples hold. A gain
    from 2,000 rows is off by several per cent, and with it every distance of large sets.
    """
    longest = max(len(part.sample) for part in summaries)
    return longest if longest > _MOST_OF_A_SET else 0


def choose(prepared: PreparedSets, asked: Asked) -> Choice:
    """Settle what was left to the data."""
    working = prepared.working(asked.units or asked.prefer_units)
    trial = working.trial(tried_rows(working.n_sets))
    free = None in (asked.units, asked.shrinkage, asked.pooling, asked.dof)
    few = prepared.sizes.min() <= 1.5
    if trial is None or not free or few or asked.shrinkage == 0 or working.n_varying == 0:
        return Choice(
            working,
            DEFAULT_SHRINKAGE if asked.shrinkage is None else asked.shrinkage,
            asked.pooling or 0.0,
            1.0 if asked.dof is None else asked.dof,
        )
    found = _Search(prepared, asked, working, Judge(trial)).found()
    squared = found.squared if prepared.affine and trial.equal_weights else None
    working = found.working
    if working.outlined:
        # The other units' basis is gone by now: of many features, two would not fit in memory.
        working = prepared.working(working.units)
    return Choice(working, found.shrinkage, found.pooling, found.dof, squared)


class _Search:
    """The way through the settings: α and ν, then the other units, then pooling."""

    def __init__(
        self, prepared: PreparedSets, asked: Asked, working: WorkingSets, judge: Judge
    ) -> None:
        self.prepared = prepared
        self.asked = asked
        self.working, self.judge = working, judge
        fixed = asked.shrinkage
        self.alphas = np.array(SHRINKAGE_GRID if fixed is None else [fixed])

    def found(self) -> Candidate:
        """The settings that were found."""
        working = self.working
        if not self.prepared.affine:
            squared = linear_grid(working, self.judge.trial, self.alphas)
            family = self.judge.family(working, squared, self.alphas, 0.0)
            return self._best_alpha(family)
        current = self._without_pooling(working, self.judge.trial)
        if self.asked.units is None:
            current = self._in_other_units(current)
        if self.asked.pooling is None or self.asked.pooling > 0:
            current = self._with_pooling(current)
        return current

    # ---- α and ν ------------------------------------------------------------------------------

    def _without_pooling(self, working: WorkingSets, trial: TrialRows) -> Candidate:
        squared = left_out_grid(working, trial, self.alphas)
        best: Candidate | None = None
        for dof in self._dofs:
            family = self.judge.family(working, squared + dof, self.alphas, dof)
            found = self._best_alpha(family)
            if best is None or self.judge.better(found, best, CLEARLY):
                best = found
        assert best is not None
        return best

    @property
    def _dofs(self) -> list[float]:
        if self.asked.dof is not None:
            return [self.asked.dof]
        d = self.working.n_varying
        # 1 is the plain weighted mean; with many, the cost grows with the distance as a Gaussian's
        # does, which is what separates sets that differ in scale alone.
        return [1.0, float(d), 10.0 * d] if d > 1 else [1.0, 10.0]

    def _best_alpha(self, family: list[Candidate]) -> Candidate:
        """The α nearest to the default among those that are not clearly worse than the best."""
        best = self.judge.best(family)
        if self.asked.shrinkage is not None:
            return best
        near = sorted(family, key=lambda one: abs(math.log(one.shrinkage / DEFAULT_SHRINKAGE)))
        return next(one for one in near if one is best or not self.judge.better(best, one, CLEARLY))

    # ---- units --------------------------------------------------------------------------------

    def _in_other_units(self, current: Candidate) -> Candidate:
        """The current candidate, or one in the other units that is better than it."""
        common = current.working.units == "common"
        other = self.prepared.working("own" if common else "common", outlined=True)
        trial = other.trial(tried_rows(other.n_sets))
        assert trial is not None  # the same rows
        rival = self._without_pooling(other, trial)
        # Own units make no result depend on a column's unit: they are given up for more.
        errors = RATHER + self._flattery() if common else CLEARLY
        return rival if self.judge.better(rival, current, errors) else current

    def _flattery(self) -> float:
        """How many standard errors own units look better than they are.

        They are held when rows are left out, and a row of n is a part 1/n of its own features'
        variances: that makes it shorter by as much, in squares. Squared lengths of normal rows
        vary by √(2/d), and the mean of n of them by √(2/dn).
        """
        return math.sqrt(self.working.n_varying / (2 * float(self.prepared.sizes.min())))

    # ---- pooling ------------------------------------------------------------------------------

    def _with_pooling(self, current: Candidate) -> Candidate:
        """The current candidate, or a pooled one that is better than it."""
        fixed = self.asked.pooling
        gammas = POOLING_GRID if fixed is None else (fixed,)
        climb = _Climb(self.judge, current.working, self.alphas, gammas, self._dofs)
        place = (int(np.argmin(np.abs(self.alphas - current.shrinkage))), len(gammas) - 1)
        if fixed is None and self.judge.better(current, climb.at(place), CLEARLY):
            # Where pooling all the way is clearly worse, so is half of it. But of many sets each
            # gains more from the others: a little may be better all the same.
            place = (place[0], 0)
            if self.working.n_sets == 2 or self.judge.mean(climb.at(place)) >= self.judge.mean(
                current
            ):
                return current
        best = climb.top(place)
        return best if fixed is not None or self.judge.better(best, current, SOMEWHAT) else current


class _Climb:
    """A walk over the grid of α and γ to where no neighbour is better."""

    def __init__(
        self,
        judge: Judge,
        working: WorkingSets,
        alphas: Floats,
        gammas: Sequence[float],
        dofs: Sequence[float],
    ) -> None:
        trial = working.trial(tried_rows(working.n_sets))
        assert trial is not None  # the search began with rows
        self.judge, self.working, self.trial = judge, working, trial
        self.alphas, self.gammas, self.dofs = alphas, gammas, dofs
        self.tried: dict[tuple[int, int], Candidate] = {}

    def at(self, place: tuple[int, int]) -> Candidate:
        """The best of the degrees of freedom at one place of the grid."""
        if place not in self.tried:
            alpha, gamma = float(self.alphas[place[0]]), self.gammas[place[1]]
            squared = pooled_costs(self.working, self.trial, alpha, gamma)
            self.tried[place] = self.judge.best(
                self.judge.candidate(self.working, squared + dof, alpha, gamma, dof)
                for dof in self.dofs
            )
        return self.tried[place]

    def top(self, place: tuple[int, int]) -> Candidate:
        while True:
            i, j = place
            around = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
            inside = [
                (a, g) for a, g in around if 0 <= a < len(self.alphas) and 0 <= g < len(self.gammas)
            ]
            best = min([place, *inside], key=lambda one: self.judge.mean(self.at(one)))
            if best == place:
                return self.at(place)
            place = best
