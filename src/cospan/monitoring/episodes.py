"""Since when, and what: alarms become episodes with a beginning, an end and a name.

An episode is a run of alarms, interrupted by at most one quiet window. It began before its first
alarm where the same channel was already on its way: the beginning is the most likely one for a
step in that channel's z, the size of the step being what the alarms show (the maximum of the
cumulative sum of z less half a step, backwards). Where that is when the episode before it ended,
and both differ in the same way and in the same column most, they are one: the windows between them
were on the way, too, only below the level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from cospan.base.text import listed
from cospan.monitoring.judging import WindowResult

#: A quiet window within an episode.
_PAUSE = 1
_NAMED = 3


@dataclass(frozen=True)
class Episode:
    """Windows in alarm.

    >>> from cospan import monitor
    >>> rng = np.random.default_rng(0)
    >>> later = rng.normal(size=(600, 2)) + np.repeat([0.0, 1.0], 300)[:, None]
    >>> (episode,) = monitor(rng.normal(size=(2000, 2)), later, every="100-rows").episodes
    >>> episode.since, episode.windows, episode.columns
    ('rows 301 to 400', 3, ('x1', 'x0'))
    """

    since: str  # the window in which it began
    until: str  # the last window in alarm; empty where that is the last window there is
    windows: int  # from the first to the last
    mostly: str  # in what they differ from the reference: location, scale, shape, levels or missing
    columns: tuple[str, ...]  # the columns that are furthest off, first ones first
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Plain types only."""
        return asdict(self) | {"columns": list(self.columns)}


def episodes_of(windows: Sequence[WindowResult]) -> tuple[Episode, ...]:
    """The episodes among windows in the order of time."""
    runs: list[list[int]] = []
    for i, window in enumerate(windows):
        if not window.alarm:
            continue
        if runs and i - runs[-1][-1] <= 1 + _PAUSE:
            runs[-1].append(i)
        else:
            runs.append([i])
    found: list[_Run] = []
    for run in runs:
        before = found[-1].alarms[-1] if found else -1
        one = _Run.of(windows, run, _beginning(windows, run, before))
        if found and found[-1].goes_on_as(one):
            earlier = found.pop()
            one = _Run.of(windows, [*earlier.alarms, *run], earlier.begin)
        found.append(one)
    return tuple(_episode(windows, one) for one in found)


class _Run(NamedTuple):
    """Alarms that belong together, and what they are about."""

    alarms: list[int]
    begin: int
    mostly: str
    columns: tuple[str, ...]

    @classmethod
    def of(cls, windows: Sequence[WindowResult], alarms: list[int], begin: int) -> _Run:
        totals: dict[str, float] = {}
        kinds: dict[str, float] = {}
        for i in alarms:
            for reason in windows[i].reasons:
                for column in (reason.column, reason.second):
                    if column:
                        totals[column] = totals.get(column, 0.0) + reason.ratio
            kinds[windows[i].mostly] = kinds.get(windows[i].mostly, 0.0) + windows[i].score
        columns = tuple(sorted(totals, key=lambda name: -totals[name]))
        return cls(alarms, begin, max(kinds, key=lambda kind: kinds[kind]), columns)

    def goes_on_as(self, later: _Run) -> bool:
        """Is a later run the same thing, without a break?"""
        same = self.mostly == later.mostly and self.columns[:1] == later.columns[:1]
        return same and later.begin - self.alarms[-1] <= 1 + _PAUSE


def _episode(windows: Sequence[WindowResult], run: _Run) -> Episode:
    last = run.alarms[-1]
    open_ended = last == len(windows) - 1
    what = listed(run.columns, _NAMED) if run.columns else "whole rows"
    if run.mostly:
        what = f"mostly {run.mostly}: {what}"
    since, until = windows[run.begin].label, windows[last].label
    text = "{since}: {what}" if since == until else "{since} to {until}: {what}"
    if open_ended:
        text = "since {since}: {what}"
    return Episode(
        since,
        "" if open_ended else until,
        last - run.begin + 1,
        run.mostly,
        run.columns,
        text.format(since=since, until=until, what=what),
    )


def _beginning(windows: Sequence[WindowResult], run: list[int], before: int) -> int:
    """Back from the first alarm while the deviations of its leading channel add up."""
    first = run[0]
    leading = windows[first].reasons[0].channel
    step = sum(float(windows[i].z[leading]) for i in run) / len(run)
    sign, half = (1.0 if step > 0 else -1.0), abs(step) / 2
    best, total, begin = 0.0, 0.0, first
    for i in range(first - 1, before, -1):
        total += sign * float(windows[i].z[leading]) - half
        if total > best:
            best, begin = total, i
    return begin
