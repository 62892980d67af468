"""``cospan demo``: data that is already on the machine, so that nothing is downloaded.

The table asks for no package beyond those of the report: ``make demo`` installs nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["DIGITS_STORY", "TABLE_STORY", "digits", "patients"]

TABLE_STORY = (
    "A model was trained on the diabetes patients aged up to 50. Now it meets patients over 50. "
    "Are they still like those it knows? (442 patients, from scikit-learn; age itself is left out.)"
)
DIGITS_STORY = "What distinguishes a handwritten 4 from a 9? (scikit-learn's pictures, 8 by 8.)"

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


def patients() -> dict[str, Any]:
    """Arguments of `compare`: younger and older patients of scikit-learn's diabetes data."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    column = {name: data.data[:, j] for j, name in enumerate(data.feature_names)}
    table = np.column_stack([column[name] for name in _COLUMNS])
    older = column["age"] > 50
    names = tuple(_COLUMNS.values())
    return {
        "A": _named(table[~older], names),
        "B": _named(table[older], names),
        "name_a": "training",
        "name_b": "production",
    }


def digits() -> dict[str, Any]:
    """Arguments of `compare`: handwritten fours and nines."""
    from sklearn.datasets import load_digits

    pictures, digit = load_digits(return_X_y=True)
    return {
        "A": pictures[digit == 4],
        "B": pictures[digit == 9],
        "name_a": "digit 4",
        "name_b": "digit 9",
        "image_shape": (8, 8),
    }


def _named(rows: Any, names: tuple[str, ...]) -> Any:
    """Rows with column names, without the dataframe library that would otherwise carry them."""
    from cospan.sources.arrays import array_reader
    from cospan.sources.base import Options
    from cospan.sources.source import Source

    reader = array_reader(rows, Options(), "table")
    reader.feature_names = names
    return Source(reader, Options())
