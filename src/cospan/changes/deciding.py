"""Do two sets differ, and is the difference large?

**Differ**: the shift test's p-value is at most 0.05, or one column's adjusted p-value at most 0.01
(0.05 without a shift test), so that sets that do not differ are said to in 6 % of cases at most.

**How much**, by the AUC (how many of 100 pairs of rows, one of each set, the angle orders
rightly): none below 0.56, small from there, medium from 0.64, large from 0.71. These are the AUCs
of two normal distributions 0.2, 0.5 and 0.8 standard deviations apart, Cohen's cuts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .columns import LEVEL, FeatureTable

if TYPE_CHECKING:
    from cospan.significance import ShiftTest

#: From which AUC on a difference is called so.
SIZES = ((0.71, "large"), (0.64, "medium"), (0.56, "small"))
#: One column is enough for a verdict of its own if its adjusted p-value is at most this.
ONE_COLUMN = 0.01


class RowsToCheck(NamedTuple):
    """How many rows are worth a look: of A like B, of B like A, of any set like neither."""

    a_like_b: int = 0
    b_like_a: int = 0
    neither: int = 0


NO_ROWS = RowsToCheck()


class Decided(NamedTuple):
    """Whether the sets differ, and the p-value that says so.

    `by_column`: it is the smallest one of a column, adjusted; `as_a_whole` is then that of the
    shift test, if there is one and it says otherwise.
    """

    differs: bool
    p: float
    by_column: bool = False
    as_a_whole: float | None = None


def size_of(auc: float) -> str:
    """How large a difference with such an AUC is.

    >>> from cospan.changes import size_of
    >>> [size_of(auc) for auc in (0.5, 0.6, 0.7, 0.9)]
    ['none', 'small', 'medium', 'large']
    """
    return next((word for cut, word in SIZES if auc >= cut), "none")


def decide(features: FeatureTable, shift: ShiftTest | None) -> Decided:
    """Whether the sets differ, by the shift test or by a single column."""
    smallest = min((one.p_adjusted for one in features), default=1.0)
    if shift is None:
        return Decided(smallest <= LEVEL, smallest, by_column=True)
    if shift.pvalue > LEVEL and smallest <= ONE_COLUMN:
        return Decided(True, smallest, by_column=True, as_a_whole=shift.pvalue)
    return Decided(shift.pvalue <= LEVEL, shift.pvalue)
