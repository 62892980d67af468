"""Labels that look wrong: rows that another class explains better than their own.

How many labels are flipped, and which ones, is a matter of likelihood. A row x belongs to class t
with the probability q_t(x). Its label is t with the probability 1-ε_t, and any other with
ε_t/(K-1). So the label y is seen with the probability

    (1-ε_y) q_y + Σ ε_t q_t/(K-1)  over t ≠ y        and is a flip, given that, by the sum's share

The q are those of the audited probabilities p with a gain and offsets of their own,
q_k ∝ exp(gain·log p_k + bias_k): flips blur p, and the gain undoes that. Gain, biases and rates
are a maximum-likelihood fit: no flips, one rate for all classes, or (sick people filed as healthy,
never the other way round) a rate for each, where that explains the labels clearly better. Classes
that overlap are fitted as well without flips: the rates come out near 0, and nothing stands out.

Two cases the likelihood cannot decide. Classes that overlap leave no wide empty gap: rows on the
far side of one are flips. And where a label hangs on things the columns do not show, many flips
look like overlap: a rate above an eighth counts only where hardly any other row is on the wrong
side.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc, softmax

from cospan.base import arrays
from cospan.base.checks import as_rows, feature_names_of
from cospan.base.tables import make_dataframe
from cospan.base.tolerance import NOT_ZERO
from cospan.base.types import Array, Bools, Data, DataFrame, Floats, Index, Values
from cospan.comparison.opening import Settings
from cospan.data import encode, notes_of, open_source
from cospan.errors import InputError, warn
from cospan.evidence import rank_auc
from cospan.model import Given, RowsAgain, SetCosts, calibrated_weights
from cospan.summary import Summary

PRECISION = 0.8  # of the labels that are flagged so many should be flipped
# Standard errors above chance that separate two classes. The shrinkage was chosen to separate
# them, so the AUC of meaningless labels spreads a little more than it should: 1 % reach 3.
_ERRORS_ABOVE_CHANCE = 3.0
# By chance alone this share of clean sets shows flips at one rate, and rates of their own.
_CHANCE, _CHANCE_OWN = 0.05, 0.02
_LEAST_RATE, _LARGEST_RATE = 1e-6, 0.4  # above, there is no telling which labels are right
# Above this, flips count only where at most so many other rows are on the wrong side.
_MANY, _FEW_OTHERS = 0.12, 0.03
# An empty gap between two classes: in units of the spread of both, and how far apart they are.
_GAP, _APART = 0.5, 4.0
_SURE = 12.0  # the logarithm of the odds at the edges of such a gap: next to certain
_MOST_ROWS = 10_000  # that rates are fitted to: they give them to a fifth of a per cent
# Gains, as multiples of the clean fit's, and rates to start from: flips hide how steep the
# probabilities are, and there may be a second minimum near the clean fit.
_STARTS = ((1.2, 0.02), (1.6, 0.05), (2.5, 0.1))
_ONE_CLASS = (0.1, 1e-3)  # where all flips come from one class: of this one, and of the others


@dataclass(frozen=True, eq=False)
class LabelAudit:
    """What the geometry of the classes says about the labels, in the order of the rows."""

    #: (n,), from 0 to 1, high = likely wrong: 1 minus the probability of the given label. A class
    #: that many rows have is more probable beforehand, as long as the rows are those of one table
    suspicion: Floats
    #: (n,): the probability that the label is flipped, given the overlap of the classes
    mislabelled: Floats = field(repr=False)
    suggested: Values  # (n,): the most probable class
    #: (n,): labels worth a look: another class is more probable, and of all that are flagged the
    #: stated share is expected to be flipped. Never between classes that are `inseparable`
    flagged: Bools
    labels: Values  # (n,): as given
    #: (n, K): the probability of each class if all were equally common, every row left out of
    #: its own; rows sum to 1
    weights: Floats = field(repr=False)
    classes: Values  # (K,)
    noise_rate: float  # the estimated share of flipped labels; 0 without evidence for any
    #: Pairs of classes that left-out rows separate no better than chance
    inseparable: tuple[tuple[Any, Any], ...]

    @classmethod
    def from_weights(
        cls,
        weights: ArrayLike,
        own: ArrayLike,
        classes: ArrayLike,
        labels: ArrayLike | None = None,
        precision: float = PRECISION,
        *,
        shares: ArrayLike | None = None,
    ) -> LabelAudit:
        """Audit rows that are scored already, each left out of its class.

        `weights` (n, K) are the probabilities of the classes, `own` (n,) the number of the class
        each row is labelled with, `shares` (K,) how common the classes are (default: equally).
        """
        if not (isinstance(precision, int | float | np.number) and 0 <= precision <= 1):
            raise InputError(f"precision is {precision!r}; it must be a number from 0 to 1.")
        weights, own = np.asarray(weights, dtype=np.float64), np.asarray(own, dtype=np.intp)
        classes = np.asarray(classes)
        pairs = itertools.combinations(range(len(classes)), 2)
        inseparable = [pair for pair in pairs if not separates(weights, own, *pair)]
        # Classes that are not separated count as one: between them no label is wrong.
        group = _groups(inseparable, len(classes))
        together = np.eye(group.max() + 1)[group]
        of_groups = weights @ together
        flips = fit_flips(of_groups, group[own])
        mislabelled = flips.mislabelled(of_groups, group[own])
        probable = weights * (1.0 if shares is None else np.asarray(shares, dtype=np.float64))
        probable = probable / probable.sum(axis=1, keepdims=True)
        mine = probable[np.arange(len(own)), own]
        doubted = probable.max(axis=1, initial=0.0) > mine
        best = np.where(doubted, probable.argmax(axis=1), own)
        names = classes.tolist()
        return cls(
            suspicion=1 - mine,
            mislabelled=mislabelled,
            suggested=classes[best],
            flagged=_as_many_as(mislabelled, doubted & (group[best] != group[own]), precision),
            labels=classes[own] if labels is None else np.asarray(labels),
            weights=weights,
            classes=classes,
            noise_rate=flips.rate(of_groups),
            inseparable=tuple((names[i], names[j]) for i, j in inseparable),
        )

    @property
    def theta(self) -> Floats | None:
        """(n,): the leave-one-out angle in radians, for two classes."""
        two = len(self.classes) == 2
        return np.arctan2(*np.sqrt(self.weights.T[::-1])) if two else None

    @property
    def order(self) -> Index:
        """Row numbers, the most suspicious first."""
        return np.argsort(-self.suspicion, kind="stable")

    def to_frame(self, backend: str | None = None) -> DataFrame:
        """A table with the most suspicious rows first: row, label, suggested, suspicion, flagged.

        `backend` is "pandas", "polars" or "pyarrow"; by default the first that is installed.
        """
        order = self.order
        columns = (self.labels, self.suggested, self.suspicion, self.flagged)
        names = ("label", "suggested", "suspicion", "flagged")
        table = {name: values[order] for name, values in zip(names, columns, strict=True)}
        return make_dataframe({"row": order, **table}, backend)

    def __repr__(self) -> str:
        n = len(self.inseparable)
        more = f", {n} inseparable {'pair' if n == 1 else 'pairs'} of classes" if n else ""
        return f"LabelAudit({len(self.labels):,} labels, {int(self.flagged.sum()):,} flagged{more})"


def audit_labels(
    X: Data, y: Any, *, precision: float = PRECISION, **given: Unpack[Given]
) -> LabelAudit:
    """Find labels that look wrong: rows that another class explains better than their own.

    Every row is judged as if its class had been fitted without it, so a wrong label cannot vouch
    for itself. Flagged is what stands out given the overlap of the classes: the share of flipped
    labels is estimated, and with it the probability that a label is one of them. Between two
    classes that left-out rows separate no better than chance, nothing is flagged
    (`LabelAudit.inseparable` names them).

    Parameters
    ----------
    X : array-like or dataframe, (n, d)
        Columns of text, dates and gaps of a dataframe are encoded as in :func:`cospan.compare`.
    y : array-like, (n,)
        Labels: numbers or text, of two or more classes with two or more rows each.
    precision : float in [0, 1]
        The share of the flagged labels that is expected to be flipped: it decides how many are
        flagged. With 0.5 every second flag is one to correct, and more of the flips are found.
    **given
        As for :meth:`cospan.JointFrame.fit`; with a curve where left-out rows ask for one and the
        classes are apart without it, too.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cospan import audit_labels
    >>> X, y = load_digits(return_X_y=True)
    >>> y[[10, 50, 500]] = [9, 1, 2]  # these were 0, 2 and 8
    >>> audit = audit_labels(X, y)
    >>> audit
    LabelAudit(1,797 labels, 3 flagged)
    >>> audit.to_frame("pandas").head(4).round(3)
       row  label  suggested  suspicion  flagged
    0   10      9          0      0.998     True
    1  500      2          8      0.986     True
    2   50      1          2      0.981     True
    3   69      9          7      0.931    False
    """
    rows, names = _rows(X)
    labels, classes, own = _labels(y, rows.shape[0])
    # To flag labels, costs must be probabilities.
    settings: Given = {"curve": "auto", **given, "calibrate": True}
    exact = Settings.of(**settings).are_exact(*rows.shape)
    members = [arrays.pick(rows, np.flatnonzero(own == k)) for k in range(len(classes))]
    costs = SetCosts.from_summaries(
        [replace(Summary.of(part, exact=exact), feature_names=names) for part in members],
        labels=[f"class {label}" for label in classes.tolist()],
        again=RowsAgain([(part, None) for part in members]),
        **settings,
    )
    weights = _left_out(costs, rows, own)
    if costs.curve is not None and "curve" not in given:
        # A class inside another, as a ring in a blob, never has all of its neighbourhood to
        # itself, and the other's rows there look like flips: a curve counts where the classes are
        # apart without it.
        plain = _left_out(costs.plain, rows, own)
        pairs = itertools.combinations(range(len(classes)), 2)
        if not all(separates(plain, own, *pair) for pair in pairs):
            weights = plain
    common = shares_of(own, len(classes))
    return LabelAudit.from_weights(weights, own, classes, labels, precision, shares=common)


def shares_of(own: Index, K: int) -> Floats:
    """How common each of K classes is, none of them never."""
    return np.asarray((np.bincount(own, minlength=K) + 1) / (len(own) + K))


def separates(weights: Floats, own: Index, i: int, j: int) -> bool:
    """Do left-out rows of classes i and j lean to their own class more than by chance?

    By the AUC of the two weights and its standard error; a class without rows passes.
    """

    def lean(rows: Floats) -> Floats:
        both = rows[:, i] + rows[:, j]
        even = np.full(len(rows), 0.5)
        return np.asarray(np.divide(rows[:, j], both, out=even, where=both > 0))

    a, b = lean(weights[own == i]), lean(weights[own == j])
    if not len(a) or not len(b):
        return True
    error = math.sqrt((len(a) + len(b) + 1) / (12 * len(a) * len(b)))
    return rank_auc(a, b) > 0.5 + _ERRORS_ABOVE_CHANCE * error


def _groups(inseparable: list[tuple[int, int]], K: int) -> Index:
    """(K,): the number of the group each class belongs to."""
    from scipy.sparse.csgraph import connected_components

    together = np.eye(K)
    for i, j in inseparable:
        together[i, j] = 1
    return np.asarray(connected_components(together, directed=False)[1], dtype=np.intp)


def _as_many_as(mislabelled: Floats, candidates: Bools, precision: float) -> Bools:
    """The most candidates, the likeliest first, whose mean probability is at least this.

    >>> _as_many_as(np.array([0.1, 0.9, 0.4, 0.8]), np.array([True, True, True, False]), 0.6)
    array([False,  True,  True, False])
    """
    order = np.flatnonzero(candidates & (mislabelled > 0))
    order = order[np.argsort(-mislabelled[order], kind="stable")]
    enough = np.cumsum(mislabelled[order]) >= precision * np.arange(1, len(order) + 1)
    found = np.zeros(len(mislabelled), dtype=bool)
    found[order[: int(enough.sum())]] = True  # a falling mean: enough are the first ones
    return found


def _left_out(costs: SetCosts, rows: Array, own: Index) -> Floats:
    """(n, K): the probabilities of the classes, every row left out of its own."""
    squared = costs.left_out_costs(rows, own)
    return arrays.to_numpy(calibrated_weights(squared, costs.answering.geometry.calibration))


def _rows(X: Data) -> tuple[Array, tuple[str, ...] | None]:
    """Rows of numbers and what they are called; of a table with text or gaps encoded."""
    names = feature_names_of(X)
    try:
        return as_rows(X, "X"), names
    except InputError:
        if names is None:
            raise
    source = encode([open_source(X, name="X")])[0]
    rows = source.read().rows
    warn(notes_of([source]))
    return rows, source.feature_names


def _labels(y: object, n: int) -> tuple[Values, Values, Index]:
    """Labels, their classes and each row's class number, or an error."""
    labels = np.asarray(arrays.to_numpy(y) if arrays.is_array(y) else y)
    if labels.shape != (n,):
        raise InputError(f"y has shape {labels.shape} where ({n},) is expected: one label per row.")
    for k, label in enumerate(labels.tolist()):
        if label is None or label != label:
            raise InputError(f"y has no label at row {k}; leave such rows out.")
    try:
        classes, own = np.unique(labels, return_inverse=True)
    except TypeError:
        raise InputError("y mixes labels of different kinds; use only numbers or text.") from None
    sizes = np.bincount(own)
    if len(classes) < 2:
        raise InputError("y has only one class; an audit needs two or more to choose between.")
    if sizes.min() < 2:
        single = classes.tolist()[sizes.argmin()]
        raise InputError(f"Class {single!r} has a single row; leave it out, or merge it.")
    return labels, classes, own


