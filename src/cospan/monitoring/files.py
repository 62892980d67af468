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

from cospan.base.files import check_output, whole_file
from cospan.base.tables import plain
from cospan.base.types import Record, Values
from cospan.data import EncodingPlan
from cospan.errors import CospanError, InputError, ModelFileError
from cospan.evidence import Finding, Size
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

from .profile import Measured, Profile
from .result import Monitoring, Window
from .windows import as_every

MONITORING, MONITORING_VERSION = "cospan monitoring", 5
#: Seconds to wait for another process that writes to the same file.
PATIENCE, PAUSE = 60.0, 0.05
Made = TypeVar("Made")


def is_profile_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file's header says that it is a profile."""
    return is_file_of(path, PROFILE)


def is_monitoring_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file's header says that it is a monitoring."""
    return is_file_of(path, MONITORING)


def save_profile(path: str | os.PathLike[str], profile: Profile) -> Path:
    """Write a profile."""
    return _write(path, packed(_profile_parts(profile), PROFILE, PROFILE_VERSION))


def load_profile(path: str | os.PathLike[str]) -> Profile:
    """Read a profile."""
    return _load(path, (PROFILE, PROFILE_VERSION), _read_profile)


def save_monitoring(path: str | os.PathLike[str], found: Monitoring) -> Path:
    """Write a monitoring with its reference; windows that were added meanwhile stay."""
    target = check_output(path)
    with locked(target):
        if found.went_on and is_monitoring_file(target):
            found = _merged(load_monitoring(target), found)
        return _write(target, packed(_monitoring_parts(found), MONITORING, MONITORING_VERSION))


def load_monitoring(path: str | os.PathLike[str]) -> Monitoring:
    """Read a monitoring."""
    return _load(path, (MONITORING, MONITORING_VERSION), _read_monitoring)


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


def _merged(there: Monitoring, found: Monitoring) -> Monitoring:
    """What the file holds, with the windows that were read now."""
    old = there.measured
    new = found.measured.take(np.isin(found.measured.codes, list(found.latest)))
    codes = new.codes
    if not found.every.timed and len(codes) and len(old.codes) and codes[0] <= old.codes[-1]:
        fresh = ~np.isin(new.digests, old.digests)  # counted on from those of the other process
        codes = codes[fresh]
        new = new.take(fresh)._replace(codes=old.codes[-1] + 1 + np.arange(len(codes)))
    met = {**there.met}
    for code, before in zip(new.codes.tolist(), codes.tolist(), strict=True):
        met[code] = replace(found.met[before], code=code, **found.every.names(code))
    notes = tuple(dict.fromkeys([*there.notes, *found.notes]))
    return replace(found, measured=old.joined(new), met=met, notes=notes)


# ---- parts -------------------------------------------------------------------------------------


def _measured_tensors(windows: Measured) -> dict[str, Values]:
    return {name: np.ascontiguousarray(one) for name, one in windows._asdict().items()}


def _read_measured(read: Reader, count: int) -> Measured:
    codes, counts, digests = (read.whole(name) for name in ("codes", "counts", "digests"))
    values, n = read.tensor("values", count, "m"), read.tensor("n", count, "m", least=0.0)
    return Measured(codes, counts, digests, values, n)


def _profile_parts(profile: Profile) -> Parts:
    names = ("name", "names", "time", "options", "repeated")
    settings = {name: plain(getattr(profile, name)) for name in names}
    settings["plan"] = None if profile.plan is None else profile.plan.to_dict()
    settings["every"] = None if profile.every is None else str(profile.every)
    tensors = _measured_tensors(profile.windows) | {"place": profile.place}
    return Parts(settings, tensors | row_tensors(profile.kept_rows))


def _read_profile(read: Reader) -> Profile:
    plan, every = read.value("plan", dict, type(None)), read.value("every", str, type(None))
    rows, count = rows_in(read.tensors), len(read.whole("codes"))
    place = read.whole("place", 0, count)
    if not len(rows) or len(place) != len(rows) or not count:
        raise ModelFileError("The file holds no rows of the reference; make it again.")
    found = Profile(
        read.value("name", str),
        rows,
        place,
        None if plan is None else EncodingPlan.from_dict(plan),
        read.names("names", len(read.value("names", list))),
        None if every is None else as_every(every),
        read.value("time", str),
        read.value("options", dict),
        _read_measured(read, count),
        read.number("repeated", least=0.0, most=1.0),
    )
    if found.windows.n.shape[1] != len(found.table):
        raise ModelFileError("The file was made by another version of cospan; make it again.")
    return found


def _monitoring_parts(found: Monitoring) -> Parts:
    settings = {name: plain(getattr(found, name)) for name in ("name", "rate", "rolling", "notes")}
    settings["met"] = [
        {"findings": plain(met.findings), "p": plain(met.p),
         "size": None if met.size is None else plain(met.size.to_dict())}
        for met in (found.met[code] for code in found.measured.codes.tolist())
    ]  # fmt: skip
    own = Parts(settings, _measured_tensors(found.measured))
    return own | _profile_parts(found.reference).inside("profile")


def _read_monitoring(read: Reader) -> Monitoring:
    reference, told = _read_profile(read.section("profile")), read.value("met", list)
    measured, met = _read_measured(read, len(told)), {}
    assert reference.every is not None
    both = zip(told, measured.codes.tolist(), measured.counts.tolist(), strict=True)
    for one, code, count in both:
        said: Record = {}
        if one["size"] is not None:
            size = Size(*(_number(one["size"][name]) for name in ("value", "low", "high")))
            said = {"size": size, "p": _number(one["p"])}
        findings = tuple(map(_finding, one["findings"]))
        names = reference.every.names(code)
        met[code] = Window(code, rows=count, findings=findings, **names, **said)
    return Monitoring(
        reference,
        measured,
        met,
        read.number("rate", least=0.0),
        read.value("name", str),
        read.value("rolling", bool),
        tuple(map(str, read.value("notes", list))),
    )


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _finding(told: Record) -> Finding:
    known: Record = {}
    for one in fields(Finding):
        value = told[one.name]
        if one.name in ("where", "unit"):
            kind = str if one.name == "where" else float
            known[one.name] = None if value is None else (kind(value[0]), kind(value[1]))
        elif isinstance(one.default, float):
            known[one.name] = _number(value)
        else:
            known[one.name] = int(value) if one.name == "rows" else str(value)
    return Finding(**known)


def _write(path: str | os.PathLike[str], data: bytes) -> Path:
    with whole_file(path) as temporary:
        temporary.write_bytes(data)
    return Path(path)


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
