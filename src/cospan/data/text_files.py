"""CSV and TSV files, one or many, also compressed: every column is read as text by Arrow.

What the text means is decided later, over all rows and all sets (``learn``); so a column never has
to be read again because its first rows looked different.
"""

from __future__ import annotations

import csv
import io
import lzma
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO

from cospan.base.text import is_number
from cospan.errors import SourceError

from .columns import MISSING_TEXTS, arrow_csv, pa
from .paths import reading, sniff
from .source import Options, listing
from .tables import Table

BLOCK_BYTES = 4 * 2**20
HEAD_BYTES = 2**20
#: Lines may be longer than a block, up to this; Arrow holds some copies of the longest.
MAX_LINE_BYTES = 16 * BLOCK_BYTES
#: A table of more columns is one that was written the wrong way round, or is not a table.
MOST_COLUMNS = 50_000
DELIMITERS = ",;\t|"


class TextFiles(Table):
    """Delimited text as a table.

    The first line names the columns unless it consists of numbers (then they are f0, f1, ...);
    a first line that counts 0, 1, 2, ... is a header all the same, as dataframes without column
    names write it. `copy` is what has to live as long as this: standard input's temporary file.
    """

    index = ""  # pandas writes it as a first column without a name

    def __init__(
        self, files: Sequence[Path], options: Options, name: str, copy: object = None
    ) -> None:
        self._copy, self._block = copy, BLOCK_BYTES
        self._said = {file: str(file) if copy is None else name for file in files}
        first, *others = files
        self._delimiter, self._header, names = _layout(first, self._said[first])
        for file, said in self._said.items():
            with reading(said, "CSV"), opened_text(file) as stream:
                pieces = iter(lambda: stream.read(2**20), b"")
                marks = sum(bytes(piece).count(b'"') for piece in pieces)
            if marks % 2:  # one is never closed, or part of a value: 5" is a length
                self._find_fault(file, (), None)
        for file in others:
            there = set(_layout(file, str(file))[2])
            absent = [column for column in names if column not in there]
            if absent:
                raise SourceError(
                    f"{file}: lacks column {listing(absent)}, which {first.name} has."
                )
        schema = pa.schema([pa.field(column, pa.string()) for column in names])
        super().__init__(name, schema, options)

    def _batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        for file, said in self._said.items():
            with reading(said, "CSV encoded as UTF-8"):
                yield from self._file(file, columns)

    def _file(self, file: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The file's batches; where a line is longer than a block, with larger ones from there."""
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
                self._find_fault(file, columns, error)
                if self._block >= MAX_LINE_BYTES:
                    raise _too_long(self._said[file]) from error
                self._block = MAX_LINE_BYTES

    def _find_fault(self, file: Path, columns: Sequence[str], cause: Exception | None) -> None:
        """Say which line and column of the file is wrong; nothing if none is."""
        own: list[str] = []  # the lines of one row
        names: list[str] = []
        said = self._said[file]

        def lines(text: IO[str]) -> Iterator[str]:
            while line := text.readline(MAX_LINE_BYTES):
                if len(line) == MAX_LINE_BYTES:
                    raise _too_long(said)
                own.append(line)
                yield line

        with reading(said, "CSV"), opened_text(file) as stream:
            text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
            rows = csv.reader(lines(text), delimiter=self._delimiter, strict=True)
            while True:
                own.clear()
                line = rows.line_num + 1  # where a row begins; blank lines are no rows
                try:
                    fields = next(rows, None)
                except csv.Error as error:
                    if "larger than" in str(error) and len(own) == 1:
                        return
                    fields = next(csv.reader(own[:1], delimiter=self._delimiter))
                    if "expected after" not in str(error):  # else text follows a closed mark
                        column = repr(names[len(fields) - 1]) if names[len(fields) - 1 :] else 1
                        raise SourceError(
                            f"{said}: line {line} opens a quotation mark in column {column} that "
                            "is never closed; close it."
                        ) from error
                if fields is None:
                    return
                if not fields:
                    continue
                names = names or (fields if self._header else [f"f{i}" for i in range(len(fields))])
                if len(fields) != len(names):
                    raise SourceError(
                        f"{said}: line {line} has {len(fields)} fields where the first line has "
                        f"{len(names)}."
                    ) from cause
                for name, field in zip(names, fields, strict=True):
                    wrong = any("\udc80" <= character <= "\udcff" for character in field)
                    if not field.isascii() and name in columns and wrong:
                        raise SourceError(
                            f"{said}: column {name!r} holds text in line {line} that is not UTF-8; "
                            "save the file as UTF-8, or leave the column out with drop=."
                        ) from cause

    def _open(self, file: Path, columns: Sequence[str]) -> arrow_csv.CSVStreamingReader:
        """A reader of these columns as text."""
        return arrow_csv.open_csv(
            opened_text(file),
            read_options=arrow_csv.ReadOptions(
                block_size=self._block, autogenerate_column_names=not self._header
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(columns),
                column_types=dict.fromkeys(columns, pa.string()),
                strings_can_be_null=True,
                null_values=MISSING_TEXTS,
            ),
        )


def _too_long(said: str) -> SourceError:
    return SourceError(
        f"{said}: has a line of more than {MAX_LINE_BYTES:,} bytes; see whether a quotation mark "
        "is never closed."
    )


def opened_text(file: Path) -> pa.NativeFile:
    """The bytes of a text file, unpacked where it is packed."""
    if sniff(file) == "xz":
        return pa.PythonFile(lzma.open(file), "r")
    return pa.input_stream(str(file), compression="detect")


def _layout(file: Path, said: str) -> tuple[str, bool, list[str]]:
    """The delimiter, whether the first line names the columns, and their names."""
    with reading(said, "CSV"), opened_text(file) as stream:
        head = bytes(stream.read(HEAD_BYTES))
        while len(lines := _filled(head)) < 2 and len(head) < MAX_LINE_BYTES:
            if not (more := stream.read(HEAD_BYTES)):
                break
            head += more
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError(f"{said}: is encoded as UTF-16; save it as UTF-8.")
    if b"\0" in head:
        raise SourceError(f"{said}: is not a text file, so it cannot be read as CSV.")
    if not lines:
        raise SourceError(f"{said}: holds nothing but blank space.")
    text = head.decode("utf-8-sig", "replace")
    line = lines[0].decode("utf-8-sig", "replace")
    delimiter = max(DELIMITERS, key=line.count)
    if line.count(delimiter) >= MOST_COLUMNS:
        raise SourceError(
            f"{said}: its first line has {line.count(delimiter) + 1:,} columns, and at most "
            f"{MOST_COLUMNS:,} are read from text; see whether rows and columns are exchanged, or "
            "save it as an array (.npy) or as Parquet."
        )
    fields: list[str] = []
    for whole in (io.StringIO(text, newline=""), [line]):  # a quotation mark may stay open
        with suppress(csv.Error):
            rows = csv.reader(whole, delimiter=delimiter)
            fields = fields or next(row for row in rows if row)
    if not fields:
        raise SourceError(
            f"{said}: its first line has a field of more than {csv.field_size_limit():,} letters, "
            "which is not the name of a column; see whether it is a table."
        )
    counting = [str(i) for i in range(len(fields))]
    counted = len(fields) > 1 and fields in (counting, ["", *counting[:-1]])
    header = counted or not all(is_number(field) for field in fields)
    if header and len(lines) < 2:
        raise SourceError(f"{said}: has no rows below its header.")
    return delimiter, header, fields if header else [f"f{i}" for i in range(len(fields))]


def _filled(text: bytes) -> list[bytes]:
    """The first two lines that are not blank."""
    return list(islice((line for line in text.splitlines() if line.strip()), 2))
