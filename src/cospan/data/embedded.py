"""Texts and images as the rows that a model makes of them.

The model is any function of a list of texts, or of an array of images (n, height, width, 3), that
gives one row of numbers for each; or the name of a sentence-transformers model. A source is read
more than once, so what was embedded is kept in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cospan.base.notes import Note
from cospan.base.text import first_line, plural
from cospan.base.types import Values
from cospan.errors import InputError, needed

from .columns import family
from .images import ImageRows
from .source import Chunk, Options, Source
from .tables import Table, require

Model: TypeAlias = Callable[[Sequence[str] | Values], object]
Single: TypeAlias = NDArray[np.float32]

#: Texts and images that are read and embedded at a time.
TEXTS, IMAGES = 4096, 256
#: Characters of a text that name its row.
SHOWN = 60
ABOUT_COLUMNS = (
    "x0, x1, … are numbers that a model made of each {what}. Single ones mean little by "
    "themselves: look at the rows, and at the sets as a whole."
)


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
        kind = table.schema.field(column).type
        if family(kind) not in ("text", "dictionary", "nothing"):
            holds = "numbers" if family(kind) == "number" else kind
            raise InputError(
                f"{table.name}: column {column!r} holds {holds}, not texts; text= is for a column "
                "of texts."
            )
        self._notes = (*table.notes, Note("embedding", ABOUT_COLUMNS.format(what="text")))
        self._table, self._column = table, column
        self._model = model_of(table.options.embed)
        self._known: dict[str, Single] = {}
        shape = (table.n_rows, self._rows([""]).shape[1])
        super().__init__(table.name, table.options, shape, np.dtype(np.float32))

    def _blocks(self, size: int, met: list[Note]) -> Iterator[Chunk]:
        missing = 0
        for block in self._table.blocks([self._column], TEXTS):
            texts = block.rows.column(0)
            missing += texts.null_count
            words = [text or "" for text in texts.cast("string").to_pylist()]
            ids = block.ids
            if ids.dtype.kind == "i":  # row numbers, with what a reader knows a text by
                ids = np.array([f"{n}: {_front(text)}" for n, text in zip(ids, words, strict=True)])
            yield block._replace(rows=self._rows(words), ids=ids)
        if missing:
            text = f"{self.name}: {plural(missing, 'missing text')}, counted as empty."
            met.append(Note("missing texts", text, loud=True))

    def _rows(self, texts: list[str]) -> Single:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, rows_of(self._model, new), strict=True))
        return np.stack([self._known[text] for text in texts])


def _front(text: str) -> str:
    """The beginning of a text."""
    shown = " ".join(text[: 20 * SHOWN].split())
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"


class EmbeddedImages(Source):
    """The images of a folder, embedded."""

    def __init__(self, folder: Path, files: list[Path], options: Options) -> None:
        self._model = model_of(options.embed)
        size = options.image_size
        if size is None:
            raise InputError(f"{folder}: the model takes images of one size; give image_size=.")
        self._images = ImageRows(folder, files, replace(options, image_mode="RGB"))
        self._notes = (Note("embedding", ABOUT_COLUMNS.format(what="image")),)
        self._kept: list[Chunk] = []
        self._met: list[Note] = []
        width = rows_of(self._model, np.zeros((1, *size, 3), dtype=np.uint8)).shape[1]
        super().__init__(folder.name, options, (None, width), np.dtype(np.float32))

    def _blocks(self, size: int, met: list[Note]) -> Iterator[Chunk]:
        if not self._kept:
            shape = self._images.image_shape or ()
            for block in self._images._blocks(IMAGES, self._met):
                pixels = block.rows.reshape(-1, *shape).astype(np.uint8)
                self._kept.append(block._replace(rows=rows_of(self._model, pixels)))
        yield from self._kept
        met += self._met
