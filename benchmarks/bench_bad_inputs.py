"""Hundreds of bad inputs on the command line: every one ends in a result or in one sentence.

    python benchmarks/bench_bad_inputs.py              all of them, some minutes
    python benchmarks/bench_bad_inputs.py 100          every fifth or so
    python benchmarks/bench_bad_inputs.py --list       what they are
    python benchmarks/bench_bad_inputs.py --only embeddings

Files cut short, files of one kind named like another, odd cells, odd arrays, odd options, sets that
do not fit together; hostile models, caches and profiles (hostile.py). Each command
runs in a process of its own, made by forking this one, which has imported everything. What must
hold: no traceback, no "bug in cospan", no end by a signal, less than 1 GB of memory for an input
below 1 MB, and an end within 60 s.
"""

import argparse
import functools
import io
import itertools
import json
import os
import re
import signal
import struct
import sys
import tempfile
import time
import zipfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np

import hostile
from bench_fuzz import TARGETS

SECONDS = 60
MEMORY = 10**9
FOLDERS = ("images", "zarr", "zarr_2", "saved_dataset")
ENDINGS = ("csv", "csv.gz", "parquet", "arrow", "npy", "npz", "safetensors", "h5", "json", "txt")
CELLS = (
    *("", " ", "inf", "-inf", "nan", "NaN", "NA", "null", "None", "1e999", "-1e400", "1e-400"),
    *("0x10", "1_000", "1,5", "1.2.3", "--1", "+-2", "١٢", "½", "true", "yes", "2020-13-45"),
    *("=cmd|' /C calc'!A0", "<script>alert(1)</script>", "\x1b[31mred", "\x07", "\u202e", "😀"),
    *("a" * 100_000, '"unclosed', 'a"b', "'", "\\", "\ufeff", "1\x002", "\udcff", "x\ry", "\t"),
)
OPTIONS = {
    "--shrinkage": ("nan", "-1", "2", "inf", "1e-400", "half", ""),
    "--dof": ("0", "-3", "nan", "many"),
    "--pooling": ("-0.1", "1.1", "nan", "both"),
    "--units": ("metres", "", "OWN"),
    "--span": ("cubic", ""),
    "--preset": ("rock", ""),
    "--seed": ("-1", "1.5", "x", str(10**30)),
    "--permutations": ("-1", "1.5", "x"),
    "--columns": ("nothing", "", "a,b", "a b", "\x1b[0m"),
    "--drop": ("nothing", ""),
    "--numeric": ("nothing", "y"),
    "--categorical": ("nothing", "a"),
    "--label": ("nothing", "", "a", "0"),
    "--a": ("cat", ""),
    "--b": ("dog", ""),
    "--id": ("nothing", "", "a"),
    "--missing": ("guess", "error", "drop", ""),
    "--image-size": ("0", "-4", "x", "100000", "8x"),
    "--image-shape": ("0", "2", "3x3", "x", "1x1x1x1"),
    "--scores": ("/nonexistent/folder/s.csv", "s.xyz", "/dev/full", "."),
    "--output": ("/nonexistent/r.html", "r.xyz", "/dev/full", "."),
    "--model": ("/nonexistent/m.cospan", "."),
    "--scheduler": ("nowhere", "tcp://256.0.0.1:1", ""),
    "--name-a": ("", "\x1b[31m"),
    "--center": ("middle", "1,2"),
    "--weighting": ("frame", "x"),
    "--fail-above": ("nan", "x", "-1"),
    "--score": ("/nonexistent.csv", "."),
}


# ---- inputs ------------------------------------------------------------------------------------


def written(folder, kind):
    """A good file of a kind, in a folder of its own."""
    place = folder / kind
    if not place.exists():
        place.mkdir()
        TARGETS[kind](place)
    return next(path for path in sorted(place.iterdir()))


def cut_short():
    """Files of every kind, with the end missing."""
    for kind, share in itertools.product(TARGETS, (0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)):
        if kind in FOLDERS:
            continue

        def make(folder, kind=kind, share=share):
            good = written(folder, kind)
            bad = folder / f"cut-{share}-{good.name}"
            data = good.read_bytes()
            bad.write_bytes(data[: int(share * len(data))])
            return [bad, good]

        yield f"{kind} cut at {share:.0%}", make


