"""Figures of angles: where rows fall, what an angle says, what lies behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.distribution import bin_posterior

from ._style import BLUE, DARK, GREY, ORANGE, axes, degrees_axis, groups_of, histogram, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

LEGEND_LINE = 45  # letters of all names that fit side by side


def plot_angles(
    a: Any,
    b: Any = None,
    z: Any = None,
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
        shares = 100 * histogram(group, bins)
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
    a: Any,
    b: Any = None,
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
    posterior = bin_posterior(histogram(of_a, bins), histogram(of_b, bins), prior)
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


def plot_costs(
    a: Any,
    b: Any = None,
    z: Any = None,
    *,
    names: tuple[str, ...] | None = None,
    most: int = 2_000,
    ax: Axes | None = None,
) -> Axes:
    """Cost by A against cost by B, on logarithmic axes; the diagonal is θ = 45°.

    Parameters
    ----------
    a, b, z : Comparison, Alignment
        As for :func:`plot_angles`, but with costs.
    names : tuple of str, optional
        What to call the groups.
    most : int
        Points drawn of each group; larger groups are thinned evenly.

    Examples
    --------
    >>> from cospan import JointFrame, plots
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(50, 3)), rng.normal(size=(60, 3)) * [1, 1, 3]
    >>> frame = JointFrame.fit(A, B, shrinkage=0.1)
    >>> plots.plot_costs(frame.align(A), frame.align(B)).get_xscale()
    'log'
    """
    ax = axes(ax, (4.6, 4.2))
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = np.inf, 0.0
    for group in groups_of(a, b, z, names):
        x, y = (np.asarray(getattr(group.source, cost)) for cost in ("cost_b", "cost_a"))
        step = max(1, -(-len(x) // most))
        x, y = x[::step], y[::step]
        ax.plot(
            x, y, group.marker, color=group.colour, markersize=4, alpha=0.55,
            markeredgewidth=0, label=group.name,
        )  # fmt: skip
        positive = np.concatenate([x[x > 0], y[y > 0]])
        if positive.size:
            low, high = min(low, positive.min()), max(high, positive.max())
    if high > 0:
        ax.plot([low, high], [low, high], color=GREY, linestyle="--", linewidth=1.2, zorder=0)
        ax.annotate("45°", (high, high), color=GREY, ha="right", va="bottom")
    ax.set(xscale="log", yscale="log", xlabel="cost by B", ylabel="cost by A")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    ax.text(0.98, 0.03, "A explains it", color=BLUE, transform=ax.transAxes, ha="right")
    ax.text(0.02, 0.93, "B explains it", color=ORANGE, transform=ax.transAxes)
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return tidy(ax)
