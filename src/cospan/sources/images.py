"""Folders of images, read with Pillow: one image a row, its file name the identifier."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.errors import CospanWarning, InputError, MissingDependencyError, SourceError

from .base import Chunk, Options, listing

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["IMAGE_SUFFIXES", "ImageReader"]

IMAGE_SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"))
IMAGE_SUFFIXES |= frozenset((".ppm", ".pgm", ".pbm"))
#: Larger images must be given an image_size: every pixel is a feature.
MAX_PIXELS_UNSIZED = 128 * 128
#: An image that claims more pixels than this is refused before it is decoded.
MAX_PIXELS = 2**26


class ImageReader:
    """Images of a folder and the folders below it, in the order of their names."""

    feature_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    dtype: np.dtype[Any] = np.dtype(np.float64)

    def __init__(self, folder: Path, files: list[Path], options: Options) -> None:
        if options.label not in (None, "folder") and len(options.label) != len(files):
            raise InputError(
                f"{folder}: label= must be 'folder' (an image's class is the name of its folder) "
                f"or one label for each of the {len(files):,} images."
            )
        if options.columns is not None or options.id_column is not None:
            raise InputError(f"{folder}: images have no columns; image_size= makes them smaller.")
        self.name = folder.name
        self.n_rows: int | None = None
        self._folder = folder
        self._files = files
        self._options = options
        self._warned = False
        height, width = options.image_size or self._first_size()
        self._size = (width, height)
        self.image_shape: tuple[int, ...] | None = (height, width)
        if options.image_mode == "RGB":
            self.image_shape = (height, width, 3)
        self.n_features = int(np.prod(self.image_shape))

    def blocks(self, size: int) -> Iterator[Chunk]:
        bad: list[str] = []
        rows: list[NDArray[Any]] = []
        kept: list[int] = []
        for number, file in enumerate(self._files):
            row = self._decode(file, bad)
            if row is not None:
                rows.append(row)
                kept.append(number)
            if len(rows) == size:
                yield self._chunk(rows, kept)
                rows, kept = [], []
        if rows:
            yield self._chunk(rows, kept)
        if bad and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.name}: {len(bad)} of {len(self._files):,} images cannot be read and are "
                f"left out: {listing(bad)}.",
                CospanWarning,
                stacklevel=2,
            )

    def _chunk(self, rows: list[NDArray[Any]], kept: list[int]) -> Chunk:
        files = [self._files[number] for number in kept]
        ids = np.array([file.relative_to(self._folder).as_posix() for file in files])
        label = self._options.label
        labels = None
        if isinstance(label, str):
            labels = np.array([file.parent.name for file in files])
        elif label is not None:
            labels = np.asarray(label)[kept]
        return Chunk(np.stack(rows), ids, labels)

    def _decode(self, file: Path, bad: list[str]) -> NDArray[Any] | None:
        """One image as a row, or None with its name put on the list of bad ones."""
        try:
            with _opened(file) as image:
                row = self._pixels(image, file)
        except (OSError, SyntaxError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            bad.append(file.relative_to(self._folder).as_posix())
            if len(bad) > self._options.max_bad_images:
                raise SourceError(
                    f"{self._folder}: more than {self._options.max_bad_images} images cannot be "
                    f"read ({listing(bad)}); repair them, or raise max_bad_images."
                ) from error
            return None
        return row

    def _pixels(self, image: Image.Image, file: Path) -> NDArray[Any]:
        from PIL import Image, ImageOps

        if self._options.image_size is not None:
            image.draft(self._options.image_mode, self._size)
        upright = ImageOps.exif_transpose(image)
        if upright.size != self._size and self._options.image_size is None:
            raise InputError(
                f"{self._folder}: {file.name} is {_by(upright.size)} pixels and the first image "
                f"{_by(self._size)}; give image_size= to bring all to one size."
            )
        plain = _eight_bits(upright).convert(self._options.image_mode)
        if plain.size != self._size:
            plain = plain.resize(self._size, Image.Resampling.BILINEAR)
        return np.asarray(plain).reshape(-1)

    def _first_size(self) -> tuple[int, int]:
        """(height, width) of the first image that opens."""
        from PIL import ImageOps

        for file in self._files:
            try:
                with _opened(file) as image:
                    width, height = ImageOps.exif_transpose(image).size
            except (OSError, SyntaxError, ValueError):
                continue
            if width * height > MAX_PIXELS_UNSIZED:
                raise InputError(
                    f"{self._folder}: its images are large ({file.name} is "
                    f"{_by((width, height))} pixels) and every pixel is a feature; "
                    "give image_size=, for example 64."
                )
            return height, width
        raise SourceError(f"{self._folder}: none of its {len(self._files):,} images can be read.")


def _opened(file: Path) -> Image.Image:
    """Open an image without decoding it; refuse one that claims too many pixels."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingDependencyError("Reading images needs Pillow: install cospan[app].") from error

    bomb: tuple[type[Exception], ...] = (
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            image = Image.open(file)
        except bomb as error:
            raise _too_large(file) from error
    if image.width * image.height > MAX_PIXELS:
        image.close()
        raise _too_large(file)
    return image


def _too_large(file: Path) -> SourceError:
    return SourceError(
        f"{file}: claims more than {MAX_PIXELS:,} pixels and is refused as a decompression bomb."
    )


def _eight_bits(image: Image.Image) -> Image.Image:
    """Pillow clips 16-bit gray when it converts; the upper eight bits are meant."""
    from PIL import Image

    if not image.mode.startswith("I;16"):
        return image
    return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))


def _by(size: tuple[int, int]) -> str:
    return f"{size[0]}×{size[1]}"
