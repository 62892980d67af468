"""Does the angle say something sensible about texts in the space of a sentence model?

Three pairs of real corpora, embedded: leave-one-out angles against logistic regression on the same
rows, random halves of one corpus as a check, and the texts that are hardest to place.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from cospan._types import Floats
from cospan.embedding import embed_texts
from cospan.experiments.texts import CORPORA, Corpus
from cospan.frame import JointFrame
from cospan.significance import shift_test

__all__ = ["TextPair", "compare_texts", "null_p", "uniformity"]

FOLDS = 5
PERMUTATIONS = 199  # of each shift test of two random halves


@dataclass(frozen=True, eq=False)
class TextPair:
    """Two corpora in one model's space."""

    corpus: Corpus
    auc: float  # of leave-one-out angles
    logistic: float  # AUC of logistic regression, five-fold, on the same rows
    degrees: Floats  # the leave-one-out angles, A's texts first
    null_p: tuple[float, ...]  # p-values of the shift test on random halves of A's texts
    seconds: float  # for embedding both corpora, or for finding them in the cache

    @property
    def angles(self) -> tuple[Floats, Floats]:
        """The angles of A's texts and of B's, in radians."""
        theta = np.radians(self.degrees)
        return theta[: len(self.corpus.a)], theta[len(self.corpus.a) :]

    def most_ambiguous(self, n: int = 10) -> list[tuple[float, str, str]]:
        """Angle, corpus and text of the texts nearest to 45°."""
        texts = [*self.corpus.a, *self.corpus.b]
        place = np.argsort(np.abs(self.degrees - 45), kind="stable")[:n]
        first = len(self.corpus.a)
        return [(self.degrees[i], self.corpus.names[int(i >= first)], texts[i]) for i in place]


def compare_texts(
    which: str, model: Any = None, *, n: int = 1_000, halves: int = 20, **options: Any
) -> TextPair:
    """One pair of corpora, `n` texts of each; `options` go to :func:`embed_texts`."""
    corpus = CORPORA[which](n)
    start = time.perf_counter()
    rows = np.asarray(embed_texts([*corpus.a, *corpus.b], model, **options), dtype=float)
    A, B = rows[: len(corpus.a)], rows[len(corpus.a) :]
    seconds = time.perf_counter() - start
    found = JointFrame.fit(A, B, curve=None).leave_one_out(A, B)
    degrees = np.concatenate([np.asarray(side.degrees) for side in (found.a, found.b)])
    is_b = np.repeat([0, 1], [len(A), len(B)])
    logistic = _cross_validated(rows, is_b)
    return TextPair(corpus, _auc(degrees, is_b), logistic, degrees, null_p(A, halves), seconds)


def null_p(rows: Floats, halves: int) -> tuple[float, ...]:
    """p-values of the shift test on random halves of one set, where nothing differs."""
    rng = np.random.default_rng(0)
    found = []
    for seed in range(halves):
        order = rng.permutation(len(rows))
        some, others = rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]
        test = shift_test(some, others, n_permutations=PERMUTATIONS, random_state=seed)
        found.append(test.pvalue)
    return tuple(found)


def uniformity(p_values: tuple[float, ...]) -> float:
    """p-value of the Kolmogorov-Smirnov test of "these are uniform"; NaN without any."""
    return float(scipy.stats.kstest(p_values, "uniform").pvalue) if p_values else float("nan")


def _auc(scores: Floats, is_b: NDArray[Any]) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(is_b, scores))


def _cross_validated(rows: Floats, is_b: NDArray[Any]) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    # Rows of length 1 in hundreds of dimensions have small coordinates: a weaker penalty.
    model = LogisticRegression(C=10.0, class_weight="balanced", max_iter=2000)
    scores = cross_val_predict(model, rows, is_b, cv=folds, method="decision_function")
    return _auc(scores, is_b)
