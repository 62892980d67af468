"""Directions of a frame: their table, extremes and parts of the difference; extreme points.

The Bhattacharyya distance of the two sets' Gaussian fits is a sum over directions. With τ the log
of tan θ_i,

    D = ¼ Σ shift_i²  +  ½ Σ log cosh τ_i

The first sum is location; what is left of the second where all τ_i are replaced by their mean is
scale, one factor for all directions; the rest is shape.

Over directions the extremes of the angle are the ends of the frame. Over *points*, which is what
the affine angle is about, they are finite: in the coordinates (y, 1) both squared costs are
quadratic forms, cost² = (y, 1) Q (y, 1)ᵀ, and the paper's Theorem 2 holds in d + 1 coordinates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.linalg

from cospan.base import arrays
from cospan.base.checks import as_count, as_option
from cospan.base.tables import make_dataframe
from cospan.base.tolerance import at_infinity
from cospan.base.types import Array, DataFrame, Floats, Index, Record
from cospan.decomposition import Blocks
from cospan.errors import InputError
from cospan.model.alignment import Alignment

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
    vectors : array, (n, d)
        The directions as unit vectors in feature space.
    feature_names : tuple of str or None
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
    vectors: Array
    feature_names: tuple[str, ...] | None
    shifts: Array = field(repr=False)
    differences: Array | None = field(repr=False)

    @classmethod
    def of(cls, frame: JointFrame) -> Directions:
        """The directions of a frame."""
        rows, xp = frame.H, arrays.namespace(frame.H)
        lengths = xp.sqrt(xp.sum(rows * rows, axis=1))
        return cls(
            index=np.arange(frame.rank),
            c=frame.c,
            s=frame.s,
            block=np.repeat(BLOCK_NAMES, frame.blocks),
            lengths=lengths,
            vectors=rows / lengths[:, None],
            feature_names=frame.feature_names,
            shifts=frame.shifts,
            differences=frame.differences if frame.geometry.affine else None,
        )

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
        held = {one.name: getattr(self, one.name) for one in fields(self)}
        names = held.pop("feature_names")
        picked: Record = {k: x if x is None else arrays.pick(x, positions) for k, x in held.items()}
        return Directions(**picked, feature_names=names)

    def to_frame(self, backend: str | None = None) -> DataFrame:
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
    side, shared = as_option(side, "side", ("A", "B")), _shared_index(frame, n)
    return frame.directions[shared[:n] if side == "A" else shared[::-1][:n]]


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
    return frame.directions[shared[np.argsort(distance, kind="stable")[:n]]]


def _shared_index(frame: JointFrame, n: int) -> Index:
    r, k, _ = frame.blocks
    _check_count(n, k, "shared direction")
    return np.arange(r, r + k)


def _check_count(n: Any, available: int, what: str) -> None:
    """Is n a number of directions that there are?"""
    if as_count(n, "n") > available:
        raise InputError(
            f"n is {n}, but the frame has {available} {what}{'' if available == 1 else 's'}; "
            "ask for fewer" + (", or fit it with shrinkage > 0." if not available else ".")
        )


# ---- what two sets differ in ------------------------------------------------------------------


class Parts(NamedTuple):
    """The Bhattacharyya distance of two sets, split; none of the parts is negative."""

    location: float
    scale: float
    shape: float

    @property
    def total(self) -> float:
        """D, the whole difference."""
        return self.location + self.scale + self.shape


def differences_of(frame: JointFrame) -> Array:
    """Each direction's part of D, (m,)."""
    found = 0.25 * arrays.to_numpy(frame.shifts) ** 2 + 0.5 * _log_cosh(_log_tangents(frame))
    return arrays.like(found, frame.c)


def parts_of(frame: JointFrame) -> Parts:
    """D by location, scale and shape."""
    tau = _log_tangents(frame)
    spread = 0.5 * float(np.sum(_log_cosh(tau)))
    # Directions off a span are alike in both sets: they count in the mean, with τ = 0.
    count = max(frame.geometry.n_varying if frame.shrinkage > 0 else len(tau), 1)
    mean = np.array([np.sum(tau) / count if math.isfinite(spread) else 0.0])
    scale = min(0.5 * count * float(_log_cosh(mean)[0]), spread)
    location = 0.25 * float(np.sum(arrays.to_numpy(frame.shifts) ** 2))
    return Parts(location, scale, spread - scale)


