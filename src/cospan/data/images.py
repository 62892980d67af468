"""Images of a folder as rows of pixels; texts and images as the rows that a model makes of them.

Images are read with Pillow: upright, eight bits, one size. A model is any function of a list of
texts, or of an array of images (n, height, width, 3), that gives one row of numbers for each; or
the name of a sentence-transformers model. A source is read more than once, so what was embedded is
kept in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cospan.base.text import first_line, plural
from cospan.base.types import Values
from cospan.errors import CospanError, InputError, Note, SourceError, needed

from .columns import family
from .source import Chunk, Source, Table, listing, require

if TYPE_CHECKING:
    from PIL import Image

    from .opening import Options

Model: TypeAlias = Callable[[Sequence[str] | Values], object]
Single: TypeAlias = NDArray[np.float32]

#: Larger images must be given an image_size: every pixel is a feature.
MAX_PIXELS_UNSIZED = 128 * 128
#: An image that claims more pixels than this is refused before it is decoded.
MAX_PIXELS = 2**26
#: So many unreadable images are left out with a warning; more are an error.
MOST_BAD = 10
#: Texts and images that are read and embedded at a time.
TEXTS, IMAGES = 4096, 256
#: Characters of a text that name its row.
SHOWN = 60
ABOUT_COLUMNS = (
    "x0, x1, … are numbers that a model made of each {what}. Single ones mean little by "
    "themselves: look at the rows, and at the sets as a whole."
)


class Unreadable(Exception):
    """A file that is no image, or only part of one, or too large to be decoded."""


class ImageRows(Source):
    """Images of a folder and the folders below it, in the order of their names.

    Without ``image_size`` the first image that can be read decides the size, and the others must
    have it. Files may turn out unreadable, so the number of rows is known only after a pass.
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
        first = self._first_size()
        width, height = self._size = self._size if self._given else first
        self.image_shape = (height, width) if self._mode == "L" else (height, width, 3)
        shape = (None, int(np.prod(self.image_shape)))
        super().__init__(folder.name, options, shape, np.dtype(np.float64))

    def _blocks(self, size: int, met: list[Note]) -> Iterator[Chunk]:
        bad: list[str] = []
        rows: list[Values] = []
        kept: list[int] = []
        for number, file in enumerate(self._files):
            try:
                rows.append(self._row(file))
                kept.append(number)
            except Unreadable as error:
                bad.append(self._id(file))
                if len(bad) > MOST_BAD:
                    raise SourceError(
                        f"{self._folder}: more than {MOST_BAD} images cannot be read "
                        f"({listing(bad)}; of the last one: {first_line(error)}); repair them, or "
                        "take them out of the folder."
                    ) from error
            if rows and (len(rows) == size or number == len(self._files) - 1):
                labels = None if self._label is None else self._label[kept]
                groups = None if self._groups is None else self._groups[kept]
                ids = np.array([self._id(self._files[k]) for k in kept])
                yield Chunk(np.stack(rows), ids, labels, groups=groups)
                rows, kept = [], []
        if bad:
            text = f"{self.name}: {len(bad)} of {len(self._files):,} images cannot be read and are "
            met.append(Note("images left out", f"{text}left out: {listing(bad)}.", loud=True))

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

    def _first_size(self) -> tuple[int, int]:
        """Width and height of the first image that can be read."""
        reason = ""
        for file in self._files:
            try:
                with self._upright(file) as image:
                    width, height = image.size
            except Unreadable as error:
                reason = first_line(error)
                continue
            if not self._given and width * height > MAX_PIXELS_UNSIZED:
                raise InputError(
                    f"{self._folder}: its images are large ({self._id(file)} is "
                    f"{_by((width, height))} pixels) and every pixel is a feature; give "
                    "image_size=, for example 64."
                )
            return width, height
        raise SourceError(
            f"{self._folder}: none of its {len(self._files):,} images can be read "
            f"(of the last one: {reason})."
        )

    @contextmanager
    def _upright(self, file: Path) -> Iterator[Image.Image]:
        """An image; one that claims too many pixels is refused before it is decoded.

        Whatever is raised about a file (Pillow's decoders raise nearly anything) makes it
        unreadable. Pillow's own limit of pixels lies above ours.
        """
        with needed("Reading images"):
            from PIL import Image, ImageOps
        try:
            with Image.open(file) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise Unreadable(
                        f"{self._id(file)} claims more than {MAX_PIXELS:,} pixels and is refused "
                        "as a decompression bomb"
                    )
                if self._given:
                    image.draft(self._mode, self._size)  # JPEG decodes smaller, and faster
                yield ImageOps.exif_transpose(image)
        except (CospanError, Unreadable):
            raise
        except Exception as error:  # as above
            raise Unreadable(f"{self._id(file)}: {error}") from error

    def _id(self, file: Path) -> str:
        return file.relative_to(self._folder).as_posix()


