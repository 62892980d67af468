"""What the library promises without its extras; `make core` runs this in such an environment.

Not a test file: pytest is not installed there.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import cospan
from cospan.errors import MissingDependencyError

EXTRAS = ("pyarrow", "jinja2", "matplotlib", "typer", "PIL", "torch", "dask", "pandas")


def what_is_missing(wanted):
    try:
        wanted()
    except MissingDependencyError as error:
        return str(error)
    raise AssertionError("an extra is missing, and nothing was said")


def main():
    present = [name for name in EXTRAS if importlib.util.find_spec(name)]
    assert not present, f"this environment is not without extras: {present}"

    for name in cospan.__all__:  # every public name can be had
        getattr(cospan, name)

    X, y = load_digits(return_X_y=True)
    found = cospan.compare(X[y == 4], X[y == 9], name_a="four", name_b="nine")
    assert found.size > 0.99
    assert "differ" in str(found)
    json.dumps(found.to_dict())
    frame = found.frame
    assert cospan.audit_labels(X[y < 2], y[y < 2]).flagged.sum() == 0
    with tempfile.TemporaryDirectory() as folder:
        path = cospan.save(Path(folder) / "frame.cospan", frame)
        again = cospan.load(path)
        assert np.abs(again.align(X).theta - frame.align(X).theta).max() < 1e-12
        (Path(folder) / "a.csv").write_text("x,y\n1,2\n3,4\n")
        for wanted in (
            lambda: cospan.compare(Path(folder) / "a.csv", Path(folder) / "a.csv"),
            lambda: found.save(Path(folder) / "report.html"),
        ):
            text = what_is_missing(wanted)
            assert "cospan[app]" in text, text
            print(text)
    command = subprocess.run(
        [sys.executable, "-m", "cospan", "--help"], capture_output=True, text=True, check=False
    )
    assert command.returncode == 1, command
    assert "cospan[app]" in command.stderr, command
    print(command.stderr.strip())
    print(f"cospan {cospan.__version__} without extras: all well.")


if __name__ == "__main__":
    main()
