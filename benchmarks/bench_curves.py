"""Curved frames: what they see that means and covariances do not, and what they cost.

    python benchmarks/bench_curves.py [tables] [moments] [shift] [images] [classes]
        [null] [speed] [choices]
        [--folds 5] [--rows 1500] [--draws 3] [--pairs 45]

Without a word all are printed but `choices`.

tables   The 43 pairs of `tables.py`, five-fold, defaults only: the angle with curve="auto", the
         plain frame and gradient boosting (HistGradientBoosting, defaults) on the same folds.
         Must hold: mean AUC and balanced accuracy at least boosting's; no pair loses more than
         .01 against plain.
moments  Sets with equal means and covariances, 400 + 400, d = 5 to 20: held-out AUC beside
         boosting's. Must hold: at least that less .03.
shift    The shift test's power on the same designs beside a classifier two-sample test with
         boosting (fitted on one half, AUC on the other). Must hold: at least .8 of it.
images   MNIST and Fashion-MNIST (COSPAN_DATA): pairs of classes, 900 against 800, accuracy at
         45°. Must hold: .993, .977.
classes  Ten classes of MNIST, 900 rows each: accuracy. Must hold: .97.
null     How often sets that do not differ get a curve.
speed    Time to fit at d = 20, n = 100,000, and rows scored per second, both beside the plain
         frame's. Must hold: 5 times, a third.
choices  Which features: those of single columns (the default), random ones of all columns, plain
         or orthogonal, of whole or half the median distance, and Nyström's of as many rows; on
         the designs of `moments` and on every third table.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings

import numpy as np
from scipy.spatial.distance import cdist, pdist
from scipy.stats import mannwhitneyu
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from cospan import AlignmentAngleClassifier, JointFrame, shift_test
from pictures import load_images
from tables import TablePair, table_pairs

# ---- sets with equal means and covariances -----------------------------------------------------


def uniform(rng, n, d):
    """Normal against uniform, all columns."""
    return rng.normal(size=(n, d)), rng.uniform(-np.sqrt(3), np.sqrt(3), (n, d))


def two_peaks(rng, n, d, columns=1):
    """Normal against a mixture of two normals, in one column."""
    A, B = rng.normal(size=(2, n, d))
    sides = rng.choice([-1.0, 1.0], (n, columns))
    B[:, :columns] = 0.9 * sides + np.sqrt(0.19) * B[:, :columns]
    return A, B


def two_peaks_everywhere(rng, n, d):
    return two_peaks(rng, n, d, d)


def parabola(rng, n, d):
    """x₂ is about x₁²; in A about the square of something else."""
    A, B = rng.normal(size=(2, n, d))
    for X, driver in ((A, rng.normal(size=n)), (B, B[:, 0])):
        X[:, 1] = 0.9 * (driver**2 - 1) / np.sqrt(2) + np.sqrt(0.19) * X[:, 1]
    return A, B


def ring(rng, n, d):
    """A blob against a ring, in two columns."""
    A, B = rng.normal(size=(2, n, d))
    turn = rng.uniform(0, 2 * np.pi, n)
    B[:, :2] = np.sqrt(1.98) * np.column_stack([np.cos(turn), np.sin(turn)]) + 0.1 * B[:, :2]
    return A, B


DESIGNS = {
    "uniform": uniform,
    "two peaks, one column": two_peaks,
    "two peaks, all columns": two_peaks_everywhere,
    "x2 ~ x1²": parabola,
    "ring in a blob": ring,
}
DIMENSIONS = (5, 10, 20)


def boosted(X: np.ndarray, y: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return HistGradientBoostingClassifier().fit(X, y).predict_proba(Z)[:, 1]


def moments(draws: int) -> None:
    print(f"{'design':24} {'d':>3}  plain   auto  boosting  curved in   holds")
    for (name, design), d in itertools.product(DESIGNS.items(), DIMENSIONS):
        found, curved = [], 0
        for draw in range(draws):
            rng = np.random.default_rng([draw, d])
            A, B = design(rng, 400, d)
            Z, label = np.concatenate(design(rng, 2000, d)), np.repeat([0, 1], 2000)
            frame = JointFrame.fit(A, B, curve="auto")
            boosting = boosted(np.concatenate([A, B]), np.repeat([0, 1], 400), Z)
            scores = (frame.plain.align(Z).theta, frame.align(Z).theta, boosting)
            found.append([roc_auc_score(label, score) for score in scores])
            curved += frame.curve is not None
        plain, auto, other = np.mean(found, axis=0)
        print(
            f"{name:24} {d:3}  {plain:.3f}  {auto:.3f}  {other:.3f}     {curved} of {draws}      "
            f"{auto >= other - 0.03}",
            flush=True,
        )


def c2st(A: np.ndarray, B: np.ndarray) -> bool:
    """Does boosting, fitted on one half, rank the other half's sets apart at 5 %?"""
    half = len(A) // 2
    y = np.repeat([0, 1], [half, half])
    p = boosted(np.concatenate([A[:half], B[:half]]), y, np.concatenate([A[half:], B[half:]]))
    return bool(mannwhitneyu(p[half:], p[:half], alternative="greater").pvalue <= 0.05)


