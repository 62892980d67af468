"""Profiles and windows as named arrays and plain settings, and back.

The tables say how each array is kept; both ways follow them. Every entry of a file is asked for by
name and checked.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._types import Floats
from cospan.errors import ModelFileError
from cospan.monitoring.channels import Channel, Channels
from cospan.monitoring.cost import Cost
from cospan.monitoring.effect import Effect
from cospan.monitoring.entries import Entries, Kept
from cospan.monitoring.moments import sample_of, summary_of
from cospan.monitoring.profile import Profile
from cospan.monitoring.ranks import Ranks
from cospan.monitoring.records import Record
from cospan.monitoring.result import Monitoring
from cospan.monitoring.scatter import read_scatter, scatter_parts
from cospan.monitoring.timing import as_every
from cospan.significance import Estimate
from cospan.sources import EncodingPlan
from cospan.summary import Summary

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
    return [auc.value, auc.low, auc.high, error, *finite, neither]


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
    return Effect(Estimate(value, low, high, 0.95), *rest)
