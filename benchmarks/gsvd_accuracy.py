"""How accurate and how reproducible the GSVD is: the figures that docs/gsvd.md promises.

    python benchmarks/bench_gsvd.py --accuracy            two to three minutes
    python benchmarks/bench_gsvd.py --accuracy --quick    a tenth of the pairs

1. LAPACK's acceptance test (dgsvts3, zgsvts3): 8 shapes, 8 kinds of matrices, 25 draws each, in
   four dtypes. Printed is the worst ratio of an error to its bound; LAPACK accepts 20, we ask 10.
2. c, s and the directions of one side, on one thread against two.
3. Ranks of pairs of small integers, against exact ones.

COSPAN_DATA, when set, replaces the made-up images by MNIST's digits 0 and 7.
"""

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from cospan import gsvd

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from bench_gsvd import gauss, images
from matrices import LAPACK_KINDS, LAPACK_SHAPES, acceptance_ratios, lapack_pair

DTYPES = (np.float64, np.float32, np.complex128, np.complex64)


def verdict(good):
    return "pass" if good else "SHORT"


def acceptance(draws):
    for dtype in DTYPES:
        ulp, worst, count = float(np.finfo(dtype).eps), 0.0, 0
        for shape in LAPACK_SHAPES:
            for i, kind in enumerate(LAPACK_KINDS):
                for draw in range(draws):
                    rng = np.random.default_rng([draw, i, *shape])
                    pair = lapack_pair(rng, shape, kind, np.dtype(dtype).kind == "c")
                    A, B = (x.astype(dtype) for x in pair)
                    worst = max(worst, *acceptance_ratios(A, B, gsvd(A, B), ulp=ulp))
                    count += 1
        name = np.dtype(dtype).name
        print(
            f"  {name}: {count} pairs, worst ratio {worst:.2f} (target 10): {verdict(worst < 10)}"
        )


def threads():
    pairs = {"Gauss 900/800 x 784": gauss(900, 800), images()[2] + " 900/800": images()[:2]}
    for name, (A, B) in pairs.items():
        found = []
        for count in (1, 2):
            with threadpool_limits(count):
                found.append(gsvd(A, B))
        one, two = found
        r, k, t = one.blocks
        values = max(np.abs(one.c - two.c).max(), np.abs(one.s - two.s).max())
        turned = np.abs(one.H - two.H) / np.abs(one.H).max(axis=1, keepdims=True)
        own = max(turned[:r].max(initial=0), turned[r + k :].max(initial=0))
        print(
            f"  {name}, blocks {r} + {k} + {t}: c and s differ by {values:.1e} (target 1e-15): "
            f"{verdict(values < 1e-15)}; directions of one side, relative to themselves, by "
            f"{own:.1e} (target 1e-8): {verdict(own < 1e-8)}"
        )


def exact_rank(rows):
    """By elimination in fractions."""
    rows, rank = [[Fraction(int(x)) for x in row] for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(rank + 1, len(rows)):
            factor = rows[i][column] / rows[rank][column]
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


def integer_ranks(count):
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(count):
        p, q, d = (int(n) for n in rng.integers(1, 8, 3))
        A, B = (
            rng.integers(-3, 4, (n, k)) @ rng.integers(-3, 4, (k, d))
            for n, k in ((p, rng.integers(0, min(p, d) + 1)), (q, rng.integers(0, min(q, d) + 1)))
        )
        r, k, t = gsvd(A, B).blocks
        ranks = exact_rank(A), exact_rank(B), exact_rank(np.vstack([A, B]))
        wrong += (r + k, k + t, r + k + t) != ranks
    print(
        f"  {count} pairs of integers, {wrong} with a wrong rank (target 0): {verdict(not wrong)}"
    )


def measure(quick):
    print("LAPACK's acceptance test:", flush=True)
    acceptance(3 if quick else 25)
    print("One thread against two:", flush=True)
    threads()
    print("Ranks:", flush=True)
    integer_ranks(400 if quick else 4000)
