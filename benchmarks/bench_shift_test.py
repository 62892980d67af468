"""The shift test: its level, its power beside five other tests, its parts and its effect.

    python benchmarks/bench_shift_test.py [level] [power] [parts] [effect] [time]
        [--simulations 800] [--power-simulations 200]

Without a word all five are printed.

level   Share of rejections at 5 % when nothing shifted, with its 95 % bounds; these must meet the
        range from 3.5 % to 6.5 %.
power   Share of rejections at 5 % in shifted designs, beside classifier two-sample tests (C2ST:
        logistic regression and gradient boosting, fitted on one half, AUC on the other), the
        Gaussian MMD with the median heuristic, the energy distance and the Fréchet distance,
        each with permutations. The weights of the views were chosen on these designs.
parts   How often each of location, scale and shape has an adjusted p-value of at most 5 %.
effect  How often the effect's 95 % interval holds the AUC of the same scores on 6,000 new rows.
time    Processor seconds with the default 999 permutations.

On a busy machine with two cores, level took a quarter of an hour and power half an hour.
"""

import argparse
import time
from functools import cache

import numpy as np
from scipy.spatial.distance import pdist, squareform
from scipy.stats import mannwhitneyu
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from cospan import shift_test
from cospan.distribution import rank_auc
from cospan.significance.copies import settle_copies
from cospan.significance.effect import SPLITS, cross_fit, held_out_effect, quarters
from cospan.significance.views import Coordinates

LEVEL = 0.05
PERMUTATIONS = 199


# -- nothing shifted: A and B come from one distribution -----------------------------------------


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


def cauchy(rng):
    return rng.standard_cauchy((50, 5)), rng.standard_cauchy((70, 5))


def counts(rng):
    """Poisson counts: many rows are equal by chance."""
    return tuple(rng.poisson(2, size=(n, 4)).astype(float) for n in (60, 90))


def categories(rng):
    """One of eight categories, one column each."""
    chances = rng.dirichlet(np.ones(8))
    return tuple(np.eye(8)[rng.choice(8, n, p=chances)] for n in (60, 90))


def mixed_units(rng):
    """Skewed columns whose units differ by eight orders of magnitude."""
    return tuple(rng.lognormal(size=(n, 9)) * np.logspace(-4, 4, 9) for n in (60, 40))


def one_column(rng):
    return rng.normal(size=(40, 1)), rng.normal(size=(40, 1))


def few_rows(rng):
    """Six rows each."""
    return rng.normal(size=(6, 3)), rng.normal(size=(6, 3))


def digits_of_one_kind(rng):
    """80 sevens against 90 other sevens, 8 x 8 pixels."""
    X, y = digits()
    sevens = rng.permutation(X[y == 7])
    return sevens[:80], sevens[80:170]


def copied_rows(rng):
    """Every row stands one to three times in its set; the test is told nothing."""
    A, B = rng.normal(size=(40, 6)), rng.normal(size=(50, 6))
    copies = [rng.integers(1, 4, len(X)) for X in (A, B)]
    return np.repeat(A, copies[0], axis=0), np.repeat(B, copies[1], axis=0)


def small_pool(rng):
    """Both sets drawn with replacement from the same 40 rows: equal draws, within and across."""
    pool = rng.normal(size=(40, 6))
    return pool[rng.integers(0, 40, 60)], pool[rng.integers(0, 40, 90)]


def resampled(rng, common, draw=lambda rng, n: rng.normal(size=(n, 5))):
    """80 and 100 rows resampled from 50 and 60, of which both sets share some."""
    rows = draw(rng, 110 - common)
    A, B = rows[:50], np.concatenate([rows[:common], rows[50:]])
    return A[rng.integers(0, 50, 80)], B[rng.integers(0, 60, 100)]


def resampled_counts(rng):
    return resampled(rng, 5, lambda rng, n: rng.poisson(3, size=(n, 8)).astype(float))


def uneven_pool(rng):
    """30 and 120 draws of 40 rows, some far more frequent than others."""
    pool, chances = rng.normal(size=(40, 4)), rng.dirichlet(np.full(40, 0.5))
    return pool[rng.choice(40, 30, p=chances)], pool[rng.choice(40, 120, p=chances)]


