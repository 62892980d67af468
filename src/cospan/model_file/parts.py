"""Fitted objects as named tensors and plain settings, and back.

Taking apart is easy; putting together trusts nothing: every entry is asked for by name and
checked (`reader`), so that a file that is no model gives one clear error and never a half-built
object. Rows of data are no part of any model.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan import _arrays as arrays
from cospan._classes.calibration import Calibration
from cospan._classes.costs import ClassCosts
from cospan._classes.fitted import FittedClasses
from cospan.decomposition import Blocks
from cospan.errors import InputError, ModelFileError
from cospan.estimator import AlignmentAngleClassifier
from cospan.frame import JointFrame
from cospan.model_file.reader import Reader

__all__ = ["Parts", "put_together", "take_apart"]

_TEXT: dict[str, type] = {"text": str, "text objects": object}
_ABOVE_0, _BELOW_1 = math.ulp(0.0), math.nextafter(1.0, 0.0)
# c² + s² = 1, up to the rounding of float32.
_UNIT = 1e-4
_NUMBERS = re.compile(r"[<>|=]?[biuf][1248]")


class Parts(NamedTuple):
    """A model as it is written: settings as JSON values, arrays by name."""

    settings: dict[str, Any]
    tensors: dict[str, NDArray[Any]]


def take_apart(model: object) -> Parts:
    """The parts of a frame, of costs to several sets, or of a fitted estimator."""
    if isinstance(model, JointFrame):
        return _frame_parts(model)
    if isinstance(model, ClassCosts):
        return _costs_parts(model)
    if isinstance(model, AlignmentAngleClassifier):
        return _classifier_parts(model)
    raise InputError(
        f"A {type(model).__name__} cannot be saved; pass a JointFrame or a fitted "
        "AlignmentAngleClassifier."
    )


def put_together(parts: Parts) -> Any:
    """The model these parts were taken from, or a ModelFileError."""
    reader = Reader(parts.settings, parts.tensors)
    kind = reader.value("kind", str)
    makers = {"frame": _frame, "costs": _costs, "classifier": _classifier}
    if kind not in makers:
        raise ModelFileError(f"The file holds a {kind!r}, which this version cannot read.")
    return makers[kind](reader)


def _host(x: Any) -> NDArray[np.float64]:
    return np.ascontiguousarray(arrays.to_numpy(x), dtype=np.float64)


# ---- frames -----------------------------------------------------------------------------------


def _frame_parts(frame: JointFrame) -> Parts:
    names = ("c", "s", "center", "center_a", "center_b", "core", "inverse")
    tensors = {name: _host(getattr(frame, name)) for name in names}
    if frame.basis is not None:
        tensors["basis"] = _host(frame.basis)
    settings = {
        "kind": "frame",
        "blocks": [int(n) for n in frame.blocks],
        "center_mode": frame.center_mode,
        "balance": bool(frame.balance),
        "tol": frame.tol,
        "dropped": int(frame.dropped),
        "feature_names": None if frame.feature_names is None else list(frame.feature_names),
    }
    numbers = {name: float(getattr(frame, name)) for name in ("shrinkage", "lam", "n_a", "n_b")}
    return Parts(settings | numbers, tensors)


def _frame(read: Reader) -> JointFrame:
    center = read.tensor("center", None)
    d = len(center)
    c = read.tensor("c", None)
    m = len(c)
    s = read.tensor("s", m)
    if c.min(initial=0) < 0 or s.min(initial=0) < 0 or np.any(np.abs(c**2 + s**2 - 1) > _UNIT):
        raise ModelFileError("The model's angles are none: c² + s² must be 1.")
    blocks = read.value("blocks", list)
    if len(blocks) != 3 or not all(type(n) is int and n >= 0 for n in blocks) or sum(blocks) != m:
        raise ModelFileError("The model's blocks do not add up to its directions.")
    basis = read.tensor("basis", d, None) if "basis" in read.tensors else None
    e = d if basis is None else basis.shape[1]
    return JointFrame(
        c=c,
        s=s,
        blocks=Blocks(*blocks),
        center=center,
        center_a=read.tensor("center_a", d),
        center_b=read.tensor("center_b", d),
        center_mode=read.choice("center_mode", "pooled", "each", "none", "given"),
        balance=read.value("balance", bool),
        tol=read.tolerance(),
        feature_names=_feature_names(read, d),
        core=read.tensor("core", m, e),
        inverse=read.tensor("inverse", e, m),
        basis=basis,
        dropped=read.integer("dropped", most=d),
        shrinkage=read.number("shrinkage", most=_BELOW_1),
        lam=read.number("lam"),
        n_a=read.number("n_a", least=_ABOVE_0),
        n_b=read.number("n_b", least=_ABOVE_0),
    )


def _feature_names(read: Reader, d: int) -> tuple[str, ...] | None:
    names = read.names("feature_names")
    if names is not None and len(names) != d:
        raise ModelFileError("The model does not have one name for each feature.")
    return names


# ---- costs to several sets --------------------------------------------------------------------


def _costs_parts(costs: ClassCosts) -> Parts:
    tensors = {name: _host(getattr(costs, name)) for name in ("center", "centers", "sizes")}
    tensors |= {f"map{k}": _host(one) for k, one in enumerate(costs.maps)}
    if costs.basis is not None:
        tensors["basis"] = _host(costs.basis)
    settings = {
        "kind": "costs",
        "sets": len(costs.maps),
        "center_mode": costs.center_mode,
        "balance": bool(costs.balance),
        "shrinkage": float(costs.shrinkage),
        "lam": float(costs.lam),
        "weighting": costs.weighting,
        "tol": costs.tol,
        "feature_names": None if costs.feature_names is None else list(costs.feature_names),
    }
    return Parts(settings, tensors)


def _costs(read: Reader) -> ClassCosts:
    center = read.tensor("center", None)
    d = len(center)
    sets = read.value("sets", int)
    sizes = read.tensor("sizes", sets)
    if sets < 2 or sizes.min() <= 0:
        raise ModelFileError("The model needs two sets or more, each of some size.")
    basis = read.tensor("basis", d, None) if "basis" in read.tensors else None
    e = d if basis is None else basis.shape[1]
    return ClassCosts(
        center=center,
        centers=read.tensor("centers", sets, d),
        center_mode=read.choice("center_mode", "pooled", "each", "none", "given"),
        balance=read.value("balance", bool),
        shrinkage=read.number("shrinkage", most=_BELOW_1),
        lam=read.number("lam"),
        weighting=read.choice("weighting", "cost", "frame"),
        tol=read.tolerance(),
        sizes=sizes,
        feature_names=_feature_names(read, d),
        maps=tuple(read.tensor(f"map{k}", e, None) for k in range(sets)),
        basis=basis,
    )


# ---- the estimator ----------------------------------------------------------------------------


def _classifier_parts(model: AlignmentAngleClassifier) -> Parts:
    fitted = model.fitted_parts()
    inner = take_apart(fitted.model)
    tensors = {f"model.{name}": value for name, value in inner.tensors.items()}
    parameters = model.get_params(deep=False)
    if not isinstance(parameters["center"], str):
        tensors["parameters.center"] = _host(np.asarray(parameters["center"], dtype=float))
        parameters["center"] = None
    names = getattr(model, "feature_names_in_", None)
    settings = {
        "kind": "classifier",
        "parameters": {name: _plain(value, name) for name, value in parameters.items()},
        "model": inner.settings,
        "classes": _plain_labels(model.classes_),
        "classes_type": _kind_of(model.classes_),
        "n_features_in": int(model.n_features_in_),
        "feature_names_in": None if names is None else [str(name) for name in names],
        "weighting": fitted.weighting,
        "constant": float(fitted.constant),
        "threshold": float(fitted.threshold),
        "calibration": None if fitted.calibration is None else fitted.calibration.method,
    }
    if fitted.calibration is not None:
        tensors |= {f"curve{k}": _host(one) for k, one in enumerate(fitted.calibration.curves)}
    return Parts(settings, tensors)


def _kind_of(classes: NDArray[Any]) -> str:
    """How the labels are held: one of `_TEXT`, or NumPy's code of a number type."""
    kinds = {"U": "text", "O": "text objects"}
    return kinds.get(classes.dtype.kind, classes.dtype.str)


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise InputError(f"The parameter {name} is {value!r}, which a model file cannot hold.")


