"""What the angle must get right with no option given, on images and on made data.

    python benchmarks/bench_angle.py images    # MNIST and Fashion-MNIST (COSPAN_DATA)
    python benchmarks/bench_angle.py made      # nulls, shifts, scales, invariances
    python benchmarks/bench_angle.py           # both

Images: 900 and 800 training rows of a pair, all its test images. "0.1" is what version 0.1 did by
default: the linear span about the midpoint, and the shrinkage with the best leave-one-out AUC.
"""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
from sklearn.metrics import roc_auc_score

from cospan import AlignmentAngleClassifier, JointFrame
from pictures import load_images

# Test AUC of version 0.1's default on draw 0 of each pair.
PAIRS = {
    "mnist": ((4, 9), (0, 7), (1, 5), (3, 9), (3, 5), (7, 9)),
    "fashion-mnist": ((0, 7), (7, 9), (2, 4), (0, 6), (5, 7), (3, 4)),
}
V01_GRID = np.geomspace(1e-3, 0.95, 40)


def version_0_1(A: np.ndarray, B: np.ndarray) -> JointFrame:
    """The default of version 0.1: best leave-one-out AUC over the grid, linear span."""
    best, frame = -1.0, None
    for alpha in V01_GRID[::6]:
        one = JointFrame.fit(A, B, span="linear", shrinkage=float(alpha))
        angles = one.leave_one_out(A, B)
        label = np.repeat([0, 1], [len(A), len(B)])
        auc = roc_auc_score(label, np.concatenate([angles.a.theta, angles.b.theta]))
        if auc > best:
            best, frame = auc, one
    assert frame is not None
    return frame


def image_pairs() -> None:
    for name, pairs in PAIRS.items():
        images = load_images(name)
        rows = []
        for a, b in pairs:
            A, B, Z, label = images.pair(a, b, 0)
            frame = JointFrame.fit(A, B)
            theta = frame.align(Z).theta
            old = version_0_1(A, B).align(Z).theta
            rows.append((roc_auc_score(label, theta), roc_auc_score(label, old)))
            print(
                f"{name} {a}/{b}: AUC {rows[-1][0]:.4f} (0.1: {rows[-1][1]:.4f})  at 45° "
                f"{np.mean((theta > math.pi / 4) == label):.4f}  {frame.units}, α "
                f"{frame.shrinkage:g}, ν {frame.dof:g}, γ {frame.pooling:g}",
                flush=True,
            )
        print(
            f"{name} mean AUC {np.mean(rows, axis=0)[0]:.4f} (0.1: {np.mean(rows, axis=0)[1]:.4f})"
        )


def all_pairs() -> None:
    for name in PAIRS:
        images = load_images(name)
        found = []
        for a, b in itertools.combinations(range(10), 2):
            A, B, Z, label = images.pair(a, b, 0)
            found.append(np.mean(JointFrame.fit(A, B).align(Z).predict() == label))
        print(f"{name}: accuracy at 45°, mean of 45 pairs {np.mean(found):.4f}", flush=True)


def ten_classes() -> None:
    for name in PAIRS:
        images = load_images(name)
        X = np.concatenate([images.draw(k, 900, 0) for k in range(10)]).astype(float)
        y = np.repeat(np.arange(10), 900)
        Z = np.concatenate([images.test(k) for k in range(10)]).astype(float)
        truth = np.repeat(np.arange(10), [len(images.test(k)) for k in range(10)])
        model = AlignmentAngleClassifier().fit(X, y)
        g = model.costs_.geometry
        print(
            f"{name}: ten classes, 900 rows each: accuracy {model.score(Z, truth):.4f}  "
            f"({g.units}, α {g.shrinkage:g}, ν {g.dof:g}, γ {g.pooling:g})",
            flush=True,
        )


def few_against_many() -> None:
    images = load_images("mnist")
    found = []
    for draw in range(5):
        A, B = images.draw(4, 30, draw).astype(float), images.draw(9, 300, draw).astype(float)
        frame = JointFrame.fit(A, B)
        hits = [
            (frame.align(images.test(c).astype(float)).predict() == k).mean()
            for k, c in enumerate((4, 9))
        ]
        found.append(float(np.mean(hits)))
    print(
        "MNIST 4/9, 30 against 300 rows, balanced accuracy at 45°: mean of 5 draws "
        f"{np.mean(found):.4f} ({min(found):.4f} to {max(found):.4f})"
    )


