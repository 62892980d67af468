"""Two samples of one column: do they come from one distribution?

All tests are rank or count tests whose null distribution is that of relabelling the rows, so they
hold for every distribution, with ties, and for sets of unequal sizes. With u the mid-rank of a
value among all rows, scaled to [-1, 1], the scores u, 3u² - 1, and the next two Legendre
polynomials, each made orthogonal to those before it, are bounded; a sum of scores over the rows of
A is close to normal, up to a skewness that is known exactly and allowed for.

- **mean**: the first score (Wilcoxon's test);
- **spread**: the second (Mood's; ``spreads`` has another where the sets lie apart);
- **shape**: the third and fourth together, or the largest gap between the two distribution
  functions (Kolmogorov-Smirnov, which ties only make more cautious), whichever is stronger.

Where hardly any row differs from the usual value, counts are too small for all that: Fisher's
exact test asks how many rows do.

Probabilities are kept as logarithms, so that strong evidence still has an order.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from cospan._tolerance import DEPENDENT_SCORE, NOT_ZERO
from cospan._types import Floats

#: Numbers handled at once: what is made of them stays in the processor's cache.
_BLOCK = 2**18
#: A normal or chi-square approximation of counts needs at least so many expected.
_ENOUGH = 5
_RARE = 10
_MANY = 25
#: Below this skewness a normal tail is as good as a skewed one.
_SKEWED = 0.02


class OrderedTests(NamedTuple):
    """Logarithms of p-values, (d,) each, and the Kolmogorov-Smirnov distances."""

    mean: Floats
    spread: Floats
    shape: Floats
    distance: Floats
    gap: Floats  # the Kolmogorov-Smirnov test alone
    at: Floats  # where the two distribution functions are farthest apart, and both there
    below_a: Floats
    below_b: Floats


def compare_ordered(a: Floats, b: Floats) -> OrderedTests:
    """Test every column of two sets of rows without gaps."""
    n, d = len(a) + len(b), a.shape[1]
    step = max(1, _BLOCK // n)
    parts = [
        _compared(np.concatenate([a[:, i : i + step], b[:, i : i + step]]).T, len(a))
        for i in range(0, d, step)
    ]
    return OrderedTests(*(np.concatenate(x) for x in zip(*parts, strict=True)))


def _compared(values: Floats, n_a: int) -> OrderedTests:
    """Tests of a few columns, which are the rows of `values`; A's values come first."""
    n = values.shape[1]
    n_b = n - n_a
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    start, end = _runs(ordered)
    in_a = (order < n_a).astype(np.float64)
    below_a = np.cumsum(in_a, axis=1)
    gaps = below_a / n_a - (np.arange(1, n + 1) - below_a) / n_b
    rows = np.arange(len(values))
    widest = end[rows, np.argmax(np.abs(np.take_along_axis(gaps, end, axis=1)), axis=1)]
    distance = np.abs(gaps[rows, widest])
    up_to_a = below_a[rows, widest]
    farthest = ordered[rows, widest], up_to_a / n_a, (widest + 1 - up_to_a) / n_b
    gap = _log_kolmogorov(distance * math.sqrt(n_a * n_b / n))
    z, skewness, live = _score_sums((start + end + 1) / n - 1, in_a, n_a)
    mean, spread = (_log_two_sided(z[k], skewness[k]) for k in (0, 1))
    degrees = live[2].astype(int) + live[3]
    further = _log_chi_square(z[2] ** 2 + z[3] ** 2, degrees)
    shape = np.minimum(0.0, np.minimum(further, gap) + math.log(2))
    rare, exact = _rare_values(start, end, below_a, n_a)
    mean = np.where(rare, exact, mean)
    spread, shape = np.where(rare, 0.0, spread), np.where(rare, 0.0, shape)
    return OrderedTests(mean, spread, shape, distance, gap, *farthest)


