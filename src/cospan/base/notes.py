"""What a reader of a result should know, as data; and how the functions that users call warn of it.

Whatever finds something returns notes, and only functions that users call warn of them. So the
notes of a result are its own, whatever other threads do at the same time.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from cospan.errors import CospanWarning

__all__ = ["Note", "warn"]


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
