"""Profiles and monitorings in files that are safe to pass on: safetensors, nothing unpickled.

Every entry is asked for by name and checked, so that a damaged file, or one that is something
else, gives one sentence and never a half-built object.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cospan._files import check_output, whole_file
from cospan.errors import InputError, ModelFileError
from cospan.model_file.container import file_bytes, is_file_of, packed, unpacked
from cospan.model_file.parts import Parts
from cospan.monitoring.entries import Entries
from cospan.monitoring.parts import profile_parts, read_monitoring, read_profile, record_tensors
from cospan.monitoring.profile import Profile
from cospan.monitoring.result import Monitoring

PROFILE, MONITORING = "cospan profile", "cospan monitoring"
#: Files of any other are refused.
FORMAT_VERSION = 3


def is_profile_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file's header says that it is a profile."""
    return is_file_of(path, PROFILE)


def is_monitoring_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file's header says that it is a monitoring."""
    return is_file_of(path, MONITORING)


def save_profile(path: str | os.PathLike[str], profile: Profile) -> Path:
    """Write a profile."""
    settings, tensors = profile_parts(profile)
    return _write(path, packed(Parts(settings, tensors), PROFILE, FORMAT_VERSION))


def save_monitoring(path: str | os.PathLike[str], found: Monitoring) -> Path:
    """Write a monitoring with its reference."""
    inner, tensors = profile_parts(found.profile)
    settings = {
        "profile": inner,
        "name": found.name,
        "false_alarms": found.false_alarms,
        "notes": list(found.notes),
    }
    stored = {f"profile.{name}": value for name, value in tensors.items()}
    stored |= record_tensors(found.records)
    return _write(path, packed(Parts(settings, stored), MONITORING, FORMAT_VERSION))


def _write(path: str | os.PathLike[str], data: bytes) -> Path:
    target = check_output(path)
    with whole_file(target) as temporary:
        temporary.write_bytes(data)
    return target


def load_profile(path: str | os.PathLike[str]) -> Profile:
    """Read a profile."""
    found: Profile = _load(path, PROFILE, read_profile)
    return found


def load_monitoring(path: str | os.PathLike[str]) -> Monitoring:
    """Read a monitoring."""
    found: Monitoring = _load(path, MONITORING, read_monitoring)
    return found


def _load(path: str | os.PathLike[str], kind: str, read: Any) -> Any:
    name = os.fspath(path)
    data = file_bytes(path)
    try:
        parts, version = unpacked(data, kind, FORMAT_VERSION)
        if version != FORMAT_VERSION:
            raise ModelFileError("The file was made by another version of cospan; make it again.")
        return read(Entries(parts.settings, parts.tensors))
    except (ModelFileError, InputError) as error:
        raise ModelFileError(f"{name}: {error}") from error
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelFileError(f"{name}: The file is damaged: its parts do not fit.") from error
