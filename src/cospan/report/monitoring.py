"""A monitoring as one page: the line over time, alarms, columns by windows, every window.

No script runs and nothing is loaded: charts are static SVG, and a click on a window leads to its
section, which the style sheet shows where it is the target. Everything from the data is escaped.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cospan.base.files import write_text
from cospan.base.text import plural

from ._old_page import framed, rendered, safe

if TYPE_CHECKING:
    from cospan.monitoring import Monitoring, WindowResult

__all__ = ["monitoring_page", "save_monitoring_page"]

WIDTH, LEFT, RIGHT = 960, 150, 910
#: Columns in the heat map, at most: those that were furthest off.
MOST_COLUMNS = 30
#: Windows with a section of their own, at most: the last ones, and all in alarm.
MOST_SECTIONS = 500
#: Characters of a column's name that fit beside the heat map.
NAME_LENGTH = 18
#: The heat map's darkest shade: so many times the alarm level.
_DARKEST = 2.0
#: And its palest.
_PALEST = 0.3


def save_monitoring_page(path: str | os.PathLike[str], found: Monitoring) -> Path:
    """Write the page, whole or not at all."""
    return write_text(path, monitoring_page(found))


def monitoring_page(found: Monitoring) -> str:
    """The whole page."""
    return rendered(
        "monitoring",
        ["base", "monitoring"],
        found=found,
        windows=_with_sections(found.windows),
        key=_key,
        line=safe(_scores(found.windows)),
        effect=safe(_effects(found)),
        heat=safe(_heat(found.windows)),
        left_out=_left_out(found.windows),
    )


def _key(window: WindowResult) -> str:
    return f"w{window.code}"


def _with_sections(windows: Sequence[WindowResult]) -> list[WindowResult]:
    latest = {id(window) for window in windows[-MOST_SECTIONS:]}
    return [window for window in windows if window.alarm or id(window) in latest]


# ---- charts ------------------------------------------------------------------------------------


class _Frame(NamedTuple):
    """Where values go: windows from left to right, values between `low` and `high`."""

    windows: int
    low: float
    high: float
    top: float = 12
    bottom: float = 200

    def x(self, i: float) -> float:
        return LEFT + (i + 0.5) * (RIGHT - LEFT) / max(1, self.windows)

    def y(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.bottom - share * (self.bottom - self.top)

    def path(self, values: Sequence[float]) -> str:
        points = [f"{self.x(i):.1f} {self.y(value):.1f}" for i, value in enumerate(values)]
        return "M" + "L".join(points)

    def rule(self, value: float, kind: str) -> str:
        y = f"{self.y(value):.1f}"
        return f'<line class="{kind}" x1="{LEFT}" x2="{RIGHT}" y1="{y}" y2="{y}"/>'

    def band(self, high: float, low: float) -> str:
        top, bottom = self.y(high), self.y(low)
        return (
            f'<rect class="band" x="{LEFT}" y="{top:.1f}" width="{RIGHT - LEFT}" '
            f'height="{max(1.0, bottom - top):.1f}"/>'
        )

    def label(self, value: float, text: str) -> str:
        return (
            f'<text class="tick" x="{LEFT - 8}" y="{self.y(value) + 4:.1f}">{escape(text)}</text>'
        )


def _scores(windows: Sequence[WindowResult]) -> str:
    """Each window's score in units of the alarm level."""
    values = [window.score / window.level for window in windows]
    at = _Frame(len(values), 0.0, max(1.5, min(4.0, max(values, default=0.0) * 1.05)))
    body = [
        at.band(1.0, at.low),
        at.rule(1.0, "level"),
        at.label(0.0, "0"),
        at.label(1.0, "alarm level"),
        at.label(at.high, f"{at.high:.2g} times it"),
        f'<path class="line" d="{at.path(values)}"/>',
    ]
    body += _points(windows, values, at)
    return framed(WIDTH, 230, "Score of every window", "".join(body) + _times(windows, at))


def _effects(found: Monitoring) -> str:
    """AUC of every window with its interval, over the band of the reference's own windows."""
    windows = found.windows
    values = [float(window.effect) for window in windows]
    low = min(0.4, *(w.effect.low for w in windows))
    at = _Frame(len(values), low, 1.0)
    own = sorted(float(record.effect.auc) for record in found.profile.windows)
    body = [
        at.band(own[-1], own[0]) if own else "",
        at.rule(0.5, "rule"),
        at.label(0.5, "50, by chance"),
        at.label(1.0, "100 of 100 pairs"),
    ]
    for i, window in enumerate(windows):
        x, high, below = at.x(i), at.y(window.effect.high), at.y(window.effect.low)
        body.append(
            f'<line class="span" x1="{x:.1f}" x2="{x:.1f}" y1="{high:.1f}" y2="{below:.1f}"/>'
        )
    body.append(f'<path class="line" d="{at.path(values)}"/>')
    body += _points(windows, values, at)
    label = "How well rows of every window are separated from the reference's"
    return framed(WIDTH, 230, label, "".join(body) + _times(windows, at))


