"""Comparison → report: one self-contained HTML file, Markdown, or JSON.

:func:`write` does all of it, for two sets and for more. The page and Markdown are written from one
frozen :class:`~cospan.report.content.ReportContent`, which :func:`to_json` has as it is; a file
that ends in ``.json`` has the numbers of the comparison itself, as ``comparison/schema.json`` says.
``README.md`` in this folder says how the page works.
"""

from cospan.report.content import ReportContent, content_of
from cospan.report.writing import (
    format_of,
    fragment,
    save_html,
    to_html,
    to_json,
    to_markdown,
    write,
)

__all__ = [
    "ReportContent",
    "content_of",
    "format_of",
    "fragment",
    "save_html",
    "to_html",
    "to_json",
    "to_markdown",
    "write",
]
