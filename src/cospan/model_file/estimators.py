"""Fitted estimators as named arrays and plain settings, and back."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.errors import InputError, ModelFileError
from cospan.estimator import AlignmentAngleClassifier, FittedClasses
from cospan.frame import JointFrame
from cospan.model_file.parts import host, model_parts, read_model
from cospan.model_file.reader import Parts, Reader

# How labels are held, by NumPy's kinds; numbers by NumPy's code of their type.
_KINDS = {"U": "text", "O": "text objects"}
_TEXT: dict[str, type] = {"text": str, "text objects": object}
_NUMBERS = re.compile(r"[<>|=]?[biuf][1248]")
_PLAIN = (bool, int, float, str, type(None))


def estimator_parts(model: object) -> Parts:
    """The parts of a fitted estimator."""
    if not isinstance(model, AlignmentAngleClassifier):
        raise InputError(
            f"A {type(model).__name__} cannot be saved; pass a JointFrame, SetCosts or a fitted "
            "AlignmentAngleClassifier."
        )
    fitted = model.fitted_parts()
    tensors: dict[str, NDArray[Any]] = {}
    parameters = model.get_params(deep=False)
    if not isinstance(parameters["center"], str):
        tensors["parameters.center"] = host(np.asarray(parameters["center"], dtype=float))
        parameters["center"] = None
    labels = model.classes_.tolist()
    if model.classes_.dtype.kind not in "biufU" and any(type(label) is not str for label in labels):
        raise InputError("A model file holds classes that are numbers or text; these are neither.")
    names = getattr(model, "feature_names_in_", None)
    settings = {
        "kind": "classifier",
        "parameters": {name: _plain(value, name) for name, value in parameters.items()},
        "classes": labels,
        "classes_type": _KINDS.get(model.classes_.dtype.kind, model.classes_.dtype.str),
        "n_features_in": int(model.n_features_in_),
        "feature_names_in": None if names is None else [str(name) for name in names],
        "weighting": fitted.weighting,
        "threshold": float(fitted.threshold),
    }
    return Parts(settings, tensors) | model_parts(fitted.model).inside("model")


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) in _PLAIN:
        return value
    raise InputError(f"The parameter {name} is {value!r}, which a model file cannot hold.")


def read_estimator(read: Reader) -> AlignmentAngleClassifier:
    """The estimator these parts were taken from."""
    model = read_model(read.section("model"))
    classes = _classes(read)
    if len(classes) != (2 if isinstance(model, JointFrame) else model.geometry.n_sets):
        raise ModelFileError("The estimator's classes are not as many as its model's sets.")
    n_features = read.integer("n_features_in", least=model.n_features, most=model.n_features)
    weighting = read.choice("weighting", "cost", "frame")
    if weighting == "frame" and model.geometry.affine:
        raise ModelFileError("The estimator's weighting does not belong to its model's span.")
    fitted = FittedClasses(model, weighting, read.number("threshold", most=math.pi / 2))
    names = read.names("feature_names_in", n_features)
    return AlignmentAngleClassifier.from_fitted(
        fitted, classes, n_features, names, **_parameters(read)
    )


def _parameters(read: Reader) -> dict[str, Any]:
    found: dict[str, Any] = dict(read.value("parameters", dict))
    expected = set(AlignmentAngleClassifier().get_params(deep=False))
    if set(found) != expected or not all(type(x) in _PLAIN for x in found.values()):
        raise ModelFileError("The estimator's parameters are not those of this version.")
    if found["center"] is None:
        found["center"] = read.tensor("parameters.center", None)
    return found


def _classes(read: Reader) -> NDArray[Any]:
    kind = read.value("classes_type", str)
    labels = read.value("classes", list)
    if kind in _TEXT and all(type(label) is str for label in labels):
        classes: NDArray[Any] = np.array(labels, dtype=_TEXT[kind])
    elif _NUMBERS.fullmatch(kind) and all(type(x) in (bool, int, float) for x in labels):
        try:
            classes = np.array(labels, dtype=np.dtype(kind))
        except (TypeError, ValueError, OverflowError):
            raise ModelFileError("The estimator's classes do not fit their type.") from None
    else:
        raise ModelFileError("The estimator's classes are neither numbers nor text.")
    if not bool(np.all(classes[:-1] < classes[1:])):
        raise ModelFileError("The estimator's classes are not in order, each once.")
    return classes
