"""The command line: what it prints where, what it writes, and how it ends."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import cospan
from cospan import cli
from cospan.cli import terminal as _terminal
from cospan.comparison import compare

runner = CliRunner()


def run(*arguments, code=0, **options):
    result = runner.invoke(cli.app, [str(argument) for argument in arguments], **options)
    assert result.exit_code == code, (result.output, result.stderr)
    return result


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(120, 4)) * [1, 2, 3, 1]
    B = rng.normal(size=(90, 4)) * [3, 2, 1, 1]
    return A, B


@pytest.fixture(scope="module")
def tables(rows):
    """The same as a Python user holds them: with the names that the files have."""
    import pandas as pd

    return [pd.DataFrame(part, columns=["height", "weight", "age", "<script>"]) for part in rows]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, rows):
    """Two files, one labelled table, and a saved frame of the two files."""
    path = tmp_path_factory.mktemp("cli")
    header = "height,weight,age,<script>"
    for name, part in zip(("old", "new"), rows, strict=True):
        np.savetxt(path / f"{name}.csv", part, "%.17g", ",", header=header, comments="")
    lines = [f"{header},kind"]
    for kind, part in zip(("cat", "dog"), rows, strict=True):
        lines += [",".join(f"{x:.17g}" for x in row) + f",{kind}" for row in part]
    (path / "pets.csv").write_text("\n".join(lines) + "\n")
    run("compare", path / "old.csv", path / "new.csv", "--save", path / "pair.cospan")
    return path


@pytest.fixture
def pair(folder):
    return folder / "old.csv", folder / "new.csv"


# ---- help, version, completion -----------------------------------------------------------------


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom cospan.__main__ import main\n"
        "sys.argv = ['cospan', '--help']\ntry:\n    main()\nexcept SystemExit as end:\n"
        "    assert end.code in (0, None)\n"
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'pyarrow') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_every_command_is_listed_and_explains_itself():
    listed = run("--help").stdout
    for name in ["compare", "monitor", "profile", "audit", "score", "fidelity", "demo"]:
        assert name in listed
        assert "--help" in run(name, "--help").stdout


def test_no_command_shows_the_help():
    result = runner.invoke(cli.app, [])
    assert "Usage" in result.output
    assert result.exit_code in (0, 2)


def test_version():
    assert run("--version").stdout == f"{cospan.__version__}\n"


def test_python_dash_m():
    done = subprocess.run([sys.executable, "-m", "cospan", "--version"], capture_output=True)
    assert done.stdout.decode().strip() == cospan.__version__


@pytest.mark.parametrize(
    ("words", "expected"), [("cospan co", "compare"), ("cospan compare --unit", "--units")]
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
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.strip().endswith("pip install 'cospan[app]'.")
    assert "Traceback" not in done.stderr


# ---- compare -----------------------------------------------------------------------------------


def test_compare_prints_the_summary_on_stdout(pair):
    result = run("compare", *pair)
    for part in (
        "old.csv (A) against new.csv (B)",
        "120 rows against 90 rows, 4 features",
        "AUC",
        "p-value",
        "most A-like  age",
        "most B-like  height",
        "directions",
    ):
        assert part in result.stdout
    assert result.stderr == ""


def test_the_command_is_the_call(pair, tables):
    told = json.loads(run("compare", *pair, "--json").stdout)
    found = compare(*tables)
    assert told["separation"]["fisher_rao"] == found.separation.fisher_rao
    assert told["changes"]["verdict"]["pvalue"] == found.p
    assert told["frame"]["shrinkage"] == found.frame.shrinkage


def test_options_reach_the_call(pair):
    options = ["--span", "linear", "--no-balance", "--raw", "--exact", "--all-rows"]
    options += ["--center", "none", "--shrinkage", "0.25", "--weighting", "frame", "--seed", "3"]
    options += ["--permutations", "19", "--chunk-rows", "10", "--tol", "1e-9", "--missing", "drop"]
    told = json.loads(run("compare", *pair, "--json", *options).stdout)["settings"]
    assert told == {
        "span": "linear",
        "units": "auto",
        "pooling": "auto",
        "dof": "auto",
        "calibrate": False,
        "preset": None,
        "center": "none",
        "balance": False,
        "shrinkage": 0.25,
        "weighting": "frame",
        "tol": 1e-9,
        "curve": "auto",
        "seed": 3,
        "n_permutations": 19,
        "score_all": True,
        "exact": True,
        "missing": "drop",
        "strict": False,
        "chunk_rows": 10,
        "image_mode": "L",
    }


def test_options_of_the_affine_span_reach_the_call(pair):
    options = ("--units", "common", "--pooling", "0.5", "--dof", "4", "--permutations", "19")
    told = json.loads(run("compare", *pair, "--json", *options).stdout)
    chosen = {key: told["frame"][key] for key in ("span", "units", "pooling", "dof")}
    assert chosen == {"span": "affine", "units": "common", "pooling": 0.5, "dof": 4.0}
    assert 'span="linear"' in run("compare", *pair, "--center", "each", code=1).stderr


def test_preset_paper_and_what_is_given_besides(pair):
    told = json.loads(run("compare", *pair, "--json", "--preset", "paper").stdout)["settings"]
    chosen = {key: told[key] for key in ("center", "balance", "shrinkage", "weighting", "exact")}
    assert chosen == {
        "center": "each",
        "balance": False,
        "shrinkage": 0.0,
        "weighting": "cost",
        "exact": True,
    }
    options = ("--preset", "paper", "--weighting", "frame")
    told = json.loads(run("compare", *pair, "--json", *options).stdout)["settings"]
    assert (told["weighting"], told["balance"], told["center"]) == ("frame", False, "each")
    clash = run("compare", *pair, "--preset", "paper", "--shrinkage", "0.2", code=1).stderr
    assert "settles shrinkage already" in clash


def test_two_classes_of_one_table(folder, tables):
    options = ("--label", "kind", "--a", "cat", "--b", "dog", "--json")
    told = json.loads(run("compare", folder / "pets.csv", *options).stdout)
    assert (told["a"]["name"], told["b"]["name"]) == ("cat", "dog")
    assert told["separation"]["auc"]["value"] == compare(*tables).size


def test_standard_input(pair):
    old = pair[0].read_bytes()
    told = json.loads(run("compare", "-", pair[1], "--json", input=old).stdout)
    assert told["a"]["rows"] == 120


def test_rows_to_score_and_their_labels(folder, pair):
    Z = folder / "pets.csv"
    options = ("--score", Z, "--labels", "kind", "--name-a", "cat", "--name-b", "dog", "--json")
    told = json.loads(run("compare", *pair, *options).stdout)
    assert told["scored"]["rows"] == 210
    assert told["audit"]["of"] == "z"


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather", "csv", "tsv"])
def test_scores_of_every_row(ending, folder, pair, tables, tmp_path):
    from pyarrow import csv, feather, parquet

    read = {
        "parquet": parquet.read_table,
        "csv": csv.read_csv,
        "tsv": lambda p: csv.read_csv(p, parse_options=csv.ParseOptions(delimiter="\t")),
    }.get(ending, feather.read_table)
    path = tmp_path / f"scores.{ending}"
    result = run("compare", *pair, "--score", pair[0], "--scores", path, "--chunk-rows", "50")
    assert "wrote" in result.stderr
    table = read(path)
    sets = ["old.csv"] * 120 + ["new.csv"] * 90 + ["old.csv (scored)"] * 120
    assert table["set"].to_pylist() == sets
    theta = compare(*tables, n_permutations=19).group_a.alignment.degrees
    np.testing.assert_allclose(table["theta"].to_numpy()[:120], theta, atol=1e-9)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("name", "options", "start"),
    [
        ("r.html", (), "<!doctype html>"),
        ("r.md", (), "#"),
        ("r.json", (), "{"),
        ("r.txt", ("--format", "md"), "#"),
        ("r", (), "<!doctype html>"),
    ],
)
def test_reports(name, options, start, pair, tmp_path):
    run("compare", *pair, "-o", tmp_path / name, *options)
    assert (tmp_path / name).read_text(encoding="utf-8").lstrip().lower().startswith(start)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_several_reports_of_one_comparison(pair, tmp_path):
    names = ("r.html", "r.md", "r.json")
    run("compare", *pair, *(word for name in names for word in ("-o", tmp_path / name)))
    assert {path.name for path in tmp_path.iterdir()} >= set(names)


def test_an_old_file_is_replaced(pair, tmp_path):
    (tmp_path / "r.json").write_text("old")
    run("compare", *pair, "-o", tmp_path / "r.json")
    json.loads((tmp_path / "r.json").read_text())


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        (["fisher-rao>0.1"], 3),
        (["fisher-rao > 3.1"], 0),
        (["p<0.05"], 3),
        (["auc>0.7"], 3),
        (["auc > 0.99"], 0),
        (["p<1e-9"], 0),
        (["fisher-rao>3.1", "p<0.05"], 3),
    ],
)
def test_fail_on_a_threshold(conditions, code, pair):
    options = [word for condition in conditions for word in ("--fail-on", condition)]
    result = run("compare", *pair, *options, code=code)
    assert "AUC" in result.stdout  # the result is printed all the same
    assert ("--fail-on" in result.stderr) == (code == 3)


def test_images_have_a_shape(tmp_path):
    rng = np.random.default_rng(0)
    for name in "AB":
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(20, 12)))
    files = (tmp_path / "A.npy", tmp_path / "B.npy")
    told = json.loads(run("compare", *files, "--image-shape", "3x4", "--json").stdout)
    assert told["image_shape"] == [3, 4]


# ---- the other commands ------------------------------------------------------------------------


def test_score_streams_what_the_frame_gives(folder, rows, tables, tmp_path):
    from pyarrow import parquet

    path = tmp_path / "scores.parquet"
    run("score", folder / "pair.cospan", folder / "pets.csv", "-o", path, "--chunk-rows", "7")
    theta = parquet.read_table(path)["theta"].to_numpy()
    frame = compare(*tables, n_permutations=19).frame
    np.testing.assert_allclose(theta, frame.align(np.concatenate(rows)).degrees, atol=1e-9)


def test_score_takes_arrays_tables_and_standard_input(folder, rows, tmp_path):
    """Named columns are found by name in any order; an array has only their order."""
    np.save(tmp_path / "z.npy", rows[0])
    lines = [line.split(",") for line in (folder / "old.csv").read_text().splitlines()]
    mixed = "\n".join(",".join(["note", *line[::-1]]) for line in lines)
    (tmp_path / "mixed.csv").write_text(mixed)
    expected = run("score", folder / "pair.cospan", folder / "old.csv").stdout.splitlines()
    sources = {
        "z.npy": None,
        "mixed.csv": None,
        "standard input": (folder / "old.csv").read_bytes(),
    }
    for name, stdin in sources.items():
        source = "-" if stdin else tmp_path / name
        result = run("score", folder / "pair.cospan", source, input=stdin)
        found = [line.split(",")[2:4] for line in result.stdout.splitlines()]
        assert found == [line.split(",")[2:4] for line in expected]
        told = "note is in mixed only" in result.stderr
        assert told == ("warning" in result.stderr) == (name == "mixed.csv")


def test_score_without_a_file_prints_csv(folder):
    result = run("score", folder / "pair.cospan", folder / "old.csv", "--chunk-rows", "50")
    lines = result.stdout.splitlines()
    assert lines[0].startswith('"set","id","theta"')
    assert len(lines) == 121
    assert "scored 120 rows" in result.stderr


def test_audit_finds_flipped_labels(tmp_path):
    from pyarrow import csv

    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(60, 3)) * s for s in ([4, 1, 1], [1, 1, 4])])
    kind = np.repeat(["cat", "dog"], 60)
    strong = np.argmax(np.abs(rows[:60, 0]))
    kind[strong] = "dog"
    lines = ["x,y,z,kind"] + [
        f"{a:.9g},{b:.9g},{c:.9g},{label}" for (a, b, c), label in zip(rows, kind, strict=True)
    ]
    (tmp_path / "pets.csv").write_text("\n".join(lines))
    options = ("--label", "kind", "-o", tmp_path / "audit.csv")
    result = run("audit", tmp_path / "pets.csv", *options, "-n", "3")
    table = csv.read_csv(tmp_path / "audit.csv")
    assert table.column_names == ["id", "label", "suggested", "suspicion", "flagged"]
    assert strong in table["id"].to_pylist()[:3]
    assert "in conflict" in result.stdout
    told = json.loads(run("audit", tmp_path / "pets.csv", "--label", "kind", "--json").stdout)
    assert told["rows"] == 120
    assert told["worst"][0]["suggested"] in ("cat", "dog")


def test_a_warning_stands_once_on_a_screen(folder, monkeypatch):
    terminal = _terminal.Terminal()
    with terminal:
        terminal.warn("say it once")
        line = ("warn", "! say it once")
        assert not terminal.repeats(*line)  # stdout may go to a file
        for stream in (sys.stdout, sys.stderr):
            monkeypatch.setattr(stream, "isatty", lambda: True)
        assert terminal.repeats(*line)
        assert not terminal.repeats("warn", "! something else")
        assert not terminal.repeats("plain", line[1])


@pytest.mark.parametrize(
    ("options", "shown"),
    [([], "blood_pressure rose"), (["--pictures"], "digit 4 (A) against digit 9 (B)")],
)
def test_demo_ends_with_the_path_of_a_report(tmp_path, options, shown):
    result = run("demo", *options, "-o", tmp_path / "demo.html")
    assert shown in result.stdout
    path = result.stdout.splitlines()[-1]
    assert path == str((tmp_path / "demo.html").resolve())
    assert "<!doctype html>" in (tmp_path / "demo.html").read_text(encoding="utf-8").lower()


# ---- streams, colours, quiet, progress ---------------------------------------------------------


def test_warnings_go_to_stderr_once_and_quiet_hides_them(folder, pair, tmp_path):
    lines = (folder / "pets.csv").read_text().splitlines()
    (tmp_path / "A.csv").write_text("\n".join(lines[:100]))
    (tmp_path / "B.csv").write_text("\n".join([lines[0], *lines[130:]]))
    files = (tmp_path / "A.csv", tmp_path / "B.csv")
    result = run("compare", *files, "--json")
    assert result.stderr.count("'kind'") == len(set(result.stderr.splitlines()))
    assert "Traceback" not in result.stderr
    json.loads(result.stdout)
    assert run("compare", *files, "--quiet", "--json").stderr == ""


def test_verbose_says_what_is_done(pair):
    assert "reading old.csv" in run("compare", *pair, "-v").stderr


def test_no_colour_without_a_terminal(pair):
    assert "\x1b" not in run("compare", *pair).output


class FakeTerminal:
    """A stream that says it is a terminal."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return True

    encoding = "utf-8"


