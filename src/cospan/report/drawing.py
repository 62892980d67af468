"""Drawing: elements of an SVG, and lanes of marks.

Colours and sizes of type are the style sheet's: a drawing has classes only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from .document import Chart

#: What a letter of the small type takes, and a line of it.
LETTER, LINE = 6.8, 13.0
#: The looks of the sets.
LOOKS = "abcde"


class Drawing:
    """Elements of an SVG, one after the other."""

    def __init__(self, width: float, height: float, title: str, scaled: bool = False) -> None:
        self.width, self.height, self.title = width, height, title
        self._scaled, self._parts = scaled, [f"<title>{escape(title)}</title>"]
        self._role = "img"

    def path(self, d: str, look: str) -> None:
        self._parts.append(f'<path class="{look}" d="{d}"/>')

    def rect(self, x: float, y: float, w: float, h: float, look: str, hover: str = "") -> None:
        size = f'x="{x:.1f}" y="{y:.1f}" width="{max(w, 0):.1f}" height="{max(h, 0):.1f}"'
        self._parts.append(f'<rect class="{look}" {size}>{_hover(hover)}</rect>')

    def dot(self, x: float, y: float, r: float, look: str, hover: str = "") -> None:
        place = f'cx="{x:.1f}" cy="{y:.1f}" r="{r:g}"'
        self._parts.append(f'<circle class="{look}" {place}>{_hover(hover)}</circle>')

    def text(
        self, x: float, y: float, words: str, look: str = "", anchor: str = "", turned: bool = False
    ) -> None:
        more = f' class="{look}"' if look else ""
        more += f' text-anchor="{anchor}"' if anchor else ""
        more += f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
        self._parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(words)}</text>')

    def ends(self, y: float, left: str, right: str, width: float = 0) -> None:
        """Words below both ends of an axis."""
        self.text(0, y, left)
        self.text(width or self.width, y, right, anchor="end")

    def linked(self, href: str, start: int) -> None:
        """All elements from one on lead to a place: it is no mere picture any more."""
        self._role = f'group" aria-label="{escape(self.title)}'
        self._parts[start:] = [f'<a href="{escape(href)}">{"".join(self._parts[start:])}</a>']

    def __len__(self) -> int:
        return len(self._parts)

    def chart(self) -> Chart:
        size = f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}"'
        look = ' class="sc"' if self._scaled else ""
        head = f'<svg {size} height="{self.height:g}" role="{self._role}"{look}>'
        return Chart(f"{head}{''.join(self._parts)}</svg>", self.title)


def for_phones(draw: Callable[[float], Chart], wide: float = 1088, narrow: float = 344) -> Chart:
    """A chart over the whole width, and the same for phones, where it would be too small."""
    return draw(wide)._replace(narrow=draw(narrow).svg)


def _hover(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""


def line(x: Sequence[float], y: Sequence[float]) -> str:
    """The path through points."""
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))


def short(name: str, most: int = 18) -> str:
    """A name that fits, cut in the middle."""
    if len(name) <= most:
        return name
    half = (most - 1) // 2
    return f"{name[: most - 1 - half]}…{name[-half:]}"


# ---- lanes -------------------------------------------------------------------------------------


class Mark(NamedTuple):
    """A bar from one place of a lane to another, of 0 to 1, or a dot where it has no end."""

    look: str
    start: float
    end: float | None
    size: float = 8  # how high a bar, how wide a dot is
    hover: str = ""
    words: str = ""  # in a bar that has room for them


Lane = tuple[str, Sequence[Mark], str]  # a name at the left, marks, a value at the right


def lanes(
    title: str, rows: Sequence[Lane], width: float, step: float = 24, *, left: float = 0,
    right: float = 0, below: float = 0, scaled: bool = False,
) -> Drawing:  # fmt: skip
    """Marks on horizontal lanes, one below the other, with room below them."""
    made, room = Drawing(width, step * len(rows) + below, title, scaled), width - left - right
    for k, (name, marks, value) in enumerate(rows):
        y = step * (k + 0.5)
        if name:
            made.text(0, y + 4, name, "k")
        for look, start, end, size, hover, words in marks:
            x, r = left + room * start, size / 2
            if end is None:
                made.dot(min(max(x, left + r), left + room - r), y, r, look, hover)
                continue
            wide = room * (end - start)
            made.rect(x, y - r, max(wide, 1.5), size, look, hover)
            if words and wide > LETTER * len(words):
                made.text(x + min(8, (wide - LETTER) / 2), y + 4, words, "k")
        if value:
            made.text(width, y + 4, value, "n k", "end")
    return made
