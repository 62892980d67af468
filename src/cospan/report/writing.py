"""Documents into HTML pages, cards for notebooks, Markdown, lines for a terminal, JSON.

Jinja escapes everything that comes from the data; the page's own style and script and the charts
(which escape names themselves) are the only text marked as safe. The page's policy allows just
these, by their hashes, and pictures that are part of the page: nothing else runs, whatever a name
contains, and nothing is loaded from anywhere. Without the script everything can be read.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cospan.base.files import write_text
from cospan.base.tables import json_text
from cospan.base.text import harmless, plural, printable
from cospan.comparison import Comparison
from cospan.errors import InputError, needed
from cospan.monitoring import Monitoring

from .comparison import comparison_document
from .document import Card, Chart, Document, Figures, Fold, Notes, Pictures, Section, Table, Text
from .monitoring import monitoring_document

FOLDER = Path(__file__).parent / "page"
_ENDINGS = dict.fromkeys(("", ".html", ".htm"), "html")
_ENDINGS |= {".md": "md", ".markdown": "md", ".json": "json"}
#: Markdown: lines in all, rows of the first table and of the others, remarks, letters of a cell.
MOST_LINES, FIRST_ROWS, MORE_ROWS, MOST_NOTES, LONGEST = 60, 12, 5, 5, 160
#: Characters that Markdown or HTML would act on.
_ESCAPES = {ord(c): f"\\{c}" for c in "\\`*_[]|#~"}
_ESCAPES |= {ord("<"): "&lt;", ord(">"): "&gt;", ord("&"): "&amp;"}
_STARTS = re.compile(r"^(\d*)([-+.)](?=\s|$))")  # what makes a line an item of a list
#: The terminal: lines, findings and lines of facts (and findings of a further card); rows.
SHORT, FINDINGS, FACTS, MOST_ROWS = 15, 5, 3, 40

Line = tuple[str, str]  # style ("title", "head", "plain", "warn"), text


def document_of(
    found: Comparison | Monitoring, *, command: str | None = None, files: Sequence[str] = ()
) -> Document:
    """What a report on a result says.

    `command` is the command line that made it, `files` are paths of what it was made from.
    """
    if isinstance(found, Monitoring):
        return monitoring_document(found, command, files)
    return comparison_document(found, command, files)


def render(document: Document, format: str) -> str:
    """A document in one of the formats."""
    if format == "json":
        return json_text(document.data) + "\n"
    return markdown(document) if format == "md" else _page(document)


def fragment(found: Comparison | Monitoring) -> str:
    """The card and the columns as static HTML: no script, no link, a style for itself alone."""
    return _rendered("notebook.html.j2", document=document_of(found))


def write(
    found: Comparison | Monitoring,
    path: str | os.PathLike[str],
    *,
    command: str | None = None,
    files: Sequence[str] = (),
) -> Path:
    """Write the report of a result, whole or not at all, and return its path.

    Parameters
    ----------
    found : Comparison or Monitoring
        What :func:`cospan.compare` or :func:`cospan.monitor` returned.
    path : str or path-like
        Where to write: HTML, Markdown or JSON, by its ending; HTML where it has none.
    command, files
        The command line that made it, and paths of what it was made from.
    """
    chosen = format_of(path)
    return write_text(path, render(document_of(found, command=command, files=files), chosen))


def format_of(path: str | os.PathLike[str]) -> str:
    """The format that a report is written in, by the ending of its name.

    >>> format_of("drift.markdown"), format_of("drift")
    ('md', 'html')
    """
    ending = Path(path).suffix.lower()
    if str(path) == "-":
        raise InputError("a report goes to a file, not to standard output; name a file.")
    if ending not in _ENDINGS:
        raise InputError(
            f"cannot write the report {path}: the ending {ending!r} is not known; use .html, .md "
            "or .json."
        )
    return _ENDINGS[ending]


def _page(document: Document) -> str:
    from markupsafe import Markup

    style, script = ((FOLDER / f"report.{kind}").read_text("utf-8") for kind in ("css", "js"))
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    own = {"style": Markup(style), "script": Markup(script), "policy": policy}
    return _rendered("report.html.j2", document=document, **own)


def _rendered(name: str, **values: object) -> str:
    with needed("A report"):
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    environment = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return harmless(environment.get_template(name).render(values))


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


# ---- text --------------------------------------------------------------------------------------


def _items(
    blocks: Iterable[object], most: int, folded: bool = False
) -> Iterator[tuple[str, list[list[str]]]]:
    """What there is to read, as "text", a "list", or a "table" of at most some rows."""
    for block in blocks:
        if isinstance(block, Text):
            yield "text", [[block.text]]
        elif isinstance(block, Notes):
            yield "list", [list(note) for note in block.notes]
        elif isinstance(block, Figures):
            yield "list", [[one.title.removesuffix("."), one.text] for one in block.figures]
        elif isinstance(block, Pictures) and not block.title and not block.ends:
            yield "list", [[one.title, one.text] for one in block.pictures[:MOST_NOTES]]
        elif isinstance(block, Fold):
            card = isinstance(block.blocks[0], Card)
            if folded or card:  # a card says the text itself
                said = block.text and not (folded and card)
                yield "text", [[f"{block.title}: {block.text}" if said else block.title]]
            inner = (one for one in block.blocks if folded or not isinstance(one, Card))
            yield from _items(inner, most, folded)
        elif isinstance(block, Card):
            yield "text", [[block.lead if block.looks else f"{block.title} {block.lead}"]]
            for point in block.points[:FACTS]:
                yield "list", [[point.title]]
        elif isinstance(block, Table):
            yield "table", block.texts(most)
            if len(block.rows) > most:
                yield "text", [[f"and {plural(len(block.rows) - most, 'more row')}."]]


# ---- Markdown ----------------------------------------------------------------------------------


def markdown(document: Document) -> str:
    """The card, the sections while there is room, and which have none."""
    card = document.card
    found = [f"## {_escaped(card.title)}", "", _escaped(card.lead), ""]
    if card.big is not None:
        found += [f"{card.big.label} **{card.big.value}**. {card.big.text}", ""]
    if card.points:
        found += [*(f"- {_escaped(point.title)}" for point in card.points), ""]
    if card.facts:
        values = [f"**{_escaped(fact.value)}**" for fact in card.facts]
        found += [*_rows([[_escaped(fact.label) for fact in card.facts], values]), ""]
    left = []
    for section in document.sections:
        most = FIRST_ROWS if section is document.sections[0] else MORE_ROWS
        part = list(_section(section, most)) if section.id != "made" else []
        if part and len(found) + len(part) < MOST_LINES - 2:
            found += part
        elif section.id != "made":
            left.append(section.name)
    found += [f"Not shown here: {_escaped(', '.join(left))}.", ""] if left else []
    found.append(f"*{_escaped(document.footer)}*")
    return harmless("\n".join(found) + "\n")


def _section(section: Section, most: int) -> Iterator[str]:
    """Its heading and what can be read in it; tables that are folded where there is no more."""
    plain = [one for one in section.blocks
             if not isinstance(one, Fold) or isinstance(one.blocks[0], Card)]  # fmt: skip
    items = list(_items(plain or section.blocks, most))
    if section.lead and not items and all(isinstance(one, Chart) for one in plain):
        items = [("text", [[section.lead]])]
    yield from (f"### {_escaped(section.title)}", "") if items else ()
    for kind, rows in items:
        if kind == "table":
            for row in rows:  # cut between words: half a number would be another one
                row[:] = (
                    _escaped(textwrap.shorten(cell, LONGEST, placeholder="…")) for cell in row
                )
            yield from _rows(rows)
        else:
            for name, *text in (map(_escaped, row) for row in rows[:MOST_NOTES]):
                yield f"- **{name}**: {text[0]}" if text else "- " * (kind == "list") + name
            if len(rows) > MOST_NOTES:
                yield f"- and {len(rows) - MOST_NOTES:,} more"
        yield ""


def _rows(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for k, row in enumerate(rows):
        yield f"| {' | '.join(row)} |"
        if k == 0:
            yield "|" + "---|" * len(row)


def _escaped(text: str) -> str:
    """Words on one line that mean nothing to Markdown, at its start either."""
    return _STARTS.sub(r"\1\\\2", " ".join(text.split()).translate(_ESCAPES))


# ---- the terminal ------------------------------------------------------------------------------


def terminal_lines(
    found: Comparison | Monitoring, width: int = 80, full: bool = False
) -> Iterator[Line]:
    """The verdict, the size, the first findings, and a line of facts; sections where `full`.

    Line by line, each with the name of its style.
    """
    document = document_of(found)
    card = document.card
    first = [*_wrapped("title", card.title, width), *_wrapped("plain", card.lead, width)]
    if card.big is not None:
        big = f"{card.big.label} {card.big.value}. {card.big.text}"
        first += _wrapped("plain", big, width)
    facts = "; ".join(f"{fact.label.lower()}: {fact.value}" for fact in card.facts)
    last = list(_wrapped("plain", facts, width))[: None if full else FACTS]
    points = list[Line]()
    for point in card.points[: None if full else FINDINGS]:
        whole = list(_wrapped("plain", f"- {point.title}", width))
        if full or len(first) + len(points) + len(whole) + len(last) <= SHORT:
            points += whole
    yield from (*first, *points, *last)
    for section in document.sections if full else ():
        yield "plain", ""
        yield from _wrapped("head", section.title, width)
        for kind, rows in _items(section.blocks, MOST_ROWS, folded=True):
            for row in rows:
                mark = "" if kind == "text" else "- "
                words = (" · " if kind == "table" else ": ").join(filter(None, row))
                yield from _wrapped("plain", mark + words, width)


def _wrapped(style: str, text: str, width: int) -> Iterator[Line]:
    for line in textwrap.wrap(printable(text), width, subsequent_indent="  "):
        yield style, line
