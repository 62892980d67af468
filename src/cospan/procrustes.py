"""Alignment of instances in the shared frame: the paper's span view and relative Procrustes.

Plain Procrustes looks for the rotation that best carries the rows of X onto their partners in Y,
and strong directions that only one of the two has drown what they share. In a frame those
directions have names: cut the coordinates to the directions with min(c, s) above a threshold, and
rotate there.

The span view is the relation Ax = By written the other way round: every latent w gives a pair of
coefficients x = Fw, y = Gw that represent one and the same sample with A and with B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.linalg

from cospan.base import arrays
from cospan.base.checks import as_rows, check_names, feature_names_of, is_real
from cospan.base.types import Array, Data, Floats, Index
from cospan.errors import InputError, Note, warn
from cospan.model import JointFrame, in_feature_units


@dataclass(frozen=True, eq=False)
class RelativeProcrustes:
    """A rotation of the shared directions that carries X onto Y."""

    #: (k, k), orthogonal: shared coordinates of X times this come nearest to those of Y
    rotation: Floats = field(repr=False)
    residual: float  # ‖X̃R - Ỹ‖ / ‖Ỹ‖ in shared coordinates: 0 is a perfect fit
    used: Index = field(repr=False)  # (k,): the directions of the frame that count as shared
    frame: JointFrame = field(repr=False)

    def coordinates(self, Z: Data) -> Floats:
        """(n, k): the samples' shared coordinates, in which `rotation` acts."""
        return arrays.to_numpy(self.frame.coordinates(Z))[:, self.used]

    def transform(self, Z: Data) -> Floats:
        """(n, d): samples of X's kind with their shared part rotated; the rest stays as it is."""
        check_names(Z, self.frame.feature_names, "Z")
        rows = arrays.to_numpy(as_rows(Z, "Z", d=self.frame.n_features, allow_empty=True))
        shared = self.coordinates(rows)
        step = arrays.matmul(shared, self.rotation) - shared
        core = arrays.pick(self.frame.core, self.used)
        lift = in_feature_units(core, self.frame.basis, self.frame.geometry)
        return np.asarray(rows + arrays.matmul(step, arrays.to_numpy(lift)))

    def __repr__(self) -> str:
        used = f"{len(self.used)} of {self.frame.rank} directions"
        return f"RelativeProcrustes({used}, residual {self.residual:.3g})"


def relative_procrustes(
    frame: JointFrame, X: Data, Y: Data, *, shared_above: float = 0.3
) -> RelativeProcrustes:
    """Rotate X onto Y inside the directions that both sets share.

    Parameters
    ----------
    frame : JointFrame
        Fitted to X and Y themselves, or to larger sets of the same two kinds.
    X, Y : array-like, (n, d)
        Paired rows: X[i] belongs to Y[i].
    shared_above : float in [0, 0.7071)
        A direction counts as shared when min(c, s) is above this. A high threshold loses shared
        directions of different strength, a low one lets in what only one side has. Heavy shrinkage
        makes all directions look shared; for this purpose fit with little or none.

    Notes
    -----
    The rotation is orthogonal in frame coordinates, as in the paper. These are whitened, so a
    rotation of the features is one there only where the shared part varies alike in all directions.

    Examples
    --------
    >>> from cospan import JointFrame, relative_procrustes
    >>> rng = np.random.default_rng(0)
    >>> shared, noise = rng.normal(size=(400, 2)), 9 * rng.normal(size=(400, 4))
    >>> still = np.zeros((400, 2))
    >>> turned = shared @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> X = np.hstack([shared, noise[:, :2], still])
    >>> Y = np.hstack([turned, still, noise[:, 2:]])
    >>> frame = JointFrame.fit(X, Y, span="linear", center="none", shrinkage=0)
    >>> found = relative_procrustes(frame, X, Y)
    >>> found
    RelativeProcrustes(2 of 6 directions, residual 0.133)
    >>> found.transform(np.eye(6)[:2])[:, :2].round(1) + 0.0
    array([[ 0.,  1.],
           [-1.,  0.]])
    """
    check_names(X, frame.feature_names, "X")
    check_names(Y, frame.feature_names, "Y")
    check_names(Y, feature_names_of(X), "Y", whose="X's")
    left, right = (
        arrays.to_numpy(as_rows(Z, name, d=frame.n_features)).astype(np.float64, copy=False)
        for Z, name in ((X, "X"), (Y, "Y"))
    )
    if left.shape[0] != right.shape[0]:
        raise InputError(
            f"X has {left.shape[0]} rows and Y has {right.shape[0]}; they are pairs, row by row."
        )
    if not is_real(shared_above) or not 0 <= shared_above < math.sqrt(0.5):
        raise InputError(f"shared_above is {shared_above!r}; it must lie in [0, 0.7071): below √½.")
    used = np.flatnonzero(np.minimum(*map(arrays.to_numpy, (frame.c, frame.s))) > shared_above)
    if not len(used):
        raise InputError(f"No direction has min(c, s) above {shared_above:g}; lower shared_above.")
    if left.shape[0] < len(used):
        text = (
            f"{left.shape[0]} pairs of rows do not fix a rotation of {len(used)} directions; the "
            "rest of it is arbitrary."
        )
        warn([Note("few pairs", text, "Pass more pairs, or raise shared_above.", loud=True)])
    x, y = (arrays.to_numpy(frame.coordinates(rows))[:, used] for rows in (left, right))
    rotation, _ = scipy.linalg.orthogonal_procrustes(x, y, check_finite=False)
    off, size = np.linalg.norm(arrays.matmul(x, rotation) - y), np.linalg.norm(y)
    return RelativeProcrustes(rotation, float(off / (size or 1.0)), used, frame)


# ---- the span view ----------------------------------------------------------------------------


class SpanView(NamedTuple):
    """The relation in its explicit form: x = F w and y = G w.

    Every w of length k gives coefficients with ``A.T @ F @ w = B.T @ G @ w``, A and B being the
    prepared rows, and every pair that represents one sample with the least coefficients arises so.
    """

    F: Array  # (p, k): U diag(s) of the shared block
    G: Array  # (q, k): V diag(c)


def span_view(frame: JointFrame) -> SpanView:
    """F and G of the span view, for a frame that kept U and V.

    Parameters
    ----------
    frame : JointFrame
        From ``JointFrame.fit(..., keep_uv=True)``.

    Returns
    -------
    SpanView
        For the prepared rows ``frame.prepared(A, "A")`` and ``frame.prepared(B, "B")``.

    Examples
    --------
    >>> from cospan import JointFrame, span_view
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(9, 4)), rng.normal(size=(7, 4))
    >>> frame = JointFrame.fit(A, B, shrinkage=0, keep_uv=True)
    >>> F, G = span_view(frame)
    >>> w = rng.normal(size=4)
    >>> left, right = frame.prepared(A, "A"), frame.prepared(B, "B")
    >>> bool(np.allclose(left.T @ F @ w, right.T @ G @ w))
    True
    """
    if frame.U is None or frame.V is None:
        raise InputError(
            "This frame has no U and V to write the span view with; "
            "fit it with JointFrame.fit(..., keep_uv=True)."
        )
    r, k, _ = frame.blocks
    shared = slice(r, r + k)
    return SpanView(frame.U[:, shared] * frame.s[shared], frame.V[:, :k] * frame.c[shared])