def _points(windows: Sequence[WindowResult], values: Sequence[float], at: _Frame) -> list[str]:
    size = 4 if len(values) <= 120 else 2
    return [
        f'<a href="#{_key(window)}"><circle class="{_state(window)}" '
        f'cx="{at.x(i):.1f}" cy="{at.y(value):.1f}" r="{size + window.alarm:g}">'
        f"<title>{escape(_tip(window))}</title></circle></a>"
        for i, (window, value) in enumerate(zip(windows, values, strict=True))
    ]


def _state(window: WindowResult) -> str:
    return "alarm" if window.alarm else "quiet" if window.judged else "unjudged"


def _tip(window: WindowResult) -> str:
    first = f"{window.label}: {window.rows:,} rows"
    return " ".join([first, *(reason.text for reason in window.reasons[:2])])


def _heat(windows: Sequence[WindowResult]) -> str:
    """Columns by windows: how far each column is on the way to its alarm level."""
    columns = _furthest(windows)[:MOST_COLUMNS]
    at = _Frame(len(windows), 0.0, 1.0)
    step, size = (RIGHT - LEFT) / max(1, len(windows)), 18
    body = []
    for row, column in enumerate(columns):
        y = 6 + row * size
        shown = column if len(column) <= NAME_LENGTH else column[: NAME_LENGTH - 1] + "…"
        body.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 13}">{escape(shown)}</text>')
        for i, window in enumerate(windows):
            ratio = window.columns.get(column, 0.0)
            tip = escape(f"{window.label}, {column}: {ratio:.2f} of the alarm level")
            x, shade = f"{LEFT + i * step:.2f}", _shade(ratio)
            body.append(
                f'<a href="#{_key(window)}"><rect class="heat h{shade}" x="{x}" y="{y}" '
                f'width="{step + 0.2:.2f}" height="{size - 1}"><title>{tip}</title></rect></a>'
            )
    height = 6 + size * len(columns)
    bottom = at._replace(bottom=height)
    body += [_times(windows, bottom), _legend(height + 34)]
    return framed(WIDTH, height + 58, "Columns by windows", "".join(body))


def _furthest(windows: Sequence[WindowResult]) -> list[str]:
    """The columns, those that were furthest off first."""
    worst: dict[str, float] = {}
    for window in windows:
        for column, ratio in window.columns.items():
            worst[column] = max(worst.get(column, 0.0), ratio)
    return sorted(worst, key=lambda name: -worst[name])


def _left_out(windows: Sequence[WindowResult]) -> str:
    more = len(_furthest(windows)) - MOST_COLUMNS
    return (
        "{columns} less far from usual are left out.".format(columns=plural(more, "column"))
        if more > 0
        else ""
    )


def _shade(ratio: float) -> int:
    """0 to 9: what is usual has hardly a colour, the alarm level a middle one."""
    share = (min(ratio, _DARKEST) - _PALEST) / (_DARKEST - _PALEST)
    return round(9 * max(share, 0.0))


def _legend(y: float) -> str:
    """What the colours mean: below the alarm level, at it, and beyond."""
    usual, alarm, most = "usual", "alarm level", "twice it or more"
    steps = [(0.25, usual), (0.5, ""), (1.0, alarm), (1.5, ""), (2.0, most)]
    body, x = [], float(LEFT)
    for ratio, text in steps:
        body.append(
            f'<rect class="heat h{_shade(ratio)}" x="{x:g}" y="{y:g}" width="22" height="14"/>'
        )
        if text:
            body.append(f'<text class="key" x="{x + 28:g}" y="{y + 11:g}">{escape(text)}</text>')
        x += 28 + (8 * len(text) if text else 0)
    return "".join(body)


def _times(windows: Sequence[WindowResult], at: _Frame) -> str:
    """A few labels along the time."""
    if not windows:
        return ""
    wanted = min(6, len(windows))
    places = sorted({round(k * (len(windows) - 1) / max(1, wanted - 1)) for k in range(wanted)})
    y = f"{at.bottom + 18:.1f}"
    return "".join(
        f'<text class="time" x="{at.x(i):.1f}" y="{y}">{escape(windows[i].label)}</text>'
        for i in places
    )
