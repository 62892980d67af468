"""How long a GSVD takes here, in LAPACK (through gsvd4py) and in easygsvd.

    make bench                                 all benchmarks
    python benchmarks/bench_gsvd.py            this one, two to three minutes
    python benchmarks/bench_gsvd.py --quick    without LAPACK, seconds
    python benchmarks/bench_gsvd.py --small    pairs from 3 x 3 up only, seconds
    python benchmarks/bench_gsvd.py --accuracy how accurate it is, some minutes
    python benchmarks/bench_gsvd.py --sparse   gsvds on 200,000 x 5,000 only, some minutes
    python benchmarks/bench_gsvd.py --cpu      CPU time on one thread, for a busy machine

Every time is for the same task: U, V, c, s and H (gsvd4py calls it X', economy size; easygsvd
always computes the inverse of H too). All run in one process with the same number of threads.
LAPACK takes about a minute on the Gaussian pair, so it runs once; everybody else's time is the
best of several runs, taken in turns. COSPAN_DATA, when set, replaces the made-up images by MNIST's
digits 0 and 7.
"""

import argparse
import gzip
import os
import time
from pathlib import Path

import easygsvd
import gsvd4py
import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

from cospan import gsvd, gsvds
from cospan.base.factorizations import triangular_factor

ROUNDS = 5
clock = time.perf_counter


def best_times(tasks, rounds=ROUNDS):
    """Best time of each task, run in turns, so that a slow spell hits everybody alike."""
    best = dict.fromkeys(tasks, np.inf)
    for _ in range(rounds):
        for name, task in tasks.items():
            start = clock()
            task()
            best[name] = min(best[name], clock() - start)
    return best


def verdict(what, ratio, target):
    word = "pass" if ratio >= target else "SHORT"
    print(f"  {what}: {ratio:.2f}x (target {target}x): {word}", flush=True)


def report(pair, times):
    print(f"{pair}: " + ", ".join(f"{name} {t:.3f} s" for name, t in times.items()), flush=True)


def largest_difference(ours, c, s):
    theta = np.sort(np.arctan2(s, c))
    if len(theta) != ours.rank:
        return f"ranks differ ({ours.rank} and {len(theta)})"
    return f"angles differ by at most {np.abs(theta - ours.angles).max():.0e} rad"


def gauss(p, q, d=784, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((p, d)), rng.standard_normal((q, d))


def images(seed=0):
    """900 and 800 centred images of 784 pixels: digits 0 and 7, or rows made up like them."""
    folder = Path(os.environ.get("COSPAN_DATA", "")) / "mnist"
    rng = np.random.default_rng(seed)
    if os.environ.get("COSPAN_DATA") and folder.is_dir():
        with gzip.open(folder / "train-images-idx3-ubyte.gz") as stream:
            pixels = np.frombuffer(stream.read(), np.uint8, offset=16).reshape(-1, 784)
        with gzip.open(folder / "train-labels-idx1-ubyte.gz") as stream:
            labels = np.frombuffer(stream.read(), np.uint8, offset=8)
        sets = [
            pixels[rng.choice(np.flatnonzero(labels == digit), n, replace=False)].astype(float)
            for digit, n in ((0, 900), (7, 800))
        ]
        name = "MNIST digits 0 and 7"
    else:
        sets, name = [_made_up(rng, n) for n in (900, 800)], "MNIST-like"
    A, B = (x - x.mean(axis=0) for x in sets)
    return A, B, name


def _made_up(rng, n, rank=553, live=590):
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((live, rank)))[0]
    rows = np.zeros((n, 784))
    rows[:, 97 : 97 + live] = (
        rng.standard_normal((n, rank)) * np.geomspace(1e3, 1, rank)
    ) @ basis.T
    return rows


def timed_lapack(A, B):
    start = clock()
    _, _, C, S, _ = gsvd4py.gsvd(A, B, mode="econ")
    return clock() - start, C.max(axis=0), S.max(axis=0)


def bench_images(quick):
    A, B, name = images()
    ours = gsvd(A, B)
    r, k, t = ours.blocks
    name = f"{name} 900/800 x 784, rank {ours.rank} = {r} + {k} + {t}"
    times = best_times({"cospan": lambda: gsvd(A, B)})
    if quick:
        report(name, times)
        return
    times["LAPACK"], c, s = timed_lapack(A, B)
    report(name, times)
    print(f"  LAPACK and we: {largest_difference(ours, c, s)}; easygsvd: {_refusal(A, B)}")
    verdict("faster than LAPACK", times["LAPACK"] / times["cospan"], 20)


def _refusal(A, B):
    try:
        easygsvd.gsvd(A, B)
    except np.linalg.LinAlgError as error:
        return f"refuses ({error})"
    return "accepts the pair"


