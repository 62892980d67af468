"""From anything a user has to the source or table that reads it."""

from __future__ import annotations

import atexit
import math
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO

import numpy as np

from cospan.base.text import first_line
from cospan.base.types import Data, Option, Values
from cospan.errors import InputError, SourceError

from .arrays import ArrayRows, idx_rows, is_array, is_idx, is_sparse, npy_rows, npz_rows
from .images import ImageRows
from .paths import (
    FORMATS,
    IMAGE_SUFFIXES,
    STDIN,
    check_readable,
    files_below,
    kind_of,
    reading,
    sniff,
    split_part,
    suffix_of,
)
from .source import Source, Table, listing
from .tables import ArrowFiles, ParquetFiles, TextFiles, object_table

#: The formats of tables, and what reads them.
TABLES: dict[str, type[ArrowFiles]] = {
    "text": TextFiles,
    "Parquet": ParquetFiles,
    "Arrow": ArrowFiles,
}
#: An image_size above this would make rows of more than a million features.
MAX_PIXELS_SIZED = 2**20
IMAGE_MODES = ("L", "RGB")
#: Standard input is kept in a temporary file of at most this much.
MOST_STDIN = 2**36


# ---- options -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """The keyword arguments of :func:`open_source`, checked."""

    label: Option = None
    label_value: Option = None
    groups: Option = None
    columns: tuple[str | int, ...] | None = None
    id_column: str | None = None
    chunk_rows: int | None = None
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    image_size: tuple[int, int] | None = None
    image_mode: str = "L"

    @classmethod
    def of(cls, **given: Option) -> Options:
        """Options as a user gives them: one name for several, one size for height and width."""
        for name in ("categorical", "numeric", "drop", "keep", "columns"):
            value = given.get(name)
            value = (value,) if isinstance(value, str | int) else value
            if name != "columns":
                given[name] = tuple(map(str, value or ()))
            elif value is not None:
                given[name] = tuple(value)
        if isinstance(size := given.get("image_size"), int):
            given["image_size"] = (size, size)
        return cls(**given)

    def __post_init__(self) -> None:
        if self.image_mode not in IMAGE_MODES:
            known = listing(IMAGE_MODES)
            raise InputError(f"image_mode must be one of {known}, not {self.image_mode!r}.")
        if self.chunk_rows is not None and self.chunk_rows < 1:
            raise InputError(f"chunk_rows must be 1 or more, not {self.chunk_rows}.")
        size = self.image_size
        if size is not None and not (min(size) > 0 and math.prod(size) <= MAX_PIXELS_SIZED):
            raise InputError(
                f"image_size is {'x'.join(map(str, size))}, and must be positive and at most "
                f"{MAX_PIXELS_SIZED:,} pixels; every pixel is a feature, so take for example 64."
            )
        if self.columns is not None and not 0 < len(set(self.columns)) == len(self.columns):
            raise InputError("columns must name each feature to take, and each once.")
        if self.label_value is not None and self.label is None:
            raise InputError(
                f"label_value={self.label_value!r} needs label= to say where the classes are."
            )

    def beside(self, option: str, n_rows: int | None, name: str) -> Values | None:
        """Labels or groups that are an array with one entry a row; None for a column's name."""
        given = getattr(self, option)
        if given is None or isinstance(given, str | int | np.integer):
            return None
        found = np.asarray(given)
        if found.ndim != 1 or (n_rows is not None and len(found) != n_rows):
            rows = "its rows" if n_rows is None else f"{n_rows:,} rows"
            raise InputError(
                f"{name}: {option}= has the shape {found.shape} for {rows}; give one entry for "
                "each row, or the name of a column."
            )
        return found


# ---- opening -----------------------------------------------------------------------------------


def open_source(obj: Data, *, name: str | None = None, **options: Option) -> Source | Table:
    """Open anything as rows in chunks, or as a table that :func:`cospan.data.encode` makes rows of.

    Parameters
    ----------
    obj : array, dataframe, path or "-"
        An array (NumPy, torch, any array-API array, SciPy sparse) or anything else with a shape
        that can be sliced (h5py, zarr), any dataframe or object that streams Arrow (pandas, polars,
        DuckDB, Hugging Face datasets), a Dask array or dataframe, a Source or Table (returned as it
        is), the path of a file or folder (``.csv .tsv .parquet .arrow .feather .npy .npz``, IDX,
        images; text also as ``.gz .bz2 .zst``), ``"file.npz::part"`` for one of several arrays,
        or ``"-"`` for CSV or NPY on standard input.
    label : str, int or array, optional
        Where the classes are: a column's name or (plain arrays) number, another array in the same
        .npz file, ``"folder"`` for image folders, the labels file for IDX (any other word: the
        matching one beside the images), or an array with one label per row.
    label_value : optional
        Take only the rows of this class. "3" matches 3 and 3.0.
    groups : str or array, optional
        What rows have in common that belong together (a patient, a day): a column's name, which is
        then not a feature, or an array with one entry per row.
    columns : sequence of str (tables) or int (arrays), optional
        The features to take, in this order. Default: every column.
    id_column : str, optional
        The column that identifies a row; it is then not a feature.
    chunk_rows : int, optional
        Rows in a chunk. Default: about 32 MB.
    categorical, numeric, drop : sequence of str, optional
        Columns of a table that are categories whatever they look like; that are numbers (text
        that does not read as one counts as missing); that are not features.
    keep : sequence of str, optional
        Columns that are compared even if they give the set away by construction: dates, row
        numbers, columns that hardly vary within each set.
    image_size, image_mode : optional
        Resize images to this height and width (needed when they differ in size or are larger than
        128 × 128); "L" for gray, "RGB" for colour.
    name : str, optional
        What to call the data; default: the file's name.

    Examples
    --------
    >>> from cospan.data import open_source
    >>> X = np.array([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0], [5.0, 6.0, 1.0]])
    >>> chunk = open_source(X, label=2, label_value=1).read()
    >>> chunk.rows
    array([[3., 4.],
           [5., 6.]])
    >>> chunk.ids
    array([1, 2])
    """
    given = Options.of(**options)
    if isinstance(obj, Source | Table):
        if given != Options():
            raise InputError(f"{obj.name} is an open source already; give the options on opening.")
        return obj
    try:
        found = _opened(obj, given, name)
    except MemoryError as error:
        raise SourceError(
            f"{name or type(obj).__name__}: does not fit into the memory there is; take fewer "
            "columns with columns=."
        ) from error
    found.name = name or found.name
    return found


