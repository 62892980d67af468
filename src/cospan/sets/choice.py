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
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan import _arrays as arrays
from cospan._tolerance import FAST_SHRINKAGE
from cospan.sets.calibration import (
    balanced_weights,
    fit_calibration,
    log_losses,
    log_odds_of,
)
from cospan.sets.prepared import PreparedSets, TrialRows, WorkingSets

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


class Choice(NamedTuple):
    """What was chosen, with the working coordinates it was chosen in."""

    working: WorkingSets
    shrinkage: float
    pooling: float
    dof: float


class _Candidate(NamedTuple):
    working: WorkingSets
    shrinkage: float
    pooling: float
    dof: float
    losses: Floats

    def chosen(self) -> Choice:
        return Choice(self.working, self.shrinkage, self.pooling, self.dof)


class _Judge(NamedTuple):
    """Compares candidates by the losses of the same rows."""

    own: NDArray[np.intp]
    weight: Floats
    counts: Floats

    def mean(self, losses: Floats) -> float:
        return float(self.weight @ losses)

    def gain(self, candidate: _Candidate, current: _Candidate) -> tuple[float, float]:
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

    def better(self, candidate: _Candidate, current: _Candidate, errors: float) -> bool:
        gain, error = self.gain(candidate, current)
        return gain > errors * error + 1e-12


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
    judge = _Judge(trial.own, weight, trial.counts)
    if not prepared.affine:
        return _best_of_family(judge, _linear_family(working, trial, asked), asked).chosen()
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
    judge: _Judge, working: WorkingSets, trial: TrialRows | None, asked: Asked
) -> _Candidate:
    assert trial is not None  # `choose` looked
    alphas = _alphas(asked)
    squared = _left_out_grid(working, trial, alphas)
    best: _Candidate | None = None
    for dof in _dofs(asked, working):
        family = _judged(working, trial, squared + dof, alphas, 0.0, dof)
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


def _judged(
    working: WorkingSets,
    trial: TrialRows,
    squared: Floats,
    alphas: Iterable[float],
    pooling: float,
    dof: float,
) -> list[_Candidate]:
    """Candidates for each α, from squared costs (n, K, α)."""
    found, start = [], None
    for i, alpha in enumerate(alphas):
        log_odds = log_odds_of(squared[:, :, i])
        start = fit_calibration(log_odds, trial.own, trial.counts, start)
        losses = log_losses(log_odds, trial.own, start)
        found.append(_Candidate(working, float(alpha), pooling, dof, losses))
    return found


def _best_of_family(judge: _Judge, family: list[_Candidate], asked: Asked) -> _Candidate:
    """The α nearest to the default among those that are not clearly worse than the best."""
    best = min(family, key=lambda one: judge.mean(one.losses))
    if asked.shrinkage is not None:
        return best
    near = sorted(family, key=lambda one: abs(math.log(one.shrinkage / DEFAULT_SHRINKAGE)))
    return next(one for one in near if one is best or not judge.better(best, one, CLEARLY))


def _left_out_grid(working: WorkingSets, trial: TrialRows, alphas: Floats) -> Floats:
    """Squared costs without ν, (n, K, α): each row left out of its own set (affine span)."""
    at = working.means()
    costs = np.empty((len(trial.own), working.n_sets, len(alphas)))
    for k in range(working.n_sets):
        values, vectors = working.spectrum(k)
        projected = arrays.matmul(trial.rows + (at[trial.own] - at[k]), vectors) ** 2
        mine = trial.own == k
        costs[:, k, :] = _quadratic(projected, values, alphas, alphas, trial.off)
        n, removed = working.prepared.sizes[k], trial.removed[mine].max()
        ridge = alphas * (n - removed) / n
        h = (n - removed) / n * _quadratic(projected[mine], values, alphas, ridge, trial.off[mine])
        lost = (1 - alphas) * removed * n / (n - removed) ** 2
        costs[mine, k, :] = (n / (n - removed)) ** 2 * h / np.maximum(1 - lost * h, 1e-12)
    return costs


def _quadratic(
    projected: Floats, values: Floats, alphas: Floats, ridge: Floats, off: Floats
) -> Floats:
    """Σ projected/((1-α)λ + ridge) for every row and α, with what lies off the span."""
    spectrum = np.outer(values, 1 - alphas) + ridge
    return np.asarray(arrays.matmul(projected, 1 / spectrum)) + off[:, None] / ridge


