"""In what two sets differ, and in which columns: one table of columns by kinds of difference.

Each column's part of D (see ``parts``) is split over the five kinds: **location**, **scale** and
**shape** of numbers as in ``frame.parts``, **levels** of categories and booleans, and **missing**
values. A column whose change is that values are missing claims its whole part for that kind:
filled values have another mean and spread only because they are filled. It claims what they do to
the relations of other columns, too (``gaps``).

Of every entry so much is kept as is more than chance. The rest of D has two reasons. Part of D is
there without any difference, since means and covariances of samples stray. And D takes every
feature as normal, which is far off for a level or a gap that one set hardly has: such an entry is
at most the distance of the two shares themselves, in the same currency (Bhattacharyya's).

The sums of the table over columns are the verdict's shares, those over kinds the columns' shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan._types import Floats

from .columns import LEVEL, FeatureChange, FeatureTable
from .gaps import more_gaps, spread_without_gaps
from .grouping import Column, Rows
from .parts import FeatureParts

if TYPE_CHECKING:
    from cospan.model import JointFrame
    from cospan.significance import ShiftTest

KINDS = ("location", "scale", "shape", "levels", "missing")
#: Shares that have nothing in common are infinitely far apart: this overlap is the least.
_LEAST_OVERLAP = 1e-3
#: What a changed column says about the kinds.
_KINDS_OF = {
    "mean": ("location",),
    "spread": ("shape", "scale"),
    "value": ("shape", "location", "scale"),
    "rounding": ("shape",),
    "relation": ("shape",),
}


class Kinds(NamedTuple):
    """D by kind, and what share of the difference each kind and each column is.

    `parts` has what is more than chance of every kind, and the "rest"; they add up to D.
    `shares` are these parts less the rest, scaled to 1; empty where nothing is more than chance.
    `columns` are the shares of the columns by name, which add up to 1 as well. `unsure` is the
    shift test's p-value of the kind that it is mostly, where single columns alone speak for it.
    """

    parts: dict[str, float]
    shares: dict[str, float]
    columns: dict[str, float]
    mostly: str
    unsure: float | None = None


def no_difference(total: float) -> Kinds:
    """D where the sets are not said to differ: all of it may be chance."""
    return Kinds(dict.fromkeys(KINDS, 0.0) | {"rest": total}, {}, {}, "")


def difference_by_kind(
    frame: JointFrame,
    columns: Sequence[Column],
    parts: FeatureParts,
    features: FeatureTable,
    shift: ShiftTest | None,
    rows: Rows,
) -> Kinds:
    """Split D over columns and kinds, and keep what is more than chance."""
    by_name = {one.name: one for one in features}
    changes = [by_name[column.name] for column in columns]
    more = more_gaps(changes)
    kept_spread = spread_without_gaps(frame, columns, parts.spread, more, rows)
    entries = _entries(frame, columns, changes, parts._replace(spread=kept_spread))
    if more.any():
        entries[:, 4] += float((parts.spread - kept_spread).sum()) * more / more.sum()
    total = float(parts.total.sum())
    if not math.isfinite(total):  # a direction that only one set has
        whole = entries.sum(axis=0).tolist()
        split = dict(zip(KINDS, whole, strict=True))
        return Kinds(split | {"rest": 0.0}, {}, {}, max(split, key=lambda kind: split[kind]))
    stray = _strayed(frame, columns, changes)
    kept = np.zeros_like(entries)
    for k, kind in enumerate(KINDS[:3]):
        # The test's own parts cannot tell new gaps, which are filled, from other changes.
        sure = not more.any() and (shift is not None and shift.parts.get(kind, 1.0) <= LEVEL)
        if sure or any(kind in _kinds_of(one) for one in features.changed):
            others = sure or shift is None
            kept[:, k] = _beyond_chance(kind, entries[:, k], stray[:, k], changes, others)
    for k, kind in ((3, "levels"), (4, "missing")):
        kept[:, k] = np.minimum(
            np.maximum(entries[:, k] - stray[:, k], 0.0),
            [min(_shares_apart(one, kind), one.part) for one in changes],
        )
    found = dict(zip(KINDS, kept.sum(axis=0).tolist(), strict=True))
    real = sum(found.values())
    split = found | {"rest": max(0.0, total - real)}
    if real == 0:
        first = _kinds_of(features.changed[0])[0] if features.changed else ""
        return Kinds(split, {}, {}, first)
    own = {c.name: float(x) / real for c, x in zip(columns, kept.sum(axis=1), strict=True)}
    shares = {kind: x / real for kind, x in found.items() if x > 0}
    mostly = max(shares, key=lambda kind: shares[kind])
    p = 0.0 if shift is None else shift.parts.get(mostly, 0.0)
    return Kinds(split, shares, own, mostly, p if p > LEVEL else None)


def _entries(
    frame: JointFrame,
    columns: Sequence[Column],
    changes: Sequence[FeatureChange],
    parts: FeatureParts,
) -> Floats:
    """(columns, 5): each column's part of D by kind; the sum of all is D."""
    whole = frame.parts
    in_all = whole.scale + whole.shape
    scale = whole.scale / in_all if 0 < in_all < math.inf else 0.0
    found = np.zeros((len(columns), len(KINDS)))
    for row, column, one in zip(found, columns, changes, strict=True):
        places = list(column.features)
        location, spread = (float(part[places].sum()) for part in parts)
        kind = _claim(one)
        if kind is not None:
            row[KINDS.index(kind)] += location + spread
        else:
            shape = spread if math.isinf(spread) else (1 - scale) * spread
            row[:3] += (location, spread - shape if math.isfinite(spread) else 0.0, shape)
        if column.indicator is not None:
            row[4] += float(parts.total[column.indicator])
    return found


