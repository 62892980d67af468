"""The study of docs/sensitivity.md: how θ reacts to the choices behind it, on two image sets.

    COSPAN_DATA=/path/to/data python benchmarks/bench_sensitivity.py [--markdown] [--only 1]

The folder holds mnist/ and fashion-mnist/ with the original IDX files. For one pair of classes of
each, 900 and 800 training images make the frame and every test image of the two classes is
scored; once with cospan's defaults as the reference, once with the paper's settings.
"""

import argparse
import gzip
import os
import sys
import time
from pathlib import Path

import numpy as np

from cospan import sensitivity
from cospan.studies import STUDY

PAIRS = {
    "MNIST, 4 against 9": ("mnist", 4, 9),
    "Fashion-MNIST, pullover against coat": ("fashion-mnist", 2, 4),
}
PAPER = {"span": "linear", "center": "each", "balance": False, "shrinkage": 0.0}
REFERENCES = {
    "cospan's defaults": ({}, {k: v for k, v in STUDY.items() if k != "tol"}),
    "the paper's settings": (
        PAPER,
        {
            "shrinkage": (1e-6, 1e-4, 0.01, 0.1),
            "tol": (1e-12, 1e-6, 1e-3, 1e-2),
            "center": ("pooled", "none"),
            "balance": (True,),
            "weighting": ("frame",),
            "span": ("affine",),
            "rows": (0.8, 0.5, 0.25),
            "noise": (0.01, 0.1, 0.3, 1.0),
            "training_noise": (0.01, 0.1, 0.3),
        },
    ),
}
HEAD = ("setting", "α", "mean change", "95 %", "flips", "rank corr.", "F-R change", "F-R", "AUC")


def read_idx(path):
    with gzip.open(path) as stream:
        raw = stream.read()
    dimensions = raw[3]
    shape = np.frombuffer(raw, ">i4", dimensions, offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def load(folder, first, second):
    """900 and 800 random training images, and all test images with their labels."""
    images, labels = (
        {split: read_idx(folder / f"{split}-{kind}-ubyte.gz") for split in ("train", "t10k")}
        for kind in ("images-idx3", "labels-idx1")
    )
    rows = {split: images[split].reshape(len(images[split]), -1).astype(float) for split in images}
    rng = np.random.default_rng(0)
    A, B = (
        rows["train"][rng.choice(np.flatnonzero(labels["train"] == label), n, replace=False)]
        for label, n in ((first, 900), (second, 800))
    )
    chosen = np.isin(labels["t10k"], (first, second))
    return A, B, rows["t10k"][chosen], (labels["t10k"][chosen] == second).astype(int)


def markdown(study):
    """The study as a table for the documentation."""
    lines = ["| " + " | ".join(HEAD) + " |", "|---|" + "---:|" * (len(HEAD) - 1)]
    for line in str(study).splitlines()[1:]:
        cells = [cell.strip() for cell in line.split("  ") if cell.strip()]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--markdown", action="store_true", help="tables for the documentation")
    parser.add_argument("--only", type=int, choices=range(1, 5), help="one of the four studies")
    options = parser.parse_args()
    root = os.environ.get("COSPAN_DATA")
    if not root:
        sys.exit("Set COSPAN_DATA to the folder that holds mnist/ and fashion-mnist/.")
    studies = [(title, reference) for title in PAIRS for reference in REFERENCES]
    for number, (title, reference) in enumerate(studies, start=1):
        if options.only in (None, number):
            name, first, second = PAIRS[title]
            A, B, Z, labels = load(Path(root) / name, first, second)
            settings, over = REFERENCES[reference]
            start = time.perf_counter()
            study = sensitivity(A, B, Z, labels=labels, over=over, **settings)
            print(f"\n{title}; reference: {reference} ({time.perf_counter() - start:.0f} s)\n")
            print(markdown(study) if options.markdown else study, flush=True)


if __name__ == "__main__":
    main()