def shift(draws: int, n: int = 400) -> None:
    print(f"{'design':24} {'d':>3}  shift test  boosting C2ST   holds   ({n} + {n} rows)")
    for (name, design), d in itertools.product(DESIGNS.items(), (5, 20)):
        ours = theirs = 0
        for draw in range(draws):
            rng = np.random.default_rng([draw, d, 7])
            A, B = design(rng, n, d)
            ours += shift_test(A, B, n_permutations=199).pvalue <= 0.05
            theirs += c2st(A, B)
        print(
            f"{name:24} {d:3}  {ours / draws:.2f}        {theirs / draws:.2f}            "
            f"{ours >= 0.8 * theirs}",
            flush=True,
        )


# ---- tables -----------------------------------------------------------------------------------


def measures(label: np.ndarray, p: np.ndarray) -> tuple[float, float]:
    hit = (p > 0.5) == (label == 1)
    return roc_auc_score(label, p), float(np.mean([hit[label == k].mean() for k in (0, 1)]))


def on_folds(pair: TablePair, folds: int) -> tuple[np.ndarray, float]:
    """(3, 2): AUC and balanced accuracy of auto, plain and boosting; how often curved."""
    X = np.concatenate([pair.A, pair.B])
    label = np.repeat([0, 1], [len(pair.A), len(pair.B)])
    found, curved = [], []
    split = StratifiedKFold(5, shuffle=True, random_state=0).split(X, label)
    for train, test in itertools.islice(split, folds):
        A = pair.A.iloc[train[label[train] == 0]]
        B = pair.B.iloc[train[label[train] == 1] - len(pair.A)]
        Z = X[test]
        frame = JointFrame.fit(A, B, curve="auto")
        scores = (
            frame.align(Z).probability,
            frame.plain.align(Z).probability,
            boosted(X[train], label[train], Z),
        )
        found.append([measures(label[test], np.asarray(p)) for p in scores])
        curved.append(frame.curve is not None)
    return np.mean(found, axis=0), float(np.mean(curved))


def tables(folds: int, rows: int) -> None:
    print(f"{'pair':34} {'d':>3}  auto: AUC, acc  plain: AUC, acc  boosting: AUC, acc  curved")
    results, worst = [], (0.0, "")
    for pair in table_pairs(rows):
        found, curved = on_folds(pair, folds)
        results.append(found)
        worst = min(worst, (float(found[0, 0] - found[1, 0]), pair.name))
        text = "    ".join(f"{auc:.3f} {accuracy:.3f}" for auc, accuracy in found)
        print(f"{pair.name:34.34} {pair.A.shape[1]:3}  {text}    {curved:.1f}", flush=True)
    auto, plain, boosting = np.mean(results, axis=0)
    print(f"\nmean over {len(results)} pairs: AUC, balanced accuracy")
    for name, (auc, accuracy) in (("auto", auto), ("plain", plain), ("boosting", boosting)):
        print(f"  {name:9} {auc:.4f}  {accuracy:.4f}")
    print(f"  at least boosting's: {bool(np.all(auto >= boosting))}")
    print(f"  largest loss of AUC against plain: {-worst[0]:.4f} ({worst[1] or 'none'})")


# ---- images, nulls, speed ---------------------------------------------------------------------


