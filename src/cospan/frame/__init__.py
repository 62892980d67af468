"""JointFrame: two summaries, prepared and decomposed; it scores samples.

Preparation: each set is centred, weighed and shrunk (see `JointFrame.fit`). The prepared pair has
one GSVD, and with y the coordinates of a sample in its frame H, every cost is a weighted norm of
y. So scoring is one matrix product and one pass over its result.

Where the rows do not fill the feature space (rank below d), the frame works inside their span:
`basis` holds an orthonormal basis of it and `core` the frame in its coordinates, H = core @
basisᵀ. Under shrinkage all directions off the span are alike for both sets, with variance αλ;
they enter both costs through the norm of what lies off the span, and are never written out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from cospan import _arrays as arrays
from cospan import distributed
from cospan._arrays import Array
from cospan._tolerance import FAST_SHRINKAGE, rank_tolerance
from cospan._validate import (
    as_flag,
    as_option,
    as_rows,
    as_shrinkage,
    as_tol,
    as_weights,
    check_names,
    check_same_library,
    feature_names_of,
)
from cospan._warnings import warn
from cospan.alignment import Alignment
from cospan.decomposition import Blocks, decompose
from cospan.directions import Directions, directions_of
from cospan.errors import InputError
from cospan.frame.preparation import (
    automatic_shrinkage,
    compressed,
    decomposed,
    paired,
    prepare,
    pseudo_inverse,
)
from cospan.frame.scorer import Removed, Scorer
from cospan.frame.truncation import truncated
from cospan.summary import Summary

__all__ = ["JointFrame", "LeaveOneOut"]

_WEIGHTINGS = ("cost", "frame")


class LeaveOneOut(NamedTuple):
    """The training rows' own angles, each computed as if the row had not been there."""

    a: Alignment
    b: Alignment


