"""What values that are missing more often in one set do to the spreads and relations of the others.

A missing value is filled, and a filled value keeps no relation: where x is missing in 8 % of B, its
rows break what x has to do with y and z, and all three seem to have changed their relations. So the
rows with such a gap are weighed until the gap is as frequent in both sets, and the variances along
each direction of the frame are taken again. What a direction's part of D loses by that is due to
missing values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cospan import _arrays as arrays
from cospan._tolerance import NOT_ZERO
from cospan._types import Floats

from .columns import LEVEL, FeatureChange
from .grouping import Column, Rows, present
from .measuring import cohen
from .parts import spread_by_feature

if TYPE_CHECKING:
    from cospan.model import JointFrame


def more_gaps(changes: Sequence[FeatureChange]) -> Floats:
    """(columns,): how much more often values are missing in one set, where that is a change."""
    return np.array(
        [
            abs(cohen(one.a.missing, one.b.missing))
            if one.changed and one.tests.get("missing", 1.0) <= LEVEL
            else 0.0
            for one in changes
        ]
    )


def spread_without_gaps(
    frame: JointFrame, columns: Sequence[Column], spread: Floats, more: Floats, rows: Rows
) -> Floats:
    """Each feature's part of D from spreads and relations, with gaps as frequent in both sets.

    `spread` are the parts as they are, `more` the columns that are missing more often in one set.
    """
    weights = _weights([c for c, one in zip(columns, more, strict=True) if one > 0], rows)
    if weights is None or not np.isfinite(spread).all():
        return spread
    inverse = arrays.to_numpy(frame.inverse)
    if frame.basis is not None:
        inverse = arrays.to_numpy(frame.basis) @ inverse
    map_ = arrays.to_numpy(frame.geometry.per_unit())[:, None] * inverse
    added = frame.shrinkage * np.sum(arrays.to_numpy(frame.inverse) ** 2, axis=0)
    sides = []
    for part, weight, cosine in zip(rows[:2], weights, (frame.c, frame.s), strict=True):
        along = (part - part.mean(axis=0)) @ map_
        kept = _variances(along, weight) / np.maximum(_variances(along), NOT_ZERO)
        squared = arrays.to_numpy(cosine) ** 2
        sides.append(np.minimum(added, squared) + np.maximum(squared - added, 0.0) * kept)
    apart = 0.5 * np.log(np.maximum(sides[1], NOT_ZERO) / np.maximum(sides[0], NOT_ZERO))
    left = 0.5 * np.log(np.cosh(np.clip(apart, -300.0, 300.0)))
    found = spread_by_feature(frame, left)
    return np.minimum(found, spread)


def _weights(gappy: Sequence[Column], rows: Rows) -> list[Floats] | None:
    """Weights of the rows of both sets that make each gap as frequent in one as in the other."""
    found = [np.ones(len(part)) for part in rows[:2]]
    for column in gappy:
        masks = [present(part, column) for part in rows[:2]]
        missing = [0.0 if m is None else 1 - float(m.mean()) for m in masks]
        side = int(missing[1] > missing[0])
        mask, high, low = masks[side], missing[side], missing[1 - side]
        if mask is None or high >= 1:
            continue
        found[side][~mask] *= low / (1 - low) / (high / (1 - high)) if low < 1 else 1.0
    return None if all(np.all(one == 1) for one in found) else found


def _variances(along: Floats, weight: Floats | None = None) -> Floats:
    """Along each direction, of rows with these weights."""
    if weight is None:
        return np.asarray(along.var(axis=0))
    share = weight / max(math.fsum(weight), NOT_ZERO)
    mean = share @ along
    return np.asarray(share @ (along - mean) ** 2)
