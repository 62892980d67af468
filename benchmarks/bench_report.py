"""Sizes of reports, for few rows and for many: all below 2 MB."""

import time

import numpy as np

from cospan import compare, report

MEGABYTE = 1e6


def table(n):
    """Two sets of n/2 rows with 8 features, one of them a little off."""
    rng = np.random.default_rng(0)
    spread = np.linspace(0.5, 1.5, 8, dtype=np.float32)
    A = rng.standard_normal((n // 2, 8), dtype=np.float32)
    B = rng.standard_normal((n // 2, 8), dtype=np.float32) * spread
    return compare(A, B, n_permutations=99)


def pictures(n):
    """Two sets of n/2 pictures of 28 × 28 pixels: noise on two unlike blobs."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[-1:1:28j, -1:1:28j]
    blobs = [np.exp(-4 * (x**2 + k * y**2)).ravel().astype(np.float32) for k in (1, 3)]
    sets = [
        blob * rng.gamma(2, 1, (n // 2, 1)).astype(np.float32)
        + rng.random((n // 2, 784), dtype=np.float32)
        for blob in blobs
    ]
    return compare(*sets, image_shape=(28, 28), n_permutations=99)


def main():
    cases = [
        ("table", table, (1_000, 10_000_000), 2),
        ("pictures 28 x 28", pictures, (1_000, 60_000), 2),
    ]
    for name, make, sizes, limit in cases:
        for n in sizes:
            comparison = make(n)
            start = time.perf_counter()
            page = report.to_html(comparison).encode()
            seconds = time.perf_counter() - start
            fits = "fits" if len(page) < limit * MEGABYTE else "TOO LARGE"
            print(
                f"{name}, {n:>10,} rows: {len(page) / MEGABYTE:.2f} MB of {limit} MB ({fits}), "
                f"written in {seconds:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
