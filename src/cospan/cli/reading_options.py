"""The options that say how to read the data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from cospan.cli.options import Given, _column, _read, parse_columns, parse_names, parse_shape

Missing = StrEnum("Missing", ["indicator", "mean", "drop", "error"])
ImageMode = StrEnum("ImageMode", {"gray": "L", "colour": "RGB"})

_names = partial(_read, parser=parse_names, metavar="NAME,NAME,…")


@dataclass(frozen=True)
class Columns(Given):
    """Which columns to take, and as what."""

    columns: str | None = _read(
        parser=parse_columns,
        metavar="NAME,NAME,…",
        help="Features to take, by name or number (default: every column).",
    )
    categorical: list[Any] | None = _names(
        help="Columns that are categories whatever they look like. May be repeated."
    )
    numeric: list[Any] | None = _names(
        help="Columns that are numbers; other text in them is missing. May be repeated."
    )
    drop: list[Any] | None = _names(help="Columns that are not features. May be repeated.")
    keep: list[Any] | None = _names(
        help="Columns to compare even if they give the set away (dates, row numbers)."
    )
    strict: bool = _read(
        "--strict", default=False, help="Refuse non-numeric columns instead of encoding them."
    )

    def given(self) -> dict[str, Any]:
        found = super().given()
        for key in ("categorical", "numeric", "drop", "keep"):
            if key in found:
                found[key] = [name for names in found[key] for name in names]
        return found


@dataclass(frozen=True)
class Files(Given):
    """How to read rows whose columns are known."""

    id_column: str | None = _column(
        "--id", help="Column that identifies a row; it is not a feature."
    )
    missing: Missing | None = _read(
        help="Missing values: fill by the sets' mean with a feature that says where, or "
        "without one; drop the rows; refuse (default: indicator for tables, else error)."
    )
    chunk_rows: int | None = _read(min=1, help="Rows in memory at a time (default: 32 MB).")
    image_size: str | None = _read(
        parser=parse_shape, metavar="HxW", help="Resize images to this size."
    )
    image_mode: ImageMode = _read(
        default=ImageMode.gray, help="Images in gray (L) or colour (RGB)."
    )
    text: str | None = _column(help="Column of texts: their embeddings are the features.")
    embed: str | None = _read(
        metavar="MODEL",
        help="Name of a sentence-transformers model for texts (in Python also any function).",
    )

    def given(self) -> dict[str, Any]:
        found = super().given()
        if "image_size" in found:
            found["image_size"] = (found["image_size"][0], found["image_size"][-1])
        return found


@dataclass(frozen=True)
class Reading(Files, Columns):
    """How to read the data."""

    max_bad_images: int | None = _read(
        min=0, help="Unreadable images to leave out before giving up (default: 10)."
    )
