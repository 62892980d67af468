"""Scoring rows with a frame: one matrix product and one pass over its result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tolerance import FAST_SHRINKAGE, off_span_rounding
from cospan.alignment import Alignment
from cospan.shrinkage import left_out_cost

if TYPE_CHECKING:
    from cospan.frame import JointFrame

__all__ = ["Removed", "Scorer", "inverse_square"]

# Bytes of samples scored at once. On the host they stay in the processor's cache between the
# passes; an accelerator needs large products to be busy.
_HOST_BYTES = 2**23
_DEVICE_BYTES = 2**29
# From this many such parts on, threads share them.
_THREADED_PARTS = 4


class Removed(NamedTuple):
    """Which set's rows these are, and the weight each loses when it is left out."""

    side: str
    weight: float | np.ndarray  # one for all, or one each

    def part(self, rows: slice) -> Removed:
        if isinstance(self.weight, np.ndarray):
            return Removed(self.side, self.weight[rows])
        return self


class Scorer:
    """The frame's constants, laid out for scoring rows like `rows`: their namespace and device.

    Their dtype too, where float32 is fine enough. It is too coarse without shrinkage, when weak
    directions count as much as strong ones; in a span, where what lies off it is a difference of
    norms that is then divided by αλ; and for rows that leave their own set (`leaving`), whose
    cost is divided by a difference that may be small.
    """

    def __init__(self, frame: JointFrame, rows: Array, *, leaving: bool = False) -> None:
        xp = arrays.namespace(rows)
        coarse = frame.shrinkage >= FAST_SHRINKAGE and frame.basis is None and not leaving
        dtype = rows.dtype if coarse else xp.float64
        self.frame = frame
        self.reference = xp.astype(rows[:0, :], dtype, copy=False)
        self.inverse = arrays.like(frame.inverse, self.reference)
        self.basis = None if frame.basis is None else arrays.like(frame.basis, self.reference)

    def scored(
        self, rows: Array, center: Array, weighting: str, removed: Removed | None
    ) -> Alignment:
        """Alignment of any number of rows."""
        table = self._table(weighting)
        center = arrays.like(center, self.reference)
        size = _DEVICE_BYTES if arrays.on_accelerator(rows) else _HOST_BYTES
        step = max(64, size // (8 * self.frame.n_features))

        def part(start: int) -> Alignment:
            rows_here = slice(start, min(start + step, rows.shape[0]))
            taken = None if removed is None else removed.part(rows_here)
            return self._aligned(rows[rows_here, :], center, table, weighting, taken)

        starts = range(0, max(rows.shape[0], 1), step)
        threads = arrays.host_threads(rows) if len(starts) >= _THREADED_PARTS else 1
        return Alignment.concatenate(arrays.in_threads(part, starts, threads))

    def coordinates(self, rows: Array, center: Array) -> tuple[Array, Array | None, Array | None]:
        """Coordinates y, and, in a span, the squared norms off it and of the whole sample."""
        xp = arrays.namespace(rows)
        moved = xp.astype(rows, self.reference.dtype, copy=False) - center[None, :]
        with arrays.full_precision(moved):
            if self.basis is None:
                return moved @ self.inverse, None, None
            inside = moved @ self.basis
            y = inside @ self.inverse
        whole = xp.sum(moved * moved, axis=1)
        off = xp.clip(whole - xp.sum(inside * inside, axis=1), 0.0, math.inf)
        # Below rounding there is nothing off the span.
        floor = off_span_rounding(self.frame.n_features, arrays.eps(whole)) * whole
        return y, xp.where(off <= floor, xp.zeros_like(off), off), whole

    def _table(self, weighting: str) -> Array:
        """y² times this gives both squared costs, ‖y‖² and the three blocks' parts of it.

        With one block only, the shares need no computing.
        """
        c, s = arrays.to_numpy(self.frame.c), arrays.to_numpy(self.frame.s)
        r, k, t = self.frame.blocks
        costs = (inverse_square(c), inverse_square(s)) if weighting == "cost" else (s**2, c**2)
        columns = [*costs, np.ones(len(c))]
        if r or t:
            block = np.repeat([0, 1, 2], [r, k, t])
            columns += [block == 0, block == 1, block == 2]
        return arrays.like(np.column_stack(columns), self.reference)

    def _aligned(
        self, rows: Array, center: Array, table: Array, weighting: str, removed: Removed | None
    ) -> Alignment:
        xp = arrays.namespace(rows)
        y, off, whole = self.coordinates(rows, center)
        y *= y
        with arrays.full_precision(y):
            sums = y @ table
        squared_a, squared_b, squared_y = sums[:, 0], sums[:, 1], sums[:, 2]
        variance = self.frame.off_space_variance
        outside = None
        if off is not None and variance:
            # c = s = √½ and ‖h‖² = 2αλ in each direction off the span.
            per_cost = 1 / variance if weighting == "cost" else 0.25 / variance
            squared_a, squared_b = squared_a + per_cost * off, squared_b + per_cost * off
            squared_y = squared_y + off * (0.5 / variance)
        elif off is not None:
            outside = off / xp.where(whole == 0, xp.ones_like(whole), whole)
        if removed is not None:
            squared_a, squared_b = _left_out(squared_a, squared_b, squared_y, weighting, removed)
        shares = None
        if sums.shape[1] > 3:
            norm = xp.where(squared_y == 0, xp.ones_like(squared_y), squared_y)
            shares = sums[:, 3:] / norm[:, None]
        return Alignment.from_costs(
            squared_a, squared_b, shares=shares, outside=outside, weighting=weighting
        )


def inverse_square(x: np.ndarray) -> np.ndarray:
    """1/x², with 1/0 read as 0."""
    return np.where(x > 0, 1 / np.where(x > 0, x, 1.0) ** 2, 0.0)


def _left_out(
    a: Array, b: Array, y: Array, weighting: str, removed: Removed
) -> tuple[Array, Array]:
    """Squared costs once the row has left its own side."""
    weight = removed.weight
    if isinstance(weight, np.ndarray):
        weight = arrays.like(weight, a)
    first = removed.side == "A"
    if weighting == "cost":
        return (left_out_cost(a, weight), b) if first else (a, left_out_cost(b, weight))
    # With T = S_A + S_B and x leaving S_A: T⁻¹x is scaled, and S_A loses weight·xxᵀ; the common
    # scale cancels in the angle, so what remains is ‖c∘y‖² - weight·‖y‖⁴ for A's own part.
    own = b if first else a
    own = arrays.namespace(a).clip(own - weight * y * y, 0.0, math.inf)
    return (a, own) if first else (own, b)
