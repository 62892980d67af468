"""The paper's experiments on MNIST and Fashion-MNIST, and this library's defaults beside them.

    COSPAN_DATA=/path/to/data python paper/reproduce.py [--draws 10] [--quick] [--docs]

The protocol: 900 and 800 random training images of two classes, each set centred at its own mean,
no balancing, no shrinkage (``preset="paper"``); every test image of both classes gets its angle;
histograms with 30 bins over 0° to 90°. Beside it the same rows with ``JointFrame.fit(A, B)``, whose
angles are calibrated, and scikit-learn's logistic regression.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import figures
from cospan import JointFrame, angle_histogram, fisher_rao, plots
from images import Images, load_all
from pages import OUT, table, write

PAIRS = {
    "mnist": [(0, 7), (1, 5), (3, 9), (4, 9)],
    "fashion-mnist": [(0, 7), (7, 9)],
    "digits": [(0, 7), (1, 5), (3, 9), (4, 9)],
}
PRINTED = {(0, 7): 2.773465, (1, 5): 2.731825, (3, 9): 2.665724, (4, 9): 2.336575}
FRAME, COST, DEFAULTS, LOGISTIC = RULES = (
    "paper, frame weighting",
    "paper, cost weighting",
    "our defaults",
    "logistic regression",
)


class Outcome(NamedTuple):
    """How well one rule separates the test images of a pair."""

    accuracy: float  # at 45°, or at probability ½
    auc: float
    fisher_rao: float = math.nan  # between the classes' histograms of angles, in radians
    theta: tuple[np.ndarray, ...] = ()  # the angles of both classes
    blocks: tuple[int, ...] = ()  # directions that only A has, both share, only B has


#: The rules' outcomes in every draw, by pair of classes.
Outcomes = dict[tuple[int, int], list[dict[str, Outcome]]]


def run(A: np.ndarray, B: np.ndarray, Z: np.ndarray, is_b: np.ndarray) -> dict[str, Outcome]:
    """Every rule on one draw of one pair."""
    paper = JointFrame.fit(A, B, preset="paper")
    ours = JointFrame.fit(A, B, curve=None)  # means and covariances, as the paper
    white = max(A.max(), B.max())
    model = LogisticRegression(max_iter=1000)
    model.fit(np.concatenate((A, B)) / white, np.repeat([0, 1], [len(A), len(B)]))
    score = model.decision_function(Z / white)
    return {
        FRAME: _by_angle(paper, Z, is_b, weighting="frame"),
        COST: _by_angle(paper, Z, is_b, weighting="cost"),
        DEFAULTS: _by_angle(ours, Z, is_b),
        LOGISTIC: Outcome(np.mean((score > 0) == is_b), roc_auc_score(is_b, score)),
    }


def _by_angle(frame: JointFrame, Z: np.ndarray, is_b: np.ndarray, **how: str) -> Outcome:
    theta = frame.align(Z, **how).theta
    classes = theta[is_b == 0], theta[is_b == 1]
    distance = fisher_rao(*map(angle_histogram, classes))
    accuracy = np.mean((theta > math.pi / 4) == is_b)
    return Outcome(accuracy, roc_auc_score(is_b, theta), distance, classes, frame.blocks)


def study(images: Images, draws: int, quick: bool = False) -> Outcomes:
    """The paper's pairs in every draw and, unless it is to be quick, every other pair in one."""
    chosen = PAIRS[images.name]
    others = [] if quick else itertools.combinations(range(len(images.classes)), 2)
    plan = {(*pair, draw): pair for pair in chosen for draw in range(draws)}
    plan |= {(*pair, 0): pair for pair in others}
    found = joblib.Parallel(n_jobs=-1, max_nbytes=None)(  # on all cores, one thread on each
        joblib.delayed(run)(*images.pair(*one)) for one in plan
    )
    outcomes: Outcomes = {}
    for pair, one in zip(plan.values(), found, strict=True):
        outcomes.setdefault(pair, []).append(one)
    return outcomes


