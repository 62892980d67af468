"""MNIST, Fashion-MNIST and scikit-learn's digits as arrays.

The files are looked for in the folder given, else in the folder that the environment variable
``COSPAN_DATA`` names, else they are downloaded once into the user's cache and checked.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cospan._packages import needed
from cospan.errors import SourceError

_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


@dataclass(frozen=True)
class _Origin:
    """What a dataset is called, where it comes from, and the sha256 of its unpacked files."""

    title: str
    url: str
    classes: tuple[str, ...]
    digests: tuple[str, str, str, str]


DATASETS = {
    "mnist": _Origin(
        "MNIST",
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        tuple("0123456789"),
        (
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ),
    "fashion-mnist": _Origin(
        "Fashion-MNIST",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        (
            *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
            *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
        ),
        (
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    ),
}


@dataclass(frozen=True, eq=False)
class Images:
    """Labelled images as rows of pixels, split into training and test."""

    name: str
    title: str
    classes: tuple[str, ...]  # what the labels 0, 1, … mean
    image_shape: tuple[int, int]
    #: (n, pixels)
    train_x: NDArray[np.uint8]
    #: (n,)
    train_y: NDArray[np.integer]
    test_x: NDArray[np.uint8]
    test_y: NDArray[np.integer]

    def draw(self, label: int, n: int, draw: int) -> NDArray[np.uint8]:
        """`n` random training images of a class; two thirds of it if it has not so many."""
        rng = np.random.default_rng([draw, label])
        found = np.flatnonzero(self.train_y == label)
        size = n if n < len(found) else 2 * len(found) // 3
        return np.asarray(self.train_x[rng.choice(found, size, replace=False)])

    def test(self, label: int) -> NDArray[np.uint8]:
        """All test images of a class."""
        return np.asarray(self.test_x[self.test_y == label])


def load_images(name: str, data: str | os.PathLike[str] | None = None) -> Images:
    """A dataset by name: ``"mnist"``, ``"fashion-mnist"`` or ``"digits"``.

    "digits" are the 8×8 digits inside scikit-learn, which need no files. `data` is a folder holding
    the IDX files (gzipped or not), in a folder of the dataset's name.

    >>> digits = load_images("digits")
    >>> digits.train_x.shape, digits.image_shape
    ((1198, 64), (8, 8))
    """
    if name == "digits":
        return _digits()
    from cospan.data import read_idx

    origin = DATASETS[name]
    folder = data or os.environ.get("COSPAN_DATA")
    paths = [_local(Path(folder) / name, stem) for stem in _FILES] if folder else _fetched(name)
    train_x, train_y, test_x, test_y = map(read_idx, paths)
    return Images(
        name,
        origin.title,
        origin.classes,
        (train_x.shape[1], train_x.shape[2]),
        train_x.reshape(len(train_x), -1),
        train_y,
        test_x.reshape(len(test_x), -1),
        test_y,
    )


def _digits() -> Images:
    """Two of every three digits to train on, the third to test."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    test = np.arange(len(y)) % 3 == 2
    X = X.astype(np.uint8)
    classes = tuple("0123456789")
    return Images("digits", "Digits", classes, (8, 8), X[~test], y[~test], X[test], y[test])


def _local(folder: Path, stem: str) -> Path:
    for path in (folder / f"{stem}.gz", folder / stem):
        if path.is_file():
            return path
    raise SourceError(
        f"{folder} has no file {stem}.gz; give the folder that holds mnist/ and fashion-mnist/ "
        "with --data or in COSPAN_DATA, or leave both out to download them."
    )


def _fetched(name: str) -> list[Path]:
    """Downloaded into the cache, unpacked, and equal to what they should be."""
    with needed("Downloading", instead=", or give a folder with the files"):
        import pooch
    origin = DATASETS[name]
    paths = []
    for stem, digest in zip(_FILES, origin.digests, strict=True):
        try:
            path = pooch.retrieve(
                f"{origin.url}{stem}.gz",
                known_hash=None,  # the archive's own bytes vary by mirror; the content must not
                fname=f"{name}-{stem}.gz",
                path=pooch.os_cache("cospan"),
                processor=pooch.Decompress(name=f"{name}-{stem}"),
            )
        except (OSError, ValueError) as error:
            raise SourceError(
                f"{stem}.gz could not be downloaded from {origin.url} ({error}); give a folder "
                "with the files by --data or COSPAN_DATA."
            ) from error
        if pooch.file_hash(path, alg="sha256") != digest:
            Path(path).unlink()
            raise SourceError(f"{stem} as downloaded from {origin.url} is not {origin.title}.")
        paths.append(Path(path))
    return paths
