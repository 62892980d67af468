"""Where a command may write: never over what it reads.

An input is a file, an array in a file, everything in a folder, or everything that a pattern such
as ``part-*.csv`` stands for, by whichever name: links of both kinds are followed. An output that
would replace any of it, or that would be read as part of it the next time, is refused before the
work begins.
"""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from cospan.base.files import check_output
from cospan.data import folders_below, split_part
from cospan.errors import InputError


def check_places(outputs: Sequence[Path | None], inputs: Sequence[str | None]) -> None:
    """No output may replace an input or another output.

    >>> check_places([Path("report.html")], ["a.csv", "b.csv"])
    >>> check_places([Path("a.csv")], ["a.csv", "b.csv"])
    Traceback (most recent call last):
        ...
    cospan.errors.InputError: cannot write a.csv: it is an input; choose another name.
    """
    given = [text for text in inputs if text and "\0" not in text]
    named = {name for text in given for name in (text, str(split_part(text)[0]))}
    taken: dict[str, str] = {}
    for path in outputs:
        if path is None:
            continue
        check_output(path)
        place = os.path.realpath(path)
        reason = taken.get(place) or next(filter(None, (_conflict(place, n) for n in named)), None)
        if reason is not None:
            raise InputError(f"cannot write {path}: {reason}; choose another name.")
        if Path(place).exists() and not Path(place).is_file():
            continue  # several things may go to the same stream
        taken[place] = "another output goes there"


def _conflict(place: str, name: str) -> str | None:
    """Why a file at `place` would be in the way of the input called `name`."""
    source = os.path.realpath(name)
    if place == source:
        return "it is an input"
    if os.path.isdir(source):
        return _conflict_with_folder(place, source, name)
    pattern = Path(place).match(source) or ("**" in source and fnmatch.fnmatch(place, source))
    if pattern:
        return f"the pattern {name}, which is an input, matches it"
    there = [name] if os.path.exists(name) else glob.iglob(name, recursive=True)
    same = _same_file(place, there)
    return f"it is the same file as the input {same}" if same is not None else None


def _conflict_with_folder(place: str, folder: str, name: str) -> str | None:
    """The same for a folder: what its links lead to belongs to it."""
    reached = list(folders_below(Path(folder)))
    inside = any(place.startswith(os.path.join(os.path.realpath(f), "")) for f, _ in reached)
    if inside or place.startswith(os.path.join(folder, "")):
        return f"it is inside the folder {name}, which is an input"
    same = _same_file(place, (str(f / file) for f, files in reached for file in files))
    return f"it is the same file as {same} in a folder that is an input" if same else None


def _same_file(place: str, names: Iterator[str] | Sequence[str]) -> str | None:
    """The first of the names that a link of either kind makes another name of `place`."""
    own = _identity(place)
    if own is None:
        return next((name for name in names if os.path.realpath(name) == place), None)
    return next((name for name in names if _identity(name) == own), None)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def files_among(*names: str | None) -> list[str]:
    """Those that are files: a label may be a column's name, or a file beside the rows."""
    return [name for name in names if name and "\0" not in name and os.path.isfile(name)]