NULL_DESIGNS = {
    "unlike sizes": unlike_sizes,
    "p + q < d": wide,
    "heavy tails": heavy_tails,
    "Cauchy": cauchy,
    "counts": counts,
    "categories": categories,
    "mixed units": mixed_units,
    "one column": one_column,
    "six rows each": few_rows,
    "digits of one kind": digits_of_one_kind,
    "copies": copied_rows,
    "small pool": small_pool,
    "copies, 5 rows in common": lambda rng: resampled(rng, 5),
    "copies, 25 rows in common": lambda rng: resampled(rng, 25),
    "copies, 40 rows in common": lambda rng: resampled(rng, 40),
    "copies of counts": resampled_counts,
    "uneven pool": uneven_pool,
}


# -- something shifted ---------------------------------------------------------------------------


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


def two_clusters(rng, n=150, d=4):
    """Equal means and covariances: one normal cluster against two, 1.8 apart."""
    B = rng.normal(size=(n, d))
    B[:, 0] = 0.9 * rng.choice([-1, 1], n) + np.sqrt(1 - 0.81) * B[:, 0]
    return rng.normal(size=(n, d)), B


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


def of_twenty(change):
    """130 + 130 normal rows, d = 20, the second set changed."""

    def design(rng):
        A, B = rng.normal(size=(2, 130, 20))
        change(B)
        return A, B

    return design


def one_mean(B):
    B[:, 0] += 0.5


def all_means(B):
    B += 0.13


def wider(B):
    B *= 1.13


def doubled(B):
    B[:9] *= 2


def new_cluster(B):
    B[:5] += 1.5


def uniform(rng):
    """Normal against uniform features of equal variance, d = 5."""
    return rng.normal(size=(200, 5)), rng.uniform(-(3**0.5), 3**0.5, size=(200, 5))


def parabola(rng):
    """The second feature leans on the square of the first; means and covariances are equal."""
    A, B = rng.normal(size=(2, 200, 5))
    B[:, 1] = 0.6 * (B[:, 0] ** 2 - 1) / np.sqrt(2) + 0.8 * B[:, 1]
    return A, B


SHIFTED_DESIGNS = {
    "mean, normal": mean_shift,
    "covariance only, normal": covariance_shift,
    "covariance only, t(3)": heavy_covariance_shift,
    "fours, 10 % nines mixed in": mixed_digits,
    "one mean of 40": one_mean_of_many,
    "skewed, moments 1, 2 equal": skewed,
    "clusters, moments 1, 2 equal": two_clusters,
    "benign, 10 % malignant": malignant_cells,
    "threes, 10 % eights": mixed_threes,
    "one mean +0.5 of 20": of_twenty(one_mean),
    "all 20 means +0.13": of_twenty(all_means),
    "scale x 1.13": of_twenty(wider),
    "7 % of rows doubled": of_twenty(doubled),
    "a new cluster of 4 %": of_twenty(new_cluster),
    "uniform against normal": uniform,
    "bimodal, one of 5": lambda rng: two_clusters(rng, 200, 5),
    "x2 leans on x1 squared": parabola,
}


# -- tests ---------------------------------------------------------------------------------------


def ours(A, B, seed):
    return shift_test(A, B, n_permutations=PERMUTATIONS, random_state=seed).pvalue


def unaware(A, B, seed):
    """Our test, told to take copies for draws: the control of the copied rows."""
    options = {"copies": "keep", "n_permutations": PERMUTATIONS, "random_state": seed}
    return shift_test(A, B, **options).pvalue


def classifier(model):
    """Fitted on one half, tested by the rank sum of its scores on the other."""

    def test(A, B, seed):
        rng = np.random.default_rng(seed)
        halves = [np.array_split(rng.permutation(X), 2) for X in (A, B)]
        labels = np.repeat([0, 1], [len(halves[0][0]), len(halves[1][0])])
        fitted = model().fit(np.concatenate([halves[0][0], halves[1][0]]), labels)
        a, b = (fitted.decision_function(half[1]) for half in halves)
        return mannwhitneyu(b, a, alternative="greater").pvalue

    return test


def logistic():
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def boosting():
    return GradientBoostingClassifier(n_estimators=60, subsample=0.7, random_state=0)


