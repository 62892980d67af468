"""From a path to the reader that understands what lies there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cospan._packages import needed
from cospan.errors import InputError, SourceError

from .base import Options, Reader, TableStream, listing
from .budget import FREE_FEATURES, check_features
from .columnar import ArrowFiles, ParquetFiles, saved_dataset
from .containers import hdf5_reader, safetensors_reader, zarr_reader
from .encoding.table import EncodableTable, table_reader
from .idx import idx_reader, is_idx
from .images import IMAGE_SUFFIXES, ImageReader
from .numpy_files import npy_reader, npz_reader
from .paths import check_readable, files_below, reading, sniff, split_part
from .text import TextFiles

PARQUET = frozenset((".parquet", ".pq"))
ARROW = frozenset((".arrow", ".feather", ".ipc", ".arrows"))
TEXT = frozenset((".csv", ".tsv", ".tab", ".txt"))
HDF5 = frozenset((".h5", ".hdf5", ".hdf"))
PACKED = frozenset((".gz", ".bz2", ".zst"))
#: What a file with this ending must begin like.
EXPECTED = {
    **dict.fromkeys(PARQUET, ("Parquet",)),
    **dict.fromkeys(ARROW, ("Arrow", "Arrow stream")),
    **dict.fromkeys(HDF5, ("HDF5",)),
    **dict.fromkeys(TEXT, (None,)),
    ".npy": ("NPY",),
    ".npz": ("zip (NPZ)",),
}
#: Formats that can be recognised by their first bytes when the ending says nothing.
BY_CONTENT = {
    "Parquet": ".parquet",
    "Arrow": ".arrow",
    "Arrow stream": ".arrow",
    "HDF5": ".h5",
    "NPY": ".npy",
    "zip (NPZ)": ".npz",
}
#: Formats that users try, and what they can do instead.
_SHEET = "is a spreadsheet; save the sheet as CSV or Parquet"
_CHECKPOINT = "is a file of PyTorch, which can run code when loaded; save it as safetensors or NPY"
_JSON = "is JSON; save it as a table, CSV or Parquet"
_KEPT = (
    "is not data but what cospan keeps of it, for compare and monitor; name the data that it was "
    "made from"
)
CONVERTIBLE = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods"), _SHEET),
    **dict.fromkeys((".pt", ".pth", ".ckpt"), _CHECKPOINT),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), _JSON),
    ".cospan": _KEPT,
}
READABLE = "CSV, Parquet, Arrow, NPY, NPZ, safetensors, HDF5, Zarr, IDX, or a folder of images"


def path_reader(text: str, options: Options) -> Reader | EncodableTable:
    """The reader for a file or folder, or for one array of a file (``file::part``)."""
    path, part = split_part(text)
    if part is not None and not path.exists() and Path(text).exists():
        path, part = Path(text), None
    check_readable(path)
    reader = _folder(path, part, options) if path.is_dir() else _file(path, part, options)
    # Of a table the schema tells the columns; what they hold is checked where it is read.
    features = getattr(reader, "n_features", 0)
    if features > FREE_FEATURES:  # only then is it worth to look at every file
        files = files_below(path) if path.is_dir() else [path]
        stored = sum(file.stat().st_size for file in files)
        check_features(text, features, stored)
    return reader


def _file(path: Path, part: str | None, options: Options) -> Reader | EncodableTable:
    if is_idx(path):
        return idx_reader(path, options)
    kind = _kind(path)
    if kind == ".npz":
        return npz_reader(path, part, options)
    if kind == ".safetensors":
        return safetensors_reader(path, part, options)
    if kind in HDF5:
        return hdf5_reader(path, part, options)
    if part is not None:
        raise InputError(f"{path}: holds one table or array and has no part {part!r}.")
    if kind == ".npy":
        return npy_reader(path, options)
    if kind in IMAGE_SUFFIXES:
        raise SourceError(f"{path}: is a single image; give the folder that holds the images.")
    if kind == ".txt" and options.text is None and _prose(path):
        return _lines([path], path, options)
    return table_reader(_table([path], path, kind, options), options)


def _folder(path: Path, part: str | None, options: Options) -> Reader | EncodableTable:
    if any((path / marker).is_file() for marker in ("zarr.json", ".zarray", ".zgroup")):
        return zarr_reader(path, part, options)
    saved = saved_dataset(path, part) if _have_arrow() else None
    if saved is not None:
        return table_reader(saved, options)
    if part is not None:
        raise InputError(f"{path}: is a folder and has no part {part!r}.")
    with reading(path, "a folder"):
        files = list(files_below(path))
    images = [file for file in files if file.suffix.lower() in IMAGE_SUFFIXES]
    tables = [file for file in files if _suffix(file) in PARQUET | ARROW | TEXT]
    if len(images) > len(tables):
        return _images(path, images, options)
    _refuse_mixture(path, files, images, tables)
    for file in tables:
        check_readable(file)
        _kind(file)
    if options.text is None and all(_suffix(f) == ".txt" and _prose(f) for f in tables):
        return _lines(tables, path, options)
    return table_reader(_table(tables, path, _suffix(tables[0]), options), options)


def _images(path: Path, images: list[Path], options: Options) -> Reader:
    if options.embed is None:
        return ImageReader(path, images, options)
    from .embedded import EmbeddedImages

    return EmbeddedImages(path, images, options)


def _prose(path: Path) -> bool:
    from .embedded import is_prose

    return is_prose(path)


def _lines(files: list[Path], path: Path, options: Options) -> Reader | EncodableTable:
    """Files of prose: one text in each line."""
    from .embedded import LINE, Lines

    return table_reader(Lines(files, path.name), replace(options, text=LINE))


def _refuse_mixture(path: Path, files: list[Path], images: list[Path], tables: list[Path]) -> None:
    """A folder of tables holds tables of one kind."""
    if not tables:
        raise SourceError(
            f"{path}: holds no images and no CSV, Parquet or Arrow files"
            + (f" (only {listing([file.name for file in files], 3)})." if files else ".")
        )
    kinds = {kind for kind in (PARQUET, ARROW, TEXT) if any(_suffix(f) in kind for f in tables)}
    if len(kinds) > 1 or images:
        endings = sorted({_suffix(file) for file in [*tables, *images]})
        raise SourceError(
            f"{path}: mixes files of different kinds ({listing(endings)}); give a folder with one "
            "kind, or one file."
        )


def _table(files: Sequence[Path], root: Path, kind: str, options: Options) -> TableStream:
    with needed(f"{root}: reading tables"):
        import pyarrow  # noqa: F401 - only whether it is there
    if kind in PARQUET:
        return ParquetFiles(files, root)
    if kind in ARROW:
        return ArrowFiles(files, root)
    keep = [x for x in (options.label, options.id_column) if isinstance(x, str | int)]
    return TextFiles(files, root.name or str(root), keep, as_text=options.categorical)


def _kind(path: Path) -> str:
    """The ending that stands for the file's format; the first bytes must agree with it."""
    suffix, content = _suffix(path), sniff(path)
    if suffix in EXPECTED:
        packed = suffix in TEXT and path.suffix.lower() in PACKED
        if content not in EXPECTED[suffix] and not packed:
            raise SourceError(_contradiction(path, suffix, content))
        return suffix
    if suffix == ".safetensors" or suffix in IMAGE_SUFFIXES:
        return suffix
    if suffix in CONVERTIBLE:  # before the first bytes: many formats are zip files
        raise SourceError(f"{path}: {CONVERTIBLE[suffix]}.")
    if content in BY_CONTENT:
        return BY_CONTENT[content]
    what = f"begins like {content}" if content else f"has the ending {path.suffix!r}"
    raise SourceError(f"{path}: {what}, which is none of {READABLE}.")


def _contradiction(path: Path, suffix: str, content: str | None) -> str:
    wanted = next((kind for kind in EXPECTED[suffix] if kind), "text")
    if content is None:
        return f"{path}: does not begin like {wanted}; it is damaged or something else."
    return f"{path}: begins like {content} and not like {wanted}; give it the right ending."


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix in PACKED:
        suffix = Path(path.stem).suffix.lower()
    return suffix


def _have_arrow() -> bool:
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None
