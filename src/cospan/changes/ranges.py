"""Values of one column: constant in one set, beyond the other's range, in another unit."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from cospan._language import later, say
from cospan._numbers import number
from cospan._tails import tail_p_values
from cospan._types import Floats

from .columns import FeatureChange
from .grouping import Column, Profiles, having
from .measuring import Held
from .notes import LookedAt, QualityNote, surely_absent
from .wording import quoted, truth, value_text

#: A set leaves the other's range when it goes beyond it by half of it, and by more than the
#: other's tail would have it.
BEYOND = 0.5
#: Means and spreads that are both this many times those of the other set: another unit.
OTHER_UNIT = 5.0
#: And up to this factor from each other the two ratios count as equal.
_SAME_RATIO = 1.5


def value_notes(one: FeatureChange, column: Column, at: LookedAt) -> Iterator[QualityNote]:
    """What is odd about the values of a column of numbers, dates or truth values."""
    a, b = (having(part, column)[:, column.features[0]] for part in at.rows[:2])
    values = a, b
    if one.kind in ("number", "duration"):
        yield from _range_notes(one, values, at)
    yield from _constant_note(one, values, at)


def _range_notes(
    one: FeatureChange, values: tuple[Floats, Floats], at: LookedAt
) -> Iterator[QualityNote]:
    a, b, names = one.a, one.b, at.names
    unit = _other_unit(a, b) if one.changed else None
    if unit is not None:
        larger, smaller = (names[1], names[0]) if unit > 1 else (names[0], names[1])
        times = unit if unit > 1 else 1 / unit
        text = later("{name} is about {x} times as large in {a} as in {b}: perhaps another unit.")
        said = say(text, name=quoted(one.name), x=number(times), a=larger, b=smaller)
        yield QualityNote("scale", one.name, said, True, a.mean, b.mean)
        return
    for side in (1, 0):
        own, other = (b, a) if side else (a, b)
        width = other.high - other.low
        if not (math.isfinite(width) and width > 0 and math.isfinite(own.high - own.low)):
            continue
        above = own.high - other.high >= other.low - own.low
        end = own.high if above else own.low
        far = max(own.high - other.high, other.low - own.low) > BEYOND * width
        if far and _left_range(
            end, values[side], values[1 - side], _rows_of(one, side, at.profiles), at.level
        ):
            text = later("{name} goes to {end} in {x}; in {y} it stays between {low} and {high}.")
            known = {"low": number(other.low), "high": number(other.high), "end": number(end)}
            said = say(text, name=quoted(one.name), x=names[side], y=names[1 - side], **known)
            ends = (a.high, b.high) if above else (a.low, b.low)
            yield QualityNote("range", one.name, said, True, *ends)


def _rows_of(one: FeatureChange, side: int, profiles: Profiles | None) -> int:
    """How many rows the ends of a column were looked for in; 0 if in the sample."""
    if profiles is None:
        return 0
    try:
        return int(profiles[side][one.name].rows)
    except KeyError:
        return 0


def _left_range(end: float, own: Floats, other: Floats, rows: int, level: float) -> bool:
    """Whether such an end among so many rows is more than the other set's tail would have it.

    Or more rows are beyond the other set's range than chance would put there.
    """
    if min(len(own), len(other)) == 0:
        return False
    beyond = own > other.max() if end > other.max() else own < other.min()
    # Both ends of both sets are looked at.
    if surely_absent(float(beyond.sum()), len(own), len(other), level / 4):
        return True
    middle = float(np.median(other))
    p = tail_p_values(np.array([abs(end - middle)]), np.abs(other - middle))[0]
    return bool(p * max(rows, len(own)) <= level / 4)


def _other_unit(a: Held, b: Held) -> float | None:
    """How many times as large B's values are, if mean and spread agree on it; else None."""
    if not (a.deviation > 0 and b.deviation > 0 and a.mean * b.mean > 0):
        return None
    spread, mean = b.deviation / a.deviation, b.mean / a.mean
    same = max(spread / mean, mean / spread) <= _SAME_RATIO
    far = mean >= OTHER_UNIT or mean <= 1 / OTHER_UNIT
    return math.sqrt(spread * mean) if same and far else None


def _constant_note(
    one: FeatureChange, values: tuple[Floats, Floats], at: LookedAt
) -> Iterator[QualityNote]:
    names = at.names
    still = [held.constant for held in (one.a, one.b)]
    side = 0 if still[0] else 1
    if still == [True, True] and one.a.low != one.b.low:
        text = later("{name} is {x} in every row of {a} and {y} in every row of {b}.")
    elif still[0] != still[1]:
        text = later("{name} is {x} in every row of {a}, but varies in {b}.")
    else:
        return
    # A value that is rare in one set is easily absent from the other.
    others = float(np.sum(values[1 - side] != (one.a if side == 0 else one.b).low))
    if surely_absent(others, len(values[1 - side]), len(values[side]), at.level):
        x, y = (_value(one, held.low) for held in ((one.a, one.b), (one.b, one.a))[side])
        said = say(text, name=quoted(one.name), x=x, y=y, a=names[side], b=names[1 - side])
        yield QualityNote("constant", one.name, said, True, one.a.deviation, one.b.deviation)


def _value(one: FeatureChange, value: float) -> str:
    """A value as the user wrote it: dates as dates, truth values as words."""
    return truth(one.level, bool(value)) if one.kind == "boolean" else value_text(value, one.kind)
