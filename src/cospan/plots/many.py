"""Figures of more than two sets: a triangle of three, and which sets join first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cospan.errors import InputError

from ._style import BLUE, DARK, GREY, ORANGE, axes, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cospan.comparison import Comparison

GREEN = "#009E73"
HEIGHT = 3**0.5 / 2  # of a triangle with sides of 1
_LOOKS = ((BLUE, "o"), (ORANGE, "^"), (GREEN, "s"), (DARK, "+"))


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


def plot_dendrogram(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Which sets join first, and at what Fisher-Rao distance.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cospan import compare, plots
    >>> ax = plots.plot_dendrogram(compare(load_iris(as_frame=True).frame, label="target"))
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['0', '1', '2']
    """
    if comparison.linkage is None:
        raise InputError("a tree shows which of three or more sets join first; these are two.")
    K, (joined, order) = len(comparison.names), comparison.linkage
    ax = axes(ax, (5.6, 1.0 + 0.28 * K))
    place: dict[int, float] = {int(k): float(i) for i, k in enumerate(order)}
    reach = dict.fromkeys(place, 0.0)
    for step, (first, second, distance, _) in enumerate(joined.tolist()):
        one, other = int(first), int(second)
        for end in (one, other):
            ax.plot([reach[end], distance], [place[end]] * 2, color=BLUE, linewidth=1.6)
        ax.plot([distance] * 2, [place[one], place[other]], color=BLUE, linewidth=1.6)
        place[K + step] = (place[one] + place[other]) / 2
        reach[K + step] = distance
    ax.set_yticks(range(K), [label(comparison.names[k], 24) for k in order])
    joins = joined[:, 2]
    ax.set_xlim(left=max(0.0, float(joins.min() - (joins.max() - joins.min()) / 2)))
    ax.set_xlabel("Fisher-Rao distance at which sets join")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax
