"""Folders of images: one image a row, its file name the identifier."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._text import first_line
from cospan.errors import InputError, SourceError

from .base import Chunk, Options, Reader, listing, warn
from .pixels import UNREADABLE, Decoder

IMAGE_SUFFIXES = frozenset(
    (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm")
)


class ImageReader(Reader):
    """Images of a folder and the folders below it, in the order of their names.

    Files may turn out unreadable, so the number of rows is known only after a pass.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, folder: Path, files: list[Path], options: Options) -> None:
        self.name = folder.name
        self._folder = folder
        self._files = files
        self._label = _checked_label(options.label, folder, len(files))
        self._max_bad = options.max_bad_images
        self._warned = False
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
        if bad and not self._warned:
            self._warned = True
            known = {"name": self.name, "n": len(bad), "all": len(self._files)}
            warn(
                "{name}: {n} of {all:,} images cannot be read and are left out: {files}.".format(
                    files=listing(bad), **known
                ),
                code="images left out",
            )

    def _chunk(self, rows: list[NDArray[Any]], kept: list[int]) -> Chunk:
        files = [self._files[number] for number in kept]
        labels = None
        if isinstance(self._label, str):
            labels = np.array([file.parent.name for file in files])
        elif self._label is not None:
            labels = self._label[kept]
        return Chunk(np.stack(rows), np.array([self._id(file) for file in files]), labels)

    def _decoded(self, file: Path, bad: list[str]) -> NDArray[Any] | None:
        """One image as a row, or None with its name put on the list of bad ones."""
        try:
            return self._decoder.row(file, self._id(file))
        except UNREADABLE as error:
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
            except UNREADABLE as error:
                reason = first_line(error)
                continue
            return
        raise SourceError(
            f"{self._folder}: none of its {len(self._files):,} images can be read "
            f"(of the last one: {reason})."
        )

    def _id(self, file: Path) -> str:
        return file.relative_to(self._folder).as_posix()


def _checked_label(label: Any, folder: Path, n_files: int) -> str | NDArray[Any] | None:
    """None, "folder", or one label for each image."""
    if label is None or (isinstance(label, str) and label == "folder"):
        return label
    labels = np.asarray(label)
    if labels.shape != (n_files,):
        raise InputError(
            f"{folder}: label= must be 'folder' (an image's class is the name of its "
            f"folder) or "
            f"one label for each of the {n_files:,} images."
        )
    return labels
