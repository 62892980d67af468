"""The stages of a comparison, in order: read, fit, score, separate, test, audit, remark.

:func:`cospan.comparison.compare` calls them one after the other; each takes what the earlier
ones made and the :class:`Settings`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan._arrays import one_blas_thread
from cospan._warnings import heard, warn
from cospan.changes import Changes, find_changes
from cospan.comparison.opening import Sets
from cospan.comparison.reading import Progress, ReadSet, read_set, watched
from cospan.comparison.sampling import Reservoir
from cospan.comparison.scoring import ScoredGroup, Scorer, Sink
from cospan.comparison.settings import Settings
from cospan.comparison.text import plural
from cospan.errors import InputError
from cospan.frame import JointFrame
from cospan.sources import Chunk
from cospan.sources.base import listing

if TYPE_CHECKING:
    from cospan.audit import LabelAudit
    from cospan.sets import Geometry
    from cospan.significance import Separation, ShiftTest

__all__ = [
    "Fitted",
    "Progress",
    "Settings",
    "audit_groups",
    "fit_sets",
    "heard_warnings",
    "mean_effect",
    "of_sets",
    "reliabilities",
    "remarks",
    "score_sets",
    "separate",
    "shift_of_sets",
    "sides_of_labels",
    "tested_rows",
]

SCORED_ROWS = 200_000  # sets larger than this together are scored on a sample, in one pass
TESTED_ROWS = 2_500  # rows of each set that enter the permutation test, at most
TESTED_WORK = 2**25  # and rows times features squared: hundreds of frames are fitted to them
FEW_ROWS = 30
LOOKS_ELSEWHERE = 0.8  # a row looks like another set that is four times as probable as its own
RAW_BINS = 30  # of the histograms of raw angles, 3° each, as the paper has them
FEWEST_HALVED = 4  # rows of a set, of which the halves are fitted to see how much a fit strays
WORTH_SAYING = 0.05  # a share of rows that deserves a remark


@contextmanager
def heard_warnings() -> Iterator[list[str]]:
    """Passes warnings on at the end, each once; the list then holds what cospan warned of."""
    texts: list[str] = []
    try:
        with heard() as caught:
            yield texts
    finally:  # after an error too: a column left out may be the reason
        texts.extend(dict.fromkeys(caught))
        for text in texts:
            warn(text)


class Fitted(NamedTuple):
    """Both sets after one pass over each, and their frame."""

    a: ReadSet
    b: ReadSet
    frame: JointFrame
    settings: Settings


def fit_sets(sets: Sets, settings: Settings, picture: bool, progress: Progress | None) -> Fitted:
    """Summarise both sets and fit the frame."""
    rows = [source.n_rows for source in (sets.a, sets.b)]
    known = None if None in rows else sum(n or 0 for n in rows)
    settings = settings.settled(known, sets.a.n_features)
    a, b = (
        read_set(source, name, exact=bool(settings.exact), seed=seed, progress=progress)
        for source, name, seed in (
            (sets.a, sets.names[0], settings.seed),
            (sets.b, sets.names[1], settings.seed + 1),
        )
    )
    if settings.score_all is None:
        settings = replace(settings, score_all=a.rows + b.rows <= SCORED_ROWS)
    report = progress or _silent
    report("fitting the frame", 0, 1)
    frame = JointFrame.from_summaries(a.summary, b.summary, picture=picture, **settings.geometry)
    if sets.a.plan is not None:  # so that a saved frame can read tables as these were read
        encoding = sets.a.plan.to_dict()
        frame = replace(frame, geometry=replace(frame.geometry, encoding=encoding))
    report("fitting the frame", 1, 1)
    return Fitted(a, b, frame, settings)


def _silent(stage: str, done: int, total: int | None) -> None:
    """Nobody wants to know."""


def score_sets(
    sets: Sets,
    fitted: Fitted,
    settings: Settings,
    progress: Progress | None,
    sink: Sink | None,
) -> tuple[ScoredGroup, ...]:
    """Score A's and B's rows by leave-one-out, and Z's as they are."""
    groups = []
    for side, read in (("A", fitted.a), ("B", fitted.b)):
        again = fitted.settings.score_all and not read.complete
        chunks = watched(read.source, f"scoring {read.name}", progress) if again else [read.sample]
        scorer = Scorer(fitted.frame, settings.weighting, side)
        groups.append(
            scorer.score(read.name, chunks, seed=settings.seed, total=read.rows, sink=sink)
        )
    if sets.z is not None:
        chunks = watched(sets.z, f"scoring {sets.names[2]}", progress)
        scorer = Scorer(fitted.frame, settings.weighting)
        groups.append(scorer.score(sets.names[2], chunks, seed=settings.seed, sink=sink))
    return tuple(groups)


