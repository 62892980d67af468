"""How the reader of a message gives an option: an argument in Python, a flag on a command line.

Messages are made where something is found, deep inside; the command line says once that its user
reads them. The surface belongs to a context, as :mod:`contextvars` has it, and so to one thread
unless it hands its context on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["on_command_line", "option"]

#: Flags that are not called like the argument.
_FLAGS = {"Z": "--score", "id_column": "--id", "n_permutations": "--permutations"}
_FLAGS["score_all"] = "--all-rows"

_with_flags: ContextVar[bool] = ContextVar("cospan_with_flags", default=False)


def option(name: str, value: object = None) -> str:
    """An argument, with the value to give it where there is one, as the reader writes it.

    >>> option("columns"), option("missing", "drop"), option("score_all", True)
    ('columns=', 'missing="drop"', 'score_all=True')
    >>> with on_command_line():
    ...     option("columns"), option("missing", "drop"), option("score_all", True)
    ('--columns', '--missing drop', '--all-rows')
    """
    if not _with_flags.get():
        written = f'"{value}"' if isinstance(value, str) else repr(value)
        return f"{name}={'' if value is None else written}"
    flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
    return flag if value is None or value is True else f"{flag} {value}"


@contextmanager
def on_command_line() -> Iterator[None]:
    """Inside the block messages are for someone at a command line."""
    token = _with_flags.set(True)
    try:
        yield
    finally:
        _with_flags.reset(token)
