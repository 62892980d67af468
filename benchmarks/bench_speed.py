"""How long a user waits: one comparison with its report, help, and the import.

    python benchmarks/bench_speed.py
    python benchmarks/bench_speed.py --against ../older/src     beside another source tree

Two CSV files of 3,500 x 20 and two Parquet files of 15,000 x 19 are compared by the command line,
with an HTML report; each command runs in a process of its own, both trees by turns, their modules
compiled. Printed is the processor time of the process, best of three, start and imports included.
Wanted beside version 0.2: at most half. ``cospan --help`` as fast as before, ``import cospan``
below 20 ms (beyond the interpreter's own start). Where Evidently is installed (with pandas below
3), five tables of 1,000 to 30,000 rows and one of 300 columns beside its drift preset with its
HTML: wanted is at most its time, and a fifth of it at 300 columns.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

OURS = Path(__file__).resolve().parents[1] / "src"
REPEATS = 3
COMPILED = tempfile.TemporaryDirectory()  # modules, as an installed package has them
EVIDENTLY = """
import sys, pandas as pd
from evidently import Report
from evidently.presets import DataDriftPreset
a, b = (pd.read_csv(path) for path in sys.argv[1:3])
Report([DataDriftPreset()]).run(b, a).save_html(sys.argv[3])
"""


def table(rng, rows, columns, shift=0.0):
    """Numbers that go together, a fifth of the columns levels, some gaps."""
    n_levels = columns // 5
    mixed = rng.normal(size=(rows, 4)) @ rng.normal(size=(4, columns - n_levels))
    x = mixed + rng.normal(size=(rows, columns - n_levels))
    x[:, 0] += shift
    x[rng.random(x.shape) < 0.01] = np.nan
    data = pd.DataFrame(x, columns=[f"x{k}" for k in range(x.shape[1])])
    for k in range(n_levels):
        data[f"kind {k}"] = rng.choice([f"level {i}" for i in range(3 + k)], rows)
    return data


def cpu_seconds(command, source=None):
    """Least processor time of a command over some runs, of itself and its children."""
    environment = {
        **os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": COMPILED.name,
    }  # fmt: skip
    if source is not None:
        environment["PYTHONPATH"] = str(source)
    best = np.inf
    for _ in range(REPEATS):
        child = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"this command failed: {' '.join(command)}")
        best = min(best, used.ru_utime + used.ru_stime)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, help="the src folder of another version")
    given = parser.parse_args()
    trees = [OURS] if given.against is None else [OURS, given.against.resolve()]
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name, rows, columns in (("csv", 3_500, 20), ("parquet", 15_000, 19)):
            for letter, shift in (("a", 0.0), ("b", 0.3)):
                data = table(rng, rows, columns, shift)
                getattr(data, f"to_{name}")(folder / f"{letter}.{name}", index=False)
        cli = [sys.executable, "-m", "cospan"]
        report = ["-o", str(folder / "r.html")]
        cases = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "import cospan": [sys.executable, "-c", "import cospan"],
            "cospan --help": [*cli, "--help"],
        }
        for name, shape in (("csv", "3,500 x 20"), ("parquet", "15,000 x 19")):
            files = [str(folder / f"{letter}.{name}") for letter in "ab"]
            cases[f"compare {shape} {name}"] = [*cli, "compare", *files, *report]
        for name, command in cases.items():
            seconds = [cpu_seconds(command, tree) for tree in trees]
            other = f"  there {seconds[1]:.3f} s, ratio {seconds[0] / seconds[1]:.2f}"
            print(f"{name:28} {seconds[0]:.3f} s{other if len(seconds) > 1 else ''}", flush=True)
        if find_spec("evidently") is not None:
            beside_evidently(folder, rng)


def beside_evidently(folder, rng):
    shapes = ((1_000, 10), (3_000, 20), (10_000, 15), (20_000, 10), (30_000, 20), (2_000, 300))
    for rows, columns in shapes:
        files = [str(folder / f"{letter}.csv") for letter in "ab"]
        for path, shift in zip(files, (0.0, 0.3), strict=True):
            table(rng, rows, columns, shift).to_csv(path, index=False)
        page = str(folder / "r.html")
        ours = cpu_seconds([sys.executable, "-m", "cospan", "compare", *files, "-o", page], OURS)
        theirs = cpu_seconds([sys.executable, "-c", EVIDENTLY, *files, page])
        print(f"{rows:,} x {columns}: {ours:.2f} s, Evidently {theirs:.2f} s", flush=True)


if __name__ == "__main__":
    main()
