"""Warnings of cospan, and how a call listens to its own.

:func:`warnings.catch_warnings` swaps functions and filters of the whole process, and two threads
that do so at once leave the swapped ones in place. So warnings of cospan go through :func:`warn`,
which hands them to the listener of the call at hand where there is one: listeners belong to a
context, as :mod:`contextvars` has it, and so to one thread unless it hands its context on.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from cospan.errors import CospanWarning

__all__ = ["heard", "warn"]

#: Modules that stand between a reason to warn and the user's own line.
_BETWEEN = ("cospan", "contextlib")

_listener: ContextVar[list[str] | None] = ContextVar("cospan_warnings", default=None)


def warn(message: str) -> None:
    """Warn the caller of this library, however deep in it the reason was found."""
    listener = _listener.get()
    if listener is not None:
        listener.append(message)
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals["__name__"].startswith(_BETWEEN):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, CospanWarning, stacklevel=level)


@contextmanager
def heard() -> Iterator[list[str]]:
    """Inside the block warnings of cospan are put into the list, and nowhere else.

    Examples
    --------
    >>> with heard() as texts:
    ...     warn("column 'x' is left out")
    >>> texts
    ["column 'x' is left out"]
    """
    texts: list[str] = []
    token = _listener.set(texts)
    try:
        yield texts
    finally:
        _listener.reset(token)
