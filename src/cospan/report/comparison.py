"""The document of a comparison: its card, and which sections it has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from cospan.base.text import number, plural, quoted, share_text
from cospan.comparison import Comparison
from cospan.evidence import Finding, size_word
from cospan.headlines import columns_lead, comparison_sentences, headline, interval_words, sets_lead
from cospan.wording import SCHEMA, of_hundred, sentence

from . import charts
from .columns import (
    Subject,
    columns_section,
    over_sets_section,
    p_sign,
    relations_section,
    seen_from,
    values_of,
)
from .document import Block, Card, Cell, Chart, Document, Fact, Figure, Fold, Key, Section, Table
from .document import table as made_table
from .drawing import short
from .pictures import Gallery
from .sections import (
    NO_SET,
    how_made,
    pair_id,
    pairs_section,
    parts_section,
    quality_notes,
    quality_section,
    rows_section,
)

#: Of more pairs the folded ones say their findings without charts: a page stays below 800 kB.
MOST_DRAWN = 21
#: Findings that a card has; columns of the band where nothing changed; rows named as examples.
FINDINGS, BAND, EXAMPLES = 5, 14, 3
#: Kinds of findings that are not about the values of one column.
WHOLE = (*SCHEMA, "repeated rows")
#: Kinds of findings whose values are shares of rows.
SHARES = ("level", "value", "missing", "rounding", "identity", "copy", "shape")


def comparison_document(found: Comparison, command: str | None, files: Sequence[str]) -> Document:
    """The document of a comparison, whatever its sets are."""
    subject = Subject(found)
    card = many_card(subject) if subject.many else pair_card(subject)
    more: list[Block] = []
    sections: list[Section] = []
    if subject.pictures:
        sections += Gallery(subject).sections()
    if subject.many:
        sections += over_sets_section(subject) if subject.named else ()
        sections += [pairs_section(subject), *_pair_parts(subject)]
    elif subject.named:
        sections += [columns_section(subject), *relations_section(subject)]
    else:
        things = "pixels" if subject.pictures else "columns"
        single = columns_section(subject).blocks
        more.append(Fold(f"Single {things}", "those that differ most", single))
    if not subject.pictures:
        sections += rows_section(subject)
    if not subject.many:
        sections += parts_section(subject)
    sections += [*quality_section(found), how_made(subject, command, files, more)]
    footer = f"cospan {found.version} · {found.seconds:.1f} seconds"
    card = card._replace(facts=tuple(_facts(subject)))
    return Document(card, tuple(sections), found.to_dict(), footer)


def _pair_parts(subject: Subject) -> Iterator[Section]:
    """A card for every pair that was tested: the farthest and the closest open, others folded."""
    found, folds = subject.found, []
    if found.differing is None:
        return
    for place, (i, j) in enumerate(found.by_size):
        pair = Subject(found.pair(i, j))
        looks = subject.looks[i] + subject.looks[j]
        card = pair_card(pair)._replace(looks=looks, keys=())
        word = {0: "Farthest", len(found.by_size) - 1: "Closest"}.get(place)
        if word is not None:
            title = f"{word}: {card.title}"
            yield Section(pair_id(i, j), word, title, card.lead, (card,))
            continue
        if len(found.by_size) > MOST_DRAWN:
            card = card._replace(points=tuple(one._replace(chart=None) for one in card.points))
        title = f"{pair.names[0]} and {pair.names[1]}"
        folds.append(Fold(title, card.lead, (card,), pair_id(i, j)))
    if folds:
        yield Section("others", "Other pairs", "The other pairs", "", tuple(folds))


# ---- cards -------------------------------------------------------------------------------------


def pair_card(subject: Subject) -> Card:
    """What two sets have to say on one screen."""
    found, side = subject.found, tuple[Block, ...]()
    if subject.pictures:  # they speak for themselves, and single pixels say nothing
        side = (Gallery(subject).averages(),)
    elif not found.verdict.differs:
        side = _band(subject) if subject.named else ()
    elif not subject.named:
        side = (_examples(subject),)
    thing = "picture of each" if subject.pictures else "row from each set"
    label = f"Shown one {thing}, you could tell which is which"
    big = Fact(label, f"{of_hundred(found.size)} times in 100", interval_words(found.size))
    logs = [np.log(group.kept.weights + 1e-9) for group in found.groups]
    hills = charts.hills([log[:, 1] - log[:, 0] for log in logs], subject.names)
    return Card(headline(found), columns_lead(found), _keys(subject), big,
                (hills, charts.ruler(found.size)), _points(subject), side,
                side_first=subject.pictures)  # fmt: skip


def many_card(subject: Subject) -> Card:
    """How many pairs differ, a map and a matrix of the sizes."""
    found, names = subject.found, subject.names
    sizes = found.size_matrix
    text = "The farther apart two dots, the easier their rows are told apart."
    first = Figure("The sets on a map.", text, charts.set_map(names, *found.map, sizes))
    text = "of 100 (guessing: 50). Choose a pair to see it."
    tested = found.differing is not None
    drawn = charts.matrix(names, sizes, lambda i, j: f"#{pair_id(i, j)}" if tested else "")
    second = Figure("How often one row of each is told apart,", text, drawn)
    title = headline(found)
    said = [line for line in comparison_sentences(found) if line != title]
    if not subject.named:  # no findings on single columns
        said = said[: len(found.schema_changes) + 2]
    points = tuple(map(Figure, said))
    return Card(title, sets_lead(found), _keys(subject), points=points, side=(first, second))


def _keys(subject: Subject) -> tuple[Key, ...]:
    """The sets, as they look on the page."""
    thing = "picture" if subject.pictures else "row"
    sizes = [plural(group.total, thing) for group in subject.found.groups]
    return tuple(map(Key, subject.names, subject.looks, sizes))


# ---- findings ----------------------------------------------------------------------------------


def _points(subject: Subject) -> tuple[Figure, ...]:
    """The first findings with their charts; what to see in charts of one kind is said once.

    Of pixels and columns without names only what is not about one of them.
    """
    verdict, points = subject.found.verdict, []
    said: set[str] = set()
    findings = [one for one in subject.found.findings if one.kind in WHOLE or subject.named]
    for one in findings[:FINDINGS]:
        chart, text = (None, "") if one.kind in WHOLE else _finding_chart(one, subject)
        words = sentence(one, verdict.sets, verdict.kinds.get(one.column, "number"))
        points.append(Figure(words, "" if text in said else text, chart))
        said.add(text)
    return tuple(points)


def _finding_chart(one: Finding, subject: Subject) -> tuple[Chart | None, str]:
    """The chart of a finding, and what to see in it."""
    names, side = subject.names, subject.sides.get(one.column)
    title = f"{one.column} in {names[0]} and {names[1]}"
    if one.kind in SHARES and one.kind != "shape" and one.a == one.a:
        words = partial(share_text, places=1 if max(one.a, one.b) < 0.1 else 0)
        return charts.bars((one.a, one.b), names, words, title), "Share of the rows."
    if one.kind == "inside":
        return charts.bars((one.a, one.b), names, number, title), f"Averages of {one.column} there."
    if side is None:
        return None, ""
    if one.kind in ("given", "scatter", "relation"):
        drawn = subject.along(one.second, one.column)
        if drawn is not None:
            return drawn
    if side.levels is not None:
        feature = subject.found.features[one.column]
        return charts.levels(feature.a.levels, feature.b.levels, names), "Shares of its values."
    chart = charts.histogram(side.values[0], side.values[1], names, side.words, large=True)
    return chart, "The marks below are the averages."


def _band(subject: Subject) -> tuple[Block, ...]:
    """Where nothing changed: every column inside what could not have been seen."""
    items = []
    for one in subject.found.features:
        place, words = seen_from(one, subject.found)
        said = f"{one.name}: {values_of(one)}; would be seen from {words}"
        if place == place:
            items.append((one.name, place, said))
    caption = "Grey: changes too small to be seen with these rows."
    title = "Every column is inside what chance allows."
    return (Figure(title, caption, charts.seen_from(items[:BAND])),) if items else ()


def _examples(subject: Subject) -> Table:
    """The clearest rows of each set, and those in between."""
    found, (a, b) = subject.examples, subject.names
    middle = sorted(found, key=lambda one: abs(one.score - 0.5))[:EXAMPLES]
    clear = {f"clearest {a}": found[:EXAMPLES], "in between": middle,
             f"clearest {b}": found[: -EXAMPLES - 1 : -1]}  # fmt: skip
    rows = []
    for word, part in clear.items():
        for k, one in enumerate(part):
            like = f"{share_text(max(one.score, 1 - one.score))} {b if one.score > 0.5 else a}"
            own = Cell(subject.names[one.own], f"key {'ab'[one.own]}")
            rows.append((word if k == 0 else "", short(str(one.id), 18), own, like))
    return made_table({"Example": "name", "Row": "", "Set": "", "Looks like": ""}, rows)


# ---- facts -------------------------------------------------------------------------------------


def _facts(subject: Subject) -> Iterator[Fact]:
    """How sure (of many sets of the farthest pair), what changed, rows to check, quality."""
    found, many, p = subject.found, subject.many, subject.found.p
    n = found.verdict.n_permutations
    if p != p:
        yield Fact("How sure", "no test", "few rows")
    else:
        said = "of the farthest pair" if many else plural(n, "relabelling")
        yield Fact("How sure", f"p {p_sign(p, n)}", said)
    yield from _facts_of_many(subject) if many else _facts_of_pair(subject)
    rows, notes = found.rows, quality_notes(found)
    neither = sum(row.kind == NO_SET for row in rows)
    text = f"look like {'another' if many else 'the other'} set"
    if neither or not rows:
        text = f"{neither:,}" if neither else "none"
        text += " unlike any set" if many else " unlike both sets"
    thing = "Pictures" if subject.pictures and not many else "Rows"
    yield Fact(f"{thing} to check", f"{len(rows):,}", text, "rows" if rows else "")
    about = notes[0][0].lower() if notes else "nothing odd"
    yield Fact("Data quality", plural(len(notes), "note"), about, "quality" if notes else "")


def _facts_of_pair(subject: Subject) -> Iterator[Fact]:
    """How many columns and relations changed, or what would have been seen."""
    found, features = subject.found, subject.found.features
    what, link = "Pixels" if subject.pictures else "Columns", "columns" if subject.named else "made"
    counts = f"{len(features.changed):,} of {len(features):,}"
    yield Fact(f"{what} changed", counts, "adjusted for all", link)
    pairs = found.feature_pairs.changed
    if not found.verdict.differs:
        steps = [one.deviations for one in found.verdict.smallest.values()]
        least = f"{number(float(np.nanmedian(steps)), 2)} sd" if steps else "unknown"
        yield Fact("Smallest visible change", least, "of one column, 4 times in 5")
    elif pairs and subject.named:
        first = f"{quoted(pairs[0].first)} and {quoted(pairs[0].second)} first"
        yield Fact("Relations changed", f"{len(pairs):,}", first, "relations")


def _facts_of_many(subject: Subject) -> Iterator[Fact]:
    """How large the differences are, and how many columns differ."""
    found = subject.found
    sizes = [found.sizes[pair] for pair in found.by_size]
    words = [size_word(size) for size in sizes]
    text = f"{of_hundred(sizes[-1])} to {of_hundred(sizes[0])} in 100"
    yield Fact("Sizes", f"{words.count(words[0])} of {len(words)} {words[0]}", text, "pairs")
    if found.differing is not None and not subject.pictures:
        changed = {
            one.name for pair in found.differing for one in found.pair(*pair).features.changed
        }
        counted, link = f"{len(changed):,} of {len(found.features):,}", "columns"
        yield Fact("Columns that differ", counted, "in any pair", link if subject.named else "")
