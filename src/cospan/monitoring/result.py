"""The result of monitoring: windows, each judged by all before it, and episodes."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cospan.base.tables import make_dataframe, plain
from cospan.base.types import DataFrame, Floats, Index, Record
from cospan.evidence import Finding, Held, Size

from .alarm import FEWEST_WINDOWS, Alarm, Run, blamed, follow
from .functions import held_columns
from .profile import Measured, Profile
from .windows import Codes, Every

if TYPE_CHECKING:
    from cospan.comparison import Comparison

#: Windows of fewer rows are not judged.
FEWEST_ROWS = 8
#: A rolling reference is learned again after so many windows, and ends so many before.
ROLLING_STEP, ROLLING_GAP = 7, 7
#: A window is due where this share of the reference's, on the same weekday or hour, had data.
DUE, MOST_EMPTY = 0.9, 1_000
#: Windows with at most this share of all rows are far outside where they are so many times the
#: span of nine tenths of the rows away from it, and so many windows.
FAR_ROWS, FAR_SPANS, FAR_WINDOWS = 0.01, 10, 30


@dataclass(frozen=True, eq=False)
class Window:
    """One window.

    Attributes
    ----------
    start, end : numpy.datetime64 or int
        When it begins, and when the next one does; of windows counted in rows its first and its
        last row, counted from 1.
    rows : int
    size, p : Size and float, or None
        How different it is from the reference (with ``.low`` and ``.high``), and the p-value, as
        :func:`cospan.compare` says it; None where the window was not compared.
    findings : tuple of Finding
        What was met in the window itself (no data, columns gone or new, repeated rows, absurd
        values), then what the comparison found.
    alarm : bool
        Whether some sum is above its threshold.
    level : float
        The largest sum over its threshold: 1 is the alarm. NaN where the window is not judged.
    status : {"judged", "few rows", "no data", "cannot judge yet"}
    columns : mapping of str to Held
        What each column holds: ``.mean``, or the shares of its ``.levels``, and ``.missing``.
    comparison : Comparison or None
        What :func:`cospan.compare` says of the reference's kept rows and the window's.
    """

    code: int = field(repr=False)  # its number in time
    start: Any
    end: Any
    label: str = field(repr=False)
    rows: int
    findings: tuple[Finding, ...] = field(repr=False)
    size: Size | None = None
    p: float | None = None
    level: float = math.nan
    status: str = "no data"
    columns: Mapping[str, Held] = field(default_factory=dict, repr=False)
    comparison: Comparison | None = field(default=None, repr=False)

    @property
    def alarm(self) -> bool:
        return self.level > 1

    def __str__(self) -> str:
        return self.label

    def to_dict(self) -> Record:
        """Plain types only, for JSON."""
        names = ("rows", "p", "alarm", "level", "status", "findings")
        held = {
            column: {"mean": one.mean, "missing": one.missing, "levels": dict(one.levels)}
            for column, one in self.columns.items()
        }
        return {
            "window": self.label,
            "start": str(self.start),
            "end": str(self.end),
            **{name: plain(getattr(self, name)) for name in names},
            "size": None if self.size is None else self.size.to_dict(),
            "columns": plain(held),
        }


@dataclass(frozen=True, eq=False)
class Episode:
    """Windows in which something was different for a while.

    Attributes
    ----------
    start : as of a window
        Where the window begins with which the sum that passed first began to rise.
    end : as of a window, or None
        Where the last window above the threshold begins; None while the episode lasts.
    alarm : Window
        The window in which a sum passed its threshold.
    columns : tuple of str
        As few as explain it, the clearest first.
    findings : tuple of Finding
        Those of the window of the alarm.
    announced : tuple of (Window, tuple of str)
        Windows in which further columns passed, and these.
    """

    start: Any
    end: Any
    alarm: Window
    columns: tuple[str, ...]
    announced: tuple[tuple[Window, tuple[str, ...]], ...] = field(default=(), repr=False)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.alarm.findings

    def to_dict(self) -> Record:
        """Plain types only."""
        return {
            "start": str(self.start),
            "end": None if self.end is None else str(self.end),
            "alarm": str(self.alarm),
            "columns": list(self.columns),
            "findings": plain(self.findings),
            "announced": [[str(window), list(names)] for window, names in self.announced],
        }


@dataclass(frozen=True, eq=False)
class Monitoring:
    """Windows over time, each compared with a reference. Made by :func:`cospan.monitor`.

    Attributes
    ----------
    reference : Profile
    measured : Measured
        The windows with data as numbers, in the order of time.
    met : mapping of int to Window
        The same by their codes, as they were met, before they are judged.
    rate : float
        False alarms a year that were accepted.
    name : str
        What the data is called.
    rolling : bool
        Whether the reference moves along.
    notes : tuple of str
        What a reader should know.
    latest : frozenset of int
        The codes of the windows that the last call of `monitor` read.

    Examples
    --------
    >>> from cospan import monitor
    >>> rng = np.random.default_rng(0)
    >>> later = rng.normal(size=(1000, 2)) * np.repeat([1, 3], 500)[:, None]
    >>> found = monitor(rng.normal(size=(5000, 2)), later, every=250)
    >>> [window.alarm for window in found.windows]
    [False, False, True, True]
    """

    reference: Profile
    measured: Measured
    met: Mapping[int, Window]
    rate: float
    name: str
    rolling: bool = False
    notes: tuple[str, ...] = ()
    latest: frozenset[int] = frozenset()
    went_on: bool = field(default=False, repr=False)  # whether windows were added to earlier ones

    @property
    def every(self) -> Every:
        """How long a window is."""
        assert self.reference.every is not None
        return self.reference.every

    @property
    def can_judge(self) -> bool:
        """Whether the reference has windows enough."""
        return len(self.reference.codes) >= FEWEST_WINDOWS

    @cached_property
    def learned(self) -> Alarm:
        """What the reference's windows make usual, and the thresholds."""
        own = self.reference.windows
        return Alarm.learn(*self.reference.standard(own), own.codes, self.rate, self.every)

    @property
    def smallest_seen(self) -> dict[int, float]:
        """The smallest lasting change that is seen within 7 and 30 windows, in deviations of one.

        Empty where nothing can be judged yet.
        """
        return {n: self.learned.smallest_seen(n) for n in (7, 30) if self.can_judge}

    # ---- windows -------------------------------------------------------------------------------

    @cached_property
    def _far(self) -> NDArray[np.bool_]:
        """Windows with few rows, far outside the others in time."""
        codes, rows = self.measured.codes, self.measured.counts
        if not self.every.timed or not len(codes):
            return np.zeros(len(codes), dtype=bool)
        low, high = codes[np.searchsorted(np.cumsum(rows) / rows.sum(), (0.05, 0.95))]
        away = np.maximum(low - codes, codes - high) > FAR_SPANS * (high - low) + FAR_WINDOWS
        return np.asarray(away & (rows <= FAR_ROWS * rows.sum()))

    @cached_property
    def _followed(self) -> tuple[Index, Floats, list[Run]]:
        """The places of the windows that are judged, their levels, and runs of alarms."""
        judged = np.flatnonzero((self.measured.counts >= FEWEST_ROWS) & ~self._far & self.can_judge)
        if not len(judged):
            return judged, np.zeros(0), []
        own, new = self.reference.windows, self.measured.take(judged)
        both, W = own.before(new), len(own.codes)
        X, n = self.reference.standard(both)
        Z, H = np.zeros_like(X), np.zeros_like(X)
        step = ROLLING_STEP if self.rolling else len(judged)
        for t in range(0, len(judged), step):
            first = max(0, t - ROLLING_GAP)
            past, now = slice(first, first + W), slice(W + t, W + t + step)
            learned = Alarm.learn(X[past], n[past], both.codes[past], self.rate, self.every)
            Z[now], H[now] = learned.z(X[now], n[now], both.codes[now]), learned.h
        return judged, *follow(Z[W:], H[W:], learned.k)

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """Every window in the order of time, also those without data where data was due."""
        codes, rows, digests, values, n = self.measured
        judged, found, _ = self._followed
        level = np.full(len(codes), math.nan)
        level[judged] = found
        first = {digest: k for k, digest in reversed(list(enumerate(digests.tolist())))}
        empty, names = self._empty(codes[~self._far]), self.every.names
        made = {c: Window(c, **names(c), rows=0, findings=(Finding("no data"),)) for c in empty}
        for k, code in enumerate(codes.tolist()):
            one, enough, twin = self.met[code], rows[k] >= FEWEST_ROWS, first[int(digests[k])]
            own = [Finding("far", rows=one.rows)] if self._far[k] else []
            if twin != k and enough:
                own.append(Finding("repeated window", detail=self.every.label(int(codes[twin]))))
            status = "few rows" if math.isnan(level[k]) else "judged"
            made[code] = replace(
                one,
                findings=tuple(dict.fromkeys((*own, *one.findings))),
                level=float(level[k]),
                status=status if self.can_judge or not enough else "cannot judge yet",
                columns=held_columns(self.reference.table, values[k], n[k]),
            )
        return tuple(made[code] for code in sorted(made))

    def _empty(self, codes: Codes) -> list[int]:
        """Windows without data where data was due."""
        own, season = self.reference.codes, self.every.season
        if not self.every.timed or not len(codes):
            return []
        slots = np.arange(own.min(), own.max() + 1)
        had = np.isin(slots, own)
        usual = [had[slots % season == q] for q in range(season)]
        due = np.array([(one if len(one) else had).mean() >= DUE for one in usual])
        lacking = np.setdiff1d(np.arange(codes.min(), codes.max()), codes)
        return [int(code) for code in lacking[due[lacking % season]][:MOST_EMPTY]]

    @property
    def alarms(self) -> tuple[Window, ...]:
        return tuple(window for window in self.windows if window.alarm)

    @property
    def new_windows(self) -> tuple[Window, ...]:
        """Those that the last call of `monitor` read, and the empty ones between them."""
        first = min(self.latest, default=None)
        return tuple(w for w in self.windows if first is not None and w.code >= first)

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """Since when, until when, and what."""
        judged, _, runs = self._followed
        window = {one.code: one for one in self.windows}
        at = [window[code] for code in self.measured.codes[judged].tolist()]
        table, found = self.reference.table, []
        for run in runs:
            news = [
                (at[t], tuple(dict.fromkeys(table[k].column for k in passed)))
                for t, passed in run.announced.items()
            ]
            found.append(
                Episode(
                    start=at[run.start].start,
                    end=None if run.end is None else at[run.end].start,
                    alarm=at[run.alarm],
                    columns=blamed(table, run.evidence),
                    announced=tuple(news[1:]),
                )
            )
        return tuple(found)

    # ---- on the way out ------------------------------------------------------------------------

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in words, most important first."""
        from cospan.headlines import monitoring_sentences

        return monitoring_sentences(self)

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def to_dict(self) -> Record:
        """Plain types only, for JSON."""
        return {
            "name": self.name,
            "reference": self.reference.name,
            "reference_windows": len(self.reference.codes),
            "every": str(self.every),
            "rate": self.rate,
            "rolling": self.rolling,
            "smallest_seen": plain(self.smallest_seen),
            "sentences": list(self.sentences),
            "windows": [window.to_dict() for window in self.windows],
            "episodes": [episode.to_dict() for episode in self.episodes],
            "notes": list(self.notes),
        }

    def table(self) -> Record:
        """One entry for each window in every column: what `to_frame` shows."""
        from cospan.headlines import window_sentences

        windows = self.windows
        found: Record = {"window": [w.label for w in windows]}
        for key in ("rows", "status", "alarm", "level", "p"):
            found[key] = [getattr(w, key) for w in windows]
        for key, own in (("size", "real"), ("size_low", "low"), ("size_high", "high")):
            found[key] = [None if w.size is None else getattr(w.size, own) for w in windows]
        found["findings"] = [" ".join(window_sentences(w, self)) for w in windows]
        return found

    def to_frame(self, backend: str | None = None) -> DataFrame:
        """One row for each window, as a dataframe of the library installed or named."""
        return make_dataframe(self.table(), backend)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a page (``.html``), or windows and reference to go on from, by the file's ending.

        A file to go on from is written under a lock: windows that another process has added to it
        meanwhile stay.
        """
        if Path(path).suffix == ".html":
            from cospan.report import write

            return write(self, path, "html")
        from .files import save_monitoring

        return save_monitoring(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Monitoring:
        """Read it from a file; nothing in it is executed."""
        from .files import load_monitoring

        return load_monitoring(path)

    def __repr__(self) -> str:
        return (
            f"<Monitoring of {self.name!r} against {self.reference.name!r}: "
            f"{len(self.windows)} windows, {len(self.episodes)} episodes>"
        )
