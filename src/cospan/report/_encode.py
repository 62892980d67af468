"""Rows as small pictures: shrunk, quantised to one byte a pixel, and written in base64.

A report holds hundreds of pictures in a few megabytes, so a picture longer than
:data:`LONGEST_SIDE` pixels is averaged down in blocks, and pixel values keep 256 levels.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PictureShape", "base64_of", "signed_bytes", "unsigned_bytes"]

LONGEST_SIDE = 48


@dataclass(frozen=True)
class PictureShape:
    """How a row of `image_shape` is drawn: its size on the page and the blocks averaged for it."""

    full: tuple[int, int, int]
    block: int

    @classmethod
    def of(cls, image_shape: tuple[int, ...]) -> PictureShape:
        height, width, *rest = image_shape
        channels = rest[0] if rest else 1
        return cls((height, width, channels), -(-max(height, width) // LONGEST_SIDE))

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


def unsigned_bytes(values: NDArray[Any], low: float, high: float) -> NDArray[np.uint8]:
    """Values of [low, high] on 0 … 255; what lies outside is clipped."""
    span = high - low if high > low else 1.0
    scaled = np.clip((np.asarray(values) - low) / span, 0, 1)
    return np.rint(255 * scaled).astype(np.uint8)


def signed_bytes(values: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Each item on 1 … 255 with 128 for zero, and the magnitude that 127 steps stand for."""
    values = np.asarray(values, dtype=np.float64)
    flat = values.reshape(len(values), -1)
    scale = np.abs(flat).max(axis=1, initial=0.0)
    divisor = np.where(scale > 0, scale, 1.0).reshape(-1, *[1] * (values.ndim - 1))
    return (np.rint(127 * values / divisor) + 128).astype(np.uint8), scale


def base64_of(values: NDArray[np.uint8]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")