def labellings(m, n, seed):
    """Contrasts of the true labels and of permuted ones."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([1 / m, -1 / n], [m, n])
    return np.array([truth, *(rng.permutation(truth) for _ in range(PERMUTATIONS))])


def share_reached(values):
    return np.mean(values >= values[0] - 1e-12 * np.abs(values).max())


def energy(A, B, seed):
    contrast = labellings(len(A), len(B), seed)
    distance = squareform(pdist(np.concatenate([A, B])))
    return share_reached(-np.sum((contrast @ distance) * contrast, axis=1))


def mmd(A, B, seed):
    contrast = labellings(len(A), len(B), seed)
    distance = squareform(pdist(np.concatenate([A, B]), "sqeuclidean"))
    kernel = np.exp(-distance / np.median(distance[np.triu_indices(len(distance), 1)]))
    return share_reached(np.sum((contrast @ kernel) * contrast, axis=1))


def frechet(A, B, seed, labels=100):
    rows, values = np.concatenate([A, B]), []
    for contrast in labellings(len(A), len(B), seed)[:labels]:
        a, b = rows[contrast > 0], rows[contrast < 0]
        cov_a, cov_b = np.cov(a.T), np.cov(b.T)
        variances, axes = np.linalg.eigh(cov_a)
        root = axes * np.sqrt(np.maximum(variances, 0)) @ axes.T
        common = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ cov_b @ root), 0)).sum()
        moved = np.sum((a.mean(axis=0) - b.mean(axis=0)) ** 2)
        values.append(moved + np.trace(cov_a) + np.trace(cov_b) - 2 * common)
    return share_reached(np.array(values))


OTHERS = {
    "logistic": classifier(logistic),
    "boosting": classifier(boosting),
    "MMD": mmd,
    "energy": energy,
    "Frechet": frechet,
}


# -- what is printed -----------------------------------------------------------------------------


def rejections(design, test, simulations, stream):
    """Share of simulated pairs that a test rejects at the level."""
    pvalues = [test(*design(np.random.default_rng([stream, i])), i) for i in range(simulations)]
    return float(np.mean(np.array(pvalues) <= LEVEL))


def print_level(options):
    n = options.simulations
    print(f"Nothing shifted: rejections at {LEVEL:.0%}, {n} simulations each")
    for stream, (name, design) in enumerate(NULL_DESIGNS.items()):
        rate = rejections(design, ours, n, stream)
        reach = 1.96 * np.sqrt(rate * (1 - rate) / n)  # of so many simulations
        low, high = rate - reach, rate + reach
        inside = low <= 0.065 and high >= 0.035
        verdict = f"({low:.1%} to {high:.1%})  {'ok' if inside else 'OUTSIDE 3.5 % - 6.5 %'}"
        print(f"  {name:30s} {rate:7.2%}  {verdict}", flush=True)
    rate = rejections(copied_rows, unaware, n // 4, 3)
    print(f"  {'(control: copies kept)':30s} {rate:7.2%}", flush=True)


def print_power(options):
    n = options.power_simulations
    print(f"Something shifted: power at {LEVEL:.0%}, {n} simulations each")
    tests = {"shift_test": ours, **OTHERS}
    print(f"  {'':30s} " + " ".join(f"{name:>11s}" for name in tests) + "  less best")
    table = []
    for stream, (name, design) in enumerate(SHIFTED_DESIGNS.items()):
        rates = [rejections(design, test, n, 100 + stream) for test in tests.values()]
        table.append(rates)
        lead = rates[0] - max(rates[1:])
        cells = " ".join(f"{rate:11.1%}" for rate in rates)
        print(
            f"  {name:30s} {cells} {lead:+10.1%}{'' if lead > -0.0801 else '  BEHIND'}", flush=True
        )
    mean = np.mean(table, axis=0)
    cells = " ".join(f"{rate:11.1%}" for rate in mean)
    print(f"  {'mean':30s} {cells} {mean[0] - max(mean[1:]):+10.1%}")


PART_DESIGNS = {
    "nothing": lambda A, B: (A, B),
    "location": lambda A, B: (A, B + 0.4),
    "scale": lambda A, B: (A, B * 1.4),
    "shape": lambda A, B: (A, B * np.array([1.8, 1 / 1.8, 1, 1, 1])),
    "location and scale": lambda A, B: (A, B * 1.4 + 0.4),
    "location and shape": lambda A, B: (A, B * np.array([1.8, 1 / 1.8, 1, 1, 1]) + 0.4),
}


def print_parts(options):
    n = options.simulations // 2
    print(f"Parts with an adjusted p-value of at most {LEVEL:.0%}, {n} simulations each")
    for sizes in ((80, 80), (60, 180), (180, 60)):
        for name, change in PART_DESIGNS.items():
            found = np.zeros(3)
            for i in range(n):
                rng = np.random.default_rng([5, i])
                pair = change(*(rng.normal(size=(size, 5)) for size in sizes))
                parts = shift_test(*pair, n_permutations=PERMUTATIONS, random_state=i).parts
                found += [p <= LEVEL for p in parts.values()]
            shown = ", ".join(
                f"{part} {share:.1%}" for part, share in zip(parts, found / n, strict=True)
            )
            print(f"  {sizes[0]:3d} + {sizes[1]:3d} rows, {name:20s} differ: {shown}", flush=True)


EFFECT_DESIGNS = {
    "nothing": (5, lambda B: B),
    "nothing, d = 30": (30, lambda B: B),
    "mean +0.1": (5, lambda B: B + 0.1),
    "mean +0.3": (5, lambda B: B + 0.3),
    "mean +1.5": (5, lambda B: B + 1.5),
    "scale x 1.5": (5, lambda B: B * 1.5),
    "skewed": (5, lambda B: np.exp(B)),
}


def print_effect(options):
    n = options.simulations // 2
    print(f"95 % intervals of the effect that hold the AUC on new rows, {n} simulations each")
    for name, (d, change) in EFFECT_DESIGNS.items():
        for sizes in ((40, 60), (150, 150)):
            held, values = 0, []
            for i in range(n):
                rng = np.random.default_rng([6, i])
                A, B, new_a, new_b = (rng.normal(size=(m, d)) for m in (*sizes, 3000, 3000))
                found, truth = effect_and_truth(A, change(B), new_a, change(new_b), rng)
                held += found.low <= truth <= found.high
                values.append(found.value)
            print(
                f"  {name:18s} {sizes[0]:3d} + {sizes[1]:3d} rows: {held / n:6.1%}   "
                f"mean effect {np.mean(values):.3f}",
                flush=True,
            )


def effect_and_truth(A, B, new_a, new_b, rng):
    """The effect with its interval, and the mean AUC of its scores on new rows."""
    rows, units = np.concatenate([A, B]), settle_copies(A, B, "keep")
    at, in_a = Coordinates.fit(rows), units.places == 0
    splits = np.stack([quarters(units.places, rng) for _ in range(SPLITS)])
    found = held_out_effect(at, rows, in_a, splits, 0.95, rng)
    new = np.concatenate([new_a, new_b])
    everything = np.concatenate([rows, new])
    unused = np.full((SPLITS, len(new)), -1)
    member = np.append(in_a, np.zeros(len(new), dtype=bool))
    scores = cross_fit(at, everything, member, np.hstack([splits, unused]))[:, len(rows) :]
    m = len(new_a)
    return found, np.mean([rank_auc(x[:m, half], x[m:, half]) for x in scores for half in (0, 1)])


def print_time(_):
    print("Processor seconds, 999 permutations, one thread")
    for n, d in ((100, 10), (500, 64), (2500, 20), (2500, 64), (2000, 784)):
        rows = np.random.default_rng(0).normal(size=(2, n, d)) * np.logspace(0, -1, d)
        start = time.process_time()
        shift_test(*rows)
        print(f"  2 x {n} rows, {d} features: {time.process_time() - start:.2f} s", flush=True)


SECTIONS = {
    "level": print_level,
    "power": print_power,
    "parts": print_parts,
    "effect": print_effect,
    "time": print_time,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    parser.add_argument("--simulations", type=int, default=800)
    parser.add_argument("--power-simulations", type=int, default=200)
    options = parser.parse_args()
    for name in options.sections or SECTIONS:
        SECTIONS[name](options)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
