"""What it costs to encode a mixed table: time beside that of its numeric columns, and memory.

    python benchmarks/bench_encoding.py                  327,000 rows × 20 columns, made up
    python benchmarks/bench_encoding.py flights.csv      a table of yours

The table made up is like a year of flights: fifteen numeric columns, five of them with gaps, four
categories (16, 4,000, 3 and 105 levels) and a date. For each kind of table the learning pass and
the reading are timed for all columns and for the numeric columns alone (best of three). Then two
Parquet files, one ten times as long as the other, are learned and read in processes of their own.

The result the project asks for: all columns within about twice the time of the numeric ones from
files, and memory that does not grow with the rows.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from cospan.data import encode, open_source

READ = """
import re, sys, warnings
from pathlib import Path
from cospan.data import open_source
warnings.simplefilter("ignore")
print(sum(len(chunk.rows) for chunk in open_source(sys.argv[1]).chunks()))
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def flights(n, seed=0):
    """A table like a year of flights."""
    rng = np.random.default_rng(seed)

    def level(name, count):
        return [f"{name}{i}" for i in (rng.pareto(1.2, n) * count / 8).astype(int) % count]

    columns = {f"n{j}": rng.integers(0, 2000, n) for j in range(10)}
    for j in range(5):
        columns[f"delay{j}"] = pa.array(rng.gamma(2, 20, n).round(1), mask=rng.random(n) < 0.03)
    columns |= {"carrier": level("C", 16), "tail": level("N", 4000), "origin": level("O", 3)}
    columns["dest"] = level("D", 105)
    hours = rng.integers(0, 8760, n).astype("timedelta64[h]")
    columns["hour"] = np.datetime64("2013-01-01", "s") + hours
    return pa.table(columns)


def timed(thing):
    """Seconds to learn and to read, and the number of features."""
    start = time.perf_counter()
    (source,) = encode([open_source(thing)])
    learned = time.perf_counter()
    for chunk in source.chunks():
        assert chunk.rows.shape[1] == source.n_features
    return learned - start, time.perf_counter() - learned, source.n_features


def kinds(table, folder, name):
    pq.write_table(table, folder / f"{name}.parquet")
    pa_csv.write_csv(table, folder / f"{name}.csv")
    return {
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
        "arrow": table,
        "parquet": folder / f"{name}.parquet",
        "csv": folder / f"{name}.csv",
    }


def numeric(table):
    def is_number(type_):
        return pa.types.is_integer(type_) or pa.types.is_floating(type_)

    return table.select([field.name for field in table.schema if is_number(field.type)])


def peak(path):
    command = [sys.executable, "-c", READ, str(path)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(out[0]), int(out[1]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("table", nargs="?", help="a CSV file")
    parser.add_argument("--rows", type=int, default=327_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = pa_csv.read_csv(options.table) if options.table else flights(options.rows)
    print(f"{table.num_rows:,} rows × {table.num_columns} columns, seconds (best of three)")
    print(f"{'':8} {'all columns':>26} {'numeric alone':>26} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        everything, numbers = kinds(table, folder, "all"), kinds(numeric(table), folder, "numeric")
        for kind in everything:
            best = [min((timed(thing[kind]) for _ in range(3)), key=lambda t: t[0] + t[1])
                    for thing in (everything, numbers)]  # fmt: skip
            shown = [f"{a:6.3f} + {b:6.3f} ({d:3} feat.)" for a, b, d in best]
            ratio = sum(best[0][:2]) / sum(best[1][:2])
            print(f"{kind:8} {shown[0]:>26} {shown[1]:>26} {ratio:6.2f}")
        if not re.match("linux", sys.platform):
            return
        for times in (1, 10):
            path = folder / f"{times}.parquet"
            with pq.ParquetWriter(path, flights(1).schema) as writer:
                for seed in range(times):
                    writer.write_table(flights(options.rows, seed), row_group_size=2**17)
            rows, megabytes = peak(path)
            print(f"peak memory, {rows:,} rows of Parquet: {megabytes:.0f} MB")


if __name__ == "__main__":
    main()