def _by(size: tuple[int, int]) -> str:
    return f"{size[0]}×{size[1]}"


# ---- embeddings --------------------------------------------------------------------------------


def model_of(embed: Model | str | None) -> Model:
    """The function that `embed` is, or the sentence-transformers model that it names."""
    if callable(embed):
        return embed
    if embed is None:
        raise InputError(
            "Texts need a model to be embedded by: give embed= a function of a list of texts, or "
            "the name of a sentence-transformers model."
        )
    with needed("Embedding by the name of a model", instead=", or give embed= a function"):
        from sentence_transformers import SentenceTransformer
    try:
        model: Model = SentenceTransformer(str(embed)).encode
        return model
    except Exception as error:  # whatever a package raises about a model it cannot load
        raise InputError(f"embed={str(embed)!r} cannot be loaded ({first_line(error)}).") from error


def rows_of(model: Model, items: Sequence[str] | Values) -> Single:
    """One finite row of numbers for each item."""
    try:
        rows = np.asarray(model(items), dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"embed= failed or gave no numbers ({first_line(error)}).") from error
    if rows.ndim != 2 or len(rows) != len(items):
        raise InputError(
            f"embed= gave an array of shape {rows.shape} for {len(items):,} items; it must give "
            "one row of numbers for each."
        )
    return rows


class EmbeddedTexts(Source):
    """A column of texts, embedded; a missing text counts as an empty one."""

    def __init__(self, table: Table, column: str) -> None:
        require(table.schema.names, [column], table.name, "text")
        kind = family(table.schema.field(column).type)
        if kind not in ("text", "dictionary", "nothing"):
            raise InputError(
                f"{table.name}: column {column!r} holds {kind}s, not texts; text= is for a column "
                "of texts."
            )
        self.known = (*table.known, Note("embedding", ABOUT_COLUMNS.format(what="text")))
        self._table, self._column = table, column
        self._model = model_of(table.options.embed)
        self._rows: dict[str, Single] = {"": rows_of(self._model, [""])[0]}
        shape = (table.n_rows, len(self._rows[""]))
        super().__init__(table.name, table.options, shape, np.dtype(np.float32))

    def _blocks(self, size: int, met: list[Note]) -> Iterator[Chunk]:
        missing = 0
        for block in self._table.blocks([self._column], TEXTS):
            texts = block.rows.column(0)
            missing += texts.null_count
            words = [text or "" for text in texts.cast("string").to_pylist()]
            if new := [text for text in dict.fromkeys(words) if text not in self._rows]:
                self._rows.update(zip(new, rows_of(self._model, new), strict=True))
            ids = block.ids
            if ids.dtype.kind == "i":  # row numbers, with what a reader knows a text by
                ids = np.array([f"{n}: {_front(text)}" for n, text in zip(ids, words, strict=True)])
            yield block._replace(rows=np.stack([self._rows[text] for text in words]), ids=ids)
        if missing:
            text = f"{self.name}: {plural(missing, 'missing text')}, counted as empty."
            met.append(Note("missing texts", text, loud=True))


def _front(text: str) -> str:
    """The beginning of a text."""
    shown = " ".join(text[: 20 * SHOWN].split())
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"


class EmbeddedImages(ImageRows):
    """The images of a folder, embedded."""

    def __init__(self, folder: Path, files: list[Path], options: Options) -> None:
        self._model = model_of(options.embed)
        if options.image_size is None:
            raise InputError(f"{folder}: the model takes images of one size; give image_size=.")
        super().__init__(folder, files, replace(options, image_mode="RGB"))
        self.known = (Note("embedding", ABOUT_COLUMNS.format(what="image")),)
        self._shape, self.image_shape = (*options.image_size, 3), None
        one = rows_of(self._model, np.zeros((1, *self._shape), dtype=np.uint8))
        self.n_features, self.dtype = one.shape[1], one.dtype
        self._kept: list[Chunk] = []
        self._met: list[Note] = []

    def _blocks(self, size: int, met: list[Note]) -> Iterator[Chunk]:
        if not self._kept:
            for block in super()._blocks(IMAGES, self._met):
                pixels = block.rows.reshape(-1, *self._shape)
                self._kept.append(block._replace(rows=rows_of(self._model, pixels)))
        yield from self._kept
        met += self._met
