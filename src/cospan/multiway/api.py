"""K sets in one call: weights for every sample, a distance for every pair."""

from __future__ import annotations

import time
from typing import Any

from cospan import __version__
from cospan.comparison.reading import Progress
from cospan.comparison.settings import Settings
from cospan.multiway.result import ManyComparison
from cospan.multiway.scoring import Sink
from cospan.multiway.work import Asked, carry_out

__all__ = ["compare_many"]


def compare_many(
    sets: Any,
    Z: Any = None,
    *,
    label: Any = None,
    name_z: str | None = None,
    span: str = "affine",
    units: str = "auto",
    shrinkage: float | str = "auto",
    pooling: float | str = "auto",
    dof: float | str = "auto",
    calibrate: bool | None = None,
    preset: str | None = None,
    center: Any = "pooled",
    balance: bool = True,
    weighting: str = "cost",
    tol: float | None = None,
    standardize: bool = False,
    seed: int = 0,
    confidence: float = 0.95,
    n_bootstrap: int = 1000,
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
    span, units, shrinkage, pooling, dof, calibrate, preset, center, balance, tol
        As for :meth:`cospan.JointFrame.fit`; one α, one γ and one ν serve all sets.
    weighting : {"cost", "frame"}
        How weights are made of a sample's coordinates; ``"frame"`` with the linear span.
    standardize : bool
        The old name of ``units="own"``.
    seed : int
        For samples and intervals: the same seed gives the same numbers.
    confidence, n_bootstrap
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
        For the sources: columns, id_column, chunk_rows, missing, categorical, numeric, drop,
        strict, image_size, image_mode, max_bad_images.

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
    array([[1.  , 0.  , 0.  ],
           [0.03, 0.85, 0.12],
           [0.  , 0.03, 0.97]])
    """
    started = time.perf_counter()
    geometry = {
        "span": span,
        "units": units,
        "shrinkage": shrinkage,
        "pooling": pooling,
        "dof": dof,
        "calibrate": calibrate,
        "preset": preset,
        "center": center,
        "balance": balance,
        "tol": tol,
    }
    settings = Settings.of(
        **geometry,
        weighting=weighting,
        standardize=standardize,
        seed=seed,
        score_all=True if sink is not None else score_all,
        exact=exact,
    )
    intervals = {"confidence": confidence, "n_bootstrap": n_bootstrap}
    asked = Asked(sets, Z, label, name_z, image_shape, settings, intervals, options)
    found = carry_out(asked, progress, sink)
    return ManyComparison(**found, version=__version__, seconds=time.perf_counter() - started)
