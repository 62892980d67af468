"""Profiles and monitorings in files that are safe to pass on: safetensors, nothing unpickled.

Every entry is asked for by name and checked, so that a damaged file, or one that is something
else, gives one sentence and never a half-built object.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cospan.base.files import check_output, whole_file
from cospan.base.types import Floats, Index
from cospan.data import EncodingPlan
from cospan.errors import InputError, ModelFileError
from cospan.evidence import Size
from cospan.model_file.container import file_bytes, is_file_of, packed, unpacked
from cospan.model_file.reader import Parts, Reader
from cospan.monitoring.channels import Channel, Channels, Cost
from cospan.monitoring.moments import sample_of, summary_of
from cospan.monitoring.profile import Profile
from cospan.monitoring.ranks import Ranks
from cospan.monitoring.records import Effect, Record
from cospan.monitoring.result import Monitoring
from cospan.monitoring.timing import as_every
from cospan.summary import Summary

#: A length, or the name of one: one that is known, or else what the first array of it has.
Length = int | str


class Kept(NamedTuple):
    """An array in a file: its type, its shape and, of whole numbers, the least and the end.

    Floats that need not be `exact` are in single precision in the file of a profile.
    """

    dtype: type[np.generic]
    shape: tuple[Length, ...]
    within: tuple[int, Length] = (0, 2**31)
    exact: bool = True


class Entries(Reader):
    """Entries of a profile; arrays may be whole numbers or of single precision."""

    def array(self, name: str, kept: Kept, sizes: dict[str, int]) -> NDArray[Any]:
        """One array; a size that is not known yet is what this array has."""
        if name not in self.tensors:
            raise ModelFileError(f"The file lacks the array {name!r}; make it again.")
        found = self.tensors[name]
        fits = len(found.shape) == len(kept.shape) and all(
            have == (sizes.setdefault(want, have) if isinstance(want, str) else want)
            for want, have in zip(kept.shape, found.shape, strict=True)
        )
        whole = issubclass(kept.dtype, np.integer)
        if not fits or found.dtype.kind != "fi"[whole] or not np.isfinite(found).all():
            raise ModelFileError(f"The file's array {name!r} has the wrong shape or values.")
        least, end = kept.within
        end = sizes[end] if isinstance(end, str) else end
        if whole and np.any((found < least) | (found >= end)):
            raise ModelFileError(f"The file's array {name!r} is out of its range.")
        return found.astype(np.intp if whole else np.float64)

    def floats(self, name: str, *shape: int | str) -> Floats:
        return self.array(name, Kept(np.float64, shape), {})

    def whole(self, name: str, size: int | str, least: int, below: int) -> Index:
        return self.array(name, Kept(np.int64, (size,), (least, below)), {})

    def inside(self, name: str) -> Entries:
        section = self.section(name)
        return Entries(section.settings, section.tensors)


def scatter_parts(summary: Summary) -> dict[str, NDArray[Any]]:
    """The scatter as tensors."""
    scatter = np.asarray(summary.scatter_about())
    varying = np.flatnonzero(np.diag(scatter) > 0)
    inner = scatter[np.ix_(varying, varying)]
    places = {"scatter.varying": varying.astype(np.int64)}
    if summary.count < len(varying):
        factor = _factor(inner)
        if 2 * len(factor) < len(inner):
            return places | {"scatter.factor": factor}
    return places | {"scatter": inner[np.triu_indices(len(inner))]}


def _factor(scatter: Floats) -> Floats:
    """F with Fᵀ F = scatter, with as few rows as its rank.

    Of the correlations, since a tolerance relative to the largest variance would lose the
    features with small units.
    """
    from scipy.linalg.lapack import dpstrf

    unit = np.sqrt(np.diag(scatter))
    triangle, order, rank, _ = dpstrf(scatter / unit / unit[:, None])
    factor = np.zeros((rank, len(unit)))
    factor[:, order - 1] = np.triu(triangle)[:rank]
    return np.asarray(factor * unit)


def read_scatter(read: Entries, d: int) -> Floats:
    """The scatter of a file's `d` features."""
    varying = read.whole("scatter.varying", "varying", least=0, below=d)
    if np.any(np.diff(varying) <= 0):
        raise ModelFileError("The file's array 'scatter.varying' is out of its range.")
    m = len(varying)
    if "scatter.factor" in read.tensors:
        factor = read.floats("scatter.factor", "rows", m)
        with np.errstate(over="ignore", invalid="ignore"):  # refused below
            inner = factor.T @ factor
    else:
        upper = np.triu_indices(m)
        inner = np.zeros((m, m))
        inner[upper] = read.floats("scatter", len(upper[0]))
        inner = inner + np.triu(inner, 1).T
    if np.any(np.diag(inner) < 0) or not np.isfinite(inner).all():
        raise ModelFileError("The file's scatter is out of its range.")
    scatter = np.zeros((d, d))
    scatter[np.ix_(varying, varying)] = inner
    return scatter


Tensors = dict[str, NDArray[Any]]

