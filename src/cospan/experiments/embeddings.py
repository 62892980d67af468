"""Does the angle say something sensible in the space of learned features?

(a) Texts: three pairs of real corpora, embedded; the angle against logistic regression on the
same rows, random halves as a check, and the texts that are hardest to place. (b) Pictures: the
same pairs in pixels and in the features of a small network that never saw these classes.
(c) Two models' features of the same rows: linear CKA and relative Procrustes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._types import Floats
from cospan.embedding import embed_texts
from cospan.experiments.images import Images
from cospan.experiments.texts import CORPORA, Corpus
from cospan.frame import JointFrame
from cospan.panel import linear_cka
from cospan.procrustes import relative_procrustes
from cospan.significance import shift_test

__all__ = ["PicturePair", "TextPair", "compare_pictures", "compare_texts", "two_models"]

FOLDS = 5


@dataclass(frozen=True)
class TextPair:
    """Two corpora in one model's space."""

    corpus: Corpus
    auc: float  # of leave-one-out angles
    logistic: float  # AUC of logistic regression, five-fold, on the same rows
    degrees: Floats  # the leave-one-out angles, A's texts first
    null_p: tuple[float, ...]  # p-values of the shift test on random halves of A's texts
    seconds: float  # for embedding both corpora, or for finding them in the cache

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
    A, B = (np.asarray(embed_texts(t, model, **options), float) for t in (corpus.a, corpus.b))
    seconds = time.perf_counter() - start
    found = JointFrame.fit(A, B).leave_one_out(A, B)
    degrees = np.concatenate([np.asarray(side.degrees) for side in (found.a, found.b)])
    is_b = np.repeat([0, 1], [len(A), len(B)])
    logistic = _cross_validated(np.vstack([A, B]), is_b)
    return TextPair(corpus, _auc(degrees, is_b), logistic, degrees, _null(A, halves), seconds)


def _null(rows: Floats, halves: int) -> tuple[float, ...]:
    rng = np.random.default_rng(0)
    found = []
    for seed in range(halves):
        order = rng.permutation(len(rows))
        some, others = rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]
        test = shift_test(some, others, n_permutations=199, random_state=seed)
        found.append(test.pvalue)
    return tuple(found)


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


@dataclass(frozen=True)
class PicturePair:
    """Two classes of pictures: test AUC in pixels and in a network's features."""

    classes: tuple[int, int]
    pixels: float
    features: float


def compare_pictures(
    images: Images, pairs: Sequence[tuple[int, int]], *, n: int = 900, epochs: int = 3
) -> list[PicturePair]:
    """Angles of test pictures in pixels and in features that were learned on other classes."""
    found = []
    for pair in pairs:
        features = _network([k for k in range(10) if k not in pair], images, epochs)
        pixels = _flat(images.train_x), _flat(images.test_x)
        found.append(
            PicturePair(
                pair,
                _test_auc(*pixels, images, pair, n),
                _test_auc(features(images.train_x), features(images.test_x), images, pair, n),
            )
        )
    return found


def _test_auc(train: Floats, test: Floats, images: Images, pair: tuple[int, int], n: int) -> float:
    rng = np.random.default_rng(0)
    rows = [train[rng.permutation(np.flatnonzero(images.train_y == k))[:n]] for k in pair]
    asked = np.isin(images.test_y, pair)
    degrees = np.asarray(JointFrame.fit(*rows).align(test[asked]).degrees)
    return _auc(degrees, np.asarray(images.test_y[asked] == pair[1], dtype=int))


def _flat(pictures: NDArray[Any]) -> Floats:
    return np.asarray(pictures, dtype=np.float64).reshape(len(pictures), -1)


def _network(classes: list[int], images: Images, epochs: int) -> Callable[[NDArray[Any]], Floats]:
    """Two convolutions and 64 features, trained to tell other classes apart."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Sequential(
        nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU(),
        nn.Conv2d(16, 32, 5, stride=2, padding=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 64), nn.ReLU(),
    )  # fmt: skip
    head = nn.Linear(64, len(classes))
    keep = np.isin(images.train_y, classes)
    x = _picture_tensor(images.train_x[keep])
    y = torch.from_numpy(np.searchsorted(classes, images.train_y[keep]))
    optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=1e-3)
    for _ in range(epochs):
        for index in torch.randperm(len(x)).split(128):
            loss = nn.functional.cross_entropy(head(body(x[index])), y[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def features(pictures: NDArray[Any]) -> Floats:
        with torch.inference_mode():
            made = [body(part) for part in _picture_tensor(pictures).split(4096)]
        return np.asarray(torch.cat(made).numpy(), dtype=np.float64)

    return features


def _picture_tensor(pictures: NDArray[Any]) -> Any:
    import torch

    side = round(float(np.sqrt(np.prod(pictures.shape[1:]))))
    scaled = np.asarray(pictures, dtype=np.float32).reshape(-1, 1, side, side) / 255
    return torch.from_numpy(scaled)


def two_models(
    texts: Sequence[str], model: Any = None, *, dimensions: int = 64, **options: Any
) -> dict[str, float]:
    """A sentence model and word counts, on the same texts: what do they share?"""
    from sklearn.decomposition import PCA, TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    learned = np.asarray(embed_texts(texts, model, **options), dtype=float)
    counts = TfidfVectorizer(min_df=2, sublinear_tf=True).fit_transform(texts)
    k = min(dimensions, learned.shape[1], counts.shape[1] - 1)
    counted = TruncatedSVD(k, random_state=0).fit_transform(counts)
    main = PCA(k, random_state=0).fit_transform(learned)
    shuffled = np.random.default_rng(0).permutation(counted)
    found = {
        "linear CKA": linear_cka(main, counted),
        "linear CKA, texts in another order": linear_cka(main, shuffled),
    }
    for name, other in (("", counted), (", texts in another order", shuffled)):
        X, Y = (rows / np.sqrt(np.mean(rows**2)) for rows in (main, other))
        fitted = relative_procrustes(JointFrame.fit(X, Y), X, Y)
        found[f"relative Procrustes residual{name}"] = float(fitted.residual)
    return found
