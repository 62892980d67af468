"""In which ways a column changed: the words for it, several where several are sure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cospan._tolerance import ALIGNED_DECIMALS, NOT_ZERO
from cospan._types import Floats

from .frequencies import values_of
from .grouping import Rows, present
from .measuring import Held, Measured, cohen
from .repeats import Frequency
from .spreads import in_range, log_spreads
from .twosample import compare_ordered

#: A mean or a spread names the change if its p-value is at most this, and it changed by at least
#: this many standard deviations, or by this factor less 1.
SURELY, TRIFLE = 0.001, 0.1
#: A set has a value hardly if so many times as frequently as the other one.
HARDLY = 0.1
#: A set with more multiples of a unit than this was rounded to it all along.
ROUNDED_BEFORE = 0.5
_OF_NUMBERS = ("mean", "spread", "shape", "value", "rounding")


class Ways(NamedTuple):
    """What changed in a column, a word for each.

    `others` is what the rows without a spike hold, where more changed than how often it occurs.
    """

    ways: tuple[str, ...] = ("none",)
    others: tuple[Held, Held] | None = None


def ways_of(
    measured: Sequence[Measured], tests: Sequence[dict[str, float]], changed: Any, rows: Rows
) -> list[Ways]:
    """What changed in each column; `tests` are logarithms of its p-values."""
    found = [Ways()] * len(measured)
    places = np.flatnonzero(changed).tolist()
    numbers = [i for i in places if "mean" in tests[i]]
    named = _named(measured, numbers, rows)
    for i in places:
        first = min(tests[i], key=lambda key: tests[i][key])
        named_so, others = _by_values(named.get(i, ()), tests[i], measured[i], rows)
        found[i] = Ways(_ways(first, named_so, tests[i], measured[i]), others)
    return found


def _named(
    measured: Sequence[Measured], numbers: Sequence[int], rows: Rows
) -> dict[int, tuple[str, ...]]:
    """What :func:`name_change` says of columns of numbers, by their places."""
    gaps = {i: [present(x, measured[i].column) for x in (rows.a, rows.b)] for i in numbers}
    complete = [i for i in numbers if gaps[i][0] is gaps[i][1] is None]
    named: dict[int, tuple[str, ...]] = {}
    if complete:
        places = [measured[i].place for i in complete]
        found = name_change(rows.a[:, places], rows.b[:, places])
        named.update(zip(complete, found, strict=True))
    for i in sorted(set(numbers) - set(complete)):
        a, b = (
            part[:, [measured[i].place]] if there is None else part[there][:, [measured[i].place]]
            for part, there in zip(rows[:2], gaps[i], strict=True)
        )
        if min(len(a), len(b)) > 1:
            named[i] = name_change(a, b)[0]
    return named


def _by_values(
    named: tuple[str, ...], tests: Mapping[str, float], one: Measured, rows: Rows
) -> tuple[tuple[str, ...], tuple[Held, Held] | None]:
    """The same words, or a spike or rounding in place of what these do to mean and spread."""
    if one.a.constant or one.b.constant:
        return named, None
    rounded = _is_rounded(one.grain, tests)
    if not rounded and (_is_strongest("value", one.spike, tests) or _is_sentinel(one, tests, rows)):
        return _beside_spike(one, rows)
    if not rounded and _explains(one, tests, rows):
        return ("value",), None
    if rounded or _is_strongest("rounding", one.grain, tests):
        sure = [x for x in ("mean", "spread") if tests[x] <= math.log(SURELY)]
        # A unit or an offset that changed makes other digits, too: it is the first thing to say.
        return (*(way for way in named if way in sure), "rounding"), None
    return named, None


def _is_strongest(test: str, of: Frequency | None, tests: Mapping[str, float]) -> bool:
    """Whether a column changed in this first of all, clearly or in nothing else."""
    if of is None or _strongest(tests) != test:
        return False
    others = min(tests[key] for key in ("mean", "spread", "shape"))
    return (abs(cohen(of.a, of.b)) >= TRIFLE and of.clear) or others > math.log(SURELY)


def _strongest(tests: Mapping[str, float]) -> str:
    return min((key for key in _OF_NUMBERS if key in tests), key=lambda key: tests[key])


def _is_rounded(of: Frequency | None, tests: Mapping[str, float]) -> bool:
    """Whether all values of one set are multiples of a unit, and hardly those of the other.

    Any value is more frequent then, and the mean may have moved; but that is why.
    """
    if of is None or tests["rounding"] > math.log(SURELY):
        return False
    return max(of.a, of.b) == 1 and min(of.a, of.b) <= ROUNDED_BEFORE


def _is_sentinel(one: Measured, tests: Mapping[str, float], rows: Rows) -> bool:
    """Whether a value stands for something else, as -999 does, and surely changed its share.

    It is farther from all others than most of these are from each other, so that no mean or
    spread with it says anything.
    """
    if one.spike is None or tests["value"] > math.log(SURELY):
        return False
    others = np.concatenate(values_of(one, rows))
    others = others[others != one.spike.value]
    low, high = np.quantile(others, [0.05, 0.95])
    return bool(np.abs(others - one.spike.value).min() > high - low > 0)


def _explains(one: Measured, tests: Mapping[str, float], rows: Rows) -> bool:
    """Whether a value is all that changed, so that the rows without it are alike.

    One that a set hardly has, or one that changed more surely than anything else.
    """
    of = one.spike
    if of is None or tests["value"] > math.log(SURELY):
        return False
    hardly = min(of.a, of.b) <= HARDLY * max(of.a, of.b)
    return (hardly or _strongest(tests) == "value") and _alike(*_others(of, one, rows))


def _others(of: Frequency, one: Measured, rows: Rows) -> tuple[Floats, Floats]:
    """The rows without a value, (n, 1)."""
    a, b = (x[x != of.value][:, np.newaxis] for x in values_of(one, rows))
    return a, b


def _alike(a: Floats, b: Floats) -> bool:
    """Whether nothing surely changed between these values; also where they are too few to say."""
    if min(len(a), len(b)) < 3:
        return True
    found = compare_ordered(a, b)
    log_p = min(float(x[0]) for x in (found.mean, found.spread, found.shape)) + math.log(3)
    return log_p > math.log(SURELY)


def _beside_spike(one: Measured, rows: Rows) -> tuple[tuple[str, ...], tuple[Held, Held] | None]:
    """How often a value occurs, and what changed in the rows without it, if surely any."""
    assert one.spike is not None
    a, b = _others(one.spike, one, rows)
    if _alike(a, b):
        return ("value",), None
    ways = [way for way in name_change(a, b)[0] if way != "shape"]
    if not ways:
        return ("value",), None
    held = [
        Held(0.0, float(x.mean()), float(x.std()), float(x.min()), float(x.max())) for x in (a, b)
    ]
    return ("value", *ways), (held[0], held[1])


def _ways(
    first: str, named: tuple[str, ...], tests: Mapping[str, float], one: Measured
) -> tuple[str, ...]:
    """In which ways a column changed: by its strongest test, and what else is as sure.

    `named` is what the values present say.
    """
    ways = named if first in _OF_NUMBERS and named else (first,)
    sure = {test for test, log_p in tests.items() if log_p <= math.log(SURELY)}
    more = [way for way in named if way != "shape" and way in sure]
    if "levels" in sure and abs(one.difference) >= TRIFLE:
        more.append("levels")
    if "missing" in sure and abs(cohen(one.a.missing, one.b.missing)) >= TRIFLE:
        more.append("missing")
    return (*ways, *(way for way in more if way not in ways))


def name_change(a: Floats, b: Floats) -> list[tuple[str, ...]]:
    """Whether the mean, the spread or the shape changed, for columns that did change.

    The mean and the spread where both surely did.

    The mean by Welch's test; the spread by the same test of distances from the own median; the
    shape by the largest gap that is left when both sets have their median taken off, and their
    spread too (of few different values the one, of many the other makes the sets agree).
    Where the mean or the spread surely changed, and by more than a trifle, they are named, even
    if the shape changed as well; else the strongest of the three.
    """
    a, b = in_range(a, b)
    mids = [np.median(x, axis=0) for x in (a, b)]
    away = [np.abs(x - mid) for x, mid in zip((a, b), mids, strict=True)]
    wide = [np.maximum(x.mean(axis=0), NOT_ZERO) for x in away]
    common = np.maximum(wide[0], wide[1])  # one set may not vary at all
    # Log p-values; of the mean, and where one set does not vary, about that strength.
    still = np.minimum(away[0].max(axis=0), away[1].max(axis=0)) == 0
    rough = -0.5 * _welch(away[0], away[1]) ** 2
    logs = np.stack(
        [
            -0.5 * _welch(a, b) ** 2,
            np.where(still, rough, log_spreads(a, b)),
            np.maximum(_gap_left(a, b, mids, [common] * 2), _gap_left(a, b, mids, wide)),
        ]
    )
    deviations = [np.maximum(x.std(axis=0), NOT_ZERO) for x in (a, b)]
    step = np.abs(b.mean(axis=0) - a.mean(axis=0)) / np.maximum(*deviations)
    sure = logs[:2] <= math.log(SURELY)
    sure &= np.stack([step >= TRIFLE, np.abs(np.log(deviations[1] / deviations[0])) >= TRIFLE])
    return [
        tuple(_OF_NUMBERS[i] for i in range(2) if of[i]) or (_OF_NUMBERS[int(np.argmin(own))],)
        for own, of in zip(logs.T, sure.T, strict=True)
    ]


def _gap_left(a: Floats, b: Floats, mids: Sequence[Floats], wide: Sequence[Floats]) -> Floats:
    """Log p-value of the largest gap between both sets, about these medians and in these units."""
    # Rounded, since values that were equal must stay so.
    aligned = [
        np.round((x - m) / w, ALIGNED_DECIMALS) for x, m, w in zip((a, b), mids, wide, strict=True)
    ]
    return compare_ordered(aligned[0], aligned[1]).gap


def _welch(a: Floats, b: Floats) -> Floats:
    error = a.var(axis=0) / len(a) + b.var(axis=0) / len(b)
    step = b.mean(axis=0) - a.mean(axis=0)
    floor = np.where(step == 0, 1.0, NOT_ZERO)
    return np.asarray(step / np.sqrt(np.maximum(error, floor)))
