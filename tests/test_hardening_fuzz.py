"""A short run of damaged files, and what is promised of model files."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cospan import AlignmentAngleClassifier, JointFrame, save
from cospan.cli.terminal import Terminal
from cospan.model_file import is_file_of

FUZZ = Path(__file__).parents[1] / "benchmarks" / "bench_inputs.py"


def test_damaged_files_are_read_or_refused_in_one_sentence():
    found = subprocess.run(
        [sys.executable, str(FUZZ), "fuzz", "150"], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout + found.stderr[-300:]
    assert "150 damaged files" in found.stdout


def models():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(60, 5)), rng.normal(size=(50, 5)) + 1
    yield JointFrame.fit(A, B)
    y = np.repeat(["a", "b"], (60, 50))
    yield AlignmentAngleClassifier().fit(np.concatenate((A, B)), y)


def test_a_model_file_is_known_by_its_header_alone(tmp_path):
    path = save(tmp_path / "x.cospan", next(models()))
    assert is_file_of(path, "cospan model")
    data = path.read_bytes()
    (tmp_path / "cut").write_bytes(data[:-8])
    assert is_file_of(tmp_path / "cut", "cospan model")  # damaged, and to be told as such
    (tmp_path / "huge").write_bytes((2**60).to_bytes(8, "little") + bytes(100))
    assert not is_file_of(tmp_path / "huge", "cospan model")
    assert not is_file_of(tmp_path / "nothing", "cospan model")


@pytest.mark.parametrize(
    ("package", "extra"), [("jinja2", "app"), ("distributed", "dask"), ("PIL.Image", "app")]
)
def test_a_missing_package_names_its_extra(package, extra, capsys):
    def command():
        with Terminal():
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    with pytest.raises(Exception, match="1"):
        command()
    said = capsys.readouterr().err
    assert f"pip install 'cospan[{extra}]'" in said
    assert "bug in cospan" not in said
