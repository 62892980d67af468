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
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.base import arrays
from cospan.base.files import check_output
from cospan.base.tables import plain
from cospan.base.types import Floats, Record
from cospan.decomposition import Blocks
from cospan.errors import InputError
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
from cospan.model_file.container import Parts, Reader, read_parts, unfit, write_parts

if TYPE_CHECKING:
    from cospan.estimator import AlignmentAngleClassifier

#: What a model file is called in its header, and its format.
MODEL = ("cospan model", 5)


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
    ...     again = load(save(f"{folder}/frame.safetensors", frame))
    >>> again.n_a, again.n_features
    (3.0, 1)
    """
    check_output(path)
    known = isinstance(model, JointFrame | SetCosts)
    return write_parts(path, MODEL, part_of(model) if known else _estimator_parts(model))


def load(path: str | os.PathLike[str]) -> Any:
    """Read what :func:`save` wrote.

    Parameters
    ----------
    path : path

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
    >>> frame = load("frame.safetensors")  # doctest: +SKIP
    """

    def read(reader: Reader) -> Any:
        if reader.value("kind", str) == "classifier":
            return _read_estimator(reader)
        return read_part(reader, JointFrame, SetCosts)

    return read_parts(path, MODEL, read)


# ---- frames and costs, by one table ------------------------------------------------------------

_OF_SETS: dict[str, Any] = {
    "geometry": Geometry,
    "basis?": "d e",
    "typicality?": Typicality,
    "curve?": CurvedSets,
}

#: What a file holds of each class. A text is the shape of an array, in letters that each mean one
#: length throughout a model ("*" is any, "K×" before it one array for each set); a tuple holds the
#: words that are allowed, or the classes; a list the kind of what is listed, and how long the list
#: is. A question mark: the field may be None, or empty, and is then not in the file.
FIELDS: dict[type, Mapping[str, Any]] = {
    JointFrame: _OF_SETS
    | {"c": "m", "s": "m", "core": "m e", "inverse": "e m", "blocks": [int, 3], "dropped": int},
    SetCosts: _OF_SETS | {"maps": "K× e *"},
    Geometry: {
        "span": ("affine", "linear"),
        "center": "d",
        "center_mode": ("own", "pooled", "each", "none"),
        "sizes": "K",
        "means": "K d",
        "unit": "d",
        "units": ("own", "common"),
        "balance": bool,
        "shrinkage": float,
        "pooling": float,
        "dof": float,
        "tol?": float,
        "feature_names?": [str, "d"],
        "encoding?": dict,
        "calibration": Calibration,
    },
    Calibration: {"gain": float, "offsets?": [float, "K"]},
    Typicality: {"costs": "K× *", "above": "K× *"},
    CurvedSets: {"map": (ScoreMap, LandmarkMap), "costs": SetCosts},
    ScoreMap: {"values": "d v", "scores": "d v", "landmarks": "L d", "mixing": "L *"}
    | {"width": float},
    LandmarkMap: {"center": "d", "per_unit": "d", "axes": "d a", "landmarks": "L a"}
    | {"mixing": "L *", "width": float},
}
_KINDS = {made.__name__: made for made in FIELDS}


def part_of(model: object) -> Parts:
    """A model, or a part of one, as it is written."""
    found = Parts({"kind": type(model).__name__}, {})
    for field, form in FIELDS[type(model)].items():
        name = field.rstrip("?")
        value: Any = getattr(model, name)
        if name != field and (value is None or (isinstance(value, tuple) and not value)):
            continue
        if type(value) in FIELDS:
            found |= part_of(value).inside(name)
        elif isinstance(form, str) and "×" in form:
            found |= Parts({}, {f"{name}.{k}": _host(one) for k, one in enumerate(value)})
        elif isinstance(form, str):
            found |= Parts({}, {name: _host(value)})
        elif isinstance(form, list):
            found |= Parts({name: [form[0](one) for one in value]}, {})
        else:
            found |= Parts({name: form(value) if isinstance(form, type) else value}, {})
    return found


def _host(x: object) -> Floats:
    """An array of any library as it is written."""
    return np.ascontiguousarray(arrays.to_numpy(x), dtype=np.float64)


def read_part(read: Reader, *kinds: type) -> Any:
    """An object of one of these classes."""
    made = _KINDS.get(read.value("kind", str))
    if made not in kinds:
        raise unfit("kind")
    found: Record = {}
    for field, form in FIELDS[made].items():
        name = field.rstrip("?")
        if field == name or read.has(name):
            found[name] = _field(read, name, form)
        elif name == "basis":
            read.lengths["e"] = read.lengths["d"]  # the features are the working coordinates
    if made is JointFrame:
        found["blocks"] = Blocks(*found["blocks"])
        if (sum(found["blocks"]), 2) != (len(found["c"]), read.lengths["K"]):
            raise unfit("blocks")
    if made is CurvedSets and found["map"].n_features != found["costs"].n_features:
        raise unfit("curve.costs")
    return made(**found)


def _field(read: Reader, name: str, form: Any) -> Any:
    """One entry, of the form that the table gives it."""
    if isinstance(form, str):
        each, _, shape = form.rpartition("× ")
        if not each:
            return read.tensor(name, *shape.split())
        names = [f"{name}.{k}" for k in range(read.lengths["K"])]
        return tuple(read.tensor(one, *shape.split()) for one in names)
    if isinstance(form, list):
        kind, length = form
        listed = read.value(name, list)
        if not read.fits(length, len(listed)) or any(type(one) is not kind for one in listed):
            raise unfit(name)
        return tuple(listed)
    kinds = form if isinstance(form, tuple) else (form,)
    if kinds[0] in FIELDS:
        inside = read.section(name)
        if form is SetCosts:  # of mapped rows, which have features of their own
            inside.lengths = {"K": read.lengths["K"]}
        return read_part(inside, *kinds)
    value = read.value(name, *(kinds if isinstance(form, type) else (str,)))
    if not isinstance(form, type) and value not in form:
        raise unfit(name)
    return value


# ---- estimators (scikit-learn takes a while to import) ------------------------------------------


def _estimator_parts(model: object) -> Parts:
    from cospan.estimator import AlignmentAngleClassifier

    if not isinstance(model, AlignmentAngleClassifier):
        raise InputError(
            f"A {type(model).__name__} cannot be saved; pass a JointFrame, SetCosts or a fitted "
            "AlignmentAngleClassifier."
        )
    fitted, classes = model.model_, model.classes_.tolist()
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
    parameters, labels = read.value("parameters", dict), read.value("classes", list)
    classes = np.array(labels, dtype=read.value("dtype", str))
    if classes.shape != (model.geometry.n_sets,) or len(set(labels)) != len(labels):
        raise unfit("classes")
    if set(parameters) != set(AlignmentAngleClassifier().get_params(deep=False)):
        raise unfit("parameters")
    return AlignmentAngleClassifier.from_fitted(model, classes, **parameters)
