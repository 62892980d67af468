"""Paths: what lies there by its name and first bytes, and plain words when it cannot be read."""

from __future__ import annotations

import difflib
import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cospan.base.text import first_line
from cospan.errors import CospanError, SourceError

#: First bytes of what is read here.
MAGIC = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow",
    b"\x93NUMPY": "NPY",
    b"PK\x03\x04": "NPZ",
    b"PK\x05\x06": "NPZ",
    **{bytes((0, 0, kind)): "IDX" for kind in (8, 9, 11, 12, 13, 14)},
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
}
#: What a file with this ending must begin like.
FORMATS = {
    **dict.fromkeys((".parquet", ".pq"), "Parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc", ".arrows"), "Arrow"),
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), "text"),
    ".npy": "NPY",
    ".npz": "NPZ",
}
PACKED = {".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd"}
ENDING = re.compile(
    rf"(?i)({'|'.join(map(re.escape, FORMATS))})({'|'.join(map(re.escape, PACKED))})?$"
)
IMAGE_SUFFIXES = frozenset(
    (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm")
)
STDIN = "standard input"
READABLE = "CSV, Parquet, Arrow, NPY, NPZ, IDX, or a folder of these or of images"


def split_part(text: str) -> tuple[Path, str | None]:
    """``"file.npz::name"`` into the file and the name of the array in it."""
    path, mark, part = text.rpartition("::")
    if mark and path and not Path(text).exists():
        return Path(path).expanduser(), part
    return Path(text).expanduser(), None


def suffix_of(path: Path) -> str:
    """The ending of a file, of a packed one that of what is packed."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in PACKED else suffix


def set_names(names: Sequence[str]) -> list[str]:
    """What sets are called after their files: without the ending, where they differ without it.

    >>> set_names(["july.csv", "january.csv.gz"]), set_names(["x.csv", "x.parquet"])
    (['july', 'january'], ['x.csv', 'x.parquet'])
    """
    stems = [ENDING.sub("", name) or name for name in names]
    return stems if len(set(stems)) == len(names) else list(names)


def check_readable(path: Path) -> None:
    """Say in one sentence why `path` cannot be opened, if it cannot."""
    if "\0" in str(path):
        raise SourceError(f"{str(path)!r}: a path cannot hold a null character; check the name.")
    try:
        status = path.stat()
    except FileNotFoundError:
        parent = path.parent
        if not parent.is_dir():
            raise SourceError(f"{path}: there is no folder {parent} on this machine.") from None
        near = difflib.get_close_matches(path.name, os.listdir(parent), n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise SourceError(f"{path}: there is no such file or folder.{hint}") from None
    except OSError as error:
        raise SourceError(f"{path}: {_reason(error)}.") from None
    if not os.access(path, os.R_OK):
        raise SourceError(f"{path}: you have no permission to read it.")
    if path.is_file() and status.st_size == 0:
        raise SourceError(f"{path}: the file is empty.")
    if not path.is_file() and not path.is_dir():
        raise SourceError(f"{path}: is neither a file nor a folder; use '-' for standard input.")


@contextmanager
def reading(path: Path | str, kind: str) -> Iterator[None]:
    """Turn what goes wrong inside other libraries into one sentence about the file."""
    try:
        yield
    except (CospanError, Warning):
        raise
    except MemoryError as error:
        raise SourceError(
            f"{path}: does not fit into the memory there is; take fewer columns with columns=, or "
            "save it in smaller pieces."
        ) from error
    except Exception as error:
        # A damaged file can make a library fail in any way; each is said of the file.
        reason = f"cannot be read as {kind} ({first_line(error)})"
        if isinstance(error, OSError) and error.errno:
            reason = _reason(error)
        raise SourceError(f"{path}: {reason}.") from error


def sniff(path: Path) -> str:
    """What the first bytes say about a file; "text" where they say nothing."""
    with reading(path, "a file"), path.open("rb") as stream:
        head = stream.read(16)
    return next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), "text")


def kind_of(path: Path) -> str:
    """The file's format by its ending, with which the first bytes must agree; else by these."""
    suffix, content = suffix_of(path), sniff(path)
    if suffix in FORMATS:
        packed = PACKED.get(path.suffix.lower())
        wanted = packed if packed and FORMATS[suffix] == "text" else FORMATS[suffix]
        if content != wanted:
            raise SourceError(
                f"{path}: does not begin like {wanted}; it is damaged or has the wrong ending."
            )
        return FORMATS[suffix]
    # Other formats are zip files, too.
    if content in ("Parquet", "Arrow", "NPY") or (content == "NPZ" and not suffix):
        return content
    raise SourceError(f"{path}: is none of {READABLE}; save it as one of these.")


def files_below(folder: Path) -> Iterator[Path]:
    """Every file in `folder` and below, sorted; links are followed, loops are not."""

    def refused(error: OSError) -> None:
        raise SourceError(f"{error.filename}: {_reason(error)}; it is part of the folder to read.")

    seen: set[tuple[int, int]] = set()
    for place, folders, files in os.walk(folder, followlinks=True, onerror=refused):
        status = os.stat(place)
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        for name in sorted(files):
            file = Path(place, name)
            # A named pipe or a device among the files would be waited for without end. A link
            # that leads nowhere counts: to leave it out in silence hides a loss.
            if not name.startswith((".", "_")) and (file.is_file() or not file.exists()):
                yield file


def _reason(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "its symbolic links run in a circle"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "you have no permission to read it"
    return (error.strerror or str(error)).lower().rstrip(".")
