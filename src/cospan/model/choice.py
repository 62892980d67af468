"""What is left to the data: units, degrees of freedom ν, shrinkage α and pooling γ.

All are judged by one number, the leave-one-out log-loss of the calibrated probabilities: how
surprised they are by the set a row really comes from, every set counting alike. It is a proper
score of what the angle claims (cos²θ is the probability of A), for any number of sets, and it
still tells good from better where the AUC is 1 for all.

Each choice has a default (the units that fit the kind of data, ν = 1, α = 0.3, γ = 0) and moves
away from it only where another value is better by more than its sampling error, paired over the
rows. So noise chooses nothing.

One eigendecomposition of each set gives the costs of all rows for a whole grid of α. Pooled
covariances take one Cholesky factor for every α and γ, and every set that rows are taken from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cospan.base import arrays, factorizations
from cospan.base.tolerance import FAST_SHRINKAGE, NOT_ZERO, SAME_LOSS
from cospan.base.types import Floats
from cospan.model.calibration import (
    Calibration,
    balanced_weights,
    fit_calibration,
    log_losses,
    log_odds_of,
)
from cospan.model.leave_one_out import Departure, LeaveOneOutCosts, changed, factors_of, maps_of
from cospan.model.prepared import Geometry, PreparedSets, TrialRows, WorkingSets
from cospan.model.settings import Fixed
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
CLEARLY, SOMEWHAT, RATHER = 2.0, 1.5, 1.0
# A set whose weights sum to no more than this has no row to leave out.
AS_GOOD_AS_ONE = 1.5
# Rows tried in all, shared among the sets; of one set at most, and at least.
TRIED_ROWS, MOST_OF_A_SET, FEWEST_OF_A_SET = 5000, 2000, 20
# Degrees of freedom tried beside 1 and d: so many times d. With many, the cost grows with the
# distance as a Gaussian's does, which is what separates sets that differ in scale alone.
MANY_DOF = 10.0


def tried_rows(n_sets: int) -> int:
    """How many rows of each of so many sets choices are tried on."""
    return min(MOST_OF_A_SET, max(FEWEST_OF_A_SET, TRIED_ROWS // n_sets))


def more_rows(summaries: Sequence[Summary]) -> int:
    """How many rows of each set the calibration has, where that is more than choices have.

    It is one fit, where choices are hundreds: a gain from 2,000 rows is off by several per cent.
    """
    longest = max(len(part.sample) for part in summaries)
    return longest if longest > MOST_OF_A_SET else 0


class Chosen(NamedTuple):
    """Sets that are prepared and chosen for, and the sampled rows that were tried."""

    working: WorkingSets
    geometry: Geometry
    trial: TrialRows | None
    #: (n, K): their leave-one-out costs, where the choice computed them exactly
    squared: Floats | None


def choose(
    prepared: PreparedSets, fixed: Fixed, prefer_units: str, near: Geometry | None = None
) -> Chosen:
    """Settle what was left to the data; a part of them chooses `near` what all of them chose."""
    working = WorkingSets(prepared, fixed.units or prefer_units)
    trial = working.trial(tried_rows(working.n_sets))
    g = working.geometry
    few = g.sizes.min() <= AS_GOOD_AS_ONE
    if trial is None or None not in fixed or few or g.n_varying == 0:
        alpha = DEFAULT_SHRINKAGE if fixed.shrinkage is None else fixed.shrinkage
        dof = 1.0 if fixed.dof is None else fixed.dof
        g = replace(g, shrinkage=alpha, pooling=fixed.pooling or 0.0, dof=dof)
        return Chosen(working, g, trial, None)
    search = _Search(fixed, working, Judge(trial), near)
    found = search.without_pooling(working)
    if search.other_units:
        found = search.in_other_units(found)
    if any(search.gammas):
        found = search.with_pooling(found)
    equal_weights = bool(np.all(trial.removed == trial.removed[:1]))
    squared = found.squared.T if g.affine and equal_weights else None
    return Chosen(found.working, found.geometry, _trial_of(found.working), squared)


# ---- which of two settings is better ----------------------------------------------------------


class Candidate(NamedTuple):
    """Settings that were tried, and what came of them."""

    working: WorkingSets
    geometry: Geometry
    squared: Floats  # (K, n): leave-one-out squared costs
    calibration: Calibration
    losses: Floats  # (n,)


class Judge:
    """Compares settings by the losses of the same rows, every set counting alike."""

    def __init__(self, trial: TrialRows) -> None:
        self.trial = trial
        self.n_sets = int(trial.own.max()) + 1
        self.weight = balanced_weights(trial.own, trial.counts, self.n_sets)

    def mean(self, candidate: Candidate) -> float:
        """The loss of the average row."""
        return float(self.weight @ candidate.losses)

    def better(self, losses: Floats, current: Floats, errors: float) -> bool:
        """Are losses lower than the current ones by so many standard errors?"""
        difference, own = current - losses, self.trial.own
        # A row of weight 2 is two rows, also in how sure we are.
        total = np.bincount(own, self.trial.counts)
        means = np.bincount(own, self.weight * difference) * self.n_sets
        squares = np.bincount(own, self.weight * (difference - means[own]) ** 2)
        error = math.sqrt(np.sum(squares / np.maximum(total - 1, 0.5 * total)) / self.n_sets)
        return float(means.mean()) > errors * error + SAME_LOSS

    def calibrated(
        self, squared: Floats, start: Calibration | None = None
    ) -> tuple[Calibration, Floats]:
        """The calibration of squared costs (K, n), and their losses; `start` is one near it."""
        log_odds = log_odds_of(squared.T)
        found = fit_calibration(log_odds, self.trial.own, self.trial.counts, start)
        return found, log_losses(log_odds, self.trial.own, found)


# ---- the way through the settings -------------------------------------------------------------


class _Search:
    """α and ν first, then the other units, then pooling."""

    def __init__(
        self, fixed: Fixed, working: WorkingSets, judge: Judge, near: Geometry | None
    ) -> None:
        self.judge, self.pools = judge, fixed.pooling is not None
        self.alphas = np.array(SHRINKAGE_GRID if fixed.shrinkage is None else [fixed.shrinkage])
        self.gammas: tuple[float, ...] = POOLING_GRID
        if fixed.pooling is not None:
            self.gammas = (fixed.pooling,)
        d = working.geometry.n_varying
        self.dofs = [1.0, float(d), MANY_DOF * d] if d > 1 else [1.0, MANY_DOF]
        if fixed.dof is not None:
            self.dofs = [fixed.dof]
        # Without shrinkage no cost depends on units. Where rows are few, a second basis of their
        # span costs memory, and units gain nothing.
        free = fixed.units is None and fixed.shrinkage != 0
        self.other_units = free and working.basis is None
        if near is not None:  # the defaults, and what was chosen before with its neighbours
            place = int(np.argmin(np.abs(self.alphas - near.shrinkage)))
            around = self.alphas[max(place - 1, 0) : place + 2]
            default = self.alphas[np.argmin(np.abs(self.alphas - DEFAULT_SHRINKAGE))]
            self.alphas = np.unique([*around, default])
            self.dofs = [one for one in self.dofs if one in (1.0, near.dof)] or self.dofs
            self.gammas = tuple(one for one in self.gammas if one == near.pooling)
            self.other_units &= near.units != working.geometry.units

    def without_pooling(self, working: WorkingSets) -> Candidate:
        """The best α and ν."""
        trial = _trial_of(working)
        squared = left_out_grid(working, trial, self.alphas)
        first, *others = (self._best_alpha(working, squared, dof) for dof in self.dofs)
        for found in others:
            first = found if self.judge.better(found.losses, first.losses, CLEARLY) else first
        return first

    def _best_alpha(self, working: WorkingSets, squared: Floats, dof: float) -> Candidate:
        """The α nearest to the default among those that are not clearly worse than the best."""
        family: list[Candidate] = []
        for cost, alpha in zip(squared, self.alphas.tolist(), strict=True):
            start = family[-1].calibration if family else None
            family.append(self._candidate(working, cost, alpha, 0.0, dof, start))
        best = min(family, key=self.judge.mean)
        good = [x for x in family if not self.judge.better(best.losses, x.losses, CLEARLY)]
        return min(
            good,
            key=lambda x: abs(math.log(max(x.geometry.shrinkage, NOT_ZERO) / DEFAULT_SHRINKAGE)),
        )

    def _candidate(
        self,
        working: WorkingSets,
        squared: Floats,
        alpha: float,
        gamma: float,
        dof: float,
        start: Calibration | None = None,
    ) -> Candidate:
        """What comes of squared costs (K, n) without ν."""
        g = replace(working.geometry, shrinkage=alpha, pooling=gamma, dof=dof)
        squared = squared + dof
        return Candidate(working, g, squared, *self.judge.calibrated(squared, start))

    def in_other_units(self, current: Candidate) -> Candidate:
        """The current candidate, or one in the other units that is better than it."""
        g = current.geometry
        common = g.units == "common"
        others = WorkingSets(current.working.prepared, "own" if common else "common")
        rival = self.without_pooling(others)
        # Own units make no result depend on a column's unit: they are given up for more. But they
        # look better than they are. They are kept when rows are left out, and a row of n is a part
        # 1/n of its own features' variances: that makes it shorter by as much, in squares. Squared
        # lengths of normal rows vary by √(2/d), and the mean of n of them by √(2/dn).
        flattery = math.sqrt(g.n_varying / (2 * float(g.sizes.min())))
        errors = RATHER + flattery if common else CLEARLY
        return rival if self.judge.better(rival.losses, current.losses, errors) else current

    def with_pooling(self, current: Candidate) -> Candidate:
        """The current candidate, or a pooled one that is better than it."""
        judge, working, n = self.judge, current.working, len(self.gammas)
        tried: dict[tuple[int, int], Candidate] = {}
        trial = _trial_of(working)
        matrices = [arrays.to_numpy(working.matrix(k)) for k in range(working.n_sets)]

        def at(place: tuple[int, int]) -> Candidate:
            """The best of the degrees of freedom at one place of the grid of α and γ."""
            if place not in tried:
                alpha, gamma = float(self.alphas[place[0]]), self.gammas[place[1]]
                squared = pooled_costs(working, matrices, trial, alpha, gamma)
                each = [self._candidate(working, squared, alpha, gamma, dof) for dof in self.dofs]
                tried[place] = min(each, key=judge.mean)
            return tried[place]

        i = int(np.argmin(np.abs(self.alphas - current.geometry.shrinkage)))
        place = (i, n - 1)
        if not self.pools and judge.better(current.losses, at(place).losses, CLEARLY):
            # Where pooling all the way is clearly worse, so is half of it. But of many sets each
            # gains more from the others: a little may be better all the same.
            place = (i, 0)
            if working.n_sets == 2 or judge.mean(at(place)) >= judge.mean(current):
                return current
        for step in (4, 2, 1):  # up to where no neighbour is better; α first, by long strides
            before = None
            while place != before:
                before = i, j = place
                around = [place, (i - step, j), (i + step, j)]
                around += [(i, j - 1), (i, j + 1)] if step == 1 else []
                inside = [x for x in around if x[0] in range(len(self.alphas)) and x[1] in range(n)]
                place = min(inside, key=lambda one: judge.mean(at(one)))
        best = at(place)
        better = self.pools or judge.better(best.losses, current.losses, SOMEWHAT)
        return best if better else current


def _trial_of(working: WorkingSets) -> TrialRows:
    """The rows that settings are tried on."""
    trial = working.trial(tried_rows(working.n_sets))
    assert trial is not None  # the search began with rows
    return trial


# ---- what settings would cost: leave-one-out squared costs of sampled rows ----------------------


def left_out_grid(working: WorkingSets, trial: TrialRows, alphas: Floats) -> Floats:
    """Squared costs without ν, (α, K, n): each row left out of its own set.

    Exact in the affine span where all rows of a set have the same weight.
    """
    if not alphas.any():
        maps = maps_of(working, 0.0)  # by the formula for sets of any rank
        found = LeaveOneOutCosts(working.geometry, maps, lambda: factors_of(maps), working.basis)
        return np.asarray(found.of_trial(trial).T)[None]
    at, affine = working.means(), working.geometry.affine
    gone = [_departure(working, trial, o) for o in range(working.n_sets)]
    costs = np.empty((len(alphas), working.n_sets, len(trial.own)))
    for k in range(working.n_sets):
        values, vectors = working.spectrum(k)
        # Squared coordinates of all rows about the mean of set k, or about the one centre.
        projected = np.asarray(arrays.matmul(trial.rows, vectors))
        if affine:
            projected += arrays.matmul(at - at[k], vectors)[trial.own]
        projected *= projected
        costs[:, k, :] = _quadratic(projected, values, alphas, trial.off)
        mine = trial.own == k
        pp = _quadratic(projected[mine], (1 + gone[k].growth) * values, alphas, trial.off[mine])
        costs[:, k, mine] = changed(pp, pp, pp, np.outer(1 - alphas, gone[k].lost))
    for o, one in enumerate(gone):  # in the linear span all sets see a row from the same centre
        costs[:, o if affine else slice(None), trial.own == o] *= one.farther**2
    return costs


def _departure(working: WorkingSets, trial: TrialRows, k: int) -> Departure:
    """What any row of set k takes along."""
    return Departure.of(working.geometry, k, trial.removed[trial.own == k].max(keepdims=True))


def _quadratic(projected: Floats, values: Floats, alphas: Floats, off: Floats) -> Floats:
    """Σ projected/((1-α)λ + α) for every α and row, with what lies off the span."""
    spectrum = np.outer(values, 1 - alphas) + alphas
    found = np.asarray(arrays.matmul(projected, 1 / spectrum)).T
    return found + off / alphas[:, None] if off.any() else found


def pooled_costs(
    working: WorkingSets, matrices: Sequence[Floats], trial: TrialRows, alpha: float, pooling: float
) -> Floats:
    """Squared costs without ν, (K, n), for one α and one γ; exact as in `left_out_grid`."""
    K, means = working.n_sets, working.means().T
    mean = sum(matrices[1:], start=matrices[0]) / K
    costs = np.empty((K, len(trial.own)))
    for o in range(K):
        member = np.flatnonzero(trial.own == o)
        rows, gone = trial.rows[member].T, _departure(working, trial, o)
        for k in range(K):
            # What set o weighs in k's matrix.
            weight = (1 - alpha) * (pooling / K + (1 - pooling) * (k == o))
            if pooling < 1 or k == 0:  # at γ = 1 there is one matrix for all sets
                shrunk = (1 - alpha) * ((1 - pooling) * matrices[k] + pooling * mean)
                shrunk += weight * gone.growth * matrices[o]
                shrunk[np.diag_indices_from(shrunk)] += alpha
                # Rows and all means, as columns, where that matrix is the identity.
                R = factorizations.cholesky(shrunk)
                p = factorizations.solve_triangular_transposed(R, rows)
                at = factorizations.solve_triangular_transposed(R, means)
            pp = np.einsum("ij,ij->j", p, p) + trial.off[member] / alpha
            step = at[:, o] - at[:, k]
            along = step @ p
            cost = changed(pp, pp + along, pp + 2 * along + step @ step, weight * gone.lost)
            costs[k, member] = cost * (gone.farther**2 if k == o else 1.0)
    return costs
