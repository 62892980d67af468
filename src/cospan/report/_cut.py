"""Where to cut between A and B, judged by the counts of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cospan.comparison import Comparison

__all__ = ["SEPARATES", "Cut", "best_cut", "cut_at"]

SEPARATES = 0.7  # AUC from which single rows can be assigned; below it any cut is an accident
MIDDLE = 450


@dataclass(frozen=True)
class Cut:
    """A threshold in tenths of a degree, and how many rows it puts on their own side.

    ``accuracy`` is their share among all rows, ``balanced`` the mean of their shares in A and B.
    """

    step: int
    accuracy: float
    balanced: float


def cut_at(comparison: Comparison, step: int) -> Cut:
    """Judge one threshold: A below it, B from there on."""
    a, b = np.asarray(comparison.group_a.counts), np.asarray(comparison.group_b.counts)
    right_a, right_b = float(a[:step].sum()), float(b[step:].sum())
    n_a, n_b = max(float(a.sum()), 1), max(float(b.sum()), 1)
    return Cut(step, (right_a + right_b) / (n_a + n_b), (right_a / n_a + right_b / n_b) / 2)


def best_cut(comparison: Comparison) -> Cut:
    """The cut with the best mean recall; 45° among equals, and where rows cannot be assigned.

    Calibrated angles are cut at 45°, where both sets are equally probable: another cut that suits
    these rows better suits no others.
    """
    separation = comparison.separation
    if separation.bins is None or separation.auc.value < SEPARATES:
        return cut_at(comparison, MIDDLE)
    cuts = [cut_at(comparison, step) for step in range(901)]
    return max(cuts, key=lambda cut: (cut.balanced, -abs(cut.step - MIDDLE)))
