"""The table of scores: one row per sample, the same columns in dataframes and in files.

Files are written chunk by chunk; the ending of the name decides the format.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.base.files import whole_file
from cospan.base.tables import without_formulas
from cospan.base.types import Values
from cospan.comparison.scoring import Group
from cospan.errors import InputError, needed

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".csv", ".tsv", ".parquet", ".arrow")

Columns = Mapping[str, Values]  # numbers or texts


def score_columns(names: Sequence[str], scored: Group) -> dict[str, Values]:
    """The columns of a table of scores, angles in degrees; `names` are those of the K sets.

    Two sets have costs and shares, more a weight for each set.

    >>> row, weights, typicality = np.array([[1.0, 0.0]]), [[0.75, 0.25]], [[1.0, 0.5]]
    >>> given = np.array([7]), np.array(weights), np.array(typicality), np.ones(1), np.zeros(1)
    >>> columns = score_columns(("x", "y"), Group("x", 1, row, *given, own=0))
    >>> {name: column.tolist() for name, column in columns.items()}
    {'set': ['x'], 'id': [7], 'nearest': ['x'], 'second': ['y'], 'theta': [30.000000000000004], \
'suspicion': [0.25], 'typicality x': [1.0], 'typicality y': [0.5], 'weight x': [0.75], \
'weight y': [0.25]}
    """
    head = {"set": np.broadcast_to(np.asarray(scored.name), scored.ids.shape), "id": scored.ids}
    if scored.aligned is not None:
        a, b = scored.typicality.T
        usual = {"typicality_a": a, "typicality_b": b}
        return head | scored.aligned.columns() | usual | {"suspicion": scored.suspicion}
    called = np.array(names)
    first, second = scored.nearest.T
    return head | {
        "nearest": called[first],
        "second": called[second],
        "theta": np.degrees(scored.theta),
        "suspicion": scored.suspicion,
        **{f"typicality {name}": scored.typicality[:, k] for k, name in enumerate(names)},
        **{f"weight {name}": scored.weights[:, k] for k, name in enumerate(names)},
    }


def joined(parts: Sequence[Values]) -> Values:
    """Concatenate; identifiers of different kinds (row numbers, file names) become text.

    >>> joined([np.array([1, 2]), np.array(["x.png"])]).tolist()
    ['1', '2', 'x.png']
    """
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(str) for part in parts]
    return np.concatenate(parts)


# ---- files ---------------------------------------------------------------------------------------


def check_table_path(path: str | os.PathLike[str]) -> Path:
    """Refuse an ending that no writer knows."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise InputError(
            f"cannot write {target}: the ending {target.suffix!r} is not known; use one of "
            f"{', '.join(ENDINGS)}."
        )
    return target


def write_table(path: str | os.PathLike[str], parts: Iterable[Columns]) -> None:
    """Write a table that comes in parts; the file appears when all of them came.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> first = {"id": np.array(["x", "y"]), "theta": np.array([1.5, 88.0])}
    >>> write_table(path, [first, {"id": np.array(["z"]), "theta": np.array([45.0])}])
    >>> path.read_text().split()
    ['"id","theta"', '"x",1.5', '"y",88', '"z",45']
    """
    target = check_table_path(path)
    ending = target.suffix.lower()
    text = ending in (".csv", ".tsv")
    with needed("A table of scores"):
        import pyarrow as pa
        from pyarrow import csv, parquet
    with whole_file(target) as temporary, ExitStack() as opened:
        writer: Any = None  # one of three that Arrow has
        for columns in parts:
            table = _arrow_table(without_formulas(columns) if text else columns)
            if writer is None and text:
                options = csv.WriteOptions(delimiter="," if ending == ".csv" else "\t")
                made = csv.CSVWriter(str(temporary), table.schema, write_options=options)
                writer = opened.enter_context(made)
            elif writer is None:
                made = parquet.ParquetWriter if ending == ".parquet" else pa.ipc.new_file
                writer = opened.enter_context(made(str(temporary), table.schema))
            writer.write_table(table)


def csv_text(columns: Columns, *, header: bool = True) -> str:
    """Columns as CSV text, for standard output."""
    from pyarrow import csv

    stream, options = io.BytesIO(), csv.WriteOptions(include_header=header)
    csv.write_csv(_arrow_table(without_formulas(columns)), stream, options)
    return stream.getvalue().decode()


def _arrow_table(columns: Columns) -> pa.Table:
    """Numbers as they are, and else texts, so that every chunk has the same types."""
    with needed("A table of scores"):
        import pyarrow as pa
    made = {}
    for name, values in columns.items():
        array = np.asarray(values)
        number = array.dtype.kind in "biuf"
        texts = None if number else [str(value) for value in array.tolist()]
        made[name] = pa.array(array) if texts is None else pa.array(texts, type=pa.string())
    return pa.table(made)
