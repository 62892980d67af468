"""One p-value, and one adjusted p-value for each unit, from one set of relabellings.

If both sets come from one distribution, labels could be exchanged among the rows without changing
anything: the statistic of the true labels has every rank among those of random labellings with the
same chance. A *unit* of evidence is a column by itself, a column given the others, or a pair of
columns. Its evidence is the log p-value of its largest z², corrected for how many functions it
effectively has, and for how many units its family has; the families share the level. Medians and
deviations are taken over all labellings, the true one included: leaving it out breaks exactness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from cospan.base.tolerance import LEAST_VARIANCE, NOT_ZERO, SAME_STATISTIC
from cospan.base.types import Floats

from .functions import (
    GIVEN,
    OWN,
    PAIR,
    SAME_FUNCTION,
    Block,
    Function,
    RowFunctions,
    precision,
    predicted,
)

#: The familywise level at which columns are named.
LEVEL = 0.05
#: What part of the level each family has: a column by itself, given the others, two together.
FAMILIES = {OWN: 0.5, GIVEN: 0.25, PAIR: 0.25}
#: And beside these what all columns say together: sums over the columns of z² of their means,
#: spreads and shapes; whitened means; second moments; means weighted by how far out rows are (a few
#: rows elsewhere); the length of rows; rows that break an identity.
JOINT = {
    "means": 0.25, "spreads": 0.05, "shapes": 0.1, "whitened": 0.1, "moments": 0.25,
    "outward": 0.15, "length": 0.15, "identity": 0.1,
}  # fmt: skip
#: Scores whose products are compared: those that the others predict best.
PAIRED = 100
#: Numbers whose squares are paired with the others, and what their level is called.
BENT, SQUARE = 40, "²"
#: The least standard deviation of a difference of correlations: below, one row would make it.
LEAST_SPREAD = 0.15
#: Directions whose second moments are compared, and how far large ones are shortened: all as one
#: would be noise, none the first alone.
DIRECTIONS, SHORTENED, FLOOR = 32, 0.25, 0.1
#: Pairs of functions that are compared at once.
AT_ONCE = 256
#: The smallest p-value that labellings can give, with room for rounding.
SMALLEST = 1.5
#: 0/1 functions with fewer expected in the smaller set have their exact distribution.
RARE = 30
#: Functions of other families that are 0 or 1; and how near two values of a function are one.
BINARY, SAME_VALUES = ("equal", "identity"), 1e-4
#: Scores are cut here, so that single rows do not make a relation.
CUT = 3.0
#: With less variance within a set a score has no correlation there.
LEAST_WITHIN = 0.01
#: A z that varies less over the labellings does not vary.
SAME_Z = 1e-6
#: Medians of p-values are kept inside these, and log p-values above this: sums stay finite.
WITHIN, LEAST_LOG_P = (1e-12, 1 - 1e-9), -600.0

_Real = TypeVar("_Real", np.float32, np.float64)

Matrix: TypeAlias = NDArray[np.float32]  # (m, 1 + B): a row for each function, or (1 + B, n)


@dataclass(frozen=True)
class Labellings:
    """The true labels and random ones: 1 where a row belongs to A, (1 + B, n)."""

    labels: Matrix
    n_a: NDArray[np.float32]  # how many rows are A's, (1 + B,)
    root: NDArray[np.float32]  # √(n_a n_b / n): makes differences of means of unit functions z
    grouped: bool  # whole groups of rows were relabelled

    @classmethod
    def draw(
        cls, n_a: int, n_b: int, count: int, seed: int, groups: NDArray[np.intp] | None = None
    ) -> Labellings:
        """Rows of A come first. With `groups` rows of one group in one set keep together."""
        rng = np.random.default_rng(seed)
        n = n_a + n_b
        in_a = np.arange(n) < n_a
        labels = np.zeros((1 + count, n), dtype=np.float32)
        labels[0, :n_a] = 1
        if groups is None:
            for row in labels[1:]:
                row[rng.permutation(n)[:n_a]] = 1
        else:
            unit = np.unique(2 * groups + in_a, return_inverse=True)[1]
            of_a = np.zeros(unit.max() + 1, dtype=np.float32)
            of_a[unit[in_a]] = 1
            for row in labels[1:]:
                row[:] = rng.permutation(of_a)[unit]
        of_each = labels.sum(axis=1, dtype=np.float64)
        root = np.sqrt(of_each * (n - of_each) / n).astype(np.float32)
        return cls(labels, of_each.astype(np.float32), root, groups is not None)

    def means(self, values: NDArray[np.float32]) -> tuple[Matrix, Matrix]:
        """Means over A and over B of every row of values (m, n), for every labelling."""
        sums = values @ self.labels.T
        rest = values.sum(axis=1)[:, None] - sums
        return sums / self.n_a, rest / (np.float32(values.shape[1]) - self.n_a)

    def differences(self, values: NDArray[np.float32]) -> Matrix:
        """Differences of these means, A less B, as z of functions that are standardised."""
        # s/a - (t - s)/b = s (1/a + 1/b) - t/b: one pass over the sums
        n = np.float32(values.shape[1])
        found = values @ self.labels.T
        found *= self.root * (1 / self.n_a + 1 / (n - self.n_a))
        found -= values.sum(axis=1)[:, None] * (self.root / (n - self.n_a))
        return np.asarray(found)


@dataclass(frozen=True)
class Evidence:
    """What one set of labellings says."""

    p: float  # of "both sets come from one distribution"
    functions: list[Function]
    z: Floats  # (m,): of every function, A less B
    unit: NDArray[np.intp]  # (m,): the unit that it belongs to
    family: NDArray[np.intp]  # of every unit
    first: NDArray[np.intp]  # its column
    second: NDArray[np.intp]  # and the other one, or -1
    log_p: Floats  # its evidence
    z2: Floats  # the largest z² in it
    adjusted: Floats  # its p-value, adjusted over all units
    effective: float  # number of units, as the labellings have it
    needed: Floats  # |z| from which on its p-value would be at most 0.05


def weigh(rows: RowFunctions, labellings: Labellings, observed: dict[Function, float]) -> Evidence:
    """Compare the means of all functions under all labellings.

    `observed` has z of some functions from more rows than those at hand, for the true labels.
    """
    functions: list[Function] = []
    parts = []
    for block in rows.blocks():
        functions += block.functions
        parts.append(_differences(block, labellings))
    pairs, relations = _correlations(rows, labellings)
    functions += pairs
    Z = np.concatenate([*parts, relations])
    if labellings.grouped:  # rows of a group resemble each other: z is wider than 1
        Z /= np.maximum(Z.std(axis=1, keepdims=True), SAME_Z)
    for k, function in enumerate(functions):
        if function in observed:
            Z[k, 0] = observed[function]
    return _concluded(rows, functions, Z, _joint(rows, labellings, functions, Z))


def _concluded(
    rows: RowFunctions, functions: list[Function], Z: Matrix, joint: dict[str, Floats]
) -> Evidence:
    family = np.array([one.family for one in functions], dtype=np.intp)
    c1 = np.array([one.column for one in functions], dtype=np.intp)
    c2 = np.array([one.second for one in functions], dtype=np.intp)
    d = len(rows.names)
    low, high = np.minimum(c1, c2), np.maximum(c1, c2)
    unit = np.where(family == PAIR, 2 * d + high * d + low, family * d + c1)
    unit = np.unique(unit, return_inverse=True)[1]
    order = np.argsort(unit, kind="stable")
    start = np.flatnonzero(np.diff(unit[order], prepend=-1))
    z2 = np.maximum.reduceat(np.square(Z[order]), start, axis=0).astype(np.float64)
    family, first, second = family[order][start], c1[order][start], c2[order][start]
    log_p = log_tail(z2)
    log_p += np.log(effective_number(np.exp(log_p)))[:, None]
    best = []
    for one, share in FAMILIES.items():
        at = np.flatnonzero(family == one)
        if len(at):
            least = log_p[at].min(axis=0)
            more = np.log(effective_number(np.exp(least))) - np.log(share)
            log_p[at] += more
            best.append(least + more)
    best += [one - np.log(JOINT[name]) for name, one in joint.items()]
    total = special.logsumexp(-np.maximum(best, LEAST_LOG_P), axis=0)
    p = float(np.mean(total >= total[0] - SAME_STATISTIC))
    adjusted, effective = _step_down(log_p)
    needed = -special.ndtri_exp(
        np.log(LEVEL / 2) - np.log(effective) - log_p[:, 0] + log_tail(z2[:, 0])
    )
    if p > SMALLEST / Z.shape[1]:  # no column is named where the whole is not
        adjusted = np.maximum(adjusted, p)
    return Evidence(
        p, functions, Z[:, 0].astype(np.float64), unit, family, first, second,
        log_p[:, 0], z2[:, 0], adjusted, effective, needed,
    )  # fmt: skip


def log_tail(z2: Floats) -> Floats:
    """log of the two-sided normal tail beyond √z2."""
    return np.asarray(np.log(2) + special.log_ndtr(-np.sqrt(z2)))


def effective_number(p: Floats) -> Floats:
    """How many independent tests have this median of their smallest p-value (over labellings)."""
    median = np.clip(np.median(p, axis=-1), *WITHIN)
    return np.asarray(np.maximum(np.log(0.5) / np.log1p(-median), 1.0))


def _step_down(log_p: Floats) -> tuple[Floats, float]:
    """Adjusted p-values (step-down max-T, beyond the labellings by the normal tail), and the
    effective number of units.
    """
    n = log_p.shape[1]
    order = np.argsort(log_p[:, 0], kind="stable")
    true, others = log_p[order, :1], log_p[order, 1:]
    least = np.minimum.accumulate(others[::-1], axis=0)[::-1]
    p = (1 + (least <= true).sum(axis=1)) / n
    number = max(LEVEL / float(np.quantile(np.exp(least[0]), LEVEL)), 1.0)
    tail = np.minimum(p, np.exp(true[:, 0]) * number)
    p = np.where(p * n < SMALLEST, tail, p)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(np.minimum(p, 1.0))
    return adjusted, number


def _differences(block: Block, labellings: Labellings) -> Matrix:
    """z of every function for every labelling; of rare 0/1 functions by the exact mid-p."""
    Z = labellings.differences(block.values)
    # The others have as many values as there are rows, or more than two.
    few_valued = [k for k, f in enumerate(block.functions) if f.family == OWN or f.kind in BINARY]
    if labellings.grouped or not few_valued:
        return Z
    F = block.values[few_valued]
    n, n_a = F.shape[1], int(labellings.n_a[0])
    low, high = F.min(axis=1, keepdims=True), F.max(axis=1, keepdims=True)
    up = (low + high) / 2 < F
    binary = (np.abs(F - np.where(up, high, low)) < SAME_VALUES).all(axis=1)
    count = up.sum(axis=1)
    few = np.minimum(count, n - count)
    rare = np.flatnonzero(binary & (few * min(n_a, n - n_a) < RARE * n))
    marked = np.rint(up[rare].astype(np.float32) @ labellings.labels.T).astype(np.intp)
    for k, drawn in zip(rare, marked, strict=True):
        z = _rare_z(n, int(few[k]), n_a)
        Z[few_valued[k]] = z[drawn] if count[k] == few[k] else -z[n_a - drawn]
    return Z


@lru_cache(maxsize=4 * RARE)
def _rare_z(n: int, k: int, n_a: int) -> Floats:
    """z of the mid-p of 0 to k of k marked rows among n_a of n, by the hypergeometric law."""
    x = np.arange(k + 1)
    mass = np.exp(_log_choose(k, x) + _log_choose(n - k, n_a - x) - _log_choose(n, n_a))
    up = np.maximum(np.cumsum(mass[::-1])[::-1] - mass / 2, NOT_ZERO)
    down = np.maximum(np.cumsum(mass) - mass / 2, NOT_ZERO)
    return np.asarray(np.where(up < 0.5, -special.ndtri(up), special.ndtri(down)))


def mean_z(values: Floats, n_a: int) -> float:
    """z of the means of A's values, which come first, and of B's."""
    n = len(values)
    step = float(values[:n_a].mean() - values[n_a:].mean())
    return step * math.sqrt(n_a * (n - n_a) / n / max(float(values.var()), LEAST_VARIANCE))


def share_z(x_a: float, n_a: float, x_b: float, n_b: float) -> float:
    """z of two shares, x_a of n_a and x_b of n_b: exact where they are rare."""
    n, x = n_a + n_b, x_a + x_b
    k = min(x, n - x)
    if not n_a or not n_b:
        return 0.0
    if k * min(n_a, n_b) >= RARE * n:
        return (x_a / n_a - x_b / n_b) * math.sqrt(n_a * n_b * n / (x * (n - x)))
    common = x > n / 2
    marked = round(n_a - x_a if common else x_a)
    found = float(_rare_z(round(n), round(k), round(n_a))[marked])
    return -found if common else found


def _log_choose(n: int, k: NDArray[np.intp] | int) -> Floats:
    """log of the ways to choose k of n, -∞ where there is none."""
    inside = np.clip(k, 0, n)
    ways = special.gammaln(n + 1.0) - special.gammaln(inside + 1.0)
    return np.asarray(np.where(inside == k, ways - special.gammaln(n - inside + 1.0), -np.inf))


def _correlations(rows: RowFunctions, labellings: Labellings) -> tuple[list[Function], Matrix]:
    """Differences of the sets' correlations of scores, each about its own mean and spread."""
    scores = rows.scores
    if len(scores.column) < 2:
        return [], np.zeros((0, len(labellings.labels)), np.float32)
    best = np.argsort(-predicted(scores.correlation), kind="stable")
    i, j = (np.sort(best[:PAIRED])[index] for index in np.tril_indices(min(len(best), PAIRED), -1))
    G = np.ascontiguousarray(np.clip(scores.values, -CUT, CUT).T)
    numbers = np.sort(np.array([k for k in best if not scores.level[k]][:BENT], dtype=np.intp))
    bent = _standard(G[numbers] ** 2)  # a parabola has no correlation, but one with the square
    k, m = (index.ravel() for index in np.indices((len(numbers), len(numbers))))
    i, j = np.concatenate([i, numbers[k]]), np.concatenate([j, len(G) + m])
    G = np.concatenate([G, bent])
    column = np.concatenate([scores.column, scores.column[numbers]])
    level = (*scores.level, *[SQUARE] * len(numbers))
    apart = column[i] != column[j]
    i, j = i[apart], j[apart]
    means = labellings.means(G)
    within = [square - mean**2 for mean, square in zip(means, labellings.means(G**2), strict=True)]
    varies = np.minimum(*within) > LEAST_WITHIN  # what one set lacks has no relation
    spreads = [varies / np.sqrt(np.maximum(one, LEAST_WITHIN)) for one in within]
    Z = np.empty((len(i), len(labellings.labels)), np.float32)
    for at in range(0, len(i), AT_ONCE):
        a, b = i[at : at + AT_ONCE], j[at : at + AT_ONCE]
        r = labellings.means(G[a] * G[b])
        for one, mean, spread in zip(r, means, spreads, strict=True):
            one -= mean[a] * mean[b]
            one *= spread[a]
            one *= spread[b]
        difference = (r[0] - r[1]) * labellings.root
        Z[at : at + AT_ONCE] = difference / np.maximum(
            difference.std(axis=1, keepdims=True), LEAST_SPREAD
        )
    found = [
        Function("relation", int(column[a]), int(column[b]), level[a], second_level=level[b])
        for a, b in zip(i, j, strict=True)
    ]
    return found, Z


