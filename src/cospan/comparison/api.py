"""The whole pipeline in one call: sets in, everything about them out.

A comparison of K sets is made in stages: read, fit, score, compare pairs, check rows, remark. Two
sets have a joint frame, and are tested; the pairs of more are tested when they are asked for.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Unpack

import numpy as np

from cospan._version import VERSION
from cospan.base.text import listed, plural
from cospan.comparison.opening import Opened, Options, Progress, open_sets, split_options
from cospan.comparison.reading import ReadSet, read_further, read_sets
from cospan.comparison.result import Comparison
from cospan.comparison.rows import check_rows
from cospan.comparison.scoring import Group, Model, fit_models, size_between, usual_rows
from cospan.data import Chunk
from cospan.errors import InputError, Note, warn
from cospan.evidence import FEWEST_ROWS, Verdict, find_changes
from cospan.model import JointFrame, ManyFrame
from cospan.summary import random_rows, rows_within

FEW_ROWS = 30
CURVED = "The difference is curved: means, spreads and correlations show only a part of it."
#: Rows of each of two sets that a result keeps, for pictures; of more sets their pairs are tested
#: on them. And bytes of all of them together.
DRAWN_ROWS, PAIRED_ROWS, DRAWN_BYTES = 2_000, 20_000, 2**25


def compare(
    A: object,
    B: object = None,
    Z: object = None,
    *,
    label: object = None,
    a: object = None,
    b: object = None,
    name_a: str | None = None,
    name_b: str | None = None,
    image_shape: tuple[int, ...] | None = None,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """Compare sets of rows, most often two: the whole pipeline from data to verdict in one call.

    Each set is read once. Of a large one a uniform sample is scored, at most 100,000 rows and about
    96 MB; models are fitted to all rows.

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
    label, a, b : optional
        Where the classes of `A` and `B` are (a column), and which class to take of each. The
        column is no feature; of a set without a class to take, all rows are.
    name_a, name_b : str, optional
        What to call the sets. Default: the classes, the file names, or A and B.
    image_shape : tuple of int, optional
        (height, width) or (height, width, channels) where the features are pixels.
    span, units, shrinkage, pooling, dof, calibrate, curve, preset, center, balance, tol
        As for :meth:`cospan.JointFrame.fit`.
    groups : column name, or one array for each set, optional
        What rows have in common that belong together (a patient, a day). The column is not a
        feature. Rows of one group are in one fold, and are relabelled together for the p-value.
    seed : int, default 0
        For relabellings: the same seed gives the same numbers. Samples of rows of
        large sets do not depend on it.
    n_permutations : int, default 999
        Relabellings of the rows behind the p-value of two sets, at least 19. Where the first 199
        give more than 0.1, they are all that is drawn.
    progress : callable, optional
        Called as ``progress(stage, rows_done, rows_in_all_or_None)``.
    **options
        The settings above from `span` on, and for the sources: columns, id_column, chunk_rows,
        categorical, numeric, drop, keep, image_size, image_mode (see
        :func:`cospan.data.open_source`).

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
    started = time.perf_counter()
    say: Progress = progress or (lambda stage, done, total: None)
    settings, reading = split_options(options)
    called = [name if name is None else str(name) for name in (name_a, name_b)]
    opened = open_sets(reading, A, B, Z, label=label, classes=(a, b), called=called)
    names, first = opened.names, opened.first
    shape = first.image_shape if image_shape is None else _shape(image_shape, first.n_features)
    known = [source.n_rows for source in opened.sources]
    n_rows = None if None in known else sum(n or 0 for n in known)
    try:
        read = read_sets(opened, settings.are_exact(n_rows, first.n_features), progress)
        say("fitting the sets", 0, 1)
        scorer = fit_models(read, settings, picture=shape is not None)
        scorer = scorer._replace(usual=usual_rows(read))
        say("fitting the sets", 1, 1)
        groups = tuple(
            scorer.score(one.kept, names[k], k, one.summary.count)
            for k, one in enumerate(read.sets)
        )
        further = None
        if opened.further is not None:
            rows = read_further(opened, opened.further, read.n_folds, progress)
            further = scorer.score(rows, opened.name_z, total=opened.further.n_rows)
    finally:  # after an error too: a column left out may be the reason
        warn(note for note in _source_notes(opened) if note.loud)
    model, groups = scorer.model, check_rows(groups)
    # Where rows are repeated beyond chance, each is to count once.
    sizes = {
        (i, j): size_between(groups[i], groups[j], i, j, copies=read.copies)
        for i, j in itertools.combinations(range(len(groups)), 2)
    }
    every = groups if further is None else (*groups, further)
    features = first.feature_names or tuple(  # a pixel has a row, a column and perhaps a channel
        [f"pixel {','.join(map(str, place))}" for place in np.ndindex(shape)]
        if shape is not None
        else [f"x{j}" for j in range(first.n_features)]
    )
    schema = tuple(dict.fromkeys(one for source in opened.sources for one in source.changes))
    verdict: Verdict | None = None
    directions: JointFrame | ManyFrame
    if isinstance(model, JointFrame):
        say("testing for a difference", 0, 1)
        # What the columns hold over all rows, where these are the rows compared.
        over_all = [one.profiles[0] for one in opened.sources if len(one.profiles) == 1]
        verdict = find_changes(
            model,
            read.sets[0].kept,
            read.sets[1].kept,
            names=features,
            plan=first.plan,
            auc=sizes[0, 1],
            set_names=(names[0], names[1]),
            schema=schema,
            permutations=settings.n_permutations,
            seed=settings.seed,
            profiles=(over_all[0], over_all[1]) if len(over_all) == 2 else None,
        )
        say("testing for a difference", 1, 1)
        directions = model
    else:
        directions = ManyFrame.of_costs([one.summary for one in read.sets], model, names)
    warn(model.notes)
    given = {name: value for name, value in reading.items() if value is not None}
    if not isinstance(given.get("groups", ""), str):
        given["groups"] = "given"
    return Comparison(
        names=names,
        groups=groups,
        further=further,
        fitted=model,
        sizes=sizes,
        directions=directions,
        samples=_samples(read.sets, settings.seed),
        feature_names=features,
        image_shape=shape,
        settings={**asdict(settings), **given},
        warnings=tuple(dict.fromkeys(_notes(opened, model, every, verdict))),
        schema_changes=schema,
        version=VERSION,
        seconds=time.perf_counter() - started,
        _verdict=verdict,
    )


