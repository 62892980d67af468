"""How soon short questions are answered: help, a refusal, many columns.

    python benchmarks/bench_answers.py

Each line is the best of three, in seconds of processor time; `cospan --help` in a process of its
own, start and imports included.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan import JointFrame, gsvd
from cospan.errors import InputError
from cospan.evidence import find_changes

RNG = np.random.default_rng(5)


def main() -> None:
    """Print the table."""
    A, B = RNG.standard_normal((3000, 784)), RNG.standard_normal((2000, 784))
    B[1999, 783] = np.nan
    wide_a, wide_b = RNG.standard_normal((2, 600, 3000))
    frame = JointFrame.fit(wide_a[:60], wide_b[:60], shrinkage=0.3, pooling=0.0, dof=1.0)
    _report("cospan --help", _help)
    _report("a bad entry in 5,000 x 784 is refused", lambda: _refused(A, B))
    _report("changes of 3,000 columns", lambda: find_changes(frame, wide_a, wide_b))


def _report(what: str, work: Callable[[], object]) -> None:
    taken = []
    for _ in range(3):
        start = _processor_seconds()
        work()
        taken.append(_processor_seconds() - start)
    print(f"{what:<40}{min(taken):8.2f} s")


def _processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _help() -> None:
    subprocess.run([sys.executable, "-m", "cospan", "--help"], capture_output=True, check=True)


def _refused(A: NDArray[Any], B: NDArray[Any]) -> None:
    try:
        gsvd(A, B)
    except InputError:
        return
    raise AssertionError("it was not refused")


if __name__ == "__main__":
    main()
