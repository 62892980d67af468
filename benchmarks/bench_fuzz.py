"""Damaged files, thousands of them: one target for each source, for model files and profiles.

Each target takes a good file, damages it (bytes changed, words set to extreme numbers, pieces cut,
doubled or moved) and reads what is left. Allowed are two outcomes: rows, or an error of cospan in
one sentence. The cases run in a process of their own for each target, so that a crash is seen as
one, with its peak memory (below 1 GB, or it counts as a finding); so does a case that has not ended
after 60 seconds. Everything is seeded: a failing case can be made again.

    python benchmarks/bench_fuzz.py [CASES] [TARGET ...]
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

ROWS = np.random.default_rng(0).normal(size=(40, 3))
LABELS = np.arange(40) % 2
#: Every case ends within this time, and takes less than this memory.
SECONDS, MEMORY = 60, 10**9
#: Numbers that programs forget: the ends of the ranges, and what wraps around.
EXTREMES = (0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1)


# ---- good files --------------------------------------------------------------------------------


def _arrow_table():
    import pyarrow as pa

    lists = pa.array([[float(i), 2.0] for i in range(40)])
    text = ["cat" if label else "dog" for label in LABELS]
    columns = {"a": ROWS[:, 0], "b": ROWS[:, 1], "l": lists, "y": text}
    return pa.table({**columns, "c": pa.array(text).dictionary_encode()})


def csv(folder):
    lines = [",".join(map(repr, map(float, row))) for row in ROWS]
    (folder / "x.csv").write_text("a,b,c\n" + "\n".join(lines))
    return folder / "x.csv", {}


def packed_csv(folder):
    path, options = csv(folder)
    (folder / "x.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return folder / "x.csv.gz", options


def parquet(folder):
    import pyarrow.parquet as pq

    pq.write_table(_arrow_table(), folder / "x.parquet")
    return folder / "x.parquet", {"label": "y"}


def arrow(folder):
    from pyarrow import feather

    feather.write_feather(_arrow_table(), str(folder / "x.arrow"), compression="uncompressed")
    return folder / "x.arrow", {"label": "y"}


def arrow_stream(folder):
    import pyarrow as pa

    table = _arrow_table()
    with pa.ipc.new_stream(str(folder / "x.arrow"), table.schema) as writer:
        writer.write_table(table)
    return folder / "x.arrow", {"label": "c"}


def npy(folder):
    np.save(folder / "x.npy", ROWS)
    return folder / "x.npy", {}


def npz(folder):
    np.savez_compressed(folder / "x.npz", x=ROWS, y=LABELS)
    return folder / "x.npz", {"label": "y"}


def safetensors(folder):
    from safetensors.numpy import save_file

    save_file({"x": ROWS, "y": LABELS}, folder / "x.safetensors")
    return folder / "x.safetensors", {"label": "y"}


def hdf5(folder):
    import h5py

    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("x", data=ROWS, chunks=(10, 3), compression="gzip")
        file["y"] = LABELS
    return folder / "x.h5", {"label": "y"}


def zarr(folder):
    import zarr as library

    group = library.create_group(folder / "x.zarr", zarr_format=3)
    group.create_array("x", data=ROWS, chunks=(10, 3))
    group.create_array("y", data=LABELS)
    return folder / "x.zarr", {"label": "y"}


def zarr_2(folder):
    import zarr as library

    library.create_array(folder / "x.zarr", data=ROWS, chunks=(10, 3), zarr_format=2)
    return folder / "x.zarr", {}


def idx(folder):
    content = struct.pack(">BBBBIII", 0, 0, 8, 3, 40, 3, 3) + bytes(range(256))[:180] * 2
    (folder / "x-idx3-ubyte.gz").write_bytes(gzip.compress(content))
    return folder / "x-idx3-ubyte.gz", {}


def images(folder):
    from PIL import Image

    (folder / "images").mkdir()
    rng = np.random.default_rng(0)
    for number, ending in enumerate(("png", "jpg", "gif", "bmp", "tiff", "webp", "ppm")):
        pixels = rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "images" / f"{number}.{ending}")
    return folder / "images", {"image_size": 8}


def saved_dataset(folder):
    path, _ = arrow_stream(folder)
    (folder / "x").mkdir()
    path.rename(folder / "x" / "data.arrow")
    state = {"_data_files": [{"filename": "data.arrow"}], "_indices_data_files": None}
    (folder / "x" / "state.json").write_text(json.dumps(state))
    (folder / "x" / "dataset_info.json").write_text("{}")
    return folder / "x", {"label": "y"}


def model(folder):
    from cospan import JointFrame, save

    save(folder / "x.cospan", JointFrame.fit(ROWS, ROWS[::-1] * 2 + 1))
    return folder / "x.cospan", {}


def profile(folder):
    from cospan import Profile
    from cospan.monitoring.files import save_profile

    save_profile(folder / "x.cospan", Profile.of(ROWS, every="10-rows"))
    return folder / "x.cospan", {}


TARGETS = {
    target.__name__: target
    for target in (
        *(csv, packed_csv, parquet, arrow, arrow_stream, npy, npz, safetensors, hdf5, zarr),
        *(zarr_2, idx, images, saved_dataset, model, profile),
    )
}


# ---- damage ------------------------------------------------------------------------------------


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """The same bytes with one to six injuries."""
    found = bytearray(data)
    for _ in range(rng.integers(1, 7)):
        if not found:
            break
        place, kind = int(rng.integers(len(found))), int(rng.integers(6))
        if kind < 2:
            found[place] = int(rng.integers(256))
        elif kind == 2:
            width = int(rng.choice((1, 2, 4, 8)))
            word = int(rng.choice(EXTREMES)) % 2 ** (8 * width)
            found[place : place + width] = word.to_bytes(width, rng.choice(("little", "big")))
        elif kind == 3:
            del found[place : place + int(rng.integers(1, 40))]
        elif kind == 4:
            piece = found[place : place + int(rng.integers(1, 40))]
            found[place:place] = piece
        elif rng.random() < 0.3:
            del found[place:]
    return bytes(found)


def injure(path: Path, rng: np.random.Generator) -> None:
    """Damage a file, or one of the files in a folder."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    file = files[int(rng.integers(len(files)))]
    file.write_bytes(damaged(file.read_bytes(), rng))


