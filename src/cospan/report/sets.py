"""Documents of any comparison: of more than two sets, of pictures, of columns without names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cospan.base.text import plural, quoted, share_text
from cospan.base.types import Floats
from cospan.comparison import Comparison
from cospan.evidence import size_word
from cospan.headlines import headline, interval_words, sets_lead
from cospan.wording import of_hundred

from . import charts, set_charts
from .document import (
    Block,
    Card,
    Cell,
    Document,
    Fact,
    Figure,
    Figures,
    Fold,
    Headline,
    Section,
    Table,
)
from .pair import (
    big_of,
    columns_section,
    facts_of,
    footer_of,
    keys_of,
    p_sign,
    pair_document,
    schema_points,
    score_charts,
    values_of,
)
from .sections import (
    Side,
    made_section,
    parts_section,
    quality_notes,
    quality_section,
    rows_section,
    sides_of,
)

#: Pairs that have a part of the page, and columns in a pair's table.
MOST_PAIRS, PAIR_COLUMNS = 45, 6
#: Columns drawn over the sets, and rows named as examples.
MOST_FIGURES, EXAMPLES = 24, 3


def sets_document(found: Comparison, command: str | None, files: Sequence[str]) -> Document:
    """The document of a comparison, whatever its sets are."""
    if found.image_shape is not None:
        from .pictures import pictures_document

        return pictures_document(found, command, files)
    if len(found.names) > 2:
        return many_document(found, command, files)
    if found.features.nameless:
        return nameless_document(found, command, files)
    return pair_document(found, command, files)


# ---- columns without names ---------------------------------------------------------------------


def nameless_document(found: Comparison, command: str | None, files: Sequence[str]) -> Document:
    """Of embeddings and the like: rows say more than columns called by their places."""
    top = Headline(headline(found), sets_lead(found), keys_of(found))
    table = examples_table(found)
    side: tuple[Block, ...] = (table,) if found.verdict.differs else ()
    points = schema_points(found)
    card = Card(top, big_of(found), score_charts(found), points, side, facts_of(found))
    columns = columns_section(found, sides_of(found))
    folded = Fold("Single columns", f"{plural(len(found.features), 'column')} without names",
                  columns.blocks)  # fmt: skip
    about = "Columns that are called by their places say little by themselves."
    sections = [
        *rows_section(found),
        *(parts_section(found) if found.verdict.differs else ()),
        Section("columns", "Columns", columns.title, about, (folded,)),
        *quality_section(found),
        made_section(found, command, files),
    ]
    return Document(card, tuple(sections), found.to_dict(), footer_of(found))


class Example(NamedTuple):
    """A row of the samples with its score: the probability of the second set."""

    own: int
    id: object
    score: float
    values: Floats


def examples_of(found: Comparison) -> list[Example]:
    """The rows of the samples that were scored, from the clearest A to the clearest B."""
    rows = []
    for k, (group, chunk) in enumerate(zip(found.groups, found.samples, strict=True)):
        place = {str(name): i for i, name in enumerate(group.kept.ids.tolist())}
        for name, values in zip(chunk.ids.tolist(), chunk.rows, strict=True):
            i = place.get(str(name))
            if i is not None:
                score = float(group.kept.weights[i, 1])
                rows.append(Example(k, name, score, np.asarray(values, dtype=np.float64)))
    return sorted(rows, key=lambda one: one.score)


def examples_table(found: Comparison) -> Table:
    """The clearest rows of each set, and those in between."""
    rows = examples_of(found)
    middle = sorted(rows, key=lambda one: abs(one.score - 0.5))[:EXAMPLES]
    parts = (
        (f"clearest {found.names[0]}", rows[:EXAMPLES]),
        ("in between", middle),
        (f"clearest {found.names[1]}", rows[: -EXAMPLES - 1 : -1]),
    )
    cells = [
        (
            Cell(word if k == 0 else "", look="name"),
            Cell(str(one.id)),
            Cell(found.names[one.own], look=f"key {charts.LOOKS[one.own]}"),
            Cell(_leaning(one, found), look="words"),
        )
        for word, part in parts
        for k, one in enumerate(part)
    ]
    return Table(("", "Row", "Set", "Looks like"), tuple(cells))


def _leaning(one: Example, found: Comparison) -> str:
    k = int(one.score > 0.5)
    return f"{share_text(one.score if k else 1 - one.score)} {found.names[k]}"


# ---- more than two sets ------------------------------------------------------------------------


def many_document(found: Comparison, command: str | None, files: Sequence[str]) -> Document:
    """A map of the sets and all sizes; columns over the sets; pairs, farthest first."""
    sections = [
        *over_sets_section(found),
        pairs_section(found),
        *pair_sections(found),
        *rows_section(found),
        *quality_section(found),
        made_section(found, command, files),
    ]
    return Document(many_card(found), tuple(sections), found.to_dict(), footer_of(found))


def pair_id(i: int, j: int) -> str:
    """The part of the page that a pair has."""
    return f"pair-{min(i, j) + 1}-{max(i, j) + 1}"


def many_card(found: Comparison) -> Card:
    """How many pairs differ, a map and a matrix of the sizes."""
    sizes = found.pairs.matrix("auc")
    shown = {pair_id(*pair) for pair in found.by_size[:MOST_PAIRS]}

    def link(i: int, j: int) -> str:
        return f"#{pair_id(i, j)}" if pair_id(i, j) in shown else ""

    text = "The farther apart two dots, the easier their rows are told apart; times in 100."
    first = Figure(
        "The sets on a map.", text, set_charts.set_map(found.names, sizes, *found.map), _ends(found)
    )
    text = "of 100 (guessing: 50). Choose a pair to see it."
    title = "How often one row of each is told apart,"
    second = Figure(title, text, set_charts.matrix(found.names, sizes, link))
    top = Headline(headline(found), sets_lead(found), keys_of(found))
    points = schema_points(found)
    return Card(top, points=points, side=(first, second), facts=many_facts(found))


def _ends(found: Comparison) -> str:
    """The closest and the farthest pair."""
    parts = []
    for word, (i, j) in (("Closest", found.by_size[-1]), ("Farthest", found.by_size[0])):
        size = found.pairs.between(i, j).auc
        ends = f"{of_hundred(size.low)} to {of_hundred(size.high)}"
        parts.append(f"{word}: {found.names[i]} and {found.names[j]}, {of_hundred(size)} ({ends}).")
    return " ".join(parts)


def many_facts(found: Comparison) -> tuple[Fact, ...]:
    """How sure, how large, how many columns, rows and notes."""
    sizes = [found.pairs.between(*pair).auc for pair in found.by_size]
    facts = []
    changed: set[str] = set()
    if found.differing:
        worst = max(found.pair(*pair).p for pair in found.differing)
        n = found.verdict.n_permutations
        most = p_sign(worst, n).replace("=", "≤")
        facts.append(Fact("How sure", f"p {most}", "in every pair that differs"))
    if found.differing is not None:
        for pair in found.differing:
            changed |= {one.name for one in found.pair(*pair).features.changed}
    else:
        facts.append(Fact("How sure", "not tested", "too many pairs and columns"))
    words = [size_word(size) for size in sizes]
    first = next(w for w in ("large", "medium", "small", "none") if w in words)
    low, high = of_hundred(sizes[-1]), of_hundred(sizes[0])
    value = f"{words.count(first)} of {len(words)} {first}"
    facts.append(Fact("Sizes", value, f"{low} to {high} in 100", "pairs"))
    if found.differing is not None and found.image_shape is None:
        n = len(found.features)
        facts.append(
            Fact("Columns that differ", f"{len(changed)} of {n}", "in any pair", "columns")
        )
    rows, notes = found.rows, quality_notes(found)
    facts.append(Fact("Rows to check", f"{len(rows):,}", "", "rows" if rows else ""))
    about = notes[0][0].lower() if notes else "nothing odd"
    facts.append(
        Fact("Data quality", plural(len(notes), "note"), about, "quality" if notes else "")
    )
    return tuple(facts)


def over_sets_section(found: Comparison) -> Iterator[Section]:
    """Small multiples: every column over the sets, those that change in most pairs first."""
    if found.differing is None or found.features.nameless:
        return
    times: dict[str, int] = {one.name: 0 for one in found.features}
    for pair in found.by_size:
        for one in found.pair(*pair).features.changed:
            times[one.name] = times.get(one.name, 0) + 1
    sides = sides_of(found)
    order = sorted((name for name in times if name in sides), key=lambda name: -times[name])
    n = len(found.by_size)
    figures = tuple(_over_sets(name, sides[name], found, times[name], n) for name in order)
    changed = [quoted(name) for name in order if times[name]]
    title = "No column differs between the sets"
    if changed:
        title = f"{' and '.join(changed[:2])} differ in most pairs" if len(changed) > 1 else (
            f"{changed[0]} differs")  # fmt: skip
    lead = "Dot: median or share; band: middle half; line: 5th to 95th percentile."
    blocks: list[Block] = [Figures(figures[:MOST_FIGURES])]
    if len(figures) > MOST_FIGURES:
        more = len(figures) - MOST_FIGURES
        blocks.append(Fold(plural(more, "more column"), "", (Figures(figures[MOST_FIGURES:]),)))
    yield Section("columns", "Columns", title, lead, tuple(blocks))


def _over_sets(name: str, side: Side, found: Comparison, times: int, pairs: int) -> Figure:
    text = f"changed in {times} of {plural(pairs, 'pair')}" if times else "no change in any pair"
    if side.levels is not None:
        counts = [np.bincount(v[~np.isnan(v)].astype(np.intp), minlength=len(side.levels))
                  for v in side.values]  # fmt: skip
        shares = np.array([one / max(1, one.sum()) for one in counts])
        level = int(np.argmax(np.ptp(shares, axis=0)))
        rows: list[tuple[float, ...]] = [(float(share),) for share in shares[:, level]]
        title = f"{name} = {side.levels[level]}"
        return Figure(title, text, set_charts.over_sets(found.names, rows, share_text, title))
    cuts = (0.5, 0.25, 0.75, 0.05, 0.95)
    rows = []
    for values in side.values:
        known = values[~np.isnan(values)]
        cut = np.quantile(known, cuts) if len(known) else np.full(5, np.nan)
        rows.append(tuple(float(v) for v in cut))
    return Figure(name, text, set_charts.over_sets(found.names, rows, side.words, name))


def pairs_section(found: Comparison) -> Section:
    """All pairs in a table, the farthest first."""
    rows = []
    for place, (i, j) in enumerate(found.by_size):
        size = found.pairs.between(i, j).auc
        names, word = "", size_word(size)
        if found.differing is not None and found.image_shape is None:
            pair = found.pair(i, j)
            changed = [quoted(one.name) for one in pair.features.changed]
            more = f" and {len(changed) - 4} more" if len(changed) > 4 else ""
            names = ", ".join(changed[:4]) + more if (i, j) in found.differing else "no difference"
        rows.append(
            (
                Cell(f"{found.names[i]} · {found.names[j]}", look="name",
                     link=pair_id(i, j) if place < MOST_PAIRS else ""),
                Cell(of_hundred(size), look="number", value=float(size)),
                Cell(chart=charts.interval(float(size), size.low, size.high)),
                Cell(word, look="strong chip" if word == "large" else "plain chip"),
                Cell(names, look="words"),
            )
        )  # fmt: skip
    heads = ("Pair", "Size ↕", "50 to 100", "", "Columns that changed, most first")
    title = f"{plural(len(rows), 'pair')}, from farthest to closest"
    lead = "Times in 100 that one row of each is told apart, with its 95% interval."
    return Section("pairs", "Pairs", title, lead, (Table(heads, tuple(rows)),))


def pair_sections(found: Comparison) -> Iterator[Section]:
    """The farthest and the closest pair are open, the others folded."""
    pairs = found.by_size[:MOST_PAIRS]
    for word, (i, j) in (("Farthest", pairs[0]), ("Closest", pairs[-1])):
        card = pair_part(found, i, j)
        title = f"{word}: {card.headline.title}"
        yield Section(pair_id(i, j), word, title, card.headline.lead, (card,))
    folds = []
    for i, j in pairs[1:-1]:
        card = pair_part(found, i, j)
        title = f"{found.names[i]} and {found.names[j]}"
        folds.append(Fold(title, card.headline.lead, (card,), pair_id(i, j)))
    if folds:
        yield Section("others", "Other pairs", "The other pairs", "", tuple(folds))


def pair_part(found: Comparison, i: int, j: int) -> Card:
    """What there is to say on one pair of many: its hills, and its first columns."""
    apart = found.pairs.between(i, j).auc
    looks = charts.LOOKS[i % 5] + charts.LOOKS[j % 5]
    logs = []
    for k in (i, j):
        w = found.groups[k].kept.weights[:, [i, j]] + 1e-9
        logs.append(np.log(w[:, 1]) - np.log(w[:, 0]))
    names = (found.names[i], found.names[j])
    chart = charts.hills(logs[0], logs[1], names, looks)
    lead = f"Told apart {of_hundred(apart)} times in 100. {interval_words(apart)}"
    if found.differing is None or found.image_shape is not None:
        title = f"{names[0]} and {names[1]}"
        return Card(Headline(title, lead), charts=(chart,), boxed=False)
    pair = found.pair(i, j)
    rows = tuple(
        (
            Cell(one.name, look="name"),
            Cell(values_of(one), look="pair"),
            Cell(f"p {p_sign(one.p_adjusted, pair.verdict.n_permutations)}", look="number"),
        )
        for one in itertools.islice(pair.features, PAIR_COLUMNS)
    )
    table = Table(("Column", f"{names[0]} → {names[1]}", "How sure"), rows)
    return Card(Headline(headline(pair), lead), charts=(chart,), side=(table,), boxed=False)
