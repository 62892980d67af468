"""The formats of a report, and where it is written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from cospan.base.files import write_text
from cospan.base.tables import json_text
from cospan.comparison import Comparison
from cospan.errors import InputError
from cospan.monitoring import Monitoring

from .comparison import comparison_document
from .document import Document
from .html import notebook, page
from .markdown import to_markdown
from .monitoring import monitoring_document
from .terminal import lines

FORMATS = ("html", "md", "json")
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
    return to_markdown(document) if format == "md" else page(document)


def fragment(found: Comparison | Monitoring) -> str:
    """The card as static HTML without scripts, for notebooks."""
    return notebook(document_of(found))


def terminal_lines(
    found: Comparison | Monitoring, width: int = 80, full: bool = False
) -> Iterator[tuple[str, str]]:
    """The report for a terminal, line by line, each with the name of its style."""
    return lines(document_of(found), width, full)


def write(
    found: Comparison | Monitoring,
    path: str | os.PathLike[str],
    format: str | None = None,
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
        Where to write.
    format : {"html", "md", "json"}, optional
        By default what the path ends in, and HTML where it has no ending.
    command, files
        The command line that made it, and paths of what it was made from.
    """
    chosen = format_of(path, format)
    return write_text(path, render(document_of(found, command=command, files=files), chosen))


def format_of(path: str | os.PathLike[str], format: str | None = None) -> str:
    """The format that a report is written in: the one given, else by the ending of its name.

    >>> format_of("drift.markdown"), format_of("drift", "json")
    ('md', 'json')
    """
    ending = Path(path).suffix.lower()
    if str(path) == "-":
        raise InputError("a report goes to a file, not to standard output; name a file.")
    if format is None and ending not in _ENDINGS:
        raise InputError(
            f"cannot write the report {path}: the ending {ending!r} is not known; use .html, .md "
            "or .json, or give a format."
        )
    chosen = format or _ENDINGS[ending]
    if chosen not in FORMATS:
        raise InputError(
            f"the report format {chosen!r} is unknown; choose one of {', '.join(FORMATS)}."
        )
    return chosen
