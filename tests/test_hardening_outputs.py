"""Outputs never replace what is read, nor anything that is not a file; signals leave nothing."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from cospan.base.files import whole_file, write_text
from cospan.cli import app
from cospan.errors import InputError


def csv(path, seed=0, rows=40):
    path.parent.mkdir(parents=True, exist_ok=True)
    values = np.random.default_rng(seed).normal(size=(rows, 3))
    np.savetxt(path, values, delimiter=",", header="a,b,c", comments="")
    return path


def invoke(*arguments):
    return CliRunner().invoke(app, [str(x) for x in arguments])


def snapshot(folder):
    return {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


# ---- outputs and inputs ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t/a.csv", "t/sub/new.csv", "t/../t/a.csv", "link/a.csv"])
def test_an_output_inside_an_input_folder_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv(tmp_path / "t" / "a.csv")
    csv(tmp_path / "t" / "sub" / "c.csv")
    csv(tmp_path / "b.csv", 1)
    (tmp_path / "link").symlink_to(tmp_path / "t")
    before = snapshot(tmp_path)
    found = invoke("compare", "t", "b.csv", "--scores", name)
    assert found.exit_code == 1
    assert "inside the folder t, which is an input" in found.stderr
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("option", ["--scores", "--save"])
def test_an_output_that_is_an_input_by_another_name_is_refused(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv(tmp_path / "g.csv")
    csv(tmp_path / "g2.csv", 1)
    os.link("g.csv", "hard.csv")
    before = snapshot(tmp_path)
    found = invoke("compare", "g.csv", "g2.csv", option, "hard.csv")
    assert found.exit_code == 1
    assert "hard.csv: it is an input" in found.stderr
    assert snapshot(tmp_path) == before


# ---- what is not a regular file ----------------------------------------------------------------


def test_a_named_pipe_is_refused_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe.html")
    with pytest.raises(InputError, match="it is not a regular file"):
        write_text(tmp_path / "pipe.html", "all of it")
    assert stat.S_ISFIFO((tmp_path / "pipe.html").lstat().st_mode)
    found = invoke(
        *("compare", csv(tmp_path / "a.csv"), csv(tmp_path / "b.csv", 1)),
        *("-o", tmp_path / "pipe.html"),
    )
    assert found.exit_code == 1
    assert stat.S_ISFIFO((tmp_path / "pipe.html").lstat().st_mode)


def test_a_device_is_written_to_and_not_replaced(monkeypatch):
    def replaced(*args):
        raise AssertionError("the device would have been replaced")

    monkeypatch.setattr(os, "replace", replaced)
    write_text("/dev/null", "all of it")
    assert Path("/dev/null").is_char_device()


# ---- permissions -------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_file_keeps_its_permissions(mode, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == mode


# ---- signals -----------------------------------------------------------------------------------

SLOW = """
import signal, sys, time
import cospan.comparison.score_files
from cospan.cli import main

for name in ("SIGTERM", "SIGHUP"):  # also where the tests themselves were started by nohup
    signal.signal(getattr(signal, name), signal.SIG_DFL)

def slow(*args, **kwargs):
    print("waiting", file=sys.stderr, flush=True)
    time.sleep(60)

cospan.comparison.score_files._arrow_table = slow
main()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_leaves_nothing_behind(name, tmp_path):
    """Neither the part of a score table nor the copy of standard input."""
    a = csv(tmp_path / "data" / "a.csv")
    b = csv(tmp_path / "data" / "b.csv", 1)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "out").mkdir()
    data = a.open("rb")
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, "compare", "-", str(b), "--scores", "s.csv"],
        stdin=data,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        cwd=tmp_path / "out",
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        text=True,
    )
    with data, process:
        assert any("waiting" in line for line in process.stderr)
        assert list((tmp_path / "out").iterdir())
        process.send_signal(getattr(signal, name))
        said = process.stderr.read()
        process.wait(20)
    assert process.returncode == 128 + getattr(signal, name)
    assert "Traceback" not in said
    assert name in said
    assert list((tmp_path / "out").iterdir()) == []
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(("gate", "code"), [((), 0), (("--fail-on", "size>0"), 3)])
def test_a_reader_that_leaves_changes_no_exit_code(tmp_path, gate, code):
    """``cospan compare … | head -1``: files are there, and the gate's exit code stands."""
    a, b = csv(tmp_path / "a.csv"), csv(tmp_path / "b.csv", 1)
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(
        [sys.executable, "-m", "cospan", "compare", a, b, "-o", tmp_path / "r.md", *gate],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert ended.returncode == code, ended.stderr
    assert (tmp_path / "r.md").exists()


def test_what_killed_runs_left_is_removed_by_the_next(tmp_path):
    """A run is killed while it writes; the next that writes there clears up after it."""
    code = (
        "import os, signal, sys; from cospan.base.files import whole_file\n"
        "with whole_file(sys.argv[1]): os.kill(os.getpid(), signal.SIGKILL)"
    )
    target = tmp_path / "report.html"
    subprocess.run([sys.executable, "-c", code, target], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    with whole_file(target) as running:  # a run that lives keeps its file
        running.write_text("mine")
        write_text(target, "theirs")
        assert running.exists()
    assert target.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [target]
