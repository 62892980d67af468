"""What changed, as data: one finding for each column to blame, with its values in the user's units.

A finding says what kind of change it is, in which column, with which other column or level, what
the value was in A and is in B, how large that is, and how sure. Sentences are made elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from cospan.base.tolerance import LEAST_VARIANCE
from cospan.base.types import Floats

from .blame import KOLMOGOROV, Blamed, blamed_columns
from .functions import OWN, PAIR, SHARES, Function, Reading, RowFunctions, deviation, multiples
from .repeats import IN_BOTH, Repeated, repeated_rows
from .test import LEVEL, SQUARE, Evidence, Labellings, share_z, weigh

#: Rows of a set behind the labellings; differences of single columns are those of all rows.
SAMPLE = 2_500
#: Another unit or zero: the sets' Kolmogorov-Smirnov distance is at least this, and vanishes with a
#: factor that is at least so far from 1, or with an offset; Celsius and Fahrenheit have both.
APART, FACTOR, FAHRENHEIT = 0.5, 1.5, (1.8, 32.0)
#: Ratios of units in use: of tens, times, lengths and weights; a factor near one of them is it.
UNITS = [
    sign
    for ratio in (*(10.0**k for k in range(1, 10)), 7, 12, 24, 60, 3600, 86400, 1.609344, 2.20462,
                  2.54, 3.28084, 4.184, 28.3495, 453.592)
    for sign in (ratio, 1 / ratio)
]  # fmt: skip
#: Columns that a mean is adjusted for, those that say most about it.
MOST_GIVEN = 50
#: Where the first relabellings show nothing, with a p-value above this, they are all there are: a
#: p-value of at most 0.05 is still one of all. They are not asked where any |z| is beyond the last.
FIRST, NOTHING, CLEARLY = 199, 0.1, 5.0
#: The power of what would have been seen, and the least spread of a share that it counts with.
POWER, LEAST_SHARE = 0.8, 0.1
#: With fewer rows in a set, or relabellings, no p-value can be at most 0.05.
FEWEST_ROWS, FEWEST_LABELLINGS = 4, 19


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


class Smallest(NamedTuple):
    """The smallest changes of a column that would have been seen in four of five such comparisons.

    `mean` is in the column's units and `deviations` in its standard deviations (NaN for
    categories), `share` that of its most frequent level or of missing values, `relation` a
    difference of correlations with another column.
    """

    mean: float
    deviations: float
    share: float
    relation: float


@dataclass(frozen=True)
class Found:
    """What a comparison of two sets has as evidence."""

    p: float  # of "both sets come from one distribution"
    smallest: float  # p-value there can be
    rows: tuple[int, int]  # behind the p-value
    n_permutations: int  # relabellings behind it
    findings: tuple[Finding, ...]  # repeated rows first, then columns to blame, the clearest first
    order: tuple[str, ...]  # all columns, the most suspicious first
    column_p: dict[str, float]  # each column's own p-value, adjusted
    evidence: Evidence
    functions: RowFunctions
    seen: dict[str, Smallest]  # of each column, the smallest change that would have been seen

    @property
    def differs(self) -> bool:
        return self.p <= LEVEL


def find(
    names: Sequence[str],
    a: Sequence[Reading],
    b: Sequence[Reading],
    *,
    permutations: int = 999,
    seed: int = 0,
    groups: NDArray[Any] | None = None,
    keys: NDArray[np.uint64] | None = None,
    known: Mapping[Function, float] | None = None,
) -> Found:
    """Find what differs between two sets of rows, read in the same way.

    `groups` are labels of rows that belong together (A's rows, then B's); `keys` tell rows apart
    that the readings do not, such as texts. `known` has z of some functions over more rows than
    those at hand.
    """
    n = len(a[0].values), len(b[0].values)
    features = [[one for one in side if one.related] for side in (a, b)]
    repeated = repeated_rows(features[0], features[1], keys, permutations, seed)
    kept = repeated.kept_a, repeated.kept_b
    if min(map(len, kept)) < FEWEST_ROWS:  # hardly anything but copies
        kept = np.arange(n[0]), np.arange(n[1])
    rng = np.random.default_rng(seed)
    drawn = [
        rows if len(rows) <= SAMPLE else np.sort(rng.choice(rows, SAMPLE, replace=False))
        for rows in kept
    ]
    pooled = [
        one._replace(values=np.concatenate([one.values[drawn[0]], other.values[drawn[1]]]))
        for one, other in zip(a, b, strict=True)
    ]
    functions = RowFunctions.learn(names, pooled)
    if groups is not None:
        groups = np.unique(groups, return_inverse=True)[1]
        groups = np.concatenate([groups[: n[0]][drawn[0]], groups[n[0] :][drawn[1]]])
    sizes = len(drawn[0]), len(drawn[1])
    values = _taken(a, kept[0]), _taken(b, kept[1])
    over_all = _of_all_rows(functions, *values)
    observed = None
    if sizes != tuple(map(len, kept)) and groups is None:
        observed = over_all
    if known and not repeated.findings and groups is None:
        observed = {**(observed or {}), **known}
    clear = max(map(abs, (observed or over_all).values()), default=0.0) > CLEARLY
    counts = [FIRST, permutations] if permutations > FIRST and not clear else [permutations]
    for permutations in counts:
        labellings = Labellings.draw(*sizes, permutations, seed, groups)
        evidence = weigh(functions, labellings, observed)
        if evidence.p > NOTHING:
            break
    blamed, order = blamed_columns(functions, evidence, sizes[0])
    found = [_finding(one, functions, values, sizes) for one in blamed]
    p = evidence.p
    if any(where != IN_BOTH for where, _, _ in repeated.findings):  # else the sets are only alike
        p = min(p, 3 / (permutations + 1))
    return Found(
        p, evidence.smallest, sizes, permutations,
        (*repeated_findings(repeated, permutations, n), *found),
        tuple(functions.names[k] for k in order), _column_p(functions, evidence), evidence,
        functions, smallest_seen(functions, evidence, values, sizes),
    )  # fmt: skip


def _taken(readings: Sequence[Reading], rows: NDArray[np.intp]) -> list[Reading]:
    return [one._replace(values=one.values[rows]) for one in readings]


def _of_all_rows(
    functions: RowFunctions, a: Sequence[Reading], b: Sequence[Reading]
) -> dict[Function, float]:
    """z of the columns' own functions over all rows."""
    names, (n_a, sum_a, square_a) = functions.own_sums(a)
    _, (n_b, sum_b, square_b) = functions.own_sums(b)
    n = np.maximum(n_a + n_b, 1)
    variance = np.maximum((square_a + square_b) / n - ((sum_a + sum_b) / n) ** 2, LEAST_VARIANCE)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (sum_a / n_a - sum_b / n_b) * np.sqrt(n_a * n_b / n / variance)
    z = np.nan_to_num(z, posinf=0.0, neginf=0.0)
    for k, function in enumerate(names):
        if function.kind in SHARES:
            z[k] = share_z(sum_a[k], n_a[k], sum_b[k], n_b[k], float(z[k]))
    return dict(zip(names, z.tolist(), strict=True))


