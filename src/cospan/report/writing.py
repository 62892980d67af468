"""The formats of a report, and where it is written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cospan.base.files import write_text
from cospan.base.tables import json_text
from cospan.comparison.plain import json_of
from cospan.errors import InputError

from .content import content_of

if TYPE_CHECKING:
    from cospan.comparison import Comparison, ManyComparison
    from cospan.panel import Panel

    AnyComparison: TypeAlias = Comparison | ManyComparison


def to_html(comparison: AnyComparison, **origin: Any) -> str:
    """The report as one HTML page that needs no other file and no network."""
    from .html import page

    return page(content_of(comparison, **origin))


def to_markdown(comparison: AnyComparison, **origin: Any) -> str:
    """The report as Markdown."""
    from .markdown import markdown_of

    return markdown_of(content_of(comparison, **origin))


def to_json(comparison: AnyComparison, **origin: Any) -> str:
    """What the page shows, as JSON: what its button "All of it (JSON)" saves.

    It follows the page and may change with any version. Programs read ``comparison.to_json()``,
    which has every number, a schema, and versions that are counted.
    """
    return json_text(content_of(comparison, **origin).to_dict())


def fragment(comparison: AnyComparison) -> str:
    """A short static summary as HTML without scripts, for notebooks."""
    from .html import notebook_fragment

    return notebook_fragment(content_of(comparison))


def _numbers(comparison: AnyComparison, panel: Panel | None = None, **_: Any) -> str:
    """Every number of the comparison, as ``cospan compare --json`` prints it.

    What else a page shows (the command, the files) is not of the comparison.
    """
    return json_of(comparison, panel) + "\n"


_WRITERS = {"html": to_html, "md": to_markdown, "json": _numbers}
_ENDINGS = dict.fromkeys(("", ".html", ".htm"), "html") | {
    ".md": "md", ".markdown": "md", ".json": "json",
}  # fmt: skip


def write(
    comparison: AnyComparison,
    path: str | os.PathLike[str],
    format: str | None = None,
    **origin: Any,
) -> Path:
    """Write the report of a comparison, whole or not at all, and return its path.

    Parameters
    ----------
    comparison : Comparison or ManyComparison
        What :func:`cospan.compare` or :func:`cospan.compare_many` returned.
    path : str or path-like
        Where to write.
    format : {"html", "md", "json"}, optional
        By default what the path ends in, and HTML where it has no ending.
    **origin
        What else the report shows: ``command``, the command line that made the comparison;
        ``files``, paths of what it was made from, by their hashes; ``panel``, other measures
        (``found.panel()``); ``study``, how settings matter (:func:`cospan.sensitivity`).
    """
    return write_text(path, _WRITERS[format_of(path, format)](comparison, **origin))


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
    if chosen not in _WRITERS:
        raise InputError(
            f"the report format {chosen!r} is unknown; choose one of {', '.join(_WRITERS)}."
        )
    return chosen


def save_html(comparison: AnyComparison, path: str | os.PathLike[str]) -> Path:
    """Write the report as one HTML file; what ``Comparison.save_html`` calls."""
    return write(comparison, path, format="html")
