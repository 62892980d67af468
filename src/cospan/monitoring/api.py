"""`monitor`: windows over time against a reference, in one call."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from cospan.base.arrays import one_blas_thread
from cospan.base.notes import Note, warn
from cospan.data import Source
from cospan.errors import InputError
from cospan.monitoring.files import is_monitoring_file, is_profile_file
from cospan.monitoring.profile import Profile, learn_profile
from cospan.monitoring.reading import opened, refuse_unknown
from cospan.monitoring.records import Record, record_of
from cospan.monitoring.result import Monitoring
from cospan.monitoring.timing import Every, as_every
from cospan.monitoring.windows import windows_of
from cospan.summary import Summary

Progress = Callable[[str, int, int | None], None]

_HOW_LONG = (
    'How long is a window? Say it with every=, for instance every="day" or every="1000-rows".'
)


def monitor(
    reference: Any,
    data: Any,
    *,
    time: Any = None,
    every: Any = None,
    false_alarms: float | None = None,
    name: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Monitoring:
    """Compare data with a reference, window by window.

    Every window is compared with the whole reference; alarm levels come from the reference's own
    windows, each compared with the reference without it. One pass over the data, in memory that
    does not grow with it.

    Parameters
    ----------
    reference : anything that :func:`cospan.data.open_source` takes, a Profile or its file
        Or a Monitoring or its file: then its windows stay, and those of `data` are added to them
        (or take the place of those there already).
    data : anything that :func:`cospan.data.open_source` takes, or a list of files
    time : column name or array of dates, optional
        When each row was. Needed for windows of time; by default the profile's column.
    every : {"hour", "day", "week", "month", "year"} or rows, optional
        How long a window is; a number or ``"1000-rows"`` counts rows. By default the profile's.
    false_alarms : float, optional
        False alarms a year that are acceptable; default 1. For windows counted in rows: in 365
        windows.
    name : str, optional
        What to call the data.
    seed : int
        For the samples of rows.
    progress : callable, optional
        Called as ``progress(stage, done, of)``.
    **options
        For the sources: columns, categorical, numeric, drop, strict.

    Examples
    --------
    >>> from cospan import monitor
    >>> rng = np.random.default_rng(0)
    >>> usual, later = rng.normal(size=(6000, 3)), rng.normal(size=(2000, 3))
    >>> later[1200:, 1] += 1
    >>> found = monitor(usual, later, every="200-rows")
    >>> print(found.verdict)
    4 of 10 windows raise an alarm. Since rows 1,201 to 1,400: mostly location: x1.
    """
    refuse_unknown(monitor, options)
    notes: list[Note] = []
    past = _past(reference, false_alarms)
    if past is not None:
        profile, allowed = past.profile, past.false_alarms
    else:
        allowed = _as_alarms(1.0 if false_alarms is None else false_alarms)
        profile = _profile(reference, time, every, seed, options, notes)
    length = _same_every(profile, every)
    profile = replace(profile, every=length)
    records, called = _measured(profile, data, time, length, seed, progress, options, notes)
    if past is None:
        past = Monitoring(profile, (), allowed, name or called)
    else:
        records = _after(past, records, length, notes)
    warn(notes)
    return past.extended(records, list(map(str, notes)), name or called)


def _past(reference: Any, false_alarms: float | None) -> Monitoring | None:
    if isinstance(reference, str | os.PathLike) and is_monitoring_file(reference):
        reference = Monitoring.load(reference)
    if not isinstance(reference, Monitoring):
        return None
    if false_alarms is not None and _as_alarms(false_alarms) != reference.false_alarms:
        raise InputError(
            f"This monitoring was begun with false_alarms={reference.false_alarms!r}; "
            "leave that out, or begin a new one."
        )
    return reference


def _after(
    past: Monitoring, records: list[Record], length: Every, notes: list[Note]
) -> list[Record]:
    """Windows to be added. Those counted in rows follow the last one; others may replace some."""
    if not length.timed:
        first = 1 + max((one.code for one in past.records), default=-1)
        return [one._replace(code=first + one.code) for one in records]
    known = {one.code: one.rows for one in past.records}
    for one in records:
        if known.get(one.code, one.rows) != one.rows:  # else the same rows were given again
            window, n = length.label(one.code), known[one.code]
            text = (
                f"{window} was there already, with {n:,} rows; the {one.rows:,} rows now given "
                "take their place."
            )
            notes.append(Note("window replaced", text, loud=True))
    return records


def _as_alarms(value: Any) -> float:
    number = isinstance(value, int | float | np.integer | np.floating)
    if isinstance(value, bool) or not number or not 0 < value <= sys.float_info.max:
        raise InputError(
            f"{value!r} is not a number of false alarms; give false_alarms= a number above 0."
        )
    return float(value)


def _profile(
    reference: Any,
    time: Any,
    every: Any,
    seed: int,
    options: dict[str, Any],
    notes: list[Note],
) -> Profile:
    if isinstance(reference, str | os.PathLike) and (
        is_profile_file(reference) or os.fspath(reference).endswith(".cospan")
    ):
        reference = Profile.load(reference)
    if isinstance(reference, Profile):
        return reference
    if every is None:
        raise InputError(_HOW_LONG)
    if not isinstance(time, str | None):
        time = every = None  # its times are not given
    return learn_profile(reference, notes, time=time, every=every, seed=seed, **options)


def _same_every(profile: Profile, every: Any) -> Every:
    """How long windows are: as asked, and as the reference's are."""
    if every is None:
        if profile.every is None:
            raise InputError(_HOW_LONG)
        return profile.every
    length = as_every(every)
    if profile.every is not None and profile.every != length:
        raise InputError(
            f"The reference has {profile.every.plural} and every= asks for "
            f"{length.plural}; make both the same."
        )
    return length


