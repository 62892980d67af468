"""A document as plain text: Markdown of at most sixty lines, and lines for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from cospan.base.text import harmless, plural, printable

from .document import Block, Card, Document, Figures, Fold, Notes, Section, Table, Text, unfolded

#: Markdown: lines in all, rows of the first table and of the others, remarks, letters of a cell.
MOST_LINES, FIRST_ROWS, MORE_ROWS, MOST_NOTES, LONGEST = 60, 12, 5, 5, 160
#: Characters that Markdown or HTML would act on.
_ESCAPES = {ord(c): f"\\{c}" for c in "\\`*_[]|#~"}
_ESCAPES |= {ord("<"): "&lt;", ord(">"): "&gt;", ord("&"): "&amp;"}
#: The terminal: lines, findings and lines of facts of the short form; rows and cells of a table.
SHORT, FINDINGS, FACTS, MOST_ROWS, NARROWEST = 15, 5, 3, 40, 8

Line = tuple[str, str]  # style ("title", "head", "plain", "warn"), text


def cut(text: str, most: int) -> str:
    """Words that fit, cut between two of them: half a number would be another one.

    >>> cut("income is a whole number, down from 100%", 38), cut("unbreakable", 6)
    ('income is a whole number, down from…', 'unbre…')
    """
    if len(text) <= most:
        return text
    at = text.rfind(" ", 0, most)
    return f"{text[: at if at > most // 2 else most - 1]}…"


# ---- Markdown ----------------------------------------------------------------------------------


def markdown(document: Document) -> str:
    """The card, then the first table and the remarks of each section."""
    card = document.card
    found = [f"## {_escaped(card.title)}", "", _escaped(card.lead), ""]
    if card.big is not None:
        found += [f"{card.big.label} **{card.big.value}**. {card.big.text}", ""]
    if card.points:
        found += [*(f"- {_escaped(point.title)}" for point in card.points), ""]
    if card.facts:
        values = [f"**{_escaped(fact.value)}**" for fact in card.facts]
        found += [*_rows([[_escaped(fact.label) for fact in card.facts], values]), ""]
    for section in document.sections:
        part = list(_section(section, FIRST_ROWS if section is document.sections[0] else MORE_ROWS))
        if len(found) + len(part) < MOST_LINES:
            found += part
    found.append(f"*{_escaped(document.footer)}*")
    return harmless("\n".join(found) + "\n")


def _section(section: Section, rows: int) -> Iterator[str]:
    """What is open in it, pictures and how it was made left out."""
    blocks = section.blocks if section.id != "made" else ()
    plain = [one for one in blocks if isinstance(one, Table | Notes | Text | Figures | Fold)]
    for k, block in enumerate(plain):
        if k == 0:
            yield from (f"### {_escaped(section.title)}", "")
        if isinstance(block, Fold):
            yield f"{_escaped(block.title)} {_escaped(block.text)}".rstrip() + "."
        elif isinstance(block, Text):
            yield f"`{block.text.replace('`', ' ')}`" if block.code else _escaped(block.text)
        elif isinstance(block, Notes | Figures):
            notes = block.notes if isinstance(block, Notes) else [one[:2] for one in block.figures]
            notes = notes[:MOST_NOTES]
            yield from (f"- **{_escaped(name)}**: {_escaped(text)}" for name, text in notes)
        else:
            yield from (f"**{_escaped(block.title)}**", "") if block.title else ()
            yield from _rows(
                [[_escaped(cut(x, LONGEST)) for x in row] for row in block.texts(rows)]
            )
            if len(block.rows) > rows:
                yield from ("", f"and {plural(len(block.rows) - rows, 'more row')}.")
        yield ""


def _rows(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for k, row in enumerate(rows):
        yield f"| {' | '.join(row)} |"
        if k == 0:
            yield "|" + "---|" * len(row)


def _escaped(text: str) -> str:
    """Words on one line that mean nothing to Markdown."""
    return " ".join(text.split()).translate(_ESCAPES)


# ---- the terminal ------------------------------------------------------------------------------


def lines(document: Document, width: int = 80, full: bool = False) -> Iterator[Line]:
    """The verdict, the size, the first findings, and a line of facts; sections where `full`."""
    card = document.card
    first = [*_wrapped("title", card.title, width), *_wrapped("plain", card.lead, width)]
    if card.big is not None:
        big = f"{card.big.label} {card.big.value}. {card.big.text}"
        first += _wrapped("plain", big, width)
    facts = "; ".join(f"{fact.label.lower()}: {fact.value}" for fact in card.facts)
    last = list(_wrapped("plain", facts, width))[: None if full else FACTS]
    found = list[Line]()
    for point in card.points[: None if full else FINDINGS]:
        whole = list(_wrapped("plain", f"- {point.title}", width))
        if full or len(first) + len(found) + len(whole) + len(last) <= SHORT:
            found += whole
    yield from (*first, *found, *last)
    for section in document.sections if full else ():
        yield "plain", ""
        yield from _wrapped("head", section.title, width)
        for block in unfolded(section.blocks):
            yield from _block(block, width)


def _block(block: Block, width: int) -> Iterator[Line]:
    if isinstance(block, Text):
        yield from _wrapped("plain", block.text, width)
    elif isinstance(block, Notes):
        for name, text in block.notes:
            yield from _wrapped("plain", f"{name}: {text}", width)
    elif isinstance(block, Card):
        yield from _wrapped("plain", f"{block.title} {block.lead}", width)
        for point in block.points:
            yield from _wrapped("plain", f"- {point.title}", width)
    elif isinstance(block, Table):
        yield from _wrapped("plain", block.title, width)
        rows = [[printable(text) for text in row] for row in block.texts(MOST_ROWS)]
        for row in _fitted(rows, width - 2):
            yield "plain", f"  {row}"
        if len(block.rows) > MOST_ROWS:
            yield "plain", f"  and {len(block.rows) - MOST_ROWS:,} more"


def _fitted(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Columns side by side; the widest are cut until they fit."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    while wide and sum(wide) + 2 * (len(wide) - 1) > width and max(wide) > NARROWEST:
        wide[wide.index(max(wide))] -= 1
    for row in rows:
        cells = (cut(cell, n).ljust(n) for cell, n in zip(row, wide, strict=True))
        yield "  ".join(cells).rstrip()


def _wrapped(style: str, text: str, width: int) -> Iterator[Line]:
    for line in textwrap.wrap(printable(text), width, subsequent_indent="  "):
        yield style, line