def _joint(
    rows: RowFunctions, labellings: Labellings, functions: list[Function], Z: Matrix
) -> dict[str, Floats]:
    """Log tail probabilities of what all columns say together; see JOINT."""
    R = rows.scores.correlation
    if not len(R):
        return {}
    kind = np.array([one.kind if one.family != PAIR else "" for one in functions])

    def sums(*kinds: str) -> NDArray[np.float32]:
        return np.asarray(np.square(Z[np.isin(kind, kinds)]).sum(axis=0))

    G = np.clip(rows.scores.values, -CUT, CUT)
    P = precision(R).astype(np.float32)
    U = np.ascontiguousarray(rows.plain().T)
    length = np.square(U).sum(axis=0)
    U = _standard(U)
    out = U * (length - length.mean())  # less what the means themselves say
    out = _standard(out - U * (out * U).mean(axis=1, keepdims=True))
    values, vectors = np.linalg.eigh(U @ U.T / U.shape[1])
    largest = np.maximum(values[-DIRECTIONS:], 0) + FLOOR
    main = vectors[:, -DIRECTIONS:] / largest**SHORTENED
    Y = main.T @ U
    a, b = np.triu_indices(len(Y))
    m = labellings.differences(np.ascontiguousarray(G.T))
    products = labellings.differences(Y[a] * Y[b])
    D = np.zeros((products.shape[1], len(Y), len(Y)), np.float32)
    D[:, a, b] = D[:, b, a] = products.T
    found = {  # powers that make them nearly normal
        "means": np.square(m).sum(axis=0) ** (1 / 3),
        "spreads": sums("spread") ** (1 / 3),
        "shapes": sums("shape", "low end", "high end") ** (1 / 3),
        "whitened": ((P @ m) * m).sum(axis=0) ** (1 / 3),
        "moments": np.square(D @ D).sum(axis=(1, 2)) ** (1 / 6),
        "outward": np.square(labellings.differences(out)).sum(axis=0) ** (1 / 3),
    }
    if (at := np.flatnonzero(kind == "identity")).size:
        found["identity"] = np.abs(Z[at]).max(axis=0)
    one = _standard(np.stack(list(found.values())).astype(np.float64))
    far = _standard(labellings.differences(length[None]).astype(np.float64))[0]
    return {**dict(zip(found, special.log_ndtr(-one), strict=True)), "length": log_tail(far**2)}


def _standard(values: NDArray[_Real]) -> NDArray[_Real]:
    """Every row less its mean, over its standard deviation."""
    values = values - values.mean(axis=1, keepdims=True)
    return np.asarray(values / np.maximum(values.std(axis=1, keepdims=True), SAME_FUNCTION))
