"""Models of the sets, and rows scored by them: the probability of each set, and how usual a row is.

One model is of all rows, and scores further ones; one for each fold scores the rows that it never
saw. The model of all rows of two sets is a joint frame, for its directions; else costs are all it
takes. How usual a row is has nothing to do with the model: `UsualRows` says it. Scores also weigh
rows, so that one set counts like another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base import arrays
from cospan.base.rows import Keys, text_keys
from cospan.base.tolerance import NOT_ZERO, SAME_LOSS, TIED_DIGITS
from cospan.base.types import Bools, Floats, Index, Values
from cospan.comparison.opening import Settings
from cospan.comparison.reading import ReadSet, ReadSets, value_keys
from cospan.data import Chunk
from cospan.errors import InputError
from cospan.evidence import Fold, Size, size_of
from cospan.model import (
    Alignment,
    Calibration,
    JointFrame,
    SetCosts,
    SetRows,
    UsualRows,
    below_rate,
    calibrated_weights,
    log_odds_of,
)

NEITHER_RATE = 0.05  # of the rows called like no set, those that may be so by mistake
#: With fewer rows in a set, what was chosen on all rows flatters them: every fold chooses anew.
FEW_ROWS = 1000
#: Standard errors by which probabilities must be better than even ones.
HALF = 0.5
#: Rows of a set that the gain is judged by, and what is usual.
JUDGED_ROWS = 2000

Model = JointFrame | SetCosts
Names = Values  # identifiers or groups: numbers or texts, whatever the data has
Rows = NDArray[np.floating]


# ---- models --------------------------------------------------------------------------------------


def fit_models(read: ReadSets, settings: Settings, picture: bool) -> Scorer:
    """Fit all models; their gain is 0 where probabilities are no better than even ones."""
    summaries = [one.summary for one in read.sets]
    model: Model
    if len(summaries) == 2:
        model = JointFrame.of_sets(summaries[0], summaries[1], settings, picture, read.again)
    else:
        model = SetCosts.from_summaries(
            summaries,
            labels=read.opened.names,
            picture=picture,
            again=read.again,
            **settings.of_the_sets(),
        )
    if (plan := read.opened.first.plan) is not None:  # so that a saved model can read such tables
        model = replace(model, geometry=replace(model.geometry, encoding=plan.to_dict()))
    folds = [_of_fold(read, k, model, settings, picture) for k in range(read.n_folds)]
    scorer = Scorer(model, tuple(folds))
    if not model.answering.geometry.calibration.offsets or _beats_chance(scorer, read.sets):
        return scorer
    bare = tuple(None if one is None else _without_gain(one) for one in folds)
    return scorer._replace(model=_without_gain(model), folds=bare)


def _of_fold(
    read: ReadSets, fold: int, model: Model, settings: Settings, picture: bool
) -> Model | None:
    """A model of the other folds, of the same kind as the model of all rows.

    Of many rows, what was chosen on all of them stays; of few, every fold chooses anew, between
    that, its neighbours and the defaults.
    """
    others = [one.folds.without(fold) for one in read.sets]
    again, curve = partial(read.again, fold=fold), model.curve
    try:
        if isinstance(model, JointFrame) and model.shrinkage == 0:
            # Directions can be of one set alone: the frame says more of a row than its costs.
            bare = replace(settings, curve=None)
            return JointFrame.of_sets(others[0], others[1], bare, picture, None)
        if min(one.summary.count for one in read.sets) < FEW_ROWS:
            return SetCosts.from_summaries(
                others,
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
        scored = scorer.score(Chunk(rows, np.arange(len(rows)), dealt=dealt), own=k)
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


# ---- scores --------------------------------------------------------------------------------------


def pair_angle(weights: Floats, i: int | Index, j: int | Index) -> Floats:
    """θ of the pair in radians: 0 for set i, π/2 for set j; cos²θ = w_i / (w_i + w_j).

    `i` and `j` are numbers of sets, or one number for each row.

    >>> np.degrees(pair_angle(np.array([[0.5, 0.5, 0.0], [0.3, 0.1, 0.6]]), 0, 1)).round(9)
    array([45., 30.])
    """
    rows = np.arange(len(weights))
    first, second = weights[rows, i], weights[rows, j]
    theta = np.arctan2(np.sqrt(second), np.sqrt(first))
    # Both so far away that their weights vanish beside a third set's: as far from one as the other.
    return np.where((first == 0) & (second == 0), np.pi / 4, theta)


class Scorer(NamedTuple):
    """A model of all rows, which scores further rows, and those of the folds, for own ones."""

    model: Model
    folds: tuple[Model | None, ...] = ()  # None: the other folds have nothing to compare
    usual: UsualRows | None = None  # None: the model's own rows say what is usual

    def score(
        self, chunk: Chunk, name: str = "", own: int | None = None, total: int | None = None
    ) -> Group:
        """Score rows of no set, or those of set `own`, out of `total` rows."""
        rows, K = arrays.to_numpy(chunk.rows), self.model.geometry.n_sets
        models: Sequence[Model | None] = (self.model,)
        places = [np.arange(len(rows))]
        if own is not None:
            models = self.folds
            places = [np.flatnonzero(chunk.dealt == fold) for fold in range(len(models))]
        squared, weights = np.empty((len(rows), K)), np.empty((len(rows), K))
        aligned = []
        for model, place in zip(models, places, strict=True):
            squared[place], weights[place], one = self._by(model, rows[place])
            aligned += [] if one is None else [one]
        alignment = None
        if aligned:
            alignment = Alignment.concatenate(aligned)[np.argsort(np.concatenate(places))]
        typicality, strange = np.full_like(weights, np.nan), np.full(len(weights), np.nan)
        known = self.model.answering.typicality
        if self.usual is not None and chunk.dealt is not None:
            costs = self.usual.squared_costs(rows, chunk.dealt)
            ranks = self.usual.ranks
            typicality, strange = np.asarray(ranks.p_values(costs)), ranks.strange(costs)
        elif known is not None:
            typicality, strange = np.asarray(known.p_values(squared)), known.strange(squared)
        return Group(
            name, total or len(rows), rows, chunk.ids, weights, typicality, strange,
            np.zeros(len(rows), dtype=bool), alignment, own, squared, chunk.dealt, chunk.groups,
            None if own is None else value_keys(chunk),
        )  # fmt: skip

    def _by(self, model: Model | None, rows: Rows) -> tuple[Floats, Floats, Alignment | None]:
        """(n, K) squared costs and probabilities by one model, and what two sets say besides."""
        if isinstance(model, JointFrame):
            found = model.align(rows)
            costs = [arrays.to_numpy(cost) for cost in (found.cost_a, found.cost_b)]
            return np.stack(costs, axis=1) ** 2, np.asarray(found.posterior), found
        K = self.model.geometry.n_sets
        if model is None:
            squared, calibration = np.ones((len(rows), K)), no_gain(K)
        else:
            squared = np.asarray(model.squared_costs(rows), dtype=np.float64)
            calibration = model.answering.geometry.calibration
        if K > 2:
            return squared, np.asarray(calibrated_weights(squared, calibration)), None
        found = Alignment.from_costs(squared[:, 0], squared[:, 1], "cost", calibration)
        return squared, np.asarray(found.posterior), found


def no_gain(n_sets: int) -> Calibration:
    """Every set is equally probable, whatever the costs."""
    return Calibration(0.0, (0.0,) * n_sets)


@dataclass(frozen=True, eq=False, repr=False)
class Group:
    """The scored rows of one set, or further rows: all of them, or a uniform sample.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from cospan import compare
    >>> X, y = load_wine(return_X_y=True)
    >>> group = compare(X[y == 0], X[y == 1]).groups[1]
    >>> group.n, bool((group.alignment.degrees > 45).mean() > 0.9)
    (71, True)
    """

    name: str
    total: int  # how many rows there are
    rows: Rows  # (n, d): the values of those that were scored, and so on
    ids: Names
    weights: Floats  # (n, K): the probability of each set; a row sums to 1
    typicality: Floats  # (n, K): how usual it is for each set; NaN where nothing is known
    strange: Floats  # (n,): the p-value of belonging to any set
    elsewhere: Bools  # (n,): those that look like another set than their own
    aligned: Alignment | None = None  # what two sets say besides
    own: int | None = None  # the number of their set
    squared: Floats | None = None  # (n, K): their squared costs, out of fold
    dealt: Index | None = None  # (n,): the fold of each
    groups: Names | None = None  # (n,): what rows that belong together share
    keys: Keys | None = None  # (n,): of a set's rows, equal where rows are

    @property
    def theta(self) -> Floats:
        """(n,): the angle in radians between the two sets that explain a row best, or the two."""
        if self.aligned is not None:
            return np.asarray(self.aligned.theta, dtype=np.float64)
        first, second = self.nearest.T
        return pair_angle(self.weights, first, second)

    @property
    def nearest(self) -> Index:
        """(n, 2): numbers of the two sets that explain each row best, the best one first."""
        return np.argsort(-self.weights, axis=1, kind="stable")[:, :2]

    @property
    def suspicion(self) -> Floats:
        """(n,): 1 minus the probability of the row's set; NaN where it has none."""
        if self.own is None:
            return np.full(len(self.weights), np.nan)
        return np.asarray(1 - self.weights[:, self.own])

    @property
    def n(self) -> int:
        """How many rows were scored."""
        return len(self.ids)

    @property
    def sampled(self) -> bool:
        """Whether only a uniform sample of the set was scored."""
        return self.total > self.n

    @property
    def alignment(self) -> Alignment:
        """Angles, costs and shares of the kept rows of two sets."""
        if self.aligned is None:
            raise InputError("More than two sets have no joint frame; weights say the rest.")
        return self.aligned

    @cached_property
    def neither(self) -> Bools:
        """(n,): rows that are like no set, at most one in twenty of them by mistake."""
        if np.isnan(self.strange).any():  # nothing is known of what is usual
            return np.zeros(self.n, dtype=bool)
        return below_rate(self.strange, NEITHER_RATE)