def _runs(ordered: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each place in sorted rows, the first and the last place with the same value."""
    n = ordered.shape[1]
    new = np.ones(ordered.shape, dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=new[:, 1:])
    places = np.arange(n)
    start = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    last = np.ones_like(new)
    last[:, :-1] = new[:, 1:]
    end = np.minimum.accumulate(np.where(last, places, n)[:, ::-1], axis=1)[:, ::-1]
    return start, end


def _score_sums(u: Floats, in_a: Floats, n_a: int) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Standardised sums of four scores over A, their skewness, and which of them exist; (4, w).

    A column with two different values has one score, one with three has two, and so on.
    """
    w, n = u.shape
    variance = n_a * (n - n_a) / (n * (n - 1))
    lean = (n - n_a) * (n - 2 * n_a) / (n_a**2 * (n - 1) * max(1, n - 2))
    of_mean = (n - n_a) / (n_a * (n - 1))
    squared = u * u
    scores = (u, 1.5 * squared, u * (2.5 * squared - 1.5), squared * (4.375 * squared - 3.75))
    z, skewness, live = np.zeros((4, w)), np.zeros((4, w)), np.zeros((4, w), dtype=bool)
    before: list[Floats] = []
    for k, score in enumerate(scores):
        score = score - score.mean(axis=1, keepdims=True)
        size = np.einsum("ij,ij->i", score, score)
        for other in before:
            score = score - np.einsum("ij,ij->i", score, other)[:, None] * other
        left = np.einsum("ij,ij->i", score, score)
        live[k] = left > DEPENDENT_SCORE * np.maximum(size, NOT_ZERO)
        unit = score * np.where(live[k], 1 / np.sqrt(np.where(live[k], left, 1.0)), 0.0)[:, None]
        z[k] = np.einsum("ij,ij->i", unit, in_a) / math.sqrt(variance)
        cubes = np.einsum("ij,ij->i", unit * unit, unit) * math.sqrt(n)
        skewness[k] = lean * cubes / of_mean**1.5
        before.append(unit)
    return z, skewness, live


def _rare_values(
    start: NDArray[np.intp], end: NDArray[np.intp], below_a: Floats, n_a: int
) -> tuple[NDArray[np.bool_], Floats]:
    """Columns in which hardly any row differs from the usual value, and Fisher's test of them."""
    w, n = start.shape
    longest = np.argmax(end - start, axis=1)
    rows = np.arange(w)
    first, last = start[rows, longest], end[rows, longest]
    others = n - (last - first + 1)
    in_a = below_a[rows, last] - np.where(first > 0, below_a[rows, first - 1], 0)
    rare = (others < n / 2) & (others * min(n_a, n - n_a) < _RARE * n)
    exact = np.zeros(w)
    if rare.any():
        away = n_a - in_a[rare]
        exact[rare] = log_fisher(away, n_a, others[rare] - away, n - n_a)
    return rare, exact


def log_fisher(hits_a: ArrayLike, n_a: ArrayLike, hits_b: ArrayLike, n_b: ArrayLike) -> Floats:
    """Fisher's exact test that something is as frequent in B as in A, twice the smaller tail.

    Where many are expected either way: the normal approximation, less half a count.
    """
    k, n, other, m = (np.atleast_1d(np.asarray(x, float)) for x in (hits_a, n_a, hits_b, n_b))
    k, n, other, m = np.broadcast_arrays(k, n, other, m)
    total, hits = n + m, k + other
    expected = hits * n / total
    spare = np.minimum(hits, total - hits) * np.minimum(n, m) / total
    variance = expected * (total - hits) * m / (total * np.maximum(1.0, total - 1))
    away = np.maximum(0.0, np.abs(k - expected) - 0.5)
    found = _log_two_sided(away / np.sqrt(np.maximum(variance, NOT_ZERO)))
    for i in np.flatnonzero((spare < _MANY) & (variance > 0)):
        found[i] = _log_hypergeometric(k[i], total[i], hits[i], n[i])
    return np.where(variance > 0, np.minimum(0.0, found), 0.0)


def _log_hypergeometric(k: float, total: float, hits: float, n: float) -> float:
    """Log of twice the smaller tail of a hypergeometric count."""
    low, high = max(0.0, n - (total - hits)), min(hits, n)
    below = k - low <= high - k
    x = np.arange(low, k + 1) if below else np.arange(k, high + 1)

    def log_choose(N: float, K: Any) -> Any:
        g = special.gammaln
        return g(N + 1) - g(K + 1) - g(N - K + 1)

    terms = log_choose(hits, x) + log_choose(total - hits, n - x) - log_choose(total, n)
    tail = float(special.logsumexp(terms))
    # The shorter tail is summed; the other one is what it leaves, and holds the count itself too.
    at = float(terms[-1] if below else terms[0])
    rest = math.log(max(0.0, -math.expm1(min(0.0, tail))) + math.exp(at))
    return min(0.0, math.log(2) + min(tail, rest))


def compare_levels(counts_a: Floats, counts_b: Floats) -> tuple[float, Floats]:
    """Log p-value of a category, and of each of its levels (adjusted over the levels).

    A chi-square test of all levels together, those with small counts taken as one, and Fisher's
    exact test of each: whichever is stronger, doubled.
    """
    n_a, n_b = counts_a.sum(), counts_b.sum()
    if min(n_a, n_b) == 0:
        return 0.0, np.zeros(len(counts_a))
    seen = np.count_nonzero(counts_a + counts_b)
    single = log_fisher(counts_a, n_a, counts_b, n_b)
    levels = np.minimum(0.0, single + math.log(max(1, seen - (seen == 2))))
    together = _log_counts(counts_a, counts_b)
    if seen <= 2:
        return float(levels.min()), levels
    return min(0.0, min(together, float(levels.min())) + math.log(2)), levels


def _log_counts(counts_a: Floats, counts_b: Floats) -> float:
    n_a, n_b = counts_a.sum(), counts_b.sum()
    total = counts_a + counts_b
    rare = total * min(n_a, n_b) < _ENOUGH * (n_a + n_b)
    a = np.append(counts_a[~rare], counts_a[rare].sum())
    total = np.append(total[~rare], total[rare].sum())
    enough = total * min(n_a, n_b) >= _ENOUGH * (n_a + n_b)
    a, total = a[enough], total[enough]
    n = total.sum()
    share = a.sum() / max(n, 1)
    if len(a) < 2 or not 0 < share < 1:  # levels of one set alone are tested one by one
        return 0.0
    stray = (a - share * total) ** 2 / (share * (1 - share) * total)
    statistic = stray.sum() * (n - 1) / n
    return float(_log_chi_square(np.array([statistic]), np.array([len(a) - 1]))[0])


def adjusted(log_p: Floats, count: int | None = None) -> Floats:
    """Benjamini and Hochberg's adjustment of log p-values, the smallest of `count` ones."""
    if not len(log_p):
        return log_p
    order = np.argsort(log_p, kind="stable")
    ranks = np.arange(1, len(log_p) + 1)
    scaled = log_p[order] + math.log(count or len(log_p)) - np.log(ranks)
    found = np.empty(len(log_p))
    found[order] = np.minimum(0.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return found


def _log_two_sided(z: Floats, skewness: Floats | None = None) -> Floats:
    """Log of twice the smaller tail; of a normal, or of a gamma distribution with a skewness."""
    found = math.log(2) + stats.norm.logsf(np.abs(z))
    if skewness is not None and (far := np.abs(skewness) > _SKEWED).any():
        shape = 4 / skewness[far] ** 2
        at = shape + np.sign(skewness[far]) * z[far] * np.sqrt(shape)
        at = np.maximum(at, 0.0)
        tail = np.minimum(special.gammainc(shape, at), special.gammaincc(shape, at))
        with np.errstate(divide="ignore"):
            tail = math.log(2) + np.log(tail)
        # A gamma's short side ends where permutations' may not: there the normal tail holds.
        found[far] = np.where(np.isfinite(tail), np.maximum(tail, found[far]), found[far])
    return np.asarray(np.minimum(0.0, found))


def _log_chi_square(x: Floats, degrees: NDArray[np.int_]) -> Floats:
    """Log of the chi-square tail, also where it is below the smallest double."""
    k = np.maximum(degrees, 1)
    with np.errstate(divide="ignore"):
        found = np.log(stats.chi2.sf(x, k))
    far = ~np.isfinite(found)
    half = np.maximum(x / 2, NOT_ZERO)
    distant = (k / 2 - 1) * np.log(half) - half - special.gammaln(k / 2)
    return np.asarray(np.where(degrees > 0, np.where(far, distant, found), 0.0))


def _log_kolmogorov(x: Floats) -> Floats:
    """Log tail of Kolmogorov's distribution; beyond 3 its first term is all there is."""
    near = np.log(np.maximum(special.kolmogorov(np.minimum(x, 3.0)), NOT_ZERO))
    return np.minimum(0.0, np.where(x < 3, near, math.log(2) - 2 * x * x))
