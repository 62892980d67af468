"""Streams of rows and scoring on this machine, as shares of its own DGEMM rate.

    python benchmarks/bench_streaming.py            about two minutes
    python benchmarks/bench_streaming.py --quick    fewer rows, no large stream

Rates are measured in turns within one run, so that a busy machine slows numerator and
denominator alike. Operations counted: exact stream and scoring 2 n d², fast stream n d².
"""

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

from cospan import JointFrame, Summary

D = 784


def timed(task):
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def verdict(what, value, target, unit, *, larger=True, extra=""):
    good = value >= target if larger else value <= target
    bound = "at least" if larger else "at most"
    word = "pass" if good else "SHORT"
    print(
        f"{what}: {value:.3g} {unit} (target {bound} {target:g} {unit}){extra}: {word}", flush=True
    )


def chunks(n, block):
    """Chunks of n rows in all, each a view of the same block: making them costs nothing."""
    for start in range(0, n, len(block)):
        yield block[: min(len(block), n - start)]


def shares(n, dtype, rounds):
    """Best rate of each task relative to the best DGEMM, all run in turns."""
    X = np.random.default_rng(1).standard_normal((8192, D))
    W = np.random.default_rng(2).standard_normal((D, D))
    frame = JointFrame.fit(X[:2000], X[2000:4000] * np.linspace(0.5, 2, D), shrinkage=0.1)
    Z = np.random.default_rng(3).standard_normal((n, D))
    block = Z[:20_000].astype(dtype)
    tasks = {
        "DGEMM": (2 * 8192 * D * D, lambda: X @ W),
        "exact": (2 * n * D * D, lambda: Summary.of_chunks(chunks(n, block))),
        "fast": (n * D * D, lambda: Summary.of_chunks(chunks(n, block), exact=False)),
        "scoring": (2 * n * D * D, lambda: frame.align(Z)),
    }
    best = dict.fromkeys(tasks, 0.0)
    for _ in range(rounds):
        for name, (operations, task) in tasks.items():
            best[name] = max(best[name], operations / timed(task) / 1e9)
    print(f"DGEMM {best['DGEMM']:.1f} GF/s; {n:,} x {D} rows, {np.dtype(dtype).name}")
    for name, target in (("exact", 30), ("fast", 60), ("scoring", 75)):
        what = "scoring (float64 rows)" if name == "scoring" else f"{name} stream"
        share = 100 * best[name] / best["DGEMM"]
        verdict(what, share, target, "% of DGEMM", extra=f", {best[name]:.1f} GF/s")


def million_rows(exact):
    """Run by itself in a process of its own, for its peak memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = timed(
        lambda: Summary.of_chunks(_generated(1_000_000, 20_000, np.float32), exact=exact)
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{seconds} {before * 1024 / 1e6} {peak * 1024 / 1e6}")


def _generated(n, size, dtype):
    """Rows made as they are needed, as a generator that reads a file would make them."""
    rng = np.random.default_rng(0)
    for start in range(0, n, size):
        yield rng.standard_normal((min(size, n - start), D), dtype=dtype)


def memory():
    for way in ("exact", "fast"):
        command = [sys.executable, __file__, "--million", way]
        seconds, _, peak = map(float, subprocess.check_output(command, text=True).split())
        extra = f", {seconds:.1f} s with making the rows"
        what = f"peak memory, {way}, 1,000,000 x {D} float32 rows from a generator"
        verdict(what, peak, 500, "MB", larger=False, extra=extra)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--million", choices=["exact", "fast"])
    options = parser.parse_args()
    if options.million:
        million_rows(options.million == "exact")
        return
    n, rounds = (20_000, 2) if options.quick else (60_000, 4)
    shares(n, np.float64, rounds)
    shares(n, np.float32, rounds)
    if not options.quick:
        memory()


if __name__ == "__main__":
    main()
