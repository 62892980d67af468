"""Figures of angles, directions and samples, drawn with matplotlib.

Each function takes what the library returns (a `Comparison`, an `Alignment`, a `JointFrame`, …)
and an optional `ax`, and returns the axes it drew on. A is blue and solid, B orange and hatched,
so that a figure reads the same for every eye and in black and white.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cospan.base.text import printable
from cospan.base.types import Floats
from cospan.errors import InputError, needed
from cospan.evidence import angle_histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_angles", "plot_directions", "plot_samples"]

# Okabe and Ito's palette: distinct for every common kind of colour vision.
BLUE, ORANGE, DARK = "#0072B2", "#D55E00", "#333333"
_LOOKS = ((BLUE, None), (ORANGE, "///"), (DARK, None))
LEGEND_LINE = 45  # letters of all names that fit side by side
NEAR = 10.0  # degrees from 45 that count as shared: one set varies 1.4 times as much at most
STILL = 0.5  # pooled standard deviations by which the means may differ along a shared direction

#: A heading, and panels: a row of numbers to show, and the words above it.
Strip: TypeAlias = tuple[str, list[tuple[Floats, str]]]


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
        source = getattr(group, "alignment", group)
        theta = np.asarray(getattr(source, "theta", source), dtype=np.float64)
        if theta.ndim != 1:
            raise InputError(
                f"the angles of group {name!r} have shape {theta.shape}; give an Alignment, a "
                "scored group or a list of angles in radians."
            )
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
    # Above the axes, on one line where the names are short.
    columns = len(groups) if sum(map(len, titles)) <= LEGEND_LINE else 1
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, frameon=False)
    return ax


def plot_directions(
    frame: Any,
    *,
    n: int = 5,
    image_shape: tuple[int, ...] | None = None,
    titles: Sequence[str] | None = None,
    cmap: Any = "viridis",
    ax: Axes | None = None,
) -> Axes:
    """Strips of the most A-like, the shared and the most B-like directions.

    Shared are directions along which both sets vary about equally (35° to 55°) and have about
    the same mean; where there are none, that strip is left out.

    Parameters
    ----------
    frame : JointFrame, GSVD, Comparison, Directions, or array of shape (k, d)
        A frame gives three strips of `n` directions; directions or an array are one strip.
    n : int
        Directions in each strip, at most; a direction is in one of them only.
    image_shape, titles, cmap
        As for :func:`plot_samples`; the paper uses viridis.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cospan import JointFrame, plots
    >>> X, y = load_digits(return_X_y=True)
    >>> frame = JointFrame.fit(X[y == 4], X[y == 9], shrinkage=0.1)
    >>> ax = plots.plot_directions(frame, n=2, image_shape=(8, 8))
    >>> len(ax.child_axes)
    6
    """
    image_shape = image_shape or getattr(frame, "image_shape", None)
    frame = getattr(frame, "frame", frame)
    if not hasattr(frame, "H"):
        if titles is None and hasattr(frame, "degrees"):
            titles = [f"{angle:.0f}°" for angle in np.asarray(frame.degrees)]
        return _draw(ax, _one_strip(getattr(frame, "vectors", frame), titles), image_shape, cmap)
    H, angles = np.asarray(frame.H), np.degrees(np.asarray(frame.angles))
    at_ends = min(n, -(-len(angles) // 3))  # of few directions some are left for the middle
    like_a = [i for i in range(at_ends) if angles[i] <= 45]
    like_b = [i for i in range(len(angles) - at_ends, len(angles)) if angles[i] > 45]
    # Shared are the strongest of the directions that both sets have alike: dead pixels are weak.
    near = np.abs(angles - 45) <= NEAR
    near[like_a + like_b] = False
    if getattr(frame, "span", None) == "affine":
        near &= np.abs(np.asarray(frame.shifts, dtype=np.float64)) <= STILL
    weakest_last = np.argsort(-np.sqrt((H**2).sum(axis=1)), kind="stable")
    shared = sorted(weakest_last[near[weakest_last]][:n])
    strips = [
        (heading, [(H[i], f"{angles[i]:.0f}°") for i in index])
        for heading, index in (("like A", like_a), ("shared", shared), ("like B", like_b))
        if index
    ]
    return _draw(ax, strips, image_shape, cmap)


def plot_samples(
    samples: Any,
    *,
    n: int = 6,
    image_shape: tuple[int, ...] | None = None,
    titles: Sequence[str] | None = None,
    cmap: Any = "gray",
    ax: Axes | None = None,
) -> Axes:
    """Strips of samples: of a comparison the most A-like, the most shared, the most B-like.

    Parameters
    ----------
    samples : Comparison, or array of shape (k, d)
        A comparison gives three strips of `n` samples with their angles; an array is one strip,
        of samples, or of what pulls them (``attribute(frame, rows).features``).
    n : int
        Samples in each strip.
    image_shape : tuple of int, optional
        (height, width), or (height, width, channels); a comparison knows its own.
    titles : sequence of str, optional
        Words above the pictures of an array.
    cmap : str or Colormap
        Their colours.

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
        strips = _telling_samples(samples, n)
    else:
        strips = _one_strip(samples[:n], titles)
    values = np.concatenate([row for _, panels in strips for row, _ in panels])
    limits = (float(values.min()), float(values.max()))
    return _draw(ax, strips, image_shape, cmap, limits)


