"""Rows as small pictures: shrunk, and written as PNG in base64, which a page shows by itself."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LONGEST_SIDE = 48
# From A's colour over a light grey to B's; readable on a light and on a dark page.
_BLUE, _MIDDLE, _ORANGE = (10, 102, 173), (244, 243, 240), (189, 75, 6)


@dataclass(frozen=True)
class PictureShape:
    """How a row of `full` shape is drawn: blocks of `block` pixels a side are averaged."""

    full: tuple[int, int, int]
    block: int

    @classmethod
    def of(cls, image_shape: tuple[int, ...], longest: int = LONGEST_SIDE) -> PictureShape:
        height, width, *rest = image_shape
        channels = rest[0] if rest else 1
        return cls((height, width, channels), -(-max(height, width) // longest))

    @property
    def height(self) -> int:
        return -(-self.full[0] // self.block)

    @property
    def width(self) -> int:
        return -(-self.full[1] // self.block)

    @property
    def colour(self) -> bool:
        """Whether a picture can be shown in red, green and blue."""
        return self.full[2] in (3, 4)

    def shrink(self, rows: NDArray[Any], *, keep_colour: bool = False) -> NDArray[np.float64]:
        """Rows (n, d) as pictures (n, height, width) or, in colour, (n, height, width, 3)."""
        pictures = np.asarray(rows, dtype=np.float64).reshape(-1, *self.full)
        if keep_colour and self.colour:
            pictures = pictures[..., :3]
        else:
            pictures = pictures.mean(axis=-1, keepdims=True)
        for axis in (1, 2):
            pictures = _average_blocks(pictures, self.block, axis)
        return pictures if pictures.shape[-1] == 3 else pictures[..., 0]


def _average_blocks(values: NDArray[np.float64], block: int, axis: int) -> NDArray[np.float64]:
    starts = np.arange(0, values.shape[axis], block)
    lengths = np.diff(np.append(starts, values.shape[axis]))  # the last block may be shorter
    shape = [1] * values.ndim
    shape[axis] = len(lengths)
    sums: NDArray[np.float64] = np.add.reduceat(values, starts, axis=axis)
    return sums / lengths.reshape(shape)


def grey_png(picture: NDArray[Any], low: float, high: float) -> str:
    """A picture (height, width) or (height, width, 3), black at `low` and white at `high`."""
    span = high - low if high > low else 1.0
    scaled = np.clip((np.asarray(picture, dtype=np.float64) - low) / span, 0, 1)
    return encoded(np.rint(255 * scaled).astype(np.uint8))


def limits_of(rows: Sequence[NDArray[Any]]) -> tuple[float, float]:
    """What is black and what is white in pictures of rows such as these: all but the extremes."""
    if not len(rows):
        return 0.0, 1.0
    low, high = np.quantile(np.concatenate([np.atleast_2d(row) for row in rows]), (0.001, 0.999))
    return float(low), float(high)


def grey_row(row: Any, shape: PictureShape, limits: tuple[float, float]) -> str:
    """A row as a picture of that shape."""
    return grey_png(shape.shrink(np.asarray(row)[None], keep_colour=True)[0], *limits)


def signed_row(row: Any, shape: PictureShape) -> str:
    """A row of differences as a picture of that shape."""
    return signed_png(shape.shrink(np.asarray(row)[None])[0])


def signed_png(picture: NDArray[Any], largest: float | None = None) -> str:
    """A picture whose negative pixels are A's colour and positive ones B's."""
    values = np.asarray(picture, dtype=np.float64)
    most = float(np.abs(values).max(initial=0.0)) if largest is None else largest
    part = np.clip(values / (most or 1.0), -1, 1)[..., None]
    ends = np.where(part < 0, np.array(_BLUE), np.array(_ORANGE))
    # A whole number of levels compresses well, and no eye tells more of them apart.
    strength = np.round(16 * np.abs(part)) / 16
    return encoded(np.rint(_MIDDLE + strength * (ends - _MIDDLE)).astype(np.uint8))


def encoded(pixels: NDArray[np.uint8]) -> str:
    """Bytes (height, width) or (height, width, 3) as a PNG in base64.

    >>> encoded(np.zeros((1, 1), dtype=np.uint8))[:12]
    'iVBORw0KGgoA'
    """
    height, width = pixels.shape[:2]
    lines = np.ascontiguousarray(pixels).reshape(height, -1)
    body = np.concatenate([np.zeros((height, 1), dtype=np.uint8), lines], axis=1).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(body, 9)), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode("ascii")
