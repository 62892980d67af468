"""The shift test: how often it rejects when nothing shifted, and when something did.

    python benchmarks/bench_shift_test.py [--simulations 2000] [--power-simulations 500]

Prints the share of rejections at 5 % in null designs (it must stay within 3.5 % and 6.5 %), then
the power at 5 % next to two others at equal n: scikit-learn's logistic regression as a classifier
two-sample test (fitted on one half, accuracy on the other, labels permuted there), and the RBF
MMD with the median heuristic and permutations of all labels. The test's views were chosen on
designs like the first four; the designs after those were written down afterwards and had no part
in any choice. All of it takes about 5 minutes of one idle core.
"""

import argparse
import time
from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from cospan import shift_test

LEVEL = 0.05
PERMUTATIONS = 199


# Null designs: A and B come from one distribution.


def unlike_sizes(rng):
    """30 and 150 rows of correlated normal features."""
    mixing = np.random.default_rng(1).normal(size=(8, 8))
    return rng.normal(size=(30, 8)) @ mixing, rng.normal(size=(150, 8)) @ mixing


def wide(rng):
    """Fewer rows than features: 24 + 30 rows, 80 features."""
    scale = np.logspace(0, -1, 80)
    return rng.normal(size=(24, 80)) * scale, rng.normal(size=(30, 80)) * scale


def heavy_tails(rng):
    """Student t with 1.5 degrees of freedom: no variance."""
    return rng.standard_t(1.5, size=(50, 6)), rng.standard_t(1.5, size=(60, 6))


def copied_rows(rng):
    """Every row stands one to three times in its set; the test is told nothing."""
    A, B = rng.normal(size=(40, 6)), rng.normal(size=(50, 6))
    copies = [rng.integers(1, 4, len(X)) for X in (A, B)]
    return np.repeat(A, copies[0], axis=0), np.repeat(B, copies[1], axis=0)


def small_pool(rng):
    """Both sets drawn with replacement from the same 40 rows: equal draws, within and across."""
    pool = rng.normal(size=(40, 6))
    return pool[rng.integers(0, 40, 60)], pool[rng.integers(0, 40, 90)]


NULL_DESIGNS = {
    "unlike sizes": unlike_sizes,
    "p + q < d": wide,
    "heavy tails": heavy_tails,
    "duplicated rows (copies)": copied_rows,
    "duplicated rows (small pool)": small_pool,
}


# Shifted designs.


@cache
def digits():
    return load_digits(return_X_y=True)


@cache
def cells():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def mean_shift(rng):
    """100 + 100 normal rows, d = 10; the mean moves by 0.5 along the diagonal."""
    return rng.normal(size=(100, 10)), rng.normal(size=(100, 10)) + 0.5 / np.sqrt(10)


def covariance_shift(rng):
    """100 + 100 normal rows, d = 10; two pairs of features become correlated (±0.6)."""
    covariance = np.eye(10)
    covariance[0, 1] = covariance[1, 0] = 0.6
    covariance[2, 3] = covariance[3, 2] = -0.6
    B = rng.multivariate_normal(np.zeros(10), covariance, size=100, method="cholesky")
    return rng.normal(size=(100, 10)), B


def heavy_covariance_shift(rng):
    """The same with Student t rows of 3 degrees of freedom."""
    A, B = rng.standard_t(3, size=(2, 100, 10))
    B[:, 1] = 0.7 * B[:, 0] + 0.7 * B[:, 1]
    B[:, 3] = 0.7 * B[:, 2] + 0.7 * B[:, 3]
    return A, B