def _measured(
    profile: Profile,
    data: Any,
    time: Any,
    length: Every,
    seed: int,
    progress: Progress | None,
    options: dict[str, Any],
    notes: list[Note],
) -> tuple[list[Record], str]:
    if time is None and length.timed:
        time = profile.time or None
    sources = opened(data, time, **options)
    called = sources[0].name if len(sources) == 1 else f"{len(sources)} sets"
    _check_width(profile, sources[0])
    measured = _Measured(profile)
    windows = windows_of(
        sources, profile.plan, time, length, seed=seed, name=called, passed=measured.add
    )
    notes += windows.notes
    ordered = windows.ordered()
    found = []
    with one_blas_thread():  # products of few rows: threads would wait for each other
        for done, (code, part) in enumerate(ordered):
            if progress is not None:
                progress("comparing windows", done, len(ordered))
            found.append(measured.of(code, part))
    return found, called


class _Measured:
    """Records of windows, those that time has passed while further rows are read."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._known: dict[int, Record] = {}

    def add(self, passed: list[tuple[int, Summary]]) -> None:
        with one_blas_thread():
            for code, part in passed:
                self._known[code] = self._measure(code, part)

    def of(self, code: int, part: Summary) -> Record:
        """The record of a window as it is in the end: rows may have come late."""
        known = self._known.get(code)
        if known is not None and (known.rows, known.sampled) == (part.count, len(part.sample)):
            return known
        return self._measure(code, part)

    def _measure(self, code: int, part: Summary) -> Record:
        own = self.profile
        return record_of(code, part, own.channels, own.summary, own.summary.sample.rows)


def _check_width(profile: Profile, source: Any) -> None:
    if profile.plan is None and not isinstance(source, Source):
        raise InputError(f"{source.name} is a table, and the reference is an array without names.")
    if profile.plan is None and source.n_features != profile.summary.n_features:
        raise InputError(
            f"{source.name} has {source.n_features} features and the reference "
            f"{profile.summary.n_features}."
        )
