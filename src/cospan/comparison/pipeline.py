"""A comparison of K sets, stage by stage: read, fit, score, compare pairs, check rows, remark.

Two sets have a joint frame, and are tested on all rows at hand; the pairs of more are tested when
they are asked for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from cospan._version import VERSION
from cospan.base.notes import Note, warn
from cospan.base.text import plural
from cospan.comparison.fitting import fit_models, usual_rows
from cospan.comparison.opening import Opened
from cospan.comparison.pairs import profiles_of, sizes_of, study_pair, totals_of
from cospan.comparison.reading import ReadSet, ReadSets, read_sets, watched
from cospan.comparison.result import Comparison
from cospan.comparison.rows import check_labels, check_rows, sides_of_labels
from cospan.comparison.scoring import Group, Model, Scorer, Sink, Tally
from cospan.comparison.settings import Progress, Settings, SourceOptions
from cospan.data import Chunk, listing
from cospan.errors import InputError
from cospan.evidence import FEWEST_ROWS, Verdict
from cospan.model import JointFrame, ManyFrame
from cospan.summary import dealt_by_number, random_rows, rows_within

SCORED_ROWS = 200_000  # sets larger than this together are scored on a sample, in one pass
FEW_ROWS = 30
# Of a comparison whose rows are scored with curved features.
CURVED = "The difference is curved: means, spreads and correlations show only a part of it."
WORTH_SAYING = 0.05  # a share of rows that deserves a remark
DRAWN_ROWS, DRAWN_BYTES = 2_000, 2**25  # of a set that a result keeps; of all of them together
APART = 3.0  # standard deviations between the means of a date, from which it separates the sets


def compare_sets(
    settings: Settings,
    opened: Opened,
    *,
    image_shape: tuple[int, ...] | None,
    options: SourceOptions,
    progress: Progress | None = None,
    sink: Sink | None = None,
) -> Comparison:
    """Compare opened sets; `options` of their sources are remembered."""
    started = time.perf_counter()
    say = progress or _silent
    names, first = opened.names, opened.first
    shape = first.image_shape if image_shape is None else _shape(image_shape, first.n_features)
    known = [source.n_rows for source in opened.sources]
    n_rows = None if None in known else sum(n or 0 for n in known)
    settings = settings.settled(n_rows, first.n_features)
    try:
        read = read_sets(opened, bool(settings.exact), progress)
        if settings.score_all is None:
            in_all = sum(one.rows for one in read.sets)
            settings = replace(settings, score_all=in_all <= SCORED_ROWS)
        say("fitting the sets", 0, 1)
        scorer = fit_models(read, settings, picture=shape is not None)
        scorer = scorer._replace(usual=usual_rows(read))
        say("fitting the sets", 1, 1)
        groups = _score_own(read, scorer, bool(settings.score_all), sink)
        further = _score_further(opened, scorer, read, sink)
    finally:  # after an error too: a column left out may be the reason
        warn(note for note in _source_notes(opened) if note.loud)
    model, audit = scorer.model, None
    # Where rows are repeated beyond chance, each is to count once.
    sizes = sizes_of(groups, copies=read.dealt_by != "values")
    if opened.labelled and further is not None:
        further, audit = check_labels(groups, names, further)
    else:
        groups = check_rows(groups)
    every = groups if further is None else (*groups, further)
    features = first.feature_names or _made_names(first.n_features, shape)
    schema = tuple(dict.fromkeys(one for source in opened.sources for one in source.changes))
    verdict: Verdict | None = None
    directions: JointFrame | ManyFrame
    if isinstance(model, JointFrame):
        say("testing for a difference", 0, 1)
        verdict = study_pair(
            model,
            (read.sets[0].sample, read.sets[1].sample),
            names=(names[0], names[1]),
            features=features,
            plan=first.plan,
            size=sizes[0, 1],
            scored=every,
            schema=schema,
            permutations=settings.n_permutations,
            seed=settings.seed,
            profiles=profiles_of(opened),
            totals=totals_of(read.sets),
        )
        say("testing for a difference", 1, 1)
        directions = model
    else:
        directions = ManyFrame.of_costs([one.summary for one in read.sets], model, names)
    warn(model.notes)
    given = {name: value for name, value in options.items() if value is not None}
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
        settings={**settings.as_dict(), **given},
        warnings=tuple(dict.fromkeys(_notes(opened, model, every, verdict))),
        schema_changes=schema,
        version=VERSION,
        seconds=time.perf_counter() - started,
        _verdict=verdict,
        _audit=audit,
    )


def _silent(stage: str, done: int, total: int | None) -> None:
    """Nobody wants to know."""


def _shape(given: tuple[int, ...], n: int) -> tuple[int, ...]:
    shape = (given[0], given[0]) if len(given) == 1 else tuple(int(side) for side in given)
    if len(shape) > 3 or math.prod(shape) != n:
        raise InputError(
            f"image_shape {'x'.join(map(str, shape))} has {math.prod(shape):,} values where a row "
            f"has {n:,} features; give height, width and perhaps channels."
        )
    return shape


def _made_names(n: int, shape: tuple[int, ...] | None) -> tuple[str, ...]:
    """Names for features that have none: x0, x1, …, or a pixel's row, column and channel."""
    if shape is None:
        return tuple(f"x{j}" for j in range(n))
    return tuple(f"pixel {','.join(map(str, place))}" for place in np.ndindex(shape))