def mixed_digits(rng, n=90):
    """90 fours against 81 other fours with 9 nines among them (10 %), 8 x 8 pixels."""
    X, y = digits()
    fours, nines = rng.permutation(X[y == 4]), rng.permutation(X[y == 9])
    return fours[:n], np.concatenate([fours[n : 2 * n - n // 10], nines[: n // 10]])


def one_mean_of_many(rng):
    """120 + 120 normal rows, d = 40; one feature's mean moves by 0.6."""
    B = rng.normal(size=(120, 40))
    B[:, 0] += 0.6
    return rng.normal(size=(120, 40)), B


def skewed(rng):
    """Equal means and covariances, d = 8: normal against centred exponential features."""
    return rng.normal(size=(100, 8)), rng.exponential(size=(100, 8)) - 1


def two_clusters(rng):
    """Equal means and covariances, d = 4: one normal cluster against two, 1.8 apart."""
    B = rng.normal(size=(150, 4))
    B[:, 0] = 0.9 * rng.choice([-1, 1], 150) + np.sqrt(1 - 0.81) * B[:, 0]
    return rng.normal(size=(150, 4)), B


def malignant_cells(rng):
    """Breast cancer data, 30 standardised features: 80 benign, 72 benign and 8 malignant rows."""
    X, y = cells()
    benign, malignant = rng.permutation(X[y == 1]), rng.permutation(X[y == 0])
    return benign[:80], np.concatenate([benign[80:152], malignant[:8]])


def mixed_threes(rng):
    """90 threes against 81 other threes with 9 eights among them, 8 x 8 pixels."""
    X, y = digits()
    threes, eights = rng.permutation(X[y == 3]), rng.permutation(X[y == 8])
    return threes[:90], np.concatenate([threes[90:171], eights[:9]])


SHIFTED_DESIGNS = {
    "mean, normal": mean_shift,
    "covariance only, normal": covariance_shift,
    "covariance only, t(3)": heavy_covariance_shift,
    "fours, 10 % nines mixed in": mixed_digits,
    "* one mean of 40": one_mean_of_many,
    "* skewed, moments 1, 2 equal": skewed,
    "* clusters, moments 1, 2 equal": two_clusters,
    "* benign, 10 % malignant": malignant_cells,
    "* threes, 10 % eights": mixed_threes,
}


def ours(A, B, seed):
    return shift_test(A, B, n_permutations=PERMUTATIONS, random_state=seed).pvalue


def unaware(A, B, seed):
    """Our test, told to take copies for draws: the control of the copied rows."""
    options = {"copies": "keep", "n_permutations": PERMUTATIONS, "random_state": seed}
    return shift_test(A, B, **options).pvalue


def classifier(A, B, seed):
    """Logistic regression on one half, accuracy on the other, labels permuted there."""
    rng = np.random.default_rng(seed)
    halves = [np.array_split(rng.permutation(X), 2) for X in (A, B)]
    train, test = (np.concatenate([a, b]) for a, b in zip(*halves, strict=True))
    sizes = [[len(part) for part in half] for half in halves]
    labels = [np.repeat([0, 1], [sizes[0][k], sizes[1][k]]) for k in (0, 1)]
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    right = model.fit(train, labels[0]).predict(test)
    relabelled = [labels[1], *(rng.permutation(labels[1]) for _ in range(PERMUTATIONS))]
    accuracy = np.array([np.mean(right == truth) for truth in relabelled])
    return np.mean(accuracy >= accuracy[0])


def mmd(A, B, seed):
    """Unbiased MMD², Gaussian kernel with the median squared distance, all labels permuted."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([A, B])
    gram = rows @ rows.T
    norms = np.diag(gram)
    distance = norms[:, None] + norms - 2 * gram
    kernel = np.exp(-distance / np.median(distance[np.triu_indices(len(rows), 1)]))
    np.fill_diagonal(kernel, 0)
    truth = np.arange(len(rows)) < len(A)
    a = np.array([truth, *(rng.permutation(truth) for _ in range(PERMUTATIONS))]).astype(float)
    b = 1 - a
    m, n = len(A), len(B)
    within = np.sum((a @ kernel) * a, 1) / (m * (m - 1)) + np.sum((b @ kernel) * b, 1) / (
        n * (n - 1)
    )
    statistic = within - 2 * np.sum((a @ kernel) * b, 1) / (m * n)
    return np.mean(statistic >= statistic[0] - 1e-12)


def rejections(design, test, simulations, stream):
    """Share of simulated pairs that a test rejects at the level."""
    pvalues = [test(*design(np.random.default_rng([stream, i])), i) for i in range(simulations)]
    return float(np.mean(np.array(pvalues) <= LEVEL))


def timings():
    """Processor seconds of one test with the default 999 permutations."""
    for n, d in ((100, 10), (500, 64), (2000, 64), (2000, 784)):
        rows = np.random.default_rng(0).normal(size=(2, n, d)) * np.logspace(0, -1, d)
        start = time.process_time()
        shift_test(*rows)
        print(f"  2 x {n} rows, {d} features: {time.process_time() - start:.2f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--power-simulations", type=int, default=500)
    options = parser.parse_args()
    start = time.perf_counter()
    print(f"Nothing shifted: rejections at {LEVEL:.0%}, {options.simulations} simulations each")
    for stream, (name, design) in enumerate(NULL_DESIGNS.items()):
        rate = rejections(design, ours, options.simulations, stream)
        verdict = "ok" if 0.035 <= rate <= 0.065 else "OUTSIDE 3.5 % - 6.5 %"
        print(f"  {name:30s} {rate:7.2%}  {verdict}", flush=True)
    rate = rejections(copied_rows, unaware, options.simulations // 4, 3)
    print(f"  {'(control: copies kept)':30s} {rate:7.2%}", flush=True)
    print(f"Something shifted: power at {LEVEL:.0%}, {options.power_simulations} simulations each")
    tests = {"shift_test": ours, "logistic C2ST": classifier, "RBF MMD": mmd}
    print(f"  {'':30s} " + " ".join(f"{name:>14s}" for name in tests))
    for stream, (name, design) in enumerate(SHIFTED_DESIGNS.items()):
        rates = [
            rejections(design, test, options.power_simulations, 100 + stream)
            for test in tests.values()
        ]
        print(f"  {name:30s} " + " ".join(f"{rate:14.1%}" for rate in rates), flush=True)
    print("Processor time, 999 permutations, one thread")
    timings()
    print(f"{time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
