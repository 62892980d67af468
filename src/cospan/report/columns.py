"""Columns and their relations: what a report shows of them, in two sets and over many."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cospan.base.text import (
    correlations,
    cut_middle,
    listed,
    number,
    p_sign,
    pair_of,
    plural,
    quoted,
    share_text,
    shares_text,
)
from cospan.base.types import Floats
from cospan.comparison import Comparison
from cospan.evidence import LISTED, OTHER, FeatureChange, PairChange
from cospan.wording.findings import SHARED, TIMES, sentence, set_labels, value_text
from cospan.wording.results import changed_in, compared, nameless, only_repeated, smallest_words

from . import charts
from .document import Cell, Chart, Figure, Figures, Fold, Section, table

#: Columns that are listed, and those of them without a change.
MOST_COLUMNS, MOST_STILL = 40, 20
#: Relations with a picture, by how much those changed at least, and columns over many sets.
PICTURED, CLEAR, MOST_FIGURES = 3, 0.05, 24
#: The kind of rows to check that no set finds usual.
NO_SET = "like no set"


class Side(NamedTuple):
    """A column of the samples, for charts: its values in each set, and how they are written."""

    kind: str
    values: tuple[Floats, ...]
    levels: tuple[str, ...] | None

    def words(self, value: float) -> str:
        return value_text(value, self.kind)


class Example(NamedTuple):
    """A row of the samples with its score: the probability of the second set."""

    own: int
    id: object
    score: float
    usual: float  # its typicality, the larger one
    values: Floats


class Subject:
    """A comparison as a report sees it: sets as they are called, columns as they are drawn."""

    def __init__(self, found: Comparison) -> None:
        self.found, self.names = found, set_labels(found.names)
        self.looks = (charts.LOOKS * len(found.names))[: len(found.names)]
        self.many, self.pictures = len(found.names) > 2, found.image_shape is not None
        self.named = not nameless(found.verdict)  # columns say something
        self.thing = "picture" if self.pictures else "row"
        self.calm = not found.verdict.differs or only_repeated(found.verdict)

    @cached_property
    def sides(self) -> dict[str, Side]:
        """The columns that have one value a row, by name."""
        sides = {}
        for k, column in enumerate(self.found.columns):
            own = [next(r for r in side if r.column == k) for side in self.found.readings]
            if column.kind != "vector":
                values = tuple(one.values for one in own)
                sides[column.name] = Side(column.kind, values, own[0].levels)
        return sides

    def values(self, name: str, where: tuple[str, str] | None = None) -> list[Floats]:
        """A column in two sets; `where` keeps the rows with one level of another column."""
        own, other = self.sides[name].values[:2], self.sides.get(where[0]) if where else None
        if not where or not other or not other.levels:
            return list(own)
        code = other.levels.index(where[1])
        return [x[y == code] for x, y in zip(own, other.values[:2], strict=True)]

    @cached_property
    def examples(self) -> list[Example]:
        """The rows of the samples that were scored, from the clearest A to the clearest B."""
        rows = []
        for k, (group, chunk) in enumerate(zip(self.found.groups, self.found.samples, strict=True)):
            ids = map(str, group.ids.tolist())
            both = zip(group.weights[:, 1], group.typicality.max(axis=1), strict=True)
            score = dict(zip(ids, both, strict=True))
            for name, values in zip(chunk.ids.tolist(), chunk.rows, strict=True):
                if str(name) in score:
                    row = np.asarray(values, dtype=np.float64)
                    rows.append(Example(k, name, *score[str(name)], row))
        return sorted(rows, key=lambda one: one.score)

    def along(
        self, first: str, second: str, ends: tuple[str, str], width: float = 216
    ) -> tuple[Chart, str] | None:
        """One column along another, or a number by a category; `ends` are what is related."""
        x, y = self.sides.get(first), self.sides.get(second)
        if x is None or y is None or (x.levels is not None and y.levels is not None):
            return None
        if y.levels is not None:
            first, x, second, y = second, y, first, x
        text, pair = f"{second} on average, by {first}.", (x.values[:2], y.values[:2])
        last = "".join([level for level in x.levels or () if f"{first} = {level}" in ends][:1])
        own = x.levels, self.names[:2], text, x.words, y.words, width, last
        chart = charts.by_another(pair[0], pair[1], *own)
        return None if chart is None else (chart, text)


# ---- every column of two sets ------------------------------------------------------------------


def columns_section(subject: Subject) -> Section:
    """Every column: its change, its distribution, what it was and is, in words."""
    found, names = subject.found, subject.names
    heads = {"Column": "name", "Distribution": "chart",
             f"{names[0]} → {names[1]}": "pair",
             "Would be seen from" if subject.calm else "In words": "words",
             "p ↕": "number"}  # fmt: skip
    n = len(found.features.changed)
    features = sorted(compared(found.verdict), key=lambda one: n == 0 and one.p_adjusted)
    title = "Columns, changed ones first" if n else "No column changed"
    shown = features[: min(MOST_COLUMNS, n + MOST_STILL)]
    lead = "Histograms run from the 1st to the 99th percentile. Hover for values."
    if len(shown) < len(features):
        lead += f" The first {len(shown)} are listed; all {len(features):,} are in the JSON."
    listed_first = table(heads, [_column(one, subject) for one in shown])
    return Section("columns", "Columns", title, lead, (listed_first,), keys=True)


def _column(one: FeatureChange, subject: Subject) -> tuple[Cell | Chart | str | None, ...]:
    found, p = subject.found, one.p_adjusted
    words = "" if one.finding is None else sentence(one.finding, found.verdict.sets)
    if subject.calm:  # then nothing is to be said of changes
        words = seen_from(one, found)[1]
    sign = p_sign(p, found.verdict.n_permutations).removeprefix("= ") if p == p else ""
    return one.name, _distribution(one, subject), values_of(one), words, Cell(sign, value=p)


def _distribution(one: FeatureChange, subject: Subject) -> Chart | None:
    side, names = subject.sides.get(one.name), subject.names
    if one.kind == "category":
        return charts.levels(one.a.levels, one.b.levels, names)
    if one.kind == "boolean":
        a, b = ({"yes": held.mean, "no": 1 - held.mean} for held in (one.a, one.b))
        return charts.levels(a, b, names)
    if side is None or subject.pictures:  # a pixel is a place, not a story
        return None
    return charts.histogram(side.values[:2], names, side.words)


def values_of(one: FeatureChange) -> str:
    """What a column was and is: averages, or the share of its most frequent level."""
    a, b = one.a, one.b
    if one.kind == "category":
        level = max(a.levels or b.levels, key=lambda x: (x != OTHER, a.levels.get(x, 0.0)),
                    default="")  # fmt: skip
        told = one.finding
        if told and told.kind == "level" and not told.part and told.where is None:
            level = level if told.detail == OTHER else told.detail
        x, y = shares_text(a.levels.get(level, 0.0), b.levels.get(level, 0.0))
        return f"{cut_middle(level, 16)} {x}" + (f" → {y}" if x != y else "")
    if math.isnan(a.mean) or math.isnan(b.mean):
        return " → ".join("none" if math.isnan(h.mean) else number(h.mean) for h in (a, b))
    if one.kind == "boolean":
        return " → ".join(shares_text(a.mean, b.mean))
    if one.kind in TIMES:
        return " → ".join(value_text(held.mean, one.kind) for held in (a, b))
    x, y = pair_of(a.mean, b.mean, int(one.change == "mean"))
    return f"{x} → {y}" if x != y else x


def seen_from(one: FeatureChange, found: Comparison) -> tuple[float, str]:
    """How far the column moved, in the smallest move that would have been seen, and that move."""
    least = found.verdict.smallest.get(one.name)
    if least is None:
        return math.nan, ""
    step, size = one.b.mean - one.a.mean, least.share if one.kind in SHARED else least.mean
    if one.kind == "category":
        both = {**one.a.levels, **one.b.levels}
        steps = [one.b.levels.get(x, 0.0) - one.a.levels.get(x, 0.0) for x in both]
        step = max(steps, key=abs, default=math.nan)
    if not size > 0 or step != step or (one.kind in SHARED and size >= 1):
        return math.nan, ""
    return step / size, smallest_words(least, one.kind)


# ---- relations ---------------------------------------------------------------------------------


def relations_section(subject: Subject) -> Iterator[Section]:
    """Pictures of the first relations that changed, and all of them in a table."""
    names, changed = subject.names, subject.found.feature_pairs.changed
    if not changed:
        return
    clear = (one for one in changed[:12] if abs(one.r_b - one.r_a) >= CLEAR)
    figures = [figure for one in clear if (figure := _relation(one, subject))]
    heads = {"Columns": "name", names[0]: "number", names[1]: "number", "In words": "words"}
    rows = [
        (f"{one.first} · {one.second}", f"{one.r_a:.2f}", f"{one.r_b:.2f}",
         "closer" if abs(one.r_b) > abs(one.r_a) else "looser")
        for one in changed
    ]  # fmt: skip
    fold = Fold("Relations that changed", "rank correlations in both", (table(heads, rows),))
    blocks = (Figures(tuple(figures[:PICTURED])), fold) if figures else (fold,)
    first = listed((changed[0].first_column, changed[0].second_column))
    title = f"The relation of {first} changed"
    if len(changed) > 1:
        more = " or more" if len(changed) == LISTED else ""
        title = f"{len(changed):,}{more} relations changed; that of {first} most"
    yield Section("relations", "Relations", title, "", blocks, keys=True)


def _relation(one: PairChange, subject: Subject) -> Figure | None:
    """One column along the other; None where there is nothing to draw, as of gaps."""
    first, second = one.first_column, one.second_column
    for name, column in ((one.first, first), (one.second, second)):
        if column not in subject.sides or (name != column and not subject.sides[column].levels):
            return None
    moved = {feature.name for feature in subject.found.features.changed}
    if first in moved and second not in moved:
        first, second = second, first  # along the column that stayed
    drawn = subject.along(first, second, (one.first, one.second), width=320)
    if drawn is None:
        return None
    before, now = correlations(one.r_a, one.r_b)
    text = f"Their correlation {'rose' if one.r_b > one.r_a else 'fell'} from {before} to {now}."
    return Figure(f"{one.first} and {one.second}.", f"{text} Drawn: {drawn[1]}", drawn[0])


# ---- columns over many sets --------------------------------------------------------------------


def over_sets_section(subject: Subject) -> Iterator[Section]:
    """Small multiples: every column over the sets, those that change in most pairs first."""
    found = subject.found
    if found.differing is None:
        return
    times = changed_in(found)
    names = [name for name in times or (one.name for one in found.features)
             if name in subject.sides]  # fmt: skip
    figures = [_over_sets(name, times.get(name, 0), subject) for name in names[:MOST_FIGURES]]
    title = "No column differs between the sets"
    if times:
        first = " and ".join(map(quoted, list(times)[:2]))
        title = f"{first} differ most" if len(times) > 1 else f"Only {first} differs"
    lead = "Dot: average or share; band: middle half; line: 5th to 95th percentile."
    yield Section("columns", "Columns", title, lead, (Figures(tuple(figures)),))


def _over_sets(name: str, times: int, subject: Subject) -> Figure:
    """One column: its average in every set, or the share of the level that differs most."""
    found, side = subject.found, subject.sides[name]
    words: charts.Words = side.words
    others = [found.pair(0, k).features[name] for k in range(1, len(found.names))]
    held = [others[0].a, *(one.b for one in others)]
    rows: list[tuple[float, ...]] = []
    if side.levels is not None:
        shares = {x: [one.levels.get(x, 0.0) for one in held] for one in held for x in one.levels}
        shares = shares or {side.levels[-1]: [one.mean for one in held]}  # a truth value
        level = max(shares, key=lambda x: (x != OTHER, max(shares[x]) - min(shares[x])))
        name, words = f"{name} = {level}", share_text
        rows += [(share, 0.0, share, share, share) for share in shares[level]]
    else:
        for one, values in zip(held, side.values, strict=True):
            known = values[~np.isnan(values)]
            cuts = np.quantile(known, (0.25, 0.75, 0.05, 0.95)).tolist() if len(known) else []
            rows.append((one.mean, *(cuts or [math.nan] * 4)))
    middles = sorted(row[0] for row in rows if row[0] == row[0])
    text = f"Changed in {times} of {plural(len(found.by_size), 'pair')}." if times else "No change."
    if middles and words(middles[0]) != words(middles[-1]):
        text = f"{words(middles[0])} to {words(middles[-1])}. {text}"
    if side.levels is None and side.kind == "number" and middles:
        places = max(len(number(middle).partition(".")[2]) for middle in middles)
        words = f"{{:,.{places}f}}".format if places else number  # all with as many
    return Figure(name, text, charts.over_sets(subject.names, rows, words, name))
