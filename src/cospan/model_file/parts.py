"""Fitted objects as named tensors and plain settings, and back.

Taking apart is easy; putting together trusts nothing: every entry is asked for by name and
checked for its kind and shape, so that a file that is no model gives one clear error and never a
half-built object. Rows of data are no part of any model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
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

__all__ = ["Parts", "put_together", "take_apart"]

_TEXT: dict[str, type] = {"text": str, "text objects": object}
_NUMBERS = re.compile(r"[<>|=]?[biuf][1248]")


class Parts(NamedTuple):
    """A model as it is written: settings as JSON values, arrays by name."""

    settings: dict[str, Any]
    tensors: dict[str, NDArray[Any]]


class _Reader:
    """Asks for entries and says what is wrong with them."""

    def __init__(self, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> None:
        self.settings = settings
        self.tensors = tensors

    def value(self, name: str, *kinds: type) -> Any:
        if name not in self.settings:
            raise ModelFileError(f"The model lacks the setting {name!r}; save it again.")
        value = self.settings[name]
        if type(value) not in kinds:
            raise ModelFileError(f"The model's setting {name!r} is of the wrong kind.")
        return value

    def number(self, name: str) -> float:
        value = float(self.value(name, float, int))
        if not math.isfinite(value):
            raise ModelFileError(f"The model's setting {name!r} is no finite number.")
        return value

    def choice(self, name: str, *options: str) -> str:
        value = self.value(name, str)
        if value not in options:
            raise ModelFileError(f"The model's setting {name!r} is {value!r}, which is unknown.")
        return str(value)

    def section(self, name: str) -> _Reader:
        prefix = name + "."
        inside = {
            k.removeprefix(prefix): v for k, v in self.tensors.items() if k.startswith(prefix)
        }
        return _Reader(self.value(name, dict), inside)

    def names(self, name: str) -> tuple[str, ...] | None:
        found = self.value(name, list, type(None))
        if found is None:
            return None
        if not all(type(x) is str for x in found):
            raise ModelFileError(f"The model's setting {name!r} holds more than text.")
        return tuple(found)

    def tensor(self, name: str, *shape: int | None) -> NDArray[np.float64]:
        """A finite float64 tensor; None in the shape stands for any length."""
        if name not in self.tensors:
            raise ModelFileError(f"The model lacks the array {name!r}; save it again.")
        found = self.tensors[name]
        fits = len(found.shape) == len(shape) and all(
            want in (None, have) for want, have in zip(shape, found.shape, strict=True)
        )
        if not fits or found.dtype != np.float64 or not np.isfinite(found).all():
            raise ModelFileError(f"The model's array {name!r} has the wrong shape or values.")
        return found


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
    reader = _Reader(parts.settings, parts.tensors)
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


def _frame(read: _Reader) -> JointFrame:
    center = read.tensor("center", None)
    d = len(center)
    c = read.tensor("c", None)
    m = len(c)
    blocks = read.value("blocks", list)
    if len(blocks) != 3 or not all(type(n) is int and n >= 0 for n in blocks) or sum(blocks) != m:
        raise ModelFileError("The model's blocks do not add up to its directions.")
    basis = read.tensor("basis", d, None) if "basis" in read.tensors else None
    e = d if basis is None else basis.shape[1]
    return JointFrame(
        c=c,
        s=read.tensor("s", m),
        blocks=Blocks(*blocks),
        center=center,
        center_a=read.tensor("center_a", d),
        center_b=read.tensor("center_b", d),
        center_mode=read.choice("center_mode", "pooled", "each", "none", "given"),
        balance=read.value("balance", bool),
        tol=read.value("tol", float, int, type(None)),
        feature_names=_feature_names(read, d),
        core=read.tensor("core", m, e),
        inverse=read.tensor("inverse", e, m),
        basis=basis,
        dropped=read.value("dropped", int),
        shrinkage=read.number("shrinkage"),
        lam=read.number("lam"),
        n_a=read.number("n_a"),
        n_b=read.number("n_b"),
    )


def _feature_names(read: _Reader, d: int) -> tuple[str, ...] | None:
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


def _costs(read: _Reader) -> ClassCosts:
    center = read.tensor("center", None)
    d = len(center)
    sets = read.value("sets", int)
    sizes = read.tensor("sizes", sets)
    basis = read.tensor("basis", d, None) if "basis" in read.tensors else None
    e = d if basis is None else basis.shape[1]
    return ClassCosts(
        center=center,
        centers=read.tensor("centers", sets, d),
        center_mode=read.choice("center_mode", "pooled", "each", "none", "given"),
        balance=read.value("balance", bool),
        shrinkage=read.number("shrinkage"),
        lam=read.number("lam"),
        weighting=read.choice("weighting", "cost", "frame"),
        tol=read.value("tol", float, int, type(None)),
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


def _classifier(read: _Reader) -> AlignmentAngleClassifier:
    inner = read.section("model")
    model = put_together(Parts(dict(inner.settings), dict(inner.tensors)))
    if not isinstance(model, (JointFrame, ClassCosts)):
        raise ModelFileError("The estimator's model is neither a frame nor costs.")
    classes = _classes(read)
    if len(classes) != (2 if isinstance(model, JointFrame) else len(model.maps)):
        raise ModelFileError("The estimator's classes are not as many as its model's sets.")
    fitted = FittedClasses(
        model=model,
        weighting=read.choice("weighting", "cost", "frame"),
        constant=read.number("constant"),
        threshold=read.number("threshold"),
        calibration=_calibration(read, len(classes)),
    )
    n_features = read.value("n_features_in", int)
    if n_features + (1 if fitted.constant else 0) != model.n_features:
        raise ModelFileError("The estimator's features are not as many as its model's.")
    names = read.names("feature_names_in")
    return AlignmentAngleClassifier.from_fitted(
        fitted, classes, n_features, names, **_parameters(read)
    )


def _parameters(read: _Reader) -> dict[str, Any]:
    found: dict[str, Any] = dict(read.value("parameters", dict))
    expected = AlignmentAngleClassifier().get_params(deep=False)
    plain = (bool, int, float, str, type(None))
    if set(found) != set(expected) or not all(type(x) in plain for x in found.values()):
        raise ModelFileError("The estimator's parameters are not those of this version.")
    if found["center"] is None:
        found["center"] = read.tensor("parameters.center", None)
    return found


def _calibration(read: _Reader, n_classes: int) -> Calibration | None:
    if read.value("calibration", str, type(None)) is None:
        return None
    method = read.choice("calibration", "isotonic", "sigmoid")
    knots = 1 if method == "sigmoid" else None
    count = 1 if n_classes == 2 else n_classes
    return Calibration(method, tuple(read.tensor(f"curve{k}", 2, knots) for k in range(count)))


def _classes(read: _Reader) -> NDArray[Any]:
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