@pytest.mark.parametrize("no_colour", [False, True])
def test_colour_on_a_terminal_unless_NO_COLOR(no_colour, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_colour:
        monkeypatch.setenv("NO_COLOR", "1")
    stream = FakeTerminal()
    monkeypatch.setattr(sys, "stdout", stream)
    _terminal.Terminal().lines([("head", "Heading")])
    assert "Heading" in stream.text
    assert ("\x1b[1;36m" in stream.text) == (not no_colour)


@pytest.mark.parametrize(
    ("patience", "quiet", "shown"), [(0.0, False, True), (0.0, True, False), (60.0, False, False)]
)
def test_bars_appear_on_a_terminal_after_a_while(patience, quiet, shown, monkeypatch):
    """Also while one long step has nothing to tell; and they go before anything is printed."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(_terminal, "PATIENCE", patience)
    stream = FakeTerminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with _terminal.Terminal(quiet=quiet) as terminal:
        terminal.progress("reading", 10, 100)
        if shown:
            terminal._timer.join()
        terminal.progress("reading", 100, 100)
        terminal.stop_progress()
        assert terminal._bars is None
    assert ("reading" in stream.text) == shown


def test_two_seconds_of_patience():
    assert _terminal.PATIENCE == 2.0


def test_a_terminal_without_unicode_is_no_obstacle(pair):
    done = subprocess.run(
        [sys.executable, "-m", "cospan", "compare", *map(str, pair)],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert b"AUC" in done.stdout


def test_debug_shows_the_traceback():
    result = runner.invoke(cli.app, ["compare", "no.csv", "such.csv", "--debug"])
    assert result.exit_code == 1
    assert not isinstance(result.exception, SystemExit)


def test_a_reader_that_leaves_early_is_no_error(folder):
    command = f"{sys.executable} -m cospan score {folder}/pair.cospan {folder}/old.csv -q | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith('"set"')


@pytest.mark.parametrize("n_sets", [2, 3])
def test_fail_on_is_quiet_about_a_set_and_itself(tmp_path, n_sets):
    """Identical files do not differ, two of them or three."""
    rows = np.random.default_rng(0).standard_normal((200, 5))
    files = [tmp_path / f"{letter}.npy" for letter in "abc"[:n_sets]]
    for file in files:
        np.save(file, rows)
    run("compare", *files, "--fail-on", "fisher-rao>0.5", code=0)
    run("compare", *files, "--fail-on", "fisher-rao>0", code=0)
    if n_sets == 2:
        run("compare", *files, "--fail-on", "auc>0.5", "--fail-on", "p<0.01", code=0)


# ---- what a reader could take the wrong way -----------------------------------------------------


@pytest.fixture
def overlapping(tmp_path):
    """Two classes that overlap, with no label flipped."""
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["x", "y"])
    frame["kind"] = np.where(np.arange(300) < 150, "yes", "no")
    frame.loc[frame["kind"] == "no", ["x", "y"]] += 1.2
    frame.to_csv(tmp_path / "all.csv", index=False)
    for kind, part in frame.groupby("kind"):
        part.to_csv(tmp_path / f"{kind}.csv", index=False)
    return tmp_path


def test_audit_says_why_compare_counts_more_rows(overlapping):
    path = overlapping / "all.csv"
    told = run("audit", path, "--label", "kind").stdout
    found = json.loads(run("compare", path, "--label", "kind", "--json").stdout)
    assert found["audit"]["flagged"] > 0
    assert told.startswith("0 labels of 300 in conflict")
    assert f"{found['audit']['flagged']} rows of 300 look more like another class" in told


def test_labels_that_are_no_names_of_sets_are_answered_with_the_way_out(overlapping):
    files = (overlapping / "yes.csv", overlapping / "no.csv")
    options = ("--score", overlapping / "all.csv", "--labels", "kind", "--quiet")
    result = run("compare", *files, *options, code=1)
    assert "name_a= and name_b=" in " ".join(result.stderr.split())
    named = run("compare", *files, *options, "--name-a", "yes", "--name-b", "no", "--json")
    assert json.loads(named.stdout)["audit"]["of"] == "z"


def test_sets_called_by_a_word_are_quoted_in_sentences(overlapping):
    result = run("compare", overlapping / "all.csv", "--label", "kind", "--a", "yes", "--b", "no")
    assert "'yes' and 'no' differ" in result.stdout
    assert "in 'yes', looks like 'no'" in result.stdout


@pytest.fixture
def noted(tmp_path):
    """Two tables with a column of texts, and rows to score with gaps."""
    import pandas as pd

    rng = np.random.default_rng(1)
    for name in ("a", "b", "z"):
        frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["x", "y"])
        frame["town"] = rng.choice(["Rome", "Oslo"], 40)
        frame["note"] = [f"a note on row {k}, {rng.random()}" for k in range(40)]
        if name == "z":
            frame.loc[3, "x"] = frame.loc[5, "town"] = None
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def test_a_model_for_nothing_to_embed_is_refused(noted):
    pair = noted / "a.csv", noted / "b.csv"
    result = run("compare", *pair, "--embed", "nosuch", code=1)
    assert "there is nothing to embed, so embed= has no use" in result.stderr
    result = run("compare", *pair, "--text", "x", code=1)
    assert "Texts need a model to be embedded by" in result.stderr


@pytest.mark.parametrize(("missing", "rows"), [("error", 0), ("drop", 38), ("mean", 40)])
def test_score_treats_missing_values_as_told(noted, missing, rows):
    model, out = noted / "m.cospan", noted / "out.csv"
    fewer = ("--drop", "note", "--permutations", "19", "-q")
    run("compare", noted / "a.csv", noted / "b.csv", *fewer, "--save", model)
    code = 0 if rows else 1
    result = run("score", model, noted / "z.csv", "--missing", missing, "-o", out, code=code)
    if rows:
        assert len(out.read_text().splitlines()) == rows + 1
    else:
        assert "values are missing in 2 rows, in column 'x' (1), 'town' (1)" in result.stderr
        assert not out.exists()


def test_score_by_a_model_of_texts_says_how(noted):
    rng = np.random.default_rng(0)
    model = noted / "t.cospan"
    cospan.save(model, cospan.JointFrame.fit(rng.normal(size=(30, 8)), rng.normal(size=(30, 8))))
    result = run("score", model, noted / "z.csv", code=1)
    assert "name their column with --text" in result.stderr
