"""The command line with more than two sets: files, the classes of a table, outputs, refusals."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from cospan import cli, compare

runner = CliRunner()
NAMES = ("red", "green", "blue")


def run(*arguments, code=0):
    result = runner.invoke(cli.app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.stderr)
    return result


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    scales = ([1, 2, 3, 1], [3, 2, 1, 1], [1, 1, 1, 3])
    return [rng.normal(size=(n, 4)) * s for n, s in zip((60, 50, 70), scales, strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("many")
    lines = ["u,v,w,x,kind"]
    for name, part in zip(NAMES, rows, strict=True):
        np.savetxt(path / f"{name}.csv", part, "%.17g", ",", header="u,v,w,x", comments="")
        lines += [",".join(f"{x:.17g}" for x in row) + f",{name}" for row in part]
    (path / "all.csv").write_text("\n".join(lines) + "\n")
    return path


def tables_of(rows):
    """The same as a Python user holds them: with the names that the files have."""
    return [pd.DataFrame(part, columns=list("uvwx")) for part in rows]


@pytest.fixture
def files(folder):
    return [folder / f"{name}.csv" for name in NAMES]


def test_three_files_are_compared(files, rows):
    text = run("compare", *files).stdout
    assert "3 sets: red.csv, green.csv, blue.csv" in text
    data = json.loads(run("compare", *files, "--json").stdout)
    found = compare(tables_of(rows))
    assert data["fisher_rao"] == found.fisher_rao.tolist()


def test_all_classes_of_a_table_are_compared(folder, files):
    data = json.loads(run("compare", folder / "all.csv", "--label", "kind", "--json").stdout)
    assert [one["name"] for one in data["sets"]] == sorted(NAMES)
    by_file = json.loads(run("compare", *files, "--json").stdout)
    assert data["fisher_rao"][0][1] == pytest.approx(by_file["fisher_rao"][2][1])


def test_two_classes_of_a_table_stay_a_pair(folder):
    wanted = ("--label", "kind", "--a", "red", "--b", "blue", "--permutations", "19")
    assert "red (A) against blue (B)" in run("compare", folder / "all.csv", *wanted).stdout


def test_report_scores_and_model_are_written(folder, files, tmp_path):
    outputs = ("-o", tmp_path / "r.html", "--scores", tmp_path / "s.csv", "--save", tmp_path / "m")
    result = run("compare", *files, "--score", files[0], *outputs)
    assert result.stderr.count("wrote") == 3
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert all(f"{name}.csv" in page for name in NAMES)
    with (tmp_path / "s.csv").open(encoding="utf-8") as stream:
        before = list(csv.DictReader(stream))
    assert list(before[0])[-3:] == [f"weight {name}.csv" for name in NAMES]
    assert len(before) == 180 + 60
    again = list(csv.DictReader(io.StringIO(run("score", tmp_path / "m", files[0]).stdout)))
    assert len(again) == 60
    # The further rows of the comparison, scored again by the saved model.
    for old, new in zip(before[-60:], again, strict=True):
        for name in NAMES:
            weight = float(new[f"weight {name}.csv"])
            assert weight == pytest.approx(float(old[f"weight {name}.csv"]), abs=1e-12)


@pytest.mark.parametrize("ending", ["md", "json"])
def test_other_formats(files, tmp_path, ending):
    run("compare", *files, "-o", tmp_path / f"r.{ending}")
    text = (tmp_path / f"r.{ending}").read_text(encoding="utf-8")
    assert all(f"{name}.csv" in text for name in NAMES)


def test_a_threshold_is_crossed_by_any_pair(files, rows):
    assert "fisher-rao>0.5" in run("compare", *files, "--fail-on", "fisher-rao>0.5", code=3).stderr
    run("compare", *files, "--fail-on", "fisher-rao>3.14")
    found = compare(tables_of(rows))
    worst = max(found.separation(i, j).auc for i in range(3) for j in range(i))
    run("compare", *files, "--fail-on", f"auc>{worst + 0.001}")
    assert " and " in run("compare", *files, "--fail-on", f"auc>{worst - 0.001}", code=3).stderr


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--a", "x"), "--a"),
        (("--labels", "y"), "--labels"),
        (("--name-a", "x"), "--name-a"),
        (("--label", "kind"), "--label"),
        (("--fail-on", "p<0.1"), "--fail-on p"),
    ],
)
def test_options_for_two_sets_are_refused(files, options, word):
    result = run("compare", *files, *options, code=2)
    assert word in result.stderr
    assert "for two sets only" in " ".join(result.stderr.replace("│", " ").split())


def test_dask_workers_summarise_the_files(files, rows, monkeypatch):
    import dask

    monkeypatch.setattr(
        "cospan.cli.comparing.on_cluster", lambda _: dask.config.set(scheduler="synchronous")
    )
    given = ("--scheduler", "tcp://nowhere:1", "--json")
    data = json.loads(run("compare", *files, *given).stdout)
    assert [one["name"] for one in data["sets"]] == [f"{name}.csv" for name in NAMES]
    value = np.array(data["fisher_rao"])
    np.testing.assert_allclose(value, compare(tables_of(rows)).fisher_rao, atol=1e-9)


def test_an_input_is_not_overwritten(files):
    assert "it is an input" in run("compare", *files, "-o", files[2], code=1).stderr