def separate(groups: tuple[ScoredGroup, ...], fitted: Fitted, settings: Settings) -> Separation:
    """How far apart the angles of A and of B are; the intervals know that the frame was fitted."""
    from cospan.significance import separation

    a, b = (np.asarray(group.alignment.theta, dtype=np.float64) for group in groups[:2])
    samples = _tested_rows(fitted, settings)
    reliability = reliabilities(fitted.frame.geometry, samples, settings.seed)[0, 1]
    # Raw angles are no probabilities: they are compared as histograms.
    bins = None if fitted.frame.geometry.calibration.offsets else RAW_BINS
    return separation(a, b, bins=bins, reliability=reliability, random_state=settings.seed)


def _tested_rows(fitted: Fitted, settings: Settings) -> list[NDArray[np.float64]]:
    return tested_rows([fitted.a.sample, fitted.b.sample], settings.seed)


def tested_rows(samples: Sequence[Chunk], seed: int) -> list[NDArray[np.float64]]:
    """Rows of each set, as many as repeated fits can take."""
    width = min(samples[0].rows.shape[1], 128)  # the test itself keeps no more directions
    size = min(TESTED_ROWS, TESTED_WORK // width**2)
    found = []
    for chunk in samples:
        sample: Reservoir[Chunk] = Reservoir(size, seed)
        sample.add(chunk)
        found.append(sample.result().rows.astype(np.float64))
    return found


def reliabilities(
    geometry: Geometry, samples: Sequence[NDArray[np.float64]], seed: int
) -> NDArray[np.float64]:
    """How far the angles of each pair are the sets' and not the fit's noise, (K, K).

    0, so the widest intervals, where halves of a set would be too small to say, or nothing
    keeps a fit to them steady.
    """
    from cospan.significance import fit_reliabilities

    found = np.zeros((len(samples), len(samples)))
    enough = [k for k, rows in enumerate(samples) if len(rows) >= FEWEST_HALVED]
    if len(enough) > 1 and geometry.shrinkage > 0:
        with one_blas_thread():
            known = fit_reliabilities(geometry, [samples[k] for k in enough], random_state=seed)
        found[np.ix_(enough, enough)] = known
    return found


def shift_of_sets(
    fitted: Fitted, settings: Settings, progress: Progress | None
) -> tuple[ShiftTest | None, list[str]]:
    """Are the two sets samples of one distribution? And why there is no answer, if none."""
    from cospan.significance import shift_test

    if settings.n_permutations == 0:
        return None, []
    samples = _tested_rows(fitted, settings)
    report = progress or _silent
    report("testing for a shift", 0, 1)
    try:
        # Thousands of small products: threads would wait for each other longer than they work,
        # ten times longer where other programs want the same cores.
        with one_blas_thread():
            test = shift_test(
                *samples, n_permutations=settings.n_permutations, random_state=settings.seed
            )
    except InputError as error:  # too few rows for a test are still enough for a comparison
        return None, [f"There is no p-value: {error}"]
    report("testing for a shift", 1, 1)
    return test, []


def changes_of(
    fitted: Fitted,
    sets: Sets,
    separation: Separation,
    shift: ShiftTest | None,
    pulls: NDArray[np.float64],
    names: Sequence[str],
) -> Changes | None:
    """Which columns and relations changed, and the verdict; None in the linear span."""
    if not fitted.frame.geometry.affine:
        return None
    profiles = [source.profiles for source in (sets.a, sets.b)]
    return find_changes(
        fitted.frame,
        fitted.a.sample.rows,
        fitted.b.sample.rows,
        names=names,
        plan=sets.a.plan,
        profiles=(profiles[0][0], profiles[1][0]) if all(len(p) == 1 for p in profiles) else None,
        auc=separation.auc,
        shift=shift,
        pulls=pulls,
        set_names=(sets.names[0], sets.names[1]),
    )


def mean_effect(group: ScoredGroup) -> NDArray[np.float64]:
    """Mean attribution of each feature over the rows shown."""
    return np.asarray(np.mean(np.asarray(group.attribution), axis=0))


def audit_groups(
    groups: tuple[ScoredGroup, ...], separated: bool, sets: Sets, classes: tuple[Any, Any]
) -> tuple[LabelAudit, str]:
    """Labels against angles: Z's labels where it has some, else the sets themselves as labels.

    Angles that do not separate the sets are no evidence against any label.
    """
    from cospan.audit import LabelAudit

    names = sets.names[:2]
    given = groups[2].labels if len(groups) > 2 else None
    posterior = np.concatenate([np.asarray(group.alignment.posterior) for group in groups[:2]])
    own = np.repeat([0, 1], [len(group.ids) for group in groups[:2]])
    reference = None
    if given is not None:
        reference = (posterior, own)
        own = sides_of_labels(given, names, classes)
        posterior = np.asarray(groups[2].alignment.posterior)
    audit = LabelAudit.from_weights(
        posterior, own, np.array(names), labels=given, reference=reference
    )
    if given is None:
        audit = of_sets(audit)
    if not separated:
        audit = replace(audit, flagged=np.zeros_like(audit.flagged))
    return audit, "sets" if given is None else "z"


def of_sets(audit: LabelAudit) -> LabelAudit:
    """The audit of rows that have a set and no label: flagged is what looks like another set.

    A label may be flipped, and the audit asks whether it is. A file is what it is: its rows that
    look like another file's are worth a look, mistake or not.
    """
    own, best = 1 - audit.suspicion, audit.weights.max(axis=1, initial=0.0)
    alike = {frozenset(map(str, pair)) for pair in audit.inseparable}
    pairs = zip(audit.labels.tolist(), audit.suggested.tolist(), strict=True)
    apart = [frozenset(map(str, pair)) not in alike for pair in pairs]
    flagged = (best > own) & (best >= LOOKS_ELSEWHERE * (best + own)) & np.array(apart, dtype=bool)
    return replace(audit, flagged=flagged)


def sides_of_labels(
    labels: NDArray[Any], names: tuple[str, str], classes: tuple[Any, Any]
) -> NDArray[np.intp]:
    """0 for a label that means A, 1 for B.

    A label may be the set's name, the class taken for it, or 0 and 1.

    Examples
    --------
    >>> sides_of_labels(np.array(["dog", "cat", "dog"]), ("cat", "dog"), (None, None))
    array([1, 0, 1])
    """
    texts = np.array([_as_text(label) for label in np.asarray(labels).tolist()])
    found = set(texts.tolist())
    for pair in (names, tuple(map(_as_text, classes)), ("0", "1")):
        if found <= set(pair):
            return np.asarray(texts == pair[1], dtype=np.intp)
    unknown = sorted(found - set(names))
    raise InputError(
        f"labels hold {listing(unknown)}; each label must be {names[0]!r} or {names[1]!r}."
    )


def _as_text(label: Any) -> str:
    """3.0 and "3" are one class: labels often come as floats because one is missing."""
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def remarks(
    fitted: Fitted,
    groups: tuple[ScoredGroup, ...],
    separation: Separation,
    shift: ShiftTest | None,
    audit: LabelAudit | None,
    sets: Sets,
    more: list[str],
) -> tuple[str, ...]:
    """What a reader should know before believing the numbers."""
    notes = [note for source in sets[:3] if source is not None for note in source.notes]
    notes += more
    blocks = fitted.frame.blocks
    for group in groups[:2]:
        if group.total < FEW_ROWS:
            rows = plural(group.total, "row")
            notes.append(f"{group.name} has only {rows}: expect wide intervals.")
    for group in groups:
        if group.sampled:
            notes.append(
                f"Of {group.name} a uniform sample of {plural(group.n, 'row')} was scored, not "
                f"all {group.total:,}; score_all=True scores every one."
            )
        astray = 1 - float(np.mean(np.asarray(group.alignment.relational)))
        if blocks.k and astray > WORTH_SAYING:
            notes.append(
                f"{astray:.0%} of the rows of {group.name} reach outside what both sets span; "
                "without shrinkage their angles mislead."
            )
    names = sets.a.feature_names
    constant = fitted.frame.geometry.constant_features
    if len(constant) and names is not None and not sets.a.image_shape:
        shown = listing([names[j] for j in constant])
        notes.append(f"Constant in both sets, and kept out: {shown}.")
    if audit is not None:
        conflicts = float(np.mean(np.asarray(audit.flagged)))
        if conflicts > WORTH_SAYING:
            rows = "labelled rows" if groups[-1].labels is not None else "rows"
            notes.append(f"{conflicts:.0%} of the {rows} look more like the other set.")
    return tuple(dict.fromkeys(notes))
