"""Sets of mapped rows that answer for a plain model: what samples cost them.

A curved model is an ordinary one, of rows that went through a :class:`~cospan.curves.RowMap`
first. All sets are scored by one matrix product: with M the sets' maps side by side,

    y = x M        cost_k² = ν + Σ w_kj (y_j - a_kj)²

For two sets one map serves both: with M_A⁻¹ M_B = U S Vᵀ it is M_A U, with the weights 1 and S².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import scipy.linalg

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import expansion_keeps_digits
from cospan._types import Floats
from cospan.curves import RowMap
from cospan.errors import InputError
from cospan.sets.calibration import Calibration
from cospan.sets.geometry import Geometry
from cospan.summary import Summary
from cospan.typicality import Typicality

if TYPE_CHECKING:
    from cospan.sets.costs import SetCosts

# A joint frame, or costs to K sets.
_Model = TypeVar("_Model", bound=Any)

# Bytes of mapped rows held at once. On the host they stay in the cache between the passes.
_HOST_BYTES = 2**20
_DEVICE_BYTES = 2**28
# Fewer rows at once would keep matrix products waiting.
_FEWEST_AT_ONCE = 512
# From this many parts on, threads share them.
_THREADED_PARTS = 32


@dataclass(frozen=True, eq=False)
class Plain:
    """What the plain model's own costs say, where a curved one answers for it."""

    calibration: Calibration
    typicality: Typicality | None


class _Table(NamedTuple):
    """What mapped rows, less `center`, are multiplied with; see the module."""

    center: Floats  # (D,)
    map: Floats  # (D, m)
    at: Floats  # (K, m)
    weights: Floats  # (K, m)


@dataclass(frozen=True, eq=False)
class CurvedSets:
    """K sets of mapped rows, ready to say what a sample costs each of them."""

    map: RowMap
    costs: SetCosts = field(repr=False)  # of the mapped rows, with a calibration of their own
    plain: Plain = field(repr=False)  # the readings of the plain model that it stands in for

    @property
    def calibration(self) -> Calibration:
        return self.costs.geometry.calibration

    @property
    def typicality(self) -> Typicality | None:
        return self.costs.typicality

    def squared_costs(self, rows: Array) -> Array:
        """(n, K) squared costs of samples, in the dtype of the rows."""
        xp = arrays.namespace(rows)
        pieces = _pieces(rows, self.map)
        threads = arrays.host_threads(rows) if len(pieces) >= _THREADED_PARTS else 1
        parts = arrays.in_threads(lambda piece: self._scored(rows[piece, :]), pieces, threads)
        squared = parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)
        return xp.astype(squared, rows.dtype, copy=False)

    def left_out_costs(self, rows: Array, own: np.ndarray, removed: np.ndarray) -> Array:
        """(n, K) squared costs of the sets' own rows, each as if it had never been there."""
        xp = arrays.namespace(rows)
        parts = []
        for piece in _pieces(rows, self.map, larger=16):
            mapped = xp.astype(self.map(rows[piece, :]), xp.float64)
            weight = removed[piece]
            parts.append(self.costs.left_out_costs(mapped, own[piece], sample_weight=weight))
        squared = parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)
        return xp.astype(squared, rows.dtype, copy=False)

    def slopes(self, rows: Floats) -> tuple[Floats, Floats]:
        """Squared costs (n, K) of rows, and their gradients in the columns (n, K, d)."""
        center, across, at, weights = self._table
        y = (np.asarray(self.map.exact(rows)) - center) @ across
        away = y[:, None, :] - at
        squared = np.sum(weights * away**2, axis=2) + self.costs.geometry.dof
        uphill = 2 * (weights * away) @ across.T
        pulled = [self.map.pulled_back(rows, uphill[:, k, :]) for k in range(len(at))]
        return squared, np.stack(pulled, axis=1)

    def log_odds(self, rows: Floats) -> tuple[Floats, Floats]:
        """log tan²θ of rows of two sets (n,), and its gradients in the columns (n, d)."""
        gain, zero = self.calibration.gain, self.calibration.zero
        squared, uphill = self.slopes(rows)
        relative = uphill / squared[:, :, None]
        ratio = np.log(squared[:, 0] / squared[:, 1])
        return gain * (ratio - zero), gain * (relative[:, 0, :] - relative[:, 1, :])

    def sent(self, *, leaving: bool) -> CurvedSets:
        """These sets as they are sent to other processes: without what is as long as the data."""
        costs = replace(self.costs, typicality=None)
        if leaving:
            costs.leaving().settle()
        return replace(self, costs=costs, plain=replace(self.plain, typicality=None))

    @cached_property
    def _table(self) -> _Table:
        g = self.costs.geometry
        maps = [arrays.to_numpy(one) for one in self.costs.scoring_maps]
        K, m = g.n_sets, maps[0].shape[1]
        if K == 2:
            turn, values, _ = np.linalg.svd(np.linalg.solve(*maps))
            across = maps[0] @ turn
            weights = np.stack([np.ones(m), values**2])
        else:
            across = np.concatenate(maps, axis=1)
            weights = np.repeat(np.eye(K), m, axis=1)
        if self.costs.basis is not None:
            # Off the span of few rows every set has the variance α.
            inside = arrays.to_numpy(self.costs.basis)
            outside = scipy.linalg.null_space(inside.T)
            across = np.concatenate([inside @ across, outside], axis=1)
            constant = np.full((K, outside.shape[1]), 1 / g.shrinkage)
            weights = np.concatenate([weights, constant], axis=1)
        across = arrays.to_numpy(g.per_unit())[:, None] * across
        center = arrays.to_numpy(g.center)
        at = (arrays.to_numpy(g.means) - center) @ across
        return _Table(center, across, at, weights)

    @cached_property
    def _laid_out(self) -> tuple[np.ndarray, ...]:
        """What features, y² and y are multiplied with, and what is added.

        y is taken about the origin, where mapped rows are of the order of 1.
        """
        center, across, at, weights = self._table
        at = at + center @ across
        constant = np.sum(weights * at**2, axis=1) + self.costs.geometry.dof
        fine = expansion_keeps_digits(float(constant.max()), float(np.finfo(np.float32).eps))
        found = (self.map.through(across), weights.T, -2 * (weights * at).T, constant)
        dtype = np.float32 if fine else np.float64
        return tuple(np.ascontiguousarray(one, dtype=dtype) for one in found)

    def _scored(self, rows: Array) -> Array:
        xp = arrays.namespace(rows)
        features = self.map.features(rows)
        if self._laid_out[0].dtype == np.float64:
            features = xp.astype(features, xp.float64)
        across, squares, linear, constant = (arrays.like(x, features) for x in self._laid_out)
        with arrays.full_precision(features):
            y = features @ across
            crossed = y @ linear
            y *= y
            found = y @ squares
        return xp.clip(found + crossed + constant[None, :], self.costs.geometry.dof, np.inf)


