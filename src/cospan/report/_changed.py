"""Columns and relations that changed, as the report shows them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.wording import pair_sentence, sentence

from ._columns import Columns, held_text
from ._text import clean
from ._words import said
from .pieces import Bare, Feature, Relation

if TYPE_CHECKING:
    from cospan.evidence import FeatureChange, FeatureTable, PairTable

MOST_FEATURES = 5_000
DRAWN_FEATURES = 300  # with a histogram each
DRAWN_PIXELS = 40  # where features are pixels: pictures show the rest
MOST_RELATIONS = 12
SCATTERED = 150  # points of each set in a scatter
FEW_VALUES = 12  # so many different ones would be dots on top of each other


def features_of(
    table: FeatureTable, names: tuple[str, str], columns: Columns, drawn: int = DRAWN_FEATURES
) -> tuple[tuple[Feature, ...], tuple[Bare, ...]]:
    """The first columns with their histograms, and the others in a few words each."""
    found = [
        Feature(
            clean(one.name), one.kind, one.change, bool(one.changed),
            said(sentence(one.finding, names, one.kind), [one.name]) if one.finding else "",
            held_text(one.kind, one.a), held_text(one.kind, one.b), _short_numbers(one.to_dict()),
            columns.histogram(columns.place[one.name], (one.a, one.b)),
        )
        for one in table.rows[:drawn]
    ]  # fmt: skip
    return tuple(found), tuple(_bare(one) for one in table.rows[drawn:MOST_FEATURES])


def _short_numbers(row: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a column, in few digits; levels are in its histogram."""
    sides = [f"{k}_{side}" for k in ("missing", "mean", "sd", "low", "high") for side in "ab"]
    kept = ("p_adjusted", "difference", "share", "part", "pull", *sides)
    return {k: _rounded(row[k]) for k in kept}


def _rounded(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) and math.isfinite(value) else value


def _bare(one: FeatureChange) -> Bare:
    return (
        clean(one.name), one.change if one.changed else "none",
        held_text(one.kind, one.a), held_text(one.kind, one.b),
        *(_rounded(x) for x in (one.difference, one.p_adjusted, one.share)),
    )  # fmt: skip


def relations_of(
    table: PairTable,
    columns: Columns,
    most: int = MOST_RELATIONS,
    scattered: int = SCATTERED,
) -> tuple[Relation, ...]:
    """The surest relations that changed, each with a scatter of both sets."""
    place = {name: i for i, name in enumerate(columns.feature_names)}
    found = []
    for pair in table.changed[:most]:
        ends = [
            place.get(name, place.get(column))
            for name, column in ((pair.first, pair.first_column), (pair.second, pair.second_column))
        ]
        points = [_scatter(columns, ends, side, scattered) for side in (0, 1)]
        text = said(pair_sentence(pair), [pair.first, pair.second])
        found.append(
            Relation(
                clean(pair.first), clean(pair.second), text, round(pair.r_a, 3),
                round(pair.r_b, 3), float(f"{pair.p_adjusted:.3g}"), points[0], points[1],
            )
        )  # fmt: skip
    return tuple(found)


def _scatter(
    columns: Columns, ends: list[int | None], side: int, most: int
) -> tuple[tuple[int, int], ...]:
    if ends[0] is None or ends[1] is None:
        return ()
    rng = np.random.default_rng(0)
    x, y = (_jittered(values, rng) for values in columns.scatter((ends[0], ends[1]), side, most))
    places = np.rint(100 * np.stack([x, y], axis=1)).astype(int).tolist()
    return tuple((a, b) for a, b in places)


def _jittered(values: Any, rng: np.random.Generator) -> Any:
    """Few different values, as levels have, drawn side by side: else all rows are one dot."""
    steps = np.diff(np.unique(values))
    if len(steps) >= FEW_VALUES:
        return values
    wide = min(0.12, 0.35 * float(steps.min(initial=1.0)))
    return wide + (1 - 2 * wide) * values + rng.uniform(-wide, wide, len(values))
