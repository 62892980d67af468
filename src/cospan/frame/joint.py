"""JointFrame: two sets, prepared and decomposed; it scores samples.

One GSVD of the centred, shrunk pair gives directions H with the weights c and s. With y, a, b the
coordinates in H of a sample and of both means, every cost is a weighted distance of y from a or b
(`scoring`): one matrix product and one pass over its result.

Where the rows do not fill the feature space (rank below d), the frame works inside their span:
`basis` holds an orthonormal basis of it, in units, and `core` the frame in its coordinates. Under
shrinkage all directions off the span are alike for both sets, with variance α; they enter both
costs through the norm of what lies off the span, and are never written out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan import distributed
from cospan._arrays import Array
from cospan._tolerance import rank_tolerance
from cospan._validate import (
    as_option,
    as_rows,
    as_weights,
    check_names,
    feature_names_of,
)
from cospan._warnings import warn
from cospan.alignment import Alignment
from cospan.decomposition import Blocks, decompose
from cospan.directions import Directions, directions_of
from cospan.errors import InputError
from cospan.frame.differences import Parts, differences, parts_of
from cospan.frame.fitting import DEFAULTS, compressed, fitted, pseudo_inverse, settled
from cospan.frame.scoring import Scorer, inverse_square
from cospan.frame.truncation import truncated
from cospan.sets import Geometry, LeavingRows, calibrated
from cospan.sets.asking import resolved_calibration
from cospan.sets.choice import tried_rows
from cospan.sets.costs import leaving_rows, working_rows
from cospan.sets.model import trial_costs, typicality_of
from cospan.summary import Summary
from cospan.typicality import Typicality

__all__ = ["JointFrame", "LeaveOneOut"]

_WEIGHTINGS = ("cost", "frame")


class LeaveOneOut(NamedTuple):
    """The training rows' own angles, each computed as if the row had not been there."""

    a: Alignment
    b: Alignment


