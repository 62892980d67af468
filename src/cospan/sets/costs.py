"""What it costs each of K sets to explain a sample.

Two sets share one frame (`JointFrame`); for more there is no frame that diagonalises all of them
at once, but costs need none. Each set becomes one matrix M_k with

    cost_k² = ν + ‖(z - μ_k) M_k‖²

in working coordinates, so that K sets cost K factorizations, and scoring is one matrix product
per set.

Without shrinkage a set may lack directions that others have. As in a pair they are given no cost,
and what belongs to them is read off in the metric of all sets together: with T = Σ S_k, S_k is
inverted within the coordinates in which T is the identity. The paper's frame weighting has its
counterpart there, w_k ∝ zᵀ T⁻¹ S̃_k T⁻¹ z, which for two sets is ‖c∘y‖² and ‖s∘y‖².
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import FAST_SHRINKAGE
from cospan._validate import as_option, as_rows
from cospan.errors import InputError
from cospan.sets.asking import chosen_sets, resolved_calibration
from cospan.sets.choice import more_rows, tried_rows
from cospan.sets.curved import CurvedSets, Plain, with_curve
from cospan.sets.curving import Again, Tried, fitted_curve
from cospan.sets.geometry import Geometry
from cospan.sets.leaving import (
    LeavingRows,
    leaving_rows,
    matrix_of,
    pooled_matrices,
    removed_weights,
)
from cospan.sets.maps import inside_span, inverse_triangle, maps_of, working_rows
from cospan.sets.model import calibrated, calibrated_weights, trial_costs, typicality_of
from cospan.sets.settings import Given, Settings
from cospan.summary import Summary
from cospan.typicality import Typicality

# Bytes of samples scored at once: enough for full BLAS speed, few enough to stay in the cache.
_SCORE_BYTES = 2**24


@dataclass(frozen=True, eq=False)
class SetCosts:
    """K sets, ready to say what a sample costs each of them.

    Make one with :meth:`from_summaries`.

    >>> from sklearn.datasets import load_iris
    >>> from cospan import Summary
    >>> X, y = load_iris(return_X_y=True)
    >>> costs = SetCosts.from_summaries([Summary.of(X[y == k]) for k in range(3)])
    >>> costs.weights(X[[0, 60, 120]]).round(2)
    array([[1.  , 0.  , 0.  ],
           [0.03, 0.86, 0.11],
           [0.  , 0.03, 0.97]])
    """

    geometry: Geometry  # positions, units and settings
    weighting: str  # ``"cost"`` or, in the linear span, ``"frame"``
    #: (e, m_k): M_k of the sets as they are, before pooling; inside `basis` where there is one
    maps: tuple[Array, ...] = field(repr=False)
    #: (d, e): orthonormal basis of the rows' span where they are fewer than the features
    basis: Array | None = field(repr=False, default=None)
    #: What the sets' own rows cost, where there were rows to leave out
    typicality: Typicality | None = field(repr=False, default=None)
    #: Costs of curved features, where those answer: see `curve` in :meth:`cospan.JointFrame.fit`
    curve: CurvedSets | None = field(repr=False, default=None)

    # ---- making -------------------------------------------------------------------------------

    @classmethod
    def from_summaries(
        cls,
        summaries: Sequence[Summary],
        *,
        labels: Sequence[str] | None = None,
        weighting: str = "cost",
        picture: bool = False,
        again: Again | None = None,
        **given: Unpack[Given],
    ) -> SetCosts:
        """Prepare K ≥ 2 sets; as :meth:`cospan.JointFrame.from_summaries` does two."""
        settings = Settings.of(**given)
        weighting = as_option(weighting, "weighting", ("cost", "frame"))
        if weighting == "frame" and settings.span == "affine":
            raise InputError('weighting="frame" belongs to span="linear"; give both.')
        costs, tried = cls._plain(summaries, settings, labels, weighting, picture)
        if tried is None or weighting == "frame":
            return costs
        plain = Plain(costs.geometry.calibration, costs.typicality)
        curved = fitted_curve(*tried, settings, plain, again)
        return costs if curved is None else with_curve(costs, curved)

    @classmethod
    def without_curve(
        cls, summaries: Sequence[Summary], settings: Settings
    ) -> tuple[SetCosts, np.ndarray | None]:
        """Plain costs, and the leave-one-out squared costs (n, K) of the rows they are tried on."""
        costs, tried = cls._plain(summaries, settings, None, "cost", False)
        return costs, None if tried is None else tried[2]

    @classmethod
    def _plain(
        cls,
        summaries: Sequence[Summary],
        settings: Settings,
        labels: Sequence[str] | None,
        weighting: str,
        picture: bool,
    ) -> tuple[SetCosts, Tried | None]:
        working, geometry, squared = chosen_sets(summaries, settings, labels, picture)
        maps, basis, inner = maps_of(working, geometry, weighting), working.basis, None
        if geometry.shrinkage == 0 and geometry.pooling > 0:
            maps, inner = inside_span(maps)
            basis = inner if basis is None else arrays.matmul(basis, inner)
        costs = cls(geometry, weighting, tuple(maps), basis)
        calibrates = resolved_calibration(settings.calibrate, geometry)
        if weighting == "frame" and not calibrates:
            return costs, None
        trial = working.trial(tried_rows(geometry.n_sets), inner)
        if squared is None:
            squared = trial_costs(costs, trial)
        if weighting == "cost":
            costs = replace(costs, typicality=typicality_of(trial, squared))
        if calibrates:
            most = more_rows(summaries)
            rows, more = (working.trial(most, inner), None) if most else (trial, squared)
            found = calibrated(costs, rows, more)
            costs = replace(costs, geometry=replace(geometry, calibration=found))
        return costs, (working, trial, squared)

    # ---- looking ------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        return self.geometry.n_features

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        return self.geometry.feature_names

    def log_determinants(self) -> np.ndarray:
        """log|Σ̃_k|, pooled: minus twice that of the map."""
        found = []
        for one in self.scoring_maps:
            values = np.linalg.svd(arrays.to_numpy(one), compute_uv=False)
            found.append(-2 * float(np.sum(np.log(values[values > 0]))))
        return np.array(found)

    # ---- scoring ------------------------------------------------------------------------------

    def weights(self, Z: Any) -> Array:
        """(n, K): the probability of each set, every set being equally likely beforehand."""
        return calibrated_weights(self.squared_costs(Z), self.geometry.calibration)

    def squared_costs(self, Z: Any) -> Array:
        """Squared costs (n, K) of samples."""
        rows = as_rows(Z, "Z", d=self.n_features, allow_empty=True)
        if self.curve is not None:
            return self.curve.squared_costs(rows)
        origins = [self.geometry.origin(k) for k in range(self.geometry.n_sets)]
        parts = [self._scored(part, origins) for part in self._parts(rows)]
        xp = arrays.namespace(rows)
        squared = parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)
        if self.weighting == "frame":
            return _inverse(squared)
        return squared + self.geometry.dof if self.geometry.affine else squared

    def left_out_costs(self, X: Any, own: Any, *, sample_weight: Any = None) -> Array:
        """Squared costs (n, K) of the sets' own rows, each as if it had never been there.

        Exact, without refitting: mean, covariance and divisor change (α, T and the calibration are
        held). `own` are the numbers of the rows' sets, `sample_weight` the weights used in fitting:
        a row of weight 2 loses one of its two occurrences.
        """
        rows = as_rows(X, "X", d=self.n_features, allow_empty=True)
        own = np.asarray(own, dtype=np.intp)
        removed = removed_weights(sample_weight, len(own))
        if self.weighting == "frame":
            return self._left_out_shares(rows, own, removed)
        if self.curve is not None:
            return self.curve.left_out_costs(rows, own, removed)
        leaving = self.leaving()
        out = np.empty((len(own), self.geometry.n_sets))
        for o in np.unique(own).tolist():
            index = np.flatnonzero(own == o)
            member = arrays.pick(rows, index)
            p, off = working_rows(member, self.geometry.means[o, :], self.geometry, self.basis)
            out[index] = arrays.to_numpy(leaving.squared_costs(p, off, o, removed[index]))
        return arrays.like(out, arrays.namespace(rows).astype(rows[:0, :], self._dtype(rows)))

    def leaving(self) -> LeavingRows:
        return self._leaving

    @cached_property
    def _leaving(self) -> LeavingRows:
        return leaving_rows(self.geometry, self._matrices, self.maps, self.basis)

    @cached_property
    def _matrices(self) -> list[np.ndarray]:
        """Σ̃_k in working coordinates; where there is no shrinkage, nobody asks for them."""
        return [matrix_of(arrays.to_numpy(one)) for one in self.maps]

    @cached_property
    def scoring_maps(self) -> Sequence[Array]:
        """The maps that samples are scored with."""
        if self.geometry.pooling == 0:
            return self.maps
        pooled = pooled_matrices(self.geometry, self._matrices)
        return [arrays.like(inverse_triangle(arrays.cholesky(one)), self.maps[0]) for one in pooled]

    # ---- inside -------------------------------------------------------------------------------

    def _dtype(self, rows: Array) -> Any:
        # Without shrinkage weak directions count as much as strong ones: float32 is too coarse.
        fine = self.geometry.shrinkage < FAST_SHRINKAGE
        return arrays.namespace(rows).float64 if fine else rows.dtype

    def _parts(self, rows: Array) -> list[Array]:
        step = max(1, _SCORE_BYTES // (8 * self.n_features))
        n = rows.shape[0]
        return [rows[start : min(start + step, n), :] for start in range(0, max(n, 1), step)]

    def _scored(self, rows: Array, origins: Sequence[Array]) -> Array:
        """‖(z - origin_k) M_k‖² (n, K)."""
        xp = arrays.namespace(rows)
        g = self.geometry
        base, off = working_rows(rows, g.center, g, self.basis)
        base = xp.astype(base, self._dtype(rows), copy=False)
        columns = []
        for k, one in enumerate(self.scoring_maps):
            step = working_rows(origins[k][None, :], g.center, g, self.basis)[0]
            mapped = arrays.matmul(base, arrays.like(one, base))
            mapped = mapped - arrays.like(arrays.matmul(step, one), base)
            columns.append(xp.sum(mapped * mapped, axis=1))
        parts = xp.stack(columns, axis=1)
        if off is None or g.shrinkage == 0:
            return parts
        # Off the span every set has the variance α, and T that of all K sets together.
        variance = g.shrinkage * (len(self.maps) ** 2 if self.weighting == "frame" else 1)
        return parts + xp.astype(off / variance, parts.dtype)[:, None]

    def _left_out_shares(self, rows: Array, own: np.ndarray, removed: np.ndarray) -> Array:
        """The frame weighting's costs with each row out of its own set (centre, divisor held)."""
        # With x leaving S_k and T, T⁻¹x is scaled for all sets alike, and S_k loses weight·xxᵀ:
        # what remains of its part is part_k - weight·(xᵀT⁻¹x)², and xᵀT⁻¹x is the parts' sum.
        xp = arrays.namespace(rows)
        g = self.geometry
        center = arrays.to_numpy(g.means)[own] if g.center_mode == "each" else None
        moved = rows if center is None else rows - arrays.like(center, rows)
        parts = self._scored(moved, [g.center] * g.n_sets)
        weight = arrays.like((1 - g.shrinkage) * removed * g.weights[own], parts[:, 0])
        mine = arrays.like(own[:, None] == np.arange(g.n_sets)[None, :], parts) > 0
        whole = xp.sum(xp.sort(parts, axis=1), axis=1)
        left = xp.clip(parts - (weight * whole * whole)[:, None], 0.0, math.inf)
        return _inverse(xp.where(mine, left, parts))


def _inverse(shares: Array) -> Array:
    """1/share as a cost: a set without a share in a sample cannot represent it."""
    xp = arrays.namespace(shares)
    none = shares == 0
    nowhere = xp.all(none, axis=1)[:, None]  # at the centre every cost is 0
    cost = xp.where(none, xp.full_like(shares, math.inf), 1 / xp.where(none, 1.0, shares))
    return xp.where(nowhere, xp.zeros_like(shares), cost)
