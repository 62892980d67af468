"""From anything a user has to the source that reads it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from cospan.errors import InputError

from .base import Encodable, Options, Reader
from .source import Source


def open_source(
    obj: Any,
    *,
    label: Any = None,
    label_value: Any = None,
    columns: Sequence[str | int] | None = None,
    id_column: str | None = None,
    chunk_rows: int | None = None,
    missing: str | None = None,
    categorical: Sequence[str] | None = None,
    numeric: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    strict: bool = False,
    image_size: int | tuple[int, int] | None = None,
    image_mode: str = "L",
    max_bad_images: int = 10,
    text: str | None = None,
    embed: Any = None,
    name: str | None = None,
) -> Source:
    """Open anything as rows in chunks.

    Parameters
    ----------
    obj : array, dataframe, path or "-"
        An array in memory (NumPy, torch, any array-API array, SciPy sparse), any dataframe that
        narwhals or Arrow understands, a Dask array or dataframe, a Source (returned as it is),
        the path of a file or folder (``.npy .npz .csv .tsv .parquet .arrow .feather .safetensors
        .zarr .h5``, IDX, images, Hugging Face datasets saved to disk), ``"file::part"`` for one
        array of a container, or ``"-"`` for CSV or NPY on standard input.
    label : str, int or array, optional
        Where the classes stand: a column's name (tables), a column's number (plain arrays), the
        name of another array in the same file (npz, HDF5, Zarr, safetensors), ``"folder"`` for
        image folders, the labels file for IDX (any other word: the matching one beside the
        images), or an array with one label per row.
    label_value : optional
        Take only the rows of this class. "3" matches 3 and 3.0.
    columns : sequence of str (tables) or int (arrays), optional
        The features to take, in this order. Default: every column.
    id_column : str, optional
        The column that identifies a row; it is then not a feature.
    chunk_rows : int, optional
        Rows in a chunk. Default: about 32 MB.
    missing : {"indicator", "mean", "drop", "error"}, optional
        What to do about missing values: put in the mean of the sets' means, with a feature that
        says where ("indicator", the default for tables) or without ("mean"); leave the rows out
        ("drop"); refuse them ("error", the default for arrays, images and embeddings).
    categorical, numeric, drop : sequence of str, optional
        Columns of a table that are categories whatever they look like; that are numbers (text
        that does not read as one counts as missing); that are no features.
    strict : bool
        Refuse non-numeric columns instead of encoding them.
    image_size : int or (height, width), optional
        Resize images to this. Needed when they differ in size or are larger than 128 × 128.
    image_mode : {"L", "RGB"}
        Gray or colour.
    max_bad_images : int
        This many unreadable images are left out with a warning; more are an error.
    text : str, optional
        The column of a table that holds texts: its embeddings are the rows, and no other column
        is a feature. The lines of a ``.txt`` file of prose are embedded without being asked.
    embed : path, str or callable, optional
        The model that makes rows of texts or of images: a folder, a package, an ONNX file (see
        :mod:`cospan.embedding`), or a function of a list of texts or of an array of images.
    name : str, optional
        What to call the data; default: the file's name.

    Examples
    --------
    >>> from cospan.sources import open_source
    >>> X = np.array([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0], [5.0, 6.0, 1.0]])
    >>> chunk = open_source(X, label=2, label_value=1).read()
    >>> chunk.rows
    array([[3., 4.],
           [5., 6.]])
    >>> chunk.ids
    array([1, 2])
    """
    options = Options(
        label=label,
        label_value=label_value,
        columns=_as_columns(columns),
        id_column=id_column,
        chunk_rows=chunk_rows,
        missing=missing,
        categorical=_as_names(categorical),
        numeric=_as_names(numeric),
        drop=_as_names(drop),
        strict=strict,
        image_size=(image_size, image_size) if isinstance(image_size, int) else image_size,
        image_mode=image_mode,
        max_bad_images=max_bad_images,
        text=text,
        embed=embed,
    )
    if isinstance(obj, Source):
        if options != Options():
            raise InputError(f"{obj.name} is an open source already; give the options on opening.")
        return obj
    reader = _reader(obj, options, name)
    if embed is not None and not (isinstance(reader, Reader) and reader.embedded):
        raise InputError(
            f"{name or reader.name}: there is nothing to embed, so embed= has no use; "
            f"name a column of texts with text=, or give a folder of images or a file "
            "of prose."
        )
    return Source(reader, options, name=name)


def _reader(obj: Any, options: Options, name: str | None) -> Reader | Encodable:
    """Pick the reader. The modules stay unloaded until one is needed: pyarrow takes its time."""
    import numpy as np

    from .arrays import array_reader, is_array
    from .dataframes import dataframe_reader

    if isinstance(obj, str) and obj == "-":
        from .stdin import stdin_reader

        return stdin_reader(options)
    if isinstance(obj, str | os.PathLike):
        from .files import path_reader

        return path_reader(os.fspath(obj), options)
    if hasattr(obj, "__dask_graph__"):
        if hasattr(obj, "columns"):
            from .encoding.lazy import LazyTable

            return LazyTable(obj, options, name)
        from .lazy import LazyReader

        return LazyReader(obj, options, name)
    if is_array(obj):
        return array_reader(obj, options, name or "array")
    if getattr(obj, "ndim", 0) == 1 and hasattr(obj, "to_frame"):
        raise InputError(
            f"A {type(obj).__name__} is one column and no table; to_frame() makes one of it."
        )
    table = dataframe_reader(obj, options, name)
    if table is not None:
        return table
    if isinstance(obj, list | tuple) or hasattr(obj, "__array__"):
        return array_reader(_as_array(obj, np.asarray), options, name or "array")
    raise InputError(
        f"An object of type {type(obj).__name__} cannot be read as rows; "
        "give an array, a dataframe, or the path of a file or folder."
    )


def _as_array(obj: Any, convert: Any) -> Any:
    try:
        return convert(obj)
    except ValueError as error:
        raise InputError(
            f"The {type(obj).__name__} is not a table of numbers ({error})."
        ) from error


def _as_columns(columns: Sequence[str | int] | None) -> tuple[str | int, ...] | None:
    if columns is None:
        return None
    return (columns,) if isinstance(columns, str | int) else tuple(columns)


def _as_names(columns: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(map(str, _as_columns(columns) or ()))
