"""Documents into files: one HTML page, the card for notebooks, Markdown, JSON.

Jinja escapes everything that comes from the data; the page's own style and script and the charts
(which escape names themselves) are the only text marked as safe. The page's policy allows just
these, by their hashes, and pictures that are part of the page: nothing else runs, whatever a name
contains, and nothing is loaded from anywhere. Without the script everything can be read.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from cospan.base.files import write_text
from cospan.base.tables import json_text
from cospan.base.text import harmless
from cospan.comparison import Comparison
from cospan.errors import InputError, needed
from cospan.monitoring import Monitoring

from .comparison import comparison_document
from .document import Document
from .monitoring import monitoring_document
from .text import Line, lines, markdown

FOLDER = Path(__file__).parent / "page"
_ENDINGS = dict.fromkeys(("", ".html", ".htm"), "html") | {
    ".md": "md", ".markdown": "md", ".json": "json",
}  # fmt: skip


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


def terminal_lines(
    found: Comparison | Monitoring, width: int = 80, full: bool = False
) -> Iterator[Line]:
    """The report for a terminal, line by line, each with the name of its style."""
    return lines(document_of(found), width, full)


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
