"""The paper's figures: samples, angles, posteriors and extreme directions."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cospan import JointFrame, angle_histogram, bin_posterior, plots
from cospan.plots import BLUE, DARK, ORANGE
from images import Images

DOCS = Path(__file__).parent.parent / "docs" / "images"

Angles = Mapping[tuple[int, int], tuple[np.ndarray, np.ndarray]]


def panels(images: Images, angles: Angles, draw: Callable[..., object]) -> Figure:
    """One panel for each pair of classes, drawn by a function such as `plots.plot_angles`."""
    rows = (len(angles) + 1) // 2
    figure = Figure(figsize=(10, 3.2 * rows), layout="constrained")
    for place, ((a, b), theta) in enumerate(angles.items(), 1):
        ax = figure.add_subplot(rows, 2, place)
        draw(*theta, names=(images.classes[a], images.classes[b]), ax=ax)
    return figure


def posterior(a: np.ndarray, b: np.ndarray, *, names: tuple[str, str], ax: Axes) -> None:
    """Probability of either class in each of 30 bins of angles, between the classes' colours.

    Bins that hold no row are translucent and show what the angle alone says, cos²θ.
    """
    edges = np.linspace(0, 90, 31)
    known = bin_posterior(angle_histogram(a, 30), angle_histogram(b, 30))
    guess = np.cos(np.radians((edges[:-1] + edges[1:]) / 2)) ** 2
    height = np.where(np.isnan(known), guess, known)
    looks = ((names[0], BLUE, None, 0.0, height), (names[1], ORANGE, "///", height, 1 - height))
    for name, colour, hatch, bottom, top in looks:
        bars = ax.bar(
            edges[:-1], top, np.diff(edges), bottom, align="edge", color=colour,
            edgecolor="white", linewidth=0.6, hatch=hatch, label=name,
        )  # fmt: skip
        for bar, empty in zip(bars, np.isnan(known), strict=True):
            bar.set_alpha(0.15 if empty else 0.9)
    ax.axhline(0.5, color=DARK, linestyle=":", linewidth=1.2)
    ax.set(xlim=(0, 90), ylim=(0, 1), xlabel="angle θ (degrees)", ylabel="probability")
    legend = ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    for handle in legend.get_patches():
        handle.set_alpha(0.9)  # the first bar may be an empty, translucent one
    ax.spines[["top", "right"]].set_visible(False)


def samples(images: Images, pair: tuple[int, int]) -> Figure:
    """An image of each class, raw and less the mean of its class."""
    sets = images.pair(*pair, draw=0)[:2]
    names = [images.classes[k] for k in pair]
    rows = [X[0] for X in sets] + [X[0] - X.mean(0) for X in sets]
    titles = [f"{n}, raw" for n in names] + [f"{n}, centred" for n in names]
    return _strip(np.array(rows), images, titles, "gray", (8, 2.4))


def extremes(images: Images) -> Figure:
    """Directions that 4 and 9 share: the most 4-like, the one nearest 45°, the most 9-like."""
    A, B, *_ = images.pair(4, 9, draw=0)
    frame = JointFrame.fit(A, B, preset="paper")
    r, k, _ = frame.blocks
    nearest = r + int(np.argmin(np.abs(frame.angles[r : r + k] - np.pi / 4)))
    index = [r, nearest, r + k - 1]
    words = ("most 4-like", "shared", "most 9-like")
    degrees = np.degrees(frame.angles[index])
    titles = [f"{word}, {angle:.1f}°" for word, angle in zip(words, degrees, strict=True)]
    return _strip(frame.H[index], images, titles, "viridis", (7, 2.7))


def _strip(
    rows: np.ndarray, images: Images, titles: list[str], cmap: str, size: tuple[float, float]
) -> Figure:
    figure = Figure(figsize=size, layout="constrained")
    plots.plot_directions(
        rows, image_shape=images.image_shape, titles=titles, cmap=cmap, ax=figure.add_subplot()
    )
    return figure


def save(figure: Figure, name: str, caption: str, folder: Path, docs: bool = False) -> str:
    """The figure as a file of the folder, and the line of Markdown that shows it.

    With `docs`, figures that the documentation shows are renewed there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=110)
    shown = DOCS / f"reproduction-{name}.png"
    if docs and shown.exists():
        shutil.copyfile(folder / f"{name}.png", shown)
    return f"![{caption}]({name}.png)"
