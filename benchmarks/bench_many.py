"""More than two sets: the ten digits of MNIST, planted directions, passes over the data.

    COSPAN_DATA=/path/to/data python benchmarks/bench_many.py

Prints, for all 60,000 training images: the closest pairs, the accuracy on the 10,000 test images,
and the time. Then how far the common directions of five planted sets lie from the planted space.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.linalg import subspace_angles

from cospan import AlignmentAngleClassifier, ManyFrame, compare
from pictures import load_images

CONFUSED = {frozenset(pair) for pair in ("49", "35", "79", "38", "58")}


def planted(noise: float, seed: int, d: int = 50, n: int = 300) -> float:
    """Largest angle in degrees between the common directions found and those planted."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(10, d))
    sets = [
        rng.normal(size=(n, 10)) @ common
        + rng.normal(size=(n, 5)) @ rng.normal(size=(5, d))
        + noise * rng.normal(size=(n, d))
        for _ in range(5)
    ]
    frame = ManyFrame.fit(sets)
    found = frame.directions[frame.common[:10]]
    return float(np.degrees(subspace_angles(found.T, common.T).max()))


def digits() -> None:
    data = load_images("mnist")
    sets = {str(k): data.train_x[data.train_y == k] for k in range(10)}
    started, worked = time.perf_counter(), time.process_time()
    found = compare(sets, data.test_x.astype(np.float32), image_shape=(28, 28))
    print(
        f"time: {time.perf_counter() - started:.1f} s, of the processor "
        f"{time.process_time() - worked:.1f} s"
    )
    print(f"shrinkage: {found.shrinkage:g}")
    for a, b in found.closest(8):
        mark = "confused by people" if frozenset((a, b)) in CONFUSED else ""
        print(f"{a}-{b}: Fisher-Rao {found.distance(a, b):.3f} {mark}")
    right = found.weights[found.group == 10].argmax(axis=1) == data.test_y
    print(f"accuracy on {len(right)} test images: {right.mean():.4f}")
    model = AlignmentAngleClassifier().fit(data.train_x, data.train_y)
    known = model.predict(data.test_x) == data.test_y
    print(f"the same by AlignmentAngleClassifier: {known.mean():.4f}")
    print(f"leave-one-out accuracy on the training images: {found.accuracy:.4f}")
    print(found.frame)


if __name__ == "__main__":
    for noise in (0.0, 0.1, 0.3):
        worst = max(planted(noise, seed) for seed in range(5))
        print(f"planted, noise {noise:g}: largest angle of five draws {worst:.2f}°")
    digits()
