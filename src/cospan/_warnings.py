"""Warnings of cospan, and how a call listens to its own.

:func:`warnings.catch_warnings` swaps functions and filters of the whole process, and two threads
that do so at once leave the swapped ones in place. So warnings of cospan go through :func:`warn`,
which hands them to the listener of the call at hand where there is one: listeners belong to a
context, as :mod:`contextvars` has it, and so to one thread unless it hands its context on.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from cospan.errors import CospanWarning

__all__ = ["Remark", "heard", "warn"]

#: Modules between a reason to warn and the user's own line.
_BETWEEN = ("cospan", "contextlib")


class Remark(str):
    """What a reader should know: a sentence or two, with its kind and what to do about it.

    As text it is the whole.

    >>> found = Remark("sampled", "Of x a sample was scored.", "score_all=True scores every row.")
    >>> print(found)
    Of x a sample was scored. score_all=True scores every row.
    >>> found.code, found.remedy
    ('sampled', 'score_all=True scores every row.')
    """

    code: str
    text: str
    remedy: str

    def __new__(cls, code: str, text: str, remedy: str = "") -> Remark:
        self = super().__new__(cls, f"{text} {remedy}" if remedy else text)
        self.code, self.text, self.remedy = code, text, remedy
        return self

    def __getnewargs__(self) -> tuple[str, str, str]:  # type: ignore[override]  # str has one part, a remark three
        return self.code, self.text, self.remedy

    @classmethod
    def of(cls, text: str, code: str = "note") -> Remark:
        """Any text as a remark; one that is a remark stays as it is."""
        return text if isinstance(text, cls) else cls(code, text)

    @classmethod
    def of_note(cls, note: Any) -> Remark:
        """What a source says of itself: a record with a code, a text and a remedy."""
        return cls(note.code, note.text, note.remedy)

    def to_dict(self) -> dict[str, str]:
        return {"code": self.code, "text": self.text, "remedy": self.remedy}


_listener: ContextVar[list[Remark] | None] = ContextVar("cospan_warnings", default=None)


def warn(text: str, *, code: str = "note", remedy: str = "") -> None:
    """Warn the caller of this library, however deep in it the reason was found."""
    message = text if isinstance(text, Remark) else Remark(code, text, remedy)
    listener = _listener.get()
    if listener is not None:
        listener.append(message)
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals["__name__"].startswith(_BETWEEN):
        frame, level = frame.f_back, level + 1
    warnings.warn(str(message), CospanWarning, stacklevel=level)


def warn_of(sources: Sequence[Any]) -> None:
    """Warn of what sources say of themselves, and of columns that are not in all of them."""
    for change in dict.fromkeys(change for source in sources for change in source.changes):
        warn(str(change), code="schema")
    found = [note for source in sources for note in source.notes if note.loud]
    for note in dict.fromkeys((*found, *(note for source in sources for note in source.met))):
        warn(Remark.of_note(note))


@contextmanager
def heard() -> Iterator[list[Remark]]:
    """Inside the block warnings of cospan are put into the list, and nowhere else.

    >>> with heard() as texts:
    ...     warn("column 'x' is left out")
    >>> texts
    ["column 'x' is left out"]
    """
    texts: list[Remark] = []
    token = _listener.set(texts)
    try:
        yield texts
    finally:
        _listener.reset(token)
