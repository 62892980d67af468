"""Images of a folder as rows of pixels, with Pillow: upright, eight bits, one size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.notes import Note
from cospan.base.packages import needed
from cospan.base.text import first_line
from cospan.errors import CospanError, InputError, SourceError

from .base import Chunk, Options, Reader, group_array, listing

if TYPE_CHECKING:
    from PIL import Image

IMAGE_SUFFIXES = frozenset(
    (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm")
)
#: Larger images must be given an image_size: every pixel is a feature.
MAX_PIXELS_UNSIZED = 128 * 128
#: An image that claims more pixels than this is refused before it is decoded.
MAX_PIXELS = 2**26


class Unreadable(Exception):
    """A file that is no image, or only part of one, or too large to be decoded."""


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
                f"{self._source}: its images are large ({name} is {size[0]}×{size[1]} pixels) and "
                "every pixel is a feature; give image_size=, for example 64."
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
                    f"{self._source}: {name} is {upright.size[0]}×{upright.size[1]} pixels and the "
                    f"first image {size[0]}×{size[1]}; give image_size= to bring all to one size."
                )
            if upright.mode.startswith("I;16"):  # Pillow would clip; the upper eight bits are meant
                upright = Image.fromarray((np.asarray(upright) >> 8).astype(np.uint8))
            plain = upright.convert(self._mode)
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

    bomb = f"{name} claims more than {MAX_PIXELS:,} pixels and is refused as a decompression bomb"
    # Pillow's own limits lie above ours; to turn its warning into an error would take a filter of
    # the whole process.
    try:
        image = Image.open(file)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise Unreadable(bomb) from error
    if image.width * image.height > MAX_PIXELS:
        image.close()
        raise Unreadable(bomb)
    return image


class ImageReader(Reader):
    """Images of a folder and the folders below it, in the order of their names.

    Files may turn out unreadable, so the number of rows is known only after a pass.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, folder: Path, files: list[Path], options: Options) -> None:
        self.name = folder.name
        self._folder = folder
        self._files = files
        self._label = self._checked_label(options.label)
        self._groups = group_array(options.groups, len(files), self.name)
        self._max_bad = options.max_bad_images
        if options.columns is not None or options.id_column is not None:
            raise InputError(f"{folder}: images have no columns; image_size= makes them smaller.")
        self._decoder = Decoder(options, str(folder))
        self._learn_size()
        self.image_shape = self._decoder.shape
        self.n_features = int(np.prod(self._decoder.shape))

    def blocks(self, size: int) -> Iterator[Chunk]:
        bad: list[str] = []
        rows: list[NDArray[Any]] = []
        kept: list[int] = []
        for number, file in enumerate(self._files):
            row = self._decoded(file, bad)
            if row is not None:
                rows.append(row)
                kept.append(number)
            if len(rows) == size:
                yield self._chunk(rows, kept)
                rows, kept = [], []
        if rows:
            yield self._chunk(rows, kept)
        if bad:
            text = f"{self.name}: {len(bad)} of {len(self._files):,} images cannot be read and are "
            text += f"left out: {listing(bad)}."
            self.found = (Note("images left out", text, loud=True),)

    def _chunk(self, rows: list[NDArray[Any]], kept: list[int]) -> Chunk:
        files = [self._files[number] for number in kept]
        labels = None
        if isinstance(self._label, str):
            labels = np.array([file.parent.name for file in files])
        elif self._label is not None:
            labels = self._label[kept]
        groups = None if self._groups is None else self._groups[kept]
        ids = np.array([self._id(file) for file in files])
        return Chunk(np.stack(rows), ids, labels, groups=groups)

    def _decoded(self, file: Path, bad: list[str]) -> NDArray[Any] | None:
        """One image as a row, or None with its name put on the list of bad ones."""
        try:
            return self._decoder.row(file, self._id(file))
        except Unreadable as error:
            bad.append(self._id(file))
            if len(bad) > self._max_bad:
                raise SourceError(
                    f"{self._folder}: more than {self._max_bad} images cannot be read "
                    f"({listing(bad)}; of the last one: {first_line(error)}); repair them, or "
                    "raise max_bad_images."
                ) from error
        return None

    def _learn_size(self) -> None:
        reason = ""
        for file in self._files:
            try:
                self._decoder.learn(file, self._id(file))
            except Unreadable as error:
                reason = first_line(error)
                continue
            return
        raise SourceError(
            f"{self._folder}: none of its {len(self._files):,} images can be read "
            f"(of the last one: {reason})."
        )

    def _id(self, file: Path) -> str:
        return file.relative_to(self._folder).as_posix()

    def _checked_label(self, label: Any) -> str | NDArray[Any] | None:
        """None, "folder", or one label for each image."""
        if label is None or (isinstance(label, str) and label == "folder"):
            return label
        labels = np.asarray(label)
        if labels.shape != (len(self._files),):
            raise InputError(
                f"{self._folder}: label= must be 'folder' (an image's class is the name of its "
                f"folder) or one label for each of the {len(self._files):,} images."
            )
        return labels
