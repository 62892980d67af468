"""Strips of small panels inside one pair of axes: pictures, or bars of the top features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.errors import InputError

from ._style import axes, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Panel:
    """One row of numbers to show, and the words above it."""

    values: NDArray[Any]
    title: str = ""


def check_shape(image_shape: tuple[int, ...] | None, d: int) -> None:
    """Refuse a picture shape that does not hold d numbers."""
    if image_shape is not None and (len(image_shape) not in (2, 3) or np.prod(image_shape) != d):
        raise InputError(
            f"image_shape {tuple(image_shape)} does not hold the {d} features of a row; "
            "give (height, width) or (height, width, channels)."
        )


def _size(strips: int, panels: int, image_shape: tuple[int, ...] | None) -> tuple[float, float]:
    """Inches for so many panels, and room for the words at the left."""
    width, height = (1.15, 1.3) if image_shape is not None else (2.7, 1.75)
    return 1.1 + width * panels, 0.25 + height * strips


def one_strip(
    rows: NDArray[Any], titles: Sequence[object] | None, things: str
) -> list[tuple[str, list[Panel]]]:
    """Rows side by side, with words above them."""
    words = [""] * len(rows) if titles is None else [label(title) for title in titles]
    if len(words) < len(rows):
        raise InputError(f"titles has {len(words)} entries for {len(rows)} {things}.")
    return [("", [Panel(row, word) for row, word in zip(rows, words, strict=False)])]


def draw_strips(
    ax: Axes | None,
    strips: Sequence[tuple[str, Sequence[Panel]]],
    image_shape: tuple[int, ...] | None,
    feature_names: Sequence[str] | None,
    cmap: Any,
    *,
    colours: tuple[str, str],
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Draw each strip, a (heading, panels) pair, as one row of panels."""
    check_shape(image_shape, strips[0][1][0].values.size)
    columns = max((len(panels) for _, panels in strips), default=1)
    ax = axes(ax, _size(len(strips), columns, image_shape))
    ax.set_axis_off()
    left = 0.1 if any(heading for heading, _ in strips) else 0.0
    width, height = (1 - left) / columns, 1 / len(strips)
    for i, (heading, panels) in enumerate(strips):
        bottom = 1 - (i + 1) * height
        ax.text(
            left - 0.02, bottom + 0.43 * height, heading, transform=ax.transAxes,
            ha="right", va="center", fontsize=9,
        )  # fmt: skip
        for j, panel in enumerate(panels):
            gap = 0.06 if image_shape is not None else 0.46
            place = (
                left + (j + gap) * width,
                bottom + 0.04 * height,
                (0.97 - gap) * width,
                0.78 * height,
            )
            inset = ax.inset_axes(place)
            inset.set_title(panel.title, fontsize=8, pad=3)
            if image_shape is not None:
                picture(inset, panel.values, image_shape, cmap, limits)
            else:
                bars(inset, panel.values, feature_names, top=5, colours=colours, fontsize=7)
    return ax


def picture(
    ax: Axes,
    values: NDArray[Any],
    image_shape: tuple[int, ...],
    cmap: Any,
    limits: tuple[float, float] | None = None,
) -> None:
    """A row as a picture without ticks; three channels are red, green and blue."""
    image = np.asarray(values, dtype=np.float64).reshape(image_shape)
    low, high = limits if limits is not None else (float(image.min()), float(image.max()))
    if image.ndim == 3:
        if image.shape[2] in (3, 4):
            span = high - low if high > low else 1.0
            ax.imshow(np.clip((image[..., :3] - low) / span, 0, 1))
            ax.set_axis_off()
            return
        image = image.mean(axis=2)
    ax.imshow(image, cmap=cmap, vmin=low, vmax=high, interpolation="nearest")
    ax.set_axis_off()


def bars(
    ax: Axes,
    values: NDArray[Any],
    feature_names: Sequence[str] | None,
    *,
    top: int,
    colours: tuple[str, str],
    fontsize: float = 9,
) -> None:
    """Bars of the features with the largest numbers: negative to the left, positive to the right.

    Bars to the right are hatched, so that the sides differ in print as well.
    """
    values = np.asarray(values, dtype=np.float64).ravel()
    strongest = np.argsort(-np.abs(values), kind="stable")[:top]
    names = [label(feature_names[i] if feature_names else f"x{i}", 18) for i in strongest]
    places = np.arange(len(strongest))
    made = ax.barh(places, values[strongest], height=0.72)
    for bar, value in zip(made, values[strongest], strict=True):
        bar.set_facecolor(colours[int(value > 0)])
        bar.set_edgecolor("white")
        bar.set_hatch("///" if value > 0 and colours[0] != colours[1] else "")
    ax.axvline(0, color="#333333", linewidth=0.8)
    ax.set_yticks(places, names, fontsize=fontsize)
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=fontsize)
    ax.locator_params(axis="x", nbins=4)
    ax.spines[["top", "right", "left"]].set_visible(False)
