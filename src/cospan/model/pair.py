"""Two prepared sets, decomposed by one GSVD, and rows scored with the frame it gives.

With y the coordinates of a sample about the centre, and a and b those of what each set takes off
it (the means in the affine span, 0 in the linear one),

    cost_A² = ν + Σ ((y_i - a_i)/c_i)²        cost_B² = ν + Σ ((y_i - b_i)/s_i)²

One matrix product and one pass over its result. The squares are multiplied out, so that y² and y
each meet a few vectors. That loses digits where the sets are very far apart; then the differences
are formed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cospan.base import arrays
from cospan.base.checks import as_option, as_rows, as_weights, check_names
from cospan.base.factorizations import qr, solve_triangular_transposed
from cospan.base.notes import Note
from cospan.base.tolerance import (
    FAST_SHRINKAGE,
    expansion_keeps_digits,
    off_span_rounding,
    rank_tolerance,
)
from cospan.base.types import Array, Floats
from cospan.decomposition import GSVD, Blocks, gsvd
from cospan.model.choice import Chosen
from cospan.model.prepared import Geometry, WorkingSets, in_feature_units
from cospan.model.set_model import notes_on_weights

if TYPE_CHECKING:
    from cospan.model.frame import JointFrame

# Bytes of samples scored at once. On the host they stay in the processor's cache between the
# passes; an accelerator needs large products to be busy.
HOST_BYTES, DEVICE_BYTES = 2**23, 2**29
# Rows at once, at least: fewer would keep products waiting. And parts from which on threads share
# them: fewer are over before a thread has started.
FEWEST_AT_ONCE, THREADED_PARTS = 64, 4

# ---- the decomposition ---------------------------------------------------------------------------


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
            orthogonal = qr(H.T)
            inner = orthogonal.apply(arrays.identity(factors.rank, H))
            basis = inner if basis is None else arrays.matmul(basis, inner)
            H = orthogonal.R.T
        # The pseudo-inverse: H = Rᵀ Qᵀ, hence H⁺ = Q R⁻ᵀ
        orthogonal = qr(H.T)
        eye = arrays.identity(H.shape[0], H)
        inverse = orthogonal.apply(solve_triangular_transposed(orthogonal.R, eye))
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


def prepared_rows(frame: JointFrame, X: object, side: str, sample_weight: object) -> Array:
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


def with_uv(
    frame: JointFrame, A: object, B: object, weight_a: object, weight_b: object
) -> JointFrame:
    """The frame decomposed once more, from the prepared rows themselves, keeping U and V."""
    left = frame.prepared(A, "A", sample_weight=weight_a)
    right = frame.prepared(B, "B", sample_weight=weight_b)
    tol, basis = frame.geometry.tol, frame.basis
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


# ---- scoring -----------------------------------------------------------------------------------


class Scores(NamedTuple):
    """Squared costs of rows and, where they are needed, blocks and the outside."""

    squared_a: Array
    squared_b: Array
    shares: Array | None
    outside: Array | None


class Scorer:
    """The frame's constants, laid out for scoring rows like `rows`: their namespace and device.

    Their dtype too, where float32 is fine enough. It is too coarse without shrinkage, when weak
    directions count as much as strong ones, in a span, where what lies off it is a difference
    of norms that is then divided by α, and where the sets are so far apart that rows lose digits
    when the common centre is taken off. (`fine`: whatever the rows are.)
    """

    def __init__(
        self, frame: JointFrame, rows: Array, weighting: str = "cost", *, fine: bool = False
    ) -> None:
        xp = arrays.namespace(rows)
        g = frame.geometry
        self.frame, self.weighting = frame, weighting
        self.weights = frame.cost_weights(weighting)
        half = 0.5 * arrays.to_numpy(frame.shifts) if g.affine else np.zeros(frame.rank)
        # The larger squared distance of the centre from a mean, as that set's cost counts it.
        far = max(float(w @ half**2) for w in self.weights)
        coarse = g.shrinkage >= FAST_SHRINKAGE and frame.basis is None and not fine
        coarse = coarse and expansion_keeps_digits(far, arrays.eps(rows))
        like = xp.astype(rows[:0, :], rows.dtype if coarse else xp.float64, copy=False)
        self.reference = like
        self.expands = expansion_keeps_digits(far, arrays.eps(like))
        inverse, per_unit = frame.inverse, arrays.like(g.per_unit(), frame.inverse)
        self.per_unit = self.basis = None
        if frame.basis is None:
            inverse = per_unit[:, None] * inverse
        else:
            self.per_unit = arrays.like(per_unit, like)
            self.basis = arrays.like(frame.basis, like)
        self.inverse = arrays.like(inverse, like)
        self.center = arrays.like(g.center, like)
        # What rounding took off the centre is put back in the coordinates, where it is small.
        lost = arrays.like(self.center, g.center) - g.center
        if frame.basis is not None:
            lost = (lost * g.per_unit()) @ arrays.like(frame.basis, lost)
        lost = arrays.to_numpy(lost @ arrays.like(inverse, lost))
        self.at = (-half - lost, half - lost)
        self.moved = bool(np.any(self.at[0])) or bool(np.any(self.at[1]))
        self.squares, self.linear = self._vectors()

    def _vectors(self) -> tuple[list[Array], list[Array]]:
        """What y² is multiplied with (both costs; if need be ‖y‖² and the blocks), and what y is.

        Vectors, not one narrow table: BLAS takes ten times as long for a product with two columns.
        """
        blocks, like = self.frame.blocks, self.reference
        block = np.repeat([0, 1, 2], blocks)
        squares: list[np.ndarray] = [*self.weights]
        if blocks.r or blocks.t:
            squares += [block >= 0, block == 0, block == 1, block == 2]
        linear = []
        if self.moved and self.expands:
            linear = [-2 * w * x for w, x in zip(self.weights, self.at, strict=True)]
        return [arrays.like(x, like) for x in squares], [arrays.like(x, like) for x in linear]

    def scores(self, rows: Array) -> Scores:
        """Squared costs and what goes with them, for any number of rows."""
        size = DEVICE_BYTES if arrays.on_accelerator(rows) else HOST_BYTES
        step = max(FEWEST_AT_ONCE, size // (8 * self.frame.n_features))
        starts = range(0, max(rows.shape[0], 1), step)
        threads = arrays.host_threads(rows) if len(starts) >= THREADED_PARTS else 1
        parts = arrays.in_threads(
            lambda start: self._scored(rows[start : min(start + step, rows.shape[0]), :]),
            starts,
            threads,
        )
        xp, columns = arrays.namespace(rows), zip(*parts, strict=True)
        return Scores._make(x[0] if x[0] is None or len(x) == 1 else xp.concat(x) for x in columns)

    def coordinates(self, rows: Array) -> tuple[Array, Array | None, Array | None]:
        """Coordinates y about the centre, and, in a span, the squared norms off it and in all."""
        xp = arrays.namespace(rows)
        moved = xp.astype(rows, self.reference.dtype, copy=False) - self.center[None, :]
        with arrays.full_precision(moved):
            if self.basis is None or self.per_unit is None:
                return moved @ self.inverse, None, None
            moved = moved * self.per_unit[None, :]
            inside = moved @ self.basis
            y = inside @ self.inverse
        whole = xp.sum(moved * moved, axis=1)
        off = xp.clip(whole - xp.sum(inside * inside, axis=1), 0.0, math.inf)
        # Below rounding there is nothing off the span.
        floor = off_span_rounding(self.frame.n_features, arrays.eps(whole)) * whole
        return y, xp.where(off <= floor, xp.zeros_like(off), off), whole

    def _scored(self, rows: Array) -> Scores:
        y, off, whole = self.coordinates(rows)
        xp = arrays.namespace(rows)
        squared_a, squared_b, *norms = self._squared_costs(y)
        variance, outside = self.frame.off_space_variance, None
        if off is not None and variance:
            # c = s = √½ and ‖h‖² = 2α in each direction off the span.
            per_cost = 1 / variance if self.weighting == "cost" else 0.25 / variance
            squared_a, squared_b = squared_a + per_cost * off, squared_b + per_cost * off
        elif off is not None and whole is not None:
            outside = off / xp.where(whole == 0, xp.ones_like(whole), whole)
        g = self.frame.geometry
        if g.affine:
            squared_a, squared_b = squared_a + g.dof, squared_b + g.dof
        shares = None
        if norms:
            norm = norms[0] + off * (0.5 / variance) if off is not None and variance else norms[0]
            norm = xp.where(norm == 0, xp.ones_like(norm), norm)
            shares = xp.stack(norms[1:], axis=1) / norm[:, None]
        return Scores(squared_a, squared_b, shares, outside)

    def _squared_costs(self, y: Array) -> list[Array]:
        """Both sums of squares and, where they are needed, ‖y‖² and its parts. Overwrites y."""
        xp = arrays.namespace(y)
        direct = []
        if self.moved and not self.expands:
            for at, weight in zip(self.at, self.squares, strict=False):
                away = y - arrays.like(at, y)[None, :]
                direct.append((away * away) @ weight)
        with arrays.full_precision(y):
            crossed = [y @ one for one in self.linear]
            y *= y
            found = direct + [y @ one for one in self.squares[len(direct) :]]
        for i, linear in enumerate(crossed):
            constant = float(self.weights[i] @ self.at[i] ** 2)
            found[i] = xp.clip(found[i] + linear + constant, 0.0, math.inf)
        return found


def parts_left_out(scores: Scores, k: int, removed: Floats, g: Geometry) -> Array:
    """Squared costs (n, 2) of rows of set k by the frame weighting, each out of its own set.

    ‖c∘y‖², A's part and B's cost, is zᵀT⁻¹S_A T⁻¹z with T = S_A + S_B. With x out of S_k and T,
    T⁻¹x is scaled for both sets alike, and S_k loses weight·xxᵀ: what remains of its part is
    part - weight·(xᵀT⁻¹x)², and xᵀT⁻¹x is the sum of both parts.
    """
    parts = [scores.squared_b, scores.squared_a]
    xp = arrays.namespace(parts[0])
    weight = arrays.like((1 - g.shrinkage) * removed * g.weights[k], parts[0])
    parts[k] = xp.clip(parts[k] - weight * (parts[0] + parts[1]) ** 2, 0.0, math.inf)
    return xp.stack(parts[::-1], axis=1)
