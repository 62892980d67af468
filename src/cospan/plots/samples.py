"""Figures of single samples: the most telling ones, and what pulls one of them where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.base.types import Floats
from cospan.errors import InputError
from cospan.model import attribute

from ._strips import Strip, bars, check_shape, draw_strips, one_strip
from ._style import BLUE, DARK, ORANGE, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_samples(
    samples: Any,
    *,
    n: int = 6,
    image_shape: tuple[int, ...] | None = None,
    feature_names: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
    cmap: Any = "gray",
    ax: Axes | None = None,
) -> Axes:
    """Strips of samples: of a comparison the most A-like, the most shared, the most B-like.

    Parameters
    ----------
    samples : Comparison, or array of shape (k, d)
        A comparison gives three strips of `n` samples with their angles; an array is one strip.
    n : int
        Samples in each strip.
    image_shape : tuple of int, optional
        (height, width) or (height, width, channels) where a row is a picture; a comparison knows
        its own. Otherwise bars: the strongest pulls on the angle for a comparison, the largest
        values for an array.
    feature_names : sequence of str, optional
        Names for the bars.
    titles : sequence of str, optional
        Words above the panels of an array.
    cmap : str or Colormap
        The colours of pictures.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cospan.plots import plot_samples
    >>> X, y = load_digits(return_X_y=True)
    >>> ax = plot_samples(X[:4], image_shape=(8, 8), titles=y[:4])
    >>> [panel.get_title() for panel in ax.child_axes]
    ['0', '1', '2', '3']
    """
    image_shape = image_shape or getattr(samples, "image_shape", None)
    if hasattr(samples, "every_group"):
        feature_names = feature_names or samples.feature_names
        strips, colours = _telling_samples(samples, n, image_shape is not None), (BLUE, ORANGE)
    else:
        strips, colours = one_strip(samples[:n], titles, "samples"), (DARK, DARK)
    values = np.concatenate([row for _, panels in strips for row, _ in panels])
    limits = (float(values.min()), float(values.max()))
    return draw_strips(ax, strips, image_shape, feature_names, cmap, colours=colours, limits=limits)


def _telling_samples(comparison: Any, n: int, pixels: bool) -> list[Strip]:
    """The rows of all groups with the smallest angles, nearest 45°, and the largest."""
    found: list[tuple[float, str, Floats]] = []
    for key, group in zip("ABZ", comparison.every_group, strict=False):
        theta = np.degrees(np.asarray(group.alignment.theta)[group.notable.row_index])
        rows = np.asarray(group.notable.rows, dtype=np.float64)
        found += [(angle, key, row) for angle, row in zip(theta, rows, strict=True)]
    found.sort(key=lambda one: one[0])
    middle = sorted(found, key=lambda one: abs(one[0] - 45))[:n]
    chosen = {
        "like A": found[:n],
        "like both": sorted(middle, key=lambda one: one[0]),
        "like B": found[-n:],
    }
    strips, weighting = [], comparison.settings["weighting"]
    for heading, samples in chosen.items():
        shown = np.stack([row for _, _, row in samples])
        if not pixels:
            shown = np.asarray(attribute(comparison.frame, shown, weighting=weighting).features)
        titles = [f"{key} {angle:.0f}°" for angle, key, _ in samples]
        strips.append((heading, list(zip(shown, titles, strict=True))))
    return strips


def plot_attribution(
    attribution: Any,
    index: int = 0,
    *,
    n: int = 10,
    row: Any = None,
    image_shape: tuple[int, ...] | None = None,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What pulls one sample towards A (blue) and towards B (orange, hatched).

    Parameters
    ----------
    attribution : Attribution, or array of shape (d,) or (k, d)
        Pulls of the features on -cos 2θ.
    index : int
        Which sample.
    n : int
        How many bars.
    row : array of shape (d,), optional
        The sample itself; a picture is then drawn in grey under the pulls.
    image_shape : tuple of int, optional
        (height, width) where features are pixels; otherwise the `n` strongest pulls are bars.
    feature_names : sequence of str, optional
        Names for the bars.

    Examples
    --------
    >>> from cospan.plots import plot_attribution
    >>> ax = plot_attribution([-0.5, 0.1, 0.2], feature_names=["age", "height", "weight"], n=2)
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['age', 'weight']
    """
    features = getattr(attribution, "features", attribution)
    every = np.atleast_2d(np.asarray(features, dtype=np.float64))
    if not -len(every) <= index < len(every):
        raise InputError(f"there is no sample {index} among {len(every)} attributions.")
    pulls = every[index]
    check_shape(image_shape, pulls.size)
    if image_shape is None:
        ax = axes(ax, (5.0, 0.9 + 0.3 * min(n, pulls.size)))
        names = feature_names or getattr(attribution, "feature_names", None)
        bars(ax, pulls, names, top=n, colours=(BLUE, ORANGE))
        ax.set_xlabel("pull towards A (left) and B (right)")
    else:
        ax = axes(ax, (3.6, 3.2))
        _overlay(ax, pulls.reshape(image_shape), None if row is None else np.asarray(row))
    theta = np.degrees(np.arccos(np.clip(-pulls.sum(), -1, 1)) / 2)
    ax.set_title(f"θ = {theta:.1f}°", fontsize=10)
    return ax


def _overlay(ax: Axes, pulls: Floats, row: Floats | None) -> None:
    """The picture in light grey with the pulls over it, stronger ones more opaque."""
    from matplotlib.colors import LinearSegmentedColormap

    image = pulls.sum(axis=2) if pulls.ndim == 3 else pulls
    largest = float(np.abs(image).max()) or 1.0
    strength = np.ones_like(image)
    if row is not None:
        grey = row.astype(np.float64).reshape(pulls.shape)
        grey = grey.mean(axis=2) if grey.ndim == 3 else grey
        # from white to light grey only: the pulls above must stay readable
        low = float(grey.min())
        top = low + 3.2 * (float(np.ptp(grey)) or 1.0)
        ax.imshow(grey, cmap="gray_r", vmin=low, vmax=top, interpolation="nearest")
        strength = np.sqrt(np.abs(image) / largest)
    blue_to_orange = LinearSegmentedColormap.from_list("pull", [BLUE, "#F7F7F7", ORANGE])
    drawn = ax.imshow(
        image, cmap=blue_to_orange, vmin=-largest, vmax=largest, alpha=0.9 * strength,
        interpolation="nearest",
    )  # fmt: skip
    ax.set_axis_off()
    figure = ax.get_figure()
    if figure is not None:
        bar = figure.colorbar(drawn, ax=ax, fraction=0.05, ticks=[-largest, 0, largest])
        bar.ax.set_yticklabels(["to A", "0", "to B"])
        if bar.solids is not None:
            bar.solids.set_alpha(1)