def misnamed():
    """Files of one kind, named like another."""
    for kind, ending in itertools.product(TARGETS, ENDINGS):
        if kind in FOLDERS:
            continue

        def make(folder, kind=kind, ending=ending):
            good = written(folder, kind)
            bad = folder / f"{kind}-as.{ending}"
            bad.write_bytes(good.read_bytes())
            return [bad, written(folder, "csv")]

        yield f"{kind} named .{ending}", make


def cells():
    """CSV files with one odd cell, in the header or below it."""
    for (number, cell), line in itertools.product(enumerate(CELLS), (0, 7)):

        def make(folder, cell=cell, number=number, line=line):
            good = written(folder, "csv")
            lines = good.read_text().splitlines()
            lines[line] = ",".join([*lines[line].split(",")[:-1], cell])
            bad = folder / f"cell-{number}-{line}.csv"
            bad.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
            return [bad, good]

        yield f"cell {cell[:20]!a} in line {line}", make


def npy_bytes(header, data=b"", version=(1, 0)):
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H", len(text)) + text + data


def header(descr="'<f8'", order="False", shape="(4, 3)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


def saved(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def arrays():
    """NPY files with odd types, shapes and headers, alone and in an archive."""
    found = {
        "objects": saved(np.array([[1, "a"], [2, None]], dtype=object)),
        "structured": saved(np.zeros(4, dtype=[("a", "f8"), ("b", "i4")])),
        "dates": saved(np.zeros((4, 3), dtype="M8[s]")),
        "spans": saved(np.zeros((4, 3), dtype="m8[s]")),
        "complex": saved(np.ones((4, 3)) * 1j),
        "text": saved(np.full((4, 3), "x")),
        "bytes": saved(np.full((4, 3), b"x")),
        "void": saved(np.zeros((4, 3), dtype="V5")),
        "half": saved(np.ones((4, 3), np.float16)),
        "booleans": saved(np.ones((4, 3), bool)),
        "one number": saved(np.array(3.0)),
        "one row of numbers": saved(np.arange(3.0)),
        "no rows": saved(np.ones((0, 3))),
        "no columns": saved(np.ones((3, 0))),
        "one value": saved(np.ones((5, 3))),
        "only NaN": saved(np.full((5, 3), np.nan)),
        "infinite": saved(np.full((5, 3), np.inf)),
        "huge numbers": saved(np.full((5, 3), 1e308) * [[1], [-1], [1], [-1], [0.5]]),
        "tiny numbers": saved(np.full((5, 3), 5e-324)),
        "64 dimensions": saved(np.ones((2, 3) + (1,) * 30)),
        "65 dimensions": npy_bytes(header(shape=str((2, 3) + (1,) * 70))),
        "negative shape": npy_bytes(header(shape="(-4, 3)")),
        "endless": npy_bytes(header(shape=f"({10**15}, 3)"), bytes(96)),
        "wide": npy_bytes(header(shape=f"(2, {2**40})"), bytes(96)),
        "overflow": npy_bytes(header(shape=f"({2**62}, {2**62})"), bytes(96)),
        "floats as shape": npy_bytes(header(shape="(4.0, 3)"), bytes(96)),
        "no tuple": npy_bytes(header(shape="12"), bytes(96)),
        "odd order": npy_bytes(header(order="'maybe'"), bytes(96)),
        "unknown type": npy_bytes(header(descr="'<q9'"), bytes(96)),
        "code": npy_bytes("__import__('os').system('true')"),
        "deep": npy_bytes("(" * 3000 + ")" * 3000),
        "version": npy_bytes(header(), bytes(96), (9, 9)),
        "empty header": npy_bytes(""),
        "no dictionary": npy_bytes("[1, 2]"),
    }
    for (name, data), packed in itertools.product(found.items(), (False, True)):

        def make(folder, name=name, data=data, packed=packed):
            bad = folder / f"{name}.np{'z' if packed else 'y'}"
            if packed:
                with zipfile.ZipFile(bad, "w") as archive:
                    archive.writestr("x.npy", data)
            else:
                bad.write_bytes(data)
            return [bad, written(folder, "npy")]

        yield f"array: {name}{' in an archive' if packed else ''}", make


def options():
    """Good files with an option that is off."""
    for option, values in OPTIONS.items():
        for value in values:

            def make(folder, option=option, value=value):
                good = written(folder, "parquet")
                return [good, good, option, value]

            yield f"{option} {value!a}", make


def unlike():
    """Two good files that do not belong together, and names that lead nowhere."""
    for first, second in itertools.combinations(TARGETS, 2):

        def make(folder, first=first, second=second):
            return [written(folder, first), written(folder, second)]

        yield f"{first} and {second}", make
    for name in ("", ".", "..", "/", "/dev/null", "/dev/zero", "*", "[", "~", "a\nb", "-", "::x"):
        yield f"name {name!a}", lambda folder, name=name: [name, written(folder, "csv")]


GROUPS = (cut_short, misnamed, cells, arrays, options, unlike)
CASES = {
    **{group.__name__: group for group in GROUPS},
    **{group.__name__: functools.partial(group, written) for group in hostile.GROUPS},
}
COMMANDS = ("monitor", "profile")


# ---- running -----------------------------------------------------------------------------------


def run_one(make, folder):
    """How one command ended: its code or signal, what it said, its peak memory, its seconds."""
    arguments = [str(argument) for argument in make(folder)]
    said = folder / "said"
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        sink = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0), os.dup2(nothing, 1), os.dup2(sink, 2)
        Path("/proc/self/clear_refs").write_text("5")  # the peak is to be this command's own
        signal.alarm(SECONDS)
        os.chdir(folder)
        if arguments[0] in COMMANDS:
            sys.argv = ["cospan", *arguments]
        else:
            sys.argv = ["cospan", "compare", *arguments]
            if "--permutations" not in arguments:
                sys.argv += ["--permutations", "19"]
        code = 1
        try:
            from cospan.cli import main

            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        finally:
            status = Path("/proc/self/status").read_text()
            peak = 1024 * int(re.search(r"VmHWM:\s*(\d+)", status)[1])
            (folder / "peak").write_text(str(peak))
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    peak = int((folder / "peak").read_text()) if code >= 0 else 0
    return code, said.read_text(errors="replace"), peak, time.monotonic() - start


def judged(code, said, peak):
    """What should not have come, or None."""
    if code == -signal.SIGALRM:
        return f"no end within {SECONDS} s"
    if code < 0:
        return f"ended by signal {-code}"
    if "Traceback" in said or "bug in cospan" in said:
        return said.strip().splitlines()[-1][:200]
    if code not in (0, 1, 2, 3):
        return f"exit code {code}"
    if code and "rror" not in said:
        return f"exit code {code} without a sentence"
    if peak > MEMORY:
        return f"{peak / 1e6:,.0f} MB"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("most", nargs="?", type=int)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    asked = parser.parse_args()
    cases = [(group, *case) for group in asked.only for case in CASES[group]()]
    if asked.list:
        print("\n".join(f"{group}: {name}" for group, name, _ in cases))
        return
    if asked.most:
        cases = cases[:: max(1, len(cases) // asked.most)]
    import cospan.cli
    import cospan.comparison
    import cospan.data  # noqa: F401 - the commands start with everything imported

    with suppress(ImportError):
        import onnxruntime  # noqa: F401
        import safetensors.torch  # noqa: F401
        import tokenizers  # noqa: F401

    counts, odd, largest, longest = Counter(), [], 0, 0.0
    with tempfile.TemporaryDirectory() as name:
        os.environ["COSPAN_CACHE"] = str(Path(name) / "cache")
        for group, case, make in cases:
            code, said, peak, seconds = run_one(make, Path(name))
            wrong = judged(code, said, peak)
            counts[group, "odd" if wrong else "read" if code == 0 else "refused"] += 1
            largest, longest = max(largest, peak), max(longest, seconds)
            if wrong:
                odd.append(f"{group}: {case}: {wrong}")
                print(odd[-1], flush=True)
    for group in asked.only:
        row = {what: counts[group, what] for what in ("read", "refused", "odd")}
        print(f"{group:<14} " + json.dumps(row))
    print(
        f"{len(cases)} bad inputs: {len(odd)} findings (target 0); peak {largest / 1e6:,.0f} MB "
        f"(target below 1,000), longest {longest:.1f} s (target below {SECONDS})"
    )
    print("\n".join(odd))
    sys.exit(bool(odd))


if __name__ == "__main__":
    main()
