"""Texts and images as the rows that a model makes of them.

A text column of any table, the lines of a text file, the images of a folder. A source is read
more than once; what a model of ours made is found again in the cache of embeddings, what a
function of the user's made is kept in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan._text import is_number, plural
from cospan.embedding import embed_images, embed_texts, load_image_model, load_text_model
from cospan.errors import InputError, SourceError

from .base import Chunk, Options, Reader, TableStream, require, warn
from .cleaning import taken
from .images import ImageReader
from .paths import reading
from .tables import RawColumns, Table

if TYPE_CHECKING:
    import pyarrow as pa

#: Texts that are read and embedded at a time.
TEXTS = 4096
#: Bytes of a text that a model of ours is given, far more than any takes.
LONGEST_TEXT = 2**18
#: Lines that decide whether a file holds prose.
LOOKED_AT = 50
#: Characters of a text that name its row.
SHOWN = 60
LOOKED_INTO = 20 * SHOWN  # blanks among them
LINE = "text"  # what the only column of a file of lines is called
UNREADABLE = "\ufffd"  # what takes the place of bytes that are not UTF-8
ABOUT_COLUMNS = (
    "x0, x1, … are numbers that a model made of each {what}. Single ones mean little by "
    "themselves: look at the rows, and at the sets as a whole."
)


def is_prose(path: Path) -> bool:
    """Does a .txt file hold one text in each line, and no table?

    A table has the same separators in every line, or a number in each.
    """
    with reading(path, "text"), path.open(encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line, _ in zip(file, range(LOOKED_AT), strict=False)]
    lines = [line for line in lines if line]
    if not lines or any("\0" in line for line in lines):
        return False
    for separator in (",", ";", "\t", "|"):
        if len({line.count(separator) for line in lines} - {0}) == 1 and separator in lines[0]:
            return False
    first = [line.split()[0].replace(",", ".") for line in lines[1:] or lines]
    return not all(map(is_number, first))


class Lines(TableStream):
    """The lines of text files as a table with one column; empty lines are no rows."""

    def __init__(self, files: Sequence[Path], name: str) -> None:
        import pyarrow as pa

        self.name = name
        self.schema = pa.schema([(LINE, pa.string())])
        self._files = list(files)

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for path in self._files:
            waiting: list[str] = []
            unreadable = 0
            with reading(path, "text"), path.open(encoding="utf-8", errors="replace") as file:
                for line in file:
                    unreadable += UNREADABLE in line
                    if line.strip():
                        waiting.append(line.strip())
                    if len(waiting) == size:
                        yield pa.record_batch({LINE: waiting})
                        waiting = []
            if waiting:
                yield pa.record_batch({LINE: waiting})
            if unreadable:
                found = plural(unreadable, "line")
                warn(
                    f"{path.name}: {found} with characters that are not UTF-8, which were replaced "
                    f"by {UNREADABLE}; save the file as UTF-8."
                )

    def complete(self, columns: Sequence[str]) -> bool:
        return True


class _Embedded(Reader):
    """What embedded sources share: rows without names, one width."""

    dtype = np.dtype(np.float32)
    embedded = True


class EmbeddedTexts(_Embedded):
    """A column of texts, embedded; a missing text counts as an empty one."""

    def __init__(self, table: Table, column: str, options: Options) -> None:
        require(table.stream.schema.names, [column], table.name, "text")
        _check_texts(table, column)
        self.name, self.n_rows = table.name, table.n_rows
        self.notes = (*table.stream.notes, ABOUT_COLUMNS.format(what="text"))
        self._table = table
        self._column = column
        self._options = options
        self._model = options.embed if callable(options.embed) else load_text_model(options.embed)
        self._kept: dict[str, NDArray[np.float32]] | None = (
            None if hasattr(self._model, "key") else {}
        )
        self.n_features = self._rows([""]).shape[1]
        self._named = options.id_column is not None or table.stream.index is not None

    def blocks(self, size: int) -> Iterator[Chunk]:
        most = LONGEST_TEXT if self._kept is None else None  # a function of yours gets it all
        raw = RawColumns(self._table, [self._column], most)
        for block in taken(raw, self._options, TEXTS, self.name):
            texts = block.rows.column(0)
            if texts.null_count:
                missing = plural(texts.null_count, "missing text")
                warn(f"{self.name}: {missing}, counted as empty.")
            words = [text or "" for text in texts.cast("string").to_pylist()]
            ids = block.ids if self._named else _called(block.ids, words)
            yield Chunk(self._rows(words), ids, block.labels)

    def _rows(self, texts: list[str]) -> NDArray[np.float32]:
        if self._kept is None:
            return embed_texts(texts, self._model)
        new = [text for text in dict.fromkeys(texts) if text not in self._kept]
        if new:
            self._kept.update(zip(new, embed_texts(new, self._model), strict=True))
        return np.stack([self._kept[text] for text in texts])


def _check_texts(table: Table, column: str) -> None:
    """Numbers and dates are no texts, though a model would make something of them too."""
    import pyarrow as pa

    own = table.stream.schema.field(column).type
    kind = own.value_type if pa.types.is_dictionary(own) else own
    words = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
        pa.types.is_null,
    )
    if not any(is_it(kind) for is_it in words):
        numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        raise InputError(
            f"{table.name}: column {column!r} holds {'numbers' if numbers else kind}, not texts; "
            f"text= is for a column of texts."
        )


def _called(numbers: NDArray[Any], texts: list[str]) -> NDArray[Any]:
    """Row numbers with the beginning of the text: what a reader knows it by."""
    fronts = [" ".join(text[:LOOKED_INTO].split()) for text in texts]
    shown = [text if len(text) <= SHOWN else text[: SHOWN - 1] + "…" for text in fronts]
    return np.array([f"{n}: {text}" for n, text in zip(numbers, shown, strict=True)])


class EmbeddedImages(_Embedded):
    """The images of a folder, embedded."""

    def __init__(self, folder: Path, files: list[Path], options: Options) -> None:
        embed = options.embed
        if embed is None:
            raise InputError(f"{folder}: images need a model to be embedded by; name one.")
        self._model = embed if callable(embed) else load_image_model(embed)
        size = getattr(self._model, "size", None) or options.image_size
        if size is None:
            raise InputError(f"{folder}: the model takes images of any size; give image_size=.")
        self._images = ImageReader(
            folder, files, replace(options, image_mode="RGB", image_size=size, embed=None)
        )
        self.name, self.n_rows = self._images.name, None
        self.notes = (*self._images.notes, ABOUT_COLUMNS.format(what="image"))
        blank = np.zeros((1, *size, 3), dtype=np.uint8)
        self.n_features = embed_images(blank, self._model).shape[1]

    def blocks(self, size: int) -> Iterator[Chunk]:
        shape = self._images.image_shape
        if shape is None:
            raise SourceError(f"{self.name}: no image can be read.")
        for block in self._images.blocks(256):
            pixels = block.rows.reshape(-1, *shape).astype(np.uint8)
            yield block._replace(rows=embed_images(pixels, self._model))