def _strayed(
    frame: JointFrame, columns: Sequence[Column], changes: Sequence[FeatureChange]
) -> Floats:
    """(columns, 5): about what the entries are on average if the sets do not differ."""
    per_feature = _by_chance(frame) / max(1, frame.geometry.n_varying)
    found = np.zeros((len(columns), len(KINDS)))
    for row, column, one in zip(found, columns, changes, strict=True):
        width, kind = len(column.features), _claim(one)
        if kind is not None:
            row[KINDS.index(kind)] += width * per_feature.sum()
        else:
            row[:3] += width * per_feature
        if column.indicator is not None:
            row[4] += per_feature.sum()
    return found


def _claim(one: FeatureChange) -> str | None:
    """The kind that a column's whole part counts as; None for numbers, whose part is split."""
    if one.ways[0] == "missing":
        return "missing"
    if not one.of_shares:
        return None
    related = one.ways[0] == "relation" and one.tests.get("levels", 1.0) > LEVEL
    return "shape" if related else "levels"


def _by_chance(frame: JointFrame) -> Floats:
    """About what location, scale and shape are on average if the sets do not differ, (3,).

    Along direction i the rows have the variance v_i, what the shrinkage added taken off. Means
    then stray by v_i/n, and the entries of covariances by v_i v_k/n (twice on the diagonal).
    """
    alpha, noise = frame.shrinkage, 1 / frame.n_a + 1 / frame.n_b
    added = alpha * np.sum(arrays.to_numpy(frame.inverse) ** 2, axis=0)
    own = [
        np.maximum(0.0, arrays.to_numpy(x) ** 2 - added) / (1 - alpha) for x in (frame.c, frame.s)
    ]
    v = (own[0] + own[1]) / 2
    location = 0.25 * float(np.sum(own[0] / frame.n_a + own[1] / frame.n_b))
    shape = 0.25 * (1 - alpha) ** 2 * float(v.sum() ** 2 + np.sum(v**2)) * noise
    return np.array([location, noise / 8, shape])


def _beyond_chance(
    kind: str, entries: Floats, stray: Floats, changes: Sequence[FeatureChange], all_of_them: bool
) -> Floats:
    """What is more than chance of one kind, column by column.

    In all it is the sum less what strays; taking it off column by column alone would leave those
    columns that strayed more than others, so these are scaled down to that. Columns that changed
    in this way keep theirs, and only they where the shift test does not see this kind.
    """
    above = np.maximum(entries - stray, 0.0)
    named = np.array([kind in _kinds_of(one) for one in changes])
    sure, others = float(above[named].sum()), float(above[~named].sum())
    left = min(others, max(0.0, float((entries - stray).sum()) - sure)) if all_of_them else 0.0
    return np.where(named, above, above * (left / others if others > 0 else 0.0))


def _shares_apart(one: FeatureChange, kind: str) -> float:
    """Distance of a changed column's shares in A and in B; 0 where they did not change.

    No bound on a column that is mostly missing values and also changed where it has some: its
    whole part counts as missing.
    """
    if not one.changed or one.tests.get(kind, 1.0) > LEVEL:
        return 0.0
    values = min(one.tests.get(test, 1.0) for test in ("mean", "spread", "shape"))
    if _claim(one) == kind == "missing" and values <= LEVEL:
        return math.inf
    if kind == "missing":
        return _apart([one.a.missing], [one.b.missing])
    if one.kind == "boolean":
        return _apart([one.a.mean], [one.b.mean])
    levels = sorted(one.a.levels.keys() | one.b.levels.keys())
    return _apart(*([held.levels.get(level, 0.0) for level in levels] for held in (one.a, one.b)))


def _apart(p: Sequence[float], q: Sequence[float]) -> float:
    """Bhattacharyya's distance of two distributions; the last share is what is left to 1."""
    sides = [np.clip([*x, 1 - sum(x)], 0.0, 1.0) for x in (p, q)]
    overlap = float(np.sum(np.sqrt(sides[0] * sides[1])))
    return -math.log(min(1.0, max(overlap, _LEAST_OVERLAP)))


def _kinds_of(one: FeatureChange) -> tuple[str, ...]:
    return tuple(kind for way in one.ways for kind in _KINDS_OF.get(way, (way,)))