def _telling_samples(comparison: Any, n: int) -> list[Strip]:
    """The rows of all groups with the smallest angles, nearest 45°, and the largest."""
    found: list[tuple[float, str, Floats]] = []
    for key, group in zip("ABZ", comparison.every_group, strict=False):
        theta = np.degrees(np.asarray(group.alignment.theta))
        rows = np.asarray(group.rows, dtype=np.float64)
        found += [(angle, key, row) for angle, row in zip(theta, rows, strict=True)]
    found.sort(key=lambda one: one[0])
    middle = sorted(found, key=lambda one: abs(one[0] - 45))[:n]
    chosen = {
        "like A": found[:n],
        "like both": sorted(middle, key=lambda one: one[0]),
        "like B": found[-n:],
    }
    return [
        (heading, [(row, f"{key} {angle:.0f}°") for angle, key, row in samples])
        for heading, samples in chosen.items()
    ]


# ---- strips -----------------------------------------------------------------------------------


def _one_strip(rows: Any, titles: Sequence[object] | None) -> list[Strip]:
    """Rows side by side, with words above them."""
    rows = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    words = [""] * len(rows) if titles is None else [label(title) for title in titles]
    if len(words) < len(rows):
        raise InputError(f"titles has {len(words)} entries for {len(rows)} rows; give one each.")
    return [("", list(zip(rows, words, strict=False)))]


def _draw(
    ax: Axes | None,
    strips: Sequence[Strip],
    image_shape: tuple[int, ...] | None,
    cmap: Any,
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Draw each strip as one row of pictures."""
    if image_shape is None:
        raise InputError(
            "These rows are no pictures; give image_shape=(height, width). Of a table see its "
            "report, or the numbers of frame.directions."
        )
    d = strips[0][1][0][0].size
    if len(image_shape) not in (2, 3) or np.prod(image_shape) != d:
        raise InputError(
            f"image_shape {tuple(image_shape)} does not hold the {d} features of a row; "
            "give (height, width) or (height, width, channels)."
        )
    columns = max(len(panels) for _, panels in strips)
    ax = axes(ax, (1.1 + 1.15 * columns, 0.25 + 1.3 * len(strips)))
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
            corner = left + (j + 0.06) * width, bottom + 0.04 * height
            inset = ax.inset_axes((*corner, 0.91 * width, 0.78 * height))
            inset.set_title(title, fontsize=8, pad=3)
            inset.set_axis_off()
            image = values.reshape(image_shape)
            low, high = limits if limits is not None else (float(image.min()), float(image.max()))
            if image.ndim == 3 and image.shape[2] in (3, 4):  # red, green and blue
                inset.imshow(np.clip((image[..., :3] - low) / ((high - low) or 1.0), 0, 1))
            else:
                grey = image.mean(axis=2) if image.ndim == 3 else image
                inset.imshow(grey, cmap=cmap, vmin=low, vmax=high, interpolation="nearest")
    return ax


# ---- axes and names ---------------------------------------------------------------------------


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


def label(text: object, longest: int = 40) -> str:
    r"""A name as matplotlib should print it: short, on one line, dollars no formulas.

    >>> label("a\nb $x$")
    'a b \\$x\\$'
    """
    return printable(" ".join(str(text).split()), longest).replace("$", r"\$")
