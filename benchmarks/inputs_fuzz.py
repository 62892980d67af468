"""Damaged files, thousands of them: every one is read, or refused in one sentence.

    python benchmarks/bench_inputs.py fuzz                   5,000 of all kinds, ten minutes
    python benchmarks/bench_inputs.py fuzz 1000 parquet npz  as many of these kinds

A good file is damaged (bytes changed, words set to extreme numbers, pieces cut, doubled or moved)
and compared; the two good ends are a result and an error of cospan in one line. Anything else is
mishandled: another exception, an end by a signal, more than 1 GB of memory (4 GB for Arrow and
Parquet, whose own metadata say how much to read), no end within 60 s. The cases of a kind share
one process until it dies of one. Everything is seeded: a case can be made again.
"""

import argparse
import bz2
import gzip
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import good_files
from commands import MEMORY, SECONDS, bounded, peak_memory, warm_up

# Numbers that programs forget: the ends of the ranges, and what wraps around.
EXTREMES = (0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1)
# Half of the packed files are damaged before they are packed.
PACKERS = {".gz": gzip, ".bz2": bz2}


def damaged(data, rng):
    """The same bytes with one to six injuries."""
    found = bytearray(data)
    for _ in range(rng.integers(1, 7)):
        if not found:
            break
        place, kind = int(rng.integers(len(found))), int(rng.integers(6))
        if kind == 0:
            found[place] = int(rng.integers(256))
        elif kind == 1:
            found[place] = found[int(rng.integers(len(found)))]
        elif kind == 2:
            width = int(rng.choice((1, 2, 4, 8)))
            word = int(rng.choice(EXTREMES)) % 2 ** (8 * width)
            found[place : place + width] = word.to_bytes(width, rng.choice(("little", "big")))
        elif kind == 3:
            del found[place : place + int(rng.integers(1, 40))]
        elif kind == 4:
            found[place:place] = found[place : place + int(rng.integers(1, 40))]
        elif rng.random() < 0.3:
            del found[place:]
    return bytes(found)


def damaged_copy(good, folder, rng):
    """A copy of a file or folder with one file damaged."""
    bad = folder / good.name
    (shutil.copytree if good.is_dir() else shutil.copyfile)(good, bad)
    files = sorted(file for file in bad.rglob("*") if file.is_file()) if bad.is_dir() else [bad]
    file = files[int(rng.integers(len(files)))]
    data, packer = file.read_bytes(), PACKERS.get(file.suffix)
    if packer and rng.random() < 0.5:
        data = packer.compress(damaged(packer.decompress(data), rng))
    else:
        data = damaged(data, rng)
    file.write_bytes(data)
    return bad


def use(kind, bad, good):
    """Read the damaged file as a user would."""
    import cospan

    label = good_files.KINDS[kind][2]
    if kind in ("model", "profile"):
        (cospan.load if kind == "model" else cospan.Profile.load)(bad)
    elif label:
        cospan.compare(bad, label=label)
    else:
        cospan.compare(bad, good, **({"image_size": 8} if kind == "images" else {}))


def outcome(kind, bad, good):
    from cospan.errors import CospanError

    ignored = []  # exceptions that Python cannot raise are printed, which a user sees
    sys.unraisablehook = ignored.append
    try:
        use(kind, bad, good)
    except CospanError as error:
        if "\n" in str(error) or ignored:
            return f"more than a sentence: {ignored[0].exc_value if ignored else error}"
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    return "read"


def run_cases(kind, first, cases, folder, journal):
    """Cases of a kind in this process; a line of the journal for each: outcome, peak, seconds."""
    warnings.simplefilter("ignore")
    good = good_files.write(kind, folder / "good")
    with journal.open("a") as lines:
        for number in range(first, cases):
            shutil.rmtree(folder / "bad", ignore_errors=True)
            (folder / "bad").mkdir()
            bad = damaged_copy(good, folder / "bad", np.random.default_rng([number, len(kind)]))
            bounded()
            start = time.process_time()
            found = outcome(kind, bad, good)
            lines.write(json.dumps([found, peak_memory(), time.process_time() - start]) + "\n")
            lines.flush()


def run_kind(kind, cases, folder):
    """What came of each case of a kind, over as many processes as it takes."""
    journal = folder / f"{kind}.journal"
    journal.touch()
    while (done := len(journal.read_text().splitlines())) < cases:
        pid = os.fork()
        if pid == 0:
            run_cases(kind, done, cases, folder, journal)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        lines = len(journal.read_text().splitlines())
        if lines < cases:
            late = code in (-signal.SIGPROF, -signal.SIGALRM)
            ended = f"no end within {SECONDS} s" if late else f"ended by {code}"
            with journal.open("a") as more:
                more.write(json.dumps([ended, 0, 0.0]) + "\n")
    return [json.loads(line) for line in journal.read_text().splitlines()]


def main(arguments):
    """Run it; returns whether something was mishandled."""
    parser = argparse.ArgumentParser(
        prog="bench_inputs.py fuzz", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("cases", nargs="?", type=int, default=5000, help="of all kinds together")
    parser.add_argument("kinds", nargs="*", metavar="kind", help=", ".join(good_files.KINDS))
    options = parser.parse_args(arguments)
    kinds = options.kinds or list(good_files.KINDS)
    warm_up()
    counts, odd, largest, longest = Counter(), [], 0, 0.0
    for place, kind in enumerate(kinds):
        cases = options.cases * (place + 1) // len(kinds) - options.cases * place // len(kinds)
        limit = 4 * MEMORY if kind in good_files.CLAIMS else MEMORY
        own = Counter()
        with tempfile.TemporaryDirectory() as folder:
            for number, (found, peak, seconds) in enumerate(run_kind(kind, cases, Path(folder))):
                wrong = found not in ("read", "refused") or peak > limit
                own["mishandled" if wrong else found] += 1
                largest, longest = max(largest, peak), max(longest, seconds)
                if wrong:
                    odd.append(f"{kind}, case {number}: {found}, {peak / 1e6:,.0f} MB")
                    print(odd[-1], flush=True)
        print(f"{kind:<14} {dict(own)}", flush=True)
        counts += own
    print(
        f"{sum(counts.values()):,} damaged files: {counts['read']:,} read, "
        f"{counts['refused']:,} refused in one sentence, {len(odd)} mishandled (wanted: 0); "
        f"peak {largest / 1e6:,.0f} MB, longest {longest:.1f} s"
    )
    return bool(odd)
