"""One image to one row of pixels, with Pillow: safe to open, upright, eight bits, one size.

Also of images inside tables, as Hugging Face datasets keep them: structs with the file's bytes. A
cell without an image, or with one that cannot be read, counts as missing.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan._packages import needed
from cospan.errors import CospanError, InputError, SourceError

from .base import Options

if TYPE_CHECKING:
    import pyarrow as pa
    from PIL import Image

#: Larger images must be given an image_size: every pixel is a feature.
MAX_PIXELS_UNSIZED = 128 * 128
#: An image that claims more pixels than this is refused before it is decoded.
MAX_PIXELS = 2**26


class Unreadable(Exception):
    """A file that is no image, or only part of one, or too large to be decoded."""


#: What to expect of one bad image among many; everything else stops the reading.
UNREADABLE = (Unreadable,)


class Decoder:
    """Turns images of one source into rows of equal length.

    Without ``image_size`` the first image decides the size and the others must have it.
    """

    def __init__(self, options: Options, source: str) -> None:
        self._mode = options.image_mode
        self._given = options.image_size
        self._source = source
        self._size = None if self._given is None else (self._given[1], self._given[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """(height, width) or (height, width, 3)."""
        if self._size is None:
            raise SourceError(f"{self._source}: no image can be read.")
        width, height = self._size
        return (height, width) if self._mode == "L" else (height, width, 3)

    def learn(self, file: Path | IO[bytes], name: str) -> None:
        """Take the size of this image for all, where none was given."""
        from PIL import ImageOps

        with _decoding(), _opened(file, name) as image:
            size = ImageOps.exif_transpose(image).size
        if self._given is None and size[0] * size[1] > MAX_PIXELS_UNSIZED:
            raise InputError(
                f"{self._source}: its images are large ({name} is {_by(size)} pixels) and every "
                f"pixel is a feature; give image_size=, for example 64."
            )
        self._size = self._size or size

    def row(self, file: Path | IO[bytes], name: str) -> NDArray[Any]:
        """The pixels of one image, as whole numbers from 0 to 255."""
        from PIL import Image, ImageOps

        size = self.shape[1], self.shape[0]
        with _decoding(), _opened(file, name) as image:
            if self._given is not None:
                image.draft(self._mode, size)  # JPEG decodes smaller, and faster
            upright = ImageOps.exif_transpose(image)
            if upright.size != size and self._given is None:
                raise InputError(
                    f"{self._source}: {name} is {_by(upright.size)} pixels and the first image "
                    f"{_by(size)}; give image_size= to bring all to one size."
                )
            plain = _eight_bits(upright).convert(self._mode)
        if plain.size != size:
            plain = plain.resize(size, Image.Resampling.BILINEAR)
        return np.asarray(plain).reshape(-1)


@contextmanager
def _decoding() -> Iterator[None]:
    """Whatever a decoder raises about a file (Pillow's raise nearly anything) makes it one."""
    try:
        yield
    except (CospanError, Unreadable):
        raise
    except Exception as error:  # as above
        raise Unreadable(str(error)) from error


def _opened(file: Path | IO[bytes], name: str) -> Image.Image:
    """Open an image without decoding it; refuse one that claims too many pixels."""
    with needed("Reading images"):
        from PIL import Image

    # Pillow's own limits lie above ours; to turn its warning into an error would take a filter of
    # the whole process.
    try:
        image = Image.open(file)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _bomb(name) from error
    if image.width * image.height > MAX_PIXELS:
        image.close()
        raise _bomb(name)
    return image


def _bomb(name: str) -> Unreadable:
    return Unreadable(
        f"{name} claims more than {MAX_PIXELS:,} pixels and is refused as a decompression bomb"
    )


def _eight_bits(image: Image.Image) -> Image.Image:
    """Pillow clips 16-bit gray when it converts; the upper eight bits are meant."""
    from PIL import Image

    if not image.mode.startswith("I;16"):
        return image
    return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))


def _by(size: tuple[int, int]) -> str:
    return f"{size[0]}×{size[1]}"


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
