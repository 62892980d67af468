"""Values that many rows share: a value more frequent in one set, and values that are rounded.

A zero that stands for "unknown" in one row of twenty hardly moves a mean or a rank, but it is
never there by chance. So two more tests ask of a column of numbers, by Fisher's exact test:

- **value**: does any value that at least five rows have occur as often in B as in A?
- **rounding**: are as many values multiples of 10, 5, 2.5, 2, 1, 0.5, …?

What is asked depends on the values of both sets together, not on which set they are in, and counts
in the adjustment: the p-value is the smallest times the number of questions. So sets that do not
differ stay unnamed as often as with any other test. A value at an end of the range and apart from
all others, as -1 is among weights, is most likely to stand for something else: such values are
questions of their own, and have half of the level, so that 15 rows of 500 are enough.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan._tolerance import EXACT_MULTIPLE, WRITTEN_MULTIPLE
from cospan._types import Floats

from .twosample import log_fisher

#: A value that fewer rows have is nothing to test, and a unit that fewer rows (do not) have.
FEWEST_ROWS = 5
#: Exact tests of the values that stand out most: the others have larger p-values.
MOST_EXACT = 8
#: A value stands out if it is so many times as frequent as those beside it.
STANDS_OUT = 2
#: Units whose multiples are looked at: these times powers of ten, from a ten-thousandth of the
#: range that 90 % of the rows are in: finer rounding is a matter of how a file was written.
_UNITS, _POWERS, _FINEST, _TAIL = (1, 2, 2.5, 5), range(-9, 10), 1e-4, 0.05


class Frequency(NamedTuple):
    """How often something holds in A and in B, as shares of the rows with a value.

    `value` is the value itself, or the unit whose multiples are counted; `counted` says for A and
    for B whether the share is that of all rows, not of a sample; `clear`, whether a value stands
    out from the next lower and the next higher one, by its frequency or far from them.
    """

    value: float
    a: float
    b: float
    counted: tuple[bool, bool] = (True, True)
    clear: bool = True


class Repeats(NamedTuple):
    """Log p-values by test, and what is behind each; `two`: the only values, where there are two.

    A column in which nothing repeats has no such tests.
    """

    tests: dict[str, float]
    spike: Frequency | None = None
    grain: Frequency | None = None
    two: tuple[float, float] | None = None


def repeats_in(a: Floats, b: Floats, *, units: bool) -> Repeats:
    """Look for shared values in one column; `units`: also for rounding.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(50, 9, 1000), rng.normal(50, 9, 1000)
    >>> b[:40] = 0
    >>> found = repeats_in(a, b, units=True)
    >>> found.spike, found.tests["value"] < -20
    (Frequency(value=0.0, a=0.0, b=0.04, counted=(True, True), clear=True), True)
    """
    if min(len(a), len(b)) < 2:
        return Repeats({})
    values, total = np.unique(np.concatenate([a, b]), return_counts=True)
    if len(values) == len(a) + len(b) or len(values) < 2:
        return Repeats({})
    in_a = np.diff(np.searchsorted(np.sort(a), values, side="right"), prepend=0)
    if len(values) == 2:
        return Repeats({}, two=(float(values[0]), float(values[1])))
    sizes = len(a), len(b)
    tests: dict[str, float] = {}
    apart = _apart(values, total)
    tests["value"], spike = _strongest(values, in_a, total, sizes, apart)
    if spike is not None:
        clear = apart[values == spike.value][0] or _stands_out(spike, values, in_a, total)
        spike = spike._replace(clear=bool(clear))
    grain = None
    if units:
        tests["rounding"], grain = _rounding(values, in_a, total, sizes)
    return Repeats({k: v for k, v in tests.items() if not math.isnan(v)}, spike, grain)


def _apart(values: Floats, total: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether an end is farther from the next value than any in the middle 90 % of the others."""
    inner, found = total.copy(), np.zeros(len(values), dtype=bool)
    inner[[0, -1]] = 0
    upto = np.cumsum(inner) / max(1, inner.sum())
    low, high = np.searchsorted(upto, [_TAIL, 1 - _TAIL])
    gaps = np.diff(values / 2)  # large ones overflow
    if high > low:
        found[[0, -1]] = gaps[[0, -1]] > gaps[low:high].max()
    return found


def _stands_out(
    spike: Frequency, values: Floats, in_a: NDArray[np.intp], total: NDArray[np.intp]
) -> bool:
    counts = total - in_a if spike.b > spike.a else in_a
    at = int(np.searchsorted(values, spike.value))
    beside = np.append(counts[max(0, at - 1) : at], counts[at + 1 : at + 2])
    return bool(counts[at] >= STANDS_OUT * beside.max())


