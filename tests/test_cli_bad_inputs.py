"""Bad inputs on the command line: the right exit code, one sentence, nothing half-written.

What is wrong with files and columns themselves is tested in the data room; these are the ways in
which a command can be called wrongly, and a few of each other kind. An odd column or value is a
finding: the command ends well, and what it says contains the sentence.
"""

import errno
import os
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from cospan import AlignmentAngleClassifier, JointFrame, cli, save

ROWS = np.random.default_rng(0).normal(size=(30, 3))


def csv(path, rows=ROWS, header="x,y,z"):
    np.savetxt(path, rows, "%.9g", ",", header=header, comments="")


def text(path, lines):
    path.write_text(lines)


def changed(row, column, value):
    rows = ROWS.copy()
    rows[row, column] = value
    return rows


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files of each kind, in the folder that the commands run in."""
    monkeypatch.chdir(tmp_path)
    csv(tmp_path / "good.csv")
    csv(tmp_path / "b.csv", ROWS * 2)
    csv(tmp_path / "c.csv", ROWS * 3)
    csv(tmp_path / "one.csv", ROWS[:1])
    csv(tmp_path / "renamed.csv", header="x,y,<script>")
    csv(tmp_path / "twice.csv", header="x,x,z")
    csv(tmp_path / "nan.csv", changed(4, 1, np.nan))
    csv(tmp_path / "gaps.csv", changed(np.arange(30), np.arange(30) % 3, np.nan))
    csv(tmp_path / "inf.csv", changed(4, 1, -np.inf))
    csv(tmp_path / "huge.csv", ROWS * 1e300)
    csv(tmp_path / "flat.csv", np.ones((9, 3)))
    csv(tmp_path / "many.csv", np.c_[ROWS[:, :2], np.arange(30)])
    text(tmp_path / "empty.csv", "")
    text(tmp_path / "header.csv", "x,y,z\n")
    text(tmp_path / "towns.csv", "name,town\nAda,London\nEmmy,Erlangen\n")
    text(tmp_path / "words.csv", "x,y,z\n1,about 5,3\n4,5,6\n7,about 9,8\n")
    text(tmp_path / "dates.csv", "x,y,z\n" + "2020-01-01,1,2\n" * 30)
    text(tmp_path / "onekind.csv", "x,kind\n1,cat\n2,cat\n3,cat\n")
    kinds = [f"{x:.3f},{y:.3f},{'cat' if i % 2 else 'dog'}" for i, (x, y, _) in enumerate(ROWS)]
    text(tmp_path / "pets.csv", "x,y,kind\n" + "\n".join(kinds))
    (tmp_path / "cut.parquet").write_bytes(b"PAR1" + bytes(20))
    np.savez(tmp_path / "two.npz", a=ROWS, b=2 * ROWS)
    np.save(tmp_path / "narrow.npy", ROWS[:, :2])
    (tmp_path / "junk.cospan").write_bytes(b"junk" * 100)
    save(tmp_path / "m.cospan", JointFrame.fit(ROWS, ROWS * [1, 2, 3], shrinkage=0.1))
    fitted = AlignmentAngleClassifier().fit(ROWS, np.arange(len(ROWS)) % 3)
    save(tmp_path / "nameless.cospan", fitted.model_)
    (tmp_path / "nothing").mkdir()
    (tmp_path / "out.html").mkdir()
    return tmp_path


#: A command, how it ends, and what it says.
CASES = [
    # files that are not there, or hold nothing
    ("compare missing.csv good.csv", 1, "missing.csv"),
    ("compare goof.csv b.csv", 1, "Did you mean 'good.csv'"),
    ("compare empty.csv good.csv", 1, "empty.csv.*empty"),
    ("compare header.csv good.csv", 1, "header.csv.*no rows"),
    ("compare nothing good.csv", 1, "nothing"),
    ("compare one.csv good.csv", 1, "one.*one row"),
    ("compare - good.csv", 1, "no rows|does not exist|empty"),
    ("compare flat.csv flat.csv", 1, "nothing to compare|equal|constant"),
    ("compare https://example.org/rows.csv good.csv", 1, "there is no folder"),
    ("compare cut.parquet good.csv", 1, "cut.parquet"),
    ("compare two.npz::nobody good.csv", 1, "nobody"),
    ("compare " + "x" * 5000 + " good.csv", 1, "xxx.*too long"),
    ("fidelity good.csv one.csv", 1, "at least 10"),
    # columns and values
    ("compare towns.csv good.csv", 1, "no column in common.*'name', 'town'"),
    ("compare two.npz::a narrow.npy", 1, "3.*2"),
    ("compare good.csv renamed.csv --full", 0, "z is called <script> in renamed"),
    ("compare twice.csv good.csv", 1, "more than one column is called 'x'"),
    ("compare words.csv good.csv --full", 0, "y is text in words.* and a number in good"),
    ("compare good.csv dates.csv --columns x", 1, "no column is left"),
    ("compare good.csv b.csv --columns x,q", 1, "'q'"),
    ("compare good.csv b.csv --columns x,y,y", 1, "each once"),
    ("compare good.csv b.csv --columns ,", 2, "no column is named"),
    ("compare good.csv b.csv --id who", 1, "'who'"),
    ("compare good.csv b.csv --categorical town", 1, "'town'"),
    ("compare huge.csv good.csv", 0, "x is infinite, beyond 1e100 .* in 30 rows of huge"),
    # classes
    ("compare pets.csv --label kind --a cat --b horse", 1, "'horse'"),
    ("compare pets.csv --label species --a cat --b dog", 1, "'species'"),
    ("compare pets.csv --label kind --a cat --b cat", 1, "both sets are class 'cat'"),
    ("compare many.csv --label z", 1, "classes"),
    ("compare good.csv", 1, "second|--label"),
    ("compare good.csv b.csv --a cat", 1, "--a and --b name classes; --label must"),
    ("compare good.csv b.csv c.csv --a x", 1, "--a: for classes of one or two tables"),
    ("audit onekind.csv --label kind", 1, "two|2|class"),
    # models
    ("score missing.cospan good.csv", 1, "missing.cospan"),
    ("score junk.cospan good.csv -o scores.csv", 1, "junk.cospan"),
    ("score good.csv b.csv", 1, "not a cospan model file"),
    ("score nameless.cospan good.csv", 1, "holds a SetCosts without a joint frame"),
    ("score m.cospan narrow.npy -o scores.csv", 1, "2 features.*3"),
    # outputs
    ("compare good.csv b.csv -o nowhere/report.html", 1, "nowhere.*does not exist"),
    ("compare good.csv b.csv -o good.csv/report.html", 1, "good.csv.*not a folder"),
    ("compare good.csv b.csv -o out.html", 1, "is a folder"),
    ("compare good.csv b.csv -o report.pdf", 1, "report.pdf.*'.pdf' is not known"),
    ("compare good.csv b.csv -o -", 1, "not to standard output"),
    ("compare good.csv b.csv --scores good.csv", 1, "good.csv: it is an input"),
    ("compare good.csv b.csv --scores scores.xlsx", 1, "scores.xlsx.*.parquet"),
    ("compare good.csv b.csv --save r.csv --scores r.csv", 1, "another output goes there"),
    ("compare two.npz::a two.npz::b --save two.npz", 1, "two.npz: it is an input"),
    ("score m.cospan good.csv -o good.csv", 1, "good.csv: it is an input"),
    ("audit pets.csv --label kind -o pets.csv", 1, "pets.csv: it is an input"),
    ("fidelity good.csv b.csv -o good.csv", 1, "good.csv: it is an input"),
    ("demo -o demo.docx", 1, "demo.docx.*'.docx' is not known"),
    ("monitor good.csv b.csv --every 10-rows -o m.pdf", 1, "must end in .html"),
    # usage
    ("compare", 2, "Missing argument|required"),
    ("compare good.csv b.csv --colour", 2, "No such option"),
    ("contrast", 2, "No such command"),
    ("audit good.csv", 2, "label"),
    ("compare good.csv b.csv --preset mine", 2, "paper"),
    ("compare good.csv b.csv --fail-on size>65", 2, "from 0 to 1"),
    ("compare good.csv b.csv --fail-on p<small", 2, "is not a gate"),
    ("compare good.csv b.csv --fail-on auc>0.7", 2, "is not a gate"),
    ("monitor good.csv b.csv --every fortnight", 1, "is not the length of a window"),
    ("monitor good.csv b.csv --every 99999999999999999999-rows", 1, "length of a window"),
    ("monitor good.csv b.csv --every 10-rows --false-alarms 0", 1, "above 0"),
]


def invoke(arguments, **options):
    return CliRunner().invoke(cli.app, arguments, **options)


def listing(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize(("command", "code", "words"), CASES, ids=[case[0][:60] for case in CASES])
def test_bad_input(command, code, words, folder):
    before = listing(folder)
    result = invoke(command.split(), input="")
    assert result.exit_code == code, (result.output, result.stderr)
    assert isinstance(result.exception, SystemExit if code else type(None))
    said = " ".join((result.stderr if code else result.output).split())
    assert "bug in cospan" not in said
    assert re.search(words, said), said
    if code == 1:
        assert result.stdout == ""
        errors = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
        assert len(errors) == 1
        assert re.fullmatch(r"error: .*[.!?)]", errors[0])
    assert listing(folder) == before


def test_a_null_character_in_a_name(folder):
    assert "null character" in invoke(["compare", "a\0b.csv", "good.csv"]).stderr


def test_a_link_to_itself_is_replaced_like_any_link(folder):
    (folder / "r.html").symlink_to("r.html")
    assert invoke(["compare", "good.csv", "b.csv", "-o", "r.html"]).exit_code == 0
    assert (folder / "r.html").read_text().lstrip().lower().startswith("<!doctype")


def test_no_permission_to_write(folder, monkeypatch):
    closed = folder / "nothing"
    real = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path).resolve() != closed and real(path, mode)
    )
    result = invoke(["compare", "good.csv", "b.csv", "-o", "nothing/report.html"])
    assert result.exit_code == 1
    assert "no permission" in result.stderr
    assert list(closed.iterdir()) == []


def full_disk(*args, **kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("target", ["-o r.html", "--scores s.parquet", "--scores s.csv"])
def test_a_full_disk_leaves_what_was_there(target, old, folder, monkeypatch):
    option, name = target.split()
    if old:
        (folder / name).write_text("old")
    before = listing(folder)
    monkeypatch.setattr(os, "fsync", full_disk)
    result = invoke(["compare", "good.csv", "b.csv", option, name])
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert listing(folder) == before


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, ""),
        (MemoryError(), 1, "not enough memory"),
        (RuntimeError("half a bit was lost"), 1, "half a bit was lost.*COSPAN_DEBUG=1"),
    ],
)
def test_what_goes_wrong_inside_is_one_sentence(error, code, words, folder, monkeypatch):
    def broken(*args, **kwargs):
        raise error

    before = listing(folder)
    monkeypatch.setattr("cospan.cli.commands.compare_sets", broken)
    result = invoke(["compare", "good.csv", "b.csv", "--scores", "s.csv", "-o", "r.html"])
    assert result.exit_code == code
    assert re.search(words, result.stderr)
    assert "Traceback" not in result.stderr
    assert listing(folder) == before


def test_a_gate_on_a_p_value_that_is_not_there_is_told(folder):
    for name, n in (("a", 2), ("b", 5)):
        np.save(folder / f"{name}.npy", ROWS[:n] * (n - 1))
    done = invoke(["compare", "a.npy", "b.npy", "--fail-on", "p<0.01"])
    assert done.exit_code == 1
    assert "so few rows have no p-value" in done.stderr
