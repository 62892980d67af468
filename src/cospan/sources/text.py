"""CSV and TSV files, one or many, streamed by Arrow.

Arrow guesses column types from the first block alone. Whole numbers there may turn out to be
fractions later, so number columns are read as float64; labels and identifiers keep their type.
"""

from __future__ import annotations

import csv
import mmap
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cospan._text import is_number
from cospan.errors import SourceError

from .base import TableStream, listing
from .budget import check_stream
from .paths import reading, sniff
from .text_faults import misfit

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 4 * 2**20
HEAD_BYTES = 2**20
#: Lines may be longer than a block, up to this; Arrow holds some copies of the longest.
MAX_LINE_BYTES = 16 * BLOCK_BYTES
_LARGER = 4  # blocks, where a line does not fit
_KIND = "CSV encoded as UTF-8"
DELIMITERS = ",;\t|"
#: A pandas index is written as a first column without a name.
INDEX = ""


class TextFiles(TableStream):
    """Delimited text as a table.

    The first line names the columns unless it consists of numbers (then they are f0, f1, ...);
    a first line that counts 0, 1, 2, ... is a header all the same, as dataframes without column
    names write it. `keep` names the columns whose type must not change, `as_text` those that are
    categories whatever they look like.
    """

    def __init__(
        self,
        files: Sequence[Path],
        name: str,
        keep: Collection[object] = (),
        notes: tuple[str, ...] = (),
        as_text: Collection[str] = (),
    ) -> None:
        self.name = name
        self.notes = notes
        self._files = list(files)
        self._keep = keep
        self._as_text = as_text
        self._block = BLOCK_BYTES
        self._delimiter, self._header = _layout(self._files[0])
        # To look for breaks inside quotation marks takes Arrow a fifth longer.
        self._quoted = any(_has_quotes(file) for file in self._files)
        self.schema = self._guess(self._files[0])
        self.index = INDEX if self.schema.names[0] == INDEX else None
        self._refuse_empty()
        for file in self._files[1:]:
            there = set(self._guess(file).names)
            absent = [column for column in self.schema.names if column not in there]
            if absent:
                first = self._files[0].name
                raise SourceError(f"{file}: lacks column {listing(absent)}, which {first} has.")
        self.schema = self._text_where_unknown()

    def _text_where_unknown(self) -> pa.Schema:
        """A column that is empty at the beginning may hold anything later.

        What Arrow takes for binary is text that is not UTF-8: to be told of when it is read.
        """
        import pyarrow as pa

        unknown = (pa.types.is_null, pa.types.is_binary)
        return pa.schema(
            pa.field(field.name, pa.string())
            if field.name in self._as_text or any(of(field.type) for of in unknown)
            else field
            for field in self.schema
        )

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        for file in self._files:
            stored, read = file.stat().st_size, 0
            with reading(file, _KIND):
                for batch in self._blocks(file, columns):
                    read += batch.nbytes
                    check_stream(str(file), read, stored)
                    for start in range(0, batch.num_rows, size):
                        yield batch.slice(start, size)

    def _blocks(self, file: Path, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """The file's batches; where a line is longer than a block, with larger ones from there."""
        import pyarrow as pa

        done = 0
        while True:
            seen = 0
            try:
                with self._open(file, columns) as reader:
                    for batch in reader:
                        seen += batch.num_rows
                        if seen > done:
                            yield batch.slice(batch.num_rows - (seen - done))
                            done = seen
                return
            except pa.ArrowInvalid as error:
                self._see_into(file, columns, done, error)

    def _see_into(
        self, file: Path, columns: Sequence[str] | None, done: int, error: Exception
    ) -> None:
        """Larger blocks where a line is longer than one; else say what is wrong, and where.

        The rows after the first `done` are read again as bytes, which fails only where the lines
        are wrong, and on one thread, where Arrow counts them.
        """
        import pyarrow as pa

        types = {name: self.schema.field(name).type for name in columns or ()}
        ragged: list[Any] = []
        try:
            with self._open(file, columns, ragged=ragged) as reader:
                seen = 0
                for batch in reader:
                    rest = batch.slice(max(0, done - seen))
                    line = max(seen, done) + 1 + self._header
                    seen += batch.num_rows
                    if types and (wrong := misfit(rest, types, line)):
                        raise SourceError(f"{file}: {wrong}.") from error
        except pa.ArrowInvalid:
            if not ragged:
                return self._enlarge(file, error)
            row = ragged[0]
            raise SourceError(
                f"{file}: line {row.number} has {row.actual_columns} fields where the first line "
                f"has {row.expected_columns}."
            ) from error
        raise error

    def _enlarge(self, file: Path, error: Exception) -> None:
        if self._block >= MAX_LINE_BYTES:
            raise SourceError(
                f"{file}: has a line of more than {MAX_LINE_BYTES:,} bytes; see whether a "
                "quotation mark is never closed."
            ) from error
        self._block *= _LARGER

    def _refuse_empty(self) -> None:
        """A header alone looks like columns of nothing."""
        import pyarrow as pa

        first = self._files[0]
        empty = all(pa.types.is_null(field.type) for field in self.schema)
        if empty and not any(batch.num_rows for batch in self._blocks(first, None)):
            raise SourceError(f"{first}: has no rows below its header.")

    def _guess(self, file: Path) -> pa.Schema:
        import pyarrow as pa

        with reading(file, _KIND):
            found = self._first_schema(file)
            names: list[str] = found.names
        numbers = {i for i in self._keep if isinstance(i, int) and -len(names) <= i < len(names)}
        exact = {*self._keep, INDEX, *(names[i] for i in numbers)}
        fields = [
            pa.field(field.name, pa.float64())
            if pa.types.is_integer(field.type) and field.name not in exact
            else field
            for field in found
        ]
        return pa.schema(fields)

    def _first_schema(self, file: Path) -> pa.Schema:
        """Types as the first block has them; a header longer than a block needs a larger one."""
        import pyarrow as pa

        while True:
            try:
                with self._open(file, None) as reader:
                    return reader.schema
            except pa.ArrowInvalid as error:
                self._see_into(file, None, 0, error)

    def _open(
        self, file: Path, columns: Sequence[str] | None, *, ragged: list[Any] | None = None
    ) -> Any:
        """A reader of these columns, or of all with the types of the first block.

        With a list for `ragged` lines, to which the first is added, the values come as bytes.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        def note(row: Any) -> str:
            if ragged is not None:
                ragged.append(row)
            return "error"

        raw, named = ragged is not None, self._header
        if raw and columns is None:  # where no name is known yet, the first column will do
            columns, named = ["f0"], False
        convert: dict[str, Any] = {}
        if columns is not None:
            types = {c: pa.binary() if raw else self.schema.field(c).type for c in columns}
            convert = {"include_columns": list(columns), "column_types": types}
        return arrow_csv.open_csv(
            pa.input_stream(str(file), compression="detect"),
            read_options=arrow_csv.ReadOptions(
                block_size=self._block, use_threads=not raw, autogenerate_column_names=not named
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._delimiter,
                newlines_in_values=self._quoted,
                invalid_row_handler=note,
            ),
            convert_options=arrow_csv.ConvertOptions(strings_can_be_null=not raw, **convert),
        )


def _layout(file: Path) -> tuple[str, bool]:
    """The delimiter, and whether the first line names the columns."""
    import pyarrow as pa

    with reading(file, "CSV"), pa.input_stream(str(file), compression="detect") as stream:
        head = bytes(stream.read(HEAD_BYTES))
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError(f"{file}: is encoded as UTF-16; save it as UTF-8.")
    if b"\0" in head:
        raise SourceError(f"{file}: is not a text file, so it cannot be read as CSV.")
    try:
        lines = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "ignore").splitlines()
        line = next(line for line in lines if line.strip())
    except StopIteration:
        raise SourceError(f"{file}: holds nothing but blank space.") from None
    delimiter = max(DELIMITERS, key=line.count)
    try:
        fields = next(csv.reader([line], delimiter=delimiter))
    except csv.Error:
        raise SourceError(
            f"{file}: its first line has a field of more than {csv.field_size_limit():,} letters, "
            "which is no name of a column; see whether it is a table."
        ) from None
    counting = [str(i) for i in range(len(fields))]
    counted = len(fields) > 1 and fields in (counting, ["", *counting[:-1]])
    return delimiter, counted or not all(is_number(field) for field in fields)


def _has_quotes(file: Path) -> bool:
    """Whether a quotation mark occurs; of a packed file this is not known."""
    with reading(file, "CSV"), file.open("rb") as stream:
        if sniff(file) is not None or file.suffix.lower() in (".gz", ".bz2", ".zst"):
            return True
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as pages:
            return pages.find(b'"') >= 0
