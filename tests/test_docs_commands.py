"""Every `cospan` command that the documentation shows runs, with files of such names."""

import contextlib
import re
import shlex
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_wine
from typer.testing import CliRunner

from cospan import cli

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/tasks").glob("*.md")]
)
#: What takes an hour, a download, a model, or a machine of CI.
ELSEWHERE = ("GITHUB", "cats/")
WRITTEN = {"-o", "--output", "--scores", "--save", "--save-profile"}


def commands(page):
    """The commands of a page in their order, lines that go on joined."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    verbs = "compare|audit|monitor|profile|score|fidelity|demo"
    found = re.findall(rf"^(?: {{4,6}}|\$ |)(cospan (?:{verbs}) .*)$", text, flags=re.MULTILINE)
    shown = [re.sub(r"\s+#.*$", "", line) for line in found]
    return [one for one in shown if not any(word in one for word in ELSEWHERE)]


def table(name, rows=150):
    if name.startswith("wine"):
        X, y = load_wine(return_X_y=True, as_frame=True)
        return X.assign(cultivar=np.array(["barolo", "grignolino", "barbera"])[y])
    if name.startswith(("digits", "more")):
        X, y = load_digits(return_X_y=True, as_frame=True)
        return X.assign(digit=y)[y < 3]
    draw = np.random.default_rng(len(name))
    group = draw.integers(0, 2, rows)
    return pd.DataFrame(
        {
            "age": draw.normal(50, 10, rows).round(1),
            "dose": draw.normal(2, 0.5, rows).round(3) + 2 * group,
            "ward": draw.choice(["north", "south"], rows),
            "diagnosis": np.array(["well", "ill"])[group],
            "when": pd.date_range("2024-01-01", periods=rows, freq="4h").astype(str),
        }
    )


def with_its_files(words, folder):
    """Write the files that a command reads, where none before it did."""
    for before, word in pairwise(words):
        path = folder / word
        if before in WRITTEN or path.exists():
            continue
        if path.suffix == ".csv":
            table(word).to_csv(path, index=False)
        elif path.suffix == ".parquet":
            table(word).to_parquet(path)


@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=lambda page: page.name)
def test_commands_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in commands(page):
        words = shlex.split(command)[1:]
        with_its_files(words, tmp_path)
        result = CliRunner().invoke(cli.app, words)
        assert result.exit_code in (0, 3), (
            f"{command}\n{result.output}"
        )  # 3: a gate found something


def printed_by(command):
    """What a command prints, in a folder with the files that it reads."""
    words = shlex.split(command)[1:]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        with_its_files(words, Path(folder))
        return CliRunner().invoke(cli.app, words, env={"COLUMNS": "80"}).stdout


def test_what_is_printed_is_shown():
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    command, shown = re.search(r"```console\n\$ (cospan .*?)\n(.*?)```", page, re.DOTALL).groups()
    assert shown == printed_by(command)
