"""A reference as a small file: what it looks like, and how its windows vary.

A profile is what monitoring needs of a reference: the encoding plan, the summary with a sample of
its rows, the sketches of all features (`channels`), and one record for each of its windows,
measured against the reference without it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from cospan.base.checks import as_count
from cospan.base.notes import Note, warn
from cospan.base.types import Floats
from cospan.data import EncodingPlan
from cospan.errors import InputError
from cospan.monitoring.channels import Channels
from cospan.monitoring.choosing import center_of, channels_of
from cospan.monitoring.levels import Levels, levels_of
from cospan.monitoring.moments import sample_of
from cospan.monitoring.reading import full_plan, opened, refuse_unknown, refuse_wide
from cospan.monitoring.records import (
    RANKED_ROWS,
    Record,
    noise_of,
    pooled_rows,
    reference_records,
    shrinkage_for,
)
from cospan.monitoring.timing import Every, as_every
from cospan.monitoring.windows import SAMPLE_ROWS, windows_of
from cospan.summary import RowSample, Summary

_ONE_WINDOW = Every("rows", 2**62)


@dataclass(frozen=True, eq=False)
class Profile:
    """What a reference looks like, in little room.

    Make one with :meth:`of`, keep it with :meth:`save`, and give it to :func:`cospan.monitor` or
    to :func:`cospan.compare` wherever they take a file.

    Attributes
    ----------
    name : str
    plan : EncodingPlan or None
        How the columns become features; None for arrays.
    summary : Summary
        Of all rows, with a sample of them.
    channels : Channels
        What is watched, and how it varies.
    windows : tuple of Record
        The windows of the reference, each against the others.
    every : Every or None
        How long a window is.
    time : str
        The column of times; empty where there is none.

    Examples
    --------
    >>> from cospan import Profile
    >>> rng = np.random.default_rng(0)
    >>> profile = Profile.of(rng.normal(size=(3000, 4)), every="100-rows")
    >>> profile
    <Profile of 'array': 3,000 rows, 4 features, 30 windows of 100 rows, 1,000 rows kept>
    """

    name: str
    plan: EncodingPlan | None
    summary: Summary
    channels: Channels
    windows: tuple[Record, ...]
    every: Every | None
    time: str
    center: Floats = field(repr=False)

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        time: Any = None,
        every: Any = None,
        rows: int = SAMPLE_ROWS,
        name: str | None = None,
        seed: int = 0,
        **options: Any,
    ) -> Profile:
        """The profile of a reference, in one pass after the encoding plan is known.

        Parameters
        ----------
        data : anything that :func:`cospan.data.open_source` takes, or a list of files
        time : column name or array of dates, optional
            When each row was; not a feature.
        every : {"hour", "day", "week", "month", "year"} or rows, optional
            The windows to cut the reference into, to learn how windows vary: as long as those
            that will be compared with it. A number or ``"1000-rows"`` counts rows.
        rows : int
            Rows to keep, drawn at random.
        name : str, optional
        seed : int
        **options
            For the sources: columns, categorical, numeric, drop, strict.
        """
        refuse_unknown(Profile.of, options)
        notes: list[Note] = []
        found = learn_profile(
            data, notes, time=time, every=every, rows=rows, name=name, seed=seed, **options
        )
        warn(notes)
        return found

    def levels(self, rate: float) -> Levels:
        """When to raise an alarm, with this chance of a false one in a window."""
        values = np.array([np.append(one.values, one.effect.auc) for one in self.windows])
        sizes = np.array([float(one.rows) for one in self.windows]) if len(values) else np.zeros(0)
        if len(values) < 4:
            sizes = np.array([self.summary.n])
        return levels_of(
            values.reshape(len(self.windows), len(self.center)),
            noise_of(self.windows, self.channels),
            sizes,
            np.append(self.channels.variance, 0.0),
            self.center,
            rate,
            [*(channel.kind for channel in self.channels.table), "effect"],
        )

    @property
    def ranked_rows(self) -> int:
        """How many rows the ranks come from, at most."""
        return min(self.summary.count, SAMPLE_ROWS * max(1, len(self.windows)), RANKED_ROWS)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file, whole or not at all; ``.cospan`` is the usual ending."""
        from cospan.monitoring.files import save_profile

        return save_profile(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Profile:
        """Read it from a file; nothing in it is executed."""
        from cospan.monitoring.files import load_profile

        return load_profile(path)

    def __repr__(self) -> str:
        windows = "" if self.every is None else f"{len(self.windows)} {self.every.plural}, "
        return (
            f"<Profile of {self.name!r}: {self.summary.count:,} rows, "
            f"{self.summary.n_features} features, {windows}{len(self.summary.sample):,} rows kept>"
        )


def learn_profile(
    data: Any,
    notes: list[Note],
    *,
    time: Any = None,
    every: Any = None,
    rows: int = SAMPLE_ROWS,
    name: str | None = None,
    seed: int = 0,
    **options: Any,
) -> Profile:
    """:meth:`Profile.of`, with what a reader should know added to `notes` instead of warnings."""
    keep = as_count(rows, "rows", least=2)
    window = None if every is None else as_every(every)
    if window is None and time is not None:
        raise InputError(
            'time= needs every= to say how long a window is, for instance every="day".'
        )
    sources = opened(data, time, **options)
    name = name or (sources[0].name if len(sources) == 1 else f"{len(sources)} sets")
    plan = full_plan(sources, notes)
    refuse_wide(sources, plan, name)
    windows = windows_of(sources, plan, time, window or _ONE_WINDOW, seed=seed, name=name)
    notes += windows.notes
    parts = windows.ordered()
    whole = parts[0][1]
    for _, part in parts[1:]:
        whole = whole + part
    names = _names(sources[0], plan, whole)
    ranked = pooled_rows([part.sample for _, part in parts])
    usual = float(np.median([part.count for _, part in parts]))
    share = shrinkage_for(usual if window else whole.n, whole.n_features)
    channels = channels_of(names, plan, whole, ranked, share, name)
    return Profile(
        name,
        plan,
        replace(whole, sample=_kept(whole, ranked, keep), feature_names=names),
        channels,
        reference_records(parts, whole, channels) if window else (),
        window,
        time if isinstance(time, str) else "",
        np.append(center_of(whole, ranked, channels), 0.5),
    )


def _kept(whole: Summary, pooled: Floats, n: int) -> RowSample:
    """A sample of `n` rows; windows together have more of them than the whole carries."""
    if n <= len(whole.sample):
        return whole.sample.smaller(n)
    return sample_of(pooled[:n], int(whole.n))


def _names(source: Any, plan: EncodingPlan | None, whole: Summary) -> tuple[str, ...]:
    names = plan.feature_names if plan is not None else source.feature_names
    return names or tuple(f"x{j}" for j in range(whole.n_features))
