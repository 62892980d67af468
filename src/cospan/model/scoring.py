"""Scoring rows with a frame: one matrix product and one pass over its result.

With y the coordinates of a sample about the centre, and a and b those of what each set takes off
it (the means in the affine span, 0 in the linear one),

    cost_A² = ν + Σ ((y_i - a_i)/c_i)²        cost_B² = ν + Σ ((y_i - b_i)/s_i)²

The squares are multiplied out, so that y² and y each meet a few vectors. That loses digits where
the sets are very far apart; then the differences are formed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cospan.base import arrays
from cospan.base.checks import feature_names_of
from cospan.base.tolerance import FAST_SHRINKAGE, expansion_keeps_digits, off_span_rounding
from cospan.base.types import Array

if TYPE_CHECKING:
    from cospan.model.frame import JointFrame

# Bytes of samples scored at once. On the host they stay in the processor's cache between the
# passes; an accelerator needs large products to be busy.
_HOST_BYTES = 2**23
_DEVICE_BYTES = 2**29
# From this many such parts on, threads share them.
_THREADED_PARTS = 4


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
        r, k, t = self.frame.blocks
        block = np.repeat([0, 1, 2], [r, k, t])
        squares: list[np.ndarray] = [*self.weights]
        if r or t:
            squares += [block >= 0, block == 0, block == 1, block == 2]
        linear = []
        if self.moved and self.expands:
            linear = [-2 * w * x for w, x in zip(self.weights, self.at, strict=True)]
        like = self.reference
        return [arrays.like(x, like) for x in squares], [arrays.like(x, like) for x in linear]

    def scores(self, rows: Array) -> Scores:
        """Squared costs and what goes with them, for any number of rows."""
        size = _DEVICE_BYTES if arrays.on_accelerator(rows) else _HOST_BYTES
        step = max(64, size // (8 * self.frame.n_features))
        starts = range(0, max(rows.shape[0], 1), step)
        threads = arrays.host_threads(rows) if len(starts) >= _THREADED_PARTS else 1
        parts = arrays.in_threads(
            lambda start: self._scored(rows[start : min(start + step, rows.shape[0]), :]),
            starts,
            threads,
        )
        if len(parts) == 1:
            found: Scores = parts[0]
            return found
        xp = arrays.namespace(rows)
        columns = zip(*parts, strict=True)
        return Scores._make(None if x[0] is None else xp.concat(x) for x in columns)

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


def is_chunks(Z: Any) -> bool:
    """Is Z an iterable of two-dimensional chunks (rather than rows)?"""
    if arrays.is_array(Z) or feature_names_of(Z) is not None or isinstance(Z, (str, bytes)):
        return False
    if hasattr(Z, "__next__"):
        return True
    if not isinstance(Z, Iterable) or hasattr(Z, "__array__"):
        return False
    if isinstance(Z, (list, tuple)):
        return bool(Z) and getattr(Z[0], "ndim", None) == 2
    return not hasattr(Z, "__len__")
