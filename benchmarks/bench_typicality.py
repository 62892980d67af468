"""Typicality: is it uniform for new rows, and small for rows of neither set?

    COSPAN_DATA=/path/to/data python benchmarks/bench_typicality.py [draws]

For each distribution, sets A and B are drawn, a frame is fitted, and 2,000 new rows of A are
scored. Printed: the Kolmogorov-Smirnov distance of typicality_a from uniform. The theorem is about
the average over draws of the sets, so the distance is that of all draws together (`draws`,
default 20; MNIST: random splits of the 5,842 fours); beside it the mean distance of single draws,
which two samples of these sizes have from each other anyway. Then rows of A moved by 10 sd.
"""

import sys

import numpy as np
from scipy.stats import kstest

from cospan import JointFrame
from cospan.errors import CospanError
from pictures import load_images

N, NEW, D = 2000, 2000, 5
DRAWN = {
    "normal": lambda rng, n: rng.normal(size=(n, D)),
    "t3": lambda rng, n: rng.standard_t(3, size=(n, D)),
    "exponential": lambda rng, n: rng.exponential(size=(n, D)),
    "counts": lambda rng, n: rng.poisson(20, size=(n, D)).astype(float),
}


def drawn(draw, seed, n):
    rng = np.random.default_rng(seed)
    return draw(rng, n), draw(rng, n) + 1.0, draw(rng, NEW)


def of_images(data, seed):
    rng = np.random.default_rng(seed)
    fours, nines = (rng.permutation(np.flatnonzero(data.train_y == k)) for k in (4, 9))
    rows = data.train_x
    parts = fours[:N], nines[:N], fours[N : N + NEW]
    return tuple(rows[index].astype(float) for index in parts)


def judged(name, cases):
    pooled, single, far = [], [], []
    for A, B, new in cases:
        frame = JointFrame.fit(A, B)
        found = frame.align(new).typicality_a
        pooled.append(found)
        single.append(kstest(found, "uniform").statistic)
        spread = A.std(axis=0)
        away = frame.align(new[:200] + 10 * spread * np.resize([1, -1], A.shape[1]))
        far.append(np.maximum(away.typicality_a, away.typicality_b).max())
    distance = kstest(np.concatenate(pooled), "uniform").statistic
    print(
        f"{name:<22} distance {distance:.4f} (single draws {np.mean(single):.4f}; below 0.03: "
        f"{distance < 0.03}); moved by 10 sd: at most {np.max(far):.4f}",
        flush=True,
    )


def main(draws):
    for name, draw in DRAWN.items():
        for n in (300, N):
            cases = (drawn(draw, seed, n) for seed in range(draws))
            judged(f"{name}, {n} rows", cases)
    try:
        data = load_images("mnist")
    except CospanError as error:
        print(f"Not run: {error}")
        return
    judged("MNIST 4", (of_images(data, seed) for seed in range(max(2, draws // 4))))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
