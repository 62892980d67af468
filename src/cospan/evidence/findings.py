"""What changed, as data: one finding for each column to blame, with its values in the user's units.

A finding says what kind of change it is, in which column, with which other column or level, what
the value was in A and is in B, how large that is, and how sure. Sentences are made elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.types import Floats

from .blame import KOLMOGOROV, Blamed
from .functions import OWN, Function, Reading, RowFunctions, deviation, kolmogorov, multiples
from .test import SQUARE

#: Another unit or zero: the sets' Kolmogorov-Smirnov distance is at least this, and vanishes with a
#: factor beyond this, or a known one that is as sure, or with an offset of as many standard
#: deviations; Celsius and Fahrenheit have both.
APART, FACTOR, SURE, OFFSET, FAHRENHEIT = 0.5, 5.0, 0.01, 6.0, (1.8, 32.0)
#: Ratios of units in use: of tens, times, lengths and weights; a factor near one of them is it.
UNITS = [
    sign
    for ratio in (*(10.0**k for k in range(1, 10)), 7, 12, 24, 60, 3600, 86400, 1.609344, 2.20462,
                  2.54, 3.28084, 4.184, 28.3495, 453.592)
    for sign in (ratio, 1 / ratio)
]  # fmt: skip
#: Columns that a mean is adjusted for, those that say most about it.
MOST_GIVEN = 50


@dataclass(frozen=True)
class Finding:
    """One thing that changed.

    Attributes
    ----------
    kind : str
        ``"mean"``, ``"spread"``, ``"shape"``, ``"level"``, ``"value"``, ``"missing"``,
        ``"rounding"``, ``"text"`` (written differently); ``"given"`` (moved against the other
        columns), ``"scatter"`` (they predict it less, or better), ``"identity"`` (a rule that held
        is broken),
        ``"relation"``, ``"inside"`` (a number in the rows of one level), ``"copy"``, ``"swap"``,
        ``"repeated rows"``, and what the data room finds: ``"only in"``, ``"renamed"``,
        ``"retyped"``, ``"lacking"``, ``"absurd"``.
    column, second : str
        The user's column, and the other one where there are two.
    detail : str
        A level, a value, a step.
    part : str
        The part of the column: ``"length"`` or ``"digits"`` of a text, ``"weekday"`` of a date,
        the place in a vector.
    a, b : float
        The value in A and in B, in the user's units or as a share; NaN where there is none.
    effect : float
        Its size: of means in standard deviations, of shares Cohen's h, of correlations Fisher's
        z, of spreads the logarithm of their ratio.
    z, p : float
        How sure it is: z of the function behind it, and the p-value adjusted over all columns.
    rows : int
        The rows behind it.
    where : (str, str) or None
        The column and level that it is confined to.
    unit : (float, float) or None
        Where all values of B are those of A in another unit or from another zero: the factor and
        what is added.
    beyond : float
        The share of B's values that are outside the range of A's; NaN where that does not apply.
    """

    kind: str
    column: str = ""
    second: str = ""
    detail: str = ""
    a: float = math.nan
    b: float = math.nan
    effect: float = math.nan
    z: float = math.nan
    p: float = math.nan
    rows: int = 0
    where: tuple[str, str] | None = None
    part: str = ""
    unit: tuple[float, float] | None = None
    beyond: float = math.nan

    def to_dict(self) -> dict[str, Any]:
        """Plain types only; what does not apply is None."""
        found: dict[str, Any] = dict(vars(self))
        for name, value in found.items():
            if isinstance(value, float) and not math.isfinite(value):
                found[name] = None
        for name in ("where", "unit"):
            found[name] = None if found[name] is None else list(found[name])
        return found


def described(
    one: Blamed,
    functions: RowFunctions,
    values: tuple[list[Reading], list[Reading]],
    sizes: tuple[int, int],
) -> Finding:
    """What a column to blame was in A and is in B."""
    names, function = functions.names, one.function
    where = None if one.where is None else (names[one.where[0]], one.where[1])
    base = Finding("", names[one.column], z=one.z, p=one.p, rows=sum(sizes), where=where)
    if one.swapped_with is not None:
        return replace(base, kind="swap", second=names[one.swapped_with])
    if one.copy_of is not None:
        second, a, b = one.copy_of
        return replace(base, kind="copy", second=names[second], a=a, b=b, effect=cohen(a, b))
    if function.family == OWN:
        if one.where is not None:
            values = _inside(values[0], *one.where), _inside(values[1], *one.where)
        rows = sum(len(part[0].values) for part in values)
        return replace(_by_itself(base, function, one.column, values), rows=rows)
    return _with_others(base, function, one.column, functions, sizes[0])


def taken(readings: Sequence[Reading], rows: NDArray[np.intp]) -> list[Reading]:
    """Some of the rows."""
    return [one._replace(values=one.values[rows]) for one in readings]


def _inside(readings: list[Reading], column: int, level: str) -> list[Reading]:
    """The rows with one level of a column."""
    own = _reading(readings, column, "")
    return taken(readings, np.flatnonzero(own.values == (own.levels or ()).index(level)))


def _by_itself(
    base: Finding,
    function: Function,
    column: int,
    values: tuple[list[Reading], list[Reading]],
) -> Finding:
    kind, detail = function.kind, function.detail
    first, second = (_reading(side, column, function.part) for side in values)
    x, y = first.values, second.values
    if kind == "missing":
        return _shares(base, "missing", "", np.isnan(x), np.isnan(y))
    base = replace(base, part=function.part)
    x, y = x[~np.isnan(x)], y[~np.isnan(y)]
    if kind == "level":
        if detail == "other":
            return replace(base, kind="level", detail="other")
        code = (first.levels or ()).index(str(detail))
        return _shares(base, "level", str(detail), x == code, y == code)
    a, b = deviation(x), deviation(y)
    unit = math.hypot(a, b) / math.sqrt(2)
    step = float(y.mean() - x.mean())
    mean = replace(
        base, kind="mean", a=float(x.mean()), b=float(y.mean()),
        effect=step / unit if unit else math.copysign(math.inf, step),
    )  # fmt: skip
    if not first.related:
        return replace(mean, kind="text")
    if kind == "value":
        return _shares(base, "value", f"{detail!r}", x == detail, y == detail)
    if kind == "rounding":
        whole = (multiples(v, float(detail)) for v in (x, y))
        return _shares(base, "rounding", f"{detail:g}", *whole)
    if a > 0:
        base = replace(base, beyond=float(np.mean((y < x.min()) | (y > x.max()))))
    other = another_unit(x, y)
    if kind == "mean" or other is not None:
        return replace(mean, beyond=base.beyond, unit=other)
    if kind == "spread":
        ratio = math.log(b / a) if a > 0 and b > 0 else math.copysign(math.inf, b - a)
        return replace(base, kind="spread", a=a, b=b, effect=ratio)
    at = _farthest(x, y)
    return _shares(base, "shape", f"{at!r}", x <= at, y <= at)


def another_unit(x: Floats, y: Floats) -> tuple[float, float] | None:
    """Factor and offset that make y of x throughout; None where these say less than the means.

    >>> x = np.random.default_rng(0).gamma(9.0, size=800)
    >>> another_unit(x[:400], 1000 * x[400:])
    (1000.0, 0.0)
    >>> another_unit(x[:400], x[400:] + 1) is None
    True
    """
    limit = KOLMOGOROV * math.sqrt((len(x) + len(y)) / (len(x) * len(y)))
    spread = deviation(x), deviation(y)
    if min(spread) == 0 or limit > APART or kolmogorov(x, y) < APART:
        return None
    c, d = FAHRENHEIT
    means = float(x.mean()), float(y.mean())
    found = [(c, d), (1 / c, -d / c)]
    if abs(means[1] - means[0]) > OFFSET * max(spread):
        found.append((1.0, means[1] - means[0]))
    ratio = means[1] / means[0] if means[0] else 0.0
    if ratio > 0:
        off = [(s / m) ** 2 / n for s, m, n in zip(spread, means, map(len, (x, y)), strict=True)]
        error = math.sqrt(sum(off))
        known = min(UNITS, key=lambda unit: abs(math.log(unit / ratio)))
        near_it = abs(math.log(known / ratio)) < 3 * error
        if abs(math.log(ratio)) > math.log(FACTOR) or (near_it and error < SURE):
            found.append((known if near_it else ratio, 0.0))
    near = [(kolmogorov(f * x + add, y), f, add) for f, add in found]
    distance, factor, offset = min(near)
    return (factor, offset) if distance < limit else None


def _reading(readings: Sequence[Reading], column: int, part: str) -> Reading:
    mine = [one for one in readings if one.column == column]
    return next((one for one in mine if one.part == part), mine[0])


def _shares(base: Finding, kind: str, detail: str, a: Any, b: Any) -> Finding:
    p, q = float(np.mean(a)) if len(a) else math.nan, float(np.mean(b)) if len(b) else math.nan
    return replace(base, kind=kind, detail=detail, a=p, b=q, effect=cohen(p, q))


def cohen(p: float, q: float) -> float:
    """Cohen's h: the difference of two shares on a scale where it has the same noise anywhere."""
    if math.isnan(p) or math.isnan(q):
        return math.nan
    p, q = (min(1.0, max(0.0, x)) for x in (p, q))
    return 2 * math.asin(math.sqrt(q)) - 2 * math.asin(math.sqrt(p))


