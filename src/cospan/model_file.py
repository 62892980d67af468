"""Models in files that are safe to pass on: save, load.

A model file is a safetensors file: named arrays, and a header with one JSON text of settings, the
format's version and a SHA-256 digest of all, so that damage is seen before anything is used.
Reading executes nothing and unpickles nothing: an object is one of a few known classes, made of
what the file has under the names of its fields.

A file holds no rows of the data: what a frame needs are positions and directions, and for
"neither" what its own rows cost, one number for each of up to 2,000 rows in the order of their
size. (Of rows with a single column that number tells the distance from the mean; pass on models of
one column as you would its values.) The map of a curve is written as it is, so that no generator of
random numbers has to give the same ones again; landmarks are means of several rows.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from cospan._version import VERSION
from cospan.base import arrays
from cospan.base.files import check_output, whole_file
from cospan.base.tables import plain
from cospan.base.text import printable
from cospan.base.types import Data, Floats, Record, Values
from cospan.decomposition import Blocks
from cospan.errors import InputError, ModelFileError
from cospan.model import (
    Calibration,
    CurvedSets,
    Geometry,
    JointFrame,
    LandmarkMap,
    ScoreMap,
    SetCosts,
    Typicality,
)

if TYPE_CHECKING:
    from cospan.estimator import AlignmentAngleClassifier

#: What the file of a model, and that of a reference, is called in its header, and its format.
MODEL = ("cospan model", 6)
PROFILE, PROFILE_VERSION = "cospan profile", 5
# The name of our text in the header, and the bytes of the header's length, which comes first.
_ENTRY, _LENGTH_BYTES = "cospan", 8
# A header above this is not ours: names of a million features take less.
_MAX_HEADER = 2**27
_NOT_OURS = "This is not a cospan model file, or a damaged one."
Made = TypeVar("Made")


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
    ...     again = load(save(f"{folder}/frame.safetensors", frame))
    >>> again.n_a, again.n_features
    (3.0, 1)
    """
    check_output(path)
    known = isinstance(model, JointFrame | SetCosts)
    return write_parts(path, MODEL, part_of(model) if known else _estimator_parts(model))


def load(path: str | os.PathLike[str]) -> Any:
    """Read what :func:`save` wrote.

    Parameters
    ----------
    path : path

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
    >>> frame = load("frame.safetensors")  # doctest: +SKIP
    """
    return read_parts(path, MODEL, _read_saved)


# ---- objects ------------------------------------------------------------------------------------

#: What may be made of a file.
KINDS = (
    JointFrame, SetCosts, Geometry, Calibration, Typicality, CurvedSets, ScoreMap, LandmarkMap,
    Blocks,
)  # fmt: skip
# Left out: what describes single rows, and what was to be said of the fit.
_LEFT_OUT = ("U", "V", "notes")
_SCALARS = {"bool": bool, "float": float, "int": int, "str": str}


def _fields_of(made: Any) -> dict[str, type | None]:
    """The fields of a class that a file holds, and the types of those that are one number."""
    if issubclass(made, tuple):
        return dict.fromkeys(made._fields)
    listed = {one.name: _SCALARS.get(str(one.type)) for one in fields(made)}
    return {name: kind for name, kind in listed.items() if name not in _LEFT_OUT}


def part_of(model: object) -> Parts:
    """A model, or a part of one, as it is written."""
    found = Parts({"kind": type(model).__name__}, {})
    for name, kind in _fields_of(type(model)).items():
        value = getattr(model, name)
        if isinstance(value, KINDS):
            found |= part_of(value).inside(name)
        elif arrays.is_array(value):
            found.tensors[name] = _host(value)
        elif isinstance(value, tuple) and value and arrays.is_array(value[0]):
            found.tensors.update({f"{name}.{k}": _host(one) for k, one in enumerate(value)})
        else:
            found.settings[name] = plain(value if kind is None else kind(value))
    return found


def _host(x: object) -> Floats:
    """An array of any library as it is written."""
    return np.ascontiguousarray(arrays.to_numpy(x), dtype=np.float64)


