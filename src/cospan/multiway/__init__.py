"""More than two sets in one call.

:func:`compare_many` summarises each set once, prepares all of them alike, and gives every sample
its weights on the simplex, w_k ∝ 1/cost_k²: how much each set explains it. For two sets they are
cos²θ and sin²θ; for more, w_i/(w_i + w_j) is cos²θ of the pair (i, j). So one pass over the rows
gives the angles of all pairs, and with them the matrix of Fisher-Rao distances.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan import __version__
from cospan._classes.costs import ClassCosts
from cospan.audit import LabelAudit
from cospan.comparison.reading import Progress
from cospan.comparison.stages import Settings
from cospan.errors import InputError
from cospan.frame import ManyFrame
from cospan.multiway.plain import many_dict
from cospan.multiway.scoring import Sink, ambiguity, pair_angle, score_columns
from cospan.multiway.stages import arranged
from cospan.multiway.text import many_lines
from cospan.multiway.work import Asked, carry_out

if TYPE_CHECKING:
    from cospan.estimator import AlignmentAngleClassifier
    from cospan.significance import Estimate

__all__ = ["ManyComparison", "compare_many"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ManyComparison:
    """What :func:`compare_many` found out about K sets.

    Parameters
    ----------
    names : tuple of K str
        What the sets are called, in the order given.
    rows : tuple of K int
        How many rows each set has.
    scored : tuple of K int
        How many of them were scored: all, or those of a uniform sample.
    name_z, rows_z : str or None, int
        The further rows that were scored, where there are some.
    costs : ClassCosts
        The sets, ready to score more rows: ``costs.weights(rows)``.
    frame : ManyFrame
        The directions all sets have, some, or one.
    weights : ndarray of shape (n, K)
        How much each set explains each sample; a row sums to 1. A set's own rows are scored as
        if they had not been part of it.
    group : ndarray of shape (n,), int
        The number of the set a sample belongs to; K for further rows.
    ids : ndarray of shape (n,)
        Identifiers of the samples: row numbers, index values or file names.
    confusion : ndarray of shape (K, K), int
        ``confusion[i, j]``: how many of all scored rows of set i are explained best by set j.
    pair_counts : ndarray of shape (K, K, 90), int
        ``pair_counts[i, j]``: histogram, a degree per bin, of the angle between set i (0°) and
        set j (90°) of all scored rows of set i.
    fisher_rao, fisher_rao_low, fisher_rao_high : ndarray of shape (K, K)
        Distance of the two sets of each pair, and its interval of this `confidence`.
    confidence : float
    linkage : ndarray of shape (K - 1, 4)
        Which sets join first, as SciPy's ``dendrogram`` takes it (average linkage).
    order : ndarray of shape (K,), int
        Numbers of the sets, so ordered that close ones stand side by side.
    audit : LabelAudit
        Rows that another set explains better than their own; its rows are those of `weights`
        whose `group` is below K, in that order.
    feature_names : tuple of str or None
    image_shape : tuple of int or None
    settings : dict
        The settings used, ready for JSON.
    warnings : tuple of str
        What a reader should know before believing the numbers.
    version : str
    seconds : float
    """

    names: tuple[str, ...]
    rows: tuple[int, ...]
    scored: tuple[int, ...]
    name_z: str | None
    rows_z: int
    costs: ClassCosts
    frame: ManyFrame
    weights: Floats
    group: NDArray[np.intp]
    ids: NDArray[Any]
    confusion: NDArray[np.int64]
    pair_counts: NDArray[np.int64]
    fisher_rao: Floats
    fisher_rao_low: Floats
    fisher_rao_high: Floats
    confidence: float
    linkage: Floats
    order: NDArray[np.intp]
    audit: LabelAudit
    feature_names: tuple[str, ...] | None
    image_shape: tuple[int, ...] | None
    settings: dict[str, object]
    warnings: tuple[str, ...]
    version: str
    seconds: float

    # ---- per sample ---------------------------------------------------------------------------

    @property
    def nearest(self) -> NDArray[np.intp]:
        """(n, 2): numbers of the two sets that explain each sample best, the best one first."""
        return np.argsort(-self.weights, axis=1, kind="stable")[:, :2]

    @property
    def theta(self) -> Floats:
        """(n,): the angle between each sample's two nearest sets, in radians.

        0: the nearest one alone; π/4: both alike.
        """
        first, second = self.nearest.T
        return pair_angle(self.weights, first, second)

    @property
    def degrees(self) -> Floats:
        """`theta` in degrees."""
        return np.degrees(self.theta)

    @property
    def entropy(self) -> Floats:
        """(n,): how ambiguous each sample is: 0 for one set alone, 1 for all sets alike."""
        return ambiguity(self.weights)

    def pair_theta(self, a: str | int, b: str | int) -> Floats:
        """(n,): the angle of each sample between two sets in radians: 0 for `a`, π/2 for `b`."""
        return pair_angle(self.weights, self._number(a), self._number(b))

    # ---- per set and pair ---------------------------------------------------------------------

    @property
    def shrinkage(self) -> float:
        """α, the shrinkage in use."""
        return self.costs.shrinkage

    @property
    def accuracy(self) -> float:
        """How often a row's own set explains it best, every set counting alike."""
        return float(np.mean(np.diagonal(self.confusion) / self.confusion.sum(axis=1)))

    def distance(self, a: str | int, b: str | int) -> Estimate:
        """Fisher-Rao distance of two sets with its interval."""
        from cospan.significance import Estimate

        at = self._number(a), self._number(b)
        value, low, high = (
            float(matrix[at])
            for matrix in (self.fisher_rao, self.fisher_rao_low, self.fisher_rao_high)
        )
        return Estimate(value, low, high, self.confidence)

    def closest(self, n: int = 5) -> list[tuple[str, str]]:
        """The `n` pairs of sets that are closest, closest first."""
        first, second = np.triu_indices(len(self.names), 1)
        order = np.argsort(self.fisher_rao[first, second], kind="stable")[:n]
        return [(self.names[first[k]], self.names[second[k]]) for k in order]

    def classifier(self) -> AlignmentAngleClassifier:
        """The sets as a fitted estimator, whose classes are their names; :func:`cospan.save` it.

        For more than two sets; two have ``compare(...).frame``.
        """
        from cospan._classes.fitted import FittedClasses
        from cospan.estimator import AlignmentAngleClassifier

        if len(self.names) == 2:
            raise InputError("Two sets have a joint frame; take compare(A, B).frame.")
        order = sorted(range(len(self.names)), key=self.names.__getitem__)
        costs = arranged(self.costs, order)
        center = self.settings["center"]
        return AlignmentAngleClassifier.from_fitted(
            FittedClasses(costs, costs.weighting, 0.0, math.pi / 4, None),
            np.array([self.names[k] for k in order]),
            costs.n_features,
            costs.feature_names,
            center=costs.center if center == "given" else center,
            balance=costs.balance,
            shrinkage=costs.shrinkage,
            weighting=costs.weighting,
            tol=costs.tol,
            constant=0.0,
        )

    def _number(self, name: str | int) -> int:
        if isinstance(name, str) and name in self.names:
            return self.names.index(name)
        if isinstance(name, (int, np.integer)) and 0 <= name < len(self.names):
            return int(name)
        raise InputError(f"There is no set {name!r}; the sets are {', '.join(self.names)}.")

    # ---- showing ------------------------------------------------------------------------------

    def summary(self, width: int = 80) -> str:
        """The comparison as text of about `width` columns, as the command line prints it."""
        return "\n".join(text for _, text in many_lines(self, width)).rstrip() + "\n"

    def to_frame(self, backend: str | None = None) -> Any:
        """One row a sample: set, id, nearest, second, theta (degrees), entropy, and the weights.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
        """
        from cospan._tables import make_frame

        called = np.array([*self.names, self.name_z or ""])
        return make_frame(
            score_columns(self.names, called[self.group], self.ids, self.weights), backend
        )

    def to_dict(self) -> dict[str, object]:
        """Everything but the rows, as plain types: ``json.dumps`` takes it."""
        return many_dict(self)

    def save_html(self, path: str | Path) -> Path:
        """Write the report as one self-contained HTML file, and return its path."""
        from cospan.report import save_html  # the report reads comparisons, so it comes in late

        return save_html(self, path)

    def _repr_html_(self) -> str:
        from cospan.report import fragment

        return fragment(self)

    def __repr__(self) -> str:
        z = f", {self.rows_z} scored" if self.name_z is not None else ""
        names = ", ".join(map(repr, self.names[:4])) + (", …" if len(self.names) > 4 else "")
        return f"<ManyComparison of {len(self.names)} sets ({names}), {sum(self.rows)} rows{z}>"


