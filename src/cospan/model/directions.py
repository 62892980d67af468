"""Directions of a frame: their table, their extremes, and frames with some of them only."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.base import arrays
from cospan.base.checks import as_option, is_real
from cospan.base.tables import make_dataframe
from cospan.base.types import Array, Bools, Index
from cospan.decomposition import Blocks
from cospan.errors import InputError

if TYPE_CHECKING:
    from cospan.model.frame import JointFrame

BLOCK_NAMES = ("A-only", "shared", "B-only")


@dataclass(frozen=True, eq=False)
class Directions:
    """Some or all directions of a frame, one entry per direction.

    Attributes
    ----------
    index : ndarray of int, (n,)
        Which rows of the frame's H these are.
    c, s : array, (n,)
        What the direction weighs in A and in B; c² + s² = 1.
    block : ndarray of str, (n,)
        ``"A-only"``, ``"shared"`` or ``"B-only"``.
    lengths : array, (n,)
        ‖h‖: how much of both sets together lies along the direction.
    feature_names : tuple of str or None
    x, y : array, (p, n) and (q, n), or None
        The coefficients of Theorem 2, where the frame kept U and V: with A and B the prepared
        rows (:meth:`JointFrame.prepared`), ``A.T @ x[:, i] = B.T @ y[:, i] = vectors[i]``, and
        ``arctan2(‖x‖, ‖y‖)`` is the angle. NaN for directions that one set lacks.
    shifts : array, (n,)
        How far B's mean lies from A's along the direction, in pooled spreads.
    differences : array (n,) or None
        The direction's part of the difference of the sets; None in the linear span.

    Examples
    --------
    >>> from cospan import JointFrame
    >>> frame = JointFrame.fit(
    ...     [[3.0, 0], [0, 1]], [[3.0, 0], [0, 4]], span="linear", center="none", shrinkage=0
    ... )
    >>> frame.directions.degrees.round(2)
    array([45.  , 75.96])
    >>> frame.directions.vectors.round(6) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """

    index: Index
    c: Array
    s: Array
    block: np.ndarray
    lengths: Array
    feature_names: tuple[str, ...] | None
    x: Array | None = field(repr=False)
    y: Array | None = field(repr=False)
    shifts: Array = field(repr=False)
    differences: Array | None = field(repr=False)
    _rows: Array = field(repr=False)  # rows of the frame's H

    @classmethod
    def of(cls, frame: JointFrame, index: Index | None = None) -> Directions:
        """The directions of a frame, or those at `index`, in that order."""
        index = np.arange(frame.rank) if index is None else index
        rows = arrays.pick(frame.H, index)
        c, s = arrays.pick(frame.c, index), arrays.pick(frame.s, index)
        xp = arrays.namespace(rows)
        lengths = xp.sqrt(xp.sum(rows * rows, axis=1))
        r, k, _ = frame.blocks
        x = y = None
        if frame.U is not None and frame.V is not None:
            shared = (index >= r) & (index < r + k)
            x = _coefficients(frame.U, index, c * lengths, shared)
            y = _coefficients(frame.V, index - r, s * lengths, shared)
        block = np.repeat(BLOCK_NAMES, frame.blocks)[index]
        shifts = arrays.pick(frame.shifts, index)
        parts = arrays.pick(frame.differences, index) if frame.geometry.affine else None
        return cls(index, c, s, block, lengths, frame.feature_names, x, y, shifts, parts, rows)

    @cached_property
    def vectors(self) -> Array:
        """(n, d): the directions as unit vectors in feature space."""
        return self._rows / self.lengths[:, None]

    @property
    def angles(self) -> Array:
        """Each direction's angle in radians: 0 = only A has it, π/2 = only B."""
        return arrays.namespace(self.c).atan2(self.s, self.c)

    @property
    def degrees(self) -> Array:
        """The angles in degrees."""
        return self.angles * (180 / math.pi)

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, chosen: Any) -> Directions:
        """Some of them: a slice, a mask, or positions (one position keeps a table of one)."""
        positions = np.atleast_1d(np.arange(len(self))[chosen])
        by_row = ("index", "c", "s", "block", "lengths", "shifts", "differences", "_rows")
        axes = dict.fromkeys(by_row, 0) | {"x": 1, "y": 1}
        known = {name: axis for name, axis in axes.items() if getattr(self, name) is not None}
        picked: dict[str, Any] = {
            n: arrays.pick(getattr(self, n), positions, axis) for n, axis in known.items()
        }
        return replace(self, **picked)

    def to_frame(self, backend: str | None = None) -> Any:
        """A dataframe: index, block, degrees, c, s, shift, length, and part of the difference."""
        names = ("direction", "block", "degrees", "c", "s", "shift", "length", "difference")
        known = (self.index, self.block, self.degrees, self.c, self.s, self.shifts, self.lengths)
        columns = zip(names, (*known, self.differences), strict=True)
        return make_dataframe(
            {name: arrays.to_numpy(one) for name, one in columns if one is not None}, backend
        )

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}: {np.sum(self.block == name)}" for name in BLOCK_NAMES)
        return f"Directions({len(self)}; {counts})"


