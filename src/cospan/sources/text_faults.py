"""The first value of a text file that is not what its column holds, and how to say so.

Arrow says it in words only, which change from release to release. Its CSV reader is the judge
here all the same: rows are given to it again, fewer and fewer, until one value is left.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from cospan._text import printable

if TYPE_CHECKING:
    import pyarrow as pa


class Misfit(NamedTuple):
    """A value that is not of its column's type, as bytes, and what is wrong with it."""

    column: str
    value: bytes
    sentence: str


def misfit(raw: pa.RecordBatch, types: Mapping[str, pa.DataType], line: int) -> Misfit | None:
    """The first value, given as bytes, that is not of its column's type.

    The first row of `raw` is that `line` of the file.
    """
    if not raw.num_rows or not _refused(raw, types):
        return None
    row = _first(lambda start, stop: _refused(raw.slice(start, stop - start), types), raw.num_rows)
    one, names = raw.slice(row, 1), raw.schema.names
    place = _first(lambda start, stop: _refused(one.select(names[start:stop]), types), len(names))
    column, value = names[place], one.column(place)[0].as_py()
    return Misfit(column, value, _sentence(column, line + row, value, types[column]))


def _sentence(column: str, line: int, value: bytes, kind: pa.DataType) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return (
            f"column {column!r} holds text in line {line} that is not UTF-8; save the file as "
            f"UTF-8, or leave the column out with drop="
        )
    if "\n" in text:
        return (
            f"line {line} opens a quotation mark in column {column!r} that is closed "
            f"{text.count(chr(10)):,} lines later, or never; close it"
        )
    return (
        f"column {column!r} holds '{printable(text, 80)}' in line {line} after values of type "
        f"{kind} in its first rows; correct it, leave the column out with drop=, or "
        f"make it a category with categorical="
    )


def _first(refused: Callable[[int, int], bool], count: int) -> int:
    """The place of the first of `count` items that is refused; at least one of them is."""
    start, stop = 0, count
    while stop - start > 1:
        middle = (start + stop) // 2
        if refused(start, middle):
            stop = middle
        else:
            start = middle
    return start


def _refused(raw: pa.RecordBatch, types: Mapping[str, pa.DataType]) -> bool:
    """Whether Arrow's CSV reader refuses these values, written anew each in quotation marks."""
    import pyarrow as pa
    from pyarrow import compute, csv

    columns = [compute.replace_substring(column, '"', '""') for column in raw.columns]
    between = pa.scalar(b'","', raw.column(0).type)
    rows = compute.binary_join_element_wise(*columns, between).to_pylist()
    content = b'"' + b'"\n"'.join(rows) + b'"\n'
    names = [str(place) for place in range(len(columns))]
    kinds = (types[name] for name in raw.schema.names)
    try:
        csv.read_csv(
            io.BytesIO(content),
            read_options=csv.ReadOptions(
                column_names=names, block_size=len(content) + 1, use_threads=False
            ),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                strings_can_be_null=True, column_types=dict(zip(names, kinds, strict=True))
            ),
        )
    except pa.ArrowInvalid:
        return True
    return False
