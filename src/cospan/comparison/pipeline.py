"""A comparison of K sets, stage by stage: open, read, fit, score, compare pairs, audit, remark.

Two sets are K = 2. Where a joint frame is asked for, two sets have more (`testing`: a p-value,
what changed); where it is not, K sets have directions and an order (`pairs.join_sets`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from cospan import __version__
from cospan.comparison.auditing import audit_rows, rows_to_check
from cospan.comparison.fitting import fit_sets
from cospan.comparison.opening import Opened
from cospan.comparison.pairs import join_sets, separate_pairs, tested_rows
from cospan.comparison.reading import OwnRows, Progress, ReadSet, watched
from cospan.comparison.remarks import heard_warnings, remarks
from cospan.comparison.result import Result
from cospan.comparison.scorer import Scorer, Sink
from cospan.comparison.scoring import Group, Tally
from cospan.comparison.settings import Settings
from cospan.comparison.testing import study_pair
from cospan.errors import InputError
from cospan.frame import JointFrame

__all__ = ["compare_sets"]

SCORED_ROWS = 200_000  # sets larger than this together are scored on a sample, in one pass


def compare_sets(
    prepare: Callable[[], tuple[Settings, Opened]],
    *,
    joint: bool,
    image_shape: tuple[int, ...] | None,
    options: dict[str, Any],
    progress: Progress | None = None,
    sink: Sink | None = None,
) -> Result:
    """Compare sets; `joint`: two of them, by their joint frame."""
    started = time.perf_counter()
    say = progress or _silent
    with heard_warnings() as heard:
        settings, opened = prepare()
        sets = opened.sets
        settings = settings.settled(sets.n_rows, sets.n_features)
        shape = _shape_of_images(image_shape, opened)
        read = sets.read(exact=bool(settings.exact), seed=settings.seed, progress=progress)
        if settings.score_all is None:
            settings = replace(settings, score_all=sum(r.rows for r in read) <= SCORED_ROWS)
        stage = "fitting the frame" if joint else "fitting the sets"
        say(stage, 0, 1)
        again = partial(sets.mapped, read, progress=progress) if sets.has_rows(read) else None
        fitted = fit_sets(
            read,
            settings,
            joint=joint,
            picture=shape is not None,
            first=sets.first,
            again=again,
        )
        say(stage, 1, 1)
        scorer = Scorer(fitted.model, settings.weighting)
        groups = _score_own(opened, read, scorer, settings, progress, sink)
        further = _score_further(opened, scorer, settings, progress, sink)
    samples = tested_rows(read, settings.seed)
    pairs = separate_pairs(groups, fitted, samples, settings)
    audited = audit_rows(groups, sets.names, further if opened.labelled else None, opened.classes)
    every = groups if further is None else [*groups, further]
    names = sets.first.feature_names if sets.first is not None else fitted.model.feature_names
    feature_names = names or _made_names(sets.n_features, shape)
    found, linkage = None, None
    if isinstance(fitted.model, JointFrame):
        found, why_not = study_pair(
            fitted.model,
            sets,
            read,
            groups,
            pairs.between(0, 1),
            samples,
            feature_names,
            rows_to_check(audited, every, sets.names),
            settings,
            say,
        )
        heard += why_not
    else:
        linkage = join_sets(pairs.matrix("value"), fitted.order)
    return Result(
        names=sets.names,
        model=fitted.model,
        directions=fitted.directions,
        groups=tuple(groups),
        further=further,
        pairs=pairs,
        linkage=linkage,
        audited=audited,
        pair=found,
        feature_names=feature_names,
        image_shape=shape,
        settings={**settings.as_dict(), **{k: v for k, v in options.items() if v is not None}},
        warnings=remarks(opened, fitted.model, every, audited, heard),
        version=__version__,
        seconds=time.perf_counter() - started,
    )


def _silent(stage: str, done: int, total: int | None) -> None:
    """Nobody wants to know."""


def _score_own(
    opened: Opened,
    read: Sequence[ReadSet],
    scorer: Scorer,
    settings: Settings,
    progress: Progress | None,
    sink: Sink | None,
) -> list[Group]:
    """Score the sets' own rows, each left out of its set."""
    tallies = [Tally(scorer, k, settings.seed) for k in range(len(read))]
    for part in opened.sets.rows(read, bool(settings.score_all), progress):
        scored = tallies[part.number].add(part)
        if sink is not None:
            sink(opened.sets.names, read[part.number].name, scored)
    return [tally.finish(one.name, one.rows) for tally, one in zip(tallies, read, strict=True)]


def _score_further(
    opened: Opened,
    scorer: Scorer,
    settings: Settings,
    progress: Progress | None,
    sink: Sink | None,
) -> Group | None:
    """Score the rows that belong to no set."""
    if opened.further is None or opened.name_z is None:
        return None
    name = opened.name_z
    if name in opened.sets.names:  # the table of rows must tell them apart
        name = f"{name} (scored)"
    tally = Tally(scorer, None, settings.seed)
    for chunk in watched(opened.further, f"scoring {name}", progress):
        scored = tally.add(OwnRows(-1, chunk))
        if sink is not None:
            sink(opened.sets.names, name, scored)
    return tally.finish(name)


def _made_names(n: int, shape: tuple[int, ...] | None) -> tuple[str, ...]:
    """Names for features that have none: x0, x1, …, or a pixel's row, column and channel."""
    if shape is None:
        return tuple(f"x{j}" for j in range(n))
    return tuple(f"pixel {','.join(map(str, place))}" for place in np.ndindex(shape))


def _shape_of_images(given: tuple[int, ...] | None, opened: Opened) -> tuple[int, ...] | None:
    first, n = opened.sets.first, opened.sets.n_features
    if given is None:
        return None if first is None else first.image_shape
    shape = (given[0], given[0]) if len(given) == 1 else tuple(int(side) for side in given)
    if len(shape) > 3 or math.prod(shape) != n:
        raise InputError(
            f"image_shape {'x'.join(map(str, shape))} has {math.prod(shape):,} values where a row "
            f"has {n:,} features; give height, width and perhaps channels."
        )
    return shape
