"""Labels that look wrong: rows that another class explains better than their own.

How many labels are flipped, and which ones, is a matter of likelihood. A row x belongs to class t
with the probability q_t(x). Its label is t with the probability 1-ε, and any other with ε/(K-1). So
the label y is seen with the probability

    (1-ε) q_y + ε (1-q_y)/(K-1)                      and is a flip, given that, by the sum's share

The q are those of the audited probabilities p with gains and offsets of their own,
q_k ∝ exp(bias_k) (p_k/max p)^gain_k: flips blur p, and gains undo that. Gains are much alike, but a
loose class may fade slowly into the others without any flips. All are fitted for each of some rates
ε. No rate is decided upon: each counts as far as it explains the labels, times what is expected
beforehand. Classes that overlap are explained as well without flips, and nothing stands out.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

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

PRECISION = 0.5  # of the labels that are flagged so many should be flipped
# Standard errors above chance that separate two classes. The shrinkage was chosen to separate
# them, so the AUC of meaningless labels spreads a little more than it should: 1 % reach 3.
_ERRORS_ABOVE_CHANCE = 3.0
#: Shares of flipped labels, and how probable they are beforehand: none at all is improbable in
#: labels that are audited, and steps between others are as wide as their chances are high.
_RATES = np.array([0.001, 0.003, 0.006, 0.01, 0.02, 0.03, 0.045, 0.07, 0.1, 0.15])
_CLEAN = 0.02
#: How probable it is that all flips come from one class, from each; and of how many this is asked.
_ONE_CLASS, _FEW_CLASSES = 0.02, 4
#: How much the logarithms of the classes' gains differ beforehand (sd).
_GAINS_DIFFER = 0.15
# An empty gap between two classes: in units of the spread of both, and how far apart they are; the
# logarithm of the odds at its edges, next to certain; and the most flips beyond one.
_GAP, _APART, _SURE, _LARGEST = 0.5, 4.0, 12.0, 0.4
_MOST_ROWS = 10_000  # that rates are fitted to: they give them to a fifth of a per cent


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
    noise_rate: float  # the expected share of flipped labels
    #: Pairs of classes that left-out rows separate no better than chance
    inseparable: tuple[tuple[Any, Any], ...]

    @classmethod
    def from_weights(
        cls,
        weights: ArrayLike,
        own: ArrayLike,
        classes: ArrayLike,
        precision: float = PRECISION,
        *,
        shares: ArrayLike | None = None,
    ) -> LabelAudit:
        """Audit rows that are scored already, each left out of its class.

        `weights` (n, K) are the probabilities of the classes, `own` (n,) the number of the class
        each row is labelled with, `shares` (K,) how common the classes are (default: equally).
        """
        from scipy.sparse.csgraph import connected_components

        if not (isinstance(precision, int | float | np.number) and 0 <= precision <= 1):
            raise InputError(f"precision is {precision!r}; it must be a number from 0 to 1.")
        weights, own = np.asarray(weights, dtype=np.float64), np.asarray(own, dtype=np.intp)
        classes = np.asarray(classes)
        pairs = itertools.combinations(range(len(classes)), 2)
        inseparable = [pair for pair in pairs if not separates(weights, own, *pair)]
        # Classes that are not separated count as one: between them no label is wrong.
        joined = np.eye(len(classes))
        for i, j in inseparable:
            joined[i, j] = 1
        group = np.asarray(connected_components(joined, directed=False)[1], dtype=np.intp)
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
            labels=classes[own],
            weights=weights,
            classes=classes,
            noise_rate=flips.rate(of_groups),
            inseparable=tuple((names[i], names[j]) for i, j in inseparable),
        )

    @property
    def theta(self) -> Floats | None:
        """(n,): the leave-one-out angle in radians, for two classes."""
        return np.arctan2(*np.sqrt(self.weights.T[::-1])) if len(self.classes) == 2 else None

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

    A row's costs are those of its class fitted without it, so a wrong label cannot vouch for
    itself. Flagged is what stands out given the overlap of the classes: the share of flipped
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
        flagged. With 0.5 every second flag is one to correct; with 0.8 fewer flips are found.
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
    LabelAudit(1,797 labels, 4 flagged)
    >>> audit.to_frame("pandas").head(3).round(3)
       row  label  suggested  suspicion  flagged
    0   10      9          0      0.998     True
    1  500      2          8      0.986     True
    2   50      1          2      0.981     True
    """
    return audit_rows(*_rows(X), y, precision, **given)


def audit_rows(
    rows: Array,
    names: tuple[str, ...] | None,
    y: Any,
    precision: float = PRECISION,
    **given: Unpack[Given],
) -> LabelAudit:
    """Audit rows of numbers; columns that have names have units of their own."""
    classes, own = _labels(y, rows.shape[0])
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
    # How common each class is, none of them never.
    common = (np.bincount(own, minlength=len(classes)) + 1) / (len(own) + len(classes))
    return LabelAudit.from_weights(weights, own, classes, precision, shares=common)


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


def _labels(y: object, n: int) -> tuple[Values, Index]:
    """The classes and each row's class number, or an error."""
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
    return classes, own


# ---- flips --------------------------------------------------------------------------------------


