"""A comparison of more than two sets → what its report says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cospan.base.text import count, percent, plural, set_name
from cospan.comparison.many import MOST_PAIRS
from cospan.comparison.text import scored_beside
from cospan.evidence import size_word

from . import _words
from ._made import Origin, made_of
from ._many_pairs import MOST_COMMANDS, Pairing, command_for
from ._many_rows import ManyRows
from ._text import clean
from .content import ReportContent
from .pieces import Chart, Pair, Tile

if TYPE_CHECKING:
    from cospan.comparison import ManyComparison

MOST_CORNERS = 900
LARGE = 0.71  # the AUC from which sets are called clearly different
CLEARLY = "clearly: at least 71 of 100 pairs of rows are ordered correctly"
CORNER_WORDS = "Each dot is a row: near a corner where that set explains it best."
#: Of the largest difference: the words of the badge.
BADGES = {
    "none": "no clear difference", "small": "small differences",
    "medium": "medium differences", "large": "large differences",
}  # fmt: skip


def many_content(c: ManyComparison, origin: Origin) -> ReportContent:
    """Reduce a comparison of K sets to what its report says."""
    auc = c.pairs.matrix("auc")
    order = c._by_distance()
    shown = c.pair_changes.shown
    listed = ManyRows(c, shown)
    sets = _words.sets_of(c, listed.keys, _notes(c))
    pairing = Pairing(c, origin, len(shown))
    pairs = tuple(pairing.pair(*pair, listed.of_pairs[k]) for k, pair in enumerate(shown))
    lead, findings = _verdict(c, auc, order)
    n_check, n_strange = int(np.sum(c.audit.flagged)), int(np.sum(c.neither))
    return ReportContent(
        title=plural(len(c.names), "set"),
        **_words.common_of(c, _badge(auc, order), lead, findings, sets, _directions(c)),
        **made_of(c, "compare_many(sets", sets, origin),
        tiles=_tiles(c, auc, order, pairs, n_check, n_strange),
        rows=listed.rows,
        columns=listed.columns.named,
        tabs=listed.tabs,
        sampling=_sampling(c, len(listed.rows)),
        order=tuple(int(k) for k in c.order),
        auc=tuple(
            tuple(None if i == j else round(float(x), 4) for j, x in enumerate(row))
            for i, row in enumerate(auc)
        ),
        confusion=tuple(tuple(int(n) for n in row) for row in c.confusion),
        linkage=tuple(tuple(float(f"{x:.6g}") for x in row) for row in c.linkage),
        pairs=pairs,
        more_pairs=tuple(
            (i, j, command_for(c.names[i], c.names[j], c.names, origin))
            for i, j in order[MOST_PAIRS : MOST_PAIRS + MOST_COMMANDS]
        ),
        corners=_corners(c),
        charts=(
            Chart("changed", "dendrogram", "Which sets join first"),
            *([Chart("where", "triangle", caption=CORNER_WORDS)] if len(c.names) == 3 else []),
        ),
    )


def _badge(auc: NDArray[np.float64], pairs: Sequence[tuple[int, int]]) -> tuple[str, str]:
    sizes = [size_word(float(auc[pair])) for pair in pairs]
    large = sum(size == "large" for size in sizes)
    level = size_word(max(float(auc[pair]) for pair in pairs))
    if large == len(pairs):
        return level, "all pairs differ clearly"
    if large:
        return level, f"{large} of {len(pairs)} pairs differ clearly"
    return level, BADGES[level]


def _verdict(
    c: ManyComparison, auc: NDArray[np.float64], pairs: Sequence[tuple[int, int]]
) -> tuple[list[str], list[str]]:
    large = sum(_differ_clearly(c, auc, pair) for pair in pairs)
    text = "{n} of the {total} pairs of sets differ clearly."
    if large == len(pairs):
        text = "All {total} pairs of the {sets} sets differ clearly."
    elif large == 0:
        text = "None of the {total} pairs of sets differs clearly."
    lead = [text.format(n=large, total=len(pairs), sets=len(c.names))]
    ends = pairs[0], pairs[-1]
    near, far = (_words.both(*(set_name(c.names[k]) for k in pair)) for pair in ends)
    n, m = (_words.of_hundred(float(auc[pair])) for pair in ends)
    text = ("The closest are {near} ({n} pairs of rows are ordered correctly); the farthest "
                 "are {far} ({m}).")  # fmt: skip
    lead.append(text.format(near=near, n=n, far=far, m=m))
    text = "{share} of the rows look most like their own set."
    lead.append(text.format(share=percent(c.accuracy)))
    findings = [*map(str, c.schema_changes), *scored_beside(c)]
    if not np.any(c.fisher_rao):  # no row is more like one set than like another
        return [lead[0], c.sentences[-1]], findings
    mixed = np.array(c.confusion, dtype=np.float64)
    np.fill_diagonal(mixed, 0)
    for k in np.argsort(-mixed, axis=None, kind="stable")[:3]:
        i, j = np.unravel_index(int(k), mixed.shape)
        if mixed[i, j] >= 1:
            text = "{n:,} of the {own:,} rows of {name} look most like {other}."
            if mixed[i, j] == 1:
                text = "{n:,} of the {own:,} rows of {name} looks most like {other}."
            name, other = (set_name(c.names[k]) for k in (i, j))
            own = int(c.confusion[i].sum())
            findings.append(text.format(n=int(mixed[i, j]), own=own, name=name, other=other))
    return lead, findings


def _differ_clearly(c: ManyComparison, auc: NDArray[np.float64], pair: tuple[int, int]) -> bool:
    """A large difference, and more than chance: a set of two rows shows nothing clearly."""
    return bool(auc[pair] >= LARGE and c.pairs.between(*pair).auc.low > 0.5)


def _notes(c: ManyComparison) -> list[str]:
    """Of each set, how many of its rows look most like it; further rows belong to none."""
    right = [int(row[k]) / max(int(row.sum()), 1) for k, row in enumerate(c.confusion)]
    shares = [f"{percent(r)} look most like their own set" for r in right]
    return [*shares, "rows that were scored"][: len(c.sizes)]


def _tiles(
    c: ManyComparison,
    auc: NDArray[np.float64],
    order: Sequence[tuple[int, int]],
    pairs: tuple[Pair, ...],
    n_check: int,
    n_strange: int,
) -> tuple[Tile, ...]:
    near = order[0]
    names = _words.both(*(clean(c.names[k], 30) for k in near))
    large = sum(_differ_clearly(c, auc, pair) for pair in order)
    first = CLEARLY
    tested = c.pair_changes.if_shown(*near)
    nameless = tested is not None and tested.changes.features.nameless
    if pairs and pairs[0].features and not nameless:
        name = clean(pairs[0].features[0].name, 30)
        first = f"between the closest, first in {name}"
    clearly = f"{large:,} of {len(order):,}"
    closest, chance = _words.of_hundred(float(auc[near])), f"{names}; 50 is chance"
    look = "{n:,} look more like another set, {neither:,} like no set"
    look, alike = look.format(n=n_check, neither=n_strange), "every set counts alike"
    return (
        Tile("Pairs that differ clearly", clearly, first, "changed"),
        Tile("Closest pair", closest, chance, "pairs"),
        Tile("Rows like their own set", percent(c.accuracy), alike, "confusion"),
        Tile("Rows to check", count(n_check + n_strange), look, "rows"),
    )


def _corners(c: ManyComparison) -> tuple[tuple[float, float, int], ...]:
    """For three sets: the weights of the second and the third, and the group, of many rows."""
    if len(c.names) != 3:
        return ()
    step = max(1, -(-len(c.group) // MOST_CORNERS))
    return tuple(
        (round(float(w[1]), 3), round(float(w[2]), 3), int(group))
        for w, group in zip(c.weights[::step], c.group[::step], strict=True)
    )


def _directions(c: ManyComparison) -> str:
    common, some = len(c.frame.common), len(c.frame.partial)
    return f"{common} in all sets, {some} in some, {c.frame.rank - common - some} in one"


def _sampling(c: ManyComparison, listed: int) -> tuple[str, ...]:
    text = "{name}: a uniform sample of {n:,} of {total:,} rows was scored and counted."
    lines = [
        text.format(name=_words.isolated(clean(one.name, 60)), n=one.scored, total=one.rows)
        for one in c.sizes
        if one.sampled
    ]
    if not lines:
        lines.append("All rows of all sets were scored and counted.")
    n = len(c.names) * (len(c.names) - 1) // 2
    if n > MOST_PAIRS:
        text = "Of {n:,} pairs of sets the {most} closest are shown one by one."
        lines.append(text.format(n=n, most=MOST_PAIRS))
    text, total = "{n:,} of {total:,} rows are listed.", sum(c.scored) + c.rows_z
    lines.append(text.format(n=listed, total=total))
    return tuple(lines)
