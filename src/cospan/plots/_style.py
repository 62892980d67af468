"""What all figures share: colours, axes when none are given, and who the groups are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cospan.base.types import Floats
from cospan.errors import InputError, needed
from cospan.evidence import angle_histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette: distinct for every common kind of colour vision.
BLUE, ORANGE, GREY, DARK = "#0072B2", "#D55E00", "#999999", "#333333"
LONGEST_LABEL = 40


class Drawn(NamedTuple):
    """A group of scored samples and how it is drawn."""

    name: str
    theta: Floats
    n: int  # how many samples there are; of very many, `theta` is a sample
    colour: str
    hatch: str | None

    def histogram(self, bins: int) -> Floats:
        """Shares of the angles in `bins` bins."""
        return angle_histogram(self.theta, bins)


_LOOKS = ((BLUE, None), (ORANGE, "///"), (DARK, None))


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


def label(text: object, longest: int = LONGEST_LABEL) -> str:
    r"""A name as matplotlib should print it: short, on one line, dollars no formulas.

    >>> label("a\nb $x$")
    'a b \\$x\\$'
    """
    words = " ".join(str(text).split())
    words = "".join(letter if letter.isprintable() else "�" for letter in words)
    if len(words) > longest:
        words = words[: longest - 1] + "…"
    return words.replace("$", r"\$")


def groups_of(
    a: object, b: object = None, z: object = None, names: tuple[str, ...] | None = None
) -> list[Drawn]:
    """The groups to draw: those of a comparison, or alignments, scored groups or angles given."""
    if hasattr(a, "every_group"):
        names = names or tuple(group.name for group in a.every_group)
        a, b, z = (*a.every_group, None)[:3]
    found = [item for item in (a, b, z) if item is not None]
    names = names or ("A", "B", "scored samples")
    if len(names) < len(found):
        raise InputError(f"names has {len(names)} entries for {len(found)} groups; give one each.")
    return [
        _drawn(item, name, look) for item, name, look in zip(found, names, _LOOKS, strict=False)
    ]


def _drawn(item: object, name: str, look: tuple[str, str | None]) -> Drawn:
    source = getattr(item, "alignment", item)
    theta = np.asarray(getattr(source, "theta", source), dtype=np.float64)
    if theta.ndim != 1:
        raise InputError(
            f"the angles of group {name!r} have shape {theta.shape}; give an Alignment, a scored "
            "group or a list of angles in radians."
        )
    return Drawn(label(name), theta, getattr(item, "n", len(theta)), *look)


def degrees_axis(ax: Axes) -> None:
    """0° to 90° along x, a tick every 15°."""
    ax.set_xlim(0, 90)
    ax.set_xticks(range(0, 91, 15), [f"{tick}°" for tick in range(0, 91, 15)])
    ax.set_xlabel("angle θ")


def tidy(ax: Axes) -> Axes:
    """No frame where it says nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax
