"""Fitted estimators as settings and arrays, and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.errors import InputError, ModelFileError
from cospan.estimator import AlignmentAngleClassifier, FittedClasses
from cospan.model import JointFrame, SetCosts
from cospan.model_file.parts import host, part_of, read_part
from cospan.model_file.reader import Parts, Reader

_PLAIN = (bool, int, float, str, type(None))


def estimator_parts(model: object) -> Parts:
    """The parts of a fitted estimator. Labels that are numbers are an array, others a list."""
    if not isinstance(model, AlignmentAngleClassifier):
        raise InputError(
            f"A {type(model).__name__} cannot be saved; pass a JointFrame, SetCosts or a fitted "
            "AlignmentAngleClassifier."
        )
    fitted = model.fitted_parts()
    parameters = model.get_params(deep=False)
    tensors: dict[str, NDArray[Any]] = {}
    if not isinstance(parameters["center"], str):
        tensors["center"] = host(np.asarray(parameters["center"], dtype=float))
        parameters["center"] = None
    settings: dict[str, Any] = {
        "kind": "classifier",
        "parameters": {name: _plain(value, name) for name, value in parameters.items()},
        "weighting": fitted.weighting,
        "threshold": float(fitted.threshold),
    }
    if model.classes_.dtype.kind in "biuf":
        tensors["classes"] = model.classes_
    elif all(type(label) is str for label in model.classes_.tolist()):
        settings["classes"] = model.classes_.tolist()
        settings["objects"] = model.classes_.dtype == object
    else:
        raise InputError("A model file holds classes that are numbers or text; these are neither.")
    return Parts(settings, tensors) | part_of(fitted.model).inside("model")


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) in _PLAIN:
        return value
    raise InputError(f"The parameter {name} is {value!r}, which a model file cannot hold.")


def read_estimator(read: Reader) -> AlignmentAngleClassifier:
    """The estimator these parts were taken from."""
    model, classes = read_part(read.section("model"), JointFrame, SetCosts), _classes(read)
    weighting = read.choice("weighting", "cost", "frame")
    if len(classes) != model.geometry.n_sets or (weighting == "frame" and model.geometry.affine):
        raise ModelFileError("The estimator's classes or weighting do not fit its model.")
    parameters: dict[str, Any] = dict(read.value("parameters", dict))
    expected = set(AlignmentAngleClassifier().get_params(deep=False))
    if set(parameters) != expected or not all(type(x) in _PLAIN for x in parameters.values()):
        raise ModelFileError("The estimator's parameters are not those of this version.")
    if parameters["center"] is None:
        parameters["center"] = read.tensor("center", "*")
    return AlignmentAngleClassifier.from_fitted(
        FittedClasses(model, weighting, read.number("threshold", 0, math.pi / 2)),
        classes,
        model.n_features,
        model.feature_names,
        **parameters,
    )


def _classes(read: Reader) -> NDArray[Any]:
    classes = read.tensors.get("classes")
    if classes is None:
        labels = read.value("classes", list)
        if not all(type(label) is str for label in labels):
            raise ModelFileError("The estimator's classes are neither numbers nor text.")
        classes = np.array(labels, dtype=object if read.value("objects", bool) else str)
    if classes.ndim != 1 or not bool(np.all(classes[:-1] < classes[1:])):
        raise ModelFileError("The estimator's classes are not in order, each once.")
    return classes
