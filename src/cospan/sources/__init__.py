"""Anything becomes rows in chunks, with feature names and row identifiers.

>>> import numpy as np
>>> from cospan.sources import open_source
>>> source = open_source(np.arange(6).reshape(3, 2), chunk_rows=2)
>>> [chunk.rows.shape for chunk in source.chunks()]
[(2, 2), (1, 2)]

The way of the data: :func:`open_source` looks at what it was given and picks a *reader* (arrays,
dataframes, columnar files, NumPy files, containers, images, IDX, standard input); the reader gives
raw blocks; the :class:`Source` takes out the class asked for, deals with missing values, refuses
infinities and hands out float chunks of even size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import Chunk, Options, Source

__all__ = ["Chunk", "Source", "check_same_features", "open_source"]


def open_source(
    obj: Any,
    *,
    label: Any = None,
    label_value: Any = None,
    columns: Sequence[str | int] | None = None,
    id_column: str | None = None,
    chunk_rows: int | None = None,
    missing: str = "error",
    strict: bool = False,
    image_size: int | tuple[int, int] | None = None,
    image_mode: str = "L",
    max_bad_images: int = 10,
    name: str | None = None,
) -> Source:
    """Open anything as rows in chunks.

    Parameters
    ----------
    obj : array, dataframe, path or "-"
        An array in memory (NumPy, torch, any array-API array, SciPy sparse), any dataframe that
        narwhals or Arrow understands, a Source (returned as it is), the path of a file or folder
        (``.npy .npz .csv .tsv .parquet .arrow .feather .safetensors .zarr .h5``, IDX, images,
        Hugging Face datasets saved to disk), ``"file::part"`` for one array of a container,
        or ``"-"`` for CSV or NPY on standard input.
    label : str, int or array, optional
        Where the classes stand: a column's name (tables), a column's number (plain arrays), the
        name of another array in the same file (npz, HDF5, Zarr, safetensors), ``"folder"`` for
        image folders, the labels file for IDX (any other word: the matching one beside the
        images), or an array with one label a row.
    label_value : optional
        Take only the rows of this class. "3" matches 3 and 3.0.
    columns : sequence of str (tables) or int (arrays), optional
        The features to take, in this order. Default: every numeric column.
    id_column : str, optional
        The column that identifies a row; it is no feature then.
    chunk_rows : int, optional
        Rows in a chunk. Default: about 32 MB.
    missing : {"error", "drop", "mean"}
        What to do about missing values. "mean" puts in the mean of the column's other values
        among the rows taken, which costs one more pass over the data.
    strict : bool
        Refuse non-numeric columns instead of leaving them out with a warning.
    image_size : int or (height, width), optional
        Resize images to this. Needed when they differ in size or are larger than 128 × 128.
    image_mode : {"L", "RGB"}
        Gray or colour.
    max_bad_images : int
        This many unreadable images are left out with a warning; more are an error.
    name : str, optional
        What to call the data; default: the file's name.

    Returns
    -------
    Source

    Examples
    --------
    >>> import numpy as np
    >>> from cospan.sources import open_source
    >>> X = np.array([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0], [5.0, 6.0, 1.0]])
    >>> chunk = open_source(X, label=2, label_value=1).read()
    >>> chunk.rows
    array([[3., 4.],
           [5., 6.]])
    >>> chunk.ids
    array([1, 2])
    """
    raise NotImplementedError


def check_same_features(a: Source, b: Source) -> Source:
    """Make sure that two sources have the same features; give `b` in the order of `a`.

    Returns
    -------
    Source
        `b` itself, or `b` with its columns in the order of `a` when both name the same features
        in another order.

    Raises
    ------
    InputError
        When the features differ; the message lists those only in `a` and only in `b`.
    """
    raise NotImplementedError
