"""A reference as a small file: what it looks like, how its windows vary, and no rows of it.

A profile is what monitoring needs of a reference: the encoding plan, the summary, the sketches of
all features (`channels`), and one record for each of its windows, measured against the reference
without it. Its rows are no part of it unless asked for; where the angles of the reference's rows
are needed, rows drawn from the summary and the sketches stand in for them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan._types import Floats
from cospan._validate import as_count
from cospan._warnings import warn
from cospan.data import EncodingPlan
from cospan.errors import InputError
from cospan.monitoring.channels import Channels
from cospan.monitoring.choosing import center_of, channels_of, of_other_rows, sketches_of
from cospan.monitoring.cost import Cost
from cospan.monitoring.cutting import windows_of
from cospan.monitoring.effect import shrinkage_for
from cospan.monitoring.levels import Levels, levels_of
from cospan.monitoring.merging import effects_against, merged_usual, same_channels
from cospan.monitoring.moments import sample_of, subset
from cospan.monitoring.ranks import Ranks
from cospan.monitoring.reading import full_plan, opened, refuse_unknown, refuse_wide
from cospan.monitoring.records import (
    RANKED_ROWS,
    Record,
    noise_of,
    pooled_rows,
    record_of,
    reference_records,
)
from cospan.monitoring.standing_in import stand_in
from cospan.monitoring.timing import Every, as_every
from cospan.monitoring.windows import SAMPLE_ROWS
from cospan.summary import RowSample, Summary

if TYPE_CHECKING:
    from cospan.monitoring.judging import WindowResult

#: The chance at which a column of a set that is like the reference is called unusual.
JUDGED_RATE = 0.01
_ONE_WINDOW = Every("rows", 2**62)


@dataclass(frozen=True, eq=False)
class Profile:
    """What a reference looks like: small, mergeable, and without its rows unless asked.

    Make one with :meth:`of`, keep it with :meth:`save`, and give it to :func:`cospan.monitor` or
    to :func:`cospan.compare` wherever they take a file.

    Attributes
    ----------
    name : str
    plan : EncodingPlan or None
        How the columns become features; None for arrays.
    summary : Summary
        Of all rows; its sample is empty unless rows were asked for.
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
    <Profile of 'array': 3,000 rows, 4 features, 30 windows of 100 rows, no rows kept>
    """

    name: str
    plan: EncodingPlan | None
    summary: Summary
    channels: Channels
    windows: tuple[Record, ...]
    every: Every | None
    time: str
    center: Floats = field(repr=False)
    ranks: tuple[Ranks, ...] = field(repr=False)  # its own sketches; the channels' may be another's

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        time: Any = None,
        every: Any = None,
        rows: int = 0,
        like: Profile | None = None,
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
            Rows to keep, drawn at random. By default none: a profile can lie in a repository.
        like : Profile, optional
            Take the plan and the channels of this one, so that both merge; and its `time` and
            `every` where they are not given.
        name : str, optional
        seed : int
        **options
            For the sources: columns, categorical, numeric, drop, strict.
        """
        refuse_unknown(Profile.of, options)
        keep = as_count(rows, "rows", least=0)
        if like is not None and not isinstance(like, Profile):
            raise InputError(f"like is of type {type(like).__name__}; give a Profile.")
        if like is not None:
            time, every = like.time or None if time is None else time, every or like.every
        window = None if every is None else as_every(every)
        if window is None and time is not None:
            raise InputError(
                'time= needs every= to say how long a window is, for instance every="day".'
            )
        sources = opened(data, time, **options)
        name = name or (sources[0].name if len(sources) == 1 else f"{len(sources)} sets")
        plan = like.plan if like is not None else full_plan(sources)
        refuse_wide(sources, plan, name)
        parts = windows_of(
            sources, plan, time, window or _ONE_WINDOW, seed=seed, name=name
        ).ordered()
        whole = parts[0][1]
        for _, part in parts[1:]:
            whole = whole + part
        names = _names(sources[0], plan, whole)
        if like is not None and names != like.channels.names:
            raise InputError(f"{name} and {like.name} have different features.")
        ranked = pooled_rows([part.sample for _, part in parts])
        usual = float(np.median([part.count for _, part in parts]))
        share = shrinkage_for(usual if window else whole.n, whole.n_features)
        if like is None:
            channels = channels_of(names, plan, whole, ranked, share, name)
            ranks, center = channels.ranks, center_of(whole, ranked, channels)
        else:
            channels = of_other_rows(like.channels, ranked)
            ranks = sketches_of(ranked, channels.numbers, channels.gaps)
            center = channels.measure(whole, ranked).values
        drawn = None if keep else stand_in(whole, channels, ranks, plan, SAMPLE_ROWS)
        return cls(
            name,
            plan,
            replace(whole, sample=_kept(whole, ranked, keep), feature_names=names),
            channels,
            reference_records(parts, whole, channels, drawn, own=like is None) if window else (),
            window,
            time if isinstance(time, str) else "",
            np.append(center, 0.5),
            ranks,
        )

    def merge(self, other: Profile) -> Profile:
        """The profile of both; `other` must be made with ``like=`` this one (or both like a third).

        Counts, means, scatter and what is usual are those of all rows, whatever the order of
        merging; sketches are right to one row in a hundred. Ranks and costs of the first profile
        stay the measure: far from its rows, one profile of all rows sees more.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> first = Profile.of(rng.normal(size=(500, 2)), every=100)
        >>> both = first.merge(Profile.of(rng.normal(size=(300, 2)), every=100, like=first))
        >>> both.summary.count, len(both.windows)
        (800, 8)
        """
        if not isinstance(other, Profile):
            raise InputError(f"A {type(other).__name__} is not a Profile.")
        if not same_channels(self.channels, other.channels) or self.plan != other.plan:
            raise InputError(
                "These profiles have different plans or sketches; make the second one with "
                "like= naming the first."
            )
        if self.every != other.every:
            raise InputError(
                f"One profile has {_windows(self.every)}, the other {_windows(other.every)}; make "
                "them alike."
            )
        records = {record.code: record for record in self.windows}
        if self.every is not None and self.every.timed:
            twice = records.keys() & {record.code for record in other.windows}
            if twice:
                warn(f"Window {self.every.label(min(twice))} is in both profiles, and kept twice.")
        channels, center, ranks = merged_usual(self, other)
        both = replace(
            self,
            summary=self.summary + other.summary,
            channels=channels,
            windows=(*self.windows, *other.windows),
            center=center,
            ranks=ranks,
        )
        return replace(both, windows=effects_against(both))

    def levels(self, rate: float) -> Levels:
        """When to raise an alarm, with this chance of a false one in a window."""
        values = np.array([np.append(one.values, one.effect.auc.value) for one in self.windows])
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
    def keeps_rows(self) -> bool:
        """Whether rows of the data are part of it."""
        return len(self.summary.sample) > 0

    @cached_property
    def rows(self) -> Floats:
        """Rows for angles to be measured against: the sample's, or drawn to stand in for them."""
        if self.keeps_rows:
            return self.summary.sample.rows
        return stand_in(self.summary, self.channels, self.ranks, self.plan, SAMPLE_ROWS)

    @cached_property
    def cost(self) -> Cost:
        """What a row costs it: that of the channels, unless they are another profile's."""
        return Cost.of(self.summary, self.channels.live, self.channels.shrinkage)

    @cached_property
    def with_rows(self) -> Summary:
        """The summary with rows in its sample: its own, or drawn to stand in for them."""
        if self.keeps_rows:
            return self.summary
        return replace(self.summary, sample=sample_of(self.rows, int(self.summary.n)))

    @property
    def ranked_rows(self) -> int:
        """How many rows the ranks come from, at least where `rows` were asked for: a sample."""
        return min(self.summary.count, SAMPLE_ROWS * max(1, len(self.windows)), RANKED_ROWS)

    def judged(self, rows: Summary) -> WindowResult:
        """Another set as a whole, judged by sampling alone: its p-value, and what is unusual."""
        from cospan.monitoring.judging import judge  # is above

        bare = replace(self, windows=(), every=None)
        record = record_of(
            0, rows, self.channels, self.summary, self.rows, own_rows=self.keeps_rows
        )
        return judge([record], bare, bare.levels(JUDGED_RATE), self.ranked_rows)[0]

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
        kept = f"{len(self.summary.sample):,} rows kept" if self.keeps_rows else "no rows kept"
        windows = "" if self.every is None else f"{len(self.windows)} {self.every.plural}, "
        return (
            f"<Profile of {self.name!r}: {self.summary.count:,} rows, "
            f"{self.summary.n_features} features, {windows}{kept}>"
        )


def _kept(whole: Summary, pooled: Floats, n: int) -> RowSample:
    """A sample of `n` rows; windows together have more of them than the whole carries."""
    if n <= len(whole.sample):
        return subset(whole.sample, n)
    return sample_of(pooled[:n], int(whole.n))


def _windows(every: Every | None) -> str:
    return "no windows" if every is None else every.plural


def _names(source: Any, plan: EncodingPlan | None, whole: Summary) -> tuple[str, ...]:
    names = plan.feature_names if plan is not None else source.feature_names
    return names or tuple(f"x{j}" for j in range(whole.n_features))
