"""How fast a wide Parquet file becomes rows, and how much memory that takes.

    make bench                                        all benchmarks
    python benchmarks/bench_sources.py                2 GB on disk, a minute or two
    python benchmarks/bench_sources.py --gigabytes 0.3

Files of float32 noise with 784 columns are written to a temporary folder: once in row groups of
8,192 rows, once in row groups of a quarter million (nearly as large as writers make them by
default), once as one column of fixed-size lists. Each is read in a process of its own, so that
its peak of resident memory can be told (by Linux's /proc):

    arrow     pyarrow's own record batches, nothing done with them
    source    open_source(file).chunks(): checked, C-contiguous float32 rows
    npy       the same numbers as a .npy file, memory-mapped

The result the project asks for: a 2 GB Parquet file is read well within 600 MB of memory.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

COLUMNS = 784
LIMIT_MB = 600

READ = """
import re, sys, time
from pathlib import Path
import pyarrow.parquet as pq
from cospan.data import files, open_source
mode, path = sys.argv[1:]
start, busy = time.perf_counter(), time.process_time()
rows = 0
if mode == "arrow":
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=2**15) as file:
        for batch in file.iter_batches(2048):
            rows += batch.num_rows
else:
    for chunk in open_source(path).chunks():
        rows += len(chunk.rows)
seconds, busy = time.perf_counter() - start, time.process_time() - busy
# Not getrusage: its peak is inherited from the process that started this one.
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(rows, seconds, busy, int(peak) / 1024)
"""


def write(folder, rows):
    """The test files, in order, without ever holding one of them whole."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    wide = pa.schema([(f"p{j}", pa.float32()) for j in range(COLUMNS)])
    lists = pa.schema([("embedding", pa.list_(pa.float32(), COLUMNS))])
    plan = {"small row groups": (wide, 8192), "large row groups": (wide, 2**18)}
    plan["lists"] = (lists, 8192)
    for number, (name, (schema, group)) in enumerate(plan.items()):
        path = folder / f"{number}.parquet"
        rng = np.random.default_rng(number)
        with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
            for start in range(0, rows, group):
                X = rng.random((min(group, rows - start), COLUMNS), dtype=np.float32)
                if schema is lists:
                    columns = [pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), COLUMNS)]
                else:
                    columns = [pa.array(column) for column in np.ascontiguousarray(X.T)]
                writer.write_table(pa.table(columns, schema=schema), row_group_size=group)
        yield name, path
        path.unlink()
    array = np.lib.format.open_memmap(folder / "x.npy", "w+", np.float32, (rows, COLUMNS))
    for start in range(0, rows, 8192):
        array[start : start + 8192] = rng.random(array[start : start + 8192].shape)
    array.flush()
    yield "npy", folder / "x.npy"


def measure(mode, path):
    command = [sys.executable, "-c", READ, mode, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows, seconds, busy, megabytes = (float(word) for word in done.stdout.split())
    return int(rows), seconds, busy, megabytes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=2.0, help="size of each file")
    parser.add_argument("--folder", type=Path, help="where the files go for a while")
    options = parser.parse_args()
    rows = int(options.gigabytes * 1e9 / (4 * COLUMNS))
    worst = 0.0
    print(f"{rows:,} rows × {COLUMNS} float32 columns, {options.gigabytes:g} GB")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for name, path in write(Path(folder), rows):
            for mode in ("arrow", "source") if path.suffix == ".parquet" else ("source",):
                read, seconds, busy, megabytes = measure(mode, path)
                if read != rows:
                    raise SystemExit(f"{name}: {read} rows read, {rows} written")
                speed = rows * COLUMNS * 4 / seconds / 1e9
                print(
                    f"{name:18} {mode:8} {seconds:6.2f} s ({busy:5.2f} s of processor) "
                    f"{speed:5.2f} GB/s {megabytes:5.0f} MB"
                )
                worst = max(worst, megabytes if mode == "source" else 0)
    verdict = "within" if worst < LIMIT_MB else "ABOVE"
    print(f"peak memory of a source: {worst:.0f} MB, {verdict} {LIMIT_MB} MB")


if __name__ == "__main__":
    main()
