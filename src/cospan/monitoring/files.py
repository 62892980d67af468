"""Profiles and monitorings in files that are safe to pass on: safetensors, nothing unpickled.

Files appear whole or not at all. Windows are added under a lock that ends with the process that
holds it, and those that another process has added meanwhile stay.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cospan.base.files import check_output, whole_file
from cospan.data import EncodingPlan
from cospan.errors import CospanError, InputError, ModelFileError
from cospan.evidence import Finding, Held, Size
from cospan.model_file import (
    PROFILE,
    PROFILE_VERSION,
    Parts,
    Reader,
    file_bytes,
    is_file_of,
    packed,
    row_tensors,
    rows_in,
    unpacked,
)

from .functions import Watched
from .profile import Measured, Profile
from .result import Monitoring, Record, plain_held
from .windows import as_every

MONITORING, MONITORING_VERSION = "cospan monitoring", 4
#: Seconds to wait for another process that writes to the same file.
PATIENCE, PAUSE = 60.0, 0.05
Made = TypeVar("Made")


def is_profile_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file's header says that it is a profile."""
    return is_file_of(path, PROFILE)


def is_monitoring_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file's header says that it is a monitoring."""
    return is_file_of(path, MONITORING)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone with a file: other processes that ask for it wait, and after a minute give up."""
    import fcntl

    with Path(path.parent, f".{path.name}.lock").open("w") as stream:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > until:
                    raise CospanError(
                        f"cannot write {path}: another process has been writing to it for a "
                        "minute; try again later."
                    ) from None
                time.sleep(PAUSE)
        yield


# ---- profiles ----------------------------------------------------------------------------------


def save_profile(path: str | os.PathLike[str], profile: Profile) -> Path:
    """Write a profile."""
    return _write(path, packed(_profile_parts(profile), PROFILE, PROFILE_VERSION))


def load_profile(path: str | os.PathLike[str]) -> Profile:
    """Read a profile."""
    return _load(path, (PROFILE, PROFILE_VERSION), _read_profile)


def _profile_parts(profile: Profile) -> Parts:
    settings = {
        "name": profile.name,
        "count": profile.count,
        "plan": None if profile.plan is None else profile.plan.to_dict(),
        "names": list(profile.names),
        "every": None if profile.every is None else str(profile.every),
        "time": profile.time,
        "table": [list(one) for one in profile.table],
        "repeated": profile.repeated,
        "options": {key: _plain(value) for key, value in profile.options.items()},
    }
    tensors = {
        "codes": profile.codes.astype(np.int64),
        "counts": profile.counts.astype(np.int64),
        "place": profile.place.astype(np.int64),
        "values": np.ascontiguousarray(profile.values),
        "n": np.ascontiguousarray(profile.n),
    }
    return Parts(settings, tensors | row_tensors(profile.kept_rows))


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | str) else list(value)


def _read_profile(read: Reader) -> Profile:
    plan, every = read.value("plan", dict, type(None)), read.value("every", str, type(None))
    table = tuple(Watched(*map(str, one)) for one in read.value("table", list))
    codes, rows = read.whole("codes"), rows_in(read.tensors)
    place = read.whole("place", 0, len(codes))
    if not len(rows) or len(place) != len(rows) or not len(codes):
        raise ModelFileError("The file holds no rows of the reference; make it again.")
    found = Profile(
        read.value("name", str),
        rows,
        read.integer("count", least=1, most=2**62),
        None if plan is None else EncodingPlan.from_dict(plan),
        read.names("names", len(read.value("names", list))) or (),
        None if every is None else as_every(every),
        read.value("time", str),
        codes,
        read.whole("counts"),
        place,
        table,
        read.tensor("values", len(codes), len(table)),
        read.tensor("n", len(codes), len(table), least=0.0),
        read.number("repeated", most=1.0),
        read.value("options", dict),
    )
    if len(found.watched) != len(table):
        raise ModelFileError("The file was made by another version of cospan; make it again.")
    return found


# ---- monitorings -------------------------------------------------------------------------------


def save_monitoring(path: str | os.PathLike[str], found: Monitoring) -> Path:
    """Write a monitoring with its reference; windows that were added meanwhile stay."""
    target = check_output(path)
    with locked(target):
        if found.went_on and is_monitoring_file(target):
            found = _merged(load_monitoring(target), found)
        return _write(target, packed(_monitoring_parts(found), MONITORING, MONITORING_VERSION))


def _merged(there: Monitoring, found: Monitoring) -> Monitoring:
    """What the file holds, with the windows that were read now."""
    new = [one for one in found.records if one.measured.code in found.latest]
    same = [one.measured.code for one in there.records]
    if not found.every.timed and new and same and min(found.latest) <= max(same):
        known = {one.measured.digest for one in there.records}
        fresh = [one for one in new if one.measured.digest not in known]
        step = 1 + max(same) - min((one.measured.code for one in fresh), default=0)
        new = [
            replace(one, measured=one.measured._replace(code=one.measured.code + step))
            for one in fresh
        ]
    return there.extended(new, found.notes)


def load_monitoring(path: str | os.PathLike[str]) -> Monitoring:
    """Read a monitoring."""
    return _load(path, (MONITORING, MONITORING_VERSION), _read_monitoring)


def _monitoring_parts(found: Monitoring) -> Parts:
    records = found.records
    settings: dict[str, Any] = {
        "name": found.name,
        "rate": found.rate,
        "rolling": found.rolling,
        "notes": list(found.notes),
        "windows": [_plain_record(one) for one in records],
    }
    shape = len(records), len(found.reference.table)
    tensors: dict[str, NDArray[Any]] = {
        "values": np.array([one.measured.values for one in records]).reshape(shape),
        "n": np.array([one.measured.n for one in records]).reshape(shape),
    }
    return Parts(settings, tensors) | _profile_parts(found.reference).inside("profile")


def _plain_record(one: Record) -> dict[str, Any]:
    own = one.measured
    compared = None
    if one.size is not None:
        size = [float(one.size), one.size.low, one.size.high]
        compared = {
            "size": [None if math.isnan(x) else x for x in size],
            "p": None if one.p is None or math.isnan(one.p) else one.p,
            "findings": [finding.to_dict() for finding in one.findings],
        }
    return {
        "code": own.code,
        "rows": own.rows,
        "kept": own.kept,
        "repeated": own.repeated,
        "digest": str(own.digest),
        "columns": {name: plain_held(held) for name, held in own.columns.items()},
        "findings": [finding.to_dict() for finding in own.findings],
        "compared": compared,
    }


def _read_monitoring(read: Reader) -> Monitoring:
    reference = _read_profile(read.section("profile"))
    plain, m = read.value("windows", list), len(reference.table)
    values = read.tensor("values", len(plain), m)
    n = read.tensor("n", len(plain), m, least=0.0)
    return Monitoring(
        reference,
        tuple(_record(*one) for one in zip(plain, values, n, strict=True)),
        read.number("rate"),
        read.value("name", str),
        read.value("rolling", bool),
        tuple(map(str, read.value("notes", list))),
    )


def _record(plain: dict[str, Any], values: Any, n: Any) -> Record:
    measured = Measured(
        int(plain["code"]), int(plain["rows"]), int(plain["kept"]), values, n,
        {str(name): _held(one) for name, one in plain["columns"].items()},
        tuple(map(_finding, plain["findings"])), int(plain["repeated"]), int(plain["digest"]),
    )  # fmt: skip
    compared = plain["compared"]
    if compared is None:
        return Record(measured)
    value, low, high = (math.nan if x is None else float(x) for x in compared["size"])
    p = math.nan if compared["p"] is None else float(compared["p"])
    return Record(measured, Size(value, low, high), p, tuple(map(_finding, compared["findings"])))


def _held(plain: dict[str, Any]) -> Held:
    mean = math.nan if plain["mean"] is None else float(plain["mean"])
    levels = {str(level): float(share) for level, share in plain["levels"].items()}
    return Held(float(plain["missing"]), mean, levels=levels)


def _finding(plain: dict[str, Any]) -> Finding:
    """A finding out of a file that may hold anything."""
    known: dict[str, Any] = {}
    for one in fields(Finding):
        value = plain[one.name]
        if one.name in ("where", "unit"):
            kind = str if one.name == "where" else float
            known[one.name] = None if value is None else (kind(value[0]), kind(value[1]))
        elif isinstance(one.default, float):
            known[one.name] = math.nan if value is None else float(value)
        else:
            known[one.name] = int(value) if one.name == "rows" else str(value)
    return Finding(**known)


def _write(path: str | os.PathLike[str], data: bytes) -> Path:
    target = check_output(path)
    with whole_file(target) as temporary:
        temporary.write_bytes(data)
    return target


def _load(
    path: str | os.PathLike[str], kind: tuple[str, int], read: Callable[[Reader], Made]
) -> Made:
    data = file_bytes(path)
    try:
        return read(Reader(*unpacked(data, *kind)))
    except (ModelFileError, InputError) as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(
            f"{os.fspath(path)}: The file is damaged: its parts do not fit."
        ) from error
