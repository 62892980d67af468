"""All pairs and draws, run in parallel and gathered into tables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import joblib
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from cospan.experiments.images import Images
from cospan.experiments.protocol import PairDraw, Task, run

PAPER_PAIRS = {
    "mnist": ((1, 5), (0, 7), (4, 9), (3, 9)),
    "fashion-mnist": ((0, 7), (7, 9)),
    "digits": ((1, 5), (0, 7), (4, 9), (3, 9)),
}
# The printed Fisher-Rao distances (the paper's table for MNIST).
PAPER_TABLE = {(0, 7): 2.773465, (1, 5): 2.731825, (3, 9): 2.665724, (4, 9): 2.336575}

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Row:
    """A pair under one rule, over the draws: means and standard deviations."""

    a: int
    b: int
    rule: str
    accuracy: float
    f1: float
    auc: float
    fisher_rao: float
    fisher_rao_sd: float
    draws: int


@dataclass(frozen=True, eq=False)
class Study:
    """Everything that was run on one dataset."""

    images: Images
    pairs: tuple[PairDraw, ...]  # the paper's pairs, every draw
    every_pair: tuple[PairDraw, ...]  # one draw of every pair of classes (fewer in a quick run)

    def first_draw(self, a: int, b: int) -> PairDraw:
        return next(x for x in self.pairs if (x.a, x.b, x.draw) == (a, b, 0))

    def rows(self, rule: str) -> list[Row]:
        """The paper's pairs under one rule, in the order of the paper's figures."""
        return [_row(list(group), rule) for group in self._by_pair()]

    def cka(self) -> dict[tuple[int, int], float]:
        """Mean linear CKA of each of the paper's pairs."""
        return {
            (group[0].a, group[0].b): float(np.mean([x.cka for x in group]))
            for group in self._by_pair()
        }

    def matrix(self, rule: str, what: str) -> NDArray[np.float64]:
        """One number for every pair of classes; NaN where none was run."""
        size = len(self.images.classes)
        found = np.full((size, size), np.nan)
        for x in self.every_pair:
            found[x.a, x.b] = found[x.b, x.a] = getattr(x.outcomes[rule], what)
        return found

    def mean(self, rule: str, what: str) -> float:
        """Mean over every pair of classes."""
        return float(np.mean([getattr(x.outcomes[rule], what) for x in self.every_pair]))

    def _by_pair(self) -> list[list[PairDraw]]:
        return [
            [x for x in self.pairs if (x.a, x.b) == pair] for pair in PAPER_PAIRS[self.images.name]
        ]


def _row(group: Sequence[PairDraw], rule: str) -> Row:
    outcomes = [x.outcomes[rule] for x in group]

    def mean(what: str) -> float:
        return float(np.mean([getattr(outcome, what) for outcome in outcomes]))

    spread = [outcome.fisher_rao for outcome in outcomes]
    sd = float(np.std(spread, ddof=1)) if len(spread) > 1 else float("nan")
    a, b = group[0].a, group[0].b
    return Row(
        a, b, rule, mean("accuracy"), mean("f1"), mean("auc"), mean("fisher_rao"), sd, len(group)
    )


def z_score(row: Row) -> float:
    """How many standard deviations of a draw the printed value lies from our mean."""
    return abs(row.fisher_rao - PAPER_TABLE[row.a, row.b]) / row.fisher_rao_sd


def gather(
    sets: Sequence[Images], *, draws: int, quick: bool, progress: Progress | None
) -> list[Study]:
    """Run the paper's pairs `draws` times and every pair once, on all cores."""
    plans = {images.name: _plan(images, draws, quick) for images in sets}
    tasks = [
        Task.of(images, a, b, draw)
        for images in sets
        for a, b, draw in dict.fromkeys(itertools.chain(*plans[images.name]))
    ]
    done: dict[tuple[str, int, int, int], PairDraw] = {}
    results = joblib.Parallel(n_jobs=-1, return_as="generator_unordered")(
        joblib.delayed(_single_threaded)(task) for task in tasks
    )
    for count, result in enumerate(results, 1):
        done[result.dataset, result.a, result.b, result.draw] = result
        if progress is not None:
            progress("Pairs and draws", count, len(tasks))
    studies = []
    for images in sets:
        paper, once = plans[images.name]
        found = [tuple(done[images.name, *key] for key in plan) for plan in (paper, once)]
        studies.append(Study(images, *found))
    return studies


def _single_threaded(task: Task) -> PairDraw:
    """One task on one core: the others run tasks of their own."""
    with threadpool_limits(1):
        return run(task)


def _plan(
    images: Images, draws: int, quick: bool
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]:
    """(a, b, draw) of the paper's pairs with every draw, and of every pair with one."""
    chosen = PAPER_PAIRS[images.name]
    paper = [(a, b, draw) for a, b in chosen for draw in range(draws)]
    every = itertools.combinations(range(len(images.classes)), 2)
    once = [(a, b, 0) for a, b in (chosen if quick else every)]
    return paper, once
