"""Valid calls with odd columns: none may end in an internal error.

    python benchmarks/bench_inputs.py odd            300 random calls, some minutes
    python benchmarks/bench_inputs.py odd 20 --first 100

Each call draws some odd columns (all infinite, denormal, constants of 1e17, 100,000 levels, nothing
but gaps, lists and structs with nulls …), sizes from one row on, the form of the tables (Arrow,
pandas, polars, Parquet, CSV), and what is done with them: a comparison with its page, Markdown and
JSON, an audit, fidelity, monitoring. Allowed are a result and an error of cospan in one sentence.
"""

import argparse
import datetime
import sys
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from commands import command, forked, mishandled, warm_up

DAY = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)


def some(rng, n, values, gaps=0.0):
    """Values drawn from a list, some of them missing."""
    return [
        None if rng.random() < gaps else values[int(rng.integers(len(values)))] for _ in range(n)
    ]


def dates(rng, n, zone=None, scale=1.0):
    days = rng.uniform(0, 300 * scale, n)
    found = [DAY + datetime.timedelta(days=float(day)) for day in days]
    return pa.array(found, pa.timestamp("us", zone))


# Name: what makes a column of n values. A list becomes an Arrow array.
ODD = {
    "all_infinite": lambda rng, n: [np.inf] * n,
    "both_infinities": lambda rng, n: some(rng, n, [np.inf, -np.inf, 1.0]),
    "one_infinite": lambda rng, n: [np.inf, *rng.normal(size=n - 1)],
    "one_absurd": lambda rng, n: [1e300, *rng.normal(size=n - 1)],
    "near_the_limit": lambda rng, n: list(rng.normal(size=n) * 1e99),
    "largest_floats": lambda rng, n: some(rng, n, [1.7e308, -1.7e308]),
    "denormals": lambda rng, n: list(rng.integers(1, 9, n) * 5e-324),
    "one_denormal": lambda rng, n: [1e-310, *rng.normal(size=n - 1)],
    "minus_zero": lambda rng, n: some(rng, n, [0.0, -0.0]),
    "constant_1e17": lambda rng, n: [1e17] * n,
    "nearly_1e17": lambda rng, n: list(1e17 + 16.0 * rng.integers(0, 2, n)),
    "large_offset": lambda rng, n: list(1e12 + rng.normal(size=n)),
    "constant": lambda rng, n: [3] * n,
    "two_values_far_apart": lambda rng, n: some(rng, n, [1e-90, 1e90]),
    "heavy_tails": lambda rng, n: list(rng.standard_cauchy(n) ** 9),
    "whole_numbers_beyond_53_bits": lambda rng, n: list(2**62 + rng.integers(0, 999, n)),
    "unsigned": lambda rng, n: pa.array(rng.integers(0, 2**63, n).astype(np.uint64) * 2),
    "half": lambda rng, n: pa.array(rng.normal(size=n).astype(np.float16)),
    "decimals": lambda rng, n: some(rng, n, [*map(Decimal, ("1.10", "9.99"))], 0.1),
    "all_missing": lambda rng, n: pa.array([None] * n, pa.float64()),
    "no_type": lambda rng, n: pa.nulls(n),
    "missing_texts": lambda rng, n: pa.array([None] * n, pa.string()),
    "one_known": lambda rng, n: [1.0, *[None] * (n - 1)],
    "nan_and_null": lambda rng, n: some(rng, n, [np.nan, 1.0, 2.0], 0.3),
    "empty_texts": lambda rng, n: [""] * n,
    "blank_texts": lambda rng, n: some(rng, n, ["", " ", "\t", "a"]),
    "one_long_text": lambda rng, n: ["x" * 10**6, *["y"] * (n - 1)],
    "odd_texts": lambda rng, n: some(rng, n, ["<b>", "\x1b[1m", "=1+1", "a\nb", "\u202e"], 0.1),
    "numbers_as_texts": lambda rng, n: [f"{x:.3f}" for x in rng.normal(size=n)],
    "numbers_and_texts": lambda rng, n: some(rng, n, ["1", "2.5", "x", "NA", ""]),
    "identifiers": lambda rng, n: [f"id-{x:012}" for x in rng.integers(0, 10**12, n)],
    "levels_of_one_row": lambda rng, n: [f"level {i}" for i in range(n)],
    "booleans": lambda rng, n: some(rng, n, [True, False], 0.1),
    "all_true": lambda rng, n: [True] * n,
    "dates": lambda rng, n: dates(rng, n),
    "dates_with_a_zone": lambda rng, n: dates(rng, n, "America/New_York"),
    "one_date": lambda rng, n: [datetime.date(2024, 2, 29)] * n,
    "dates_far_away": lambda rng, n: some(rng, n, [datetime.date.min, datetime.date.max]),
    "times": lambda rng, n: some(rng, n, [datetime.time(23, 59, 59), datetime.time(0)], 0.2),
    "spans": lambda rng, n: pa.array(rng.integers(-(10**9), 10**9, n), pa.duration("ms")),
    "nanoseconds": lambda rng, n: pa.array(rng.integers(0, 2**62, n), pa.timestamp("ns")),
    "lists": lambda rng, n: some(rng, n, [[1.0, 2.0], [3.0, 4.0]]),
    "lists_with_nulls": lambda rng, n: some(rng, n, [[1.0, None], [], None, [3.0]]),
    "structs_with_nulls": lambda rng, n: some(rng, n, [{"a": 1}, {"a": None, "b": "x"}], 0.2),
    "binary": lambda rng, n: some(rng, n, [b"\xff\x00", b""], 0.1),
    "coded_with_nulls": lambda rng, n: pa.array(some(rng, n, ["a", None, "b"])).dictionary_encode(),
}  # fmt: skip
PLAIN = {
    "normal": lambda rng, n: list(rng.normal(size=n)),
    "skewed": lambda rng, n: list(rng.gamma(2, 20, n)),
    "colour": lambda rng, n: some(rng, n, ["red", "green", "blue"], 0.05),
}
# Columns with few values, to be classes.
CLASSES = (
    *("blank_texts", "odd_texts", "booleans", "coded_with_nulls", "lists_with_nulls", "lists"),
    *("structs_with_nulls", "numbers_and_texts", "binary", "nan_and_null", "times", "minus_zero"),
)
SIZES = (1, 2, 20, 60, 60, 60, 300, 300, 300, 1000)
FORMS = ("arrow", "pandas", "polars", "parquet", "csv")
ACTIONS = (
    *("compare", "page", "classes", "compare many", "audit", "audit command", "fidelity"),
    *("monitor", "page"),
)


