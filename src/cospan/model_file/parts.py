"""Frames and costs to several sets as settings and arrays, and back: one table says of what.

Rows of data are no part of any model: of the rows that typicality compares with, a file holds what
each cost its own set, in order. The map of a curve is written as it
is, so that no generator of random numbers has to give the same ones again; landmarks are means of
several rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cospan.base import arrays
from cospan.decomposition import Blocks
from cospan.errors import ModelFileError
from cospan.model import (
    Calibration,
    CurvedSets,
    CurveMap,
    Geometry,
    JointFrame,
    LandmarkMap,
    SetCosts,
    Typicality,
)
from cospan.model_file.reader import Parts, Reader

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
    CurvedSets: {"map": CurveMap, "costs": SetCosts},
    CurveMap: {"center": "d", "per_unit": "d", "waves": "w d"},
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


def _entry_of(name: str, value: Any) -> Parts:
    if arrays.is_array(value) or name == "offsets":
        return Parts({}, {name: host(value)})
    if isinstance(value, tuple) and arrays.is_array(value[0]):
        return Parts({}, {f"{name}.{k}": host(one) for k, one in enumerate(value)})
    value = value.item() if isinstance(value, np.generic) else value
    return Parts({name: list(value) if isinstance(value, tuple) else value}, {})


def host(x: Any) -> NDArray[np.float64]:
    """An array of any library, or numbers, as they are written."""
    return np.ascontiguousarray(arrays.to_numpy(x), dtype=np.float64)


def read_part(read: Reader, *kinds: type) -> Any:
    """An object of one of these classes."""
    made = _KINDS[read.choice("kind", *(one.__name__ for one in kinds))]
    found: dict[str, Any] = {}
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
        kinds = (CurveMap, LandmarkMap) if form is CurveMap else (form,)
        return read_part(read.section(name), *kinds)
    if form is Blocks:
        return Blocks(*read.counts(name, len(Blocks._fields)))
    if form is tuple:
        return read.names(name, read.lengths["d"])
    return read.number(name) if form is float else read.value(name, form)
