"""Columns that moved against the others, though hardly by themselves.

Flights in July are in the air about as long as in January and go as far; but for the same distance
they take less time. Each column by itself hides that, the two together show it. The frame says
which columns to ask: with δ the difference of the means and P the inverse of the mean covariance,
column j differs *given all others* by (Pδ)_j/√P_jj standard deviations of what they leave open.
The few it names are then put to an ordinary regression on all other columns and the set, so that
what is said can be checked by anybody: how much higher in B, in the column's own units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import linalg, stats

from cospan import _arrays as arrays
from cospan._numbers import number
from cospan._tolerance import NOT_ZERO, NOTHING_LEFT

from .columns import FeatureChange, FeatureTable
from .correlating import best_alone
from .grouping import Column, Rows, having
from .wording import quoted

if TYPE_CHECKING:
    from cospan.model import JointFrame

#: Half a standard deviation of what the others leave open is Cohen's medium effect; a column with
#: less than a tenth of the difference is no news.
LEAST_SHIFT, LEAST_SHARE, STRICT = 0.5, 0.1, 0.001
#: What moves by itself, the same way and half as far, is described well enough by itself.
TIMES_OWN = 2.0
MOST_TRIED, MOST_NAMED = 4, 2
#: Beside a step of so many of its standard deviations, what is left open is nothing.
NOTHING_ELSE = 1000.0
#: A regression of so many rows and features takes a fraction of a second.
MOST_ROWS, MOST_FEATURES = 20_000, 300


class GivenOthers(NamedTuple):
    """One column that moved given the others.

    `amount` is how much higher it is in B, in its own units; `shift` the same in standard
    deviations of what the others leave open. `companion` is the column that predicts it best.
    """

    name: str
    companion: str
    shift: float
    amount: float

    def sentence(self, names: tuple[str, str]) -> str:
        """In words, as part of a verdict."""
        text = (
            (
                "Given the other columns, {other} above all, {name} is higher in {b} than in {a}: "
                "by {amount} on average, {beside}."
            )
            if self.amount > 0
            else (
                "Given the other columns, {other} above all, {name} is lower in {b} than in {a}: "
                "by {amount} on average, {beside}."
            )
        )
        beside = f"{number(abs(self.shift), 2)} sd of what they leave open"
        if abs(self.shift) > NOTHING_ELSE:
            beside = "and they leave nothing else open"
        known = {"other": quoted(self.companion), "name": quoted(self.name), "beside": beside}
        return text.format(a=names[0], b=names[1], amount=number(abs(self.amount)), **known)


def moved_given_others(
    frame: JointFrame, columns: Sequence[Column], features: FeatureTable, rows: Rows
) -> tuple[GivenOthers, ...]:
    """Columns of numbers whose move shows only beside the others, the surest by itself first.

    >>> from cospan import JointFrame
    >>> from cospan.changes import find_changes
    >>> rng = np.random.default_rng(0)
    >>> def trips(minutes):
    ...     miles = rng.uniform(100, 900, 500)
    ...     return np.column_stack([miles, miles / 8 + minutes + rng.normal(0, 4, 500)])
    >>> A, B = trips(20), trips(28)
    >>> found = find_changes(JointFrame.fit(A, B), A, B, names=["miles", "minutes"])
    >>> [one.split(":")[0] for one in found.verdict.sentences if "Given" in one]
    ['Given the other columns, miles above all, minutes is higher in B than in A']
    """
    if len(columns) < 2 or frame.n_features > MOST_FEATURES:
        return ()
    inverse = arrays.to_numpy(frame.inverse)
    if frame.basis is not None:
        inverse = arrays.to_numpy(frame.basis) @ inverse
    size = np.maximum(np.linalg.norm(inverse, axis=1), NOT_ZERO)
    moved = math.sqrt(2) * (inverse @ arrays.to_numpy(frame.shifts)) / size
    asked = [(column, features[column.name]) for column in columns if column.kind == "number"]
    asked = [pair for pair in asked if _is_worth_asking(pair[1], float(moved[pair[0].features[0]]))]
    found: list[GivenOthers] = []
    for column, own in sorted(asked, key=lambda pair: pair[1].p)[:MOST_TRIED]:
        others = [c for c in columns if c is not column]
        companion = best_alone(rows[:2], column, others).name
        # The same story from the other side: it is told, or the other one moved by itself.
        told = companion in {one.name for one in found}
        if told or _moved_more(features[companion], own):
            continue
        amount, shift, p = _regressed(rows, column)
        if p * len(columns) <= STRICT and _is_news(own, shift):
            found.append(GivenOthers(column.name, companion, shift, amount))
    return tuple(found[:MOST_NAMED])


def _is_worth_asking(own: FeatureChange, moved: float) -> bool:
    """By the frame. Its shrinkage makes such moves smaller: half the size will do."""
    return own.share >= LEAST_SHARE and _is_news(own, 2 * moved)


def _is_news(own: FeatureChange, shift: float) -> bool:
    """Whether a column moved far given the others, and by itself hardly or the other way."""
    moved, alone = abs(shift), own.difference * math.copysign(1.0, shift)
    return moved >= max(LEAST_SHIFT, TIMES_OWN * alone) and alone < LEAST_SHIFT


def _moved_more(other: FeatureChange, own: FeatureChange) -> bool:
    """Whether the other column moved by itself: what stayed seems to move beside it."""
    alone = abs(other.difference), abs(own.difference)
    return other.changed and "mean" in other.ways and alone[0] >= max(LEAST_SHIFT, alone[1])


def _regressed(rows: Rows, column: Column) -> tuple[float, float, float]:
    """A column's regression on all others and the set: coefficient of B, in sd, p-value.

    By residuals (Frisch and Waugh): what the others leave of the column, on what they leave of
    the set. Where they leave nothing of either, there is nothing to say.
    """
    j = column.features[0]
    own = {j, *(() if column.indicator is None else (column.indicator,))}
    others = [k for k in range(rows.a.shape[1]) if k not in own]
    parts = []
    for side, part in enumerate((rows.a, rows.b)):
        part = having(part, column)[:MOST_ROWS]
        parts.append(np.column_stack([part[:, others], part[:, j], np.full(len(part), side)]))
    both = np.concatenate(parts)
    both -= both.mean(axis=0)
    both /= np.maximum(scale := both.std(axis=0), NOT_ZERO)
    X, y = both[:, :-2], both[:, -2:]
    solved, _, rank, _ = linalg.lstsq(X, y, lapack_driver="gelsd")
    left, of_set = (y - X @ solved).T
    freedom, weight = len(both) - int(rank) - 2, float(of_set @ of_set)
    if freedom < 1 or weight <= NOTHING_LEFT * len(both):
        return 0.0, 0.0, 1.0
    slope = float(of_set @ left) / weight
    rest = math.sqrt(float(np.sum((left - slope * of_set) ** 2)) / freedom)
    if rest <= NOTHING_LEFT:
        return 0.0, 0.0, 1.0
    t = slope * math.sqrt(weight) / rest
    in_units = slope * scale[-2] / scale[-1]
    return in_units, slope / scale[-1] / rest, float(2 * stats.t.sf(abs(t), freedom))
