"""A document as Markdown of at most sixty lines, for a pull request or a ticket."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cospan.base.text import harmless, plural

from .document import Block, Document, Fold, Notes, Section, Table, Text

#: Lines in all, rows of the first table and of the others, remarks, letters of a cell.
MOST_LINES, FIRST_ROWS, MORE_ROWS, MOST_NOTES, LONGEST = 60, 12, 4, 5, 60
#: Characters that Markdown or HTML would act on.
_ESCAPES = {ord(c): f"\\{c}" for c in "\\`*_[]|#~"}
_ESCAPES |= {ord("<"): "&lt;", ord(">"): "&gt;", ord("&"): "&amp;"}


def to_markdown(document: Document) -> str:
    """The card, then the first table and the remarks of each section."""
    card = document.card
    found = [f"## {_text(card.title)}", "", _text(card.lead), ""]
    if card.big is not None:
        found += [f"{card.big.before} **{card.big.number}**. {card.big.after}", ""]
    if card.points:
        found += [*(f"- {_text(point.title)}" for point in card.points), ""]
    if card.facts:
        values = [f"**{_text(fact.value)}**" for fact in card.facts]
        found += [*_rows([[_text(fact.label) for fact in card.facts], values]), ""]
    for section in document.sections:
        part = list(_section(section, FIRST_ROWS if section is document.sections[0] else MORE_ROWS))
        if len(found) + len(part) < MOST_LINES:
            found += part
    found.append(f"*{_text(document.footer)}*")
    return harmless("\n".join(found) + "\n")


def _section(section: Section, rows: int) -> Iterator[str]:
    """What is open in it; of a section that has only folded tables the first of them."""
    plain = [block for block in section.blocks if isinstance(block, Table | Notes | Text)]
    folded = [inner for block in section.blocks if isinstance(block, Fold)
              for inner in block.blocks if isinstance(inner, Table)]  # fmt: skip
    for k, block in enumerate(plain or folded[:1]):
        if k == 0:
            yield from (f"### {_text(section.title)}", "")
        yield from (*_block(block, rows), "")


def _block(block: Block, rows: int) -> Iterator[str]:
    if isinstance(block, Text):
        yield f"`{block.text.replace('`', ' ')}`" if block.code else _text(block.text)
    elif isinstance(block, Notes):
        yield from (
            f"- **{_text(name)}**: {_text(text)}" for name, text in block.notes[:MOST_NOTES]
        )
    elif isinstance(block, Table):
        if block.title:
            yield from (f"**{_text(block.title)}**", "")
        yield from _rows([[_text(_cut(text)) for text in row] for row in block.texts(rows)])
        if len(block.rows) > rows:
            yield from ("", f"and {plural(len(block.rows) - rows, 'more row')}.")


def _rows(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for k, row in enumerate(rows):
        yield f"| {' | '.join(row)} |"
        if k == 0:
            yield "|" + "---|" * len(row)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _text(text: str) -> str:
    """Words on one line that mean nothing to Markdown."""
    return " ".join(text.split()).translate(_ESCAPES)
