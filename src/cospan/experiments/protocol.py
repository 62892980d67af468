"""One draw of one pair of classes, under every rule.

The paper's protocol: 900 and 800 random training images, each set centred at its own mean, test
images as they are, no balancing, no shrinkage (``preset="paper"``); all test images of both
classes; 30 bins. Beside it the frame as it comes, whose angles are calibrated: there sin²θ is a
probability and the distance needs no bins.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score

from cospan.decomposition import Blocks
from cospan.distribution import angle_histogram, fisher_rao, rank_auc, smooth_distances
from cospan.experiments.images import Images
from cospan.model import JointFrame
from cospan.panel import linear_cka

PAPER_ROWS = (900, 800)
FRAME, COST, DEFAULTS, LOGISTIC = RULES = (
    "paper, frame weighting",
    "paper, cost weighting",
    "our defaults",
    "logistic regression",
)


class Task(NamedTuple):
    """A pair of classes, its training rows of one draw, and its test rows."""

    dataset: str
    a: int
    b: int
    draw: int
    train: tuple[NDArray[np.uint8], NDArray[np.uint8]]
    test: tuple[NDArray[np.uint8], NDArray[np.uint8]]

    @classmethod
    def of(cls, images: Images, a: int, b: int, draw: int) -> Task:
        p, q = PAPER_ROWS
        train = (images.draw(a, p, draw), images.draw(b, q, draw))
        return cls(images.name, a, b, draw, train, (images.test(a), images.test(b)))


@dataclass(frozen=True)
class Outcome:
    """How well one rule tells the test images of a pair apart."""

    #: At 45° (or probability ½); F1 is the mean over both classes
    accuracy: float
    f1: float
    auc: float
    #: In radians: distance of the two θ histograms for the paper's rules, of the calibrated angles
    #: themselves for ours; NaN for a rule without angles
    fisher_rao: float
    theta: tuple[NDArray[np.floating], NDArray[np.floating]] | None  # the test images' angles


@dataclass(frozen=True)
class PairDraw:
    """What came out of one task: an outcome for each rule, and facts about the pair.

    `shrinkage` is what our defaults chose; `blocks` are the directions that only A has, both
    share, and only B has under the paper's rule.
    """

    dataset: str
    a: int
    b: int
    draw: int
    outcomes: dict[str, Outcome]
    cka: float
    shrinkage: float
    blocks: Blocks


def run(task: Task) -> PairDraw:
    """Every rule on one draw of one pair."""
    A, B = (rows.astype(np.float64) for rows in task.train)
    Z = np.concatenate(task.test).astype(np.float64)
    sizes = [len(rows) for rows in task.test]
    label = np.repeat([0, 1], sizes)
    paper = JointFrame.fit(A, B, preset="paper")
    ours = JointFrame.fit(A, B, curve=None)  # means and covariances, as the paper
    outcomes = {
        FRAME: _judged(np.asarray(paper.align(Z, weighting="frame").theta), label, _binned),
        COST: _judged(np.asarray(paper.align(Z, weighting="cost").theta), label, _binned),
        DEFAULTS: _judged(
            np.asarray(ours.align(Z).theta), label, lambda a, b: smooth_distances(a, b).fisher_rao
        ),
        LOGISTIC: _logistic(A, B, Z, label),
    }
    # CKA compares representations of the same objects: here of pixels, by their values over A's
    # rows and over B's.
    cka = linear_cka((A - A.mean(0)).T, (B - B.mean(0)).T)
    return PairDraw(
        task.dataset, task.a, task.b, task.draw, outcomes, cka, ours.shrinkage, paper.blocks
    )


def _judged(
    theta: NDArray[np.floating],
    label: NDArray[np.integer],
    distance: Callable[[NDArray[np.floating], NDArray[np.floating]], float],
) -> Outcome:
    pair = theta[label == 0], theta[label == 1]
    return _scored(theta > math.pi / 4, theta, label, distance(*pair), pair)


def _binned(theta_a: NDArray[np.floating], theta_b: NDArray[np.floating]) -> float:
    return fisher_rao(angle_histogram(theta_a), angle_histogram(theta_b))


def _logistic(
    A: NDArray[np.floating],
    B: NDArray[np.floating],
    Z: NDArray[np.floating],
    label: NDArray[np.integer],
) -> Outcome:
    """scikit-learn's logistic regression as it comes, on the same rows scaled to [0, 1]."""
    scale = max(A.max(), B.max())
    model = LogisticRegression(max_iter=1000)
    model.fit(np.concatenate((A, B)) / scale, np.repeat([0, 1], [len(A), len(B)]))
    score = model.decision_function(Z / scale)
    return _scored(score > 0, score, label, math.nan, None)


def _scored(
    predicted: NDArray[np.bool_],
    score: NDArray[np.floating],
    label: NDArray[np.integer],
    distance: float,
    theta: tuple[NDArray[np.floating], NDArray[np.floating]] | None,
) -> Outcome:
    return Outcome(
        accuracy=float(accuracy_score(label, predicted)),
        f1=float(f1_score(label, predicted, average="macro")),
        auc=rank_auc(score[label == 0], score[label == 1]),
        fisher_rao=distance,
        theta=theta,
    )
