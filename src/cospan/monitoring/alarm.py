"""When to raise an alarm: sums of standardised values, with a threshold that a simulation sets.

A value x of a window becomes z = (x - μ) / √((τ² + 1/n) g): μ the reference's mean, τ² what its
windows vary beyond sampling, g how much longer than one window deviations last. Of each function
two one-sided sums are kept, S ← max(0, S ± z - k), and one that passes h (1 + 7g/W) is an alarm. h
is simulated for W windows of reference, the number of functions and the rate of false alarms that
is stated, everything being estimated from W windows as here. Runs of alarms become episodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cospan.base.tolerance import LEAST_VARIANCE, NOT_ZERO
from cospan.base.types import Floats, Index

from .functions import Watched
from .windows import Every

#: With fewer windows of reference nothing can be judged.
FEWEST_WINDOWS = 14
#: Patterns are learned from this many of their periods on.
PERIODS = 4
#: Slack k = 3/4 + 1/√W: a shift below the error of the reference's own mean cannot be told.
SLACK = 0.75
#: Standard errors that are added to an autocorrelation, the smallest to divide by, and the largest.
ERRORS, LEAST_ALIKE, MOST_ALIKE = 1.5, 0.05, 0.97
#: The threshold of a function is h (1 + RESEMBLING g / W).
RESEMBLING = 7.0
#: Simulated functions, and how windows follow each other in one half and in the other: AR(1).
SIMULATED, AR, SEED = 20_000, (0.0, 0.5), 7
#: The share of the largest sums that an exponential is fitted to, and the most windows simulated.
TAIL, MOST_SIMULATED = 0.01, 400
#: After more windows below all thresholds what passes next begins an episode of its own.
APART = 3
#: Kinds of functions that say something of two columns, or of one given the others.
BETWEEN = ("relation", "given", "scatter")


def long_run(D: Floats) -> Floats:
    """How many times the variance of a sum of windows exceeds that of independent ones.

    D are deviations, (windows, functions). 1 + 2 r / (1 - φ), r the first autocorrelation with an
    allowance for its error, φ how slowly it decays. Autocorrelations are drawn to their mean over
    the functions as far as they differ by chance (James and Stein).
    """
    W = len(D)
    total = (D * D).sum(axis=0)
    varies = total > W * LEAST_VARIANCE

    def lagged(lag: int) -> Floats:
        r = (D[lag:] * D[:-lag]).sum(axis=0) / np.where(varies, total, 1.0)
        return np.asarray(r + (1 + 3 * r) / W)

    r1, r2 = lagged(1), lagged(2)
    mean = r1[varies].mean() if varies.any() else 0.0
    scatter = W * float(((r1[varies] - mean) ** 2).sum())
    own = float(np.clip(1 - (varies.sum() - 3) / max(scatter, NOT_ZERO), 0, 1))
    error = np.sqrt(own * np.clip(1 - r1 * r1, 0, 1) / W)
    r = np.clip(mean + own * (r1 - mean) + ERRORS * error, 0, MOST_ALIKE)
    slow = np.clip(r2 / np.maximum(r1, LEAST_ALIKE), r, MOST_ALIKE)
    phi = np.where(np.minimum(r1, r2) > 2 / np.sqrt(W), slow, r)
    return np.where(varies, 1 + 2 * r / (1 - phi), 1.0)


@cache
def threshold(windows: int, functions: int, rate: float, per_year: float) -> float:
    """h for `rate` false alarms a year over so many functions, by simulation.

    >>> low, high = threshold(90, 100, 1.0, 365.0), threshold(30, 100, 1.0, 365.0)
    >>> 4 < low < high < 20
    True
    """
    W, T = min(windows, MOST_SIMULATED), int(min(np.ceil(per_year), MOST_SIMULATED))
    rng, k, tops = np.random.default_rng(SEED), SLACK + 1 / np.sqrt(W), []
    for phi in np.array(AR, dtype=np.float32):
        X = rng.standard_normal((W + T, SIMULATED // len(AR)), dtype=np.float32)
        for t in range(1, W + T):
            X[t] = phi * X[t - 1] + np.sqrt(1 - phi**2) * X[t]
        mean = X[:W].mean(axis=0)
        D = X[:W] - mean
        g = long_run(D)
        sd = np.sqrt((D * D).sum(axis=0) / (W - 1) * g)
        up, down, top = np.zeros((3, X.shape[1]))
        for x in X[W:]:
            z = (x - mean) / sd
            up, down = np.maximum(0, up + z - k), np.maximum(0, down - z - k)
            top = np.maximum(top, np.maximum(up, down))
        tops.append(top / (1 + RESEMBLING * g / W))
    largest = np.sort(np.concatenate(tops))
    chance = -np.expm1(-rate * T / per_year / functions)
    if chance >= TAIL:
        return float(np.quantile(largest, 1 - chance))
    cut = largest[int((1 - TAIL) * len(largest))]
    return float(cut + (largest[largest > cut] - cut).mean() * np.log(TAIL / chance))


@dataclass(frozen=True, eq=False)
class Alarm:
    """What the reference's windows make usual, for every function."""

    mean: Floats
    pattern: Floats  # (season, functions): what is added to the mean, by the place in the season
    tau2: Floats
    g: Floats
    k: float
    h: Floats
    judged: NDArray[np.bool_]  # functions that most windows of the reference have rows for

    @classmethod
    def learn(cls, X: Floats, N: Floats, phase: Index, rate: float, every: Every) -> Alarm:
        """Learn from values and row counts of the reference's windows, (windows, functions)."""
        W, season = len(X), every.season
        use = N > 0
        judged = use.sum(axis=0) >= W / 2
        count = np.maximum(use.sum(axis=0), 1)
        mean = np.where(use, X, 0.0).sum(axis=0) / count
        D = np.where(use, X - mean, 0.0)
        pattern, spent = _pattern(D, phase, season)
        D = np.where(use, D - pattern[phase % season], 0.0)
        noise = np.where(use, 1 / np.maximum(N, 1), 0.0)
        between = (D * D).sum(axis=0) / np.maximum(count - 1 - spent, 1) * (1 + spent / W)
        tau2 = np.maximum(0.0, between - noise.sum(axis=0) / count)
        g = long_run(D / np.sqrt(tau2 + np.where(use, noise, 1.0)))
        h = threshold(W, max(1, int(judged.sum())), rate, every.per_year) * (1 + RESEMBLING * g / W)
        return cls(mean, pattern, tau2, g, SLACK + 1 / np.sqrt(W), h, judged)

    def z(self, X: Floats, N: Floats, phase: Index) -> Floats:
        """Standardised values of windows; 0 where a function has no rows."""
        D = X - self.mean - self.pattern[phase % len(self.pattern)]
        z = D / np.sqrt((self.tau2 + 1 / np.maximum(N, 1)) * self.g)
        return np.where((N > 0) & self.judged, z, 0.0)


