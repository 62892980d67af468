"""Which columns are to blame: as few as explain all of the evidence, and what to say of each.

A column that changed changes its relations, too, and what the others leave open given it. So (1)
columns that are significant by themselves are blamed; (2) pairs that touch a blamed column say
nothing more, and "given the others" is asked again without blamed columns; (3) if a unit is still
significant, the column that explains most of what is left is blamed, and it goes on at (2). What
is said of a column comes from the units that it is blamed for, so nothing is told twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base.tolerance import NOT_ZERO
from cospan.base.types import Floats, Index

from .functions import (
    GIVEN,
    OWN,
    PAIR,
    SAME_FUNCTION,
    Function,
    Reading,
    RowFunctions,
    correlation,
    fisher_z,
    in_common,
    kolmogorov,
    sides,
)
from .test import LEVEL, Evidence, log_tail, mean_z

#: z² that a unit has by chance now and then: only what goes beyond it counts as explained.
CHANCE = 9.0
#: "Only where": |z| inside, of the difference inside less outside, and that no other level and
#: nothing given the others has; z² that nothing outside may reach; and the fewest rows (their
#: harmonic half) on each side.
CLEARLY, OUTSIDE, FEWEST = 4.0, 12.0, 5
#: The least variance of a function there, of 1 in all rows: below, one row would make a z.
LEAST_INSIDE = 0.0025
#: A level that more of the rows have confines nothing. And so many columns are asked where.
LARGEST_PART, ASKED_WHERE = 0.8, 20
#: Of a text its length, and of a form a single value, is what is said, where its z is at least this
#: part of the largest.
PLAINLY = 0.7
#: Changes of form say little; how much more of it a shift against the other columns has to be.
VAGUE, MORE = ("shape", "low end", "high end"), 2.0
#: A copy: equal, beyond chance, in more than this share of one set, and less than that of the
#: other.
EQUAL, UNEQUAL = 0.9, 0.5
#: Columns among which swapped ones are looked for; the Kolmogorov-Smirnov distance at 1 %; and
#: |z| of a correlation with another column, below which it was exchanged with them.
SWAPPED, KOLMOGOROV, EXCHANGED = 6, 1.63, 4.0
#: Columns without names of their own, x0, x1, …, are at least so many; pixels have none, either.
MANY, PIXEL = 30, "pixel "


class Blamed(NamedTuple):
    """A column to blame, and the function of it that shows the change best."""

    column: int
    p: float
    function: Function
    z: float  # A less B
    where: tuple[int, str] | None = None  # only where this column has this level
    second: int = -1  # the column that it is a copy of, or was swapped with
    shares: tuple[float, float] | None = None  # of a copy: equal rows of A and of B
    before: tuple[int, ...] = ()  # columns that are blamed more surely


def blame_columns(
    rows: RowFunctions, evidence: Evidence, n_a: int
) -> tuple[list[Blamed], list[int]]:
    """As few columns as explain all of the evidence, the clearest first; and all columns."""
    causes, order = _causes(rows, evidence, n_a)
    copies = _copies(rows, n_a, [column for column, _, _ in causes])
    blamed: list[Blamed] = []
    for place, (column, p, units) in enumerate(causes):
        mine = np.flatnonzero(np.isin(evidence.unit, units))
        if len(set(evidence.first[units]) | set(evidence.second[units]) - {-1}) > 2:
            # It changed against several columns: not each of these inside a level of it.
            inside = [evidence.functions[k].kind.endswith("inside") for k in mine]
            its_own = [evidence.functions[k].second != column for k in mine]
            mine = mine[np.array(its_own) | ~np.array(inside)]
        best = mine[np.argmax(np.abs(evidence.z[mine]))]
        function, z = evidence.functions[best], float(evidence.z[best])
        if column in copies:
            second, shares = copies[column]
            if not any((one.column, one.second) == (second, column) for one in blamed):
                blamed.append(Blamed(column, p, function, z, None, second, shares))
            continue
        before = tuple(order[:place])
        use = ~np.isin(rows.scores.column, before)
        where = None
        if function.family == OWN or function.kind.endswith("inside"):
            column = function.column  # of a pair the number, not the level
            where = _only_where(rows, n_a, column, use) if place < ASKED_WHERE else None
        function, z, only = where or (*_clearest(rows, evidence, mine, use, n_a), None)
        blamed.append(Blamed(column, p, function, z, only, before=before))
    others = np.flatnonzero(~np.isin(rows.scores.column, order[: len(causes)]))
    found = _with_swaps(rows, n_a, blamed, others)
    return sorted(found, key=lambda one: one.p), order


def _causes(
    rows: RowFunctions, evidence: Evidence, n_a: int
) -> tuple[list[tuple[int, float, Index]], list[int]]:
    """Columns to blame, with their p-values and the units they are blamed for; and all columns."""
    family, first, second = evidence.family, evidence.first, evidence.second
    log_p, z2, p = evidence.log_p.copy(), evidence.z2.copy(), evidence.adjusted.copy()
    d = len(rows.names)
    own = [k for k in np.argsort(log_p, kind="stable") if family[k] == OWN]
    found = [(int(first[k]), float(p[k]), np.array([k])) for k in own if p[k] <= LEVEL]
    out = [column for column, _, _ in found]
    alone = np.zeros(d)
    alone[first[own]] = z2[own]
    while True:
        asked = np.flatnonzero((family == GIVEN) & (p <= LEVEL) & ~np.isin(first, out))
        if out and len(asked):
            left = np.minimum(_given_again(rows, out, first[asked], n_a), z2[asked])
            log_p[asked] += log_tail(left) - log_tail(z2[asked])
            z2[asked] = left
            again = np.minimum(1.0, np.exp(log_p[asked]) * evidence.effective)
            p[asked] = np.maximum(p[asked], again)
        free = np.flatnonzero((family != OWN) & ~np.isin(first, out) & ~np.isin(second, out))
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
        found.append((column, float(p[touching].min()), touching))
        out.append(column)
    best = np.zeros(d)
    np.minimum.at(best, first, log_p)
    np.minimum.at(best, second[second >= 0], log_p[second >= 0])
    rest = sorted(set(range(d)) - set(out), key=lambda column: best[column])
    return found, [*out, *rest]


def _given_again(rows: RowFunctions, out: list[int], asked: Index, n_a: int) -> Floats:
    """The largest z² of what the columns that are not blamed leave open of those asked for."""
    found = dict.fromkeys(asked.tolist(), 0.0)
    for function, values in rows.given(~np.isin(rows.scores.column, out), list(found)):
        found[function.column] = max(found[function.column], mean_z(values, n_a) ** 2)
    return np.array(list(found.values()))


def _clearest(
    rows: RowFunctions, evidence: Evidence, mine: Index, use: NDArray[np.bool_], n_a: int
) -> tuple[Function, float]:
    """The function that says most, or nearly as much in plainer words.

    Or that the column moved against the others, where that says clearly more than a form.
    """
    functions, z = evidence.functions, np.abs(evidence.z)
    best = mine[np.argmax(z[mine])]
    function = functions[best]
    plain: list[np.intp] = []
    if function.part and function.kind != "missing":  # of a text
        plain = [k for k in mine if (functions[k].kind, functions[k].part) == ("mean", "length")]
    elif function.kind in VAGUE:
        plain = [k for k in mine if functions[k].kind == "value"]
    elif function.kind == "equal":
        plain = [k for k in mine if functions[k].kind != "equal"]
    plainest = max(plain, key=lambda k: z[k], default=best)
    if z[plainest] >= PLAINLY * z[best]:
        best = plainest
    if functions[best].kind in VAGUE:
        given = [x for x in rows.given(use, (function.column,)) if x[0].kind == "given"]
        moved = max((mean_z(values, n_a) for _, values in given), key=abs, default=0.0)
        if abs(moved) > MORE * z[best]:
            return Function("given", function.column), moved
    return functions[best], float(evidence.z[best])


def _only_where(
    rows: RowFunctions, n_a: int, column: int, use: NDArray[np.bool_]
) -> tuple[Function, float, tuple[int, str]] | None:
    """The level inside which a column changed while nothing of it changed elsewhere.

    With the column's own function that shows it best there.
    """
    others = (one for one in rows.levels() if one[0] != column)
    levels = [one for one in others if one[2].mean() <= LARGEST_PART]
    mine = [
        one
        for reading, margin in zip(rows.readings, rows.margins, strict=True)
        if reading.column == column
        for one in margin.values(reading.values)
        if np.nanstd(one[1]) > SAME_FUNCTION
    ]
    if not levels or not mine:
        return None
    own = slice(None, len(mine))
    mine += rows.given(use, (column,))
    F = np.column_stack([np.nan_to_num((x - np.nanmean(x)) / np.nanstd(x)) for _, x in mine])
    M = np.array([inside for _, _, inside in levels], dtype=np.float64)
    inside = _Steps.of(M, F, n_a)
    outside = _Steps.of(1 - M, F, n_a)
    apart = np.abs(inside.step - outside.step) / np.sqrt(inside.cautious + outside.cautious)
    z_in, z_out = inside.step / np.sqrt(inside.cautious), outside.step / np.sqrt(outside.error)
    best = np.abs(z_in[:, own]).argmax(axis=1)
    every = np.arange(len(M))
    within, without = np.abs(z_in[every, best]), np.abs(z_out[:, own]).max(axis=1)
    clear = (within > CLEARLY) & (apart[:, own].max(axis=1) > CLEARLY) & (without**2 < OUTSIDE)
    clear &= np.abs(z_out[:, own.stop :]).max(axis=1, initial=0.0) < CLEARLY
    clear &= np.minimum(inside.weight, outside.weight) >= FEWEST
    of = np.array([one[0] for one in levels])
    least = np.round(without**2 - within**2, 6)  # the same for levels of the same rows
    for k in sorted(np.flatnonzero(clear), key=lambda k: least[k]):
        elsewhere = (of == of[k]) & (every != k) & (inside.weight >= FEWEST)
        if not (np.abs(z_in[elsewhere, best[k]]) > CLEARLY).any():
            return mine[best[k]][0], float(z_in[k, best[k]]), levels[k][:2]
    return None


class _Steps(NamedTuple):
    """Differences of means between A and B inside some rows, (L, m)."""

    weight: Floats  # (L,): the harmonic half of the rows
    step: Floats
    error: Floats  # squared

    @property
    def cautious(self) -> Floats:
        """By at least the variance of all rows: where a rare value does not occur, it has none."""
        return np.maximum(self.error, 1 / self.weight[:, None])

    @classmethod
    def of(cls, rows: Floats, F: Floats, n_a: int) -> _Steps:
        in_a, in_b = rows[:, :n_a], rows[:, n_a:]
        a, b = (np.maximum(part.sum(axis=1), NOT_ZERO)[:, None] for part in (in_a, in_b))
        x, y = in_a @ F[:n_a], in_b @ F[n_a:]
        variance = np.maximum(rows @ F**2 / (a + b) - ((x + y) / (a + b)) ** 2, LEAST_INSIDE)
        weight = a * b / (a + b)
        return cls(weight[:, 0], x / a - y / b, variance / weight)


def _copies(
    rows: RowFunctions, n_a: int, blamed: Sequence[int]
) -> dict[int, tuple[int, tuple[float, float]]]:
    """Columns to blame that equal another in one set only, beyond chance (Cohen's kappa)."""
    found: dict[int, tuple[int, tuple[float, float]]] = {}
    read = {one.column: one for one in rows.readings if one.related and one.part == ""}
    pairs = ((read[c], other) for c in blamed if c in read for other in read.values())
    for one, other in pairs:
        if one is other or (one.levels is None) != (other.levels is None):
            continue
        same, known = in_common(one, other), ~(np.isnan(one.values) & np.isnan(other.values))
        shares = [float(same[side].sum() / max(1, known[side].sum())) for side in sides(n_a)]
        if max(shares) <= EQUAL:  # and so is kappa, whatever chance gives
            continue
        kappa = []
        for side, share in zip(sides(n_a), shares, strict=True):
            x, y = (_shares(end, end.values[side]) for end in (one, other))
            chance = sum(part * y.get(value, 0.0) for value, part in x.items())
            kappa.append((share - chance) / (1 - chance) if chance < 1 else 0.0)
        if max(kappa) > EQUAL and min(kappa) < UNEQUAL:
            found.setdefault(one.column, (other.column, (shares[0], shares[1])))
    return found


def _shares(reading: Reading, values: Floats) -> dict[float | str, float]:
    """What share of the known values each value or level has."""
    found, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    names = found.tolist()
    if reading.levels is not None:
        names = [reading.levels[int(code)] for code in found]
    return dict(zip(names, (counts / max(1, counts.sum())).tolist(), strict=True))


def nameless(names: Sequence[str]) -> bool:
    """Whether columns are many and called by their places only, as those of embeddings are."""
    return len(names) >= MANY and set(names) == {f"x{k}" for k in range(len(names))}


def _with_swaps(rows: RowFunctions, n_a: int, blamed: list[Blamed], others: Index) -> list[Blamed]:
    """Two columns that exchanged their values become one finding."""
    read = {one.column: one for one in rows.readings if one.related and one.part == ""}
    found = list(blamed)
    if nameless(rows.names) or rows.names[0].startswith(PIXEL):
        return found
    first = [one for one in blamed if one.column in read and one.second < 0][:SWAPPED]
    for one, other in itertools.combinations(first, 2):
        both = read[one.column], read[other.column]
        if one in found and other in found and _exchanged(rows, *both, others, n_a):
            found[found.index(one)] = one._replace(where=None, second=other.column)
            found.remove(other)
    return found


def _exchanged(rows: RowFunctions, x: Reading, y: Reading, others: Index, n_a: int) -> bool:
    """Whether each column in B is like the other in A, and not like itself; also in relations."""
    n = len(x.values)
    limit = KOLMOGOROV * np.sqrt(n / (n_a * (n - n_a)))
    across = max(_distance(x, y, n_a), _distance(y, x, n_a))
    if not across < limit < min(_distance(x, x, n_a), _distance(y, y, n_a)):
        return False
    if x.levels is not None:
        return True
    scores, (a, b) = rows.scores, sides(n_a)
    first, second = scores.of(x.column, ""), scores.of(y.column, "")
    apart = 0.0
    for other in scores.values[:, others].T:
        for one, two in ((first, second), (second, first)):
            r = correlation(one[a], other[a]), correlation(two[b], other[b])
            apart = max(apart, abs(fisher_z(r[0]) - fisher_z(r[1])))
    return bool(apart * np.sqrt(n_a * (n - n_a) / n) < EXCHANGED)


def _distance(first: Reading, second: Reading, n_a: int) -> float:
    """How far one column in A is from another in B: Kolmogorov-Smirnov, or shares of levels."""
    if (first.levels is None) != (second.levels is None):
        return 1.0
    x, y = first.values[:n_a], second.values[n_a:]
    if first.levels is None:
        return kolmogorov(x, y)[0]
    p, q = _shares(first, x), _shares(second, y)
    return max((abs(p.get(v, 0.0) - q.get(v, 0.0)) for v in p | q), default=1.0)
