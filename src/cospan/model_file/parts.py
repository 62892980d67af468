"""Frames and costs to several sets as named arrays and plain settings, and back.

Rows of data are no part of any model: of the rows that typicality compares with, a file holds what
each cost its own set, in order. The map of a curve is written as it
is, so that no generator of random numbers has to give the same ones again; landmarks are means of
several rows.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan.base import arrays
from cospan.base.tolerance import FAST_SHRINKAGE, FILE_COSINES, NOT_ZERO
from cospan.decomposition import Blocks
from cospan.errors import ModelFileError
from cospan.model import (
    Calibration,
    CurvedSets,
    CurveMap,
    Geometry,
    JointFrame,
    LandmarkMap,
    Plain,
    RowMap,
    SetCosts,
    Typicality,
)
from cospan.model_file.reader import ABOVE_0, BELOW_1, Parts, Reader

_LINEAR_CENTERS = ("pooled", "each", "none", "given")
# More sets than any machine holds.
_MOST_SETS = 2**31
# Costs of a set's own rows in a file: summaries sample 2,000 rows, and these are kept as they are.
_MOST_COSTS = 4096
# The arrays of a curve's map.
_COLUMNS: tuple[str, ...] = ("center", "per_unit", "waves")
_LANDMARKS = ("center", "per_unit", "axes", "landmarks", "mixing")


def host(x: Any) -> NDArray[np.float64]:
    """An array of any library as it is written."""
    return np.ascontiguousarray(arrays.to_numpy(x), dtype=np.float64)


def model_parts(model: JointFrame | SetCosts) -> Parts:
    """The parts of a frame, or of costs to several sets."""
    settings, tensors = _geometry_parts(model.geometry)
    if isinstance(model, JointFrame):
        tensors |= {name: host(getattr(model, name)) for name in ("c", "s", "core", "inverse")}
        settings |= {
            "kind": "frame",
            "blocks": [int(n) for n in model.blocks],
            "dropped": int(model.dropped),
        }
    else:
        tensors |= {f"map{k}": host(one) for k, one in enumerate(model.maps)}
        settings |= {"kind": "costs", "sets": len(model.maps)}
    if model.basis is not None:
        tensors["basis"] = host(model.basis)
    tensors |= _typicality_parts(model.typicality)
    found = Parts(settings, tensors)
    return found if model.curve is None else found | _curve_parts(model.curve).inside("curve")


def read_model(read: Reader) -> JointFrame | SetCosts:
    """The frame, or the costs, that these parts were taken from."""
    return _frame(read) if read.choice("kind", "frame", "costs") == "frame" else _costs(read)


def _frame(read: Reader) -> JointFrame:
    geometry = _geometry(read, 2)
    d = geometry.n_features
    c = read.tensor("c", None, least=0.0)
    m = len(c)
    s = read.tensor("s", m, least=0.0)
    if np.any(np.abs(c**2 + s**2 - 1) > FILE_COSINES):
        raise ModelFileError("The model's arrays 'c' and 's' are not cosines and sines.")
    blocks = read.value("blocks", list)
    if len(blocks) != 3 or not all(type(n) is int and n >= 0 for n in blocks) or sum(blocks) != m:
        raise ModelFileError("The model's blocks do not add up to its directions.")
    basis = read.optional_tensor("basis", d, None)
    e = d if basis is None else basis.shape[1]
    return JointFrame(
        geometry=geometry,
        c=c,
        s=s,
        blocks=Blocks(*blocks),
        core=read.tensor("core", m, e),
        inverse=read.tensor("inverse", e, m),
        basis=basis,
        dropped=read.integer("dropped", most=d),
        typicality=_typicality(read, 2),
        curve=_curve(read, geometry),
    )


def _costs(read: Reader) -> SetCosts:
    n_sets = read.integer("sets", least=2, most=_MOST_SETS)
    geometry = _geometry(read, n_sets)
    basis = read.optional_tensor("basis", geometry.n_features, None)
    e = geometry.n_features if basis is None else basis.shape[1]
    # Shrunk moments are invertible; they are found again as the inverses of their maps.
    square = geometry.shrinkage > 0 or geometry.pooling > 0
    return SetCosts(
        geometry=geometry,
        maps=tuple(read.tensor(f"map{k}", e, e if square else None) for k in range(n_sets)),
        basis=basis,
        typicality=_typicality(read, n_sets),
        curve=_curve(read, geometry),
    )


# ---- the geometry -----------------------------------------------------------------------------


def _geometry_parts(g: Geometry) -> Parts:
    tensors = {name: host(getattr(g, name)) for name in ("center", "means", "unit", "sizes")}
    tensors |= _offsets(g.calibration)
    settings: dict[str, Any] = {
        "span": g.span,
        "center_mode": g.center_mode,
        "units": g.units,
        "balance": bool(g.balance),
        "gain": float(g.calibration.gain),
        "tol": None if g.tol is None else float(g.tol),
        "feature_names": None if g.feature_names is None else list(g.feature_names),
        "encoding": None if g.encoding is None else dict(g.encoding),
    }
    numbers = {name: float(getattr(g, name)) for name in ("shrinkage", "pooling", "dof")}
    return Parts(settings | numbers, tensors)


def _geometry(read: Reader, n_sets: int) -> Geometry:
    center = read.tensor("center", None)
    d = len(center)
    affine = read.choice("span", "affine", "linear") == "affine"
    unit = read.tensor("unit", d, least=0.0)
    if np.any((unit > 0) & (unit < sys.float_info.min)) or not (affine or unit.all()):
        raise ModelFileError("The model's array 'unit' is out of its range.")
    balance = read.value("balance", bool)
    if affine and not balance:
        raise ModelFileError("The model's setting 'balance' is out of its range.")
    without_tol = read.value("tol", float, int, type(None)) is None
    return Geometry(
        span="affine" if affine else "linear",
        center=center,
        center_mode=read.choice("center_mode", *(("own",) if affine else _LINEAR_CENTERS)),
        means=read.tensor("means", n_sets, d),
        unit=unit,
        units=read.choice("units", *(("own", "common") if affine else ("common",))),
        balance=balance,
        shrinkage=read.number("shrinkage", most=BELOW_1),
        pooling=read.number("pooling", most=1.0 if affine else 0.0),
        dof=read.number("dof", ABOVE_0) if affine else read.number("dof", most=0.0),
        sizes=read.tensor("sizes", n_sets, least=ABOVE_0),
        tol=None if without_tol else read.number("tol", most=1.0),
        feature_names=read.names("feature_names", d),
        encoding=read.value("encoding", dict, type(None)),
        calibration=_calibration(read, n_sets),
    )


def _offsets(calibration: Calibration) -> dict[str, NDArray[Any]]:
    return {"offsets": host(np.asarray(calibration.offsets))} if calibration.offsets else {}


def _calibration(read: Reader, n_sets: int) -> Calibration:
    offsets = read.optional_tensor("offsets", n_sets)
    return Calibration(read.number("gain"), () if offsets is None else tuple(offsets.tolist()))


# ---- what the sets' own rows cost --------------------------------------------------------------


def _typicality_parts(known: Typicality | None) -> dict[str, NDArray[Any]]:
    if known is None:
        return {}
    costs = {f"own_costs{k}": host(one) for k, one in enumerate(known.costs)}
    return costs | {f"rows_above{k}": host(one) for k, one in enumerate(known.above)}


def _typicality(read: Reader, n_sets: int) -> Typicality | None:
    """What the sets' own rows cost, if the file says so; it does of all sets or of none."""
    if "own_costs0" not in read.tensors:
        return None
    costs = [read.tensor(f"own_costs{k}", None, least=0.0) for k in range(n_sets)]
    above = [read.tensor(f"rows_above{k}", len(own) + 1, least=0.0) for k, own in enumerate(costs)]
    for own, rows in zip(costs, above, strict=True):
        ordered = bool(np.all(np.diff(own) >= 0) and np.all(np.diff(rows) <= 0))
        if not (0 < len(own) <= _MOST_COSTS and ordered and rows[0] > 0):
            raise ModelFileError("The costs of the model's own rows are not in order.")
    return Typicality(tuple(costs), tuple(above))


