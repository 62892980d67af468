"""Frames and costs as named tensors and plain settings, and back.

Taking apart is easy; putting together trusts nothing: every entry is asked for by name and
checked (`reader`), so that a file that is not a model gives one clear error and never a half-built
object. Rows of data are no part of any model: of the rows that typicality compares with, a file
holds what each cost its own set, in order, and no more than 4,096 of them.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan import _arrays as arrays
from cospan._tolerance import FILE_COSINES
from cospan.decomposition import Blocks
from cospan.errors import ModelFileError
from cospan.model import Calibration, CurvedSets, Geometry, JointFrame, SetCosts, Typicality
from cospan.model_file.curves import Parts, curve_parts, read_curve
from cospan.model_file.reader import ABOVE_0, BELOW_1, Reader

__all__ = [
    "Directions",
    "Parts",
    "host",
    "put_together",
    "read_directions",
    "read_model",
    "take_apart",
]

_LINEAR_CENTERS = ("pooled", "each", "none", "given")
# More sets than any machine holds.
_MOST_SETS = 2**31
# Costs of a set's own rows in a file: summaries sample 2,000 rows, and these are kept as they are.
_MOST_COSTS = 4096


def take_apart(model: object) -> Parts:
    """The parts of a frame, of costs to several sets, or of a fitted estimator."""
    if isinstance(model, JointFrame):
        return _frame_parts(model)
    if isinstance(model, SetCosts):
        return _costs_parts(model)
    from cospan.model_file import estimators  # it imports scikit-learn

    return estimators.take_apart(model)


def put_together(parts: Parts, version: int) -> Any:
    """The model these parts were taken from, or a ModelFileError."""
    reader = Reader(parts.settings, parts.tensors)
    kind = reader.value("kind", str)
    if kind == "classifier":
        from cospan.model_file import estimators

        return estimators.put_together(reader, version)
    if kind not in ("frame", "costs"):
        raise ModelFileError(f"The file holds a {kind!r}, which this version cannot read.")
    return read_model(reader, version)


def read_model(read: Reader, version: int) -> JointFrame | SetCosts:
    """A frame or costs, as this format version holds them."""
    kind = read.choice("kind", "frame", "costs")
    if version == 1:
        from cospan.model_file import first_format

        return first_format.frame(read) if kind == "frame" else first_format.costs(read)
    return _frame(read) if kind == "frame" else _costs(read)


def host(x: Any) -> NDArray[np.float64]:
    """An array of any library as it is written."""
    return np.ascontiguousarray(arrays.to_numpy(x), dtype=np.float64)


# ---- the geometry -----------------------------------------------------------------------------


def _geometry_parts(g: Geometry) -> Parts:
    tensors = {name: host(getattr(g, name)) for name in ("center", "means", "unit", "sizes")}
    if g.calibration.offsets:
        tensors["offsets"] = host(np.asarray(g.calibration.offsets))
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
    offsets = read.optional_tensor("offsets", n_sets)
    balance = read.value("balance", bool)
    if affine and not balance:
        raise ModelFileError("The model's setting 'balance' is out of its range.")
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
        tol=read.tolerance(),
        feature_names=read.names("feature_names", d),
        encoding=read.value("encoding", dict, type(None)) if "encoding" in read.settings else None,
        calibration=Calibration(
            read.number("gain"), () if offsets is None else tuple(offsets.tolist())
        ),
    )


# ---- what the sets' own rows cost --------------------------------------------------------------


def _typicality_parts(known: Typicality | None) -> dict[str, NDArray[Any]]:
    if known is None:
        return {}
    known = known.bounded(_MOST_COSTS)
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


def _with_curve(
    settings: dict[str, Any], tensors: dict[str, NDArray[Any]], curve: CurvedSets | None
) -> Parts:
    if curve is None:
        return Parts(settings, tensors)
    inside = curve_parts(
        curve, _costs_parts(curve.costs), _typicality_parts(curve.plain.typicality)
    )
    return Parts(settings | inside.settings, tensors | inside.tensors)


# ---- frames -----------------------------------------------------------------------------------


def _frame_parts(frame: JointFrame) -> Parts:
    settings, tensors = _geometry_parts(frame.geometry)
    tensors |= {name: host(getattr(frame, name)) for name in ("c", "s", "core", "inverse")}
    if frame.basis is not None:
        tensors["basis"] = host(frame.basis)
    tensors |= _typicality_parts(frame.typicality)
    settings |= {
        "kind": "frame",
        "blocks": [int(n) for n in frame.blocks],
        "dropped": int(frame.dropped),
    }
    return _with_curve(settings, tensors, frame.curve)


def _frame(read: Reader) -> JointFrame:
    geometry = _geometry(read, 2)
    return JointFrame(
        geometry=geometry,
        typicality=_typicality(read, 2),
        curve=read_curve(read, geometry, _costs, _typicality),
        **read_directions(read, geometry.n_features)._asdict(),
    )


class Directions(NamedTuple):
    """What a frame has beside its geometry, in the coordinates of the file."""

    c: NDArray[np.float64]
    s: NDArray[np.float64]
    blocks: Blocks
    core: NDArray[np.float64]
    inverse: NDArray[np.float64]
    basis: NDArray[np.float64] | None
    dropped: int


def read_directions(read: Reader, d: int) -> Directions:
    """The directions of a frame of d features."""
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
    return Directions(
        c=c,
        s=s,
        blocks=Blocks(*blocks),
        core=read.tensor("core", m, e),
        inverse=read.tensor("inverse", e, m),
        basis=basis,
        dropped=read.integer("dropped", most=d),
    )


# ---- costs to several sets --------------------------------------------------------------------


def _costs_parts(costs: SetCosts) -> Parts:
    settings, tensors = _geometry_parts(costs.geometry)
    tensors |= {f"map{k}": host(one) for k, one in enumerate(costs.maps)}
    if costs.basis is not None:
        tensors["basis"] = host(costs.basis)
    tensors |= _typicality_parts(costs.typicality)
    settings |= {"kind": "costs", "sets": len(costs.maps), "weighting": costs.weighting}
    return _with_curve(settings, tensors, costs.curve)


def _costs(read: Reader) -> SetCosts:
    n_sets = read.integer("sets", least=2, most=_MOST_SETS)
    geometry = _geometry(read, n_sets)
    weighting = read.choice("weighting", *(("cost",) if geometry.affine else ("cost", "frame")))
    basis = read.optional_tensor("basis", geometry.n_features, None)
    e = geometry.n_features if basis is None else basis.shape[1]
    # Shrunk moments are invertible; they are found again as the inverses of their maps.
    square = weighting == "cost" and (geometry.shrinkage > 0 or geometry.pooling > 0)
    maps = tuple(read.tensor(f"map{k}", e, e if square else None) for k in range(n_sets))
    return SetCosts(
        geometry=geometry,
        weighting=weighting,
        maps=maps,
        basis=basis,
        typicality=_typicality(read, n_sets),
        curve=read_curve(read, geometry, _costs, _typicality),
    )
