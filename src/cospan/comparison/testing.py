"""What only a pair has: a test of "no difference", and which columns and relations changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cospan._arrays import one_blas_thread
from cospan._types import Floats
from cospan._warnings import Remark
from cospan.changes import Changes, RowsToCheck, find_changes
from cospan.comparison.fitting import Fitted
from cospan.comparison.opening import Opened
from cospan.comparison.reading import Progress, ReadSet, Sets
from cospan.comparison.scoring import Group
from cospan.comparison.settings import Settings
from cospan.errors import InputError
from cospan.frame import JointFrame
from cospan.significance import Separation, ShiftTest, shift_test
from cospan.sources import Chunk
from cospan.sources.encoding import SetProfile

APART = 0.9  # the largest gap between the shares of rows up to a date, from which it separates


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
) -> tuple[PairFindings, tuple[Remark, ...]]:
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
        remarks += _times_apart(changes)
    return PairFindings(shift, changes, effect_a, effect_b), remarks


def _made_names(n: int, shape: tuple[int, ...] | None) -> tuple[str, ...]:
    """Names for features that have none: x0, x1, …, or a pixel's row, column and channel."""
    if shape is None:
        return tuple(f"x{j}" for j in range(n))
    return tuple(f"pixel {','.join(map(str, place))}" for place in np.ndindex(shape))


def _times_apart(changes: Changes) -> tuple[Remark, ...]:
    """Dates that separate the sets by themselves, as those of training and production do."""
    found = [one.name for one in changes.features if one.kind == "date" and one.distance >= APART]
    return tuple(
        Remark(
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
) -> tuple[ShiftTest | None, tuple[Remark, ...]]:
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
        return None, (Remark("no p-value", said),)
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
    return test, (Remark("copies", said),)
