"""What a Parquet file claims to hold, by its metadata, before any of it is decoded.

A column chunk says how many bytes its pages expand to, and that is no lie: the decoder allocates
no more for them. It does not say how large the rows become. Run lengths make a list of millions of
one number, and a dictionary lets a million rows share one text of a megabyte.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from .budget import check_block, check_features, check_list, check_stream, check_texts

__all__ = ["SMALL_FILE", "bytes_per_row", "check_claims", "shared_texts"]

#: Files up to this size are read as if every row shared its largest value with all others. Reading
#: texts as dictionaries takes longer where they differ; large files hold their texts themselves.
SMALL_FILE = 16 * 2**20


def check_claims(file: Path, metadata: Any) -> None:
    """Refuse lists that are too long for a row, and rows that no file of this size can hold."""
    size, numbers = file.stat().st_size, 0
    for group in _groups(metadata):
        for column in _chunks(group):
            numbers += column.num_values
            longest = column.num_values // max(1, group.num_rows)
            check_list(f"{file}: column {column.path_in_schema!r}", longest)
            check_features(str(file), longest, size)
            # a page has to be in memory at once, and a column may have one page
            check_block(str(file), column.total_uncompressed_size, column.total_compressed_size)
        texts = [column for column in _chunks(group) if column.physical_type == "BYTE_ARRAY"]
        claimed = sum(column.total_uncompressed_size for column in texts)
        check_texts(str(file), claimed, sum(column.total_compressed_size for column in texts))
    check_stream(str(file), 8 * numbers, size)


def shared_texts(file: Path, columns: Collection[str]) -> list[str]:
    """Those of the columns whose texts are written once and then referred to, in a small file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.stat().st_size > SMALL_FILE:
        return []
    with pq.ParquetFile(file) as parquet:
        texts = {
            field.name
            for field in parquet.schema_arrow
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        }
        chunks = (c for group in _groups(parquet.metadata) for c in _chunks(group))
        shared = {c.path_in_schema for c in chunks if c.has_dictionary_page}
    return [column for column in columns if column in texts & shared]


def bytes_per_row(metadata: Any, columns: Collection[str], *, small: bool) -> int:
    """About how many bytes a row takes in memory.

    In a small file, no less than the largest value that its rows could share in one of `columns`.
    """
    groups = list(_groups(metadata))
    mean = sum(group.total_byte_size for group in groups) // max(1, metadata.num_rows)
    lists = max(map(_longest, groups), default=0)
    shared = max((_largest(group, columns) for group in groups), default=0) if small else 0
    return int(max(mean, lists, shared, 1))


def _longest(group: Any) -> int:
    """Bytes of the longest lists in a row group, about: numbers that repeat take none in it."""
    most = max((column.num_values for column in _chunks(group)), default=0)
    return int(16 * most // max(1, group.num_rows)) if most > group.num_rows else 0


def _largest(group: Any, columns: Collection[str]) -> int:
    """Bytes of the largest values that rows may share (images, texts in lists), at most."""
    return max(
        (
            chunk.total_uncompressed_size * -(-chunk.num_values // max(1, group.num_rows))
            for chunk in _chunks(group)
            if chunk.physical_type == "BYTE_ARRAY"
            and chunk.has_dictionary_page
            and chunk.path_in_schema.partition(".")[0] in columns
        ),
        default=0,
    )


def _groups(metadata: Any) -> Iterator[Any]:
    return (metadata.row_group(i) for i in range(metadata.num_row_groups))


def _chunks(group: Any) -> Iterator[Any]:
    return (group.column(j) for j in range(group.num_columns))