# ---- curves -----------------------------------------------------------------------------------


def _curve_parts(curve: CurvedSets) -> Parts:
    plain, names = curve.plain, _COLUMNS
    settings: dict[str, Any] = {"map": "columns", "gain": float(plain.calibration.gain)}
    if isinstance(curve.map, LandmarkMap):
        settings |= {"map": "landmarks", "width": float(curve.map.width)}
        names = _LANDMARKS
    tensors = {name: host(getattr(curve.map, name)) for name in names}
    tensors |= _typicality_parts(plain.typicality) | _offsets(plain.calibration)
    return Parts(settings, tensors) | model_parts(curve.costs).inside("costs")


def _curve(read: Reader, geometry: Geometry) -> CurvedSets | None:
    """The curve of a model with this geometry, if it has one."""
    if "curve" not in read.settings:
        return None
    inside = read.section("curve")
    mapping = _map(inside, geometry.n_features)
    costs = _costs(inside.section("costs"))
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
    plain = Plain(_calibration(inside, g.n_sets), _typicality(inside, g.n_sets))
    return CurvedSets(mapping, costs, plain)


def _map(inside: Reader, d: int) -> RowMap:
    center, per_unit = inside.tensor("center", d), inside.tensor("per_unit", d, least=0.0)
    if inside.choice("map", "columns", "landmarks") == "columns":
        return CurveMap(center, per_unit, inside.tensor("waves", 3, d))
    axes = inside.tensor("axes", d, None)
    landmarks = inside.tensor("landmarks", None, axes.shape[1])
    mixing = inside.tensor("mixing", len(landmarks), None)
    width = inside.number("width", least=NOT_ZERO)
    return LandmarkMap(center, per_unit, axes, landmarks, mixing, width)