class Flips(NamedTuple):
    """What may be: rates of flips of each true class, how probable they are, and a fit to each."""

    rates: Floats  # (m, K)
    chances: Floats  # (m,)
    gains: Floats  # (m, K)
    biases: Floats  # (m, K)

    def rate(self, weights: Floats) -> float:
        """The expected share of flipped labels among rows of these weights."""
        share = np.bincount(weights.argmax(axis=1), minlength=weights.shape[1]) / len(weights)
        return float(self.chances @ self.rates @ share)

    def mislabelled(self, weights: Floats, own: Index) -> Floats:
        """(n,): the probability that a row's label is flipped."""
        logs, found, rows = _logs(weights), np.zeros(len(own)), np.arange(len(own))
        for rates, chance, gain, bias in zip(*self, strict=True):
            joint = softmax(gain * logs + bias, axis=1) * _label_given(rates, own)
            seen = np.maximum(joint.sum(axis=1), NOT_ZERO)
            found += chance * np.maximum(1 - joint[rows, own] / seen, 0.0)
        return found


def fit_flips(weights: Floats, own: Index) -> Flips:
    """How probable rates of flips are, from left-out weights (n, K), and the fits behind that."""
    from scipy.optimize import minimize  # slow to import

    K, step = weights.shape[1], -(-len(own) // _MOST_ROWS) or 1
    own, x = own[::step], _logs(weights[::step])
    middle = x.mean(axis=0)
    size = float(np.sqrt(np.square(x - middle).sum(axis=1).mean()))
    if K == 1 or not size > 0:
        return Flips(np.zeros((1, K)), np.ones(1), np.zeros((1, K)), np.zeros((1, K)))
    if K == 2 and (across := _across_a_gap(x[:, 1] - x[:, 0], own)) is not None:
        return across
    z, begin = (x - middle) / size, np.append(np.full(K, math.log(size)), middle[1:] - middle[0])
    # Of few classes all flips may come from one: sick people filed as healthy.
    who = [np.ones(K), *np.eye(K)] if K <= _FEW_CLASSES else [np.ones(K)]
    fits: list[Floats] = []
    tried, logs = [np.zeros(K), *(rate * one for one in who for rate in _RATES)], []
    for rates in tried:
        start = fits[-1] if fits and rates.sum() > tried[len(fits) - 1].sum() else begin
        fit = minimize(_surprise, start, (z, own, rates), jac=True, method="L-BFGS-B")
        fits.append(fit.x)
        logs.append(-len(own) * fit.fun)
    gains = np.exp(np.array(fits)[:, :K]) / size
    biases = np.insert(np.array(fits)[:, K:], 0, 0, axis=1) - gains * middle
    parts = [1 - _ONE_CLASS * (len(who) - 1), *[_ONE_CLASS] * (len(who) - 1)]
    prior = np.append(_CLEAN, (1 - _CLEAN) * np.outer(parts, _RATES / _RATES.sum()))
    chances = softmax(np.array(logs) + np.log(prior))
    return Flips(np.array(tried), chances, gains, biases)


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
    if not (wide and spread > 0) or rates.max() > _LARGEST:
        return None
    gain = 2 * _SURE / (edges[1] - edges[0])
    bias = -gain * (edges[0] + edges[1]) / 2
    return Flips(rates[None], np.ones(1), np.full((1, 2), gain), np.array([[0.0, bias]]))


def _surprise(parameters: Floats, z: Floats, own: Index, rates: Floats) -> tuple[float, Floats]:
    """Mean of -log P(label, gains) at some rates of flips, smoothed, and its gradient."""
    n, K = z.shape
    gains, apart = np.exp(parameters[:K]), (parameters[:K] - parameters[:K].mean()) / _GAINS_DIFFER
    q = softmax(gains * z + np.append(0.0, parameters[K:]), axis=1)
    given = _label_given(rates, own)
    seen = np.maximum(np.sum(q * given, axis=1), NOT_ZERO)
    # A trace of the other classes at every row, one row's worth in all, keeps the gains of
    # separate classes finite, as smoothed targets do in a calibration.
    trace = 1 / ((n + K) * (K - 1))
    logs = np.log(np.maximum(q, NOT_ZERO))
    value = np.square(apart).sum() / 2 - (1 - K * trace) * np.log(seen).sum() - trace * logs.sum()
    # d seen/d score_k = q_k (P(label | k) - seen)
    by_score = -(1 - K * trace) * q * (given / seen[:, None] - 1) + trace * (K * q - 1)
    by_gain = gains * np.sum(by_score * z, axis=0) + apart / _GAINS_DIFFER
    return float(value / n), np.append(by_gain, by_score[:, 1:].sum(axis=0)) / n


def _label_given(rates: Floats, own: Index) -> Floats:
    """(n, K): the probability of each row's label, had it been a row of class k."""
    given = np.tile(rates / max(len(rates) - 1, 1), (len(own), 1))
    given[np.arange(len(own)), own] = 1 - rates[own]
    return np.asarray(given)


def _logs(weights: Floats) -> Floats:
    """Logarithms of the weights, less the largest of each row."""
    share = weights / weights.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.maximum(share, NOT_ZERO)))
