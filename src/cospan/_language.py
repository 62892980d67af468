"""The language of a report: English as the code has it, or what a catalogue has for it.

Every text for readers of a report goes through :func:`say`, with the values beside it, not in it.
A catalogue is a JSON file in ``cospan/languages`` called like its language (``de.json``), from each
English text to the other one; what it leaves empty stays English. ``benchmarks/texts.py`` prints
an empty one. The language belongs to a context, as :mod:`contextvars` has it, and so to one thread
unless it hands its context on. Errors are in English.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType

__all__ = ["either", "later", "say", "several", "speaking", "translated"]

_CATALOGUES = Path(__file__).parent / "languages"
_ENGLISH: Mapping[str, str] = MappingProxyType({})
_catalogue: ContextVar[Mapping[str, str]] = ContextVar("cospan_language", default=_ENGLISH)


def translated(text: str) -> str:
    """A text in the reader's language, before its values are put in."""
    return _catalogue.get().get(text) or text


def say(text: str, /, **values: object) -> str:
    """A text in the reader's language, its {values} put in as :meth:`str.format` does.

    >>> say("{name} rose to {value:.1f}", name="price", value=2.25)
    'price rose to 2.2'
    >>> with speaking({"{name} rose to {value:.1f}": "{name}: ↑ {value:.0f}"}):
    ...     say("{name} rose to {value:.1f}", name="price", value=2.25)
    'price: ↑ 2'
    """
    return translated(text).format(**values)


def later(text: str) -> str:
    """Marks a text that waits in a table for :func:`say`."""
    return text


def several(*texts: str) -> tuple[str, ...]:
    """Marks several of them."""
    return texts


def either(condition: object, text: str, other: str) -> str:
    """Marks two texts, and gives the first where the condition holds, else the other."""
    return text if condition else other


@contextmanager
def speaking(language: str | Mapping[str, str]) -> Iterator[None]:
    """Inside the block texts are in this language: the name of a catalogue, or one itself."""
    if isinstance(language, str):
        path = _CATALOGUES / f"{language}.json"
        language = dict(json.loads(path.read_text(encoding="utf-8")))
    token = _catalogue.set(language)
    try:
        yield
    finally:
        _catalogue.reset(token)
