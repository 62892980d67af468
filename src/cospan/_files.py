"""Output files appear whole or not at all.

Everything that cospan writes goes to a temporary file in the same folder first and takes its
name in one step at the end. Whatever happens in between (a full disk, Ctrl-C, a bug), an older
file of that name stays as it was and no half of a new one is left behind.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import CospanError, InputError

__all__ = ["check_output", "whole_file", "write_text"]


def check_output(path: str | os.PathLike[str]) -> Path:
    """Say early, before the long work, that a file cannot be written there.

    Examples
    --------
    >>> check_output("no/such/folder/report.html")
    Traceback (most recent call last):
        ...
    cospan.errors.InputError: cannot write no/such/folder/report.html: the folder no/such/folder \
does not exist; create it first.
    """
    target = Path(path)
    folder = target.parent
    if target.is_dir():
        raise InputError(f"cannot write {target}: it is a folder; name a file inside it.")
    if not folder.exists():
        raise InputError(
            f"cannot write {target}: the folder {folder} does not exist; create it first."
        )
    if not folder.is_dir():
        raise InputError(f"cannot write {target}: {folder} is not a folder; choose another place.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            f"cannot write {target}: no permission to write in the folder {folder.absolute()}; "
            "choose another folder or change its permissions."
        )
    return target


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path to write to; it becomes `path` if the block ends well, else it goes.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("all of it")
    >>> [file.name for file in folder.iterdir()]
    ['a.txt']
    """
    target = check_output(path)
    temporary = _temporary_beside(target)
    try:
        yield temporary
        _flush_to_disk(temporary)
        os.replace(temporary, target)
    except OSError as error:
        # an error about another file (an input that vanished) must not read as "cannot write"
        if error.filename is not None and not _is_ours(error.filename, temporary, target):
            raise
        raise CospanError(
            f"cannot write {target}: {error.strerror or error}; nothing was left behind."
        ) from error
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write text as UTF-8, whole or not at all, and return the path."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)


def _temporary_beside(target: Path) -> Path:
    """An empty file in the target's folder, with its suffix and permissions, or the usual ones."""
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{target.stem[:40]}-", suffix=f".part{target.suffix}", dir=target.parent
        )
    except OSError as error:
        raise CospanError(
            f"cannot write {target}: {error.strerror or error}; choose another folder."
        ) from error
    os.close(handle)
    with suppress(OSError):  # mkstemp makes files private; some file systems have no modes
        os.chmod(name, _permissions(target))
    return Path(name)


def _permissions(target: Path) -> int:
    """Those of the file to be replaced (a private one stays private), else what umask grants."""
    with suppress(FileNotFoundError):
        return target.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def _flush_to_disk(path: Path) -> None:
    """A rename that survives a power cut needs the contents on the disk before it."""
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())


def _is_ours(filename: object, *paths: Path) -> bool:
    return isinstance(filename, str) and Path(filename) in paths