def compare_many(
    sets: Any,
    Z: Any = None,
    *,
    label: Any = None,
    name_z: str | None = None,
    center: Any = "pooled",
    balance: bool = True,
    shrinkage: float | str = "auto",
    weighting: str = "cost",
    tol: float | None = None,
    standardize: bool = False,
    seed: int = 0,
    bins: int = 30,
    confidence: float = 0.95,
    n_bootstrap: int = 400,
    image_shape: tuple[int, ...] | None = None,
    score_all: bool | None = None,
    exact: bool | None = None,
    progress: Progress | None = None,
    sink: Sink | None = None,
    **options: Any,
) -> ManyComparison:
    """Compare two or more sets: weights for every sample, a distance for every pair.

    The data is read once, and a second time where every row of large sets is to be scored,
    however many sets there are.

    Parameters
    ----------
    sets : mapping of names to sets, sequence of sets, or one table with `label`
        A set is anything that :func:`cospan.sources.open_source` takes, a Dask collection, or a
        :class:`~cospan.Summary`. Of a summary the rows it keeps are scored.
    Z : anything :func:`cospan.sources.open_source` takes, optional
        More rows to score.
    label : column name, number or array, optional
        Where the classes of the one table stand; each class becomes a set.
    name_z : str, optional
        What to call `Z`.
    center, balance, shrinkage, tol
        As for :meth:`cospan.JointFrame.fit`; one centre, one λ and one α serve all sets.
    weighting : {"cost", "frame"}
        How weights are made of a sample's coordinates.
    standardize : bool
        Divide every feature by its standard deviation over all sets first.
    seed : int
        For samples and intervals: the same seed gives the same numbers.
    bins, confidence, n_bootstrap
        As for :func:`cospan.separation`, of every pair.
    image_shape : tuple of int, optional
        (height, width) or (height, width, channels) where the features are pixels.
    score_all : bool, optional
        Score every row, or only a uniform sample of each set. Default: every row where all sets
        together have at most 200,000.
    exact : bool, optional
        Summaries by QR instead of Gram matrices. Default: where shrinkage is below 1e-3.
    progress : callable, optional
        Called as ``progress(stage, rows_done, rows_in_all_or_None)``.
    sink : callable, optional
        Called as ``sink(columns)`` for every chunk of rows scored, with the columns that
        :meth:`ManyComparison.to_frame` has; implies ``score_all=True``.
    **options
        For the sources: columns, id_column, chunk_rows, missing, strict, image_size,
        image_mode, max_bad_images.

    Returns
    -------
    ManyComparison

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cospan import compare_many
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare_many({name: X[y == k] for k, name in enumerate(("set", "ver", "vir"))})
    >>> found.closest(1)
    [('ver', 'vir')]
    >>> found.weights[[0, 60, 120]].round(2)
    array([[0.67, 0.05, 0.28],
           [0.36, 0.35, 0.29],
           [0.26, 0.08, 0.67]])
    """
    started = time.perf_counter()
    settings = Settings(
        center=center,
        balance=balance,
        shrinkage=shrinkage,
        weighting=weighting,
        tol=tol,
        standardize=standardize,
        seed=seed,
        score_all=True if sink is not None else score_all,
        exact=exact,
    )
    intervals = {"bins": bins, "confidence": confidence, "n_bootstrap": n_bootstrap}
    asked = Asked(sets, Z, label, name_z, image_shape, settings, intervals, options)
    found = carry_out(asked, progress, sink)
    return ManyComparison(**found, version=__version__, seconds=time.perf_counter() - started)
