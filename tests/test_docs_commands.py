"""Every `cospan` command that the documentation shows runs, with files of such names."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_wine
from typer.testing import CliRunner

from cospan import cli, compare

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/tasks").glob("*.md")]
)
#: What takes an hour, a download, a model, or a machine of CI.
ELSEWHERE = ("--embed", "reviews-", "--text", "GITHUB")
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


@pytest.mark.parametrize("name", ["cli.md", "many.md"])
def test_what_is_printed_is_shown(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    if name == "cli.md":
        command, shown = re.search(
            r"```console\n\$ (cospan .*?)\n(.*?)```", page, re.DOTALL
        ).groups()
        words = shlex.split(command)[1:]
        with_its_files(words, tmp_path)
        said = CliRunner().invoke(cli.app, words, env={"COLUMNS": "80"}).stdout
    else:
        shown = re.search(r"```text\n(.*?)```", page, re.DOTALL).group(1)
        X, y = load_digits(return_X_y=True)
        digits = {f"digit {k}": X[y == k] for k in (3, 5, 8, 9)}
        said = compare(digits, X[y == 1], name_z="ones").summary()
    # What the page leaves out is the end, and how long it took.
    lines = [line.rstrip() for line in shown.strip().splitlines() if line.strip() != "…"]
    printed = [line.rstrip() for line in said.strip().splitlines()]
    assert [line for line in lines if line not in printed and " s, " not in line] == []
