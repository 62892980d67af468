"""Every pair of sets: how far apart their rows are on its angle, and which sets join first.

And what only two sets have: a test of "no difference", and which columns and relations changed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base.keys import text_keys
from cospan.base.notes import Note
from cospan.base.types import Floats
from cospan.comparison.fitting import Fitted
from cospan.comparison.opening import Opened
from cospan.comparison.reading import Progress, ReadSet, Sets
from cospan.comparison.scorer import Scored, pair_angle
from cospan.comparison.scoring import Group
from cospan.comparison.settings import Settings
from cospan.data import Chunk, SchemaChange, SetProfile
from cospan.evidence import (
    FEWEST_ROWS,
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
from cospan.model import JointFrame, log_odds_of
from cospan.summary import random_rows, rows_within

SHOWN_ROWS, SHOWN_BYTES = 1_000, 2**25  # of each of K sets; of all of them together
RAW_BINS = 30  # of histograms of angles that are no probabilities
APART = 3.0  # standard deviations between the means of a date, from which it separates the sets


class Pairs(NamedTuple):
    """The separation of each pair of K sets, once for (i, j) or (j, i)."""

    n_sets: int
    found: dict[tuple[int, int], Separation]

    def between(self, i: int, j: int) -> Separation:
        return self.found[(i, j) if (i, j) in self.found else (j, i)]

    def matrix(self, measure: str = "fisher_rao") -> Floats:
        """(K, K): a measure of every pair.

        On the diagonal, where a set meets itself, no difference: an AUC of ½, else 0.
        """
        matrix = np.full((self.n_sets, self.n_sets), 0.5 if measure == "auc" else 0.0)
        for (i, j), one in self.found.items():
            matrix[i, j] = matrix[j, i] = getattr(one, measure)
        return matrix


def separate_pairs(groups: Sequence[Group], fitted: Fitted, copies: bool) -> Pairs:
    """How far apart each pair's own rows are; without `copies` each row counts once."""
    calibrated = bool(fitted.model.geometry.calibration.offsets)
    found = {}
    for i, j in itertools.combinations(fitted.order, 2):
        one, other = groups[i].kept, groups[j].kept
        theta = [pair_angle(kept.weights, i, j) for kept in (one, other)]
        if one.alignment is not None and other.alignment is not None:
            theta = [one.theta, other.theta]
        apart = separation(*theta, bins=None if calibrated else RAW_BINS)
        found[i, j] = replace(apart, auc=size_between(one, other, i, j, copies=copies))
    return Pairs(len(groups), found)


def size_between(one: Scored, other: Scored, i: int, j: int, *, copies: bool = True) -> Size:
    """The size of the difference between sets i and j, from scored rows of both."""
    folds = []
    n_folds = 1 + max(int(kept.dealt.max()) for kept in (one, other) if kept.dealt is not None)
    parts = [_scores(kept, i, j, copies) for kept in (one, other)]
    for fold in range(n_folds):
        (a, groups_a), (b, groups_b) = (
            (score[dealt == fold], None if groups is None else groups[dealt == fold])
            for score, dealt, groups in parts
        )
        folds.append(Fold(a, b, groups_a, groups_b))
    return size_of(folds)


def _scores(
    kept: Scored, i: int, j: int, copies: bool
) -> tuple[Floats, NDArray[np.intp], NDArray[Any] | None]:
    """What rows say of set j against set i, their folds, and their groups."""
    assert kept.squared is not None
    assert kept.dealt is not None
    assert kept.keys is not None
    rows = np.arange(len(kept.dealt)) if copies else np.unique(kept.keys, return_index=True)[1]
    log_odds = log_odds_of(kept.squared[rows][:, [i, j]])
    groups = None if kept.groups is None else text_keys(kept.groups[rows])
    return log_odds[:, 1] - log_odds[:, 0], kept.dealt[rows], groups


