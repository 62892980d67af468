"""Which channels a reference fixes: its ranks, its levels, its relations, and their noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cospan.base.tolerance import constant_variance
from cospan.base.types import Floats, Index
from cospan.errors import InputError
from cospan.monitoring.channels import GIVEN, OF_NUMBERS, SCORES, Channel, Channels, Cost
from cospan.monitoring.moments import without_rows
from cospan.monitoring.ranks import Ranks, excess, legendre, ranks_of
from cospan.summary import Summary

if TYPE_CHECKING:
    from cospan.data import EncodingPlan

#: Pairs of features whose relation is watched, at most: the strongest ones.
MOST_PAIRS = 2_000
#: A level or truth value rarer than this has no relation that a window's rows could show.
_COMMON = 0.05
#: Rows that cost more than so many of the reference's rows are unusual for it.
FAR = 0.99
#: Parts of the reference's rows that are measured by the others.
FOLDS = 5
#: Of single rows: a function that no row of the reference varied may still vary a little.
_LEAST_VARIANCE = 1e-4


def varying(summary: Summary) -> Index:
    """The features that vary, by more than the rounding of their values."""
    variances = np.diag(np.asarray(summary.scatter_about())) / summary.n
    least = [constant_variance(float(value)) for value in np.asarray(summary.mean)]
    return np.flatnonzero(variances > np.maximum(least, 0.0))


def channels_of(
    names: Sequence[str],
    plan: EncodingPlan | None,
    summary: Summary,
    rows: Floats,
    share: float,
    called: str,
) -> Channels:
    """The channels that a reference fixes, from its summary and a sample of its rows.

    `share` is the shrinkage of the geometry.
    """
    owners, shares, gap_of = _kinds(names, plan)
    numbers = np.array([j for j in range(len(names)) if j not in gap_of[1] and not shares[j]], int)
    own = [-1 if j in gap_of[1] else gap_of[0].get(owners[j], -1) for j in range(len(names))]
    indicators = np.array(own, dtype=np.intp)
    live = varying(summary)
    if not len(live):
        raise InputError(
            f"No column of the reference varies ({called}), so there is nothing to watch; check "
            "the columns."
        )
    ranks = sketches_of(rows, numbers, indicators[numbers])
    cost = Cost.of(summary, live, share)
    squared = cost.squared(rows[:, live])
    bare = Channels(
        tuple(names),
        owners,
        numbers.astype(np.intp),
        indicators,
        np.flatnonzero(shares),
        _levels(plan),
        live,
        ranks,
        np.zeros((0, 2), dtype=np.intp),
        np.zeros(0),
        cost,
        ranks_of(squared),
        float(np.quantile(squared, FAR)),
        share,
        (),
        np.ones(0),
    )
    return _completed(bare, rows, gap_of[1])


def _completed(bare: Channels, rows: Floats, indicators: set[int]) -> Channels:
    """With pairs, table and variances."""
    shares, rare = set(bare.shares.tolist()), _mostly_missing(rows, bare, indicators)
    common = [
        j
        for j in bare.live.tolist()
        if j not in indicators
        and bare.owners[j] not in rare
        and (j not in shares or _COMMON <= rows[:, j].mean() <= 1 - _COMMON)
    ]
    pairs, related, noise = _related(bare, rows, np.array(common, dtype=np.intp))
    table = [Channel(kind, bare.owners[j], "", j) for j in bare.numbers.tolist() for kind in SCORES]
    table += [
        Channel("missing" if j in indicators else "levels", bare.owners[j], "", j)
        for j in bare.shares.tolist()
    ]
    table += [
        Channel("new levels", bare.owners[int(own[0])], "", int(own[0])) for own in bare.levels
    ]
    table += [Channel("relation", bare.owners[i], bare.owners[j], i) for i, j in pairs.tolist()]
    table += [
        Channel(kind, bare.owners[j], "", j) for j in bare.numbers.tolist() for kind in OF_NUMBERS
    ]
    table += [
        Channel(kind, bare.owners[j], "", j)
        for j in bare.numbers[bare.given].tolist()
        for kind in GIVEN
    ]
    table += [Channel("rows", ""), Channel("rows", "")]
    full = replace(bare, pairs=pairs, related=related, table=tuple(table))
    return replace(full, variance=_variance(full, rows, noise))


def _variance(channels: Channels, rows: Floats, relations: Floats) -> Floats:
    """Of each channel's function over single rows; `relations` are those of the relations."""
    scores, beyond = [], []
    for ranks, j, g in zip(channels.ranks, channels.numbers, channels.gaps, strict=True):
        own = _present(rows, int(j), int(g))
        scores += [float(np.var(score)) for score in legendre(ranks.of(own))]
        beyond += [float(np.var(excess(own, ranks.values[:1], ranks.values[-1:]))), 1.0]
    cost = float(np.var(channels.cost_ranks.of(channels.cost.squared(rows[:, channels.live]))))
    found = np.concatenate(
        [
            scores,
            np.ones(channels.shared),
            relations,
            beyond,
            channels.given_variance(rows),
            [cost, 1.0],
        ]
    )
    return np.asarray(np.maximum(found, _LEAST_VARIANCE))


