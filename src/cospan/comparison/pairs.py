"""Every pair of sets: how far apart their rows are on its angle, and which sets join first.

And what only two sets have: a test of "no difference", and which columns and relations changed.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan._arrays import one_blas_thread
from cospan._notes import Note
from cospan._types import Floats
from cospan.changes import Changes, RowsToCheck, find_changes
from cospan.comparison.fitting import Fitted, Model
from cospan.comparison.opening import Opened
from cospan.comparison.reading import SAMPLE_SEED, Progress, ReadSet, Sets, sample_size
from cospan.comparison.scorer import Scored, pair_angle
from cospan.comparison.scoring import Group
from cospan.comparison.settings import Settings
from cospan.data import Chunk, SetProfile
from cospan.errors import InputError
from cospan.model import JointFrame, angles_of, as_fitted, fit_calibration, log_odds_of
from cospan.significance import (
    Separation,
    ShiftTest,
    fit_reliabilities,
    pair_separation,
    shift_test,
)
from cospan.summary import Reservoir, random_rows, rows_within

TESTED_ROWS = 2_500  # rows of each set that repeated fits and permutations take, at most
TESTED_WORK = 2**25  # and rows times features squared: hundreds of frames are fitted to them
SHOWN_ROWS, SHOWN_BYTES = 1_000, 2**25  # of each of K sets; of all of them together
FEWEST_HALVED = 4  # rows of a set, of which the halves are fitted to see how much a fit strays
APART = 0.9  # the largest gap between the shares of rows up to a date, from which it separates


class Pairs(NamedTuple):
    """The separation of each pair of K sets, once for (i, j) or (j, i)."""

    n_sets: int
    found: dict[tuple[int, int], Separation]

    def between(self, i: int, j: int) -> Separation:
        return self.found[(i, j) if (i, j) in self.found else (j, i)]

    def matrix(self, end: str, measure: str = "fisher_rao") -> Floats:
        """(K, K): a measure of every pair (`end` "value"), or an end of its interval.

        On the diagonal, where a set meets itself, no difference: an AUC of ½, else 0.
        """
        matrix = np.full((self.n_sets, self.n_sets), 0.5 if measure == "auc" else 0.0)
        for (i, j), one in self.found.items():
            matrix[i, j] = matrix[j, i] = getattr(getattr(one, measure), end)
        return matrix


def separate_pairs(
    groups: Sequence[Group], fitted: Fitted, samples: Sequence[Floats], settings: Settings
) -> Pairs:
    """How far apart each pair's own rows are; the intervals know that the model was fitted."""
    geometry, order = fitted.model.geometry, fitted.order
    calibrated = bool(geometry.calibration.offsets)
    known = _reliabilities(fitted.model, [samples[k] for k in order], settings.seed)
    n_fitted = sample_size(fitted.model.n_features)
    back = np.argsort(order)
    known = known[np.ix_(back, back)]
    found = {
        (i, j): pair_separation(
            *_levelled(
                _pair_angles(groups, i, j, calibrated, n_fitted), groups[i].kept, groups[j].kept
            ),
            calibrated=calibrated,
            confidence=settings.confidence,
            n_bootstrap=settings.n_bootstrap,
            reliability=known[i, j],
            seed=settings.seed,
        )
        for i, j in itertools.combinations(order, 2)
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
    if one.kinds is None or other.kinds is None:
        return angles
    kinds = np.unique(np.concatenate([one.kinds, other.kinds]), return_inverse=True)[1]
    theta, first = np.concatenate(angles), len(angles[0])
    times = np.bincount(kinds)
    times_a = np.bincount(kinds[:first], minlength=len(times))
    mean = np.bincount(kinds, weights=theta) / times
    shared = ((times_a > 0) & (times_a < times))[kinds]
    theta = np.where(shared, mean[kinds], theta)
    return theta[:first], theta[first:]


def tested_rows(read: Sequence[ReadSet]) -> list[Chunk]:
    """Rows of each set, as many as repeated fits can take."""
    width = min(read[0].sample.rows.shape[1], 128)  # the test itself keeps no more directions
    size = min(TESTED_ROWS, TESTED_WORK // width**2)
    found = []
    for one in read:
        sample: Reservoir[Chunk] = Reservoir(size, SAMPLE_SEED)
        sample.add(one.sample)
        drawn = sample.result()
        found.append(drawn._replace(rows=drawn.rows.astype(np.float64)))
    return found


def shown_rows(tested: Sequence[Chunk], seed: int) -> list[Chunk]:
    """Of these rows, as many as a result carries along to tell what changed between two sets."""
    width = tested[0].rows.shape[1]
    size = rows_within(SHOWN_BYTES // len(tested), width, SHOWN_ROWS, fewest=20)
    rng = np.random.default_rng
    return [one.take(random_rows(len(one.rows), size, rng(seed))) for one in tested]


def _reliabilities(model: Model, samples: Sequence[Floats], seed: int) -> Floats:
    """How far the angles of each pair are the sets' and not the fit's noise, (K, K).

    0, so the widest intervals, where halves of a set would be too small to say, or nothing
    keeps a fit to them steady.
    """
    found = np.zeros((len(samples), len(samples)))
    enough = [k for k, rows in enumerate(samples) if len(rows) >= FEWEST_HALVED]
    if len(enough) > 1 and model.geometry.shrinkage > 0:
        geometry, sets = as_fitted(model, [samples[k] for k in enough])
        with one_blas_thread():
            known = fit_reliabilities(geometry, sets, random_state=seed)
        found[np.ix_(enough, enough)] = known
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

    shift: ShiftTest | None
    changes: Changes | None
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
    separation: Separation,
    tested: Sequence[Chunk],
    to_check: RowsToCheck,
    progress: Progress,
) -> tuple[PairFindings, tuple[Note, ...]]:
    """Test two sets and say which columns and relations changed; and why there is no test.

    In the linear span nothing is said about columns.
    """
    read, sets = done.read, done.opened.sets
    shift, remarks = _shift_of(tested, done.settings, progress)
    angles = [group.angles for group in done.groups if group.angles is not None]
    effect_a, effect_b = (np.mean(np.asarray(one.attribution), axis=0) for one in angles)
    changes = None
    if frame.geometry.affine:
        changes = find_changes(
            frame,
            *(one.sample.rows for one in read),
            names=done.feature_names,
            plan=None if sets.first is None else sets.first.plan,
            profiles=_profiles(sets),
            auc=separation.auc,
            shift=shift,
            pulls=effect_b - effect_a,
            set_names=(sets.names[0], sets.names[1]),
            to_check=to_check,
            merged=(read[0].sample.merged, read[1].sample.merged),
        )
        said = (*map(str, sets.schema_changes), *changes.verdict.sentences)
        changes = replace(changes, verdict=replace(changes.verdict, sentences=said))
        remarks += _times_apart(changes)
    return PairFindings(shift, changes, effect_a, effect_b), remarks


def _made_names(n: int, shape: tuple[int, ...] | None) -> tuple[str, ...]:
    """Names for features that have none: x0, x1, …, or a pixel's row, column and channel."""
    if shape is None:
        return tuple(f"x{j}" for j in range(n))
    return tuple(f"pixel {','.join(map(str, place))}" for place in np.ndindex(shape))


def _times_apart(changes: Changes) -> tuple[Note, ...]:
    """Dates that separate the sets by themselves, as those of training and production do."""
    found = [one.name for one in changes.features if one.kind == "date" and one.distance >= APART]
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


def _shift_of(
    tested: Sequence[Chunk], settings: Settings, progress: Progress
) -> tuple[ShiftTest | None, tuple[Note, ...]]:
    """Are two sets samples of one distribution? And why there is no answer, if none."""
    if settings.n_permutations == 0:
        return None, ()
    progress("testing for a shift", 0, 1)
    try:
        # Thousands of small products: threads would wait for each other longer than they work,
        # ten times longer where other programs want the same cores.
        with one_blas_thread():
            test = shift_test(
                *(one.rows for one in tested),
                merged=(tested[0].merged, tested[1].merged),
                n_permutations=settings.n_permutations,
                confidence=settings.confidence,
                random_state=settings.seed,
            )
    except InputError as error:  # too few rows for a test are still enough for a comparison
        said = f"There is no p-value for the sets as a whole: {error}"
        return None, (Note("no p-value", said),)
    progress("testing for a shift", 1, 1)
    if not test.copies:
        return test, ()
    text = (
        (
            "{n:,} of the {of:,} rows tested repeat another row of their set: the p-value and the "
            "held-out AUC count each row once."
        )
        if test.copies > 1
        else (
            "{n} of the {of:,} rows tested repeats another row of its set: the p-value and the "
            "held-out AUC count each row once."
        )
    )
    said = text.format(n=test.copies, of=sum(len(one.rows) for one in tested))
    return test, (Note("copies", said),)