def shown_rows(read: Sequence[ReadSet], seed: int) -> list[Chunk]:
    """Rows of each set, as many as a result carries along to tell what changed between two."""
    width = read[0].sample.rows.shape[1]
    size = rows_within(SHOWN_BYTES // len(read), width, SHOWN_ROWS, fewest=20)
    found = []
    for one in read:
        rows = random_rows(len(one.sample.rows), size, np.random.default_rng(seed))
        chunk = one.sample.take(rows)
        found.append(chunk._replace(rows=chunk.rows.astype(np.float64)))
    return found


class Linkage(NamedTuple):
    """Which sets join first, as SciPy writes it, and the sets with close ones side by side."""

    joined: Floats
    leaves: NDArray[np.intp]


def join_sets(distance: Floats, order: Sequence[int]) -> Linkage:
    """Average linkage of K sets."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    # Ties are broken by place, so the places are those that the sets' content gives.
    places = np.asarray(order, dtype=np.intp)
    arranged = distance[np.ix_(places, places)]
    joined = linkage(squareform(arranged, checks=False), "average", optimal_ordering=True)
    nodes = joined[:, :2].astype(np.intp)
    single = nodes < len(order)
    nodes[single] = places[nodes[single]]
    return Linkage(np.column_stack([nodes, joined[:, 2:]]), places[leaves_list(joined)])


# ---- two sets ----------------------------------------------------------------------------------


class PairFindings(NamedTuple):
    """What two sets have besides what K sets have."""

    changes: Changes
    effect_a: Floats  # mean attribution of each feature, over rows of A
    effect_b: Floats


class ScoredSets(NamedTuple):
    """The sets after they were read, fitted and scored."""

    settings: Settings
    opened: Opened
    shape: tuple[int, ...] | None
    read: list[ReadSet]
    fitted: Fitted
    groups: list[Group]
    further: Group | None

    @property
    def every_group(self) -> list[Group]:
        return self.groups if self.further is None else [*self.groups, self.further]

    @property
    def feature_names(self) -> tuple[str, ...]:
        sets = self.opened.sets
        first = self.fitted.model if sets.first is None else sets.first
        return first.feature_names or _made_names(sets.n_features, self.shape)


def study_pair(
    done: ScoredSets,
    frame: JointFrame,
    apart: Separation,
    to_check: RowsToCheck,
    progress: Progress,
) -> tuple[PairFindings, tuple[Note, ...]]:
    """Test two sets and find which columns and relations changed; what to know about it."""
    read, sets = done.read, done.opened.sets
    angles = [group.angles for group in done.groups if group.angles is not None]
    effect_a, effect_b = (np.mean(np.asarray(one.attribution), axis=0) for one in angles)
    progress("testing for a difference", 0, 1)
    changes = find_changes(
        frame,
        *(one.sample.rows for one in read),
        names=done.feature_names,
        plan=None if sets.first is None else sets.first.plan,
        profiles=_profiles(sets),
        auc=apart.auc,
        pulls=effect_b - effect_a,
        set_names=(sets.names[0], sets.names[1]),
        to_check=to_check,
        keys=both_keys(*(one.sample.merged for one in read)),
        groups=_groups(read),
        totals=_totals(read),
        watched=(read[0].sample.watched, read[1].sample.watched),
        permutations=done.settings.n_permutations,
        seed=done.settings.seed,
    )
    progress("testing for a difference", 1, 1)
    changes = with_schema(changes, sets.schema_changes)
    remarks = _times_apart(changes)
    if math.isnan(changes.p):
        text = f"There is no p-value: a test needs at least {FEWEST_ROWS} rows in each set."
        remarks = (Note("no p-value", text), *remarks)
    return PairFindings(changes, effect_a, effect_b), remarks


def with_schema(changes: Changes, schema: Sequence[SchemaChange]) -> Changes:
    """The same with columns that are not the same in both sets as the first findings."""
    first = tuple(Finding(one.kind, one.column, one.second, str(one).rstrip(".")) for one in schema)
    found = (*first, *changes.findings)
    return replace(changes, findings=found, verdict=replace(changes.verdict, findings=found))


def _totals(read: Sequence[ReadSet]) -> tuple[Totals, Totals] | None:
    """Means and variances of all rows, where only a sample of them is at hand."""
    if all(one.complete for one in read) or any(one.weights is not None for one in read):
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


def _groups(read: Sequence[ReadSet]) -> NDArray[np.uint64] | None:
    """What rows of both sets share that belong together."""
    known = [text_keys(one.sample.groups) for one in read if one.sample.groups is not None]
    return np.concatenate(known) if len(known) == len(read) else None


def both_keys(
    a: NDArray[np.uint64] | None, b: NDArray[np.uint64] | None
) -> NDArray[np.uint64] | None:
    """What tells rows of two sets apart besides their features; None where that is unknown."""
    return None if a is None or b is None else np.concatenate([a, b])


def _made_names(n: int, shape: tuple[int, ...] | None) -> tuple[str, ...]:
    """Names for features that have none: x0, x1, …, or a pixel's row, column and channel."""
    if shape is None:
        return tuple(f"x{j}" for j in range(n))
    return tuple(f"pixel {','.join(map(str, place))}" for place in np.ndindex(shape))


def _times_apart(changes: Changes) -> tuple[Note, ...]:
    """Dates that separate the sets by themselves, as those of training and production do."""
    found = [
        one.name for one in changes.features if one.kind == "date" and abs(one.difference) >= APART
    ]
    return tuple(
        Note(
            "times apart",
            f"The sets are of different times: {name} alone separates them, whatever else changed.",
            f'drop="{name}" compares the rest.',
        )
        for name in found
    )


def _profiles(sets: Sets) -> tuple[SetProfile, SetProfile] | None:
    """What the columns hold over all rows; None where these are not the rows compared."""
    found = [source.profiles for source in sets.sources]
    if len(found) != 2 or any(len(one) != 1 for one in found):
        return None
    a, b = found[0][0], found[1][0]
    plan = None if sets.first is None else sets.first.plan
    dropping = plan is not None and plan.missing == "drop"
    gaps = any(column.missing for one in (a, b) for column in one.columns)
    return None if dropping and gaps else (a, b)
