"""Two prepared sets, decomposed: one GSVD of the centred, shrunk pair."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cospan.base import arrays, factorizations
from cospan.base.checks import as_option, as_rows, as_weights, check_names
from cospan.base.notes import Note
from cospan.base.tolerance import rank_tolerance
from cospan.base.types import Array, Floats
from cospan.decomposition import GSVD, Blocks, gsvd
from cospan.model.choice import Chosen
from cospan.model.prepared import WorkingSets, in_feature_units
from cospan.model.set_model import notes_on_weights

if TYPE_CHECKING:
    from cospan.model.frame import JointFrame


class Decomposed(NamedTuple):
    """What a frame has of its directions; see :class:`cospan.JointFrame`."""

    c: Array
    s: Array
    blocks: Blocks
    core: Array
    inverse: Array
    basis: Array | None

    @classmethod
    def of(cls, factors: GSVD, basis: Array | None, *, compress: bool) -> Decomposed:
        """With `compress`, a frame that does not fill its space gets a basis of its own span."""
        H = factors.H
        if compress and factors.rank < H.shape[1]:
            orthogonal = factorizations.qr(H.T)
            inner = orthogonal.apply(arrays.identity(factors.rank, H))
            basis = inner if basis is None else arrays.matmul(basis, inner)
            H = orthogonal.R.T
        # The pseudo-inverse: H = Rᵀ Qᵀ, hence H⁺ = Q R⁻ᵀ
        orthogonal = factorizations.qr(H.T)
        eye = arrays.identity(H.shape[0], H)
        inverse = orthogonal.apply(factorizations.solve_triangular_transposed(orthogonal.R, eye))
        return cls(factors.c, factors.s, factors.blocks, H, inverse, basis)

    def inner(self, working: WorkingSets) -> Array | None:
        """The basis of a frame with a span of its own (no shrinkage), in working coordinates."""
        if self.basis is working.basis or self.basis is None or working.basis is None:
            return None if self.basis is working.basis else self.basis
        return arrays.matmul(working.basis.T, self.basis)


def decomposed(chosen: Chosen) -> Decomposed:
    """The directions of two sets."""
    working, g, _ = chosen
    left, right = (working.shrunk(k, g.shrinkage) for k in (0, 1))
    tol = working.tolerance() if g.shrinkage == 0 and g.tol is None else g.tol
    constant = g.constant_features
    without = g.shrinkage > 0 and working.basis is None and len(constant) > 0
    if without:
        # Shrinkage gives a constant feature the same variance in both sets, and it takes no part:
        # a direction of its own would say nothing.
        alive = arrays.like(np.isin(np.arange(g.n_features), constant, invert=True), left)
        left, right = left * alive[None, :], right * alive[None, :]
    factors = gsvd(left, right, tol=tol, compute_uv=False, check_finite=False)
    return Decomposed.of(factors, working.basis, compress=not without)


def notes_on(chosen: Chosen, blocks: Blocks) -> tuple[Note, ...]:
    """What a reader should know of two sets: those on weights, and that they share nothing."""
    working, g, _ = chosen
    found = notes_on_weights(working.prepared.summaries)
    p, q = (part.count for part in working.prepared.summaries)
    # A centre between the means makes their difference a direction of both sets.
    between = 1 if g.center_mode == "pooled" and p + q < g.n_features else 0
    if g.shrinkage > 0 or blocks.k > between:
        return found
    text = (
        f"A ({p} rows) and B ({q} rows) share no direction of the {g.n_features}-dimensional "
        "feature space, so without shrinkage no sample has a meaningful angle."
    )
    remedy = 'Use more rows, or shrinkage="auto".'
    return (*found, Note("nothing shared", text, remedy, loud=True))


def inverse_square(x: Floats) -> Floats:
    """1/x², with 1/0 read as 0."""
    return np.where(x > 0, 1 / np.where(x > 0, x, 1.0) ** 2, 0.0)


def prepared_rows(frame: JointFrame, X: Any, side: str, sample_weight: Any) -> Array:
    """Rows of one side, centred, weighted and shrunk; see :meth:`JointFrame.prepared`."""
    side = as_option(side, "side", ("A", "B"))
    check_names(X, frame.feature_names, side)
    rows = as_rows(X, side, d=frame.n_features)
    xp = arrays.namespace(rows)
    rows = xp.astype(rows, xp.float64, copy=False)
    k, g, alpha = "AB".index(side), frame.geometry, frame.shrinkage
    root = math.sqrt((1 - alpha) * g.weights[k])
    rows = root * (rows - arrays.like(g.about(k), rows))
    if sample_weight is not None:
        roots = np.sqrt(as_weights(sample_weight, rows.shape[0]))
        rows = arrays.like(roots, rows)[:, None] * rows
    if alpha == 0:
        return rows
    ridge = arrays.identity(frame.core.shape[1], rows)
    if frame.basis is None:
        ridge = ridge * arrays.like(arrays.to_numpy(g.unit) > 0, rows)[None, :]
    ridge = in_feature_units(ridge, frame.basis, g)
    return xp.concat((rows, math.sqrt(alpha) * arrays.like(ridge, rows)), axis=0)


def with_uv(frame: JointFrame, A: Any, B: Any, weight_a: Any, weight_b: Any) -> JointFrame:
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
    compress = frame.shrinkage == 0 or basis is not None
    found = Decomposed.of(factors, basis, compress=compress)
    return replace(frame, U=factors.U, V=factors.V, **found._asdict())
