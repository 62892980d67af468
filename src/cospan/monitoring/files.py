"""Profiles and monitorings in files that are safe to pass on: safetensors, nothing unpickled.

Every entry is asked for by name and checked, so that a damaged file, or one that is something
else, gives one sentence and never a half-built object.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._files import check_output, whole_file
from cospan.errors import InputError, ModelFileError
from cospan.model_file.container import is_file_of, packed, unpacked
from cospan.model_file.parts import Parts
from cospan.model_file.reader import Reader
from cospan.monitoring.channels import Channel, Channels, Cost
from cospan.monitoring.effect import Effect
from cospan.monitoring.moments import summary_of
from cospan.monitoring.profile import Profile
from cospan.monitoring.ranks import Ranks
from cospan.monitoring.records import Record
from cospan.monitoring.result import Monitoring
from cospan.monitoring.timing import as_every
from cospan.significance import Estimate
from cospan.sources import EncodingPlan
from cospan.summary import RowSample, Summary

__all__ = [
    "is_monitoring_file",
    "is_profile_file",
    "load_monitoring",
    "load_profile",
    "save_monitoring",
    "save_profile",
]

Floats = NDArray[np.float64]
Tensors = dict[str, NDArray[Any]]

PROFILE, MONITORING = "cospan profile", "cospan monitoring"
FORMAT_VERSION = 1
_MOST = 2**31
_EFFECT = 8  # numbers of an Effect


def is_profile_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file's header says that it is a profile."""
    return is_file_of(path, PROFILE)


def is_monitoring_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file's header says that it is a monitoring."""
    return is_file_of(path, MONITORING)


# ---- writing ----------------------------------------------------------------------------------


def save_profile(path: str | os.PathLike[str], profile: Profile) -> Path:
    """Write a profile."""
    settings, tensors = _profile_parts(profile)
    return _write(path, packed(Parts(settings, tensors), PROFILE, FORMAT_VERSION))


def save_monitoring(path: str | os.PathLike[str], found: Monitoring) -> Path:
    """Write a monitoring with its reference."""
    inner, tensors = _profile_parts(found.profile)
    settings = {
        "profile": inner,
        "name": found.name,
        "false_alarms": found.false_alarms,
        "notes": list(found.notes),
    }
    stored = {f"profile.{name}": value for name, value in tensors.items()}
    stored |= _record_tensors(found.records, "windows", len(inner["names"]), np.float64)
    return _write(path, packed(Parts(settings, stored), MONITORING, FORMAT_VERSION))


def _write(path: str | os.PathLike[str], data: bytes) -> Path:
    target = check_output(path)
    with whole_file(target) as temporary:
        temporary.write_bytes(data)
    return target


def _profile_parts(profile: Profile) -> tuple[dict[str, Any], Tensors]:
    channels, summary = profile.channels, profile.summary
    settings = {
        "name": profile.name,
        "plan": None if profile.plan is None else profile.plan.to_dict(),
        "names": list(channels.names),
        "owners": list(channels.owners),
        "table": [[c.kind, c.column, c.second, c.feature] for c in channels.table],
        "every": None if profile.every is None else str(profile.every),
        "time": profile.time,
        "n": float(summary.n),
        "count": int(summary.count),
        "eps": float(summary.eps),
        "far": float(channels.far),
        "shrinkage": float(channels.shrinkage),
    }
    upper = np.triu_indices(summary.n_features)
    sketches = (*channels.ranks, channels.cost_ranks)
    tensors: Tensors = {
        "mean": np.asarray(summary.mean, dtype=np.float64),
        "scatter": np.asarray(summary.scatter_about())[upper],
        "rows": summary.sample.rows,
        "numbers": channels.numbers.astype(np.int64),
        "gaps": channels.gaps.astype(np.int64),
        "shares": channels.shares.astype(np.int64),
        "levels": _ends(channels.levels),
        "live": channels.live.astype(np.int64),
        "pairs": channels.pairs.astype(np.int64),
        "cost.mean": channels.cost.mean,
        "cost.map": channels.cost.map,
        "variance": channels.variance,
        "center": profile.center,
        "ranks.sizes": np.array([len(one.values) for one in sketches], dtype=np.int64),
        "ranks.values": np.concatenate([one.values for one in sketches]),
        "ranks.at": np.concatenate([one.at for one in sketches]),
    }
    # Means and deviations of the reference's own windows are not needed again, and six digits of
    # their channels are enough: a year of days stays at a few hundred kilobytes.
    kept = _record_tensors(profile.windows, "windows", 0, np.float32)
    return settings, {k: np.ascontiguousarray(v) for k, v in (tensors | kept).items()}


