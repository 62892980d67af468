"""What a GPU makes of summaries, scoring and the GSVD, against the targets.

    python benchmarks/bench_gpu.py              on a machine with CUDA
    python benchmarks/bench_gpu.py --small      the same code on anything, a few seconds

From a source tree without installing: PYTHONPATH=src. Needs numpy, scipy, scikit-learn,
array-api-compat and torch. Each line gives the best of several runs, the target and pass or SHORT;
the angles of the GPU's frames are compared with those of the same rows on the host.
"""

import argparse
import time

import numpy as np
import torch

from cospan import JointFrame, Summary, gsvd
from cospan.base import arrays

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def best(task, rounds=5):
    """Best time of several runs after one to warm up, and what the last one returned."""
    result = task()
    wait()
    shortest = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        result = task()
        wait()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest, result


def verdict(what, value, target, unit, *, larger=False, full=True):
    good = value >= target if larger else value <= target
    word = ("pass" if good else "SHORT") if full else "small run, no verdict"
    bound = "at least" if larger else "at most"
    print(f"{what}: {value:.4g} {unit} (target {bound} {target:g} {unit}): {word}", flush=True)


def rows(n, d, seed, shift=0.0):
    """float32 rows with a falling spectrum and correlated features, made on the device."""
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    made = {"generator": generator, "device": DEVICE, "dtype": torch.float32}
    mix = torch.randn(d, d, **made) / d**0.5
    mix *= torch.logspace(0, -2, d, device=DEVICE)[:, None]
    out = torch.empty(n, d, device=DEVICE, dtype=torch.float32)
    for start in range(0, n, 100_000):
        part = out[start : start + 100_000]
        part.copy_(torch.randn(part.shape[0], d, **made) @ mix + shift)
    return out


def degrees(x):
    return np.rad2deg(arrays.to_numpy(x).astype(float))


def summaries(A, B, full):
    print(f"\nSummaries of {A.shape[0]:,} x {A.shape[1]} float32 rows on the device")
    found = {}
    for way, exact, target in (("fast", False, 0.06), ("exact", True, 0.25)):
        seconds, a = best(lambda exact=exact: Summary.of(A, exact=exact))
        verdict(f"{way} summary", seconds, target, "s", full=full)
        found[way] = JointFrame.from_summaries(a, Summary.of(B, exact=exact), shrinkage=0.01)
    return found


def agreement(A, B, full):
    """The device's exact frame and the host's, from the same rows: a part of them, for time."""
    some = min(A.shape[0], 100_000)
    A, B, Z = A[:some], B[:some], A[-2000:].double()
    host = [x.cpu().numpy() for x in (A, B, Z)]
    for way, exact in (("exact", True), ("fast", False)):
        pairs = [[Summary.of(x, exact=exact) for x in two] for two in ((A, B), host[:2])]
        there, here = (JointFrame.from_summaries(*pair, shrinkage=0.01) for pair in pairs)
        angles = np.abs(arrays.to_numpy(there.angles) - here.angles).max()
        theta = np.abs(arrays.to_numpy(there.align(Z).theta) - here.align(host[2]).theta).max()
        verdict(f"{way}: directions against the host's", angles, 1e-8, "rad", full=full)
        verdict(f"{way}: theta against the host's", theta, 1e-8, "rad", full=full)
    unshrunk = [
        JointFrame.from_summaries(*(Summary.of(x) for x in two), shrinkage=0)
        for two in ((A, B), host[:2])
    ]
    gap = np.abs(arrays.to_numpy(unshrunk[0].angles) - unshrunk[1].angles).max()
    verdict("exact, no shrinkage: directions against the host's", gap, 1e-8, "rad", full=full)


def scoring(Z, frame, full):
    print(f"\nScoring {Z.shape[0]:,} x {Z.shape[1]} float32 rows on the device")
    seconds, found = best(lambda: frame.align(Z))
    verdict("scoring", Z.shape[0] / seconds / 1e6, 28, "million rows/s", larger=True, full=full)
    W = frame.inverse.float().contiguous()
    product, _ = best(lambda: [Z[i : i + 100_000] @ W for i in range(0, Z.shape[0], 100_000)])
    print(f"  the matrix product alone: {product:.4f} s of {seconds:.4f} s")
    wide = frame.align(Z[:100_000].double())
    gap = np.abs(degrees(found.theta[:100_000]) - degrees(wide.theta)).max()
    verdict("float32 theta against float64", gap, 1e-3, "degrees", full=full)


def decomposition(p, d, full):
    print(f"\nGSVD of {p} + {p} rows, {d} columns, float64: c, s, H")
    generator = torch.Generator(device=DEVICE).manual_seed(1)
    made = {"generator": generator, "device": DEVICE, "dtype": torch.float64}
    A, B = torch.randn(p, d, **made), torch.randn(p, d, **made)
    seconds, found = best(lambda: gsvd(A, B, compute_uv=False), rounds=3)
    verdict("gsvd", seconds, 0.8, "s", full=full)
    left = (found.H.T * found.c**2) @ found.H
    gap = float(torch.linalg.norm(left - A.T @ A) / torch.linalg.norm(A.T @ A))
    print(f"  |AᵀA - Hᵀc²H| / |AᵀA| = {gap:.1e}")


def profile(task, name):
    """The kernels that take the time, for whoever wants to make it shorter."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiler

    with profiler(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        task()
        wait()
    print(f"\nprofile of {name}")
    print(seen.key_averages().table(sort_by="self_device_time_total", row_limit=12))


def on_rows(n, d, full, profiled):
    A, B = rows(n, d, 0), rows(n, d, 1, 0.02)
    frames = summaries(A, B, full)
    agreement(A, B, full)
    scoring(A, frames["fast"], full)
    if profiled:
        profile(lambda: Summary.of(A, exact=False), "a fast summary")
        profile(lambda: Summary.of(A), "an exact summary")
        profile(lambda: frames["fast"].align(A), "scoring")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    full = not options.small and DEVICE == "cuda"
    n, d, p, wide = (1_000_000, 784, 8192, 4096) if full else (20_000, 96, 512, 256)
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else "the host's CPU"
    print(f"torch {torch.__version__} on {name}")
    on_rows(n, d, full, options.profile)
    decomposition(p, wide, full)
    if options.profile:
        X, Y = rows(p, wide, 2).double(), rows(p, wide, 3).double()
        profile(lambda: gsvd(X, Y, compute_uv=False), "gsvd")


if __name__ == "__main__":
    main()
