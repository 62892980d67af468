"""Profiles and monitorings out of files: every entry is asked for by name and checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cospan._types import Floats
from cospan.errors import ModelFileError
from cospan.model_file.reader import Reader
from cospan.monitoring.channels import Channel, Channels
from cospan.monitoring.cost import Cost
from cospan.monitoring.effect import Effect
from cospan.monitoring.moments import sample_of, summary_of
from cospan.monitoring.profile import Profile
from cospan.monitoring.ranks import Ranks
from cospan.monitoring.records import Record
from cospan.monitoring.result import Monitoring
from cospan.monitoring.scatter import read_scatter
from cospan.monitoring.taking_apart import EFFECT, units_of
from cospan.monitoring.timing import as_every
from cospan.significance import Estimate
from cospan.sources import EncodingPlan
from cospan.summary import Summary

_MOST = 2**31


class Entries(Reader):
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

    def inside(self, name: str) -> Entries:
        section = self.section(name)
        return Entries(section.settings, section.tensors)


def read_monitoring(read: Entries) -> Monitoring:
    profile = read_profile(read.inside("profile"))
    notes = read.value("notes", list)
    records = _records(read, profile.channels)
    return Monitoring(
        profile,
        records,
        read.number("false_alarms"),
        read.value("name", str),
        tuple(str(note) for note in notes),
    )


def read_profile(read: Entries) -> Profile:
    names = read.names("names", len(read.value("names", list)))
    if not names:
        raise ModelFileError("The file names no features.")
    plan = read.value("plan", dict, type(None))
    summary = _summary(read, names)
    channels = _channels(read, names, summary)
    every = read.value("every", str, type(None))
    own = "own.sizes" in read.tensors
    return Profile(
        read.value("name", str),
        None if plan is None else _checked_plan(EncodingPlan.from_dict(plan), names),
        summary,
        channels,
        _reference_windows(read, channels, summary),
        None if every is None else as_every(every),
        read.value("time", str),
        read.floats("center", len(channels.table) + 1),
        _sketches(read, "own", len(channels.numbers)) if own else channels.ranks,
    )


def _checked_plan(plan: EncodingPlan, names: tuple[str, ...]) -> EncodingPlan:
    if plan.feature_names != names:
        raise ModelFileError("The file's plan does not make its features.")
    return plan


def _summary(read: Entries, names: tuple[str, ...]) -> Summary:
    d = len(names)
    scatter = read_scatter(read, d)
    rows = read.floats("rows", None, d)
    n = read.number("n", least=1.0)
    return summary_of(
        n,
        read.integer("count", least=1, most=2**62),
        read.floats("mean", d),
        scatter,
        sample=sample_of(rows, int(n)),
        eps=read.number("eps", most=1.0),
        names=names,
    )


def _channels(read: Entries, names: tuple[str, ...], summary: Summary) -> Channels:
    d = len(names)
    owners = read.names("owners", d) or names
    numbers = read.whole("numbers", None, least=0, most=d - 1)
    live = read.whole("live", None, least=0, most=d - 1)
    table = tuple(Channel(*_channel(entry, d)) for entry in read.value("table", list))
    ranks = _sketches(read, "ranks", len(numbers) + 1)
    shrinkage = read.number("shrinkage", most=1.0)
    pairs = read.whole("pairs", None, 2, least=0, most=d - 1)
    found = Channels(
        names,
        owners,
        numbers,
        read.whole("indicators", d, least=-1, most=d - 1),
        read.whole("shares", None, least=0, most=d - 1),
        tuple(
            np.arange(start, stop, dtype=np.intp)
            for start, stop in read.whole("levels", None, 2, least=0, most=d).tolist()
        ),
        live,
        ranks[:-1],
        pairs,
        read.floats("related", len(pairs)),
        _cost(read, summary, live, shrinkage),
        ranks[-1],
        read.number("far"),
        shrinkage,
        table,
        read.floats("variance", len(table)),
    )
    return _checked_table(found)


def _sketches(read: Entries, name: str, n: int) -> tuple[Ranks, ...]:
    sizes = read.whole(f"{name}.sizes", n, least=1, most=_MOST)
    total = int(sizes.sum())
    values, at = read.floats(f"{name}.values", total), read.floats(f"{name}.at", total)
    ends = np.cumsum(sizes)
    return tuple(
        Ranks(values[end - size : end], at[end - size : end])
        for size, end in zip(sizes.tolist(), ends.tolist(), strict=True)
    )


def _cost(read: Entries, summary: Summary, live: NDArray[np.intp], shrinkage: float) -> Cost:
    """What rows cost the reference: as it is in the file, or else as the summary has it."""
    if "cost.mean" not in read.tensors:
        return Cost.of(summary, live, shrinkage)
    upper = np.triu_indices(len(live))
    matrix = np.zeros((len(live), len(live)))
    matrix[upper] = read.floats("cost.map", len(upper[0]))
    return Cost(read.floats("cost.mean", len(live)), matrix)


def _checked_table(channels: Channels) -> Channels:
    """Does the table have what is measured?"""
    if len(channels.table) != channels.ends + 2:
        raise ModelFileError("The file was made by another version of cospan; make it again.")
    return channels


def _channel(entry: Any, d: int) -> tuple[str, str, str, int]:
    kind, column, second, feature = entry
    if not all(type(x) is str for x in (kind, column, second)) or type(feature) is not int:
        raise ModelFileError("The file's table of channels is damaged.")
    if not -1 <= feature < d:
        raise ModelFileError("The file's table of channels is damaged.")
    return kind, column, second, feature


def _reference_windows(read: Entries, channels: Channels, summary: Summary) -> tuple[Record, ...]:
    """The reference's own windows: their means are in units of the whole."""
    mean, unit = units_of(summary)
    return tuple(
        one._replace(means=mean + unit * one.means, deviations=unit * one.deviations)
        for one in _records(read, channels)
    )


def _records(read: Entries, channels: Channels) -> tuple[Record, ...]:
    counts = read.whole("windows.counts", None, 3, least=-(2**62), most=2**62)
    m = len(counts)
    if m == 0:
        return ()
    values = read.floats("windows.values", m, len(channels.table))
    present = read.whole("windows.present", m, len(channels.numbers), least=0, most=_MOST)
    effects = read.floats("windows.effect", m, EFFECT)
    doubt = read.floats("windows.doubt", m, len(channels.pairs))
    if np.any(counts[:, 1:] < 1) or np.any(effects[:, 3] < 0) or np.any(doubt < 0):
        raise ModelFileError("The file's windows are damaged.")
    width = len(channels.names)
    means = read.floats("windows.means", m, width)
    deviations = read.floats("windows.deviations", m, width)
    return tuple(
        Record(
            int(counts[i, 0]),
            int(counts[i, 1]),
            int(counts[i, 2]),
            values[i],
            np.maximum(present[i], 1).astype(np.float64),
            doubt[i],
            means[i],
            deviations[i],
            _effect(effects[i]),
        )
        for i in range(m)
    )


def _effect(row: Floats) -> Effect:
    value, low, high, error, location, scale, shape, neither = row.tolist()
    return Effect(Estimate(value, low, high, 0.95), error, location, scale, shape, neither)
