"""A hundred comparisons in eight threads: equal results, and a process left as it was.

    python benchmarks/bench_threads.py [RUNS] [THREADS]

What belongs to the process is the number of BLAS threads, the filters and the printing of warnings,
the umask, the locale of numbers, NumPy's handling of floating-point errors, the working folder, the
random generator of NumPy, the environment, and the threads that run.
"""

import locale
import os
import random
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import ThreadpoolController

from cospan import compare


def state():
    """What a comparison must leave as it was, by name."""
    umask = os.umask(0o022)
    os.umask(umask)
    pools = ThreadpoolController().select(user_api="blas").info()
    return {
        "BLAS threads": sorted((pool["filepath"], pool["num_threads"]) for pool in pools),
        "warning filters": list(warnings.filters),
        "printing of warnings": (warnings.showwarning, warnings.formatwarning),
        "umask": umask,
        "locale": locale.setlocale(locale.LC_ALL),
        "floating-point errors": np.geterr(),
        "working folder": os.getcwd(),
        "random numbers": (random.getstate(), np.random.get_state()[1].tolist()),  # noqa: NPY002
        "environment": dict(os.environ),
        "threads": sorted(thread.name for thread in threading.enumerate()),
    }


def result(seed):
    """A comparison of one of four pairs, as plain numbers."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(300, 8)), rng.normal(0.2, 1.1, size=(250, 8))
    found = compare(A, B, n_permutations=49)
    theta = np.concatenate([found.group_a.alignment.theta, found.group_b.alignment.theta])
    return theta.tobytes(), str(found.separation), str(found.findings)


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    expected = [result(seed) for seed in range(4)]
    before = state()
    start = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(lambda number: result(number % 4), range(runs)))
    seconds = time.perf_counter() - start
    after = state()
    changed = [name for name in before if before[name] != after[name]]
    unequal = sum(one != expected[number % 4] for number, one in enumerate(found))
    word = "SHORT" if changed or unequal else "pass"
    print(
        f"{runs} comparisons in {threads} threads, {seconds:.1f} s: {unequal} results that differ "
        f"from those of one thread, changed in the process: {', '.join(changed) or 'nothing'}: "
        f"{word}"
    )
    sys.exit(word != "pass")


if __name__ == "__main__":
    main()
