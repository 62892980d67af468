"""Stand-in."""

from __future__ import annotations

from .document import Document


def markdown(document: Document) -> str:
    """Stand-in."""
    return f"# {document.title}\n"
