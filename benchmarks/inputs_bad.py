"""Hundreds of bad inputs on the command line: every one ends in a result or in one sentence.

    python benchmarks/bench_inputs.py bad                   all of them, some minutes
    python benchmarks/bench_inputs.py bad 100               a hundred or so, evenly
    python benchmarks/bench_inputs.py bad --list            what they are
    python benchmarks/bench_inputs.py bad --only cells arrays

Files cut short, files of one kind named like another, odd cells, odd arrays, odd options, sets that
do not belong together, forged profiles, devices in the place of files, small files of much text.
Mishandled is a traceback, "bug in cospan", an end by a signal, no end within 60 s, more than 1 GB
of memory (4 GB for Arrow and Parquet). Some inputs must be compared, with a finding that names the
column (one absurd cell, a schema that changed): refusing them counts as mishandled, too.
"""

import argparse
import itertools
import json
import tempfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import bad_cases
import good_files
from commands import MEMORY, SECONDS, command, first_finding, forked, mishandled, warm_up


class Case(NamedTuple):
    """One command: `make(folder)` writes what it needs and gives its arguments."""

    group: str
    name: str
    make: object
    column: str | None = None  # the column that the output must name, after exit code 0
    memory: int = MEMORY


def cut_short():
    kinds = [kind for kind in good_files.KINDS if kind not in good_files.FOLDERS]
    for kind, share in itertools.product(kinds, (0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)):

        def make(folder, kind=kind, share=share):
            good = good_files.write(kind, folder)
            data = good.read_bytes()
            bad = folder / f"cut-{good.name}"
            bad.write_bytes(data[: int(share * len(data))])
            return [bad, good]

        yield Case("cut_short", f"{kind} at {share:.0%}", make, memory=memory_of(kind))


def memory_of(kind):
    return 4 * MEMORY if kind in good_files.CLAIMS else MEMORY


def misnamed():
    kinds = [kind for kind in good_files.KINDS if kind not in good_files.FOLDERS]
    for kind, ending in itertools.product(kinds, bad_cases.ENDINGS):

        def make(folder, kind=kind, ending=ending):
            bad = folder / f"misnamed.{ending}"
            bad.write_bytes(good_files.write(kind, folder).read_bytes())
            return [bad, good_files.write("csv", folder)]

        yield Case("misnamed", f"{kind} as .{ending}", make)


def cells():
    """CSV files with one odd cell: in the header, among numbers, among categories."""
    places = {"name": (0, 1), "number": (7, 1), "category": (7, 3)}
    for cell, (place, (line, field)) in itertools.product(bad_cases.CELLS, places.items()):

        def make(folder, cell=cell, line=line, field=field):
            good = good_files.write("csv", folder)
            table = [row.split(",") for row in good.read_text().splitlines()]
            table[line][field] = cell
            bad = folder / "cell.csv"
            text = "\n".join(",".join(row) for row in table)
            bad.write_bytes(text.encode("utf-8", "surrogateescape"))
            return [bad, good]

        absurd = place == "number" and cell in bad_cases.ABSURD
        yield Case("cells", f"{place} {cell[:20]!a}", make, "bravo" if absurd else None)


def arrays():
    for (name, data), packed in itertools.product(bad_cases.arrays().items(), (False, True)):

        def make(folder, data=data, packed=packed):
            bad = folder / f"array.np{'z' if packed else 'y'}"
            if packed:
                with zipfile.ZipFile(bad, "w") as archive:
                    archive.writestr("x.npy", data)
            else:
                bad.write_bytes(data)
            return [bad, good_files.write("npy", folder)]

        yield Case("arrays", f"{name}{' in an archive' if packed else ''}", make)


def options():
    for option, values in bad_cases.OPTIONS.items():
        for value in values:

            def make(folder, option=option, value=value):
                good = good_files.write("parquet", folder)
                return [good, good, option, value]

            yield Case("options", f"{option} {value!a}", make)


def together():
    """Two good files that do not belong together, and names that lead nowhere."""
    for first, second in itertools.combinations(good_files.KINDS, 2):

        def make(folder, first=first, second=second):
            return [good_files.write(first, folder), good_files.write(second, folder)]

        yield Case("together", f"{first} and {second}", make)
    for name in bad_cases.NAMES:
        yield Case("together", f"{name!a}", lambda f, n=name: [n, good_files.write("csv", f)])


def schemas():
    """Tables whose columns differ: compared, and the column is named."""
    for name, (first, second, column) in bad_cases.SCHEMAS.items():

        def make(folder, tables=(first, second)):
            paths = [folder / "first.csv", folder / "second.csv"]
            for path, columns in zip(paths, tables, strict=True):
                rows = zip(*columns.values(), strict=True)
                path.write_text("\n".join([",".join(columns), *(",".join(row) for row in rows)]))
            return paths

        yield Case("schemas", name, make, column)


