"""One p-value, and one adjusted p-value for each unit, from one set of relabellings.

If both sets come from one distribution, labels could be exchanged among the rows without changing
anything: the statistic of the true labels has every rank among those of random labellings with the
same chance. A *unit* of evidence is a column by itself, a column given the others, or a pair of
columns. Its evidence is the log p-value of its largest z², corrected for how many functions it
effectively has, and for how many units its family has; the families share the level. Medians and
deviations are taken over all labellings, the true one included: leaving it out breaks exactness.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from cospan.base.types import Floats

from .functions import GIVEN, OWN, PAIR, RIDGE, Function, RowFunctions, predicted

#: What part of the level each family has: a column by itself, given the others, two together.
SHARES = {OWN: 0.5, GIVEN: 0.25, PAIR: 0.25}
#: And beside these what all columns say together: sums over the columns of z² of their means,
#: spreads and shapes; whitened means; second moments; the length and the cost of rows; rows that
#: break an identity.
JOINT = {
    "means": 0.25, "spreads": 0.05, "shapes": 0.1, "whitened": 0.1, "moments": 0.25,
    "length": 0.1, "cost": 0.05, "identity": 0.1,
}  # fmt: skip
#: Scores whose products are compared: those that the others predict best.
PAIRED = 100
#: Numbers whose squares are paired with the others, and what their level is called.
BENT, SQUARE = 40, "²"
#: The least standard deviation of a difference of correlations: below, one row would make it.
LEAST_SPREAD = 0.15
#: Directions whose second moments are compared.
DIRECTIONS = 32
#: 0/1 functions with fewer expected in the smaller set have their exact distribution.
RARE = 30
#: Scores are cut here, so that single rows do not make a relation.
CUT = 3.0

Labels = NDArray[np.float32]


@dataclass(frozen=True)
class Labellings:
    """The true labels and random ones: 1 where a row belongs to A, (1 + B, n)."""

    labels: Labels
    grouped: bool = False  # whole groups of rows were relabelled

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
            return cls(labels)
        _, unit = np.unique(2 * np.asarray(groups) + in_a, return_inverse=True)
        of_a = np.zeros(unit.max() + 1, dtype=np.float32)
        of_a[unit[in_a]] = 1
        for row in labels[1:]:
            row[:] = rng.permutation(of_a)[unit]
        return cls(labels, grouped=True)

    @property
    def n_a(self) -> Floats:
        return np.asarray(self.labels.sum(axis=1, dtype=np.float64)[:, None])

    def means(
        self, values: NDArray[np.floating]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Means over A and over B of every column of values, for every labelling."""
        n_a = self.n_a.astype(np.float32)
        sums = self.labels @ np.asarray(values, dtype=np.float32)
        rest = values.sum(axis=0, dtype=np.float32) - sums
        return np.asarray(sums / n_a), np.asarray(rest / np.float32(values.shape[0] - n_a))

    @property
    def root(self) -> NDArray[np.float32]:
        """√(n_a n_b / n): makes a difference of means of unit functions a z."""
        n_a, n = self.n_a, self.labels.shape[1]
        return np.asarray(np.sqrt(n_a * (n - n_a) / n), dtype=np.float32)


@dataclass(frozen=True)
class Evidence:
    """What one set of labellings says."""

    p: float  # of "both sets come from one distribution"
    functions: list[Function]
    z: Floats  # (m,): of every function, A less B
    family: NDArray[np.intp]  # of every unit
    first: NDArray[np.intp]  # its column
    second: NDArray[np.intp]  # and the other one, or -1
    log_p: Floats  # its evidence
    z2: Floats  # the largest z² in it
    adjusted: Floats  # its p-value, adjusted over all units
    effective: float  # number of units, as the labellings have it
    smallest: float  # p-value there is


def weigh(
    rows: RowFunctions, labellings: Labellings, observed: dict[Function, float] | None = None
) -> Evidence:
    """Compare the means of all functions under all labellings.

    `observed` has z of some functions from more rows than those at hand, for the true labels.
    """
    functions: list[Function] = []
    parts = []
    for block in rows.blocks():
        functions += block.functions
        parts.append(_differences(block.values, labellings))
    pairs, Z = _correlations(rows, labellings)
    functions += pairs
    Z = np.hstack([*parts, Z])
    if labellings.grouped:  # rows of a group resemble each other: z is wider than 1
        Z /= np.maximum(Z.std(axis=0), 1e-6)
    for k, function in enumerate(functions):
        if observed and function in observed:
            Z[0, k] = observed[function]
    return _concluded(rows, functions, Z, _joint(rows, labellings, functions, Z))


