"""Dask on this machine with 1 and with 2 workers: summaries, and scores written by the workers.

    python benchmarks/bench_dask.py            about a minute
    python benchmarks/bench_dask.py --quick    fewer rows

Every worker is a process with one thread (Dask sees to that for BLAS too). What must hold: the
raw angles are those of the same rows in memory, to 1e-8. (The calibration is fitted to a sample of
the rows, and other blocks draw another one.)
"""

import argparse
import tempfile
import time
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from distributed import Client, LocalCluster

from cospan import JointFrame, Summary

# With nothing left to choose: the rows sampled for choices depend on the blocks.
SETTINGS = {"shrinkage": 0.01, "units": "common", "pooling": 0, "dof": 1}


def made(block_id, seed, shape, shift):
    rng = np.random.default_rng([seed, *block_id])
    return rng.standard_normal(shape) * np.geomspace(2, 0.2, shape[1]) + shift


def write_scores(frame, Z, folder):
    """The workers write the angles, one Parquet file per block."""
    theta = dd.from_dask_array(frame.align(Z).theta, columns="theta")
    theta.to_frame().to_parquet(folder)
    return sorted(folder.glob("*.parquet"))


def collection(n, d, seed, size, shift=0.0):
    """Rows that the workers make themselves, so that nothing but summaries travels."""
    return da.map_blocks(
        lambda block_id=None: made(block_id, seed, (size, d), shift),
        chunks=((size,) * (n // size), (d,)),
        meta=np.empty((0, 0)),
    )


def timed(task):
    start = time.perf_counter()
    result = task()
    return time.perf_counter() - start, result


def run(workers, n, d, size, folder):
    """Seconds for both summaries and for the scores, and the frame."""
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        A, B = collection(n, d, 0, size), collection(n, d, 1, size, 0.1)
        warm = collection(2 * size * workers, d, 2, size)  # every worker imports everything
        pair = [Summary.of(warm), Summary.of(warm * 2)]
        write_scores(JointFrame.from_summaries(*pair, shrinkage=0.1), warm, folder / "warm")
        summing, pair = timed(lambda: [Summary.of(X) for X in (A, B)])
        frame = JointFrame.from_summaries(*pair, **SETTINGS)
        scoring, files = timed(lambda: write_scores(frame, A, folder / "scores"))
    print(
        f"{workers} worker(s): exact summaries of 2 x {n:,} x {d} rows {summing:.1f} s, "
        f"{n:,} rows scored into {len(files)} files {scoring:.1f} s",
        flush=True,
    )
    return summing, scoring, frame


def agreement(frame, n, d, size):
    """Angles of the distributed frame against one from the same rows in memory."""
    with dask.config.set(scheduler="synchronous"):
        A, B = (
            collection(n, d, seed, size, shift).compute() for seed, shift in ((0, 0.0), (1, 0.1))
        )
    there, here = (one.align(A[:2000]) for one in (frame, JointFrame.fit(A, B, **SETTINGS)))
    gap = np.abs(there.raw_theta - here.raw_theta).max()
    word = "pass" if gap <= 1e-8 else "SHORT"
    print(
        f"raw theta against the same rows in memory: {gap:.1e} rad (target at most 1e-08): {word}"
    )
    gap = np.rad2deg(np.abs(there.theta - here.theta).max())
    print(f"calibrated theta: {gap:.2f} degrees (from other samples of 2,000 rows: not the same)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    n, d, size = (20_000, 100, 2_000) if parser.parse_args().quick else (160_000, 400, 10_000)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for workers in (1, 2):
            *seconds, frame = run(workers, n, d, size, Path(folder) / str(workers))
            results.append(seconds)
    one, two = results
    print(f"2 workers against 1: summaries {one[0] / two[0]:.2f}x, scoring {one[1] / two[1]:.2f}x")
    agreement(frame, n, d, size)


if __name__ == "__main__":
    main()
