"""``cospan fidelity`` and ``cospan compare --panel`` as a user calls them."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from cospan.cli import app


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    real = pd.DataFrame({"x": rng.normal(size=200), "y": rng.normal(size=200)})
    made = pd.DataFrame({"x": rng.normal(size=200), "y": rng.normal(size=200)})
    for table in (real, made):
        table["kind"] = rng.choice(list("abc"), 200)
    made.loc[0, ["x", "y"]] = real.loc[5, ["x", "y"]]
    made.loc[0, "kind"] = real.loc[5, "kind"]
    made.loc[1, "y"] = 500.0
    real.to_csv(tmp_path / "real.csv", index=False)
    made.to_csv(tmp_path / "made.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_fidelity_names_copies_and_impossible_rows_and_writes_them(folder):
    found = json.loads(run("fidelity", "real.csv", "made.csv", "--json", "-o", "rows.csv").stdout)
    assert (found["copies"], found["impossible"]) == ([0], [1])
    rows = pd.read_csv(folder / "rows.csv")
    assert len(rows) == 200
    assert rows.row[rows["copy"]].tolist() == [0]
    assert (
        "1 of 200 synthetic rows are like no real row"
        in run("fidelity", "real.csv", "made.csv").stdout
    )


def test_a_missing_file_and_too_few_rows_get_one_sentence(folder):
    (folder / "few.csv").write_text("x,y,kind\n1,2,a\n2,3,b\n")
    for other, words in (("reel.csv", "Did you mean"), ("few.csv", "at least 10")):
        found = run("fidelity", "real.csv", other)
        assert found.exit_code == 1
        assert words in found.output
        assert "Traceback" not in found.output


def test_outputs_never_replace_inputs(folder):
    before = (folder / "real.csv").read_text()
    assert run("fidelity", "real.csv", "made.csv", "-o", "real.csv").exit_code != 0
    assert (folder / "real.csv").read_text() == before


def test_compare_with_panel_prints_and_reports_it(folder):
    found = run("compare", "real.csv", "made.csv", "--panel", "-o", "r.md", "--permutations", "19")
    assert found.exit_code == 0, found.output
    report = (folder / "r.md").read_text()
    for name in ("alignment angle", "MMD", "Fréchet distance"):
        assert name in found.stdout
        assert name in report
