"""How often the intervals of `separation` hold the truth, beside the textbook's percentiles.

    python benchmarks/bench_intervals.py [--simulations 200]

Angles are beta distributed, so that the true values are known. The intervals' construction was
chosen on the pairs without a star; those with one were written down afterwards.
"""

import argparse

import numpy as np
from scipy.stats import beta
from threadpoolctl import threadpool_limits

from cospan import angle_histogram, fisher_rao, separation
from cospan.distribution import overlap

PAIRS = {
    "equal": ((4, 4), (4, 4)),
    "close": ((4, 4), (5, 4)),
    "close, narrow": ((20, 30), (22, 30)),
    "far": ((3, 6), (6, 3)),
    "nearly disjoint": ((2, 8), (8, 2)),
    "* equal, skewed": ((1, 5), (1, 5)),
    "* wide, narrow": ((2, 2), (30, 30)),
    "* far, skewed": ((1, 4), (5, 3)),
}
SIZES = ((20, 20), (50, 50), (50, 400), (200, 200))


def truth(first, second, bins=30):
    edges, grid = np.linspace(0, 1, bins + 1), np.linspace(0, 1, 100_001)
    P, Q = (np.diff(beta.cdf(edges, *shape)) for shape in (first, second))
    density = np.diff(beta.cdf(grid, *second))
    middle = (beta.cdf(grid[1:], *first) + beta.cdf(grid[:-1], *first)) / 2
    return fisher_rao(P, Q), float(np.sum(middle * density)), overlap(P, Q)


def percentiles_hold(a, b, value, rng, draws=200):
    """Whether the percentile interval of the plain bootstrap holds the Fisher-Rao distance."""
    P, Q = (np.sqrt(rng.multinomial(len(x), angle_histogram(x), draws) / len(x)) for x in (a, b))
    distances = 2 * np.arccos(np.minimum(np.sum(P * Q, axis=1), 1))
    low, high = np.quantile(distances, [0.025, 0.975])
    return low <= value <= high


def coverage(first, second, sizes, simulations):
    values, held = truth(first, second), np.zeros(4)
    for seed in range(simulations):
        rng = np.random.default_rng([seed, *sizes])
        a, b = (
            rng.beta(*shape, n) * np.pi / 2 for shape, n in zip((first, second), sizes, strict=True)
        )
        result = separation(a, b, n_bootstrap=300, random_state=rng)
        for k, estimate in enumerate((result.fisher_rao, result.auc, result.overlap)):
            held[k] += estimate.low - 1e-9 <= values[k] <= estimate.high + 1e-9
        held[3] += percentiles_hold(a, b, values[0], rng)
    return held / simulations


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=200)
    options = parser.parse_args()
    print(f"95 % intervals that hold the truth, {options.simulations} simulations each")
    heads = f"{'F-R':>6s} {'AUC':>6s} {'overlap':>8s} {'F-R percentiles':>16s}"
    print(f"  {'pair':20s} {'n':>11s} {heads}")
    for name, (first, second) in PAIRS.items():
        for sizes in SIZES:
            arc, auc, common, plain = coverage(first, second, sizes, options.simulations)
            n = " + ".join(map(str, sizes))
            print(
                f"  {name:20s} {n:>11s} {arc:6.0%} {auc:6.0%} {common:8.0%} {plain:16.0%}",
                flush=True,
            )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
