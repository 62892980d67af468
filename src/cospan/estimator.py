"""The method in scikit-learn's grammar: fit, predict, transform.

Two classes are a joint frame with a threshold on the angle; more are costs to each of them. Both
give the probability of every class, so that everything after looks the same.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from cospan.base.checks import as_shrinkage, as_weights, is_real
from cospan.base.tolerance import FAST_SHRINKAGE
from cospan.base.types import Data, Floats, Option, Values
from cospan.errors import InputError, warn
from cospan.model import Again, JointFrame, RowsAgain, SetCosts, Settings, tried_rows
from cospan.summary import Summary

DTYPES = (np.float64, np.float32)  # that rows may keep


class AlignmentAngleClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Classify samples by their alignment angle; a scikit-learn classifier and transformer.

    Two classes: θ below the threshold is the first class, above it the second. More classes: each
    gives a sample a cost, and the most probable class wins. Fitting reads the rows once, into one
    small summary per class; :meth:`partial_fit` adds to it.

    Parameters
    ----------
    span, units, shrinkage, pooling, dof, calibrate
        As in :meth:`cospan.JointFrame.fit`. What is ``"auto"`` is chosen by the leave-one-out
        log-loss of the probabilities, and leaves its default only where that is clearly better.
    threshold : float in [0, π/2]
        θ in radians that separates two classes.
    center : {"pooled", "each", "none"}
        For the linear span; see :meth:`cospan.JointFrame.fit`.
    balance : bool
        For the linear span: give all classes equal weight, whatever their sizes.
    tol : float, optional
        As in :func:`cospan.gsvd`.
    curve : {"auto"} or None
        As in :meth:`cospan.JointFrame.fit`. After :meth:`partial_fit`, which does not see rows
        twice, only classes of at most 2,000 rows can have one.

    Attributes
    ----------
    classes_ : ndarray, (K,)
    model_ : JointFrame or SetCosts
        The joint frame of two classes; the costs to each of more.
    shrinkage_ : float
        The value in use.
    n_features_in_ : int
    feature_names_in_ : ndarray
        Where X was a dataframe.

    Notes
    -----
    A sample weight of 2 counts like a row that occurs twice. A fitted estimator and its pickle
    keep at most 2,000 rows of a class for :meth:`partial_fit`; a file of :func:`cospan.save` none.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from cospan import AlignmentAngleClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    >>> model = AlignmentAngleClassifier().fit(X_train, y_train)
    >>> round(model.score(X_test, y_test), 3)
    0.989
    >>> model.predict_proba(X_test[:1]).round(2), y_test[:1]
    (array([[0.02, 0.02, 0.89, 0.02, 0.  , 0.01, 0.  , 0.  , 0.01, 0.03]]), array([2]))
    """

    def __init__(
        self,
        *,
        span: str = "affine",
        units: str = "auto",
        shrinkage: float | str = "auto",
        pooling: float | str = "auto",
        dof: float | str = "auto",
        calibrate: bool | None = None,
        threshold: float = math.pi / 4,
        center: str = "pooled",
        balance: bool = True,
        tol: float | None = None,
        curve: str | None = "auto",
    ) -> None:
        self.span = span
        self.units = units
        self.shrinkage = shrinkage
        self.pooling = pooling
        self.dof = dof
        self.calibrate = calibrate
        self.threshold = threshold
        self.center = center
        self.balance = balance
        self.tol = tol
        self.curve = curve

    # ---- fitting ------------------------------------------------------------------------------

    def fit(self, X: object, y: Data, sample_weight: object = None) -> Self:
        """Fit to labelled rows.

        Parameters
        ----------
        X : array-like or dataframe, (n, d)
        y : array-like, (n,)
        sample_weight : array-like, (n,), optional
        """
        rows, labels = validate_data(self, X, y, dtype=DTYPES)
        self._start(labels, rows.shape)
        again = self._add(rows, labels, sample_weight)
        self._model: JointFrame | SetCosts | None = self._concluded(again)
        return self

    def partial_fit(
        self, X: object, y: Data, classes: Data = None, sample_weight: object = None
    ) -> Self:
        """Add rows to what was fitted before; the model is brought up to date on its next use.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        classes : array-like, optional
            All classes that will occur; needed in the first call.
        """
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise InputError("The first call to partial_fit needs classes: all that will occur.")
        rows, labels = validate_data(self, X, y, dtype=DTYPES, reset=first)
        check_classification_targets(labels)
        if first:
            _class_numbers(labels, np.unique(classes))  # before anything is kept
            self._start(classes, rows.shape)
        elif self._summaries is None:
            raise InputError(
                "This estimator was loaded from a model file, which holds no summaries of the "
                "data to add to; fit a new one."
            )
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise InputError("classes are not those of the first call to partial_fit.")
        self._add(rows, labels, sample_weight)
        self._model = None
        return self

    def _start(self, labels: Data, shape: tuple[int, int]) -> None:
        try:
            classes = np.unique(labels)
        except TypeError:
            raise InputError(
                "y mixes labels that have no order, such as text and None; use numbers only, or "
                "text only, and leave out rows without a label."
            ) from None
        check_classification_targets(labels)
        if len(classes) < 2:
            raise InputError(
                f"y holds one class only, {_shown(classes[0])}; a classifier needs two or more."
            )
        alpha = as_shrinkage(self.shrinkage)
        # Factors of few rows are smaller than matrices; weak shrinkage needs their digits.
        self._exact = shape[0] < shape[1] or (alpha != "auto" and float(alpha) < FAST_SHRINKAGE)
        self.classes_ = classes
        self._summaries: dict[int, Summary] | None = {}
        self._model = None

    def _add(self, rows: Floats, labels: Values, sample_weight: object) -> Again:
        """Rows of each class into its summary; and what reads them once more."""
        own = _class_numbers(labels, self.classes_)
        weights = np.ones(len(rows))
        if sample_weight is not None:
            weights = as_weights(sample_weight, len(rows))
        names = getattr(self, "feature_names_in_", None)
        summaries = dict(self._summaries or {})
        size = tried_rows(len(self.classes_))
        read = []
        for k in range(len(self.classes_)):
            member = own == k
            read.append((rows[member], None if sample_weight is None else weights[member]))
            if not weights[member].any():
                continue  # as if these rows were not there
            part = Summary.of(*read[k], self._exact, sample_size=size)
            part = replace(part, feature_names=None if names is None else tuple(map(str, names)))
            summaries[k] = summaries[k] + part if k in summaries else part
        self._summaries = summaries
        return RowsAgain(read)

    def _concluded(self, again: Again | None = None) -> JointFrame | SetCosts:
        """The model of the summaries so far; `again` reads the rows through a map for a curve."""
        summaries = self._summaries or {}
        missing = [label for k, label in enumerate(self.classes_) if k not in summaries]
        if missing:
            raise InputError(
                f"Class {_shown(missing[0])} has no rows yet; fit some of every class."
            )
        given = self.get_params(deep=False)
        threshold = given.pop("threshold")
        if len(summaries) > 2 and threshold != math.pi / 4:
            raise InputError(
                f"threshold is {threshold!r}, but {len(summaries)} classes have no common angle to "
                "cut; leave it at its default."
            )
        if not is_real(threshold) or not 0 <= threshold <= math.pi / 2:
            raise InputError(f"threshold is {threshold!r}; it must be an angle in [0, π/2].")
        each = [summaries[k] for k in sorted(summaries)]
        model: JointFrame | SetCosts
        if len(each) > 2:
            model = SetCosts.from_summaries(each, again=again, **given)
        else:
            model = JointFrame.of_sets(each[0], each[1], Settings.of(**given), False, again)
        warn(model.notes)
        return model

    @classmethod
    def from_fitted(
        cls, fitted: JointFrame | SetCosts, classes: Values, **parameters: Option
    ) -> Self:
        """An estimator of a model that is fitted already, as of one from a file."""
        model = cls(**parameters)
        model.classes_ = classes
        model.n_features_in_ = fitted.n_features
        if fitted.feature_names is not None:
            model.feature_names_in_ = np.array(fitted.feature_names, dtype=object)
        model._summaries = None
        model._model = fitted
        return model

    # ---- what was fitted ----------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    @property
    def model_(self) -> JointFrame | SetCosts:
        try:
            return self._up_to_date()
        except InputError as error:  # a class has no rows yet; hasattr expects another error
            raise AttributeError(str(error)) from error

    @property
    def shrinkage_(self) -> float:
        return self.model_.geometry.shrinkage

    def _up_to_date(self) -> JointFrame | SetCosts:
        """What predicts: after `partial_fit` it is fitted to all rows so far."""
        check_is_fitted(self)
        if self._model is None:
            self._model = self._concluded()
        return self._model

    # ---- answers ------------------------------------------------------------------------------

    def transform(self, X: object) -> Floats:
        """Two classes: θ, both costs, the shared share, (n, 4). More: probabilities, (n, K)."""
        model = self._up_to_date()
        if not isinstance(model, JointFrame):
            return self.predict_proba(X)
        found = model.align(self._rows(X))
        columns = [found.theta, found.cost_a, found.cost_b, np.asarray(found.shares)[:, 1]]
        return np.column_stack(columns).astype(np.float64)

    def decision_function(self, X: object) -> Floats:
        """Two classes: θ minus the threshold, (n,). More: the probabilities, (n, K)."""
        model = self._up_to_date()
        if isinstance(model, JointFrame):
            return np.asarray(model.align(self._rows(X)).theta, np.float64) - self.threshold
        return self.predict_proba(X)

    def predict(self, X: object) -> Values:
        """The class of each sample, (n,)."""
        decision = self.decision_function(X)
        index = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def predict_proba(self, X: object) -> Floats:
        """(n, K): the probability of each class, all being equally likely beforehand.

        Calibrated on leave-one-out costs of the training rows, unless ``calibrate`` says no.
        """
        return np.asarray(self._up_to_date().weights(self._rows(X)), dtype=np.float64)

    def typicality(self, X: object) -> Floats:
        """(n, K): how usual each sample is for each class; small for all of them: none fits.

        Conformal p-values from the leave-one-out costs of the training rows: uniform for new rows
        of the class, whatever its distribution. `predict` names a class all the same.
        """
        model = self._up_to_date()
        known = model.answering.typicality
        if known is None:
            raise InputError(
                "There is no typicality here: it needs leave-one-out costs of the training rows, "
                "which single rows do not have."
            )
        return np.asarray(known.p_values(model.squared_costs(self._rows(X))), dtype=np.float64)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Names of the columns of `transform`; `input_features` has no say in them."""
        if isinstance(self._up_to_date(), SetCosts):
            names = [f"weight_{label}" for label in self.classes_]
        else:
            names = ["theta", *(f"cost_{label}" for label in self.classes_), "shared"]
        return np.array(names, dtype=object)

    def _rows(self, X: object) -> Floats:
        """Samples to score, checked."""
        rows: Floats = validate_data(self, X, reset=False, dtype=DTYPES)
        return rows


def _class_numbers(labels: Values, classes: Values) -> NDArray[np.intp]:
    """The place of every label among the sorted classes."""
    own = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    known = np.asarray(classes[own] == labels)
    if not known.all():
        raise InputError(f"y holds {_shown(labels[~known][0])}, which is not among the classes.")
    return own


def _shown(label: object) -> str:
    """A label as its user wrote it, not as NumPy holds it."""
    return repr(label.item() if isinstance(label, np.generic) else label)