def _concluded(
    rows: RowFunctions, functions: list[Function], Z: NDArray[np.float32], joint: dict[str, Floats]
) -> Evidence:
    family = np.array([one.family for one in functions], dtype=np.intp)
    c1 = np.array([one.column for one in functions], dtype=np.intp)
    c2 = np.array([one.second for one in functions], dtype=np.intp)
    d = len(rows.names)
    low, high = np.minimum(c1, c2), np.maximum(c1, c2)
    unit = np.where(family == PAIR, 2 * d + high * d + low, family * d + c1)
    order = np.argsort(unit, kind="stable")
    start = np.unique(unit[order], return_index=True)[1]
    z2 = np.maximum.reduceat(Z[:, order] ** 2, start, axis=1).astype(np.float64)
    family, first, second = family[order][start], c1[order][start], c2[order][start]
    log_p = log_tail(z2)
    log_p += np.log(effective_number(np.exp(log_p)))
    best = []
    for one, share in SHARES.items():
        at = np.flatnonzero(family == one)
        if len(at):
            least = np.exp(log_p[:, at].min(axis=1, keepdims=True))
            log_p[:, at] += np.log(effective_number(least)) - np.log(share)
            best.append(log_p[:, at].min(axis=1))
    best += [one - np.log(JOINT[name]) for name, one in joint.items()]
    total = special.logsumexp(-np.maximum(np.column_stack(best), -600.0), axis=1)
    p = float(np.mean(total >= total[0] - 1e-9))
    adjusted, effective = _step_down(log_p)
    smallest = 1 / len(Z)
    if p > 1.5 * smallest:  # no column is named where the whole is not
        adjusted = np.maximum(adjusted, p)
    return Evidence(
        p, functions, Z[0].astype(np.float64), family, first, second, log_p[0], z2[0], adjusted,
        effective, smallest,
    )  # fmt: skip


def log_tail(z2: Floats) -> Floats:
    """log of the two-sided normal tail beyond √z2."""
    return np.asarray(np.log(2) + special.log_ndtr(-np.sqrt(z2)))


def effective_number(p: Floats) -> Floats:
    """How many independent tests have this median of their smallest p-value."""
    median = np.clip(np.median(p, axis=0), 1e-12, 1 - 1e-9)
    return np.asarray(np.maximum(np.log(0.5) / np.log1p(-median), 1.0))


def _step_down(log_p: Floats) -> tuple[Floats, float]:
    """Adjusted p-values (step-down max-T), and the effective number of units.

    Where no labelling comes near, the normal tail times that number.
    """
    order = np.argsort(log_p[0], kind="stable")
    least = np.minimum.accumulate(log_p[1:, order][:, ::-1], axis=1)[:, ::-1]
    p = (1 + (least <= log_p[0, order]).sum(axis=0)) / len(log_p)
    number = max(0.05 / float(np.quantile(np.exp(log_p[1:].min(axis=1)), 0.05)), 1.0)
    tail = np.minimum(p, np.exp(log_p[0, order]) * number)
    p = np.where(p * len(log_p) < 1.5, tail, p)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(np.minimum(p, 1.0))
    return adjusted, number


def _differences(F: NDArray[np.float32], labellings: Labellings) -> NDArray[np.float32]:
    """z of every function for every labelling; of rare 0/1 functions by the exact mid-p."""
    a, b = labellings.means(F)
    Z: NDArray[np.float32] = (a - b) * labellings.root
    if labellings.grouped or not F.shape[1]:
        return Z
    n, n_a = len(F), int(labellings.n_a[0, 0])
    low, high = F.min(axis=0), F.max(axis=0)
    middle = (low + high) / 2
    binary = (np.minimum(F - low, high - F) < 1e-4).all(axis=0)
    count = (middle < F).sum(axis=0)
    few = np.minimum(count, n - count)
    rare = np.flatnonzero(binary & (few * min(n_a, n - n_a) < RARE * n))
    if not len(rare):
        return Z
    flip = np.where(2 * count[rare] <= n, 1.0, -1.0)
    on = ((F[:, rare] > middle[rare]) == (flip > 0)).astype(np.float32)
    drawn = np.rint(labellings.labels @ on).astype(np.intp)
    for k in np.unique(few[rare]):
        table = _rare_z(n, int(k), n_a).astype(np.float32)
        at = np.flatnonzero(few[rare] == k)
        Z[:, rare[at]] = flip[at] * table[drawn[:, at]]
    return Z


def _rare_z(n: int, k: int, n_a: int) -> Floats:
    """z of the mid-p of 0 to k of k marked rows among n_a of n, by the hypergeometric law."""
    x = np.arange(k + 1)
    log_choose = special.gammaln(np.array([k, n - k, n]) + 1.0)
    ways = (
        log_choose[0] - special.gammaln(x + 1.0) - special.gammaln(k - x + 1.0)
        + log_choose[1] - _log_factorial(n_a - x) - _log_factorial(n - k - n_a + x)
        - (log_choose[2] - special.gammaln(n_a + 1.0) - special.gammaln(n - n_a + 1.0))
    )  # fmt: skip
    mass = np.exp(ways)
    up = np.maximum(np.cumsum(mass[::-1])[::-1] - mass / 2, 1e-300)
    down = np.maximum(np.cumsum(mass) - mass / 2, 1e-300)
    return np.asarray(np.where(up < 0.5, -special.ndtri(up), special.ndtri(down)))


def _log_factorial(x: NDArray[np.intp]) -> Floats:
    """log x!, infinite below 0."""
    return np.asarray(np.where(x < 0, np.inf, special.gammaln(np.maximum(x, 0) + 1.0)))


