"""Frames, costs to several sets and fitted estimators as settings and arrays, and back.

One table says which fields of each class a file holds. Rows of data are no part of any model: of
the rows that typicality compares with, a file holds what each cost its own set, in order. The map
of a curve is written as it is, so that no generator of random numbers has to give the same ones
again; landmarks are means of several rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

import numpy as np

from cospan.base import arrays
from cospan.base.files import check_output, whole_file
from cospan.base.tables import plain
from cospan.base.types import Floats, Record
from cospan.decomposition import Blocks
from cospan.errors import InputError, ModelFileError
from cospan.model import (
    Calibration,
    CurvedSets,
    Geometry,
    JointFrame,
    LandmarkMap,
    ScoreMap,
    SetCosts,
    Typicality,
)
from cospan.model_file.container import Parts, Reader, file_bytes, packed, unpacked

if TYPE_CHECKING:
    from cospan.estimator import AlignmentAngleClassifier

FORMAT_VERSION = 4
_FORMAT = "cospan model"

Model = TypeVar("Model", JointFrame, SetCosts, "AlignmentAngleClassifier")


def save(path: str | os.PathLike[str], model: object) -> Path:
    """Write a frame, costs to several sets, or a fitted estimator to a file.

    The file appears whole or not at all: one of that name stays until then. Saving the same model
    twice gives the same bytes.

    Parameters
    ----------
    path : path
        ``.safetensors`` is the usual ending.
    model : JointFrame, SetCosts or AlignmentAngleClassifier
        U and V of a frame are left out, since they describe single rows, and so are the samples
        of rows that an estimator keeps for `partial_fit`.

    Examples
    --------
    >>> import tempfile
    >>> from cospan import JointFrame, load, save
    >>> frame = JointFrame.fit([[0.0], [1.0], [3.0]], [[5.0], [6.0], [8.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(save(f"{folder}/frame.safetensors", frame), JointFrame)
    >>> again.n_a, again.n_features
    (3.0, 1)
    """
    check_output(path)
    data = to_bytes(model)
    with whole_file(path) as temporary:
        temporary.write_bytes(data)
    return Path(path)


@overload
def load(path: str | os.PathLike[str], kind: type[Model]) -> Model: ...
@overload
def load(path: str | os.PathLike[str], kind: None = None) -> Any: ...
def load(path: str | os.PathLike[str], kind: type[Any] | None = None) -> Any:
    """Read what :func:`save` wrote.

    Parameters
    ----------
    path : path
    kind : JointFrame, SetCosts or AlignmentAngleClassifier, optional
        What the file must hold: another model is refused, and type checkers know what comes back.

    Returns
    -------
    JointFrame, SetCosts or AlignmentAngleClassifier
        Scores as the saved one did, up to rounding. An estimator from a file can predict and
        transform; `partial_fit` needs the data's summaries and says so.

    Raises
    ------
    ModelFileError
        If the file cannot be read, is damaged or truncated, has another format version, or is
        something else.

    Examples
    --------
    >>> frame = load("frame.safetensors", JointFrame)  # doctest: +SKIP
    """
    name = os.fspath(path)
    data = file_bytes(path)
    try:
        model = from_bytes(data)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error
    if kind is not None and not isinstance(model, kind):
        raise ModelFileError(
            f"{name} holds {type(model).__name__} where {kind.__name__} is expected; "
            "load it without a kind, or pass another file."
        )
    return model


def to_bytes(model: object) -> bytes:
    """A model as the bytes of a model file; the same model gives the same bytes."""
    known = isinstance(model, JointFrame | SetCosts)
    parts = part_of(model) if known else _estimator_parts(model)
    return packed(parts, _FORMAT, FORMAT_VERSION)


def from_bytes(data: bytes) -> Any:
    """The model in the bytes of a model file."""
    reader = Reader(*unpacked(data, _FORMAT, FORMAT_VERSION))
    if reader.value("kind", str) != "classifier":
        return read_part(reader, JointFrame, SetCosts)
    return _read_estimator(reader)


# ---- frames and costs, by one table ------------------------------------------------------------

Field: TypeAlias = str | tuple[str, ...] | type

_OF_SETS: dict[str, Field] = {
    "geometry": Geometry,
    "basis?": "d e",
    "typicality?": Typicality,
    "curve?": CurvedSets,
}

#: The fields that a file holds of each class. A text is the shape of an array, in letters that each
#: mean one length throughout a model ("*" is any, "K×" before it one array for each set); a tuple
#: has the words that are allowed. A question mark: the field may be None, or empty.
FIELDS: dict[type, Mapping[str, Field]] = {
    JointFrame: _OF_SETS
    | {"c": "m", "s": "m", "core": "m e", "inverse": "e m", "blocks": Blocks, "dropped": int},
    SetCosts: _OF_SETS | {"maps": "K× e *"},
    Geometry: {
        "span": ("affine", "linear"),
        "center": "d",
        "center_mode": ("own", "pooled", "each", "none", "given"),
        "sizes": "K",
        "means": "K d",
        "unit": "d",
        "units": ("own", "common"),
        "balance": bool,
        "shrinkage": float,
        "pooling": float,
        "dof": float,
        "tol?": float,
        "feature_names?": tuple,
        "encoding?": dict,
        "calibration": Calibration,
    },
    Calibration: {"gain": float, "offsets?": "K"},
    Typicality: {"costs": "K× *", "above": "K× *"},
    CurvedSets: {"map": ScoreMap, "costs": SetCosts},
    ScoreMap: {"values": "d v", "scores": "d v", "landmarks": "L d", "mixing": "L *"}
    | {"width": float},
    LandmarkMap: {"center": "d", "per_unit": "d", "axes": "d a", "landmarks": "L a"}
    | {"mixing": "L *", "width": float},
}
_KINDS = {made.__name__: made for made in FIELDS}


def part_of(model: object) -> Parts:
    """A model, or a part of one, as it is written."""
    found = Parts({"kind": type(model).__name__}, {})
    for field in FIELDS[type(model)]:
        name = field.rstrip("?")
        value: Any = getattr(model, name)
        if value is None or (isinstance(value, tuple) and not value):
            continue
        found |= part_of(value).inside(name) if type(value) in FIELDS else _entry_of(name, value)
    return found


def _entry_of(name: str, value: object) -> Parts:
    if arrays.is_array(value) or name == "offsets":
        return Parts({}, {name: _host(value)})
    if isinstance(value, tuple) and arrays.is_array(value[0]):
        return Parts({}, {f"{name}.{k}": _host(one) for k, one in enumerate(value)})
    value = value.item() if isinstance(value, np.generic) else value
    return Parts({name: list(value) if isinstance(value, tuple) else value}, {})


def _host(x: object) -> Floats:
    """An array of any library, or numbers, as they are written."""
    return np.ascontiguousarray(arrays.to_numpy(x), dtype=np.float64)


def read_part(read: Reader, *kinds: type) -> Any:
    """An object of one of these classes."""
    made = _KINDS[read.choice("kind", *(one.__name__ for one in kinds))]
    found: Record = {}
    for field, form in FIELDS[made].items():
        name = field.rstrip("?")
        found[name] = _field(read, name, form) if field == name or read.has(name) else None
        if name == "basis" and found[name] is None:
            read.lengths["e"] = read.lengths["d"]  # the features are the working coordinates
        if name == "map":
            read.lengths["mapped"] = found[name].n_features
    if made is Calibration:
        found["offsets"] = () if found["offsets"] is None else tuple(found["offsets"].tolist())
    if made is JointFrame and (sum(found["blocks"]), 2) != (len(found["c"]), read.lengths["K"]):
        raise ModelFileError("The model's blocks do not add up to its directions.")
    return made(**found)


def _field(read: Reader, name: str, form: Field) -> object:
    if isinstance(form, tuple):
        return read.choice(name, *form)
    if isinstance(form, str):
        each, _, shape = form.rpartition("× ")
        if each:
            names = [f"{name}.{k}" for k in range(read.lengths["K"])]
            return tuple(read.tensor(one, *shape.split()) for one in names)
        return read.tensor(name, *shape.split())
    if form is SetCosts:  # of mapped rows, which have features of their own
        inside = read.section(name)
        inside.lengths = {"K": read.lengths["K"], "d": read.lengths["mapped"]}
        return read_part(inside, SetCosts)
    if form in FIELDS:
        kinds = (ScoreMap, LandmarkMap) if form is ScoreMap else (form,)
        return read_part(read.section(name), *kinds)
    if form is Blocks:
        return Blocks(*read.counts(name, len(Blocks._fields)))
    if form is tuple:
        return read.names(name, read.lengths["d"])
    return read.number(name) if form is float else read.value(name, form)


# ---- estimators (scikit-learn takes a while to import) ------------------------------------------


def _estimator_parts(model: object) -> Parts:
    from cospan.estimator import AlignmentAngleClassifier

    if not isinstance(model, AlignmentAngleClassifier):
        raise InputError(
            f"A {type(model).__name__} cannot be saved; pass a JointFrame, SetCosts or a fitted "
            "AlignmentAngleClassifier."
        )
    fitted, classes = model.fitted_model(), model.classes_.tolist()
    if not all(isinstance(label, bool | int | float | str) for label in classes):
        raise InputError("A model file holds classes that are numbers or text; these are neither.")
    settings: Record = {
        "kind": "classifier",
        "parameters": plain(model.get_params(deep=False)),
        "classes": classes,
        "dtype": model.classes_.dtype.str,
    }
    return Parts(settings, {}) | part_of(fitted).inside("model")


def _read_estimator(read: Reader) -> AlignmentAngleClassifier:
    from cospan.estimator import AlignmentAngleClassifier

    model = read_part(read.section("model"), JointFrame, SetCosts)
    parameters = read.value("parameters", dict)
    frame_weighted = parameters.get("weighting") == "frame"
    try:
        classes = np.array(read.value("classes", list), dtype=read.value("dtype", str))
        each_once = classes.ndim == 1 and len(set(classes.tolist())) == len(classes)
    except (TypeError, ValueError):
        each_once = False
    if not each_once:
        raise ModelFileError("The estimator's classes are not there, each once.")
    if len(classes) != model.geometry.n_sets or (frame_weighted and model.geometry.affine):
        raise ModelFileError("The estimator's classes or weighting do not fit its model.")
    if set(parameters) != set(AlignmentAngleClassifier().get_params(deep=False)):
        raise ModelFileError("The estimator's parameters are not those of this version.")
    if isinstance(parameters["center"], list):
        parameters = {**parameters, "center": np.array(parameters["center"], dtype=np.float64)}
    return AlignmentAngleClassifier.from_fitted(model, classes, **parameters)
