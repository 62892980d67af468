"""What a fitted classifier says of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from cospan._types import Floats
from cospan.estimator.fitted import FittedClasses

DTYPES = (np.float64, np.float32)  # that rows may keep


class Scoring:
    """Classes, probabilities and costs of samples, for whatever holds fitted classes."""

    classes_: NDArray[Any]

    def fitted_parts(self) -> FittedClasses:
        """What was fitted; an error where nothing was."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> Floats:
        """Two classes: θ minus the threshold, (n,). More: the probabilities, (n, K)."""
        fitted, rows = self._for_scoring(X)
        if len(self.classes_) > 2:
            return fitted.weights(rows)
        return np.asarray(fitted.align(rows).theta, dtype=np.float64) - fitted.threshold

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each sample, (n,)."""
        decision = self.decision_function(X)
        index = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def predict_proba(self, X: Any) -> Floats:
        """(n, K): the probability of each class, all being equally likely beforehand.

        Calibrated on leave-one-out costs of the training rows, unless ``calibrate`` says no.
        """
        fitted, rows = self._for_scoring(X)
        return fitted.probabilities(rows)

    def typicality(self, X: Any) -> Floats:
        """(n, K): how usual each sample is for each class; small for all of them: none fits.

        Conformal p-values from the leave-one-out costs of the training rows: uniform for new rows
        of the class, whatever its distribution. `predict` names a class all the same.
        """
        fitted, rows = self._for_scoring(X)
        return fitted.typicality(rows)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns of `transform`; `input_features` has no say in them."""
        check_is_fitted(self)
        if len(self.classes_) > 2:
            names = [f"weight_{label}" for label in self.classes_]
        else:
            names = ["theta", *(f"cost_{label}" for label in self.classes_), "shared"]
        return np.array(names, dtype=object)

    def _for_scoring(self, X: Any) -> tuple[FittedClasses, Floats]:
        fitted = self.fitted_parts()
        return fitted, validate_data(self, X, reset=False, dtype=DTYPES)
