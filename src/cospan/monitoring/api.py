"""`monitor`: windows over time against a reference, in one call."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from difflib import get_close_matches
from inspect import signature

import numpy as np

from cospan.base.checks import as_option, is_real
from cospan.base.notes import Note, warn
from cospan.base.types import Data, Option, Record
from cospan.comparison import compare
from cospan.data import Options, Source
from cospan.errors import CospanError, CospanWarning, InputError
from cospan.model_file import PROFILE, is_file_of

from .profile import Profile
from .result import FEWEST_ROWS, Monitoring, Window, is_monitoring_file
from .windows import Kept, as_every, opened, read_windows

Progress = Callable[[str, int, int | None], None]


def monitor(
    reference: Data,
    data: Data,
    *,
    time: str | None = None,
    every: str | int | None = None,
    false_alarms: float | None = None,
    details: str = "alarms",
    rolling: bool | None = None,
    name: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Option,
) -> Monitoring:
    """Compare data with a reference, window by window, and say since when something is different.

    Deviations are added up from window to window, so that a small change that lasts is seen, and
    thresholds follow from how the reference's own windows vary. A window that raises an alarm has
    what :func:`cospan.compare` says of the reference's kept rows and its own. One pass over the
    data, in memory that does not grow.

    Parameters
    ----------
    reference : anything that :func:`cospan.data.open_source` takes, a Profile or its file
        Or a Monitoring or its file: then its windows stay, and those of `data` are added to them
        (or take the place of those there already). Fewer than 14 windows cannot judge yet; 60 are
        recommended.
    data : anything that :func:`cospan.data.open_source` takes, or a list of files
    time : column name, optional
        When each row was. Needed for windows of time; by default the profile's column.
    every : {"hour", "day", "week", "month", "year"} or rows, optional
        How long a window is; a number or ``"1000-rows"`` counts rows. By default the profile's.
    false_alarms : float, optional
        False alarms a year that are acceptable; default 1. For windows counted in rows: in 365
        windows. It holds for windows that vary as the reference's did, with a memory below a week.
    details : {"alarms", "all"}
        Which windows are compared with the reference: those that raise an alarm, or all.
    rolling : bool, optional
        Let the reference move along: the windows before, a week apart. It follows a season, and
        takes a lasting fault for usual after as many windows as the reference has.
    name : str, optional
        What to call the data.
    seed : int
        For the relabellings of comparisons.
    progress : callable, optional
        Called as ``progress(stage, done, of)``.
    **options
        For the sources: columns, categorical, numeric, drop, keep.

    Examples
    --------
    >>> from cospan import monitor
    >>> rng = np.random.default_rng(0)
    >>> usual, later = rng.normal(size=(6000, 3)), rng.normal(size=(2000, 3))
    >>> later[1200:, 1] += 1
    >>> found = monitor(usual, later, every="200-rows")
    >>> print(found.episodes[0].start, found.episodes[0].columns)
    1201 ('x1',)
    """
    known = [*signature(monitor).parameters, *(field.name for field in fields(Options))]
    for key in options.keys() - set(known):
        close = get_close_matches(key, known, 1)
        meant = f"did you mean {close[0]}=?" if close else "help(cospan.monitor) lists them."
        raise TypeError(f"monitor has no argument {key}=; {meant}")
    as_option(details, "details", ("alarms", "all"))
    if false_alarms is not None and not (is_real(false_alarms) and 0 < false_alarms < math.inf):
        raise InputError(
            f"{false_alarms!r} is not a number of false alarms; give false_alarms= one above 0."
        )
    past = _begun(reference, time, every, options)
    past = replace(
        past,
        rate=past.rate if false_alarms is None else float(false_alarms),
        rolling=past.rolling if rolling is None else rolling,
    )
    notes: list[Note] = []
    found, kept = _measured(past, data, time, name, options, notes)
    found = _compared(found, kept, details == "all", seed, progress)
    warn(notes)
    return replace(found, notes=tuple(dict.fromkeys([*found.notes, *map(str, notes)])))


def _begun(reference: Data, time: str | None, every: Option, options: Record) -> Monitoring:
    """The monitoring to go on from, or a new one without windows."""
    path = os.fspath(reference) if isinstance(reference, str | os.PathLike) else ""
    if path and is_monitoring_file(path):
        reference = Monitoring.load(path)
    elif path and (is_file_of(path, PROFILE) or path.endswith(".cospan")):
        reference = Profile.load(path)
    elif not isinstance(reference, Monitoring | Profile):
        reference = Profile.of(reference, time=time, every=every, **options)
    profile = reference.reference if isinstance(reference, Monitoring) else reference
    length = profile.every if every is None else as_every(every)
    if length is None:
        raise InputError(
            'How long is a window? Say it with every=, for instance every="day" or '
            'every="1000-rows".'
        )
    if profile.every not in (None, length):
        raise InputError(
            f"The reference has windows of {profile.every} and every= asks for {length}; make "
            "both the same."
        )
    if isinstance(reference, Monitoring):
        return replace(reference, went_on=True)
    none = profile.windows.take(np.zeros(0, dtype=np.intp))
    said = tuple(map(str, profile.notes))
    return Monitoring(replace(profile, every=length), none, {}, 1.0, "", notes=said)


def _measured(
    past: Monitoring,
    data: Data,
    time: str | None,
    name: str | None,
    options: Record,
    notes: list[Note],
) -> tuple[Monitoring, Kept]:
    """The monitoring with the windows of the data, and their rows."""
    profile, every, old = past.reference, past.every, past.measured
    if time is None and every.timed:
        time = profile.time or None
    sources = opened(data, time, **options)
    called = name or (sources[0].name if len(sources) == 1 else f"{len(sources)} sets")
    own = "a table" if profile.plan is not None else f"an array of {len(profile.names)} features"
    for one in sources:
        kind = f"an array of {one.n_features} features" if isinstance(one, Source) else "a table"
        if kind != own:
            raise InputError(f"{one.name} is {kind}, and the reference is {own}.")
    kept = read_windows(sources, time, every, called, notes)
    if not every.timed and len(old.codes):
        kept = kept._replace(codes=kept.codes + 1 + old.codes[-1])
    new, findings = profile.measure(kept)
    _, a, b = np.intersect1d(old.codes, new.codes, return_indices=True)
    changed = (old.counts[a] != new.counts[b]) | (old.digests[a] != new.digests[b])
    for i, j in zip(a[changed], b[changed], strict=True):
        text = (
            f"{every.label(int(new.codes[j]))} was there already, with {old.counts[i]:,} rows; the "
            f"{new.counts[j]:,} rows now given take their place."
        )
        notes.append(Note("window replaced", text, loud=True))
    both = zip(new.codes.tolist(), new.counts.tolist(), findings, strict=True)
    met = {code: Window(code, every, n, found) for code, n, found in both}
    longer = replace(
        past,
        measured=old.joined(new),
        met={**past.met, **met},
        latest=frozenset(met),
        name=f"{called} and earlier windows" if len(old.codes) else called,
    )
    return longer, kept


def _compared(
    found: Monitoring, kept: Kept, every: bool, seed: int, progress: Progress | None
) -> Monitoring:
    """With comparisons of the windows that raise an alarm, or of all where that is wanted."""
    profile, met = found.reference, dict(found.met)
    every = every or not found.can_judge
    windows = [one for one in found.windows if one.code in found.latest]
    wanted = [one for one in windows if one.alarm or (every and one.rows >= FEWEST_ROWS)]
    for done, window in enumerate(wanted):
        if progress is not None:
            progress("comparing windows", done, len(wanted))
        rows = kept.of(int(np.searchsorted(kept.codes, window.code)))
        with warnings.catch_warnings(), suppress(CospanError):
            warnings.simplefilter("ignore", CospanWarning)
            pair = compare(
                profile.kept_rows, rows, name_a=profile.name, name_b=window.label, seed=seed,
                **profile.options,
            )  # fmt: skip
            one = met[window.code]
            findings = tuple(dict.fromkeys((*one.findings, *pair.findings)))
            met[window.code] = replace(
                one, findings=findings, size=pair.size, p=pair.p, comparison=pair
            )
    return replace(found, met=met)
