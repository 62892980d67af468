"""Every pair of sets: how far apart their rows are, what changed, and all of them on a map."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from cospan.base.keys import text_keys
from cospan.base.types import Floats, Values
from cospan.comparison.fitting import Model
from cospan.comparison.opening import Opened
from cospan.comparison.reading import ReadSet, joined_keys, sample_size
from cospan.comparison.scoring import Group, Scored, pair_angle
from cospan.data import Chunk, EncodingPlan, SchemaChange, SetProfile
from cospan.evidence import (
    Changes,
    Finding,
    Fold,
    RowsToCheck,
    Separation,
    Size,
    Totals,
    find_changes,
    separation,
    size_of,
)
from cospan.model import JointFrame, angles_of, fit_calibration, log_odds_of

RAW_BINS = 30  # of histograms of angles that are no probabilities
#: Sizes as the map of sets takes them: nothing is at no distance, nor infinitely far.
PLACED = (0.501, 0.9999)


class Pairs(NamedTuple):
    """The separation of each pair (i, j) of K sets, i < j."""

    n_sets: int
    found: dict[tuple[int, int], Separation]

    def between(self, i: int, j: int) -> Separation:
        return self.found[min(i, j), max(i, j)]

    def matrix(self, measure: str = "fisher_rao") -> Floats:
        """(K, K): a measure of every pair.

        On the diagonal, where a set meets itself, no difference: an AUC of ½, else 0.
        """
        matrix = np.full((self.n_sets, self.n_sets), 0.5 if measure == "auc" else 0.0)
        for (i, j), one in self.found.items():
            matrix[i, j] = matrix[j, i] = getattr(one, measure)
        return matrix


def separate_pairs(groups: Sequence[Group], model: Model, copies: bool) -> Pairs:
    """How far apart each pair's own rows are; without `copies` each row counts once."""
    calibrated, n_features = bool(model.geometry.calibration.offsets), model.n_features
    found = {}
    for i, j in itertools.combinations(range(len(groups)), 2):
        both = [groups[k].kept for k in (i, j)]
        if calibrated and max(len(kept.ids) for kept in both) > sample_size(n_features):
            theta = _pair_angles(*(kept.weights[:, [i, j]] for kept in both))
        elif len(groups) == 2:
            theta = [kept.theta for kept in both]
        else:
            theta = [pair_angle(kept.weights, i, j) for kept in both]
        apart = separation(*theta, bins=None if calibrated else RAW_BINS)
        found[i, j] = replace(apart, auc=size_between(both[0], both[1], i, j, copies=copies))
    return Pairs(len(groups), found)


def _pair_angles(one: Floats, other: Floats) -> list[Floats]:
    """Angles of rows between two sets, from the probabilities of both, (n, 2).

    Of large sets more rows are scored than the gain was fitted to: these say what it is worth.
    """
    log_odds = -log_odds_of(np.concatenate([one, other]))
    own = np.repeat([0, 1], [len(one), len(other)])
    found = fit_calibration(log_odds, own, np.ones(len(own)))
    squared = np.exp(-log_odds)
    theta = np.asarray(angles_of(squared[:, 0], squared[:, 1], found))
    return [theta[own == 0], theta[own == 1]]


def size_between(one: Scored, other: Scored, i: int, j: int, *, copies: bool = True) -> Size:
    """The size of the difference between sets i and j, from scored rows of both."""
    a, b = (_out_of_fold(kept, i, j, copies) for kept in (one, other))
    n_folds = 1 + int(max(a.dealt.max(), b.dealt.max()))
    folds = []
    for fold in range(n_folds):
        x, y = (side.taken(side.dealt == fold) for side in (a, b))
        folds.append(Fold(x.score, y.score, x.groups, y.groups))
    return size_of(folds)


class _Side(NamedTuple):
    """What rows of one set say of set j against set i, their folds, and their groups."""

    score: Floats
    dealt: NDArray[np.intp]
    groups: Values | None

    def taken(self, rows: NDArray[np.bool_]) -> _Side:
        groups = None if self.groups is None else self.groups[rows]
        return _Side(self.score[rows], self.dealt[rows], groups)