def _shape(given: tuple[int, ...], n: int) -> tuple[int, ...]:
    shape = (given[0], given[0]) if len(given) == 1 else tuple(int(side) for side in given)
    if len(shape) > 3 or math.prod(shape) != n:
        raise InputError(
            f"image_shape {'x'.join(map(str, shape))} has {math.prod(shape):,} values where a row "
            f"has {n:,} features; give height, width and perhaps channels."
        )
    return shape


def _samples(read: Sequence[ReadSet], seed: int) -> tuple[Chunk, ...]:
    """Rows of each set, as many as a result carries along for pictures and for its pairs."""
    chunks = [one.studied for one in read]
    most = DRAWN_ROWS if len(read) == 2 else PAIRED_ROWS
    size = rows_within(DRAWN_BYTES // len(read), chunks[0].rows.shape[1], most, fewest=20)
    rows = (random_rows(len(one.ids), size, np.random.default_rng(seed)) for one in chunks)
    return tuple(one.take(index) for one, index in zip(chunks, rows, strict=True))


# ---- what a reader should know -----------------------------------------------------------------


def _source_notes(opened: Opened) -> list[Note]:
    """What was found in the data, and columns of the further rows that the sets have not."""
    further = [] if opened.further is None else [opened.further]
    found = [note for source in (*opened.sources, *further) for note in source.notes]
    changes = further[0].changes if further else ()
    return [*found, *(Note("schema", str(change), loud=True) for change in changes)]


def _notes(
    opened: Opened, model: Model, groups: Sequence[Group], verdict: Verdict | None
) -> Iterator[Note]:
    """The notes on a comparison, those of the sources first."""
    yield from _source_notes(opened)
    yield from model.notes
    if verdict is not None and math.isnan(verdict.pvalue):
        text = f"There is no p-value: a test needs at least {FEWEST_ROWS} rows in each set."
        yield Note("no p-value", text)
    for group in groups:
        rows = plural(group.n, "row")
        if group.own is not None and group.total < FEW_ROWS:
            yield Note("few rows", f"{group.name} has only {rows}: expect wide intervals.")
        if group.sampled:
            text = (
                f"Of {group.name} a uniform sample of {rows} was scored, not all {group.total:,}."
            )
            yield Note("sampled", text)
    yield from _constant(opened, model)
    if model.curve is not None and (verdict is None or verdict.differs):
        yield Note("curved", CURVED)


def _constant(opened: Opened, model: Model) -> Iterator[Note]:
    first, constant = opened.first, model.geometry.constant_features
    if first.feature_names is None or first.image_shape or not len(constant):
        return
    plan = first.plan
    own = set() if plan is None else {c.indicator_name for c in plan.used if c.indicator}
    names = [first.feature_names[j] for j in constant if first.feature_names[j] not in own]
    if names:  # else nothing is missing: no column of the user's is constant
        never = "never varies: it is" if len(names) == 1 else "never vary: they are"
        yield Note("constant columns", f"{listed(names)} {never} not compared.")
