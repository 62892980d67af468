"""A comparison of two sets → what its report says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cospan.base.text import count, percent
from cospan.comparison.text import scored_beside
from cospan.wording import note_sentence, schema_sentences, size_interval

from . import _words
from ._changed import DRAWN_PIXELS, MOST_RELATIONS, features_of, relations_of
from ._columns import Columns
from ._made import Origin, made_of
from ._patterns import patterns_of, pictures_of
from ._pictures import PictureShape
from ._rows import Listing, list_rows
from ._text import called, clean
from .content import ReportContent
from .pieces import Angles, Bare, Chart, Feature, Note, Part, Relation, Tile

if TYPE_CHECKING:
    from cospan.comparison import Comparison

FIRST_FINDINGS = 4
MOST_NOTES = 100
LEAST_PART = 0.0005  # of the difference: less would read as 0 %
PART_WORDS = {
    "location": "where values are centred", "scale": "how widely all of them spread",
    "shape": "spreads of single columns, relations between them",
}  # fmt: skip
DIRECTION_WORDS = (
    "A direction is a weighted sum of columns. To the left are directions in which A varies more, "
    "to the right B; the higher a dot, the farther apart the means; the larger, the more of the "
    "difference it is."
)


def pair_content(c: Comparison, origin: Origin) -> ReportContent:
    """Reduce a comparison to what its report says."""
    shape = None if c.image_shape is None else PictureShape.of(c.image_shape)
    names = tuple(size.name for size in c.sizes)
    columns = _columns(c)
    listing = list_rows(c, columns, shape)
    notes = [f"{s.scored:,} scored" if s.sampled else "" for s in c.sizes]
    sets = _words.sets_of(c, "ABZ", notes)
    differs = c.verdict.differs
    badge = _words.badge_of(differs, c.verdict.size)
    lead, findings = _lead(c)
    features, more_features = _features(c, columns)
    relations = _relations(c, columns)
    n_changed, n_relations = len(c.features.changed), c.feature_pairs.n_changed
    return ReportContent(
        title=_words.both(*(_words.isolated(clean(name, 80)) for name in names[:2])),
        **_words.common_of(c, badge, lead, findings, sets, _directions(c)),
        **made_of(c, "compare(A, B", sets, origin),
        tiles=_tiles(c, listing, features, n_changed, relations, n_relations),
        parts=_parts(c),
        features=features,
        more_features=more_features,
        n_changed=n_changed,
        relations=relations,
        n_relations=n_relations,
        pictures=pictures_of(c, shape),
        angles=Angles(
            {key: tuple(map(int, g.counts)) for key, g in zip("ABZ", c.groups, strict=False)},
            bool(c.separated and differs),
            float(c.frame.zero),
        ),
        points=listing.points,
        rows=listing.rows,
        columns=columns.named if shape is None else (),
        tabs=listing.tabs,
        patterns=patterns_of(c, shape),
        charts=(Chart("patterns", "direction_dots", caption=DIRECTION_WORDS),),
        quality=_quality(c, names),
        measures=(*_words.measures(c), *origin.measures()),
        sensitivity=origin.settings(),
        sampling=_sampling(c, columns, listing),
    )


def _columns(c: Comparison) -> Columns:
    d = len(c.feature_names)
    samples = [np.zeros((0, d)) if g.rows is None else g.rows for g in (c.group_a, c.group_b)]
    return Columns(c.feature_names, c.frame.geometry.encoding, samples)


def _features(c: Comparison, columns: Columns) -> tuple[tuple[Feature, ...], tuple[Bare, ...]]:
    names = called(c.name_a, 40), called(c.name_b, 40)
    if c.image_shape is None:
        return features_of(c.features, names, columns)
    return features_of(c.features, names, columns, DRAWN_PIXELS)


def _relations(c: Comparison, columns: Columns) -> tuple[Relation, ...]:
    most = MOST_RELATIONS if c.image_shape is None else MOST_RELATIONS // 3
    return relations_of(c.feature_pairs, columns, most)


def _lead(c: Comparison) -> tuple[list[str], list[str]]:
    """The first sentences (what was scored, differ, how much, in what), then single changes."""
    schema = schema_sentences(c.verdict)
    sentences = c.verdict.sentences[len(schema) :]
    n = 2 + bool(c.verdict.mostly)
    lead, rest = list(sentences[:n]), [*schema, *sentences[n:]]
    if c.group_z is not None:
        lead[:0] = scored_beside(c)
    if len(lead) > 3:  # what the sets differ in stays, and goes down to the changes
        rest, lead = lead[3:] + rest, lead[:3]
    return lead, rest[:FIRST_FINDINGS]


def _tiles(
    c: Comparison,
    listing: Listing,
    features: tuple[Feature, ...],
    n_changed: int,
    relations: tuple[Relation, ...],
    n_relations: int,
) -> tuple[Tile, ...]:
    note = f"pairs of rows, one from each set, are ordered correctly ({size_interval(c.size)})"
    changed = f"{n_changed:,} of {len(c.features):,}"
    first = "none"
    if n_changed and features:
        first = f"first: {clean(features[0].name, 40)}"
    pair = "none between columns"
    if relations:
        ends = (clean(name, 30) for name in (relations[0].first, relations[0].second))
        pair = f"first: {_words.both(*ends)}"
    rows = [
        _in_short(tab.key, tab.total, c)
        for tab in listing.tabs
        if tab.total and tab.key in ("labels", "a-in-b", "b-in-a", "neither")
    ]
    return (
        Tile("How different", _words.of_hundred(c.size), note, "where"),
        Tile("Columns changed", changed, first, "changed"),
        Tile("Relations changed", count(n_relations), pair, "relations"),
        Tile("Rows to check", count(listing.n_check),
             ", ".join(rows) or "none stands out", "rows"),
    )  # fmt: skip


def _in_short(tab: str, n: int, c: Comparison) -> str:
    names = called(c.name_a, 30), called(c.name_b, 30)
    other, own = names if tab == "a-in-b" else names[::-1]
    text = "{n:,} in {own} look like {other}"
    if tab in ("labels", "neither"):
        text = "{n:,} labels in doubt" if tab == "labels" else "{n:,} like neither"
    elif n == 1:
        text = "{n:,} in {own} looks like {other}"
    return text.format(n=n, own=own, other=other)


def _parts(c: Comparison) -> tuple[Part, ...]:
    """What the difference consists of, largest first; nothing where there is no evidence of one."""
    found = sorted(c.verdict.shares.items(), key=lambda item: -item[1])
    return tuple(
        Part(name, PART_WORDS.get(name, ""), round(float(share), 4))
        for name, share in found
        if share >= LEAST_PART
    )


def _quality(c: Comparison, names: tuple[str, ...]) -> tuple[Note, ...]:
    sets = called(c.name_a, 40), called(c.name_b, 40)
    return tuple(
        Note(n.code, clean(n.column), _words.said(note_sentence(n, sets), names), n.differs)
        for n in c.changes.quality[:MOST_NOTES]
    )


def _directions(c: Comparison) -> str:
    a, both, b = c.frame.blocks
    return f"{a} only A, {both} shared, {b} only B"


def _sampling(c: Comparison, columns: Columns, listing: Listing) -> tuple[str, ...]:
    """What was counted in full and what was sampled."""
    lines = []
    for one in c.sizes:
        name, share = _words.isolated(clean(one.name, 60)), percent(one.scored / max(1, one.rows))
        text = "{name}: all {n:,} rows were scored and counted."
        if one.sampled:
            text = ("{name}: a uniform sample of {n:,} of {total:,} rows ({share}) was "
                         "scored; the angles and the cut count this sample.")  # fmt: skip
        lines.append(text.format(name=name, n=one.scored, total=one.rows, share=share))
    a, b = (len(rows) for rows in columns.samples)
    lines.append(f"Histograms, scatters and percentiles are of {a:,} rows of A and {b:,} of B, "
                     "drawn at random where the sets have more.")  # fmt: skip
    text = "{listed:,} rows are listed with their values, {drawn:,} are on the map."
    lines.append(text.format(listed=len(listing.rows), drawn=len(listing.points)))
    if c.image_shape is not None:
        shape = PictureShape.of(c.image_shape)
        text = ("Pictures of {high} × {wide} pixels are drawn smaller: blocks of pixels are "
                     "averaged.")  # fmt: skip
        if shape.block > 1:
            lines.append(text.format(high=shape.full[0], wide=shape.full[1]))
    return tuple(lines)
