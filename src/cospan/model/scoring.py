"""Rows scored: what each costs every set of a model, in one matrix product and one pass.

With `across` the frame of two sets, or the maps of K sets side by side, and y the coordinates of a
sample about the centre,

    y = (z - center) across        cost_k² = ν + Σ w_kj (y_j - a_kj)²

where a_k is what set k takes off the sample: its mean, or in the linear span nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cospan.base import arrays
from cospan.base.tolerance import FAST_SHRINKAGE, expansion_keeps_digits, off_span_rounding
from cospan.base.types import Array, Floats
from cospan.decomposition import Blocks
from cospan.model.prepared import working_rows

if TYPE_CHECKING:
    from cospan.model.set_model import SetModel

# Entries of samples scored at once. On the host they stay in the processor's cache between the
# passes; an accelerator needs large products to be busy.
HOST_ENTRIES, DEVICE_ENTRIES = 2**20, 2**26
# Rows at once, at least: fewer would keep products waiting. And parts from which on threads share
# them: fewer are over before a thread has started.
FEWEST_AT_ONCE, THREADED_PARTS = 64, 4


def pieces_of(rows: Array, width: int, entries: int, fewest: int) -> list[slice]:
    """Parts of rows that take so many entries each, or so many rows, worked on one at a time."""
    entries = DEVICE_ENTRIES if arrays.on_accelerator(rows) else entries
    step, n = max(fewest, entries // width), rows.shape[0]
    return [slice(start, min(start + step, n)) for start in range(0, max(n, 1), step)]


class Squares:
    """Σ w_kj (y_j - a_kj)² of every set, laid out for coordinates like `like`.

    The squares are multiplied out, so that y² and y each meet a few vectors. That loses digits
    where a set is very far away; then the differences are formed. `more` are further vectors that
    y² is multiplied with. (Vectors, not one narrow table: BLAS takes ten times as long for a
    product with two columns.)
    """

    def __init__(self, weights: Floats, at: Floats, like: Array, more: Sequence[Floats]) -> None:
        self._constants = np.sum(weights * at**2, axis=1)
        expands = expansion_keeps_digits(float(self._constants.max()), arrays.eps(like))
        rows = [*weights, *more]
        # Where a set has coordinates of its own, no others are looked at.
        self._places = [_support(one) for one in rows]
        self._squares = self._laid_out(rows, like)
        crossed = -2 * weights * at if expands and at.any() else ()
        self._linear = self._laid_out(crossed, like)
        self._away = self._laid_out(() if expands else at, like)

    def _laid_out(self, rows: Iterable[Floats], like: Array) -> list[Array]:
        return [arrays.like(x[place], like) for x, place in zip(rows, self._places, strict=False)]

    def __call__(self, y: Array) -> list[Array]:
        """The sums of all sets, and what there is of more. Overwrites y."""
        xp, places = arrays.namespace(y), self._places
        direct = []
        for at, weight, place in zip(self._away, self._squares, places, strict=False):
            away = y[:, place] - at[None, :]
            direct.append((away * away) @ weight)
        with arrays.full_precision(y):
            crossed = [y[:, i] @ one for i, one in zip(places, self._linear, strict=False)]
            y *= y
            rest = zip(places[len(direct) :], self._squares[len(direct) :], strict=True)
            found = direct + [y[:, place] @ one for place, one in rest]
        for k, linear in enumerate(crossed):
            found[k] = xp.clip(found[k] + linear + float(self._constants[k]), 0.0, math.inf)
        return found


def _support(weights: Floats) -> slice:
    """The coordinates from the first to the last that count."""
    counting = np.flatnonzero(weights)
    return slice(int(counting[0]), int(counting[-1]) + 1) if len(counting) else slice(0, 0)


class Scores(NamedTuple):
    """Squared costs of rows to every set and, where they are needed, blocks and the outside."""

    squared: tuple[Array, ...]
    shares: Array | None
    outside: Array | None


class Scorer:
    """A model's constants, laid out for scoring rows like `rows`: their namespace and device.

    Their dtype too, where float32 is fine enough. It is too coarse without shrinkage, when weak
    directions count as much as strong ones, in a span, where what lies off it is a difference
    of norms that is then divided by α, and where the sets are so far apart that rows lose digits
    when the common centre is taken off. (`fine`: whatever the rows are.) `blocks` are those of a
    frame's directions.
    """

    def __init__(
        self,
        model: SetModel,
        rows: Array,
        weighting: str = "cost",
        *,
        blocks: Blocks | None = None,
        fine: bool = False,
    ) -> None:
        xp, g = arrays.namespace(rows), model.geometry
        self.model, self.weighting = model, weighting
        across, self.weights = model.form(weighting)
        at = np.zeros_like(self.weights)
        for k in range(g.n_sets) if g.affine else ():
            step = working_rows(g.means[k : k + 1, :], g.center, g, model.basis)[0]
            at[k] = arrays.to_numpy(arrays.matmul(step, arrays.like(across, step)))[0]
        # The largest squared distance of the centre from a mean, as that set's cost counts it.
        far = float(np.sum(self.weights * at**2, axis=1).max())
        coarse = g.shrinkage >= FAST_SHRINKAGE and model.basis is None and not fine
        coarse = coarse and expansion_keeps_digits(far, arrays.eps(rows))
        like = xp.astype(rows[:0, :], rows.dtype if coarse else xp.float64, copy=False)
        self._like, per_unit = like, arrays.like(g.per_unit(), across)
        self.per_unit = self.basis = None
        if model.basis is None:
            across = per_unit[:, None] * across
        else:
            self.per_unit = arrays.like(per_unit, like)
            self.basis = arrays.like(model.basis, like)
        self.across, self.center = arrays.like(across, like), arrays.like(g.center, like)
        # What rounding took off the centre is put back in the coordinates, where it is small.
        lost = arrays.like(self.center, g.center) - g.center
        if model.basis is not None:
            lost = (lost * g.per_unit()) @ arrays.like(model.basis, lost)
        self.at = at - arrays.to_numpy(lost @ arrays.like(across, lost))
        more = []
        if blocks is not None and (blocks.r or blocks.t):  # ‖y‖², and its parts
            block = np.repeat([0, 1, 2], blocks)
            more = [np.ones(len(block)), *(1.0 * (block == one) for one in range(3))]
        self._sums = Squares(self.weights, self.at, like, more)

    def scores(self, rows: Array) -> Scores:
        """Squared costs and what goes with them, for any number of rows."""
        pieces = pieces_of(rows, self.model.n_features, HOST_ENTRIES, FEWEST_AT_ONCE)
        threads = arrays.host_threads(rows) if len(pieces) >= THREADED_PARTS else 1
        with arrays.threads_for(self.model.n_features):
            parts = arrays.in_threads(lambda piece: self._scored(rows[piece, :]), pieces, threads)
        xp, columns = arrays.namespace(rows), zip(*parts, strict=True)
        *squared, shares, outside = (
            x[0] if x[0] is None or len(x) == 1 else xp.concat(x) for x in columns
        )
        return Scores(tuple(squared), shares, outside)

    def coordinates(self, rows: Array) -> tuple[Array, Array | None, Array | None]:
        """Coordinates y about the centre, and, in a span, the squared norms off it and in all."""
        xp = arrays.namespace(rows)
        moved = xp.astype(rows, self._like.dtype, copy=False) - self.center[None, :]
        with arrays.full_precision(moved):
            if self.basis is None or self.per_unit is None:
                return moved @ self.across, None, None
            moved = moved * self.per_unit[None, :]
            inside = moved @ self.basis
            y = inside @ self.across
        whole = xp.sum(moved * moved, axis=1)
        off = xp.clip(whole - xp.sum(inside * inside, axis=1), 0.0, math.inf)
        # Below rounding there is nothing off the span.
        floor = off_span_rounding(self.model.n_features, arrays.eps(whole)) * whole
        return y, xp.where(off <= floor, xp.zeros_like(off), off), whole

    def _scored(self, rows: Array) -> list[Array | None]:
        y, off, whole = self.coordinates(rows)
        xp, K = arrays.namespace(rows), len(self.weights)
        found = self._sums(y)
        squared, norms = found[:K], found[K:]
        variance, outside = self.model.off_space_variance, None
        if off is not None and variance:
            # c = s = √½ and ‖h‖² = 2α in each direction of a frame off the span.
            per_cost = 1 / variance if self.weighting == "cost" else 0.25 / variance
            squared = [one + per_cost * off for one in squared]
        elif off is not None and whole is not None:
            outside = off / xp.where(whole == 0, xp.ones_like(whole), whole)
        if dof := self.model.dof:
            squared = [one + dof for one in squared]
        shares = None
        if norms:
            norm = norms[0] + off * (0.5 / variance) if off is not None and variance else norms[0]
            norm = xp.where(norm == 0, xp.ones_like(norm), norm)
            shares = xp.stack(norms[1:], axis=1) / norm[:, None]
        return [*squared, shares, outside]