def outcome(path: Path, options: dict[str, object], target: str) -> str:
    """What came of reading: "read", "refused", or what should not have come."""
    from cospan import Profile, load
    from cospan.data import open_source
    from cospan.errors import CospanError

    try:
        if target in ("model", "profile"):
            (load if target == "model" else Profile.load)(path)
        else:
            part = "::x" if path.suffix == ".zarr" and "label" in options else ""
            for _ in open_source(f"{path}{part}", **options).chunks():
                pass
    except CospanError as error:
        return "refused" if "\n" not in str(error) else f"several lines: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    return "read"


def run_cases(target: str, first: int, cases: int) -> Counter[str]:
    """The outcomes of some cases, in this process."""
    found: Counter[str] = Counter()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        (root / "good").mkdir()
        good, options = TARGETS[target](root / "good")
        for number in range(first, first + cases):
            bad = root / "bad" / good.name
            shutil.copytree(root / "good", root / "bad")
            injure(bad, np.random.default_rng([number, len(target)]))
            print(f"case {number}", file=sys.stderr, flush=True)  # the last one, after a crash
            signal.alarm(SECONDS)  # a hang ends the process, and is seen as a crash by a signal
            found[outcome(bad, options, target)] += 1
            signal.alarm(0)
            shutil.rmtree(root / "bad")
    return found


def run_target(target: str, cases: int, first: int = 0, seconds: float = 600) -> dict[str, object]:
    """The same in a process of its own: outcomes, peak memory in bytes, and how it ended."""
    run = [sys.executable, __file__, "--child", target, str(first), str(cases)]
    found = subprocess.run(run, capture_output=True, text=True, timeout=seconds)
    if found.returncode != 0:
        return {"crashed": found.returncode, "said": found.stderr[-300:]}
    result: dict[str, object] = json.loads(found.stdout)
    return result


def child(target: str, first: int, cases: int) -> None:
    result: dict[str, object] = {"outcomes": dict(run_cases(target, first, cases))}
    status = Path("/proc/self/status")
    if status.exists():
        result["peak"] = 1024 * int(re.search(r"VmHWM:\s*(\d+)", status.read_text())[1])
    print(json.dumps(result))


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    chosen = sys.argv[2:] or list(TARGETS)
    total, odd = 0, []
    print(f"{'target':<14} {'cases':>6} {'read':>6} {'refused':>8} {'else':>5} {'peak':>8}")
    for target in chosen:
        found = run_target(target, cases)
        if "crashed" in found:
            odd.append(f"{target}: {found}")
            print(f"{target:<14} {cases:>6} crashed ({found['crashed']})")
            continue
        outcomes = dict(found["outcomes"])
        read, refused = outcomes.pop("read", 0), outcomes.pop("refused", 0)
        total += read + refused
        odd += [f"{target}: {text} ({n} times)" for text, n in outcomes.items()]
        if int(found.get("peak", 0)) > MEMORY:
            odd.append(f"{target}: {int(found['peak']) / 1e6:,.0f} MB of memory")
        peak = f"{found.get('peak', 0) / 2**20:.0f} MB"
        print(
            f"{target:<14} {cases:>6} {read:>6} {refused:>8} {sum(outcomes.values()):>5} {peak:>8}"
        )
    print(f"{total:,} damaged files were read or refused in one sentence; {len(odd)} findings.")
    print("\n".join(odd))
    sys.exit(bool(odd))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--short"]:  # all targets in one process, for the tests
        short = {target: dict(run_cases(target, 0, int(sys.argv[2]))) for target in TARGETS}
        print(json.dumps(short))
    elif sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
