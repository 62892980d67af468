"""Strips of small panels inside one pair of axes: pictures, or bars of the top features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cospan.base.types import Floats
from cospan.errors import InputError

from ._style import DARK, axes, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A heading, and panels: a row of numbers to show, and the words above it.
Strip: TypeAlias = tuple[str, list[tuple[Floats, str]]]


def check_shape(image_shape: tuple[int, ...] | None, d: int) -> None:
    """Refuse a picture shape that does not hold d numbers."""
    if image_shape is not None and (len(image_shape) not in (2, 3) or np.prod(image_shape) != d):
        raise InputError(
            f"image_shape {tuple(image_shape)} does not hold the {d} features of a row; "
            "give (height, width) or (height, width, channels)."
        )


def one_strip(rows: Any, titles: Sequence[object] | None, things: str) -> list[Strip]:
    """Rows side by side, with words above them."""
    rows = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    words = [""] * len(rows) if titles is None else [label(title) for title in titles]
    if len(words) < len(rows):
        raise InputError(f"titles has {len(words)} entries for {len(rows)} {things}.")
    return [("", list(zip(rows, words, strict=False)))]


def draw_strips(
    ax: Axes | None,
    strips: Sequence[Strip],
    image_shape: tuple[int, ...] | None,
    feature_names: Sequence[str] | None,
    cmap: Any,
    *,
    colours: tuple[str, str],
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Draw each strip as one row of panels."""
    check_shape(image_shape, strips[0][1][0][0].size)
    columns = max(len(panels) for _, panels in strips)
    # Inches of a panel, and the part of it at the left that the bars' names need.
    width, height, gap = (1.15, 1.3, 0.06) if image_shape is not None else (2.7, 1.75, 0.46)
    ax = axes(ax, (1.1 + width * columns, 0.25 + height * len(strips)))
    ax.set_axis_off()
    left = 0.1 if any(heading for heading, _ in strips) else 0.0
    width, height = (1 - left) / columns, 1 / len(strips)
    for i, (heading, panels) in enumerate(strips):
        bottom = 1 - (i + 1) * height
        ax.text(
            left - 0.02, bottom + 0.43 * height, heading, transform=ax.transAxes,
            ha="right", va="center", fontsize=9,
        )  # fmt: skip
        for j, (values, title) in enumerate(panels):
            corner = left + (j + gap) * width, bottom + 0.04 * height
            inset = ax.inset_axes((*corner, (0.97 - gap) * width, 0.78 * height))
            inset.set_title(title, fontsize=8, pad=3)
            if image_shape is not None:
                _picture(inset, values.reshape(image_shape), cmap, limits)
            else:
                bars(inset, values, feature_names, top=5, colours=colours, fontsize=7)
    return ax


def _picture(ax: Axes, image: Floats, cmap: Any, limits: tuple[float, float] | None) -> None:
    """A picture without ticks; three channels are red, green and blue."""
    low, high = limits if limits is not None else (float(image.min()), float(image.max()))
    ax.set_axis_off()
    if image.ndim == 3 and image.shape[2] in (3, 4):
        ax.imshow(np.clip((image[..., :3] - low) / ((high - low) or 1.0), 0, 1))
    else:
        grey = image.mean(axis=2) if image.ndim == 3 else image
        ax.imshow(grey, cmap=cmap, vmin=low, vmax=high, interpolation="nearest")


def bars(
    ax: Axes,
    values: Floats,
    feature_names: Sequence[str] | None,
    *,
    top: int,
    colours: tuple[str, str],
    fontsize: float = 9,
) -> None:
    """Bars of the features with the largest numbers: negative to the left, positive to the right.

    Bars to the right are hatched, so that the sides differ in print as well.
    """
    strongest = np.argsort(-np.abs(values), kind="stable")[:top]
    names = [label(feature_names[i] if feature_names else f"x{i}", 18) for i in strongest]
    places = np.arange(len(strongest))
    made = ax.barh(places, values[strongest], height=0.72, edgecolor="white")
    for bar, value in zip(made, values[strongest], strict=True):
        bar.set_facecolor(colours[int(value > 0)])
        bar.set_hatch("///" if value > 0 and colours[0] != colours[1] else "")
    ax.axvline(0, color=DARK, linewidth=0.8)
    ax.set_yticks(places, names, fontsize=fontsize)
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=fontsize)
    ax.locator_params(axis="x", nbins=4)
    ax.spines[["top", "right", "left"]].set_visible(False)
