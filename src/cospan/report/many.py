"""A comparison of more than two sets → what its report says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.changes import size_of
from cospan.changes.wording import set_name
from cospan.comparison.pair_changes import MOST_PAIRS
from cospan.comparison.scored_rows import scored_beside_many

from . import _words
from ._made import Origin, made_of
from ._many_pairs import MOST_COMMANDS, Pairing, command_for
from ._many_rows import ManyRows
from ._text import clean, count, percent
from .content import ReportContent
from .pieces import Chart, Pair, SetInfo, Tile

if TYPE_CHECKING:
    from cospan.comparison import ManyComparison

MOST_CORNERS = 900
LARGE = 0.71  # the AUC from which sets are called clearly different
CLEARLY = "clearly: at least 71 of 100 pairs of rows are ordered correctly"
CORNER_WORDS = "Each dot is a row: near a corner where that set explains it best."


def many_content(c: ManyComparison, origin: Origin) -> ReportContent:
    """Reduce a comparison of K sets to what its report says."""
    auc = c.pairs.matrix("value", "auc")
    names = (*c.names, *([] if c.name_z is None else [c.name_z]))
    order = c._by_distance()
    shown = c.pair_changes.shown
    listed = ManyRows(c, shown)
    pairing = Pairing(c, origin, len(shown))
    pairs = tuple(pairing.pair(*pair, listed.of_pairs[k]) for k, pair in enumerate(shown))
    lead, findings = _verdict(c, auc, order)
    n_check, n_strange = int(np.sum(c.audit.flagged)), int(np.sum(c.neither))
    return ReportContent(
        title=f"{len(c.names)} sets",
        **_words.opening_of(c, _badge(auc, order), lead, findings, names),
        sets=_sets(c),
        tiles=_tiles(c, auc, order, pairs, n_check, n_strange),
        rows=listed.rows,
        columns=listed.columns.named,
        tabs=listed.tabs,
        sampling=_sampling(c, len(listed.rows)),
        settings=_settings(c),
        made=made_of(c.version, c.seconds, c.settings, "compare_many(sets", origin),
        inputs=(
            *((f"{s.key}: {s.name}", f"{count(s.rows)} rows") for s in _sets(c)),
            *origin.read(),
        ),
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
    sizes = [size_of(float(auc[pair])) for pair in pairs]
    large = sum(size == "large" for size in sizes)
    level = size_of(max(float(auc[pair]) for pair in pairs))
    if large == len(pairs):
        return level, "all pairs differ clearly"
    if large:
        return level, f"{large} of {len(pairs)} pairs differ clearly"
    return level, {"none": "no clear difference"}.get(level, f"{level} differences")


def _verdict(
    c: ManyComparison, auc: NDArray[np.float64], pairs: Sequence[tuple[int, int]]
) -> tuple[list[str], list[str]]:
    near, far = pairs[0], pairs[-1]

    def worded(pair: tuple[int, int]) -> str:
        a, b = (set_name(c.names[k]) for k in pair)
        return f"{a} and {b} ({_words.of_hundred(float(auc[pair]))}"

    large = sum(_differ_clearly(c, auc, pair) for pair in pairs)
    lead = [f"{large} of the {len(pairs)} pairs of sets differ clearly."]
    if large == len(pairs):
        lead = [f"All {len(pairs)} pairs of the {len(c.names)} sets differ clearly."]
    elif large == 0:
        lead = [f"None of the {len(pairs)} pairs of sets differs clearly."]
    lead.append(
        f"The closest are {worded(near)} pairs of rows are ordered correctly); the farthest are "
        f"{worded(far)})."
    )
    lead.append(f"{percent(c.accuracy)} of the rows look most like their own set.")
    findings = list(scored_beside_many(c))
    if not np.any(c.fisher_rao):  # no row is more like one set than like another
        return [lead[0], *c.sentences], findings
    mixed = np.array(c.confusion, dtype=np.float64)
    np.fill_diagonal(mixed, 0)
    for k in np.argsort(-mixed, axis=None, kind="stable")[:3]:
        i, j = np.unravel_index(int(k), mixed.shape)
        if mixed[i, j] >= 1:
            rows = int(mixed[i, j])
            own = int(c.confusion[i].sum())
            look = "looks" if rows == 1 else "look"
            findings.append(
                f"{count(rows)} of the {count(own)} rows of {set_name(c.names[i])} {look} most "
                f"like {set_name(c.names[j])}."
            )
    return lead, findings


def _differ_clearly(c: ManyComparison, auc: NDArray[np.float64], pair: tuple[int, int]) -> bool:
    """A large difference, and more than chance: a set of two rows shows nothing clearly."""
    return bool(auc[pair] >= LARGE and c.pairs.between(*pair).auc.low > 0.5)


def _sets(c: ManyComparison) -> tuple[SetInfo, ...]:
    found = []
    for k, name in enumerate(c.names):
        right = int(c.confusion[k, k]) / max(int(c.confusion[k].sum()), 1)
        note = f"{percent(right)} look most like their own set"
        found.append(SetInfo(str(k + 1), clean(name), int(c.rows[k]), int(c.scored[k]), note))
    if c.name_z is not None:
        found.append(SetInfo("Z", clean(c.name_z), c.rows_z, c.rows_z, "rows that were scored"))
    return tuple(found)


def _tiles(
    c: ManyComparison,
    auc: NDArray[np.float64],
    order: Sequence[tuple[int, int]],
    pairs: tuple[Pair, ...],
    n_check: int,
    n_strange: int,
) -> tuple[Tile, ...]:
    near = order[0]
    names = " and ".join(clean(c.names[k], 30) for k in near)
    large = sum(_differ_clearly(c, auc, pair) for pair in order)
    first = ""
    tested = c.pair_changes.if_shown(*near)
    nameless = tested is not None and tested.changes.features.nameless
    if pairs and pairs[0].features and not nameless:
        first = f"between the closest, first in {clean(pairs[0].features[0].name, 30)}"
    clearly = f"{large} of {len(order)}"
    closest = _words.of_hundred(float(auc[near]))
    look = f"{count(n_check)} look more like another set, {count(n_strange)} like no set"
    return (
        Tile("Pairs that differ clearly", clearly, first or CLEARLY, "changed"),
        Tile("Closest pair", closest, f"{names}; 50 is chance", "pairs"),
        Tile("Rows like their own set", percent(c.accuracy), "every set counts alike", "confusion"),
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


def _settings(c: ManyComparison) -> tuple[tuple[str, str], ...]:
    geometry: Any = c.costs.geometry
    frame: Any = c.frame
    common, some = len(frame.common), len(frame.partial)
    alone = frame.rank - common - some
    more = [
        ("shrinkage used (α)", f"{float(c.shrinkage):.3g}"),
        ("units used", str(geometry.units)),
        ("pooling used (γ)", f"{float(geometry.pooling):.3g}"),
        ("features", count(c.costs.n_features)),
        ("directions", f"{common} in all sets, {some} in some, {alone} in one"),
    ]
    more += _words.curve_of(c.settings, c.costs.curve)
    return tuple(_words.settings_of(c.settings, more))


def _sampling(c: ManyComparison, listed: int) -> tuple[str, ...]:
    lines = [
        f"{_words.isolated(clean(name, 60))}: a uniform sample of {count(scored)} of "
        f"{count(rows)} rows was scored and counted."
        for name, rows, scored in zip(c.names, c.rows, c.scored, strict=True)
        if scored < rows
    ]
    if not lines:
        lines.append("All rows of all sets were scored and counted.")
    n = len(c.names) * (len(c.names) - 1) // 2
    if n > MOST_PAIRS:
        lines.append(f"Of {count(n)} pairs of sets the {MOST_PAIRS} closest are shown one by one.")
    lines.append(f"{count(listed)} of {count(sum(c.scored) + c.rows_z)} rows are listed.")
    return tuple(lines)