def _linear_family(working: WorkingSets, trial: TrialRows, asked: Asked) -> list[_Candidate]:
    """Candidates for each α in the linear span, centre and divisor held."""
    alphas = _alphas(asked)
    prepared = working.prepared
    at = working.means() if prepared.center_mode != "each" else 0 * working.means()
    rows = trial.rows + at[trial.own]
    costs = np.empty((len(trial.own), working.n_sets, len(alphas)))
    for k in range(working.n_sets):
        values, vectors = working.spectrum(k)
        projected = arrays.matmul(rows, vectors) ** 2
        cost = _quadratic(projected, values, alphas, alphas, trial.off)
        mine = trial.own == k
        lost = (1 - alphas) * prepared.weights[k] * trial.removed[mine, None]
        cost[mine] = cost[mine] / np.maximum(1 - lost * cost[mine], 1e-12)
        costs[:, k, :] = cost
    return _judged(working, trial, costs, alphas, 0.0, 0.0)


# ---- pooling ----------------------------------------------------------------------------------


def _with_pooling(
    judge: _Judge, current: _Candidate, trial: TrialRows | None, asked: Asked
) -> _Candidate:
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
            squared = _pooled_costs(working, trial, alpha, float(pooling or 0.0))
            for dof in _dofs(asked, working):
                more = squared[:, :, None] + dof
                family += _judged(working, trial, more, [alpha], float(pooling or 0.0), dof)
    best = min(family, key=lambda one: judge.mean(one.losses))
    return best if fixed or judge.better(best, current, SOMEWHAT) else current


def _fully_pooled(
    judge: _Judge, working: WorkingSets, trial: TrialRows, asked: Asked
) -> _Candidate:
    """The best with one covariance for all sets: one eigendecomposition serves every α."""
    alphas = _alphas(asked)
    values, vectors = working.mean_spectrum()
    at = working.means()
    K = working.n_sets
    shape = (len(trial.own), K, len(alphas))
    rows = arrays.matmul(trial.rows, vectors)
    steps = at @ vectors
    squared = np.empty(shape)
    mixing = np.full((K, K), 1 / K)
    for i, alpha in enumerate(alphas.tolist()):
        root = np.sqrt((1 - alpha) * values + alpha)
        mapped = [(rows / root, steps / root)] * K
        squared[:, :, i] = _pooled_quadratics(working, trial, alpha, mixing, mapped)
    family = [
        one
        for dof in _dofs(asked, working)
        for one in _judged(working, trial, squared + dof, alphas, 1.0, dof)
    ]
    return min(family, key=lambda one: judge.mean(one.losses))


def _pooled_costs(working: WorkingSets, trial: TrialRows, alpha: float, pooling: float) -> Floats:
    """Squared costs (n, K) for one α and one γ, by a Cholesky factor of each pooled matrix."""
    K = working.n_sets
    mixing = (1 - pooling) * np.eye(K) + pooling / K
    matrices = np.stack([arrays.to_numpy(working.matrix(k)) for k in range(K)])
    eye = np.eye(matrices.shape[1])
    at = working.means()

    mapped = []
    for row in mixing:
        R = arrays.cholesky((1 - alpha) * np.tensordot(row, matrices, axes=1) + alpha * eye)
        solve = arrays.solve_triangular_transposed
        mapped.append((solve(R, trial.rows.T).T, solve(R, at.T).T))
    return _pooled_quadratics(working, trial, alpha, mixing, mapped)


def _pooled_quadratics(
    working: WorkingSets,
    trial: TrialRows,
    alpha: float,
    mixing: Floats,
    mapped: Sequence[tuple[Floats, Floats]],
) -> Floats:
    """Leave-one-out costs (n, K) from rows and means in which each set's matrix is the identity.

    The divisor's change is taken as that of the whole matrix, which is right to one part in n of
    one part in n: good for a choice. Scores are exact (`leaving`).
    """
    n = working.prepared.sizes[trial.own]
    removed = trial.removed
    costs = np.empty((len(trial.own), working.n_sets))
    for k in range(working.n_sets):
        p, at = mapped[k]
        mine = trial.own == k
        weight = mixing[k, trial.own]
        grown = 1 + weight * removed / (n - removed)
        lost = weight * (1 - alpha) * removed * n / (n - removed) ** 2
        z = p + (at[trial.own] - at[k])
        pp, pz, zz = (np.einsum("ij,ij->i", x, y) / grown for x, y in ((p, p), (p, z), (z, z)))
        pp, pz, zz = pp + trial.off / alpha, pz + trial.off / alpha, zz + trial.off / alpha
        cost = zz + lost * pz**2 / np.maximum(1 - lost * pp, 1e-12)
        costs[:, k] = np.where(mine, (n / (n - removed)) ** 2 * cost, cost)
    return costs


def preferred_units(named: bool, picture: bool) -> str:
    """Units before any row is looked at: a table's columns have their own, pixels share one."""
    return "own" if named and not picture else "common"