def _log_tangents(frame: JointFrame) -> Floats:
    if not frame.geometry.affine:
        raise InputError(
            'Location, scale and shape belong to span="affine", where every set has its own '
            'centre; fit the frame without span="linear".'
        )
    c, s = arrays.to_numpy(frame.c), arrays.to_numpy(frame.s)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(s) - np.log(c), dtype=np.float64)


def _log_cosh(x: Floats) -> Floats:
    """log cosh x, without overflow."""
    size = np.abs(x)
    return np.asarray(size + np.log1p(np.exp(-2 * size)) - math.log(2))


# ---- some of the directions only --------------------------------------------------------------


def truncated(frame: JointFrame, n: int) -> JointFrame:
    """The frame with n of its directions only; see :meth:`JointFrame.truncate`."""
    _check_count(n, frame.rank, "direction")
    if n == frame.rank and not frame.off_space_variance:
        return frame
    telling = np.abs(arrays.to_numpy(frame.angles) - math.pi / 4)
    if frame.geometry.affine:
        telling = arrays.to_numpy(frame.differences)
    # Directions that only one set has are all equally far from 45°: the longer one goes first.
    length = np.linalg.norm(arrays.to_numpy(frame.core), axis=1)
    kept = np.isin(np.arange(frame.rank), np.lexsort((-length, -telling))[:n])
    index = np.flatnonzero(kept)
    r, k, _ = frame.blocks
    dropped = frame.rank - n
    core, inverse = arrays.pick(frame.core, index), arrays.pick(frame.inverse, index, axis=1)
    basis = frame.basis
    if basis is not None and frame.off_space_variance:
        # All directions off the span lie at exactly 45°: they go, too, and the two products of
        # scoring in a span become one.
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
        U=None,
        V=None,
        dropped=frame.dropped + dropped,
        typicality=None,  # what its training rows cost, left out, is not known
    )


# ---- points -----------------------------------------------------------------------------------


class Prototypes(NamedTuple):
    """Points of feature space that are most like one set, most extreme first."""

    points: Array  # (n, d): constant features have the value they have in the data
    alignment: Alignment  # their angles and costs


def prototypes(frame: JointFrame, side: str, n: int = 1) -> Prototypes:
    """The n points that are most like A, or most like B.

    No sample whatever has a smaller angle than the first one for A, or a larger one than the
    first for B. Each next one is the extreme among the points whose weights are orthogonal to
    those before it.

    Parameters
    ----------
    frame : JointFrame
        Of the affine span, with shrinkage. Of a curved frame they are the plain frame's points, and
        so are their angles.
    side : {"A", "B"}
    n : int

    Examples
    --------
    >>> from cospan import JointFrame, prototypes
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(500, 2)), rng.normal(size=(500, 2)) + [2.0, 0]
    >>> found = prototypes(JointFrame.fit(A, B), "B")
    >>> bool(found.points[0, 0] > 2)
    True
    """
    side = as_option(side, "side", ("A", "B"))
    frame = frame.plain
    if not frame.geometry.affine:
        raise InputError(
            'Prototypes belong to span="affine"; in the linear span the extremes are directions: '
            "see extreme_directions."
        )
    if frame.shrinkage == 0 and (frame.blocks.r or frame.blocks.t):
        raise InputError(
            "Prototypes need directions that both sets have; fit the frame with shrinkage."
        )
    _check_count(n, frame.rank, "direction")
    half = 0.5 * arrays.to_numpy(frame.shifts)
    places = zip(frame.form()[1], (-half, half), strict=True)
    forms = [_form(weight, at, frame.dof) for weight, at in places]
    _, vectors = scipy.linalg.eigh(*(forms if side == "A" else forms[::-1]))
    last = vectors[-1]
    finite = np.abs(last) > at_infinity(len(last)) * np.linalg.norm(vectors, axis=0)
    y = (vectors[:-1, finite] / last[finite]).T[:n]  # most extreme first
    center = arrays.to_numpy(frame.center)
    points = center + y @ arrays.to_numpy(frame.H)
    constant = frame.geometry.constant_features
    points[:, constant] = center[constant]
    rows = arrays.like(points, frame.center)
    return Prototypes(rows, frame.align(rows))


def _form(weight: Floats, at: Floats, dof: float) -> Floats:
    """Q with (y, 1) Q (y, 1)ᵀ = ν + Σ weight (y - at)²."""
    Q = np.diag(np.append(weight, dof + weight @ at**2))
    Q[:-1, -1] = Q[-1, :-1] = -weight * at
    return Q
