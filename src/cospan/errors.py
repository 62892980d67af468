"""The errors, warnings and notes a user can meet.

Every message is one sentence or two: what is wrong, where, and what to do about it.
All errors share the base :class:`CospanError`, so ``except cospan.errors.CospanError`` catches
what this library says on purpose and nothing else.

Whatever finds something worth knowing returns notes, and only functions that users call warn of
them. So the notes of a result are its own, whatever other threads do at the same time.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = [
    "CospanError",
    "CospanWarning",
    "InputError",
    "MissingDependencyError",
    "ModelFileError",
    "Note",
    "SourceError",
    "warn",
]


class CospanError(Exception):
    """Base of every error that cospan raises on purpose."""


class InputError(CospanError, ValueError):
    """An argument does not make sense: wrong shape, not finite, unknown option."""


class SourceError(CospanError):
    """A file, folder or stream cannot be read as rows of numbers."""


class ModelFileError(CospanError):
    """A model file is damaged, truncated, from a newer version, or not a model file."""


class MissingDependencyError(CospanError, ImportError):
    """An optional package is needed for this and is not installed."""


class CospanWarning(UserWarning):
    """Category of every warning that cospan gives."""


@dataclass(frozen=True)
class Note:
    """What a reader of a result should know: its kind, a sentence, and what to do about it.

    A `loud` note is worth a warning as well.

    >>> note = Note("times", "The sets are of different times.", 'drop="day" compares the rest.')
    >>> print(note)
    The sets are of different times. drop="day" compares the rest.
    """

    code: str
    text: str
    remedy: str = ""
    loud: bool = False

    def __str__(self) -> str:
        return f"{self.text} {self.remedy}" if self.remedy else self.text

    def to_dict(self) -> dict[str, str]:
        return {"code": self.code, "text": self.text, "remedy": self.remedy}


def warn(notes: Iterable[Note]) -> None:
    """Warn of notes, each once, at the line that called this library."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("cospan."):
        frame, level = frame.f_back, level + 1
    for text in dict.fromkeys(map(str, notes)):
        warnings.warn(text, CospanWarning, stacklevel=level)


# ---- packages that only some features need -----------------------------------------------------

#: The extra of pyproject.toml that brings a module, of those beyond the core.
_EXTRAS = {
    **dict.fromkeys(("typer", "click", "rich", "pyarrow", "narwhals", "PIL"), "app"),
    **dict.fromkeys(("jinja2", "markupsafe", "matplotlib"), "app"),
    "dask": "dask",
    "distributed": "dask",
    "torch": "torch",
}


def missing(what: str, module: str, instead: str = "") -> str:
    """What to say where `what` needs a module that is not installed.

    >>> print(missing("Reading pictures", "PIL.Image"))
    Reading pictures needs the package PIL, which is not installed: pip install 'cospan[app]'.
    """
    name = module.partition(".")[0]
    install = f"'cospan[{_EXTRAS[name]}]'" if name in _EXTRAS else name
    return (
        f"{what} needs the package {name}, which is not installed: pip install {install}{instead}."
    )


@contextmanager
def needed(what: str, instead: str = "") -> Iterator[None]:
    """Around imports: where one fails, say what needs the package, and what brings it.

    >>> with needed("Looking ahead", instead=", or wait and see"):
    ...     import crystal_ball
    Traceback (most recent call last):
        ...
    cospan.errors.MissingDependencyError: Looking ahead needs the package crystal_ball, which is \
not installed: pip install crystal_ball, or wait and see.
    """
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(missing(what, str(error.name), instead)) from error