def _plain_labels(classes: NDArray[Any]) -> list[Any]:
    labels: list[Any] = classes.tolist()
    if classes.dtype.kind in "biufU" or all(type(label) is str for label in labels):
        return labels
    raise InputError("A model file holds classes that are numbers or text; these are neither.")


def _classifier(read: Reader) -> AlignmentAngleClassifier:
    inner = read.section("model")
    model = _frame(inner) if inner.choice("kind", "frame", "costs") == "frame" else _costs(inner)
    classes = _classes(read)
    if len(classes) != (2 if isinstance(model, JointFrame) else len(model.maps)):
        raise ModelFileError("The estimator's classes are not as many as its model's sets.")
    fitted = FittedClasses(
        model=model,
        weighting=read.choice("weighting", "cost", "frame"),
        constant=read.number("constant"),
        threshold=read.number("threshold", most=math.pi / 2),
        calibration=_calibration(read, len(classes)),
    )
    n_features = read.value("n_features_in", int)
    if n_features + (1 if fitted.constant else 0) != model.n_features:
        raise ModelFileError("The estimator's features are not as many as its model's.")
    names = read.names("feature_names_in")
    if names is not None and len(names) != n_features:
        raise ModelFileError("The estimator does not have one name for each feature.")
    return AlignmentAngleClassifier.from_fitted(
        fitted, classes, n_features, names, **_parameters(read)
    )


def _parameters(read: Reader) -> dict[str, Any]:
    found: dict[str, Any] = dict(read.value("parameters", dict))
    expected = AlignmentAngleClassifier().get_params(deep=False)
    plain = (bool, int, float, str, type(None))
    if set(found) != set(expected) or not all(type(x) in plain for x in found.values()):
        raise ModelFileError("The estimator's parameters are not those of this version.")
    if found["center"] is None:
        found["center"] = read.tensor("parameters.center", None)
    return found


def _calibration(read: Reader, n_classes: int) -> Calibration | None:
    if read.value("calibration", str, type(None)) is None:
        return None
    method = read.choice("calibration", "isotonic", "sigmoid")
    knots = 1 if method == "sigmoid" else None
    count = 1 if n_classes == 2 else n_classes
    curves = tuple(read.tensor(f"curve{k}", 2, knots) for k in range(count))
    if method == "isotonic" and not all(_rises(curve) for curve in curves):
        raise ModelFileError("A curve of the estimator's calibration does not rise from 0 to 1.")
    return Calibration(method, curves)


def _rises(curve: NDArray[np.float64]) -> bool:
    """Knots in order, probabilities that never fall and stay between 0 and 1."""
    if not curve.shape[1]:
        return False
    return bool((np.diff(curve) >= 0).all() and curve[1, 0] >= 0 and curve[1, -1] <= 1)


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
