"""Labels that look wrong: rows that another class explains better than their own."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from cospan.audit.flips import fit_flips, fit_rates
from cospan.base import arrays
from cospan.base.checks import as_rows, as_shrinkage, feature_names_of
from cospan.base.notes import warn
from cospan.base.tables import make_dataframe
from cospan.base.tolerance import FAST_SHRINKAGE
from cospan.base.types import Array, Bools, Data, DataFrame, Floats, Index, Values
from cospan.data import encode, notes_of, open_source
from cospan.errors import InputError
from cospan.evidence import rank_auc
from cospan.model import Given, RowsAgain, SetCosts, Settings, calibrated_weights
from cospan.summary import Summary

# Of the labels that are flagged so many should be flipped.
PRECISION = 0.8
# Standard errors above chance that separate two classes. The shrinkage was chosen to separate
# them, so the AUC of meaningless labels spreads a little more than it should: 1 % reach 3.
_ERRORS_ABOVE_CHANCE = 3.0


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
        *,
        labels: ArrayLike | None = None,
        precision: float = PRECISION,
        reference: tuple[ArrayLike, ArrayLike] | None = None,
        shares: ArrayLike | None = None,
    ) -> LabelAudit:
        """Audit rows that are scored already.

        `weights` (n, K) are the probabilities of the classes, `own` (n,) the number of the class
        each row is labelled with, `shares` (K,) how common the classes are (default: equally).
        `reference`, weights and classes again, are rows that say how far the classes overlap,
        where those audited are new ones; by default the audited rows, each left out of its class.
        """
        if not (isinstance(precision, int | float | np.number) and 0 <= precision <= 1):
            raise InputError(f"precision is {precision!r}; it must be a number from 0 to 1.")
        weights, own = np.asarray(weights, dtype=np.float64), np.asarray(own, dtype=np.intp)
        classes, known = np.asarray(classes), (weights, own)
        if reference is not None:
            known = np.asarray(reference[0]), np.asarray(reference[1])
        inseparable = [
            pair for pair in _pairs(len(classes)) if not separates(known[0], known[1], *pair)
        ]
        # Classes that are not separated count as one: between them no label is wrong.
        group = _groups(inseparable, len(classes))
        of_groups = _summed(weights, group)
        flips = fit_flips(_summed(known[0], group), group[known[1]])
        if reference is not None:
            flips = fit_rates(of_groups, group[own], flips)
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
        columns = {
            "label": self.labels,
            "suggested": self.suggested,
            "suspicion": self.suspicion,
            "flagged": self.flagged,
        }
        table = {"row": order} | {name: values[order] for name, values in columns.items()}
        return make_dataframe(table, backend)

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
    alpha = as_shrinkage(Settings.of(**settings).shrinkage)
    few = rows.shape[0] < rows.shape[1]  # then factors are smaller than matrices
    exact = few or (alpha != "auto" and float(alpha) < FAST_SHRINKAGE)
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
        if not all(separates(plain, own, *pair) for pair in _pairs(len(classes))):
            weights = plain
    shares = shares_of(own, len(classes))
    return LabelAudit.from_weights(
        weights, own, classes, labels=labels, precision=precision, shares=shares
    )


def shares_of(own: Index, K: int) -> Floats:
    """How common each of K classes is, none of them never."""
    return np.asarray((np.bincount(own, minlength=K) + 1) / (len(own) + K))


def separates(weights: Floats, own: Index, i: int, j: int) -> bool:
    """Do left-out rows of classes i and j lean to their own class more than by chance?

    Judged by the AUC of the weights of the two against its standard error under chance. Classes of
    two or three rows never pass; where one has no rows, nothing is known against them.
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


def _pairs(K: int) -> itertools.combinations[tuple[int, int]]:
    return itertools.combinations(range(K), 2)


def _groups(inseparable: list[tuple[int, int]], K: int) -> Index:
    """(K,): the number of the group each class belongs to."""
    first = list(range(K))
    for i, j in inseparable:
        low, high = sorted((first[i], first[j]))
        first = [low if k == high else k for k in first]
    return np.unique(first, return_inverse=True)[1]


def _summed(weights: Floats, group: Index) -> Floats:
    """(n, groups): the weights of the classes of each group, together."""
    return np.stack([weights[:, group == k].sum(axis=1) for k in range(group.max() + 1)], axis=1)


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
    missing = np.flatnonzero([x is None or x != x for x in labels.tolist()])
    if len(missing):
        raise InputError(f"y has no label at row {missing[0]}; leave such rows out.")
    try:
        classes, own = np.unique(labels, return_inverse=True)
    except TypeError:
        raise InputError(
            "y mixes labels of different kinds; use numbers only, or text only."
        ) from None
    sizes = np.bincount(own)
    if len(classes) < 2:
        raise InputError("y has only one class; an audit needs two or more to choose between.")
    if sizes.min() < 2:
        raise InputError(
            f"Class {classes.tolist()[sizes.argmin()]!r} has a single row, which cannot be judged "
            "without itself; leave it out or merge it with another class."
        )
    return labels, classes, own
