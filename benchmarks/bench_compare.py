"""Memory and time of ``cospan compare`` on a Parquet file that does not fit: 2 GB by default.

Run as ``python benchmarks/bench_compare.py [GIGABYTES]``. The file is made in the temporary
folder, holds two classes of float32 rows that do not compress, and is deleted at the end. The
command runs in a process of its own; what is printed is that process's peak of resident memory.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

FEATURES = 128
GROUP_ROWS = 65_536
LIMIT_MB = 600


def make_table(path: Path, gigabytes: float) -> int:
    """Rows of two classes, one after the other in every group; returns how many."""
    rng = np.random.default_rng(0)
    scale = np.ones((2, FEATURES), dtype=np.float32)
    scale[0, :3], scale[1, -3:] = 2, 2
    schema = pa.schema([(f"x{j}", pa.float32()) for j in range(FEATURES)] + [("set", pa.string())])
    rows = 0
    with parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        while rows * FEATURES * 4 < gigabytes * 2**30:
            side = rng.integers(0, 2, GROUP_ROWS)
            block = rng.standard_normal((GROUP_ROWS, FEATURES), dtype=np.float32) * scale[side]
            columns = [pa.array(column) for column in np.ascontiguousarray(block.T)]
            label = pa.array(np.array(["old", "new"])[side])
            writer.write_table(pa.table([*columns, label], schema=schema))
            rows += GROUP_ROWS
    return rows


def run(arguments: list[str]) -> tuple[dict[str, object], str, float]:
    """The command's JSON, its time in words, and its peak of memory in MB."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "cospan", "compare", *arguments, "--json", "--quiet"],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = f"{seconds:.1f} s ({used.ru_utime + used.ru_stime:.1f} s of processor time)"
    return json.loads(done.stdout), spent, used.ru_maxrss / 1024


def main() -> None:
    gigabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    folder = Path(tempfile.mkdtemp(prefix="cospan-bench-"))
    try:
        path = folder / "rows.parquet"
        rows = make_table(path, gigabytes)
        size = os.path.getsize(path) / 2**30
        print(f"made {size:.2f} GB of Parquet: {rows:,} rows x {FEATURES} float32 features")
        found, spent, peak = run([str(path), "--label", "set", "--a", "old", "--b", "new"])
        auc = found["separation"]["auc"]["value"]  # type: ignore[index]
        print(f"compare two classes of it: {spent}, AUC {auc:.4f}")
        print(f"peak memory {peak:.0f} MB (at most {LIMIT_MB} MB is demanded)")
        if peak > LIMIT_MB:
            sys.exit("more memory than demanded")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
