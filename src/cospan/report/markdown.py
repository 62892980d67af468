"""A document as Markdown of at most sixty lines, for a pull request or a ticket."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cospan.base.text import harmless, plural

from .document import Block, Cell, Document, Fold, Notes, Section, Table, Text

#: Lines in all, rows of the first table and of the others, remarks.
MOST_LINES, FIRST_ROWS, MORE_ROWS, MOST_NOTES = 60, 12, 4, 5
#: Longest text of a cell.
LONGEST = 60
#: Characters that Markdown or HTML would act on.
_ESCAPES = {ord(c): f"\\{c}" for c in "\\`*_[]|#~"}
_ESCAPES |= {ord("<"): "&lt;", ord(">"): "&gt;", ord("&"): "&amp;"}


def to_markdown(document: Document) -> str:
    """The card, then the first table and the remarks of each section."""
    card = document.card
    found = [f"## {_text(card.headline.title)}", "", _text(card.headline.lead), ""]
    if card.big is not None:
        size = f"{card.big.before} **{card.big.number}**. {card.big.after}"
        found += [size, ""]
    found += [f"- {_text(point.title)}" for point in card.points]
    found += [""] if card.points else []
    if card.facts:
        found += [_row([_text(fact.label) for fact in card.facts]), "|" + "---|" * len(card.facts)]
        found += [_row([f"**{_text(fact.value)}**" for fact in card.facts]), ""]
    for section in document.sections:
        part = list(_section(section, FIRST_ROWS if section is document.sections[0] else MORE_ROWS))
        if len(found) + len(part) < MOST_LINES:
            found += part
    found.append(f"*{_text(document.footer)}*")
    return harmless("\n".join(found) + "\n")


def _section(section: Section, rows: int) -> Iterator[str]:
    body = [line for block in _open(section.blocks) for line in _block(block, rows)]
    if not body:
        return
    yield f"### {_text(section.title)}"
    yield ""
    yield from body


def _open(blocks: tuple[Block, ...]) -> Iterator[Block]:
    """The blocks that are not folded; of a section that has only folded tables the first."""
    plain = [block for block in blocks if isinstance(block, Table | Notes | Text)]
    folded = [inner for block in blocks if isinstance(block, Fold) for inner in block.blocks]
    yield from plain or [block for block in folded if isinstance(block, Table)][:1]


def _block(block: Block, rows: int) -> Iterator[str]:
    if isinstance(block, Text):
        yield f"`{block.text.replace('`', ' ')}`" if block.code else _text(block.text)
        yield ""
    elif isinstance(block, Notes):
        for name, text in block.items[:MOST_NOTES]:
            yield f"- **{_text(name)}**: {_text(text)}"
        yield ""
    elif isinstance(block, Table) and block.rows:
        used = [k for k in range(len(block.heads)) if any(_shown(row[k]) for row in block.rows)]
        if block.title:
            yield f"**{_text(block.title)}**"
            yield ""
        yield "| " + " | ".join(_text(block.heads[k].removesuffix(" ↕")) for k in used) + " |"
        yield "|" + "---|" * len(used)
        for row in block.rows[:rows]:
            yield "| " + " | ".join(_text(_shown(row[k]))[: LONGEST * 2] for k in used) + " |"
        more = len(block.rows) - rows
        yield ""
        if more > 0:
            yield f"and {plural(more, 'more row')}."
            yield ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _shown(cell: Cell) -> str:
    return cell.text if len(cell.text) <= LONGEST else cell.text[: LONGEST - 1] + "…"


def _text(text: str) -> str:
    """Words on one line that mean nothing to Markdown."""
    return " ".join(text.split()).translate(_ESCAPES)
