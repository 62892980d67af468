"""Figures of single samples: the most telling ones, and what pulls one of them where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.errors import InputError

from ._strips import Panel, bars, check_shape, draw_strips, one_strip
from ._style import BLUE, ORANGE, axes, pull_map

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
    colours = ("#555555", "#555555")
    if hasattr(samples, "every_group"):
        feature_names = feature_names or samples.feature_names
        strips = _telling_samples(samples, n, pixels=image_shape is not None)
        colours = (BLUE, ORANGE)
    else:
        rows = np.atleast_2d(np.asarray(samples, dtype=np.float64))[:n]
        strips = one_strip(rows, titles, "samples")
    values = np.concatenate([panel.values for _, panels in strips for panel in panels])
    limits = (float(values.min()), float(values.max()))
    return draw_strips(ax, strips, image_shape, feature_names, cmap, colours=colours, limits=limits)


def _angles(comparison: Any) -> list[Any]:
    return [group.angles for group in comparison.every_group]


def _telling_samples(comparison: Any, n: int, pixels: bool) -> list[tuple[str, list[Panel]]]:
    """The kept rows of all groups with the smallest angles, nearest 45°, and the largest."""
    theta: list[NDArray[Any]] = []
    values: list[NDArray[Any]] = []
    keys: list[str] = []
    for key, group in zip("ABZ", _angles(comparison), strict=False):
        shown = group.rows if pixels else group.attribution
        if shown is None or len(shown) == 0:
            continue
        theta.append(np.degrees(np.asarray(group.alignment.theta)[group.row_index]))
        values.append(np.asarray(shown, dtype=np.float64))
        keys += [key] * len(shown)
    if not theta:
        raise InputError("this comparison kept no rows to draw; make it again from the data.")
    angles, rows = np.concatenate(theta), np.concatenate(values)
    order = np.argsort(angles, kind="stable")
    middle = np.argsort(np.abs(angles - 45), kind="stable")[:n]
    middle = middle[np.argsort(angles[middle], kind="stable")]
    strips = (("like A", order[:n]), ("like both", middle), ("like B", order[-n:]))
    return [
        (heading, [Panel(rows[i], f"{keys[i]} {angles[i]:.0f}°") for i in index])
        for heading, index in strips
    ]


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
    attribution : Attribution, ScoredGroup, or array of shape (d,) or (k, d)
        Pulls of the features on -cos 2θ.
    index : int
        Which sample.
    n : int
        How many bars.
    row : array of shape (d,), optional
        The sample itself; a picture is then drawn in grey under the pulls. A scored group knows
        its rows.
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
    pulls, total = _pulls(attribution, index)
    if row is None and getattr(attribution, "rows", None) is not None:
        row = attribution.rows[index]
    if feature_names is None:
        feature_names = getattr(attribution, "feature_names", None)
    check_shape(image_shape, pulls.size)
    if image_shape is None:
        ax = axes(ax, (5.0, 0.9 + 0.3 * min(n, pulls.size)))
        bars(ax, pulls, feature_names, top=n, colours=(BLUE, ORANGE))
        ax.set_xlabel("pull towards A (left) and B (right)")
    else:
        ax = axes(ax, (3.6, 3.2))
        _overlay(ax, pulls, row, image_shape)
    theta = np.degrees(np.arccos(np.clip(-total, -1, 1)) / 2)
    ax.set_title(f"θ = {theta:.1f}°", fontsize=10)
    return ax


def _pulls(attribution: Any, index: int) -> tuple[NDArray[np.float64], float]:
    features = getattr(attribution, "features", getattr(attribution, "attribution", attribution))
    if features is None:
        raise InputError("this group has no attributions; compare again with its rows kept.")
    pulls = np.atleast_2d(np.asarray(features, dtype=np.float64))
    if not -len(pulls) <= index < len(pulls):
        raise InputError(f"there is no sample {index} among {len(pulls)} attributions.")
    return pulls[index], float(pulls[index].sum())


def _overlay(ax: Axes, pulls: NDArray[Any], row: Any, image_shape: tuple[int, ...]) -> None:
    """The picture in light grey with the pulls over it, stronger ones more opaque."""
    image = pulls.reshape(image_shape)
    if image.ndim == 3:
        image = image.sum(axis=2)
    largest = float(np.abs(image).max()) or 1.0
    if row is not None:
        grey = np.asarray(row, dtype=np.float64).reshape(image_shape)
        grey = grey.mean(axis=2) if grey.ndim == 3 else grey
        # from white to light grey only: the pulls above must stay readable
        top = float(grey.min()) + 3.2 * (float(np.ptp(grey)) or 1.0)
        ax.imshow(grey, cmap="gray_r", vmin=float(grey.min()), vmax=top, interpolation="nearest")
    strength = np.sqrt(np.abs(image) / largest) if row is not None else np.ones_like(image)
    drawn = ax.imshow(
        image, cmap=pull_map(), vmin=-largest, vmax=largest, alpha=0.9 * strength,
        interpolation="nearest",
    )  # fmt: skip
    ax.set_axis_off()
    figure = ax.get_figure()
    if figure is not None:
        bar = figure.colorbar(drawn, ax=ax, fraction=0.05, ticks=[-largest, 0, largest])
        bar.ax.set_yticklabels(["to A", "0", "to B"])
        if bar.solids is not None:
            bar.solids.set_alpha(1)