@dataclass(frozen=True, eq=False, repr=False)
class JointFrame:
    """The joint frame of two sets, ready to score samples.

    Make one with :meth:`fit` (from rows) or :meth:`from_summaries`.

    Attributes
    ----------
    geometry : Geometry
        Positions, units and settings of the two sets.
    c, s : array, (m,)
        Cosines, falling, and sines, rising, of the directions.
    blocks : Blocks
        How many directions only A has, both share, only B has.
    core : array, (m, e)
        The directions in working coordinates: features divided by their unit, inside `basis`.
    inverse : array, (e, m)
        Its pseudo-inverse.
    basis : array (d, e) or None
    U, V : array or None
        Left factors of the prepared rows; only with ``fit(..., keep_uv=True)``.
    dropped : int
        How many directions :meth:`truncate` has left out; 0 for a whole frame.
    typicality : Typicality or None
        What the sets' own rows cost, where there were rows to leave out.
    """

    geometry: Geometry
    c: Array
    s: Array
    blocks: Blocks
    core: Array
    inverse: Array
    basis: Array | None = None
    U: Array | None = None
    V: Array | None = None
    dropped: int = 0
    typicality: Typicality | None = None

    # ---- making -------------------------------------------------------------------------------

    @classmethod
    def fit(
        cls,
        A: Any,
        B: Any,
        *,
        sample_weight_a: Any = None,
        sample_weight_b: Any = None,
        keep_uv: bool = False,
        **settings: Any,
    ) -> JointFrame:
        """Fit the frame to rows in memory.

        Parameters
        ----------
        A, B : array-like or dataframe, (p, d) and (q, d)
        span : {"affine", "linear"}
            ``"affine"``: each set explains a sample as a weighted mean of its rows, about its own
            mean. ``"linear"``: as a combination of its rows about one centre (the paper's way).
        units : {"auto", "own", "common"}
            What shrinkage pulls towards: each feature's own variance (tables: then no result
            depends on the units of a column), or one variance for all (pictures, embeddings).
        shrinkage : float in [0, 1) or "auto"
            α: covariances become ``(1-α) Σ + α T``.
        pooling : float in [0, 1] or "auto"
            γ pulls the sets' covariances towards their mean; 1 leaves only a difference of means.
        dof : float or "auto"
            ν, the degrees of freedom: 1 is the plain weighted mean; with many, distance counts
            as it does for normal distributions.
        calibrate : bool, optional
            Set the zero and the unit of θ so that cos²θ is the probability of A. By default in
            the affine span; False gives the raw angle of the two costs.
        preset : {"paper"}, optional
            The paper's method: the linear span, each set centred at its own mean, no balance, no
            shrinkage, raw angles.
        center : {"pooled", "each", "none"} or array (d,)
            For the linear span. ``"pooled"``: one vector is taken off A, B and every new sample,
            the midpoint of the two means when balanced, else the mean of all rows. ``"each"``:
            each set loses its own mean, new samples lose nothing. Or a vector.
        balance : bool
            For the linear span: give both sets equal weight, whatever their sizes.
        tol : float, optional
            As in :func:`cospan.gsvd`.
        sample_weight_a, sample_weight_b : array-like, optional
            A weight of 2 counts like a row that occurs twice.
        keep_uv : bool
            Keep U and V, for the coefficients behind directions. They belong to the rows as
            :meth:`prepared` gives them: under shrinkage its ridge rows have their rows in U and
            V too, below those of the data.

        Notes
        -----
        Whatever is ``"auto"`` is chosen by the leave-one-out log-loss of the calibrated
        probabilities, and leaves its default (the units that fit the kind of data, α = 0.3,
        γ = 0, ν = 1) only where that is better by more than its sampling error.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from cospan import JointFrame
        >>> X, y = load_digits(return_X_y=True)
        >>> fours, nines = X[y == 4], X[y == 9]
        >>> frame = JointFrame.fit(fours[:120], nines[:120])
        >>> frame
        JointFrame(120 rows against 120, 64 features, rank 64, shrinkage 0.146)
        >>> test = frame.align(fours[120:])
        >>> float((test.predict() == 0).mean().round(3))
        0.951
        """
        settings = _settings(settings)
        weighted = sample_weight_a is not None or sample_weight_b is not None
        size = 2000 if weighted else _rows_to_try(A, B)
        a = Summary.of(A, sample_weight_a, name="A", sample_size=size)
        b = Summary.of(B, sample_weight_b, name="B", sample_size=size)
        frame = cls._of(a, b, settings)
        return frame._with_uv(A, B, sample_weight_a, sample_weight_b) if keep_uv else frame

    @classmethod
    def from_summaries(cls, a: Summary, b: Summary, **settings: Any) -> JointFrame:
        """Fit the frame to two summaries; settings as in :meth:`fit`.

        A fast summary (``exact=False``) needs a shrinkage of at least 1e-3. Summaries without a
        sample of rows take the defaults where a choice would need rows, and their angles are
        calibrated by theory.
        """
        if not (isinstance(a, Summary) and isinstance(b, Summary)):
            raise InputError("from_summaries takes two summaries; use fit(A, B) for rows.")
        return cls._of(a, b, _settings(settings))

    @classmethod
    def _of(cls, a: Summary, b: Summary, settings: dict[str, Any]) -> JointFrame:
        found = fitted((a, b), ("A", "B"), settings)
        frame = cls(
            geometry=found.geometry,
            c=found.factors.c,
            s=found.factors.s,
            blocks=found.factors.blocks,
            core=found.factors.H,
            inverse=pseudo_inverse(found.factors.H),
            basis=found.basis,
        )
        frame._warn_if_nothing_shared(a, b)
        trial = found.working.trial(tried_rows(2))
        if trial is not None and frame.basis is not found.working.basis:
            # Without shrinkage the frame has a span of its own.
            inner = arrays.to_numpy(frame.basis)
            if found.working.basis is not None:
                inner = arrays.to_numpy(found.working.basis).T @ inner
            trial = trial._replace(rows=trial.rows @ inner)
        squared = trial_costs(frame, trial)
        frame = replace(frame, typicality=typicality_of(trial, squared))
        if not resolved_calibration(settings["calibrate"], found.geometry):
            return frame
        calibration = calibrated(frame, trial, squared)
        return replace(frame, geometry=frame.geometry.with_calibration(calibration))

    # ---- looking ------------------------------------------------------------------------------

    @property
    def span(self) -> str:
        """``"affine"`` or ``"linear"``."""
        return self.geometry.span

    @property
    def units(self) -> str:
        """``"own"`` or ``"common"``: whose variance shrinkage pulls towards."""
        return self.geometry.units

    @property
    def shrinkage(self) -> float:
        """The α in use, also when it was chosen by ``"auto"``."""
        return self.geometry.shrinkage

    @property
    def pooling(self) -> float:
        """The γ in use."""
        return self.geometry.pooling

    @property
    def dof(self) -> float:
        """The ν in use; 0 in the linear span."""
        return self.geometry.dof

    @property
    def gain(self) -> float:
        """β: log tan²θ = β (ℓ - ℓ₀), with ℓ the log ratio of the squared costs; 1 if raw."""
        return self.geometry.calibration.gain

    @property
    def zero(self) -> float:
        """ℓ₀, the log ratio of squared costs at which θ is 45°."""
        return self.geometry.calibration.zero

    @property
    def center(self) -> Array:
        """The origin of coordinates: the midpoint of the means in the affine span."""
        return self.geometry.center

    @property
    def center_a(self) -> Array:
        """What A's moments are taken about."""
        return self._about(0)

    @property
    def center_b(self) -> Array:
        return self._about(1)

    def _about(self, k: int) -> Array:
        own = self.geometry.center_mode in ("own", "each")
        return self.geometry.means[k, :] if own else self.geometry.center

    @property
    def center_mode(self) -> str:
        """``"own"`` in the affine span; ``"pooled"``, ``"each"``, ``"none"`` or ``"given"``."""
        return self.geometry.center_mode

    @property
    def balance(self) -> bool:
        return self.geometry.balance

    @property
    def tol(self) -> float | None:
        return self.geometry.tol

    @property
    def n_a(self) -> float:
        """The size of A (the sum of its weights)."""
        return float(self.geometry.sizes[0])

    @property
    def n_b(self) -> float:
        return float(self.geometry.sizes[1])

    @property
    def lam(self) -> float:
        """Mean variance that shrinkage pulls towards, over the features that vary."""
        unit = arrays.to_numpy(self.geometry.unit)
        return float(np.mean(unit[unit > 0] ** 2)) if unit.any() else 0.0

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        return self.geometry.feature_names

    @property
    def n_features(self) -> int:
        return self.geometry.n_features

    @property
    def rank(self) -> int:
        """The number of directions."""
        return int(self.c.shape[0])

    @property
    def H(self) -> Array:
        """The frame, (m, d): its rows are the directions in feature space."""
        return in_feature_units(self.core, self.basis, self.geometry)

    @property
    def angles(self) -> Array:
        """Each direction's angle in radians."""
        return arrays.namespace(self.c).atan2(self.s, self.c)

    @cached_property
    def shifts(self) -> Array:
        """(m,): how far B's mean lies from A's along each direction, in pooled spreads."""
        means = self.geometry.means
        step = working_rows(means[1:, :], means[0, :], self.geometry, self.basis)[0]
        return arrays.matmul(step, arrays.like(self.inverse, step))[0, :]

    @property
    def differences(self) -> Array:
        """(m,): each direction's part of the Bhattacharyya distance of the two sets."""
        return differences(self)

    @property
    def parts(self) -> Parts:
        """The difference of the two sets, split into location, scale and shape."""
        return parts_of(self)

    @property
    def off_space_variance(self) -> float:
        """α, the variance of both sets in directions off the span; 0 if there are none.

        Only frames that work inside a span have such directions.
        """
        return self.shrinkage if self.basis is not None else 0.0

    @property
    def directions(self) -> Directions:
        """Every direction, A's first: unit vectors, angles, shifts, blocks, c, s, lengths."""
        return directions_of(self)

    def cost_weights(self, weighting: str = "cost") -> tuple[np.ndarray, np.ndarray]:
        """What squares of coordinates count in A's cost and in B's, (m,) each; γ included."""
        c2, s2 = (np.square(arrays.to_numpy(x)) for x in (self.c, self.s))
        if weighting == "frame":
            return s2, c2
        gamma = self.pooling
        if gamma > 0:
            c2, s2 = ((1 - gamma) * x + gamma / 2 for x in (c2, s2))
            return 1 / c2, 1 / s2
        return inverse_square(arrays.to_numpy(self.c)), inverse_square(arrays.to_numpy(self.s))

    def truncate(
        self,
        *,
        band: float | None = None,
        n: int | None = None,
        shared_above: float | None = None,
    ) -> JointFrame:
        """This frame with some of its directions only: it scores faster, or sees less.

        Give exactly one of the three.

        Parameters
        ----------
        band : float
            Radians. Keep what discriminates: drop the directions within this of 45°.
        n : int
            Keep what discriminates: the n directions with the largest part in the difference of
            the sets (in the linear span: those furthest from 45°).
        shared_above : float
            Keep what is shared: the directions with min(c, s) above this, which is 0.707 at 45°.

        Returns
        -------
        JointFrame
            Coordinates in the kept directions are what they were, and the others count nothing:
            costs, θ, shares and `relational` are those of the part of a sample that lies in the
            kept directions. `outside` still means outside both sets, not outside what was kept.
            Directions off the span of few rows, which lie at 45°, go with the band.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from cospan import JointFrame
        >>> X, y = load_digits(return_X_y=True)
        >>> frame = JointFrame.fit(X[y == 4], X[y == 9])
        >>> frame.truncate(n=17)
        JointFrame(181 rows against 180, 64 features, rank 17 of 64, shrinkage 0.0421)
        """
        return truncated(self, band=band, n=n, shared_above=shared_above)

    def prepared(self, X: Any, side: str, *, sample_weight: Any = None) -> Array:
        """Rows of one side as they enter the decomposition: centred, weighted and shrunk.

        Under shrinkage the ridge stands below the rows, √α times the units of the features (of a
        basis of their span, where the frame works in one). ``prepared(A, "A")`` is U diag(c) H.
        """
        side = as_option(side, "side", ("A", "B"))
        check_names(X, self.feature_names, side)
        rows = as_rows(X, side, d=self.n_features)
        xp = arrays.namespace(rows)
        rows = xp.astype(rows, xp.float64, copy=False)
        k = 0 if side == "A" else 1
        alpha = self.shrinkage
        root = math.sqrt((1 - alpha) * self.geometry.weights[k])
        rows = root * (rows - arrays.like(self._about(k), rows))
        if sample_weight is not None:
            roots = np.sqrt(as_weights(sample_weight, rows.shape[0]))
            rows = arrays.like(roots, rows)[:, None] * rows
        if alpha == 0:
            return rows
        eye = arrays.identity(self.core.shape[1], rows)
        ridge = in_feature_units(eye, self.basis, self.geometry)
        return xp.concat((rows, math.sqrt(alpha) * arrays.like(ridge, rows)), axis=0)

    def __repr__(self) -> str:
        whole = f" of {self.rank + self.dropped}" if self.dropped else ""
        return (
            f"JointFrame({self.n_a:,.6g} rows against {self.n_b:,.6g}, {self.n_features} features, "
            f"rank {self.rank}{whole}, shrinkage {self.shrinkage:g})"
        )

    # ---- scoring ------------------------------------------------------------------------------

    def coordinates(self, Z: Any) -> Array:
        """Coordinates (n, m) of samples in the frame: y with Hᵀy = z - center in least squares."""
        check_names(Z, self.feature_names, "Z")
        rows = as_rows(Z, "Z", d=self.n_features, allow_empty=True)
        return Scorer(self, rows).coordinates(rows)[0]

    def align(self, Z: Any, *, weighting: str = "cost") -> Any:
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
            return distributed.align(self, Z, weighting=weighting)
        if _is_chunks(Z):
            return self._align_chunks(Z, weighting)
        check_names(Z, self.feature_names, "Z")
        rows = as_rows(Z, "Z", d=self.n_features, allow_empty=True)
        return Scorer(self, rows, weighting).aligned(rows)

    def squared_costs(self, Z: Any) -> Array:
        """(n, 2): the squared costs of samples."""
        rows = as_rows(Z, "Z", d=self.n_features, allow_empty=True)
        found = Scorer(self, rows).scores(rows)
        return arrays.namespace(rows).stack((found.squared_a, found.squared_b), axis=1)

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
            return distributed.left_out(
                self, X, side, weighting=weighting, sample_weight=sample_weight
            )
        check_names(X, self.feature_names, side)
        rows = as_rows(X, side, d=self.n_features, allow_empty=True)
        removed = np.ones(rows.shape[0])
        if sample_weight is not None:
            removed = np.minimum(as_weights(sample_weight, rows.shape[0]), 1.0)
        return self._left_out(rows, 0 if side == "A" else 1, removed, weighting)

    def left_out_costs(self, X: Any, own: Any, *, sample_weight: Any = None) -> Array:
        """(n, 2): squared costs of rows of both sides (`own`: 0 for A, 1 for B), each left out."""
        rows = as_rows(X, "X", d=self.n_features, allow_empty=True)
        own = np.asarray(own, dtype=np.intp)
        removed = np.ones(len(own))
        if sample_weight is not None:
            removed = np.minimum(as_weights(sample_weight, len(own)), 1.0)
        squared = np.empty((len(own), 2))
        for k in np.unique(own).tolist():
            index = np.flatnonzero(own == k)
            found = self._left_out(arrays.rows_at(rows, index), k, removed[index], "cost")
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
            shrunk.append(arrays.to_numpy(arrays.gram(weight[:, None] * self.core)))
            divided = np.sqrt(inverse_square(arrays.to_numpy(weight)))
            maps.append(self.inverse * arrays.like(divided, self.inverse)[None, :])
        return leaving_rows(self.geometry, shrunk, maps, self.basis)

    def log_determinants(self) -> np.ndarray:
        """log|Σ̃| of both sets, up to a common constant."""
        found = [np.sum(np.log(x[x > 0])) for x in map(arrays.to_numpy, (self.c, self.s))]
        return 2 * np.array(found, dtype=np.float64)

    # ---- inside -------------------------------------------------------------------------------

    def as_weighting(self, weighting: str) -> str:
        """A weighting this frame knows, checked."""
        weighting = as_option(weighting, "weighting", _WEIGHTINGS)
        if weighting == "frame" and self.geometry.affine:
            raise InputError(
                'weighting="frame" belongs to the linear span; fit the frame with span="linear".'
            )
        return weighting

    def _left_out(self, rows: Array, side: int, removed: np.ndarray, weighting: str) -> Alignment:
        g = self.geometry
        leaving = self.leaving()
        p, off = working_rows(rows, g.means[side, :], g, self.basis)
        scores = None
        if self.basis is not None or self.blocks.r or self.blocks.t or weighting == "frame":
            own_centre = g.center_mode == "each"
            moved = rows - arrays.like(g.means[side, :], rows) if own_centre else rows
            scores = Scorer(self, rows, weighting, fine=True).scores(moved)
        if weighting == "frame" and scores is not None:
            weight = arrays.like((1 - g.shrinkage) * g.weights[side] * removed, scores.squared_y)
            squared = [scores.squared_a, scores.squared_b]
            # With T = S_A + S_B and x leaving S_A: T⁻¹x is scaled, and S_A loses weight·xxᵀ; the
            # common scale cancels in the angle, so ‖c∘y‖² - weight·‖y‖⁴ is left of A's own part.
            own = squared[1 - side] - weight * scores.squared_y**2
            squared[1 - side] = arrays.namespace(rows).clip(own, 0.0, math.inf)
        else:
            found = leaving.squared_costs(p, off, side, removed)
            squared = [found[:, 0], found[:, 1]]
        return Alignment.from_costs(
            squared[0],
            squared[1],
            shares=None if scores is None else scores.shares,
            outside=None if scores is None else scores.outside,
            weighting=weighting,
            calibration=g.calibration,
            typicality=self.typicality,
        )

    def _warn_if_nothing_shared(self, a: Summary, b: Summary) -> None:
        """About few rows without shrinkage: no sample has a meaningful angle then."""
        # A centre between the means makes their difference a direction of both sets.
        made = 1 if self.center_mode == "pooled" and a.count + b.count < a.n_features else 0
        if self.shrinkage == 0 and self.blocks.k <= made:
            warn(
                f"A ({a.count} rows) and B ({b.count} rows) share no direction of the "
                f"{a.n_features}-dimensional feature space, so without shrinkage no sample has a "
                "meaningful angle; use more rows, or shrinkage='auto'."
            )

    def _align_chunks(self, chunks: Iterable[Any], weighting: str) -> Iterator[Alignment]:
        seen = 0
        for chunk in chunks:
            check_names(chunk, self.feature_names, "Z")
            rows = as_rows(chunk, "Z", d=self.n_features, allow_empty=True, first_row=seen)
            seen += rows.shape[0]
            yield Scorer(self, rows, weighting).aligned(rows)

    def _with_uv(self, A: Any, B: Any, weight_a: Any, weight_b: Any) -> JointFrame:
        """This frame decomposed once more, from the prepared rows themselves, keeping U and V."""
        left = self.prepared(A, "A", sample_weight=weight_a)
        right = self.prepared(B, "B", sample_weight=weight_b)
        tol, basis = self.tol, self.basis
        per_unit = arrays.like(self.geometry.per_unit(), left)[None, :]
        left, right = left * per_unit, right * per_unit
        if self.shrinkage > 0 and basis is not None:
            left, right = arrays.matmul(left, basis), arrays.matmul(right, basis)
        elif self.shrinkage == 0:
            eps = max(arrays.eps(as_rows(X, name)) for X, name in ((A, "A"), (B, "B")))
            tol = rank_tolerance(self.n_features, self.n_features, eps) if tol is None else tol
            basis = None
        factors = decompose(left, right, tol=tol, compute_uv=True)
        U, V = factors.U, factors.V
        factors, basis = compressed(factors, basis)
        return replace(
            self,
            c=factors.c,
            s=factors.s,
            blocks=factors.blocks,
            core=factors.H,
            inverse=pseudo_inverse(factors.H),
            basis=basis,
            U=U,
            V=V,
        )


def in_feature_units(core: Array, basis: Array | None, geometry: Geometry) -> Array:
    """Rows in working coordinates as rows of features.

    A constant feature has no unit; a direction along it keeps the length it has.
    """
    inside = core if basis is None else arrays.matmul(core, basis.T)
    unit = arrays.to_numpy(geometry.unit)
    return inside * arrays.like(np.where(unit > 0, unit, 1.0), inside)[None, :]


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(given) - set(DEFAULTS) - {"preset", "picture"})
    if unknown:
        raise TypeError(
            f"There is no setting {unknown[0]!r}; those there are: preset, {', '.join(DEFAULTS)}."
        )
    return settled(given, DEFAULTS)


def _rows_to_try(A: Any, B: Any) -> int:
    """How large a sample the choices need: none where the few rows are all held anyway."""
    held = all(arrays.is_array(X) and not arrays.is_lazy(X) and X.ndim == 2 for X in (A, B))
    return 0 if held and A.shape[0] + B.shape[0] + 2 < A.shape[1] else 2000


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
