"""Two prepared sets, decomposed: what a frame is made of, and the rows as they enter it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import rank_tolerance
from cospan._validate import as_option, as_rows, as_weights, check_names
from cospan._warnings import warn
from cospan.curves import RowMap
from cospan.decomposition import GSVD, gsvd
from cospan.frame.properties import in_feature_units
from cospan.sets import Geometry, Settings, WorkingSets, lazy
from cospan.sets.asking import chosen_sets
from cospan.sets.choice import tried_rows
from cospan.sets.curved import mapped_summary
from cospan.sets.prepared import TrialRows
from cospan.summary import Summary

if TYPE_CHECKING:
    from cospan.frame.joint import JointFrame


class Fitted(NamedTuple):
    """The decomposition of two sets in working coordinates."""

    working: WorkingSets
    geometry: Geometry
    squared: np.ndarray | None  # (n, 2): of the rows of `trial`, left out, where it is known
    factors: GSVD
    basis: Array | None

    def trial(self, most: int = 0) -> TrialRows | None:
        """Rows of both sets in the coordinates of the frame; None where a set keeps none."""
        trial = self.working.trial(most or tried_rows(2))
        if trial is None or self.basis is self.working.basis:
            return trial
        # Without shrinkage the frame has a span of its own.
        inner = arrays.to_numpy(self.basis)
        if self.working.basis is not None:
            inner = arrays.to_numpy(self.working.basis).T @ inner
        return trial._replace(rows=trial.rows @ inner)


def fitted(
    summaries: Sequence[Summary], labels: Sequence[str], settings: Settings, picture: bool = False
) -> Fitted:
    """Prepare, choose and decompose."""
    working, geometry, squared = chosen_sets(summaries, settings, labels, picture)
    left, right = (working.shrunk(k, geometry.shrinkage) for k in (0, 1))
    tol = geometry.tol
    if geometry.shrinkage == 0 and tol is None:
        tol = working.tolerance()
    constant = geometry.constant_features
    if geometry.shrinkage > 0 and working.basis is None and len(constant):
        # Shrinkage gives a constant feature the same variance in both sets, and it takes no part:
        # a direction of its own would say nothing.
        alive = arrays.like(np.isin(np.arange(geometry.n_features), constant, invert=True), left)
        left, right = left * alive[None, :], right * alive[None, :]
        factors = gsvd(left, right, tol=tol, compute_uv=False, check_finite=False)
        return Fitted(working, geometry, squared, factors, None)
    factors = gsvd(left, right, tol=tol, compute_uv=False, check_finite=False)
    return Fitted(working, geometry, squared, *compressed(factors, working.basis))


class RowsAgain:
    """Reads rows (and their weights) once more, through a map."""

    def __init__(self, sets: Sequence[tuple[Any, Any]]) -> None:
        self.sets = sets

    @property
    def at_hand(self) -> bool:
        return not any(arrays.is_lazy(X) for X, _ in self.sets)

    def __call__(self, mapping: RowMap) -> list[Summary]:
        return [_mapped(X, weights, mapping) for X, weights in self.sets]


def _mapped(X: Any, weights: Any, mapping: RowMap) -> Summary:
    if arrays.is_lazy(X):
        return lazy.mapped_summary(X, weights, mapping)
    rows = as_rows(X, "X", d=mapping.n_columns)
    counted = None if weights is None else as_weights(weights, rows.shape[0])
    return mapped_summary(rows, counted, mapping)


def compressed(factors: GSVD, basis: Array | None) -> tuple[GSVD, Array | None]:
    """A frame that does not fill its space, in an orthonormal basis of its own span."""
    if factors.rank == factors.H.shape[1]:
        return factors, basis
    orthogonal = arrays.qr(factors.H.T)
    inner = orthogonal.apply(arrays.identity(factors.rank, factors.H))
    inside = GSVD(factors.c, factors.s, orthogonal.R.T, None, None, factors.blocks)
    return inside, inner if basis is None else arrays.matmul(basis, inner)


def pseudo_inverse(core: Array) -> Array:
    """Inverse of the frame, in its span: a triangular solve behind a QR."""
    orthogonal = arrays.qr(core.T)
    eye = arrays.identity(core.shape[0], core)
    # core = Rᵀ Qᵀ, hence core⁺ = Q R⁻ᵀ
    return orthogonal.apply(arrays.solve_triangular_transposed(orthogonal.R, eye))


def warn_if_nothing_shared(found: Fitted, a: Summary, b: Summary) -> None:
    """About few rows without shrinkage: no sample has a meaningful angle then."""
    # A centre between the means makes their difference a direction of both sets.
    centred = found.geometry.center_mode == "pooled"
    made = 1 if centred and a.count + b.count < a.n_features else 0
    if found.geometry.shrinkage == 0 and found.factors.blocks.k <= made:
        remedy = 'Use more rows, or shrinkage="auto".'
        said = (
            f"A ({a.count} rows) and B ({b.count} rows) share no direction of the "
            f"{a.n_features}-dimensional feature space, so without shrinkage no sample has a "
            "meaningful angle."
        )
        warn(said, code="nothing shared", remedy=remedy)


def prepare_rows(frame: JointFrame, X: Any, side: str, sample_weight: Any) -> Array:
    """Rows of one side, centred, weighted and shrunk; see :meth:`JointFrame.prepared`."""
    side = as_option(side, "side", ("A", "B"))
    check_names(X, frame.feature_names, side)
    rows = as_rows(X, side, d=frame.n_features)
    xp = arrays.namespace(rows)
    rows = xp.astype(rows, xp.float64, copy=False)
    k = 0 if side == "A" else 1
    alpha = frame.shrinkage
    root = math.sqrt((1 - alpha) * frame.geometry.weights[k])
    rows = root * (rows - arrays.like((frame.center_a, frame.center_b)[k], rows))
    if sample_weight is not None:
        roots = np.sqrt(as_weights(sample_weight, rows.shape[0]))
        rows = arrays.like(roots, rows)[:, None] * rows
    if alpha == 0:
        return rows
    ridge = arrays.identity(frame.core.shape[1], rows)
    if frame.basis is None:
        ridge = ridge * arrays.like(arrays.to_numpy(frame.geometry.unit) > 0, rows)[None, :]
    ridge = in_feature_units(ridge, frame.basis, frame.geometry)
    return xp.concat((rows, math.sqrt(alpha) * arrays.like(ridge, rows)), axis=0)


def with_left_factors(
    frame: JointFrame, A: Any, B: Any, weight_a: Any, weight_b: Any
) -> JointFrame:
    """The frame decomposed once more, from the prepared rows themselves, keeping U and V."""
    left = frame.prepared(A, "A", sample_weight=weight_a)
    right = frame.prepared(B, "B", sample_weight=weight_b)
    tol, basis = frame.tol, frame.basis
    per_unit = arrays.like(frame.geometry.per_unit(), left)[None, :]
    left, right = left * per_unit, right * per_unit
    if frame.shrinkage > 0 and basis is not None:
        left, right = arrays.matmul(left, basis), arrays.matmul(right, basis)
    elif frame.shrinkage == 0:
        eps = max(arrays.eps(as_rows(X, name)) for X, name in ((A, "A"), (B, "B")))
        tol = rank_tolerance(frame.n_features, frame.n_features, eps) if tol is None else tol
        basis = None
    factors = gsvd(left, right, tol=tol, check_finite=False)
    U, V = factors.U, factors.V
    if frame.shrinkage == 0 or basis is not None:
        factors, basis = compressed(factors, basis)
    return replace(
        frame,
        c=factors.c,
        s=factors.s,
        blocks=factors.blocks,
        core=factors.H,
        inverse=pseudo_inverse(factors.H),
        basis=basis,
        U=U,
        V=V,
    )
