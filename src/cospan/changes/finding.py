"""From a frame, sampled rows and a plan to what changed: the entry point of this room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from cospan import _arrays as arrays
from cospan._types import Floats
from cospan._validate import as_rows
from cospan.errors import InputError

from .columns import LEVEL, FeatureTable, feature_table
from .copied import with_copies
from .deciding import NO_ROWS, RowsToCheck, decide
from .frequencies import with_frequencies
from .given import moved_given_others
from .grouping import Column, Merged, Profiles, columns_of, taken_rows
from .kinds import difference_by_kind, no_difference
from .measuring import measure
from .pairs import PairTable
from .parts import feature_parts
from .quality import Quality, check_quality
from .relations import changed_relations
from .scatter import scattered_given_others
from .verdict import Verdict, make_verdict
from .wording import set_name

if TYPE_CHECKING:
    from cospan.data import EncodingPlan
    from cospan.model import JointFrame
    from cospan.significance import Estimate, ShiftTest


@dataclass(frozen=True)
class Changes:
    """What changed between two sets.

    >>> from cospan import compare
    >>> x = np.arange(60.0)[:, None]
    >>> changes = compare(x, x + 90, n_permutations=99).changes
    >>> changes.features[0].ways, changes.verdict.mostly
    (('mean',), 'location')
    """

    features: FeatureTable  # one row for each of the user's columns, changed ones first
    feature_pairs: PairTable  # relations that changed, the surest first
    quality: Quality  # missing values, levels, constants, duplicates, ranges, scales
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Plain types only, for JSON."""
        return {
            "verdict": self.verdict.to_dict(),
            "features": self.features.to_dict(),
            "feature_pairs": self.feature_pairs.to_dict(),
            "quality": self.quality.to_dict(),
        }


def find_changes(
    frame: JointFrame,
    rows_a: Any,
    rows_b: Any,
    *,
    names: Sequence[str] | None = None,
    plan: EncodingPlan | None = None,
    profiles: Profiles | None = None,
    auc: Estimate | None = None,
    shift: ShiftTest | None = None,
    pulls: ArrayLike | None = None,
    set_names: tuple[str, str] = ("A", "B"),
    to_check: RowsToCheck = NO_ROWS,
    merged: Merged = (None, None),
) -> Changes:
    """Find which columns and which pairs of columns changed, and say so.

    The frame is that of the two sets, in the affine span; `rows_a` and `rows_b` are encoded rows of
    both, all of them or random samples. `names` are the features' (by default the plan's, the
    frame's, or x0, x1, …); `plan` says how the user's columns became features, else every feature
    is a column of numbers. `profiles` say what the columns hold over all rows, else the rows given
    are measured. `auc` says how well the angle separates the sets, and `pulls` (d,) are the
    features' mean pulls on it. `set_names` are for the sentences, and so is `to_check`, how many
    rows are worth a look. `merged` are hashes of each row's levels that have a feature together
    (:class:`cospan.data.Chunk`): without them nothing is said of equal rows, where there are
    such levels.

    >>> from cospan import JointFrame
    >>> from cospan.changes import find_changes
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(30, 5, size=(300, 4)), rng.normal(30, 5, size=(300, 4))
    >>> B[:, 2] += 3
    >>> found = find_changes(JointFrame.fit(A, B), A, B, names=["age", "pay", "tenure", "rank"])
    >>> [(one.name, one.change) for one in found.features.changed]
    [('tenure', 'mean')]
    >>> print(found.verdict)
    A and B differ (p at most 0.001, adjusted for 4 columns).
    It is mostly a difference in location (where the values are centred): 100 % of it.
    tenure rose from 29.5 to 32.9, 0.67 sd.
    """
    a, b = (
        np.asarray(arrays.to_numpy(as_rows(rows, name, d=frame.n_features)), dtype=np.float64)
        for rows, name in ((rows_a, "A"), (rows_b, "B"))
    )
    called = _names(frame, names, plan)
    set_names = set_name(set_names[0]), set_name(set_names[1])
    columns = columns_of(plan, called)
    rows = taken_rows(a, b, (frame.n_a, frame.n_b), merged)
    parts = feature_parts(frame)
    measured = with_frequencies(measure(columns, rows, profiles), rows)
    relations = changed_relations(columns, called, rows, parts.spread, LEVEL)
    with arrays.one_blas_thread():  # many small products: threads would wait for each other
        broken = scattered_given_others(columns, rows, relations.leads)
    relations = with_copies(relations._replace(broken=broken), columns, measured, rows)
    own_pulls = None if pulls is None else _grouped(columns, np.asarray(pulls, dtype=np.float64))
    table = feature_table(measured, relations, rows, _grouped(columns, parts.total), own_pulls)
    quality = check_quality(table, columns, rows, profiles, set_names)
    decided = decide(table, shift)
    kinds = no_difference(frame.parts.total)
    if decided.differs:
        kinds = difference_by_kind(frame, columns, parts, table, shift, rows)
    table = table.with_shares(kinds.columns)
    verdict = make_verdict(
        table,
        relations,
        quality,
        kinds,
        decided,
        auc,
        set_names,
        to_check,
        given=moved_given_others(frame, columns, table, rows),
        curved=frame.curve is not None,
    )
    return Changes(table, relations.pairs, quality, verdict)


def _names(
    frame: JointFrame, names: Sequence[str] | None, plan: EncodingPlan | None
) -> tuple[str, ...]:
    if names is None:
        names = plan.feature_names if plan is not None else frame.feature_names
    if names is None:
        return tuple(f"x{i}" for i in range(frame.n_features))
    if len(names) != frame.n_features:
        raise InputError(
            f"There are {len(names)} names for {frame.n_features} features; give one for each."
        )
    return tuple(names)


def _grouped(columns: Sequence[Column], values: Floats) -> Floats:
    """Sums over the features made of each column, its indicator too."""
    found = [
        float(values[list(column.features)].sum())
        + (0.0 if column.indicator is None else float(values[column.indicator]))
        for column in columns
    ]
    return np.array(found)
