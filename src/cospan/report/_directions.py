"""The directions of the frame, as a report shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ._encode import PictureShape, base64_of, signed_bytes
from ._text import clean

if TYPE_CHECKING:
    from cospan.comparison import Comparison

__all__ = ["Direction", "Spectrum", "Weight", "picked", "spectrum_of"]

MOST_DIRECTIONS = 64
MOST_ANGLES = 1_000  # dots of the spectrum chart
TOP_FEATURES = 10


@dataclass(frozen=True)
class Weight:
    """A feature's entry in a direction, as a part of that feature's entries in all directions.

    The squares of a feature's weights over all directions add up to 1, whatever its unit.
    """

    feature: str
    weight: float


@dataclass(frozen=True)
class Direction:
    """Row `index` of H: its angle in degrees, the block it belongs to, and what it looks like."""

    index: int
    angle: float
    block: str
    features: tuple[Weight, ...]


@dataclass(frozen=True)
class Spectrum:
    """Angles of the directions, A-only first, and the directions shown.

    ``angles`` holds (index, degrees); all of them, or 1,000 evenly picked. ``data`` holds
    ``height × width`` bytes for each direction shown, 128 for zero, where rows are pictures.
    """

    size: int
    blocks: tuple[int, int, int]
    angles: tuple[tuple[int, float], ...]
    directions: tuple[Direction, ...]
    height: int | None
    width: int | None
    data: str | None


def picked(size: int, most: int) -> NDArray[np.intp]:
    """At most `most` of `size` places in order, half of them at the two ends, the telling ones.

    >>> picked(5, 64).tolist(), picked(1000, 12).tolist()
    ([0, 1, 2, 3, 4], [0, 1, 2, 200, 400, 599, 799, 997, 998, 999])
    """
    if size <= most:
        return np.arange(size)
    ends = np.arange(most // 4)
    even = np.linspace(0, size - 1, most - 2 * len(ends)).round().astype(np.intp)
    return np.unique(np.concatenate([ends, even, size - 1 - ends]))


def spectrum_of(comparison: Comparison, shape: PictureShape | None) -> Spectrum:
    """Describe the directions of a comparison's frame."""
    frame = comparison.frame
    degrees = np.degrees(np.asarray(frame.angles))
    r, k, t = (int(n) for n in frame.blocks)
    shown = picked(len(degrees), MOST_DIRECTIONS)
    H = np.asarray(frame.H)
    # metres and millimetres must not decide which features are drawn
    spread = np.sqrt((H * H).sum(axis=0))
    H = H[shown]
    data = None if shape is None else base64_of(signed_bytes(shape.shrink(H))[0])
    return Spectrum(
        size=len(degrees),
        blocks=(r, k, t),
        angles=tuple(
            (int(i), round(float(degrees[i]), 2)) for i in picked(len(degrees), MOST_ANGLES)
        ),
        directions=tuple(
            Direction(
                index=int(i),
                angle=round(float(degrees[i]), 3),
                block=_block(int(i), r, k),
                features=() if shape is not None else _weights(comparison, h, spread),
            )
            for i, h in zip(shown, H, strict=True)
        ),
        height=None if shape is None else shape.height,
        width=None if shape is None else shape.width,
        data=data,
    )


def _block(index: int, r: int, k: int) -> str:
    if index < r:
        return "A-only"
    return "shared" if index < r + k else "B-only"


def _weights(
    comparison: Comparison, h: NDArray[np.float64], spread: NDArray[np.float64]
) -> tuple[Weight, ...]:
    weights = np.divide(h, spread, out=np.zeros_like(h), where=spread > 0)
    strongest = np.argsort(-np.abs(weights), kind="stable")[:TOP_FEATURES]
    return tuple(
        Weight(clean(comparison.feature_names[i]), round(float(weights[i]), 4))
        for i in strongest
        if weights[i] != 0
    )
