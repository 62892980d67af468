"""What changed and what is odd, as data: findings, with their values in the user's units.

A finding says what kind of change it is, in which column, with which other column or level, what
the value was in A and is in B, how large that is, and how sure. Sentences are made elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cospan.base.tables import plain
from cospan.base.types import Bools, Floats, Record

from .blame import KOLMOGOROV, Blamed
from .columns import TEXT
from .functions import (
    OTHER,
    OWN,
    Function,
    Reading,
    RowFunctions,
    correlation,
    deviation,
    fisher_z,
    kolmogorov,
    multiples,
    sides,
)
from .test import SQUARE

if TYPE_CHECKING:
    from cospan.data import ColumnProfile, SetProfile

    from .verdict import FeatureChange, Table

#: What is so in both sets.
IN_BOTH = "in both"
#: Columns that a mean is adjusted for, those that say most about it.
MOST_GIVEN = 50
#: Another unit: the sets' Kolmogorov-Smirnov distance is at least this, and vanishes with a factor
#: whose logarithm is beyond the other.
APART, SCALED = 0.5, 1.6
#: Of a change of rounding the average is told where it moved by so many standard deviations, else
#: the spread where the logarithm of the ratio is this far from 0.
PLAIN = 0.25
#: A value is outlying that occurs so often, and is so many of the other set's ranges away from it.
AGAIN, OUTLYING = 3, 2.0
#: Levels of one set alone are noted where chance would give them less often.
BY_CHANCE = 0.001


@dataclass(frozen=True)
class Finding:
    """One thing that changed.

    The kinds are ``"mean"``, ``"spread"``, ``"shape"``, ``"level"``, ``"value"``, ``"missing"``,
    ``"rounding"``, ``"text"`` (written differently); ``"given"`` (moved against the other columns),
    ``"scatter"`` (they predict it less, or better), ``"identity"`` (a rule that held is broken),
    ``"relation"``, ``"inside"`` (a number in the rows of one level), ``"copy"``, ``"swap"``,
    ``"repeated rows"``; what the data room finds: ``"only in"``, ``"renamed"``, ``"retyped"``,
    ``"lacking"``, ``"absurd"``; and what is only odd, see `check_quality`.
    """

    kind: str
    column: str = ""  # the user's
    second: str = ""  # the other one where there are two
    #: A level (of a relation that of the second column), a value, a step; of a mean the factor
    #: where all values are multiplied, as in another unit
    detail: str = ""
    a: float = math.nan  # the value in A, in the user's units or as a share
    b: float = math.nan
    #: Its size: of means in standard deviations, of shares Cohen's h, of correlations Fisher's z,
    #: of spreads the logarithm of their ratio
    effect: float = math.nan
    z: float = math.nan  # of the function behind it
    p: float = math.nan  # adjusted over all columns
    rows: int = 0  # behind it
    where: tuple[str, str] | None = None  # the column and level that it is confined to
    #: Of the column: "length" or "digits" of a text, "weekday" of a date, a level in a relation
    part: str = ""
    beyond: float = math.nan  # the share of B's values that are outside the range of A's
    levels: tuple[str, ...] = ()  # that one set alone has; examples of A's writing and of B's
    #: What the sets are called, and the kind of the column: how it reads, not what it says
    sets: tuple[str, str] = field(default=("A", "B"), compare=False, repr=False)
    of: str = field(default="number", compare=False, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that changed: of swapped ones both."""
        both = (self.column, self.second) if self.kind == "swap" else (self.column,)
        return tuple(name for name in both if name)

    def __str__(self) -> str:
        from cospan.wording.findings import sentence

        return sentence(self, self.sets)

    def to_dict(self) -> Record:
        """Plain types only; what does not apply is None."""
        return dict(plain(self))


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
    if one.shares is not None:
        a, b = one.shares
        return replace(base, kind="copy", second=names[one.second], a=a, b=b, effect=cohen(a, b))
    if one.second >= 0:
        return replace(base, kind="swap", second=names[one.second])
    if function.family == OWN:
        if one.where is not None:  # the rows with this level, or value
            own = [_reading(part, one.where[0]) for part in values]
            levels = own[0].levels
            code = float(one.where[1]) if levels is None else levels.index(one.where[1])
            inside = [np.flatnonzero(part.values == code) for part in own]
            values = rows_taken(values[0], inside[0]), rows_taken(values[1], inside[1])
        rows = sum(len(part[0].values) for part in values)
        return replace(_by_itself(base, function, functions, values), rows=rows)
    if function.kind == "relation":
        return _relation(base, one.column, function, functions, sizes[0])
    if function.kind.endswith("inside"):
        return _inside_level(base, function, functions, sizes[0])
    return _given(base, one, functions, sizes[0])


