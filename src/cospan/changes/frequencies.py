"""Columns of numbers by their single values: those with two values only, spikes, and rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cospan._numbers import exact_number

from .grouping import Rows, present
from .measuring import Held, Measured, cohen
from .repeats import Frequency, repeats_in

if TYPE_CHECKING:
    from cospan._types import Floats

#: Kinds with single values to look at.
_KINDS = ("number", "date", "duration")


def with_frequencies(measured: Sequence[Measured], rows: Rows) -> list[Measured]:
    """The same columns with the tests of single values.

    A column of numbers with two values, 0 and 1 for one, has shares and nothing else: it is tested
    as yes and no are.
    """
    return [_looked_at(one, rows) if one.column.kind in _KINDS else one for one in measured]


def _looked_at(one: Measured, rows: Rows) -> Measured:
    a, b = values_of(one, rows)
    found = repeats_in(a, b, units=one.column.kind == "number")
    if found.two is not None:
        return _of_two(one, found.two)
    spike, grain = (
        None if of is None else of._replace(counted=_counted(of, one, rows, is_unit))
        for of, is_unit in ((found.spike, False), (found.grain, True))
    )
    return replace(one, tests=dict(one.tests) | found.tests, spike=spike, grain=grain)


def values_of(one: Measured, rows: Rows) -> tuple[Floats, Floats]:
    """The values of a column with one feature that are present, in A and in B."""
    found = []
    for part in rows[:2]:
        there = present(part, one.column)
        values = part[:, one.place]
        found.append(values if there is None else values[there])
    return found[0], found[1]


def _counted(of: Frequency, one: Measured, rows: Rows, is_unit: bool) -> tuple[bool, bool]:
    """Whether shares are of all rows: of a sample, only that of a value beyond the range is."""
    if rows.whole:
        return True, True
    beyond = [not held.low <= of.value <= held.high and not is_unit for held in (one.a, one.b)]
    return beyond[0], beyond[1]


def _of_two(one: Measured, two: tuple[float, float]) -> Measured:
    """A column with these two values only, unless each set has one of them or a sample lacks one.

    Where one is always so in A and the other in B, that is a step from the one to the other.
    """
    low, high = two
    held = (one.a, one.b)
    others = any(side.low < low or side.high > high for side in held)
    if others or all(side.constant for side in held):
        return one
    shares = [(side.mean - low) / (high - low) for side in held]
    words = [exact_number(value) for value in two]
    a, b = (_with_levels(side, words, p) for side, p in zip(held, shares, strict=True))
    tests = {key: p for key, p in one.tests.items() if key not in ("spread", "shape")}
    tests["levels"] = tests.pop("mean")
    return replace(
        one, a=a, b=b, difference=cohen(*shares), tests=tests, level_tests={words[1]: 0.0}
    )


def _with_levels(held: Held, words: Sequence[str], share: float) -> Held:
    share = min(1.0, max(0.0, share))
    return replace(held, levels={words[0]: 1 - share, words[1]: share})
