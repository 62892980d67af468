"""Two models' features of the same rows: what do they share?

Their coordinates have nothing to do with each other, so both are reduced to their main
components, brought to one size and rotated onto each other inside the directions that the frame
of both calls shared (relative Procrustes). The rotation is fitted to half of the rows and judged
on the others: whose partner is the nearest row of the other model?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._types import Floats
from cospan.embedding import embed_texts
from cospan.experiments.images import Images
from cospan.experiments.pictures import network
from cospan.model import JointFrame
from cospan.panel import linear_cka
from cospan.procrustes import relative_procrustes

DIMENSIONS = 64


@dataclass(frozen=True)
class Shared:
    """What two models' features of the same rows have in common.

    The fields that end in ``_shuffled`` are the same for rows whose partners were shuffled.
    """

    names: tuple[str, str]
    rows: int  # that were held out, and are looked up
    cka: float  # linear CKA: 1 is the same up to rotation and one factor
    cka_shuffled: float
    directions: tuple[int, int]  # of the frame: those shared, and all
    residual: float  # of relative Procrustes on the rows it was fitted to: 0 is a perfect fit
    residual_shuffled: float
    found: float  # share of the held-out rows whose partner is the nearest in the other model
    found_shuffled: float


def shared(names: tuple[str, str], X: Floats, Y: Floats, *, dimensions: int = DIMENSIONS) -> Shared:
    """Compare two models' features, row by row."""
    X, Y = (np.asarray(rows, dtype=np.float64) for rows in (X, Y))
    order = np.random.default_rng(0).permutation(len(X))
    fitted, others = order[: len(X) // 2], order[len(X) // 2 :]
    k = min(dimensions, X.shape[1], Y.shape[1], len(fitted) // 2)
    X, Y = (_main(rows, fitted, k) for rows in (X, Y))
    pairs = _aligned(X[fitted], Y[fitted], X[others], Y[others])
    shuffled = _aligned(X[fitted], np.roll(Y[fitted], 1, axis=0), X[others], Y[others])
    return Shared(
        names, len(others),
        linear_cka(X, Y), linear_cka(X, np.roll(Y[order], 1, axis=0)[np.argsort(order)]),
        pairs[0], pairs[1], shuffled[1], pairs[2], shuffled[2],
    )  # fmt: skip


def _main(rows: Floats, fitted: NDArray[np.intp], k: int) -> Floats:
    """The k main components of the rows in `fitted`, for all rows, at mean square 1."""
    from sklearn.decomposition import PCA

    found = PCA(k, random_state=0).fit(rows[fitted]).transform(rows)
    return np.asarray(found / np.sqrt(np.mean(found[fitted] ** 2)), dtype=np.float64)


def _aligned(X: Floats, Y: Floats, Z: Floats, W: Floats) -> tuple[tuple[int, int], float, float]:
    """Shared directions, residual on X and Y, and how often Z's rows find theirs in W."""
    from sklearn.preprocessing import normalize

    # Little shrinkage: much of it makes every direction look shared.
    frame = JointFrame.fit(X, Y, span="linear", center="none", shrinkage=1e-3)
    fitted = relative_procrustes(frame, X, Y, metric="feature")
    turned, target = fitted.coordinates(Z) @ fitted.rotation, fitted.coordinates(W)
    nearest = np.argmax(normalize(turned) @ normalize(target).T, axis=1)
    found = float(np.mean(nearest == np.arange(len(Z))))
    return (fitted.n_directions, frame.rank), float(fitted.residual), found


def models_of_texts(
    texts: Sequence[str], model: Any = None, *, dimensions: int = DIMENSIONS, **options: Any
) -> Shared:
    """A sentence model and word counts, on the same texts."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    learned = np.asarray(embed_texts(texts, model, **options), dtype=float)
    counts = TfidfVectorizer(min_df=2, sublinear_tf=True).fit_transform(texts)
    k = min(dimensions, counts.shape[1] - 1)
    counted = TruncatedSVD(k, random_state=0).fit_transform(counts)
    return shared(("sentence model", "word counts"), learned, counted, dimensions=dimensions)


def models_of_pictures(images: Images, *, n: int = 1_000, epochs: int = 3) -> list[Shared]:
    """Two networks that differ in their random start, and a network and the pixels."""
    classes = range(len(images.classes))
    one, other = (network(images, list(classes), epochs=epochs, seed=seed) for seed in (0, 1))
    pictures = images.test_x[np.random.default_rng(0).permutation(len(images.test_x))[:n]]
    rows = one(pictures)
    pixels = np.asarray(pictures, dtype=np.float64)
    return [
        shared((f"network, {images.title}", "network, another start"), rows, other(pictures)),
        shared((f"network, {images.title}", "pixels"), rows, pixels),
    ]
