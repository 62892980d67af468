"""Labels that conflict with their row's angle; weights that make one set count like another.

Both read the same thing: how well a row fits its own set compared with another. A wrong label
shows because the row, left out of the class it is filed under, costs that class more than
another one. Where A and B are two samples of inputs, tan²θ says how much more B has than A where
a row lies (`importance`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan import _arrays as arrays
from cospan._classes.constant import append_column, with_constant
from cospan._classes.costs import ClassCosts, simplex_weights
from cospan._tables import make_frame
from cospan._tolerance import FAST_SHRINKAGE
from cospan._validate import as_rows, as_shrinkage
from cospan.audit.chance import told_apart
from cospan.audit.importance import ImportanceWeights, importance_weights
from cospan.errors import InputError
from cospan.frame.preparation import automatic_shrinkage, paired, prepare
from cospan.summary import Summary

__all__ = ["ImportanceWeights", "LabelAudit", "audit_labels", "importance_weights"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LabelAudit:
    """What the geometry of the classes says about the labels, in the order of the rows.

    Attributes
    ----------
    suspicion : ndarray, (n,)
        From 0 to 1, high = likely wrong: the weight of the best other class against that of the
        row's own, w / (w + w_own). Above 1/2 another class explains the row better.
    suggested : ndarray, (n,)
        The class that explains the row best; its own label where that is not in doubt.
    flagged : ndarray of bool, (n,)
        Labels worth a look: another class explains the row better, and claims it more clearly
        than it claims a quarter (`depth`) of its own rows. Never between two classes that cannot
        be told apart better than by chance: see `untold`.
    labels : ndarray, (n,)
        The labels as given.
    weights : ndarray, (n, K)
        Each class's weight, every row left out of its own class; rows sum to 1.
    theta : ndarray (n,) or None
        The leave-one-out angle in radians, for two classes.
    classes : ndarray, (K,)
    untold : tuple of pairs
        Pairs of classes that left-out rows tell apart no better than chance, and between which
        rows would have been flagged otherwise.
    """

    suspicion: Floats
    suggested: NDArray[Any]
    flagged: NDArray[np.bool_]
    labels: NDArray[Any]
    weights: Floats = field(repr=False)
    theta: Floats | None = field(repr=False)
    classes: NDArray[Any]
    untold: tuple[tuple[Any, Any], ...] = ()

    @classmethod
    def from_weights(
        cls,
        weights: Any,
        own: Any,
        classes: Any,
        *,
        labels: Any = None,
        depth: float = 0.25,
        reference: tuple[Any, Any] | None = None,
    ) -> LabelAudit:
        """Audit rows that are scored already.

        Parameters
        ----------
        weights : array-like, (n, K)
            How much each class explains each row; for two classes ``Alignment.posterior``.
        own : array-like of int, (n,)
            The number of the class each row is labelled with.
        classes : array-like, (K,)
        labels : array-like, (n,), optional
            The labels as given; by default ``classes[own]``.
        depth : float in [0, 1]
            A row is flagged when another class explains it better, and claims it more clearly
            than it claims this part of its own rows. Higher flags fewer, and surer, rows.
        reference : (weights, own), optional
            Rows by which to judge whether classes can be told apart, where those audited are new
            ones; by default the audited rows, each left out of its own class.
        """
        weights = np.asarray(weights, dtype=np.float64)
        own = np.asarray(own, dtype=np.intp)
        classes = np.asarray(classes)
        if not 0 <= depth <= 1:
            raise InputError(f"depth is {depth}; it must lie between 0 and 1.")
        rows = np.arange(len(own))
        others = weights.copy()
        others[rows, own] = -1.0
        rival = others.argmax(axis=1)
        mine, theirs = weights[rows, own], weights[rows, rival]
        # A row alone in its class weighs nothing there once it is left out, and may weigh nothing
        # elsewhere either.
        total = mine + theirs
        suspicion = np.divide(theirs, total, out=np.full(len(own), 0.5), where=total > 0)
        wrong = suspicion > 0.5
        usual = np.array(
            [_usual_certainty(suspicion[own == k], depth) for k in range(len(classes))]
        )
        flagged = wrong & (suspicion > usual[rival])
        names = classes.tolist()
        untold = _untold(own[flagged], rival[flagged], reference or (weights, own))
        flagged &= ~np.array([pair in untold for pair in _pairs(own, rival)], dtype=bool)
        return cls(
            suspicion=suspicion,
            suggested=classes[np.where(wrong, rival, own)],
            flagged=flagged,
            labels=classes[own] if labels is None else np.asarray(labels),
            weights=weights,
            theta=np.arctan2(*np.sqrt(weights.T[::-1])) if len(classes) == 2 else None,
            classes=classes,
            untold=tuple((names[i], names[j]) for i, j in sorted(untold)),
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
        return make_frame(
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
        n = len(self.untold)
        untold = f", {n} {'pair' if n == 1 else 'pairs'} of classes not told apart" if n else ""
        return (
            f"LabelAudit({len(self.labels):,} labels, {int(self.flagged.sum()):,} flagged{untold})"
        )


def _pairs(own: NDArray[np.intp], rival: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Each row's class and its rival, the smaller number first."""
    return list(zip(*np.sort([own, rival], axis=0).tolist(), strict=True))