def rows_taken(readings: Sequence[Reading], rows: NDArray[np.intp]) -> list[Reading]:
    """Some of the rows."""
    return [one._replace(values=one.values[rows]) for one in readings]


def _by_itself(
    base: Finding,
    function: Function,
    functions: RowFunctions,
    values: tuple[list[Reading], list[Reading]],
) -> Finding:
    kind, column, _, level, part, value, _ = function
    first, second = (_reading(side, column, part) for side in values)
    gaps = np.isnan(first.values), np.isnan(second.values)
    if kind == "missing" or any(there.all() for there in gaps):
        return _shares(base, "missing", "", *gaps)
    base = replace(base, part=part)
    x, y = first.values[~gaps[0]], second.values[~gaps[1]]
    margin = next(m for m in functions.margins if m.reading[:2] == (column, part))
    if kind == "level":
        codes = [code for code, name in margin.levels if level in (name, OTHER)]
        sets = zip((first, second), gaps, strict=True)
        there = (np.isin(v.values, codes, invert=level == OTHER) & ~gap for v, gap in sets)
        return _shares(base, "level", level, *there)
    a, b = deviation(x), deviation(y)
    unit = math.hypot(a, b) / math.sqrt(2)
    step = float(y.mean() - x.mean())
    mean = replace(
        base, kind="mean", a=float(x.mean()), b=float(y.mean()),
        effect=step / unit if unit else math.copysign(math.inf, step),
    )  # fmt: skip
    if not first.related:
        return replace(mean, kind="text")
    factor = _factor(x, y)
    if factor is None and kind == "value":
        return _shares(base, "value", f"{value!r}", first.values == value, second.values == value)
    ratio = math.log(b / a) if a > 0 and b > 0 else math.copysign(math.inf, b - a)
    if factor is None and kind == "rounding":
        kind = "mean" if abs(step) >= PLAIN * unit else "spread"
        if kind == "spread" and not PLAIN <= abs(ratio) < math.inf:
            whole = (multiples(v, value) for v in (x, y))
            return _shares(base, "rounding", f"{value:g}", *whole)
    if a > 0:
        base = replace(base, beyond=float(np.mean((y < x.min()) | (y > x.max()))))
    if factor is not None or kind == "mean" or abs(step) >= unit:
        detail = "" if factor is None else f"{factor!r}"
        return replace(mean, beyond=base.beyond, detail=detail)
    if kind == "spread":
        return replace(base, kind="spread", a=a, b=b, effect=ratio)
    at = kolmogorov(x, y)[1]
    if "end" in kind and not value:  # far out
        at = margin.far[kind == "high end"]
    return _shares(base, "shape", f"{at!r}", x <= at, y <= at)


def _factor(x: Floats, y: Floats) -> float | None:
    """How many times x is y throughout, as in another unit; None where that is not so."""
    spread = deviation(x), deviation(y)
    limit = KOLMOGOROV * math.sqrt((len(x) + len(y)) / (len(x) * len(y)))
    if min(spread) == 0 or limit > APART or kolmogorov(x, y)[0] < APART:
        return None
    ratio, middles = spread[1] / spread[0], (float(np.median(x)), float(np.median(y)))
    likely = [10.0 ** round(math.log10(ratio)), ratio]  # round ones first
    likely += [middles[1] / middles[0]] if middles[0] * middles[1] > 0 else []
    fitting = (one for one in likely if abs(math.log(one)) > SCALED)
    return next((one for one in fitting if kolmogorov(one * x, y)[0] < limit), None)


def _reading(readings: Sequence[Reading], column: int, part: str = "") -> Reading:
    mine = [one for one in readings if one.column == column]
    return next((one for one in mine if one.part == part), mine[0])


def _shares(base: Finding, kind: str, detail: str, a: Bools, b: Bools) -> Finding:
    p, q = float(np.mean(a)) if len(a) else math.nan, float(np.mean(b)) if len(b) else math.nan
    return replace(base, kind=kind, detail=detail, a=p, b=q, effect=cohen(p, q))


def cohen(p: float, q: float) -> float:
    """Cohen's h: the difference of two shares on a scale where it has the same noise anywhere."""
    if math.isnan(p) or math.isnan(q):
        return math.nan
    p, q = (min(1.0, max(0.0, x)) for x in (p, q))
    return 2 * math.asin(math.sqrt(q)) - 2 * math.asin(math.sqrt(p))


