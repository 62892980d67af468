"""Draw the pictures of docs/angle.md: python docs/images/draw_angle.py"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from cospan import JointFrame
from cospan.plots import BLUE, DARK, GREY, ORANGE

HERE = Path(__file__).parent


def two_sets(seed=1):
    """A wide flat cloud and a narrow tilted one beside it."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((60, 2)) * [1.6, 0.7]
    B = rng.standard_normal((60, 2)) * [0.5, 1.1] @ [[0.9, 0.4], [-0.4, 0.9]] + [3.4, 1.4]
    return A, B


def weights(X, z):
    """The smallest weights, summing to 1, whose weighted mean of X's rows is z."""
    rows = np.hstack([X, np.ones((len(X), 1))])
    return np.linalg.lstsq(rows.T, np.append(z, 1.0), rcond=None)[0]


def clouds(ax, A, B):
    ax.plot(*A.T, "o", color=BLUE, ms=3, alpha=0.35)
    ax.plot(*B.T, "^", color=ORANGE, ms=3, alpha=0.35)
    ax.set_aspect("equal")
    ax.set(xticks=[], yticks=[])
    for side in ax.spines.values():
        side.set_visible(False)


def weighted_means():
    """One sample, explained twice: dot sizes are weights, crosses are negative ones."""
    A, B = two_sets()
    z = np.array([1.3, 0.5])
    figure = Figure(figsize=(8.6, 3.4), layout="constrained")
    for i, (X, name, colour, marker) in enumerate(((A, "A", BLUE, "o"), (B, "B", ORANGE, "^"))):
        ax = figure.add_subplot(1, 2, i + 1)
        clouds(ax, A, B)
        u = weights(X, z)
        size = 900 * np.abs(u)
        ax.scatter(*X[u > 0].T, s=size[u > 0], marker=marker, color=colour, alpha=0.65)
        ax.scatter(*X[u < 0].T, s=size[u < 0], marker="x", color=colour, alpha=0.8)
        ax.plot(*z, "*", color=DARK, ms=13)
        ax.annotate("sample", z, xytext=(0, 10), textcoords="offset points", ha="center")
        cost = len(X) * np.sum(u**2)
        ax.set_title(f"as a weighted mean of {name}: cost² = {cost:.1f}", fontsize=10)
    return figure


def map_of_angles():
    """Calibrated angle over the plane: lines of equal angle."""
    A, B = two_sets()
    frame = JointFrame.fit(A, B)
    x, y = np.meshgrid(np.linspace(-5, 7, 240), np.linspace(-3.2, 5, 180))
    points = np.column_stack([x.ravel(), y.ravel()])
    figure = Figure(figsize=(8.6, 3.4), layout="constrained")
    for i, (name, theta) in enumerate(
        (("calibrated", frame.align(points).degrees), ("the paper's", paper_angles(A, B, points)))
    ):
        ax = figure.add_subplot(1, 2, i + 1)
        clouds(ax, A, B)
        levels = np.arange(0, 91, 7.5)
        ax.contourf(x, y, theta.reshape(x.shape), levels, cmap="RdYlBu_r", alpha=0.5, zorder=0)
        lines = ax.contour(
            x, y, theta.reshape(x.shape), [15, 45, 75], colors=DARK, linewidths=[0.6, 1.4, 0.6]
        )
        ax.clabel(lines, fmt="%d°", fontsize=8)
        ax.set_title(f"{name} angle", fontsize=10)
    return figure


def paper_angles(A, B, points):
    return JointFrame.fit(A, B, preset="paper").align(points).degrees


def sizes_tilt():
    """Fresh rows of one and the same distribution, scored by 20 rows against 2,000."""
    rng = np.random.default_rng(0)
    A, B, Z = (rng.standard_normal((n, 100)) for n in (20, 2000, 1000))
    scored = JointFrame.fit(A, B, shrinkage=0.05, pooling=0.0, dof=1.0).align(Z)
    figure = Figure(figsize=(8.6, 2.6), layout="constrained")
    ax = figure.add_subplot()
    bins = np.arange(0, 91, 1.5)
    ax.hist(np.degrees(scored.raw_theta), bins, color=GREY, label="raw angle")
    ax.hist(scored.degrees, bins, color=BLUE, alpha=0.7, label="calibrated angle")
    ax.axvline(45, color=DARK, linestyle="--", linewidth=1)
    ax.set_xticks(range(0, 91, 15), [f"{tick}°" for tick in range(0, 91, 15)])
    ax.set(yticks=[], xlim=(0, 90), ylabel="rows")
    ax.legend(frameon=False)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return figure


def main():
    pictures = {
        "angle-weighted-means": weighted_means,
        "angle-map": map_of_angles,
        "angle-sizes": sizes_tilt,
    }
    for name, draw in pictures.items():
        path = HERE / f"{name}.png"
        draw().savefig(path, dpi=100)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