def _coefficients(left: Array, columns: Index, weights: Array, shared: Bools) -> Array:
    """u / (c‖h‖), for A = U diag(c) H makes Aᵀu = c h; NaN for directions that are not shared."""
    xp = arrays.namespace(left)
    if left.shape[1] == 0:  # the set has no direction at all
        x = arrays.zeros((left.shape[0], len(columns)), left)
    else:
        there = np.clip(columns, 0, left.shape[1] - 1)
        x = arrays.pick(left, there, axis=1) / xp.where(weights > 0, weights, xp.ones_like(weights))
    if shared.all():
        return x
    factor = arrays.like(np.where(shared, 1.0, np.nan), x[:1, 0] if x.shape[0] else x)
    return x * factor[None, :]


def extreme_directions(frame: JointFrame, side: str, n: int = 1) -> Directions:
    """The n shared directions that are most like A, or most like B, most extreme first.

    By Theorem 2 of the paper no sample that both sets can represent has a smaller angle than the
    first one for A, or a larger one than the first one for B. Each next one is the extreme among
    the samples whose coefficients are orthogonal to those before it.

    Parameters
    ----------
    frame : JointFrame
    side : {"A", "B"}
    n : int
        How many, at most the number of shared directions. (With shrinkage all are shared.
        Directions that only one set has are in ``frame.directions``.)

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cospan import JointFrame, extreme_directions
    >>> X, y = load_digits(return_X_y=True)
    >>> frame = JointFrame.fit(X[y == 4], X[y == 9])
    >>> extreme_directions(frame, "A", 3).degrees.round(1)
    array([ 8.6, 10.1, 14.3])
    """
    side = as_option(side, "side", ("A", "B"))
    shared = _shared_index(frame, n)
    return Directions.of(frame, shared[:n] if side == "A" else shared[::-1][:n])


def shared_directions(frame: JointFrame, n: int = 1) -> Directions:
    """The n shared directions nearest to 45°, nearest first: what both sets have alike.

    Under shrinkage, directions in which neither set varies lie at 45° too. Where the frame works
    in a span (fewer rows than features), those outside it are not listed.

    >>> from cospan import JointFrame, shared_directions
    >>> frame = JointFrame.fit(
    ...     [[3.0, 0], [0, 1]], [[3.0, 0], [0, 4]], span="linear", center="none", shrinkage=0
    ... )
    >>> shared_directions(frame, 1).vectors.round(6) + 0.0
    array([[1., 0.]])
    """
    shared = _shared_index(frame, n)
    distance = np.abs(arrays.to_numpy(frame.angles)[shared] - math.pi / 4)
    return Directions.of(frame, shared[np.argsort(distance, kind="stable")[:n]])


