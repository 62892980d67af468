"""Which of two choices is better, and how sure that is.

The measure is the leave-one-out log-loss of the calibrated probabilities: how surprised they are
by the set a row really comes from, every set counting alike. It is a proper score of what the
angle claims (cos²θ is the probability of A), for any number of sets, and it still tells good from
better where the AUC is 1 for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from cospan._tolerance import SAME_LOSS
from cospan._types import Floats
from cospan.sets.calibration import (
    Calibration,
    balanced_weights,
    fit_calibration,
    log_losses,
    log_odds_of,
)
from cospan.sets.prepared import TrialRows, WorkingSets


class Candidate(NamedTuple):
    """Settings that were tried, and what came of them."""

    working: WorkingSets
    shrinkage: float
    pooling: float
    dof: float
    squared: Floats  # (K, n): leave-one-out squared costs
    calibration: Calibration
    losses: Floats  # (n,)


class Judge:
    """Compares candidates by the losses of the same rows, every set counting alike."""

    def __init__(self, trial: TrialRows) -> None:
        self.trial = trial
        self.n_sets = int(trial.own.max()) + 1
        self.weight = balanced_weights(trial.own, trial.counts, self.n_sets)
        self.members = [np.flatnonzero(trial.own == k) for k in range(self.n_sets)]
        # A row of weight 2 is two rows, also in how sure we are.
        self.totals = [float(trial.counts[member].sum()) for member in self.members]

    def mean(self, candidate: Candidate) -> float:
        return float(self.weight @ candidate.losses)

    def best(self, family: Iterable[Candidate]) -> Candidate:
        return min(family, key=self.mean)

    def gain(self, candidate: Candidate, current: Candidate) -> tuple[float, float]:
        """How much lower the candidate's loss is, and the standard error of that."""
        difference = current.losses - candidate.losses
        error = 0.0
        for member, total in zip(self.members, self.totals, strict=True):
            weight = self.trial.counts[member] / total
            about = difference[member] - weight @ difference[member]
            error += float(weight @ about**2) / max(total - 1, 0.5 * total)
        return float(self.weight @ difference), math.sqrt(error) / self.n_sets

    def better(self, candidate: Candidate, current: Candidate, errors: float) -> bool:
        """Is a candidate's loss lower by so many standard errors?"""
        gain, error = self.gain(candidate, current)
        return gain > errors * error + SAME_LOSS

    def candidate(
        self,
        working: WorkingSets,
        squared: Floats,
        alpha: float,
        pooling: float,
        dof: float,
        start: Calibration | None = None,
    ) -> Candidate:
        """What comes of squared costs (K, n), calibrated; `start` helps where it is near."""
        log_odds = log_odds_of(squared.T)
        found = fit_calibration(log_odds, self.trial.own, self.trial.counts, start)
        losses = log_losses(log_odds, self.trial.own, found)
        return Candidate(working, alpha, pooling, dof, squared, found, losses)

    def family(
        self, working: WorkingSets, squared: Floats, alphas: Floats, dof: float
    ) -> list[Candidate]:
        """Candidates for each α without pooling, from squared costs (α, K, n)."""
        found: list[Candidate] = []
        for cost, alpha in zip(squared, alphas.tolist(), strict=True):
            start = found[-1].calibration if found else None
            found.append(self.candidate(working, cost, alpha, 0.0, dof, start))
        return found