def _ends(groups: Sequence[NDArray[np.intp]]) -> NDArray[np.int64]:
    """The first place and the one behind the last, of groups without gaps."""
    found = [[int(own[0]), int(own[-1]) + 1] for own in groups]
    return np.array(found, dtype=np.int64).reshape(len(groups), 2)


def _record_tensors(
    records: Sequence[Record], name: str, width: int, dtype: type[np.floating[Any]]
) -> Tensors:
    def table(rows: list[Any], columns: int, kind: Any) -> NDArray[Any]:
        return np.array(rows, dtype=kind).reshape(len(records), columns)

    channels = len(records[0].values) if records else 0
    numbers = len(records[0].present) if records else 0
    found: Tensors = {
        f"{name}.counts": table([[r.code, r.rows, r.sampled] for r in records], 3, np.int64),
        f"{name}.values": table([r.values for r in records], channels, dtype),
        f"{name}.present": table([r.present for r in records], numbers, np.int32),
        f"{name}.effect": table([_effect_row(r.effect) for r in records], _EFFECT, np.float64),
    }
    if width:
        found[f"{name}.means"] = table([r.means for r in records], width, np.float64)
        found[f"{name}.deviations"] = table([r.deviations for r in records], width, np.float64)
    return found


def _effect_row(effect: Effect) -> list[float]:
    auc = effect.auc
    # A direction that one set lacks is infinitely far off; files hold finite numbers.
    parts = np.nan_to_num([effect.location, effect.scale, effect.shape], posinf=sys.float_info.max)
    return [auc.value, auc.low, auc.high, effect.error, *parts.tolist(), effect.neither]


# ---- reading ----------------------------------------------------------------------------------


def load_profile(path: str | os.PathLike[str]) -> Profile:
    """Read a profile."""
    found: Profile = _load(path, PROFILE, _profile)
    return found


def load_monitoring(path: str | os.PathLike[str]) -> Monitoring:
    """Read a monitoring."""
    found: Monitoring = _load(path, MONITORING, _monitoring)
    return found


def _load(path: str | os.PathLike[str], kind: str, read: Any) -> Any:
    name = os.fspath(path)
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"Cannot read {name}: {reason}.") from error
    try:
        parts, _ = unpacked(data, kind, FORMAT_VERSION)
        return read(_Entries(parts.settings, parts.tensors))
    except (ModelFileError, InputError) as error:
        raise ModelFileError(f"{name}: {error}") from error
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelFileError(f"{name}: The file is damaged: its parts do not fit.") from error


class _Entries(Reader):
    """Entries of a profile; arrays may be whole numbers or of single precision."""

    def whole(self, name: str, *shape: int | None, least: int, most: int) -> NDArray[np.intp]:
        found = self._shaped(name, shape, "i")
        if np.any(found < least) or np.any(found > most):
            raise ModelFileError(f"The file's array {name!r} is out of its range.")
        return found.astype(np.intp)

    def floats(self, name: str, *shape: int | None) -> Floats:
        found = self._shaped(name, shape, "f")
        if not np.isfinite(found).all():
            raise ModelFileError(f"The file's array {name!r} has the wrong shape or values.")
        return found.astype(np.float64)

    def _shaped(self, name: str, shape: tuple[int | None, ...], kind: str) -> NDArray[Any]:
        if name not in self.tensors:
            raise ModelFileError(f"The file lacks the array {name!r}; make it again.")
        found = self.tensors[name]
        fits = len(found.shape) == len(shape) and all(
            want in (None, have) for want, have in zip(shape, found.shape, strict=True)
        )
        if not fits or found.dtype.kind != kind:
            raise ModelFileError(f"The file's array {name!r} has the wrong shape or values.")
        return found

    def inside(self, name: str) -> _Entries:
        section = self.section(name)
        return _Entries(section.settings, section.tensors)


def _monitoring(read: _Entries) -> Monitoring:
    profile = _profile(read.inside("profile"))
    notes = read.value("notes", list)
    records = _records(read, profile.channels, profile.summary.n_features)
    return Monitoring(
        profile,
        records,
        read.number("false_alarms"),
        read.value("name", str),
        tuple(str(note) for note in notes),
    )


def _profile(read: _Entries) -> Profile:
    names = read.names("names", len(read.value("names", list)))
    if not names:
        raise ModelFileError("The file names no features.")
    d = len(names)
    plan = read.value("plan", dict, type(None))
    summary = _summary(read, names)
    channels = _channels(read, names)
    every = read.value("every", str, type(None))
    return Profile(
        read.value("name", str),
        None if plan is None else _checked_plan(EncodingPlan.from_dict(plan), names),
        summary,
        channels,
        _records(read, channels, 0, d),
        None if every is None else as_every(every),
        read.value("time", str),
        read.floats("center", len(channels.table) + 1),
    )


