"""Does the seed decide the answer? Ten seeds on a million rows, and Dask's workers beside them.

    python benchmarks/bench_seeds.py                  1,000,000 rows, ten seeds: some minutes
    python benchmarks/bench_seeds.py --rows 100000 --seeds 4

Of sets of so many rows a sample is scored, tried and tested. Which rows these are depends on their
places in the files; the seed decides about relabellings. What must hold:

- The AUC of every seed lies within the 95 % intervals of all others.
- The intervals know that rows were sampled: with the rows in another order, so other samples, no
  two intervals are apart. (Each has rows of its own, so that a value is outside another one's
  interval once in six pairs though all intervals are right.)
- With the same seed, files read here and files read by the workers of a Dask scheduler give the
  same numbers to 1e-9.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import cospan

FIGURES = ("auc",)


def write(folder, n, d, order=None):
    """Two sets of n/2 rows: correlated columns of different units, a small shift and spread.

    `order` is a seed that shuffles the rows.
    """
    rng = np.random.default_rng(0)
    mixing = rng.standard_normal((d, d))
    units = np.geomspace(0.01, 1000, d)
    paths = []
    for name, shift, spread in (("a", 0.0, 1.0), ("b", 0.15, 1.1)):
        rows = rng.standard_normal((n // 2, d)) * spread
        rows[:, : d // 2] += shift
        rows = (rows @ mixing) * units
        if order is not None:
            np.random.default_rng(order).shuffle(rows)
        table = pa.table({f"x{j}": rows[:, j] for j in range(d)})
        paths.append(folder / f"{name}.parquet")
        pq.write_table(table, paths[-1], row_group_size=max(1000, n // 20))
    return paths


def figures(paths, seed, permutations):
    found = cospan.compare(*paths, seed=seed, n_permutations=permutations)
    frame = found.frame
    choices = (frame.units, frame.shrinkage, frame.dof, frame.pooling)
    return choices, {"auc": (float(found.size), found.size.low, found.size.high)}


def seeds_agree(paths, seeds, permutations):
    runs = [shown(f"seed {seed}", *figures(paths, seed, permutations)) for seed in range(seeds)]
    judge(runs, "seeds", most_outside=0)


def orders_agree(folder, rows, features, orders, permutations):
    runs = []
    for order in range(orders):
        paths = write(folder, rows, features, order)
        runs.append(shown(f"order {order}", *figures(paths, 0, permutations)))
    judge(runs, "orders", most_outside=1 / 3)


def shown(name, choices, found):
    told = ", ".join(f"{k} {v:.4f} [{lo:.4f}, {hi:.4f}]" for k, (v, lo, hi) in found.items())
    print(f"{name}: {told}; {choices}", flush=True)
    return found


def judge(runs, what, most_outside):
    """How often a value is outside another run's interval, and whether two intervals are apart."""
    pairs = list(itertools.permutations(runs, 2))
    for name in FIGURES:
        values = [run[name][0] for run in runs]
        outside = sum(not x[name][1] <= y[name][0] <= x[name][2] for x, y in pairs)
        apart = sum(x[name][1] > y[name][2] for x, y in pairs)
        most = len(pairs) * most_outside
        word = "pass" if not apart and outside <= most else "SHORT"
        print(
            f"{name}: {min(values):.4f} to {max(values):.4f}; of {len(pairs)} pairs of {what} "
            f"{outside} values are outside the other interval (at most {most:.0f}), "
            f"{apart} intervals are apart (target 0): {word}",
            flush=True,
        )


def command(paths, *more):
    given = [sys.executable, "-m", "cospan", "compare", *map(str, paths), "--json", "--quiet"]
    found = subprocess.run([*given, *more], capture_output=True, text=True)
    if found.returncode:
        raise SystemExit(found.stderr)
    return json.loads(found.stdout)


def numbers(found, path=""):
    """Every number of a JSON tree, by its place."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from numbers(value, f"{path}/{key}")
    elif isinstance(found, list):
        for i, value in enumerate(found):
            yield from numbers(value, f"{path}/{i}")
    elif isinstance(found, (int, float)) and not isinstance(found, bool):
        yield path, float(found)


def scheduler_agrees(paths, permutations):
    from distributed import LocalCluster

    more = ("--permutations", str(permutations))
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        there = dict(numbers(command(paths, *more, "--scheduler", cluster.scheduler_address)))
    here = dict(numbers(command(paths, *more)))
    if set(here) != set(there):
        print(f"other keys: {sorted(set(here) ^ set(there))[:5]}")
    gaps = {
        key: abs(here[key] - there[key]) / max(abs(here[key]), 1e-300)
        for key in here
        if key in there and here[key] != there[key] and "seconds" not in key
    }
    worst = max(gaps, key=gaps.get, default=None)
    largest = gaps.get(worst, 0.0)
    word = "pass" if largest <= 1e-9 and set(here) == set(there) else "SHORT"
    print(
        f"here and by --scheduler: {len(here):,} numbers, largest relative difference "
        f"{largest:.1e} ({worst}) (target 1e-09): {word}"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--orders", type=int, default=4)
    parser.add_argument("--permutations", type=int, default=99)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder), options.rows, options.features)
        print(f"{options.rows:,} rows of {options.features} features in two sets")
        seeds_agree(paths, options.seeds, options.permutations)
        scheduler_agrees(paths, options.permutations)
        orders_agree(
            Path(folder), options.rows, options.features, options.orders, options.permutations
        )


if __name__ == "__main__":
    main()
