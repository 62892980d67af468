"""Results → reports: one document of blocks, shown as a page, as Markdown, on a terminal, as JSON.

:func:`document_of` makes the document of a result (`comparison` with `columns` and `pictures`;
`monitoring`; drawings are in `charts`), and `writing` shows it, computing nothing. ``schema.json``
says what is in the JSON.
"""

from .document import Document
from .writing import document_of, format_of, fragment, render, terminal_lines, write

__all__ = ["Document", "document_of", "format_of", "fragment", "render", "terminal_lines", "write"]