#: Arrays of d features, k of them numbers, and c channels. Those of the channels first.
OF_CHANNELS = {
    "numbers": Kept(np.int64, ("k",), (0, "d")),
    "indicators": Kept(np.int64, ("d",), (-1, "d")),
    "shares": Kept(np.int64, ("shares",), (0, "d")),
    "live": Kept(np.int64, ("live",), (0, "d")),
    "pairs": Kept(np.int32, ("pairs", 2), (0, "d")),
    "related": Kept(np.float64, ("pairs",)),
    "variance": Kept(np.float64, ("c",)),
}
OF_PROFILE = OF_CHANNELS | {
    "mean": Kept(np.float64, ("d",)),
    "rows": Kept(np.float64, ("rows", "d")),
    "levels": Kept(np.int64, ("categories", 2), (0, "d+1")),
    "center": Kept(np.float64, ("c+1",)),
}
#: Arrays of m windows.
OF_WINDOWS = {
    "counts": Kept(np.int64, ("m", 3), (-(2**62), 2**62)),  # code, rows, sampled
    "values": Kept(np.float64, ("m", "c"), exact=False),
    "present": Kept(np.int32, ("m", "k")),
    "doubt": Kept(np.float32, ("m", "pairs")),
    "means": Kept(np.float64, ("m", "d"), exact=False),
    "deviations": Kept(np.float64, ("m", "d"), exact=False),
    "effect": Kept(np.float64, ("m", 8)),
}


# ---- taking apart ------------------------------------------------------------------------------


def profile_parts(profile: Profile) -> tuple[dict[str, Any], Tensors]:
    channels, summary = profile.channels, profile.summary
    settings = {
        "name": profile.name,
        "plan": None if profile.plan is None else profile.plan.to_dict(),
        "names": list(channels.names),
        "owners": list(channels.owners),
        "table": [list(channel) for channel in channels.table],
        "every": None if profile.every is None else str(profile.every),
        "time": profile.time,
        "n": float(summary.n),
        "count": int(summary.count),
        "eps": float(summary.eps),
        "far": float(channels.far),
        "shrinkage": float(channels.shrinkage),
    }
    ends = [[int(own[0]), int(own[-1]) + 1] for own in channels.levels]  # without gaps between
    given = {key: getattr(channels, key) for key in OF_CHANNELS} | {
        "mean": summary.mean,
        "rows": summary.sample.rows,
        "levels": np.array(ends).reshape(len(ends), 2),
        "center": profile.center,
    }
    # Six digits of the reference's own windows are enough: a year of days stays at a few hundred
    # kilobytes. Means and deviations are in units of the whole, lest a date lose its day.
    mean, unit = _units(summary)
    windows = [
        one._replace(means=(one.means - mean) / unit, deviations=one.deviations / unit)
        for one in profile.windows
    ]
    return settings, (
        {key: np.ascontiguousarray(given[key], kept.dtype) for key, kept in OF_PROFILE.items()}
        | _sketch_tensors((*channels.ranks, channels.cost_ranks))
        | record_tensors(windows, np.float32)
        | scatter_parts(summary)
    )


def record_tensors(
    records: Sequence[Record], precision: type[np.floating[Any]] = np.float64
) -> Tensors:
    """Windows as arrays, one row for each; without windows only the counts, of none."""
    if not records:
        return {"windows.counts": np.zeros((0, 3), dtype=np.int64)}
    columns: dict[str, list[Any]] = {
        key: [getattr(one, key) for one in records] for key in OF_WINDOWS if key != "counts"
    }
    columns["counts"] = [one[:3] for one in records]
    columns["effect"] = [_effect_row(effect) for effect in columns["effect"]]
    return {
        f"windows.{key}": np.array(columns[key], kept.dtype if kept.exact else precision)
        for key, kept in OF_WINDOWS.items()
    }


def _effect_row(effect: Effect) -> list[float]:
    auc, error, *parts, neither = effect
    # A direction that one set lacks is infinitely far off; files hold finite numbers.
    finite = np.nan_to_num(parts, posinf=sys.float_info.max).tolist()
    return [float(auc), auc.low, auc.high, error, *finite, neither]


def _sketch_tensors(sketches: Sequence[Ranks]) -> Tensors:
    return {
        "ranks.sizes": np.array([len(one.values) for one in sketches], dtype=np.int64),
        "ranks.values": np.concatenate([one.values for one in sketches]),
        "ranks.at": np.concatenate([one.at for one in sketches]),
    }


def _units(summary: Summary) -> tuple[Floats, Floats]:
    """Means and standard deviations of all features, 1 for those that do not vary."""
    variance = np.diag(np.asarray(summary.scatter_about())) / summary.n
    return np.asarray(summary.mean), np.sqrt(np.where(variance > 0, variance, 1.0))


# ---- putting together --------------------------------------------------------------------------