def profiles():
    """cospan monitor with profiles whose settings lie, with a right digest."""
    with tempfile.TemporaryDirectory() as folder:
        data = good_files.write("profile", Path(folder)).read_bytes()
    for name, value in itertools.product(bad_cases.settings_of(data), bad_cases.ODD_SETTINGS):

        def make(folder, name=name, value=value):
            bad = folder / "forged.cospan"
            bad.write_bytes(bad_cases.resealed(data, name, value))
            return ["monitor", bad, good_files.write("npy", folder)]

        yield Case("profiles", f"{name} is {value!a}", make)


def devices():
    """Pipes, devices and broken links: as a file, a profile, an output, a file in a folder."""
    for name, special in bad_cases.SPECIAL.items():
        for role, ending in bad_cases.ROLES:

            def make(folder, special=special, role=role, ending=ending):
                good, bad = good_files.write("csv", folder), folder / f"special.{ending}"
                bad_cases.put(special, bad)
                if role == "data":
                    return [bad, good]
                if role == "profile":
                    return ["monitor", bad, good_files.write("npy", folder)]
                return [good, good, f"--{role}", bad]

            yield Case("devices", f"{role}.{ending} is {name}", make)
        for kind, number in itertools.product(good_files.FOLDERS, range(3)):

            def make(folder, special=special, kind=kind, number=number):
                bad = folder / "special folder"
                bad_cases.copy(good_files.write(kind, folder), bad)
                bad_cases.put(special, sorted(bad.iterdir())[number])
                return [bad, bad, *(["--image-size", "8"] if kind == "images" else [])]

            yield Case("devices", f"{kind}: file {number} is {name}", make)


def texts():
    """Texts of gigabytes in kilobytes, lines without end, tables of thousands of columns."""
    for name, write in bad_cases.TEXTS.items():
        for verb in ("compare", "profile", "monitor"):

            def make(folder, name=name, write=write, verb=verb):
                path = folder / name
                if not path.exists():
                    forked(lambda: write(path), folder)  # its memory is not the command's
                rest = ["-o", folder / "made.cospan"] if verb == "profile" else [path]
                return [verb, path, *rest]

            limit = 4 * MEMORY if name.endswith("parquet") else MEMORY
            yield Case("texts", f"{verb}: {name}", make, memory=limit)


GROUPS = {
    group.__name__: group
    for group in (cut_short, misnamed, cells, arrays, options, together, schemas, profiles,
                  devices, texts)
}  # fmt: skip


def judged(case, ended):
    """What is wrong with the end of a case, or None."""
    wrong = mishandled(ended, case.memory)
    if wrong is None and case.column is not None:
        if ended.code:
            wrong = f"refused: {' '.join(ended.errors.split())[:150]}"
        elif case.column not in first_finding(json.loads(ended.printed), bad_cases.COLUMNS):
            wrong = f"column {case.column} is not in the first finding"
    return wrong


def main(arguments):
    """Run it; returns whether something was mishandled."""
    parser = argparse.ArgumentParser(
        prog="bench_inputs.py bad", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("most", nargs="?", type=int)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS))
    asked = parser.parse_args(arguments)
    warm_up()
    cases = [case for group in asked.only for case in GROUPS[group]()]
    cases = cases[:: max(1, len(cases) // (asked.most or len(cases)))]
    if asked.list:
        print("\n".join(f"{case.group}: {case.name}" for case in cases))
        return False
    counts, largest, longest = Counter(), 0, 0.0
    with tempfile.TemporaryDirectory() as name:
        for case in cases:
            arguments = case.make(Path(name))
            verb = [] if arguments[0] in ("compare", "monitor", "profile") else ["compare"]
            more = ["--json"] if case.column else []
            ended = forked(command(*verb, *arguments, *more), Path(name))
            wrong = judged(case, ended)
            counts[case.group, "mishandled" if wrong else "refused" if ended.code else "read"] += 1
            largest, longest = max(largest, ended.peak), max(longest, ended.seconds)
            if wrong:
                print(f"{case.group}: {case.name}: {wrong}", flush=True)
    for group in asked.only:
        row = {end: counts[group, end] for end in ("read", "refused", "mishandled")}
        print(f"{group:<10} {row}")
    wrong = sum(number for (_, end), number in counts.items() if end == "mishandled")
    print(
        f"{len(cases)} bad inputs: {wrong} mishandled (wanted: 0); peak {largest / 1e6:,.0f} MB, "
        f"longest {longest:.1f} s (at most {SECONDS})"
    )
    return bool(wrong)
