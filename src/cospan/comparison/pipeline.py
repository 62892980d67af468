"""A comparison of K sets, stage by stage: open, read, fit, score, compare pairs, audit, remark.

Two sets are K = 2. Where a joint frame is asked for, two sets have more (`pairs.study_pair`: a
p-value, what changed); where it is not, K sets have directions and an order (`pairs.join_sets`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cospan._version import VERSION
from cospan.base.notes import Note, warn
from cospan.base.text import plural
from cospan.comparison.auditing import Audited, audit_rows, rows_to_check, sides_of_labels
from cospan.comparison.fitting import Model, fit_folds, fit_sets, usual_rows, without_gain
from cospan.comparison.opening import Opened
from cospan.comparison.pairs import (
    ScoredSets,
    join_sets,
    separate_pairs,
    shown_rows,
    study_pair,
)
from cospan.comparison.reading import (
    SAMPLE_SEED,
    MappedFolds,
    OwnRows,
    Progress,
    ReadSet,
    watched,
)
from cospan.comparison.result import Result
from cospan.comparison.scorer import Scorer, Sink
from cospan.comparison.scoring import Group, Tally
from cospan.comparison.settings import Settings
from cospan.data import Chunk, listing
from cospan.errors import InputError
from cospan.model import JointFrame
from cospan.summary import dealt_by_number

SCORED_ROWS = 200_000  # sets larger than this together are scored on a sample, in one pass
FEW_ROWS = 30
# Of a comparison whose rows are scored with curved features.
CURVED = "The difference is curved: means, spreads and correlations show only a part of it."
WORTH_SAYING = 0.05  # a share of rows that deserves a remark


class Asked(NamedTuple):
    """What was asked for.

    `prepare` checks the settings, opens the sets, and says whether they are two, to be compared by
    their joint frame.
    """

    prepare: Callable[[], tuple[Settings, Opened, bool]]
    image_shape: tuple[int, ...] | None
    options: dict[str, Any]  # of the sources, to be remembered


def compare_sets(
    asked: Asked, progress: Progress | None = None, sink: Sink | None = None
) -> Result:
    """Compare sets, from what is asked for to what is found."""
    started = time.perf_counter()
    settings, opened, joint = asked.prepare()
    try:
        done = _score_sets(settings, opened, joint, asked.image_shape, progress, sink)
    finally:  # after an error too: a column left out may be the reason
        warn(note for note in _source_notes(opened) if note.loud)
    names = done.opened.sets.names
    copies = done.opened.sets.dealing.by != "values"  # else each row is to count once
    pairs = separate_pairs(done.groups, done.fitted, copies)
    labelled = done.further if done.opened.labelled else None
    audited = audit_rows(done.groups, names, labelled, done.opened.classes)
    pair, linkage = None, None
    on_pair: tuple[Note, ...] = ()
    shown: list[Chunk] = []
    if isinstance(done.fitted.model, JointFrame):
        to_check = rows_to_check(audited, done.every_group, names)
        pair, on_pair = study_pair(
            done, done.fitted.model, pairs.between(0, 1), to_check, progress or _silent
        )
    else:
        linkage = join_sets(pairs.matrix(), done.fitted.order)
        shown = [] if done.shape else shown_rows(done.read, done.settings.seed)
    differs = pair is None or pair.changes.verdict.differs
    given = {name: value for name, value in asked.options.items() if value is not None}
    if not isinstance(given.get("groups", ""), str):
        given["groups"] = "given"
    warn((*done.fitted.model.notes, *audited.notes))
    return Result(
        names=names,
        model=done.fitted.model,
        directions=done.fitted.directions,
        groups=tuple(done.groups),
        further=done.further,
        pairs=pairs,
        linkage=linkage,
        audited=audited,
        pair=pair,
        feature_names=done.feature_names,
        image_shape=done.shape,
        settings={**done.settings.as_dict(), **given},
        warnings=_notes(done, audited, on_pair, differs),
        schema_changes=done.opened.sets.schema_changes,
        version=VERSION,
        seconds=time.perf_counter() - started,
        samples=tuple(one.rows for one in shown),
        merged=tuple(one.merged for one in shown),
    )


def _score_sets(
    settings: Settings,
    opened: Opened,
    joint: bool,
    image_shape: tuple[int, ...] | None,
    progress: Progress | None,
    sink: Sink | None,
) -> ScoredSets:
    """Read, fit, score."""
    sets = opened.sets
    settings = settings.settled(sets.n_rows, sets.n_features)
    shape = _shape_of_images(image_shape, opened)
    read = sets.read(exact=bool(settings.exact), seed=SAMPLE_SEED, progress=progress)
    if settings.score_all is None:
        settings = replace(settings, score_all=sum(one.rows for one in read) <= SCORED_ROWS)
    say = progress or _silent
    stage = "fitting the frame" if joint else "fitting the sets"
    say(stage, 0, 1)
    picture = shape is not None
    again = MappedFolds(sets, read, progress) if sets.has_rows(read) else None
    fitted = fit_sets(read, settings, joint=joint, picture=picture, first=sets.first, again=again)
    folds = fit_folds(read, fitted, settings, picture=picture, again=again)
    fitted, folds = without_gain(fitted, folds, read)
    say(stage, 1, 1)
    scorer = Scorer(fitted.model, settings.weighting, folds, usual_rows(read))
    groups = _score_own(opened, read, scorer, settings, progress, sink)
    further = _score_further(opened, scorer, progress, sink)
    return ScoredSets(settings, opened, shape, read, fitted, groups, further)


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
    """Score the sets' own rows, each by the model of the folds that it is not in."""
    tallies = [Tally(scorer, k, SAMPLE_SEED) for k in range(len(read))]
    for part in opened.sets.rows(read, bool(settings.score_all), progress):
        scored = tallies[part.number].add(part)
        if sink is not None:
            sink(opened.sets.names, read[part.number].name, scored)
    return [tally.finish(one.name, one.rows) for tally, one in zip(tallies, read, strict=True)]