def _relation(
    base: Finding, column: int, function: Function, functions: RowFunctions, n_a: int
) -> Finding:
    """Rank correlations of two columns, or of levels of them."""
    ends = [(function.column, function.level), (function.second, function.second_level)]
    if function.second == column:
        ends.reverse()
    a, b = related(functions, ends, n_a)
    own, other = (level for _, level in ends)
    if own == SQUARE:
        own, other = other, own
    return replace(
        base, kind="relation", second=functions.names[ends[1][0]], a=a, b=b, part=own,
        detail=other, effect=fisher_z(b) - fisher_z(a),
    )  # fmt: skip


def related(
    functions: RowFunctions, ends: Sequence[tuple[int, str]], n_a: int, gaps: bool = False
) -> tuple[float, float]:
    """Rank correlations of two scores in A and in B, of rows without gaps or, filled, of all."""
    scores = functions.scores
    x, y = (scores.of(c, "") ** 2 if level == SQUARE else scores.of(c, level) for c, level in ends)
    numbers = [one.values for one in functions.readings if not gaps and (one.column, "") in ends]
    known = [~np.isnan(values) for values in numbers] or [np.ones(len(x), dtype=bool)]
    use = [(side.start or 0) + np.flatnonzero(np.all(known, axis=0)[side]) for side in sides(n_a)]
    a, b = (correlation(x[rows], y[rows]) if len(rows) else 0.0 for rows in use)
    return a, b


def _inside_level(base: Finding, function: Function, functions: RowFunctions, n_a: int) -> Finding:
    """The means, or standard deviations, of a number in the rows of one level."""
    number = _reading(functions.readings, function.column).values
    level = next(rows for c, name, rows in functions.levels() if (c, name) == function[2:4])
    rows = level & ~np.isnan(number)
    x, y = (number[side][rows[side]] for side in sides(n_a))
    second = functions.names[function.second]
    base = replace(base, kind="inside", second=second, detail=function.level)
    a, b = deviation(x), deviation(y)
    if function.kind == "spread inside" and min(a, b) > 0:
        return replace(base, part="spread", a=a, b=b, effect=math.log(b / a))
    a, b = float(x.mean()), float(y.mean())
    return replace(base, a=a, b=b, effect=(b - a) / (deviation(number[rows]) or 1.0))


def _given(base: Finding, one: Blamed, functions: RowFunctions, n_a: int) -> Finding:
    """What a column is given those not blamed more surely, or how closely it follows them."""
    function, scores = one.function, functions.scores
    own, use = scores.column == one.column, ~np.isin(scores.column, one.before)
    others = np.flatnonzero(use & ~own)
    strength = np.abs(scores.correlation[own][:, others]).max(axis=0, initial=0.0)
    others = others[np.argsort(-strength, kind="stable")[:MOST_GIVEN]]
    ends = {function.column, function.second} - {-1, one.column}
    ends = ends or {int(scores.column[others[0]])}
    base = replace(base, second=functions.names[ends.pop()])
    if function.kind == "given" and "" in np.array(scores.level)[own]:
        a, b, spread = _adjusted_means(functions, one.column, others, n_a)
        return replace(base, kind="given", a=a, b=b, effect=(b - a) / spread)
    known = {"identity": functions.identities, "equal": functions.equal}
    ask = known.get(function.kind, lambda: functions.given(use, (one.column,)))
    values = next(values for other, values in ask() if other == function)
    a, b = (float(np.mean(values[side])) for side in sides(n_a))
    effect = (b - a) / (float(np.std(values)) or 1.0)
    if function.kind == "equal":
        return replace(base, kind="relation", detail="equal", a=a, b=b, effect=effect)
    return replace(base, kind=function.kind, a=a, b=b, effect=effect)


def _adjusted_means(
    functions: RowFunctions, column: int, others: NDArray[np.intp], n_a: int
) -> tuple[float, float, float]:
    """The means of a number in A and B if the others were alike, and what these leave open."""
    y = _reading(functions.readings, column).values
    known = ~np.isnan(y)
    in_b = np.arange(len(y)) >= n_a
    design = np.column_stack([functions.plain()[:, others], in_b, np.ones(len(y))])[known]
    fit = np.linalg.lstsq(design.astype(np.float64), y[known], rcond=None)[0]
    step, middle = float(fit[-2]), float(y[known].mean())
    a = middle - step * float(in_b[known].mean())
    return a, a + step, float(np.std(y[known] - design @ fit)) or 1.0


