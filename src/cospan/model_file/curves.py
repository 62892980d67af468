"""The curve of a model as named tensors and plain settings, and back.

The map is held as it is, W and b and all, so that no generator of random numbers has to give the
same ones again. Rows of data are no part of it: landmarks are means of several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan._tolerance import FAST_SHRINKAGE, NOT_ZERO
from cospan.errors import ModelFileError
from cospan.model import (
    Calibration,
    CurvedSets,
    CurveMap,
    Geometry,
    LandmarkMap,
    Plain,
    RowMap,
    SetCosts,
    Typicality,
)
from cospan.model_file.reader import Reader

# By the map's name in the settings; files from before there were two have none.
_ARRAYS: dict[str, tuple[str, ...]] = {
    "columns": ("center", "per_unit", "frequencies", "phases"),
    "landmarks": ("center", "per_unit", "axes", "landmarks", "mixing"),
}


class Parts(NamedTuple):
    """A model as it is written: settings as JSON values, arrays by name."""

    settings: dict[str, Any]
    tensors: dict[str, NDArray[Any]]


def curve_parts(curve: CurvedSets, costs: Parts, typicality: dict[str, NDArray[Any]]) -> Parts:
    """What a curve adds to the parts of a model; `costs` are those of its own costs."""
    tensors = {f"curve.costs.{name}": value for name, value in costs.tensors.items()}
    tensors |= {f"curve.{name}": value for name, value in typicality.items()}
    kind: dict[str, Any] = {"map": "columns"}
    if isinstance(curve.map, LandmarkMap):
        kind = {"map": "landmarks", "width": float(curve.map.width)}
    for name in _ARRAYS[kind["map"]]:
        tensors[f"curve.{name}"] = np.ascontiguousarray(getattr(curve.map, name), dtype=float)
    plain = curve.plain.calibration
    if plain.offsets:
        tensors["curve.offsets"] = np.asarray(plain.offsets, dtype=float)
    settings = {"costs": costs.settings, "gain": float(plain.gain), **kind}
    return Parts({"curve": settings}, tensors)


def read_curve(
    read: Reader,
    geometry: Geometry,
    read_costs: Callable[[Reader], SetCosts],
    read_typicality: Callable[[Reader, int], Typicality | None],
) -> CurvedSets | None:
    """The curve of a model with this geometry, if it has one."""
    if "curve" not in read.settings:
        return None
    inside = read.section("curve")
    mapping = _map(inside, geometry.n_features)
    costs = read_costs(inside.section("costs"))
    g = costs.geometry
    fits = (
        g.n_sets == geometry.n_sets
        and g.n_features == mapping.n_features
        and g.affine
        and geometry.affine
        and g.shrinkage >= FAST_SHRINKAGE
        and costs.curve is None
    )
    if not fits:
        raise ModelFileError("The model's curve does not belong to its sets; save it again.")
    offsets = inside.optional_tensor("offsets", g.n_sets)
    plain = Calibration(inside.number("gain"), () if offsets is None else tuple(offsets.tolist()))
    return CurvedSets(mapping, costs, Plain(plain, read_typicality(inside, g.n_sets)))


def _map(inside: Reader, d: int) -> RowMap:
    center, per_unit = inside.tensor("center", d), inside.tensor("per_unit", d, least=0.0)
    if "map" not in inside.settings or inside.choice("map", *_ARRAYS) == "columns":
        frequencies = inside.tensor("frequencies", None, d)
        return CurveMap(center, per_unit, frequencies, inside.tensor("phases", len(frequencies)))
    axes = inside.tensor("axes", d, None)
    landmarks = inside.tensor("landmarks", None, axes.shape[1])
    mixing = inside.tensor("mixing", len(landmarks), None)
    width = inside.number("width", least=NOT_ZERO)
    return LandmarkMap(center, per_unit, axes, landmarks, mixing, width)
