"""Paths: what lies there by its name and first bytes, and plain words when it cannot be read."""

from __future__ import annotations

import difflib
import errno
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cospan.base.text import first_line
from cospan.errors import CospanError, SourceError

#: First bytes of the formats read here (and of some that users try).
MAGIC = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow",
    b"\x93NUMPY": "NPY",
    b"PK\x03\x04": "zip (NPZ)",
    b"PK\x05\x06": "zip (NPZ)",
    b"\x89HDF": "HDF5",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"FEA1": "Feather version 1",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"%PDF": "PDF",
    b"\x80\x04": "pickle",
    b"\x80\x05": "pickle",
    b"SQLite format 3": "SQLite",
}
#: What files of data end with.
ENDING = re.compile(
    r"(?i)\.(csv|tsv|tab|txt|parquet|pq|arrow|feather|ipc|arrows|npy|npz)(\.(gz|bz2|xz|zst))?$"
)
#: A web or cloud address; Path has made one slash of the two.
URL = re.compile(r"(?i)(https?|ftp|s3|gs|gcs|hf|abfss?|az|hdfs):/")


def split_part(text: str) -> tuple[Path, str | None]:
    """``"file.npz::name"`` into the file and the name of the array in it."""
    path, mark, part = text.rpartition("::")
    if mark and path:
        return Path(path).expanduser(), part
    return Path(text).expanduser(), None


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
        raise SourceError(_not_there(path)) from None
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
    from zipfile import BadZipFile

    try:
        yield
    except (CospanError, Warning):
        raise
    except MemoryError as error:
        raise SourceError(
            f"{path}: does not fit into the memory there is; take fewer columns with columns=, or "
            "save it in smaller pieces."
        ) from error
    except (EOFError, zlib.error, BadZipFile) as error:
        raise SourceError(f"{path}: is damaged or cut short ({first_line(error)}).") from error
    except OSError as error:
        reason = (
            _reason(error) if error.errno else f"cannot be read as {kind} ({first_line(error)})"
        )
        raise SourceError(f"{path}: {reason}.") from error
    except Exception as error:
        # A damaged file can make a library fail in any way; each is said of the file.
        raise SourceError(f"{path}: cannot be read as {kind} ({first_line(error)}).") from error


def sniff(path: Path) -> str | None:
    """What the first bytes say about a file."""
    with reading(path, "a file"), path.open("rb") as stream:
        head = stream.read(16)
    for magic, kind in MAGIC.items():
        if head.startswith(magic):
            return kind
    if len(head) >= 4 and head[:2] == b"\0\0" and head[2] in (8, 9, 11, 12, 13, 14):
        return "IDX"
    return None


def files_below(folder: Path) -> Iterator[Path]:
    """Every file in `folder` and below, sorted; links are followed, loops are not."""
    for place, files in folders_below(folder, hidden=(".", "__")):
        for name in files:
            file = place / name
            # A named pipe or a device among the files would be waited for without end. A link
            # that leads nowhere counts: to leave it out in silence hides a loss.
            if not name.startswith((".", "_")) and (file.is_file() or not file.exists()):
                yield file


def folders_below(folder: Path, hidden: tuple[str, ...] = ()) -> Iterator[tuple[Path, list[str]]]:
    """`folder` and each folder below it, once, with the sorted names of its files."""
    seen: set[tuple[int, int]] = set()
    for place, folders, files in os.walk(folder, followlinks=True, onerror=_refuse_folder):
        status = os.stat(place)
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith(hidden or "\0"))
        yield Path(place), sorted(files)


def _refuse_folder(error: OSError) -> None:
    """A subfolder that is passed over in silence would be missing from the result."""
    raise SourceError(f"{error.filename}: {_reason(error)}; it is part of the folder to read.")


def _not_there(path: Path) -> str:
    parent = path.parent
    if URL.match(str(path)):
        return f"{path}: is not a file here; cospan reads local files only, so download it first."
    if not parent.is_dir():
        return f"{path}: there is no folder {parent}."
    near = difflib.get_close_matches(path.name, os.listdir(parent), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{path}: there is no such file or folder.{hint}"


def _reason(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "its symbolic links run in a circle"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "you have no permission to read it"
    return (error.strerror or str(error)).lower().rstrip(".")