# ---- flips --------------------------------------------------------------------------------------


class Flips(NamedTuple):
    """What was found out about flipped labels."""

    rates: Floats  # (K,): the share of each true class's labels that are flipped
    gain: float
    biases: Floats  # (K,): the first is 0

    def probabilities(self, weights: Floats) -> Floats:
        """(n, K): the probability of each true class, whatever the label says."""
        return np.asarray(softmax(self.gain * _logarithms(weights) + self.biases, axis=1))

    def mislabelled(self, weights: Floats, own: Index) -> Floats:
        """(n,): the probability that a row's label is flipped."""
        joint = self.probabilities(weights) * _label_given(self.rates, own)
        total = joint.sum(axis=1)
        joint[np.arange(len(own)), own] = 0
        other, none = joint.sum(axis=1), np.zeros(len(own))
        return np.asarray(np.divide(other, total, out=none, where=total > 0))

    def rate(self, weights: Floats) -> float:
        """The share of flipped labels among rows of these weights, whatever their labels."""
        return float((self.probabilities(weights) @ self.rates).mean()) if len(weights) else 0.0


def fit_flips(weights: Floats, own: Index) -> Flips:
    """Estimate the rates of flips and the probabilities behind them, from left-out weights (n, K).

    >>> lean = np.append(np.linspace(0.001, 0.5, 50), np.linspace(0.5, 0.999, 50))
    >>> own = np.repeat([0, 1], 50)
    >>> weights = np.column_stack([1 - lean, lean])
    >>> fit_flips(weights, own).rate(weights)
    0.0
    >>> own[[3, 95]] = 1, 0
    >>> flips = fit_flips(weights, own)
    >>> np.flatnonzero(flips.mislabelled(weights, own) > 0.5).tolist()
    [3, 95]
    """
    K = weights.shape[1]
    step = -(-len(own) // _MOST_ROWS) or 1
    own, x = own[::step], _logarithms(weights[::step])
    x = x - x.mean(axis=1, keepdims=True)
    middle = x.mean(axis=0)
    size = float(np.sqrt(np.square(x - middle).sum(axis=1).mean())) if len(x) else 0.0
    if K == 1 or not size > 0:
        return Flips(np.zeros(K), 1.0, np.zeros(K))
    if K == 2 and (across := _across_a_gap(x[:, 1] - x[:, 0], own)) is not None:
        return across
    found = _explained((x - middle) / size, own, np.append(size, middle[1:] - middle[0]))
    gain = float(found[0]) / size
    biases = np.append(0.0, found[1:K]) - gain * middle
    flips = Flips(_rates_of(found, K), gain, biases - biases[0])
    rate, wrong = flips.rate(weights), float(np.mean(x.argmax(axis=1) != own))
    if rate > _MANY and wrong - rate > _FEW_OTHERS:
        return flips._replace(rates=np.zeros(K))
    return flips


def _across_a_gap(odds: Floats, own: Index) -> Flips | None:
    """What rows on the far side of a gap of log odds say; None where there is no such gap."""
    second = odds > 0
    if second.all() or not second.any():
        return None
    sides = odds[~second], odds[second]
    edges = float(sides[0].max()), float(sides[1].min())
    middles = [float(np.median(side)) for side in sides]
    # Of a normal distribution the median distance from the median is 1/1.4826 sd.
    away = (np.abs(side - middle) for side, middle in zip(sides, middles, strict=True))
    spread = 1.4826 * sum(float(np.median(side)) for side in away)
    wide = edges[1] - edges[0] >= _GAP * spread and middles[1] - middles[0] >= _APART * spread
    rates = np.array([np.mean(own[second == k] != k) for k in (0, 1)])
    if not (wide and spread > 0) or rates.max() > _LARGEST_RATE:
        return None
    gain = 2 * _SURE / (edges[1] - edges[0])
    return Flips(rates, gain, np.array([0.0, -gain * (edges[0] + edges[1]) / 2]))


def _explained(z: Floats, own: Index, start: Floats) -> Floats:
    """The simplest of three fits that explains the labels: no flips, one rate, a rate each."""
    n, K = z.shape
    clean, surprise = _best_fit(z, own, [start])
    one = [[steeper * clean[0], *clean[1:], math.log(guess)] for steeper, guess in _STARTS]
    shared, with_one = _best_fit(z, own, one)
    # All flips come from one class, or from each its share.
    guesses = np.log(np.where(np.eye(K, dtype=bool), *_ONE_CLASS))
    each = [[_STARTS[1][0] * clean[0], *clean[1:], *rates] for rates in guesses]
    apart, with_each = _best_fit(z, own, [*each, [*shared[:K], *[shared[K]] * K]])
    best, less, more = clean, surprise, K
    if _chance_of(2 * n * (surprise - with_one), 1) < _CHANCE:
        best, less, more = shared, with_one, K - 1
    return apart if _chance_of(2 * n * (less - with_each), more) < _CHANCE_OWN else best


def _best_fit(z: Floats, own: Index, starts: Sequence[ArrayLike]) -> tuple[Floats, float]:
    """Gain, biases and (where the starts have them) log rates of the best fit; its surprise."""
    from scipy.optimize import minimize  # slow to import

    K, found = z.shape[1], []
    for start in map(np.asarray, starts):
        rates = [(math.log(_LEAST_RATE), math.log(_LARGEST_RATE))] * (len(start) - K)
        bounds = [(0.0, None), *[(None, None)] * (K - 1), *rates]
        x = minimize(_surprise, start, (z, own), jac=True, method="L-BFGS-B", bounds=bounds).x
        q = softmax(x[0] * z + np.append(0.0, x[1:K]), axis=1)
        found.append((np.asarray(x), -float(np.log(_seen(q, own, _rates_of(x, K))).mean())))
    return min(found, key=lambda one: one[1])


def _surprise(parameters: Floats, z: Floats, own: Index) -> tuple[float, Floats]:
    """Mean of -log P(label), smoothed, and its gradient."""
    n, K = z.shape
    rates = _rates_of(parameters, K)
    q = softmax(parameters[0] * z + np.append(0.0, parameters[1:K]), axis=1)
    given = _label_given(rates, own)
    seen = np.maximum(np.sum(q * given, axis=1), NOT_ZERO)
    # A trace of the other classes at every row, one row's worth in all, keeps the gain of
    # separate classes finite, as smoothed targets do in a calibration.
    trace = 1 / ((n + K) * (K - 1))
    logs = np.log(np.maximum(q, NOT_ZERO))
    value = -(1 - K * trace) * np.log(seen).mean() - trace * logs.sum(axis=1).mean()
    # d seen/d score_k = q_k (P(label | k) - seen)
    by_score = -(1 - K * trace) * q * (given / seen[:, None] - 1) + trace * (K * q - 1)
    by_rate = q / ((K - 1) * seen[:, None])
    rows = np.arange(n)
    by_rate[rows, own] = -q[rows, own] / seen
    by_rate = -(1 - K * trace) * by_rate.sum(axis=0) * rates
    extra = len(parameters) - K
    of_rates = [by_rate.sum()] if extra == 1 else by_rate[:extra].tolist()
    gradient = [np.sum(by_score * z), *by_score[:, 1:].sum(axis=0), *of_rates]
    return float(value), np.array(gradient) / n


def _rates_of(parameters: Floats, K: int) -> Floats:
    """(K,): none, one for all or one for each class."""
    rates = np.exp(parameters[K:]) if len(parameters) > K else np.zeros(1)
    return np.array(np.broadcast_to(rates, (K,)))


def _label_given(rates: Floats, own: Index) -> Floats:
    """(n, K): the probability of each row's label, had it been a row of class k."""
    given = np.tile(rates / max(len(rates) - 1, 1), (len(own), 1))
    given[np.arange(len(own)), own] = 1 - rates[own]
    return np.asarray(given)


def _seen(q: Floats, own: Index, rates: Floats) -> Floats:
    """The probability of each row's label."""
    return np.asarray(np.maximum(np.sum(q * _label_given(rates, own), axis=1), NOT_ZERO))


def _chance_of(gained: float, rates: int) -> float:
    """Chance that as many rates, none of which can be negative, gain that much for nothing.

    Each is at its end, 0, with a chance of one half: chi-squares of 0 to `rates` degrees, mixed.
    """
    if gained <= 0:
        return 1.0
    mixed = [math.comb(rates, j) * float(gammaincc(j / 2, gained / 2)) for j in range(1, rates + 1)]
    return math.ldexp(math.fsum(mixed), -rates)


def _logarithms(weights: Floats) -> Floats:
    return np.log(np.maximum(weights, NOT_ZERO))
