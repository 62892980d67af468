"""Documents of comparisons: which card and which sections each kind of them has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cospan.comparison import Comparison

from .card import facts_of, many_card, pair_card
from .columns import (
    Subject,
    columns_section,
    nameless_section,
    over_sets_section,
    relations_section,
)
from .document import Block, Card, Document, Fold, Section
from .pictures import Gallery
from .sections import (
    made_section,
    pair_id,
    pairs_section,
    parts_section,
    quality_section,
    rows_section,
)

#: Of more pairs the folded ones say their findings without charts: a page stays below 800 kB.
MOST_DRAWN = 21


def comparison_document(found: Comparison, command: str | None, files: Sequence[str]) -> Document:
    """The document of a comparison, whatever its sets are."""
    subject = Subject(found)
    card = many_card(subject) if subject.many else _pair_card(subject)
    card = card._replace(facts=facts_of(subject))
    more: list[Block] = []
    sections: list[Section] = []
    if subject.pictures:
        sections += Gallery(subject).sections()
        if not subject.many:
            pixels = columns_section(subject).blocks
            more.append(Fold("Single pixels", "those that differ most", pixels))
    elif subject.many:
        sections += over_sets_section(subject)
    elif not found.features.nameless:
        sections += [columns_section(subject), *relations_section(subject)]
    if subject.many:
        sections += [pairs_section(subject), *_pair_parts(subject)]
    if not subject.pictures:
        sections += rows_section(subject)
    if not subject.many:
        sections += parts_section(found)
        if found.features.nameless and not subject.pictures:
            sections.append(nameless_section(subject))
    sections += [*quality_section(found), made_section(subject, command, files, more)]
    footer = f"cospan {found.version} · {found.seconds:.1f} seconds"
    return Document(card, tuple(sections), found.to_dict(), footer)


def _pair_card(subject: Subject) -> Card:
    """The card of two sets, with pictures where rows are some."""
    card = pair_card(subject)
    return Gallery(subject).on_card(card) if subject.pictures else card


def _pair_parts(subject: Subject) -> Iterator[Section]:
    """A card for every pair that was tested: the farthest and the closest open, others folded."""
    found, folds = subject.found, []
    if found.differing is None:
        return
    for place, (i, j) in enumerate(found.by_size):
        pair = Subject(found.pair(i, j))
        looks = subject.looks[i] + subject.looks[j]
        card = _pair_card(pair)._replace(looks=looks, keys=())
        word = {0: "Farthest", len(found.by_size) - 1: "Closest"}.get(place)
        if word is None and len(found.by_size) > MOST_DRAWN:
            card = card._replace(points=tuple(one._replace(chart=None) for one in card.points))
        if word is None:
            title = f"{pair.names[0]} and {pair.names[1]}"
            folds.append(Fold(title, card.lead, (card,), pair_id(i, j)))
        else:
            title = f"{word}: {card.title}"
            yield Section(pair_id(i, j), word, title, card.lead, (card,))
    if folds:
        yield Section("others", "Other pairs", "The other pairs", "", tuple(folds))