def bench_gauss(quick):
    A, B = gauss(900, 800)
    single = A.astype(np.float32), B.astype(np.float32)
    times = best_times(
        {
            "cospan": lambda: gsvd(A, B),
            "easygsvd": lambda: easygsvd.gsvd(A, B),
            "cospan float32": lambda: gsvd(*single),
            "cospan without U, V": lambda: gsvd(A, B, compute_uv=False),
        }
    )
    ours, theirs = gsvd(A, B), easygsvd.gsvd(A, B)
    if not quick:
        times["LAPACK"], c, s = timed_lapack(A, B)
    report("Gauss 900/800 x 784", times)
    print(f"  easygsvd and we: {largest_difference(ours, theirs.c, theirs.s)}")
    if not quick:
        print(f"  LAPACK and we: {largest_difference(ours, c, s)}")
        verdict("faster than LAPACK", times["LAPACK"] / times["cospan"], 100)
    verdict("faster than easygsvd", times["easygsvd"] / times["cospan"], 1.0)
    verdict("float32 faster than float64", times["cospan"] / times["cospan float32"], 1.5)


def bench_tall():
    A, B = gauss(6000, 6000)
    times = best_times(
        {
            "cospan": lambda: gsvd(A, B),
            "easygsvd": lambda: easygsvd.gsvd(A, B),
            "cospan without U, V": lambda: gsvd(A, B, compute_uv=False),
        },
        rounds=4,
    )
    ours, theirs = gsvd(A, B), easygsvd.gsvd(A, B)
    report("Gauss 6000/6000 x 784", times)
    print(f"  easygsvd and we: {largest_difference(ours, theirs.c, theirs.s)}")
    verdict("faster than easygsvd", times["easygsvd"] / times["cospan"], 1.5)


SMALL = (
    *((3, 3, 3), (5, 4, 3), (12, 10, 8), (30, 20, 15), (40, 30, 20), (60, 50, 40), (100, 90, 80)),
    *((200, 150, 150), (3, 3, 20), (20, 15, 50), (300, 200, 3), (1000, 800, 20)),
)


def bench_small():
    """From the smallest pairs up: faster than LAPACK from 40 columns on."""
    for p, q, d in SMALL:
        A, B = gauss(p, q, d)
        times = best_times(
            {
                "cospan": lambda A=A, B=B: gsvd(A, B),
                "LAPACK": lambda A=A, B=B: gsvd4py.gsvd(A, B, mode="econ"),
            },
            rounds=max(5, 20_000 // (p + q + d) ** 2 + 5 * (d < 50) * 20),
        )
        ratio = times["LAPACK"] / times["cospan"]
        ours, theirs = (1e3 * times[name] for name in ("cospan", "LAPACK"))
        print(f"Gauss {p}/{q} x {d}: cospan {ours:.3f} ms, LAPACK {theirs:.3f} ms", flush=True)
        if d >= 40 and p + q > d:
            verdict("faster than LAPACK", ratio, 1.0)


def bench_sparse(rows=200_000, d=5_000, density=1e-3):
    """Six extremes of a sparse pair, against the dense way.

    The dense pair takes 16 GB, so its time is put together: triangular factors of one chunk of
    rows, times the number of chunks, and the GSVD of the two triangles.
    """
    rng = np.random.default_rng(0)
    A, B = (
        scipy.sparse.random_array(
            (rows, d), density=density, rng=rng, format="csr", data_sampler=rng.standard_normal
        )
        for _ in range(2)
    )
    start = clock()
    found = gsvds(A, B, 6)
    few = clock() - start
    chunk = A[:10_000].toarray()
    start = clock()
    triangle = triangular_factor(chunk)
    once = clock() - start
    other = triangular_factor(B[:10_000].toarray())
    start = clock()
    gsvd(triangle, other, compute_uv=False)
    triangles = clock() - start
    dense = 2 * once * rows / len(chunk) + triangles
    print(f"sparse {rows:,} x {d:,}, density {density:g}: gsvds {few:.1f} s, {found}")
    print(
        f"  dense: {dense:.0f} s ({once:.1f} s a chunk of 10,000 rows, {triangles:.0f} s at last)"
    )
    verdict("faster than the dense way", dense / few, 10)
    worst = found.residuals.max()
    print(f"  residuals {worst:.1e} (target 1e-8): {'pass' if worst < 1e-8 else 'SHORT'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="leave LAPACK out, or a tenth of the pairs"
    )
    parser.add_argument("--small", action="store_true", help="small pairs only")
    parser.add_argument("--sparse", action="store_true", help="the sparse pair only")
    parser.add_argument("--accuracy", action="store_true", help="errors and ranks, no times")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cpu", action="store_true", help="CPU time of one thread")
    options = parser.parse_args()
    if options.accuracy:
        from gsvd_accuracy import measure  # which takes its pairs from here

        return measure(options.quick)
    if options.cpu:
        global clock
        clock, options.threads = time.process_time, 1
    what = "CPU time" if options.cpu else "time"
    print(f"GSVD: {what} for U, V, c, s and H, {options.threads} threads on every side", flush=True)
    with threadpool_limits(options.threads):
        gsvd(*gauss(60, 50, 40))  # loads what is loaded on first use
        if options.sparse:
            return bench_sparse()
        bench_small()
        if options.small:
            return None
        bench_images(options.quick)
        bench_gauss(options.quick)
        bench_tall()
    return None


if __name__ == "__main__":
    main()
