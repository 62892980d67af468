"""JointFrame: two sets, prepared and decomposed together; the view of a model of two sets.

One GSVD of the centred, shrunk pair gives directions H with the weights c and s. Where the rows do
not fill the feature space (rank below d), the frame works inside their span: `basis` holds an
orthonormal basis of it, in units, and `core` the frame in its coordinates. Under shrinkage all
directions off the span are alike for both sets, with variance α; they enter both costs through the
norm of what lies off the span, and are never written out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Unpack

import numpy as np

from cospan.base import arrays
from cospan.base.checks import as_option, as_rows, as_weights, check_names
from cospan.base.factorizations import qr, solve_triangular_transposed
from cospan.base.tolerance import rank_tolerance
from cospan.base.types import Array, Data, Floats
from cospan.decomposition import Blocks, Tolerances, decompose
from cospan.errors import InputError, Note, warn
from cospan.model.alignment import Alignment, LeaveOneOut
from cospan.model.choice import MOST_OF_A_SET, Chosen
from cospan.model.curved import Again, RowsAgain, with_curve
from cospan.model.directions import Directions, Parts, differences_of, parts_of, truncated
from cospan.model.leave_one_out import removed_weights
from cospan.model.prepared import in_feature_units, inverses, working_rows
from cospan.model.scoring import Scorer
from cospan.model.set_model import Derived, SetModel, calibrated, chosen_sets, notes_on_weights
from cospan.model.settings import Given, Settings
from cospan.summary import Summary


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class JointFrame(SetModel):
    """The joint frame of two sets, ready to score samples.

    Made by :meth:`fit` (from rows) or :meth:`from_summaries`.

    Attributes
    ----------
    c, s : array, (m,)
        Cosines and sines of the directions; c falls.
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
    geometry, typicality, curve
        What every model of sets has: positions and settings, what the sets' own rows cost, and
        costs of curved features, where those answer.

    Examples
    --------
    >>> from cospan import JointFrame
    >>> A = np.random.default_rng(0).normal(size=(300, 2))
    >>> JointFrame.fit(A, A + [3, 0]).align([[0.0, 0.0], [3.0, 0.0]]).predict().tolist()
    [0, 1]
    """

    c: Array
    s: Array
    blocks: Blocks
    core: Array
    inverse: Array
    U: Array | None = None
    V: Array | None = None
    dropped: int = 0

    # ---- fitting ------------------------------------------------------------------------------

    @classmethod
    def fit(
        cls,
        A: Data,
        B: Data,
        *,
        span: str = "affine",
        units: str = "auto",
        shrinkage: float | str = "auto",
        pooling: float | str = "auto",
        dof: float | str = "auto",
        calibrate: bool | None = None,
        preset: str | None = None,
        center: str = "pooled",
        balance: bool = True,
        tol: float | None = None,
        curve: str | None = None,
        picture: bool = False,
        sample_weight_a: object = None,
        sample_weight_b: object = None,
        keep_uv: bool = False,
    ) -> JointFrame:
        """Fit the frame to rows in memory.

        Parameters
        ----------
        A, B : array-like or dataframe, (p, d) and (q, d)
        span : {"affine", "linear"}
            ``"affine"``: each set explains a sample as a weighted mean of its rows, about its own
            mean. ``"linear"``: as a combination of its rows about one centre (the paper's way).
        units : {"auto", "own", "common"}
            What shrinkage pulls towards: each feature's own variance (tables: no result depends
            on the units of a column), or one variance for all (pictures, embeddings).
        shrinkage : float in [0, 1) or "auto"
            α: covariances become ``(1-α) Σ + α T``.
        pooling : float in [0, 1] or "auto"
            γ pulls the sets' covariances towards their mean; 1 leaves only a difference of means.
        dof : float or "auto"
            ν, the degrees of freedom; with many, distance counts as for normal distributions.
        calibrate : bool, optional
            Set the zero and the unit of θ so that cos²θ is the probability of A. By default in
            the affine span; False gives the raw angle of the two costs.
        preset : {"paper"}, optional
            The paper's method: the linear span, each set centred at its own mean, no balance, no
            shrinkage, raw angles.
        center : {"pooled", "each", "none"}
            For the linear span: what is taken off A, B and new samples. ``"pooled"``: the midpoint
            of the two means when balanced, else the mean of all rows. ``"each"``: each set loses
            its own mean, new samples nothing.
        balance : bool
            For the linear span: give both sets equal weight, whatever their sizes.
        tol : float, optional
            As in :func:`cospan.gsvd`.
        curve : {"auto"}, optional
            ``"auto"``: score rows together with curved features of them, which see a ring inside a
            blob (how near they are to landmarks), where leave-one-out says that it is clearly
            better, and α, γ and ν are left to the data too. Directions, parts and prototypes are
            the plain frame's.
        picture : bool
            The features are pixels: they share one unit, also where they have names.
        sample_weight_a, sample_weight_b : array-like, optional
            A weight of 2 counts like a row that occurs twice.
        keep_uv : bool
            Keep U and V of the rows as :meth:`prepared` gives them, for the coefficients behind
            directions.

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
        JointFrame(120 rows against 120, 64 features, rank 58, shrinkage 0.2)
        >>> test = frame.align(fours[120:])
        >>> float((test.predict() == 0).mean().round(3))
        0.951
        """
        settings = Settings.of(
            span=span,
            units=units,
            shrinkage=shrinkage,
            pooling=pooling,
            dof=dof,
            calibrate=calibrate,
            preset=preset,
            center=center,
            balance=balance,
            tol=tol,
            curve=curve,
        )
        plain = all(arrays.is_array(X) and not arrays.is_lazy(X) and X.ndim == 2 for X in (A, B))
        bare = sample_weight_a is None and sample_weight_b is None and curve is None and plain
        few = bare and A.shape[0] + B.shape[0] + 2 < A.shape[1]
        size = 0 if few else MOST_OF_A_SET  # few rows are all in their summary anyway
        a = Summary.of(A, sample_weight_a, name="A", sample_size=size)
        b = Summary.of(B, sample_weight_b, name="B", sample_size=size)
        lazy = any(map(arrays.is_lazy, (A, B)))  # read once: a curve is of their samples
        sets = (A, sample_weight_a), (B, sample_weight_b)
        again = None if curve is None or lazy else RowsAgain(sets)
        frame = cls.of_sets(a, b, settings, picture, again)
        warn(frame.notes)
        return frame._with_uv((A, sample_weight_a), (B, sample_weight_b)) if keep_uv else frame

    @classmethod
    def from_summaries(
        cls,
        a: Summary,
        b: Summary,
        *,
        picture: bool = False,
        again: Again | None = None,
        **settings: Unpack[Given],
    ) -> JointFrame:
        """Fit the frame to two summaries; settings as in :meth:`fit`.

        A fast summary (``exact=False``) needs a shrinkage of at least 1e-3. Summaries without a
        sample of rows take the defaults where a choice would need rows, and their angles are
        calibrated by theory. A `curve` is of the sampled rows, or of all where `again` reads them
        once more: it takes a map of rows and returns two summaries of the rows that went through
        it, made with ``exact=False``.
        """
        if not (isinstance(a, Summary) and isinstance(b, Summary)):
            raise InputError("from_summaries takes two summaries; use fit(A, B) for rows.")
        frame = cls.of_sets(a, b, Settings.of(**(Given(curve=None) | settings)), picture, again)
        warn(frame.notes)
        return frame

    @classmethod
    def of_sets(
        cls, a: Summary, b: Summary, settings: Settings, picture: bool, again: Again | None
    ) -> JointFrame:
        """The frame of two summaries, without a warning of its notes."""
        chosen = chosen_sets((a, b), settings, ("A", "B"), picture)
        with arrays.threads_for(a.n_features):
            frame, inner = cls._decomposed(chosen)
        frame, tried = calibrated(frame, chosen, settings, inner)
        return frame if settings.curve is None else with_curve(frame, tried, settings, again)

    @classmethod
    def _decomposed(cls, chosen: Chosen) -> tuple[JointFrame, Array | None]:
        """The frame without a calibration, and the basis of its own span where it has one."""
        working, g = chosen.working, chosen.geometry
        left, right = (working.shrunk(k, g.shrinkage) for k in (0, 1))
        constant = g.constant_features
        without = g.shrinkage > 0 and working.basis is None and len(constant) > 0
        if without:
            # Shrinkage gives a constant feature the same variance in both sets, and it takes no
            # part: a direction of its own would say nothing.
            alive = arrays.like(np.isin(np.arange(g.n_features), constant, invert=True), left)
            left, right = left * alive[None, :], right * alive[None, :]
        # Of shrunk moments all digits are right, however coarse the rows were.
        fine, d = g.shrinkage > 0 and g.tol is None, left.shape[1]
        tol = rank_tolerance(d, d, arrays.eps(left)) if fine else working.tolerance()
        found = decompose(left, right, Tolerances(tol, tol, tol), want_uv=False)
        H, basis, inner = found.H, working.basis, None
        if H.shape[0] < H.shape[1] and not without:
            orthogonal = qr(H.T)
            inner = orthogonal.apply(arrays.identity(H.shape[0], H))
            basis = inner if basis is None else arrays.matmul(basis, inner)
            H = orthogonal.R.T
        # The pseudo-inverse: H = Rᵀ Qᵀ, hence H⁺ = Q R⁻ᵀ
        orthogonal = qr(H.T)
        eye = arrays.identity(H.shape[0], H)
        inverse = orthogonal.apply(solve_triangular_transposed(orthogonal.R, eye))
        notes = notes_on_weights(working.prepared.summaries) + _nothing_shared(chosen, found.blocks)
        c, s, blocks = found.c, found.s, found.blocks
        known = cls(geometry=g, c=c, s=s, blocks=blocks, core=H, inverse=inverse)
        return replace(known, basis=basis, notes=notes), inner

    def prepared(self, X: object, side: str, *, sample_weight: object = None) -> Array:
        """Rows of one side as they enter the decomposition: centred, weighted and shrunk.

        Under shrinkage the ridge is below the rows, √α times the units of the features (of a
        basis of their span, where the frame works in one). ``prepared(A, "A")`` is U diag(c) H.
        """
        k, g, alpha = "AB".index(as_option(side, "side", ("A", "B"))), self.geometry, self.shrinkage
        check_names(X, self.feature_names, side)
        rows = as_rows(X, side, d=self.n_features)
        xp = arrays.namespace(rows)
        rows = xp.astype(rows, xp.float64, copy=False)
        rows = math.sqrt((1 - alpha) * g.weights[k]) * (rows - arrays.like(g.about(k), rows))
        if sample_weight is not None:
            roots = np.sqrt(as_weights(sample_weight, rows.shape[0]))
            rows = arrays.like(roots, rows)[:, None] * rows
        if alpha == 0:
            return rows
        ridge = arrays.identity(self.core.shape[1], rows)
        if self.basis is None:
            ridge = ridge * arrays.like(arrays.to_numpy(g.unit) > 0, rows)[None, :]
        ridge = in_feature_units(ridge, self.basis, g)
        return xp.concat((rows, math.sqrt(alpha) * arrays.like(ridge, rows)), axis=0)

    def _with_uv(self, a: tuple[object, object], b: tuple[object, object]) -> JointFrame:
        """The frame with U and V, from rows and their weights: A = U diag(c) H makes AH⁺ = Uc."""
        r, k, _ = self.blocks
        place, sides = (0 * self.center, self.geometry, self.basis), ((*a, "A"), (*b, "B"))
        rows = [self.prepared(X, side, sample_weight=weight) for X, weight, side in sides]
        U, V = (working_rows(one, *place)[0] @ self.inverse for one in rows)
        return replace(self, U=U[:, : r + k] / self.c[: r + k], V=V[:, r:] / self.s[r:])

    # ---- properties ---------------------------------------------------------------------------

    n_a = Derived(lambda f: float(f.geometry.sizes[0]), "The size of A (the sum of its weights).")
    n_b = Derived(lambda f: float(f.geometry.sizes[1]), "The size of B.")
    rank = Derived(lambda f: int(f.c.shape[0]), "The number of directions.")
    differences = Derived[Array](
        differences_of, "(m,): each direction's part of the Bhattacharyya distance of the two sets."
    )
    parts = Derived[Parts](
        parts_of, "The difference of the two sets, split into location, scale and shape."
    )
    directions = Derived[Directions](
        Directions.of,
        "Every direction, A's first: unit vectors, angles, shifts, blocks, c, s, lengths.",
    )

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

    def __repr__(self) -> str:
        curved = "" if self.curve is None else ", curved"
        whole = f" of {self.rank + self.dropped}" if self.dropped else ""
        return (
            f"JointFrame({self.n_a:,.6g} rows against {self.n_b:,.6g}, {self.n_features} features, "
            f"rank {self.rank}{whole}, shrinkage {self.shrinkage:g}{curved})"
        )

    # ---- costs --------------------------------------------------------------------------------

    def form(self, weighting: str = "cost") -> tuple[Array, Floats]:
        """The inverse of the frame, and what squares of coordinates count; γ included."""
        squares = np.stack([arrays.to_numpy(self.c), arrays.to_numpy(self.s)]) ** 2
        if weighting == "frame":
            return self.inverse, squares[::-1]
        if gamma := self.pooling:
            squares = (1 - gamma) * squares + gamma / 2
        return self.inverse, inverses(squares)

    @property
    def scoring_maps(self) -> Sequence[Array]:
        if self.dropped:
            raise InputError(
                "A truncated frame has no leave-one-out angles: its training rows helped to "
                "choose which directions stay; use the whole frame, or align() on other rows."
            )
        roots = [arrays.like(np.sqrt(one), self.inverse) for one in self.form()[1]]
        return [self.inverse * one[None, :] for one in roots]

    def _factors(self) -> Sequence[Floats]:
        return [arrays.to_numpy(one[:, None] * self.core) for one in (self.c, self.s)]

    def log_determinants(self) -> Floats:
        """log|Σ̃| of both sets, pooled, up to a common constant."""
        return -np.array([np.sum(np.log(x[x > 0])) for x in self.form()[1]], dtype=np.float64)

    # ---- angles of samples --------------------------------------------------------------------

    def coordinates(self, Z: object) -> Array:
        """Coordinates (n, m) of samples in the frame: y with Hᵀy = z - center in least squares."""
        rows = self._rows(Z, "Z")
        return Scorer(self, rows).coordinates(rows)[0]

    def _rows(self, X: object, name: str) -> Array:
        check_names(X, self.feature_names, name)
        return as_rows(X, name, d=self.n_features, allow_empty=True)

    def align(self, Z: Data, *, weighting: str = "cost") -> Alignment:
        """The alignment angle of every sample.

        Parameters
        ----------
        Z : array-like (n, d), or a Dask collection: then the arrays of the result are lazy
        weighting : {"cost", "frame"}
            ``"cost"``: by what it costs each set to explain the sample. ``"frame"`` (linear span
            only): arctan2(‖s∘y‖, ‖c∘y‖), with which the paper's table was computed.
        """
        if as_option(weighting, "weighting", ("cost", "frame")) == "frame" and self.geometry.affine:
            raise InputError(
                'weighting="frame" belongs to the linear span; fit the frame with span="linear".'
            )
        if arrays.is_lazy(Z):
            from cospan.distributed import aligned  # is above: its workers use frames

            return aligned(self, Z, weighting)
        rows = self._rows(Z, "Z")
        if self.curve is not None:
            squared = self.curve.squared_costs(rows)
            return self._alignment(squared[:, 0], squared[:, 1])
        (a, b), *beside = Scorer(self, rows, weighting, blocks=self.blocks).scores(rows)
        return self._alignment(a, b, weighting, *beside)

    def _alignment(
        self, a: Array, b: Array, weighting: str = "cost", *beside: Array | None
    ) -> Alignment:
        """From squared costs by A and by B, and what there is of shares and the outside."""
        g, known = self.answering.geometry, self.answering.typicality
        return Alignment.from_costs(a, b, weighting, g.calibration, known, *beside)

    # ---- angles of training rows, each left out -----------------------------------------------

    def leave_one_out(
        self,
        A: object,
        B: object,
        *,
        sample_weight_a: object = None,
        sample_weight_b: object = None,
    ) -> LeaveOneOut:
        """The training rows' own angles, by costs as if the row had never been there.

        The costs are exact, without refitting: mean, covariance and divisor change; α, the units,
        the calibration and a centre of both sets stay those of all rows. Scoring training rows with
        :meth:`align` flatters: every row helped to build its own side. With ``center="each"`` a row
        is scored less the mean of its own set. Without shrinkage, a row that the others of its set
        do not span costs ∞.

        A and B are the rows the frame was fitted to, or some of them, and their weights those used
        in fitting; a row of weight 2 loses one of its two occurrences.
        """
        a = self.left_out(A, "A", sample_weight=sample_weight_a)
        return LeaveOneOut(a, self.left_out(B, "B", sample_weight=sample_weight_b))

    def left_out(self, X: object, side: str, *, sample_weight: object = None) -> Alignment:
        """:meth:`leave_one_out` for rows of one side only ("A" or "B"), a chunk of them say."""
        k = "AB".index(as_option(side, "side", ("A", "B")))
        if arrays.is_lazy(X):
            raise InputError(f"{side} is a Dask collection; compute() the rows to leave out first.")
        rows = self._rows(X, side)
        removed = removed_weights(sample_weight, rows.shape[0])
        if self.curve is not None:
            squared = self.curve.left_out_costs(rows, np.full(len(removed), k), removed)
            return self._alignment(squared[:, 0], squared[:, 1])
        squared, beside = self._left_out_of(k, rows, removed), []
        if self.basis is not None or self.blocks.r or self.blocks.t:
            if self.geometry.center_mode == "each":
                rows = rows - arrays.like(self.geometry.means[k : k + 1, :], rows)
            scores = Scorer(self, rows, blocks=self.blocks, fine=True).scores(rows)
            beside = [scores.shares, scores.outside]
        return self._alignment(squared[:, 0], squared[:, 1], "cost", *beside)

    # ---- some of the directions only ----------------------------------------------------------

    def truncate(self, *, n: int) -> JointFrame:
        """This frame with some of its directions only: it scores faster, or sees less.

        Costs, θ, shares and `relational` are then those of the part of a sample that lies in the
        kept directions; `outside` still means outside both sets. Directions off the span of few
        rows lie at 45° and go, too.

        Parameters
        ----------
        n : int
            Keep what discriminates: the n directions with the largest part in the difference of
            the sets (in the linear span: those furthest from 45°).

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from cospan import JointFrame
        >>> X, y = load_digits(return_X_y=True)
        >>> frame = JointFrame.fit(X[y == 4], X[y == 9])
        >>> frame.truncate(n=17)
        JointFrame(181 rows against 180, 64 features, rank 17 of 58, shrinkage 0.05)
        """
        return truncated(self.plain, n)


def _nothing_shared(chosen: Chosen, blocks: Blocks) -> tuple[Note, ...]:
    """What a reader should know of two sets that share no direction."""
    working, g = chosen.working, chosen.geometry
    p, q = (part.count for part in working.prepared.summaries)
    # A centre between the means makes their difference a direction of both sets.
    between = 1 if g.center_mode == "pooled" and p + q < g.n_features else 0
    if g.shrinkage > 0 or blocks.k > between:
        return ()
    text = (
        f"A ({p} rows) and B ({q} rows) share no direction of the {g.n_features}-dimensional "
        "feature space, so without shrinkage no sample has a meaningful angle."
    )
    remedy = 'Use more rows, or shrinkage="auto".'
    return (Note("nothing shared", text, remedy, loud=True),)