def _opened(obj: Data, options: Options, name: str | None) -> Source | Table:
    if isinstance(obj, str) and obj == "-":
        return _open_stdin(options)
    if isinstance(obj, str | os.PathLike):
        return _open_path(os.fspath(obj), options)
    array = isinstance(obj, np.ndarray) or is_sparse(obj)  # one of SciPy's is a dict, too
    if not array and (table := object_table(obj, options, name)) is not None:
        return table
    if isinstance(obj, list | tuple) or (hasattr(obj, "__array__") and not is_array(obj)):
        try:
            obj = np.asarray(obj)
        except ValueError as error:
            raise InputError(
                f"The {type(obj).__name__} is not a table of numbers ({first_line(error)})."
            ) from error
    if is_array(obj):
        return ArrayRows(obj.tocsr() if is_sparse(obj) else obj, options, name or "array")
    raise InputError(
        f"An object of type {type(obj).__name__} cannot be read as rows; "
        "give an array, a dataframe, or the path of a file or folder."
    )


# ---- paths -------------------------------------------------------------------------------------


def _open_path(text: str, options: Options) -> Source | Table:
    """A file or folder, or one array of a file (``file::part``)."""
    path, part = split_part(text)
    check_readable(path)
    if path.is_dir():
        return _open_folder(path, options)
    kind = "IDX" if is_idx(path) else kind_of(path)
    if kind == "NPZ":
        return npz_rows(path, part, options)
    if part is not None:
        raise InputError(f"{path}: is not an NPZ file and has no part {part!r}.")
    if kind in TABLES:
        return TABLES[kind]([path], options, path.name)
    return idx_rows(path, options) if kind == "IDX" else npy_rows(path, options)


def _open_folder(path: Path, options: Options) -> Source | Table:
    with reading(path, "a folder"):
        files = list(files_below(path))
    images = [file for file in files if file.suffix.lower() in IMAGE_SUFFIXES]
    tables = [file for file in files if FORMATS.get(suffix_of(file)) in TABLES]
    if len(images) > len(tables):
        return ImageRows(path, images, options)
    if not tables:
        raise SourceError(
            f"{path}: holds no images and no CSV, Parquet or Arrow files"
            + (f" (only {listing([file.name for file in files], 3)})." if files else ".")
        )
    if images or len({FORMATS[suffix_of(file)] for file in tables}) > 1:
        endings = sorted({suffix_of(file) for file in [*tables, *images]})
        raise SourceError(
            f"{path}: mixes files of different kinds ({listing(endings)}); give a folder with one "
            "kind, or one file."
        )
    for file in tables:
        check_readable(file)
        kind_of(file)
    return TABLES[FORMATS[suffix_of(tables[0])]](tables, options, path.name or str(path))


# ---- standard input ----------------------------------------------------------------------------


@lru_cache(maxsize=1)  # two classes of one stream are two sources
def _copied(stream: IO[bytes]) -> Path:
    """All that comes by a stream, in a file called so that goes with the process."""
    folder = Path(tempfile.mkdtemp(prefix="cospan-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path, size = folder / STDIN, 0
    room = min(MOST_STDIN, shutil.disk_usage(folder).free // 2)
    with reading(STDIN, "bytes"), path.open("wb") as file:
        while piece := stream.read(2**20):
            size += len(piece)
            if size > room:
                raise SourceError(
                    f"{STDIN}: does not end within {room:,} bytes, which is all there is room "
                    "for; save it to a file, or send less."
                )
            file.write(piece)
    if size == 0:
        raise SourceError(f"{STDIN}: is empty.")
    return path


def _open_stdin(options: Options) -> Source | Table:
    """CSV or NPY, kept in a temporary file because the rows are read more than once."""
    stream = None if sys.stdin is None else sys.stdin.buffer
    if stream is None or stream.isatty():
        raise SourceError("Standard input is a terminal or closed; pipe CSV or NPY into it.")
    path = _copied(stream)
    kind = sniff(path)
    if kind not in ("NPY", "text"):
        raise SourceError(f"{STDIN}: holds {kind}; only CSV and NPY can be piped in.")
    return npy_rows(path, options) if kind == "NPY" else TextFiles([path], options, STDIN)
