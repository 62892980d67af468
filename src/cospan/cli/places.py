"""Where a command may write: never over what it reads.

An input is a file, an array in a file, everything in a folder, or everything that a pattern such
as ``part-*.csv`` stands for. An output that would replace any of it, or that would be read as part
of it the next time, is refused before the work begins.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Sequence
from pathlib import Path

from cospan._files import check_output
from cospan.cli.config import file_read
from cospan.errors import InputError
from cospan.sources.paths import split_part


def check_places(outputs: Sequence[Path | None], inputs: Sequence[str | None]) -> None:
    """No output may replace an input or another output.

    Examples
    --------
    >>> check_places([Path("report.html")], ["a.csv", "b.csv"])
    >>> check_places([Path("a.csv")], ["a.csv", "b.csv"])
    Traceback (most recent call last):
        ...
    cospan.errors.InputError: cannot write a.csv: it is an input; choose another name.
    """
    given = [text for text in (*inputs, file_read.get()) if text and "\0" not in text]
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
    if os.path.isdir(source) and place.startswith(os.path.join(source, "")):
        return f"it is inside the folder {name}, which is an input"
    pattern = Path(place).match(source) or ("**" in source and fnmatch.fnmatch(place, source))
    return f"the pattern {name}, which is an input, matches it" if pattern else None


def files_among(*names: str | None) -> list[str]:
    """Those that are files: a label may be a column's name, or a file beside the rows."""
    return [name for name in names if name and "\0" not in name and os.path.isfile(name)]
