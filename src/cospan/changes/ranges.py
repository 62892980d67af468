"""Values of one column: constant in one set, beyond the other's range, in another unit."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from cospan._numbers import number
from cospan._tails import tail_p_values
from cospan._tolerance import AS_WRITTEN
from cospan._types import Floats

from .columns import FeatureChange
from .grouping import Column, Profiles, having
from .notes import LookedAt, QualityNote, surely_absent
from .wording import quoted, truth, value_text

#: A set leaves the other's range when it goes beyond it by half of it, and by more than the
#: other's tail would have it.
BEYOND = 0.5
#: Values that are all this many times those of the other set have another unit.
OTHER_UNIT = 5.0
#: Fewer times only if they are known up to a twentieth, and are those of two units that are in
#: use: miles, pounds, inches, feet, gallons. The others make 59.7 times 60, and 988 times 1,000.
_SURELY, _IN_USE = 1.05, (1.609344, 2.204623, 2.54, 3.28084, 3.785412)
_UNITS = np.array((*_IN_USE, 7, 12, 24, 30.48, 60, 365.25, 3600, *(10.0**k for k in range(1, 13))))
#: Quantiles that must agree on it, within so many standard errors of A and of B; fewest rows.
_QUANTILES, _ERRORS, _FEWEST_ROWS = np.array([0.1, 0.25, 0.5, 0.75, 0.9]), 2.0, 20


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
    unit = other_unit(*values, alone=at.alone) if one.changed else None
    if unit is not None:
        larger, smaller = (names[1], names[0]) if unit > 1 else (names[0], names[1])
        times = unit if unit > 1 else 1 / unit
        text = "{name} is about {x} times as large in {a} as in {b}: perhaps another unit."
        said = text.format(name=quoted(one.name), x=number(times), a=larger, b=smaller)
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
            text = "{name} goes to {end} in {x}; in {y} it stays between {low} and {high}."
            known = {"low": number(other.low), "high": number(other.high), "end": number(end)}
            said = text.format(name=quoted(one.name), x=names[side], y=names[1 - side], **known)
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


def other_unit(a: Floats, b: Floats, *, alone: bool = True) -> float | None:
    """How many times as large B's values are, if all quantiles agree on it; else None.

    `alone`: hardly any other column changed. Else a few times may be what the sets differ in.

    >>> km = np.random.default_rng(0).gamma(2, 3, 4000)
    >>> other_unit(km[:2000], 1000 * km[2000:]), other_unit(km[:2000], km[2000:] ** 4)
    (1000.0, None)
    """
    a, b = (np.abs(x[x != 0]) for x in (a, b))
    if min(len(a), len(b)) < _FEWEST_ROWS:
        return None
    ends = []
    for x in (a, b):
        error = _ERRORS * np.sqrt(_QUANTILES * (1 - _QUANTILES) / len(x))
        at = np.clip(np.stack([_QUANTILES - error, _QUANTILES + error]), 0.0, 1.0)
        ends.append(np.log(np.quantile(x, at)))
    least = (ends[1][0] - ends[0][1]).max() - AS_WRITTEN
    most = (ends[1][1] - ends[0][0]).min() + AS_WRITTEN
    middle = (least + most) / 2
    nearest = float(_UNITS[np.argmin(np.abs(np.log(_UNITS) - abs(middle)))])
    known = nearest if middle > 0 else 1 / nearest
    is_known = least <= math.log(known) <= most
    far = min(abs(least), abs(most)) >= math.log(OTHER_UNIT)
    sure = alone and is_known and most - least <= 2 * math.log(_SURELY)
    if least > most or not (far or sure):
        return None
    return known if is_known else math.exp(middle)


def _constant_note(
    one: FeatureChange, values: tuple[Floats, Floats], at: LookedAt
) -> Iterator[QualityNote]:
    names = at.names
    still = [held.constant for held in (one.a, one.b)]
    side = 0 if still[0] else 1
    if still == [True, True] and one.a.low != one.b.low:
        text = "{name} is {x} in every row of {a} and {y} in every row of {b}."
    elif still[0] != still[1]:
        text = "{name} is {x} in every row of {a}, but varies in {b}."
    else:
        return
    # A value that is rare in one set is easily absent from the other.
    others = float(np.sum(values[1 - side] != (one.a if side == 0 else one.b).low))
    if surely_absent(others, len(values[1 - side]), len(values[side]), at.level):
        x, y = (_value(one, held.low) for held in ((one.a, one.b), (one.b, one.a))[side])
        said = text.format(name=quoted(one.name), x=x, y=y, a=names[side], b=names[1 - side])
        yield QualityNote("constant", one.name, said, True, one.a.deviation, one.b.deviation)


def _value(one: FeatureChange, value: float) -> str:
    """A value as the user wrote it: dates as dates, truth values as words."""
    return truth(one.level, bool(value)) if one.kind == "boolean" else value_text(value, one.kind)