@dataclass(frozen=True, eq=False)
class JointFrame:
    """The joint frame of two sets, ready to score samples.

    Make one with :meth:`fit` (from rows) or :meth:`from_summaries`.

    Attributes
    ----------
    c, s : array, (m,)
        Cosines, falling, and sines, rising, of the directions.
    blocks : Blocks
        How many directions only A has, both share, only B has.
    center : array, (d,)
        Taken off every new sample. `center_a`, `center_b`: off the rows of A and of B.
    center_mode : str
        ``"pooled"``, ``"each"``, ``"none"`` or ``"given"``.
    balance : bool
    shrinkage : float
        The α in use, also when it was chosen by ``"auto"``.
    lam : float
        λ, the mean variance that shrinkage pulls towards.
    tol : float or None
    n_a, n_b : float
        Sizes of the sets (sums of weights).
    feature_names : tuple of str or None
    U, V : array or None
        Left factors of the prepared rows; only with ``fit(..., keep_uv=True)``.
    dropped : int
        How many directions :meth:`truncate` has left out; 0 for a whole frame.
    """

    c: Array
    s: Array
    blocks: Blocks
    center: Array
    center_a: Array
    center_b: Array
    center_mode: str
    balance: bool
    shrinkage: float
    lam: float
    tol: float | None
    n_a: float
    n_b: float
    feature_names: tuple[str, ...] | None
    core: Array = field(repr=False)  # (m, e): H in the coordinates of the basis
    inverse: Array = field(repr=False)  # (e, m): its pseudo-inverse
    basis: Array | None = field(repr=False, default=None)  # (d, e), or None for all of the space
    U: Array | None = field(repr=False, default=None)
    V: Array | None = field(repr=False, default=None)
    dropped: int = 0

    # ---- making -------------------------------------------------------------------------------

    @classmethod
    def fit(
        cls,
        A: Any,
        B: Any,
        *,
        center: Any = "pooled",
        balance: bool = True,
        shrinkage: float | str = "auto",
        tol: float | None = None,
        sample_weight_a: Any = None,
        sample_weight_b: Any = None,
        keep_uv: bool = False,
    ) -> JointFrame:
        """Fit the frame to rows in memory.

        Parameters
        ----------
        A, B : array-like or dataframe, (p, d) and (q, d)
        center : {"pooled", "each", "none"} or array (d,)
            ``"pooled"``: one vector is taken off A, B and every new sample: the midpoint of the
            two means when balanced, else the mean of all rows. ``"each"``: each set loses its own
            mean, new samples lose nothing (the paper's way). Or a vector to take off everything.
        balance : bool
            Divide rows by √p and √q, so that the sizes of the sets do not tilt θ.
        shrinkage : float in [0, 1) or "auto"
            α: the sets' matrices S become ``(1-α) S + α λ I``, with λ their mean variance.
            ``"auto"`` takes the α with the best leave-one-out AUC. 0 is the paper's way.
        tol : float, optional
            As in :func:`cospan.gsvd`.
        sample_weight_a, sample_weight_b : array-like, optional
            A weight of 2 counts like a row that occurs twice.
        keep_uv : bool
            Keep U and V, for the coefficients behind directions. They belong to the rows as
            :meth:`prepared` gives them: under shrinkage its ridge rows have their rows in U and
            V too, below those of the data.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from cospan import JointFrame
        >>> X, y = load_digits(return_X_y=True)
        >>> fours, nines = X[y == 4], X[y == 9]
        >>> frame = JointFrame.fit(fours[:120], nines[:120])
        >>> frame
        JointFrame(120 rows against 120, 64 features, rank 64, shrinkage 0.137)
        >>> test = frame.align(fours[120:])
        >>> float((test.predict() == 0).mean().round(3))
        0.951
        """
        weighted = sample_weight_a is not None or sample_weight_b is not None
        size = 2000 if weighted else _rows_to_try(A, B)
        a = Summary.of(A, sample_weight_a, name="A", sample_size=size)
        b = Summary.of(B, sample_weight_b, name="B", sample_size=size)
        frame = cls._of(a, b, center, balance, shrinkage, tol)
        frame._warn_if_nothing_shared(a, b)
        return frame._with_uv(A, B, sample_weight_a, sample_weight_b) if keep_uv else frame

    @classmethod
    def from_summaries(
        cls,
        a: Summary,
        b: Summary,
        *,
        center: Any = "pooled",
        balance: bool = True,
        shrinkage: float | str = "auto",
        tol: float | None = None,
    ) -> JointFrame:
        """Fit the frame to two summaries; parameters as in :meth:`fit`.

        A fast summary (``exact=False``) needs a shrinkage of at least 1e-3.
        """
        if not (isinstance(a, Summary) and isinstance(b, Summary)):
            raise InputError("from_summaries takes two summaries; use fit(A, B) for rows.")
        frame = cls._of(a, b, center, balance, shrinkage, tol)
        frame._warn_if_nothing_shared(a, b)
        return frame

    @classmethod
    def _of(
        cls,
        a: Summary,
        b: Summary,
        center: Any,
        balance: bool,
        shrinkage: float | str,
        tol: float | None,
    ) -> JointFrame:
        alpha, tol = as_shrinkage(shrinkage), as_tol(tol)
        balance = as_flag(balance, "balance")
        names = _common_names(a, b)
        check_same_library(a.mean, b.mean)
        prepared = prepare(a, b, center, balance)
        pair = paired(a, b, prepared)
        if alpha == "auto":
            alpha = automatic_shrinkage(a, b, prepared, pair)
        alpha = float(alpha)
        if alpha < FAST_SHRINKAGE and not (a.exact and b.exact):
            lacks = "too few digits" if a.rank is None and b.rank is None else "too few directions"
            raise InputError(
                f"A fast summary has {lacks} for shrinkage {alpha:g}; use at least "
                f"{FAST_SHRINKAGE:g}, or make the summaries with exact=True and without a rank."
            )
        if alpha > 0 and prepared.lam == 0:
            raise InputError(
                "Every row of A and B equals the centre, so there is nothing to compare; "
                "check that the features vary."
            )
        factors, basis = decomposed(pair, alpha, prepared.lam, tol, max(a.eps, b.eps))
        inverse = pseudo_inverse(factors.H)
        return cls(
            c=factors.c,
            s=factors.s,
            blocks=factors.blocks,
            center=prepared.center,
            center_a=prepared.center_a,
            center_b=prepared.center_b,
            center_mode=prepared.center_mode,
            balance=balance,
            shrinkage=alpha,
            lam=prepared.lam,
            tol=tol,
            n_a=a.n,
            n_b=b.n,
            feature_names=names,
            core=factors.H,
            inverse=inverse,
            basis=basis,
        )

    # ---- looking ------------------------------------------------------------------------------

    @property
    def H(self) -> Array:
        """The frame, (m, d): its rows are the directions in feature space."""
        return self.core if self.basis is None else arrays.matmul(self.core, self.basis.T)

    @property
    def angles(self) -> Array:
        """Each direction's angle in radians."""
        return arrays.namespace(self.c).atan2(self.s, self.c)

    @property
    def rank(self) -> int:
        """The number of directions."""
        return int(self.c.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.center.shape[0])

    @property
    def weight_a(self) -> float:
        """What the square of one of A's rows counts: 1/p when balanced, else 1."""
        return 1 / self.n_a if self.balance else 1.0

    @property
    def weight_b(self) -> float:
        return 1 / self.n_b if self.balance else 1.0

    @property
    def off_space_variance(self) -> float:
        """αλ, the variance of both sets in directions off the span; 0 if those are no directions.

        Only frames that work inside a span have such directions.
        """
        return self.shrinkage * self.lam if self.basis is not None else 0.0

    @property
    def directions(self) -> Directions:
        """Every direction, A's first: unit vectors, angles, blocks, c, s, lengths."""
        return directions_of(self)

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
            Keep what discriminates: the n directions furthest from 45°.
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
        >>> import math
        >>> from sklearn.datasets import load_digits
        >>> from cospan import JointFrame
        >>> X, y = load_digits(return_X_y=True)
        >>> frame = JointFrame.fit(X[y == 4], X[y == 9])
        >>> frame.truncate(band=math.radians(10))
        JointFrame(181 rows against 180, 64 features, rank 17 of 64, shrinkage 0.277)
        """
        return truncated(self, band=band, n=n, shared_above=shared_above)

    def prepared(self, X: Any, side: str, *, sample_weight: Any = None) -> Array:
        """Rows of one side as they enter the decomposition: centred, weighed and shrunk.

        Under shrinkage the ridge stands below the rows, √(αλ) times a basis of the features (of
        their span, where the frame works in one). ``prepared(A, "A")`` is U diag(c) H.
        """
        side = as_option(side, "side", ("A", "B"))
        check_names(X, self.feature_names, side)
        rows = as_rows(X, side, d=self.n_features)
        xp = arrays.namespace(rows)
        rows = xp.astype(rows, xp.float64, copy=False)
        weight, center = (
            (self.weight_a, self.center_a) if side == "A" else (self.weight_b, self.center_b)
        )
        rows = math.sqrt((1 - self.shrinkage) * weight) * (rows - arrays.like(center, rows))
        if sample_weight is not None:
            root = np.sqrt(as_weights(sample_weight, rows.shape[0]))
            rows = arrays.like(root, rows)[:, None] * rows
        if self.shrinkage == 0:
            return rows
        whole = arrays.identity(self.n_features, rows)
        ridge = whole if self.basis is None else arrays.like(self.basis, rows).T
        return xp.concat((rows, math.sqrt(self.shrinkage * self.lam) * ridge), axis=0)

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
        scorer = Scorer(self, rows)
        return scorer.coordinates(rows, arrays.like(self.center, scorer.reference))[0]

    def align(self, Z: Any, *, weighting: str = "cost") -> Any:
        """The alignment angle of every sample.

        Parameters
        ----------
        Z : array-like (n, d), a Dask collection, or an iterable of chunks
        weighting : {"cost", "frame"}
            ``"cost"``: arctan2(‖y/c‖, ‖y/s‖), the paper's definition. ``"frame"``:
            arctan2(‖s∘y‖, ‖c∘y‖), with which the paper's table was computed.

        Returns
        -------
        Alignment
            For a Dask collection its arrays are lazy; for chunks, an iterator of Alignments:
            constant memory.
        """
        weighting = as_option(weighting, "weighting", _WEIGHTINGS)
        if arrays.is_lazy(Z):
            return distributed.align(self, Z, weighting=weighting)
        if _is_chunks(Z):
            return self._align_chunks(Z, weighting)
        check_names(Z, self.feature_names, "Z")
        rows = as_rows(Z, "Z", d=self.n_features, allow_empty=True)
        return self._scored(rows, self.center, weighting, None)

    def leave_one_out(
        self,
        A: Any,
        B: Any,
        *,
        weighting: str = "cost",
        sample_weight_a: Any = None,
        sample_weight_b: Any = None,
    ) -> LeaveOneOut:
        """The training rows' honest angles: each as if the frame had been fitted without it.

        Exact, without refitting (centre, λ and divisor held). Scoring training rows with
        :meth:`align` flatters: every row helped to build its own side. With ``center="each"`` a
        row is scored less the mean of its own set, as it entered the frame. Without shrinkage, a
        row that the others of its set do not span costs ∞; with no more rows than features that
        is every row.

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
        weighting = as_option(weighting, "weighting", _WEIGHTINGS)
        side = as_option(side, "side", ("A", "B"))
        if self.dropped:
            raise InputError(
                "A truncated frame has no honest angles of its own training rows: they helped to "
                "choose which directions stay; use the whole frame, or align() on other rows."
            )
        check_names(X, self.feature_names, side)
        rows = as_rows(X, side, d=self.n_features, allow_empty=True)
        weights: float | np.ndarray = 1.0
        if sample_weight is not None:
            weights = np.minimum(as_weights(sample_weight, rows.shape[0]), 1.0)
        weight, center = (
            (self.weight_a, self.center_a) if side == "A" else (self.weight_b, self.center_b)
        )
        removed = Removed(side, (1 - self.shrinkage) * weight * weights)
        return self._scored(rows, center, weighting, removed)

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
            yield self._scored(rows, self.center, weighting, None)

    def _scored(
        self, rows: Array, center: Array, weighting: str, removed: Removed | None
    ) -> Alignment:
        scorer = Scorer(self, rows, leaving=removed is not None)
        return scorer.scored(rows, center, weighting, removed)

    def _with_uv(self, A: Any, B: Any, weight_a: Any, weight_b: Any) -> JointFrame:
        """This frame decomposed once more, from the prepared rows themselves, keeping U and V."""
        left = self.prepared(A, "A", sample_weight=weight_a)
        right = self.prepared(B, "B", sample_weight=weight_b)
        tol, basis = self.tol, self.basis
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


def _common_names(a: Summary, b: Summary) -> tuple[str, ...] | None:
    if a.n_features != b.n_features:
        raise InputError(
            f"A has {a.n_features} features and B has {b.n_features}; "
            "both need the same features in the same order."
        )
    names = a.feature_names or b.feature_names
    if b.feature_names not in (None, names):
        unlike = [
            f"{x!r} and {y!r}" for x, y in zip(names or (), b.feature_names, strict=True) if x != y
        ]
        raise InputError(
            f"A and B name their features unlike (first: {unlike[0]}); "
            "bring the columns into the same order."
        )
    return names


def _rows_to_try(A: Any, B: Any) -> int:
    """How large a sample the choice of α needs: none where the few rows are all held anyway."""
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
