"""CSV and TSV files, one or many, streamed by Arrow.

Arrow guesses column types from the first block alone. Whole numbers there may turn out to be
fractions later, so number columns are read as float64, unless these are too large for it; labels
and identifiers keep their type. A column that has text later is read as text from there on, where
whoever reads can do with that.
"""

from __future__ import annotations

import csv
import mmap
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cospan._surface import option
from cospan._text import is_number
from cospan.errors import SourceError

from .arrow_rows import is_huge
from .base import TableStream, listing
from .budget import check_stream
from .paths import reading, sniff

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 4 * 2**20
HEAD_BYTES = 2**20
#: Lines may be longer than a block, up to this; Arrow holds some copies of the longest.
MAX_LINE_BYTES = 16 * BLOCK_BYTES
_LARGER = 4  # blocks, where a line does not fit
#: Arrow's words for a line that is.
LONG_LINE = re.compile("straddl|cannot infer number of columns")
#: And for a value of another type than the column's.
_ROW = r"(?:Row #(\d+): )?"
_COLUMN = rf"column #(\d+): {_ROW}CSV conversion error to "
_WRONG = _COLUMN + r"([^:]+): invalid value '(.*)"
#: Whole numbers that may be beyond float64's.
_HUGE = re.compile(rb"(?<![.\d])\d{16}")
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
        self._strays: set[str] = set()  # columns with text where the first block has none
        self._block = BLOCK_BYTES
        self._delimiter, self._header, self._digits = _layout(self._files[0])
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
            with self._explained(file):
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
                if LONG_LINE.search(str(error)):
                    self._enlarge(file, error)
                elif not self._is_stray(str(error)):
                    raise

    def _is_stray(self, complaint: str) -> bool:
        """Whether text was met in a column of another type; it is read as text from here on."""
        found = re.search(_WRONG, complaint, re.DOTALL)
        if not self.lenient or found is None or "\n" in found[4]:  # a quotation mark left open
            return False
        column = self.schema.names[int(found[1])]
        known = column in self._strays or column in self._keep
        self._strays.add(column)
        return not known

    def _enlarge(self, file: Path, error: Exception) -> None:
        """Larger blocks, for a line that is longer than one."""
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

        with self._explained(file):
            found, huge = self._first_schema(file)
            names: list[str] = found.names
        numbers = {i for i in self._keep if isinstance(i, int) and -len(names) <= i < len(names)}
        exact = {*self._keep, INDEX, *huge, *(names[i] for i in numbers)}
        fields = [
            pa.field(field.name, pa.float64())
            if pa.types.is_integer(field.type) and field.name not in exact
            else field
            for field in found
        ]
        return pa.schema(fields)

    def _first_schema(self, file: Path) -> tuple[pa.Schema, set[str]]:
        """Types as the first block has them, and the columns with whole numbers beyond float64's.

        A header longer than a block needs a larger one.
        """
        import pyarrow as pa

        while True:
            try:
                with self._open(file, None) as reader:
                    first = next(iter(reader), None) if self._digits else None
                    huge = [] if first is None else map(is_huge, first.columns)
                    return reader.schema, set(compress(reader.schema.names, huge))
            except pa.ArrowInvalid as error:
                if not LONG_LINE.search(str(error)):
                    raise
                self._enlarge(file, error)

    def _open(self, file: Path, columns: Sequence[str] | None, *, threads: bool = True) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        convert: dict[str, Any] = {}
        if columns is not None:
            types = {column: self.schema.field(column).type for column in columns}
            types |= {column: pa.string() for column in self._strays if column in types}
            convert = {"include_columns": list(columns), "column_types": types}
        return arrow_csv.open_csv(
            pa.input_stream(str(file), compression="detect"),
            read_options=arrow_csv.ReadOptions(
                block_size=self._block,
                use_threads=threads,
                autogenerate_column_names=not self._header,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=self._quoted
            ),
            convert_options=arrow_csv.ConvertOptions(strings_can_be_null=True, **convert),
        )

    @contextmanager
    def _explained(self, file: Path) -> Iterator[None]:
        """Arrow's complaints about text, in words about rows and columns."""
        import pyarrow as pa

        try:
            with reading(file, "CSV encoded as UTF-8"):
                yield
        except SourceError as error:
            cause = error.__cause__
            if not isinstance(cause, pa.ArrowInvalid):
                raise
            sentence = self._explanation(self._located(file, str(cause)))
            if sentence is None:
                raise
            raise SourceError(f"{file}: {sentence}.") from cause

    def _explanation(self, complaint: str) -> str | None:
        ragged = re.search(_ROW + r"Expected (\d+) columns, got (\d+)", complaint)
        if ragged:
            line, expected, found = ragged.groups()
            return f"line {line or '?'} has {found} fields where the first line has {expected}"
        encoded = re.search(_COLUMN + "string: invalid UTF8", complaint)
        if encoded:
            number, line = encoded.groups()
            return (
                f"column {self.schema.names[int(number)]!r} holds text in line {line or '?'} that "
                f"is not UTF-8; save the file as UTF-8, or leave the column out with "
                f"{option('drop')}"
            )
        wrong = re.search(_WRONG, complaint, re.DOTALL)
        if wrong:
            number, line, kind, value = wrong.groups()
            value = value.removesuffix("'")
            if "\n" in value:
                return (
                    f"line {line or '?'} opens a quotation mark in column "
                    f"{self.schema.names[int(number)]!r} that is closed "
                    f"{value.count(chr(10)):,} lines later, or never; close it"
                )
            return (
                f"column {self.schema.names[int(number)]!r} holds {value!r} in line {line or '?'} "
                f"after values of type {kind} in its first rows; correct it, leave the column out "
                f"with {option('drop')}, or make it a category with {option('categorical')}"
            )
        return None

    def _located(self, file: Path, complaint: str) -> str:
        """The same complaint with the number of the line, which Arrow knows on one thread only."""
        import pyarrow as pa

        if "Row #" in complaint:
            return complaint
        columns = self.schema.names if "conversion" in complaint else None
        try:
            with self._open(file, columns, threads=False) as reader:
                for _ in reader:
                    pass
        except pa.ArrowInvalid as error:
            return str(error)
        return complaint


def _layout(file: Path) -> tuple[str, bool, bool]:
    """The delimiter, whether the first line names the columns, whether numbers may be huge."""
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
    named = counted or not all(is_number(field) for field in fields)
    return delimiter, named, _HUGE.search(head) is not None


def _has_quotes(file: Path) -> bool:
    """Whether a quotation mark occurs; of a packed file this is not known."""
    with reading(file, "CSV"), file.open("rb") as stream:
        if sniff(file) is not None or file.suffix.lower() in (".gz", ".bz2", ".zst"):
            return True
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as pages:
            return pages.find(b'"') >= 0