def read_monitoring(read: Entries) -> Monitoring:
    profile = read_profile(read.inside("profile"))
    notes = read.value("notes", list)
    channels = profile.channels
    sizes = {"d": len(channels.names), "k": len(channels.numbers), "c": len(channels.table)}
    sizes["pairs"] = len(channels.pairs)
    return Monitoring(
        profile,
        _records(read, sizes),
        read.number("false_alarms"),
        read.value("name", str),
        tuple(str(note) for note in notes),
    )


def read_profile(read: Entries) -> Profile:
    names = read.names("names", len(read.value("names", list)))
    if not names:
        raise ModelFileError("The file names no features.")
    plan = read.value("plan", dict, type(None))
    d, table = len(names), read.value("table", list)
    sizes = {"d": d, "d+1": d + 1, "c": len(table), "c+1": len(table) + 1}
    arrays = {key: read.array(key, kept, sizes) for key, kept in OF_PROFILE.items()}
    summary = _summary(read, names, arrays)
    channels = _channels(read, names, summary, arrays)
    every = read.value("every", str, type(None))
    # The means of the reference's own windows are in units of the whole.
    mean, unit = _units(summary)
    windows = (
        one._replace(means=mean + unit * one.means, deviations=unit * one.deviations)
        for one in _records(read, sizes)
    )
    return Profile(
        read.value("name", str),
        None if plan is None else _checked_plan(EncodingPlan.from_dict(plan), names),
        summary,
        channels,
        tuple(windows),
        None if every is None else as_every(every),
        read.value("time", str),
        arrays["center"],
    )


def _checked_plan(plan: EncodingPlan, names: tuple[str, ...]) -> EncodingPlan:
    if plan.feature_names != names:
        raise ModelFileError("The file's plan does not make its features.")
    return plan


def _summary(read: Entries, names: tuple[str, ...], arrays: Tensors) -> Summary:
    n = read.number("n", least=1.0)
    if not len(arrays["rows"]):
        raise ModelFileError("The file holds no rows of the reference; make it again.")
    return summary_of(
        n,
        read.integer("count", least=1, most=2**62),
        arrays["mean"],
        read_scatter(read, len(names)),
        sample=sample_of(arrays["rows"], int(n)),
        eps=read.number("eps", most=1.0),
        names=names,
    )


def _channels(read: Entries, names: tuple[str, ...], summary: Summary, arrays: Tensors) -> Channels:
    *ranks, cost_ranks = _sketches(read, len(arrays["numbers"]) + 1)
    shrinkage = read.number("shrinkage", most=1.0)
    found = Channels(
        names=names,
        owners=read.names("owners", len(names)) or names,
        levels=tuple(np.arange(*ends, dtype=np.intp) for ends in arrays["levels"].tolist()),
        ranks=tuple(ranks),
        cost=Cost.of(summary, arrays["live"], shrinkage),
        cost_ranks=cost_ranks,
        far=read.number("far"),
        shrinkage=shrinkage,
        table=tuple(_channel(entry, len(names)) for entry in read.value("table", list)),
        **{key: arrays[key] for key in OF_CHANNELS},
    )
    # Does the table have what is measured?
    if len(found.table) != found.ends + 2:
        raise ModelFileError("The file was made by another version of cospan; make it again.")
    return found


def _channel(entry: Any, d: int) -> Channel:
    found = Channel(*entry)
    kinds = [type(value) for value in found]
    if kinds != [str, str, str, int] or not -1 <= found.feature < d:
        raise ModelFileError("The file's table of channels is damaged.")
    return found


def _sketches(read: Entries, n: int) -> tuple[Ranks, ...]:
    sizes = read.whole("ranks.sizes", n, least=1, below=2**31)
    total = int(sizes.sum())
    values, at = read.floats("ranks.values", total), read.floats("ranks.at", total)
    ends = np.cumsum(sizes)[:-1]
    return tuple(map(Ranks, np.split(values, ends), np.split(at, ends)))[:n]


def _records(read: Entries, sizes: dict[str, int]) -> tuple[Record, ...]:
    sizes = {**sizes}
    if not len(read.array("windows.counts", OF_WINDOWS["counts"], sizes)):
        return ()
    of = {key: read.array(f"windows.{key}", kept, sizes) for key, kept in OF_WINDOWS.items()}
    if np.any(of["counts"][:, 1:] < 1) or np.any(of["effect"][:, 3] < 0) or np.any(of["doubt"] < 0):
        raise ModelFileError("The file's windows are damaged.")
    of["present"] = np.maximum(of["present"], 1).astype(np.float64)
    found = []
    for i, counts in enumerate(of.pop("counts").tolist()):
        row = {key: values[i] for key, values in of.items()}
        found.append(Record(*counts, **row | {"effect": _effect(row["effect"])}))
    return tuple(found)


def _effect(row: Floats) -> Effect:
    value, low, high, *rest = row.tolist()
    return Effect(Size(value, low, high), *rest)


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
        return read(Entries(*unpacked(data, kind, FORMAT_VERSION)))
    except (ModelFileError, InputError) as error:
        raise ModelFileError(f"{name}: {error}") from error
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelFileError(f"{name}: The file is damaged: its parts do not fit.") from error