def table_of(names, rng, n):
    columns = {}
    for name in names:
        values = {**ODD, **PLAIN}[name](rng, n)
        columns[name] = values if isinstance(values, pa.Array) else pa.array(values)
    return pa.table(columns)


def as_form(table, form, path):
    """The table as an object or a file; as it is where the form has no place for a column."""
    try:
        if form == "pandas":
            return table.to_pandas()
        if form == "polars":
            import polars as pl

            return pl.from_arrow(table)
        if form == "parquet":
            pq.write_table(table, path.with_suffix(".parquet"))
            return path.with_suffix(".parquet")
        if form == "csv":
            pa_csv.write_csv(table, path.with_suffix(".csv"))
            return path.with_suffix(".csv")
    except Exception as error:
        # pyarrow has no CSV of lists, pandas no such dates and no category that is missing.
        if not isinstance(error, (pa.ArrowException, ValueError)):
            raise
    return table


def draw(number):
    """What one call is: the action, the form, columns and sizes; the same for the same number."""
    rng = np.random.default_rng(number)
    names = [*rng.choice(list(ODD), rng.integers(1, 6), replace=False)]
    names += [*rng.choice(list(PLAIN), rng.integers(0, 4), replace=False)]
    sizes = [int(n) for n in rng.choice(SIZES, 3)]
    if number % 60 == 0:
        names, sizes = ["levels_of_one_row", "normal"], [100_000, 100_000, 60]
    names.append(next(name for name in rng.permutation(CLASSES) if name not in names))
    return (
        ACTIONS[number % len(ACTIONS)],
        str(rng.choice(FORMS)),
        [str(name) for name in names],
        sizes,
        rng,
    )


def do(action, form, names, sizes, rng):
    """One call, in the current folder; an error of cospan in one line ends it well."""
    import cospan
    from cospan.errors import CospanError

    tables = [table_of(names, rng, n) for n in sizes]
    label = names[-1]
    if action in ("page", "audit command"):
        paths = [as_form(table, "parquet", Path(f"set-{i}")) for i, table in enumerate(tables)]
        outputs = ("-o", "r.html", "-o", "r.md", "-o", "r.json")
        if action == "page":
            command("compare", *paths[:2], *outputs)()
        else:
            command("audit", paths[0], "--label", label)()
        return
    A, B, C = (as_form(table, form, Path(f"set-{i}")) for i, table in enumerate(tables))
    calls = {
        "compare": lambda: cospan.compare(A, B),
        "compare many": lambda: cospan.compare({"a": A, "b": B, "c": C}),
        "classes": lambda: cospan.compare(A, label=label),
        "audit": lambda: cospan.audit_labels(tables[0].to_pandas(), tables[0][label].to_pylist()),
        "fidelity": lambda: cospan.fidelity(A, B),
        "monitor": lambda: cospan.monitor(A, B, every="10-rows"),
    }
    try:
        print(calls[action]())
    except CospanError as error:
        if "\n" in str(error):
            raise RuntimeError(f"an error of several lines: {error}") from error
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


def main(arguments):
    """Run it; returns whether something was mishandled."""
    parser = argparse.ArgumentParser(
        prog="bench_inputs.py odd", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("calls", nargs="?", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="number of the first call")
    options = parser.parse_args(arguments)
    warm_up()
    ends, longest = Counter(), 0.0
    for number in range(options.first, options.first + options.calls):
        with tempfile.TemporaryDirectory() as folder:
            *call, rng = draw(number)
            ended = forked(lambda call=call, rng=rng: do(*call, rng), Path(folder))
        wrong = mishandled(ended, memory=4 * 10**9)
        ends["internal errors" if wrong else "refused" if ended.code else "results"] += 1
        longest = max(longest, ended.seconds)
        if wrong:
            action, form, names, sizes = call
            columns = ", ".join(names)
            print(f"call {number}, {action} of {form} {sizes}, {columns}: {wrong}", flush=True)
    print(
        f"{options.calls} calls: {ends['results']} results, {ends['refused']} refused in one "
        f"sentence, {ends['internal errors']} internal errors (wanted: 0); longest {longest:.1f} s"
    )
    return bool(ends["internal errors"])
