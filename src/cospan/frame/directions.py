"""The directions of a frame: extremes, deflation, the shared band.

A direction is a row h of H. Its angle arctan2(s, c) says whose it is, and Theorem 2 of the paper
says more: among all samples that both sets can represent, the first shared direction has the
smallest angle and the last one the largest. Asking for the next extreme under the constraint
that its coefficients be orthogonal to the earlier ones (the paper's deflation) walks through the
shared block from its ends, so the successive extremes are simply the next rows of H.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._tables import make_dataframe
from cospan._validate import as_option
from cospan.errors import InputError

if TYPE_CHECKING:
    from cospan.frame.joint import JointFrame

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
    shifts : array, (n,)
        How far B's mean lies from A's along the direction, in pooled spreads.
    differences : array (n,) or None
        The direction's part of the difference of the sets; None in the linear span.
    x, y : array, (p, n) and (q, n), or None
        The coefficients of Theorem 2, where the frame kept U and V: with A and B the prepared
        rows (:meth:`JointFrame.prepared`), ``A.T @ x[:, i] = B.T @ y[:, i] = vectors[i]``, and
        ``arctan2(‖x‖, ‖y‖)`` is the angle. NaN for directions that one set lacks: there the
        equation has no solution.

    Examples
    --------
    >>> from cospan import JointFrame
    >>> frame = JointFrame.fit(
    ...     [[3.0, 0], [0, 1]], [[3.0, 0], [0, 4]], span="linear", center="none", shrinkage=0
    ... )
    >>> found = frame.directions
    >>> found.degrees.round(2)
    array([45.  , 75.96])
    >>> found.vectors.round(6) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """

    index: np.ndarray
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
        kept = {
            name: arrays.pick(getattr(self, name), positions)
            for name in ("c", "s", "lengths", "shifts")
        }
        return Directions(
            **kept,
            index=self.index[positions],
            block=self.block[positions],
            feature_names=self.feature_names,
            x=None if self.x is None else arrays.pick(self.x, positions, axis=1),
            y=None if self.y is None else arrays.pick(self.y, positions, axis=1),
            differences=None
            if self.differences is None
            else arrays.pick(self.differences, positions),
            _rows=arrays.pick(self._rows, positions),
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """A dataframe: index, block, degrees, c, s, shift, length, and part of the difference."""
        columns = {
            "direction": self.index,
            "block": self.block,
            "degrees": arrays.to_numpy(self.degrees),
            "c": arrays.to_numpy(self.c),
            "s": arrays.to_numpy(self.s),
            "shift": arrays.to_numpy(self.shifts),
            "length": arrays.to_numpy(self.lengths),
        }
        if self.differences is not None:
            columns["difference"] = arrays.to_numpy(self.differences)
        return make_dataframe(columns, backend)

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}: {np.sum(self.block == name)}" for name in BLOCK_NAMES)
        return f"Directions({len(self)}; {counts})"


def directions_of(frame: JointFrame, index: np.ndarray | None = None) -> Directions:
    """The table of a frame's directions, or of those at `index`, in that order."""
    index = np.arange(frame.rank) if index is None else index
    rows = arrays.pick(frame.H, index)
    c, s = arrays.pick(frame.c, index), arrays.pick(frame.s, index)
    xp = arrays.namespace(rows)
    lengths = xp.sqrt(xp.sum(rows * rows, axis=1))
    r, k, _ = frame.blocks
    x = y = None
    if frame.U is not None and frame.V is not None:
        x = _coefficients(frame.U, index, c * lengths)
        y = _coefficients(frame.V, index - r, s * lengths)
    return Directions(
        index=index,
        c=c,
        s=s,
        block=np.repeat(BLOCK_NAMES, frame.blocks)[index],
        lengths=lengths,
        feature_names=frame.feature_names,
        x=None if x is None else _only_shared(x, (index >= r) & (index < r + k)),
        y=None if y is None else _only_shared(y, (index >= r) & (index < r + k)),
        shifts=arrays.pick(frame.shifts, index),
        differences=arrays.pick(frame.differences, index) if frame.geometry.affine else None,
        _rows=rows,
    )


def _coefficients(left: Array, columns: np.ndarray, weights: Array) -> Array:
    """u / (c‖h‖), for A = U diag(c) H makes Aᵀu = c h.

    In the theorem's own scale x is u·s/c and Ax is s·h; here z has length 1. (The paper prints
    c/s for the smallest angle. Then Ax and By differ, by the factor (c/s)².)
    """
    xp = arrays.namespace(left)
    if left.shape[1] == 0:  # the set has no direction at all; `_only_shared` makes NaN of these
        return arrays.zeros((left.shape[0], len(columns)), left)
    there = np.clip(columns, 0, max(left.shape[1] - 1, 0))
    return arrays.pick(left, there, axis=1) / xp.where(weights > 0, weights, xp.ones_like(weights))


def _only_shared(x: Array, shared: np.ndarray) -> Array:
    """NaN in the columns of directions that are not shared."""
    if shared.all():
        return x
    factor = arrays.like(np.where(shared, 1.0, np.nan), x[:1, 0] if x.shape[0] else x)
    return x * factor[None, :]


# ---- extremes ---------------------------------------------------------------------------------


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
    >>> extreme_directions(frame, "B", 3).degrees.round(1)
    array([83.6, 79. , 78.3])
    """
    side = as_option(side, "side", ("A", "B"))
    shared = _shared_index(frame, n)
    return directions_of(frame, shared[:n] if side == "A" else shared[::-1][:n])


def shared_directions(frame: JointFrame, n: int = 1) -> Directions:
    """The n shared directions nearest to 45°, nearest first: what both sets have alike.

    Under shrinkage, directions in which neither set varies lie at 45° too. Where the frame works
    in a span (fewer rows than features), those outside it are not listed.

    Parameters
    ----------
    frame : JointFrame
    n : int

    Examples
    --------
    >>> from cospan import JointFrame, shared_directions
    >>> frame = JointFrame.fit(
    ...     [[3.0, 0], [0, 1]], [[3.0, 0], [0, 4]], span="linear", center="none", shrinkage=0
    ... )
    >>> shared_directions(frame, 1).vectors.round(6) + 0.0
    array([[1., 0.]])
    """
    shared = _shared_index(frame, n)
    distance = np.abs(arrays.to_numpy(frame.angles)[shared] - math.pi / 4)
    return directions_of(frame, shared[np.argsort(distance, kind="stable")[:n]])


def _shared_index(frame: JointFrame, n: int) -> np.ndarray:
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
