"""Which columns are to blame: as few as explain all of the evidence.

A column that changed changes its relations, too, and what the others leave open given it. So (1)
columns that are significant by themselves are blamed; (2) pairs that touch a blamed column say
nothing more, and "given the others" is asked again without blamed columns; (3) if a unit is still
significant, the column that explains most of what is left is blamed, and it goes on at (2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.tolerance import LEAST_VARIANCE
from cospan.base.types import Floats

from .functions import (
    GIVEN,
    OWN,
    PAIR,
    SAME_FUNCTION,
    Function,
    Reading,
    RowFunctions,
    kolmogorov,
)
from .test import LEVEL, Evidence, log_tail

#: z² that a unit has by chance now and then: only what goes beyond it counts as explained.
CHANCE = 9.0
#: "Only where": |z| of the difference inside less outside, z² that nothing outside may reach, and
#: the fewest rows (their harmonic half) on each side.
CLEARLY, OUTSIDE, FEWEST = 4.0, 12.0, 5
#: The least variance of a function there, of 1 in all rows: below, one row would make a z.
LEAST_INSIDE = 0.0025
#: Of a text its length, and of a form a single value, is what is said, where its z is at least this
#: part of the largest.
PLAINLY = 0.7
#: Changes of form say little; how much more of it a shift against the other columns has to be.
VAGUE, MORE = ("shape", "low end", "high end"), 2.0
#: A copy: equal, beyond chance, in more than this share of one set, and less than that of the
#: other.
EQUAL, UNEQUAL = 0.9, 0.5
#: Columns among which swapped ones are looked for, and the Kolmogorov-Smirnov distance at 1 %.
SWAPPED, KOLMOGOROV = 6, 1.63


@dataclass(frozen=True)
class Blamed:
    """A column to blame, and the function of it that shows the change best."""

    column: int
    p: float
    function: Function
    z: float  # A less B
    where: tuple[int, str] | None = None  # only where this column has this level
    copy_of: tuple[int, float, float] | None = None  # and in what shares of A and of B
    swapped_with: int | None = None


def blamed_columns(
    rows: RowFunctions, evidence: Evidence, n_a: int
) -> tuple[list[Blamed], list[int]]:
    """The columns to blame, the clearest first; and all columns, the most suspicious first."""
    found, order = _chosen(rows, evidence, n_a)
    copies = _copies(rows, n_a) if found else {}
    ends = np.array([one[1:3] for one in evidence.functions]).reshape(-1, 2)
    alone = np.array([one.family == OWN for one in evidence.functions])
    blamed = []
    for column, p, by_itself in found:
        mine = np.flatnonzero((ends == column).any(axis=1) & (alone == by_itself))
        if column not in copies:  # equal now and then is a relation, and no copy
            other = [k for k in mine if evidence.functions[k].kind != "equal"]
            mine = np.array(other, dtype=np.intp) if other else mine
        best = mine[np.argmax(np.abs(evidence.z[mine]))]
        function = evidence.functions[best]
        if by_itself and function.part and function.kind != "missing":
            long = [k for k in mine if evidence.functions[k][::4] == ("mean", "length")]
            if long and abs(evidence.z[long[0]]) >= PLAINLY * abs(evidence.z[best]):
                best = long[0]
                function = evidence.functions[best]
        inside = function.family == OWN or function.kind.endswith("inside")
        where = _only_where(rows, n_a, column) if inside else None
        if by_itself and function.kind in VAGUE:
            clearer = _clearer(evidence, ends, column, best)
            if where is None or evidence.functions[clearer].family == OWN:
                best, function = clearer, evidence.functions[clearer]
        z = float(evidence.z[best])
        blamed.append(Blamed(column, p, function, z, where, copies.get(column)))
    return _with_swaps(rows, n_a, blamed), order


def _clearer(evidence: Evidence, ends: NDArray[np.intp], column: int, best: np.intp) -> np.intp:
    """Of a column whose form changed: its single value, or that it moved against the others.

    Where a single value says nearly as much, and the others clearly more.
    """
    kinds = np.array([one.kind for one in evidence.functions])
    values = np.flatnonzero((kinds == "value") & (ends[:, 0] == column))
    if len(values):
        single: np.intp = values[np.argmax(np.abs(evidence.z[values]))]
        if abs(evidence.z[single]) >= PLAINLY * abs(evidence.z[best]):
            return single
    given = np.flatnonzero((kinds == "given") & (ends[:, 0] == column))
    if not len(given):
        return best
    strongest: np.intp = given[np.argmax(np.abs(evidence.z[given]))]
    return strongest if abs(evidence.z[strongest]) > MORE * abs(evidence.z[best]) else best


def _chosen(
    rows: RowFunctions, evidence: Evidence, n_a: int
) -> tuple[list[tuple[int, float, bool]], list[int]]:
    family, first, second = evidence.family, evidence.first, evidence.second
    log_p, z2, p = evidence.log_p.copy(), evidence.z2.copy(), evidence.adjusted.copy()
    d = len(rows.names)
    own = [k for k in np.argsort(log_p, kind="stable") if family[k] == OWN]
    blamed = [(int(first[k]), float(p[k]), True) for k in own if p[k] <= LEVEL]
    out = {column for column, _, _ in blamed}
    alone = np.zeros(d)
    alone[first[own]] = z2[own]
    while True:
        if out:
            k = np.flatnonzero((family == GIVEN) & (p <= LEVEL) & ~np.isin(first, list(out)))
            again = _given_again(rows, out, first[k], n_a, d)
            left = np.minimum(again[first[k]], z2[k])
            log_p[k] += log_tail(left) - log_tail(z2[k])
            z2[k] = left
            p[k] = np.maximum(p[k], np.minimum(1.0, np.exp(log_p[k]) * evidence.effective))
        blames = np.isin(first, list(out)) | np.isin(second, list(out))
        free = np.flatnonzero((family != OWN) & ~blames)
        clear = free[p[free] <= LEVEL]
        if not len(clear):
            break
        mass = alone.copy()
        beyond = np.maximum(z2[free] - CHANCE, 0.0)
        np.add.at(mass, first[free], beyond)
        paired = family[free] == PAIR
        np.add.at(mass, second[free][paired], beyond[paired])
        touched = np.union1d(first[clear], second[clear][family[clear] == PAIR])
        column = int(touched[np.argmax(mass[touched])])
        touching = clear[(first[clear] == column) | (second[clear] == column)]
        blamed.append((column, float(p[touching].min()), False))
        out.add(column)
    best = np.zeros(d)
    np.minimum.at(best, first, log_p)
    np.minimum.at(best, second[second >= 0], log_p[second >= 0])
    rest = sorted(set(range(d)) - out, key=lambda column: best[column])
    return blamed, [*(column for column, _, _ in blamed), *rest]


def _given_again(
    rows: RowFunctions, out: set[int], asked: NDArray[np.intp], n_a: int, d: int
) -> Floats:
    """The largest z² of what the columns that are not blamed leave open of some of them."""
    found = np.zeros(d)
    if not len(asked):
        return found
    for function, values in rows.given(~np.isin(rows.scores.column, list(out)), asked.tolist()):
        n = len(values)
        step = values[:n_a].mean() - values[n_a:].mean()
        z2 = step**2 / max(float(values.var()), LEAST_VARIANCE) * n_a * (n - n_a) / n
        found[function.column] = max(found[function.column], z2)
    return found


def _only_where(rows: RowFunctions, n_a: int, column: int) -> tuple[int, str] | None:
    """The level inside which a column changed, and not outside it; None where there is none."""
    levels = [one for one in rows.levels() if one[0] != column]
    if not levels:
        return None
    own = [
        np.nan_to_num(values - np.nanmean(values)) / np.nanstd(values)
        for reading, margin in zip(rows.readings, rows.margins, strict=True)
        if reading.column == column
        for _, values in margin.values(reading.values)
        if np.nanstd(values) > SAME_FUNCTION
    ]
    if not own:
        return None
    F = np.column_stack(own)
    in_a = np.arange(len(F)) < n_a
    found, best = None, 0.0
    for other, level, inside in levels:
        sides = [(in_a & part, ~in_a & part) for part in (inside, ~inside)]
        weight = [a.sum() * b.sum() / max(a.sum() + b.sum(), 1) for a, b in sides]
        if min(weight) < FEWEST:
            continue
        step = [F[a].mean(axis=0) - F[b].mean(axis=0) for a, b in sides]
        error = [
            np.maximum(F[a | b].var(axis=0), LEAST_INSIDE) / w
            for (a, b), w in zip(sides, weight, strict=True)
        ]
        apart = np.abs(step[0] - step[1]) / np.sqrt(error[0] + error[1])
        within, outside = (float((s**2 / e).max()) for s, e in zip(step, error, strict=True))
        if apart.max() > CLEARLY and outside < OUTSIDE and within - outside > best:
            found, best = (other, level), within - outside
    return found


def _copies(rows: RowFunctions, n_a: int) -> dict[int, tuple[int, float, float]]:
    """Columns that equal another in one set and not in the other, beyond chance (Cohen's kappa)."""
    found: dict[int, tuple[int, float, float]] = {}
    read = {one.column: one for one in rows.readings if one.part == ""}
    for function, same in rows.equal():
        sides = slice(None, n_a), slice(n_a, None)
        shares = float(same[:n_a].mean()), float(same[n_a:].mean())
        if max(shares) <= EQUAL:
            continue
        ends = read[function.column], read[function.second]
        kappa = []
        for side, share in zip(sides, shares, strict=True):
            x, y = (one._replace(values=one.values[side]) for one in ends)
            chance = _agreement(x, y)
            kappa.append((share - chance) / (1 - chance) if chance < 1 else 0.0)
        if max(kappa) > EQUAL and min(kappa) < UNEQUAL:
            found.setdefault(function.column, (function.second, *shares))
            found.setdefault(function.second, (function.column, *shares))
    return found


def _agreement(first: Reading, second: Reading) -> float:
    """How often two columns would be equal if they had nothing to do with each other."""
    x, y = _shares(first, first.values), _shares(second, second.values)
    return sum(share * y.get(value, 0.0) for value, share in x.items())


def _shares(reading: Reading, values: Floats) -> dict[Any, float]:
    """What share of the known values each value or level has."""
    found, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    names = found.tolist()
    if reading.levels is not None:
        names = [reading.levels[int(code)] for code in found]
    return dict(zip(names, (counts / max(1, counts.sum())).tolist(), strict=True))


def _with_swaps(rows: RowFunctions, n_a: int, blamed: list[Blamed]) -> list[Blamed]:
    """Two blamed columns each of which is in B like the other in A, and not like itself."""
    read = {one.column: one for one in rows.readings if one.related and one.part == ""}
    first = [one for one in blamed if one.column in read][:SWAPPED]
    n = rows.n_rows
    limit = KOLMOGOROV * np.sqrt(n / (n_a * (n - n_a)))
    swapped: dict[int, int] = {}
    for k, one in enumerate(first):
        for other in first[:k]:
            x, y = read[one.column], read[other.column]
            across = max(_distance(x, y, n_a), _distance(y, x, n_a))
            if across < limit < min(_distance(x, x, n_a), _distance(y, y, n_a)):
                swapped |= {one.column: other.column, other.column: one.column}
    return [
        replace(one, swapped_with=swapped[one.column]) if one.column in swapped else one
        for one in blamed
    ]


def _distance(first: Reading, second: Reading, n_a: int) -> float:
    """How far one column in A is from another in B: Kolmogorov-Smirnov, or shares of levels."""
    x, y = first.values[:n_a], second.values[n_a:]
    x, y = x[~np.isnan(x)], y[~np.isnan(y)]
    if not len(x) or not len(y) or (first.levels is None) != (second.levels is None):
        return 1.0
    if first.levels is None or second.levels is None:
        return kolmogorov(x, y)
    shares = _shares(first, x), _shares(second, y)
    return max(abs(shares[0].get(v, 0.0) - shares[1].get(v, 0.0)) for v in shares[0] | shares[1])
