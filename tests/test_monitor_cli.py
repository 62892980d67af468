"""cospan profile, cospan monitor, gates, the page."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from cospan import Monitoring, Profile, cli, compare, monitor
from cospan.cli.gates import Clause, Judged, parse_gate, values_of
from cospan.cli.watching import _size
from cospan.report.monitoring import monitoring_page

RNG = np.random.default_rng(0)


def days(count, start, rows=60, shift=0.0):
    n = count * rows
    time = pd.Timestamp(start) + pd.to_timedelta(np.repeat(np.arange(count), rows), unit="D")
    x = RNG.normal(size=(n, 2))
    return pd.DataFrame(
        {
            "time": time,
            "x": x[:, 0] + shift,
            "y": x[:, 0] + x[:, 1],
            "kind": RNG.choice(["a", "b"], n),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watch")
    days(30, "2022-01-01").to_parquet(folder / "usual.parquet")
    days(5, "2022-02-01").to_parquet(folder / "calm.parquet")
    days(3, "2022-02-06", shift=2.0).to_parquet(folder / "shifted.parquet")
    return folder


def run(*args, code=0):
    done = CliRunner().invoke(cli.app, [str(arg) for arg in args])
    assert done.exit_code == code, (done.output, done.exception)
    return done


@pytest.fixture(scope="module")
def profile(folder):
    path = folder / "usual.cospan"
    done = run("profile", folder / "usual.parquet", "-o", path, "--time", "time", "--every", "day")
    assert "30 windows of one day, 1,800 rows kept" in done.stdout
    return path


# ---- commands ---------------------------------------------------------------------------------


def test_a_profile_is_small(profile):
    assert profile.stat().st_size < 150_000
    assert len(Profile.load(profile).kept_rows) == 1_800


def test_monitor_prints_writes_and_fails_on_alarms(profile, folder, tmp_path):
    data = [folder / "calm.parquet", folder / "shifted.parquet"]
    outputs = ("-o", tmp_path / "m.html", "--save", tmp_path / "m.cospan")
    done = run("monitor", profile, *data, *outputs, "--fail-on", "alarm", code=3)
    assert "3 of 8 windows raised an alarm." in done.stdout
    assert "Since 2022-02-06: x (alarm in 2022-02-06)." in done.stdout
    assert done.stderr.count("--fail-on alarm: alarm is raised in 2022-02-0") == 3
    assert len(Monitoring.load(tmp_path / "m.cospan").alarms) == 3
    assert "Since 2022-02-06" in (tmp_path / "m.html").read_text(encoding="utf-8")


def test_json_and_tables(profile, folder, tmp_path):
    plain = json.loads(run("monitor", profile, folder / "calm.parquet", "--json").stdout)
    assert [w["window"] for w in plain["windows"]] == [f"2022-02-0{k}" for k in range(1, 6)]
    for name in ("m.json", "m.csv"):
        run("monitor", profile, folder / "calm.parquet", "-o", tmp_path / name, "-q")
    assert json.loads((tmp_path / "m.json").read_text())["windows"] == plain["windows"]
    assert len(pd.read_csv(tmp_path / "m.csv")) == 5


def test_every_window_is_compared_where_that_is_wanted(profile, folder):
    done = run("monitor", profile, folder / "calm.parquet", "--all", "--json")
    assert all(w["size"]["low"] < 0.6 for w in json.loads(done.stdout)["windows"])


def test_tomorrow_is_added_and_judged_alone(profile, folder, tmp_path):
    kept = tmp_path / "m.cospan"
    run("monitor", profile, folder / "shifted.parquet", "--save", kept)
    # the windows in alarm are yesterday's; only what is new can fail
    later = days(2, "2022-02-20")
    later.to_parquet(tmp_path / "later.parquet")
    run("monitor", kept, tmp_path / "later.parquet", "--save", kept, "--fail-on", "alarm")
    found = Monitoring.load(kept)
    assert len(found.windows) == 5
    assert found.name == "later.parquet and earlier windows"


def test_compare_takes_a_profile(profile, folder, tmp_path):
    path = tmp_path / "rows.cospan"
    run("profile", folder / "usual.parquet", "-o", path, "--drop", "time", "--rows", "500")
    done = run("compare", path, folder / "shifted.parquet", "--permutations", "99")
    assert "usual.parquet" in done.stdout
    found, other = (
        json.loads(run("compare", one, folder / "shifted.parquet", "--json").stdout)
        for one in (profile, path)
    )
    assert found["changes"]["verdict"]["features"] == other["changes"]["verdict"]["features"]
    auc, again = (one["separation"]["auc"]["value"] for one in (found, other))
    assert abs(auc - again) < 0.05
    done = run("compare", profile, folder / "shifted.parquet", "--fail-on", "p<0.01", code=3)
    assert "differ (p at most 0.001)" in done.stdout


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--every", "fortnight"), 1, "is not the length of a window; give every= one of"),
        (("--time", "when"), 1, "has no column 'when'"),
        (("-o", "m.pdf"), 1, "must end in .html"),
        (("--fail-on", "alarms"), 2, "is not a threshold"),
        (("--false-alarms", "0"), 1, "above 0"),
    ],
)
def test_wrong_options_get_one_sentence(profile, folder, args, code, message):
    done = run("monitor", profile, folder / "calm.parquet", *args, code=code)
    assert message in re.sub(r"[│\s]+", " ", done.stderr)


# ---- gates ------------------------------------------------------------------------------------


def test_gates_of_a_monitoring_are_named_where_another_is_asked_for(profile, folder, tmp_path):
    for gate, lacking in (("fisher-rao>1", "fisher-rao"), ("column-p<0.01", "p-value of columns")):
        page = tmp_path / "page.html"
        data = folder / "calm.parquet"
        done = run("monitor", profile, data, "-o", page, "--fail-on", gate, code=1)
        message = " ".join(done.stderr.split())
        known = "A gate can be on: auc, p, features, missing, alarm."
        assert f"there is no {lacking} here. {known}" in message
        assert "more rows" not in message
        assert not page.exists()  # nothing is read or written before


def test_sizes_of_files_are_written_as_people_write_them():
    assert [_size(n) for n in (90, 10_100, 2_412_000)] == ["1 kB", "10 kB", "2.4 MB"]


def test_a_gate_is_crossed_where_all_its_conditions_hold():
    gate = parse_gate(" p < 0.01 and  auc>0.6 ")
    assert gate.clauses == (Clause("p", 0.01), Clause("auc", 0.6))
    for p, auc, crossed in ((0.001, 0.7, True), (0.02, 0.7, False), (0.001, 0.6, False)):
        assert gate.crossed({"p": Judged(p), "auc": Judged(auc)}) == crossed


@pytest.mark.parametrize(
    "bad", ["auc<0.9", "p>0.1", "p<small", "alarm>2", "p<0.1 and", "and", "", "p<0.1 or auc>0.5"]
)
def test_other_conditions_are_refused(bad):
    with pytest.raises(typer.BadParameter, match="is not a threshold"):
        parse_gate(bad)


def broken(table):
    return table.assign(b=RNG.permutation(table["b"].to_numpy()))


CHANGES = {
    "a mean by 1 sd": lambda t: t.assign(a=t["a"] + t["a"].std()),
    "a dead column": lambda t: t.assign(c=t["c"].mean()),
    "a unit": lambda t: t.assign(c=1000 * t["c"]),
    "a collapsed category": lambda t: t.assign(kind="x"),
    "missing values": lambda t: t.assign(a=t["a"].where(RNG.random(len(t)) > 0.2)),
    "a broken relation": broken,
}
RECIPE = ("--fail-on", "column-p<0.0001", "--fail-on", "p<0.002 and features>0")


def ordinary(n):
    a, c = RNG.normal(size=n), np.exp(RNG.normal(size=n))
    kind = RNG.choice(["x", "y", "z"], n)
    return pd.DataFrame({"a": a, "b": a + 0.5 * RNG.normal(size=n), "c": c, "kind": kind})


@pytest.mark.parametrize("change", CHANGES)
def test_the_recipe_catches_what_happens_to_data(tmp_path, change):
    ordinary(400).to_parquet(tmp_path / "reference.parquet")
    CHANGES[change](ordinary(400)).to_parquet(tmp_path / "today.parquet")
    files = tmp_path / "reference.parquet", tmp_path / "today.parquet"
    run("compare", *files, *RECIPE, "-q", code=3)


def test_the_recipe_lets_random_splits_pass(tmp_path):
    for _ in range(3):
        for name in ("a", "b"):
            ordinary(100).to_parquet(tmp_path / f"{name}.parquet")
        run("compare", tmp_path / "a.parquet", tmp_path / "b.parquet", *RECIPE, "-q")


def test_the_readme_recipe_sees_a_broken_relation_of_columns_with_long_tails():
    rng = np.random.default_rng(0)
    size = rng.normal(size=(2, 300))
    delay = np.exp(2 * size + 0.5 * rng.normal(size=(2, 300)))
    a, b = (pd.DataFrame({"size": np.exp(x), "delay": y}) for x, y in zip(size, delay, strict=True))
    gate = parse_gate("column-p<0.0001")
    assert not gate.crossed(values_of(compare(a, b, n_permutations=99)))
    b["delay"] = rng.permutation(b["delay"].to_numpy())
    values = values_of(compare(a, b, n_permutations=99))
    assert gate.crossed(values)
    assert gate.found(values).startswith("column-p is ")


def test_gates_know_columns_and_rows(folder, tmp_path):
    files = folder / "usual.parquet", folder / "shifted.parquet"
    for condition in ("features>0", "auc>0.8", "auc > 0.8 and p<0.05"):
        done = run("compare", *files, "--drop", "time", "--fail-on", condition, "-q", code=3)
        assert "--fail-on" in done.stderr
    for condition in ("missing>0.01", "neither>0.5", "features>2", "auc>0.6 and missing>0.1"):
        run("compare", *files, "--drop", "time", "--fail-on", condition, "-q")
    done = run("compare", *files, "--fail-on", "alarm", code=2)
    assert "cospan monitor" in done.stderr


# ---- the page ---------------------------------------------------------------------------------


def test_the_page_has_every_window_and_no_script(profile, folder):
    found = monitor(profile, [folder / "calm.parquet", folder / "shifted.parquet"])
    page = monitoring_page(found)
    assert "<script" not in page
    for window in found.windows:
        assert f'id="w{window.code}"' in page
        assert f'href="#w{window.code}"' in page
    assert page.count('circle class="alarm"') == 3
    assert "default-src &#39;none&#39;" in page


def test_names_from_data_are_escaped(tmp_path):
    bad = "<img src=x onerror=alert(1)>"
    table = days(12, "2022-01-01").rename(columns={"x": bad})
    later = days(2, "2022-03-01", shift=5.0).rename(columns={"x": bad})
    found = monitor(table, later, time="time", every="day", name=bad)
    assert found.save_html(tmp_path / "m.html").exists()
    text = (tmp_path / "m.html").read_text(encoding="utf-8")
    assert bad not in text
    assert "&lt;img" in text
