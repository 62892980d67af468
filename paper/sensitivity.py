"""How much the angle depends on the choices behind it: the study that the paper recommends.

    COSPAN_DATA=/path/to/data python paper/sensitivity.py

For one pair of classes of MNIST and of Fashion-MNIST, 900 and 800 training images make the frame
and every test image of the two classes is scored; one setting at a time is changed, once from
cospan's defaults and once from the paper's settings.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cospan import sensitivity
from images import ROWS, Images, load_all
from pages import write

PAIRS = {"mnist": (4, 9), "fashion-mnist": (2, 4), "digits": (4, 9)}
PAPER = {"span": "linear", "center": "each", "balance": False, "shrinkage": 0.0}
REFERENCES = {
    "the defaults": ({}, None),
    "the paper's settings": (
        PAPER,
        {
            "shrinkage": (1e-6, 1e-4, 0.01, 0.1),
            "tol": (1e-12, 1e-6, 1e-3, 1e-2),
            "center": ("pooled", "none"),
            "balance": (True,),
            "weighting": ("frame",),
            "rows": (0.8, 0.5, 0.25),
            "noise": (0.01, 0.1, 0.3, 1.0),
        },
    ),
}


def pair_of(images: Images) -> tuple[np.ndarray, ...]:
    """Random training images of two classes, and all their test images with their labels."""
    rng, sets = np.random.default_rng(0), []
    for label, n in zip(PAIRS[images.name], ROWS, strict=True):
        found = np.flatnonzero(images.train_y == label)
        sets.append(images.train_x[rng.choice(found, min(n, len(found)), replace=False)])
    tested = np.isin(images.test_y, PAIRS[images.name])
    Z, is_b = images.test_x[tested], images.test_y[tested] == PAIRS[images.name][1]
    return *(rows.astype(float) for rows in (*sets, Z)), is_b.astype(int)


def page() -> Iterator[str]:
    """Each dataset from each reference, one after the other."""
    for images in load_all():
        A, B, Z, labels = pair_of(images)
        names = " against ".join(images.classes[k] for k in PAIRS[images.name])
        for reference, (settings, over) in REFERENCES.items():
            study = sensitivity(A, B, Z, labels=labels, over=over, **settings)
            yield f"## {images.title}, {names}; reference: {reference}\n\n```text\n{study}\n```"


if __name__ == "__main__":
    write("sensitivity", "How much the angle depends on the choices behind it", page())