def _rounding(
    values: Floats, in_a: NDArray[np.intp], total: NDArray[np.intp], sizes: tuple[int, int]
) -> tuple[float, Frequency | None]:
    """Whether as many values are multiples of a unit; 0 is one of every unit, and left aside."""
    there = values != 0
    zeros = int(in_a[~there].sum()), int((total - in_a)[~there].sum())
    known = sizes[0] - zeros[0], sizes[1] - zeros[1]
    if min(known) < 2:
        return math.nan, None
    units = _multiples(values[there], in_a[there], total[there], 2 if there.all() else 1)
    log_p, grain = _strongest(*units, known)
    if grain is None:
        return log_p, None
    shares = [
        (share * n + zero) / size
        for share, n, zero, size in zip((grain.a, grain.b), known, zeros, sizes, strict=True)
    ]
    return log_p, Frequency(grain.value, shares[0], shares[1])


def _strongest(
    values: Floats,
    in_a: NDArray[np.intp],
    total: NDArray[np.intp],
    sizes: tuple[int, int],
    ahead: NDArray[np.bool_] | None = None,
) -> tuple[float, Frequency | None]:
    """The smallest p-value, for as many as are tested, and what it is of; NaN without a test.

    Those `ahead` have half of the level among themselves, the others the other half.
    """
    n = sum(sizes)
    asked = (total >= FEWEST_ROWS) & (n - total >= FEWEST_ROWS)
    if not asked.any():
        return math.nan, None
    own = np.zeros(np.count_nonzero(asked), bool) if ahead is None else ahead[asked]
    values, in_a, total = values[asked], in_a[asked], total[asked]
    times = np.where(own, own.sum(), (~own).sum()) * len(np.unique(own))
    share = total / n
    away = np.abs(in_a - share * sizes[0]) / np.sqrt(share * (1 - share))
    away[own] = np.inf
    first = np.argsort(-away, kind="stable")[:MOST_EXACT]
    log_p = log_fisher(in_a[first], sizes[0], (total - in_a)[first], sizes[1])
    log_p += np.log(times[first])
    best = first[int(np.argmin(log_p))]
    shares = in_a[best] / sizes[0], (total - in_a)[best] / sizes[1]
    found = Frequency(float(values[best]), float(shares[0]), float(shares[1]))
    return min(0.0, float(log_p.min())), found


def _multiples(
    values: Floats, in_a: NDArray[np.intp], total: NDArray[np.intp], least: int
) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """Units with at least so many multiples, and how many rows of A and of both are such.

    A unit with a single multiple is a matter of that value, and so is one with all others. The
    coarsest comes first: it is the one to name where several have the same multiples.
    """
    rows = []
    upto = np.cumsum(total) / total.sum()
    low, high = values[np.searchsorted(upto, [_TAIL, 1 - _TAIL])] / 2  # large ones overflow
    for first in _UNITS:
        for unit in (float(f"{first}e{power}") for power in _POWERS):
            if unit < 2 * _FINEST * (high - low):
                continue
            is_multiple = multiples(values, unit)
            kinds = int(is_multiple.sum())
            if kinds >= len(values) - 1:
                continue
            if kinds < least:  # nor is there a multiple of ten times as much
                break
            rows.append((unit, int(in_a[is_multiple].sum()), int(total[is_multiple].sum())))
    found = np.array(sorted(rows, reverse=True), dtype=np.float64).reshape(-1, 3)
    return found[:, 0], found[:, 1].astype(np.intp), found[:, 2].astype(np.intp)


def multiples(values: Floats, unit: float) -> NDArray[np.bool_]:
    """Which values are multiples of a unit, but for rounding in float64 or float32.

    Examples
    --------
    >>> multiples(np.array([0.3, 0.35, 120.0, np.float32(0.7)]), 0.1).tolist()
    [True, False, True, True]
    """
    # A unit below 1 may be no binary number: multiply by its inverse, which is a whole number.
    with np.errstate(over="ignore", invalid="ignore"):
        times = values / unit if unit >= 1 else values * round(1 / unit)
        size = np.abs(times)
        near = np.minimum(WRITTEN_MULTIPLE[0] * size, WRITTEN_MULTIPLE[1]) + EXACT_MULTIPLE * size
        return np.asarray(np.abs(times - np.round(times)) <= near)