def _checked_plan(plan: EncodingPlan, names: tuple[str, ...]) -> EncodingPlan:
    if plan.feature_names != names:
        raise ModelFileError("The file's plan does not make its features.")
    return plan


def _summary(read: _Entries, names: tuple[str, ...]) -> Summary:
    d = len(names)
    scatter = np.zeros((d, d))
    upper = np.triu_indices(d)
    scatter[upper] = read.floats("scatter", len(upper[0]))
    scatter = scatter + np.triu(scatter, 1).T
    if np.any(np.diag(scatter) < 0):
        raise ModelFileError("The file's array 'scatter' is out of its range.")
    rows = read.floats("rows", None, d)
    n = read.number("n", least=1.0)
    return summary_of(
        n,
        read.integer("count", least=1, most=2**62),
        read.floats("mean", d),
        scatter,
        sample=_sample(rows, int(n)),
        eps=read.number("eps", most=1.0),
        names=names,
    )


def _sample(rows: Floats, n: int) -> RowSample:
    k = len(rows)
    if not k:
        return RowSample.empty(rows.shape[1], 0)
    # Priorities are uniform: of n rows, the k smallest are about evenly spread up to k/n.
    priority = np.arange(1, k + 1) / (n + 1)
    bound = float(priority[-1]) if k < n else float("inf")
    return RowSample(rows, np.ones(k), np.arange(k), priority, k, bound, n)


def _channels(read: _Entries, names: tuple[str, ...]) -> Channels:
    d = len(names)
    owners = read.names("owners", d) or names
    numbers = read.whole("numbers", None, least=0, most=d - 1)
    live = read.whole("live", None, least=0, most=d - 1)
    table = tuple(Channel(*_channel(entry, d)) for entry in read.value("table", list))
    sizes = read.whole("ranks.sizes", len(numbers) + 1, least=1, most=_MOST)
    total = int(sizes.sum())
    values, at = read.floats("ranks.values", total), read.floats("ranks.at", total)
    ends = np.cumsum(sizes)
    ranks = [
        Ranks(values[end - size : end], at[end - size : end])
        for size, end in zip(sizes.tolist(), ends.tolist(), strict=True)
    ]
    return Channels(
        names,
        owners,
        numbers,
        read.whole("gaps", len(numbers), least=-1, most=d - 1),
        read.whole("shares", None, least=0, most=d - 1),
        tuple(
            np.arange(start, stop, dtype=np.intp)
            for start, stop in read.whole("levels", None, 2, least=0, most=d).tolist()
        ),
        live,
        tuple(ranks[:-1]),
        read.whole("pairs", None, 2, least=0, most=d - 1),
        Cost(read.floats("cost.mean", len(live)), read.floats("cost.map", len(live), len(live))),
        ranks[-1],
        read.number("far"),
        read.number("shrinkage", most=1.0),
        table,
        read.floats("variance", len(table)),
    )


def _channel(entry: Any, d: int) -> tuple[str, str, str, int]:
    kind, column, second, feature = entry
    if not all(type(x) is str for x in (kind, column, second)) or type(feature) is not int:
        raise ModelFileError("The file's table of channels is damaged.")
    if not -1 <= feature < d:
        raise ModelFileError("The file's table of channels is damaged.")
    return kind, column, second, feature


def _records(
    read: _Entries, channels: Channels, width: int, d: int | None = None
) -> tuple[Record, ...]:
    counts = read.whole("windows.counts", None, 3, least=-(2**62), most=2**62)
    m = len(counts)
    if m == 0:
        return ()
    values = read.floats("windows.values", m, len(channels.table))
    present = read.whole("windows.present", m, len(channels.numbers), least=0, most=_MOST)
    effects = read.floats("windows.effect", m, _EFFECT)
    if np.any(counts[:, 1:] < 1) or np.any(effects[:, 3] < 0):
        raise ModelFileError("The file's windows are damaged.")
    none = np.zeros((m, d or width))
    means = read.floats("windows.means", m, width) if width else none
    deviations = read.floats("windows.deviations", m, width) if width else none
    return tuple(
        Record(
            int(counts[i, 0]),
            int(counts[i, 1]),
            int(counts[i, 2]),
            values[i],
            np.maximum(present[i], 1).astype(np.float64),
            means[i],
            deviations[i],
            _effect(effects[i]),
        )
        for i in range(m)
    )


def _effect(row: Floats) -> Effect:
    value, low, high, error, location, scale, shape, neither = row.tolist()
    return Effect(Estimate(value, low, high, 0.95), error, location, scale, shape, neither)
