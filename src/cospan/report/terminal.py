"""A document on a terminal: fifteen lines that matter, or all of it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from cospan.base.text import printable

from .document import Document, Fact, Notes, Section, Table, Text

#: Findings of the short form.
FINDINGS = 5
#: Rows of a table, and columns of a cell, in the long form.
MOST_ROWS, WIDEST = 40, 44

Line = tuple[str, str]  # style ("title", "head", "plain", "warn"), text


def lines(document: Document, width: int = 80, full: bool = False) -> Iterator[Line]:
    """The verdict, the size, the first findings, and a line of facts; sections where `full`."""
    card = document.card
    yield from _wrapped("title", card.headline.title, width)
    yield from _wrapped("plain", card.headline.lead, width)
    if card.big is not None:
        size = f"{card.big.before} {card.big.number}. {card.big.after}"
        yield from _wrapped("plain", size, width)
    for point in card.points[: None if full else FINDINGS]:
        yield "plain", printable(f"- {point.title}", width)
    facts = "; ".join(_fact(fact) for fact in card.facts)
    yield from list(_wrapped("plain", facts, width))[: None if full else 3]
    for section in document.sections if full else ():
        yield "plain", ""
        yield from _section(section, width)


def _fact(fact: Fact) -> str:
    return f"{fact.label.lower()}: {fact.value}"


def _section(section: Section, width: int) -> Iterator[Line]:
    yield "head", printable(section.title)
    if section.lead:
        yield from _wrapped("plain", section.lead, width)
    for block in section.blocks:
        if isinstance(block, Table):
            yield from _table(block, width)
        elif isinstance(block, Notes):
            for name, text in block.items:
                yield from _wrapped("plain", f"{name}: {text}", width, "  ")
        elif isinstance(block, Text):
            yield from _wrapped("plain", block.text, width)


def _table(table: Table, width: int) -> Iterator[Line]:
    """Columns with words only, as wide as what is in them."""
    used = [k for k in range(len(table.heads)) if any(row[k].text for row in table.rows)]
    if table.title:
        yield "plain", printable(table.title)
    rows = [[table.heads[k].rstrip(" ↕") for k in used]]
    rows += [[printable(row[k].text, WIDEST) for k in used] for row in table.rows[:MOST_ROWS]]
    wide = [max(len(row[k]) for row in rows) for k in range(len(used))]
    for row in rows:
        text = "  ".join(cell.ljust(n) for cell, n in zip(row, wide, strict=True))
        yield "plain", printable(f"  {text.rstrip()}", max(width, 40))
    if len(table.rows) > MOST_ROWS:
        yield "plain", f"  and {len(table.rows) - MOST_ROWS:,} more"


def _wrapped(style: str, text: str, width: int, indent: str = "") -> Iterator[Line]:
    for line in textwrap.wrap(printable(text), width, subsequent_indent=indent):
        yield style, line