# ---- sizes ---------------------------------------------------------------------------------------


def size_between(one: Group, other: Group, i: int, j: int, *, copies: bool = True) -> Size:
    """The size of the difference between sets i and j, from scored rows of both.

    Without `copies` each row counts once.
    """
    sides = []
    for kept in (one, other):
        assert kept.squared is not None  # a set's own rows have all three
        assert kept.dealt is not None
        assert kept.keys is not None
        rows = np.arange(kept.n) if copies else np.unique(kept.keys, return_index=True)[1]
        log_odds = log_odds_of(kept.squared[rows][:, [i, j]])
        groups = None if kept.groups is None else text_keys(kept.groups[rows])
        score = np.round(log_odds[:, 1] - log_odds[:, 0], TIED_DIGITS)
        sides.append((kept.dealt[rows], score, groups))
    folds = []
    for fold in range(1 + int(max(dealt.max() for dealt, _, _ in sides))):
        (a, mine), (b, others) = (
            (score[dealt == fold], None if groups is None else groups[dealt == fold])
            for dealt, score, groups in sides
        )
        folds.append(Fold(a, b, mine, others))
    return size_of(folds)


# ---- weights of rows -----------------------------------------------------------------------------


class ImportanceWeights(NamedTuple):
    """Weights for rows of A that make them count like rows of B."""

    weights: Floats  # (n,): with mean 1, ready as a `sample_weight`
    #: (Σw)² / Σw²: how many equally weighted rows are as informative. Far below n, few rows carry
    #: the whole estimate: A hardly covers B
    effective_size: float
    clipped: float  # the share of rows whose odds reached the limit

    def __repr__(self) -> str:
        return (
            f"ImportanceWeights({len(self.weights):,} rows, effective size "
            f"{self.effective_size:,.1f}, {self.clipped:.1%} clipped)"
        )


