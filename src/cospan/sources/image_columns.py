"""Images inside tables, as Hugging Face datasets keep them: structs with the file's bytes.

A cell without an image, or with one that cannot be read, counts as missing.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .pixels import UNREADABLE, Decoder

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["image_rows", "is_image", "learn_size"]


def is_image(type_: pa.DataType) -> bool:
    """Whether a column's type is a struct with a binary field called bytes."""
    from pyarrow import types

    if not types.is_struct(type_):
        return False
    index = type_.get_field_index("bytes")
    if index < 0:
        return False
    content = type_.field(index).type
    return bool(types.is_binary(content) or types.is_large_binary(content))


def learn_size(column: pa.Array, decoder: Decoder, name: str) -> bool:
    """Show the decoder the first image of a column that can be read; False if there is none."""
    for row, content in enumerate(_contents(column)):
        if content is None:
            continue
        try:
            decoder.learn(io.BytesIO(content), f"row {row} of {name!r}")
        except UNREADABLE:
            continue
        return True
    return False


def image_rows(column: pa.Array, decoder: Decoder, name: str, start: int) -> NDArray[Any]:
    """A column of images as rows of pixels, NaN where there is none; `start` numbers the first."""
    width = int(np.prod(decoder.shape))
    rows = np.full((len(column), width), np.nan)
    for row, content in enumerate(_contents(column)):
        if content is None:
            continue
        try:
            rows[row] = decoder.row(io.BytesIO(content), f"row {start + row} of {name!r}")
        except UNREADABLE:
            continue
    return rows


def _contents(column: pa.Array) -> list[bytes | None]:
    import pyarrow.compute as pc

    contents: list[bytes | None] = pc.struct_field(column, "bytes").to_pylist()
    return contents
