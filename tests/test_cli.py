"""The command line: what it prints where, what it writes, and how it ends."""

import csv
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

import cospan
from cospan import cli
from cospan.cli import terminal as _terminal
from cospan.cli.gates import parse_gate
from cospan.comparison import compare

runner = CliRunner()
COMMANDS = ("compare", "monitor", "profile", "audit", "score", "fidelity", "demo")
NAMES = ("red", "green", "blue")


def run(*arguments, code=0, **options):
    result = runner.invoke(cli.app, [str(argument) for argument in arguments], **options)
    assert result.exit_code == code, (result.output, result.stderr)
    return result


def write_rows(path, rows, header="height,weight,age,<script>"):
    np.savetxt(path, rows, "%.17g", ",", header=header, comments="")
    return path


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    scales = ([1, 2, 3, 1], [3, 2, 1, 1], [1, 1, 1, 3])
    return [rng.normal(size=(n, 4)) * s for n, s in zip((120, 90, 70), scales, strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, rows):
    """Three files, the same as one labelled table, and a saved model of the first two."""
    path = tmp_path_factory.mktemp("cli")
    lines = ["height,weight,age,<script>,kind"]
    for name, part in zip(NAMES, rows, strict=True):
        write_rows(path / f"{name}.csv", part)
        lines += [",".join(f"{x:.17g}" for x in row) + f",{name}" for row in part]
    (path / "all.csv").write_text("\n".join(lines) + "\n")
    run("compare", path / "red.csv", path / "green.csv", "--save", path / "pair.cospan", "-q")
    return path


@pytest.fixture
def files(folder):
    return [folder / f"{name}.csv" for name in NAMES]


@pytest.fixture
def pair(files):
    return files[:2]


def told(*arguments):
    return json.loads(run(*arguments, "--json").stdout)


# ---- help, version, completion -----------------------------------------------------------------


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom cospan.__main__ import main\n"
        "sys.argv = ['cospan', '--help']\ntry:\n    main()\nexcept SystemExit as end:\n"
        "    assert end.code in (0, None)\n"
        "heavy = ('numpy', 'scipy', 'sklearn', 'pyarrow', 'rich')\n"
        "print([m for m in heavy if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_fits_on_a_screen(name):
    assert name in run("--help").stdout
    shown = run(name, "--help", env={"COLUMNS": "80"}).stdout.splitlines()
    assert len(shown) <= 40
    assert max(map(len, shown)) <= 80
    options = typer.main.get_command(cli.app).commands[name].params
    assert sum(parameter.param_type_name == "option" for parameter in options) <= 20


def test_no_command_shows_the_help():
    result = runner.invoke(cli.app, [])
    assert "Usage" in result.output
    assert result.exit_code in (0, 2)


def test_version():
    assert run("--version").stdout == f"{cospan.__version__}\n"
    done = subprocess.run([sys.executable, "-m", "cospan", "--version"], capture_output=True)
    assert done.stdout.decode().strip() == cospan.__version__


@pytest.mark.parametrize(
    ("words", "expected"), [("cospan co", "compare"), ("cospan compare --fail", "--fail-on")]
)
def test_shell_completion(words, expected):
    asked = {
        "_COSPAN_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    done = subprocess.run(
        [sys.executable, "-m", "cospan"], env=os.environ | asked, capture_output=True, text=True
    )
    assert expected in done.stdout.split()


def test_a_missing_typer_is_said_in_one_sentence(tmp_path):
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError('no typer', name='typer')")
    done = subprocess.run(
        [sys.executable, "-m", "cospan", "--version"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.strip().endswith("pip install 'cospan[app]'.")
    assert "Traceback" not in done.stderr


# ---- compare -----------------------------------------------------------------------------------


def test_compare_prints_the_verdict_in_fifteen_lines(files, tmp_path):
    for given in (files[:2], files):
        result = run("compare", *given, "-o", tmp_path / "r.html")
        assert 2 <= len(result.stdout.splitlines()) + len(result.stderr.splitlines()) <= 15
        assert max(map(len, result.stdout.splitlines())) <= 80
        assert result.stderr == f"wrote {tmp_path / 'r.html'}\n"
    assert "red and green differ" in run("compare", *files[:2]).stdout
    assert len(run("compare", *files[:2], "--full").stdout.splitlines()) > 15


def test_warnings_and_errors_name_the_options_of_the_command(tmp_path):
    (tmp_path / "i.csv").write_text("i,x\n" + "".join(f"a{k},{k}.5\n" for k in range(40)))
    for more, code in (((), 0), (("--drop", "x"), 1)):
        done = run("compare", tmp_path / "i.csv", tmp_path / "i.csv", *more, code=code)
        assert "--categorical or --numeric takes a column all the same" in done.stderr


def test_the_command_is_the_call(pair):
    printed, found = told("compare", *pair), compare(*map(str, pair)).to_dict()
    for one in (printed, found):
        one.pop("seconds")
    assert printed == json.loads(json.dumps(found))


def test_options_reach_the_call(files):
    columns = ("--columns", "height,weight", "--columns", "age", "--drop", "age")
    settings = told("compare", *files[:2], *columns)["settings"]
    assert settings["drop"] == ["age"]
    assert told("compare", *files[:2], "--preset", "paper")["settings"]["shrinkage"] == 0
    assert "height" not in run("compare", *files[:2], "--drop", "height").stdout


def test_classes_of_one_table(folder, pair):
    classes = ("--label", "kind", "--a", "red", "--b", "green")
    chosen, by_file = told("compare", folder / "all.csv", *classes), told("compare", *pair)
    assert "red and green differ" in run("compare", folder / "all.csv", *classes).stdout
    assert chosen["settings"] == by_file["settings"]
    every = json.dumps(told("compare", folder / "all.csv", "--label", "kind"))
    assert all(name in every for name in NAMES)


def test_standard_input(pair):
    old = pair[0].read_bytes()
    assert "differ" in run("compare", "-", pair[1], input=old).stdout


@pytest.mark.parametrize(("ending", "read"), [("parquet", pd.read_parquet), ("csv", pd.read_csv)])
def test_scores_of_every_row(ending, read, pair, tmp_path):
    path = tmp_path / f"scores.{ending}"
    result = run("compare", *pair, "--score", pair[0], "--scores", path)
    assert "wrote" in result.stderr
    table = read(path)
    assert len(table) == 120 + 90 + 120
    assert table["set"].nunique() == 3
    frame = compare(*map(str, pair)).to_frame("pandas")
    np.testing.assert_allclose(table["theta"][:210], frame["theta"], atol=1e-9)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_three_sets_are_scored_again_by_their_saved_model(files, tmp_path):
    outputs = ("-o", tmp_path / "r.html", "--scores", tmp_path / "s.csv", "--save", tmp_path / "m")
    assert run("compare", *files, "--score", files[0], *outputs).stderr.count("wrote") == 3
    with (tmp_path / "s.csv").open(encoding="utf-8") as stream:
        before = list(csv.DictReader(stream))[-120:]
    again = list(csv.DictReader(io.StringIO(run("score", tmp_path / "m", files[0]).stdout)))
    for old, new in zip(before, again, strict=True):
        for name in (f"weight {one}" for one in NAMES):
            assert float(new[name]) == pytest.approx(float(old[name]), abs=1e-12)


@pytest.mark.parametrize("n_sets", [2, 3])
def test_several_reports_of_one_comparison(n_sets, files, tmp_path):
    starts = {"r.html": "<!doctype html>", "r.md": "#", "r.json": "{"}
    (tmp_path / "r.json").write_text("old")
    run("compare", *files[:n_sets], *(w for name in starts for w in ("-o", tmp_path / name)))
    assert {path.name for path in tmp_path.iterdir()} == set(starts)
    for name, start in starts.items():
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text.lstrip().lower().startswith(start)
        assert all(f"{one}.csv" in text or one in text for one in NAMES[:n_sets])


# ---- gates -------------------------------------------------------------------------------------


def ordinary(rng, n):
    a, c = rng.normal(size=n), np.exp(rng.normal(size=n))
    kind = rng.choice(["x", "y", "z"], n)
    return pd.DataFrame({"a": a, "b": a + 0.5 * rng.normal(size=n), "c": c, "kind": kind})


FAULTS = {
    "a mean by 1 sd": lambda t, rng: t.assign(a=t["a"] + 1),
    "a dead column": lambda t, rng: t.assign(c=t["c"].mean()),
    "another unit": lambda t, rng: t.assign(c=1000 * t["c"]),
    "a collapsed category": lambda t, rng: t.assign(kind="x"),
    "missing values": lambda t, rng: t.assign(a=t["a"].where(rng.random(len(t)) > 0.2)),
    "a broken relation": lambda t, rng: t.assign(b=rng.permutation(t["b"].to_numpy())),
    "a column gone": lambda t, rng: t.drop(columns="c"),
    "repeated rows": lambda t, rng: pd.concat([t[:300], t[:100]]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_drift_gate_catches_what_happens_to_data(tmp_path, fault):
    rng = np.random.default_rng(0)
    ordinary(rng, 400).to_parquet(tmp_path / "a.parquet")
    FAULTS[fault](ordinary(rng, 400), rng).to_parquet(tmp_path / "b.parquet")
    gates = ("drift", "schema", "duplicates", "missing>0.05")
    given = [word for gate in gates for word in ("--fail-on", gate)]
    files = tmp_path / "a.parquet", tmp_path / "b.parquet"
    done = run("compare", *files, *given, "-q", code=3)
    assert done.stdout == ""
    broken = re.findall("^error: --fail-on ([^ ]*): ", done.stderr, flags=re.MULTILINE)
    also = {"a column gone": "schema", "repeated rows": "duplicates"}
    also["missing values"] = "missing>0.05"
    assert broken == ["drift", *filter(None, [also.get(fault)])]
    assert len(done.stderr.splitlines()) == len(broken)


def test_random_splits_pass_every_gate(tmp_path):
    rng = np.random.default_rng(1)
    gates = ("drift", "schema", "duplicates", "size>0.7", "missing>0.05", "p<0.002")
    for _ in range(2):
        for name in ("a", "b"):
            ordinary(rng, 100).to_parquet(tmp_path / f"{name}.parquet")
        given = [word for gate in gates for word in ("--fail-on", gate)]
        done = run("compare", tmp_path / "a.parquet", tmp_path / "b.parquet", *given, "-q")
        assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize(
    ("gates", "code"),
    [(["size > 0.6"], 3), (["size>0.99"], 0), (["p<0.05"], 3), (["size>0.99", "p<0.05"], 3)],
)
def test_gates_on_a_number(gates, code, pair):
    given = [word for gate in gates for word in ("--fail-on", gate)]
    result = run("compare", *pair, *given, code=code)
    assert "differ" in result.stdout  # the result is printed all the same
    assert ("--fail-on" in result.stderr) == (code == 3)


@pytest.mark.parametrize(
    "bad", ["size<0.9", "p>0.1", "p<small", "drift>2", "p<0.1 and drift", "", "size>65", "p<0"]
)
def test_other_gates_are_refused(bad):
    with pytest.raises(typer.BadParameter, match="is not a gate; write drift, schema"):
        parse_gate(bad)


def test_identical_files_do_not_drift(tmp_path):
    rows = np.random.default_rng(0).standard_normal((200, 5))
    for letter in "ab":
        np.save(tmp_path / f"{letter}.npy", rows)
    run("compare", tmp_path / "a.npy", tmp_path / "b.npy", "--fail-on", "size>0.5")


# ---- the other commands ------------------------------------------------------------------------


def test_score_streams_what_the_frame_gives(folder, pair, rows, tmp_path):
    from pyarrow import parquet

    path = tmp_path / "scores.parquet"
    run("score", folder / "pair.cospan", folder / "all.csv", "-o", path)
    theta = parquet.read_table(path)["theta"].to_numpy()
    frame = compare(*map(str, pair)).frame
    np.testing.assert_allclose(theta, frame.align(np.concatenate(rows)).degrees, atol=1e-9)


def test_score_takes_arrays_tables_and_standard_input(folder, rows, tmp_path):
    """Named columns are found by name in any order; an array has only their order."""
    np.save(tmp_path / "z.npy", rows[0])
    lines = [line.split(",") for line in (folder / "red.csv").read_text().splitlines()]
    mixed = "\n".join(",".join(["note", *line[::-1]]) for line in lines)
    (tmp_path / "mixed.csv").write_text(mixed)
    expected = run("score", folder / "pair.cospan", folder / "red.csv").stdout.splitlines()
    assert len(expected) == 121
    for name, stdin in (("z.npy", None), ("mixed.csv", None), ("-", (folder / "red.csv"))):
        source = "-" if stdin else tmp_path / name
        given = stdin.read_bytes() if stdin else None
        result = run("score", folder / "pair.cospan", source, input=given)
        found = [line.split(",")[2:4] for line in result.stdout.splitlines()]
        assert found == [line.split(",")[2:4] for line in expected]
        assert ("note is in mixed.csv only" in result.stderr) == (name == "mixed.csv")
        assert "scored 120 rows" in result.stderr


def test_score_fills_missing_values(tmp_path):
    rng = np.random.default_rng(1)
    for name in ("a", "b", "z"):
        frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["x", "y"])
        frame["town"] = rng.choice(["Rome", "Oslo"], 40)
        if name == "z":
            frame.loc[3, "x"] = frame.loc[5, "town"] = None
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    model, out = tmp_path / "m.cospan", tmp_path / "out.csv"
    run("compare", tmp_path / "a.csv", tmp_path / "b.csv", "-q", "--save", model)
    run("score", model, tmp_path / "z.csv", "-o", out)
    assert len(out.read_text().splitlines()) == 41


def test_audit_finds_flipped_labels(tmp_path):
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(60, 3)) * s for s in ([4, 1, 1], [1, 1, 4])])
    table = pd.DataFrame(rows, columns=["x", "y", "z"]).assign(kind=np.repeat(["cat", "dog"], 60))
    strong = int(np.argmax(np.abs(rows[:60, 0])))
    table.loc[strong, "kind"] = "dog"
    table.to_csv(tmp_path / "pets.csv", index=False)
    given = ("audit", tmp_path / "pets.csv", "--label", "kind")
    result = run(*given, "-o", tmp_path / "audit.csv", "-n", "3")
    written = pd.read_csv(tmp_path / "audit.csv")
    assert list(written) == ["id", "label", "suggested", "suspicion", "flagged"]
    assert strong in written["id"].tolist()[:3]
    assert "wrong" in result.stdout
    assert len(result.stdout.splitlines()) <= 15
    assert told(*given)["rows"] == 120


def test_audit_judges_as_the_library_does(tmp_path):
    rng = np.random.default_rng(0)  # rows between whose units left-out rows do not decide
    rows = (rng.normal(size=(120, 2)) + np.repeat([[0, 0], [1, 1]], 60, axis=0)) * [1, 2]
    table = pd.DataFrame(rows, columns=["x", "y"]).assign(kind=np.repeat(["a", "b"], 60))
    table.to_csv(tmp_path / "table.csv", index=False)
    run("audit", tmp_path / "table.csv", "--label", "kind", "-o", tmp_path / "audit.csv")
    written = pd.read_csv(tmp_path / "audit.csv").sort_values("id")["suspicion"]
    found = cospan.audit_labels(table[["x", "y"]], table["kind"])
    np.testing.assert_allclose(written, found.suspicion, atol=1e-6)


def test_fidelity_names_copies_and_impossible_rows_and_writes_them(tmp_path):
    rng = np.random.default_rng(1)
    real, made = (pd.DataFrame(rng.normal(size=(200, 2)), columns=["x", "y"]) for _ in range(2))
    for table in (real, made):
        table["kind"] = rng.choice(list("abc"), 200)
    made.loc[0] = real.loc[5]
    made.loc[1, "y"] = 500.0
    real.to_csv(tmp_path / "real.csv", index=False)
    made.to_csv(tmp_path / "made.csv", index=False)
    given = ("fidelity", tmp_path / "real.csv", tmp_path / "made.csv")
    found = told(*given, "-o", tmp_path / "rows.csv")
    assert (found["copies"], found["impossible"]) == ([0], [1])
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert rows.row[rows["copy"]].tolist() == [0]
    assert "1 of 200 synthetic rows are like no real row" in run(*given).stdout


def test_demo_ends_with_the_path_of_a_report(tmp_path):
    result = run("demo", "-o", tmp_path / "demo.html")
    assert "blood_pressure rose" in result.stdout
    assert result.stdout.splitlines()[-1] == str((tmp_path / "demo.html").resolve())
    assert "<!doctype html>" in (tmp_path / "demo.html").read_text(encoding="utf-8").lower()


# ---- streams, colours, quiet, progress ---------------------------------------------------------


def test_quiet_prints_nothing_but_errors(folder, files, tmp_path):
    commands = [
        ("compare", *files[:2], "-o", tmp_path / "r.html", "--full"),
        ("compare", *files),
        ("audit", folder / "all.csv", "--label", "kind"),
        ("fidelity", *files[:2]),
        ("score", folder / "pair.cospan", files[0], "-o", tmp_path / "s.csv"),
        ("profile", files[0], "-o", tmp_path / "p.cospan"),
        ("demo", "-o", tmp_path / "d.html"),
    ]
    for command in commands:
        done = run(*command, "-q")
        assert (done.stdout, done.stderr) == ("", "")
    assert run("compare", "no.csv", files[0], "-q", code=1).stderr.startswith("error: ")


def test_warnings_go_to_stderr_once(folder, tmp_path):
    lines = (folder / "all.csv").read_text().splitlines()
    (tmp_path / "A.csv").write_text("\n".join(lines[:100]))
    (tmp_path / "B.csv").write_text("\n".join([lines[0], *lines[130:]]))
    result = run("compare", tmp_path / "A.csv", tmp_path / "B.csv", "--json")
    assert len(set(result.stderr.splitlines())) == len(result.stderr.splitlines())
    json.loads(result.stdout)


def test_no_line_is_a_command_to_a_ci_system(tmp_path):
    rng = np.random.default_rng(0)
    names = ["::error::x", "##vso[task.complete]", "##[error]y"]
    for letter, shift in (("a", 0), ("b", 2)):
        table = pd.DataFrame(rng.normal(shift, size=(99, 3)), columns=names)
        table.to_csv(tmp_path / f"{letter}.csv", index=False)
    files = tmp_path / "a.csv", tmp_path / "b.csv"
    for options in ((), ("--full",), ("--json",)):
        said = run("compare", *files, "--fail-on", "drift", *options, code=3).output
        assert not any(line.lstrip().startswith("::") for line in said.splitlines())
        assert "##[" not in said
        assert "##vso[" not in said
    data = run("compare", *files, "--json").stdout
    assert names[1] in json.dumps(json.loads(data))


class FakeTerminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True

    encoding = "utf-8"


@pytest.mark.parametrize("no_colour", [False, True])
def test_colour_on_a_terminal_unless_NO_COLOR(no_colour, monkeypatch, pair):
    assert "\x1b" not in run("compare", *pair).output
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_colour:
        monkeypatch.setenv("NO_COLOR", "1")
    stream = FakeTerminal()
    monkeypatch.setattr(sys, "stdout", stream)
    _terminal.Terminal().lines([("head", "Heading")])
    assert "Heading" in stream.getvalue()
    assert ("\x1b[1;36m" in stream.getvalue()) == (not no_colour)


@pytest.mark.parametrize("quiet", [False, True])
def test_bars_appear_on_a_terminal(quiet, monkeypatch):
    """They go before anything is printed, and data goes to standard output beside them."""
    monkeypatch.setenv("TERM", "xterm-256color")
    stream, out = FakeTerminal(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(sys, "stdout", out)
    with _terminal.Terminal(quiet=quiet) as terminal:
        terminal.progress("reading", 10, 100)
        terminal.data("1,2,3")
        terminal.progress("reading", 100, 100)
        terminal.stop_progress()
        assert terminal._bars is None
    assert ("reading" in stream.getvalue()) != quiet
    assert out.getvalue() == "1,2,3\n"


def test_a_terminal_without_unicode_is_no_obstacle(pair):
    done = subprocess.run(
        [sys.executable, "-m", "cospan", "compare", *map(str, pair), "--full"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert b"differ" in done.stdout


def test_a_traceback_is_shown_where_it_is_asked_for(monkeypatch):
    monkeypatch.setenv("COSPAN_DEBUG", "1")
    result = runner.invoke(cli.app, ["compare", "no.csv", "such.csv"])
    assert result.exit_code == 1
    assert not isinstance(result.exception, SystemExit)
