"""The whole pipeline in one call: two sets in, everything about them out."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from cospan import __version__
from cospan.comparison.opening import open_sets
from cospan.comparison.reading import Progress
from cospan.comparison.result import Comparison
from cospan.comparison.scoring import Sink
from cospan.comparison.settings import Settings
from cospan.comparison.stages import (
    audit_groups,
    changes_of,
    fit_sets,
    heard_warnings,
    mean_effect,
    remarks,
    score_sets,
    separate,
    shift_of_sets,
)
from cospan.errors import InputError
from cospan.sources import Source

__all__ = ["compare"]


def compare(
    A: Any,
    B: Any = None,
    Z: Any = None,
    *,
    labels: Any = None,
    label: Any = None,
    a: Any = None,
    b: Any = None,
    name_a: str | None = None,
    name_b: str | None = None,
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
    n_permutations: int = 999,
    image_shape: tuple[int, ...] | None = None,
    score_all: bool | None = None,
    exact: bool | None = None,
    progress: Progress | None = None,
    sink: Sink | None = None,
    **options: Any,
) -> Any:
    """Compare two sets of rows: the whole pipeline from data to verdict in one call.

    Parameters
    ----------
    A, B : anything that :func:`cospan.sources.open_source` takes
        The two sets: arrays, dataframes, paths of files or folders. Without `B`, `label`, `a`
        and `b` take two classes out of `A`; or `A` is a mapping of names to sets.
    Z : the same, optional
        More rows to score.
    labels : column name or array, optional
        Labels of `Z`, to be audited: each one is `name_a` or `name_b` (or 0 or 1).
    label, a, b : optional
        Where the classes of `A` and `B` stand (a column), and which class to take of each.
    name_a, name_b, name_z : str, optional
        What to call the sets. Default: the classes, the file names, or A, B and Z.
    span, units, shrinkage, pooling, dof, calibrate, preset, center, balance, tol
        As for :meth:`cospan.JointFrame.fit`.
    weighting : {"cost", "frame"}
        How a sample's angle is made of its coordinates; ``"frame"`` with the linear span.
    standardize : bool
        The old name of ``units="own"``.
    seed : int
        For samples, permutations and intervals: the same seed gives the same numbers.
    n_permutations : int
        Permutations of the shift test; 0 leaves it out.
    image_shape : tuple of int, optional
        (height, width) or (height, width, channels) where the features are pixels.
    score_all : bool, optional
        Score every row of A and B, which takes a second pass over them, or only a uniform
        sample. Default: every row where both sets together have at most 200,000.
    exact : bool, optional
        Summaries by QR instead of Gram matrices. Default: where shrinkage is below 1e-3, since
        only then the difference shows.
    progress : callable, optional
        Called as ``progress(stage, rows_done, rows_in_all_or_None)``.
    sink : callable, optional
        Called as ``sink(name, ids, alignment)`` for every chunk of rows scored; implies
        ``score_all=True``.
    **options
        For the sources: columns, id_column, chunk_rows, missing, categorical, numeric, drop,
        strict, image_size, image_mode, max_bad_images.

    Returns
    -------
    Comparison
        For a mapping of more than two sets a ManyComparison: see :func:`cospan.compare_many`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cospan import compare
    >>> X, y = load_digits(return_X_y=True)
    >>> found = compare(X[y == 4], X[y == 9], name_a="four", name_b="nine")
    >>> found
    <Comparison of 'four' (181 rows) with 'nine' (180 rows): Fisher-Rao 2.853>
    >>> found.shift.pvalue
    0.001
    >>> [found.feature_names[j] for j in found.top_features(3).b]
    ['x43', 'x44', 'x34']
    """
    chosen = {
        "span": span,
        "units": units,
        "shrinkage": shrinkage,
        "pooling": pooling,
        "dof": dof,
        "calibrate": calibrate,
        "preset": preset,
        "center": center,
        "balance": balance,
        "weighting": weighting,
        "tol": tol,
        "standardize": standardize,
        "seed": seed,
        "score_all": True if sink is not None else score_all,
        "exact": exact,
    }
    if isinstance(A, Mapping) and B is None and label is None:
        _refuse_for_a_mapping(a=a, b=b, name_a=name_a, name_b=name_b)
        if len(A) != 2:
            _refuse_for_a_mapping(labels=labels)
            more = {"name_z": name_z, "image_shape": image_shape, "progress": progress}
            return _more_sets(A, Z, sink=sink, **more, **chosen, **options)
        (name_a, A), (name_b, B) = ((str(name), one) for name, one in A.items())
    started = time.perf_counter()
    names = (name_a, name_b, name_z)
    with heard_warnings() as heard:
        settings = Settings.of(n_permutations=n_permutations, **chosen)
        sets = open_sets(A, B, Z, label=label, a=a, b=b, labels=labels, names=names, **options)
        shape = _shape_of_images(image_shape, sets.a)
        fitted = fit_sets(sets, settings, shape is not None, progress)
        groups = score_sets(sets, fitted, settings, progress, sink)
    apart = separate(groups, fitted, settings)
    separated = fitted.frame.gain > 0 and apart.auc.value > 0.5
    audit, audit_of = audit_groups(groups, separated, sets, classes=(a, b))
    shift, why_not = shift_of_sets(fitted, settings, progress)
    effects = [mean_effect(group) for group in groups[:2]]
    feature_names = sets.a.feature_names or _made_names(sets.a.n_features, shape)
    changes = changes_of(fitted, sets, apart, shift, effects[1] - effects[0], feature_names)
    return Comparison(
        name_a=sets.names[0],
        name_b=sets.names[1],
        frame=fitted.frame,
        group_a=groups[0],
        group_b=groups[1],
        group_z=groups[2] if len(groups) > 2 else None,
        separation=apart,
        shift=shift,
        audit=audit,
        effect_a=effects[0],
        effect_b=effects[1],
        feature_names=feature_names,
        image_shape=shape,
        settings={**fitted.settings.as_dict(), **_given(options)},
        warnings=remarks(fitted, groups, apart, shift, audit, sets, [*heard, *why_not]),
        version=__version__,
        seconds=time.perf_counter() - started,
        audit_of=audit_of,
        changes=changes,
    )


def _refuse_for_a_mapping(**given: Any) -> None:
    """A mapping names its sets itself, and labels of Z are checked against two sets only."""
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"{name}= is for two sets, A and B, and A is a mapping of sets; leave {name}= out."
            )


def _more_sets(sets: Mapping[str, Any], Z: Any, **options: Any) -> Any:
    from cospan.multiway import compare_many  # it is built on what two sets share

    return compare_many(sets, Z, **options)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def _made_names(n: int, shape: tuple[int, ...] | None) -> tuple[str, ...]:
    """Names for features that have none: x0, x1, …, or a pixel's row, column and channel."""
    if shape is None:
        return tuple(f"x{j}" for j in range(n))
    return tuple(f"pixel {','.join(map(str, place))}" for place in np.ndindex(shape))


def _shape_of_images(given: tuple[int, ...] | None, source: Source) -> tuple[int, ...] | None:
    if given is None:
        return source.image_shape
    shape = (given[0], given[0]) if len(given) == 1 else tuple(int(side) for side in given)
    if len(shape) > 3 or math.prod(shape) != source.n_features:
        raise InputError(
            f"image_shape {'x'.join(map(str, shape))} has {math.prod(shape):,} values where a row "
            f"has {source.n_features:,} features; give height, width and perhaps channels."
        )
    return shape
