"""Wide data: few rows of very many features exactly, and long wide streams by low rank.

    python benchmarks/bench_wide.py            about a minute
    python benchmarks/bench_wide.py --quick    smaller, seconds

Exact: 400 rows against 300 of 100,000 features, in a process of its own for its peak memory.
Low rank: how far the angles of summaries of a rank lie from the exact ones.
"""

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from cospan import JointFrame, Summary


def peak_memory():
    """Peak memory of this process in MB. Linux hands ru_maxrss on to children, VmHWM not."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def verdict(what, value, target, unit):
    word = "pass" if value <= target else "SHORT"
    print(f"{what}: {value:.3g} {unit} (target at most {target:g} {unit}): {word}", flush=True)


def exact_pair(p, q, d):
    """Fit and score, and print seconds, peak memory in MB and the two accuracies."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((p, d))
    B = rng.standard_normal((q, d))
    A[:, :50] *= 3
    B[:, 50:100] *= 3
    start = time.perf_counter()
    frame = JointFrame.fit(A, B)
    seconds = time.perf_counter() - start
    fresh = rng.standard_normal((20, d))
    fresh[:, :50] *= 3
    theta = frame.align(fresh).degrees
    peak = peak_memory()
    print(f"{seconds} {peak} {frame.shrinkage} {theta.mean()}")


def exact(p, q, d):
    command = [sys.executable, __file__, "--exact", str(p), str(q), str(d)]
    output = subprocess.check_output(command, text=True).split()
    seconds, peak, shrinkage, theta = map(float, output)
    print(f"{p} x {d:,} against {q} x {d:,}, float64, exactly, shrinkage chosen ({shrinkage:g})")
    verdict("time to fit", seconds, 20, "s")
    verdict("peak memory, the rows included", peak, 2000, "MB")
    print(f"  mean angle of new rows like A: {theta:.2f} degrees")


def stream(n, d, strength, seed, size=500):
    """Rows with a spectrum that falls like 1/k in directions of their own, and noise."""
    rng = np.random.default_rng(seed)
    axes = np.random.default_rng([seed, 1]).standard_normal((len(strength), d)) / np.sqrt(d)
    for start in range(0, n, size):
        rows = min(size, n - start)
        weights = rng.standard_normal((rows, len(strength))) * strength
        yield weights @ axes + 0.01 * rng.standard_normal((rows, d))


def low_rank(n, d, ranks):
    """Angles from summaries of a rank against those from exact ones."""
    strength = 10 / np.arange(1, 301)
    Z = np.concatenate([next(stream(200, d, strength, seed)) for seed in (1, 2)])
    print(f"\nLow rank: {n:,} x {d:,} rows a set, shrinkage 0.1")
    exact = [Summary.of_chunks(stream(n, d, strength, seed)) for seed in (1, 2)]
    expected = JointFrame.from_summaries(*exact, shrinkage=0.1).align(Z).degrees
    print("  rank  captured  largest error  mean error  seconds a set  numbers kept")
    for rank in ranks:
        start = time.perf_counter()
        pair = [Summary.of_chunks(stream(n, d, strength, seed), rank=rank) for seed in (1, 2)]
        seconds = (time.perf_counter() - start) / 2
        frame = JointFrame.from_summaries(*pair, shrinkage=0.1)
        error = np.abs(frame.align(Z).degrees - expected)
        print(
            f"  {rank:4d}  {pair[0].captured:8.4f}  {error.max():11.4f}°  {error.mean():9.4f}°"
            f"  {seconds:13.2f}  {rank * d:12,}",
            flush=True,
        )


def very_wide(n, d, rank):
    """A stream too long for the row space and too wide for a square factor."""
    strength = 10 / np.arange(1, 301)
    start = time.perf_counter()
    pair = [
        Summary.of_chunks(stream(n, d, strength, seed, 200), rank=rank, sample_size=50)
        for seed in (1, 2)
    ]
    seconds = time.perf_counter() - start
    frame = JointFrame.from_summaries(*pair)
    new = np.concatenate([next(stream(50, d, strength, seed, 50)) for seed in (1, 2)])
    right = (frame.align(new).predict() == np.repeat([0, 1], 50)).mean()
    peak = peak_memory()
    print(
        f"\n{n:,} x {d:,} rows a set, rank {rank}: {seconds:.1f} s with making the rows, ", end=""
    )
    print(f"captured {pair[0].captured:.4f}, {right:.0%} of new rows right, peak {peak:,.0f} MB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--exact", nargs=3, type=int)
    options = parser.parse_args()
    if options.exact:
        exact_pair(*options.exact)
    elif options.quick:
        exact(40, 30, 10_000)
        low_rank(1_000, 400, (20, 100, 300))
    else:
        exact(400, 300, 100_000)
        low_rank(4_000, 1_000, (25, 50, 100, 200, 300, 400))
        very_wide(1_000, 100_000, 100)


if __name__ == "__main__":
    main()
