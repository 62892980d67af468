"""Fitted estimators as named tensors and plain settings, and back."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._types import Floats
from cospan.errors import InputError, ModelFileError
from cospan.estimator import AlignmentAngleClassifier, FittedClasses
from cospan.model import Alignment, JointFrame
from cospan.model_file import parts
from cospan.model_file.first_format import Curves, read_curves
from cospan.model_file.parts import Parts
from cospan.model_file.reader import Reader

# How labels are held, by NumPy's kinds; numbers by NumPy's code of their type.
_KINDS = {"U": "text", "O": "text objects"}
_TEXT: dict[str, type] = {"text": str, "text objects": object}
_NUMBERS = re.compile(r"[<>|=]?[biuf][1248]")
_PLAIN = (bool, int, float, str, type(None))
# Parameters of 0.1 that no estimator has any more.
_PAST = {"constant", "calibrated"}


@dataclass(frozen=True, eq=False)
class ClassesOfFirstFormat(FittedClasses):
    """Classes fitted by cospan 0.1 with a constant feature, or with curves behind the weights."""

    constant: float = 0.0
    curves: Curves | None = None

    def align(self, X: Floats) -> Alignment:
        return self._plain.align(self._rows(X))

    def weights(self, X: Floats) -> Floats:
        return self._plain.weights(self._rows(X))

    def probabilities(self, X: Floats) -> Floats:
        weights = self.weights(X)
        return weights if self.curves is None else self.curves.probabilities(weights)

    @property
    def _plain(self) -> FittedClasses:
        return FittedClasses(self.model, self.weighting, self.threshold)

    def _rows(self, X: Floats) -> Floats:
        if not self.constant:
            return X
        return np.concatenate([X, np.full_like(X[:, :1], self.constant)], axis=1)


# ---- taking apart -----------------------------------------------------------------------------


def take_apart(model: object) -> Parts:
    """The parts of a fitted estimator."""
    if not isinstance(model, AlignmentAngleClassifier):
        raise InputError(
            f"A {type(model).__name__} cannot be saved; pass a JointFrame, SetCosts or a fitted "
            "AlignmentAngleClassifier."
        )
    fitted = model.fitted_parts()
    inner = parts.take_apart(fitted.model)
    tensors = {f"model.{name}": value for name, value in inner.tensors.items()}
    parameters = model.get_params(deep=False)
    if not isinstance(parameters["center"], str):
        tensors["parameters.center"] = parts.host(np.asarray(parameters["center"], dtype=float))
        parameters["center"] = None
    names = getattr(model, "feature_names_in_", None)
    settings = {
        "kind": "classifier",
        "parameters": {name: _plain(value, name) for name, value in parameters.items()},
        "model": inner.settings,
        "classes": _plain_labels(model.classes_),
        "classes_type": _KINDS.get(model.classes_.dtype.kind, model.classes_.dtype.str),
        "n_features_in": int(model.n_features_in_),
        "feature_names_in": None if names is None else [str(name) for name in names],
        "weighting": fitted.weighting,
        "threshold": float(fitted.threshold),
        "constant": 0.0,
        "calibration": None,
    }
    if isinstance(fitted, ClassesOfFirstFormat):
        settings["constant"] = float(fitted.constant)
        if fitted.curves is not None:
            settings["calibration"] = fitted.curves.method
            tensors |= fitted.curves.tensors()
    return Parts(settings, tensors)


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) in _PLAIN:
        return value
    raise InputError(f"The parameter {name} is {value!r}, which a model file cannot hold.")


def _plain_labels(classes: NDArray[Any]) -> list[Any]:
    labels: list[Any] = classes.tolist()
    if classes.dtype.kind in "biufU" or all(type(label) is str for label in labels):
        return labels
    raise InputError("A model file holds classes that are numbers or text; these are neither.")


# ---- putting together -------------------------------------------------------------------------


def put_together(read: Reader, version: int) -> AlignmentAngleClassifier:
    """The estimator these parts were taken from."""
    model = parts.read_model(read.section("model"), version)
    classes = _classes(read)
    if len(classes) != (2 if isinstance(model, JointFrame) else model.geometry.n_sets):
        raise ModelFileError("The estimator's classes are not as many as its model's sets.")
    constant = read.number("constant")
    n_features = read.integer("n_features_in", most=model.n_features)
    if n_features + (1 if constant else 0) != model.n_features:
        raise ModelFileError("The estimator's features are not as many as its model's.")
    weighting = read.choice("weighting", "cost", "frame")
    if weighting == "frame" and model.geometry.affine:
        raise ModelFileError("The estimator's weighting does not belong to its model's span.")
    threshold = read.number("threshold", most=math.pi / 2)
    curves = read_curves(read, len(classes))
    if constant or curves is not None:
        fitted: FittedClasses = ClassesOfFirstFormat(model, weighting, threshold, constant, curves)
    else:
        fitted = FittedClasses(model, weighting, threshold)
    names = read.names("feature_names_in", n_features)
    return AlignmentAngleClassifier.from_fitted(
        fitted, classes, n_features, names, **_parameters(read, version)
    )


def _parameters(read: Reader, version: int) -> dict[str, Any]:
    found: dict[str, Any] = dict(read.value("parameters", dict))
    expected = set(AlignmentAngleClassifier().get_params(deep=False))
    if version == 1:
        for name in _PAST & set(found):
            del found[name]
        now = {"span": "linear", "units": "common", "pooling": 0.0, "dof": "auto"}
        found |= {"calibrate": False, **now}
    found.setdefault("curve", None)  # files from before there were curves
    if set(found) != expected or not all(type(x) in _PLAIN for x in found.values()):
        raise ModelFileError("The estimator's parameters are not those of this version.")
    if found["center"] is None:
        found["center"] = read.tensor("parameters.center", None)
    return found


def _classes(read: Reader) -> NDArray[Any]:
    classes = _labels(read)
    if not bool(np.all(classes[:-1] < classes[1:])):
        raise ModelFileError("The estimator's classes are not in order, each once.")
    return classes


def _labels(read: Reader) -> NDArray[Any]:
    kind = read.value("classes_type", str)
    labels = read.value("classes", list)
    if kind in _TEXT and all(type(label) is str for label in labels):
        return np.array(labels, dtype=_TEXT[kind])
    if not _NUMBERS.fullmatch(kind) or not all(type(x) in (bool, int, float) for x in labels):
        raise ModelFileError("The estimator's classes are neither numbers nor text.")
    try:
        return np.array(labels, dtype=np.dtype(kind))
    except (TypeError, ValueError, OverflowError):
        raise ModelFileError("The estimator's classes do not fit their type.") from None
