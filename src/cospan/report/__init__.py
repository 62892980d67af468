"""Results → reports: one document of blocks, shown as a page, as Markdown, on a terminal, as JSON.

:func:`document_of` makes the document of a result (`comparison` with `columns`, `pictures` and
`sections`; `monitoring`; drawings are in `charts`), and renderers that compute nothing show it:
`writing` as a page and as JSON (``schema.json`` says what is in it), `text` as Markdown and on a
terminal. :func:`write` does all of it.
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
