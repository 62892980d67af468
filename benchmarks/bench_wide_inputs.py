"""Few rows of many features, in files that do not say how many rows they have.

    python benchmarks/bench_wide_inputs.py            some minutes
    python benchmarks/bench_wide_inputs.py --quick    smaller, a minute

Two Parquet files say how many rows they have, so that it is known from the start that a matrix of
features by features is not needed. CSV files, classes of one table (`--label`), files with gaps
(`--missing drop`) and folders do not. What must hold: their comparison takes at most twice the time
and twice the memory of the two Parquet files; 40 + 40 images of 64 x 64 pixels take seconds.

Every command runs in a process of its own with one BLAS thread. Memory is the peak of the process;
the time is that of the processor, which other work on the machine does not change.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

RUN = """
import json, sys, time
from cospan.cli import main
code = 0
try:
    main()
except SystemExit as end:
    code = end.code
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
peak = int(status["VmHWM"].split()[0]) * 1024
print(json.dumps([code, time.process_time(), peak]), file=sys.stderr)
"""


def rows_of(n, d, seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d)).astype(np.float32)
    rows[:, seed * 50 : seed * 50 + 50] *= 2
    return rows


def as_table(rows, **more):
    columns = {f"f{i}": rows[:, i] for i in range(rows.shape[1])}
    return pa.table({**columns, **more})


def write_all(folder, n, d):
    """The same rows as Parquet, CSV, one labelled table, with gaps, and as folders."""
    A, B = rows_of(n, d, 0), rows_of(n, d, 1)
    for name, rows in (("a", A), ("b", B)):
        pq.write_table(as_table(rows), folder / f"{name}.parquet")
        header = ",".join(f"f{i}" for i in range(d))
        np.savetxt(
            folder / f"{name}.csv", rows, delimiter=",", fmt="%.8g", header=header, comments=""
        )
        gaps = np.concatenate([rows, np.full((1, d), np.nan, np.float32)])
        pq.write_table(as_table(gaps), folder / f"{name}-gaps.parquet")
        parts = folder / name
        parts.mkdir()
        for i, part in enumerate(np.array_split(rows, 4)):
            pq.write_table(as_table(part), parts / f"part-{i}.parquet")
    label = np.repeat(["a", "b"], n)
    pq.write_table(as_table(np.concatenate([A, B]), y=label), folder / "both.parquet")


def write_images(folder, n, side):
    rng = np.random.default_rng(0)
    for k, name in enumerate(("dark", "light")):
        (folder / name).mkdir()
        for i in range(n):
            pixels = rng.integers(0, 128, (side, side), dtype=np.uint8) + np.uint8(60 * k)
            Image.fromarray(pixels).save(folder / name / f"{i}.png")


def measured(*arguments):
    """Seconds and peak bytes of one command."""
    command = [sys.executable, "-c", RUN, "compare", *map(str, arguments)]
    command += ["--quiet", "--json", "--permutations", "19"]
    found = subprocess.run(command, capture_output=True, text=True)
    code, seconds, peak = json.loads(found.stderr.strip().splitlines()[-1])
    if code:
        raise SystemExit(found.stderr)
    return seconds, peak


def compared(folder):
    cases = {
        "two Parquet files": (folder / "a.parquet", folder / "b.parquet"),
        "classes (--label)": (folder / "both.parquet", "--label", "y", "--a", "a", "--b", "b"),
        "all classes (--label alone)": (folder / "both.parquet", "--label", "y"),
        "folders of Parquet files": (folder / "a", folder / "b"),
        "gaps (--missing drop)": (
            folder / "a-gaps.parquet",
            folder / "b-gaps.parquet",
            "--missing",
            "drop",
        ),
        "two CSV files": (folder / "a.csv", folder / "b.csv"),
    }
    base = None
    for name, arguments in cases.items():
        seconds, peak = min(measured(*arguments) for _ in range(2))
        base = base or (seconds, peak)
        ratio = seconds / base[0], peak / base[1]
        word = "pass" if max(ratio) <= 2 else "SHORT"
        print(
            f"  {name}: {seconds:.1f} s ({ratio[0]:.2f}x), {peak / 1e6:,.0f} MB "
            f"({ratio[1]:.2f}x): {word}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, default=50, help="of each set")
    parser.add_argument("--features", type=int)
    options = parser.parse_args()
    d = options.features or (4_000 if options.quick else 20_000)
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_all(folder, options.rows, d)
        print(f"{2 * options.rows} x {d:,}, each against two Parquet files (at most 2x)")
        compared(folder)
        n = 10 if options.quick else 40
        write_images(folder, n, 64)
        seconds, peak = measured(folder / "dark", folder / "light")
        word = "pass" if seconds <= 30 else "SHORT"
        print(f"{n} + {n} images of 64 x 64: {seconds:.1f} s, {peak / 1e6:,.0f} MB: {word}")


if __name__ == "__main__":
    main()
