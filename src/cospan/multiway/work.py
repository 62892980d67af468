"""A comparison of K sets, carried out stage by stage: open, read, fit, score, compare pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.audit import LabelAudit
from cospan.comparison.opening import like_sets
from cospan.comparison.reading import Progress, watched
from cospan.comparison.settings import Settings
from cospan.comparison.stages import (
    FEW_ROWS,
    SCORED_ROWS,
    heard_warnings,
    of_sets,
    reliabilities,
    tested_rows,
)
from cospan.comparison.text import plural
from cospan.errors import InputError, SourceError
from cospan.multiway.scoring import Sink, Tally, score_others, score_sets
from cospan.multiway.sets import ManySets, OneSet, Walked, open_many
from cospan.multiway.stages import FittedSets, fit_many, pair_matrix
from cospan.sources import Source, open_source

__all__ = ["Asked", "carry_out"]

Floats = NDArray[np.float64]


class Asked(NamedTuple):
    """What :func:`cospan.compare_many` was asked for."""

    sets: Any
    Z: Any
    label: Any
    name_z: str | None
    image_shape: tuple[int, ...] | None
    settings: Settings
    intervals: dict[str, Any]
    options: dict[str, Any]


def carry_out(asked: Asked, progress: Progress | None, sink: Sink | None) -> dict[str, Any]:
    """The fields of a :class:`cospan.ManyComparison`, but for its version and time."""
    with heard_warnings() as heard:
        many = open_many(asked.sets, label=asked.label, **asked.options)
        further = _further(asked, many)
        settings = asked.settings.settled(many.n_rows, many.n_features)
        shape = _shape(asked.image_shape, many)
        read = many.read(exact=bool(settings.exact), seed=settings.seed, progress=progress)
        settings = _settled_scoring(settings, read)
        if progress is not None:
            progress("fitting the sets", 0, 1)
        fitted = fit_many(read, settings, shape is not None)
        plan = many.sources[0].plan if many.sources else None
        if plan is not None:  # so that a saved model can read tables as these were read
            geometry = replace(fitted.costs.geometry, encoding=plan.to_dict())
            fitted = fitted._replace(costs=replace(fitted.costs, geometry=geometry))
        if progress is not None:
            progress("fitting the sets", 1, 1)
        walk = many.walk(read, progress) if settings.score_all else _samples(read)
        tallies = score_sets(fitted.costs, walk, many.names, settings.seed, sink)
        name_z = None if further is None else asked.name_z or further.name
        if name_z in many.names:  # the table of rows must tell them apart
            name_z = f"{name_z} (scored)"
        if further is not None and name_z is not None:
            chunks = watched(further, f"scoring {name_z}", progress)
            tallies.append(
                score_others(fitted.costs, chunks, many.names, name_z, settings.seed, sink)
            )
    return {
        "names": many.names,
        "rows": tuple(one.rows for one in read),
        "name_z": name_z,
        "costs": fitted.costs,
        "frame": fitted.frame,
        "feature_names": fitted.costs.feature_names,
        "image_shape": shape,
        "settings": _shown(asked, settings),
        "warnings": _remarks(many, read, tallies, heard),
        **_samples_and_pairs(
            many,
            tallies,
            fitted,
            tested_rows([one.sample for one in read], settings.seed),
            asked.intervals,
            settings.seed,
        ),
    }


def _samples_and_pairs(
    many: ManySets,
    tallies: list[Tally],
    fitted: FittedSets,
    samples: Sequence[Floats],
    intervals: dict[str, Any],
    seed: int,
) -> dict[str, Any]:
    """What was counted and kept of the scored rows, and what follows for every pair."""
    K = len(many.names)
    kept = [tally.kept.result() for tally in tallies]
    order = fitted.order
    calibrate = bool(fitted.costs.geometry.calibration.offsets)
    pairs = pair_matrix(
        [part.weights for part in kept[:K]],
        order,
        calibrate=calibrate,
        reliability=_reliability(fitted, samples, seed),
        seed=seed,
        **intervals,
    )
    linkage, leaves = _linkage(pairs.value, order)
    group = np.repeat(np.arange(len(kept)), [len(part.ids) for part in kept])
    weights = np.concatenate([part.weights for part in kept])
    own = group < K
    return {
        "scored": tuple(tally.n for tally in tallies[:K]),
        "rows_z": tallies[K].n if len(tallies) > K else 0,
        "weights": weights,
        "group": group,
        "ids": _joined([part.ids for part in kept]),
        "confusion": np.stack([tally.nearest for tally in tallies[:K]]),
        "pair_counts": np.stack([tally.counts for tally in tallies[:K]]),
        "fisher_rao": pairs.value,
        "fisher_rao_low": pairs.low,
        "fisher_rao_high": pairs.high,
        "confidence": float(intervals["confidence"]),
        "linkage": linkage,
        "order": leaves,
        "audit": of_sets(LabelAudit.from_weights(weights[own], group[own], np.array(many.names))),
    }


def _reliability(fitted: FittedSets, samples: Sequence[Floats], seed: int) -> Floats:
    """The fit's part in every pair, from sets in the order of their content, in the caller's."""
    back = np.argsort(fitted.order)
    arranged = [samples[k] for k in fitted.order]
    return reliabilities(fitted.costs.geometry, arranged, seed)[np.ix_(back, back)]


def _linkage(distance: Floats, order: list[int]) -> tuple[Floats, NDArray[np.intp]]:
    """Average linkage, and the leaves so ordered that close sets stand side by side."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    # Ties are broken by place, so the places are those that the sets' content gives.
    arranged = distance[np.ix_(order, order)]
    joined = linkage(squareform(arranged, checks=False), "average", optimal_ordering=True)
    leaves = np.asarray(order, dtype=np.intp)[leaves_list(joined)]
    nodes = joined[:, :2].astype(np.intp)
    single = nodes < len(order)
    nodes[single] = np.asarray(order)[nodes[single]]
    return np.column_stack([nodes, joined[:, 2:]]), leaves