def null_leave_one_out() -> None:
    for p, q, d in ((30, 30, 5), (100, 100, 40), (200, 200, 2000), (300, 300, 1), (10, 100, 500)):
        aucs = []
        for draw in range(40):
            rng = np.random.default_rng([draw, p, d])
            A, B = rng.normal(size=(p, d)), rng.normal(size=(q, d))
            angles = JointFrame.fit(A, B).leave_one_out(A, B)
            ratio = np.concatenate([angles.a.log_ratio, angles.b.log_ratio])
            aucs.append(roc_auc_score(np.repeat([0, 1], [p, q]), ratio))
        print(f"null {p}, {q}, {d}: leave-one-out AUC {np.mean(aucs):.3f} (40 draws)", flush=True)


def null_fresh_rows() -> None:
    for p, q, d in ((1000, 10000, 100), (200, 2000, 100), (50, 500, 5)):
        called, medians = [], []
        for draw in range(10):
            rng = np.random.default_rng([draw, p, d])
            frame = JointFrame.fit(rng.normal(size=(p, d)), rng.normal(size=(q, d)))
            theta = frame.align(rng.normal(size=(2000, d))).degrees
            # Where nothing separates the sets every angle is 45°, and no side is called.
            called.append(np.mean(theta > 45) + np.mean(theta == 45) / 2)
            medians.append(np.median(theta))
        print(
            f"null {p}, {q}, {d}: fresh rows called B {np.mean(called):.1%}, medians "
            f"{min(medians):.2f}° to {max(medians):.2f}° (10 draws)",
            flush=True,
        )


def made_differences() -> None:
    def auc(A: np.ndarray, B: np.ndarray, Z: np.ndarray, W: np.ndarray) -> float:
        frame = JointFrame.fit(A, B)
        theta = np.concatenate([frame.align(Z).theta, frame.align(W).theta])
        return float(roc_auc_score(np.repeat([0, 1], [len(Z), len(W)]), theta))

    rng = np.random.default_rng(0)

    def normal(d: int, shift: float = 0.0, scale: float = 1.0, n: int = 300) -> np.ndarray:
        return rng.normal(size=(n, d)) * scale + shift

    test = {"n": 4000}
    shifted = auc(normal(10), normal(10, 1.0), normal(10, **test), normal(10, 1.0, **test))
    scaled = auc(normal(10), normal(10, 0, 1.3), normal(10, **test), normal(10, 0, 1.3, **test))
    single = auc(normal(1), normal(1, 3.0), normal(1, **test), normal(1, 3.0, **test))
    print(f"mean shift of 1 sd in all of 10 features: AUC {shifted:.4f}")
    print(f"scale × 1.3 in 10 dimensions, 300 rows: AUC {scaled:.4f}")
    print(f"one feature, shift of 3 sd: AUC {single:.4f}")
    A = normal(10)
    same = JointFrame.fit(A, A.copy())
    degrees = np.concatenate([same.align(A).degrees, same.leave_one_out(A, A).a.degrees])
    print(f"identical sets: θ from {degrees.min():g}° to {degrees.max():g}°")


def invariances() -> None:
    rng = np.random.default_rng(1)
    A, B, Z = rng.normal(size=(80, 6)), rng.normal(size=(90, 6)) + 0.5, rng.normal(size=(200, 6))
    base = JointFrame.fit(A, B, units="own").align(Z).degrees
    plain = JointFrame.fit(A, B).align(Z).degrees
    moved = JointFrame.fit(A + 1e3, B + 1e3).align(Z + 1e3).degrees
    print(f"1000 added to all rows: θ changes by at most {np.abs(moved - plain).max():.1e}°")
    for factor in (1e6, 1e-6):
        s = np.array([1, factor, 1, 1, 1, 1])
        other = JointFrame.fit(A * s, B * s, units="own").align(Z * s).degrees
        print(f"a column times {factor:g}: θ changes by at most {np.abs(other - base).max():.1e}°")


def main() -> None:
    what = sys.argv[1:] or ["made", "images"]
    if "made" in what:
        made_differences()
        invariances()
        null_fresh_rows()
        null_leave_one_out()
    if "images" in what:
        few_against_many()
        image_pairs()
        ten_classes()
        all_pairs()


if __name__ == "__main__":
    main()
