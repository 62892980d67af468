"""Features on scales so unlike that a comparison cannot do justice to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cospan.comparison.standardizing import pooled_deviation

if TYPE_CHECKING:
    from cospan.comparison.reading import ReadSet

__all__ = ["unlike_scales"]

UNLIKE = 100.0  # times the spread of half of the features: the others hardly count


def unlike_scales(a: ReadSet, b: ReadSet, names: tuple[str, ...] | None) -> str | None:
    """A remark where one feature's unit drowns at least half of the others, else None.

    Shrinkage pulls all features to one common variance: a feature with a thousandth of the spread
    of another is treated as if it were noise.
    """
    deviation = np.asarray(pooled_deviation(a.summary, b.summary))
    widest = int(np.argmax(deviation))
    ratio = deviation[widest] / np.quantile(deviation, 0.5, method="lower")
    if not ratio > UNLIKE:
        return None
    name = repr(names[widest]) if names else f"x{widest}"
    return (
        f"The features are on unlike scales: {name} spreads {ratio:,.0f} times as wide as half of "
        "the others, so that its unit outweighs theirs; standardize=True gives all the same say."
    )
