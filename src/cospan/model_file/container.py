"""Files of settings and arrays: safetensors, with a format version and a digest in the header.

The header holds one JSON text with the settings and a SHA-256 digest of them and of the arrays, so
that any damage is seen before anything is used. And reading trusts nothing: every entry is asked
for by name and checked for its kind, range and shape, so that a file that is not a model gives one
clear error and never a half-built object.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from cospan._version import VERSION
from cospan.base.files import whole_file
from cospan.base.text import printable
from cospan.base.types import Data, Floats, Record, Values
from cospan.errors import InputError, ModelFileError

#: What the file of a reference is called in its header, and its format.
PROFILE, PROFILE_VERSION = "cospan profile", 5
# The name of our text in the header, and the bytes of the header's length, which comes first.
_ENTRY, _LENGTH_BYTES = "cospan", 8
# A header above this is not ours: names of a million features take less.
_MAX_HEADER = 2**27
_NOT_OURS = "This is not a cospan model file, or a damaged one."
Made = TypeVar("Made")


class Parts(NamedTuple):
    """A model as it is written: settings as JSON values, arrays by name."""

    settings: Record
    tensors: dict[str, Values]

    def inside(self, name: str) -> Parts:
        """The same as a part of another model, which calls it by this name."""
        return Parts({name: self.settings}, {f"{name}.{k}": v for k, v in self.tensors.items()})

    def __or__(self, other: Parts) -> Parts:
        return Parts(self.settings | other.settings, self.tensors | other.tensors)


class Reader:
    """Asks for entries of a file by name, and refuses those that are not what they should be."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        tensors: Mapping[str, Values],
        lengths: dict[str, int] | None = None,
    ) -> None:
        self.settings = settings
        self.tensors = tensors
        self.lengths = {} if lengths is None else lengths  # that shapes have named so far

    def section(self, name: str) -> Reader:
        """What the file holds of a model inside the model."""
        start = name + "."
        inside = {k.removeprefix(start): v for k, v in self.tensors.items() if k.startswith(start)}
        return Reader(self.value(name, dict), inside, self.lengths)

    def has(self, name: str) -> bool:
        """Whether there is such an entry."""
        return name in self.settings or name in self.tensors

    def value(self, name: str, *kinds: type) -> Any:
        """A setting of one of these kinds."""
        if type(self.settings.get(name)) not in kinds:
            raise unfit(name)
        return self.settings.get(name)

    def tensor(self, name: str, *shape: int | str) -> Floats:
        """A finite float64 tensor; a letter in the shape stands for one length, "*" for any."""
        found = self.tensors.get(name, np.zeros(0, dtype=bool))
        fits = len(found.shape) == len(shape) and all(map(self.fits, shape, found.shape))
        if not fits or found.dtype != np.float64 or not np.isfinite(found).all():
            raise unfit(name)
        return found

    def fits(self, want: int | str, have: int) -> bool:
        """Whether this is the length that was asked for, or the letter's so far."""
        if isinstance(want, str) and want != "*":
            want = self.lengths.setdefault(want, have)
        return want in ("*", have)

    def whole(self, name: str, least: int = -(2**62), below: int = 2**62) -> NDArray[np.int64]:
        """One dimension of whole numbers within a range."""
        found = self.tensors.get(name, np.zeros(0, dtype=bool))
        in_range = found.dtype == np.int64 and not np.any((found < least) | (found >= below))
        if found.ndim != 1 or not in_range:
            raise unfit(name)
        return found


def unfit(name: str) -> ModelFileError:
    """The error of an entry that is not there, or is not what it should be."""
    return ModelFileError(
        f"The file's entry {name!r} is missing, or not of its kind, shape or range; save it again."
    )


# ---- whole files -------------------------------------------------------------------------------


def packed(parts: Parts, kind: str, version: int) -> bytes:
    """Settings and arrays as the bytes of a file of this kind; the same parts, the same bytes."""
    about = {"format": kind, "version": version, "settings": parts.settings}
    whole = about | {"sha256": _digest(about, parts.tensors), "written_by": f"cospan {VERSION}"}
    return bytes(write_tensors(parts.tensors, {_ENTRY: json.dumps(whole, sort_keys=True)}))


