"""Stand-in: the document of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from cospan.comparison import Comparison
from cospan.wording import comparison_sentences, headline, size_interval

from .document import Big, Card, Document, Headline, Point


def sets_document(found: Comparison, command: str | None, files: Sequence[str]) -> Document:
    """The verdict and its sentences."""
    points = tuple(Point(text) for text in comparison_sentences(found)[1:])
    number = f"{100 * found.size:.0f} times in 100"
    big = Big("Shown one row from each set, you could tell which is which", number,
              f"{size_interval(found.size).capitalize()}.")  # fmt: skip
    return Document(Card(Headline(headline(found), ""), big, points=points), data=found.to_dict())
