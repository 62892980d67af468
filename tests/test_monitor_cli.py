"""cospan profile, cospan monitor, their gate, the page."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from cospan import Monitoring, Profile, cli, monitor

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
    assert "30 windows of one day, 1,800 rows kept" in " ".join(done.stdout.split())
    return path


# ---- commands ---------------------------------------------------------------------------------


def test_a_profile_is_small(profile):
    assert profile.stat().st_size < 150_000
    assert len(Profile.load(profile).kept_rows) == 1_800


def test_monitor_prints_writes_and_fails_on_alarms(profile, folder, tmp_path):
    data = [folder / "calm.parquet", folder / "shifted.parquet"]
    outputs = ("-o", tmp_path / "m.html", "--save", tmp_path / "m.cospan")
    done = run("monitor", profile, *data, *outputs, "--fail-on", "drift", code=3)
    assert "3 of 8 days raised an alarm." in done.stdout
    assert ", x differs from the reference." in done.stdout
    assert "--fail-on drift: 2022-02-06 raises an alarm." in done.stderr
    assert sum(one.alarm for one in Monitoring.load(tmp_path / "m.cospan").windows) == 3
    assert "February 2022, x differs" in (tmp_path / "m.html").read_text(encoding="utf-8")


def test_json_and_tables(profile, folder, tmp_path):
    plain = json.loads(run("monitor", profile, folder / "calm.parquet", "--json").stdout)
    assert [w["window"] for w in plain["windows"]] == [f"2022-02-0{k}" for k in range(1, 6)]
    for name in ("m.json", "m.CSV"):
        run("monitor", profile, folder / "calm.parquet", "-o", tmp_path / name, "-q")
    assert json.loads((tmp_path / "m.json").read_text())["windows"] == plain["windows"]
    table = pd.read_csv(tmp_path / "m.CSV")
    assert (len(table), table["p"].dtype, table["size"].dtype) == (5, float, float)
    run("monitor", profile, folder / "shifted.parquet", "-o", tmp_path / "m.md", "-q")
    assert (tmp_path / "m.md").read_text(encoding="utf-8").startswith("## Since 6 February 2022, x")


def test_every_window_is_compared_where_that_is_wanted(profile, folder):
    done = run("monitor", profile, folder / "calm.parquet", "--all", "--json")
    assert all(w["size"]["low"] < 0.6 for w in json.loads(done.stdout)["windows"])


def test_tomorrow_is_added(profile, folder, tmp_path):
    kept = tmp_path / "m.cospan"
    run("monitor", profile, folder / "shifted.parquet", "--save", kept)
    later = days(2, "2022-02-09")
    later.to_parquet(tmp_path / "later.parquet")
    run("monitor", kept, tmp_path / "later.parquet", "--save", kept)
    found = Monitoring.load(kept)
    assert len(found.windows) == 5


def test_the_time_that_a_profile_does_not_keep_is_no_change_of_the_schema(profile, folder):
    run("compare", profile, folder / "calm.parquet", "--fail-on", "schema")
    run("compare", profile, folder / "shifted.parquet", "--fail-on", "drift", code=3)


def test_compare_takes_a_profile(profile, folder):
    done = run("compare", profile, folder / "shifted.parquet", "--fail-on", "p<0.01", code=3)
    assert "differ" in done.stdout
    done = run("fidelity", profile, folder / "calm.parquet", code=1)
    assert "is none of CSV" in done.stderr


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--every", "fortnight"), 1, "is not the length of a window; give --every one of"),
        (("--time", "when"), 1, "has no column 'when'"),
        (("--fail-on", "alarm"), 2, "is not a gate; write drift"),
    ],
)
def test_wrong_options_get_one_sentence(profile, folder, args, code, message):
    done = run("monitor", profile, folder / "calm.parquet", *args, code=code)
    assert message in " ".join(done.stderr.split())


@pytest.mark.parametrize("gate", ["size>0.6", "p<0.01"])
def test_gates_on_a_number_are_judged_window_by_window(profile, folder, gate):
    run("monitor", profile, folder / "shifted.parquet", "--fail-on", gate, "-q", code=3)


# ---- the page ---------------------------------------------------------------------------------


def test_the_page_has_every_window_and_one_script_of_its_own(profile, folder, tmp_path):
    found = monitor(profile, [folder / "calm.parquet", folder / "shifted.parquet"])
    page = found.save(tmp_path / "m.html").read_text(encoding="utf-8")
    assert page.count("<script") == 1
    assert all(f"{day} February 2022" in page for day in range(1, 9))


def test_names_from_data_are_escaped(tmp_path):
    bad = "<img src=x onerror=alert(1)>"
    table = days(12, "2022-01-01").rename(columns={"x": bad})
    later = days(2, "2022-03-01", shift=5.0).rename(columns={"x": bad})
    found = monitor(table, later, time="time", every="day", name=bad)
    assert found.save(tmp_path / "m.html").exists()
    text = (tmp_path / "m.html").read_text(encoding="utf-8")
    assert bad not in text
    assert "&lt;img" in text
