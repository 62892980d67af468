"""Documents of comparisons: which card and which sections each kind of them has."""

from __future__ import annotations

from collections.abc import Sequence

from cospan.comparison import Comparison

from .card import many_card, pair_card, pair_parts
from .columns import (
    Subject,
    columns_section,
    nameless_section,
    over_sets_section,
    relations_section,
)
from .document import Block, Document, Section
from .pictures import Gallery
from .sections import made_section, pairs_section, parts_section, quality_section, rows_section


def comparison_document(found: Comparison, command: str | None, files: Sequence[str]) -> Document:
    """The document of a comparison, whatever its sets are."""
    subject = Subject(found)
    gallery = Gallery(subject) if subject.pictures else None
    card = many_card(subject) if subject.many else pair_card(subject)
    more: list[Block] = []
    sections: list[Section] = []
    if gallery is not None:
        if not subject.many:
            card = gallery.on_card(card)
            more.append(gallery.pixels())
        sections += gallery.sections()
    elif subject.many:
        sections += over_sets_section(subject)
    elif not found.features.nameless:
        sections += [columns_section(subject), *relations_section(subject)]
    if subject.many:
        sections += [pairs_section(subject), *pair_parts(subject)]
    if gallery is None:
        sections += rows_section(subject)
    if not subject.many:
        sections += parts_section(found)
        if gallery is None and found.features.nameless:
            sections.append(nameless_section(subject))
    sections += [*quality_section(found), made_section(subject, command, files, more)]
    footer = f"cospan {found.version} · {found.seconds:.1f} seconds"
    return Document(card, tuple(sections), found.to_dict(), footer)