def distances(images: Images, outcomes: Outcomes) -> str:
    """Fisher-Rao distances beside the printed ones, and how many standard deviations apart."""
    rows = []
    for pair in PAIRS[images.name]:
        printed = PRINTED[pair] if images.name == "mnist" else None
        cells = [_names(images, pair), f"{printed:.3f}" if printed else "—"]
        for rule in (FRAME, COST, DEFAULTS):
            values = [one[rule].fisher_rao for one in outcomes[pair]]
            mean, sd = np.mean(values), np.std(values, ddof=1)
            cells.append(f"{mean:.3f} ± {sd:.3f}")
            if rule != DEFAULTS:
                cells.append(f"{abs(mean - printed) / sd:.1f}" if printed else "—")
        rows.append([*cells, " + ".join(map(str, outcomes[pair][0][FRAME].blocks))])
    draws = len(outcomes[PAIRS[images.name][0]])
    title = f"{images.title}: Fisher-Rao distance in radians, {draws} draws (mean ± sd)"
    head = ("pair", "printed", FRAME, "sd apart", COST, "sd apart", DEFAULTS)
    return table(title, (*head, "only A + shared + only B"), rows)


def quality(images: Images, outcomes: Outcomes) -> str:
    """Accuracy and AUC of each rule: the paper's pairs over the draws, every pair in the first."""
    groups = {_names(images, pair): outcomes[pair] for pair in PAIRS[images.name]}
    groups[f"{len(outcomes)} pairs, one draw"] = [draws[0] for draws in outcomes.values()]
    rows = [
        (
            name,
            rule,
            f"{np.mean([one[rule].accuracy for one in group]):.4f}",
            f"{np.mean([one[rule].auc for one in group]):.4f}",
        )
        for name, group in groups.items()
        for rule in RULES
    ]
    return table(f"{images.title}: test images", ("pair", "rule", "accuracy", "AUC"), rows)


def _names(images: Images, pair: tuple[int, int]) -> str:
    return ", ".join(images.classes[k] for k in pair)


def draw_figures(images: Images, outcomes: Outcomes) -> Iterator[tuple[str, str, figures.Figure]]:
    """Name, caption and figure, one after the other; angles are those of the first draw."""
    name, pairs = images.name, PAIRS[images.name]
    caption = "samples, raw and less the mean of their class."
    yield f"samples-{name}", caption, figures.samples(images, pairs[name != "fashion-mnist"])
    for rule, short in ((FRAME, "frame"), (COST, "cost"), (DEFAULTS, "defaults")):
        angles = {pair: outcomes[pair][0][rule].theta for pair in pairs}
        figure = figures.panels(images, angles, plots.plot_angles)
        yield f"angles-{name}-{short}", f"angles of the test images, {rule}.", figure
        if rule == FRAME:
            caption = "posterior of the classes in each bin of angles; translucent bins are empty."
            figure = figures.panels(images, angles, figures.posterior)
            yield f"posteriors-{name}", caption, figure
    if (4, 9) in pairs:
        caption = "directions of the frame of 4 and 9, from the block that both share."
        yield f"extremes-{name}", caption, figures.extremes(images)


def page(draws: int, quick: bool, docs: bool = False, folder: Path = OUT) -> Iterator[str]:
    """The parts of the page, one after the other."""
    start = time.perf_counter()
    for images in load_all():
        outcomes = study(images, draws, quick)
        yield distances(images, outcomes)
        yield quality(images, outcomes)
        for name, caption, figure in draw_figures(images, outcomes):
            yield figures.save(figure, name, f"{images.title}: {caption}", folder, docs)
    yield f"{draws} draws, {time.perf_counter() - start:.0f} seconds."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10, help="random draws of training images")
    parser.add_argument("--quick", action="store_true", help="only the paper's pairs")
    parser.add_argument("--docs", action="store_true", help="renew the figures in docs/images")
    given = parser.parse_args()
    parts = page(given.draws, given.quick, given.docs)
    write("reproduction", "The paper's experiments, reproduced", parts)


if __name__ == "__main__":
    main()
