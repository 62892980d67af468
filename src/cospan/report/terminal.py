"""A document on a terminal: fifteen lines that matter, or all of it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from cospan.base.text import printable

from .document import Block, Document, Notes, Table, Text

#: Findings and lines of facts of the short form.
FINDINGS, FACTS = 5, 3
#: Rows of a table, and columns of a cell, in the long form.
MOST_ROWS, WIDEST = 40, 44

Line = tuple[str, str]  # style ("title", "head", "plain", "warn"), text


def lines(document: Document, width: int = 80, full: bool = False) -> Iterator[Line]:
    """The verdict, the size, the first findings, and a line of facts; sections where `full`."""
    card = document.card
    yield from _wrapped("title", card.title, width)
    yield from _wrapped("plain", card.lead, width)
    if card.big is not None:
        yield from _wrapped(
            "plain", f"{card.big.before} {card.big.number}. {card.big.after}", width
        )
    for point in card.points if full else card.points[:FINDINGS]:
        yield "plain", printable(f"- {point.title}", width)
    facts = "; ".join(f"{fact.label.lower()}: {fact.value}" for fact in card.facts)
    yield from list(_wrapped("plain", facts, width))[: None if full else FACTS]
    for section in document.sections if full else ():
        yield "plain", ""
        yield "head", printable(section.title)
        yield from _wrapped("plain", section.lead, width)
        for block in section.blocks:
            yield from _block(block, width)


def _block(block: Block, width: int) -> Iterator[Line]:
    if isinstance(block, Text):
        yield from _wrapped("plain", block.text, width)
    elif isinstance(block, Notes):
        for name, text in block.notes:
            yield from _wrapped("plain", f"{name}: {text}", width)
    elif isinstance(block, Table):
        yield from _wrapped("plain", block.title, width)
        rows = [[printable(text, WIDEST) for text in row] for row in block.texts(MOST_ROWS)]
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            text = "  ".join(cell.ljust(n) for cell, n in zip(row, wide, strict=True))
            yield "plain", printable(f"  {text.rstrip()}", max(width, 40))
        if len(block.rows) > MOST_ROWS:
            yield "plain", f"  and {len(block.rows) - MOST_ROWS:,} more"


def _wrapped(style: str, text: str, width: int) -> Iterator[Line]:
    for line in textwrap.wrap(printable(text), width, subsequent_indent="  "):
        yield style, line
