"""Images of a folder as rows of pixels, read with Pillow: upright, eight bits, one size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cospan.base.text import first_line
from cospan.base.types import Values
from cospan.errors import CospanError, InputError, Note, SourceError, needed

from .source import Chunk, Source

if TYPE_CHECKING:
    from PIL import Image

    from .opening import Options

#: Larger images must be given an image_size: every pixel is a feature.
MAX_PIXELS_UNSIZED = 128 * 128
#: An image that claims more pixels than this is refused before it is decoded.
MAX_PIXELS = 2**26


class ImageRows(Source):
    """Images of a folder and the folders below it, in the order of their names.

    Without ``image_size`` the first image decides the size, and the others must have it.
    """

    def __init__(self, folder: Path, files: list[Path], options: Options) -> None:
        if options.label == "folder":
            options = replace(options, label=[file.parent.name for file in files])
        if isinstance(options.label, str | int):
            raise InputError(
                f"{folder}: label= must be 'folder' (an image's class is the name of its folder) "
                f"or one label for each of the {len(files):,} images."
            )
        if options.columns is not None or options.id_column is not None:
            raise InputError(f"{folder}: images have no columns; image_size= makes them smaller.")
        self._folder, self._files, self._mode = folder, files, options.image_mode
        self._label = options.beside("label", len(files), str(folder))
        self._groups = options.beside("groups", len(files), str(folder))
        self._given = options.image_size is not None
        self._size = (options.image_size or (0, 0))[::-1]
        with self._upright(files[0]) as image:
            width, height = self._size = self._size if self._given else image.size
        if not self._given and width * height > MAX_PIXELS_UNSIZED:
            raise InputError(
                f"{folder}: its images are large ({self._id(files[0])} is {_by(self._size)} "
                "pixels) and every pixel is a feature; give image_size=, for example 64."
            )
        self.image_shape = (height, width) if self._mode == "L" else (height, width, 3)
        shape = len(files), math.prod(self.image_shape)
        super().__init__(folder.name, options, shape, np.dtype(np.float64))

    def _blocks(self, size: int, met: list[Note]) -> Iterator[Chunk]:
        for start in range(0, len(self._files), size):
            own = slice(start, start + size)
            labels, groups = (x if x is None else x[own] for x in (self._label, self._groups))
            ids = np.array([self._id(file) for file in self._files[own]])
            rows = np.stack([self._row(file) for file in self._files[own]])
            yield Chunk(rows, ids, labels, groups=groups)

    def _row(self, file: Path) -> Values:
        """The pixels of one image, as whole numbers from 0 to 255."""
        from PIL import Image

        with self._upright(file) as image:
            if image.size != self._size and not self._given:
                raise InputError(
                    f"{self._folder}: {self._id(file)} is {_by(image.size)} pixels and the first "
                    f"image {_by(self._size)}; give image_size= to bring all to one size."
                )
            if image.mode.startswith("I;16"):  # Pillow would clip; the upper eight bits are meant
                image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
            plain = image.convert(self._mode)
        if plain.size != self._size:
            plain = plain.resize(self._size, Image.Resampling.BILINEAR)
        return np.asarray(plain).reshape(-1)

    @contextmanager
    def _upright(self, file: Path) -> Iterator[Image.Image]:
        """An image; Pillow's own limit of pixels lies above ours."""
        with needed("Reading images"):
            from PIL import Image, ImageOps
        try:
            with Image.open(file) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise SourceError(
                        f"{self._folder}: {self._id(file)} claims more than {MAX_PIXELS:,} pixels "
                        "and is refused as a decompression bomb; take it out of the folder."
                    )
                if self._given:
                    image.draft(self._mode, self._size)  # JPEG decodes smaller, and faster
                yield ImageOps.exif_transpose(image)
        except CospanError:
            raise
        except Exception as error:  # Pillow's decoders raise nearly anything
            raise SourceError(
                f"{self._folder}: {self._id(file)} cannot be read ({first_line(error)}); repair "
                "it, or take it out of the folder."
            ) from error

    def _id(self, file: Path) -> str:
        return file.relative_to(self._folder).as_posix()


def _by(size: tuple[int, int]) -> str:
    return f"{size[0]}×{size[1]}"
