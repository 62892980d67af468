"""Figures of angles: where rows fall between two sets or three, and what an angle says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cospan.errors import InputError
from cospan.evidence import bin_posterior

from ._style import BLUE, DARK, GREY, ORANGE, axes, degrees_axis, groups_of, label, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

    from cospan.comparison import Comparison

LEGEND_LINE = 45  # letters of all names that fit side by side
_CORNERS = np.array([[0, 0], [1, 0], [0.5, 3**0.5 / 2]])  # of a triangle with sides of 1
_MARKS = ((BLUE, "o"), (ORANGE, "^"), ("#009E73", "s"), (DARK, "+"))


def plot_angles(
    a: object,
    b: object = None,
    z: object = None,
    *,
    bins: int = 30,
    names: tuple[str, ...] | None = None,
    threshold: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Histograms of θ: A filled blue, B hatched orange, scored samples as a dark line.

    Parameters
    ----------
    a : Comparison, Alignment or array
        A comparison brings all its groups; otherwise the angles of A (arrays in radians).
    b, z : Alignment or array, optional
        The angles of B and of further samples.
    bins : int
        Equal bins over [0°, 90°]; the paper has 30.
    names : tuple of str, optional
        What to call the groups.
    threshold : float, optional
        An angle in radians to mark.

    Examples
    --------
    >>> from cospan.plots import plot_angles
    >>> ax = plot_angles(np.radians([10, 20, 22]), np.radians([60, 70]), names=("cats", "dogs"))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['cats (3)', 'dogs (2)']
    """
    ax = axes(ax)
    edges = np.linspace(0, 90, bins + 1)
    drawn = groups_of(a, b, z, names)
    for group in drawn:
        shares = 100 * group.histogram(bins)
        title = f"{group.name} ({group.n:,})"
        if group.colour == DARK:
            ax.stairs(shares, edges, color=DARK, linewidth=1.6, label=title)
            continue
        ax.stairs(
            shares, edges, fill=True, facecolor=group.colour, alpha=0.4, hatch=group.hatch,
            edgecolor=group.colour, linewidth=0, label=title,
        )  # fmt: skip
        ax.stairs(shares, edges, color=group.colour, linewidth=1.4)
    if threshold is not None:
        ax.axvline(np.degrees(threshold), color=DARK, linestyle=":", linewidth=1.4)
    degrees_axis(ax)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("% of the group's rows")
    if len(drawn) > 2:
        _legend_above(ax)
    else:
        ax.legend(frameon=False)
    return tidy(ax)


def plot_posterior(
    a: object,
    b: object = None,
    *,
    bins: int = 30,
    prior: float = 0.5,
    names: tuple[str, ...] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Probability of A and of B given the bin that an angle falls in.

    Bins that hold no row of either group are translucent and show what the angle alone says,
    cos²θ and sin²θ at the middle of the bin.

    Parameters
    ----------
    a, b : Comparison, Alignment or array
        As for :func:`plot_angles`.
    bins : int
        Equal bins over [0°, 90°].
    prior : float
        Share of A among the samples in question.
    names : tuple of str, optional
        What to call the groups.

    Examples
    --------
    >>> from cospan.plots import plot_posterior
    >>> ax = plot_posterior(np.radians([10.0, 50.0]), np.radians([50.0, 80.0]), bins=3)
    >>> [round(float(bar.get_height()), 3) for bar in ax.patches[:3]]
    [1.0, 0.5, 0.0]
    """
    ax = axes(ax)
    of_a, of_b = groups_of(a, b, names=names)[:2]
    posterior = bin_posterior(of_a.histogram(bins), of_b.histogram(bins), prior)
    edges = np.linspace(0, 90, bins + 1)
    empty = np.isnan(posterior)
    guess = np.cos(np.radians((edges[:-1] + edges[1:]) / 2)) ** 2
    height = np.where(empty, guess, posterior)
    for group, bottom, top in ((of_a, 0 * height, height), (of_b, height, 1 - height)):
        bars = ax.bar(
            edges[:-1], top, np.diff(edges), bottom, align="edge", color=group.colour,
            edgecolor="white", linewidth=0.6, hatch=group.hatch, label=group.name,
        )  # fmt: skip
        for bar, nothing in zip(bars, empty, strict=True):
            bar.set_alpha(0.15 if nothing else 0.9)
    ax.axhline(0.5, color=DARK, linestyle=":", linewidth=1.2)
    degrees_axis(ax)
    ax.set_ylim(0, 1)
    ax.set_ylabel("probability")
    for handle in _legend_above(ax).get_patches():
        handle.set_alpha(0.9)  # the first bar may be an empty, translucent one
    return tidy(ax)


def _legend_above(ax: Axes) -> Legend:
    """One line above the axes; one line for each name where they are long."""
    names = ax.get_legend_handles_labels()[1]
    columns = 3 if sum(map(len, names)) <= LEGEND_LINE else 1
    return ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, frameon=False)


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
            f"a triangle has three corners and there are {len(comparison.names)} sets; the report "
            "shows any number."
        )
    ax = axes(ax, (5.6, 5.0))
    ax.plot(*np.vstack([_CORNERS, _CORNERS[:1]]).T, color=DARK, linewidth=1)
    for side in (_CORNERS + np.roll(_CORNERS, 1, axis=0)) / 2:  # where the nearest set changes
        ax.plot(*np.vstack([_CORNERS.mean(axis=0), side]).T, color=GREY, linewidth=1, ls="--")
    for group, (colour, marker) in zip(comparison.every_group, _MARKS, strict=False):
        x, y = (group.kept.weights @ _CORNERS).T
        name = label(group.name, 24)
        ax.scatter(x, y, s=14, c=colour, marker=marker, alpha=0.6, linewidths=0.8, label=name)
    for (x, y), name in zip(_CORNERS, comparison.names, strict=True):
        up = 1 if y else -1
        place = "bottom" if y else "top"
        ax.text(x, y + 0.03 * up, label(name, 24), ha="center", va=place)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.legend(frameon=False, loc="upper left", fontsize=8)
    return ax