def _column_p(functions: RowFunctions, evidence: Evidence) -> dict[str, float]:
    """The adjusted p-value of each column by itself; 1 where it says nothing."""
    found = dict.fromkeys(functions.names, 1.0)
    for k in np.flatnonzero(evidence.family == OWN):
        found[functions.names[evidence.first[k]]] = float(evidence.adjusted[k])
    return found


def smallest_seen(
    functions: RowFunctions,
    evidence: Evidence,
    values: tuple[list[Reading], list[Reading]],
    sizes: tuple[int, int],
) -> dict[str, Smallest]:
    """What would have been seen with a power of 80 %, from the spread of each column."""
    d = len(functions.names)
    needed = np.full((3, d), math.nan)
    np.fmin.at(needed, (evidence.family, evidence.first), evidence.needed)
    paired = evidence.second >= 0
    np.fmin.at(needed[PAIR], evidence.second[paired], evidence.needed[paired])
    needed += special.ndtri(POWER)
    found = dict.fromkeys(functions.names, Smallest(*[math.nan] * 4))
    related = needed[PAIR] * math.sqrt(sum(sizes) / (sizes[0] * sizes[1]))
    for x, y in zip(*values, strict=True):
        name = functions.names[x.column]
        both = np.concatenate([x.values, y.values])
        gaps = np.isnan(both)
        known = both[~gaps]
        if not math.isnan(found[name].share) or not len(known):
            continue
        error = needed[OWN, x.column] * math.sqrt(len(both) / (len(x.values) * len(y.values)))
        share = float(gaps.mean())
        if x.levels is not None:
            share = float(np.unique(known, return_counts=True)[1].max() / len(both))
        share = min(1.0, error * max(math.sqrt(share * (1 - share)), LEAST_SHARE))
        mean = math.nan if x.levels is not None else error * deviation(known)
        step = math.nan if x.levels is not None else error
        relation = min(float(related[x.column]), 2.0)
        found[name] = Smallest(float(mean), float(step), float(share), relation)
    return found


def repeated_findings(
    repeated: Repeated, permutations: int, rows: tuple[int, int]
) -> tuple[Finding, ...]:
    """Rows repeated beyond chance: within A, within B, and in both."""
    return tuple(
        Finding(
            "repeated rows", detail=where, a=float(count), b=math.nan, z=z,
            p=3 / (permutations + 1), rows=sum(rows),
        )
        for where, count, z in repeated.findings
    )  # fmt: skip


def _finding(
    one: Blamed,
    functions: RowFunctions,
    values: tuple[list[Reading], list[Reading]],
    sizes: tuple[int, int],
) -> Finding:
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


def _inside(readings: list[Reading], column: int, level: str) -> list[Reading]:
    """The rows with one level of a column."""
    own = _reading(readings, column, "")
    return _taken(readings, np.flatnonzero(own.values == (own.levels or ()).index(level)))


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
    if min(spread) == 0 or limit > APART or stats.ks_2samp(x, y).statistic < APART:
        return None
    c, d = FAHRENHEIT
    means = float(x.mean()), float(y.mean())
    found = [(1.0, means[1] - means[0]), (c, d), (1 / c, -d / c)]
    ratio = means[1] / means[0] if means[0] else 0.0
    if max(ratio, 1 / ratio if ratio > 0 else 0.0) >= FACTOR:
        off = [(s / m) ** 2 / n for s, m, n in zip(spread, means, map(len, (x, y)), strict=True)]
        known = min(UNITS, key=lambda unit: abs(math.log(unit / ratio)))
        found.append(
            (known if abs(math.log(known / ratio)) < 3 * math.sqrt(sum(off)) else ratio, 0.0)
        )
    near = [(stats.ks_2samp(f * x + add, y).statistic, f, add) for f, add in found]
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