def read_part(read: Reader, *kinds: type) -> Any:
    """An object of one of these classes, of what the file has for each of its fields."""
    made = {one.__name__: one for one in kinds}.get(read.value("kind", str))
    if made is None:
        raise unfit("kind")
    found: Record = {}
    for name, kind in _fields_of(made).items():
        if name in read.tensors:
            found[name] = read.tensor(name)
        elif f"{name}.0" in read.tensors and name not in read.settings:
            count = sum(key.rpartition(".")[0] == name for key in read.tensors)
            found[name] = tuple(read.tensor(f"{name}.{k}") for k in range(count))
        elif kind is not None:
            found[name] = read.value(name, kind)
        else:
            value = read.settings[name]
            inside = isinstance(value, dict) and name != "encoding"
            found[name] = read_part(read.section(name), *KINDS) if inside else value
            if isinstance(value, list):
                found[name] = tuple(value)
    return made(**found)


def _model_of(read: Reader) -> JointFrame | SetCosts:
    """A model whose parts fit each other, so that it scores a row."""
    model: JointFrame | SetCosts = read_part(read, JointFrame, SetCosts)
    g, known = model.geometry, model.typicality
    of_sets: list[Any] = [g.sizes, g.calibration.offsets or g.sizes]
    of_sets += [] if known is None else [known.costs, known.above]
    of_features: list[Any] = [g.unit, g.means.T, g.feature_names or g.unit]
    fits = [*(len(one) == g.n_sets for one in of_sets)]
    fits += [len(one) == g.n_features for one in of_features]
    fits += [isinstance(one, str) for one in g.feature_names or ()]
    fits.append(g.span in ("affine", "linear"))
    if isinstance(model, JointFrame):
        fits.append(min(model.blocks) >= 0 and sum(model.blocks) == model.rank)
    with np.errstate(all="ignore"):
        weights = model.weights(g.center[None, :])
    if not all(fits) or weights.shape != (1, g.n_sets):
        raise ModelFileError("The file is damaged: its parts do not fit.")
    return model


# ---- estimators (scikit-learn takes a while to import) ------------------------------------------


def _estimator_parts(model: object) -> Parts:
    from cospan.estimator import AlignmentAngleClassifier

    if not isinstance(model, AlignmentAngleClassifier):
        raise InputError(
            f"A {type(model).__name__} cannot be saved; pass a JointFrame, SetCosts or a fitted "
            "AlignmentAngleClassifier."
        )
    fitted, classes = model.model_, model.classes_.tolist()
    if not all(isinstance(label, bool | int | float | str) for label in classes):
        raise InputError("A model file holds classes that are numbers or text; these are neither.")
    settings: Record = {
        "kind": "classifier",
        "parameters": plain(model.get_params(deep=False)),
        "classes": classes,
        "dtype": model.classes_.dtype.str,
    }
    return Parts(settings, {}) | part_of(fitted).inside("model")


def _read_saved(read: Reader) -> JointFrame | SetCosts | AlignmentAngleClassifier:
    """A model, or an estimator with one inside."""
    if read.value("kind", str) != "classifier":
        return _model_of(read)
    from cospan.estimator import AlignmentAngleClassifier

    model = _model_of(read.section("model"))
    parameters, labels = read.value("parameters", dict), read.value("classes", list)
    classes = np.array(labels, dtype=read.value("dtype", str))
    if classes.shape != (model.geometry.n_sets,) or len(set(labels)) != len(labels):
        raise unfit("classes")
    if set(parameters) != set(AlignmentAngleClassifier().get_params(deep=False)):
        raise unfit("parameters")
    return AlignmentAngleClassifier.from_fitted(model, classes, **parameters)


# ---- containers ----------------------------------------------------------------------------------


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

    def __init__(self, settings: Mapping[str, Any], tensors: Mapping[str, Values]) -> None:
        self.settings = settings
        self.tensors = tensors

    def section(self, name: str) -> Reader:
        """What the file holds of a model inside the model."""
        start = name + "."
        inside = {k.removeprefix(start): v for k, v in self.tensors.items() if k.startswith(start)}
        return Reader(self.value(name, dict), inside)

    def value(self, name: str, *kinds: type) -> Any:
        """A setting of one of these kinds."""
        if type(self.settings.get(name)) not in kinds:
            raise unfit(name)
        return self.settings.get(name)

    def tensor(self, name: str) -> Floats:
        """A finite float64 tensor."""
        found = self.tensors.get(name, np.zeros(0, dtype=bool))
        if found.dtype != np.float64 or not np.isfinite(found).all():
            raise unfit(name)
        return found

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
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
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