def _correlations(
    rows: RowFunctions, labellings: Labellings
) -> tuple[list[Function], NDArray[np.float32]]:
    """Differences of the sets' correlations of scores, each about its own mean and spread."""
    scores = rows.scores
    if len(scores.column) < 2:
        return [], np.zeros((len(labellings.labels), 0), np.float32)
    best = np.argsort(-predicted(scores.correlation), kind="stable")
    i, j = (np.sort(best[:PAIRED])[index] for index in np.tril_indices(min(len(best), PAIRED), -1))
    G = np.clip(scores.values, -CUT, CUT)
    numbers = np.sort(np.array([k for k in best if not scores.level[k]][:BENT], dtype=np.intp))
    bent = G[:, numbers] ** 2  # a parabola has no correlation, but one with the square
    bent = (bent - bent.mean(axis=0)) / np.maximum(bent.std(axis=0), 1e-9)
    k, m = (index.ravel() for index in np.indices((len(numbers), len(numbers))))
    i, j = np.concatenate([i, numbers[k]]), np.concatenate([j, G.shape[1] + m])
    G = np.hstack([G, bent])
    column = np.concatenate([scores.column, scores.column[numbers]])
    level = (*scores.level, *[SQUARE] * len(numbers))
    apart = column[i] != column[j]
    i, j = i[apart], j[apart]
    means = labellings.means(G)
    spreads = [
        np.sqrt(np.maximum(square - mean**2, 0.01))
        for mean, square in zip(means, labellings.means(G**2), strict=True)
    ]
    Z = np.empty((len(labellings.labels), len(i)), np.float32)
    for at in range(0, len(i), 512):
        a, b = i[at : at + 512], j[at : at + 512]
        r = [
            (product - mean[:, a] * mean[:, b]) / (spread[:, a] * spread[:, b])
            for product, mean, spread in zip(
                labellings.means(G[:, a] * G[:, b]), means, spreads, strict=True
            )
        ]
        difference = (r[0] - r[1]) * labellings.root
        Z[:, at : at + 512] = difference / np.maximum(difference.std(axis=0), LEAST_SPREAD)
    found = [
        Function(
            "relation", int(column[a]), int(column[b]), (level[a], level[b]),
        )
        for a, b in zip(i, j, strict=True)
    ]  # fmt: skip
    return found, Z


def _joint(
    rows: RowFunctions, labellings: Labellings, functions: list[Function], Z: NDArray[np.float32]
) -> dict[str, Floats]:
    """Log tail probabilities of what all columns say together; see JOINT."""
    R = rows.scores.correlation
    if not len(R):
        return {}
    kind = np.array([one.kind if one.family != PAIR else "" for one in functions])

    def contrast(X: NDArray[np.floating]) -> NDArray[np.float32]:
        first, second = labellings.means(X.astype(np.float32))
        return np.asarray((first - second) * labellings.root)

    def sums(*kinds: str) -> NDArray[np.float32]:
        return np.asarray((Z[:, np.isin(kind, kinds)] ** 2).sum(axis=1))

    G = np.clip(rows.scores.values, -CUT, CUT)
    P = np.linalg.inv(R + RIDGE * np.eye(len(R))).astype(np.float32)
    U = rows.plain()
    length = (U * U).sum(axis=1)
    U = (U - U.mean(axis=0)) / np.maximum(U.std(axis=0), 1e-9)
    values, vectors = np.linalg.eigh(U.T @ U / len(U))
    Y = U @ (vectors[:, -DIRECTIONS:] / (np.maximum(values[-DIRECTIONS:], 0) + 0.1) ** 0.25)
    a, b = np.triu_indices(Y.shape[1])
    m, products = contrast(G), contrast(Y[:, a] * Y[:, b])
    D = np.zeros((len(m), Y.shape[1], Y.shape[1]), np.float32)
    D[:, a, b] = D[:, b, a] = products
    one_sided = {  # powers that make them nearly normal
        "means": (m * m).sum(axis=1) ** (1 / 3),
        "spreads": sums("spread") ** (1 / 3),
        "shapes": sums("shape", "low end", "high end") ** (1 / 3),
        "whitened": ((m @ P) * m).sum(axis=1) ** (1 / 3),
        "moments": np.square(D @ D).sum(axis=(1, 2)) ** (1 / 6),
    }
    sizes = contrast(np.column_stack([length, ((G @ P) * G).sum(axis=1)])).T
    two_sided = {"length": sizes[0], "cost": sizes[1]}
    if (at := np.flatnonzero(kind == "identity")).size:
        one_sided["identity"] = np.abs(Z[:, at]).max(axis=1)
    return {
        name: np.asarray(special.log_ndtr(-_standard(one))) for name, one in one_sided.items()
    } | {
        name: np.asarray(np.log(2) + special.log_ndtr(-np.abs(_standard(one))))
        for name, one in two_sided.items()
    }


def _standard(values: NDArray[np.floating]) -> Floats:
    values = values.astype(np.float64)
    return np.asarray((values - values.mean()) / max(float(values.std()), 1e-12))
