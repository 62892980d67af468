"""The result of monitoring: every window judged, episodes named, and what it all rests on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from cospan.base.tables import make_dataframe
from cospan.base.text import plural
from cospan.monitoring.episodes import Episode, episodes_of
from cospan.monitoring.judging import WindowResult, judge
from cospan.monitoring.levels import Levels
from cospan.monitoring.profile import Profile
from cospan.monitoring.reasons import ALARM
from cospan.monitoring.records import FEWEST_ROWS, Record

__all__ = ["Monitoring"]

_NOT_JUDGED = "{windows} of fewer than {fewest} rows cannot be judged."


@dataclass(frozen=True, eq=False)
class Monitoring:
    """Windows over time, compared with a reference.

    Made by :func:`cospan.monitor`.

    Attributes
    ----------
    profile : Profile
        The reference.
    records : tuple of Record
        The windows as measured, in the order of time.
    false_alarms : float
        How many false alarms a year were asked for.
    name : str
    notes : tuple of str
        What a reader should know.
    latest : frozenset of int
        The codes of the windows that were measured last: those of the last call of `monitor`.

    Examples
    --------
    >>> from cospan import monitor
    >>> rng = np.random.default_rng(0)
    >>> later = rng.normal(size=(1000, 2)) * np.repeat([1, 3], 500)[:, None]
    >>> found = monitor(rng.normal(size=(4000, 2)), later, every=250)
    >>> [window.alarm for window in found.windows]
    [False, False, True, True]
    >>> found.episodes[0].text
    'since rows 501 to 750: mostly scale: x0 and x1'
    """

    profile: Profile
    records: tuple[Record, ...]
    false_alarms: float
    name: str
    notes: tuple[str, ...] = ()
    latest: frozenset[int] = frozenset()
    _levels: Levels | None = field(default=None, repr=False)

    @property
    def rate(self) -> float:
        """The chance of a false alarm in a window that is like the reference's."""
        every = self.profile.every
        return min(0.5, self.false_alarms / (every.per_year if every else 365.0))

    @cached_property
    def levels(self) -> Levels:
        """The alarm levels, and what they rest on."""
        return self._levels or self.profile.levels(self.rate)

    @cached_property
    def windows(self) -> tuple[WindowResult, ...]:
        """Every window, judged, in the order of time."""
        return tuple(judge(self.records, self.profile, self.levels))

    @property
    def alarms(self) -> tuple[WindowResult, ...]:
        return tuple(window for window in self.windows if window.alarm)

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """Since when, and what."""
        return episodes_of(self.windows)

    @property
    def promise(self) -> str:
        """What the alarm level promises, in a sentence."""
        levels, every = self.levels, self.profile.every
        per = every.year if every else f"{365:.0f} windows"
        windows = every.per_year if every else 365.0
        rate = f"{levels.rate * windows:.3g}"
        one = "{rate} false alarm per {year}"
        stated = (one if rate == "1" else "{rate} false alarms per {year}").format(
            rate=rate, year=per
        )
        text = (
            "About {rate} if windows differ by the sampling of their rows alone: the reference has "
            "too few windows to know how they vary."
        )
        if levels.method == "rank":
            text = (
                "At most {rate}: conformal ranks among {n} windows of the reference, each compared "
                "with the others."
            )
        elif levels.method == "t":
            text = (
                "About {rate} if windows vary normally or with tails like the reference's, at most "
                "{most:.3g} whatever they do; from {n} windows of the reference, each compared "
                "with the others."
            )
        return text.format(rate=stated, n=levels.windows, most=windows * levels.promised)

    @property
    def headline(self) -> str:
        """How many windows raise an alarm."""
        n, alarms = len(self.windows), len(self.alarms)
        few = sum(not window.judged for window in self.windows)
        if few == n:
            return _NOT_JUDGED.format(windows=plural(n, "window"), fewest=FEWEST_ROWS)
        text = "No alarm in {windows}."
        if alarms:
            text = "{n} of {windows} raise an alarm."
        if alarms == 1:
            text = "{n} of {windows} raises an alarm."
        first = text.format(n=alarms, windows=plural(n - few, "window"))
        more = _NOT_JUDGED.format(windows=f"{few} more", fewest=FEWEST_ROWS)
        return f"{first} {more}" if few else first

    @property
    def verdict(self) -> str:
        """A few sentences."""
        said = [episode.text[:1].upper() + episode.text[1:] + "." for episode in self.episodes[:5]]
        if len(self.episodes) > 5:
            said.append(f"{len(self.episodes) - 5} more episodes.")
        return " ".join([self.headline, *said])

    def to_dict(self) -> dict[str, Any]:
        """Plain types only, for JSON."""
        every = self.profile.every
        return {
            "name": self.name,
            "reference": self.profile.name,
            "every": None if every is None else str(every),
            "verdict": self.verdict,
            "promise": self.promise,
            "level": ALARM,
            "rate": self.levels.rate,
            "method": self.levels.method,
            "reference_windows": self.levels.windows,
            "windows": [window.to_dict() for window in self.windows],
            "episodes": [episode.to_dict() for episode in self.episodes],
            "notes": list(self.notes),
        }

    def columns(self) -> dict[str, Any]:
        """One entry for each window in every column: the table of `to_frame`."""
        windows = self.windows
        plain = (
            "rows", "p", "score", "level", "alarm", "judged", "location", "scale", "shape",
            "neither", "missing", "missing_before", "missing_column", "mostly",
        )  # fmt: skip
        columns: dict[str, Any] = {"window": [w.label for w in windows]}
        columns["auc"] = [float(w.effect) for w in windows]
        columns["auc_low"] = [w.effect.low for w in windows]
        columns["auc_high"] = [w.effect.high for w in windows]
        columns |= {key: [getattr(w, key) for w in windows] for key in plain}
        columns["reasons"] = [" ".join(r.text for r in w.reasons) for w in windows]
        return columns

    def to_frame(self, backend: str | None = None) -> Any:
        """One row for each window, as a dataframe of the library installed or named."""
        return make_dataframe(self.columns(), backend)

    def extended(
        self, records: Sequence[Record], notes: Sequence[str] = (), name: str = ""
    ) -> Monitoring:
        """With further windows, of data called `name`; those that are known are replaced."""
        both = {one.code: one for one in self.records} | {one.code: one for one in records}
        ordered = tuple(both[code] for code in sorted(both))
        kept = tuple(dict.fromkeys([*self.notes, *notes]))
        longer = f"{name} and earlier windows"
        return replace(
            self,
            records=ordered,
            name=longer if name and self.records else self.name,
            notes=kept,
            latest=frozenset(one.code for one in records),
            _levels=self.levels,
        )

    @property
    def new_windows(self) -> tuple[WindowResult, ...]:
        """The windows that were measured last."""
        return tuple(window for window in self.windows if window.code in self.latest)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write windows and reference to a file that :func:`cospan.monitor` goes on from."""
        from cospan.monitoring.files import save_monitoring

        return save_monitoring(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Monitoring:
        """Read it from a file; nothing in it is executed."""
        from cospan.monitoring.files import load_monitoring

        return load_monitoring(path)

    def save_html(self, path: str | os.PathLike[str]) -> Path:
        """Write one page: the line over time, the alarms, columns by windows, every window."""
        from cospan.report.monitoring import save_monitoring_page  # is above

        return save_monitoring_page(path, self)

    def __repr__(self) -> str:
        return (
            f"<Monitoring of {self.name!r} against {self.profile.name!r}: "
            f"{len(self.windows)} windows, {len(self.alarms)} alarms>"
        )
