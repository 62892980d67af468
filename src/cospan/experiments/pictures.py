"""Pictures in pixels, and in the features of a small network that never saw their classes.

The network learns to tell the other eight classes apart; what it makes of the two that are
compared is what learned features are in practice: made for something else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._packages import needed
from cospan._types import Floats
from cospan.distribution import rank_auc
from cospan.experiments.embeddings import null_p
from cospan.experiments.images import Images
from cospan.model import JointFrame

Features = Callable[[NDArray[Any]], Floats]

#: The pairs of classes that are hardest in pixels, as far as we have seen.
PAIRS = {
    "mnist": ((4, 9), (3, 5), (7, 9)),
    "fashion-mnist": ((2, 4), (0, 6), (5, 7)),
    "digits": ((8, 9), (3, 8)),
}
ROWS = 900  # training pictures of each class, as in the paper
LEARNED = 1_500  # pictures of each other class that the network learns from


@dataclass(frozen=True, eq=False)
class Separated:
    """How well test pictures are separated in one space."""

    angle: float  # Test AUC of the angles, and of logistic regression on the same rows
    logistic: float
    theta: tuple[Floats, Floats]  # the angles of the test pictures of both classes
    null_p: tuple[float, ...]  # p-values of the shift test on random halves of the first class


@dataclass(frozen=True, eq=False)
class PicturePair:
    """Two classes of pictures in pixels and in features."""

    images: Images
    classes: tuple[int, int]
    pixels: Separated
    features: Separated

    @property
    def names(self) -> tuple[str, str]:
        a, b = self.classes
        return self.images.classes[a], self.images.classes[b]


def compare_pictures(
    images: Images, pair: tuple[int, int], *, n: int = ROWS, epochs: int = 3, halves: int = 0
) -> PicturePair:
    """Angles of test pictures in pixels and in features that were learned on other classes."""
    others = [k for k in range(len(images.classes)) if k not in pair]
    learned = network(images, others, epochs=epochs)
    train = [images.draw(k, n, 0) for k in pair]
    test = [images.test(k) for k in pair]
    pixels, features = (
        _separated([space(x) for x in train], [space(x) for x in test], halves)
        for space in (lambda x: x.reshape(len(x), -1).astype(np.float64), learned)
    )
    return PicturePair(images, pair, pixels, features)


def _separated(train: Sequence[Floats], test: Sequence[Floats], halves: int) -> Separated:
    from sklearn.linear_model import LogisticRegression

    rows, is_b = np.vstack(test), np.repeat([0, 1], [len(x) for x in test])
    theta = np.asarray(JointFrame.fit(*train, curve=None).align(rows).theta)
    # One unit for all columns, which the penalty of the regression needs; none for the angle.
    scale = float(np.sqrt(np.vstack(train).var(axis=0).mean())) or 1.0
    model = LogisticRegression(max_iter=1000)
    model.fit(np.vstack(train) / scale, np.repeat([0, 1], [len(x) for x in train]))
    angles, scores = (
        (one[is_b == 0], one[is_b == 1]) for one in (theta, model.decision_function(rows / scale))
    )
    return Separated(
        rank_auc(*angles),
        rank_auc(*scores),
        angles,
        null_p(train[0], halves),
    )


def network(
    images: Images, classes: Sequence[int], *, epochs: int = 3, n: int = LEARNED, seed: int = 0
) -> Features:
    """Two convolutions and 64 features, trained to tell these classes apart."""
    with needed("The small network", "cospan[embed]"):
        import torch
        from torch import nn

    pictures = [images.draw(k, n, 0) for k in classes]
    white = float(images.train_x.max())
    x = _tensor(np.concatenate(pictures) / white, images.image_shape)
    y = torch.from_numpy(np.repeat(np.arange(len(classes)), [len(some) for some in pictures]))
    # A generator of its own: torch's global one stays as the user left it.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        body = _body(images.image_shape)
        head = nn.Linear(64, len(classes))
        optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=1e-3)
        for _ in range(epochs):
            for index in torch.randperm(len(x)).split(128):
                loss = nn.functional.cross_entropy(head(body(x[index])), y[index])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    def features(pictures: NDArray[Any]) -> Floats:
        with torch.inference_mode():
            parts = _tensor(pictures / white, images.image_shape).split(2048)
            made = torch.cat([body(part) for part in parts]).numpy()
        return np.asarray(made, dtype=np.float64)

    return features


def _body(shape: tuple[int, int]) -> Any:
    from torch import nn

    height, width = ((side + 3) // 4 for side in shape)  # two strides of 2, rounded up
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU(),
        nn.Conv2d(16, 32, 5, stride=2, padding=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(32 * height * width, 64), nn.ReLU(),
    )  # fmt: skip


def _tensor(pictures: NDArray[Any], shape: tuple[int, int]) -> Any:
    import torch

    return torch.from_numpy(np.asarray(pictures, dtype=np.float32).reshape(-1, 1, *shape))
