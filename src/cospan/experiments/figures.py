"""The paper's figures, drawn from a study with the functions of `cospan.plots`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan import plots
from cospan.experiments.document import figure_of
from cospan.experiments.images import Images
from cospan.experiments.protocol import COST, DEFAULTS, FRAME, LOGISTIC, PAPER_ROWS
from cospan.experiments.study import PAPER_PAIRS, Study
from cospan.model import JointFrame

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_figures(study: Study) -> Iterator[tuple[str, str, Figure]]:
    """(file name, caption, figure), one after the other."""
    name = study.images.name
    pairs = PAPER_PAIRS[name]
    first, second = (study.images.classes[k] for k in pairs[0])
    caption = (
        f"{study.images.title}: a {first} and a {second}, raw, and less the mean of their class."
    )
    yield f"samples-{name}", caption, _samples(study.images)
    for rule, short in ((FRAME, "frame"), (COST, "cost"), (DEFAULTS, "defaults")):
        caption = f"{study.images.title}: angles of the test images, {rule}, first draw."
        yield f"angles-{name}-{short}", caption, _panels(study, rule, plots.plot_angles)
    caption = (
        f"{study.images.title}: posterior of the two classes in each bin of angles, "
        f"{FRAME}, first draw; translucent bins are empty."
    )
    yield f"posteriors-{name}", caption, _panels(study, FRAME, plots.plot_posterior)
    if (4, 9) in pairs:
        caption = (
            "Directions of the frame of 4 and 9: the most 4-like shared one, the one nearest "
            "45°, the most 9-like shared one (the paper's rows, each set centred at its mean)."
        )
        yield f"extremes-{name}", caption, _extremes(study.images)
    if len(study.every_pair) <= len(pairs):
        return  # a matrix of these few pairs would be mostly empty
    for what, title in (("accuracy", "accuracy"), ("fisher_rao", "Fisher-Rao distance (rad)")):
        caption = f"{study.images.title}: {title} of every pair of classes run, first draw."
        yield f"pairs-{name}-{what.replace('_', '-')}", caption, _matrices(study, what, title)


def _samples(images: Images) -> Figure:
    pair = PAPER_PAIRS[images.name][0]
    sets = _training_rows(images, pair)
    rows = [X[0] for X in sets] + [X[0] - X.mean(0) for X in sets]
    names = [images.classes[label] for label in pair]
    titles = [f"{n}, raw" for n in names] + [f"{n}, centred" for n in names]
    return _strip(np.array(rows), images, titles, "gray", (8, 2.4))


def _training_rows(images: Images, pair: tuple[int, int]) -> list[NDArray[np.float64]]:
    drawn = zip(pair, PAPER_ROWS, strict=True)
    return [images.draw(label, n, 0).astype(float) for label, n in drawn]


def _strip(
    rows: Any, images: Images, titles: list[str], cmap: str, size: tuple[float, float]
) -> Figure:
    figure = figure_of(*size)
    shape, ax = images.image_shape, figure.add_subplot()
    plots.plot_directions(rows, image_shape=shape, titles=titles, cmap=cmap, ax=ax)
    return figure


def _panels(study: Study, rule: str, draw: Any) -> Figure:
    pairs = PAPER_PAIRS[study.images.name]
    figure = figure_of(10, 3.2 * ((len(pairs) + 1) // 2))
    for i, (a, b) in enumerate(pairs, 1):
        ax = figure.add_subplot((len(pairs) + 1) // 2, 2, i)
        theta = study.first_draw(a, b).outcomes[rule].theta
        if theta is not None:
            draw(*theta, names=(study.images.classes[a], study.images.classes[b]), ax=ax)
    return figure


def _extremes(images: Images) -> Figure:
    frame = JointFrame.fit(*_training_rows(images, (4, 9)), preset="paper")
    r, k, _ = frame.blocks
    shared = slice(r, r + k)
    nearest = r + int(np.argmin(np.abs(frame.angles[shared] - np.pi / 4)))
    index = [r, nearest, r + k - 1]
    titles = [
        f"{word}, {np.degrees(frame.angles[i]):.1f}°"
        for word, i in zip(("most 4-like", "shared", "most 9-like"), index, strict=True)
    ]
    return _strip(frame.H[index], images, titles, "viridis", (7, 2.7))


def _matrices(study: Study, what: str, title: str) -> Figure:
    rules = [FRAME, DEFAULTS] + ([LOGISTIC] if what == "accuracy" else [COST])
    matrices = [study.matrix(rule, what) for rule in rules]
    limits = (float(np.nanmin(matrices)), float(np.nanmax(matrices)))
    figure = figure_of(6.4 * len(rules), 5.6)
    for i, (rule, matrix) in enumerate(zip(rules, matrices, strict=True), 1):
        ax = figure.add_subplot(1, len(rules), i)
        plots.plot_pair_matrix(
            study.images.classes, matrix, title=title, form=".3f" if what == "accuracy" else ".2f",
            limits=limits, ax=ax,
        )  # fmt: skip
        ax.set_title(rule)
    return figure
