"""Output files appear whole or not at all.

Everything that cospan writes goes to a temporary file in the same folder first and takes its
name in one step at the end. Whatever happens in between (a full disk, Ctrl-C, a bug), an older
file of that name stays as it was and no half of a new one is left behind; what a killed run leaves
is removed by the next one that writes in that folder.

A name that stands for a device or for the process's own output (``/dev/stdout``, ``/dev/null``,
``/dev/fd/3``) is written to at the end, never replaced; other things that are not regular files
(named pipes, sockets, disks) are refused.
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from zlib import crc32

from cospan.errors import CospanError, InputError

# Letters of a file's name that its temporary name repeats: names end at 255 bytes.
LONGEST_STEM = 40
#: Some letters for the machine, as a folder may be shared by several.
_MACHINE = f"{crc32(platform.node().encode()):08x}"
#: Names of what the process has open already, by number.
_OPEN = re.compile(r"/(?:dev|proc/self)/fd/(\d+)|/dev/(stdin|stdout|stderr)")


def check_output(path: str | os.PathLike[str]) -> Path:
    """Say early, before the long work, that a file cannot be written there.

    >>> check_output("no/such/folder/report.html")
    Traceback (most recent call last):
        ...
    cospan.errors.InputError: cannot write no/such/folder/report.html: the folder no/such/folder \
does not exist; create it first.
    """
    target, wrong = Path(path), None
    folder = target.parent
    if target.is_dir():
        wrong = "it is a folder; name a file inside it"
    elif _is_stream(target):
        return target
    elif _is_special(target):
        wrong = "it is not a regular file and would be replaced by one; choose another name"
    elif not folder.exists():
        wrong = f"the folder {folder} does not exist; create it first"
    elif not folder.is_dir():
        wrong = f"{folder} is not a folder; choose another place"
    elif not os.access(folder, os.W_OK | os.X_OK):
        wrong = f"no permission to write in the folder {folder.absolute()}; choose another folder"
    if wrong is not None:
        raise InputError(f"cannot write {target}: {wrong}.")
    return target


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path to write to; it becomes `path` if the block ends well, else it goes.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("all of it")
    >>> [file.name for file in folder.iterdir()]
    ['a.txt']
    """
    target = check_output(path)
    temporary = _temporary_for(target)
    try:
        yield temporary
        if _is_stream(target):
            _copy_into(target, temporary)
        else:
            with temporary.open("rb+") as stream:
                os.fsync(stream.fileno())  # a rename survives a power cut only after its contents
            os.replace(temporary, target)
    except OSError as error:
        # an error about another file (an input that vanished) must not read as "cannot write"
        if error.filename is not None and Path(str(error.filename)) not in (temporary, target):
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


def _is_stream(target: Path) -> bool:
    """Whether the name stands for something that takes bytes as they come."""
    place = os.path.abspath(target)
    if _OPEN.fullmatch(place):
        return target.exists()
    return place.startswith("/dev/") and target.is_char_device()


def _is_special(target: Path) -> bool:
    """A link is replaced, not followed, so what counts is what the name itself is."""
    try:
        mode = target.lstat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode))


def _temporary_for(target: Path) -> Path:
    """A new empty file beside the target, with its suffix, and permissions where it is replaced."""
    stream, old = _is_stream(target), None
    if not stream:
        with suppress(OSError):
            old = target.stat().st_mode & 0o777  # a private file stays private
    folder = Path(tempfile.gettempdir()) if stream else target.parent
    _remove_left_over(folder)
    whose = f"{_MACHINE}-{os.getpid()}-{secrets.token_hex(8)}"  # a name that nobody has
    name = f".{target.stem[:LONGEST_STEM]}-{whose}.part{target.suffix}"
    mode = 0o600 if stream or old is not None else 0o666
    try:
        os.close(os.open(folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    except OSError as error:
        raise CospanError(
            f"cannot write {target}: {error.strerror or error}; choose another folder."
        ) from error
    if old is not None:
        with suppress(OSError):  # some file systems have no modes
            (folder / name).chmod(old)
    return folder / name


def _remove_left_over(folder: Path) -> None:
    """Remove temporary files of runs on this machine that were killed before they could."""
    for file in folder.glob(f".*-{_MACHINE}-*.part*") if os.name == "posix" else ():
        pid = file.name.rpartition(f"-{_MACHINE}-")[2].partition("-")[0]
        try:
            os.kill(int(pid), 0)  # asks whether it runs (elsewhere than on POSIX it would end it)
        except ProcessLookupError:
            with suppress(OSError):  # another run may be quicker
                file.unlink()
        except (OSError, ValueError, OverflowError):
            pass


def _copy_into(target: Path, temporary: Path) -> None:
    """What is open already is written on, not opened again, which would begin at its front."""
    named = _OPEN.fullmatch(os.path.abspath(target))
    if named is None:
        handle = os.open(target, os.O_WRONLY)
    else:
        handle = os.dup(int(named[1] or {"stdin": 0, "stdout": 1, "stderr": 2}[named[2]]))
    with temporary.open("rb") as source, os.fdopen(handle, "wb") as stream:
        shutil.copyfileobj(source, stream)
