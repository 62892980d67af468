"""Odd inputs: long lines, folders with surprises, metadata of other libraries, names that bite."""

import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from cospan import Profile, compare, gsvds, monitor
from cospan.data import tables as data_tables
from cospan.errors import InputError, SourceError
from opened import opened as open_source

# ---- CSV ---------------------------------------------------------------------------------------


def csv(path, content):
    path.write_text(content)
    return str(path)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """In proportion: what took 4 MB of text takes 64 kB."""
    monkeypatch.setattr(data_tables, "BLOCK_BYTES", 2**16)


@pytest.mark.filterwarnings("ignore::cospan.errors.CospanWarning")
def test_quoted_line_breaks_may_lie_at_the_end_of_a_block(tmp_path):
    row = '3,4,"' + "line\n" * 100 + '"\n'
    path = csv(tmp_path / "x.csv", "a,b,c\n" + "1,2,x\n" * 10 + row * 1000)
    assert open_source(path, columns=["a", "b"]).read().rows.shape == (1010, 2)


@pytest.mark.filterwarnings("ignore::cospan.errors.CospanWarning")
def test_a_line_may_be_longer_than_a_block(tmp_path):
    lines = ["a,b,c", *["1,2,x"] * 20_000, "3,4," + "x" * 2**18, "5,6,y"]
    chunk = open_source(csv(tmp_path / "x.csv", "\n".join(lines)), columns=["a", "b"]).read()
    assert chunk.rows.shape == (20_002, 2)
    assert chunk.rows[-2:].tolist() == [[3, 4], [5, 6]]
    assert chunk.ids.tolist() == list(range(20_002))


# ---- folders -----------------------------------------------------------------------------------


def pictures(folder, n=4):
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    for number in range(n):
        pixels = rng.integers(0, 255, (5, 5), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return folder


def test_an_unreadable_subfolder_is_not_passed_over(tmp_path, monkeypatch):
    pictures(tmp_path)
    pictures(tmp_path / "sub")
    listed = os.scandir

    def refused(path):
        if os.path.basename(path) == "sub":
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(SourceError, match="sub: you have no permission to read it"):
        open_source(str(tmp_path))


def test_a_named_pipe_among_the_files_is_not_waited_for(tmp_path):
    pictures(tmp_path)
    os.mkfifo(tmp_path / "5.png")
    code = "import sys; from cospan.data import open_source; open_source(sys.argv[1]).read()"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=600)


@pytest.mark.parametrize(
    "error",
    [ValueError, TypeError, IndexError, KeyError, ZeroDivisionError, OverflowError, MemoryError],
)
def test_one_bad_picture_of_any_kind_is_named(error, tmp_path, monkeypatch):
    pictures(tmp_path)
    opened = Image.open

    def broken(file, *args, **options):
        if str(file).endswith("2.png"):
            raise error("inside a decoder")
        return opened(file, *args, **options)

    monkeypatch.setattr(Image, "open", broken)
    with pytest.raises(SourceError, match=r"2\.png cannot be read"):
        open_source(str(tmp_path)).read()


# ---- names -------------------------------------------------------------------------------------


def test_a_closed_standard_input_is_said(tmp_path):
    np.save(tmp_path / "b.npy", np.ones((4, 2)))
    run = f"{sys.executable} -m cospan compare - b.npy <&-"
    found = subprocess.run(
        ["sh", "-c", run], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert found.returncode == 1
    assert found.stderr.startswith("error: ")
    assert "bug in cospan" not in found.stderr


def test_a_closed_standard_output_is_no_error(tmp_path):
    np.save(tmp_path / "b.npy", np.random.default_rng(0).normal(size=(20, 2)))
    run = f"{sys.executable} -m cospan compare b.npy b.npy >&- 2>err.txt"
    assert subprocess.run(["sh", "-c", run], cwd=tmp_path, timeout=600).returncode == 0
    assert (tmp_path / "err.txt").read_text() == ""


# ---- Python ------------------------------------------------------------------------------------

TABLE = {name: np.random.default_rng(0).normal(size=40) for name in "abc"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Profile.of({name: x[:0] for name, x in TABLE.items()}), "has no rows"),
        (lambda: compare(TABLE, TABLE, progress=3), "progress is 3; give a function"),
        (lambda: compare(TABLE, TABLE, curve=10**9), "'auto' or None"),
        (lambda: gsvds(np.zeros((5, 5)), np.zeros((5, 5)), 2), "are zero"),
        (lambda: monitor(TABLE, TABLE, every=10**30), "is not the length of a window"),
    ],
)
def test_wrong_arguments_are_answered_in_a_sentence(call, words):
    with pytest.raises((InputError, SourceError), match=words):
        call()


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["compare", "-h"]])
def test_a_full_disk_under_standard_output_is_said_in_a_sentence(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "cospan", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr == "error: cannot write to standard output: No space left on device.\n"
