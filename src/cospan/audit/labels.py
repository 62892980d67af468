"""Labels that look wrong: rows that another class explains better than their own."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from cospan.audit.flips import fit_flips, fit_rate, separates
from cospan.base import arrays
from cospan.base.checks import as_rows, as_shrinkage, feature_names_of
from cospan.base.notes import Note, warn
from cospan.base.tables import make_dataframe
from cospan.base.tolerance import FAST_SHRINKAGE
from cospan.base.types import Floats
from cospan.data import encode, notes_of, open_source
from cospan.errors import InputError
from cospan.model import Given, RowsAgain, SetCosts, Settings, calibrated_weights
from cospan.summary import Summary

# Of the labels that are flagged so many should be flipped.
PRECISION = 0.8


@dataclass(frozen=True, eq=False)
class LabelAudit:
    """What the geometry of the classes says about the labels, in the order of the rows.

    Attributes
    ----------
    suspicion : ndarray, (n,)
        From 0 to 1, high = likely wrong: 1 minus the probability of the given label. A class that
        many rows have is more probable beforehand, as long as the rows are those of one table.
    mislabelled : ndarray, (n,)
        The probability that the label is flipped, given the overlap of the classes and
        `noise_rate`.
    suggested : ndarray, (n,)
        The most probable class.
    flagged : ndarray of bool, (n,)
        Labels worth a look: another class is more probable, and of all that are flagged the
        stated share is expected to be flipped. Never between two classes that left-out rows do
        not separate: see `inseparable`.
    labels : ndarray, (n,)
        The labels as given.
    weights : ndarray, (n, K)
        The probability of each class if all were equally common, every row left out of its own;
        rows sum to 1.
    theta : ndarray (n,) or None
        The leave-one-out angle in radians, for two classes.
    classes : ndarray, (K,)
    noise_rate : float
        The estimated share of labels that are flipped; 0 without evidence for any.
    inseparable : tuple of pairs
        Pairs of classes that left-out rows separate no better than chance.
    """

    suspicion: Floats
    mislabelled: Floats = field(repr=False)
    suggested: NDArray[Any]
    flagged: NDArray[np.bool_]
    labels: NDArray[Any]
    weights: Floats = field(repr=False)
    theta: Floats | None = field(repr=False)
    classes: NDArray[Any]
    noise_rate: float = 0.0
    inseparable: tuple[tuple[Any, Any], ...] = ()

    @classmethod
    def from_weights(
        cls,
        weights: Any,
        own: Any,
        classes: Any,
        *,
        labels: Any = None,
        precision: float = PRECISION,
        reference: tuple[Any, Any] | None = None,
        shares: Any = None,
    ) -> LabelAudit:
        """Audit rows that are scored already.

        Parameters
        ----------
        weights : array-like, (n, K)
            The probability of each class; for two classes ``Alignment.posterior``.
        own : array-like of int, (n,)
            The number of the class each row is labelled with.
        classes : array-like, (K,)
        labels : array-like, (n,), optional
            The labels as given; by default ``classes[own]``.
        precision : float in [0, 1]
            The share of flagged labels that is expected to be flipped.
        reference : (weights, own), optional
            Rows that say how far the classes overlap and whether they are separated, where those
            audited are new ones; by default the audited rows, each left out of its own class.
        shares : array-like, (K,), optional
            How common each class is; by default all are equally common.
        """
        weights = np.asarray(weights, dtype=np.float64)
        own = np.asarray(own, dtype=np.intp)
        classes = np.asarray(classes)
        if not (isinstance(precision, (int, float, np.number)) and 0 <= precision <= 1):
            raise InputError(f"precision is {precision!r}; it must be a number from 0 to 1.")
        known_weights, known_own = (weights, own) if reference is None else reference
        known_weights, known_own = np.asarray(known_weights), np.asarray(known_own)
        pairs = itertools.combinations(range(len(classes)), 2)
        inseparable = {x for x in pairs if not separates(known_weights, known_own, *x)}
        # Classes that are not separated count as one: between them no label is wrong.
        group = _groups(inseparable, len(classes))
        of_groups = _summed(weights, group)
        flips = fit_flips(_summed(known_weights, group), group[known_own])
        if reference is not None:
            flips = fit_rate(of_groups, group[own], flips)
        mislabelled = flips.mislabelled(of_groups, group[own])
        probable = weights if shares is None else _given_shares(weights, shares)
        mine = probable[np.arange(len(own)), own]
        doubted = probable.max(axis=1, initial=0.0) > mine
        best = np.where(doubted, probable.argmax(axis=1), own)
        flagged = _as_many_as(mislabelled, doubted & (group[best] != group[own]), precision)
        names = classes.tolist()
        return cls(
            suspicion=1 - mine,
            mislabelled=mislabelled,
            suggested=classes[best],
            flagged=flagged,
            labels=classes[own] if labels is None else np.asarray(labels),
            weights=weights,
            theta=np.arctan2(*np.sqrt(weights.T[::-1])) if len(classes) == 2 else None,
            classes=classes,
            noise_rate=flips.rate(of_groups),
            inseparable=tuple((names[i], names[j]) for i, j in sorted(inseparable)),
        )

    @property
    def order(self) -> NDArray[np.intp]:
        """Row numbers, the most suspicious first."""
        return np.argsort(-self.suspicion, kind="stable")

    def to_frame(self, backend: str | None = None) -> Any:
        """A table with the most suspicious rows first: row, label, suggested, suspicion, flagged.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Default: the first of these that is installed.
        """
        order = self.order
        return make_dataframe(
            {
                "row": order,
                "label": self.labels[order],
                "suggested": self.suggested[order],
                "suspicion": self.suspicion[order],
                "flagged": self.flagged[order],
            },
            backend,
        )

    def __repr__(self) -> str:
        n = len(self.inseparable)
        more = f", {n} inseparable {'pair' if n == 1 else 'pairs'} of classes" if n else ""
        return f"LabelAudit({len(self.labels):,} labels, {int(self.flagged.sum()):,} flagged{more})"


def shares_of(own: NDArray[np.intp], K: int) -> Floats:
    """How common each of K classes is, none of them never."""
    return np.asarray((np.bincount(own, minlength=K) + 1) / (len(own) + K))


def _as_many_as(
    mislabelled: Floats, candidates: NDArray[np.bool_], precision: float
) -> NDArray[np.bool_]:
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


def _given_shares(weights: Floats, shares: Any) -> Floats:
    joint = weights * np.asarray(shares, dtype=np.float64)
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def _groups(inseparable: set[tuple[int, int]], K: int) -> NDArray[np.intp]:
    """(K,): the number of the group each class belongs to."""
    first = list(range(K))
    for i, j in sorted(inseparable):
        low, high = sorted((first[i], first[j]))
        first = [low if k == high else k for k in first]
    return np.unique(first, return_inverse=True)[1]


def _summed(weights: Floats, group: NDArray[np.intp]) -> Floats:
    """(n, groups): the weights of the classes of each group, together."""
    return np.stack([weights[:, group == k].sum(axis=1) for k in range(group.max() + 1)], axis=1)


def audit_labels(
    X: Any, y: Any, *, precision: float = PRECISION, **given: Unpack[Given]
) -> LabelAudit:
    """Find labels that look wrong: rows that another class explains better than their own.

    Every row is judged as if its class had been fitted without it (exactly, no refits), so a
    wrong label cannot vouch for itself. Flagged is what stands out given the overlap of the
    classes: the share of flipped labels is estimated, and with it the probability that a label
    is one of them. Between two classes that left-out rows separate no better than chance,
    nothing is flagged (`LabelAudit.inseparable` names them).

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
    rows, names, notes = _rows(X)
    warn(notes)
    labels, classes, own = _labels(y, rows.shape[0])
    # To flag labels, costs must be probabilities.
    settings: Given = {"curve": "auto", **given, "calibrate": True}
    alpha = as_shrinkage(Settings.of(**settings).shrinkage)
    costs = SetCosts.from_summaries(
        _summaries(rows, own, len(classes), alpha, names),
        labels=[f"class {label}" for label in classes.tolist()],
        again=RowsAgain(
            [(arrays.pick(rows, np.flatnonzero(own == k)), None) for k in range(len(classes))]
        ),
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
    shares = shares_of(own, len(classes))
    return LabelAudit.from_weights(
        weights, own, classes, labels=labels, precision=precision, shares=shares
    )


def _left_out(costs: SetCosts, rows: Any, own: NDArray[np.intp]) -> Floats:
    """(n, K): the probabilities of the classes, every row left out of its own."""
    squared = costs.left_out_costs(rows, own)
    return arrays.to_numpy(calibrated_weights(squared, costs.geometry.calibration))


def _rows(X: Any) -> tuple[Any, tuple[str, ...] | None, list[Note]]:
    """Rows of numbers, what they are called, and notes; of a table with text or gaps encoded."""
    names = feature_names_of(X)
    try:
        return as_rows(X, "X"), names, []
    except InputError:
        if names is None:
            raise
    source = encode([open_source(X, name="X")])[0]
    rows = source.read().rows
    return rows, source.feature_names, notes_of([source])


def _labels(y: Any, n: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.intp]]:
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


def _summaries(
    rows: Any,
    own: NDArray[np.intp],
    n_classes: int,
    alpha: float | str,
    names: tuple[str, ...] | None,
) -> list[Summary]:
    few = rows.shape[0] < rows.shape[1]  # then factors are smaller than matrices
    exact = few or (alpha != "auto" and float(alpha) < FAST_SHRINKAGE)
    members = (np.flatnonzero(own == k) for k in range(n_classes))
    found = [Summary.of(arrays.pick(rows, index), exact=exact) for index in members]
    return [replace(part, feature_names=names) for part in found]
