"""How time and memory grow with the number of rows, of features, and of rows of wide data.

    python benchmarks/bench_growth.py                          about two minutes: a table
    python benchmarks/bench_growth.py --figure docs/images/growth.png   and the figure
    python benchmarks/bench_growth.py --quick                  seconds

Each case runs in a process of its own with one BLAS thread, so that its peak memory is its own.
The slope is that of a straight line through the points on log-log paper: 1 is "twice as many rows
take twice the time".
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from cospan import JointFrame, Summary

CASES = {
    "rows n (d = 200), exact stream": ("stream", [20_000, 60_000, 180_000, 540_000]),
    "rows n (d = 200), fast stream": ("fast", [20_000, 60_000, 180_000, 540_000]),
    "features d, summaries to frame": ("frame", [100, 200, 400, 800]),
    "rows p + q of wide data (d = 20,000)": ("wide", [100, 200, 400, 800]),
}
QUICK = {
    "rows n (d = 200), exact stream": ("stream", [5_000, 20_000]),
    "rows n (d = 200), fast stream": ("fast", [5_000, 20_000]),
    "features d, summaries to frame": ("frame", [50, 100]),
    "rows p + q of wide data (d = 20,000)": ("wide", [20, 40]),
}


def peak_memory():
    """Peak memory of this process in MB (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024 / 1e6
    return float("nan")


def chunks(n, d, size=10_000):
    block = np.random.default_rng(0).standard_normal((min(size, n), d))
    for start in range(0, n, size):
        yield block[: min(size, n - start)]


def one(kind, size):
    """Run one case; print seconds, peak memory before and after in MB."""
    rng = np.random.default_rng(0)
    if kind in ("stream", "fast"):
        task = lambda: Summary.of_chunks(chunks(size, 200), exact=kind == "stream")  # noqa: E731
    elif kind == "frame":
        pair = [Summary.of(rng.standard_normal((4 * size, size)) * s) for s in (1, 2)]
        task = lambda: JointFrame.from_summaries(*pair, shrinkage=0.1)  # noqa: E731
    else:
        A, B = (rng.standard_normal((size // 2, 20_000)) for _ in range(2))
        task = lambda: JointFrame.fit(A, B, shrinkage=0.1)  # noqa: E731
    before = peak_memory()
    with threadpool_limits(1):
        start = time.perf_counter()
        task()
        seconds = time.perf_counter() - start
    print(seconds, before, peak_memory())


def measured(kind, size, rounds=2):
    command = [sys.executable, __file__, "--one", kind, str(size)]
    runs = [
        [float(x) for x in subprocess.check_output(command, text=True).split()]
        for _ in range(rounds)
    ]
    seconds, before, peak = min(runs)
    return seconds, before, peak


def slope(sizes, values):
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def table(cases):
    print("| what grows | size | seconds | peak memory (MB) |\n|---|---|---|---|")
    results = {}
    for title, (kind, sizes) in cases.items():
        rows = [measured(kind, size) for size in sizes]
        for size, (seconds, _, peak) in zip(sizes, rows, strict=True):
            print(f"| {title} | {size:,} | {seconds:.3f} | {peak:.0f} |", flush=True)
        results[title] = (sizes, [row[0] for row in rows], [row[2] for row in rows])
    print("\n| what grows | slope of time | slope of memory |\n|---|---|---|")
    for title, (sizes, seconds, peaks) in results.items():
        print(f"| {title} | {slope(sizes, seconds):.2f} | {slope(sizes, peaks):.2f} |")
    return results


def figure(results, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    picture, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for title, (sizes, seconds, peaks) in results.items():
        axes[0].loglog(sizes, seconds, "o-", label=f"{title}: slope {slope(sizes, seconds):.1f}")
        axes[1].loglog(sizes, peaks, "o-", label=title)
    axes[0].set(xlabel="size", ylabel="seconds", title="Time, one thread")
    axes[1].set(xlabel="size", ylabel="MB", title="Peak memory of the process, rows included")
    axes[0].legend(fontsize=7)
    for axis in axes:
        axis.grid(alpha=0.3, which="both")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--figure")
    parser.add_argument("--one", nargs=2)
    options = parser.parse_args()
    if options.one:
        one(options.one[0], int(options.one[1]))
        return
    results = table(QUICK if options.quick else CASES)
    if options.figure:
        figure(results, options.figure)


if __name__ == "__main__":
    main()
