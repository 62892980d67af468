"""`monitor`: windows over time against a reference, in one call."""

from __future__ import annotations

import math
import os
import warnings
from contextlib import suppress
from dataclasses import fields, replace

from cospan.base.checks import as_option, is_real
from cospan.base.types import Data, Option, Record
from cospan.comparison import Progress, compare
from cospan.data import Options
from cospan.errors import CospanError, CospanWarning, InputError
from cospan.model_file import PROFILE, is_file_of

from .profile import Profile
from .result import FEWEST_ROWS, Monitoring
from .windows import Kept, as_every, read_windows


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
        How long a window is; a number or ``"1000-rows"`` counts rows. By default the profile's, or
        1,000 rows.
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
    for key in options.keys() - {field.name for field in fields(Options)}:
        raise TypeError(f"monitor has no argument {key}=; help(cospan.monitor) lists them.")
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
    time = past.reference.time or None if time is None else time
    kept = read_windows(data, time, past.every, name, **options)
    return _compared(past.extended(kept), kept, details == "all", progress)


def _begun(reference: Data, time: str | None, every: Option, options: Record) -> Monitoring:
    """The monitoring to go on from, or a new one without windows."""
    path = os.fspath(reference) if isinstance(reference, str | os.PathLike) else ""
    if path and (is_file_of(path, PROFILE) or path.endswith(".cospan")):
        reference = replace(Monitoring.load(path), origin=os.path.realpath(path))
    elif not isinstance(reference, Monitoring | Profile):
        reference = Profile.of(reference, time=time, every=every, **options)
    past = Monitoring.begun(reference) if isinstance(reference, Profile) else reference
    if every is not None and as_every(every) != past.every:
        raise InputError(
            f"The reference has windows of {past.every} and every= asks for {as_every(every)}; "
            "make both the same."
        )
    return past


def _compared(found: Monitoring, kept: Kept, every: bool, progress: Progress | None) -> Monitoring:
    """With comparisons of the windows that raise an alarm, or of all where that is wanted."""
    profile, met = found.reference, dict(found.met)
    every = every or not found.can_judge
    for k, one in enumerate(one for one in found.windows if one.code in found.latest):
        if not (one.alarm or (every and one.rows >= FEWEST_ROWS)):
            continue
        if progress is not None:
            progress("comparing windows", k, len(found.latest))
        with warnings.catch_warnings(), suppress(CospanError):
            warnings.simplefilter("ignore", CospanWarning)
            pair = compare(
                profile.kept_rows, kept.of(k), name_a=profile.name, name_b=str(one),
                **profile.options,
            )  # fmt: skip
            met[one.code] = replace(
                met[one.code], findings=pair.findings, size=pair.size, p=pair.p, comparison=pair
            )
    return replace(found, met=met)
