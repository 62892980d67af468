"""Every pair of sets: how far apart their rows are on its angle, and which sets join first.

And what only two sets have: a test of "no difference", and which columns and relations changed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base.notes import Note
from cospan.base.types import Floats
from cospan.comparison.fitting import Fitted
from cospan.comparison.opening import Opened
from cospan.comparison.reading import Progress, ReadSet, Sets, sample_size
from cospan.comparison.scorer import Scored, pair_angle
from cospan.comparison.scoring import Group
from cospan.comparison.settings import Settings
from cospan.data import Chunk, SchemaChange, SetProfile
from cospan.evidence import (
    FEWEST_ROWS,
    Changes,
    Finding,
    RowsToCheck,
    Separation,
    Totals,
    find_changes,
    separation,
)
from cospan.model import JointFrame, angles_of, fit_calibration, log_odds_of
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


def separate_pairs(groups: Sequence[Group], fitted: Fitted) -> Pairs:
    """How far apart each pair's own rows are."""
    calibrated = bool(fitted.model.geometry.calibration.offsets)
    n_fitted = sample_size(fitted.model.n_features)
    found = {
        (i, j): separation(
            *_levelled(
                _pair_angles(groups, i, j, calibrated, n_fitted), groups[i].kept, groups[j].kept
            ),
            bins=None if calibrated else RAW_BINS,
        )
        for i, j in itertools.combinations(fitted.order, 2)
    }
    return Pairs(len(groups), found)


def _pair_angles(
    groups: Sequence[Group], i: int, j: int, calibrated: bool, n_fitted: int
) -> tuple[Floats, Floats]:
    """Angles of the rows of sets i and j between the two, 0 for i.

    One gain serves all sets, and two of many may differ less than the others do: their own rows
    say what the angle between them is worth, as when the two are compared alone. Of large sets
    more rows are scored than the gain was fitted to, and again these say it: the interval of a
    distance takes the gain to be as good as the rows in it.
    """
    kept = [groups[k].kept for k in (i, j)]
    few = max(len(one.ids) for one in kept) <= n_fitted
    if not calibrated or (len(groups) == 2 and few):
        if kept[0].alignment is not None:
            return kept[0].theta, kept[1].theta
        return pair_angle(kept[0].weights, i, j), pair_angle(kept[1].weights, i, j)
    both = np.concatenate([one.weights[:, [i, j]] for one in kept])
    own = np.repeat([0, 1], [len(one.ids) for one in kept])
    log_odds = -log_odds_of(both)
    found = fit_calibration(log_odds, own, np.ones(len(own)))
    theta = np.asarray(angles_of(np.exp(-log_odds[:, 0]), np.exp(-log_odds[:, 1]), found))
    return theta[own == 0], theta[own == 1]


def _levelled(angles: tuple[Floats, Floats], one: Scored, other: Scored) -> tuple[Floats, Floats]:
    """The angles with one for all rows of equal values, whichever set they are in.

    Leaving a row out moves it a little to the other set, so that of two equal rows in different
    sets each looks more like the other's. Among numbers that is one pair in many; among
    categories most pairs are equal, and would all be ordered wrongly instead of not at all.
    """
    if one.keys is None or other.keys is None:
        return angles
    kinds = np.unique(np.concatenate([one.keys, other.keys]), return_inverse=True)[1]
    theta, first = np.concatenate(angles), len(angles[0])
    times = np.bincount(kinds)
    times_a = np.bincount(kinds[:first], minlength=len(times))
    mean = np.bincount(kinds, weights=theta) / times
    shared = ((times_a > 0) & (times_a < times))[kinds]
    theta = np.where(shared, mean[kinds], theta)
    return theta[:first], theta[first:]


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
