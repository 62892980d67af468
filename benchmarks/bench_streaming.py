"""Streams of rows and scoring on this machine, as shares of its own DGEMM rate.

    python benchmarks/bench_streaming.py            about six minutes, 3 GB of disk
    python benchmarks/bench_streaming.py --quick    fewer rows, no large stream
    python benchmarks/bench_streaming.py --compare 1000000 784    Parquet files only

Rates are measured in turns within one run, so that a busy machine slows numerator and
denominator alike. Operations counted: exact stream and scoring 2 n d², fast stream n d².
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from cospan import JointFrame, Summary

D = 784


def timed(task):
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def peak_memory():
    """Peak memory of this process in MB. Linux hands ru_maxrss on to children, VmHWM not."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


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
    task = partial(Summary.of_chunks, _generated(1_000_000, 20_000, np.float32), exact=exact)
    print(timed(task), peak_memory())


def _generated(n, size, dtype):
    """Rows made as they are needed, as a generator that reads a file would make them."""
    rng = np.random.default_rng(0)
    for start in range(0, n, size):
        yield rng.standard_normal((min(size, n - start), D), dtype=dtype)


def memory():
    for way in ("exact", "fast"):
        command = [sys.executable, __file__, "--million", way]
        seconds, peak = map(float, subprocess.check_output(command, text=True).split())
        extra = f", {seconds:.1f} s with making the rows"
        what = f"peak memory, {way}, 1,000,000 x {D} float32 rows from a generator"
        verdict(what, peak, 500, "MB", larger=False, extra=extra)


def write_parquet(path, n, d, seed, shift):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    scale = np.geomspace(2, 0.2, d).astype(np.float32)
    names = [f"x{i}" for i in range(d)]
    schema = pa.schema([(name, pa.float32()) for name in names])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, n, 50_000):
            shape = (min(50_000, n - start), d)
            X = rng.standard_normal(shape, dtype=np.float32) * scale + np.float32(shift)
            writer.write_table(pa.table(list(X.T), schema=schema))


def read(paths):
    import pyarrow.parquet as pq

    for path in paths:
        for _ in pq.ParquetFile(path).iter_batches(8192):
            pass


def squared(n, d):
    """One DSYRK pass over n rows."""
    from scipy.linalg.blas import dsyrk

    X = np.random.default_rng(0).standard_normal((8192, d))
    total = np.zeros((d, d), order="F")
    for _ in range(n // 8192):
        total = dsyrk(1.0, X.T, beta=1.0, c=total, overwrite_c=1)


def command_line(arguments):
    """The command `cospan` in this process, with its peak memory as the last word printed."""
    from cospan.cli import main as cospan

    sys.argv = ["cospan", *arguments]
    try:
        cospan()
    finally:
        print(peak_memory())


def compared(n, d):
    """`cospan compare` of two Parquet files of n rows together, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("a.parquet", "b.parquet")]
        for seed, path in enumerate(paths):
            write_parquet(path, n // 2, d, seed, 0.1 * seed)
        command = [sys.executable, __file__, "--command", "compare", *paths, "--quiet"]
        reading = timed(lambda: read(paths))
        start = time.perf_counter()
        output = subprocess.check_output(command, text=True)
        seconds = time.perf_counter() - start
        reading = min(reading, timed(lambda: read(paths)))
    peak = float(output.split()[-1])
    squaring = timed(lambda: squared(n, d))
    print(
        f"cospan compare, {n:,} x {d} float32 rows in two Parquet files: {seconds:.1f} s; ", end=""
    )
    print(f"reading {reading:.1f} s, DSYRK {squaring:.1f} s")
    verdict("  ratio", seconds / (reading + squaring), 2.5, "times", larger=False)
    verdict("  peak memory", peak, 1000, "MB", larger=False)


def main():
    if sys.argv[1:2] == ["--command"]:
        command_line(sys.argv[2:])
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--million", choices=["exact", "fast"])
    parser.add_argument("--compare", nargs=2, type=int, metavar=("N", "D"))
    options = parser.parse_args()
    if options.compare:
        compared(*options.compare)
        return
    if options.million:
        million_rows(options.million == "exact")
        return
    n, rounds = (20_000, 2) if options.quick else (60_000, 4)
    shares(n, np.float64, rounds)
    shares(n, np.float32, rounds)
    if not options.quick:
        for n, d in ((1_000_000, D), (10_000_000, 64)):
            compared(n, d)
        memory()


if __name__ == "__main__":
    main()
