"""Models in files that are safe to pass on: save, load.

A model file is a safetensors file: named arrays, and a header with text. The header holds the
format version, the settings as JSON, and a SHA-256 digest of the whole file (taken with zeros in
the place of the digest itself), so that any damage is seen before anything is used. Reading one
executes nothing and unpickles nothing. And it holds no rows of the data: what a frame needs are
directions and a centre.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from cospan._files import check_output, whole_file
from cospan.errors import ModelFileError
from cospan.model_file.parts import Parts, put_together, take_apart

__all__ = ["FORMAT_VERSION", "load", "save"]

FORMAT_VERSION = 1
_FORMAT = "cospan model"
_NO_DIGEST = "0" * 64
# Of the header's length in front of the header.
_LENGTH_BYTES = 8
# A header above this is not ours: names of a million features take less.
_MAX_HEADER = 2**27


def save(path: str | os.PathLike[str], model: Any) -> Path:
    """Write a frame or a fitted estimator to a file.

    The file appears whole or not at all: an older one of that name stays until then.

    Parameters
    ----------
    path : path
        ``.safetensors`` is the usual ending.
    model : JointFrame or AlignmentAngleClassifier
        U and V of a frame are left out, since they stand for single rows, and so are the
        samples of rows that an estimator keeps for `partial_fit`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_digits
    >>> from cospan import JointFrame, load, save
    >>> X, y = load_digits(return_X_y=True)
    >>> frame = JointFrame.fit(X[y == 4], X[y == 9])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(Path(folder) / "fours_nines.safetensors", frame)
    ...     again = load(path)
    >>> again
    JointFrame(181 rows against 180, 64 features, rank 64, shrinkage ...)
    >>> bool(abs(again.align(X).theta - frame.align(X).theta).max() < 1e-12)
    True
    """
    check_output(path)
    data = to_bytes(model)
    with whole_file(path) as temporary:
        temporary.write_bytes(data)
    return Path(path)


def load(path: str | os.PathLike[str]) -> Any:
    """Read what :func:`save` wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    JointFrame or AlignmentAngleClassifier
        Scores as the saved one did, up to rounding. An estimator from a file can predict and
        transform; `partial_fit` needs the data's summaries and says so.

    Raises
    ------
    ModelFileError
        If the file cannot be read, is damaged or truncated, comes from a newer version, or is
        something else.
    """
    name = os.fspath(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ModelFileError(f"Cannot read {name}: {error.strerror or error}.") from error
    except ValueError as error:  # a zero byte in the name
        raise ModelFileError(f"Cannot read {name!r}: {error}.") from error
    try:
        return from_bytes(data)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error


def to_bytes(model: Any) -> bytes:
    """A model as the bytes of a model file."""
    from cospan import __version__

    parts = take_apart(model)
    metadata = {
        "format": _FORMAT,
        "format_version": str(FORMAT_VERSION),
        "written_by": f"cospan {__version__}",
        "settings": json.dumps(parts.settings, allow_nan=False, sort_keys=True),
        "sha256": _NO_DIGEST,
    }
    blank = _in_order(write_tensors(parts.tensors, metadata))
    digest = hashlib.sha256(blank).hexdigest()
    return blank.replace(_digest_entry(_NO_DIGEST), _digest_entry(digest), 1)


def _in_order(data: bytes) -> bytes:
    """The same file with its header sorted: safetensors writes entries in any order.

    One model is one string of bytes then, whenever and wherever it is saved.
    """
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    header = json.loads(data[_LENGTH_BYTES : _LENGTH_BYTES + length])
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of eight
    return len(text).to_bytes(_LENGTH_BYTES, "little") + text + data[_LENGTH_BYTES + length :]


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file's header says that it is a model of ours; the rest is not read."""
    try:
        with Path(path).open("rb") as stream:
            length = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
            header = json.loads(stream.read(length)) if length < _MAX_HEADER else {}
        return bool(header["__metadata__"]["format"] == _FORMAT)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def from_bytes(data: bytes) -> Any:
    """The model in the bytes of a model file."""
    metadata = _metadata(data)
    _check_version(metadata)
    _check_digest(data, metadata["sha256"])
    try:
        settings = json.loads(metadata["settings"], object_pairs_hook=_without_repeats)
        tensors = read_tensors(data)
    except (ValueError, KeyError, SafetensorError, RecursionError):
        raise ModelFileError("This is no model file of cospan.") from None
    if not isinstance(settings, dict):
        raise ModelFileError("This is no model file of cospan.")
    return put_together(Parts(settings, tensors))


def _metadata(data: bytes) -> dict[str, str]:
    """The text in the header, or an error where there is no header of ours."""
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    if len(data) < _LENGTH_BYTES or length > len(data) - _LENGTH_BYTES:
        raise ModelFileError("This is no model file of cospan, or only the beginning of one.")
    try:
        text = data[_LENGTH_BYTES : _LENGTH_BYTES + length].decode("utf-8")
        header = json.loads(text, object_pairs_hook=_without_repeats)
        found = header["__metadata__"]
        if found["format"] != _FORMAT:
            raise ModelFileError("This safetensors file was not written by cospan.")
        return {name: str(found[name]) for name in ("format_version", "settings", "sha256")}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError("This is no model file of cospan, or a damaged one.") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; of two entries with one name, two readers may take different ones."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("A name occurs twice.")
    return found


def _check_version(metadata: dict[str, str]) -> None:
    version = metadata["format_version"]
    if not re.fullmatch("[1-9][0-9]{0,8}", version):
        raise ModelFileError("The file is damaged: its format version is no version number.")
    if int(version) > FORMAT_VERSION:
        raise ModelFileError(
            f"The file has format version {version} and this cospan reads up to {FORMAT_VERSION}; "
            "upgrade cospan."
        )


def _check_digest(data: bytes, digest: str) -> None:
    entry = _digest_entry(digest) if re.fullmatch("[0-9a-f]{64}", digest) else None
    if entry is None or data.count(entry) != 1:
        raise ModelFileError("The file is damaged: its digest is not where it should be.")
    blank = data.replace(entry, _digest_entry(_NO_DIGEST), 1)
    if hashlib.sha256(blank).hexdigest() != digest:
        raise ModelFileError("The file is damaged: its contents do not match its digest.")


def _digest_entry(digest: str) -> bytes:
    return f'"sha256":"{digest}"'.encode()
