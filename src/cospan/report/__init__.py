"""Results → reports: one document of blocks, shown as a page, as Markdown, on a terminal, as JSON.

:func:`document_of` makes the document of a result (`pair`, `sets`, `monitoring`; drawings in
`charts` and `pictures`), and four renderers that compute nothing show it: `html`, `markdown`,
`terminal`, and JSON (``schema.json`` in this folder says what is in it). :func:`write` does all
of it.
"""

from .document import Document
from .writing import document_of, format_of, fragment, render, terminal_lines, write

__all__ = [
    "Document",
    "document_of",
    "format_of",
    "fragment",
    "render",
    "terminal_lines",
    "write",
]
