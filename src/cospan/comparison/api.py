"""The whole pipeline in one call: sets in, everything about them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Unpack, overload

from cospan.comparison.many import ManyComparison
from cospan.comparison.opening import Classes, Opened, classes_of, open_many, open_pair
from cospan.comparison.pair import Comparison
from cospan.comparison.pipeline import Asked, compare_sets
from cospan.comparison.reading import Progress
from cospan.comparison.result import Result
from cospan.comparison.score_files import score_columns, table_file, with_text_ids
from cospan.comparison.scorer import Scored
from cospan.comparison.settings import Options, Settings, split_options
from cospan.errors import InputError

PairSink = Callable[[str, Any, Any], None]  # set's name, identifiers, Alignment
ManySink = Callable[[dict[str, Any]], None]  # the columns of a table of scores


class PairOptions(Options, total=False):
    """What :func:`compare` takes beside the sets and the rows to score."""

    labels: Any
    label: Any
    a: Any
    b: Any
    name_a: str | None
    name_b: str | None
    name_z: str | None
    image_shape: tuple[int, ...] | None
    progress: Progress | None
    sink: PairSink | ManySink | None
    scores: Path | None


@overload
def compare(
    A: Any, B: None = None, Z: Any = None, **options: Unpack[PairOptions]
) -> Comparison | ManyComparison: ...
@overload
def compare(A: Any, B: Any, Z: Any = None, **options: Unpack[PairOptions]) -> Comparison: ...
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
    image_shape: tuple[int, ...] | None = None,
    progress: Progress | None = None,
    sink: PairSink | ManySink | None = None,
    scores: Path | None = None,
    **options: Unpack[Options],
) -> Any:
    """Compare sets of rows, most often two: the whole pipeline from data to verdict in one call.

    Parameters
    ----------
    A, B : anything that :func:`cospan.data.open_source` takes
        The two sets: arrays, dataframes, paths of files or folders. Without `B`, `label`, `a`
        and `b` take two classes out of `A`, and `label` alone takes all of them; or `A` is a
        mapping of names to sets.
    Z : the same, optional
        More rows to score: each gets its angle, and has no part in the comparison. A third *set*
        is compared by ``compare({"a": A, "b": B, "c": C})`` or :func:`cospan.compare_many`; on
        the command line, ``compare a b c`` is three sets and ``--score`` gives Z.
    labels : column name or array, optional
        Labels of `Z`, to be audited: each one is `name_a` or `name_b` (or 0 or 1).
    label, a, b : optional
        Where the classes of `A` and `B` are (a column), and which class to take of each. The
        column is no feature; of a set without a class to take, all rows are.
    name_a, name_b, name_z : str, optional
        What to call the sets. Default: the classes, the file names, or A, B and Z.
    image_shape : tuple of int, optional
        (height, width) or (height, width, channels) where the features are pixels.
    span, units, shrinkage, pooling, dof, calibrate, curve, preset, center, balance, tol
        As for :meth:`cospan.JointFrame.fit`.
    weighting : {"cost", "frame"}
        How a sample's angle is made of its coordinates; ``"frame"`` with the linear span.
    groups : column name, or one array for each set, optional
        What rows have in common that belong together (a patient, a day). The column is not a
        feature. Rows of one group are in one fold, and are relabelled together for the p-value.
    seed : int, default 0
        For relabellings: the same seed gives the same numbers. Samples of rows of
        large sets do not depend on it.
    n_permutations : int, default 999
        Relabellings of the rows behind the p-value of two sets, at least 19. Where the first 199
        give more than 0.1, they are all that is drawn.
    score_all : bool, optional
        Score every row of the sets, which takes a second pass over them, or only a uniform
        sample. Default: every row where all sets together have at most 200,000.
    exact : bool, optional
        Summaries by QR instead of Gram matrices. Default: where shrinkage is below 1e-3, since
        only then the difference shows.
    progress : callable, optional
        Called as ``progress(stage, rows_done, rows_in_all_or_None)``.
    sink : callable, optional
        Called as ``sink(name, ids, alignment)`` for every chunk of rows scored; implies
        ``score_all=True``. For more than two sets as in :func:`cospan.compare_many`.
    scores : path, optional
        Write the table of scores to this file, which ends in .parquet, .arrow, .feather, .csv or
        .tsv: the columns of :meth:`Comparison.to_frame` for every row; implies ``score_all=True``.
    **options
        The settings above from `span` on, and for the sources: columns, id_column, chunk_rows,
        missing, categorical, numeric, drop, keep, strict, image_size, image_mode, max_bad_images,
        text, embed (see :func:`cospan.data.open_source`).

    Returns
    -------
    Comparison
        For more than two sets a ManyComparison: see :func:`cospan.compare_many`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cospan import compare
    >>> X, y = load_digits(return_X_y=True)
    >>> found = compare(X[y == 4], X[y == 9], name_a="four", name_b="nine")
    >>> found
    <Comparison of 'four' (181 rows) with 'nine' (180 rows): Fisher-Rao 2.810>
    >>> found.p
    0.001
    >>> [found.feature_names[j] for j in found.top_features(3).b]
    ['x43', 'x44', 'x34']
    """
    if isinstance(A, Mapping) and B is None and label is None:
        _refuse("A is a mapping of sets", a=a, b=b, name_a=name_a, name_b=name_b)
        if len(A) == 2:
            (name_a, A), (name_b, B) = ((str(name), one) for name, one in A.items())
    chosen, reading = split_options(options)
    names = [None if name is None else str(name) for name in (name_a, name_b, name_z)]

    def prepare() -> tuple[Settings, Opened, bool]:
        settings = _settings(chosen, sink is not None or scores is not None)
        classes = Classes(label, a, b, labels)
        many = isinstance(A, Mapping) and B is None and label is None
        if B is None and label is not None and a is None and b is None:
            found = classes_of(A, label, reading)
            many = len(found) > 2
            classes = classes._replace(a=found[0], b=found[1]) if len(found) == 2 else classes
        if many:
            _refuse("there are more", labels=labels, name_a=name_a, name_b=name_b)
            return settings, open_many(A, Z, label, names[2], reading), False
        return settings, open_pair(A, B, Z, classes, names, reading), True

    result = _compared(Asked(prepare, image_shape, reading), progress, sink, scores)
    return ManyComparison.of(result) if result.pair is None else Comparison.of(result)


def compare_many(
    sets: Any,
    Z: Any = None,
    *,
    label: Any = None,
    name_z: str | None = None,
    image_shape: tuple[int, ...] | None = None,
    progress: Progress | None = None,
    sink: ManySink | None = None,
    scores: Path | None = None,
    **options: Unpack[Options],
) -> ManyComparison:
    """Compare two or more sets: weights for every sample, a distance for every pair.

    The data is read once, and a second time where every row of large sets is to be scored,
    however many sets there are.

    Parameters
    ----------
    sets : mapping of names to sets, sequence of sets, or one table with `label`
        A set is anything that :func:`cospan.data.open_source` takes, a Dask collection, or a
        :class:`~cospan.Summary`. Of a summary the rows it keeps are scored.
    Z : anything :func:`cospan.data.open_source` takes, optional
        More rows to score.
    label : column name, number or array, optional
        Where the classes of the one table are; each class becomes a set.
    name_z : str, optional
        What to call `Z`.
    image_shape : tuple of int, optional
        (height, width) or (height, width, channels) where the features are pixels.
    progress : callable, optional
        Called as ``progress(stage, rows_done, rows_in_all_or_None)``.
    sink : callable, optional
        Called as ``sink(columns)`` for every chunk of rows scored, with the columns that
        :meth:`ManyComparison.to_frame` has; implies ``score_all=True``.
    scores : path, optional
        Write the same columns to this file, as :func:`cospan.compare` does.
    **options
        Settings and options of the sources, as for :func:`cospan.compare`; one α, one γ and one ν
        serve all sets.

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
           [0.04, 0.81, 0.15],
           [0.  , 0.04, 0.96]])
    """
    chosen, reading = split_options(options)

    def prepare() -> tuple[Settings, Opened, bool]:
        settings = _settings(chosen, sink is not None or scores is not None)
        called = None if name_z is None else str(name_z)
        return settings, open_many(sets, Z, label, called, reading), False

    return ManyComparison.of(
        _compared(Asked(prepare, image_shape, reading), progress, sink, scores)
    )


def _compared(asked: Asked, progress: Progress | None, sink: Any, scores: Path | None) -> Result:
    """Compare; rows go to the caller's sink and to the table of scores, where there are any."""
    for name, function in (("progress", progress), ("sink", sink)):
        if function is not None and not callable(function):
            raise InputError(f"{name} is {function!r}; give a function, or leave it out.")
    if sink is None and scores is None:
        return compare_sets(asked, progress)
    with nullcontext() if scores is None else table_file(scores) as write:

        def passed_on(names: Sequence[str], name: str, scored: Scored) -> None:
            columns = score_columns(names, name, scored)
            if write is not None:
                write(with_text_ids(columns))
            if sink is not None and scored.alignment is not None:
                sink(name, scored.ids, scored.alignment)
            elif sink is not None:
                sink(columns)

        return compare_sets(asked, progress, passed_on)


def _settings(chosen: dict[str, Any], every_row: bool) -> Settings:
    return Settings.of(**{**chosen, "score_all": True} if every_row else chosen)


def _refuse(why: str, **given: Any) -> None:
    """Mappings and classes name the sets themselves; labels of Z are checked against two only."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name}= is for two sets, A and B, and {why}; leave {name}= out.")
