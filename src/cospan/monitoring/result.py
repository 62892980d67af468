"""The result of monitoring: windows, each judged by all before it, and episodes."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.base.tables import make_dataframe
from cospan.base.types import Floats
from cospan.evidence import Finding, Held, Size

from .alarm import FEWEST_WINDOWS, ROLLING_GAP, ROLLING_STEP, Alarm, Followed, blamed, follow
from .profile import Measured, Profile
from .windows import Every

if TYPE_CHECKING:
    from cospan.comparison import Comparison

#: Windows of fewer rows are not judged.
FEWEST_ROWS = 8
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
    size : Size or None
        How different it is from the reference, as :func:`cospan.compare` says it, with ``.low`` and
        ``.high``; None where the window was not compared.
    p : float or None
        The p-value of that comparison.
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

    Examples
    --------
    >>> from cospan import monitor
    >>> rng = np.random.default_rng(0)
    >>> later = rng.normal(size=(200, 2)) + [[0.0, 2.0]]
    >>> window = monitor(rng.normal(size=(2000, 2)), later, every="100-rows").windows[0]
    >>> window.rows, window.alarm, window.findings[0].column
    (100, True, 'x1')
    """

    code: int  # its number in time
    start: Any
    end: Any
    label: str
    rows: int
    size: Size | None
    p: float | None
    findings: tuple[Finding, ...]
    alarm: bool
    level: float
    status: str
    columns: Mapping[str, Held]
    comparison: Comparison | None = None

    def __str__(self) -> str:
        return self.label

    def to_dict(self) -> dict[str, Any]:
        """Plain types only, for JSON."""
        size = None if self.size is None else self.size.to_dict()
        return {
            "window": self.label,
            "start": str(self.start),
            "end": str(self.end),
            "rows": self.rows,
            "size": size,
            "p": None if self.p is None or math.isnan(self.p) else self.p,
            "alarm": self.alarm,
            "level": None if math.isnan(self.level) else self.level,
            "status": self.status,
            "findings": [one.to_dict() for one in self.findings],
            "columns": {name: plain_held(held) for name, held in self.columns.items()},
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
    kinds : tuple of str
        What passed in them first: ``"mean"``, ``"spread"``, ``"missing"`` and so on.
    findings : tuple of Finding
        Those of the window of the alarm.
    announced : tuple of (Window, tuple of str)
        Windows in which further columns passed, and these.

    Examples
    --------
    >>> from cospan import monitor
    >>> rng = np.random.default_rng(0)
    >>> later = rng.normal(size=(600, 2)) + np.repeat([[0, 0], [0, 2]], 300, axis=0)
    >>> (episode,) = monitor(rng.normal(size=(2000, 2)), later, every="100-rows").episodes
    >>> episode.start, episode.end, episode.columns, str(episode.alarm)
    (301, None, ('x1',), 'rows 301 to 400')
    """

    start: Any
    end: Any
    alarm: Window
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    findings: tuple[Finding, ...]
    announced: tuple[tuple[Window, tuple[str, ...]], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain types only."""
        return {
            "start": str(self.start),
            "end": None if self.end is None else str(self.end),
            "alarm": str(self.alarm),
            "columns": list(self.columns),
            "kinds": list(self.kinds),
            "findings": [one.to_dict() for one in self.findings],
            "announced": [[str(window), list(names)] for window, names in self.announced],
        }


@dataclass(frozen=True, eq=False)
class Record:
    """A window as it was measured, and what its comparison said, where it was compared."""

    measured: Measured
    size: Size | None = None
    p: float | None = None
    findings: tuple[Finding, ...] = ()
    comparison: Comparison | None = None


@dataclass(frozen=True, eq=False)
class Monitoring:
    """Windows over time, each compared with a reference. Made by :func:`cospan.monitor`.

    Attributes
    ----------
    reference : Profile
    records : tuple of Record
        The windows as they were measured, in the order of time.
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
    records: tuple[Record, ...]
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
        return self.reference.alarm(self.rate)

    @property
    def smallest_seen(self) -> dict[int, float]:
        """The smallest lasting change that is seen within 7 and 30 windows, in deviations of one.

        Empty where nothing can be judged yet.
        """
        if not self.can_judge:
            return {}
        return {days: self.learned.smallest_seen(days) for days in (7, 30)}

    @cached_property
    def _far(self) -> frozenset[int]:
        """Windows with few rows, far outside the others in time."""
        codes = np.array([one.measured.code for one in self.records])
        rows = np.array([one.measured.rows for one in self.records])
        if not self.every.timed or not len(codes):
            return frozenset()
        below = np.cumsum(rows) / rows.sum()
        low, high = codes[np.searchsorted(below, (0.05, 0.95))]
        away = np.maximum(low - codes, codes - high) > FAR_SPANS * (high - low) + FAR_WINDOWS
        return frozenset(codes[away & (rows <= FAR_ROWS * rows.sum())].tolist())

    def _judged(self, one: Record) -> bool:
        enough = one.measured.rows >= FEWEST_ROWS and one.measured.code not in self._far
        return self.can_judge and enough

    @cached_property
    def _followed(self) -> tuple[list[Record], Followed]:
        """The windows that are judged, and their sums."""
        judged = [one for one in self.records if self._judged(one)]
        if not judged:
            return [], Followed(np.zeros(0), ())
        reference, own = self.reference, self.learned
        codes = np.array([one.measured.code for one in judged])
        n = np.array([one.measured.n for one in judged])
        X = reference.standard(np.array([one.measured.values for one in judged]), n)
        Z, H = own.z(X, n, codes), np.broadcast_to(own.h, (len(X), len(own.h)))
        if self.rolling:
            Z, H = self._along(X, n, codes)
        return judged, follow(Z, H, own.k)

    def _along(self, X: Floats, n: Floats, codes: Any) -> tuple[Floats, Floats]:
        """z and thresholds where the reference is the W windows that ended some windows before."""
        own, W = self.reference, len(self.reference.codes)
        all_x = np.concatenate([own.standard(own.values, own.n), X])
        all_n, all_codes = np.concatenate([own.n, n]), np.concatenate([own.codes, codes])
        Z, H = np.zeros_like(X), np.zeros((len(X), 2 * X.shape[1]))
        for t in range(0, len(X), ROLLING_STEP):
            first = max(0, t - ROLLING_GAP)
            at, now = slice(first, first + W), slice(t, t + ROLLING_STEP)
            learned = Alarm.learn(
                all_x[at], all_n[at], all_codes[at], self.every.season, self.rate,
                self.every.per_year,
            )  # fmt: skip
            Z[now], H[now] = learned.z(X[now], n[now], codes[now]), learned.h
        return Z, H

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """Every window in the order of time, also those without data where data was due."""
        judged, followed = self._followed
        level = {one.measured.code: x for one, x in zip(judged, followed.level, strict=True)}
        made = {one.measured.code: self._window(one, level) for one in self.records}
        for code in self._empty(sorted(set(made) - self._far)):
            made[code] = Window(
                code, self.every.start(code), self.every.end(code), self.every.label(code), 0,
                None, None, (Finding("no data"),), False, math.nan, "no data", {},
            )  # fmt: skip
        return tuple(made[code] for code in sorted(made))

    def _window(self, one: Record, level: Mapping[int, float]) -> Window:
        code, every = one.measured.code, self.every
        own = list(one.measured.findings)
        if code in self._far:
            own.append(Finding("far", rows=one.measured.rows))
        twin = self._twins.get(one.measured.digest, code)
        if twin != code and one.measured.kept >= FEWEST_ROWS:
            own.append(Finding("repeated window", detail=every.label(twin)))
        status = "judged" if code in level else "few rows"
        if not self.can_judge and one.measured.rows >= FEWEST_ROWS:
            status = "cannot judge yet"
        height = float(level.get(code, math.nan))
        return Window(
            code, every.start(code), every.end(code), every.label(code), one.measured.rows,
            one.size, one.p, tuple(dict.fromkeys((*own, *one.findings))), height > 1, height,
            status, one.measured.columns, one.comparison,
        )  # fmt: skip

    @cached_property
    def _twins(self) -> dict[int, int]:
        """The first window with each set of rows."""
        return {one.measured.digest: one.measured.code for one in reversed(self.records)}

    def _empty(self, codes: Sequence[int]) -> list[int]:
        """Windows without data where data was due."""
        own, season = self.reference.codes, self.every.season
        if not self.every.timed or not len(codes):
            return []
        slots = np.arange(own.min(), own.max() + 1)
        had = np.isin(slots, own)
        usual = [had[slots % season == q].mean() if (slots % season == q).any() else had.mean()
                 for q in range(season)]  # fmt: skip
        there = set(codes)
        lacking = (c for c in range(codes[0], codes[-1]) if c not in there)
        return [c for c in lacking if usual[c % season] >= DUE][:MOST_EMPTY]

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """Since when, until when, and what."""
        judged, followed = self._followed
        window = {one.code: one for one in self.windows}
        at = [window[one.measured.code] for one in judged]
        table, found = self.reference.table, []
        for run in followed.runs:
            order = np.argsort(-run.evidence, kind="stable")
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
                    kinds=tuple(dict.fromkeys(table[k].kind for k in order if run.evidence[k] > 0)),
                    findings=at[run.alarm].findings,
                    announced=tuple(news[1:]),
                )
            )
        return tuple(found)

    @property
    def alarms(self) -> tuple[Window, ...]:
        return tuple(window for window in self.windows if window.alarm)

    @property
    def new_windows(self) -> tuple[Window, ...]:
        """Those that the last call of `monitor` read, and the empty ones between them."""
        first = min(self.latest, default=None)
        return tuple(w for w in self.windows if first is not None and w.code >= first)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in words, most important first."""
        from cospan.wording import monitoring_sentences

        return monitoring_sentences(self)

    @property
    def verdict(self) -> str:
        """The same as one text."""
        return " ".join(self.sentences)

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def to_dict(self) -> dict[str, Any]:
        """Plain types only, for JSON."""
        return {
            "name": self.name,
            "reference": self.reference.name,
            "reference_windows": len(self.reference.codes),
            "every": str(self.every),
            "rate": self.rate,
            "rolling": self.rolling,
            "smallest_seen": {str(days): x for days, x in self.smallest_seen.items()},
            "sentences": list(self.sentences),
            "windows": [window.to_dict() for window in self.windows],
            "episodes": [episode.to_dict() for episode in self.episodes],
            "notes": list(self.notes),
        }

    def table(self) -> dict[str, Any]:
        """One entry for each window in every column: what `to_frame` shows."""
        from cospan.wording import window_sentences

        windows = self.windows
        found: dict[str, Any] = {"window": [w.label for w in windows]}
        for key in ("rows", "status", "alarm", "level", "p"):
            found[key] = [getattr(w, key) for w in windows]
        for key, own in (("size", "real"), ("size_low", "low"), ("size_high", "high")):
            found[key] = [None if w.size is None else getattr(w.size, own) for w in windows]
        found["findings"] = [" ".join(window_sentences(w, self)) for w in windows]
        return found

    def to_frame(self, backend: str | None = None) -> Any:
        """One row for each window, as a dataframe of the library installed or named."""
        return make_dataframe(self.table(), backend)

    def extended(
        self, records: Sequence[Record], notes: Sequence[str] = (), name: str = ""
    ) -> Monitoring:
        """With further windows, of data called `name`; those that are known are replaced."""
        both = {one.measured.code: one for one in (*self.records, *records)}
        longer = f"{name} and earlier windows" if name and self.records else self.name
        return replace(
            self,
            records=tuple(both[code] for code in sorted(both)),
            name=longer,
            notes=tuple(dict.fromkeys([*self.notes, *notes])),
            latest=frozenset(one.measured.code for one in records),
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a page (``.html``), or windows and reference to go on from, by the file's ending.

        A file to go on from is written under a lock: windows that another process has added to it
        meanwhile stay.
        """
        if Path(path).suffix == ".html":
            return self.save_html(path)
        from .files import save_monitoring

        return save_monitoring(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Monitoring:
        """Read it from a file; nothing in it is executed."""
        from .files import load_monitoring

        return load_monitoring(path)

    def save_html(self, path: str | os.PathLike[str]) -> Path:
        """Write one page: the line over time, the alarms, columns by windows, every window."""
        from cospan.report.monitoring import save_monitoring_page

        return save_monitoring_page(path, self)

    def __repr__(self) -> str:
        return (
            f"<Monitoring of {self.name!r} against {self.reference.name!r}: "
            f"{len(self.windows)} windows, {len(self.episodes)} episodes>"
        )


def plain_held(held: Held) -> dict[str, Any]:
    """What a column holds, without what does not apply."""
    mean = None if math.isnan(held.mean) else held.mean
    return {"mean": mean, "missing": held.missing, "levels": dict(held.levels)}
