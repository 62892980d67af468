"""AlignmentAngleClassifier: the method in scikit-learn's grammar."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from cospan.base import arrays
from cospan.base.checks import as_shrinkage, as_weights, feature_names_of
from cospan.base.notes import warn
from cospan.base.tolerance import FAST_SHRINKAGE
from cospan.base.types import Floats
from cospan.distributed import class_summaries, mapped_classes
from cospan.errors import InputError
from cospan.estimator.fitted import (
    ClassSettings,
    FittedClasses,
    class_numbers,
    classes_in,
    shown,
)
from cospan.model import Again, JointFrame, RowMap, RowsAgain, SetCosts, tried_rows
from cospan.summary import Summary, SummaryOptions

Model = TypeVar("Model", JointFrame, SetCosts)

# Rows kept of one class for choosing the shrinkage, the threshold and so on: at most.
SAMPLED_ROWS = 2_000
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
    weighting : {"cost", "frame"}
        ``"frame"`` belongs to the linear span.
    threshold : float in [0, π/2] or "auto"
        θ in radians that separates two classes. ``"auto"``: the best leave-one-out balanced
        accuracy.
    center : {"pooled", "each", "none"} or array (d,)
        For the linear span; see :meth:`cospan.JointFrame.fit`.
    balance : bool
        For the linear span: give all classes equal weight, whatever their sizes.
    tol : float, optional
        As in :func:`cospan.gsvd`.
    curve : {"auto"}, int or None
        As in :meth:`cospan.JointFrame.fit`. After :meth:`partial_fit`, which does not see rows
        twice, only classes of at most 2,000 rows can have one.

    Attributes
    ----------
    classes_ : ndarray, (K,)
    frame_ : JointFrame
        Of the two classes; absent for more.
    costs_ : SetCosts
        Of three or more classes; absent for two.
    shrinkage_, threshold_ : float
        The values in use.
    n_features_in_ : int
    feature_names_in_ : ndarray
        Where X was a dataframe.

    Notes
    -----
    A sample weight of 2 counts like a row that occurs twice, in every choice. A fitted estimator
    keeps a random sample of at most 2,000 rows per class (and about 5,000 in all) for
    :meth:`partial_fit`, and so does its pickle; a file written with :func:`cospan.save` holds no
    rows.

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
        weighting: str = "cost",
        threshold: float | str = math.pi / 4,
        center: object = "pooled",
        balance: bool = True,
        tol: float | None = None,
        curve: int | str | None = "auto",
    ) -> None:
        self.span = span
        self.units = units
        self.shrinkage = shrinkage
        self.pooling = pooling
        self.dof = dof
        self.calibrate = calibrate
        self.weighting = weighting
        self.threshold = threshold
        self.center = center
        self.balance = balance
        self.tol = tol
        self.curve = curve

    # ---- fitting ------------------------------------------------------------------------------

    def fit(self, X: object, y: Any, sample_weight: object = None) -> Self:
        """Fit to labelled rows.

        Parameters
        ----------
        X : array-like, dataframe or Dask collection, (n, d)
        y : array-like, (n,)
        sample_weight : array-like, (n,), optional
        """
        if arrays.is_lazy(X):
            self._add_lazily(X, y, sample_weight)
            again = self._again_lazily(X, y, sample_weight)
        else:
            rows, labels = validate_data(self, X, y, dtype=DTYPES)
            classes = classes_in(labels)
            check_classification_targets(labels)
            self._start(classes, rows.shape)
            self._add(rows, labels, sample_weight)
            again = self._again(rows, labels, sample_weight)
        self._fitted: FittedClasses | None = self._concluded(again)
        return self

    def partial_fit(
        self, X: object, y: Any, classes: Any = None, sample_weight: object = None
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
            all_classes = np.unique(classes)
            class_numbers(labels, all_classes)  # before anything is kept: the call may be repeated
            self._start(all_classes, rows.shape)
        elif self._summaries is None:
            raise InputError(
                "This estimator was loaded from a model file, which holds no summaries of the "
                "data to add to; fit a new one."
            )
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise InputError("classes are not those of the first call to partial_fit.")
        self._add(rows, labels, sample_weight)
        self._fitted = None
        return self

    def _start(self, classes: NDArray[Any], shape: tuple[int, int]) -> None:
        if len(classes) < 2:
            raise InputError(
                f"y holds one class only, {shown(classes[0])}; a classifier needs two or more."
            )
        alpha = as_shrinkage(self.shrinkage)
        # Factors of few rows are smaller than matrices; weak shrinkage needs their digits.
        self._exact = shape[0] < shape[1] or (alpha != "auto" and float(alpha) < FAST_SHRINKAGE)
        self.classes_ = classes
        self._summaries: dict[int, Summary] | None = {}
        self._fitted = None

    def _add(self, rows: Floats, labels: NDArray[Any], sample_weight: object) -> None:
        own = class_numbers(labels, self.classes_)
        weights = None if sample_weight is None else as_weights(sample_weight, len(rows))
        size = min(SAMPLED_ROWS, tried_rows(len(self.classes_)))
        names = getattr(self, "feature_names_in_", None)
        summaries = dict(self._summaries or {})
        for k in np.unique(own).tolist():
            member = own == k
            weight = None if weights is None else weights[member]
            if weight is not None and not weight.any():
                continue  # as if these rows were not there
            part = Summary.of(rows[member], weight, self._exact, sample_size=size)
            part = replace(part, feature_names=None if names is None else tuple(map(str, names)))
            summaries[k] = summaries[k] + part if k in summaries else part
        self._summaries = summaries

    def _add_lazily(self, X: Any, y: Any, sample_weight: object) -> None:
        """Rows of a Dask collection, summarised by its workers; the labels come here."""
        labels = np.asarray(y.compute() if arrays.is_lazy(y) else y)
        check_classification_targets(labels)
        d = int(X.shape[1])
        self._start(np.unique(labels), (len(labels), d))
        size = min(SAMPLED_ROWS, tried_rows(len(self.classes_)))
        options = SummaryOptions(exact=self._exact, sample_size=size)
        found = class_summaries(X, labels, sample_weight, options)
        self._summaries = {
            k: found[label] for k, label in enumerate(self.classes_.tolist()) if label in found
        }
        self.n_features_in_ = d
        names = feature_names_of(X)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _again(self, rows: Floats, labels: NDArray[Any], sample_weight: object) -> Again:
        """What reads the rows of every class once more."""
        own = class_numbers(labels, self.classes_)
        weights = None if sample_weight is None else as_weights(sample_weight, len(rows))
        members = [np.flatnonzero(own == k) for k in range(len(self.classes_))]
        return RowsAgain([(rows[i], None if weights is None else weights[i]) for i in members])

    def _again_lazily(self, X: Any, y: Any, sample_weight: object) -> Again:
        """The same for a Dask collection."""
        labels = np.asarray(y.compute() if arrays.is_lazy(y) else y)

        def again(mapping: RowMap) -> list[Summary]:
            found = mapped_classes(X, labels, sample_weight, mapping)
            return [found[label] for label in self.classes_.tolist()]

        return again

    def _concluded(self, again: Again | None = None) -> FittedClasses:
        """The model of the summaries so far."""
        summaries = self._summaries or {}
        missing = [label for k, label in enumerate(self.classes_) if k not in summaries]
        if missing:
            raise InputError(f"Class {shown(missing[0])} has no rows yet; fit some of every class.")
        settings = ClassSettings(
            **{one.name: getattr(self, one.name) for one in fields(ClassSettings)}
        )
        fitted = FittedClasses.fit([summaries[k] for k in sorted(summaries)], settings, again)
        warn(fitted.model.notes)
        return fitted

    @classmethod
    def from_fitted(
        cls,
        fitted: FittedClasses,
        classes: NDArray[Any],
        n_features: int,
        feature_names: tuple[str, ...] | None,
        **parameters: Any,
    ) -> Self:
        """An estimator from what a model file holds of one."""
        model = cls(**parameters)
        model.classes_ = classes
        model.n_features_in_ = n_features
        if feature_names is not None:
            model.feature_names_in_ = np.array(feature_names, dtype=object)
        model._exact = False
        model._summaries = None
        model._fitted = fitted
        return model

    # ---- what was fitted ----------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def fitted_parts(self) -> FittedClasses:
        """Everything that prediction needs, brought up to date after `partial_fit`."""
        check_is_fitted(self)
        if self._fitted is None:
            self._fitted = self._concluded()
        return self._fitted

    @property
    def frame_(self) -> JointFrame:
        return self._model_of(JointFrame, "More than two classes have no frame_; see costs_.")

    @property
    def costs_(self) -> SetCosts:
        return self._model_of(SetCosts, "Two classes have a joint frame; see frame_.")

    @property
    def shrinkage_(self) -> float:
        return self._model().geometry.shrinkage

    @property
    def threshold_(self) -> float:
        self._model()
        return self.fitted_parts().threshold

    def _model_of(self, kind: type[Model], otherwise: str) -> Model:
        model = self._model()
        if not isinstance(model, kind):
            raise AttributeError(otherwise)
        return model

    def _model(self) -> JointFrame | SetCosts:
        if not hasattr(self, "classes_"):
            raise AttributeError("This estimator is not fitted yet; call fit first.")
        try:
            return self.fitted_parts().model
        except InputError as error:
            # After partial_fit a class may still lack rows. What asks for attributes (hasattr, a
            # notebook's display) expects to learn in this way that there are none yet.
            raise AttributeError(str(error)) from error

    def transform(self, X: object) -> Floats:
        """Two classes: θ, both costs, the shared share, (n, 4). More: probabilities, (n, K).

        Probabilities also of two classes without a joint frame, as ``compare_many`` fits them.
        """
        fitted, rows = self._for_scoring(X)
        if isinstance(fitted.model, SetCosts):
            return fitted.weights(rows)
        found = fitted.align(rows)
        columns = [found.theta, found.cost_a, found.cost_b, np.asarray(found.shares)[:, 1]]
        return np.column_stack(columns).astype(np.float64)

    def decision_function(self, X: object) -> Floats:
        """Two classes: θ minus the threshold, (n,). More: the probabilities, (n, K)."""
        fitted, rows = self._for_scoring(X)
        if len(self.classes_) > 2:
            return fitted.weights(rows)
        return fitted.theta(rows) - fitted.threshold

    def predict(self, X: object) -> NDArray[Any]:
        """The class of each sample, (n,)."""
        decision = self.decision_function(X)
        index = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def predict_proba(self, X: object) -> Floats:
        """(n, K): the probability of each class, all being equally likely beforehand.

        Calibrated on leave-one-out costs of the training rows, unless ``calibrate`` says no.
        """
        fitted, rows = self._for_scoring(X)
        return fitted.weights(rows)

    def typicality(self, X: object) -> Floats:
        """(n, K): how usual each sample is for each class; small for all of them: none fits.

        Conformal p-values from the leave-one-out costs of the training rows: uniform for new rows
        of the class, whatever its distribution. `predict` names a class all the same.
        """
        fitted, rows = self._for_scoring(X)
        return fitted.typicality(rows)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Names of the columns of `transform`; `input_features` has no say in them."""
        check_is_fitted(self)
        if isinstance(self.fitted_parts().model, SetCosts):
            names = [f"weight_{label}" for label in self.classes_]
        else:
            names = ["theta", *(f"cost_{label}" for label in self.classes_), "shared"]
        return np.array(names, dtype=object)

    def _for_scoring(self, X: object) -> tuple[FittedClasses, Floats]:
        fitted = self.fitted_parts()
        return fitted, validate_data(self, X, reset=False, dtype=DTYPES)