def _shared_index(frame: JointFrame, n: int) -> Index:
    r, k, _ = frame.blocks
    check_count(n, k, "shared direction")
    return np.arange(r, r + k)


def check_count(n: object, available: int, what: str) -> None:
    """Is n a number of directions that there are?"""
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise InputError(f"n is {n!r}; it must be a whole number of at least 1.")
    if n > available:
        raise InputError(
            f"n is {n}, but the frame has {available} {what}{'' if available == 1 else 's'}; "
            "ask for fewer" + (", or fit it with shrinkage > 0." if not available else ".")
        )


# ---- some of the directions only --------------------------------------------------------------


def truncated(
    frame: JointFrame, band: float | None, n: int | None, shared_above: float | None
) -> JointFrame:
    """The frame with some of its directions only; see :meth:`JointFrame.truncate`."""
    kept = _kept(frame, band, n, shared_above)
    if not kept.any():
        raise InputError(
            "No direction would be left; choose a narrower band or a lower shared_above."
        )
    if kept.all() and (shared_above is not None or not frame.off_space_variance or band == 0):
        return frame
    index = np.flatnonzero(kept)
    r, k, _ = frame.blocks
    dropped = frame.rank - len(index)
    core, inverse = arrays.pick(frame.core, index), arrays.pick(frame.inverse, index, axis=1)
    basis = frame.basis
    if basis is not None and shared_above is None and frame.off_space_variance:
        # All directions off the span lie at exactly 45°, so the band takes them along, and the
        # two products of scoring in a span become one.
        dropped += frame.geometry.n_varying - int(basis.shape[1])
        core, inverse, basis = arrays.matmul(core, basis.T), arrays.matmul(basis, inverse), None
    return replace(
        frame,
        c=arrays.pick(frame.c, index),
        s=arrays.pick(frame.s, index),
        blocks=Blocks(*(int(part.sum()) for part in np.split(kept, [r, r + k]))),
        core=core,
        inverse=inverse,
        basis=basis,
        U=None if frame.U is None else arrays.pick(frame.U, index[index < r + k], axis=1),
        V=None if frame.V is None else arrays.pick(frame.V, index[index >= r] - r, axis=1),
        dropped=frame.dropped + dropped,
        typicality=None,  # what its training rows cost, left out, is not known
    )


def _kept(
    frame: JointFrame, band: float | None, n: int | None, shared_above: float | None
) -> Bools:
    """Mask of the directions to keep."""
    if sum(x is not None for x in (band, n, shared_above)) != 1:
        raise InputError("Give exactly one of band, n and shared_above.")
    distance = np.abs(arrays.to_numpy(frame.angles) - math.pi / 4)
    if band is not None:
        _check_between(band, "band", math.pi / 4, "radians, for instance math.radians(10)")
        return np.asarray(distance >= band)
    if shared_above is not None:
        return shared_mask(frame, shared_above)
    check_count(n, frame.rank, "direction")
    if frame.geometry.affine:
        distance = arrays.to_numpy(frame.differences)
    # Directions that only one set has are all equally far from 45°: the longer one goes first.
    length = np.linalg.norm(arrays.to_numpy(frame.core), axis=1)
    return np.isin(np.arange(frame.rank), np.lexsort((-length, -distance))[:n])


def shared_mask(frame: JointFrame, shared_above: float) -> Bools:
    """Which directions have min(c, s) above a threshold."""
    _check_between(shared_above, "shared_above", math.sqrt(0.5), "below √½, the value at 45°")
    weakest = np.minimum(arrays.to_numpy(frame.c), arrays.to_numpy(frame.s))
    return np.asarray(weakest > shared_above)


def _check_between(value: object, name: str, top: float, what: str) -> None:
    if not is_real(value) or not 0 <= value < top:
        raise InputError(f"{name} is {value!r}; it must lie in [0, {top:.4f}): {what}.")
