"""Angles of samples, and of the training rows themselves, each left out of its set.

With y, a, b the coordinates in the frame of a sample and of both means, every cost is a weighted
distance of y from a or b (`scoring`): one matrix product and one pass over its result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast, overload

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._validate import as_option, as_rows, check_names, feature_names_of
from cospan.alignment import Alignment
from cospan.errors import InputError
from cospan.frame import lazy
from cospan.frame.properties import FrameProperties, inverse_square
from cospan.frame.scoring import Scorer
from cospan.sets import LeavingRows
from cospan.sets.leaving import leaving_rows, removed_weights
from cospan.sets.maps import working_rows

if TYPE_CHECKING:
    from cospan.frame.joint import JointFrame

_WEIGHTINGS = ("cost", "frame")


class LeaveOneOut(NamedTuple):
    """The training rows' own angles, each computed as if the row had not been there.

    Examples
    --------
    >>> from cospan import JointFrame
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(40, 3)), rng.normal(size=(40, 3)) + 2
    >>> left_out = JointFrame.fit(A, B).leave_one_out(A, B)
    >>> bool(np.median(left_out.a.degrees) < 45 < np.median(left_out.b.degrees))
    True
    """

    a: Alignment
    b: Alignment


class ScoringFrame(FrameProperties):
    """A joint frame as far as it scores rows; see :class:`cospan.JointFrame`."""

    def coordinates(self, Z: Any) -> Array:
        """Coordinates (n, m) of samples in the frame: y with Hᵀy = z - center in least squares."""
        check_names(Z, self.feature_names, "Z")
        rows = as_rows(Z, "Z", d=self.n_features, allow_empty=True)
        return Scorer(self, rows).coordinates(rows)[0]

    @overload
    def align(self, Z: Iterator[Any], *, weighting: str = "cost") -> Iterator[Alignment]: ...
    @overload
    def align(self, Z: Any, *, weighting: str = "cost") -> Alignment: ...
    def align(self, Z: Any, *, weighting: str = "cost") -> Alignment | Iterator[Alignment]:
        """The alignment angle of every sample.

        Parameters
        ----------
        Z : array-like (n, d), a Dask collection, or an iterable of chunks
        weighting : {"cost", "frame"}
            ``"cost"``: by what it costs each set to explain the sample. ``"frame"`` (linear span
            only): arctan2(‖s∘y‖, ‖c∘y‖), with which the paper's table was computed.

        Returns
        -------
        Alignment
            For a Dask collection its arrays are lazy; for chunks, an iterator of Alignments:
            constant memory.
        """
        weighting = self.as_weighting(weighting)
        if arrays.is_lazy(Z):
            return lazy.aligned(self._whole, Z, weighting)
        if _is_chunks(Z):
            return self._align_chunks(Z, weighting)
        check_names(Z, self.feature_names, "Z")
        rows = as_rows(Z, "Z", d=self.n_features, allow_empty=True)
        return self._aligned(rows, weighting)

    def _aligned(self, rows: Array, weighting: str) -> Alignment:
        if self.curve is None:
            return Scorer(self, rows, weighting).aligned(rows)
        return self._curved_alignment(self.curve.squared_costs(rows))

    def _curved_alignment(self, squared: Array) -> Alignment:
        """From squared costs of mapped rows; they have shrinkage, so that all is shared."""
        return self.alignment_of((squared[:, 0], squared[:, 1]))

    def squared_costs(self, Z: Any) -> Array:
        """(n, 2): the squared costs of samples."""
        rows = as_rows(Z, "Z", d=self.n_features, allow_empty=True)
        if self.curve is not None:
            return self.curve.squared_costs(rows)
        found = Scorer(self, rows).scores(rows)
        return arrays.namespace(rows).stack((found.squared_a, found.squared_b), axis=1)

    def _align_chunks(self, chunks: Iterable[Any], weighting: str) -> Iterator[Alignment]:
        seen = 0
        for chunk in chunks:
            check_names(chunk, self.feature_names, "Z")
            rows = as_rows(chunk, "Z", d=self.n_features, allow_empty=True, first_row=seen)
            seen += rows.shape[0]
            yield self._aligned(rows, weighting)

    @property
    def _whole(self) -> JointFrame:
        """This frame as the class it always is: the only one that is made of this one."""
        return cast("JointFrame", self)

    def as_weighting(self, weighting: str) -> str:
        """A weighting this frame knows, checked."""
        weighting = as_option(weighting, "weighting", _WEIGHTINGS)
        if weighting == "frame" and self.geometry.affine:
            raise InputError(
                'weighting="frame" belongs to the linear span; fit the frame with span="linear".'
            )
        return weighting

    # ---- training rows ------------------------------------------------------------------------

    def leave_one_out(
        self,
        A: Any,
        B: Any,
        *,
        weighting: str = "cost",
        sample_weight_a: Any = None,
        sample_weight_b: Any = None,
    ) -> LeaveOneOut:
        """The training rows' own angles: each as if the row had never been there.

        Exact, without refitting: mean, covariance and divisor change; α, the units and the
        calibration are held. Scoring training rows with :meth:`align` flatters: every row helped
        to build its own side. With ``center="each"`` a row is scored less the mean of its own
        set, as it entered the frame. Without shrinkage, a row that the others of its set do not
        span costs ∞; with no more rows than features that is every row. (With
        ``weighting="frame"`` centre and divisor are held.)

        Parameters
        ----------
        A, B : array-like
            The rows the frame was fitted to, or some of them.
        weighting : {"cost", "frame"}
        sample_weight_a, sample_weight_b : array-like, optional
            The weights used in fitting; a row of weight 2 loses one of its two occurrences.

        Returns
        -------
        LeaveOneOut
            With the Alignments ``a`` and ``b``.
        """
        return LeaveOneOut(
            self.left_out(A, "A", weighting=weighting, sample_weight=sample_weight_a),
            self.left_out(B, "B", weighting=weighting, sample_weight=sample_weight_b),
        )

    def left_out(
        self, X: Any, side: str, *, weighting: str = "cost", sample_weight: Any = None
    ) -> Alignment:
        """:meth:`leave_one_out` for rows of one side only ("A" or "B"), a chunk of them say."""
        weighting = self.as_weighting(weighting)
        side = as_option(side, "side", ("A", "B"))
        if arrays.is_lazy(X):
            return lazy.aligned(self._whole, X, weighting, side, sample_weight)
        check_names(X, self.feature_names, side)
        rows = as_rows(X, side, d=self.n_features, allow_empty=True)
        removed = removed_weights(sample_weight, rows.shape[0])
        return self._left_out(rows, 0 if side == "A" else 1, removed, weighting)

    def left_out_costs(self, X: Any, own: Any, *, sample_weight: Any = None) -> Array:
        """(n, 2): squared costs of rows of both sides (`own`: 0 for A, 1 for B), each left out."""
        rows = as_rows(X, "X", d=self.n_features, allow_empty=True)
        own = np.asarray(own, dtype=np.intp)
        removed = removed_weights(sample_weight, len(own))
        squared = np.empty((len(own), 2))
        for k in np.unique(own).tolist():
            index = np.flatnonzero(own == k)
            found = self._left_out(arrays.pick(rows, index), k, removed[index], "cost")
            for column, cost in enumerate((found.cost_a, found.cost_b)):
                squared[index, column] = arrays.to_numpy(cost) ** 2
        return arrays.like(squared, rows)

    def leaving(self) -> LeavingRows:
        """Leave-one-out costs of rows in working coordinates."""
        if self.dropped:
            raise InputError(
                "A truncated frame has no leave-one-out angles: its training rows helped to "
                "choose which directions stay; use the whole frame, or align() on other rows."
            )
        return self._leaving

    @cached_property
    def _leaving(self) -> LeavingRows:
        shrunk, maps = [], []
        for weight in (self.c, self.s):
            shrunk.append(self._with_constants(arrays.gram(weight[:, None] * self.core)))
            divided = np.sqrt(inverse_square(arrays.to_numpy(weight)))
            maps.append(self.inverse * arrays.like(divided, self.inverse)[None, :])
        return leaving_rows(self.geometry, shrunk, maps, self.basis)

    def _with_constants(self, covariance: Array) -> np.ndarray:
        """A set's covariance, with α for the features that no direction has."""
        found = np.array(arrays.to_numpy(covariance))
        if self.basis is None and self.shrinkage > 0:
            constant = self.geometry.constant_features
            found[constant, constant] = self.shrinkage
        return found

    def log_determinants(self) -> np.ndarray:
        """log|Σ̃| of both sets, pooled, up to a common constant."""
        found = [np.sum(np.log(x[x > 0])) for x in self.cost_weights()]
        return -np.array(found, dtype=np.float64)

    def _left_out(self, rows: Array, side: int, removed: np.ndarray, weighting: str) -> Alignment:
        if self.curve is not None:
            sides = np.full(rows.shape[0], side)
            return self._curved_alignment(self.curve.left_out_costs(rows, sides, removed))
        g = self.geometry
        leaving = self.leaving()
        p, off = working_rows(rows, g.means[side, :], g, self.basis)
        scores = None
        if self.basis is not None or self.blocks.r or self.blocks.t or weighting == "frame":
            own_centre = g.center_mode == "each"
            moved = rows - arrays.like(g.means[side, :], rows) if own_centre else rows
            scores = Scorer(self, rows, weighting, fine=True).scores(moved)
        if scores is not None and scores.squared_y is not None and weighting == "frame":
            weight = arrays.like((1 - g.shrinkage) * g.weights[side] * removed, scores.squared_y)
            squared = [scores.squared_a, scores.squared_b]
            # With T = S_A + S_B and x leaving S_A: T⁻¹x is scaled, and S_A loses weight·xxᵀ; the
            # common scale cancels in the angle, so ‖c∘y‖² - weight·‖y‖⁴ is left of A's own part.
            own = squared[1 - side] - weight * scores.squared_y**2
            squared[1 - side] = arrays.namespace(rows).clip(own, 0.0, math.inf)
        else:
            found = leaving.squared_costs(p, off, side, removed)
            squared = [found[:, 0], found[:, 1]]
        beside = (None, None) if scores is None else (scores.shares, scores.outside)
        return self.alignment_of(squared, weighting, *beside)


def _is_chunks(Z: Any) -> bool:
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