def _score_further(
    opened: Opened, scorer: Scorer, progress: Progress | None, sink: Sink | None
) -> Group | None:
    """Score the rows that belong to no set."""
    if opened.further is None or opened.name_z is None:
        return None
    name = opened.name_z
    if name in opened.sets.names:  # the table of rows must tell them apart
        name = f"{name} (scored)"
    a, b = opened.sets.names[:2]
    sides = partial(sides_of_labels, names=(a, b), classes=opened.classes)
    tally = Tally(scorer, None, SAMPLE_SEED, sides if opened.labelled else None)
    done, n_folds = 0, opened.sets.dealing.n_folds
    for chunk in watched(opened.further, f"scoring {name}", progress):
        dealt = dealt_by_number(done + np.arange(len(chunk.rows)), n_folds)
        done += len(dealt)
        scored = tally.add(OwnRows(-1, chunk, dealt))
        if sink is not None:
            sink(opened.sets.names, name, scored)
    return tally.finish(name)


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


# ---- what a reader should know -----------------------------------------------------------------


def _source_notes(opened: Opened) -> list[Note]:
    """What was found in the data, and columns of the further rows that the sets have not."""
    further = [] if opened.further is None else [opened.further]
    found = [note for source in (*opened.sets.sources, *further) for note in source.notes]
    changes = further[0].changes if further else ()
    return [*found, *(Note("schema", str(change), loud=True) for change in changes)]


def _notes(
    done: ScoredSets, audited: Audited, on_pair: Sequence[Note], differs: bool
) -> tuple[Note, ...]:
    """The notes on a comparison, those of the sources first; `differs`: there is evidence."""
    opened, model = done.opened, done.fitted.model
    found = [*_source_notes(opened), *model.notes, *on_pair, *audited.notes]
    for group in done.every_group:
        found += _of_group(group, model)
    found += _constant(opened, model)
    if model.curve is not None and differs:
        found.append(Note("curved", CURVED))
    flagged = float(np.mean(np.asarray(audited.audit.flagged)))
    if flagged > WORTH_SAYING:
        text = (
            "{share:.0%} of the rows look more like another set.",
            "{share:.0%} of the rows look more like the other set.",
            "{share:.0%} of the labelled rows look more like the other set.",
        )[2 if audited.of == "z" else int(model.geometry.n_sets == 2)]
        found.append(Note("rows elsewhere", text.format(share=flagged)))
    return tuple(dict.fromkeys(found))


def _of_group(group: Group, model: Model) -> Iterator[Note]:
    if group.own is not None and group.total < FEW_ROWS:
        rows = plural(group.total, "row")
        text = "{name} has only {rows}: expect wide intervals."
        yield Note("few rows", text.format(name=group.name, rows=rows))
    if group.sampled:
        text = "Of {name} a uniform sample of {rows} was scored, not all {total:,}."
        rows = plural(group.n, "row")
        remedy = "score_all=True scores every one."
        said = text.format(name=group.name, rows=rows, total=group.total)
        yield Note("sampled", said, remedy)
    if isinstance(model, JointFrame) and group.kept.alignment is not None and model.blocks.k:
        astray = 1 - float(np.mean(np.asarray(group.kept.alignment.relational)))
        if astray > WORTH_SAYING:
            text = (
                "{share:.0%} of the rows of {name} reach outside what both sets span; without "
                "shrinkage their angles mislead."
            )
            remedy = 'Give shrinkage="auto".'
            yield Note("outside the sets", text.format(share=astray, name=group.name), remedy)


def _constant(opened: Opened, model: Model) -> Iterator[Note]:
    first = opened.sets.first
    constant = model.geometry.constant_features
    if first is None or first.feature_names is None or first.image_shape or not len(constant):
        return
    plan = first.plan
    own = set() if plan is None else {c.indicator_name for c in plan.used if c.indicator}
    names = [first.feature_names[j] for j in constant if first.feature_names[j] not in own]
    if not names:  # nothing is missing: no column of the user's is constant
        return
    text = "Constant in all sets, and kept out: {names}."
    if model.geometry.n_sets == 2:
        text = "Constant in both sets, and kept out: {names}."
    yield Note("constant columns", text.format(names=listing(names)))
