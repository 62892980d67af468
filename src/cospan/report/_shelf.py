"""Rows to look at, in tabs, whatever the number of sets: each is listed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from .pieces import Tab

LISTED = 50  # rows in a tab
LONGEST_ID = 80
#: The probability of the second of its two nearest sets, from which on a row could be of either
BORDER = 0.4

Place = TypeVar("Place")  # of a row among all that were scored


class Kind(NamedTuple):
    """Why rows are worth a look; `counts`: they are rows to check, not just examples."""

    key: str
    title: str
    meaning: str
    rows: Sequence[Any]
    counts: bool = True
    total: int | None = None


class Shelf(Generic[Place]):
    """The rows listed so far; those with `known` values go first: they can be explained."""

    def __init__(self, known: Callable[[Place], bool]) -> None:
        self.known = known
        self.places: dict[Place, int] = {}

    def tab(self, kind: Kind, room: int = LISTED) -> Tab:
        """A tab of at most `room` rows."""
        shown = ([row for row in kind.rows if self.known(row)] or list(kind.rows))[:room]
        places = tuple(self.places.setdefault(row, len(self.places)) for row in shown)
        total = len(kind.rows) if kind.total is None else kind.total
        return Tab(kind.key, kind.title, kind.meaning, total, places)


def looks_like(nearest: str, second: float, strange: bool, n_sets: int) -> str:
    """What a row looks like: the key of a set, or a word for none and for two of them.

    `second` is the probability of the second of its two nearest sets.

    >>> looks_like("A", 0.1, False, 2), looks_like("A", 0.45, False, 2), looks_like("3", 0, True, 5)
    ('A', 'both', 'no set')
    """
    if strange:
        return "neither" if n_sets == 2 else "no set"
    if second > BORDER:
        return "both" if n_sets == 2 else "two sets"
    return nearest