# ---- what is odd besides what changed on average -------------------------------------------------


def check_quality(
    features: Table[FeatureChange], profiles: tuple[SetProfile, SetProfile] | None
) -> tuple[Finding, ...]:
    """Look through the columns; differences between the sets come first.

    The kinds are ``"new levels"``, ``"vanished levels"``, ``"constant"`` (in one set, or the same
    in both), ``"outlying"`` (a value far from the other set's range, and the end of that),
    ``"writing"`` (`levels` has an example of each set's) and ``"times"`` (that do not overlap: the
    last of one set and the first of the other).
    """
    found = [note for one in features if one.kind != TEXT for note in _of_range(one)]
    first, second = profiles or ({}, {})
    for name, a in first.items():
        found += _of_profiles(a, second[name]) if name in second else ()
    return tuple(sorted(found, key=lambda one: one.detail == IN_BOTH))


def _of_range(one: FeatureChange) -> Iterator[Finding]:
    if math.isfinite(one.a.low) and math.isfinite(one.b.low):
        still = one.a.constant, one.b.constant
        if all(still) and one.a.low == one.b.low:
            yield Finding("constant", one.name, detail=IN_BOTH, a=one.a.low, b=one.b.low)
        elif any(still) and one.changed:
            where = "in A" if still[0] else "in B"
            yield Finding("constant", one.name, detail=where, a=one.a.deviation, b=one.b.deviation)
    for where, own, other in (("in A", one.a, one.b), ("in B", one.b, one.a)):
        far = OUTLYING * (other.high - other.low)
        ends = zip((own.low, own.high), (other.low, other.high), own.at_ends, strict=True)
        for end, usual, rows in () if one.changed or one.kind != "number" else ends:
            if rows >= AGAIN and abs(end - usual) > far > 0:
                yield Finding("outlying", one.name, detail=where, a=end, b=usual, rows=rows)


def _of_profiles(a: ColumnProfile, b: ColumnProfile) -> Iterator[Finding]:
    """What all rows show: levels of one set alone, times apart, other writing."""
    if a.kind == "category" and a.exact and b.exact and a.levels and b.levels:
        yield from _of_levels(a, b)
    if a.kind == "time":
        ends = (a.high, b.low) if a.low <= b.low else (a.low, b.high)
        yield Finding("times", a.name, a=ends[0], b=ends[1])
    written = _written(a, b) if a.rows > a.missing and b.rows > b.missing else None
    if written is not None:
        yield Finding("writing", a.name, levels=written)


def _of_levels(a: ColumnProfile, b: ColumnProfile) -> Iterator[Finding]:
    for kind, own, other in (("vanished levels", a, b), ("new levels", b, a)):
        here, there = own.levels, other.levels
        total = sum(here.values())
        # By chance all n rows of a level are in this set with a probability of share ** n.
        share = total / (total + sum(there.values()))
        enough = math.log(BY_CHANCE / len({**here, **there})) / math.log(share)
        only = [level for level, n in here.items() if n >= enough and not there.get(level)]
        if only:
            only.sort(key=lambda level: -here[level])
            part = sum(here[level] for level in only) / total
            x, y = (part, 0.0) if own is a else (0.0, part)
            yield Finding(kind, a.name, a=x, b=y, levels=tuple(only))


def _written(a: ColumnProfile, b: ColumnProfile) -> tuple[str, str] | None:
    """Dates in two orders, numbers with a decimal comma, words for truth values."""
    from cospan.data import READINGS, boolean_pair

    if a.levels and b.levels:
        return (_example(a), _example(b)) if a.reading != b.reading else None
    text = a if a.levels else b
    if a.kind == "left out" or text.reading in ("point", "iso date"):
        return None
    if text.reading and text.levels:
        plain = "plain dates" if READINGS[text.reading].kind == "date" else "plain numbers"
    elif boolean_pair(text.levels) is not None:
        plain = "0 and 1 or plain truth values"
    else:
        return None
    return (_example(a), plain) if text is a else (plain, _example(b))


def _example(one: ColumnProfile) -> str:
    """A text that shows the reading; of truth values both words."""
    if not one.reading:
        return " and ".join(sorted(one.levels)[:3])
    read = [text for text in one.levels if set(text) & set("0123456789")]  # no stray words
    return next((text for text in read if "," in text), read[0])
