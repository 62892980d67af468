"""The result of monitoring: windows, each judged by all before it, and episodes.

A monitoring is kept in a file that appears whole or not at all. Windows are added under a lock, and
those that another process has added meanwhile stay.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cospan.base.files import check_output
from cospan.base.tables import make_dataframe, plain
from cospan.base.text import plural
from cospan.base.types import Bools, DataFrame, Floats, Index, Record
from cospan.errors import CospanError, Note, warn
from cospan.evidence import Finding, Held, Size
from cospan.model_file import (
    PROFILE,
    PROFILE_VERSION,
    Parts,
    Reader,
    is_file_of,
    read_parts,
    write_parts,
)

from .alarm import FEWEST_WINDOWS, Alarm, Run, blamed, follow
from .functions import held_columns
from .profile import Measured, Profile
from .windows import Every, Kept

if TYPE_CHECKING:
    from cospan.comparison import Comparison

#: What a file holds as it is.
KEPT = {"rate": float, "name": str, "rolling": bool}
#: Endings of a report; with any other a file holds what to go on from.
REPORTS = (".html", ".htm", ".md", ".markdown", ".json")
#: Seconds to wait for another process that writes to the same file.
PATIENCE, PAUSE = 60.0, 0.05
#: Windows of fewer rows are not judged.
FEWEST_ROWS = 8
#: A rolling reference is learned again after so many windows, and ends so many before.
ROLLING_STEP, ROLLING_GAP = 7, 7
#: A window is due where this share of the reference's, on the same weekday or hour, had data.
DUE, MOST_EMPTY = 0.9, 1_000
#: Windows are far outside where they are so many times the span of nine tenths of the rows away
#: from it, and so many windows.
FAR_SPANS, FAR_WINDOWS = 10, 30


@dataclass(frozen=True, eq=False)
class Window:
    """One window.

    Attributes
    ----------
    start, end : numpy.datetime64 or int
        When it begins, and when the next one does; of windows counted in rows its first and its
        last row, counted from 1.
    size, p : Size and float, or None
        What :func:`cospan.compare` says of the reference's kept rows and the window's
        (`comparison` has all of it); None where the window was not compared.
    findings : tuple of Finding
        What was met in the window itself (no data, columns gone or new, repeated rows, absurd
        values), then what the comparison found.
    level : float
        The largest sum over its threshold: above 1 is an `alarm`. NaN where it is not judged.
    status : {"judged", "few rows", "far outside", "no data", "cannot judge yet"}
    columns : mapping of str to Held
        What each column holds: ``.mean``, or the shares of its ``.levels``, and ``.missing``.
    """

    code: int  # its number in time
    every: Every
    rows: int = 0
    findings: tuple[Finding, ...] = ()
    size: Size | None = None
    p: float | None = None
    level: float = math.nan
    status: str = "no data"
    columns: Mapping[str, Held] = field(default_factory=dict)
    comparison: Comparison | None = None

    @property
    def start(self) -> Any:
        return self.every.start(self.code)

    @property
    def end(self) -> Any:
        return self.every.end(self.code)

    @property
    def alarm(self) -> bool:
        return self.level > 1

    def __str__(self) -> str:
        return self.every.label(self.code)

    def __repr__(self) -> str:
        return f"<Window {self}: {self.rows:,} rows, {'alarm' if self.alarm else self.status}>"

    def to_dict(self) -> Record:
        """Plain types only, for JSON."""
        names = ("rows", "p", "alarm", "level", "status", "findings")
        held = {
            column: {"mean": one.mean, "missing": one.missing, "levels": dict(one.levels)}
            for column, one in self.columns.items()
        }
        return {
            "window": str(self),
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
        Since when the deviation that passed first is clearest.
    end : as of a window, or None
        Where the last window above the threshold begins; None while the episode lasts.
    alarm : Window
        The window in which a sum passed its threshold; the episode's `findings` are its.
    columns : tuple of str
        As few as explain it, the clearest first.
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
    windows : tuple of Window
    episodes : tuple of Episode

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
    measured: Measured  # the windows with data as numbers, in the order of time
    met: Mapping[int, Window]  # the same by their codes, as they were met, before they are judged
    rate: float = 1.0  # false alarms a year that were accepted
    name: str = ""  # what the data is called
    rolling: bool = False  # whether the reference moves along
    latest: frozenset[int] = frozenset()  # the codes of the windows that the last call read
    origin: str = ""  # the file that it went on from

    @classmethod
    def begun(cls, reference: Profile) -> Monitoring:
        """One without windows."""
        none = reference.windows.take(np.zeros(0, dtype=np.intp))
        return cls(reference, none, {})

    @property
    def every(self) -> Every:
        """How long a window is."""
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
        if not self.can_judge:
            return {}
        return {n: self.learned.k + float(np.median(self.learned.h)) / n for n in (7, 30)}

    def extended(self, kept: Kept) -> Monitoring:
        """With further windows, which take the place of those that are there already."""
        old, every = self.measured, self.every
        if not every.timed and len(old.codes):
            kept = kept._replace(codes=kept.codes + 1 + old.codes[-1])
        new, findings = self.reference.measure(kept)
        _, a, b = np.intersect1d(old.codes, new.codes, return_indices=True)
        for code in new.codes[b][old.digests[a] != new.digests[b]].tolist():
            text = f"{every.label(code)} was there already; the rows now given take its place."
            warn([Note("window replaced", text, loud=True)])
        both = zip(new.codes.tolist(), new.counts.tolist(), findings, strict=True)
        met = {code: Window(code, every, n, found) for code, n, found in both}
        return replace(
            self, measured=old.joined(new), met={**self.met, **met}, name=kept.name,
            latest=frozenset(met),
        )  # fmt: skip

    # ---- windows -------------------------------------------------------------------------------

    @cached_property
    def _far(self) -> Bools:
        """Windows far outside the others in time."""
        codes, rows = self.measured.codes, self.measured.counts
        if not self.every.timed or not len(codes):
            return np.zeros(len(codes), dtype=bool)
        low, high = codes[np.searchsorted(np.cumsum(rows) / rows.sum(), (0.05, 0.95))]
        away = np.maximum(low - codes, codes - high)
        return np.asarray(away > FAR_SPANS * (high - low) + FAR_WINDOWS)

    @cached_property
    def _followed(self) -> tuple[Index, Floats, list[Run]]:
        """The places of the windows that are judged, their levels, and runs of alarms."""
        judged = np.flatnonzero((self.measured.counts >= FEWEST_ROWS) & ~self._far & self.can_judge)
        if not len(judged):
            return judged, np.zeros(0), []
        own, new = self.reference.windows, self.measured.take(judged)
        both = Measured._make(np.concatenate(pair) for pair in zip(own, new, strict=True))
        (X, n), W, codes = self.reference.standard(both), len(own.codes), both.codes
        Z, H = np.zeros_like(X), np.zeros_like(X)
        step = ROLLING_STEP if self.rolling else len(judged)
        for t in range(0, len(judged), step):
            first = max(0, t - ROLLING_GAP)
            past, now = slice(first, first + W), slice(W + t, W + t + step)
            learned = Alarm.learn(X[past], n[past], codes[past], self.rate, self.every)
            Z[now], H[now] = learned.z(X[now], n[now], codes[now]), learned.h
        return judged, *follow(Z[W:], H[W:], learned.k)

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """Every window in the order of time, also those without data where data was due."""
        codes, counts, digests, values, n = self.measured
        judged, levels, _ = self._followed
        level, table = np.full(len(codes), np.nan), self.reference.functions.table
        level[judged] = levels
        few = counts < FEWEST_ROWS
        why = np.select([self._far, few], ["far outside", "few rows"], "cannot judge yet")
        why[judged] = "judged"
        made = {
            code: Window(code, self.every, findings=(Finding("no data"),)) for code in self._empty()
        }
        # Of each digest the window that has it first. Where the reference's own repeat, who minds?
        usual, first = self.reference.windows, dict[int, int]()
        unlike = len(np.unique(usual.digests)) == len(usual.digests)
        if self.every.timed:
            first = dict(zip(usual.digests.tolist(), usual.codes.tolist(), strict=True))
        for k, (code, digest) in enumerate(zip(codes.tolist(), digests.tolist(), strict=True)):
            one, twin = self.met[code], first.setdefault(digest, code)
            odd = [Finding("far", rows=one.rows)] if self._far[k] else []
            if unlike and twin != code and not few[k]:
                odd.append(Finding("repeated window", detail=self.every.label(twin)))
            made[code] = replace(
                one, findings=tuple(dict.fromkeys((*odd, *one.findings))), level=float(level[k]),
                status=str(why[k]), columns=held_columns(table, values[k], n[k]),
            )  # fmt: skip
        return tuple(made[code] for code in sorted(made))

    def _empty(self) -> list[int]:
        """Windows without data where data was due."""
        codes, own = self.measured.codes[~self._far], self.reference.codes
        if not self.every.timed or not len(codes):
            return []
        season, slots = self.every.season, np.arange(own.min(), own.max() + 1)
        had, phase = np.isin(slots, own), slots % season
        due = np.array([had[phase == q].sum() >= DUE * (phase == q).sum() for q in range(season)])
        lacking = np.setdiff1d(np.arange(codes.min(), codes.max()), codes)
        return [int(code) for code in lacking[due[lacking % season]][:MOST_EMPTY]]

    @property
    def new_windows(self) -> tuple[Window, ...]:
        """Those that the last call of `monitor` read, and the empty ones between them."""
        first = min(self.latest, default=math.inf)
        return tuple(window for window in self.windows if window.code >= first)

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """Since when, until when, and what."""
        judged, _, runs = self._followed
        window, table = {one.code: one for one in self.windows}, self.reference.functions.table
        at = [window[code] for code in self.measured.codes[judged].tolist()]
        found = []
        for run in runs:
            news = [
                (at[t], blamed([table[k] for k in passed], np.ones(len(passed))))
                for t, passed in run.announced.items()
            ]
            end = None if run.end is None else at[run.end].start
            columns = blamed(table, run.evidence)
            found.append(Episode(at[run.start].start, end, at[run.alarm], columns, tuple(news[1:])))
        return tuple(found)

    # ---- on the way out ------------------------------------------------------------------------

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in words, most important first."""
        from cospan.wording.results import monitoring_sentences

        return monitoring_sentences(self)

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def __repr__(self) -> str:
        return (
            f"<Monitoring of {self.name!r} against {self.reference.name!r}: "
            f"{plural(len(self.windows), 'window')}, {plural(len(self.episodes), 'episode')}>"
        )

    def _repr_html_(self) -> str:
        from cospan.report import fragment

        return fragment(self)

    def to_dict(self) -> Record:
        """Plain types only, for JSON."""
        names = ("name", "rate", "rolling", "smallest_seen", "sentences")
        return {
            **{name: plain(getattr(self, name)) for name in names},
            "reference": self.reference.name,
            "reference_windows": len(self.reference.codes),
            "every": str(self.every),
            "windows": [window.to_dict() for window in self.windows],
            "episodes": [episode.to_dict() for episode in self.episodes],
        }

    def table(self) -> Record:
        """One entry for each window in every column: what `to_frame` shows."""
        from cospan.wording.results import window_sentences

        windows = self.windows
        found: Record = {"window": [str(w) for w in windows]}
        for key in ("rows", "status", "alarm", "level"):
            found[key] = [getattr(w, key) for w in windows]
        found["p"] = [math.nan if w.p is None else w.p for w in windows]
        for key, own in (("size", "real"), ("size_low", "low"), ("size_high", "high")):
            found[key] = [math.nan if w.size is None else getattr(w.size, own) for w in windows]
        found["findings"] = [" ".join(window_sentences(w)) for w in windows]
        return found

    def to_frame(self, backend: str | None = None) -> DataFrame:
        """One row for each window, as a dataframe of the library installed or named."""
        return make_dataframe(self.table(), backend)

    # ---- files ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a report (``.html``, ``.md``, ``.json``), or windows and reference to go on from.

        A file to go on from is written under a lock: windows that another process has added to it
        meanwhile stay.
        """
        if Path(path).suffix.lower() in REPORTS:
            from cospan.report import write

            return write(self, path)
        with locked(check_output(path)):
            further = 0 < len(self.latest) < len(self.measured.codes)
            goes_on = further or self.origin == os.path.realpath(path)
            there = self._added_to(path) if goes_on and is_file_of(path, PROFILE) else self
            return write_parts(path, (PROFILE, PROFILE_VERSION), there._parts())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Monitoring:
        """Read it from a file; nothing in it is executed."""
        return read_parts(path, (PROFILE, PROFILE_VERSION), cls._read)

    def _added_to(self, path: str | os.PathLike[str]) -> Monitoring:
        """What the file holds, with the windows that were read now, if it has the same reference.

        Windows of rows go after the last one, where others have taken their places meanwhile.
        """
        there = Monitoring.load(path)
        if not np.array_equal(there.reference.windows.values, self.reference.windows.values):
            return self
        old, new = there.measured, self.measured.take(np.isin(self.measured.codes, [*self.latest]))
        read = [self.met[code] for code in new.codes.tolist()]
        _, a, b = np.intersect1d(old.codes, new.codes, return_indices=True)
        if not self.every.timed and np.any(old.digests[a] != new.digests[b]):
            new = new._replace(codes=old.codes[-1] + 1 + np.arange(len(read)))
        met = {k: replace(one, code=k) for k, one in zip(new.codes.tolist(), read, strict=True)}
        return replace(self, measured=old.joined(new), met={**there.met, **met})

    def _parts(self) -> Parts:
        """What a file holds of it: the reference, and beside it the windows."""
        settings: Record = {name: plain(getattr(self, name)) for name in KEPT}
        met = [self.met[code] for code in self.measured.codes.tolist()]
        sizes = [None if x.size is None else [*x.size.to_dict().values(), x.p] for x in met]
        settings["met"] = [
            {"findings": plain(one.findings), "size": plain(size)}
            for one, size in zip(met, sizes, strict=True)
        ]
        windows = Parts(settings, self.measured._asdict())
        return self.reference.parts() | windows.inside("watched")

    @classmethod
    def _read(cls, read: Reader) -> Monitoring:
        """The same from a file; from that of a reference alone one without windows."""
        reference = Profile.read(read)
        if "watched" not in read.settings:
            return cls.begun(reference)
        read = read.section("watched")
        measured, met = Measured.read(read), {}
        codes, counts = measured.codes.tolist(), measured.counts.tolist()
        for code, n, told in zip(codes, counts, read.value("met", list), strict=True):
            met[code] = Window(code, reference.every, n, **_as_written(told))
        return cls(reference, measured, met, *(read.value(*one) for one in KEPT.items()))


def _as_written(told: Record) -> Record:
    """What a file holds of a window beside its numbers, as arguments of one."""
    known: list[Record] = [
        {k: tuple(x) if isinstance(x, list) else x for k, x in one.items() if x is not None}
        for one in told["findings"]
    ]
    found: Record = {"findings": tuple(Finding(**one) for one in known)}
    if told["size"] is not None:
        *size, found["p"] = (math.nan if x is None else float(x) for x in told["size"])
        found["size"] = Size(*size)
    return found


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone with a file: other processes that ask for it wait, and after a minute give up.

    The lock ends with the process that holds it.
    """
    import fcntl

    with Path(path.parent, f".{path.name}.lock").open("w") as stream:
        until = time.monotonic() + PATIENCE
        while True:
            with suppress(OSError):
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if time.monotonic() > until:
                raise CospanError(
                    f"cannot write {path}: another process has been writing to it for a minute; "
                    "try again later."
                )
            time.sleep(PAUSE)
        yield
