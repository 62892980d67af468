"""Accuracy and scoring time against the share of directions kept: MNIST 4 against 9.

    make bench                                 all benchmarks
    python benchmarks/bench_truncation.py      this one, some minutes
    python benchmarks/bench_truncation.py 1    one draw only

900 random training images of a 4 and 800 of a 9, every test image of both (1,991); means over 5
draws. Each frame is cut with `frame.truncate(n=...)` to the directions with the largest part in the
difference (under the paper's settings: furthest from 45°). "The rest" are the directions that were
dropped, scored alone. COSPAN_DATA names the folder that holds
mnist/; without it scikit-learn's small digits stand in.

Also: how fast `attribute` is, beside `align`.
"""

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from cospan import JointFrame, attribute
from cospan.data.arrays import read_idx

DRAWS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
SHARES = (1.0, 0.75, 0.5, 0.25, 0.1, 0.05, 0.02)
SETTINGS = {
    "the defaults": {},
    "the paper's settings": {"preset": "paper"},
}


def load():
    """Training rows of a 4 and of a 9, test rows, and whether each is a 9."""
    root = os.environ.get("COSPAN_DATA")
    if root is None:
        print("COSPAN_DATA is not set: scikit-learn's digits instead of MNIST")
        X, y = load_digits(return_X_y=True)
        held = np.arange(len(y)) % 2 == 1
        train_x, train_y, test_x, test_y = X[~held], y[~held], X[held], y[held]
    else:
        folder = Path(root) / "mnist"
        train_x, train_y, test_x, test_y = (
            read_idx(folder / f"{stem}-ubyte.gz")
            for stem in (
                "train-images-idx3",
                "train-labels-idx1",
                "t10k-images-idx3",
                "t10k-labels-idx1",
            )
        )
    wanted = np.isin(test_y, (4, 9))
    flat = train_x.reshape(len(train_x), -1)
    test = test_x[wanted].reshape(wanted.sum(), -1).astype(float)
    return flat[train_y == 4], flat[train_y == 9], test, test_y[wanted] == 9


def draw(rows, n, rng):
    return rows[rng.choice(len(rows), min(n, len(rows) * 9 // 10), replace=False)].astype(float)


def microseconds(task, Z, rounds=3):
    """Best time of a task for a sample."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        task(Z)
        times.append(time.perf_counter() - start)
    return 1e6 * min(times) / len(Z)


def rest_of(frame, small):
    """The complement of a truncated frame: the directions that were left out."""
    left = np.flatnonzero(~np.isin(frame.c, small.c))
    r, k, _ = frame.blocks
    blocks = [
        int(part.sum()) for part in np.split(np.isin(np.arange(frame.rank), left), [r, r + k])
    ]
    return replace(
        frame,
        c=frame.c[left],
        s=frame.s[left],
        core=frame.core[left],
        inverse=frame.inverse[:, left],
        blocks=type(frame.blocks)(*blocks),
    )


def measure(frame, share, Z, label):
    """Directions, accuracy at 45°, AUC, agreement, accuracy of the rest, time."""
    small = frame.truncate(n=max(1, round(share * frame.rank)))
    scored = small.align(Z)
    alone = np.nan
    rest = rest_of(frame, small)
    if rest.rank:
        alone = np.mean(rest.align(Z).predict() == label)
    return (
        small.rank,
        np.mean(scored.predict() == label),
        roc_auc_score(label, scored.theta),
        np.mean(scored.predict() == frame.align(Z).predict()),
        alone,
        microseconds(small.align, Z),
    )


def table(fours, nines, Z, label, options):
    rows = {share: [] for share in SHARES}
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        frame = JointFrame.fit(draw(fours, 900, rng), draw(nines, 800, rng), **options)
        for share in SHARES:
            rows[share].append(measure(frame, share, Z, label))
    print("| kept | directions | accuracy at 45° | AUC | same prediction | the rest alone | time |")
    print("|---|---|---|---|---|---|---|")
    for share, found in rows.items():
        rank, accuracy, auc, same, alone, micro = np.mean(found, axis=0)
        rest = "" if np.isnan(alone) else f"{alone:.4f}"
        print(
            f"| {share:.0%} | {rank:.0f} | {accuracy:.4f} | {auc:.4f} | {same:.4f} | {rest} | "
            f"{micro:.1f} µs |"
        )


def attribution_speed(fours, nines, Z):
    rng = np.random.default_rng(0)
    frame = JointFrame.fit(draw(fours, 900, rng), draw(nines, 800, rng), shrinkage=0.05)
    many = np.tile(Z, (3, 1))
    parts = attribute(frame, many)
    wrong = np.abs(parts.features.sum(axis=1) + np.cos(2 * frame.align(many).raw_theta)).max()
    print(
        f"attribute, {len(many):,} samples of {many.shape[1]} features: "
        f"{microseconds(lambda Z: attribute(frame, Z), many):.0f} µs each, where align alone takes "
        f"{microseconds(frame.align, many):.0f} µs; sums are off by at most {wrong:.0e}"
    )


def main():
    fours, nines, Z, label = load()
    for title, options in SETTINGS.items():
        print(f"\n4 against 9 with {title}:\n")
        table(fours, nines, Z, label, options)
    print()
    attribution_speed(fours, nines, Z)


if __name__ == "__main__":
    main()
