"""The whole pipeline in one call: sets in, everything about them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Unpack

import numpy as np

from cospan.comparison.opening import Asked, open_sets
from cospan.comparison.pipeline import compare_sets
from cospan.comparison.result import Comparison
from cospan.comparison.score_files import score_columns, table_file
from cospan.comparison.scoring import Scored
from cospan.comparison.settings import Options, Progress, split_options
from cospan.errors import InputError


def compare(
    A: object,
    B: object = None,
    Z: object = None,
    *,
    labels: object = None,
    label: object = None,
    a: object = None,
    b: object = None,
    name_a: str | None = None,
    name_b: str | None = None,
    name_z: str | None = None,
    image_shape: tuple[int, ...] | None = None,
    progress: Progress | None = None,
    scores: Path | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """Compare sets of rows, most often two: the whole pipeline from data to verdict in one call.

    Parameters
    ----------
    A, B : anything that :func:`cospan.data.open_source` takes
        The two sets: arrays, dataframes, paths of files or folders. Without `B`, `label`, `a`
        and `b` take two classes out of `A`, and `label` alone takes all of them; or `A` is a
        mapping of names to sets.
    Z : the same, optional
        More rows to score: each gets its angle, and has no part in the comparison. A third *set*
        is compared by ``compare({"a": A, "b": B, "c": C})``; on the command line,
        ``compare a b c`` is three sets and ``--score`` gives Z.
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
    scores : path, optional
        Write the table of scores to this file, which ends in .parquet, .arrow, .feather, .csv or
        .tsv: the columns of :meth:`Comparison.to_frame` for every row; implies ``score_all=True``.
    **options
        The settings above from `span` on, and for the sources: columns, id_column, chunk_rows,
        categorical, numeric, drop, keep, image_size, image_mode, text, embed
        (see :func:`cospan.data.open_source`).

    Returns
    -------
    Comparison
        Of any number of sets; ``found.pair("a", "c")`` is that of two of them.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cospan import compare
    >>> X, y = load_digits(return_X_y=True)
    >>> found = compare(X[y == 4], X[y == 9], name_a="four", name_b="nine")
    >>> found
    <Comparison of 'four' (181 rows), 'nine' (180 rows): size 1.000>
    >>> found.p
    0.001
    >>> three = compare({f"digit {k}": X[y == k] for k in (3, 5, 8)}, n_permutations=99)
    >>> three.weights.shape, three.farthest, three.pair("digit 3", "digit 8").p
    ((539, 3), ('digit 3', 'digit 5'), 0.001)
    """
    if isinstance(A, Mapping) and B is not None and any(np.ndim(one) > 1 for one in A.values()):
        raise InputError("A is a mapping of sets, and there is B, too; rows to score are Z=.")
    if progress is not None and not callable(progress):
        raise InputError(f"progress is {progress!r}; give a function, or leave it out.")
    if scores is not None:
        options["score_all"] = True
    settings, reading = split_options(options)
    called = (x if x is None else str(x) for x in (name_a, name_b, name_z))
    opened = open_sets(Asked(A, B, Z, label, a, b, labels, *called), reading)
    run = partial(
        compare_sets, settings, opened, image_shape=image_shape, options=reading, progress=progress
    )
    if scores is None:
        return run()
    with table_file(scores) as write:

        def passed_on(names: Sequence[str], name: str, scored: Scored) -> None:
            # One set may number its rows, another name them.
            write(score_columns(names, name, scored) | {"id": scored.ids.astype(str)})

        return run(sink=passed_on)