def _farthest(x: Floats, y: Floats) -> float:
    """The value at which the two distributions differ most."""
    values = np.union1d(x, y)
    below = [np.searchsorted(np.sort(v), values, "right") / max(1, len(v)) for v in (x, y)]
    return float(values[np.argmax(np.abs(below[0] - below[1]))])


def _with_others(
    base: Finding, function: Function, column: int, functions: RowFunctions, n_a: int
) -> Finding:
    names, scores = functions.names, functions.scores
    second = function.second if function.column == column else function.column
    other = names[second] if function.second >= 0 else _companion(functions, column)
    base = replace(base, second=other, where=base.where)
    own = np.flatnonzero(scores.column == column)
    if function.kind == "relation":
        levels = function.detail
        places = [
            k
            for c, level in zip((function.column, function.second), levels, strict=True)
            for k in np.flatnonzero(scores.column == c)
            if scores.level[k] == ("" if level == SQUARE else level)
        ]
        x, y = (
            scores.values[:, k] ** (2 if lv == SQUARE else 1)
            for k, lv in zip(places, levels, strict=True)
        )
        r = [correlation(x[side], y[side]) for side in _sides(n_a)]
        return replace(
            base, kind="relation", a=r[0], b=r[1],
            detail=SQUARE if SQUARE in levels else " and ".join(filter(None, levels)),
            effect=_fisher(r[1]) - _fisher(r[0]),
        )  # fmt: skip
    if function.kind.endswith("inside"):
        number = _reading(functions.readings, function.column, "").values
        rows = next(
            r for c, level, r in functions.levels() if (c, level) == function[2:4]
        ) & ~np.isnan(number)
        means = [float(number[side][rows[side]].mean()) for side in _sides(n_a)]
        spread = float(number[rows].std()) or 1.0
        return replace(
            base, kind="inside", column=names[function.column], second=names[function.second],
            detail=str(function.detail), a=means[0], b=means[1],
            effect=(means[1] - means[0]) / spread,
        )  # fmt: skip
    if function.kind == "given" and any(not scores.level[k] for k in own):
        a, b, spread = _adjusted_means(functions, column, n_a)
        return replace(base, kind="given", a=a, b=b, effect=(b - a) / spread)
    every = np.ones(len(scores.column), dtype=bool)
    source = {"identity": functions.identities, "equal": functions.equal}
    shown = (
        source[function.kind]() if function.kind in source else functions.given(every, (column,))
    )
    values = next(values for one, values in shown if one == function)
    means = [float(np.mean(values[side])) for side in _sides(n_a)]
    kind = "copy" if function.kind == "equal" else function.kind
    spread = float(np.std(values)) or 1.0
    return replace(base, kind=kind, a=means[0], b=means[1], effect=(means[1] - means[0]) / spread)