def sketches_of(rows: Floats, numbers: Index, gaps: Index) -> tuple[Ranks, ...]:
    """The distribution of each number, over the rows that have it."""
    places = zip(numbers.tolist(), gaps.tolist(), strict=True)
    return tuple(ranks_of(_present(rows, j, gap)) for j, gap in places)


def center_of(whole: Summary, rows: Floats, channels: Channels) -> Floats:
    """The channels over a whole reference, as further rows of its kind would have them.

    What rows cost a set that they are part of is too little; so a fifth of the rows at a time is
    measured by the costs of the rest.
    """
    values = channels.measure(whole, rows).values
    part = min(len(rows) // FOLDS, int(whole.n) // 2)
    if part < 1:
        return values
    behind = slice(channels.odd.stop, None)  # the channels that costs have a part in
    found = []
    for k in range(FOLDS):
        own = rows[k * part : (k + 1) * part]
        cost = Cost.of(without_rows(whole, own), channels.live, channels.shrinkage)
        found.append(channels.measure(whole, own, cost).values[behind])
    values[behind] = np.mean(found, axis=0)
    return values


def _present(rows: Floats, j: int, gap: int) -> Floats:
    values = rows[:, j] if gap < 0 else rows[rows[:, gap] == 0, j]
    return values if len(values) else rows[:1, j]


def _mostly_missing(rows: Floats, bare: Channels, indicators: set[int]) -> set[str]:
    """Columns with hardly a value: in a window a row or two would make the relation."""
    return {bare.owners[j] for j in indicators if rows[:, j].mean() > 1 - _COMMON}


def _related(bare: Channels, rows: Floats, features: Index) -> tuple[Index, Floats, Floats]:
    """Pairs of features of different columns, their correlation, and its variance a row."""
    found = bare.relations(rows, features)
    i, j = np.triu_indices(len(features), 1)
    own = np.unique(np.asarray(bare.owners), return_inverse=True)[1][features]
    apart = (own[i] != own[j]) & found.known[i, j]
    i, j = i[apart], j[apart]
    if len(i) > MOST_PAIRS:
        strongest = np.sort(np.argsort(-np.abs(found.r[i, j]), kind="stable")[:MOST_PAIRS])
        i, j = i[strongest], j[strongest]
    return np.stack([features[i], features[j]], axis=1), found.r[i, j], found.influence[i, j]


def _kinds(
    names: Sequence[str], plan: EncodingPlan | None
) -> tuple[tuple[str, ...], list[bool], tuple[dict[str, int], set[int]]]:
    """Each feature's column, whether it is a share, and where the indicators are."""
    if plan is None:
        return tuple(names), [False] * len(names), ({}, set())
    kinds = [
        column.kind in ("category", "boolean") for column in plan.used for _ in column.features
    ]
    made = len(kinds)
    having = [column.name for column in plan.used if column.indicator]
    places = {name: made + i for i, name in enumerate(having)}
    return plan.owners, kinds + [True] * len(having), (places, set(places.values()))


def _levels(plan: EncodingPlan | None) -> tuple[Index, ...]:
    """The features of the categories that have no feature for further levels."""
    found, place = [], 0
    for column in plan.used if plan is not None else ():
        width = len(column.features)
        if column.kind == "category" and not column.other:
            found.append(np.arange(place, place + width))
        place += width
    return tuple(found)
