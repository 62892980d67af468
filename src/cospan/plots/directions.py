"""Figures of a frame's directions: their angles, and what they look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.base.types import Floats, Index

from ._strips import Strip, draw_strips, one_strip
from ._style import BLUE, GREY, ORANGE, axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEAR = 10.0  # degrees from 45 that count as shared: one set varies 1.4 times as much at most
STILL = 0.5  # pooled standard deviations by which the means may differ along a shared direction


def plot_spectrum(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Angles of the directions in order, with the three blocks: A-only, shared, B-only.

    Parameters
    ----------
    frame : JointFrame, GSVD or Comparison
        Whose directions to draw.

    Examples
    --------
    >>> from cospan import gsvd, plots
    >>> ax = plots.plot_spectrum(gsvd([[1.0, 0, 0], [0, 1, 0]], [[0, 1.0, 0], [0, 0, 1]]))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['only A (1)', 'shared (1)', 'only B (1)']
    """
    frame = getattr(frame, "frame", frame)
    ax = axes(ax)
    angles = np.degrees(np.asarray(frame.angles))
    r, k, t = frame.blocks
    place = np.arange(1, len(angles) + 1)
    for start, size, name, colour, marker in (
        (0, r, "only A", BLUE, "v"),
        (r, k, "shared", GREY, "o"),
        (r + k, t, "only B", ORANGE, "^"),
    ):
        if size:
            block = slice(start, start + size)
            ax.plot(
                place[block], angles[block], marker, color=colour, markersize=4.5,
                label=f"{name} ({size})",
            )  # fmt: skip
            if name != "shared":
                ax.axvspan(start + 0.5, start + size + 0.5, color=colour, alpha=0.1, linewidth=0)
    ax.axhline(45, color=GREY, linestyle="--", linewidth=1)
    ax.set_xlim(0.5, max(len(angles), 1) + 0.5)
    ax.locator_params(axis="x", integer=True)
    ax.set_ylim(-3, 93)
    ax.set_yticks(range(0, 91, 15), [f"{tick}°" for tick in range(0, 91, 15)])
    ax.set(xlabel="direction", ylabel="angle")
    ax.legend(frameon=False, loc="upper left")
    return tidy(ax)


def plot_directions(
    frame: Any,
    *,
    n: int = 5,
    image_shape: tuple[int, ...] | None = None,
    feature_names: Sequence[str] | None = None,
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
    image_shape : tuple of int, optional
        (height, width) where features are pixels; a comparison knows its own. Otherwise the
        features with the largest weights are drawn as bars.
    feature_names, titles, cmap
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
    if feature_names is None:
        feature_names = getattr(frame, "feature_names", None)
    strips = _strips(frame, n, titles, pixels=image_shape is not None)
    colours = ("#762A83", "#1B7837")
    return draw_strips(ax, strips, image_shape, feature_names, cmap, colours=colours)


def _strips(frame: Any, n: int, titles: Sequence[str] | None, pixels: bool) -> list[Strip]:
    frame = getattr(frame, "frame", frame)
    if hasattr(frame, "vectors"):  # Directions: some rows of a frame's H, as unit vectors
        titles = titles or [f"{angle:.0f}°" for angle in np.asarray(frame.degrees)]
        frame = np.asarray(frame.vectors)
    if not hasattr(frame, "H"):
        return one_strip(frame, titles, "directions")
    H, angles = np.asarray(frame.H), np.degrees(np.asarray(frame.angles))
    at_ends = min(n, -(-len(angles) // 3))  # of few directions some are left for the middle
    like_a = [i for i in range(at_ends) if angles[i] <= 45]
    like_b = [i for i in range(len(angles) - at_ends, len(angles)) if angles[i] > 45]
    middle = _shared(frame, H, angles, n, {*like_a, *like_b})
    if not pixels:  # relative to each feature's own spread, so that units do not decide
        spread = np.sqrt((H * H).sum(axis=0))
        H = H / np.where(spread > 0, spread, 1)
    return [
        (heading, [(H[i], f"{angles[i]:.0f}°") for i in index])
        for heading, index in (("like A", like_a), ("shared", middle), ("like B", like_b))
        if len(index)
    ]


def _shared(frame: Any, H: Floats, angles: Floats, n: int, drawn: set[int]) -> Index:
    """The n strongest of the directions that both sets have alike: dead pixels are weak ones."""
    near = np.abs(angles - 45) <= NEAR
    near[list(drawn)] = False
    geometry = getattr(frame, "geometry", None)
    if geometry is not None and geometry.affine:
        near &= np.abs(np.asarray(frame.shifts, dtype=np.float64)) <= STILL
    found = np.flatnonzero(near)
    strength = np.sqrt((H[found] ** 2).sum(axis=1))
    return np.sort(found[np.argsort(-strength, kind="stable")[:n]])
