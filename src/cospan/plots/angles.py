"""Figures of angles: where rows fall between two sets, or three."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cospan.base.types import Floats
from cospan.errors import InputError
from cospan.evidence import angle_histogram

from .style import BLUE, DARK, GREY, ORANGE, axes, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cospan.comparison import Comparison

LEGEND_LINE = 45  # letters of all names that fit side by side
_LOOKS = ((BLUE, None), (ORANGE, "///"), (DARK, None))
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
    if hasattr(a, "every_group"):
        names = names or tuple(group.name for group in a.every_group)
        a, b, z = (*a.every_group, None)[:3]
    groups = [one for one in (a, b, z) if one is not None]
    names = names or ("A", "B", "scored samples")
    if len(names) < len(groups):
        raise InputError(f"names has {len(names)} entries for {len(groups)} groups; give one each.")
    ax = axes(ax)
    edges = np.linspace(0, 90, bins + 1)
    titles = []
    for group, name, (colour, hatch) in zip(groups, names, _LOOKS, strict=False):
        theta = _angles_of(group, name)
        shares = 100 * angle_histogram(theta, bins)
        titles.append(f"{label(name)} ({getattr(group, 'n', len(theta)):,})")
        if colour == DARK:
            ax.stairs(shares, edges, color=DARK, linewidth=1.6, label=titles[-1])
            continue
        ax.stairs(
            shares, edges, fill=True, facecolor=colour, alpha=0.4, hatch=hatch,
            edgecolor=colour, linewidth=0, label=titles[-1],
        )  # fmt: skip
        ax.stairs(shares, edges, color=colour, linewidth=1.4)
    if threshold is not None:
        ax.axvline(np.degrees(threshold), color=DARK, linestyle=":", linewidth=1.4)
    ax.set_xlim(0, 90)
    ax.set_xticks(range(0, 91, 15), [f"{tick}°" for tick in range(0, 91, 15)])
    ax.set_ylim(bottom=0)
    ax.set(xlabel="angle θ", ylabel="% of the group's rows")
    ax.spines[["top", "right"]].set_visible(False)
    if len(groups) > 2:  # above the axes, on one line where the names are short
        columns = 3 if sum(map(len, titles)) <= LEGEND_LINE else 1
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, frameon=False)
    else:
        ax.legend(frameon=False)
    return ax


def _angles_of(group: object, name: str) -> Floats:
    """The angles of an alignment, of a group of a comparison, or as they are given."""
    source = getattr(group, "alignment", group)
    theta = np.asarray(getattr(source, "theta", source), dtype=np.float64)
    if theta.ndim != 1:
        raise InputError(
            f"the angles of group {name!r} have shape {theta.shape}; give an Alignment, a scored "
            "group or a list of angles in radians."
        )
    return theta


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
