"""Figures of a comparison: its columns, and more than two sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.errors import InputError

from ._style import BLUE, DARK, GREY, ORANGE, axes, label, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cospan.comparison import Comparison

MOST_NUMBERED = 16  # larger matrices have no room for numbers
GREEN = "#009E73"
HEIGHT = 3**0.5 / 2  # of a triangle with sides of 1
_LOOKS = ((BLUE, "o"), (ORANGE, "^"), (GREEN, "s"), (DARK, "+"))


def plot_features(comparison: Comparison, *, n: int = 10, ax: Axes | None = None) -> Axes:
    """The columns in the order of the table, with their part of the difference.

    Columns that changed are dark, with the kind of change beside them; others are grey.

    Parameters
    ----------
    comparison : Comparison
    n : int
        Columns drawn, changed ones first.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from cospan import compare, plots
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> ax = plots.plot_features(compare(X[y == 0], X[y == 1]), n=3)
    >>> len(ax.get_yticklabels())
    3
    """
    if comparison.features is None:
        raise InputError(
            'This comparison has no table of columns: compare two sets with span="affine".'
        )
    rows = tuple(comparison.features.rows)[:n]
    ax = axes(ax, (6.4, 0.9 + 0.36 * len(rows)))
    share = np.nan_to_num([100 * row.share for row in rows])
    place = np.arange(len(rows))
    ax.barh(place, share, color=[DARK if row.changed else "#C9C9C9" for row in rows], height=0.62)
    for at, row, width in zip(place, rows, share, strict=True):
        word = row.change if row.changed else "no change"
        ax.annotate(
            f" {word}", (width, at), va="center", fontsize=9, color=DARK if row.changed else GREY
        )
    ax.set_yticks(place, [label(row.name, 28) for row in rows])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.25 * max(float(share.max(initial=0.0)), 1e-9))
    ax.set_xlabel("part of the difference in %; the surest change first")
    ax.tick_params(axis="y", length=0)
    return tidy(ax)


def plot_pair_matrix(
    names: Sequence[str],
    matrix: Any,
    *,
    title: str = "",
    form: str = ".2f",
    cmap: Any = "cividis",
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A heat map of one number for each pair of sets.

    Parameters
    ----------
    names : sequence of str
        Names of the sets.
    matrix : array of shape (K, K)
        A number for each pair; NaN stays empty.
    title : str
        What the numbers are.
    form : str
        Format of the numbers.
    cmap : str or Colormap
        Colours; the default reads the same for every eye and in grey.
    limits : (float, float), optional
        Numbers at the two ends of the colours; by default the range of the matrix.

    Examples
    --------
    >>> from cospan.plots import plot_pair_matrix
    >>> ax = plot_pair_matrix(["x", "y"], [[0, 1.5], [1.5, 0]], title="Fisher-Rao")
    >>> [text.get_text() for text in ax.texts]
    ['0.00', '1.50', '1.50', '0.00']
    """
    values = np.asarray(matrix, dtype=np.float64)
    if values.shape != (len(names), len(names)):
        raise InputError(
            f"the matrix has shape {values.shape} and there are {len(names)} names; "
            "give one row and one column for each name."
        )
    side = 1.6 + 0.48 * len(names)
    ax = axes(ax, (side + 0.6, side))
    low, high = limits or (float(np.nanmin(values)), float(np.nanmax(values)))
    image = ax.imshow(values, cmap=cmap, vmin=low, vmax=high)
    if len(names) <= MOST_NUMBERED:
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value):
                light = value - low > 0.55 * (high - low)
                ax.text(
                    j, i, format(value, form), ha="center", va="center", fontsize=8,
                    color="black" if light else "white",
                )  # fmt: skip
    short = [label(name, 18) for name in names]
    steep = max(map(len, short), default=0) > 3
    ax.set_xticks(
        range(len(names)), short, rotation=45 if steep else 0, ha="right" if steep else "center"
    )
    ax.set_yticks(range(len(names)), short)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    figure = ax.get_figure()
    if figure is not None:
        figure.colorbar(image, ax=ax, fraction=0.046, label=title)
    return ax


def plot_ternary(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Rows of three sets in a triangle: a corner for each set, the middle for all alike.

    Parameters
    ----------
    comparison : Comparison
        Of three sets.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cospan import compare, plots
    >>> ax = plots.plot_ternary(compare(load_iris(as_frame=True).frame, label="target"))
    >>> [text.get_text() for text in ax.texts]
    ['0', '1', '2']
    """
    if len(comparison.names) != 3:
        raise InputError(
            f"a triangle has three corners and there are {len(comparison.names)} sets; "
            "plot_pair_matrix shows any number."
        )
    ax = axes(ax, (5.6, 5.0))
    corners = np.array([[0, 0], [1, 0], [0.5, HEIGHT]])
    middle, sides = corners.mean(axis=0), (corners + np.roll(corners, 1, axis=0)) / 2
    ax.plot(*np.vstack([corners, corners[:1]]).T, color=DARK, linewidth=1)
    for side in sides:  # where the nearest set changes
        ax.plot(*np.vstack([middle, side]).T, color=GREY, linewidth=1, linestyle="--")
    for group, (colour, marker) in zip(comparison.every_group, _LOOKS, strict=False):
        points = group.kept.weights @ corners
        if len(points):
            x, y = points.T
            name = label(group.name, 24)
            ax.scatter(x, y, s=14, c=colour, marker=marker, alpha=0.6, linewidths=0.8, label=name)
    for (x, y), name, place in zip(
        corners, comparison.names, ("top", "top", "bottom"), strict=False
    ):
        ax.text(
            x, y + (0.03 if place == "bottom" else -0.03), label(name, 24), ha="center", va=place
        )
    ax.set_aspect("equal")
    ax.axis("off")
    ax.legend(frameon=False, loc="upper left", fontsize=8)
    return ax