def _score_own(read: ReadSets, scorer: Scorer, every: bool, sink: Sink | None) -> tuple[Group, ...]:
    """Score the sets' own rows, each by the model of the folds that it is not in."""
    tallies = [Tally(scorer, k) for k in range(len(read.sets))]
    for k, chunk, dealt in read.rows(every):
        scored = tallies[k].add(chunk, dealt)
        if sink is not None:
            sink(read.opened.names, read.sets[k].name, scored)
    both = zip(tallies, read.sets, strict=True)
    return tuple(tally.finish(one.name, one.rows) for tally, one in both)


def _score_further(
    opened: Opened, scorer: Scorer, read: ReadSets, sink: Sink | None
) -> Group | None:
    """Score the rows that belong to no set."""
    if opened.further is None:
        return None
    sides = partial(sides_of_labels, names=opened.names, classes=opened.classes)
    tally = Tally(scorer, None, sides if opened.labelled else None)
    done = 0
    for chunk in watched(opened.further, f"scoring {opened.name_z}", read.progress):
        dealt = dealt_by_number(done + np.arange(len(chunk.rows)), read.n_folds)
        done += len(dealt)
        scored = tally.add(chunk, dealt)
        if sink is not None:
            sink(opened.names, opened.name_z, scored)
    return tally.finish(opened.name_z)


def _samples(read: Sequence[ReadSet], seed: int) -> tuple[Chunk, ...]:
    """Rows of each set, as many as a result carries along for pictures and for its pairs."""
    width = read[0].sample.rows.shape[1]
    most = DRAWN_ROWS if len(read) == 2 else DRAWN_ROWS // 2
    size = rows_within(DRAWN_BYTES // len(read), width, most, fewest=20)
    rows = (random_rows(len(one.sample.rows), size, np.random.default_rng(seed)) for one in read)
    return tuple(one.sample.take(index) for one, index in zip(read, rows, strict=True))


# ---- what a reader should know -----------------------------------------------------------------


def _source_notes(opened: Opened) -> list[Note]:
    """What was found in the data, and columns of the further rows that the sets have not."""
    further = [] if opened.further is None else [opened.further]
    found = [note for source in (*opened.sources, *further) for note in source.notes]
    changes = further[0].changes if further else ()
    return [*found, *(Note("schema", str(change), loud=True) for change in changes)]


def _notes(
    opened: Opened,
    model: Model,
    groups: Sequence[Group],
    verdict: Verdict | None,
) -> Iterator[Note]:
    """The notes on a comparison, those of the sources first."""
    yield from _source_notes(opened)
    yield from model.notes
    if verdict is not None:
        yield from _of_pair(verdict)
    for group in groups:
        yield from _of_group(group, model)
    yield from _constant(opened, model)
    if model.curve is not None and (verdict is None or verdict.differs):
        yield Note("curved", CURVED)
    labelled = opened.labelled
    checked = [group.elsewhere for group in groups if (group.own is None) == labelled]
    flagged = float(np.mean(np.concatenate(checked)))
    if flagged > WORTH_SAYING:
        rows = "labelled rows" if labelled else "rows"
        other = "the other" if model.geometry.n_sets == 2 else "another"
        yield Note("rows elsewhere", f"{flagged:.0%} of the {rows} look more like {other} set.")


def _of_pair(verdict: Verdict) -> Iterator[Note]:
    """Without a p-value; or dates that separate the sets, as those of training and production."""
    if math.isnan(verdict.pvalue):
        text = f"There is no p-value: a test needs at least {FEWEST_ROWS} rows in each set."
        yield Note("no p-value", text)
    for one in verdict.columns:
        if one.kind == "date" and abs(one.difference) >= APART:
            text = (
                f"The sets are of different times: {one.name} alone separates them, whatever else "
                "changed."
            )
            yield Note("times apart", text, f'drop="{one.name}" compares the rest.')


def _of_group(group: Group, model: Model) -> Iterator[Note]:
    if group.own is not None and group.total < FEW_ROWS:
        rows = plural(group.total, "row")
        yield Note("few rows", f"{group.name} has only {rows}: expect wide intervals.")
    if group.sampled:
        rows = plural(group.n, "row")
        text = f"Of {group.name} a uniform sample of {rows} was scored, not all {group.total:,}."
        yield Note("sampled", text, "score_all=True scores every one.")
    if isinstance(model, JointFrame) and model.blocks.k:
        astray = 1 - float(np.mean(np.asarray(group.alignment.relational)))
        if astray > WORTH_SAYING:
            text = (
                f"{astray:.0%} of the rows of {group.name} reach outside what both sets span; "
                "without shrinkage their angles mislead."
            )
            yield Note("outside the sets", text, 'Give shrinkage="auto".')


def _constant(opened: Opened, model: Model) -> Iterator[Note]:
    first, constant = opened.first, model.geometry.constant_features
    if first.feature_names is None or first.image_shape or not len(constant):
        return
    plan = first.plan
    own = set() if plan is None else {c.indicator_name for c in plan.used if c.indicator}
    names = [first.feature_names[j] for j in constant if first.feature_names[j] not in own]
    if names:  # else nothing is missing: no column of the user's is constant
        sets = "both" if model.geometry.n_sets == 2 else "all"
        text = f"Constant in {sets} sets, and kept out: {listing(names)}."
        yield Note("constant columns", text)
