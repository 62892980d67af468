"""``cospan demo``: data that is already on the machine, so that nothing is downloaded.

The table asks for no package beyond those of the report: ``make demo`` installs nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cospan.cli.comparing import Outputs, finish
from cospan.cli.places import check_places
from cospan.cli.terminal import Terminal
from cospan.comparison import compare
from cospan.data import Source, encode, open_source
from cospan.report import format_of, write

#: scikit-learn's columns, and what they are called on screen.
_COLUMNS = {
    "bmi": "body_mass_index",
    "bp": "blood_pressure",
    "s1": "total_cholesterol",
    "s2": "ldl",
    "s3": "hdl",
    "s4": "cholesterol_ratio",
    "s5": "log_triglycerides",
    "s6": "blood_sugar",
}
_PATIENTS = (
    "A model was trained on diabetes patients aged up to 50. Now it meets patients over 50.\n"
    "Are they still like those it knows? (442 patients, from scikit-learn; age itself is not "
    "among the columns.)\n\n"
)
_DIGITS = (
    "What distinguishes a handwritten 4 from a 9? (scikit-learn's pictures, 8 by 8 pixels.)\n\n"
)


def run_demo(terminal: Terminal, output: Path, pictures: bool = False) -> None:
    """Compare and report what comes with scikit-learn."""
    check_places([output], [])
    format_of(output)
    terminal.text(_DIGITS if pictures else _PATIENTS)
    options: dict[str, Any] = {"image_shape": (8, 8)} if pictures else {}
    sets = digits() if pictures else patients()
    found = compare(sets, progress=terminal.progress, **options)
    finish(terminal, found, Outputs())
    write(found, output)
    terminal.text(f"Open the report in a browser:\n{output.resolve()}")


def patients() -> dict[str, Source]:
    """Younger and older patients of scikit-learn's diabetes data: a table with drift."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    place = {name: j for j, name in enumerate(data.feature_names)}
    older = data.data[:, place["age"]] > 50
    table = data.data[:, [place[name] for name in _COLUMNS]]
    found = {}
    for name, rows in (("training", table[~older]), ("production", table[older])):
        # Names without the dataframe library that would otherwise carry them.
        found[name] = encode([open_source(rows, name="table")])[0]
        found[name].feature_names = tuple(_COLUMNS.values())
    return found


def digits() -> dict[str, Any]:
    """Handwritten fours and nines."""
    from sklearn.datasets import load_digits

    pictures, digit = load_digits(return_X_y=True)
    return {f"digit {k}": pictures[digit == k] for k in (4, 9)}
