"""A model file as bytes: safetensors, with a format version and a digest in its header.

The header holds one JSON text with the settings and a SHA-256 digest of them and of the arrays, so
that any damage is seen before anything is used.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from cospan._version import VERSION
from cospan.base.files import check_output, whole_file
from cospan.base.text import printable
from cospan.errors import ModelFileError
from cospan.model import JointFrame, SetCosts
from cospan.model_file.parts import part_of, read_part
from cospan.model_file.reader import Parts, Reader

if TYPE_CHECKING:
    from cospan.estimator import AlignmentAngleClassifier

FORMAT_VERSION = 4
_FORMAT = "cospan model"
#: What the file of a reference is called in its header, and its format.
PROFILE, PROFILE_VERSION = "cospan profile", 5
# The name of our text in the header.
_ENTRY = "cospan"
# Of the header's length, which comes first.
_LENGTH_BYTES = 8
# A header above this is not ours: names of a million features take less.
_MAX_HEADER = 2**27
_NOT_OURS = "This is not a cospan model file, or a damaged one."

Model = TypeVar("Model", JointFrame, SetCosts, "AlignmentAngleClassifier")


def save(path: str | os.PathLike[str], model: object) -> Path:
    """Write a frame, costs to several sets, or a fitted estimator to a file.

    The file appears whole or not at all: one of that name stays until then. Saving the same model
    twice gives the same bytes.

    Parameters
    ----------
    path : path
        ``.safetensors`` is the usual ending.
    model : JointFrame, SetCosts or AlignmentAngleClassifier
        U and V of a frame are left out, since they describe single rows, and so are the samples
        of rows that an estimator keeps for `partial_fit`.

    Examples
    --------
    >>> import tempfile
    >>> from cospan import JointFrame, load, save
    >>> frame = JointFrame.fit([[0.0], [1.0], [3.0]], [[5.0], [6.0], [8.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(save(f"{folder}/frame.safetensors", frame), JointFrame)
    >>> again.n_a, again.n_features
    (3.0, 1)
    """
    check_output(path)
    data = to_bytes(model)
    with whole_file(path) as temporary:
        temporary.write_bytes(data)
    return Path(path)


@overload
def load(path: str | os.PathLike[str], kind: type[Model]) -> Model: ...
@overload
def load(path: str | os.PathLike[str], kind: None = None) -> Any: ...
def load(path: str | os.PathLike[str], kind: type[Any] | None = None) -> Any:
    """Read what :func:`save` wrote.

    Parameters
    ----------
    path : path
    kind : JointFrame, SetCosts or AlignmentAngleClassifier, optional
        What the file must hold: another model is refused, and type checkers know what comes back.

    Returns
    -------
    JointFrame, SetCosts or AlignmentAngleClassifier
        Scores as the saved one did, up to rounding. An estimator from a file can predict and
        transform; `partial_fit` needs the data's summaries and says so.

    Raises
    ------
    ModelFileError
        If the file cannot be read, is damaged or truncated, has another format version, or is
        something else.

    Examples
    --------
    >>> frame = load("frame.safetensors", JointFrame)  # doctest: +SKIP
    """
    name = os.fspath(path)
    data = file_bytes(path)
    try:
        model = from_bytes(data)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error
    if kind is not None and not isinstance(model, kind):
        raise ModelFileError(
            f"{name} holds {type(model).__name__} where {kind.__name__} is expected; "
            "load it without a kind, or pass another file."
        )
    return model


def to_bytes(model: object) -> bytes:
    """A model as the bytes of a model file; the same model gives the same bytes."""
    if isinstance(model, JointFrame | SetCosts):
        return packed(part_of(model), _FORMAT, FORMAT_VERSION)
    from cospan.model_file.estimators import estimator_parts  # it imports scikit-learn

    return packed(estimator_parts(model), _FORMAT, FORMAT_VERSION)


def from_bytes(data: bytes) -> Any:
    """The model in the bytes of a model file."""
    reader = Reader(*unpacked(data, _FORMAT, FORMAT_VERSION))
    if reader.value("kind", str) != "classifier":
        return read_part(reader, JointFrame, SetCosts)
    from cospan.model_file.estimators import read_estimator

    return read_estimator(reader)


# ---- files of any kind of ours -----------------------------------------------------------------


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


def _about(header: bytes) -> dict[str, Any]:
    """What the header says of one of our files."""
    try:
        metadata = json.loads(header.decode())["__metadata__"]
        if _ENTRY not in metadata:
            raise ModelFileError("This safetensors file was not written by cospan.")
        found = json.loads(metadata[_ENTRY])
        return {name: found[name] for name in ("format", "version", "settings", "sha256")}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError(_NOT_OURS) from None


def _digest(about: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> str:
    whole = hashlib.sha256(json.dumps(about, allow_nan=False, sort_keys=True).encode())
    for name, array in sorted(tensors.items()):
        whole.update(f"{name} {array.dtype} {array.shape}".encode())
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()


def row_tensors(rows: Any) -> dict[str, NDArray[Any]]:
    """Rows as they came, a table or an array, as arrays of a file."""
    if isinstance(rows, np.ndarray):
        return {"rows": np.ascontiguousarray(rows, dtype=np.float64)}
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return {"table": np.frombuffer(sink.getvalue(), dtype=np.uint8)}


def rows_in(tensors: Mapping[str, NDArray[Any]]) -> Any:
    """The rows that :func:`row_tensors` wrote."""
    if "rows" in tensors:
        return tensors["rows"]
    import pyarrow as pa

    try:
        return pa.ipc.open_stream(pa.py_buffer(tensors["table"])).read_all()
    except (KeyError, pa.ArrowInvalid, OSError):
        raise ModelFileError("The file's rows cannot be read; make it again.") from None


def profile_rows(path: str | os.PathLike[str]) -> tuple[str, Any]:
    """The name of a reference and the rows that its profile keeps."""
    try:
        settings, tensors = unpacked(file_bytes(path), PROFILE, PROFILE_VERSION)
        return str(settings.get("name", "")), rows_in(tensors)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error


def file_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a regular file: a pipe would be waited for, a device would never end."""
    name = os.fspath(path)
    try:
        if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
            raise ModelFileError(f"Cannot read {name}: it is not a regular file.")
        return Path(path).read_bytes()
    except OSError as error:
        raise ModelFileError(f"Cannot read {name}: {error.strerror or error}.") from error
    except ValueError as error:  # a zero byte in the name
        raise ModelFileError(f"Cannot read {name!r}: {error}.") from error


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