def _pieces(rows: Array, mapping: RowMap, *, larger: int = 1) -> list[slice]:
    """Parts of the rows to be mapped one after the other."""
    size = _DEVICE_BYTES if arrays.on_accelerator(rows) else larger * _HOST_BYTES
    step = max(_FEWEST_AT_ONCE, size // (4 * mapping.n_features))
    n = rows.shape[0]
    return [slice(start, min(start + step, n)) for start in range(0, max(n, 1), step)]


def mapped_summary(rows: Array, weights: np.ndarray | None, mapping: RowMap) -> Summary:
    """Summary of mapped rows in memory, a piece at a time; it keeps no sample."""
    found = None
    for piece in _pieces(rows, mapping, larger=16):
        weight = None if weights is None else weights[piece]
        if weight is not None and not weight.any():
            continue
        part = Summary.of(mapping(rows[piece, :]), weight, exact=False, sample_size=0)
        found = part if found is None else found + part
    if found is None:
        raise InputError("There are no rows to summarise; at least one sample is needed.")
    return found


def as_fitted(model: Any, sets: Sequence[Any]) -> tuple[Geometry, list[Any]]:
    """The geometry that answers for a model, and rows of its sets as that geometry knows them."""
    if model.curve is None:
        return model.geometry, list(sets)
    mapped = [model.curve.map.exact(arrays.to_numpy(rows)) for rows in sets]
    return model.curve.costs.geometry, mapped


def with_curve(model: _Model, curve: CurvedSets) -> _Model:
    """A plain model that a curved one answers for."""
    geometry = replace(model.geometry, calibration=curve.calibration)
    return replace(model, geometry=geometry, typicality=curve.typicality, curve=curve)


def without_curve(model: _Model) -> _Model:
    """The plain model with its own readings."""
    if model.curve is None:
        return model
    plain = model.curve.plain
    geometry = replace(model.geometry, calibration=plain.calibration)
    return replace(model, geometry=geometry, typicality=plain.typicality, curve=None)
