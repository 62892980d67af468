"""What reading costs: processor time, memory that does not grow with the rows, and wide tables.

    python benchmarks/bench_data.py                              some minutes, 3 GB of disk
    python benchmarks/bench_data.py --against ../other/src       beside another source tree
    python benchmarks/bench_data.py --rows 20000 --columns 500   seconds

The long table is like a year of flights: ten columns of whole numbers, five of numbers with gaps,
four categories (16, 4,000, 3 and 105 levels) and a date, in two files of half the rows each. The
wide table has 200 rows. "read" learns how to encode both files together and reads them to the end;
"compare" is the command. Every run is a process of its own with one BLAS thread; trees take turns,
and the best of three counts. Another source tree is a folder that holds the package `cospan`.
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
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

PIECE = 250_000
RUN = r"""
import json, re, sys, time, warnings
from pathlib import Path
warnings.simplefilter("ignore")
import cospan.cli
def read(paths):
    try:
        from cospan.data import encode, open_source
    except ModuleNotFoundError:  # 0.2
        from cospan.sources import encode_together as encode, open_source
    for source in encode([open_source(path) for path in paths]):
        for chunk in source.chunks():
            pass
def compare(paths):
    sys.argv = ["cospan", "compare", *paths, "--quiet", "--json"]
    sys.stdout = open("/dev/null", "w")
    try:
        cospan.cli.main()
    except SystemExit as end:
        if end.code:
            raise
start, busy = time.perf_counter(), time.process_time()
{"read": read, "compare": compare}[sys.argv[1]](sys.argv[2:])
seconds, busy = time.perf_counter() - start, time.process_time() - busy
peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]
print(json.dumps([busy, seconds, int(peak) / 1024]), file=sys.stderr)
"""


def flights(n, seed):
    """Rows of a table like a year of flights."""
    rng = np.random.default_rng(seed)

    def levels(name, count):
        drawn = (rng.pareto(1.2, n) * count / 8).astype(int) % count
        return pa.array([f"{name}{i}" for i in range(count)]).take(pa.array(drawn))

    columns = {f"n{j}": rng.integers(0, 2000, n) for j in range(10)}
    for j in range(5):
        columns[f"delay{j}"] = pa.array(rng.gamma(2, 20, n).round(1), mask=rng.random(n) < 0.03)
    columns |= {"carrier": levels("C", 16), "tail": levels("N", 4000), "origin": levels("O", 3)}
    columns["dest"] = levels("D", 105)
    hours = rng.integers(0, 8760, n).astype("timedelta64[h]")
    columns["hour"] = np.datetime64("2013-01-01", "s") + hours
    return pa.table(columns)


def write_long(folder, rows, kind):
    """Two files of half the rows each, written piece by piece."""
    paths = [folder / f"{name}-{rows}.{kind}" for name in "AB"]
    schema = flights(1, 0).schema
    for k, path in enumerate(paths):
        writer = pq.ParquetWriter if kind == "parquet" else pa_csv.CSVWriter
        with writer(path, schema) as file:
            for start in range(0, rows // 2, PIECE):
                file.write_table(flights(min(PIECE, rows // 2 - start), (k, start)))
    return paths


def write_wide(folder, columns):
    paths = [folder / f"wide-{name}.csv" for name in "AB"]
    header = ",".join(f"f{i}" for i in range(columns))
    for k, path in enumerate(paths):
        rows = np.random.default_rng(k).normal(size=(100, columns))
        np.savetxt(path, rows, "%.6g", ",", header=header, comments="")
    return paths


def measured(tree, what, paths):
    """Processor seconds, seconds and peak MB of one run on a source tree."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = str(tree)
    run = [sys.executable, "-c", RUN, what, *map(str, paths)]
    found = subprocess.run(run, capture_output=True, text=True, env=environment)
    if found.returncode:
        raise SystemExit(f"{tree}: {what} failed: {found.stderr[-500:]}")
    return json.loads(found.stderr.strip().splitlines()[-1])


def show(title, trees, what, paths, repeats):
    """Print the figures of a run on each tree, and their ratio."""
    runs = [[measured(tree, what, paths) for tree in trees] for _ in range(repeats)]
    best = [[min(figures) for figures in zip(*own, strict=True)] for own in zip(*runs, strict=True)]
    shown = [
        f"{busy:.2f} s of processor, {seconds:.2f} s, {peak:,.0f} MB"
        for busy, seconds, peak in best
    ]
    ratio = f"; ratio {best[0][0] / best[1][0]:.2f}" if len(best) == 2 else ""
    print(f"{title}, {what}: {' against '.join(shown)}{ratio}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--against", type=Path, help="another source tree")
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 5_000_000])
    parser.add_argument("--columns", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=("read", "compare"), help="leave the other out")
    options = parser.parse_args()
    here = Path(__file__).resolve().parents[1] / "src"
    trees = [here, *([options.against.resolve()] if options.against else [])]
    actions = [options.only] if options.only else ["read", "compare"]
    with tempfile.TemporaryDirectory() as folder:
        for rows in options.rows:
            for kind in ("parquet", "csv"):
                paths = write_long(Path(folder), rows, kind)
                for what in actions:
                    title = f"{rows:,} rows x 20 columns, {kind}"
                    show(title, trees, what, paths, options.repeats)
                for path in paths:
                    path.unlink()
        paths = write_wide(Path(folder), options.columns)
        for what in actions:
            show(f"200 rows x {options.columns:,} columns", trees, what, paths, options.repeats)


if __name__ == "__main__":
    main()
