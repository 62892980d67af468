"""JointFrame: two sets, prepared and decomposed; it scores samples.

What it is made of is in `properties`, how it scores in `aligning`; here it is made, cut, and shown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Unpack

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan.errors import InputError
from cospan.frame.aligning import ScoringFrame
from cospan.frame.differences import Parts, differences_of, parts_of
from cospan.frame.directions import Directions, directions_of
from cospan.frame.fitting import (
    RowsAgain,
    fitted,
    prepare_rows,
    pseudo_inverse,
    warn_if_nothing_shared,
    with_left_factors,
)
from cospan.frame.properties import Derived
from cospan.frame.truncation import truncated
from cospan.sets import Settings, calibrated
from cospan.sets.asking import resolved_calibration
from cospan.sets.choice import more_rows
from cospan.sets.curved import Plain, with_curve, without_curve
from cospan.sets.curving import Again, fitted_curve
from cospan.sets.model import trial_costs, typicality_of
from cospan.sets.settings import Given
from cospan.summary import Summary

# Rows of each set that a fit keeps to try its choices on.
_SAMPLED_ROWS = 2000


@dataclass(frozen=True, eq=False, repr=False)
class JointFrame(ScoringFrame):
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
    curve : CurvedSets or None
        Costs of curved features, where those answer instead of the frame's own.

    Examples
    --------
    >>> from cospan import JointFrame
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(300, 2)), rng.normal(size=(300, 2)) + [3, 0]
    >>> frame = JointFrame.fit(A, B)
    >>> frame.align([[0.0, 0.0], [3.0, 0.0]]).predict().tolist()
    [0, 1]
    >>> frame.parts.location > frame.parts.scale + frame.parts.shape
    True
    """

    # ---- making -------------------------------------------------------------------------------

    @classmethod
    def fit(
        cls,
        A: Any,
        B: Any,
        *,
        span: str = "affine",
        units: str = "auto",
        shrinkage: float | str = "auto",
        pooling: float | str = "auto",
        dof: float | str = "auto",
        calibrate: bool | None = None,
        preset: str | None = None,
        center: Any = "pooled",
        balance: bool = True,
        tol: float | None = None,
        curve: int | str | None = None,
        picture: bool = False,
        sample_weight_a: Any = None,
        sample_weight_b: Any = None,
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
        picture : bool
            The features are pixels: they share one unit, also where they have names.
        curve : None, "auto" or int
            Score rows together with curved features of them, whose means and covariances see
            what those of the columns do not: a ring inside a blob. They are cosines of columns or,
            above 100 columns, how near a row is to landmarks, means of a few rows. ``"auto"``:
            where leave-one-out says that it is clearly better, and α, γ and ν are left to the data
            too, as :func:`cospan.compare` and the estimator do by default. A number: always, with
            so many features. Directions, parts and prototypes are the plain frame's.
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
        JointFrame(120 rows against 120, 64 features, rank 64, shrinkage 0.2)
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
        weighted = sample_weight_a is not None or sample_weight_b is not None
        size = _SAMPLED_ROWS if weighted else _rows_to_try(A, B)
        a = Summary.of(A, sample_weight_a, name="A", sample_size=size)
        b = Summary.of(B, sample_weight_b, name="B", sample_size=size)
        rows = ((A, sample_weight_a), (B, sample_weight_b))
        frame = cls._of(a, b, settings, picture, RowsAgain(rows))
        if not keep_uv:
            return frame
        return with_left_factors(frame, A, B, sample_weight_a, sample_weight_b)

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
        calibrated by theory. A `curve` needs all rows: where the summaries' samples are not all of
        them, `again` reads them once more. It takes a map of rows and returns two summaries of the
        rows that went through it, made with ``exact=False``.
        """
        if not (isinstance(a, Summary) and isinstance(b, Summary)):
            raise InputError("from_summaries takes two summaries; use fit(A, B) for rows.")
        return cls._of(a, b, Settings.of(**(Given(curve=None) | settings)), picture, again)

    @classmethod
    def _of(
        cls, a: Summary, b: Summary, settings: Settings, picture: bool, again: Again | None
    ) -> JointFrame:
        found = fitted((a, b), ("A", "B"), settings, picture)
        frame = cls(
            geometry=found.geometry,
            c=found.factors.c,
            s=found.factors.s,
            blocks=found.factors.blocks,
            core=found.factors.H,
            inverse=pseudo_inverse(found.factors.H),
            basis=found.basis,
        )
        warn_if_nothing_shared(found, a, b)
        trial = found.trial()
        squared = trial_costs(frame, trial) if found.squared is None else found.squared
        frame = replace(frame, typicality=typicality_of(trial, squared))
        if resolved_calibration(settings.calibrate, found.geometry):
            most = more_rows((a, b))
            rows, costs = (found.trial(most), None) if most else (trial, squared)
            calibration = calibrated(frame, rows, costs)
            frame = replace(frame, geometry=replace(frame.geometry, calibration=calibration))
        plain = Plain(frame.geometry.calibration, frame.typicality)
        curved = fitted_curve(found.working, trial, squared, settings, plain, again)
        return frame if curved is None else with_curve(frame, curved)

    # ---- looking ------------------------------------------------------------------------------

    directions = Derived[Directions](
        directions_of,
        "Every direction, A's first: unit vectors, angles, shifts, blocks, c, s, lengths.",
    )
    differences = Derived[Array](
        differences_of, "(m,): each direction's part of the Bhattacharyya distance of the two sets."
    )
    parts = Derived[Parts](
        parts_of, "The difference of the two sets, split into location, scale and shape."
    )

    @property
    def plain(self) -> JointFrame:
        """This frame without its curve: what its directions alone say of a sample."""
        return without_curve(self)

    def truncate(
        self, *, band: float | None = None, n: int | None = None, shared_above: float | None = None
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
        JointFrame(181 rows against 180, 64 features, rank 17 of 64, shrinkage 0.05)
        """
        return truncated(self.plain, band=band, n=n, shared_above=shared_above)

    def prepared(self, X: Any, side: str, *, sample_weight: Any = None) -> Array:
        """Rows of one side as they enter the decomposition: centred, weighted and shrunk.

        Under shrinkage the ridge is below the rows, √α times the units of the features (of a
        basis of their span, where the frame works in one). ``prepared(A, "A")`` is U diag(c) H.
        """
        return prepare_rows(self, X, side, sample_weight)

    def __repr__(self) -> str:
        curved = "" if self.curve is None else ", curved"
        whole = f" of {self.rank + self.dropped}" if self.dropped else ""
        return (
            f"JointFrame({self.n_a:,.6g} rows against {self.n_b:,.6g}, {self.n_features} features, "
            f"rank {self.rank}{whole}, shrinkage {self.shrinkage:g}{curved})"
        )


def _rows_to_try(A: Any, B: Any) -> int:
    """How large a sample the choices need: none where the few rows are all held anyway."""
    held = all(arrays.is_array(X) and not arrays.is_lazy(X) and X.ndim == 2 for X in (A, B))
    return 0 if held and A.shape[0] + B.shape[0] + 2 < A.shape[1] else _SAMPLED_ROWS
