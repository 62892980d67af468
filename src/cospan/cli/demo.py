"""``cospan demo``: data that is already on the machine, so that nothing is downloaded.

The table asks for no package beyond those of the report: ``make demo`` installs nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cospan.cli.comparing import Outputs, show
from cospan.cli.places import check_places
from cospan.cli.terminal import Terminal
from cospan.comparison import compare
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


class Story(NamedTuple):
    """What is compared and why: a question, two named sets, further arguments of `compare`."""

    text: str
    sets: dict[str, Any]
    options: dict[str, Any]


def run_demo(terminal: Terminal, output: Path, pictures: bool = False) -> None:
    """Compare and report what comes with scikit-learn."""
    check_places([output], [])
    format_of(output)
    story = digits() if pictures else patients()
    terminal.text(story.text + "\n\n")
    found = compare(story.sets, progress=terminal.progress, **story.options)
    show(terminal, found, Outputs())
    write(found, output)
    terminal.text(f"Open the report in a browser:\n{output.resolve()}")


def patients() -> Story:
    """Younger and older patients of scikit-learn's diabetes data: a table with drift."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    column = {name: data.data[:, j] for j, name in enumerate(data.feature_names)}
    table = np.column_stack([column[name] for name in _COLUMNS])
    older = column["age"] > 50
    text = (
        "A model was trained on diabetes patients aged up to 50. Now it meets patients over 50.\n"
        "Are they still like those it knows? (442 patients, from scikit-learn; age itself is not "
        "among the columns.)"
    )
    return Story(text, {"training": _named(table[~older]), "production": _named(table[older])}, {})


def digits() -> Story:
    """Handwritten fours and nines."""
    from sklearn.datasets import load_digits

    pictures, digit = load_digits(return_X_y=True)
    text = "What distinguishes a handwritten 4 from a 9? (scikit-learn's pictures, 8 by 8 pixels.)"
    sets = {f"digit {k}": pictures[digit == k] for k in (4, 9)}
    return Story(text, sets, {"image_shape": (8, 8)})


def _named(rows: Any) -> Any:
    """Rows with column names, without the dataframe library that would otherwise carry them."""
    from cospan.data import encode, open_source

    source = encode([open_source(rows, name="table")])[0]
    source.feature_names = tuple(_COLUMNS.values())
    return source
