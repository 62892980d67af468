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
from numpy.typing import NDArray

from cospan._tolerance import SAME_LOSS
from cospan.sets.calibration import fit_calibration, log_losses, log_odds_of
from cospan.sets.prepared import TrialRows, WorkingSets

__all__ = ["Candidate", "Choice", "Judge", "judged"]

Floats = NDArray[np.float64]


class Choice(NamedTuple):
    """What was chosen, with the working coordinates it was chosen in."""

    working: WorkingSets
    shrinkage: float
    pooling: float
    dof: float


class Candidate(NamedTuple):
    working: WorkingSets
    shrinkage: float
    pooling: float
    dof: float
    losses: Floats

    def chosen(self) -> Choice:
        return Choice(self.working, self.shrinkage, self.pooling, self.dof)


class Judge(NamedTuple):
    """Compares candidates by the losses of the same rows."""

    own: NDArray[np.intp]
    weight: Floats
    counts: Floats

    def mean(self, losses: Floats) -> float:
        return float(self.weight @ losses)

    def gain(self, candidate: Candidate, current: Candidate) -> tuple[float, float]:
        """How much lower the candidate's loss is, and the standard error of that."""
        difference = current.losses - candidate.losses
        error = 0.0
        for k in range(int(self.own.max()) + 1):
            member = self.own == k
            # A row of weight 2 is two rows, also in how sure we are.
            total = float(self.counts[member].sum())
            weight = self.counts[member] / total
            about = difference[member] - weight @ difference[member]
            error += float(weight @ about**2) / max(total - 1, 0.5 * total)
        return self.mean(difference), math.sqrt(error) / (self.own.max() + 1)

    def better(self, candidate: Candidate, current: Candidate, errors: float) -> bool:
        gain, error = self.gain(candidate, current)
        return gain > errors * error + SAME_LOSS


def judged(
    working: WorkingSets,
    trial: TrialRows,
    squared: Floats,
    alphas: Iterable[float],
    pooling: float,
    dof: float,
) -> list[Candidate]:
    """Candidates for each α, from squared costs (n, K, α)."""
    found, start = [], None
    for i, alpha in enumerate(alphas):
        log_odds = log_odds_of(squared[:, :, i])
        start = fit_calibration(log_odds, trial.own, trial.counts, start)
        losses = log_losses(log_odds, trial.own, start)
        found.append(Candidate(working, float(alpha), pooling, dof, losses))
    return found
