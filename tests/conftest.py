"""Fixtures that several test files share."""

import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits


@dataclass(frozen=True)
class ImageSet:
    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray

    def draw(self, digit, n, seed):
        """n random training images of one class, as float64 rows."""
        rng = np.random.default_rng([seed, digit])
        index = rng.choice(np.flatnonzero(self.train_y == digit), n, replace=False)
        return self.train_x[index].astype(float)

    def test_images(self, digit):
        return self.test_x[self.test_y == digit].astype(float)


def _read_idx(path):
    with gzip.open(path) as stream:
        raw = stream.read()
    dimensions = raw[3]
    shape = np.frombuffer(raw, ">i4", dimensions, offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def _load(name):
    root = os.environ.get("COSPAN_DATA")
    if not root or not (Path(root) / name).is_dir():
        pytest.skip(f"needs the {name} files: set COSPAN_DATA to the folder that holds {name}/")
    folder = Path(root) / name
    parts = {}
    for split, stem in (("train", "train"), ("test", "t10k")):
        images = _read_idx(folder / f"{stem}-images-idx3-ubyte.gz")
        parts[f"{split}_x"] = images.reshape(len(images), -1)
        parts[f"{split}_y"] = _read_idx(folder / f"{stem}-labels-idx1-ubyte.gz")
    return ImageSet(**parts)


@pytest.fixture(scope="session")
def mnist():
    return _load("mnist")


@pytest.fixture(scope="session")
def fashion():
    return _load("fashion-mnist")


@pytest.fixture(scope="session")
def digits_pair():
    """scikit-learn's own 8x8 digits, 4 and 9, as float64 rows."""
    X, y = load_digits(return_X_y=True)
    return X[y == 4], X[y == 9]
