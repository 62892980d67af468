"""What the sets hold in a column as it is encoded: mean, spread and range, shares, gaps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .learn import ColumnLearner, TextLearner
from .plan import ColumnPlan
from .sketches import Moments

#: The mean that fills gaps keeps this many digits, counted from the larger one of mean and spread:
#: its last digits depend on how rows were cut into blocks, and a plan must not.
FILL_DIGITS = 10

Parts = Sequence[ColumnLearner]


def moments_of(column: ColumnPlan, part: ColumnLearner) -> Moments:
    """Mean, spread and range of a column in one set, as it is encoded (no categories)."""
    total = Moments()
    for moments in part.values.values():
        total.merge(moments)
    if part.text is not None and column.reading:
        total.merge(part.text.read_as(column.reading))
    elif part.text is not None and column.kind == "boolean":
        total.merge(_word_moments(part.text, column.words[1]))
    return total


def means_of(column: ColumnPlan, parts: Parts) -> tuple[float, ...]:
    """Mean over the sets of the mean of the values present, place by place."""
    own = [m for m in (moments_of(column, part) for part in parts) if m.count]
    fills = []
    for place in range(max(1, math.prod(column.shape))):
        means = [float(m.mean[place] if column.shape else m.mean) for m in own]
        spreads = [float(m.deviation[place] if column.shape else m.deviation) for m in own]
        mean = sum(means) / len(means) - (column.origin if column.of else 0)
        size = max(abs(mean), *spreads)
        if 0 < size < math.inf:
            mean = round(mean, FILL_DIGITS - 1 - math.floor(math.log10(size)))
        fills.append(mean if math.isfinite(mean) else 0.0)
    return tuple(fills)


def shares_of(column: ColumnPlan, parts: Parts) -> tuple[float, ...]:
    """Mean over the sets of each level's share of the values present."""
    rows = []
    for text in (part.text for part in parts):
        if text is not None and text.count:
            counts = [text.levels.counts.get(level, 0) for level in column.levels]
            further = [text.count - sum(counts)] if column.other else []
            rows.append([count / text.count for count in (*counts, *further)])
    return tuple(sum(shares) / len(rows) for shares in zip(*rows, strict=True))


def has_gaps(column: ColumnPlan, parts: Parts) -> bool:
    """Whether a value is missing, or does not read as the others do, in any of the sets."""
    texts = [part.text for part in parts if part.text is not None and column.reading]
    return any(part.missing for part in parts) or any(
        text.read_as(column.reading).count < text.count for text in texts
    )


def _word_moments(text: TextLearner, true: str) -> Moments:
    values = np.array([float(level.lower() == true) for level in text.levels.counts])
    moments = Moments()
    moments.add(values, np.array(list(text.levels.counts.values()), dtype=np.float64))
    return moments