def _out_of_fold(kept: Scored, i: int, j: int, copies: bool) -> _Side:
    assert kept.squared is not None  # a set's own rows have all three
    assert kept.dealt is not None
    assert kept.keys is not None
    rows = np.arange(len(kept.dealt)) if copies else np.unique(kept.keys, return_index=True)[1]
    log_odds = log_odds_of(kept.squared[rows][:, [i, j]])
    groups = None if kept.groups is None else text_keys(kept.groups[rows])
    return _Side(log_odds[:, 1] - log_odds[:, 0], kept.dealt[rows], groups)


def place_sets(sizes: Floats) -> tuple[Floats, list[tuple[int, int]]]:
    """(K, 2) places of K sets, the first one left of the last, and the pairs that join them all.

    Two normal sets of one spread that are d deviations apart have an AUC of Φ(d/√2): distances
    are those d, so that sets which differ in one thing lie on a line (classical scaling).
    """
    from scipy.sparse.csgraph import minimum_spanning_tree

    K = len(sizes)
    distance = np.sqrt(2) * ndtri(np.clip(sizes, *PLACED))
    np.fill_diagonal(distance, 0.0)
    centre = np.eye(K) - 1 / K
    values, vectors = np.linalg.eigh(-0.5 * centre @ distance**2 @ centre)
    places = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0))
    if places[0, 0] > places[-1, 0]:
        places[:, 0] *= -1
    tree = minimum_spanning_tree(np.maximum(distance, 1e-9)).tocoo()
    return places, list(zip(tree.row.tolist(), tree.col.tolist(), strict=True))


# ---- what changed --------------------------------------------------------------------------------


class Whole(NamedTuple):
    """What is known of all rows of two sets, where `chunks` are samples of them."""

    profiles: tuple[SetProfile, SetProfile] | None = None
    totals: tuple[Totals, Totals] | None = None
    pulls: Floats | None = None

    @classmethod
    def of(cls, opened: Opened, read: Sequence[ReadSet], groups: Sequence[Group]) -> Whole:
        effects = [np.mean(np.asarray(one.attribution), axis=0) for one in groups]
        return cls(_profiles(opened), _totals(read), effects[1] - effects[0])


def study_pair(
    frame: JointFrame,
    chunks: tuple[Chunk, Chunk],
    *,
    names: tuple[str, str],
    features: Sequence[str],
    plan: EncodingPlan | None,
    size: Size,
    to_check: RowsToCheck,
    schema: Sequence[SchemaChange],
    permutations: int,
    seed: int = 0,
    whole: Whole = Whole(),  # noqa: B008
) -> Changes:
    """Test two sets and find which columns and relations changed."""
    a, b = chunks
    groups = [None if one.groups is None else text_keys(one.groups) for one in chunks]
    found = find_changes(
        frame,
        a.rows,
        b.rows,
        names=features,
        plan=plan,
        profiles=whole.profiles,
        auc=size,
        pulls=whole.pulls,
        set_names=names,
        to_check=to_check,
        keys=joined_keys([a.merged, b.merged]),
        groups=joined_keys(groups),
        totals=whole.totals,
        watched=(a.watched, b.watched),
        permutations=permutations,
        seed=seed,
    )
    first = (Finding(one.kind, one.column, one.second, str(one).rstrip(".")) for one in schema)
    findings = (*first, *found.verdict.findings)  # columns that only one set has come first
    return replace(found, verdict=replace(found.verdict, findings=findings))


def _totals(read: Sequence[ReadSet]) -> tuple[Totals, Totals] | None:
    """Means and variances of all rows, where only a sample of them is at hand."""
    if all(one.complete for one in read):
        return None
    a, b = (
        Totals(
            float(one.summary.n),
            np.asarray(one.summary.mean, dtype=np.float64),
            np.diagonal(np.asarray(one.summary.scatter_about(), dtype=np.float64)) / one.summary.n,
        )
        for one in read
    )
    return a, b


def _profiles(opened: Opened) -> tuple[SetProfile, SetProfile] | None:
    """What the columns hold over all rows; None where these are not the rows compared."""
    found = [source.profiles for source in opened.sources]
    if len(found) != 2 or any(len(one) != 1 for one in found):
        return None
    a, b = found[0][0], found[1][0]
    dropping = opened.first.plan is not None and opened.first.plan.missing == "drop"
    gaps = any(column.missing for one in (a, b) for column in one.columns)
    return None if dropping and gaps else (a, b)
