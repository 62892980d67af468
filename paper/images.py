"""MNIST, Fashion-MNIST and scikit-learn's digits as rows of pixels, split into training and test.

``COSPAN_DATA`` names a folder that holds ``mnist/`` and ``fashion-mnist/`` with the original IDX
files, gzipped.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from cospan.errors import SourceError

ROWS = (900, 800)  # the paper's training images of the first and of the second class
DIGITS = tuple("0123456789")
CLOTHES = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)
WHERE = (
    "Download the four files of MNIST (ossci-datasets.s3.amazonaws.com/mnist) and of Fashion-MNIST "
    "(github.com/zalandoresearch/fashion-mnist) into FOLDER/mnist and FOLDER/fashion-mnist, and "
    "set COSPAN_DATA=FOLDER."
)


class Images(NamedTuple):
    """Labelled images; `classes` says what the labels 0, 1, … mean."""

    name: str
    title: str
    classes: tuple[str, ...]
    image_shape: tuple[int, int]
    train_x: np.ndarray  # (n, pixels)
    train_y: np.ndarray  # (n,)
    test_x: np.ndarray
    test_y: np.ndarray

    def draw(self, label: int, n: int, draw: int) -> np.ndarray:
        """`n` random training images of a class; two thirds of it if it has not so many."""
        rng = np.random.default_rng([draw, label])
        found = np.flatnonzero(self.train_y == label)
        size = n if n < len(found) else 2 * len(found) // 3
        return self.train_x[rng.choice(found, size, replace=False)]

    def test(self, label: int) -> np.ndarray:
        """All test images of a class."""
        return self.test_x[self.test_y == label]

    def pair(self, a: int, b: int, draw: int) -> tuple[np.ndarray, ...]:
        """The paper's rows A and B of two classes, all their test images, and which are of b."""
        A, B = (self.draw(k, n, draw).astype(float) for k, n in zip((a, b), ROWS, strict=True))
        tests = self.test(a), self.test(b)
        return A, B, np.concatenate(tests).astype(float), np.repeat([0, 1], [*map(len, tests)])


def load_images(name: str) -> Images:
    """A dataset by name: ``"mnist"``, ``"fashion-mnist"`` or ``"digits"``."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        test = np.arange(len(y)) % 3 == 2
        return Images("digits", "Digits", DIGITS, (8, 8), X[~test], y[~test], X[test], y[test])
    if not os.environ.get("COSPAN_DATA"):
        raise SourceError(f"COSPAN_DATA is not set. {WHERE}")
    folder = Path(os.environ["COSPAN_DATA"]) / name
    train_x, train_y, test_x, test_y = (
        read_idx(folder / f"{split}-{kind}-ubyte.gz")
        for split in ("train", "t10k")
        for kind in ("images-idx3", "labels-idx1")
    )
    title, classes = ("MNIST", DIGITS) if name == "mnist" else ("Fashion-MNIST", CLOTHES)
    train, test = (x.reshape(len(x), -1) for x in (train_x, test_x))
    return Images(name, title, classes, train_x.shape[1:], train, train_y, test, test_y)


def load_all() -> list[Images]:
    """MNIST and Fashion-MNIST, or scikit-learn's digits where their files are not here."""
    if not os.environ.get("COSPAN_DATA"):
        print(f"COSPAN_DATA is not set: scikit-learn's digits take the place of MNIST. {WHERE}\n")
        return [load_images("digits")]
    try:
        return [load_images("mnist"), load_images("fashion-mnist")]
    except SourceError as error:
        raise SystemExit(str(error)) from None


def read_idx(path: Path) -> np.ndarray:
    """An IDX file of bytes: two zeros, a type, the number of dimensions, their sizes, the data."""
    if not path.is_file():
        raise SourceError(f"{path} is not there. {WHERE}")
    raw = gzip.decompress(path.read_bytes())
    shape = np.frombuffer(raw, ">i4", raw[3], offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)
