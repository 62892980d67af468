"""What all figures share: colours, axes where none are given, and names as they are printed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cospan.errors import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette: distinct for every common kind of colour vision.
BLUE, ORANGE, GREY, DARK = "#0072B2", "#D55E00", "#999999", "#333333"


def axes(ax: Axes | None, size: tuple[float, float] = (6.0, 3.2)) -> Axes:
    """The axes given, or new ones; pyplot takes part only where it can show the figure."""
    if ax is not None:
        return ax
    with needed("A figure"):
        import matplotlib
        from matplotlib.figure import Figure
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and matplotlib.get_backend().lower() != "agg":
        made: Axes = pyplot.figure(figsize=size, layout="constrained").add_subplot()
        return made
    return Figure(figsize=size, layout="constrained").add_subplot()


def label(text: object, longest: int = 40) -> str:
    r"""A name as matplotlib should print it: short, on one line, dollars no formulas.

    >>> label("a\nb $x$")
    'a b \\$x\\$'
    """
    words = " ".join(str(text).split())
    words = "".join(letter if letter.isprintable() else "�" for letter in words)
    if len(words) > longest:
        words = words[: longest - 1] + "…"
    return words.replace("$", r"\$")