def importance_weights(
    frame: JointFrame, X: object, *, clip: float | None = 20.0, leave_one_out: bool = True
) -> ImportanceWeights:
    """Weights that make rows of A count like rows of B: the odds sin²θ/cos²θ.

    Train on A with these weights where the model will meet inputs like B's (covariate shift).
    The odds estimate how much denser B is than A where a row lies. A frame that separates
    nothing gives every row the weight 1.

    Parameters
    ----------
    frame : JointFrame
        Of A, the inputs there are labels for, and B, the inputs to come.
    X : array-like or dataframe, (n, d)
        Rows of A.
    clip : float or None
        The largest odds used: a few rows that only B explains must not outweigh all others. The
        result says how many reached it; None sets no limit.
    leave_one_out : bool
        Whether the frame was fitted to these rows; then each has the costs of a frame without it.

    Examples
    --------
    >>> from cospan import JointFrame, importance_weights
    >>> rng = np.random.default_rng(0)
    >>> A = rng.normal(size=(500, 2)) * [2.0, 1.0]
    >>> B = rng.normal(size=(500, 2)) * [1.0, 2.0]
    >>> found = importance_weights(JointFrame.fit(A, B), A)
    >>> found
    ImportanceWeights(500 rows, effective size 122.8, 0.4% clipped)
    >>> A.std(axis=0).round(2)
    array([1.97, 0.97])
    >>> np.sqrt(found.weights @ A**2 / 500).round(2)  # A's spread, weighted: nearly B's
    array([1.08, 1.67])
    """
    if not isinstance(frame, JointFrame):
        raise InputError(f"frame is a {type(frame).__name__}; pass JointFrame.fit(A, B).")
    if clip is not None and not (isinstance(clip, int | float | np.number) and clip > 0):
        raise InputError(f"clip is {clip!r}; it must be a number above 0, or None for no limit.")
    scored = frame.left_out(X, "A") if leave_one_out else frame.align(X)
    theta = arrays.to_numpy(scored.theta).astype(np.float64)
    if not len(theta):
        raise InputError("X has no rows; at least one is needed.")
    limit = math.inf if clip is None else clip
    odds = np.minimum(np.tan(theta) ** 2, limit)
    if not odds.any():
        raise InputError("Every row has θ = 0, as if B had nothing in common with A; check B.")
    weights = odds / odds.mean()
    size = float(weights.sum() ** 2 / (weights**2).sum())
    return ImportanceWeights(weights, size, float(np.mean(odds >= limit)))