# ---- arguments ---------------------------------------------------------------------------------


def _further(asked: Asked, many: ManySets) -> Source | None:
    """Z, opened, with the features of the sets."""
    if asked.Z is None:
        return None
    named = isinstance(asked.Z, str) or hasattr(asked.Z, "__fspath__")
    options = {"name": None if named else asked.name_z or "Z", **asked.options}
    source = _opened(asked.Z, asked.label, options)
    if many.sources:
        return like_sets(source, many.sources[0])
    if source.n_features != many.n_features:
        raise InputError(
            f"{source.name} has {source.n_features:,} features and the sets have "
            f"{many.n_features:,}; all must describe their rows by the same features."
        )
    return source


def _opened(Z: Any, label: Any, options: dict[str, Any]) -> Source:
    """Z opened; a table to score often has the column of the classes, too: there no feature."""
    opened_before = isinstance(Z, Source) or (isinstance(Z, str) and Z == "-")
    if isinstance(label, str) and not opened_before:
        with suppress(InputError, SourceError):  # it has no such column, or is no such table
            return open_source(Z, label=label, **options)
    return open_source(Z, **options)


def _settled_scoring(settings: Settings, read: Sequence[OneSet]) -> Settings:
    if settings.score_all is not None:
        return settings
    return replace(settings, score_all=sum(one.rows for one in read) <= SCORED_ROWS)


def _samples(read: Sequence[OneSet]) -> list[Walked]:
    return [
        Walked(np.full(len(one.sample.rows), k), one.sample, one.weights)
        for k, one in enumerate(read)
    ]


def _shape(given: tuple[int, ...] | None, many: ManySets) -> tuple[int, ...] | None:
    if given is None:
        return many.sources[0].image_shape if many.sources else None
    shape = (given[0], given[0]) if len(given) == 1 else tuple(int(side) for side in given)
    if len(shape) > 3 or math.prod(shape) != many.n_features:
        raise InputError(
            f"image_shape {'x'.join(map(str, shape))} has {math.prod(shape):,} values where a row "
            f"has {many.n_features:,} features; give height, width and perhaps channels."
        )
    return shape


def _shown(asked: Asked, settings: Settings) -> dict[str, object]:
    shown = {key: v for key, v in settings.as_dict().items() if key != "n_permutations"}
    given = {key: value for key, value in asked.options.items() if value is not None}
    return {**shown, **asked.intervals, **given}


def _remarks(
    many: ManySets, read: Sequence[OneSet], tallies: list[Tally], heard: list[str]
) -> tuple[str, ...]:
    """What a reader should know before believing the numbers."""
    notes = [note for source in many.sources for note in source.notes]
    notes += heard
    for one, tally in zip(read, tallies, strict=False):
        if one.rows < FEW_ROWS:
            notes.append(f"{one.name} has only {plural(one.rows, 'row')}: expect wide intervals.")
        if tally.n < one.rows:
            notes.append(
                f"Of {one.name} a uniform sample of {plural(tally.n, 'row')} was scored, not all "
                f"{one.rows:,}; score_all=True scores every one."
            )
    return tuple(dict.fromkeys(notes))


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Identifiers of different kinds (row numbers, file names) become text."""
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(str) for part in parts]
    return np.concatenate(parts)