def images(pairs: int) -> None:
    for name in ("mnist", "fashion-mnist"):
        known = load_images(name)
        found, curved = [], 0
        every = list(itertools.combinations(range(10), 2))
        for a, b in every[:: max(1, len(every) // pairs)]:
            A, B, Z, label = known.pair(a, b, 0)
            frame = JointFrame.fit(A, B, curve="auto")
            found.append([np.mean(one.align(Z).predict() == label) for one in (frame, frame.plain)])
            curved += frame.curve is not None
        auto, plain = np.mean(found, axis=0)
        print(
            f"{name}: accuracy at 45°, mean of {len(found)} pairs: auto {auto:.4f}, plain "
            f"{plain:.4f}; curved {curved}",
            flush=True,
        )


def classes() -> None:
    known = load_images("mnist")
    X = np.concatenate([known.draw(k, 900, 0) for k in range(10)]).astype(float)
    Z = np.concatenate([known.test(k) for k in range(10)]).astype(float)
    truth = np.repeat(np.arange(10), [len(known.test(k)) for k in range(10)])
    for curve in ("auto", None):
        model = AlignmentAngleClassifier(curve=curve).fit(X, np.repeat(np.arange(10), 900))
        print(f"mnist: ten classes, curve {curve}: {model.score(Z, truth):.4f}", flush=True)


def null(draws: int) -> None:
    for n, d in ((40, 3), (100, 10), (400, 5), (400, 20), (150, 120)):
        curved, aucs = 0, []
        for draw in range(20 * draws):
            rng = np.random.default_rng([draw, n, d])
            A, B = rng.standard_t(4, size=(2, n, d)) if draw % 2 else rng.normal(size=(2, n, d))
            if d > 100:  # most of what varies is in few directions, as in pictures
                A, B = (X * np.geomspace(30, 0.3, d) for X in (A, B))
            frame = JointFrame.fit(A, B, curve="auto")
            curved += frame.curve is not None
            left = frame.leave_one_out(A, B)
            ratio = np.concatenate([left.a.theta, left.b.theta])
            aucs.append(roc_auc_score(np.repeat([0, 1], n), ratio))
        print(
            f"null, {n} + {n} rows, d = {d}: curved {curved} of {20 * draws}; leave-one-out AUC "
            f"{np.mean(aucs):.3f}",
            flush=True,
        )


def best_of(repeats: int, *work) -> list[float]:
    """Least seconds of each, taken in turns."""
    least = [np.inf] * len(work)
    for _ in range(repeats):
        for i, one in enumerate(work):
            start = time.perf_counter()
            one()
            least[i] = min(least[i], time.perf_counter() - start)
    return least


def speed() -> None:
    A, B = uniform(np.random.default_rng(0), 50_000, 20)
    auto, plain = best_of(
        3, lambda: JointFrame.fit(A, B, curve="auto"), lambda: JointFrame.fit(A, B, curve=None)
    )
    print(f"fit, d = 20, n = 100,000: {auto:.2f} s, plain {plain:.2f} s: {auto / plain:.1f} times")
    frame = JointFrame.fit(A, B, curve="auto")
    straight = frame.plain
    auto, plain = best_of(30, lambda: frame.align(A), lambda: straight.align(A))
    print(
        f"scoring: {len(A) / auto / 1e6:.2f} million rows a second, plain "
        f"{len(A) / plain / 1e6:.2f}: {plain / auto:.2f} of its rate"
    )


# ---- which features ---------------------------------------------------------------------------


class Features:
    """Rows standardised, and features of them: `waves` of single columns, or `size` of all."""

    def __init__(self, A, B, *, waves=None, size=0, bandwidth=1.0, orthogonal=False, rows=False):
        middle = (A.mean(axis=0) + B.mean(axis=0)) / 2
        spread = np.sqrt((A.var(axis=0) + B.var(axis=0)) / 2 + (A.mean(axis=0) - middle) ** 2)
        self.keep = spread > 1e-9 * np.maximum(1, np.abs(middle))
        self.middle, self.spread = middle[self.keep], spread[self.keep]
        rng = np.random.default_rng(0)
        z = self.standard(np.concatenate([A, B]))
        d = z.shape[1]
        z = z[rng.permutation(len(z))]
        self.sigma = bandwidth * np.median(pdist(z[:500]))
        self.landmarks = z[:size] if rows else None
        if rows:
            values, vectors = np.linalg.eigh(self.kernel(self.landmarks))
            good = values > 1e-8 * values[-1]
            self.root = vectors[:, good] * np.sqrt(size / values[good])
        elif waves:
            self.W = np.concatenate([w * np.eye(d) for w, _ in waves])
            self.b = np.repeat([b for _, b in waves], d)
        else:
            W = rng.standard_normal((size, d))
            if orthogonal:
                blocks = rng.standard_normal((-(-size // d), d, d))
                W = np.concatenate(
                    [np.linalg.qr(x)[0] * np.linalg.norm(x, axis=1)[:, None] for x in blocks]
                )[:size]
            self.W, self.b = W / self.sigma, rng.uniform(0, 2 * np.pi, size)

    def standard(self, X):
        return (np.asarray(X)[:, self.keep] - self.middle) / self.spread

    def kernel(self, z):
        return np.exp(-cdist(z, self.landmarks, "sqeuclidean") / (2 * self.sigma**2))

    def __call__(self, X):
        z = self.standard(X)
        if self.landmarks is not None:
            return np.concatenate([z, self.kernel(z) @ self.root], axis=1)
        return np.concatenate([z, np.sqrt(2) * np.cos(z @ self.W.T + self.b)], axis=1)


SINE = -np.pi / 2
CHOICES = {
    "columns, cos x, cos 2x, sin 2x": {"waves": ((1, 0), (2, 0), (2, SINE))},
    "columns, cos 1.2x, cos 2.4x": {"waves": ((1.2, 0), (2.4, 0))},
    "columns, five waves": {"waves": ((1, 0), (1, SINE), (2, 0), (2, SINE), (3, 0))},
    "random 200": {"size": 200},
    "random 200, half": {"size": 200, "bandwidth": 0.5},
    "random 200, orthogonal": {"size": 200, "orthogonal": True},
    "Nyström 200": {"size": 200, "rows": True},
}


def choices(rows: int) -> None:
    problems = []
    for (name, design), d in itertools.product(DESIGNS.items(), (5, 20)):
        rng = np.random.default_rng([0, d])
        A, B = design(rng, 400, d)
        problems.append((f"{name}, d = {d}", A, B, *design(rng, 1500, d)))
    for pair in itertools.islice(table_pairs(min(rows, 800)), 2, None, 3):
        X, Y = np.asarray(pair.A), np.asarray(pair.B)
        i, j = (np.random.default_rng(0).permutation(len(x)) for x in (X, Y))
        p, q = (4 * len(x) // 5 for x in (X, Y))
        problems.append((pair.name, X[i[:p]], Y[j[:q]], X[i[p:]], Y[j[q:]]))
    results = []
    for name, A, B, Ta, Tb in problems:
        label = np.repeat([0, 1], [len(Ta), len(Tb)])
        found = []
        for choice in CHOICES.values():
            features = Features(A, B, **choice)
            frame = JointFrame.fit(features(A), features(B), units="own", curve=None)
            theta = frame.align(features(np.concatenate([Ta, Tb]))).theta
            found.append(roc_auc_score(label, theta))
        results.append(found)
        print(f"{name:34.34} " + " ".join(f"{x:.3f}" for x in found), flush=True)
    designs = 2 * len(DESIGNS)
    for i, name in enumerate(CHOICES):
        on_designs, on_tables = (
            np.mean(results[:designs], axis=0),
            np.mean(results[designs:], axis=0),
        )
        print(f"{name:34} designs {on_designs[i]:.3f}, tables {on_tables[i]:.3f}")


def main() -> None:
    words = ("tables", "moments", "shift", "images", "classes", "null", "speed", "choices")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", choices=words, default=words[:-1])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=45)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    run = {
        "tables": lambda: tables(asked.folds, asked.rows),
        "moments": lambda: moments(asked.draws),
        "shift": lambda: shift(10 * asked.draws),
        "images": lambda: images(asked.pairs),
        "classes": classes,
        "null": lambda: null(asked.draws),
        "speed": speed,
        "choices": lambda: choices(asked.rows),
    }
    for word in asked.what:
        print(f"\n== {word} ==", flush=True)
        run[word]()


if __name__ == "__main__":
    main()
