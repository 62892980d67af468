"""What the geometry costs beside that of version 0.1, both in one run on the same rows.

    git worktree add /tmp/cospan-0.1 v0.1        # or any checkout of version 0.1
    python benchmarks/bench_cost.py --against /tmp/cospan-0.1

Fit of MNIST 4/9 (900 and 800 rows of 784 pixels) with every automatic choice, a fast and an exact
summary, and scoring. Each figure is the best of several, in processes of their own that take
turns; without --against only this version's times are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

TASK = """
import json, sys, time
import numpy as np
from cospan import JointFrame, Summary
rng = np.random.default_rng(0)
if len(sys.argv) > 1 and sys.argv[1]:
    from images import load_images
    A, B, *_ = load_images("mnist").pair(4, 9, 0)
else:
    mix = rng.normal(size=(784, 784)) * np.geomspace(1, 1e-3, 784)
    A, B = rng.normal(size=(900, 784)) @ mix, rng.normal(size=(800, 784)) @ mix + 0.1
Z = rng.normal(size=(20_000, 784)) * A.std() + A.mean()
rows = rng.normal(size=(60_000, 200))
def best(task, times):
    task()
    found = []
    for _ in range(times):
        start = time.perf_counter()
        task()
        found.append(time.perf_counter() - start)
    return min(found)
frame = JointFrame.fit(A, B)
narrow = JointFrame.fit(rows[:2000, :20], rows[2000:4000, :20] + 0.2)
print(json.dumps({
    "fit with all choices": best(lambda: JointFrame.fit(A, B), 3),
    "fast summary": best(lambda: Summary.of(rows, exact=False), 5),
    "exact summary": best(lambda: Summary.of(rows), 3),
    "scoring, 784 features": best(lambda: frame.align(Z), 5),
    "scoring, 20 features": best(lambda: narrow.align(rows[:, :20]), 5),
}))
"""


def timed(source: Path, data: str) -> dict[str, float]:
    """The best times of one process with the package in `source`."""
    paper = Path(__file__).resolve().parent.parent / "paper"
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{paper}"}
    done = subprocess.run(
        [sys.executable, "-c", TASK, data],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--against", type=Path, help="a checkout of version 0.1")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    data = os.environ.get("COSPAN_DATA", "")
    here = Path(__file__).parent.parent / "src"
    best: dict[str, dict[str, float]] = {"here": {}, "there": {}}
    for _ in range(options.rounds):
        for name, source in (("here", here), ("there", options.against)):
            if source is None:
                continue
            path = source if name == "here" else source / "src"
            for what, seconds in timed(path, data).items():
                best[name][what] = min(best[name].get(what, seconds), seconds)
    for what, seconds in best["here"].items():
        line = f"{what}: {seconds:.4f} s"
        if what in best["there"]:
            ratio = seconds / best["there"][what]
            line += f" (0.1: {best['there'][what]:.4f} s, {ratio:.2f} times its time)"
        print(line, flush=True)


if __name__ == "__main__":
    main()