def _untold(
    own: NDArray[np.intp], rival: NDArray[np.intp], reference: tuple[Any, Any]
) -> set[tuple[int, int]]:
    """Those pairs of a class and a rival that the reference rows do not tell apart."""
    weights = np.asarray(reference[0], dtype=np.float64)
    classes = np.asarray(reference[1], dtype=np.intp)
    return {pair for pair in set(_pairs(own, rival)) if not told_apart(weights, classes, *pair)}


def _usual_certainty(suspicion: Floats, depth: float) -> float:
    """How clearly a class claims its own rows against the best other class, this part of them."""
    return float(np.quantile(1 - suspicion, depth)) if len(suspicion) else 0.0


def audit_labels(
    X: Any,
    y: Any,
    *,
    center: Any = "pooled",
    balance: bool = True,
    shrinkage: float | str = "auto",
    weighting: str = "cost",
    tol: float | None = None,
    constant: float = 1.0,
    depth: float = 0.25,
) -> LabelAudit:
    """Find labels that look wrong: rows that another class explains better than their own.

    Every row is judged as if its class had been fitted without it (exactly, no refits), so a
    wrong label cannot vouch for itself. Between two classes that left-out rows tell apart no
    better than chance, nothing is flagged (`LabelAudit.untold` names them).

    Parameters
    ----------
    X : array-like or dataframe, (n, d)
    y : array-like, (n,)
        Labels: numbers or text, of two or more classes with two or more rows each.
    center, balance, shrinkage, tol
        As for :meth:`cospan.JointFrame.fit`; more than two classes share one centre and one λ.
    weighting : {"cost", "frame"}
    constant : float
        With the pooled centre, every row gets a constant feature of this many times the rows' rms
        distance from the centre. Second moments about one centre cannot tell a class's mean from
        its mirror image; with the constant among the features they can, and wrong labels show
        better. 0 audits the frame's own angles.
    depth : float in [0, 1]
        A row is flagged when another class explains it better, and claims it more clearly than
        it claims this part of its own rows. Higher flags fewer, and surer, rows.

    Returns
    -------
    LabelAudit

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cospan import audit_labels
    >>> X, y = load_digits(return_X_y=True)
    >>> y[[10, 50, 500]] = [9, 1, 2]  # these were 0, 2 and 8
    >>> audit = audit_labels(X, y)
    >>> audit
    LabelAudit(1,797 labels, 3 flagged)
    >>> audit.to_frame("pandas").head(3).round(3)
       row  label  suggested  suspicion  flagged
    0   10      9          0      0.842     True
    1  500      2          8      0.786     True
    2   50      1          2      0.767     True
    """
    rows = as_rows(X, "X")
    labels, classes, own = _labels(y, rows.shape[0])
    alpha = as_shrinkage(shrinkage)
    if not (isinstance(constant, (int, float)) and 0 <= constant < math.inf):
        raise InputError(f"constant is {constant!r}; it must be a number of at least 0.")
    summaries = _summaries(rows, own, len(classes), alpha)
    if constant and isinstance(center, str) and center == "pooled":
        summaries, value, center = with_constant(summaries, constant, balance)
        rows = append_column(rows, value)
    options = {"center": center, "balance": balance, "shrinkage": alpha, "tol": tol}
    if len(classes) == 2 and alpha == "auto":
        options["shrinkage"] = _pair_shrinkage(summaries[0], summaries[1], center, balance)
    costs = ClassCosts.from_summaries(summaries, weighting=weighting, **options)
    weights = arrays.to_numpy(simplex_weights(costs.left_out(rows, own)))
    return LabelAudit.from_weights(weights, own, classes, labels=labels, depth=depth)


def _pair_shrinkage(a: Summary, b: Summary, center: Any, balance: bool) -> float:
    """α as a joint frame chooses it. The frame itself is not needed: costs do without."""
    prepared = prepare(a, b, center, balance)
    return automatic_shrinkage(a, b, prepared, paired(a, b, prepared))


def _labels(y: Any, n: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.intp]]:
    """Labels, their classes and each row's class number, or an error."""
    labels = np.asarray(arrays.to_numpy(y) if arrays.is_array(y) else y)
    if labels.shape != (n,):
        raise InputError(f"y has shape {labels.shape} where ({n},) is expected: one label a row.")
    missing = np.flatnonzero([x is None or x != x for x in labels.tolist()])
    if len(missing):
        raise InputError(f"y has no label at row {missing[0]}; leave such rows out.")
    try:
        classes, own = np.unique(labels, return_inverse=True)
    except TypeError:
        raise InputError(
            "y mixes labels of unlike kinds; use numbers only, or text only."
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
    rows: Any, own: NDArray[np.intp], n_classes: int, alpha: float | str
) -> list[Summary]:
    few = rows.shape[0] < rows.shape[1]  # then factors are smaller than matrices
    exact = few or (alpha != "auto" and float(alpha) < FAST_SHRINKAGE)
    members = (np.flatnonzero(own == k) for k in range(n_classes))
    return [Summary.of(arrays.rows_at(rows, index), exact=exact) for index in members]