def _pattern(D: Floats, phase: Index, season: int) -> tuple[Floats, Floats]:
    """Means of the same weekday (or hour), shrunk, and the degrees of freedom they take."""
    W, m = D.shape
    counts = np.bincount(phase % season, minlength=season)
    if season == 1 or PERIODS * season > W or counts.min() < 2:
        return np.zeros((season, m)), np.zeros(m)
    means = np.array([D[phase % season == q].mean(axis=0) for q in range(season)])
    rest = ((D - means[phase % season]) ** 2).sum(axis=0) / (W - season)
    F = (counts[:, None] * means**2).sum(axis=0) / np.maximum(rest, LEAST_VARIANCE)
    kept = np.maximum(0.0, 1 - 2 * (season - 1) / np.maximum(F, NOT_ZERO))
    return means * kept, (season - 1) * kept


# ---- sums and episodes -------------------------------------------------------------------------


@dataclass
class Run:
    """Windows of one episode, by their places, and what passed."""

    start: int
    alarm: int
    evidence: Floats
    end: int | None = None  # the last window above the threshold, where it is over
    #: Functions that passed, by window.
    announced: dict[int, list[int]] = field(default_factory=dict)


def follow(Z: Floats, H: Floats, k: float) -> tuple[Floats, list[Run]]:
    """The largest sum of each window over its threshold, and the runs of alarms.

    z and thresholds are (windows, functions). While an episode lasts a sum is capped at its
    threshold and has half the mean deviation taken off, so that it ends soon after its cause;
    another function that passes meanwhile is announced. One that passes when all have been below
    their thresholds for some windows has another cause: its episode is the next.
    """
    both, H = np.concatenate([Z, -Z], axis=1), np.concatenate([H, H], axis=1)
    T, m = both.shape
    S, total = np.zeros(m), np.zeros(m)
    zero, last = np.full(m, -1), -1
    on = np.zeros(m, dtype=bool)
    level, runs = np.zeros(T), []
    now: Run | None = None
    for t, (z, h) in enumerate(zip(both, H, strict=True)):
        lasting = 0.5 * total / np.maximum(t - zero - 1, 1)
        S = np.maximum(0.0, S + z - np.where(on, np.maximum(k, lasting), k))
        above = h < S
        new = above & ~on
        if now is not None and new.any() and t - last > APART and not (above & on).any():
            now.end, now = last, None
            on[:] = False
        on |= above
        last = t if above.any() else last
        level[t] = (S / h).max(initial=0.0)
        first = int(np.argmax(new * S / h))
        S, total = np.minimum(S, h), total + z
        over = S <= 0
        if new.any():
            if now is None:
                since = both[zero[first] + 1 : t + 1, first][::-1].cumsum()
                clearest = np.argmax(since / np.sqrt(np.arange(1, len(since) + 1)))
                now = Run(t - int(clearest), t, np.full(m, -np.inf))
                runs.append(now)
            now.announced[t] = (np.flatnonzero(new) % (m // 2)).tolist()
        if now is not None:
            length = np.sqrt(np.maximum(t - zero, 1))
            now.evidence = np.maximum(now.evidence, np.where(on, total / length, -np.inf))
        zero[over], total[over] = t, 0.0
        on &= ~over
        if now is not None and not on.any():
            now.end, now = last, None
    for run in runs:
        run.evidence = np.maximum(*np.split(run.evidence, 2))
    return level, runs


def blamed(table: Sequence[Watched], evidence: Floats) -> tuple[str, ...]:
    """As few columns as explain what passed: those that moved by themselves first.

    What is left of a column is so given all others: any blamed one explains it. A relation is
    explained by its own two. Of the rest those with most evidence are blamed, and so on.
    """
    passed = [(one, v) for one, v in zip(table, evidence.tolist(), strict=True) if v > 0]
    own: dict[str, float] = {}
    for one, value in passed:
        if one.kind not in BETWEEN:
            own[one.column] = max(own.get(one.column, 0.0), value)
    found = sorted(own, key=lambda name: -own[name])
    while True:
        touched: Counter[str] = Counter()
        for one, value in passed:
            relation = one.kind == "relation"
            columns = (one.column, one.detail) if relation else (one.column,)
            explained = set(columns) & set(found) if relation else found
            if one.kind in BETWEEN and not explained:
                touched.update(dict.fromkeys(columns, value))
        if not touched:
            return tuple(found)
        found += [name for name in touched if touched[name] == max(touched.values())]