def unpacked(data: bytes, kind: str, version: int) -> Parts:
    """Settings and arrays of a file of this kind and format version, its digest checked."""
    end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    if not _LENGTH_BYTES < end <= len(data):
        raise ModelFileError("This is not a cospan model file, or only the beginning of one.")
    about = _about(data[_LENGTH_BYTES:end])
    if about["format"] != kind:
        written = printable(about["format"], 40)
        raise ModelFileError(f"This is a {written} file, not a {kind} file.")
    if about["version"] != version:
        raise ModelFileError(
            f"The file has format version {printable(about['version'], 20)} and this cospan reads "
            f"version {version}; make the file again with this cospan."
        )
    try:
        tensors = read_tensors(data)
        content = {name: about[name] for name in ("format", "version", "settings")}
        undamaged = _digest(content, tensors) == about["sha256"]
    except (ValueError, KeyError, SafetensorError, RecursionError):
        raise ModelFileError(_NOT_OURS) from None
    if not undamaged or not isinstance(about["settings"], dict):
        raise ModelFileError("The file is damaged: its contents do not match its digest.")
    return Parts(about["settings"], tensors)


def _about(header: bytes) -> Record:
    """What the header says of one of our files."""
    try:
        metadata = json.loads(header.decode())["__metadata__"]
        if _ENTRY not in metadata:
            raise ModelFileError("This safetensors file was not written by cospan.")
        found = json.loads(metadata[_ENTRY])
        return {name: found[name] for name in ("format", "version", "settings", "sha256")}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError(_NOT_OURS) from None


def _digest(about: Mapping[str, object], tensors: Mapping[str, Values]) -> str:
    whole = hashlib.sha256(json.dumps(about, allow_nan=False, sort_keys=True).encode())
    for name, array in sorted(tensors.items()):
        whole.update(f"{name} {array.dtype} {array.shape}".encode())
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()


def row_tensors(rows: Data) -> dict[str, Values]:
    """Rows as they came, a table or an array, as arrays of a file."""
    if isinstance(rows, np.ndarray):
        return {"rows": np.ascontiguousarray(rows, dtype=np.float64)}
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return {"table": np.frombuffer(sink.getvalue(), dtype=np.uint8)}


def rows_in(tensors: Mapping[str, Values]) -> Data:
    """The rows that :func:`row_tensors` wrote."""
    if "rows" in tensors:
        return tensors["rows"]
    import pyarrow as pa

    try:
        return pa.ipc.open_stream(pa.py_buffer(tensors["table"])).read_all()
    except (KeyError, pa.ArrowInvalid, OSError):
        raise ModelFileError("The file's rows cannot be read; make it again.") from None


def profile_rows(path: str | os.PathLike[str]) -> tuple[str, str, Data]:
    """The name of a reference, its column of times, and the rows that its profile keeps."""
    return read_parts(
        path,
        (PROFILE, PROFILE_VERSION),
        lambda read: (read.value("name", str), read.value("time", str), rows_in(read.tensors)),
    )


def write_parts(path: str | os.PathLike[str], kind: tuple[str, int], parts: Parts) -> Path:
    """Write settings and arrays to a file of this kind and version, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_bytes(packed(parts, *kind))
    return Path(path)


def read_parts(
    path: str | os.PathLike[str], kind: tuple[str, int], made: Callable[[Reader], Made]
) -> Made:
    """What a file of this kind and version holds; errors name the file."""
    try:
        return made(Reader(*unpacked(_file_bytes(Path(path)), *kind)))
    except (ModelFileError, InputError) as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(
            f"{os.fspath(path)}: The file is damaged: its parts do not fit."
        ) from error


def _file_bytes(path: Path) -> bytes:
    """The bytes of a regular file: a pipe would be waited for, a device would never end."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise ModelFileError("Cannot read it: it is not a regular file.")
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"Cannot read it: {reason}.") from error


def is_file_of(path: str | os.PathLike[str], kind: str) -> bool:
    """Whether a file's header says that it is one of ours of this kind; the rest is not read."""
    try:
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as stream:
            length = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
            return length < _MAX_HEADER and _about(stream.read(length))["format"] == kind
    except (OSError, ValueError, ModelFileError):
        return False
