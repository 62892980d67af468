"""CSV and TSV files, one or many, streamed by Arrow.

Arrow guesses column types from the first block alone. Whole numbers there may turn out to be
fractions later, so every number column is read as float64; labels and identifiers keep their type.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cospan.errors import SourceError

from .base import listing
from .paths import reading

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TextFiles"]

BLOCK_BYTES = 4 * 2**20
#: A pandas index is written as a first column without a name.
INDEX = ""


class TextFiles:
    """Delimited text as a table."""

    hidden: frozenset[str] = frozenset()

    def __init__(self, files: Sequence[Path], name: str, notes: tuple[str, ...] = ()) -> None:
        self.name = name
        self.notes = notes
        self.n_rows: int | None = None
        self._files = list(files)
        self._delimiter, self._header = _layout(self._files[0])
        self.schema = self._guess(self._files[0])
        self.index = INDEX if self.schema.names[0] == INDEX else None
        for file in self._files[1:]:
            absent = [c for c in self.schema.names if c not in set(self._guess(file).names)]
            if absent:
                first = self._files[0].name
                raise SourceError(f"{file}: lacks column {listing(absent)}, which {first} has.")

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        for file in self._files:
            with self._explained(file):
                for batch in self._open(file, columns):
                    for start in range(0, batch.num_rows, size):
                        yield batch.select(list(columns)).slice(start, size)

    def _guess(self, file: Path) -> pa.Schema:
        with self._explained(file), self._open(file, None) as reader:
            return reader.schema

    def _open(self, file: Path, columns: Sequence[str] | None, threads: bool = True) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        convert: dict[str, Any] = {}
        if columns is not None:
            types = {column: self.schema.field(column).type for column in columns}
            convert = {"include_columns": list(columns), "column_types": types}
        return arrow_csv.open_csv(
            pa.input_stream(str(file), compression="detect"),
            read_options=arrow_csv.ReadOptions(
                block_size=BLOCK_BYTES,
                use_threads=threads,
                autogenerate_column_names=not self._header,
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=self._delimiter),
            convert_options=arrow_csv.ConvertOptions(strings_can_be_null=True, **convert),
        )