def _adjusted_means(functions: RowFunctions, column: int, n_a: int) -> tuple[float, float, float]:
    """The means of a number in A and B if the other columns were alike, and what they leave open.

    By least squares on the other columns and the set.
    """
    y = _reading(functions.readings, column, "").values
    known = ~np.isnan(y)
    others = np.flatnonzero(functions.scores.column != column)
    strength = np.abs(functions.scores.correlation[functions.scores.column == column][:, others])
    others = others[np.argsort(-strength.max(axis=0), kind="stable")[:MOST_GIVEN]]
    in_b = np.arange(len(y)) >= n_a
    design = np.column_stack([functions.plain()[:, others], in_b, np.ones(len(y))])[known]
    fit = np.linalg.lstsq(design.astype(np.float64), y[known], rcond=None)[0]
    step, middle = float(fit[-2]), float(y[known].mean())
    a = middle - step * float(in_b[known].mean())
    return a, a + step, float(np.std(y[known] - design @ fit)) or 1.0


def correlation(x: NDArray[np.floating], y: NDArray[np.floating]) -> float:
    """Of two columns; 0 where one does not vary."""
    x, y = x - x.mean(), y - y.mean()
    size = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / size if size else 0.0


def _fisher(r: float) -> float:
    return math.atanh(min(max(r, -0.999), 0.999))


def _sides(n_a: int) -> tuple[slice, slice]:
    return slice(None, n_a), slice(n_a, None)


def _companion(functions: RowFunctions, column: int) -> str:
    """The column that says most about this one."""
    own = functions.scores.column == column
    if own.all() or not own.any():
        return ""
    strength = np.abs(functions.scores.correlation[own][:, ~own]).max(axis=0)
    return functions.names[int(functions.scores.column[~own][np.argmax(strength)])]
