"""What changed between two of more than two sets, found in the rows that a result carries along.

Every surface asks here, and each pair is looked at once, when it is first asked for. The more
pairs and features there are, the fewer rows are looked at: together they take a few seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cospan._numbers import chance
from cospan._text import plural
from cospan._types import Floats
from cospan.changes import Changes, find_changes
from cospan.changes.grouping import plan_from
from cospan.changes.wording import listed
from cospan.errors import InputError
from cospan.model import JointFrame

if TYPE_CHECKING:
    from cospan.comparison.many import ManyComparison

MOST_PAIRS = 45  # shown one by one, the closest ones
MOST_TESTED = 5_000  # features over all pairs: more would take long
MOST_NUMBERS = 600_000  # that tests look at, over all pairs
FEWEST_ROWS = 200
FIRST_COLUMNS = 3


class ComparedPair(NamedTuple):
    """The rows of two sets that were looked at, and what changed from the first to the second."""

    samples: tuple[Floats, Floats]
    changes: Changes


class PairChanges:
    """The pairs of a comparison of many sets; `shown` are those that are shown one by one."""

    def __init__(self, c: ManyComparison) -> None:
        self._c = c
        self.names = c.feature_names or tuple(f"x{k}" for k in range(c.costs.n_features))
        self.shown = c._by_distance()[:MOST_PAIRS]
        self._tested = max(1, MOST_TESTED // len(self.names))
        self._known: dict[tuple[int, int], ComparedPair | None] = {}

    def between(self, i: int, j: int) -> ComparedPair | None:
        """What changed from set i to set j.

        None in the linear span, of pictures, and of sets in which nothing varies.
        """
        if (i, j) not in self._known:
            self._known[i, j] = self._find(i, j)
        return self._known[i, j]

    def if_shown(self, i: int, j: int) -> ComparedPair | None:
        """The same for the pairs that are shown; with very many features, for the closest ones."""
        return self.between(i, j) if (i, j) in self.shown[: self._tested] else None

    def in_short(self, i: int, j: int) -> str:
        """The first columns that changed, in a line; empty where that cannot be said."""
        found = self.if_shown(i, j)
        if found is None:
            return ""
        changed, n = found.changes.features.changed, len(found.changes.features)
        if not changed:
            return "no column changed"
        text = "{n:,} of {columns} changed ({p}): {first}"
        if found.changes.features.nameless:
            text = "{n:,} of {columns} changed ({p})"
        first = listed([one.name for one in changed], FIRST_COLUMNS)
        known = {"columns": plural(n, "column"), "p": chance(changed[0].p_adjusted)}
        return text.format(n=len(changed), first=first, **known)

    def to_dict(self) -> list[dict[str, Any]]:
        """The pairs that are shown, closest first, as plain types."""
        rows = []
        for i, j in self.shown:
            found, apart = self.if_shown(i, j), self._c.pairs.between(i, j)
            row: dict[str, Any] = {"sets": [self._c.names[i], self._c.names[j]]}
            row |= {"auc": apart.auc, "fisher_rao": apart.fisher_rao}
            row |= dict.fromkeys(("verdict", "features", "feature_pairs"))
            if found is not None:
                changes = found.changes
                row["verdict"] = changes.verdict.to_dict()
                row["features"] = [one.to_dict() for one in changes.features.changed]
                row["feature_pairs"] = [
                    {"first": one.first, "second": one.second, "r_a": one.r_a, "r_b": one.r_b,
                     "p_adjusted": one.p_adjusted}
                    for one in changes.feature_pairs.changed
                ]  # fmt: skip
            rows.append(row)
        return rows

    def _find(self, i: int, j: int) -> ComparedPair | None:
        c, g = self._c, self._c.costs.geometry
        if not c.samples or not g.affine:
            return None
        n_pairs = min(len(self.shown), self._tested)
        most = max(FEWEST_ROWS, MOST_NUMBERS // (n_pairs * len(self.names)))
        kept = [slice(None, None, -(-len(c.samples[k]) // most)) for k in (i, j)]
        a, b = (c.samples[k][own] for k, own in zip((i, j), kept, strict=True))
        beside = [c.merged[k] if c.merged else None for k in (i, j)]
        one, two = (x if x is None else x[own] for x, own in zip(beside, kept, strict=True))
        same: Any = {"units": g.units, "shrinkage": g.shrinkage, "pooling": g.pooling, "dof": g.dof}
        try:
            frame = JointFrame.fit(a, b, **same, calibrate=False)
        except InputError:  # nothing varies, or there is one row
            return None
        found = find_changes(
            frame,
            a,
            b,
            names=self.names,
            plan=plan_from(g.encoding),
            auc=c.pairs.between(i, j).auc,
            set_names=(c.names[i], c.names[j]),
            merged=(one, two),
        )
        return ComparedPair((np.asarray(a), np.asarray(b)), found)
