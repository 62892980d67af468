"""How often the intervals of `separation` hold the truth, beside the textbook's percentiles.

    python benchmarks/bench_intervals.py [angles] [frames] [--simulations 400]

angles  New angles, beta distributed, so that the true values are known. The intervals'
        construction was chosen on the pairs without a star; those with one were written down
        afterwards.
frames  Leave-one-out angles of fitted frames. The truth is what the same frame says of 20,000
        new rows: their AUC, and the Fisher-Rao distance of their histograms, less what 10,000
        rows of either set are apart by chance. With the fit's reliability, and without: as if
        the frame were given. Coverage must be within 92 and 98 % (95 % binomial bounds).

400 simulations of the frames take about ten minutes on one core.
"""

import argparse

import numpy as np
from scipy.stats import beta
from threadpoolctl import threadpool_limits

from cospan import JointFrame, angle_histogram, fisher_rao, separation
from cospan.distribution import angle_auc, overlap
from cospan.significance import fit_reliability

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
        result = separation(a, b, bins=30, n_bootstrap=300, random_state=rng)
        for k, estimate in enumerate((result.fisher_rao, result.auc, result.overlap)):
            held[k] += estimate.low - 1e-9 <= values[k] <= estimate.high + 1e-9
        held[3] += percentiles_hold(a, b, values[0], rng)
    return held / simulations


def normal(d, change):
    """Rows of B are changed normal rows."""
    return lambda rng, n, side: change(rng.normal(size=(n, d))) if side else rng.normal(size=(n, d))


def heavy(rng, n, side):
    """Student t with 3 degrees of freedom, moved by half a unit."""
    return rng.standard_t(3, size=(n, 6)) + 0.5 * side


FRAMES = {
    "nothing, d = 5": (normal(5, lambda B: B), (60, 80)),
    "nothing, d = 20": (normal(20, lambda B: B), (60, 80)),
    "small step": (normal(8, lambda B: B + 0.15), (100, 100)),
    "large step": (normal(8, lambda B: B + 0.5), (60, 150)),
    "scale x 1.4": (normal(8, lambda B: B * 1.4), (100, 100)),
    "heavy tails": (heavy, (80, 80)),
    "many columns": (normal(40, lambda B: B + 0.2), (80, 80)),
}


def distance_of_many(a, b, bins=30):
    """Fisher-Rao of two histograms of many angles, less what chance adds to its square."""
    P, Q = angle_histogram(a, bins), angle_histogram(b, bins)
    squared = 1 - np.sum(np.sqrt(P * Q))
    chance = (np.count_nonzero(P + Q) - 1) / 8 * (1 / len(a) + 1 / len(b))
    return 2 * np.arccos(1 - max(squared - chance, 0.0))


def holds(share, simulations):
    """Whether a coverage can be 92 to 98 %, given so many simulations."""
    reach = 1.96 * np.sqrt(0.95 * 0.05 / simulations)
    return 0.92 - reach <= share <= 0.98 + reach


def frame_coverage(draw, sizes, simulations):
    """Shares of Fisher-Rao and AUC intervals that hold, with reliability and without."""
    held, found = np.zeros((2, 2)), []
    for seed in range(simulations):
        rng = np.random.default_rng([9, seed])
        A, B = (draw(rng, n, side) for side, n in enumerate(sizes))
        frame = JointFrame.fit(A, B)
        own, reliability = frame.leave_one_out(A, B), fit_reliability(frame, A, B)
        a, b = (frame.align(draw(rng, 10_000, side)).theta for side in (0, 1))
        values = distance_of_many(a, b), angle_auc(a, b)
        found.append(reliability)
        for k, r in enumerate((reliability, 1.0)):
            result = separation(own.a.theta, own.b.theta, n_bootstrap=300, reliability=r)
            for j, estimate in enumerate((result.fisher_rao, result.auc)):
                held[k, j] += estimate.low - 1e-9 <= values[j] <= estimate.high + 1e-9
    return held / simulations, np.mean(found)


def print_frames(simulations):
    print(f"95 % intervals of leave-one-out angles that hold, {simulations} simulations each")
    heads = f"{'F-R':>6s} {'AUC':>6s}   {'frame given: F-R':>17s} {'AUC':>6s} {'reliability':>12s}"
    heads += "   92 to 98 %"
    print(f"  {'rows':18s} {'n':>11s} {heads}")
    for name, (draw, sizes) in FRAMES.items():
        ((arc, auc), (plain_arc, plain_auc)), reliability = frame_coverage(draw, sizes, simulations)
        n = " + ".join(map(str, sizes))
        print(
            f"  {name:18s} {n:>11s} {arc:6.1%} {auc:6.1%}   {plain_arc:17.1%} {plain_auc:6.1%} "
            f"{reliability:12.2f}   {holds(arc, simulations) and holds(auc, simulations)}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="section", help="angles, frames")
    parser.add_argument("--simulations", type=int, default=400)
    options = parser.parse_args()
    if "angles" in (options.sections or ["angles"]):
        print_angles(options)
    if "frames" in (options.sections or ["frames"]):
        print_frames(options.simulations)


def print_angles(options):
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
