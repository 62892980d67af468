"""A comparison of K sets, stage by stage: read, fit, score, compare pairs, audit, remark.

Two sets have a joint frame, and are tested on all rows at hand (`pairs.study_pair`); more have
directions and an order (`pairs.join_sets`), and their pairs are tested when they are asked for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

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
from cospan.comparison.result import Comparison
from cospan.comparison.scorer import Scorer, Sink
from cospan.comparison.scoring import Group, Tally
from cospan.comparison.settings import Settings
from cospan.data import Chunk, listing
from cospan.errors import InputError
from cospan.model import JointFrame, ManyFrame
from cospan.summary import dealt_by_number, random_rows, rows_within

SCORED_ROWS = 200_000  # sets larger than this together are scored on a sample, in one pass
FEW_ROWS = 30
# Of a comparison whose rows are scored with curved features.
CURVED = "The difference is curved: means, spreads and correlations show only a part of it."
WORTH_SAYING = 0.05  # a share of rows that deserves a remark
DRAWN_ROWS, DRAWN_BYTES = 2_000, 2**25  # of a set that a result keeps; of all of them together


def compare_sets(
    settings: Settings,
    opened: Opened,
    *,
    image_shape: tuple[int, ...] | None,
    options: dict[str, Any],
    progress: Progress | None = None,
    sink: Sink | None = None,
) -> Comparison:
    """Compare opened sets; `options` of their sources are remembered."""
    started = time.perf_counter()
    try:
        done = _score_sets(settings, opened, image_shape, progress, sink)
    finally:  # after an error too: a column left out may be the reason
        warn(note for note in _source_notes(opened) if note.loud)
    names, model = done.opened.sets.names, done.fitted.model
    copies = done.opened.sets.dealing.by != "values"  # else each row is to count once
    pairs = separate_pairs(done.groups, done.fitted, copies)
    labelled = done.further if done.opened.labelled else None
    audited = audit_rows(done.groups, names, labelled, done.opened.classes)
    changes, linkage = None, None
    directions: JointFrame | ManyFrame | None = done.fitted.directions
    on_pair: tuple[Note, ...] = ()
    if isinstance(model, JointFrame):
        to_check = rows_to_check(audited, done.every_group, names)
        pair, on_pair = study_pair(done, model, pairs.between(0, 1), to_check, progress or _silent)
        changes, directions = pair.changes, model
    else:
        linkage = join_sets(pairs.matrix(), done.fitted.order)
    assert directions is not None  # K sets were fitted with theirs
    differs = changes is None or changes.verdict.differs
    given = {name: value for name, value in options.items() if value is not None}
    if not isinstance(given.get("groups", ""), str):
        given["groups"] = "given"
    warn((*model.notes, *audited.notes))
    return Comparison(
        names=names,
        groups=tuple(done.groups),
        further=done.further,
        fitted=model,
        pairs=pairs,
        audit=audited.audit,
        audit_of=audited.of,
        directions=directions,
        linkage=linkage,
        samples=_samples(done.read, settings.seed),
        feature_names=done.feature_names,
        image_shape=done.shape,
        settings={**done.settings.as_dict(), **given},
        warnings=_notes(done, audited, on_pair, differs),
        schema_changes=done.opened.sets.schema_changes,
        version=VERSION,
        seconds=time.perf_counter() - started,
        _changes=changes,
    )


def _samples(read: Sequence[ReadSet], seed: int) -> tuple[Chunk, ...]:
    """Rows of each set, as many as a result carries along for pictures and for its pairs."""
    width = read[0].sample.rows.shape[1]
    most = DRAWN_ROWS if len(read) == 2 else DRAWN_ROWS // 2
    size = rows_within(DRAWN_BYTES // len(read), width, most, fewest=20)
    rows = (random_rows(len(one.sample.rows), size, np.random.default_rng(seed)) for one in read)
    return tuple(one.sample.take(index) for one, index in zip(read, rows, strict=True))


def _score_sets(
    settings: Settings,
    opened: Opened,
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
    joint, stage = len(read) == 2, "fitting the sets"
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
