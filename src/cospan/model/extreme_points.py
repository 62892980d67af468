"""The most A-like and the most B-like points there are.

Over directions the extremes of the angle are the ends of the frame. Over *points*, which is what
the affine angle is about, they are finite: in the coordinates (y, 1) both squared costs are
quadratic forms, cost² = (y, 1) Q (y, 1)ᵀ, and the paper's Theorem 2 holds in d + 1 coordinates: the
smallest and the largest ratio belong to the ends of the generalized eigenvectors of the pair, and
deflation gives the next ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cospan.base import arrays
from cospan.base.checks import as_option
from cospan.base.tolerance import at_infinity
from cospan.base.types import Array, Floats
from cospan.errors import InputError
from cospan.model.alignment import Alignment
from cospan.model.directions import check_count
from cospan.model.frame import JointFrame


@dataclass(frozen=True, eq=False)
class Prototypes:
    """Points of feature space that are most like one set, most extreme first.

    Attributes
    ----------
    points : array, (n, d)
        In the units of the features; constant features have the value they have in the data.
    alignment : Alignment
        Their angles and costs.
    side : str
        ``"A"`` or ``"B"``.
    """

    points: Array
    alignment: Alignment
    side: str

    def __len__(self) -> int:
        return int(self.points.shape[0])

    def __repr__(self) -> str:
        degrees = ", ".join(f"{x:.1f}°" for x in arrays.to_numpy(self.alignment.degrees)[:5])
        more = ", …" if len(self) > 5 else ""
        return f"Prototypes({len(self)} most like {self.side}: {degrees}{more})"


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
    check_count(n, frame.rank, "direction")
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
    return Prototypes(rows, frame.align(rows), side)


def _form(weight: Floats, at: Floats, dof: float) -> Floats:
    """Q with (y, 1) Q (y, 1)ᵀ = ν + Σ weight (y - at)²."""
    m = len(weight)
    Q = np.zeros((m + 1, m + 1))
    Q[np.arange(m), np.arange(m)] = weight
    Q[:m, m] = Q[m, :m] = -weight * at
    Q[m, m] = dof + weight @ at**2
    return Q
